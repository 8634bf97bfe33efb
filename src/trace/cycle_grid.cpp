// SPDX-License-Identifier: Apache-2.0
#include "trace/cycle_grid.h"

#include <fmt/format.h>

#include <algorithm>

namespace rngdsim {
namespace {

constexpr Cycle kTick = 10;  // cycles between the numbers of the ruler
constexpr size_t kGap = 2;   // columns between names and cycles

}  // namespace

CycleGrid::CycleGrid(Window window) : window_(window), commands_(2), next_(window.begin) {
  window_.end = std::min(window_.end, window_.begin + kMaxCycles);
}

char CycleGrid::symbol(const UnitView& view) {
  switch (view.state) {
    case UnitState::kBusy:
      return static_cast<char>('0' + view.time_index % 10);
    case UnitState::kStarved:
      return '-';
    case UnitState::kBlocked:
      return '=';
    case UnitState::kConflict:
      return 'x';
    case UnitState::kIdle:
      break;
  }
  return '.';
}

void CycleGrid::begin(const TraceNames& names) {
  for (const TraceNames::UnitNames& unit : names.units) names_.push_back(unit.name);
  views_.resize(names_.size());
  rows_.resize(names_.size());
}

void CycleGrid::fill(Cycle end) {
  end = std::min(end, window_.end);
  for (; next_ < end; ++next_) {
    for (size_t i = 0; i < rows_.size(); ++i) rows_[i].push_back(symbol(views_[i]));
    for (size_t i = 0; i < commands_.size(); ++i) {
      commands_[i].push_back(open_[i] ? static_cast<char>('0' + *open_[i] % 10) : '.');
    }
  }
}

void CycleGrid::begin_cycle(Cycle cycle) { fill(cycle); }

void CycleGrid::open_command(Context context, std::optional<CommandId> command) {
  open_[static_cast<size_t>(context)] = command;
}

void CycleGrid::end_cycle() {}

void CycleGrid::end(Cycle end) { fill(end); }

std::string CycleGrid::text(size_t width) const {
  struct Row {
    std::string name;
    const std::string* cycles;
  };
  std::vector<Row> rows;
  std::vector<std::string> idle;
  for (size_t i = 0; i < commands_.size(); ++i) {
    if (commands_[i].find_first_not_of('.') == std::string::npos) continue;
    rows.push_back(
        {fmt::format("{} command", rngdsim::name(static_cast<Context>(i))), &commands_[i]});
  }
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].find_first_not_of('.') == std::string::npos) {
      idle.push_back(names_[i]);
    } else {
      rows.push_back({names_[i], &rows_[i]});
    }
  }
  size_t margin = 0;
  for (const Row& row : rows) margin = std::max(margin, row.name.size());
  margin += kGap;
  const size_t columns =
      std::max<size_t>(width > margin ? (width - margin) / kTick * kTick : 0, kTick);
  const size_t cycles = next_ - window_.begin;

  std::string text;
  for (size_t at = 0; at < cycles && !rows.empty(); at += columns) {
    const size_t count = std::min(columns, cycles - at);
    std::string numbers(margin, ' '), marks(margin, ' ');
    for (size_t i = 0; i < count; ++i) {
      const Cycle cycle = window_.begin + at + i;
      const bool marked = cycle % kTick == 0 || i == 0;
      marks.push_back(marked ? '|' : ' ');
      const std::string number = std::to_string(cycle);
      // A number needs a blank before it, and room for all of it.
      const bool fits = numbers.size() <= margin + i && i + number.size() <= columns;
      if (!marked || !fits) continue;
      numbers.resize(margin + i, ' ');
      numbers += number + ' ';
    }
    while (!numbers.empty() && numbers.back() == ' ') numbers.pop_back();
    while (!marks.empty() && marks.back() == ' ') marks.pop_back();
    text += fmt::format("{}{}\n{}\n", at > 0 ? "\n" : "", numbers, marks);
    for (const Row& row : rows) {
      text += fmt::format("{:<{}}{}\n", row.name, margin, row.cycles->substr(at, count));
    }
  }
  if (!idle.empty() && cycles > 0) {
    std::string line = "\nidle throughout:";
    for (size_t i = 0; i < idle.size(); ++i) {
      const std::string name = ' ' + idle[i] + (i + 1 < idle.size() ? "," : "");
      if (line.size() + name.size() > width) {
        text += line + '\n';
        line = std::string(1, ' ');
      }
      line += name;
    }
    text += line + '\n';
  }
  return text;
}

}  // namespace rngdsim
