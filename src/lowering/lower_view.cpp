// SPDX-License-Identifier: Apache-2.0
// Views: tiles of tensors in data memory.
#include <fmt/format.h>

#include <algorithm>

#include "lowering/stages.h"
#include "support/text.h"

namespace rngdsim {
namespace {

// The digit that a mapping is, padding aside; nothing where it is none.
std::optional<Node> as_digit(const Mapping& mapping) {
  const std::vector<Node> nodes = mapping.normalized().nodes();
  if (nodes.size() != 1 || nodes[0].kind != Node::Kind::kDigit) return std::nullopt;
  if (nodes[0].live != nodes[0].size) return std::nullopt;
  return nodes[0];
}

// Positions to the right of the digit in `element`, where one of its terms contains it.
std::optional<uint64_t> volume_behind(const Mapping& element, const Node& digit) {
  uint64_t behind = 1;
  for (auto node = element.nodes().rbegin(); node != element.nodes().rend(); ++node) {
    if (node->kind == Node::Kind::kDigit && node->axis == digit.axis &&
        digit.stride % node->stride == 0) {
      const uint64_t inner = digit.stride / node->stride;
      if (inner * digit.size <= node->size && node->size % (inner * digit.size) == 0) {
        return behind * inner;
      }
    }
    behind *= node->size;
  }
  return std::nullopt;
}

// One past the last position that may be live.
uint64_t live_extent(const std::vector<Node>& nodes) {
  uint64_t last = 0;
  uint64_t behind = 1;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    uint64_t live = node->size;
    if (node->kind == Node::Kind::kDigit || node->kind == Node::Kind::kBroadcast) {
      live = node->live;
    } else if (node->kind == Node::Kind::kPadded) {
      live = live_extent(node->inner);
    }
    last += (std::max<uint64_t>(live, 1) - 1) * behind;
    behind *= node->size;
  }
  return last + 1;
}

void no_such_digit(const TensorVersion& of, const Declared& axis, const Node& digit,
                   const LowerScope& scope) {
  std::string hint = fmt::format("Element of '{}' is '{}'", of.name, scope.text(of.element));
  for (const auto& [dimension, mapping] :
       {std::pair<const char*, const Mapping*>{"Cluster", &of.cluster}, {"Slice", &of.slice}}) {
    const std::vector<AxisId> axes = axes_of({mapping}, scope.axes);
    if (std::find(axes.begin(), axes.end(), digit.axis) == axes.end()) continue;
    hint += fmt::format("; {} '{}' is the same for all tiles", dimension, scope.text(*mapping));
  }
  scope.diagnostics.error(
      axis.where,
      fmt::format("view: no term of the Element of '{}' has the digit '{}' ({} positions)", of.name,
                  scope.text(axis.mapping), group_digits(axis.mapping.size())),
      hint);
}

}  // namespace

std::optional<LoweredView> lower_view(const TensorVersion& of, const Declared& axis,
                                      const Located<uint64_t>& start,
                                      const Located<uint64_t>& length, PadKind outside,
                                      const LowerScope& scope) {
  if (axis.mapping.size() == 1 && start.value == 0 && length.value == 1) {
    // A digit of one position: all there is.
    return LoweredView{Tile(), of.element, 0, live_extent(of.element.nodes())};
  }
  const std::optional<Node> digit = as_digit(axis.mapping);
  if (!digit) {
    scope.diagnostics.error(
        axis.where, fmt::format("view: '{}' is no digit of one axis", scope.text(axis.mapping)),
        "a whole axis or a part of one: K, K / 64, K / 8 % 4");
    return std::nullopt;
  }
  if (start.value > digit->size || length.value > digit->size - start.value) {
    scope.diagnostics.error(start.where,
                            fmt::format("view: {} position{} from {} on of '{}', which has {}",
                                        group_digits(length.value), length.value == 1 ? "" : "s",
                                        group_digits(start.value), scope.text(axis.mapping),
                                        group_digits(digit->size)));
    return std::nullopt;
  }
  const std::optional<uint64_t> behind = volume_behind(of.element, *digit);
  if (!behind) {
    no_such_digit(of, axis, *digit, scope);
    return std::nullopt;
  }
  const auto parts = of.element.split(*behind);
  const auto outer = parts ? parts->first.split(digit->size) : std::nullopt;
  if (!outer || !scope.same(outer->second, axis.mapping)) {
    scope.diagnostics.error(
        axis.where,
        fmt::format("view: in the Element '{}' of '{}', the digit '{}' is padded or cut",
                    scope.text(of.element), of.name, scope.text(axis.mapping)),
        "take tiles of a digit that the tensor holds whole");
    return std::nullopt;
  }
  LoweredView view;
  view.tile = {digit->axis, digit->stride, digit->size, start.value, length.value};
  view.element = Mapping::concat(
      {outer->first, outer->second.resize(length.value).pad(digit->size, outside), parts->second});
  view.first_element = start.value * *behind;
  view.extent = live_extent(view.element.nodes());
  return view;
}

}  // namespace rngdsim
