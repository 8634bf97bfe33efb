// SPDX-License-Identifier: Apache-2.0
// Multiplier: joins a packet of the stream with an operand of the TRF, every active lane a full
// packet of products each cycle [S].
//
// Products travel as their operands; the Packet Reducer multiplies and sums them in one go, bit for
// bit as if they had been multiplied here. Only a command that has no contract_packet gets a block
// of products: entry lane * packet_elements + element, of the accumulator type.
#pragma once

#include <string>
#include <vector>

#include "channel/unit.h"
#include "engine/reduction_tree.h"

namespace rngdsim {

class Multiplier final : public Unit {
 public:
  Multiplier(sc_core::sc_module_name name, Clock& clock, const RunContext& context);

  LinkIn<StreamItem> stream{"stream", "stream"};
  LinkIn<StreamItem> trf{"trf", "trf data"};
  LinkOut<StreamItem> out{"out", "stream"};
  std::vector<PortBase*> ports() override { return {&stream, &trf, &out}; }

  // Cycles in which the first and the last packet of a command were multiplied; packets 0: none
  // yet.
  struct Activity {
    uint64_t packets = 0;
    Cycle first = 0, last = 0;
  };
  Activity activity(CommandId command) const;

  // active_lanes: a bit a lane, set in the cycles in which it multiplies.
  std::vector<Signal> signals() const override;
  std::string waiting_for() const override;

 private:
  void tick(Cycle now) override;
  StreamItem multiply(StreamItem packet, StreamItem operand, Cycle now);

  ReductionTree products_;
  bool active_ = false;             // between the first and the last packet of a command
  std::vector<Activity> activity_;  // by command
  Cycle multiplied_ = ~Cycle{0};    // when a packet was multiplied last, in lanes_ lanes
  uint64_t lanes_ = 0;
};

}  // namespace rngdsim
