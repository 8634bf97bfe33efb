// SPDX-License-Identifier: Apache-2.0
// The whole contraction engine on a small matrix product: one cycle a unit but the reducer's five.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "engine/lane_folder.h"
#include "engine/multiplier.h"
#include "engine/packet_reducer.h"
#include "engine/stream_adapter.h"
#include "engine/time_reducer.h"
#include "engine/trf_sequencer.h"
#include "memory/trf.h"
#include "tests/support/contraction.h"
#include "tests/support/systemc_fixture.h"

namespace rngdsim::test {
namespace {

using testing::ElementsAre;

// c[m, n] = sum over k of a[m, k] * b[n, k]; bf16, M = 4, N = 8 in Lane, K = 32.
class ContractionTimingTest : public SystemCTest {
 protected:
  static constexpr uint64_t kM = 4, kN = 8, kK = 32;
  static double a(uint64_t m, uint64_t k, uint32_t s) { return 1.0 + m + k % 3 + s; }
  static double b(uint64_t n, uint64_t k) { return n == k % 8 ? 2 : 0.25; }
  static double c(uint64_t m, uint64_t n, uint32_t s) {
    double sum = 0;
    for (uint64_t k = 0; k < kK; ++k) sum += a(m, k, s) * b(n, k);
    return sum;
  }
  void contract(bool values) {
    if (values) simulate_values(3);
    program_.tensors.push_back(trf_tensor("b", DType::kBF16, kN, 2));
    Command& command = add_command();
    command.outer = outer_config(DType::kBF16, DType::kBF16, 2, kN, kM);
    command.packet_reduce = PacketReduceConfig{5, 1};
    command.time_reduce = TimeReduceConfig{{{kM, false}}, 1, 128, kM};
    LaneFoldConfig fold;
    fold.lanes = kN;
    fold.flits = kM;
    command.lane_fold = fold;

    Driver<StreamItem> flits("main_collect", *clock_, context_);
    Driver<StreamItem> no_main("no_main", *clock_, context_), no_sub("no_sub", *clock_, context_);
    StreamAdapter adapter("stream_adapter", *clock_, context_);
    Trf trf("trf", *clock_, context_, {});
    TrfSequencer sequencer("trf_sequencer", *clock_, context_, {});
    Multiplier multiplier("multiplier", *clock_, context_);
    PacketReducer packet_reducer("packet_reducer", *clock_, context_, {});
    TimeReducer time_reducer("time_reducer", *clock_, context_, {});
    LaneFolder folder("lane_folder", *clock_, context_, {});
    Collector<StreamItem> out("cast", *clock_, context_);
    connect(flits, flits.out, adapter, adapter.in);
    connect(no_main, no_main.out, trf, trf.main_store);
    connect(no_sub, no_sub.out, trf, trf.sub_store);
    connect(sequencer, sequencer.request, trf, trf.read);
    connect(trf, trf.read_data, sequencer, sequencer.data);
    connect(adapter, adapter.out, multiplier, multiplier.stream);
    connect(sequencer, sequencer.out, multiplier, multiplier.trf);
    connect(multiplier, multiplier.out, packet_reducer, packet_reducer.in);
    connect(packet_reducer, packet_reducer.out, time_reducer, time_reducer.in, 1, 8);
    connect(time_reducer, time_reducer.out, folder, folder.in);
    connect(folder, folder.release, time_reducer, time_reducer.release);
    connect(folder, folder.out, out, out.in);

    for (uint64_t n = 0; n < kN; ++n) {
      for (uint64_t k = 0; k < kK; ++k) {
        for (uint32_t s = 0; s < 3; ++s) trf.poke(0, n, k, s, from_double(DType::kBF16, b(n, k)));
      }
    }
    for (uint64_t f = 0; f < 2 * kM; ++f) {
      StreamItem flit;
      flit.index = f;
      flit.last = f + 1 == 2 * kM;
      if (values) {
        flit.values = value_block(*pool_, DType::kBF16, 16, [&](uint32_t e, uint32_t s) {
          return a(f / 2, f % 2 * 16 + e, s);
        });
      }
      flits.push_at(f, flit);
    }
    sequencer.start(0, 0);
    run();
    received_ = out.received;
    cycles_ = out.cycles();
  }
  std::vector<std::pair<Cycle, StreamItem>> received_;
  std::vector<Cycle> cycles_;
};

// The second flit of a packet is taken in 2; multiplied in 3, taken by the Packet Reducer in 4 and
// by the Time Reducer in 9, drained in 10. A packet every two cycles.
TEST_F(ContractionTimingTest, ComputesTheProductCycleByCycle) {
  contract(true);
  EXPECT_THAT(cycles_, ElementsAre(11, 13, 15, 17));
  for (uint64_t m = 0; m < kM; ++m) {
    const StreamItem& flit = received_[m].second;
    EXPECT_EQ(flit.index, m);
    EXPECT_EQ(flit.last, m + 1 == kM);
    EXPECT_TRUE(flit.values->all_valid);
    for (uint32_t n = 0; n < kN; ++n) {
      for (uint32_t s = 0; s < 3; ++s) EXPECT_EQ(value_at(*flit.values, n, s), c(m, n, s));
    }
  }
}

TEST_F(ContractionTimingTest, TakesTheSameCyclesWithoutValues) {
  contract(false);
  EXPECT_THAT(cycles_, ElementsAre(11, 13, 15, 17));
  for (const auto& item : received_) EXPECT_FALSE(item.second.values);
}

}  // namespace
}  // namespace rngdsim::test
