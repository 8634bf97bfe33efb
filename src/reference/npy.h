// SPDX-License-Identifier: Apache-2.0
// Reads arrays in NumPy's .npy format, versions 1 to 3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace rngdsim
