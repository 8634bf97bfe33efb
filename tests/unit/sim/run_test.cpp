// SPDX-License-Identifier: Apache-2.0
// Kernels from text to result. Cycles are counted on paper with the shipped topology, in which
// every link takes one cycle:
//
//   a command begins in b; with an overhead of 263 its first access is requested in f = b + 263
//   f + 1   the memory grants            f + 2   data are back at Fetch and passed on
//   f + 3   Fetch Adapter                f + 4   Collect
//   main:   f + 5 Stream Adapter, + 6 Multiplier, + 7 Packet Reducer, + 8 Time Reducer, + 9 Lane
//           Folder, + 10 Cast, + 11 Commit Adapter, + 12 Commit, + 13 the write lands
//   sub:    f + 5 Cast, + 6 Commit Adapter, + 7 Commit, + 8 the write lands; or f + 5 the TRF
#include "sim/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "channel/unit.h"
#include "config/kernel.h"
#include "engine/stream_path.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "tests/unit/sim/topology_text.h"

namespace rngdsim {
namespace {

using test::Edits;
using test::shipped_topology;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

Program lowered(const std::string& kernel, const TopologyDecl& topology = shipped_topology()) {
  Diagnostics diagnostics;
  const KernelDecl decl = parse_kernel(kernel, "k.yaml", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  const MachineLimits limits = limits_from(topology, diagnostics);
  Program program = lower(decl, limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return program;
}

RunResult run(const std::string& kernel, const RunOptions& options = {}) {
  return run_program(lowered(kernel), shipped_topology(), options);
}

const UnitResult& unit(const RunResult& result, const std::string& name) {
  for (const UnitResult& unit : result.units) {
    if (unit.name == name) return unit;
  }
  ADD_FAILURE() << "no unit " << name;
  return result.units.front();
}
const LinkResult& link(const RunResult& result, const std::string& name) {
  for (const LinkResult& link : result.links) {
    if (link.name == name) return link;
  }
  ADD_FAILURE() << "no link " << name;
  return result.links.front();
}
const BandwidthResult& bandwidth(const RunResult& result, const std::string& name) {
  for (const BandwidthResult& bandwidth : result.bandwidth) {
    if (bandwidth.name == name) return bandwidth;
  }
  ADD_FAILURE() << "no bandwidth " << name;
  return result.bandwidth.front();
}

// A tensor in all slices of one cluster: 64 bf16 elements, 128 B, 4 flits a slice.
const char* const kHead = R"(kernel: test
description: test
axes: {S: 256, A: 64}
tensors:
  x: {memory: dm, dtype: bf16, slice: "S", element: "A", init: {random: {seed: 1}}}
program:
)";

const char* const kMainCopy = R"(  - main:
      from: x
      stages:
        - fetch:       {time: "A / 16", packet: "A % 16"}
        - collect:     {time: "A / 16", packet: "A % 16"}
        - commit_trim: {packet: "A % 16"}
        - commit:      {to: y, element: "A"}
)";
const char* const kSubCopy = R"(  - sub:
      from: x
      stages:
        - fetch:       {time: "A / 16", packet: "A % 16"}
        - collect:     {time: "A / 16", packet: "A % 16"}
        - commit_trim: {packet: "A % 16"}
        - commit:      {to: z, element: "A"}
)";

std::string kernel(const std::vector<std::string>& commands) {
  std::string text = kHead;
  for (const std::string& command : commands) text += command;
  return text;
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// ---- Copies -----------------------------------------------------------------------------------

TEST(Run, MainCopy) {
  RunOptions options;
  options.keep = {"y"};
  const RunResult result = run(kernel({kMainCopy}), options);
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.exit_status(), 0);
  // 32 B a read, 4 reads a slice: the last write lands in 263 + 13 + 3.
  EXPECT_EQ(result.cycles, 280u);
  ASSERT_EQ(result.commands.size(), 1u);
  const CommandResult& command = result.commands[0];
  EXPECT_TRUE(command.begun && command.ended);
  EXPECT_EQ(command.context, "main");
  EXPECT_EQ(command.issue, 0u);
  EXPECT_EQ(command.begin, 0u);
  EXPECT_EQ(command.end, 280u);
  EXPECT_EQ(command.cycles, 280u);
  EXPECT_EQ(command.overhead, 263u);
  EXPECT_EQ(command.bound, 263u + 4u);
  EXPECT_EQ(command.waited_for.text(), "-");
  EXPECT_EQ(command.line, 7);
  EXPECT_EQ(result.bound, 267u);
  EXPECT_THAT(result.bound_chain, ElementsAre(0u));

  ASSERT_EQ(result.values.checked.size(), 1u);
  EXPECT_EQ(result.values.checked[0].tensor, "y");
  EXPECT_EQ(result.values.checked[0].elements, 256u * 64u);
  EXPECT_EQ(result.values.mismatches, 0u);
  EXPECT_EQ(result.values.max_abs_error, 0);

  EXPECT_EQ(unit(result, "main_fetch").busy, 4u);
  EXPECT_EQ(unit(result, "main_fetch").items_out, 4u);
  EXPECT_EQ(unit(result, "main_fetch").type, "fetch_sequencer");
  EXPECT_EQ(unit(result, "main_collect").items_out, 4u);
  EXPECT_EQ(unit(result, "main_commit").busy, 4u);
  EXPECT_EQ(unit(result, "sub_fetch").idle, 280u);
  for (const UnitResult& u : result.units) {
    EXPECT_EQ(u.busy + u.starved + u.blocked + u.conflict + u.idle, 280u) << u.name;
  }
  EXPECT_EQ(link(result, "main_fetch.out->fetch_adapter.in").items, 4u);
  EXPECT_EQ(link(result, "main_fetch.out->fetch_adapter.in").stalled, 0u);
  EXPECT_EQ(link(result, "sub_fetch.out->fetch_adapter.sub_in").items, 0u);

  // 128 B a slice, 256 slices of the one cluster in use; peak 128 B a cycle of all 512 slices.
  const BandwidthResult& read = bandwidth(result, "dm_read");
  EXPECT_EQ(read.bytes_per_slice, 128u);
  EXPECT_EQ(read.bytes, 128u * 256u);
  EXPECT_DOUBLE_EQ(read.peak_bytes_per_cycle, 128.0 * 512.0);
  EXPECT_DOUBLE_EQ(read.bytes_per_cycle, 128.0 * 256.0 / 280.0);
  EXPECT_DOUBLE_EQ(read.utilization, 128.0 * 256.0 / 280.0 / (128.0 * 512.0));
  EXPECT_EQ(bandwidth(result, "dm_write").bytes, 128u * 256u);
  EXPECT_EQ(bandwidth(result, "trf_read").bytes, 0u);
  EXPECT_EQ(result.mac.useful, 0u);
  EXPECT_EQ(result.mac.peak_per_cycle, 0u);
  EXPECT_EQ(result.mac.utilization, 0);

  ASSERT_EQ(result.tensors.size(), 1u);
  EXPECT_THAT(result.tensors[0].axes, ElementsAre("S", "A"));
  EXPECT_THAT(result.tensors[0].shape, ElementsAre(256u, 64u));
  EXPECT_EQ(result.tensors[0].bits.size(), 256u * 64u);
}

TEST(Run, SubCopy) {
  const RunResult result = run(kernel({kSubCopy}));
  EXPECT_EQ(result.status, RunStatus::kOk);
  // 8 B a read: flit 4 is complete at Collect in f + 4 + 15, its last of four writes is requested
  // in f + 7 + 15 + 3 and lands one later: 263 + 26.
  EXPECT_EQ(result.cycles, 290u);
  EXPECT_EQ(unit(result, "sub_fetch").items_out, 16u);
  EXPECT_EQ(unit(result, "sub_commit").items_out, 16u);
  EXPECT_EQ(result.values.mismatches, 0u);
}

TEST(Run, CommandsOfOneContextFollowEachOther) {
  const RunResult result = run(kernel({kMainCopy, replaced(kMainCopy, "from: x", "from: y")}));
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.cycles, 560u);
  EXPECT_EQ(result.commands[1].issue, 280u);
  EXPECT_EQ(result.commands[1].begin, 280u);
  EXPECT_EQ(result.commands[1].waited_for.text(), "-");
  EXPECT_EQ(result.bound, 2u * 267u);
  EXPECT_EQ(result.values.checked.size(), 2u);
}

TEST(Run, ContextsOverlap) {
  const RunResult result = run(kernel({kMainCopy, kSubCopy}));
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.commands[0].begin, 0u);
  EXPECT_EQ(result.commands[1].begin, 0u);
  // Main comes first where both want a bank. All tensors begin in bank 0; read or write k of 8 B
  // uses bank k % 16, one of 32 B four of them. The first read of sub (bank 0, cycle 264) loses to
  // that of main (banks 0 to 3), its read 14 (cycle 279) to the last write of main (banks 12 to
  // 15): two cycles. Its write 1 (cycle 276) loses to the first write of main; that one hides
  // behind the reads.
  EXPECT_EQ(result.commands[0].end, 280u);
  EXPECT_EQ(result.commands[1].end, 292u);
  EXPECT_EQ(unit(result, "main_fetch").conflict, 0u);
  EXPECT_EQ(unit(result, "main_commit").conflict, 0u);
  EXPECT_EQ(result.values.mismatches, 0u);
}

TEST(Run, AHazardHoldsTheOtherContextUntilTheEnd) {
  // Reads y, which main writes.
  const RunResult result = run(kernel({kMainCopy, replaced(kSubCopy, "from: x", "from: y")}));
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.commands[1].issue, 0u);
  EXPECT_EQ(result.commands[1].begin, 280u);
  EXPECT_EQ(result.commands[1].end, 280u + 290u);
  EXPECT_EQ(result.commands[1].waited_for.kind, "read after write");
  EXPECT_EQ(result.commands[1].waited_for.text(), "y (read after write) 280");
  EXPECT_EQ(result.cycles, 570u);
  EXPECT_THAT(result.bound_chain, ElementsAre(0u, 1u));
}

TEST(Run, DelayLengthensTheOverhead) {
  const RunResult result =
      run(kernel({replaced(kMainCopy, "      from: x\n", "      from: x\n      delay: 7\n")}));
  EXPECT_EQ(result.cycles, 287u);
  EXPECT_EQ(result.commands[0].overhead, 270u);
}

TEST(Run, NoOverheadWorks) {
  const Edits edits = {
      {"{value: 263, source: C, note: commands", "{value: 0, source: C, note: commands"}};
  const TopologyDecl topology = shipped_topology(edits);
  const RunResult result = run_program(lowered(kernel({kMainCopy}), topology), topology);
  EXPECT_EQ(result.cycles, 17u);
  EXPECT_EQ(result.values.mismatches, 0u);
}

TEST(Run, AnEmptyProgramTakesNoTime) {
  Program program;
  program.limits = lowered(kernel({kMainCopy})).limits;
  const RunResult result = run_program(program, shipped_topology());
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.cycles, 0u);
  EXPECT_EQ(unit(result, "main_fetch").idle, 0u);
}

// ---- Streams and sinks ------------------------------------------------------------------------

const char* const kStreamIntoCollect = R"(kernel: test
description: test
axes: {S: 256, A: 64}
tensors: {}
program:
  - main:
      stream: {dtype: bf16, slice: "S", time: "A / 16", packet: "A % 16", init: {random: {seed: 3}}}
      stages:
        - collect: {time: "A / 16", packet: "A % 16"}
)";

TEST(Run, AStreamEntersAtItsStageAndDrainsIntoASink) {
  const RunResult result = run(kStreamIntoCollect);
  EXPECT_EQ(result.status, RunStatus::kOk);
  // Pushed from 263 on, at Collect one later, at Commit (which hands them to the sink) 8 after
  // that: the last of 4 in 263 + 1 + 8 + 3.
  EXPECT_EQ(result.cycles, 276u);
  ASSERT_EQ(result.values.checked.size(), 1u);
  EXPECT_EQ(result.values.checked[0].tensor, "sink of command 0");
  EXPECT_EQ(result.values.checked[0].elements, 256u * 64u);
  EXPECT_EQ(result.values.mismatches, 0u);
  EXPECT_EQ(unit(result, "main_source").items_out, 4u);
  EXPECT_EQ(unit(result, "fetch_adapter").items_in, 0u);
}

TEST(Run, AStreamThatIsFasterThanTheMachineWaitsAsleep) {
  // Packets of 4 flits: Collect takes one every 4 cycles; the source blocks on it.
  const RunResult result =
      run(replaced(kStreamIntoCollect, "time: \"A / 16\", packet: \"A % 16\", init",
                   "time: \"1\", packet: \"A\", init"));
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.cycles, 276u);  // 4 flits all the same
}

TEST(Run, ASinkBehindFetchSeesPackets) {
  // Packets of 96 B are read in three accesses of 32 B in main, in twelve of 8 B in sub.
  for (const char* context : {"main", "sub"}) {
    const std::string text = std::string(R"(kernel: test
description: test
axes: {S: 256, A: 4, B: 48}
tensors:
  x: {memory: dm, dtype: bf16, slice: "S", element: "A, B", init: {random: {seed: 1}}}
program:
  - )") + context + R"(:
      from: x
      stages:
        - fetch: {time: "A", packet: "B"}
)";
    const RunResult result = run(text);
    EXPECT_EQ(result.status, RunStatus::kOk) << context;
    ASSERT_EQ(result.values.checked.size(), 1u);
    EXPECT_EQ(result.values.checked[0].elements, 256u * 4u * 48u);
    EXPECT_EQ(result.values.mismatches, 0u);
    // Main: 12 accesses, at Commit in f + 12 and so on. Sub: 48, at Commit in f + 7 and so on.
    EXPECT_EQ(result.cycles, context == std::string("main") ? 263u + 12u + 12u : 263u + 7u + 48u);
  }
}

TEST(Run, ASinkBehindFetchKnowsWhichAccessIsPadding) {
  // Row 2 of every three is padding, never written; items 6 to 8 are its first three reads.
  const RunResult result = run(R"(kernel: test
description: test
axes: {S: 256, A: 2, B: 48, C: 4}
tensors:
  x: {memory: dm, dtype: bf16, slice: "S", element: "C, A # 3, B", init: {random: {seed: 1}}}
program:
  - main:
      from: x
      stages:
        - fetch: {time: "C, A # 3", packet: "B"}
)");
  EXPECT_EQ(result.status, RunStatus::kOk);
  ASSERT_EQ(result.values.checked.size(), 1u);
  EXPECT_EQ(result.values.checked[0].elements, 256u * 4u * 2u * 48u);
}

// ---- Contraction ------------------------------------------------------------------------------

// One cluster, every slice: c[S,I] = sum over K of a[S,I,K] b[J? one row]: 8 rows of 32 in 8 lanes.
const char* const kContraction = R"(kernel: test
description: test
axes: {S: 256, I: 4, J: 8, K: 32}
tensors:
  a: {memory: dm, dtype: bf16, slice: "S", element: "I, K", init: {random: {seed: 1}}}
  b: {memory: dm, dtype: bf16, slice: "S", element: "J, K", init: {random: {seed: 2}}}
program:
  - sub:
      from: b
      stages:
        - fetch:   {time: "J", packet: "K"}
        - collect: {time: "J, K / 16", packet: "K % 16"}
        - to_trf:  {to: b_trf, lane: "J", element: "K"}
  - main:
      from: a
      stages:
        - fetch:           {time: "I", packet: "K"}
        - collect:         {time: "I, K / 16", packet: "K % 16"}
        - contract_outer:  {with: b_trf, time: "I", packet: "K"}
        - contract_packet: {packet: "1"}
        - contract_time:   {time: "I"}
        - contract_lane:   {mode: interleaved, time: "I", packet: "J"}
        - commit_trim:     {packet: "J"}
        - commit:          {to: c, element: "I, J"}
expect:
  c: {sum_over: [K], product_of: [a, b]}
)";

TEST(Run, ContractionWaitsForItsWeightsAndCountsItsWork) {
  const RunResult result = run(kContraction);
  EXPECT_EQ(result.status, RunStatus::kOk);
  // 8 rows of 64 B, 64 reads of 8 B; flit 16 is complete at Collect in f + 4 + 63, stored in f
  // + 68.
  EXPECT_EQ(result.commands[0].end, 263u + 68u + 1u);
  EXPECT_EQ(result.commands[1].begin, 332u);
  EXPECT_EQ(result.commands[1].waited_for.text(), "b_trf (read after write) 332");
  // 8 flits at Collect in f + 4 to f + 11; the last packet leaves the Stream Adapter in f + 12, the
  // Multiplier in f + 13, the Packet Reducer in f + 14, whose tree takes 5 cycles (bf16): Time
  // Reducer f + 19, Lane Folder f + 20, Cast + 21, Commit Adapter + 22, Commit + 23, landed + 24.
  EXPECT_EQ(result.commands[1].cycles, 263u + 24u + 1u);
  EXPECT_EQ(result.cycles, 332u + 288u);

  // I x J x K products in 256 slices; a packet of 32 products in 8 lanes: all of them useful.
  EXPECT_EQ(result.mac.useful, 4u * 8u * 32u * 256u);
  EXPECT_EQ(result.mac.issued, 4u * 8u * 32u * 256u);
  EXPECT_EQ(result.mac.peak_per_cycle, 131'072u);  // bf16, whole chip
  EXPECT_EQ(result.mac.packets, 4u);
  EXPECT_EQ(result.mac.clusters_used, 1u);
  // A packet every second cycle: 4 packets in 7 cycles, the last in f + 13.
  EXPECT_EQ(result.mac.last_packet, 332u + 263u + 13u);
  EXPECT_EQ(result.mac.active_cycles, 7u);
  EXPECT_DOUBLE_EQ(result.mac.utilization_while_active, 4.0 / 7.0);
  EXPECT_DOUBLE_EQ(result.mac.utilization, 4.0 * 65'536.0 / (131'072.0 * 620.0));

  EXPECT_EQ(bandwidth(result, "trf_write").bytes, 16u * 32u * 256u);
  // Wide reads: 64 B of each of 8 lanes, 4 times.
  EXPECT_EQ(bandwidth(result, "trf_read").bytes, 4u * 64u * 8u * 256u);
  EXPECT_DOUBLE_EQ(bandwidth(result, "trf_read").peak_bytes_per_cycle, 512.0 * 512.0);
  EXPECT_DOUBLE_EQ(bandwidth(result, "trf_write").peak_bytes_per_cycle, 32.0 * 512.0);

  std::vector<std::string> checked;
  for (const CheckedValues& c : result.values.checked) checked.push_back(c.tensor);
  EXPECT_THAT(checked, ElementsAre("b_trf", "c", "c (expect)"));
  EXPECT_LE(result.values.max_bound_fraction, 1.0);
}

TEST(Run, DeclaredTrfTensorsAreLoaded) {
  std::string text = kContraction;
  const size_t begin = text.find("  - sub:"), end = text.find("  - main:");
  text.erase(begin, end - begin);
  text = replaced(text, "  b: {memory: dm, dtype: bf16, slice: \"S\", element: \"J, K\"",
                  "  b_trf: {memory: trf, dtype: bf16, slice: \"S\", lane: \"J\", element: \"K\"");
  text = replaced(text, "product_of: [a, b]", "product_of: [a, b_trf]");
  const RunResult result = run(text);
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.cycles, 288u);
  EXPECT_EQ(result.values.mismatches, 0u);
}

// ---- Everything that may change nothing -------------------------------------------------------

TEST(Run, TheOrderInWhichUnitsAreMadeChangesNothing) {
  const Program program =
      lowered(kernel({kMainCopy, kSubCopy, replaced(kMainCopy, "from: x", "from: z")}));
  const RunResult plain = run_program(program, shipped_topology());
  EXPECT_EQ(plain.status, RunStatus::kOk);
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    RunOptions options;
    options.shuffle_seed = seed;
    EXPECT_TRUE(run_program(program, shipped_topology(), options).same_run(plain)) << seed;
  }
  const Program contraction = lowered(kContraction);
  const RunResult second = run_program(contraction, shipped_topology());
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    RunOptions options;
    options.shuffle_seed = seed;
    EXPECT_TRUE(run_program(contraction, shipped_topology(), options).same_run(second)) << seed;
  }
}

TEST(Run, WithoutValuesTheCyclesAreTheSame) {
  for (const std::string& text : {kernel({kMainCopy, kSubCopy}), std::string(kContraction),
                                  std::string(kStreamIntoCollect)}) {
    RunResult with = run(text);
    RunOptions options;
    options.values = false;
    RunResult without = run(text, options);
    EXPECT_FALSE(without.values.simulated);
    EXPECT_THAT(without.values.checked, IsEmpty());
    without.values = with.values;
    EXPECT_TRUE(without.same_run(with));
  }
}

TEST(Run, SeedsChangeValuesButNoCycle) {
  const std::string text = kernel({kMainCopy});
  RunOptions options;
  options.keep_all = true;
  const RunResult first = run(text, options);
  options.seed = 1;
  const RunResult second = run(text, options);
  EXPECT_TRUE(second.same_run(first));
  ASSERT_EQ(first.tensors.size(), 2u);  // x and y
  EXPECT_NE(first.tensors[1].bits, second.tensors[1].bits);
  EXPECT_EQ(first.tensors[0].bits, first.tensors[1].bits);  // a copy
}

TEST(Run, ManyRunsInOneProcessAreAlike) {
  const Program program = lowered(kernel({kMainCopy}));
  const RunResult first = run_program(program, shipped_topology());
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(run_program(program, shipped_topology()).same_run(first));
  }
}

// ---- Ends before the end ----------------------------------------------------------------------

TEST(Run, StopsAtMaxCycles) {
  RunOptions options;
  for (const uint64_t limit : {1u, 100u, 263u, 270u, 279u}) {
    options.max_cycles = limit;
    const RunResult result = run(kernel({kMainCopy}), options);
    EXPECT_EQ(result.status, RunStatus::kMaxCycles) << limit;
    EXPECT_EQ(result.exit_status(), 1);
    EXPECT_EQ(result.cycles, limit);
    EXPECT_TRUE(result.commands[0].begun);
    EXPECT_FALSE(result.commands[0].ended);
    EXPECT_EQ(result.commands[0].end, limit);
    EXPECT_EQ(result.commands[0].cycles, limit);
    EXPECT_EQ(unit(result, "main_fetch").idle + unit(result, "main_fetch").busy, limit);
    EXPECT_THAT(result.values.checked, IsEmpty());
  }
  options.max_cycles = 280;
  EXPECT_EQ(run(kernel({kMainCopy}), options).status, RunStatus::kOk);
}

TEST(Run, ACommandThatNeverBeganHasNoTimes) {
  RunOptions options;
  options.max_cycles = 100;
  const RunResult result = run(kernel({kMainCopy, kMainCopy}), options);
  EXPECT_FALSE(result.commands[1].begun);
  EXPECT_EQ(result.commands[1].begin, 0u);
  EXPECT_EQ(result.commands[1].end, 0u);
  EXPECT_EQ(result.commands[1].cycles, 0u);
}

TEST(Run, StopsWhereTheCallerSaysSo) {
  const std::atomic<bool> stop{true};
  RunOptions options;
  options.stop = &stop;
  const RunResult result = run(kernel({kMainCopy}), options);
  EXPECT_EQ(result.status, RunStatus::kStopped);
  EXPECT_EQ(result.cycles, 0u);
  EXPECT_EQ(result.exit_status(), 1);
}

TEST(Run, TellsItsProgress) {
  std::vector<uint64_t> told;
  RunOptions options;
  options.progress = [&](uint64_t cycles, size_t ended) {
    told.push_back(cycles);
    EXPECT_LE(ended, 1u);
  };
  run(kernel({kMainCopy}), options);
  EXPECT_THAT(told, ElementsAre(0u));  // a run that short tells nothing more
}

TEST(Run, PoisonEndsTheRunAndNamesTheElement) {
  const std::string text = replaced(kernel({kMainCopy}), ", init: {random: {seed: 1}}", "");
  const RunResult result = run(text);
  EXPECT_EQ(result.status, RunStatus::kFailed);
  EXPECT_EQ(result.exit_status(), 1);
  ASSERT_FALSE(result.failures.empty());
  EXPECT_EQ(result.failures[0].kind, "poison");
  EXPECT_EQ(result.failures[0].unit, "main_fetch");
  EXPECT_EQ(result.failures[0].cycle, 265u);  // when the data of the first read are back
  EXPECT_THAT(result.failures[0].message, HasSubstr("x"));
  EXPECT_EQ(result.cycles, 266u);
  RunOptions options;
  options.values = false;
  EXPECT_EQ(run(text, options).status, RunStatus::kOk);
}

// ---- Zero points ------------------------------------------------------------------------------

// 32 i8 elements of one slice, then the largest and the smallest: -128 less 200 is -328.
std::string zero_point_kernel(int zero_point) {
  std::string values;
  for (int i = 0; i < 32; ++i) values += "10, ";
  return R"(kernel: test
axes: {I: 2, K: 32}
tensors:
  a: {memory: dm, dtype: i8, slice: "1 # 256", element: "I, K", init: {values: [)" +
         values + "127, -128, " + values.substr(0, values.size() - 10) + R"(5]}}
program:
  - main:
      from: a
      stages:
        - fetch: {time: "I", packet: "K"}
        - fetch_zero_point_sub: {zero_point: )" +
         std::to_string(zero_point) + R"(}
        - collect
)";
}

TEST(Run, AZeroPointThatFitsGivesTheDifference) {
  const RunResult result = run(zero_point_kernel(128));  // 127 - 128 = -1, -128 - 128 = -256
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  ASSERT_EQ(result.values.checked.size(), 1u);
  EXPECT_EQ(result.values.checked[0].elements, 64u);
}

// Accesses of 32 B in 263 and 264; the second is at the Fetch Adapter in 267.
TEST(Run, AnElementThatDoesNotFitIsOutOfRange) {
  const RunResult result = run(zero_point_kernel(129));
  EXPECT_EQ(result.status, RunStatus::kFailed);
  EXPECT_EQ(result.exit_status(), 1);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].kind, "out of range");
  EXPECT_EQ(result.failures[0].unit, "fetch_adapter");
  EXPECT_EQ(result.failures[0].cycle, 267u);
  EXPECT_EQ(
      result.failures[0].message,
      "tensor 'a' at I=1 K=1 is -128; less the zero point 129 it is -257, and i9 holds -256 to "
      "255 (slice 0, access 1)");
}

// ---- Views ------------------------------------------------------------------------------------

// y[A] = x[A] for tile `tile` of four only; 16 elements a tile.
std::string view_kernel(const std::string& more, const char* y_init = "") {
  return replaced(kHead, "program:\n",
                  std::string("  y: {memory: dm, dtype: bf16, slice: \"S\", element: \"A\"") +
                      y_init + "}\nprogram:\n") +
         more;
}
std::string copy_of_tile(const std::string& from, const std::string& to) {
  return "  - main:\n      view: {of: x, axis: \"A / 16\", start: " + from +
         "}\n      stages:\n        - fetch: {time: \"1\", packet: \"A % 16\"}\n        - collect\n"
         "        - commit_trim: {packet: \"A % 16\"}\n"
         "        - commit: {to: y, view: {axis: \"A / 16\", start: " +
         to + "}}\n";
}
const TensorValues& kept(const RunResult& result, const std::string& name) {
  for (const TensorValues& tensor : result.tensors) {
    if (tensor.name == name) return tensor;
  }
  ADD_FAILURE() << "no tensor " << name;
  return result.tensors.front();
}

TEST(Run, ACommitIntoAViewChangesItsTileOnly) {
  RunOptions options;
  options.keep = {"x", "y"};
  const RunResult result =
      run(view_kernel(copy_of_tile("1", "3"), ", init: {constant: 7}"), options);
  EXPECT_EQ(result.status, RunStatus::kOk);
  const TensorValues &x = kept(result, "x"), &y = kept(result, "y");
  ASSERT_EQ(y.bits.size(), 256u * 64);
  for (size_t s = 0; s < 256; ++s) {
    for (size_t a = 0; a < 64; ++a) {
      const uint32_t expected = a < 48 ? 0x40e0u : x.bits[s * 64 + a - 32];  // 7.0 in bf16
      ASSERT_EQ(y.bits[s * 64 + a], expected) << s << " " << a;
      ASSERT_EQ(y.valid[s * 64 + a], 1u);
    }
  }
  ASSERT_EQ(result.values.checked.size(), 1u);
  EXPECT_EQ(result.values.checked[0].tensor, "y[A / 16: 3]");
  EXPECT_EQ(result.values.checked[0].elements, 256u * 16);
}

TEST(Run, TilesThatNobodyWroteArePoison) {
  const std::string read_all =
      replaced(replaced(kMainCopy, "from: x", "from: y"), "to: y", "to: z");
  const std::string three = view_kernel(copy_of_tile("0", "0") + copy_of_tile("1", "1") +
                                        copy_of_tile("2", "2") + read_all);
  const RunResult result = run(three);
  EXPECT_EQ(result.status, RunStatus::kFailed);
  ASSERT_FALSE(result.failures.empty());
  EXPECT_EQ(result.failures[0].kind, "poison");
  EXPECT_THAT(result.failures[0].message, HasSubstr("tensor 'y' is read at A=48"));
  const RunResult all =
      run(view_kernel(copy_of_tile("0", "0") + copy_of_tile("1", "1") + copy_of_tile("2", "2") +
                      copy_of_tile("3", "3") + read_all));
  EXPECT_EQ(all.status, RunStatus::kOk);
  EXPECT_EQ(all.values.mismatches, 0u);
}

TEST(Run, AnExpectedResultMustBeWhole) {
  const std::string expect = "expect:\n  y: {product_of: [x]}\n";
  const std::string tiles =
      copy_of_tile("0", "0") + copy_of_tile("1", "1") + copy_of_tile("2", "2");
  const RunResult incomplete = run(view_kernel(tiles + expect));
  EXPECT_EQ(incomplete.status, RunStatus::kFailed);
  EXPECT_EQ(incomplete.values.mismatches, 256u * 16);
  EXPECT_EQ(run(view_kernel(tiles + copy_of_tile("3", "3") + expect)).status, RunStatus::kOk);
  // Tile 2 in the place of tile 3: the values are wrong there.
  const RunResult wrong = run(view_kernel(tiles + copy_of_tile("2", "3") + expect));
  EXPECT_EQ(wrong.status, RunStatus::kFailed);
  EXPECT_GT(wrong.values.mismatches, 200u * 16);
}

// The view names element 4 m + n of x[S, A] with its 256 x 64 elements [s, m, n], so that y[S, M,
// N] holds x[S, 4 M + N].
const char* const kReshaped =
    "kernel: reshaped\naxes: {S: 256, A: 64, M: 16, N: 4}\ntensors:\n"
    "  x: {memory: dm, dtype: i8, slice: \"S\", element: \"A\", init: {random: {seed: 1}}}\n"
    "program:\n"
    "  - main:\n      view: {of: x, reshape: {element: \"M, N\"}}\n      stages:\n"
    "        - fetch: {time: \"M / 8\", packet: \"M % 8, N\"}\n        - collect\n"
    "        - commit_trim: {packet: \"M % 8, N\"}\n"
    "        - commit: {to: y, element: \"M, N\"}\n";

TEST(Run, AReshapedTensorHasOtherAxes) {
  RunOptions options;
  options.keep = {"x", "y"};
  const RunResult result = run(kReshaped, options);
  EXPECT_EQ(result.status, RunStatus::kOk);
  const TensorValues &x = kept(result, "x"), &y = kept(result, "y");
  ASSERT_EQ(y.bits.size(), 256u * 64);
  for (size_t s = 0; s < 256; ++s) {
    for (size_t m = 0; m < 16; ++m) {
      for (size_t n = 0; n < 4; ++n) {  // axes in the order of the file: S, M, N
        ASSERT_EQ(y.bits[s * 64 + 4 * m + n], x.bits[s * 64 + 4 * m + n]);
      }
    }
  }
}

// Slices 8 h to 8 h + 7 hold x[8 h .. 8 h + 7] in the first and nothing in the others. Named
// X, they are elements that nobody wrote; named padding again they are none.
const char* const kPoisoned =
    "kernel: poisoned\naxes: {H: 256, X: 8}\ntensors:\n"
    "  x: {memory: dm, dtype: bf16, slice: \"H / 8, 1 # 8\", element: \"H % 8\", init: {random: "
    "{seed: 1, low: -1, high: 1}}}\nprogram:\n"
    "  - main:\n      view: {of: x, reshape: {slice: \"H / 8, X\"}}\n      stages:\n"
    "        - fetch: {time: \"1\", packet: \"H % 8\"}\n        - collect\n"
    "        - commit_trim: {packet: \"H % 8\"}\n        - commit: {to: y, element: \"H % 8\"}\n";

TEST(Run, PoisonTravelsWithWhatOnlyMovesIt) {
  RunOptions options;
  options.keep = {"x", "y"};
  const RunResult result = run(kPoisoned, options);
  EXPECT_EQ(result.status, RunStatus::kOk);
  const TensorValues &x = kept(result, "x"), &y = kept(result, "y");
  ASSERT_EQ(y.bits.size(), 256u * 8);
  for (size_t h = 0; h < 256; ++h) {
    for (size_t k = 0; k < 8; ++k) {
      ASSERT_EQ(y.valid[h * 8 + k], k == 0 ? 1u : 0u) << h << " " << k;
    }
    ASSERT_EQ(y.bits[h * 8], x.bits[h]);
  }
}

TEST(Run, PoisonOfAReshapeFailsWhereItIsRead) {
  const std::string back =
      "  - main:\n      view: {of: y, reshape: {slice: \"H / 8, 1 # 8\"}}\n      stages:\n"
      "        - fetch: {time: \"1\", packet: \"H % 8\"}\n        - collect\n";
  EXPECT_EQ(run(kPoisoned + back).status, RunStatus::kOk);
  const RunResult result = run(kPoisoned + replaced(back, "1 # 8", "X"));
  EXPECT_EQ(result.status, RunStatus::kFailed);
  ASSERT_FALSE(result.failures.empty());
  EXPECT_EQ(result.failures[0].kind, "poison");
  EXPECT_THAT(result.failures[0].message, HasSubstr("X=1"));
}

// y[A] of 64, named [M, N]: the commit writes M = 0 to 7, the first 32, and leaves the others.
TEST(Run, ACommitIntoAReshapedViewLeavesTheRest) {
  RunOptions options;
  options.keep = {"x", "y"};
  const std::string text = replaced(
      replaced(replaced(replaced(kReshaped, "program:",
                                 "  y: {memory: dm, dtype: i8, slice: \"S\", element: \"A\", "
                                 "init: {constant: 7}}\nprogram:"),
                        "time: \"M / 8\"", "time: \"1\""),
               "element: \"M, N\"}}", "element: \"M = 8 # 16, N\"}}"),
      "commit: {to: y, element: \"M, N\"}",
      "commit: {to: y, view: {reshape: {element: \"M = 8 #{!} 16, N\"}}}");
  const RunResult result = run(text, options);
  EXPECT_EQ(result.status, RunStatus::kOk);
  const TensorValues &x = kept(result, "x"), &y = kept(result, "y");
  for (size_t s = 0; s < 256; ++s) {
    for (size_t a = 0; a < 64; ++a) {
      ASSERT_EQ(y.bits[s * 64 + a], a < 32 ? x.bits[s * 64 + a] : 7u) << s << " " << a;
    }
  }
}

// `expect:` speaks of x as it was declared.
TEST(Run, AnInputMayBeChangedInPlace) {
  const std::string in_place = replaced(copy_of_tile("1", "0"), "to: y", "to: x");
  const RunResult result =
      run(view_kernel(std::string(kMainCopy) + in_place + "expect:\n  y: {product_of: [x]}\n"));
  EXPECT_EQ(result.status, RunStatus::kOk);
}

// Hazards are judged by the bytes of the tile: sub reads tile 0 of y, which main has written, and
// main writes tile 1 meanwhile.
TEST(Run, TilesOfOneTensorDoNotWaitForEachOther) {
  const auto sub_reads = [](const char* tile) {
    return std::string("  - sub:\n      view: {of: y, axis: \"A / 16\", start: ") + tile +
           "}\n      stages:\n        - fetch: {time: \"1\", packet: \"A % 16\"}\n        - "
           "collect\n";
  };
  const std::string y = ", init: zero";
  const RunResult apart = run(view_kernel(copy_of_tile("0", "0") + sub_reads("1"), y.c_str()));
  EXPECT_EQ(apart.status, RunStatus::kOk);
  EXPECT_EQ(apart.commands[1].begin, 0u);
  const RunResult same = run(view_kernel(copy_of_tile("0", "1") + sub_reads("1"), y.c_str()));
  EXPECT_EQ(same.status, RunStatus::kOk);
  EXPECT_EQ(same.commands[1].begin, same.commands[0].end);
  EXPECT_EQ(same.commands[1].waited_for.what, "y[A / 16: 1]");
}

// ---- Machines that are broken on purpose ------------------------------------------------------

// A Fetch Adapter whose main path does `fault` to an item; where it returns false, the item is
// lost.
class FaultyAdapter final : public Unit {
 public:
  using Fault = std::function<bool(StreamItem&)>;
  FaultyAdapter(sc_core::sc_module_name name, Clock& clock, const RunContext& context, Fault fault)
      : Unit(name, clock, context), fault_(std::move(fault)) {}
  LinkIn<StreamItem> in{"in", "stream"};
  LinkOut<StreamItem> out{"out", "stream"};
  LinkIn<StreamItem> sub_in{"sub_in", "stream"};
  LinkOut<StreamItem> sub_out{"sub_out", "stream"};
  LinkOut<StreamItem> to_switch{"switch", "stream"};
  LinkOut<StreamItem> sub_to_switch{"sub_switch", "stream"};
  std::vector<PortBase*> ports() override {
    return {&in, &out, &sub_in, &sub_out, &to_switch, &sub_to_switch};
  }
  bool takes = true;
  std::string waiting_for() const override {
    return state() == UnitState::kStarved ? "the rest of a command" : "";
  }

 private:
  void tick(Cycle now) override {
    if (takes && in->can_pop(now) && out->can_push(now)) {
      StreamItem item = in->pop(now);
      in_command_ = !item.last;
      if (fault_(item)) out->push(now, std::move(item));
      set_state(UnitState::kBusy);
    } else {
      set_state(in_command_ ? UnitState::kStarved : UnitState::kIdle, &in->producer_unit());
    }
  }
  Fault fault_;
  bool in_command_ = false;
};

UnitTypes types_with(FaultyAdapter::Fault fault) {
  UnitTypes types = unit_types();
  for (UnitType& type : types) {
    if (type.name != "fetch_adapter") continue;
    type.make = [fault](const char* name, Clock& clock, const RunContext& context,
                        const UnitParameters&) {
      return std::make_unique<FaultyAdapter>(name, clock, context, fault);
    };
  }
  return types;
}

TEST(Run, ADeadlockIsReportedWithWhoWaitsForWhat) {
  // The last item gets lost: nobody will ever do anything again.
  const UnitTypes types = types_with([](StreamItem& item) { return !item.last; });
  RunOptions options;
  options.types = &types;
  const Program program = lowered(kernel({kMainCopy, replaced(kSubCopy, "from: x", "from: y")}));
  const RunResult result = run_program(program, shipped_topology(), options);
  EXPECT_EQ(result.status, RunStatus::kDeadlock);
  EXPECT_EQ(result.exit_status(), 1);
  EXPECT_FALSE(result.commands[0].ended);
  EXPECT_FALSE(result.commands[1].begun);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].kind, "deadlock");
  EXPECT_EQ(result.failures[0].cycle, result.cycles);
  EXPECT_EQ(result.failures[0].command, 0u);
  EXPECT_THAT(result.failures[0].message,
              AllOf(HasSubstr("nothing can happen any more"), HasSubstr("command 0 (main"),
                    HasSubstr("began in cycle 0"), HasSubstr("command 1 (sub"),
                    HasSubstr("waits for command 0: y (read after write)"),
                    HasSubstr("main_commit is starved")));
  std::vector<std::string> stuck;
  for (const StuckUnit& s : result.stuck) stuck.push_back(s.unit);
  EXPECT_THAT(stuck, testing::Contains("main_commit"));
  EXPECT_THAT(stuck, testing::Not(testing::Contains("sub_fetch")));
  // The third item is the last to arrive: it lands in 263 + 13 + 2; after that all is quiet soon.
  EXPECT_GE(result.cycles, 279u);
  EXPECT_LE(result.cycles, 285u);
}

TEST(Run, ADeadlockedStreamIsReportedToo) {
  // The adapter takes nothing in: the source that feeds it sleeps, blocked, for ever.
  UnitTypes types = types_with([](StreamItem&) { return true; });
  for (UnitType& type : types) {
    if (type.name != "fetch_adapter") continue;
    const auto make = type.make;
    type.make = [make](const char* name, Clock& clock, const RunContext& context,
                       const UnitParameters& parameters) {
      auto unit = make(name, clock, context, parameters);
      static_cast<FaultyAdapter&>(*unit).takes = false;
      return unit;
    };
  }
  RunOptions options;
  options.types = &types;
  const std::string text =
      replaced(kStreamIntoCollect,
               "        - collect:", "        - fetch_cast: {dtype: f32}\n        - collect:");
  const RunResult result =
      run_program(lowered(replaced(text, "{time: \"A / 16\", packet: \"A % 16\"}",
                                   "{time: \"A / 16, A / 8 % 2\", packet: \"A % 8\"}")),
                  shipped_topology(), options);
  EXPECT_EQ(result.status, RunStatus::kDeadlock);
  ASSERT_EQ(result.stuck.size(), 1u);
  EXPECT_EQ(result.stuck[0].unit, "main_source");
  EXPECT_EQ(result.stuck[0].state, "blocked");
  // Two of the four items fit into the link, the third waits.
  EXPECT_THAT(result.stuck[0].waiting_for, HasSubstr("item 2"));
  EXPECT_EQ(unit(result, "main_source").items_out, 2u);
}

TEST(Run, AWrongValueIsFoundAndNamed) {
  // One bit of one element in one slice: the second flit's element 3 in slice 17 is A = 19.
  const UnitTypes types = types_with([](StreamItem& item) {
    if (item.index == 1) item.values->set_bits(3, 17, item.values->bits(3, 17) ^ 0x40);
    return true;
  });
  RunOptions options;
  options.types = &types;
  const RunResult result = run_program(lowered(kernel({kMainCopy})), shipped_topology(), options);
  EXPECT_EQ(result.status, RunStatus::kFailed);
  EXPECT_EQ(result.cycles, 280u);
  EXPECT_EQ(result.values.mismatches, 1u);
  ASSERT_EQ(result.values.first_mismatches.size(), 1u);
  EXPECT_EQ(result.values.first_mismatches[0].tensor, "y");
  EXPECT_EQ(result.values.first_mismatches[0].index, "S=17 A=19");
  EXPECT_EQ(result.values.first_mismatches[0].place, "slice 17, element 19");
}

TEST(Run, WhatAUnitThrowsIsAnInternalError) {
  const UnitTypes types = types_with([](StreamItem&) -> bool { throw std::out_of_range("oops"); });
  RunOptions options;
  options.types = &types;
  const Program program = lowered(kernel({kMainCopy}));
  try {
    run_program(program, shipped_topology(), options);
    FAIL() << "no exception";
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "oops");
  }
  // The next run is not disturbed.
  EXPECT_EQ(run_program(program, shipped_topology()).cycles, 280u);
}

TEST(Run, ABoundAboveTheCyclesIsAnInternalError) {
  Program program = lowered(kernel({kMainCopy}));
  program.commands[0].bound.cycles = 281;
  try {
    run_program(program, shipped_topology());
    FAIL() << "no exception";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("280"), HasSubstr("281")));
  }
  program.commands[0].bound.cycles = 280;
  EXPECT_EQ(run_program(program, shipped_topology()).bound, 280u);
}

TEST(Run, AProgramForAnotherMachineIsAnInternalError) {
  EXPECT_THROW(
      run_program(lowered(kernel({kMainCopy})),
                  shipped_topology({{"max_read_bytes: {value: 32", "max_read_bytes: {value: 16"}})),
      InternalError);
}

TEST(Run, AWrongTopologyIsAnInputError) {
  EXPECT_THROW(run_program(lowered(kernel({kMainCopy})),
                           shipped_topology({{"type: stream_adapter}", "type: strange}"}})),
               InputError);
}

TEST(Run, UnknownNamesToKeepAreAnInputError) {
  RunOptions options;
  options.keep = {"yy"};
  EXPECT_THROW(run(kernel({kMainCopy}), options), InputError);
}

// Four flits, of four accesses each in sub: Collect takes the last in f + 4 + 15. Then VCG, Vector
// Engine, one cycle for its ALU and one for the link, Cast, Commit Adapter; Commit begins with the
// last flit in f + 25, and the last of its four writes lands in f + 29.
TEST(Run, AFilterTakesNoCyclesAndItsElementsAreNotWritten) {
  RunOptions options;
  options.keep = {"x", "y"};
  const RunResult result = run(R"(kernel: filter
axes: {S: 256, F: 4, A: 8}
tensors:
  x: {memory: dm, dtype: i32, slice: "S", element: "F, A", init: {random: {seed: 1}}}
program:
  - sub:
      from: x
      stages:
        - fetch:         {time: "F", packet: "A"}
        - collect:       {}
        - vector_tag:    {mode: {comparison: [{less: 0}, false, false, false]}}
        - vector_fxp:    {op: add_fxp, operand: 5}
        - vector_filter: {guard: {matches: [one, ignore, ignore, ignore]}}
        - commit_trim:   {packet: "A"}
        - commit:        {to: y, element: "F, A"}
)",
                               options);
  EXPECT_EQ(result.cycles, 263u + 30);
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  EXPECT_EQ(bandwidth(result, "dm_write").bytes, 256u * 128);
  ASSERT_EQ(result.tensors.size(), 2u);
  const TensorValues& x = result.tensors[0];
  const TensorValues& y = result.tensors[1];
  ASSERT_EQ(x.bits.size(), 256u * 4 * 8);
  ASSERT_EQ(y.bits.size(), x.bits.size());
  for (size_t i = 0; i < x.bits.size(); ++i) {
    const bool negative = x.bits[i] >> 31 != 0;
    ASSERT_EQ(y.valid[i] != 0, negative) << i;
    if (negative) {
      ASSERT_EQ(y.bits[i], x.bits[i] + 5) << i;
    }
  }
  // Both kinds exist.
  EXPECT_NE(std::count(y.valid.begin(), y.valid.end(), 0), 0);
  EXPECT_NE(std::count(y.valid.begin(), y.valid.end(), 1), 0);
}

}  // namespace
}  // namespace rngdsim
