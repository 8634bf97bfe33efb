// SPDX-License-Identifier: Apache-2.0
#include "report/dma_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/numbers.h"
#include "support/text.h"

namespace rngdsim {
namespace {

// What explains this part of a wait is named as its cause.
constexpr double kDmaCause = 0.5;

double share_of(uint64_t a, uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

const DmaEngineResult* last_engine(const DmaResult& dma) {
  const DmaEngineResult* last = nullptr;
  for (const DmaEngineResult& engine : dma.engines) {
    if (last == nullptr || engine.end > last->end) last = &engine;
  }
  return last;
}

bool writes_and_reads_in_turn(const DmaConfig& config, const Program& program) {
  const MemoryKind from = program.tensors[config.from].memory;
  const MemoryKind to = program.tensors[config.to].memory;
  const bool to_hbm = from == MemoryKind::kDm && to == MemoryKind::kHbm;
  return from == to || (to_hbm && program.limits.dma_dm_to_hbm_in_turn);
}

// Requests per cycle and engine leave this many cycles at least.
uint64_t least_cycles(const DmaEngineResult& engine, bool in_turn) {
  return engine.requests * (in_turn ? 2 : 1);
}

// The number of DMNs that take part beside `engine`'s data, by where its segments go.
std::set<uint64_t> networks(const DmaConfig& config, uint64_t engine, bool reads,
                            const MachineLimits& limits) {
  std::set<uint64_t> result;
  const uint64_t span = limits.dm_slice_stride * limits.dmn_slices;
  for (const DmaConfig::Segment& segment : config.segments) {
    if (segment.engine != engine) continue;
    uint64_t last = reads ? segment.read_base : segment.write_base;
    result.insert(last / span);
    for (const DmaConfig::Loop& loop : segment.loops) {
      last += (loop.size - 1) * (reads ? loop.read_stride : loop.write_stride);
    }
    result.insert(last / span);
  }
  return result;
}

std::string transfers_text(uint64_t part_of, uint64_t whole) {
  return fmt::format("{} of {} transfers", group_digits(part_of), group_digits(whole));
}

class DmaSentence {
 public:
  DmaSentence(const DmaResult& dma, const RunResult& run, const Program& program)
      : dma_(dma),
        command_(program.commands[dma.command]),
        config_(*command_.dma),
        program_(program),
        run_(run),
        cycles_(run.commands[dma.command].ended ? dma.end - dma.begin : run.cycles - dma.begin) {}

  std::string text() const {
    const DmaEngineResult* engine = last_engine(dma_);
    if (engine == nullptr) return "it has not begun to move data";
    const uint64_t startups = engine->segments * program_.limits.dma_startup;
    if (share_of(startups, cycles_) >= kDmaCause) return startup(*engine, startups);
    for (const std::string& cause :
         {banks(*engine), pcie(), rows(), read_modify_writes(), stacks(), misaligned()}) {
      if (!cause.empty()) return cause;
    }
    return engine_text(*engine);
  }

 private:
  std::string startup(const DmaEngineResult& engine, uint64_t cycles) const {
    return fmt::format(
        "start-up: {}{} of its {} cycles{}",
        engine.segments > 1
            ? fmt::format("{} x {} = ", engine.segments, group_digits(program_.limits.dma_startup))
            : "",
        group_digits(cycles), group_digits(cycles_),
        engine.segments > 1 ? fmt::format(", as engine {} needs {} commands for its part",
                                          engine.engine, engine.segments)
                            : "; one larger move pays it once");
  }

  // The conflicts of an engine are those of all its commands, so that only a large part tells.
  std::string banks(const DmaEngineResult& engine) const {
    const std::string name = fmt::format("dma_{}", engine.engine);
    const auto unit = std::find_if(run_.units.begin(), run_.units.end(),
                                   [&](const UnitResult& u) { return u.name == name; });
    const uint64_t data = data_cycles(dma_);
    if (unit == run_.units.end() || share_of(unit->conflict, data) < kDmaCause) return "";
    return fmt::format(
        "banks: fetch and commit held banks of the data memory that {} waited for, for {} of its "
        "{} "
        "cycles of data",
        name, group_digits(std::min(unit->conflict, data)), group_digits(data));
  }

  // A change of rows occupies its channel for some 40 cycles [A]; told by the counts alone.
  std::string rows() const {
    if (share_of(dma_.hbm.row_conflicts, dma_.hbm.transfers) < kDmaCause) return "";
    const DmaChannelResult* channel = busiest_channel(dma_);
    return fmt::format(
        "row changes: {} change the row of a bank in HBM; the busiest channel made {} of them",
        transfers_text(dma_.hbm.row_conflicts, dma_.hbm.transfers),
        group_digits(channel->hbm.row_conflicts));
  }

  std::string read_modify_writes() const {
    if (dma_.hbm.read_modify_writes == 0) return "";
    return fmt::format(
        "partial lines: {} write less than the 256 B of a line of HBM, which is read, modified and "
        "written",
        transfers_text(dma_.hbm.read_modify_writes, dma_.hbm.transfers));
  }

  std::string stacks() const {
    const auto busy = std::count_if(dma_.stacks.begin(), dma_.stacks.end(),
                                    [](const HbmTraffic& stack) { return stack.transfers > 0; });
    if (busy != 1 || dma_.stacks.size() < 2 || dma_.hbm.transfers < 2) return "";
    return fmt::format(
        "one stack: all {} transfers go to one of {} stacks of HBM, {} channels; address bit 8 "
        "never "
        "changes",
        group_digits(dma_.hbm.transfers), dma_.stacks.size(), dma_.channels.size());
  }

  std::string pcie() const {
    const uint64_t rate = program_.limits.host_bytes_per_cycle;
    const uint64_t passes = (dma_.bytes_pcie + rate - 1) / rate;
    const uint64_t data = data_cycles(dma_);
    if (data == 0 || share_of(passes, data) < 1 - kSlack) return "";
    return fmt::format("bound by PCIe: {} B at {} a cycle take {}", group_digits(dma_.bytes_pcie),
                       rate, count_text(passes, "cycle"));
  }

  std::string misaligned() const {
    if (share_of(dma_.hbm.misaligned_reads, dma_.hbm.transfers) < kDmaCause) return "";
    return fmt::format("alignment: {} are of reads that cross a line of 256 B",
                       transfers_text(dma_.hbm.misaligned_reads, dma_.hbm.transfers));
  }

  std::string engine_text(const DmaEngineResult& engine) const {
    const bool in_turn = writes_and_reads_in_turn(config_, program_);
    const uint64_t data = data_cycles(dma_);
    const uint64_t least = least_cycles(engine, in_turn);
    const uint64_t request = program_.limits.dma_request_bytes;
    const std::string who = fmt::format("engine {}", engine.engine);
    if (data > 0 && share_of(least, data) >= 1 - kSlack) {
      const uint64_t each = engine.requests == 0 ? 0 : engine.bytes / engine.requests;
      if (each * 2 <= request) {
        return fmt::format("small packets: {} moves {} B with each request, which may have {}", who,
                           each, request);
      }
      return fmt::format("{}: {} requests of {} B in {}{}", who, group_digits(engine.requests),
                         each, count_text(data, "cycle"),
                         in_turn ? ", reads and writes in turn" : "");
    }
    if (one_network(engine)) {
      return fmt::format(
          "one data memory network: {} uses one of its two, 128 B a cycle; let the other follow in "
          "each step",
          who);
    }
    return fmt::format("waiting: {} had {} to do in {} cycles; the memories kept it from more", who,
                       count_text(least, "cycle"), group_digits(data));
  }

  static std::string count_text(uint64_t count, const char* noun) {
    return fmt::format("{} {}{}", group_digits(count), noun, count == 1 ? "" : "s");
  }

  bool one_network(const DmaEngineResult& engine) const {
    for (const bool reads : {true, false}) {
      const TensorId side = reads ? config_.from : config_.to;
      if (program_.tensors[side].memory != MemoryKind::kDm) continue;
      if (networks(config_, engine.engine, reads, program_.limits).size() == 1) return true;
    }
    return false;
  }

  static constexpr double kSlack = 0.05;
  const DmaResult& dma_;
  const Command& command_;
  const DmaConfig& config_;
  const Program& program_;
  const RunResult& run_;
  uint64_t cycles_;
};

}  // namespace

const DmaChannelResult* busiest_channel(const DmaResult& dma) {
  const DmaChannelResult* busiest = nullptr;
  for (const DmaChannelResult& channel : dma.channels) {
    if (busiest == nullptr || channel.hbm.transfers > busiest->hbm.transfers) busiest = &channel;
  }
  return busiest;
}

uint64_t data_cycles(const DmaResult& dma) {
  const DmaEngineResult* engine = last_engine(dma);
  if (engine == nullptr || engine->first_data == 0) return 0;
  return engine->end - std::min(engine->end, engine->first_data);
}

std::string dma_sentence(const DmaResult& dma, const RunResult& run, const Program& program) {
  return DmaSentence(dma, run, program).text();
}

std::string dma_text(const RunResult& run, const Program& program) {
  if (run.dmas.empty()) return "";
  TextTable table;
  table.column("", TextTable::Align::kRight);
  table.column("dma", TextTable::Align::kLeft, 1, 24);
  for (const char* heading :
       {"wait", "first data", "data", "requests", "bytes", "B/cycle", "rows changed", "partial"}) {
    table.column(heading, TextTable::Align::kRight, 2);
  }
  for (const DmaResult& dma : run.dmas) {
    const uint64_t data = dma.first_data == 0 ? 0 : dma.end - std::min(dma.end, dma.first_data);
    table.row({fmt::format("{}", dma.command), program.commands[dma.command].label,
               group_digits(dma.begin - dma.issue),
               dma.first_data == 0 ? "-" : group_digits(dma.first_data - dma.begin),
               group_digits(data), group_digits(dma.requests), group_digits(dma.bytes_ideal),
               data == 0 ? "-" : decimal(share_of(dma.bytes_ideal, data), 1),
               group_digits(dma.hbm.row_conflicts), group_digits(dma.hbm.read_modify_writes)});
  }
  std::string text = table.text(kIndent);
  for (const DmaResult& dma : run.dmas) {
    const std::string lead = fmt::format("  {}: ", dma.command);
    text += wrap(dma_sentence(dma, run, program), lead, lead.size());
  }
  return text + "\n";
}

}  // namespace rngdsim
