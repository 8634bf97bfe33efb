// SPDX-License-Identifier: Apache-2.0
// Every pair of types of every stage that converts, from data memory to data memory through the
// whole machine, by definition: integers keep their low bits, a float becomes the nearest one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "numeric/convert.h"
#include "numeric/dtype.h"
#include "tests/golden/kernels/kept_numbers.h"

namespace rngdsim {
namespace {

struct CastPair {
  std::string stage;
  DType from, to;
  bool relu = false;
};

std::ostream& operator<<(std::ostream& out, const CastPair& pair) {
  return out << pair.stage << "_" << name(pair.from) << "_" << name(pair.to)
             << (pair.relu ? "_relu" : "");
}

// 32 elements in each of 256 slices, 8 in a flit before the cast (before a table or a fetch cast as
// many as fill it behind).
Loaded load_cast(const CastPair& pair) {
  const bool integer = pair.from <= DType::kI32;
  const auto limit = [&](double value) {
    return fmt::format(integer ? "{:.0f}" : "{:.1f}", value);
  };
  const bool on_the_way_in = pair.stage.rfind("fetch", 0) == 0;
  const std::string stage = fmt::format("        - {}: {{dtype: {}{}}}\n", pair.stage,
                                        name(pair.to), pair.relu ? ", relu: true" : "");
  const uint64_t elements = 8;
  // Data memory is written in 8 bytes: what is less is padded.
  const auto bits = static_cast<uint64_t>(memory_bits(pair.to));
  const std::string kept = elements * bits < 64 ? fmt::format("A % 8 # {}", 64 / bits) : "A % 8";
  const bool at_commit = pair.stage == "commit_cast";
  return load_text(fmt::format(
      "kernel: cast\naxes: {{S: 256, A: 32}}\ntensors:\n  x: {{memory: dm, dtype: {}, slice: "
      "\"S\", "
      "element: \"A\", init: {{random: {{seed: 1, low: {}, high: {}}}}}}}\nprogram:\n  - main:\n"
      "      from: x\n      stages:\n        - fetch: {{time: \"A / 8\", packet: \"A % 8\"}}\n{}"
      "        - collect\n{}        - commit_trim: {{packet: \"{}\"}}\n{}"
      "        - commit: {{to: y, element: \"A / 8, {}\"}}\n",
      name(pair.from), limit(std::max(min_value(pair.from), integer ? -70000.0 : -30.0)),
      limit(std::min(max_value(pair.from), integer ? 70000.0 : 30.0)), on_the_way_in ? stage : "",
      on_the_way_in || at_commit ? "" : stage, at_commit ? "A % 8" : kept, at_commit ? stage : "",
      kept));
}

// Low bits, read as a two's complement.
double wrapped(double value, uint64_t bits) {
  const double range = std::ldexp(1.0, static_cast<int>(bits));
  const double low = value - range * std::floor(value / range);
  return low >= range / 2 ? low - range : low;
}

// No other float of the type lies nearer.
void expect_nearest(DType type, double value, double got) {
  const double error = std::abs(value - got);
  const uint32_t bits = from_double(type, got);
  ASSERT_EQ(to_double(type, bits), got);
  for (const uint32_t neighbour : {bits - 1, bits + 1}) {  // of the same sign, or a NaN
    const double other = to_double(type, neighbour & ((1u << memory_bits(type)) - 1));
    if (std::isfinite(other)) {
      EXPECT_LE(error, std::abs(value - other)) << value;
    }
  }
}

class Casts : public testing::TestWithParam<CastPair> {};

TEST_P(Casts, ConvertByDefinition) {
  const CastPair& pair = GetParam();
  const Loaded loaded = load_cast(pair);
  const RunResult result = run_keeping(loaded, {"x", "y"});
  ASSERT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  const auto x = kept_numbers(result, "x"), y = kept_numbers(result, "y");
  ASSERT_EQ(x.size(), 256u * 32);
  ASSERT_EQ(y.size(), x.size());
  size_t changed = 0;
  const bool widens = memory_bits(pair.to) >= memory_bits(pair.from);
  for (size_t i = 0; i < x.size(); ++i) {
    const double from = pair.relu ? std::max(x[i], 0.0) : x[i];
    changed += y[i] != from ? 1 : 0;
    if (widens) {
      ASSERT_EQ(y[i], from) << i;
    } else if (pair.from == DType::kI32) {
      ASSERT_EQ(y[i], wrapped(from, static_cast<uint64_t>(memory_bits(pair.to)))) << i;
    } else {
      expect_nearest(pair.to, from, y[i]);
    }
  }
  EXPECT_EQ(changed > 0, !widens);
}

std::vector<CastPair> every_cast() {
  using T = DType;
  std::vector<CastPair> pairs;
  for (const T to : {T::kI4, T::kI8, T::kI16}) pairs.push_back({"cast", T::kI32, to});
  for (const T to : {T::kF8E4M3, T::kF8E5M2, T::kBF16}) pairs.push_back({"cast", T::kF32, to});
  for (const T from : {T::kI4, T::kI8, T::kI16}) pairs.push_back({"fetch_cast", from, T::kI32});
  for (const T from : {T::kF8E4M3, T::kF8E5M2, T::kBF16}) {
    pairs.push_back({"fetch_cast", from, T::kF32});
  }
  pairs.push_back({"fetch_cast", T::kF32, T::kBF16});
  for (const T to : {T::kF8E4M3, T::kF8E5M2}) {
    pairs.push_back({"fetch_table_lookup", T::kF4E2M1, to});
    pairs.push_back({"fetch_table_lookup", to, T::kBF16});
  }
  pairs.push_back({"commit_cast", T::kF32, T::kBF16});
  pairs.push_back({"commit_cast", T::kF32, T::kBF16, true});
  return pairs;
}

INSTANTIATE_TEST_SUITE_P(Every, Casts, testing::ValuesIn(every_cast()),
                         [](const auto& info) { return testing::PrintToString(info.param); });

// A flit a cycle: the four of a slice take 4 + 276 (decoder_kernels_test.cpp). A table has a pace
// of its own (transpose_kernels_test.cpp).
TEST(CastPairs, TakeNoTimeOfTheirOwn) {
  size_t timed = 0;
  for (const CastPair& pair : every_cast()) {
    if (pair.stage == "fetch_table_lookup") continue;
    EXPECT_EQ(run(load_cast(pair), false).commands.at(0).cycles, 4u + 276) << pair;
    ++timed;
  }
  EXPECT_EQ(timed, 6u + 7 + 2);  // Cast Engine, Fetch Adapter, commit
}

// The list above is that of the types: no pair is left out.
TEST(CastPairs, AreAllTested) {
  constexpr DType kTypes[] = {DType::kI4,     DType::kI8,     DType::kI16,
                              DType::kI32,    DType::kF4E2M1, DType::kF8E4M3,
                              DType::kF8E5M2, DType::kBF16,   DType::kF32};
  size_t allowed = 1;  // relu
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      allowed += can_cast_engine(from, to) ? 1 : 0;
      allowed += can_fetch_cast(from, to) ? 1 : 0;
      allowed += can_table_lookup(from, to) ? 1 : 0;
      allowed += can_commit_cast(from, to) ? 1 : 0;
    }
  }
  EXPECT_EQ(every_cast().size(), allowed);
}

}  // namespace
}  // namespace rngdsim
