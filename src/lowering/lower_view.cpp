// SPDX-License-Identifier: Apache-2.0
// Views: tiles of tensors, and tensors under other mappings.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "lowering/stages.h"
#include "support/input_limits.h"
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

void no_such_digit(const TensorVersion& of, const Declared& axis, const Node& digit, ViewUser user,
                   const LowerScope& scope) {
  const bool anywhere = user == ViewUser::kDma && of.memory == MemoryKind::kDm;
  std::string hint = fmt::format("Element of '{}' is '{}'", of.name, scope.text(of.element));
  for (const auto& [dimension, mapping] :
       {std::pair<const char*, const Mapping*>{"Cluster", &of.cluster}, {"Slice", &of.slice}}) {
    const std::vector<AxisId> axes = axes_of({mapping}, scope.axes);
    if (std::find(axes.begin(), axes.end(), digit.axis) == axes.end()) continue;
    hint += fmt::format(anywhere ? "; {} is '{}'" : "; of {} '{}' only a dma takes tiles",
                        dimension, scope.text(*mapping));
  }
  scope.diagnostics.error(
      axis.where,
      fmt::format("view: no term of the Element{} of '{}' has the digit '{}' ({} positions)",
                  anywhere ? ", Slice or Cluster" : "", of.name, scope.text(axis.mapping),
                  group_digits(axis.mapping.size())),
      hint);
}

// A dimension of a tensor with the tile of a digit, and where it begins.
struct TiledDimension {
  Mapping mapping;
  uint64_t first = 0;  // position
};

// The padded group of terms, or digit, that a node is; nothing where it is not padded.
std::optional<Mapping> without_padding(const Node& node) {
  if (node.kind == Node::Kind::kPadded) return Mapping(node.inner);
  if (node.kind != Node::Kind::kDigit || node.live == node.size) return std::nullopt;
  Node digit = node;
  digit.size = digit.live;
  digit.padded = false;
  return Mapping({digit});
}

// Nothing where no term has the digit. `cut`: set where one has it in part.
std::optional<TiledDimension> tile_dimension(const Mapping& of, const Declared& axis,
                                             const Node& digit, uint64_t start, uint64_t length,
                                             PadKind outside, const LowerScope& scope, bool& cut) {
  const std::vector<Node>& nodes = of.nodes();
  uint64_t inside = 1;  // positions to the right
  for (size_t i = nodes.size(); i-- > 0; inside *= nodes[i].size) {
    const auto padded = without_padding(nodes[i]);
    if (!padded) continue;
    const auto tiled = tile_dimension(*padded, axis, digit, start, length, outside, scope, cut);
    if (cut) return std::nullopt;
    if (!tiled) continue;
    const auto at = nodes.begin() + static_cast<ptrdiff_t>(i);
    return TiledDimension{Mapping::concat({Mapping({nodes.begin(), at}),
                                           tiled->mapping.pad(nodes[i].size, nodes[i].pad),
                                           Mapping({at + 1, nodes.end()})}),
                          tiled->first * inside};
  }
  const std::optional<uint64_t> behind = volume_behind(of, digit);
  if (!behind) return std::nullopt;
  const auto parts = of.split(*behind);
  const auto outer = parts ? parts->first.split(digit.size) : std::nullopt;
  if (!outer || !scope.same(outer->second, axis.mapping)) {
    cut = true;
    return std::nullopt;
  }
  return TiledDimension{
      Mapping::concat(
          {outer->first, outer->second.resize(length).pad(digit.size, outside), parts->second}),
      start * *behind};
}

}  // namespace

uint64_t live_extent(const Mapping& mapping) { return live_extent(mapping.nodes()); }

std::optional<LoweredView> lower_view(const TensorVersion& of, const Declared& axis,
                                      const Located<uint64_t>& start,
                                      const Located<uint64_t>& length, PadKind outside,
                                      ViewUser user, const LowerScope& scope) {
  LoweredView view;
  view.cluster = of.cluster;
  view.slice = of.slice;
  view.element = of.element;
  view.extent = live_extent(of.element.nodes());
  // A digit of one position: all there is.
  if (axis.mapping.size() == 1 && start.value == 0 && length.value == 1) return view;
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
  view.tile = {digit->axis, digit->stride, digit->size, start.value, length.value};
  // The digit's dimension, and how many slices lie between two of its positions.
  const std::tuple<const char*, Mapping*, uint64_t> dimensions[] = {
      {"Element", &view.element, 0},
      {"Slice", &view.slice, 1},
      {"Cluster", &view.cluster, scope.limits.slices}};
  for (const auto& [name, mapping, slices] : dimensions) {
    if (slices != 0 && (user != ViewUser::kDma || of.memory != MemoryKind::kDm)) continue;
    bool cut = false;
    const auto tiled =
        tile_dimension(*mapping, axis, *digit, start.value, length.value, outside, scope, cut);
    if (cut) {
      scope.diagnostics.error(
          axis.where,
          fmt::format("view: in the {} '{}' of '{}', the digit '{}' is padded or cut", name,
                      scope.text(*mapping), of.name, scope.text(axis.mapping)),
          "take tiles of a digit that the tensor holds whole");
      return std::nullopt;
    }
    if (!tiled) continue;
    *mapping = tiled->mapping;
    if (slices == 0) view.first_element = tiled->first;
    view.first_slice = slices * tiled->first;
    view.extent = live_extent(view.element.nodes());
    return view;
  }
  no_such_digit(of, axis, *digit, user, scope);
  return std::nullopt;
}

namespace {

// A dimension of a tensor before and behind a reshape.
class ReshapedDimension {
 public:
  ReshapedDimension(const char* name, const Mapping& before, const Mapping& after,
                    const std::vector<AxisId>& before_axes, const std::vector<AxisId>& after_axes,
                    const AxisTable& axes)
      : name_(name), before_{before, before_axes, axes}, after_{after, after_axes, axes} {}

  // What is wrong with it; nothing where it is a reshape. Digits of one axis in several dimensions
  // do not overlap, so that elements differ where they differ in one dimension.
  std::optional<std::string> fault(bool written) {
    std::unordered_map<uint64_t, uint64_t> first;  // position of each element behind
    for (uint64_t i = 0; i < after_.mapping.size(); ++i) {
      const std::optional<uint64_t> now = after_.key(i), was = before_.key(i);
      const PadKind padding = before_.pad;  // where it was padding
      if (now && !was && (padding == PadKind::kBottom || (written && padding != PadKind::kTop))) {
        return fmt::format("position {} of {}, padding '{}', would become {}", group_digits(i),
                           name_, symbol(padding), after_.text(i));
      }
      if (!now && was && written && after_.pad != PadKind::kBottom) {
        return fmt::format(
            "position {} of {}, which holds {}, would become padding that a write "
            "may touch",
            group_digits(i), name_, before_.text(i));
      }
      if (!now) continue;
      const auto [it, is_new] = first.emplace(*now, i);
      if (is_new || before_.key(it->second) == was) continue;
      return fmt::format("positions {} and {} of {}, which hold {} and {}, would become one, {}",
                         group_digits(it->second), group_digits(i), name_, before_.text(it->second),
                         before_.text(i), after_.text(i));
    }
    return std::nullopt;
  }

 private:
  struct Side {
    const Mapping& mapping;
    const std::vector<AxisId>& logical;
    const AxisTable& axes;
    std::vector<uint64_t> values = {};
    PadKind pad = PadKind::kTop;  // of the position last asked for, where it is padding

    // One number an element; nothing: padding.
    std::optional<uint64_t> key(uint64_t i) {
      values.assign(axes.count(), 0);
      pad = PadKind::kTop;
      if (!mapping.accumulate(i, values.data(), &pad)) return std::nullopt;
      uint64_t key = 0;
      for (AxisId axis = 0; axis < axes.count(); ++axis) {
        if (values[axis] >= axes.size(axis)) return std::nullopt;
        if (!std::binary_search(logical.begin(), logical.end(), axis)) continue;
        key = key * axes.size(axis) + values[axis];
      }
      return key;
    }
    std::string text(uint64_t i) const { return to_string(mapping.cell(i, axes), axes); }
  };

  const char* name_;
  Side before_, after_;
};

// Those that the values of a reshaped view depend on: what was no replica before.
std::vector<AxisId> reshaped_axes(const TensorVersion& of, const TensorVersion& view,
                                  const LowerScope& scope) {
  const auto held = axes_of({&of.chip, &of.cluster, &of.slice, &of.element}, scope.axes);
  std::vector<AxisId> logical;
  for (const AxisId axis :
       axes_of({&view.chip, &view.cluster, &view.slice, &view.element}, scope.axes)) {
    const bool replica = std::binary_search(held.begin(), held.end(), axis) &&
                         !std::binary_search(of.logical.begin(), of.logical.end(), axis);
    if (!replica) logical.push_back(axis);
  }
  return logical;
}

bool can_be_walked(const Mapping& mapping, const std::vector<AxisId>& logical,
                   const LowerScope& scope) {
  uint64_t volume = 1;
  for (const AxisId axis : logical) {
    if (volume > (uint64_t{1} << 62) / scope.axes.size(axis)) return false;
    volume *= scope.axes.size(axis);
  }
  return mapping.size() <= kMaxReshapedPositions;
}

}  // namespace

std::optional<TensorVersion> lower_reshape(const TensorVersion& of, const ReshapeRequest& request,
                                           const LowerScope& scope) {
  TensorVersion view = of;
  bool good = true;
  const auto fail = [&](const SourceLocation& where, const std::string& message,
                        const std::string& hint) {
    scope.diagnostics.error(where, "view: " + message, hint);
    good = false;
  };
  const bool one_memory = of.memory != MemoryKind::kDm;
  const std::tuple<const char*, const std::optional<Declared>*, const Mapping*, Mapping*>
      dimensions[] = {{"Chip", &request.chip, &of.chip, &view.chip},
                      {"Cluster", &request.cluster, &of.cluster, &view.cluster},
                      {"Slice", &request.slice, &of.slice, &view.slice},
                      {"Element", &request.element, &of.element, &view.element}};
  for (const auto& [name, declared, before, after] : dimensions) {
    if (!*declared) continue;
    *after = (*declared)->mapping;
    if (one_memory && (after == &view.cluster || after == &view.slice)) {
      fail((*declared)->where,
           fmt::format("'{}' in {} has no {}", of.name, rngdsim::name(of.memory), name),
           "Chip and Element are all it has");
    } else if (after->size() != before->size()) {
      fail((*declared)->where,
           fmt::format("{} '{}' has {} positions, that of '{}' is '{}' and has {}", name,
                       scope.text(*after), group_digits(after->size()), of.name,
                       scope.text(*before), group_digits(before->size())),
           "a reshape keeps the size of every dimension");
    }
  }
  if (!good) return std::nullopt;
  const size_t errors = scope.diagnostics.error_count();
  check_digits({&view.chip, &view.cluster, &view.slice, &view.element}, scope.axes, request.where,
               fmt::format("view: the reshaped '{}'", of.name), scope.diagnostics);
  if (scope.diagnostics.error_count() != errors) return std::nullopt;
  view.logical = reshaped_axes(of, view, scope);
  view.reshaped = true;
  for (const auto& [name, declared, before, after] : dimensions) {
    if (!*declared || *before == *after) continue;
    if (!can_be_walked(*after, view.logical, scope)) {
      fail((*declared)->where,
           fmt::format("a reshape of {} positions of {}; at most {} are looked at",
                       group_digits(after->size()), name, group_digits(kMaxReshapedPositions)),
           kLimitHint);
      continue;
    }
    ReshapedDimension dimension(name, *before, *after, of.logical, view.logical, scope.axes);
    if (const auto fault = dimension.fault(request.written)) {
      fail((*declared)->where, *fault,
           request.written ? "what a view leaves out is padded with #{!}"
                           : "a reshape gives every element names of its own");
    }
  }
  if (!good) return std::nullopt;
  return view;
}

std::optional<Mapping> lower_pad(const TensorVersion& of, const Declared& element, bool unpad,
                                 bool written, const LowerScope& scope) {
  const Mapping& large = unpad ? of.element : element.mapping;
  const Mapping& small = unpad ? element.mapping : of.element;
  if (large.size() > small.size() &&
      same_cells(large, small.pad(large.size(), PadKind::kTop), scope.axes)) {
    return written && !unpad ? small.pad(large.size(), PadKind::kBottom) : element.mapping;
  }
  scope.diagnostics.error(
      element.where,
      fmt::format("view: Element '{}' (size {}) is not that of '{}', '{}' (size {}), {} its "
                  "outermost padding",
                  scope.text(element.mapping), group_digits(element.mapping.size()), of.name,
                  scope.text(of.element), group_digits(of.element.size()),
                  unpad ? "without" : "with more of"),
      unpad ? "unpad takes the padding behind all elements away: 'L # 8, B' becomes 'L, B'"
            : "pad adds padding behind all elements: 'L, B' becomes 'L # 8, B'");
  return std::nullopt;
}

}  // namespace rngdsim
