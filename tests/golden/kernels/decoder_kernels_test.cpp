// SPDX-License-Identifier: Apache-2.0
// The kernels of a decoder block, with cycles worked out on paper. As in vector_kernels_test.cpp: a
// chain of n steps and a ALUs takes n + a + 278 cycles to data memory, and m reads of sub to a
// register file take m + 268. Without a chain the read asked for in c is at the Lane Folder in
// c + 9, at Cast, Commit Adapter, Commit in c + 10 to c + 12, written in c + 13, ended in c + 14:
// n reads from 263 on take n + 276. A contraction with a packet every two flits is gemm's, 512
// reads in 792 cycles: n + 280. Where a packet is sent for several positions the last one leaves
// later by as much as packets outnumber pairs of flits.
//
// Through the switch n flits take 277, the cycles of the ring and what is left of the last round
// (switch_kernels_test.cpp). The Transpose Engine gives the first column a cycle after the last
// flit of a matrix, so that what ends with a matrix of one column takes two cycles more.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/golden/kernels/kept_numbers.h"

namespace rngdsim {
namespace {

uint64_t decoder_chain(uint64_t steps, uint64_t alus) { return steps + alus + 278; }
uint64_t decoder_load(uint64_t reads) { return reads + 268; }
uint64_t decoder_ring(uint64_t hops, uint64_t left) { return 277 + hops + left; }

RunResult run_decoder(const std::string& kernel, size_t commands) {
  const Loaded loaded = load(kernel);
  RunResult result = run(loaded);
  EXPECT_EQ(result.status, RunStatus::kOk) << kernel;
  EXPECT_EQ(result.values.mismatches, 0u) << kernel;
  EXPECT_EQ(run(loaded, false).cycles, result.cycles) << kernel;
  EXPECT_EQ(result.commands.size(), commands) << kernel;
  return result;
}

// 32 elements a slice are 8 steps of 4. Mean: mul, tree, div, then 31 hops and one station more
// for the reducer. Quotient: mul and div. 32 bf16 are 8 reads of the weights.
TEST(DecoderKernels, RmsNormFoldsOverSlices) {
  const RunResult result = run_decoder("decoder_rmsnorm", 7);
  ASSERT_EQ(result.commands.size(), 7u);
  EXPECT_EQ(result.commands[2].cycles, decoder_chain(8, 3) + 31 + 1);
  EXPECT_EQ(result.commands[3].cycles, decoder_load(8));
  EXPECT_GE(result.commands[4].cycles, 263u + 32);  // a ring of 32 slices, one flit
  EXPECT_EQ(result.commands[5].begin, result.commands[3].end);
  EXPECT_EQ(result.commands[5].cycles, decoder_chain(8, 2));
}

// The vector is 256 reads of sub, a tile of two rows 128 reads of 32 B in main. The DMA of the next
// tile begins when that of this one ends, which is when the contraction of this one begins.
TEST(DecoderKernels, ProjectionStreamsItsWeights) {
  const RunResult result = run_decoder("decoder_projection", 11);
  ASSERT_EQ(result.commands.size(), 11u);
  EXPECT_EQ(result.commands[1].cycles, decoder_load(256));
  for (size_t tile = 0; tile < 4; ++tile) {
    const CommandResult& move = result.commands[2 + 2 * tile];
    const CommandResult& product = result.commands[3 + 2 * tile];
    EXPECT_EQ(product.begin, move.end) << tile;
    EXPECT_EQ(product.cycles, 128u + 280) << tile;
    if (tile < 3) {
      EXPECT_EQ(result.commands[4 + 2 * tile].begin, product.begin) << tile;
    }
  }
  EXPECT_EQ(result.commands[10].begin, result.commands[9].end);
}

// 128 bf16 are 32 reads. A half of two heads is 8 reads of 32 B. The products are 64 steps and one
// ALU each; 256 f32 are 128 reads of sub.
//
// The sum, 32 flits and one ALU, loses what its fetch takes of the banks of its commit. Read f, of
// 32 B at 1,536 + 32 f, is granted in cycle 264 + f and takes the banks of quarter f % 4 of a row;
// write j, of 16 B at 3,584 + 16 j, is due in 279 + j, with what was lost before, and wants two
// banks of quarter j / 2 % 4. Reads go on to 295. Write 1 meets read 16 (280, quarter 0), write 7
// read 23 (287, quarter 3), write 13 read 30 (294, quarter 2): three cycles.
TEST(DecoderKernels, RopeExchangesHalves) {
  const RunResult result = run_decoder("decoder_rope", 12);
  ASSERT_EQ(result.commands.size(), 12u);
  for (const size_t i : {3u, 4u}) EXPECT_EQ(result.commands[i].cycles, decoder_load(32)) << i;
  for (const size_t i : {5u, 6u}) EXPECT_EQ(result.commands[i].cycles, 8u + 276) << i;
  for (const size_t i : {7u, 8u}) EXPECT_EQ(result.commands[i].cycles, decoder_chain(64, 1)) << i;
  EXPECT_EQ(result.commands[9].cycles, decoder_load(128));
  EXPECT_EQ(result.commands[10].begin, result.commands[9].end);
  EXPECT_EQ(result.commands[10].cycles, decoder_chain(32, 1) + 3);
}

// A DMA of b bytes in requests of 256 B has its first data after 500 cycles and takes one a cycle
// on each of four engines; a write is answered three cycles after its data came.
uint64_t decoder_move(uint64_t bytes) { return 500 + bytes / 256 / 4 - 1 + 3; }

// Gate, up and down are 3 x 1,024 elements of 2 B in each of 8 lanes, 8 B a read. Up and gate: 64
// reads, and of the 32 pairs of flits each packet goes to 3 rows: 64 packets more, which leave in
// cycles of their own; the second flit of the first pair is there after one cycle, and after the
// last one 96 - 63 = 33 packets are left. GELU in sub, where 5 units of the contraction are not on
// the way: 6 steps, 4 ALUs; the first flit is complete with its second read, 1; the last flit is
// written 8 B at a time, and the 12 writes begin with the first flit, four steps before the last:
// 12 - 4 - 1 = 7 remain. 24 f32 are 12 reads.
TEST(DecoderKernels, MlpWaitsForItsWeights) {
  const RunResult result = run_decoder("decoder_mlp", 17);
  ASSERT_EQ(result.commands.size(), 17u);
  const std::vector<CommandResult>& c = result.commands;
  EXPECT_EQ(c[1].cycles, decoder_ring(4 * 64, 0));  // a router takes one packet a round
  for (const size_t i : {3u, 6u, 13u}) EXPECT_EQ(c[i].cycles, decoder_load(3 * 1024 * 8 / 4)) << i;
  for (const size_t i : {4u, 7u}) EXPECT_EQ(c[i].cycles, 64u + 280 + 33) << i;
  EXPECT_EQ(c[8].cycles, decoder_chain(6, 4) - 5 + 1 + 7);
  EXPECT_EQ(c[9].cycles, decoder_load(12));
  EXPECT_EQ(c[10].cycles, decoder_chain(6, 1));
  EXPECT_EQ(c[11].cycles, decoder_ring(256 * 3, 127));
  EXPECT_EQ(c[14].cycles, 192u + 280);
  EXPECT_EQ(c[15].cycles, decoder_ring(256, 127));
  for (const size_t i : {2u, 5u, 12u}) EXPECT_GE(c[i].cycles, decoder_move(6291456)) << i;
  // Weights move without a break, and are stored in the register file beside the next ones.
  EXPECT_EQ(c[5].begin, c[2].end);
  EXPECT_EQ(c[12].begin, c[5].end);
  for (const size_t i : {2u, 5u, 12u}) EXPECT_EQ(c[i + 1].begin, c[i].end) << i;
}

// Numbers of bf16 are off by at most 1/512 of themselves. Gated values, below 1, are the product of
// two of them and rounded, which adds up to 3/512 in the worst case and to little in sums of 3,072
// with weights of at most 0.05 and random signs; the result, below 2, is rounded to 1/256.
TEST(DecoderKernels, MlpComputesItsMathematics) {
  const RunResult result = run_keeping(load("decoder_mlp"), {"x", "up", "gate", "down", "y"});
  const auto x = kept_numbers(result, "x"), up = kept_numbers(result, "up");
  const auto gate = kept_numbers(result, "gate"), down = kept_numbers(result, "down");
  const auto y = kept_numbers(result, "y");
  constexpr size_t kH = 1024, kL = 3072;  // H before L in the file
  std::vector<double> u(kL), g(kL), expected(kH);
  for (size_t h = 0; h < kH; ++h) {
    for (size_t l = 0; l < kL; ++l) {
      u[l] += up[h * kL + l] * x[h];
      g[l] += gate[h * kL + l] * x[h];
    }
  }
  for (size_t l = 0; l < kL; ++l) u[l] *= g[l] / 2 * (1 + std::erf(g[l] / std::sqrt(2.0)));
  for (size_t h = 0; h < kH; ++h) {
    for (size_t l = 0; l < kL; ++l) expected[h] += down[h * kL + l] * u[l];
  }
  ASSERT_EQ(y.size(), kH);
  for (size_t h = 0; h < kH; ++h) EXPECT_NEAR(y[h], expected[h], 0.01) << h;
  const auto [low, high] = std::minmax_element(y.begin(), y.end());
  EXPECT_GT(*high - *low, 0.5);
}

// Keys: 8 x 8 x 128 elements. Scores: 128 reads; a chain of a flit takes 4 cycles more than none.
// Broadcasts of 16 packets over 64 slices, 4 apart. Maximum and sum: 2,048 steps; the accumulator
// tree is an ALU, the addition behind it another; of two results a column is made. Exponentials:
// difference and exp. 1,024 flits of minimum and maximum are not split; reads and writes of 32 B
// take a quarter of a row of banks each: read f in cycle 264 + f, write j in 280 + j, sixteen
// apart, so that the first write meets read 16, where both tensors begin at multiples of 128 B, and
// having lost a cycle meets none again.
//
// Values: 16 x 128 / 4 reads of sub. Weighted: one flit a packet, sent for 16 positions each: the
// last of 32 leaves 31 cycles after the first. Over slices: 32 flits, 31 hops, one station.
// Normalize: 512 steps and a quotient.
TEST(DecoderKernels, AttentionIsBoundByItsSteps) {
  const Loaded loaded = load("decoder_attention");
  for (const TensorVersion& tensor : loaded.program.tensors) {
    if (tensor.name == "e" || tensor.name == "e_all") {
      EXPECT_EQ(tensor.address % 128, 0u) << tensor.name;
    }
  }
  const RunResult result = run_decoder("decoder_attention", 23);
  ASSERT_EQ(result.commands.size(), 23u);
  const std::vector<CommandResult>& c = result.commands;
  EXPECT_EQ(c[2].cycles, decoder_load(8 * 8 * 128 / 4));
  EXPECT_EQ(c[3].cycles, 128u + 280 + 4);
  EXPECT_EQ(c[4].cycles, decoder_ring(256 * 16, 63));
  EXPECT_EQ(c[5].cycles, decoder_chain(2048, 1) + 2);
  EXPECT_EQ(c[6].cycles, decoder_load(8));
  EXPECT_EQ(c[7].cycles, decoder_chain(2048, 2));
  EXPECT_EQ(c[10].cycles, decoder_chain(1024, 2) + 1);
  EXPECT_EQ(c[11].cycles, decoder_chain(2048, 2) + 2);
  EXPECT_EQ(c[16].cycles, decoder_load(16 * 128 / 4));
  EXPECT_EQ(c[17].cycles, 1u + 280 + 31);
  EXPECT_EQ(c[18].cycles, 32u + 276 + 31 + 1);
  EXPECT_EQ(c[21].cycles, decoder_chain(512, 1));
  // Reads and writes of different lengths, or of both contexts, meet at the banks.
  EXPECT_GE(c[9].cycles, decoder_load(512 / 2));
  EXPECT_GE(c[12].cycles, 1024u + 276);
  EXPECT_GE(c[15].cycles, 263u + 11 + (4 + 64 * 8) - 1 + 4);  // 64 matrices of 4 flits, 8 columns
  EXPECT_GE(c[20].cycles, decoder_load(8));
  for (const size_t i : {1u, 14u}) EXPECT_GE(c[i].cycles, decoder_move(1048576)) << i;
  // The mask comes beside the keys' way into the register file, the values wait for the weights.
  EXPECT_LT(c[8].end, c[2].end);
  EXPECT_EQ(c[13].begin, c[12].end);
  EXPECT_EQ(c[14].begin, c[13].end);
}

// Scores, below 4, are off by 2^-8 at most, exponentials by as much of themselves, and an average
// of hundreds of values by far less than 0.002.
TEST(DecoderKernels, AttentionComputesItsMathematics) {
  const RunResult result = run_keeping(load("decoder_attention"), {"q", "k", "v", "y"});
  const auto q = kept_numbers(result, "q"), k = kept_numbers(result, "k");
  const auto v = kept_numbers(result, "v"), y = kept_numbers(result, "y");
  constexpr size_t kN = 8, kG = 2, kD = 128, kT = 512, kSeen = 400;
  ASSERT_EQ(y.size(), kN * kG * kD);
  for (size_t head = 0; head < kN * kG; ++head) {
    const size_t first = head / kG * kD;  // of the group's rows in k and v, whose axes are N, D, T
    std::vector<double> weight(kSeen), expected(kD);
    double sum = 0;
    for (size_t t = 0; t < kSeen; ++t) {
      double score = 0;
      for (size_t d = 0; d < kD; ++d) score += q[head * kD + d] * k[(first + d) * kT + t];
      sum += weight[t] = std::exp(score / std::sqrt(128.0));
    }
    for (size_t d = 0; d < kD; ++d) {
      for (size_t t = 0; t < kSeen; ++t) expected[d] += weight[t] / sum * v[(first + d) * kT + t];
      EXPECT_NEAR(y[head * kD + d], expected[d], 0.002) << head << " " << d;
    }
  }
  const auto [low, high] = std::minmax_element(y.begin(), y.end());
  EXPECT_GT(*high - *low, 0.05);
}

TEST(DecoderKernels, TheTableInTheDocsIsTrue) {
  std::ifstream file(std::string(RNGDSIM_SOURCE_DIR) + "/docs/network.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const char* part : {"rmsnorm", "projection", "rope", "mlp", "attention"}) {
    const std::string kernel = std::string("decoder_") + part;
    const RunResult result = run(load(kernel), false);
    EXPECT_THAT(text.str(), testing::HasSubstr(fmt::format("| `{}` | {} | {} |", kernel,
                                                           result.cycles, result.bound)));
  }
}

}  // namespace
}  // namespace rngdsim
