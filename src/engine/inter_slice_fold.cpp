// SPDX-License-Identifier: Apache-2.0
#include "engine/inter_slice_fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/vector_reducer.h"
#include "support/diagnostic.h"

namespace rngdsim {

void InterSliceFold::begin(const InterSliceConfig& config, BlockPool* pool) {
  if (config.results == 0 || config.flits % config.results != 0 ||
      config.slots.size() != config.ratio) {
    throw InternalError(fmt::format("an inter-slice reduction of {} flits to {}, {} slots for {}",
                                    config.flits, config.results, config.slots.size(),
                                    config.ratio));
  }
  if (pool != nullptr && pool->slices() % config.ratio != 0) {
    throw InternalError(fmt::format("{} slices are no groups of {}", pool->slices(), config.ratio));
  }
  config_ = &config;
  pool_ = pool;
  flits_per_result_ = config.flits / config.results;
  pending_.clear();
  takers_.clear();
  for (size_t position = 0; position < config.slots.size(); ++position) {
    const int64_t slot = config.slots[position];
    if (slot < 0) continue;
    if (takers_.size() <= static_cast<size_t>(slot)) takers_.resize(static_cast<size_t>(slot) + 1);
    takers_[static_cast<size_t>(slot)].push_back(static_cast<uint32_t>(position));
  }
}

InterSliceFold::Place InterSliceFold::place(uint64_t index) const {
  Place place;
  for (auto loop = config_->loops.rbegin(); loop != config_->loops.rend(); ++loop) {
    const uint64_t digit = index % loop->size;
    index /= loop->size;
    place.position += digit * loop->out_stride;
    place.slot += digit * loop->slot_stride;
  }
  return place;
}

bool InterSliceFold::completes(uint64_t index) const {
  const auto found = pending_.find(place(index).position);
  return (found == pending_.end() ? 0 : found->second.taken) + 1 == flits_per_result_;
}

std::optional<InterSliceFold::Result> InterSliceFold::take(uint64_t index, const Block* values) {
  const Place to = place(index);
  Pending& pending = pending_[to.position];
  if (pool_ != nullptr) {
    if (!pending.values) pending.values = empty_result(values->elements);
    fold_into(*pending.values, *values, to.slot);
  }
  if (++pending.taken < flits_per_result_) return std::nullopt;
  Result result{to.position, std::move(pending.values)};
  pending_.erase(to.position);
  if (result.values) {
    const std::vector<uint8_t>& flags = result.values->valid;
    const size_t entries = size_t{result.values->elements} * result.values->slices;
    result.values->all_valid = std::find(flags.begin(), flags.begin() + entries, 0) ==
                               flags.begin() + static_cast<std::ptrdiff_t>(entries);
  }
  return result;
}

BlockRef InterSliceFold::empty_result(uint32_t elements) const {
  BlockRef block = pool_->allocate(config_->result_dtype.value_or(config_->dtype), elements);
  const size_t entries = size_t{elements} * block->slices;
  block->track_validity();
  std::fill_n(block->row<uint32_t>(0), entries, 0u);
  std::fill_n(block->valid_row(0), entries, uint8_t{0});
  return block;
}

void InterSliceFold::fold_into(Block& result, const Block& values, uint64_t slot) const {
  if (slot >= takers_.size()) return;  // nobody asks for it
  const auto ratio = static_cast<uint32_t>(config_->ratio);
  for (uint32_t e = 0; e < result.elements; ++e) {
    const uint32_t* from = values.row<uint32_t>(e);
    uint32_t* to = result.row<uint32_t>(e);
    uint8_t* flags = result.valid_row(e);
    for (uint32_t group = 0; group < result.slices; group += ratio) {
      uint32_t sum = from[group];
      bool valid = values.is_valid(e, group);
      for (uint32_t i = 1; i < ratio; ++i) {
        sum = reduce_pair(config_->op, config_->dtype, sum, from[group + i]);
        valid = valid && values.is_valid(e, group + i);
      }
      for (const uint32_t position : takers_[slot]) {
        to[group + position] = sum;
        flags[group + position] = valid ? 1 : 0;
      }
    }
  }
}

}  // namespace rngdsim
