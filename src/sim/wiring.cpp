// SPDX-License-Identifier: Apache-2.0
#include "sim/wiring.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "support/text.h"

namespace rngdsim {
namespace {

template <typename List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& entry : list) names.push_back(entry.name);
  return names;
}

// The nearest of the words, or all of them.
std::string hint_from(const std::string& text, const std::vector<std::string>& words) {
  if (const auto match = nearest(text, words)) return fmt::format("did you mean '{}'?", *match);
  return words.empty() ? "it takes none" : fmt::format("one of {}", fmt::join(words, ", "));
}

ParameterKind kind_of(const ParameterContent& content) {
  switch (content.index()) {
    case 0:
      return ParameterKind::kNumber;
    case 1:
      return ParameterKind::kFlag;
    case 2:
      return ParameterKind::kText;
    default:
      return ParameterKind::kList;
  }
}

// ---- Parameters -------------------------------------------------------------------------------

class ParameterCheck {
 public:
  ParameterCheck(Diagnostics& diagnostics, std::string owner)
      : diagnostics_(diagnostics), owner_(std::move(owner)) {}

  // `given` in the order of `specs`, completed by their defaults.
  std::vector<NamedParameter> complete(const std::vector<NamedParameter>& given,
                                       const std::vector<ParameterSpec>& specs,
                                       const SourceLocation& owner_where) {
    for (const NamedParameter& parameter : given) {
      if (find(specs, parameter.name) != nullptr) continue;
      diagnostics_.error(parameter.where,
                         fmt::format("{} has no parameter '{}'", owner_, parameter.name),
                         hint_from(parameter.name, names_of(specs)));
    }
    std::vector<NamedParameter> result;
    for (const ParameterSpec& spec : specs) {
      if (const NamedParameter* parameter = find(given, spec.name)) {
        check(*parameter, spec);
        result.push_back(*parameter);
      } else if (spec.default_value) {
        result.push_back({spec.name, owner_where, {*spec.default_value, spec.source, "", {}}});
      } else {
        diagnostics_.error(owner_where,
                           fmt::format("{} needs the parameter '{}'", owner_, spec.name),
                           spec.doc + words_of(spec));
      }
    }
    return result;
  }

 private:
  template <typename List>
  static auto find(const List& list, const std::string& name) -> decltype(&list.front()) {
    for (const auto& entry : list) {
      if (entry.name == name) return &entry;
    }
    return nullptr;
  }

  static std::string words_of(const ParameterSpec& spec) {
    if (spec.words.empty()) return "";
    return fmt::format(": {}", fmt::join(spec.words, ", "));
  }

  void check(const NamedParameter& given, const ParameterSpec& spec) {
    const ParameterContent& content = given.parameter.value;
    const SourceLocation& where = given.parameter.where;
    const std::string what = fmt::format("'{}' of {}", spec.name, owner_);
    const ParameterKind kind = kind_of(content);
    if (kind != spec.kind) {
      diagnostics_.error(
          where, fmt::format("{} must be a {}, got a {}", what, name(spec.kind), name(kind)));
      return;
    }
    switch (kind) {
      case ParameterKind::kNumber:
        check_number(std::get<double>(content), what, spec, where);
        break;
      case ParameterKind::kFlag:
        break;
      case ParameterKind::kText:
        check_word(std::get<std::string>(content), what, spec, where);
        break;
      case ParameterKind::kList:
        check_list(std::get<std::vector<std::string>>(content), what, spec, where);
        break;
    }
  }

  void check_number(double value, const std::string& what, const ParameterSpec& spec,
                    const SourceLocation& where) {
    if (std::isfinite(value) && value != std::floor(value)) {
      diagnostics_.error(where, fmt::format("{} must be a whole number, got {}", what, value));
    } else if (!(value >= spec.min && value <= spec.max)) {
      diagnostics_.error(where, fmt::format("{} must be {} to {} {}, got {}", what, spec.min,
                                            spec.max, spec.unit, value));
    }
  }

  void check_word(const std::string& value, const std::string& what, const ParameterSpec& spec,
                  const SourceLocation& where) {
    if (spec.words.empty()) return;
    if (std::find(spec.words.begin(), spec.words.end(), value) != spec.words.end()) return;
    diagnostics_.error(where, fmt::format("{} cannot be {}", what, quoted(value)),
                       hint_from(value, spec.words));
  }

  void check_list(const std::vector<std::string>& values, const std::string& what,
                  const ParameterSpec& spec, const SourceLocation& where) {
    std::set<std::string> seen;
    for (const std::string& value : values) {
      if (std::find(spec.words.begin(), spec.words.end(), value) == spec.words.end()) {
        diagnostics_.error(where, fmt::format("{} cannot hold {}", what, quoted(value)),
                           hint_from(value, spec.words));
      } else if (!seen.insert(value).second) {
        diagnostics_.error(where, fmt::format("{} holds {} twice", what, quoted(value)));
      }
    }
    for (const std::string& word : spec.words) {
      if (seen.count(word) > 0) continue;
      diagnostics_.error(
          where, fmt::format("{} lacks '{}'", what, word),
          "it must name each once: " + fmt::format("{}", fmt::join(spec.words, ", ")));
    }
  }

  Diagnostics& diagnostics_;
  std::string owner_;
};

// ---- The whole file ---------------------------------------------------------------------------

class Resolver {
 public:
  Resolver(const TopologyDecl& topology, const UnitTypes& types, Diagnostics& diagnostics)
      : given_(topology), types_(types), diagnostics_(diagnostics) {}

  TopologyDecl resolve() {
    result_ = given_;
    result_.machine = ParameterCheck(diagnostics_, "'machine'")
                          .complete(given_.machine, machine_parameters(), {given_.file, 0, 0});
    result_.units.clear();
    for (const UnitDecl& unit : given_.units) add_unit(unit);
    check_counts();
    result_.connections.clear();
    for (const ConnectionDecl& connection : given_.connections) add_connection(connection);
    check_ports();
    check_reach();
    check_latencies();
    return std::move(result_);
  }

 private:
  struct Placed {
    const UnitType* type;  // null: unknown, already reported
    size_t index;          // in result_.units
    bool connected = false;
    bool superfluous = false;  // another one serves its context
  };
  struct End {
    const PortSpec* port = nullptr;
    Placed* unit = nullptr;
  };

  void add_unit(const UnitDecl& unit) {
    UnitDecl completed = unit;
    const UnitType* type = find_type(types_, unit.type.value);
    if (type == nullptr && !unit.type.value.empty()) {
      diagnostics_.error(unit.type.where, fmt::format("unknown unit type '{}'", unit.type.value),
                         hint_from(unit.type.value, names_of(types_)));
    }
    if (type != nullptr) {
      ParameterCheck check(diagnostics_, fmt::format("unit '{}' ({})", unit.name, type->name));
      completed.parameters = check.complete(unit.parameters, type->parameters, unit.where);
    }
    units_[unit.name] = {type, result_.units.size()};
    result_.units.push_back(std::move(completed));
  }

  // "main" or "sub"; empty where it has no (valid) context.
  static std::string context_of(const UnitDecl& unit) {
    for (const NamedParameter& parameter : unit.parameters) {
      if (parameter.name != "context") continue;
      const auto* text = std::get_if<std::string>(&parameter.parameter.value);
      return text != nullptr && (*text == "main" || *text == "sub") ? *text : "";
    }
    return "";
  }

  void check_counts() {
    for (const UnitType& type : types_) {
      if (type.count == UnitCount::kAny) continue;
      const bool by_context = type.count == UnitCount::kOneAContext;
      const std::vector<std::string> contexts =
          by_context ? std::vector<std::string>{"main", "sub"} : std::vector<std::string>{""};
      // A unit whose context is missing or wrong has its own error: it might be the one missing.
      bool unclear = false;
      for (const UnitDecl& unit : result_.units) {
        unclear =
            unclear || (unit.type.value == type.name && by_context && context_of(unit).empty());
      }
      for (const std::string& context : contexts) check_count(type, context, unclear);
    }
  }

  void check_count(const UnitType& type, const std::string& context, bool unclear) {
    const std::string what = type.name + (context.empty() ? "" : " with context: " + context);
    const UnitDecl* first = nullptr;
    for (const UnitDecl& unit : result_.units) {
      if (unit.type.value != type.name) continue;
      if (type.count == UnitCount::kOneAContext && context_of(unit) != context) continue;
      if (first != nullptr) {
        diagnostics_.error(
            unit.where,
            fmt::format("unit '{}' is a second {}; the machine has one", unit.name, what),
            fmt::format("'{}' is the first", first->name));
        units_.at(unit.name).superfluous = true;
        continue;
      }
      first = &unit;
    }
    if (first == nullptr && !unclear) {
      diagnostics_.error({given_.file, 0, 0}, fmt::format("no unit of type {}", what), type.doc);
    }
  }

  // A unit whose context is missing or that of another one has its own error; which of the ports of
  // a context it should have nobody knows.
  bool context_unclear(const Placed& unit) const {
    return unit.superfluous || context_of(result_.units[unit.index]).empty();
  }
  // Whether the unit's context is the port's.
  bool has_port(const Placed& unit, const PortSpec& port) const {
    return port.context.empty() || context_unclear(unit) ||
           port.context == context_of(result_.units[unit.index]);
  }
  std::vector<PortSpec> ports_of(const Placed& unit) const {
    std::vector<PortSpec> ports;
    for (const PortSpec& port : unit.type->ports) {
      if (has_port(unit, port)) ports.push_back(port);
    }
    return ports;
  }

  End find_end(const PortRef& ref, bool input) {
    if (ref.unit.empty()) return {};  // already reported
    const auto it = units_.find(ref.unit);
    if (it == units_.end()) {
      diagnostics_.error(ref.where, fmt::format("unknown unit '{}'", ref.unit),
                         hint_from(ref.unit, names_of(given_.units)));
      return {};
    }
    Placed& unit = it->second;
    unit.connected = true;
    if (unit.type == nullptr) return {};
    const PortSpec* port = unit.type->port(ref.port);
    if (port == nullptr) {
      diagnostics_.error(
          ref.where,
          fmt::format("unit '{}' ({}) has no port '{}'", ref.unit, unit.type->name, ref.port),
          hint_from(ref.port, names_of(ports_of(unit))));
      return {};
    }
    if (!has_port(unit, *port)) {
      diagnostics_.error(ref.where,
                         fmt::format("unit '{}' ({}) has no port '{}'; units with context: {} do",
                                     ref.unit, unit.type->name, ref.port, port->context),
                         fmt::format("one of {}", fmt::join(names_of(ports_of(unit)), ", ")));
      return {};
    }
    const std::string full = ref.unit + "." + ref.port;
    if (port->input != input) {
      diagnostics_.error(ref.where,
                         fmt::format("'{}' is an {}, but stands after '{}'", full,
                                     port->input ? "input" : "output", input ? "to" : "from"));
      bound_.insert({full, &ref});
      return {};
    }
    const auto [other, is_new] = bound_.insert({full, &ref});
    if (!is_new) {
      diagnostics_.error(ref.where, fmt::format("port '{}' is connected twice", full),
                         fmt::format("first on line {}", other->second->where.line));
      return {};
    }
    return {port, &unit};
  }

  void add_connection(const ConnectionDecl& given) {
    const End from = find_end(given.from, false);
    const End to = find_end(given.to, true);
    if (from.port != nullptr && to.port != nullptr && from.port->item != to.port->item) {
      diagnostics_.error(given.where, fmt::format("'{}.{}' carries '{}', '{}.{}' takes '{}'",
                                                  given.from.unit, given.from.port, from.port->item,
                                                  given.to.unit, given.to.port, to.port->item));
    }
    if (from.unit != nullptr && to.unit != nullptr) {
      successors_[from.unit->index].push_back(to.unit->index);
    }
    ConnectionDecl connection = given;
    if (connection.latency == 0) {
      diagnostics_.error(given.where, "latency 0: a link takes at least 1 cycle");
      connection.latency = 1;
    }
    if (connection.depth == 0) connection.depth = default_depth(connection.latency);
    result_.connections.push_back(std::move(connection));
  }

  void check_ports() {
    for (const UnitDecl& unit : result_.units) {
      const Placed& placed = units_.at(unit.name);
      if (placed.type == nullptr || placed.type->ports.empty()) continue;
      if (!placed.connected) {
        diagnostics_.error(
            unit.where, fmt::format("unit '{}' is connected to nothing", unit.name),
            "ports: " + fmt::format("{}", fmt::join(names_of(ports_of(placed)), ", ")));
        continue;
      }
      for (const PortSpec& port : ports_of(placed)) {
        if (!port.required || (context_unclear(placed) && !port.context.empty())) continue;
        if (bound_.count(unit.name + "." + port.name) > 0) continue;
        diagnostics_.error(unit.where,
                           fmt::format("{} '{}.{}' is not connected",
                                       port.input ? "input" : "output", unit.name, port.name),
                           fmt::format("it {} '{}'", port.input ? "takes" : "carries", port.item));
      }
    }
  }

  // Every unit must lie behind one from which commands start. Only told where nothing else is
  // wrong: a wrong connection makes all behind it unreachable.
  void check_reach() {
    if (diagnostics_.has_errors()) return;
    std::set<size_t> reached;
    std::vector<size_t> open;
    for (const auto& [name, placed] : units_) {
      if (placed.type->source) open.push_back(placed.index);
    }
    while (!open.empty()) {
      const size_t unit = open.back();
      open.pop_back();
      if (!reached.insert(unit).second) continue;
      for (const size_t next : successors_[unit]) open.push_back(next);
    }
    for (size_t i = 0; i < result_.units.size(); ++i) {
      if (reached.count(i) > 0) continue;
      diagnostics_.error(result_.units[i].where,
                         fmt::format("no item can reach unit '{}'", result_.units[i].name),
                         "no way leads to it from a unit in which commands start");
    }
  }

  void check_latencies() {
    for (const ConnectionDecl& connection : result_.connections) {
      const auto it = units_.find(connection.from.unit);
      if (it == units_.end() || it->second.type == nullptr) continue;
      const UnitDecl& unit = result_.units[it->second.index];
      for (const IncludedLatency& rule : it->second.type->latencies) {
        if (rule.port != connection.from.port) continue;
        for (const NamedParameter& parameter : unit.parameters) {
          if (parameter.name != rule.parameter) continue;
          const double* cycles = std::get_if<double>(&parameter.parameter.value);
          if (cycles == nullptr || *cycles >= static_cast<double>(connection.latency)) continue;
          diagnostics_.error(
              connection.where,
              fmt::format("the link's latency of {} cycles exceeds '{}' of unit '{}', {} cycles, "
                          "which includes it",
                          connection.latency, rule.parameter, unit.name, *cycles));
        }
      }
    }
  }

  const TopologyDecl& given_;
  const UnitTypes& types_;
  Diagnostics& diagnostics_;
  TopologyDecl result_;
  std::map<std::string, Placed> units_;
  std::map<std::string, const PortRef*> bound_;  // "unit.port"
  std::map<size_t, std::vector<size_t>> successors_;
};

ParameterContent parse_content(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == '\0' && std::isfinite(value)) return value;
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    std::vector<std::string> words;
    std::string word;
    for (const char c : text.substr(1, text.size() - 2) + ",") {
      if (c == ',') {
        if (!word.empty()) words.push_back(word);
        word.clear();
      } else if (c != ' ') {
        word += c;
      }
    }
    return words;
  }
  return text;
}

}  // namespace

uint64_t default_depth(uint64_t latency) { return std::max<uint64_t>(2, latency + 1); }

TopologyDecl resolve_topology(const TopologyDecl& topology, Diagnostics& diagnostics,
                              const UnitTypes& types) {
  Diagnostics own;
  TopologyDecl result = Resolver(topology, types, own).resolve();
  diagnostics.append(own);
  return result;
}

void set_parameter(TopologyDecl& topology, const std::string& assignment,
                   Diagnostics& diagnostics) {
  const SourceLocation where{"--set " + assignment, 0, 0};
  const size_t dot = assignment.find('.');
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals || dot == 0 ||
      equals == dot + 1) {
    diagnostics.error(where, "must be unit.parameter=value",
                      "for example machine.command_overhead=0");
    return;
  }
  const std::string unit = assignment.substr(0, dot);
  const std::string parameter = assignment.substr(dot + 1, equals - dot - 1);
  std::vector<NamedParameter>* parameters = unit == "machine" ? &topology.machine : nullptr;
  std::vector<std::string> names = names_of(topology.units);
  for (UnitDecl& candidate : topology.units) {
    if (candidate.name == unit) parameters = &candidate.parameters;
  }
  if (parameters == nullptr) {
    names.push_back("machine");
    diagnostics.error(where, fmt::format("unknown unit '{}'", unit), hint_from(unit, names));
    return;
  }
  const ParameterValue value{parse_content(assignment.substr(equals + 1)), "", "", where};
  for (NamedParameter& candidate : *parameters) {
    if (candidate.name == parameter) {
      candidate.parameter = value;
      return;
    }
  }
  parameters->push_back({parameter, where, value});
}

}  // namespace rngdsim
