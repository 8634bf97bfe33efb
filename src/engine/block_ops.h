// SPDX-License-Identifier: Apache-2.0
// What adapters do to whole blocks. Plain functions; validity travels with the values.
#pragma once

#include <cstdint>

#include "channel/payload.h"
#include "numeric/dtype.h"

namespace rngdsim {

// A new block of `total` elements of type `to`: the leading `elements` of `from`, converted
// (numeric/convert.h; with `relu` the fused commit cast f32 -> bf16), then valid zeros.
// Preconditions: can_convert, elements <= from.elements, elements <= total.
BlockRef convert_block(BlockPool& pool, const Block& from, DType to, uint32_t elements,
                       uint32_t total, bool relu = false);

// Zero-point subtraction of a whole block of i4 or i8. `fits`: null where all valid elements fit
// into `to`; otherwise a block of the same size whose invalid elements are those that do not.
struct ZeroPointBlocks {
  BlockRef result, fits;
};
ZeroPointBlocks subtract_zero_point(BlockPool& pool, const Block& from, DType to,
                                    int64_t zero_point);

// Copies elements [from_first, from_first + count) of `from` to `to_first` on in `to`, same dtype.
// Elements of `to` that were not copied stay, valid where nothing else was said.
void copy_elements(const Block& from, uint32_t from_first, Block& to, uint32_t to_first,
                   uint32_t count);

// Elements from `first` on become valid zeros.
void zero_elements(Block& block, uint32_t first);

// Keeps the leading elements only: in place where nobody else holds the block.
void trim_block(BlockPool& pool, BlockRef& block, uint32_t elements);

// The flags of `to`, a block of as many elements as `from`: not valid where an element of `from` is
// not and is kept. `keep` as in StreamItem. Precondition: `from` has poison.
void mark_kept_poison(const Block& from, const Block& keep, Block& to);

}  // namespace rngdsim
