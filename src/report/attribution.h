// SPDX-License-Identifier: Apache-2.0
// Where the cycles of each command went, summing to all of them, and where the kernel stands
// between its arithmetic and its memories.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "command/program.h"
#include "sim/command_profile.h"
#include "sim/run_result.h"

namespace rngdsim {

// How a command became longer than its lower bound: work beside what the bound counts, waits (also
// those of no unit in the bound) and fill. In all: cycles - bound.
struct OverBound {
  uint64_t work = 0, waits = 0, fill = 0;
  uint64_t cycles() const { return work + waits + fill; }
};

// Of the unit that sets the least time of a command (RunResult: bound_by), the busiest DMA engine
// for a DMA. overhead + work + all waits + fill = the command's cycles.
struct Attribution {
  CommandId command = 0;
  std::string unit;       // empty: none had an item
  uint64_t overhead = 0;  // before the first access
  uint64_t work = 0;      // it took in or put out an item
  // "blocked by switch", "starved by hbm", "conflict of banks": cycles, most first.
  std::vector<std::pair<std::string, uint64_t>> waits;
  uint64_t fill = 0;  // before its first item, overhead aside, and after its last
  // Of these cycles what the bound does not hold: it is covered by overhead first, then by work,
  // waits (a switch waits for its own hops) and fill (a DMA starts up in it).
  OverBound over;
  uint64_t waited() const;
};
std::vector<Attribution> attribute(const Program& program, const RunResult& run,
                                   const CommandProfile& profile);

// A memory under the roof that it makes: at most peak_bytes x intensity products a cycle.
struct RooflinePoint {
  std::string memory;     // "dm", "trf", "hbm"
  uint64_t bytes = 0;     // read and written; of the TRF read
  double intensity = 0;   // useful products a byte
  double peak_bytes = 0;  // a cycle
  double roof = 0;        // products a cycle, at most the multipliers'
  double of_roof = 0;     // what the run reached of it
};
struct Roofline {
  double peak = 0;                    // products a cycle
  double achieved = 0;                // useful products a cycle over the run
  std::vector<RooflinePoint> points;  // lowest roof first; none where nothing is multiplied
};
Roofline roofline_of(const RunResult& run);

}  // namespace rngdsim
