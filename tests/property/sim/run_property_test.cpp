// SPDX-License-Identifier: Apache-2.0
// Random chains of copies through the whole machine: values right, and nothing depends on the order
// of units or on whether values are simulated. (That every unit's states add up to the cycles and
// that no lower bound exceeds them is checked in every run.)
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "tests/support/small_topology.h"

namespace rngdsim {
namespace {

const TopologyDecl& one_cluster() {
  static const TopologyDecl topology = test::small_topology(1, 16);
  return topology;
}

// Axis A in two digits around B in any order; B innermost, so that accesses have some width.
std::string layout() {
  return *rc::gen::element<std::string>("A / 2, A % 2, B", "A % 2, A / 2, B", "A, B");
}
std::string order() { return *rc::gen::element<std::string>("A / 2, A % 2", "A % 2, A / 2", "A"); }

std::string any_kernel() {
  const uint64_t a = 2 * *rc::gen::inRange<uint64_t>(1, 9);
  const auto [dtype, b] = *rc::gen::elementOf(std::vector<std::pair<std::string, uint64_t>>{
      {"bf16", 16}, {"i8", 32}, {"f32", 8}, {"bf16", 4}});
  std::string text = fmt::format(
      "kernel: copies\ndescription: copies\naxes: {{S: 16, A: {}, B: {}}}\ntensors:\n"
      "  t0: {{memory: dm, dtype: {}, slice: \"S\", element: \"{}\", init: {{random: {{seed: "
      "1}}}}}}\n"
      "program:\n",
      a, b, dtype, layout());
  const int commands = *rc::gen::inRange(1, 5);
  for (int i = 0; i < commands; ++i) {
    const std::string time = order();
    text += fmt::format(
        "  - {}:\n      from: t{}\n      delay: {}\n      stages:\n"
        "        - fetch:       {{time: \"{}\", packet: \"B\"}}\n"
        "        - collect:     {{time: \"{}\", packet: \"{}\"}}\n"
        "        - commit_trim: {{packet: \"B\"}}\n"
        "        - commit:      {{to: t{}, element: \"{}\"}}\n",
        *rc::gen::element<std::string>("main", "sub"), *rc::gen::inRange(0, i + 1),
        *rc::gen::inRange(0, 20), time, time, b == 4 ? "B # 16" : "B", i + 1, layout());
  }
  return text;
}

RC_GTEST_PROP(RunProperty, CopiesAreRightWhateverTheOrderOfUnits, ()) {
  const std::string text = any_kernel();
  RC_LOG(text);
  Diagnostics diagnostics;
  const KernelDecl kernel = parse_kernel(text, "k.yaml", diagnostics);
  const MachineLimits limits = limits_from(one_cluster(), diagnostics);
  const Program program = lower(kernel, limits, diagnostics);
  if (diagnostics.has_errors()) RC_FAIL(diagnostics.render());

  RunOptions options;
  const RunResult plain = run_program(program, one_cluster(), options);
  RC_ASSERT(plain.status == RunStatus::kOk);
  RC_ASSERT(plain.values.checked.size() == program.commands.size());
  options.shuffle_seed = *rc::gen::inRange<uint64_t>(1, 1000);
  RC_ASSERT(run_program(program, one_cluster(), options).same_run(plain));
  options.values = false;
  RunResult timing = run_program(program, one_cluster(), options);
  timing.values = plain.values;
  RC_ASSERT(timing.same_run(plain));
  for (const CommandResult& command : plain.commands) {
    RC_ASSERT(command.begin >= command.issue);
    RC_ASSERT(command.bound <= command.cycles);
  }
}

}  // namespace
}  // namespace rngdsim
