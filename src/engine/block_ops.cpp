// SPDX-License-Identifier: Apache-2.0
#include "engine/block_ops.h"

#include <algorithm>
#include <array>
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

namespace {

template <typename To>
bool look_up(const Block& from, const std::array<ZeroPointResult, 256>& table, To* out,
             uint8_t* fits) {
  const size_t count = size_t{from.elements} * from.slices;
  const uint8_t* valid = from.all_valid ? nullptr : from.valid_row(0);
  bool all_fit = true;
  for (size_t i = 0; i < count; ++i) {
    const ZeroPointResult& result = table[from.data[i]];
    out[i] = static_cast<To>(result.bits);
    const bool fine = result.fits || (valid != nullptr && valid[i] == 0);
    if (fits != nullptr) fits[i] = fine ? 1 : 0;
    all_fit = all_fit && fine;
  }
  return all_fit;
}

}  // namespace

ZeroPointBlocks subtract_zero_point(BlockPool& pool, const Block& from, DType to,
                                    int64_t zero_point) {
  std::array<ZeroPointResult, 256> table;
  bool always = true;
  for (uint32_t code = 0; code < table.size(); ++code) {
    table[code] = rngdsim::subtract_zero_point(from.dtype, code, zero_point);
    always = always && table[code].fits;
  }
  ZeroPointBlocks blocks{pool.allocate(to, from.elements), BlockRef()};
  uint8_t* flags = nullptr;
  if (!always) {
    blocks.fits = pool.allocate(to, from.elements);
    blocks.fits->track_validity();
    flags = blocks.fits->valid_row(0);
  }
  uint8_t* out = blocks.result->data.data();
  const bool all_fit = storage_bytes(to) == 1
                           ? look_up(from, table, out, flags)
                           : look_up(from, table, reinterpret_cast<uint16_t*>(out), flags);
  copy_validity(from, 0, *blocks.result, 0, from.elements);
  if (all_fit) blocks.fits = BlockRef();
  return blocks;
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

void mark_kept_poison(const Block& from, const Block& keep, Block& to) {
  to.track_validity();
  for (uint32_t e = 0; e < from.elements; ++e) {
    const uint8_t* valid = from.valid_row(e);
    const uint8_t* kept = e < keep.elements ? keep.row<uint8_t>(e) : nullptr;
    uint8_t* flags = to.valid_row(e);
    for (uint32_t s = 0; s < from.slices; ++s) {
      flags[s] = valid[s] != 0 || (kept != nullptr && kept[s] == 0) ? 1 : 0;
    }
  }
}

}  // namespace rngdsim
