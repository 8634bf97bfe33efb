// SPDX-License-Identifier: Apache-2.0
// The traces in traces/ (a kernel and its flits each) against what a run writes, field by field.
//
// They were written from the timing model, not by the program. Access, flit or packet i, all in
// cycles, push -> pop:
//
//   fetch (both contexts)  request 263 + i -> 264 + i, data 264 + i -> 265 + i (read latency 1),
//                          out 265 + i -> 266 + i, Fetch Adapter 266 + i -> 267 + i
//   copy                   Collect 267 + i, then each unit one cycle later: Stream Adapter 268,
//                          Multiplier 269, Packet Reducer 270, Time Reducer 271, Lane Folder 272,
//                          Cast 273, Commit Adapter 274, write request 275 -> 276
//   sub_copy               four accesses of 8 B a flit: flit f leaves Collect in 267 + 4f + 3; Cast
//                          271 + 4f, Commit Adapter 272 + 4f; writes 273 + 4f + w, w = 0 .. 3, and
//                          the flit is taken in with the last, in 276 + 4f
//   narrow_commit          as copy, but flit i is written in 275 + 4i .. 278 + 4i and taken in with
//                          the last; its link holds two: flit 2 leaves the Commit Adapter in 279
//                          (stalls 276 .. 278), flit 3 in 283 (stalls 280 .. 282)
//   broadcast              flits 263 + i -> 264 + i; the first packet is whole in 265, and packets
//                          leave in 265 + i (three times each, so the second is whole by then); TRF
//                          read i 263 + i, data 264 + i, operand 265 + i -> 266 + i; product 266 +
//                          i; reduced 267 + i -> 272 + i (latency 5 of 16-bit types); Time Reducer
//                          272 + i; Lane Folder and its release 273 + i; Cast 274, Commit Adapter
//                          275 + i, the sink takes it in 276 + i
//
// Elements: an access of 32 B of bf16 holds 16, of 8 B 4; a packet of two flits 32, its products in
// 8 lanes 256, reduced to a column 8. A slot release holds none.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "trace/flit_writer.h"

namespace rngdsim {
namespace {

using Row = std::vector<std::string>;

std::vector<Row> rows_of(const std::string& file) {
  std::ifstream stream(file);
  EXPECT_TRUE(stream) << file;
  std::vector<Row> rows;
  for (std::string line; std::getline(stream, line);) {
    Row& row = rows.emplace_back();
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) row.push_back(field);
  }
  return rows;
}

class GoldenTrace : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "rngdsim_golden_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  std::filesystem::path directory_;
};

TEST_P(GoldenTrace, IsWhatARunWrites) {
  const std::string root = RNGDSIM_SOURCE_DIR;
  const std::string stem = root + "/traces/" + GetParam();
  Diagnostics diagnostics;
  const TopologyDecl topology = load_topology(root + "/configs/topologies/rngd.yaml", diagnostics);
  const MachineLimits limits = limits_from(topology, diagnostics);
  const Program program = lower(load_kernel(stem + ".yaml", diagnostics), limits, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  const std::string written = (directory_ / "flits.csv").string();
  for (const bool values : {true, false}) {
    SCOPED_TRACE(values ? "with values" : "timing only");
    {
      TraceFile file(written);
      FlitWriter writer(file, {});
      Recorder recorder;
      recorder.add(writer);
      RunOptions options;
      options.values = values;
      options.observer = &recorder;
      const RunResult run = run_program(program, topology, options);
      EXPECT_EQ(run.status, RunStatus::kOk);
    }
    const std::vector<Row> expected = rows_of(stem + ".csv");
    const std::vector<Row> got = rows_of(written);
    ASSERT_FALSE(expected.empty());
    const Row& heading = expected.front();
    for (size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
      SCOPED_TRACE("line " + std::to_string(i + 1));
      ASSERT_EQ(expected[i].size(), heading.size());
      ASSERT_EQ(got[i].size(), heading.size());
      for (size_t field = 0; field < heading.size(); ++field) {
        ASSERT_EQ(got[i][field], expected[i][field]) << heading[field];
      }
    }
    EXPECT_EQ(got.size(), expected.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, GoldenTrace,
                         testing::Values("copy", "sub_copy", "narrow_commit", "broadcast"),
                         [](const auto& info) { return info.param; });

// Every kernel in traces/ has its trace and is in the list above.
TEST(GoldenTraces, AreAllCompared) {
  std::map<std::string, int> files;
  for (const auto& entry : std::filesystem::directory_iterator(RNGDSIM_SOURCE_DIR "/traces")) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".yaml" || extension == ".csv") ++files[entry.path().stem().string()];
  }
  const std::map<std::string, int> expected = {
      {"copy", 2}, {"sub_copy", 2}, {"narrow_commit", 2}, {"broadcast", 2}};
  EXPECT_EQ(files, expected);
}

}  // namespace
}  // namespace rngdsim
