// SPDX-License-Identifier: Apache-2.0
// Gather and scatter by an index, with figures worked out by hand. Row i of 512 lies in slice i /
// 2; each of the four engines of cluster 0 has 128 rows.
#include "numeric/dtype.h"
#include "tests/golden/kernels/shipped_kernel.h"

namespace rngdsim {
namespace {

RunResult run_keeping_all(const Loaded& loaded) {
  RunOptions options;
  options.keep_all = true;
  return run_program(loaded.program, loaded.topology, options);
}

const TensorValues& kept(const RunResult& result, const std::string& name) {
  for (const TensorValues& tensor : result.tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

// Row `row` of a tensor whose last axis has `width` elements.
std::vector<uint32_t> row_of(const TensorValues& tensor, uint64_t row, size_t width) {
  const auto first = tensor.bits.begin() + static_cast<std::ptrdiff_t>(row * width);
  return {first, first + static_cast<std::ptrdiff_t>(width)};
}

// 785,920 = 1,535 x 512 bytes is the last row, and every third one before it follows.
TEST(GatherRows, ScaledChoosesByOffsetsAndUnscaledByNumbers) {
  const RunResult result = run_keeping_all(load("gather_rows"));
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  const TensorValues& table = kept(result, "table");
  const TensorValues& numbers = kept(result, "numbers");
  for (uint64_t g = 0; g < 512; ++g) {
    EXPECT_EQ(row_of(kept(result, "by_offset"), g, 256), row_of(table, 1535 - 3 * g, 256)) << g;
    EXPECT_EQ(row_of(kept(result, "by_number"), g, 256), row_of(table, numbers.bits[g], 256)) << g;
  }
}

// An engine needs 128 offsets, 512 bytes in two lines of HBM, and none of the eight lines shares a
// channel: they come in 500 and 501. The first row is asked for then and takes 108 cycles, and 256
// requests follow at one a cycle, a few more where channels are shared.
TEST(GatherRows, ScaledTakesTheTimeOfItsReads) {
  const RunResult result = run(load("gather_rows"));
  const DmaResult& dma = result.dmas.at(0);
  EXPECT_EQ(dma.requests, 1024u);
  ASSERT_EQ(dma.engines.size(), 4u);
  for (const DmaEngineResult& engine : dma.engines) {
    EXPECT_EQ(engine.requests, 256u);
    EXPECT_EQ(engine.index_requests, 2u);
    EXPECT_EQ(engine.index_bytes, 512u);
    EXPECT_EQ(engine.index_cycles, 1u);
    EXPECT_GE(engine.end, 501u + 108 + 256);
  }
  EXPECT_EQ(dma.first_data, 609u);
  EXPECT_EQ(dma.bytes_ideal, 512u * 512);
  EXPECT_NEAR(static_cast<double>(dma.end), 500 + 1 + 108 + 256 + 3, 0.1 * 868);
}

// The numbers lie 8 bytes in each of 64 slices: 64 requests, of which one comes a cycle.
TEST(GatherRows, UnscaledReadsItsIndexFromEverySlice) {
  const RunResult result = run(load("gather_rows"));
  const DmaResult& dma = result.dmas.at(2);
  for (const DmaEngineResult& engine : dma.engines) {
    EXPECT_EQ(engine.index_requests, 64u);
    EXPECT_EQ(engine.index_bytes, 512u);
    EXPECT_EQ(engine.index_cycles, 63u);
  }
  EXPECT_EQ(run(load("gather_rows"), false).cycles, result.cycles);
}

// Offset 256 + 512 k is row 1 + 2 k; the even rows keep their 2.0.
TEST(ScatterRows, ReplacesTheRowsThatTheIndexNames) {
  const RunResult result = run_keeping_all(load("scatter_rows"));
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  EXPECT_EQ(result.hazards.size(), 0u);
  const std::vector<uint32_t> two(128, 0x4000);  // 2.0 as bf16
  for (uint64_t k = 0; k < 512; ++k) {
    EXPECT_EQ(row_of(kept(result, "cache"), 2 * k, 128), two) << k;
    EXPECT_EQ(row_of(kept(result, "cache"), 2 * k + 1, 128), row_of(kept(result, "rows"), k, 128))
        << k;
  }
}

// The offsets come in 500 and 501, the first row of 256 bytes is read in 501 and there in 504; from
// there 128 reads and 128 writes take turns, the last write in 504 + 255, answered two cycles on.
TEST(ScatterRows, TakesTheTimeOfItsRows) {
  const RunResult result = run(load("scatter_rows"));
  const DmaResult& dma = result.dmas.at(0);
  EXPECT_EQ(dma.first_data, 504u);
  EXPECT_EQ(dma.end, 504u + 255 + 2 + 1);
  EXPECT_EQ(dma.bytes_ideal, 512u * 256);
  EXPECT_EQ(dma.hbm.read_modify_writes, 0u);
  EXPECT_EQ(run(load("scatter_rows"), false).cycles, result.cycles);
}

// [C]: the compiler counts 484 cycles for a gather or scatter besides its moves.
TEST(ScatterRows, PaysWhatTheTopologySaysBesides) {
  Loaded loaded = load("scatter_rows");
  for (NamedParameter& parameter : loaded.topology.machine) {
    if (parameter.name == "dma_index_cycles") parameter.parameter.value = 484.0;
  }
  loaded.program.limits.dma_index_cycles = 484;
  EXPECT_EQ(run(loaded).dmas.at(0).first_data, 504u + 484);
}

}  // namespace
}  // namespace rngdsim
