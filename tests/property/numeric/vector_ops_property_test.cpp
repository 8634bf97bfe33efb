// SPDX-License-Identifier: Apache-2.0
// Float operations of the Vector Engine against long double functions and against arithmetic of
// which it is shown that it rounds once; array forms against single elements. Every function and
// every operation is asked 200,000 times at random and for all pairs of the special values.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "numeric/random.h"
#include "numeric/vector_ops.h"

namespace rngdsim {
namespace {

constexpr uint64_t kRandomCases = 200'000;

const std::vector<uint32_t> kSpecialF32 = {
    0x00000000, 0x00000001, 0x007fffff, 0x00800000, 0x00800001, 0x00ffffff, 0x01000000,
    0x33800000, 0x34000000, 0x3effffff, 0x3f000000, 0x3f7fffff, 0x3f800000, 0x3f800001,
    0x3fc90fdb, 0x40490fdb, 0x42aeac50, 0x42b17218, 0x42b17217, 0x42cff1b5, 0x4b7fffff,
    0x4b800000, 0x7effffff, 0x7f000000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000,
};

std::vector<uint32_t> special_values() {
  std::vector<uint32_t> all = kSpecialF32;
  for (const uint32_t bits : kSpecialF32) all.push_back(bits | 0x80000000u);
  return all;
}

float as_float(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

uint32_t code_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The machine's f32: signed zero for subnormals, one NaN.
float machine_value(float value) {
  if (std::isnan(value)) return std::numeric_limits<float>::quiet_NaN();
  if (std::fpclassify(value) == FP_SUBNORMAL) return std::copysign(0.0F, value);
  return value;
}

uint32_t machine_code(float value) {
  return std::isnan(value) ? 0x7fc00000u : code_of(machine_value(value));
}

// Any bits; every other time with an exponent between -24 and 8, where functions have their shape,
// and near that of `like`, so that sums cancel and products meet them.
uint32_t random_f32(uint64_t seed, uint64_t index, uint32_t like = 0x3f800000u) {
  const auto bits = static_cast<uint32_t>(hash64(seed, index));
  if (index % 2 == 0) return bits;
  const auto center = static_cast<int>(like >> 23 & 0xffu);
  const int exponent = center - 24 + static_cast<int>(hash64(seed + 1, index) % 33);
  return (bits & 0x807fffffu) | static_cast<uint32_t>(std::min(std::max(exponent, 0), 255)) << 23;
}

// ---- Functions.

long double exact(VectorOp op, long double x) {
  switch (op) {
    case VectorOp::kExp:
      return std::exp(x);
    case VectorOp::kNegExp:
      return std::exp(-x);
    case VectorOp::kTanh:
      return std::tanh(x);
    case VectorOp::kSigmoid:
      return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
    case VectorOp::kErf:
      return std::erf(x);
    case VectorOp::kLog:
      return std::log(x);
    case VectorOp::kSin:
      return std::sin(x);
    default:
      return std::cos(x);
  }
}

int64_t ordinal(uint32_t bits) {
  const int64_t magnitude = bits & 0x7fffffffu;
  return (bits >> 31) != 0 ? -magnitude : magnitude;
}

// Within a unit in the last place; where the exact value lies at the edge of the subnormals, zero
// and the smallest normal number are neighbours.
bool close(uint32_t result, long double value) {
  const auto nearest = static_cast<float>(value);
  if (std::isnan(nearest)) return result == 0x7fc00000u;
  if (std::abs(ordinal(result) - ordinal(machine_code(nearest))) <= 1) return true;
  constexpr float kSmallest = std::numeric_limits<float>::min();
  return std::abs(std::abs(nearest) - kSmallest) <= std::numeric_limits<float>::denorm_min() &&
         (std::abs(as_float(result)) == kSmallest || as_float(result) == 0);
}

void expect_close(VectorOp op, uint32_t x) {
  const long double value = exact(op, machine_value(as_float(x)));
  const uint32_t result = apply_unary(op, x);
  ASSERT_TRUE(close(result, value))
      << name(op) << " of " << std::hex << x << " is " << result << ", not " << value;
}

TEST(VectorOpsProperty, FunctionsAreWithinAUnitInTheLastPlace) {
  for (const VectorOp op : {VectorOp::kExp, VectorOp::kNegExp, VectorOp::kTanh, VectorOp::kSigmoid,
                            VectorOp::kErf, VectorOp::kLog, VectorOp::kSin, VectorOp::kCos}) {
    for (const uint32_t x : special_values()) expect_close(op, x);
    for (uint64_t i = 0; i < kRandomCases; ++i) expect_close(op, random_f32(100, i));
    if (HasFatalFailure()) return;
  }
}

// ---- Operations that round once. Sum, product, quotient and square root of 24-bit numbers,
// rounded to 53 >= 2 x 24 + 2 bits and then to 24 or fewer, are what rounding once gives (Figueroa
// 1995).

float rounded_once(VectorOp op, double a, double b) {
  switch (op) {
    case VectorOp::kAddF:
      return static_cast<float>(a + b);
    case VectorOp::kSubF:
      return static_cast<float>(a - b);
    case VectorOp::kMulF:
      return static_cast<float>(a * b);
    case VectorOp::kDivF:
      return static_cast<float>(a / b);
    default:
      return static_cast<float>(std::sqrt(a));
  }
}

// The product has 48 bits and is exact in double. The sum is rounded to odd, with the error of the
// double sum (Knuth's TwoSum), after which a second rounding to 24 bits is the right one.
float fused(double a, double b, double c) {
  const double product = a * b;
  double sum = product + c;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  uint64_t bits = 0;
  std::memcpy(&bits, &sum, sizeof bits);
  if (std::isfinite(sum) && error != 0 && bits % 2 == 0) {
    sum = std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
  }
  return static_cast<float>(sum);
}

void expect_exact(VectorOp op, uint32_t a, uint32_t b) {
  const float wanted = rounded_once(op, machine_value(as_float(a)), machine_value(as_float(b)));
  const uint32_t result =
      op == VectorOp::kSqrt ? apply_unary(op, a) : apply_binary(op, DType::kF32, a, b);
  ASSERT_EQ(result, machine_code(wanted)) << name(op) << std::hex << " of " << a << ", " << b;
}

TEST(VectorOpsProperty, SumsProductsQuotientsAndRootsRoundOnce) {
  const std::vector<uint32_t> special = special_values();
  for (const VectorOp op :
       {VectorOp::kAddF, VectorOp::kSubF, VectorOp::kMulF, VectorOp::kDivF, VectorOp::kSqrt}) {
    for (const uint32_t a : special) {
      for (const uint32_t b : special) expect_exact(op, a, b);
    }
    for (uint64_t i = 0; i < kRandomCases; ++i) {
      const uint32_t a = random_f32(200, i / 2);
      expect_exact(op, a, random_f32(300, i, a));
    }
    if (HasFatalFailure()) return;
  }
}

void expect_fused(uint32_t a, uint32_t b, uint32_t c) {
  const float wanted =
      fused(machine_value(as_float(a)), machine_value(as_float(b)), machine_value(as_float(c)));
  ASSERT_EQ(apply_ternary(VectorOp::kFmaF, a, b, c), machine_code(wanted))
      << std::hex << a << " x " << b << " + " << c;
}

TEST(VectorOpsProperty, FusedMultiplyAddRoundsOnce) {
  const std::vector<uint32_t> special = special_values();
  for (const uint32_t a : special) {
    for (const uint32_t b : special) {
      for (const uint32_t c : special) expect_fused(a, b, c);
    }
  }
  for (uint64_t i = 0; i < kRandomCases; ++i) {
    const uint32_t a = random_f32(400, i / 2), b = random_f32(500, i);
    // Near the product, so that it cancels or that its tail decides.
    expect_fused(a, b, random_f32(600, i, code_of(as_float(a) * as_float(b))));
    if (HasFatalFailure()) return;
  }
}

// ---- Array forms.

std::vector<uint32_t> random_bits(uint64_t seed, size_t count) {
  std::vector<uint32_t> bits(count);
  for (size_t i = 0; i < count; ++i) {
    // Small numbers now and then: amounts of shifts.
    bits[i] = static_cast<uint32_t>(hash64(seed, i)) >> (i % 3 == 0 ? 26 : 0);
  }
  return bits;
}

// An odd count, so that vector loops have a rest.
constexpr size_t kCount = 1003;

TEST(VectorOpsProperty, ArraysEqualElements) {
  const std::vector<uint32_t> a = random_bits(1, kCount), b = random_bits(2, kCount),
                              c = random_bits(3, kCount);
  for (size_t i = 0; i < kVectorOps; ++i) {
    const auto op = static_cast<VectorOp>(i);
    for (const DType dtype : {DType::kI32, DType::kF32}) {
      std::vector<uint32_t> wanted(kCount), out(kCount + 1, 0xdeadbeefu);
      for (size_t e = 0; e < kCount; ++e) {
        wanted[e] = operand_count(op) == 1   ? apply_unary(op, a[e])
                    : operand_count(op) == 2 ? apply_binary(op, dtype, a[e], b[e])
                                             : apply_ternary(op, a[e], b[e], c[e]);
      }
      // Beside the inputs, then in place of each of them.
      std::vector<uint32_t> in[3] = {a, b, c};
      const auto apply = [&](uint32_t* to) {
        if (operand_count(op) == 1) {
          apply_unary_array(op, in[0].data(), to, kCount);
        } else if (operand_count(op) == 2) {
          apply_binary_array(op, dtype, in[0].data(), in[1].data(), to, kCount);
        } else {
          apply_ternary_array(op, in[0].data(), in[1].data(), in[2].data(), to, kCount);
        }
      };
      apply(out.data());
      EXPECT_EQ(out.back(), 0xdeadbeefu) << name(op);
      out.pop_back();
      EXPECT_EQ(out, wanted) << name(op);
      for (int place = 0; place < operand_count(op); ++place) {
        in[0] = a;
        in[1] = b;
        in[2] = c;
        apply(in[place].data());
        EXPECT_EQ(in[place], wanted) << name(op) << " in place of operand " << place;
      }
    }
  }
}

TEST(VectorOpsProperty, NoElementsIsNothing) {
  apply_unary_array(VectorOp::kExp, nullptr, nullptr, 0);
  uint32_t out = 5;
  apply_binary_array(VectorOp::kAddFxp, DType::kI32, &out, &out, &out, 0);
  EXPECT_EQ(out, 5u);
}

}  // namespace
}  // namespace rngdsim
