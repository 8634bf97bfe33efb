// SPDX-License-Identifier: Apache-2.0
// The sizes that lowering and the machine share, read from a topology file.
#pragma once

#include "command/program.h"
#include "config/topology.h"
#include "sim/unit_types.h"

namespace rngdsim {

// Resolves and checks the whole topology (see resolve_topology) and the rules between its numbers.
// With errors the limits must not be used.
MachineLimits limits_from(const TopologyDecl& topology, Diagnostics& diagnostics,
                          const UnitTypes& types = unit_types());

// A number of the `machine:` section of a resolved topology; InternalError where it has none.
uint64_t machine_number(const TopologyDecl& resolved, const std::string& name);

}  // namespace rngdsim
