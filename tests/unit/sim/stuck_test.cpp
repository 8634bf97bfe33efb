// SPDX-License-Identifier: Apache-2.0
// Machines in which nothing moves any more: the watchdog, and what a report of it says.
//
// In a copy, flit i is pushed into the Cast Engine's link (which holds two) in 272 + i, and from
// the Time Reducer to the Lane Folder in 271 + i. A Cast Engine that takes nothing lets flits 0 and
// 1 in; of five flits, 2 and 3 fill the Lane Folder's link, 4 waits before the Time Reducer. The
// last one to move is flit 4: pushed by the Packet Reducer in 274, it arrives in 275.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/run.h"
#include "tests/unit/sim/adapter.h"

namespace rngdsim {
namespace {

using test::copy_program;
using test::shipped_topology;
using test::TwoPathUnit;
using test::types_with;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Never sleeps and never does anything.
void refuse(TwoPathUnit& unit, Cycle now) {
  unit.set_state(unit.in->can_pop(now) ? UnitState::kBlocked : UnitState::kIdle);
  unit.wake_at(now + 1);
}

constexpr Cycle kLastMove = 275;

RunResult run_refused(uint64_t max_cycles, TwoPathUnit::Tick tick = refuse,
                      const TopologyDecl& topology = shipped_topology()) {
  const UnitTypes types = types_with("cast", std::move(tick));
  RunOptions options;
  options.types = &types;
  options.max_cycles = max_cycles;
  return run_program(copy_program(topology, 5), topology, options);
}

TEST(Watchdog, EndsARunInWhichNothingMovedFor10000Cycles) {
  const RunResult result = run_refused(0);
  EXPECT_EQ(result.status, RunStatus::kWatchdog);
  EXPECT_STREQ(name(result.status), "watchdog");
  EXPECT_EQ(result.exit_status(), 1);
  EXPECT_EQ(result.cycles, kLastMove + 10'000);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].kind, "watchdog");
  EXPECT_EQ(result.failures[0].unit, "cast");
  EXPECT_EQ(result.failures[0].cycle, kLastMove + 10'000);
  EXPECT_THAT(result.failures[0].message,
              AllOf(HasSubstr("nothing moved for 10,000 cycles: command 0 (main"),
                    HasSubstr("cast is blocked, waiting for better times")));
}

TEST(Watchdog, NotACycleSooner) {
  EXPECT_EQ(run_refused(kLastMove + 10'000 - 1).status, RunStatus::kMaxCycles);
  EXPECT_EQ(run_refused(kLastMove + 10'000 + 1).status, RunStatus::kWatchdog);
}

TEST(Watchdog, TheTopologySaysHowLong) {
  const TopologyDecl topology =
      test::shipped_topology({{"{value: 10000, source: A, note: ends the run",
                               "{value: 77, source: A, note: ends the run"}});
  EXPECT_EQ(run_refused(0, refuse, topology).cycles, kLastMove + 77);
}

// The chain of blame ends at the Cast Engine, wherever in the pipeline it began.
TEST(Watchdog, NamesTheRootFirstAndWhatTheQueuesHold) {
  const RunResult result = run_refused(0);
  ASSERT_FALSE(result.stuck.empty());
  EXPECT_EQ(result.stuck[0].unit, "cast");
  EXPECT_EQ(result.stuck[0].state, "blocked");
  EXPECT_EQ(result.stuck[0].waiting_for, "better times");
  std::vector<std::string> queues;
  for (const StuckQueue& queue : result.queues) {
    queues.push_back(queue.link + " " + std::to_string(queue.items) + "/" +
                     std::to_string(queue.depth) + " from " + std::to_string(queue.head_index));
    EXPECT_EQ(queue.head_command, 0u);
  }
  EXPECT_THAT(queues, ElementsAre("packet_reducer.out->time_reducer.in 1/9 from 4",
                                  "time_reducer.out->lane_folder.in 2/2 from 2",
                                  "lane_folder.out->cast.in 2/2 from 0"));
}

TEST(Watchdog, ALongWaitBeforeTheFirstAccessIsNone) {
  const TopologyDecl topology = shipped_topology();
  const RunResult result = run_program(copy_program(topology, 1, 50'000), topology, {});
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.cycles, 50'000u + 263 + 14);
}

// An item that takes longer than that to arrive is moving all the time.
TEST(Watchdog, ALongWayIsNoStandstill) {
  const TopologyDecl topology =
      shipped_topology({{"read_latency: {value: 1, source: A, note",
                         "read_latency: {value: 30000, source: A, note"}});
  const RunResult result = run_program(copy_program(topology, 1), topology, {});
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.cycles, 263u + 14 + 29'999);
}

// The same machine, but asleep: no need to wait for the watchdog.
TEST(Deadlock, IsKnownAtOnceAndTellsTheQueuesToo) {
  const RunResult result = run_refused(0, [](TwoPathUnit& unit, Cycle now) {
    unit.set_state(unit.in->can_pop(now) ? UnitState::kBlocked : UnitState::kIdle);
  });
  EXPECT_EQ(result.status, RunStatus::kDeadlock);
  EXPECT_GE(result.cycles, kLastMove);
  EXPECT_LE(result.cycles, kLastMove + 2);
  EXPECT_EQ(result.failures[0].unit, "cast");
  ASSERT_EQ(result.queues.size(), 3u);
  EXPECT_EQ(result.queues[2].link, "lane_folder.out->cast.in");
}

TEST(Deadlock, ARunThatEndsWellHasNoQueues) {
  const TopologyDecl topology = shipped_topology();
  const RunResult result = run_program(copy_program(topology, 5), topology, {});
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_TRUE(result.stuck.empty());
  EXPECT_TRUE(result.queues.empty());
}

}  // namespace
}  // namespace rngdsim
