// SPDX-License-Identifier: Apache-2.0
// Every shipped kernel, run as a whole: the figures that the documents and a pencil give, values
// equal to the reference, and values that are found wrong where the machine is told something
// wrong.
#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/golden/kernels/shipped_kernel.h"

namespace rngdsim {
namespace {

class ShippedKernel : public ::testing::TestWithParam<std::string> {};

TEST_P(ShippedKernel, GivesTheValuesOfTheReference) {
  const RunResult result = run(load(GetParam()));
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  EXPECT_LE(result.values.max_bound_fraction, 1.0);
  ASSERT_FALSE(result.values.checked.empty());
  for (const CheckedValues& checked : result.values.checked) EXPECT_GT(checked.elements, 0u);
  for (const UnitResult& u : result.units) {
    EXPECT_EQ(u.busy + u.starved + u.blocked + u.conflict + u.idle, result.cycles) << u.name;
  }
  for (const CommandResult& c : result.commands) EXPECT_LE(c.bound, c.cycles);
}

std::vector<std::string> shipped_kernels() {
  std::vector<std::string> kernels = {"gemm",
                                      "gemm_i8",
                                      "gemm_i4",
                                      "gemm_zero_point",
                                      "gemm_sweep",
                                      "conv_columns",
                                      "copy_tiles",
                                      "reduce_rows",
                                      "reduce_time_only",
                                      "reduce_time_reordered",
                                      "reduce_slice_time_slicemajor",
                                      "reduce_time_slice_timemajor",
                                      "reduce_packet_only",
                                      "reduce_time_packet",
                                      "reduce_hcw_1",
                                      "reduce_hcw_2",
                                      "reduce_hcw_3",
                                      "relu",
                                      "bias",
                                      "softmax",
                                      "rmsnorm",
                                      "gelu_erf",
                                      "gelu_tanh",
                                      "residual",
                                      "pair_add",
                                      "interleaved_add",
                                      "mnist",
                                      "mnist_reordered",
                                      "cluster_shuffle",
                                      "memset",
                                      "reshape",
                                      "transpose",
                                      "fetch_table_lookup",
                                      "full_sum",
                                      "gemv_hbm",
                                      "dot_hbm",
                                      "constant_add_hbm",
                                      "elementwise_mul_hbm",
                                      "dma_transpose",
                                      "dma_stack_bit",
                                      "dma_heterogeneous",
                                      "gather_rows",
                                      "scatter_rows",
                                      "host_to_hbm",
                                      "bank_starvation",
                                      "ten_cycles",
                                      "switch_broadcast",
                                      "switch_transpose",
                                      "switch_custom",
                                      "two_clusters",
                                      "gemv",
                                      "dot",
                                      "stream_copy",
                                      "fetch_batch_1",
                                      "fetch_batch_2",
                                      "fetch_batch_3",
                                      "fetch_batch_4",
                                      "fetch_pad_8",
                                      "fetch_pad_16",
                                      "fetch_pad_32",
                                      "outer_broadcast",
                                      "bmatmul_k_in_time",
                                      "bmatmul_m_in_time",
                                      "bmatmul_v_in_time",
                                      "decoder_rmsnorm",
                                      "decoder_mlp",
                                      "decoder_attention",
                                      "decoder_projection",
                                      "decoder_rope"};
#ifdef NDEBUG
  kernels.emplace_back("gemm_blocked_double_buffer");  // 1e9 products each
  kernels.emplace_back("gemm_blocked_single_buffer");
  kernels.emplace_back("gemm_blocked_k");
  kernels.emplace_back("gemm_hbm");
  kernels.emplace_back("dma_full_bandwidth");  // 16 MB each
  kernels.emplace_back("dma_dm_to_dm");
  kernels.emplace_back("gemm_large");  // 4.3e9 products: minutes without optimisation
#endif
  return kernels;
}

// Every kernel beside the mappings of one GEMM, which have their own tests.
TEST(ShippedKernels, AreAllRun) {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(RNGDSIM_SOURCE_DIR) + "/configs/kernels")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().stem().string());
  }
  std::vector<std::string> run = shipped_kernels();
#ifndef NDEBUG
  for (const char* large :
       {"gemm_blocked_double_buffer", "gemm_blocked_single_buffer", "gemm_blocked_k", "gemm_hbm",
        "dma_full_bandwidth", "dma_dm_to_dm", "gemm_large"}) {
    run.emplace_back(large);
  }
#endif
  run.emplace_back("dma_bank_conflict");  // 128 MB of data: timing only, in dma_kernels_test.cpp
  EXPECT_THAT(run, testing::UnorderedElementsAreArray(files));
}

INSTANTIATE_TEST_SUITE_P(All, ShippedKernel, ::testing::ValuesIn(shipped_kernels()),
                         [](const auto& info) { return info.param; });

// 4,096 B of weights a slice are 512 reads of 8 B and 128 flits; 32 rows, read 4 times, 128 B each,
// are 512 reads of 32 B, 256 packets of two flits, 128 results.
TEST(Gemm, HasTheFiguresOfItsMapping) {
  const RunResult result = run(load("gemm"));
  EXPECT_EQ(result.mac.useful, 16'777'216u);  // 512 x 512 x 64
  EXPECT_EQ(result.mac.issued, 16'777'216u);
  EXPECT_EQ(unit(result, "main_fetch").busy, 512u);
  EXPECT_EQ(unit(result, "sub_fetch").busy, 512u);
  EXPECT_EQ(unit(result, "trf").items_in, 128u);
  EXPECT_EQ(unit(result, "multiplier").items_out, 256u);
  EXPECT_EQ(unit(result, "lane_folder").items_out, 128u);
  EXPECT_EQ(unit(result, "main_commit").items_out, 128u);
  // Read after write on the TRF: main begins when sub ends.
  ASSERT_EQ(result.commands.size(), 2u);
  EXPECT_EQ(result.commands[1].begin, result.commands[0].end);
  EXPECT_EQ(result.commands[1].waited_for.what, "b_trf");
}

// Reads in cycles 263 to 774; the last one is granted at 775, leaves Fetch at 776, the adapter at
// 777, Collect at 778, is stored at 779: the command ends at 780. Main: 512 reads from 780 + 263 =
// 1,043 to 1,554, then memory 1,555, Fetch 1,556, adapter 1,557, Collect 1,558, Stream Adapter
// 1,559, Multiplier 1,560, Packet Reducer 1,561, five cycles to the Time Reducer at 1,566, Lane
// Folder 1,567, Cast 1,568, Commit Adapter 1,569, Commit 1,570, written at 1,571.
TEST(Gemm, EndsWhereTheLatenciesAddUpTo) {
  const RunResult result = run(load("gemm"), false);
  EXPECT_EQ(result.commands[0].begin, 0u);
  EXPECT_EQ(result.commands[0].end, 780u);
  EXPECT_EQ(result.commands[1].begin, 780u);
  EXPECT_EQ(result.commands[1].end, 1'572u);
  EXPECT_EQ(result.cycles, 1'572u);
}

TEST(Gemm, TheFirstAccessComesTheOverheadAfterTheBegin) {
  // One cycle less of overhead is one cycle less for each command.
  Loaded loaded = load("gemm");
  for (Command& command : loaded.program.commands) command.overhead = 262;
  const RunResult result = run(loaded, false);
  EXPECT_EQ(result.commands[0].end, 779u);
  EXPECT_EQ(result.commands[1].end, 779u + 791u);
}

// The bytes, and so the reads, flits and packets, are those of gemm: 792 cycles of main (the test
// above). The tree of i8 takes 6 cycles and that of i4 7 instead of 5; without a cast the Cast
// Engine passes flits on, in the same cycle as it would cast them. Two flits a packet: a packet
// every two cycles, 256 in 2 x 255 + 1 = 511.
TEST(GemmOfIntegers, TakesTheCyclesOfGemmAndADeeperTree) {
  struct Case {
    const char* kernel;
    uint64_t tree, k;
    uint64_t macs;  // a lane and cycle
  };
  for (const Case& c : {Case{"gemm_i8", 6, 128, 64}, Case{"gemm_i4", 7, 256, 128},
                        // The subtraction happens in the cycle in which the adapter passes on.
                        Case{"gemm_zero_point", 6, 128, 64}}) {
    SCOPED_TRACE(c.kernel);
    const RunResult result = run(load(c.kernel), false);
    ASSERT_EQ(result.commands.size(), 2u);
    EXPECT_EQ(result.commands[0].end, 780u);
    EXPECT_EQ(result.commands[1].begin, 780u);
    EXPECT_EQ(result.commands[1].cycles, 792u - 5 + c.tree);
    EXPECT_EQ(result.commands[1].bound, 263u + 512);
    EXPECT_EQ(unit(result, "multiplier").items_out, 256u);
    EXPECT_EQ(result.mac.active_cycles, 511u);
    const uint64_t products = uint64_t{512} * 512 * c.k;
    EXPECT_EQ(result.mac.useful, products);
    EXPECT_EQ(result.mac.issued, products);
    // 8 lanes, 256 slices, 2 clusters, of which one works.
    EXPECT_EQ(result.mac.peak_per_cycle, c.macs * 8 * 256 * 2);
    EXPECT_DOUBLE_EQ(result.mac.utilization, 128.0 / (780 + 787 + static_cast<double>(c.tree)));
    EXPECT_DOUBLE_EQ(result.mac.utilization_while_active, 256.0 / 511);
  }
}

TEST(GemmOfIntegers, IsExact) {
  for (const char* kernel : {"gemm_i8", "gemm_i4", "gemm_zero_point"}) {
    const RunResult result = run(load(kernel));
    EXPECT_EQ(result.values.max_abs_error, 0.0) << kernel;
  }
}

// Weights: 32 x 288 of 2 B are 2,304 reads of 8 B and 576 flits; the load ends 268 cycles past its
// reads, as in gemm. Main: 16 pixels of 576 B are 288 reads and flits, 144 packets, each sent four
// times. The first leaves the Stream Adapter 5 cycles after its second read, one a cycle follows,
// the last multiplied 1 + 5 + 1 + 575 cycles after the first read, and the command ends 12 cycles
// later (gemm: multiplied in 1,560, end 1,572): 263 + 582 + 12 = 857.
TEST(ConvColumns, HasTheFiguresOfItsMapping) {
  const RunResult result = run(load("conv_columns"), false);
  ASSERT_EQ(result.commands.size(), 2u);
  EXPECT_EQ(unit(result, "sub_fetch").items_out, 2'304u);
  EXPECT_EQ(unit(result, "trf").items_in, 576u);
  EXPECT_EQ(result.commands[0].end, 2'572u);
  EXPECT_EQ(unit(result, "main_fetch").items_out, 288u);
  EXPECT_EQ(unit(result, "stream_adapter").items_in, 288u);
  EXPECT_EQ(unit(result, "multiplier").items_out, 576u);
  EXPECT_EQ(unit(result, "lane_folder").items_out, 64u);  // 16 pixels x 32 / 8
  EXPECT_EQ(result.commands[1].bound, 263u + 576);
  EXPECT_EQ(result.commands[1].cycles, 857u);
  EXPECT_EQ(result.cycles, 2'572u + 857);
  EXPECT_EQ(result.mac.useful, 37'748'736u);  // 64 x 64 x 32 x 288
  EXPECT_EQ(result.mac.issued, 37'748'736u);
  EXPECT_EQ(result.mac.active_cycles, 576u);
  EXPECT_DOUBLE_EQ(result.mac.utilization, 288.0 / 3'429);
  EXPECT_DOUBLE_EQ(result.mac.utilization_while_active, 1.0);
}

// 131,072 reads and 65,536 packets; 64 KB of TRF, 448 KB of DM.
TEST(GemmLarge, HasTheFiguresOfItsMapping) {
  const Loaded loaded = load("gemm_large");
  const RunResult result = run(loaded, false);
  EXPECT_EQ(unit(result, "main_fetch").busy, 131'072u);
  EXPECT_EQ(unit(result, "multiplier").items_out, 65'536u);
  EXPECT_EQ(unit(result, "trf").items_in, 2'048u);
  EXPECT_EQ(result.mac.useful, 4'294'967'296u);
  uint64_t bytes = 0;
  for (const TensorVersion& tensor : loaded.program.tensors) {
    if (tensor.memory == MemoryKind::kDm) bytes += tensor.bytes;
    if (tensor.memory == MemoryKind::kTrf) {
      EXPECT_EQ(tensor.bytes * tensor.lane.size(), 65'536u);
    }
  }
  EXPECT_EQ(bytes, 448u * 1024);
}

// The worked examples: 48, 24, 12, 12 and 15, 3, 1 reads.
TEST(Fetch, TakesTheReadsOfTheWorkedExamples) {
  const std::vector<std::pair<std::string, uint64_t>> kReads = {
      {"fetch_batch_1", 48}, {"fetch_batch_2", 24}, {"fetch_batch_3", 12}, {"fetch_batch_4", 12},
      {"fetch_pad_8", 15},   {"fetch_pad_16", 3},   {"fetch_pad_32", 1}};
  for (const auto& [kernel, reads] : kReads) {
    const RunResult result = run(load(kernel));
    EXPECT_EQ(unit(result, "main_fetch").busy, reads) << kernel;
    EXPECT_EQ(unit(result, "main_fetch").items_out, reads) << kernel;
  }
}

// One of 32 multipliers a lane: 64 packets x 8 lanes x 512 slices useful, a full packet's worth
// issued.
TEST(Bmatmul, KInTimeWastesTheMultipliers) {
  const RunResult result = run(load("bmatmul_k_in_time"));
  EXPECT_EQ(result.mac.useful, 262'144u);
  EXPECT_EQ(result.mac.issued, 8'388'608u);
}

// 64 flits, two a packet: a packet every 2 cycles, so 31 gaps between the first and the last.
TEST(Bmatmul, MInTimeGivesAPacketEveryTwoCycles) {
  const RunResult result = run(load("bmatmul_m_in_time"));
  const UnitResult& multiplier = unit(result, "multiplier");
  EXPECT_EQ(multiplier.items_out, 32u);
  EXPECT_EQ(multiplier.busy, 32u);
  EXPECT_EQ(multiplier.starved, 31u);
  EXPECT_EQ(result.mac.last_packet - result.mac.first_packet, 62u);
}

// 64 flits make 32 packets, each sent 5 times, one a cycle.
TEST(OuterBroadcast, SendsEachPacketFiveTimes) {
  const RunResult result = run(load("outer_broadcast"));
  const UnitResult& adapter = unit(result, "stream_adapter");
  EXPECT_EQ(adapter.items_in, 64u);
  uint64_t packets = 0;
  for (const auto& [name, value] : adapter.extra) {
    if (name == "packets_collected") packets = value;
  }
  EXPECT_EQ(packets, 32u);
  EXPECT_EQ(unit(result, "multiplier").items_out, 160u);
  EXPECT_EQ(result.mac.last_packet - result.mac.first_packet, 159u);
}

// A chain may end behind any stage: the sink then takes what the Commit Adapter makes.
TEST(Sink, TakesTrimmedAndCastFlits) {
  Diagnostics diagnostics;
  Loaded loaded = load("gemm");
  const KernelDecl decl = parse_kernel(R"(kernel: sink
axes: {I: 256, J: 64}
tensors:
  x: {memory: trf, dtype: bf16, slice: "I", lane: "1", element: "J", logical: [J], init: {random: {seed: 1}}}
program:
  - main:
      stream: {dtype: bf16, slice: "I", time: "J / 16", packet: "J % 16", init: {random: {seed: 2}}}
      stages:
        - contract_outer:  {with: x, time: "J / 32", packet: "J % 32"}
        - contract_packet: {packet: "1"}
        - contract_time:   {time: "1"}
        - contract_lane:   {mode: interleaved}
        - commit_trim:     {packet: "1 # 4"}
        - commit_cast:     {dtype: bf16, relu: true}
)",
                                       "sink.yaml", diagnostics);
  loaded.program = lower(decl, limits_from(loaded.topology, diagnostics), diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  const RunResult result = run(loaded);
  EXPECT_EQ(result.status, RunStatus::kOk);
  ASSERT_EQ(result.values.checked.size(), 1u);
  EXPECT_EQ(result.values.checked[0].elements, 256u);
  EXPECT_EQ(result.values.mismatches, 0u);
}

// The check of values must see what a machine with one wrong number does.
struct Fault {
  const char* name;
  std::function<void(Program&)> inject;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class InjectedFault : public ::testing::TestWithParam<Fault> {};

TEST_P(InjectedFault, IsFoundByTheReference) {
  Loaded loaded = load("gemm");
  GetParam().inject(loaded.program);
  const RunResult result = run(loaded);
  EXPECT_EQ(result.status, RunStatus::kFailed);
  EXPECT_TRUE(result.values.mismatches > 0 || !result.failures.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Gemm, InjectedFault,
    ::testing::Values(
        // The row stride of A: rows 0 to 15, each twice.
        Fault{"stride", [](Program& p) { p.commands[1].fetch->sequencer.entries[0].stride = 32; }},
        // Results 8 B further than they should be, one bank of data memory on.
        Fault{"bank", [](Program& p) { p.commands[1].commit->sequencer.entries[1].stride += 4; }},
        // Every lane gets the weights of lane 0.
        Fault{"lane", [](Program& p) { p.commands[0].fetch->sequencer.entries[0].stride = 0; }},
        // Neighbouring packets, which belong to one result, go to two slots.
        Fault{"slot",
              [](Program& p) {
                p.commands[1].time_reduce->loops = {{32, false}, {2, true}, {4, false}};
                p.commands[1].time_reduce->slots = 4;
              }},
        // The register file is read in another order.
        Fault{"trf_walk",
              [](Program& p) { p.commands[1].outer->trf_sequencer.entries[1].stride = 0; }}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace rngdsim
