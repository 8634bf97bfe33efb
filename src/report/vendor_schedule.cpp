// SPDX-License-Identifier: Apache-2.0
#include "report/vendor_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reference/results.h"
#include "report/json_fields.h"
#include "report/numbers.h"
#include "support/input_limits.h"
#include "support/text.h"

namespace rngdsim {
namespace {

using Json = nlohmann::ordered_json;
using Instruction = VendorSchedule::Instruction;

constexpr size_t kScheduleLabel = 40;

// ---- Writing ------------------------------------------------------------------------------------

const char* type_of(const Command& command, const Program& program) {
  if (command.context == Context::kMain) return "Main";
  if (command.context == Context::kSub) return "Sub";
  const DmaConfig& dma = *command.dma;
  if (dma.indexed) return dma.indexed->scatter ? "DmaScatter" : "DmaGather";
  const bool from_dm = program.tensors[dma.from].memory == MemoryKind::kDm;
  const bool to_dm = program.tensors[dma.to].memory == MemoryKind::kDm;
  if (from_dm && to_dm) return "DmaStos";
  return from_dm ? "DmaStore" : "DmaLoad";
}

Json contexts_of(const Command& command) {
  Json contexts = Json::array();
  contexts.push_back(command.context == Context::kMain  ? "MainContext"
                     : command.context == Context::kSub ? "SubContext"
                                                        : "DmaEngine");
  if (command.vector) contexts.push_back("VectorEngine");
  return contexts;
}

Json tensors_of(const std::vector<Footprint>& places, const Program& program) {
  std::set<TensorId> roots;
  for (const Footprint& place : places) roots.insert(root_of(program, place.tensor));
  return roots;
}

Json utilization(const Command& command, const CommandResult& result, const RunResult& run) {
  const double slots = static_cast<double>(run.mac.peak_per_cycle) *
                       static_cast<double>(std::max<uint64_t>(1, result.cycles));
  const auto part = [&](uint64_t macs) {
    return slots > 0 && command.outer ? static_cast<double>(macs) / slots : 0.0;
  };
  return {{"total_util", part(command.mac_useful)},
          {"base_util", part(command.mac_issued)},
          {"efficiency", result.cycles == 0 ? 0.0
                                            : static_cast<double>(result.bound) /
                                                  static_cast<double>(result.cycles)}};
}

// From the begin of the command that writes it (declared: 0) to the end of the last that uses it.
Json lifetime_of(TensorId id, const Program& program, const RunResult& run) {
  const TensorVersion& tensor = program.tensors[id];
  const uint64_t begin = tensor.produced_by ? run.commands[*tensor.produced_by].begin : 0;
  uint64_t end = tensor.produced_by ? run.commands[*tensor.produced_by].end : 0;
  for (const Command& command : program.commands) {
    for (const auto* places : {&command.reads, &command.writes}) {
      for (const Footprint& place : *places) {
        if (root_of(program, place.tensor) != id) continue;
        end = std::max(end, run.commands[command.id].end);
      }
    }
  }
  return {{"begin", begin}, {"end", end}, {"block_begin", 0}, {"block_end", 0}};
}

Json tensor_json(TensorId id, const Program& program, const RunResult& run) {
  const TensorVersion& tensor = program.tensors[id];
  const MachineLimits& limits = program.limits;
  const bool trf = tensor.memory == MemoryKind::kTrf;
  // A row of the register file is one of both banks in all lanes.
  const uint64_t row = limits.trf_banks * limits.trf_row_bytes * limits.lanes;
  const uint64_t address = trf ? tensor.first_row * row : tensor.address;
  const uint64_t bytes = trf ? tensor.bytes * tensor.lane.size() : tensor.bytes;
  Json pages = Json::array();
  if (tensor.memory == MemoryKind::kDm && bytes > 0) {
    constexpr uint64_t kPage = kSchedulePage / kScheduleSlices;
    for (uint64_t page = address / kPage; page <= (address + bytes - 1) / kPage; ++page) {
      pages.push_back(page);
    }
  }
  const auto text = [&](const Mapping& mapping) { return mapping.text(program.axes); };
  const std::string lane = trf ? ", Lane: " + text(tensor.lane) : "";
  return {{"name", tensor.name},
          {"index", std::to_string(id)},
          {"buffer_type", trf                                 ? "Trf"
                          : tensor.memory == MemoryKind::kVrf ? "Vrf"
                                                              : "Sram"},
          {"lifetime", lifetime_of(id, program, run)},
          {"address", address * kScheduleSlices},
          {"size", bytes * kScheduleSlices},
          {"physical_pages", pages},
          {"shape", fmt::format("MappingShape[Chip: {}, Cluster: {}, Slice: {}{}, Element: {}]",
                                text(tensor.chip), text(tensor.cluster), text(tensor.slice), lane,
                                text(tensor.element))},
          {"fingerprint", nullptr}};
}

// ---- Reading ------------------------------------------------------------------------------------

class ScheduleReader {
 public:
  ScheduleReader(const std::string& file, Diagnostics& diagnostics)
      : file_(file),
        diagnostics_(diagnostics),
        fields_(
            file, "schedule",
            "the vendor's compiler writes one with --dump-schedule, rngdsim run with --schedule",
            diagnostics) {}

  std::optional<VendorSchedule> read(const Json& json) {
    VendorSchedule schedule;
    schedule.file = file_;
    if (!json.is_object()) fields_.fault("the file", "an object");
    if (fields_.good() && json.contains("title") && json.at("title").is_string()) {
      schedule.title = json.at("title").get<std::string>();
    }
    const std::vector<Json> instructions = fields_.list(json, "instructions");
    if (instructions.size() > kMaxInstructions) {
      diagnostics_.error(
          {file_, 0, 0},
          fmt::format("{} instructions; at most {} are looked at",
                      group_digits(instructions.size()), group_digits(kMaxInstructions)),
          kLimitHint);
      return std::nullopt;
    }
    for (const Json& item : instructions) {
      schedule.instructions.push_back(instruction(item));
      if (!fields_.good()) return std::nullopt;
    }
    if (!fields_.good()) return std::nullopt;
    return schedule;
  }

 private:
  Instruction instruction(const Json& json) {
    Instruction result;
    result.index = fields_.text(json, "index");
    for (const Json& context : fields_.list(json, "contexts")) {
      if (!context.is_string()) fields_.fault("contexts", "a list of texts");
      if (fields_.good()) result.contexts.push_back(context.get<std::string>());
    }
    const Json none = Json::object();
    const bool has = json.is_object() && json.contains("lifetime");
    const Json& lifetime = has ? json.at("lifetime") : none;
    result.begin = fields_.number(lifetime, "begin");
    result.end = fields_.number(lifetime, "end");
    if (fields_.good() && result.end < result.begin) fields_.fault("end", "at or behind begin");
    result.inputs = tensors(json, "input_tensors");
    result.outputs = tensors(json, "output_tensors");
    const std::string description = fields_.text(json, "description");
    const size_t blank = description.find("\n\n");
    result.label = blank == std::string::npos ? "" : description.substr(blank + 2);
    result.label = result.label.substr(0, result.label.find('\n'));
    if (result.label.empty()) result.label = result.index;
    return result;
  }

  std::vector<int64_t> tensors(const Json& json, const char* key) {
    std::vector<int64_t> ids;
    for (const Json& id : fields_.list(json, key)) {
      if (!id.is_number_integer()) fields_.fault(key, "a list of whole numbers");
      if (fields_.good()) ids.push_back(id.get<int64_t>());
    }
    return ids;
  }
  const std::string& file_;
  Diagnostics& diagnostics_;
  JsonFields fields_;
};

// ---- Explaining ---------------------------------------------------------------------------------

// What an instruction had to wait for.
struct Cause {
  size_t earlier = 0;
  std::string why;  // "order in main", "tensor 5 (read after write)"
};

class Explained {
 public:
  explicit Explained(const VendorSchedule& schedule) : schedule_(schedule) {
    for (size_t i = 0; i < schedule.instructions.size(); ++i) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return at(a).begin < at(b).begin; });
  }

  std::string text(const Style& style) const {
    std::string text = style.strong(schedule_.title) +
                       fmt::format("  makespan {}, {}\n\n", count_of(schedule_.makespan(), "cycle"),
                                   count_of(schedule_.instructions.size(), "instruction"));
    if (schedule_.instructions.empty()) return text;
    text += occupancy_table() + "\n" + path_table();
    const std::string gaps = gap_table();
    return gaps.empty() ? text : text + "\n" + gaps;
  }

 private:
  const Instruction& at(size_t i) const { return schedule_.instructions[i]; }
  static bool share(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return std::any_of(a.begin(), a.end(), [&](const std::string& context) {
      return std::find(b.begin(), b.end(), context) != b.end();
    });
  }
  static std::optional<int64_t> common(const std::vector<int64_t>& a,
                                       const std::vector<int64_t>& b) {
    for (const int64_t id : a) {
      if (std::find(b.begin(), b.end(), id) != b.end()) return id;
    }
    return std::nullopt;
  }

  std::optional<std::string> why(const Instruction& earlier, const Instruction& later) const {
    const std::tuple<const char*, const std::vector<int64_t>*, const std::vector<int64_t>*>
        kinds[] = {{"read after write", &earlier.outputs, &later.inputs},
                   {"write after read", &earlier.inputs, &later.outputs},
                   {"write after write", &earlier.outputs, &later.outputs}};
    for (const auto& [kind, before, after] : kinds) {
      if (const auto id = common(*before, *after)) return fmt::format("tensor {} ({})", *id, kind);
    }
    if (share(earlier.contexts, later.contexts)) return "order in " + later.context();
    return std::nullopt;
  }

  // The instruction that ended last of those that it depends on.
  std::optional<Cause> cause_of(size_t later) const {
    std::optional<Cause> last;
    for (size_t i = 0; i < schedule_.instructions.size(); ++i) {
      if (i == later || at(i).end > at(later).begin) continue;
      // Instructions without a length may stand at the same cycle: the order of the file.
      if (at(i).begin == at(later).begin && i > later) continue;
      const auto reason = why(at(i), at(later));
      if (reason && (!last || at(i).end > at(last->earlier).end)) last = Cause{i, *reason};
    }
    return last;
  }

  std::string named(size_t i) const {
    return at(i).label == at(i).index ? at(i).index
                                      : fmt::format("{} {}", at(i).index, at(i).label);
  }

  std::string occupancy_table() const {
    TextTable table;
    table.column("context", TextTable::Align::kLeft);
    for (const char* heading : {"instructions", "cycles", "of makespan"}) {
      table.column(heading, TextTable::Align::kRight);
    }
    std::map<std::string, std::pair<uint64_t, uint64_t>> ran;  // count, cycles
    std::map<std::string, uint64_t> until;
    for (const size_t i : order_) {
      for (const std::string& context : at(i).contexts) {
        auto& [count, cycles] = ran[context];
        uint64_t& covered = until[context];
        ++count;
        cycles += std::max(at(i).end, covered) - std::max(at(i).begin, covered);
        covered = std::max(covered, at(i).end);
      }
    }
    for (const auto& [context, both] : ran) {
      table.row({context, group_digits(both.first), group_digits(both.second),
                 percent(both.second, schedule_.makespan())});
    }
    return table.text(kIndent);
  }

  std::string path_table() const {
    size_t at_end = 0;
    for (size_t i = 0; i < schedule_.instructions.size(); ++i) {
      if (at(i).end > at(at_end).end) at_end = i;
    }
    std::vector<std::vector<std::string>> rows;
    for (std::optional<size_t> i = at_end; i && rows.size() <= schedule_.instructions.size();) {
      const auto cause = cause_of(*i);
      const uint64_t lost = at(*i).begin - (cause ? at(cause->earlier).end : 0);
      rows.push_back({group_digits(at(*i).begin), group_digits(at(*i).end),
                      group_digits(at(*i).end - at(*i).begin), at(*i).context(), named(*i),
                      cause ? cause->why : "-", lost == 0 ? "-" : group_digits(lost)});
      i = cause ? std::optional(cause->earlier) : std::nullopt;
    }
    TextTable table;
    for (const char* heading : {"from", "to", "cycles"}) {
      table.column(heading, TextTable::Align::kRight);
    }
    table.column("", TextTable::Align::kLeft, 3);
    table.column("critical path", TextTable::Align::kLeft, 2, kScheduleLabel);
    table.column("began after", TextTable::Align::kLeft, 3);
    table.column("later", TextTable::Align::kRight, 3);
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) table.row(*row);
    return table.text(kIndent) +
           wrap(
               "cycles between what it began after and its begin, for which the schedule has no "
               "reason",
               "  later: ", 4);
  }

  std::string gap_table() const {
    TextTable table;
    table.column("idle", TextTable::Align::kLeft);
    for (const char* heading : {"from", "to", "cycles"}) {
      table.column(heading, TextTable::Align::kRight);
    }
    table.column("next", TextTable::Align::kLeft, 3, kScheduleLabel);
    table.column("waited for", TextTable::Align::kLeft, 3);
    std::map<std::string, uint64_t> until;
    for (const size_t i : order_) {
      uint64_t& covered = until[at(i).context()];
      if (at(i).begin > covered) {
        const auto cause = cause_of(i);
        table.row({at(i).context(), group_digits(covered), group_digits(at(i).begin),
                   group_digits(at(i).begin - covered), named(i),
                   cause ? fmt::format("{}: {}", named(cause->earlier), cause->why)
                         : "nothing before it"});
      }
      covered = std::max(covered, at(i).end);
    }
    return table.empty() ? "" : table.text(kIndent);
  }

  const VendorSchedule& schedule_;
  std::vector<size_t> order_;  // by begin
};

}  // namespace

Json schedule_json(const RunResult& run, const Program& program) {
  Json instructions = Json::array(), tensors = Json::array();
  for (const Command& command : program.commands) {
    const CommandResult& result = run.commands[command.id];
    instructions.push_back(
        {{"index", std::to_string(command.id)},
         {"history", Json::object()},
         {"tpe", type_of(command, program)},
         {"contexts", contexts_of(command)},
         {"lifetime", {{"begin", result.begin}, {"end", result.end}}},
         {"input_tensors", tensors_of(command.reads, program)},
         {"output_tensors", tensors_of(command.writes, program)},
         {"description", fmt::format("--> {}\n\n{}", to_string(command.where), command.label)},
         {"util", utilization(command, result, run)}});
  }
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    const TensorVersion& tensor = program.tensors[id];
    const bool off_chip = tensor.memory == MemoryKind::kHbm || tensor.memory == MemoryKind::kHost;
    if (!tensor.view_of && !off_chip) tensors.push_back(tensor_json(id, program, run));
  }
  return {{"title", run.kernel_name},
          {"total_memory", kScheduleMemory},
          {"page_size", kSchedulePage},
          {"instructions", instructions},
          {"tensors", tensors}};
}

std::string VendorSchedule::Instruction::context() const {
  static const std::map<std::string, const char*> kNames = {
      {"MainContext", "main"}, {"SubContext", "sub"}, {"DmaEngine", "dma"}};
  for (const std::string& context : contexts) {
    const auto name = kNames.find(context);
    if (name != kNames.end()) return name->second;
  }
  return contexts.empty() ? "-" : contexts.front();
}

uint64_t VendorSchedule::makespan() const {
  uint64_t end = 0;
  for (const Instruction& instruction : instructions) end = std::max(end, instruction.end);
  return end;
}

std::optional<VendorSchedule> read_schedule(const std::string& text, const std::string& file,
                                            Diagnostics& diagnostics) {
  const auto json = parse_json(text, file, diagnostics);
  if (!json) return std::nullopt;
  return ScheduleReader(file, diagnostics).read(*json);
}

std::string schedule_text(const VendorSchedule& schedule, const Style& style) {
  return Explained(schedule).text(style);
}

ReportedRun as_report(const VendorSchedule& schedule) {
  ReportedRun run;
  run.file = schedule.file;
  run.kernel = schedule.title;
  run.cycles = schedule.makespan();
  run.only_times = true;
  for (size_t i = 0; i < schedule.instructions.size(); ++i) {
    const Instruction& instruction = schedule.instructions[i];
    run.commands.push_back(
        {i, instruction.context(), instruction.label, instruction.begin, instruction.end, ""});
  }
  return run;
}

}  // namespace rngdsim
