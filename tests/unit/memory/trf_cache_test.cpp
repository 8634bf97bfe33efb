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

// A tensor of one lane has the rows of all eight: rows 0 and 128 lie in different lanes and do not
// get into each other's way, 32 rows fit.
TEST(TrfCache, ALaneOwnsTheCacheOfTheIdleOnes) {
  TrfCache cache({});
  for (uint64_t lane = 0; lane < 8; ++lane) {
    for (uint64_t row = 0; row < 4; ++row) EXPECT_FALSE(cache.read(0, 128 * lane + row, 1));
  }
  for (uint64_t lane = 0; lane < 8; ++lane) {
    for (uint64_t row = 0; row < 4; ++row) EXPECT_TRUE(cache.read(0, 128 * lane + row, 1));
  }
  EXPECT_FALSE(cache.read(0, 4, 1));
}

// Two active lanes own four each: row 130 is row 2 of the second lane of each.
TEST(TrfCache, AReadHitsOnlyWhereAllItsLanesDo) {
  TrfCache cache({});
  EXPECT_FALSE(cache.read(0, 130, 2));  // rows 2 of lanes 1 and 5
  EXPECT_TRUE(cache.read(0, 130, 2));
  EXPECT_FALSE(cache.read(0, 2, 8));  // row 2 of all eight lanes: six are missing
  EXPECT_TRUE(cache.read(0, 130, 2));
  EXPECT_TRUE(cache.read(0, 2, 8));
  EXPECT_FALSE(cache.read(0, 6, 1));  // takes the place in lane 0
  EXPECT_FALSE(cache.read(0, 2, 8));
}

TEST(TrfCache, OtherShapes) {
  TrfCache none({8, 2, 128, 0});
  EXPECT_FALSE(none.read(0, 0, 8));
  EXPECT_FALSE(none.read(0, 0, 8));
  TrfCache one({8, 2, 128, 1});
  EXPECT_FALSE(one.read(0, 0, 8));
  EXPECT_TRUE(one.read(0, 0, 8));
  EXPECT_FALSE(one.read(0, 1, 8));
  EXPECT_FALSE(one.read(0, 0, 8));
}

}  // namespace
}  // namespace rngdsim
