// SPDX-License-Identifier: Apache-2.0
// The clock: who is ticked when, and that time jumps where all sleep.
#include "channel/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "tests/support/systemc_fixture.h"

namespace rngdsim {
namespace {

using test::Collector;
using test::Driver;
using testing::ElementsAre;
using testing::IsEmpty;

// Records its ticks; what it does in one is up to the test.
class Probe final : public Unit {
 public:
  using Unit::Unit;
  std::vector<PortBase*> ports() override { return {}; }
  std::vector<Cycle> ticks;
  std::function<void(Cycle)> action;
  UnitState state_to_set = UnitState::kIdle;

 private:
  void tick(Cycle now) override {
    ticks.push_back(now);
    if (action) action(now);
    set_state(state_to_set);
  }
};

class ClockTest : public test::SystemCTest {};

TEST_F(ClockTest, TicksInTheCycleOfTheWakeUpAndInNoOther) {
  Probe probe("probe", *clock_, context_);
  probe.wake_at(5);
  EXPECT_EQ(run(), 6u);
  EXPECT_THAT(probe.ticks, ElementsAre(5u));
}

TEST_F(ClockTest, TicksOnceACycleHoweverOftenWoken) {
  Probe probe("probe", *clock_, context_);
  for (const Cycle cycle : {7, 3, 3, 7, 0, 0}) probe.wake_at(cycle);
  probe.action = [&](Cycle now) {
    if (now == 3) {
      probe.wake_at(4);
      probe.wake_at(4);
    }
  };
  run();
  EXPECT_THAT(probe.ticks, ElementsAre(0u, 3u, 4u, 7u));
}

TEST_F(ClockTest, AWakeUpForThePresentCycleWhileUnitsRunMeansTheNext) {
  Probe first("first", *clock_, context_);
  Probe second("second", *clock_, context_);
  first.wake_at(10);
  first.action = [&](Cycle now) { second.wake_at(now); };
  run();
  EXPECT_THAT(second.ticks, ElementsAre(11u));
}

TEST_F(ClockTest, AWakeUpForThePresentCycleFromAHookMeansThatCycle) {
  Probe probe("probe", *clock_, context_);
  clock_->wake_hooks(10);
  clock_->add_hook([&](Cycle now) {
    if (now == 10) probe.wake_at(10);
  });
  run();
  EXPECT_THAT(probe.ticks, ElementsAre(10u));
}

TEST_F(ClockTest, ABusyUnitIsTickedAgainOthersSleep) {
  Probe busy("busy", *clock_, context_);
  busy.state_to_set = UnitState::kBusy;
  busy.action = [&](Cycle now) {
    if (now == 3) busy.state_to_set = UnitState::kIdle;
  };
  Probe starved("starved", *clock_, context_);
  starved.state_to_set = UnitState::kStarved;
  busy.wake_at(0);
  starved.wake_at(0);
  run();
  EXPECT_THAT(busy.ticks, ElementsAre(0u, 1u, 2u, 3u));
  EXPECT_THAT(starved.ticks, ElementsAre(0u));
}

TEST_F(ClockTest, JumpsOverCyclesInWhichAllSleep) {
  std::vector<Cycle> evaluated;
  clock_->add_hook([&](Cycle now) { evaluated.push_back(now); });
  Probe probe("probe", *clock_, context_);
  probe.wake_at(60'000);
  probe.wake_at(1'000'000'000);
  EXPECT_EQ(run(), 1'000'000'001u);
  EXPECT_THAT(probe.ticks, ElementsAre(60'000u, 1'000'000'000u));
  // Cycle 0, then those with a tick and the one after each.
  EXPECT_THAT(evaluated, ElementsAre(0u, 60'000u, 60'001u, 1'000'000'000u, 1'000'000'001u));
}

TEST_F(ClockTest, HooksSeeEverythingOfTheCyclesBeforeAndNothingOfThePresent) {
  Probe probe("probe", *clock_, context_);
  int actions = 0;
  probe.action = [&](Cycle now) {
    ++actions;
    if (now < 4) probe.wake_at(now + 1);
  };
  std::vector<int> seen;
  clock_->add_hook([&](Cycle) { seen.push_back(actions); });
  probe.wake_at(0);
  run();
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(ClockTest, SleepersCostNothing) {
  std::vector<std::unique_ptr<Probe>> sleepers;
  for (int i = 0; i < 500; ++i) {
    sleepers.push_back(
        std::make_unique<Probe>(("sleeper_" + std::to_string(i)).c_str(), *clock_, context_));
  }
  Driver<int> driver("driver", *clock_, context_);
  Collector<int> collector("collector", *clock_, context_);
  connect(driver, driver.out, collector, collector.in);
  for (int i = 0; i < 10'000; ++i) driver.push_at(i, i);
  sleepers[250]->wake_at(5'000);
  run();
  EXPECT_EQ(collector.received.size(), 10'000u);
  for (size_t i = 0; i < sleepers.size(); ++i) {
    EXPECT_EQ(sleepers[i]->ticks.size(), i == 250 ? 1u : 0u) << i;
  }
}

TEST_F(ClockTest, StopFromAHookKeepsTheUnitsOfThatCycleFromRunning) {
  Probe probe("probe", *clock_, context_);
  probe.state_to_set = UnitState::kBusy;
  probe.wake_at(0);
  clock_->add_hook([&](Cycle now) {
    if (now == 5) clock_->stop();
  });
  EXPECT_EQ(run(), 0u);  // never quiet
  EXPECT_THAT(probe.ticks, ElementsAre(0u, 1u, 2u, 3u, 4u));
  EXPECT_EQ(clock_->now(), 5u);
}

TEST_F(ClockTest, StopFromAUnitLetsTheOthersOfThatCycleRun) {
  Probe first("first", *clock_, context_);
  Probe second("second", *clock_, context_);
  first.state_to_set = second.state_to_set = UnitState::kBusy;
  first.wake_at(0);
  second.wake_at(0);
  first.action = [&](Cycle now) {
    if (now == 2) clock_->stop();
  };
  run();
  EXPECT_THAT(first.ticks, ElementsAre(0u, 1u, 2u));
  EXPECT_THAT(second.ticks, ElementsAre(0u, 1u, 2u));
}

TEST_F(ClockTest, AnExceptionOfAUnitComesOutAsItWasThrown) {
  Probe probe("probe", *clock_, context_);
  probe.wake_at(3);
  probe.action = [](Cycle) { throw InternalError("unit broken"); };
  clock_->add_hook([](Cycle now) { ASSERT_LE(now, 4u); });
  try {
    run();
    FAIL() << "no exception";
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "unit broken");
  }
}

TEST_F(ClockTest, AnExceptionOfAHookComesOutAsItWasThrown) {
  Probe probe("probe", *clock_, context_);
  probe.wake_at(3);
  clock_->add_hook([](Cycle now) {
    if (now == 3) throw std::out_of_range("hook broken");
  });
  EXPECT_THROW(run(), std::out_of_range);
  EXPECT_THAT(probe.ticks, IsEmpty());
}

TEST_F(ClockTest, IsQuietAtOnceWhereNobodyIsAwake) {
  Probe probe("probe", *clock_, context_);
  EXPECT_EQ(run(), 0u);
  EXPECT_THAT(probe.ticks, IsEmpty());
}

// ---- Links between clocked units: both sides of every latency ----------------------------------

struct Way {
  uint64_t latency, depth;
};
class LinkTiming : public ClockTest, public testing::WithParamInterface<Way> {};

TEST_P(LinkTiming, DeliversAfterTheLatencyAndAtTheRateOfTheDepth) {
  const auto [latency, depth] = GetParam();
  // Built in both orders: the order in which units are evaluated must not matter.
  for (const bool producer_first : {true, false}) {
    SetUp();
    std::unique_ptr<Driver<int>> driver;
    std::unique_ptr<Collector<int>> collector;
    if (producer_first) driver = std::make_unique<Driver<int>>("driver", *clock_, context_);
    collector = std::make_unique<Collector<int>>("collector", *clock_, context_);
    if (!producer_first) driver = std::make_unique<Driver<int>>("driver", *clock_, context_);
    LinkBase& link = connect(*driver, driver->out, *collector, collector->in, latency, depth);
    constexpr Cycle kItems = 24;
    for (Cycle i = 0; i < kItems; ++i) driver->push_at(10, static_cast<int>(i));
    run();
    std::vector<Cycle> expected;
    for (Cycle i = 0; i < kItems; ++i) {
      // `depth` items go out back to back, each place comes back after latency + 1 cycles.
      const Cycle round = std::max(latency + 1, depth);
      expected.push_back(10 + i / depth * round + i % depth + latency);
    }
    EXPECT_EQ(collector->cycles(), expected);
    for (int i = 0; i < static_cast<int>(kItems); ++i) EXPECT_EQ(collector->received[i].second, i);
    EXPECT_EQ(link.items(), kItems);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, LinkTiming,
                         testing::Values(Way{1, 2}, Way{1, 1}, Way{2, 3}, Way{2, 2}, Way{5, 6},
                                         Way{5, 3}, Way{40, 41}, Way{1, 16}));

TEST_F(ClockTest, AProducerThatSleepsBlockedContinuesTheCycleAfterAPop) {
  Driver<int> driver("driver", *clock_, context_);
  Collector<int> collector("collector", *clock_, context_);
  LinkBase& link = connect(driver, driver.out, collector, collector.in, 1, 1);
  collector.first_cycle = 100;
  driver.push_at(0, 1);
  driver.push_at(0, 2);
  run();
  EXPECT_THAT(driver.pushed, ElementsAre(0u, 101u));
  EXPECT_THAT(collector.cycles(), ElementsAre(100u, 102u));
  driver.finish(103);
  // Blocked from 1 to 100, the cycles that the link was stalled for.
  EXPECT_EQ(driver.counters().cycles[static_cast<size_t>(UnitState::kBlocked)], 100u);
  EXPECT_EQ(link.stalled(), 100u);
}

}  // namespace
}  // namespace rngdsim
