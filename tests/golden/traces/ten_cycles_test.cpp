// SPDX-License-Identifier: Apache-2.0
// The table of docs/timing-model.md, "Ten cycles of a contraction", against a run. The table was
// written from the rules above it in that document.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "trace/recorder.h"

namespace rngdsim {
namespace {

// The link and the event that each column of the table, after the cycle, counts.
const std::vector<std::pair<std::string, std::string>> kColumns = {
    {"main_collect.out->stream_adapter.in", "pop"},
    {"stream_adapter.out->multiplier.stream", "push"},
    {"trf_sequencer.request->trf.read", "push"},
    {"trf_sequencer.request->trf.read", "pop"},
    {"multiplier.out->packet_reducer.in", "push"},
    {"multiplier.out->packet_reducer.in", "pop"},
    {"packet_reducer.out->time_reducer.in", "pop"}};

std::vector<std::vector<std::string>> documented() {
  std::ifstream file(std::string(RNGDSIM_SOURCE_DIR) + "/docs/timing-model.md");
  std::vector<std::vector<std::string>> rows;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "<!-- ten cycles: begin -->") inside = true;
    if (line == "<!-- ten cycles: end -->") inside = false;
    if (!inside || line.empty() || line[0] != '|') continue;
    std::vector<std::string> cells;
    std::istringstream text(line.substr(1));
    for (std::string cell; std::getline(text, cell, '|');) {
      cell.erase(0, cell.find_first_not_of(' ') == std::string::npos ? cell.size()
                                                                     : cell.find_first_not_of(' '));
      cell.erase(cell.find_last_not_of(' ') + 1);
      cells.push_back(cell);
    }
    rows.push_back(cells);
  }
  return rows;
}

// What happened: (cycle, link, event) to the item's place in Time.
class Events final : public TraceSink {
 public:
  using Key = std::pair<Cycle, std::pair<std::string, std::string>>;
  void begin(const TraceNames& names) override {
    for (const auto& link : names.links) links_.push_back(link.name);
  }
  void begin_cycle(Cycle cycle) override { cycle_ = cycle; }
  void unit(uint32_t /*unit*/, const UnitView& /*view*/) override {}
  void link(uint32_t /*link*/, const LinkView& /*view*/) override {}
  void event(uint32_t link, LinkEvent event, const ItemView& item) override {
    happened[{cycle_, {links_[link], name(event)}}] = std::to_string(item.time_index);
  }
  void open_command(Context /*context*/, std::optional<CommandId> /*command*/) override {}
  void end_cycle() override {}
  void end(Cycle /*end*/) override {}

  std::map<Key, std::string> happened;

 private:
  std::vector<std::string> links_;
  Cycle cycle_ = 0;
};

TEST(TenCycles, AreAsTheDocumentSays) {
  const std::string root = RNGDSIM_SOURCE_DIR;
  Diagnostics diagnostics;
  const TopologyDecl topology = load_topology(root + "/configs/topologies/rngd.yaml", diagnostics);
  const MachineLimits limits = limits_from(topology, diagnostics);
  const Program program = lower(load_kernel(root + "/configs/kernels/ten_cycles.yaml", diagnostics),
                                limits, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  Events events;
  Recorder recorder;
  recorder.add(events);
  RunOptions options;
  options.observer = &recorder;
  const RunResult result = run_program(program, topology, options);
  EXPECT_EQ(result.status, RunStatus::kOk);

  const auto table = documented();
  ASSERT_EQ(table.size(), 2u + 10u);  // heading and rule
  size_t items = 0;
  for (size_t row = 2; row < table.size(); ++row) {
    ASSERT_EQ(table[row].size(), 1 + kColumns.size()) << "row " << row;
    const Cycle cycle = std::stoull(table[row][0]);
    EXPECT_EQ(cycle, 263 + row - 2);
    for (size_t column = 0; column < kColumns.size(); ++column) {
      const auto found = events.happened.find({cycle, kColumns[column]});
      const std::string moved = found == events.happened.end() ? "" : found->second;
      EXPECT_EQ(moved, table[row][column + 1]) << "cycle " << cycle << ", " << table[0][column + 1];
      items += moved.empty() ? 0 : 1;
    }
  }
  EXPECT_EQ(items, 6u * 4 + 1);
  // Reads 2 and 3 find both banks of 8 lanes in the cache, 0 and 1 do not.
  for (const UnitResult& unit : result.units) {
    if (unit.name != "trf") continue;
    std::map<std::string, uint64_t> counters(unit.extra.begin(), unit.extra.end());
    EXPECT_GT(counters["cache_misses"], 0u);
    EXPECT_EQ(counters["cache_hits"], counters["cache_misses"]);
  }
}

}  // namespace
}  // namespace rngdsim
