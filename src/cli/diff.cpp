// SPDX-License-Identifier: Apache-2.0
// rngdsim diff: what changed between two runs.
#include "report/diff.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/files.h"
#include "cli/subcommands.h"
#include "report/json_fields.h"
#include "report/vendor_schedule.h"

namespace rngdsim::cli {
namespace {

struct DiffArguments {
  std::string a, b;
  std::string format = "text";
};

// A report, or a schedule.
std::optional<ReportedRun> read(const std::string& file, Diagnostics& diagnostics) {
  const auto text = read_file(file, diagnostics);
  if (!text) return std::nullopt;
  const auto json = parse_json(*text, file, diagnostics);
  if (!json) return std::nullopt;
  if (!json->is_object() || !json->contains("instructions")) {
    return read_report(*text, file, diagnostics);
  }
  const auto schedule = read_schedule(*text, file, diagnostics);
  return schedule ? std::optional(as_report(*schedule)) : std::nullopt;
}

int diff(const DiffArguments& arguments, const Console& console) {
  Diagnostics diagnostics;
  const auto a = read(arguments.a, diagnostics);
  const auto b = read(arguments.b, diagnostics);
  diagnostics.throw_if_errors();
  if (arguments.format == "json") {
    console.out(json_text(diff_json(*a, *b)));
  } else {
    console.out(diff_text(*a, *b, console.out_style()));
  }
  return kDone;
}

}  // namespace

void add_diff(CLI::App& app, Console& console, Work& chosen) {
  const auto arguments = std::make_shared<DiffArguments>();
  CLI::App* command = app.add_subcommand(
      "diff", "what changed between two runs, from their reports (run --format json) or schedules");
  command->add_option("A", arguments->a, "the report of the run before")->required();
  command->add_option("B", arguments->b, "the report of the run after")->required();
  add_format(*command, arguments->format);
  command->callback([arguments, &console, &chosen] {
    chosen = [arguments, &console] { return diff(*arguments, console); };
  });
}

}  // namespace rngdsim::cli
