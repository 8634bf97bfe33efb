// SPDX-License-Identifier: Apache-2.0
// Stream Adapter: packs 1 or 2 flits into a packet and sends it TimeBroadcast times.
//
// OutTime = [Time / PackSize, TimeBroadcast], OutPacket = [Time % PackSize, Packet] [S]. Takes one
// flit a cycle; a packet leaves in the cycle in which its last flit is taken in, and one a cycle
// while it repeats. The next packet is collected while the present one repeats [S]. The lanes get
// the same packet, so LaneBroadcast costs nothing here. The zeros that fill a packet of one flit up
// to 64 B never reach OutPacket and have no representation.
#pragma once

#include <string>
#include <vector>

#include "channel/unit.h"

namespace rngdsim {

class StreamAdapter final : public Unit {
 public:
  StreamAdapter(sc_core::sc_module_name name, Clock& clock, const RunContext& context);

  LinkIn<StreamItem> in{"in", "stream"};     // flits
  LinkOut<StreamItem> out{"out", "stream"};  // packets (flits, no values); index over OutTime
  std::vector<PortBase*> ports() override { return {&in, &out}; }

  // packets_collected: packets before they are repeated. items_out counts each time one is sent.
  void add_extra_counters(UnitCounters& counters) const override;
  std::string waiting_for() const override;

 private:
  void tick(Cycle now) override;
  bool forward(Cycle now);
  void collect(Cycle now);  // one flit into the packet being collected
  void present();           // the collected packet is the one to send
  bool send(Cycle now);     // the present packet once more

  // The packet being collected, then the one being sent.
  StreamItem collecting_, present_;
  uint64_t collected_ = 0;     // flits in collecting_
  bool complete_ = false;      // collecting_ waits until present_ has been sent often enough
  uint64_t repeats_left_ = 0;  // of present_; 0: there is none
  uint64_t sent_ = 0;          // packets of the command, repeats counted
  bool active_ = false;        // between the first and the last item of a command
  bool out_blocked_ = false;   // in the present cycle
  uint64_t packets_collected_ = 0;
};

}  // namespace rngdsim
