// SPDX-License-Identifier: Apache-2.0
// rngdsim what-if: simulates again with something free, or otherwise, and compares.
#include "report/what_if.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>

#include "cli/signals.h"
#include "cli/subcommands.h"
#include "report/run_text.h"
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
};

// Units whose waits are parameters, and the values with which nobody waits for them.
struct FreeUnit {
  const char* unit;
  const char* what;
  std::vector<const char*> parameters;
};
const std::vector<FreeUnit>& free_units() {
  static const std::vector<FreeUnit> kUnits = {
      {"hbm",
       "at its peak",
       {"hbm.row_open=0", "hbm.row_change=0", "hbm.other_slice=4", "hbm.same_bank_group=4",
        "hbm.read_modify_write=4"}},
      {"fetch_adapter", "without table waits", {"fetch_adapter.lookup_cycles=1"}},
      {"inter_slice_reducer", "without hops", {"inter_slice_reducer.hop_cycles=0"}}};
  return kUnits;
}

// What is asked for, taken apart.
struct Freed {
  std::vector<CommandId> commands;
  std::vector<std::string> set;
  Changes changes;
};

std::optional<CommandId> find_command(const std::string& name, const Program& program) {
  uint64_t number = 0;
  if (parse_count(name, number) && number < program.commands.size()) {
    return static_cast<CommandId>(number);
  }
  for (const Command& command : program.commands) {
    if (command.label == name) return command.id;
  }
  return std::nullopt;
}

void unknown_free(const std::string& name, const Program& program, Diagnostics& diagnostics) {
  std::vector<std::string> words, units;
  for (const Command& command : program.commands) words.push_back(command.label);
  for (const FreeUnit& unit : free_units()) {
    words.emplace_back(unit.unit);
    units.emplace_back(unit.unit);
  }
  const auto close = nearest(name, words);
  diagnostics.error(
      {}, fmt::format("--free: there is no command {}, nor a unit that can be free", quoted(name)),
      close ? fmt::format("did you mean '{}'?", *close)
            : fmt::format("the number or the label of a command ({} in all), or one of {}; --set "
                          "changes any parameter",
                          program.commands.size(), listed(units)));
}

Freed freed(const WhatIfArguments& arguments, const Program& program) {
  Freed result;
  Diagnostics diagnostics;
  if (arguments.free.empty() && arguments.machine.set.empty()) {
    diagnostics.error({}, "nothing to change: what if what?",
                      "--free COMMAND, --free UNIT or --set UNIT.PARAMETER=VALUE");
  }
  for (const std::string& name : arguments.free) {
    const auto unit = std::find_if(free_units().begin(), free_units().end(),
                                   [&](const FreeUnit& known) { return known.unit == name; });
    if (const auto command = find_command(name, program)) {
      result.commands.push_back(*command);
      result.changes.push_back(
          fmt::format("command {} ({}) is free", *command, program.commands[*command].label));
    } else if (unit != free_units().end()) {
      for (const char* parameter : unit->parameters) result.set.emplace_back(parameter);
      result.changes.push_back(
          fmt::format("{} is {} ({})", unit->unit, unit->what, fmt::join(unit->parameters, ", ")));
    } else {
      unknown_free(name, program, diagnostics);
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
  if (inputs.diagnostics.has_errors() || !console.quiet) console.diagnostics(inputs.diagnostics);
  if (inputs.diagnostics.has_errors()) return kBadInput;
  const Freed what = freed(arguments, inputs.program);
  // Lowered again: sizes of the machine may be among what changes.
  const Inputs changed = load_inputs(arguments.kernel, {arguments.machine.topology, what.set});
  if (changed.diagnostics.has_errors()) {
    console.diagnostics(changed.diagnostics);
    return kBadInput;
  }
  RunOptions options;
  options.values = false;
  options.kernel_dir = std::filesystem::path(arguments.kernel.file).parent_path().string();
  options.stop = &stop;
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
    using Json = nlohmann::ordered_json;
    console.out(what_if_json(before, after, what.changes)
                    .dump(2, ' ', false, Json::error_handler_t::replace) +
                "\n");
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
  command->callback([arguments, &console, &chosen] {
    chosen = [arguments, &console] { return what_if(*arguments, console); };
  });
}

}  // namespace rngdsim::cli
