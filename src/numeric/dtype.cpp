// SPDX-License-Identifier: Apache-2.0

#include "numeric/dtype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace rngdsim {
namespace {

struct TypeInfo {
  const char* name;
  int value_bits;
  int memory_bits;
  int storage_bytes;
  bool is_integer;
};

// In the order of the enumeration.
constexpr std::array<TypeInfo, kDTypeCount> kTypes = {{
    {"i4", 4, 4, 1, true},
    {"i5", 5, 4, 1, true},
    {"i8", 8, 8, 1, true},
    {"i9", 9, 8, 2, true},
    {"i16", 16, 16, 2, true},
    {"i32", 32, 32, 4, true},
    {"f8e4m3", 8, 8, 1, false},
    {"f8e5m2", 8, 8, 1, false},
    {"f4e2m1", 4, 4, 1, false},
    {"bf16", 16, 16, 2, false},
    {"f32", 32, 32, 4, false},
}};

const TypeInfo& info(DType dtype) { return kTypes[static_cast<size_t>(dtype)]; }

// A binary floating point format. The codes are magnitudes, without the sign bit.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  uint32_t max_code;       // largest finite value
  uint32_t overflow_code;  // infinity, or max_code where the format saturates
  uint32_t nan_code;       // canonical NaN
  bool has_subnormals;

  int min_exponent() const { return 1 - bias; }
  uint32_t sign_bit() const { return uint32_t{1} << (exponent_bits + mantissa_bits); }
};

constexpr FloatFormat kF8E4M3Format = {4, 3, 7, 0x7e, 0x7e, 0x7f, true};
constexpr FloatFormat kF8E5M2Format = {5, 2, 15, 0x7b, 0x7c, 0x7f, true};
constexpr FloatFormat kF4E2M1Format = {2, 1, 1, 0x7, 0x7, 0x7, true};
constexpr FloatFormat kBF16Format = {8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, false};
constexpr FloatFormat kF32Format = {8, 23, 127, 0x7f7fffff, 0x7f800000, 0x7fc00000, false};

const FloatFormat& float_format(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
      return kF8E4M3Format;
    case DType::kF8E5M2:
      return kF8E5M2Format;
    case DType::kF4E2M1:
      return kF4E2M1Format;
    case DType::kBF16:
      return kBF16Format;
    default:
      return kF32Format;
  }
}

double decode(const FloatFormat& format, uint32_t bits) {
  const uint32_t code = bits & (format.sign_bit() - 1);
  const double sign = (bits & format.sign_bit()) != 0 ? -1.0 : 1.0;
  if (code > format.max_code) {
    return code == format.overflow_code ? sign * std::numeric_limits<double>::infinity()
                                        : std::numeric_limits<double>::quiet_NaN();
  }
  const uint32_t hidden_bit = uint32_t{1} << format.mantissa_bits;
  const uint32_t mantissa = code & (hidden_bit - 1);
  const int exponent_field = static_cast<int>(code >> format.mantissa_bits);
  if (exponent_field == 0) {
    const double significand = format.has_subnormals ? mantissa : 0;
    return sign * std::ldexp(significand, format.min_exponent() - format.mantissa_bits);
  }
  const double significand = hidden_bit | mantissa;
  return sign * std::ldexp(significand, exponent_field - format.bias - format.mantissa_bits);
}

// `value` >> `shift`, rounded to nearest, ties to even. 0 < shift < 64.
uint64_t shift_right_to_nearest_even(uint64_t value, int shift) {
  const uint64_t quotient = value >> shift;
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t remainder = value & ((half << 1) - 1);
  return quotient + static_cast<uint64_t>(remainder > half || (remainder == half && quotient % 2));
}

uint32_t encode(const FloatFormat& format, double value) {
  constexpr int kMantissaBits = 52;
  constexpr int kBias = 1023;
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = (bits >> 63) != 0 ? format.sign_bit() : 0;
  const int exponent_field = static_cast<int>((bits >> kMantissaBits) & 0x7ff);
  if (std::isnan(value)) return format.nan_code;
  if (std::isinf(value)) return sign | format.overflow_code;
  if (exponent_field == 0) return sign;  // below 2^-1022: zero in every format here

  const uint64_t hidden_bit = uint64_t{1} << kMantissaBits;
  const uint64_t significand = hidden_bit | (bits & (hidden_bit - 1));
  const int exponent = exponent_field - kBias;
  // Below the smallest normal number the spacing of the codes stays that of the smallest exponent.
  const int grid_exponent = std::max(exponent, format.min_exponent());
  const int shift = kMantissaBits - format.mantissa_bits + (grid_exponent - exponent);
  const uint64_t rounded = shift < 64 ? shift_right_to_nearest_even(significand, shift) : 0;
  // The hidden bit, where present, adds one to the exponent field; so does a carry of the rounding.
  const uint64_t code =
      (static_cast<uint64_t>(grid_exponent - format.min_exponent()) << format.mantissa_bits) +
      rounded;
  if (code > format.max_code) return sign | format.overflow_code;
  if (!format.has_subnormals && code >> format.mantissa_bits == 0) return sign;
  return sign | static_cast<uint32_t>(code);
}

uint32_t bits_below(int count) { return count == 32 ? ~uint32_t{0} : (uint32_t{1} << count) - 1; }

double integer_to_double(int bits_of_value, uint32_t bits) {
  const uint32_t sign_bit = uint32_t{1} << (bits_of_value - 1);
  const double magnitude = bits & (sign_bit - 1);
  return (bits & sign_bit) != 0 ? magnitude - static_cast<double>(sign_bit) : magnitude;
}

uint32_t integer_from_double(int bits_of_value, double value) {
  if (!std::isfinite(value)) return 0;
  constexpr double kTwoTo32 = 4294967296.0;
  const double wrapped = std::fmod(std::nearbyint(value), kTwoTo32);  // exact, |wrapped| < 2^32
  return static_cast<uint32_t>(static_cast<int64_t>(wrapped)) & bits_below(bits_of_value);
}

}  // namespace

const char* name(DType dtype) { return info(dtype).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (DType dtype : all_dtypes()) {
    if (text == name(dtype)) return dtype;
  }
  return std::nullopt;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const TypeInfo& type : kTypes) names.emplace_back(type.name);
  return names;
}

std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (int i = 0; i < kDTypeCount; ++i) dtypes.push_back(static_cast<DType>(i));
  return dtypes;
}

int value_bits(DType dtype) { return info(dtype).value_bits; }

int memory_bits(DType dtype) { return info(dtype).memory_bits; }

int storage_bytes(DType dtype) { return info(dtype).storage_bytes; }

bool is_integer(DType dtype) { return info(dtype).is_integer; }

bool is_float(DType dtype) { return !info(dtype).is_integer; }

double to_double(DType dtype, uint32_t bits) {
  if (is_integer(dtype)) return integer_to_double(value_bits(dtype), bits);
  return decode(float_format(dtype), bits);
}

uint32_t from_double(DType dtype, double value) {
  if (is_integer(dtype)) return integer_from_double(value_bits(dtype), value);
  return encode(float_format(dtype), value);
}

double min_value(DType dtype) {
  if (is_integer(dtype)) return -std::ldexp(1.0, value_bits(dtype) - 1);
  return -max_value(dtype);
}

double max_value(DType dtype) {
  if (is_integer(dtype)) return std::ldexp(1.0, value_bits(dtype) - 1) - 1.0;
  const FloatFormat& format = float_format(dtype);
  return decode(format, format.max_code);
}

}  // namespace rngdsim
