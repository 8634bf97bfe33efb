// SPDX-License-Identifier: Apache-2.0
// Views by their definition: a tensor copied tile by tile, whatever the layouts on both sides, the
// digits the tiles are taken of and their order, is the tensor copied whole.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
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

// A digit that tiles are taken of: `whole` in a tensor, `part` within one tile of `length`.
struct Tiled {
  std::string digit;
  uint64_t size = 1, length = 1;
  std::string part() const {
    return length == 1 ? "" : length == size ? digit : fmt::format("{} = {}", digit, length);
  }
  std::string view(const std::string& of, const std::string& variable) const {
    return fmt::format("{{{}axis: \"{}\", start: \"{{{}}}\", length: {}}}", of, digit, variable,
                       length);
  }
};

struct Copy {
  std::string text;
  uint64_t tiles = 1;
};

// x[M, T, W] to y: tiles of T, and perhaps of M, one by one. W rows of 16 bf16 lie together.
Copy random_copy(Random& random, uint64_t slices) {
  const uint64_t m = 1 + random.below(3), outer = 1 + random.below(4), inner = 1 + random.below(3);
  const Digit of_m{"M", m};
  const Digit of_outer{fmt::format("T / {}", inner), outer};
  const Digit of_inner{fmt::format("T % {}", inner), inner};
  Tiled tiled{of_outer.text, outer, 1};
  Digit other = of_inner;
  if (random.one_in(3)) {
    tiled = {of_inner.text, inner, 1};
    other = of_outer;
  }
  if (random.one_in(3)) tiled.length = tiled.size;  // one tile, all of it
  const bool both = random.one_in(3);
  const Tiled rows{of_m.text, m, 1};

  std::vector<Digit> from = {of_m, of_outer, of_inner}, to = from;
  random.shuffle(from);
  random.shuffle(to);
  std::vector<std::string> time = {other.text};
  if (!tiled.part().empty()) time.push_back(tiled.part());
  if (!both) time.push_back("M");
  random.shuffle(time);
  const std::string tensor =
      "{{memory: dm, dtype: bf16, cluster: \"1 # 2\", slice: \"S # {}\", element: \"{}\"{}}}\n";
  std::string copy;
  const bool main = random.one_in(2);
  const std::string views[] = {
      both ? fmt::format("[{}, {}]", tiled.view("of: x, ", "t"), rows.view("", "m"))
           : tiled.view("of: x, ", "t"),
      both ? fmt::format("[{}, {}]", rows.view("", "m"), tiled.view("", "t"))
           : tiled.view("", "t")};
  copy = fmt::format(
      "  - {}: {{view: {}, stages: [fetch: {{time: \"{}\", packet: \"W\"}}, collect, commit_trim: "
      "{{packet: \"W\"}}, commit: {{to: y, view: {}}}]}}\n",
      main ? "main" : "sub", views[0], join(time), views[1]);
  const auto indented = [](const std::string& text) { return "      " + text; };
  std::string program = fmt::format(
      "  - repeat:\n      var: t\n      count: {}\n      body:\n  {}", tiled.size / tiled.length,
      both ? fmt::format("      - repeat: {{var: m, count: {}, body: [{}]}}\n", m,
                         copy.substr(4, copy.size() - 5))
           : indented(copy.substr(2)));
  Copy result;
  result.tiles = tiled.size / tiled.length * (both ? m : 1);
  result.text = fmt::format("kernel: tiles\naxes: {{S: {}, M: {}, T: {}, W: 16}}\ntensors:\n",
                            slices, m, outer * inner);
  result.text += "  x: " + fmt::format(fmt::runtime(tensor), slices, join(from, "W"),
                                       ", init: {random: {seed: 1}}");
  result.text += "  y: " + fmt::format(fmt::runtime(tensor), slices, join(to, "W"), "");
  result.text += "program:\n" + program + "expect:\n  y: {product_of: [x]}\n";
  return result;
}

TEST(Views, CopiedTileByTileIsCopied) {
  constexpr uint64_t kSlices = 4;
  const TopologyDecl topology = test::small_topology(2, kSlices);
  uint64_t tiles = 0;
  for (uint64_t seed = 1; seed <= 150 && !HasFailure(); ++seed) {
    Random random(seed);
    const Copy copy = random_copy(random, kSlices);
    SCOPED_TRACE(copy.text);
    Diagnostics diagnostics;
    const KernelDecl kernel = parse_kernel(copy.text, "k.yaml", diagnostics);
    const MachineLimits limits = limits_from(topology, diagnostics);
    Program program;
    if (!diagnostics.has_errors()) program = lower(kernel, limits, diagnostics);
    ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
    ASSERT_EQ(program.commands.size(), copy.tiles);
    const RunResult result = run_program(program, topology, {});
    EXPECT_EQ(result.status, RunStatus::kOk);
    EXPECT_EQ(result.values.mismatches, 0u);
    EXPECT_EQ(result.values.checked.back().tensor, "y (expect)");
    tiles += copy.tiles;
  }
  EXPECT_GT(tiles, 300u);
}

// ---- Other mappings ---------------------------------------------------------------------------

// x[S, A, B], B in rows of 16 that lie together, A perhaps padded; read as y[U, V, M, N, W] with
// the same positions: slice U V, element M N W.
struct Reshape {
  uint64_t u, v, a, a_padded, rows, m, n;
  bool rows_outside;  // Element `B / 16, A # .., B % 16` instead of `A # .., B`
  std::string kernel(uint64_t slices) const {
    const std::string of_a = a_padded == a ? "A" : fmt::format("A # {}", a_padded);
    const std::string element =
        rows_outside ? fmt::format("B / 16, {}, B % 16", of_a) : fmt::format("{}, B", of_a);
    return fmt::format(
        "kernel: reshape\naxes: {{S: {}, A: {}, B: {}, U: {}, V: {}, M: {}, N: {}, W: 16}}\n"
        "tensors:\n  x: {{memory: dm, dtype: bf16, slice: \"S\", element: \"{}\", init: {{random: "
        "{{seed: 3, low: -1.0, high: 1.0}}}}}}\nprogram:\n  - main: {{view: {{of: x, reshape: "
        "{{slice: "
        "\"U, V\", element: \"M, N, W\"}}}}, stages: [fetch: {{time: \"M, N\", packet: \"W\"}}, "
        "collect, commit_trim: {{packet: \"W\"}}, commit: {{to: y, element: \"M, N, W\"}}]}}\n",
        slices, a, 16 * rows, u, v, m, n, element);
  }
  // The offset in x[S, A, B] of a place; nothing in padding.
  std::optional<uint64_t> at(uint64_t slice, uint64_t element) const {
    const uint64_t row = element / 16, column = element % 16;
    const uint64_t index = rows_outside ? row % a_padded : row / rows;
    const uint64_t of_b = (rows_outside ? row / a_padded : row % rows) * 16 + column;
    if (index >= a) return std::nullopt;
    return (slice * a + index) * 16 * rows + of_b;
  }
};

Reshape random_reshape(Random& random, uint64_t slices) {
  Reshape r{};
  do r.u = 1 + random.below(slices);
  while (slices % r.u != 0);
  r.v = slices / r.u;
  r.a = 1 + random.below(4);
  r.a_padded = r.a + random.below(3);
  r.rows = 1 + random.below(4);
  const uint64_t packets = r.a_padded * r.rows;
  do r.m = 1 + random.below(packets);
  while (packets % r.m != 0);
  r.n = packets / r.m;
  r.rows_outside = random.one_in(2);
  return r;
}

const TensorValues& values_of(const RunResult& result, const std::string& name) {
  for (const TensorValues& values : result.tensors) {
    if (values.name == name) return values;
  }
  ADD_FAILURE() << "no values of " << name;
  return result.tensors.front();
}

TEST(Views, AReshapeHasTheSamePositions) {
  constexpr uint64_t kSlices = 8;
  const TopologyDecl topology = test::small_topology(1, kSlices);
  uint64_t unwritten = 0;
  for (uint64_t seed = 1; seed <= 150 && !testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    const Reshape reshape = random_reshape(random, kSlices);
    const std::string text = reshape.kernel(kSlices);
    SCOPED_TRACE(text);
    Diagnostics diagnostics;
    const MachineLimits limits = limits_from(topology, diagnostics);
    const Program program = lower(parse_kernel(text, "k.yaml", diagnostics), limits, diagnostics);
    ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
    RunOptions options;
    options.keep = {"x", "y"};
    const RunResult result = run_program(program, topology, options);
    ASSERT_EQ(result.status, RunStatus::kOk);
    const TensorValues &x = values_of(result, "x"), &y = values_of(result, "y");
    const uint64_t elements = reshape.a_padded * reshape.rows * 16;
    ASSERT_EQ(y.bits.size(), kSlices * elements);
    for (uint64_t i = 0; i < y.bits.size(); ++i) {
      const auto from = reshape.at(i / elements, i % elements);
      ASSERT_EQ(y.valid[i] != 0, from.has_value()) << i;
      if (!from) {
        ++unwritten;
        continue;
      }
      ASSERT_EQ(y.bits[i], x.bits[*from]) << i;
    }
  }
  EXPECT_GT(unwritten, 1000u);
}

}  // namespace
}  // namespace rngdsim
