// SPDX-License-Identifier: Apache-2.0
#include "report/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "report/attribution.h"
#include "report/numbers.h"
#include "report/run_json.h"
#include "report/schedule.h"
#include "support/text.h"

namespace rngdsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kWhyLabel = 34;

// Cycles of the path by what is given, most first; of equals the one that comes first.
std::vector<std::pair<std::string, uint64_t>> shares(
    const std::vector<std::pair<std::string, uint64_t>>& parts) {
  std::vector<std::pair<std::string, uint64_t>> sums;
  for (const auto& [what, cycles] : parts) {
    const auto known = std::find_if(
        sums.begin(), sums.end(), [&, &name = what](const auto& sum) { return sum.first == name; });
    if (known == sums.end()) {
      sums.emplace_back(what, cycles);
    } else {
      known->second += cycles;
    }
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sums;
}

class Why {
 public:
  Why(const RunResult& run, const Program& program, const CommandProfile& profile)
      : run_(run),
        analysis_(analyse_schedule(program, run)),
        attributions_(attribute(program, run, profile)),
        roofline_(roofline_of(run)) {}

  std::string text(const ReportOptions& options, const Style& style) const {
    std::string text =
        style.strong(run_.kernel_name) +
        fmt::format("  {} ({})    topology {}, {}{}{}\n\n", count_of(run_.cycles, "cycle"),
                    duration(static_cast<double>(run_.cycles) / run_.clock_ghz), run_.topology_name,
                    gigahertz(run_.clock_ghz), options.set.empty() ? "" : ", with ",
                    fmt::to_string(fmt::join(options.set, ", ")));
    text += sentences();
    text += "\n" + path_table() + "\n" + slack_table();
    text += "\n" + attribution_table();
    if (!analysis_.gaps.empty()) text += "\n" + gap_table();
    if (!roofline_.points.empty()) text += "\n" + roofline_table();
    return text;
  }

  Json json(const ReportOptions& options) const {
    Json path = Json::array(), commands = Json::array(), gaps = Json::array();
    for (const PathLink& link : analysis_.path) {
      path.push_back({{"command", link.command},
                      {"from", link.from},
                      {"to", link.to},
                      {"because", link.because ? because(*link.because) : Json(nullptr)}});
    }
    for (const CommandSlack& c : analysis_.commands) {
      const CommandResult& command = run_.commands[c.command];
      commands.push_back({{"index", c.command},
                          {"context", command.context},
                          {"label", command.label},
                          {"begin", command.begin},
                          {"end", command.end},
                          {"cycles", command.cycles},
                          {"bound", command.bound},
                          {"bound_by", command.bound_by},
                          {"exposed", c.exposed},
                          {"slack", c.slack},
                          {"limiting", c.limiting ? Json(*c.limiting) : Json(nullptr)},
                          {"on_critical_path", is_on_path(c.command)},
                          {"went", went(attributions_[c.command])}});
    }
    for (const ContextGap& gap : analysis_.gaps) {
      gaps.push_back({{"context", gap.context},
                      {"from", gap.from},
                      {"to", gap.to},
                      {"next", gap.next},
                      {"because", because(gap.because)}});
    }
    return {{"schema_version", 1},
            {"tool", tool_json()},
            {"kernel", {{"name", run_.kernel_name}, {"file", run_.kernel_file}}},
            {"topology", {{"name", run_.topology_name}, {"set", options.set}}},
            {"cycles", run_.cycles},
            {"critical_path", path},
            {"commands", commands},
            {"gaps", gaps},
            {"roofline", roofline()}};
  }

 private:
  static Json because(const Dependence& d) {
    return {{"kind", d.kind}, {"what", d.what}, {"command", d.earlier}, {"cycle", d.cleared}};
  }

  static Json went(const Attribution& a) {
    Json waits = Json::object();
    for (const auto& [what, cycles] : a.waits) waits[what] = cycles;
    return {{"unit", a.unit.empty() ? Json(nullptr) : Json(a.unit)},
            {"overhead", a.overhead},
            {"work", a.work},
            {"waits", waits},
            {"fill", a.fill},
            {"over_bound",
             {{"cycles", a.over.cycles()},
              {"work", a.over.work},
              {"waits", a.over.waits},
              {"fill", a.over.fill}}}};
  }

  Json roofline() const {
    if (roofline_.points.empty()) return nullptr;
    Json points = Json::array();
    for (const RooflinePoint& point : roofline_.points) {
      points.push_back({{"memory", point.memory},
                        {"bytes", point.bytes},
                        {"macs_per_byte", point.intensity},
                        {"peak_bytes_per_cycle", point.peak_bytes},
                        {"roof_macs_per_cycle", point.roof},
                        {"of_roof", point.of_roof}});
    }
    return {{"peak_macs_per_cycle", roofline_.peak},
            {"macs_per_cycle", roofline_.achieved},
            {"memories", points}};
  }

  bool is_on_path(CommandId id) const {
    return std::any_of(analysis_.path.begin(), analysis_.path.end(),
                       [&](const PathLink& link) { return link.command == id; });
  }

  std::string named(CommandId id) const {
    return fmt::format("command {} ({})", id, run_.commands[id].label);
  }

  // What sets the end, what its links wait for, and the largest of them.
  std::string sentences() const {
    if (analysis_.path.empty()) return "";
    std::vector<std::pair<std::string, uint64_t>> contexts, kinds;
    const PathLink* longest = &analysis_.path.front();
    for (const PathLink& link : analysis_.path) {
      const uint64_t cycles = link.to - link.from;
      contexts.emplace_back(run_.commands[link.command].context, cycles);
      kinds.emplace_back(link.because ? link.because->kind : "begin of the run", cycles);
      if (cycles > longest->to - longest->from) longest = &link;
    }
    const auto list = [&](const auto& parts) {
      std::vector<std::string> texts;
      for (const auto& [what, cycles] : shares(parts)) {
        texts.push_back(
            fmt::format("{} {} ({})", what, group_digits(cycles), percent(cycles, run_.cycles)));
      }
      return fmt::to_string(fmt::join(texts, ", "));
    };
    const auto line = [](const std::string& what, const std::string& text) {
      return wrap(text, "  " + what + std::string(11 - what.size(), ' '), 13);
    };
    const CommandResult& slowest = run_.commands[longest->command];
    return line("path", fmt::format("{} of {} set the end: {}", analysis_.path.size(),
                                    count_of(run_.commands.size(), "command"), list(contexts))) +
           line("begun by", list(kinds)) +
           line("longest",
                fmt::format("{}: {} ({} of the run), of which its bound, {}, is {}",
                            named(longest->command), count_of(longest->to - longest->from, "cycle"),
                            percent(longest->to - longest->from, run_.cycles), slowest.bound_by,
                            group_digits(slowest.bound)));
  }

  std::string path_table() const {
    TextTable table;
    for (const char* heading : {"from", "to", "cycles", "share"}) {
      table.column(heading, TextTable::Align::kRight);
    }
    table.column("", TextTable::Align::kRight, 3);
    table.column("", TextTable::Align::kLeft, 1);
    table.column("critical path", TextTable::Align::kLeft, 2, kWhyLabel);
    table.column("began after", TextTable::Align::kLeft, 3);
    for (const PathLink& link : analysis_.path) {
      const CommandResult& command = run_.commands[link.command];
      const uint64_t cycles = link.to - link.from;
      table.row({group_digits(link.from), group_digits(link.to), group_digits(cycles),
                 percent(cycles, run_.cycles), std::to_string(link.command), command.context,
                 command.label, link.because ? to_string(*link.because) : "-"});
    }
    return table.text(kIndent);
  }

  std::string slack_table() const {
    TextTable table;
    table.column("", TextTable::Align::kRight);
    table.column("", TextTable::Align::kLeft, 1);
    table.column("command", TextTable::Align::kLeft, 2, kWhyLabel);
    for (const char* heading : {"cycles", "bound", "exposed", "slack"}) {
      table.column(heading, TextTable::Align::kRight);
    }
    table.column("then begins later", TextTable::Align::kLeft, 3);
    for (const CommandSlack& c : analysis_.commands) {
      const CommandResult& command = run_.commands[c.command];
      table.row({std::to_string(c.command), command.context, command.label,
                 group_digits(command.cycles), group_digits(command.bound), group_digits(c.exposed),
                 group_digits(c.slack), c.limiting ? named(*c.limiting) : "the end of the run"});
    }
    return table.text(kIndent) +
           wrap("cycles in which no other context ran a command", "  exposed: ", 4) +
           wrap(
               "cycles that it may take longer before the end of the run moves, all others as they "
               "were; 0 on the critical path",
               "  slack: ", 4);
  }

  std::string attribution_table() const {
    TextTable table;
    table.column("", TextTable::Align::kRight);
    table.column("cycles went", TextTable::Align::kLeft, 1, kWhyLabel);
    for (const char* heading : {"cycles", "overhead", "work", "waits", "fill", "over bound"}) {
      table.column(heading, TextTable::Align::kRight);
    }
    table.column("of unit", TextTable::Align::kLeft, 3);
    table.column("which was", TextTable::Align::kLeft, 3);
    for (const Attribution& a : attributions_) {
      const CommandResult& command = run_.commands[a.command];
      std::vector<std::string> waits;
      for (const auto& [what, cycles] : a.waits) {
        waits.push_back(fmt::format("{} {}", what, group_digits(cycles)));
      }
      table.row({std::to_string(a.command), command.label, group_digits(command.cycles),
                 group_digits(a.overhead), group_digits(a.work), group_digits(a.waited()),
                 group_digits(a.fill), group_digits(a.over.cycles()), a.unit.empty() ? "-" : a.unit,
                 waits.empty() ? "-" : fmt::to_string(fmt::join(waits, ", "))});
    }
    return table.text(kIndent) +
           wrap(
               "before the first item of the unit, overhead aside, and after its last; the unit is "
               "the one that sets the bound of the command",
               "  fill: ", 4) +
           wrap(
               "cycles less the bound of the command, which overhead, work, waits and fill cover "
               "in "
               "this order",
               "  over bound: ", 4);
  }

  std::string roofline_table() const {
    TextTable table;
    table.column("roofline", TextTable::Align::kLeft);
    for (const char* heading :
         {"bytes", "MACs a byte", "peak B/cycle", "roof MACs/cycle", "of roof"}) {
      table.column(heading, TextTable::Align::kRight);
    }
    for (const RooflinePoint& point : roofline_.points) {
      table.row({point.memory, group_digits(point.bytes), decimal(point.intensity, 2),
                 decimal(point.peak_bytes, 0), decimal(point.roof, 0), percent(point.of_roof)});
    }
    return table.text(kIndent) +
           wrap(fmt::format("{} MACs/cycle over the run; the multipliers of the chip can do {}",
                            decimal(roofline_.achieved, 1), decimal(roofline_.peak, 0)),
                "  reached: ", 4);
  }

  std::string gap_table() const {
    TextTable table;
    table.column("idle", TextTable::Align::kLeft);
    for (const char* heading : {"from", "to", "cycles"}) {
      table.column(heading, TextTable::Align::kRight);
    }
    table.column("next", TextTable::Align::kLeft, 3, kWhyLabel + 4);
    table.column("waited for", TextTable::Align::kLeft, 3);
    for (const ContextGap& gap : analysis_.gaps) {
      table.row({gap.context, group_digits(gap.from), group_digits(gap.to),
                 group_digits(gap.to - gap.from),
                 fmt::format("{} {}", gap.next, run_.commands[gap.next].label),
                 fmt::format("command {}: {}", gap.because.earlier, to_string(gap.because))});
    }
    return table.text(kIndent);
  }

  const RunResult& run_;
  ScheduleAnalysis analysis_;
  std::vector<Attribution> attributions_;  // by command
  Roofline roofline_;
};

}  // namespace

std::string why_text(const RunResult& run, const Program& program, const CommandProfile& profile,
                     const ReportOptions& options, const Style& style) {
  return Why(run, program, profile).text(options, style);
}

nlohmann::ordered_json why_json(const RunResult& run, const Program& program,
                                const CommandProfile& profile, const ReportOptions& options) {
  return Why(run, program, profile).json(options);
}

}  // namespace rngdsim
