// SPDX-License-Identifier: Apache-2.0
#include "report/map_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/numbers.h"
#include "support/text.h"

namespace rngdsim {
namespace {

// Counting live positions one by one takes too long beyond this.
constexpr uint64_t kMaxCounted = uint64_t{1} << 24;

std::string cell_text(const Cell& cell, const std::vector<AxisId>& shown, const AxisTable& axes,
                      const std::vector<size_t>& widths) {
  if (!cell.live) return std::string("padding ") + symbol(cell.pad);
  if (shown.empty()) return to_string(cell, axes);
  std::string text;
  for (size_t i = 0; i < shown.size(); ++i) {
    uint64_t value = 0;
    for (const auto& [axis, at] : cell.index) {
      if (axis == shown[i]) value = at;
    }
    std::string entry = fmt::format("{}={}", axes.name(shown[i]), value);
    entry.resize(std::max(widths[i], entry.size()), ' ');
    text += (text.empty() ? "" : " ") + entry;
  }
  return text;
}

}  // namespace

std::string map_text(const std::string& written, const Mapping& mapping, const AxisTable& axes,
                     uint64_t limit, const Style& style) {
  const uint64_t size = mapping.size();
  std::string text = style.strong(written) + "\n";
  std::string counted = count_of(size, "position");
  if (size <= kMaxCounted) {
    const uint64_t live = count_live({&mapping}, axes);
    counted += fmt::format(", {} hold an element", group_digits(live));
    if (live < size) counted += fmt::format(", {} padding", group_digits(size - live));
  }
  text += "  size         " + counted + "\n";
  text += "  normal form  " + mapping.normalized().text(axes) + "\n";

  // Half of what is shown at each end.
  const uint64_t shown = std::min(size, limit);
  const uint64_t head = size <= limit ? size : (limit + 1) / 2;
  const uint64_t tail = shown - head;
  std::vector<uint64_t> positions;
  for (uint64_t i = 0; i < head; ++i) positions.push_back(i);
  for (uint64_t i = size - tail; i < size; ++i) positions.push_back(i);

  const std::vector<AxisId> columns = axes_of({&mapping}, axes);
  std::vector<size_t> widths(columns.size(), 0);
  for (const uint64_t position : positions) {
    for (const auto& [axis, value] : mapping.cell(position, axes).index) {
      const auto it = std::find(columns.begin(), columns.end(), axis);
      if (it == columns.end()) continue;
      size_t& width = widths[static_cast<size_t>(it - columns.begin())];
      width = std::max(width, fmt::format("{}={}", axes.name(axis), value).size());
    }
  }
  TextTable first;
  TextTable second;
  for (TextTable* table : {&first, &second}) {
    table->column("", TextTable::Align::kRight);
    table->column("", TextTable::Align::kLeft);
  }
  const size_t digits = std::max<size_t>(8, group_digits(size - 1).size());
  const auto row = [&](uint64_t position) {
    std::string number = group_digits(position);
    number.insert(0, digits - std::min(digits, number.size()), ' ');
    return std::vector<std::string>{number,
                                    cell_text(mapping.cell(position, axes), columns, axes, widths)};
  };
  for (uint64_t i = 0; i < head; ++i) first.row(row(positions[i]));
  for (uint64_t i = head; i < positions.size(); ++i) second.row(row(positions[i]));
  text += "\n  " + std::string(digits - 8, ' ') + "position  cell\n";
  if (!first.empty()) text += first.text(2);
  if (shown < size) {
    text += "  " + std::string(digits, ' ') +
            fmt::format("  ... {} not shown (--limit) ...\n", count_of(size - shown, "position"));
  }
  if (!second.empty()) text += second.text(2);
  return text;
}

}  // namespace rngdsim
