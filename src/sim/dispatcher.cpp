// SPDX-License-Identifier: Apache-2.0
#include "sim/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "support/diagnostic.h"

namespace rngdsim {
namespace {

// The tensor of `earlier` that overlaps something in `later`; nothing where none does.
std::optional<TensorId> overlap(const std::vector<Footprint>& earlier,
                                const std::vector<Footprint>& later) {
  for (const Footprint& a : earlier) {
    for (const Footprint& b : later) {
      if (a.overlaps(b)) return a.tensor;
    }
  }
  return std::nullopt;
}

std::optional<Hazard> hazard_between(const Program& program, const Command& earlier,
                                     const Command& later) {
  struct Kind {
    const char* name;
    const std::vector<Footprint>& before;
    const std::vector<Footprint>& after;
  };
  const Kind kinds[] = {{"read after write", earlier.writes, later.reads},
                        {"write after read", earlier.reads, later.writes},
                        {"write after write", earlier.writes, later.writes}};
  for (const Kind& kind : kinds) {
    if (const auto tensor = overlap(kind.before, kind.after)) {
      return Hazard{earlier.id, kind.name, program.tensors[*tensor].name};
    }
  }
  return std::nullopt;
}

constexpr const char* kBitmapLoad = "bitmap load";

// In the order in which a command that waits names them. The Vector Engine with the Valid Count
// Generator before it and the inter-slice reducer.
struct SharedType {
  const char* name;
  bool (*is_used_by)(const Command&);
};
constexpr SharedType kSharedTypes[] = {
    {"cast", [](const Command& c) { return c.cast.has_value(); }},
    {"transpose", [](const Command& c) { return c.transpose.has_value(); }},
    {"switch", [](const Command& c) { return c.switching.has_value(); }},
    {"vector_engine", [](const Command& c) { return c.vector.has_value(); }}};

}  // namespace

bool loads_bitmap(const Command& command) {
  return command.switching && command.switching->load_cycles > 0;
}

bool is_held_by_load(Context context) { return context != Context::kMain; }

std::vector<const char*> shared_units_of(const Command& command) {
  std::vector<const char*> units;
  for (const SharedType& type : kSharedTypes) {
    if (type.is_used_by(command)) units.push_back(type.name);
  }
  return units;
}

bool Dispatcher::SharedUnit::is_used_by(const Command& command) const {
  const std::vector<const char*> units = shared_units_of(command);
  return std::find(units.begin(), units.end(), type) != units.end();
}

std::vector<std::vector<Hazard>> find_hazards(const Program& program) {
  std::vector<std::vector<Hazard>> hazards(program.commands.size());
  for (size_t later = 0; later < program.commands.size(); ++later) {
    for (size_t earlier = 0; earlier < later; ++earlier) {
      const Command& before = program.commands[earlier];
      const Command& after = program.commands[later];
      if (before.context == after.context) continue;  // in order anyway
      if (auto hazard = hazard_between(program, before, after)) {
        hazards[later].push_back(std::move(*hazard));
      }
    }
  }
  return hazards;
}

ProgramBound program_bound(const Program& program) {
  const auto hazards = find_hazards(program);
  const size_t count = program.commands.size();
  std::vector<uint64_t> through(count, 0);  // cycles of the longest chain that ends with a command
  std::vector<std::optional<CommandId>> before(count);
  std::array<std::optional<CommandId>, kContexts> last_of;
  ProgramBound bound;
  std::optional<CommandId> end;
  for (size_t i = 0; i < count; ++i) {
    const Command& command = program.commands[i];
    std::optional<CommandId>& last = last_of[static_cast<size_t>(command.context)];
    std::vector<CommandId> candidates;
    if (last) candidates.push_back(*last);
    for (const Hazard& hazard : hazards[i]) candidates.push_back(hazard.earlier);
    uint64_t longest = 0;
    for (const CommandId candidate : candidates) {
      if (before[i] && through[candidate] <= longest) continue;
      longest = through[candidate];
      before[i] = candidate;
    }
    through[i] = longest + command.bound.cycles;
    last = static_cast<CommandId>(i);
    if (!end || through[i] > bound.cycles) {
      bound.cycles = through[i];
      end = static_cast<CommandId>(i);
    }
  }
  for (auto at = end; at; at = before[*at]) bound.chain.push_back(*at);
  std::reverse(bound.chain.begin(), bound.chain.end());
  return bound;
}

Dispatcher::Dispatcher(const Program& program, uint64_t launch)
    : program_(program),
      hazards_(find_hazards(program)),
      timing_(program.commands.size()),
      free_(program.commands.size(), 0),
      queues_(kContexts) {
  for (const SharedType& type : kSharedTypes) shared_.push_back({type.name, {}, {}, 0});
  if (program.limits.starving_alone) {
    kept_apart_.push_back({[](const Command& c) { return c.starves_dma; },
                           "bank starvation",
                           "a bank of the data memory",
                           0,
                           {}});
    kept_apart_.push_back({[](const Command& c) { return c.context == Context::kDma; },
                           "bank starvation",
                           "dma",
                           0,
                           {}});
  }
  for (size_t i = 0; i < program.commands.size(); ++i) {
    queues_[static_cast<size_t>(program.commands[i].context)].commands.push_back(
        static_cast<CommandId>(i));
  }
  for (Queue& queue : queues_) {
    queue.free_at = launch;
    if (queue.commands.empty()) continue;
    timing_[queue.commands.front()].issued = true;
    timing_[queue.commands.front()].issue = launch;
  }
}

void Dispatcher::wait_for_other(const Dispatcher& other, std::vector<uint8_t> waits) {
  others_.push_back(&other);
  waits_for_others_ = std::move(waits);
}

void Dispatcher::finished(CommandId command, uint64_t cycle) {
  if (command >= timing_.size()) {
    throw InternalError(
        fmt::format("command {} ended in cycle {}, but there is none", command, cycle));
  }
  Timing& timing = timing_[command];
  if (!timing.begun || timing.ended || cycle < timing.begin) {
    throw InternalError(fmt::format("command {} ended in cycle {}, but it {}", command, cycle,
                                    timing.ended    ? "had ended before"
                                    : !timing.begun ? "had not begun"
                                                    : "began later"));
  }
  end(command, cycle + 1);
}

void Dispatcher::make_free(const std::vector<CommandId>& commands) {
  for (const CommandId command : commands) free_[command] = 1;
}

void Dispatcher::end(CommandId command, uint64_t cycle) {
  Timing& timing = timing_[command];
  timing.ended = true;
  timing.end = cycle;
  ++ended_;
  last_end_ = std::max(last_end_, timing.end);
  Queue& queue = queues_[static_cast<size_t>(program_.commands[command].context)];
  queue.running = false;
  queue.free_at = timing.end;
  if (queue.next < queue.commands.size()) {
    Timing& next = timing_[queue.commands[queue.next]];
    next.issued = true;
    next.issue = timing.end;
  }
  for (SharedUnit& unit : shared_) {
    if (!unit.is_used_by(program_.commands[command])) continue;
    unit.holder.reset();
    unit.last_holder = command;
    unit.free_at = timing.end;
  }
  for (KeptApart& kind : kept_apart_) {
    if (!kind.is_of(program_.commands[command])) continue;
    --kind.running;
    kind.last_ended = command;
  }
}

void Dispatcher::Need::wait_until(uint64_t cleared, const char* kind, const std::string& what,
                                  CommandId earlier) {
  if (cleared <= begin) return;
  begin = cleared;
  waited_for = {kind, what, earlier, cleared};
}

std::optional<Dispatcher::Need> Dispatcher::ready(const Queue& queue) const {
  const CommandId id = queue.commands[queue.next];
  Need need;
  need.begin = queue.free_at;
  for (const Hazard& hazard : hazards_[id]) {
    const Timing& earlier = timing_[hazard.earlier];
    if (!earlier.ended) return std::nullopt;
    need.wait_until(earlier.end, hazard.kind.c_str(), hazard.what, hazard.earlier);
    if (waits_for_others_.empty() || waits_for_others_[id] == 0) continue;
    for (const Dispatcher* other : others_) {
      const Timing& theirs = other->timing_[hazard.earlier];
      if (!theirs.ended) return std::nullopt;
      need.wait_until(theirs.end, hazard.kind.c_str(), hazard.what + " of another cluster",
                      hazard.earlier);
    }
  }
  // All of them at once or none: nobody holds one and waits for another.
  for (const SharedUnit& unit : shared_) {
    if (!unit.is_used_by(program_.commands[id])) continue;
    if (unit.holder) return std::nullopt;
    if (unit.last_holder) {
      need.wait_until(unit.free_at, "shared unit", unit.type, *unit.last_holder);
    }
  }
  for (size_t i = 0; i < kept_apart_.size(); ++i) {
    if (!kept_apart_[i].is_of(program_.commands[id])) continue;
    const KeptApart& others = other(i);
    if (others.running > 0) return std::nullopt;
    if (!others.last_ended) continue;
    need.wait_until(timing_[*others.last_ended].end, others.kind, others.what, *others.last_ended);
  }
  return need;
}

bool Dispatcher::may_load(CommandId id, Need& need) const {
  const Context own = program_.commands[id].context;
  if (loader_ && is_held_by_load(own)) {
    need.wait_until(load_until_, kBitmapLoad, "switch", *loader_);
  }
  if (!loads_bitmap(program_.commands[id])) return true;
  for (const Context held : {Context::kSub, Context::kDma}) {
    const Queue& queue = queues_[static_cast<size_t>(held)];
    if (held == own || queue.next == 0) continue;
    if (queue.running) return false;
    need.wait_until(queue.free_at, kBitmapLoad, name(held), queue.commands[queue.next - 1]);
  }
  return true;
}

// `load_waits`: a command before this one in file order needs the DMA and sub contexts to itself.
std::optional<Dispatcher::Start> Dispatcher::try_begin(Queue& queue, uint64_t now,
                                                       bool& load_waits) {
  if (queue.running || queue.next == queue.commands.size()) return std::nullopt;
  const CommandId id = queue.commands[queue.next];
  const Command& command = program_.commands[id];
  if (load_waits && is_held_by_load(command.context)) return std::nullopt;
  std::optional<Need> need = ready(queue);
  if (!need) return std::nullopt;
  if (!may_load(id, *need)) {
    load_waits = true;
    return std::nullopt;
  }
  if (need->begin > now) return std::nullopt;
  if (need->begin < now) {
    throw InternalError(fmt::format("command {} could begin in cycle {}, looked at in cycle {}", id,
                                    need->begin, now));
  }
  Timing& timing = timing_[id];
  timing.begun = true;
  timing.begin = need->begin;
  timing.waited_for = need->waited_for;
  ++queue.next;
  queue.running = true;
  for (SharedUnit& unit : shared_) {
    if (unit.is_used_by(command)) unit.holder = id;
  }
  if (loads_bitmap(command) && free_[id] == 0) {
    loader_ = id;
    load_until_ = now + command.switching->load_cycles;
  }
  for (KeptApart& kind : kept_apart_) {
    if (kind.is_of(command)) ++kind.running;
  }
  return Start{id, need->begin, need->begin + command.overhead};
}

std::vector<Dispatcher::Start> Dispatcher::advance(uint64_t now) {
  std::vector<Start> starts;
  while (begin_some(now, starts)) continue;
  std::sort(starts.begin(), starts.end(),
            [](const Start& a, const Start& b) { return a.command < b.command; });
  return starts;
}

bool Dispatcher::begin_some(uint64_t now, std::vector<Start>& starts) {
  // Of two that could begin in the same cycle the earlier in file order takes a shared unit.
  std::vector<Queue*> order;
  for (Queue& queue : queues_) {
    if (queue.next < queue.commands.size()) order.push_back(&queue);
  }
  std::sort(order.begin(), order.end(), [](const Queue* a, const Queue* b) {
    return a->commands[a->next] < b->commands[b->next];
  });
  bool load_waits = false;
  for (Queue* queue : order) {
    const auto start = try_begin(*queue, now, load_waits);
    if (!start) continue;
    if (free_[start->command] != 0) {
      end(start->command, now);
      return true;
    }
    starts.push_back(*start);
  }
  return false;
}

std::vector<CommandId> Dispatcher::open() const {
  std::vector<CommandId> open;
  for (size_t i = 0; i < timing_.size(); ++i) {
    if (timing_[i].begun && !timing_[i].ended) open.push_back(static_cast<CommandId>(i));
  }
  return open;
}

std::string Dispatcher::waits_for(CommandId command) const {
  for (const Queue& queue : queues_) {
    for (size_t i = queue.next; i < queue.commands.size(); ++i) {
      if (queue.commands[i] != command) continue;
      if (i > 0 && !timing_[queue.commands[i - 1]].ended) {
        return fmt::format("command {} before it", queue.commands[i - 1]);
      }
    }
  }
  for (const Hazard& hazard : hazards_[command]) {
    if (!timing_[hazard.earlier].ended) {
      return fmt::format("command {}: {} ({})", hazard.earlier, hazard.what, hazard.kind);
    }
    if (waits_for_others_.empty() || waits_for_others_[command] == 0) continue;
    for (const Dispatcher* other : others_) {
      if (other->timing_[hazard.earlier].ended) continue;
      return fmt::format("command {} of another cluster: {} ({})", hazard.earlier, hazard.what,
                         hazard.kind);
    }
  }
  for (const SharedUnit& unit : shared_) {
    if (!unit.is_used_by(program_.commands[command]) || !unit.holder) continue;
    return fmt::format("command {}: {} (shared unit)", *unit.holder, unit.type);
  }
  for (size_t i = 0; i < kept_apart_.size(); ++i) {
    if (!kept_apart_[i].is_of(program_.commands[command])) continue;
    for (const CommandId id : open()) {
      if (!other(i).is_of(program_.commands[id])) continue;
      return fmt::format("command {}: {} ({})", id, other(i).what, other(i).kind);
    }
  }
  if (!loads_bitmap(program_.commands[command])) return "";
  for (const Context held : {Context::kSub, Context::kDma}) {
    const Queue& queue = queues_[static_cast<size_t>(held)];
    if (held == program_.commands[command].context || !queue.running) continue;
    return fmt::format("command {}: {} ({})", queue.commands[queue.next - 1], name(held),
                       kBitmapLoad);
  }
  return "";
}

}  // namespace rngdsim
