// SPDX-License-Identifier: Apache-2.0
#include "engine/vector_stash.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/block_ops.h"
#include "support/diagnostic.h"

namespace rngdsim {
namespace {

constexpr uint32_t kWide = 8, kNarrow = 4;  // elements [B]

bool puts_stash(const VectorStep& step) { return step.kind == VectorStep::Kind::kStash; }
bool takes_stash(const VectorStep& step) {
  return std::any_of(step.slots.begin(), step.slots.end(), [](const VectorStep::Slot& slot) {
    return slot.operand.kind == VectorOperand::Kind::kStash;
  });
}
bool any_step(const std::vector<VectorStep>& steps, bool (*does)(const VectorStep&)) {
  return std::any_of(steps.begin(), steps.end(), does);
}

}  // namespace

BlockRef padded_step(BlockPool& pool, const Block& step) {
  BlockRef flit = pool.allocate(step.dtype, kWide);
  copy_elements(step, 0, *flit, 0, kNarrow);
  zero_elements(*flit, kNarrow);
  flit->track_validity();
  std::fill_n(flit->valid_row(kNarrow), size_t{kWide - kNarrow} * flit->slices, uint8_t{0});
  return flit;
}

BlockRef joined_steps(BlockPool& pool, const Block& first, const Block& second) {
  BlockRef flit = pool.allocate(second.dtype, kWide);
  copy_elements(first, 0, *flit, 0, kNarrow);
  copy_elements(second, 0, *flit, kNarrow, kNarrow);
  return flit;
}

BlockRef half_of(BlockPool& pool, const Block& flit, uint32_t half) {
  BlockRef step = pool.allocate(flit.dtype, kNarrow);
  copy_elements(flit, half * kNarrow, *step, 0, kNarrow);
  return step;
}

void VectorStash::begin(const VectorConfig& config, BlockPool& pool) {
  narrow_ = config.narrow;
  const bool widens = any_step(config.back, takes_stash) && !any_step(config.back, puts_stash);
  widen_ = widens ? config.widen : VectorConfig::Widen::kNone;
  pool_ = &pool;
  blocks_.clear();
  front_taken_ = false;
}

void VectorStash::put(BlockRef block) { blocks_.push_back(std::move(block)); }

BlockRef VectorStash::next() {
  if (blocks_.empty()) throw InternalError("vector stash read before it was written");
  return blocks_.pop_front();
}

// As the stream passes between narrow and widen.
BlockRef VectorStash::next_step() {
  if (blocks_.empty() || blocks_.front()->elements == kNarrow) return next();
  if (narrow_ == VectorConfig::Narrow::kTrim) return half_of(*pool_, *next(), 0);
  front_taken_ = !front_taken_;
  if (front_taken_) return half_of(*pool_, *blocks_.front(), 0);
  return half_of(*pool_, *next(), 1);
}

BlockRef VectorStash::take(uint32_t elements) {
  if (elements == kNarrow) return next_step();
  const bool whole = !blocks_.empty() && blocks_.front()->elements == kWide && !front_taken_;
  const bool same =
      narrow_ == VectorConfig::Narrow::kSplit && widen_ == VectorConfig::Widen::kConcat;
  if (widen_ == VectorConfig::Widen::kNone || (same && whole)) return next();
  const BlockRef first = next_step();
  if (widen_ == VectorConfig::Widen::kPad) return padded_step(*pool_, *first);
  return joined_steps(*pool_, *first, *next_step());
}

}  // namespace rngdsim
