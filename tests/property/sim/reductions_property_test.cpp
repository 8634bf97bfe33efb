// SPDX-License-Identifier: Apache-2.0
// Random reductions with poison in all padding: every operation and type gives what the reference
// gives, in the cycles that the timing model gives; without the Valid Count Generator the padding
// reaches the results.
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
using test::padded;
using test::Random;

constexpr uint64_t kReductionSlices = 16;

struct RandomReduction {
  std::string text, form;
  uint64_t flits = 1;  // of 8 elements
  uint64_t steps = 1;  // a flit
  bool masks = false;  // padding of R meets data of it in some slice
};

// R in Time, Packet and Slice as the forms of docs/vcg.md allow, other axes between.
RandomReduction random_reduction(Random& random) {
  RandomReduction x;
  const bool floats = random.one_in(2);
  const std::string op =
      random.of<std::string>(floats ? std::vector<std::string>{"add", "max", "min"}
                                    : std::vector<std::string>{"add_sat", "max", "min"});
  x.form = random.of<std::string>(
      {"time", "two terms", "packet", "time and packet", "slice major", "time major"});
  const bool in_packet = x.form == "packet" || x.form == "time and packet";
  const bool in_slice = x.form == "slice major" || x.form == "time major";
  const uint64_t a = 1 + random.below(3), b = 1 + random.below(4), x_slices = in_slice ? 4 : 16;
  const uint64_t span = in_packet ? (random.one_in(2) ? 8 : 4) : 1;
  const uint64_t outer = x.form == "packet" ? 1 : 2 + random.below(3);
  const uint64_t inner = x.form == "two terms" ? 2 + random.below(2) : 1;
  const uint64_t of_slice = in_slice ? 4 : 1;
  const uint64_t size = span * outer * inner * of_slice;
  // TimeMajor may pad no more than one round of slices.
  const uint64_t most = x.form == "time major" ? of_slice : size - 1;
  const uint64_t r =
      size - random.below(std::min(most, size - 2) + 1);  // of one element no axis is left
  // Slices of padding alone have no results.
  x.masks = x.form == "slice major" ? r % outer != 0 : r < size;
  const std::string whole = padded("R", r, size);

  std::vector<Digit> time = {{"A", a}};
  std::string packet = padded("B", b, 8), slice = "X";
  std::vector<std::string> kept = {"A"};
  if (x.form == "time") {
    time.push_back({whole, size});
  } else if (x.form == "two terms") {
    time.push_back({fmt::format("{} / {}", whole, inner), outer});
    time.push_back({fmt::format("{} % {}", whole, inner), inner});
  } else if (x.form == "packet") {
    packet = padded(whole, size, 8);
  } else if (x.form == "time and packet") {
    time.push_back({fmt::format("{} / {}", whole, span), outer});
    packet = padded(fmt::format("{} % {}", whole, span), span, 8);
  } else if (x.form == "slice major") {
    time.push_back({fmt::format("{} % {}", whole, outer), outer});
    slice = fmt::format("{} / {}, X", whole, outer);
  } else {
    time.push_back({fmt::format("{} / 4", whole), outer});
    slice = fmt::format("X, {} % 4", whole);
  }
  random.shuffle(time);
  x.flits = product(time);
  // Split where the back half of a flit may hold something, and sometimes where not.
  const bool split = (in_packet && span == 8) || random.one_in(3);
  x.steps = split ? 2 : 1;
  const std::string keeps_packet = b == 4 ? "B" : padded("B", b, 4);
  const std::string out_packet = in_packet ? "1 # 4" : keeps_packet;
  std::string narrow = "vector_narrow_split: {}";
  std::string out_time = "A";
  if (!split) {
    narrow = fmt::format("vector_narrow_trim: {{packet: \"{}\"}}",
                         in_packet ? x.form == "packet" ? padded(whole, size, 4)
                                                        : fmt::format("{} % {}", whole, span)
                                   : keeps_packet);
  } else if (!in_packet) {
    out_time = "A, 1 # 2";  // the empty halves stay
  }
  const std::string low = floats ? "-2.0" : "-2147483648", high = floats ? "2.0" : "2147483647";
  x.text = fmt::format(
      "kernel: reduction\naxes: {{A: {}, B: {}, R: {}, X: {}}}\nprogram:\n  - main:\n      stream: "
      "{{dtype: {}, cluster: \"1 # 2\", slice: \"{}\", time: \"{}\", packet: \"{}\", init: "
      "{{random: "
      "{{seed: {}, low: {}, high: {}}}}}}}\n      stages:\n        - {}\n        - "
      "vector_intra_slice_reduce: {{label: R, op: {}{}}}\n",
      a, b, r, x_slices, floats ? "f32" : "i32", slice, join(time), packet, random.below(1000), low,
      high, narrow, op,
      split && !in_packet ? ""
                          : fmt::format(", time: \"{}\", packet: \"{}\"", out_time, out_packet));
  x.form += (floats ? " f32 " : " i32 ") + op;
  return x;
}

TEST(Reductions, AreWhatTheirDataGiveInTheirTime) {
  const TopologyDecl topology = test::small_topology(2, kReductionSlices);
  std::map<std::string, int> forms;
  int masked = 0;
  for (uint64_t seed = 1; seed <= 400 && !HasFailure(); ++seed) {
    Random random(seed);
    const RandomReduction x = random_reduction(random);
    SCOPED_TRACE(x.text);
    Diagnostics diagnostics;
    MachineLimits limits = limits_from(topology, diagnostics);
    const KernelDecl kernel = parse_kernel(x.text, "k.yaml", diagnostics);
    Program program;
    if (!diagnostics.has_errors()) program = lower(kernel, limits, diagnostics);
    ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
    const RunResult result = run_program(program, topology, {});
    EXPECT_EQ(result.status, RunStatus::kOk);
    for (const FailureResult& failure : result.failures) ADD_FAILURE() << failure.message;
    EXPECT_EQ(result.values.mismatches, 0u);
    EXPECT_GT(result.values.checked.at(0).elements, 0u);
    // Flits enter in 263 + i and pass five units, one cycle each, and the accumulator tree, one
    // cycle more; see docs/timing-model.md.
    EXPECT_EQ(result.cycles, 263 + x.flits * x.steps + 5 + 1);
    ++forms[x.form];
    if (!x.masks) continue;
    ++masked;
    program.commands[0].vector->reduce->vcg = VcgConfig();
    EXPECT_EQ(run_program(program, topology, {}).status, RunStatus::kFailed);
  }
  EXPECT_EQ(forms.size(), 6u * 6);  // placements, operations of both types
  EXPECT_GT(masked, 150);
}

}  // namespace
}  // namespace rngdsim
