// SPDX-License-Identifier: Apache-2.0
// Expected values are worked out on paper from the definition of each operation; floats are given
// by their code.
#include "numeric/vector_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace rngdsim {
namespace {

constexpr uint32_t kMin = 0x80000000u, kMax = 0x7fffffffu;
constexpr uint32_t kInf = 0x7f800000u, kMinusInf = 0xff800000u, kQuietNan = 0x7fc00000u;
constexpr uint32_t kMinusZero = 0x80000000u;
constexpr uint32_t kOne = 0x3f800000u, kTwo = 0x40000000u;

uint32_t number(int64_t value) { return static_cast<uint32_t>(value); }
uint32_t code(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

struct BinaryCase {
  VectorOp op;
  uint32_t a, b, result;
};

void expect_each(DType dtype, const std::vector<BinaryCase>& cases) {
  for (const BinaryCase& c : cases) {
    EXPECT_EQ(apply_binary(c.op, dtype, c.a, c.b), c.result)
        << std::hex << name(c.op) << " of " << c.a << " and " << c.b;
  }
}

TEST(VectorOps, BitsOfBothTypes) {
  // 0x7f800001 is a signalling NaN of f32 and 0x00000001 a subnormal: bits stay as they are.
  for (const DType dtype : {DType::kI32, DType::kF32}) {
    expect_each(dtype, {{VectorOp::kBitAnd, 0xff00ff00u, 0x0ff00ff0u, 0x0f000f00u},
                        {VectorOp::kBitAnd, 0xff800001u, 0x7fffffffu, 0x7f800001u},
                        {VectorOp::kBitOr, 0x7f800000u, 0x00000001u, 0x7f800001u},
                        {VectorOp::kBitOr, 0xff00ff00u, 0x0ff00ff0u, 0xfff0fff0u},
                        {VectorOp::kBitXor, 0xff00ff00u, 0x0ff00ff0u, 0xf0f0f0f0u},
                        {VectorOp::kBitXor, 0x00000001u, 0x80000000u, 0x80000001u}});
  }
}

TEST(VectorOps, ShiftsTakeAmountsUnsigned) {
  const uint32_t kMinusOne = number(-1);
  expect_each(DType::kI32, {{VectorOp::kLeftShift, 0x80000003u, 0, 0x80000003u},
                            {VectorOp::kLeftShift, 0x80000003u, 1, 6},
                            {VectorOp::kLeftShift, 3, 31, 0x80000000u},
                            {VectorOp::kLeftShift, kMinusOne, 32, 0},
                            {VectorOp::kLeftShift, kMinusOne, kMinusOne, 0},
                            {VectorOp::kLogicRightShift, 0x80000003u, 0, 0x80000003u},
                            {VectorOp::kLogicRightShift, 0x80000003u, 1, 0x40000001u},
                            {VectorOp::kLogicRightShift, 0x80000003u, 31, 1},
                            {VectorOp::kLogicRightShift, kMinusOne, 32, 0},
                            {VectorOp::kLogicRightShift, kMinusOne, 0x80000001u, 0},
                            {VectorOp::kArithRightShift, 0x80000003u, 0, 0x80000003u},
                            {VectorOp::kArithRightShift, 0x80000003u, 1, 0xc0000001u},
                            {VectorOp::kArithRightShift, 0x40000000u, 30, 1},
                            {VectorOp::kArithRightShift, kMin, 31, kMinusOne},
                            {VectorOp::kArithRightShift, kMin, 32, kMinusOne},
                            {VectorOp::kArithRightShift, kMin, kMinusOne, kMinusOne},
                            {VectorOp::kArithRightShift, kMax, 32, 0},
                            {VectorOp::kArithRightShift, kMax, 0x80000000u, 0}});
}

// floor(a / 2^n + 1/2): 2.5 is 3, -2.5 is -2. From 32 on |a| / 2^n is at most a half, and -1/2 is
// 0.
TEST(VectorOps, RoundingShiftIsHalfUp) {
  constexpr VectorOp kOp = VectorOp::kArithRightShiftRound;
  expect_each(DType::kI32, {{kOp, 5, 0, 5},
                            {kOp, 5, 1, 3},
                            {kOp, number(-5), 1, number(-2)},
                            {kOp, 6, 2, 2},
                            {kOp, number(-6), 2, number(-1)},
                            {kOp, number(-7), 2, number(-2)},
                            {kOp, 5, 2, 1},
                            {kOp, kMax, 1, 0x40000000u},
                            {kOp, kMax, 31, 1},
                            {kOp, 0x3fffffffu, 31, 0},
                            {kOp, kMin, 31, number(-1)},
                            {kOp, kMin, 32, 0},
                            {kOp, kMax, 32, 0},
                            {kOp, number(-1), number(-1), 0}});
}

TEST(VectorOps, SaturatingLeftShift) {
  constexpr VectorOp kOp = VectorOp::kLeftShiftSat;
  expect_each(DType::kI32, {{kOp, kMax, 0, kMax},
                            {kOp, 0x3fffffffu, 1, 0x7ffffffeu},
                            {kOp, 0x40000000u, 1, kMax},
                            {kOp, 0xc0000000u, 1, kMin},  // -2^30 x 2, exactly
                            {kOp, 0xbfffffffu, 1, kMin},
                            {kOp, number(-1), 31, kMin},
                            {kOp, 1, 31, kMax},
                            {kOp, 1, 32, kMax},
                            {kOp, number(-1), 32, kMin},
                            {kOp, kMin, 32, kMin},
                            {kOp, kMin, number(-1), kMin},
                            {kOp, 1, number(-1), kMax},
                            {kOp, 0, 31, 0},
                            {kOp, 0, 32, 0},
                            {kOp, 0, number(-1), 0}});
}

TEST(VectorOps, SumsAndProductsOfIntegers) {
  expect_each(DType::kI32, {{VectorOp::kAddFxp, 3, number(-5), number(-2)},
                            {VectorOp::kAddFxp, kMax, 1, kMin},
                            {VectorOp::kAddFxp, kMin, kMin, 0},
                            {VectorOp::kAddFxpSat, 3, number(-5), number(-2)},
                            {VectorOp::kAddFxpSat, kMax, 1, kMax},
                            {VectorOp::kAddFxpSat, kMax, kMin, number(-1)},
                            {VectorOp::kAddFxpSat, kMin, number(-1), kMin},
                            {VectorOp::kSubFxp, 3, 5, number(-2)},
                            {VectorOp::kSubFxp, kMin, 1, kMax},
                            {VectorOp::kSubFxp, 0, kMin, kMin},
                            {VectorOp::kSubFxpSat, 3, 5, number(-2)},
                            {VectorOp::kSubFxpSat, kMin, 1, kMin},
                            {VectorOp::kSubFxpSat, 0, kMin, kMax},
                            {VectorOp::kSubFxpSat, number(-1), kMin, kMax},
                            {VectorOp::kMulInt, number(-3), 7, number(-21)},
                            {VectorOp::kMulInt, 0x10000u, 0x10001u, 0x10000u},  // 2^32 + 2^16
                            {VectorOp::kMulInt, kMin, number(-1), kMin}});
}

// Q31: a b / 2^31. 2^30 is 0.5.
TEST(VectorOps, FixedPointProductRoundsHalfUp) {
  constexpr VectorOp kOp = VectorOp::kMulFxp;
  expect_each(DType::kI32, {{kOp, 0x40000000u, 0x40000000u, 0x20000000u},
                            {kOp, 0x40000000u, 0xc0000000u, 0xe0000000u},
                            {kOp, 1, 0x40000000u, 1},                    // 0.5
                            {kOp, number(-1), 0x40000000u, 0},           // -0.5
                            {kOp, 3, 0x40000000u, 2},                    // 1.5
                            {kOp, number(-3), 0x40000000u, number(-1)},  // -1.5
                            {kOp, 1, 0x3fffffffu, 0},                    // just below a half
                            {kOp, number(-1), 0x40000001u, number(-1)},  // just beyond
                            {kOp, kMax, kMax, 0x7ffffffeu},              // 2^31 - 2 + 2^-31
                            {kOp, kMin, kMax, 0x80000001u},              // -(2^31 - 1)
                            {kOp, kMin, 1, number(-1)},
                            {kOp, kMin, kMin, kMax}});
}

TEST(VectorOps, ExtremesOfIntegers) {
  expect_each(DType::kI32, {{VectorOp::kMin, number(-1), 1, number(-1)},
                            {VectorOp::kMin, kMax, kMin, kMin},
                            {VectorOp::kMax, number(-1), 1, 1},
                            {VectorOp::kMax, kMin, kMax, kMax},
                            {VectorOp::kMax, 0xff800001u, 0xffc00000u, 0xffc00000u},  // no floats
                            {VectorOp::kAbsMin, number(-3), 2, 2},
                            {VectorOp::kAbsMin, number(-2), 3, number(-2)},
                            {VectorOp::kAbsMin, kMin, kMax, kMax},
                            {VectorOp::kAbsMin, number(-3), 3, 3},  // ties: the second
                            {VectorOp::kAbsMin, 3, number(-3), number(-3)},
                            {VectorOp::kAbsMax, number(-3), 2, number(-3)},
                            {VectorOp::kAbsMax, number(-2), 3, 3},
                            {VectorOp::kAbsMax, kMax, kMin, kMin},
                            {VectorOp::kAbsMax, kMin, kMax, kMin},
                            {VectorOp::kAbsMax, number(-3), 3, 3},
                            {VectorOp::kAbsMax, 3, number(-3), number(-3)}});
}

TEST(VectorOps, ExtremesOfFloats) {
  const uint32_t kMinusThree = code(-3), kThree = code(3);
  expect_each(DType::kF32, {{VectorOp::kMin, kMinusThree, kTwo, kMinusThree},
                            {VectorOp::kMin, code(-2), kMinusThree, kMinusThree},
                            {VectorOp::kMax, code(-2), kMinusThree, code(-2)},
                            {VectorOp::kMax, kInf, kTwo, kInf},
                            {VectorOp::kMin, kTwo, kMinusInf, kMinusInf},
                            {VectorOp::kAbsMin, kMinusThree, kTwo, kTwo},
                            {VectorOp::kAbsMin, kMinusThree, kThree, kThree},
                            {VectorOp::kAbsMin, kThree, kMinusThree, kMinusThree},
                            {VectorOp::kAbsMin, kMinusInf, kTwo, kTwo},
                            {VectorOp::kAbsMax, kMinusThree, kTwo, kMinusThree},
                            {VectorOp::kAbsMax, kMinusInf, kTwo, kMinusInf},
                            {VectorOp::kAbsMax, kMinusThree, kThree, kThree},
                            {VectorOp::kAbsMax, kThree, kMinusThree, kMinusThree}});
}

// Our choice: a NaN wins and is the canonical one, +0 is above -0; subnormals are zeros.
TEST(VectorOps, ExtremesOfUnusualFloats) {
  for (const VectorOp op : {VectorOp::kMin, VectorOp::kMax, VectorOp::kAbsMin, VectorOp::kAbsMax}) {
    expect_each(DType::kF32, {{op, 0xffc12345u, kOne, kQuietNan},
                              {op, kInf, 0x7f800001u, kQuietNan},
                              {op, 0x007fffffu, 0x00000001u, 0}});
  }
  expect_each(DType::kF32, {{VectorOp::kMin, 0, kMinusZero, kMinusZero},
                            {VectorOp::kMin, kMinusZero, 0, kMinusZero},
                            {VectorOp::kMax, 0, kMinusZero, 0},
                            {VectorOp::kMax, kMinusZero, 0, 0},
                            {VectorOp::kMax, 0x80000001u, kMinusZero, kMinusZero},
                            {VectorOp::kMin, 0x00000001u, 0x00800000u, 0},
                            {VectorOp::kAbsMax, 0, kMinusZero, kMinusZero},  // ties: the second
                            {VectorOp::kAbsMin, 0, 0x80000001u, kMinusZero}});
}

TEST(VectorOps, FloatArithmetic) {
  expect_each(DType::kF32, {{VectorOp::kAddF, kOne, kTwo, code(3)},
                            {VectorOp::kAddF, kOne, 0x33800000u, kOne},  // + 2^-24: even
                            {VectorOp::kAddF, 0x3f800001u, 0x33800000u, 0x3f800002u},
                            {VectorOp::kAddF, 0x01000000u, 0x80ffffffu, 0},  // 2^-149: zero
                            {VectorOp::kAddF, 0x00400000u, 0x00400000u, 0},  // zeros
                            {VectorOp::kAddF, kInf, kMinusInf, kQuietNan},
                            {VectorOp::kSubF, kOne, kTwo, code(-1)},
                            {VectorOp::kSubF, kTwo, kTwo, 0},
                            {VectorOp::kSubF, kMinusZero, 0, kMinusZero},
                            {VectorOp::kSubF, kInf, kInf, kQuietNan},
                            {VectorOp::kSubF, 0x00800000u, 0x00800001u, kMinusZero},
                            {VectorOp::kMulF, code(-2), code(3), code(-6)},
                            {VectorOp::kMulF, 0x7f000000u, kTwo, kInf},
                            {VectorOp::kMulF, 0x80800000u, 0x3f000000u, kMinusZero},
                            {VectorOp::kMulF, 0x00ffffffu, 0x3f000000u, 0x00800000u},
                            {VectorOp::kMulF, 0x007fffffu, kInf, kQuietNan},  // 0 x infinity
                            {VectorOp::kDivF, code(6), code(-3), code(-2)},
                            {VectorOp::kDivF, kOne, code(3), 0x3eaaaaabu},  // 1/3
                            {VectorOp::kDivF, kOne, kMinusZero, kMinusInf},
                            {VectorOp::kDivF, kOne, 0x00000001u, kInf},
                            {VectorOp::kDivF, 0, 0x80000001u, kQuietNan},  // 0 / 0
                            {VectorOp::kDivF, kInf, kInf, kQuietNan},
                            {VectorOp::kDivF, kOne, kMinusInf, kMinusZero},
                            {VectorOp::kDivF, 0x80800000u, kTwo, kMinusZero},  // subnormal
                            {VectorOp::kDivF, 0xffc12345u, kOne, kQuietNan}});
}

struct TernaryCase {
  uint32_t a, b, c, result;
};

TEST(VectorOps, FusedMultiplyAddRoundsOnce) {
  const TernaryCase cases[] = {
      {code(2), code(3), code(4), code(10)},
      // (1 + 2^-23)^2 - (1 + 2^-22) = 2^-46, which two roundings lose.
      {0x3f800001u, 0x3f800001u, 0xbf800002u, 0x28800000u},
      {kInf, 0, kOne, kQuietNan},
      {kInf, kOne, kMinusInf, kQuietNan},
      {kMinusInf, kTwo, kOne, kMinusInf},
      {0x7f000000u, kTwo, 0xff7fffffu, 0x73800000u},  // 2^128 - (2^128 - 2^104) = 2^104
      {0x007fffffu, kTwo, kOne, kOne},                // a zero operand
      {kOne, kOne, 0x80000001u, kOne},
      {kMinusZero, kOne, kMinusZero, kMinusZero},
      {kOne, kOne, 0xbf800000u, 0},
      {0x00800000u, 0x3f000000u, kMinusZero, 0},  // 2^-127: zero
      {0x80800000u, 0x3f000000u, 0, kMinusZero},
      {kOne, kOne, 0x7f812345u, kQuietNan},
  };
  for (const TernaryCase& c : cases) {
    EXPECT_EQ(apply_ternary(VectorOp::kFmaF, c.a, c.b, c.c), c.result)
        << std::hex << c.a << " x " << c.b << " + " << c.c;
  }
}

struct UnaryCase {
  VectorOp op;
  uint32_t a, result;
};

TEST(VectorOps, FunctionsAtSpecialValues) {
  const UnaryCase cases[] = {
      {VectorOp::kExp, 0, kOne},
      {VectorOp::kExp, kMinusInf, 0},
      {VectorOp::kExp, kInf, kInf},
      {VectorOp::kExp, code(89), kInf},  // e^88.73 is the largest
      {VectorOp::kExp, code(-88), 0},    // e^-87.34 = 2^-126 is the smallest
      {VectorOp::kExp, 0x00000001u, kOne},
      {VectorOp::kExp, kOne, 0x402df854u},     // 2.71828183
      {VectorOp::kNegExp, kOne, 0x3ebc5ab2u},  // 0.36787944
      {VectorOp::kNegExp, kInf, 0},
      {VectorOp::kNegExp, code(-89), kInf},
      {VectorOp::kSqrt, code(9), code(3)},
      {VectorOp::kSqrt, kTwo, 0x3fb504f3u},
      {VectorOp::kSqrt, kMinusZero, kMinusZero},
      {VectorOp::kSqrt, 0x807fffffu, kMinusZero},  // a subnormal is zero
      {VectorOp::kSqrt, code(-1), kQuietNan},
      {VectorOp::kSqrt, kInf, kInf},
      {VectorOp::kTanh, kInf, kOne},
      {VectorOp::kTanh, code(-20), code(-1)},
      {VectorOp::kTanh, kMinusZero, kMinusZero},
      {VectorOp::kTanh, 0x80000001u, kMinusZero},
      {VectorOp::kSigmoid, 0, 0x3f000000u},
      {VectorOp::kSigmoid, kInf, kOne},
      {VectorOp::kSigmoid, kMinusInf, 0},
      {VectorOp::kSigmoid, code(-200), 0},
      {VectorOp::kErf, kInf, kOne},
      {VectorOp::kErf, kMinusInf, code(-1)},
      {VectorOp::kErf, kMinusZero, kMinusZero},
      {VectorOp::kErf, kOne, 0x3f57bb3du},  // 0.84270079
      {VectorOp::kLog, kOne, 0},
      {VectorOp::kLog, kInf, kInf},
      {VectorOp::kLog, 0, kMinusInf},
      {VectorOp::kLog, 0x80000001u, kMinusInf},
      {VectorOp::kLog, code(-1), kQuietNan},
      {VectorOp::kLog, kTwo, 0x3f317218u},  // 0.69314718
      {VectorOp::kSin, kMinusZero, kMinusZero},
      {VectorOp::kSin, kInf, kQuietNan},
      {VectorOp::kCos, 0, kOne},
      {VectorOp::kCos, kMinusInf, kQuietNan},
  };
  for (const UnaryCase& c : cases) {
    EXPECT_EQ(apply_unary(c.op, c.a), c.result) << std::hex << name(c.op) << " of " << c.a;
  }
}

TEST(VectorOps, EveryFunctionKeepsNan) {
  for (size_t i = 0; i < kVectorOps; ++i) {
    const auto op = static_cast<VectorOp>(i);
    if (operand_count(op) != 1) continue;
    for (const uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu}) {
      EXPECT_EQ(apply_unary(op, nan), kQuietNan) << name(op);
    }
  }
}

struct FixedPointCase {
  uint32_t bits, int_width, result;
};

// x 2^-(31 - int_width).
TEST(VectorOps, FixedPointToFloat) {
  const FixedPointCase cases[] = {
      {0, 31, 0},
      {number(-5), 31, code(-5)},
      {0x01000001u, 31, 0x4b800000u},  // 2^24 + 1: tie, to even
      {0x01000003u, 31, 0x4b800002u},  // 2^24 + 3: tie, to even, up
      {kMax, 31, 0x4f000000u},         // 2^31
      {kMin, 31, 0xcf000000u},
      {0x40000000u, 0, 0x3f000000u},  // 0.5
      {kMin, 0, 0xbf800000u},         // -1
      {1, 0, 0x30000000u},            // 2^-31
      {0x00018000u, 15, code(1.5)},
      {number(-1), 15, 0xb7800000u},  // -2^-16
  };
  for (const FixedPointCase& c : cases) {
    EXPECT_EQ(fxp_to_fp(c.bits, c.int_width), c.result) << std::hex << c.bits;
  }
}

TEST(VectorOps, FloatToFixedPointRoundsHalfAwayAndClamps) {
  const FixedPointCase cases[] = {
      {code(2.5F), 31, 3},           {code(-2.5F), 31, number(-3)},
      {code(3.5F), 31, 4},           {code(0.5F), 31, 1},
      {0x3effffffu, 31, 0},  // just below a half
      {code(-0.5F), 31, number(-1)}, {kMinusZero, 31, 0},
      {0x00000001u, 0, 0},           {0x4effffffu, 31, 0x7fffff80u},  // 2^31 - 128
      {0x4f000000u, 31, kMax},       {0xcf000000u, 31, kMin},
      {0xcf000001u, 31, kMin},       {kInf, 31, kMax},
      {kMinusInf, 31, kMin},         {kQuietNan, 31, kMax},
      {0xffc00000u, 31, kMin},       {0x7f800001u, 15, kMax},
      {code(1.5F), 15, 0x00018000u}, {0x37000000u, 15, 1},  // 2^-17: half a step
      {0xb7000000u, 15, number(-1)}, {0x36ffffffu, 15, 0},
      {code(32768), 15, kMax},       {code(-32768), 15, kMin},
      {code(0.5F), 0, 0x40000000u},  {kOne, 0, kMax},
      {code(-1), 0, kMin},           {0x7f7fffffu, 0, kMax},
  };
  for (const FixedPointCase& c : cases) {
    EXPECT_EQ(fp_to_fxp(c.bits, c.int_width), c.result)
        << std::hex << c.bits << " with int_width " << std::dec << c.int_width;
  }
}

struct CompareCase {
  CompareOp op;
  DType dtype;
  uint32_t x, boundary;
  bool holds;
};

TEST(VectorOps, Comparisons) {
  using Op = CompareOp;
  constexpr DType kI = DType::kI32, kF = DType::kF32;
  const CompareCase cases[] = {
      {Op::kEqual, kI, 5, 5, true},
      {Op::kEqual, kI, 5, 6, false},
      {Op::kEqual, kI, kMinusZero, 0, false},
      {Op::kLess, kI, number(-1), 0, true},
      {Op::kLess, kI, 0, 0, false},
      {Op::kGreater, kI, 0, number(-1), true},
      {Op::kGreater, kI, 0, 0, false},
      {Op::kLessUnsigned, kI, number(-1), 0, false},
      {Op::kLessUnsigned, kI, 1, number(-1), true},
      {Op::kGreaterUnsigned, kI, number(-1), 0, true},
      {Op::kGreaterUnsigned, kI, 7, 7, false},
      {Op::kTrue, kI, 0, 0, true},
      {Op::kFalse, kI, 0, 0, false},
      {Op::kEqual, kF, kMinusZero, 0, true},
      {Op::kEqual, kF, 0x00000001u, kMinusZero, true},  // a subnormal is zero
      {Op::kEqual, kF, kQuietNan, kQuietNan, false},
      {Op::kLess, kF, code(-2), code(-1), true},
      {Op::kLess, kF, kMinusZero, 0, false},
      {Op::kLess, kF, kMinusInf, code(-1), true},
      {Op::kLess, kF, kQuietNan, kOne, false},
      {Op::kLess, kF, 0x007fffffu, 0x00800000u, true},
      {Op::kGreater, kF, code(-1), code(-2), true},
      {Op::kGreater, kF, kQuietNan, kOne, false},
      {Op::kGreater, kF, 0x00000001u, 0, false},
      {Op::kLessUnsigned, kF, code(1), code(-1), true},  // bits, not values
      {Op::kGreaterUnsigned, kF, kQuietNan, kInf, true},
      {Op::kGreaterUnsigned, kF, 0x00000001u, 0, true},
      {Op::kTrue, kF, kQuietNan, 0, true},
      {Op::kFalse, kF, kOne, kOne, false},
  };
  for (const CompareCase& c : cases) {
    EXPECT_EQ(compare(c.op, c.dtype, c.x, c.boundary), c.holds)
        << name(c.op) << " " << name(c.dtype) << std::hex << " of " << c.x << " and " << c.boundary;
  }
}

TEST(VectorOps, NamesAreDistinctAndWords) {
  std::set<std::string> names;
  for (size_t i = 0; i < kVectorOps; ++i) names.insert(name(static_cast<VectorOp>(i)));
  EXPECT_EQ(names.size(), kVectorOps);
  std::set<std::string> alus;
  for (size_t i = 0; i < kAlus; ++i) alus.insert(name(static_cast<Alu>(i)));
  EXPECT_EQ(alus.size(), kAlus);
  // First, last and what lies at the borders of groups.
  EXPECT_STREQ(name(VectorOp::kBitAnd), "bit_and");
  EXPECT_STREQ(name(VectorOp::kArithRightShift), "arith_right_shift");
  EXPECT_STREQ(name(VectorOp::kAddFxp), "add_fxp");
  EXPECT_STREQ(name(VectorOp::kArithRightShiftRound), "arith_right_shift_round");
  EXPECT_STREQ(name(VectorOp::kNegExp), "neg_exp");
  EXPECT_STREQ(name(VectorOp::kCos), "cos");
  EXPECT_STREQ(name(VectorOp::kFmaF), "fma_f");
  EXPECT_STREQ(name(VectorOp::kAbsMax), "abs_max");
  EXPECT_STREQ(name(Alu::kLogicAnd), "LogicAnd");
  EXPECT_STREQ(name(Alu::kFxpRshift), "FxpRshift");
  EXPECT_STREQ(name(Alu::kFpFma), "FpFma");
  EXPECT_STREQ(name(Alu::kReduceFpDiv), "ReduceFpDiv");
  EXPECT_STREQ(name(Alu::kClipMin), "ClipMin");
  EXPECT_STREQ(name(CompareOp::kEqual), "equal");
  EXPECT_STREQ(name(CompareOp::kGreaterUnsigned), "greater_unsigned");
  EXPECT_STREQ(name(CompareOp::kFalse), "false");
}

TEST(VectorOps, OperandCounts) {
  for (const VectorOp op : {VectorOp::kExp, VectorOp::kSqrt, VectorOp::kCos}) {
    EXPECT_EQ(operand_count(op), 1) << name(op);
  }
  EXPECT_EQ(operand_count(VectorOp::kFmaF), 3);
  for (const VectorOp op : {VectorOp::kBitAnd, VectorOp::kArithRightShiftRound, VectorOp::kAddF,
                            VectorOp::kDivF, VectorOp::kMin, VectorOp::kAbsMax}) {
    EXPECT_EQ(operand_count(op), 2) << name(op);
  }
}

}  // namespace
}  // namespace rngdsim
