// SPDX-License-Identifier: Apache-2.0
#include "config/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/reader.h"
#include "config/yaml_document.h"
#include "support/input_limits.h"
#include "support/text.h"

namespace rngdsim {
namespace {

// As a number where nothing but a number can be meant; "1" in quotes is the mapping.
bool is_number(const YamlNode& item) {
  return item.is_scalar() && item.plain &&
         (parse_double(item.text) || item.text.rfind("0x", 0) == 0);
}

// The values of one parameter, all of the kind of the first.
void read_values(const YamlNode& list, const std::string& what, Reader& reader, FileErrors& errors,
                 SweepParameter& parameter) {
  if (!reader.is_sequence(list, "the values of " + what, kMaxSweepPoints)) return;
  if (list.items.empty()) errors.error(list, fmt::format("{} has no values", what));
  std::set<std::string> seen;
  for (const YamlNode& item : list.items) {
    const std::string entry = "a value of " + what;
    const bool number = is_number(item), first_number = is_number(list.items.front());
    if (item.is_scalar() && number != first_number) {
      errors.error(item,
                   fmt::format("{} mixes numbers and mappings: {} is {}, the first value is {}",
                               what, quoted(item.text), number ? "a number" : "a mapping",
                               first_number ? "a number" : "a mapping"),
                   "the mapping without axes is \"1\", with quotes");
      continue;
    }
    if (number) {
      if (const auto value = reader.integer(item, entry, 0, kMaxConstant)) {
        parameter.numbers.push_back(*value);
      }
    } else if (const auto text = reader.mapping(item, entry)) {
      parameter.mappings.push_back(*text);
    }
    if (item.is_scalar() && !seen.insert(item.text).second) {
      errors.error(item, fmt::format("{} has the value {} twice", what, quoted(item.text)));
    }
  }
}

void read_parameters(const YamlNode& node, Reader& reader, FileErrors& errors, SweepDecl& sweep) {
  if (!reader.is_map(node, "'parameters' of 'sweep'", kMaxSweepParameters)) return;
  if (node.entries.empty()) errors.error(node, "'parameters' of 'sweep' is an empty map");
  for (const auto& [key, value] : node.entries) {
    if (!reader.is_name(key, "parameter")) continue;
    SweepParameter parameter;
    parameter.name = key.text;
    parameter.where = reader.at(key);
    read_values(value, fmt::format("parameter '{}'", key.text), reader, errors, parameter);
    sweep.parameters.push_back(std::move(parameter));
  }
  if (sweep.points() <= kMaxSweepPoints) return;
  errors.error(
      node,
      fmt::format("the sweep has more than {} points, the product of the numbers of values",
                  group_digits(kMaxSweepPoints)),
      kLimitHint);
}

void read_constraints(const YamlNode& node, Reader& reader, FileErrors& errors, SweepDecl& sweep) {
  if (!reader.is_sequence(node, "'constraints' of 'sweep'", kMaxSweepConstraints)) return;
  for (const YamlNode& item : node.items) {
    if (!item.is_scalar() || item.text.empty()) {
      errors.error(item, "a constraint must be a text",
                   "quote it, for example \"{TILE} * 4 <= 64\"");
      continue;
    }
    // One line without escapes, like a mapping, so that columns are exact.
    if (const auto text = reader.mapping(item, "a constraint")) sweep.constraints.push_back(*text);
  }
}

// Adds what stands between '{' and '}'.
void collect_references(const std::string& text, std::set<std::string>& names) {
  for (size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    const size_t end = text.find('}', at);
    if (end == std::string::npos) break;
    names.insert(text.substr(at + 1, end - at - 1));
  }
}

void collect_references(const YamlNode& node, std::set<std::string>& names) {
  collect_references(node.text, names);
  for (const YamlNode& item : node.items) collect_references(item, names);
  for (const YamlEntry& entry : node.entries) collect_references(entry.value, names);
}

}  // namespace

std::string SweepParameter::value(size_t index) const {
  return is_mapping() ? mappings[index].value : std::to_string(numbers[index]);
}

std::string SweepParameter::short_value(size_t index) const {
  return std::to_string(is_mapping() ? index + 1 : numbers[index]);
}

uint64_t SweepDecl::points() const {
  uint64_t points = 1;
  for (const SweepParameter& parameter : parameters) {
    points *= parameter.count();
    if (points > kMaxSweepPoints) return kMaxSweepPoints + 1;
  }
  return points;
}

SweepPoint SweepDecl::point(uint64_t number) const {
  SweepPoint point(parameters.size());
  for (size_t i = parameters.size(); i > 0; --i) {
    point[i - 1] = number % parameters[i - 1].count();
    number /= parameters[i - 1].count();
  }
  return point;
}

std::string SweepDecl::name(const SweepPoint& point) const {
  std::string text;
  for (size_t i = 0; i < parameters.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "" : ",", parameters[i].name,
                        parameters[i].short_value(point[i]));
  }
  return text;
}

SweepPoint choose_point(const SweepDecl& sweep, const SweepChoice& choice, const std::string& file,
                        Diagnostics& diagnostics) {
  SweepPoint point = choice.point;
  point.resize(sweep.parameters.size(), 0);
  std::vector<std::string> names;
  for (const SweepParameter& parameter : sweep.parameters) names.push_back(parameter.name);
  const auto fail = [&](const std::string& assignment, const std::string& why,
                        const std::string& hint) {
    diagnostics.error({file, 0, 0}, fmt::format("--param {}: {}", assignment, why), hint);
  };
  for (const std::string& assignment : choice.assignments) {
    const size_t equals = assignment.find('=');
    const std::string name = assignment.substr(0, equals);
    const auto found = std::find(names.begin(), names.end(), name);
    if (equals == std::string::npos) {
      fail(assignment, "must be NAME=VALUE", "");
      continue;
    }
    if (found == names.end()) {
      const auto close = nearest(name, names);
      fail(assignment, "the sweep has no parameter " + quoted(name),
           close           ? fmt::format("did you mean '{}'?", *close)
           : names.empty() ? "this file has no sweep"
                           : "there are " + listed(names));
      continue;
    }
    const auto index = static_cast<size_t>(found - names.begin());
    const SweepParameter& parameter = sweep.parameters[index];
    const std::string value = assignment.substr(equals + 1);
    std::vector<std::string> values;
    bool known = false;
    for (size_t i = 0; i < parameter.count(); ++i) {
      const bool same = value == parameter.value(i) || value == parameter.short_value(i);
      if (same && !known) point[index] = i;
      known = known || same;
      values.push_back(parameter.is_mapping()
                           ? fmt::format("{} for \"{}\"", i + 1, parameter.value(i))
                           : parameter.value(i));
    }
    if (!known) {
      fail(assignment, fmt::format("{} is no value of {}", quoted(value), name),
           "there are " + listed(values));
    }
  }
  return point;
}

SweepDecl read_sweep(const YamlNode& node, Reader& reader, FileErrors& errors) {
  SweepDecl sweep;
  const size_t errors_before = errors.count();
  const auto fields =
      reader.fields(node, "'sweep'", reader.at(node), {{"parameters", true}, {"constraints"}});
  if (fields) {
    if (const YamlNode* parameters = fields->find("parameters")) {
      read_parameters(*parameters, reader, errors, sweep);
    }
    if (const YamlNode* constraints = fields->find("constraints")) {
      read_constraints(*constraints, reader, errors, sweep);
    }
  }
  sweep.faulty = errors.count() != errors_before;
  return sweep;
}

void check_parameters_used(const SweepDecl& sweep, const YamlNode& root, FileErrors& errors) {
  std::set<std::string> used;
  for (const YamlEntry& section : root.entries) {
    if (section.key.text != "sweep") collect_references(section.value, used);
  }
  // A mapping may be made with the value of another parameter.
  for (const SweepParameter& parameter : sweep.parameters) {
    for (const Located<std::string>& mapping : parameter.mappings) {
      collect_references(mapping.value, used);
    }
  }
  for (const SweepParameter& parameter : sweep.parameters) {
    if (used.count(parameter.name) != 0) continue;
    errors.error(parameter.where,
                 fmt::format("parameter '{}' is not used: all its values are the same kernel",
                             parameter.name),
                 fmt::format("write \"{{{}}}\" where its value belongs", parameter.name));
  }
}

}  // namespace rngdsim
