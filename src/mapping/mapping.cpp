// SPDX-License-Identifier: Apache-2.0
#include "mapping/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace rngdsim {
namespace {

// Positions that are enumerated where no rule decides.
constexpr uint64_t kMaxEnumerated = uint64_t{1} << 24;

bool accumulate_nodes(const std::vector<Node>& nodes, uint64_t i, uint64_t* values, PadKind* pad);

bool accumulate_node(const Node& node, uint64_t p, uint64_t* values, PadKind* pad) {
  bool live = true;
  switch (node.kind) {
    case Node::Kind::kDigit:
      live = p < node.live;
      if (live) values[node.axis] += p * node.stride;
      break;
    case Node::Kind::kBroadcast:
      live = p < node.live;
      break;
    case Node::Kind::kPadded:
      if (p < volume(node.inner)) return accumulate_nodes(node.inner, p, values, pad);
      live = false;
      break;
    case Node::Kind::kStrided:
      return accumulate_nodes(node.inner, p * node.stride, values, pad);
    case Node::Kind::kFirst:
      return accumulate_nodes(node.inner, p, values, pad);
  }
  if (!live && pad != nullptr) *pad = node.pad;
  return live;
}

bool accumulate_nodes(const std::vector<Node>& nodes, uint64_t i, uint64_t* values, PadKind* pad) {
  bool live = true;
  for (size_t k = nodes.size(); k-- > 0;) {
    const Node& node = nodes[k];
    // The leftmost padding wins: later (outer) nodes overwrite the kind.
    if (!accumulate_node(node, i % node.size, values, pad)) live = false;
    i /= node.size;
  }
  return live;
}

void collect_overshoot_kinds(const std::vector<Node>& nodes,
                             std::vector<std::optional<PadKind>>& kinds) {
  for (const Node& node : nodes) {
    if (node.kind == Node::Kind::kDigit && node.padded && !kinds[node.axis]) {
      kinds[node.axis] = node.pad;
    }
    collect_overshoot_kinds(node.inner, kinds);
  }
}

void collect_digits(const std::vector<Node>& nodes, std::vector<const Node*>& digits) {
  for (const Node& node : nodes) {
    if (node.kind == Node::Kind::kDigit) digits.push_back(&node);
    collect_digits(node.inner, digits);
  }
}

uint64_t saturating_product(uint64_t a, uint64_t b) {
  return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

bool overlap(const std::vector<const Node*>& descending) {
  uint64_t reach = 0;
  for (size_t k = descending.size(); k-- > 0;) {
    if (descending[k]->live > 1 && descending[k]->stride <= reach) return true;
    reach += (descending[k]->live - 1) * descending[k]->stride;
  }
  return false;
}

// Combinations of digits (descending strides, no overlap) whose sum stays below `budget`.
uint64_t count_below(const std::vector<const Node*>& digits, size_t k, uint64_t budget) {
  if (budget == 0) return 0;
  if (k == digits.size()) return 1;
  uint64_t rest_max = 0;
  uint64_t rest_count = 1;
  for (size_t j = k + 1; j < digits.size(); ++j) {
    rest_max += (digits[j]->live - 1) * digits[j]->stride;
    rest_count *= digits[j]->live;
  }
  const Node& digit = *digits[k];
  // Whole values of this digit below the budget whatever the rest is, then those that depend on it.
  const uint64_t whole =
      budget > rest_max ? std::min(digit.live, (budget - rest_max - 1) / digit.stride + 1) : 0;
  uint64_t count = whole * rest_count;
  for (uint64_t p = whole; p < digit.live && p * digit.stride < budget; ++p) {
    count += count_below(digits, k + 1, budget - p * digit.stride);
  }
  return count;
}

bool below_axis_sizes(const std::vector<uint64_t>& values, const AxisTable& axes) {
  for (AxisId a = 0; a < values.size(); ++a) {
    if (values[a] >= axes.size(a)) return false;
  }
  return true;
}

}  // namespace

// ---------------------------------------------------------------------------------------------

AxisId AxisTable::add(std::string name, uint64_t size) {
  axes_.push_back({std::move(name), size});
  return static_cast<AxisId>(axes_.size() - 1);
}

std::optional<AxisId> AxisTable::find(const std::string& name) const {
  for (AxisId a = 0; a < axes_.size(); ++a) {
    if (axes_[a].name == name) return a;
  }
  return std::nullopt;
}

std::vector<std::string> AxisTable::names() const {
  std::vector<std::string> names;
  for (const Axis& axis : axes_) names.push_back(axis.name);
  return names;
}

const char* symbol(PadKind kind) {
  switch (kind) {
    case PadKind::kTop:
      return "#";
    case PadKind::kZero:
      return "#{0}";
    case PadKind::kBottom:
      return "#{!}";
  }
  return "#";
}

std::string to_string(const Cell& cell, const AxisTable& axes) {
  if (!cell.live) {
    switch (cell.pad) {
      case PadKind::kTop:
        return "padding";
      case PadKind::kZero:
        return "zero padding";
      case PadKind::kBottom:
        return "bottom padding";
    }
  }
  if (cell.index.empty()) return "the origin";
  std::string text;
  for (const auto& [axis, value] : cell.index) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", axes.name(axis), value);
  }
  return text;
}

// ---------------------------------------------------------------------------------------------
// The definition, evaluated on the syntax tree.

namespace {

// Adds the index of the cell at i; false for padding.
bool define(const Expr& expr, uint64_t i, std::vector<uint64_t>& values, PadKind& pad) {
  switch (expr.kind) {
    case Expr::Kind::kAxis:
      values[expr.axis] += i;
      return true;
    case Expr::Kind::kBroadcast:
      return true;
    case Expr::Kind::kStride:
      return define(*expr.left, i * expr.n, values, pad);
    case Expr::Kind::kModulo:
    case Expr::Kind::kResize:
      return define(*expr.left, i, values, pad);
    case Expr::Kind::kPad:
      if (i < expr.left->size) return define(*expr.left, i, values, pad);
      pad = expr.pad;
      return false;
    case Expr::Kind::kPair: {
      // The leftmost padding wins, so the right side is judged first and overwritten.
      const bool right = define(*expr.right, i % expr.right->size, values, pad);
      const bool left = define(*expr.left, i / expr.right->size, values, pad);
      return left && right;
    }
  }
  return true;
}

// The kind of the innermost `#` on a digit of `axis`: one that adds positions, over suffixes but no
// pair down to the axis.
std::optional<PadKind> defined_overshoot(const Expr& expr, AxisId axis) {
  std::optional<PadKind> kind;
  if (expr.left) kind = defined_overshoot(*expr.left, axis);
  if (!kind && expr.right) kind = defined_overshoot(*expr.right, axis);
  if (!kind && expr.kind == Expr::Kind::kPad && expr.n > expr.left->size) {
    const Expr* below = expr.left.get();
    while (below->kind != Expr::Kind::kPair && below->left) below = below->left.get();
    if (below->kind == Expr::Kind::kAxis && below->axis == axis) kind = expr.pad;
  }
  return kind;
}

}  // namespace

Cell cell_by_definition(const Expr& expr, uint64_t i, const AxisTable& axes) {
  std::vector<uint64_t> values(axes.count(), 0);
  Cell cell;
  cell.live = define(expr, i, values, cell.pad);
  if (!cell.live) return cell;
  for (AxisId a = 0; a < axes.count(); ++a) {
    if (values[a] >= axes.size(a)) {
      cell.live = false;
      cell.pad = defined_overshoot(expr, a).value_or(PadKind::kTop);
      cell.index.clear();
      return cell;
    }
    if (values[a] != 0) cell.index.emplace_back(a, values[a]);
  }
  return cell;
}

// ---------------------------------------------------------------------------------------------

bool Mapping::accumulate(uint64_t i, uint64_t* values, PadKind* pad) const {
  return accumulate_nodes(nodes_, i, values, pad);
}

Cell Mapping::cell(uint64_t i, const AxisTable& axes) const {
  std::vector<uint64_t> values(axes.count(), 0);
  Cell cell;
  cell.live = accumulate(i, values.data(), &cell.pad);
  if (!cell.live) return cell;
  for (AxisId a = 0; a < axes.count(); ++a) {
    if (values[a] >= axes.size(a)) {
      cell.live = false;
      cell.pad = overshoot_kinds({this}, axes)[a].value_or(PadKind::kTop);
      cell.index.clear();
      return cell;
    }
    if (values[a] != 0) cell.index.emplace_back(a, values[a]);
  }
  return cell;
}

// ---------------------------------------------------------------------------------------------

namespace {

// Liveness and index at every position.
bool same_by_enumeration(const Mapping& a, const Mapping& b, const AxisTable& axes) {
  std::vector<uint64_t> x(axes.count());
  std::vector<uint64_t> y(axes.count());
  for (uint64_t i = 0; i < a.size(); ++i) {
    std::fill(x.begin(), x.end(), 0);
    std::fill(y.begin(), y.end(), 0);
    const bool live_a = a.accumulate(i, x.data()) && below_axis_sizes(x, axes);
    const bool live_b = b.accumulate(i, y.data()) && below_axis_sizes(y, axes);
    if (live_a != live_b || (live_a && x != y)) return false;
  }
  return true;
}

// Of two normal forms. Where both divide at one boundary, they have the same cells exactly if both
// halves have: position 0 of a half is live and adds nothing, so each half shows alone.
bool same_normal_cells(const Mapping& a, const Mapping& b, const AxisTable& axes) {
  if (a.nodes() == b.nodes()) return true;
  for (const Mapping* mapping : {&a, &b}) {
    uint64_t inside = 1;
    for (size_t k = mapping->nodes().size(); k-- > 1;) {
      inside *= mapping->nodes()[k].size;
      const auto parts_a = a.split(inside);
      const auto parts_b = b.split(inside);
      if (!parts_a || !parts_b) continue;
      return same_normal_cells(parts_a->second.normalized(), parts_b->second.normalized(), axes) &&
             same_normal_cells(parts_a->first.normalized(), parts_b->first.normalized(), axes);
    }
  }
  return a.size() <= kMaxEnumerated && same_by_enumeration(a, b, axes);
}

void collect_pad_kinds(const std::vector<Node>& nodes, std::vector<bool>& kinds) {
  for (const Node& node : nodes) {
    if (node.padded) kinds[static_cast<size_t>(node.pad)] = true;
    collect_pad_kinds(node.inner, kinds);
  }
}

}  // namespace

bool same_cells(const Mapping& a, const Mapping& b, const AxisTable& axes) {
  return a.size() == b.size() && same_normal_cells(a.normalized(), b.normalized(), axes);
}

bool equivalent(const Mapping& a, const Mapping& b, const AxisTable& axes) {
  if (a.size() != b.size()) return false;
  if (a.nodes() == b.nodes()) return true;
  if (a.size() > kMaxEnumerated) {
    std::vector<bool> kinds_a(3);
    std::vector<bool> kinds_b(3);
    collect_pad_kinds(a.normalized().nodes(), kinds_a);
    collect_pad_kinds(b.normalized().nodes(), kinds_b);
    const bool one_kind = std::count(kinds_a.begin(), kinds_a.end(), true) <= 1;
    return kinds_a == kinds_b && (one_kind ? same_cells(a, b, axes) : a == b);
  }
  for (uint64_t i = 0; i < a.size(); ++i) {
    if (a.cell(i, axes) != b.cell(i, axes)) return false;
  }
  return true;
}

std::vector<std::optional<PadKind>> overshoot_kinds(const std::vector<const Mapping*>& parts,
                                                    const AxisTable& axes) {
  std::vector<std::optional<PadKind>> kinds(axes.count());
  for (const Mapping* part : parts) collect_overshoot_kinds(part->nodes(), kinds);
  return kinds;
}

uint64_t count_live(const std::vector<const Mapping*>& parts, const AxisTable& axes) {
  uint64_t free = 1;                // positions that carry no axis
  std::vector<const Node*> digits;  // by axis, descending strides
  std::vector<const Node*> cuts;    // terms that are no product of digits: enumerated
  uint64_t cut_positions = 1;
  const std::function<void(const std::vector<Node>&)> visit = [&](const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      switch (node.kind) {
        case Node::Kind::kBroadcast:
          free = saturating_product(free, node.live);
          break;
        case Node::Kind::kDigit:
          digits.push_back(&node);
          break;
        case Node::Kind::kPadded:
          visit(node.inner);
          break;
        case Node::Kind::kStrided:
        case Node::Kind::kFirst:
          cuts.push_back(&node);
          cut_positions = saturating_product(cut_positions, node.size);
          break;
      }
    }
  };
  for (const Mapping* part : parts) visit(part->nodes());
  std::stable_sort(digits.begin(), digits.end(), [](const Node* a, const Node* b) {
    return a->axis != b->axis ? a->axis < b->axis : a->stride > b->stride;
  });
  std::vector<std::vector<const Node*>> by_axis;
  for (const Node* digit : digits) {
    if (by_axis.empty() || by_axis.back()[0]->axis != digit->axis) by_axis.emplace_back();
    by_axis.back().push_back(digit);
  }
  // Too many to enumerate: count every position of the cuts as live.
  const bool estimated = cut_positions > kMaxEnumerated;
  uint64_t count = 0;
  std::vector<uint64_t> values(axes.count());
  for (uint64_t i = 0; i < (estimated ? 1 : cut_positions); ++i) {
    std::fill(values.begin(), values.end(), 0);
    bool live = true;
    uint64_t rest = i;
    for (size_t k = 0; k < cuts.size() && live; ++k) {
      live = accumulate_node(*cuts[k], rest % cuts[k]->size, values.data(), nullptr);
      rest /= cuts[k]->size;
    }
    if (!live || !below_axis_sizes(values, axes)) continue;
    uint64_t ways = 1;
    for (const auto& group : by_axis) {
      const AxisId axis = group[0]->axis;
      if (overlap(group)) {
        for (const Node* digit : group) ways = saturating_product(ways, digit->live);
      } else {
        ways = saturating_product(ways, count_below(group, 0, axes.size(axis) - values[axis]));
      }
    }
    count += ways;
  }
  if (estimated) count = saturating_product(count, cut_positions);
  return saturating_product(count, free);
}

std::vector<AxisId> axes_of(const std::vector<const Mapping*>& parts, const AxisTable& axes) {
  std::vector<bool> seen(axes.count(), false);
  for (const Mapping* part : parts) {
    std::vector<const Node*> digits;
    collect_digits(part->nodes(), digits);
    for (const Node* digit : digits) {
      if (digit->live > 1) seen[digit->axis] = true;
    }
  }
  std::vector<AxisId> result;
  for (AxisId a = 0; a < axes.count(); ++a) {
    if (seen[a]) result.push_back(a);
  }
  return result;
}

void check_digits(const std::vector<const Mapping*>& parts, const AxisTable& axes,
                  const SourceLocation& where, const std::string& what, Diagnostics& diagnostics) {
  std::vector<const Node*> all;
  for (const Mapping* part : parts) collect_digits(part->nodes(), all);
  std::vector<std::vector<const Node*>> by_axis(axes.count());
  for (const Node* digit : all) by_axis[digit->axis].push_back(digit);
  for (AxisId axis = 0; axis < axes.count(); ++axis) {
    std::vector<const Node*>& digits = by_axis[axis];
    const auto padded =
        std::find_if(digits.begin(), digits.end(), [](const Node* digit) { return digit->padded; });
    for (const Node* digit : digits) {
      if (!digit->padded || digit->pad == (*padded)->pad) continue;
      diagnostics.error(
          where, fmt::format("{}: digits of axis {} have different padding kinds, "
                             "'{}' and '{}'",
                             what, axes.name(axis), symbol((*padded)->pad), symbol(digit->pad)));
      break;
    }
    std::stable_sort(digits.begin(), digits.end(),
                     [](const Node* a, const Node* b) { return a->stride < b->stride; });
    uint64_t reach = 0;  // largest sum of the digits below
    for (const Node* digit : digits) {
      if (digit->live > 1 && digit->stride <= reach) {
        std::vector<std::string> texts;
        for (const Node* other : digits) texts.push_back(Mapping({*other}).text(axes));
        diagnostics.error(
            where,
            fmt::format("{}: digits of axis {} overlap: {} (a step of {} within the {} indices "
                        "below it)",
                        what, axes.name(axis), fmt::join(texts, " and "), digit->stride, reach + 1),
            "each digit of an axis may appear once, e.g. A / 4 with A % 4");
        break;
      }
      reach += (digit->live - 1) * digit->stride;
    }
  }
}

}  // namespace rngdsim
