// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "memory/data_memory.h"
#include "support/diagnostic.h"
#include "tests/support/stream_fixture.h"

namespace rngdsim {
namespace {

using test::Collector;
using test::Driver;
using testing::ElementsAre;

class DataMemoryTest : public test::StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    for (int i = 0; i < 4; ++i) add_command();
    add_tensor("t", DType::kI8);
  }

  void build(const DataMemory::Parameters& parameters = {}, uint64_t data_depth = 0) {
    memory = std::make_unique<DataMemory>("data_memory", *clock_, context_, parameters);
    const std::map<std::string, LinkIn<DmRequest>*> requests = {
        {"main_fetch", &memory->main_fetch},
        {"sub_fetch", &memory->sub_fetch},
        {"main_commit", &memory->main_commit},
        {"sub_commit", &memory->sub_commit}};
    for (const auto& [name, port] : requests) {
      auto& unit = clients[name];
      unit = std::make_unique<Driver<DmRequest>>(name.c_str(), *clock_, context_, "dm request");
      connect(*unit, unit->out, *memory, *port);
      memory->set_client(name, unit.get());
    }
    main_data =
        std::make_unique<Collector<StreamItem>>("main_data", *clock_, context_, "read data");
    sub_data = std::make_unique<Collector<StreamItem>>("sub_data", *clock_, context_, "read data");
    connect(*memory, memory->main_fetch_data, *main_data, main_data->in, 1, data_depth);
    connect(*memory, memory->sub_fetch_data, *sub_data, sub_data->in, 1, data_depth);
  }
  static DmRequest access(uint64_t byte, uint32_t elements = 8, bool last = true) {
    DmRequest request;
    request.bit_address = 8 * byte;
    request.elements = elements;
    request.bytes = elements;
    request.dtype = DType::kI8;
    request.last = last;
    return request;
  }
  void finish(Cycle end) {
    for (auto& [name, unit] : clients) unit->finish(end);
    memory->finish(end);
  }
  Driver<DmRequest>& client(const std::string& name) { return *clients.at(name); }

  std::unique_ptr<DataMemory> memory;
  std::map<std::string, std::unique_ptr<Driver<DmRequest>>> clients;
  std::unique_ptr<Collector<StreamItem>> main_data, sub_data;
};

// A request of cycle 5 is at the memory in 6, granted there, and its data are out in 7: not in 6.
TEST_F(DataMemoryTest, ReadLatency) {
  build();
  keep_awake(*main_data, 20);
  client("main_fetch").push_at(5, access(0));
  run();
  EXPECT_THAT(main_data->cycles(), ElementsAre(7));
}

TEST_F(DataMemoryTest, ReadLatencyIsAParameterAndTheReadsArePipelined) {
  DataMemory::Parameters parameters;
  parameters.read_latency = 3;
  build(parameters, 4);
  keep_awake(*main_data, 20);
  for (Cycle c = 5; c < 9; ++c) client("main_fetch").push_at(c, access(128 * c));
  run();
  EXPECT_THAT(main_data->cycles(), ElementsAre(9, 10, 11, 12));
}

TEST_F(DataMemoryTest, OneBankTwoClientsTheLoserIsBookedEachCycle) {
  build();
  // All in bank 0, of different rows.
  for (Cycle c = 0; c < 5; ++c) {
    client("main_fetch").push_at(c, access(128 * c, 8, c == 4));
    client("sub_fetch").push_at(c, access(128 * (c + 10), 8, c == 4));
  }
  run();
  EXPECT_EQ(main_data->cycles(), consecutive(2, 5));
  EXPECT_EQ(sub_data->cycles(), consecutive(7, 5));
  finish(30);
  // Its head loses in cycles 1 to 5. In 1 the client still pushes (busy); in 6 it waits for the
  // space that the grant of cycle 6 gives it in 7.
  EXPECT_EQ(cycles(client("sub_fetch"), UnitState::kConflict), 4u);
  EXPECT_EQ(blamed(client("sub_fetch"), "main_fetch"), 4u);
  EXPECT_EQ(cycles(client("sub_fetch"), UnitState::kBlocked), 1u);
  EXPECT_EQ(blamed(client("sub_fetch"), "data_memory"), 1u);
  EXPECT_EQ(cycles(client("main_fetch"), UnitState::kConflict), 0u);
  EXPECT_EQ(cycles(*memory, UnitState::kBusy), 10u);
}

TEST_F(DataMemoryTest, DisjointBanksAreGrantedTogether) {
  build();
  for (Cycle c = 0; c < 5; ++c) {
    client("main_fetch").push_at(c, access(128 * c, 32));        // banks 0 to 3
    client("sub_fetch").push_at(c, access(128 * c + 32, 8));     // bank 4
    client("main_commit").push_at(c, access(128 * c + 64, 32));  // banks 8 to 11
    client("sub_commit").push_at(c, access(128 * c + 40, 8));    // bank 5
  }
  run();
  EXPECT_EQ(main_data->cycles(), consecutive(2, 5));
  EXPECT_EQ(sub_data->cycles(), consecutive(2, 5));
  ASSERT_EQ(monitor_.finished.size(), 10u);
  EXPECT_EQ(monitor_.finished.back().second, 5u);
  finish(30);
  for (auto& [name, unit] : clients) EXPECT_EQ(cycles(*unit, UnitState::kConflict), 0u) << name;
  EXPECT_EQ(cycles(*memory, UnitState::kBusy), 5u);
}

// A wrong bank is a conflict: the same accesses with the second one shifted by one bank.
TEST_F(DataMemoryTest, AnUnalignedAccessCollidesWithItsNeighbour) {
  build();
  client("main_fetch").push_at(0, access(4, 32));  // bytes 4 to 35: banks 0 to 4
  client("sub_fetch").push_at(0, access(32, 8));   // bank 4
  run();
  EXPECT_THAT(main_data->cycles(), ElementsAre(2));
  EXPECT_THAT(sub_data->cycles(), ElementsAre(3));
}

// Highest first: main fetch, main commit, sub fetch, sub commit [B].
TEST_F(DataMemoryTest, PriorityOrder) {
  build();
  DmRequest main_write = access(0), sub_write = access(0);
  main_write.command = 1;
  sub_write.command = 2;
  client("sub_commit").push_at(0, sub_write);
  client("sub_fetch").push_at(0, access(0));
  client("main_commit").push_at(0, main_write);
  client("main_fetch").push_at(0, access(0));
  run();
  EXPECT_THAT(main_data->cycles(), ElementsAre(2));
  EXPECT_THAT(sub_data->cycles(), ElementsAre(4));
  using Finished = std::pair<CommandId, Cycle>;
  EXPECT_THAT(monitor_.finished, ElementsAre(Finished{1, 2}, Finished{2, 4}));
}

TEST_F(DataMemoryTest, PriorityIsAParameter) {
  DataMemory::Parameters parameters;
  parameters.priority = {"sub_commit", "sub_fetch", "main_commit", "main_fetch"};
  build(parameters);
  client("sub_fetch").push_at(0, access(0));
  client("main_fetch").push_at(0, access(0));
  run();
  EXPECT_THAT(sub_data->cycles(), ElementsAre(2));
  EXPECT_THAT(main_data->cycles(), ElementsAre(3));
}

TEST_F(DataMemoryTest, PriorityNamesEveryClientOnce) {
  DataMemory::Parameters parameters;
  parameters.priority = {"sub_commit", "sub_fetch", "main_commit", "dma"};
  EXPECT_THROW(build(parameters), InternalError);
}

TEST_F(DataMemoryTest, AllBanksOrNoneAndALoserLeavesThemToOthers) {
  build();
  client("main_fetch").push_at(0, access(8, 8));    // bank 1
  client("main_commit").push_at(0, access(0, 32));  // banks 0 to 3: loses in 1
  client("sub_fetch").push_at(0, access(0, 8));     // bank 0: free in 1
  run();
  EXPECT_THAT(main_data->cycles(), ElementsAre(2));
  EXPECT_THAT(sub_data->cycles(), ElementsAre(2));
  ASSERT_EQ(monitor_.finished.size(), 1u);
  EXPECT_EQ(monitor_.finished[0].second, 2u);
}

TEST_F(DataMemoryTest, AWriteLandsInTheCycleOfItsGrant) {
  simulate_values(kSlices);
  build();
  for (uint32_t s = 0; s < kSlices; ++s) {
    for (uint64_t byte = 0; byte < 8; ++byte) {
      memory->storage().poke(s, 8 * byte, DType::kI8, 1);
    }
  }
  DmRequest write = access(0);
  write.values = block(DType::kI8, 8, [](uint32_t e, uint32_t s) { return 10 * (s + 1) + e; });
  client("main_commit").push_at(5, write);     // loses in 6 to the first read, lands in 7
  client("main_fetch").push_at(5, access(0));  // granted in 6
  client("main_fetch").push_at(7, access(0));  // granted in 8
  run();
  ASSERT_THAT(main_data->cycles(), ElementsAre(7, 9));
  ASSERT_EQ(monitor_.finished.size(), 1u);
  EXPECT_EQ(monitor_.finished[0].second, 7u);
  EXPECT_EQ(main_data->received[0].second.values->bits(3, 1), 1u);
  EXPECT_EQ(main_data->received[1].second.values->bits(3, 1), 23u);
  EXPECT_TRUE(main_data->received[1].second.values->all_valid);
}

// Nothing is kept in slice 1, all in the others: the same cycle, the same bytes.
TEST_F(DataMemoryTest, WhatAFilterLeavesOutStays) {
  simulate_values(kSlices);
  build();
  for (uint32_t s = 0; s < kSlices; ++s) memory->storage().poke(s, 8 * 3, DType::kI8, 1);
  DmRequest write = access(0);
  write.values = block(DType::kI8, 8, [](uint32_t e, uint32_t s) { return 10 * (s + 1) + e; });
  write.keep = block(DType::kI8, 8, [](uint32_t, uint32_t s) { return s != 1; });
  client("main_commit").push_at(5, write);
  client("main_fetch").push_at(6, access(0));
  run();
  ASSERT_EQ(monitor_.finished.size(), 1u);
  EXPECT_EQ(monitor_.finished[0].second, 6u);
  EXPECT_EQ(memory->bytes_written(), 8u);
  const Block& after = *main_data->received.at(0).second.values;
  EXPECT_EQ(after.bits(3, 0), 13u);
  EXPECT_EQ(after.bits(3, 1), 1u);
  EXPECT_EQ(after.bits(3, 2), 33u);
  EXPECT_FALSE(after.is_valid(4, 1)) << "was never written";
}

TEST_F(DataMemoryTest, OnlyTheLastWriteFinishesACommand) {
  build();
  client("main_commit").push_at(0, access(0, 8, false));
  client("main_commit").push_at(1, access(8, 8, true));
  client("main_fetch").push_at(8, access(0, 8, true));
  run();
  ASSERT_EQ(monitor_.finished.size(), 1u);
  EXPECT_EQ(monitor_.finished[0].second, 2u);
}

// Reads wait for the way out, and hold no bank meanwhile.
TEST_F(DataMemoryTest, AReadWithoutSpaceForItsDataWaitsAndDisturbsNobody) {
  build();
  main_data->first_cycle = 20;
  for (Cycle c = 0; c < 5; ++c) client("main_fetch").push_at(c, access(0, 8, c == 4));
  client("sub_commit").push_at(5, access(0));
  run();
  EXPECT_EQ(main_data->cycles(), consecutive(20, 5));
  ASSERT_EQ(monitor_.finished.size(), 1u);
  EXPECT_EQ(monitor_.finished[0].second, 6u);
  finish(40);
  EXPECT_EQ(cycles(*memory, UnitState::kBlocked), 17u);  // 3 to 20, but 6
  EXPECT_EQ(blamed(*memory, "main_data"), 17u);
  EXPECT_EQ(cycles(*memory, UnitState::kBusy), 6u);
  EXPECT_EQ(cycles(client("sub_commit"), UnitState::kConflict), 0u);
}

TEST_F(DataMemoryTest, StarvedBetweenTheRequestsOfACommand) {
  build();
  client("main_fetch").push_at(0, access(0, 8, false));  // granted in 1
  client("main_fetch").push_at(10, access(0, 8, true));  // granted in 11
  run();
  finish(20);
  EXPECT_EQ(cycles(*memory, UnitState::kStarved), 9u);
  EXPECT_EQ(blamed(*memory, "main_fetch"), 9u);
  EXPECT_EQ(cycles(*memory, UnitState::kBusy), 2u);
  EXPECT_EQ(cycles(*memory, UnitState::kIdle), 9u);
}

TEST_F(DataMemoryTest, DeadSlicesOfATensorAreLeftAlone) {
  simulate_values(kSlices);
  context_.tensor_live = {{1, 0, 1}};
  build();
  DmRequest write = access(0);
  write.values = block(DType::kI8, 8, [](uint32_t, uint32_t) { return 5; });
  client("main_commit").push_at(0, write);
  client("main_fetch").push_at(9, access(0));
  run();
  EXPECT_TRUE(memory->storage().peek(0, 0, DType::kI8).valid);
  EXPECT_FALSE(memory->storage().peek(1, 0, DType::kI8).valid);
  const Block& seen = *main_data->received.at(0).second.values;
  EXPECT_TRUE(seen.all_valid);
  EXPECT_EQ(seen.bits(0, 1), 0u);
  EXPECT_EQ(seen.bits(0, 2), 5u);
}

TEST_F(DataMemoryTest, CountsBytesOfASlice) {
  build();
  DmRequest replicated = access(0, 8);
  replicated.replicated = true;
  replicated.bytes = 1;
  replicated.command = 3;
  client("main_fetch").push_at(0, replicated);
  client("sub_fetch").push_at(0, access(64, 8));
  DmRequest write = access(32, 24);
  write.command = 2;
  client("main_commit").push_at(0, write);
  run();
  finish(10);
  EXPECT_EQ(memory->bytes_read(), 9u);
  EXPECT_EQ(memory->bytes_written(), 24u);
  EXPECT_EQ(memory->bytes_read(3), 1u);
  EXPECT_EQ(memory->bytes_read(0), 8u);
  EXPECT_EQ(memory->bytes_written(2), 24u);
  EXPECT_EQ(memory->bytes_written(3), 0u);
  EXPECT_EQ(memory->client_bytes("main_commit"), 24u);
  const auto& extra = memory->counters().extra;
  EXPECT_NE(
      std::find(extra.begin(), extra.end(), std::pair<std::string, uint64_t>{"bytes_sub_fetch", 8}),
      extra.end());
}

// A replicated access touches the bank of its one element only.
TEST_F(DataMemoryTest, AReplicatedAccessTouchesOneElement) {
  build();
  DmRequest replicated = access(7, 8);
  replicated.replicated = true;
  client("main_fetch").push_at(0, replicated);
  client("sub_fetch").push_at(0, access(8, 8));  // bank 1
  run();
  EXPECT_THAT(sub_data->cycles(), ElementsAre(2));
}

TEST_F(DataMemoryTest, LeavingTheMemoryIsAnInternalError) {
  build();
  client("main_fetch").push_at(0, access(524288 - 7, 8));
  EXPECT_THROW(run(), InternalError);
}

TEST_F(DataMemoryTest, TheLastBytesOfTheMemoryCanBeRead) {
  build();
  client("main_fetch").push_at(0, access(524288 - 8, 8));
  run();
  EXPECT_THAT(main_data->cycles(), ElementsAre(2));
}

}  // namespace
}  // namespace rngdsim
