// SPDX-License-Identifier: Apache-2.0
// What rngd-compiler.yaml is made of: parameters that let the same units count as the vendor's
// compiler books, each shown by what it changes, and the values of kernels on that machine.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "sim/wiring.h"
#include "tests/golden/kernels/shipped_kernel.h"

namespace rngdsim {
namespace {

// Lowered for the shipped topology with these settings.
RunResult run_with(const std::string& text, const std::vector<std::string>& settings) {
  Diagnostics diagnostics;
  Loaded loaded;
  loaded.topology =
      load_topology(std::string(RNGDSIM_SOURCE_DIR) + "/configs/topologies/rngd.yaml", diagnostics);
  for (const std::string& setting : settings) {
    set_parameter(loaded.topology, setting, diagnostics);
  }
  const MachineLimits limits = limits_from(loaded.topology, diagnostics);
  const KernelDecl decl = parse_kernel(text, "kernel.yaml", diagnostics);
  loaded.program = lower(decl, limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  RunResult result = run(loaded);
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  return result;
}

// A load of 256 reads, then `count` contractions of 128 reads of a flit each.
std::string dots(int count) {
  std::string text = R"(kernel: dots
axes: {K: 2048}
tensors:
  x: {memory: dm, dtype: bf16, slice: "1 # 256", element: "K", init: {random: {seed: 1}}}
  w: {memory: dm, dtype: bf16, slice: "1 # 256", element: "K", init: {random: {seed: 2}}}
program:
  - sub:
      from: w
      stages:
        - fetch:   {time: "K / 16", packet: "K % 16"}
        - collect: {}
        - to_trf:  {to: w_trf, lane: "1", element: "K"}
)";
  for (int i = 0; i < count; ++i) {
    text += fmt::format(R"(  - main:
      from: x
      stages:
        - fetch:           {{time: "K / 16", packet: "K % 16"}}
        - collect:         {{}}
        - contract_outer:  {{with: w_trf, time: "K / 32", packet: "K % 32"}}
        - contract_packet: {{packet: "1"}}
        - contract_time:   {{time: "1"}}
        - contract_lane:   {{mode: interleaved, time: "1", packet: "1 # 8"}}
        - cast:            {{dtype: bf16, packet: "1 # 16"}}
        - commit_trim:     {{packet: "1 # 4"}}
        - commit:          {{to: y{}, element: "1 # 4"}}
)",
                        i);
  }
  return text;
}

// A switch among rings of `ring` slices of packets of `flits` flits, then a copy.
std::string broadcast(uint64_t ring, uint64_t flits) {
  const std::string packet = flits == 1 ? "K" : "K % 16", time = flits == 1 ? "S" : "S, K / 16";
  const std::string rest = ring == 256 ? "" : fmt::format("1 # {}, ", 256 / ring);
  return fmt::format(R"(kernel: broadcast
axes: {{S: {0}, O: {0}, K: {1}, C: 64}}
tensors:
  x: {{memory: dm, dtype: bf16, slice: "{4}S", element: "K", init: {{random: {{seed: 1}}}}}}
  c: {{memory: dm, dtype: bf16, slice: "1 # 256", element: "C", init: {{random: {{seed: 2}}}}}}
program:
  - main:
      from: x
      stages:
        - fetch:       {{time: "1", packet: "K"}}
        - switch:      {{kind: broadcast1, slice1: {0}, slice0: 1, slice: "{4}O", time: "S"}}
        - collect:     {{time: "{3}", packet: "{2}"}}
        - commit_trim: {{packet: "{2}"}}
        - commit:      {{to: y, element: "S, K"}}
  - main:
      from: c
      stages:
        - fetch:       {{time: "C / 16", packet: "C % 16"}}
        - collect:     {{}}
        - commit_trim: {{packet: "C % 16"}}
        - commit:      {{to: d, element: "C"}}
)",
                     ring, 16 * flits, packet, time, rest);
}

// 512 reads of 8 B and 5 cycles to the register file; 128 flits and 17 cycles to the commit.
constexpr uint64_t kTrfLoad = 263 + 512 + 5, kOneDot = 263 + 128 + 17;

TEST(Overheads, ThoseOfAClassAreItsAlone) {
  const auto cycles = [](const std::vector<std::string>& settings) {
    std::vector<uint64_t> all;
    for (const CommandResult& c : run_with(dots(1), settings).commands) all.push_back(c.cycles);
    return all;
  };
  using testing::ElementsAre;
  EXPECT_THAT(cycles({}), ElementsAre(kTrfLoad, kOneDot));
  EXPECT_THAT(cycles({"machine.overhead_sub=200"}), ElementsAre(kTrfLoad - 63, kOneDot));
  EXPECT_THAT(cycles({"machine.overhead_contraction=200"}), ElementsAre(kTrfLoad, kOneDot - 63));
  EXPECT_THAT(cycles({"machine.overhead_vector=200"}), ElementsAre(kTrfLoad, kOneDot));
  // What has no overhead of its own follows that of all.
  EXPECT_THAT(cycles({"machine.overhead_sub=200", "machine.command_overhead=100"}),
              ElementsAre(kTrfLoad - 63, kOneDot - 163));
}

// A read is at the Stream Adapter 5 cycles after it was asked for: memory, fetch, fetch adapter,
// collect, and there. The last of 128 leaves with its packet in that cycle, so that the next
// command begins 263 + 128 + 5 after this one, while 12 cycles more bring the result to memory.
TEST(OverlapDrain, AContractionEndsWithItsLastPacket) {
  const RunResult result = run_with(dots(2), {"machine.overlap_drain=1"});
  const auto& c = result.commands;
  EXPECT_EQ(c[0].cycles, kTrfLoad);  // of sub: lands as before
  EXPECT_EQ(c[1].cycles, 263u + 128 + 5);
  EXPECT_EQ(c[2].begin, c[1].end);
  EXPECT_EQ(c[2].cycles, 263u + 128 + 5);
  EXPECT_EQ(result.cycles, kTrfLoad + 263 + 128 + 5 + kOneDot);  // the run, with all that drains
  EXPECT_EQ(run_with(dots(2), {}).cycles, kTrfLoad + 2 * kOneDot);
}

// A flit is at the switch 4 cycles after its read; it enters the ring in that cycle and keeps it
// for 8. 32 flits of a packet: 256 cycles, behind which 7 packets of 32 flits are still to leave
// (224), 9 cycles from there to memory, a copy of 4 reads takes 263 + 13 + 4.
TEST(OverlapDrain, ASwitchEndsWithItsLastTraversal) {
  const RunResult plain = run_with(broadcast(8, 32), {});
  EXPECT_EQ(plain.commands[0].cycles, 263u + 4 + 8 * 32 + 224 + 10);
  EXPECT_EQ(plain.commands[1].cycles, 263u + 13 + 4);
  const RunResult result = run_with(broadcast(8, 32), {"machine.overlap_drain=1"});
  EXPECT_EQ(result.commands[0].cycles, 263u + 4 + 8 * 32);
  EXPECT_EQ(result.commands[1].begin, result.commands[0].end);
  EXPECT_EQ(result.commands[1].cycles, plain.commands[1].cycles);  // 234 lie within its overhead
  EXPECT_EQ(result.cycles, result.commands[1].end);
}

// With an overhead that is shorter than what drains, the next command's first read waits for the
// last write.
TEST(OverlapDrain, NothingOvertakesWhatDrains) {
  const std::vector<std::string> settings = {"machine.overlap_drain=1",
                                             "machine.command_overhead=10"};
  const RunResult result = run_with(broadcast(8, 32), settings);
  const uint64_t landed = 10 + 4 + 8 * 32 + 224 + 10;
  EXPECT_EQ(result.commands[0].end, 10u + 4 + 8 * 32);
  EXPECT_EQ(result.commands[1].begin, result.commands[0].end);
  EXPECT_EQ(result.commands[1].end, landed + 13 + 4);
}

// Packets of one flit keep a ring for two traversals more, packets of two do not, nor do rings that
// are too short.
TEST(ShortPackets, KeepTheRing) {
  const std::vector<std::string> settings = {"machine.overlap_drain=1",
                                             "switch.short_packet_traversals=2"};
  const auto cycles = [&](uint64_t ring, uint64_t flits) {
    return run_with(broadcast(ring, flits), settings).commands[0].cycles;
  };
  EXPECT_EQ(cycles(256, 1), 263u + 4 + 3 * 256);
  EXPECT_EQ(cycles(8, 1), 263u + 4 + 3 * 8);
  EXPECT_EQ(cycles(8, 2), 263u + 4 + 2 * 8);
  EXPECT_EQ(cycles(4, 1), 263u + 4 + 4);
}

// Without an overlap, too: the last of 8 flits waits for the ring, and is written 10 cycles later.
TEST(ShortPackets, HoldTheLastFlitBack) {
  const RunResult plain = run_with(broadcast(8, 1), {});
  EXPECT_EQ(plain.commands[0].cycles, 263u + 4 + 8 + 7 + 10);
  const RunResult kept = run_with(broadcast(8, 1), {"switch.short_packet_traversals=2"});
  EXPECT_EQ(kept.commands[0].cycles, 263u + 4 + 3 * 8 + 10);
}

// r - 1 hops of a fold behind a contraction; those behind a chain are another number.
TEST(HopsBehindAContraction, HaveTheirOwnCycles) {
  const std::string text = R"(kernel: fold
axes: {K: 2048, R: 16}
tensors:
  x: {memory: dm, dtype: bf16, slice: "1 # 16, R", element: "K", init: {random: {seed: 1}}}
  w: {memory: dm, dtype: bf16, slice: "1 # 16, R", element: "K", init: {random: {seed: 2}}}
program:
  - sub: {from: w, stages: [fetch: {time: "K / 16", packet: "K % 16"}, collect: {},
                            to_trf: {to: w_trf, lane: "1", element: "K"}]}
  - main:
      from: x
      stages:
        - fetch:           {time: "K / 16", packet: "K % 16"}
        - collect:         {}
        - contract_outer:  {with: w_trf, time: "K / 32", packet: "K % 32"}
        - contract_packet: {packet: "1"}
        - contract_time:   {time: "1"}
        - contract_lane:   {mode: interleaved, time: "1", packet: "1 # 8"}
        - vector_inter_slice_reduce: {op: add, slice: "1 # 16, 1 # 16", time: "1"}
        - cast:            {dtype: bf16, packet: "1 # 16"}
        - commit_trim:     {packet: "1 # 4"}
        - commit:          {to: y, element: "1 # 4"}
)";
  const uint64_t plain = run_with(text, {}).commands[1].cycles;
  EXPECT_EQ(run_with(text, {"inter_slice_reducer.hop_cycles=9"}).commands[1].cycles, plain);
  EXPECT_EQ(run_with(text, {"inter_slice_reducer.hop_cycles_contraction=5"}).commands[1].cycles,
            plain + 15 * 4);
}

// 64 flits through a chain of one ALU, a read of 32 B and a write of 16 B a cycle: n + a + 278
// cycles where the banks let all of them pass.
TEST(BankConflicts, CanBeLeftOut) {
  const std::string text = R"(kernel: chain
axes: {A: 512}
tensors:
  x: {memory: dm, dtype: f32, slice: "1 # 256", element: "A", init: {random: {seed: 1}}}
program:
  - main:
      from: x
      stages:
        - fetch:       {time: "A / 8", packet: "A % 8"}
        - collect:     {}
        - vector_tag:  {mode: zero}
        - vector_clip: {op: add, operand: 1.0}
        - cast:        {dtype: bf16}
        - commit_trim: {packet: "A % 8"}
        - commit:      {to: y, element: "A"}
)";
  EXPECT_GT(run_with(text, {}).cycles, 64u + 1 + 278);
  EXPECT_EQ(run_with(text, {"data_memory.bank_conflicts=0"}).cycles, 64u + 1 + 278);
}

std::string load_of(uint64_t elements, const std::string& slice) {
  return fmt::format(R"(kernel: dma
axes: {{A: {}}}
tensors:
  x: {{memory: hbm, dtype: bf16, element: "A", init: {{random: {{seed: 1}}}}}}
program:
  - dma: {{from: x, to: y, memory: dm, cluster: "1 # 2", slice: "{}", element: "A{}"}}
)",
                     elements, slice, slice == "1 # 256" ? "" : " % 64");
}

// A line of 256 B is two beats: of 27 cycles for 16 beats 16 lines more take 54, of one a cycle 32.
TEST(Beats, FollowEachOtherInPartsOfCycles) {
  const auto cycles = [](uint64_t lines, const std::vector<std::string>& settings) {
    return run_with(load_of(128 * lines, "1 # 256"), settings).cycles;
  };
  EXPECT_EQ(cycles(32, {}) - cycles(16, {}), 32u);
  const std::vector<std::string> slow = {"data_memory.beats=16", "data_memory.beat_cycles=27"};
  EXPECT_EQ(cycles(32, slow) - cycles(16, slow), 54u);
  EXPECT_EQ(cycles(48, slow) - cycles(32, slow), 54u);
}

TEST(Startup, OfSeveralEnginesTakesLonger) {
  const std::vector<std::string> settings = {"machine.dma_startup_engines=105"};
  const std::string one = load_of(4096, "1 # 256"), four = load_of(16384, "A / 64");
  EXPECT_EQ(run_with(one, settings).cycles, run_with(one, {}).cycles);
  const RunResult plain = run_with(four, {}), longer = run_with(four, settings);
  EXPECT_EQ(plain.dmas[0].engines.size(), 4u);
  EXPECT_EQ(longer.dmas[0].first_data, plain.dmas[0].first_data + 105);
}

TEST(Startup, IsByWhereTheDataGo) {
  const std::string store = R"(kernel: dma
axes: {A: 4096}
tensors:
  x: {memory: dm, dtype: bf16, cluster: "1 # 2", slice: "1 # 256", element: "A",
      init: {random: {seed: 1}}}
program:
  - dma: {from: x, to: y, memory: hbm, element: "A"}
)";
  const std::string inside = R"(kernel: dma
axes: {A: 256, S: 8}
tensors:
  x: {memory: dm, dtype: bf16, cluster: "1 # 2", slice: "1 # 256", element: "A",
      init: {random: {seed: 1}}}
program:
  - dma: {from: x, to: y, memory: dm, cluster: "1 # 2", slice: "S # 256", element: "A"}
)";
  const std::vector<std::string> settings = {"machine.dma_startup_to_hbm=331",
                                             "machine.dma_startup_in_dm=256"};
  const std::string load = load_of(4096, "1 # 256");
  EXPECT_EQ(run_with(load, settings).cycles, run_with(load, {}).cycles);
  EXPECT_EQ(run_with(store, settings).cycles, run_with(store, {}).cycles - (500 - 331));
  EXPECT_EQ(run_with(inside, settings).cycles, run_with(inside, {}).cycles - (500 - 256));
}

// Values do not know by which book cycles are counted.
class OnTheCompilersMachine : public testing::TestWithParam<const char*> {};
TEST_P(OnTheCompilersMachine, ValuesAreRight) {
  const std::string configs = std::string(RNGDSIM_SOURCE_DIR) + "/configs/";
  Diagnostics diagnostics;
  Loaded loaded;
  loaded.topology = load_topology(configs + "topologies/rngd-compiler.yaml", diagnostics);
  const MachineLimits limits = limits_from(loaded.topology, diagnostics);
  const KernelDecl decl =
      load_kernel(configs + "kernels/" + std::string(GetParam()) + ".yaml", diagnostics);
  loaded.program = lower(decl, limits, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  const RunResult result = run(loaded);
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  EXPECT_FALSE(result.values.checked.empty());
}
INSTANTIATE_TEST_SUITE_P(Kernels, OnTheCompilersMachine,
                         testing::Values("gemm", "softmax", "mnist", "switch_transpose",
                                         "switch_custom", "full_sum", "decoder_attention",
                                         "gather_rows", "scatter_rows", "two_clusters"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace rngdsim
