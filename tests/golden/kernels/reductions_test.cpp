// SPDX-License-Identifier: Apache-2.0
// The reductions of the page on the Valid Count Generator, as kernels. The stream enters at the
// Valid Count Generator: flit i in 263 + i, taken there a cycle later and by the Vector Engine in
// 265 + i where each takes one cycle. A split flit takes two: its steps are in 265 + 2 i and 266 +
// 2 i. The last result is complete with the last step, whatever of the steps is padding, and takes
// a cycle in the accumulator tree [B]: at the Cast Engine two cycles later, the Commit Adapter
// three, the sink four; the command ends after that. So N flits of k steps take 263 + N k + 6
// cycles.
#include <filesystem>

#include "tests/golden/kernels/shipped_kernel.h"

namespace rngdsim {
namespace {

struct Case {
  const char* kernel;
  uint64_t flits, steps;  // a flit
  uint64_t results;       // a slice
  uint64_t elements;      // checked, whole chip
};

class Reduction : public ::testing::TestWithParam<Case> {};

TEST_P(Reduction, GivesTheResultsOfItsDataInItsTime) {
  const Case& c = GetParam();
  const Loaded loaded = load(c.kernel);
  const RunResult result = run(loaded);
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  ASSERT_EQ(result.values.checked.size(), 1u);
  EXPECT_EQ(result.values.checked[0].elements, c.elements);
  EXPECT_EQ(result.cycles, 263 + c.flits * c.steps + 6);
  EXPECT_EQ(result.bound, 263 + c.flits * c.steps);
  EXPECT_EQ(unit(result, "vcg").items_out, c.flits);
  EXPECT_EQ(unit(result, "vector_engine").items_in, c.flits);
  EXPECT_EQ(unit(result, "vector_engine").items_out, c.results);
  EXPECT_EQ(run(loaded, false).cycles, result.cycles);
}

// The padding of every stream is poison: what the counts do not shut out reaches a result.
TEST_P(Reduction, FailsWithoutItsCounts) {
  Loaded loaded = load(GetParam().kernel);
  loaded.program.commands[0].vector->reduce->vcg = VcgConfig();
  const RunResult result = run(loaded);
  EXPECT_EQ(result.status, RunStatus::kFailed);
}

// Elements: results a slice x elements a result x slices that hold some.
INSTANTIATE_TEST_SUITE_P(
    All, Reduction,
    ::testing::Values(Case{"reduce_time_only", 16, 1, 1, 4 * 256},            // A % 4
                      Case{"reduce_time_reordered", 36, 1, 3, 3 * 4 * 64},    // A, B
                      Case{"reduce_slice_time_slicemajor", 4, 1, 1, 3 * 64},  // not R from 12 on
                      Case{"reduce_time_slice_timemajor", 4, 1, 1, 256},
                      Case{"reduce_packet_only", 1, 1, 1, 256},
                      Case{"reduce_time_packet", 4, 1, 1, 256}, Case{"reduce_hcw_1", 3, 2, 1, 256},
                      Case{"reduce_hcw_2", 6, 2, 2, 5},     // C
                      Case{"reduce_hcw_3", 12, 2, 4, 25}),  // H, C
    [](const auto& info) { return std::string(info.param.kernel); });

// 16 rows of 13 flits of two steps are 416. The first read in 263 is at the Lane Folder 9 cycles
// later, at the Valid Count Generator 10, at the Vector Engine 11; the last step 415 cycles after
// that; the accumulator tree, Cast, Commit Adapter, Commit, written, ended: 6 more. The last row
// leaves the accumulator tree in a cycle without a step.
TEST(ReduceRows, HasTheFiguresOfItsMapping) {
  const RunResult result = run(load("reduce_rows"));
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(unit(result, "main_fetch").items_out, 208u);
  EXPECT_EQ(unit(result, "vector_engine").busy, 416u + 1);
  EXPECT_EQ(unit(result, "main_commit").items_out, 16u);
  EXPECT_EQ(result.bound, 263u + 416);
  EXPECT_EQ(result.cycles, 263u + 11 + 415 + 6);
}

struct Refused {
  const char* kernel;
  std::vector<std::string> reasons;
};

TEST(Reduction, RefusedPlacementsNameTheirRestriction) {
  const std::vector<Refused> cases = {
      {"reduce_wrong_ordering", {"slice parts out of order"}},
      {"reduce_wrong_interleave", {"slice and time parts interleaved"}},
      {"reduce_time_major_wrong", {"over-padded TimeMajor", "20 - 14 = 6", "slice_span 4"}},
      {"reduce_wrong_packet_outer", {"major part in Packet"}},
      {"reduce_wrong_mixed_packet", {"shared Packet"}},
      {"reduce_wrong_slice_packet", {"Slice with Packet", "2,045", "5 remain"}},
      {"reduce_r_43", {"6", "power of two"}},
      {"reduce_five_axes", {"5 padded axes", "at most 4"}}};
  const std::string root = std::string(RNGDSIM_SOURCE_DIR) + "/configs/kernels/rejected";
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    files += entry.path().extension() == ".yaml" ? 1 : 0;
  }
  EXPECT_EQ(files, cases.size());
  for (const Refused& c : cases) {
    Diagnostics diagnostics;
    const KernelDecl decl = load_kernel(root + "/" + c.kernel + ".yaml", diagnostics);
    ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
    lower(decl, MachineLimits(), diagnostics);
    EXPECT_TRUE(diagnostics.has_errors()) << c.kernel;
    for (const std::string& reason : c.reasons) {
      EXPECT_NE(diagnostics.render().find(reason), std::string::npos)
          << c.kernel << ": " << diagnostics.render();
    }
  }
}

}  // namespace
}  // namespace rngdsim
