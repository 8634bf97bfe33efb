// SPDX-License-Identifier: Apache-2.0
// The DM side of DMA: requests pushed in c are at the memory in c + 1 and move from there on; their
// answer is out one cycle after the last beat.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "memory/data_memory.h"
#include "memory/dmn_queues.h"
#include "tests/support/stream_fixture.h"

namespace rngdsim {
namespace {

using test::Collector;
using test::Driver;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kSlice = uint64_t{4} << 20;

class DmaMemoryTest : public test::StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    program_.limits.slices = 64;  // two DMNs
    for (int i = 0; i < 4; ++i) add_command();
    add_tensor("t", DType::kI8);
    memory =
        std::make_unique<DataMemory>("data_memory", *clock_, context_, DataMemory::Parameters{});
    engine = std::make_unique<Driver<DmaRequest>>("dma_0", *clock_, context_, "dma request");
    answers =
        std::make_unique<Collector<DmaResponse>>("answers", *clock_, context_, "dma response");
    fetch = std::make_unique<Driver<DmRequest>>("main_fetch", *clock_, context_, "dm request");
    commit = std::make_unique<Driver<DmRequest>>("main_commit", *clock_, context_, "dm request");
    data = std::make_unique<Collector<StreamItem>>("data", *clock_, context_, "read data");
    connect(*engine, engine->out, *memory, memory->dma(0).request);
    connect(*memory, memory->dma(0).data, *answers, answers->in, 1, 4);
    connect(*fetch, fetch->out, *memory, memory->main_fetch);
    connect(*commit, commit->out, *memory, memory->main_commit);
    connect(*memory, memory->main_fetch_data, *data, data->in);
    for (PortBase* port : memory->ports()) {
      if (port->bound() || port->name().rfind("dma", 0) == 0) continue;
      links_.push_back(port->make_link("unused." + port->name() + "->unused.port", 1, 2));
      EXPECT_TRUE(port->bind(links_.back().get()));
    }
    memory->set_client("main_fetch", fetch.get());
    memory->set_client("dma_0", engine.get());
    memory->elaborated();
  }
  static DmaRequest dma(uint64_t address, uint32_t bytes = 256, bool write = false,
                        CommandId command = 1) {
    DmaRequest request;
    request.address = address;
    request.bytes = bytes;
    request.write = write;
    request.command = command;
    return request;
  }
  static DmRequest access(uint64_t byte, uint32_t bytes = 8, bool last = true) {
    DmRequest request;
    request.bit_address = 8 * byte;
    request.elements = request.bytes = bytes;
    request.dtype = DType::kI8;
    request.last = last;
    return request;
  }
  // Fetch has bank 0 in cycles [from, from + count) at the memory.
  void hold_bank_0(Cycle from, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) fetch->push_at(from - 1 + i, access(128 * (i % 1000)));
  }

  std::unique_ptr<DataMemory> memory;
  std::unique_ptr<Driver<DmaRequest>> engine;
  std::unique_ptr<Collector<DmaResponse>> answers;
  std::unique_ptr<Driver<DmRequest>> fetch, commit;
  std::unique_ptr<Collector<StreamItem>> data;
};

// Beats in 6 and 7, the answer out in 8; half a request one cycle earlier.
TEST_F(DmaMemoryTest, ARequestMovesInBeatsOf128Bytes) {
  keep_awake(*answers, 30);
  engine->push_at(5, dma(0));
  engine->push_at(15, dma(0, 128));
  engine->push_at(20, dma(0, 129));
  run();
  EXPECT_THAT(answers->cycles(), ElementsAre(8, 17, 23));
}

TEST_F(DmaMemoryTest, WritesAreAnsweredWithTheirLastBeat) {
  engine->push_at(5, dma(0, 256, true));
  run();
  EXPECT_THAT(answers->cycles(), ElementsAre(8));
  EXPECT_TRUE(answers->received[0].second.write);
}

// One DMN: a beat a cycle, whatever the slices. Two DMNs in turn: two.
TEST_F(DmaMemoryTest, ADmnMovesABeatACycle) {
  for (uint64_t i = 0; i < 4; ++i) engine->push_at(i, dma(i * kSlice));
  for (uint64_t i = 0; i < 4; ++i) engine->push_at(20 + i, dma((i % 2 * 32 + i / 2) * kSlice));
  run();
  EXPECT_THAT(answers->cycles(), ElementsAre(3, 5, 7, 9, 23, 24, 25, 26));
}

// Bank 0 belongs to fetch in 6 to 9; the beat is complete in 10.
TEST_F(DmaMemoryTest, ABeatWaitsForItsLastBank) {
  hold_bank_0(6, 4);
  engine->push_at(5, dma(0, 128));
  run();
  EXPECT_THAT(answers->cycles(), ElementsAre(11));
  EXPECT_THAT(data->cycles(), ElementsAre(7, 8, 9, 10)) << "fetch is never delayed";
}

// What the beat had of the other banks in 6 it keeps: they may be taken in 7 to 9.
TEST_F(DmaMemoryTest, TheBanksOfABeatAreIndependent) {
  fetch->push_at(5, access(0));
  for (Cycle c = 6; c < 9; ++c) fetch->push_at(c, access(8, 8));
  engine->push_at(5, dma(0, 128));
  run();
  EXPECT_THAT(answers->cycles(), ElementsAre(8));
}

TEST_F(DmaMemoryTest, OtherBanksAreFree) {
  hold_bank_0(6, 4);
  engine->push_at(5, dma(8, 120));
  run();
  EXPECT_THAT(answers->cycles(), ElementsAre(7));
}

// A slice that waits for a bank holds up no other slice of its DMN.
TEST_F(DmaMemoryTest, ASliceThatWaitsHoldsUpNoOther) {
  hold_bank_0(1, 10);
  engine->push_at(0, dma(0, 8));
  engine->push_at(1, dma(kSlice + 8, 8));
  run();
  EXPECT_THAT(answers->cycles(), ElementsAre(3, 12));
  EXPECT_EQ(answers->received[0].second.index, 0u);
}

// Two requests wait in the slice, the third in the link, and with it one for another slice: until
// the first has moved in 21.
TEST_F(DmaMemoryTest, ASliceHasAQueueOfTwo) {
  hold_bank_0(1, 20);
  engine->push_at(0, dma(0, 8));
  engine->push_at(1, dma(0, 8));
  engine->push_at(2, dma(0, 8));
  engine->push_at(3, dma(kSlice + 8, 8));
  run();
  // The first moves in 21, so that the third is taken in in 22, with the one behind it; that is
  // younger than the second and third, which the DMN serves before.
  EXPECT_THAT(answers->cycles(), ElementsAre(22, 23, 24, 25));
}

TEST_F(DmaMemoryTest, TwoRequestsOfASliceLeaveTheLinkToOthers) {
  hold_bank_0(1, 20);
  engine->push_at(0, dma(0, 8));
  engine->push_at(1, dma(0, 8));
  engine->push_at(2, dma(kSlice + 8, 8));
  run();
  EXPECT_THAT(answers->cycles(), ElementsAre(4, 22, 23));
}

TEST_F(DmaMemoryTest, ALostBankIsBookedToTheEngine) {
  hold_bank_0(1, 5);
  engine->push_at(0, dma(0, 8));
  engine->push_at(0, dma(kSlice + 8, 8));
  run();
  engine->finish(40);
  // It is idle here, and an idle unit has no conflicts: the booking must not break its books.
  EXPECT_EQ(cycles(*engine, UnitState::kConflict), 0u);
  EXPECT_THAT(answers->cycles(), ElementsAre(3, 7));
}

// ---- Starvation -------------------------------------------------------------------------------

TEST_F(DmaMemoryTest, ABankHeldFor64CyclesIsAHazard) {
  hold_bank_0(6, 64);
  engine->push_at(5, dma(0, 8, false, 3));
  run();
  ASSERT_EQ(memory->hazards().size(), 1u);
  EXPECT_EQ(memory->hazards()[0].cycle, 69u);
  EXPECT_EQ(memory->hazards()[0].command, 3u);
  EXPECT_THAT(memory->hazards()[0].text, HasSubstr("held bank 0"));
  EXPECT_THAT(answers->cycles(), ElementsAre(71));
}

TEST_F(DmaMemoryTest, OneHeldFor63CyclesIsNone) {
  hold_bank_0(6, 63);
  engine->push_at(5, dma(0, 8));
  run();
  EXPECT_THAT(memory->hazards(), IsEmpty());
  EXPECT_THAT(answers->cycles(), ElementsAre(70));
}

// 63 cycles, one free, 63 more: the count begins anew. The beat between needs another bank too.
TEST_F(DmaMemoryTest, AFreeCycleEndsTheCount) {
  hold_bank_0(6, 63);
  hold_bank_0(70, 63);
  engine->push_at(5, dma(0, 8));
  engine->push_at(6, dma(0, 8));
  run();
  EXPECT_THAT(memory->hazards(), IsEmpty());
  EXPECT_THAT(answers->cycles(), ElementsAre(70, 134));
}

// A bank that is held while no DMA waits for it does not count: 10 cycles before, 63 after.
TEST_F(DmaMemoryTest, OnlyCyclesInWhichADmaWaitsCount) {
  hold_bank_0(6, 73);
  engine->push_at(15, dma(0, 8));
  run();
  EXPECT_THAT(memory->hazards(), IsEmpty());
  EXPECT_THAT(answers->cycles(), ElementsAre(80));
}

// Fetch and commit add up [B].
TEST_F(DmaMemoryTest, AccessesOfAllClientsAddUp) {
  hold_bank_0(6, 32);
  for (Cycle i = 0; i < 32; ++i) commit->push_at(37 + i, access(128 * i));
  engine->push_at(5, dma(0, 8));
  run();
  EXPECT_EQ(memory->hazards().size(), 1u);
}

}  // namespace
}  // namespace rngdsim
