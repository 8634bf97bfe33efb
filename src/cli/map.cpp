// SPDX-License-Identifier: Apache-2.0
// rngdsim map: what lives at each position of a mapping.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/subcommands.h"
#include "config/reader.h"
#include "mapping/mapping.h"
#include "report/map_text.h"
#include "support/input_limits.h"
#include "support/text.h"

namespace rngdsim::cli {
namespace {

struct MapArguments {
  std::string mapping;
  std::vector<std::string> axes;
  uint64_t limit = 32;
};

constexpr uint64_t kMaxShown = 100'000;  // the text of all of them is made before it is written

// "R=11,X=64"
void parse_axes(const std::string& text, AxisTable& axes, Diagnostics& diagnostics) {
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string entry = text.substr(at, end - at);
    const SourceLocation where{"--axes", 1, static_cast<int>(at) + 1};
    at = end + 1;
    const size_t equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    uint64_t size = 0;
    if (equals == std::string::npos || !parse_count(entry.substr(equals + 1), size)) {
      diagnostics.error(where, fmt::format("{} must be AXIS=SIZE", quoted(entry)),
                        "for example --axes R=11,X=64");
    } else if (!is_identifier(name) || name[0] < 'A' || name[0] > 'Z') {
      diagnostics.error(where, fmt::format("{} is no name of an axis: an upper-case letter, then "
                                           "letters, digits, '_'",
                                           quoted(name)));
    } else if (size < 1 || size > kMaxAxisSize) {
      diagnostics.error(where, fmt::format("axis {} has size {}; 1 to {} are possible", name, size,
                                           group_digits(kMaxAxisSize)));
    } else if (name.size() > kMaxNameLength) {
      diagnostics.error(where, fmt::format("the name {} has {} characters; at most {} are accepted",
                                           quoted(name), name.size(), kMaxNameLength));
    } else if (axes.count() == kMaxAxes) {
      diagnostics.error(where, fmt::format("more than {} axes", kMaxAxes), kLimitHint);
      return;
    } else if (axes.find(name)) {
      diagnostics.error(where, fmt::format("axis {} is given twice", name));
    } else {
      axes.add(name, size);
    }
  }
}

int map(const MapArguments& arguments, const Console& console) {
  Diagnostics diagnostics;
  if (arguments.limit > kMaxShown) {
    diagnostics.error({"--limit", 0, 0},
                      fmt::format("must be at most {}, got {}", group_digits(kMaxShown),
                                  group_digits(arguments.limit)));
  }
  AxisTable axes;
  for (const std::string& text : arguments.axes) parse_axes(text, axes, diagnostics);
  diagnostics.throw_if_errors();
  const Located<std::string> text{arguments.mapping, {"MAPPING", 1, 1}};
  const ExprPtr expression = parse_mapping(text, axes, {}, diagnostics);
  diagnostics.throw_if_errors();
  const Mapping mapping = make_mapping(*expression, axes);
  check_digits({&mapping}, axes, text.where, "the mapping", diagnostics);
  console.diagnostics(diagnostics);
  if (diagnostics.has_errors()) return kBadInput;
  console.out(map_text(arguments.mapping, mapping, axes, arguments.limit, console.out_style()));
  return kDone;
}

}  // namespace

void add_map(CLI::App& app, Console& console, Work& chosen) {
  const auto arguments = std::make_shared<MapArguments>();
  CLI::App* command = app.add_subcommand("map", "show what lives at each position of a mapping");
  command->add_option("MAPPING", arguments->mapping, "the mapping, e.g. 'R # 16 / 8, X'")
      ->required()
      ->type_name("");
  command->add_option("--axes", arguments->axes, "the axes that it uses and their sizes")
      ->type_name("AXIS=SIZE,...")
      ->allow_extra_args(false);
  add_number(*command, "--limit", arguments->limit, 1,
             "positions shown, half of them from each end (default: 32)");
  command->callback([arguments, &console, &chosen] {
    chosen = [arguments, &console] { return map(*arguments, console); };
  });
}

}  // namespace rngdsim::cli
