// SPDX-License-Identifier: Apache-2.0
// What the units of the contraction engine share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "channel/unit.h"

namespace rngdsim {

// Slices of the clusters that a command uses, counted from 0; what blocks hold beyond is
// don't-care.
inline uint32_t slices_used(const RunContext& context, const Command& command) {
  const uint64_t used = command.clusters_used * context.program->limits.slices;
  return static_cast<uint32_t>(std::min<uint64_t>(used, context.pool->slices()));
}

// A flag a slice of the command, 0: nothing lives there; null: unknown, all may live.
inline const uint8_t* live_slices(const RunContext& context, const Command& command) {
  const bool known =
      command.id < context.command_live.size() && !context.command_live[command.id].empty();
  return known ? context.command_live[command.id].data() : nullptr;
}

}  // namespace rngdsim
