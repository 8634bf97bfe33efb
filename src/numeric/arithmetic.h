// SPDX-License-Identifier: Apache-2.0
//
// f32 and i32 arithmetic as the tensor unit does it, for the hot loops.
//
// f32: every operation rounds to nearest even, reads subnormal operands as signed zero, and turns a
// subnormal result into signed zero and any NaN into 0x7fc00000 (hardware.md section 1: f32 has no
// subnormals and one canonical NaN). A product rounded to the smallest normal number is normal and
// stays. i32: sums and products wrap (hardware.md section 4.4).
//
// The `_canonical_` variants leave out the treatment of operands and are the fast ones (about 0.6
// of the time). They require operands without subnormals, which holds for every result of this file
// and of numeric/convert.h and so for the whole contraction path, but not for memory filled from
// outside nor for i32 reinterpreted as f32.
//
// All of this needs the default floating point environment (round to nearest) and leaves it alone:
// flushing is done on the bits, not by a processor mode that would leak into our caller. It also
// separates each multiplication from a following addition, so that no compiler can fuse the two.
//
// The array loops have no branches, so that plain SSE2 vectorizes them at -O3. `out` may be `a` or
// `b` itself; otherwise the arrays must not overlap.

#ifndef RNGDSIM_NUMERIC_ARITHMETIC_H_
#define RNGDSIM_NUMERIC_ARITHMETIC_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "numeric/convert.h"

// States that the iterations of the loop that follows do not depend on each other, which the
// compiler cannot know where `out` may be one of the inputs.
#if defined(__GNUC__) && !defined(__clang__)
#define RNGDSIM_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#else
#define RNGDSIM_INDEPENDENT_ITERATIONS
#endif

namespace rngdsim {

inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Subnormals to signed zero, NaN to the canonical NaN.
inline float flush(float value) { return float_of(canonical_f32(bits_of(value))); }

// Only the subnormals: enough for operands, whose NaN payload cannot reach a flushed result.
inline float flush_subnormal(float value) {
  const uint32_t bits = bits_of(value);
  const auto magnitude = static_cast<int32_t>(bits & 0x7fffffffu);
  return float_of(bits & ((magnitude >= 0x00800000 ? 0xffffffffu : 0u) | 0x80000000u));
}

inline float add_f32(float a, float b) { return flush(flush_subnormal(a) + flush_subnormal(b)); }

inline float mul_f32(float a, float b) { return flush(flush_subnormal(a) * flush_subnormal(b)); }

// As above, for operands that are not subnormal.
inline float add_canonical_f32(float a, float b) { return flush(a + b); }
inline float mul_canonical_f32(float a, float b) { return flush(a * b); }

inline int32_t add_i32(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

inline int32_t mul_i32(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

// out[i] = flush(in[i]). For values that enter from outside (files, reinterpreted integers).
inline void flush_array_f32(const float* in, float* out, size_t count) {
  RNGDSIM_INDEPENDENT_ITERATIONS
  for (size_t i = 0; i < count; ++i) out[i] = flush(in[i]);
}

// out[i] = a[i] + b[i].
inline void add_arrays_f32(const float* a, const float* b, float* out, size_t count) {
  RNGDSIM_INDEPENDENT_ITERATIONS
  for (size_t i = 0; i < count; ++i) out[i] = add_f32(a[i], b[i]);
}

// out[i] = a[i] * b[i].
inline void mul_arrays_f32(const float* a, const float* b, float* out, size_t count) {
  RNGDSIM_INDEPENDENT_ITERATIONS
  for (size_t i = 0; i < count; ++i) out[i] = mul_f32(a[i], b[i]);
}

// As above, for operands that are not subnormal.
inline void add_arrays_canonical_f32(const float* a, const float* b, float* out, size_t count) {
  RNGDSIM_INDEPENDENT_ITERATIONS
  for (size_t i = 0; i < count; ++i) out[i] = add_canonical_f32(a[i], b[i]);
}
inline void mul_arrays_canonical_f32(const float* a, const float* b, float* out, size_t count) {
  RNGDSIM_INDEPENDENT_ITERATIONS
  for (size_t i = 0; i < count; ++i) out[i] = mul_canonical_f32(a[i], b[i]);
}

// out[i] = a[i] + b[i], wrapping.
inline void add_arrays_i32(const int32_t* a, const int32_t* b, int32_t* out, size_t count) {
  RNGDSIM_INDEPENDENT_ITERATIONS
  for (size_t i = 0; i < count; ++i) out[i] = add_i32(a[i], b[i]);
}

// out[i] = a[i] * b[i], wrapping.
inline void mul_arrays_i32(const int32_t* a, const int32_t* b, int32_t* out, size_t count) {
  RNGDSIM_INDEPENDENT_ITERATIONS
  for (size_t i = 0; i < count; ++i) out[i] = mul_i32(a[i], b[i]);
}

}  // namespace rngdsim

#undef RNGDSIM_INDEPENDENT_ITERATIONS

#endif  // RNGDSIM_NUMERIC_ARITHMETIC_H_
