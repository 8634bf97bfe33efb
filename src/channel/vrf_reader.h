// SPDX-License-Identifier: Apache-2.0
// How the Vector Engine sees the VRF: its reads are part of its pipeline and never wait [A].
#pragma once

#include <cstdint>

#include "command/program.h"

namespace rngdsim {

class VrfReader {
 public:
  virtual ~VrfReader() = default;
  // One element of a tensor in all simulated slices: its raw bits, and whether they were written
  // (flags 0 or 1). Slices that hold no part of the tensor read as valid zeros. Counts as a read of
  // the element; where values are not simulated that is all it does, and both may be null. Padding
  // of a stream may lie behind the last element of the tensor: what is there was never written.
  virtual void read(TensorId tensor, uint64_t element, uint32_t* bits, uint8_t* valid) const = 0;
};

}  // namespace rngdsim
