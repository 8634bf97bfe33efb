// SPDX-License-Identifier: Apache-2.0
#include "report/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/dispatcher.h"

namespace rngdsim {
namespace {

using Commands = std::vector<CommandResult>;

// The commands that end before `later` begins, of those that `wanted` says.
template <typename Wanted>
std::vector<CommandId> ended_before(const Commands& commands, const CommandResult& later,
                                    Wanted&& wanted) {
  std::vector<CommandId> ended;
  for (const CommandResult& command : commands) {
    if (command.index != later.index && command.end <= later.begin && wanted(command.index)) {
      ended.push_back(command.index);
    }
  }
  return ended;
}

// The one that ended last; of several the last in file order.
std::optional<CommandId> last_of(const Commands& commands, const std::vector<CommandId>& ids) {
  std::optional<CommandId> last;
  for (const CommandId id : ids) {
    if (!last || commands[id].end >= commands[*last].end) last = id;
  }
  return last;
}

class DependenceFinder {
 public:
  DependenceFinder(const Program& program, const Commands& commands)
      : program_(program), commands_(commands), found_(commands.size()) {}

  std::vector<std::vector<Dependence>> find() {
    order();
    const auto hazards = find_hazards(program_);
    for (CommandId id = 0; id < commands_.size(); ++id) {
      for (const Hazard& hazard : hazards[id]) add(id, hazard.kind, hazard.what, hazard.earlier);
      shared_units(id);
      starvation(id);
      bitmap_loads(id);
    }
    return std::move(found_);
  }

 private:
  void add(CommandId id, const std::string& kind, const std::string& what, CommandId earlier) {
    found_[id].push_back({kind, what, earlier, std::nullopt, commands_[earlier].end});
  }

  void order() {
    std::map<Context, CommandId> last;
    for (const Command& command : program_.commands) {
      const auto before = last.find(command.context);
      if (before != last.end()) add(command.id, "order", name(command.context), before->second);
      last[command.context] = command.id;
    }
  }

  // The user before this one had each unit until it ended.
  void shared_units(CommandId id) {
    for (const char* const unit : shared_units_of(program_.commands[id])) {
      const auto before =
          last_of(commands_, ended_before(commands_, commands_[id], [&](CommandId other) {
                    const auto units = shared_units_of(program_.commands[other]);
                    return std::find(units.begin(), units.end(), unit) != units.end();
                  }));
      if (before) add(id, "shared unit", unit, *before);
    }
  }

  // A command that starves DMA and a DMA run one after the other, where the topology says so.
  void starvation(CommandId id) {
    if (!program_.limits.starving_alone) return;
    const auto is_dma = [&](CommandId c) { return program_.commands[c].context == Context::kDma; };
    const auto starves = [&](CommandId c) { return program_.commands[c].starves_dma; };
    if (starves(id)) {
      const auto before = last_of(commands_, ended_before(commands_, commands_[id], is_dma));
      if (before) add(id, "bank starvation", "dma", *before);
    }
    if (!is_dma(id)) return;
    for (const Context context : {Context::kMain, Context::kSub}) {
      const auto before =
          last_of(commands_, ended_before(commands_, commands_[id], [&](CommandId c) {
                    return starves(c) && program_.commands[c].context == context;
                  }));
      if (before) add(id, "bank starvation", "a bank of the data memory", *before);
    }
  }

  // A load waits for DMA and sub; what would begin there waits for it.
  void bitmap_loads(CommandId id) {
    const Command& own = program_.commands[id];
    if (loads_bitmap(own)) {
      for (const Context held : {Context::kSub, Context::kDma}) {
        if (held == own.context) continue;
        const auto before =
            last_of(commands_, ended_before(commands_, commands_[id], [&](CommandId other) {
                      return program_.commands[other].context == held;
                    }));
        if (before) add(id, "bitmap load", name(held), *before);
      }
    }
    if (!is_held_by_load(own.context)) return;
    for (const Command& loader : program_.commands) {
      if (!loads_bitmap(loader) || loader.id == id) continue;
      const uint64_t cycles = loader.switching->load_cycles;
      const uint64_t cleared = commands_[loader.id].begin + cycles;
      if (cleared > commands_[id].begin) continue;
      found_[id].push_back({"bitmap load", "switch", loader.id, cycles, cleared});
    }
  }

  const Program& program_;
  const Commands& commands_;
  std::vector<std::vector<Dependence>> found_;
};

// What held the command back longest; of several the first.
std::optional<Dependence> binding(const std::vector<Dependence>& dependences) {
  std::optional<Dependence> last;
  for (const Dependence& dependence : dependences) {
    if (!last || dependence.cleared > last->cleared) last = dependence;
  }
  return last;
}

std::vector<PathLink> critical_path(const Commands& commands,
                                    const std::vector<std::vector<Dependence>>& dependences) {
  std::vector<PathLink> path;
  if (commands.empty()) return path;
  CommandId at = 0;
  for (const CommandResult& command : commands) {
    if (command.end > commands[at].end) at = command.index;
  }
  for (uint64_t to = commands[at].end;;) {
    const auto because = binding(dependences[at]);
    path.push_back({at, commands[at].begin, to, because});
    if (!because) break;
    to = because->cleared;
    at = because->earlier;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

// From the last command to begin back: how late each may begin and end.
std::vector<CommandSlack> slacks(const Commands& commands, uint64_t cycles,
                                 const std::vector<std::vector<Dependence>>& dependences) {
  std::vector<CommandId> order(commands.size());
  for (CommandId id = 0; id < order.size(); ++id) order[id] = id;
  std::stable_sort(order.begin(), order.end(),
                   [&](CommandId a, CommandId b) { return commands[a].begin > commands[b].begin; });
  std::vector<uint64_t> latest_begin(commands.size(), cycles), latest_end(commands.size(), cycles);
  std::vector<CommandSlack> result(commands.size());
  for (const CommandId id : order) {
    const CommandResult& command = commands[id];
    latest_begin[id] = std::min(latest_begin[id], latest_end[id] - command.cycles);
    result[id].command = id;
    result[id].slack = latest_end[id] - command.end;
    for (const Dependence& dependence : dependences[id]) {
      const CommandId earlier = dependence.earlier;
      if (dependence.from_begin) {
        latest_begin[earlier] =
            std::min(latest_begin[earlier], latest_begin[id] - *dependence.from_begin);
      } else if (latest_begin[id] < latest_end[earlier]) {
        latest_end[earlier] = latest_begin[id];
        result[earlier].limiting = id;
      }
    }
  }
  return result;
}

// Cycles of a command in which none of another context ran.
uint64_t exposed(const Commands& commands, const CommandResult& own) {
  std::vector<std::pair<uint64_t, uint64_t>> others;
  for (const CommandResult& other : commands) {
    if (other.context == own.context) continue;
    const uint64_t begin = std::max(other.begin, own.begin), end = std::min(other.end, own.end);
    if (begin < end) others.emplace_back(begin, end);
  }
  std::sort(others.begin(), others.end());
  uint64_t covered = 0, until = own.begin;
  for (const auto& [begin, end] : others) {
    covered += std::max(end, until) - std::max(begin, until);
    until = std::max(until, end);
  }
  return own.cycles - covered;
}

std::vector<ContextGap> gaps(const Commands& commands,
                             const std::vector<std::vector<Dependence>>& dependences) {
  std::vector<ContextGap> result;
  for (const CommandResult& command : commands) {
    if (command.begin == command.issue) continue;
    result.push_back({command.context, command.issue, command.begin, command.index,
                      *binding(dependences[command.index])});
  }
  std::sort(result.begin(), result.end(), [](const ContextGap& a, const ContextGap& b) {
    return std::tie(a.from, a.context) < std::tie(b.from, b.context);
  });
  return result;
}

}  // namespace

std::string to_string(const Dependence& dependence) {
  if (dependence.kind == "order") return "order in " + dependence.what;
  return fmt::format("{} ({})", dependence.what, dependence.kind);
}

std::vector<std::vector<Dependence>> dependences_of(const Program& program,
                                                    const std::vector<CommandResult>& commands) {
  return DependenceFinder(program, commands).find();
}

ScheduleAnalysis analyse_schedule(const Program& program, const RunResult& run) {
  const auto dependences = dependences_of(program, run.commands);
  ScheduleAnalysis analysis;
  analysis.path = critical_path(run.commands, dependences);
  analysis.commands = slacks(run.commands, run.cycles, dependences);
  for (CommandSlack& slack : analysis.commands) {
    slack.exposed = exposed(run.commands, run.commands[slack.command]);
  }
  analysis.gaps = gaps(run.commands, dependences);
  return analysis;
}

}  // namespace rngdsim
