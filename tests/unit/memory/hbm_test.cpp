// SPDX-License-Identifier: Apache-2.0
// How the HBM of a chip cuts requests, puts them together again and adds up.
#include "memory/hbm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/diagnostic.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;

std::vector<HbmCompletion> run_out(Hbm& hbm) {
  std::vector<HbmCompletion> done;
  while (hbm.next_event() != kHbmNever) hbm.advance(hbm.next_event(), done);
  return done;
}

// Lines 0 and 1 are of stacks 0 and 1, line 2 is of channel 1.
TEST(Hbm, CutsAtLines) {
  Hbm hbm({});
  hbm.push(0, 200, 400, false, 7);  // bytes 200 to 599
  const auto done = run_out(hbm);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].id, 7u);
  EXPECT_EQ(hbm.channel(0, 0).counters().bytes, 56u);
  EXPECT_EQ(hbm.channel(1, 0).counters().bytes, 256u);
  EXPECT_EQ(hbm.channel(0, 1).counters().bytes, 88u);
  EXPECT_EQ(hbm.counters().requests, 3u);
  EXPECT_EQ(hbm.stack_counters(0).requests, 2u);
  EXPECT_EQ(hbm.stack_counters(1).requests, 1u);
  EXPECT_EQ(hbm.bank_counters(0, 0, 0).bytes, 400u);
}

// Where the bytes would fit fewer lines, the read is misaligned, once: 400 B need two lines.
TEST(Hbm, MisalignedReadsAreCountedOnce) {
  Hbm hbm({});
  hbm.push(0, 200, 400, false, 0);
  hbm.push(0, 0, 400, false, 1);    // two lines, as it must be
  hbm.push(0, 100, 412, false, 2);  // bytes 100 to 511: two lines as well
  hbm.push(0, 255, 2, false, 3);
  run_out(hbm);
  EXPECT_EQ(hbm.counters().misaligned_reads, 2u);
  EXPECT_EQ(hbm.channel(0, 0).counters().misaligned_reads, 2u);
}

// An unaligned write covers lines in part: of bytes 200 to 599 the first and the last.
TEST(Hbm, UnalignedWritesModifyTheLinesThatTheyCoverInPart) {
  Hbm hbm({});
  hbm.push(0, 200, 400, true, 0);
  run_out(hbm);
  EXPECT_EQ(hbm.counters().read_modify_writes, 2u);
  EXPECT_EQ(hbm.channel(1, 0).counters().read_modify_writes, 0u);
  EXPECT_EQ(hbm.counters().misaligned_reads, 0u);
}

// Complete with the last piece: the read-modify-write of line 0 takes 200 controller cycles, the
// whole line 1 takes 4: 120 (row) + 800 + 180 against 120 + 16 + 180.
TEST(Hbm, ARequestIsCompleteWithItsLastPiece) {
  Hbm hbm({});
  hbm.push(0, 8, 504, true, 5);
  EXPECT_THAT(run_out(hbm), ElementsAre(HbmCompletion{1100, 5}));
}

// Four channels at the same time, pushed in another order than that of the ids.
TEST(Hbm, CompletionsAreInOrderOfTimeAndId) {
  Hbm hbm({});
  hbm.push(0, 0x000, 256, false, 9);
  hbm.push(0, 0x200, 256, false, 4);
  hbm.push(0, 0x100, 256, false, 6);
  hbm.push(0, 0x400, 8, true, 1);
  std::vector<HbmCompletion> done;
  hbm.advance(10'000, done);
  EXPECT_THAT(done, ElementsAre(HbmCompletion{316, 4}, HbmCompletion{316, 6}, HbmCompletion{316, 9},
                                HbmCompletion{1100, 1}));
}

// 64 lines of one channel fill its queue. A request that needs it has no room, others have.
TEST(Hbm, AFullQueueRefusesWhatNeedsIt) {
  Hbm hbm({});
  for (uint32_t i = 0; i < 63; ++i) {
    ASSERT_TRUE(hbm.can_accept(0, 256));
    hbm.push(0, 0, 256, false, i);
  }
  EXPECT_TRUE(hbm.can_accept(0, 4096));
  hbm.push(0, 0, 256, false, 63);
  EXPECT_FALSE(hbm.can_accept(0, 1));
  EXPECT_FALSE(hbm.can_accept(0, 4096));
  EXPECT_TRUE(hbm.can_accept(256, 256));
  EXPECT_THROW(hbm.push(0, 0, 256, false, 64), InternalError);
}

// 0x1fe00 has bits 9 to 16: channel 15 ^ 15 = 0. 0x20200 has bits 9 and 17: channel 1 ^ 1 = 0. Both
// are of stack 0, and four lines apart.
TEST(Hbm, ARequestMayNeedTwoEntriesOfAChannel) {
  const HbmAddress address({});
  ASSERT_EQ(address.decode(0x1fe00).channel, 0u);
  ASSERT_EQ(address.decode(0x20200).channel, 0u);
  Hbm hbm({});
  for (uint32_t i = 0; i < 63; ++i) hbm.push(0, 0, 256, false, i);
  EXPECT_TRUE(hbm.can_accept(0x1fe00, 1024));   // up to 0x20200
  EXPECT_FALSE(hbm.can_accept(0x1fe00, 1025));  // one byte of it
  EXPECT_TRUE(hbm.can_accept(0x1fe00, 1024));   // nothing is left of the attempt
}

TEST(Hbm, BrokenRequestsAreInternalErrors) {
  Hbm hbm({});
  const uint64_t size = uint64_t{48} << 30;
  EXPECT_TRUE(hbm.can_accept(size - 256, 256));
  EXPECT_THROW(hbm.can_accept(size - 256, 257), InternalError);
  EXPECT_THROW(hbm.can_accept(size, 1), InternalError);
  EXPECT_THROW(hbm.can_accept(0, 0), InternalError);
  EXPECT_THROW(hbm.can_accept(0, 4097), InternalError);
  std::vector<HbmCompletion> done;
  hbm.advance(100, done);
  EXPECT_THROW(hbm.push(99, 0, 256, false, 0), InternalError);
  hbm.push(100, 0, 256, false, 0);
}

}  // namespace
}  // namespace rngdsim
