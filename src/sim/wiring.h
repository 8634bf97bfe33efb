// SPDX-License-Identifier: Apache-2.0
// Checks a topology file against the table of unit types and completes it.
#pragma once

#include <string>

#include "config/topology.h"
#include "sim/unit_types.h"

namespace rngdsim {

// The topology with every default filled in: all parameters of each unit and of `machine:` in the
// order of the tables, all depths given. Every fault is added to `diagnostics`, at its place in the
// file: unknown types, parameters and ports, values of the wrong kind or out of range, ports
// connected twice or not at all, items that do not agree, directions, units that nothing reaches,
// units missing or too many, latencies a link cannot have. With errors the result must not be used.
TopologyDecl resolve_topology(const TopologyDecl& topology, Diagnostics& diagnostics,
                              const UnitTypes& types = unit_types());

// `--set unit.parameter=value` (or machine.parameter=value): replaces or adds the parameter. Adds
// an error (without a place) where the text has another form or there is no such unit; what the
// value may be is judged by resolve_topology.
void set_parameter(TopologyDecl& topology, const std::string& assignment, Diagnostics& diagnostics);

// Depth of a link for which the file gives none: full rate.
uint64_t default_depth(uint64_t latency);

}  // namespace rngdsim
