// SPDX-License-Identifier: Apache-2.0
#include "reference/product_sums.h"

#include <cmath>

namespace rngdsim {
namespace {

// Lanes of partial sums: wide enough that additions overlap and vectorise.
constexpr size_t kLanes = 16;

RNGDSIM_INLINE FloatSum exact_products(const float* a, const float* b, size_t count) {
  double sums[kLanes] = {};
  float absolutes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float product = a[i + lane] * b[i + lane];
      sums[lane] += static_cast<double>(product);
      absolutes[lane] += std::fabs(product);
    }
  }
  FloatSum total;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    total.sum += sums[lane];
    total.absolute += static_cast<double>(absolutes[lane]);
  }
  for (; i < count; ++i) {
    const double product = static_cast<double>(a[i]) * static_cast<double>(b[i]);
    total.sum += product;
    total.absolute += std::fabs(product);
  }
  // Each lane added count / 16 terms in f32.
  const uint64_t lane_terms = count / kLanes;
  total.absolute *= 1.0 + (static_cast<double>(lane_terms) + 2.0) * 0x1p-23;
  return total;
}
RNGDSIM_AVX2 FloatSum exact_products_avx2(const float* a, const float* b, size_t count) {
  return exact_products(a, b, count);
}

// kRows rows with kColumns columns. Vectors of the width the target has registers for: wider ones
// would live in memory.
template <typename T, size_t kBytes, size_t kRows>
RNGDSIM_INLINE void add_panel(const T* rows, const T* panel, size_t depth, T* sums,
                              size_t sums_row) {
  typedef T Vector __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
  constexpr size_t kVectors = ProductTile::kColumns * sizeof(T) / kBytes;
  Vector held[kRows][kVectors];
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t v = 0; v < kVectors; ++v) {
      held[r][v] = reinterpret_cast<const Vector*>(sums + r * sums_row)[v];
    }
  }
  for (size_t k = 0; k < depth; ++k) {
    const auto* column = reinterpret_cast<const Vector*>(panel + k * ProductTile::kColumns);
    for (size_t r = 0; r < kRows; ++r) {
      const T value = rows[r * depth + k];
      for (size_t v = 0; v < kVectors; ++v) held[r][v] += column[v] * value;
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t v = 0; v < kVectors; ++v) {
      reinterpret_cast<Vector*>(sums + r * sums_row)[v] = held[r][v];
    }
  }
}

template <typename T, size_t kBytes, size_t kRows>
RNGDSIM_INLINE void add_tile(const T* rows, size_t row_count, const T* columns, size_t column_count,
                             size_t depth, T* sums) {
  static_assert(ProductTile::kRows % kRows == 0);
  for (size_t c = 0; c < column_count; c += ProductTile::kColumns) {
    for (size_t r = 0; r < row_count; r += kRows) {
      add_panel<T, kBytes, kRows>(rows + r * depth, columns + c * depth, depth,
                                  sums + r * column_count + c, column_count);
    }
  }
}
// As many sums at a time as there are registers for.
template <typename T>
void add_tile_baseline(const T* rows, size_t row_count, const T* columns, size_t column_count,
                       size_t depth, T* sums) {
  add_tile<T, 16, 2>(rows, row_count, columns, column_count, depth, sums);
}
template <typename T>
RNGDSIM_AVX2 void add_tile_avx2(const T* rows, size_t row_count, const T* columns,
                                size_t column_count, size_t depth, T* sums) {
  add_tile<T, 32, 4>(rows, row_count, columns, column_count, depth, sums);
}

}  // namespace

FloatSum sum_exact_products(const float* a, const float* b, size_t count, VectorTarget target) {
  return use_avx2(target) ? exact_products_avx2(a, b, count) : exact_products(a, b, count);
}

FloatSum sum_products(const float* a, const float* b, size_t count) {
  FloatSum total;
  for (size_t i = 0; i < count; ++i) {
    const double product = static_cast<double>(a[i]) * static_cast<double>(b[i]);
    total.sum += product;
    total.absolute += std::fabs(product);
  }
  return total;
}

uint32_t sum_products(const int32_t* a, const int32_t* b, size_t count) {
  uint32_t sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += static_cast<uint32_t>(a[i + lane]) * static_cast<uint32_t>(b[i + lane]);
    }
  }
  uint32_t total = 0;
  for (uint32_t sum : sums) total += sum;
  for (; i < count; ++i) total += static_cast<uint32_t>(a[i]) * static_cast<uint32_t>(b[i]);
  return total;
}

template <typename T>
void add_products(const T* rows, size_t row_count, const T* columns, size_t column_count,
                  size_t depth, T* sums, VectorTarget target) {
  (use_avx2(target) ? add_tile_avx2<T> : add_tile_baseline<T>)(rows, row_count, columns,
                                                               column_count, depth, sums);
}
template void add_products(const double*, size_t, const double*, size_t, size_t, double*,
                           VectorTarget);
template void add_products(const uint32_t*, size_t, const uint32_t*, size_t, size_t, uint32_t*,
                           VectorTarget);

}  // namespace rngdsim
