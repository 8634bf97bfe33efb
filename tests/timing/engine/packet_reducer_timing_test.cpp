// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "engine/packet_reducer.h"
#include "support/diagnostic.h"
#include "tests/support/contraction.h"
#include "tests/support/systemc_fixture.h"

namespace rngdsim::test {
namespace {

using testing::ElementsAre;

class PacketReducerTimingTest : public SystemCTest {
 protected:
  void build(uint64_t depth = PacketReducer::required_depth({})) {
    products_ = std::make_unique<Driver<StreamItem>>("multiplier", *clock_, context_);
    reducer_ = std::make_unique<PacketReducer>("packet_reducer", *clock_, context_,
                                               PacketReducer::Parameters{});
    sums_ = std::make_unique<Collector<StreamItem>>("time_reducer", *clock_, context_);
    connect(*products_, products_->out, *reducer_, reducer_->in);
    connect(*reducer_, reducer_->out, *sums_, sums_->in, 1, depth);
  }
  CommandId reduction(DType dtype, uint64_t depth) {
    Command& command = add_command();
    command.outer = outer_config(dtype, dtype, 2, 8);
    command.packet_reduce = PacketReduceConfig{depth, 1};
    return command.id;
  }
  void push(CommandId command, Cycle cycle, uint64_t index, bool last) {
    StreamItem item;
    item.command = command;
    item.index = index;
    item.last = last;
    products_->push_at(cycle, item);
  }
  std::unique_ptr<Driver<StreamItem>> products_;
  std::unique_ptr<PacketReducer> reducer_;
  std::unique_ptr<Collector<StreamItem>> sums_;
};

struct LatencyCase {
  DType dtype;
  Cycle latency;
};
class PacketReducerLatencyTest : public PacketReducerTimingTest,
                                 public testing::WithParamInterface<LatencyCase> {};

// Taken in cycle 1; the collector pops as soon as the sums are there, not a cycle before.
TEST_P(PacketReducerLatencyTest, DependsOnTheTypeAndNotOnTheDepth) {
  const auto [dtype, latency] = GetParam();
  const CommandId deep = reduction(dtype, 5);
  const CommandId flat = reduction(dtype, 0);
  build();
  push(deep, 0, 0, true);
  push(flat, 20, 0, true);
  run();
  EXPECT_THAT(sums_->cycles(), ElementsAre(1 + latency, 21 + latency));
}

TEST_P(PacketReducerLatencyTest, OnePacketInAndOneOutEachCycle) {
  const CommandId command = reduction(GetParam().dtype, 5);
  build();
  for (uint64_t i = 0; i < 50; ++i) push(command, i, i, i == 49);
  run();
  std::vector<Cycle> expected(50);
  std::iota(expected.begin(), expected.end(), 1 + GetParam().latency);
  EXPECT_EQ(sums_->cycles(), expected);
}

INSTANTIATE_TEST_SUITE_P(Types, PacketReducerLatencyTest,
                         testing::Values(LatencyCase{DType::kI4, 7}, LatencyCase{DType::kI5, 7},
                                         LatencyCase{DType::kI8, 6}, LatencyCase{DType::kI9, 6},
                                         LatencyCase{DType::kF8E4M3, 6},
                                         LatencyCase{DType::kF8E5M2, 6},
                                         LatencyCase{DType::kBF16, 5}));

TEST_F(PacketReducerTimingTest, TheLinkMustHoldThePipe) {
  EXPECT_EQ(PacketReducer::required_depth({}), 8u);
  const CommandId command = reduction(DType::kBF16, 5);
  build(6);  // enough for five cycles of bf16
  for (uint64_t i = 0; i < 20; ++i) push(command, i, i, i == 19);
  run();
  EXPECT_EQ(sums_->cycles().back(), 25u);
}

TEST_F(PacketReducerTimingTest, AShallowerLinkHoldsThePipeUp) {
  const CommandId command = reduction(DType::kBF16, 5);
  build(5);
  for (uint64_t i = 0; i < 20; ++i) push(command, i, i, i == 19);
  run();
  EXPECT_GT(sums_->cycles().back(), 25u);
}

TEST_F(PacketReducerTimingTest, OtherCommandsPassInOneCycleAndInOrder) {
  const CommandId reduced = reduction(DType::kI4, 7);
  const CommandId passed = add_command().id;
  build();
  push(passed, 0, 0, true);
  push(reduced, 5, 0, true);
  push(passed, 6, 0, true);
  run();
  EXPECT_THAT(sums_->cycles(), ElementsAre(2, 13, 14)) << "nothing overtakes in the pipe";
}

TEST_F(PacketReducerTimingTest, SumsCarryTheAccumulatorType) {
  simulate_values(2);
  program_.tensors.push_back(trf_tensor("w", DType::kBF16, 8, 2));
  const CommandId command = reduction(DType::kBF16, 5);
  const std::vector<std::vector<uint8_t>> live;
  TrfStorage storage(program_, pool_.get(), live, 32);
  for (uint64_t i = 0; i < 16; ++i) {
    storage.store(0, i / 2, i % 2, value_block(*pool_, DType::kBF16, 16, [&](uint32_t, uint32_t) {
                    return static_cast<double>(i / 2);
                  }));
  }
  build();
  StreamItem item;
  item.command = command;
  item.last = true;
  for (auto& flit : item.flits) {
    flit = value_block(*pool_, DType::kBF16, 16, [](uint32_t, uint32_t s) { return 1.0 + s; });
  }
  item.trf = storage.read(0, 0, 32, 8);
  products_->push_at(0, item);
  run();
  const StreamItem& sums = sums_->received.at(0).second;
  EXPECT_FALSE(sums.flits[0]);
  EXPECT_EQ(sums.trf, nullptr);
  ASSERT_TRUE(sums.values);
  EXPECT_EQ(sums.values->dtype, DType::kF32);
  for (uint32_t lane = 0; lane < 8; ++lane) EXPECT_EQ(value_at(*sums.values, lane, 1), 64.0 * lane);
}

TEST_F(PacketReducerTimingTest, MoreColumnsThanExistAreAnInternalError) {
  const CommandId command = reduction(DType::kI4, 1);
  program_.commands[command].packet_reduce->columns = 64;
  build();
  push(command, 0, 0, true);
  EXPECT_THROW(run(), InternalError);
}

}  // namespace
}  // namespace rngdsim::test
