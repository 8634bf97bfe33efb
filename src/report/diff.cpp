// SPDX-License-Identifier: Apache-2.0
#include "report/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "report/json_fields.h"
#include "report/numbers.h"
#include "report/run_json.h"
#include "support/text.h"

namespace rngdsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kDiffLabel = 34;

ReportedRun::Command read_command(const Json& json, JsonFields& reader) {
  ReportedRun::Command command;
  command.index = reader.number(json, "index");
  command.context = reader.text(json, "context");
  command.label = reader.text(json, "label");
  command.begin = reader.number(json, "begin");
  command.end = reader.number(json, "end");
  if (json.contains("waited_for") && json.at("waited_for").is_object()) {
    const Json& waited = json.at("waited_for");
    command.waited_for =
        fmt::format("{} ({})", reader.text(waited, "what"), reader.text(waited, "kind"));
  }
  return command;
}

ReportedRun::Tensor read_tensor(const Json& json, JsonFields& reader) {
  ReportedRun::Tensor tensor;
  tensor.name = reader.text(json, "name");
  tensor.version = reader.number(json, "version");
  const std::string memory = reader.text(json, "memory");
  const uint64_t begin = reader.number(json, "begin"), end = reader.number(json, "end");
  const std::string unit = reader.text(json, "unit") == "rows" ? " rows" : "";
  tensor.place = fmt::format("{}{} {} to {}", memory, unit, group_digits(begin),
                             group_digits(end > 0 ? end - 1 : 0));
  return tensor;
}

// What belongs together in two lists; either may be missing.
struct Match {
  std::optional<size_t> a, b;
};

// By a key, the first with the first; in the order of A, what only B has behind it in B's order.
template <typename List, typename Key>
std::vector<Match> match(const List& a, const List& b, Key&& key) {
  std::map<decltype(key(a[0])), std::vector<size_t>> places;
  for (size_t i = b.size(); i-- > 0;) places[key(b[i])].push_back(i);  // the first one last
  std::vector<Match> matches;
  std::vector<uint8_t> taken(b.size(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    Match& match = matches.emplace_back();
    match.a = i;
    std::vector<size_t>& same = places[key(a[i])];
    if (same.empty()) continue;
    match.b = same.back();
    taken[same.back()] = 1;
    same.pop_back();
  }
  for (size_t i = 0; i < b.size(); ++i) {
    if (taken[i] == 0) matches.push_back({std::nullopt, i});
  }
  return matches;
}

class Diff {
 public:
  Diff(const ReportedRun& a, const ReportedRun& b)
      : a_(a),
        b_(b),
        commands_(match(
            a.commands, b.commands,
            [](const ReportedRun::Command& c) { return std::make_pair(c.context, c.label); })),
        tensors_(match(a.tensors, b.tensors, [](const ReportedRun::Tensor& t) {
          return std::make_pair(t.name, t.version);
        })) {}

  std::string text(const Style& style) const {
    std::string text =
        style.strong(a_.kernel) +
        fmt::format("  {} -> {} cycles", group_digits(a_.cycles), group_digits(b_.cycles));
    if (a_.cycles != b_.cycles && a_.cycles > 0) {
      const bool less = b_.cycles < a_.cycles;
      const uint64_t cycles = less ? a_.cycles - b_.cycles : b_.cycles - a_.cycles;
      text += fmt::format(", {} {} ({})", group_digits(cycles), less ? "less" : "more",
                          percent(cycles, a_.cycles));
    }
    text += "\n\n" + wrap(a_.file, "  A  ", 5) + wrap(b_.file, "  B  ", 5);
    for (const std::string& note : notes()) text += wrap(note, "  note: ", 4);
    std::string tables = command_table();
    if (!a_.only_times && !b_.only_times) tables += wait_table() + tensor_table();
    return text + (tables.empty() ? "\n  no command, wait or place differs\n" : tables);
  }

  Json json() const {
    Json commands = Json::array(), tensors = Json::array();
    for (const Match& m : commands_) {
      const ReportedRun::Command& any = m.a ? a_.commands[*m.a] : b_.commands[*m.b];
      commands.push_back({{"context", any.context},
                          {"label", any.label},
                          {"a", m.a ? side(a_.commands[*m.a]) : Json(nullptr)},
                          {"b", m.b ? side(b_.commands[*m.b]) : Json(nullptr)}});
    }
    for (const Match& m : tensors_) {
      if (a_.only_times || b_.only_times) break;
      const ReportedRun::Tensor& any = m.a ? a_.tensors[*m.a] : b_.tensors[*m.b];
      const std::string before = m.a ? a_.tensors[*m.a].place : "",
                        after = m.b ? b_.tensors[*m.b].place : "";
      if (before == after) continue;
      tensors.push_back({{"name", any.name},
                         {"version", any.version},
                         {"a", m.a ? Json(before) : Json(nullptr)},
                         {"b", m.b ? Json(after) : Json(nullptr)}});
    }
    return {{"schema_version", 1},
            {"tool", tool_json()},
            {"a", {{"file", a_.file}, {"kernel", a_.kernel}, {"cycles", a_.cycles}}},
            {"b", {{"file", b_.file}, {"kernel", b_.kernel}, {"cycles", b_.cycles}}},
            {"commands", commands},
            {"moved_tensors", tensors}};
  }

 private:
  static Json side(const ReportedRun::Command& c) {
    return {{"index", c.index},
            {"begin", c.begin},
            {"end", c.end},
            {"cycles", c.cycles()},
            {"waited_for", c.waited_for.empty() ? Json(nullptr) : Json(c.waited_for)}};
  }

  // A schedule tells neither.
  static bool differ(const std::string& a, const std::string& b) {
    return !a.empty() && !b.empty() && a != b;
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    if (a_.kernel != b_.kernel) {
      notes.push_back(
          fmt::format("the kernels are {} and {}", quoted(a_.kernel), quoted(b_.kernel)));
    } else if (differ(a_.kernel_sha256, b_.kernel_sha256)) {
      notes.emplace_back("the kernel file has changed");
    }
    if (differ(a_.topology, b_.topology)) notes.emplace_back("the machines differ");
    return notes;
  }

  std::string command_table() const {
    TextTable table;
    table.column("", TextTable::Align::kRight);
    table.column("", TextTable::Align::kRight, 1);
    table.column("", TextTable::Align::kLeft, 1);
    table.column("command", TextTable::Align::kLeft, 2, kDiffLabel);
    for (const char* heading : {"cycles A", "cycles B", "", "end A", "end B", ""}) {
      table.column(heading, TextTable::Align::kRight);
    }
    for (const Match& m : commands_) {
      if (!m.a || !m.b) {
        const ReportedRun::Command& only = m.a ? a_.commands[*m.a] : b_.commands[*m.b];
        const std::string cycles = group_digits(only.cycles()), end = group_digits(only.end);
        const std::string number = std::to_string(only.index);
        table.row({m.a ? number : "", m.a ? "" : number, only.context, only.label,
                   m.a ? cycles : "", m.a ? "" : cycles, m.a ? "only A" : "only B", m.a ? end : "",
                   m.a ? "" : end, ""});
        continue;
      }
      const ReportedRun::Command &a = a_.commands[*m.a], &b = b_.commands[*m.b];
      if (a.begin == b.begin && a.end == b.end) continue;
      table.row({std::to_string(a.index), std::to_string(b.index), a.context, a.label,
                 group_digits(a.cycles()), group_digits(b.cycles()),
                 change_text(a.cycles(), b.cycles()), group_digits(a.end), group_digits(b.end),
                 change_text(a.end, b.end)});
    }
    return table.empty() ? "" : "\n" + table.text(kIndent);
  }

  std::string wait_table() const {
    TextTable table;
    table.column("", TextTable::Align::kLeft);
    table.column("command", TextTable::Align::kLeft, 1, kDiffLabel);
    table.column("waited in A for", TextTable::Align::kLeft, 3);
    table.column("waits in B for", TextTable::Align::kLeft, 3);
    for (const Match& m : commands_) {
      if (!m.a || !m.b) continue;
      const ReportedRun::Command &a = a_.commands[*m.a], &b = b_.commands[*m.b];
      if (a.waited_for == b.waited_for) continue;
      const auto shown = [](const std::string& what) { return what.empty() ? "-" : what; };
      table.row({a.context, a.label, shown(a.waited_for), shown(b.waited_for)});
    }
    return table.empty() ? "" : "\n" + table.text(kIndent);
  }

  std::string tensor_table() const {
    TextTable table;
    table.column("tensor", TextTable::Align::kLeft, 2, kDiffLabel);
    table.column("in A at", TextTable::Align::kLeft, 3);
    table.column("in B at", TextTable::Align::kLeft, 3);
    for (const Match& m : tensors_) {
      const ReportedRun::Tensor& any = m.a ? a_.tensors[*m.a] : b_.tensors[*m.b];
      const std::string before = m.a ? a_.tensors[*m.a].place : "-",
                        after = m.b ? b_.tensors[*m.b].place : "-";
      if (before == after) continue;
      const std::string version = any.version == 0 ? "" : fmt::format(" #{}", any.version);
      table.row({any.name + version, before, after});
    }
    return table.empty() ? "" : "\n" + table.text(kIndent);
  }

  const ReportedRun& a_;
  const ReportedRun& b_;
  std::vector<Match> commands_, tensors_;
};

}  // namespace

std::optional<ReportedRun> read_report(const std::string& text, const std::string& file,
                                       Diagnostics& diagnostics) {
  const auto parsed = parse_json(text, file, diagnostics);
  if (!parsed) return std::nullopt;
  const Json& json = *parsed;
  JsonFields reader(file, "report of a run", "rngdsim run KERNEL --format json writes one",
                    diagnostics);
  ReportedRun run;
  run.file = file;
  const Json kernel = reader.object(json, "kernel"), &topology = reader.object(json, "topology");
  run.cycles = reader.number(json, "cycles");
  const Json &commands = reader.list(json, "commands"), &tensors = reader.list(json, "tensors");
  if (!reader.good()) return std::nullopt;
  run.kernel = reader.text(kernel, "name");
  run.kernel_sha256 = reader.text(kernel, "sha256");
  run.topology = reader.text(topology, "sha256");
  for (const Json& setting : reader.list(topology, "set")) run.topology += " " + setting.dump();
  for (const Json& command : commands) run.commands.push_back(read_command(command, reader));
  for (const Json& tensor : tensors) run.tensors.push_back(read_tensor(tensor, reader));
  if (!reader.good()) return std::nullopt;
  return run;
}

std::string diff_text(const ReportedRun& a, const ReportedRun& b, const Style& style) {
  return Diff(a, b).text(style);
}

nlohmann::ordered_json diff_json(const ReportedRun& a, const ReportedRun& b) {
  return Diff(a, b).json();
}

}  // namespace rngdsim
