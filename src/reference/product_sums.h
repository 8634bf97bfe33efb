// SPDX-License-Identifier: Apache-2.0
// Sums of products, the bulk of what the reference computes. Compiled for two targets that give the
// same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/vector_target.h"

namespace rngdsim {

struct FloatSum {
  double sum = 0;       // exact but for roundings to 53 bits
  double absolute = 0;  // sum |a b|, never too small
};

// Products are formed in f32, for operands where that is exact (but for underflow, which the bound
// of the reference covers) and quick. Not finite where a product or its sum is beyond f32.
FloatSum sum_exact_products(const float* a, const float* b, size_t count,
                            VectorTarget target = VectorTarget::kBest);
FloatSum sum_products(const float* a, const float* b, size_t count);
// Modulo 2^32.
uint32_t sum_products(const int32_t* a, const int32_t* b, size_t count);

// Many sums at once: each of some rows of one matrix with each of some rows of another, which are
// called columns. T: double, or uint32_t, which is exact modulo 2^32.
struct ProductTile {
  static constexpr size_t kRows = 4;  // rows and columns come in multiples of these
  static constexpr size_t kColumns = 8;
};
// Element k of column c in the matrix of columns, in which kColumns lie side by side.
inline size_t column_entry(size_t c, size_t k, size_t depth) {
  return (c / ProductTile::kColumns * depth + k) * ProductTile::kColumns +
         c % ProductTile::kColumns;
}
// sums[r * columns + c] += sum over k of rows[r * depth + k] * (element k of column c), the
// products added one after the other.
template <typename T>
void add_products(const T* rows, size_t row_count, const T* columns, size_t column_count,
                  size_t depth, T* sums, VectorTarget target = VectorTarget::kBest);

}  // namespace rngdsim
