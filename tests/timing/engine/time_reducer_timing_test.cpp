// SPDX-License-Identifier: Apache-2.0
// The Time Reducer alone and with the Lane Folder that drains its slots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "engine/lane_folder.h"
#include "engine/time_reducer.h"
#include "support/diagnostic.h"
#include "tests/support/contraction.h"
#include "tests/support/systemc_fixture.h"

namespace rngdsim::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<Cycle> range(Cycle first, size_t count) {
  std::vector<Cycle> cycles(count);
  std::iota(cycles.begin(), cycles.end(), first);
  return cycles;
}

class TimeReducerTimingTest : public SystemCTest {
 protected:
  CommandId command(TimeReduceConfig time, std::optional<LaneFoldConfig> fold) {
    Command& command = add_command();
    command.outer = outer_config(DType::kBF16, DType::kBF16, 2, 8);
    command.packet_reduce = PacketReduceConfig{5, 1};
    command.time_reduce = std::move(time);
    command.lane_fold = fold;
    return command.id;
  }
  static LaneFoldConfig fold(bool interleaved, uint64_t lanes, uint64_t columns) {
    LaneFoldConfig config;
    config.interleaved = interleaved;
    config.lanes = lanes;
    config.columns = columns;
    config.flits_per_result = interleaved ? columns : lanes * ((columns + 7) / 8);
    return config;
  }
  void build() {
    packets_ = std::make_unique<Driver<StreamItem>>("packet_reducer", *clock_, context_);
    reducer_ =
        std::make_unique<TimeReducer>("time_reducer", *clock_, context_, TimeReducer::Parameters{});
    connect(*packets_, packets_->out, *reducer_, reducer_->in);
  }
  // Without a folder: slots are released by hand.
  void alone() {
    build();
    releases_ =
        std::make_unique<Driver<SlotRelease>>("releases", *clock_, context_, "slot release");
    out_ = std::make_unique<Collector<StreamItem>>("lane_folder", *clock_, context_);
    connect(*reducer_, reducer_->out, *out_, out_->in);
    connect(*releases_, releases_->out, *reducer_, reducer_->release);
  }
  void with_folder() {
    build();
    folder_ =
        std::make_unique<LaneFolder>("lane_folder", *clock_, context_, LaneFolder::Parameters{});
    out_ = std::make_unique<Collector<StreamItem>>("cast", *clock_, context_);
    connect(*reducer_, reducer_->out, *folder_, folder_->in);
    connect(*folder_, folder_->out, *out_, out_->in);
    connect(*folder_, folder_->release, *reducer_, reducer_->release);
  }
  void packets(CommandId command, uint64_t count, Cycle first = 0) {
    for (uint64_t i = 0; i < count; ++i) {
      StreamItem item;
      item.command = command;
      item.index = i;
      item.last = i + 1 == count;
      if (context_.values()) {
        item.values = value_block(*pool_, DType::kF32, 8, [&](uint32_t e, uint32_t) {
          return static_cast<double>(i) + 100.0 * e;
        });
      }
      packets_->push_at(first + i, item);
    }
  }
  uint64_t cycles(UnitState state) const {
    return reducer_->counters().cycles[static_cast<size_t>(state)];
  }

  std::unique_ptr<Driver<StreamItem>> packets_;
  std::unique_ptr<Driver<SlotRelease>> releases_;
  std::unique_ptr<TimeReducer> reducer_;
  std::unique_ptr<LaneFolder> folder_;
  std::unique_ptr<Collector<StreamItem>> out_;
};

// Time `B / 16, A % 8` keeping `A % 8`: 16 packets, 8 slots. Packet i is taken in cycle i + 1.
TEST_F(TimeReducerTimingTest, AResultLeavesInTheCycleOfThePacketThatCompletesIt) {
  simulate_values(1);
  const CommandId id = command({{{2, true}, {8, false}}, 8, 32, 8}, fold(false, 1, 8));
  alone();
  packets(id, 16);
  reducer_->finish(run());
  EXPECT_EQ(out_->cycles(), range(10, 8));
  for (uint64_t a = 0; a < 8; ++a) {
    const StreamItem& result = out_->received[a].second;
    EXPECT_EQ(result.index, a);
    EXPECT_EQ(result.slot, a);
    EXPECT_EQ(result.last, a == 7);
    // Packets a and a + 8.
    EXPECT_EQ(value_at(*result.values, 0, 0), 2.0 * a + 8);
    EXPECT_EQ(value_at(*result.values, 7, 0), 2.0 * a + 1408);
  }
  EXPECT_EQ(reducer_->counters().items_in, 16u);
  EXPECT_EQ(reducer_->counters().items_out, 8u);
  EXPECT_EQ(cycles(UnitState::kBusy), 16u);
}

TEST_F(TimeReducerTimingTest, AReleasedSlotIsOverwrittenTheCycleAfter) {
  const CommandId id = command({{{3, false}}, 1, 2, 3}, fold(true, 8, 1));
  alone();
  packets(id, 3);
  releases_->push_at(20, {0});  // its last value drains in 20
  releases_->push_at(30, {1});
  releases_->push_at(40, {0});
  reducer_->finish(run());
  EXPECT_THAT(out_->cycles(), ElementsAre(2, 3, 22));
  EXPECT_EQ(cycles(UnitState::kBlocked), 18u);  // 3 to 20
  EXPECT_THAT(reducer_->counters().blamed, ElementsAre(Pair("lane_folder", 18u)));
}

TEST_F(TimeReducerTimingTest, ResultsWaitInTheirSlots) {
  const CommandId id = command({{{8, false}}, 1, 8, 8}, fold(true, 8, 16));
  alone();
  out_->first_cycle = 30;
  packets(id, 8);
  reducer_->finish(run());
  EXPECT_EQ(packets_->pushed, range(0, 8)) << "no packet waits";
  // Two are in the link; the first pop in 30 makes room from 31 on.
  EXPECT_EQ(out_->cycles(), range(30, 8));
  EXPECT_EQ(cycles(UnitState::kBlocked), 22u);  // 9 to 30
}

TEST_F(TimeReducerTimingTest, WithoutALaneFolderASlotIsFreeOnceHandedOn) {
  const CommandId id = command({{{5, false}}, 1, 1, 5}, std::nullopt);
  alone();
  packets(id, 5);
  run();
  EXPECT_EQ(out_->cycles(), range(2, 5));
}

TEST_F(TimeReducerTimingTest, OtherCommandsPassInOneCycle) {
  const CommandId id = add_command().id;
  alone();
  packets(id, 3);
  run();
  EXPECT_EQ(out_->cycles(), range(2, 3));
}

TEST_F(TimeReducerTimingTest, StarvesUntilTheResultIsComplete) {
  const CommandId id = command({{{2, true}}, 1, 4, 1}, fold(true, 8, 1));
  alone();
  StreamItem packet;
  packet.command = id;
  packets_->push_at(0, packet);
  packet.last = true;
  packets_->push_at(10, packet);
  reducer_->finish(run());
  EXPECT_THAT(out_->cycles(), ElementsAre(12));
  EXPECT_EQ(cycles(UnitState::kStarved), 9u);  // 2 to 10
  EXPECT_THAT(reducer_->counters().blamed, ElementsAre(Pair("packet_reducer", 9u)));
}

TEST_F(TimeReducerTimingTest, MoreCellsThanExistAreAnInternalError) {
  const CommandId id = command({{{5, false}}, 1, 9, 5}, fold(true, 8, 16));  // 9 * 8 * 16
  alone();
  packets(id, 5);
  EXPECT_THROW(run(), InternalError);
}

// ---- With the Lane Folder.

TEST_F(TimeReducerTimingTest, AStreamWithoutReductionFlowsAtOnePacketACycle) {
  // One column of eight lanes: one flit a packet.
  const CommandId id = command({{{200, false}}, 1, 128, 200}, fold(true, 8, 1));
  with_folder();
  packets(id, 200);
  run();
  EXPECT_EQ(out_->cycles(), range(3, 200));
}

TEST_F(TimeReducerTimingTest, SequentialToo) {
  const CommandId id = command({{{200, false}}, 1, 32, 200}, fold(false, 1, 8));
  with_folder();
  packets(id, 200);
  run();
  EXPECT_EQ(out_->cycles(), range(3, 200));
}

TEST_F(TimeReducerTimingTest, PacketsWaitForSlotsWhereTheFolderIsSlower) {
  // Interleaved, 16 columns: 8 slots, each drains in 16 cycles, the first in 2 to 17.
  const CommandId id = command({{{12, false}}, 1, 8, 12}, fold(true, 8, 16));
  with_folder();
  packets(id, 12);
  reducer_->finish(run());
  EXPECT_EQ(out_->cycles(), range(3, 12 * 16)) << "the bus never waits";
  // Packets 0 to 7 are taken in 1 to 8; packet 8 in 18, the cycle after slot 0 has drained, packet
  // 9 in
  // 34. Packets 8 and 9 fill the link, 10 and 11 are pushed the cycle after each of these.
  std::vector<Cycle> pushed = range(0, 10);
  pushed.insert(pushed.end(), {19, 35});
  EXPECT_EQ(packets_->pushed, pushed);
  EXPECT_THAT(reducer_->counters().blamed, ElementsAre(Pair("lane_folder", testing::Gt(0u))));
}

TEST_F(TimeReducerTimingTest, SequentialSlotsOfEightLanesDrainInEightCycles) {
  // Sequential, 8 lanes: 4 slots. Packets 0 to 3 are taken in 1 to 4, packet 4 in 10: slot 0 drains
  // in 2 to 9.
  const CommandId id = command({{{8, false}}, 1, 4, 8}, fold(false, 8, 8));
  with_folder();
  packets(id, 8);
  run();
  EXPECT_EQ(out_->cycles(), range(3, 8 * 8));
  std::vector<Cycle> pushed = range(0, 6);
  pushed.insert(pushed.end(), {11, 19});
  EXPECT_EQ(packets_->pushed, pushed);
}

TEST_F(TimeReducerTimingTest, TheNextCommandWaitsForAllSlotsOfTheOneBefore) {
  const CommandId first = command({{{1, false}}, 1, 8, 1}, fold(true, 8, 16));
  const CommandId second = command({{{1, false}}, 1, 128, 1}, fold(true, 8, 1));
  with_folder();
  packets(first, 1);
  packets(second, 1, 1);
  run();
  // Drained in 2 to 17, so taken in 18, drained in 19.
  EXPECT_EQ(out_->cycles().back(), 20u);
}

}  // namespace
}  // namespace rngdsim::test
