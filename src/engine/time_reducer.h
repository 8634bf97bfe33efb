// SPDX-License-Identifier: Apache-2.0
// Time Reducer: accumulates packets of the same surviving Time position in a slot and hands
// finished slots to the Lane Folder.
//
// 1,024 accumulator cells; a slot holds [Lane # 8, Packet] (interleaved) or [Lane, Packet # 32]
// (sequential) [B]. One packet a cycle in, at most one result a cycle out; the result that a packet
// completes leaves in the cycle in which the packet is taken in. A packet that opens a slot waits
// until the slot is free: the cycle after the slot's last value drained [A].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "channel/unit.h"
#include "engine/accumulator.h"

namespace rngdsim {

class TimeReducer final : public Unit {
 public:
  struct Parameters {
    uint64_t cells = 1024;  // [B] 32-bit accumulator cells
    uint64_t columns = 32;  // [B] of a packet, at most
  };
  TimeReducer(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
              const Parameters& parameters);

  LinkIn<StreamItem> in{"in", "stream"};     // reduced packets
  LinkOut<StreamItem> out{"out", "stream"};  // finished slots; index over OutTime
  LinkIn<SlotRelease> release{"release", "slot release"};
  std::vector<PortBase*> ports() override { return {&in, &out, &release}; }

  std::string waiting_for() const override;

 private:
  struct Result {
    CommandId command;
    uint64_t index;
    bool last;
    uint32_t slot;
    uint32_t valid;
  };
  void tick(Cycle now) override;
  bool take_in(Cycle now);
  bool forward(Cycle now);
  bool put_out(Cycle now);
  void begin(const Command& of, Cycle now);
  void accumulate(const Command& of, StreamItem packet);

  Parameters parameters_;
  // The command whose packets come in.
  std::optional<CommandId> command_;
  SlotPlan plan_;
  uint64_t results_ = 0;  // completed
  Accumulator slots_;
  // Completed and not yet handed on, a ring; as many as there are slots at most.
  std::vector<Result> finished_;
  size_t finished_head_ = 0, finished_count_ = 0;
  bool active_ = false;   // between the first packet and the last result of a command
  bool blocked_ = false;  // in the present cycle
};

}  // namespace rngdsim
