// SPDX-License-Identifier: Apache-2.0

#include "numeric/arithmetic.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <vector>

namespace rngdsim {
namespace {

struct Operation {
  uint32_t a;
  uint32_t b;
  uint32_t result;
};

const Operation kSums[] = {
    {0x3f800000, 0x40000000, 0x40400000},  // 1 + 2 = 3
    {0x3f800000, 0x33800000, 0x3f800000},  // 1 + 2^-24: tie to even
    {0x3f800001, 0x33800000, 0x3f800002},  // tie to even, up
    {0x3f800000, 0xbf800000, 0x00000000},  // x - x = +0
    {0x80000000, 0x80000000, 0x80000000},  // -0 + -0 = -0
    {0x80000000, 0x00000000, 0x00000000},
    {0x00800000, 0x80800001, 0x80000000},  // -2^-149 is subnormal: -0
    {0x01000000, 0x80ffffff, 0x00000000},  // +2^-149: +0
    {0x01000000, 0x80800000, 0x00800000},  // 2^-125 - 2^-126 is normal
    {0x00400000, 0x00400000, 0x00000000},  // subnormal operands are zero
    {0x80400000, 0x80800000, 0x80800000},
    {0x7f7fffff, 0x7f7fffff, 0x7f800000},  // overflow
    {0x7f800000, 0xff800000, 0x7fc00000},  // infinity - infinity
    {0x7f800000, 0x3f800000, 0x7f800000},
    {0xffc12345, 0x3f800000, 0x7fc00000},  // NaN payload and sign are lost
    {0x3f800000, 0x7f800001, 0x7fc00000},  // signalling NaN
};

const Operation kProducts[] = {
    {0x40000000, 0x40400000, 0x40c00000},  // 2 * 3 = 6
    {0xc0000000, 0x40400000, 0xc0c00000},
    {0x00800000, 0x3f000000, 0x00000000},  // 2^-126 / 2: zero
    {0x80800000, 0x3f000000, 0x80000000},  // with its sign
    {0x00800000, 0x3f800000, 0x00800000},
    {0x00ffffff, 0x3f000000, 0x00800000},  // 2^-126 (1 - 2^-24): tie, rounds to normal, stays
    {0x00fffffe, 0x3f000000, 0x00000000},  // 2^-126 (1 - 2^-23): exact subnormal
    {0x20000000, 0x80000000, 0x80000000},
    {0x007fffff, 0x7f000000, 0x00000000},  // a subnormal operand is zero
    {0x807fffff, 0x7f000000, 0x80000000},
    {0x007fffff, 0x7f800000, 0x7fc00000},  // so this is 0 * infinity
    {0x00000000, 0xff800000, 0x7fc00000},
    {0x7f000000, 0x40000000, 0x7f800000},  // 2^127 * 2
    {0xff000000, 0x40000000, 0xff800000},
    {0x3f800001, 0x3f800001, 0x3f800002},  // 1 + 2^-22 + 2^-46
    {0xff800001, 0x00000000, 0x7fc00000},
};

bool has_subnormal_operand(const Operation& operation) {
  const auto subnormal = [](uint32_t bits) {
    return (bits & 0x7f800000) == 0 && (bits & 0x007fffff) != 0;
  };
  return subnormal(operation.a) || subnormal(operation.b);
}

TEST(ArithmeticTest, Flush) {
  EXPECT_EQ(bits_of(flush(float_of(0x80000001))), 0x80000000u);
  EXPECT_EQ(bits_of(flush(float_of(0x00800000))), 0x00800000u);
  EXPECT_EQ(bits_of(flush(float_of(0xffc00001))), 0x7fc00000u);
  EXPECT_EQ(bits_of(flush(float_of(0xff800000))), 0xff800000u);
  EXPECT_EQ(bits_of(flush_subnormal(float_of(0x807fffff))), 0x80000000u);
  EXPECT_EQ(bits_of(flush_subnormal(float_of(0x80800000))), 0x80800000u);
}

TEST(ArithmeticTest, SumsAndProducts) {
  for (const Operation& sum : kSums) {
    SCOPED_TRACE(testing::Message() << std::hex << sum.a << " + " << sum.b);
    const float a = float_of(sum.a);
    const float b = float_of(sum.b);
    EXPECT_EQ(bits_of(add_f32(a, b)), sum.result);
    EXPECT_EQ(bits_of(add_f32(b, a)), sum.result);
    if (!has_subnormal_operand(sum)) {
      EXPECT_EQ(bits_of(add_canonical_f32(a, b)), sum.result);
    }
  }
  for (const Operation& product : kProducts) {
    SCOPED_TRACE(testing::Message() << std::hex << product.a << " * " << product.b);
    const float a = float_of(product.a);
    const float b = float_of(product.b);
    EXPECT_EQ(bits_of(mul_f32(a, b)), product.result);
    EXPECT_EQ(bits_of(mul_f32(b, a)), product.result);
    if (!has_subnormal_operand(product)) {
      EXPECT_EQ(bits_of(mul_canonical_f32(a, b)), product.result);
    }
  }
}

// (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 rounds to 1 + 2^-11; a fused multiply-add would keep the 2^-24.
TEST(ArithmeticTest, MultiplyThenAddRoundsTwice) {
  volatile float x = 1.0f + 0x1p-12f;
  volatile float minus = -(1.0f + 0x1p-11f);
  const float factor = x;
  EXPECT_EQ(add_f32(mul_f32(factor, factor), minus), 0.0f);
  EXPECT_EQ(add_canonical_f32(mul_canonical_f32(factor, factor), minus), 0.0f);
}

TEST(ArithmeticTest, IntegersWrap) {
  constexpr int32_t kMin = INT32_MIN;
  constexpr int32_t kMax = INT32_MAX;
  EXPECT_EQ(add_i32(kMax, 1), kMin);
  EXPECT_EQ(add_i32(kMin, -1), kMax);
  EXPECT_EQ(add_i32(-5, 3), -2);
  EXPECT_EQ(mul_i32(kMin, -1), kMin);
  EXPECT_EQ(mul_i32(65536, 65536), 0);
  EXPECT_EQ(mul_i32(65537, 65537), 131073);  // 2^32 + 2^17 + 1
  EXPECT_EQ(mul_i32(-7, 6), -42);
}

// Each case of a table at every position of arrays of every length up to 40.
template <size_t table_size>
void expect_array(const Operation (&table)[table_size], bool canonical_operands_only,
                  void (*kernel)(const float*, const float*, float*, size_t)) {
  std::vector<Operation> cases;
  for (const Operation& operation : table) {
    if (!canonical_operands_only || !has_subnormal_operand(operation)) cases.push_back(operation);
  }
  for (size_t count = 0; count <= 40; ++count) {
    std::vector<float> a, b;
    for (size_t i = 0; i < count; ++i) {
      a.push_back(float_of(cases[i % cases.size()].a));
      b.push_back(float_of(cases[i % cases.size()].b));
    }
    std::vector<float> out(count + 1, 42.0f), in_place_a = a, in_place_b = b;
    kernel(a.data(), b.data(), out.data(), count);
    kernel(in_place_a.data(), b.data(), in_place_a.data(), count);
    kernel(a.data(), in_place_b.data(), in_place_b.data(), count);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t expected = cases[i % cases.size()].result;
      ASSERT_EQ(bits_of(out[i]), expected) << "case " << i << " of " << count;
      ASSERT_EQ(bits_of(in_place_a[i]), expected) << "case " << i << " of " << count;
      ASSERT_EQ(bits_of(in_place_b[i]), expected) << "case " << i << " of " << count;
    }
    ASSERT_EQ(out[count], 42.0f);
  }
}

TEST(ArithmeticTest, FloatArrays) {
  expect_array(kSums, false, add_arrays_f32);
  expect_array(kProducts, false, mul_arrays_f32);
  expect_array(kSums, true, add_arrays_canonical_f32);
  expect_array(kProducts, true, mul_arrays_canonical_f32);
}

TEST(ArithmeticTest, FlushArray) {
  std::vector<float> values(19, float_of(0x80000001));
  values[7] = float_of(0xffc00000);
  flush_array_f32(values.data(), values.data(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(bits_of(values[i]), i == 7 ? 0x7fc00000u : 0x80000000u);
  }
}

TEST(ArithmeticTest, IntegerArrays) {
  const std::vector<int32_t> a = {1, INT32_MAX, INT32_MIN, -3, 65537, 0, 7, 46341, -1};
  const std::vector<int32_t> b = {2, 1, -1, 5, 65537, 9, -7, 46341, -1};
  const std::vector<int32_t> sums = {3, INT32_MIN, INT32_MAX, 2, 131074, 9, 0, 92682, -2};
  const std::vector<int32_t> products = {2, INT32_MAX, INT32_MIN,   -15, 131073,
                                         0, -49,       -2147479015, 1};  // 46341^2 - 2^32
  std::vector<int32_t> out(a.size());
  add_arrays_i32(a.data(), b.data(), out.data(), out.size());
  EXPECT_EQ(out, sums);
  mul_arrays_i32(a.data(), b.data(), out.data(), out.size());
  EXPECT_EQ(out, products);
  out = a;
  add_arrays_i32(out.data(), b.data(), out.data(), out.size());
  EXPECT_EQ(out, sums);
}

// The library must not switch its caller's arithmetic to flush-to-zero or another rounding.
TEST(ArithmeticTest, FloatingPointEnvironmentIsLeftAlone) {
  std::vector<float> values(64, float_of(0x00ffffff));
  mul_arrays_f32(values.data(), values.data(), values.data(), values.size());
  volatile float smallest_normal = float_of(0x00800000);
  volatile float half = smallest_normal * 0.5f;
  EXPECT_EQ(bits_of(half), 0x00400000u);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

}  // namespace
}  // namespace rngdsim
