// SPDX-License-Identifier: Apache-2.0
// Who watches a run: is told what happens on links and in units when it happens.
//
// Within a cycle the calls come in the order in which units are evaluated, which means nothing: an
// observer collects them and looks at the cycle as a whole in the next cycle_begins().
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "channel/item.h"
#include "command/program.h"

namespace rngdsim {

using Cycle = uint64_t;
class LinkBase;
class Unit;

class RunObserver {
 public:
  virtual ~RunObserver() = default;

  // Once, before anything else: units and links in the order of the topology file, by which they
  // are numbered below. They live until finished() has returned.
  virtual void attached(const Program& program, const std::vector<std::unique_ptr<Unit>>& units,
                        const std::vector<std::unique_ptr<LinkBase>>& links) = 0;
  // Every unit of the cycles before `now` has run; those of `now` are going to. Cycles left out
  // are those in which no unit runs: everything stays as it is.
  virtual void cycle_begins(Cycle now) = 0;
  virtual void command_began(CommandId command, Cycle begin) = 0;
  virtual void command_ended(CommandId command, Cycle end) = 0;
  // `ready`: the cycle from which on the item can be popped.
  virtual void pushed(uint32_t link, Cycle now, Cycle ready, const ItemTag& item) = 0;
  virtual void popped(uint32_t link, Cycle now) = 0;
  // The producer found no space. The link stalls from `now` on, up to and including the cycle in
  // which an item is popped.
  virtual void refused(uint32_t link, Cycle now) = 0;
  // The unit has run, or an arbitration that it lost was booked to it: its state may have changed.
  virtual void touched(uint32_t unit, Cycle now) = 0;
  // The run is over: `end` is one past its last cycle.
  virtual void finished(Cycle end) = 0;
};

}  // namespace rngdsim
