// SPDX-License-Identifier: Apache-2.0
// Random legal switches on the machine: every value is where OutSlice and OutTime say, which the
// reference knows from the mappings alone, and it took the cycles that ring, Time and packet say.
//
// Slices are digits of one axis or axes of their own, padded or not; sizes and mappings are given
// or left out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "tests/support/random_kernel.h"
#include "tests/support/small_topology.h"

namespace rngdsim {
namespace {

using test::Digit;
using test::join;
using test::Random;

constexpr uint64_t kSwitchSlices = 16;

struct RandomSwitch {
  std::string kind;
  std::string axes;                // their declarations
  std::vector<Digit> slice, time;  // before
  std::vector<Digit> out_slice, out_time;
  std::string keys;  // sizes
  uint64_t ring = 1, packets = 1;
  // Of the packets that a round gives, those from the first one that needs its last packet on.
  uint64_t last = 1;
  bool padded = false;
};

class SwitchMaker {
 public:
  explicit SwitchMaker(Random& random) : random_(random) {}

  RandomSwitch make() {
    x_.kind =
        random_.of<std::string>({"forward", "broadcast01", "broadcast1", "transpose",
                                 "inter_transpose", "transposed_broadcast1", "custom_broadcast"});
    x_.kind == "custom_broadcast" ? custom() : regular();
    x_.packets = test::product(x_.time);
    return x_;
  }

 private:
  // A new axis of `size` positions; sometimes fewer elements, padded.
  Digit axis(const std::string& name, uint64_t size, bool may_pad) {
    const uint64_t live = may_pad && size > 2 && random_.one_in(3) ? size - 1 : size;
    x_.padded = x_.padded || live < size;
    x_.axes += fmt::format("{}{}: {}", x_.axes.empty() ? "" : ", ", name, live);
    return {test::padded(name, live, size), size};
  }
  static std::vector<Digit> some(std::initializer_list<Digit> digits) {
    std::vector<Digit> result;
    for (const Digit& digit : digits) {
      if (digit.size > 1) result.push_back(digit);
    }
    return result;
  }

  void regular() {
    const uint64_t slice1 = uint64_t{1} << random_.below(3);
    const uint64_t slice0 = uint64_t{1} << random_.below(3);
    const uint64_t slice2 = kSwitchSlices / slice1 / slice0;
    const bool inter = x_.kind == "inter_transpose";
    const bool timed = inter || x_.kind == "broadcast01";
    const uint64_t time0 = timed ? 1 + random_.below(3) : 1;
    const uint64_t time1 = inter ? slice1 : 1;
    Digit s2, s1, s0;
    if (random_.one_in(2)) {
      x_.axes = fmt::format("A: {}", kSwitchSlices);
      s2 = {fmt::format("A / {}", slice1 * slice0), slice2};
      s1 = {fmt::format("A / {} % {}", slice0, slice1), slice1};
      s0 = {fmt::format("A % {}", slice0), slice0};
    } else {
      s2 = axis("A", slice2, true);
      s1 = axis("B", slice1, true);
      s0 = axis("C", slice0, true);
    }
    const Digit t2 = axis("T", 1 + random_.below(4), true);
    // Time that goes to Slice, and that of it which stays.
    const Digit t1 = axis("U", time1, true), t0 = axis("V", time0, true);
    const Digit X = axis("X", slice1, true), Y = axis("Y", slice0, true);
    x_.slice = some({s2, s1, s0});
    x_.time = some({t2, t1, t0});
    x_.ring = x_.kind == "forward" ? 1 : slice1 * slice0;
    x_.keys = fmt::format(", slice1: {}, slice0: {}", slice1, slice0);
    if (timed) x_.keys += fmt::format(", time0: {}", time0);
    if (x_.kind == "forward") {
      x_.keys = "";
      x_.out_slice = x_.slice;
      x_.out_time = x_.time;
    } else if (x_.kind == "broadcast01") {
      x_.out_slice = some({s2, X, Y});
      x_.out_time = some({t2, s1, t0, s0});
      // The first that needs time0's last packet is the slice0 packets before it.
      x_.last = slice1 * time0 * slice0 - (time0 - 1) * slice0;
    } else if (x_.kind == "broadcast1") {
      x_.out_slice = some({s2, X, s0});
      x_.out_time = some({t2, s1});
      x_.last = slice1;
    } else if (x_.kind == "transpose") {
      x_.out_slice = some({s2, s0, s1});
      x_.out_time = x_.time;
    } else if (inter) {
      x_.out_slice = some({s2, t1, s0});
      x_.out_time = some({t2, t0, s1});
      x_.last = slice1;
    } else {
      x_.out_slice = some({s2, Y, s1});
      x_.out_time = some({t2, s0});
      x_.last = slice0;
    }
  }

  // Four digits of two positions, or two of them one of four, some of which move to Time; the
  // others and a broadcast for each that moves stand in any order.
  void custom() {
    std::vector<Digit> digits;
    if (random_.one_in(2)) {
      x_.axes = "A: 16";
      digits = {{"A / 8", 2}, {"A / 4 % 2", 2}, {"A / 2 % 2", 2}, {"A % 2", 2}};
    } else {
      digits = {axis("A", 2, false), axis("B", 2, false), axis("C", 4, true)};
      random_.shuffle(digits);
    }
    x_.slice = digits;
    x_.time = some({axis("T", 1 + random_.below(4), true)});
    x_.out_time = x_.time;
    uint64_t moved = 1;
    for (size_t i = 0; i < digits.size(); ++i) {
      if (!random_.one_in(3)) {
        x_.out_slice.push_back(digits[i]);
        continue;
      }
      // Of a padded digit the elements alone move, or all of it.
      Digit move = digits[i];
      if (move.text == "C # 4" && random_.one_in(2)) move = {"C", 3};
      x_.out_time.push_back(move);
      moved *= move.size;
      const std::string name = std::string(1, static_cast<char>('P' + i % 4));
      x_.out_slice.push_back(random_.one_in(3)
                                 ? Digit{fmt::format("{}", digits[i].size), digits[i].size}
                                 : axis(name, digits[i].size, false));
    }
    if (random_.one_in(2)) random_.shuffle(x_.out_slice);
    x_.last = moved;
    // The sub-rings outside of which nothing changes.
    x_.ring = kSwitchSlices;
    for (size_t i = 0; i < digits.size() && i < x_.out_slice.size(); ++i) {
      if (digits[i].text != x_.out_slice[i].text) break;
      x_.ring /= digits[i].size;
    }
    x_.keys = random_.one_in(2) ? fmt::format(", ring_size: {}", x_.ring) : "";
  }

  Random& random_;
  RandomSwitch x_;
};

std::string stage_of(const RandomSwitch& x) {
  return fmt::format("switch: {{kind: {}{}, slice: \"{}\", time: \"{}\"}}", x.kind, x.keys,
                     join(x.out_slice), join(x.out_time));
}

// From a stream to the sink behind Collect.
std::string stream_kernel(const RandomSwitch& x, uint64_t bytes) {
  return fmt::format(
      "kernel: k\naxes: {{{}, K: {}}}\nprogram:\n  - main:\n      stream: {{dtype: i8, cluster: "
      "\"1 "
      "# 2\", slice: \"{}\", time: \"{}\", packet: \"K\", init: {{random: {{seed: 7, low: -128, "
      "high: 127}}}}}}\n      stages:\n        - {}\n        - collect: {{}}\n",
      x.axes, bytes, join(x.slice), join(x.time), stage_of(x));
}
// From data memory to data memory.
std::string copy_kernel(const RandomSwitch& x, uint64_t bytes, const std::string& context) {
  const std::string packet = test::padded("K", bytes, test::round_up(bytes, 32), "#{0}");
  return fmt::format(
      "kernel: k\naxes: {{{}, K: {}}}\ntensors:\n  x: {{memory: dm, dtype: i8, slice: \"{}\", "
      "element: \"{}\", init: {{random: {{seed: 7, low: -128, high: 127}}}}}}\nprogram:\n  - {}:\n "
      " "
      "    from: x\n      stages:\n        - fetch: {{time: \"{}\", packet: \"K\"}}\n        - "
      "{}\n    "
      "    - collect: {{}}\n        - commit_trim: {{packet: \"{}{}\"}}\n        - commit: {{to: "
      "y, "
      "element: \"{}\"}}\n",
      x.axes, bytes, join(x.slice), join(x.time, "K"), context, join(x.time), stage_of(x), packet,
      bytes > 32 ? " % 32" : "", join(x.out_time, packet));
}

struct RanSwitch {
  Program program;
  RunResult result;
};

RanSwitch ran(const std::string& text, const TopologyDecl& topology) {
  Diagnostics diagnostics;
  const MachineLimits limits = limits_from(topology, diagnostics);
  const KernelDecl kernel = parse_kernel(text, "k.yaml", diagnostics);
  RanSwitch ran;
  if (!diagnostics.has_errors()) ran.program = lower(kernel, limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  if (diagnostics.has_errors()) return ran;
  ran.result = run_program(ran.program, topology, {});
  EXPECT_EQ(ran.result.status, RunStatus::kOk);
  for (const FailureResult& failure : ran.result.failures) ADD_FAILURE() << failure.message;
  EXPECT_EQ(ran.result.values.mismatches, 0u);
  EXPECT_GT(ran.result.values.checked.at(0).elements, 0u);
  return ran;
}

// What enters in cycle 263 is at the switch in 264, on its ring until 264 + figure - 1, and what is
// left of the last round follows a flit a cycle; Collect one cycle later, and as far to the sink as
// behind any Collect (`behind`: cycles of a stream of one flit into Collect, less its 263 + 1).
uint64_t cycles_of(const RandomSwitch& x, uint64_t flits, uint64_t behind) {
  return 263 + 1 + x.ring * x.packets * flits + (x.last - 1) * flits + behind;
}

TEST(RandomSwitches, MoveEveryValueWhereTheOutputMappingSays) {
  const TopologyDecl topology = test::small_topology(2, kSwitchSlices);
  const RanSwitch one = ran(
      "kernel: k\naxes: {K: 32}\nprogram:\n  - main:\n      stream: {dtype: i8, slice: \"1 # 16\", "
      "time: \"1\", packet: \"K\", init: {random: {seed: 7, low: -128, high: 127}}}\n      "
      "stages:\n  "
      "      - collect: {}\n",
      topology);
  const uint64_t behind = one.result.cycles - 264;
  std::map<std::string, int> kinds;
  int padded = 0;
  for (uint64_t seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    const RandomSwitch x = SwitchMaker(random).make();
    const uint64_t bytes = random.of<uint64_t>({8, 24, 32, 40, 64, 96});
    const uint64_t flits = test::divide_up(bytes, 32);
    const std::string text = stream_kernel(x, bytes);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    const RanSwitch streamed = ran(text, topology);
    if (testing::Test::HasFailure()) break;
    const SwitchConfig& config = *streamed.program.commands.at(0).switching;
    EXPECT_EQ(config.ring_size, x.ring);
    EXPECT_EQ(config.hops(), x.ring * x.packets * flits);
    EXPECT_EQ(streamed.result.cycles, cycles_of(x, flits, behind));
    const std::string context = random.one_in(2) ? "main" : "sub";
    const std::string copy = copy_kernel(x, bytes, context);
    SCOPED_TRACE(copy);
    ran(copy, topology);
    ++kinds[x.kind];
    padded += x.padded ? 1 : 0;
  }
  if (testing::Test::HasFailure()) return;
  EXPECT_EQ(kinds.size(), 7u);
  for (const auto& [kind, count] : kinds) EXPECT_GE(count, 20) << kind;
  EXPECT_GE(padded, 60);
}

// R in Slice goes to Time; there the Valid Count Generator masks its padding by time alone.
TEST(ValidCounts, AreOfTheStreamBehindTheSwitch) {
  const TopologyDecl topology = test::small_topology(2, kSwitchSlices);
  const RanSwitch masked = ran(
      "kernel: k\naxes: {S: 4, R: 3, X: 4, B: 2, K: 8}\nprogram:\n  - main:\n      stream: {dtype: "
      "i32, slice: \"S, R # 4\", time: \"B\", packet: \"K\", init: {random: {seed: 3, low: -1000, "
      "high: 1000}}}\n      stages:\n        - switch: {kind: broadcast1, slice1: 4, slice0: 1, "
      "slice: \"S, X\", time: \"B, R # 4\"}\n        - collect: {}\n        - vector_tag: {mode: "
      "zero}\n        - vector_narrow_split: "
      "{}\n        - vector_intra_slice_reduce: {label: R, op: add_sat, time: \"B, K / 4\", "
      "packet: "
      "\"K % 4\"}\n",
      topology);
  const VcgConfig& vcg = masked.program.commands.at(0).vector->reduce->vcg;
  for (uint64_t s = 0; s < kSwitchSlices; ++s) {
    for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(vcg.valid_size(s, i), i % 4 < 3 ? 8u : 0u) << i;
  }
  // Three of four: what the fourth slice of each ring sends is poison, and must not be summed.
  Program program = masked.program;
  program.commands[0].vector->reduce->vcg = VcgConfig();
  EXPECT_EQ(run_program(program, topology, {}).status, RunStatus::kFailed);
}

// R in Time goes to Slice in part: slices differ in what they count.
TEST(ValidCounts, DifferBySliceWhereTimeMovedToSlice) {
  const TopologyDecl topology = test::small_topology(2, kSwitchSlices);
  const RanSwitch masked = ran(
      "kernel: k\naxes: {S: 4, Q: 4, R: 7, K: 8}\nprogram:\n  - main:\n      stream: {dtype: i32, "
      "slice: \"S, Q\", time: \"R # 8\", packet: \"K\", init: {random: {seed: 3, low: -1000, high: "
      "1000}}}\n      stages:\n        - switch: {kind: inter_transpose, slice1: 4, slice0: 1, "
      "time0: 2, slice: \"S, R # 8 / 2\", time: \"R # 8 % 2, Q\"}\n        - collect: {}\n        "
      "- vector_tag: {mode: zero}\n        - "
      "vector_narrow_split: {}\n        - vector_intra_slice_reduce: {label: R, op: max, time: "
      "\"Q, K / 4\", packet: \"K % 4\"}\n",
      topology);
  const VcgConfig& vcg = masked.program.commands.at(0).vector->reduce->vcg;
  // R = 2 x slice digit + time digit, of which 7 exists in no tensor.
  for (uint64_t s = 0; s < kSwitchSlices; ++s) {
    for (uint64_t i = 0; i < 8; ++i) {
      EXPECT_EQ(vcg.valid_size(s, i), 2 * (s % 4) + i / 4 < 7 ? 8u : 0u) << s << " " << i;
    }
  }
}

}  // namespace
}  // namespace rngdsim
