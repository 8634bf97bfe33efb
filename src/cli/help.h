// SPDX-License-Identifier: Apache-2.0
// The text of --help.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace rngdsim::cli {

// Of the program: all commands with all their options.
std::string program_help(const CLI::App& app);
// The same as a manual page.
std::string manual_page(const CLI::App& app);
// Of one command.
std::string command_help(const CLI::App& app, const CLI::App& command);

}  // namespace rngdsim::cli
