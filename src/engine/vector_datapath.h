// SPDX-License-Identifier: Apache-2.0
// A whole vector chain without its clock: what a cycle of the Vector Engine does to values, and
// what of it leaves. A *step* is a flit of 8 or, between narrow and widen, 4 elements. Plain class.
//
// A flit that narrow splits is taken with its first half; the second half is the next step. Where
// two flits of a pair become one before narrow, the flit of group 0 makes no step, so that it can
// come together with the second half of the pair before it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "channel/item.h"
#include "engine/accumulator.h"
#include "engine/vector_lane.h"
#include "engine/vector_reducer.h"

namespace rngdsim {

class VectorDatapath {
 public:
  // What leaves: elements that hold something (see StreamItem), values and filter.
  struct Result {
    uint32_t valid = 8;
    BlockRef values, keep;
  };

  // `config` stays where it is while the chain is in use. `pool` null: values are not simulated.
  // `vrf` may be null where no step reads it.
  void begin(const VectorConfig& config, BlockPool* pool, uint32_t slices, const VrfReader* vrf);

  // The second half of the flit taken last is the next step.
  bool half_waits() const { return half_waits_; }
  // A flit of group 0 that would be held before narrow: it makes no step.
  bool holds_next_flit() const;
  // The flit stays where it comes from until its second half is taken; otherwise it is taken whole.
  bool flit_stays() const;
  // Whether take_flit() or take_half() would give a result.
  bool flit_emits() const;
  bool half_emits() const;

  // One cycle. Precondition of take_flit: !half_waits() or holds_next_flit().
  std::optional<Result> take_flit(StreamItem flit);
  std::optional<Result> take_half();

  // ALUs and conversions that the chain uses: what makes it long.
  uint64_t alus() const { return alus_; }
  uint64_t conversions() const { return conversions_; }

 private:
  enum class Place { kNowhere, kFront, kMiddle, kAfterReduce, kBack };

  void measure();
  DType type_at_reduction() const;
  uint8_t next_group() const { return config_->pair ? static_cast<uint8_t>(flits_ % 2) : 0; }
  bool step_emits(uint8_t group) const;
  VectorItem entered(StreamItem& flit) const;
  BlockRef compared(const Block& values) const;
  VectorItem narrowed(const VectorItem& flit) const;
  std::optional<Result> step(VectorItem item);
  bool reduce(VectorItem& item);
  void count_elements(const VectorItem& item);
  bool widen(VectorItem& item);
  VectorTags joined(const VectorTags& first, const VectorTags& second) const;
  Result result(VectorItem item) const;

  const VectorConfig* config_ = nullptr;
  VectorResources resources_;
  VectorLane front_, middle_, after_reduce_, back_;
  Place zip_ = Place::kNowhere;
  uint64_t alus_ = 0, conversions_ = 0;

  uint64_t flits_ = 0;    // taken
  uint64_t results_ = 0;  // of 4 elements, that came to widen
  uint32_t valid_ = 8;    // of the present step
  bool half_waits_ = false;
  VectorItem wide_;    // the flit of which the second half waits
  uint32_t half_ = 0;  // of a flit: that of the present step
  SlotPlan plan_;
  VectorReducer reducer_;
  std::vector<uint8_t> counts_;  // of the present step, a slice
  VectorItem first_half_;        // widen concat: the step that waits for its other half
};

}  // namespace rngdsim
