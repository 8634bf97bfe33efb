// SPDX-License-Identifier: Apache-2.0
#include "report/map_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rngdsim {
namespace {

using testing::HasSubstr;
using testing::Not;

// The axes of the worked values in docs/mapping.md.
AxisTable axes() {
  AxisTable table;
  for (const auto& [name, size] : {std::pair<const char*, uint64_t>{"A", 8},
                                   {"B", 512},
                                   {"C", 13},
                                   {"D", 61},
                                   {"R", 11},
                                   {"X", 64}}) {
    table.add(name, size);
  }
  return table;
}

std::string shown(const std::string& text, uint64_t limit = 10000) {
  const AxisTable table = axes();
  Diagnostics diagnostics;
  const ExprPtr expression = parse_mapping({text, {"m", 1, 1}}, table, {}, diagnostics);
  EXPECT_TRUE(expression) << diagnostics.render();
  if (!expression) return "";
  return map_text(text, make_mapping(*expression, table), table, limit);
}

TEST(MapText, HasSizeNormalFormAndCells) {
  const std::string text = shown("B / 64, B % 64");
  EXPECT_THAT(text, HasSubstr("  size         512 positions, 512 hold an element\n"));
  EXPECT_THAT(text, HasSubstr("  normal form  B\n"));
  EXPECT_THAT(text, HasSubstr("        67  B=67\n"));
}

TEST(MapText, ShowsEveryAxisOfTheMappingAndPadding) {
  const std::string text = shown("C, D # 64");
  EXPECT_THAT(text,
              HasSubstr("832 positions, 793 hold an element, 39 padding\n"));  // 13 x 64, 13 x 61
  EXPECT_THAT(text, HasSubstr("        60  C=0  D=60\n"));
  EXPECT_THAT(text, HasSubstr("        61  padding #\n"));
  EXPECT_THAT(text, HasSubstr("        64  C=1  D=0\n"));
}

// R = 11 padded to 16: positions 0 and 1 of R / 8 are R = 0 and 8.
TEST(MapText, ShortensInTheMiddleWithACount) {
  const std::string text = shown("R # 16 / 8, X", 8);
  EXPECT_THAT(text, HasSubstr("128 positions, 128 hold an element\n"));
  EXPECT_THAT(
      text, HasSubstr("         0  R=0 X=0\n         1  R=0 X=1\n         2  R=0 X=2\n"
                      "         3  R=0 X=3\n            ... 120 positions not shown (--limit) ...\n"
                      "       124  R=8 X=60\n"));
  EXPECT_THAT(text, HasSubstr("       127  R=8 X=63\n"));
  EXPECT_THAT(text, Not(HasSubstr("         4  ")));
}

TEST(MapText, LimitOfTheSizeShowsAll) {
  EXPECT_THAT(shown("A", 8), Not(HasSubstr("not shown")));
  const std::string seven = shown("A", 7);
  EXPECT_THAT(seven, HasSubstr("... 1 position not shown"));
  EXPECT_THAT(seven, HasSubstr("         3  A=3\n"));
  EXPECT_THAT(seven, HasSubstr("         5  A=5\n"));
  EXPECT_THAT(seven, Not(HasSubstr("A=4")));
  EXPECT_THAT(shown("A", 1), HasSubstr("         0  A=0\n            ... 7 positions not shown"));
}

TEST(MapText, BroadcastAxesAndOneAreTheOrigin) {
  EXPECT_THAT(shown("4"), HasSubstr("         3  the origin\n"));
  EXPECT_THAT(shown("1"), HasSubstr("  size         1 position, 1 hold an element\n"));
}

TEST(MapText, HugeMappingsAreShownAtOnce) {
  const std::string text = shown("A, B # 1073741824", 4);
  EXPECT_THAT(text, HasSubstr("not shown"));
}

}  // namespace
}  // namespace rngdsim
