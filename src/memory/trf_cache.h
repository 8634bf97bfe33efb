// SPDX-License-Identifier: Apache-2.0
// The read cache of the TRF: direct mapped, for each lane and bank a few rows [B]. Only which rows
// it holds; the values are always those of the bank, since a store updates a copy of its row [A].
#pragma once

#include <cstdint>
#include <vector>

namespace rngdsim {

// Rows are numbered as in TensorVersion::first_row: of L active lanes each owns lanes / L of the
// machine's and has as many times the rows of a bank; its row r is row r / (lanes / L) of the r %
// (lanes / L)th of them. So it has the cache rows of the idle lanes too.
class TrfCache {
 public:
  struct Shape {
    uint64_t lanes = 8, banks = 2;
    uint64_t cache_rows = 4;  // of a bank and lane; 0: no cache
  };
  explicit TrfCache(const Shape& shape)
      : shape_(shape), tags_(shape.lanes * shape.banks * shape.cache_rows, kNothing) {}

  // A read of `row` of `bank` in each of `active_lanes` lanes. True where all of them have it (a
  // hit); else the bank is read and they have it from now on. The index in the cache is the row in
  // the bank modulo the cache's rows [A].
  bool read(uint64_t bank, uint64_t row, uint64_t active_lanes);

 private:
  static constexpr uint64_t kNothing = ~uint64_t{0};
  Shape shape_;
  std::vector<uint64_t> tags_;  // [bank][index][lane]: the row in the bank
};

}  // namespace rngdsim
