// SPDX-License-Identifier: Apache-2.0
// The Switch Engine: moves packets between the slices of a cluster along sub-rings [B].
//
// Takes at most one item a cycle (an access of Fetch, or a whole packet of a stream), puts flits
// together, and sends the flits of all slices round their sub-rings, one traversal after the other:
// a hop takes hop_cycles, and the next flit enters ring_size * hop_cycles after the one before. So
// T packets of F flits take ring_size * T * F cycles [B]. A flit that a router has put together
// leaves when its last traversal is over, `latency` cycles later, one a cycle and in the order of
// OutTime, while the next round of packets is on its way; where it cannot leave, the round after
// that waits [A]. Items and flits wait outside while a traversal lasts: one flit is put together
// meanwhile.
//
// It belongs to one command at a time [A], which comes in and leaves by the ports of its context.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "engine/flit_cutter.h"
#include "engine/switch_ring.h"

namespace rngdsim {

class SwitchEngine final : public Unit {
 public:
  struct Parameters {
    uint64_t hop_cycles = 1;  // [B] from one router to the next; 0: a flit is round in a cycle
    uint64_t latency = 0;     // [A] of what leaves, beside the traversal
    // [A] Traversals of which a command keeps the ring beyond its own, where its packets are of one
    // flit and the sub-rings of at least `short_ring` slices.
    uint64_t short_packet_traversals = 0;
    uint64_t short_ring = 8;
  };
  SwitchEngine(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
               const Parameters& parameters);

  LinkIn<StreamItem> in{"in", "stream"};
  LinkIn<StreamItem> sub_in{"sub_in", "stream"};
  LinkOut<StreamItem> out{"out", "stream"};
  LinkOut<StreamItem> sub_out{"sub_out", "stream"};
  std::vector<PortBase*> ports() override { return {&in, &sub_in, &out, &sub_out}; }
  std::string waiting_for() const override;

 private:
  struct InFlight {
    Cycle ready;
    StreamItem item;
  };
  void tick(Cycle now) override;
  void begin(const Command& of, LinkIn<StreamItem>& from, Cycle now);
  // Each: whether an item moved at a port; `blocked_` where one could not.
  bool take_in(Cycle now);
  bool put_out(Cycle now);
  void push(Cycle now, StreamItem item);
  void fill(BlockRef values, const FlitCutter::Step& step);
  // Tells once when nothing but what leaves is left to do.
  void look_whether_passed(Cycle now);
  // The hops that are due, and the next flit where the ring is free.
  void advance(Cycle now);
  void sleep_until_something_happens(Cycle now);

  Parameters parameters_;
  std::optional<CommandId> command_;  // from its first item to its last flit
  const SwitchConfig* config_ = nullptr;
  LinkIn<StreamItem>* from_ = nullptr;
  Link<StreamItem>* to_ = nullptr;
  FlitCutter cutter_;
  BlockRef flit_;          // being put together
  bool complete_ = false;  // flit_ (without values: what it stands for)
  SwitchRing ring_;
  bool passed_ = false;  // the last traversal is over, and what the ring is kept for
  uint64_t kept_ = 0;    // cycles of which the ring is kept beyond the last traversal
  Cycle next_hop_ = 0;   // of what is on the ring
  Cycle free_ = 0;       // when the next flit may enter
  std::deque<InFlight> in_flight_;
  bool blocked_ = false;  // in the present cycle
};

}  // namespace rngdsim
