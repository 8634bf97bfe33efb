// SPDX-License-Identifier: Apache-2.0
#include "engine/vector_reducer.h"

#include <algorithm>

#include "numeric/convert.h"

namespace rngdsim {
namespace {

constexpr uint32_t kElements = 4;  // of a step [B]

}  // namespace

VectorOp vector_op(ReduceOp op, DType dtype) {
  const bool f32 = dtype == DType::kF32;
  switch (op) {
    case ReduceOp::kAdd:
      return f32 ? VectorOp::kAddF : VectorOp::kAddFxp;
    case ReduceOp::kAddSat:
      return VectorOp::kAddFxpSat;
    case ReduceOp::kMax:
      return VectorOp::kMax;
    case ReduceOp::kMin:
      return VectorOp::kMin;
    case ReduceOp::kMul:
      break;
  }
  return f32 ? VectorOp::kMulF : VectorOp::kMulInt;
}

uint32_t reduce_pair(ReduceOp op, DType dtype, uint32_t a, uint32_t b) {
  return apply_binary(vector_op(op, dtype), dtype, a, b);
}

void VectorReducer::begin(const VectorConfig::Reduce& config, DType dtype, uint32_t slices) {
  op_ = config.op;
  dtype_ = dtype;
  in_packet_ = config.in_packet;
  slices_ = slices;
  cells_.assign(config.time.capacity * kElements * slices, Cell());
}

void VectorReducer::fold(Cell& cell, uint32_t bits, bool valid) const {
  if (cell.state == kEmpty) {
    // Alone it leaves as the hardware would hold it.
    cell.bits = dtype_ == DType::kF32 ? canonical_f32(bits) : bits;
    cell.state = valid ? kValid : kPoison;
    return;
  }
  cell.bits = reduce_pair(op_, dtype_, cell.bits, bits);
  if (!valid) cell.state = kPoison;
}

void VectorReducer::take(uint32_t slot, bool first, const Block& step,
                         const std::vector<uint8_t>& counts) {
  Cell* cells = cells_.data() + size_t{slot} * kElements * slices_;
  if (first) std::fill_n(cells, size_t{kElements} * slices_, Cell());
  for (uint32_t s = 0; s < slices_; ++s) {
    const uint32_t count = std::min<uint32_t>(counts[s], kElements);
    if (!in_packet_) {
      for (uint32_t e = 0; e < count; ++e) {
        fold(cells[size_t{e} * slices_ + s], step.bits(e, s), step.is_valid(e, s));
      }
      continue;
    }
    // op(op(a, b), op(c, d)) of those that take part [B].
    Cell halves[2];
    for (uint32_t e = 0; e < count; ++e) {
      fold(halves[e / 2], step.bits(e, s), step.is_valid(e, s));
    }
    for (const Cell& half : halves) {
      if (half.state == kEmpty || &half == &halves[0]) continue;
      fold(halves[0], half.bits, half.state == kValid);
    }
    if (halves[0].state != kEmpty) fold(cells[s], halves[0].bits, halves[0].state == kValid);
  }
}

BlockRef VectorReducer::result(uint32_t slot, BlockPool& pool) const {
  BlockRef block = pool.allocate(dtype_, kElements);
  block->track_validity();
  const Cell* cells = cells_.data() + size_t{slot} * kElements * slices_;
  for (uint32_t e = 0; e < kElements; ++e) {
    for (uint32_t s = 0; s < slices_; ++s) {
      const Cell& cell = cells[size_t{e} * slices_ + s];
      block->set_bits(e, s, cell.bits);
      block->valid_row(e)[s] = cell.state == kValid ? 1 : 0;
    }
  }
  return block;
}

}  // namespace rngdsim
