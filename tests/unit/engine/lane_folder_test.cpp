// SPDX-License-Identifier: Apache-2.0
// The order in which a slot drains: N = 8 lanes, P = 16 columns.
#include "engine/lane_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rngdsim {
namespace {

LaneFoldConfig fold(bool interleaved, uint64_t lanes, uint64_t columns) {
  LaneFoldConfig config;
  config.interleaved = interleaved;
  config.lanes = lanes;
  config.columns = columns;
  return config;
}

TEST(LaneFolderOrderTest, InterleavedGivesTimePacketThenLane) {
  const LaneFoldConfig config = fold(true, 8, 16);
  for (uint64_t p = 0; p < 16; ++p) {
    for (uint64_t n = 0; n < 8; ++n) {
      EXPECT_EQ(LaneFolder::entry(config, 8, p, n), n * 16 + p);
    }
  }
}

TEST(LaneFolderOrderTest, SequentialGivesLaneThenEightColumnsAFlit) {
  const LaneFoldConfig config = fold(false, 8, 16);
  for (uint64_t n = 0; n < 8; ++n) {
    for (uint64_t p = 0; p < 16; ++p) {
      EXPECT_EQ(LaneFolder::entry(config, 8, n * 2 + p / 8, p % 8), n * 16 + p);
    }
  }
}

TEST(LaneFolderOrderTest, IdleLanesLeaveBusPositionsEmpty) {
  const LaneFoldConfig config = fold(true, 2, 4);
  EXPECT_EQ(LaneFolder::entry(config, 8, 3, 1), 7u);
  EXPECT_EQ(LaneFolder::entry(config, 8, 3, 2), std::nullopt);
}

TEST(LaneFolderOrderTest, SequentialPadsColumnsToEight) {
  const LaneFoldConfig config = fold(false, 2, 4);
  EXPECT_EQ(LaneFolder::entry(config, 8, 1, 3), 7u);
  EXPECT_EQ(LaneFolder::entry(config, 8, 1, 4), std::nullopt);
}

}  // namespace
}  // namespace rngdsim
