// SPDX-License-Identifier: Apache-2.0
// What a run says to the author of its kernel: what limited it, and what to change.
#pragma once

#include <string>
#include <vector>

#include "command/program.h"
#include "sim/run_result.h"

namespace rngdsim {

// One sentence that names the resource which decided how long the run took, with its numbers:
// "main fetch: it delivered one 32 B read in 512 of 512 cycles while active". Empty where no
// command of the run has ended.
std::string bound_by(const RunResult& run, const Program& program);

// The resource alone: "main fetch", "command overhead".
std::string bounding_resource(const RunResult& run, const Program& program);

// The unit that lost most cycles in one of the states, and for whom.
struct LongestWait {
  std::string state;  // "starved", "blocked", "conflict"
  std::string unit;
  uint64_t cycles = 0;         // in this state
  std::string blamed;          // whom it waited for longest in all three states; may be empty
  uint64_t blamed_cycles = 0;  // for that one
  std::string reason;          // blame_reason()
};
// Of the units that can limit a command and worked at least half as long as the busiest of them,
// since others wait without harm: one entry a state in which any of them lost cycles, the costliest
// first.
std::vector<LongestWait> longest_waits(const RunResult& run, const Program& program);

// Of the units that can limit a command the one that worked most cycles. Null where none did.
const UnitResult* busiest_unit(const RunResult& run);

// Sentences on what wastes the machine, the costliest first. Each names the command or unit, the
// cycles lost and a remedy.
std::vector<std::string> hints(const RunResult& run, const Program& program);

// What a reader should know first, after how long it took: what bound the run, and what to change.
struct Lead {
  std::string topic;  // "bound by", "change"
  std::string text;
};
// Empty where no command has ended; "change" is the first of `hints`, the result of hints().
std::vector<Lead> leads(const RunResult& run, const Program& program,
                        const std::vector<std::string>& hints);

// Of a unit: cycles between its first and last item, waiting included.
uint64_t active_cycles(const UnitResult& unit);

// Why a unit waited for the one it blames, where a setting of the program explains it:
// "two flits a packet". Empty otherwise.
std::string blame_reason(const UnitResult& unit, const std::string& blamed, const RunResult& run,
                         const Program& program);

// The type of the unit behind a part of a lower bound (CommandResult::bound_by) of a command of the
// tensor unit. Null where none is.
const char* limiting_type(const std::string& bound_by, const Command& command);

// The unit of `type` that serves `context` (or both). Null where there is none.
const UnitResult* find_unit(const RunResult& run, const std::string& type, Context context);

}  // namespace rngdsim
