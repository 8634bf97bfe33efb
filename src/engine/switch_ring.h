// SPDX-License-Identifier: Apache-2.0
// The sub-rings of the Switch Engine without their clock: a flit of every slice goes from router to
// router, and each router puts what it takes together to packets. Plain class.
//
// A flit enters at the router of its own slice and moves on to the next higher slice of the
// sub-ring, the last one's to the first [A: the links go both ways, which way is not published]. So
// after h hops router r holds the flit of source (r - h) mod ring_size, and after ring_size - 1
// every router has seen every flit of its sub-ring: a traversal is over. A router that has the
// source in its snoop bitmap takes a copy.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "channel/payload.h"
#include "command/program.h"

namespace rngdsim {

class SwitchRing {
 public:
  // A flit that leaves, in the order of OutTime and Packet.
  struct Flit {
    uint64_t index = 0;
    uint32_t elements = 1;
    BlockRef values;  // null where values are not simulated
  };

  // `sends`, `gets`: a flag an entry of blocks, 0: the slice holds nothing before or behind the
  // switch; empty: all may hold something. What a slice without elements sends is poison. `pool`
  // null: values are not simulated. Preconditions: ring_size divides the pool's slices; `config`
  // outlives the ring.
  void begin(const SwitchConfig& config, BlockPool* pool, std::vector<uint8_t> sends,
             std::vector<uint8_t> gets);

  // Whether the next flit may enter: the one before is round, and a router has a place for what it
  // takes. Two rounds have one: that which is sent and that which leaves.
  bool can_enter() const;
  // The next flit of every slice enters, which its own router sees. Precondition: can_enter().
  void enter(const BlockRef& values);
  // All flits move to the next router. Precondition: moving().
  void hop();
  bool moving() const { return on_ring_ && hops_ + 1 < config_->ring_size; }

  // Whether the flit that leaves next has been round.
  bool has_output() const;
  // Precondition: has_output().
  Flit take_output();
  uint64_t entered() const { return entered_; }  // flits of a slice
  uint64_t given() const { return given_; }
  uint64_t hops() const { return hops_; }  // of the present traversal

 private:
  struct Round {
    uint64_t traversals = 0;      // that are over
    uint64_t given = 0;           // flits that have left
    std::vector<BlockRef> flits;  // by place in round_out, then flit of the packet
  };
  uint64_t flit_in_packet(uint64_t flit) const { return flit % config_->flits_per_packet; }
  uint32_t elements_of(uint64_t flit_in_packet) const;
  void load(const BlockRef& values);
  void see();
  void take(uint32_t router, uint32_t source);
  void finish_traversal();
  BlockRef new_output(uint32_t elements) const;

  const SwitchConfig* config_ = nullptr;
  BlockPool* pool_ = nullptr;
  std::vector<uint8_t> sends_, gets_;
  // takers_[h]: the routers that take what they see after h hops.
  std::vector<std::vector<uint32_t>> takers_;
  std::vector<uint64_t>
      last_packet_;     // by place in round_out: the packet of round_in that fills it
  BlockRef registers_;  // of all routers: what each holds at present
  bool on_ring_ = false;
  uint64_t hops_ = 0;
  uint64_t entered_ = 0, given_ = 0;
  std::deque<Round> rounds_;  // oldest first
};

}  // namespace rngdsim
