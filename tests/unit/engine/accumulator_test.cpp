// SPDX-License-Identifier: Apache-2.0
#include "engine/accumulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/diagnostic.h"
#include "tests/support/contraction.h"

namespace rngdsim {
namespace {

using test::value_at;
using test::value_block;

// "slot" of every packet, with "<" before a first and ">" after a last one.
std::string walk(const TimeReduceConfig& config) {
  std::string text;
  for (SlotPlan plan(config); !plan.done(); plan.next()) {
    const SlotPlan::Step& step = plan.step();
    text += std::string(step.first ? "<" : "") + std::to_string(step.slot) +
            (step.last ? ">" : "") + " ";
  }
  return text;
}

TEST(SlotPlanTest, ReducedLoopOutsideAKeptOne) {
  // Time `B / 16, A % 8` keeping `A % 8`, B = 32: 16 packets, 8 slots of the 32 that one lane has.
  const TimeReduceConfig config{{{2, true}, {8, false}}, 8, 32, 8};
  EXPECT_EQ(SlotPlan(config).slots(), 8u);
  EXPECT_EQ(walk(config), "<0 <1 <2 <3 <4 <5 <6 <7 0> 1> 2> 3> 4> 5> 6> 7> ");
}

TEST(SlotPlanTest, NothingReducedRotatesThroughTheSlots) {
  EXPECT_EQ(walk({{{5, false}}, 1, 4, 5}), "<0> <1> <2> <3> <0> ");
  EXPECT_EQ(walk({{}, 1, 4, 1}), "<0> ");
}

TEST(SlotPlanTest, NothingSurvivesInside) {
  EXPECT_EQ(walk({{{2, false}, {3, true}}, 1, 2, 2}), "<0 0 0> <1 1 1> ");
}

TEST(SlotPlanTest, GroupsTakeTheNextSlots) {
  // Two slots a group of four packets, three slots in all.
  EXPECT_EQ(walk({{{2, false}, {2, true}, {2, false}}, 2, 3, 4}), "<0 <1 0> 1> <2 <0 2> 0> ");
}

TEST(SlotPlanTest, ReducedLoopsOnBothSidesOfAKeptOne) {
  EXPECT_EQ(walk({{{2, true}, {2, false}, {2, true}}, 2, 4, 2}), "<0 0 <1 1 0 0> 1 1> ");
}

TEST(SlotPlanTest, SlotsCountKeptPositionsInsideTheOutermostReducedLoop) {
  EXPECT_EQ(
      SlotPlan({{{7, false}, {2, true}, {3, false}, {5, true}, {4, false}}, 12, 32, 84}).slots(),
      12u);
}

class AccumulatorTest : public testing::Test {
 protected:
  BlockRef packet(DType dtype, double value) {
    return value_block(pool_, dtype, 2, [&](uint32_t e, uint32_t s) { return value + e + 10 * s; });
  }
  BlockPool pool_{2};
  Accumulator slots_;
};

TEST_F(AccumulatorTest, SumsInTheSlotOfEachPacket) {
  slots_.resize(2);
  slots_.overwrite(0, packet(DType::kF32, 1));
  slots_.overwrite(1, packet(DType::kF32, 100));
  slots_.add(0, packet(DType::kF32, 0.5), 2);
  EXPECT_EQ(value_at(*slots_.sum(0), 0, 0), 1.5);
  EXPECT_EQ(value_at(*slots_.sum(0), 1, 1), 12 + 11.5);
  EXPECT_EQ(value_at(*slots_.sum(1), 0, 0), 100);
}

TEST_F(AccumulatorTest, IntegersWrap) {
  slots_.resize(1);
  const auto most = [&](double value) {
    return value_block(pool_, DType::kI32, 1, [&](uint32_t, uint32_t) { return value; });
  };
  slots_.overwrite(0, most(2147483647));
  slots_.add(0, most(1), 2);
  EXPECT_EQ(value_at(*slots_.sum(0), 0, 0), -2147483648.0);
}

TEST_F(AccumulatorTest, FloatsFlushSubnormalSums) {
  slots_.resize(1);
  const auto block = [&](uint32_t bits) {
    return test::bits_block(pool_, DType::kF32, 1, [&](uint32_t, uint32_t) { return bits; });
  };
  slots_.overwrite(0, block(0x00c00000));  // 1.5 * 2^-126
  slots_.add(0, block(0x80800000), 2);     // - 2^-126
  EXPECT_EQ(slots_.sum(0)->bits(0, 0), 0u);
}

TEST_F(AccumulatorTest, ASumIsValidWhereAllPacketsWere) {
  slots_.resize(1);
  BlockRef first = packet(DType::kF32, 1), second = packet(DType::kF32, 1);
  test::poison(*first, 0, 0);
  test::poison(*second, 1, 1);
  slots_.overwrite(0, first);
  slots_.add(0, second, 2);
  EXPECT_FALSE(slots_.sum(0)->is_valid(0, 0));
  EXPECT_TRUE(slots_.sum(0)->is_valid(0, 1));
  EXPECT_TRUE(slots_.sum(0)->is_valid(1, 0));
  EXPECT_FALSE(slots_.sum(0)->is_valid(1, 1));
}

TEST_F(AccumulatorTest, AnOccupiedSlotIsNotOverwritten) {
  slots_.resize(2);
  EXPECT_TRUE(slots_.empty());
  slots_.overwrite(1, {});
  EXPECT_TRUE(slots_.occupied(1));
  EXPECT_FALSE(slots_.occupied(0));
  EXPECT_FALSE(slots_.empty());
  EXPECT_THROW(slots_.overwrite(1, {}), InternalError);
  EXPECT_THROW(slots_.add(0, {}, 0), InternalError);
  EXPECT_THROW(slots_.release(0), InternalError);
  EXPECT_THROW(slots_.resize(3), InternalError);
  slots_.release(1);
  EXPECT_TRUE(slots_.empty());
  slots_.overwrite(1, {});
}

}  // namespace
}  // namespace rngdsim
