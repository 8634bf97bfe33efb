// SPDX-License-Identifier: Apache-2.0
#include "lowering/dma_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "support/input_limits.h"
#include "support/text.h"

namespace rngdsim {
namespace {

constexpr uint64_t kNoLimit = ~uint64_t{0};

// Appends the digits of a dimension whose innermost position is `step` bits (`slices` positions in
// Slice) wide, innermost first. `inside_group`: those up to the end of the first padded group.
void collect_dimension(const std::vector<Node>& nodes, uint64_t step, uint64_t slices,
                       DmaDigits& all, size_t& inside_group) {
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = nodes[i];
    const bool axis = node.kind == Node::Kind::kDigit;
    if (node.padded && node.pad == PadKind::kBottom) all.bottom = true;
    if (!axis && node.padded && node.pad == PadKind::kZero) all.zero_group = true;
    if (node.kind == Node::Kind::kPadded) {
      collect_dimension(node.inner, step, slices, all, inside_group);
      inside_group = std::min(inside_group, all.digits.size());
    } else if (axis || node.kind == Node::Kind::kBroadcast) {
      DmaDigit digit;
      if (axis) digit.axis = node.axis;
      digit.stride = axis ? node.stride : 1;
      digit.size = node.size;
      digit.live = node.live;
      digit.whole = std::max(node.live, node.cut_from);
      digit.step = step;
      digit.slices = slices;
      digit.padded = node.padded;
      digit.pad = node.pad;
      if (node.size > 1) all.digits.push_back(digit);
    } else {
      all.cuts_pair = true;
    }
    step *= node.size;
    slices *= node.size;
  }
}

// Digits that lie next to each other read as one.
std::vector<DmaDigit> joined(const std::vector<DmaDigit>& digits) {
  std::vector<DmaDigit> result;
  for (const DmaDigit& inner : digits) {
    if (!result.empty()) {
      DmaDigit& outer = result.back();
      const bool follows = outer.axis && outer.axis == inner.axis && inner.live == inner.size &&
                           outer.stride == inner.stride * inner.live &&
                           outer.step == inner.step * inner.live &&
                           outer.slices == inner.slices * inner.live;
      if (follows) {
        outer.stride = inner.stride;
        outer.step = inner.step;
        outer.slices = inner.slices;
        outer.size *= inner.size;
        outer.live *= inner.live;
        outer.whole *= inner.live;
        outer.padded = outer.padded || inner.padded;
        if (inner.padded) outer.pad = inner.pad;
        continue;
      }
    }
    result.push_back(inner);
  }
  return result;
}

bool has(const std::vector<AxisId>& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// The digits of an axis as (stride, size, live), for comparison.
using DigitShape = std::tuple<uint64_t, uint64_t, uint64_t, bool, PadKind>;
std::set<DigitShape> shape_of(const std::vector<DmaDigit>& digits, AxisId axis) {
  std::set<DigitShape> shape;
  for (const DmaDigit& digit : digits) {
    if (digit.axis == axis) {
      shape.emplace(digit.stride, digit.size, digit.live, digit.padded, digit.pad);
    }
  }
  return shape;
}

// Takes an axis' positions apart: every combination whose index, and whose part in each digit, is
// below a limit, as ranges.
class BoxFinder {
 public:
  // `pieces`: of one axis, by descending stride.
  BoxFinder(const std::vector<DmaPiece>& all, const std::vector<size_t>& pieces)
      : all_(all), pieces_(pieces), box_(pieces.size()) {}

  // Largest index, and largest part of it in each digit.
  std::vector<DmaBox> find(uint64_t last, const std::map<size_t, uint64_t>& last_in) {
    found_.clear();
    go(0, last, last_in);
    return std::move(found_);
  }

 private:
  const DmaPiece& piece(size_t k) const { return all_[pieces_[k]]; }

  // The largest index that the pieces behind `k` add up to; those of one digit only where given.
  uint64_t reach_below(size_t k, std::optional<size_t> digit) const {
    uint64_t reach = 0;
    for (size_t j = k + 1; j < pieces_.size(); ++j) {
      if (!digit || piece(j).digit == *digit) reach += (piece(j).size - 1) * piece(j).stride;
    }
    return reach;
  }

  // Positions of piece `k` for which everything behind it stays below `last`.
  static uint64_t free_positions(uint64_t last, uint64_t below, uint64_t stride) {
    if (last == kNoLimit) return kNoLimit;
    return last < below ? 0 : (last - below) / stride + 1;
  }

  void go(size_t k, uint64_t last, std::map<size_t, uint64_t> last_in) {
    if (found_.size() > kMaxDmaSegments) return;
    if (k == pieces_.size()) {
      found_.push_back(box_);
      return;
    }
    const DmaPiece& at = piece(k);
    uint64_t& last_here = last_in[at.digit];
    const uint64_t most = std::min({at.size, last == kNoLimit ? at.size : last / at.stride + 1,
                                    last_here == kNoLimit ? at.size : last_here / at.stride + 1});
    const uint64_t free =
        std::min({most, free_positions(last, reach_below(k, std::nullopt), at.stride),
                  free_positions(last_here, reach_below(k, at.digit), at.stride)});
    if (free > 0) {
      auto unlimited = last_in;
      unlimited[at.digit] = kNoLimit;
      box_[k] = {0, free};
      go(k + 1, kNoLimit, unlimited);
    }
    for (uint64_t p = free; p < most; ++p) {
      auto rest = last_in;
      if (last_here != kNoLimit) rest[at.digit] = last_here - p * at.stride;
      box_[k] = {p, p + 1};
      go(k + 1, last == kNoLimit ? last : last - p * at.stride, std::move(rest));
    }
  }

  const std::vector<DmaPiece>& all_;
  const std::vector<size_t>& pieces_;
  DmaBox box_;
  std::vector<DmaBox> found_;
};

}  // namespace

DmaDigits dma_digits(const TensorVersion& tensor, const MachineLimits& limits) {
  DmaDigits all;
  size_t inside_group = std::numeric_limits<size_t>::max();
  collect_dimension(tensor.element.nodes(), static_cast<uint64_t>(memory_bits(tensor.dtype)), 0,
                    all, inside_group);
  if (tensor.memory == MemoryKind::kDm) {
    const uint64_t slice = limits.dm_slice_stride * 8;
    collect_dimension(tensor.slice.nodes(), slice, 1, all, inside_group);
    collect_dimension(tensor.cluster.nodes(), slice * limits.slices, limits.slices, all,
                      inside_group);
  }
  all.outside_group = all.digits.size() - std::min(inside_group, all.digits.size());
  std::reverse(all.digits.begin(), all.digits.end());
  return all;
}

bool DmaPieces::error(const std::string& message, const std::string& hint) const {
  scope_.diagnostics.error(where_, "dma: " + message, hint);
  return false;
}

std::string DmaPieces::term(AxisId axis, uint64_t stride, uint64_t size) const {
  Node node;
  node.kind = Node::Kind::kDigit;
  node.axis = axis;
  node.axis_size = scope_.axes.size(axis);
  node.stride = stride;
  node.size = node.live = size;
  return Mapping({node}).text(scope_.axes);
}

bool DmaPieces::is_zero(AxisId axis) const { return has(zero_axes_, axis); }

bool DmaPieces::find(const std::vector<const Mapping*>& order) {
  const DmaDigits from = dma_digits(from_, scope_.limits);
  const DmaDigits to = dma_digits(to_, scope_.limits);
  for (const auto& [digits, tensor] : {std::pair{&from, &from_}, std::pair{&to, &to_}}) {
    if (!digits->cuts_pair) continue;
    return error(fmt::format("a term of '{}' cuts a pair; no stride describes it", tensor->name),
                 "cut it at the boundary of one of its axes");
  }
  may_overread_ = !from.bottom;
  if (!check_zero_padding(from, to)) return false;
  source_ = joined(from.digits);
  digits_ = joined(to.digits);
  if (indexed_) leave_rows_out();
  if (!check_axes()) return false;
  for (size_t i = 0; i < digits_.size(); ++i) {
    if (!cut_at_source(i)) return false;
  }
  if (indexed_ && !cut_at_index()) return false;
  cut_at(cuts_of(order));
  fill_single_elements();
  return true;
}

// Single elements with plain padding behind them, `1 # 8`.
void DmaPieces::fill_single_elements() {
  const auto bits = static_cast<uint64_t>(memory_bits(to_.dtype));
  const uint64_t unit = 64 / std::gcd<uint64_t>(64, bits);
  if (digits_.empty() || !may_overread_) return;
  const DmaDigit& digit = digits_.back();
  const bool single = digit.live == 1 && digit.step == bits && digit.slices == 0;
  if (!single || !digit.padded || digit.pad != PadKind::kTop || digit.size < unit) return;
  DmaPiece piece;
  piece.digit = digits_.size() - 1;
  piece.read_step = piece.write_step = bits;
  piece.fill = unit;
  pieces_.push_back(piece);
}

bool DmaPieces::is_indexed(AxisId axis) const {
  return indexed_ && has(indexed_->index.logical, axis);
}

// The row axis is walked on neither side. In its place a gather walks the axes of the index, which
// the destination has; a scatter walks them as they lie in the source, at one place of the
// destination.
void DmaPieces::leave_rows_out() {
  std::vector<DmaDigit>& rows = indexed_->scatter ? digits_ : source_;
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [this](const DmaDigit& d) { return d.axis == indexed_->row_axis; }),
             rows.end());
  if (!indexed_->scatter) return;
  std::vector<DmaDigit> walked;
  for (DmaDigit digit : source_) {
    const bool held = std::any_of(digits_.begin(), digits_.end(),
                                  [&](const DmaDigit& d) { return d.axis == digit.axis; });
    if (!digit.axis || held || !is_indexed(*digit.axis)) continue;
    digit.size = digit.whole = digit.live;
    digit.step = digit.slices = 0;
    digit.padded = false;
    walked.push_back(digit);
  }
  digits_.insert(digits_.begin(), walked.begin(), walked.end());
}

// Pieces of the index's axes are cut where the index is, and get their step in it.
bool DmaPieces::cut_at_index() {
  const TensorVersion& index = indexed_->index;
  cut_at(cuts_of({&index.cluster, &index.slice, &index.element}));
  const std::vector<DmaDigit> digits = joined(dma_digits(index, scope_.limits).digits);
  for (DmaPiece& piece : pieces_) {
    if (!piece.axis || !is_indexed(*piece.axis)) continue;
    const auto holds = [&](const DmaDigit& d) {
      return d.axis == piece.axis && d.stride <= piece.stride &&
             piece.stride < d.stride * std::max(d.size, d.whole);
    };
    const auto digit = std::find_if(digits.begin(), digits.end(), holds);
    if (digit == digits.end() || piece.stride % digit->stride != 0 ||
        (piece.size - 1) * piece.stride >= digit->stride * std::max(digit->size, digit->whole)) {
      return error(fmt::format("'{}' and the index '{}' cut axis {} without a common refinement",
                               term(*piece.axis, piece.stride, piece.size), index.name,
                               scope_.axes.name(*piece.axis)),
                   "let both cut the axis at the same places");
    }
    piece.index_step = piece.stride / digit->stride * digit->step;
  }
  return true;
}

// Zero padding must be written with zeros, which only zero padding of the same form provides.
bool DmaPieces::check_zero_padding(const DmaDigits& from, const DmaDigits& to) {
  const auto refuse = [&] {
    return error(
        fmt::format("zero padding of '{}' must be written with zeros, but '{}' is not known to be "
                    "zero there",
                    to_.name, from_.name),
        "declare the padding of the destination as '#', or in the source the same '#{0}' with the "
        "same padding inside of it");
  };
  if (to.zero_group) return refuse();
  for (const DmaDigit& digit : to.digits) {
    if (!digit.axis || !digit.padded || digit.pad != PadKind::kZero) continue;
    if (is_zero(*digit.axis)) continue;
    if (shape_of(from.digits, *digit.axis) != shape_of(to.digits, *digit.axis)) return refuse();
    zero_axes_.push_back(*digit.axis);
  }
  return zeros_beside_padding(from, to) || refuse();
}

// Where several digits are in their padding, the outermost says of what kind the place is, and any
// padding wins over an overshoot (docs/mapping.md): zero padding is zero in the padding inside of
// it too, and where an axis in several digits overshoots. Such axes are moved like elements, which
// gives zeros where the source has all of it in the same order.
bool DmaPieces::zeros_beside_padding(const DmaDigits& from, const DmaDigits& to) {
  using AxisDigit = std::tuple<AxisId, uint64_t>;
  const auto order = [](const DmaDigits& all, AxisId zero, AxisId other) {
    std::vector<AxisDigit> found;
    for (const DmaDigit& digit : all.digits) {
      if (digit.axis == zero || digit.axis == other) found.emplace_back(*digit.axis, digit.stride);
    }
    return found;
  };
  std::vector<AxisId> beside;
  for (size_t i = 0; i < to.digits.size(); ++i) {
    const DmaDigit& outer = to.digits[i];
    if (!outer.padded || outer.pad != PadKind::kZero) continue;
    if (i < to.outside_group) return false;
    for (size_t j = 0; j < to.digits.size(); ++j) {
      const DmaDigit& inner = to.digits[j];
      if (!inner.padded || inner.pad == PadKind::kZero) continue;
      if (j < i && (!inner.axis || shape_of(to.digits, *inner.axis).size() == 1)) continue;
      if (!inner.axis || inner.pad != PadKind::kTop) return false;
      if (shape_of(from.digits, *inner.axis) != shape_of(to.digits, *inner.axis)) return false;
      if (order(from, *outer.axis, *inner.axis) != order(to, *outer.axis, *inner.axis)) {
        return false;
      }
      if (!has(beside, *inner.axis)) beside.push_back(*inner.axis);
    }
  }
  zero_axes_.insert(zero_axes_.end(), beside.begin(), beside.end());
  return true;
}

// Every axis of the source goes somewhere; a part of one may stay behind.
bool DmaPieces::check_axes() {
  bool good = true;
  for (const AxisId axis : from_.logical) {
    if (indexed_ && axis == indexed_->row_axis) continue;  // chosen from
    uint64_t moved = 1, held = 1;
    for (const DmaDigit& digit : digits_) {
      if (digit.axis == axis) moved *= digit.live;
    }
    for (const DmaDigit& digit : source_) {
      if (digit.axis == axis) held *= digit.live;
    }
    moved = std::min(moved, scope_.axes.size(axis));
    held = std::min(held, scope_.axes.size(axis));
    const std::string& name = scope_.axes.name(axis);
    if (moved == 1 && held > 1) {
      good = error(fmt::format("'{}' has {} indices of axis {}, the destination '{}' has 1: the "
                               "values of the others would be lost",
                               from_.name, group_digits(held), name, to_.name),
                   fmt::format("name {} in its dimensions; where the values do not depend on it, "
                               "leave it out of the source's logical: list",
                               name));
    } else if (moved < held) {
      scope_.diagnostics.warning(
          where_, fmt::format("dma: of axis {} {} of the {} indices in '{}' are moved", name,
                              group_digits(moved), group_digits(held), from_.name));
    }
  }
  return good;
}

// The highest digit of the source that begins at or below `stride` (`above`: the lowest above it).
const DmaDigit* DmaPieces::source_digit(AxisId axis, uint64_t stride, bool above,
                                        size_t& index) const {
  const DmaDigit* best = nullptr;
  for (size_t i = 0; i < source_.size(); ++i) {
    const DmaDigit& digit = source_[i];
    if (digit.axis != axis || (digit.stride > stride) != above) continue;
    if (best != nullptr && (digit.stride < best->stride) != above) continue;
    best = &digit;
    index = i;
  }
  return best;
}

bool DmaPieces::not_held(const DmaPiece& piece, uint64_t last) const {
  return error(fmt::format("'{}' of the destination '{}' reaches {} = {}, which '{}' does not hold",
                           term(*piece.axis, piece.stride, piece.size), to_.name,
                           scope_.axes.name(*piece.axis), group_digits(last), from_.name),
               "use only indices that exist in the source");
}

bool DmaPieces::no_refinement(const DmaPiece& piece, const DmaDigit& source) const {
  return error(fmt::format("'{}' of '{}' and '{}' of '{}' cut axis {} without a common refinement",
                           term(*piece.axis, piece.stride, piece.size), to_.name,
                           term(*piece.axis, source.stride, source.live), from_.name,
                           scope_.axes.name(*piece.axis)),
               "let both sides cut the axis at the same places");
}

bool DmaPieces::cut_at_source(size_t index) {
  const DmaDigit& digit = digits_[index];
  DmaPiece piece;
  piece.axis = digit.axis;
  piece.stride = digit.stride;
  piece.digit = index;
  piece.write_step = digit.step;
  piece.write_slices = digit.slices;
  const bool zero = digit.axis && is_zero(*digit.axis);
  uint64_t live = zero ? digit.size : digit.live;
  if (digit.axis && !zero) {
    live = std::min(live, (scope_.axes.size(*digit.axis) - 1) / digit.stride + 1);
  }
  std::vector<DmaPiece> cut;  // innermost first
  while (live > 1) {
    piece.size = live;
    piece.source.reset();
    piece.read_step = piece.read_slices = 0;
    if (digit.axis && has(from_.logical, *digit.axis)) {
      size_t at = 0, next = 0;
      const DmaDigit* below = source_digit(*digit.axis, piece.stride, false, at);
      const DmaDigit* above = source_digit(*digit.axis, piece.stride, true, next);
      const uint64_t end = below == nullptr ? 0 : zero ? below->stride * below->size : below->end();
      if (below == nullptr || piece.stride >= end) {
        return not_held(piece, (live - 1) * piece.stride);
      }
      const uint64_t factor = piece.stride / below->stride;
      const bool ends_inside = (live - 1) * piece.stride < end ||
                               (above == nullptr && end >= scope_.axes.size(*digit.axis));
      if (piece.stride % below->stride != 0 || (!ends_inside && end % piece.stride != 0)) {
        return no_refinement(piece, *below);
      }
      if (!ends_inside) piece.size = end / piece.stride;
      piece.source = at;
      piece.read_step = factor * below->step;
      piece.read_slices = factor * below->slices;
    }
    cut.push_back(piece);
    live = (live - 1) / piece.size + 1;
    piece.stride *= piece.size;
    piece.write_step *= piece.size;
    piece.write_slices *= piece.size;
  }
  pieces_.insert(pieces_.end(), cut.rbegin(), cut.rend());
  return true;
}

void DmaPieces::cut_at(const DigitCuts& cuts) {
  std::vector<DmaPiece> result;
  for (DmaPiece rest : pieces_) {
    std::vector<DmaPiece> parts;           // innermost first
    for (const auto& [axis, at] : cuts) {  // ascending
      if (rest.axis != axis || at <= rest.stride || at % rest.stride != 0) continue;
      const uint64_t inside = at / rest.stride;
      if (inside >= rest.size) continue;
      DmaPiece inner = rest;
      inner.size = inside;
      parts.push_back(inner);
      rest.size = (rest.size - 1) / inside + 1;
      for (uint64_t* step : {&rest.stride, &rest.read_step, &rest.write_step, &rest.read_slices,
                             &rest.write_slices, &rest.index_step}) {
        *step *= inside;
      }
    }
    result.push_back(rest);
    result.insert(result.end(), parts.rbegin(), parts.rend());
  }
  pieces_ = std::move(result);
}

bool DmaPieces::boxes(DmaPadding padding, std::vector<DmaBox>& boxes, bool& extended) const {
  boxes.assign(1, DmaBox(pieces_.size()));
  extended = false;
  std::map<std::optional<AxisId>, std::vector<size_t>> by_axis;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].axis) {
      by_axis[pieces_[i].axis].push_back(i);
    } else {
      const bool fills = padding == DmaPadding::kFill && pieces_[i].fill > 1;
      extended = extended || fills;
      boxes[0][i] = {0, fills ? pieces_[i].fill : pieces_[i].size};
    }
  }
  for (auto& [axis, of_axis] : by_axis) {
    std::stable_sort(of_axis.begin(), of_axis.end(),
                     [&](size_t a, size_t b) { return pieces_[a].stride > pieces_[b].stride; });
    const auto found = boxes_of(of_axis, padding, extended);
    if (!found) return false;
    const std::vector<DmaBox>& parts = *found;
    if (parts.size() > kMaxDmaSegments / boxes.size()) {
      return error(fmt::format("more than {} segments are needed", group_digits(kMaxDmaSegments)),
                   kLimitHint);
    }
    std::vector<DmaBox> product;
    for (const DmaBox& box : boxes) {
      for (const DmaBox& part : parts) {
        product.push_back(box);
        for (size_t k = 0; k < of_axis.size(); ++k) product.back()[of_axis[k]] = part[k];
      }
    }
    boxes = std::move(product);
  }
  return true;
}

// Every index of the box exists in the source.
bool DmaPieces::check_held(const std::vector<size_t>& pieces, const DmaBox& box) const {
  std::map<size_t, uint64_t> last;
  for (size_t k = 0; k < pieces.size(); ++k) {
    const DmaPiece& piece = pieces_[pieces[k]];
    if (!piece.source || is_zero(*piece.axis)) continue;
    const DmaDigit& digit = source_[*piece.source];
    uint64_t& reach = last[*piece.source];
    reach += (box[k].high - 1) * (piece.stride / digit.stride);
    if (reach < digit.live) continue;
    size_t above = 0;
    const bool carries =
        reach >= digit.whole && source_digit(*piece.axis, digit.stride, true, above) != nullptr;
    return carries ? no_refinement(piece, digit) : not_held(piece, reach * digit.stride);
  }
  return true;
}

std::optional<std::vector<DmaBox>> DmaPieces::boxes_of(const std::vector<size_t>& pieces,
                                                       DmaPadding padding, bool& extended) const {
  const AxisId axis = *pieces_[pieces[0]].axis;
  std::map<size_t, uint64_t> last_in;
  for (const size_t i : pieces) {
    const DmaDigit& digit = digits_[pieces_[i].digit];
    last_in[pieces_[i].digit] = ((is_zero(axis) ? digit.size : digit.live) - 1) * digit.stride;
  }
  const uint64_t last = is_zero(axis) ? kNoLimit : scope_.axes.size(axis) - 1;
  std::vector<DmaBox> boxes = BoxFinder(pieces_, pieces).find(last, last_in);
  for (const DmaBox& box : boxes) {
    if (!check_held(pieces, box)) return std::nullopt;
  }
  // What the index says of padding is nothing.
  if (padding == DmaPadding::kLeave || !may_overread_ || is_zero(axis) || is_indexed(axis)) {
    return boxes;
  }
  if (boxes.size() == 1 && padding != DmaPadding::kFill) return boxes;
  const auto whole = extended_box(pieces, padding);
  if (!whole) return boxes;
  extended = true;
  return std::vector<DmaBox>{*whole};
}

// One box around all live positions: outermost as far as they go, whole behind that.
std::optional<DmaBox> DmaPieces::extended_box(const std::vector<size_t>& pieces,
                                              DmaPadding padding) const {
  const AxisId axis = *pieces_[pieces[0]].axis;
  DmaBox box;
  for (size_t k = 0; k < pieces.size(); ++k) {
    const DmaPiece& piece = pieces_[pieces[k]];
    const uint64_t some = (scope_.axes.size(axis) - 1) / piece.stride + 1;
    box.push_back({0, k == 0 ? std::min(piece.size, some) : piece.size});
  }
  const DmaPiece& inner = pieces_[pieces.back()];
  const auto bits = static_cast<uint64_t>(memory_bits(to_.dtype));
  if (padding == DmaPadding::kFill && inner.write_step == bits && pieces.size() == 1) {
    const uint64_t unit = 64 / std::gcd<uint64_t>(64, bits);
    box[0].high = (box[0].high + unit - 1) / unit * unit;
  }
  return may_extend(box, pieces) ? std::optional(box) : std::nullopt;
}

// All positions it adds are plain padding of the destination, and places of some kind in the
// source.
bool DmaPieces::may_extend(const DmaBox& box, const std::vector<size_t>& pieces) const {
  std::map<size_t, uint64_t> last_to, last_from;
  for (size_t k = 0; k < pieces.size(); ++k) {
    const DmaPiece& piece = pieces_[pieces[k]];
    const uint64_t reach = (box[k].high - 1) * piece.stride;
    last_to[piece.digit] += reach / digits_[piece.digit].stride;
    if (!piece.source) continue;
    const DmaDigit& source = source_[*piece.source];
    last_from[*piece.source] += reach / source.stride;
  }
  for (const auto& [index, last] : last_to) {
    const DmaDigit& digit = digits_[index];
    if (digit.padded && digit.pad != PadKind::kTop) return false;
    const bool writable = digit.padded;
    if (last >= (writable ? digit.size : digit.live)) return false;
  }
  return std::all_of(last_from.begin(), last_from.end(), [this](const auto& entry) {
    const DmaDigit& digit = source_[entry.first];
    return digit.slices == 0 || entry.second < digit.size;
  });
}

}  // namespace rngdsim
