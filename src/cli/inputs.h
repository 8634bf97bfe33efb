// SPDX-License-Identifier: Apache-2.0
// From paths on the command line to a checked program and its machine.
#pragma once

#include <string>
#include <vector>

#include "command/program.h"
#include "config/topology.h"
#include "support/diagnostic.h"

namespace rngdsim::cli {

// What several commands take: which machine.
struct MachineOptions {
  std::string topology;          // empty: default_topology()
  std::vector<std::string> set;  // unit.parameter=value
};

// configs/topologies/rngd.yaml beside the installed program, else in the source tree. InputError
// where neither exists.
std::string default_topology();

// The topology with its parameters overridden, as written (not resolved).
TopologyDecl load_machine(const MachineOptions& options, Diagnostics& diagnostics);

struct Inputs {
  TopologyDecl topology;
  Program program;          // usable without errors only
  Diagnostics diagnostics;  // of topology and kernel
};
Inputs load_inputs(const std::string& kernel, const MachineOptions& machine);

// Only digits, in range; nothing otherwise.
bool parse_count(const std::string& text, uint64_t& value);

}  // namespace rngdsim::cli
