// SPDX-License-Identifier: Apache-2.0
// The Vector Engine: the chain between tag and filter, operations on the elements of a slice and
// reductions inside of it (vector_datapath.h). It belongs to one command at a time.
//
// Flits of 8 elements come in, one a cycle. Narrow split makes two steps of 4 of a flit, so that a
// flit takes two cycles; trim keeps the front four, one cycle [B]. A reduction folds a step a cycle
// into one of its slots and puts a slot out in the cycle of the last step of its axis, padded steps
// included [B]. Widen joins two steps, or fills one up with padding. Zip makes one of two.
//
// Each ALU makes the chain longer, not slower [B]: what leaves spends its cycles in a pipeline that
// stands still only where its end is refused.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "channel/vrf_reader.h"
#include "engine/ring.h"
#include "engine/vector_datapath.h"

namespace rngdsim {

class VectorEngine final : public Unit {
 public:
  struct Parameters {
    uint64_t alu_latency = 1;      // [B] cycles each ALU that a chain uses adds to its latency
    uint64_t convert_latency = 0;  // [A] the same of fxp_to_fp and fp_to_fxp
  };
  VectorEngine(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
               const Parameters& parameters);
  // Where VRF operands come from; before the run, and alive until its end.
  void set_vrf(const VrfReader* vrf) { vrf_ = vrf; }

  LinkIn<StreamItem> in{"in", "stream"};
  LinkOut<StreamItem> out{"out", "stream"};
  LinkOut<StreamItem> inter{"inter", "stream"};  // chains that the inter-slice reducer follows
  std::vector<PortBase*> ports() override { return {&in, &out, &inter}; }
  std::string waiting_for() const override;

 private:
  struct Leaving {
    Cycle ready = 0;  // the first cycle in which it may be pushed
    LinkOut<StreamItem>* port = nullptr;
    StreamItem item;
  };

  void tick(Cycle now) override;
  void drain(Cycle now);
  bool step(Cycle now);
  bool take_half(Cycle now);
  bool take_flit(Cycle now);
  void begin(const Command& of);
  bool has_room(Cycle now);
  void put(Cycle now, VectorDatapath::Result result);
  bool refuses(LinkOut<StreamItem>& port, Cycle now);

  Parameters parameters_;
  const VrfReader* vrf_ = nullptr;
  std::optional<CommandId> command_;  // whose flits come in
  const VectorConfig* config_ = nullptr;
  VectorDatapath chain_;
  LinkOut<StreamItem>* port_ = nullptr;  // of the present command
  uint64_t latency_ = 0;                 // of the present chain, without the link's
  bool last_flit_ = false;               // the flit taken last is the command's last
  uint64_t flits_ = 0;                   // made of the present command

  Ring<Leaving> pipeline_;  // oldest first
  Cycle last_ready_ = 0;    // of what entered last
  // Of the present cycle.
  bool pushed_ = false;
  const std::string* refused_by_ = nullptr;
};

}  // namespace rngdsim
