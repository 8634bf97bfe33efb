// SPDX-License-Identifier: Apache-2.0
// The figures of the vendor's page on the Switch Engine: ring size x Time x flits a packet, in the
// lower bound and in the cycles of the machine.
//
// Reads begin in 263; the first one is granted in 264, leaves Fetch in 265, the Fetch Adapter in
// 266 and enters the ring in 267. The last traversal is over in 267 + figure - 1. What has not left
// by then follows one flit a cycle. A flit passes Collect, Stream Adapter, Multiplier, Packet
// Reducer, Time Reducer, Lane Folder, Cast, Commit Adapter and Commit in the nine cycles after the
// switch and is written in the tenth: the command ends after 263 + 14 + figure + what was left.
#include <gmock/gmock.h>

#include "sim/wiring.h"
#include "tests/golden/kernels/shipped_kernel.h"

namespace rngdsim {
namespace {

constexpr uint64_t kAround = 263 + 14;

void expect_cycles(const RunResult& result, const Program& program, size_t command, uint64_t hops,
                   uint64_t left) {
  SCOPED_TRACE(command);
  const LowerBound& bound = program.commands.at(command).bound;
  EXPECT_EQ(bound.switch_hops, hops);
  EXPECT_EQ(bound.bound_by, "switch hops");
  EXPECT_EQ(bound.cycles, 263 + hops);
  EXPECT_EQ(result.commands.at(command).cycles, kAround + hops + left);
}

// The kernel of one chain through the switch: `stage` and what is fetched.
Loaded one_switch(const std::string& axes, const std::string& dtype, const std::string& slice,
                  const std::string& element, const std::string& time, const std::string& packet,
                  const std::string& stage, const std::string& flit, const std::string& result) {
  const std::string text = "kernel: one\naxes: {" + axes +
                           "}\ntensors:\n  x: {memory: dm, dtype: " + dtype + ", slice: \"" +
                           slice + "\", element: \"" + element +
                           "\", init: {random: {seed: 1, low: -100, high: 100}}}\nprogram:\n"
                           "  - main:\n      from: x\n      stages:\n        - fetch: {time: \"" +
                           time + "\", packet: \"" + packet + "\"}\n        - switch: {" + stage +
                           "}\n        - collect: {}\n        - commit_trim: {packet: \"" + flit +
                           "\"}\n        - commit: {to: y, element: \"" + result + "\"}\n";
  return load_text(text);
}

RunResult expect_one(const Loaded& loaded, uint64_t hops, uint64_t left) {
  const RunResult result = run(loaded);
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  EXPECT_GT(result.values.checked.at(0).elements, 0u);
  expect_cycles(result, loaded.program, 0, hops, left);
  return result;
}

// Ring 2 x 2, Time 64, packets of 8 flits. A round of time0 = 4 packets a slice gives 16: slice1,
// time0, slice0. Those of time0 = 3 are complete with the last traversal; the first of them, the
// seventh of 16, has its last flit then, and nine packets of 8 flits follow. As many flits leave as
// the ring has cycles. From data memory to data memory reads and writes would meet at the banks; of
// a stream that ends in the sink the first packet is at the switch in 264, and a flit is taken by
// the sink eight cycles after Collect: 263 + 10 and the figure.
TEST(SwitchExamples, Broadcast01) {
  const Loaded loaded = load_text(
      "kernel: one\naxes: {A: 256, B: 64, C: 63, X: 2, Y: 2}\nprogram:\n  - main:\n      stream: "
      "{dtype: f32, slice: \"A\", time: \"B\", packet: \"C # 64\", init: {random: {seed: 1}}}\n"
      "      stages:\n        - switch: {kind: broadcast01, slice1: 2, slice0: 2, time0: 4, slice: "
      "\"A / 4, X, Y\", time: \"B / 4, A / 2 % 2, B % 4, A % 2\"}\n        - collect: {}\n");
  const RunResult result = run(loaded);
  EXPECT_EQ(result.values.mismatches, 0u);
  EXPECT_EQ(result.values.checked.at(0).elements, 256u * 64 * 4 * 63);
  EXPECT_EQ(loaded.program.commands.at(0).bound.switch_hops, 2048u);
  EXPECT_EQ(loaded.program.commands[0].bound.cycles, 263u + 2048);
  EXPECT_EQ(result.cycles, 263u + 10 + 2048 + 9 * 8);
}

// Ring 4 x 8, Time 64, 2 flits. Of the four packets of the last round the last three follow.
TEST(SwitchExamples, Broadcast1) {
  expect_one(one_switch("A: 256, B: 64, C: 63, X: 4", "i8", "A", "B, C # 64", "B", "C # 64",
                        "kind: broadcast1, slice1: 4, slice0: 8, slice: \"A / 32, X, A % 8\", "
                        "time: \"B, A / 8 % 4\"",
                        "C # 64 % 32", "B, A / 8 % 4, C # 64"),
             4096, 3 * 2);
}

// Transpose: one packet a router and round, none is left. inter_transpose: of the four packets of a
// round (time0, slice1) the last two are complete with the last traversal. transposed_broadcast1:
// seven of eight follow.
TEST(SwitchExamples, TransposesOfTheKernel) {
  const Loaded loaded = load("switch_transpose");
  const RunResult result = run(loaded);
  expect_cycles(result, loaded.program, 0, 8192, 0);
  expect_cycles(result, loaded.program, 1, 256, 1);
  expect_cycles(result, loaded.program, 2, 1024, 7);
}

// Four digits in reverse order: nothing is left. Two digits to Time: three packets of 8 flits
// follow. Three elements to Time: two packets of one flit.
TEST(SwitchExamples, CustomBroadcastsOfTheKernel) {
  const Loaded loaded = load("switch_custom");
  const RunResult result = run(loaded);
  expect_cycles(result, loaded.program, 0, 16384, 0);
  expect_cycles(result, loaded.program, 2, 2048, 3 * 8);
  // The third example counts OutTime, 4 x 24 = 96; the rule, Time of the input, gives 4 x 8.
  expect_cycles(result, loaded.program, 3, 32, 2);
  // The bitmap of command 0 is loaded for 256 cycles; the copy in sub begins then.
  EXPECT_EQ(result.commands.at(1).begin, 256u);
  EXPECT_EQ(result.commands[1].waited_for.kind, "bitmap load");
}

// A forward is a ring of one: 2 flits x 64 packets, one a cycle.
TEST(SwitchExamples, Forward) {
  const Loaded loaded = one_switch("A: 256, B: 64, C: 63", "i8", "A", "B, C # 64", "B", "C # 64",
                                   "kind: forward", "C # 64 % 32", "B, C # 64");
  const RunResult result = run(loaded);
  EXPECT_EQ(result.values.mismatches, 0u);
  EXPECT_EQ(loaded.program.commands[0].bound.switch_hops, 128u);
  EXPECT_GE(result.commands[0].cycles, kAround + 128);
}

// A hop of two cycles doubles the way, the latency comes once.
TEST(SwitchParameters, HopAndLatency) {
  Loaded loaded = load("switch_transpose");
  Diagnostics diagnostics;
  set_parameter(loaded.topology, "switch.hop_cycles=2", diagnostics);
  set_parameter(loaded.topology, "switch.latency=11", diagnostics);
  ASSERT_FALSE(diagnostics.has_errors());
  const RunResult result = run(loaded);
  EXPECT_EQ(result.values.mismatches, 0u);
  // The last hop of the last traversal is one cycle of two before its end.
  EXPECT_EQ(result.commands.at(0).cycles, kAround + 2 * 8192 - 1 + 11);
}

// The ring is what everybody waits for; the multiplier is used in 128 of the 256 cycles.
TEST(SwitchReports, NameTheRing) {
  const Loaded loaded = load("switch_transpose");
  const RunResult result = run(loaded, false);
  const UnitResult& ring = unit(result, "switch");
  EXPECT_EQ(ring.blamed.size(), 1u);
  EXPECT_EQ(ring.blamed.count("switch"), 1u);
  EXPECT_EQ(unit(result, "main_collect").blamed.count("switch"), 1u);
}

// Sixteen rows a slice, whole again after ring 16 x Time 16: 256 flits, two a packet.
TEST(SwitchKernels, ABroadcastFeedsAContraction) {
  const Loaded loaded = load("switch_broadcast");
  const RunResult result = run(loaded);
  EXPECT_EQ(loaded.program.commands.at(1).bound.switch_hops, 256u);
  EXPECT_EQ(result.mac.useful, 256u * 256 * 16 * 8);  // M x K x O x J
  EXPECT_EQ(result.mac.issued, result.mac.useful);
  EXPECT_EQ(unit(result, "switch").items_in, 16u);
  EXPECT_EQ(unit(result, "switch").items_out, 256u);
  EXPECT_EQ(unit(result, "multiplier").items_out, 128u);
}

// What a router takes by mistake is found: the values are those of another slice.
TEST(SwitchKernels, AWrongBitmapIsFound) {
  Loaded loaded = load("switch_custom");
  std::vector<std::vector<uint32_t>>& snoop = loaded.program.commands.at(0).switching->snoop;
  std::swap(snoop[1], snoop[2]);
  const RunResult result = run(loaded);
  EXPECT_EQ(result.status, RunStatus::kFailed);
  EXPECT_EQ(result.values.mismatches, 2u * 8 * 64);  // two slices of 8 x 64 elements
}

// The figures do not depend on whether values are simulated.
TEST(SwitchKernels, TakeTheSameCyclesWithoutValues) {
  for (const char* kernel : {"switch_broadcast", "switch_transpose", "switch_custom"}) {
    const Loaded loaded = load(kernel);
    const RunResult with = run(loaded), without = run(loaded, false);
    EXPECT_EQ(with.cycles, without.cycles) << kernel;
    EXPECT_TRUE(with.units == without.units) << kernel;
  }
}

}  // namespace
}  // namespace rngdsim
