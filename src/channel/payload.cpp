// SPDX-License-Identifier: Apache-2.0
#include "channel/payload.h"

#include <algorithm>

namespace rngdsim {

uint32_t Block::bits(uint32_t element, uint32_t slice) const {
  switch (storage_bytes(dtype)) {
    case 1:
      return row<uint8_t>(element)[slice];
    case 2:
      return row<uint16_t>(element)[slice];
    default:
      return row<uint32_t>(element)[slice];
  }
}

void Block::set_bits(uint32_t element, uint32_t slice, uint32_t bits) {
  switch (storage_bytes(dtype)) {
    case 1:
      row<uint8_t>(element)[slice] = static_cast<uint8_t>(bits);
      break;
    case 2:
      row<uint16_t>(element)[slice] = static_cast<uint16_t>(bits);
      break;
    default:
      row<uint32_t>(element)[slice] = bits;
  }
}

void Block::track_validity() {
  if (!all_valid) return;
  valid.assign(size_t{elements} * slices, 1);
  all_valid = false;
}

void BlockRef::recycle() { block_->pool_->recycle(block_); }

BlockRef BlockPool::allocate(DType dtype, uint32_t elements) {
  if (free_.empty()) {
    blocks_.push_back(std::make_unique<Block>());
    blocks_.back()->pool_ = this;
    free_.push_back(blocks_.back().get());
  }
  Block* block = free_.back();
  free_.pop_back();
  block->dtype = dtype;
  block->elements = elements;
  block->slices = slices_;
  block->all_valid = true;
  const size_t bytes = size_t{elements} * slices_ * static_cast<size_t>(storage_bytes(dtype));
  if (block->data.size() < bytes) block->data.resize(bytes);  // never shrinks: growing clears
  return BlockRef(block);
}

void BlockPool::recycle(Block* block) { free_.push_back(block); }

}  // namespace rngdsim
