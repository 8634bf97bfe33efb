// SPDX-License-Identifier: Apache-2.0
// Runs of elements of a logical tensor, gathered and converted as arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/logical_tensor.h"

namespace rngdsim {

// One conversion of a value on its way out.
struct Conversion {
  DType from{}, to{};
  bool relu = false;
  int64_t zero_point = 0;  // subtracted first, from i4 or i8
};

uint32_t convert_all(const std::vector<Conversion>& conversions, uint32_t bits);

// Distances of the elements of a run from its first place.
struct Distances {
  std::vector<uint64_t> of;
  bool contiguous = false;  // each is one more than the one before

  void find_contiguous();
};

// Gathers runs and converts them. Arrays hold elements of storage_bytes() each.
class RunConverter {
 public:
  explicit RunConverter(std::vector<Conversion> conversions)
      : conversions_(std::move(conversions)) {}

  const std::vector<Conversion>& conversions() const { return conversions_; }
  // `in` of the first type to `out` of the last; without conversions a copy of `dtype` elements.
  void convert(DType dtype, const void* in, size_t count, void* out);
  // Elements [first, first + count) of the run at `base`, converted. False where one of them is
  // undefined.
  bool gather(const LogicalTensor& tensor, uint64_t base, const Distances& distances, size_t first,
              size_t count, void* out);

 private:
  std::vector<Conversion> conversions_;
  std::vector<uint32_t> gathered_, scratch_[2];  // a word is enough for an element of any type
};

}  // namespace rngdsim
