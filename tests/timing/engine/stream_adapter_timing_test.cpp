// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "engine/stream_adapter.h"
#include "tests/support/contraction.h"
#include "tests/support/systemc_fixture.h"

namespace rngdsim::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

// The driver pushes in cycle c, the adapter sees the flit in c + 1; what the adapter sends in cycle
// c is popped in c + 1.
class StreamAdapterTimingTest : public SystemCTest {
 protected:
  // A command with a contraction of `packets` packets after broadcast.
  CommandId contraction(uint64_t pack_size, uint64_t time_broadcast, uint64_t packets) {
    Command& command = add_command();
    command.outer = outer_config(DType::kBF16, DType::kBF16, pack_size, 8, packets);
    command.outer->time_broadcast = time_broadcast;
    return command.id;
  }
  void build() {
    flits_ = std::make_unique<Driver<StreamItem>>("main_collect", *clock_, context_);
    adapter_ = std::make_unique<StreamAdapter>("stream_adapter", *clock_, context_);
    packets_ = std::make_unique<Collector<StreamItem>>("multiplier", *clock_, context_);
    connect(*flits_, flits_->out, *adapter_, adapter_->in);
    connect(*adapter_, adapter_->out, *packets_, packets_->in);
  }
  void flit(CommandId command, Cycle cycle, uint64_t index, bool last) {
    StreamItem item;
    item.command = command;
    item.index = index;
    item.last = last;
    if (context_.values()) item.values = pool_->allocate(DType::kBF16, 16);
    sent_.push_back(item.values);
    flits_->push_at(cycle, item);
  }
  void flits(CommandId command, uint64_t count) {
    for (uint64_t f = 0; f < count; ++f) flit(command, f, f, f + 1 == count);
  }
  uint64_t cycles(UnitState state) const {
    return adapter_->counters().cycles[static_cast<size_t>(state)];
  }

  std::vector<BlockRef> sent_;
  std::unique_ptr<Driver<StreamItem>> flits_;
  std::unique_ptr<StreamAdapter> adapter_;
  std::unique_ptr<Collector<StreamItem>> packets_;
};

TEST_F(StreamAdapterTimingTest, PackSizeOneSendsAPacketACycle) {
  const CommandId command = contraction(1, 1, 4);
  build();
  flits(command, 4);
  run();
  EXPECT_THAT(packets_->cycles(), ElementsAre(2, 3, 4, 5));
}

TEST_F(StreamAdapterTimingTest, PackSizeTwoSendsAPacketEveryTwoCycles) {
  simulate_values(1);
  const CommandId command = contraction(2, 1, 4);
  build();
  flits(command, 8);
  run();
  // A packet leaves in the cycle its second flit is taken in: 2, 4, 6, 8.
  EXPECT_THAT(packets_->cycles(), ElementsAre(3, 5, 7, 9));
  for (uint64_t p = 0; p < 4; ++p) {
    const StreamItem& packet = packets_->received[p].second;
    EXPECT_EQ(packet.index, p);
    EXPECT_EQ(packet.last, p == 3);
    EXPECT_EQ(&*packet.flits[0], &*sent_[2 * p]);
    EXPECT_EQ(&*packet.flits[1], &*sent_[2 * p + 1]);
  }
}

// M = 32, N = 8, K = 16, L = 2, B = 5: Time `M, L` of 64 flits gives 32 packets, each sent 5 times.
TEST_F(StreamAdapterTimingTest, EachPacketIsSentOnceACycleAsOftenAsItIsBroadcast) {
  simulate_values(1);
  const CommandId command = contraction(2, 5, 160);
  build();
  flits(command, 64);
  adapter_->finish(run());
  // The next packet is collected while the present one repeats: no gap.
  std::vector<Cycle> expected(160);
  std::iota(expected.begin(), expected.end(), 3);
  EXPECT_EQ(packets_->cycles(), expected);
  for (uint64_t i = 0; i < 160; ++i) {
    const StreamItem& packet = packets_->received[i].second;
    EXPECT_EQ(packet.index, i);
    EXPECT_EQ(packet.last, i == 159);
    EXPECT_EQ(&*packet.flits[0], &*sent_[2 * (i / 5)]);
  }
  EXPECT_EQ(adapter_->counters().items_in, 64u);
  EXPECT_EQ(adapter_->counters().items_out, 160u);
  EXPECT_THAT(adapter_->counters().extra, ElementsAre(Pair("packets_collected", 32u)));
}

TEST_F(StreamAdapterTimingTest, OnePacketIsCollectedAheadAndNoMore) {
  const CommandId command = contraction(2, 100, 200);
  build();
  flits(command, 4);
  flits_->finish(run());
  // Packet 0 is taken in 1 and 2, packet 1 in 3 and 4; then both buffers are full.
  EXPECT_THAT(flits_->pushed, ElementsAre(0, 1, 2, 3));
  std::vector<Cycle> expected(200);
  std::iota(expected.begin(), expected.end(), 3);
  EXPECT_EQ(packets_->cycles(), expected);
}

TEST_F(StreamAdapterTimingTest, FlitsWaitWhileBothBuffersAreFull) {
  const CommandId command = contraction(1, 10, 60);
  build();
  flits(command, 6);
  run();
  // Flit 0 is taken in 1, flit 1 in 2; flits 2 and 3 fill the link. Packet 0 goes out in 1 to 10,
  // in 11 packet 1 follows it and flit 2 is taken: room for flit 4 from 12 on; flit 5 from 22 on.
  EXPECT_THAT(flits_->pushed, ElementsAre(0, 1, 2, 3, 12, 22));
}

TEST_F(StreamAdapterTimingTest, StarvesBetweenTheFirstFlitAndTheLastPacket) {
  const CommandId command = contraction(1, 2, 4);
  build();
  flit(command, 5, 0, false);
  flit(command, 15, 1, true);
  adapter_->finish(run() + 10);
  EXPECT_THAT(packets_->cycles(), ElementsAre(7, 8, 17, 18));
  EXPECT_EQ(cycles(UnitState::kBusy), 4u);     // 6, 7, 16, 17
  EXPECT_EQ(cycles(UnitState::kStarved), 8u);  // 8 to 15
  EXPECT_THAT(adapter_->counters().blamed, ElementsAre(Pair("main_collect", 8u)));
}

TEST_F(StreamAdapterTimingTest, BlockedWithAPacketAndNoSpace) {
  const CommandId command = contraction(1, 1, 10);
  build();
  packets_->first_cycle = 20;
  flits(command, 10);
  adapter_->finish(run());
  // Packets 0 and 1 fill the link in 1 and 2; flits 2 and 3 fill the buffers in 3 and 4. The
  // collector makes room in 20, to be used from 21 on.
  EXPECT_EQ(packets_->cycles().front(), 20u);
  EXPECT_EQ(cycles(UnitState::kBlocked), 16u);  // 5 to 20
  EXPECT_THAT(adapter_->counters().blamed, ElementsAre(Pair("multiplier", 16u)));
}

TEST_F(StreamAdapterTimingTest, ACommandWithoutContractionPassesInOneCycle) {
  const CommandId command = add_command().id;
  build();
  flits(command, 3);
  run();
  EXPECT_THAT(packets_->cycles(), ElementsAre(2, 3, 4));
}

TEST_F(StreamAdapterTimingTest, ACommandWithoutContractionWaitsForThePacketsBeforeIt) {
  const CommandId first = contraction(1, 3, 3);
  const CommandId second = add_command().id;
  build();
  flit(first, 0, 0, true);
  flit(second, 1, 0, true);
  run();
  EXPECT_THAT(packets_->cycles(), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(packets_->received[3].second.command, second);
}

}  // namespace
}  // namespace rngdsim::test
