// SPDX-License-Identifier: Apache-2.0
// Chains of the Vector Engine, from the stages of a kernel to ALUs, operands and rates. The chains
// are those of the book's vector-engine pages, or are worked out beside them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string operand_text(const VectorOperand& operand) {
  switch (operand.kind) {
    case VectorOperand::Kind::kNone:
      return "";
    case VectorOperand::Kind::kConstant:
      return fmt::format("{:#x}", operand.bits);
    case VectorOperand::Kind::kVrf:
      return operand.sequencer.text();
    case VectorOperand::Kind::kStash:
      return "stash";
  }
  return "?";
}

// "mul_f FpMul0 (0x40200000)"; a guard as "mask/value:" before its operand, "!" where it is
// negated.
std::string text(const VectorStep& step) {
  switch (step.kind) {
    case VectorStep::Kind::kFxpToFp:
      return fmt::format("fxp_to_fp {}", step.int_width);
    case VectorStep::Kind::kFpToFxp:
      return fmt::format("fp_to_fxp {}", step.int_width);
    case VectorStep::Kind::kStash:
      return fmt::format("stash {}", name(step.dtype));
    default:
      break;
  }
  std::vector<std::string> slots;
  for (const VectorStep::Slot& slot : step.slots) {
    std::string text;
    if (!slot.guard.is_all()) {
      text =
          fmt::format("{}{}/{}:", slot.guard.negated ? "!" : "", slot.guard.mask, slot.guard.value);
    }
    text += operand_text(slot.operand);
    if (step.kind == VectorStep::Kind::kTernary) text += fmt::format(" {:#x}", slot.second);
    slots.push_back(text);
  }
  const std::string operands = fmt::format("({})", fmt::join(slots, ", "));
  if (step.kind == VectorStep::Kind::kFilter) return "filter " + operands;
  return fmt::format("{} {} {}", name(step.op), step.alu ? name(*step.alu) : "-",
                     step.kind == VectorStep::Kind::kZip
                         ? fmt::format("zip {}{}", step.arguments[0], step.arguments[1])
                         : operands);
}

std::vector<std::string> texts(const std::vector<VectorStep>& steps) {
  std::vector<std::string> result;
  for (const VectorStep& step : steps) result.push_back(text(step));
  return result;
}

// A chain that a stream of flits enters.
class VectorChainLowering : public testing::Test {
 protected:
  std::string dtype_ = "i32", slice_ = "1 # 256", time_ = "T", packet_ = "P";
  std::string axes_ = "T: 6, P: 8, I: 2, A: 512, R: 4, V: 4, U: 2, S: 2, X: 4, W: 64, H: 8";
  std::string tensors_;
  LoweredKernel lowered_;

  VectorConfig lower(const std::vector<std::string>& stages) {
    std::string text = "kernel: chain\naxes: {" + axes_ + "}\n";
    if (!tensors_.empty()) text += "tensors:\n" + tensors_;
    text += "program:\n  - main:\n      stream: {dtype: " + dtype_ + ", slice: \"" + slice_ +
            "\", time: \"" + time_ + "\", packet: \"" + packet_ + "\"}\n      stages:\n";
    for (const std::string& stage : stages) text += "        - " + stage + "\n";
    lowered_ = lower_text(text);
    EXPECT_EQ(lowered_.errors(), "") << text;
    if (lowered_.program.commands.empty() || !lowered_.command(0).vector) return {};
    return *lowered_.command(0).vector;
  }
  std::string out(const Mapping& mapping) const { return mapping.text(lowered_.program.axes); }
};

const char* const kZero = "vector_tag: {mode: zero}";

// The book's first example of the intra-slice chain: max(sigmoid(x + 100), 0).
TEST_F(VectorChainLowering, TheBooksPipeline) {
  time_ = "1";
  packet_ = "A % 2 # 8";
  const VectorConfig config =
      lower({kZero, "vector_fxp: {op: AddFxp, operand: 100}", "vector_fxp_to_fp: {int_width: 31}",
             "vector_narrow_trim: {packet: \"A % 2 # 4\"}", "vector_fp: {op: Sigmoid}",
             "vector_widen_pad: {packet: \"A % 2 # 8\"}", "vector_fp_to_fxp: {int_width: 31}",
             "vector_clip: {op: Max, operand: 0}"});
  EXPECT_EQ(config.dtype, DType::kI32);
  EXPECT_FALSE(config.tags.has_value());
  EXPECT_THAT(texts(config.front), ElementsAre("add_fxp FxpAdd (0x64)", "fxp_to_fp 31"));
  EXPECT_EQ(config.narrow, VectorConfig::Narrow::kTrim);
  EXPECT_THAT(texts(config.middle), ElementsAre("sigmoid FpFpu ()"));
  EXPECT_THAT(texts(config.after_reduce), IsEmpty());
  EXPECT_EQ(config.widen, VectorConfig::Widen::kPad);
  EXPECT_THAT(texts(config.back), ElementsAre("fp_to_fxp 31", "max ClipMax (0x0)"));
  EXPECT_EQ(config.flits, 1U);
  EXPECT_EQ(config.steps, 1U);
  EXPECT_EQ(config.results, 1U);
  EXPECT_EQ(lowered_.command(0).final_shape.dtype, DType::kI32);
}

// exp(sqrt(((x + 1) * 2) * 3)) of the page: five operations, five ALUs.
TEST_F(VectorChainLowering, FiveFloatAlus) {
  dtype_ = "f32";
  const VectorConfig config =
      lower({kZero, "vector_narrow_split", "vector_fp: {op: AddF, operand: 1}",
             "vector_fp: {op: MulF, alu: mul0, operand: 2}", "vector_fp: {op: MulF, operand: 3}",
             "vector_fp: {op: Sqrt}", "vector_fp: {op: Exp}", "vector_widen_concat"});
  EXPECT_THAT(texts(config.middle),
              ElementsAre("add_f FpFma (0x3f800000)", "mul_f FpMul0 (0x40000000)",
                          "mul_f FpMul1 (0x40400000)", "sqrt FpFpu ()", "exp FpExp ()"));
  EXPECT_EQ(config.flits, 6U);
  EXPECT_EQ(config.steps, 12U);  // two of 4 elements for one of 8
  EXPECT_EQ(config.results, 6U);
}

// mul_f takes Mul0, Mul1 and the FMA in this order unless the kernel says which.
TEST_F(VectorChainLowering, AMultiplicationTakesTheNextFreeAlu) {
  dtype_ = "f32";
  const VectorConfig config =
      lower({kZero, "vector_narrow_split", "vector_fp: {op: mul_f, alu: mul1, operand: 2}",
             "vector_fp: {op: mul_f, operand: 2}", "vector_fp: {op: mul_f, operand: 2}",
             "vector_widen_concat"});
  EXPECT_THAT(texts(config.middle),
              ElementsAre("mul_f FpMul1 (0x40000000)", "mul_f FpMul0 (0x40000000)",
                          "mul_f FpFma (0x40000000)"));
}

// Every operation, and the ALU that the tables of the page give it.
TEST_F(VectorChainLowering, EveryOperationHasItsAlu) {
  struct Case {
    const char* stage;
    const char* dtype;
    const char* op;
    const char* alu;
    int arguments;
  };
  const std::vector<Case> cases = {
      {"vector_logic", "i32", "BitAnd", "LogicAnd", 2},
      {"vector_logic", "i32", "BitOr", "LogicOr", 2},
      {"vector_logic", "i32", "BitXor", "LogicXor", 2},
      {"vector_logic", "i32", "LeftShift", "LogicLshift", 2},
      {"vector_logic", "i32", "LogicRightShift", "LogicRshift", 2},
      {"vector_logic", "i32", "ArithRightShift", "LogicRshift", 2},
      {"vector_logic", "f32", "BitAnd", "LogicAnd", 2},
      {"vector_logic", "f32", "BitOr", "LogicOr", 2},
      {"vector_logic", "f32", "BitXor", "LogicXor", 2},
      {"vector_fxp", "i32", "AddFxp", "FxpAdd", 2},
      {"vector_fxp", "i32", "AddFxpSat", "FxpAdd", 2},
      {"vector_fxp", "i32", "SubFxp", "FxpAdd", 2},
      {"vector_fxp", "i32", "SubFxpSat", "FxpAdd", 2},
      {"vector_fxp", "i32", "LeftShift", "FxpLshift", 2},
      {"vector_fxp", "i32", "LeftShiftSat", "FxpLshift", 2},
      {"vector_fxp", "i32", "MulFxp", "FxpMul", 2},
      {"vector_fxp", "i32", "MulInt", "FxpMul", 2},
      {"vector_fxp", "i32", "LogicRightShift", "FxpRshift", 2},
      {"vector_fxp", "i32", "ArithRightShift", "FxpRshift", 2},
      {"vector_fxp", "i32", "ArithRightShiftRound", "FxpRshift", 2},
      {"vector_fp", "f32", "Exp", "FpExp", 1},
      {"vector_fp", "f32", "NegExp", "FpExp", 1},
      {"vector_fp", "f32", "Sqrt", "FpFpu", 1},
      {"vector_fp", "f32", "Tanh", "FpFpu", 1},
      {"vector_fp", "f32", "Sigmoid", "FpFpu", 1},
      {"vector_fp", "f32", "Erf", "FpFpu", 1},
      {"vector_fp", "f32", "Log", "FpFpu", 1},
      {"vector_fp", "f32", "Sin", "FpFpu", 1},
      {"vector_fp", "f32", "Cos", "FpFpu", 1},
      {"vector_fp", "f32", "AddF", "FpFma", 2},
      {"vector_fp", "f32", "SubF", "FpFma", 2},
      {"vector_fp", "f32", "MulF", "FpMul0", 2},
      {"vector_fp", "f32", "DivF", "FpFpu", 2},
      {"vector_fp", "f32", "FmaF", "FpFma", 3},
      {"vector_fp_div", "f32", "DivF", "ReduceFpDiv", 2},
      {"vector_clip", "i32", "Min", "ClipMin", 2},
      {"vector_clip", "i32", "Max", "ClipMax", 2},
      {"vector_clip", "i32", "AbsMin", "ClipMin", 2},
      {"vector_clip", "i32", "AbsMax", "ClipMax", 2},
      {"vector_clip", "i32", "AddFxp", "ClipAdd", 2},
      {"vector_clip", "i32", "AddFxpSat", "ClipAdd", 2},
      {"vector_clip", "f32", "Min", "ClipMin", 2},
      {"vector_clip", "f32", "Max", "ClipMax", 2},
      {"vector_clip", "f32", "AbsMin", "ClipMin", 2},
      {"vector_clip", "f32", "AbsMax", "ClipMax", 2},
      {"vector_clip", "f32", "Add", "ClipAdd", 2},
  };
  for (const Case& c : cases) {
    dtype_ = c.dtype;
    const bool four_way = std::string(c.stage).rfind("vector_fp", 0) == 0;
    std::vector<std::string> stages = {kZero};
    if (four_way) stages.emplace_back("vector_narrow_split");
    stages.push_back(fmt::format("{}: {{op: {}{}{}}}", c.stage, c.op,
                                 c.arguments > 1 ? ", operand: 1" : "",
                                 c.arguments > 2 ? ", operand1: 2" : ""));
    if (four_way) stages.emplace_back("vector_widen_concat");
    const VectorConfig config = lower(stages);
    std::vector<VectorStep> steps = config.front;
    for (const auto* part : {&config.middle, &config.after_reduce, &config.back}) {
      steps.insert(steps.end(), part->begin(), part->end());
    }
    ASSERT_EQ(steps.size(), 1U) << c.op;
    ASSERT_TRUE(steps[0].alu.has_value()) << c.op;
    EXPECT_STREQ(name(*steps[0].alu), c.alu) << c.stage << " " << c.op;
    EXPECT_EQ(operand_count(steps[0].op), c.arguments) << c.op;
  }
}

// --- Operands ------------------------------------------------------------------------------------

TEST_F(VectorChainLowering, ArgumentModesOfTwo) {
  const VectorConfig config = lower({kZero, "vector_fxp: {op: SubFxp, mode: Mode10, operand: 7}",
                                     "vector_fxp: {op: MulInt, mode: Mode00}",
                                     "vector_clip: {op: max, mode: Mode11, operand: 3}"});
  ASSERT_EQ(config.front.size() + config.back.size(), 3U);
  const std::array<uint8_t, 2> swapped{config.front[0].arguments[0], config.front[0].arguments[1]};
  EXPECT_EQ(swapped, (std::array<uint8_t, 2>{1, 0}));
  EXPECT_EQ(config.front[1].arguments[0] + config.front[1].arguments[1], 0);
  EXPECT_EQ(config.front[1].slots[0].operand.kind, VectorOperand::Kind::kNone);
  EXPECT_EQ(config.back[0].arguments[0] + config.back[0].arguments[1], 2);
}

TEST_F(VectorChainLowering, ArgumentModesOfThree) {
  dtype_ = "f32";
  for (const std::string mode :
       {"Mode012", "Mode002", "Mode102", "Mode112", "Mode020", "Mode021", "Mode120"}) {
    const std::string operands =
        mode.find('1') == std::string::npos ? "operand1: 5" : "operand: 4, operand1: 5";
    const VectorConfig config = lower(
        {kZero, "vector_narrow_split",
         "vector_fp: {op: fma_f, mode: " + mode + ", " + operands + "}", "vector_widen_concat"});
    ASSERT_EQ(config.middle.size(), 1U) << mode;
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(config.middle[0].arguments[i], mode[4 + i] - '0') << mode;
    }
  }
}

// i32 whole numbers, raw bits in hexadecimal, f32 rounded to the nearest, infinities and NaN.
TEST_F(VectorChainLowering, Constants) {
  EXPECT_THAT(texts(lower({kZero, "vector_fxp: {op: add_fxp, operand: -2147483648}"}).front),
              ElementsAre("add_fxp FxpAdd (0x80000000)"));
  EXPECT_THAT(texts(lower({kZero, "vector_logic: {op: bit_and, operand: 0xfffffffe}"}).front),
              ElementsAre("bit_and LogicAnd (0xfffffffe)"));
  dtype_ = "f32";
  for (const auto& [written, bits] : std::vector<std::pair<std::string, std::string>>{
           {"1", "0x3f800000"},     // sign 0, exponent 127
           {"-0.0", "0x80000000"},  // the sign alone
           {"0.1", "0x3dcccccd"},   // 0.1 = 1.6 x 2^-4, nearest even
           {".inf", "0x7f800000"},
           {"-.inf", "0xff800000"},
           {".nan", "0x7fc00000"},
           {"0x7fffffff", "0x7fffffff"}}) {
    EXPECT_THAT(texts(lower({kZero, "vector_clip: {op: max, operand: " + written + "}"}).back),
                ElementsAre("max ClipMax (" + bits + ")"))
        << written;
  }
}

// The book's VRF example: bias A % 8 for each of N flits; its strides are 0 over Time.
TEST_F(VectorChainLowering, AnOperandFromTheVrf) {
  tensors_ =
      "  v: {memory: vrf, dtype: i32, slice: \"1 # 256\", element: \"P\", init: zero}\n"
      "  m: {memory: vrf, dtype: f32, slice: \"1 # 256\", element: \"T, P\", init: zero}\n"
      "  one: {memory: vrf, dtype: f32, slice: \"1 # 256\", element: \"1 # 8\", init: zero}\n";
  VectorConfig config = lower({kZero, "vector_fxp: {op: add_fxp, operand: {vrf: v}}"});
  EXPECT_THAT(texts(config.front), ElementsAre("add_fxp FxpAdd ([6 : 0, 8 : 1] : 8)"));
  EXPECT_EQ(config.front[0].slots[0].operand.tensor, 0U);
  dtype_ = "f32";
  // Steps of 4: T, P / 4, P % 4. One element for everybody has no strides at all.
  config = lower({kZero, "vector_narrow_split", "vector_fp: {op: mul_f, operand: {vrf: m}}",
                  "vector_fp: {op: sub_f, operand: {vrf: one}}", "vector_widen_concat"});
  EXPECT_THAT(texts(config.middle), ElementsAre("mul_f FpMul0 ([6 : 8, 2 : 4, 4 : 1] : 4)",
                                                "sub_f FpFma ([6 : 0, 2 : 0, 4 : 0] : 4)"));
  EXPECT_EQ(lowered_.command(0).reads.size(), 2U);
  EXPECT_EQ(lowered_.command(0).reads[0].memory, MemoryKind::kVrf);
  EXPECT_EQ(lowered_.command(0).reads[0].end - lowered_.command(0).reads[0].begin, 192U);
}

// The stash stands where the stream is at that place, and its dtype is the stream's.
TEST_F(VectorChainLowering, TheStashInEachPartOfAChain) {
  VectorConfig config = lower({kZero, "vector_stash", "vector_fxp: {op: add_fxp, operand: 100}",
                               "vector_clip: {op: max, operand: stash}"});
  EXPECT_THAT(texts(config.front), ElementsAre("stash i32", "add_fxp FxpAdd (0x64)"));
  EXPECT_THAT(texts(config.back), ElementsAre("max ClipMax (stash)"));
  dtype_ = "f32";
  config = lower({kZero, "vector_stash", "vector_narrow_split", "vector_fp: {op: sigmoid}",
                  "vector_widen_concat", "vector_clip: {op: max, operand: stash}"});
  EXPECT_THAT(texts(config.front), ElementsAre("stash f32"));
  EXPECT_THAT(texts(config.back), ElementsAre("max ClipMax (stash)"));
  config = lower({kZero, "vector_narrow_split", "vector_stash",
                  "vector_fp: {op: fma_f, operand: stash, operand1: 1}", "vector_widen_concat"});
  EXPECT_THAT(texts(config.middle), ElementsAre("stash f32", "fma_f FpFma (stash 0x3f800000)"));
  config = lower({kZero, "vector_narrow_split", "vector_intra_slice_reduce: {label: T, op: max}",
                  "vector_widen_concat", "vector_clip: {op: add, operand: 1}", "vector_stash",
                  "vector_clip: {op: max, operand: stash}"});
  EXPECT_THAT(texts(config.back),
              ElementsAre("add_f ClipAdd (0x3f800000)", "stash f32", "max ClipMax (stash)"));
}

// --- Tags and guards -----------------------------------------------------------------------------

// ve_elementwise_branched of the book's examples.
TEST_F(VectorChainLowering, GuardedOperands) {
  dtype_ = "f32";
  tensors_ = "  scale: {memory: vrf, dtype: f32, slice: \"1 # 256\", element: \"P\", init: zero}\n";
  const VectorConfig config = lower(
      {"vector_tag: {mode: {comparison: [{equal: 0}, {greater: 0}, {less: 0}, "
       "{less_unsigned: -0.0}]}}",
       "vector_logic: {op: BitAnd, operand: [{guard: {matches: [zero, zero, one, ignore]}, "
       "operand: 0}]}",
       "vector_narrow_split",
       "vector_fp: {op: FmaF, operand: [{guard: {not_matches: [one, ignore, ignore, ignore]}, "
       "operand: -2, operand1: 10}]}",
       "vector_widen_concat",
       "vector_clip: {op: Max, operand: [{guard: {matches: [zero, zero, one, ignore]}, operand: "
       "1}, {guard: all, operand: {vrf: scale}}]}"});
  ASSERT_TRUE(config.tags.has_value());
  EXPECT_EQ((*config.tags)[0].op, CompareOp::kEqual);
  EXPECT_EQ((*config.tags)[1].op, CompareOp::kGreater);
  EXPECT_EQ((*config.tags)[2].op, CompareOp::kLess);
  EXPECT_EQ((*config.tags)[3].op, CompareOp::kLessUnsigned);
  EXPECT_EQ((*config.tags)[3].boundary, 0x80000000U);
  // Bits from the least: zero, zero, one is mask 7, value 4.
  EXPECT_THAT(texts(config.front), ElementsAre("bit_and LogicAnd (7/4:0x0)"));
  EXPECT_THAT(texts(config.middle), ElementsAre("fma_f FpFma (!1/1:0xc0000000 0x41200000)"));
  EXPECT_THAT(texts(config.back),
              ElementsAre("max ClipMax (7/4:0x3f800000, [6 : 0, 2 : 4, 4 : 1] : 8)"));
  EXPECT_EQ(lowered_.warnings(), "");
}

// ve_branch_bit_order: three immediates of one bit each, and the stash behind the last bit.
TEST_F(VectorChainLowering, ABitOfTheTagForEachComparison) {
  const VectorConfig config = lower(
      {"vector_tag: {mode: {comparison: [{equal: 0}, {equal: 5}, {less: 10}, {greater: 1000}]}}",
       "vector_stash",
       "vector_logic: {op: BitOr, operand: [{guard: {matches: [one, ignore, ignore, ignore]}, "
       "operand: 0x100}, {guard: {matches: [ignore, ignore, one, ignore]}, operand: 0x200}, "
       "{guard: {matches: [ignore, ignore, ignore, one]}, operand: 0x400}]}",
       "vector_clip: {op: Min, operand: [{guard: {matches: [ignore, one, ignore, ignore]}, "
       "operand: stash}]}"});
  EXPECT_THAT(texts(config.front),
              ElementsAre("stash i32", "bit_or LogicOr (1/1:0x100, 4/4:0x200, 8/8:0x400)"));
  EXPECT_THAT(texts(config.back), ElementsAre("min ClipMin (2/2:stash)"));
}

TEST_F(VectorChainLowering, AGuardThatMeetsEveryTagIsNone) {
  const VectorConfig config = lower(
      {"vector_tag: {mode: {comparison: [{less: 0}, false, false, true]}}",
       "vector_fxp: {op: add_fxp, operand: [{guard: {matches: [ignore, ignore, ignore, ignore]}, "
       "operand: 1}]}",
       "vector_filter: {guard: {group: 1}}"});
  EXPECT_THAT(texts(config.front), ElementsAre("add_fxp FxpAdd (0x1)"));
  EXPECT_THAT(texts(config.back), ElementsAre("filter (8/8:)"));
  EXPECT_EQ(config.results, 6U);  // a mask: the flits stay
}

// Tag bit 2 is never one: legal, but nobody meant it.
TEST_F(VectorChainLowering, AGuardThatTheTagsNeverMeetIsWarnedOf) {
  lower({"vector_tag: {mode: {comparison: [{less: 0}, true, false, false]}}",
         "vector_fxp: {op: add_fxp, operand: [{guard: {matches: [ignore, ignore, one, ignore]}, "
         "operand: 1}]}"});
  EXPECT_EQ(lowered_.warnings(),
            "vector_fxp: the Tag stage gives no element a tag that meets this guard\n");
}

// --- Pair mode -----------------------------------------------------------------------------------

// ve_group_pair_ternary: each group its own operands, then a zip; two flits a result.
TEST_F(VectorChainLowering, APairUntilItsZip) {
  dtype_ = "f32";
  time_ = "T, I";
  const VectorConfig config =
      lower({"vector_unzip: {axis: I, slice: \"T, 1 # 2\", time: T}",
             "vector_narrow_split: {time: \"T, P / 4\", packet: \"P % 4\"}",
             "vector_fp: {op: FmaF, group0: {operand: 2, operand1: 1}, group1: {operand: 3, "
             "operand1: 2}}",
             "vector_fp: {op: sqrt, group0: true}",
             "vector_fp: {op: MulF, alu: mul0, zip: true, mode: Mode10}",
             "vector_widen_concat: {time: T, packet: P}"});
  EXPECT_TRUE(config.pair);
  EXPECT_EQ(config.pair_axis, *lowered_.program.axes.find("I"));
  EXPECT_THAT(texts(config.middle),
              ElementsAre("fma_f FpFma (8/0:0x40000000 0x3f800000, 8/8:0x40400000 0x40000000)",
                          "sqrt FpFpu (8/0:)", "mul_f FpMul0 zip 10"));
  EXPECT_EQ(config.flits, 12U);  // 6 pairs
  EXPECT_EQ(config.steps, 24U);  // each flit two steps
  EXPECT_EQ(config.results, 6U);
  EXPECT_EQ(out(lowered_.command(0).final_shape.time), "T");
}

// A zip before narrow: 12 flits in, 6 merged ones, which narrow makes 12 steps of.
TEST_F(VectorChainLowering, AZipBeforeNarrow) {
  time_ = "T, I";
  const VectorConfig config =
      lower({"vector_unzip: {axis: I}", "vector_fxp: {op: add_fxp, zip: true}",
             "vector_fxp_to_fp: {int_width: 31}", "vector_narrow_split", "vector_fp: {op: exp}",
             "vector_widen_concat"});
  EXPECT_EQ(config.flits, 12U);
  EXPECT_EQ(config.steps, 12U);
  EXPECT_EQ(config.results, 6U);
}

// --- The inter-slice reducer ---------------------------------------------------------------------

// "size:out_stride:slot_stride" of each digit of Time.
std::vector<std::string> loops(const InterSliceConfig& config) {
  std::vector<std::string> result;
  for (const auto& loop : config.loops) {
    result.push_back(fmt::format("{}:{}:{}", loop.size, loop.out_stride, loop.slot_stride));
  }
  return result;
}

// The page's examples: a dummy, a broadcast and a promotion in the place of R.
TEST_F(VectorChainLowering, ADummyTakesThePlaceOfTheReducedAxis) {
  slice_ = "W, R";
  time_ = "1";
  const VectorConfig config =
      lower({"vector_inter_slice_reduce: {op: AddSat, slice: \"W, 1 # 4\", time: \"1\"}"});
  ASSERT_TRUE(config.inter.has_value());
  EXPECT_FALSE(config.chain);
  EXPECT_TRUE(config.inter_first);
  EXPECT_EQ(config.inter->op, ReduceOp::kAddSat);
  EXPECT_EQ(config.inter->ratio, 4U);
  EXPECT_THAT(config.inter->slots, ElementsAre(0, -1, -1, -1));
  EXPECT_EQ(config.inter->flits, 1U);
  EXPECT_EQ(config.inter->results, 1U);
  EXPECT_EQ(out(lowered_.command(0).final_shape.slice), "W, 1 # 4");
}

TEST_F(VectorChainLowering, ABroadcastTakesThePlaceOfTheReducedAxis) {
  dtype_ = "f32";
  slice_ = "W, R";
  const VectorConfig config = lower({"vector_inter_slice_reduce: {op: add, slice: \"W, X\"}"});
  EXPECT_THAT(config.inter->slots, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(loops(*config.inter), ElementsAre("6:1:0"));
  EXPECT_EQ(config.inter->results, 6U);
}

TEST_F(VectorChainLowering, APromotionTakesThePlaceOfTheReducedAxis) {
  dtype_ = "f32";
  slice_ = "W, R";
  time_ = "S, V, U";
  const VectorConfig config =
      lower({"vector_inter_slice_reduce: {op: add, slice: \"W, V\", time: \"S, U\"}"});
  // Output flits are [S, U]: S every 2, U every 1; a position takes the V of its own index.
  EXPECT_THAT(loops(*config.inter), ElementsAre("2:2:0", "4:0:1", "2:1:0"));
  EXPECT_THAT(config.inter->slots, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(config.inter->flits, 16U);
  EXPECT_EQ(config.inter->results, 4U);
}

// Two promoted axes in another order than in Time, and a dummy between: position (u, d, v) of
// [U, 1 # 2, V] holds something where d = 0, and takes v (stride 2 over u, inner in Time) and u.
TEST_F(VectorChainLowering, ReplacementsMixAndReorder) {
  slice_ = "A / 32, A / 2 % 16";  // the innermost 16 slices are reduced
  time_ = "S, V, U";
  const VectorConfig config =
      lower({"vector_inter_slice_reduce: {op: max, slice: \"A / 32, U, 1 # 2, V\", time: S}"});
  ASSERT_TRUE(config.inter.has_value());
  EXPECT_EQ(config.inter->ratio, 16U);
  EXPECT_THAT(loops(*config.inter), ElementsAre("2:1:0", "4:0:2", "2:0:1"));
  EXPECT_THAT(config.inter->slots,
              ElementsAre(0, 2, 4, 6, -1, -1, -1, -1, 1, 3, 5, 7, -1, -1, -1, -1));
}

// Part of an axis: R = H / 2 is reduced in Slice, H % 2 stays.
TEST_F(VectorChainLowering, PartOfAnAxisIsReduced) {
  slice_ = "W, H / 2";
  time_ = "T, H % 2";
  const VectorConfig config = lower({"vector_inter_slice_reduce: {op: add, slice: \"W, 1 # 4\"}"});
  ASSERT_TRUE(config.inter.has_value());
  EXPECT_EQ(config.inter->ratio, 4U);
  EXPECT_EQ(out(lowered_.command(0).final_shape.time), "T, H % 2");
}

// Both orders of the index page: ReLU then reduce, reduce then bias.
TEST_F(VectorChainLowering, TheChainBeforeAndBehindTheReducer) {
  slice_ = "W, R";
  VectorConfig config = lower({kZero, "vector_clip: {op: Max, operand: 0}",
                               "vector_inter_slice_reduce: {op: AddSat, slice: \"W, 1 # 4\"}"});
  EXPECT_TRUE(config.chain);
  EXPECT_FALSE(config.inter_first);
  EXPECT_EQ(config.results, 6U);
  time_ = "S, V, U";
  config = lower({"vector_inter_slice_reduce: {op: AddSat, slice: \"W, V\"}", kZero,
                  "vector_fxp: {op: AddFxp, operand: 100}"});
  EXPECT_TRUE(config.chain);
  EXPECT_TRUE(config.inter_first);
  EXPECT_EQ(config.inter->flits, 16U);
  EXPECT_EQ(config.flits, 4U);  // that come from the reducer
  EXPECT_EQ(config.results, 4U);
}

// Where no step follows a reinterpretation, the reduction, the result and what enters behind the
// reducer say themselves how the bits are read.
TEST_F(VectorChainLowering, AReinterpretationHoldsForWhatFollowsIt) {
  dtype_ = "f32";
  VectorConfig config = lower({kZero, "vector_narrow_split", "vector_reinterpret: {dtype: i32}",
                               "vector_intra_slice_reduce: {label: T, op: max}",
                               "vector_widen_concat", "vector_reinterpret: {dtype: f32}"});
  ASSERT_TRUE(config.reduce.has_value());
  EXPECT_EQ(config.dtype, DType::kF32);
  EXPECT_EQ(config.reduce->dtype, DType::kI32);
  EXPECT_EQ(config.result_dtype, DType::kF32);
  slice_ = "W, R";
  config = lower({kZero, "vector_clip: {op: max, operand: 0}", "vector_reinterpret: {dtype: i32}",
                  "vector_inter_slice_reduce: {op: max, slice: \"W, 1 # 4\"}"});
  EXPECT_EQ(config.dtype, DType::kF32);
  EXPECT_EQ(config.result_dtype, DType::kI32);
  config = lower({"vector_inter_slice_reduce: {op: max, slice: \"W, 1 # 4\"}",
                  "vector_reinterpret: {dtype: i32}", kZero, "vector_clip: {op: max, operand: 0}"});
  EXPECT_EQ(config.dtype, DType::kI32);
  EXPECT_EQ(config.result_dtype, DType::kI32);
}

// Who reads the results behind a reducer knows their type from it alone.
TEST_F(VectorChainLowering, AReinterpretationBehindTheReducerIsTold) {
  slice_ = "W, R";
  const std::string reduce = "vector_inter_slice_reduce: {op: add, slice: \"W, 1 # 4\"}";
  const std::string clip = "vector_clip: {op: Max, operand: 0}";
  EXPECT_EQ(lower({kZero, clip, reduce}).inter->result_dtype, DType::kI32);
  const VectorConfig config =
      lower({kZero, clip, reduce, "vector_reinterpret: {dtype: f32}", "cast: {dtype: bf16}"});
  EXPECT_EQ(config.inter->dtype, DType::kI32);
  EXPECT_EQ(config.inter->result_dtype, DType::kF32);
}

}  // namespace
}  // namespace rngdsim
