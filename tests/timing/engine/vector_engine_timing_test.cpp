// SPDX-License-Identifier: Apache-2.0
// Valid Count Generator and Vector Engine. Every link takes one cycle: what a driver pushes in c is
// taken in c + 1, and what a unit pushes in c arrives in c + 1. Each ALU of a chain, the
// accumulator tree of a reduction among them, makes the way of a result a cycle longer [B].
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "engine/vcg_unit.h"
#include "engine/vector_engine.h"
#include "tests/support/stream_fixture.h"

namespace rngdsim {
namespace {

using test::Collector;
using test::Driver;
using testing::ElementsAre;
using testing::IsEmpty;

template <typename Tested>
class VectorPathTest : public test::StreamTest {
 protected:
  template <typename... Parameters>
  void build(const Parameters&... parameters) {
    unit = std::make_unique<Tested>("unit", *clock_, context_, parameters...);
    before = std::make_unique<Driver<StreamItem>>("before", *clock_, context_);
    after = std::make_unique<Collector<StreamItem>>("after", *clock_, context_);
    connect(*before, before->out, *unit, unit->in);
    connect(*unit, unit->out, *after, after->in, 1, 4);
    bind_rest(*unit);
    keep_awake(*after, 40);
  }
  // A flit a cycle from cycle 0 on.
  void send(uint64_t flits) {
    for (uint64_t i = 0; i < flits; ++i) before->push_at(i, item(0, i, i + 1 == flits));
  }

  std::unique_ptr<Tested> unit;
  std::unique_ptr<Driver<StreamItem>> before;
  std::unique_ptr<Collector<StreamItem>> after;
};

class VectorEngineTest : public VectorPathTest<VectorEngine> {
 protected:
  VectorConfig& chain(VectorConfig::Narrow narrow, uint64_t flits) {
    VectorConfig& config = add_command().vector.emplace();
    config.narrow = narrow;
    config.flits = flits;
    config.steps = config.results = narrow == VectorConfig::Narrow::kSplit ? 2 * flits : flits;
    return config;
  }
  // `loops` over steps.
  void reduce(VectorConfig& config, std::vector<TimeReduceConfig::Loop> loops, uint64_t results) {
    config.reduce.emplace();
    config.reduce->time.loops = std::move(loops);
    config.reduce->time.capacity = 8;
    config.reduce->time.results = config.results = results;
  }
  // An operation on every element, on an ALU of its own.
  static VectorStep add() {
    VectorStep step;
    step.kind = VectorStep::Kind::kBinary;
    step.op = VectorOp::kAddFxp;
    step.dtype = DType::kI32;
    step.alu = Alu::kFxpAdd;
    step.slots.emplace_back();
    step.slots[0].operand.kind = VectorOperand::Kind::kConstant;
    step.slots[0].operand.bits = 1;
    return step;
  }
  static VectorStep of_kind(VectorStep::Kind kind) {
    VectorStep step;
    step.kind = kind;
    return step;
  }
  // On one ALU, like others.
  static VectorStep zip() {
    VectorStep step = add();
    step.kind = VectorStep::Kind::kZip;
    step.slots.clear();
    return step;
  }
};

TEST_F(VectorEngineTest, ATrimmedFlitTakesOneCycle) {
  chain(VectorConfig::Narrow::kTrim, 4);
  build(VectorEngine::Parameters{});
  send(4);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4, 5));
}

// Halves in 1 and 2, 3 and 4: the second flit waits a cycle.
TEST_F(VectorEngineTest, ASplitFlitTakesTwo) {
  chain(VectorConfig::Narrow::kSplit, 3);
  build(VectorEngine::Parameters{});
  send(3);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4, 5, 6, 7));
  EXPECT_EQ(unit->counters().items_in, 3u);
  EXPECT_EQ(unit->counters().items_out, 6u);
}

// Four steps a result: they are taken in 1 to 4 and 5 to 8; the accumulator tree takes a cycle.
TEST_F(VectorEngineTest, AResultLeavesWithTheLastStepOfItsAxis) {
  reduce(chain(VectorConfig::Narrow::kTrim, 8), {{2, false}, {4, true}}, 2);
  build(VectorEngine::Parameters{});
  send(8);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(6, 10));  // not in 5, in 6
}

// The kept axis inside: all four slots are complete in the last round, steps 5 to 8.
TEST_F(VectorEngineTest, SlotsLeaveInTheLastRound) {
  reduce(chain(VectorConfig::Narrow::kTrim, 8), {{2, true}, {4, false}}, 4);
  build(VectorEngine::Parameters{});
  send(8);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(7, 8, 9, 10));
}

TEST_F(VectorEngineTest, ASplitReductionTakesTwoCyclesAFlit) {
  reduce(chain(VectorConfig::Narrow::kSplit, 3), {{6, true}}, 1);
  build(VectorEngine::Parameters{});
  send(3);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(8));  // steps in 1 to 6
}

TEST_F(VectorEngineTest, AReductionIsOneAlu) {
  reduce(chain(VectorConfig::Narrow::kTrim, 2), {{2, true}}, 1);
  build(VectorEngine::Parameters{3, 0});
  send(2);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(6));  // steps in 1 and 2, three cycles, the link
}

// A flit a cycle, taken in 1, 2, 3, whatever is done to it; each of `alus` delays what leaves.
TEST_F(VectorEngineTest, EachAluDelaysAndNoneSlowsDown) {
  for (const uint64_t alus : {0, 1, 3, 5}) {
    SetUp();
    program_.commands.clear();
    VectorConfig& config = chain(VectorConfig::Narrow::kNone, 3);
    config.front.assign(alus / 2, add());
    config.back.assign(alus - alus / 2, add());
    build(VectorEngine::Parameters{});
    send(3);
    run();
    EXPECT_THAT(after->cycles(), ElementsAre(alus + 2, alus + 3, alus + 4)) << alus;
  }
}

// In the 4-way part they are as long as elsewhere: the second halves are in 2 and 4.
TEST_F(VectorEngineTest, AlusOfAllPartsAddUp) {
  VectorConfig& config = chain(VectorConfig::Narrow::kSplit, 2);
  config.front = {add()};
  config.middle = {add(), add()};
  config.widen = VectorConfig::Widen::kConcat;
  config.back = {add()};
  config.results = 2;
  build(VectorEngine::Parameters{2, 0});
  send(2);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2 + 8 + 1, 4 + 8 + 1));
}

// Conversions, the stash and the filter take no ALU; conversions have a latency of their own.
TEST_F(VectorEngineTest, ConversionsHaveTheirOwnLatency) {
  for (const uint64_t latency : {0, 3}) {
    SetUp();
    program_.commands.clear();
    VectorConfig& config = chain(VectorConfig::Narrow::kNone, 1);
    VectorStep filter = of_kind(VectorStep::Kind::kFilter);
    filter.slots.emplace_back();
    config.front = {of_kind(VectorStep::Kind::kStash), of_kind(VectorStep::Kind::kFxpToFp)};
    config.back = {of_kind(VectorStep::Kind::kFpToFxp), filter};
    build(VectorEngine::Parameters{1, latency});
    send(1);
    run();
    EXPECT_THAT(after->cycles(), ElementsAre(2 + 2 * latency));
  }
}

// Pairs are taken in 1 and 2, 3 and 4; the second of each gives the result, the zip takes a cycle.
TEST_F(VectorEngineTest, APairTakesTwoCycles) {
  VectorConfig& config = chain(VectorConfig::Narrow::kNone, 4);
  config.pair = true;
  config.back = {zip()};
  config.results = 2;
  build(VectorEngine::Parameters{});
  send(4);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(4, 6));
}

// Halves of group 0 in 1 and 2, of group 1 in 3 and 4, the next pair in 5 to 8.
TEST_F(VectorEngineTest, ASplitPairTakesFourCycles) {
  VectorConfig& config = chain(VectorConfig::Narrow::kSplit, 4);
  config.pair = true;
  config.middle = {zip()};
  config.results = 4;
  build(VectorEngine::Parameters{});
  send(4);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(5, 6, 9, 10));
}

// Group 0 in 1, group 1 with the first half in 2, the second half beside the next group 0 in 3, and
// so on: a pair takes two cycles though narrow splits what comes of it.
TEST_F(VectorEngineTest, ASplitBehindAZipCostsNothing) {
  VectorConfig& config = chain(VectorConfig::Narrow::kSplit, 6);
  config.pair = true;
  config.front = {zip()};
  config.results = 6;
  build(VectorEngine::Parameters{});
  send(6);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(4, 5, 6, 7, 8, 9));
  EXPECT_EQ(unit->counters().items_in, 6u);
  EXPECT_EQ(unit->counters().items_out, 6u);
}

// Chains before the inter-slice reducer leave by their own port, those behind it by the other.
TEST_F(VectorEngineTest, TheInterSliceReducerHasItsOwnPort) {
  for (const bool first : {false, true}) {
    VectorConfig& config = chain(VectorConfig::Narrow::kNone, 1);
    config.inter.emplace();
    config.inter_first = first;
  }
  unit = std::make_unique<VectorEngine>("unit", *clock_, context_, VectorEngine::Parameters{});
  before = std::make_unique<Driver<StreamItem>>("before", *clock_, context_);
  after = std::make_unique<Collector<StreamItem>>("after", *clock_, context_);
  Collector<StreamItem> reducer("reducer", *clock_, context_);
  connect(*before, before->out, *unit, unit->in);
  connect(*unit, unit->out, *after, after->in);
  connect(*unit, unit->inter, reducer, reducer.in);
  before->push_at(0, item(0, 0, true));
  before->push_at(1, item(1, 0, true));
  run();
  ASSERT_THAT(reducer.cycles(), ElementsAre(2));
  EXPECT_EQ(reducer.received[0].second.command, 0u);
  ASSERT_THAT(after->cycles(), ElementsAre(3));
  EXPECT_EQ(after->received[0].second.command, 1u);
}

// Two steps make one flit again: it leaves with the second.
TEST_F(VectorEngineTest, WidenConcatJoinsTwoSteps) {
  VectorConfig& config = chain(VectorConfig::Narrow::kSplit, 2);
  config.widen = VectorConfig::Widen::kConcat;
  config.results = 2;
  build(VectorEngine::Parameters{});
  send(2);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(3, 5));
}

TEST_F(VectorEngineTest, SplitAndConcatGiveTheFlitBack) {
  simulate_values(kSlices);
  VectorConfig& config = chain(VectorConfig::Narrow::kSplit, 1);
  config.widen = VectorConfig::Widen::kConcat;
  config.results = 1;
  build(VectorEngine::Parameters{});
  const BlockRef values = block(DType::kI32, 8, [](uint32_t e, uint32_t s) { return 10 * e + s; });
  before->push_at(0, item(0, 0, true, values));
  run();
  const Block& flit = *after->received.at(0).second.values;
  ASSERT_EQ(flit.elements, 8u);
  for (uint32_t e = 0; e < 8; ++e) EXPECT_EQ(flit.bits(e, 2), 10 * e + 2);
}

// A count of 6 is 4 in the first half and 2 in the second.
TEST_F(VectorEngineTest, CountsAreSplitLikeTheFlit) {
  simulate_values(kSlices);
  VectorConfig& config = chain(VectorConfig::Narrow::kSplit, 1);
  reduce(config, {{2, true}}, 1);
  config.reduce->op = ReduceOp::kAddSat;
  config.dtype = DType::kI32;
  build(VectorEngine::Parameters{});
  StreamItem flit =
      item(0, 0, true, block(DType::kI32, 8, [](uint32_t e, uint32_t) { return 1u << e; }));
  flit.counts = block(DType::kI8, 1, [](uint32_t, uint32_t s) {
    return s == 0 ? 6u : s == 1 ? 3u : 0u;
  });
  before->push_at(0, flit);
  run();
  const Block& sum = *after->received.at(0).second.values;
  EXPECT_EQ(sum.bits(0, 0), 1u + 16);
  EXPECT_EQ(sum.bits(1, 0), 2u + 32);
  EXPECT_EQ(sum.bits(2, 0), 4u);
  EXPECT_EQ(sum.bits(0, 1), 1u);
  EXPECT_FALSE(sum.is_valid(3, 1));
  EXPECT_FALSE(sum.is_valid(0, 2));
}

TEST_F(VectorEngineTest, IsBlockedOnlyWhereSomethingLeaves) {
  reduce(chain(VectorConfig::Narrow::kTrim, 12), {{6, false}, {2, true}}, 6);
  build(VectorEngine::Parameters{});
  after->first_cycle = 30;
  send(12);
  run();
  unit->finish(40);
  // Results of steps 2, 4, 6, 8 fill the link of four in 3, 5, 7, 9; that of step 10 stays in the
  // accumulator tree. Step 11 is taken in 11, step 12 would give the sixth.
  EXPECT_EQ(cycles(*unit, UnitState::kBlocked), 30u - 11);
  EXPECT_EQ(blamed(*unit, "after"), 30u - 11);
}

// Flits taken in 1 to 4 fill the link of four, those taken in 5 to 7 stay in the three ALUs.
// Nothing more is taken until the first is gone; then a flit a cycle as before.
TEST_F(VectorEngineTest, ARefusedChainFillsItsAlus) {
  VectorConfig& config = chain(VectorConfig::Narrow::kNone, 20);
  config.front.assign(3, add());
  build(VectorEngine::Parameters{});
  after->first_cycle = 30;
  send(20);
  run();
  unit->finish(60);
  EXPECT_EQ(cycles(*unit, UnitState::kBlocked), 31u - 8);
  EXPECT_THAT(after->cycles(), testing::ElementsAreArray(consecutive(30, 20)));
}

// Where the chain has gaps, what comes goes on until it meets what is refused: four fill the link
// in 4 to 7, the fifth is refused from 8 on, and those that come in 11 and 13 are taken all the
// same.
TEST_F(VectorEngineTest, ARefusedChainClosesItsGaps) {
  VectorConfig& config = chain(VectorConfig::Narrow::kNone, 7);
  config.front.assign(3, add());
  build(VectorEngine::Parameters{});
  after->first_cycle = 30;
  for (uint64_t i = 0; i < 7; ++i) before->push_at(i < 5 ? i : 2 * i, item(0, i, i == 6));
  run();
  unit->finish(60);
  EXPECT_EQ(cycles(*unit, UnitState::kBlocked), 31u - 8 - 2);
  EXPECT_THAT(after->cycles(), testing::ElementsAreArray(consecutive(30, 7)));
}

class VcgTest : public VectorPathTest<Vcg> {};

TEST_F(VcgTest, AFlitACycleWithItsCounts) {
  simulate_values(kSlices);
  VectorConfig& config = add_command().vector.emplace();
  config.reduce.emplace();
  TimeFilterConfig& filter = config.reduce->vcg.time_filters[0];
  filter.sequencer.entries = {{"R", 4, 1}};
  filter.slice_mask = 3;
  filter.slice_thres = 1;
  filter.time_thres = 2;  // slice 0: all steps, slice 1: the first two, slice 2: none
  build();
  const BlockRef values = block(DType::kI32, 8, [](uint32_t e, uint32_t) { return e; });
  for (uint64_t i = 0; i < 4; ++i) before->push_at(i, item(0, i, i == 3, values));
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4, 5));
  for (uint64_t t = 0; t < 4; ++t) {
    const BlockRef& counts = after->received.at(t).second.counts;
    ASSERT_TRUE(counts);
    EXPECT_EQ(counts->data[0], 8) << t;
    EXPECT_EQ(counts->data[1], t < 2 ? 8 : 0) << t;
    EXPECT_EQ(counts->data[2], 0) << t;
  }
}

// The sub context's and those behind the inter-slice reducer are tagged like main's.
TEST_F(VcgTest, EveryWayInIsTagged) {
  simulate_values(kSlices);
  add_command().vector.emplace().reduce.emplace();
  unit = std::make_unique<Vcg>("unit", *clock_, context_);
  after = std::make_unique<Collector<StreamItem>>("after", *clock_, context_);
  Driver<StreamItem> sub("sub", *clock_, context_), reducer("reducer", *clock_, context_);
  connect(sub, sub.out, *unit, unit->sub_in);
  connect(reducer, reducer.out, *unit, unit->reduced);
  connect(*unit, unit->out, *after, after->in);
  bind_rest(*unit);
  const BlockRef values = block(DType::kI32, 8, [](uint32_t e, uint32_t) { return e; });
  sub.push_at(0, item(0, 0, true, values));
  reducer.push_at(5, item(0, 0, true, values));
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 7));
  for (const auto& [cycle, flit] : after->received) EXPECT_TRUE(flit.counts) << cycle;
  EXPECT_EQ(unit->counters().items_in, 2u);
}

TEST_F(VcgTest, OtherFlitsPassUntagged) {
  simulate_values(kSlices);
  add_command().vector.emplace();
  build();
  before->push_at(0,
                  item(0, 0, true, block(DType::kI32, 8, [](uint32_t e, uint32_t) { return e; })));
  run();
  EXPECT_FALSE(after->received.at(0).second.counts);
}

}  // namespace
}  // namespace rngdsim
