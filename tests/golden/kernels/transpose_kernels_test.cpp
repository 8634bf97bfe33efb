// SPDX-License-Identifier: Apache-2.0
// The examples of the pages on the Transpose Engine and the Fetch Adapter as whole commands, from
// data memory to data memory, with the figures of the pages.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "tests/golden/kernels/kept_numbers.h"

namespace rngdsim {
namespace {

uint64_t active(const UnitResult& u) { return u.busy + u.starved + u.blocked + u.conflict; }

struct TransposeFigure {
  std::string name, axes, dtype, element, time, packet, out_time, out_packet, trim;
  uint64_t in, out, cycles;  // flits that come in and leave, cycles from the first to the last
};

std::ostream& operator<<(std::ostream& out, const TransposeFigure& f) { return out << f.name; }

// With a commit (`commits`) or, so that no write wants a bank of a read, without.
Loaded load_figure(const TransposeFigure& f, bool commits) {
  return load_text(fmt::format(
      "kernel: t\naxes: {{P: 256, {}}}\ntensors:\n  x: {{memory: dm, dtype: {}, slice: \"P\", "
      "element: \"{}\", init: {{random: {{seed: 1, low: -8, high: 7}}}}}}\nprogram:\n  - main:\n"
      "      from: x\n      stages:\n        - fetch: {{time: \"{}\", packet: \"{}\"}}\n"
      "        - collect\n        - transpose: {{time: \"{}\", packet: \"{}\"}}\n"
      "        - commit_trim: {{packet: \"{}\"}}\n{}",
      f.axes, f.dtype, f.element, f.time, f.packet, f.out_time, f.out_packet, f.trim,
      commits
          ? fmt::format("        - commit: {{to: y, element: \"{}, {}\"}}\n", f.out_time, f.trim)
          : ""));
}

// Main reads a packet of 8 to 32 B a cycle, so that a flit comes in every cycle. The first access
// is in cycle 263; its data are at the Fetch Adapter three cycles later and pass it and seven more
// units (Collect, the five of the contraction, Cast) in one each: the first flit is in the
// Transpose Engine in cycle 263 + 11. The last column leaves it in 263 + 11 + cycles - 1, is
// trimmed one cycle later and reaches the sink in the one after, with which the command ends.
class TransposeExamples : public testing::TestWithParam<TransposeFigure> {};

TEST_P(TransposeExamples, TakeTheDocumentedCycles) {
  const TransposeFigure& f = GetParam();
  const Loaded loaded = load_figure(f, false);
  for (const bool values : {true, false}) {
    const RunResult result = run(loaded, values);
    EXPECT_EQ(result.status, RunStatus::kOk);
    EXPECT_EQ(result.values.mismatches, 0u);
    const UnitResult& engine = unit(result, "transpose");
    EXPECT_EQ(engine.items_in, f.in);
    EXPECT_EQ(engine.items_out, f.out);
    EXPECT_EQ(engine.busy, f.cycles);
    EXPECT_EQ(active(engine), f.cycles);
    EXPECT_EQ(result.cycles, 263 + 11 + f.cycles - 1 + 2 + 1);
    EXPECT_EQ(result.commands[0].bound, 263 + f.cycles);
    EXPECT_EQ(result.commands[0].bound_by, "transpose");
  }
}

TEST_P(TransposeExamples, AreWrittenTransposed) {
  const RunResult result = run(load_figure(GetParam(), true));
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  EXPECT_EQ(unit(result, "main_commit").items_out, GetParam().out);
}

INSTANTIATE_TEST_SUITE_P(
    Documented, TransposeExamples,
    testing::Values(TransposeFigure{"i8_8x16", "B: 2, C: 8, D: 2, E: 8", "i8", "B, C, D, E",
                                    "B, C, D", "E", "B, D, E", "C # 32", "C", 32, 32, 48},
                    TransposeFigure{"i8_4x2", "A: 4, B: 2", "i8", "A, B # 8", "A", "B # 8", "B",
                                    "A # 32", "A # 8", 4, 2, 6},
                    TransposeFigure{"i8_8x32", "B: 2, C: 8, D: 4, E: 8", "i8", "B, C, D, E",
                                    "B, C, D", "E", "B, D, E", "C # 32", "C", 64, 64, 128},
                    TransposeFigure{"bf16_4x8", "C: 8, D: 4, E: 8", "bf16", "C, D, E", "C, D", "E",
                                    "C, E", "D # 16", "D", 32, 64, 68},
                    TransposeFigure{"i4_16x16", "B: 4, C: 16, E: 16", "i4", "B, C, E", "B, C", "E",
                                    "B, E", "C # 64", "C", 64, 64, 80},
                    TransposeFigure{"f32_2x8", "B: 4, D: 2, E: 8", "f32", "B, D, E", "B, D", "E",
                                    "B, E", "D # 8", "D", 8, 32, 34}),
    [](const auto& info) { return info.param.name; });

// A matrix of 32 columns takes both buffers: nothing comes in while it leaves.
TEST(TransposeKernels, ASingleBufferKeepsTheInputWaiting) {
  const Loaded loaded = load_text(
      "kernel: t\naxes: {P: 256, B: 2, C: 8, E: 32}\ntensors:\n  x: {memory: dm, dtype: i8, slice: "
      "\"P\", element: \"B, C, E\", init: {random: {seed: 1, low: -8, high: 7}}}\nprogram:\n"
      "  - main:\n      from: x\n      stages:\n        - fetch: {time: \"B, C, E / 8\", packet: "
      "\"E % 8\"}\n        - collect\n        - transpose: {time: \"B, E\", packet: \"C # 32\"}\n");
  const RunResult result = run(loaded);
  EXPECT_EQ(result.values.mismatches, 0u);
  // The engine takes the 32 flits of the first matrix in cycles t to t + 31 and gives its columns
  // in t + 32 to t + 63. Cast has passed on two flits more in t + 31 and t + 32, which fill the
  // link, and waits with the next: the engine takes one in t + 64, and there is space from t + 65
  // on.
  const UnitResult& cast = unit(result, "cast");
  EXPECT_EQ(cast.blocked, 32u);
  EXPECT_EQ(cast.blamed.at("transpose"), 32u);
}

// The engine belongs to one command from its begin to its end.
TEST(TransposeKernels, MainAndSubTakeTurns) {
  const std::string text =
      "kernel: t\naxes: {P: 256, A: 64, B: 8}\ntensors:\n  x: {memory: dm, dtype: i8, slice: "
      "\"P\", "
      "element: \"A, B\", init: {random: {seed: 1, low: -8, high: 7}}}\n  z: {memory: dm, dtype: "
      "i8, "
      "slice: \"P\", element: \"A, B\", init: {random: {seed: 2, low: -8, high: 7}}}\nprogram:\n";
  const std::string stages =
      "      stages:\n        - fetch: {time: \"A\", packet: \"B\"}\n        - collect\n"
      "        - transpose: {time: \"A / 8, B\", packet: \"A % 8 # 32\"}\n";
  const Loaded loaded = load_text(text + "  - main:\n      from: x\n" + stages +
                                  "  - sub:\n      from: z\n" + stages);
  const RunResult result = run(loaded);
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  ASSERT_EQ(result.commands.size(), 2u);
  EXPECT_EQ(result.commands[1].begin, result.commands[0].end);
  EXPECT_EQ(result.commands[1].waited_for.text(),
            fmt::format("transpose (shared unit) {}", result.commands[0].end));
  EXPECT_EQ(unit(result, "transpose").items_out, 2u * 64);
}

// ReLU, cast and transposed in one command.
TEST(TransposeKernels, BehindAVectorChainAndACast) {
  const Loaded loaded = load_text(
      "kernel: t\naxes: {P: 256, A: 8, B: 8}\ntensors:\n  x: {memory: dm, dtype: bf16, slice: "
      "\"P\", "
      "element: \"A, B\", init: {random: {seed: 1, low: -4.0, high: 4.0}}}\nprogram:\n"
      "  - main:\n      from: x\n      stages:\n        - fetch: {time: \"A\", packet: \"B\"}\n"
      "        - fetch_cast: {dtype: f32}\n        - collect\n        - vector_tag: {mode: zero}\n"
      "        - vector_clip: {op: max, operand: 0.0}\n        - cast: {dtype: bf16}\n"
      "        - transpose: {time: \"A / 4, B\", packet: \"A % 4 # 16\"}\n"
      "        - commit_trim: {packet: \"A % 4\"}\n        - commit: {to: y, element: \"B, A\"}\n");
  const RunResult result = run(loaded);
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  // 2 matrices of 4 x 8: 4 + 8 + 8, one flit a cycle.
  EXPECT_EQ(active(unit(result, "transpose")), 20u);
}

// In sub, whose way has no contraction: the first read in 263, its data at the Fetch Adapter three
// cycles later, which they pass, as they do Collect and Cast, in one each: at the engine in
// 263 + 6. 8 rows and 8 columns later the last column leaves, is trimmed, committed, written, and
// the command ends.
TEST(TransposeKernels, InSub) {
  const RunResult result = run_keeping(
      load_text(
          "kernel: t\naxes: {P: 256, A: 8, B: 8}\ntensors:\n  x: {memory: dm, dtype: i8, slice: "
          "\"P\", element: \"A, B\", init: {random: {seed: 1, low: -8, high: 7}}}\nprogram:\n"
          "  - sub:\n      from: x\n      stages:\n        - fetch: {time: \"A\", packet: \"B\"}\n"
          "        - collect\n        - transpose: {time: \"B\", packet: \"A # 32\"}\n"
          "        - commit_trim: {packet: \"A\"}\n        - commit: {to: y, element: \"B, A\"}\n"),
      {"x", "y"});
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  EXPECT_EQ(result.cycles, 263u + 6 + (8 + 8) - 1 + 4);
  EXPECT_EQ(kept_numbers(result, "y"), kept_numbers(result, "x"));
}

// c[I, J] of a contraction with J in the lanes: 16 flits of 8 columns, 4 of them a matrix.
TEST(TransposeKernels, BehindAContraction) {
  const RunResult result = run_keeping(load_text(R"(kernel: t
axes: {P: 256, I: 16, J: 8, K: 32}
tensors:
  a: {memory: dm, dtype: bf16, slice: "P", element: "I, K", init: {random: {seed: 1, low: -2.0, high: 2.0}}}
  b: {memory: trf, dtype: bf16, slice: "P", lane: "J", element: "K", init: {random: {seed: 2, low: -2.0, high: 2.0}}}
program:
  - main:
      from: a
      stages:
        - fetch:           {time: "I, K / 16", packet: "K % 16"}
        - collect
        - contract_outer:  {time: "I", packet: "K", with: b}
        - contract_packet: {packet: "1"}
        - contract_time:   {time: "I"}
        - contract_lane:   {mode: interleaved, time: "I", packet: "J"}
        - cast:            {dtype: bf16}
        - transpose:       {time: "I / 4, J", packet: "I % 4 # 16"}
        - commit_trim:     {packet: "I % 4"}
        - commit:          {to: c, element: "J, I"}
)"),
                                       {"a", "b", "c"});
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  EXPECT_EQ(unit(result, "transpose").items_in, 16u);
  EXPECT_EQ(unit(result, "transpose").items_out, 4u * 8);
  const auto a = kept_numbers(result, "a"), b = kept_numbers(result, "b");
  const auto c = kept_numbers(result, "c");
  ASSERT_EQ(c.size(), 256u * 16 * 8);
  for (size_t at = 0; at < c.size(); ++at) {
    const size_t p = at / 128, i = at / 8 % 16, j = at % 8;
    double sum = 0;
    for (size_t k = 0; k < 32; ++k) sum += a[(p * 16 + i) * 32 + k] * b[(p * 8 + j) * 32 + k];
    ASSERT_NEAR(c[at], sum, std::abs(sum) / 256 + 1e-5) << at;
  }
}

// What a filter leaves out stays unwritten at its place behind the transposition, too. Two rows of
// f32 are a write of 8 B.
TEST(TransposeKernels, BehindAFilter) {
  const RunResult result = run_keeping(load_text(R"(kernel: t
axes: {P: 256, A: 2, B: 8}
tensors:
  x: {memory: dm, dtype: i32, slice: "P", element: "A, B", init: {random: {seed: 1, low: -8, high: 7}}}
program:
  - main:
      from: x
      stages:
        - fetch:         {time: "A", packet: "B"}
        - collect
        - vector_tag:    {mode: {comparison: [{less: 0}, false, false, false]}}
        - vector_filter: {guard: {not_matches: [one, ignore, ignore, ignore]}}
        - transpose:     {time: "B", packet: "A # 8"}
        - commit_trim:   {packet: "A"}
        - commit:        {to: y, element: "B, A"}
)"),
                                       {"x", "y"});
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  const auto x = kept_numbers(result, "x");
  const auto& y = result.tensors.back();
  ASSERT_EQ(y.name, "y");
  size_t left_out = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(y.valid[i] != 0, x[i] >= 0) << i;
    if (y.valid[i] == 0) {
      ++left_out;
    } else {
      ASSERT_EQ(to_double(y.dtype, y.bits[i]), x[i]) << i;
    }
  }
  EXPECT_GT(left_out, x.size() / 4);
}

// Schedules book 2.5 cycles for a flit of a table lookup [C]. 32 rows of 64 weights of 4 bits
// become 64 flits; reads of 16 B become one each, so that the last is taken ceil(63 x 2.5) = 158
// cycles after the first.
TEST(TableLookupKernels, TheTableSetsThePace) {
  const RunResult result = run(load("fetch_table_lookup"));
  EXPECT_EQ(result.values.mismatches, 0u);
  const CommandResult& main = result.commands[1];
  EXPECT_EQ(main.bound, 263u + 159);
  EXPECT_EQ(main.bound_by, "table lookup");
  const UnitResult& adapter = unit(result, "fetch_adapter");
  EXPECT_EQ(adapter.busy, 64u + 64) << "reads of main and sub";
  EXPECT_EQ(adapter.blocked, 159u - 64);
  EXPECT_EQ(adapter.blamed.at("fetch_adapter"), 159u - 64);
  EXPECT_EQ(unit(result, "main_collect").items_out, 64u);
}

// The pairs of the page, decoded from memory, with and without the cast behind the table; a
// packet of 16 keys, whose reads are those that fit a flit behind all of it.
TEST(TableLookupKernels, EveryPairIsDecoded) {
  struct Pair {
    const char* from;
    const char* to;
    const char* cast;     // behind the table
    uint64_t read_bytes;  // 32 B of the widest type
  };
  const std::vector<Pair> pairs = {{"f4e2m1", "f8e4m3", "", 16},   {"f4e2m1", "f8e5m2", "", 16},
                                   {"f8e4m3", "bf16", "", 16},     {"f8e5m2", "bf16", "", 16},
                                   {"f4e2m1", "f8e4m3", "f32", 4}, {"f4e2m1", "f8e5m2", "f32", 4},
                                   {"f8e4m3", "bf16", "f32", 8},   {"f8e5m2", "bf16", "f32", 8}};
  for (const Pair& pair : pairs) {
    const std::string cast =
        *pair.cast == 0 ? "" : fmt::format("        - fetch_cast: {{dtype: {}}}\n", pair.cast);
    const Loaded loaded = load_text(fmt::format(
        "kernel: t\naxes: {{P: 256, A: 4, B: 32}}\ntensors:\n  x: {{memory: dm, dtype: {}, slice: "
        "\"P\", element: \"A, B\", init: {{random: {{seed: 1, low: -6.0, high: "
        "6.0}}}}}}\nprogram:\n"
        "  - main:\n      from: x\n      stages:\n        - fetch: {{time: \"A\", packet: \"B\"}}\n"
        "        - fetch_table_lookup: {{dtype: {}}}\n{}        - collect\n",
        pair.from, pair.to, cast));
    const RunResult result = run(loaded);
    EXPECT_EQ(result.values.mismatches, 0u) << pair.from << pair.to << pair.cast;
    EXPECT_EQ(loaded.program.commands[0].fetch->access_bytes, pair.read_bytes)
        << pair.from << pair.to << pair.cast;
    EXPECT_EQ(loaded.program.commands[0].table_lookup->elements_per_key,
              std::string(pair.from) == "f4e2m1" ? 2u : 1u);
    // 256 slices of 4 x 32.
    EXPECT_EQ(result.values.checked.at(0).elements, 256u * 128);
  }
}

}  // namespace
}  // namespace rngdsim
