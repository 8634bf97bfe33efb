// SPDX-License-Identifier: Apache-2.0
#include "engine/flit_cutter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace rngdsim {
namespace {

using testing::ElementsAre;

// Elements of each flit that come from the packet, over all items of a command.
std::vector<uint64_t> flit_fill(uint64_t packet, uint64_t flit, uint64_t flits, uint64_t item) {
  CollectConfig config;
  config.packet_elements = packet;
  config.flit_elements = flit;
  config.flits = flits;
  FlitCutter cutter(config, item);
  std::vector<uint64_t> fill;
  while (!cutter.done()) {
    const FlitCutter::Step step = cutter.step();
    EXPECT_GT(step.elements, 0u);
    EXPECT_LE(step.item_begin + step.elements, item);
    EXPECT_LE(step.flit_begin + step.elements, flit);
    if (step.ends_flit) fill.push_back(step.flit_begin + step.elements);
    cutter.take(step);
  }
  EXPECT_EQ(cutter.step().item_begin, 0u);  // no item is left half taken
  return fill;
}

// The Collect cases of the documents; sizes in bytes of i8 where not said otherwise.
TEST(FlitCutter, DocumentedCases) {
  EXPECT_THAT(flit_fill(32, 32, 1, 32), ElementsAre(32));      // i8 B=32: one flit
  EXPECT_THAT(flit_fill(16, 32, 1, 16), ElementsAre(16));      // i8 B=16: one flit, padded
  EXPECT_THAT(flit_fill(32, 16, 2, 16), ElementsAre(16, 16));  // bf16 B=32: two flits
  EXPECT_THAT(flit_fill(24, 32, 1, 8), ElementsAre(24));       // wastes 8 of 32 bytes
  EXPECT_THAT(flit_fill(40, 32, 2, 8), ElementsAre(32, 8));    // wastes 24 of 64
}

TEST(FlitCutter, PacketsDoNotShareFlits) {
  EXPECT_THAT(flit_fill(24, 32, 3, 8), ElementsAre(24, 24, 24));
  EXPECT_THAT(flit_fill(40, 32, 4, 8), ElementsAre(32, 8, 32, 8));
  EXPECT_THAT(flit_fill(1, 32, 2, 1), ElementsAre(1, 1));
}

TEST(FlitCutter, AnItemMayHoldSeveralFlits) {
  EXPECT_THAT(flit_fill(72, 32, 6, 72), ElementsAre(32, 32, 8, 32, 32, 8));
}

// Items that straddle the end of a flit: none come from Fetch, whose accesses are powers of two.
TEST(FlitCutter, AnItemMayStraddleAFlit) {
  EXPECT_THAT(flit_fill(48, 32, 2, 24), ElementsAre(32, 16));
}

TEST(FlitCutter, StepsOfAFortyBytePacket) {
  CollectConfig config;
  config.packet_elements = 40;
  config.flit_elements = 32;
  config.flits = 2;
  FlitCutter cutter(config, 8);
  for (uint64_t access = 0; access < 4; ++access) {
    const FlitCutter::Step step = cutter.step();
    EXPECT_EQ(step.flit_begin, 8 * access);
    EXPECT_EQ(step.ends_flit, access == 3);
    EXPECT_TRUE(step.ends_item);
    EXPECT_EQ(cutter.flit(), 0u);
    cutter.take(step);
  }
  const FlitCutter::Step step = cutter.step();
  EXPECT_EQ(step.flit_begin, 0u);
  EXPECT_TRUE(step.ends_flit);
  EXPECT_EQ(cutter.flit(), 1u);
  cutter.take(step);
  EXPECT_TRUE(cutter.done());
}

}  // namespace
}  // namespace rngdsim
