// SPDX-License-Identifier: Apache-2.0
// rngdsim version.
#include "support/version.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/subcommands.h"

namespace rngdsim::cli {

void add_version(CLI::App& app, Console& console, Work& chosen) {
  app.add_subcommand("version", "print the version")->callback([&console, &chosen] {
    chosen = [&console] {
      console.out(fmt::format("rngdsim {}\n", kVersion));
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace rngdsim::cli
