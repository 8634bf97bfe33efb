// SPDX-License-Identifier: Apache-2.0
// The values that items carry: a block of elements for all simulated slices.
//
// Structure of arrays, slice-minor: element e of slice s is entry e * slices + s. A slice is
// numbered cluster * slices_per_cluster + slice. Blocks are pooled and shared by reference count,
// so that the cycle loop allocates nothing once the pool is warm and a flit that many consumers
// hold exists once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "numeric/dtype.h"

namespace rngdsim {

class BlockPool;

struct Block {
  DType dtype = DType::kBF16;
  uint32_t elements = 0;  // rows of the array
  uint32_t slices = 0;
  std::vector<uint8_t> data;   // at least elements * slices * storage_bytes(dtype) bytes
  bool all_valid = true;       // no poison anywhere (in live slices)
  std::vector<uint8_t> valid;  // elements * slices flags, meaningful where !all_valid

  template <typename T>
  T* row(uint32_t element) {
    return reinterpret_cast<T*>(data.data()) + size_t{element} * slices;
  }
  template <typename T>
  const T* row(uint32_t element) const {
    return reinterpret_cast<const T*>(data.data()) + size_t{element} * slices;
  }
  uint8_t* valid_row(uint32_t element) { return valid.data() + size_t{element} * slices; }
  const uint8_t* valid_row(uint32_t element) const {
    return valid.data() + size_t{element} * slices;
  }
  // Raw bits of one element, zero-extended.
  uint32_t bits(uint32_t element, uint32_t slice) const;
  void set_bits(uint32_t element, uint32_t slice, uint32_t bits);
  bool is_valid(uint32_t element, uint32_t slice) const {
    return all_valid || valid_row(element)[slice] != 0;
  }
  // Prepares the flags (all set) before single elements are marked invalid.
  void track_validity();

 private:
  friend class BlockPool;
  friend class BlockRef;
  uint32_t references_ = 0;
  BlockPool* pool_ = nullptr;
};

// Shared ownership of a pooled block; null where values are not simulated (--timing-only).
class BlockRef {
 public:
  BlockRef() = default;
  BlockRef(const BlockRef& o) : block_(o.block_) { retain(); }
  BlockRef(BlockRef&& o) noexcept : block_(o.block_) { o.block_ = nullptr; }
  BlockRef& operator=(BlockRef o) noexcept {
    std::swap(block_, o.block_);
    return *this;
  }
  ~BlockRef() { release(); }
  explicit operator bool() const { return block_ != nullptr; }
  Block* operator->() const { return block_; }
  Block& operator*() const { return *block_; }
  // Nobody else holds the block, so that it may be changed. Precondition: not null.
  bool unique() const { return block_->references_ == 1; }

 private:
  friend class BlockPool;
  explicit BlockRef(Block* block) : block_(block) { retain(); }
  void retain() {
    if (block_ != nullptr) ++block_->references_;
  }
  void release() {
    if (block_ != nullptr && --block_->references_ == 0) recycle();
  }
  void recycle();
  Block* block_ = nullptr;
};

// Owns all blocks of a run; must outlive every BlockRef.
class BlockPool {
 public:
  explicit BlockPool(uint32_t slices) : slices_(slices) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  uint32_t slices() const { return slices_; }
  // A block with room for `elements` x slices(); contents undefined, all_valid true.
  BlockRef allocate(DType dtype, uint32_t elements);

 private:
  friend class BlockRef;
  void recycle(Block* block);
  uint32_t slices_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block*> free_;
};

}  // namespace rngdsim
