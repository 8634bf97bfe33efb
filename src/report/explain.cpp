// SPDX-License-Identifier: Apache-2.0
#include "report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "report/numbers.h"
#include "report/run_json.h"
#include "sim/dispatcher.h"
#include "support/text.h"

namespace rngdsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kStageColumn = 15;  // where the text of a stage begins

std::string first_column(const std::string& label) {
  std::string text(kIndent, ' ');
  text += label;
  text.resize(std::max(kStageColumn, text.size() + 1), ' ');
  return text;
}

std::string heading(const Command& command, const Style& style) {
  return fmt::format("{}  {}  {}", command.id, style.strong(command.kind + "  " + command.label),
                     style.faint(fmt::format("line {}", command.where.line))) +
         "\n";
}

std::string indented_block(const std::string& lines) {
  std::string text;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    if (end > at) text += std::string(2 * kIndent, ' ') + lines.substr(at, end - at);
    text += "\n";
    at = end + 1;
  }
  return text;
}

// The rounds of a `repeat:` differ in few stages: only these are shown of all but the first.
std::string commands_text(const Program& program, const Style& style) {
  std::string text;
  struct First {
    CommandId command;
    std::vector<StageExplanation> stages;
  };
  std::map<std::pair<int, int>, First> rounds;  // by the place of the command in the file
  for (const Command& command : program.commands) {
    text += heading(command, style);
    std::vector<StageExplanation> stages = explain_command(program, command);
    const auto [first, is_first] =
        rounds.try_emplace({command.where.line, command.where.column}, First{command.id, stages});
    const std::vector<StageExplanation>& others = first->second.stages;
    TextTable why;
    why.column("", TextTable::Align::kLeft);
    why.column("", TextTable::Align::kLeft);
    for (size_t i = 0; i < stages.size(); ++i) {
      const StageExplanation& stage = stages[i];
      const bool known = !is_first && i < others.size() && others[i].text == stage.text &&
                         others[i].block == stage.block;
      if (known) continue;
      text += wrap(stage.text, first_column(stage.label), kStageColumn);
      if (!stage.block.empty()) text += indented_block(stage.block);
      for (const auto& [what, because] : stage.why) why.row({what, because});
    }
    if (!is_first) {
      text += fmt::format("{}as command {}\n", first_column("all else"), first->second.command);
    }
    if (!why.empty()) text += "  why\n" + why.text(2 * kIndent);
    text += "\n";
  }
  return text;
}

std::string origin(const Program& program, const TensorVersion& tensor) {
  if (!tensor.produced_by) return "declared";
  const Command& command = program.commands[*tensor.produced_by];
  return fmt::format("written by command {} ({})", command.id, command.kind);
}

std::string versioned(const TensorVersion& tensor) {
  return tensor.version == 0 ? tensor.name : fmt::format("{} #{}", tensor.name, tensor.version);
}

// Data memory by address, register file by row.
std::vector<const TensorVersion*> placed(const Program& program, MemoryKind memory) {
  std::vector<const TensorVersion*> tensors;
  for (const TensorVersion& tensor : program.tensors) {
    if (tensor.memory == memory && !tensor.view_of) tensors.push_back(&tensor);
  }
  std::stable_sort(
      tensors.begin(), tensors.end(), [](const TensorVersion* a, const TensorVersion* b) {
        return std::make_pair(a->address, a->first_row) < std::make_pair(b->address, b->first_row);
      });
  return tensors;
}

std::string placement_text(const Program& program) {
  TextTable table;
  table.column("placement", TextTable::Align::kLeft);
  table.column("dtype", TextTable::Align::kLeft);
  table.column("bytes", TextTable::Align::kRight);
  table.column("where", TextTable::Align::kLeft);
  table.column("", TextTable::Align::kLeft);
  for (const MemoryKind memory : {MemoryKind::kHost, MemoryKind::kHbm}) {
    for (const TensorVersion* tensor : placed(program, memory)) {
      table.row(
          {versioned(*tensor), name(tensor->dtype), group_digits(tensor->bytes),
           fmt::format("{} {} to {}", name(memory), group_digits(tensor->address),
                       group_digits(tensor->address + std::max<uint64_t>(1, tensor->bytes) - 1)),
           origin(program, *tensor)});
    }
  }
  for (const TensorVersion* tensor : placed(program, MemoryKind::kDm)) {
    table.row(
        {versioned(*tensor), name(tensor->dtype), group_digits(tensor->bytes),
         fmt::format("dm {} to {} of a slice", group_digits(tensor->address),
                     group_digits(tensor->address + std::max<uint64_t>(1, tensor->bytes) - 1)),
         origin(program, *tensor)});
  }
  for (const TensorVersion* tensor : placed(program, MemoryKind::kTrf)) {
    std::string region = tensor->region;
    std::replace(region.begin(), region.end(), '_', ' ');
    const uint64_t last = tensor->first_row + std::max<uint64_t>(1, tensor->rows) - 1;
    table.row({versioned(*tensor), name(tensor->dtype), group_digits(tensor->bytes),
               fmt::format("trf {}, {}, rows {} to {}", region,
                           count_of(std::max<uint64_t>(1, tensor->lane.size()), "lane"),
                           tensor->first_row, last),
               origin(program, *tensor)});
  }
  for (const TensorVersion* tensor : placed(program, MemoryKind::kVrf)) {
    table.row(
        {versioned(*tensor), name(tensor->dtype), group_digits(tensor->bytes),
         fmt::format("vrf {} to {} of a slice", group_digits(tensor->address),
                     group_digits(tensor->address + std::max<uint64_t>(1, tensor->bytes) - 1)),
         origin(program, *tensor)});
  }
  if (table.empty()) return "";
  const bool trf = !placed(program, MemoryKind::kTrf).empty();
  const bool hbm = !placed(program, MemoryKind::kHbm).empty();
  const bool host = !placed(program, MemoryKind::kHost).empty();
  return table.text() + "  bytes: in a slice" + (trf ? " (dm), in a lane of a slice (trf)" : "") +
         (hbm || host ? ", all of a tensor in " : "") + (hbm ? "hbm" : "") +
         (hbm && host ? " and " : "") + (host ? "host" : "") + "\n\n";
}

std::string chain(const std::vector<CommandId>& commands) {
  return fmt::format("{}", fmt::join(commands, ", "));
}

Json placement_json(const Program& program) {
  Json list = Json::array();
  for (const TensorVersion& tensor : program.tensors) {
    if (tensor.view_of) continue;  // no place of its own
    Json json = {{"tensor", tensor.name},
                 {"version", tensor.version},
                 {"memory", name(tensor.memory)},
                 {"dtype", name(tensor.dtype)},
                 {"bytes", tensor.bytes}};
    if (tensor.memory != MemoryKind::kTrf) {
      json["address"] = tensor.address;
    }
    if (tensor.memory == MemoryKind::kTrf) {
      json["lanes"] = tensor.lane.size();
      json["region"] = tensor.region;
      json["first_row"] = tensor.first_row;
      json["rows"] = tensor.rows;
    }
    json["produced_by"] = tensor.produced_by ? Json(*tensor.produced_by) : Json(nullptr);
    for (const auto& [key, mapping] : {std::pair<const char*, const Mapping*>{"chip", &tensor.chip},
                                       {"cluster", &tensor.cluster},
                                       {"slice", &tensor.slice},
                                       {"lane", &tensor.lane},
                                       {"element", &tensor.element}}) {
      json[key] = mapping->text(program.axes);
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json shapes_json(const Program& program, const Command& command) {
  Json list = Json::array();
  for (const StageRecord& stage : command.stages) {
    list.push_back({{"stage", stage.name},
                    {"line", stage.where.line},
                    {"dtype", name(stage.after.dtype)},
                    {"slice", stage.after.slice.text(program.axes)},
                    {"lane", stage.after.lane.text(program.axes)},
                    {"time", stage.after.time.text(program.axes)},
                    {"packet", stage.after.packet.text(program.axes)}});
  }
  return list;
}

}  // namespace

std::string explain_text(const Program& program, const TopologyName& topology,
                         const ReportOptions& options, const Style& style) {
  const ProgramBound bound = program_bound(program);
  std::string text = wrap(
      fmt::format("{}  {}{}topology {}", style.strong(program.kernel_name), program.description,
                  program.description.empty() ? "" : "    ", topology.name) +
          (options.set.empty() ? "" : fmt::format(" with {}", fmt::join(options.set, ", "))),
      "", kIndent);
  text += "\n" + commands_text(program, style) + placement_text(program);
  if (!program.commands.empty()) {
    text += wrap(
        fmt::format("{} at least, by the lower bounds of {} {}", count_of(bound.cycles, "cycle"),
                    bound.chain.size() == 1 ? "command" : "commands", chain(bound.chain)),
        "the whole kernel takes ", kIndent);
  }
  return text;
}

Json explain_json(const Program& program, const TopologyName& topology,
                  const ReportOptions& options) {
  const ProgramBound bound = program_bound(program);
  Json commands = Json::array();
  for (const Command& command : program.commands) {
    Json json = {{"index", command.id},
                 {"context", name(command.context)},
                 {"kind", command.kind},
                 {"label", command.label},
                 {"line", command.where.line}};
    Json why = Json::array();
    for (const StageExplanation& stage : explain_command(program, command)) {
      json[stage.key] = stage.json;
      for (const auto& [what, because] : stage.why) {
        why.push_back({{"stage", stage.key}, {"what", what}, {"because", because}});
      }
    }
    json["stages"] = shapes_json(program, command);
    json["why"] = why;
    commands.push_back(std::move(json));
  }
  return {
      {"schema_version", kSchemaVersion},
      {"tool", tool_json()},
      {"kernel",
       {{"name", program.kernel_name},
        {"file", program.kernel_file},
        {"sha256", program.kernel_sha256},
        {"description", program.description}}},
      {"topology", {{"name", topology.name}, {"sha256", topology.sha256}, {"set", options.set}}},
      {"bound", {{"cycles", bound.cycles}, {"chain", bound.chain}}},
      {"commands", commands},
      {"placement", placement_json(program)}};
}

std::string check_summary(const Program& program) {
  const ProgramBound bound = program_bound(program);
  std::string text =
      fmt::format("{}: ok, {}", program.kernel_file, count_of(program.commands.size(), "command"));
  if (program.commands.empty()) return text;
  const Command* longest = nullptr;
  for (const CommandId id : bound.chain) {
    const Command& command = program.commands[id];
    if (longest == nullptr || command.bound.cycles > longest->bound.cycles) longest = &command;
  }
  text += fmt::format(", at least {}", count_of(bound.cycles, "cycle"));
  if (longest != nullptr) {
    text += fmt::format(" (longest: command {}, {} by {})", longest->id,
                        group_digits(longest->bound.cycles), longest->bound.bound_by);
  }
  return text;
}

}  // namespace rngdsim
