// SPDX-License-Identifier: Apache-2.0
// One channel of the HBM and its controller: a queue, the open rows, the data path. Event driven;
// no SystemC, no values.
//
// A request is part or all of one line (256 B) and takes one transfer. The controller is FR-FCFS
// [B]: of the queued requests whose row is open, the one goes first that can start first, and of
// those the oldest. It starts at an edge of the controller's clock. What a transfer waits for:
//
//   the transfer before it   `transfer` cycles, and more where both lie in one bank group or in
//                            different slices [B, applied between requests: A]
//   a row not yet open       opening the row of a closed bank delays only that bank, and begins as
//                            soon as the request is queued
//   another row of its bank  the row is changed, in `row_change` cycles, where no queued request
//                            is for the row that is open. Nothing in a bank forbids that the change
//                            begins with the last transfer of that row. What else a change holds up
//                            is not published: see RowChanges.
//
// A write of less than a line is a read-modify-write and holds the channel for
// `read_modify_write`. No refresh, no turnaround between reads and writes [A].
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "memory/hbm_address.h"

namespace rngdsim {

// Time in units in which the periods of both clocks are whole: with 1000 and 750 MHz a unit is
// 1/3 ns, a cycle of the chip 3 units and a cycle of the controller 4.
using HbmTime = uint64_t;
inline constexpr HbmTime kHbmNever = std::numeric_limits<HbmTime>::max();

struct HbmClocks {
  uint64_t chip_mhz = 1000, controller_mhz = 750;  // [B]; not 0

  HbmTime chip_period() const { return controller_mhz / std::gcd(chip_mhz, controller_mhz); }
  HbmTime controller_period() const { return chip_mhz / std::gcd(chip_mhz, controller_mhz); }
  HbmTime time_of(uint64_t chip_cycle) const { return chip_cycle * chip_period(); }
  // The first cycle of the chip that does not begin before `time`.
  uint64_t cycle_of(HbmTime time) const { return (time + chip_period() - 1) / chip_period(); }
};

// What a row change (closing a row and opening another) keeps from going on besides its bank [A].
enum class RowChanges {
  kHoldChannel,  // every transfer of the channel; begins where no open row is asked for
  kOneAtATime,   // other row changes of the channel
  kOverlap,      // nothing
};

// What a bank did. Each request is a row hit, a row miss or a row conflict.
struct HbmBankCounters {
  uint64_t requests = 0;  // transfers of a line or a part of it
  uint64_t bytes = 0;
  uint64_t row_hits = 0;       // of a row opened for an earlier request
  uint64_t row_misses = 0;     // opened the row of a closed bank
  uint64_t row_conflicts = 0;  // changed the row of a bank
  uint64_t misaligned_reads = 0;
  uint64_t read_modify_writes = 0;

  HbmBankCounters& operator+=(const HbmBankCounters& o);
};

struct HbmChannelCounters : HbmBankCounters {
  HbmTime busy = 0;  // transfers, read-modify-writes, row changes that hold the channel

  HbmChannelCounters& operator+=(const HbmChannelCounters& o);
};

// A request to one channel. `place` is that of its first byte; stack and channel are not looked at.
struct HbmAccess {
  uint64_t id = 0;  // handed back; nothing else is done with it
  HbmPlace place;
  uint32_t bytes = 0;  // at least 1; a line at most
  bool write = false;
  bool misaligned = false;  // counted where it is a read: the request crossed a line needlessly
};

// A read whose data are there, or a write that is done.
struct HbmCompletion {
  HbmTime time = 0;
  uint64_t id = 0;

  bool operator==(const HbmCompletion& o) const { return time == o.time && id == o.id; }
};

class HbmChannel {
 public:
  struct Parameters {
    HbmClocks clocks;
    uint32_t queue_entries = 64;  // [B]
    // Cycles of the controller.
    uint64_t transfer = 4;             // [B] of a line
    uint64_t other_bank_group = 4;     // from the start of a transfer to the next one's, where it
    uint64_t other_slice = 6;          // lies in another bank group of the slice, in another slice,
    uint64_t same_bank_group = 8;      // in the same bank group [A, from the delays at 1.5 GHz]
    uint64_t read_modify_write = 200;  // [B] 50 times a transfer
    // Cycles of the chip.
    uint64_t row_open = 40;        // [A] of a closed bank (the page says 40 to 50 ns)
    uint64_t row_change = 40;      // [A] closes one row and opens another
    uint64_t access_latency = 60;  // [A] of a request beside all of the above, to the chip and back
    RowChanges row_changes = RowChanges::kHoldChannel;  // [A]
  };
  // `address` is looked at here only. Throws InternalError for a queue of no entries and for
  // transfers of no cycles.
  HbmChannel(const Parameters& parameters, const HbmAddress& address);

  // Requests wait in the queue until their transfer starts.
  uint32_t free_entries() const { return queue_entries_ - static_cast<uint32_t>(queue_.size()); }
  bool can_accept() const { return free_entries() > 0; }
  // Requests that can be queued or under way at a time.
  size_t capacity() const { return queue_entries_ + pipeline_.size(); }
  // Queues a request that reaches the controller at `time`. Throws InternalError where there is no
  // room, where the request does not lie in one line, and where something happens before `time`
  // that advance() has not seen.
  void push(HbmTime time, const HbmAccess& access);

  // When advance() next has something to do: not later than the next transfer that starts (and
  // frees its entry) and than the next completion. kHbmNever: nothing is queued or under way.
  HbmTime next_event() const;
  // Does everything up to and including `to`, and appends what is complete by then, in order of
  // time.
  void advance(HbmTime to, std::vector<HbmCompletion>& completions);

  // Of the requests whose transfer has started.
  HbmChannelCounters counters() const;
  // The bank that HbmPlace names.
  const HbmBankCounters& bank_counters(uint32_t slice, uint32_t bank_group, uint32_t bank) const {
    return banks_[bank_index(slice, bank_group, bank)].counters;
  }

 private:
  enum class RowCost : uint8_t { kNone, kOpened, kChanged };
  struct Entry {
    uint64_t id;
    uint32_t row;
    uint32_t bytes;
    uint16_t bank;   // in banks_
    uint16_t group;  // bank groups of all slices
    uint8_t slice;
    bool write, misaligned;
    RowCost row_cost;  // what was done for this request
  };
  struct Bank {
    static constexpr uint32_t kClosed = ~uint32_t{0};
    uint32_t row = kClosed;  // open, or being opened
    uint32_t waiting = 0;    // queued requests of that row
    HbmTime ready = 0;       // from when on it can be read, written and changed
    HbmBankCounters counters;
  };
  struct Choice {
    static constexpr size_t kNone = ~size_t{0};
    size_t next = kNone;  // in queue_: of an open row, the first that can start
    HbmTime start = kHbmNever;
    bool row_ready = false;  // some request's row is open, not only being opened
    size_t change = kNone;   // the oldest that needs another row in a bank that can change it
  };

  uint32_t bank_index(uint32_t slice, uint32_t bank_group, uint32_t bank) const {
    return (slice * bank_groups_ + bank_group) * banks_per_group_ + bank;
  }
  void check(HbmTime time, const HbmAccess& access) const;
  Entry make_entry(const HbmAccess& access) const;
  HbmTime next_edge(HbmTime time) const { return (time + edge_ - 1) / edge_ * edge_; }
  HbmTime earliest_start(const Entry& entry, HbmTime now) const;
  Choice choose(HbmTime now) const;
  void decide(HbmTime now);
  // From when on a row may be changed, as far as the channel is concerned.
  HbmTime change_allowed_from() const {
    return row_changes_ == RowChanges::kHoldChannel ? std::max(held_until_, changing_until_)
                                                    : changing_until_;
  }
  void start(size_t index, HbmTime now);
  void count(const Entry& entry, bool read_modify_write);
  void change_row(Entry& entry, HbmTime now);
  void change_row_for_oldest(uint16_t bank, HbmTime now);
  void occupy(HbmTime from, HbmTime to);
  bool is_complete(HbmTime now) const {
    return under_way_ > 0 && pipeline_[first_under_way_].time <= now;
  }
  void complete_until(HbmTime now, std::vector<HbmCompletion>& completions);

  // Parameters, in units of HbmTime.
  uint32_t queue_entries_;
  HbmTime edge_;
  HbmTime transfer_, other_bank_group_, other_slice_, same_bank_group_, shortest_gap_;
  HbmTime read_modify_write_, row_open_, row_change_, access_latency_;
  RowChanges row_changes_;
  uint32_t bank_groups_, banks_per_group_;
  uint32_t line_bytes_;

  std::vector<Entry> queue_;  // oldest first
  std::vector<Bank> banks_;
  HbmTime next_decision_ = kHbmNever;
  HbmTime advanced_to_ = 0;

  // The data path: since when the last transfer moves (of a read-modify-write, the write), and
  // until when a row change or a read-modify-write holds the channel.
  bool has_started_ = false;
  HbmTime last_start_ = 0;
  uint16_t last_group_ = 0;
  uint8_t last_slice_ = 0;
  HbmTime held_until_ = 0;
  HbmTime changing_until_ = 0;  // the last row change; not where they overlap

  // Started and not complete, a ring in order of time.
  std::vector<HbmCompletion> pipeline_;
  size_t first_under_way_ = 0, under_way_ = 0;

  HbmTime busy_ = 0, busy_until_ = 0;
};

}  // namespace rngdsim
