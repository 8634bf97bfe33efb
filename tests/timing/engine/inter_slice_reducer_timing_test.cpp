// SPDX-License-Identifier: Apache-2.0
// The inter-slice reducer. Every link takes one cycle: what a driver pushes in c comes in in c + 1,
// and what the unit pushes in c arrives in c + 1. So a result of a flit pushed in c arrives in
// c + 2 + (ratio - 1) * hop_cycles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "engine/inter_slice_reducer.h"
#include "support/diagnostic.h"
#include "tests/support/stream_fixture.h"

namespace rngdsim {
namespace {

using test::Collector;
using test::Driver;
using testing::ElementsAre;
using testing::IsEmpty;

class InterSliceReducerTest : public test::StreamTest {
 protected:
  InterSliceConfig& reduce(uint64_t ratio, uint64_t flits) {
    Command& command = add_command();
    VectorConfig& config = command.vector.emplace();
    config.chain = false;
    InterSliceConfig& inter = config.inter.emplace();
    inter.ratio = ratio;
    inter.slots.assign(ratio, 0);
    inter.loops = {{flits, 1, 0}};
    inter.flits = inter.results = flits;
    return inter;
  }
  // [S 2, V 4, U 2] -> Slice [.., V], Time [S, U].
  void promote() {
    InterSliceConfig& inter = reduce(4, 16);
    inter.slots = {0, 1, 2, 3};
    inter.loops = {{2, 2, 0}, {4, 0, 1}, {2, 1, 0}};
    inter.results = 4;
  }
  void build(uint64_t hop_cycles = 1) {
    const InterSliceReducer::Parameters parameters{hop_cycles};
    unit = std::make_unique<InterSliceReducer>("unit", *clock_, context_, parameters);
    for (Source* source : {&main, &sub, &chain}) {
      source->driver = std::make_unique<Driver<StreamItem>>(source->name, *clock_, context_);
    }
    connect(*main.driver, main.driver->out, *unit, unit->in);
    connect(*sub.driver, sub.driver->out, *unit, unit->sub_in);
    connect(*chain.driver, chain.driver->out, *unit, unit->vector);
    ends = std::make_unique<Collector<StreamItem>>("ends", *clock_, context_);
    to_chain = std::make_unique<Collector<StreamItem>>("to_chain", *clock_, context_);
    connect(*unit, unit->out, *ends, ends->in);
    connect(*unit, unit->chain, *to_chain, to_chain->in);
  }
  // A flit a cycle from cycle `begin` on, values 1 in all slices.
  void send(Driver<StreamItem>& from, uint64_t flits, Cycle begin = 0, CommandId id = 0) {
    for (uint64_t i = 0; i < flits; ++i) {
      BlockRef values;
      if (context_.values()) {
        values = pool_->allocate(DType::kI32, 1);
        for (uint32_t s = 0; s < values->slices; ++s) values->set_bits(0, s, 1);
      }
      from.push_at(begin + i, item(id, i, i + 1 == flits, values));
    }
  }

  struct Source {
    const char* name;
    std::unique_ptr<Driver<StreamItem>> driver;
  };
  Source main{"main", {}}, sub{"sub", {}}, chain{"chain", {}};
  std::unique_ptr<InterSliceReducer> unit;
  std::unique_ptr<Collector<StreamItem>> ends, to_chain;
};

// Ratio, hop_cycles, flits.
class InterSliceTail
    : public InterSliceReducerTest,
      public testing::WithParamInterface<std::tuple<uint64_t, uint64_t, uint64_t>> {};

// The stream comes in in 1 .. T; the results arrive one a cycle, not a cycle earlier or later than
// the way round the ring says.
TEST_P(InterSliceTail, AResultLeavesOneWayRoundTheRingAfterItsFlit) {
  const auto [ratio, hop_cycles, flits] = GetParam();
  simulate_values(static_cast<uint32_t>(ratio));
  reduce(ratio, flits);
  build(hop_cycles);
  const uint64_t tail = (ratio - 1) * hop_cycles;
  keep_awake(*unit, tail + flits + 4);
  keep_awake(*ends, tail + flits + 4);
  send(*main.driver, flits);
  run();
  EXPECT_EQ(ends->cycles(), consecutive(2 + tail, flits));
  for (uint64_t t = 0; t < flits; ++t) {
    const StreamItem& result = ends->received.at(t).second;
    EXPECT_EQ(result.index, t);
    EXPECT_EQ(result.last, t + 1 == flits);
    EXPECT_EQ(result.values->bits(0, 0), ratio);  // ones
  }
  // One a cycle in and out.
  unit->finish(tail + flits + 4);
  EXPECT_EQ(cycles(*unit, UnitState::kBusy), tail == 0 || tail >= flits ? 2 * flits : tail + flits);
}

INSTANTIATE_TEST_SUITE_P(Ratios, InterSliceTail,
                         testing::Combine(testing::Values(2, 4, 8, 16, 32, 64, 128, 256),
                                          testing::Values(1, 9), testing::Values(1, 40)),
                         [](const auto& info) {
                           return "Ratio" + std::to_string(std::get<0>(info.param)) + "Hop" +
                                  std::to_string(std::get<1>(info.param)) + "Flits" +
                                  std::to_string(std::get<2>(info.param));
                         });

// The unit sleeps on its way round the ring and must wake by itself.
TEST_F(InterSliceReducerTest, NobodyNeedsToWakeIt) {
  reduce(256, 3);
  build(9);
  send(*main.driver, 3);
  run();
  EXPECT_EQ(ends->cycles(), consecutive(2 + 255 * 9, 3));
}

TEST_F(InterSliceReducerTest, WithoutHopsAResultLeavesWithItsFlit) {
  reduce(4, 3);
  build(0);
  send(*main.driver, 3);
  unit->finish(run());
  EXPECT_EQ(ends->cycles(), consecutive(2, 3));
  EXPECT_EQ(cycles(*unit, UnitState::kBusy), 3u);
}

// Flits 6, 7, 14 and 15 complete a result; they come in in 7, 8, 15 and 16, tail 3.
TEST_F(InterSliceReducerTest, APromotedAxisHoldsAResultUntilItsLastFlit) {
  promote();
  build();
  send(*main.driver, 16);
  unit->finish(run());
  EXPECT_THAT(ends->cycles(), ElementsAre(7 + 3 + 1, 8 + 3 + 1, 15 + 3 + 1, 16 + 3 + 1));
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(ends->received[i].second.index, i);
  EXPECT_TRUE(ends->received[3].second.last);
  EXPECT_FALSE(ends->received[2].second.last);
  EXPECT_EQ(unit->counters().items_in, 16u);
  EXPECT_EQ(unit->counters().items_out, 4u);
}

// In flight only: starved by its own ring. Busy in 1 (in) and 8 (out), tail 7.
TEST_F(InterSliceReducerTest, IsStarvedWhileResultsAreOnTheirWay) {
  reduce(8, 1);
  build();
  send(*main.driver, 1);
  run();
  unit->finish(20);
  EXPECT_EQ(cycles(*unit, UnitState::kBusy), 2u);
  EXPECT_EQ(cycles(*unit, UnitState::kStarved), 6u);
  EXPECT_EQ(blamed(*unit, unit->unit_name()), 6u);
  EXPECT_EQ(cycles(*unit, UnitState::kIdle), 12u);
}

// Tail 1: results leave in 2 and 3 and fill the link of two. The third is on its way since 3 and
// could leave in 4; so the fourth flit stays outside until the first result was taken in 30: room
// from 31 on.
TEST_F(InterSliceReducerTest, AFullRingTakesNothingIn) {
  reduce(2, 6);
  build();
  ends->first_cycle = 30;
  send(*main.driver, 6);
  run();
  unit->finish(50);
  EXPECT_EQ(ends->cycles(), consecutive(30, 6));
  EXPECT_EQ(cycles(*unit, UnitState::kBlocked), 27u);  // 4 to 30
  EXPECT_EQ(blamed(*unit, "ends"), 27u);
  // Flits 4 and 5 wait on the link; the driver gets rid of the last one when flit 3 came in in 31.
  EXPECT_THAT(main.driver->pushed, ElementsAre(0, 1, 2, 3, 4, 32));
}

TEST_F(InterSliceReducerTest, SubCommandsAndChainsHaveWaysOfTheirOwn) {
  reduce(2, 1);  // main, alone
  reduce(2, 1);  // sub, alone
  reduce(2, 1);  // behind the chain
  program_.commands[2].vector->chain = true;
  reduce(2, 1);  // before the chain
  program_.commands[3].vector->chain = program_.commands[3].vector->inter_first = true;
  build();
  send(*main.driver, 1, 0, 0);
  send(*sub.driver, 1, 10, 1);
  send(*chain.driver, 1, 20, 2);
  send(*main.driver, 1, 30, 3);
  run();
  EXPECT_THAT(ends->cycles(), ElementsAre(3, 13, 23));
  EXPECT_THAT(to_chain->cycles(), ElementsAre(33));
}

TEST_F(InterSliceReducerTest, TwoCommandsAtOnceAreABrokenInvariant) {
  reduce(8, 1);
  reduce(8, 1);
  build();
  send(*main.driver, 1, 0, 0);
  send(*sub.driver, 1, 3, 1);
  EXPECT_THROW(run(), InternalError);
}

}  // namespace
}  // namespace rngdsim
