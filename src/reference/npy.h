// SPDX-License-Identifier: Apache-2.0
// Reads arrays in NumPy's .npy format, versions 1 to 3, and writes version 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "numeric/dtype.h"

namespace rngdsim {

struct NpyArray {
  std::vector<uint64_t> shape;
  std::vector<double> values;  // C order
};

// Reads `path`: little-endian f4 f8 i2 i4 i8 or one-byte i1 u1 elements in C order. Returns false
// and a `problem` (without the file's name) for anything else, for a file that cannot be read, is
// cut short or has bytes to spare, for an i8 element that a double cannot hold exactly, and for
// more than `max_elements` elements.
bool read_npy(const std::string& path, uint64_t max_elements, NpyArray& array,
              std::string& problem);

// The content of a file: floats as f4, i9 to i16 as i2, i32 as i4, narrower integers as i1; all are
// exact. `bits`: raw elements in C order. Where `valid` is 0, floats are NaN and integers 0.
std::string npy_text(const std::vector<uint64_t>& shape, DType dtype,
                     const std::vector<uint32_t>& bits, const std::vector<uint8_t>& valid);

}  // namespace rngdsim
