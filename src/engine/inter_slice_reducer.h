// SPDX-License-Identifier: Apache-2.0
// The inter-slice reducer: folds the innermost slices of a cluster into one value along a ring.
//
// A flit a cycle comes in and a flit a cycle leaves. A result leaves (ratio - 1) * hop_cycles
// cycles after the last flit that it is made of came in: O(ratio), one way round the ring [B]. So a
// stream of T flits ends T - 1 + (ratio - 1) * hop_cycles after its first flit came in, besides the
// link. The ring holds what is on its way; where a result cannot leave, all behind it waits [A].
// It belongs to one command at a time, which enters through `in` or `sub_in`, or, behind the chain
// of the Vector Engine, through `vector`; results go on to the chain or leave the engine.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "engine/inter_slice_fold.h"

namespace rngdsim {

class InterSliceReducer final : public Unit {
 public:
  struct Parameters {
    uint64_t hop_cycles = 1;  // [A] from one slice of the ring to the next
    // [A] the same of what comes straight from a contraction
    uint64_t hop_cycles_contraction = 1;
  };
  InterSliceReducer(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                    const Parameters& parameters);

  LinkIn<StreamItem> in{"in", "stream"};
  LinkIn<StreamItem> sub_in{"sub_in", "stream"};
  LinkIn<StreamItem> vector{"vector", "stream"};
  LinkOut<StreamItem> chain{"chain", "stream"};
  LinkOut<StreamItem> out{"out", "stream"};
  std::vector<PortBase*> ports() override { return {&in, &sub_in, &vector, &chain, &out}; }
  std::string waiting_for() const override;

 private:
  struct InFlight {
    Cycle ready;
    StreamItem item;
  };
  void tick(Cycle now) override;
  LinkIn<StreamItem>* port_with_item(Cycle now);
  void begin(const Command& of, LinkIn<StreamItem>* from);
  // Each: whether an item moved; `blocked_` where one could not.
  bool put_out(Cycle now);
  bool take_in(Cycle now, bool put);
  void push(Cycle now, StreamItem item);

  Parameters parameters_;
  std::optional<CommandId> command_;  // from its first input flit to its last result
  const InterSliceConfig* config_ = nullptr;
  LinkIn<StreamItem>* from_ = nullptr;
  Link<StreamItem>* to_ = nullptr;
  uint64_t tail_ = 0;  // cycles that a result is on its way
  uint64_t taken_ = 0, results_ = 0;
  InterSliceFold fold_;
  std::deque<InFlight> in_flight_;
  bool blocked_ = false;  // in the present cycle
};

}  // namespace rngdsim
