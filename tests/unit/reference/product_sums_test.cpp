// SPDX-License-Identifier: Apache-2.0
// Sums of products against plain loops, bit for bit, for both targets they are compiled for.
#include "reference/product_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace rngdsim {
namespace {

template <typename T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

// Now and then what is not usual: infinities, NaN, subnormals of f32, signed zeros.
template <typename T>
T any_value(std::mt19937& random) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random());
  } else {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const T specials[] = {kInfinity,   -kInfinity,   std::numeric_limits<T>::quiet_NaN(),
                          T(0x1p-140), T(-0x1p-149), T(0),
                          -T(0),       T(3e38)};
    if (random() % 500 == 0) return specials[random() % std::size(specials)];
    return static_cast<T>(
        std::ldexp(static_cast<double>(random()) - 0x1p31, static_cast<int>(random() % 60) - 60));
  }
}

template <typename T>
void compare_tiles() {
  std::mt19937 random(3);
  for (size_t rows : {4, 12}) {
    for (size_t columns : {8, 24}) {
      for (size_t depth : {1, 2, 37, 128}) {
        std::vector<T> a(rows * depth), b(columns * depth), in_panels(columns * depth);
        for (T& value : a) value = any_value<T>(random);
        for (T& value : b) value = any_value<T>(random);
        for (size_t c = 0; c < columns; ++c) {
          for (size_t k = 0; k < depth; ++k) {
            in_panels[column_entry(c, k, depth)] = b[c * depth + k];
          }
        }
        std::vector<T> before(rows * columns);
        for (T& value : before) value = any_value<T>(random);
        for (VectorTarget target : {VectorTarget::kBaseline, VectorTarget::kBest}) {
          std::vector<T> sums = before;
          add_products(a.data(), rows, in_panels.data(), columns, depth, sums.data(), target);
          for (size_t r = 0; r < rows; ++r) {
            for (size_t c = 0; c < columns; ++c) {
              T expected = before[r * columns + c];
              for (size_t k = 0; k < depth; ++k) expected += a[r * depth + k] * b[c * depth + k];
              const T got = sums[r * columns + c];
              if constexpr (std::is_integral_v<T>) {
                ASSERT_EQ(got, expected) << rows << " " << columns << " " << depth;
              } else {
                ASSERT_TRUE(same_bits(got, expected)) << rows << " " << columns << " " << depth;
              }
            }
          }
        }
      }
    }
  }
}

TEST(ProductSumsTest, TilesOfDoublesEqualTheTripleLoop) { compare_tiles<double>(); }
TEST(ProductSumsTest, TilesOfIntegersEqualTheTripleLoop) { compare_tiles<uint32_t>(); }

TEST(ProductSumsTest, BothTargetsSumExactProductsAlike) {
  std::mt19937 random(5);
  for (size_t count : {0, 1, 15, 16, 17, 64, 200}) {
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::vector<float> a(count), b(count);
      for (float& value : a) value = any_value<float>(random);
      for (float& value : b) value = any_value<float>(random);
      const FloatSum one = sum_exact_products(a.data(), b.data(), count, VectorTarget::kBaseline);
      const FloatSum other = sum_exact_products(a.data(), b.data(), count, VectorTarget::kBest);
      EXPECT_TRUE(same_bits(one.sum, other.sum)) << count;
      EXPECT_TRUE(same_bits(one.absolute, other.absolute)) << count;
    }
  }
}

}  // namespace
}  // namespace rngdsim
