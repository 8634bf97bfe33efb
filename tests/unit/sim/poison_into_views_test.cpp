// SPDX-License-Identifier: Apache-2.0
// What was never written and moves into a view is unwritten there; what lies beside it stays.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "tests/unit/sim/topology_text.h"

namespace rngdsim {
namespace {

// Of eight places of x one is written. Position S = 1 of y, before all of it known, gets them.
RunResult run_into_view(const std::string& command, const std::string& view) {
  const std::string text = R"(kernel: k
axes: {A: 16, H: 256, X: 8, S: 2}
tensors:
  x: {memory: dm, dtype: i8, slice: "H", element: "A, 1 # 8", init: {random: {seed: 1}}}
  y: {memory: dm, dtype: i8, slice: "H", element: "S, A, X", init: {random: {seed: 2}}}
  old: {memory: hbm, dtype: i8, element: "H, S, A, X", init: {random: {seed: 2}}}
program:
)" + command + view + "\n";
  Diagnostics diagnostics;
  const KernelDecl kernel = parse_kernel(text, "k.yaml", diagnostics);
  const MachineLimits limits = limits_from(test::shipped_topology(), diagnostics);
  const Program program = lower(kernel, limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  RunOptions options;
  options.keep = {"x", "y", "old"};
  return run_program(program, test::shipped_topology(), options);
}

const TensorValues& values_of(const RunResult& result, const std::string& name) {
  return *std::find_if(result.tensors.begin(), result.tensors.end(),
                       [&](const TensorValues& tensor) { return tensor.name == name; });
}

// `first`: the first index of A that is written.
void expect_poison_in_view(const RunResult& result, size_t first) {
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  const TensorValues &x = values_of(result, "x"), &y = values_of(result, "y"),
                     &old = values_of(result, "old");
  // Axes in the order of the file: A, H, X, S.
  for (size_t i = 0; i < y.bits.size(); ++i) {
    const size_t a = i / (256 * 8 * 2), h = i / (8 * 2) % 256, at = i / 2 % 8, s = i % 2;
    const bool written = s == 1 && a >= first;
    ASSERT_EQ(y.valid[i] != 0, !written || at == 0) << i;
    if (y.valid[i] == 0) continue;
    ASSERT_EQ(y.bits[i], written ? x.bits[a * 256 + h] : old.bits[i]) << i;
  }
}

const char* const kChain = R"(  - main:
      view: {of: x, reshape: {element: "A, X"}}
      stages:
        - fetch: {time: "A", packet: "X"}
        - collect
        - commit_trim: {packet: "X"}
        - commit: {to: y, view: )";

TEST(PoisonIntoViews, OfACommit) {
  expect_poison_in_view(run_into_view(kChain, "{axis: S, start: 1}}"), 0);
}

TEST(PoisonIntoViews, OfADma) {
  const char* const move =
      "  - dma: {view: {of: x, reshape: {element: \"A, X\"}}, to: y, to_view: ";
  expect_poison_in_view(run_into_view(move, "{axis: S, start: 1}}"), 0);
}

// A tile of a tile: beside it the outer one stays, too.
TEST(PoisonIntoViews, OfADmaIntoATileOfATile) {
  const char* const move =
      "  - dma: {view: [{of: x, reshape: {element: \"A, X\"}}, {axis: \"A / 8\", start: 1}], to: "
      "y, "
      "to_view: ";
  expect_poison_in_view(run_into_view(move, "[{axis: S, start: 1}, {axis: \"A / 8\", start: 1}]}"),
                        8);
}

}  // namespace
}  // namespace rngdsim
