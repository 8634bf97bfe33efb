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
  // Without a cache, so that every read takes its banks; see TrfCacheTest for the other case.
  static Trf::Parameters uncached() {
    Trf::Parameters parameters;
    parameters.cache_rows = 0;
    return parameters;
  }
  void build(const Trf::Parameters& parameters = uncached()) {
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
  Trf::Parameters parameters = uncached();
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

// ---- The read cache -----------------------------------------------------------------------------
//
// Request i, pushed in cycle i, is served in i + 1. Granule g of a lane lies in bank g % 2, row g /
// 2, and is cached at g / 2 % 4. The store under test is there from cycle 1 on. Where a read misses
// in its bank in cycles 1 to m, it is stored in m + 1: not before, and not after.

class TrfCacheTest : public TrfTimingTest {
 protected:
  void SetUp() override {
    TrfTimingTest::SetUp();
    program_.tensors[1] = trf_tensor("v", DType::kBF16, 8, 24);  // granules 0 to 23, rows 0 to 11
  }
  // Reads of the granules (narrow: 32 B each), one a cycle.
  void read_granules(const std::vector<uint64_t>& granules) {
    for (size_t i = 0; i < granules.size(); ++i) {
      request(i, i, 32 * granules[i], 32, i + 1 == granules.size());
    }
  }
  // The cycle in which a store into `bank` of another tensor lands.
  Cycle stored_in(uint64_t bank) {
    store(*sub_, 2, 0, bank, true);
    run();
    EXPECT_EQ(monitor_.finished.size(), 1u);
    return monitor_.finished.empty() ? 0 : monitor_.finished[0].second;
  }
};

TEST_F(TrfCacheTest, AHitLeavesTheBankToTheStore) {
  build(Trf::Parameters{});
  read_granules({0, 0, 0, 0, 0});  // a miss in cycle 1, hits from 2 on
  EXPECT_EQ(stored_in(0), 2u);
  EXPECT_THAT(data_->cycles(), ElementsAre(2, 3, 4, 5, 6));
  EXPECT_EQ(extra("cache_misses"), 1u);
  EXPECT_EQ(extra("cache_hits"), 4u);
  EXPECT_EQ(extra("trf_read"), 5u * 8 * 32) << "what the multiplier gets, cached or not";
}

TEST_F(TrfCacheTest, AMissTakesTheBankAndOnlyThatOne) {
  build(Trf::Parameters{});
  read_granules({0, 2, 4, 6, 8});  // rows 0 to 4 of bank 0
  EXPECT_EQ(stored_in(0), 6u);
}

TEST_F(TrfCacheTest, TheOtherBankIsFree) {
  build(Trf::Parameters{});
  read_granules({0, 2, 4, 6, 8});
  EXPECT_EQ(stored_in(1), 1u);
}

TEST_F(TrfCacheTest, FourRowsOfABankFit) {
  build(Trf::Parameters{});
  read_granules({0, 2, 4, 6, 0, 2, 4, 6});  // rows 0 to 3 twice: four misses
  EXPECT_EQ(stored_in(0), 5u);
  EXPECT_EQ(extra("cache_hits"), 4u);
}

TEST_F(TrfCacheTest, RowsFourApartShareAPlace) {
  build(Trf::Parameters{});
  read_granules({0, 8, 0, 8, 0, 8});  // rows 0 and 4: never a hit
  EXPECT_EQ(stored_in(0), 7u);
  EXPECT_EQ(extra("cache_hits"), 0u);
}

TEST_F(TrfCacheTest, NarrowReadsAlternateBetweenTheBanks) {
  build(Trf::Parameters{});
  // Misses in banks 0, 1, 0, 1: bank 1 is free in cycle 1, bank 0 in cycle 2.
  read_granules({0, 1, 2, 3});
  store(*main_, 1, 0, 1);
  store(*sub_, 2, 0, 0, true);
  store(*main_, 1, 1, 3, true);  // bank 1 again: it is read in cycle 2
  run();
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(2u, Cycle{2}), Pair(1u, Cycle{3})));
}

TEST_F(TrfCacheTest, AWideMissTakesBothBanks) {
  build(Trf::Parameters{});
  for (uint64_t i = 0; i < 5; ++i) request(i, i, 64 * i, 64, i == 4);  // rows 0 to 4
  EXPECT_EQ(stored_in(1), 6u);
  EXPECT_EQ(extra("cache_misses"), 10u);
}

TEST_F(TrfCacheTest, AWideHitTakesNone) {
  build(Trf::Parameters{});
  for (uint64_t i = 0; i < 5; ++i) request(i, i, 0, 64, i == 4);
  EXPECT_EQ(stored_in(1), 2u);
}

// Granule 0 is cached in cycle 1; the wide read of granules 0 and 1 in cycle 2 misses in bank 1
// only.
TEST_F(TrfCacheTest, AWideReadTakesTheBankThatItMissesIn) {
  build(Trf::Parameters{});
  request(0, 0, 0, 32);
  request(1, 1, 0, 64, true);
  program_.commands[0].outer->read_elements = 16;
  store(*sub_, 2, 1, 0);        // bank 0, there from cycle 2 on
  store(*sub_, 2, 2, 1, true);  // bank 1, there from cycle 3 on
  run();
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(2u, Cycle{3})));
  EXPECT_EQ(extra("cache_misses"), 2u);
  EXPECT_EQ(extra("cache_hits"), 1u);
}

// A store into a row that is cached: it has to wait for no read, and reads go on to hit.
TEST_F(TrfCacheTest, AStoreUpdatesTheCopyOfItsRow) {
  program_.commands[2].to_trf = ToTrfConfig{1, 8, 24};
  build(Trf::Parameters{});
  read_granules({0, 0, 0, 0});
  store(*sub_, 2, 1, 0, true);  // granule 0 of lane 0, there from cycle 2 on
  run();
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(2u, Cycle{2})));
  EXPECT_EQ(extra("cache_hits"), 3u);
  // The read of cycle 3 has the new values.
  const auto& operand = data_->received[2].second.trf;
  ASSERT_NE(operand, nullptr);
  EXPECT_EQ(operand->lanes[0][0]->bits(5, 0), from_double(DType::kBF16, 5));
}

// Rows of the second half lie in the same banks as those of the first.
TEST_F(TrfCacheTest, AStoreIntoTheOtherHalfNeedsTheBankAllTheSame) {
  program_.tensors[0].first_row = 64;
  build(Trf::Parameters{});
  read_granules({0, 2, 4});
  EXPECT_EQ(stored_in(0), 4u);
}

TEST_F(TrfCacheTest, TheRowInTheBankIsWhatCounts) {
  program_.tensors[1].first_row = 64;
  build(Trf::Parameters{});
  read_granules({0, 8, 0});  // rows 64 and 68: the same place
  EXPECT_EQ(stored_in(0), 4u);
}

}  // namespace
}  // namespace rngdsim::test
