// SPDX-License-Identifier: Apache-2.0
//
// Reproducible random tensors: a counter-based generator, so that element `index` of a tensor with
// `seed` has one value whatever the order, the part or the machine that fills it. Built on the
// mixing function of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", 2014). Not for cryptography.

#ifndef RNGDSIM_NUMERIC_RANDOM_H_
#define RNGDSIM_NUMERIC_RANDOM_H_

#include <cmath>
#include <cstdint>

#include "numeric/dtype.h"

namespace rngdsim {

// A bijection of 64-bit words that spreads every input bit over all output bits.
constexpr uint64_t mix64(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

// Output `index` of a SplitMix64 stream whose start is the mixed seed, so that neighbouring seeds
// give unrelated streams.
constexpr uint64_t hash64(uint64_t seed, uint64_t index) {
  constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;
  return mix64(mix64(seed + kGoldenGamma) + (index + 1) * kGoldenGamma);
}

// Uniform in [0, 1), a multiple of 2^-53.
inline double uniform01(uint64_t seed, uint64_t index) {
  return static_cast<double>(hash64(seed, index) >> 11) * 0x1p-53;
}

// The raw bits of a random element.
//   integers  every integer in [low, high] equally likely, both ends included
//   floats    low + (high - low) * u with u uniform in [0, 1), rounded to the type by
//   from_double();
//             rounding may give the nearest value to `high`
// Requires finite bounds, low <= high, both within min_value() .. max_value() and, for integers, an
// integer between them; the caller has checked this where the bounds came from a user.
inline uint32_t random_bits(DType dtype, uint64_t seed, uint64_t index, double low, double high) {
  if (is_float(dtype)) {
    return from_double(dtype, low + (high - low) * uniform01(seed, index));
  }
  const double first = std::ceil(low);
  const auto count = static_cast<uint64_t>(std::floor(high) - first + 1.0);  // at most 2^32
  // (hash * count) >> 64 without a 128-bit product.
  const uint64_t hash = hash64(seed, index);
  const uint64_t upper = (hash >> 32) * count;
  const uint64_t lower = (hash & 0xffffffffu) * count;
  const uint64_t offset = (upper + (lower >> 32)) >> 32;
  return from_double(dtype, first + static_cast<double>(offset));
}

}  // namespace rngdsim

#endif  // RNGDSIM_NUMERIC_RANDOM_H_
