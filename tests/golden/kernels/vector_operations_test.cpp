// SPDX-License-Identifier: Apache-2.0
// Every operation of the tables of the page "Intra-Slice Chain", every argument mode, both
// conversions, and filters: values by the plain formula of each, on inputs with zeros of both
// signs, ends of the range, infinities and NaN. What the book leaves open is said in
// docs/vector.md.
#include "tests/golden/kernels/vector_example.h"

namespace rngdsim {
namespace {

using test::at_all;
using test::bits_of;
using test::example_name;
using test::flush;
using test::i32_input;
using test::kConcatPair;
using test::kMaxI32;
using test::kMinI32;
using test::kNan;
using test::kPadA;
using test::kSplitPair;
using test::kTrimA;
using test::kUnzipPair;
using test::kZeroTag;
using test::larger;
using test::PairExample;
using test::saturate;
using test::smaller;
using test::StreamExample;
using test::Value;
using test::values_at;
using test::VectorExample;
using test::wrap;

long double wide(float x) { return static_cast<long double>(flush(x)); }
uint32_t unsigned_of(int32_t x) { return bits_of(x); }

class BookOperation : public ::testing::TestWithParam<StreamExample> {};
TEST_P(BookOperation, HasTheValuesOfItsFormula) { test::run_stream_example(GetParam()); }

StreamExample integer(const char* name, const std::string& stage, Value (*of)(int32_t)) {
  return {name, 8, {kZeroTag, stage}, of};
}
StreamExample bitwise(const char* name, const std::string& stage, Value (*of)(float)) {
  return {name, 8, {kZeroTag, stage}, of};
}
StreamExample floating(const char* name, const std::string& stage, Value (*of)(float)) {
  return {name, 2, {kZeroTag, kTrimA, stage, kPadA}, of};
}

INSTANTIATE_TEST_SUITE_P(
    Logic, BookOperation,
    ::testing::Values(
        integer("bit_and", "vector_logic: {op: bit_and, operand: 0x0ff0f00f}",
                [](int32_t x) -> Value { return x & 0x0ff0f00f; }),
        integer("bit_or", "vector_logic: {op: bit_or, operand: 0x80000001}",
                [](int32_t x) -> Value { return wrap(unsigned_of(x) | 0x80000001U); }),
        integer("bit_xor", "vector_logic: {op: bit_xor, operand: -1}",
                [](int32_t x) -> Value { return ~x; }),
        integer("left_shift", "vector_logic: {op: left_shift, operand: 5}",
                [](int32_t x) -> Value { return wrap(int64_t{x} * 32); }),
        integer("left_shift_31", "vector_logic: {op: left_shift, operand: 31}",
                [](int32_t x) -> Value { return (x & 1) != 0 ? kMinI32 : 0; }),
        integer("left_shift_32", "vector_logic: {op: left_shift, operand: 32}",
                [](int32_t) -> Value { return 0; }),
        integer("logic_right_shift", "vector_logic: {op: logic_right_shift, operand: 4}",
                [](int32_t x) -> Value { return wrap(unsigned_of(x) / 16); }),
        integer("logic_right_shift_0", "vector_logic: {op: logic_right_shift, operand: 0}",
                [](int32_t x) -> Value { return x; }),
        integer("logic_right_shift_33", "vector_logic: {op: logic_right_shift, operand: 33}",
                [](int32_t) -> Value { return 0; }),
        integer("arith_right_shift", "vector_logic: {op: arith_right_shift, operand: 4}",
                [](int32_t x) -> Value { return wrap(std::lround(std::floor(x / 16.0))); }),
        integer("arith_right_shift_40", "vector_logic: {op: arith_right_shift, operand: 40}",
                [](int32_t x) -> Value { return x < 0 ? -1 : 0; }),
        // Bits of f32, subnormals and NaN among them, stay as they are.
        bitwise("bit_and_f32", "vector_logic: {op: bit_and, operand: 0x7fffffff}",
                [](float x) { return Value::raw(bits_of(x) & 0x7fffffff); }),
        bitwise("bit_or_f32", "vector_logic: {op: bit_or, operand: -0.0}",
                [](float x) { return Value::raw(bits_of(x) | 0x80000000); }),
        bitwise("bit_xor_f32", "vector_logic: {op: bit_xor, operand: 0x80000000}",
                [](float x) { return Value::raw(bits_of(x) ^ 0x80000000); })),
    example_name<StreamExample>);

INSTANTIATE_TEST_SUITE_P(
    Fxp, BookOperation,
    ::testing::Values(
        integer("add_fxp", "vector_fxp: {op: add_fxp, operand: 2147483647}",
                [](int32_t x) -> Value { return wrap(int64_t{x} + kMaxI32); }),
        integer("add_fxp_sat", "vector_fxp: {op: add_fxp_sat, operand: 1000000000}",
                [](int32_t x) -> Value { return saturate(int64_t{x} + 1'000'000'000); }),
        integer("add_fxp_sat_down", "vector_fxp: {op: add_fxp_sat, operand: -2147483648}",
                [](int32_t x) -> Value { return saturate(int64_t{x} + kMinI32); }),
        integer("sub_fxp", "vector_fxp: {op: sub_fxp, operand: -2147483648}",
                [](int32_t x) -> Value { return wrap(int64_t{x} - kMinI32); }),
        integer("sub_fxp_sat", "vector_fxp: {op: sub_fxp_sat, operand: -2147483648}",
                [](int32_t x) -> Value { return saturate(int64_t{x} - kMinI32); }),
        integer("left_shift", "vector_fxp: {op: left_shift, operand: 7}",
                [](int32_t x) -> Value { return wrap(int64_t{x} * 128); }),
        integer("left_shift_sat", "vector_fxp: {op: left_shift_sat, operand: 7}",
                [](int32_t x) -> Value { return saturate(int64_t{x} * 128); }),
        integer("left_shift_sat_31", "vector_fxp: {op: left_shift_sat, operand: 31}",
                [](int32_t x) -> Value { return x == 0  ? 0
                                                : x > 0 ? kMaxI32
                                                        : kMinI32; }),
        // 3/4 of x: of x = 2 it is 1.5, and 2; of -2 it is -1.5, and -1.
        integer("mul_fxp", "vector_fxp: {op: mul_fxp, operand: 0x60000000}",
                [](int32_t x) -> Value {
                  return wrap(std::llround(std::floor(x * 0.75L + 0.5L)));
                }),
        // -1 x: of the smallest integer, which is -1, it is the largest.
        integer("mul_fxp_min", "vector_fxp: {op: mul_fxp, operand: -2147483648}",
                [](int32_t x) -> Value { return saturate(-int64_t{x}); }),
        integer("mul_int", "vector_fxp: {op: mul_int, operand: -1000003}",
                [](int32_t x) -> Value { return wrap(int64_t{x} * -1000003); }),
        integer("logic_right_shift", "vector_fxp: {op: logic_right_shift, operand: 31}",
                [](int32_t x) -> Value { return x < 0 ? 1 : 0; }),
        integer("arith_right_shift", "vector_fxp: {op: arith_right_shift, operand: 3}",
                [](int32_t x) -> Value { return wrap(std::lround(std::floor(x / 8.0))); }),
        // Halves go up: 5 / 2 is 3, -5 / 2 is -2.
        integer("arith_right_shift_round", "vector_fxp: {op: arith_right_shift_round, operand: 1}",
                [](int32_t x) -> Value { return wrap(std::lround(std::floor(x / 2.0 + 0.5))); }),
        integer("arith_right_shift_round_0",
                "vector_fxp: {op: arith_right_shift_round, operand: 0}",
                [](int32_t x) -> Value { return x; })),
    example_name<StreamExample>);

INSTANTIATE_TEST_SUITE_P(
    Fp, BookOperation,
    ::testing::Values(
        floating("exp", "vector_fp: {op: exp}", [](float x) -> Value { return std::exp(wide(x)); }),
        floating("neg_exp", "vector_fp: {op: neg_exp}",
                 [](float x) -> Value { return std::exp(-wide(x)); }),
        floating("sqrt", "vector_fp: {op: sqrt}",
                 [](float x) -> Value { return std::sqrt(flush(x)); }),
        floating("tanh", "vector_fp: {op: tanh}",
                 [](float x) -> Value { return std::tanh(wide(x)); }),
        floating("sigmoid", "vector_fp: {op: sigmoid}",
                 [](float x) -> Value { return 1 / (1 + std::exp(-wide(x))); }),
        floating("erf", "vector_fp: {op: erf}", [](float x) -> Value { return std::erf(wide(x)); }),
        floating("log", "vector_fp: {op: log}", [](float x) -> Value { return std::log(wide(x)); }),
        floating("sin", "vector_fp: {op: sin}", [](float x) -> Value { return std::sin(wide(x)); }),
        floating("cos", "vector_fp: {op: cos}", [](float x) -> Value { return std::cos(wide(x)); }),
        floating("add_f", "vector_fp: {op: add_f, operand: 0.1}",
                 [](float x) -> Value { return flush(x) + 0.1F; }),
        floating("sub_f", "vector_fp: {op: sub_f, operand: .inf}",
                 [](float x) -> Value { return flush(x) - test::kInf; }),
        floating("mul_f_mul0", "vector_fp: {op: mul_f, alu: mul0, operand: 0.1}",
                 [](float x) -> Value { return flush(x) * 0.1F; }),
        floating("mul_f_mul1", "vector_fp: {op: mul_f, alu: mul1, operand: -1e30}",
                 [](float x) -> Value { return flush(x) * -1e30F; }),
        floating("mul_f_fma", "vector_fp: {op: mul_f, alu: fma, operand: -0.0}",
                 [](float x) -> Value { return flush(x) * -0.0F; }),
        floating("div_f", "vector_fp: {op: div_f, operand: 3}",
                 [](float x) -> Value { return flush(x) / 3; }),
        floating("div_f_by_zero", "vector_fp: {op: div_f, operand: 0}",
                 [](float x) -> Value { return flush(x) / 0.0F; }),
        // Rounded once.
        floating("fma_f", "vector_fp: {op: fma_f, operand: 0.1, operand1: 0.01}",
                 [](float x) -> Value { return std::fma(flush(x), 0.1F, 0.01F); }),
        floating("fp_div", "vector_fp_div: {operand: 3}",
                 [](float x) -> Value { return flush(x) / 3; }),
        floating("fp_div_named", "vector_fp_div: {op: DivF, mode: Mode10, operand: 1}",
                 [](float x) -> Value { return 1 / flush(x); })),
    example_name<StreamExample>);

INSTANTIATE_TEST_SUITE_P(
    Clip, BookOperation,
    ::testing::Values(
        integer("min", "vector_clip: {op: min, operand: -2}",
                [](int32_t x) -> Value { return x < -2 ? x : -2; }),
        integer("max", "vector_clip: {op: max, operand: -2}",
                [](int32_t x) -> Value { return x > -2 ? x : -2; }),
        // As wide numbers, in which the smallest has an absolute value. At a tie the second.
        integer("abs_min", "vector_clip: {op: abs_min, operand: -100}",
                [](int32_t x) -> Value { return std::abs(int64_t{x}) < 100 ? x : -100; }),
        integer("abs_max", "vector_clip: {op: abs_max, operand: -100}",
                [](int32_t x) -> Value { return std::abs(int64_t{x}) > 100 ? x : -100; }),
        integer("abs_max_of_the_ends", "vector_clip: {op: abs_max, operand: 2147483647}",
                [](int32_t x) -> Value { return x == kMinI32 ? x : kMaxI32; }),
        integer("add_fxp", "vector_clip: {op: add_fxp, operand: 1}",
                [](int32_t x) -> Value { return wrap(int64_t{x} + 1); }),
        integer("add_fxp_sat", "vector_clip: {op: add_fxp_sat, operand: 10}",
                [](int32_t x) -> Value { return saturate(int64_t{x} + 10); }),
        bitwise("min_f32", "vector_clip: {op: min, operand: -0.0}",
                [](float x) -> Value { return smaller(x, -0.0F); }),
        bitwise("min_f32_of_zero", "vector_clip: {op: min, operand: 0.0}",
                [](float x) -> Value { return smaller(x, 0.0F); }),
        bitwise("max_f32", "vector_clip: {op: max, operand: 0.0}",
                [](float x) -> Value { return larger(x, 0.0F); }),
        bitwise("max_f32_of_minus_zero", "vector_clip: {op: max, operand: -0.0}",
                [](float x) -> Value { return larger(x, -0.0F); }),
        bitwise("max_f32_of_nan", "vector_clip: {op: max, operand: .nan}",
                [](float) -> Value { return kNan; }),
        bitwise("abs_min_f32", "vector_clip: {op: abs_min, operand: -80.0}",
                [](float x) -> Value {
                  if (std::isnan(x)) return kNan;
                  return std::fabs(flush(x)) < 80 ? x : -80.0F;
                }),
        bitwise("abs_max_f32", "vector_clip: {op: abs_max, operand: 80.0}",
                [](float x) -> Value {
                  if (std::isnan(x)) return kNan;
                  return std::fabs(x) > 80 ? x : 80.0F;
                }),
        bitwise("add_f32", "vector_clip: {op: add, operand: 0.1}",
                [](float x) -> Value { return flush(x) + 0.1F; })),
    example_name<StreamExample>);

// 2^-(31 - w) and back.
INSTANTIATE_TEST_SUITE_P(
    Conversions, BookOperation,
    ::testing::Values(
        integer("fxp_to_fp_31", "vector_fxp_to_fp: {int_width: 31}",
                [](int32_t x) -> Value { return static_cast<float>(x); }),
        integer("fxp_to_fp_16", "vector_fxp_to_fp: {int_width: 16}",
                [](int32_t x) -> Value { return static_cast<float>(x) / 32768; }),
        integer("fxp_to_fp_0", "vector_fxp_to_fp: {int_width: 0}",
                [](int32_t x) -> Value { return static_cast<float>(x) / 2147483648.0F; }),
        bitwise("fp_to_fxp_31", "vector_fp_to_fxp: {int_width: 31}",
                [](float x) -> Value { return test::to_whole(x); }),
        // Where x times the power of two is too large for f32 it is too large for i32 as well.
        bitwise("fp_to_fxp_16", "vector_fp_to_fxp: {int_width: 16}",
                [](float x) -> Value { return test::to_whole(flush(x) * 32768); }),
        bitwise("fp_to_fxp_0", "vector_fp_to_fxp: {int_width: 0}",
                [](float x) -> Value { return test::to_whole(flush(x) * 2147483648.0F); })),
    example_name<StreamExample>);

// Bit patterns of i32 read as f32: small integers are subnormals, which bitwise operations and
// reinterpretations leave alone and arithmetic takes for zeros; -1 and the like are NaN of either
// sign with a payload, of which arithmetic makes one.
StreamExample patterns(const char* name, const std::vector<std::string>& stages,
                       Value (*of)(int32_t)) {
  std::vector<std::string> all = {kZeroTag, "vector_reinterpret: {dtype: f32}"};
  all.insert(all.end(), stages.begin(), stages.end());
  return {name, 8, all, of};
}
float read_as_float(int32_t x) { return test::float_of(bits_of(x)); }

INSTANTIATE_TEST_SUITE_P(
    Patterns, BookOperation,
    ::testing::Values(
        patterns("reinterpret", {}, [](int32_t x) { return Value::raw(bits_of(x)); }),
        patterns("bit_xor", {"vector_logic: {op: bit_xor, operand: 0x80000000}"},
                 [](int32_t x) { return Value::raw(bits_of(x) ^ 0x80000000U); }),
        patterns("stash_of_bits",
                 {"vector_stash", "vector_logic: {op: bit_and, operand: 0}",
                  "vector_logic: {op: bit_or, operand: stash}"},
                 [](int32_t x) { return Value::raw(bits_of(x)); }),
        patterns("add", {"vector_clip: {op: add, operand: -0.0}"},
                 [](int32_t x) -> Value { return flush(read_as_float(x)) + -0.0F; }),
        patterns("max", {"vector_clip: {op: max, operand: -0.0}"},
                 [](int32_t x) -> Value { return larger(read_as_float(x), -0.0F); }),
        patterns("mul",
                 {"vector_narrow_split: {time: \"A / 4 % 2\", packet: \"A % 4\"}",
                  "vector_fp: {op: mul_f, operand: 0x4b000000}",
                  "vector_widen_concat: {time: \"1\", packet: \"A % 8\"}"},
                 [](int32_t x) -> Value { return flush(read_as_float(x)) * 0x1p23F; }),
        patterns("fp_to_fxp", {"vector_fp_to_fxp: {int_width: 31}"},
                 [](int32_t x) -> Value { return test::to_whole(read_as_float(x)); })),
    example_name<StreamExample>);

// --- Argument modes

INSTANTIATE_TEST_SUITE_P(
    ModesOfTwo, BookOperation,
    ::testing::Values(integer("mode00", "vector_fxp: {op: sub_fxp, mode: Mode00}",
                              [](int32_t) -> Value { return 0; }),
                      integer("mode01", "vector_fxp: {op: sub_fxp, mode: Mode01, operand: 7}",
                              [](int32_t x) -> Value { return wrap(int64_t{x} - 7); }),
                      integer("mode10", "vector_fxp: {op: sub_fxp, mode: Mode10, operand: 7}",
                              [](int32_t x) -> Value { return wrap(7 - int64_t{x}); }),
                      integer("mode11", "vector_fxp: {op: add_fxp, mode: Mode11, operand: 7}",
                              [](int32_t) -> Value { return 14; }),
                      integer("square", "vector_fxp: {op: mul_int, mode: Mode00}",
                              [](int32_t x) -> Value { return wrap(int64_t{x} * x); }),
                      // 1 shifted by x, read as a number without sign.
                      integer("shift_by_the_stream",
                              "vector_logic: {op: left_shift, mode: Mode10, operand: 1}",
                              [](int32_t x) -> Value {
                                return unsigned_of(x) < 32 ? wrap(int64_t{1} << unsigned_of(x)) : 0;
                              })),
    example_name<StreamExample>);

std::string fma_mode(const std::string& mode, const std::string& operands) {
  return "vector_fp: {op: fma_f, mode: " + mode + ", " + operands + "}";
}
// op(a, b, c) = a b + c of the stream x, operand 2 and operand1 5.
INSTANTIATE_TEST_SUITE_P(
    ModesOfThree, BookOperation,
    ::testing::Values(floating("mode012", fma_mode("Mode012", "operand: 2, operand1: 5"),
                               [](float x) -> Value { return std::fma(flush(x), 2.0F, 5.0F); }),
                      floating("mode002", fma_mode("Mode002", "operand1: 5"),
                               [](float x) -> Value { return std::fma(flush(x), flush(x), 5.0F); }),
                      floating("mode102", fma_mode("Mode102", "operand: 2, operand1: 5"),
                               [](float x) -> Value { return std::fma(2.0F, flush(x), 5.0F); }),
                      floating("mode112", fma_mode("Mode112", "operand: 2, operand1: 5"),
                               [](float) -> Value { return 9.0F; }),
                      floating("mode020", fma_mode("Mode020", "operand1: 5"),
                               [](float x) -> Value { return std::fma(flush(x), 5.0F, flush(x)); }),
                      floating("mode021", fma_mode("Mode021", "operand: 2, operand1: 5"),
                               [](float x) -> Value { return std::fma(flush(x), 5.0F, 2.0F); }),
                      floating("mode120", fma_mode("Mode120", "operand: 2, operand1: 5"),
                               [](float x) -> Value { return 10.0F + flush(x); })),
    example_name<StreamExample>);

class BookPairMode : public ::testing::TestWithParam<PairExample> {};
TEST_P(BookPairMode, HasTheValuesOfItsFormula) { test::run_pair_example(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Zips, BookPairMode,
    ::testing::Values(
        PairExample("mode00", 8, {kUnzipPair, "vector_fxp: {op: add_fxp, mode: Mode00, zip: true}"},
                    [](int32_t a, int32_t) -> Value { return wrap(int64_t{a} * 2); }),
        PairExample("mode01", 8, {kUnzipPair, "vector_fxp: {op: sub_fxp, mode: Mode01, zip: true}"},
                    [](int32_t a, int32_t b) -> Value { return wrap(int64_t{a} - b); }),
        PairExample("mode10", 8, {kUnzipPair, "vector_fxp: {op: sub_fxp, mode: Mode10, zip: true}"},
                    [](int32_t a, int32_t b) -> Value { return wrap(int64_t{b} - a); }),
        PairExample("mode11", 8, {kUnzipPair, "vector_fxp: {op: add_fxp, mode: Mode11, zip: true}"},
                    [](int32_t, int32_t b) -> Value { return wrap(int64_t{b} * 2); }),
        PairExample("logic", 8, {kUnzipPair, "vector_logic: {op: bit_and, zip: true}"},
                    [](int32_t a, int32_t b) -> Value { return a & b; }),
        PairExample("clip", 8, {kUnzipPair, "vector_clip: {op: max, zip: true}"},
                    [](float a, float b) -> Value { return larger(a, b); })),
    example_name<PairExample>);

// Within a group 0 is its stream and 1 its operand. All of the 8 elements in two steps.
INSTANTIATE_TEST_SUITE_P(
    Groups, BookPairMode,
    ::testing::Values(
        PairExample("mode10_of_each", 8,
                    {kUnzipPair, "vector_fxp: {op: sub_fxp, mode: Mode10, group0: 7, group1: 9}",
                     "vector_clip: {op: min, zip: true}"},
                    [](int32_t a, int32_t b) -> Value {
                      return std::min(wrap(7 - int64_t{a}), wrap(9 - int64_t{b}));
                    }),
        PairExample("mode021_of_one", 8,
                    {kUnzipPair, "vector_narrow_split: {time: \"A / 4 % 2\", packet: \"A % 4\"}",
                     "vector_fp: {op: fma_f, mode: Mode021, group1: {operand: 2, operand1: 3}}",
                     "vector_fp: {op: mul_f, zip: true}",
                     "vector_widen_concat: {time: \"1\", packet: \"A % 8\"}"},
                    [](float a, float b) -> Value {
                      return flush(a) * flush(std::fma(flush(b), 3.0F, 2.0F));
                    }),
        PairExample("conversions_of_both", 8,
                    {kUnzipPair, "vector_fp_to_fxp: {int_width: 31}",
                     "vector_clip: {op: add_fxp_sat, zip: true}"},
                    [](float a, float b) -> Value {
                      return saturate(int64_t{test::to_whole(a)} + test::to_whole(b));
                    })),
    example_name<PairExample>);

// --- Comparisons and guards

std::string compared(const std::string& comparison) {
  return "vector_tag: {mode: {comparison: [" + comparison + ", false, false, false]}}";
}
// 1 where the comparison holds, else 0.
StreamExample comparison(const char* name, const std::string& text, Value (*of)(int32_t)) {
  return {name,
          8,
          {compared(text),
           "vector_logic: {op: bit_and, mode: Mode11, operand: [{guard: {matches: [one, ignore, "
           "ignore, ignore]}, operand: 1}, {operand: 0}]}"},
          of};
}
StreamExample comparison(const char* name, const std::string& text, Value (*of)(float)) {
  return {name,
          8,
          {compared(text),
           "vector_clip: {op: min, mode: Mode11, operand: [{guard: {not_matches: [zero, ignore, "
           "ignore, ignore]}, operand: 1.0}, {operand: 0.0}]}"},
          of};
}
Value yes(bool holds) { return holds ? 1.0F : 0.0F; }

// The unsigned pair compares bits: a negative number is above all others, and 0 below -0. By their
// values 0 and -0 are equal, and a NaN is nothing.
INSTANTIATE_TEST_SUITE_P(
    Comparisons, BookOperation,
    ::testing::Values(
        comparison("equal_i32", "{equal: 5}", [](int32_t x) -> Value { return x == 5 ? 1 : 0; }),
        comparison("less_i32", "{less: -1}", [](int32_t x) -> Value { return x < -1 ? 1 : 0; }),
        comparison("greater_i32", "{greater: -1}",
                   [](int32_t x) -> Value { return x > -1 ? 1 : 0; }),
        comparison("less_unsigned_i32", "{less_unsigned: -1}",
                   [](int32_t x) -> Value { return x != -1 ? 1 : 0; }),
        comparison("greater_unsigned_i32", "{greater_unsigned: 100}",
                   [](int32_t x) -> Value { return x < 0 || x > 100 ? 1 : 0; }),
        comparison("true_i32", "true", [](int32_t) -> Value { return 1; }),
        comparison("equal_f32", "{equal: -0.0}", [](float x) { return yes(x == 0); }),
        comparison("less_f32", "{less: 0.0}", [](float x) { return yes(x < 0); }),
        comparison("greater_f32", "{greater: -0.5}", [](float x) { return yes(x > -0.5F); }),
        comparison("less_than_infinity_f32", "{less: .inf}",
                   [](float x) { return yes(x < test::kInf); }),
        comparison("less_unsigned_f32", "{less_unsigned: -0.0}",
                   [](float x) { return yes(!std::signbit(x)); }),
        comparison("greater_unsigned_f32", "{greater_unsigned: 1.0}",
                   [](float x) { return yes(std::signbit(x) || x > 1 || std::isnan(x)); })),
    example_name<StreamExample>);

const char* const kSigns =
    "vector_tag: {mode: {comparison: [{less: 0.0}, {greater: 0.0}, false, {greater: 50.0}]}}";
// 8 elements of a slice in one flit, in two steps of 4; two guards of a bit, a group and the rest.
INSTANTIATE_TEST_SUITE_P(
    Guards, BookOperation,
    ::testing::Values(
        StreamExample("of_one_argument", 8,
                      {kSigns, "vector_narrow_split: {time: \"A / 4 % 2\", packet: \"A % 4\"}",
                       "vector_fp: {op: sqrt, guard: {matches: [ignore, one, ignore, zero]}}",
                       "vector_widen_concat: {time: \"1\", packet: \"A % 8\"}"},
                      [](float x) -> Value { return x > 0 && x <= 50 ? std::sqrt(x) : x; }),
        StreamExample("of_three_arguments", 8,
                      {kSigns, "vector_narrow_split: {time: \"A / 4 % 2\", packet: \"A % 4\"}",
                       "vector_fp: {op: fma_f, operand: [{guard: {group: 1}, operand: 0.5, "
                       "operand1: 1}, {guard: {matches: [one, ignore, ignore, ignore]}, operand: "
                       "-1, operand1: 2}, {guard: {not_matches: [zero, zero, ignore, ignore]}, "
                       "operand: 3, operand1: 3}]}",
                       "vector_widen_concat: {time: \"1\", packet: \"A % 8\"}"},
                      [](float x) -> Value {
                        if (x > 50) return std::fma(x, 0.5F, 1.0F);
                        if (x < 0) return std::fma(x, -1.0F, 2.0F);
                        return x > 0 ? std::fma(x, 3.0F, 3.0F) : x;
                      }),
        StreamExample("group_0", 8,
                      {kSigns,
                       "vector_clip: {op: add, operand: [{guard: {group: 0}, operand: 1}]}"},
                      [](float x) -> Value { return x > 50 ? x : x + 1; }),
        // A chain that a guard has skipped goes on with what entered; the group of the tag is that
        // of the entry, not of what the operation made.
        StreamExample("the_tag_of_the_entry", 8,
                      {kSigns,
                       "vector_clip: {op: min, operand: [{guard: {group: 1}, operand: -100}]}",
                       "vector_clip: {op: add, operand: [{guard: {group: 1}, operand: 1}]}"},
                      [](float x) -> Value { return x > 50 ? -99.0F : x; })),
    example_name<StreamExample>);

// The stash behind the stages that no example of the book has, each read where its way is.
INSTANTIATE_TEST_SUITE_P(
    Stashes, BookOperation,
    ::testing::Values(
        StreamExample("behind_logic_read_by_fxp", 8,
                      {kZeroTag, "vector_logic: {op: bit_and, operand: 0xff}", "vector_stash",
                       "vector_fxp: {op: mul_int, operand: 3}",
                       "vector_fxp: {op: sub_fxp, mode: Mode10, operand: stash}"},
                      [](int32_t x) -> Value { return (x & 0xff) - (x & 0xff) * 3; }),
        StreamExample("behind_fxp_read_by_clip", 8,
                      {kZeroTag, "vector_fxp: {op: add_fxp, operand: 9}", "vector_stash",
                       "vector_fxp: {op: left_shift, operand: 4}",
                       "vector_clip: {op: abs_min, operand: stash}"},
                      [](int32_t x) -> Value {
                        const int64_t sum = wrap(int64_t{x} + 9);
                        const int64_t shifted = wrap(sum * 16);
                        return wrap(std::abs(shifted) < std::abs(sum) ? shifted : sum);
                      }),
        StreamExample("behind_fp_read_by_fp_div", 2,
                      {kZeroTag, kTrimA, "vector_fp: {op: add_f, operand: 1}", "vector_stash",
                       "vector_fp: {op: mul_f, operand: 3}", "vector_fp_div: {operand: stash}",
                       kPadA},
                      [](float x) -> Value {
                        const float sum = flush(flush(x) + 1);
                        return flush(sum * 3) / sum;
                      }),
        // Across the way there and back, both halves of a flit; the second slot of a guard.
        StreamExample(
            "across_split_and_concat_guarded", 8,
            {kSigns, "vector_stash",
             "vector_narrow_split: {time: \"A / 4 % 2\", packet: \"A % 4\"}",
             "vector_fp: {op: mul_f, operand: -2}",
             "vector_widen_concat: {time: \"1\", packet: \"A % 8\"}",
             "vector_clip: {op: add, operand: [{guard: {group: 1}, operand: 1}, {operand: "
             "stash}]}"},
            [](float x) -> Value { return flush(flush(x) * -2) + (x > 50 ? 1 : x); })),
    example_name<StreamExample>);

// --- The register file

// Operands of the 4-way ALUs, of axes in Time and in Packet. They were made by a chain of main and
// went to the register file from there, those of the divider straight from data memory.
TEST(BookRegisterFile, OperandsOfTheFloatAlus) {
  const auto x = [](uint64_t s, uint64_t t, uint64_t p) {
    return test::f32_input(s * 24 + t * 8 + p);
  };
  const auto v = [](uint64_t t, uint64_t p) {
    return static_cast<float>(t) * 10 + static_cast<float>(p);
  };
  const auto w = [](uint64_t s, uint64_t p) {
    return static_cast<float>(s) - 2 + static_cast<float>(p) / 8;
  };
  VectorExample kernel("S: 4, T: 3, P: 8", 1, 4);
  kernel
      .tensor(
          "x", "dtype: f32, slice: S, element: \"T, P\"",
          at_all<uint32_t>({4, 3, 8}, [&](const auto& i) { return bits_of(x(i[0], i[1], i[2])); }))
      .tensor("v", "dtype: f32, slice: S, element: \"T, P\", logical: [T, P]",
              at_all<uint32_t>({3, 8}, [&](const auto& i) { return bits_of(v(i[0], i[1])); }))
      .tensor("w", "dtype: f32, slice: S, element: P",
              at_all<uint32_t>({4, 8}, [&](const auto& i) { return bits_of(w(i[0], i[1])); }))
      .main("v",
            {"fetch: {time: T, packet: P}", "collect", kZeroTag,
             "vector_clip: {op: add, operand: 0.25}", "to_vrf: {to: v_vrf, element: \"T, P\"}"})
      .sub("w", {"fetch: {time: \"1\", packet: P}", "collect", "to_vrf: {to: w_vrf, element: P}"})
      .main("x",
            {"fetch: {time: T, packet: P}", "collect", kZeroTag,
             "vector_narrow_split: {time: \"T, P / 4\", packet: \"P % 4\"}",
             "vector_fp: {op: fma_f, mode: Mode102, operand: {vrf: v_vrf}, operand1: -1}",
             "vector_fp_div: {operand: {vrf: w_vrf}}", "vector_widen_concat: {time: T, packet: P}",
             "commit_trim: {packet: P}", "commit: {to: y, element: \"T, P\"}"})
      .expect(values_at({4, 3, 8}, [&](const auto& i) {
        const float product = std::fma(v(i[1], i[2]) + 0.25F, x(i[0], i[1], i[2]), -1.0F);
        return flush(product) / w(i[0], i[2]);
      }));
}

// The page's chain that uses FxpAdd twice (ve_elementwise_fxp_chain).
TEST(BookAlus, WorkOnce) {
  VectorExample kernel("A: 64", 1, 8);
  kernel.tensor("x", "dtype: i32, slice: \"A / 8\", element: \"A % 8\"", test::i32_inputs(64))
      .main("x", {"fetch: {time: \"1\", packet: \"A % 8\"}", "collect", kZeroTag,
                  "vector_fxp: {op: AddFxp, operand: 10}", "vector_fxp: {op: MulInt, operand: 2}",
                  "vector_fxp: {op: SubFxp, operand: 5}", "commit_trim: {packet: \"A % 8\"}",
                  "commit: {to: y, element: \"A % 8\"}"});
  const std::string errors = kernel.errors();
  EXPECT_NE(errors.find("FxpAdd"), std::string::npos) << errors;
  EXPECT_NE(errors.find("1 error"), std::string::npos) << errors;
}

// --- Filter

// Bit 3 of the tag is the group: of x above 9 it is 1. Only those are written, doubled.
TEST(BookFilter, WritesThoseThatMeetTheGuard) {
  VectorExample kernel("A: 64", 1, 8);
  kernel.tensor("x", "dtype: i32, slice: \"A / 8\", element: \"A % 8\"", test::i32_inputs(64))
      .main("x", {"fetch: {time: \"1\", packet: \"A % 8\"}", "collect",
                  "vector_tag: {mode: {comparison: [true, false, {less: 5}, {greater: 9}]}}",
                  "vector_fxp: {op: mul_int, operand: 2}", "vector_filter: {guard: {group: 1}}",
                  "commit_trim: {packet: \"A % 8\"}", "commit: {to: y, element: \"A % 8\"}"});
  const TensorValues y = kernel.run();
  ASSERT_EQ(y.bits.size(), 64U);
  for (uint64_t a = 0; a < 64; ++a) {
    EXPECT_EQ(y.valid[a] != 0, i32_input(a) > 9) << a;
    if (y.valid[a] != 0) {
      EXPECT_EQ(y.bits[a], bits_of(wrap(int64_t{i32_input(a)} * 2))) << a;
    }
  }
}

// Of a tile of y: the others are not touched, and in the tile memory keeps what it had.
TEST(BookFilter, MemoryKeepsWhatItHad) {
  VectorExample kernel("A: 64, T: 2", 1, 8);
  kernel
      .tensor("x", "dtype: i32, slice: \"A / 8\", element: \"A % 8\", logical: [A]",
              test::i32_inputs(64))
      .tensor("y", "dtype: i32, slice: \"A / 8\", element: \"T, A % 8\"",
              at_all<uint32_t>({64, 2},
                               [](const auto& i) {
                                 return bits_of(static_cast<int32_t>(i[0] * 2 + i[1]) - 1000);
                               }))
      .main("x", {"fetch: {time: \"1\", packet: \"A % 8\"}", "collect",
                  "vector_tag: {mode: {comparison: [{less: 0}, false, false, false]}}",
                  "vector_filter: {guard: {not_matches: [one, ignore, ignore, ignore]}}",
                  "commit_trim: {packet: \"A % 8\"}", "commit: {to: y, view: {axis: T, start: 1}}"})
      .expect(values_at({64, 2}, [](const auto& i) {
        const int32_t x = i32_input(i[0]);
        if (i[1] == 1 && x >= 0) return x;
        return static_cast<int32_t>(i[0] * 2 + i[1]) - 1000;
      }));
}

}  // namespace
}  // namespace rngdsim
