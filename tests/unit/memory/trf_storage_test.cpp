// SPDX-License-Identifier: Apache-2.0
#include "memory/trf_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "memory/operand.h"
#include "support/diagnostic.h"
#include "tests/support/contraction.h"

namespace rngdsim {
namespace {

using test::row_elements;
using test::trf_tensor;

class TrfStorageTest : public testing::Test {
 protected:
  TensorId add(DType dtype, uint64_t lanes, uint64_t rows) {
    program_.tensors.push_back(trf_tensor("w", dtype, lanes, rows));
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }
  // A flit whose element e of slice s is first + e + 100 * s.
  BlockRef flit(DType dtype, double first) {
    return test::value_block(pool_, dtype, row_elements(dtype),
                             [&](uint32_t e, uint32_t s) { return first + e + 100.0 * s; });
  }

  Program program_;
  BlockPool pool_{2};
  std::vector<std::vector<uint8_t>> live_;
  TrfStorage storage_{program_, &pool_, live_, 32};
};

TEST_F(TrfStorageTest, StoredFlitsAreTheElementsOfTheirLane) {
  const TensorId id = add(DType::kBF16, 2, 4);
  storage_.store(id, 1, 2, flit(DType::kBF16, 7));
  // Granule 2 of 16 bf16 elements begins at element 32.
  EXPECT_EQ(storage_.peek(id, 1, 32, 0), from_double(DType::kBF16, 7));
  EXPECT_EQ(storage_.peek(id, 1, 47, 1), from_double(DType::kBF16, 122));
  EXPECT_EQ(storage_.peek(id, 1, 48, 0), std::nullopt) << "never written";
  EXPECT_EQ(storage_.peek(id, 0, 32, 0), std::nullopt) << "another lane";
}

// 8 lanes: rows 0 to 1 for four granules; the next tensor takes row 1 of every lane.
TEST_F(TrfStorageTest, ATensorTakesItsRowsOver) {
  const TensorId old = add(DType::kBF16, 8, 4);
  const TensorId apart = add(DType::kBF16, 8, 4);
  const TensorId next = add(DType::kBF16, 8, 2);
  program_.tensors[apart].first_row = 2;
  program_.tensors[next].first_row = 1;
  storage_.store(old, 0, 0, flit(DType::kBF16, 1));
  storage_.store(apart, 0, 0, flit(DType::kBF16, 2));
  storage_.store(next, 7, 1, flit(DType::kBF16, 3));
  EXPECT_EQ(storage_.peek(old, 0, 0, 0), std::nullopt);
  EXPECT_EQ(storage_.peek(apart, 0, 0, 0), from_double(DType::kBF16, 2));
  EXPECT_EQ(storage_.peek(next, 7, 16, 0), from_double(DType::kBF16, 3));
  // It goes on with what it has.
  storage_.store(next, 7, 0, flit(DType::kBF16, 4));
  EXPECT_EQ(storage_.peek(next, 7, 16, 0), from_double(DType::kBF16, 3));
}

// A single lane owns the rows of all: its rows 8 to 15 are row 1 of eight lanes.
TEST_F(TrfStorageTest, RowsOfFewLanesAreThoseOfAll) {
  const TensorId old = add(DType::kBF16, 8, 2);
  const TensorId next = add(DType::kBF16, 1, 16);
  const TensorId behind = add(DType::kBF16, 1, 16);
  program_.tensors[next].first_row = 8;
  program_.tensors[behind].first_row = 0;
  storage_.store(old, 0, 0, flit(DType::kBF16, 1));
  storage_.store(next, 0, 0, flit(DType::kBF16, 2));
  EXPECT_EQ(storage_.peek(old, 0, 0, 0), from_double(DType::kBF16, 1));
  storage_.store(behind, 0, 0, flit(DType::kBF16, 3));
  EXPECT_EQ(storage_.peek(old, 0, 0, 0), std::nullopt);
  EXPECT_EQ(storage_.peek(next, 0, 0, 0), from_double(DType::kBF16, 2));
}

TEST_F(TrfStorageTest, PokedElementsAreSingle) {
  const TensorId id = add(DType::kI4, 8, 2);
  storage_.poke(id, 3, 65, 1, 0xf);
  EXPECT_EQ(storage_.peek(id, 3, 65, 1), 0xfu);
  EXPECT_EQ(storage_.peek(id, 3, 65, 0), std::nullopt);
  EXPECT_EQ(storage_.peek(id, 3, 64, 1), std::nullopt);
}

TEST_F(TrfStorageTest, WideReadTakesTwoRowsOfEveryLane) {
  const TensorId id = add(DType::kBF16, 2, 4);
  for (uint64_t lane = 0; lane < 2; ++lane) {
    for (uint64_t g = 0; g < 4; ++g) {
      storage_.store(id, lane, g,
                     flit(DType::kBF16, static_cast<double>(16 * g) + (lane == 0 ? 0 : 1)));
    }
  }
  const auto operand = storage_.read(id, 32, 32, 2);
  ASSERT_EQ(operand->lanes.size(), 2u);
  EXPECT_EQ(operand->first_element, 0u);
  EXPECT_EQ(operand->granule_elements, 16u);
  EXPECT_EQ(test::value_at(*operand->lanes[0][0], 0, 0), 32);
  EXPECT_EQ(test::value_at(*operand->lanes[0][1], 15, 0), 63);
  EXPECT_EQ(test::value_at(*operand->lanes[1][1], 0, 0), 49);
  EXPECT_TRUE(operand->all_valid);
  // 1 is the smallest that is not zero among the elements of rows 2 and 3 of both lanes: 32 and up.
  EXPECT_EQ(operand->min_exponent, 127u + 5);
}

TEST_F(TrfStorageTest, NarrowReadStartsInsideItsRow) {
  const TensorId id = add(DType::kI4, 1, 2);
  storage_.store(id, 0, 1, flit(DType::kI4, 0));
  const auto operand = storage_.read(id, 64 + 3, 1, 1);
  EXPECT_EQ(operand->first_element, 3u);
  EXPECT_EQ(operand->lanes[0][0]->dtype, DType::kI8);
  EXPECT_EQ(operand->lanes[0][0]->row<int8_t>(3)[0], 3);
  EXPECT_FALSE(operand->lanes[0][1]);
}

TEST_F(TrfStorageTest, OneOperandAPlaceUntilTheTensorIsStoredTo) {
  const TensorId id = add(DType::kI8, 1, 2);
  storage_.store(id, 0, 0, flit(DType::kI8, 1));
  storage_.store(id, 0, 1, flit(DType::kI8, 2));
  const auto narrow = storage_.read(id, 0, 32, 1);
  const auto wide = storage_.read(id, 0, 64, 1);
  EXPECT_EQ(storage_.read(id, 0, 32, 1), narrow);
  EXPECT_EQ(storage_.read(id, 0, 64, 1), wide);
  EXPECT_NE(storage_.read(id, 0, 16, 1), narrow) << "a smaller read may be valid where this is not";
  storage_.store(id, 0, 0, flit(DType::kI8, 5));
  EXPECT_EQ(storage_.read(id, 0, 32, 1)->lanes[0][0]->row<int8_t>(0)[0], 5);
  EXPECT_EQ(storage_.read(id, 0, 64, 1)->lanes[0][0]->row<int8_t>(0)[0], 5);
  EXPECT_EQ(narrow->lanes[0][0]->row<int8_t>(0)[0], 1) << "reads under way keep what they read";
}

TEST_F(TrfStorageTest, RowsAreNotCopiedWhereTheMultiplierCanTakeThemAsTheyAre) {
  const TensorId id = add(DType::kBF16, 1, 1);
  const BlockRef stored = flit(DType::kBF16, 1);
  storage_.store(id, 0, 0, stored);
  EXPECT_EQ(&*storage_.read(id, 0, 16, 1)->lanes[0][0], &*stored);
}

TEST_F(TrfStorageTest, PoisonCountsWhereItIsReadInALiveSlice) {
  live_ = {{1, 0}};
  const TensorId id = add(DType::kI8, 1, 1);
  for (uint64_t e = 0; e < 16; ++e) storage_.poke(id, 0, e, 0, 1);
  EXPECT_TRUE(storage_.read(id, 0, 16, 1)->all_valid) << "slice 1 is dead";
  EXPECT_FALSE(storage_.read(id, 0, 32, 1)->all_valid);
  EXPECT_FALSE(storage_.read(id, 16, 16, 1)->all_valid);
  live_ = {{1, 1}};
  storage_.poke(id, 0, 0, 0, 1);
  EXPECT_FALSE(storage_.read(id, 0, 16, 1)->all_valid) << "slice 1 lives and was never written";
}

TEST_F(TrfStorageTest, UnwrittenRowsAreNullAndPoison) {
  const TensorId id = add(DType::kBF16, 1, 2);
  storage_.store(id, 0, 0, flit(DType::kBF16, 1));
  const auto operand = storage_.read(id, 0, 32, 1);
  EXPECT_TRUE(operand->lanes[0][0]);
  EXPECT_FALSE(operand->lanes[0][1]);
  EXPECT_FALSE(operand->all_valid);
}

TEST_F(TrfStorageTest, DeadSlicesDoNotLowerTheExponent) {
  live_ = {{1, 0}};
  const TensorId id = add(DType::kBF16, 1, 1);
  storage_.store(id, 0, 0, test::value_block(pool_, DType::kBF16, 16, [](uint32_t, uint32_t s) {
                   return s == 0 ? 2.0 : 1e-30;
                 }));
  EXPECT_EQ(storage_.read(id, 0, 16, 1)->min_exponent, 128u);
}

TEST_F(TrfStorageTest, ReadsAndStoresOutsideTheTensorAreInternalErrors) {
  const TensorId id = add(DType::kBF16, 2, 2);
  EXPECT_THROW(storage_.store(id, 2, 0, flit(DType::kBF16, 1)), InternalError);
  EXPECT_THROW(storage_.store(id, 0, 2, flit(DType::kBF16, 1)), InternalError);
  EXPECT_THROW(storage_.read(id, 32, 16, 2), InternalError);
  EXPECT_THROW(storage_.read(id, 8, 16, 2), InternalError) << "straddles two rows";
}

TEST(TrfStorageTimingOnlyTest, HoldsNothing) {
  Program program;
  program.tensors.push_back(trf_tensor("w", DType::kBF16, 1, 1));
  const std::vector<std::vector<uint8_t>> live;
  TrfStorage storage(program, nullptr, live, 32);
  storage.store(0, 0, 0, {});
  storage.poke(0, 0, 0, 0, 1);
  EXPECT_EQ(storage.read(0, 0, 16, 1), nullptr);
  EXPECT_EQ(storage.peek(0, 0, 0, 0), std::nullopt);
}

// ---- Operand forms.

struct FormCase {
  DType dtype;
  uint32_t bits;
  DType form;
  uint32_t expected;
};

class OperandFormTest : public testing::TestWithParam<FormCase> {};

TEST_P(OperandFormTest, KeepsTheValue) {
  const FormCase& c = GetParam();
  BlockPool pool(3);
  const BlockRef raw =
      test::bits_block(pool, c.dtype, 2, [&](uint32_t, uint32_t) { return c.bits; });
  const BlockRef form = pool.allocate(operand_form(c.dtype), 2);
  EXPECT_EQ(form->dtype, c.form);
  to_operand_form(*raw, *form);
  EXPECT_EQ(form->bits(1, 2), c.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Values, OperandFormTest,
    testing::Values(FormCase{DType::kI4, 0x8, DType::kI8, 0xf8},           // -8
                    FormCase{DType::kI4, 0x7, DType::kI8, 0x07},           // 7
                    FormCase{DType::kI5, 0x1f, DType::kI8, 0xff},          // -1
                    FormCase{DType::kI5, 0x0f, DType::kI8, 0x0f},          // 15
                    FormCase{DType::kI8, 0x80, DType::kI8, 0x80},          // -128
                    FormCase{DType::kI9, 0x100, DType::kI16, 0xff00},      // -256
                    FormCase{DType::kI9, 0x0ff, DType::kI16, 0x00ff},      // 255
                    FormCase{DType::kF8E4M3, 0x01, DType::kBF16, 0x3b00},  // 2^-9, subnormal in f8
                    FormCase{DType::kF8E5M2, 0x80, DType::kBF16, 0x8000},  // -0
                    FormCase{DType::kF8E5M2, 0x7c, DType::kBF16, 0x7f80},  // infinity
                    FormCase{DType::kBF16, 0x8001, DType::kBF16, 0x8000},  // subnormal to -0
                    FormCase{DType::kBF16, 0x3f80, DType::kBF16, 0x3f80}));

TEST(OperandFormTest, KeepsPoison) {
  BlockPool pool(2);
  const BlockRef raw =
      test::value_block(pool, DType::kF8E4M3, 2, [](uint32_t, uint32_t) { return 1; });
  test::poison(*raw, 1, 0);
  const BlockRef form = pool.allocate(DType::kBF16, 2);
  to_operand_form(*raw, *form);
  EXPECT_FALSE(form->is_valid(1, 0));
  EXPECT_TRUE(form->is_valid(1, 1));
}

TEST(OperandFormTest, OnlyI8AndNormalBf16AreTheirOwnForm) {
  BlockPool pool(1);
  const auto block = [&](DType dtype, uint32_t bits) {
    return test::bits_block(pool, dtype, 1, [&](uint32_t, uint32_t) { return bits; });
  };
  EXPECT_TRUE(is_operand_form(*block(DType::kI8, 0x80)));
  EXPECT_TRUE(is_operand_form(*block(DType::kBF16, 0x0080)));
  EXPECT_TRUE(is_operand_form(*block(DType::kBF16, 0x8000)));
  EXPECT_FALSE(is_operand_form(*block(DType::kBF16, 0x007f))) << "subnormal";
  EXPECT_FALSE(is_operand_form(*block(DType::kI4, 1)));
  EXPECT_FALSE(is_operand_form(*block(DType::kF8E4M3, 1)));
}

TEST(MinExponentTest, IgnoresZerosSubnormalsAndDeadSlices) {
  BlockPool pool(3);
  const BlockRef block =
      test::bits_block(pool, DType::kBF16, 1, [](uint32_t, uint32_t) { return 0; });
  EXPECT_EQ(min_exponent(*block), 255u);
  block->set_bits(0, 0, 0x8001);
  EXPECT_EQ(min_exponent(*block), 255u);
  block->set_bits(0, 0, 0xbf80);  // -1: biased exponent 127
  EXPECT_EQ(min_exponent(*block), 127u);
  block->set_bits(0, 2, 0x0080);  // the smallest normal number
  EXPECT_EQ(min_exponent(*block), 1u);
  const uint8_t live[] = {1, 1, 0};
  EXPECT_EQ(min_exponent(*block, live), 127u);
}

}  // namespace
}  // namespace rngdsim
