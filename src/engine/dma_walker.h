// SPDX-License-Identifier: Apache-2.0
// The paired sequencers of a DMA: one loop nest, two addresses [S,B]. Plain arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "command/program.h"

namespace rngdsim {

// Walks a segment request by request: each packet is cut into requests of `request_bytes` from its
// beginning, ceil(packet / request) of them [B].
class DmaWalker {
 public:
  DmaWalker() = default;
  DmaWalker(const DmaConfig::Segment& segment, uint64_t request_bytes)
      : segment_(&segment),
        request_bytes_(request_bytes),
        counters_(segment.loops.size(), 0),
        packets_left_(segment.packets()),
        read_(segment.read_base),
        write_(segment.write_base),
        index_(segment.index_base) {}

  bool done() const { return packets_left_ == 0; }
  // Of the present request; preconditions: not done().
  uint64_t read_address() const { return read_ + in_packet_; }
  uint64_t write_address() const { return write_ + in_packet_; }
  uint64_t bytes() const { return std::min(request_bytes_, segment_->packet_bytes - in_packet_); }
  // Of the index that chooses the packet's row.
  uint64_t index_address() const { return index_; }
  bool begins_packet() const { return in_packet_ == 0; }

  void next() {
    in_packet_ += request_bytes_;
    if (in_packet_ < segment_->packet_bytes) return;
    in_packet_ = 0;
    --packets_left_;
    for (size_t i = counters_.size(); i > 0; --i) {
      const DmaConfig::Loop& loop = segment_->loops[i - 1];
      read_ += loop.read_stride;
      write_ += loop.write_stride;
      index_ += loop.index_stride;
      if (++counters_[i - 1] < loop.size) return;
      counters_[i - 1] = 0;
      read_ -= loop.size * loop.read_stride;
      write_ -= loop.size * loop.write_stride;
      index_ -= loop.size * loop.index_stride;
    }
  }

 private:
  const DmaConfig::Segment* segment_ = nullptr;
  uint64_t request_bytes_ = 1;
  std::vector<uint64_t> counters_;  // by loop
  uint64_t packets_left_ = 0;
  uint64_t in_packet_ = 0;  // byte
  uint64_t read_ = 0, write_ = 0, index_ = 0;
};

}  // namespace rngdsim
