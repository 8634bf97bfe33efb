// SPDX-License-Identifier: Apache-2.0
// Valid Count Generator and Vector Engine. Every link takes one cycle: what a driver pushes in c is
// taken in c + 1, and what a unit pushes in c arrives in c + 1.
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

// Four steps a result: they are taken in 1 to 4 and 5 to 8.
TEST_F(VectorEngineTest, AResultLeavesWithTheLastStepOfItsAxis) {
  reduce(chain(VectorConfig::Narrow::kTrim, 8), {{2, false}, {4, true}}, 2);
  build(VectorEngine::Parameters{});
  send(8);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(5, 9));  // not in 4, in 5
}

// The kept axis inside: all four slots are complete in the last round, steps 5 to 8.
TEST_F(VectorEngineTest, SlotsLeaveInTheLastRound) {
  reduce(chain(VectorConfig::Narrow::kTrim, 8), {{2, true}, {4, false}}, 4);
  build(VectorEngine::Parameters{});
  send(8);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(6, 7, 8, 9));
}

TEST_F(VectorEngineTest, ASplitReductionTakesTwoCyclesAFlit) {
  reduce(chain(VectorConfig::Narrow::kSplit, 3), {{6, true}}, 1);
  build(VectorEngine::Parameters{});
  send(3);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(7));  // steps in 1 to 6
}

TEST_F(VectorEngineTest, ReduceLatencyLengthensTheWay) {
  reduce(chain(VectorConfig::Narrow::kTrim, 2), {{2, true}}, 1);
  build(VectorEngine::Parameters{3});
  send(2);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(5));  // steps in 1 and 2
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
  add_command();  // so that the first one's source has a type of its own
  program_.commands[0].source.dtype = DType::kI32;
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
  // Results of steps 2, 4, 6, 8 fill the link of four in 2, 4, 6, 8; step 9 is taken in 9, step 10
  // would give the fifth.
  EXPECT_EQ(cycles(*unit, UnitState::kBlocked), 30u - 9);
  EXPECT_EQ(blamed(*unit, "after"), 30u - 9);
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
