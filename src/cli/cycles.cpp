// SPDX-License-Identifier: Apache-2.0
// rngdsim cycles: the pipeline as text, a row a unit and a column a cycle.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/signals.h"
#include "cli/subcommands.h"
#include "cli/tracing.h"
#include "report/text_table.h"
#include "sim/run.h"
#include "support/text.h"
#include "trace/cycle_grid.h"

namespace rngdsim::cli {
namespace {

constexpr Cycle kDefaultCycles = 160;

struct CyclesArguments {
  KernelOptions kernel;
  MachineOptions machine;
  std::string window;
};

// Without a window: from just before the first access of the first command on.
Window default_window(const Program& program) {
  const uint64_t overhead = program.commands.empty() ? 0 : program.commands.front().overhead;
  const Cycle begin = overhead >= 3 ? overhead - 3 : 0;
  return {begin, begin + kDefaultCycles};
}

int cycles(const CyclesArguments& arguments, const Console& console) {
  const std::atomic<bool>& stop = stop_on_signals();
  std::optional<Window> wanted;
  if (!arguments.window.empty()) wanted = parse_window(arguments.window);
  const Inputs inputs = load_inputs(arguments.kernel, arguments.machine);
  if (!told_and_good(inputs, console)) return kBadInput;

  Window window = wanted.value_or(default_window(inputs.program));
  if (window.end != ~Cycle{0} && window.end - window.begin > CycleGrid::kMaxCycles) {
    Diagnostics diagnostics;
    diagnostics.error(
        {},
        fmt::format("--window: {} cycles; at most {} can be shown",
                    group_digits(window.end - window.begin), group_digits(CycleGrid::kMaxCycles)),
        "rngdsim run --vcd FILE shows any number of them");
    throw InputError(diagnostics);
  }
  CycleGrid grid(window);
  Recorder recorder;
  recorder.add(grid);
  RunOptions options = run_options(arguments.kernel, false, 0, stop);
  options.observer = &recorder;
  window.end = std::min(window.end, window.begin + CycleGrid::kMaxCycles);
  options.max_cycles = window.end;
  const RunResult run = run_program(inputs.program, inputs.topology, options);

  const Cycle end = std::min(window.end, run.cycles);
  if (window.begin >= end) {
    console.out(fmt::format("{}: the run ends in cycle {}, before the window begins ({})\n",
                            run.kernel_name, group_digits(run.cycles), group_digits(window.begin)));
    return kDone;
  }
  console.out(
      fmt::format("{}, cycles {} to {}{}, topology {}\n"
                  "a digit: busy with the item whose place in Time ends in it; - starved  = "
                  "blocked  x conflict  "
                  ". idle\n\n{}",
                  run.kernel_name, group_digits(window.begin), group_digits(end - 1),
                  run.status == RunStatus::kOk ? " (the last)" : "", run.topology_name,
                  grid.text(kReportWidth)));
  const bool failed = run.status != RunStatus::kOk && run.status != RunStatus::kMaxCycles;
  for (const FailureResult& failure : run.failures) {
    console.err(fmt::format("{}: {}\n", failure.kind, failure.message));
  }
  return failed ? kMachineFailed : kDone;
}

}  // namespace

void add_cycles(CLI::App& app, Console& console, Work& chosen) {
  const auto arguments = std::make_shared<CyclesArguments>();
  CLI::App* command =
      app.add_subcommand("cycles", "show the pipeline as text: a row a unit, a column a cycle");
  add_kernel(*command, arguments->kernel);
  add_machine(*command, arguments->machine);
  command
      ->add_option("--window", arguments->window,
                   fmt::format("the cycles from A on and before B, at most {} (default: the first "
                               "{} from the first access on)",
                               group_digits(CycleGrid::kMaxCycles), kDefaultCycles))
      ->type_name("A:B");
  command->callback([arguments, &console, &chosen] {
    chosen = [arguments, &console] { return cycles(*arguments, console); };
  });
}

}  // namespace rngdsim::cli
