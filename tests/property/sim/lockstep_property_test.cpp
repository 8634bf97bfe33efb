// SPDX-License-Identifier: Apache-2.0
// Random kernels: pipelines of single slices do in every cycle what the one for all slices does.
#include <gtest/gtest.h>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/lockstep.h"
#include "tests/support/clusters_apart.h"
#include "tests/support/random_kernel.h"
#include "tests/support/small_topology.h"

namespace rngdsim {
namespace {

constexpr uint64_t kLockstepSlices = 8;

const TopologyDecl& lockstep_topology() {
  static const TopologyDecl topology = test::small_topology(2, kLockstepSlices);
  return topology;
}

// Without commands where the text is wrong, which is a failure.
Program lockstep_program(const std::string& text) {
  Diagnostics diagnostics;
  const MachineLimits limits = limits_from(lockstep_topology(), diagnostics);
  Program program = lower(parse_kernel(text, "k.yaml", diagnostics), limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  if (diagnostics.has_errors()) program.commands.clear();
  return program;
}

// How many events were compared.
uint64_t compared_events(const std::string& text) {
  SCOPED_TRACE(text);
  const TopologyDecl& topology = lockstep_topology();
  const Program program = lockstep_program(text);
  if (program.commands.empty()) return 0;
  uint64_t events = 0;
  for (const bool values : {true, false}) {
    RunOptions options;
    options.values = values;
    const LockstepProof proof =
        prove_lockstep(program, topology, options, spread_slices(program, 3));
    EXPECT_TRUE(proof.holds());
    for (const LockstepSlice& slice : proof.slices) {
      EXPECT_EQ(slice.difference, "") << "slice " << slice.slice;
      EXPECT_EQ(slice.cycles, proof.lockstep.cycles);
      events += slice.events;
    }
  }
  return events;
}

// The same kernel with its clusters apart; how many events, 0 where it uses only one.
uint64_t compared_apart(const std::string& text, uint64_t skew) {
  SCOPED_TRACE(text);
  const TopologyDecl& topology = lockstep_topology();
  const Program program = lockstep_program(text);
  uint64_t used = 0;
  for (const Command& command : program.commands) used = std::max(used, command.clusters_used);
  if (used < 2) return 0;
  RunOptions options;
  const RunResult together = run_program(program, topology, options);
  options.skew = skew;
  const RunResult apart = run_program(program, topology, options);
  EXPECT_EQ(apart.status, together.status);
  EXPECT_EQ(apart.values, together.values);
  EXPECT_EQ(apart.cycles, together.cycles + skew);  // without DMA nothing is shared
  return test::expect_apart_as_lockstep(program, topology);
}

TEST(RandomLockstep, ClustersApart) {
  uint64_t kernels = 0;
  for (uint64_t seed = 1; seed <= 120 && !HasFailure(); ++seed) {
    test::Random random(seed);
    std::string text;
    if (seed % 2 == 0) {
      test::MoveOptions options;
      options.machine_slices = kLockstepSlices;
      options.max_packets = 40;
      text = test::random_move(random, options).kernel().text();
    } else {
      test::ContractionOptions options;
      options.machine_slices = kLockstepSlices;
      text = test::random_contraction(random, options).kernel().text();
    }
    if (compared_apart(text, random.below(2'000)) > 0) ++kernels;
  }
  EXPECT_GT(kernels, 15u);
}

TEST(RandomLockstep, Moves) {
  for (uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    test::Random random(seed);
    test::MoveOptions options;
    options.machine_slices = kLockstepSlices;
    options.max_packets = 40;
    EXPECT_GT(compared_events(test::random_move(random, options).kernel().text()), 0u) << seed;
  }
}

TEST(RandomLockstep, Contractions) {
  for (uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    test::Random random(seed);
    test::ContractionOptions options;
    options.machine_slices = kLockstepSlices;
    options.fill = seed % 2 == 0;
    EXPECT_GT(compared_events(test::random_contraction(random, options).kernel().text()), 0u)
        << seed;
  }
}

}  // namespace
}  // namespace rngdsim
