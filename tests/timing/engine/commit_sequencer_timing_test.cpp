// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "engine/commit_sequencer.h"
#include "support/diagnostic.h"
#include "tests/support/stream_fixture.h"

namespace rngdsim {
namespace {

using test::Collector;
using test::Driver;
using testing::ElementsAre;

class CommitSequencerTest : public test::StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    add_tensor("c", DType::kF32, 256);
  }
  void build() {
    sequencer = std::make_unique<CommitSequencer>("commit", *clock_, context_,
                                                  CommitSequencer::Parameters());
    before = std::make_unique<Driver<StreamItem>>("before", *clock_, context_);
    memory = std::make_unique<Collector<DmRequest>>("memory", *clock_, context_, "dm request");
    connect(*before, before->out, *sequencer, sequencer->in);
    connect(*sequencer, sequencer->request, *memory, memory->in);
    keep_awake(*memory, 40);
  }
  void send(uint64_t flits, BlockRef values = {}) {
    for (uint64_t i = 0; i < flits; ++i) before->push_at(i, item(0, i, i + 1 == flits, values));
  }
  // F flits in Time, A = `live` of eight elements in Packet.
  void shape(Command& command, uint64_t flits, uint64_t live) {
    const AxisId f = program_.axes.add("F", flits);
    const AxisId a = program_.axes.add("A", live);
    command.final_shape.time = Mapping::axis(f, flits);
    command.final_shape.packet = Mapping::axis(a, live).pad(8, PadKind::kTop);
    command.final_shape.slice = Mapping::broadcast(kSlices);
  }
  std::vector<uint64_t> addresses() const {
    std::vector<uint64_t> result;
    for (const auto& entry : memory->received) result.push_back(entry.second.bit_address);
    return result;
  }

  std::unique_ptr<CommitSequencer> sequencer;
  std::unique_ptr<Driver<StreamItem>> before;
  std::unique_ptr<Collector<DmRequest>> memory;
};

// f32, 8 elements: 32 B a write, a write a flit. A flit of cycle 0 is there in 1, its request in 2.
TEST_F(CommitSequencerTest, OneWriteAFlit) {
  add_command().commit = commit(0, {{3, 8}, {8, 1}}, 8, 8, 32);
  build();
  send(3);
  run();
  EXPECT_THAT(memory->cycles(), ElementsAre(2, 3, 4));
  EXPECT_THAT(addresses(), ElementsAre(8 * 256, 8 * 288, 8 * 320));
  for (uint64_t i = 0; i < 3; ++i) {
    const DmRequest& request = memory->received[i].second;
    EXPECT_EQ(request.index, i);
    EXPECT_EQ(request.last, i == 2);
    EXPECT_EQ(request.elements, 8u);
    EXPECT_EQ(request.bytes, 32u);
    EXPECT_EQ(request.first_element, 0u);
    EXPECT_EQ(request.dtype, DType::kF32);
  }
  sequencer->finish(20);
  EXPECT_EQ(cycles(*sequencer, UnitState::kBusy), 3u);
  EXPECT_EQ(sequencer->counters().items_in, 3u);
  EXPECT_EQ(sequencer->counters().items_out, 3u);
  EXPECT_TRUE(monitor_.finished.empty());  // the memory says when the last write has landed
}

// Sub context, 8 B a write: 1 to 4 writes a flit.
class WritesAFlit : public CommitSequencerTest, public testing::WithParamInterface<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Sub, WritesAFlit, testing::Values(1, 2, 3, 4));

TEST_P(WritesAFlit, OneACycle) {
  const uint64_t writes = GetParam();
  add_command().commit = commit(0, {{2, 8}, {2 * writes, 1}}, 2 * writes, 2, 8);
  build();
  send(2);
  run();
  EXPECT_EQ(memory->cycles(), consecutive(2, 2 * writes));
  for (uint64_t i = 0; i < 2 * writes; ++i) {
    const DmRequest& request = memory->received[i].second;
    EXPECT_EQ(request.bit_address, 8 * (256 + i / writes * 32 + i % writes * 8));
    EXPECT_EQ(request.first_element, i % writes * 2);
    EXPECT_EQ(request.elements, 2u);
    EXPECT_EQ(request.last, i == 2 * writes - 1);
  }
  EXPECT_EQ(sequencer->counters().items_in, 2u);
  EXPECT_EQ(sequencer->counters().items_out, 2 * writes);
}

// The flit is taken with its last write: the space it frees lets the third flit follow.
TEST_F(CommitSequencerTest, AFlitIsTakenWithItsLastWrite) {
  add_command().commit = commit(0, {{3, 8}, {8, 1}}, 8, 2, 8);
  build();
  send(3);
  run();
  // Taken in 4, so the third flit, which found the link full in 2, was pushed in 5.
  EXPECT_THAT(before->pushed, ElementsAre(0, 1, 5));
  EXPECT_EQ(memory->cycles(), consecutive(2, 12));
}

// A wrong stride puts the second write elsewhere.
TEST_F(CommitSequencerTest, StridesDecideWhereAFlitLands) {
  add_command().commit = commit(0, {{2, 24}, {8, 1}}, 8, 8, 32);
  build();
  send(2);
  run();
  EXPECT_THAT(addresses(), ElementsAre(8 * 256, 8 * (256 + 96)));
}

TEST_F(CommitSequencerTest, BackPressure) {
  add_command().commit = commit(0, {{4, 8}, {8, 1}}, 8, 8, 32);
  build();
  memory->first_cycle = 20;
  send(4);
  run();
  EXPECT_EQ(memory->cycles(), consecutive(20, 4));
  sequencer->finish(30);
  EXPECT_EQ(cycles(*sequencer, UnitState::kBlocked), 18u);  // 3 to 20
  EXPECT_EQ(blamed(*sequencer, "memory"), 18u);
  EXPECT_EQ(cycles(*sequencer, UnitState::kBusy), 4u);
}

TEST_F(CommitSequencerTest, StarvedBetweenTheFlitsOfACommand) {
  add_command().commit = commit(0, {{2, 8}, {8, 1}}, 8, 8, 32);
  build();
  before->push_at(0, item(0, 0, false));
  before->push_at(9, item(0, 1, true));
  run();
  sequencer->finish(20);
  EXPECT_EQ(cycles(*sequencer, UnitState::kStarved), 8u);  // 2 to 9
  EXPECT_EQ(blamed(*sequencer, "before"), 8u);
}

TEST_F(CommitSequencerTest, PoisonInALiveElementIsAFailureNamingIt) {
  simulate_values(kSlices);
  Command& command = add_command();
  command.commit = commit(0, {{3, 8}, {8, 1}}, 8, 8, 32);
  shape(command, 3, 8);
  build();
  BlockRef values = block(DType::kF32, 8, [](uint32_t, uint32_t) { return 0; });
  BlockRef poisoned = block(DType::kF32, 8, [](uint32_t, uint32_t) { return 0; });
  poisoned->track_validity();
  poisoned->valid_row(5)[2] = 0;
  before->push_at(0, item(0, 0, false, values));
  before->push_at(1, item(0, 1, false, poisoned));
  before->push_at(2, item(0, 2, true, poisoned));
  run();
  ASSERT_EQ(monitor_.failures.size(), 1u);  // the first of the command
  EXPECT_EQ(monitor_.failures[0].kind, "poison");
  EXPECT_EQ(monitor_.failures[0].unit, "commit");
  EXPECT_EQ(monitor_.failures[0].cycle, 2u);
  EXPECT_THAT(monitor_.failures[0].message, testing::HasSubstr("'c'"));
  EXPECT_THAT(monitor_.failures[0].message, testing::HasSubstr("F=1 A=5"));
}

TEST_F(CommitSequencerTest, PoisonInPaddingIsNoFailure) {
  simulate_values(kSlices);
  Command& command = add_command();
  command.commit = commit(0, {{1, 8}, {8, 1}}, 8, 8, 32);
  shape(command, 1, 5);
  build();
  BlockRef poisoned = block(DType::kF32, 8, [](uint32_t, uint32_t) { return 0; });
  poisoned->track_validity();
  poisoned->valid_row(5)[2] = 0;
  before->push_at(0, item(0, 0, true, poisoned));
  run();
  EXPECT_TRUE(monitor_.failures.empty());
}

// Two writes a flit, as many as without a filter, and each with the flit's mask.
TEST_F(CommitSequencerTest, AFilterGoesWithTheWrites) {
  simulate_values(kSlices);
  Command& command = add_command();
  command.commit = commit(0, {{1, 8}, {8, 1}}, 8, 4, 16);
  shape(command, 1, 8);
  build();
  StreamItem flit = item(0, 0, true, block(DType::kF32, 8, [](uint32_t, uint32_t) { return 0; }));
  flit.keep = block(DType::kI8, 8, [](uint32_t, uint32_t) { return 0; });
  const Block* keep = &*flit.keep;
  before->push_at(0, flit);
  run();
  EXPECT_THAT(memory->cycles(), ElementsAre(2, 3));
  for (const auto& entry : memory->received) EXPECT_EQ(&*entry.second.keep, keep);
}

// Poison in element 5 of slice 2: the filter leaves it out of flit 0, and element 5 of the other
// slices out of flit 1.
TEST_F(CommitSequencerTest, PoisonThatAFilterLeavesOutIsNoFailure) {
  simulate_values(kSlices);
  Command& command = add_command();
  command.commit = commit(0, {{2, 8}, {8, 1}}, 8, 8, 32);
  shape(command, 2, 8);
  build();
  BlockRef poisoned = block(DType::kF32, 8, [](uint32_t, uint32_t) { return 0; });
  poisoned->track_validity();
  poisoned->valid_row(5)[2] = 0;
  for (const uint64_t i : {0, 1}) {
    StreamItem flit = item(0, i, i == 1, poisoned);
    flit.keep = block(DType::kI8, 8, [i](uint32_t e, uint32_t s) {
      return i == 0 ? e != 5 || s != 2 : e != 5 || s == 2;
    });
    before->push_at(i, std::move(flit));
  }
  run();
  ASSERT_EQ(monitor_.failures.size(), 1u);
  EXPECT_EQ(monitor_.failures[0].cycle, 2u);
  EXPECT_THAT(monitor_.failures[0].message, testing::HasSubstr("F=1 A=5 (slice 2"));
}

// Without commit and to_trf the stream ends here.
TEST_F(CommitSequencerTest, SinksWhatIsNotWritten) {
  add_command();
  build();
  send(3);
  run();
  ASSERT_EQ(monitor_.sink_items.size(), 3u);
  EXPECT_EQ(monitor_.sink_items[0].first, 1u);
  EXPECT_EQ(monitor_.sink_items[2].first, 3u);
  EXPECT_EQ(monitor_.sink_items[2].second.index, 2u);
  using Finished = std::pair<CommandId, Cycle>;
  EXPECT_THAT(monitor_.finished, ElementsAre(Finished{0, 3}));
  EXPECT_TRUE(memory->received.empty());
}

TEST_F(CommitSequencerTest, TooManyFlitsAreAnInternalError) {
  add_command().commit = commit(0, {{2, 8}, {8, 1}}, 8, 8, 32);
  build();
  send(3);
  EXPECT_THROW(run(), InternalError);
}

}  // namespace
}  // namespace rngdsim
