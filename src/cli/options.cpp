// SPDX-License-Identifier: Apache-2.0
// Options that several subcommands take.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/subcommands.h"
#include "support/text.h"

namespace rngdsim::cli {

bool told_and_good(const Inputs& inputs, const Console& console) {
  const bool good = !inputs.diagnostics.has_errors();
  if (!good || !console.quiet) console.diagnostics(inputs.diagnostics);
  return good;
}

void add_kernel(CLI::App& command, KernelOptions& kernel) {
  command.add_option("KERNEL", kernel.file, "the kernel file (YAML)")->required()->type_name("");
  command
      .add_option("--param", kernel.parameters,
                  "choose the value of a parameter of the kernel's sweep (default: its first); may "
                  "be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

void add_machine(CLI::App& command, MachineOptions& machine) {
  command
      .add_option("--topology", machine.topology,
                  "the machine (default: the shipped configs/topologies/rngd.yaml)")
      ->type_name("FILE");
  command
      .add_option("--set", machine.set,
                  "override a parameter of a unit, or of the topology's machine section; may be "
                  "repeated, e.g. --set machine.command_overhead=0")
      ->type_name("UNIT.PARAMETER=VALUE")
      ->allow_extra_args(false);
}

CLI::Option* add_choice(CLI::App& command, const std::string& names, std::string& value,
                        const std::vector<std::string>& words, const std::string& doc) {
  const auto check = [words](const std::string& text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end()) return "";
    const auto close = nearest(text, words);
    return fmt::format("{} is none of {}{}", quoted(text), fmt::join(words, ", "),
                       close ? fmt::format("; did you mean '{}'?", *close) : "");
  };
  return command.add_option(names, value, doc)
      ->type_name(fmt::format("{}", fmt::join(words, "|")))
      ->check(CLI::Validator(check, ""));
}

void add_format(CLI::App& command, std::string& format) {
  add_choice(command, "--format", format, {"text", "json"},
             "of the result on stdout (default: text)");
}

CLI::Option* add_number(CLI::App& command, const std::string& names, uint64_t& value,
                        uint64_t least, const std::string& doc) {
  const auto check = [least](const std::string& text) -> std::string {
    uint64_t number = 0;
    if (parse_count(text, number) && number >= least) return "";
    return fmt::format("must be a whole number of at least {}, got {}", least, quoted(text));
  };
  const auto store = [&value](const std::string& text) { parse_count(text, value); };
  return command.add_option_function<std::string>(names, store, doc)
      ->type_name("N")
      ->check(CLI::Validator(check, ""));
}

}  // namespace rngdsim::cli
