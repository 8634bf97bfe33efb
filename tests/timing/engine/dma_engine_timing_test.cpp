// SPDX-License-Identifier: Apache-2.0
// A DMA begins in cycle 0; its first data are back at the engine in cycle 500, the start-up. Every
// link takes a cycle. With the first request in r, the memory has it in r + 1:
//
//   DM   the beats of a request of 256 B move in r + 1 and r + 2, the data are back in r + 3
//   HBM  opening the row takes 40 cycles, the transfer 5.33, the rest of the way 60: with waiting
//        for an edge of the controller's clock 106 cycles, and 107 where r + 1 is one below a
//        multiple of 4; the data are back in r + 108 (109)
//
// A write that leaves in w is answered in w + 3 by the DM (two beats) and in w + 2 by HBM (queued).
// The command ends with that answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "engine/dma_engine.h"
#include "tests/support/dma_fixture.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DmaEngineTest : public test::DmaTest {
 protected:
  const DmaEngine::Activity& activity(size_t i = 0) const { return engines_[0]->activities()[i]; }
};

// ---- Start-up ---------------------------------------------------------------------------------

TEST_F(DmaEngineTest, TheStartUpContainsTheFirstAccessOfHbm) {
  EXPECT_EQ(run_dma(kHbm, kDm, {segment(0, 0, {})}), 503u);
  EXPECT_EQ(activity().first_data, 500u);
  EXPECT_EQ(engines_[0]->first_request(), 392u);
}

TEST_F(DmaEngineTest, TheStartUpContainsTheFirstAccessOfDm) {
  EXPECT_EQ(run_dma(kDm, kHbm, {segment(0, 0, {})}), 502u);
  EXPECT_EQ(activity().first_data, 500u);
  EXPECT_EQ(engines_[0]->first_request(), 497u);
}

TEST_F(DmaEngineTest, TheStartUpIsAParameterOfTheMachine) {
  program_.limits.dma_startup = 501;
  run_dma(kDm, kHbm, {segment(0, 0, {})});
  EXPECT_EQ(activity().first_data, 501u);
}

// Whoever asks early gets no data before the end of the start-up; they wait from 400 on.
TEST_F(DmaEngineTest, NoDataBeforeTheStartUpEnds) {
  DmaEngine::Parameters parameters;
  parameters.first_access_dm = 103;
  build(1, parameters);
  EXPECT_EQ(run_dma(kDm, kHbm, {segment(0, 0, {})}), 502u);
  EXPECT_EQ(engines_[0]->first_request(), 397u);
  EXPECT_EQ(activity().first_data, 500u);
}

// A start-up that is shorter than the access: the request leaves at once.
TEST_F(DmaEngineTest, AStartUpOfNothing) {
  program_.limits.dma_startup = 0;
  run_dma(kDm, kHbm, {segment(0, 0, {})});
  EXPECT_EQ(activity().first_data, 3u);
}

// Engine 0 ends the first segment in 502; the second begins in 503.
TEST_F(DmaEngineTest, EachSegmentHasAStartUp) {
  EXPECT_EQ(run_dma(kDm, kHbm, {segment(0, 0, {}), segment(kSlice, 256, {})}), 1005u);
  EXPECT_EQ(activity().segments, 2u);
  EXPECT_EQ(activity().end, 1006u);
}

TEST_F(DmaEngineTest, SegmentsOfTwoEnginesRunSideBySide) {
  const CommandId id =
      add_dma(kDm, kHbm, {segment(0, 0, {}, 256, 0), segment(2 * kDmn, 256, {}, 256, 1)});
  build(2);
  engines_[0]->start(id, 0);
  engines_[1]->start(id, 0);
  run();
  using Finished = std::pair<CommandId, Cycle>;
  EXPECT_THAT(monitor_.finished, ElementsAre(Finished{id, 502}, Finished{id, 502}));
}

// ---- Rates ------------------------------------------------------------------------------------

// The data of four neighbours come back after 108, 108, 109 and 108 cycles, at one a cycle in 500,
// 501, 503, 504, 505, ...: the 64th in 564.
TEST_F(DmaEngineTest, HbmToDmMovesARequestACycle) {
  EXPECT_EQ(run_dma(kHbm, kDm, {segment(0, 0, {{32, 512, kSlice}, {2, 256, kDmn}})}), 567u);
  EXPECT_EQ(activity().requests, 64u);
  EXPECT_EQ(activity().packets, 64u);
  EXPECT_EQ(activity().bytes, 64u * 256);
}

// As example 6 of the page counts: data in 500, 502, ..., writes in 501, 503, ..., the last in 627.
TEST_F(DmaEngineTest, DmToHbmMayReadAndWriteInTurn) {
  program_.limits.dma_dm_to_hbm_in_turn = true;
  EXPECT_EQ(run_dma(kDm, kHbm, {segment(0, 0, {{32, kSlice, 512}, {2, kDmn, 256}})}), 629u);
}

// The first request on its DMN in turn: data in 500 to 563.
TEST_F(DmaEngineTest, DmToHbmMovesARequestACycle) {
  EXPECT_EQ(run_dma(kDm, kHbm, {segment(0, 0, {{32, kSlice, 512}, {2, kDmn, 256}})}), 565u);
}

// A DMN moves 128 B a cycle: the data of request i are back in 500 + 2 i.
TEST_F(DmaEngineTest, OneDmnHalvesTheRate) {
  EXPECT_EQ(run_dma(kDm, kHbm, {segment(0, 0, {{2, 256, 8192}, {32, kSlice, 256}})}), 628u);
}

// The data of one or a write a cycle: data in 500, 502, ..., writes in 501, 503, ..., the last in
// 500 + 64 + 64 - 1 (the worked example of 628 cycles, and the way of the last write).
TEST_F(DmaEngineTest, HbmToHbmReadsOrWritesInACycle) {
  EXPECT_EQ(run_dma(kHbm, kHbmToo, {segment(0, 16384, {{8, 2048, 256}, {8, 256, 2048}})}), 629u);
  EXPECT_EQ(activity().first_data, 500u);
}

// As HBM to HBM, in a cluster. Requests of both directions meet in the DMNs, which costs a few
// cycles at the begin.
TEST_F(DmaEngineTest, DmToDmInAClusterReadsOrWritesInACycle) {
  const Cycle end = run_dma(
      kDm, kDmToo, {segment(0, 65536, {{16, 256, 256}, {32, kSlice, kSlice}, {2, kDmn, kDmn}})});
  EXPECT_GE(end, 500u + 2 * 1024);
  EXPECT_LE(end, 500u + 2 * 1024 + 16);
}

// The same between clusters: data and write of request i in 500 + i.
TEST_F(DmaEngineTest, BetweenClustersReadsAndWritesPipeline) {
  EXPECT_EQ(run_dma(kDm, kDmToo, {segment(0, kCluster, {{32, kSlice, kSlice}, {2, kDmn, kDmn}})}),
            566u);
}

// One request at a time: it returns after 3 cycles, and the next leaves with its write.
TEST_F(DmaEngineTest, RequestsUnderWayAreLimited) {
  DmaEngine::Parameters parameters;
  parameters.outstanding = 1;
  build(1, parameters);
  EXPECT_EQ(run_dma(kDm, kHbm, {segment(0, 0, {{8, kSlice, 256}})}), 500u + 3 * 7 + 2);
}

// Two at a time, in turn on two DMNs: data in 500, 501, 503, 504, ...
TEST_F(DmaEngineTest, TwoRequestsUnderWay) {
  DmaEngine::Parameters parameters;
  parameters.outstanding = 2;
  build(1, parameters);
  EXPECT_EQ(run_dma(kDm, kHbm, {segment(0, 0, {{4, kSlice, 512}, {2, kDmn, 256}})}),
            500u + 3 * 3 + 1 + 2);
}

// 600 B: requests of 256, 256 and 88 B, the first two in two beats: all of one slice, data in 500,
// 502 and 503.
TEST_F(DmaEngineTest, APacketIsCutIntoRequests) {
  EXPECT_EQ(run_dma(kDm, kHbm, {segment(0, 0, {}, 600)}), 505u);
  EXPECT_EQ(activity().requests, 3u);
  EXPECT_EQ(activity().packets, 1u);
  EXPECT_EQ(activity().bytes, 600u);
}

// ---- What it tells ----------------------------------------------------------------------------

// The first read of HBM is answered after 108 cycles, the first of which is its way there.
TEST_F(DmaEngineTest, ARequestWithoutAnswerForTooLongIsAHazard) {
  DmaEngine::Parameters parameters;
  parameters.timeout = 107;
  build(1, parameters);
  run_dma(kHbm, kDm, {segment(0, 0, {})});
  ASSERT_EQ(engines_[0]->hazards().size(), 1u);
  EXPECT_EQ(engines_[0]->hazards()[0].cycle, 500u);
  EXPECT_THAT(engines_[0]->hazards()[0].text,
              HasSubstr("NoC timeout: read 0 of dma_0 had no answer for 107 cycles"));
}

TEST_F(DmaEngineTest, AnAnswerInTimeIsNone) {
  DmaEngine::Parameters parameters;
  parameters.timeout = 108;
  build(1, parameters);
  run_dma(kHbm, kDm, {segment(0, 0, {})});
  EXPECT_THAT(engines_[0]->hazards(), IsEmpty());
}

// Two engines read one line 400 times each, a transfer in 8 cycles of the controller: 32/3 cycles.
// Who waits longest goes first, so that they share it and end together, but for what is queued.
TEST_F(DmaEngineTest, EnginesShareAChannel) {
  build(2);
  const CommandId id =
      add_dma(kHbm, kDm,
              {segment(0, 0, {{400, 0, 256}}, 256, 0), segment(0, kDmn, {{400, 0, 256}}, 256, 1)});
  engines_[0]->start(id, 0);
  engines_[1]->start(id, 0);
  run();
  const Cycle first = engines_[0]->activities()[0].end;
  const Cycle second = engines_[1]->activities()[0].end;
  EXPECT_GE(std::max(first, second), 500u + 799 * 32 / 3);
  EXPECT_LE(std::max(first, second) - std::min(first, second), 64u);
}

// One request: asks in 497, has data and writes in 500, hears of it in 502.
TEST_F(DmaEngineTest, ItsStates) {
  run_dma(kDm, kHbm, {segment(0, 0, {})});
  engines_[0]->finish(600);
  const auto cycles = [&](UnitState state) {
    return engines_[0]->counters().cycles[static_cast<size_t>(state)];
  };
  EXPECT_EQ(cycles(UnitState::kBusy), 3u);
  EXPECT_EQ(cycles(UnitState::kStarved), 3u);  // 498, 499 for the DM, 501 for HBM
  EXPECT_EQ(cycles(UnitState::kBlocked), 0u);
  EXPECT_EQ(cycles(UnitState::kIdle), 594u);
  EXPECT_THAT(
      engines_[0]->counters().blamed,
      testing::UnorderedElementsAre(testing::Pair("data_memory", 2u), testing::Pair("hbm", 1u)));
}

// ---- Values -----------------------------------------------------------------------------------

TEST_F(DmaEngineTest, MovesBytesAndPoison) {
  simulate_values(512);
  build();
  for (uint32_t byte = 0; byte < 512; ++byte) {
    if (byte == 7) continue;  // never written
    hbm_->storage().poke(8 * (1000 + byte), DType::kI8, byte % 251);
  }
  // Two packets of 256 B to byte 64 of slices 5 and 300 (cluster 1).
  run_dma(kHbm, kDm, {segment(1000, 5 * kSlice + 64, {{2, 256, 295 * kSlice}})});
  const SlicedMemory& dm = memory_->storage();
  for (uint32_t byte = 0; byte < 512; ++byte) {
    const auto element = dm.peek(byte < 256 ? 5 : 300, 8 * (64 + byte % 256), DType::kI8);
    EXPECT_EQ(element.valid, byte != 7) << byte;
    EXPECT_EQ(element.bits, byte == 7 ? 0 : byte % 251) << byte;
  }
  EXPECT_FALSE(dm.peek(6, 8 * 64, DType::kI8).valid);
  EXPECT_FALSE(dm.peek(5, 8 * 63, DType::kI8).valid);
  EXPECT_FALSE(dm.peek(5, 8 * 320, DType::kI8).valid);
}

// A transposition on the way: every byte where the write strides say.
TEST_F(DmaEngineTest, ReadsAndWritesWithStridesOfTheirOwn) {
  simulate_values(512);
  build();
  for (uint32_t i = 0; i < 64 * 8; ++i) hbm_->storage().poke(8 * i, DType::kI8, i * 7 % 256);
  // 8 x 8 packets of 8 B, transposed.
  run_dma(kHbm, kHbmToo, {segment(0, 4096, {{8, 64, 8}, {8, 8, 64}}, 8)});
  for (uint32_t a = 0; a < 8; ++a) {
    for (uint32_t b = 0; b < 8; ++b) {
      for (uint32_t c = 0; c < 8; ++c) {
        const auto element = hbm_->storage().peek(8 * (4096 + 64 * b + 8 * a + c), DType::kI8);
        ASSERT_TRUE(element.valid);
        EXPECT_EQ(element.bits, (64 * a + 8 * b + c) * 7 % 256);
      }
    }
  }
}

}  // namespace
}  // namespace rngdsim
