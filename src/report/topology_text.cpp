// SPDX-License-Identifier: Apache-2.0
#include "report/topology_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "report/numbers.h"
#include "support/text.h"

namespace rngdsim {
namespace {

using Align = TextTable::Align;

std::string number_text(double value) {
  // Whole numbers of the files are far below 2^53.
  if (value >= 0 && value < 1e15 && value == static_cast<double>(static_cast<uint64_t>(value))) {
    return group_digits(static_cast<uint64_t>(value));
  }
  return fmt::format("{}", value);
}

std::string content_text(const ParameterContent& content) {
  if (const double* number = std::get_if<double>(&content)) return number_text(*number);
  if (const bool* flag = std::get_if<bool>(&content)) return *flag ? "true" : "false";
  if (const std::string* text = std::get_if<std::string>(&content)) return *text;
  return "[" + fmt::format("{}", fmt::join(std::get<std::vector<std::string>>(content), ", ")) +
         "]";
}

std::string range_text(const ParameterSpec& spec) {
  switch (spec.kind) {
    case ParameterKind::kNumber:
      return fmt::format("{} to {}{}{}", number_text(spec.min), number_text(spec.max),
                         spec.unit.empty() ? "" : " ", spec.unit);
    case ParameterKind::kFlag:
      return "true or false";
    case ParameterKind::kText:
      return spec.words.empty() ? "text" : fmt::format("{}", fmt::join(spec.words, " or "));
    case ParameterKind::kList:
      break;
  }
  return "each once, any order";
}

std::string source_text(const std::string& source) { return source.empty() ? "-" : source; }

std::string count_text(UnitCount count) {
  switch (count) {
    case UnitCount::kOne:
      return "one";
    case UnitCount::kOneAContext:
      return "one a context";
    case UnitCount::kAny:
      break;
  }
  return "any number";
}

const ParameterSpec* find_spec(const std::vector<ParameterSpec>& specs, const std::string& name) {
  const auto it = std::find_if(specs.begin(), specs.end(),
                               [&](const ParameterSpec& spec) { return spec.name == name; });
  return it == specs.end() ? nullptr : &*it;
}

std::string machine_section(const TopologyDecl& topology, const Style& style) {
  TextTable table;
  table.column("", Align::kLeft);
  table.column("value", Align::kRight);
  table.column("range", Align::kLeft, 3);
  table.column("source", Align::kLeft, 3);
  table.column("", Align::kLeft);
  for (const NamedParameter& parameter : topology.machine) {
    const ParameterSpec* spec = find_spec(machine_parameters(), parameter.name);
    table.row({parameter.name, content_text(parameter.parameter.value),
               spec == nullptr ? "" : range_text(*spec), source_text(parameter.parameter.source),
               spec == nullptr ? "" : spec->doc});
  }
  return style.strong("machine") + "  sizes that units share and the costs of a command\n" +
         table.text(kIndent) + "\n";
}

std::string units_section(const TopologyDecl& topology, const Style& style) {
  TextTable table;
  table.column("unit", Align::kLeft);
  table.column("type", Align::kLeft);
  table.column("parameters", Align::kLeft);
  for (const UnitDecl& unit : topology.units) {
    std::vector<std::string> values;
    for (const NamedParameter& parameter : unit.parameters) {
      values.push_back(parameter.name + " " + content_text(parameter.parameter.value));
    }
    table.row({unit.name, unit.type.value, fmt::format("{}", fmt::join(values, ", "))});
  }
  return style.strong("units") + "\n" + table.text(kIndent) + "\n";
}

std::string wiring_section(const TopologyDecl& topology, const Style& style,
                           const UnitTypes& types) {
  TextTable table;
  table.column("from", Align::kLeft);
  table.column("to", Align::kLeft, 3);
  table.column("carries", Align::kLeft);
  table.column("latency", Align::kRight);
  table.column("depth", Align::kRight);
  for (const ConnectionDecl& connection : topology.connections) {
    std::string item;
    for (const UnitDecl& unit : topology.units) {
      if (unit.name != connection.from.unit) continue;
      const UnitType* type = find_type(types, unit.type.value);
      const PortSpec* port = type == nullptr ? nullptr : type->port(connection.from.port);
      if (port != nullptr) item = port->item;
    }
    table.row({connection.from.unit + "." + connection.from.port,
               connection.to.unit + "." + connection.to.port, item,
               group_digits(connection.latency), group_digits(connection.depth)});
  }
  return style.strong("connections") + "  latency in cycles from push to pop, depth in items\n" +
         table.text(kIndent) + "\n";
}

std::string types_section(const Style& style, const UnitTypes& types) {
  std::string text = style.strong("unit types") + "  what a topology file may name\n";
  for (const UnitType& type : types) {
    text += wrap(fmt::format("{} ({})", type.doc, count_text(type.count)),
                 std::string(kIndent, ' ') + style.strong(type.name) + "  ", 2 * kIndent);
    TextTable table;
    table.column("", Align::kLeft);
    table.column("", Align::kLeft);
    table.column("", Align::kLeft);
    table.column("", Align::kLeft);
    table.column("", Align::kLeft);
    for (const ParameterSpec& spec : type.parameters) {
      table.row({spec.name, range_text(spec),
                 spec.default_value ? "default " + (spec.kind == ParameterKind::kList
                                                        ? "below"
                                                        : content_text(*spec.default_value))
                                    : "required",
                 source_text(spec.source),
                 spec.doc + (spec.kind == ParameterKind::kList && spec.default_value
                                 ? ": " + content_text(*spec.default_value)
                                 : "")});
    }
    text += table.text(2 * kIndent);
    std::vector<std::string> ports;
    for (const PortSpec& port : type.ports) {
      ports.push_back(fmt::format("{} {} ({}{}{})", port.input ? "in" : "out", port.name, port.item,
                                  port.required ? "" : ", may be left open",
                                  port.context.empty() ? "" : ", " + port.context + " only"));
    }
    if (!ports.empty()) {
      text += wrap(fmt::format("{}", fmt::join(ports, ", ")),
                   std::string(2 * kIndent, ' ') + "ports  ", 2 * kIndent + 7);
    }
  }
  return text + "\n";
}

// ---- YAML -------------------------------------------------------------------------------------

std::string yaml_text(const std::string& text) {
  static const std::vector<std::string> kReserved = {"true", "false", "null", "yes", "no",
                                                     "on",   "off",   "y",    "n"};
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool plain =
      !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
      std::all_of(text.begin(), text.end(),
                  [](unsigned char c) { return c < 0x80 && (std::isalnum(c) != 0 || c == '_'); }) &&
      std::find(kReserved.begin(), kReserved.end(), lower) == kReserved.end();
  // The escapes of JSON are those of YAML's double quotes.
  return plain
             ? text
             : nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string yaml_content(const ParameterContent& content) {
  if (const double* number = std::get_if<double>(&content)) return fmt::format("{}", *number);
  if (const bool* flag = std::get_if<bool>(&content)) return *flag ? "true" : "false";
  if (const std::string* text = std::get_if<std::string>(&content)) return yaml_text(*text);
  std::vector<std::string> items;
  for (const std::string& item : std::get<std::vector<std::string>>(content)) {
    items.push_back(yaml_text(item));
  }
  return "[" + fmt::format("{}", fmt::join(items, ", ")) + "]";
}

std::string yaml_annotated(const std::string& value, const std::string& source,
                           const std::string& note) {
  if (source.empty() && note.empty()) return value;
  std::string text = "{value: " + value;
  if (!source.empty()) text += ", source: " + source;
  if (!note.empty()) text += ", note: " + yaml_text(note);
  return text + "}";
}

std::string yaml_parameter(const ParameterValue& parameter) {
  return yaml_annotated(yaml_content(parameter.value), parameter.source, parameter.note);
}

}  // namespace

std::string topology_text(const TopologyDecl& resolved, const Style& style,
                          const UnitTypes& types) {
  std::string text =
      fmt::format("{}  {}", style.strong("topology " + resolved.name), resolved.file);
  const double* clock = std::get_if<double>(&resolved.clock_ghz.value);
  if (clock != nullptr)
    text +=
        fmt::format("    {}, source {}", gigahertz(*clock), source_text(resolved.clock_ghz.source));
  text += "\n\n" + machine_section(resolved, style) + units_section(resolved, style) +
          wiring_section(resolved, style, types) + types_section(style, types);
  return text +
         "sources: S stated in the documents, B in the public book, C derived from schedules,\n"
         "         M measured, A assumed, - no source given\n";
}

std::string topology_yaml(const TopologyDecl& resolved) {
  std::string text = "topology: " + yaml_text(resolved.name) + "\n";
  text += "clock_ghz: " + yaml_parameter(resolved.clock_ghz) + "\n\nmachine:\n";
  for (const NamedParameter& parameter : resolved.machine) {
    text += "  " + parameter.name + ": " + yaml_parameter(parameter.parameter) + "\n";
  }
  text += "\nunits:\n";
  for (const UnitDecl& unit : resolved.units) {
    text += "  " + unit.name + ":\n    type: " + yaml_text(unit.type.value) + "\n";
    for (const NamedParameter& parameter : unit.parameters) {
      text += "    " + parameter.name + ": " + yaml_parameter(parameter.parameter) + "\n";
    }
  }
  text += "\nconnections:\n";
  for (const ConnectionDecl& c : resolved.connections) {
    text += fmt::format("  - {{from: {}.{}, to: {}.{}, latency: {}, depth: {}}}\n", c.from.unit,
                        c.from.port, c.to.unit, c.to.port,
                        yaml_annotated(fmt::format("{}", c.latency), c.latency_source, ""),
                        yaml_annotated(fmt::format("{}", c.depth), c.depth_source, ""));
  }
  return text;
}

}  // namespace rngdsim
