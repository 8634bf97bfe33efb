// SPDX-License-Identifier: Apache-2.0
#include "engine/vector_reducer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace rngdsim {
namespace {

using ::testing::ElementsAre;

uint32_t f32(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
uint32_t i32(int64_t value) { return static_cast<uint32_t>(static_cast<int32_t>(value)); }

TEST(ReducePair, IntegersSaturate) {
  const auto add = [](int64_t a, int64_t b) {
    return reduce_pair(ReduceOp::kAddSat, DType::kI32, i32(a), i32(b));
  };
  EXPECT_EQ(add(3, -5), i32(-2));
  EXPECT_EQ(add(2147483647, 1), i32(2147483647));
  EXPECT_EQ(add(2147483647, 2147483647), i32(2147483647));
  EXPECT_EQ(add(-2147483648LL, -1), i32(-2147483648LL));
  EXPECT_EQ(add(2147483647, -2147483648LL), i32(-1));
}

// Sums of the inter-slice reducer wrap; its f32 has products.
TEST(ReducePair, SumsWrapAndFloatsMultiply) {
  EXPECT_EQ(reduce_pair(ReduceOp::kAdd, DType::kI32, i32(2147483647), i32(1)), i32(-2147483648LL));
  EXPECT_EQ(reduce_pair(ReduceOp::kMul, DType::kF32, f32(-2.0f), f32(1.5f)), f32(-3.0f));
}

TEST(ReducePair, IntegerExtremesAreSigned) {
  EXPECT_EQ(reduce_pair(ReduceOp::kMax, DType::kI32, i32(-1), i32(1)), i32(1));
  EXPECT_EQ(reduce_pair(ReduceOp::kMin, DType::kI32, i32(-1), i32(1)), i32(-1));
  EXPECT_EQ(reduce_pair(ReduceOp::kMin, DType::kI32, i32(-2147483648LL), i32(0)),
            i32(-2147483648LL));
}

TEST(ReducePair, Floats) {
  EXPECT_EQ(reduce_pair(ReduceOp::kAdd, DType::kF32, f32(1.5f), f32(-0.25f)), f32(1.25f));
  EXPECT_EQ(reduce_pair(ReduceOp::kMax, DType::kF32, f32(-2.0f), f32(-3.0f)), f32(-2.0f));
  EXPECT_EQ(reduce_pair(ReduceOp::kMin, DType::kF32, f32(-2.0f), f32(-3.0f)), f32(-3.0f));
  EXPECT_EQ(reduce_pair(ReduceOp::kMax, DType::kF32, 0x7f800000u, f32(1.0f)), 0x7f800000u);
  EXPECT_EQ(reduce_pair(ReduceOp::kMin, DType::kF32, 0xff800000u, f32(1.0f)), 0xff800000u);
}

// Our choice: a NaN wins and is the canonical one; +0 is above -0.
TEST(ReducePair, NanAndZerosOfFloats) {
  for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
    EXPECT_EQ(reduce_pair(op, DType::kF32, 0x7fc12345u, f32(1.0f)), 0x7fc00000u);
    EXPECT_EQ(reduce_pair(op, DType::kF32, f32(1.0f), 0xffc00000u), 0x7fc00000u);
  }
  for (const auto& [a, b] : {std::pair{0u, 0x80000000u}, {0x80000000u, 0u}}) {
    EXPECT_EQ(reduce_pair(ReduceOp::kMax, DType::kF32, a, b), 0u);
    EXPECT_EQ(reduce_pair(ReduceOp::kMin, DType::kF32, a, b), 0x80000000u);
  }
}

class VectorReducerTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kSlices = 2;

  void begin(ReduceOp op, bool in_packet, uint64_t slots = 1) {
    VectorConfig::Reduce config;
    config.op = op;
    config.in_packet = in_packet;
    config.time.capacity = slots;
    reducer_.begin(config, DType::kI32, kSlices);
  }
  // Element e of slice s is values[e] + 100 s; `poison`: an element without a value in slice 0.
  void take(const std::vector<int>& values, const std::vector<uint8_t>& counts, bool first,
            int poison = -1, uint32_t slot = 0) {
    const BlockRef step = pool_.allocate(DType::kI32, 4);
    for (uint32_t e = 0; e < 4; ++e) {
      for (uint32_t s = 0; s < kSlices; ++s) {
        step->set_bits(e, s, i32(values[e] + 100 * static_cast<int>(s)));
      }
    }
    if (poison >= 0) {
      step->track_validity();
      step->valid_row(static_cast<uint32_t>(poison))[0] = 0;
    }
    reducer_.take(slot, first, *step, counts);
  }
  // Of slice s; -1: poison.
  std::vector<int> result(uint32_t s, uint32_t slot = 0) {
    const BlockRef block = reducer_.result(slot, pool_);
    std::vector<int> values;
    for (uint32_t e = 0; e < 4; ++e) {
      values.push_back(block->is_valid(e, s) ? static_cast<int>(block->bits(e, s)) : -1);
    }
    return values;
  }

  BlockPool pool_{kSlices};
  VectorReducer reducer_;
};

TEST_F(VectorReducerTest, ElementsBeyondTheCountTakeNoPart) {
  begin(ReduceOp::kAddSat, false);
  take({1, 2, 3, 4}, {4, 2}, true);
  take({10, 20, 30, 40}, {1, 3}, false);
  EXPECT_THAT(result(0), ElementsAre(11, 2, 3, 4));
  EXPECT_THAT(result(1), ElementsAre(211, 222, 130, -1));  // the last never took part
}

TEST_F(VectorReducerTest, APacketIsReducedToItsFirstElement) {
  begin(ReduceOp::kMax, true);
  take({5, 9, 7, 50}, {3, 0}, true);
  take({8, 1, 1, 1}, {1, 2}, false);
  EXPECT_THAT(result(0), ElementsAre(9, -1, -1, -1));
  EXPECT_THAT(result(1), ElementsAre(108, -1, -1, -1));
}

TEST_F(VectorReducerTest, PoisonCountsWhereItTakesPart) {
  begin(ReduceOp::kMin, false);
  take({1, 2, 3, 4}, {3, 4}, true, 3);
  EXPECT_THAT(result(0), ElementsAre(1, 2, 3, -1));  // masked
  take({1, 2, 3, 4}, {4, 4}, false, 1);
  EXPECT_THAT(result(0), ElementsAre(1, -1, 3, 4));
  EXPECT_THAT(result(1), ElementsAre(101, 102, 103, 104));
}

TEST_F(VectorReducerTest, SlotsAreApartAndBeginAnew) {
  begin(ReduceOp::kAddSat, false, 2);
  take({1, 1, 1, 1}, {4, 4}, true, -1, 0);
  take({7, 7, 7, 7}, {4, 4}, true, -1, 1);
  take({1, 1, 1, 1}, {4, 4}, false, -1, 0);
  EXPECT_THAT(result(0, 0), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(result(0, 1), ElementsAre(7, 7, 7, 7));
  take({3, 3, 3, 3}, {4, 4}, true, -1, 0);
  EXPECT_THAT(result(0, 0), ElementsAre(3, 3, 3, 3));
}

}  // namespace
}  // namespace rngdsim
