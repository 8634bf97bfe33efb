// SPDX-License-Identifier: Apache-2.0
// The sub-rings by hand: a slice sends its own number (times a weight a packet), so that what a
// slice puts together says where it came from.
#include "engine/switch_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "support/diagnostic.h"
#include "tests/support/contraction.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;

// Packets of one flit of one i8 element.
SwitchConfig ring_of(uint64_t ring, uint64_t packets, uint64_t round_out,
                     std::vector<std::vector<uint32_t>> snoop, std::vector<uint64_t> source_slot) {
  SwitchConfig config;
  config.dtype = DType::kI8;
  config.ring_size = ring;
  config.packet_elements = config.flit_elements = 1;
  config.packets = packets;
  config.round_out = round_out;
  config.snoop = std::move(snoop);
  config.source_slot = std::move(source_slot);
  config.packet_slot = {0};
  config.flits = packets * round_out;
  return config;
}

class SwitchRingTest : public testing::Test {
 protected:
  BlockRef flit(const std::function<uint32_t(uint32_t slice)>& bits) {
    return test::bits_block(pool_, DType::kI8, 1, [&](uint32_t, uint32_t s) { return bits(s); });
  }
  void begin(const SwitchConfig& config, std::vector<uint8_t> sends = {},
             std::vector<uint8_t> gets = {}) {
    config_ = config;
    ring_.begin(config_, &pool_, std::move(sends), std::move(gets));
  }
  // Enters and goes round.
  void send(const BlockRef& values) {
    ASSERT_TRUE(ring_.can_enter());
    ring_.enter(values);
    while (ring_.moving()) ring_.hop();
  }
  std::vector<uint32_t> next() {
    EXPECT_TRUE(ring_.has_output());
    return row(*ring_.take_output().values);
  }
  static std::vector<uint32_t> row(const Block& block) {
    std::vector<uint32_t> bits;
    for (uint32_t s = 0; s < block.slices; ++s) bits.push_back(block.bits(0, s));
    return bits;
  }

  BlockPool pool_{8};
  SwitchConfig config_;
  SwitchRing ring_;
};

// One hop a slice, to the next higher one: router r takes from r - 1, then r - 3 = r + 1 of a ring
// of four; the rings 0 to 3 and 4 to 7 do not meet.
TEST_F(SwitchRingTest, AFlitPassesEveryRouterOfItsRing) {
  begin(ring_of(4, 2, 1, {{3}, {0}, {1}, {2}}, {0, 0, 0, 0}));
  send(flit([](uint32_t s) { return s; }));
  EXPECT_THAT(next(), ElementsAre(3, 0, 1, 2, 7, 4, 5, 6));
  begin(ring_of(4, 1, 1, {{1}, {2}, {3}, {0}}, {0, 0, 0, 0}));
  send(flit([](uint32_t s) { return s; }));
  EXPECT_THAT(next(), ElementsAre(1, 2, 3, 0, 5, 6, 7, 4));
}

// It takes ring_size - 1 hops until the last router has seen it, and not one less.
TEST_F(SwitchRingTest, NothingLeavesBeforeTheTraversalIsOver) {
  begin(ring_of(4, 1, 1, {{0}, {1}, {2}, {3}}, {0, 0, 0, 0}));
  ring_.enter(flit([](uint32_t s) { return s; }));
  for (int hop = 1; hop <= 3; ++hop) {
    EXPECT_FALSE(ring_.has_output()) << hop;
    ASSERT_TRUE(ring_.moving());
    ring_.hop();
  }
  EXPECT_FALSE(ring_.moving());
  EXPECT_TRUE(ring_.has_output());
}

// broadcast1, slice1 = slice0 = 2: the sources at the router's own slice0, slice1 to Time.
TEST_F(SwitchRingTest, PutsTheSourcesInOrder) {
  begin(ring_of(4, 1, 2, {{0, 2}, {1, 3}, {0, 2}, {1, 3}}, {0, 0, 1, 1}));
  send(flit([](uint32_t s) { return 10 + s; }));
  EXPECT_THAT(next(), ElementsAre(10, 11, 10, 11, 14, 15, 14, 15));
  EXPECT_THAT(next(), ElementsAre(12, 13, 12, 13, 16, 17, 16, 17));
  EXPECT_FALSE(ring_.has_output());
}

// broadcast01 of a ring of two, time0 = 2: [slice0, time0] of each slice become [slice1, time0,
// slice0] with slice1 = 1: packet t of source s is at 2 t + s.
TEST_F(SwitchRingTest, ARoundHoldsSeveralPackets) {
  SwitchConfig config = ring_of(2, 4, 4, {{0, 1}, {0, 1}}, {0, 1});
  config.round_in = 2;
  config.packet_slot = {0, 2};
  begin(config);
  send(flit([](uint32_t s) { return s; }));
  EXPECT_THAT(next(), ElementsAre(0, 0, 2, 2, 4, 4, 6, 6));  // complete with the first packet
  EXPECT_THAT(next(), ElementsAre(1, 1, 3, 3, 5, 5, 7, 7));
  EXPECT_FALSE(ring_.has_output());
  send(flit([](uint32_t s) { return 10 + s; }));
  EXPECT_THAT(next(), ElementsAre(10, 10, 12, 12, 14, 14, 16, 16));
}

// inter_transpose, slice1 = 2, slice0 = 1: router j takes the packets with time1 = j of both
// sources; slice1 goes to Time.
TEST_F(SwitchRingTest, ARouterMayTakeSomePacketsOnly) {
  SwitchConfig config = ring_of(2, 2, 2, {{0, 1}, {0, 1}}, {0, 1});
  config.round_in = 2;
  config.packet_slot = {0, 0};
  config.packet_digit = {0, 1};
  config.router_digit = {0, 1};
  begin(config);
  send(flit([](uint32_t s) { return s; }));
  EXPECT_FALSE(ring_.has_output());
  send(flit([](uint32_t s) { return 10 + s; }));
  EXPECT_THAT(next(), ElementsAre(0, 10, 2, 12, 4, 14, 6, 16));
  EXPECT_THAT(next(), ElementsAre(1, 11, 3, 13, 5, 15, 7, 17));
}

// Two rounds find a place: the third waits until the first has left.
TEST_F(SwitchRingTest, HoldsTwoRounds) {
  begin(ring_of(2, 3, 1, {{1}, {0}}, {0, 0}));
  const BlockRef values = flit([](uint32_t s) { return s; });
  send(values);
  send(values);
  EXPECT_FALSE(ring_.can_enter());
  next();
  EXPECT_TRUE(ring_.can_enter());
}

TEST_F(SwitchRingTest, ATraversalMustBeOver) {
  begin(ring_of(4, 2, 1, {{0}, {1}, {2}, {3}}, {0, 0, 0, 0}));
  ring_.enter(flit([](uint32_t s) { return s; }));
  EXPECT_FALSE(ring_.can_enter());
}

// Poison travels with its element; what a slice without elements sends is poison, whatever the
// flags say, and what comes to a slice without elements is not looked at.
TEST_F(SwitchRingTest, PoisonTravels) {
  const std::vector<uint8_t> sends = {1, 1, 1, 0, 1, 1, 1, 1};
  const std::vector<uint8_t> gets = {1, 1, 1, 1, 1, 1, 1, 0};
  begin(ring_of(4, 1, 1, {{3}, {0}, {1}, {2}}, {0, 0, 0, 0}), sends, gets);
  BlockRef values = flit([](uint32_t s) { return s; });
  values->track_validity();
  values->valid_row(0)[1] = 0;
  values->valid_row(0)[6] = 0;
  send(values);
  const SwitchRing::Flit out = ring_.take_output();
  EXPECT_FALSE(out.values->all_valid);
  std::vector<int> valid;
  for (uint32_t s = 0; s < 8; ++s) valid.push_back(out.values->is_valid(0, s) ? 1 : 0);
  // From 3, 0, 1, 2 and 7, 4, 5, 6.
  EXPECT_THAT(valid, ElementsAre(0, 1, 0, 1, 1, 1, 1, 1));
  EXPECT_THAT(row(*values), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)) << "the item itself stays";
}

TEST_F(SwitchRingTest, WhatNobodyTakesIsPoison) {
  begin(ring_of(2, 1, 1, {{1}, {}}, {0, 0}));
  send(flit([](uint32_t s) { return s; }));
  const SwitchRing::Flit out = ring_.take_output();
  EXPECT_TRUE(out.values->is_valid(0, 0));
  EXPECT_FALSE(out.values->is_valid(0, 1));
  EXPECT_EQ(out.values->bits(0, 0), 1u);
}

// Wider elements move as a whole.
TEST_F(SwitchRingTest, MovesElementsOfEveryWidth) {
  for (const auto& [dtype, bits] :
       {std::pair{DType::kI4, 5u}, {DType::kBF16, 0x4142u}, {DType::kF32, 0x41424344u}}) {
    SwitchConfig config = ring_of(2, 1, 1, {{1}, {0}}, {0, 0});
    config.dtype = dtype;
    begin(config);
    send(test::bits_block(
        pool_, dtype, 1, [value = bits](uint32_t, uint32_t s) { return s % 2 == 0 ? value : 1u; }));
    const SwitchRing::Flit out = ring_.take_output();
    EXPECT_EQ(out.values->bits(0, 0), 1u) << name(dtype);
    EXPECT_EQ(out.values->bits(0, 1), bits) << name(dtype);
  }
}

TEST_F(SwitchRingTest, WithoutValuesItCountsOnly) {
  config_ = ring_of(4, 1, 2, {{0, 2}, {1, 3}, {0, 2}, {1, 3}}, {0, 0, 1, 1});
  ring_.begin(config_, nullptr, {}, {});
  send(BlockRef());
  EXPECT_EQ(ring_.take_output().index, 0u);
  const SwitchRing::Flit last = ring_.take_output();
  EXPECT_EQ(last.index, 1u);
  EXPECT_FALSE(last.values);
}

TEST_F(SwitchRingTest, AConfigurationThatDoesNotFitIsABrokenInvariant) {
  EXPECT_THROW(begin(ring_of(4, 1, 1, {{0}, {1}}, {0, 0, 0, 0})), InternalError);
  EXPECT_THROW(begin(ring_of(16, 1, 1, std::vector<std::vector<uint32_t>>(16),
                             std::vector<uint64_t>(16, 0))),
               InternalError);
}

}  // namespace
}  // namespace rngdsim
