// SPDX-License-Identifier: Apache-2.0
// When the HBM does what, in units of 1/3 ns: a cycle of the chip is 3 units, one of the controller
// 4. So a transfer (4 controller cycles) is 16 units, a row 120 (40 ns), the latency 180 (60 ns):
// transfers to another bank group start 16 apart, to another slice 24, in a bank group 32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "memory/hbm.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;

constexpr HbmTime kTransfer = 16, kRow = 120, kLatency = 180;
// From the start of a transfer to its completion.
constexpr HbmTime kRest = kTransfer + kLatency;

struct HbmTarget {
  uint32_t slice = 0, group = 0, bank = 0, row = 0;
};

class HbmTiming : public testing::Test {
 protected:
  void push(HbmTime time, const HbmTarget& target, uint32_t bytes = 256, bool write = false) {
    channel.push(time, {next_id++,
                        {0, 0, target.slice, target.group, target.bank, target.row, 0},
                        bytes,
                        write,
                        false});
  }
  // Runs to the end; when each request's transfer started, in the order of starting, with its id.
  // Not for read-modify-writes.
  std::vector<HbmCompletion> starts() {
    std::vector<HbmCompletion> done;
    while (channel.next_event() != kHbmNever) channel.advance(channel.next_event(), done);
    for (HbmCompletion& completion : done) completion.time -= kRest;
    return done;
  }
  // Whether request `id` is complete at `when`, and was not one unit before.
  bool completes_at(uint64_t id, HbmTime when) {
    std::vector<HbmCompletion> before, now;
    channel.advance(when - 1, before);
    channel.advance(when, now);
    return before.empty() && now == std::vector<HbmCompletion>{{when, id}};
  }
  void use(const HbmChannel::Parameters& parameters) {
    channel = HbmChannel(parameters, HbmAddress({}));
  }

  HbmChannel channel{{}, HbmAddress({})};
  uint64_t next_id = 0;
};

// 40 + 5.33 + 60 cycles: all rows are closed at first.
TEST_F(HbmTiming, FirstAccessOpensItsRow) {
  push(0, {});
  EXPECT_TRUE(completes_at(0, kRow + kTransfer + kLatency));
  EXPECT_EQ(HbmClocks{}.cycle_of(kRow + kTransfer + kLatency), 106u);  // 105.33
}

// 5.33 + 60 cycles.
TEST_F(HbmTiming, OpenRowIsThereAtOnce) {
  push(0, {});
  EXPECT_TRUE(completes_at(0, kRow + kRest));
  push(1200, {});
  EXPECT_TRUE(completes_at(1, 1200 + kTransfer + kLatency));
}

// 40 + 5.33 + 60 cycles again.
TEST_F(HbmTiming, AnotherRowIsAChange) {
  push(0, {});
  EXPECT_TRUE(completes_at(0, kRow + kRest));
  push(1200, {0, 0, 0, 1});
  EXPECT_TRUE(completes_at(1, 1200 + kRow + kTransfer + kLatency));
}

// A request at chip cycle 1 (3 units) is taken up at the controller's next edge, at 4.
TEST_F(HbmTiming, TransfersStartAtEdgesOfTheController) {
  push(3, {});
  EXPECT_TRUE(completes_at(0, 4 + kRow + kRest));
}

TEST_F(HbmTiming, WritesTakeTheTimeOfReads) {
  push(0, {}, 256, true);
  EXPECT_TRUE(completes_at(0, kRow + kRest));
}

// Both clocks at 1 GHz: 40 + 4 + 60 cycles of 1 unit; rows of 50 and a latency of 7: 50 + 4 + 7.
TEST_F(HbmTiming, OtherClocksAndParameters) {
  HbmChannel::Parameters parameters;
  parameters.clocks = {1000, 1000};
  use(parameters);
  push(0, {});
  EXPECT_TRUE(completes_at(0, 104));
  parameters.row_open = 50;
  parameters.access_latency = 7;
  use(parameters);
  push(0, {});
  EXPECT_TRUE(completes_at(1, 61));
}

// The row of a fresh bank takes 41 ns, 123 units; its controller sees it open at the next edge.
TEST_F(HbmTiming, RowsOpenAtEdgesOfTheController) {
  HbmChannel::Parameters parameters;
  parameters.row_open = 41;
  use(parameters);
  push(0, {});
  EXPECT_TRUE(completes_at(0, 124 + kRest));
}

// Column-to-column delays. Eight requests, two places in turn, all rows open from 120 on.
class HbmColumnDelay : public HbmTiming {
 protected:
  void expect_gap(const HbmTarget& a, const HbmTarget& b, HbmTime gap) {
    for (int i = 0; i < 8; ++i) push(0, i % 2 == 0 ? a : b);
    const auto started = starts();
    ASSERT_EQ(started.size(), 8u);
    for (uint64_t i = 0; i < 8; ++i) {
      EXPECT_EQ(started[i], (HbmCompletion{kRow + i * gap, i})) << i;
    }
  }
};

// Full rate: 4 controller cycles.
TEST_F(HbmColumnDelay, OtherBankGroup) { expect_gap({0, 0}, {0, 1}, 16); }
// 2/3 of it: 6 controller cycles.
TEST_F(HbmColumnDelay, OtherSlice) { expect_gap({0, 0}, {1, 0}, 24); }
TEST_F(HbmColumnDelay, OtherSliceAndBankGroup) { expect_gap({0, 0}, {2, 3}, 24); }
// Half: 8 controller cycles.
TEST_F(HbmColumnDelay, SameBank) { expect_gap({0, 2}, {0, 2}, 32); }
TEST_F(HbmColumnDelay, SameBankGroup) { expect_gap({1, 2, 0}, {1, 2, 3}, 32); }

// The delay holds after a pause too short for it, from both sides.
TEST_F(HbmTiming, DelayIsFromStartToStart) {
  push(0, {});
  std::vector<HbmCompletion> done;
  channel.advance(kRow, done);
  push(kRow + 28, {});  // 28 after the first start: still within 32
  EXPECT_THAT(starts(), ElementsAre(HbmCompletion{kRow, 0}, HbmCompletion{kRow + 32, 1}));
  push(1000, {});
  channel.advance(1000, done);
  push(1036, {});  // 36 after
  EXPECT_THAT(starts(), ElementsAre(HbmCompletion{1000, 2}, HbmCompletion{1036, 3}));
}

// Sixteen rows of one bank: the first opens, then a change may begin with each transfer, so that
// one starts every 40 cycles.
TEST_F(HbmTiming, RowConflictsTakeFortyCyclesEach) {
  for (uint32_t i = 0; i < 16; ++i) push(0, {0, 0, 0, i});
  const auto started = starts();
  ASSERT_EQ(started.size(), 16u);
  for (uint64_t i = 0; i < 16; ++i) EXPECT_EQ(started[i], (HbmCompletion{kRow * (i + 1), i})) << i;
  EXPECT_EQ(channel.counters().row_conflicts, 15u);
}

// Two rows of a bank in turn, each request coming when the one before it starts: nothing to
// reorder.
TEST_F(HbmTiming, TwoRowsInTurnTakeFortyCyclesEach) {
  std::vector<HbmCompletion> done;
  push(0, {});
  for (uint32_t i = 1; i < 8; ++i) {
    channel.advance(kRow * i, done);
    push(kRow * i, {0, 0, 0, i % 2});
  }
  channel.advance(kRow * 8 + kRest, done);
  ASSERT_EQ(done.size(), 8u);
  for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(done[i].time, kRow * (i + 1) + kRest) << i;
}

// First ready: of rows 0, 1, 0, 1 the requests of the open row go first, 32 apart; the change
// begins with the second.
TEST_F(HbmTiming, OpenRowsGoFirst) {
  for (uint32_t i = 0; i < 4; ++i) push(0, {0, 0, 0, i % 2});
  EXPECT_THAT(starts(), ElementsAre(HbmCompletion{120, 0}, HbmCompletion{152, 2},
                                    HbmCompletion{272, 1}, HbmCompletion{304, 3}));
}

// First ready: the younger request to another bank group can start 16 units after the first, the
// older one in the same bank group 32 after it; of two that can start, the older.
TEST_F(HbmTiming, WhatCanStartFirstGoesFirst) {
  push(0, {0, 0});
  push(0, {0, 0});
  push(0, {0, 1});
  push(0, {0, 2});
  EXPECT_THAT(starts(), ElementsAre(HbmCompletion{120, 0}, HbmCompletion{136, 2},
                                    HbmCompletion{152, 1}, HbmCompletion{168, 3}));
}

// A closed bank delays nobody else: bank 1, open since long, is read while bank 2 opens.
TEST_F(HbmTiming, OpeningARowDelaysOnlyItsBank) {
  push(0, {0, 1});
  EXPECT_TRUE(completes_at(0, kRow + kRest));
  push(1200, {0, 2});
  push(1200, {0, 1});
  std::vector<HbmCompletion> done;
  channel.advance(1240, done);
  push(1240, {0, 1});
  EXPECT_THAT(starts(), ElementsAre(HbmCompletion{1200, 2}, HbmCompletion{1240, 3},
                                    HbmCompletion{1200 + kRow, 1}));
}

// Two banks with other rows than asked for, and a third with the row that is asked for later.
class HbmRowChange : public HbmTiming {
 protected:
  void prepare(RowChanges changes) {
    HbmChannel::Parameters parameters;
    parameters.row_changes = changes;
    use(parameters);
    push(0, {0, 0});
    push(0, {0, 1});
    push(0, {0, 2});
    starts();
    next_id = 0;
    push(1200, {0, 0, 0, 5});
    push(1200, {0, 1, 0, 5});
    std::vector<HbmCompletion> done;
    channel.advance(1240, done);
    push(1240, {0, 2});
    push(1240, {0, 3});  // closed
  }
};

// The channel is held until 1320. Then requests of open rows go first: the changed bank, bank 2.
// Bank 3 is open at 1360, after the transfer at 1336; the second change began then, at 1336, since
// no open row was asked for, and holds the channel until 1456.
TEST_F(HbmRowChange, HoldsTheChannel) {
  prepare(RowChanges::kHoldChannel);
  EXPECT_THAT(starts(), ElementsAre(HbmCompletion{1320, 0}, HbmCompletion{1336, 2},
                                    HbmCompletion{1456, 1}, HbmCompletion{1472, 3}));
}

// Both banks change from 1200 to 1320 and bank 2 is read at 1240; bank 3 is open at 1360.
TEST_F(HbmRowChange, OverlapsWhereTheTopologySaysSo) {
  prepare(RowChanges::kOverlap);
  EXPECT_THAT(starts(), ElementsAre(HbmCompletion{1240, 2}, HbmCompletion{1320, 0},
                                    HbmCompletion{1336, 1}, HbmCompletion{1360, 3}));
}

// Bank 2 is read at 1240 while bank 0 changes; bank 1 changes after it, from 1320 to 1440, while
// bank 3 opens until 1360 and is read.
TEST_F(HbmRowChange, OneAtATimeLetsTransfersGoOn) {
  prepare(RowChanges::kOneAtATime);
  EXPECT_THAT(starts(), ElementsAre(HbmCompletion{1240, 2}, HbmCompletion{1320, 0},
                                    HbmCompletion{1360, 3}, HbmCompletion{1440, 1}));
}

// Overlapping changes of one bank still take 40 cycles each.
TEST_F(HbmTiming, OverlapDoesNotHelpOneBank) {
  HbmChannel::Parameters parameters;
  parameters.row_changes = RowChanges::kOverlap;
  use(parameters);
  for (uint32_t i = 0; i < 4; ++i) push(0, {0, 0, 0, i});
  EXPECT_THAT(starts(), ElementsAre(HbmCompletion{120, 0}, HbmCompletion{240, 1},
                                    HbmCompletion{360, 2}, HbmCompletion{480, 3}));
}

// 64 entries; the first is free when its transfer starts, at 120.
TEST_F(HbmTiming, AnEntryIsFreeWhenItsTransferStarts) {
  for (int i = 0; i < 64; ++i) {
    EXPECT_TRUE(channel.can_accept());
    push(0, {});
  }
  EXPECT_FALSE(channel.can_accept());
  std::vector<HbmCompletion> done;
  channel.advance(kRow - 1, done);
  EXPECT_FALSE(channel.can_accept());
  EXPECT_EQ(channel.next_event(), kRow);
  channel.advance(kRow, done);
  EXPECT_TRUE(channel.can_accept());
  EXPECT_EQ(channel.free_entries(), 1u);
}

// Partial writes at 1/50 of the full rate: 200 controller cycles, 800 units, instead of 16.
TEST_F(HbmTiming, ReadModifyWriteTakesFiftyTransfers) {
  for (uint32_t i = 0; i < 4; ++i) push(0, {0, i % 2}, 255, true);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(completes_at(i, kRow + 800 * (i + 1) + kLatency));
  for (uint32_t i = 0; i < 4; ++i) push(8000, {0, i % 2}, 256, true);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(completes_at(4 + i, 8000 + 16 * (i + 1) + kLatency));
}

// It ends with a write of 16 units, from 784 on. What follows sees that one: a read of the bank
// group 32 after it, another row 120 after it.
TEST_F(HbmTiming, AReadModifyWriteHoldsChannelAndRow) {
  push(0, {}, 8, true);
  push(0, {0, 1});  // younger; its row is open at 120 too
  EXPECT_TRUE(completes_at(0, kRow + 800 + kLatency));
  EXPECT_TRUE(completes_at(1, kRow + 800 + kRest));
  push(4000, {}, 8, true);
  push(4000, {});
  EXPECT_TRUE(completes_at(2, 4000 + 800 + kLatency));
  EXPECT_TRUE(completes_at(3, 4000 + 784 + 32 + kRest));
  push(8000, {}, 8, true);
  push(8000, {0, 0, 0, 1});
  EXPECT_TRUE(completes_at(4, 8000 + 800 + kLatency));
  EXPECT_TRUE(completes_at(5, 8000 + 784 + kRow + kRest));
}

// ---------------------------------------------------------------------------- all channels
// Reads `count` requests of 256 B from `address` on, `stride` apart, each as soon as its queue has
// room and not before the one before it. The time of the last completion.
HbmTime stream_end(Hbm& hbm, uint64_t address, uint64_t stride, uint64_t count) {
  std::vector<HbmCompletion> done;
  HbmTime now = 0;
  for (uint64_t i = 0; i < count; ++i, address += stride) {
    while (!hbm.can_accept(address, 256)) {
      now = hbm.next_event();
      hbm.advance(now, done);
    }
    hbm.push(now, address, 256, false, i);
  }
  while (hbm.next_event() != kHbmNever) hbm.advance(hbm.next_event(), done);
  EXPECT_EQ(done.size(), count);
  return done.empty() ? 0 : done.back().time;
}

// 2 MB in a row: each channel gets one line of every 8 KB, 256 lines: 128 of slice 0 in two bank
// groups in turn, then 128 of slice 1. All rows were closed, and but for the first they open while
// others are read, 64 requests ahead. So transfers start 16 apart, once 24.
constexpr HbmTime kTwoMegabytes = kRow + 255 * 16 + 8 + kRest;

TEST(HbmStream, PeakBandwidth) {
  Hbm hbm({});
  const HbmTime end = stream_end(hbm, 0, 256, 8192);
  EXPECT_EQ(end, kTwoMegabytes);
  // 32 channels x 64 B x 0.75 GHz = 1,536 B a ns, from the first start to the last byte.
  const double ns = static_cast<double>(end - kRow - kLatency) / 3.0;
  EXPECT_NEAR(2 * 1024 * 1024 / ns, 1536.0, 15.36);
  EXPECT_LE(2 * 1024 * 1024 / ns, 1536.0);
  EXPECT_EQ(hbm.counters().row_misses, 32u * 32);  // each bank of two slices once
  EXPECT_EQ(hbm.counters().row_conflicts, 0u);
}

// With bit 8 fixed 16 channels do the same work each, and the others nothing: half.
TEST(HbmStream, FixedStackIsHalf) {
  for (const uint64_t stack : {0, 1}) {
    Hbm hbm({});
    EXPECT_EQ(stream_end(hbm, 256 * stack, 512, 4096), kTwoMegabytes);
    EXPECT_EQ(hbm.stack_counters(stack).requests, 4096u);
    EXPECT_EQ(hbm.stack_counters(1 - stack).requests, 0u);
  }
}

// Reads that cross a line take two transfers. Every line but the first and the last is read twice,
// 512 transfers a channel; there is always one of another bank group to go next: half the rate.
TEST(HbmStream, CrossingReadsAreHalf) {
  Hbm hbm({});
  EXPECT_EQ(stream_end(hbm, 128, 256, 8191), kRow + 511 * 16 + 8 + kRest);
  EXPECT_EQ(hbm.counters().misaligned_reads, 8191u);
  EXPECT_EQ(hbm.counters().requests, 2u * 8191);
  EXPECT_EQ(hbm.counters().bytes, 8191u * 256);
}

// 16 MB in a row, asked for at one line a cycle: every 2 MB each channel gets 256 lines in 1,365
// cycles and changes 32 rows in 32 x 40 = 1,280. Where transfers go on meanwhile, the changes are
// hidden: the time of 2,048 transfers a channel and a few per cent. Where a change holds the
// channel, the two add up.
TEST(HbmStream, RowChangesAreHiddenWhereTransfersGoOn) {
  const HbmTime transfers = 8 * 256 * 16, changes = 7 * 32 * kRow;
  Hbm::Parameters parameters;
  parameters.channel.row_changes = RowChanges::kOneAtATime;
  Hbm one_at_a_time(parameters);
  const HbmTime hidden = stream_end(one_at_a_time, 0, 256, 65536);
  EXPECT_GT(hidden, transfers);
  EXPECT_LT(static_cast<double>(hidden), 1.05 * static_cast<double>(transfers));
  EXPECT_EQ(one_at_a_time.counters().row_conflicts, 7u * 32 * 32);
  Hbm held({});
  EXPECT_GE(stream_end(held, 0, 256, 65536), transfers + changes);
}

// Rows 2^21 apart of one bank and one channel (bits 29 and up are not in the channel): a change
// each, 40 cycles.
TEST(HbmStream, RowsOfOneBankAreFortyCyclesEach) {
  Hbm hbm({});
  EXPECT_EQ(stream_end(hbm, 0, uint64_t{1} << 29, 24), kRow * 24 + kRest);
  EXPECT_EQ(hbm.channel(0, 0).counters().row_conflicts, 23u);
}

// ---------------------------------------------------------------------------- worked examples
// The reads of two examples of the book's page on the DMA engine, of eight engines that ask for a
// line a cycle each, in order, taking turns at who goes first. In cycles of the chip.
template <typename AddressOf>
uint64_t engines_end(Hbm& hbm, uint64_t requests, AddressOf address_of) {
  std::array<uint64_t, 8> next{};
  std::vector<HbmCompletion> done;
  for (uint64_t cycle = 0; done.size() < 8 * requests; ++cycle) {
    const HbmTime now = hbm.clocks().time_of(cycle);
    hbm.advance(now, done);
    for (uint64_t i = 0; i < 8; ++i) {
      const uint64_t engine = (i + cycle) % 8;
      if (next[engine] == requests) continue;
      const uint64_t address = address_of(engine, next[engine]);
      if (!hbm.can_accept(address, 256)) continue;
      hbm.push(now, address, 256, false, engine);
      ++next[engine];
    }
  }
  return hbm.clocks().cycle_of(done.back().time);
}

// Example 4, the first 16 of its 256 steps of B: 32,768 reads, 1,024 a channel, nearly each of
// another row than the one before it: about 1,024 x 40 cycles. A row change at a time costs as
// much, since there is nothing to hide it behind; where they overlap, the eight engines' banks
// change at once.
TEST(HbmExamples, RowsTwoMegabytesApart) {
  const auto address_of = [](uint64_t engine, uint64_t i) {
    const uint64_t outer = i % 2, inner = i / 2 % 32, c = i / 64 % 4, b = i / 256;
    return (engine / 4 << 20) + (engine % 4 << 18) + b * 1024 + c * 256 + (inner << 21) +
           (outer << 26);
  };
  const double expected = 1024 * 40;
  for (const RowChanges changes : {RowChanges::kHoldChannel, RowChanges::kOneAtATime}) {
    Hbm::Parameters parameters;
    parameters.channel.row_changes = changes;
    Hbm hbm(parameters);
    EXPECT_NEAR(static_cast<double>(engines_end(hbm, 4096, address_of)), expected, 0.03 * expected);
    EXPECT_EQ(hbm.channel(1, 7).counters().requests, 1024u);
  }
  Hbm::Parameters parameters;
  parameters.channel.row_changes = RowChanges::kOverlap;
  Hbm hbm(parameters);
  EXPECT_LT(static_cast<double>(engines_end(hbm, 4096, address_of)), 0.3 * expected);
}

// Example 5: bit 8 never set, 4,096 reads over 16 channels, 256 x 5.33 cycles each after 105.33 for
// the first.
TEST(HbmExamples, StackBitNeverToggled) {
  Hbm hbm({});
  const uint64_t end = engines_end(hbm, 512, [](uint64_t engine, uint64_t i) {
    return (engine / 4 << 20) + (engine % 4 << 18) + i / 64 * 512 + i / 2 % 32 * 4096 +
           i % 2 * 131072;
  });
  const double expected = 256 * 16 / 3.0 + 105.33;
  EXPECT_GE(static_cast<double>(end), 256 * 16 / 3.0);
  EXPECT_NEAR(static_cast<double>(end), expected, 0.02 * expected);
}

}  // namespace
}  // namespace rngdsim
