// SPDX-License-Identifier: Apache-2.0
// The Time Reducer without its clock: which slot a packet belongs to, which slots are taken, and
// the sums.
#pragma once

#include <cstdint>
#include <vector>

#include "channel/payload.h"
#include "command/program.h"

namespace rngdsim {

// Walks Time. A group is everything inside the outermost reduced loop, that loop included; it uses
// as many slots as its kept loops have positions, and the next group the slots after these, in
// rotation [A]. Without a reduced loop each packet is a group of its own.
class SlotPlan {
 public:
  struct Step {
    uint32_t slot = 0;
    bool first = true;  // overwrites the slot
    bool last = true;   // completes it
  };
  SlotPlan() = default;
  explicit SlotPlan(const TimeReduceConfig& config);

  const Step& step() const { return step_; }  // of the next packet; precondition: !done()
  void next();
  bool done() const { return done_; }
  uint64_t slots() const { return slots_; }  // a group

 private:
  struct Loop {
    uint64_t size;
    uint64_t slot_stride;  // slots a step; 0: reduced
    uint64_t count;
  };
  void update();

  std::vector<Loop> loops_;  // of a group, innermost first
  uint64_t groups_left_ = 1;
  uint64_t slots_ = 1, capacity_ = 1;
  uint64_t base_ = 0;
  bool done_ = false;
  Step step_;
};

// The slots: their occupancy and sums. A block is a packet of the Packet Reducer, rows lane *
// columns + column; null blocks (values not simulated) are kept like any other.
class Accumulator {
 public:
  // Makes room for `slots` slots; precondition: none is occupied.
  void resize(uint64_t slots);
  uint64_t size() const { return slots_.size(); }

  bool occupied(uint32_t slot) const { return slots_[slot].occupied; }
  bool empty() const { return occupied_ == 0; }
  // Takes the block over as the slot's sum. Precondition: the slot is free.
  void overwrite(uint32_t slot, BlockRef packet);
  // Adds the packet to the slot in slices [0, slices): f32 (see numeric/arithmetic.h) or wrapping
  // i32. A sum is valid where both were. Precondition: the slot is occupied.
  void add(uint32_t slot, const BlockRef& packet, uint32_t slices);
  const BlockRef& sum(uint32_t slot) const { return slots_[slot].sum; }
  // Precondition: the slot is occupied.
  void release(uint32_t slot);

 private:
  struct Slot {
    bool occupied = false;
    BlockRef sum;
  };
  std::vector<Slot> slots_;
  uint64_t occupied_ = 0;
};

}  // namespace rngdsim
