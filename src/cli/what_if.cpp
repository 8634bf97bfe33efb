// SPDX-License-Identifier: Apache-2.0
// rngdsim what-if: simulates again with something free, or otherwise, and compares.
#include "report/what_if.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <memory>

#include "cli/signals.h"
#include "cli/subcommands.h"
#include "report/json_fields.h"
#include "report/run_text.h"
#include "sim/free_unit.h"
#include "sim/run.h"
#include "sim/wiring.h"
#include "support/text.h"

namespace rngdsim::cli {
namespace {

struct WhatIfArguments {
  KernelOptions kernel;
  MachineOptions machine;
  std::string format = "text";
  std::vector<std::string> free;
  uint64_t skew = 0;
  bool apart = false;  // --skew is given
};

// What is asked for, taken apart.
struct Freed {
  std::vector<CommandId> commands;
  std::vector<std::string> set;
  Changes changes;
};

// By number or label; several where commands share it.
std::vector<CommandId> find_commands(const std::string& name, const Program& program) {
  uint64_t number = 0;
  if (parse_count(name, number) && number < program.commands.size()) {
    return {static_cast<CommandId>(number)};
  }
  std::vector<CommandId> found;
  for (const Command& command : program.commands) {
    if (command.label == name) found.push_back(command.id);
  }
  return found;
}

void unknown_free(const std::string& name, const Program& program, const TopologyDecl& machine,
                  Diagnostics& diagnostics) {
  std::vector<std::string> words, units;
  for (const Command& command : program.commands) words.push_back(command.label);
  for (const UnitDecl& unit : machine.units) {
    if (unit.name == name) {
      diagnostics.error({}, fmt::format("--free: nothing waits for {}", quoted(name)),
                        "it takes an item a cycle, and has no parameter that makes it faster");
      return;
    }
    if (!free_unit(machine, unit)) continue;
    words.push_back(unit.name);
    units.push_back(unit.name);
  }
  const auto close = nearest(name, words);
  diagnostics.error(
      {}, fmt::format("--free: there is no command {}, nor a unit that can be free", quoted(name)),
      close ? fmt::format("did you mean '{}'?", *close)
            : fmt::format("the number or the label of a command ({} in all), or one of {}; --set "
                          "changes any parameter",
                          program.commands.size(), listed(units)));
}

Freed freed(const WhatIfArguments& arguments, const Inputs& inputs) {
  Freed result;
  Diagnostics diagnostics;
  const Program& program = inputs.program;
  const TopologyDecl machine = resolve_topology(inputs.topology, diagnostics);
  if (arguments.free.empty() && arguments.machine.set.empty()) {
    diagnostics.error({}, "nothing to change: what if what?",
                      "--free COMMAND, --free UNIT or --set UNIT.PARAMETER=VALUE");
  }
  for (const std::string& name : arguments.free) {
    const std::vector<CommandId> commands = find_commands(name, program);
    const auto unit =
        std::find_if(machine.units.begin(), machine.units.end(),
                     [&](const UnitDecl& u) { return u.name == name && free_unit(machine, u); });
    if (commands.size() > 1) {
      diagnostics.error(
          {}, fmt::format("--free: {} commands are called {}", commands.size(), quoted(name)),
          fmt::format("name them by their numbers: {}", fmt::join(commands, ", ")));
    } else if (commands.size() == 1) {
      const CommandId command = commands.front();
      result.commands.push_back(command);
      result.changes.push_back(
          fmt::format("command {} ({}) is free", command, program.commands[command].label));
    } else if (unit != machine.units.end()) {
      const FreeUnit free = *free_unit(machine, *unit);
      result.set.insert(result.set.end(), free.settings.begin(), free.settings.end());
      result.changes.push_back(
          free.settings.empty() ? fmt::format("{} is {}, as it is already", unit->name, free.what)
                                : fmt::format("{} is {} ({})", unit->name, free.what,
                                              fmt::join(free.settings, ", ")));
    } else {
      unknown_free(name, program, machine, diagnostics);
    }
  }
  diagnostics.throw_if_errors();
  for (const std::string& assignment : arguments.machine.set) {
    result.set.push_back(assignment);
    result.changes.push_back(assignment);
  }
  return result;
}

int what_if(const WhatIfArguments& arguments, const Console& console) {
  const std::atomic<bool>& stop = stop_on_signals();
  const Inputs inputs = load_inputs(arguments.kernel, {arguments.machine.topology, {}});
  if (!told_and_good(inputs, console)) return kBadInput;
  const Freed what = freed(arguments, inputs);
  // Lowered again: sizes of the machine may be among what changes.
  const Inputs changed = load_inputs(arguments.kernel, {arguments.machine.topology, what.set});
  if (changed.diagnostics.has_errors()) {
    console.diagnostics(changed.diagnostics);
    return kBadInput;
  }
  RunOptions options = run_options(arguments.kernel, false, 0, stop);
  if (arguments.apart) options.skew = arguments.skew;
  const RunResult before = run_program(inputs.program, inputs.topology, options);
  options.free = what.commands;
  const RunResult after = run_program(changed.program, changed.topology, options);
  for (const auto& [run, program] :
       {std::pair{&before, &inputs.program}, std::pair{&after, &changed.program}}) {
    for (const std::string& failure : failure_sentences(*run, *program)) {
      console.err(failure + "\n");
    }
    if (run->status != RunStatus::kOk) return kMachineFailed;
  }
  if (arguments.format == "json") {
    console.out(json_text(what_if_json(before, after, what.changes)));
  } else {
    console.out(what_if_text(before, after, what.changes, console.out_style()));
  }
  return kDone;
}

}  // namespace

void add_what_if(CLI::App& app, Console& console, Work& chosen) {
  const auto arguments = std::make_shared<WhatIfArguments>();
  CLI::App* command = app.add_subcommand(
      "what-if", "simulate again with something free, or otherwise, and compare the cycles");
  add_kernel(*command, arguments->kernel);
  add_machine(*command, arguments->machine);
  add_format(*command, arguments->format);
  command
      ->add_option("--free", arguments->free,
                   "a command (its number or label) that takes no cycles, or a unit nobody waits "
                   "for; may be repeated")
      ->type_name("COMMAND|UNIT")
      ->allow_extra_args(false);
  CLI::Option* skew =
      add_number(*command, "--skew", arguments->skew, 0,
                 "simulate the clusters apart, the second launched so many cycles later");
  command->callback([arguments, skew, &console, &chosen] {
    arguments->apart = skew->count() > 0;
    chosen = [arguments, &console] { return what_if(*arguments, console); };
  });
}

}  // namespace rngdsim::cli
