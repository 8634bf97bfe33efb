// SPDX-License-Identifier: Apache-2.0
// Fetch Adapter, Cast Engine and Commit Adapter: an item in, an item out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "engine/cast_engine.h"
#include "engine/commit_adapter.h"
#include "engine/fetch_adapter.h"
#include "tests/support/stream_fixture.h"

namespace rngdsim {
namespace {

using test::Collector;
using test::Driver;
using testing::ElementsAre;

template <typename Adapter>
class AdapterTest : public test::StreamTest {
 protected:
  void build(const typename Adapter::Parameters& parameters = {}, uint64_t depth = 0) {
    adapter = std::make_unique<Adapter>("adapter", *clock_, context_, parameters);
    before = std::make_unique<Driver<StreamItem>>("before", *clock_, context_);
    after = std::make_unique<Collector<StreamItem>>("after", *clock_, context_);
    connect(*before, before->out, *adapter, adapter->in);
    connect(*adapter, adapter->out, *after, after->in, 1, depth);
    keep_awake(*after, 30);
  }
  void build_sub() {
    sub_before = std::make_unique<Driver<StreamItem>>("sub_before", *clock_, context_);
    sub_after = std::make_unique<Collector<StreamItem>>("sub_after", *clock_, context_);
    connect(*sub_before, sub_before->out, *adapter, adapter->sub_in);
    connect(*adapter, adapter->sub_out, *sub_after, sub_after->in);
  }
  void send(uint64_t items, BlockRef values = {}) {
    for (uint64_t i = 0; i < items; ++i) before->push_at(i, item(0, i, i + 1 == items, values));
  }
  const Block& result(size_t i) { return *after->received.at(i).second.values; }

  std::unique_ptr<Adapter> adapter;
  std::unique_ptr<Driver<StreamItem>> before, sub_before;
  std::unique_ptr<Collector<StreamItem>> after, sub_after;
};

// ---- Fetch Adapter -----------------------------------------------------------------------------

class FetchAdapterTest : public AdapterTest<FetchAdapter> {};

TEST_F(FetchAdapterTest, CastLatencyOne) {
  add_command().fetch_cast = FetchCastConfig{DType::kI8, DType::kI32};
  build();
  bind_rest(*adapter);
  send(4);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4, 5));
}

// Two cycles in all, at full rate over a link that is deep enough.
TEST_F(FetchAdapterTest, CastLatencyTwo) {
  add_command().fetch_cast = FetchCastConfig{DType::kI8, DType::kI32};
  FetchAdapter::Parameters parameters;
  parameters.cast_latency = 2;
  build(parameters, 3);
  bind_rest(*adapter);
  send(4);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(3, 4, 5, 6));
}

TEST_F(FetchAdapterTest, WithoutACastItemsPassInOneCycle) {
  simulate_values(kSlices);
  add_command();
  FetchAdapter::Parameters parameters;
  parameters.cast_latency = 2;
  build(parameters, 3);
  bind_rest(*adapter);
  BlockRef values = block(DType::kI8, 8, [](uint32_t e, uint32_t) { return e; });
  const Block* before_cast = &*values;
  send(2, values);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3));
  EXPECT_EQ(&result(1), before_cast);
}

TEST_F(FetchAdapterTest, CastsValuesAndKeepsPoison) {
  simulate_values(kSlices);
  add_command().fetch_cast = FetchCastConfig{DType::kI8, DType::kI32};
  build();
  bind_rest(*adapter);
  BlockRef values = block(DType::kI8, 8, [](uint32_t e, uint32_t s) { return 0xf8 + e + s; });
  values->track_validity();
  values->valid_row(3)[1] = 0;
  send(1, values);
  run();
  EXPECT_EQ(result(0).dtype, DType::kI32);
  EXPECT_EQ(result(0).elements, 8u);
  EXPECT_EQ(result(0).bits(0, 0), 0xfffffff8u);
  EXPECT_EQ(result(0).bits(7, 2), 1u);  // 0x101 in eight bits
  EXPECT_FALSE(result(0).is_valid(3, 1));
  EXPECT_TRUE(result(0).is_valid(3, 0));
}

// [A] One cycle, like a cast; both in one command take the sum.
TEST_F(FetchAdapterTest, ZeroPointLatencies) {
  add_command().fetch_zero_point = FetchZeroPointConfig{DType::kI8, DType::kI9, 3};
  build();
  bind_rest(*adapter);
  send(4);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4, 5));
}

TEST_F(FetchAdapterTest, ZeroPointLatencyThree) {
  add_command().fetch_zero_point = FetchZeroPointConfig{DType::kI8, DType::kI9, 3};
  FetchAdapter::Parameters parameters;
  parameters.zero_point_latency = 3;
  build(parameters, 4);
  bind_rest(*adapter);
  send(4);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(4, 5, 6, 7));
}

TEST_F(FetchAdapterTest, ACastAndAZeroPointTakeTheSum) {
  Command& both = add_command();
  both.fetch_cast = FetchCastConfig{DType::kI8, DType::kI32};
  both.fetch_zero_point = FetchZeroPointConfig{DType::kI8, DType::kI9, 3};
  build({}, 3);
  bind_rest(*adapter);
  send(2);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(3, 4));
}

TEST_F(FetchAdapterTest, SubtractsFromValuesAndKeepsPoison) {
  simulate_values(kSlices);
  add_command().fetch_zero_point = FetchZeroPointConfig{DType::kI8, DType::kI9, 100};
  build();
  bind_rest(*adapter);
  BlockRef values = block(DType::kI8, 8, [](uint32_t e, uint32_t s) { return 0x80 + e + s; });
  values->track_validity();
  values->valid_row(3)[1] = 0;
  send(1, values);
  run();
  EXPECT_EQ(result(0).dtype, DType::kI9);
  EXPECT_EQ(result(0).bits(0, 0), 0x11cu);  // -128 - 100 = -228
  EXPECT_EQ(result(0).bits(7, 2), 0x125u);  // -119 - 100 = -219
  EXPECT_FALSE(result(0).is_valid(3, 1));
  EXPECT_TRUE(result(0).is_valid(3, 0));
}

// [C] 2 flits in 5 cycles: an item of 32 B keeps the table for 2.5 cycles, so that items that are
// ready in every cycle are taken in cycles 1, 4 (3.5 rounded up), 6, 9 (8.5), 11 and 14.
TEST_F(FetchAdapterTest, ATableMakesTwoFlitsInFiveCycles) {
  TableLookupConfig lookup;
  lookup.from = DType::kF8E4M3;
  lookup.to = DType::kBF16;
  lookup.item_bytes = 32;
  add_command().table_lookup = lookup;
  build();
  bind_rest(*adapter);
  send(6);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 5, 7, 10, 12, 15));
  adapter->finish(20);
  // Of cycles 1 to 14 those in which it took nothing.
  EXPECT_EQ(cycles(*adapter, UnitState::kBusy), 6u);
  EXPECT_EQ(cycles(*adapter, UnitState::kBlocked), 8u);
  EXPECT_EQ(blamed(*adapter, "adapter"), 8u);
}

// Items of 8 B keep it for 5/8 of a cycle: they pass one a cycle, and none is put off.
TEST_F(FetchAdapterTest, ATableDoesNotHinderWhatItCanFollow) {
  TableLookupConfig lookup;
  lookup.from = DType::kF8E4M3;
  lookup.to = DType::kBF16;
  lookup.item_bytes = 8;
  add_command().table_lookup = lookup;
  build();
  bind_rest(*adapter);
  send(5);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4, 5, 6));
}

// A table that has rested does not make up for it: 32 B in cycles 1 and 11 are followed 2.5 cycles
// later by the next each time.
TEST_F(FetchAdapterTest, ATableThatRestedIsNoFaster) {
  TableLookupConfig lookup;
  lookup.from = DType::kF8E4M3;
  lookup.to = DType::kBF16;
  lookup.item_bytes = 32;
  add_command().table_lookup = lookup;
  build();
  bind_rest(*adapter);
  for (uint64_t i = 0; i < 4; ++i) before->push_at(i < 2 ? i : 8 + i, item(0, i, i == 3));
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 5, 12, 15));
}

// Looked up and cast, the latencies add up; f4e2m1 1.5 is 0x3, in f8e4m3 0x3c, in f32 0x3fc00000.
TEST_F(FetchAdapterTest, ALookupAndACastTakeTheSum) {
  simulate_values(kSlices);
  Command& both = add_command();
  both.table_lookup = TableLookupConfig{DType::kF4E2M1, DType::kF8E4M3};
  both.table_lookup->item_bytes = 8;
  both.fetch_cast = FetchCastConfig{DType::kF8E4M3, DType::kF32};
  build({}, 3);
  bind_rest(*adapter);
  BlockRef values = block(DType::kF4E2M1, 8, [](uint32_t e, uint32_t s) { return e == s ? 3 : 0; });
  values->track_validity();
  values->valid_row(5)[1] = 0;
  send(2, values);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(3, 4));
  EXPECT_EQ(result(0).dtype, DType::kF32);
  EXPECT_EQ(result(0).bits(2, 2), 0x3fc00000u);
  EXPECT_EQ(result(0).bits(2, 1), 0u);
  EXPECT_FALSE(result(0).is_valid(5, 1));
  EXPECT_TRUE(result(0).is_valid(5, 0));
}

// The paths of the two contexts do not wait for each other; the busier one gives the state.
TEST_F(FetchAdapterTest, TwoIndependentPaths) {
  add_command();
  add_command();
  build();
  build_sub();
  after->first_cycle = 20;
  send(4);
  for (uint64_t i = 0; i < 4; ++i) sub_before->push_at(6 + i, item(1, i, i == 3));
  run();
  EXPECT_EQ(after->cycles(), consecutive(20, 4));
  EXPECT_EQ(sub_after->cycles(), consecutive(8, 4));
  adapter->finish(30);
  // Main: busy 1, 2, blocked 3 to 20, busy 21, 22. Sub: busy 7 to 10.
  EXPECT_EQ(cycles(*adapter, UnitState::kBusy), 8u);
  EXPECT_EQ(cycles(*adapter, UnitState::kBlocked), 14u);
  EXPECT_EQ(blamed(*adapter, "after"), 14u);
  EXPECT_EQ(cycles(*adapter, UnitState::kIdle), 8u);
  EXPECT_EQ(adapter->counters().items_in, 8u);
}

TEST_F(FetchAdapterTest, StarvedBetweenTheItemsOfACommand) {
  add_command();
  build();
  bind_rest(*adapter);
  before->push_at(0, item(0, 0, false));
  before->push_at(5, item(0, 1, true));
  run();
  adapter->finish(10);
  EXPECT_EQ(cycles(*adapter, UnitState::kStarved), 4u);  // 2 to 5
  EXPECT_EQ(blamed(*adapter, "before"), 4u);
}

// ---- Cast Engine -------------------------------------------------------------------------------

class CastEngineTest : public AdapterTest<CastEngine> {};

TEST_F(CastEngineTest, OneFlitACyclePaddedWithZeros) {
  simulate_values(kSlices);
  add_command().cast = CastConfig{DType::kF32, DType::kBF16};
  build();
  bind_rest(*adapter);
  BlockRef values = block(
      DType::kF32, 8, [](uint32_t e, uint32_t s) { return 0x3f800000u + (e << 16) + (s << 20); });
  values->track_validity();
  values->valid_row(7)[2] = 0;
  send(3, values);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4));
  EXPECT_EQ(result(0).dtype, DType::kBF16);
  EXPECT_EQ(result(0).elements, 16u);
  EXPECT_EQ(result(0).bits(7, 1), 0x3f97u);
  EXPECT_FALSE(result(0).is_valid(7, 2));
  for (uint32_t e = 8; e < 16; ++e) {
    EXPECT_EQ(result(0).bits(e, 2), 0u);
    EXPECT_TRUE(result(0).is_valid(e, 2));
  }
}

TEST_F(CastEngineTest, SixtyFourNibblesAFlit) {
  simulate_values(kSlices);
  add_command().cast = CastConfig{DType::kI32, DType::kI4};
  build();
  bind_rest(*adapter);
  send(1, block(DType::kI32, 8, [](uint32_t e, uint32_t) { return 0xfffffff0u + e; }));
  run();
  EXPECT_EQ(result(0).elements, 64u);
  EXPECT_EQ(result(0).bits(5, 0), 5u);
  EXPECT_EQ(result(0).bits(63, 0), 0u);
  EXPECT_TRUE(result(0).all_valid);
}

TEST_F(CastEngineTest, BothContextsAndCommandsWithoutACast) {
  add_command();
  add_command().cast = CastConfig{DType::kF32, DType::kBF16};
  build();
  build_sub();
  bind_rest(*adapter);
  send(3);
  for (uint64_t i = 0; i < 3; ++i) sub_before->push_at(i, item(1, i, i == 2));
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4));
  EXPECT_THAT(sub_after->cycles(), ElementsAre(2, 3, 4));
  adapter->finish(20);
  EXPECT_EQ(cycles(*adapter, UnitState::kBusy), 3u);
}

// From both entries of the Vector Engine: main, sub and VRF as the command says, a cast included.
TEST_F(CastEngineTest, WhatTheVectorEngineMadeLeavesByItsCommand) {
  add_command();
  add_command().context = Context::kSub;
  add_command().to_vrf = ToVrfConfig();
  build();
  build_sub();
  Driver<StreamItem> chain("chain", *clock_, context_), reducer("reducer", *clock_, context_);
  Collector<StreamItem> vrf("vrf", *clock_, context_);
  connect(chain, chain.out, *adapter, adapter->vector);
  connect(reducer, reducer.out, *adapter, adapter->inter);
  connect(*adapter, adapter->vrf, vrf, vrf.in);
  for (Driver<StreamItem>* from : {&chain, &reducer}) {
    const Cycle begin = from == &chain ? 0 : 10;
    for (CommandId id = 0; id < 3; ++id) from->push_at(begin + id, item(id, 0, true));
  }
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 12));
  EXPECT_THAT(sub_after->cycles(), ElementsAre(3, 13));
  EXPECT_THAT(vrf.cycles(), ElementsAre(4, 14));
}

// A chain of sub and a command of main without one do not hinder each other.
TEST_F(CastEngineTest, AChainOfSubPassesBesideMain) {
  add_command();
  add_command().context = Context::kSub;
  build();
  build_sub();
  Driver<StreamItem> chain("chain", *clock_, context_);
  connect(chain, chain.out, *adapter, adapter->vector);
  bind_rest(*adapter);
  send(3);
  for (uint64_t i = 0; i < 3; ++i) chain.push_at(i, item(1, i, i == 2));
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4));
  EXPECT_THAT(sub_after->cycles(), ElementsAre(2, 3, 4));
}

// ---- Commit Adapter ----------------------------------------------------------------------------

// What a filter keeps goes with the flit, cast or not.
// What is transposed leaves by an exit of its own, from both contexts and from a chain.
TEST_F(CastEngineTest, WhatIsTransposedLeavesForTheTransposeEngine) {
  add_command().transpose = TransposeConfig();
  add_command().transpose = TransposeConfig();
  program_.commands[1].context = Context::kSub;
  build();
  build_sub();
  Driver<StreamItem> chain("chain", *clock_, context_);
  Collector<StreamItem> transpose("transpose", *clock_, context_);
  connect(chain, chain.out, *adapter, adapter->vector);
  connect(*adapter, adapter->transpose, transpose, transpose.in);
  bind_rest(*adapter);
  send(1);
  sub_before->push_at(3, item(1, 0, true));
  chain.push_at(6, item(0, 0, true));
  run();
  EXPECT_THAT(transpose.cycles(), ElementsAre(2, 5, 8));
  EXPECT_TRUE(after->received.empty());
  EXPECT_TRUE(sub_after->received.empty());
}

TEST_F(CastEngineTest, TheMaskOfAFilterPasses) {
  simulate_values(kSlices);
  add_command().cast = CastConfig{DType::kF32, DType::kBF16};
  build();
  bind_rest(*adapter);
  StreamItem flit = item(0, 0, true, block(DType::kF32, 8, [](uint32_t, uint32_t) { return 0; }));
  flit.keep = block(DType::kI8, 8, [](uint32_t e, uint32_t s) { return e == s; });
  const Block* keep = &*flit.keep;
  before->push_at(0, std::move(flit));
  run();
  EXPECT_EQ(&*after->received.at(0).second.keep, keep);
}

class CommitAdapterTest : public AdapterTest<CommitAdapter> {
 protected:
  CommitAdapterConfig& commits(uint64_t trim) {
    Command& command = add_command();
    command.commit_adapter = CommitAdapterConfig();
    command.commit_adapter->trim_elements = trim;
    return *command.commit_adapter;
  }
};

TEST_F(CommitAdapterTest, KeepsTheLeadingElements) {
  simulate_values(kSlices);
  commits(8);
  build();
  bind_rest(*adapter);
  // Held by nobody else, so that the block itself is trimmed.
  BlockRef values = block(DType::kBF16, 16, [](uint32_t e, uint32_t s) { return 100 * s + e; });
  const Block* flit = &*values;
  before->push_at(0, item(0, 0, true, std::move(values)));
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2));
  EXPECT_EQ(&result(0), flit);
  EXPECT_EQ(result(0).elements, 8u);
  EXPECT_EQ(result(0).bits(7, 2), 207u);
}

// What was transposed is trimmed like all else.
TEST_F(CommitAdapterTest, TrimsWhatTheTransposeEngineMade) {
  simulate_values(kSlices);
  commits(8);
  build();
  Driver<StreamItem> transpose("transpose", *clock_, context_);
  connect(transpose, transpose.out, *adapter, adapter->transposed);
  for (uint64_t i = 0; i < 3; ++i) {
    transpose.push_at(
        i, item(0, i, i == 2, block(DType::kI8, 32, [](uint32_t e, uint32_t) { return e; })));
  }
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4));
  EXPECT_EQ(result(2).elements, 8u);
  EXPECT_EQ(result(2).bits(7, 1), 7u);
}

TEST_F(CommitAdapterTest, TheMaskOfAFilterPasses) {
  simulate_values(kSlices);
  commits(4).cast = CastConfig{DType::kF32, DType::kBF16};
  build();
  bind_rest(*adapter);
  StreamItem flit = item(0, 0, true, block(DType::kF32, 8, [](uint32_t, uint32_t) { return 0; }));
  flit.keep = block(DType::kI8, 8, [](uint32_t e, uint32_t s) { return e == s; });
  const Block* keep = &*flit.keep;
  before->push_at(0, std::move(flit));
  run();
  EXPECT_EQ(&*after->received.at(0).second.keep, keep);
}

TEST_F(CommitAdapterTest, CastsAndKeepsTheRate) {
  simulate_values(kSlices);
  CommitAdapterConfig& config = commits(4);
  config.cast = CastConfig{DType::kF32, DType::kBF16};
  build();
  bind_rest(*adapter);
  send(3, block(DType::kF32, 8, [](uint32_t e, uint32_t) { return 0xc0000000u + (e << 16); }));
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4));
  EXPECT_EQ(result(2).dtype, DType::kBF16);
  EXPECT_EQ(result(2).elements, 4u);
  EXPECT_EQ(result(2).bits(3, 1), 0xc003u);
}

TEST_F(CommitAdapterTest, ReluIsFusedIntoTheCast) {
  simulate_values(kSlices);
  CommitAdapterConfig& config = commits(4);
  config.cast = CastConfig{DType::kF32, DType::kBF16};
  config.relu = true;
  build();
  bind_rest(*adapter);
  send(1, block(DType::kF32, 8, [](uint32_t e, uint32_t) { return e << 31 | 0x40000000u; }));
  run();
  EXPECT_EQ(result(0).bits(0, 0), 0x4000u);
  EXPECT_EQ(result(0).bits(1, 0), 0u);
}

TEST_F(CommitAdapterTest, WithoutCommitItemsPassUnchanged) {
  simulate_values(kSlices);
  add_command();
  build();
  bind_rest(*adapter);
  send(1, block(DType::kF32, 8, [](uint32_t e, uint32_t) { return e; }));
  run();
  EXPECT_EQ(result(0).elements, 8u);
  EXPECT_EQ(result(0).dtype, DType::kF32);
}

}  // namespace
}  // namespace rngdsim
