// SPDX-License-Identifier: Apache-2.0
// Begins of random programs against the rule itself, looked at cycle by cycle.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <vector>

#include "sim/dispatcher.h"

namespace rngdsim {
namespace {

struct Case {
  Program program;
  std::vector<uint64_t> durations;  // of each command, overhead included
};

Case any_case() {
  Case result;
  for (TensorId id = 0; id < 4; ++id) {
    TensorVersion tensor;
    tensor.name = "t";
    tensor.name += static_cast<char>('0' + id);
    result.program.tensors.push_back(tensor);
  }
  const int count = *rc::gen::inRange(0, 9);
  for (int i = 0; i < count; ++i) {
    Command command;
    command.id = static_cast<CommandId>(i);
    command.context = *rc::gen::arbitrary<bool>() ? Context::kMain : Context::kSub;
    command.overhead = *rc::gen::inRange<uint64_t>(0, 4);
    if (*rc::gen::inRange(0, 3) == 0) command.cast = CastConfig{};
    if (*rc::gen::inRange(0, 3) == 0) command.vector.emplace();
    for (auto* ranges : {&command.reads, &command.writes}) {
      const int n = *rc::gen::inRange(0, 3);
      for (int k = 0; k < n; ++k) {
        const auto begin = *rc::gen::inRange<uint64_t>(0, 12);
        const MemoryKind kinds[] = {MemoryKind::kDm, MemoryKind::kTrf, MemoryKind::kVrf};
        ranges->push_back({kinds[*rc::gen::inRange(0, 3)], *rc::gen::inRange<TensorId>(0, 4), begin,
                           begin + *rc::gen::inRange<uint64_t>(1, 4)});
      }
    }
    result.durations.push_back(command.overhead + *rc::gen::inRange<uint64_t>(1, 20));
    command.bound.cycles = result.durations.back();
    result.program.commands.push_back(std::move(command));
  }
  return result;
}

bool conflicts(const Command& a, const Command& b) {
  const auto meet = [](const std::vector<Footprint>& x, const std::vector<Footprint>& y) {
    for (const Footprint& f : x) {
      for (const Footprint& g : y) {
        if (f.memory == g.memory && f.begin < g.end && g.begin < f.end) return true;
      }
    }
    return false;
  };
  return meet(a.writes, b.reads) || meet(a.reads, b.writes) || meet(a.writes, b.writes);
}

// The begins by the rule: in each cycle, in file order, whatever may begin begins.
std::vector<uint64_t> begins_by_the_rule(const Case& c) {
  const auto& commands = c.program.commands;
  std::vector<std::optional<uint64_t>> begin(commands.size());
  const auto ended = [&](size_t i, uint64_t now) {
    return begin[i] && *begin[i] + c.durations[i] <= now;
  };
  size_t begun = 0;
  for (uint64_t now = 0; begun < commands.size(); ++now) {
    for (size_t i = 0; i < commands.size(); ++i) {
      if (begin[i]) continue;
      bool may = true;
      for (size_t j = 0; j < commands.size(); ++j) {
        const bool same_context = commands[i].context == commands[j].context;
        if (j < i && (same_context || conflicts(commands[j], commands[i]))) {
          may = may && ended(j, now);
        }
        const bool share =
            (commands[i].cast && commands[j].cast) || (commands[i].vector && commands[j].vector);
        if (j != i && share && begin[j]) may = may && ended(j, now);
      }
      if (!may) continue;
      begin[i] = now;
      ++begun;
    }
  }
  std::vector<uint64_t> result;
  for (const auto& cycle : begin) result.push_back(*cycle);
  return result;
}

RC_GTEST_PROP(DispatcherProperty, CommandsBeginWhenTheRuleSaysSo, ()) {
  const Case c = any_case();
  Dispatcher dispatcher(c.program);
  std::vector<uint64_t> begin(c.program.commands.size());
  std::vector<std::optional<uint64_t>> end(c.program.commands.size());
  for (uint64_t now = 0; now == 0 || !dispatcher.all_ended(); ++now) {
    RC_ASSERT(now < 1000u);
    for (size_t i = 0; i < end.size(); ++i) {
      if (end[i] && *end[i] == now) dispatcher.finished(static_cast<CommandId>(i), now - 1);
    }
    for (const Dispatcher::Start& start : dispatcher.advance(now)) {
      RC_ASSERT(start.begin == now);
      RC_ASSERT(start.first_access == now + c.program.commands[start.command].overhead);
      begin[start.command] = now;
      end[start.command] = now + c.durations[start.command];
    }
  }
  RC_ASSERT(begin == begins_by_the_rule(c));

  // What a command waited for cleared in the cycle of its begin, if it waited at all.
  for (size_t i = 0; i < begin.size(); ++i) {
    const auto& timing = dispatcher.timing(static_cast<CommandId>(i));
    RC_ASSERT(timing.begin >= timing.issue);
    RC_ASSERT(timing.waited_for.any() == (timing.begin > timing.issue));
    if (!timing.waited_for.any()) continue;
    RC_ASSERT(timing.waited_for.cycle == timing.begin);
    RC_ASSERT(dispatcher.timing(timing.waited_for.command).end == timing.begin);
  }
  // Durations were the bounds: no chain is longer than the run.
  RC_ASSERT(program_bound(c.program).cycles <= dispatcher.last_end());
}

}  // namespace
}  // namespace rngdsim
