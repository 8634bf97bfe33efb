// SPDX-License-Identifier: Apache-2.0
// The algebra of terms: suffixes, division, normal form and text of a Mapping.
#include <fmt/format.h>

#include <algorithm>

#include "mapping/mapping.h"
#include "support/input_limits.h"

namespace rngdsim {
namespace {

using Nodes = std::vector<Node>;
using Kind = Node::Kind;

// Passes until joining changes nothing; one or two do in practice.
constexpr int kMaxPasses = 16;

uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

bool is_plain(const Node& node) {
  return node.kind == Kind::kDigit || node.kind == Kind::kBroadcast;
}

Node pure_padding(uint64_t size, PadKind kind) {
  Node node;
  node.size = size;
  node.padded = true;
  node.pad = kind;
  return node;
}

// A term around `inner`; `stride` matters to kStrided only.
Node around(Kind kind, Nodes inner, uint64_t stride, uint64_t size) {
  Node node;
  node.kind = kind;
  node.stride = stride;
  node.size = node.live = size;
  node.inner = std::move(inner);
  return node;
}

Nodes without_ones(Nodes nodes) {
  const auto is_one = [](const Node& node) { return node.size == 1; };
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(), is_one), nodes.end());
  return nodes;
}

void append(Nodes& nodes, Nodes more) {
  nodes.insert(nodes.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

Nodes normal_form(Nodes nodes);
Nodes stride_of(Nodes nodes, uint64_t n, bool normal);
Nodes first_of(Nodes nodes, uint64_t n, bool resized, bool normal);

// ------------------------------------------------------------------------------ padding

// Whether padding of `kind` behind the last position of `node` can be part of the node.
bool absorbs(const Node& node, PadKind kind) {
  if (is_plain(node)) return !node.padded || node.pad == kind;
  return node.kind == Kind::kPadded && node.pad == kind;
}

Node with_padding(Node node, uint64_t size, PadKind kind) {
  if (node.kind == Kind::kPadded) node.live = size;
  node.size = size;
  node.padded = true;
  node.pad = kind;
  return node;
}

Nodes padded_to(Nodes nodes, uint64_t n, PadKind kind) {
  if (n == volume(nodes)) return nodes;
  if (nodes.empty()) return {pure_padding(n, kind)};
  if (nodes.size() > 1) {
    // `[A / 4, A % 4] # 16` is `A # 16`: one term.
    Nodes normal = normal_form(nodes);
    if (normal.size() == 1) nodes = std::move(normal);
  }
  if (nodes.size() == 1 && absorbs(nodes[0], kind)) {
    return {with_padding(std::move(nodes[0]), n, kind)};
  }
  Node group = around(Kind::kPadded, std::move(nodes), 1, n);
  group.padded = true;
  group.pad = kind;
  return {group};
}

// The terms of a padded group where whole steps of its outermost term are padded:
// `[A, B] # 4 * size(B)` reads `A # 4, B`. The content must be normal.
std::optional<Nodes> ungrouped(const Node& group) {
  const Node& top = group.inner.front();
  const uint64_t rest = volume(group.inner) / top.size;
  if (group.size % rest != 0 || !absorbs(top, group.pad)) return std::nullopt;
  Nodes nodes = group.inner;
  nodes.front() = with_padding(std::move(nodes.front()), group.size / rest, group.pad);
  return nodes;
}

// ------------------------------------------------------------------------------ first positions

// The first n < size positions of a term. `resized`: what is cut off exists nowhere (=), not in
// another digit (%).
Nodes first_of_node(const Node& node, uint64_t n, bool resized) {
  Node cut = node;
  cut.size = n;
  switch (node.kind) {
    case Kind::kDigit:
    case Kind::kBroadcast:
      if (n < node.live) {
        cut.live = n;
        cut.cut_from = resized ? std::max(node.live, node.cut_from) : 0;
      }
      if (node.kind == Kind::kBroadcast && cut.live == n) cut.padded = false;
      return {cut};
    case Kind::kPadded:
      if (n <= volume(node.inner)) return first_of(node.inner, n, resized, false);
      cut.live = n;
      return {cut};
    case Kind::kStrided:
    case Kind::kFirst:
      cut.live = n;
      return {cut};
  }
  return {cut};
}

// The first n <= volume positions. `normal`: the nodes are in normal form already.
Nodes first_of(Nodes nodes, uint64_t n, bool resized, bool normal) {
  Nodes kept;  // outermost first
  uint64_t inside = 1;
  for (size_t k = nodes.size(); k-- > 0 && inside < n;) {
    const Node& node = nodes[k];
    if (n % (inside * node.size) == 0) {
      kept.insert(kept.begin(), node);
      inside *= node.size;
    } else if (n % inside == 0 && n / inside < node.size) {
      Nodes first = first_of_node(node, n / inside, resized);
      append(first, std::move(kept));
      kept = std::move(first);
      inside = n;
    } else if (!normal) {
      return first_of(normal_form(std::move(nodes)), n, resized, true);
    } else {
      // Cuts a pair: the first n positions of the shortest suffix that has them.
      Nodes suffix;
      for (size_t j = nodes.size(); j-- > 0 && volume(suffix) < n;) {
        suffix.insert(suffix.begin(), nodes[j]);
      }
      return {around(Kind::kFirst, std::move(suffix), 1, n)};
    }
  }
  return kept;
}

// ------------------------------------------------------------------------------ stride

// Every k-th position of a term, 1 < k, k divides its size.
Nodes stride_of_node(const Node& node, uint64_t k, bool normal) {
  const uint64_t size = node.size / k;
  Node cut = node;
  cut.size = size;
  switch (node.kind) {
    case Kind::kDigit:
    case Kind::kBroadcast:
      cut.live = ceil_div(node.live, k);
      if (node.kind == Kind::kDigit) cut.stride = node.stride * k;
      cut.cut_from = ceil_div(node.cut_from, k);
      if (cut.cut_from <= cut.live) cut.cut_from = 0;
      if (node.kind == Kind::kBroadcast && cut.live == size) cut.padded = false;
      return {cut};
    case Kind::kPadded: {
      const uint64_t content = volume(node.inner);
      if (content <= k) return {pure_padding(size, node.pad)};
      if (content % k == 0) return padded_to(stride_of(node.inner, k, normal), size, node.pad);
      Node group = node;
      if (!normal) group.inner = normal_form(std::move(group.inner));
      if (auto nodes = ungrouped(group)) return stride_of(std::move(*nodes), k, true);
      break;
    }
    case Kind::kStrided:
      cut.live = size;
      cut.stride = node.stride * k;
      return {cut};
    case Kind::kFirst:
      if (volume(node.inner) % k == 0) {
        return first_of(stride_of(node.inner, k, normal), size, false, normal);
      }
      break;
  }
  return {around(Kind::kStrided, {node}, k, size)};
}

// Every n-th position; n divides the volume.
Nodes stride_of(Nodes nodes, uint64_t n, bool normal) {
  for (uint64_t left = n; left > 1;) {
    const Node last = nodes.back();
    if (left % last.size == 0) {
      left /= last.size;  // only its position 0 remains, which is live and adds nothing
      nodes.pop_back();
    } else if (last.size % left == 0) {
      nodes.pop_back();
      append(nodes, stride_of_node(last, left, normal));
      left = 1;
    } else if (!normal) {
      return stride_of(normal_form(std::move(nodes)), left, true);
    } else {
      // Cuts a pair: every left-th position of the shortest suffix that `left` divides.
      Nodes suffix;
      uint64_t positions = 1;
      while (positions % left != 0) {
        positions *= nodes.back().size;
        suffix.insert(suffix.begin(), std::move(nodes.back()));
        nodes.pop_back();
      }
      nodes.push_back(around(Kind::kStrided, std::move(suffix), left, positions / left));
      left = 1;
    }
  }
  return without_ones(std::move(nodes));
}

// ------------------------------------------------------------------------------ normal form

// A padding kind that cannot show is forgotten: no position of the term is padding, and an axis
// overshoots only with a digit that does not end on a divisor of its size.
Node canonical(Node node) {
  if (is_plain(node) && node.padded && node.live == node.size &&
      (node.kind == Kind::kBroadcast || node.axis_size % (node.stride * node.size) == 0)) {
    node.padded = false;
    node.pad = PadKind::kTop;
  }
  return node;
}

// One term that has the cells of `outer, inner`, where there is one.
std::optional<Node> joined(const Node& outer, const Node& inner) {
  if (!is_plain(outer) || outer.kind != inner.kind) return std::nullopt;
  if (outer.padded && inner.padded && outer.pad != inner.pad) return std::nullopt;
  const bool digit = outer.kind == Kind::kDigit;
  if (digit && (outer.axis != inner.axis || outer.stride % inner.size != 0 ||
                outer.stride / inner.size != inner.stride)) {
    return std::nullopt;
  }
  uint64_t live = 0;
  if (inner.live == inner.size) {
    live = outer.live * inner.size;
  } else if (outer.live == 1) {
    live = inner.live;
  } else {
    return std::nullopt;
  }
  Node node = inner;
  node.size = outer.size * inner.size;
  node.padded = outer.padded || inner.padded;
  node.pad = outer.padded ? outer.pad : inner.pad;
  node.cut_from = outer.live > 1 ? outer.cut_from * inner.size : inner.cut_from;
  // Positions whose index reaches the axis size hold no element either way (overshoot).
  node.live = digit ? std::min(live, ceil_div(inner.axis_size, inner.stride)) : live;
  return canonical(node);
}

Nodes joined_terms(Nodes nodes);

// The simplest terms that have the cells of `node`, in one pass.
Nodes simplified(Node node) {
  switch (node.kind) {
    case Kind::kDigit:
    case Kind::kBroadcast:
      return {canonical(std::move(node))};
    case Kind::kPadded: {
      Nodes inner = joined_terms(std::move(node.inner));
      if (node.size == volume(inner)) return inner;
      if (inner.empty()) return {pure_padding(node.size, node.pad)};
      if (inner.size() == 1 && absorbs(inner[0], node.pad)) {
        return {canonical(with_padding(std::move(inner[0]), node.size, node.pad))};
      }
      node.inner = std::move(inner);
      if (auto nodes = ungrouped(node)) return std::move(*nodes);
      return {std::move(node)};
    }
    case Kind::kStrided: {
      // The cut may have come to divide its content since that was joined.
      Nodes inner = joined_terms(std::move(node.inner));
      return stride_of(first_of(std::move(inner), node.stride * node.size, false, true),
                       node.stride, true);
    }
    case Kind::kFirst:
      return first_of(joined_terms(std::move(node.inner)), node.size, false, true);
  }
  return {std::move(node)};
}

Nodes joined_terms(Nodes nodes) {
  Nodes result;  // innermost first
  for (size_t i = nodes.size(); i-- > 0;) {
    Nodes parts = simplified(std::move(nodes[i]));
    for (size_t k = parts.size(); k-- > 0;) {
      if (parts[k].size == 1) continue;
      std::optional<Node> one;
      if (!result.empty()) one = joined(parts[k], result.back());
      if (one) {
        result.back() = std::move(*one);
      } else {
        result.push_back(std::move(parts[k]));
      }
    }
  }
  std::reverse(result.begin(), result.end());
  return result;
}

Nodes normal_form(Nodes nodes) {
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    Nodes next = joined_terms(nodes);
    const bool stable = next == nodes;
    nodes = std::move(next);
    if (stable) break;
  }
  return nodes;
}

// ------------------------------------------------------------------------------ division

using Halves = std::optional<std::pair<Nodes, Nodes>>;
Halves split_nodes(const Nodes& nodes, uint64_t inner_size);

// Divides one term into size / m and m positions, 1 < m < size.
Halves split_node(const Node& node, uint64_t m) {
  if (node.size % m != 0) return std::nullopt;
  const auto halves = [&] {
    return std::make_pair(stride_of_node(node, m, false), first_of_node(node, m, false));
  };
  switch (node.kind) {
    case Kind::kDigit:
    case Kind::kBroadcast: {
      // Dead positions stay dead where they fill whole steps, or where they overshoot the axis.
      const bool overshoots =
          node.kind == Kind::kDigit && node.live >= ceil_div(node.axis_size, node.stride);
      if (node.live % m != 0 && node.live > m && !overshoots) return std::nullopt;
      return halves();
    }
    case Kind::kPadded: {
      const uint64_t content = volume(node.inner);
      if (content <= m) return halves();
      if (auto parts = split_nodes(node.inner, m)) {
        return std::make_pair(padded_to(std::move(parts->first), node.size / m, node.pad),
                              std::move(parts->second));
      }
      Node group = node;
      group.inner = normal_form(std::move(group.inner));
      if (auto nodes = ungrouped(group)) return split_nodes(*nodes, m);
      return std::nullopt;
    }
    case Kind::kStrided:
    case Kind::kFirst:
      return std::nullopt;
  }
  return std::nullopt;
}

Halves split_nodes(const Nodes& nodes, uint64_t inner_size) {
  Nodes outer = nodes;
  Nodes inner;  // outermost first
  uint64_t inside = 1;
  while (inside < inner_size) {
    if (outer.empty()) return std::nullopt;
    const Node node = std::move(outer.back());
    outer.pop_back();
    if (inner_size % (inside * node.size) == 0) {
      inner.insert(inner.begin(), node);
      inside *= node.size;
      continue;
    }
    if (inner_size % inside != 0 || inner_size / inside >= node.size) return std::nullopt;
    auto halves = split_node(node, inner_size / inside);
    if (!halves) return std::nullopt;
    append(outer, std::move(halves->first));
    append(halves->second, std::move(inner));
    inner = std::move(halves->second);
    inside = inner_size;
  }
  return std::make_pair(std::move(outer), std::move(inner));
}

// ------------------------------------------------------------------------------ text

std::string text_of(const Nodes& nodes, const AxisTable& axes);

std::string digit_text(const Node& node, const AxisTable& axes) {
  const uint64_t whole = node.axis_size;
  const uint64_t steps = ceil_div(whole, node.stride);  // positions of `AXIS / stride`
  const bool exact = whole % node.stride == 0;
  std::string text = axes.name(node.axis);
  uint64_t size = steps;
  // No text is written that the parser would refuse as too large.
  const bool fits = node.stride <= kMaxMappingSize / node.size;
  if (fits && node.cut_from == 0 && node.padded && node.live == std::min(node.size, steps) &&
      !(exact && node.size >= steps)) {
    // A digit of the padded axis: `R # 16 / 8`, `R # 16 % 8`.
    const uint64_t span = node.stride * node.size;
    const uint64_t padded = ceil_div(whole, span) * span;
    if (padded != whole) text += fmt::format(" {} {}", symbol(node.pad), padded);
    size = padded / node.stride;
    if (node.stride != 1) text += fmt::format(" / {}", node.stride);
    if (size != node.size) text += fmt::format(" % {}", node.size);
    return text;
  }
  if (!exact) text += fmt::format(" {} {}", symbol(node.pad), steps * node.stride);
  if (node.stride != 1) text += fmt::format(" / {}", node.stride);
  if (node.cut_from != 0 && node.cut_from < size && size % node.cut_from == 0) {
    text += fmt::format(" % {}", node.cut_from);
    size = node.cut_from;
  }
  if (node.live < size) {
    const bool is_digit = node.cut_from == 0 && size % node.live == 0;
    text += fmt::format(" {} {}", is_digit ? '%' : '=', node.live);
  }
  if (node.live < node.size) text += fmt::format(" {} {}", symbol(node.pad), node.size);
  return text;
}

std::string text_of(const Node& node, const AxisTable& axes) {
  switch (node.kind) {
    case Kind::kDigit:
      return digit_text(node, axes);
    case Kind::kBroadcast:
      if (node.live == node.size) return fmt::format("{}", node.size);
      return fmt::format("{} {} {}", node.live, symbol(node.pad), node.size);
    case Kind::kPadded:
      return fmt::format("[{}] {} {}", text_of(node.inner, axes), symbol(node.pad), node.size);
    case Kind::kStrided: {
      const std::string text = text_of(node.inner, axes);
      const uint64_t span = node.stride * node.size;
      if (span == volume(node.inner)) return fmt::format("[{}] / {}", text, node.stride);
      return fmt::format("[[{}] = {}] / {}", text, span, node.stride);
    }
    case Kind::kFirst:
      return fmt::format("[{}] = {}", text_of(node.inner, axes), node.size);
  }
  return "";
}

std::string text_of(const Nodes& nodes, const AxisTable& axes) {
  if (nodes.empty()) return "1";
  std::string text;
  for (const Node& node : nodes) {
    if (!text.empty()) text += ", ";
    text += text_of(node, axes);
  }
  return text;
}

void add_terms(const Expr& expr, const AxisTable& axes, Nodes& nodes) {
  const Expr* rest = &expr;  // pairs nest to the right: a loop, since a text may hold many
  while (rest->kind == Expr::Kind::kPair) {
    add_terms(*rest->left, axes, nodes);
    rest = rest->right.get();
  }
  append(nodes, make_mapping(*rest, axes).nodes());
}

}  // namespace

bool Node::operator==(const Node& o) const {
  if (kind != o.kind || size != o.size || live != o.live) return false;
  if (padded != o.padded || (padded && pad != o.pad)) return false;
  if (kind == Kind::kDigit && (axis != o.axis || stride != o.stride)) return false;
  if (kind == Kind::kStrided && stride != o.stride) return false;
  return inner == o.inner;
}

Mapping::Mapping(std::vector<Node> nodes) : nodes_(without_ones(std::move(nodes))) {
  size_ = volume(nodes_);
}

Mapping Mapping::broadcast(uint64_t n) {
  Node node;
  node.size = node.live = n;
  return Mapping({node});
}

Mapping Mapping::axis(AxisId axis, uint64_t size) {
  Node node;
  node.kind = Kind::kDigit;
  node.axis = axis;
  node.axis_size = node.size = node.live = size;
  return Mapping({node});
}

Mapping Mapping::concat(const std::vector<Mapping>& parts) {
  Nodes nodes;
  for (const Mapping& part : parts) append(nodes, part.nodes_);
  return Mapping(std::move(nodes));
}

Mapping Mapping::stride(uint64_t n) const { return Mapping(stride_of(nodes_, n, false)); }

Mapping Mapping::modulo(uint64_t n) const { return Mapping(first_of(nodes_, n, false, false)); }

Mapping Mapping::resize(uint64_t n) const { return Mapping(first_of(nodes_, n, true, false)); }

Mapping Mapping::pad(uint64_t n, PadKind kind) const { return Mapping(padded_to(nodes_, n, kind)); }

std::optional<std::pair<Mapping, Mapping>> Mapping::split(uint64_t inner_size) const {
  if (inner_size == 0 || size_ % inner_size != 0) return std::nullopt;
  auto halves = split_nodes(nodes_, inner_size);
  if (!halves) halves = split_nodes(normal_form(nodes_), inner_size);
  if (!halves) return std::nullopt;
  return std::make_pair(Mapping(std::move(halves->first)), Mapping(std::move(halves->second)));
}

Mapping Mapping::normalized() const { return Mapping(normal_form(nodes_)); }

std::string Mapping::text(const AxisTable& axes) const { return text_of(nodes_, axes); }

Mapping make_mapping(const Expr& expr, const AxisTable& axes) {
  switch (expr.kind) {
    case Expr::Kind::kAxis:
      return Mapping::axis(expr.axis, expr.size);
    case Expr::Kind::kBroadcast:
      return Mapping::broadcast(expr.n);
    case Expr::Kind::kStride:
      return make_mapping(*expr.left, axes).stride(expr.n);
    case Expr::Kind::kModulo:
      return make_mapping(*expr.left, axes).modulo(expr.n);
    case Expr::Kind::kResize:
      return make_mapping(*expr.left, axes).resize(expr.n);
    case Expr::Kind::kPad:
      return make_mapping(*expr.left, axes).pad(expr.n, expr.pad);
    case Expr::Kind::kPair: {
      Nodes nodes;
      add_terms(expr, axes, nodes);
      return Mapping(std::move(nodes));
    }
  }
  return {};
}

Mapping normalize(const Expr& expr, const AxisTable& axes) {
  return make_mapping(expr, axes).normalized();
}

}  // namespace rngdsim
