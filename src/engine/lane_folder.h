// SPDX-License-Identifier: Apache-2.0
// Lane Folder: drains a finished slot through a bus of 8 elements, one 32 B flit a cycle.
//
// Interleaved: flit c holds column c of all lanes, OutTime = [Time, Packet], OutPacket = [Lane #
// 8]. Sequential: lane by lane, eight columns a flit, OutTime = [Time, Lane, Packet' / 8],
// OutPacket = [Packet' % 8], Packet' being Packet padded to a multiple of 8 [B]. Bus positions
// without a lane or column hold zero bits and are poison. The slot is released in the cycle of its
// last flit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "channel/unit.h"

namespace rngdsim {

class LaneFolder final : public Unit {
 public:
  struct Parameters {
    uint64_t bus_elements = 8;  // [B] 32-bit elements a cycle
  };
  LaneFolder(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
             const Parameters& parameters);

  LinkIn<StreamItem> in{"in", "stream"};           // finished slots
  LinkOut<StreamItem> out{"out", "stream"};        // flits
  LinkOut<StreamItem> vector{"vector", "stream"};  // flits that enter the Vector Engine's chain
  LinkOut<StreamItem> inter{"inter", "stream"};    // flits that enter the inter-slice reducer
  LinkOut<SlotRelease> release{"release", "slot release"};
  std::vector<PortBase*> ports() override { return {&in, &out, &vector, &inter, &release}; }

  // The entry of a slot's block (lane * columns + column) that bus position `position` of flit
  // `flit` carries; nothing where there is none.
  static std::optional<uint64_t> entry(const LaneFoldConfig& config, uint64_t bus_elements,
                                       uint64_t flit, uint64_t position);

  std::string waiting_for() const override;

 private:
  void tick(Cycle now) override;
  Link<StreamItem>& way_of(const Command& of);
  // Bus positions of the present flit that carry something.
  uint32_t entries(const LaneFoldConfig& config) const;
  BlockRef flit_values(const Block& slot, const Command& of) const;

  Parameters parameters_;
  uint64_t flit_ = 0;    // next of the present slot
  bool active_ = false;  // between the first and the last flit of a command
};

}  // namespace rngdsim
