// SPDX-License-Identifier: Apache-2.0
// How DMA reaches the data memory of the slices: the data memory networks (DMN) and the queues of
// the slices. Plain class, a call a cycle.
//
// A request goes to one slice, whose queue holds two [B], and moves in beats of up to 128 B. The
// banks of a beat are independent requests, and the beat is complete with the last of them [A]: a
// bank that fetch or commit have in this cycle is not available (the same in all slices, which run
// in lockstep). A DMN moves one complete beat a cycle [B]: of its slices that of the oldest
// request; a slice that waits for a bank holds up no other.
#pragma once

#include <cstdint>
#include <vector>

#include "channel/dma_item.h"
#include "memory/bank_arbiter.h"

namespace rngdsim {

class DmnQueues {
 public:
  struct Parameters {
    uint64_t clusters = 2, slices = 256;  // a cluster
    uint64_t dmn_slices = 32;             // [B] of a DMN, at most 64
    uint64_t slice_stride = uint64_t{4} << 20;
    uint64_t beat_bytes = 128;            // [B] a cycle and DMN
    uint64_t beats = 1, beat_cycles = 1;  // [B] a DMN moves so many beats in so many cycles
    uint64_t queue = 2;                   // [B] requests of a slice
    uint64_t starvation = 64;  // [B] cycles in a row in which a bank is held while a beat waits
    // The clusters are served apart: fetch and commit of each have banks of their own.
    bool apart = false;
  };
  DmnQueues(const Parameters& parameters, const BankArbiter& arbiter);

  // Where a request goes. Precondition of the others: slice < slices of the chip.
  uint64_t slice_of(const DmaRequest& request) const {
    return request.address / parameters_.slice_stride;
  }
  uint64_t byte_of(const DmaRequest& request) const {
    return request.address % parameters_.slice_stride;
  }
  uint64_t slices() const { return waiting_.size(); }
  // Slices whose fetch and commit do the same: all of them, or those of a cluster.
  size_t groups() const { return starving_.size(); }
  size_t group_of(const DmaRequest& request) const {
    return groups() == 1 ? 0 : static_cast<size_t>(slice_of(request) / parameters_.slices);
  }

  bool can_accept(const DmaRequest& request) const {
    return waiting_[slice_of(request)] < parameters_.queue;
  }
  // `port`: handed back.
  void accept(const DmaRequest& request, uint32_t port);
  bool empty() const { return size_ == 0; }

  // A request in the queue of its slice, or just complete.
  struct Entry {
    DmaRequest request;
    uint32_t port = 0;
    uint32_t slice = 0;    // of its cluster
    uint32_t done = 0;     // bytes of the beats that have moved
    uint32_t beat = 0;     // bytes of the present one
    BankMask waiting = 0;  // banks that it still needs
  };

  // The cycle `now`; they ascend. `taken`: banks that fetch and commit have, by group. Calls
  // complete(entry) for each request whose last beat has moved, by DMN, and lost(entry, bank) for
  // each that waits for a taken bank (the lowest). Returns whether a beat has moved.
  template <typename Complete, typename Lost>
  bool advance(Cycle now, const BankMask* taken, Complete&& complete, Lost&& lost) {
    bool moved = false;
    for (Starving& group : starving_) group.now = 0;
    for (size_t i = 0; i < dmns_.size(); ++i) {
      if (dmns_[i].empty()) continue;
      const size_t group = group_of_dmn(i);
      // In parts of cycles, so that beats of a cycle and a part follow each other without losing
      // any.
      const bool is_free = free_at_[i] < (now + 1) * parameters_.beats;
      const bool moves =
          advance_dmn(dmns_[i], taken[group], starving_[group].now, is_free, complete, lost);
      if (moves) {
        free_at_[i] = std::max(free_at_[i], now * parameters_.beats) + parameters_.beat_cycles;
      }
      moved = moves || moved;
    }
    count_starvation();
    return moved;
  }
  // The banks of a group at which a beat has waited, since the last call with anything else, for
  // exactly `starvation` cycles by now: to be told.
  BankMask starved(size_t group) const { return starving_[group].told; }
  // A request of the group whose present beat waits for the bank; the precondition is that one
  // does.
  const DmaRequest& waits_for(size_t group, uint32_t bank) const;
  // To be called in cycles in which advance() is not.
  void nothing_waits();

 private:
  template <typename Complete, typename Lost>
  bool advance_dmn(std::vector<Entry>& dmn, BankMask taken, BankMask& starving, bool is_free,
                   Complete&& complete, Lost&& lost) {
    uint64_t seen = 0;  // slices; only the head of a queue is served
    bool moved = false;
    for (size_t i = 0; i < dmn.size();) {
      Entry& entry = dmn[i];
      const uint64_t slice = uint64_t{1} << entry.slice % parameters_.dmn_slices;
      if ((seen & slice) != 0) {
        ++i;
        continue;
      }
      seen |= slice;
      entry.waiting &= taken;
      if (entry.waiting != 0) {
        starving |= entry.waiting;
        lost(entry, lowest_bank(entry.waiting));
      } else if (is_free && !moved) {
        moved = true;
        if (finish_beat(entry)) {
          complete(entry);
          dmn.erase(dmn.begin() + static_cast<std::ptrdiff_t>(i));
          continue;
        }
      }
      ++i;
    }
    return moved;
  }
  static uint32_t lowest_bank(BankMask banks) {
    uint32_t bank = 0;
    while ((banks >> bank & 1) == 0) ++bank;
    return bank;
  }
  void begin_beat(Entry& entry) const;
  bool finish_beat(Entry& entry);  // true: it was the last
  void count_starvation();
  size_t group_of_dmn(size_t dmn) const {
    return groups() == 1 ? 0 : dmn / static_cast<size_t>(dmns_a_cluster_);
  }
  // Banks for which beats wait.
  struct Starving {
    BankMask now = 0, told = 0;
    BankMask counted = 0;          // whose count is not 0
    std::vector<uint32_t> cycles;  // by bank
  };

  Parameters parameters_;
  const BankArbiter& arbiter_;
  uint64_t dmns_a_cluster_;
  std::vector<uint64_t> free_at_;  // by DMN, in 1 / beats of a cycle: when its next beat may move
  std::vector<std::vector<Entry>> dmns_;  // in the order of arrival
  std::vector<uint8_t> waiting_;          // by slice: requests in its queue
  size_t size_ = 0;

  std::vector<Starving> starving_;  // by group
};

}  // namespace rngdsim
