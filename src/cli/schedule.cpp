// SPDX-License-Identifier: Apache-2.0
// rngdsim schedule: explains a schedule of the vendor's compiler.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/files.h"
#include "cli/subcommands.h"
#include "report/vendor_schedule.h"

namespace rngdsim::cli {
namespace {

int schedule(const std::string& file, const Console& console) {
  Diagnostics diagnostics;
  const auto text = read_file(file, diagnostics);
  const auto found = text ? read_schedule(*text, file, diagnostics) : std::nullopt;
  diagnostics.throw_if_errors();
  console.out(schedule_text(*found, console.out_style()));
  return kDone;
}

}  // namespace

void add_schedule(CLI::App& app, Console& console, Work& chosen) {
  const auto file = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "schedule", "makespan, critical path and gaps of a schedule of the vendor's compiler");
  command->add_option("FILE", *file, "the JSON that --dump-schedule or run --schedule writes")
      ->required();
  command->callback([file, &console, &chosen] {
    chosen = [file, &console] { return schedule(*file, console); };
  });
}

}  // namespace rngdsim::cli
