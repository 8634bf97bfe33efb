// SPDX-License-Identifier: Apache-2.0
// The worked examples of the vendor's page on DMA, within 2 % of its figures (10 % where it says
// "approximately" of row changes and of one stack), with the derivations; and whole kernels from
// HBM to HBM. A start-up, 500 cycles, contains the first access.
#include "tests/golden/kernels/kept_numbers.h"

namespace rngdsim {
namespace {

void expect_within(const RunResult& result, double cycles, double part) {
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  EXPECT_NEAR(static_cast<double>(result.cycles), cycles, cycles * part);
}

// 64 packets of 256 B: 64 reads and 64 writes in turn, one a cycle.
TEST(DmaExamples, TransposeInHbm) {
  const RunResult result = run(load("dma_transpose"));
  expect_within(result, 500 + 64 + 64, 0.02);
  EXPECT_EQ(result.dmas.at(0).requests, 64u);
  EXPECT_EQ(result.dmas[0].first_data, 500u);
}

// 256 x 4 x 32 x 2 requests by one engine, one a cycle; the two DMNs take turns.
TEST(DmaExamples, FullBandwidth) {
  const RunResult result = run(load("dma_full_bandwidth"));
  expect_within(result, 500 + 65536, 0.02);
  EXPECT_EQ(result.dmas.at(0).engines.size(), 1u);
}

// The same requests, read and written in turn.
TEST(DmaExamples, DmToDm) { expect_within(run(load("dma_dm_to_dm")), 500 + 2 * 65536, 0.02); }

// 524,288 requests on 32 channels, each a change of rows of 40 cycles.
TEST(DmaExamples, BankConflict) {
  const RunResult result = run(load("dma_bank_conflict"), false);
  expect_within(result, 500 + 524288 / 32 * 40, 0.1);
  EXPECT_EQ(result.dmas.at(0).hbm.transfers, 524288u);
  EXPECT_GT(result.dmas[0].hbm.row_conflicts, 524288u * 9 / 10);
}

// 4,096 requests on 16 channels, 5.33 cycles each.
TEST(DmaExamples, StackBit) {
  const RunResult result = run(load("dma_stack_bit"));
  expect_within(result, 500 + 4096.0 / 16 * 16 / 3, 0.1);
  EXPECT_EQ(result.dmas.at(0).channels.size(), 16u);
  EXPECT_EQ(result.dmas[0].stacks.at(0).transfers + result.dmas[0].stacks.at(1).transfers, 4096u);
}

// A pair of DMNs has 2 x 2 x 32 rows of 256 B, read and written in turn: 256 cycles. The last one
// of each cluster has three of four, in two commands.
TEST(DmaExamples, Heterogeneous) {
  const RunResult result = run(load("dma_heterogeneous"));
  expect_within(result, 2 * 500 + 2 * 96, 0.02);
  ASSERT_EQ(result.dmas.at(0).engines.size(), 8u);
  for (const DmaEngineResult& engine : result.dmas[0].engines) {
    const bool last = engine.engine % 4 == 3;
    EXPECT_EQ(engine.segments, last ? 2u : 1u);
    EXPECT_EQ(engine.requests, last ? 96u : 128u);
    const double cycles = last ? 1192 : 756;
    EXPECT_NEAR(static_cast<double>(engine.end), cycles, cycles * 0.02);
  }
}

// 64 KB over PCIe, 65,536 / 30 = 2,184.5 cycles each way. To HBM: requests leave 411 cycles before
// the end of the start-up and are at PCIe in 90; the last byte has passed it in 90 + 2,185, is at
// the engine 401 later, and its write has ended after three more. Back: the first write is at PCIe
// a cycle after its data, the last byte 2,185 later; then the answer and the end.
TEST(HostMemory, IsReachedAtTheRateOfPcie) {
  const RunResult result = run(load("host_to_hbm"));
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  ASSERT_EQ(result.values.checked.size(), 2u);
  EXPECT_EQ(result.values.checked[1].elements, 256u * 128);
  ASSERT_EQ(result.dmas.size(), 2u);
  const DmaResult& in = result.dmas[0];
  EXPECT_EQ(in.first_data, 500u);
  EXPECT_EQ(in.end, 90u + 2185 + 401 + 3);
  EXPECT_EQ(in.bytes_pcie, 65536u);
  const DmaResult& out = result.dmas[1];
  EXPECT_NEAR(static_cast<double>(out.first_data - out.begin), 500.5, 0.5);  // phase of HBM's clock
  EXPECT_EQ(out.end, out.first_data + 1 + 2185 + 2);
  EXPECT_EQ(out.bytes_pcie, 65536u);
  for (const char* way : {"pcie_read", "pcie_write"}) {
    const auto found = std::find_if(result.bandwidth.begin(), result.bandwidth.end(),
                                    [&](const BandwidthResult& b) { return b.name == way; });
    ASSERT_NE(found, result.bandwidth.end()) << way;
    EXPECT_EQ(found->bytes, 65536u);
    EXPECT_EQ(found->peak_bytes_per_cycle, 30.0);
  }
}

// Main has bank 0 from 263 on, one read a cycle; the first data of the DMA come in 500.
TEST(BankStarvation, IsAHazard) {
  const RunResult result = run(load("bank_starvation"));
  EXPECT_EQ(result.status, RunStatus::kOk);
  ASSERT_EQ(result.hazards.size(), 1u);
  EXPECT_NE(result.hazards[0].find("bank 0"), std::string::npos) << result.hazards[0];
  EXPECT_NE(result.hazards[0].find("command 1"), std::string::npos) << result.hazards[0];
  EXPECT_EQ(result.exit_status(false), 0);
  EXPECT_EQ(result.exit_status(true), 1);
}

// From HBM to HBM: the values are right, each command waits for what it reads, and a start-up and
// an overhead cost what they cost anywhere.
TEST(WholeKernels, MoveComputeAndMoveBack) {
  for (const char* kernel :
       {"gemm_hbm", "gemv_hbm", "dot_hbm", "constant_add_hbm", "elementwise_mul_hbm"}) {
    const RunResult result = run(load(kernel));
    EXPECT_EQ(result.status, RunStatus::kOk) << kernel;
    EXPECT_EQ(result.values.mismatches, 0u) << kernel;
    EXPECT_GE(result.cycles, result.bound) << kernel;
    EXPECT_EQ(result.commands.back().context, "dma") << kernel;
    EXPECT_EQ(result.commands.back().end, result.cycles) << kernel;
    for (const DmaResult& dma : result.dmas) {
      EXPECT_GE(dma.first_data, dma.begin + 500) << kernel;
      EXPECT_GE(dma.bytes_moved, dma.bytes_ideal) << kernel;
    }
    EXPECT_EQ(run(load(kernel), false).cycles, result.cycles) << kernel;
  }
}

// A slice holds 256 B: 256 requests, 64 on each engine of the source's cluster. Reads and writes of
// different clusters do not meet: data of the last in 500 + 63, its two beats are answered three
// cycles later, the command ends with the next. One cluster after the other.
TEST(ClusterShuffle, IsAMoveForEachCluster) {
  const RunResult result = run(load("cluster_shuffle"));
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  ASSERT_EQ(result.commands.size(), 4u);
  for (const size_t i : {1u, 2u}) {
    EXPECT_EQ(result.commands[i].cycles, 500u + 63 + 3 + 1) << i;
    EXPECT_EQ(result.commands[i].begin, result.commands[i - 1].end) << i;
    EXPECT_EQ(result.dmas.at(i).requests, 256u) << i;
    EXPECT_EQ(result.dmas[i].engines.size(), 4u) << i;
  }
}

// The digit A / 2 % 2 is in Cluster: index A of the result is A with that bit changed of the
// source.
TEST(ClusterShuffle, ExchangesTheClusters) {
  const RunResult result = run_keeping(load("cluster_shuffle"), {"x", "y"});
  const auto x = kept_numbers(result, "x"), y = kept_numbers(result, "y");
  ASSERT_EQ(y.size(), 64u * 512);
  for (size_t a = 0; a < 64; ++a) {
    for (size_t b = 0; b < 512; ++b) ASSERT_EQ(y[a * 512 + b], x[(a ^ 2) * 512 + b]) << a;
  }
}

// A pattern may name a cluster twice; then both hold what it holds. A shuffle of the one chip there
// is copies.
TEST(ClusterShuffle, MayCopy) {
  const Loaded loaded = load_text(R"(kernel: copies
axes: {C: 2, S: 256, B: 64}
tensors:
  x: {memory: dm, dtype: i8, cluster: "C", slice: "S", element: "B", init: {random: {seed: 1}}}
  h: {memory: hbm, dtype: i8, element: "C, S, B", init: {random: {seed: 2}}}
program:
  - dma: {from: x, to: y, cluster_shuffle: [1, 1]}
  - dma: {from: x, to: z, chip_shuffle: [0]}
  - dma: {from: h, to: g, chip_shuffle: [0]}
)");
  const RunResult result = run_keeping(loaded, {"x", "y", "z", "h", "g"});
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  const auto x = kept_numbers(result, "x"), y = kept_numbers(result, "y");
  const size_t cluster = x.size() / 2;
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], x[cluster + i % cluster]) << i;
  EXPECT_EQ(kept_numbers(result, "z"), x);
  EXPECT_EQ(kept_numbers(result, "g"), kept_numbers(result, "h"));
}

// Views of tensors in HBM, read and written: the same bytes under other axes, with and without
// padding behind them.
TEST(HbmViews, AreOtherNamesOfTheSameBytes) {
  const Loaded loaded = load_text(R"(kernel: hbm_views
axes: {A: 16, B: 64, D: 4, E: 16, F: 16, L: 3}
tensors:
  x: {memory: hbm, dtype: i8, element: "A, B", init: {random: {seed: 1, low: -100, high: 100}}}
  p: {memory: hbm, dtype: i8, element: "L # 4, B", init: {random: {seed: 2, low: -100, high: 100}}}
  w: {memory: hbm, dtype: i8, element: "D, E, F"}
program:
  - dma: {view: {of: x, reshape: {element: "D, E, F"}}, to: y, memory: hbm, element: "E, D, F"}
  - dma: {view: {of: p, unpad: "L, B"}, to: q, memory: dm, slice: "L # 256", element: "B"}
  - dma: {view: [{of: p, unpad: "L, B"}, {pad: "L # 8, B"}], to: r, memory: hbm, element: "B, L"}
  - dma: {from: x, to: w, to_view: {reshape: {element: "A, B"}}}
)");
  const RunResult result = run_keeping(loaded, {"x", "y", "p", "q", "r", "w"});
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  const auto x = kept_numbers(result, "x"), y = kept_numbers(result, "y");
  ASSERT_EQ(y.size(), 4u * 16 * 16);  // byte 256 d + 16 e + f of x, as both lists have it
  EXPECT_EQ(y, x);
  EXPECT_EQ(kept_numbers(result, "w"), x);
  const auto p = kept_numbers(result, "p");
  EXPECT_EQ(kept_numbers(result, "q"), p);
  EXPECT_EQ(kept_numbers(result, "r"), p);
}

// The commands between the moves take what gemm takes alone: 780 and 792 cycles.
TEST(WholeKernels, GemmBetweenItsMoves) {
  const RunResult result = run(load("gemm_hbm"));
  ASSERT_EQ(result.commands.size(), 5u);
  EXPECT_EQ(result.commands[2].cycles, 780u);
  EXPECT_EQ(result.commands[3].cycles, 792u);
  EXPECT_EQ(result.commands[1].begin, result.commands[0].end);  // one context
  // Rows of 64 B go back: all 8,192 of them are parts of lines.
  EXPECT_EQ(result.dmas.at(2).hbm.read_modify_writes, 8192u);
}

}  // namespace
}  // namespace rngdsim
