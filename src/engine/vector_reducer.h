// SPDX-License-Identifier: Apache-2.0
// Intra-slice reduce without its clock: slots of 4 elements a slice, folded step by step. Elements
// beyond a step's count take no part, whatever they hold. Plain class.
#pragma once

#include <cstdint>
#include <vector>

#include "channel/payload.h"
#include "command/program.h"
#include "numeric/vector_ops.h"

namespace rngdsim {

// What a reduction does to two values, an operation of numeric/vector_ops.h.
VectorOp vector_op(ReduceOp op, DType dtype);
// The same, done: raw bits of i32 or f32.
uint32_t reduce_pair(ReduceOp op, DType dtype, uint32_t a, uint32_t b);

class VectorReducer {
 public:
  void begin(const VectorConfig::Reduce& config, DType dtype, uint32_t slices);
  // Folds a step of 4 elements into a slot; `first` begins it anew. `counts`: elements that take
  // part, one a slice.
  void take(uint32_t slot, bool first, const Block& step, const std::vector<uint8_t>& counts);
  // A step of the slot's results: 4 elements, or one and 3 of padding. Where nothing took part, and
  // in padding, poison.
  BlockRef result(uint32_t slot, BlockPool& pool) const;

 private:
  enum State : uint8_t { kEmpty, kValid, kPoison };
  struct Cell {
    uint32_t bits = 0;
    State state = kEmpty;
  };
  void fold(Cell& cell, uint32_t bits, bool valid) const;

  ReduceOp op_ = ReduceOp::kAdd;
  DType dtype_ = DType::kI32;
  bool in_packet_ = false;
  uint32_t slices_ = 0;
  std::vector<Cell> cells_;  // [slot][element][slice]
};

}  // namespace rngdsim
