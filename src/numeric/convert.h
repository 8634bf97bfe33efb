// SPDX-License-Identifier: Apache-2.0
//
// Which conversions and operand pairs each stage of the tensor unit has, and what they do to the
// bits. Raw bits are as in numeric/dtype.h. Sources: hardware.md section 3 "Fetch Adapter" and
// "Commit", 4.4 (multiplier), 4.8 "Numbers" and 4.10 (Cast Engine).
//
// Nothing here reads or changes the floating point environment: all of it is integer arithmetic.

#ifndef RNGDSIM_NUMERIC_CONVERT_H_
#define RNGDSIM_NUMERIC_CONVERT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "numeric/dtype.h"

namespace rngdsim {

// ---- What each stage can do. The lists of targets are for diagnostics; empty where there is none.

// Fetch Adapter cast: i4, i8, i16 -> i32; f8e4m3, f8e5m2, bf16 -> f32; f32 -> bf16.
bool can_fetch_cast(DType from, DType to);
std::vector<DType> fetch_cast_targets(DType from);

// Fetch Adapter table lookup: f4e2m1 -> f8e4m3, f8e5m2; f8e4m3, f8e5m2 -> bf16.
bool can_table_lookup(DType from, DType to);
std::vector<DType> table_lookup_targets(DType from);

// Fetch Adapter zero-point subtraction: i4 gives i5, i8 gives i9, anything else nothing.
std::optional<DType> zero_point_type(DType from);

// The element that zero-point subtraction makes of the raw bits of an i4 or i8: its value less
// `zero_point`, as raw bits of zero_point_type(from).
struct ZeroPointResult {
  uint32_t bits = 0;
  bool fits = true;  // false: the type does not hold the value, `bits` are its low ones
};
ZeroPointResult subtract_zero_point(DType from, uint32_t bits, int64_t zero_point);

// Cast Engine: i32 -> i4, i8, i16; f32 -> f8e4m3, f8e5m2, bf16.
bool can_cast_engine(DType from, DType to);
std::vector<DType> cast_engine_targets(DType from);

// Commit cast: f32 -> bf16, alone or with ReLU fused.
bool can_commit_cast(DType from, DType to);
std::vector<DType> commit_cast_targets(DType from);

// Multiplier operands: {i4, i5} x {i4, i5}, {i8, i9} x {i8, i9}, or twice the same type out of
// f8e4m3, f8e5m2, bf16.
bool can_multiply(DType stream, DType trf);
std::vector<DType> multiply_partners(DType stream);

// The type operands are widened to before they are multiplied, and in which products are summed:
// i32 for integers, f32 for floats.
DType accumulator_type(DType dtype);

// Whether convert() knows the pair: all of the above, widening of a multiplier operand to its
// accumulator type (of f4e2m1 what a lookup and that give, both exact), and every type to itself.
bool can_convert(DType from, DType to);

// ---- Conversions.

// The f32 the hardware would hold: subnormals become zero with their sign, NaNs 0x7fc00000.
constexpr uint32_t canonical_f32(uint32_t bits) {
  // Magnitudes fit an int32_t; SSE2 compares only signed integers, hence the casts and masks.
  const auto magnitude = static_cast<int32_t>(bits & 0x7fffffffu);
  const uint32_t keep = (magnitude >= 0x00800000 ? 0xffffffffu : 0u) | 0x80000000u;
  const uint32_t nan = magnitude > 0x7f800000 ? 0xffffffffu : 0u;
  return (bits & keep & ~nan) | (0x7fc00000u & nan);
}

// Round to nearest, ties to even; overflow to infinity; subnormals (input, hence result) to signed
// zero; NaN to 0x7fc0.
constexpr uint32_t f32_to_bf16(uint32_t bits) {
  const uint32_t canonical = canonical_f32(bits);
  return (canonical + 0x7fffu + ((canonical >> 16) & 1u)) >> 16;
}

// Exact; subnormals to signed zero, NaN to 0x7fc00000.
constexpr uint32_t bf16_to_f32(uint32_t bits) { return canonical_f32(bits << 16); }

// ReLU of the commit cast: NaN is made canonical first, then anything with the sign bit set (-0 and
// -infinity included) is +0. So NaN stays NaN whatever its sign.
constexpr uint32_t relu_f32(uint32_t bits) {
  const uint32_t canonical = canonical_f32(bits);
  return (canonical >> 31) != 0 ? 0u : canonical;
}
constexpr uint32_t relu_bf16(uint32_t bits) { return relu_f32(bits << 16) >> 16; }

// Converts the raw bits of one element.
//   integers       sign extension to a wider type, wrapping (low bits kept) to a narrower one
//   f32 -> bf16    see f32_to_bf16
//   f32 -> f8e4m3  nearest even, subnormals kept, saturates at +-448 (infinity too), NaN 0x7f
//   f32 -> f8e5m2  nearest even, subnormals kept, overflow to infinity, NaN 0x7f
//   float widening exact, canonical NaN
//   to itself      canonical form: bits above the value cleared, NaN canonical, no f32 or bf16
//                  subnormals
// Requires can_convert(from, to); otherwise the result is unspecified (asserted in debug builds).
uint32_t convert(DType from, DType to, uint32_t bits);

// The same for `count` elements. `in` and `out` are contiguous arrays of uint8_t, uint16_t or
// uint32_t by storage_bytes() of their type (no alignment needed) and must not overlap, except that
// in == out is allowed where the storage sizes are equal.
void convert_array(DType from, DType to, const void* in, void* out, size_t count);

// The commit cast with ReLU: relu(f32_to_bf16(in[i])). Arrays of uint32_t and uint16_t that do not
// overlap.
void commit_cast_relu_array(const void* in_f32, void* out_bf16, size_t count);

}  // namespace rngdsim

#endif  // RNGDSIM_NUMERIC_CONVERT_H_
