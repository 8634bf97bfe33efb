// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "engine/fetch_sequencer.h"
#include "memory/data_memory.h"
#include "support/diagnostic.h"
#include "tests/support/stream_fixture.h"

namespace rngdsim {
namespace {

using test::Collector;
using testing::ElementsAre;

// The sequencer alone: its requests are recorded and never answered.
class FetchSequencerAlone : public test::StreamTest {
 protected:
  void build(const FetchSequencer::Parameters& parameters) {
    fetch_unit = std::make_unique<FetchSequencer>("main_fetch", *clock_, context_, parameters);
    memory = std::make_unique<Collector<DmRequest>>("memory", *clock_, context_, "dm request");
    connect(*fetch_unit, fetch_unit->request, *memory, memory->in);
    bind_rest(*fetch_unit);
  }
  std::unique_ptr<FetchSequencer> fetch_unit;
  std::unique_ptr<Collector<DmRequest>> memory;
};

TEST_F(FetchSequencerAlone, FirstRequestInExactlyTheStartCycleAndOneACycleWhileItHasCredits) {
  add_tensor("t", DType::kI8);
  add_command().fetch = fetch(0, {{8, 32}, {32, 1}}, 32, 32, 32);
  build({});
  keep_awake(*memory, 30);
  keep_awake(*fetch_unit, 30);
  fetch_unit->start(0, 10);
  run();
  EXPECT_THAT(memory->cycles(), ElementsAre(11, 12, 13, 14));  // pushed from 10 on, latency 1
  fetch_unit->finish(50);
  EXPECT_EQ(cycles(*fetch_unit, UnitState::kIdle), 10u);
  EXPECT_EQ(cycles(*fetch_unit, UnitState::kBusy), 4u);
  EXPECT_EQ(cycles(*fetch_unit, UnitState::kBlocked), 36u);
  EXPECT_EQ(blamed(*fetch_unit, "memory"), 36u);
  EXPECT_NE(fetch_unit->waiting_for(), "");
}

TEST_F(FetchSequencerAlone, OutstandingIsAParameter) {
  add_tensor("t", DType::kI8);
  add_command().fetch = fetch(0, {{8, 32}, {32, 1}}, 32, 32, 32);
  FetchSequencer::Parameters parameters;
  parameters.outstanding = 2;
  build(parameters);
  fetch_unit->start(0, 0);
  run();
  EXPECT_EQ(memory->received.size(), 2u);
}

// `3:32, 4:96, 4:8, 8:1` : 128, run 32: accesses over the last two loops, here of i4 from byte 64
// on.
TEST_F(FetchSequencerAlone, WalksTheLoopsInOrder) {
  add_tensor("t", DType::kI4, 64);
  add_command().fetch = fetch(0, {{3, 32}, {4, 96}, {4, 8}, {8, 1}}, 128, 32, 16);
  FetchSequencer::Parameters parameters;
  parameters.outstanding = 100;
  build(parameters);
  fetch_unit->start(0, 0);
  run();
  ASSERT_EQ(memory->received.size(), 12u);
  for (uint64_t i = 0; i < 12; ++i) {
    const DmRequest& request = memory->received[i].second;
    EXPECT_EQ(request.bit_address, 8 * 64 + 4 * (i / 4 * 32 + i % 4 * 96));
    EXPECT_EQ(request.index, i);
    EXPECT_EQ(request.elements, 32u);
    EXPECT_EQ(request.bytes, 16u);
    EXPECT_EQ(request.dtype, DType::kI4);
    EXPECT_FALSE(request.replicated);
    EXPECT_EQ(request.last, i == 11);
  }
}

TEST_F(FetchSequencerAlone, AReplicatedAccessTouchesOneElement) {
  add_tensor("t", DType::kBF16);
  add_command().fetch = fetch(0, {{2, 1}, {4, 0}}, 4, 4, 8);  // A=16: `T, A; P`, cut short
  build({});
  fetch_unit->start(0, 0);
  run();
  ASSERT_EQ(memory->received.size(), 2u);
  EXPECT_TRUE(memory->received[1].second.replicated);
  EXPECT_EQ(memory->received[1].second.bit_address, 16u);
  EXPECT_EQ(memory->received[1].second.elements, 4u);
  EXPECT_EQ(memory->received[1].second.bytes, 2u);
}

TEST_F(FetchSequencerAlone, OneCommandAtATime) {
  add_tensor("t", DType::kI8);
  add_command().fetch = fetch(0, {{2, 32}, {32, 1}}, 32, 32, 32);
  add_command();
  build({});
  EXPECT_THROW(fetch_unit->start(1, 0), InternalError);  // has no fetch
  fetch_unit->start(0, 5);
  EXPECT_THROW(fetch_unit->start(0, 9), InternalError);
}

// With the real memory behind it.
class FetchSequencerTest : public test::StreamTest {
 protected:
  void build(const FetchSequencer::Parameters& parameters = {}) {
    fetch_unit = std::make_unique<FetchSequencer>("main_fetch", *clock_, context_, parameters);
    memory =
        std::make_unique<DataMemory>("data_memory", *clock_, context_, DataMemory::Parameters());
    next = std::make_unique<Collector<StreamItem>>("next", *clock_, context_);
    connect(*fetch_unit, fetch_unit->request, *memory, memory->main_fetch);
    connect(*memory, memory->main_fetch_data, *fetch_unit, fetch_unit->data);
    connect(*fetch_unit, fetch_unit->out, *next, next->in);
    memory->set_client("main_fetch", fetch_unit.get());
    bind_rest(*memory);
  }
  void fill_memory(uint64_t bytes) {
    for (uint32_t s = 0; s < kSlices; ++s) {
      for (uint64_t b = 0; b < bytes; ++b) {
        memory->storage().poke(s, 8 * b, DType::kI8, static_cast<uint32_t>(b + s));
      }
    }
  }
  // A = `size`, i8 from byte 0 on, read 8 at a time; Packet is A padded to `padded`.
  void row_of(uint64_t size, uint64_t padded) {
    const AxisId a = program_.axes.add("A", size);
    add_tensor("t", DType::kI8);
    Command& command = add_command();
    command.fetch = fetch(0, {{padded, 1}}, padded, 8, 8);
    command.source.dtype = DType::kI8;
    command.source.slice = Mapping::broadcast(kSlices);
    command.source.packet = Mapping::axis(a, size).pad(padded, PadKind::kTop);
  }

  std::unique_ptr<FetchSequencer> fetch_unit;
  std::unique_ptr<DataMemory> memory;
  std::unique_ptr<Collector<StreamItem>> next;
};

// 512 accesses: 512 busy cycles. Request in c, grant in c + 1, data passed on in c + 2, there in c
// + 3.
TEST_F(FetchSequencerTest, FullRate) {
  add_tensor("t", DType::kI8);
  add_command().fetch = fetch(0, {{512, 32}, {32, 1}}, 32, 32, 32);
  build();
  keep_awake(*next, 20);
  fetch_unit->start(0, 7);
  run();
  EXPECT_EQ(next->cycles(), consecutive(7 + 3, 512));
  for (uint64_t i = 0; i < 512; ++i) {
    EXPECT_EQ(next->received[i].second.index, i);
    EXPECT_EQ(next->received[i].second.last, i == 511);
  }
  fetch_unit->finish(1000);
  EXPECT_EQ(cycles(*fetch_unit, UnitState::kBusy), 512u);
  EXPECT_EQ(cycles(*fetch_unit, UnitState::kIdle), 488u);
  EXPECT_EQ(fetch_unit->counters().items_out, 512u);
  EXPECT_EQ(fetch_unit->counters().items_in, 512u);
}

// The credit of an access comes back two cycles after its request, when its data are passed on.
TEST_F(FetchSequencerTest, OneUnderWayIsOneAccessInTwoCycles) {
  add_tensor("t", DType::kI8);
  add_command().fetch = fetch(0, {{4, 32}, {32, 1}}, 32, 32, 32);
  FetchSequencer::Parameters parameters;
  parameters.outstanding = 1;
  build(parameters);
  fetch_unit->start(0, 0);
  run();
  EXPECT_THAT(next->cycles(), ElementsAre(3, 5, 7, 9));
}

TEST_F(FetchSequencerTest, BackPressure) {
  add_tensor("t", DType::kI8);
  add_command().fetch = fetch(0, {{8, 32}, {32, 1}}, 32, 32, 32);
  build();
  next->first_cycle = 50;
  fetch_unit->start(0, 0);
  run();
  EXPECT_EQ(next->cycles(), consecutive(50, 8));
  fetch_unit->finish(100);
  EXPECT_EQ(cycles(*fetch_unit, UnitState::kBusy), 8u);
  // Two accesses fill `out`, four are under way: six requests, then nothing until space in 51 gives
  // a credit; the request link is full until the memory serves it in 52.
  EXPECT_EQ(cycles(*fetch_unit, UnitState::kBlocked), 47u);
  EXPECT_EQ(blamed(*fetch_unit, "next"), 45u);        // 6 to 50
  EXPECT_EQ(blamed(*fetch_unit, "data_memory"), 2u);  // 51 and 52
}

TEST_F(FetchSequencerTest, CommandsFollowOneAnother) {
  add_tensor("t", DType::kI8);
  add_command().fetch = fetch(0, {{2, 32}, {32, 1}}, 32, 32, 32);
  add_command().fetch = fetch(0, {{3, 32}, {32, 1}}, 32, 32, 32);
  build();
  clock_->add_hook([this](Cycle now) {
    if (now == 20) fetch_unit->start(1, 20);
  });
  clock_->wake_hooks(20);
  fetch_unit->start(0, 0);
  run();
  EXPECT_THAT(next->cycles(), ElementsAre(3, 4, 23, 24, 25));
  EXPECT_EQ(next->received[2].second.command, 1u);
  EXPECT_EQ(next->received[2].second.index, 0u);
}

TEST_F(FetchSequencerTest, DeliversTheValues) {
  simulate_values(kSlices);
  row_of(16, 16);
  build();
  fill_memory(16);
  fetch_unit->start(0, 0);
  run();
  ASSERT_EQ(next->received.size(), 2u);
  EXPECT_EQ(next->received[1].second.values->bits(3, 2), 13u);  // byte 11 of slice 2
  EXPECT_TRUE(monitor_.failures.empty());
}

TEST_F(FetchSequencerTest, PoisonInALiveElementIsAFailureNamingIt) {
  simulate_values(kSlices);
  row_of(16, 16);
  build();
  fill_memory(11);
  fetch_unit->start(0, 0);
  run();
  ASSERT_EQ(monitor_.failures.size(), 1u);
  const MachineFailure& failure = monitor_.failures[0];
  EXPECT_EQ(failure.kind, "poison");
  EXPECT_EQ(failure.unit, "main_fetch");
  EXPECT_EQ(failure.command, 0u);
  EXPECT_EQ(failure.cycle, 3u);  // the second access comes back
  EXPECT_THAT(failure.message, testing::HasSubstr("'t'"));
  EXPECT_THAT(failure.message, testing::HasSubstr("A=11"));
  EXPECT_EQ(next->received.size(), 2u);  // the run goes on
}

TEST_F(FetchSequencerTest, PoisonInPaddingIsNoFailure) {
  simulate_values(kSlices);
  row_of(11, 16);
  build();
  fill_memory(11);
  fetch_unit->start(0, 0);
  run();
  EXPECT_TRUE(monitor_.failures.empty());
  EXPECT_FALSE(next->received.at(1).second.values->is_valid(3, 0));
}

TEST_F(FetchSequencerTest, PoisonInDeadSlicesIsNoFailure) {
  simulate_values(kSlices);
  row_of(8, 8);
  context_.command_live[0] = {1, 1, 0};
  context_.tensor_live = {{1, 1, 0}};
  build();
  for (uint32_t s = 0; s < 2; ++s) {
    for (uint64_t b = 0; b < 8; ++b) memory->storage().poke(s, 8 * b, DType::kI8, 1);
  }
  fetch_unit->start(0, 0);
  run();
  EXPECT_TRUE(monitor_.failures.empty());
}

}  // namespace
}  // namespace rngdsim
