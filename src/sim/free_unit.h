// SPDX-License-Identifier: Apache-2.0
// What it means that nobody waits for a unit: its parameters at their best.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/topology.h"

namespace rngdsim {

struct FreeUnit {
  std::string what;  // "at its peak": the unit is ...
  // "hbm.row_open=0", ...: for set_parameter(); those that differ from what the unit has. Empty:
  // it is as fast as it can be.
  std::vector<std::string> settings;
};

// Cycles as few and what may be under way as much as the tables of unit types and the links of
// `machine` allow. Nothing where no parameter of the type makes others wait: such units take an
// item a cycle. `machine` comes from resolve_topology() and has `unit`.
std::optional<FreeUnit> free_unit(const TopologyDecl& machine, const UnitDecl& unit);

}  // namespace rngdsim
