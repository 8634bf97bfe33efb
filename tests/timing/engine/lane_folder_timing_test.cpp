// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "engine/lane_folder.h"
#include "tests/support/contraction.h"
#include "tests/support/systemc_fixture.h"

namespace rngdsim::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Finished slots in, one in cycle 1 and the others as soon as there is room; slot m holds 10000 m +
// 100 lane + column (+ 0.5 in slice 1).
class LaneFolderTimingTest : public SystemCTest {
 protected:
  CommandId command(bool interleaved, uint64_t lanes, uint64_t columns, uint64_t results) {
    Command& command = add_command();
    command.outer = outer_config(DType::kBF16, DType::kBF16, 2, lanes);
    command.time_reduce = TimeReduceConfig{{{results, false}}, 1, 4, results};
    LaneFoldConfig fold;
    fold.interleaved = interleaved;
    fold.lanes = lanes;
    fold.columns = columns;
    fold.flits_per_result = interleaved ? columns : lanes * ((columns + 7) / 8);
    fold.flits = results * fold.flits_per_result;
    command.lane_fold = fold;
    return command.id;
  }
  void build() {
    slots_ = std::make_unique<Driver<StreamItem>>("time_reducer", *clock_, context_);
    folder_ =
        std::make_unique<LaneFolder>("lane_folder", *clock_, context_, LaneFolder::Parameters{});
    flits_ = std::make_unique<Collector<StreamItem>>("cast", *clock_, context_);
    chain_ = std::make_unique<Collector<StreamItem>>("vcg", *clock_, context_);
    reducer_ = std::make_unique<Collector<StreamItem>>("reducer", *clock_, context_);
    connect(*folder_, folder_->vector, *chain_, chain_->in);
    connect(*folder_, folder_->inter, *reducer_, reducer_->in);
    releases_ =
        std::make_unique<Collector<SlotRelease>>("releases", *clock_, context_, "slot release");
    connect(*slots_, slots_->out, *folder_, folder_->in);
    connect(*folder_, folder_->out, *flits_, flits_->in);
    connect(*folder_, folder_->release, *releases_, releases_->in);
  }
  void slots(CommandId id, uint64_t results) {
    const LaneFoldConfig& fold = *program_.commands[id].lane_fold;
    for (uint64_t m = 0; m < results; ++m) {
      StreamItem item;
      item.command = id;
      item.index = m;
      item.last = m + 1 == results;
      item.slot = static_cast<uint32_t>(m % 4);
      if (context_.values()) {
        item.values = value_block(
            *pool_, DType::kF32, fold.lanes * fold.columns, [&](uint32_t e, uint32_t s) {
              return 10000.0 * m + 100.0 * (e / fold.columns) + e % fold.columns + 0.5 * s;
            });
      }
      slots_->push_at(m, item);
    }
  }

  std::unique_ptr<Driver<StreamItem>> slots_;
  std::unique_ptr<LaneFolder> folder_;
  std::unique_ptr<Collector<StreamItem>> flits_, chain_, reducer_;
  std::unique_ptr<Collector<SlotRelease>> releases_;
};

// N = 8, M = 4, P = 16.
TEST_F(LaneFolderTimingTest, InterleavedGivesTimeMPAndPacketN) {
  simulate_values(2);
  const CommandId id = command(true, 8, 16, 4);
  build();
  slots(id, 4);
  run();
  ASSERT_EQ(flits_->received.size(), 64u);
  for (uint64_t t = 0; t < 64; ++t) {
    const auto& [cycle, flit] = flits_->received[t];
    EXPECT_EQ(cycle, t + 2) << "one flit a cycle";
    EXPECT_EQ(flit.index, t);
    EXPECT_EQ(flit.last, t == 63);
    EXPECT_TRUE(flit.values->all_valid);
    for (uint32_t n = 0; n < 8; ++n) {
      EXPECT_EQ(value_at(*flit.values, n, 1), 10000.0 * (t / 16) + 100 * n + t % 16 + 0.5);
    }
  }
}

TEST_F(LaneFolderTimingTest, SequentialGivesTimeMNAndEightColumnsOfP) {
  simulate_values(2);
  const CommandId id = command(false, 8, 16, 4);
  build();
  slots(id, 4);
  run();
  ASSERT_EQ(flits_->received.size(), 64u);
  for (uint64_t t = 0; t < 64; ++t) {
    for (uint32_t p = 0; p < 8; ++p) {
      EXPECT_EQ(value_at(*flits_->received[t].second.values, p, 0),
                10000.0 * (t / 16) + 100.0 * (t / 2 % 8) + 8.0 * (t % 2) + p);
    }
  }
}

TEST_F(LaneFolderTimingTest, EmptyBusPositionsAreZeroAndPoison) {
  simulate_values(1);
  const CommandId id = command(true, 2, 1, 1);
  build();
  slots(id, 1);
  run();
  const Block& flit = *flits_->received.at(0).second.values;
  for (uint32_t position = 0; position < 8; ++position) {
    EXPECT_EQ(flit.is_valid(position, 0), position < 2);
    if (position >= 2) {
      EXPECT_EQ(flit.bits(position, 0), 0u);
    }
  }
}

TEST_F(LaneFolderTimingTest, PoisonStaysWithItsElement) {
  simulate_values(1);
  const CommandId id = command(false, 1, 4, 1);
  build();
  StreamItem item;
  item.command = id;
  item.last = true;
  item.values = value_block(*pool_, DType::kF32, 4, [](uint32_t, uint32_t) { return 1; });
  poison(*item.values, 2, 0);
  slots_->push_at(0, item);
  run();
  const Block& flit = *flits_->received.at(0).second.values;
  for (uint32_t position = 0; position < 8; ++position) {
    EXPECT_EQ(flit.is_valid(position, 0), position < 4 && position != 2);
  }
}

TEST_F(LaneFolderTimingTest, ASlotIsReleasedInTheCycleOfItsLastFlit) {
  const CommandId id = command(true, 8, 4, 3);
  build();
  slots(id, 3);
  folder_->finish(run());
  // Drained in 1 to 4, 5 to 8 and 9 to 12; a release is popped a cycle later.
  EXPECT_THAT(releases_->cycles(), ElementsAre(5, 9, 13));
  EXPECT_EQ(releases_->received[2].second.slot, 2u);
  EXPECT_EQ(folder_->counters().items_in, 3u);
  EXPECT_EQ(folder_->counters().items_out, 12u);
  // The link holds two slots; the third is pushed as soon as the first has gone.
  EXPECT_THAT(slots_->pushed, ElementsAre(0, 1, 5));
}

TEST_F(LaneFolderTimingTest, BlockedWithoutSpaceForTheFlit) {
  const CommandId id = command(true, 8, 4, 1);
  build();
  flits_->first_cycle = 10;
  slots(id, 1);
  folder_->finish(run());
  // Two flits fill the link in 1 and 2; room from 11 on.
  EXPECT_THAT(flits_->cycles(), ElementsAre(10, 11, 12, 13));
  EXPECT_EQ(folder_->counters().cycles[static_cast<size_t>(UnitState::kBlocked)], 8u);  // 3 to 10
  EXPECT_THAT(folder_->counters().blamed, ElementsAre(Pair("cast", 8u)));
}

// A chain alone, the reducer alone, the reducer behind the chain and before it.
TEST_F(LaneFolderTimingTest, VectorChainsLeaveWhereTheyBegin) {
  for (const bool chain : {true, false, true, true}) {
    VectorConfig& vector = add_command().vector.emplace();
    vector.chain = chain;
    const size_t number = program_.commands.size();
    if (number > 1) vector.inter.emplace();
    vector.inter_first = number == 4;
  }
  build();
  for (CommandId id = 0; id < 4; ++id) {
    StreamItem item;
    item.command = id;
    item.last = true;
    slots_->push_at(id, item);
  }
  run();
  EXPECT_THAT(chain_->cycles(), ElementsAre(2, 4));
  EXPECT_THAT(reducer_->cycles(), ElementsAre(3, 5));
  EXPECT_TRUE(flits_->received.empty());
}

TEST_F(LaneFolderTimingTest, OtherCommandsPassInOneCycleAndReleaseNothing) {
  const CommandId id = add_command().id;
  build();
  StreamItem item;
  item.command = id;
  item.last = true;
  slots_->push_at(0, item);
  run();
  EXPECT_THAT(flits_->cycles(), ElementsAre(2));
  EXPECT_TRUE(releases_->received.empty());
}

}  // namespace
}  // namespace rngdsim::test
