// SPDX-License-Identifier: Apache-2.0
#include "engine/live_check.h"

#include <algorithm>
#include <cstring>

namespace rngdsim {

void LiveCheck::prepare(const StreamShape& shape, const Program& program,
                        const std::vector<uint8_t>& live, uint32_t first_slice, uint32_t slices) {
  shape_ = &shape;
  program_ = &program;
  const size_t axes = program.axes.count();
  first_slice_ = first_slice;
  if (slices == 0) {
    slices = static_cast<uint32_t>(program.limits.clusters * program.limits.slices);
  }
  row_index_.assign(axes, 0);
  values_.assign(axes, 0);
  slice_live_.assign(slices, 0);
  slice_index_.assign(slices * axes, 0);
  for (uint32_t s = 0; s < slices; ++s) {
    const uint64_t cluster = (first_slice + s) / program.limits.slices;
    const uint64_t slice = (first_slice + s) % program.limits.slices;
    if (!live.empty() && live[s] == 0) continue;
    if (cluster >= shape.cluster.size() || slice >= shape.slice.size()) continue;
    uint64_t* index = slice_index_.data() + s * axes;
    // One chip is simulated: chip position 0.
    slice_live_[s] = shape.chip.accumulate(0, index) && shape.cluster.accumulate(cluster, index) &&
                     shape.slice.accumulate(slice, index);
  }
}

bool LiveCheck::add_slice(uint32_t slice) {
  if (slice_live_[slice] == 0) return false;
  const size_t axes = values_.size();
  const uint64_t* spatial = slice_index_.data() + slice * axes;
  for (size_t a = 0; a < axes; ++a) {
    values_[a] = row_index_[a] + spatial[a];
    // An overshoot of the axis: no element, like padding.
    if (values_[a] >= program_->axes.size(static_cast<AxisId>(a))) return false;
  }
  return true;
}

std::optional<PoisonedElement> LiveCheck::find(const Block& block, uint64_t first_position) {
  if (block.all_valid) return std::nullopt;
  const uint64_t packet = shape_->packet.size();
  const uint64_t positions = shape_->time.size() * packet;
  const auto rows = static_cast<uint32_t>(std::min<uint64_t>(block.elements, packet));
  for (uint32_t k = 0; k < rows; ++k) {
    const uint8_t* flags = block.valid_row(k);
    if (std::memchr(flags, 0, block.slices) == nullptr) continue;
    const uint64_t position = first_position + k;
    if (position >= positions) break;
    std::fill(row_index_.begin(), row_index_.end(), 0);
    if (!shape_->time.accumulate(position / packet, row_index_.data()) ||
        !shape_->packet.accumulate(position % packet, row_index_.data())) {
      continue;
    }
    for (uint32_t s = 0; s < block.slices; ++s) {
      if (flags[s] != 0 || !add_slice(s)) continue;
      PoisonedElement found;
      found.slice = first_slice_ + s;
      found.position = position;
      for (size_t a = 0; a < values_.size(); ++a) {
        if (values_[a] != 0) found.cell.index.emplace_back(static_cast<AxisId>(a), values_[a]);
      }
      return found;
    }
  }
  return std::nullopt;
}

std::optional<PoisonedElement> find_live_poison(const Block& block, uint64_t first_position,
                                                const StreamShape& shape, const Program& program,
                                                const std::vector<uint8_t>& live) {
  if (block.all_valid) return std::nullopt;
  LiveCheck check;
  check.prepare(shape, program, live);
  return check.find(block, first_position);
}

}  // namespace rngdsim
