// SPDX-License-Identifier: Apache-2.0
// Which matrices a declared Time and Packet mean, and the cycles that they take. What is refused:
// broken/transpose_*.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

struct TransposeExample {
  std::string axes, dtype, time, packet, out_time, out_packet;
  uint64_t in_rows, in_cols, out_rows, matrices;
  uint64_t cycles;
};

std::ostream& operator<<(std::ostream& out, const TransposeExample& e) {
  return out << e.dtype << " " << e.time << "; " << e.packet;
}

std::string transpose_kernel(const TransposeExample& e) {
  return fmt::format(
      "kernel: t\naxes: {{{}}}\nprogram:\n  - main:\n      stream: {{dtype: {}, slice: \"1 # "
      "256\", time: \"{}\", packet: \"{}\"}}\n      stages:\n        - transpose: {{time: \"{}\", "
      "packet: \"{}\"}}\n",
      e.axes, e.dtype, e.time, e.packet, e.out_time, e.out_packet);
}

class LowerTranspose : public testing::TestWithParam<TransposeExample> {};

TEST_P(LowerTranspose, FindsTheMatrices) {
  const TransposeExample& e = GetParam();
  const LoweredKernel kernel = lower_text(transpose_kernel(e));
  ASSERT_EQ(kernel.errors(), "");
  const Command& command = kernel.command(0);
  ASSERT_TRUE(command.transpose);
  const TransposeConfig& config = *command.transpose;
  EXPECT_EQ(config.in_rows, e.in_rows);
  EXPECT_EQ(config.in_cols, e.in_cols);
  EXPECT_EQ(config.out_rows, e.out_rows);
  EXPECT_EQ(config.matrices, e.matrices);
  EXPECT_EQ(config.double_buffered, e.in_cols <= 16);
  EXPECT_EQ(config.packets_per_row * config.valid_elements, e.in_cols);
  EXPECT_EQ(config.cycles(), e.cycles);
  EXPECT_EQ(command.bound.transpose, e.cycles);
  EXPECT_EQ(command.final_items, e.matrices * e.out_rows);
  const AxisTable& axes = kernel.program.axes;
  EXPECT_EQ(command.final_shape.time.text(axes), e.out_time);
}

// The six examples of the page on the Transpose Engine, with its numbers. in = in_rows x in_cols /
// 8 (16 of 4 bits) flits a matrix; up to 16 columns in + (n - 1) max(in, out) + out, else n (in +
// out).
INSTANTIATE_TEST_SUITE_P(
    Documented, LowerTranspose,
    testing::Values(
        // in 16, out 16: 16 + 1 x 16 + 16.
        TransposeExample{"B: 2, C: 8, D: 2, E: 8", "i8", "B, C, D", "E # 32", "B, D, E", "C # 32",
                         8, 16, 16, 2, 48},
        // in 4, out 2.
        TransposeExample{"A: 4, B: 2", "i8", "A", "B # 32", "B", "A # 32", 4, 8, 2, 1, 6},
        // in 32, out 32: 2 x 64.
        TransposeExample{"B: 2, C: 8, D: 4, E: 8", "i8", "B, C, D", "E # 32", "B, D, E", "C # 32",
                         8, 32, 32, 2, 128},
        // in 4, out 8: 4 + 7 x 8 + 8.
        TransposeExample{"C: 8, D: 4, E: 8", "bf16", "C, D", "E # 16", "C, E", "D # 16", 4, 8, 8, 8,
                         68},
        // in 16, out 16: 16 + 3 x 16 + 16.
        TransposeExample{"B: 4, C: 16, E: 16", "i4", "B, C", "E # 64", "B, E", "C # 64", 16, 16, 16,
                         4, 80},
        // in 2, out 8: 2 + 3 x 8 + 8.
        TransposeExample{"B: 4, D: 2, E: 8", "f32", "B, D", "E", "B, E", "D # 8", 2, 8, 8, 4, 34}));

// Derived on paper from [matrices, rows, packets] = Time.
INSTANTIATE_TEST_SUITE_P(
    Derived, LowerTranspose,
    testing::Values(
        // Nothing is trimmed where the padded columns are kept: 4 + 8.
        TransposeExample{"A: 4, B: 2", "i8", "A", "B # 32", "B # 8", "A # 32", 4, 8, 8, 1, 12},
        // A row alone: E becomes Time, one element a flit; 1 + 2 x 8 + 8 for three matrices.
        TransposeExample{"A: 3, E: 8", "i16", "A", "E # 16", "A, E", "1 # 16", 1, 8, 8, 3, 25},
        // An axis cut into packets is whole again in Time: D 4 rows of E = 16 columns.
        TransposeExample{"C: 8, D: 4, E: 16", "i8", "C, D, E / 8", "E % 8 # 32", "C, E", "D # 32",
                         4, 16, 16, 8, 8 + 7 * 16 + 16},
        // Two axes are the rows.
        TransposeExample{"A: 4, B: 2, C: 5", "i8", "A, B", "C # 32", "C", "[A, B] # 32", 8, 8, 5, 1,
                         13},
        // A packet of nothing beside each: 16 columns, of which the latter half is padding.
        TransposeExample{"A: 8, E: 8", "i8", "A, 1 # 2", "E # 32", "1 # 2, E", "A # 32", 8, 16, 16,
                         1, 32},
        // 13 of 16 columns: the axis ends inside of its second packet.
        TransposeExample{"D: 4, E: 13", "f8e4m3", "D, E # 16 / 8", "E # 16 % 8 # 32", "E", "D # 32",
                         4, 16, 13, 1, 21},
        // Rows of padding: 3 of 4 are data, all 4 come in.
        TransposeExample{"B: 2, D: 3, E: 8", "bf16", "B, D # 4", "E # 16", "B, E", "D # 16", 4, 8,
                         8, 2, 4 + 8 + 8},
        // Packets of one element: of 8 columns one leaves; 4 + 4 + 1.
        TransposeExample{"H: 8", "bf16", "H", "1 # 16", "H / 4", "H % 4 # 16", 4, 8, 1, 2, 9},
        // f4e2m1 is a 4-bit type: 16 elements of a flit, two packets make 32 columns.
        TransposeExample{"A: 16, E: 32", "f4e2m1", "A, E / 16", "E % 16 # 64", "E", "A # 64", 16,
                         32, 32, 1, 64},
        // A flit of 8 elements of 32 bits has no padding at all.
        TransposeExample{"D: 2, F: 4, E: 8", "i32", "D, F", "E", "F, E", "D # 8", 2, 32, 32, 1,
                         40}));

// Where padding lets several geometries make the same, the fewest cycles count: of 4 packets of
// nothing that become 32, each may be a matrix (1 row of 8 columns: 1 + 3 x 8 + 8 = 33), two may be
// a row (2 + 16 + 16 = 34), or all four (single buffered, 4 + 32 = 36).
TEST(LowerTransposeChoice, PaddingAlone) {
  const LoweredKernel kernel = lower_text(
      transpose_kernel({"A: 2", "i8", "1 # 4", "1 # 32", "1 # 32", "1 # 32", 0, 0, 0, 0, 0}));
  ASSERT_EQ(kernel.errors(), "");
  const TransposeConfig& config = *kernel.command(0).transpose;
  EXPECT_EQ(config.matrices, 4u);
  EXPECT_EQ(config.in_cols, 8u);
  EXPECT_EQ(config.cycles(), 33u);
}

// A chain reads, casts, transposes and writes; the trim behind it keeps the rows that are data.
TEST(LowerTransposeChain, BehindACastAndBeforeACommit) {
  MoveKernel kernel;
  kernel.axes = "A: 8, B: 8";
  kernel.dtype = "i8";
  kernel.element = "A, B";
  kernel.stages = {R"(fetch: {time: "A", packet: "B"})",
                   "fetch_cast: {dtype: i32}",
                   "collect",
                   "cast: {dtype: i8}",
                   R"(transpose: {time: "B", packet: "A # 32"})",
                   R"(commit_trim: {packet: "A"})",
                   R"(commit: {to: y, element: "B, A"})"};
  for (const char* context : {"main", "sub"}) {
    kernel.context = context;
    const LoweredKernel lowered = lower_text(kernel.text());
    ASSERT_EQ(lowered.errors(), "") << context;
    EXPECT_EQ(lowered.command(0).transpose->cycles(), 16u);
    EXPECT_EQ(lowered.command(0).commit_adapter->trim_elements, 8u);
    EXPECT_EQ(lowered.tensor("y").dtype, DType::kI8);
  }
}

}  // namespace
}  // namespace rngdsim
