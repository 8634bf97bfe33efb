// SPDX-License-Identifier: Apache-2.0
// Vector chains judged by the definition of their steps. All values are worked out on paper.
#include "reference/vector_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "numeric/arithmetic.h"
#include "tests/support/reference_program.h"

namespace rngdsim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::judged_one_by_one;
using testing::shape;
using testing::ShapeText;
using testing::tensor;
using testing::TestAxes;
using Kind = VectorStep::Kind;

constexpr double kUlp = 0x1p-23;  // of 1 in f32
constexpr uint32_t kNegativeZero = 0x80000000;

VectorOperand constant(DType dtype, double value) {
  VectorOperand operand;
  operand.kind = VectorOperand::Kind::kConstant;
  operand.bits = from_double(dtype, value);
  return operand;
}
VectorOperand vrf(TensorId tensor) {
  VectorOperand operand;
  operand.kind = VectorOperand::Kind::kVrf;
  operand.tensor = tensor;
  return operand;
}
VectorOperand stashed() {
  VectorOperand operand;
  operand.kind = VectorOperand::Kind::kStash;
  return operand;
}

VectorStep step(Kind kind, VectorOp op, DType dtype, std::vector<VectorStep::Slot> slots) {
  VectorStep result;
  result.kind = kind;
  result.op = op;
  result.dtype = dtype;
  result.slots = std::move(slots);
  return result;
}
// op(stream, operand) for all elements.
VectorStep binary(VectorOp op, DType dtype, const VectorOperand& operand) {
  return step(Kind::kBinary, op, dtype, {{{}, operand, 0}});
}
VectorStep conversion(Kind kind, uint32_t int_width) {
  VectorStep result;
  result.kind = kind;
  result.int_width = int_width;
  return result;
}
VectorStep plain(Kind kind) {
  VectorStep result;
  result.kind = kind;
  return result;
}
VectorStep filter(const TagGuard& guard) { return step(Kind::kFilter, {}, {}, {{guard, {}, 0}}); }

class ChainTest : public ::testing::Test {
 protected:
  using Sizes = std::vector<std::pair<std::string, uint64_t>>;

  // Elements of `dtype` that enter in this form.
  void enter(const Sizes& sizes, DType dtype, const ShapeText& source) {
    axes_ = std::make_unique<TestAxes>(sizes);
    program_.axes = axes_->table();
    command_.source = shape(*axes_, dtype, source);
    command_.final_shape = command_.source;
    command_.vector.emplace();
    chain().dtype = dtype;
  }
  VectorConfig& chain() { return *command_.vector; }
  // A stage behind which the stream has another form, or another type.
  void stage(const std::string& name, DType dtype, const ShapeText& after) {
    command_.stages.push_back({name, {"k.yaml", 7, 5}, shape(*axes_, dtype, after)});
    command_.final_shape = command_.stages.back().after;
  }
  void reduce(ReduceOp op, DType dtype, const ShapeText& after) {
    chain().reduce.emplace();
    chain().reduce->op = op;
    stage("vector_intra_slice_reduce", dtype, after);
  }
  void reduce_slices(ReduceOp op, DType dtype, uint64_t ratio, const ShapeText& after) {
    chain().inter.emplace();
    chain().inter->op = op;
    chain().inter->dtype = dtype;
    chain().inter->ratio = ratio;
    stage("vector_inter_slice_reduce", dtype, after);
  }
  void tag(size_t bit, CompareOp op, DType dtype, double boundary) {
    if (!chain().tags) {
      chain().tags.emplace();
    }
    (*chain().tags)[bit] = {op, from_double(dtype, boundary)};
  }

  LogicalTensor values(DType dtype, const std::vector<std::string>& logical,
                       const std::vector<double>& list) const {
    EXPECT_EQ(LogicalTensor::volume(axes_->ids(logical), axes_->table()), list.size());
    return tensor(*axes_, dtype, logical, [&](uint64_t i) { return list[i]; });
  }
  void judge(LogicalTensor a, const std::vector<std::string>& out) {
    a_ = std::move(a);
    out_axes_ = axes_->ids(out);
    Diagnostics diagnostics;
    make(out, diagnostics);
    ASSERT_EQ(diagnostics.render(), "");
    ASSERT_TRUE(expectation_);
  }
  void make(const std::vector<std::string>& out, Diagnostics& diagnostics) {
    expectation_ = Expectation::of_command(
        program_, command_, a_, b_ ? &*b_ : nullptr,
        [this](TensorId id) {
          const auto found = vrf_.find(id);
          return found == vrf_.end() ? nullptr : &found->second;
        },
        axes_->ids(out), diagnostics);
  }
  std::string faults(LogicalTensor a, const std::vector<std::string>& out) {
    a_ = std::move(a);
    Diagnostics diagnostics;
    make(out, diagnostics);
    EXPECT_FALSE(expectation_);
    return diagnostics.render();
  }

  bool accepts_bits(uint64_t offset, uint32_t bits) {
    const bool ok = expectation_->judge(offset, bits).ok;
    // The whole tensor is judged as its elements are.
    LogicalTensor actual(expectation_->dtype(), {}, axes_->table());
    if (expectation_->volume() == 1) {
      actual.set(0, bits);
      EXPECT_EQ(expectation_->judge_all(actual, 1).wrong, ok ? 0u : 1u);
    }
    return ok;
  }
  bool accepts(uint64_t offset, double value) {
    return accepts_bits(offset, from_double(expectation_->dtype(), value));
  }
  // These values, bit for bit, and no neighbour of them.
  void expect_exactly(const std::vector<double>& wanted) {
    ASSERT_EQ(expectation_->volume(), wanted.size());
    LogicalTensor actual(expectation_->dtype(), out_axes_, axes_->table());
    ASSERT_EQ(actual.volume(), wanted.size());
    for (uint64_t i = 0; i < wanted.size(); ++i) {
      const uint32_t bits = from_double(expectation_->dtype(), wanted[i]);
      EXPECT_TRUE(accepts_bits(i, bits)) << i << ": " << expectation_->expected_text(i);
      EXPECT_FALSE(accepts_bits(i, bits ^ 1)) << i;
      const Accepted accepted = expectation_->accepted(i);
      EXPECT_EQ(accepted.low, to_double(expectation_->dtype(), bits)) << i;
      EXPECT_EQ(accepted.high, accepted.low) << i;
      actual.set(i, bits);
    }
    EXPECT_EQ(expectation_->judge_all(actual, 1).wrong, 0u);
  }

  std::unique_ptr<TestAxes> axes_;
  Program program_;
  Command command_;
  std::vector<AxisId> out_axes_;
  LogicalTensor a_;
  std::optional<LogicalTensor> b_;
  std::map<TensorId, LogicalTensor> vrf_;
  std::optional<Expectation> expectation_;
};

// ---- Element by element

TEST_F(ChainTest, ReluIsBitExact) {
  enter({{"I", 4}}, DType::kF32, {"1", "1", "1", "1", "I # 8"});
  chain().back = {binary(VectorOp::kMax, DType::kF32, constant(DType::kF32, 0))};
  judge(values(DType::kF32, {"I"}, {-1.5, 2, -0.0, 3}), {"I"});
  expect_exactly({0, 2, 0, 3});
  EXPECT_FALSE(accepts_bits(2, kNegativeZero));  // +0 is above -0
  EXPECT_FALSE(expectation_->has_filter());
}

TEST_F(ChainTest, AWholeTensorIsJudgedAsItsElements) {
  enter({{"I", 100}, {"J", 90}}, DType::kI32, {"1", "I", "1", "1", "J"});
  chain().front = {binary(VectorOp::kAddFxp, DType::kI32, constant(DType::kI32, 5))};
  judge(tensor(*axes_, DType::kI32, {"I", "J"}, [](uint64_t i) { return double(i); }), {"I", "J"});
  LogicalTensor actual(DType::kI32, axes_->ids({"I", "J"}), axes_->table());
  for (uint64_t i = 0; i < actual.volume(); ++i) {
    if (i % 7 != 0)
      actual.set(i, static_cast<uint32_t>(i + 5 + (i % 4001 == 1 ? i / 1000 + 1 : 0)));
  }
  // Of 1, 4002 and 8003 only 4002 = 7 * 571 + 5, 8003 = 7 * 1143 + 2 and 1 are there: all three.
  const Verdict verdict = expectation_->judge_all(actual, 2);
  EXPECT_EQ(verdict.wrong, 3u);
  EXPECT_THAT(verdict.first_wrong, ElementsAre(1, 4002));
  EXPECT_EQ(verdict.max_error, 9);  // 8003 / 1000 + 1
  EXPECT_EQ(judged_one_by_one(*expectation_, actual, 2).wrong, 3u);
}

TEST_F(ChainTest, AnOperandFromTheVrfIsTakenAtItsOwnAxes) {
  enter({{"I", 2}, {"J", 3}}, DType::kF32, {"1", "I", "1", "1", "J # 8"});
  vrf_.emplace(3, values(DType::kF32, {"J"}, {0.5, 1, 1.5}));
  vrf_.emplace(4, values(DType::kF32, {"I"}, {100, 200}));
  chain().middle = {binary(VectorOp::kAddF, DType::kF32, vrf(3)),
                    binary(VectorOp::kSubF, DType::kF32, vrf(4))};
  judge(values(DType::kF32, {"I", "J"}, {1, 2, 3, 4, 5, 6}), {"I", "J"});
  expect_exactly({-98.5, -97, -95.5, -195.5, -194, -192.5});
}

TEST_F(ChainTest, AnOperandMayBroadcastWhatEnters) {
  enter({{"I", 2}, {"J", 2}}, DType::kF32, {"1", "1", "1", "J", "I # 8"});
  vrf_.emplace(3, values(DType::kF32, {"J"}, {10, 20}));
  chain().middle = {binary(VectorOp::kMulF, DType::kF32, vrf(3))};
  judge(values(DType::kF32, {"I"}, {1, 2}), {"I", "J"});
  expect_exactly({10, 20, 20, 40});
}

TEST_F(ChainTest, TheFirstSlotWhoseGuardHoldsDecides) {
  enter({{"I", 4}}, DType::kI32, {"1", "1", "1", "1", "I # 8"});
  tag(0, CompareOp::kLess, DType::kI32, 0);
  tag(1, CompareOp::kLess, DType::kI32, 10);
  const auto add = [](double value) { return constant(DType::kI32, value); };
  chain().front = {step(Kind::kBinary, VectorOp::kAddFxp, DType::kI32,
                        {{{1, 1, false}, add(100), 0}, {{2, 2, false}, add(1000), 0}})};
  // -5 meets both guards, 3 the second one, 10 and 20 none.
  judge(values(DType::kI32, {"I"}, {-5, 3, 10, 20}), {"I"});
  expect_exactly({95, 1003, 10, 20});
}

TEST_F(ChainTest, ANegatedGuardIsForAllOthers) {
  enter({{"I", 3}}, DType::kF32, {"1", "1", "1", "1", "I # 8"});
  tag(0, CompareOp::kLess, DType::kF32, 0);
  tag(3, CompareOp::kEqual, DType::kF32, 4);
  // Not (bit 0 clear and bit 3 set), so all but 4.
  chain().middle = {step(Kind::kUnary, VectorOp::kSqrt, DType::kF32, {{{9, 8, true}, {}, 0}})};
  judge(values(DType::kF32, {"I"}, {9, 4, 0.25}), {"I"});
  expect_exactly({3, 4, 0.5});
}

TEST_F(ChainTest, TagsAreThoseOfTheElementThatEntered) {
  enter({{"I", 2}}, DType::kF32, {"1", "1", "1", "1", "I # 8"});
  tag(0, CompareOp::kLess, DType::kF32, 0);
  const TagGuard negative{1, 1, false};
  const VectorOperand minus_one = constant(DType::kF32, -1);
  chain().middle = {step(Kind::kBinary, VectorOp::kMulF, DType::kF32, {{negative, minus_one, 0}}),
                    step(Kind::kBinary, VectorOp::kAddF, DType::kF32, {{negative, minus_one, 0}})};
  judge(values(DType::kF32, {"I"}, {-3, 3}), {"I"});
  expect_exactly({2, 3});  // -(-3) - 1, although it is above zero by then
}

TEST_F(ChainTest, TheStashIsTheStreamAsItWas) {
  enter({{"I", 2}}, DType::kF32, {"1", "1", "1", "1", "I # 8"});
  chain().front = {plain(Kind::kStash)};
  chain().middle = {binary(VectorOp::kMulF, DType::kF32, constant(DType::kF32, 2)),
                    binary(VectorOp::kAddF, DType::kF32, stashed())};
  judge(values(DType::kF32, {"I"}, {3, -4}), {"I"});
  expect_exactly({9, -12});
}

TEST_F(ChainTest, ArgumentsFollowTheMode) {
  enter({{"I", 1}}, DType::kF32, {"1", "1", "1", "1", "I # 8"});
  VectorStep subtract = binary(VectorOp::kSubF, DType::kF32, constant(DType::kF32, 10));
  subtract.arguments = {1, 0, 2};  // 10 - x
  VectorStep fma = step(Kind::kTernary, VectorOp::kFmaF, DType::kF32,
                        {{{}, constant(DType::kF32, 3), from_double(DType::kF32, 5)}});
  fma.arguments = {0, 2, 1};  // x * 5 + 3
  chain().middle = {subtract, fma};
  judge(values(DType::kF32, {"I"}, {4}), {"I"});
  expect_exactly({33});
}

TEST_F(ChainTest, FixedPointAndFloatMeetInConversions) {
  enter({{"I", 3}}, DType::kI32, {"1", "1", "1", "1", "I # 8"});
  chain().front = {conversion(Kind::kFxpToFp, 31)};
  chain().middle = {binary(VectorOp::kMulF, DType::kF32, constant(DType::kF32, 0.5))};
  chain().back = {conversion(Kind::kFpToFxp, 31)};
  // 1.5 and -1.5 are rounded away from zero.
  judge(values(DType::kI32, {"I"}, {3, -3, 4}), {"I"});
  EXPECT_EQ(expectation_->dtype(), DType::kI32);
  expect_exactly({2, -2, 2});
}

TEST_F(ChainTest, BitsMayBeReadAsTheOtherType) {
  enter({{"I", 2}}, DType::kF32, {"1", "1", "1", "1", "I # 8"});
  // f32 1.0 is 0x3f800000; the exponent is in bits 23 and above.
  chain().front = {binary(VectorOp::kArithRightShift, DType::kI32, constant(DType::kI32, 23))};
  stage("vector_reinterpret", DType::kI32, {"1", "1", "1", "1", "I # 8"});
  judge(values(DType::kF32, {"I"}, {1, 8}), {"I"});
  expect_exactly({127, 130});
}

TEST_F(ChainTest, ConversionsOnBothWays) {
  enter({{"I", 2}}, DType::kBF16, {"1", "1", "1", "1", "I # 8"});
  chain().dtype = DType::kF32;
  command_.fetch_cast = FetchCastConfig{DType::kBF16, DType::kF32};
  chain().middle = {binary(VectorOp::kAddF, DType::kF32, constant(DType::kF32, 0x1p-9))};
  command_.final_shape.dtype = DType::kBF16;
  command_.cast = CastConfig{DType::kF32, DType::kBF16};
  command_.commit_adapter.emplace();
  command_.commit_adapter->relu = true;
  // bf16 has 8 bits of significand: 1 + 2^-9 is 1 again.
  judge(values(DType::kBF16, {"I"}, {1, -2}), {"I"});
  expect_exactly({1, 0});
}

TEST_F(ChainTest, GroupsAreZippedAtTheSameIndex) {
  const std::vector<double> pairs = {1, 10, 3, 20};  // [I][G]
  const std::map<std::pair<uint8_t, uint8_t>, std::vector<double>> results = {
      {{0, 1}, {-8, -14}}, {{1, 0}, {8, 14}}, {{0, 0}, {0, 0}}, {{1, 1}, {0, 0}}};
  for (const auto& [arguments, wanted] : results) {
    enter({{"I", 2}, {"G", 2}}, DType::kF32, {"1", "1", "1", "I, G", "1 # 8"});
    chain().pair = true;
    chain().pair_axis = axes_->id("G");
    // Twice the elements of group 0.
    VectorStep zip = plain(Kind::kZip);
    zip.op = VectorOp::kSubF;
    zip.arguments = {arguments.first, arguments.second, 2};
    chain().middle = {step(Kind::kBinary, VectorOp::kMulF, DType::kF32,
                           {{{kGroupBit, 0, false}, constant(DType::kF32, 2), 0}}),
                      zip};
    command_.stages.clear();
    stage("vector_unzip", DType::kF32, {"1", "1", "1", "I", "1 # 8"});
    judge(values(DType::kF32, {"I", "G"}, pairs), {"I"});
    for (uint64_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(accepts(i, wanted[i])) << int(arguments.first) << int(arguments.second);
      EXPECT_FALSE(accepts(i, wanted[i] + 1));
    }
  }
}

// ---- Reductions

TEST_F(ChainTest, IntegersAreFoldedExactly) {
  const std::vector<double> list = {-5, 3, 4, 7, -1, -2};
  const std::map<ReduceOp, std::vector<double>> results = {
      {ReduceOp::kAddSat, {2, 4}}, {ReduceOp::kMax, {4, 7}}, {ReduceOp::kMin, {-5, -2}}};
  for (const auto& [op, wanted] : results) {
    command_.stages.clear();
    enter({{"I", 2}, {"K", 3}}, DType::kI32, {"1", "1", "1", "I, K", "1 # 4"});
    reduce(op, DType::kI32, {"1", "1", "1", "I", "1 # 4"});
    judge(values(DType::kI32, {"I", "K"}, list), {"I"});
    expect_exactly(wanted);
  }
}

TEST_F(ChainTest, OnlyIndicesThatExistAreFolded) {
  // K = 5 in two parts of 4: the upper part of K % 4 ends at 5.
  enter({{"K", 5}}, DType::kI32, {"1", "1", "1", "K # 8 / 4, K # 8 % 4", "1 # 4"});
  reduce(ReduceOp::kMin, DType::kI32, {"1", "1", "1", "K # 8 / 4", "1 # 4"});
  judge(values(DType::kI32, {"K"}, {9, 8, 7, 6, 10}), {"K"});
  EXPECT_TRUE(accepts(0, 6));
  EXPECT_TRUE(accepts(4, 10));  // itself alone
  EXPECT_FALSE(accepts(4, 0));
  // What is there as padding only is no element.
  command_.stages.clear();
  enter({{"K", 3}}, DType::kI32, {"1", "1", "1", "1", "K # 4"});
  reduce(ReduceOp::kMin, DType::kI32, {"1", "1", "1", "1", "1 # 4"});
  judge(values(DType::kI32, {"K"}, {9, 8, 7}), {});
  expect_exactly({7});
}

TEST_F(ChainTest, WhatIsThereTwiceCountsTwice) {
  enter({{"K", 3}}, DType::kI32, {"1", "1", "1", "2, K", "1 # 4"});
  reduce(ReduceOp::kAddSat, DType::kI32, {"1", "1", "1", "1", "1 # 4"});
  judge(values(DType::kI32, {"K"}, {1, 2, 5}), {});
  expect_exactly({16});
}

TEST_F(ChainTest, ASaturatingSumIsAcceptedInEveryOrder) {
  enter({{"K", 3}}, DType::kI32, {"1", "1", "1", "K", "1 # 4"});
  reduce(ReduceOp::kAddSat, DType::kI32, {"1", "1", "1", "1", "1 # 4"});
  const double most = std::numeric_limits<int32_t>::max();
  judge(values(DType::kI32, {"K"}, {most, 1, -1}), {});
  EXPECT_TRUE(accepts(0, most));      // 1 - 1 first
  EXPECT_TRUE(accepts(0, most - 1));  // most + 1 is most
  EXPECT_FALSE(accepts(0, most - 2));
}

// The sum of 1, 2^-24 and 2^-24 with 2 roundings is within 2^-23 and a little of 1 + 2^-23: 1,
// 1 + 2^-23 and 1 + 2^-22 in f32.
class FloatChainTest : public ChainTest {
 protected:
  FloatChainTest() {
    enter({{"K", 3}}, DType::kF32, {"1", "1", "1", "K", "1 # 4"});
    reduce(ReduceOp::kAdd, DType::kF32, {"1", "1", "1", "1", "1 # 4"});
  }
  void run() { judge(values(DType::kF32, {"K"}, {1, 0x1p-24, 0x1p-24}), {}); }
};

TEST_F(FloatChainTest, AFloatSumIsAnInterval) {
  run();
  EXPECT_FALSE(accepts(0, 1 - kUlp / 2));
  for (int i = 0; i <= 2; ++i) EXPECT_TRUE(accepts(0, 1 + i * kUlp)) << i;
  EXPECT_FALSE(accepts(0, 1 + 3 * kUlp));
  EXPECT_EQ(expectation_->judge(0, from_double(DType::kF32, 1 + kUlp)).error, 0);
  EXPECT_THAT(expectation_->expected_text(0), HasSubstr("+-"));
}

TEST_F(FloatChainTest, TheIntervalIsTakenThroughTheStepsBehindIt) {
  // 1 / sum is 1 - 2^-22 to 1, of which the lower end is rounded from 1 - 2^-22 + 2^-44. Then 1
  // more: 2 - 2^-22 to 2.
  VectorStep divide = binary(VectorOp::kDivF, DType::kF32, constant(DType::kF32, 1));
  divide.arguments = {1, 0, 2};
  chain().after_reduce = {divide};
  chain().back = {binary(VectorOp::kAddF, DType::kF32, constant(DType::kF32, 1))};
  run();
  EXPECT_FALSE(accepts(0, 2 - 3 * kUlp));
  for (const double below : {2.0, 1.0, 0.0}) EXPECT_TRUE(accepts(0, 2 - below * kUlp)) << below;
  EXPECT_FALSE(accepts(0, 2 + 2 * kUlp));
  const Accepted accepted = expectation_->accepted(0);
  EXPECT_EQ(accepted.low, 2 - 2 * kUlp);
  EXPECT_EQ(accepted.high, 2);
}

TEST_F(FloatChainTest, AComparisonWithinTheIntervalMayGoBothWays) {
  // The tag is taken before the reduction, so by a second command: here by the sum of slices.
  command_.stages.clear();
  chain().reduce.reset();
  command_.source = shape(*axes_, DType::kF32, {"1", "K", "1", "1", "1 # 8"});
  reduce_slices(ReduceOp::kAdd, DType::kF32, 3, {"1", "1 # 3", "1", "1", "1 # 8"});
  chain().inter_first = true;
  tag(0, CompareOp::kGreater, DType::kF32, 1);
  tag(1, CompareOp::kGreater, DType::kF32, 0.5);
  const VectorOperand ten = constant(DType::kF32, 10), hundred = constant(DType::kF32, 100);
  chain().middle = {step(Kind::kBinary, VectorOp::kMulF, DType::kF32,
                         {{{1, 1, false}, ten, 0}, {{2, 0, false}, hundred, 0}})};
  run();
  EXPECT_TRUE(accepts(0, 1));   // not above 1: unchanged
  EXPECT_TRUE(accepts(0, 10));  // 10 (1 + 2^-23), rounded
  EXPECT_FALSE(accepts(0, 11));
  EXPECT_FALSE(accepts(0, 100));  // none of the values is at most 0.5
}

TEST_F(ChainTest, AProductOfFloatsHasARoundingLessThanFactors) {
  // 3 * 5 * 7 * 2 = 210 with 3 roundings: 210 * 3 * 2^-24 is 2.46 units in the last place, 2^-16.
  enter({{"S", 4}}, DType::kF32, {"1", "S", "1", "1", "1 # 8"});
  chain().chain = false;
  reduce_slices(ReduceOp::kMul, DType::kF32, 4, {"1", "1 # 4", "1", "1", "1 # 8"});
  judge(values(DType::kF32, {"S"}, {3, 5, 7, 2}), {});
  for (int i = -2; i <= 2; ++i) EXPECT_TRUE(accepts(0, 210 + i * 0x1p-16)) << i;
  EXPECT_FALSE(accepts(0, 210 + 3 * 0x1p-16));
  EXPECT_FALSE(accepts(0, 210 - 3 * 0x1p-16));
}

TEST_F(ChainTest, TheInnermostSlicesAreFolded) {
  const std::vector<double> list = {1, 2, 3, 4, 10, 20, 30, 40};  // [I][S]
  const std::map<ReduceOp, std::vector<double>> results = {{ReduceOp::kAdd, {10, 100}},
                                                           {ReduceOp::kAddSat, {10, 100}},
                                                           {ReduceOp::kMax, {4, 40}},
                                                           {ReduceOp::kMin, {1, 10}}};
  for (const auto& [op, wanted] : results) {
    command_.stages.clear();
    enter({{"I", 2}, {"S", 4}}, DType::kI32, {"1", "I, S", "1", "1", "1 # 8"});
    chain().chain = false;
    reduce_slices(op, DType::kI32, 4, {"1", "I, 1 # 4", "1", "1", "1 # 8"});
    judge(values(DType::kI32, {"I", "S"}, list), {"I"});
    expect_exactly(wanted);
  }
}

TEST_F(ChainTest, SumsOfSlicesWrap) {
  enter({{"S", 2}}, DType::kI32, {"1", "S", "1", "1", "1 # 8"});
  chain().chain = false;
  reduce_slices(ReduceOp::kAdd, DType::kI32, 2, {"1", "1 # 2", "1", "1", "1 # 8"});
  const double most = std::numeric_limits<int32_t>::max();
  judge(values(DType::kI32, {"S"}, {most, 1}), {});
  expect_exactly({double(std::numeric_limits<int32_t>::min())});
}

TEST_F(ChainTest, FreedSlicesTakeAnAxisOfTimeOrCopies) {
  const std::vector<double> list = {1, 2, 3, 4, 10, 20, 30, 40};  // [T][S]
  for (const char* slice : {"T, 1 # 2", "T, 2", "T, N"}) {
    command_.stages.clear();
    enter({{"T", 2}, {"S", 4}, {"N", 2}}, DType::kI32, {"1", "S", "1", "T", "1 # 8"});
    chain().chain = false;
    reduce_slices(ReduceOp::kAdd, DType::kI32, 4, {"1", slice, "1", "1", "1 # 8"});
    judge(values(DType::kI32, {"T", "S"}, list), {"T"});
    expect_exactly({10, 100});
  }
}

TEST_F(ChainTest, ThePartOfAnAxisThatIsFoldedEndsWithTheAxis) {
  // S = 6 in slices of 4: S / 4 remains, S = 4 and 5 are the second sum.
  enter({{"S", 6}}, DType::kI32, {"1", "S # 8 / 4, S # 8 % 4", "1", "1", "1 # 8"});
  chain().chain = false;
  reduce_slices(ReduceOp::kAdd, DType::kI32, 4, {"1", "S # 8 / 4, 1 # 4", "1", "1", "1 # 8"});
  judge(values(DType::kI32, {"S"}, {1, 2, 3, 4, 5, 6}), {"S"});
  EXPECT_TRUE(accepts(0, 10));
  EXPECT_TRUE(accepts(4, 11));
}

TEST_F(ChainTest, TheReducerStandsBeforeOrBehindTheChain) {
  const std::vector<double> list = {-5, 3, 4, -1};
  for (const bool first : {true, false}) {
    command_.stages.clear();
    enter({{"S", 4}}, DType::kI32, {"1", "S", "1", "1", "1 # 8"});
    reduce_slices(ReduceOp::kAdd, DType::kI32, 4, {"1", "1 # 4", "1", "1", "1 # 8"});
    chain().inter_first = first;
    chain().back = {binary(VectorOp::kMax, DType::kI32, constant(DType::kI32, 0))};
    judge(values(DType::kI32, {"S"}, list), {});
    expect_exactly({first ? 1.0 : 7.0});  // max(0, -5 + 3 + 4 - 1), 0 + 3 + 4 + 0
  }
}

TEST_F(ChainTest, BothReductionsOfOneChain) {
  enter({{"S", 2}, {"K", 2}, {"I", 2}}, DType::kI32, {"1", "S", "1", "I, K", "1 # 8"});
  vrf_.emplace(1, values(DType::kI32, {"I"}, {100, 200}));
  chain().front = {binary(VectorOp::kMulInt, DType::kI32, constant(DType::kI32, 2))};
  reduce(ReduceOp::kMax, DType::kI32, {"1", "S", "1", "I", "1 # 8"});
  chain().back = {binary(VectorOp::kAddFxp, DType::kI32, vrf(1))};
  reduce_slices(ReduceOp::kAdd, DType::kI32, 2, {"1", "1 # 2", "1", "I", "1 # 8"});
  // [S][K][I]: the largest 2 x over K is 6, 8 for S = 0 and 14, 16 for S = 1.
  judge(values(DType::kI32, {"S", "K", "I"}, {1, 4, 3, 2, 5, 8, 7, 6}), {"I"});
  expect_exactly({6 + 100 + 14 + 100, 8 + 200 + 16 + 200});
}

// ---- A contraction before it

class ContractedTest : public ChainTest {
 protected:
  // The sum over K of a[K], b[K] in bf16 with a = 1, 2^-12, 2^-12 and b = sign, 2^-12, 2^-12: 1, 2
  // or 3 values as in FloatChainTest, or their opposites.
  void run(double sign) {
    a_ = values(DType::kBF16, {"K"}, {1, 0x1p-12, 0x1p-12});
    b_ = values(DType::kBF16, {"K"}, {sign, sign * 0x1p-12, sign * 0x1p-12});
    judge(a_, {});
  }
  ContractedTest() {
    enter({{"K", 3}}, DType::kBF16, {"1", "1", "1", "K", "1"});
    chain().dtype = DType::kF32;
    command_.outer.emplace();
    stage("contract_outer", DType::kBF16, {"1", "1", "1", "K", "1"});
    stage("contract_packet", DType::kF32, {"1", "1", "1", "K", "1"});
    stage("contract_time", DType::kF32, {"1", "1", "1", "1", "1"});
    stage("contract_lane", DType::kF32, {"1", "1", "1", "1", "1 # 8"});
  }
};

TEST_F(ContractedTest, ItsIntervalEntersTheChain) {
  chain().middle = {binary(VectorOp::kMulF, DType::kF32, constant(DType::kF32, 4))};
  run(1);
  EXPECT_FALSE(accepts(0, 4 - 2 * kUlp));
  for (int i = 0; i <= 2; ++i) EXPECT_TRUE(accepts(0, 4 * (1 + i * kUlp))) << i;
  EXPECT_FALSE(accepts(0, 4 * (1 + 3 * kUlp)));
}

TEST_F(ContractedTest, ReluOfItIsAPointWhereItIsBelowZero) {
  chain().back = {binary(VectorOp::kMax, DType::kF32, constant(DType::kF32, 0))};
  run(-1);
  EXPECT_TRUE(accepts(0, 0));
  EXPECT_FALSE(accepts(0, 0x1p-126));
  EXPECT_FALSE(accepts(0, -1));
}

TEST_F(ContractedTest, AFilterMayLeaveItOutOrNot) {
  const auto written = [&](double boundary) {
    chain().tags.reset();
    tag(0, CompareOp::kGreater, DType::kF32, boundary);
    chain().back = {filter({1, 1, false})};
    run(1);
    EXPECT_TRUE(expectation_->has_filter());
    return expectation_->written();
  };
  EXPECT_THAT(written(0.5), ElementsAre(Written::kYes));
  EXPECT_THAT(written(1), ElementsAre(Written::kMaybe));
  EXPECT_THAT(written(1.5), ElementsAre(Written::kNo));
}

TEST_F(ContractedTest, CastsBehindTheChainAreMonotone) {
  // 1 - 2^-9 is halfway between two bf16 numbers, 1 - 2^-8 and 1: even is 1. A little more is 1
  // too, a little less is the other.
  chain().middle = {binary(VectorOp::kAddF, DType::kF32, constant(DType::kF32, -0x1p-9 - kUlp))};
  command_.cast = CastConfig{DType::kF32, DType::kBF16};
  command_.final_shape.dtype = DType::kBF16;
  run(1);
  EXPECT_TRUE(accepts(0, 1));
  EXPECT_TRUE(accepts(0, 1 - 0x1p-8));
  EXPECT_FALSE(accepts(0, 1 - 0x1p-7));
  EXPECT_FALSE(accepts(0, 1 + 0x1p-7));
  // The best sum is 1 + 2^-23 and comes to 1 - 2^-9; the next f32 below, 2^-24 of the 2^-23 that
  // the bound allows, is the first that is rounded down.
  EXPECT_NEAR(expectation_->judge(0, from_double(DType::kBF16, 1 - 0x1p-8)).fraction, 0.5, 0.001);
  EXPECT_EQ(expectation_->judge(0, from_double(DType::kBF16, 1)).fraction, 0);
}

// ---- What was never written

TEST_F(ChainTest, WhatIsMadeFromAnUndefinedElementIsAMismatch) {
  enter({{"I", 2}, {"K", 2}}, DType::kI32, {"1", "1", "1", "I, K", "1 # 8"});
  chain().front = {binary(VectorOp::kAddFxp, DType::kI32, constant(DType::kI32, 1))};
  reduce(ReduceOp::kMax, DType::kI32, {"1", "1", "1", "I", "1 # 8"});
  LogicalTensor a(DType::kI32, axes_->ids({"I", "K"}), axes_->table());
  for (const uint64_t offset : {0, 1, 2}) a.set(offset, static_cast<uint32_t>(offset));
  judge(std::move(a), {"I"});
  EXPECT_TRUE(accepts(0, 2));
  for (const double value : {0, 3, 4}) EXPECT_FALSE(accepts(1, value));
  EXPECT_THAT(expectation_->expected_text(1), HasSubstr("poison"));
  EXPECT_EQ(expectation_->accepted(1), Accepted::nothing());
}

TEST_F(ChainTest, AnUndefinedOperandMattersWhereItIsUsed) {
  enter({{"I", 3}}, DType::kI32, {"1", "1", "1", "1", "I # 8"});
  tag(0, CompareOp::kLess, DType::kI32, 0);
  LogicalTensor bias(DType::kI32, axes_->ids({"I"}), axes_->table());
  bias.set(0, 50);
  vrf_.emplace(1, std::move(bias));
  chain().front = {
      step(Kind::kBinary, VectorOp::kAddFxp, DType::kI32, {{{1, 1, false}, vrf(1), 0}})};
  judge(values(DType::kI32, {"I"}, {-1, -2, 3}), {"I"});
  EXPECT_TRUE(accepts(0, 49));
  EXPECT_FALSE(accepts(1, -2));
  EXPECT_TRUE(accepts(2, 3));  // its operand is not used
}

// ---- Filters

TEST_F(ChainTest, AFilterTellsWhatIsWritten) {
  enter({{"I", 3}}, DType::kI32, {"1", "1", "1", "1", "I # 8"});
  tag(0, CompareOp::kLess, DType::kI32, 0);
  chain().back = {filter({1, 0, false})};
  judge(values(DType::kI32, {"I"}, {5, -5, 0}), {"I"});
  EXPECT_TRUE(expectation_->has_filter());
  EXPECT_THAT(expectation_->written(), ElementsAre(Written::kYes, Written::kNo, Written::kYes));
}

TEST_F(ChainTest, AFilterDoesNotHideWhatWasNeverWritten) {
  enter({{"I", 2}}, DType::kI32, {"1", "1", "1", "1", "I # 8"});
  tag(0, CompareOp::kLess, DType::kI32, 0);
  chain().back = {filter({1, 0, false})};
  LogicalTensor a(DType::kI32, axes_->ids({"I"}), axes_->table());
  a.set(0, static_cast<uint32_t>(-1));
  judge(std::move(a), {"I"});
  EXPECT_THAT(expectation_->written(), ElementsAre(Written::kNo, Written::kYes));
  EXPECT_FALSE(accepts(1, 0));
}

// ---- Chains that mean nothing

TEST_F(ChainTest, ATensorWithoutValuesIsAnError) {
  enter({{"I", 1}}, DType::kF32, {"1", "1", "1", "1", "I # 8"});
  chain().middle = {binary(VectorOp::kAddF, DType::kF32, vrf(9))};
  EXPECT_THAT(faults(values(DType::kF32, {"I"}, {1}), {"I"}), HasSubstr("tensor 9 of the VRF"));
}

TEST_F(ChainTest, AStashOfOtherElementsIsAnError) {
  enter({{"K", 2}}, DType::kF32, {"1", "1", "1", "K", "1 # 8"});
  chain().front = {plain(Kind::kStash)};
  reduce(ReduceOp::kMax, DType::kF32, {"1", "1", "1", "1", "1 # 8"});
  chain().after_reduce = {binary(VectorOp::kAddF, DType::kF32, stashed())};
  EXPECT_THAT(faults(values(DType::kF32, {"K"}, {1, 2}), {}), HasSubstr("stash"));
}

TEST_F(ChainTest, AGuardBehindAReductionIsAnError) {
  enter({{"K", 2}}, DType::kF32, {"1", "1", "1", "K", "1 # 8"});
  tag(0, CompareOp::kLess, DType::kF32, 0);
  reduce(ReduceOp::kMax, DType::kF32, {"1", "1", "1", "1", "1 # 8"});
  chain().back = {step(Kind::kBinary, VectorOp::kMax, DType::kF32,
                       {{{1, 1, false}, constant(DType::kF32, 0), 0}})};
  EXPECT_THAT(faults(values(DType::kF32, {"K"}, {1, 2}), {}), HasSubstr("behind a reduction"));
}

TEST_F(ChainTest, GroupsThatAreNeverZippedAreAnError) {
  enter({{"G", 2}}, DType::kF32, {"1", "1", "1", "G", "1 # 8"});
  chain().pair = true;
  chain().pair_axis = axes_->id("G");
  stage("vector_unzip", DType::kF32, {"1", "1", "1", "1", "1 # 8"});
  EXPECT_THAT(faults(values(DType::kF32, {"G"}, {1, 2}), {}), HasSubstr("never zipped"));
}

TEST_F(ChainTest, AResultThatLacksAnAxisOfAnOperandIsRefused) {
  enter({{"I", 2}, {"J", 2}}, DType::kF32, {"1", "1", "1", "J", "I # 8"});
  vrf_.emplace(3, values(DType::kF32, {"J"}, {10, 20}));
  chain().middle = {binary(VectorOp::kMulF, DType::kF32, vrf(3))};
  EXPECT_THAT(faults(values(DType::kF32, {"I"}, {1, 2}), {"I"}), HasSubstr("depends on axis J"));
}

// ---- Slices that are folded

TEST(InterSliceReductionTest, FindsTheInnermostDigits) {
  const TestAxes axes({{"A", 6}, {"B", 4}});
  Diagnostics diagnostics;
  const Reduction inner =
      derive_inter_slice_reduction(axes("A, B"), 4, axes.table(), {}, diagnostics);
  ASSERT_EQ(inner.factors.size(), 1u);
  EXPECT_EQ(inner.factors[0].size(), 4u);
  EXPECT_EQ(inner.factors[0][3], (Reduction::Index{{axes.id("B"), 3}}));
  EXPECT_EQ(inner.repeat, 1u);
  // Of A, the positions below 3.
  const Reduction part = derive_inter_slice_reduction(axes("A"), 3, axes.table(), {}, diagnostics);
  ASSERT_EQ(part.factors.size(), 1u);
  EXPECT_EQ(part.factors[0].size(), 3u);
  // Copies count.
  const Reduction copies =
      derive_inter_slice_reduction(axes("A, B, 3"), 12, axes.table(), {}, diagnostics);
  EXPECT_EQ(copies.repeat, 3u);
  EXPECT_EQ(diagnostics.render(), "");
}

TEST(InterSliceReductionTest, GroupsThatDifferAreRefused) {
  const TestAxes axes({{"A", 6}});
  Diagnostics diagnostics;
  derive_inter_slice_reduction(axes("A"), 4, axes.table(), {"k.yaml", 3, 4}, diagnostics);
  EXPECT_THAT(diagnostics.render(), HasSubstr("k.yaml:3:4: error"));
  EXPECT_THAT(diagnostics.render(), HasSubstr("innermost 4 positions of Slice"));
}

}  // namespace
}  // namespace rngdsim
