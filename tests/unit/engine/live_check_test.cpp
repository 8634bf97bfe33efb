// SPDX-License-Identifier: Apache-2.0
#include "engine/live_check.h"

#include <gtest/gtest.h>

namespace rngdsim {
namespace {

// R = 11 in slices of 8 (`R # 16 / 8` in Slice, `R # 16 % 8` in Packet), A = 3 in Time, four
// slices.
class LiveCheckTest : public testing::Test {
 protected:
  LiveCheckTest() {
    a = program.axes.add("A", 3);
    r = program.axes.add("R", 11);
    program.limits.clusters = 1;
    program.limits.slices = 4;
    const Mapping padded = Mapping::axis(r, 11).pad(16, PadKind::kTop);
    shape.slice = padded.stride(8).pad(4, PadKind::kTop);
    shape.time = Mapping::axis(a, 3).pad(4, PadKind::kTop);
    shape.packet = padded.modulo(8);
  }
  // Eight elements of four slices, poison in the given one.
  BlockRef poisoned(uint32_t element, uint32_t slice) {
    BlockRef values = pool.allocate(DType::kI8, 8);
    values->track_validity();
    values->valid_row(element)[slice] = 0;
    return values;
  }
  std::optional<PoisonedElement> find(const Block& block, uint64_t position,
                                      const std::vector<uint8_t>& live = {}) {
    return find_live_poison(block, position, shape, program, live);
  }

  BlockPool pool{4};
  Program program;
  StreamShape shape;
  AxisId a = 0, r = 0;
};

TEST_F(LiveCheckTest, NamesTheElement) {
  const auto found = find(*poisoned(2, 1), 16);  // time 2, packet 2, slice 1
  ASSERT_TRUE(found);
  EXPECT_EQ(found->slice, 1u);
  EXPECT_TRUE(found->cell.live);
  const std::vector<std::pair<AxisId, uint64_t>> index = {{a, 2}, {r, 10}};
  EXPECT_EQ(found->cell.index, index);
  EXPECT_EQ(to_string(found->cell, program.axes), "A=2 R=10");
}

TEST_F(LiveCheckTest, TheOriginIsAnElement) {
  const auto found = find(*poisoned(0, 0), 0);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->cell.index.empty());
}

// R = 11 lies beyond the axis though both digits are live.
TEST_F(LiveCheckTest, AnOvershootIsNoElement) {
  EXPECT_FALSE(find(*poisoned(3, 1), 0));
  EXPECT_TRUE(find(*poisoned(3, 0), 0));
}

TEST_F(LiveCheckTest, PaddingIsNoElement) {
  EXPECT_FALSE(find(*poisoned(0, 2), 0));   // of Slice
  EXPECT_FALSE(find(*poisoned(0, 0), 24));  // of Time: A = 3
  EXPECT_FALSE(find(*poisoned(0, 0), 32));  // past the end of the stream
}

TEST_F(LiveCheckTest, DeadSlicesAndValidBlocks) {
  EXPECT_FALSE(find(*poisoned(0, 0), 0, {0, 1, 1, 1}));
  EXPECT_TRUE(find(*poisoned(0, 0), 0, {1, 1, 1, 1}));
  EXPECT_FALSE(find(*pool.allocate(DType::kI8, 8), 0));
}

// An access may be a part of a packet.
TEST_F(LiveCheckTest, PositionsInsideOfAPacket) {
  BlockRef values = pool.allocate(DType::kI8, 2);
  values->track_validity();
  values->valid_row(1)[0] = 0;
  const auto found = find(*values, 8 + 6);
  ASSERT_TRUE(found);
  EXPECT_EQ(to_string(found->cell, program.axes), "A=1 R=7");
}

// A flit is padded behind its packet.
TEST_F(LiveCheckTest, RowsBehindThePacketBelongToNobody) {
  BlockRef values = pool.allocate(DType::kI8, 32);
  values->track_validity();
  values->valid_row(8)[0] = 0;
  EXPECT_FALSE(find(*values, 0));
}

TEST_F(LiveCheckTest, FindsTheFirst) {
  BlockRef values = poisoned(5, 0);
  values->valid_row(4)[2] = 0;  // padding
  values->valid_row(6)[0] = 0;
  const auto found = find(*values, 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(to_string(found->cell, program.axes), "R=5");
}

TEST_F(LiveCheckTest, ClustersComeFirstInTheNumberOfASlice) {
  const AxisId c = program.axes.add("C", 2);
  program.limits.clusters = 2;
  program.limits.slices = 2;
  shape.cluster = Mapping::axis(c, 2);
  shape.slice = Mapping::axis(r, 11).pad(16, PadKind::kTop).stride(8);
  const auto found = find(*poisoned(0, 3), 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(to_string(found->cell, program.axes), "R=8 C=1");
}

TEST_F(LiveCheckTest, IsPreparedAnewForAnotherStream) {
  LiveCheck check;
  check.prepare(shape, program, {});
  EXPECT_TRUE(check.find(*poisoned(0, 1), 0));
  StreamShape other = shape;
  other.slice = Mapping::broadcast(1).pad(4, PadKind::kTop);
  check.prepare(other, program, {});
  EXPECT_FALSE(check.find(*poisoned(0, 1), 0));
}

}  // namespace
}  // namespace rngdsim
