// SPDX-License-Identifier: Apache-2.0
// The subcommands: each adds its options to the application and, when chosen, leaves its work in
// `chosen`, which returns the exit status.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/inputs.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name of the library
class App;
class Option;
}  // namespace CLI

namespace rngdsim::cli {

using Work = std::function<int()>;

void add_run(CLI::App& app, Console& console, Work& chosen);
void add_why(CLI::App& app, Console& console, Work& chosen);
void add_what_if(CLI::App& app, Console& console, Work& chosen);
void add_diff(CLI::App& app, Console& console, Work& chosen);
void add_schedule(CLI::App& app, Console& console, Work& chosen);
void add_compare(CLI::App& app, Console& console, Work& chosen);
void add_sweep(CLI::App& app, Console& console, Work& chosen);
void add_check(CLI::App& app, Console& console, Work& chosen);
void add_explain(CLI::App& app, Console& console, Work& chosen);
void add_map(CLI::App& app, Console& console, Work& chosen);
void add_topology(CLI::App& app, Console& console, Work& chosen);
void add_cycles(CLI::App& app, Console& console, Work& chosen);
void add_lockstep(CLI::App& app, Console& console, Work& chosen);
void add_shell(CLI::App& app, Console& console, Work& chosen);
void add_version(CLI::App& app, Console& console, Work& chosen);

// ---- Shared pieces ------------------------------------------------------------------------------

// Tells what was found in the files: always where there are errors, else unless --quiet. Whether
// the inputs can be used.
bool told_and_good(const Inputs& inputs, const Console& console);

// KERNEL and --param; --topology and --set.
void add_kernel(CLI::App& command, KernelOptions& kernel);
void add_machine(CLI::App& command, MachineOptions& machine);
// An option that takes one of some words.
CLI::Option* add_choice(CLI::App& command, const std::string& names, std::string& value,
                        const std::vector<std::string>& words, const std::string& doc);
// --format text|json.
void add_format(CLI::App& command, std::string& format);
// A whole number of at least `least`.
CLI::Option* add_number(CLI::App& command, const std::string& names, uint64_t& value,
                        uint64_t least, const std::string& doc);

}  // namespace rngdsim::cli
