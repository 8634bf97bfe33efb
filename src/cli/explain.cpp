// SPDX-License-Identifier: Apache-2.0
// rngdsim explain: the lowered program and why it is what it is.
#include "report/explain.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/subcommands.h"
#include "report/json_fields.h"

namespace rngdsim::cli {
namespace {

struct ExplainArguments {
  KernelOptions kernel;
  MachineOptions machine;
  std::string format = "text";
};

int explain(const ExplainArguments& arguments, const Console& console) {
  const Inputs inputs = load_inputs(arguments.kernel, arguments.machine);
  if (!told_and_good(inputs, console)) return kBadInput;
  const TopologyName topology{inputs.topology.name, inputs.topology.sha256};
  const ReportOptions report{arguments.machine.set};
  if (arguments.format == "json") {
    console.out(json_text(explain_json(inputs.program, topology, report)));
  } else {
    console.out(explain_text(inputs.program, topology, report, console.out_style()));
  }
  return kDone;
}

}  // namespace

void add_explain(CLI::App& app, Console& console, Work& chosen) {
  const auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command = app.add_subcommand(
      "explain",
      "show the lowered program: sequencers, packets, TRF reads, bounds, placement, and why");
  add_kernel(*command, arguments->kernel);
  add_machine(*command, arguments->machine);
  add_format(*command, arguments->format);
  command->callback([arguments, &console, &chosen] {
    chosen = [arguments, &console] { return explain(*arguments, console); };
  });
}

}  // namespace rngdsim::cli
