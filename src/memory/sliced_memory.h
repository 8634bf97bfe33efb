// SPDX-License-Identifier: Apache-2.0
// The storage behind the data memory: the same address space in every slice, and for each of its
// nibbles the set of slices in which it has been written. Plain class.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "channel/payload.h"
#include "numeric/dtype.h"
#include "support/zeroed_allocator.h"

namespace rngdsim {

// Sets of slices, each stored once and known by a number. All slices are written by one access, so
// whole memories know very few different sets: comparing, uniting and so on are table look-ups.
class SliceSets {
 public:
  using Id = uint32_t;
  static constexpr Id kNone = 0;
  static constexpr Id kAll = 1;

  explicit SliceSets(uint32_t slices);

  // The set of the slices whose flag is not 0. An empty vector: all slices. Remembers the last few
  // vectors, so that asking again costs one comparison.
  Id find(const std::vector<uint8_t>& flags);
  Id find_flags(const uint8_t* flags);
  // One flag (0 or 1) a slice.
  const uint8_t* flags(Id set) const { return sets_[set].data(); }
  size_t count() const { return sets_.size(); }

  bool covers(Id set, Id part);
  Id unite(Id a, Id b);
  Id subtract(Id a, Id b);
  Id with(Id set, uint32_t slice);
  Id without(Id set, uint32_t slice);

 private:
  enum class Operation : uint64_t { kCovers, kUnite, kSubtract };
  // The cached result of an operation; `fresh` tells whether it still has to be computed.
  Id& cached(Operation operation, Id a, Id b, bool& fresh);
  Id change(Id set, uint32_t slice, uint8_t flag);

  uint32_t slices_;
  std::vector<std::vector<uint8_t>> sets_;
  std::unordered_multimap<uint64_t, Id> by_hash_;
  std::unordered_map<uint64_t, Id> results_;
  std::vector<std::vector<Id>> changed_[2];  // [flag][set][slice]: 0 unknown, else id + 1
  std::vector<uint8_t> scratch_;
  struct Recent {
    const uint8_t* flags = nullptr;
    Id set = kNone;
  };
  std::vector<Recent> recent_;  // by address, confirmed by content
  size_t next_recent_ = 0;
};

// Address space of `bytes` bytes a slice. Stored as byte planes [byte][slice], so that an access is
// one vectorisable loop over the slices a byte; pages of `page_bytes` bytes exist from their first
// write on. What was never written is poison. Elements lie little-endian at their memory_bits();
// 4-bit elements low nibble first. i5 and i9 are wider than their slot and never live here.
//
// Preconditions of every access: inside of the memory (see contains()); bit addresses are multiples
// of 4 for 4-bit elements and of 8 for the others. `live` has a flag a slice, empty: all live.
class SlicedMemory {
 public:
  SlicedMemory(uint64_t bytes, uint64_t page_bytes, uint32_t slices);

  uint64_t bytes() const { return bytes_; }
  uint32_t slices() const { return slices_; }
  size_t pages() const { return allocated_; }  // that exist
  bool contains(uint64_t bit_address, DType dtype, uint64_t elements) const;

  // Fills rows [first_row, first_row + elements) of `out`, whose dtype counts. Replicated: all rows
  // are the one element at bit_address. Slices that are not live read as valid zeros.
  void read(uint64_t bit_address, uint32_t elements, bool replicated, Block& out,
            uint32_t first_row, const std::vector<uint8_t>& live);
  // Writes these rows of `values`, poison included, to the live slices only. `keep`: an i8 by row
  // and slice, 0 where memory stays as it is; null, and rows that it does not have: all is written.
  void write(uint64_t bit_address, const Block& values, uint32_t first_row, uint32_t elements,
             const std::vector<uint8_t>& live, const Block* keep = nullptr);

  // Single elements of one slice: for loading tensors and for checking them.
  void poke(uint32_t slice, uint64_t bit_address, DType dtype, uint32_t bits, bool valid = true);
  struct Element {
    uint32_t bits = 0;  // 0 where poison
    bool valid = false;
  };
  Element peek(uint32_t slice, uint64_t bit_address, DType dtype) const;
  // `count` bytes of one slice. valid[i]: bit 0 the low nibble, bit 1 the high one; bytes of which
  // nothing is valid read as 0. For DMA, which writes slice after slice: until all slices are
  // accessed together again, a page keeps flags a slice instead of sets of slices, of which there
  // would be as many as orders of slices.
  void read_bytes(uint32_t slice, uint64_t byte, uint64_t count, uint8_t* bytes,
                  uint8_t* valid) const;
  void write_bytes(uint32_t slice, uint64_t byte, uint64_t count, const uint8_t* bytes,
                   const uint8_t* valid);

  // `count` neighbouring elements of one slice, each as peek() gives it. Quickest where the same
  // few elements are asked for slice after slice, since the slices share cache lines.
  void peek_run(uint32_t slice, uint64_t bit_address, DType dtype, uint64_t count, uint32_t* bits,
                uint8_t* valid) const;

 private:
  // For each nibble of each byte (low, high) the slices in which it is valid.
  struct Page {
    uint8_t* data = nullptr;  // its byte planes, in an arena
    std::vector<SliceSets::Id> valid;
    // Instead of `valid`, where not empty: planes [byte][slice] as write_bytes() takes them.
    std::vector<uint8_t> flags;
  };
  void spread(Page& page);        // from `valid` to `flags`
  void settle(Page& page) const;  // and back, where there are flags
  Page& page_of(uint64_t byte);   // makes it
  uint8_t* plane(uint64_t byte);
  const uint8_t* plane_or_zeros(uint64_t byte) const;
  SliceSets::Id& valid_slices(uint64_t nibble);
  SliceSets::Id valid_slices_or_none(uint64_t nibble) const;
  // peek_run() of elements that lie in the page, from byte `at` of it.
  void peek_in_page(const Page& page, uint32_t slice, uint64_t at, int first_shift, uint32_t width,
                    uint64_t count, uint32_t* bits, uint8_t* valid) const;

  void read_row(uint64_t bit_address, Block& out, uint32_t row, SliceSets::Id live);
  void read_validity(uint64_t nibble, uint32_t nibbles, Block& out, uint32_t row,
                     SliceSets::Id live);
  // The slices of `live` that keep a row.
  SliceSets::Id kept_slices(SliceSets::Id live, const Block* keep, uint32_t row);
  void write_row(uint64_t bit_address, const Block& values, uint32_t row, SliceSets::Id live);
  void write_validity(uint64_t nibble, uint32_t nibbles, const Block& values, uint32_t row,
                      SliceSets::Id live);

  uint64_t bytes_, page_bytes_;
  uint32_t slices_;
  size_t allocated_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<ZeroedVector<uint8_t>> arenas_;  // of arena_pages_ pages each
  size_t arena_pages_;
  std::vector<uint8_t> zeros_;            // a plane of a page that does not exist
  mutable std::vector<uint8_t> scratch_;  // a flag a slice
  mutable SliceSets sets_;
};

}  // namespace rngdsim
