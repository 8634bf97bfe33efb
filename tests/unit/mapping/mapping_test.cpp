// SPDX-License-Identifier: Apache-2.0
// Cells, sizes, identities and queries of mappings: the values that docs/mapping.md states.
#include "mapping/mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/mapping_text.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const MappingTexts kDocument{{"A", 8}, {"B", 512}, {"C", 13}, {"D", 61}, {"R", 11}, {"X", 64}};

std::string cell(const std::string& text, uint64_t i) { return kDocument.cell(text, i); }

void expect_same(const std::string& a, const std::string& b) {
  const Mapping x = kDocument(a);
  const Mapping y = kDocument(b);
  EXPECT_TRUE(same_cells(x, y, kDocument.axes)) << a << " and " << b;
  EXPECT_TRUE(equivalent(x, y, kDocument.axes)) << a << " and " << b;
  EXPECT_TRUE(x == y) << a << " is " << x.normalized().text(kDocument.axes) << ", " << b << " is "
                      << y.normalized().text(kDocument.axes);
  EXPECT_FALSE(x != y);
  // By the definition, position by position.
  const ExprPtr tree_a = kDocument.expr(a);
  const ExprPtr tree_b = kDocument.expr(b);
  ASSERT_EQ(tree_a->size, tree_b->size);
  for (uint64_t i = 0; i < tree_a->size; ++i) {
    ASSERT_EQ(to_string(cell_by_definition(*tree_a, i, kDocument.axes), kDocument.axes),
              to_string(cell_by_definition(*tree_b, i, kDocument.axes), kDocument.axes))
        << a << " and " << b << " at " << i;
  }
}

void expect_different(const std::string& a, const std::string& b) {
  EXPECT_FALSE(same_cells(kDocument(a), kDocument(b), kDocument.axes)) << a << " and " << b;
  EXPECT_FALSE(equivalent(kDocument(a), kDocument(b), kDocument.axes)) << a << " and " << b;
  EXPECT_FALSE(kDocument(a) == kDocument(b)) << a << " and " << b;
}

// ------------------------------------------------------------------------------ section 2

TEST(MappingCells, AxisSendsAPositionToItsIndex) {
  EXPECT_EQ(cell("A", 0), "the origin");
  EXPECT_EQ(cell("A", 1), "A=1");
  EXPECT_EQ(cell("A", 7), "A=7");
}

TEST(MappingCells, PairIsMajorThenMinor) {
  EXPECT_EQ(cell("A, B", 511), "B=511");
  EXPECT_EQ(cell("A, B", 512), "A=1");
  EXPECT_EQ(cell("A, B", 519), "A=1 B=7");
}

TEST(MappingCells, BroadcastIsLiveAndCarriesNoAxis) {
  EXPECT_EQ(cell("4", 3), "the origin");
  EXPECT_EQ(cell("4, A", 8), "the origin");
  EXPECT_EQ(cell("4, A", 9), "A=1");
}

TEST(MappingCells, PaddingFollowsTheContent) {
  EXPECT_EQ(cell("C, D # 64", 60), "D=60");
  EXPECT_EQ(cell("C, D # 64", 61), "padding");
  EXPECT_EQ(cell("C, D # 64", 63), "padding");
  EXPECT_EQ(cell("C, D # 64", 64), "C=1");
  EXPECT_EQ(cell("C, D #{0} 64", 61), "zero padding");
  EXPECT_EQ(cell("C, D #{!} 64", 61), "bottom padding");
  EXPECT_EQ(cell("C, D #{*} 64", 61), "padding");
}

TEST(MappingCells, StrideAndModuloAreDigits) {
  EXPECT_EQ(cell("B / 64, B % 64", 130), "B=130");
  EXPECT_EQ(cell("B / 64", 7), "B=448");
  EXPECT_EQ(cell("B % 64", 63), "B=63");
  EXPECT_EQ(cell("B / 64, B % 32, B / 32 % 2", 67), "B=97");
}

TEST(MappingCells, NestedDigitsRearrangeBits) {
  for (uint64_t i = 0; i < 8; ++i) {
    for (uint64_t j = 0; j < 32; ++j) {
      for (uint64_t k = 0; k < 2; ++k) {
        const uint64_t index = 64 * i + j + 32 * k;
        const std::string expected = index == 0 ? "the origin" : "B=" + std::to_string(index);
        ASSERT_EQ(cell("B / 64, B % 32, B / 32 % 2", 64 * i + 2 * j + k), expected);
      }
    }
  }
}

TEST(MappingCells, ResizeKeepsTheFirstPositions) {
  EXPECT_EQ(cell("C, D = 2", 3), "C=1 D=1");
  EXPECT_EQ(kDocument("C, D = 2").size(), 26u);
}

TEST(MappingCells, IndicesOfOneAxisAdd) {
  EXPECT_EQ(cell("R # 16 / 8, R # 16 % 8", 11 - 8 + 8 - 1), "R=10");
  EXPECT_EQ(cell("R # 16 / 8", 1), "R=8");
  EXPECT_EQ(cell("R # 16 % 8", 3), "R=3");
}

TEST(MappingCells, AnOvershootHoldsNoElement) {
  // 8 + 3 = 11 reaches the size of R.
  EXPECT_EQ(cell("R # 16 / 8, R # 16 % 8", 11), "padding");
  EXPECT_EQ(cell("R # 16 / 8, R # 16 % 8", 15), "padding");
  EXPECT_EQ(cell("R #{0} 16 / 8, R #{0} 16 % 8", 11), "zero padding");
  EXPECT_EQ(cell("R #{!} 16 % 8, R #{!} 16 / 8", 7), "bottom padding");  // 3, 1: 3 + 8
  EXPECT_EQ(cell("R #{!} 16 % 8, R #{!} 16 / 8", 5), "R=10");            // 2, 1: 2 + 8
  EXPECT_EQ(cell("A, R #{0} 16 / 8, R #{0} 16 % 8", 11), "zero padding");
  // Two dimensions of one tensor combine alike, an axis between changes nothing.
  EXPECT_EQ(cell("R #{0} 16 / 8, A, R #{0} 16 % 8", (1 * 8 + 5) * 8 + 3), "zero padding");
  EXPECT_EQ(cell("R #{0} 16 / 8, A, R #{0} 16 % 8", (1 * 8 + 5) * 8 + 2), "A=5 R=10");
}

TEST(MappingCells, LeftmostPaddingWins) {
  EXPECT_EQ(cell("A # 9, C #{0} 14", 8 * 14 + 13), "padding");
  EXPECT_EQ(cell("A #{!} 9, C #{0} 14", 8 * 14 + 13), "bottom padding");
  EXPECT_EQ(cell("A # 9, C #{0} 14", 7 * 14 + 13), "zero padding");
  EXPECT_EQ(cell("A # 9, C #{0} 14", 8 * 14 + 12), "padding");
  EXPECT_EQ(cell("[A # 9, C #{0} 14] #{!} 127", 126), "bottom padding");
}

TEST(MappingCells, PaddingOnPaddingKeepsBothKinds) {
  EXPECT_EQ(cell("A # 10 #{0} 12", 7), "A=7");
  EXPECT_EQ(cell("A # 10 #{0} 12", 9), "padding");
  EXPECT_EQ(cell("A # 10 #{0} 12", 10), "zero padding");
  EXPECT_EQ(cell("1 #{!} 2 # 4", 1), "bottom padding");
  EXPECT_EQ(cell("1 #{!} 2 # 4", 2), "padding");
  EXPECT_EQ(cell("[A # 9, 2] #{0} 20", 17), "padding");
  EXPECT_EQ(cell("[A # 9, 2] #{0} 20", 18), "zero padding");
}

TEST(MappingCells, PaddingWinsOverAnOvershoot) {
  EXPECT_EQ(cell("R # 16 / 8, R # 16 % 8, A #{!} 9", 11 * 9 + 8), "bottom padding");
  EXPECT_EQ(cell("R # 16 / 8, R # 16 % 8, A #{!} 9", 11 * 9 + 7), "padding");
}

TEST(MappingCells, SuffixesApplyLeftToRight) {
  EXPECT_EQ(cell("B / 32 % 2", 1), "B=32");
  EXPECT_EQ(cell("B % 2", 1), "B=1");
  EXPECT_EQ(cell("A # 16 / 4", 3), "padding");
  EXPECT_EQ(cell("A / 4 # 4", 1), "A=4");
  EXPECT_EQ(cell("A / 4 # 4", 2), "padding");
  EXPECT_EQ(cell("A = 3 # 4", 3), "padding");
  EXPECT_EQ(cell("[A, B] / 512", 3), "A=3");
  EXPECT_EQ(cell("[A, B] % 512", 3), "B=3");
}

TEST(MappingCells, SuffixesMayCutAPair) {
  // Every third position of 13 x 9 (D = 9): 3 i = 9 (i / 3) + 3 (i % 3).
  EXPECT_EQ(cell("[C, D = 9] / 3", 4), "C=1 D=3");
  // A step of 26 over 13 x 4: position 1 is 26 = 6 * 4 + 2.
  EXPECT_EQ(cell("[C, D = 4] / 26", 1), "C=6 D=2");
  EXPECT_EQ(cell("[C, D = 4] % 26", 25), "C=6 D=1");
  EXPECT_EQ(cell("[C, D = 4] = 7", 6), "C=1 D=2");
}

TEST(MappingSizes, AreThoseOfTheDefinition) {
  EXPECT_EQ(kDocument("A").size(), 8u);
  EXPECT_EQ(kDocument("1").size(), 1u);
  EXPECT_EQ(kDocument("7").size(), 7u);
  EXPECT_EQ(kDocument("B / 64").size(), 8u);
  EXPECT_EQ(kDocument("B % 64").size(), 64u);
  EXPECT_EQ(kDocument("B = 3").size(), 3u);
  EXPECT_EQ(kDocument("B # 520").size(), 520u);
  EXPECT_EQ(kDocument("C, D # 64").size(), 13u * 64u);
  EXPECT_TRUE(kDocument("1").is_one());
  EXPECT_TRUE(kDocument("A % 1").is_one());
  EXPECT_FALSE(kDocument("A").is_one());
}

// ------------------------------------------------------------------------------ identities

TEST(MappingIdentities, OneIsTheIdentityOfPairs) {
  expect_same("A, 1", "A");
  expect_same("1, A", "A");
  expect_same("1, A # 9, 1, B / 4, 1", "A # 9, B / 4");
}

TEST(MappingIdentities, StrideAndModuloMakeTheWhole) {
  expect_same("B / 64, B % 64", "B");
  expect_same("B / 2, B % 2", "B");
  expect_same("B / 64, B / 8 % 8, B % 8", "B");
  expect_same("D # 64 / 16, D # 64 % 16", "D # 64");
  expect_same("D #{0} 64 / 16, D #{0} 64 / 4 % 4, D #{0} 64 % 4", "D #{0} 64");
  expect_same("A # 16 / 8, A # 16 % 8", "A # 16");
  expect_same("A # 16 / 4, A # 16 % 4", "A # 16");
  expect_same("[A, B] / 512, [A, B] % 512", "A, B");
  expect_same("[A, B # 516] / 516, [A, B # 516] % 516", "A, B # 516");
}

TEST(MappingIdentities, StrideAndModuloDoNotMakeTheWholeOfACutPair) {
  const MappingTexts t{{"A", 3}, {"B", 4}, {"C", 13}};
  // [A, B] of 3 x 4 divides at 4 and inside B, but not at 6.
  EXPECT_TRUE(same_cells(t("[A, B] / 2, [A, B] % 2"), t("A, B"), t.axes));
  EXPECT_FALSE(same_cells(t("[A, B] / 6, [A, B] % 6"), t("A, B"), t.axes));
  // Dead cells come to life: 6 of 8 are live, [C = 6 # 8 / 4, ... % 4] has 2 x 4.
  EXPECT_FALSE(same_cells(t("C = 6 # 8 / 4, C = 6 # 8 % 4"), t("C = 6 # 8"), t.axes));
  EXPECT_EQ(t.cell("C = 6 # 8 / 4, C = 6 # 8 % 4", 7), "C=7");
  EXPECT_EQ(t.cell("C = 6 # 8", 7), "padding");
}

TEST(MappingIdentities, PairsProject) {
  expect_same("[A, B] / 512", "A");
  expect_same("[A, B] % 512", "B");
  expect_same("[A # 9, D # 64] / 64", "A # 9");
  expect_same("[A # 9, D # 64] % 64", "D # 64");
  expect_same("[4, A] % 8", "A");
  expect_same("[A, 4] / 4", "A");
}

TEST(MappingIdentities, PairsAssociate) {
  expect_same("A, C, R", "[A, C], R");
  expect_same("A, C, R", "A, [C, R]");
  expect_same("A, C, R", "(A, [C], (R))");
}

TEST(MappingIdentities, SuffixesThatChangeNothing) {
  expect_same("D / 1", "D");
  expect_same("D # 61", "D");
  expect_same("D #{!} 61", "D");
  expect_same("D = 61", "D");
  expect_same("D % 61", "D");
  expect_same("[A # 9, D] #{0} 549", "A # 9, D");
  expect_same("D % 1", "1");
  expect_same("[A, D] % 1", "1");
}

TEST(MappingIdentities, DifferentMappingsDiffer) {
  expect_different("A, B", "B, A");
  expect_different("B / 2", "B % 256");
  expect_different("A # 16", "16");
  expect_different("A", "8");
  expect_different("A # 16", "A, 2");
  expect_different("B % 64", "B / 8");
  expect_different("C, D = 2", "C = 2, D");
}

TEST(MappingIdentities, PaddingKindsCountForEquivalenceOnly) {
  const Mapping top = kDocument("D # 64");
  const Mapping zero = kDocument("D #{0} 64");
  EXPECT_TRUE(same_cells(top, zero, kDocument.axes));
  EXPECT_FALSE(equivalent(top, zero, kDocument.axes));
  EXPECT_FALSE(top == zero);
  // An overshoot is padding like any other.
  const Mapping digits = kDocument("R #{0} 16 / 8, R #{0} 16 % 8");
  EXPECT_TRUE(same_cells(digits, kDocument("R # 16"), kDocument.axes));
  EXPECT_FALSE(equivalent(digits, kDocument("R # 16"), kDocument.axes));
  EXPECT_TRUE(equivalent(digits, kDocument("R #{0} 16"), kDocument.axes));
}

TEST(MappingIdentities, PaddingsOfTwoKindsAreNotOneTerm) {
  // Zero at 1 to 3, arbitrary from 4 on.
  const Mapping both = kDocument("1 # 2, 1 #{0} 4");
  EXPECT_TRUE(same_cells(both, kDocument("1 # 8"), kDocument.axes));
  EXPECT_FALSE(both == kDocument("1 # 8"));
  for (uint64_t i = 0; i < 8; ++i) {
    const Cell cell = both.normalized().cell(i, kDocument.axes);
    EXPECT_EQ(cell.live, i == 0) << i;
    if (i > 0) {
      EXPECT_EQ(cell.pad, i < 4 ? PadKind::kZero : PadKind::kTop) << i;
    }
  }
}

TEST(MappingIdentities, LargeMappingsAreComparedInPieces) {
  const MappingTexts t{{"A", 1 << 20}, {"B", 1 << 20}, {"R", 11}, {"S", 6}};
  // 2^40 positions and more: no enumeration.
  EXPECT_TRUE(same_cells(t("A, R # 16, B"), t("A, R # 16 / 8, R # 16 % 8, B"), t.axes));
  EXPECT_TRUE(same_cells(t("A, [2, R # 16], B"), t("A / 2, A % 2, 2, R #{0} 16, B"), t.axes));
  EXPECT_FALSE(same_cells(t("A, R # 16, B"), t("A, R % 1 # 16, B"), t.axes));
  EXPECT_FALSE(same_cells(t("A, R # 16, B"), t("B, R # 16, A"), t.axes));
  EXPECT_FALSE(equivalent(t("A, R # 16, B"), t("A, R #{0} 16, B"), t.axes));
  EXPECT_TRUE(equivalent(t("A, R # 16, B"), t("A, R # 16 / 4, R # 16 % 4, B"), t.axes));
  // The same kinds in other places.
  EXPECT_TRUE(same_cells(t("A, S # 9, R #{0} 16, B"), t("A, S #{0} 9, R # 16, B"), t.axes));
  EXPECT_FALSE(equivalent(t("A, S # 9, R #{0} 16, B"), t("A, S #{0} 9, R # 16, B"), t.axes));
  // Cells that only enumeration can compare, inside a large whole.
  EXPECT_TRUE(same_cells(t("A, [S, R] / 3, B"), t("A, [S, R] / 3 = 22, B"), t.axes));
  EXPECT_TRUE(same_cells(t("A, S # 9, B"), t("A, S % 2 # 3, S / 2, B"), t.axes) == false);
}

// ------------------------------------------------------------------------------ terms

TEST(MappingTerms, StayAsWritten) {
  EXPECT_EQ(kDocument("B / 64, B % 64").nodes().size(), 2u);
  EXPECT_EQ(kDocument("B / 64, B % 64").normalized().nodes().size(), 1u);
  EXPECT_EQ(kDocument("A, 1, B").nodes().size(), 2u);
}

TEST(MappingTerms, Text) {
  const auto text = [](const char* written) { return kDocument(written).text(kDocument.axes); };
  for (const char* written : {"1",
                              "4",
                              "A",
                              "A, B",
                              "B / 64",
                              "B % 64",
                              "B / 32 % 2",
                              "D # 64",
                              "D #{0} 64",
                              "1 # 2",
                              "R # 16 / 8",
                              "R # 16 % 8",
                              "R #{!} 16 / 2 % 4",
                              "B = 3",
                              "B / 64 = 3",
                              "A / 4 # 4",
                              "A % 4 # 8",
                              "[A, D] # 500",
                              "2 # 8",
                              "B = 3 # 8",
                              "[C, D] = 100"}) {
    EXPECT_EQ(text(written), written);
  }
}

TEST(MappingTerms, Split) {
  const auto split = [](const char* written, uint64_t inner) -> std::string {
    const auto parts = kDocument(written).split(inner);
    if (!parts) return "none";
    return parts->first.text(kDocument.axes) + " | " + parts->second.text(kDocument.axes);
  };
  EXPECT_EQ(split("A, B", 512), "A | B");
  EXPECT_EQ(split("A, B", 64), "A, B / 64 | B % 64");
  EXPECT_EQ(split("A, B", 1024), "A / 2 | A % 2, B");
  EXPECT_EQ(split("A, B", 1), "A, B | 1");
  EXPECT_EQ(split("A, B", 4096), "1 | A, B");
  EXPECT_EQ(split("A, B", 3), "none");
  EXPECT_EQ(split("A, B", 0), "none");
  EXPECT_EQ(split("R # 16", 8), "R # 16 / 8 | R # 16 % 8");
  EXPECT_EQ(split("A # 16", 8), "A / 8 # 2 | A");
  EXPECT_EQ(split("C = 6 # 8", 4), "none");  // 6 of 8: positions 6 and 7 would come to life
  EXPECT_EQ(split("C = 6 # 8", 2), "C # 14 / 2 = 3 # 4 | C # 14 % 2");
  EXPECT_EQ(split("1 # 256", 32), "1 # 8 | 1 # 32");
  EXPECT_EQ(split("[A, C] # 108", 54), "none");
  EXPECT_EQ(split("[A, C] # 117", 13), "A # 9 | C");
  EXPECT_EQ(split("B / 4 % 1, C / 1", 13), "1 | C");
  EXPECT_EQ(split("[C, D = 4] / 26", 1), "[C, D = 4] / 26 | 1");
}

TEST(MappingTerms, SplitOfTermsThatJoin) {
  const MappingTexts t{{"A", 12}};
  const auto parts = t("A / 3, A % 3").split(2);
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(parts->first.text(t.axes), "A / 2");
  EXPECT_EQ(parts->second.text(t.axes), "A % 2");
}

// ------------------------------------------------------------------------------ queries

TEST(MappingQueries, CountLive) {
  const auto count = [](std::initializer_list<const char*> texts) {
    std::vector<Mapping> parts;
    for (const char* text : texts) parts.push_back(kDocument(text));
    std::vector<const Mapping*> pointers;
    for (const Mapping& part : parts) pointers.push_back(&part);
    return count_live(pointers, kDocument.axes);
  };
  EXPECT_EQ(count({}), 1u);
  EXPECT_EQ(count({"A"}), 8u);
  EXPECT_EQ(count({"A # 16", "1 # 256"}), 8u);
  EXPECT_EQ(count({"4", "C, D # 64"}), 4u * 13u * 61u);
  EXPECT_EQ(count({"R # 16 / 8", "R # 16 % 8"}), 11u);
  EXPECT_EQ(count({"R # 16 % 8"}), 8u);
  EXPECT_EQ(count({"R # 12 / 6, A", "R # 12 % 6 # 8"}), 88u);
  EXPECT_EQ(count({"[A, C] # 128"}), 104u);
  EXPECT_EQ(count({"C = 6 # 8 / 4", "C = 6 # 8 % 4"}), 8u);
  // 16 x 4 axes of digits of R: R / 4 (0, 4, 8), R % 4: 11 of 12.
  EXPECT_EQ(count({"R # 16 / 4", "R # 16 % 2, 3", "R # 16 / 2 % 2"}), 33u);
  EXPECT_EQ(count({"[R # 16 / 8, A] = 9", "R # 16 % 8"}), 8u * 8u + 3u);
}

TEST(MappingQueries, CountLiveOfLargeMappings) {
  const MappingTexts t{{"A", (uint64_t{1} << 40) - 1}, {"B", uint64_t{1} << 40}};
  const Mapping a = t("A # 1099511627776");
  const Mapping outer = t("A # 1099511627776 / 1048576");
  const Mapping inner = t("A # 1099511627776 % 1048576");
  EXPECT_EQ(count_live({&a}, t.axes), (uint64_t{1} << 40) - 1);
  EXPECT_EQ(count_live({&inner, &outer}, t.axes), (uint64_t{1} << 40) - 1);
  const Mapping b = t("B");
  // An overlap has no meaning, but must end, and not wrap around.
  EXPECT_EQ(count_live({&b, &b}, t.axes), UINT64_MAX);
}

TEST(MappingQueries, AxesOf) {
  const Mapping a = kDocument("D # 64, 4, B % 4");
  const Mapping b = kDocument("A # 16 / 8, [C, 2] # 30");
  // Of A only index 0 occurs.
  EXPECT_THAT(axes_of({&a, &b}, kDocument.axes), ElementsAre(1, 2, 3));
}

TEST(MappingQueries, OvershootKinds) {
  const Mapping a = kDocument("A, R #{0} 16 / 8");
  const Mapping b = kDocument("R #{0} 16 % 8");
  const auto kinds = overshoot_kinds({&a, &b}, kDocument.axes);
  EXPECT_FALSE(kinds[0].has_value());
  EXPECT_EQ(kinds[4], PadKind::kZero);
}

std::string digit_errors(std::initializer_list<const char*> texts) {
  std::vector<Mapping> parts;
  for (const char* text : texts) parts.push_back(kDocument(text));
  std::vector<const Mapping*> pointers;
  for (const Mapping& part : parts) pointers.push_back(&part);
  Diagnostics diagnostics;
  check_digits(pointers, kDocument.axes, {"k.yaml", 3, 9}, "tensor 'a'", diagnostics);
  return diagnostics.render();
}

TEST(MappingQueries, DigitsOfOneTensorMustNotOverlap) {
  EXPECT_EQ(digit_errors({"A / 4", "A % 4, B"}), "");
  EXPECT_EQ(digit_errors({"A / 2", "A % 2"}), "");
  EXPECT_EQ(digit_errors({"R # 16 / 8", "R # 16 % 8"}), "");
  EXPECT_EQ(digit_errors({"A = 4", "A / 4"}), "");
  EXPECT_THAT(digit_errors({"A / 2", "A % 4"}),
              HasSubstr("k.yaml:3:9: error: tensor 'a': digits of axis A overlap: A % 4 and A / 2 "
                        "(a step of 2 within the 4 indices below it)"));
  EXPECT_THAT(digit_errors({"A", "A"}), HasSubstr("overlap"));
  EXPECT_THAT(digit_errors({"B", "B / 256"}), HasSubstr("axis B"));
  EXPECT_THAT(digit_errors({"[A, C] # 128", "A % 2"}), HasSubstr("axis A"));
  EXPECT_EQ(digit_errors({"A", "A # 16 / 8"}), "");  // the second holds only A = 0
}

TEST(MappingQueries, DigitsOfOneAxisMustAgreeOnPadding) {
  EXPECT_THAT(digit_errors({"R # 16 / 8", "R #{0} 16 % 8"}),
              HasSubstr("digits of axis R have different padding kinds, '#' and '#{0}'"));
  EXPECT_EQ(digit_errors({"R #{0} 16 / 8", "R #{0} 16 % 8"}), "");
  EXPECT_EQ(digit_errors({"R # 16 / 8", "D #{0} 64", "R # 16 % 8"}), "");
  // One error an axis, whatever the number of its digits.
  const std::string three = digit_errors({"R # 16 / 8", "R #{0} 16 / 4 % 2", "R #{!} 16 % 4"});
  EXPECT_THAT(three, HasSubstr("1 error"));
}

}  // namespace
}  // namespace rngdsim
