// SPDX-License-Identifier: Apache-2.0
#include "report/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rngdsim {
namespace {

CommandResult command(CommandId index, const char* context, uint64_t begin, uint64_t end,
                      uint64_t overhead) {
  CommandResult result;
  result.index = index;
  result.context = context;
  result.begun = result.ended = true;
  result.begin = begin;
  result.end = end;
  result.overhead = overhead;
  return result;
}

std::vector<std::string> lines(const std::vector<CommandResult>& commands, uint64_t cycles,
                               size_t width) {
  std::vector<std::string> result;
  for (const Timeline::Row& row : timeline_of(commands, cycles, width).rows) {
    result.push_back(row.context + " " + row.columns);
  }
  return result;
}

using testing::ElementsAre;

TEST(Timeline, ShowsEachCycleOfAShortRun) {
  EXPECT_THAT(lines({command(0, "sub", 0, 4, 2), command(1, "main", 4, 9, 3)}, 10, 80),
              ElementsAre("sub --00......", "main ....---11."));
}

// Columns of ten: 4 cycles of overhead and 6 of work are work; 5 and 5 are work too; 6 and 4 not.
TEST(Timeline, AColumnShowsWhatTookMostOfIt) {
  EXPECT_THAT(lines({command(0, "main", 0, 10, 4), command(1, "main", 10, 20, 5),
                     command(12, "main", 20, 30, 6)},
                    40, 4),
              ElementsAre("main 01-."));
}

// Two commands in a column: 3 cycles of one, 4 of the other, 3 of nothing.
TEST(Timeline, OfTwoCommandsTheLongerOneIsShown) {
  EXPECT_THAT(lines({command(0, "dma", 0, 3, 0), command(1, "dma", 6, 10, 0)}, 10, 1),
              ElementsAre("dma 1"));
  EXPECT_THAT(lines({command(0, "dma", 0, 3, 0), command(1, "dma", 7, 10, 0)}, 10, 1),
              ElementsAre("dma ."));  // 3, 3 and 4 of nothing
}

// 10 cycles in 4 columns: 0 to 1, 2 to 4, 5 to 6, 7 to 9.
TEST(Timeline, ColumnsNeedNotBeWhole) {
  EXPECT_THAT(lines({command(3, "main", 2, 5, 0)}, 10, 4), ElementsAre("main .3.."));
  EXPECT_DOUBLE_EQ(timeline_of({command(3, "main", 2, 5, 0)}, 10, 4).cycles_a_column, 2.5);
}

TEST(Timeline, WhatHasNotBegunIsNotThere) {
  CommandResult waiting = command(1, "sub", 0, 0, 263);
  waiting.begun = false;
  EXPECT_THAT(lines({command(0, "main", 0, 4, 1), waiting}, 4, 8),
              ElementsAre("main -000", "sub ...."));
  EXPECT_TRUE(timeline_of({waiting}, 0, 8).rows.empty());
}

}  // namespace
}  // namespace rngdsim
