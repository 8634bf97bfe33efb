// SPDX-License-Identifier: Apache-2.0
//
// The element types of the tensor unit: names, sizes and exact values.
//
// An element is handled as *raw bits* in the low value_bits() bits of a uint32_t: two's complement
// for integers, the IEEE 754 or OCP code for floats. Functions that return raw bits leave the bits
// above at zero; functions that take raw bits ignore them.
//
// Float types (hardware.md sections 1, 4.8 and 4.10; layouts from IEEE 754-2019, OCP 8-bit Floating
// Point Specification 1.0 and OCP Microscaling Formats 1.0):
//
//   type    sign exponent mantissa bias  largest  infinity  canonical NaN  subnormals
//   f32        1        8       23  127  ~3.4e38       yes     0x7fc00000          no
//   bf16       1        8        7  127  ~3.4e38       yes         0x7fc0          no
//   f8e5m2     1        5        2   15    57344       yes           0x7f         yes
//   f8e4m3     1        4        3    7      448        no           0x7f         yes
//   f4e2m1     1        2        1    1        6        no           none         yes
//
// f32 and bf16 codes with a zero exponent mean zero, with their sign. The NaN of f8e5m2 is our
// choice: any of 0x7d, 0x7e and 0x7f is a NaN, nothing published says which one the hardware makes,
// and 0x7f is the NaN of f8e4m3 too.

#ifndef RNGDSIM_NUMERIC_DTYPE_H_
#define RNGDSIM_NUMERIC_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rngdsim {

enum class DType : uint8_t {
  kI4,
  kI5,
  kI8,
  kI9,
  kI16,
  kI32,
  kF8E4M3,
  kF8E5M2,
  kF4E2M1,
  kBF16,
  kF32,
};

// Number of enumerators; their values are 0 .. kDTypeCount - 1.
inline constexpr int kDTypeCount = 11;

// The name used in kernel files and reports: "i4", "f8e4m3", "bf16", ...
const char* name(DType dtype);

// The inverse of name(); empty if `text` is not exactly one of the names.
std::optional<DType> parse_dtype(std::string_view text);

// Every name, in the order of the enumeration.
std::vector<std::string> dtype_names();

// Every type, in the order of the enumeration.
std::vector<DType> all_dtypes();

// Bits of the value itself: 4, 5, 8, 9, 16 or 32.
int value_bits(DType dtype);

// Bits an element occupies in memory and in a 32 B flit: 4, 8, 16 or 32. i5 travels in the slot of
// a 4-bit and i9 in that of an 8-bit element: 32 B hold 64 i4 or i5, 32 i8, i9 or f8, 16 bf16
// elements (hardware.md section 1, "elements a 320-bit row").
int memory_bits(DType dtype);

// Bytes of one element in the simulator's arrays: 1 (i4 i5 i8 f8* f4e2m1), 2 (i9 i16 bf16) or
// 4 (i32 f32).
int storage_bytes(DType dtype);

bool is_integer(DType dtype);
bool is_float(DType dtype);

// The value of raw bits, exactly. NaN codes give a quiet NaN; f32 and bf16 subnormal codes give a
// signed zero, since the hardware has none.
double to_double(DType dtype, uint32_t bits);

// The raw bits nearest to `value`.
//   integers  round to nearest, ties to even, then wrap to value_bits(); NaN and infinity give 0.
//   floats    one rounding to nearest, ties to even. Zero and underflow keep the sign. f32 and bf16
//             results that are still subnormal after rounding become signed zero. f8e4m3 and f4e2m1
//             saturate, infinity included; the others overflow to infinity. NaN gives the canonical
//             NaN; f4e2m1 has none and gives 0x7 (6.0), our choice.
uint32_t from_double(DType dtype, double value);

// Smallest and largest finite value.
double min_value(DType dtype);
double max_value(DType dtype);

}  // namespace rngdsim

#endif  // RNGDSIM_NUMERIC_DTYPE_H_
