// SPDX-License-Identifier: Apache-2.0
#include "reference/positions.h"

#include <algorithm>

namespace rngdsim {
namespace {

// Larger dimensions (long Time) are evaluated anew at every look.
constexpr uint64_t kMaxTable = uint64_t{1} << 22;

// Padding beats an overshoot, wherever either is, so that an overshoot inside one dimension is kept
// apart from padding until all dimensions are known.
constexpr int64_t kOvershoot = -2;  // added to kPoison or kZero

int64_t content(PadKind kind) {
  return kind == PadKind::kZero ? Positions::kZero : Positions::kPoison;
}

bool is_padding(int64_t offset) {
  return offset == Positions::kPoison || offset == Positions::kZero;
}

// What comes of the contribution `b` of an inner dimension after `a`.
int64_t combine(int64_t a, int64_t b) {
  if (a >= 0 && b >= 0) return a + b;
  if (is_padding(a)) return a;  // the outermost padding wins
  if (is_padding(b)) return b;
  if (a < 0 && b < 0) return std::max(a, b);  // of two overshoots, poison
  return std::min(a, b);
}

// The largest value of each axis in `nodes` (an upper bound for cuts of pairs).
void largest_values(const std::vector<Node>& nodes, std::vector<uint64_t>& largest) {
  for (const Node& node : nodes) {
    if (node.kind == Node::Kind::kDigit && node.live > 0) {
      largest[node.axis] += (node.live - 1) * node.stride;
    }
    largest_values(node.inner, largest);
  }
}

}  // namespace

Positions::Positions(std::vector<Mapping> dimensions, const std::vector<AxisId>& logical,
                     const AxisTable& axes)
    : axes_(axes), strides_(axes.count(), 0), scratch_(axes.count(), 0) {
  uint64_t stride = 1;
  for (size_t i = logical.size(); i-- > 0;) {
    strides_[logical[i]] = stride;
    stride *= axes.size(logical[i]);
  }
  std::vector<const Mapping*> parts;
  for (const Mapping& mapping : dimensions) parts.push_back(&mapping);
  // An axis within one dimension is settled in that dimension's table.
  std::vector<uint64_t> total(axes.count(), 0);
  std::vector<uint32_t> holders(axes.count(), 0);
  for (const Mapping& mapping : dimensions) {
    std::vector<uint64_t> largest(axes.count(), 0);
    largest_values(mapping.nodes(), largest);
    for (AxisId axis = 0; axis < axes.count(); ++axis) {
      total[axis] += largest[axis];
      holders[axis] += largest[axis] > 0 ? 1 : 0;
    }
  }
  for (const std::optional<PadKind>& kind : overshoot_kinds(parts, axes)) {
    overshoot_.push_back(content(kind.value_or(PadKind::kTop)));
  }
  for (AxisId axis = 0; axis < axes.count(); ++axis) {
    if (holders[axis] > 1 && total[axis] >= axes.size(axis)) watched_.push_back(axis);
  }
  contribution_.assign(watched_.size(), 0);
  for (Mapping& mapping : dimensions) {
    Dimension dimension;
    dimension.mapping = std::move(mapping);
    const uint64_t size = dimension.mapping.size();
    if (size <= kMaxTable) {
      std::vector<int64_t> offsets(size);
      std::vector<uint64_t> watched(watched_.size());
      dimension.watched.resize(size * watched_.size());
      for (uint64_t position = 0; position < size; ++position) {
        offsets[position] = evaluate(dimension, position, watched.data());
        std::copy(
            watched.begin(), watched.end(),
            dimension.watched.begin() + static_cast<std::ptrdiff_t>(position * watched_.size()));
      }
      dimension.offsets = std::move(offsets);
    }
    dimensions_.push_back(std::move(dimension));
  }
}

Positions Positions::of(const TensorVersion& tensor, const AxisTable& axes) {
  return Positions({tensor.chip, tensor.cluster, tensor.slice, tensor.lane, tensor.element},
                   tensor.logical, axes);
}

Positions Positions::of(const StreamShape& shape, const std::vector<AxisId>& logical,
                        const AxisTable& axes) {
  return Positions({shape.chip, shape.cluster, shape.slice, shape.lane, shape.time, shape.packet},
                   logical, axes);
}

int64_t Positions::evaluate(const Dimension& dimension, uint64_t position,
                            uint64_t* watched) const {
  const size_t count = watched_.size();
  if (!dimension.offsets.empty()) {
    for (size_t i = 0; i < count; ++i) watched[i] = dimension.watched[position * count + i];
    return dimension.offsets[position];
  }
  std::fill(scratch_.begin(), scratch_.end(), 0);
  PadKind pad = PadKind::kTop;
  if (!dimension.mapping.accumulate(position, scratch_.data(), &pad)) return content(pad);
  int64_t offset = 0;
  int64_t overshoot = 0;
  for (AxisId axis = 0; axis < scratch_.size(); ++axis) {
    if (scratch_[axis] >= axes_.size(axis)) {
      overshoot = overshoot < 0 ? std::max(overshoot, overshoot_[axis]) : overshoot_[axis];
    }
    offset += static_cast<int64_t>(scratch_[axis] * strides_[axis]);
  }
  if (overshoot < 0) return kOvershoot + overshoot;
  for (size_t i = 0; i < count; ++i) watched[i] = scratch_[watched_[i]];
  return offset;
}

Positions::Partial Positions::begin() const {
  Partial partial;
  partial.watched.assign(watched_.size(), 0);
  return partial;
}

void Positions::add(Partial& partial, size_t dimension, uint64_t position) const {
  const int64_t offset = evaluate(dimensions_[dimension], position, contribution_.data());
  partial.offset = combine(partial.offset, offset);
  if (!partial.live()) return;
  for (size_t i = 0; i < watched_.size(); ++i) partial.watched[i] += contribution_[i];
}

int64_t Positions::finish(int64_t offset, const uint64_t* watched) const {
  if (offset < 0) return is_padding(offset) ? offset : offset - kOvershoot;
  int64_t result = offset;
  for (size_t i = 0; i < watched_.size(); ++i) {
    if (watched[i] < axes_.size(watched_[i])) continue;
    const int64_t kind = overshoot_[watched_[i]];
    result = result < 0 ? std::max(result, kind) : kind;
  }
  return result;
}

int64_t Positions::finish(const Partial& partial) const {
  return finish(partial.offset, partial.watched.data());
}

void Positions::last(const Partial& partial, uint64_t first, uint64_t count,
                     int64_t* offsets) const {
  const Dimension& dimension = dimensions_.back();
  if (partial.live() && watched_.empty() && !dimension.offsets.empty()) {
    const int64_t* table = dimension.offsets.data() + first;
    for (uint64_t i = 0; i < count; ++i) {
      const int64_t not_live = is_padding(table[i]) ? table[i] : table[i] - kOvershoot;
      offsets[i] = table[i] >= 0 ? partial.offset + table[i] : not_live;
    }
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t offset = evaluate(dimension, first + i, contribution_.data());
    for (size_t k = 0; k < watched_.size(); ++k) contribution_[k] += partial.watched[k];
    offsets[i] = finish(combine(partial.offset, offset), contribution_.data());
  }
}

Cell Positions::cell(const std::vector<uint64_t>& positions) const {
  Cell cell;
  std::vector<uint64_t> values(axes_.count(), 0);
  for (size_t i = 0; i < dimensions_.size(); ++i) {
    if (!dimensions_[i].mapping.accumulate(positions[i], values.data(), &cell.pad)) {
      cell.live = false;
      return cell;
    }
  }
  for (AxisId axis = 0; axis < values.size(); ++axis) {
    if (values[axis] != 0) cell.index.emplace_back(axis, values[axis]);
  }
  return cell;
}

std::vector<int64_t> origins(const TensorVersion& of, const TensorVersion& view,
                             const Program& program) {
  constexpr uint64_t kPlaces = 4096;  // at a time
  const Positions was = Positions::of(of, program.axes), is = Positions::of(view, program.axes);
  uint64_t volume = 1;
  for (const AxisId axis : view.logical) volume *= program.axes.size(axis);
  std::vector<int64_t> origin(volume, Positions::kPoison);
  std::vector<int64_t> from(kPlaces), to(kPlaces);
  const auto slice = [](const Positions& positions, uint64_t c, uint64_t s) {
    Positions::Partial at = positions.begin();
    positions.add(at, 0, 0);
    positions.add(at, 1, c);
    positions.add(at, 2, s);
    positions.add(at, 3, 0);
    return at;
  };
  for (uint64_t c = 0; c < is.size(1); ++c) {
    for (uint64_t s = 0; s < is.size(2); ++s) {
      const Positions::Partial before = slice(was, c, s), after = slice(is, c, s);
      for (uint64_t first = 0; first < is.size(4); first += kPlaces) {
        const uint64_t count = std::min(kPlaces, is.size(4) - first);
        was.last(before, first, count, from.data());
        is.last(after, first, count, to.data());
        for (uint64_t i = 0; i < count; ++i) {
          if (to[i] >= 0 && from[i] != Positions::kPoison) {
            origin[static_cast<uint64_t>(to[i])] = from[i];
          }
        }
      }
    }
  }
  return origin;
}

std::vector<uint8_t> live_slices(const Mapping& chip, const Mapping& cluster, const Mapping& slice,
                                 const MachineLimits& limits, const AxisTable& axes) {
  const Positions positions({chip, cluster, slice}, {}, axes);
  std::vector<uint8_t> live(limits.clusters * limits.slices, 0);
  const uint64_t clusters = std::min(limits.clusters, cluster.size());
  const uint64_t slices = std::min(limits.slices, slice.size());
  Positions::Partial on_chip = positions.begin();
  positions.add(on_chip, 0, 0);
  for (uint64_t c = 0; c < clusters; ++c) {
    Positions::Partial in_cluster = on_chip;
    positions.add(in_cluster, 1, c);
    for (uint64_t s = 0; s < slices; ++s) {
      Positions::Partial in_slice = in_cluster;
      positions.add(in_slice, 2, s);
      live[c * limits.slices + s] = positions.finish(in_slice) >= 0 ? 1 : 0;
    }
  }
  return live;
}

}  // namespace rngdsim
