// SPDX-License-Identifier: Apache-2.0
// rngdsim check: every violated rule of a kernel, no simulation.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/subcommands.h"
#include "report/explain.h"

namespace rngdsim::cli {
namespace {

struct CheckArguments {
  KernelOptions kernel;
  MachineOptions machine;
  bool strict = false;
};

// The findings are the result here: they go to stdout.
int check(const CheckArguments& arguments, const Console& console) {
  const Inputs inputs = load_inputs(arguments.kernel, arguments.machine);
  console.diagnostics(inputs.diagnostics, true);
  if (inputs.diagnostics.has_errors()) return kBadInput;
  console.out(check_summary(inputs.program) + "\n");
  return arguments.strict && inputs.diagnostics.warning_count() > 0 ? kMachineFailed : kDone;
}

}  // namespace

void add_check(CLI::App& app, Console& console, Work& chosen) {
  const auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command =
      app.add_subcommand("check", "print every rule that a kernel violates, without simulating");
  add_kernel(*command, arguments->kernel);
  add_machine(*command, arguments->machine);
  command->add_flag("--strict", arguments->strict, "warnings make the exit status 1");
  command->callback([arguments, &console, &chosen] {
    chosen = [arguments, &console] { return check(*arguments, console); };
  });
}

}  // namespace rngdsim::cli
