// SPDX-License-Identifier: Apache-2.0
#include "lowering/scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/text.h"

namespace rngdsim {
namespace {

// Positions that are looked at one by one where padding kinds are compared.
constexpr uint64_t kMaxCompared = uint64_t{1} << 22;

bool has_zero_padding(const std::vector<Node>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    return (node.padded && node.pad == PadKind::kZero) || has_zero_padding(node.inner);
  });
}

void collect_digits(const std::vector<Node>& nodes, std::vector<const Node*>& digits) {
  for (const Node& node : nodes) {
    if (node.kind == Node::Kind::kDigit && node.live > 1) digits.push_back(&node);
    collect_digits(node.inner, digits);
  }
}

// Digits of one axis that follow each other without a gap: indices that are multiples of `first` up
// to `last`.
struct Reach {
  uint64_t first, last;
};

std::vector<Reach> reaches(std::vector<const Node*> digits) {
  std::stable_sort(digits.begin(), digits.end(),
                   [](const Node* a, const Node* b) { return a->stride < b->stride; });
  std::vector<Reach> result;
  uint64_t last = 0;
  for (const Node* digit : digits) {
    const bool follows = !result.empty() && digit->stride <= last + result.back().first;
    last += (digit->live - 1) * digit->stride;
    if (follows) {
      result.back().last = last;
    } else {
      result.push_back({digit->stride, last});
    }
  }
  return result;
}

}  // namespace

uint64_t bytes_of(DType dtype, uint64_t elements) {
  return (elements * static_cast<uint64_t>(memory_bits(dtype)) + 7) / 8;
}

std::string bytes_text(DType dtype, uint64_t elements) {
  return fmt::format("{} bytes ({} x {})", group_digits(bytes_of(dtype, elements)),
                     group_digits(elements), name(dtype));
}

std::string choices(const std::vector<uint64_t>& values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += i + 1 == values.size() ? " or " : ", ";
    text += fmt::format("{}", values[i]);
  }
  return text;
}

std::optional<std::pair<Mapping, Mapping>> divide(const Mapping& mapping, uint64_t inner_size,
                                                  const LowerScope& scope) {
  if (auto parts = mapping.split(inner_size)) return parts;
  std::pair<Mapping, Mapping> parts = {mapping.stride(inner_size), mapping.modulo(inner_size)};
  if (!scope.same(Mapping::concat({parts.first, parts.second}), mapping)) return std::nullopt;
  return parts;
}

bool promises_no_zero(const Declared& declared, const Mapping& derived, const char* stage,
                      const char* dimension, const LowerScope& scope) {
  const Mapping& mapping = declared.mapping;
  if (!has_zero_padding(mapping.nodes()) || mapping.size() > kMaxCompared) return true;
  for (uint64_t i = 0; i < mapping.size(); ++i) {
    const Cell cell = mapping.cell(i, scope.axes);
    if (cell.live || cell.pad != PadKind::kZero) continue;
    const Cell made = derived.cell(i, scope.axes);
    if (!made.live && made.pad == PadKind::kZero) continue;
    scope.diagnostics.error(
        declared.where,
        fmt::format(
            "{}: {} '{}' promises zero at position {}, but what '{}' holds there is not known "
            "to be zero",
            stage, dimension, scope.text(mapping), i, scope.text(derived)),
        "write the padding as '#'; only zero padding of the input and what collect or cast fill up "
        "is '#{0}'");
    return false;
  }
  return true;
}

std::optional<Mapping> agreed(const std::optional<Declared>& declared, const Mapping& derived,
                              const char* stage, const char* dimension, const LowerScope& scope) {
  if (!declared) return derived;
  if (!scope.same(declared->mapping, derived)) {
    scope.diagnostics.error(
        declared->where, fmt::format("{}: {} is '{}' (size {}), but the stage makes '{}' (size {})",
                                     stage, dimension, scope.text(declared->mapping),
                                     group_digits(declared->mapping.size()), scope.text(derived),
                                     group_digits(derived.size())));
    return std::nullopt;
  }
  if (!promises_no_zero(*declared, derived, stage, dimension, scope)) return std::nullopt;
  return declared->mapping;
}

bool check_indices_exist(const std::vector<const Mapping*>& users,
                         const std::vector<const Mapping*>& holders,
                         const std::vector<AxisId>& logical, const char* stage,
                         const std::string& name, const SourceLocation& where,
                         const LowerScope& scope) {
  std::vector<const Node*> used;
  std::vector<const Node*> held;
  for (const Mapping* user : users) collect_digits(user->nodes(), used);
  for (const Mapping* holder : holders) collect_digits(holder->nodes(), held);
  for (const Node* digit : used) {
    if (std::find(logical.begin(), logical.end(), digit->axis) == logical.end()) continue;
    std::vector<const Node*> of_axis;
    std::vector<std::string> texts;
    for (const Node* other : held) {
      if (other->axis != digit->axis) continue;
      of_axis.push_back(other);
      texts.push_back("'" + Mapping({*other}).text(scope.axes) + "'");
    }
    const uint64_t last = (digit->live - 1) * digit->stride;
    const std::vector<Reach> ranges = reaches(of_axis);
    const bool found = std::any_of(ranges.begin(), ranges.end(), [&](const Reach& reach) {
      return reach.first <= digit->stride && last <= reach.last;
    });
    if (found) continue;
    const std::string& axis = scope.axes.name(digit->axis);
    if (texts.empty()) texts.push_back("'" + axis + " = 1'");
    scope.diagnostics.error(
        where,
        fmt::format("{}: '{}' reaches {} = {}, but {} holds axis {} only as {}", stage,
                    Mapping({*digit}).text(scope.axes), axis, group_digits(last), name, axis,
                    fmt::join(texts, " and ")),
        fmt::format(
            "use only indices that exist; where the values do not depend on {}, leave it out "
            "of the tensor's logical: list",
            axis));
    return false;
  }
  return true;
}

DigitCuts cuts_of(const std::vector<const Mapping*>& mappings) {
  DigitCuts cuts;
  for (const Mapping* mapping : mappings) {
    for (const Node& node : mapping->nodes()) {
      if (node.kind != Node::Kind::kDigit) continue;
      cuts.emplace(node.axis, node.stride);
      cuts.emplace(node.axis, node.stride * node.size);
    }
  }
  return cuts;
}

std::vector<Node> refined(const std::vector<Node>& nodes, const DigitCuts& cuts) {
  std::vector<Node> result;
  for (const Node& node : nodes) {
    if (node.kind != Node::Kind::kDigit) {
      result.push_back(node);
      continue;
    }
    Mapping rest({node});
    std::vector<Node> parts;               // innermost first
    for (const auto& [axis, at] : cuts) {  // ascending
      if (axis != node.axis || rest.nodes().empty()) continue;
      const uint64_t stride = rest.nodes()[0].stride;
      if (at <= stride || at % stride != 0 || at / stride >= rest.size()) continue;
      const auto split = rest.split(at / stride);
      if (!split || split->second.nodes().size() != 1 || split->first.nodes().size() != 1) continue;
      parts.push_back(split->second.nodes()[0]);
      rest = split->first;
    }
    result.insert(result.end(), rest.nodes().begin(), rest.nodes().end());
    result.insert(result.end(), parts.rbegin(), parts.rend());
  }
  return result;
}

}  // namespace rngdsim
