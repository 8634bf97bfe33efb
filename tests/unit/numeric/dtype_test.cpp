// SPDX-License-Identifier: Apache-2.0
//
// Expected values are the definitions of IEEE 754 and of the OCP 8-bit (OFP8) and microscaling (MX)
// formats, written out or computed here in another way than the library does.

#include "numeric/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace rngdsim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Row {
  DType dtype;
  const char* name;
  int value_bits;
  int memory_bits;
  int storage_bytes;
  bool integer;
  double min;
  double max;
};

const Row kRows[] = {
    {DType::kI4, "i4", 4, 4, 1, true, -8, 7},
    {DType::kI5, "i5", 5, 4, 1, true, -16, 15},
    {DType::kI8, "i8", 8, 8, 1, true, -128, 127},
    {DType::kI9, "i9", 9, 8, 2, true, -256, 255},
    {DType::kI16, "i16", 16, 16, 2, true, -32768, 32767},
    {DType::kI32, "i32", 32, 32, 4, true, -2147483648.0, 2147483647.0},
    {DType::kF8E4M3, "f8e4m3", 8, 8, 1, false, -448, 448},
    {DType::kF8E5M2, "f8e5m2", 8, 8, 1, false, -57344, 57344},
    {DType::kF4E2M1, "f4e2m1", 4, 4, 1, false, -6, 6},
    {DType::kBF16, "bf16", 16, 16, 2, false, -255.0 * 0x1p120, 255.0 * 0x1p120},
    {DType::kF32, "f32", 32, 32, 4, false, -16777215.0 * 0x1p104, 16777215.0 * 0x1p104},
};

TEST(DTypeTest, PropertiesOfEveryType) {
  ASSERT_EQ(std::size(kRows), static_cast<size_t>(kDTypeCount));
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    EXPECT_STREQ(name(row.dtype), row.name);
    EXPECT_EQ(value_bits(row.dtype), row.value_bits);
    EXPECT_EQ(memory_bits(row.dtype), row.memory_bits);
    EXPECT_EQ(storage_bytes(row.dtype), row.storage_bytes);
    EXPECT_EQ(is_integer(row.dtype), row.integer);
    EXPECT_EQ(is_float(row.dtype), !row.integer);
    EXPECT_EQ(min_value(row.dtype), row.min);
    EXPECT_EQ(max_value(row.dtype), row.max);
  }
}

TEST(DTypeTest, NamesParseBack) {
  const std::vector<std::string> names = dtype_names();
  const std::vector<DType> dtypes = all_dtypes();
  ASSERT_EQ(names.size(), std::size(kRows));
  ASSERT_EQ(dtypes.size(), std::size(kRows));
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(names[i], kRows[i].name);
    EXPECT_EQ(dtypes[i], kRows[i].dtype);
    EXPECT_EQ(parse_dtype(kRows[i].name), kRows[i].dtype);
  }
  for (const char* text : {"", "i", "i7", "I8", "f8", "f16", "bf16 ", " f32", "f8e4m3fn"}) {
    EXPECT_EQ(parse_dtype(text), std::nullopt) << '"' << text << '"';
  }
}

// hardware.md section 1: 32 B hold 64 i4 or i5, 32 i8, i9 or f8, 16 bf16 elements.
TEST(DTypeTest, ElementsInAFlit) {
  const auto elements = [](DType dtype) { return 32 * 8 / memory_bits(dtype); };
  EXPECT_EQ(elements(DType::kI4), 64);
  EXPECT_EQ(elements(DType::kI5), 64);
  EXPECT_EQ(elements(DType::kI8), 32);
  EXPECT_EQ(elements(DType::kI9), 32);
  EXPECT_EQ(elements(DType::kF8E4M3), 32);
  EXPECT_EQ(elements(DType::kF8E5M2), 32);
  EXPECT_EQ(elements(DType::kBF16), 16);
}

TEST(DTypeTest, IntegersAreTwosComplementAndIgnoreHigherBits) {
  EXPECT_EQ(to_double(DType::kI4, 0x7), 7);
  EXPECT_EQ(to_double(DType::kI4, 0x8), -8);
  EXPECT_EQ(to_double(DType::kI4, 0xf), -1);
  EXPECT_EQ(to_double(DType::kI4, 0xf7), 7);
  EXPECT_EQ(to_double(DType::kI5, 0x0f), 15);
  EXPECT_EQ(to_double(DType::kI5, 0x10), -16);
  EXPECT_EQ(to_double(DType::kI8, 0x80), -128);
  EXPECT_EQ(to_double(DType::kI8, 0xffffff7f), 127);
  EXPECT_EQ(to_double(DType::kI9, 0x0ff), 255);
  EXPECT_EQ(to_double(DType::kI9, 0x100), -256);
  EXPECT_EQ(to_double(DType::kI16, 0x8000), -32768);
  EXPECT_EQ(to_double(DType::kI32, 0x80000000), -2147483648.0);
  EXPECT_EQ(to_double(DType::kI32, 0xffffffff), -1);
}

TEST(DTypeTest, IntegersFromDoubleRoundToNearestEvenThenWrap) {
  EXPECT_EQ(from_double(DType::kI8, 2.4), 2u);
  EXPECT_EQ(from_double(DType::kI8, 2.5), 2u);
  EXPECT_EQ(from_double(DType::kI8, 3.5), 4u);
  EXPECT_EQ(from_double(DType::kI8, -0.5), 0u);
  EXPECT_EQ(from_double(DType::kI8, -1.5), 0xfeu);
  EXPECT_EQ(from_double(DType::kI8, 128), 0x80u);
  EXPECT_EQ(from_double(DType::kI8, -129), 0x7fu);
  EXPECT_EQ(from_double(DType::kI4, -1), 0xfu);
  EXPECT_EQ(from_double(DType::kI4, 8), 0x8u);
  EXPECT_EQ(from_double(DType::kI5, -16), 0x10u);
  EXPECT_EQ(from_double(DType::kI9, -1), 0x1ffu);
  EXPECT_EQ(from_double(DType::kI16, 65535), 0xffffu);
  EXPECT_EQ(from_double(DType::kI32, 2147483648.0), 0x80000000u);
  EXPECT_EQ(from_double(DType::kI32, 4294967296.0 + 5), 5u);
  EXPECT_EQ(from_double(DType::kI32, -4294967296.0 - 5), 0xfffffffbu);
  EXPECT_EQ(from_double(DType::kI32, 0x1p80), 0u);
  EXPECT_EQ(from_double(DType::kI32, kInfinity), 0u);
  EXPECT_EQ(from_double(DType::kI32, kNaN), 0u);
}

// value = (-1)^s * 2^(e - bias) * (1 + m / 2^M), or (-1)^s * 2^(1 - bias) * (m / 2^M) for e = 0.
double formula(uint32_t code, int mantissa_bits, int exponent_bits, int bias) {
  const int m = static_cast<int>(code % (1u << mantissa_bits));
  const int e = static_cast<int>((code >> mantissa_bits) % (1u << exponent_bits));
  const int s = static_cast<int>(code >> (mantissa_bits + exponent_bits));
  const double fraction = m / std::pow(2.0, mantissa_bits);
  const double magnitude =
      e == 0 ? std::pow(2.0, 1 - bias) * fraction : std::pow(2.0, e - bias) * (1.0 + fraction);
  return std::copysign(magnitude, s == 0 ? 1.0 : -1.0);
}

void expect_same_value(double actual, double expected, uint32_t code) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << "code 0x" << std::hex << code;
    return;
  }
  EXPECT_EQ(actual, expected) << "code 0x" << std::hex << code;
  EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << "code 0x" << std::hex << code;
}

TEST(DTypeTest, EveryF8E4M3Code) {
  for (uint32_t code = 0; code < 256; ++code) {
    const bool nan = code % 128 == 127;  // S.1111.111; there is no infinity
    expect_same_value(to_double(DType::kF8E4M3, code), nan ? kNaN : formula(code, 3, 4, 7), code);
  }
}

TEST(DTypeTest, EveryF8E5M2Code) {
  for (uint32_t code = 0; code < 256; ++code) {
    double expected = formula(code, 2, 5, 15);
    if (code % 128 == 0x7c) expected = code < 128 ? kInfinity : -kInfinity;  // S.11111.00
    if (code % 128 > 0x7c) expected = kNaN;                                  // S.11111.{01,10,11}
    expect_same_value(to_double(DType::kF8E5M2, code), expected, code);
  }
}

TEST(DTypeTest, EveryF4E2M1Code) {
  const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint32_t code = 0; code < 16; ++code) {
    const double expected = code < 8 ? magnitudes[code] : -magnitudes[code - 8];
    expect_same_value(to_double(DType::kF4E2M1, code), expected, code);
  }
}

TEST(DTypeTest, EveryBF16CodeIsTheUpperHalfOfAnF32) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const uint32_t bits = code << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    double expected = value;
    if (std::fpclassify(value) == FP_SUBNORMAL) expected = std::copysign(0.0, value);
    expect_same_value(to_double(DType::kBF16, code), expected, code);
  }
}

TEST(DTypeTest, F32Codes) {
  EXPECT_EQ(to_double(DType::kF32, 0x3f800000), 1.0);
  EXPECT_EQ(to_double(DType::kF32, 0xc0490fdb), -3.14159274101257324219);
  EXPECT_EQ(to_double(DType::kF32, 0x00800000), 0x1p-126);
  EXPECT_EQ(to_double(DType::kF32, 0x7f800000), kInfinity);
  EXPECT_TRUE(std::isnan(to_double(DType::kF32, 0xff800001)));
  expect_same_value(to_double(DType::kF32, 0x807fffff), -0.0, 0x807fffff);
}

struct Encoding {
  double value;
  uint32_t code;
};

void expect_encodings(DType dtype, const std::vector<Encoding>& encodings) {
  const uint32_t sign = uint32_t{1} << (value_bits(dtype) - 1);
  for (const Encoding& encoding : encodings) {
    EXPECT_EQ(from_double(dtype, encoding.value), encoding.code) << encoding.value;
    EXPECT_EQ(from_double(dtype, -encoding.value), encoding.code | sign) << -encoding.value;
  }
}

TEST(DTypeTest, F8E4M3FromDouble) {
  expect_encodings(DType::kF8E4M3, {
                                       {0.0, 0x00},
                                       {0x1p-9, 0x01},           // smallest subnormal
                                       {0x1p-10, 0x00},          // tie with zero, even
                                       {0x1.8p-10, 0x01},        // above the tie
                                       {0x1.8p-9, 0x02},         // tie 1 and 2, even
                                       {0.875 * 0x1p-6, 0x07},   // largest subnormal
                                       {0.9375 * 0x1p-6, 0x08},  // tie with the smallest normal
                                       {0x1p-6, 0x08},
                                       {1.0, 0x38},
                                       {1.0625, 0x38},  // tie, even below
                                       {1.1875, 0x3a},  // tie, even above
                                       {448, 0x7e},
                                       {464, 0x7e},
                                       {480, 0x7e},
                                       {1e300, 0x7e},
                                       {kInfinity, 0x7e},
                                   });
  EXPECT_EQ(from_double(DType::kF8E4M3, kNaN), 0x7fu);
  EXPECT_EQ(from_double(DType::kF8E4M3, -kNaN), 0x7fu);
}

TEST(DTypeTest, F8E5M2FromDouble) {
  expect_encodings(DType::kF8E5M2, {
                                       {0.0, 0x00},
                                       {0x1p-16, 0x01},
                                       {0x1p-17, 0x00},
                                       {0x1.000002p-17, 0x01},
                                       {0.75 * 0x1p-14, 0x03},
                                       {0x1p-14, 0x04},
                                       {1.0, 0x3c},
                                       {1.125, 0x3c},  // tie, even below
                                       {1.375, 0x3e},  // tie, even above
                                       {57344, 0x7b},
                                       {61439, 0x7b},
                                       {61440, 0x7c},  // tie with 2^16, which is infinity
                                       {kInfinity, 0x7c},
                                   });
  EXPECT_EQ(from_double(DType::kF8E5M2, kNaN), 0x7fu);
}

TEST(DTypeTest, F4E2M1FromDouble) {
  expect_encodings(DType::kF4E2M1, {
                                       {0, 0},
                                       {0.25, 0},  // tie, even
                                       {0.5, 1},
                                       {0.75, 2},  // tie, even
                                       {1, 2},
                                       {1.25, 2},
                                       {1.75, 4},
                                       {2.5, 4},
                                       {3.5, 6},
                                       {5, 6},
                                       {5.01, 7},
                                       {6, 7},
                                       {100, 7},
                                       {kInfinity, 7},
                                   });
  EXPECT_EQ(from_double(DType::kF4E2M1, kNaN), 0x7u);
}

TEST(DTypeTest, BF16FromDouble) {
  expect_encodings(DType::kBF16, {
                                     {0.0, 0x0000},
                                     {1.0, 0x3f80},
                                     {1.0 + 0x1p-8, 0x3f80},            // tie, even below
                                     {1.0 + 0x1p-8 + 0x1p-50, 0x3f81},  // one rounding, not two
                                     {1.0 + 3 * 0x1p-8, 0x3f82},        // tie, even above
                                     {0x1p-126, 0x0080},
                                     {0x1.fcp-127, 0x0000},  // exact subnormal: zero
                                     {0x1p-1074, 0x0000},
                                     {255.0 * 0x1p120, 0x7f7f},
                                     {255.5 * 0x1p120, 0x7f80},  // tie with 2^128
                                     {kInfinity, 0x7f80},
                                 });
  EXPECT_EQ(from_double(DType::kBF16, kNaN), 0x7fc0u);
  EXPECT_EQ(from_double(DType::kBF16, -kNaN), 0x7fc0u);
}

TEST(DTypeTest, F32FromDouble) {
  expect_encodings(DType::kF32, {
                                    {0.0, 0x00000000},
                                    {1.0, 0x3f800000},
                                    {0.1, 0x3dcccccd},
                                    {1.0 + 0x1p-24, 0x3f800000},
                                    {1.0 + 3 * 0x1p-24, 0x3f800002},
                                    {0x1p-126, 0x00800000},
                                    {0x1p-127, 0x00000000},
                                    {16777215.0 * 0x1p104, 0x7f7fffff},
                                    {16777215.5 * 0x1p104, 0x7f800000},
                                    {kInfinity, 0x7f800000},
                                });
  EXPECT_EQ(from_double(DType::kF32, kNaN), 0x7fc00000u);
}

// Every code of every small type, NaN and bf16 subnormals apart, comes back from its value.
TEST(DTypeTest, EverySmallCodeRoundTrips) {
  for (const Row& row : kRows) {
    if (row.value_bits > 16) continue;
    for (uint32_t code = 0; code < (uint32_t{1} << row.value_bits); ++code) {
      const double value = to_double(row.dtype, code);
      const bool flushed = row.dtype == DType::kBF16 && (code & 0x7f80) == 0;
      if (std::isnan(value) || flushed) continue;
      EXPECT_EQ(from_double(row.dtype, value), code) << row.name;
    }
  }
}

}  // namespace
}  // namespace rngdsim
