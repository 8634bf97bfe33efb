// SPDX-License-Identifier: Apache-2.0
#include "memory/trf_cache.h"

#include <gtest/gtest.h>

namespace rngdsim {
namespace {

TEST(TrfCache, HoldsFourRowsOfABank) {
  TrfCache cache({});
  for (uint64_t row = 0; row < 4; ++row) EXPECT_FALSE(cache.read(0, row, 8));
  for (uint64_t row = 0; row < 4; ++row) EXPECT_TRUE(cache.read(0, row, 8));
  EXPECT_FALSE(cache.read(0, 4, 8));  // in the place of row 0
  EXPECT_FALSE(cache.read(0, 0, 8));
  EXPECT_TRUE(cache.read(0, 1, 8));
}

TEST(TrfCache, BanksAreApart) {
  TrfCache cache({});
  EXPECT_FALSE(cache.read(0, 7, 8));
  EXPECT_FALSE(cache.read(1, 7, 8));
  EXPECT_TRUE(cache.read(0, 7, 8));
}

// A tensor of one lane has the rows of all eight in turn: rows 0 to 31 are rows 0 to 3 of eight
// lanes and fit, row 32 is row 4 of the first.
TEST(TrfCache, ALaneOwnsTheCacheOfTheIdleOnes) {
  TrfCache cache({});
  for (uint64_t row = 0; row < 32; ++row) EXPECT_FALSE(cache.read(0, row, 1));
  for (uint64_t row = 0; row < 32; ++row) EXPECT_TRUE(cache.read(0, row, 1));
  EXPECT_FALSE(cache.read(0, 32, 1));
  EXPECT_FALSE(cache.read(0, 0, 1));
  EXPECT_TRUE(cache.read(0, 1, 1));
}

// Two active lanes own four each: row 130 is row 32 of the third of each, lanes 2 and 6.
TEST(TrfCache, AReadHitsOnlyWhereAllItsLanesDo) {
  TrfCache cache({});
  EXPECT_FALSE(cache.read(0, 130, 2));
  EXPECT_TRUE(cache.read(0, 130, 2));
  EXPECT_FALSE(cache.read(0, 32, 8));  // six lanes are missing
  EXPECT_TRUE(cache.read(0, 130, 2));
  EXPECT_TRUE(cache.read(0, 32, 8));
  EXPECT_FALSE(cache.read(0, 288, 1));  // row 36 of lane 0, in the place of its row 32
  EXPECT_FALSE(cache.read(0, 32, 8));
}

TEST(TrfCache, OtherShapes) {
  TrfCache none({8, 2, 0});
  EXPECT_FALSE(none.read(0, 0, 8));
  EXPECT_FALSE(none.read(0, 0, 8));
  TrfCache one({8, 2, 1});
  EXPECT_FALSE(one.read(0, 0, 8));
  EXPECT_TRUE(one.read(0, 0, 8));
  EXPECT_FALSE(one.read(0, 1, 8));
  EXPECT_FALSE(one.read(0, 0, 8));
}

}  // namespace
}  // namespace rngdsim
