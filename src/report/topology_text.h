// SPDX-License-Identifier: Apache-2.0
// A topology for people and as a file.
#pragma once

#include <string>

#include "config/topology.h"
#include "report/text_table.h"
#include "sim/unit_types.h"

namespace rngdsim {

// The machine's numbers, the units with their parameters, the wiring, and all unit types with
// defaults, ranges and documentation. `resolved` as resolve_topology() returns it.
std::string topology_text(const TopologyDecl& resolved, const Style& style = {},
                          const UnitTypes& types = unit_types());

// The topology as a YAML file that loads to the same machine, every default written out.
std::string topology_yaml(const TopologyDecl& resolved);

}  // namespace rngdsim
