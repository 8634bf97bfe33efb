// SPDX-License-Identifier: Apache-2.0
// When two results are the same: values made by hand.
#include "report/result_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "lowering/lower.h"
#include "numeric/convert.h"
#include "tests/unit/report/sample.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TensorValues integers(std::vector<uint32_t> bits) {
  TensorValues values;
  values.name = "c";
  values.dtype = DType::kI8;
  values.axes = {"I"};
  values.shape = {bits.size()};
  values.valid.assign(bits.size(), 1);
  values.bits = std::move(bits);
  return values;
}

struct Float {
  double value;
  Accepted accepted;
};

TensorValues floats(const std::vector<Float>& elements) {
  TensorValues values = integers(std::vector<uint32_t>(elements.size()));
  values.dtype = DType::kF32;
  for (size_t i = 0; i < elements.size(); ++i) {
    values.bits[i] = from_double(DType::kF32, elements[i].value);
    values.accepted.push_back(elements[i].accepted);
  }
  return values;
}

Float within(double value, double low, double high) {
  return {value, {low, high, false, false, false}};
}

// What each kernel after the first is found to differ in; empty where it does not. Both steps, the
// second only where the first leaves suspects.
std::vector<std::string> differences(const std::vector<TensorValues>& kernels) {
  ResultComparison comparison;
  std::vector<std::string> texts;
  std::vector<TensorValues> added;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto difference = comparison.add("k" + std::to_string(i), {kernels[i]});
    if (!difference) added.push_back(kernels[i]);
    texts.push_back(difference ? to_string(*difference) : "");
  }
  for (size_t i = 0; comparison.has_suspects() && i < added.size(); ++i) {
    SuspectValues values{"c", {}, {}};
    const ResultOffsets suspects = comparison.suspects(i);
    for (const uint64_t offset : suspects.at("c")) {
      values.bits.push_back(added[i].bits[offset]);
      values.accepted.push_back(added[i].accepted[offset]);
    }
    const auto difference = comparison.add_accepted(i, {values});
    if (difference) texts[i] = to_string(*difference);
  }
  texts.erase(texts.begin());
  return texts;
}

TEST(ResultComparison, IntegersAreEqualBitForBit) {
  EXPECT_EQ(differences({integers({1, 2, 3}), integers({1, 2, 3}), integers({1, 5, 4})}),
            (std::vector<std::string>{"", "c at I=1: 2 in k0, 5 in k2; 2 of 3 elements differ"}));
}

TEST(ResultComparison, WhatWasNeverWrittenAgreesWithItsLikeOnly) {
  TensorValues with_hole = integers({1, 0, 3});
  with_hole.valid[1] = 0;
  EXPECT_EQ(
      differences({with_hole, with_hole, integers({1, 0, 3})}),
      (std::vector<std::string>{"", "c at I=1: nothing in k0, 0 in k2; 1 of 3 elements differ"}));
  EXPECT_EQ(differences({integers({1, 0, 3}), with_hole}),
            (std::vector<std::string>{"c at I=1: 0 in k0, nothing in k1; 1 of 3 elements differ"}));
}

TEST(ResultComparison, FloatsAgreeWhereAcceptedValuesOverlap) {
  // 1 to 2 and 2 to 3 share the 2; 1 to 2 and 2.5 to 3 share nothing.
  EXPECT_EQ(differences({floats({within(1.5, 1, 2)}), floats({within(2.5, 2, 3)})}),
            (std::vector<std::string>{""}));
  EXPECT_EQ(differences({floats({within(1.5, 1, 2)}), floats({within(2.75, 2.5, 3)})}),
            (std::vector<std::string>{"c at I=0: 1.5 (right: 1 to 2) in k0, 2.75 (right: 2.5 to 3) "
                                      "in k1; 1 of 1 element differ"}));
}

// Each overlaps the first, but no value is right for all: the last one contradicts the second.
TEST(ResultComparison, SomeValueMustBeRightForAll) {
  EXPECT_EQ(differences(
                {floats({within(2, 0, 4)}), floats({within(1, 0, 1)}), floats({within(3, 3, 4)})}),
            (std::vector<std::string>{"",
                                      "c at I=0: 1 (right: 0 to 1) in k1, 3 (right: 3 to 4) in "
                                      "k2; 1 of 1 element differ"}));
  EXPECT_EQ(differences(
                {floats({within(2, 0, 4)}), floats({within(3, 3, 4)}), floats({within(1, 0, 1)})}),
            (std::vector<std::string>{"",
                                      "c at I=0: 3 (right: 3 to 4) in k1, 1 (right: 0 to 1) in "
                                      "k2; 1 of 1 element differ"}));
}

// A kernel that differs is not taken in: the next is compared with the good ones.
TEST(ResultComparison, WhatDiffersDecidesNothing) {
  EXPECT_EQ(differences({floats({within(2, 1, 3)}), floats({within(9, 8, 9)}),
                         floats({within(2, 1, 3)})})[1],
            "");
}

TEST(ResultComparison, NanAgreesWithNanAndInfinityWithItsLike) {
  const auto special = [](double value) {
    Accepted accepted = Accepted::nothing();
    accepted.add(value);
    return floats({{value, accepted}});
  };
  const TensorValues nan = special(std::numeric_limits<double>::quiet_NaN());
  const TensorValues plus = special(kInfinity), minus = special(-kInfinity), one = special(1);
  EXPECT_EQ(differences({nan, nan})[0], "");
  EXPECT_EQ(differences({plus, plus})[0], "");
  for (const auto& pair : std::vector<std::vector<TensorValues>>{
           {nan, one}, {one, nan}, {plus, minus}, {plus, one}, {nan, plus}}) {
    EXPECT_NE(differences(pair)[0], "");
  }
  EXPECT_THAT(differences({plus, minus})[0], HasSubstr("inf (right: inf) in k0, -inf"));
}

// Element [i, j] of one is element [j, i] of the other.
TEST(ResultComparison, AxesAreToldByTheirNames) {
  TensorValues one = integers({0, 1, 2, 10, 11, 12});
  one.axes = {"I", "J"};
  one.shape = {2, 3};
  TensorValues other = integers({0, 10, 1, 11, 2, 12});
  other.axes = {"J", "I"};
  other.shape = {3, 2};
  EXPECT_EQ(differences({one, other})[0], "");
  other.bits[3] = 7;  // J=1 I=1
  EXPECT_EQ(differences({one, other})[0],
            "c at I=1 J=1: 11 in k0, 7 in k1; 1 of 6 elements differ");
}

// Floats in another order of axes: element [1, 2] is the suspect, and it is right in both.
TEST(ResultComparison, SuspectsAreOffsetsIntoEachKernelsOwnResult) {
  const auto exactly = [](double value) { return within(value, value, value); };
  TensorValues one =
      floats({exactly(0), exactly(1), exactly(2), exactly(3), exactly(4), within(5, 4, 6)});
  one.axes = {"I", "J"};
  one.shape = {2, 3};
  TensorValues other =
      floats({exactly(0), exactly(3), exactly(1), exactly(4), exactly(2), within(5.5, 5, 6)});
  other.axes = {"J", "I"};
  other.shape = {3, 2};
  EXPECT_EQ(differences({one, other})[0], "");
  other.accepted[5] = within(6.5, 6.25, 7).accepted;
  EXPECT_EQ(differences({one, other})[0],
            "c at I=1 J=2: 5 (right: 4 to 6) in k0, 5.5 (right: 6.25 "
            "to 7) in k1; 1 of 6 elements differ");
  ResultComparison comparison;
  comparison.add("k0", {one});
  std::swap(other.bits[1], other.bits[2]);  // [0, 1] and [1, 0]
  comparison.add("k1", {other});
  EXPECT_EQ(comparison.suspects(0).at("c"), (std::vector<uint64_t>{1, 3, 5}));
  EXPECT_EQ(comparison.suspects(1).at("c"), (std::vector<uint64_t>{2, 1, 5}));
}

// Nothing more has to be known where all bits are equal.
TEST(ResultComparison, EqualFloatsAreNoSuspects) {
  ResultComparison comparison;
  comparison.add("k0", {floats({within(1, 0, 2)})});
  comparison.add("k1", {floats({within(1, 5, 6)})});
  EXPECT_FALSE(comparison.has_suspects());
}

// ---- Whether programs can be compared at all

std::string copy(const std::string& axes, const std::string& dtype, const std::string& to) {
  return "kernel: copy\naxes: {" + axes + "}\ntensors:\n  x: {memory: dm, dtype: " + dtype +
         ", slice: \"1 # 256\", element: \"N, M\", init: zero}\nprogram:\n"
         "  - main: {from: x, stages: [fetch: {time: \"N\", packet: \"M\"}, collect: {}, "
         "commit_trim: {packet: \"M\"}, commit: {to: " +
         to + ", element: \"N, M\"}]}\n";
}

std::string problems(const std::string& first, const std::string& later) {
  const Program a = sample::lowered(first, "a.yaml"), b = sample::lowered(later, "b.yaml");
  Diagnostics diagnostics;
  check_same_results({&a, &b}, diagnostics);
  return diagnostics.render();
}

TEST(SameResults, AxesAndTypesMustBeTheSameInAnyOrder) {
  const std::string base = copy("N: 16, M: 16", "bf16", "y");
  EXPECT_EQ(problems(base, copy("M: 16, N: 16", "bf16", "y")), "");
  EXPECT_THAT(problems(base, copy("N: 8, M: 16", "bf16", "y")),
              HasSubstr("error: result 'y' is [M 16, N 8] bf16 here and [M 16, N 16] "
                        "bf16 in a.yaml:6:"));
  EXPECT_THAT(problems(base, copy("N: 16, M: 16", "i16", "y")), HasSubstr("i16 here"));
}

TEST(SameResults, NamesMustBeTheSame) {
  const std::string text =
      problems(copy("N: 16, M: 16", "bf16", "y"), copy("N: 16, M: 16", "bf16", "z"));
  EXPECT_THAT(text, HasSubstr("error: there is no result 'y', which a.yaml:6:"));
  EXPECT_THAT(text, HasSubstr("error: a.yaml has no result 'z'"));
  EXPECT_THAT(text, HasSubstr("results of a.yaml: y; of b.yaml: z"));
}

}  // namespace
}  // namespace rngdsim
