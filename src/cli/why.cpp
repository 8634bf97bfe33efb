// SPDX-License-Identifier: Apache-2.0
// rngdsim why: the critical path of a run and the slack of its commands.
#include "report/why.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <memory>

#include "cli/signals.h"
#include "cli/subcommands.h"
#include "report/json_fields.h"
#include "report/run_text.h"
#include "sim/run.h"

namespace rngdsim::cli {
namespace {

struct WhyArguments {
  KernelOptions kernel;
  MachineOptions machine;
  std::string format = "text";
  bool timing_only = false;
  uint64_t seed = 0;
};

int why(const WhyArguments& arguments, const Console& console) {
  const std::atomic<bool>& stop = stop_on_signals();
  const Inputs inputs = load_inputs(arguments.kernel, arguments.machine);
  if (!told_and_good(inputs, console)) return kBadInput;
  RunOptions options = run_options(arguments.kernel, !arguments.timing_only, arguments.seed, stop);
  CommandProfile profile;
  options.observer = &profile;
  const RunResult run = run_program(inputs.program, inputs.topology, options);
  for (const std::string& failure : failure_sentences(run, inputs.program)) {
    console.err(failure + "\n");
  }
  if (run.status != RunStatus::kOk) {
    console.err("a run that did not end has no critical path; rngdsim run reports on it\n");
    return kMachineFailed;
  }
  const ReportOptions report{arguments.machine.set};
  if (arguments.format == "json") {
    console.out(json_text(why_json(run, inputs.program, profile, report)));
  } else {
    console.out(why_text(run, inputs.program, profile, report, console.out_style()));
  }
  return run.exit_status() == 0 ? kDone : kMachineFailed;
}

}  // namespace

void add_why(CLI::App& app, Console& console, Work& chosen) {
  const auto arguments = std::make_shared<WhyArguments>();
  CLI::App* command = app.add_subcommand(
      "why", "the chain of commands that sets the end, and how much longer each could take");
  add_kernel(*command, arguments->kernel);
  add_machine(*command, arguments->machine);
  add_format(*command, arguments->format);
  command->add_flag("--timing-only", arguments->timing_only,
                    "simulate no values: the same cycles, sooner");
  add_number(*command, "--seed", arguments->seed, 0,
             "added to the seed of every random initial value (default: 0)");
  command->callback([arguments, &console, &chosen] {
    chosen = [arguments, &console] { return why(*arguments, console); };
  });
}

}  // namespace rngdsim::cli
