// SPDX-License-Identifier: Apache-2.0
// Operations on sets of accepted values. Ends are worked out on paper.
#include "reference/value_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "reference/value_row.h"

namespace rngdsim {
namespace {

constexpr DType kF = DType::kF32, kI = DType::kI32;
constexpr double kMost = std::numeric_limits<int32_t>::max();
constexpr double kLeast = std::numeric_limits<int32_t>::min();

uint32_t bits(double value) { return from_double(kF, value); }
Accepted between(double low, double high) { return {low, high, false, false, false}; }
Accepted point(double value) { return between(value, value); }

Accepted of(VectorOp op, DType dtype, const Accepted& a, const Accepted& b = {},
            const Accepted& c = {}) {
  return image(op, dtype, {&a, &b, &c});
}
void expect_between(const Accepted& set, double low, double high) {
  EXPECT_EQ(set, between(low, high))
      << set.low << " " << set.high << " " << set.nan << set.plus_infinity << set.minus_infinity;
}

TEST(ValueSetTest, MonotoneOperationsTakeTheEnds) {
  expect_between(of(VectorOp::kAddF, kF, between(1, 2), between(10, 30)), 11, 32);
  expect_between(of(VectorOp::kSubF, kF, between(1, 2), between(10, 30)), -29, -8);
  expect_between(of(VectorOp::kMulF, kF, between(-1, 2), between(-10, 30)), -30, 60);
  expect_between(of(VectorOp::kDivF, kF, between(-4, 8), between(2, 4)), -2, 4);
  expect_between(of(VectorOp::kFmaF, kF, between(-1, 2), between(3, 4), between(100, 200)), 96,
                 208);
  expect_between(of(VectorOp::kMax, kF, between(1, 5), between(2, 3)), 2, 5);
  expect_between(of(VectorOp::kMin, kF, between(1, 5), between(2, 3)), 1, 3);
  expect_between(of(VectorOp::kSqrt, kF, between(4, 9)), 2, 3);
  expect_between(of(VectorOp::kExp, kF, between(0, 0)), 1, 1);
  expect_between(of(VectorOp::kLog, kF, between(1, 1)), 0, 0);
}

TEST(ValueSetTest, AFallingFunctionSwapsTheEnds) {
  const Accepted set = of(VectorOp::kNegExp, kF, between(-1, 0));
  EXPECT_EQ(set.low, 1);
  EXPECT_NEAR(set.high, std::exp(1), 1e-6);
}

TEST(ValueSetTest, EveryChoiceLiesInTheImage) {
  const std::vector<double> list = {-3, -1, -0.25, 0, 0.5, 1, 2, 7};
  for (const VectorOp op :
       {VectorOp::kExp, VectorOp::kNegExp, VectorOp::kSqrt, VectorOp::kTanh, VectorOp::kSigmoid,
        VectorOp::kErf, VectorOp::kLog, VectorOp::kSin, VectorOp::kCos, VectorOp::kAddF,
        VectorOp::kSubF, VectorOp::kMulF, VectorOp::kDivF, VectorOp::kMin, VectorOp::kMax,
        VectorOp::kAbsMin, VectorOp::kAbsMax}) {
    for (size_t i = 0; i < list.size(); ++i) {
      for (size_t j = i; j < list.size(); ++j) {
        const Accepted first = between(list[i], list[j]),
                       second = between(list[i] + 1, list[j] + 2);
        const Accepted set = of(op, kF, first, second);
        for (size_t k = i; k <= j; ++k) {
          const uint32_t x = bits(list[k]), y = bits(list[k] + 1.5);
          const uint32_t got =
              operand_count(op) == 1 ? apply_unary(op, x) : apply_binary(op, kF, x, y);
          Accepted one = Accepted::nothing();
          one.add(to_double(kF, got));
          EXPECT_EQ(set.common(one), one) << name(op) << " of " << list[k];
        }
      }
    }
  }
}

TEST(ValueSetTest, SinesOfAnIntervalAreAnythingTheyCanBe) {
  expect_between(of(VectorOp::kSin, kF, between(1, 1.5)), -1, 1);
  expect_between(of(VectorOp::kCos, kF, point(0)), 1, 1);
}

TEST(ValueSetTest, DivisionAcrossZeroIsAnything) {
  EXPECT_EQ(of(VectorOp::kDivF, kF, point(1), between(-1, 1)), everything(kF));
  EXPECT_EQ(of(VectorOp::kDivF, kF, point(1), between(0, 1)), everything(kF));
}

TEST(ValueSetTest, RootsAndLogarithmsBelowZeroAreNaN) {
  const Accepted root = of(VectorOp::kSqrt, kF, between(-4, 9));
  EXPECT_TRUE(root.nan);
  EXPECT_EQ(root.low, 0);
  EXPECT_EQ(root.high, 3);
  const Accepted none = of(VectorOp::kSqrt, kF, between(-4, -1));
  EXPECT_TRUE(none.nan);
  EXPECT_FALSE(has_numbers(none));
  const Accepted log = of(VectorOp::kLog, kF, between(-1, 1));
  EXPECT_TRUE(log.nan);
  EXPECT_TRUE(log.minus_infinity);  // of 0
  EXPECT_EQ(log.high, 0);
}

TEST(ValueSetTest, BitwiseOperationsOnAnOpenSetAreAnything) {
  for (const DType dtype : {kF, kI}) {
    EXPECT_EQ(of(VectorOp::kBitAnd, dtype, between(1, 2), point(1)), everything(dtype));
    EXPECT_EQ(of(VectorOp::kBitXor, dtype, between(1, 2), point(1)), everything(dtype));
  }
}

TEST(ValueSetTest, InfinitiesAndNaNPassThrough) {
  Accepted set = between(1, 2);
  set.plus_infinity = set.nan = true;
  const Accepted sum = of(VectorOp::kAddF, kF, set, point(1));
  EXPECT_EQ(sum.low, 2);
  EXPECT_EQ(sum.high, 3);
  EXPECT_TRUE(sum.plus_infinity && sum.nan);
  EXPECT_FALSE(sum.minus_infinity);
  // Infinity times something that may be zero.
  EXPECT_TRUE(of(VectorOp::kMulF, kF, set, between(-1, 1)).nan);
  EXPECT_TRUE(of(VectorOp::kMulF, kF, set, between(-1, 1)).minus_infinity);
  // Overflow: from the largest numbers to infinity.
  const Accepted large = of(VectorOp::kMulF, kF, between(1e38, 3e38), point(2));
  EXPECT_TRUE(large.plus_infinity);
  EXPECT_EQ(large.high, max_value(kF));
  EXPECT_EQ(large.low, to_double(kF, bits(2.0 * to_double(kF, bits(1e38)))));
}

TEST(ValueSetTest, IntegersThatWrapAreAnythingAndThoseThatSaturateEndThere) {
  expect_between(of(VectorOp::kAddFxp, kI, between(1, 2), point(10)), 11, 12);
  EXPECT_EQ(of(VectorOp::kAddFxp, kI, between(kMost - 1, kMost), point(1)), everything(kI));
  expect_between(of(VectorOp::kAddFxpSat, kI, between(kMost - 3, kMost), point(1)), kMost - 2,
                 kMost);
  expect_between(of(VectorOp::kSubFxpSat, kI, between(kLeast, kLeast + 5), point(2)), kLeast,
                 kLeast + 3);
  expect_between(of(VectorOp::kMulInt, kI, between(-2, 3), between(-5, 4)), -15, 12);
  expect_between(of(VectorOp::kArithRightShift, kI, between(-8, 16), point(2)), -2, 4);
  // A logical shift brings the sign down: of -1 it gives 2^31 - 1.
  EXPECT_EQ(of(VectorOp::kLogicRightShift, kI, between(-1, 1), point(1)), everything(kI));
}

TEST(ValueSetTest, ConversionsTakeTheEnds) {
  expect_between(fxp_to_fp_image(between(-8, 16), 31), -8, 16);
  expect_between(fxp_to_fp_image(between(-8, 16), 29), -2, 4);  // 2 fraction bits
  expect_between(fp_to_fxp_image(between(-1.5, 2.25), 31), -2, 2);
  Accepted set = between(0, 1);
  set.plus_infinity = true;
  expect_between(fp_to_fxp_image(set, 31), 0, kMost);
  set.nan = true;
  expect_between(fp_to_fxp_image(set, 31), kLeast, kMost);
  // bf16 next to 1 is 1 - 2^-8 and 1 + 2^-7.
  expect_between(converted(kF, between(1 - 0x1p-8 - 0x1p-20, 1 + 0x1p-8 + 0x1p-20),
                           {{kF, DType::kBF16, false}}),
                 1 - 0x1p-8, 1 + 0x1p-7);
  expect_between(converted(kF, between(-2, 1), {{kF, kF, true}}), 0, 1);  // relu
}

TEST(ValueSetTest, RangesEndAtNumbersOfTheType) {
  // Between 1 + 2^-24 and 1 + 3 * 2^-24 there is one number of f32.
  expect_between(range_set(kF, 1 + 0x1p-24, 1 + 0x1.8p-23), 1 + 0x1p-23, 1 + 0x1p-23);
  // Where there is none, both neighbours.
  expect_between(range_set(kF, 1 + 0x1p-25, 1 + 0x1p-24), 1, 1 + 0x1p-23);
  // Subnormal numbers are zero.
  expect_between(range_set(kF, 0x1p-130, 0x1p-126), 0, 0x1p-126);
}

TEST(ValueSetTest, OneNumberIsOnePatternUnlessItIsZero) {
  EXPECT_TRUE(is_one_pattern(kF, point(1)));
  EXPECT_FALSE(is_one_pattern(kF, point(0)));  // or -0
  EXPECT_TRUE(is_one_pattern(kI, point(0)));
  EXPECT_FALSE(is_one_pattern(kF, between(1, 2)));
}

TEST(ValueSetTest, AComparisonAcrossTheBoundaryHasBothAnswers) {
  const auto both = [](CompareOp op, double low, double high, double boundary) {
    const Answers given = answers(op, kF, between(low, high), bits(boundary));
    return (given.yes ? 1 : 0) + (given.no ? 2 : 0);
  };
  EXPECT_EQ(both(CompareOp::kLess, 1, 2, 3), 1);
  EXPECT_EQ(both(CompareOp::kLess, 1, 2, 1.5), 3);
  EXPECT_EQ(both(CompareOp::kLess, 1, 2, 1), 2);
  EXPECT_EQ(both(CompareOp::kGreater, 1, 2, 2), 2);
  EXPECT_EQ(both(CompareOp::kGreater, 1, 2, 1), 3);
  EXPECT_EQ(both(CompareOp::kEqual, 1, 2, 1.5), 3);
  EXPECT_EQ(both(CompareOp::kEqual, 1, 2, 2.5), 2);
  EXPECT_EQ(both(CompareOp::kEqual, 1, 1, 1), 1);
  EXPECT_EQ(both(CompareOp::kTrue, 1, 2, 0), 1);
  EXPECT_EQ(both(CompareOp::kFalse, 1, 2, 0), 2);
  Accepted nan = Accepted::nothing();
  nan.nan = true;
  EXPECT_FALSE(answers(CompareOp::kLess, kF, nan, bits(0)).yes);
}

// ---- Rows

ValueRow row_of(const std::vector<double>& list) {
  ValueRow row(kF, list.size());
  for (size_t i = 0; i < list.size(); ++i) row.bits[i] = bits(list[i]);
  return row;
}
Accepted folded(ReduceOp op, const ValueRow& row, uint64_t repeat = 1) {
  Fold fold(op, row.dtype, repeat);
  fold.add(row, 0, row.size());
  ValueRow result(row.dtype, 1);
  fold.finish(result, 0);
  EXPECT_FALSE(result.is_undefined(0));
  return result.set(0);
}

TEST(ValueRowTest, OpenElementsAreComputedBesidePoints) {
  ValueRow row = row_of({1, 2, 3});
  row.put(1, between(2, 4), bits(2));
  row.mark_undefined(2);
  const ValueRow ten = row_of({10, 10, 10});
  const ValueRow sum = apply(VectorOp::kAddF, kF, {&row, &ten, nullptr});
  EXPECT_FALSE(sum.is_open(0));
  EXPECT_EQ(sum.bits[0], bits(11));
  expect_between(sum.set(1), 12, 14);
  EXPECT_TRUE(sum.is_undefined(2));
}

TEST(ValueRowTest, AnotherTypeMakesAnOpenSetAnythingAndKeepsBits) {
  ValueRow row = row_of({1, 2});
  row.put(1, between(2, 4), bits(2));
  row.reinterpret(kI);
  EXPECT_EQ(row.bits[0], 0x3f800000u);
  EXPECT_EQ(row.set(1), everything(kI));
}

TEST(ValueRowTest, SumsOfInfinitiesAndNaN) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Accepted one = folded(ReduceOp::kAdd, row_of({1, infinity, 2}));
  EXPECT_TRUE(one.plus_infinity);
  EXPECT_FALSE(one.nan || one.minus_infinity || has_numbers(one));
  const Accepted opposite = folded(ReduceOp::kAdd, row_of({-infinity, infinity}));
  EXPECT_TRUE(opposite.nan);
  EXPECT_FALSE(opposite.plus_infinity || has_numbers(opposite));
  // 3e38 + 3e38 overflows in some orders, and then -3e38 - 3e38 may meet it.
  const Accepted large = folded(ReduceOp::kAdd, row_of({3e38, 3e38, -3e38, -3e38}));
  EXPECT_TRUE(large.plus_infinity && large.minus_infinity && large.nan && has_numbers(large));
}

TEST(ValueRowTest, ASumThatIsExactInF32IsStillASumOfRoundings) {
  // 4 * 2 with 3 roundings: 8 * 3 * 2^-24 is 1.5 units in the last place of 8, 2^-20.
  const Accepted set = folded(ReduceOp::kAdd, row_of({2, 2}), 2);
  EXPECT_LE(set.low, 8 - 0x1p-21);
  EXPECT_GT(set.low, 8 - 0x1p-19);
  EXPECT_EQ(set.high, 8 + 0x1p-20);
}

TEST(ValueRowTest, ExtremesOfIntervals) {
  ValueRow row = row_of({1, 2, 3});
  row.put(1, between(2, 5), bits(2));
  expect_between(folded(ReduceOp::kMax, row), 3, 5);
  expect_between(folded(ReduceOp::kMin, row), 1, 1);
  EXPECT_TRUE(folded(ReduceOp::kMax, row_of({1, std::nan("")})).nan);
}

TEST(ValueRowTest, ProductsBecomeZeroWhereTheyAreTooSmallOnTheWay) {
  // 2^-100 * 2^-100 * 2^120 is 2^-80, or 0 where the small ones meet first.
  const Accepted set = folded(ReduceOp::kMul, row_of({0x1p-100, 0x1p-100, 0x1p120}));
  EXPECT_EQ(set.low, 0);
  EXPECT_GE(set.high, 0x1p-80);
  EXPECT_LE(set.high, 0x1.000008p-80);
  EXPECT_EQ(folded(ReduceOp::kMul, row_of({0x1p100, 0x1p100, 0x1p-120})), everything(kF));
}

TEST(ValueRowTest, AFoldOfNothingOrOfAnUndefinedElementIsUndefined) {
  for (const ReduceOp op : {ReduceOp::kAdd, ReduceOp::kMax, ReduceOp::kMul}) {
    ValueRow result(kF, 2);
    Fold(op, kF, 1).finish(result, 0);
    ValueRow row = row_of({1, 2});
    row.mark_undefined(1);
    Fold fold(op, kF, 1);
    fold.add(row, 0, 2);
    fold.finish(result, 1);
    EXPECT_TRUE(result.is_undefined(0) && result.is_undefined(1));
  }
}

}  // namespace
}  // namespace rngdsim
