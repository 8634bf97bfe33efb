// SPDX-License-Identifier: Apache-2.0
//
// Rounding and arithmetic against references that share nothing with the library: a search for the
// nearest value among all values of a type, and exact arithmetic in double.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "numeric/dtype.h"
#include "numeric/random.h"

namespace rngdsim {
namespace {

// Any 32 bits, half of the time near a boundary: few mantissa bits, off by one or not.
rc::Gen<uint32_t> any_f32_bits() {
  const auto any = rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<uint32_t>());
  const auto boundary = rc::gen::apply(
      [](uint32_t bits, int kept, int offset) {
        return (bits & ~((1u << (23 - kept)) - 1)) + static_cast<uint32_t>(offset);
      },
      any, rc::gen::inRange(0, 10), rc::gen::inRange(-1, 2));
  return rc::gen::oneOf(any, boundary);
}

// As above with exponents where `dtype` has its values, and somewhat around.
rc::Gen<uint32_t> f32_bits_around(DType dtype) {
  const int highest = std::min(254, std::ilogb(max_value(dtype)) + 127 + 2);
  const int lowest = dtype == DType::kBF16 ? 0 : 127 - 20;
  return rc::gen::apply(
      [](uint32_t bits, int exponent) {
        return (bits & 0x807fffffu) | static_cast<uint32_t>(exponent) << 23;
      },
      any_f32_bits(), rc::gen::inRange(lowest, highest + 1));
}

struct Magnitude {
  double value;
  uint32_t code;
};

// All magnitudes up to code `last` in ascending order, from the definition of the fields.
std::vector<Magnitude> magnitudes(int mantissa_bits, int bias, uint32_t last) {
  std::vector<Magnitude> result;
  const double steps = std::pow(2.0, mantissa_bits);
  for (uint32_t code = 0; code <= last; ++code) {
    const int exponent = static_cast<int>(code >> mantissa_bits);
    const double fraction = (code % (1u << mantissa_bits)) / steps;
    result.push_back({exponent == 0 ? std::pow(2.0, 1 - bias) * fraction
                                    : std::pow(2.0, exponent - bias) * (1 + fraction),
                      code});
  }
  return result;
}

// The code nearest to `value`, the even one of two equally near.
uint32_t nearest(const std::vector<Magnitude>& all, double value) {
  const auto above = std::lower_bound(
      all.begin(), all.end(), value,
      [](const Magnitude& magnitude, double wanted) { return magnitude.value < wanted; });
  if (above == all.end()) return all.back().code;
  if (above == all.begin()) return above->code;
  const auto below = above - 1;
  const double to_below = value - below->value;
  const double to_above = above->value - value;
  if (to_below != to_above) return to_below < to_above ? below->code : above->code;
  return below->code % 2 == 0 ? below->code : above->code;
}

// The code of infinity takes part as the power of two after the largest value, which is what IEEE
// 754 rounding amounts to.
const std::vector<Magnitude>& magnitudes_of(DType dtype) {
  static const std::vector<Magnitude> f8e4m3 = magnitudes(3, 7, 0x7e);
  static const std::vector<Magnitude> f8e5m2 = magnitudes(2, 15, 0x7c);
  static const std::vector<Magnitude> bf16 = magnitudes(7, 127, 0x7f80);
  return dtype == DType::kF8E4M3 ? f8e4m3 : dtype == DType::kF8E5M2 ? f8e5m2 : bf16;
}

uint32_t nearest_code(DType dtype, double value) {
  uint32_t code = nearest(magnitudes_of(dtype), std::abs(value));
  if (dtype == DType::kBF16 && code < 0x80) code = 0;  // bf16 has no subnormals
  const uint32_t sign = std::signbit(value) ? 1u << (value_bits(dtype) - 1) : 0u;
  return sign | code;
}

const DType kNarrowFloats[] = {DType::kF8E4M3, DType::kF8E5M2, DType::kBF16};

RC_GTEST_PROP(NumericProperty, NarrowingTakesTheNearestValue, ()) {
  for (DType dtype : kNarrowFloats) {
    const uint32_t bits = *f32_bits_around(dtype);
    const double value = to_double(DType::kF32, bits);  // zero for a subnormal
    RC_ASSERT(convert(DType::kF32, dtype, bits) == nearest_code(dtype, value));
    RC_ASSERT(from_double(dtype, value) == nearest_code(dtype, value));
  }
}

// from_double rounds once: a value a hair off a tie goes to its side.
RC_GTEST_PROP(NumericProperty, FromDoubleRoundsOnce, ()) {
  for (DType dtype : kNarrowFloats) {
    const auto& all = magnitudes_of(dtype);
    const auto index = *rc::gen::inRange<size_t>(dtype == DType::kBF16 ? 0x80 : 0, all.size() - 1);
    const double tie = (all[index].value + all[index + 1].value) / 2;
    const double below = std::nextafter(tie, 0.0);
    const double above = std::nextafter(tie, std::numeric_limits<double>::infinity());
    RC_ASSERT(from_double(dtype, below) == all[index].code);
    RC_ASSERT(from_double(dtype, above) == all[index + 1].code);
    RC_ASSERT(from_double(dtype, tie) == all[index + all[index].code % 2].code);
  }
}

RC_GTEST_PROP(NumericProperty, F32FromDoubleIsTheIeeeConversion, ()) {
  const double value =
      to_double(DType::kF32, *any_f32_bits()) * (1 + *rc::gen::inRange(-1000, 1000) * 0x1p-34);
  RC_PRE(!std::isnan(value));
  RC_ASSERT(from_double(DType::kF32, value) == canonical_f32(bits_of(static_cast<float>(value))));
}

RC_GTEST_PROP(NumericProperty, NarrowingIsMonotone, ()) {
  for (DType dtype : kNarrowFloats) {
    const uint32_t a = *rc::gen::oneOf(any_f32_bits(), f32_bits_around(dtype));
    const uint32_t b = *rc::gen::oneOf(any_f32_bits(), f32_bits_around(dtype));
    const double value_a = to_double(DType::kF32, a);
    const double value_b = to_double(DType::kF32, b);
    if (std::isnan(value_a) || std::isnan(value_b)) continue;
    const double narrow_a = to_double(dtype, convert(DType::kF32, dtype, a));
    const double narrow_b = to_double(dtype, convert(DType::kF32, dtype, b));
    if (value_a <= value_b) RC_ASSERT(narrow_a <= narrow_b);
    if (value_a >= value_b) RC_ASSERT(narrow_a >= narrow_b);
  }
}

// Narrow values survive widening and narrowing, up to their canonical form.
RC_GTEST_PROP(NumericProperty, WideningThenNarrowingIsTheCanonicalForm, ()) {
  for (DType dtype : kNarrowFloats) {
    const uint32_t code = *rc::gen::inRange(0u, 1u << value_bits(dtype));
    const uint32_t back = convert(DType::kF32, dtype, convert(dtype, DType::kF32, code));
    const bool infinity = std::isinf(to_double(dtype, code));
    if (dtype != DType::kF8E4M3) RC_ASSERT(infinity == std::isinf(to_double(dtype, back)));
    RC_ASSERT(back == convert(dtype, dtype, code));
  }
}

RC_GTEST_PROP(NumericProperty, NarrowIntegersSurviveWideningAndNarrowing, ()) {
  for (DType dtype : {DType::kI4, DType::kI8, DType::kI16}) {
    const uint32_t code = *rc::gen::inRange(0u, 1u << value_bits(dtype));
    RC_ASSERT(convert(DType::kI32, dtype, convert(dtype, DType::kI32, code)) == code);
  }
}

RC_GTEST_PROP(NumericProperty, IntegersWrapModuloTheirRange, ()) {
  const auto value = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<int32_t>());
  for (DType dtype : {DType::kI4, DType::kI8, DType::kI16}) {
    const double narrow =
        to_double(dtype, convert(DType::kI32, dtype, static_cast<uint32_t>(value)));
    const double range = std::pow(2.0, value_bits(dtype));
    RC_ASSERT(narrow >= -range / 2);
    RC_ASSERT(narrow < range / 2);
    RC_ASSERT(std::fmod(value - narrow, range) == 0.0);
  }
}

RC_GTEST_PROP(NumericProperty, CanonicalFormsAreStable, ()) {
  const uint32_t bits = *any_f32_bits();
  const uint32_t canonical = canonical_f32(bits);
  RC_ASSERT(canonical_f32(canonical) == canonical);
  RC_ASSERT(relu_f32(bits) >> 31 == 0u);
  RC_ASSERT(relu_bf16(f32_to_bf16(bits)) == f32_to_bf16(relu_f32(bits)));
  const double value = to_double(DType::kF32, bits);
  if (!std::isnan(value)) RC_ASSERT(to_double(DType::kF32, canonical) == value);
}

// The f32 the hardware makes of an exact result. A result halfway between the largest subnormal
// and 2^-126, or above, rounds to 2^-126 (even) and is normal; below it is flushed.
uint32_t hardware_f32(double exact) {
  if (std::isnan(exact)) return 0x7fc00000;
  const double smallest_kept = 0x1p-126 - 0x1p-150;
  if (std::abs(exact) < smallest_kept) return std::signbit(exact) ? 0x80000000 : 0;
  return bits_of(static_cast<float>(exact));
}

// Products of two f32 are exact in double.
RC_GTEST_PROP(NumericProperty, ProductsAreRoundedOnceAndFlushed, ()) {
  const uint32_t a = *any_f32_bits();
  // Half of the time an exponent that brings the product to the edge of the normal numbers.
  const int edge =
      std::clamp(127 + 1 - static_cast<int>(a >> 23 & 0xff) + *rc::gen::inRange(-3, 4), 0, 255);
  uint32_t b = *any_f32_bits();
  if (*rc::gen::arbitrary<bool>()) b = (b & 0x807fffffu) | static_cast<uint32_t>(edge) << 23;
  const double exact = to_double(DType::kF32, a) * to_double(DType::kF32, b);
  RC_ASSERT(bits_of(mul_f32(float_of(a), float_of(b))) == hardware_f32(exact));
  RC_ASSERT(bits_of(mul_canonical_f32(flush(float_of(a)), flush(float_of(b)))) ==
            hardware_f32(exact));
}

// A sum of two f32 first rounded to double (53 bits >= 2 * 24 + 2) rounds as if it were exact.
RC_GTEST_PROP(NumericProperty, SumsAreRoundedOnceAndFlushed, ()) {
  const uint32_t a = *any_f32_bits();
  uint32_t b = *any_f32_bits();
  if (*rc::gen::arbitrary<bool>()) {  // close exponents, so that cancellation happens
    const int exponent =
        std::clamp(static_cast<int>(a >> 23 & 0xff) + *rc::gen::inRange(-25, 26), 0, 255);
    b = (b & 0x807fffffu) | static_cast<uint32_t>(exponent) << 23;
  }
  const double exact = to_double(DType::kF32, a) + to_double(DType::kF32, b);
  RC_ASSERT(bits_of(add_f32(float_of(a), float_of(b))) == hardware_f32(exact));
  RC_ASSERT(bits_of(add_canonical_f32(flush(float_of(a)), flush(float_of(b)))) ==
            hardware_f32(exact));
}

RC_GTEST_PROP(NumericProperty, RandomValuesStayInTheirInterval, ()) {
  const auto dtype = static_cast<DType>(*rc::gen::inRange(0, kDTypeCount));
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  const auto index = *rc::gen::arbitrary<uint64_t>();
  const uint32_t low_code = *any_f32_bits();
  const uint32_t high_code = *any_f32_bits();
  double low = to_double(dtype, low_code);
  double high = to_double(dtype, high_code);
  RC_PRE(std::isfinite(low) && std::isfinite(high));
  if (low > high) std::swap(low, high);
  const uint32_t bits = random_bits(dtype, seed, index, low, high);
  const double value = to_double(dtype, bits);
  RC_ASSERT(value >= low);
  RC_ASSERT(value <= high);
  RC_ASSERT(bits == random_bits(dtype, seed, index, low, high));
}

}  // namespace
}  // namespace rngdsim
