// SPDX-License-Identifier: Apache-2.0
// Shapes and configurations behind each stage of a vector chain; what is refused is in broken/.
#include <gmock/gmock.h>

#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

class LowerVector : public StageTest {
 protected:
  void SetUp() override { axes({{"A", 3}, {"B", 4}, {"C", 8}, {"R", 10}, {"W", 19}}); }

  ReduceStage reduce(const std::string& op, const std::string& axis) {
    ReduceStage stage;
    stage.op = {op, {}};
    stage.axis = *axes_.find(axis);
    return stage;
  }
};

TEST_F(LowerVector, SplitMovesTheOuterHalfToTime) {
  const auto out = lower_narrow_split(stream("R", "C", DType::kI32), {}, {}, {}, scope_);
  ASSERT_TRUE(out) << errors();
  EXPECT_TRUE(same(out->time, "R, C / 4"));
  EXPECT_TRUE(same(out->packet, "C % 4"));
  const auto padded =
      lower_narrow_split(stream("W # 24 / 8", "W # 24 % 8", DType::kF32), {}, {}, {}, scope_);
  ASSERT_TRUE(padded) << errors();
  EXPECT_TRUE(same(padded->time, "W # 24 / 8, W # 24 / 4 % 2"));
  EXPECT_TRUE(same(padded->packet, "W # 24 % 4"));
}

TEST_F(LowerVector, TrimKeepsTheFrontWhereTheRestIsPadding) {
  const auto out = lower_narrow_trim(stream("R", "B # 8", DType::kI32), declared("B"), {}, scope_);
  ASSERT_TRUE(out) << errors();
  EXPECT_TRUE(same(out->packet, "B"));
  // W = 19 in a packet of 8: positions 4 to 7 hold elements.
  EXPECT_FALSE(lower_narrow_trim(stream("W # 24 / 8", "W # 24 % 8", DType::kI32),
                                 declared("W # 24 % 4"), {}, scope_));
}

TEST_F(LowerVector, AReductionOfTimeKeepsThePacket) {
  const StreamShape flits = stream("R # 12 / 4, A, R # 12 % 4", "B # 8", DType::kI32);
  StreamShape steps = flits;
  steps.packet = map("B");
  const auto lowered = lower_intra_slice_reduce(steps, flits, reduce("add_sat", "R"), scope_);
  ASSERT_TRUE(lowered) << errors();
  EXPECT_TRUE(same(lowered->after.time, "A"));
  EXPECT_TRUE(same(lowered->after.packet, "B"));
  const TimeReduceConfig& time = lowered->config.time;
  ASSERT_EQ(time.loops.size(), 3u);
  EXPECT_TRUE(time.loops[0].reduced);
  EXPECT_FALSE(time.loops[1].reduced);
  EXPECT_TRUE(time.loops[2].reduced);
  EXPECT_EQ(time.slots, 3u);  // A lies inside of R # 12 / 4
  EXPECT_EQ(time.capacity, 8u);
  EXPECT_EQ(time.results, 3u);
  EXPECT_FALSE(lowered->config.in_packet);
  EXPECT_EQ(lowered->config.vcg.time_filters[0].time_thres, 10u);
}

TEST_F(LowerVector, AReductionOfThePacketLeavesOneElement) {
  const StreamShape flits = stream("W # 24 / 8", "W # 24 % 8", DType::kF32);
  const auto steps = lower_narrow_split(flits, {}, {}, {}, scope_);
  ASSERT_TRUE(steps);
  const auto lowered = lower_intra_slice_reduce(*steps, flits, reduce("max", "W"), scope_);
  ASSERT_TRUE(lowered) << errors();
  EXPECT_TRUE(same(lowered->after.time, "1"));
  EXPECT_TRUE(same(lowered->after.packet, "1 # 4"));
  EXPECT_TRUE(lowered->config.in_packet);
  EXPECT_EQ(lowered->config.op, ReduceOp::kMax);
  EXPECT_EQ(lowered->config.vcg.packet_clipper.axis_size, 19u);
}

TEST_F(LowerVector, EightSlotsAndNoMore) {
  for (const auto& [inner, good] : {std::pair{"C", true}, {"A, B", false}}) {
    const StreamShape flits = stream(std::string("R, ") + inner, "1 # 8", DType::kI32);
    StreamShape steps = flits;
    steps.packet = map("1 # 4");
    EXPECT_EQ(lower_intra_slice_reduce(steps, flits, reduce("min", "R"), scope_).has_value(), good)
        << inner;
  }
  EXPECT_THAT(errors(), testing::HasSubstr("needs 12 slots"));
}

// A term of which one position lives looks like padding of nothing, and is still one of its axis.
TEST_F(LowerVector, ATermOfOneLivePositionIsReduced) {
  const StreamShape flits = stream("R # 20 % 10, R # 20 / 10, A", "1 # 8", DType::kI32);
  StreamShape steps = flits;
  steps.packet = map("1 # 4");
  const auto lowered = lower_intra_slice_reduce(steps, flits, reduce("min", "R"), scope_);
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->config.time.results, 3u);
  EXPECT_TRUE(lowered->config.time.loops.at(1).reduced);
}

TEST_F(LowerVector, WidenConcatTakesTheInnermostTwo) {
  const auto out = lower_widen_concat(stream("A, C / 4", "C % 4", DType::kF32), {}, {}, {}, scope_);
  ASSERT_TRUE(out) << errors();
  EXPECT_TRUE(same(out->time, "A"));
  EXPECT_TRUE(same(out->packet, "C"));
}

TEST_F(LowerVector, WidenPadFillsUp) {
  const auto out = lower_widen_pad(stream("A", "B", DType::kF32), {}, {}, scope_);
  ASSERT_TRUE(out) << errors();
  EXPECT_TRUE(same(out->packet, "B # 8"));
}

}  // namespace
}  // namespace rngdsim
