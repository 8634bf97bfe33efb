// SPDX-License-Identifier: Apache-2.0
// dma: from the mappings of source and destination to paired sequencers. Sources of the rules:
// docs/hardware.md, section DMA.
#pragma once

#include <optional>
#include <vector>

#include "lowering/dma_pieces.h"
#include "lowering/scope.h"

namespace rngdsim {

struct DmaMoveRequest {
  const TensorVersion& from;
  // At its declared address, or at 0 where it is to be placed (at multiples of the alignment).
  const TensorVersion& to;
  std::optional<Declared> time, packet;  // replace the derived order
  std::optional<std::vector<Located<uint64_t>>> engines;
  std::optional<DmaIndexed> indexed;  // checked
  // Of the row axis in HBM, where there is an index.
  uint64_t rows = 1, row_bytes = 1;
  SourceLocation where;
};

// The segments of a move, `from`, `to` and `indexed` of the result not set; nothing after an error.
std::optional<DmaConfig> lower_dma(const DmaMoveRequest& request, const LowerScope& scope);

// Cycles from the begin of each of its segments to the first data, by where they come from, where
// they go to and whether several engines work.
uint64_t startup_of(const DmaConfig& dma, MemoryKind from, MemoryKind to,
                    const MachineLimits& limits);

// Cycles that the engines, the DMNs and PCIe need at least. `delay`: before the first start-up.
LowerBound dma_bound(const DmaConfig& dma, MemoryKind from, MemoryKind to, uint64_t delay,
                     const MachineLimits& limits);

}  // namespace rngdsim
