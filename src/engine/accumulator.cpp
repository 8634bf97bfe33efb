// SPDX-License-Identifier: Apache-2.0
#include "engine/accumulator.h"

#include <algorithm>

#include "numeric/arithmetic.h"
#include "support/diagnostic.h"

namespace rngdsim {

// ---- SlotPlan

SlotPlan::SlotPlan(const TimeReduceConfig& config) : capacity_(config.capacity) {
  size_t outermost = 0;  // reduced loop
  while (outermost < config.loops.size() && !config.loops[outermost].reduced) {
    groups_left_ *= config.loops[outermost++].size;
  }
  for (size_t i = config.loops.size(); i > outermost; --i) {
    const TimeReduceConfig::Loop& loop = config.loops[i - 1];
    loops_.push_back({loop.size, loop.reduced ? 0 : slots_, 0});
    if (!loop.reduced) slots_ *= loop.size;
  }
  update();
}

void SlotPlan::update() {
  step_.first = step_.last = true;
  uint64_t position = 0;
  for (const Loop& loop : loops_) {
    position += loop.count * loop.slot_stride;
    if (loop.slot_stride != 0) continue;
    step_.first = step_.first && loop.count == 0;
    step_.last = step_.last && loop.count + 1 == loop.size;
  }
  step_.slot = static_cast<uint32_t>((base_ + position) % capacity_);
}

void SlotPlan::next() {
  bool group_done = true;
  for (Loop& loop : loops_) {
    if (++loop.count < loop.size) {
      group_done = false;
      break;
    }
    loop.count = 0;
  }
  if (group_done) {
    base_ = (base_ + slots_) % capacity_;
    done_ = --groups_left_ == 0;
  }
  update();
}

// ---- Accumulator

void Accumulator::resize(uint64_t slots) {
  if (occupied_ != 0) throw InternalError("accumulator resized while slots are occupied");
  slots_.resize(slots);
}

void Accumulator::overwrite(uint32_t slot, BlockRef packet) {
  if (slots_[slot].occupied) throw InternalError("accumulator slot overwritten before it drained");
  slots_[slot] = {true, std::move(packet)};
  ++occupied_;
}

void Accumulator::add(uint32_t slot, const BlockRef& packet, uint32_t slices) {
  if (!slots_[slot].occupied)
    throw InternalError("packet added to an accumulator slot without sum");
  if (!packet) return;
  Block& sum = *slots_[slot].sum;
  for (uint32_t row = 0; row < sum.elements; ++row) {
    if (sum.dtype == DType::kF32) {
      add_arrays_canonical_f32(sum.row<float>(row), packet->row<float>(row), sum.row<float>(row),
                               slices);
    } else {
      add_arrays_i32(sum.row<int32_t>(row), packet->row<int32_t>(row), sum.row<int32_t>(row),
                     slices);
    }
  }
  if (packet->all_valid) return;
  sum.track_validity();
  for (uint32_t row = 0; row < sum.elements; ++row) {
    const uint8_t* from = packet->valid_row(row);
    uint8_t* to = sum.valid_row(row);
    for (uint32_t s = 0; s < slices; ++s) to[s] &= from[s];
  }
}

void Accumulator::release(uint32_t slot) {
  if (!slots_.at(slot).occupied) throw InternalError("accumulator slot released twice");
  slots_[slot] = {};
  --occupied_;
}

}  // namespace rngdsim
