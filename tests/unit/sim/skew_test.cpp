// SPDX-License-Identifier: Apache-2.0
// Clusters that run apart: without skew as in lockstep, with skew by what each works and waits.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/clusters_apart.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "support/diagnostic.h"
#include "tests/support/clusters_apart.h"
#include "tests/unit/sim/topology_text.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;

Program skew_program(const KernelDecl& decl, Diagnostics& diagnostics) {
  const MachineLimits limits = limits_from(test::shipped_topology(), diagnostics);
  Program program = lower(decl, limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return program;
}
Program skew_program(const std::string& text) {
  Diagnostics diagnostics;
  return skew_program(parse_kernel(text, "k.yaml", diagnostics), diagnostics);
}
Program shipped_program(const std::string& name) {
  Diagnostics diagnostics;
  const std::string path = fmt::format("{}/configs/kernels/{}.yaml", RNGDSIM_SOURCE_DIR, name);
  return skew_program(load_kernel(path, diagnostics), diagnostics);
}
RunResult run_skewed(const Program& program, uint64_t skew) {
  RunOptions options;
  options.skew = skew;
  return run_program(program, test::shipped_topology(), options);
}
RunResult run_together(const Program& program) {
  return run_program(program, test::shipped_topology(), {});
}

// ---- Without skew -----------------------------------------------------------------------------

TEST(Skew, NoneIsLockstepInShippedKernels) {
  for (const char* name : {"two_clusters", "dma_heterogeneous"}) {
    SCOPED_TRACE(name);
    EXPECT_GT(test::expect_apart_as_lockstep(shipped_program(name), test::shipped_topology(),
                                             std::string(name) == "two_clusters"),
              1000u);
  }
}

// ---- Tensor units alone -----------------------------------------------------------------------

// A chain of copies in data memory: what is written is read by the other context, and the place of
// what was read is used again. Nothing is shared, so that a cluster does what it does in lockstep,
// so many cycles later.
const char* const kCopies = R"(kernel: copies
axes: {A: 2, S: 256, B: 64}
mappings: {Cluster: "A", Slice: "S"}
tensors:
  x: {memory: dm, dtype: bf16, cluster: "A", slice: "S", element: "B", address: 0, init: {random: {seed: 1}}}
program:
  - main: {from: x, stages: [{fetch: {time: "B / 16", packet: "B % 16"}}, collect, {commit_trim: {packet: "B % 16"}}, {commit: {to: y, element: "B"}}]}
  - sub: {from: y, stages: [{fetch: {time: "B / 16", packet: "B % 16"}}, collect, {commit_trim: {packet: "B % 16"}}, {commit: {to: z, element: "B"}}]}
  - main: {from: z, stages: [{fetch: {time: "B / 16", packet: "B % 16"}}, collect, {commit_trim: {packet: "B % 16"}}, {commit: {to: y, element: "B"}}]}
  - main: {from: y, stages: [{fetch: {time: "B / 16", packet: "B % 16"}}, {fetch_cast: {dtype: f32}}, collect]}
)";

// One cycle of skew is seen: what compares equal above can differ.
TEST(Skew, OneCycleIsNotLockstep) {
  const Program program = skew_program(kCopies);
  test::LinkLog together, apart;
  RunOptions options;
  options.values = false;
  options.observer = &together;
  run_program(program, test::shipped_topology(), options);
  options.observer = &apart;
  options.skew = 1;
  run_program(program, test::shipped_topology(), options);
  EXPECT_NE(apart.lines(1), together.lines(0));
}

TEST(Skew, TensorUnitsAloneAreShifted) {
  const Program program = skew_program(kCopies);
  const RunResult together = run_together(program);
  ASSERT_EQ(together.status, RunStatus::kOk);
  EXPECT_GT(test::expect_apart_as_lockstep(program, test::shipped_topology()), 100u);
  for (const uint64_t skew : {1u, 300u, 100'000u}) {
    const RunResult apart = run_skewed(program, skew);
    EXPECT_EQ(apart.status, RunStatus::kOk) << skew;
    EXPECT_EQ(apart.values, together.values) << skew;
    EXPECT_EQ(apart.cycles, together.cycles + skew);
    EXPECT_EQ(apart.commands, together.commands);
    ASSERT_EQ(apart.clusters.size(), 2u);
    EXPECT_EQ(apart.clusters[0].end, together.cycles);
    EXPECT_EQ(apart.clusters[1].launch, skew);
    for (const ClusterResult& cluster : apart.clusters) {
      EXPECT_EQ(cluster.end, cluster.launch + together.cycles);
      EXPECT_EQ(cluster.work, together.cycles);
      EXPECT_EQ(cluster.waited, 0u);
      for (size_t i = 0; i < together.commands.size(); ++i) {
        EXPECT_EQ(cluster.commands[i].begin, together.commands[i].begin + cluster.launch);
        EXPECT_EQ(cluster.commands[i].end, together.commands[i].end + cluster.launch);
      }
    }
  }
}

// ---- DMA --------------------------------------------------------------------------------------

// Inside of each cluster, a request of 256 B in each DMN: no engine meets another. The first data
// come 500 cycles after the begin; a pair of networks has 2 requests (8 a cluster, 4 engines):
// reads and writes in turn, the last write answered 3 cycles after it left [as DmToDm of a page].
// Whatever that makes, a cluster alone takes as long as both together.
const char* const kMoveAndCopy = R"(kernel: move_and_copy
axes: {A: 2, N: 8, B: 128}
tensors:
  x: {memory: dm, dtype: bf16, cluster: "A", slice: "N, 1 # 32", element: "B", init: {random: {seed: 1}}}
program:
  - dma: {from: x, to: y, memory: dm, cluster: "A", slice: "N, 1 # 32", element: "B"}
  - main: {from: y, stages: [{fetch: {time: "B / 16", packet: "B % 16"}}, collect, {commit_trim: {packet: "B % 16"}}, {commit: {to: z, element: "B"}}]}
)";

// The DMA ends for both with its last engine: cluster 0 is through with its part `skew` cycles
// before, and works on as far apart from the other as not at all.
TEST(Skew, ADmaEndsForBothWithItsLastEngine) {
  const Program program = skew_program(kMoveAndCopy);
  const RunResult together = run_together(program);
  ASSERT_EQ(together.status, RunStatus::kOk);
  test::expect_apart_as_lockstep(program, test::shipped_topology());
  for (const uint64_t skew : {1u, 2'000u, 50'000u}) {  // the last: beyond the watchdog
    const RunResult apart = run_skewed(program, skew);
    EXPECT_EQ(apart.status, RunStatus::kOk);
    EXPECT_EQ(apart.values.mismatches, 0u);
    EXPECT_EQ(apart.cycles, together.cycles + skew);
    const uint64_t moved = together.commands[0].end;
    ASSERT_EQ(apart.clusters.size(), 2u);
    const ClusterResult& first = apart.clusters[0];
    const ClusterResult& second = apart.clusters[1];
    EXPECT_EQ(first.commands[0].begin, 0u);
    EXPECT_EQ(second.commands[0].begin, skew);
    for (const ClusterResult& cluster : apart.clusters) {
      EXPECT_EQ(cluster.commands[0].end, moved + skew);
      EXPECT_EQ(cluster.commands[1].begin, moved + skew);
      EXPECT_EQ(cluster.end, together.cycles + skew);
    }
    EXPECT_EQ(first.work, together.cycles);
    EXPECT_EQ(first.waited, skew);
    EXPECT_EQ(second.work, together.cycles);
    EXPECT_EQ(second.waited, 0u);
    ASSERT_EQ(apart.dmas.size(), 1u);
    EXPECT_EQ(apart.dmas[0].begin, 0u);
    EXPECT_EQ(apart.dmas[0].end, moved + skew);
  }
}

// A move between the clusters reads what the other's tensor unit has written, or writes what it
// reads: it waits for both.
const char* const kAcross = R"(kernel: across
axes: {A: 2, S: 256, B: 16}
tensors:
  x: {memory: dm, dtype: bf16, cluster: "A", slice: "S", element: "B", init: {random: {seed: 1}}}
program:
  - main: {from: x, stages: [{fetch: {time: "1", packet: "B"}}, collect, {commit_trim: {packet: "B"}}, {commit: {to: y, element: "B"}}]}
  - dma: {from: y, to: z, memory: dm, cluster: "1 # 2", slice: "S", element: "A, B"}
  - main: {from: z, stages: [{fetch: {time: "A", packet: "B"}}, collect, {commit_trim: {packet: "B"}}, {commit: {to: w, element: "A, B"}}]}
)";

TEST(Skew, AMoveBetweenClustersWaitsForBoth) {
  const Program program = skew_program(kAcross);
  const RunResult together = run_together(program);
  ASSERT_EQ(together.status, RunStatus::kOk);
  test::expect_apart_as_lockstep(program, test::shipped_topology());
  const uint64_t copied = together.commands[0].end;
  const RunResult apart = run_skewed(program, 5'000);
  EXPECT_EQ(apart.status, RunStatus::kOk);
  EXPECT_EQ(apart.values.mismatches, 0u);
  EXPECT_EQ(apart.cycles, together.cycles + 5'000);
  ASSERT_EQ(apart.clusters.size(), 2u);
  const CommandResult& move = apart.clusters[0].commands[1];
  EXPECT_EQ(move.begin, copied + 5'000);
  EXPECT_EQ(move.waited_for.what, "y of another cluster");
  EXPECT_EQ(apart.clusters[1].commands[1].begin, copied + 5'000);
  EXPECT_EQ(apart.clusters[1].commands[1].waited_for.what, "y");
  // Before the move cluster 0 had nothing to do for as long as the other came later. Its engines
  // read and write in turn, in one cluster, so that they are not through first.
  EXPECT_EQ(apart.clusters[0].commands[0].end, copied);
  EXPECT_EQ(apart.clusters[0].waited, 5'000u);
}

// From HBM to HBM one engine of cluster 0 moves all. Cluster 1 comes to it later, finds it done,
// and is through a cycle after.
TEST(Skew, AClusterWithoutEnginesPassesWhatIsDone) {
  const Program program = skew_program(R"(kernel: elsewhere
axes: {A: 2, S: 256, B: 16, C: 256}
tensors:
  h: {memory: hbm, dtype: i8, element: "C", init: {random: {seed: 2}}}
  x: {memory: dm, dtype: bf16, cluster: "A", slice: "S", element: "B", init: {random: {seed: 1}}}
program:
  - dma: {from: h, to: g, memory: hbm, element: "C"}
  - main: {from: x, stages: [{fetch: {time: "1", packet: "B"}}, collect, {commit_trim: {packet: "B"}}, {commit: {to: y, element: "B"}}]}
)");
  const RunResult together = run_together(program);
  const uint64_t moved = together.commands[0].end;
  test::expect_apart_as_lockstep(program, test::shipped_topology());
  const RunResult apart = run_skewed(program, 9'000);
  EXPECT_EQ(apart.status, RunStatus::kOk);
  EXPECT_EQ(apart.values.mismatches, 0u);
  ASSERT_EQ(apart.clusters.size(), 2u);
  EXPECT_EQ(apart.clusters[0].commands[0].end, moved);
  EXPECT_EQ(apart.clusters[1].commands[0].begin, 9'000u);
  EXPECT_EQ(apart.clusters[1].commands[0].end, 9'001u);
  // Half way: it waits for the rest of the move.
  const RunResult half = run_skewed(program, moved / 2);
  EXPECT_EQ(half.clusters[1].commands[0].begin, moved / 2);
  EXPECT_EQ(half.clusters[1].commands[0].end, moved);
}

// ---- What is refused, and what happens to a run that is cut ------------------------------------

TEST(Skew, NeedsTwoClusters) {
  const Program program = shipped_program("gemm");
  try {
    run_skewed(program, 1'500);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a skew of 1,500 cycles needs 2 clusters; the kernel uses "
                                        "1 of 2"));
  }
}

// y ends where the data memory ends, and a view of it begins inside: what is read back of the view
// stops there. Apart, the first cluster has overwritten nothing and gone on before the second
// begins.
TEST(Skew, AViewAtTheEndOfTheMemory) {
  const Program program = skew_program(R"(kernel: at_the_end
axes: {A: 2, S: 256, B: 64, T: 4}
tensors:
  x: {memory: dm, dtype: bf16, cluster: "A", slice: "S", element: "B", address: 0, init: {random: {seed: 1}}}
  y: {memory: dm, dtype: bf16, cluster: "A", slice: "S", element: "T, B", address: 523776}
program:
  - main: {from: x, stages: [{fetch: {time: "B / 16", packet: "B % 16"}}, collect, {commit_trim: {packet: "B % 16"}}, {commit: {to: y, view: {axis: T, start: 3}}}]}
  - main: {view: {of: y, axis: T, start: 3}, stages: [{fetch: {time: "B / 16", packet: "B % 16"}}, collect]}
)");
  const RunResult together = run_together(program);
  EXPECT_EQ(together.status, RunStatus::kOk);
  EXPECT_EQ(together.values.mismatches, 0u);
  const RunResult apart = run_skewed(program, 10'000);
  EXPECT_EQ(apart.status, RunStatus::kOk);
  EXPECT_EQ(apart.values, together.values);
}

// At most 2^32 cycles, so that no sum of cycles overflows.
TEST(Skew, HasALimit) {
  const Program program = skew_program(kCopies);
  const RunResult together = run_together(program);
  EXPECT_EQ(run_skewed(program, uint64_t{1} << 32).cycles, (uint64_t{1} << 32) + together.cycles);
  for (const uint64_t skew : {(uint64_t{1} << 32) + 1, ~uint64_t{0}}) {
    try {
      run_skewed(program, skew);
      FAIL() << "no error";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("is more than the 4,294,967,296 that are simulated"));
    }
  }
}

// Cut before the second cluster is launched.
TEST(Skew, ARunMayEndBeforeTheLaunch) {
  const Program program = skew_program(kCopies);
  RunOptions options;
  options.skew = 50'000;
  options.max_cycles = 20'000;
  const RunResult run = run_program(program, test::shipped_topology(), options);
  EXPECT_EQ(run.status, RunStatus::kMaxCycles);
  ASSERT_EQ(run.clusters.size(), 2u);
  EXPECT_EQ(run.clusters[1].work, 0u);
  EXPECT_FALSE(run.clusters[1].commands[0].begun);
}

TEST(Skew, TheOrderOfUnitsDoesNotMatter) {
  const Program program = shipped_program("two_clusters");
  RunOptions options;
  options.values = false;
  options.skew = 777;
  const RunResult first = run_program(program, test::shipped_topology(), options);
  options.shuffle_seed = 5;
  EXPECT_TRUE(run_program(program, test::shipped_topology(), options).same_run(first));
}

}  // namespace
}  // namespace rngdsim
