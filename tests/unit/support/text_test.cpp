// SPDX-License-Identifier: Apache-2.0
#include "support/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rngdsim {
namespace {

const std::vector<std::string> kKeys = {"memory", "dtype", "element", "slice", "main"};

TEST(Nearest, OneLetterMissing) { EXPECT_EQ(nearest("elment", kKeys), "element"); }
TEST(Nearest, SwappedLettersCountOnce) { EXPECT_EQ(nearest("mian", kKeys), "main"); }
TEST(Nearest, CaseDoesNotCount) { EXPECT_EQ(nearest("DTYPE", kKeys), "dtype"); }
TEST(Nearest, AThirdOfTheLengthIsTheLimit) {
  EXPECT_EQ(nearest("memxyy", kKeys), "memory");      // 2 of 6
  EXPECT_EQ(nearest("mexxxy", kKeys), std::nullopt);  // 3 of 6
}
TEST(Nearest, NothingAlike) { EXPECT_EQ(nearest("address", kKeys), std::nullopt); }
TEST(Nearest, SingleLettersAreNotMisspellings) {
  EXPECT_EQ(nearest("a", {"b", "c"}), std::nullopt);
  EXPECT_EQ(nearest("i", {"J", "I"}), "I");
}
TEST(Nearest, TheCloserOneWinsThenTheFirst) {
  EXPECT_EQ(nearest("bank", {"banks", "bank_"}), "banks");
  EXPECT_EQ(nearest("rowss", {"bows", "rows"}), "rows");
}
TEST(Nearest, EmptyAndHugeNamesHaveNone) {
  EXPECT_EQ(nearest("", {"a", ""}), std::nullopt);
  EXPECT_EQ(nearest(std::string(1 << 20, 'x'), {std::string(1 << 20, 'x')}), std::nullopt);
}

TEST(Nearest, OfVeryManyTheFirst) {
  std::vector<std::string> names(10'000, "something_else");
  names[200] = "memory";
  EXPECT_EQ(nearest("memori", names), "memory");
  names[200] = names[0];
  names[9'999] = "memory";
  EXPECT_EQ(nearest("memori", names), std::nullopt);
}

TEST(GroupDigits, EveryThree) {
  EXPECT_EQ(group_digits(0), "0");
  EXPECT_EQ(group_digits(999), "999");
  EXPECT_EQ(group_digits(1000), "1,000");
  EXPECT_EQ(group_digits(81920), "81,920");
  EXPECT_EQ(group_digits(1234567), "1,234,567");
  EXPECT_EQ(group_digits(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Quoted, ControlCharactersAndLongTexts) {
  EXPECT_EQ(quoted("a b"), "'a b'");
  EXPECT_EQ(quoted("a\nb\x1b"), "'a?b?'");
  EXPECT_EQ(quoted(std::string(60, 'x')), "'" + std::string(60, 'x') + "'");
  EXPECT_EQ(quoted(std::string(61, 'x')), "'" + std::string(60, 'x') + "...'");
}

TEST(Quoted, CutsNoCharacter) {
  const std::string head(59, 'x');
  EXPECT_EQ(quoted(head + "\u00e4"), "'" + head + "...'");  // 2 bytes from byte 59 on
  EXPECT_EQ(shortened("\u20ac", 2), "...");                 // 3 bytes
  EXPECT_EQ(shortened("\u20ac\u20ac", 3), "\u20ac...");
  EXPECT_EQ(shortened("abc", 3), "abc");
}

TEST(Listed, OfManyWordsTheFirst) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a", "b"}), "a, b");
  const std::string text = listed(std::vector<std::string>(1000, "w"));
  EXPECT_EQ(text.substr(0, 7), "w, w, w");
  EXPECT_EQ(text.substr(text.size() - 20), ", ... (1,000 in all)");
  EXPECT_LT(text.size(), 300u);
}

TEST(Utf8, LengthOfWellFormedCharacters) {
  EXPECT_EQ(utf8_length("a", 0), 1u);
  EXPECT_EQ(utf8_length("x\u00e4", 1), 2u);
  EXPECT_EQ(utf8_length("\u20ac", 0), 3u);
  EXPECT_EQ(utf8_length("\U0001f600", 0), 4u);
  EXPECT_EQ(utf8_length("\xf4\x8f\xbf\xbf", 0), 4u);  // U+10FFFF
}

TEST(Utf8, NothingOfOthers) {
  for (const char* text :
       {"\x80", "\xff", "\xfe", "\xc3", "\xc3(", "\xe2\x82", "\xc0\xaf", "\xe0\x9f\xbf",
        "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {
    EXPECT_EQ(utf8_length(text, 0), 0u) << text;
  }
}

}  // namespace
}  // namespace rngdsim
