// SPDX-License-Identifier: Apache-2.0
// Why a run took as long as it did: what each command waited for before it began, the chain of
// commands that sets the end, and how much longer each command could take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command/program.h"
#include "sim/run_result.h"

namespace rngdsim {

// What a command could not begin before.
struct Dependence {
  // "order": the command before it in its context; else as in WaitedFor.
  std::string kind;
  std::string what;  // the context; else as in WaitedFor
  CommandId earlier = 0;
  // Cycles from its begin instead of its end: the load of a snoop bitmap.
  std::optional<uint64_t> from_begin;
  uint64_t cleared = 0;  // the cycle
};
// "order in main", "b_trf (read after write)", "switch (shared unit)".
std::string to_string(const Dependence& dependence);

// Of every command, in the order in which they are told: order, hazards by command, shared units,
// the rest. A command begins when the last of its dependences is cleared, those without in 0. Of
// hazards and units those that the commands of this run met: who was first stays first.
std::vector<std::vector<Dependence>> dependences_of(const Program& program,
                                                    const std::vector<CommandResult>& commands);

// A part of the critical path: its end is the begin of the next, that of the last the run's.
struct PathLink {
  CommandId command = 0;
  uint64_t from = 0, to = 0;          // cycles
  std::optional<Dependence> because;  // what made it begin then; none: it begins with the run
};

struct CommandSlack {
  CommandId command = 0;
  // Cycles that it may take longer without moving the end of the run, where all others take as long
  // as they did and begin as soon as they may.
  uint64_t slack = 0;
  uint64_t exposed = 0;               // cycles in which no command of another context ran
  std::optional<CommandId> limiting;  // the command that would begin later first; none: the end
};

// A stretch in which a context ran nothing, though it had commands left.
struct ContextGap {
  std::string context;
  uint64_t from = 0, to = 0;
  CommandId next = 0;  // the command that ends it
  Dependence because;
};

struct ScheduleAnalysis {
  std::vector<PathLink> path;          // from cycle 0 to the end
  std::vector<CommandSlack> commands;  // file order
  std::vector<ContextGap> gaps;        // by begin, then context
};

// Precondition: all commands have ended, and no clusters ran apart.
ScheduleAnalysis analyse_schedule(const Program& program, const RunResult& run);

}  // namespace rngdsim
