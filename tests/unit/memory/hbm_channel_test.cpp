// SPDX-License-Identifier: Apache-2.0
// What a channel counts and refuses; its times are in tests/timing/memory/hbm_timing_test.cpp.
#include "memory/hbm_channel.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/diagnostic.h"

namespace rngdsim {
namespace {

HbmAccess access_to(uint64_t id, uint32_t bank, uint32_t row, uint32_t bytes = 256,
                    bool write = false) {
  HbmAccess access;
  access.id = id;
  access.place.bank_group = bank % 4;
  access.place.bank = bank / 4;
  access.place.row = row;
  access.bytes = bytes;
  access.write = write;
  return access;
}

// Runs until nothing is left; the completions.
std::vector<HbmCompletion> finish(HbmChannel& channel) {
  std::vector<HbmCompletion> done;
  while (channel.next_event() != kHbmNever) channel.advance(channel.next_event(), done);
  return done;
}

TEST(HbmClocks, UnitsInWhichBothPeriodsAreWhole) {
  const HbmClocks clocks;
  EXPECT_EQ(clocks.chip_period(), 3u);
  EXPECT_EQ(clocks.controller_period(), 4u);
  EXPECT_EQ(clocks.time_of(40), 120u);
  EXPECT_EQ(clocks.cycle_of(120), 40u);
  EXPECT_EQ(clocks.cycle_of(121), 41u);
  const HbmClocks odd{1000, 900};  // periods 1 and 10/9 ns in units of 1/9 ns
  EXPECT_EQ(odd.chip_period(), 9u);
  EXPECT_EQ(odd.controller_period(), 10u);
}

// Two banks. Bank 0: row 1 opened, hit, changed to 2, hit. Bank 5: row 7 opened by a partial write.
TEST(HbmChannel, CountsByBank) {
  HbmChannel channel({}, HbmAddress({}));
  channel.push(0, access_to(0, 0, 1));
  channel.push(0, access_to(1, 0, 1, 100));
  channel.push(0, access_to(2, 0, 2));
  channel.push(0, access_to(3, 0, 2));
  channel.push(0, access_to(4, 5, 7, 8, true));
  HbmAccess crossing = access_to(5, 5, 7, 128);
  crossing.misaligned = true;
  channel.push(0, crossing);
  EXPECT_EQ(channel.counters().requests, 0u);  // nothing has started
  EXPECT_EQ(finish(channel).size(), 6u);

  const HbmBankCounters& bank0 = channel.bank_counters(0, 0, 0);
  EXPECT_EQ(bank0.requests, 4u);
  EXPECT_EQ(bank0.bytes, 3u * 256 + 100);
  EXPECT_EQ(bank0.row_misses, 1u);
  EXPECT_EQ(bank0.row_conflicts, 1u);
  EXPECT_EQ(bank0.row_hits, 2u);
  EXPECT_EQ(bank0.misaligned_reads, 0u);
  EXPECT_EQ(bank0.read_modify_writes, 0u);
  const HbmBankCounters& bank5 = channel.bank_counters(0, 1, 1);
  EXPECT_EQ(bank5.requests, 2u);
  EXPECT_EQ(bank5.row_misses, 1u);
  EXPECT_EQ(bank5.row_hits, 1u);
  EXPECT_EQ(bank5.misaligned_reads, 1u);
  EXPECT_EQ(bank5.read_modify_writes, 1u);
  const HbmChannelCounters all = channel.counters();
  EXPECT_EQ(all.requests, 6u);
  EXPECT_EQ(all.bytes, 3u * 256 + 100 + 8 + 128);
  EXPECT_EQ(all.row_hits + all.row_misses + all.row_conflicts, all.requests);
}

// A read of less than a line, wherever it lies, takes a transfer; a write of a whole line too.
TEST(HbmChannel, OnlyPartialWritesAreReadModifyWrites) {
  HbmChannel channel({}, HbmAddress({}));
  channel.push(0, access_to(0, 0, 0, 256, true));
  HbmAccess tail = access_to(1, 0, 0, 6);
  tail.place.byte = 250;
  channel.push(0, tail);
  finish(channel);
  EXPECT_EQ(channel.counters().read_modify_writes, 0u);
  tail.write = true;
  channel.push(10'000, tail);
  finish(channel);
  EXPECT_EQ(channel.counters().read_modify_writes, 1u);
}

// Transfers of 16 units: one alone, one 16 units later, one after a pause; then a row change of
// 120, the first 16 of which are the transfer before it, and its transfer.
TEST(HbmChannel, BusyTimeCountsOverlapsOnce) {
  HbmChannel channel({}, HbmAddress({}));
  channel.push(0, access_to(0, 0, 0));
  channel.push(0, access_to(1, 1, 0));
  finish(channel);
  EXPECT_EQ(channel.counters().busy, 32u);
  channel.push(4000, access_to(2, 0, 0));
  channel.push(4000, access_to(3, 0, 1));
  finish(channel);
  EXPECT_EQ(channel.counters().busy, 32u + 120 + 16);
}

TEST(HbmChannel, IdleChannelHasNoEvent) {
  HbmChannel channel({}, HbmAddress({}));
  EXPECT_EQ(channel.next_event(), kHbmNever);
  channel.push(0, access_to(0, 0, 0));
  EXPECT_NE(channel.next_event(), kHbmNever);
  finish(channel);
  EXPECT_EQ(channel.next_event(), kHbmNever);
  std::vector<HbmCompletion> done;
  channel.advance(kHbmNever, done);  // nothing to do is no endless loop
  EXPECT_TRUE(done.empty());
}

// However far one call goes, the result is that of going from event to event.
TEST(HbmChannel, OneCallOrManyAreTheSame) {
  HbmChannel stepped({}, HbmAddress({})), at_once({}, HbmAddress({}));
  for (uint64_t i = 0; i < 64; ++i) {
    const HbmAccess access =
        access_to(i, i % 3, static_cast<uint32_t>(i / 8), i % 13 == 0 ? 100 : 256, i % 2 == 0);
    stepped.push(0, access);
    at_once.push(0, access);
  }
  std::vector<HbmCompletion> done;
  at_once.advance(1'000'000, done);
  EXPECT_EQ(done.size(), 64u);
  EXPECT_EQ(finish(stepped), done);
}

TEST(HbmChannel, BrokenCallsAreInternalErrors) {
  const HbmAddress address({});
  HbmChannel channel({}, address);
  HbmAccess access = access_to(0, 0, 0);
  access.place.byte = 1;
  EXPECT_THROW(channel.push(0, access), InternalError);  // 256 B from byte 1: two lines
  access.bytes = 0;
  EXPECT_THROW(channel.push(0, access), InternalError);
  access.bytes = 255;
  channel.push(0, access);
  EXPECT_THROW(channel.push(121, access), InternalError);  // the transfer at 120 was not run
  std::vector<HbmCompletion> done;
  channel.advance(121, done);
  EXPECT_THROW(channel.push(120, access), InternalError);  // in the past
  channel.push(121, access);

  HbmChannel::Parameters none;
  none.queue_entries = 0;
  EXPECT_THROW(HbmChannel(none, address), InternalError);
  none = {};
  none.transfer = 0;
  EXPECT_THROW(HbmChannel(none, address), InternalError);
}

}  // namespace
}  // namespace rngdsim
