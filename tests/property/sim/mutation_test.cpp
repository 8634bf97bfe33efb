// SPDX-License-Identifier: Apache-2.0
// The shipped topology damaged at every place, and whole runs of what is still accepted: of damaged
// kernels on the shipped machine, of a good kernel on damaged machines. A run ends in a result or
// in errors about the input, never in an internal error.
#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <variant>

#include "config/kernel.h"
#include "config/topology.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "sim/wiring.h"
#include "tests/support/mutants.h"

namespace rngdsim {
namespace {

const char* const kTopology = "configs/topologies/rngd.yaml";
constexpr uint64_t kMaxCycles = 20'000;
constexpr size_t kShards = 4;

KernelDecl shipped_kernel(const std::string& name) {
  Diagnostics diagnostics;
  KernelDecl kernel =
      parse_kernel(source_text("configs/kernels/" + name + ".yaml"), name + ".yaml", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return kernel;
}

// With and without values.
void expect_result(const Program& program, const TopologyDecl& topology, const Mutant& mutant) {
  for (const bool values : {false, true}) {
    RunOptions options;
    options.values = values;
    options.max_cycles = kMaxCycles;
    try {
      const RunResult result = run_program(program, topology, options);
      EXPECT_LE(result.cycles, kMaxCycles) << mutant.what;
      EXPECT_TRUE(result.status != RunStatus::kOk || result.values.mismatches == 0) << mutant.what;
      EXPECT_NE(result.status, RunStatus::kStopped) << mutant.what;
    } catch (const InputError& error) {
      EXPECT_TRUE(error.diagnostics().has_errors()) << mutant.what;
    } catch (const std::exception& error) {
      ADD_FAILURE() << mutant.what << (values ? " with values" : " without values")
                    << " throws: " << error.what() << "\n"
                    << mutant.text;
    }
  }
}

class TopologyMutation : public testing::TestWithParam<size_t> {};

TEST_P(TopologyMutation, EndsInAMachineOrInErrorsWithTheirLines) {
  const KernelDecl kernel = shipped_kernel("dot");
  Mutants mutants(source_text(kTopology));
  size_t count = 0;
  size_t good = 0;
  size_t run = 0;
  const auto check = [&](const Mutant& mutant) {
    Diagnostics diagnostics;
    try {
      const TopologyDecl topology = parse_topology(mutant.text, "t.yaml", diagnostics);
      if (diagnostics.has_errors()) return expect_places(diagnostics, "t.yaml", mutant);
      const MachineLimits limits = limits_from(topology, diagnostics);
      expect_places(diagnostics, "t.yaml", mutant);
      Diagnostics again;
      const TopologyDecl resolved = resolve_topology(topology, again);
      if (diagnostics.has_errors()) return;
      EXPECT_FALSE(again.has_errors()) << mutant.what << "\n" << again.render();
      EXPECT_EQ(resolved.units.size(), topology.units.size()) << mutant.what;
      ++good;
      const Program program = lower(kernel, limits, diagnostics);
      expect_places(diagnostics, "dot.yaml", mutant);
      if (diagnostics.has_errors()) return;
      ++run;
      expect_result(program, topology, mutant);
    } catch (const std::exception& error) {
      ADD_FAILURE() << mutant.what << " throws: " << error.what() << "\n" << mutant.text;
    }
  };
  mutants.for_each([&](const Mutant& mutant) {
    if (count++ % kShards == GetParam()) check(mutant);
  });
  EXPECT_GT(run, 0u) << "some changes, as of a latency, do no harm";
  EXPECT_GE(good, run);
  EXPECT_GT(count / kShards, 5 * good) << "most changes do";
}

INSTANTIATE_TEST_SUITE_P(Shard, TopologyMutation, testing::Range<size_t>(0, kShards));

class RunMutation : public testing::TestWithParam<const char*> {};

TEST_P(RunMutation, EndsInAResultOrInErrors) {
  Diagnostics faults;
  const TopologyDecl topology = parse_topology(source_text(kTopology), "t.yaml", faults);
  const MachineLimits limits = limits_from(topology, faults);
  ASSERT_FALSE(faults.has_errors()) << faults.render();
  Mutants mutants(source_text("configs/kernels/" + std::string(GetParam()) + ".yaml"));
  size_t run = 0;
  const auto check = [&](const Mutant& mutant) {
    Diagnostics diagnostics;
    const KernelDecl kernel = parse_kernel(mutant.text, "k.yaml", diagnostics);
    if (diagnostics.has_errors()) return;
    const Program program = lower(kernel, limits, diagnostics);
    if (diagnostics.has_errors()) return;
    ++run;
    expect_result(program, topology, mutant);
  };
  check({"unchanged", mutants.original()});
  EXPECT_EQ(run, 1u);
  mutants.for_each(check);
  EXPECT_GT(run, 1u);
}

INSTANTIATE_TEST_SUITE_P(Shipped, RunMutation,
                         testing::Values("dot", "outer_broadcast", "stream_copy", "fetch_batch_1"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace rngdsim
