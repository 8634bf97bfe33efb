// SPDX-License-Identifier: Apache-2.0
// The stash of the Vector Engine: what the stream held at one step of the chain, kept until a later
// step takes it as its operand, in order. Between the two the chain may narrow and widen, so that
// what was put in as a flit of 8 may be asked for in steps of 4 and the other way round. Plain
// class.
#pragma once

#include "channel/payload.h"
#include "command/program.h"
#include "engine/ring.h"

namespace rngdsim {

class VectorStash {
 public:
  // Empties the stash. `pool` outlives the blocks.
  void begin(const VectorConfig& config, BlockPool& pool);
  void put(BlockRef block);
  // The next `elements` elements, 8 or 4, cut and joined as the chain does it with the stream
  // between the step that puts and the one that takes: half after half (split), the front half
  // alone (trim), two halves (concat), one filled up with invalid elements (pad). InternalError
  // where nothing is there.
  BlockRef take(uint32_t elements);

 private:
  BlockRef next();
  BlockRef next_step();

  VectorConfig::Narrow narrow_ = VectorConfig::Narrow::kNone;
  VectorConfig::Widen widen_ = VectorConfig::Widen::kNone;  // between the two steps
  BlockPool* pool_ = nullptr;
  Ring<BlockRef> blocks_;
  bool front_taken_ = false;  // of the oldest (split)
};

// A new block of 8: the elements of a step of 4, then invalid zeros.
BlockRef padded_step(BlockPool& pool, const Block& step);
// A new block of 8 out of two steps of 4.
BlockRef joined_steps(BlockPool& pool, const Block& first, const Block& second);
// A new block of 4: half 0 or 1 of a flit.
BlockRef half_of(BlockPool& pool, const Block& flit, uint32_t half);

}  // namespace rngdsim
