// SPDX-License-Identifier: Apache-2.0

#include "numeric/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace rngdsim {
namespace {

constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;

// The published outputs of SplitMix64 with seed 1234567: output n is mix64(seed + n * gamma).
TEST(RandomTest, MixIsTheOneOfSplitMix64) {
  const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                               4593380528125082431u, 16408922859458223821u};
  for (uint64_t n = 1; n <= 5; ++n) EXPECT_EQ(mix64(1234567 + n * kGoldenGamma), expected[n - 1]);
}

// The first output for seed 0 is the start of the stream of seed 0.
TEST(RandomTest, HashIsTheStreamOfTheMixedSeed) {
  constexpr uint64_t kFirstOutputOfSeed0 = 0xe220a8397b1dcdafu;
  for (uint64_t index : {0u, 1u, 2u, 1000000u}) {
    EXPECT_EQ(hash64(0, index), mix64(kFirstOutputOfSeed0 + (index + 1) * kGoldenGamma));
  }
}

TEST(RandomTest, NeighbouringSeedsAndIndicesDiffer) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    for (uint64_t index = 0; index < 64; ++index) seen.insert(hash64(seed, index));
  }
  EXPECT_EQ(seen.size(), 64u * 64u);
}

TEST(RandomTest, Uniform01HasTheMomentsOfAUniformVariable) {
  constexpr int kCount = 100000;
  double sum = 0;
  double sum_of_squares = 0;
  for (uint64_t index = 0; index < kCount; ++index) {
    const double u = uniform01(7, index);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ASSERT_EQ(u * 0x1p53, std::floor(u * 0x1p53));
    sum += u;
    sum_of_squares += u * u;
  }
  // Five standard deviations of the mean of u, sqrt(1/12 / n), and of u^2, sqrt(4/45 / n).
  EXPECT_NEAR(sum / kCount, 1.0 / 2, 5 * std::sqrt(1.0 / 12 / kCount));
  EXPECT_NEAR(sum_of_squares / kCount, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / kCount));
}

TEST(RandomTest, IntegersCoverTheirIntervalEvenly) {
  constexpr int kCount = 60000;
  std::map<double, int> histogram;
  for (uint64_t index = 0; index < kCount; ++index) {
    ++histogram[to_double(DType::kI4, random_bits(DType::kI4, 3, index, -3, 2))];
  }
  ASSERT_EQ(histogram.size(), 6u);
  EXPECT_EQ(histogram.begin()->first, -3);
  EXPECT_EQ(histogram.rbegin()->first, 2);
  const double sigma = std::sqrt(kCount * (1.0 / 6) * (5.0 / 6));
  for (const auto& [value, times] : histogram) EXPECT_NEAR(times, kCount / 6, 5 * sigma) << value;
}

TEST(RandomTest, IntegerBounds) {
  for (uint64_t index = 0; index < 100; ++index) {
    EXPECT_EQ(random_bits(DType::kI8, 1, index, 5, 5), 5u);
    // Bounds that are no integers: those inside count.
    const double inside = to_double(DType::kI8, random_bits(DType::kI8, 1, index, -1.5, 1.5));
    EXPECT_LE(std::abs(inside), 1);
  }
  // Count 2^32: the value is low + the upper half of the hash.
  for (uint64_t index = 0; index < 100; ++index) {
    const auto upper = static_cast<uint32_t>(hash64(9, index) >> 32);
    EXPECT_EQ(random_bits(DType::kI32, 9, index, -2147483648.0, 2147483647.0), upper + 0x80000000u);
  }
}

TEST(RandomTest, FloatsAreTheRoundedUniformValue) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2, DType::kF4E2M1}) {
    for (uint64_t index = 0; index < 1000; ++index) {
      const uint32_t bits = random_bits(dtype, 2, index, -1, 1);
      EXPECT_EQ(bits, from_double(dtype, 2 * uniform01(2, index) - 1)) << name(dtype);
      EXPECT_LE(std::abs(to_double(dtype, bits)), 1.0);
    }
  }
}

}  // namespace
}  // namespace rngdsim
