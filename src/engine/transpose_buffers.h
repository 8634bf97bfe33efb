// SPDX-License-Identifier: Apache-2.0
// The buffers of the Transpose Engine: which flit goes where, when a matrix is complete, and what a
// column of it holds. Plain class.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "channel/payload.h"
#include "command/program.h"

namespace rngdsim {

// Unpack takes the leading elements of a flit, Gather puts packets_per_row flits side by side to a
// row, Transpose gives columns, Trim leaves out the last ones, Align fills each up to a flit [B].
// Double buffered, one matrix is taken while the one before is given; single buffered, they take
// turns. What is asked in a cycle must be asked before anything is taken or given in it: a buffer
// that was emptied is free from the next cycle on, and so is a matrix that was completed.
class TransposeBuffers {
 public:
  void begin(const TransposeConfig& config);

  // Room for a flit; a column is ready.
  bool takes() const { return complete_ < buffers_; }
  bool gives() const { return complete_ > 0; }

  // Preconditions: takes(), gives(). Values are null with --timing-only; `keep` as in StreamItem.
  void take(BlockRef values, BlockRef keep);
  struct Column {
    BlockRef values, keep;
  };
  // `flit_elements`: of the flit that it fills, behind the column zero bits that are poison.
  Column give(BlockPool* pool, uint32_t flit_elements);

 private:
  // A matrix as it came in, flit by flit.
  struct Matrix {
    std::vector<BlockRef> values, keep;
  };
  BlockRef values_of(const Matrix& matrix, BlockPool& pool, uint32_t flit_elements) const;
  BlockRef keep_of(const Matrix& matrix, BlockPool& pool) const;

  const TransposeConfig* config_ = nullptr;
  uint64_t buffers_ = 1;   // matrices that fit
  uint64_t complete_ = 0;  // matrices taken and not yet given
  uint64_t flit_ = 0;      // next of the matrix that comes in
  uint64_t column_ = 0;    // next of the matrix that leaves
  std::array<Matrix, 2> matrices_;
  size_t coming_ = 0, leaving_ = 0;
};

}  // namespace rngdsim
