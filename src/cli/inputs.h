// SPDX-License-Identifier: Apache-2.0
// From paths on the command line to a checked program and its machine.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "command/program.h"
#include "config/topology.h"
#include "sim/run.h"
#include "support/diagnostic.h"

namespace rngdsim::cli {

// What several commands take: which machine.
struct MachineOptions {
  std::string topology;          // empty: default_topology()
  std::vector<std::string> set;  // unit.parameter=value
};

// What several commands take: which kernel.
struct KernelOptions {
  std::string file;
  std::vector<std::string> parameters;  // NAME=VALUE, of its sweep
};

// configs/topologies/rngd.yaml beside the installed program, else in the source tree. InputError
// where neither exists.
std::string default_topology();

// The topology with its parameters overridden, as written (not resolved).
TopologyDecl load_machine(const MachineOptions& options, Diagnostics& diagnostics);

// What kernels are lowered for.
struct Machine {
  TopologyDecl topology;
  MachineLimits limits;
  bool good = false;  // otherwise there are errors, and kernels can be parsed but not lowered
};
Machine load_machine_limits(const MachineOptions& options, Diagnostics& diagnostics);

// Lowers a parsed kernel. A faulty one is lowered as far as it goes: all its errors are told at
// once. Adds no error of its own where the machine or the names of the kernel are no good.
Program lower_kernel(const KernelDecl& kernel, const Machine& machine, Diagnostics& diagnostics);

struct Inputs {
  TopologyDecl topology;
  Program program;          // usable without errors only
  Diagnostics diagnostics;  // of topology and kernel
};
Inputs load_inputs(const KernelOptions& kernel, const MachineOptions& machine);

// How a kernel is run, relative files beside it. `stop` must outlive the run.
RunOptions run_options(const KernelOptions& kernel, bool values, uint64_t seed,
                       const std::atomic<bool>& stop);

// Only digits, in range; nothing otherwise.
bool parse_count(const std::string& text, uint64_t& value);

}  // namespace rngdsim::cli
