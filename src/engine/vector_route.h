// SPDX-License-Identifier: Apache-2.0
// Where a command with a vector chain enters and leaves the Vector Engine.
#pragma once

#include "command/program.h"

namespace rngdsim {

// Whether the first part that a flit passes is the inter-slice reducer (before the chain, or alone)
// and not the chain.
inline bool enters_reducer(const VectorConfig& config) {
  return config.inter && (config.inter_first || !config.chain);
}

}  // namespace rngdsim
