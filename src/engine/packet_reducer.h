// SPDX-License-Identifier: Apache-2.0
// Packet Reducer: one tree a lane sums the innermost 2^depth products of a packet; what remains are
// at most 32 columns a lane.
//
// The latency belongs to the operand type, whatever the depth: 7 cycles for 4 bit, 6 for 8 bit, 5
// for 16 bit [B]. Fully pipelined: one packet in and one out a cycle [B]. The pipe is the link
// behind `out`, which must be at least required_depth() deep to flow at that rate.
#pragma once

#include <string>
#include <vector>

#include "channel/unit.h"
#include "engine/reduction_tree.h"
#include "engine/stream_path.h"

namespace rngdsim {

class PacketReducer final : public Unit {
 public:
  struct Parameters {
    uint64_t latency_4bit = 7;   // [B] i4, i5
    uint64_t latency_8bit = 6;   // [B] i8, i9, f8
    uint64_t latency_16bit = 5;  // [B] bf16
    uint64_t columns = 32;       // [B] that leave, at most
  };
  PacketReducer(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                const Parameters& parameters);

  LinkIn<StreamItem> in{"in", "stream"};     // products
  LinkOut<StreamItem> out{"out", "stream"};  // values: entry lane * columns + column
  std::vector<PortBase*> ports() override { return {&in, &out}; }

  // Cycles from taking a packet in to its sums being ready downstream.
  uint64_t latency(DType stream_dtype) const;
  // Items that the link behind `out` must hold for one packet a cycle.
  static uint64_t required_depth(const Parameters& parameters);
  std::string waiting_for() const override;

 private:
  void tick(Cycle now) override;
  void reduce(StreamItem& item, const Command& of, Cycle now);

  Parameters parameters_;
  ReductionTree tree_;
  StreamPath path_{in, out};
};

}  // namespace rngdsim
