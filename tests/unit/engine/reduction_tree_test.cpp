// SPDX-License-Identifier: Apache-2.0
#include "engine/reduction_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/contraction.h"

namespace rngdsim {
namespace {

using test::outer_config;
using test::poison;
using test::row_elements;
using test::trf_tensor;
using test::value_at;

using Value = std::function<double(uint64_t element, uint32_t slice)>;
constexpr uint32_t kSlices = 3;

// One packet against one TRF tensor.
class ReductionTreeTest : public testing::Test {
 protected:
  // The packet's element e of slice s is stream(e, s).
  void packet(const OuterConfig& outer, const Value& stream) {
    const uint64_t elements = outer.packet_elements / outer.pack_size;
    for (uint64_t f = 0; f < outer.pack_size; ++f) {
      flits_[f] =
          test::value_block(pool_, outer.stream_dtype, elements,
                            [&](uint32_t e, uint32_t s) { return stream(f * elements + e, s); });
    }
  }
  // Lane l of a TRF tensor of `rows` rows holds weight(l, element, s).
  void weights(
      DType dtype, uint64_t lanes, uint64_t rows,
      const std::function<double(uint64_t lane, uint64_t element, uint32_t slice)>& weight) {
    program_.tensors.push_back(trf_tensor("w", dtype, lanes, rows));
    const uint64_t elements = row_elements(dtype);
    for (uint64_t l = 0; l < lanes; ++l) {
      for (uint64_t g = 0; g < rows; ++g) {
        storage_.store(tensor(), l, g,
                       test::value_block(pool_, dtype, elements, [&](uint32_t e, uint32_t s) {
                         return weight(l, g * elements + e, s);
                       }));
      }
    }
  }
  TensorId tensor() const { return static_cast<TensorId>(program_.tensors.size() - 1); }
  Block& reduce(const OuterConfig& outer, uint64_t depth, uint64_t columns, uint64_t first = 0) {
    out_ = pool_.allocate(outer.accumulator, static_cast<uint32_t>(outer.lanes * columns));
    const auto operand = storage_.read(tensor(), first, outer.read_elements, outer.lanes);
    ReductionTree().reduce(outer, {depth, columns, kSlices, nullptr}, flits_, *operand, *out_);
    return *out_;
  }
  // A bf16 packet of 32 elements, all others zero, reduced to one column.
  double reduce_products(const std::vector<double>& stream, const std::vector<double>& weight) {
    const OuterConfig outer = outer_config(DType::kBF16, DType::kBF16, 2, 1);
    packet(outer, [&](uint64_t e, uint32_t) { return e < stream.size() ? stream[e] : 0; });
    weights(DType::kBF16, 1, 2,
            [&](uint64_t, uint64_t e, uint32_t) { return e < weight.size() ? weight[e] : 0; });
    return value_at(reduce(outer, 5, 1), 0, 1);
  }

  Program program_;
  BlockPool pool_{kSlices};
  const std::vector<std::vector<uint8_t>> live_;
  TrfStorage storage_{program_, &pool_, live_, 32};
  std::array<BlockRef, 2> flits_;
  BlockRef out_;
};

// A full packet has log2 of its elements as its deepest tree: i4 7, i8 and f8 6, bf16 5.
struct DepthCase {
  DType dtype;
  uint64_t depth;
};
class FullPacketTest : public ReductionTreeTest, public testing::WithParamInterface<DepthCase> {};

TEST_P(FullPacketTest, SumsToOneColumnALane) {
  const auto [dtype, depth] = GetParam();
  const OuterConfig outer = outer_config(dtype, dtype, 2, 8);
  ASSERT_EQ(outer.packet_elements, uint64_t{1} << depth);
  // Ones times 1 (even slices) or 2, in lane l only the first l + 1 weights.
  packet(outer, [](uint64_t, uint32_t s) { return 1.0 + s % 2; });
  weights(dtype, 8, 2, [](uint64_t l, uint64_t e, uint32_t) { return e <= l ? 1 : 0; });
  const Block& out = reduce(outer, depth, 1);
  for (uint32_t l = 0; l < 8; ++l) {
    EXPECT_EQ(value_at(out, l, 0), l + 1);
    EXPECT_EQ(value_at(out, l, 1), 2 * (l + 1));
  }
  EXPECT_TRUE(out.all_valid);
}

INSTANTIATE_TEST_SUITE_P(Types, FullPacketTest,
                         testing::Values(DepthCase{DType::kI4, 7}, DepthCase{DType::kI8, 6},
                                         DepthCase{DType::kF8E4M3, 6}, DepthCase{DType::kF8E5M2, 6},
                                         DepthCase{DType::kBF16, 5}));

TEST_F(ReductionTreeTest, SumsNeighboursAndKeepsColumnsInOrder) {
  const OuterConfig outer = outer_config(DType::kI8, DType::kI8, 1, 2);
  packet(outer, [](uint64_t e, uint32_t) { return static_cast<double>(e); });
  weights(DType::kI8, 2, 1, [](uint64_t l, uint64_t, uint32_t) { return l == 0 ? 1 : -1; });
  const Block& out = reduce(outer, 2, 8);
  for (uint32_t c = 0; c < 8; ++c) {
    // 4c + (4c + 1) + (4c + 2) + (4c + 3)
    EXPECT_EQ(value_at(out, c, 2), 16 * c + 6);
    EXPECT_EQ(value_at(out, 8 + c, 2), -(16.0 * c + 6));
  }
}

TEST_F(ReductionTreeTest, OuterPaddingIsDropped) {
  // i4, depth 1: 64 sums of which the innermost 32 survive.
  const OuterConfig outer = outer_config(DType::kI4, DType::kI4, 2, 1);
  packet(outer, [](uint64_t e, uint32_t) { return e < 64 ? 1 : 7; });
  weights(DType::kI4, 1, 2, [](uint64_t, uint64_t, uint32_t) { return 3; });
  const Block& out = reduce(outer, 1, 32);
  for (uint32_t c = 0; c < 32; ++c) EXPECT_EQ(value_at(out, c, 0), 6);
}

TEST_F(ReductionTreeTest, WidensBeforeMultiplying) {
  const OuterConfig outer = outer_config(DType::kI9, DType::kI9, 1, 1);
  packet(outer, [](uint64_t, uint32_t) { return -256; });
  weights(DType::kI9, 1, 1, [](uint64_t, uint64_t, uint32_t) { return -256; });
  EXPECT_EQ(value_at(reduce(outer, 5, 1), 0, 0), 32 * 65536.0);
}

TEST_F(ReductionTreeTest, MixedIntegersMultiply) {
  const OuterConfig outer = outer_config(DType::kI9, DType::kI8, 1, 1);
  packet(outer, [](uint64_t, uint32_t) { return 255; });
  weights(DType::kI8, 1, 1, [](uint64_t, uint64_t, uint32_t) { return -128; });
  EXPECT_EQ(value_at(reduce(outer, 0, 32), 31, 0), -255 * 128);
}

TEST_F(ReductionTreeTest, NarrowReadIsRepeatedOverThePacket) {
  // ReadSize 4, PacketBroadcast 8, second read of a row: elements 4 to 7.
  OuterConfig outer = outer_config(DType::kBF16, DType::kBF16, 2, 1);
  outer.read_elements = 4;
  outer.read_bytes = 8;
  outer.packet_broadcast = 8;
  packet(outer, [](uint64_t, uint32_t) { return 1; });
  weights(DType::kBF16, 1, 1,
          [](uint64_t, uint64_t e, uint32_t) { return static_cast<double>(e); });
  const Block& out = reduce(outer, 0, 32, 4);
  for (uint32_t e = 0; e < 32; ++e) EXPECT_EQ(value_at(out, e, 0), 4 + e % 4);
}

TEST_F(ReductionTreeTest, SlicesBeyondTheGivenOnesAreLeftAlone) {
  const OuterConfig outer = outer_config(DType::kI8, DType::kI8, 1, 1);
  packet(outer, [](uint64_t, uint32_t) { return 1; });
  weights(DType::kI8, 1, 1, [](uint64_t, uint64_t, uint32_t) { return 1; });
  const BlockRef out =
      test::value_block(pool_, DType::kI32, 1, [](uint32_t, uint32_t) { return 99; });
  const auto operand = storage_.read(tensor(), 0, 32, 1);
  ReductionTree().reduce(outer, {5, 1, 2, nullptr}, flits_, *operand, *out);
  EXPECT_EQ(value_at(*out, 0, 1), 32);
  EXPECT_EQ(value_at(*out, 0, 2), 99);
}

// ---- Order and rounding: what a balanced tree gives and a running sum would not.

TEST_F(ReductionTreeTest, AddsPairsLevelByLevel) {
  // 2^24 + 1 is no f32 (ties to 2^24), 1 - 2^24 is one. Pairs: 2^24 + (1 - 2^24) = 1; one after the
  // other: ((2^24 + 1) + 1) - 2^24 = 0.
  EXPECT_EQ(reduce_products({4096, 1, 1, -4096}, {4096, 1, 1, 4096}), 1);
}

TEST_F(ReductionTreeTest, LevelsAreBalancedOverTheWholePacket) {
  // Products 1, 2^24 and 1, -2^24 four groups of eight apart: groups 0 + 1 and 2 + 3 are added
  // first: (1 + 2^24) + (1 - 2^24) = 2^24 - (2^24 - 1) = 1.
  std::vector<double> stream(32), weight(32, 1);
  stream[0] = 1;
  stream[8] = weight[8] = 4096;
  stream[16] = 1;
  stream[24] = 4096;
  weight[24] = -4096;
  EXPECT_EQ(reduce_products(stream, weight), 1);
}

TEST_F(ReductionTreeTest, SubnormalProductsAreZero) {
  EXPECT_EQ(reduce_products({0x1p-70}, {0x1p-70}), 0);
  // Each product is 2^-127: flushed at once, though their sum 2^-126 would be a number.
  EXPECT_EQ(reduce_products({0x1p-64, 0x1p-64}, {0x1p-63, 0x1p-63}), 0);
  // 2^-126 is the smallest number.
  EXPECT_EQ(reduce_products({0x1p-63}, {0x1p-63}), 0x1p-126);
}

TEST_F(ReductionTreeTest, SubnormalSumsAreZero) {
  // 1.5 * 2^-126 - 2^-126 = 2^-127 is flushed, and with it what a later sum would make of it.
  EXPECT_EQ(reduce_products({0x1.8p-63, -0x1p-63, 0x1p-63}, {0x1p-63, 0x1p-63, 0x1p-63}), 0x1p-126);
}

TEST_F(ReductionTreeTest, SubnormalOperandsAreZero) {
  const OuterConfig outer = outer_config(DType::kBF16, DType::kBF16, 1, 1);
  packet(outer, [](uint64_t, uint32_t) { return 0x1p100; });
  weights(DType::kBF16, 1, 1, [](uint64_t, uint64_t, uint32_t) { return 1; });
  // The largest subnormal would give about 2^-26.
  flits_[0]->set_bits(0, 0, 0x807f);
  flits_[0]->set_bits(0, 1, 0x3f80);
  const Block& out = reduce(outer, 0, 16);
  EXPECT_EQ(out.bits(0, 0), 0x80000000u) << "zero with the sign of the operand";
  EXPECT_EQ(out.bits(0, 1), 0x3f800000u);
}

TEST_F(ReductionTreeTest, NanIsCanonicalAndInfinityPasses) {
  EXPECT_EQ(reduce_products({INFINITY, 1}, {2, 1}), INFINITY);
  EXPECT_EQ(reduce_products({0x1p100, 1}, {-0x1p100, 1}), -INFINITY) << "overflow";
  reduce_products({INFINITY, INFINITY}, {1, -1});
  EXPECT_EQ(out_->bits(0, 0), 0x7fc00000u);
  reduce_products({INFINITY}, {0});
  EXPECT_EQ(out_->bits(0, 0), 0x7fc00000u);
}

// ---- Poison.

TEST_F(ReductionTreeTest, PoisonSpoilsItsColumnOnly) {
  const OuterConfig outer = outer_config(DType::kBF16, DType::kBF16, 2, 2);
  packet(outer, [](uint64_t, uint32_t) { return 1; });
  weights(DType::kBF16, 2, 2, [](uint64_t, uint64_t, uint32_t) { return 1; });
  poison(*flits_[0], 5, 1);
  const Block& out = reduce(outer, 2, 8);
  for (uint32_t row = 0; row < 16; ++row) {
    for (uint32_t s = 0; s < kSlices; ++s) {
      const bool spoiled = row % 8 == 1 && s == 1;
      EXPECT_EQ(out.is_valid(row, s), !spoiled) << row << " " << s;
      if (!spoiled) {
        EXPECT_EQ(value_at(out, row, s), 4);
      }
    }
  }
}

TEST_F(ReductionTreeTest, KnownZeroTimesPoisonIsZero) {
  const OuterConfig outer = outer_config(DType::kBF16, DType::kBF16, 1, 1);
  // Element 3 of the weight is poison, whatever it looks like; the stream is zero there in slice 0.
  packet(outer, [](uint64_t e, uint32_t s) { return e == 3 && s == 0 ? 0 : 1; });
  weights(DType::kBF16, 1, 1, [](uint64_t, uint64_t e, uint32_t) { return e == 3 ? NAN : 1; });
  program_.tensors.push_back(trf_tensor("v", DType::kBF16, 1, 1));
  const BlockRef row = test::value_block(pool_, DType::kBF16, 16,
                                         [](uint32_t e, uint32_t) { return e == 3 ? NAN : 1; });
  for (uint32_t s = 0; s < kSlices; ++s) poison(*row, 3, s);
  storage_.store(tensor(), 0, 0, row);
  const Block& out = reduce(outer, 4, 1);
  EXPECT_TRUE(out.is_valid(0, 0));
  EXPECT_EQ(value_at(out, 0, 0), 15);
  EXPECT_FALSE(out.is_valid(0, 1));
}

TEST_F(ReductionTreeTest, PoisonOnBothSidesStaysPoisonThoughItsBitsAreZero) {
  const OuterConfig outer = outer_config(DType::kI8, DType::kI8, 1, 1);
  packet(outer, [](uint64_t, uint32_t) { return 0; });
  for (uint32_t s = 0; s < kSlices; ++s) poison(*flits_[0], 0, s);
  program_.tensors.push_back(trf_tensor("w", DType::kI8, 1, 1));  // never written
  const Block& out = reduce(outer, 0, 32);
  EXPECT_FALSE(out.is_valid(0, 0));
  EXPECT_TRUE(out.is_valid(1, 0)) << "zero times poison";
}

}  // namespace
}  // namespace rngdsim
