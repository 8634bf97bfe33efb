// SPDX-License-Identifier: Apache-2.0
// Grammar and sizes of the mapping language, and what is said about a text that breaks them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/mapping_text.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;

MappingTexts document() {
  MappingTexts t{{"A", 8}, {"B", 512}, {"Ab_1", 6}};
  t.names.aliases["Pair"] = {"A, B", {"k.yaml", 2, 20}};
  t.names.aliases["Twice"] = {"{Pair}, 3", {"k.yaml", 3, 20}};
  t.names.aliases["Trailing"] = {"A, B,", {"k.yaml", 4, 20}};
  t.names.aliases["Self"] = {"A, {Self}", {"k.yaml", 5, 20}};
  t.names.aliases["Ping"] = {"[{Pong}]", {"k.yaml", 6, 20}};
  t.names.aliases["Pong"] = {"{Ping}", {"k.yaml", 7, 20}};
  t.names.aliases["Broken"] = {"A, Q", {"k.yaml", 8, 20}};
  t.names.constants["N"] = 64;
  t.names.constants["ZERO"] = 0;
  t.names.constants["HUGE"] = UINT64_MAX;
  return t;
}

// All errors of a text that stands at k.yaml:9:13.
std::string errors(const std::string& text) {
  const MappingTexts t = document();
  Diagnostics diagnostics;
  const ExprPtr expr = parse_mapping({text, {"k.yaml", 9, 13}}, t.axes, t.names, diagnostics);
  EXPECT_EQ(expr == nullptr, diagnostics.has_errors());
  return diagnostics.render();
}

void expect_same_mapping(const std::string& a, const std::string& b) {
  const MappingTexts t = document();
  EXPECT_EQ(t(a).text(t.axes), t(b).text(t.axes)) << a << " and " << b;
  EXPECT_TRUE(equivalent(t(a), t(b), t.axes)) << a << " and " << b;
}

// ------------------------------------------------------------------------------ grammar

TEST(MappingParser, TrailingCommaIsAllowed) {
  expect_same_mapping("A, B,", "A, B");
  expect_same_mapping("A,", "A");
  expect_same_mapping("[A, B,] / 512", "A");
  expect_same_mapping("(A, B, ), 2", "A, B, 2");
}

TEST(MappingParser, WhiteSpaceIsFree) {
  expect_same_mapping("A,B/4#{0}130", "A, B / 4 #{0} 130");
  expect_same_mapping("  A ,\tB / 4   # { 0 }  130 ", "A, B / 4 #{0} 130");
  expect_same_mapping("[ A ,B]/ 512", "A");
}

TEST(MappingParser, BracketsOfBothKinds) {
  expect_same_mapping("[A, B] / 64", "(A, B) / 64");
  expect_same_mapping("[(A), [B]]", "A, B");
}

TEST(MappingParser, SuffixesChain) {
  expect_same_mapping("B / 32 % 2", "[[B / 32] % 2]");
  expect_same_mapping("B # 1024 / 2 % 64 = 3 # 4", "[[[[B # 1024] / 2] % 64] = 3] # 4");
}

TEST(MappingParser, PadKinds) {
  const MappingTexts t = document();
  EXPECT_EQ(t("A # 9").text(t.axes), "A # 9");
  EXPECT_EQ(t("A #{*} 9").text(t.axes), "A # 9");
  EXPECT_EQ(t("A #{0} 9").text(t.axes), "A #{0} 9");
  EXPECT_EQ(t("A #{!} 9").text(t.axes), "A #{!} 9");
  EXPECT_EQ(t("A #{0}{N}").text(t.axes), "A #{0} 64");
  EXPECT_EQ(t("A #{N}").text(t.axes), "A # 64");
}

TEST(MappingParser, AxisNamesHaveLettersDigitsAndUnderscores) {
  const MappingTexts t = document();
  EXPECT_EQ(t("Ab_1").size(), 6u);
  EXPECT_EQ(t("Ab_1/2").size(), 3u);
}

TEST(MappingParser, ConstantsStandWhereANumberIsExpected) {
  expect_same_mapping("B / {N}, B % { N }", "B / 64, B % 64");
  expect_same_mapping("A # {N}", "A # 64");
  expect_same_mapping("B = {N}", "B = 64");
}

TEST(MappingParser, AliasesAreSplicedAsIfBracketed) {
  expect_same_mapping("{Pair}", "A, B");
  expect_same_mapping("{Pair} / 512", "[A, B] / 512");
  expect_same_mapping("2, {Twice} % 3, { Trailing }", "2, [[A, B], 3] % 3, [A, B]");
}

TEST(MappingParser, PairsAreRightAssociative) {
  const MappingTexts t = document();
  const ExprPtr tree = t.expr("A, B, 3");
  ASSERT_EQ(tree->kind, Expr::Kind::kPair);
  EXPECT_EQ(tree->left->kind, Expr::Kind::kAxis);
  EXPECT_EQ(tree->right->kind, Expr::Kind::kPair);
  EXPECT_EQ(tree->size, 8u * 512u * 3u);
}

// ------------------------------------------------------------------------------ errors

struct Bad {
  const char* text;
  const char* where;    // file:line:column
  const char* message;  // part of it
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.text; }

class BadMapping : public testing::TestWithParam<Bad> {};

TEST_P(BadMapping, IsRefusedAtItsPlace) {
  const std::string said = errors(GetParam().text);
  EXPECT_EQ(said.rfind(std::string(GetParam().where) + ": error: mapping '", 0), 0u) << said;
  EXPECT_THAT(said, HasSubstr(GetParam().message));
  EXPECT_THAT(said, HasSubstr("\n1 error\n"));
}

// The text begins at column 13.
INSTANTIATE_TEST_SUITE_P(
    Sizes, BadMapping,
    testing::Values(
        Bad{"B / 3", "k.yaml:9:15", "'/ 3': 3 does not divide the size of 'B', 512"},
        Bad{"A, B % 1000", "k.yaml:9:18", "'% 1000': 1,000 does not divide the size of 'B', 512"},
        Bad{"B = 513", "k.yaml:9:15", "'= 513': 513 is larger than the size of 'B', 512"},
        Bad{"B # 511", "k.yaml:9:15", "'# 511': 511 is smaller than the size of 'B', 512"},
        Bad{"B #{0} 511", "k.yaml:9:15", "'#{0} 511': 511 is smaller than the size of 'B', 512"},
        Bad{"B / 64 % 16", "k.yaml:9:20", "16 does not divide the size of 'B / 64', 8"},
        Bad{"[A, B] / 3", "k.yaml:9:20", "3 does not divide the size of '[A, B]', 4,096"},
        Bad{"B / {N} / {N}", "k.yaml:9:21", "64 does not divide the size of 'B / {N}', 8"},
        Bad{"{Pair} # 100", "k.yaml:9:20", "100 is smaller than the size of '{Pair}', 4,096"},
        Bad{"A, 16777216, 16777216, B", "k.yaml:9:16",
            "size 16,777,216 x 8,589,934,592 is above 281,474,976,710,656"},
        Bad{"A # 281474976710657", "k.yaml:9:17",
            "number '281474976710657' is above 281,474,976,710,656"},
        Bad{"A # 1000000000000000000000000000000", "k.yaml:9:17", "is above 281,474,976,710,656"},
        Bad{"A # {HUGE}", "k.yaml:9:17",
            "constant 'HUGE' is 18,446,744,073,709,551,615, above 281,474,976,710,656"}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, BadMapping,
    testing::Values(Bad{"B / 0", "k.yaml:9:17", "number 0; a number here is at least 1"},
                    Bad{"0", "k.yaml:9:13", "number 0; a number here is at least 1"},
                    Bad{"B / {ZERO}", "k.yaml:9:17", "constant 'ZERO' is 0"},
                    Bad{"B /", "k.yaml:9:16", "a number is missing at the end"},
                    Bad{"B #{0}", "k.yaml:9:19", "a number is missing at the end"},
                    Bad{"B / A", "k.yaml:9:17", "a number is expected, not 'A'"},
                    Bad{"B / -4", "k.yaml:9:17", "a number is expected, not '-'"},
                    Bad{"B / {M}", "k.yaml:9:17", "unknown constant 'M'"},
                    Bad{"B / {Pair}", "k.yaml:9:17", "unknown constant 'Pair'"},
                    Bad{"B #{?} 513", "k.yaml:9:17", "not '?'"}));

INSTANTIATE_TEST_SUITE_P(
    Syntax, BadMapping,
    testing::Values(Bad{"", "k.yaml:9:13", "a term is missing at the end"},
                    Bad{"   ", "k.yaml:9:16", "a term is missing at the end"},
                    Bad{",", "k.yaml:9:13", "a term is expected, not ','"},
                    Bad{"A,, B", "k.yaml:9:15", "a term is expected, not ','"},
                    Bad{"A B", "k.yaml:9:15", "unexpected 'B'"},
                    Bad{"A, B)", "k.yaml:9:17", "unexpected ')'"},
                    Bad{"A, (B", "k.yaml:9:16", "'(' is not closed by ')'"},
                    Bad{"[A, B", "k.yaml:9:13", "'[' is not closed by ']'"},
                    Bad{"(A]", "k.yaml:9:15", "unexpected ']'; the '(' before it is still open"},
                    Bad{"A # 9 * 2", "k.yaml:9:19", "unexpected '*'"},
                    Bad{"/ 2", "k.yaml:9:13", "a term is expected, not '/'"},
                    Bad{"{", "k.yaml:9:13", "'{' is not closed by '}'"},
                    Bad{"{}", "k.yaml:9:14", "a name is expected after '{', not '}'"},
                    Bad{"{Pair", "k.yaml:9:13", "'{' is not closed by '}'"},
                    Bad{"{Pair / 2}", "k.yaml:9:19", "not '/'"},
                    Bad{"A, \xea\xb0\x80", "k.yaml:9:16", "not '\xea\xb0\x80'"},
                    Bad{"8A", "k.yaml:9:14", "unexpected 'A'"}));

INSTANTIATE_TEST_SUITE_P(
    Names, BadMapping,
    testing::Values(Bad{"A, Q", "k.yaml:9:16", "unknown axis 'Q'"},
                    Bad{"Ab_2", "k.yaml:9:13", "hint: did you mean 'Ab_1'?"},
                    Bad{"Pair, A", "k.yaml:9:13", "hint: a named mapping is written {Pair}"},
                    Bad{"a", "k.yaml:9:13", "unknown axis 'a'"},
                    Bad{"{Pear}", "k.yaml:9:13", "unknown mapping '{Pear}'"},
                    Bad{"{Pai}", "k.yaml:9:13", "hint: did you mean '{Pair}'?"},
                    Bad{"{N}", "k.yaml:9:13", "'{N}' is a constant; a mapping is expected here"},
                    // Where the alias is written.
                    Bad{"A, {Broken}", "k.yaml:8:23", "unknown axis 'Q'"},
                    Bad{"A, {Self}", "k.yaml:5:23", "'{Self}' uses itself: {Self} -> {Self}"},
                    Bad{"{Ping}", "k.yaml:7:20",
                        "'{Ping}' uses itself: {Ping} -> {Pong} -> {Ping}"}));

TEST(MappingParser, ErrorsOfTextsWithoutAFileHaveNoPlaceButTheText) {
  const MappingTexts t = document();
  Diagnostics diagnostics;
  EXPECT_EQ(parse_mapping({"Q", {}}, t.axes, t.names, diagnostics), nullptr);
  EXPECT_THAT(diagnostics.render(), HasSubstr("error: mapping 'Q': unknown axis 'Q'"));
}

// ------------------------------------------------------------------------------ hostile input

// Runs a text to its error (or its mapping, and that to its text) within a second.
std::string hostile(const std::string& text) {
  const auto begin = std::chrono::steady_clock::now();
  const MappingTexts t = document();
  Diagnostics diagnostics;
  const ExprPtr expr = parse_mapping({text, {"k.yaml", 9, 13}}, t.axes, t.names, diagnostics);
  if (expr) {
    const Mapping mapping = make_mapping(*expr, t.axes);
    EXPECT_EQ(mapping.size(), expr->size);
    EXPECT_EQ(mapping.normalized().size(), expr->size);
    EXPECT_FALSE(mapping.text(t.axes).empty());
    mapping.cell(expr->size - 1, t.axes);
    cell_by_definition(*expr, expr->size - 1, t.axes);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 1.0) << text.substr(0, 40);
  const std::string said = diagnostics.render();
  EXPECT_LT(said.size(), 1000u);
  return said;
}

std::string repeated(const std::string& text, int n) {
  std::string result;
  for (int i = 0; i < n; ++i) result += text;
  return result;
}

TEST(MappingParserHostile, DeepNesting) {
  EXPECT_EQ(hostile(repeated("[", 50) + "A" + repeated("]", 50)), "");
  EXPECT_THAT(hostile(repeated("[", 8000)), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(hostile(repeated("(A,", 2000)), HasSubstr("nested deeper than 64"));
}

TEST(MappingParserHostile, ManyTermsAndSuffixes) {
  EXPECT_EQ(hostile(repeated("1,", 500)), "");
  EXPECT_THAT(hostile(repeated("1,", 4000)), HasSubstr("more than 1,024 terms and suffixes"));
  EXPECT_EQ(hostile("A" + repeated(" / 1", 1000)), "");
  EXPECT_THAT(hostile("A" + repeated(" / 1", 2000)), HasSubstr("more than 1,024"));
  EXPECT_THAT(hostile(repeated("2,", 60)), HasSubstr("is above 281,474,976,710,656"));
}

TEST(MappingParserHostile, TowersOfPadding) {
  std::string text = "[A, Ab_1]";
  for (int n = 49; n < 1000; ++n) text += (n % 2 == 0 ? " # " : " #{0} ") + std::to_string(n);
  EXPECT_EQ(hostile(text), "");
}

TEST(MappingParserHostile, TowersOfCuts) {
  // Each cut is a pair that the next one cuts again.
  std::string text = "B, B, B";
  for (int n = 0; n < 25; ++n) text = "[" + text + ", 3] / 2";
  EXPECT_EQ(hostile(text), "");
  text = "B";
  for (int n = 0; n < 25; ++n) text = "[" + text + ", 3] = " + std::to_string(509 + n);
  EXPECT_EQ(hostile(text), "");
}

TEST(MappingParserHostile, AliasesThatMultiply) {
  MappingTexts t = document();
  t.names.aliases["L0"] = {"1, 1", {"k.yaml", 1, 1}};
  for (int i = 1; i < 60; ++i) {
    const std::string below = "{L" + std::to_string(i - 1) + "}";
    t.names.aliases["L" + std::to_string(i)] = {below + ", " + below, {"k.yaml", i + 1, 1}};
  }
  Diagnostics diagnostics;
  EXPECT_EQ(parse_mapping({"{L40}", {}}, t.axes, t.names, diagnostics), nullptr);
  EXPECT_THAT(diagnostics.render(), HasSubstr("more than 1,024"));
}

TEST(MappingParserHostile, LongGarbage) {
  for (const char* piece : {"A", "9", " ", "[", "{x", "1,", "\xff"}) {
    EXPECT_THAT(hostile(repeated(piece, 1000000)), HasSubstr("more than 8,192 characters"));
  }
  EXPECT_THAT(hostile(repeated("A", 8000)), HasSubstr("unknown axis"));
  EXPECT_THAT(hostile(repeated("9", 8000)), HasSubstr("is above"));
  EXPECT_THAT(hostile("{" + repeated("x", 8000)), HasSubstr("is not closed"));
  EXPECT_THAT(hostile("B / {" + repeated("x", 8000) + "}"), HasSubstr("unknown constant"));
  EXPECT_THAT(hostile("A #{" + repeated(" ", 8000)), HasSubstr("is not closed"));
  EXPECT_THAT(hostile(repeated(" ", 8000)), HasSubstr("a term is missing"));
  EXPECT_THAT(hostile(std::string("A\0B", 3)), HasSubstr("unexpected"));
  EXPECT_THAT(hostile(std::string("\0", 1)), HasSubstr("a term is expected"));
  EXPECT_THAT(hostile("\xff\xfe\x80"), HasSubstr("a term is expected"));
}

TEST(MappingParserHostile, NamedMappingsCountWithTheirCharacters) {
  MappingTexts t = document();
  t.names.aliases["Long"] = {"A" + repeated(" ", 3000), {"k.yaml", 1, 1}};
  const auto errors = [&](const std::string& text) {
    Diagnostics diagnostics;
    parse_mapping({text, {"k.yaml", 9, 13}}, t.axes, t.names, diagnostics);
    return diagnostics.render();
  };
  EXPECT_EQ(errors("{Long}, {Long}"), "");                                          // 6,002 and 14
  EXPECT_THAT(errors("{Long}, {Long}, {Long}"), HasSubstr("k.yaml:1:1: error: "));  // 9,003 and 22
}

TEST(MappingParserHostile, EveryByteAndPairOfTokens) {
  const std::vector<std::string> tokens = {"A",   "B",   "[", "]",  "(",  ")",  "{",   "}",
                                           "/",   "%",   "=", "#",  "1",  "64", "{N}", "{0}",
                                           "{!}", "{*}", ",", "\n", "\0", "0",  "-",   "{Pair}"};
  for (const std::string& a : tokens) {
    for (const std::string& b : tokens) {
      for (const std::string& c : tokens) {
        for (const std::string& d : tokens) {
          const std::string text = a + b + c + d;
          const MappingTexts& t = [&]() -> const MappingTexts& {
            static const MappingTexts shared = document();
            return shared;
          }();
          Diagnostics diagnostics;
          const ExprPtr expr =
              parse_mapping({text, {"k.yaml", 9, 13}}, t.axes, t.names, diagnostics);
          ASSERT_EQ(expr == nullptr, diagnostics.error_count() == 1) << text;
          if (expr) {
            ASSERT_EQ(make_mapping(*expr, t.axes).size(), expr->size) << text;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace rngdsim
