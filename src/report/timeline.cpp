// SPDX-License-Identifier: Apache-2.0
#include "report/timeline.h"

#include <algorithm>
#include <map>

namespace rngdsim {
namespace {

// Cycles that [begin, end) and [from, to) have in common.
uint64_t common(uint64_t begin, uint64_t end, uint64_t from, uint64_t to) {
  return std::min(end, to) - std::min(std::min(end, to), std::max(begin, from));
}

char column(const std::vector<const CommandResult*>& commands, uint64_t from, uint64_t to) {
  std::map<char, uint64_t> worked;
  uint64_t overhead = 0, busy = 0;
  for (const CommandResult* command : commands) {
    const uint64_t first = std::min(command->begin + command->overhead, command->end);
    const uint64_t work = common(first, command->end, from, to);
    const uint64_t before = common(command->begin, first, from, to);
    worked[static_cast<char>('0' + command->index % 10)] += work;
    overhead += before;
    busy += work + before;
  }
  const auto most =
      std::max_element(worked.begin(), worked.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const uint64_t idle = to - from - busy;
  if (most != worked.end() && most->second > 0 && most->second >= std::max(overhead, idle)) {
    return most->first;
  }
  return overhead > 0 && overhead >= idle ? '-' : '.';
}

}  // namespace

Timeline timeline_of(const std::vector<CommandResult>& commands, uint64_t cycles, size_t width) {
  Timeline timeline;
  const uint64_t columns = std::min<uint64_t>(width, cycles);
  if (columns == 0) return timeline;
  timeline.cycles_a_column = static_cast<double>(cycles) / static_cast<double>(columns);
  std::vector<std::vector<const CommandResult*>> by_row;
  for (const CommandResult& command : commands) {
    const auto row =
        std::find_if(timeline.rows.begin(), timeline.rows.end(),
                     [&](const Timeline::Row& r) { return r.context == command.context; });
    const auto place = static_cast<size_t>(row - timeline.rows.begin());
    if (row == timeline.rows.end()) {
      timeline.rows.push_back({command.context, ""});
      by_row.emplace_back();
    }
    if (command.begun) by_row[place].push_back(&command);
  }
  for (size_t r = 0; r < timeline.rows.size(); ++r) {
    for (uint64_t i = 0; i < columns; ++i) {
      // 64 bits hold the products: a run has at most 2^40 cycles, a line some hundred columns.
      timeline.rows[r].columns +=
          column(by_row[r], i * cycles / columns, (i + 1) * cycles / columns);
    }
  }
  return timeline;
}

}  // namespace rngdsim
