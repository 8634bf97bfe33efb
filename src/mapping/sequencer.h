// SPDX-License-Identifier: Apache-2.0
// Nested loops that walk a memory buffer, and their derivation from two mappings.
// Source: the Sequencer page of the vendor's book (docs/fidelity.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mapping/mapping.h"

namespace rngdsim {

struct SequencerEntry {
  uint64_t size = 1;
  int64_t stride = 0;  // elements
  bool operator==(const SequencerEntry& o) const { return size == o.size && stride == o.stride; }
};

// `[size : stride, ...] : packet_size`, outermost loop first, in elements.
struct SequencerConfig {
  std::vector<SequencerEntry> entries;
  uint64_t packet_size = 1;

  uint64_t positions() const;  // product of the sizes
  // Elements that are contiguous from the innermost entry outward, starting from an innermost
  // stride of 1 (or 0: one element replicated). Any other innermost stride: 1.
  uint64_t contiguous_run() const;
  uint64_t max_access_size() const;  // gcd(packet_size, contiguous_run)
  // Element offset of position p (mixed radix over the entries).
  int64_t offset(uint64_t p) const;
  std::string text() const;  // "[4 : 192, 3 : 64] : 8"
  bool operator==(const SequencerConfig& o) const {
    return entries == o.entries && packet_size == o.packet_size;
  }
};

struct SequencerLimits {
  uint64_t max_entries = 8;   // [S]
  uint64_t max_size = 65536;  // [S] iterations an entry
};

enum class SequencerUse {
  kRead,
  kWrite,
  kPartialRead,  // a read of which the rest of the stream is derived elsewhere: axes may stay
                 // unread
};

struct SequencerProblem {
  std::string message;
  std::string hint;
};

struct SequencerResult {
  SequencerConfig config;  // after merging (only where more than max_entries would result)
  std::vector<SequencerEntry> unmerged;
  std::vector<SequencerProblem> problems;  // empty: config is usable
};

// Derives the sequencer that walks `buffer` in the order `time`, `packet`. Applies every rule of
// docs/mapping.md section 4 but those on access bytes and on what a write must cover (see
// lowering).
SequencerResult derive_sequencer(const Mapping& buffer, const Mapping& time, const Mapping& packet,
                                 SequencerUse use, const AxisTable& axes,
                                 const SequencerLimits& limits = {});

// The loops that step from access to access of `access_size` elements (innermost last, loops of one
// iteration left out). Precondition: access_size divides config.max_access_size().
std::vector<SequencerEntry> access_loops(const SequencerConfig& config, uint64_t access_size);

// One access of the hardware a step: position, address, packet progress. Plain arithmetic; the
// clocked sequencers and the tests use the same walker.
class SequencerWalker {
 public:
  SequencerWalker() = default;
  // Precondition: access_size divides config.max_access_size().
  SequencerWalker(const SequencerConfig& config, uint64_t access_size);

  uint64_t accesses() const { return accesses_; }
  bool done() const { return index_ == accesses_; }
  uint64_t index() const { return index_; }        // of the present access
  int64_t offset() const { return offset_; }       // elements, of its first element
  bool replicated() const { return replicated_; }  // one element fills the access
  void next();

 private:
  struct Loop {
    uint64_t size;
    int64_t stride;
    uint64_t count;
  };
  std::vector<Loop> loops_;  // innermost first
  uint64_t accesses_ = 0;
  uint64_t index_ = 0;
  int64_t offset_ = 0;
  bool replicated_ = false;
};

}  // namespace rngdsim
