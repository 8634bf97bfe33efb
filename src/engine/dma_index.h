// SPDX-License-Identifier: Apache-2.0
// The part of an index tensor that a segment of a DMA needs, and what it says. Plain arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "command/program.h"

namespace rngdsim {

inline constexpr uint64_t kDmaIndexBytes = 4;  // i32 [B]

class DmaIndex {
 public:
  // Neighbours are read together, in requests of up to `request_bytes` bytes that lie together.
  struct Request {
    uint64_t address = 0, bytes = 0;
  };

  DmaIndex() = default;
  DmaIndex(const DmaConfig::Segment& segment, uint64_t request_bytes) {
    addresses_.push_back(segment.index_base);
    for (const DmaConfig::Loop& loop : segment.loops) {
      if (loop.index_stride == 0) continue;
      const size_t before = addresses_.size();
      addresses_.reserve(before * loop.size);
      for (uint64_t i = 1; i < loop.size; ++i) {
        for (size_t j = 0; j < before; ++j) {
          addresses_.push_back(addresses_[j] + i * loop.index_stride);
        }
      }
    }
    std::sort(addresses_.begin(), addresses_.end());
    addresses_.erase(std::unique(addresses_.begin(), addresses_.end()), addresses_.end());
    displacements_.resize(addresses_.size(), 0);
    for (const uint64_t address : addresses_) {
      const bool follows = !requests_.empty() &&
                           address == requests_.back().address + requests_.back().bytes &&
                           requests_.back().bytes + kDmaIndexBytes <= request_bytes;
      if (follows) {
        requests_.back().bytes += kDmaIndexBytes;
      } else {
        requests_.push_back({address, kDmaIndexBytes});
      }
    }
  }

  // Ascending; each element once.
  const std::vector<Request>& requests() const { return requests_; }
  // What the element at an address adds to its rows' address. Precondition: the segment needs it.
  void set(uint64_t address, uint64_t displacement) { displacements_[at(address)] = displacement; }
  uint64_t displacement(uint64_t address) const { return displacements_[at(address)]; }

 private:
  size_t at(uint64_t address) const {
    return static_cast<size_t>(std::lower_bound(addresses_.begin(), addresses_.end(), address) -
                               addresses_.begin());
  }

  std::vector<uint64_t> addresses_;  // of the elements, ascending
  std::vector<uint64_t> displacements_;
  std::vector<Request> requests_;
};

}  // namespace rngdsim
