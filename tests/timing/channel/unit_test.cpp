// SPDX-License-Identifier: Apache-2.0
// The books of a unit: one state a cycle, whatever it slept through, and conflicts booked by a
// memory.
#include "channel/unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "tests/support/systemc_fixture.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// Takes the states of a script: in each cycle of the script it is ticked and sets that state.
class Scripted final : public Unit {
 public:
  struct Line {
    UnitState state;
    const std::string* blame = nullptr;
  };
  using Unit::Unit;
  std::vector<PortBase*> ports() override { return {}; }
  void at(Cycle cycle, UnitState state, const std::string* blame = nullptr) {
    script_[cycle] = {state, blame};
    wake_at(cycle);
  }
  int states_a_tick = 1;

 private:
  void tick(Cycle now) override {
    const auto line = script_.find(now);
    const Line next = line == script_.end() ? Line{UnitState::kIdle} : line->second;
    for (int i = 0; i < states_a_tick; ++i) set_state(next.state, next.blame);
  }
  std::map<Cycle, Line> script_;
};

class UnitBooks : public test::SystemCTest {
 protected:
  static uint64_t cycles(const Unit& unit, UnitState state) {
    return unit.counters().cycles[static_cast<size_t>(state)];
  }
  static uint64_t total(const Unit& unit) {
    uint64_t sum = 0;
    for (const uint64_t n : unit.counters().cycles) sum += n;
    return sum;
  }
  const std::string downstream_ = "downstream", upstream_ = "upstream";
};

TEST_F(UnitBooks, AStateLastsUntilTheNextTick) {
  Scripted unit("unit", *clock_, context_);
  unit.at(10, UnitState::kBusy);
  unit.at(11, UnitState::kBlocked, &downstream_);  // 11 to 30, asleep
  unit.at(31, UnitState::kBusy);
  unit.at(32, UnitState::kStarved, &upstream_);  // 32 to 131
  unit.at(132, UnitState::kBusy);                // and idle from 133, ticked once more
  run();
  unit.finish(200);
  EXPECT_EQ(cycles(unit, UnitState::kBusy), 3u);
  EXPECT_EQ(cycles(unit, UnitState::kBlocked), 20u);
  EXPECT_EQ(cycles(unit, UnitState::kStarved), 100u);
  EXPECT_EQ(cycles(unit, UnitState::kConflict), 0u);
  EXPECT_EQ(cycles(unit, UnitState::kIdle), 10u + 67u);
  EXPECT_EQ(total(unit), 200u);
  EXPECT_THAT(unit.counters().blamed, ElementsAre(Pair("downstream", 20u), Pair("upstream", 100u)));
}

TEST_F(UnitBooks, ARunThatEndsInASleepIsCountedToItsEnd) {
  Scripted unit("unit", *clock_, context_);
  unit.at(4, UnitState::kStarved, &upstream_);
  run();
  unit.finish(1000);
  EXPECT_EQ(cycles(unit, UnitState::kIdle), 4u);
  EXPECT_EQ(cycles(unit, UnitState::kStarved), 996u);
}

TEST_F(UnitBooks, AUnitThatNeverTickedWasIdle) {
  Scripted unit("unit", *clock_, context_);
  run();
  unit.finish(77);
  EXPECT_EQ(cycles(unit, UnitState::kIdle), 77u);
  EXPECT_EQ(total(unit), 77u);
}

TEST_F(UnitBooks, TheSameStateWithAnotherBlameIsCountedApart) {
  Scripted unit("unit", *clock_, context_);
  unit.at(0, UnitState::kStarved, &upstream_);
  unit.at(5, UnitState::kStarved, &downstream_);
  run();
  unit.finish(8);
  EXPECT_EQ(cycles(unit, UnitState::kStarved), 8u);
  EXPECT_THAT(unit.counters().blamed, ElementsAre(Pair("upstream", 5u), Pair("downstream", 3u)));
}

TEST_F(UnitBooks, ABookedConflictTakesTheCycleFromBlocked) {
  Scripted unit("unit", *clock_, context_);
  Scripted winner("winner", *clock_, context_);
  unit.at(10, UnitState::kBlocked, &downstream_);
  clock_->wake_hooks(13);
  clock_->wake_hooks(14);
  clock_->wake_hooks(16);
  clock_->add_hook([&](Cycle now) {
    if (now == 13 || now == 14 || now == 16) unit.book_conflict(now, winner);
  });
  run();
  unit.finish(20);
  EXPECT_EQ(cycles(unit, UnitState::kConflict), 3u);
  EXPECT_EQ(cycles(unit, UnitState::kBlocked), 7u);
  EXPECT_EQ(cycles(unit, UnitState::kIdle), 10u);
  EXPECT_EQ(total(unit), 20u);
  EXPECT_THAT(unit.counters().blamed, ElementsAre(Pair("winner", 3u), Pair("downstream", 7u)));
}

TEST_F(UnitBooks, BusyAndIdleCyclesKeepTheirStateDespiteALostArbitration) {
  Scripted unit("unit", *clock_, context_);
  Scripted winner("winner", *clock_, context_);
  unit.at(3, UnitState::kBusy);  // idle from 4 on
  clock_->wake_hooks(3);
  clock_->add_hook([&](Cycle now) {
    if (now == 0 || now == 3 || now == 4) unit.book_conflict(now, winner);
  });
  run();
  unit.finish(10);
  EXPECT_EQ(cycles(unit, UnitState::kBusy), 1u);
  EXPECT_EQ(cycles(unit, UnitState::kConflict), 0u);
  EXPECT_EQ(cycles(unit, UnitState::kIdle), 9u);
  EXPECT_THAT(unit.counters().blamed, IsEmpty());
}

// Books a conflict to `loser` in each cycle from `begin` to `end`.
class Memory final : public Unit {
 public:
  Memory(sc_core::sc_module_name name, Clock& clock, const RunContext& context, Unit& loser,
         const Unit& winner, Cycle begin, Cycle end)
      : Unit(name, clock, context), loser_(loser), winner_(winner), begin_(begin), end_(end) {
    wake_at(begin);
  }
  std::vector<PortBase*> ports() override { return {}; }

 private:
  void tick(Cycle now) override {
    if (now >= begin_ && now < end_) {
      loser_.book_conflict(now, winner_);
      loser_.book_conflict(now, winner_);  // a cycle is lost once however many banks it lost
      set_state(UnitState::kBusy);
      return;
    }
    set_state(UnitState::kIdle);
  }
  Unit& loser_;
  const Unit& winner_;
  Cycle begin_, end_;
};

TEST_F(UnitBooks, ConflictsDoNotDependOnWhoIsEvaluatedFirst) {
  for (const bool memory_first : {true, false}) {
    SetUp();
    Scripted unit("unit", *clock_, context_);
    Scripted winner("winner", *clock_, context_);
    if (memory_first) {
      Memory memory("memory", *clock_, context_, unit, winner, 5, 9);
      for (Cycle c = 4; c < 12; ++c)
        unit.at(c, c == 6 ? UnitState::kBusy : UnitState::kBlocked,
                c == 6 ? nullptr : &downstream_);
      run();
    } else {
      for (Cycle c = 4; c < 12; ++c)
        unit.at(c, c == 6 ? UnitState::kBusy : UnitState::kBlocked,
                c == 6 ? nullptr : &downstream_);
      Memory memory("memory", *clock_, context_, unit, winner, 5, 9);
      run();
    }
    unit.finish(12);
    // Lost in 5, 6, 7, 8; busy all the same in 6.
    EXPECT_EQ(cycles(unit, UnitState::kConflict), 3u);
    EXPECT_EQ(cycles(unit, UnitState::kBusy), 1u);
    EXPECT_EQ(cycles(unit, UnitState::kBlocked), 4u);
    EXPECT_EQ(total(unit), 12u);
  }
}

TEST_F(UnitBooks, ATickWithoutAStateIsABrokenInvariant) {
  Scripted unit("unit", *clock_, context_);
  unit.states_a_tick = 0;
  unit.at(2, UnitState::kBusy);
  try {
    run();
    FAIL() << "no exception";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("unit unit, cycle 2"));
  }
}

TEST_F(UnitBooks, ATickWithTwoStatesIsABrokenInvariant) {
  Scripted unit("unit", *clock_, context_);
  unit.states_a_tick = 2;
  unit.at(2, UnitState::kBusy);
  EXPECT_THROW(run(), InternalError);
}

TEST_F(UnitBooks, StatesHaveTheNamesOfTheReport) {
  EXPECT_STREQ(name(UnitState::kBusy), "busy");
  EXPECT_STREQ(name(UnitState::kConflict), "conflict");
  EXPECT_STREQ(name(UnitState::kBlocked), "blocked");
  EXPECT_STREQ(name(UnitState::kStarved), "starved");
  EXPECT_STREQ(name(UnitState::kIdle), "idle");
}

}  // namespace
}  // namespace rngdsim
