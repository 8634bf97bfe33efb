// SPDX-License-Identifier: Apache-2.0
// The Switch Engine. Every link takes one cycle: what a driver pushes in c comes in in c + 1, and
// what the unit pushes in c arrives in c + 1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "engine/switch_engine.h"
#include "support/diagnostic.h"
#include "tests/support/stream_fixture.h"

namespace rngdsim {
namespace {

using test::Collector;
using test::Driver;
using testing::ElementsAre;
using testing::IsEmpty;

class SwitchEngineTest : public test::StreamTest {
 protected:
  // Packets of `flits` flits of one i32 element each; every router takes the source `from` places
  // before it, or (0) all of them.
  SwitchConfig& exchange(uint64_t ring, uint64_t packets, uint64_t from, uint64_t flits = 1) {
    Command& command = add_command();
    context_.source_live.emplace_back();
    SwitchConfig& config = command.switching.emplace();
    config.dtype = DType::kI32;
    config.ring_size = ring;
    config.packet_elements = config.flits_per_packet = flits;
    config.flit_elements = 1;
    config.packets = packets;
    config.round_out = from == 0 ? ring : 1;
    config.packet_slot = {0};
    for (uint32_t router = 0; router < ring; ++router) {
      config.source_slot.push_back(from == 0 ? router : 0);
      config.snoop.emplace_back();
      for (uint32_t source = 0; source < ring; ++source) {
        if (from == 0 || (source + from) % ring == router) config.snoop.back().push_back(source);
      }
    }
    config.flits = packets * flits * config.round_out;
    return config;
  }
  void build(uint64_t hop_cycles = 1, uint64_t latency = 0) {
    unit = std::make_unique<SwitchEngine>("unit", *clock_, context_,
                                          SwitchEngine::Parameters{hop_cycles, latency});
    main = std::make_unique<Driver<StreamItem>>("main", *clock_, context_);
    sub = std::make_unique<Driver<StreamItem>>("sub", *clock_, context_);
    ends = std::make_unique<Collector<StreamItem>>("ends", *clock_, context_);
    sub_ends = std::make_unique<Collector<StreamItem>>("sub_ends", *clock_, context_);
    connect(*main, main->out, *unit, unit->in);
    connect(*sub, sub->out, *unit, unit->sub_in);
    connect(*unit, unit->out, *ends, ends->in);
    connect(*unit, unit->sub_out, *sub_ends, sub_ends->in);
  }
  // A packet a cycle from cycle `begin` on; element e of packet i of slice s is 100 (i n + e) + s.
  void send(Driver<StreamItem>& from, uint64_t packets, Cycle begin = 0, CommandId id = 0) {
    for (uint64_t i = 0; i < packets; ++i) {
      BlockRef values;
      if (context_.values()) {
        const auto n = static_cast<uint32_t>(program_.commands[id].switching->packet_elements);
        values = pool_->allocate(DType::kI32, n);
        for (uint32_t e = 0; e < n; ++e) {
          for (uint32_t s = 0; s < values->slices; ++s) {
            values->set_bits(e, s, static_cast<uint32_t>(100 * (i * n + e) + s));
          }
        }
      }
      from.push_at(begin + i, item(id, i, i + 1 == packets, values));
    }
  }

  std::unique_ptr<Driver<StreamItem>> main, sub;
  std::unique_ptr<SwitchEngine> unit;
  std::unique_ptr<Collector<StreamItem>> ends, sub_ends;
};

// Ring, hop_cycles, latency, packets.
class SwitchPermutation
    : public SwitchEngineTest,
      public testing::WithParamInterface<std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>> {};

// Flit t enters in 1 + t ring hop and has been round (ring - 1) hop later; it arrives `latency` and
// a link's cycle after that, not earlier and not later.
TEST_P(SwitchPermutation, AFlitLeavesWhenItHasBeenRound) {
  const auto [ring, hop, latency, packets] = GetParam();
  simulate_values(static_cast<uint32_t>(ring));
  exchange(ring, packets, 1);
  build(hop, latency);
  const Cycle end = packets * ring * hop + latency + 4;
  keep_awake(*unit, end);
  keep_awake(*ends, end);
  send(*main, packets);
  run();
  ASSERT_EQ(ends->received.size(), packets);
  for (uint64_t t = 0; t < packets; ++t) {
    const auto& [cycle, flit] = ends->received[t];
    EXPECT_EQ(cycle, 1 + t * ring * hop + (ring - 1) * hop + latency + 1) << t;
    EXPECT_EQ(flit.index, t);
    EXPECT_EQ(flit.last, t + 1 == packets);
    // From the slice before it.
    EXPECT_EQ(flit.values->bits(0, 0), 100 * t + ring - 1);
  }
  EXPECT_EQ(unit->counters().items_in, packets);
  EXPECT_EQ(unit->counters().items_out, packets);
}

INSTANTIATE_TEST_SUITE_P(Rings, SwitchPermutation,
                         testing::Combine(testing::Values(1, 2, 8, 256), testing::Values(1, 3),
                                          testing::Values(0, 1, 20), testing::Values(1, 5)),
                         [](const auto& info) {
                           return "Ring" + std::to_string(std::get<0>(info.param)) + "Hop" +
                                  std::to_string(std::get<1>(info.param)) + "Latency" +
                                  std::to_string(std::get<2>(info.param)) + "Packets" +
                                  std::to_string(std::get<3>(info.param));
                         });

// The same without anybody else who wakes the unit.
TEST_F(SwitchEngineTest, NobodyNeedsToWakeIt) {
  exchange(16, 3, 1);
  build(2, 7);
  send(*main, 3);
  run();
  EXPECT_THAT(ends->cycles(), ElementsAre(1 + 15 * 2 + 7 + 1, 1 + 31 * 2 + 8, 1 + 47 * 2 + 8));
}

// All four flits of each round leave in the four cycles of the next: from the end of the first
// traversal in 4, one a cycle without a gap. Ring 4 x Time 5 = 20 cycles, and the three that are
// left when the last traversal ends.
TEST_F(SwitchEngineTest, ABroadcastLeavesWhileTheNextRoundIsSent) {
  simulate_values(4);
  exchange(4, 5, 0);
  build();
  send(*main, 5);
  run();
  EXPECT_EQ(ends->cycles(), consecutive(5, 20));
  for (uint32_t i = 0; i < 20; ++i) {
    for (uint32_t s = 0; s < 4; ++s) {
      EXPECT_EQ(ends->received[i].second.values->bits(0, s), 100 * (i / 4) + i % 4) << i;
    }
  }
}

// Packets of three flits: a traversal a flit. The packet of source 0 leaves with its last flit's
// traversal, that of source 1 behind it.
TEST_F(SwitchEngineTest, APacketKeepsItsFlitsTogether) {
  simulate_values(2);
  exchange(2, 1, 0, 3);
  build();
  send(*main, 1);
  run();
  // Traversals end in 2, 4 and 6; the flits of source 1 follow in 7 to 9.
  EXPECT_THAT(ends->cycles(), ElementsAre(3, 5, 7, 8, 9, 10));
  std::vector<uint32_t> values;
  for (const auto& entry : ends->received) values.push_back(entry.second.values->bits(0, 0));
  EXPECT_THAT(values, ElementsAre(0, 100, 200, 1, 101, 201));
}

// Accesses of 8 bytes: a flit of four enters with the last of them, in 4, 8 and 12.
TEST_F(SwitchEngineTest, PutsFlitsTogetherFromAccesses) {
  simulate_values(1);
  SwitchConfig& config = exchange(1, 3, 1);
  config.packet_elements = config.flit_elements = 8;
  program_.commands[0].fetch.emplace();
  program_.commands[0].fetch->access_elements = 2;
  build();
  for (uint32_t i = 0; i < 12; ++i) {
    BlockRef values = pool_->allocate(DType::kI32, 2);
    values->set_bits(0, 0, 2 * i);
    values->set_bits(1, 0, 2 * i + 1);
    main->push_at(i, item(0, i, i == 11, values));
  }
  run();
  EXPECT_THAT(ends->cycles(), ElementsAre(5, 9, 13));
  for (uint32_t i = 0; i < 24; ++i) {
    EXPECT_EQ(ends->received[i / 8].second.values->bits(i % 8, 0), i);
  }
}

// 5 elements of a packet in flits of 4: the second holds one.
TEST_F(SwitchEngineTest, TheLastFlitOfAPacketMayBeShort) {
  simulate_values(2);
  SwitchConfig& config = exchange(2, 1, 1, 2);
  config.packet_elements = 5;
  config.flit_elements = 4;
  build();
  send(*main, 1);
  run();
  ASSERT_EQ(ends->received.size(), 2u);
  EXPECT_EQ(ends->received[0].second.valid, 4u);
  EXPECT_EQ(ends->received[1].second.valid, 1u);
  EXPECT_EQ(ends->received[1].second.values->elements, 1u);
  EXPECT_EQ(ends->received[1].second.values->bits(0, 0), 401u);
}

// In in 1, out in 8, on its way between: starved by its own ring, not by those who deliver.
TEST_F(SwitchEngineTest, IsStarvedByItsOwnRing) {
  exchange(8, 1, 1);
  build();
  send(*main, 1);
  run();
  unit->finish(20);
  EXPECT_EQ(cycles(*unit, UnitState::kBusy), 2u);
  EXPECT_EQ(cycles(*unit, UnitState::kStarved), 6u);
  EXPECT_EQ(blamed(*unit, unit->unit_name()), 6u);
  EXPECT_EQ(cycles(*unit, UnitState::kIdle), 12u);
}

// The second packet comes in in 41; the first left in 2. The unit waits for the driver from 3 on.
TEST_F(SwitchEngineTest, IsStarvedByWhoDelivers) {
  exchange(2, 2, 1);
  build();
  main->push_at(0, item(0, 0, false));
  main->push_at(40, item(0, 1, true));
  run();
  unit->finish(50);
  EXPECT_EQ(blamed(*unit, "main"), 38u);  // 3 to 40
  EXPECT_THAT(ends->cycles(), ElementsAre(3, 43));
}

// A ring of 4. Flits 0 and 1 leave in 4 and 8 and fill the link; flit 2 has been round in 12 and
// stays, flit 3 enters in 13 and is round in 16. Two rounds are there: flit 4, which came in in 14,
// waits. The first place of the link is free for 31: flit 2 leaves, flit 3 in 32, where flit 4
// enters; it is round in 35.
TEST_F(SwitchEngineTest, WhatCannotLeaveHoldsTheRing) {
  exchange(4, 6, 1);
  build();
  ends->first_cycle = 30;
  send(*main, 6);
  run();
  unit->finish(60);
  EXPECT_THAT(ends->cycles(), ElementsAre(30, 31, 32, 33, 36, 40));
  EXPECT_EQ(cycles(*unit, UnitState::kBlocked), 18u);  // 12 to 30 without 14
  EXPECT_EQ(blamed(*unit, "ends"), 18u);
}

// Flits wait outside: one is put together, two are on the link.
TEST_F(SwitchEngineTest, ALongTraversalHoldsWhoDelivers) {
  exchange(16, 6, 1);
  build();
  send(*main, 6);
  run();
  // Flit 1 is taken in 2 and waits until 17, flit 2 is taken in 18, ...
  EXPECT_THAT(main->pushed, ElementsAre(0, 1, 2, 3, 19, 35));
}

TEST_F(SwitchEngineTest, SubCommandsHaveAWayOfTheirOwn) {
  exchange(2, 1, 1);
  exchange(2, 1, 1);
  program_.commands[1].context = Context::kSub;
  build();
  send(*main, 1, 0, 0);
  send(*sub, 1, 10, 1);
  run();
  EXPECT_THAT(ends->cycles(), ElementsAre(3));
  EXPECT_THAT(sub_ends->cycles(), ElementsAre(13));
}

TEST_F(SwitchEngineTest, TwoCommandsAtOnceAreABrokenInvariant) {
  exchange(8, 1, 1);
  exchange(8, 1, 1);
  program_.commands[1].context = Context::kSub;
  build();
  send(*main, 1, 0, 0);
  send(*sub, 1, 3, 1);
  EXPECT_THROW(run(), InternalError);
}

}  // namespace
}  // namespace rngdsim
