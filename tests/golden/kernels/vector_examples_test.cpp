// SPDX-License-Identifier: Apache-2.0
// The examples of elementwise work, pairs and branches: those of the pages "Vector Engine" and
// "Intra-Slice Chain" of the vendor's book, and ve_* of its example files, with the formulas that
// the pages and the files' tests state. The machine has fewer slices; two tensors that are fetched
// interleaved are the axis I of one.
#include "tests/golden/kernels/vector_example.h"

namespace rngdsim {
namespace {

using test::at_all;
using test::bits_of;
using test::example_name;
using test::f32_input;
using test::float_of;
using test::flush;
using test::i32_input;
using test::kConcatPair;
using test::kMaxI32;
using test::kPadA;
using test::kSplitPair;
using test::kTrimA;
using test::kUnzipPair;
using test::kZeroTag;
using test::larger;
using test::PairExample;
using test::smaller;
using test::StreamExample;
using test::to_whole;
using test::Value;
using test::values_at;
using test::VectorExample;
using test::wrap;

float absolute(float x) { return float_of(bits_of(x) & 0x7fffffff); }
// The exponent field plus n, as integers are added: a zero becomes a power of two.
float scaled(float x, uint32_t n) { return float_of(bits_of(x) + (n << 23)); }
long double exact(float x) { return static_cast<long double>(flush(x)); }
long double sigmoid_of(float x) { return 1 / (1 + std::exp(-exact(x))); }
float as_float(int32_t x) { return static_cast<float>(x); }
float fma_of(float x, float a, float b) { return flush(std::fma(flush(x), a, b)); }

const char* const kToF32 = "vector_reinterpret: {dtype: f32}";
const char* const kToI32 = "vector_reinterpret: {dtype: i32}";
const char* const kAsF32 = "vector_fxp_to_fp: {int_width: 31}";
const char* const kAsI32 = "vector_fp_to_fxp: {int_width: 31}";
const char* const kNoSign = "vector_logic: {op: BitAnd, operand: 0x7fffffff}";
const char* const kAdd100 = "vector_fxp: {op: AddFxp, operand: 100}";
const char* const kDouble = "vector_fp: {op: MulF, alu: mul0, operand: 2.0}";
const char* const kMaxStash = "vector_clip: {op: Max, operand: stash}";
const char* const kAddZip = "vector_clip: {op: AddFxp, zip: true}";

// --- One stream

class BookStream : public ::testing::TestWithParam<StreamExample> {};
TEST_P(BookStream, HasTheValuesOfItsFormula) { test::run_stream_example(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Pages, BookStream,
    ::testing::Values(
        // The sigmoid is a half or more, and so 1, from x = -100 on.
        StreamExample("staged_pipeline", 2,
                      {kZeroTag, kAdd100, kAsF32, kTrimA, "vector_fp: {op: Sigmoid}", kPadA, kAsI32,
                       "vector_clip: {op: Max, operand: 0}"},
                      [](int32_t x) -> Value { return wrap(int64_t{x} + 100) >= 0 ? 1 : 0; }),
        StreamExample("add_constant", 8, {kZeroTag, kAdd100},
                      [](int32_t x) -> Value { return wrap(int64_t{x} + 100); }),
        StreamExample("sigmoid", 2, {kZeroTag, kTrimA, "vector_fp: {op: Sigmoid}", kPadA},
                      [](float x) -> Value { return sigmoid_of(x); }),
        StreamExample("abs", 2, {kZeroTag, kToI32, kNoSign, kToF32},
                      [](float x) { return Value::raw(bits_of(x) & 0x7fffffff); }),
        StreamExample("bias_minus_x", 8,
                      {kZeroTag, "vector_fxp: {op: SubFxp, mode: Mode10, operand: 7}"},
                      [](int32_t x) -> Value { return wrap(7 - int64_t{x}); }),
        StreamExample("residual_max", 2,
                      {kZeroTag, "vector_stash", kTrimA, kDouble, kPadA, kMaxStash},
                      [](float x) -> Value { return larger(flush(x) * 2, x); }),
        // Near the largest integer the sum wraps, and x is larger.
        StreamExample("stash_at_fxp", 8, {kZeroTag, "vector_stash", kAdd100, kMaxStash},
                      [](int32_t x) -> Value { return std::max(wrap(int64_t{x} + 100), x); }),
        StreamExample("stash_across_narrow_widen", 2,
                      {kZeroTag, "vector_stash", kTrimA, "vector_fp: {op: Sigmoid}", kPadA,
                       kMaxStash},
                      [](float x) -> Value {
                        return std::isnan(x) || x > sigmoid_of(x) ? Value(x) : Value(sigmoid_of(x));
                      }),
        // All that comes before the exponential is rounded as IEEE says.
        StreamExample("exp_sqrt_of_three_more", 2,
                      {kZeroTag, kTrimA, "vector_fp: {op: AddF, operand: 1}",
                       "vector_fp: {op: MulF, alu: mul0, operand: 2}",
                       "vector_fp: {op: MulF, alu: mul1, operand: 3}", "vector_fp: {op: Sqrt}",
                       "vector_fp: {op: Exp}", kPadA},
                      [](float x) -> Value {
                        const float sum = flush(flush(x) + 1);
                        return std::exp(exact(std::sqrt(flush(flush(sum * 2) * 3))));
                      }),
        StreamExample("narrow_split_and_widen_concat", 8,
                      {kZeroTag, "vector_narrow_split: {time: \"A / 4 % 2\", packet: \"A % 4\"}",
                       "vector_fp: {op: AddF, operand: 1}",
                       "vector_widen_concat: {time: \"1\", packet: \"A % 8\"}"},
                      [](float x) -> Value { return flush(x) + 1; })),
    example_name<StreamExample>);

INSTANTIATE_TEST_SUITE_P(
    Files, BookStream,
    ::testing::Values(
        StreamExample("ve_elementwise_fxp_const", 2, {kZeroTag, kAdd100},
                      [](int32_t x) -> Value { return wrap(int64_t{x} + 100); }),
        StreamExample("ve_elementwise_full_pipeline", 2,
                      {kZeroTag, kAdd100, kAsF32, kTrimA,
                       "vector_fp: {op: MulF, alu: mul0, operand: 2.5}", kPadA, kAsI32,
                       "vector_clip: {op: Max, operand: 0}",
                       "vector_clip: {op: Min, operand: 1000}"},
                      [](int32_t x) -> Value {
                        const float product = as_float(wrap(int64_t{x} + 100)) * 2.5F;
                        return std::min(std::max(to_whole(product), 0), 1000);
                      }),
        StreamExample("ve_elementwise_neg_offset_f32", 2,
                      {kZeroTag, kTrimA, "vector_fp: {op: AddF, operand: -100.0}", kPadA},
                      [](float x) -> Value { return flush(x) - 100; }),
        StreamExample("ve_elementwise_reinterpret_abs_f32", 2, {kZeroTag, kToI32, kNoSign, kToF32},
                      [](float x) { return Value::raw(bits_of(x) & 0x7fffffff); }),
        // The largest number becomes a NaN, infinity -0.
        StreamExample("ve_elementwise_reinterpret_chain_f32", 2,
                      {kZeroTag, kToI32, kNoSign, kToF32, kToI32,
                       "vector_fxp: {op: AddFxp, operand: 0x800000}", kToF32,
                       "vector_clip: {op: Min, operand: 100.0}"},
                      [](float x) -> Value { return smaller(scaled(absolute(x), 1), 100); }),
        StreamExample("ve_elementwise_stash_f32", 2,
                      {kZeroTag, "vector_stash", kTrimA, kDouble, kPadA, kMaxStash},
                      [](float x) -> Value { return larger(flush(x) * 2, x); }),
        StreamExample("ve_elementwise_stash_i32", 2,
                      {kZeroTag, "vector_stash", "vector_fxp: {op: MulInt, operand: 2}", kMaxStash},
                      [](int32_t x) -> Value { return std::max(wrap(int64_t{x} * 2), x); }),
        StreamExample("ve_elementwise_fp_unary", 2,
                      {kZeroTag, kTrimA, "vector_fp: {op: Exp}", kPadA},
                      [](float x) -> Value { return std::exp(exact(x)); }),
        StreamExample("ve_elementwise_fp_binary_with_mode", 2,
                      {kZeroTag, kTrimA, "vector_fp: {op: SubF, mode: Mode10, operand: 2.0}",
                       kPadA},
                      [](float x) -> Value { return 2 - flush(x); }),
        StreamExample("ve_elementwise_fp_ternary_with_mode", 2,
                      {kZeroTag, kTrimA,
                       "vector_fp: {op: FmaF, mode: Mode120, operand: 2.0, operand1: 1.0}", kPadA},
                      [](float x) -> Value { return 2 + flush(x); }),
        StreamExample("ve_elementwise_logic_with_mode", 2,
                      {kZeroTag, "vector_logic: {op: BitXor, mode: Mode11, operand: 0xff}"},
                      [](int32_t) -> Value { return 0; }),
        StreamExample("ve_elementwise_fxp_with_mode", 2,
                      {kZeroTag, "vector_fxp: {op: SubFxp, mode: Mode10, operand: 7}"},
                      [](int32_t x) -> Value { return wrap(7 - int64_t{x}); }),
        StreamExample("ve_elementwise_fp_div_with_mode", 2,
                      {kZeroTag, kTrimA, "vector_fp_div: {mode: Mode10, operand: 2.0}", kPadA},
                      [](float x) -> Value { return 2 / flush(x); }),
        StreamExample("ve_elementwise_clip_with_mode", 2,
                      {kZeroTag, "vector_clip: {op: AddFxp, mode: Mode11, operand: 3}"},
                      [](int32_t) -> Value { return 6; }),
        StreamExample("ve_stash_fxp_fxp", 2,
                      {kZeroTag, "vector_stash", "vector_fxp: {op: MulInt, operand: 2}", kMaxStash},
                      [](int32_t x) -> Value { return std::max(wrap(int64_t{x} * 2), x); }),
        StreamExample("ve_stash_after_reinterpret_f32", 2,
                      {kZeroTag, kToI32, kNoSign, kToF32, "vector_stash",
                       "vector_clip: {op: Add, operand: stash}"},
                      [](float x) -> Value { return flush(absolute(x)) * 2; }),
        StreamExample("ve_stash_after_widen_f32", 2,
                      {kZeroTag, kTrimA, kDouble, kPadA, "vector_clip: {op: Max, operand: 0.0}",
                       "vector_stash", "vector_clip: {op: Add, operand: stash}"},
                      [](float x) -> Value { return 2 * larger(flush(x) * 2, 0); }),
        StreamExample("ve_elementwise_logic", 2,
                      {kZeroTag, "vector_logic: {op: BitAnd, operand: 0xff}",
                       "vector_logic: {op: BitOr, operand: 0x100}"},
                      [](int32_t x) -> Value { return (x & 0xff) | 0x100; }),
        StreamExample("ve_elementwise_ternary", 2,
                      {kZeroTag, kTrimA, "vector_fp: {op: FmaF, operand: 2.0, operand1: 3.0}",
                       kPadA},
                      [](float x) -> Value { return fma_of(x, 2, 3); }),
        StreamExample("ve_elementwise_ternary_stash", 2,
                      {kZeroTag, kTrimA, "vector_stash",
                       "vector_fp: {op: FmaF, operand: stash, operand1: 1.0}", kPadA},
                      [](float x) -> Value { return fma_of(x, flush(x), 1); })),
    example_name<StreamExample>);

// Both clusters hold batches. (The page's stream comes from a contraction, as that of relu.yaml.)
TEST(BookPages, Relu) {
  const auto x = [](const auto& i) { return f32_input(i[0] + 2 * i[1] + 8 * (i[2] * 16 + i[3])); };
  VectorExample kernel("B: 2, K: 4, M: 2, N: 16", 2, 4);
  kernel
      .tensor("x", "dtype: f32, cluster: B, slice: K, element: \"M, N\"",
              at_all<uint32_t>({2, 4, 2, 16}, [&](const auto& i) { return bits_of(x(i)); }))
      .main("x", {"fetch: {time: \"M, N / 8\", packet: \"N % 8\"}", "collect", kZeroTag,
                  "vector_clip: {op: Max, operand: 0.0}", "commit_trim: {packet: \"N % 8\"}",
                  "commit: {to: y, element: \"M, N\"}"})
      .expect(values_at({2, 4, 2, 16}, [&](const auto& i) { return larger(x(i), 0); }));
}

// --- Operands from the VRF

// An operand of the eight elements of a flit, for all N.
TEST(BookPages, VrfAdd) {
  VectorExample kernel("A: 32, N: 5", 1, 4);
  const auto x = [](uint64_t a, uint64_t n) { return i32_input(a * 5 + n); };
  kernel
      .tensor("x", "dtype: i32, slice: \"A / 8\", element: \"N, A % 8\"",
              at_all<uint32_t>({32, 5}, [&](const auto& i) { return bits_of(x(i[0], i[1])); }))
      .tensor("v", "dtype: i32, slice: \"A / 8\", element: \"A % 8\"",
              at_all<uint32_t>({32}, [&](const auto& i) { return bits_of(i32_input(31 - i[0])); }),
              "vrf")
      .main("x", {"fetch: {time: N, packet: \"A % 8\"}", "collect", kZeroTag,
                  "vector_fxp: {op: AddFxp, operand: {vrf: v}}", "commit_trim: {packet: \"A % 8\"}",
                  "commit: {to: y, element: \"N, A % 8\"}"})
      .expect(values_at({32, 5}, [&](const auto& i) {
        return wrap(int64_t{x(i[0], i[1])} + i32_input(31 - i[0]));
      }));
}

// The axis of the operands lies in Time: a flit has one of them for all its elements.
class VrfRows : public ::testing::Test {
 protected:
  static int32_t x(uint64_t a, uint64_t b) { return i32_input(a * 16 + b); }
  static int32_t v(uint64_t b) { return i32_input(31 - b); }
  static int32_t w(uint64_t b) { return i32_input(b + 3); }
  static std::vector<uint32_t> row(int32_t (*of)(uint64_t)) {
    return at_all<uint32_t>({16}, [&](const auto& i) { return bits_of(of(i[0])); });
  }
  VectorExample& operand(const std::string& name, int32_t (*of)(uint64_t)) {
    kernel_.tensor(name, "dtype: i32, slice: \"A / 2\", element: B, logical: [B]", row(of));
    return kernel_.sub(
        name, {"fetch: {time: \"1\", packet: B}", "collect: {time: \"B / 8\", packet: \"B % 8\"}",
               "to_vrf: {to: " + name + "_vrf, element: B}"});
  }
  void expect(const std::vector<std::string>& chain, Value (*of)(uint64_t, uint64_t)) {
    kernel_.tensor(
        "x", "dtype: i32, slice: \"A / 2\", element: \"B, A % 2\"",
        at_all<uint32_t>({16, 16}, [&](const auto& i) { return bits_of(x(i[0], i[1])); }));
    std::vector<std::string> stages = {"fetch: {time: B, packet: \"A % 2\"}", "collect", kZeroTag};
    stages.insert(stages.end(), chain.begin(), chain.end());
    stages.emplace_back("commit_trim: {packet: \"A % 2\"}");
    stages.emplace_back("commit: {to: y, element: \"B, A % 2\"}");
    kernel_.main("x", stages).expect(values_at({16, 16}, [&](const auto& i) {
      return of(i[0], i[1]);
    }));
  }
  VectorExample kernel_{"A: 16, B: 16", 1, 8};
};

TEST_F(VrfRows, VeElementwiseVrf) {
  operand("v", v);
  expect({"vector_fxp: {op: AddFxp, operand: {vrf: v_vrf}}"},
         [](uint64_t a, uint64_t b) -> Value { return wrap(int64_t{x(a, b)} + v(b)); });
}

TEST_F(VrfRows, VeElementwiseMultiVrf) {
  operand("v", v);
  operand("w", w);
  expect({"vector_fxp: {op: AddFxp, operand: {vrf: v_vrf}}",
          "vector_fxp: {op: MulInt, operand: {vrf: w_vrf}}",
          "vector_clip: {op: AddFxp, operand: {vrf: v_vrf}}"},
         [](uint64_t a, uint64_t b) -> Value {
           const int32_t sum = wrap(int64_t{x(a, b)} + v(b));
           return wrap(int64_t{wrap(int64_t{sum} * w(b))} + v(b));
         });
}

// --- Two groups

class BookPair : public ::testing::TestWithParam<PairExample> {};
TEST_P(BookPair, HasTheValuesOfItsFormula) { test::run_pair_example(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Pages, BookPair,
    ::testing::Values(
        PairExample("pair_add", 8, {kUnzipPair, kAddZip},
                    [](int32_t a, int32_t b) -> Value { return wrap(int64_t{a} + b); }),
        PairExample("pair_preprocess_one_side", 8,
                    {kUnzipPair, "vector_fxp: {op: MulInt, group0: 10}", kAddZip},
                    [](int32_t a, int32_t b) -> Value { return wrap(int64_t{a} * 10 + b); }),
        PairExample("pair_fp_mul_zip", 2,
                    {kUnzipPair, kSplitPair, "vector_fp: {op: MulF, alu: mul0, zip: true}",
                     kConcatPair},
                    [](float a, float b) -> Value { return flush(a) * flush(b); }),
        PairExample("pair_asymmetric_preprocess", 2,
                    {kUnzipPair, kSplitPair, "vector_fp: {op: Exp, group0: true, group1: false}",
                     "vector_fp: {op: MulF, alu: mul0, zip: true}", kConcatPair},
                    [](float a, float b) -> Value {
                      return test::one_unit_around(std::exp(exact(a)),
                                                   [&](float e) { return e * flush(b); });
                    }),
        PairExample("pair_sub_reverse", 2,
                    {kUnzipPair, kSplitPair, "vector_fp: {op: SubF, mode: Mode10, zip: true}",
                     kConcatPair},
                    [](float a, float b) -> Value { return flush(b) - flush(a); })),
    example_name<PairExample>);

INSTANTIATE_TEST_SUITE_P(
    Files, BookPair,
    ::testing::Values(
        PairExample("ve_group_pair_add", 2, {kUnzipPair, kAddZip},
                    [](int32_t a, int32_t b) -> Value { return wrap(int64_t{a} + b); }),
        PairExample(
            "ve_group_pair_reinterpret_scale_f32", 2,
            {kUnzipPair, kToI32, "vector_fxp: {op: AddFxp, group0: 0x800000, group1: 0x1000000}",
             kToF32, "vector_clip: {op: Add, zip: true}"},
            [](float a, float b) -> Value { return flush(scaled(a, 1)) + flush(scaled(b, 2)); }),
        PairExample("ve_group_pair_logic_abs_add_f32", 2,
                    {kUnzipPair, kToI32,
                     "vector_logic: {op: BitAnd, group0: 0x7fffffff, group1: 0x7fffffff}", kToF32,
                     "vector_clip: {op: Add, zip: true}"},
                    [](float a, float b) -> Value {
                      return flush(absolute(a)) + flush(absolute(b));
                    }),
        PairExample("ve_group_pair_preprocess_both", 2,
                    {kUnzipPair, "vector_fxp: {op: MulInt, group0: 2, group1: 3}", kAddZip},
                    [](int32_t a, int32_t b) -> Value {
                      return wrap(int64_t{a} * 2 + int64_t{b} * 3);
                    }),
        PairExample("ve_group_pair_preprocess_g0", 2,
                    {kUnzipPair, "vector_fxp: {op: MulInt, group0: 10}", kAddZip},
                    [](int32_t a, int32_t b) -> Value { return wrap(int64_t{a} * 10 + b); }),
        PairExample("ve_group_pair_preprocess_g1", 2,
                    {kUnzipPair, "vector_fxp: {op: MulInt, group1: 10}", kAddZip},
                    [](int32_t a, int32_t b) -> Value { return wrap(a + int64_t{b} * 10); }),
        PairExample("ve_group_pair_post_zip", 2,
                    {kUnzipPair, kAddZip, "vector_clip: {op: Max, operand: 0}"},
                    [](int32_t a, int32_t b) -> Value {
                      return std::max(wrap(int64_t{a} + b), 0);
                    }),
        PairExample("ve_group_pair_chain", 2,
                    {kUnzipPair, "vector_fxp: {op: AddFxp, group0: 10, group1: 20}",
                     "vector_fxp: {op: MulInt, group0: 2, group1: 3}", kAddZip},
                    [](int32_t a, int32_t b) -> Value {
                      return wrap((int64_t{a} + 10) * 2 + (int64_t{b} + 20) * 3);
                    }),
        PairExample("ve_group_pair_fxp", 2, {kUnzipPair, "vector_fxp: {op: MulInt, zip: true}"},
                    [](int32_t a, int32_t b) -> Value { return wrap(int64_t{a} * b); }),
        PairExample("ve_group_pair_logic", 2, {kUnzipPair, "vector_logic: {op: BitXor, zip: true}"},
                    [](int32_t a, int32_t b) -> Value { return a ^ b; }),
        PairExample("ve_group_pair_fp", 2,
                    {kUnzipPair, kAsF32, kSplitPair, "vector_fp: {op: MulF, alu: mul0, zip: true}",
                     kConcatPair},
                    [](int32_t a, int32_t b) -> Value { return as_float(a) * as_float(b); }),
        PairExample("ve_group_pair_unary", 2,
                    {kUnzipPair, kAsF32, kSplitPair,
                     "vector_fp: {op: Sqrt, group0: true, group1: true}",
                     "vector_fp: {op: AddF, zip: true}", kConcatPair},
                    [](int32_t a, int32_t b) -> Value {
                      return std::sqrt(as_float(a)) + std::sqrt(as_float(b));
                    }),
        PairExample("ve_group_pair_unary_selective", 2,
                    {kUnzipPair, kAsF32, kSplitPair,
                     "vector_fp: {op: Exp, group0: true, group1: false}",
                     "vector_fp: {op: AddF, zip: true}", kConcatPair},
                    [](int32_t a, int32_t b) -> Value {
                      return test::one_unit_around(std::exp(exact(as_float(a))),
                                                   [&](float e) { return e + as_float(b); });
                    }),
        PairExample("ve_group_pair_ternary", 2,
                    {kUnzipPair, kSplitPair,
                     "vector_fp: {op: FmaF, group0: {operand: 2.0, operand1: 1.0}, group1: "
                     "{operand: 3.0, operand1: 2.0}}",
                     "vector_fp: {op: MulF, alu: mul0, zip: true}", kConcatPair},
                    [](float a, float b) -> Value { return fma_of(a, 2, 1) * fma_of(b, 3, 2); }),
        PairExample("ve_group_pair_ternary_selective", 2,
                    {kUnzipPair, kSplitPair,
                     "vector_fp: {op: FmaF, group0: {operand: 2.0, operand1: 1.0}}",
                     "vector_fp: {op: DivF, zip: true}", kConcatPair},
                    [](float a, float b) -> Value { return fma_of(a, 2, 1) / flush(b); }),
        PairExample("ve_group_pair_fp_zip_with_mode", 2,
                    {kUnzipPair, kSplitPair, "vector_fp: {op: SubF, mode: Mode10, zip: true}",
                     kConcatPair},
                    [](float a, float b) -> Value { return flush(b) - flush(a); })),
    example_name<PairExample>);

// An axis in Time besides I: more than one flit of each group.
TEST(BookFiles, VeGroupPairFpMultiPacket) {
  const auto x = [](uint64_t q, uint64_t a, uint64_t group) {
    return i32_input(group == 0 ? q * 16 + a : 31 - (q * 5 + a));
  };
  VectorExample kernel("Q: 2, A: 16, I: 2", 1, 8);
  kernel
      .tensor(
          "x", "dtype: i32, slice: \"A / 2\", element: \"Q, I, A % 2\"",
          at_all<uint32_t>({2, 16, 2}, [&](const auto& i) { return bits_of(x(i[0], i[1], i[2])); }))
      .main("x", {"fetch: {time: \"Q, I\", packet: \"A % 2\"}", "collect",
                  "vector_unzip: {axis: I, slice: \"Q, 1 # 2\", time: Q}", kAsF32,
                  "vector_narrow_split: {time: \"Q, 1 # 2\", packet: \"A % 2 # 4\"}",
                  "vector_fp: {op: MulF, alu: mul0, zip: true}",
                  "vector_widen_concat: {time: Q, packet: \"A % 2 # 8\"}",
                  "commit_trim: {packet: \"A % 2\"}", "commit: {to: y, element: \"Q, A % 2\"}"})
      .expect(values_at({2, 16}, [&](const auto& i) {
        return as_float(x(i[0], i[1], 0)) * as_float(x(i[0], i[1], 1));
      }));
}

// --- Branches

// x below zero: the sign and all else is masked away, 10 is more than 1. x above: 10 - 2 x, at
// least the scale. Zero passes the first two and becomes the scale, or stays. A NaN meets none of
// the comparisons, so it is "not equal to zero", and wins.
TEST(BookFiles, VeElementwiseBranched) {
  const auto x = [](uint64_t p, uint64_t a, uint64_t t) {
    const float value = f32_input(p * 32 + a * 8 + t);
    return flush(value);
  };
  const auto scale = [](uint64_t p, uint64_t t) {
    return (static_cast<float>(p) - 3.0F) * 2.0F + static_cast<float>(t) * 0.25F;
  };
  const std::string negative = "{guard: {matches: [zero, zero, one, ignore]}, operand: ";
  VectorExample kernel("P: 8, A: 4, T: 8", 1, 8);
  kernel
      .tensor(
          "x", "dtype: f32, slice: P, element: \"A, T\"",
          at_all<uint32_t>({8, 4, 8}, [&](const auto& i) { return bits_of(x(i[0], i[1], i[2])); }))
      .tensor("scale", "dtype: f32, slice: P, element: T",
              at_all<uint32_t>({8, 8}, [&](const auto& i) { return bits_of(scale(i[0], i[1])); }))
      .sub("scale", {"fetch: {time: \"1\", packet: T}", "collect: {time: \"1\", packet: T}",
                     "to_vrf: {to: scale_vrf, element: T}"})
      .main("x", {"fetch: {time: A, packet: T}", "collect: {time: A, packet: T}",
                  "vector_tag: {mode: {comparison: [{equal: 0.0}, {greater: 0.0}, {less: 0.0}, "
                  "{less_unsigned: -0.0}]}}",
                  "vector_logic: {op: BitAnd, operand: [" + negative + "0.0}]}",
                  "vector_narrow_split: {time: \"A, T / 4\", packet: \"T % 4\"}",
                  "vector_fp: {op: FmaF, operand: [{guard: {not_matches: [one, ignore, ignore, "
                  "ignore]}, operand: -2.0, operand1: 10.0}]}",
                  "vector_widen_concat: {time: A, packet: T}",
                  "vector_clip: {op: Max, operand: [" + negative +
                      "1.0}, {guard: all, operand: {vrf: scale_vrf}}]}",
                  "commit_trim: {packet: T}", "commit: {to: y, element: \"A, T\"}"})
      .expect(values_at({8, 4, 8}, [&](const auto& i) -> float {
        const float value = x(i[0], i[1], i[2]);
        if (value < 0) return 10;
        if (value == 0) return larger(value, scale(i[0], i[2]));
        return larger(fma_of(value, -2, 10), scale(i[0], i[2]));
      }));
}

// Comparison i is bit i. 0 and 5 are also below 10: 0 takes the first mark and 5 the second, which
// the minimum with the stash takes away again.
TEST(BookFiles, VeBranchBitOrder) {
  VectorExample kernel("P: 8, A: 4, T: 8", 1, 8);
  kernel
      .tensor("x", "dtype: i32, slice: P, element: \"A, T\"",
              at_all<uint32_t>({256}, [&](const auto& i) { return bits_of(i32_input(i[0])); }))
      .main("x", {"fetch: {time: A, packet: T}", "collect: {time: A, packet: T}",
                  "vector_tag: {mode: {comparison: [{equal: 0}, {equal: 5}, {less: 10}, {greater: "
                  "1000}]}}",
                  "vector_stash",
                  "vector_logic: {op: BitOr, operand: [{guard: {matches: [one, ignore, ignore, "
                  "ignore]}, operand: 0x100}, {guard: {matches: [ignore, ignore, one, ignore]}, "
                  "operand: 0x200}, {guard: {matches: [ignore, ignore, ignore, one]}, operand: "
                  "0x400}]}",
                  "vector_clip: {op: Min, operand: [{guard: {matches: [ignore, one, ignore, "
                  "ignore]}, operand: stash}]}",
                  "commit_trim: {packet: T}", "commit: {to: y, element: \"A, T\"}"})
      .expect(values_at({256}, [&](const auto& i) {
        const int32_t x = i32_input(i[0]);
        if (x == 0) return 0x100;
        if (x == 5) return 5;
        if (x < 10) return x | 0x200;
        return x > 1000 ? x | 0x400 : x;
      }));
}

// The page's tag: below 0, equal to 5, above 100, always; of 7 the tag is 8. Each of the four tags
// that there are chooses another operand.
INSTANTIATE_TEST_SUITE_P(
    Tags, BookStream,
    ::testing::Values(StreamExample(
        "comparison_of_the_page", 8,
        {"vector_tag: {mode: {comparison: [{less: 0}, {equal: 5}, {greater: 100}, true]}}",
         "vector_stash",
         "vector_logic: {op: BitXor, operand: [{guard: {matches: [zero, zero, zero, one]}, "
         "operand: 0x1000}, {guard: {matches: [one, zero, zero, one]}, operand: 0x2000}, {guard: "
         "{matches: [zero, one, zero, one]}, operand: 0x3000}, {guard: {matches: [zero, zero, one, "
         "one]}, operand: stash}]}"},
        [](int32_t x) -> Value {
          return x < 0 ? x ^ 0x2000 : x == 5 ? x ^ 0x3000 : x > 100 ? 0 : x ^ 0x1000;
        })),
    example_name<StreamExample>);

}  // namespace
}  // namespace rngdsim
