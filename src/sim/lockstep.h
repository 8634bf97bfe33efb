// SPDX-License-Identifier: Apache-2.0
// Shows that simulating one pipeline for all slices is right: slices run in lockstep, so a pipeline
// built for a single slice must do the same in every cycle.
//
// The lockstep machine is run once. Then each chosen slice gets a machine of its own, with blocks
// of one value and its part of the memory, and is compared in every cycle: the state, command and
// time index of each unit and its signals, every item pushed into and popped from a link, every
// stall, and the values of the items pushed, as far as the slice holds elements of their command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command/program.h"
#include "config/topology.h"
#include "sim/run.h"
#include "sim/run_result.h"

namespace rngdsim {

struct LockstepSlice {
  uint32_t slice = 0;            // cluster * slices + slice
  uint64_t cycles = 0;           // of its own run
  uint64_t cycles_compared = 0;  // in which anything happened, both sides
  uint64_t events = 0;           // unit states and link events compared
  uint64_t values = 0;           // elements of the slice compared
  // Empty: equal in every cycle. Else the first difference: "cycle 300: units or links ...".
  std::string difference;
};

struct LockstepProof {
  RunResult lockstep;
  std::vector<LockstepSlice> slices;
  bool holds() const;
};

// `count` slices spread over those that hold anything in any command, the first and the last among
// them; fewer where there are fewer.
std::vector<uint32_t> spread_slices(const Program& program, uint32_t count);

// Options as for run_program; `observer` and `only_slice` are set here. Throws as run_program does,
// and an InputError for a program with an inter-slice reduction, unless options.values is false.
LockstepProof prove_lockstep(const Program& program, const TopologyDecl& topology,
                             const RunOptions& options, const std::vector<uint32_t>& slices);

}  // namespace rngdsim
