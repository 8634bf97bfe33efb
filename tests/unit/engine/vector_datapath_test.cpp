// SPDX-License-Identifier: Apache-2.0
// Vector chains on values: what the book says of tags, guards, operands, argument modes, stash,
// pairs, narrow and widen, worked out by hand on small integers.
#include "engine/vector_datapath.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "support/diagnostic.h"

namespace rngdsim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = VectorStep::Kind;
using Narrow = VectorConfig::Narrow;
using Widen = VectorConfig::Widen;

constexpr uint32_t kChainSlices = 2;
constexpr int kInvalid = -9999;

uint32_t word(int value) { return static_cast<uint32_t>(value); }
uint32_t float_code(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Tensors of a VRF of which element e of slice s is base + e + 100 s, but for those that were never
// written. Remembers what was read.
class FakeVrf final : public VrfReader {
 public:
  void read(TensorId tensor, uint64_t element, uint32_t* bits, uint8_t* valid) const override {
    reads.emplace_back(tensor, element);
    if (bits == nullptr) return;
    for (uint32_t s = 0; s < kChainSlices; ++s) {
      bits[s] = word(base + static_cast<int>(element) + 100 * static_cast<int>(s));
      valid[s] = unwritten == std::pair<uint64_t, uint32_t>(element, s) ? 0 : 1;
    }
  }
  int base = 1000;
  std::pair<uint64_t, uint32_t> unwritten{~uint64_t{0}, 0};  // element, slice
  mutable std::vector<std::pair<TensorId, uint64_t>> reads;
};

VectorOperand constant(int value) {
  VectorOperand operand;
  operand.kind = VectorOperand::Kind::kConstant;
  operand.bits = word(value);
  return operand;
}
VectorOperand stash() {
  VectorOperand operand;
  operand.kind = VectorOperand::Kind::kStash;
  return operand;
}
VectorOperand vrf(std::vector<SequencerEntry> entries, uint64_t packet_size) {
  VectorOperand operand;
  operand.kind = VectorOperand::Kind::kVrf;
  operand.tensor = 7;
  operand.sequencer = {std::move(entries), packet_size};
  return operand;
}

VectorStep binary(VectorOp op, VectorOperand operand,
                  std::array<uint8_t, 3> arguments = {0, 1, 2}) {
  VectorStep step;
  step.kind = Kind::kBinary;
  step.op = op;
  step.dtype = DType::kI32;
  step.arguments = arguments;
  step.slots = {{TagGuard(), std::move(operand), 0}};
  return step;
}
VectorStep add(int value) { return binary(VectorOp::kAddFxp, constant(value)); }
VectorStep zip(VectorOp op, std::array<uint8_t, 3> arguments = {0, 1, 2}) {
  VectorStep step = binary(op, {}, arguments);
  step.kind = Kind::kZip;
  step.slots.clear();
  return step;
}
VectorStep of_kind(Kind kind) {
  VectorStep step;
  step.kind = kind;
  step.dtype = DType::kI32;
  return step;
}
TagGuard bits(uint8_t mask, uint8_t value, bool negated = false) { return {mask, value, negated}; }

class VectorDatapathTest : public ::testing::Test {
 protected:
  VectorDatapathTest() { config.dtype = DType::kI32; }

  void begin() { chain.begin(config, &pool, kChainSlices, &memory); }
  // Element e of slice s is values[e] + 10 s; -9999: not valid (slice 0).
  StreamItem flit(const std::vector<int>& values, DType dtype = DType::kI32) {
    StreamItem item;
    item.valid = 8;
    item.values = pool.allocate(dtype, static_cast<uint32_t>(values.size()));
    for (uint32_t e = 0; e < values.size(); ++e) {
      for (uint32_t s = 0; s < kChainSlices; ++s) {
        item.values->set_bits(e, s, word(values[e] + 10 * static_cast<int>(s)));
      }
      if (values[e] != kInvalid) continue;
      item.values->track_validity();
      item.values->valid_row(e)[0] = 0;
    }
    return item;
  }
  // Takes a flit and, where it waits, its second half.
  void take(const std::vector<int>& values) { take(flit(values)); }
  void take(const StreamItem& item) {
    const bool flit_emits = chain.flit_emits();
    keep(flit_emits, chain.take_flit(item));
    if (chain.half_waits()) take_half();
  }
  void take_half() {
    const bool half_emits = chain.half_emits();
    keep(half_emits, chain.take_half());
  }
  void keep(bool announced, std::optional<VectorDatapath::Result> result) {
    EXPECT_EQ(announced, result.has_value()) << "step " << steps;
    ++steps;
    if (result) results.push_back(std::move(*result));
  }
  std::vector<int> values(size_t index, uint32_t slice = 0) const {
    const Block& block = *results.at(index).values;
    std::vector<int> all;
    for (uint32_t e = 0; e < block.elements; ++e) {
      all.push_back(block.is_valid(e, slice) ? static_cast<int>(block.bits(e, slice)) : kInvalid);
    }
    return all;
  }

  BlockPool pool{kChainSlices};
  FakeVrf memory;
  VectorConfig config;
  VectorDatapath chain;
  std::vector<VectorDatapath::Result> results;
  int steps = 0;
};

// ---- Operands and argument modes

TEST_F(VectorDatapathTest, AConstantIsForAllElements) {
  config.front = {add(100)};
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(values(0), ElementsAre(101, 102, 103, 104, 105, 106, 107, 108));
  EXPECT_THAT(values(0, 1), ElementsAre(111, 112, 113, 114, 115, 116, 117, 118));
  EXPECT_TRUE(results[0].values->all_valid);
}

TEST_F(VectorDatapathTest, TheFlitThatCameIsNotTouched) {
  config.front = {add(100)};
  begin();
  const StreamItem item = flit({1, 2, 3, 4, 5, 6, 7, 8});
  take(item);
  EXPECT_EQ(item.values->bits(0, 0), 1u);
  EXPECT_EQ(values(0)[0], 101);
}

// 7 - x, x * x, 7 - 7.
TEST_F(VectorDatapathTest, BinaryModes) {
  config.front = {binary(VectorOp::kSubFxp, constant(7), {1, 0, 2}),
                  binary(VectorOp::kMulInt, {}, {0, 0, 2})};
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(values(0), ElementsAre(36, 25, 16, 9, 4, 1, 0, 1));
}

TEST_F(VectorDatapathTest, AnOperandAloneDoesNotNeedTheStream) {
  config.front = {binary(VectorOp::kSubFxp, constant(7), {1, 1, 2}), add(1)};
  begin();
  take({kInvalid, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(values(0), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
}

// x = 2, operand0 = 3, operand1 = 5: x 3 + 5, 3 x + 5, 3 3 + 5, x 5 + 3, 3 5 + x, x x + 5, x 5 + x.
TEST_F(VectorDatapathTest, TernaryModes) {
  const std::pair<std::array<uint8_t, 3>, float> cases[] = {
      {{0, 1, 2}, 11}, {{1, 0, 2}, 11}, {{1, 1, 2}, 14}, {{0, 2, 1}, 13},
      {{1, 2, 0}, 17}, {{0, 0, 2}, 9},  {{0, 2, 0}, 12}};
  config.dtype = DType::kF32;
  for (const auto& [arguments, wanted] : cases) {
    VectorStep fma = binary(VectorOp::kFmaF, constant(0), arguments);
    fma.kind = Kind::kTernary;
    fma.dtype = DType::kF32;
    fma.slots[0].operand.bits = float_code(3);
    fma.slots[0].second = float_code(5);
    config.middle = {fma};
    config.narrow = Narrow::kTrim;
    begin();
    results.clear();
    StreamItem item = flit({0, 0, 0, 0, 0, 0, 0, 0}, DType::kF32);
    for (uint32_t e = 0; e < 8; ++e) item.values->set_bits(e, 1, float_code(2));
    take(item);
    EXPECT_EQ(results[0].values->bits(3, 1), float_code(wanted));
  }
}

TEST_F(VectorDatapathTest, UnaryAndConversions) {
  VectorStep to_float = of_kind(Kind::kFxpToFp), root = of_kind(Kind::kUnary),
             to_fixed = of_kind(Kind::kFpToFxp);
  to_float.int_width = 29;  // two fraction bits: 36 is 9
  root.op = VectorOp::kSqrt;
  root.dtype = DType::kF32;
  root.slots = {{}};
  to_fixed.int_width = 30;  // one: 3 is 6
  config.front = {to_float};
  config.narrow = Narrow::kTrim;
  config.middle = {root};
  config.widen = Widen::kPad;
  config.back = {to_fixed};
  begin();
  take({36, 64, 4, 0, 1, 1, 1, 1});
  EXPECT_THAT(values(0), ElementsAre(6, 8, 2, 0, kInvalid, kInvalid, kInvalid, kInvalid));
  EXPECT_EQ(results[0].values->dtype, DType::kI32);
}

// The stream's bits stay, its type is what it is read as.
TEST_F(VectorDatapathTest, ResultsHaveTheTypeTheyAreReadAs) {
  config.front = {add(0)};
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(results[0].values->dtype, DType::kI32);
  config.result_dtype = DType::kF32;
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(results[1].values->dtype, DType::kF32);
  EXPECT_EQ(values(1)[2], 3);
}

// ---- Tags and guards

// Bit 0: below 0; bit 1: equal to 5; bit 2: above 4; bit 3: always.
std::array<VectorConfig::Compare, 4> tags_of_the_tests() {
  return {{{CompareOp::kLess, 0},
           {CompareOp::kEqual, 5},
           {CompareOp::kGreater, 4},
           {CompareOp::kTrue, 0}}};
}

TEST_F(VectorDatapathTest, TheFirstSlotWhoseGuardHoldsServes) {
  config.tags = tags_of_the_tests();
  VectorStep step = add(0);
  step.slots = {{bits(1, 1), constant(100), 0},
                {bits(2, 2), constant(200), 0},
                {bits(4, 4), constant(300), 0}};
  config.front = {step};
  begin();
  take({-1, 5, 6, 4, 0, -7, 5, 50});
  EXPECT_THAT(values(0), ElementsAre(99, 205, 306, 4, 0, 93, 205, 350));
  // Slice 1: 9, 15, 16, 14, 10, 3, 15, 60.
  EXPECT_THAT(values(0, 1), ElementsAre(309, 315, 316, 314, 310, 3, 315, 360));
}

TEST_F(VectorDatapathTest, ASlotForAllIsTheElse) {
  config.tags = tags_of_the_tests();
  VectorStep step = add(0);
  step.slots = {{bits(1, 1), constant(100), 0}, {TagGuard(), constant(1), 0}};
  config.front = {step};
  begin();
  take({-1, 5, 6, 4, 0, -7, 5, 50});
  EXPECT_THAT(values(0), ElementsAre(99, 6, 7, 5, 1, 93, 6, 51));
}

// Tags are those of what entered, whatever became of it; bits of more than one kind.
TEST_F(VectorDatapathTest, TagsStayAndGuardsMayBeNegated) {
  config.tags = tags_of_the_tests();
  VectorStep step = add(0);
  step.slots = {{bits(0b1110, 0b1100, true), constant(100), 0}};  // not: above 4, not 5, always
  config.front = {add(1000), step};
  begin();
  take({-1, 5, 6, 4, 0, -7, 5, 50});
  EXPECT_THAT(values(0), ElementsAre(1099, 1105, 1006, 1104, 1100, 1093, 1105, 1050));
}

TEST_F(VectorDatapathTest, WithoutTagsEveryTagIsZero) {
  VectorStep step = add(0);
  step.slots = {{bits(1, 1), constant(100), 0}, {bits(8, 0), constant(10), 0}};
  config.front = {step};
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(values(0), ElementsAre(11, 12, 13, 14, 15, 16, 17, 18));
  step.slots = {{bits(1, 1), constant(100), 0}};
  config.front = {step};
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(values(1), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(VectorDatapathTest, TagsGoThroughSplitAndConcat) {
  config.tags = tags_of_the_tests();
  VectorStep step = add(0);
  step.slots = {{bits(1, 1), constant(100), 0}};
  config.narrow = Narrow::kSplit;
  config.middle = {step};
  config.widen = Widen::kConcat;
  step.slots = {{bits(2, 2), constant(200), 0}};
  config.back = {step};
  begin();
  take({-1, 5, 6, 4, 0, -7, 5, 50});
  take({5, 5, 0, 0, 0, 0, -1, -1});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(values(0), ElementsAre(99, 205, 6, 4, 0, 93, 205, 50));
  EXPECT_THAT(values(1), ElementsAre(205, 205, 0, 0, 0, 0, 99, 99));
}

TEST_F(VectorDatapathTest, TagsGoThroughTrimAndPadOrConcat) {
  config.tags = tags_of_the_tests();
  VectorStep step = add(0);
  step.slots = {{bits(2, 2), constant(200), 0}};
  config.narrow = Narrow::kTrim;
  config.widen = Widen::kPad;
  config.back = {step};
  begin();
  take({-1, 5, 6, 5, 5, 5, 5, 5});
  EXPECT_THAT(values(0), ElementsAre(-1, 205, 6, 205, kInvalid, kInvalid, kInvalid, kInvalid));
  config.widen = Widen::kConcat;
  begin();
  take({-1, 5, 6, 5, 0, 0, 0, 0});
  take({5, 4, 4, 4, 0, 0, 0, 0});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(values(1), ElementsAre(-1, 205, 6, 205, 205, 4, 4, 4));
}

// ---- Validity

TEST_F(VectorDatapathTest, AnElementIsValidWhereWhatItUsedIs) {
  memory.unwritten = {2, 0};
  VectorStep step = add(0);
  step.slots = {{bits(1, 1), constant(100), 0}, {bits(4, 4), vrf({{8, 1}}, 8), 0}};
  config.tags = tags_of_the_tests();
  config.front = {step};
  begin();
  // Element 2 does not use the VRF, though it was not written there; element 1 does.
  take({-1, 6, -3, 6, kInvalid, 0, 0, 0});
  EXPECT_THAT(values(0), ElementsAre(99, 1007, 97, 1009, kInvalid, 0, 0, 0));
  begin();
  take({-1, 6, 6, 6, 0, 0, 0, 0});
  EXPECT_THAT(values(1), ElementsAre(99, 1007, kInvalid, 1009, 0, 0, 0, 0));
  EXPECT_EQ(values(1, 1)[2], 16 + 1102);  // the other slice has it
}

TEST_F(VectorDatapathTest, AnUnwrittenOperandSpoilsOnlyItsElement) {
  memory.unwritten = {2, 0};
  config.front = {binary(VectorOp::kAddFxp, vrf({{8, 1}}, 8))};
  begin();
  take({0, 0, 0, 0, 0, kInvalid, 0, 0});
  EXPECT_THAT(values(0), ElementsAre(1000, 1001, kInvalid, 1003, 1004, kInvalid, 1006, 1007));
  EXPECT_EQ(values(0, 1)[2], 1112);
}

// A guard that looks at the tag of an element without a value decides nothing.
TEST_F(VectorDatapathTest, ATagOfNoValueIsUnknown) {
  config.tags = tags_of_the_tests();
  VectorStep step = binary(VectorOp::kAddFxp, constant(7), {1, 1, 2});
  step.slots[0].guard = bits(8, 8);  // holds for every tag
  config.front = {step};
  begin();
  take({kInvalid, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(values(0), ElementsAre(kInvalid, 14, 14, 14, 14, 14, 14, 14));
}

// ---- VRF

// Time of two flits, the second loop not in the tensor: both read elements 0 .. 7.
TEST_F(VectorDatapathTest, VrfOperandsWalkWithTheStream) {
  config.front = {binary(VectorOp::kAddFxp, vrf({{2, 8}, {2, 0}, {8, 1}}, 8))};
  begin();
  for (int i = 0; i < 4; ++i) take({0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_THAT(values(0), ElementsAre(1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007));
  EXPECT_THAT(values(1), ElementsAre(1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007));
  EXPECT_THAT(values(3, 1), ElementsAre(1118, 1119, 1120, 1121, 1122, 1123, 1124, 1125));
}

TEST_F(VectorDatapathTest, VrfOperandsOfStepsOfFour) {
  config.narrow = Narrow::kSplit;
  config.middle = {binary(VectorOp::kAddFxp, vrf({{2, 4}, {4, 1}}, 4))};
  begin();
  take({0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_THAT(values(0), ElementsAre(1000, 1001, 1002, 1003));
  EXPECT_THAT(values(1), ElementsAre(1004, 1005, 1006, 1007));
}

// What is read is counted alike with and without values; a group that does not want the operand
// does not read it, but goes along.
TEST_F(VectorDatapathTest, ReadsDoNotDependOnValues) {
  config.pair = true;
  VectorStep step = binary(VectorOp::kAddFxp, vrf({{2, 8}, {2, 0}, {8, 1}}, 8));
  step.slots[0].guard = bits(kGroupBit, kGroupBit);
  config.front = {step};
  config.back = {zip(VectorOp::kAddFxp)};
  begin();
  for (int i = 0; i < 4; ++i) take({0, 0, 0, 0, 0, 0, 0, 0});
  const auto reads = memory.reads;
  ASSERT_EQ(reads.size(), 16u);
  EXPECT_EQ(reads[0], (std::pair<TensorId, uint64_t>(7, 0)));
  EXPECT_EQ(reads[15], (std::pair<TensorId, uint64_t>(7, 15)));
  memory.reads.clear();
  chain.begin(config, nullptr, kChainSlices, &memory);
  for (int i = 0; i < 4; ++i) take(StreamItem());
  EXPECT_EQ(memory.reads, reads);
}

TEST_F(VectorDatapathTest, AVrfOperandWithoutVrfIsAnInternalError) {
  config.front = {binary(VectorOp::kAddFxp, vrf({{8, 1}}, 8))};
  chain.begin(config, &pool, kChainSlices, nullptr);
  EXPECT_THROW(take({0, 0, 0, 0, 0, 0, 0, 0}), InternalError);
}

// ---- Stash

TEST_F(VectorDatapathTest, AStashIsWhatTheStreamWas) {
  config.front = {of_kind(Kind::kStash), add(100), binary(VectorOp::kSubFxp, stash())};
  begin();
  take({1, 2, 3, 4, 5, 6, 7, kInvalid});
  EXPECT_THAT(values(0), ElementsAre(100, 100, 100, 100, 100, 100, 100, kInvalid));
}

// (2 x) x at the end of narrow and widen.
TEST_F(VectorDatapathTest, AStashGoesPastNarrowAndWiden) {
  config.front = {of_kind(Kind::kStash)};
  config.narrow = Narrow::kSplit;
  config.middle = {binary(VectorOp::kMulInt, constant(2))};
  config.widen = Widen::kConcat;
  config.back = {binary(VectorOp::kMulInt, stash())};
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  take({2, 2, 3, 4, 5, 6, 7, 9});
  EXPECT_THAT(values(0), ElementsAre(2, 8, 18, 32, 50, 72, 98, 128));
  EXPECT_THAT(values(1), ElementsAre(8, 8, 18, 32, 50, 72, 98, 162));
  config.narrow = Narrow::kTrim;
  config.widen = Widen::kPad;
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(values(2), ElementsAre(2, 8, 18, 32, kInvalid, kInvalid, kInvalid, kInvalid));
}

// The other two: halves that are filled up one by one, front halves that are joined.
TEST_F(VectorDatapathTest, AStashIsCutAndJoinedLikeTheStream) {
  config.front = {of_kind(Kind::kStash)};
  config.narrow = Narrow::kSplit;
  config.middle = {binary(VectorOp::kMulInt, constant(2))};
  config.widen = Widen::kPad;
  config.back = {binary(VectorOp::kAddFxp, stash())};
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(values(0), ElementsAre(3, 6, 9, 12, kInvalid, kInvalid, kInvalid, kInvalid));
  EXPECT_THAT(values(1), ElementsAre(15, 18, 21, 24, kInvalid, kInvalid, kInvalid, kInvalid));
  config.narrow = Narrow::kTrim;
  config.widen = Widen::kConcat;
  begin();
  take({1, 2, 3, 4, 0, 0, 0, 0});
  take({5, 6, 7, 8, 0, 0, 0, 0});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_THAT(values(2), ElementsAre(3, 6, 9, 12, 15, 18, 21, 24));
}

// Behind widen both are flits of 8, whatever was narrowed before.
TEST_F(VectorDatapathTest, AStashBehindWidenIsTakenAsItIs) {
  config.narrow = Narrow::kTrim;
  config.widen = Widen::kPad;
  config.back = {of_kind(Kind::kStash), add(1), binary(VectorOp::kMulInt, stash())};
  begin();
  take({1, 2, 3, 4, 0, 0, 0, 0});
  EXPECT_THAT(values(0), ElementsAre(2, 6, 12, 20, kInvalid, kInvalid, kInvalid, kInvalid));
}

TEST_F(VectorDatapathTest, AStashOfAFlitIsReadInHalves) {
  config.front = {of_kind(Kind::kStash), add(10)};
  config.narrow = Narrow::kSplit;
  config.middle = {binary(VectorOp::kMulInt, stash())};
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  take({1, 1, 1, 1, 2, 2, 2, 2});
  EXPECT_THAT(values(0), ElementsAre(11, 24, 39, 56));
  EXPECT_THAT(values(1), ElementsAre(75, 96, 119, 144));
  EXPECT_THAT(values(3), ElementsAre(24, 24, 24, 24));
  config.narrow = Narrow::kTrim;
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  take({3, 3, 3, 3, 5, 6, 7, 8});
  EXPECT_THAT(values(5), ElementsAre(39, 39, 39, 39));
}

TEST_F(VectorDatapathTest, AStashOfHalvesIsReadAsAFlit) {
  config.narrow = Narrow::kSplit;
  config.middle = {of_kind(Kind::kStash), add(10)};
  config.widen = Widen::kConcat;
  config.back = {binary(VectorOp::kMulInt, stash())};
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(values(0), ElementsAre(11, 24, 39, 56, 75, 96, 119, 144));
  config.narrow = Narrow::kTrim;
  config.widen = Widen::kPad;
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(values(1), ElementsAre(11, 24, 39, 56, kInvalid, kInvalid, kInvalid, kInvalid));
}

TEST_F(VectorDatapathTest, AStashThatWasNotWrittenIsAnInternalError) {
  config.front = {binary(VectorOp::kAddFxp, stash())};
  begin();
  EXPECT_THROW(take({0, 0, 0, 0, 0, 0, 0, 0}), InternalError);
}

// ---- Pairs

TEST_F(VectorDatapathTest, ZipMakesOneFlitOfTwo) {
  config.pair = true;
  config.front = {zip(VectorOp::kSubFxp)};
  begin();
  EXPECT_TRUE(chain.holds_next_flit());
  take({10, 20, 30, 40, 50, 60, 70, 80});
  EXPECT_FALSE(chain.holds_next_flit());
  EXPECT_THAT(results, IsEmpty());
  take({1, 2, 3, 4, 5, 6, 7, 8});
  take({5, 5, 5, 5, 5, 5, 5, 5});
  take({1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(values(0), ElementsAre(9, 18, 27, 36, 45, 54, 63, 72));
  EXPECT_THAT(values(1), ElementsAre(4, 3, 2, 1, 0, -1, -2, -3));
}

// op(0, 0), op(1, 0), op(1, 1) of 10 and 1; what is not used may be invalid.
TEST_F(VectorDatapathTest, ZipModes) {
  const std::pair<std::array<uint8_t, 3>, std::pair<int, int>> cases[] = {
      {{0, 0, 2}, {100, kInvalid}}, {{1, 0, 2}, {10, kInvalid}}, {{1, 1, 2}, {1, 4}}};
  for (const auto& [arguments, wanted] : cases) {
    config.pair = true;
    config.back = {zip(VectorOp::kMulInt, arguments)};
    begin();
    results.clear();
    take({10, kInvalid, 10, 10, 10, 10, 10, 10});
    take({1, 2, kInvalid, 1, 1, 1, 1, 1});
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(values(0)[0], wanted.first);
    EXPECT_EQ(values(0)[1], wanted.second);
    EXPECT_EQ(values(0)[2], arguments[0] == 0 && arguments[1] == 0 ? 100 : kInvalid);
  }
}

// In steps of four: g0 h0, g0 h1, g1 h0, g1 h1. Each group has its own constant before.
TEST_F(VectorDatapathTest, ZipBehindSplitMeetsTheSameHalf) {
  config.pair = true;
  config.narrow = Narrow::kSplit;
  VectorStep step = add(0);
  step.slots = {{bits(kGroupBit, 0), constant(1000), 0},
                {bits(kGroupBit, kGroupBit), constant(100), 0}};
  config.middle = {step, zip(VectorOp::kSubFxp)};
  config.widen = Widen::kConcat;
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  take({0, 0, 0, 0, 1, 1, 1, 1});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(values(0), ElementsAre(901, 902, 903, 904, 904, 905, 906, 907));
  EXPECT_EQ(results[0].valid, 8u);
}

TEST_F(VectorDatapathTest, ZipBehindWiden) {
  config.pair = true;
  config.narrow = Narrow::kSplit;
  config.widen = Widen::kConcat;
  config.back = {zip(VectorOp::kMax), add(1)};
  begin();
  for (int i = 0; i < 2; ++i) {
    take({1, 9, 3, 9, 5, 9, 7, 9});
    take({2, 2, 2, 2, 6, 6, 6, 6});
  }
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(values(1), ElementsAre(3, 10, 4, 10, 7, 10, 8, 10));
}

// Behind zip there are no groups any more.
TEST_F(VectorDatapathTest, BehindZipTheTagIsZero) {
  config.pair = true;
  VectorStep step = add(0);
  step.slots = {{bits(kGroupBit, kGroupBit), constant(100), 0},
                {bits(kGroupBit, 0), constant(1), 0}};
  config.front = {zip(VectorOp::kAddFxp), step};
  begin();
  take({1, 1, 1, 1, 1, 1, 1, 1});
  take({2, 2, 2, 2, 2, 2, 2, 2});
  EXPECT_THAT(values(0), ElementsAre(4, 4, 4, 4, 4, 4, 4, 4));
}

// The second half of a merged flit is its own step.
TEST_F(VectorDatapathTest, ZipBeforeSplit) {
  config.pair = true;
  config.front = {zip(VectorOp::kAddFxp)};
  config.narrow = Narrow::kSplit;
  begin();
  EXPECT_FALSE(chain.flit_stays());
  EXPECT_FALSE(chain.flit_emits());
  EXPECT_FALSE(chain.take_flit(flit({1, 2, 3, 4, 5, 6, 7, 8})));
  EXPECT_FALSE(chain.half_waits());
  EXPECT_TRUE(chain.flit_emits());
  keep(true, chain.take_flit(flit({10, 10, 10, 10, 20, 20, 20, 20})));
  EXPECT_TRUE(chain.half_waits());
  EXPECT_TRUE(chain.holds_next_flit());
  take_half();
  EXPECT_FALSE(chain.take_flit(flit({1, 2, 3, 4, 5, 6, 7, 8})));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(values(0), ElementsAre(11, 12, 13, 14));
  EXPECT_THAT(values(1), ElementsAre(25, 26, 27, 28));
}

// ---- Reduction in a chain

// Of 2 flits of 8, split: element e of both halves and flits; then times 2, padded, plus 1.
TEST_F(VectorDatapathTest, ReduceBetweenSteps) {
  config.front = {add(1)};
  config.narrow = Narrow::kSplit;
  config.middle = {binary(VectorOp::kMulInt, constant(10))};
  VectorConfig::Reduce& reduce = config.reduce.emplace();
  reduce.op = ReduceOp::kAddSat;
  reduce.time.loops = {{4, true}};
  reduce.time.capacity = 8;
  config.after_reduce = {binary(VectorOp::kMulInt, constant(2))};
  config.widen = Widen::kPad;
  config.back = {add(1)};
  begin();
  take({0, 1, 2, 3, 0, 0, 0, 0});
  take({0, 0, 0, 0, 0, 0, 0, 5});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(values(0), ElementsAre(81, 101, 121, 241, kInvalid, kInvalid, kInvalid, kInvalid));
}

// Compared as integers or as floats: the codes of -1 and -2 are in the other order.
TEST_F(VectorDatapathTest, AReductionReadsTheStreamAsItSays) {
  const uint32_t one = float_code(-1), two = float_code(-2);
  config.dtype = DType::kF32;
  config.narrow = Narrow::kTrim;
  VectorConfig::Reduce& reduce = config.reduce.emplace();
  reduce.op = ReduceOp::kMax;
  reduce.time.loops = {{2, true}};
  reduce.time.capacity = 8;
  for (const auto& [dtype, wanted] :
       {std::pair<std::optional<DType>, uint32_t>{std::nullopt, one}, {DType::kI32, two}}) {
    reduce.dtype = dtype;
    begin();
    results.clear();
    for (const uint32_t code : {one, two}) {
      StreamItem item = flit({0, 0, 0, 0, 0, 0, 0, 0}, DType::kF32);
      for (uint32_t e = 0; e < 8; ++e) item.values->set_bits(e, 0, code);
      take(item);
    }
    EXPECT_EQ(results.at(0).values->bits(0, 0), wanted);
  }
}

// ---- Filter

std::vector<int> kept(const BlockRef& keep, uint32_t slice) {
  std::vector<int> all;
  for (uint32_t e = 0; e < keep->elements; ++e) all.push_back(keep->row<uint8_t>(e)[slice]);
  return all;
}

TEST_F(VectorDatapathTest, FilterTellsWhichElementsAreWritten) {
  config.tags = tags_of_the_tests();
  VectorStep filter = of_kind(Kind::kFilter);
  filter.slots = {{bits(4, 4), {}, 0}};
  config.back = {add(1), filter};
  begin();
  take({-1, 5, 6, 4, kInvalid, -7, 5, 50});
  EXPECT_THAT(values(0), ElementsAre(0, 6, 7, 5, kInvalid, -6, 6, 51));
  // What was compared without a value is written, and found there.
  EXPECT_THAT(kept(results[0].keep, 0), ElementsAre(0, 1, 1, 0, 1, 0, 1, 1));
  EXPECT_THAT(kept(results[0].keep, 1), ElementsAre(1, 1, 1, 1, 0, 0, 1, 1));
}

TEST_F(VectorDatapathTest, FilterOfOneTagAndOfAll) {
  VectorStep filter = of_kind(Kind::kFilter);
  filter.slots = {{bits(1, 1), {}, 0}};
  config.back = {filter};
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(kept(results[0].keep, 1), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  filter.slots = {{}};
  config.back = {filter};
  begin();
  take({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_FALSE(results[1].keep);
}

// ---- What makes a chain long

TEST_F(VectorDatapathTest, CountsAlusAndConversions) {
  VectorStep used = add(1);
  used.alu = Alu::kFxpAdd;
  VectorStep divides = used;
  divides.alu = Alu::kReduceFpDiv;
  config.front = {of_kind(Kind::kStash), used, of_kind(Kind::kFxpToFp)};
  config.narrow = Narrow::kTrim;
  config.middle = {used};
  VectorConfig::Reduce& reduce = config.reduce.emplace();
  reduce.time.loops = {{2, true}};
  reduce.time.capacity = 8;
  config.after_reduce = {divides};
  config.widen = Widen::kPad;
  config.back = {of_kind(Kind::kFpToFxp), used};
  begin();
  EXPECT_EQ(chain.alus(), 5u);  // with the accumulator tree
  EXPECT_EQ(chain.conversions(), 2u);
  config = VectorConfig();
  begin();
  EXPECT_EQ(chain.alus(), 0u);
  EXPECT_EQ(chain.conversions(), 0u);
}

}  // namespace
}  // namespace rngdsim
