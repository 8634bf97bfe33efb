// SPDX-License-Identifier: Apache-2.0
// The kernels of a decoder block, with cycles worked out on paper. As in vector_kernels_test.cpp: a
// chain of n steps and a ALUs takes n + a + 278 cycles to data memory, and m reads of sub to a
// register file take m + 268. Without a chain the read asked for in c is at the Lane Folder in
// c + 9, at Cast, Commit Adapter, Commit in c + 10 to c + 12, written in c + 13, ended in c + 14:
// n reads from 263 on take n + 276. A contraction with a packet every two flits is gemm's, 512
// reads in 792 cycles: n + 280.
#include "tests/golden/kernels/shipped_kernel.h"

namespace rngdsim {
namespace {

uint64_t decoder_chain(uint64_t steps, uint64_t alus) { return steps + alus + 278; }
uint64_t decoder_load(uint64_t reads) { return reads + 268; }

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

}  // namespace
}  // namespace rngdsim
