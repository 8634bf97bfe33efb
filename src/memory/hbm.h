// SPDX-License-Identifier: Apache-2.0
// The HBM of a chip: all channels of all stacks behind one address. Event driven; no SystemC, no
// values.
//
// A request is cut at the boundaries of lines (256 B); each piece goes to the queue of its channel
// and takes one transfer there. So a read that crosses a boundary takes two transfers [B], and an
// unaligned write one read-modify-write for each line that it covers in part [B].
#pragma once

#include <cstdint>
#include <vector>

#include "memory/hbm_address.h"
#include "memory/hbm_channel.h"

namespace rngdsim {

class Hbm {
 public:
  struct Parameters {
    HbmAddress::Parameters address;
    HbmChannel::Parameters channel;
  };
  // Throws InternalError for parameters that HbmAddress or HbmChannel refuse.
  explicit Hbm(const Parameters& parameters);

  static constexpr uint64_t kMaxRequestBytes = 4096;  // a packet of a DMA [B]

  const HbmAddress& address() const { return address_; }
  const HbmClocks& clocks() const { return clocks_; }

  // Whether all pieces of a request find room in their queues. Precondition, here and of push():
  // 1 <= bytes <= kMaxRequestBytes and address + bytes <= address().size().
  bool can_accept(uint64_t address, uint64_t bytes) const;
  // Queues a request that reaches the controllers at `time`. Throws InternalError where the
  // precondition does not hold or there is no room, and where something happens before `time` that
  // advance() has not seen. `id` is handed back.
  void push(HbmTime time, uint64_t address, uint64_t bytes, bool write, uint64_t id);

  // When advance() next has something to do (a transfer that starts and frees its entry, a piece
  // that is complete); kHbmNever: nothing is queued or under way.
  HbmTime next_event() const { return next_[earliest_[1]]; }
  // Does everything up to and including `to`, and appends the requests that are complete by then,
  // each at the time of its last piece, in order of time and id.
  void advance(HbmTime to, std::vector<HbmCompletion>& completions);

  // Stacks and channels as HbmPlace names them.
  uint32_t stacks() const { return address_.stacks(); }
  uint32_t channels() const { return address_.channels(); }  // of a stack
  const HbmChannel& channel(uint32_t stack, uint32_t channel) const {
    return channels_[stack * channels() + channel];
  }
  HbmChannelCounters stack_counters(uint32_t stack) const;
  HbmChannelCounters counters() const;  // of all channels
  // One bank of every channel.
  HbmBankCounters bank_counters(uint32_t slice, uint32_t bank_group, uint32_t bank) const;

 private:
  // A request whose pieces are not all complete.
  struct Request {
    uint64_t id = 0;
    uint32_t pieces = 0;  // left
    HbmTime last = 0;     // of the pieces that are complete
  };
  size_t channel_index(const HbmPlace& place) const {
    return size_t{place.stack} * channels() + place.channel;
  }
  uint64_t pieces_of(uint64_t address, uint64_t bytes) const {
    return (address % line_ + bytes + line_ - 1) / line_;
  }
  void check(uint64_t address, uint64_t bytes) const;
  uint32_t take_request(uint64_t id, uint32_t pieces);
  void finish_piece(const HbmCompletion& piece, std::vector<HbmCompletion>& completions);
  void update_next(size_t channel);

  HbmAddress address_;
  HbmClocks clocks_;
  uint64_t line_;
  std::vector<HbmChannel> channels_;
  HbmTime advanced_to_ = 0;

  // The channel with the earliest event, a heap of fixed places: earliest_[i] is the earlier one of
  // earliest_[2 i] and earliest_[2 i + 1], its last half the channels in order. next_: by channel;
  // those that fill up the heap have none.
  std::vector<HbmTime> next_;
  std::vector<uint32_t> earliest_;

  std::vector<Request> requests_;
  std::vector<uint32_t> free_requests_;
  std::vector<HbmCompletion> pieces_;          // of one advance()
  mutable std::vector<uint32_t> wanted_room_;  // by channel; zero between calls of can_accept()
};

}  // namespace rngdsim
