// SPDX-License-Identifier: Apache-2.0
#include "engine/block_ops.h"

#include <algorithm>
#include <cstring>

#include "numeric/convert.h"

namespace rngdsim {

namespace {

size_t row_bytes(const Block& block) {
  return size_t{block.slices} * static_cast<size_t>(storage_bytes(block.dtype));
}

void copy_validity(const Block& from, uint32_t from_first, Block& to, uint32_t to_first,
                   uint32_t count) {
  if (from.all_valid && to.all_valid) return;
  to.track_validity();
  uint8_t* flags = to.valid_row(to_first);
  if (from.all_valid) {
    std::memset(flags, 1, size_t{count} * to.slices);
  } else {
    std::memcpy(flags, from.valid_row(from_first), size_t{count} * to.slices);
  }
}

}  // namespace

void zero_elements(Block& block, uint32_t first) {
  if (first >= block.elements) return;
  const size_t rows = block.elements - first;
  std::memset(block.data.data() + first * row_bytes(block), 0, rows * row_bytes(block));
  if (!block.all_valid) std::memset(block.valid_row(first), 1, rows * block.slices);
}

void copy_elements(const Block& from, uint32_t from_first, Block& to, uint32_t to_first,
                   uint32_t count) {
  std::memcpy(to.data.data() + to_first * row_bytes(to),
              from.data.data() + from_first * row_bytes(from), count * row_bytes(from));
  copy_validity(from, from_first, to, to_first, count);
}

BlockRef convert_block(BlockPool& pool, const Block& from, DType to, uint32_t elements,
                       uint32_t total, bool relu) {
  BlockRef block = pool.allocate(to, total);
  const size_t count = size_t{elements} * from.slices;
  if (relu) {
    commit_cast_relu_array(from.data.data(), block->data.data(), count);
  } else {
    convert_array(from.dtype, to, from.data.data(), block->data.data(), count);
  }
  zero_elements(*block, elements);
  copy_validity(from, 0, *block, 0, elements);
  return block;
}

void trim_block(BlockPool& pool, BlockRef& block, uint32_t elements) {
  if (elements >= block->elements) return;
  if (block.unique()) {
    block->elements = elements;
    return;
  }
  BlockRef copy = pool.allocate(block->dtype, elements);
  copy_elements(*block, 0, *copy, 0, elements);
  block = std::move(copy);
}

}  // namespace rngdsim
