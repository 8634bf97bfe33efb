// SPDX-License-Identifier: Apache-2.0
// The bytes of HBM, and which of them were ever written. Plain class.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "memory/sliced_memory.h"
#include "numeric/dtype.h"

namespace rngdsim {

// One address space; pages exist from their first write on. What was never written is poison.
// Elements lie as in the data memory: little-endian, 4-bit ones low nibble first.
class HbmStorage {
 public:
  // `count` bytes; valid[i]: bit 0 the low nibble, bit 1 the high one; what is not valid reads 0.
  void read(uint64_t byte, uint64_t count, uint8_t* bytes, uint8_t* valid) const;
  void write(uint64_t byte, uint64_t count, const uint8_t* bytes, const uint8_t* valid);

  // Single elements: for loading tensors and for checking them.
  void poke(uint64_t bit_address, DType dtype, uint32_t bits);
  SlicedMemory::Element peek(uint64_t bit_address, DType dtype) const;

  size_t pages() const { return pages_.size(); }  // that exist

 private:
  static constexpr uint64_t kPageBytes = 1 << 14;
  struct Page {
    uint8_t bytes[kPageBytes] = {};
    uint8_t valid[kPageBytes] = {};
  };
  Page& page_of(uint64_t byte);  // makes it
  const Page* find(uint64_t byte) const;

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace rngdsim
