// SPDX-License-Identifier: Apache-2.0
// The examples of reductions: those of the pages "Vector Engine", "Intra-Slice Reduce" and
// "Inter-Slice Reducer" of the vendor's book, and ve_*_reduce_* of its example files. Sums go in
// the order of the steps and of the slices, in a flit as a tree; saturation shows the order.
#include <numeric>

#include "tests/golden/kernels/vector_example.h"

namespace rngdsim {
namespace {

using test::at_all;
using test::bits_of;
using test::example_name;
using test::f32_input;
using test::flush;
using test::i32_input;
using test::kMaxI32;
using test::kMinI32;
using test::kPadA;
using test::kTrimA;
using test::kZeroTag;
using test::larger;
using test::saturate;
using test::smaller;
using test::to_whole;
using test::Value;
using test::values_at;
using test::VectorExample;
using test::wrap;

using IntRow = std::vector<int32_t>;
using FloatRow = std::vector<float>;

template <typename T, typename Of>
T folded(const std::vector<T>& row, const Of& of) {
  return std::accumulate(row.begin() + 1, row.end(), row.front(), of);
}
int32_t sum_saturated(int32_t a, int32_t b) { return saturate(int64_t{a} + b); }
int32_t sum_wrapped(int32_t a, int32_t b) { return wrap(int64_t{a} + b); }
float float_sum(float a, float b) { return flush(flush(a) + flush(b)); }
float float_product(float a, float b) { return flush(flush(a) * flush(b)); }
int32_t largest(int32_t a, int32_t b) { return std::max(a, b); }
int32_t smallest(int32_t a, int32_t b) { return std::min(a, b); }

// y[a] = of(x[a, 0 .. 3]), with stages between collect and commit.
struct RowExample {
  const char* name;
  std::vector<std::string> stages;
  Value (*of_i32)(const IntRow&) = nullptr;
  Value (*of_f32)(const FloatRow&) = nullptr;
  RowExample(const char* n, std::vector<std::string> s, Value (*of)(const IntRow&))
      : name(n), stages(std::move(s)), of_i32(of) {}
  RowExample(const char* n, std::vector<std::string> s, Value (*of)(const FloatRow&))
      : name(n), stages(std::move(s)), of_f32(of) {}
  const char* dtype() const { return of_i32 != nullptr ? "i32" : "f32"; }
};

// Rows of neighbouring inputs; the integers also three that saturate on the way, to another end
// than their sum, and one that wraps.
int32_t int_at(uint64_t a, uint64_t r) {
  static const std::vector<IntRow> kRows = {{kMaxI32, 1, -5, 2},
                                            {kMinI32, -1, kMaxI32, 7},
                                            {-4, kMaxI32, 100, kMinI32},
                                            {kMaxI32, kMaxI32, kMaxI32, kMaxI32}};
  return a < kRows.size() ? kRows[a][r] : i32_input((a - 4) * 4 + r);
}
float float_at(uint64_t a, uint64_t r) { return f32_input(a * 4 + r); }
void PrintTo(const RowExample& example, std::ostream* out) { *out << example.name; }
std::vector<uint32_t> row_inputs(const RowExample& example, uint64_t rows) {
  return at_all<uint32_t>({rows, 4}, [&](const auto& i) {
    return example.of_i32 != nullptr ? bits_of(int_at(i[0], i[1])) : bits_of(float_at(i[0], i[1]));
  });
}
std::vector<Value> row_results(const RowExample& example, uint64_t rows) {
  return values_at({rows}, [&](const auto& i) {
    IntRow ints;
    FloatRow floats;
    for (uint64_t r = 0; r < 4; ++r) {
      ints.push_back(int_at(i[0], r));
      floats.push_back(float_at(i[0], r));
    }
    return example.of_i32 != nullptr ? example.of_i32(ints) : example.of_f32(floats);
  });
}

// --- Inside a slice

class BookTimeReduction : public ::testing::TestWithParam<RowExample> {};

TEST_P(BookTimeReduction, HasTheValuesOfItsFormula) {
  const RowExample& example = GetParam();
  std::vector<std::string> stages = {"fetch: {time: R, packet: \"A % 2\"}", "collect", kZeroTag,
                                     kTrimA};
  stages.insert(stages.end(), example.stages.begin(), example.stages.end());
  for (const std::string stage :
       {kPadA, "commit_trim: {packet: \"A % 2\"}", "commit: {to: y, element: \"A % 2\"}"}) {
    stages.push_back(stage);
  }
  VectorExample kernel("A: 32, R: 4", 1, 16);
  kernel
      .tensor(
          "x",
          std::string("dtype: ") + example.dtype() + ", slice: \"A / 2\", element: \"R, A % 2\"",
          row_inputs(example, 32))
      .main("x", stages)
      .expect(row_results(example, 32));
}

const std::string kOutA = ", time: \"1\", packet: \"A % 2 # 4\"}";
INSTANTIATE_TEST_SUITE_P(
    Files, BookTimeReduction,
    ::testing::Values(RowExample("ve_intra_slice_reduce_add_fxp_sat",
                                 {"vector_intra_slice_reduce: {label: R, op: add_sat" + kOutA},
                                 [](const IntRow& x) -> Value { return folded(x, sum_saturated); }),
                      RowExample("ve_intra_slice_reduce_max_i32",
                                 {"vector_intra_slice_reduce: {label: R, op: max" + kOutA},
                                 [](const IntRow& x) -> Value { return folded(x, largest); }),
                      RowExample("ve_intra_slice_reduce_min_i32",
                                 {"vector_intra_slice_reduce: {label: R, op: min" + kOutA},
                                 [](const IntRow& x) -> Value { return folded(x, smallest); }),
                      RowExample("ve_intra_slice_reduce_add_f32",
                                 {"vector_intra_slice_reduce: {label: R, op: add" + kOutA},
                                 [](const FloatRow& x) -> Value { return folded(x, float_sum); }),
                      RowExample("ve_intra_slice_reduce_max_f32",
                                 {"vector_intra_slice_reduce: {label: R, op: max" + kOutA},
                                 [](const FloatRow& x) -> Value { return folded(x, larger); }),
                      RowExample("ve_intra_slice_reduce_min_f32",
                                 {"vector_intra_slice_reduce: {label: R, op: min" + kOutA},
                                 [](const FloatRow& x) -> Value { return folded(x, smaller); }),
                      // The divider stands behind the reduction: a mean.
                      RowExample("mean",
                                 {"vector_intra_slice_reduce: {label: R, op: add" + kOutA,
                                  "vector_fp_div: {operand: 4}"},
                                 [](const FloatRow& x) -> Value {
                                   return folded(x, float_sum) / 4;
                                 })),
    example_name<RowExample>);

// Sixteen steps of one flit each.
TEST(BookReducePages, ReduceTime) {
  const auto x = [](uint64_t a, uint64_t r) { return i32_input((a + r) % 32); };
  VectorExample kernel("A: 16, R: 16", 1, 8);
  kernel
      .tensor("x", "dtype: i32, slice: \"A / 2\", element: \"R, A % 2\"",
              at_all<uint32_t>({16, 16}, [&](const auto& i) { return bits_of(x(i[0], i[1])); }))
      .main("x", {"fetch: {time: R, packet: \"A % 2\"}", "collect", kZeroTag, kTrimA,
                  "vector_intra_slice_reduce: {label: R, op: AddSat" + kOutA, kPadA,
                  "commit_trim: {packet: \"A % 2\"}", "commit: {to: y, element: \"A % 2\"}"})
      .expect(values_at({16}, [&](const auto& i) {
        int32_t sum = 0;
        for (uint64_t r = 0; r < 16; ++r) sum = sum_saturated(sum, x(i[0], r));
        return sum;
      }));
}

// (x0 + x1) + (x2 + x3): of 1e8, 1, 1, -1e8 nothing is left, in any other order 1 or 2 might be.
TEST(BookReducePages, ReducePacket) {
  const auto x = [](uint64_t a, uint64_t r) {
    static const FloatRow kFirst = {1e8F, 1, 1, -1e8F};
    return a == 0 ? kFirst[r] : float_at(a - 1, r);
  };
  VectorExample kernel("A: 16, R: 4", 1, 8);
  kernel
      .tensor("x", "dtype: f32, slice: \"A / 2\", element: \"A % 2, R\"",
              at_all<uint32_t>({16, 4}, [&](const auto& i) { return bits_of(x(i[0], i[1])); }))
      .main("x", {"fetch: {time: \"A % 2\", packet: R}", "collect", kZeroTag,
                  "vector_narrow_trim: {packet: R}",
                  "vector_intra_slice_reduce: {label: R, op: Add, time: \"A % 2\", packet: \"1 # "
                  "4\"}",
                  "vector_widen_pad: {packet: \"1 # 8\"}", "commit_trim: {packet: \"1 # 8\"}",
                  "commit: {to: y, element: \"A % 2, 1 # 8\"}"})
      .expect(values_at({16}, [&](const auto& i) {
        const uint64_t a = i[0];
        return float_sum(float_sum(x(a, 0), x(a, 1)), float_sum(x(a, 2), x(a, 3)));
      }));
}

TEST(BookReducePages, ReduceTimePacket) {
  VectorExample kernel("A: 8, R: 16", 1, 8);
  kernel
      .tensor("x", "dtype: f32, slice: A, element: R",
              at_all<uint32_t>({128}, [&](const auto& i) { return bits_of(f32_input(i[0])); }))
      .main("x", {"fetch: {time: \"R / 4\", packet: \"R % 4\"}", "collect", kZeroTag,
                  "vector_narrow_trim: {packet: \"R % 4\"}",
                  "vector_intra_slice_reduce: {label: R, op: Max, time: \"1\", packet: \"1 # 4\"}",
                  "vector_widen_pad: {packet: \"1 # 8\"}", "commit_trim: {packet: \"1 # 8\"}",
                  "commit: {to: y, element: \"1 # 8\"}"})
      .expect(values_at({8}, [&](const auto& i) {
        float value = f32_input(i[0] * 16);
        for (uint64_t r = 1; r < 16; ++r) value = larger(value, f32_input(i[0] * 16 + r));
        return value;
      }));
}

// The page reduces R = 13 to the minima of 0 .. 7 and 8 .. 12. But slice 1 would have to count 1
// where slice 0 counts 4, which the page on the Valid Count Generator says is impossible
// ("R in Slice and Packet"). With 12 elements each flit is full or empty.
class ReduceSliceTimePacket : public ::testing::Test {
 protected:
  static int32_t x(uint64_t r) {
    static const IntRow kValues = {7, -3, 100, 5, kMaxI32, 9, -2, 4, 50, 21, 20, 33, 22};
    return kValues.at(r);
  }
  static VectorExample kernel(uint64_t elements) {
    VectorExample kernel(fmt::format("R: {}", elements), 1, 8);
    kernel
        .tensor("x", "dtype: i32, slice: \"R # 32 / 8 # 8\", element: \"R # 32 % 8\"",
                at_all<uint32_t>({elements}, [](const auto& i) { return bits_of(x(i[0])); }))
        .main("x", {"fetch: {time: \"R # 32 / 4 % 2\", packet: \"R # 32 % 4\"}",
                    "collect: {time: \"R # 32 / 4 % 2\", packet: \"R # 32 % 4 # 8\"}", kZeroTag,
                    "vector_narrow_trim: {packet: \"R # 32 % 4\"}",
                    "vector_intra_slice_reduce: {label: R, op: Min, time: \"1\", packet: \"1 # "
                    "4\"}",
                    "vector_widen_pad: {packet: \"1 # 8\"}", "commit_trim: {packet: \"1 # 8\"}",
                    "commit: {to: y, element: \"1 # 8\"}"});
    return kernel;
  }
};

TEST_F(ReduceSliceTimePacket, OfThirteenIsBeyondTheCounts) {
  const std::string errors = kernel(13).errors();
  EXPECT_NE(errors.find("Slice with Packet: 13 elements"), std::string::npos) << errors;
}

TEST_F(ReduceSliceTimePacket, OfTwelve) {
  const TensorValues y = kernel(12).run();
  ASSERT_EQ(y.bits.size(), 12U);  // R / 8 is told by the first R of each
  EXPECT_EQ(static_cast<int32_t>(y.bits[0]), -3);
  EXPECT_EQ(static_cast<int32_t>(y.bits[8]), 20);
  EXPECT_EQ(std::accumulate(y.valid.begin(), y.valid.end(), 0), 2);
}

// Two steps of a tree each: R / 4 in Time behind A % 2, R % 4 in Packet.
TEST(BookReduceFiles, VeIntraSliceReduceSplitTimePacket) {
  const auto x = [](uint64_t a, uint64_t r) { return i32_input(a * 16 + r); };
  VectorExample kernel("A: 16, R: 16", 1, 8);
  kernel
      .tensor("x", "dtype: i32, slice: \"A / 2\", element: \"A % 2, R\"",
              at_all<uint32_t>({16, 16}, [&](const auto& i) { return bits_of(x(i[0], i[1])); }))
      .main("x", {"fetch: {time: \"A % 2, R / 8\", packet: \"R % 8\"}",
                  "collect: {time: \"A % 2, R / 8\", packet: \"R % 8\"}", kZeroTag,
                  "vector_narrow_split: {time: \"A % 2, R / 4\", packet: \"R % 4\"}",
                  "vector_intra_slice_reduce: {label: R, op: AddSat, time: \"A % 2\", packet: \"1 "
                  "# 4\"}",
                  "vector_widen_pad: {packet: \"1 # 8\"}", "commit_trim: {packet: \"1 # 8\"}",
                  "commit: {to: y, element: \"A % 2, 1 # 8\"}"})
      .expect(values_at({16}, [&](const auto& i) {
        int32_t sum = 0;
        for (uint64_t r = 0; r < 16; r += 4) {
          sum = sum_saturated(sum, sum_saturated(sum_saturated(x(i[0], r), x(i[0], r + 1)),
                                                 sum_saturated(x(i[0], r + 2), x(i[0], r + 3))));
        }
        return sum;
      }));
}

// Two sums are open at a time, and become the halves of a flit.
TEST(BookPages, WidenConcatBehindAReduction) {
  const auto x = [](uint64_t s, uint64_t a, uint64_t r) { return i32_input((s + a * 8 + r) % 40); };
  VectorExample kernel("S: 8, A: 8, R: 8", 1, 8);
  kernel
      .tensor(
          "x", "dtype: i32, slice: S, element: \"R, A\"",
          at_all<uint32_t>({8, 8, 8}, [&](const auto& i) { return bits_of(x(i[0], i[1], i[2])); }))
      .main("x", {"fetch: {time: \"R, A / 4\", packet: \"A % 4\"}", "collect", kZeroTag,
                  "vector_narrow_trim: {packet: \"A % 4\"}",
                  "vector_intra_slice_reduce: {label: R, op: AddSat, time: \"A / 4\", packet: \"A "
                  "% 4\"}",
                  "vector_widen_concat: {time: \"1\", packet: A}", "commit_trim: {packet: A}",
                  "commit: {to: y, element: A}"})
      .expect(values_at({8, 8}, [&](const auto& i) {
        int32_t sum = 0;
        for (uint64_t r = 0; r < 8; ++r) sum = sum_saturated(sum, x(i[0], i[1], r));
        return sum;
      }));
}

// 3 x 4 = 12 sums would be open, and there are 8 places.
TEST(BookReducePages, InvalidTooManySlots) {
  VectorExample kernel("A: 6, B: 16, R: 16", 1, 8);
  kernel
      .tensor("x", "dtype: i32, slice: \"A / 3 # 8\", element: \"R, A % 3, B % 4, B / 4\"",
              std::vector<uint32_t>(size_t{6} * 16 * 16))
      .main("x", {"fetch: {time: \"R, A % 3, B % 4\", packet: \"B / 4\"}", "collect", kZeroTag,
                  "vector_narrow_trim: {packet: \"B / 4\"}",
                  "vector_intra_slice_reduce: {label: R, op: AddSat, time: \"A % 3, B % 4\", "
                  "packet: \"B / 4\"}",
                  "vector_widen_pad", "commit_trim: {packet: \"B / 4\"}",
                  "commit: {to: y, element: \"A % 3, B % 4, B / 4\"}"});
  const std::string errors = kernel.errors();
  EXPECT_NE(errors.find("error"), std::string::npos);
  EXPECT_NE(errors.find("12"), std::string::npos) << errors;
  EXPECT_NE(errors.find("8"), std::string::npos) << errors;
}

// --- Over slices

class BookSliceReduction : public ::testing::TestWithParam<RowExample> {};

// Four slices hold x[0 .. 3] of the same eight a; the first of them gets the result.
TEST_P(BookSliceReduction, HasTheValuesOfItsFormula) {
  const RowExample& example = GetParam();
  std::vector<std::string> stages = {"fetch: {time: \"1\", packet: \"A % 8\"}", "collect"};
  stages.insert(stages.end(), example.stages.begin(), example.stages.end());
  stages.emplace_back("commit_trim: {packet: \"A % 8\"}");
  stages.emplace_back("commit: {to: y, element: \"A % 8\"}");
  VectorExample kernel("A: 32, R: 4", 1, 16);
  kernel
      .tensor(
          "x",
          std::string("dtype: ") + example.dtype() + ", slice: \"A / 8, R\", element: \"A % 8\"",
          row_inputs(example, 32))
      .main("x", stages)
      .expect(row_results(example, 32));
}

std::string over_slices(const std::string& op) {
  return "vector_inter_slice_reduce: {op: " + op + ", slice: \"A / 8, 1 # 4\", time: \"1\"}";
}
template <typename T, typename Of>
std::vector<T> each(const std::vector<T>& row, const Of& of) {
  std::vector<T> result;
  for (T value : row) result.push_back(of(value));
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    Files, BookSliceReduction,
    ::testing::Values(RowExample("ve_inter_slice_reduce_add_sat_i32", {over_slices("AddSat")},
                                 [](const IntRow& x) -> Value { return folded(x, sum_saturated); }),
                      RowExample("ve_inter_slice_reduce_max_i32", {over_slices("Max")},
                                 [](const IntRow& x) -> Value { return folded(x, largest); }),
                      RowExample("ve_inter_slice_reduce_add_f32", {over_slices("Add")},
                                 [](const FloatRow& x) -> Value { return folded(x, float_sum); }),
                      RowExample("ve_vru_then_vau_i32",
                                 {over_slices("AddSat"), kZeroTag,
                                  "vector_fxp: {op: AddFxp, operand: 100}"},
                                 [](const IntRow& x) -> Value {
                                   return sum_wrapped(folded(x, sum_saturated), 100);
                                 })),
    example_name<RowExample>);

// The operations of the table that no example has.
INSTANTIATE_TEST_SUITE_P(
    Operations, BookSliceReduction,
    ::testing::Values(RowExample("add_i32", {over_slices("add")},
                                 [](const IntRow& x) -> Value { return folded(x, sum_wrapped); }),
                      RowExample("min_i32", {over_slices("min")},
                                 [](const IntRow& x) -> Value { return folded(x, smallest); }),
                      RowExample("max_f32", {over_slices("max")},
                                 [](const FloatRow& x) -> Value { return folded(x, larger); }),
                      RowExample("min_f32", {over_slices("min")},
                                 [](const FloatRow& x) -> Value { return folded(x, smaller); }),
                      RowExample("mul_f32", {over_slices("mul")},
                                 [](const FloatRow& x) -> Value {
                                   return folded(x, float_product);
                                 })),
    example_name<RowExample>);

// Every stage with a way out to the reducer.
const char* const kSplit8 = "vector_narrow_split: {time: \"A / 4 % 2\", packet: \"A % 4\"}";
const char* const kConcat8 = "vector_widen_concat: {time: \"1\", packet: \"A % 8\"}";
INSTANTIATE_TEST_SUITE_P(
    Exits, BookSliceReduction,
    ::testing::Values(
        RowExample("logic",
                   {kZeroTag, "vector_logic: {op: bit_xor, operand: -1}", over_slices("add_sat")},
                   [](const IntRow& x) -> Value {
                     return folded(each(x, [](int32_t v) { return ~v; }), sum_saturated);
                   }),
        RowExample("fxp",
                   {kZeroTag, "vector_fxp: {op: mul_int, operand: 3}", over_slices("add_sat")},
                   [](const IntRow& x) -> Value {
                     return folded(each(x, [](int32_t v) { return wrap(int64_t{v} * 3); }),
                                   sum_saturated);
                   }),
        RowExample("fxp_to_fp", {kZeroTag, "vector_fxp_to_fp: {int_width: 31}", over_slices("add")},
                   [](const IntRow& x) -> Value {
                     FloatRow floats;
                     for (int32_t v : x) floats.push_back(static_cast<float>(v));
                     return folded(floats, float_sum);
                   }),
        RowExample("widen_concat",
                   {kZeroTag, kSplit8, "vector_fp: {op: mul_f, operand: -2}", kConcat8,
                    over_slices("max")},
                   [](const FloatRow& x) -> Value {
                     return folded(each(x, [](float v) { return flush(v) * -2; }), larger);
                   }),
        RowExample("fp_to_fxp", {kZeroTag, "vector_fp_to_fxp: {int_width: 31}", over_slices("add")},
                   [](const FloatRow& x) -> Value {
                     int32_t sum = 0;
                     for (float v : x) sum = sum_wrapped(sum, to_whole(v));
                     return sum;
                   }),
        RowExample("clip",  // ReLU then reduce, of the index page
                   {kZeroTag, "vector_clip: {op: Max, operand: 0}", over_slices("AddSat")},
                   [](const IntRow& x) -> Value {
                     return folded(each(x, [](int32_t v) { return std::max(v, 0); }),
                                   sum_saturated);
                   })),
    example_name<RowExample>);

// A way in again behind the reducer, to the float ALUs.
INSTANTIATE_TEST_SUITE_P(
    BehindTheReducer, BookSliceReduction,
    ::testing::Values(
        RowExample("exp", {over_slices("max"), kZeroTag, kSplit8, "vector_fp: {op: exp}", kConcat8},
                   [](const FloatRow& x) -> Value {
                     return std::exp(static_cast<long double>(flush(folded(x, larger))));
                   }),
        RowExample("guarded",
                   {over_slices("max"),
                    "vector_tag: {mode: {comparison: [{less: 0}, true, false, "
                    "false]}}",
                    "vector_fxp: {op: sub_fxp, mode: Mode10, operand: [{guard: "
                    "{matches: [one, ignore, ignore, ignore]}, operand: 0}]}"},
                   [](const IntRow& x) -> Value {
                     const int32_t most = folded(x, largest);
                     return most < 0 ? wrap(-int64_t{most}) : most;
                   })),
    example_name<RowExample>);

// Both examples of the index page have data in both clusters.
class BookTwoClusters : public ::testing::Test {
 protected:
  static int32_t x(uint64_t a, uint64_t b, uint64_t r) { return int_at((a + b * 3) % 16, r); }
  static void expect(const std::vector<std::string>& chain, Value (*of)(const IntRow&)) {
    std::vector<std::string> stages = {"fetch: {time: \"1\", packet: \"A % 8\"}", "collect"};
    stages.insert(stages.end(), chain.begin(), chain.end());
    stages.emplace_back("commit_trim: {packet: \"A % 8\"}");
    stages.emplace_back("commit: {to: y, element: \"A % 8\"}");
    VectorExample kernel("A: 16, B: 2, R: 4", 2, 8);
    kernel
        .tensor("x", "dtype: i32, cluster: B, slice: \"A / 8, R\", element: \"A % 8\"",
                at_all<uint32_t>({16, 2, 4},
                                 [](const auto& i) { return bits_of(x(i[0], i[1], i[2])); }))
        .main("x", stages)
        .expect(values_at({16, 2}, [&](const auto& i) {
          return of({x(i[0], i[1], 0), x(i[0], i[1], 1), x(i[0], i[1], 2), x(i[0], i[1], 3)});
        }));
  }
};

TEST_F(BookTwoClusters, ReluThenReduce) {
  expect({kZeroTag, "vector_clip: {op: Max, operand: 0}", over_slices("AddSat")},
         [](const IntRow& x) -> Value {
           return folded(each(x, [](int32_t v) { return std::max(v, 0); }), sum_saturated);
         });
}
TEST_F(BookTwoClusters, ReduceThenBias) {
  expect({over_slices("AddSat"), kZeroTag, "vector_fxp: {op: AddFxp, operand: 100}"},
         [](const IntRow& x) -> Value { return sum_wrapped(folded(x, sum_saturated), 100); });
}

// All 256 slices of both clusters; cluster 0 sums to a small number (r mod 5 - 2: 0 but for the
// last two of 8,192, -2 and -1), the second passes the largest integer and stays there.
TEST(BookPages, IntraAndInterSliceReduction) {
  VectorExample kernel("B: 2, R: 8192", 2, 256);
  kernel
      .tensor("x", "dtype: i32, cluster: B, slice: \"R / 32\", element: \"R % 32\"",
              at_all<uint32_t>({2, 8192},
                               [](const auto& i) {
                                 return bits_of(i[0] == 0 ? static_cast<int32_t>(i[1] % 5) - 2
                                                          : 300'000);
                               }))
      .main("x", {"fetch: {time: \"R % 32 / 4\", packet: \"R % 4\"}", "collect", kZeroTag,
                  "vector_narrow_trim: {packet: \"R % 4\"}",
                  "vector_intra_slice_reduce: {label: R, op: AddSat, time: \"1\", packet: \"1 # "
                  "4\"}",
                  "vector_widen_pad: {packet: \"1 # 8\"}",
                  "vector_inter_slice_reduce: {op: AddSat, slice: \"1 # 256\", time: \"1\"}",
                  "commit_trim: {packet: \"1 # 8\"}", "commit: {to: y, element: \"1 # 8\"}"})
      .expect({Value(-3), Value(kMaxI32)});
}

// x of four axes W, R and two of Time.
float promoted(uint64_t w, uint64_t r, uint64_t t, uint64_t p) {
  return f32_input(34 + w * 31 + r * 7 + t * 3 + p);  // behind the edges
}
float sum_over_r(uint64_t w, uint64_t t, uint64_t p) {
  return folded(FloatRow{promoted(w, 0, t, p), promoted(w, 1, t, p), promoted(w, 2, t, p),
                         promoted(w, 3, t, p)},
                float_sum);
}

// A broadcast is a replica in each position: y has no axis X.
class BroadcastIntoX : public ::testing::Test {
 protected:
  void SetUp() override {
    kernel_.tensor("x", "dtype: f32, slice: \"W, R\", element: P",
                   at_all<uint32_t>({8, 4, 4}, [](const auto& i) {
                     return bits_of(promoted(i[2], i[1], 0, i[0]));
                   }));
  }
  static std::vector<std::string> stages(const std::vector<std::string>& chain) {
    std::vector<std::string> stages = {
        "fetch: {time: \"1\", packet: P}", "collect",
        "vector_inter_slice_reduce: {op: Add, slice: \"W, X\", time: \"1\"}"};
    stages.insert(stages.end(), chain.begin(), chain.end());
    stages.emplace_back("commit_trim: {packet: P}");
    stages.emplace_back("commit: {to: y, element: P}");
    return stages;
  }
  VectorExample kernel_{"P: 8, R: 4, W: 4, X: 4", 1, 16};
};

TEST_F(BroadcastIntoX, GivesTheSums) {
  kernel_.main("x", stages({})).expect(values_at({8, 4}, [](const auto& i) {
    return sum_over_r(i[1], 0, i[0]);
  }));
}

// What the slices get is told by an operand that each position of X has another of.
TEST_F(BroadcastIntoX, InEachPosition) {
  const auto v = [](uint64_t x) { return static_cast<float>(x) * 1000 + 1; };
  kernel_
      .tensor("v", "dtype: f32, slice: \"W, X\", element: \"1 # 8\", logical: [X]",
              at_all<uint32_t>({4}, [&](const auto& i) { return bits_of(v(i[0])); }), "vrf")
      .main("x", stages({kZeroTag, "vector_clip: {op: add, operand: {vrf: v}}"}))
      .expect(values_at(
          {8, 4, 4}, [&](const auto& i) { return float_sum(sum_over_r(i[1], 0, i[0]), v(i[2])); }));
}

TEST(BookInterPages, AxisPromotion) {
  const auto time = [](uint64_t s, uint64_t u, uint64_t v) { return s * 8 + v * 2 + u; };
  VectorExample kernel("P: 8, R: 4, S: 2, U: 2, V: 4, W: 4", 1, 16);
  kernel
      .tensor("x", "dtype: f32, slice: \"W, R\", element: \"S, V, U, P\"",
              at_all<uint32_t>({8, 4, 2, 2, 4, 4},
                               [&](const auto& i) {
                                 return bits_of(promoted(i[5], i[1], time(i[2], i[3], i[4]), i[0]));
                               }))
      .main("x", {"fetch: {time: \"S, V, U\", packet: P}", "collect",
                  "vector_inter_slice_reduce: {op: Add, slice: \"W, V\", time: \"S, U\"}",
                  "commit_trim: {packet: P}", "commit: {to: y, element: \"S, U, P\"}"})
      .expect(values_at({8, 2, 2, 4, 4}, [&](const auto& i) {
        return sum_over_r(i[4], time(i[1], i[2], i[3]), i[0]);
      }));
}

TEST(BookReduceFiles, VeInterSliceReducePromoteF32) {
  VectorExample kernel("R: 4, T: 4, P: 8, W: 4", 1, 16);
  kernel
      .tensor(
          "x", "dtype: f32, slice: \"W, R\", element: \"T, P\"",
          at_all<uint32_t>({4, 4, 8, 4},
                           [](const auto& i) { return bits_of(promoted(i[3], i[0], i[1], i[2])); }))
      .main("x", {"fetch: {time: T, packet: P}", "collect",
                  "vector_inter_slice_reduce: {op: Add, slice: \"W, T\", time: \"1\"}",
                  "commit_trim: {packet: P}", "commit: {to: y, element: P}"})
      .expect(values_at({4, 8, 4}, [](const auto& i) { return sum_over_r(i[2], i[0], i[1]); }));
}

// Rules 3 and 4 of the page: two promoted axes in the other order than in Time, and between them a
// dummy and a fresh axis, in the place of 16 slices.
TEST(BookInterPages, MixedReplacements) {
  const auto x = [](uint64_t p, uint64_t r, uint64_t s, uint64_t u, uint64_t v, uint64_t w) {
    return static_cast<int32_t>(w * 100'000 + s * 10'000 + u * 1'000 + v * 100 + p * 10) -
           static_cast<int32_t>(r * r);
  };
  VectorExample kernel("P: 8, R: 16, S: 3, U: 2, V: 2, W: 2, X: 2", 1, 32);
  kernel
      .tensor("x", "dtype: i32, slice: \"W, R\", element: \"V, S, U, P\"",
              at_all<uint32_t>(
                  {8, 16, 3, 2, 2, 2},
                  [&](const auto& i) { return bits_of(x(i[0], i[1], i[2], i[3], i[4], i[5])); }))
      .main("x", {"fetch: {time: \"V, S, U\", packet: P}", "collect",
                  "vector_inter_slice_reduce: {op: add, slice: \"W, U, 1 # 2, X, V\", time: S}",
                  "commit_trim: {packet: P}", "commit: {to: y, element: \"S, P\"}"})
      .expect(values_at({8, 3, 2, 2, 2}, [&](const auto& i) {
        int32_t sum = 0;
        for (uint64_t r = 0; r < 16; ++r) sum += x(i[0], r, i[1], i[2], i[3], i[4]);
        return sum;
      }));
}

// The index page lets a pair begin with what the reducer gives, too.
TEST(BookPages, APairBeginsBehindTheReducer) {
  const auto x = [](uint64_t a, uint64_t r, uint64_t group) {
    return int_at((a + group * 5) % 32, r);
  };
  VectorExample kernel("A: 32, R: 4, I: 2", 1, 16);
  kernel
      .tensor(
          "x", "dtype: i32, slice: \"A / 8, R\", element: \"I, A % 8\"",
          at_all<uint32_t>({32, 4, 2}, [&](const auto& i) { return bits_of(x(i[0], i[1], i[2])); }))
      .main("x", {"fetch: {time: I, packet: \"A % 8\"}", "collect",
                  "vector_inter_slice_reduce: {op: AddSat, slice: \"A / 8, 1 # 4\", time: I}",
                  test::kUnzipPair, "vector_fxp: {op: sub_fxp, zip: true}",
                  "commit_trim: {packet: \"A % 8\"}", "commit: {to: y, element: \"A % 8\"}"})
      .expect(values_at({32}, [&](const auto& i) {
        const auto sum = [&](uint64_t group) {
          return folded(
              IntRow{x(i[0], 0, group), x(i[0], 1, group), x(i[0], 2, group), x(i[0], 3, group)},
              sum_saturated);
        };
        return wrap(int64_t{sum(0)} - sum(1));
      }));
}

// Behind its zip a pair may leave to the reducer as well.
TEST(BookPages, APairBehindItsZipGoesToTheReducer) {
  const auto x = [](uint64_t a, uint64_t r, uint64_t group) {
    return int_at((a + group * 5) % 32, r);
  };
  VectorExample kernel("A: 32, R: 4, I: 2", 1, 16);
  kernel
      .tensor(
          "x", "dtype: i32, slice: \"A / 8, R\", element: \"I, A % 8\"",
          at_all<uint32_t>({32, 4, 2}, [&](const auto& i) { return bits_of(x(i[0], i[1], i[2])); }))
      .main("x", {"fetch: {time: I, packet: \"A % 8\"}", "collect", test::kUnzipPair,
                  "vector_fxp: {op: sub_fxp, zip: true}", over_slices("add_sat"),
                  "commit_trim: {packet: \"A % 8\"}", "commit: {to: y, element: \"A % 8\"}"})
      .expect(values_at({32}, [&](const auto& i) {
        int32_t sum = 0;
        for (uint64_t r = 0; r < 4; ++r) {
          sum = sum_saturated(sum, wrap(int64_t{x(i[0], r, 0)} - x(i[0], r, 1)));
        }
        return sum;
      }));
}

}  // namespace
}  // namespace rngdsim
