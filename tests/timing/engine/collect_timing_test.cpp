// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "engine/collect.h"
#include "support/diagnostic.h"
#include "tests/support/stream_fixture.h"

namespace rngdsim {
namespace {

using test::Collector;
using test::Driver;
using testing::ElementsAre;

class CollectTest : public test::StreamTest {
 protected:
  void build(Context context = Context::kMain) {
    const Collect::Parameters parameters{context};
    collect = std::make_unique<Collect>("main_collect", *clock_, context_, parameters);
    before = std::make_unique<Driver<StreamItem>>("before", *clock_, context_);
    after = std::make_unique<Collector<StreamItem>>("after", *clock_, context_);
    trf = std::make_unique<Collector<StreamItem>>("trf", *clock_, context_);
    from_switch = std::make_unique<Driver<StreamItem>>("from_switch", *clock_, context_);
    connect(*before, before->out, *collect, collect->in);
    connect(*from_switch, from_switch->out, *collect, collect->switched);
    connect(*collect, collect->out, *after, after->in);
    connect(*collect, collect->store, *trf, trf->in);
    for (auto* to : {&vrf, &vector, &inter}) {
      *to = std::make_unique<Collector<StreamItem>>("to", *clock_, context_);
    }
    connect(*collect, collect->vrf, *vrf, vrf->in);
    if (context == Context::kMain) return keep_awake(*after, 60);
    connect(*collect, collect->vector, *vector, vector->in);
    connect(*collect, collect->inter, *inter, inter->in);
    keep_awake(*after, 60);
  }
  // A command whose accesses of `access` elements make packets of `packet`.
  Command& cuts(DType dtype, uint64_t packet, uint64_t access, uint64_t packets) {
    Command& command = add_command();
    CollectConfig config;
    config.dtype = dtype;
    config.packet_elements = packet;
    config.flit_elements = 256 / static_cast<uint64_t>(memory_bits(dtype));
    config.flits_per_packet = (packet + config.flit_elements - 1) / config.flit_elements;
    config.flits = packets * config.flits_per_packet;
    command.collect = config;
    FetchConfig fetch_config;
    fetch_config.access_elements = access;
    fetch_config.accesses = packets * packet / access;
    command.fetch = fetch_config;
    return command;
  }
  // One item a cycle from cycle 0 on, element e of item i of slice s is 1000 i + 10 e + s.
  void send(DType dtype, uint64_t items, uint32_t elements) {
    for (uint64_t i = 0; i < items; ++i) {
      BlockRef values;
      if (context_.values()) {
        values = block(dtype, elements, [i](uint32_t e, uint32_t s) {
          return static_cast<uint32_t>(1000 * i + 10 * e + s);
        });
      }
      before->push_at(i, item(0, i, i + 1 == items, std::move(values)));
    }
  }
  const StreamItem& flit(size_t i) { return after->received.at(i).second; }
  void expect_flits(size_t count) {
    ASSERT_EQ(after->received.size(), count);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(flit(i).index, i);
      EXPECT_EQ(flit(i).last, i + 1 == count);
    }
  }

  std::unique_ptr<Collect> collect;
  std::unique_ptr<Driver<StreamItem>> from_switch;
  std::unique_ptr<Driver<StreamItem>> before;
  std::unique_ptr<Collector<StreamItem>> after, trf, vrf, vector, inter;
};

// An access of cycle 0 is there in 1 and its flit with the next unit in 2, not in 1.
TEST_F(CollectTest, AnAccessThatIsAFlitPassesInOneCycleWithoutACopy) {
  simulate_values(kSlices);
  cuts(DType::kI8, 32, 32, 3);
  build();
  std::vector<const Block*> blocks;
  for (uint64_t i = 0; i < 3; ++i) {
    BlockRef values = block(DType::kI8, 32, [](uint32_t e, uint32_t) { return e; });
    blocks.push_back(&*values);
    before->push_at(i, item(0, i, i == 2, std::move(values)));
  }
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4));
  expect_flits(3);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(&*flit(i).values, blocks[i]);
  EXPECT_TRUE(trf->received.empty());
}

// i8 B=16: one flit, padded.
TEST_F(CollectTest, AShortPacketIsPaddedWithValidZeros) {
  simulate_values(kSlices);
  cuts(DType::kI16, 8, 8, 2);
  build();
  send(DType::kI16, 2, 8);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3));
  expect_flits(2);
  const Block& values = *flit(1).values;
  EXPECT_EQ(values.elements, 16u);
  EXPECT_TRUE(values.all_valid);
  EXPECT_EQ(values.bits(7, 2), 1072u);
  for (uint32_t e = 8; e < 16; ++e) EXPECT_EQ(values.bits(e, 1), 0u);
}

// bf16 B=32: two flits a packet.
TEST_F(CollectTest, ALongPacketGivesSeveralFlits) {
  cuts(DType::kBF16, 32, 16, 2);
  build();
  send(DType::kBF16, 4, 16);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4, 5));
  expect_flits(4);
}

// A 24-byte packet in accesses of 8 B: the flit leaves with the third, 8 of its 32 B are wasted.
TEST_F(CollectTest, TwentyFourBytes) {
  simulate_values(kSlices);
  cuts(DType::kI16, 12, 4, 2);
  build();
  send(DType::kI16, 6, 4);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(4, 7));
  expect_flits(2);
  EXPECT_EQ(flit(1).values->bits(0, 0), 3000u);
  EXPECT_EQ(flit(1).values->bits(11, 1), 5031u);
  EXPECT_EQ(flit(1).values->bits(12, 1), 0u);
  collect->finish(20);
  EXPECT_EQ(collect->counters().items_in, 6u);
  EXPECT_EQ(collect->counters().items_out, 2u);
  EXPECT_EQ(cycles(*collect, UnitState::kBusy), 6u);
  EXPECT_EQ(cycles(*collect, UnitState::kIdle), 14u);
}

// A 40-byte packet: four accesses and one; 24 of 64 B are wasted.
TEST_F(CollectTest, FortyBytes) {
  simulate_values(kSlices);
  cuts(DType::kI16, 20, 4, 1);
  build();
  send(DType::kI16, 5, 4);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(5, 6));
  expect_flits(2);
  EXPECT_EQ(flit(0).values->bits(15, 2), 3032u);
  EXPECT_EQ(flit(1).values->bits(3, 2), 4032u);
  for (uint32_t e = 4; e < 16; ++e) EXPECT_EQ(flit(1).values->bits(e, 2), 0u);
}

TEST_F(CollectTest, SixtyFourNibblesAreAFlit) {
  cuts(DType::kI4, 64, 16, 1);
  build();
  send(DType::kI4, 4, 16);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(5));
}

// A whole packet of a stream in one item: one flit a cycle, the item is taken with the last.
TEST_F(CollectTest, AnItemOfTwoFlits) {
  simulate_values(kSlices);
  Command& command = cuts(DType::kBF16, 32, 32, 2);
  command.fetch.reset();
  command.stream = StreamEntryConfig();
  build();
  send(DType::kBF16, 2, 32);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4, 5));
  expect_flits(4);
  EXPECT_EQ(flit(1).values->bits(0, 0), 160u);
  EXPECT_EQ(flit(2).values->bits(0, 0), 1000u);
  EXPECT_EQ(flit(3).values->bits(15, 1), 1311u);
  collect->finish(20);
  EXPECT_EQ(collect->counters().items_in, 2u);
  EXPECT_EQ(cycles(*collect, UnitState::kBusy), 4u);
}

TEST_F(CollectTest, FlitsForTheTrfLeaveThroughStore) {
  cuts(DType::kI8, 32, 32, 2).to_trf = ToTrfConfig();
  build();
  send(DType::kI8, 2, 32);
  run();
  EXPECT_THAT(trf->cycles(), ElementsAre(2, 3));
  EXPECT_TRUE(after->received.empty());
}

TEST_F(CollectTest, FlitsForTheVrfLeaveThroughVrf) {
  cuts(DType::kI32, 8, 8, 2).to_vrf = ToVrfConfig();
  build();
  send(DType::kI32, 2, 8);
  run();
  EXPECT_THAT(vrf->cycles(), ElementsAre(2, 3));
  EXPECT_TRUE(after->received.empty());
}

// What a vector chain makes for the VRF comes from the Vector Engine: main goes through
// contraction.
TEST_F(CollectTest, ChainsOfTheMainContextGoOn) {
  Command& command = add_command();
  command.vector.emplace();
  command.to_vrf = ToVrfConfig();
  build();
  before->push_at(0, item(0, 0, true));
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2));
  EXPECT_TRUE(vrf->received.empty());
}

TEST_F(CollectTest, ChainsOfTheSubContextLeaveWhereTheyBegin) {
  add_command().vector.emplace();
  add_command().vector.emplace().inter.emplace();  // behind the chain
  VectorConfig& first = add_command().vector.emplace();
  first.inter.emplace();
  first.inter_first = true;
  VectorConfig& alone = add_command().vector.emplace();
  alone.inter.emplace();
  alone.chain = false;
  add_command();
  build(Context::kSub);
  for (CommandId id = 0; id < 5; ++id) before->push_at(id, item(id, 0, true));
  run();
  EXPECT_THAT(vector->cycles(), ElementsAre(2, 3));
  EXPECT_THAT(inter->cycles(), ElementsAre(4, 5));
  EXPECT_THAT(after->cycles(), ElementsAre(6));
}

TEST_F(CollectTest, WithoutCollectItemsPassUnchanged) {
  add_command();
  build();
  before->push_at(0, item(0, 7, false));
  before->push_at(1, item(0, 8, true));
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3));
  EXPECT_EQ(flit(0).index, 7u);
  EXPECT_TRUE(flit(1).last);
}

// Accesses that complete no flit are taken though there is no space for one.
TEST_F(CollectTest, BackPressureStopsOnlyWhatCompletesAFlit) {
  cuts(DType::kI8, 32, 8, 3);
  build();
  after->first_cycle = 30;
  send(DType::kI8, 12, 8);
  run();
  // The flits leave in 4, 8 and, for lack of space in a link of depth 2, 31 instead of 12.
  EXPECT_THAT(after->cycles(), ElementsAre(30, 31, 32));
  collect->finish(40);
  EXPECT_EQ(cycles(*collect, UnitState::kBusy), 12u);
  EXPECT_EQ(cycles(*collect, UnitState::kBlocked), 19u);  // 12 to 30
  EXPECT_EQ(blamed(*collect, "after"), 19u);
}

TEST_F(CollectTest, StarvedBetweenTheItemsOfACommand) {
  cuts(DType::kI8, 32, 32, 2);
  build();
  before->push_at(0, item(0, 0, false));
  before->push_at(10, item(0, 1, true));
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 12));
  collect->finish(20);
  EXPECT_EQ(cycles(*collect, UnitState::kStarved), 9u);  // 2 to 10
  EXPECT_EQ(blamed(*collect, "before"), 9u);
  EXPECT_EQ(cycles(*collect, UnitState::kIdle), 9u);
}

TEST_F(CollectTest, PoisonKeepsItsPlace) {
  simulate_values(kSlices);
  cuts(DType::kI16, 12, 4, 1);
  build();
  for (uint64_t i = 0; i < 3; ++i) {
    BlockRef values = block(DType::kI16, 4, [](uint32_t e, uint32_t) { return e; });
    if (i == 1) {
      values->track_validity();
      values->valid_row(2)[1] = 0;
    }
    before->push_at(i, item(0, i, i == 2, std::move(values)));
  }
  run();
  const Block& values = *flit(0).values;
  for (uint32_t e = 0; e < 16; ++e) {
    for (uint32_t s = 0; s < kSlices; ++s) {
      EXPECT_EQ(values.is_valid(e, s), !(e == 6 && s == 1)) << e << " " << s;
    }
  }
}

TEST_F(CollectTest, AStreamThatEndsTooEarlyIsAnInternalError) {
  cuts(DType::kI8, 32, 32, 3);
  build();
  send(DType::kI8, 2, 32);
  EXPECT_THROW(run(), InternalError);
}

// Packets of 40 bytes from the switch: a whole flit, which passes as it is, and one of 8 bytes, the
// rest of which is zeros. One a cycle; then a command that comes from Fetch.
TEST_F(CollectTest, FlitsOfTheSwitchAreFilledUp) {
  simulate_values(kSlices);
  cuts(DType::kI8, 40, 8, 2);
  cuts(DType::kI8, 32, 32, 1);
  build();
  for (uint64_t i = 0; i < 4; ++i) {
    const uint32_t elements = i % 2 == 0 ? 32 : 8;
    StreamItem flit =
        item(0, i, i == 3,
             block(DType::kI8, elements, [](uint32_t e, uint32_t s) { return e + s + 1; }));
    flit.valid = elements;
    from_switch->push_at(i, std::move(flit));
  }
  before->push_at(10,
                  item(1, 0, true, block(DType::kI8, 32, [](uint32_t e, uint32_t) { return e; })));
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(2, 3, 4, 5, 12));
  for (size_t i = 0; i < 4; ++i) {
    const Block& values = *flit(i).values;
    ASSERT_EQ(values.elements, 32u);
    EXPECT_EQ(flit(i).valid, i % 2 == 0 ? 32u : 8u);
    EXPECT_EQ(flit(i).last, i == 3);
    for (uint32_t e = 0; e < 32; ++e) {
      EXPECT_EQ(values.bits(e, 2), i % 2 == 0 || e < 8 ? e + 3 : 0u) << i << " " << e;
      EXPECT_TRUE(values.is_valid(e, 2));
    }
  }
}

}  // namespace
}  // namespace rngdsim
