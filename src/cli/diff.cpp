// SPDX-License-Identifier: Apache-2.0
// rngdsim diff: what changed between two runs.
#include "report/diff.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <sstream>

#include "cli/subcommands.h"

namespace rngdsim::cli {
namespace {

struct DiffArguments {
  std::string a, b;
  std::string format = "text";
};

std::optional<ReportedRun> read(const std::string& file, Diagnostics& diagnostics) {
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  // Of a directory nothing can be read.
  if (stream) text << stream.rdbuf();
  if (!stream || text.fail()) {
    diagnostics.error({file, 0, 0}, "cannot be read");
    return std::nullopt;
  }
  return read_report(text.str(), file, diagnostics);
}

int diff(const DiffArguments& arguments, const Console& console) {
  Diagnostics diagnostics;
  const auto a = read(arguments.a, diagnostics);
  const auto b = read(arguments.b, diagnostics);
  diagnostics.throw_if_errors();
  if (arguments.format == "json") {
    using Json = nlohmann::ordered_json;
    console.out(diff_json(*a, *b).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    console.out(diff_text(*a, *b, console.out_style()));
  }
  return kDone;
}

}  // namespace

void add_diff(CLI::App& app, Console& console, Work& chosen) {
  const auto arguments = std::make_shared<DiffArguments>();
  CLI::App* command = app.add_subcommand(
      "diff", "what changed between two runs, from their reports (run --format json)");
  command->add_option("A", arguments->a, "the report of the run before")->required();
  command->add_option("B", arguments->b, "the report of the run after")->required();
  add_format(*command, arguments->format);
  command->callback([arguments, &console, &chosen] {
    chosen = [arguments, &console] { return diff(*arguments, console); };
  });
}

}  // namespace rngdsim::cli
