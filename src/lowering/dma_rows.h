// SPDX-License-Identifier: Apache-2.0
// A dma with an index tensor: which axis the index chooses along, and what it must be. Sources of
// the rules: docs/hardware.md, section DMA.
#pragma once

#include <optional>
#include <string>

#include "lowering/scope.h"

namespace rngdsim {

struct DmaRowsRequest {
  const TensorVersion& from;
  const TensorVersion& index;
  // Of the destination, where it is named in the kernel file.
  std::string to;
  MemoryKind to_memory;
  // Its axes. Gather: those that its dimensions name; scatter: its logical ones.
  std::vector<AxisId> to_axes;
  const TensorVersion* target = nullptr;  // scatter: the tensor that is written into
  bool scaled = true;
  SourceLocation where{}, index_where{}, scaled_where{};
};

// Nothing after an error. `index` of the result is not set.
std::optional<DmaConfig::Indexed> choose_rows(const DmaRowsRequest& request,
                                              const LowerScope& scope);

}  // namespace rngdsim
