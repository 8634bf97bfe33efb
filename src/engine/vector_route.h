// SPDX-License-Identifier: Apache-2.0
// Where a command with a vector chain enters and leaves the Vector Engine.
#pragma once

#include <string>

#include "command/program.h"

namespace rngdsim {

// Whether the first part that a flit passes is the inter-slice reducer (before the chain, or alone)
// and not the chain.
inline bool enters_reducer(const VectorConfig& config) {
  return config.inter && (config.inter_first || !config.chain);
}

// Where the items of a `stream:` command enter that begins with a vector stage, whichever it is: a
// chain may begin at any of its stages, and a reinterpretation or a stash may stand before the
// reducer.
constexpr const char* kChainEntry = "vector_tag";
constexpr const char* kReducerEntry = "vector_inter_slice_reduce";
inline std::string entry_of(const Command& command) {
  if (!command.vector || command.entry_stage.rfind("vector_", 0) != 0) return command.entry_stage;
  return enters_reducer(*command.vector) ? kReducerEntry : kChainEntry;
}

}  // namespace rngdsim
