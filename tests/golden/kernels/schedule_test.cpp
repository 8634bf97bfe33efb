// SPDX-License-Identifier: Apache-2.0
// The critical path, slack and exposure: of kernels whose schedule is known, and their rules in
// every shipped kernel.
#include "report/schedule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "report/attribution.h"
#include "sim/command_profile.h"
#include "tests/golden/kernels/shipped_kernel.h"

namespace rngdsim {
namespace {

// A load of 64 reads of 8 B and a stream beside it that takes longer, then the product that needs
// the one and follows the other, and a store beside a second stream. `delays`: of each command.
std::string hidden_load(std::vector<uint64_t> delays) {
  delays.resize(4);
  return fmt::format(R"(kernel: hidden
axes: {{S: 256, A: 16, B: 1000, K: 32, I: 8}}
tensors:
  w: {{memory: dm, dtype: bf16, slice: "S", element: "I, K", init: {{random: {{seed: 1}}}}}}
  x: {{memory: dm, dtype: bf16, slice: "S", element: "A, K", init: {{random: {{seed: 2}}}}}}
program:
  - sub:
      label: load
      from: w
      delay: {}
      stages:
        - fetch:   {{time: "I", packet: "K"}}
        - collect: {{time: "I, K / 16", packet: "K % 16"}}
        - to_trf:  {{to: w_trf, lane: "I", element: "K"}}
  - main:
      label: stream
      stream: {{dtype: bf16, slice: "S", time: "B", packet: "K % 16"}}
      delay: {}
      stages: [collect]
  - main:
      label: product
      from: x
      delay: {}
      stages:
        - fetch:           {{time: "A, K / 16", packet: "K % 16"}}
        - collect
        - contract_outer:  {{time: "A", packet: "K", with: w_trf}}
        - contract_packet: {{packet: "1"}}
        - contract_time:   {{time: "A"}}
        - contract_lane:   {{mode: interleaved, time: "A", packet: "I"}}
        - cast:            {{dtype: bf16}}
        - commit_trim:     {{packet: "I"}}
        - commit:          {{to: y, element: "A, I"}}
  - dma: {{label: store, from: y, to: y_hbm, memory: hbm, element: "S, A, I"}}
)",
                     delays[0], delays[1], delays[2]);
}

RunResult run_hidden(const std::vector<uint64_t>& delays) {
  const RunResult result = run(load_text(hidden_load(delays)), false);
  EXPECT_EQ(result.status, RunStatus::kOk);
  return result;
}

std::vector<CommandId> ids(const std::vector<PathLink>& path) {
  std::vector<CommandId> ids;
  for (const PathLink& link : path) ids.push_back(link.command);
  return ids;
}

// 8 x 32 bf16 are 64 reads of sub: 64 + 268 cycles. 32 reads of main are 32 + 280. The stream takes
// more than a thousand cycles, whatever it takes exactly, and all of the load is beside it.
TEST(Schedule, AHiddenLoadHasTheSlackOfWhatHidesIt) {
  const Loaded loaded = load_text(hidden_load({}));
  const RunResult result = run(loaded, false);
  ASSERT_EQ(result.status, RunStatus::kOk);
  const std::vector<CommandResult>& c = result.commands;
  ASSERT_EQ(c.size(), 4u);
  ASSERT_EQ(c[0].cycles, 64u + 268);
  ASSERT_GT(c[1].cycles, 1000u + 263);
  ASSERT_EQ(c[2].cycles, 32u + 280);
  const ScheduleAnalysis analysis = analyse_schedule(loaded.program, result);
  EXPECT_EQ(ids(analysis.path), (std::vector<CommandId>{1, 2, 3}));
  EXPECT_FALSE(analysis.path[0].because);
  EXPECT_EQ(to_string(*analysis.path[1].because), "order in main");
  EXPECT_EQ(to_string(*analysis.path[2].because), "y (read after write)");
  EXPECT_EQ(analysis.path[2].to, result.cycles);
  ASSERT_EQ(analysis.commands.size(), 4u);
  EXPECT_EQ(analysis.commands[0].slack, c[1].end - c[0].end);
  EXPECT_EQ(analysis.commands[0].limiting, CommandId{2});
  EXPECT_EQ(analysis.commands[0].exposed, 0u);
  EXPECT_EQ(analysis.commands[1].exposed, c[1].cycles - c[0].cycles);
  EXPECT_EQ(analysis.commands[2].exposed, c[2].cycles);
  for (const size_t on_path : {1u, 2u, 3u}) EXPECT_EQ(analysis.commands[on_path].slack, 0u);
  // The DMA has nothing to do before its only command.
  ASSERT_EQ(analysis.gaps.size(), 1u);
  EXPECT_EQ(analysis.gaps[0].context, "dma");
  EXPECT_EQ(analysis.gaps[0].from, 0u);
  EXPECT_EQ(analysis.gaps[0].to, c[2].end);
  EXPECT_EQ(analysis.gaps[0].because.earlier, 2u);
}

// A delay of a command is a command that takes as much longer.
TEST(Schedule, ADelayOfTheSlackIsHiddenAndOneCycleMoreIsNot) {
  const Loaded loaded = load_text(hidden_load({}));
  const RunResult plain = run(loaded, false);
  const ScheduleAnalysis analysis = analyse_schedule(loaded.program, plain);
  for (size_t command = 0; command < 3; ++command) {
    std::vector<uint64_t> delays(command + 1, 0);
    delays[command] = analysis.commands[command].slack;
    EXPECT_EQ(run_hidden(delays).cycles, plain.cycles) << command;
    ++delays[command];
    EXPECT_EQ(run_hidden(delays).cycles, plain.cycles + 1) << command;
  }
}

// With so much delay the load takes over, by a cycle.
TEST(Schedule, ThePathGoesThroughTheLoadThatTakesLongest) {
  const RunResult plain = run_hidden({});
  const uint64_t slack = plain.commands[1].end - plain.commands[0].end;
  const Loaded loaded = load_text(hidden_load({slack + 1}));
  const ScheduleAnalysis analysis = analyse_schedule(loaded.program, run(loaded, false));
  EXPECT_EQ(ids(analysis.path), (std::vector<CommandId>{0, 2, 3}));
  EXPECT_EQ(to_string(*analysis.path[1].because), "w_trf (read after write)");
  EXPECT_EQ(analysis.commands[1].slack, 1u);
}

// Two casts one after the other, though nothing but the Cast Engine ties sub to main: main began in
// the same cycle and is earlier in the file.
TEST(Schedule, ASharedUnitBinds) {
  const Loaded loaded = load_text(R"(kernel: shared
axes: {S: 256, A: 64, B: 8}
program:
  - main:
      stream: {dtype: f32, slice: "S", time: "A", packet: "B"}
      stages: [collect, cast: {dtype: bf16}]
  - sub:
      stream: {dtype: f32, slice: "S", time: "A", packet: "B"}
      stages: [collect, cast: {dtype: bf16}]
)");
  const RunResult result = run(loaded, false);
  ASSERT_EQ(result.status, RunStatus::kOk);
  const ScheduleAnalysis analysis = analyse_schedule(loaded.program, result);
  EXPECT_EQ(ids(analysis.path), (std::vector<CommandId>{0, 1}));
  EXPECT_EQ(to_string(*analysis.path[1].because), "cast (shared unit)");
  EXPECT_EQ(analysis.commands[0].slack, 0u);
  ASSERT_EQ(analysis.gaps.size(), 1u);
  EXPECT_EQ(analysis.gaps[0].to, result.commands[0].end);
}

// The load of a snoop bitmap: what follows it in sub begins when it is there, 256 cycles after the
// begin of the command that needs it.
TEST(Schedule, ABitmapHoldsWhatBeginsMeanwhile) {
  const Loaded loaded = load("switch_custom");
  const RunResult result = run(loaded, false);
  const auto dependences = dependences_of(loaded.program, result.commands);
  ASSERT_FALSE(dependences[1].empty());
  EXPECT_EQ(to_string(dependences[1].back()), "switch (bitmap load)");
  EXPECT_EQ(dependences[1].back().from_begin, 256u);
  EXPECT_EQ(dependences[1].back().cleared, 256u);
}

// ---- Attribution --------------------------------------------------------------------------------

struct Profiled {
  RunResult run;
  CommandProfile profile;
};

void run_profiled(const Loaded& loaded, Profiled& profiled) {
  RunOptions options;
  options.values = false;
  options.observer = &profiled.profile;
  profiled.run = run_program(loaded.program, loaded.topology, options);
}

// gemm's product: 512 reads without a wait. Fetch is idle from the last one, asked for in
// 263 + 511, to the end, 792, but for the cycles in which data come back.
TEST(Attribution, OfAnUnhinderedFetch) {
  const Loaded loaded = load("gemm");
  Profiled gemm;
  run_profiled(loaded, gemm);
  const auto went = attribute(loaded.program, gemm.run, gemm.profile);
  ASSERT_EQ(went.size(), 2u);
  EXPECT_EQ(went[1].unit, "main_fetch");
  EXPECT_EQ(went[1].overhead, 263u);
  EXPECT_EQ(went[1].work, 512u);
  EXPECT_EQ(went[1].waited(), 0u);
  EXPECT_EQ(went[1].fill, 792u - 263 - 512);
  EXPECT_EQ(went[1].over.fill, 792u - 775);  // the bound: overhead and 512 reads
  EXPECT_EQ(went[1].over.cycles(), 792u - 775);
}

// mnist's last inter-transpose: 16 reads and 16 packets come and go while rings of 256 are walked
// 16 times; the switch is starved by its own ring in all cycles in between.
TEST(Attribution, OfARing) {
  const Loaded loaded = load("mnist");
  Profiled mnist;
  run_profiled(loaded, mnist);
  const Attribution went = attribute(loaded.program, mnist.run, mnist.profile)[13];
  EXPECT_EQ(went.unit, "switch");
  ASSERT_EQ(went.waits.size(), 1u);
  EXPECT_EQ(went.waits[0].first, "starved by switch");
  EXPECT_EQ(went.work, 16u + 16);
  EXPECT_EQ(went.work + went.waited(), 256u * 16 + 15);  // and what is left of the round
  EXPECT_EQ(went.over.work, 0u);  // the bound, 256 hops of 16 flits, is work and waits for hops
  EXPECT_EQ(went.over.waits, 15u);
  EXPECT_EQ(went.over.fill, went.fill);
}

// Products a byte, by hand: gemm multiplies 512 x 512 x 64 elements and reads both operands of each
// packet of 32 in the register file: half a product a byte and lane.
TEST(Roofline, OfGemm) {
  const RunResult result = run(load("gemm"), false);
  const Roofline roofline = roofline_of(result);
  EXPECT_EQ(roofline.peak, 2 * 256 * 8 * 32);
  EXPECT_DOUBLE_EQ(roofline.achieved, 512.0 * 512 * 64 / (780 + 792));
  ASSERT_EQ(roofline.points.size(), 2u);  // no HBM
  for (const RooflinePoint& point : roofline.points) {
    EXPECT_DOUBLE_EQ(point.roof, std::min(roofline.peak, point.intensity * point.peak_bytes));
    EXPECT_DOUBLE_EQ(point.of_roof, roofline.achieved / point.roof);
    if (point.memory == "trf") {
      EXPECT_DOUBLE_EQ(point.intensity, 0.5);
    }
  }
}

TEST(Roofline, HasNoPointWhereNothingIsMultiplied) {
  EXPECT_TRUE(roofline_of(run(load("stream_copy"), false)).points.empty());
}

// ---- What if ------------------------------------------------------------------------------------

RunResult run_free(const Loaded& loaded, std::vector<CommandId> free) {
  RunOptions options;
  options.values = false;
  options.free = std::move(free);
  return run_program(loaded.program, loaded.topology, options);
}

// What is on the path is gained whole, until the load that was hidden is in the way: without the
// stream the product begins when the load ends. What has slack gains nothing.
TEST(WhatIf, AFreeCommandGainsWhatItKeptOthersFrom) {
  const Loaded loaded = load_text(hidden_load({}));
  const RunResult plain = run(loaded, false);
  const std::vector<CommandResult>& c = plain.commands;
  EXPECT_EQ(run_free(loaded, {0}).cycles, plain.cycles);
  EXPECT_EQ(run_free(loaded, {1}).cycles, plain.cycles - (c[1].end - c[0].end));
  EXPECT_EQ(run_free(loaded, {0, 1}).cycles, plain.cycles - c[1].cycles);
  EXPECT_EQ(run_free(loaded, {2}).cycles, plain.cycles - c[2].cycles);
  EXPECT_EQ(run_free(loaded, {3}).cycles, c[2].end);
  const RunResult nothing = run_free(loaded, {0, 1, 2, 3});
  EXPECT_EQ(nothing.status, RunStatus::kOk);
  EXPECT_EQ(nothing.cycles, 0u);
  for (const CommandResult& command : nothing.commands) EXPECT_EQ(command.cycles, 0u);
}

// It still waits for what it needs, and others for it: the product of a free load begins with the
// end of the copy that the load reads.
TEST(WhatIf, AFreeCommandStillWaits) {
  const Loaded loaded = load("mnist");
  const RunResult plain = run(loaded, false);
  const RunResult free = run_free(loaded, {10});  // hidden to TRF
  EXPECT_EQ(free.commands[10].begin, free.commands[8].end);
  EXPECT_EQ(free.commands[10].end, free.commands[10].begin);
  EXPECT_EQ(free.commands[11].begin, free.commands[8].end);
  EXPECT_EQ(free.cycles, plain.cycles - plain.commands[10].cycles);
}

// A free bitmap is there at once.
TEST(WhatIf, AFreeCommandLoadsNothing) {
  const RunResult free = run_free(load("switch_custom"), {0});
  EXPECT_EQ(free.commands[1].begin, 0u);
}

// ---- Every shipped kernel -----------------------------------------------------------------------

// A command begins in the cycle in which the last of its dependences is cleared: they are all there
// are, and none that was not met. The path is without holes, and nothing on it has slack.
void expect_consistent(const Program& program, const RunResult& result) {
  const auto dependences = dependences_of(program, result.commands);
  for (const CommandResult& command : result.commands) {
    uint64_t cleared = 0;
    for (const Dependence& d : dependences[command.index]) cleared = std::max(cleared, d.cleared);
    EXPECT_EQ(command.begin, cleared) << command.index;
  }
  const ScheduleAnalysis analysis = analyse_schedule(program, result);
  ASSERT_FALSE(analysis.path.empty());
  EXPECT_EQ(analysis.path.front().from, 0u);
  EXPECT_EQ(analysis.path.back().to, result.cycles);
  for (size_t i = 0; i < analysis.path.size(); ++i) {
    const PathLink& link = analysis.path[i];
    EXPECT_EQ(link.from, result.commands[link.command].begin);
    if (i > 0) {
      EXPECT_EQ(link.from, analysis.path[i - 1].to);
    }
    if (link.to == result.commands[link.command].end) {
      EXPECT_EQ(analysis.commands[link.command].slack, 0u) << link.command;
    }
  }
  // What a context did not run it waited.
  for (const char* context : {"main", "sub", "dma"}) {
    uint64_t ran = 0, idle = 0, last = 0;
    for (const CommandResult& command : result.commands) {
      if (command.context != context) continue;
      ran += command.cycles;
      last = std::max(last, command.end);
    }
    for (const ContextGap& gap : analysis.gaps) {
      if (gap.context == context) idle += gap.to - gap.from;
    }
    EXPECT_EQ(ran + idle, last) << context;
  }
}

// All cycles of a command go somewhere, and those of a unit are those of its commands.
void expect_attributed(const Loaded& loaded, const Profiled& profiled) {
  const RunResult& result = profiled.run;
  for (const Attribution& went : attribute(loaded.program, result, profiled.profile)) {
    EXPECT_EQ(went.overhead + went.work + went.waited() + went.fill,
              result.commands[went.command].cycles)
        << went.command;
    EXPECT_EQ(went.over.cycles(),
              result.commands[went.command].cycles - result.commands[went.command].bound)
        << went.command;
  }
  for (const UnitResult& unit : result.units) {
    UnitResult sum;
    for (const auto& [key, share] : profiled.profile.shares()) {
      if (key.second != unit.name) continue;
      sum.busy += share.busy;
      for (const auto& [whom, cycles] : share.starved) sum.starved += cycles;
      for (const auto& [whom, cycles] : share.blocked) sum.blocked += cycles;
      for (const auto& [whom, cycles] : share.conflict) sum.conflict += cycles;
    }
    EXPECT_EQ(sum.busy, unit.busy) << unit.name;
    EXPECT_EQ(sum.starved, unit.starved) << unit.name;
    EXPECT_EQ(sum.blocked, unit.blocked) << unit.name;
    EXPECT_EQ(sum.conflict, unit.conflict) << unit.name;
  }
}

TEST(Schedule, HoldsInEveryShippedKernel) {
  // Long runs of one command or two, which say nothing that others do not.
  const std::set<std::string> skipped = {"gemm_large", "dma_full_bandwidth", "dma_dm_to_dm",
                                         "dma_bank_conflict"};
  size_t kernels = 0, gaps = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(RNGDSIM_SOURCE_DIR) + "/configs/kernels")) {
    const std::string kernel = entry.path().stem().string();
    if (entry.path().extension() != ".yaml" || skipped.count(kernel) != 0) continue;
    SCOPED_TRACE(kernel);
    const Loaded loaded = load(kernel);
    Profiled profiled;
    run_profiled(loaded, profiled);
    const RunResult& result = profiled.run;
    ASSERT_EQ(result.status, RunStatus::kOk);
    expect_consistent(loaded.program, result);
    expect_attributed(loaded, profiled);
    gaps += analyse_schedule(loaded.program, result).gaps.size();
    ++kernels;
  }
  EXPECT_GT(kernels, 60u);
  EXPECT_GT(gaps, 60u);
}

}  // namespace
}  // namespace rngdsim
