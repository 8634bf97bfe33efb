// SPDX-License-Identifier: Apache-2.0
#include "config/topology.h"

#include <fmt/format.h>

#include <utility>

#include "config/reader.h"
#include "config/yaml_document.h"
#include "support/input_limits.h"
#include "support/sha256.h"
#include "support/text.h"

namespace rngdsim {
namespace {

class TopologyParser {
 public:
  TopologyParser(const YamlDocument& document, FileErrors& errors, TopologyDecl& topology)
      : root_(document.root()), reader_(document, errors), errors_(errors), topology_(topology) {}

  void parse() {
    const auto sections = reader_.fields(root_, "a topology file", errors_.at(1, 1),
                                         {{"topology", kRequired},
                                          {"clock_ghz", kRequired},
                                          {"machine", kRequired},
                                          {"units", kRequired},
                                          {"connections", kRequired}});
    if (!sections) return;
    if (const YamlNode* node = sections->find("topology")) {
      if (const auto text = reader_.text(*node, "'topology'")) topology_.name = text->value;
    }
    if (const YamlNode* node = sections->find("clock_ghz")) parse_clock(*node);
    if (const YamlNode* node = sections->find("machine")) parse_machine(*node);
    if (const YamlNode* node = sections->find("units")) parse_units(*node);
    if (const YamlNode* node = sections->find("connections")) parse_connections(*node);
  }

 private:
  // ---------------------------------------------------------------------------------- parameters

  // The parts of `{value:, source:, note:}`, or of a bare value.
  struct Annotated {
    const YamlNode* value = nullptr;
    std::string source;
    std::string note;
  };

  std::optional<Annotated> annotated(const YamlNode& node, const std::string& what) {
    Annotated result;
    result.value = &node;
    if (!node.is_map()) return result;
    const auto fields =
        reader_.fields(node, what, reader_.at(node), {{"value", kRequired}, {"source"}, {"note"}});
    if (!fields) return std::nullopt;
    if (const YamlNode* source = fields->find("source")) {
      const auto text =
          reader_.choice(*source, "'source' of " + what, "source", {"S", "B", "C", "M", "A"});
      if (text) result.source = text->value;
    }
    if (const YamlNode* note = fields->find("note")) {
      const auto text = reader_.text(*note, "'note' of " + what);
      if (text) result.note = text->value;
    }
    result.value = fields->find("value");
    if (result.value == nullptr) return std::nullopt;
    return result;
  }

  std::optional<ParameterValue> parameter(const YamlNode& node, const std::string& what) {
    const auto parts = annotated(node, what);
    if (!parts) return std::nullopt;
    ParameterValue result;
    result.source = parts->source;
    result.note = parts->note;
    const YamlNode& value = *parts->value;
    result.where = reader_.at(value);
    if (value.is_sequence()) {
      std::vector<std::string> texts;
      for (const YamlNode& item : value.items) {
        if (errors_.full()) break;
        const auto text = reader_.text(item, "an entry of " + what);
        if (text) texts.push_back(text->value);
      }
      result.value = std::move(texts);
      return result;
    }
    if (value.is_scalar() && value.plain && (value.text == "true" || value.text == "false")) {
      result.value = value.text == "true";
      return result;
    }
    if (value.is_scalar() && value.plain) {
      if (const auto number = parse_double(value.text)) {
        result.value = *number;
        return result;
      }
    }
    const auto text = reader_.text(value, what);
    if (!text) return std::nullopt;
    result.value = text->value;
    return result;
  }

  std::optional<NamedParameter> named_parameter(const YamlEntry& entry, const std::string& owner) {
    if (!reader_.is_name(entry.key, "parameter")) return std::nullopt;
    auto value = parameter(entry.value, fmt::format("'{}' of {}", entry.key.text, owner));
    if (!value) return std::nullopt;
    return NamedParameter{entry.key.text, reader_.at(entry.key), std::move(*value)};
  }

  // ------------------------------------------------------------------------------------ sections

  void parse_clock(const YamlNode& node) {
    auto clock = parameter(node, "'clock_ghz'");
    if (!clock) return;
    const double* ghz = std::get_if<double>(&clock->value);
    if (ghz == nullptr) {
      errors_.error(clock->where, "'clock_ghz' must be a number");
    } else if (*ghz <= 0 || *ghz > kMaxClockGhz) {
      errors_.error(clock->where, fmt::format("'clock_ghz' must be above 0 and at most {}, got {}",
                                              kMaxClockGhz, *ghz));
    }
    topology_.clock_ghz = std::move(*clock);
  }

  void parse_machine(const YamlNode& node) {
    if (!reader_.is_map(node, "'machine'", kMaxParameters)) return;
    for (const YamlEntry& entry : node.entries) {
      auto named = named_parameter(entry, "'machine'");
      if (named) topology_.machine.push_back(std::move(*named));
    }
  }

  void parse_units(const YamlNode& node) {
    if (!reader_.is_map(node, "'units'", kMaxUnits)) return;
    if (node.entries.empty()) errors_.error(node, "'units' is empty");
    for (const auto& [key, value] : node.entries) {
      if (reader_.is_name(key, "unit")) parse_unit(key, value);
    }
  }

  void parse_unit(const YamlNode& key, const YamlNode& value) {
    const std::string what = fmt::format("unit '{}'", key.text);
    UnitDecl unit;
    unit.name = key.text;
    unit.where = reader_.at(key);
    if (!reader_.is_map(value, what, kMaxParameters)) return;
    bool has_type = false;
    for (const YamlEntry& entry : value.entries) {
      if (entry.key.text == "type") {
        has_type = true;
        const auto type = reader_.name(entry.value, "'type' of " + what);
        if (type) unit.type = *type;
      } else if (auto named = named_parameter(entry, what)) {
        unit.parameters.push_back(std::move(*named));
      }
    }
    if (!has_type) errors_.error(key, fmt::format("missing key 'type' in {}", what));
    topology_.units.push_back(std::move(unit));
  }

  void parse_connections(const YamlNode& node) {
    if (!reader_.is_sequence(node, "'connections'", kMaxConnections)) return;
    for (const YamlNode& item : node.items) parse_connection(item);
  }

  void parse_connection(const YamlNode& item) {
    ConnectionDecl connection;
    connection.where = reader_.at(item);
    const auto fields =
        reader_.fields(item, "a connection", connection.where,
                       {{"from", kRequired}, {"to", kRequired}, {"latency"}, {"depth"}});
    if (!fields) return;
    if (const YamlNode* from = fields->find("from")) {
      read_port(*from, "'from' of a connection", connection.from);
    }
    if (const YamlNode* to = fields->find("to")) {
      read_port(*to, "'to' of a connection", connection.to);
    }
    if (const YamlNode* latency = fields->find("latency")) {
      read_count(*latency, "'latency' of a connection", kMaxLatency, connection.latency,
                 connection.latency_source);
    }
    if (const YamlNode* depth = fields->find("depth")) {
      read_count(*depth, "'depth' of a connection", kMaxLinkDepth, connection.depth,
                 connection.depth_source);
    }
    topology_.connections.push_back(std::move(connection));
  }

  void read_count(const YamlNode& node, const std::string& what, uint64_t max, uint64_t& target,
                  std::string& source) {
    const auto parts = annotated(node, what);
    if (!parts) return;
    source = parts->source;
    const auto number = reader_.integer(*parts->value, what, 1, max);
    if (number) target = *number;
  }

  void read_port(const YamlNode& node, const std::string& what, PortRef& port) {
    port.where = reader_.at(node);
    const auto text = reader_.text(node, what);
    if (!text) return;
    const size_t dot = text->value.find('.');
    const std::string unit = text->value.substr(0, dot);
    const std::string name = dot == std::string::npos ? "" : text->value.substr(dot + 1);
    if (!is_identifier(unit) || !is_identifier(name)) {
      errors_.error(node, fmt::format("{} must be unit.port, got {}", what, quoted(text->value)),
                    "for example main_fetch.out");
      return;
    }
    port.unit = unit;
    port.port = name;
  }

  const YamlNode& root_;
  Reader reader_;
  FileErrors& errors_;
  TopologyDecl& topology_;
};

}  // namespace

TopologyDecl parse_topology(const std::string& text, const std::string& file,
                            Diagnostics& diagnostics) {
  TopologyDecl topology;
  topology.file = file;
  topology.sha256 = sha256_hex(text);
  FileErrors errors(file, diagnostics);
  const std::optional<YamlDocument> document = YamlDocument::parse(text, errors);
  if (document) TopologyParser(*document, errors, topology).parse();
  return topology;
}

TopologyDecl load_topology(const std::string& path, Diagnostics& diagnostics) {
  const std::optional<std::string> text = read_config_file(path, diagnostics);
  if (text) return parse_topology(*text, path, diagnostics);
  TopologyDecl topology;
  topology.file = path;
  return topology;
}

}  // namespace rngdsim
