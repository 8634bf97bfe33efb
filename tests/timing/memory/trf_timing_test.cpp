// SPDX-License-Identifier: Apache-2.0
// Who gets a bank of the TRF in which cycle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "memory/trf.h"
#include "tests/support/contraction.h"
#include "tests/support/systemc_fixture.h"

namespace rngdsim::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// Drivers push in cycle c; the TRF sees the item in c + 1 (link latency 1).
class TrfTimingTest : public SystemCTest {
 protected:
  void SetUp() override {
    SystemCTest::SetUp();
    simulate_values(1);
    program_.tensors.push_back(trf_tensor("w", DType::kBF16, 8, 4));
    program_.tensors.push_back(trf_tensor("v", DType::kBF16, 8, 4));
    Command& reads = add_command();
    reads.outer = outer_config(DType::kBF16, DType::kBF16, 2, 8);
    reads.outer->trf = 1;
    for (int i = 0; i < 2; ++i) {  // commands 1 (main) and 2 (sub)
      Command& stores = add_command();
      stores.to_trf = ToTrfConfig{0, 8, 4};
    }
  }
  void build(const Trf::Parameters& parameters = {}) {
    trf_ = std::make_unique<Trf>("trf", *clock_, context_, parameters);
    main_ = std::make_unique<Driver<StreamItem>>("main_collect", *clock_, context_);
    sub_ = std::make_unique<Driver<StreamItem>>("sub_collect", *clock_, context_);
    reader_ =
        std::make_unique<Driver<TrfRequest>>("trf_sequencer", *clock_, context_, "trf request");
    data_ = std::make_unique<Collector<StreamItem>>("data", *clock_, context_, "trf data");
    connect(*main_, main_->out, *trf_, trf_->main_store);
    connect(*sub_, sub_->out, *trf_, trf_->sub_store);
    connect(*reader_, reader_->out, *trf_, trf_->read);
    connect(*trf_, trf_->read_data, *data_, data_->in, 1, 8);
    trf_->set_client("main_store", main_.get());
    trf_->set_client("sub_store", sub_.get());
    trf_->set_client("read", reader_.get());
  }
  void store(Driver<StreamItem>& driver, CommandId command, Cycle cycle, uint64_t index,
             bool last = false) {
    StreamItem flit;
    flit.command = command;
    flit.index = index;
    flit.last = last;
    flit.values = value_block(*pool_, DType::kBF16, 16, [&](uint32_t e, uint32_t) {
      return static_cast<double>(16 * index + e);
    });
    driver.push_at(cycle, flit);
  }
  void request(Cycle cycle, uint64_t index, uint64_t byte_offset, uint32_t bytes,
               bool last = false) {
    program_.commands[0].outer->read_elements = bytes / 2;
    TrfRequest read;
    read.index = index;
    read.byte_offset = byte_offset;
    read.element_offset = byte_offset / 2;
    read.bytes = bytes;
    read.last = last;
    reader_->push_at(cycle, read);
  }
  uint64_t extra(const std::string& name) {
    UnitCounters counters;
    trf_->add_extra_counters(counters);
    for (const auto& entry : counters.extra) {
      if (entry.first == name) return entry.second;
    }
    ADD_FAILURE() << name;
    return 0;
  }

  std::unique_ptr<Trf> trf_;
  std::unique_ptr<Driver<StreamItem>> main_, sub_;
  std::unique_ptr<Driver<TrfRequest>> reader_;
  std::unique_ptr<Collector<StreamItem>> data_;
};

TEST_F(TrfTimingTest, StoresOneFlitACycleAndEndsTheCommandWithItsLast) {
  build();
  for (uint64_t f = 0; f < 32; ++f) store(*main_, 1, f, f, f == 31);
  const Cycle end = run();
  trf_->finish(end);
  // Flit f is stored in cycle f + 1; eight lanes of four rows.
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(1u, Cycle{32})));
  EXPECT_EQ(trf_->counters().items_in, 32u);
  EXPECT_EQ(trf_->counters().items_out, 0u);
  EXPECT_EQ(trf_->counters().cycles[static_cast<size_t>(UnitState::kBusy)], 32u);
  EXPECT_EQ(extra("trf_write"), 32u * 32);
  // Flit 6 is row 2 of lane 1: its element 32.
  EXPECT_EQ(trf_->peek(0, 1, 32, 0), from_double(DType::kBF16, 96));
  EXPECT_EQ(trf_->peek(0, 7, 63, 0), from_double(DType::kBF16, 511));
}

TEST_F(TrfTimingTest, DataOfARequestTakenInCycleOneAreReadyAtCycleTwo) {
  build();
  request(0, 0, 0, 64, true);
  run();
  EXPECT_THAT(data_->cycles(), ElementsAre(2));
  EXPECT_EQ(extra("trf_read"), 8u * 64) << "two rows in each of eight lanes";
}

TEST_F(TrfTimingTest, ReadLatencyLengthensTheWayOfTheData) {
  Trf::Parameters parameters;
  parameters.read_latency = 3;
  build(parameters);
  request(0, 0, 0, 64);
  request(1, 1, 64, 64, true);
  run();
  EXPECT_THAT(data_->cycles(), ElementsAre(4, 5)) << "pipelined";
}

TEST_F(TrfTimingTest, NarrowReadBeatsTheStoreOfItsBank) {
  build();
  // Reads of row 0 (bank 0) are served in cycles 1 to 5; flit 0 (bank 0) is there from cycle 1 on.
  for (uint64_t i = 0; i < 5; ++i) request(i, i, 0, 32, i == 4);
  store(*main_, 1, 0, 0, true);
  run();
  EXPECT_THAT(data_->cycles(), ElementsAre(2, 3, 4, 5, 6));
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(1u, Cycle{6})));
}

TEST_F(TrfTimingTest, TheStoreOfTheOtherBankProceeds) {
  build();
  for (uint64_t i = 0; i < 5; ++i) request(i, i, 0, 32, i == 4);
  store(*main_, 1, 0, 1, true);  // row 1: bank 1
  run();
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(1u, Cycle{1})));
}

TEST_F(TrfTimingTest, AlternatingNarrowReadsLetEveryStoreThrough) {
  build();
  // Reads use banks 1, 0, 1, 0 in cycles 1 to 4, stores banks 0, 1, 0, 1.
  for (uint64_t i = 0; i < 4; ++i) {
    request(i, i, 32 * ((i + 1) % 2), 32, i == 3);
    store(*main_, 1, i, i, i == 3);
  }
  run();
  EXPECT_THAT(data_->cycles(), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(1u, Cycle{4})));
}

TEST_F(TrfTimingTest, WideReadsKeepAllStoresOut) {
  build();
  for (uint64_t i = 0; i < 5; ++i) request(i, i, 64 * (i % 2), 64, i == 4);
  store(*main_, 1, 0, 0, true);
  store(*sub_, 2, 0, 1, true);
  run();
  // Both in cycle 6: different banks.
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(1u, Cycle{6}), Pair(2u, Cycle{6})));
}

TEST_F(TrfTimingTest, OfTwoStoresToOneLaneAndBankMainIsFirst) {
  build();
  store(*main_, 1, 0, 0, true);
  store(*sub_, 2, 0, 2, true);  // lane 0, row 2: bank 0 too
  run();
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(1u, Cycle{1}), Pair(2u, Cycle{2})));
}

TEST_F(TrfTimingTest, StoresToDifferentLanesShareACycle) {
  build();
  store(*main_, 1, 0, 0, true);
  store(*sub_, 2, 0, 4, true);  // lane 1, row 0
  run();
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(1u, Cycle{1}), Pair(2u, Cycle{1})));
}

TEST_F(TrfTimingTest, ATensorOfOneLaneOwnsAllOfThem) {
  program_.commands[2].to_trf = ToTrfConfig{1, 1, 4};
  build();
  store(*main_, 1, 0, 28, true);  // lane 7 of 8, row 0
  store(*sub_, 2, 0, 0, true);    // the only lane, row 0
  run();
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(1u, Cycle{1}), Pair(2u, Cycle{2})));
}

TEST_F(TrfTimingTest, TheUnitBehindTheStoreBooksTheConflict) {
  build();
  for (uint64_t i = 0; i < 10; ++i) request(i, i, 0, 64, i == 9);
  for (uint64_t f = 0; f < 4; ++f) store(*main_, 1, 0, f, f == 3);
  main_->finish(run());
  // Two flits fill the link in cycles 0 and 1. The driver is refused from 2 on, in 2 to 10 because
  // reads take the banks; flit 0 is stored in 11, which makes room from 12 on.
  EXPECT_THAT(main_->pushed, ElementsAre(0, 1, 12, 13));
  EXPECT_EQ(main_->counters().cycles[static_cast<size_t>(UnitState::kConflict)], 9u);
  EXPECT_EQ(main_->counters().cycles[static_cast<size_t>(UnitState::kBlocked)], 1u);
  EXPECT_THAT(main_->counters().blamed,
              testing::UnorderedElementsAre(Pair("trf_sequencer", 9u), Pair("trf", 1u)));
}

TEST_F(TrfTimingTest, AReadWithoutSpaceForItsDataLeavesTheBanksFree) {
  build();
  data_->first_cycle = 100;
  for (uint64_t i = 0; i < 10; ++i) request(i, i, 0, 64, i == 9);  // the link holds eight
  store(*main_, 1, 20, 0, true);
  run();
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(1u, Cycle{21})));
  EXPECT_EQ(data_->cycles().size(), 10u);
  EXPECT_EQ(data_->cycles().front(), 100u);
}

TEST_F(TrfTimingTest, TimingIsTheSameWithoutValues) {
  context_.pool = nullptr;
  build();
  for (uint64_t i = 0; i < 5; ++i) request(i, i, 0, 32, i == 4);
  StreamItem flit;
  flit.command = 1;
  flit.last = true;
  main_->push_at(0, flit);
  run();
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(1u, Cycle{6})));
  for (const auto& item : data_->received) EXPECT_EQ(item.second.trf, nullptr);
}

}  // namespace
}  // namespace rngdsim::test
