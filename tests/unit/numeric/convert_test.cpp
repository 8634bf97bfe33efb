// SPDX-License-Identifier: Apache-2.0

#include "numeric/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace rngdsim {
namespace {

using D = DType;
using Pairs = std::set<std::pair<DType, DType>>;

// The tables of hardware.md, written out once more.
const Pairs kFetch = {{D::kI4, D::kI32},     {D::kI8, D::kI32},     {D::kI16, D::kI32},
                      {D::kF8E4M3, D::kF32}, {D::kF8E5M2, D::kF32}, {D::kBF16, D::kF32},
                      {D::kF32, D::kBF16}};
const Pairs kLookup = {{D::kF4E2M1, D::kF8E4M3},
                       {D::kF4E2M1, D::kF8E5M2},
                       {D::kF8E4M3, D::kBF16},
                       {D::kF8E5M2, D::kBF16}};
const Pairs kZeroPoint = {{D::kI4, D::kI5}, {D::kI8, D::kI9}};
const Pairs kEngine = {{D::kI32, D::kI4},     {D::kI32, D::kI8},     {D::kI32, D::kI16},
                       {D::kF32, D::kF8E4M3}, {D::kF32, D::kF8E5M2}, {D::kF32, D::kBF16}};
const Pairs kCommit = {{D::kF32, D::kBF16}};
const Pairs kMultiply = {{D::kI4, D::kI4},         {D::kI4, D::kI5},        {D::kI5, D::kI4},
                         {D::kI5, D::kI5},         {D::kI8, D::kI8},        {D::kI8, D::kI9},
                         {D::kI9, D::kI8},         {D::kI9, D::kI9},        {D::kBF16, D::kBF16},
                         {D::kF8E4M3, D::kF8E4M3}, {D::kF8E5M2, D::kF8E5M2}};
// Widened by the multiplier and by nothing else.
const Pairs kWidenOnly = {
    {D::kI5, D::kI32}, {D::kI9, D::kI32}, {DType::kF4E2M1, DType::kF32},  // through a table
};

bool has(const Pairs& pairs, DType from, DType to) { return pairs.count({from, to}) != 0; }

TEST(ConvertTest, EveryPairIsAllowedOrRefusedAsDocumented) {
  for (DType from : all_dtypes()) {
    for (DType to : all_dtypes()) {
      SCOPED_TRACE(std::string(name(from)) + " -> " + name(to));
      EXPECT_EQ(can_fetch_cast(from, to), has(kFetch, from, to));
      EXPECT_EQ(can_table_lookup(from, to), has(kLookup, from, to));
      EXPECT_EQ(zero_point_type(from) == to, has(kZeroPoint, from, to));
      EXPECT_EQ(can_cast_engine(from, to), has(kEngine, from, to));
      EXPECT_EQ(can_commit_cast(from, to), has(kCommit, from, to));
      EXPECT_EQ(can_multiply(from, to), has(kMultiply, from, to));
      EXPECT_EQ(can_convert(from, to), from == to || has(kFetch, from, to) ||
                                           has(kLookup, from, to) || has(kZeroPoint, from, to) ||
                                           has(kEngine, from, to) || has(kWidenOnly, from, to));
    }
  }
}

void expect_targets(const Pairs& pairs, std::vector<DType> (*targets)(DType)) {
  for (DType from : all_dtypes()) {
    Pairs listed;
    for (DType to : targets(from)) EXPECT_TRUE(listed.insert({from, to}).second) << name(to);
    for (DType to : all_dtypes()) EXPECT_EQ(has(listed, from, to), has(pairs, from, to));
  }
}

TEST(ConvertTest, TargetListsHoldExactlyTheAllowedPairs) {
  expect_targets(kFetch, fetch_cast_targets);
  expect_targets(kLookup, table_lookup_targets);
  expect_targets(kEngine, cast_engine_targets);
  expect_targets(kCommit, commit_cast_targets);
  expect_targets(kMultiply, multiply_partners);
}

TEST(ConvertTest, AccumulatorType) {
  for (DType dtype : {D::kI4, D::kI5, D::kI8, D::kI9}) EXPECT_EQ(accumulator_type(dtype), D::kI32);
  for (DType dtype : {D::kF8E4M3, D::kF8E5M2, D::kBF16}) {
    EXPECT_EQ(accumulator_type(dtype), D::kF32);
  }
}

TEST(ConvertTest, CanonicalF32) {
  EXPECT_EQ(canonical_f32(0x00000000), 0x00000000u);
  EXPECT_EQ(canonical_f32(0x80000000), 0x80000000u);
  EXPECT_EQ(canonical_f32(0x00000001), 0x00000000u);  // smallest subnormal
  EXPECT_EQ(canonical_f32(0x007fffff), 0x00000000u);  // largest subnormal
  EXPECT_EQ(canonical_f32(0x807fffff), 0x80000000u);
  EXPECT_EQ(canonical_f32(0x00800000), 0x00800000u);  // smallest normal
  EXPECT_EQ(canonical_f32(0x80800000), 0x80800000u);
  EXPECT_EQ(canonical_f32(0x7f7fffff), 0x7f7fffffu);
  EXPECT_EQ(canonical_f32(0x7f800000), 0x7f800000u);  // infinity
  EXPECT_EQ(canonical_f32(0xff800000), 0xff800000u);
  EXPECT_EQ(canonical_f32(0x7f800001), 0x7fc00000u);  // signalling NaN
  EXPECT_EQ(canonical_f32(0xffc00000), 0x7fc00000u);  // negative NaN
  EXPECT_EQ(canonical_f32(0xffffffff), 0x7fc00000u);
  EXPECT_EQ(canonical_f32(0x7fc00000), 0x7fc00000u);
}

TEST(ConvertTest, F32ToBF16) {
  EXPECT_EQ(f32_to_bf16(0x3f800000), 0x3f80u);
  EXPECT_EQ(f32_to_bf16(0x3f807fff), 0x3f80u);  // below the tie
  EXPECT_EQ(f32_to_bf16(0x3f808000), 0x3f80u);  // tie, even below
  EXPECT_EQ(f32_to_bf16(0x3f808001), 0x3f81u);  // above the tie
  EXPECT_EQ(f32_to_bf16(0x3f818000), 0x3f82u);  // tie, even above
  EXPECT_EQ(f32_to_bf16(0xbf818000), 0xbf82u);
  EXPECT_EQ(f32_to_bf16(0x3fffffff), 0x4000u);  // carry into the exponent
  EXPECT_EQ(f32_to_bf16(0x7f7f7fff), 0x7f7fu);
  EXPECT_EQ(f32_to_bf16(0x7f7f8000), 0x7f80u);  // overflow
  EXPECT_EQ(f32_to_bf16(0xff7fffff), 0xff80u);
  EXPECT_EQ(f32_to_bf16(0x7f800000), 0x7f80u);
  EXPECT_EQ(f32_to_bf16(0xff800000), 0xff80u);
  EXPECT_EQ(f32_to_bf16(0x7f800001), 0x7fc0u);
  EXPECT_EQ(f32_to_bf16(0xffffffff), 0x7fc0u);
  EXPECT_EQ(f32_to_bf16(0x80000000), 0x8000u);
  EXPECT_EQ(f32_to_bf16(0x00800000), 0x0080u);
  EXPECT_EQ(f32_to_bf16(0x007fffff), 0x0000u);  // flushed before it could round up to normal
  EXPECT_EQ(f32_to_bf16(0x80400000), 0x8000u);
  EXPECT_EQ(convert(D::kF32, D::kBF16, 0x3f818000), 0x3f82u);
  EXPECT_EQ(convert(D::kF32, D::kBF16, 0xff812345), 0x7fc0u);
}

TEST(ConvertTest, F32ToF8E4M3) {
  const auto to_f8 = [](uint32_t bits) { return convert(D::kF32, D::kF8E4M3, bits); };
  EXPECT_EQ(to_f8(0x00000000), 0x00u);
  EXPECT_EQ(to_f8(0x80000000), 0x80u);
  EXPECT_EQ(to_f8(0x3f800000), 0x38u);  // 1
  EXPECT_EQ(to_f8(0x3f880000), 0x38u);  // 1.0625, tie to even
  EXPECT_EQ(to_f8(0x3f880001), 0x39u);
  EXPECT_EQ(to_f8(0x3f980000), 0x3au);  // 1.1875, tie to even
  EXPECT_EQ(to_f8(0x3f97ffff), 0x39u);
  EXPECT_EQ(to_f8(0x43e00000), 0x7eu);  // 448
  EXPECT_EQ(to_f8(0x43f00000), 0x7eu);  // 480
  EXPECT_EQ(to_f8(0xc4800000), 0xfeu);  // -1024
  EXPECT_EQ(to_f8(0x7f800000), 0x7eu);  // infinity saturates
  EXPECT_EQ(to_f8(0xff800000), 0xfeu);
  EXPECT_EQ(to_f8(0x7fc00000), 0x7fu);
  EXPECT_EQ(to_f8(0xffc00001), 0x7fu);
  EXPECT_EQ(to_f8(0x3c800000), 0x08u);  // 2^-6, smallest normal
  EXPECT_EQ(to_f8(0x3b000000), 0x01u);  // 2^-9, smallest subnormal
  EXPECT_EQ(to_f8(0x3a800000), 0x00u);  // 2^-10, tie with zero
  EXPECT_EQ(to_f8(0xba800001), 0x81u);
  EXPECT_EQ(to_f8(0x00800000), 0x00u);
}

TEST(ConvertTest, F32ToF8E5M2) {
  const auto to_f8 = [](uint32_t bits) { return convert(D::kF32, D::kF8E5M2, bits); };
  EXPECT_EQ(to_f8(0x80000000), 0x80u);
  EXPECT_EQ(to_f8(0x3f800000), 0x3cu);  // 1
  EXPECT_EQ(to_f8(0x3f900000), 0x3cu);  // 1.125, tie to even
  EXPECT_EQ(to_f8(0x3fb00000), 0x3eu);  // 1.375, tie to even
  EXPECT_EQ(to_f8(0x47600000), 0x7bu);  // 57344
  EXPECT_EQ(to_f8(0x476fffff), 0x7bu);  // below 61440
  EXPECT_EQ(to_f8(0x47700000), 0x7cu);  // 61440: the tie goes to infinity
  EXPECT_EQ(to_f8(0xff800000), 0xfcu);
  EXPECT_EQ(to_f8(0xff800001), 0x7fu);
  EXPECT_EQ(to_f8(0x38800000), 0x04u);  // 2^-14, smallest normal
  EXPECT_EQ(to_f8(0x37800000), 0x01u);  // 2^-16, smallest subnormal
  EXPECT_EQ(to_f8(0x37000000), 0x00u);  // 2^-17, tie with zero
}

double value_of(uint32_t f32_bits) {
  float value;
  std::memcpy(&value, &f32_bits, sizeof value);
  return value;
}

// Widening keeps the value (whose own definition dtype_test checks) and the sign of zero.
TEST(ConvertTest, EveryFloatCodeWidensExactly) {
  for (DType from : {D::kF8E4M3, D::kF8E5M2, D::kBF16}) {
    for (uint32_t code = 0; code < (1u << value_bits(from)); ++code) {
      const uint32_t widened = convert(from, D::kF32, code);
      const double expected = to_double(from, code);
      if (std::isnan(expected)) {
        EXPECT_EQ(widened, 0x7fc00000u) << name(from) << " " << code;
        continue;
      }
      EXPECT_EQ(value_of(widened), expected) << name(from) << " " << code;
      EXPECT_EQ(std::signbit(value_of(widened)), std::signbit(expected)) << name(from) << code;
    }
  }
}

TEST(ConvertTest, WideningTable) {
  EXPECT_EQ(convert(D::kF8E4M3, D::kF32, 0x7e), 0x43e00000u);  // 448
  EXPECT_EQ(convert(D::kF8E4M3, D::kF32, 0x01), 0x3b000000u);  // 2^-9
  EXPECT_EQ(convert(D::kF8E4M3, D::kF32, 0x87), 0xbc600000u);  // -0.875 * 2^-6
  EXPECT_EQ(convert(D::kF8E4M3, D::kF32, 0xff), 0x7fc00000u);
  EXPECT_EQ(convert(D::kF8E5M2, D::kF32, 0x01), 0x37800000u);  // 2^-16
  EXPECT_EQ(convert(D::kF8E5M2, D::kF32, 0x7c), 0x7f800000u);
  EXPECT_EQ(convert(D::kF8E5M2, D::kF32, 0xfd), 0x7fc00000u);
  EXPECT_EQ(convert(D::kBF16, D::kF32, 0xff81), 0x7fc00000u);
  EXPECT_EQ(convert(D::kBF16, D::kF32, 0x807f), 0x80000000u);
  EXPECT_EQ(convert(D::kBF16, D::kF32, 0xc049), 0xc0490000u);
}

TEST(ConvertTest, TableLookupIsExact) {
  const Pairs lookups = kLookup;
  for (const auto& [from, to] : lookups) {
    for (uint32_t code = 0; code < (1u << value_bits(from)); ++code) {
      const double expected = to_double(from, code);
      const uint32_t looked_up = convert(from, to, code);
      if (std::isnan(expected)) {
        EXPECT_EQ(looked_up, 0x7fc0u);
        continue;
      }
      EXPECT_EQ(to_double(to, looked_up), expected);
      EXPECT_EQ(std::signbit(to_double(to, looked_up)), std::signbit(expected));
    }
  }
}

TEST(ConvertTest, IntegersSignExtend) {
  EXPECT_EQ(convert(D::kI4, D::kI32, 0x7), 7u);
  EXPECT_EQ(convert(D::kI4, D::kI32, 0x8), 0xfffffff8u);
  EXPECT_EQ(convert(D::kI4, D::kI32, 0xf1), 1u);  // bits above the value are ignored
  EXPECT_EQ(convert(D::kI5, D::kI32, 0x0f), 15u);
  EXPECT_EQ(convert(D::kI5, D::kI32, 0x10), 0xfffffff0u);
  EXPECT_EQ(convert(D::kI8, D::kI32, 0x80), 0xffffff80u);
  EXPECT_EQ(convert(D::kI8, D::kI32, 0x7f), 127u);
  EXPECT_EQ(convert(D::kI9, D::kI32, 0x100), 0xffffff00u);
  EXPECT_EQ(convert(D::kI9, D::kI32, 0x0ff), 255u);
  EXPECT_EQ(convert(D::kI16, D::kI32, 0x8000), 0xffff8000u);
  EXPECT_EQ(convert(D::kI4, D::kI5, 0xf), 0x1fu);
  EXPECT_EQ(convert(D::kI8, D::kI9, 0x80), 0x180u);
}

TEST(ConvertTest, IntegersWrapWhenNarrowed) {
  EXPECT_EQ(convert(D::kI32, D::kI4, 8), 0x8u);  // 8 becomes -8
  EXPECT_EQ(convert(D::kI32, D::kI4, 0xffffffff), 0xfu);
  EXPECT_EQ(convert(D::kI32, D::kI4, 16), 0x0u);
  EXPECT_EQ(convert(D::kI32, D::kI8, 0x00000180), 0x80u);
  EXPECT_EQ(convert(D::kI32, D::kI8, 0xffffff7f), 0x7fu);
  EXPECT_EQ(convert(D::kI32, D::kI16, 0x12348765), 0x8765u);
}

TEST(ConvertTest, ConversionToItselfIsTheCanonicalForm) {
  EXPECT_EQ(convert(D::kI4, D::kI4, 0xfa), 0xau);
  EXPECT_EQ(convert(D::kI9, D::kI9, 0xffff), 0x1ffu);
  EXPECT_EQ(convert(D::kI32, D::kI32, 0x80000000), 0x80000000u);
  EXPECT_EQ(convert(D::kF8E4M3, D::kF8E4M3, 0xff), 0x7fu);
  EXPECT_EQ(convert(D::kF8E4M3, D::kF8E4M3, 0x81), 0x81u);
  EXPECT_EQ(convert(D::kF8E5M2, D::kF8E5M2, 0x7d), 0x7fu);
  EXPECT_EQ(convert(D::kF8E5M2, D::kF8E5M2, 0xfc), 0xfcu);
  EXPECT_EQ(convert(D::kF4E2M1, D::kF4E2M1, 0xf), 0xfu);
  EXPECT_EQ(convert(D::kBF16, D::kBF16, 0xff81), 0x7fc0u);
  EXPECT_EQ(convert(D::kBF16, D::kBF16, 0x807f), 0x8000u);
  EXPECT_EQ(convert(D::kF32, D::kF32, 0x807fffff), 0x80000000u);
  EXPECT_EQ(convert(D::kF32, D::kF32, 0xffffffff), 0x7fc00000u);
}

TEST(ConvertTest, ReluCanonicalizesNaNFirstAndThenClearsNegatives) {
  EXPECT_EQ(relu_f32(0x3f800000), 0x3f800000u);
  EXPECT_EQ(relu_f32(0xbf800000), 0u);
  EXPECT_EQ(relu_f32(0x80000000), 0u);
  EXPECT_EQ(relu_f32(0xff800000), 0u);           // -infinity
  EXPECT_EQ(relu_f32(0xffc00000), 0x7fc00000u);  // a negative NaN is a NaN, not a negative
  EXPECT_EQ(relu_f32(0x00400000), 0u);
  EXPECT_EQ(relu_bf16(0x3f80), 0x3f80u);
  EXPECT_EQ(relu_bf16(0x8000), 0u);
  EXPECT_EQ(relu_bf16(0xff80), 0u);
  EXPECT_EQ(relu_bf16(0xff81), 0x7fc0u);
  EXPECT_EQ(relu_bf16(0x7f80), 0x7f80u);
}

// ---- Arrays

uint32_t load(const unsigned char* array, int bytes, size_t index) {
  uint32_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) value = value << 8 | array[index * bytes + i];
  return value;
}

// Bytes that run through all codes and, for the wide types, hit NaN, infinity and subnormals.
std::vector<unsigned char> test_bytes(size_t size) {
  std::vector<unsigned char> bytes(size);
  uint32_t state = 12345;
  for (size_t i = 0; i < size; ++i) {
    state = state * 1664525u + 1013904223u;
    const uint32_t choice = (state >> 16) % 8;
    bytes[i] = choice == 0   ? 0xff
               : choice == 1 ? 0x7f
               : choice == 2 ? 0x80
               : choice == 3 ? 0x00
                             : static_cast<unsigned char>(state >> 24);
  }
  return bytes;
}

TEST(ConvertTest, ArraysEqualScalarsForEveryPairAndLengthAndAlignment) {
  constexpr unsigned char kGuard = 0xa5;
  for (DType from : all_dtypes()) {
    for (DType to : all_dtypes()) {
      if (!can_convert(from, to)) continue;
      SCOPED_TRACE(std::string(name(from)) + " -> " + name(to));
      const int in_bytes = storage_bytes(from);
      const int out_bytes = storage_bytes(to);
      for (size_t count : {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 1000}) {
        for (size_t offset : {0, 1}) {
          const std::vector<unsigned char> in = test_bytes(offset + count * in_bytes);
          std::vector<unsigned char> out(offset + count * out_bytes + 1, kGuard);
          convert_array(from, to, in.data() + offset, out.data() + offset, count);
          for (size_t i = 0; i < count; ++i) {
            const uint32_t bits = load(in.data() + offset, in_bytes, i);
            ASSERT_EQ(load(out.data() + offset, out_bytes, i), convert(from, to, bits))
                << "element " << i << " of " << count << ", bits " << bits;
          }
          ASSERT_EQ(out.back(), kGuard);
        }
      }
    }
  }
}

TEST(ConvertTest, ArrayToItselfInPlace) {
  std::vector<uint32_t> values(37, 0x80000001);
  convert_array(D::kF32, D::kF32, values.data(), values.data(), values.size());
  EXPECT_EQ(values, std::vector<uint32_t>(37, 0x80000000));
}

TEST(ConvertTest, CommitCastWithRelu) {
  const std::vector<uint32_t> in = {0x3f818000, 0xbf818000, 0x80000000, 0x7f7fffff,
                                    0xffc00000, 0xff800000, 0x007fffff, 0x7f800001};
  const std::vector<uint16_t> expected = {0x3f82, 0, 0, 0x7f80, 0x7fc0, 0, 0, 0x7fc0};
  std::vector<uint16_t> out(in.size());
  commit_cast_relu_array(in.data(), out.data(), in.size());
  EXPECT_EQ(out, expected);
}

// By the definition: value - zero point, in the type that is one bit wider.
TEST(ZeroPoint, EveryElementAndZeroPoint) {
  for (const auto& [from, width] : {std::pair{DType::kI4, 4}, {DType::kI8, 8}}) {
    const int least = -(1 << (width - 1)), most = (1 << (width - 1)) - 1;
    for (int value = least; value <= most; ++value) {
      for (int zero_point = 3 * least; zero_point <= 3 * most; ++zero_point) {
        const int wanted = value - zero_point;
        const ZeroPointResult result = subtract_zero_point(
            from, static_cast<uint32_t>(value) & ((1u << width) - 1), zero_point);
        const bool fits = wanted >= 2 * least && wanted <= 2 * most + 1;
        ASSERT_EQ(result.fits, fits) << value << " - " << zero_point;
        ASSERT_EQ(result.bits, static_cast<uint32_t>(wanted) & ((2u << width) - 1));
        if (!fits) continue;
        ASSERT_EQ(to_double(*zero_point_type(from), result.bits), wanted);
      }
    }
  }
}

}  // namespace
}  // namespace rngdsim
