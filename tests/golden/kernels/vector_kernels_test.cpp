// SPDX-License-Identifier: Apache-2.0
// The kernels of the Vector Engine, with cycles worked out on paper. In a main command the read
// asked for in cycle c is at the Lane Folder in c + 9, at the Valid Count Generator in c + 10, at
// the Vector Engine in c + 11. With n steps, asked for from 263 on, the last step is taken in
// 274 + n - 1; a chain of a ALUs puts out its result a cycles later, and from there Cast Engine,
// Commit Adapter, Commit, memory and the end are 5 more: n + a + 278 cycles. A chain that ends in
// the VRF has two stations less behind the Cast Engine: n + a + 276.
//
// In sub the read asked for in c is at Collect in c + 4, in the register file in c + 5, and ended
// in c + 6: m reads take m + 268 cycles.
#include "tests/golden/kernels/shipped_kernel.h"

namespace rngdsim {
namespace {

uint64_t committed(uint64_t steps, uint64_t alus) { return steps + alus + 278; }
uint64_t kept(uint64_t steps, uint64_t alus) { return steps + alus + 276; }
uint64_t loaded(uint64_t reads) { return reads + 268; }

// Cycles of each command; the values are right, and timing alone gives the same.
RunResult expect_cycles(const std::string& kernel, const std::vector<uint64_t>& cycles) {
  const Loaded loaded = load(kernel);
  RunResult result = run(loaded);
  EXPECT_EQ(result.status, RunStatus::kOk) << kernel;
  EXPECT_EQ(result.values.mismatches, 0u) << kernel;
  EXPECT_EQ(result.commands.size(), cycles.size()) << kernel;
  for (size_t i = 0; i < cycles.size() && i < result.commands.size(); ++i) {
    EXPECT_EQ(result.commands[i].cycles, cycles[i]) << kernel << ", command " << i;
  }
  EXPECT_EQ(run(loaded, false).cycles, result.cycles) << kernel;
  return result;
}

// The load as in gemm; 512 flits make 128 results in 792 cycles there, and the Valid Count
// Generator, the Vector Engine and one ALU are three more.
TEST(VectorKernels, ReluCostsTheLatencyOfItsWay) {
  const RunResult gemm = run(load("gemm"));
  const RunResult relu = expect_cycles("relu", {gemm.commands[0].cycles, 792 + 3});
  EXPECT_EQ(gemm.commands[1].cycles, 792u);
  EXPECT_EQ(unit(relu, "vector_engine").items_out, 128u);
}

// 128 bf16 in reads of four. 64 x 128 elements are 1,024 flits of 8, one a cycle, and one ALU.
TEST(VectorKernels, Bias) { expect_cycles("bias", {loaded(32), committed(1024, 1)}); }

// 1,024 positions in steps of 4. Maximum: the tree. Sum: sub_f, exp and the tree. Quotient: sub_f,
// exp and the divider. The two f32 between them are 32 B with their padding, four reads each.
TEST(VectorKernels, Softmax) {
  const RunResult result = expect_cycles(
      "softmax", {committed(256, 1), loaded(4), committed(256, 3), loaded(4), committed(256, 3)});
  EXPECT_EQ(result.cycles, 535u + 272 + 537 + 272 + 537);  // each waits for the one before
  EXPECT_EQ(unit(result, "vector_engine").items_in, 3u * 128);
  EXPECT_EQ(unit(result, "vector_engine").items_out, 2u + 128);
}

// Mean: mul, tree, div, add. Root: one step, one ALU, into the VRF. Then mul and div. The load of
// the weights, 256 reads, runs beside the first and loses what the main context takes of its banks.
TEST(VectorKernels, RmsNorm) {
  const Loaded kernel = load("rmsnorm");
  const RunResult first = run(kernel);
  const UnitResult& fetch = unit(first, "sub_fetch");
  const RunResult result =
      expect_cycles("rmsnorm", {committed(256, 4), loaded(256) + fetch.blocked + fetch.conflict,
                                kept(1, 1), committed(256, 2)});
  EXPECT_LT(result.commands[1].end, result.commands[0].end);
  EXPECT_EQ(result.cycles, 538u + 278 + 536);
}

// mul, erf, fma, mul; and mul, fma, mul, tanh, then fma, mul on the f32 of the first pass.
TEST(VectorKernels, Gelu) {
  expect_cycles("gelu_erf", {committed(256, 4)});
  const Loaded kernel = load("gelu_tanh");
  const RunResult first = run(kernel);
  const UnitResult& fetch = unit(first, "sub_fetch");
  const RunResult result = expect_cycles("gelu_tanh", {loaded(256) + fetch.blocked + fetch.conflict,
                                                       committed(256, 4), committed(256, 2)});
  EXPECT_EQ(result.commands[2].begin, result.commands[0].end);  // for x in the VRF
}

// mul, sigmoid and the addition of the stash.
TEST(VectorKernels, Residual) { expect_cycles("residual", {committed(256, 3)}); }

// Two pairs of flits, two ALUs: the last flit is the last step.
TEST(VectorKernels, PairAdd) { expect_cycles("pair_add", {committed(4, 2)}); }

// The same from two tensors, whose four reads take turns, and without the ALU that triples.
TEST(VectorKernels, InterleavedAdd) { expect_cycles("interleaved_add", {committed(4, 1)}); }

// 16 steps, the tree, then 255 hops, and one station more than without the reducer.
TEST(VectorKernels, FullSum) {
  const RunResult result = expect_cycles("full_sum", {committed(16, 1) + 255 + 1});
  const UnitResult& reducer = unit(result, "inter_slice_reducer");
  EXPECT_EQ(reducer.busy, 2u);
  EXPECT_EQ(reducer.starved, 254u);
  EXPECT_EQ(reducer.blamed.at("inter_slice_reducer"), 254u);
}

#ifdef NDEBUG
// A block of 128 rows of K: 1,024 flits, 512 more than in gemm, and the three cycles of ReLU. Its
// weights are 1,024 reads, its partial sums 512; the product begins when these are there.
TEST(VectorKernels, GemmBlockedAlongK) {
  const Loaded kernel = load("gemm_blocked_k");
  const RunResult result = run(kernel);
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  ASSERT_EQ(result.commands.size(), 13u);
  EXPECT_EQ(result.commands[0].cycles, loaded(1024));  // nobody else reads
  for (size_t block = 0; block < 4; ++block) {
    const CommandResult& sums = result.commands[block * 3 + 1];
    const CommandResult& product = result.commands[block * 3 + 2];
    EXPECT_EQ(sums.cycles, loaded(512));
    EXPECT_EQ(product.begin, sums.end);
    EXPECT_EQ(product.cycles, 512u + 792 + 3);
  }
}
#endif

}  // namespace
}  // namespace rngdsim
