// SPDX-License-Identifier: Apache-2.0
#include "engine/transpose_buffers.h"

#include <algorithm>
#include <utility>

#include "engine/block_ops.h"

namespace rngdsim {

void TransposeBuffers::begin(const TransposeConfig& config) {
  config_ = &config;
  buffers_ = config.double_buffered ? 2 : 1;
  complete_ = flit_ = column_ = 0;
  coming_ = leaving_ = 0;
  for (Matrix& matrix : matrices_) {
    matrix.values.resize(config.in_flits());
    matrix.keep.resize(config.in_flits());
  }
}

void TransposeBuffers::take(BlockRef values, BlockRef keep) {
  Matrix& matrix = matrices_[coming_];
  matrix.values[flit_] = std::move(values);
  matrix.keep[flit_] = std::move(keep);
  if (++flit_ < config_->in_flits()) return;
  flit_ = 0;
  ++complete_;
  coming_ = (coming_ + 1) % buffers_;
}

TransposeBuffers::Column TransposeBuffers::give(BlockPool* pool, uint32_t flit_elements) {
  Matrix& matrix = matrices_[leaving_];
  Column column;
  if (pool != nullptr) {
    column.values = values_of(matrix, *pool, flit_elements);
    column.keep = keep_of(matrix, *pool);
  }
  if (++column_ < config_->out_rows) return column;
  column_ = 0;
  --complete_;
  std::fill(matrix.values.begin(), matrix.values.end(), BlockRef());
  std::fill(matrix.keep.begin(), matrix.keep.end(), BlockRef());
  leaving_ = (leaving_ + 1) % buffers_;
  return column;
}

BlockRef TransposeBuffers::values_of(const Matrix& matrix, BlockPool& pool,
                                     uint32_t flit_elements) const {
  const uint64_t part = column_ / config_->valid_elements;
  const auto element = static_cast<uint32_t>(column_ % config_->valid_elements);
  const auto rows = static_cast<uint32_t>(config_->in_rows);
  BlockRef column = pool.allocate(matrix.values[part]->dtype, flit_elements);
  if (rows < flit_elements) {
    column->track_validity();
    zero_elements(*column, rows);
    std::fill_n(column->valid_row(rows), size_t{flit_elements - rows} * column->slices, uint8_t{0});
  }
  for (uint32_t row = 0; row < rows; ++row) {
    copy_elements(*matrix.values[row * config_->packets_per_row + part], element, *column, row, 1);
  }
  return column;
}

BlockRef TransposeBuffers::keep_of(const Matrix& matrix, BlockPool& pool) const {
  const auto filtered = [](const BlockRef& keep) { return static_cast<bool>(keep); };
  if (std::none_of(matrix.keep.begin(), matrix.keep.end(), filtered)) return BlockRef();
  const uint64_t part = column_ / config_->valid_elements;
  const auto element = static_cast<uint32_t>(column_ % config_->valid_elements);
  BlockRef column = pool.allocate(DType::kI8, static_cast<uint32_t>(config_->in_rows));
  for (uint32_t row = 0; row < config_->in_rows; ++row) {
    const BlockRef& from = matrix.keep[row * config_->packets_per_row + part];
    uint8_t* flags = column->row<uint8_t>(row);
    if (from && element < from->elements) {
      std::copy_n(from->row<uint8_t>(element), column->slices, flags);
    } else {
      std::fill_n(flags, column->slices, uint8_t{1});
    }
  }
  return column;
}

}  // namespace rngdsim
