// SPDX-License-Identifier: Apache-2.0
// The Vector Engine, of which tag, narrow, intra-slice reduce and widen are modelled.
//
// Flits of 8 elements come in, one a cycle. Narrow split makes two steps of 4 of a flit, so that a
// flit takes two cycles; trim keeps the front four, one cycle [B]. A reduction folds a step a cycle
// into one of its slots and puts a slot out in the cycle of the last step of its axis, padded steps
// included [B]. Widen joins two steps, or fills one up with padding.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "channel/vrf_reader.h"
#include "engine/accumulator.h"
#include "engine/vector_reducer.h"

namespace rngdsim {

class VectorEngine final : public Unit {
 public:
  struct Parameters {
    uint64_t reduce_latency = 1;  // [A] cycles of a reduction to the next unit, the link's included
  };
  VectorEngine(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
               const Parameters& parameters);

  LinkIn<StreamItem> in{"in", "stream"};
  LinkOut<StreamItem> out{"out", "stream"};
  LinkOut<StreamItem> inter{"inter", "stream"};  // to the inter-slice reducer behind the chain
  std::vector<PortBase*> ports() override { return {&in, &out, &inter}; }
  // Where operands are read; outlives the unit.
  void set_vrf(const VrfReader* vrf) { vrf_ = vrf; }
  std::string waiting_for() const override;

 private:
  void tick(Cycle now) override;
  void begin(const Command& of);
  // Whether the present step puts something out.
  bool emits() const;
  // The 4 elements of the present step, or the whole flit.
  BlockRef step_values(const StreamItem& flit) const;
  std::vector<uint8_t> step_counts(const StreamItem& flit) const;
  BlockRef widened(BlockRef values);
  void put_out(Cycle now, BlockRef values, uint32_t valid);
  Link<StreamItem>& way_out() const;

  Parameters parameters_;
  const VrfReader* vrf_ = nullptr;
  std::optional<CommandId> command_;  // whose flits come in
  const VectorConfig* config_ = nullptr;
  uint64_t half_ = 0;     // of the present flit (split)
  uint64_t steps_ = 0;    // taken
  uint64_t results_ = 0;  // of narrow and reduce, before widen
  uint64_t flits_ = 0;    // put out
  SlotPlan plan_;
  VectorReducer reducer_;
  BlockRef first_half_;  // widen concat: the step that waits for its other half
};

}  // namespace rngdsim
