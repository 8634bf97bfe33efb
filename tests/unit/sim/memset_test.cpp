// SPDX-License-Identifier: Apache-2.0
// Tensors that the sub context fills with a value. The first item leaves the source in 263, passes
// the Commit Adapter in 264 and Commit in 265 and is written in 266; one of 8 bytes a cycle
// follows, and the command ends one cycle after the last: 263 + 3 + writes.
#include <gtest/gtest.h>

#include <string>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "support/diagnostic.h"
#include "tests/unit/sim/topology_text.h"

namespace rngdsim {
namespace {

RunResult run_memset(const std::string& axes, const std::string& command) {
  Diagnostics diagnostics;
  const TopologyDecl topology = test::shipped_topology();
  const KernelDecl decl =
      parse_kernel("kernel: fill\naxes: {" + axes + "}\nprogram:\n  - memset: {" + command + "}\n",
                   "k.yaml", diagnostics);
  const MachineLimits limits = limits_from(topology, diagnostics);
  Program program;
  if (!diagnostics.has_errors()) program = lower(decl, limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  RunOptions options;
  options.keep_results = true;
  return run_program(program, topology, options);
}

void expect_filled(const RunResult& run, uint64_t writes, uint64_t elements, double value) {
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_EQ(run.cycles, 263u + 3 + writes);
  EXPECT_EQ(run.commands.at(0).context, "sub");
  ASSERT_EQ(run.results.size(), 1u);
  const TensorValues& filled = run.results[0];
  ASSERT_EQ(filled.bits.size(), elements);
  for (size_t i = 0; i < elements; ++i) {
    ASSERT_EQ(filled.valid[i], 1) << i;
    ASSERT_EQ(to_double(filled.dtype, filled.bits[i]), value) << i;
  }
}

TEST(Memset, FillsEightBytesACycle) {
  expect_filled(run_memset("S: 256, A: 64", "to: y, dtype: f32, slice: S, element: A, value: 1.5"),
                32, 256 * 64, 1.5);
}

TEST(Memset, OfSmallTypes) {
  expect_filled(run_memset("S: 256, A: 64", "to: y, dtype: i4, slice: S, element: A, value: -3"), 4,
                256 * 64, -3);
  expect_filled(run_memset("S: 256, A: 4", "to: y, dtype: bf16, slice: S, element: A, value: 0.5"),
                1, 256 * 4, 0.5);
}

TEST(Memset, ZeroWithoutAValue) {
  expect_filled(run_memset("S: 256, A: 8", "to: y, dtype: i32, slice: S, element: A"), 4, 256 * 8,
                0);
}

TEST(Memset, OfPaddedSlicesAndElements) {
  expect_filled(
      run_memset("S: 100, A: 3, B: 5",
                 "to: y, dtype: i16, slice: \"S # 256\", element: \"B, A # 4\", value: 9"),
      5, 100 * 3 * 5, 9);
}

TEST(Memset, WaitsAsOtherCommandsDo) {
  const RunResult run =
      run_memset("S: 256, A: 64", "to: y, dtype: f32, slice: S, element: A, value: 1, delay: 100");
  EXPECT_EQ(run.cycles, 363u + 3 + 32);
}

TEST(Memset, AValueThatTheTypeDoesNotHoldIsAnError) {
  Diagnostics diagnostics;
  const TopologyDecl topology = test::shipped_topology();
  const KernelDecl decl = parse_kernel(
      "kernel: fill\naxes: {S: 256, A: 8}\nprogram:\n"
      "  - memset: {to: y, dtype: i8, slice: S, element: A, value: 1000}\n",
      "k.yaml", diagnostics);
  const Program program = lower(decl, limits_from(topology, diagnostics), diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  try {
    run_program(program, topology, {});
    FAIL() << "1000 is no i8";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("k.yaml:4:61: error:"), std::string::npos) << text;
    EXPECT_NE(text.find("1000"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace rngdsim
