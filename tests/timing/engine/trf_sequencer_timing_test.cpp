// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "engine/trf_sequencer.h"
#include "memory/trf.h"
#include "support/diagnostic.h"
#include "tests/support/contraction.h"
#include "tests/support/systemc_fixture.h"

namespace rngdsim::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

// The sequencer with its TRF: a request that leaves in cycle c is served in c + 1, its data are
// handed on in c + 2 and popped behind `out` in c + 3.
class TrfSequencerTimingTest : public SystemCTest {
 protected:
  CommandId contraction(std::vector<SequencerEntry> entries) {
    if (program_.tensors.empty()) {
      program_.tensors.push_back(trf_tensor("w", DType::kBF16, 8, 8));
    }
    Command& command = add_command();
    command.outer = outer_config(DType::kBF16, DType::kBF16, 2, 8);
    command.outer->trf_sequencer.entries = std::move(entries);
    command.outer->packets = command.outer->trf_sequencer.positions();
    return command.id;
  }
  void build(uint64_t outstanding = TrfSequencer::Parameters{}.outstanding) {
    TrfSequencer::Parameters parameters;
    parameters.outstanding = outstanding;
    sequencer_ = std::make_unique<TrfSequencer>("trf_sequencer", *clock_, context_, parameters);
    operands_ =
        std::make_unique<Collector<StreamItem>>("multiplier", *clock_, context_, "trf data");
    connect(*sequencer_, sequencer_->out, *operands_, operands_->in);
  }
  void add_trf() {
    trf_ = std::make_unique<Trf>("trf", *clock_, context_, Trf::Parameters{});
    idle_main_ = std::make_unique<Driver<StreamItem>>("main_collect", *clock_, context_);
    idle_sub_ = std::make_unique<Driver<StreamItem>>("sub_collect", *clock_, context_);
    connect(*idle_main_, idle_main_->out, *trf_, trf_->main_store);
    connect(*idle_sub_, idle_sub_->out, *trf_, trf_->sub_store);
    connect(*sequencer_, sequencer_->request, *trf_, trf_->read);
    connect(*trf_, trf_->read_data, *sequencer_, sequencer_->data);
  }
  uint64_t cycles(UnitState state) const {
    return sequencer_->counters().cycles[static_cast<size_t>(state)];
  }

  std::unique_ptr<TrfSequencer> sequencer_;
  std::unique_ptr<Trf> trf_;
  std::unique_ptr<Driver<StreamItem>> idle_main_, idle_sub_;
  std::unique_ptr<Collector<StreamItem>> operands_;
};

TEST_F(TrfSequencerTimingTest, ReadsOnceACycleFromItsFirstCycleOn) {
  const CommandId command = contraction({{6, 0}});
  build();
  add_trf();
  sequencer_->start(command, 10);
  sequencer_->finish(run());
  EXPECT_THAT(operands_->cycles(), ElementsAre(13, 14, 15, 16, 17, 18));
  EXPECT_EQ(cycles(UnitState::kBusy), 6u) << "handing data on is not busy";
  EXPECT_EQ(sequencer_->counters().items_out, 6u);
  EXPECT_EQ(sequencer_->counters().items_in, 6u);
}

TEST_F(TrfSequencerTimingTest, CreditsCoverARoundTripOfThreeCycles) {
  const CommandId command = contraction({{6, 0}});
  build(3);
  add_trf();
  sequencer_->start(command, 10);
  run();
  EXPECT_THAT(operands_->cycles(), ElementsAre(13, 14, 15, 16, 17, 18));
}

TEST_F(TrfSequencerTimingTest, ACreditIsOfUseTheCycleAfterItsDataWereHandedOn) {
  const CommandId command = contraction({{6, 0}});
  build(2);
  add_trf();
  sequencer_->start(command, 10);
  run();
  // Issued in 10, 11; handed on in 12, 13; issued in 13, 14; ...
  EXPECT_THAT(operands_->cycles(), ElementsAre(13, 14, 16, 17, 19, 20));
}

TEST_F(TrfSequencerTimingTest, WithoutCreditItIsBlockedByTheMultiplier) {
  const CommandId command = contraction({{20, 0}});
  build();
  add_trf();
  operands_->first_cycle = 50;
  sequencer_->start(command, 10);
  sequencer_->finish(run());
  // Two operands fill the link, four credits are out (two wait as data, two as requests): six
  // reads, in 10 to 15. The multiplier takes one in 50, the next is handed on in 51; the TRF has
  // space for its data and takes a request in 52, and read seven leaves in 53.
  EXPECT_EQ(cycles(UnitState::kBlocked), 37u);  // 16 to 52
  EXPECT_THAT(sequencer_->counters().blamed, ElementsAre(Pair("multiplier", 36u), Pair("trf", 1u)));
  EXPECT_EQ(operands_->received.size(), 20u);
  EXPECT_TRUE(operands_->received.back().second.last);
}

TEST_F(TrfSequencerTimingTest, WalksElementBySequencer) {
  // M = 32, N = 8, K = 16, L = 2, O = 2, Element `O, K`: ReadSize 16, walks O, broadcast M.
  const CommandId command = contraction({{2, 16}, {3, 0}});
  program_.commands[command].outer->read_elements = 16;
  program_.commands[command].outer->read_bytes = 32;
  build(100);
  Collector<TrfRequest> requests("trf", *clock_, context_, "trf request");
  Driver<StreamItem> no_data("no_data", *clock_, context_, "trf data");
  connect(*sequencer_, sequencer_->request, requests, requests.in);
  connect(no_data, no_data.out, *sequencer_, sequencer_->data);
  sequencer_->start(command, 0);
  run();
  ASSERT_EQ(requests.received.size(), 6u);
  for (uint64_t i = 0; i < 6; ++i) {
    const auto& [cycle, request] = requests.received[i];
    EXPECT_EQ(cycle, i + 1);
    EXPECT_EQ(request.index, i);
    EXPECT_EQ(request.element_offset, i / 3 * 16);
    EXPECT_EQ(request.byte_offset, i / 3 * 32);
    EXPECT_EQ(request.bytes, 32u);
    EXPECT_EQ(request.lanes, 8u);
    EXPECT_EQ(request.last, i == 5);
  }
}

TEST_F(TrfSequencerTimingTest, ACommandWithoutContractionReadsNothing) {
  const CommandId command = add_command().id;
  build();
  add_trf();
  sequencer_->start(command, 0);
  run();
  EXPECT_TRUE(operands_->received.empty());
}

TEST_F(TrfSequencerTimingTest, CommandsMayNotOverlap) {
  const CommandId first = contraction({{6, 0}});
  const CommandId second = contraction({{6, 0}});
  build();
  sequencer_->start(first, 10);
  EXPECT_THROW(sequencer_->start(second, 11), InternalError);
}

}  // namespace
}  // namespace rngdsim::test
