// SPDX-License-Identifier: Apache-2.0
// Two tensors that one fetch reads in turn.
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

Program interleave_program(const std::string& text) {
  Diagnostics diagnostics;
  const KernelDecl decl = parse_kernel(text, "k.yaml", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  const MachineLimits limits = limits_from(test::shipped_topology(), diagnostics);
  Program program = lower(decl, limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return program;
}

// x and y of 512 bytes a slice, at the given bytes; copied into one tensor, the axis I between A
// and B.
std::string copy_pair(const char* context, uint64_t x, uint64_t y, const char* packet) {
  const std::string keys = R"(, dtype: i8, slice: "S", element: "A, B", init: {random: {seed: )";
  return std::string("kernel: copy\naxes: {S: 256, A: 16, B: 32, I: 2}\ntensors:\n") +
         "  x: {memory: dm, address: " + std::to_string(x) + keys + "1}}}\n" +
         "  y: {memory: dm, address: " + std::to_string(y) + keys + "2}}}\nprogram:\n  - " +
         context +
         R"(:
      from: [x, y]
      interleave: I
      stages:
        - fetch:       {time: "A, I", packet: ")" +
         packet + R"("}
        - collect
        - commit_trim: {packet: "B"}
        - commit:      {to: z, element: "A, I, B"}
)";
}

void expect_right(const std::string& text) {
  const RunResult run = run_program(interleave_program(text), test::shipped_topology(), {});
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_EQ(run.values.mismatches, 0u);
  ASSERT_EQ(run.values.checked.size(), 1u);
  EXPECT_EQ(run.values.checked[0].elements, 256u * 16 * 2 * 32);
}

// The step from one to the other is the way between them, up or down.
TEST(Interleave, TheSecondLiesBehindTheFirst) {
  const Program program = interleave_program(copy_pair("main", 0, 4096, "B"));
  EXPECT_EQ(program.commands[0].fetch->sequencer.text(), "[16 : 32, 2 : 4096, 32 : 1] : 32");
  expect_right(copy_pair("main", 0, 4096, "B"));
}

TEST(Interleave, TheSecondLiesBeforeTheFirst) {
  const Program program = interleave_program(copy_pair("main", 4096, 512, "B"));
  EXPECT_EQ(program.commands[0].fetch->sequencer.text(), "[16 : 32, 2 : -3584, 32 : 1] : 32");
  expect_right(copy_pair("main", 4096, 512, "B"));
}

TEST(Interleave, SubReadsEightBytesAtATime) {
  const Program program = interleave_program(copy_pair("sub", 512, 0, "B"));
  EXPECT_EQ(program.commands[0].fetch->accesses, 16u * 2 * 4);
  expect_right(copy_pair("sub", 512, 0, "B"));
}

// The halves of each row of one tensor, nearer to each other than the tensor is long.
std::string copy_halves(int first, int second) {
  const auto half = [](int start) {
    return "{view: {of: x, axis: H, start: " + std::to_string(start) + "}}";
  };
  return R"(kernel: halves
axes: {S: 256, A: 16, H: 2, B: 32, I: 2}
tensors:
  x: {memory: dm, dtype: i8, slice: "S", element: "A, H, B", address: 0, init: {random: {seed: 1}}}
program:
  - main:
      from: [)" +
         half(first) + ", " + half(second) + R"(]
      interleave: I
      stages:
        - fetch:       {time: "A, I", packet: "B"}
        - collect
        - commit_trim: {packet: "B"}
        - commit:      {to: z, element: "A, I, B"}
)";
}

TEST(Interleave, TakesViewsOfOneTensor) {
  const Program program = interleave_program(copy_halves(0, 1));
  EXPECT_EQ(program.commands[0].fetch->sequencer.text(), "[16 : 64, 2 : 32, 32 : 1] : 32");
  expect_right(copy_halves(0, 1));
  const Program down = interleave_program(copy_halves(1, 0));
  EXPECT_EQ(down.commands[0].fetch->sequencer.text(), "[16 : 64, 2 : -32, 32 : 1] : 32");
  ASSERT_EQ(down.commands[0].reads.size(), 2u);
  EXPECT_EQ(down.commands[0].reads[0].begin, 32u);  // from the first half on that it reads
  EXPECT_EQ(down.commands[0].reads[1].begin, 0u);
  expect_right(copy_halves(1, 0));
}

// Hazards see both.
TEST(Interleave, BothAreRead) {
  const Program program = interleave_program(copy_pair("main", 0, 4096, "B"));
  ASSERT_EQ(program.commands[0].reads.size(), 2u);
  EXPECT_EQ(program.commands[0].reads[0].begin, 0u);
  EXPECT_EQ(program.commands[0].reads[0].end, 512u);
  EXPECT_EQ(program.commands[0].reads[1].begin, 4096u);
  EXPECT_EQ(program.commands[0].reads[1].end, 4608u);
}

// Steps between two tensors 128 bytes apart stay in one bank: 64 reads of 8 bytes in a row.
TEST(Interleave, BanksAreCountedOverBoth) {
  const auto kernel = [](uint64_t y) {
    return interleave_program(R"(kernel: banks
axes: {A: 32, B: 8, I: 2}
tensors:
  x: {memory: dm, dtype: i8, slice: "1 # 256", element: "A, B # 128", address: 0, init: zero}
  y: {memory: dm, dtype: i8, slice: "1 # 256", element: "A, B # 128", address: )" +
                              std::to_string(y) + R"(, init: zero}
program:
  - main:
      from: [x, y]
      interleave: I
      stages:
        - fetch: {time: "A, I", packet: "B"}
        - collect
)");
  };
  EXPECT_EQ(kernel(8192).commands[0].fetch->same_bank, 64u);
  EXPECT_EQ(kernel(8200).commands[0].fetch->same_bank, 1u);
}

}  // namespace
}  // namespace rngdsim
