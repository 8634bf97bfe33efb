// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the Collect Engine: where flits end in a row of items. Plain class.
#pragma once

#include <cstdint>

#include "command/program.h"

namespace rngdsim {

// Walks the elements of equal items that make up packets, and cuts the packets to flits. Each step
// takes elements of one item for one flit: as many as are there, as fit, and as belong to the
// packet.
class FlitCutter {
 public:
  FlitCutter() = default;
  // Precondition: item_elements divides config.packet_elements.
  FlitCutter(const CollectConfig& config, uint64_t item_elements);

  struct Step {
    uint64_t item_begin = 0;  // first element taken, in the item
    uint64_t flit_begin = 0;  // where it goes in the flit
    uint64_t elements = 0;
    bool ends_item = false;
    bool ends_flit = false;  // full, or its packet ends: what is left of it is zeros
  };
  Step step() const;                       // the next one
  void take(const Step& step);             // precondition: step == step()
  uint64_t flit() const { return flit_; }  // number of the flit being filled, in the command
  bool done() const { return flit_ == flits_; }

 private:
  uint64_t packet_elements_ = 1, flit_elements_ = 1, item_elements_ = 1, flits_ = 0;
  uint64_t in_packet_ = 0, in_flit_ = 0, in_item_ = 0;
  uint64_t flit_ = 0;
};

}  // namespace rngdsim
