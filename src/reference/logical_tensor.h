// SPDX-License-Identifier: Apache-2.0
// A tensor as mathematics sees it: a value (or none) at each index of its logical axes, wherever
// the machine keeps it and however many replicas there are.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "command/program.h"
#include "mapping/mapping.h"
#include "numeric/dtype.h"
#include "support/diagnostic.h"
#include "support/zeroed_allocator.h"

namespace rngdsim {

// Largest number of elements a logical tensor may have.
inline constexpr uint64_t kMaxLogicalVolume = uint64_t{1} << 31;

// A dense array over the declared sizes of `axes`, row-major in the order of the axis ids, the last
// axis fastest. Elements that nobody wrote are undefined (poison).
class LogicalTensor {
 public:
  LogicalTensor() = default;
  // All elements undefined. Preconditions: `logical` ascending, volume(logical) <=
  // kMaxLogicalVolume.
  LogicalTensor(DType dtype, std::vector<AxisId> logical, const AxisTable& axes);

  // The product of the axis sizes; saturates at UINT64_MAX.
  static uint64_t volume(const std::vector<AxisId>& logical, const AxisTable& axes);

  DType dtype() const { return dtype_; }
  const std::vector<AxisId>& axes() const { return axes_; }
  uint64_t volume() const { return volume_; }
  // Distance of two neighbours along `axis` in the array; 0 for an axis the tensor lacks.
  uint64_t stride(AxisId axis) const { return axis < strides_.size() ? strides_[axis] : 0; }

  bool defined(uint64_t offset) const { return defined_[offset] != 0; }
  bool all_defined() const { return defined_count_ == volume_; }
  uint64_t defined_count() const { return defined_count_; }
  // Raw bits; 0 where undefined. Precondition: offset < volume().
  uint32_t bits(uint64_t offset) const {
    switch (bytes_) {
      case 1:
        return data_[offset];
      case 2:
        return reinterpret_cast<const uint16_t*>(data_.data())[offset];
      default:
        return reinterpret_cast<const uint32_t*>(data_.data())[offset];
    }
  }
  double value(uint64_t offset) const { return to_double(dtype_, bits(offset)); }
  void set(uint64_t offset, uint32_t bits);
  // Makes an element undefined.
  void unset(uint64_t offset);
  // The same as set() for neighbours from `offset` on.
  void set_run(uint64_t offset, const uint32_t* bits, uint64_t count);
  bool none_defined(uint64_t offset, uint64_t count) const {
    return std::memchr(defined_.data() + offset, 1, count) == nullptr;
  }
  // `volume()` elements of storage_bytes(dtype()).
  const uint8_t* data() const { return data_.data(); }
  // `volume()` flags, 0 or 1.
  const uint8_t* defined_flags() const { return defined_.data(); }

  // The index at `offset`, for messages.
  Cell index(uint64_t offset) const;

 private:
  DType dtype_ = DType::kBF16;
  int bytes_ = 2;
  std::vector<AxisId> axes_;
  std::vector<uint64_t> sizes_;    // of axes_
  std::vector<uint64_t> strides_;  // by axis id
  uint64_t volume_ = 0;
  uint64_t defined_count_ = 0;
  ZeroedVector<uint8_t> data_;
  ZeroedVector<uint8_t> defined_;
};

// What a view reads: the elements of a tile, at the tile's own indices; all others undefined. A
// tensor that does not depend on the tile's axis is its own tile.
LogicalTensor tile_of(const LogicalTensor& whole, const Tile& tile, const AxisTable& axes);
// What a view writes: the defined elements of `part`, at the tile's own indices, go into `whole`.
void put_tile(const LogicalTensor& part, const Tile& tile, const AxisTable& axes,
              LogicalTensor& whole);

// What an interleaved fetch reads: `first` where `axis` (of size 2) is 0, `second` where it is 1.
// Preconditions: both are alike and lack the axis; `logical` is their axes and that one, ascending.
LogicalTensor interleaved(const LogicalTensor& first, const LogicalTensor& second, AxisId axis,
                          const std::vector<AxisId>& logical, const AxisTable& axes);

// The values that `init` gives a declared tensor or stream over `logical` (ascending axes):
// zero, a constant, start + step * i, random numbers with seed `init.seed + seed_offset` and
// counter i, a list, or a .npy file (relative to `kernel_dir`), i being the linear logical index.
// Kind kNone leaves all undefined. Errors are added at `init.where`: a wrong number of values, a
// value that an integer type cannot hold, bounds of random numbers out of order or range, every
// fault of a file, a volume above kMaxLogicalVolume.
LogicalTensor initial_values(const InitSpec& init, DType dtype, const std::vector<AxisId>& logical,
                             const AxisTable& axes, uint64_t seed_offset,
                             const std::string& kernel_dir, Diagnostics& diagnostics);

}  // namespace rngdsim
