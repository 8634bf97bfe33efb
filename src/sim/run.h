// SPDX-License-Identifier: Apache-2.0
// Runs a program on the machine of a topology and returns what happened.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "channel/observer.h"
#include "command/program.h"
#include "config/topology.h"
#include "reference/checker.h"
#include "sim/run_result.h"
#include "sim/unit_types.h"

namespace rngdsim {

struct RunOptions {
  bool values = true;  // false (--timing-only): no data, the same cycles
  uint64_t seed = 0;   // added to the seed of every random initial value
  // Commands that take no cycles: they end in the cycle in which they begin, and do nothing. Only
  // without values.
  std::vector<CommandId> free;
  bool keep_results = false;      // fill RunResult::results; needs values
  ResultOffsets accepted_at;      // and there, what is accepted at these offsets
  uint64_t max_cycles = 0;        // 0: no limit
  uint64_t shuffle_seed = 0;      // order in which units are made; changes nothing
  std::string kernel_dir;         // where .npy files of initial values are looked for
  std::vector<std::string> keep;  // names of tensors whose last version goes to RunResult::tensors
  bool keep_all = false;
  // Now and then, with the cycles simulated and the commands ended so far.
  std::function<void(uint64_t cycles, size_t ended)> progress;
  const std::atomic<bool>* stop = nullptr;  // true: end the run soon (Ctrl-C)
  // Simulates this slice (cluster * slices + slice) alone, in a pipeline of its own; what it
  // computes is not judged.
  std::optional<uint32_t> only_slice;
  // The clusters run apart, each with a tensor unit of its own; those behind the first are launched
  // so many cycles later. The kernel must use more than one. Nothing: in lockstep.
  std::optional<uint64_t> skew;
  bool plain_loop = false;  // units are called without SystemC's scheduler; changes nothing else
  RunObserver* observer = nullptr;   // told all that happens; slows the run
  const UnitTypes* types = nullptr;  // null: unit_types()
};

// Deadlock, the watchdog, poison, wrong values, max_cycles and stop end in a RunResult that tells
// so. Throws InputError for a topology that is wrong, for initial values that cannot be made for
// names in `keep` that no tensor has, for a slice that the program does not use and for a `skew` of
// clusters of which one is used or of more than kMaxSkew cycles; InternalError
// for a program lowered for other sizes than the topology has and for a broken invariant of the
// simulator: the states of a unit not adding up to the cycles, a lower bound above the cycles it
// bounds, whatever a unit throws.
//
// Each call installs a SystemC context of its own and leaves it in place: one run at a time a
// process.
RunResult run_program(const Program& program, const TopologyDecl& topology,
                      const RunOptions& options = {});

}  // namespace rngdsim
