// SPDX-License-Identifier: Apache-2.0
#include "report/what_if.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"
#include "report/run_json.h"
#include "support/text.h"

namespace rngdsim {
namespace {

constexpr size_t kWhatIfLabel = 34;

bool differs(const CommandResult& before, const CommandResult& after) {
  return before.begin != after.begin || before.end != after.end;
}

std::string gain_text(const RunResult& base, const RunResult& changed) {
  if (changed.cycles == base.cycles) return "nothing: the end does not move";
  const bool less = changed.cycles < base.cycles;
  const uint64_t cycles = less ? base.cycles - changed.cycles : changed.cycles - base.cycles;
  std::string text = fmt::format("{} {} ({} of the run)", count_of(cycles, "cycle"),
                                 less ? "less" : "more", percent(cycles, base.cycles));
  if (less && changed.cycles > 0) {
    text += fmt::format(
        ", {} x as fast",
        decimal(static_cast<double>(base.cycles) / static_cast<double>(changed.cycles), 2));
  }
  return text;
}

}  // namespace

std::string what_if_text(const RunResult& base, const RunResult& changed, const Changes& changes,
                         const Style& style) {
  std::string text = style.strong(base.kernel_name) +
                     fmt::format("  {}    topology {}, {}\n\n", count_of(base.cycles, "cycle"),
                                 base.topology_name, gigahertz(base.clock_ghz));
  text += wrap(fmt::to_string(fmt::join(changes, ", ")), "  what if  ", 11);
  text += fmt::format("  cycles   {}\n", group_digits(changed.cycles));
  text += wrap(gain_text(base, changed), "  gain     ", 11);
  TextTable table;
  table.column("", TextTable::Align::kRight);
  table.column("", TextTable::Align::kLeft, 1);
  table.column("command", TextTable::Align::kLeft, 2, kWhatIfLabel);
  for (const char* heading : {"cycles", "what if", "", "end", "what if", ""}) {
    table.column(heading, TextTable::Align::kRight);
  }
  for (size_t i = 0; i < base.commands.size(); ++i) {
    const CommandResult &before = base.commands[i], &after = changed.commands[i];
    if (!differs(before, after)) continue;
    table.row({std::to_string(before.index), before.context, before.label,
               group_digits(before.cycles), group_digits(after.cycles),
               change_text(before.cycles, after.cycles), group_digits(before.end),
               group_digits(after.end), change_text(before.end, after.end)});
  }
  if (table.empty()) return text;
  text += "\n" + table.text(kIndent);
  const size_t same = base.commands.size() - table.row_count();
  if (same > 0) text += fmt::format("  {} as before\n", count_of(same, "command"));
  return text;
}

nlohmann::ordered_json what_if_json(const RunResult& base, const RunResult& changed,
                                    const Changes& changes) {
  using Json = nlohmann::ordered_json;
  Json commands = Json::array();
  for (size_t i = 0; i < base.commands.size(); ++i) {
    const CommandResult &before = base.commands[i], &after = changed.commands[i];
    commands.push_back({{"index", before.index},
                        {"context", before.context},
                        {"label", before.label},
                        {"begin", before.begin},
                        {"end", before.end},
                        {"begin_what_if", after.begin},
                        {"end_what_if", after.end}});
  }
  return {{"schema_version", 1},
          {"tool", tool_json()},
          {"kernel", {{"name", base.kernel_name}, {"file", base.kernel_file}}},
          {"what_if", changes},
          {"cycles", base.cycles},
          {"cycles_what_if", changed.cycles},
          {"commands", commands}};
}

}  // namespace rngdsim
