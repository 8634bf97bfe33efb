// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace rngdsim {
namespace {

using Align = TextTable::Align;

size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  size_t widest = 0;
  while (std::getline(lines, line)) widest = std::max(widest, text_width(line));
  return widest;
}

TEST(TextWidth, CountsCodePointsAndNoColour) {
  EXPECT_EQ(text_width(""), 0u);
  EXPECT_EQ(text_width("abc"), 3u);
  EXPECT_EQ(text_width("\xc3\xa9t\xc3\xa9"), 3u);  // two-byte letters
  EXPECT_EQ(text_width(Style{true}.bad("abc")), 3u);
  EXPECT_EQ(text_width("\033["), 0u);  // cut off in the middle: harmless
}

TEST(TextTable, AlignsColumnsAndLeavesNoBlanksAtTheEnd) {
  TextTable table;
  table.column("unit", Align::kLeft);
  table.column("busy", Align::kRight);
  table.column("blamed", Align::kLeft, 3);
  table.row({"main_fetch", "512", ""});
  table.row({"trf", "1,024", "main_collect 3"});
  EXPECT_EQ(table.text(2),
            "  unit         busy   blamed\n"
            "  main_fetch    512\n"
            "  trf         1,024   main_collect 3\n");
}

TEST(TextTable, HasNoHeadingWhereNoColumnHasOne) {
  TextTable table;
  table.column("", Align::kLeft);
  table.column("", Align::kRight);
  EXPECT_EQ(table.text(), "");
  table.row({"a", "1"});
  EXPECT_EQ(table.text(), "a  1\n");
}

TEST(TextTable, WrapsTheLastColumnAndCutsTheOthers) {
  TextTable table;
  table.column("what", Align::kLeft, 0, 8);
  table.column("why", Align::kLeft);
  table.row({"a_very_long_name", "one two three four"});
  EXPECT_EQ(table.text(0, 20),
            "what      why\n"
            "a_ver...  one two\n"
            "          three four\n");
}

TEST(Wrap, KeepsToTheWidthAndIndentsWhatFollows) {
  EXPECT_EQ(wrap("alpha beta gamma", "  hint: ", 8, 19), "  hint: alpha beta\n        gamma\n");
  EXPECT_EQ(wrap("", "head", 2), "head\n");
  EXPECT_EQ(wrap("a  b", "", 0), "a  b\n");  // blanks inside of a line stay
  const std::string long_text(500, 'x');
  EXPECT_EQ(wrap(long_text, "", 0), long_text + "\n");  // nowhere to break
  std::string words;
  for (int i = 0; i < 200; ++i) words += "word ";
  EXPECT_LE(widest_line(wrap(words, "  why  ", 7)), kReportWidth);
}

TEST(Cut, EndsInDotsWithinTheWidth) {
  EXPECT_EQ(cut("abcdef", 6), "abcdef");
  EXPECT_EQ(cut("abcdefg", 6), "abc...");
  EXPECT_EQ(cut("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4), "\xc3\xa9...");
  EXPECT_EQ(cut("abc", 2), "..");
}

TEST(Style, IsSilentWithoutColour) {
  EXPECT_EQ(Style{}.bad("x"), "x");
  EXPECT_EQ(Style{true}.good("x"), "\033[32mx\033[0m");
}

}  // namespace
}  // namespace rngdsim
