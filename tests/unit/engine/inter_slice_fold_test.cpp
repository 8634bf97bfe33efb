// SPDX-License-Identifier: Apache-2.0
// The examples of the book's page on the inter-slice reducer, with fewer slices.
#include "engine/inter_slice_fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "support/diagnostic.h"
#include "tests/support/contraction.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;

class InterSliceFoldTest : public testing::Test {
 protected:
  InterSliceConfig& reduce(ReduceOp op, DType dtype, std::vector<int64_t> slots) {
    config_ = {};
    config_.op = op;
    config_.dtype = dtype;
    config_.ratio = slots.size();
    config_.slots = std::move(slots);
    return config_;
  }
  // A flit of one element a slice.
  BlockRef flit(DType dtype, const std::function<uint32_t(uint32_t slice)>& bits) {
    return test::bits_block(pool_, dtype, 1, [&](uint32_t, uint32_t s) { return bits(s); });
  }
  // Of a stream of one flit.
  BlockRef only(const BlockRef& values) {
    InterSliceFold fold;
    fold.begin(config_, &pool_);
    auto result = fold.take(0, &*values);
    EXPECT_TRUE(result);
    return result ? std::move(result->values) : BlockRef();
  }
  static std::vector<uint32_t> row(const Block& block) {
    std::vector<uint32_t> bits;
    for (uint32_t s = 0; s < block.slices; ++s) bits.push_back(block.bits(0, s));
    return bits;
  }
  static uint32_t f32(double value) { return from_double(DType::kF32, value); }

  BlockPool pool_{8};
  InterSliceConfig config_;
};

// [W 2, R 4] -> [W 2, X 4]: slices 0 to 3 sum to 6, 4 to 7 to 22, in every position of X.
TEST_F(InterSliceFoldTest, BroadcastsOverAFreshAxis) {
  reduce(ReduceOp::kAdd, DType::kI32, {0, 0, 0, 0});
  const BlockRef sums = only(flit(DType::kI32, [](uint32_t s) { return s; }));
  EXPECT_TRUE(sums->all_valid);
  EXPECT_THAT(row(*sums), ElementsAre(6, 6, 6, 6, 22, 22, 22, 22));
}

// [A 2, R 4] -> [A 2, 1 # 4]: one position of each group holds something.
TEST_F(InterSliceFoldTest, ADummyIsZeroAndPoison) {
  reduce(ReduceOp::kAdd, DType::kI32, {0, -1, -1, -1});
  const BlockRef sums = only(flit(DType::kI32, [](uint32_t s) { return s; }));
  EXPECT_THAT(row(*sums), ElementsAre(6, 0, 0, 0, 22, 0, 0, 0));
  for (uint32_t s = 0; s < 8; ++s) EXPECT_EQ(sums->is_valid(0, s), s % 4 == 0) << s;
}

TEST_F(InterSliceFoldTest, FoldsEachElementOfAFlit) {
  reduce(ReduceOp::kMax, DType::kI32, {0, 0});
  const BlockRef values = test::bits_block(
      pool_, DType::kI32, 8, [](uint32_t e, uint32_t s) { return 10 * e + (s == 5 ? 7 : 0); });
  const BlockRef maxima = only(values);
  ASSERT_EQ(maxima->elements, 8u);
  for (uint32_t e = 0; e < 8; ++e) {
    EXPECT_EQ(maxima->bits(e, 4), 10 * e + 7);
    EXPECT_EQ(maxima->bits(e, 3), 10 * e);
  }
}

// [S 2, V 4, U 2] -> Slice [.., V], Time [S, U]: results (0, 0) and (0, 1) are complete with flits
// 6 and 7, (1, 0) and (1, 1) with 14 and 15. Position v of a group takes flit (s, v, u).
TEST_F(InterSliceFoldTest, PromotesAnAxisFromTime) {
  InterSliceConfig& config = reduce(ReduceOp::kAdd, DType::kI32, {0, 1, 2, 3});
  config.loops = {{2, 2, 0}, {4, 0, 1}, {2, 1, 0}};
  config.flits = 16;
  config.results = 4;
  InterSliceFold fold;
  fold.begin(config, &pool_);
  std::vector<uint64_t> completed, positions;
  for (uint64_t t = 0; t < 16; ++t) {
    const bool completes = fold.completes(t);
    const BlockRef values =
        flit(DType::kI32, [&](uint32_t s) { return static_cast<uint32_t>(t) + 100 * (s / 4); });
    const auto result = fold.take(t, &*values);
    EXPECT_EQ(result.has_value(), completes) << t;
    if (!result) continue;
    completed.push_back(t);
    positions.push_back(result->position);
    const auto s = static_cast<uint32_t>(t / 8);
    const auto u = static_cast<uint32_t>(t % 2);
    for (uint32_t v = 0; v < 4; ++v) {
      // Four slices of flit 8 s + 2 v + u.
      EXPECT_EQ(result->values->bits(0, v), 4 * (8 * s + 2 * v + u));
      EXPECT_EQ(result->values->bits(0, 4 + v), 4 * (8 * s + 2 * v + u) + 400);
    }
    EXPECT_TRUE(result->values->all_valid);
  }
  EXPECT_THAT(completed, ElementsAre(6, 7, 14, 15));
  EXPECT_THAT(positions, ElementsAre(0, 1, 2, 3));
}

// Time V 2 goes to [V 2, 1 # 2]: a promoted axis beside a dummy.
TEST_F(InterSliceFoldTest, KindsOfSlotsMix) {
  InterSliceConfig& config = reduce(ReduceOp::kAdd, DType::kI32, {0, -1, 1, -1});
  config.loops = {{2, 0, 1}};
  config.flits = 2;
  config.results = 1;
  InterSliceFold fold;
  fold.begin(config, &pool_);
  EXPECT_FALSE(fold.take(0, &*flit(DType::kI32, [](uint32_t) { return 1; })));
  const auto result = fold.take(1, &*flit(DType::kI32, [](uint32_t) { return 10; }));
  ASSERT_TRUE(result);
  EXPECT_THAT(row(*result->values), ElementsAre(4, 0, 40, 0, 4, 0, 40, 0));
  for (uint32_t s = 0; s < 8; ++s) EXPECT_EQ(result->values->is_valid(0, s), s % 2 == 0) << s;
}

TEST_F(InterSliceFoldTest, APoisonedInputPoisonsItsGroupOnly) {
  reduce(ReduceOp::kAdd, DType::kI32, {0, 0, 0, 0});
  const BlockRef values = flit(DType::kI32, [](uint32_t s) { return s; });
  test::poison(*values, 0, 6);
  const BlockRef sums = only(values);
  for (uint32_t s = 0; s < 8; ++s) EXPECT_EQ(sums->is_valid(0, s), s < 4) << s;
}

// 2^24 + 1 + 1: ascending, each 1 is lost; from the other end they would count.
TEST_F(InterSliceFoldTest, FloatsAreAddedFromPositionZeroOn) {
  reduce(ReduceOp::kAdd, DType::kF32, {0, 0, 0, 0});
  const BlockRef sums = only(flit(DType::kF32, [](uint32_t s) {
    const double values[] = {16777216, 1, 1, 0, 0, 1, 1, 16777216};
    return f32(values[s]);
  }));
  EXPECT_EQ(sums->bits(0, 0), f32(16777216));
  EXPECT_EQ(sums->bits(0, 4), f32(16777218));
}

struct OpCase {
  ReduceOp op;
  DType dtype;
  double a, b, result;
};
class InterSliceOps : public InterSliceFoldTest, public testing::WithParamInterface<OpCase> {};

TEST_P(InterSliceOps, OfTwoSlices) {
  const OpCase& c = GetParam();
  reduce(c.op, c.dtype, {0, 0});
  const auto code = [&](double value) { return from_double(c.dtype, value); };
  const BlockRef result =
      only(flit(c.dtype, [&](uint32_t s) { return code(s % 2 == 0 ? c.a : c.b); }));
  EXPECT_EQ(result->bits(0, 1), code(c.result));
}

constexpr double kMax = 2147483647, kMin = -2147483648.0;
INSTANTIATE_TEST_SUITE_P(All, InterSliceOps,
                         testing::Values(OpCase{ReduceOp::kAdd, DType::kI32, kMax, 1,
                                                kMin},  // wraps
                                         OpCase{ReduceOp::kAddSat, DType::kI32, kMax, 1, kMax},
                                         OpCase{ReduceOp::kMax, DType::kI32, -3, 2, 2},
                                         OpCase{ReduceOp::kMin, DType::kI32, -3, 2, -3},
                                         OpCase{ReduceOp::kAdd, DType::kF32, 1.5, -4, -2.5},
                                         OpCase{ReduceOp::kMax, DType::kF32, -3.5, -2.5, -2.5},
                                         OpCase{ReduceOp::kMin, DType::kF32, -3.5, -2.5, -3.5},
                                         OpCase{ReduceOp::kMul, DType::kF32, -3.5, 2, -7}));

TEST_F(InterSliceFoldTest, WithoutValuesOnlyThePlacesAreKnown) {
  reduce(ReduceOp::kAdd, DType::kI32, {0, 1});
  config_.loops = {{2, 0, 1}};
  config_.flits = 2;
  InterSliceFold fold;
  fold.begin(config_, nullptr);
  EXPECT_FALSE(fold.take(0, nullptr));
  const auto result = fold.take(1, nullptr);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->values);
}

TEST_F(InterSliceFoldTest, BrokenGroupsAreInternalErrors) {
  InterSliceFold fold;
  reduce(ReduceOp::kAdd, DType::kI32, std::vector<int64_t>(16, 0));
  EXPECT_THROW(fold.begin(config_, &pool_), InternalError);  // 8 slices
  reduce(ReduceOp::kAdd, DType::kI32, {0, 0});
  config_.ratio = 4;
  EXPECT_THROW(fold.begin(config_, &pool_), InternalError);
}

}  // namespace
}  // namespace rngdsim
