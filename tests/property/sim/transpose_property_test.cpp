// SPDX-License-Identifier: Apache-2.0
// Random legal transpositions of every type, in main and sub, with poison in all padding: each
// value comes to where the mappings behind the Transpose Engine say, in the cycles of its formula;
// told something wrong about the matrices, it comes elsewhere.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "tests/support/random_kernel.h"
#include "tests/support/small_topology.h"

namespace rngdsim {
namespace {

using test::join;
using test::padded;
using test::Random;

constexpr uint64_t kTransposeSlices = 16;

struct RandomTransposition {
  std::string text, dtype;
  uint64_t elements = 1;  // of the result, in all slices
  bool commits = false, main = true;
  // Taken of a flit, rows, packets a row, columns that leave; matrices.
  uint64_t valid = 8, rows = 1, packets = 1, leave = 1, matrices = 1;
  uint64_t live_rows = 1;
  // The documented formula over these.
  uint64_t cycles() const {
    const uint64_t in = rows * packets;
    if (valid * packets > 16) return matrices * (in + leave);
    return in + (matrices - 1) * std::max(in, leave) + leave;
  }
};

// M, N matrices; R rows, perhaps filled up; E columns, perhaps filled up, of which those that hold
// something leave and perhaps some of the others.
RandomTransposition random_transposition(Random& random) {
  RandomTransposition x;
  x.dtype = random.of<std::string>({"i4", "f4e2m1", "i8", "f8e4m3", "i16", "bf16", "i32", "f32"});
  const uint64_t bits = test::bits(x.dtype);
  x.valid = bits == 4 ? 16 : 8;
  const uint64_t flit = 256 / bits, most_rows = 64 / bits;
  x.packets = bits == 4 ? 1 + random.below(2) : random.of<uint64_t>({1, 2, 4});
  // Of a single row each packet may be a matrix of its own.
  const uint64_t least_rows = x.packets == 1 ? 1 : 2;
  x.rows = least_rows + random.below(most_rows - least_rows + 1);
  // More than half of the rows hold something: half of a matrix would do as well where the other
  // half is padding.
  const uint64_t r = x.rows - random.below(std::min<uint64_t>((x.rows + 1) / 2, 3));
  x.live_rows = r;
  const uint64_t columns = x.packets * x.valid;
  // Something in the last packet, so that no narrower matrix does as well; a padded axis of one
  // element is no digit that a commit could find.
  const uint64_t e = std::max<uint64_t>(2, columns - random.below(x.valid));
  x.leave = e + random.below(columns - e + 1);
  const uint64_t m = 1 + random.below(3), n = 1 + random.below(3);
  x.matrices = m * n;
  x.main = !random.one_in(3);
  x.commits = !random.one_in(3);
  x.elements = kTransposeSlices * m * n * r * e;

  const std::string whole = padded("E", e, columns);
  const std::string rows = padded("R", r, x.rows);
  const std::string part = x.packets == 1 ? whole : fmt::format("{} % {}", whole, x.valid);
  const std::string outer = x.packets == 1 ? "" : fmt::format("{} / {}", whole, x.valid);
  std::vector<std::string> order = {"M", "N"};
  random.shuffle(order);
  std::vector<std::string> kept = {"M", "N", padded("E", e, x.leave)};
  random.shuffle(kept);
  // Rows and columns lie in memory in any order of matrices; integers of all values.
  const std::string init =
      test::is_integer_name(x.dtype)
          ? fmt::format("low: {}, high: {}", bits == 4 ? -8 : -128, bits == 4 ? 7 : 127)
          : "low: -6.0, high: 6.0";
  x.text = fmt::format(
      "kernel: t\naxes: {{S: {}, M: {}, N: {}, R: {}, E: {}}}\ntensors:\n  x: {{memory: dm, dtype: "
      "{}, slice: \"S\", element: \"M, N, {}, {}\", init: {{random: {{seed: {}, "
      "{}}}}}}}\nprogram:\n"
      "  - {}:\n      from: x\n      stages:\n        - fetch: {{time: \"{}\", packet: \"{}\"}}\n"
      "        - collect\n        - transpose: {{time: \"{}\", packet: \"{}\"}}\n",
      kTransposeSlices, m, n, r, e, x.dtype, rows, whole, random.below(1000), init,
      x.main ? "main" : "sub", join(std::vector<std::string>{order[0], order[1], rows, outer}),
      part, join(std::vector<std::string>{order[0], order[1], padded("E", e, x.leave)}),
      padded("R", r, flit));
  if (!x.commits) return x;
  x.text += fmt::format(
      "        - commit_trim: {{packet: \"{}\"}}\n        - commit: {{to: y, element: \"{}, "
      "{}\"}}\n",
      padded("R", r, most_rows), join(kept), padded("R", r, most_rows));
  return x;
}

RunResult run_transposition(const Program& program, const TopologyDecl& topology) {
  return run_program(program, topology, {});
}

TEST(Transpositions, MoveEveryValueToWhereTheMappingSays) {
  const TopologyDecl topology = test::small_topology(1, kTransposeSlices);
  std::map<std::string, int> seen;
  for (uint64_t seed = 1; seed <= 400 && !HasFailure(); ++seed) {
    Random random(seed);
    const RandomTransposition x = random_transposition(random);
    SCOPED_TRACE(x.text);
    Diagnostics diagnostics;
    const MachineLimits limits = limits_from(topology, diagnostics);
    const KernelDecl kernel = parse_kernel(x.text, "k.yaml", diagnostics);
    Program program;
    if (!diagnostics.has_errors()) program = lower(kernel, limits, diagnostics);
    ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
    const RunResult result = run_transposition(program, topology);
    EXPECT_EQ(result.status, RunStatus::kOk);
    for (const FailureResult& failure : result.failures) ADD_FAILURE() << failure.message;
    EXPECT_EQ(result.values.mismatches, 0u);
    ASSERT_EQ(result.values.checked.size(), 1u);
    EXPECT_EQ(result.values.checked[0].elements, x.elements);
    ++seen[x.dtype];
    ++seen[x.main ? "main" : "sub"];
    ++seen[x.commits ? "commit" : "sink"];
    ++seen[fmt::format("{} packets", x.packets)];
    const UnitResult& unit =
        *std::find_if(result.units.begin(), result.units.end(),
                      [](const UnitResult& u) { return u.name == "transpose"; });
    EXPECT_EQ(unit.items_in, x.matrices * x.rows * x.packets);
    EXPECT_EQ(unit.items_out, x.matrices * x.leave);
    // A flit comes in every cycle where a read is a packet, and leaves where nothing is written.
    const bool whole_reads = x.main || test::bits(x.dtype) <= 8;
    if (whole_reads && !x.commits) {
      EXPECT_EQ(unit.busy + unit.starved + unit.blocked + unit.conflict, x.cycles());
      ++seen["cycles"];
    }
    EXPECT_GE(unit.busy + unit.starved + unit.blocked + unit.conflict, x.cycles());
    EXPECT_LE(result.commands[0].bound, result.cycles);
    // Rows and packets taken for each other: as many flits come in and leave, but the second row
    // is sought elsewhere.
    TransposeConfig& config = *program.commands[0].transpose;
    if (x.packets == 1 || x.rows <= x.packets || x.live_rows == 1) continue;
    std::swap(config.in_rows, config.packets_per_row);
    ++seen["wrong"];
    EXPECT_EQ(run_transposition(program, topology).status, RunStatus::kFailed);
  }
  EXPECT_EQ(seen.size(), 8u + 2 + 2 + 3 + 2);
  for (const auto& [what, times] : seen) EXPECT_GT(times, 20) << what;
}

}  // namespace
}  // namespace rngdsim
