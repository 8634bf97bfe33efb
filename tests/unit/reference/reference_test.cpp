// SPDX-License-Identifier: Apache-2.0
#include "reference/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/arithmetic.h"
#include "numeric/random.h"
#include "tests/support/reference_program.h"

namespace rngdsim {
namespace {

using testing::contraction;
using ::testing::HasSubstr;
using testing::shape;
using ::testing::SizeIs;
using testing::tensor;
using testing::TestAxes;

uint32_t f32(double value) { return from_double(DType::kF32, value); }
uint32_t i32(int64_t value) { return static_cast<uint32_t>(value); }

std::optional<Expectation> expect(const TestAxes& axes, const Command& command,
                                  const LogicalTensor& a, const LogicalTensor* b,
                                  const std::vector<std::string>& out_axes,
                                  Diagnostics* diagnostics = nullptr) {
  Program program;
  program.axes = axes.table();
  Diagnostics own;
  auto result = Expectation::of_command(program, command, a, b, {}, axes.ids(out_axes),
                                        diagnostics != nullptr ? *diagnostics : own);
  EXPECT_EQ(own.render(), "");
  return result;
}

// ---- Reduction

TEST(ReductionTest, SumsTheDigitsThatAreGone) {
  const TestAxes axes({{"I", 4}, {"K", 64}});
  Diagnostics diagnostics;
  const Reduction reduction = derive_reduction(
      shape(axes, DType::kBF16, {"1", "1", "1", "I, K / 32", "K % 32"}),
      shape(axes, DType::kF32, {"1", "1", "1", "I", "1"}), axes.table(), {}, diagnostics);
  EXPECT_EQ(diagnostics.render(), "");
  ASSERT_THAT(reduction.factors, SizeIs(2));
  EXPECT_THAT(reduction.factors[0], SizeIs(2));
  EXPECT_EQ(reduction.factors[0][1], (Reduction::Index{{axes.id("K"), 32}}));
  EXPECT_THAT(reduction.factors[1], SizeIs(32));
  EXPECT_EQ(reduction.repeat, 1u);
}

TEST(ReductionTest, KeepsADigitThatMovesAndIsRegrouped) {
  const TestAxes axes({{"J", 16}, {"K", 8}});
  Diagnostics diagnostics;
  // J % 8 moves from Lane to Packet and is padded; J / 8 stays in Time.
  const Reduction reduction =
      derive_reduction(shape(axes, DType::kBF16, {"1", "1", "J % 8", "J / 8", "K"}),
                       shape(axes, DType::kF32, {"1", "1", "1", "J / 8", "J % 8 # 16"}),
                       axes.table(), {}, diagnostics);
  ASSERT_THAT(reduction.factors, SizeIs(1));
  EXPECT_EQ(reduction.factors[0][7], (Reduction::Index{{axes.id("K"), 7}}));
}

TEST(ReductionTest, SplitsATermOfWhichOnlyAPartRemains) {
  const TestAxes axes({{"K", 64}});
  Diagnostics diagnostics;
  // One digit of 64 before, its upper part after: the lower 8 are summed.
  const Reduction reduction = derive_reduction(
      shape(axes, DType::kBF16, {"1", "1", "1", "1", "K"}),
      shape(axes, DType::kF32, {"1", "1", "1", "1", "K / 8"}), axes.table(), {}, diagnostics);
  EXPECT_EQ(diagnostics.render(), "");
  ASSERT_THAT(reduction.factors, SizeIs(1));
  EXPECT_THAT(reduction.factors[0], SizeIs(8));
}

// Sequential output of 16 columns: the one digit of them becomes two, and nothing of it is summed.
TEST(ReductionTest, KeepsADigitThatIsCutInTwo) {
  const TestAxes axes({{"C", 16}, {"K", 4}, {"N", 2}});
  Diagnostics diagnostics;
  const Reduction reduction =
      derive_reduction(shape(axes, DType::kF8E4M3, {"1", "1", "N", "1", "C, K"}),
                       shape(axes, DType::kF32, {"1", "1", "1", "N, C / 8", "C % 8"}), axes.table(),
                       {}, diagnostics);
  EXPECT_EQ(diagnostics.render(), "");
  ASSERT_THAT(reduction.factors, SizeIs(1));
  EXPECT_THAT(reduction.factors[0], SizeIs(4));
  EXPECT_EQ(reduction.factors[0][3], (Reduction::Index{{axes.id("K"), 3}}));
  EXPECT_EQ(reduction.repeat, 1u);
}

// The lower part of one digit remains: the multiples of 8 above it are summed.
TEST(ReductionTest, SumsTheUpperPartOfADigit) {
  const TestAxes axes({{"K", 64}});
  Diagnostics diagnostics;
  const Reduction reduction = derive_reduction(
      shape(axes, DType::kBF16, {"1", "1", "1", "K", "1"}),
      shape(axes, DType::kF32, {"1", "1", "1", "K % 8", "1"}), axes.table(), {}, diagnostics);
  EXPECT_EQ(diagnostics.render(), "");
  ASSERT_THAT(reduction.factors, SizeIs(1));
  ASSERT_THAT(reduction.factors[0], SizeIs(8));
  EXPECT_EQ(reduction.factors[0][7], (Reduction::Index{{axes.id("K"), 56}}));
}

TEST(ReductionTest, SplitsADigitBelowAResizedOne) {
  const TestAxes axes({{"K", 16}});
  Diagnostics diagnostics;
  // K % 4 = 3 is kept and has 3 values of 4; K / 4 is summed: K = 4, 8, 12 have no kept part.
  const Reduction reduction = derive_reduction(
      shape(axes, DType::kBF16, {"1", "1", "1", "K / 4", "K % 4 = 3"}),
      shape(axes, DType::kF32, {"1", "1", "1", "1", "K % 4 = 3"}), axes.table(), {}, diagnostics);
  EXPECT_EQ(diagnostics.render(), "");
  ASSERT_THAT(reduction.factors, SizeIs(1));
  EXPECT_EQ(reduction.factors[0][1], (Reduction::Index{{axes.id("K"), 4}}));
}

TEST(ReductionTest, CountsALiteralBroadcastThatIsSummed) {
  const TestAxes axes({{"K", 8}});
  Diagnostics diagnostics;
  const Reduction reduction = derive_reduction(
      shape(axes, DType::kBF16, {"1", "1", "1", "3, 2", "K"}),
      shape(axes, DType::kF32, {"1", "1", "1", "2", "1"}), axes.table(), {}, diagnostics);
  EXPECT_EQ(diagnostics.render(), "");
  EXPECT_EQ(reduction.repeat, 3u);
}

TEST(ReductionTest, RefusesASumAcrossPiecesOfAnAxis) {
  const TestAxes axes({{"A", 3}, {"B", 3}});
  Diagnostics diagnostics;
  // Pairs of positions of A, B: (A0 B0, A0 B1), (A0 B2, A1 B0), ...
  derive_reduction(shape(axes, DType::kBF16, {"1", "1", "1", "1", "[A, B] # 16"}),
                   shape(axes, DType::kF32, {"1", "1", "1", "1", "[A, B] # 16 / 2"}), axes.table(),
                   {}, diagnostics);
  EXPECT_TRUE(diagnostics.has_errors());
  EXPECT_THAT(diagnostics.render(), HasSubstr("across pieces"));
}

// ---- Moves

Command move() {
  Command command;
  command.fetch.emplace();
  return command;
}

TEST(MoveTest, KeepsTheValueAtEachIndexWhateverTheOrderOfTheAxes) {
  const TestAxes axes({{"I", 2}, {"J", 3}, {"K", 4}});
  const LogicalTensor a = tensor(axes, DType::kI8, {"I", "K"}, [](uint64_t i) { return i; });
  // J is a replica of the source that the destination counts among its axes.
  auto expectation = expect(axes, move(), a, nullptr, {"I", "J", "K"});
  ASSERT_TRUE(expectation);
  EXPECT_EQ(expectation->volume(), 24u);
  for (uint64_t i = 0; i < 2; ++i) {
    for (uint64_t j = 0; j < 3; ++j) {
      for (uint64_t k = 0; k < 4; ++k) {
        const uint64_t offset = (i * 3 + j) * 4 + k;
        const auto expected = static_cast<uint32_t>(i * 4 + k);
        EXPECT_TRUE(expectation->judge(offset, expected).ok);
        EXPECT_FALSE(expectation->judge(offset, expected + 1).ok);
      }
    }
  }
  EXPECT_EQ(expectation->judge(0, 3).error, 3.0);
}

TEST(MoveTest, ConvertsAsTheStagesSay) {
  const TestAxes axes({{"I", 2}});
  const LogicalTensor a =
      tensor(axes, DType::kBF16, {"I"}, [](uint64_t i) { return i == 0 ? -1.5 : 3.0; });
  Command command = move();
  command.fetch_cast = FetchCastConfig{DType::kBF16, DType::kF32};
  command.commit_adapter.emplace();
  command.commit_adapter->cast = CastConfig{DType::kF32, DType::kBF16};
  command.commit_adapter->relu = true;
  auto expectation = expect(axes, command, a, nullptr, {"I"});
  ASSERT_TRUE(expectation);
  EXPECT_EQ(expectation->dtype(), DType::kBF16);
  EXPECT_TRUE(expectation->judge(0, 0).ok);
  EXPECT_FALSE(expectation->judge(0, from_double(DType::kBF16, -1.5)).ok);
  EXPECT_TRUE(expectation->judge(1, from_double(DType::kBF16, 3)).ok);
}

TEST(MoveTest, FloatsMustBeEqualBitForBit) {
  const TestAxes axes({{"I", 1}});
  const LogicalTensor a = tensor(axes, DType::kF32, {}, [](uint64_t) { return 1.0; });
  auto expectation = expect(axes, move(), a, nullptr, {});
  EXPECT_TRUE(expectation->judge(0, f32(1)).ok);
  EXPECT_FALSE(expectation->judge(0, f32(1) + 1).ok);
}

TEST(MoveTest, AnUndefinedSourceIsAMismatchWhateverArrives) {
  const TestAxes axes({{"I", 2}});
  LogicalTensor a(DType::kI8, axes.ids({"I"}), axes.table());
  a.set(0, 1);
  auto expectation = expect(axes, move(), a, nullptr, {"I"});
  EXPECT_TRUE(expectation->judge(0, 1).ok);
  EXPECT_FALSE(expectation->judge(1, 0).ok);
  EXPECT_THAT(expectation->expected_text(1), HasSubstr("poison"));
}

TEST(MoveTest, AnUnknownStageIsRefused) {
  const TestAxes axes({{"I", 2}});
  const LogicalTensor a = tensor(axes, DType::kI8, {"I"}, [](uint64_t) { return 0; });
  Command command = move();
  command.stages.push_back({"fetch_mask", {"k.yaml", 3, 1}, {}});
  Diagnostics diagnostics;
  EXPECT_FALSE(expect(axes, command, a, nullptr, {"I"}, &diagnostics));
  EXPECT_THAT(diagnostics.render(), HasSubstr("k.yaml:3:1: error"));
}

TEST(MoveTest, AResultThatDropsAnAxisItDependsOnIsRefused) {
  const TestAxes axes({{"I", 2}});
  const LogicalTensor a = tensor(axes, DType::kI8, {"I"}, [](uint64_t) { return 0; });
  Command command = move();
  command.final_shape.packet = axes("I");
  Diagnostics diagnostics;
  EXPECT_FALSE(expect(axes, command, a, nullptr, {}, &diagnostics));
  EXPECT_THAT(diagnostics.render(), HasSubstr("depends on axis I"));
}

// ---- Integer contractions

TEST(ContractionTest, IntegersAreExact) {
  const TestAxes axes({{"I", 2}, {"J", 3}, {"K", 4}});
  const LogicalTensor a =
      tensor(axes, DType::kI8, {"I", "K"}, [](uint64_t i) { return double(i) - 3; });
  const LogicalTensor b = tensor(axes, DType::kI8, {"J", "K"}, [](uint64_t i) { return 2.0 * i; });
  const Command command =
      contraction(0, {shape(axes, DType::kI8, {"1", "1", "J # 4", "I", "K # 32"}),
                      shape(axes, DType::kI32, {"1", "1", "J # 4", "I", "1"}),
                      shape(axes, DType::kI32, {"1", "1", "J # 4", "I", "1"}),
                      shape(axes, DType::kI32, {"1", "1", "1", "I", "J # 8"})});
  auto expectation = expect(axes, command, a, &b, {"I", "J"});
  ASSERT_TRUE(expectation);
  EXPECT_EQ(expectation->dtype(), DType::kI32);
  // I=1 J=2: (1 2 3 4) . (16 18 20 22) = 16 + 36 + 60 + 88 = 200.
  EXPECT_TRUE(expectation->judge(5, 200).ok);
  EXPECT_FALSE(expectation->judge(5, 199).ok);
  EXPECT_EQ(expectation->judge(5, 199).error, 1.0);
  // I=0 J=1: (-3 -2 -1 0) . (8 10 12 14) = -24 - 20 - 12 = -56.
  EXPECT_TRUE(expectation->judge(1, i32(-56)).ok);
  EXPECT_EQ(expectation->expected_text(1), "-56");
}

TEST(ContractionTest, IntegerSumsWrapThenNarrow) {
  const TestAxes axes({{"K", 3}});
  const LogicalTensor a =
      tensor(axes, DType::kI32, {"K"}, [](uint64_t) { return 2147483647.0; });  // 2^31 - 1
  const LogicalTensor b = tensor(axes, DType::kI32, {"K"}, [](uint64_t) { return 2.0; });
  Command command = contraction(0, {shape(axes, DType::kI32, {"1", "1", "1", "1", "K # 8"}),
                                    shape(axes, DType::kI32, {"1", "1", "1", "1", "1"})});
  auto expectation = expect(axes, command, a, &b, {});
  // 6 (2^31 - 1) = 3 2^32 - 6, which is -6 modulo 2^32.
  EXPECT_TRUE(expectation->judge(0, i32(-6)).ok);
  command.cast = CastConfig{DType::kI32, DType::kI8};
  auto narrow = expect(axes, command, a, &b, {});
  EXPECT_EQ(narrow->dtype(), DType::kI8);
  EXPECT_TRUE(narrow->judge(0, 0xfa).ok);
  EXPECT_FALSE(narrow->judge(0, 0x7f).ok);
}

TEST(ContractionTest, APaddedAxisThatIsSummedInPartEndsWhereItEnds) {
  const TestAxes axes({{"K", 11}});
  const LogicalTensor a = tensor(axes, DType::kI8, {"K"}, [](uint64_t i) { return double(i); });
  const LogicalTensor b = tensor(axes, DType::kI8, {"K"}, [](uint64_t) { return 1.0; });
  // K / 4 remains in Time, K % 4 is summed: {0..3}, {4..7}, {8, 9, 10}.
  const Command command =
      contraction(0, {shape(axes, DType::kI8, {"1", "1", "1", "K # 16 / 4", "K # 16 % 4"}),
                      shape(axes, DType::kI32, {"1", "1", "1", "K # 16 / 4", "1"})});
  auto expectation = expect(axes, command, a, &b, {"K"});
  ASSERT_TRUE(expectation);
  EXPECT_TRUE(expectation->judge(0, 6).ok);
  EXPECT_TRUE(expectation->judge(4, 22).ok);
  EXPECT_TRUE(expectation->judge(8, 27).ok);
  EXPECT_FALSE(expectation->judge(8, 26).ok);
  EXPECT_TRUE(expectation->judge(4, 22).ok);  // back to a full sum
}

TEST(ContractionTest, AnUndefinedElementInTheSumIsAMismatch) {
  const TestAxes axes({{"I", 2}, {"K", 2}});
  LogicalTensor a(DType::kI8, axes.ids({"I", "K"}), axes.table());
  a.set(0, 1);
  a.set(1, 1);
  a.set(2, 1);  // I=1 K=1 is missing
  const LogicalTensor b = tensor(axes, DType::kI8, {"K"}, [](uint64_t) { return 1.0; });
  const Command command = contraction(0, {shape(axes, DType::kI8, {"1", "1", "1", "I", "K # 32"}),
                                          shape(axes, DType::kI32, {"1", "1", "1", "I", "1"})});
  auto expectation = expect(axes, command, a, &b, {"I"});
  EXPECT_TRUE(expectation->judge(0, 2).ok);
  EXPECT_FALSE(expectation->judge(1, 1).ok);
}

TEST(ContractionTest, AScatteredUndefinedElementIsFoundToo) {
  const TestAxes axes({{"K", 2}, {"M", 2}});
  LogicalTensor a(DType::kI8, axes.ids({"K", "M"}), axes.table());  // a column of K is scattered
  a.set(0, 1);
  a.set(2, 1);
  a.set(3, 1);  // K=0 M=1 is missing
  const LogicalTensor b = tensor(axes, DType::kI8, {"K"}, [](uint64_t) { return 1.0; });
  const Command command = contraction(0, {shape(axes, DType::kI8, {"1", "1", "1", "M", "K # 32"}),
                                          shape(axes, DType::kI32, {"1", "1", "1", "M", "1"})});
  auto expectation = expect(axes, command, a, &b, {"M"});
  EXPECT_TRUE(expectation->judge(0, 2).ok);
  EXPECT_FALSE(expectation->judge(1, 1).ok);
}

TEST(ContractionTest, AStreamMayEnterAtTheTreesWithoutASecondOperand) {
  const TestAxes axes({{"K", 4}});
  const LogicalTensor a = tensor(axes, DType::kI32, {"K"}, [](uint64_t i) { return double(i); });
  Command command;
  command.source = shape(axes, DType::kI32, {"1", "1", "1", "1", "K"});
  command.stages.push_back(
      {"contract_packet", {}, shape(axes, DType::kI32, {"1", "1", "1", "1", "1"})});
  auto expectation = expect(axes, command, a, nullptr, {});
  EXPECT_TRUE(expectation->judge(0, 6).ok);
  EXPECT_FALSE(expectation->judge(0, 5).ok);
}

// ---- Float contractions

class FloatSumTest : public ::testing::Test {
 protected:
  // The sum over K of a[K] * b[K], both bf16, converted to `to`.
  Expectation sum(const std::vector<double>& a, const std::vector<double>& b,
                  DType to = DType::kF32, bool relu = false) {
    axes_ =
        std::make_unique<TestAxes>(std::vector<std::pair<std::string, uint64_t>>{{"K", a.size()}});
    a_ = tensor(*axes_, DType::kBF16, {"K"}, [&](uint64_t i) { return a[i]; });
    b_ = tensor(*axes_, DType::kBF16, {"K"}, [&](uint64_t i) { return b[i]; });
    Command command = contraction(0, {shape(*axes_, DType::kBF16, {"1", "1", "1", "K", "1"}),
                                      shape(*axes_, DType::kF32, {"1", "1", "1", "K", "1"}),
                                      shape(*axes_, DType::kF32, {"1", "1", "1", "1", "1"})});
    if (relu) {
      command.commit_adapter.emplace();
      command.commit_adapter->cast = CastConfig{DType::kF32, to};
      command.commit_adapter->relu = true;
    } else if (to != DType::kF32) {
      command.cast = CastConfig{DType::kF32, to};
    }
    auto expectation = expect(*axes_, command, a_, &b_, {});
    EXPECT_TRUE(expectation);
    return std::move(*expectation);
  }

  static constexpr double kInf = std::numeric_limits<double>::infinity();
  static constexpr uint32_t kNaN = 0x7fc00000;
  std::unique_ptr<TestAxes> axes_;
  LogicalTensor a_, b_;
};

TEST_F(FloatSumTest, ASingleProductIsExact) {
  Expectation expectation = sum({1.5}, {1.25});
  EXPECT_TRUE(expectation.judge(0, f32(1.875)).ok);
  EXPECT_FALSE(expectation.judge(0, f32(1.875) + 1).ok);
  EXPECT_FALSE(expectation.judge(0, f32(1.875) - 1).ok);
}

TEST_F(FloatSumTest, ABoundAsLargeAsTheRoundingsAllow) {
  // sum|a b| = 4 with 3 roundings: 12 u = 12 * 2^-24; an ulp of 4 is 2^-21 = 8 u, of 3.99 4 u.
  Expectation expectation = sum({1, 1, 1, 1}, {1, 1, 1, 1});
  EXPECT_TRUE(expectation.judge(0, f32(4)).ok);
  EXPECT_TRUE(expectation.judge(0, f32(4) + 1).ok);   // 8 u above
  EXPECT_FALSE(expectation.judge(0, f32(4) + 2).ok);  // 16 u above
  EXPECT_TRUE(expectation.judge(0, f32(4) - 3).ok);   // 12 u below: gamma is a little more
  EXPECT_FALSE(expectation.judge(0, f32(4) - 4).ok);  // 16 u below
  const Judgement judgement = expectation.judge(0, f32(4) + 1);
  EXPECT_EQ(judgement.error, 0x1p-21);
  EXPECT_NEAR(judgement.fraction, 8.0 / 12.0, 1e-3);
}

TEST_F(FloatSumTest, CancellationWidensTheBoundBySumOfMagnitudes) {
  // 256 - 256 + 2^-10: exact 2^-10, sum|a b| about 512, two roundings: about 2^-14.
  Expectation expectation = sum({256, -256, 0x1p-10}, {1, 1, 1});
  EXPECT_TRUE(expectation.judge(0, f32(0x1p-10)).ok);
  EXPECT_TRUE(expectation.judge(0, f32(0x1p-10 + 0x1p-14)).ok);
  EXPECT_FALSE(expectation.judge(0, f32(0x1p-10 + 0x1p-13)).ok);
  EXPECT_FALSE(expectation.judge(0, f32(0)).ok);
}

TEST_F(FloatSumTest, AFlushedProductIsAccepted) {
  // 2^-64 * 2^-64 = 2^-128 is subnormal: the machine makes zero of it.
  Expectation expectation = sum({0x1p-64}, {0x1p-64});
  EXPECT_TRUE(expectation.judge(0, f32(0)).ok);
  EXPECT_FALSE(expectation.judge(0, f32(0x1p-120)).ok);
}

TEST_F(FloatSumTest, CastsAreMonotoneSoThatBothNeighboursOfATieAreAccepted) {
  // 1 + 2^-8 is half way between the bf16 numbers 1 and 1 + 2^-7. Two roundings of 2^-24 reach the
  // next f32, which rounds up.
  Expectation expectation = sum({1, 0x1p-9, 0x1p-9}, {1, 1, 1}, DType::kBF16);
  EXPECT_TRUE(expectation.judge(0, from_double(DType::kBF16, 1)).ok);
  EXPECT_TRUE(expectation.judge(0, from_double(DType::kBF16, 1 + 0x1p-7)).ok);
  EXPECT_FALSE(expectation.judge(0, from_double(DType::kBF16, 1 + 0x1p-6)).ok);
  EXPECT_FALSE(expectation.judge(0, from_double(DType::kBF16, 1 - 0x1p-8)).ok);
}

TEST_F(FloatSumTest, ATieThatNoRoundingCanLeaveGoesToEven) {
  // As above, but with one rounding, which gives the half way point itself.
  Expectation expectation = sum({1, 0x1p-8}, {1, 1}, DType::kBF16);
  EXPECT_TRUE(expectation.judge(0, from_double(DType::kBF16, 1)).ok);
  EXPECT_FALSE(expectation.judge(0, from_double(DType::kBF16, 1 + 0x1p-7)).ok);
}

TEST_F(FloatSumTest, AwayFromATieTheCastLeavesOneValue) {
  Expectation expectation = sum({1, 0x1p-9}, {1, 1}, DType::kBF16);
  EXPECT_TRUE(expectation.judge(0, from_double(DType::kBF16, 1)).ok);
  EXPECT_FALSE(expectation.judge(0, from_double(DType::kBF16, 1 + 0x1p-7)).ok);
}

TEST_F(FloatSumTest, ReluCutsBelowZero) {
  Expectation expectation = sum({-1, -2}, {1, 1}, DType::kBF16, true);
  EXPECT_TRUE(expectation.judge(0, 0).ok);
  EXPECT_FALSE(expectation.judge(0, from_double(DType::kBF16, -3)).ok);
}

TEST_F(FloatSumTest, NaNOperandsGiveNaN) {
  Expectation expectation = sum({NAN, 1}, {1, 1});
  EXPECT_TRUE(expectation.judge(0, kNaN).ok);
  EXPECT_FALSE(expectation.judge(0, f32(1)).ok);
  EXPECT_FALSE(expectation.judge(0, f32(kInf)).ok);
}

TEST_F(FloatSumTest, InfinityTimesZeroIsNaN) {
  Expectation expectation = sum({kInf, 1}, {0, 1});
  EXPECT_TRUE(expectation.judge(0, kNaN).ok);
  EXPECT_FALSE(expectation.judge(0, f32(kInf)).ok);
}

TEST_F(FloatSumTest, OppositeInfinitiesAreNaN) {
  Expectation expectation = sum({kInf, -kInf}, {1, 1});
  EXPECT_TRUE(expectation.judge(0, kNaN).ok);
  EXPECT_FALSE(expectation.judge(0, f32(kInf)).ok);
}

TEST_F(FloatSumTest, OneInfinityStays) {
  Expectation expectation = sum({kInf, 1}, {-1, 1});
  EXPECT_TRUE(expectation.judge(0, f32(-kInf)).ok);
  EXPECT_FALSE(expectation.judge(0, f32(kInf)).ok);
  EXPECT_FALSE(expectation.judge(0, kNaN).ok);
  EXPECT_FALSE(expectation.judge(0, f32(0)).ok);
}

TEST_F(FloatSumTest, WhereASumMayOverflowInfinityAndNaNAreAccepted) {
  // 2^127 + 2^127 overflows; so may an order that adds these first of 2^127 + 2^127 - 2^127.
  Expectation expectation = sum({0x1p127, 0x1p127, -0x1p127}, {1, 1, 1});
  EXPECT_TRUE(expectation.judge(0, f32(0x1p127)).ok);
  EXPECT_TRUE(expectation.judge(0, f32(kInf)).ok);
  EXPECT_TRUE(expectation.judge(0, kNaN).ok);
  EXPECT_FALSE(expectation.judge(0, f32(0)).ok);
}

TEST_F(FloatSumTest, WhereNoOrderOverflowsInfinityIsWrong) {
  Expectation expectation = sum({0x1p125, 0x1p125}, {1, 1});
  EXPECT_TRUE(expectation.judge(0, f32(0x1p126)).ok);
  EXPECT_FALSE(expectation.judge(0, f32(kInf)).ok);
  EXPECT_FALSE(expectation.judge(0, kNaN).ok);
}

TEST_F(FloatSumTest, LongSumsAreAddedInFull) {
  // 1000 = 62 * 16 + 8 terms: the vector part and the rest.
  std::vector<double> a, b(1000, 1);
  for (int i = 1; i <= 1000; ++i) a.push_back(i % 128);
  double expected = 0;
  for (double value : a) expected += value;
  Expectation expectation = sum(a, b);
  EXPECT_TRUE(expectation.judge(0, f32(expected)).ok);
  EXPECT_EQ(expectation.judge(0, f32(expected)).error, 0);
  // gamma(999) * sum = 6e-5 * 6e4 = 3.8: the tightest that a bound for any order can be.
  EXPECT_FALSE(expectation.judge(0, f32(expected + 8)).ok);
}

// ---- expect:

TEST(SumTest, IsDenseMathematicsOnLogicalTensors) {
  const TestAxes axes({{"I", 2}, {"J", 2}, {"K", 3}});
  const LogicalTensor a =
      tensor(axes, DType::kI8, {"I", "K"}, [](uint64_t i) { return double(i); });
  const LogicalTensor b = tensor(axes, DType::kI8, {"J", "K"}, [](uint64_t i) { return 1.0 + i; });
  Diagnostics diagnostics;
  auto expectation = Expectation::of_sum(axes.ids({"K"}), a, &b, axes.ids({"I", "J"}), DType::kI32,
                                         axes.table(), {}, diagnostics);
  ASSERT_TRUE(expectation);
  // I=1 J=1: (3 4 5) . (4 5 6) = 12 + 20 + 30 = 62.
  EXPECT_TRUE(expectation->judge(3, 62).ok);
  EXPECT_FALSE(expectation->judge(3, 61).ok);
}

TEST(SumTest, ALoneTensorIsSummedOrCopied) {
  const TestAxes axes({{"I", 2}, {"K", 3}});
  const LogicalTensor a =
      tensor(axes, DType::kBF16, {"I", "K"}, [](uint64_t i) { return double(i); });
  Diagnostics diagnostics;
  auto sum = Expectation::of_sum(axes.ids({"K"}), a, nullptr, axes.ids({"I"}), DType::kF32,
                                 axes.table(), {}, diagnostics);
  EXPECT_TRUE(sum->judge(1, f32(12)).ok);
  EXPECT_FALSE(sum->judge(1, f32(12.1)).ok);
  auto copy = Expectation::of_sum({}, a, nullptr, axes.ids({"I", "K"}), DType::kF32, axes.table(),
                                  {}, diagnostics);
  EXPECT_TRUE(copy->judge(5, f32(5)).ok);
  EXPECT_FALSE(copy->judge(5, f32(5) + 1).ok);
}

TEST(SumTest, EveryAxisMustBeSummedOrRemain) {
  const TestAxes axes({{"I", 2}, {"K", 3}});
  const LogicalTensor a = tensor(axes, DType::kI8, {"I", "K"}, [](uint64_t) { return 0.0; });
  Diagnostics diagnostics;
  EXPECT_FALSE(Expectation::of_sum({}, a, nullptr, axes.ids({"I"}), DType::kI32, axes.table(),
                                   {"k.yaml", 9, 2}, diagnostics));
  EXPECT_FALSE(Expectation::of_sum(axes.ids({"I", "K"}), a, nullptr, axes.ids({"I"}), DType::kI32,
                                   axes.table(), {"k.yaml", 10, 2}, diagnostics));
  EXPECT_THAT(diagnostics.render(), HasSubstr("k.yaml:9:2: error: the product has axis K"));
  EXPECT_THAT(diagnostics.render(), HasSubstr("k.yaml:10:2: error: axis I is summed over"));
}

TEST(SumTest, TheResultsTypeMustBeReachable) {
  const TestAxes axes({{"I", 2}});
  const LogicalTensor a = tensor(axes, DType::kI8, {"I"}, [](uint64_t) { return 0.0; });
  Diagnostics diagnostics;
  EXPECT_FALSE(Expectation::of_sum({}, a, nullptr, axes.ids({"I"}), DType::kF32, axes.table(), {},
                                   diagnostics));
  EXPECT_TRUE(diagnostics.has_errors());
}

// ---- Whole tensors

// More rows, columns and products than are taken at a time; C[I, J] of A[I, K] and B[J, K], where
// `axes` says whether I or J is the inner axis of C.
void check_large_product(DType dtype, DType out, const TestAxes& axes) {
  const auto random = [&](const std::vector<std::string>& logical, uint64_t seed) {
    LogicalTensor result(dtype, axes.ids(logical), axes.table());
    for (uint64_t i = 0; i < result.volume(); ++i) {
      result.set(i, random_bits(dtype, seed, i, is_integer(dtype) ? -128 : -1, 1));
    }
    return result;
  };
  std::vector<std::string> c_axes = {"I", "J"};
  if (axes.id("J") < axes.id("I")) std::swap(c_axes[0], c_axes[1]);
  const LogicalTensor a = random({"I", "K"}, 1), b = random({"J", "K"}, 2);
  LogicalTensor c(out, axes.ids(c_axes), axes.table());
  const uint64_t depth = axes.table().size(axes.id("K"));
  std::vector<uint64_t> changed;
  for (uint64_t i = 0; i < a.volume() / depth; ++i) {
    for (uint64_t j = 0; j < b.volume() / depth; ++j) {
      double sum = 0;
      for (uint64_t k = 0; k < depth; ++k) sum += a.value(i * depth + k) * b.value(j * depth + k);
      const uint64_t at = i * c.stride(axes.id("I")) + j * c.stride(axes.id("J"));
      const DType accumulator = accumulator_type(dtype);
      const uint32_t bits = convert(accumulator, out, from_double(accumulator, sum));
      // Far off, so that no bound allows it: floats below 2 become huge, others almost 0.
      const bool change = (i * 67 + j) % 1000 == 3;
      if (change) changed.push_back(at);
      c.set(at, change ? bits ^ uint32_t{1} << (value_bits(out) - 2) : bits);
    }
  }
  std::sort(changed.begin(), changed.end());
  ASSERT_GT(changed.size(), 5u);
  Diagnostics diagnostics;
  auto expectation = Expectation::of_sum(axes.ids({"K"}), a, &b, axes.ids(c_axes), out,
                                         axes.table(), {}, diagnostics);
  ASSERT_TRUE(expectation);
  const Verdict verdict = expectation->judge_all(c, 5);
  EXPECT_EQ(verdict.wrong, changed.size());
  EXPECT_EQ(verdict.first_wrong, std::vector<uint64_t>(changed.begin(), changed.begin() + 5));
  const Verdict each = testing::judged_one_by_one(*expectation, c, 5);
  EXPECT_EQ(verdict.wrong, each.wrong);
  EXPECT_EQ(verdict.max_error, each.max_error);
  EXPECT_NEAR(verdict.max_fraction, each.max_fraction, 1e-6);
}

TEST(WholeTensorTest, ProductsOfManyTiles) {
  const TestAxes inner_j({{"I", 131}, {"J", 67}, {"K", 70}});
  const TestAxes inner_i({{"J", 67}, {"I", 131}, {"K", 70}});
  const TestAxes deep({{"I", 131}, {"J", 67}, {"K", 1030}});
  for (const TestAxes* axes : {&inner_j, &inner_i, &deep}) {
    check_large_product(DType::kI8, DType::kI32, *axes);
    check_large_product(DType::kBF16, DType::kF32, *axes);
    check_large_product(DType::kBF16, DType::kBF16, *axes);
  }
}

TEST(WholeTensorTest, MovesInRunsAndAcrossThem) {
  const TestAxes axes({{"I", 3}, {"J", 2}, {"K", 5000}});  // more of K than is taken at a time
  LogicalTensor a(DType::kI8, axes.ids({"I", "K"}), axes.table());
  for (uint64_t i = 0; i < a.volume(); ++i) {
    if (i != 7000) a.set(i, i % 251);
  }
  auto expectation = expect(axes, move(), a, nullptr, {"I", "J", "K"});
  ASSERT_TRUE(expectation);
  LogicalTensor actual(DType::kI8, axes.ids({"I", "J", "K"}), axes.table());
  for (uint64_t i = 0; i < 3; ++i) {
    for (uint64_t j = 0; j < 2; ++j) {
      for (uint64_t k = 0; k < 5000; ++k) {
        if (k != 17) actual.set((i * 2 + j) * 5000 + k, (i * 5000 + k) % 251);
      }
    }
  }
  actual.set(4999, actual.bits(4999) ^ 2);
  // I = 1, J = 0 and 1, K = 2000 come from what was never written.
  const Verdict verdict = expectation->judge_all(actual, 2);
  EXPECT_EQ(verdict.wrong, 3u);
  EXPECT_EQ(verdict.first_wrong, (std::vector<uint64_t>{4999, 12000}));
  EXPECT_EQ(verdict.max_error, 2.0);
}

}  // namespace
}  // namespace rngdsim
