// SPDX-License-Identifier: Apache-2.0
// Poison (memory that was never written) may travel through padding as it likes; where it reaches
// an element it is an error of the kernel. This finds the element. Plain class.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "channel/payload.h"
#include "command/program.h"

namespace rngdsim {

struct PoisonedElement {
  uint32_t slice = 0;     // cluster * slices a cluster + slice
  uint64_t position = 0;  // of [time, packet]
  Cell cell;              // the logical index
};

// Knows one stream: which element lives at a position of [time, packet] in a slice.
class LiveCheck {
 public:
  // Entry i of blocks and of `live` is slice first_slice + i (cluster * slices a cluster + slice)
  // of the program; `live`: a flag each, 0: holds nothing; empty: all may. `slices` 0: all of the
  // program's clusters.
  void prepare(const StreamShape& shape, const Program& program, const std::vector<uint8_t>& live,
               uint32_t first_slice = 0, uint32_t slices = 0);

  // The first poisoned row k, slice of `block` that holds an element, where row k is position
  // first_position + k. Rows beyond size(packet) belong to no element (a flit is padded at its
  // end). Costs one look at the flags of a row where nothing is poisoned or the row is padding.
  std::optional<PoisonedElement> find(const Block& block, uint64_t first_position);

 private:
  // values_ = row_index_ + the slice's index; false where that is no element.
  bool add_slice(uint32_t slice);

  const StreamShape* shape_ = nullptr;
  const Program* program_ = nullptr;
  uint32_t first_slice_ = 0;
  std::vector<uint8_t> slice_live_;
  std::vector<uint64_t> slice_index_;  // [slice][axis]: what the spatial mappings contribute
  std::vector<uint64_t> row_index_;    // [axis]: what time and packet contribute
  std::vector<uint64_t> values_;       // [axis]
};

// The same in one call; prepares anew every time.
std::optional<PoisonedElement> find_live_poison(const Block& block, uint64_t first_position,
                                                const StreamShape& shape, const Program& program,
                                                const std::vector<uint8_t>& live);

}  // namespace rngdsim
