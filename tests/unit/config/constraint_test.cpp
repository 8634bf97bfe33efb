// SPDX-License-Identifier: Apache-2.0
// Constraints: what they say, and where what is wrong with them stands.
#include "config/constraint.h"

#include <gtest/gtest.h>

#include <string>

namespace rngdsim {
namespace {

struct Evaluated {
  std::optional<ConstraintResult> result;
  std::string errors;  // rendered
};

// The text begins in line 3, column 10.
Evaluated evaluate(const std::string& text) {
  const ConstraintNames names = {{"TILE", 12}, {"COLS", 5}, {"BROKEN", std::nullopt}};
  Diagnostics diagnostics;
  FileErrors errors("k.yaml", diagnostics);
  Evaluated evaluated;
  evaluated.result = evaluate_constraint({text, {"k.yaml", 3, 10}}, names, errors);
  evaluated.errors = diagnostics.render();
  return evaluated;
}

void expect_holds(const std::string& text, bool holds) {
  const Evaluated evaluated = evaluate(text);
  ASSERT_TRUE(evaluated.result) << text << "\n" << evaluated.errors;
  EXPECT_EQ(evaluated.result->holds, holds) << text;
  EXPECT_EQ(evaluated.errors, "") << text;
}

void expect_error(const std::string& text, int column, const std::string& message) {
  const Evaluated evaluated = evaluate(text);
  EXPECT_FALSE(evaluated.result) << text;
  const std::string start = "k.yaml:3:" + std::to_string(column) + ": error: " + message;
  EXPECT_EQ(evaluated.errors.substr(0, start.size()), start) << text;
  EXPECT_NE(evaluated.errors.find("\n1 error\n"), std::string::npos) << evaluated.errors;
}

TEST(Constraint, Comparisons) {
  expect_holds("{TILE} == 12", true);
  expect_holds("{TILE} != 12", false);
  expect_holds("{TILE} < 12", false);
  expect_holds("{TILE} <= 12", true);
  expect_holds("{TILE}>11", true);
  expect_holds("{TILE}>=13", false);
}

TEST(Constraint, ProductsComeBeforeSumsAndBothGoFromTheLeft) {
  expect_holds("2 + 3 * 4 == 14", true);
  expect_holds("(2 + 3) * 4 == 20", true);
  expect_holds("10 - 4 - 3 == 3", true);
  expect_holds("100 / 5 / 2 == 10", true);
  expect_holds("7 * 3 % 4 == 1", true);  // (7 * 3) % 4
  expect_holds("7 / 2 == 3", true);
  expect_holds("1 - 2 < 0", true);  // signed
  expect_holds(" ( {TILE} ) * (({COLS})) == 60 ", true);
}

TEST(Constraint, SaysTheNumbersOfBothSides) {
  const Evaluated evaluated = evaluate("{TILE} * 4 <= 6 * {COLS}");
  ASSERT_TRUE(evaluated.result);
  EXPECT_FALSE(evaluated.result->holds);
  EXPECT_EQ(evaluated.result->values, "48 <= 30");
}

// Columns counted by hand: the first character of the text is in column 10.
TEST(Constraint, FaultsAreToldAtTheirColumns) {
  expect_error("{TILE} * 4", 20, "the constraint has no comparison");
  expect_error("{TILE} = 4", 17, "expected a comparison, got '= 4'");
  expect_error("1 < 2 < 3", 16, "unexpected '< 3' after the constraint");
  expect_error("1 + < 2", 14, "expected a number, a {NAME} or '(', got '< 2'");
  expect_error("1 <", 13, "the constraint ends where a number is expected");
  expect_error("(1 < 2", 13, "expected ')' for the '(' in column 10");
  expect_error("1 == {TILE", 15, "'{' without '}'");
  expect_error("1 == {TILES}", 15, "'TILES' is no integer parameter and no constant");
  expect_error("1 / ({COLS} - 5) > 0", 12, "1 / 0: division by zero");
  expect_error("1 % 0 == 0", 12, "1 % 0: division by zero");
  expect_error("9223372036854775807 + 1 > 0", 30, "9223372036854775807 + 1 is beyond 64 bits");
  expect_error("9223372036854775808 > 0", 10, "the number is beyond 64 bits");
  expect_error("{TILE} and 1", 17, "expected a comparison, got 'and 1'");
  expect_error(std::string(65, '(') + "1 == 1", 74, "more than 64 brackets inside each other");
}

// The name has been reported where it is declared.
TEST(Constraint, NamesThatAreKnownToBeWrongAreSilent) {
  const Evaluated evaluated = evaluate("{BROKEN} + 1 < 2");
  EXPECT_FALSE(evaluated.result);
  EXPECT_EQ(evaluated.errors, "");
}

}  // namespace
}  // namespace rngdsim
