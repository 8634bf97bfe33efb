// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sim/run_result.h"

namespace rngdsim {
namespace {

CommandResult command(const char* context, uint64_t issue, uint64_t begin, uint64_t end,
                      bool waited = false) {
  CommandResult result;
  result.context = context;
  result.begun = result.ended = true;
  result.issue = issue;
  result.begin = begin;
  result.end = end;
  result.cycles = end - begin;
  if (waited) result.waited_for = {"read after write", "b", 0, begin};
  return result;
}

// sub 0-100 and 100-250 and 300-310, main 100-200 and 260-400: both run in 100-200 and 300-310.
TEST(Overlap, CountsCyclesOfBothAndWaits) {
  const OverlapResult overlap = overlap_of(
      {command("sub", 0, 0, 100), command("main", 0, 100, 200, true), command("sub", 100, 100, 250),
       command("main", 200, 260, 400, true), command("sub", 250, 300, 310, true)});
  EXPECT_EQ(overlap.main, 240u);
  EXPECT_EQ(overlap.sub, 260u);
  EXPECT_EQ(overlap.both, 110u);
  EXPECT_EQ(overlap.main_waited_for_sub, 160u);
  EXPECT_EQ(overlap.sub_waited_for_main, 50u);
}

TEST(Overlap, OneContextOrNoneNeverOverlaps) {
  EXPECT_EQ(overlap_of({}).both, 0u);
  const OverlapResult overlap =
      overlap_of({command("main", 0, 0, 10), command("main", 10, 10, 30)});
  EXPECT_EQ(overlap.main, 30u);
  EXPECT_EQ(overlap.both, 0u);
}

// dma 0-100 and 150-300, main 100-200 after the first of them, sub 180-260: a DMA runs beside main
// in 150-200, beside sub in 180-260, beside either in 150-260.
TEST(Overlap, ADmaBesideMainAndSub) {
  const OverlapResult overlap =
      overlap_of({command("dma", 0, 0, 100), command("main", 0, 100, 200, true),
                  command("sub", 0, 180, 260), command("dma", 100, 150, 300, true)});
  EXPECT_EQ(overlap.dma, 250u);
  EXPECT_EQ(overlap.dma_overlapped, 110u);
  EXPECT_EQ(overlap.both, 20u);
  EXPECT_EQ(overlap.waited_for_dma, 100u);
  EXPECT_EQ(overlap.dma_waited, 50u);
  EXPECT_EQ(overlap.main_waited_for_sub, 0u);
}

// What has not begun has no times.
TEST(Overlap, OfARunThatWasCutShort) {
  CommandResult never = command("sub", 5, 0, 0);
  never.begun = never.ended = false;
  EXPECT_EQ(overlap_of({command("main", 0, 0, 10), never}).sub, 0u);
}

}  // namespace
}  // namespace rngdsim
