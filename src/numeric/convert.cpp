// SPDX-License-Identifier: Apache-2.0

#include "numeric/convert.h"

#include <array>
#include <cassert>
#include <cstring>

namespace rngdsim {
namespace {

struct Pair {
  DType from;
  DType to;
};

constexpr Pair kFetchCasts[] = {
    {DType::kI4, DType::kI32},     {DType::kI8, DType::kI32},     {DType::kI16, DType::kI32},
    {DType::kF8E4M3, DType::kF32}, {DType::kF8E5M2, DType::kF32}, {DType::kBF16, DType::kF32},
    {DType::kF32, DType::kBF16},
};

constexpr Pair kTableLookups[] = {
    {DType::kF4E2M1, DType::kF8E4M3},
    {DType::kF4E2M1, DType::kF8E5M2},
    {DType::kF8E4M3, DType::kBF16},
    {DType::kF8E5M2, DType::kBF16},
};

constexpr Pair kZeroPoints[] = {
    {DType::kI4, DType::kI5},
    {DType::kI8, DType::kI9},
};

constexpr Pair kEngineCasts[] = {
    {DType::kI32, DType::kI4},     {DType::kI32, DType::kI8},     {DType::kI32, DType::kI16},
    {DType::kF32, DType::kF8E4M3}, {DType::kF32, DType::kF8E5M2}, {DType::kF32, DType::kBF16},
};

constexpr Pair kCommitCasts[] = {
    {DType::kF32, DType::kBF16},
};

constexpr Pair kMultiplies[] = {
    {DType::kI4, DType::kI4},         {DType::kI4, DType::kI5},
    {DType::kI5, DType::kI4},         {DType::kI5, DType::kI5},
    {DType::kI8, DType::kI8},         {DType::kI8, DType::kI9},
    {DType::kI9, DType::kI8},         {DType::kI9, DType::kI9},
    {DType::kF8E4M3, DType::kF8E4M3}, {DType::kF8E5M2, DType::kF8E5M2},
    {DType::kBF16, DType::kBF16},
};

template <size_t n>
std::vector<DType> targets(const Pair (&pairs)[n], DType from) {
  std::vector<DType> result;
  for (const Pair& pair : pairs) {
    if (pair.from == from) result.push_back(pair.to);
  }
  return result;
}

template <size_t n>
bool contains(const Pair (&pairs)[n], DType from, DType to) {
  for (const Pair& pair : pairs) {
    if (pair.from == from && pair.to == to) return true;
  }
  return false;
}

// ---- Widening of the small floats: a table of f32 codes for each format.

// The f32 code of a finite value of a small format.
constexpr uint32_t widen_finite(uint32_t exponent, uint32_t mantissa, uint32_t mantissa_bits,
                                uint32_t bias) {
  if (exponent == 0) {
    if (mantissa == 0) return 0;
    exponent = 1;
    while ((mantissa >> mantissa_bits) == 0) {  // normalize the subnormal
      mantissa <<= 1;
      --exponent;  // may wrap below zero; the sum with the bias does not
    }
    mantissa &= (1u << mantissa_bits) - 1;
  }
  return ((exponent + 127 - bias) << 23) | (mantissa << (23 - mantissa_bits));
}

// `special` is the magnitude of infinity, if `has_infinity`, and otherwise of the first NaN; all
// larger magnitudes are NaN.
template <size_t count>
constexpr std::array<uint32_t, count> make_widening_table(uint32_t mantissa_bits, uint32_t bias,
                                                          uint32_t special, bool has_infinity) {
  std::array<uint32_t, count> table{};
  const uint32_t sign_bit = count / 2;
  for (uint32_t code = 0; code < count; ++code) {
    const uint32_t magnitude = code & (sign_bit - 1);
    const uint32_t sign = (code & sign_bit) != 0 ? 0x80000000u : 0u;
    if (magnitude < special) {
      table[code] =
          sign | widen_finite(magnitude >> mantissa_bits, magnitude & ((1u << mantissa_bits) - 1),
                              mantissa_bits, bias);
    } else if (magnitude == special && has_infinity) {
      table[code] = sign | 0x7f800000u;
    } else {
      table[code] = 0x7fc00000u;
    }
  }
  return table;
}

constexpr auto kF8E4M3ToF32 = make_widening_table<256>(3, 7, 0x7f, false);
constexpr auto kF8E5M2ToF32 = make_widening_table<256>(2, 15, 0x7c, true);
constexpr auto kF4E2M1ToF32 = make_widening_table<16>(1, 1, 0x8, false);

uint32_t low_bits(int count) { return count == 32 ? ~uint32_t{0} : (uint32_t{1} << count) - 1; }

// Sign extension and wrapping in one expression without branches, for any two integer types.
struct IntegerConversion {
  uint32_t in_mask;
  uint32_t in_sign;
  uint32_t out_mask;

  IntegerConversion(DType from, DType to)
      : in_mask(low_bits(value_bits(from))),
        in_sign(uint32_t{1} << (value_bits(from) - 1)),
        out_mask(low_bits(value_bits(to))) {}

  uint32_t operator()(uint32_t bits) const {
    return (((bits & in_mask) ^ in_sign) - in_sign) & out_mask;
  }
};

constexpr int pair_key(DType from, DType to) {
  return static_cast<int>(from) * kDTypeCount + static_cast<int>(to);
}

// ---- Array loops. memcpy keeps them free of alignment and aliasing rules and costs nothing.

template <typename In, typename Out, typename Function>
void map_array(const void* in, void* out, size_t count, Function function) {
  const auto* source = static_cast<const unsigned char*>(in);
  auto* target = static_cast<unsigned char*>(out);
  for (size_t i = 0; i < count; ++i) {
    In element;
    std::memcpy(&element, source + i * sizeof(In), sizeof(In));
    const auto result = static_cast<Out>(function(element));
    std::memcpy(target + i * sizeof(Out), &result, sizeof(Out));
  }
}

template <typename In, typename Function>
void map_array_to(int out_bytes, const void* in, void* out, size_t count, Function function) {
  switch (out_bytes) {
    case 1:
      return map_array<In, uint8_t>(in, out, count, function);
    case 2:
      return map_array<In, uint16_t>(in, out, count, function);
    default:
      return map_array<In, uint32_t>(in, out, count, function);
  }
}

template <typename Function>
void map_array_by_size(int in_bytes, int out_bytes, const void* in, void* out, size_t count,
                       Function function) {
  switch (in_bytes) {
    case 1:
      return map_array_to<uint8_t>(out_bytes, in, out, count, function);
    case 2:
      return map_array_to<uint16_t>(out_bytes, in, out, count, function);
    default:
      return map_array_to<uint32_t>(out_bytes, in, out, count, function);
  }
}

}  // namespace

bool can_fetch_cast(DType from, DType to) { return contains(kFetchCasts, from, to); }

std::vector<DType> fetch_cast_targets(DType from) { return targets(kFetchCasts, from); }

bool can_table_lookup(DType from, DType to) { return contains(kTableLookups, from, to); }

std::vector<DType> table_lookup_targets(DType from) { return targets(kTableLookups, from); }

std::optional<DType> zero_point_type(DType from) {
  const std::vector<DType> found = targets(kZeroPoints, from);
  return found.empty() ? std::nullopt : std::make_optional(found.front());
}

ZeroPointResult subtract_zero_point(DType from, uint32_t bits, int64_t zero_point) {
  const DType to = zero_point_type(from).value_or(from);
  const int64_t value = static_cast<int64_t>(to_double(from, bits)) - zero_point;
  const auto mask = static_cast<uint32_t>((uint64_t{1} << value_bits(to)) - 1);
  return {static_cast<uint32_t>(value) & mask, value >= static_cast<int64_t>(min_value(to)) &&
                                                   value <= static_cast<int64_t>(max_value(to))};
}

bool can_cast_engine(DType from, DType to) { return contains(kEngineCasts, from, to); }

std::vector<DType> cast_engine_targets(DType from) { return targets(kEngineCasts, from); }

bool can_commit_cast(DType from, DType to) { return contains(kCommitCasts, from, to); }

std::vector<DType> commit_cast_targets(DType from) { return targets(kCommitCasts, from); }

bool can_multiply(DType stream, DType trf) { return contains(kMultiplies, stream, trf); }

std::vector<DType> multiply_partners(DType stream) { return targets(kMultiplies, stream); }

DType accumulator_type(DType dtype) { return is_integer(dtype) ? DType::kI32 : DType::kF32; }

bool can_convert(DType from, DType to) {
  if (from == to) return true;
  // A table lookup and a widening, both exact.
  if (from == DType::kF4E2M1 && to == DType::kF32) return true;
  if (to == accumulator_type(from) && !multiply_partners(from).empty()) return true;
  return can_fetch_cast(from, to) || can_table_lookup(from, to) ||
         contains(kZeroPoints, from, to) || can_cast_engine(from, to) || can_commit_cast(from, to);
}

uint32_t convert(DType from, DType to, uint32_t bits) {
  assert(can_convert(from, to));
  if (is_integer(from)) return IntegerConversion(from, to)(bits);
  switch (pair_key(from, to)) {
    case pair_key(DType::kF32, DType::kF32):
      return canonical_f32(bits);
    case pair_key(DType::kF32, DType::kBF16):
      return f32_to_bf16(bits);
    case pair_key(DType::kBF16, DType::kF32):
      return bf16_to_f32(bits & 0xffffu);
    case pair_key(DType::kF8E4M3, DType::kF32):
      return kF8E4M3ToF32[bits & 0xffu];
    case pair_key(DType::kF8E5M2, DType::kF32):
      return kF8E5M2ToF32[bits & 0xffu];
    case pair_key(DType::kF4E2M1, DType::kF32):
      return kF4E2M1ToF32[bits & 0xfu];
    // Exact, since bf16 has the exponents of f32 and at least the mantissa bits of an f8.
    case pair_key(DType::kF8E4M3, DType::kBF16):
      return kF8E4M3ToF32[bits & 0xffu] >> 16;
    case pair_key(DType::kF8E5M2, DType::kBF16):
      return kF8E5M2ToF32[bits & 0xffu] >> 16;
    default:
      return from_double(to, to_double(from, bits));
  }
}

void convert_array(DType from, DType to, const void* in, void* out, size_t count) {
  assert(can_convert(from, to));
  const int in_bytes = storage_bytes(from);
  const int out_bytes = storage_bytes(to);
  if (is_integer(from)) {
    return map_array_by_size(in_bytes, out_bytes, in, out, count, IntegerConversion(from, to));
  }
  // The loops worth a vectorized or table body of their own; the rest goes element by element.
  switch (pair_key(from, to)) {
    case pair_key(DType::kBF16, DType::kF32):
      return map_array<uint16_t, uint32_t>(in, out, count, bf16_to_f32);
    case pair_key(DType::kF32, DType::kBF16):
      return map_array<uint32_t, uint16_t>(in, out, count, f32_to_bf16);
    case pair_key(DType::kF32, DType::kF32):
      return map_array<uint32_t, uint32_t>(in, out, count, canonical_f32);
    case pair_key(DType::kF8E4M3, DType::kF32):
      return map_array<uint8_t, uint32_t>(in, out, count,
                                          [](uint32_t bits) { return kF8E4M3ToF32[bits]; });
    case pair_key(DType::kF8E5M2, DType::kF32):
      return map_array<uint8_t, uint32_t>(in, out, count,
                                          [](uint32_t bits) { return kF8E5M2ToF32[bits]; });
    default:
      return map_array_by_size(in_bytes, out_bytes, in, out, count,
                               [from, to](uint32_t bits) { return convert(from, to, bits); });
  }
}

void commit_cast_relu_array(const void* in_f32, void* out_bf16, size_t count) {
  map_array<uint32_t, uint16_t>(in_f32, out_bf16, count,
                                [](uint32_t bits) { return relu_bf16(f32_to_bf16(bits)); });
}

}  // namespace rngdsim
