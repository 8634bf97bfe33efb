// SPDX-License-Identifier: Apache-2.0
#include "report/run_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "report/dma_report.h"
#include "report/findings.h"
#include "report/numbers.h"
#include "report/timeline.h"
#include "support/text.h"

namespace rngdsim {
namespace {

constexpr size_t kTopicIndent = 12;  // of the sentences at the top
constexpr size_t kMaxLabel = 50;
constexpr size_t kMaxNamedTensors = 3;
constexpr size_t kMaxHints = 5;
constexpr size_t kMostCommands = 40, kFirstCommands = 24;  // shown one by one
constexpr const char* kExpectSuffix = " (expect)";         // see CheckedValues

std::string topic(const std::string& name) {
  std::string text(kIndent, ' ');
  text += name;
  text.resize(std::max(kTopicIndent, text.size() + 1), ' ');
  return text;
}

// The dtypes of what exists before the program, in order of appearance.
std::string dtypes(const Program& program) {
  std::vector<std::string> names;
  const auto add = [&](DType dtype) {
    const std::string text = name(dtype);
    if (std::find(names.begin(), names.end(), text) == names.end()) names.push_back(text);
  };
  for (const TensorVersion& tensor : program.tensors) {
    if (!tensor.produced_by) add(tensor.dtype);
  }
  for (const Command& command : program.commands) {
    if (command.stream) add(command.source.dtype);
  }
  return fmt::format("{}", fmt::join(names, " "));
}

// Why a run ended before its program did; empty where it did not.
std::string stop_text(const RunResult& run) {
  switch (run.status) {
    case RunStatus::kOk:
    case RunStatus::kFailed:
      return "";
    case RunStatus::kDeadlock:
      return fmt::format("deadlock: nothing moves after cycle {}", group_digits(run.cycles));
    case RunStatus::kWatchdog:
      return fmt::format("watchdog: nothing moves any more; ended in cycle {}",
                         group_digits(run.cycles));
    case RunStatus::kStopped:
      return fmt::format("stopped after {}", count_of(run.cycles, "cycle"));
    case RunStatus::kMaxCycles:
      break;
  }
  return fmt::format("--max-cycles reached at {}", count_of(run.cycles, "cycle"));
}

// Where and in what: "main_fetch, cycle 263, command 0 (x -> y)".
std::string place_text(const FailureResult& failure, const Program& program) {
  std::string where = fmt::format("cycle {}", group_digits(failure.cycle));
  if (!failure.unit.empty()) where = failure.unit + ", " + where;
  if (failure.command < program.commands.size()) {
    where +=
        fmt::format(", command {} ({})", failure.command, program.commands[failure.command].label);
  }
  return where;
}

uint64_t elements_checked(const ValueResult& values) {
  uint64_t elements = 0;
  for (const CheckedValues& checked : values.checked) elements += checked.elements;
  return elements;
}

std::string wrong_text(const ValueResult& values) {
  return fmt::format("{} of {} ({})", group_digits(values.mismatches),
                     count_of(elements_checked(values), "element"),
                     percent(values.mismatches, elements_checked(values)));
}

class RunText {
 public:
  RunText(const RunResult& run, const Program& program, const ReportOptions& options,
          const Style& style)
      : run_(run),
        program_(program),
        options_(options),
        style_(style),
        hints_(hints(run, program)) {}

  std::string text() {
    header();
    outcome();
    failures();
    mismatches();
    limits();
    commands(run_.commands);
    timeline();
    clusters();
    text_ += dma_text(run_, program_);
    units();
    memory();
    for (const std::string& hazard : run_.hazards) sentence(style_.warn("hazard:"), hazard);
    // The first is among the leads.
    for (size_t i = 1; i < std::min(hints_.size(), kMaxHints); ++i) {
      sentence(style_.strong("hint:"), hints_[i]);
    }
    return text_;
  }

  std::string outcome_sentence() const {
    const std::string stopped = stop_text(run_);
    return (stopped.empty() ? cycles_text() : stopped) + "; " + values_text();
  }

 private:
  // "  hint: ...", the lines after the first indented as far as its text.
  void sentence(const std::string& word, const std::string& rest) {
    const std::string first = std::string(kIndent, ' ') + word + " ";
    text_ += wrap(rest, first, text_width(first));
  }

  void header() {
    std::string axes;
    for (AxisId axis = 0; axis < program_.axes.count(); ++axis) {
      axes += fmt::format("{}{} {}", axis == 0 ? "" : "  ", program_.axes.name(axis),
                          group_digits(program_.axes.size(axis)));
    }
    std::vector<std::string> parts;
    if (!run_.kernel_description.empty()) parts.push_back(run_.kernel_description);
    std::string sizes = axes;
    if (const std::string types = dtypes(program_); !types.empty()) {
      sizes += (sizes.empty() ? "" : "  ") + types;
    }
    if (!sizes.empty()) parts.push_back(sizes);
    parts.push_back("topology " + run_.topology_name + ", " + gigahertz(run_.clock_ghz));
    if (!options_.set.empty()) {
      parts.push_back(fmt::format("with {}", fmt::join(options_.set, ", ")));
    }
    // Parts that fit stay together on a line.
    std::string line = style_.strong(run_.kernel_name);
    size_t at = text_width(run_.kernel_name);
    const size_t indent = 2;
    bool first = true;
    for (const std::string& part : parts) {
      const size_t gap = first ? 2 : 4;
      if (at + gap + text_width(part) <= kReportWidth) {
        line += std::string(gap, ' ') + part;
        at += gap + text_width(part);
      } else {
        text_ += line + "\n";
        const std::string wrapped = wrap(part, std::string(indent, ' '), indent);
        line = wrapped.substr(0, wrapped.size() - 1);
        at = text_width(
            line.substr(line.rfind('\n') == std::string::npos ? 0 : line.rfind('\n') + 1));
      }
      first = false;
    }
    text_ += line + "\n\n";
  }

  std::string cycles_text() const {
    return fmt::format("{} ({})", count_of(run_.cycles, "cycle"),
                       duration(static_cast<double>(run_.cycles) / run_.clock_ghz));
  }

  void outcome() {
    const std::string stopped = stop_text(run_);
    if (!stopped.empty()) {
      const bool by_caller =
          run_.status == RunStatus::kStopped || run_.status == RunStatus::kMaxCycles;
      text_ += std::string(kIndent, ' ') +
               style_.bad(stopped + (by_caller ? "; the report so far" : "")) + "\n";
    }
    const std::string lead = std::string(kIndent, ' ') + cycles_text() + "    ";
    text_ += wrap(values_text(), lead, lead.size());
  }

  std::string values_text() const {
    const ValueResult& values = run_.values;
    if (!values.simulated) return "values not simulated (--timing-only)";
    if (values.checked.empty()) return "values not checked: no command has ended";
    if (values.mismatches > 0) return style_.bad("values wrong") + ": " + wrong_text(values);
    // What `expect:` compared is told apart: its elements were counted already.
    std::vector<const CheckedValues*> written;
    std::vector<std::string> expected;
    uint64_t written_elements = 0;
    for (const CheckedValues& checked : values.checked) {
      const size_t suffix = checked.tensor.find(kExpectSuffix);
      if (suffix != std::string::npos) {
        expected.push_back(checked.tensor.substr(0, suffix));
      } else {
        written.push_back(&checked);
        written_elements += checked.elements;
      }
    }
    std::string what;
    if (written.size() > kMaxNamedTensors) {
      what = fmt::format("{} results, {}", written.size(), count_of(written_elements, "element"));
    } else {
      for (const CheckedValues* checked : written) {
        what += fmt::format("{}{} {}", what.empty() ? "" : ", ", checked->tensor,
                            group_digits(checked->elements));
      }
      if (!written.empty()) what += written_elements == 1 ? " element" : " elements";
    }
    if (!expected.empty()) {
      what +=
          fmt::format("{}{} as expect: says", what.empty() ? "" : ", ", fmt::join(expected, ", "));
    }
    const std::string error = values.max_abs_error == 0
                                  ? "all exact"
                                  : "max error " + percent(values.max_bound_fraction) + " of bound";
    return fmt::format("{}: {}, {}", style_.good("values right"), what, error);
  }

  void failures() {
    if (run_.failures.empty() && run_.stuck.empty()) return;
    for (const FailureResult& failure : run_.failures) {
      sentence(style_.bad(failure.kind + ":"),
               place_text(failure, program_) + ": " + failure.message);
    }
    if (run_.stuck.empty()) return;
    TextTable table;
    table.column("stuck unit", TextTable::Align::kLeft);
    table.column("state", TextTable::Align::kLeft);
    table.column("waits for", TextTable::Align::kLeft);
    for (const StuckUnit& unit : run_.stuck) table.row({unit.unit, unit.state, unit.waiting_for});
    text_ += table.text(kIndent) + "\n";
    if (run_.queues.empty()) return;
    TextTable queues;
    queues.column("queue", TextTable::Align::kLeft);
    queues.column("items", TextTable::Align::kRight);
    queues.column("depth", TextTable::Align::kRight);
    queues.column("at the head", TextTable::Align::kLeft);
    for (const StuckQueue& queue : run_.queues) {
      queues.row({queue.link, group_digits(queue.items), group_digits(queue.depth),
                  fmt::format("item {} of command {}", group_digits(queue.head_index),
                              queue.head_command)});
    }
    text_ += queues.text(kIndent) + "\n";
  }

  void mismatches() {
    const ValueResult& values = run_.values;
    if (values.first_mismatches.empty()) return;
    TextTable table;
    table.column("wrong in", TextTable::Align::kLeft);
    table.column("index", TextTable::Align::kLeft);
    table.column("place", TextTable::Align::kLeft);
    table.column("expected", TextTable::Align::kLeft);
    table.column("got", TextTable::Align::kLeft);
    for (const ValueMismatch& wrong : values.first_mismatches) {
      table.row({wrong.tensor, wrong.index, wrong.place, wrong.expected, wrong.got});
    }
    text_ += "\n" + table.text(kIndent);
    const uint64_t shown = values.first_mismatches.size();
    if (values.mismatches > shown) {
      text_ += fmt::format("  and {} more\n", group_digits(values.mismatches - shown));
    }
    text_ += "\n";
  }

  void limits() {
    for (const Lead& lead : leads(run_, program_, hints_)) {
      text_ += wrap(lead.text, topic(lead.topic), kTopicIndent);
    }
    if (run_.bound > 0 && run_.cycles > 0) {
      const double ratio = static_cast<double>(run_.cycles) / static_cast<double>(run_.bound);
      text_ +=
          wrap(fmt::format("{} cycles at least, by the lower bounds of {}; this run took {} x that",
                           group_digits(run_.bound), chain_text(), decimal(ratio, 2)),
               topic("bound"), kTopicIndent);
    }
    if (run_.mac.packets > 0) text_ += wrap(mac_text(), topic("MACs"), kTopicIndent);
    const OverlapResult& overlap = run_.overlap;
    if (overlap.main > 0 && overlap.sub > 0) {
      text_ += wrap(overlap_text(overlap), topic("overlap"), kTopicIndent);
    }
    if (overlap.dma > 0 && overlap.main + overlap.sub > 0) {
      text_ += wrap(dma_overlap_text(overlap), topic("dma"), kTopicIndent);
    }
    text_ += "\n";
  }

  std::string overlap_text(const OverlapResult& overlap) const {
    return fmt::format(
        "main ran {} and sub {}, both at once {} ({} of the run); main waited {} for sub, sub {} "
        "for main",
        count_of(overlap.main, "cycle"), group_digits(overlap.sub), group_digits(overlap.both),
        percent(overlap.both, run_.cycles), group_digits(overlap.main_waited_for_sub),
        group_digits(overlap.sub_waited_for_main));
  }

  std::string dma_overlap_text(const OverlapResult& overlap) const {
    return fmt::format(
        "ran {} ({} of the run), {} beside main or sub; it waited {} for them, they {} for it",
        count_of(overlap.dma, "cycle"), percent(overlap.dma, run_.cycles),
        group_digits(overlap.dma_overlapped), group_digits(overlap.dma_waited),
        group_digits(overlap.waited_for_dma));
  }

  std::string chain_text() const {
    constexpr size_t kMostNamed = 6;
    const std::vector<CommandId>& chain = run_.bound_chain;
    if (chain.size() == 1) return fmt::format("command {}", chain[0]);
    if (chain.size() > kMostNamed) {
      return fmt::format("a chain of {} commands ({} to {})", chain.size(), chain.front(),
                         chain.back());
    }
    return fmt::format("commands {}", fmt::join(chain, ", "));
  }

  std::string mac_text() const {
    const MacResult& mac = run_.mac;
    const std::string clusters = mac.clusters_used == 1
                                     ? "the cluster's"
                                     : fmt::format("the {} clusters'", mac.clusters_used);
    return fmt::format(
        "{} useful of {} issued ({}); {} of {} peak while active, {} of the chip's over "
        "the run",
        group_digits(mac.useful), group_digits(mac.issued), percent(mac.useful, mac.issued),
        percent(mac.utilization_while_active), clusters, percent(mac.utilization));
  }

  void commands(const std::vector<CommandResult>& commands) {
    TextTable table;
    table.column("", TextTable::Align::kRight);
    table.column("", TextTable::Align::kLeft, 1);
    table.column("command", TextTable::Align::kLeft, 2, kMaxLabel);
    for (const char* heading : {"begin", "end", "cycles", "bound"}) {
      table.column(heading, TextTable::Align::kRight, 2);
    }
    table.column("waited for", TextTable::Align::kLeft, 3);
    const size_t count = commands.size();
    for (size_t i = 0; i < count; ++i) {
      if (count > kMostCommands && i == kFirstCommands) {
        i = count - (kMostCommands - kFirstCommands);
        table.row({"", "", fmt::format("... {} more", i - kFirstCommands)});
      }
      table.row(command_row(commands[i]));
    }
    if (table.empty()) return;
    text_ += table.text(kIndent);
    text_ += overhead_text();
    if (count > kMostCommands) text_ += "  all of them: --format json\n";
    text_ += "\n";
  }

  // Where they run apart: how each spent its time, and the commands of those behind the first.
  void clusters() {
    if (run_.clusters.empty()) return;
    TextTable table;
    table.column("cluster", TextTable::Align::kRight);
    for (const char* heading : {"launch", "end", "work", "waited", "end - launch"}) {
      table.column(heading, TextTable::Align::kRight);
    }
    for (const ClusterResult& cluster : run_.clusters) {
      table.row({fmt::format("{}", cluster.cluster), group_digits(cluster.launch),
                 group_digits(cluster.end), group_digits(cluster.work),
                 group_digits(cluster.waited), group_digits(cluster.end - cluster.launch)});
    }
    text_ += table.text(kIndent);
    text_ += wrap(
        "a command ran there, or it waited for what another cluster has to do of a DMA; the "
        "commands and the timeline above are those of cluster 0",
        "  work, waited: ", 4);
    for (size_t i = 1; i < run_.clusters.size(); ++i) {
      text_ += fmt::format("\n  commands of cluster {}\n", run_.clusters[i].cluster);
      commands(run_.clusters[i].commands);
    }
  }

  // Of several commands: when each context ran which.
  void timeline() {
    constexpr size_t kColumns = 80;
    if (run_.commands.size() < 2) return;
    const Timeline timeline = timeline_of(run_.commands, run_.cycles, kColumns);
    TextTable table;
    table.column("", TextTable::Align::kLeft);
    table.column("", TextTable::Align::kLeft);
    for (const Timeline::Row& row : timeline.rows) table.row({row.context, row.columns});
    if (table.empty()) return;
    const double each = timeline.cycles_a_column;
    text_ += fmt::format("  timeline, {} a column: last digit of the command, - its overhead\n",
                         each == 1 ? "a cycle" : fmt::format("{:.4g} cycles", each));
    text_ += table.text(kIndent) + "\n";
  }

  static std::vector<std::string> command_row(const CommandResult& command) {
    const std::string index = fmt::format("{}", command.index);
    if (!command.begun) {
      return {
          index,      command.context, command.label, "-", "-", "-", group_digits(command.bound),
          "not begun"};
    }
    return {index,
            command.context,
            command.label,
            group_digits(command.begin),
            command.ended ? group_digits(command.end) : "-",
            group_digits(command.cycles),
            group_digits(command.bound),
            command.ended ? waited_text(command.waited_for) : "not ended"};
  }

  // Mostly the same for all commands.
  std::string overhead_text() const {
    std::map<uint64_t, std::vector<CommandId>> by_cycles;
    for (const CommandResult& c : run_.commands) by_cycles[c.overhead].push_back(c.index);
    if (by_cycles.size() == 1) {
      return fmt::format("  cycles and bound: {} of each are overhead, before the first access\n",
                         group_digits(by_cycles.begin()->first));
    }
    std::vector<std::string> parts;
    for (const auto& [cycles, commands] : by_cycles) {
      parts.push_back(commands.size() > kFirstCommands
                          ? fmt::format("{} of {} commands", group_digits(cycles), commands.size())
                          : fmt::format("{} of {} {}", group_digits(cycles),
                                        commands.size() == 1 ? "command" : "commands",
                                        fmt::join(commands, ", ")));
    }
    return wrap(fmt::format("{}", fmt::join(parts, "; ")),
                "  overhead in cycles and bound: ", kTopicIndent);
  }

  static std::string waited_text(const WaitedFor& waited) {
    if (!waited.any()) return "-";
    return fmt::format("{} ({}) {}", waited.what, waited.kind, group_digits(waited.cycle));
  }

  // Busiest first; units that were idle throughout in one line.
  void units() {
    std::vector<const UnitResult*> shown;
    std::vector<std::string> idle;
    for (const UnitResult& unit : run_.units) {
      if (active_cycles(unit) > 0) {
        shown.push_back(&unit);
      } else {
        idle.push_back(unit.name);
      }
    }
    std::stable_sort(shown.begin(), shown.end(),
                     [](const UnitResult* a, const UnitResult* b) { return a->busy > b->busy; });
    TextTable table;
    table.column("unit", TextTable::Align::kLeft);
    for (const char* heading : {"busy", "starved", "blocked", "conflict", "idle"}) {
      table.column(heading, TextTable::Align::kRight);
    }
    table.column("blamed", TextTable::Align::kLeft, 3);
    for (const UnitResult* unit : shown) {
      table.row({unit->name, group_digits(unit->busy), group_digits(unit->starved),
                 group_digits(unit->blocked), group_digits(unit->conflict),
                 group_digits(unit->idle), blamed_text(*unit)});
    }
    if (!table.empty()) text_ += table.text(kIndent);
    if (!idle.empty()) {
      text_ += wrap(fmt::format("{}", fmt::join(idle, ", ")), "  idle throughout: ", 4);
    }
    text_ += "\n";
  }

  std::string blamed_text(const UnitResult& unit) const {
    std::vector<std::pair<std::string, uint64_t>> blamed(unit.blamed.begin(), unit.blamed.end());
    std::stable_sort(blamed.begin(), blamed.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    constexpr size_t kMostBlamed = 2;
    for (size_t i = 0; i < std::min(blamed.size(), kMostBlamed); ++i) {
      if (blamed[i].second == 0) break;
      text += fmt::format("{}{} {}", i == 0 ? "" : ", ", blamed[i].first,
                          group_digits(blamed[i].second));
      const std::string reason =
          i == 0 ? blame_reason(unit, blamed[i].first, run_, program_) : std::string();
      if (!reason.empty()) text += ": " + reason;
    }
    if (blamed.size() > kMostBlamed) {
      uint64_t rest = 0;
      for (size_t i = kMostBlamed; i < blamed.size(); ++i) rest += blamed[i].second;
      if (rest > 0) text += ", others " + group_digits(rest);
    }
    return text;
  }

  void memory() {
    TextTable table;
    table.column("memory", TextTable::Align::kLeft);
    for (const char* heading : {"bytes a slice", "bytes", "B/cycle", "peak", "of peak"}) {
      table.column(heading, TextTable::Align::kRight, 3);
    }
    for (const BandwidthResult& b : run_.bandwidth) {
      const bool pcie = b.name.rfind("pcie", 0) == 0;
      const bool of_chip = pcie || b.name.rfind("hbm", 0) == 0 || b.name == "dma";
      if (of_chip && run_.dmas.empty()) continue;
      if (pcie && b.bytes == 0) continue;  // most kernels leave the host alone
      std::string name = b.name;
      std::replace(name.begin(), name.end(), '_', ' ');
      table.row({name, of_chip ? "-" : group_digits(b.bytes_per_slice), group_digits(b.bytes),
                 decimal(b.bytes_per_cycle, 1), decimal(b.peak_bytes_per_cycle, 0),
                 percent(b.utilization)});
    }
    if (table.empty()) return;
    text_ += table.text(kIndent);
    text_ += "  bytes, B/cycle and peak are of the whole chip, over all cycles of the run\n\n";
  }

  const RunResult& run_;
  const Program& program_;
  const ReportOptions& options_;
  const Style& style_;
  std::vector<std::string> hints_;
  std::string text_;
};

}  // namespace

std::string run_text(const RunResult& run, const Program& program, const ReportOptions& options,
                     const Style& style) {
  return RunText(run, program, options, style).text();
}

std::string outcome_sentence(const RunResult& run, const Program& program) {
  const Style plain;
  const ReportOptions none;
  return RunText(run, program, none, plain).outcome_sentence();
}

std::vector<std::string> failure_sentences(const RunResult& run, const Program& program) {
  std::vector<std::string> sentences;
  if (const std::string stopped = stop_text(run); !stopped.empty()) sentences.push_back(stopped);
  for (const FailureResult& failure : run.failures) {
    sentences.push_back(
        fmt::format("{}: {}: {}", failure.kind, place_text(failure, program), failure.message));
  }
  if (run.values.mismatches > 0) {
    std::string text = "values wrong: " + wrong_text(run.values);
    if (!run.values.first_mismatches.empty()) {
      const ValueMismatch& first = run.values.first_mismatches.front();
      text += fmt::format("; {} at {}: expected {}, got {}", first.tensor, first.index,
                          first.expected, first.got);
    }
    sentences.push_back(text);
  }
  if (sentences.empty() && run.exit_status() != 0) sentences.emplace_back(name(run.status));
  return sentences;
}

}  // namespace rngdsim
