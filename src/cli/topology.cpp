// SPDX-License-Identifier: Apache-2.0
// rngdsim topology: what a machine is made of and what its file may say.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/subcommands.h"
#include "report/topology_text.h"
#include "sim/limits.h"
#include "sim/wiring.h"

namespace rngdsim::cli {
namespace {

struct TopologyArguments {
  MachineOptions machine;
  bool resolved = false;
};

int topology(const TopologyArguments& arguments, const Console& console) {
  Diagnostics diagnostics;
  const TopologyDecl written = load_machine(arguments.machine, diagnostics);
  TopologyDecl resolved;
  if (!diagnostics.has_errors()) {
    limits_from(written, diagnostics);
    Diagnostics known;  // the same findings
    resolved = resolve_topology(written, known);
  }
  console.diagnostics(diagnostics);
  if (diagnostics.has_errors()) return kBadInput;
  console.out(arguments.resolved ? topology_yaml(resolved)
                                 : topology_text(resolved, console.out_style()));
  return kDone;
}

}  // namespace

void add_topology(CLI::App& app, Console& console, Work& chosen) {
  const auto arguments = std::make_shared<TopologyArguments>();
  CLI::App* command = app.add_subcommand(
      "topology", "show a machine: its numbers, units and wiring, and all unit types there are");
  command
      ->add_option("FILE", arguments->machine.topology,
                   "the topology file (default: the shipped configs/topologies/rngd.yaml)")
      ->type_name("");
  command->add_flag("--resolved", arguments->resolved,
                    "print a topology file (YAML) with every default written out");
  command->add_option("--set", arguments->machine.set, "override a parameter, as for run")
      ->type_name("UNIT.PARAMETER=VALUE")
      ->allow_extra_args(false);
  command->callback([arguments, &console, &chosen] {
    chosen = [arguments, &console] { return topology(*arguments, console); };
  });
}

}  // namespace rngdsim::cli
