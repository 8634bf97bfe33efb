// SPDX-License-Identifier: Apache-2.0
#include "report/vcg_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/numbers.h"
#include "report/text_table.h"
#include "report/vcg_heatmap.h"
#include "support/text.h"

namespace rngdsim {
namespace {

// Flits that are looked at for rows that merge.
constexpr uint64_t kMaxScanned = 4096;

// ---- Fields -------------------------------------------------------------------------------------

std::string binary(uint32_t mask, size_t digits) {
  return mask == 0 ? "0" : fmt::format("0b{:0{}b}", mask, digits);
}

std::string sequencer_text(const VcgSequencer& sequencer) {
  size_t width = 0;
  for (const VcgEntry& entry : sequencer.entries) width = std::max(width, entry.term.size());
  std::string text = "[";
  for (const VcgEntry& entry : sequencer.entries) {
    if (text.size() > 1) text += ",\n                  ";
    text +=
        fmt::format("{:<{}} -> size {} : stride {}", entry.term, width, entry.size, entry.stride);
  }
  return text + "]";
}

std::string fields(const PacketClipperConfig& clipper) {
  return fmt::format(
      "PacketClipperConfig {{\n"
      "    sequencer:   {},\n"
      "    axis_size:   {},\n"
      "    packet_span: {},\n"
      "}}\n",
      sequencer_text(clipper.sequencer), clipper.axis_size, clipper.packet_span);
}

std::string fields(const TimeFilterConfig& filter, size_t mask_digits) {
  return fmt::format(
      "TimeFilterConfig {{\n"
      "    sequencer:   {},\n"
      "    slice_mask:  {},\n"
      "    slice_thres: {},\n"
      "    time_thres:  {},\n"
      "    mode:        {},\n"
      "}}\n",
      sequencer_text(filter.sequencer), binary(filter.slice_mask, mask_digits), filter.slice_thres,
      filter.time_thres, name(filter.mode));
}

// ---- Heatmap ------------------------------------------------------------------------------------

char symbol(SliceRegime regime) {
  switch (regime) {
    case SliceRegime::kBelow:
      return 'v';
    case SliceRegime::kBoundary:
      return '>';
    case SliceRegime::kAbove:
      return 'x';
  }
  return ' ';
}

char symbol(VcgRowState state) {
  switch (state) {
    case VcgRowState::kOpen:
      return 'v';
    case VcgRowState::kBelowOnly:
      return '>';
    case VcgRowState::kClosed:
      return 'x';
  }
  return ' ';
}

// "2", or "2-5" of neighbours that were merged.
std::string range(uint64_t first, uint64_t last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

std::string repeated(const char* text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i) result += text;
  return result;
}

// Neighbouring columns [first, last] of the map in one.
struct ShownColumn {
  size_t first, last;
};

// Columns that agree in all outer parts.
struct ColumnGroup {
  std::vector<ShownColumn> columns;
  size_t last_first = 0;  // first column of the last group that was merged into this one
};

// Flits first .. last in one row.
struct ShownRow {
  size_t first, last;
};

class HeatmapText {
 public:
  HeatmapText(const VcgHeatmap& map, const AxisTable& axes, uint64_t max_rows)
      : map_(map), axes_(axes), max_rows_(max_rows) {}

  std::string text() {
    choose_rows();
    choose_columns();
    std::string text = heading();
    std::string label;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const std::string next = row_label(rows_[i]);
      const bool begins = i == 0 || next != label;
      if (begins && i > 0 && rows_in_groups_) text += line("", "", "");
      text += row(rows_[i], begins ? next : "", begins);
      label = next;
    }
    return text + "\n" + legend();
  }

 private:
  // ---- Rows ---------------------------------------------------------------------------------

  void choose_rows() {
    for (size_t i = 0; i < map_.rows.size(); ++i) {
      const bool merges = map_.flits > max_rows_ && i > 0 && same_rows(i - 1, i);
      if (merges) {
        rows_.back().last = i;
      } else if (rows_.size() < max_rows_) {
        rows_.push_back({i, i});
      } else {
        break;
      }
    }
    for (size_t i = 1; i < rows_.size(); ++i) {
      if (row_label(rows_[i - 1]) == row_label(rows_[i])) rows_in_groups_ = true;
    }
    const uint64_t last = rows_.empty() ? 0 : map_.rows[rows_.back().last].t;
    t_width_ = group_digits(last).size();
    for (const ShownRow& row : rows_) {
      label_width_ = std::max(label_width_, row_label(row).size());
      t_width_ = std::max(t_width_, t_text(row).size());
    }
  }

  bool same_rows(size_t a, size_t b) const {
    return map_.rows[a].counts == map_.rows[b].counts && map_.rows[a].states == map_.rows[b].states;
  }

  std::string t_text(const ShownRow& row) const {
    return range(map_.rows[row.first].t, map_.rows[row.last].t);
  }

  // "Hi=0,Ci=1": the parts in Time that a filter looks at.
  std::string row_label(const ShownRow& row) const {
    std::string text;
    for (size_t i = 0; i < map_.time_parts.size(); ++i) {
      if (!filtered(map_.time_parts[i])) continue;
      const uint64_t first = map_.rows[row.first].values[i];
      const uint64_t last = map_.rows[row.last].values[i];
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", map_.time_parts[i].name,
                          range(std::min(first, last), std::max(first, last)));
    }
    return text;
  }

  bool filtered(const NamedVcgPart& part) const {
    return std::any_of(map_.filters.begin(), map_.filters.end(), [&](const TimeFilterConfig* f) {
      return axes_.name(*f->axis) == part.axis;
    });
  }

  // ---- Columns ------------------------------------------------------------------------------

  void choose_columns() {
    for (size_t c = 0; c < map_.columns.size(); ++c) {
      if (c == 0 || !same_group(c - 1, c)) groups_.push_back({{}, c});
      groups_.back().columns.push_back({c, c});
    }
    if (width() > kReportWidth) merge_columns();
    if (width() > kReportWidth) merge_groups();
    while (width() > kReportWidth && (groups_.size() > 1 || groups_[0].columns.size() > 1)) {
      groups_.back().columns.pop_back();
      if (groups_.back().columns.empty()) groups_.pop_back();
    }
  }

  bool same_group(size_t a, size_t b) const {
    const auto& x = map_.columns[a].values;
    const auto& y = map_.columns[b].values;
    return x.empty() || std::equal(x.begin(), x.end() - 1, y.begin());
  }

  bool same_columns(size_t a, size_t b) const {
    return map_.columns[a].regimes == map_.columns[b].regimes &&
           std::all_of(rows_.begin(), rows_.end(), [&](const ShownRow& row) {
             const auto& counts = map_.rows[row.first].counts;
             return counts[a] == counts[b];
           });
  }

  void merge_columns() {
    for (ColumnGroup& group : groups_) {
      std::vector<ShownColumn> merged;
      for (const ShownColumn& column : group.columns) {
        if (!merged.empty() && same_columns(merged.back().last, column.first)) {
          merged.back().last = column.last;
        } else {
          merged.push_back(column);
        }
      }
      group.columns = std::move(merged);
    }
  }

  // Groups that look the same become one, called by a range.
  void merge_groups() {
    std::vector<ColumnGroup> merged;
    for (const ColumnGroup& group : groups_) {
      if (!merged.empty() && same_groups(merged.back(), group)) {
        merged.back().last_first = group.columns.front().first;
      } else {
        merged.push_back(group);
      }
    }
    groups_ = std::move(merged);
  }

  bool same_groups(const ColumnGroup& a, const ColumnGroup& b) const {
    const auto& outer_a = map_.columns[a.columns.front().first].values;
    const auto& outer_b = map_.columns[b.columns.front().first].values;
    // A range can name one part only, the innermost of the group.
    if (!std::equal(outer_a.begin(), outer_a.end() - 2, outer_b.begin())) return false;
    return std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                      [&](const ShownColumn& x, const ShownColumn& y) {
                        return column_label(x) == column_label(y) && same_columns(x.first, y.first);
                      });
  }

  std::string column_label(const ShownColumn& column) const {
    const auto& first = map_.columns[column.first].values;
    const auto& last = map_.columns[column.last].values;
    return first.empty() ? "" : range(first.back(), last.back());
  }

  std::string group_label(const ColumnGroup& group) const {
    const auto& first = map_.columns[group.columns.front().first].values;
    const auto& last = map_.columns[group.last_first].values;
    std::string text;
    for (size_t i = 0; i + 1 < first.size(); ++i) {
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", map_.slice_parts[i].name,
                          range(std::min(first[i], last[i]), std::max(first[i], last[i])));
    }
    return text;
  }

  size_t column_width(const ShownColumn& column) const {
    return std::max<size_t>(1, column_label(column).size()) + 2;
  }

  size_t group_width(const ColumnGroup& group) const {
    size_t width = 0;
    for (const ShownColumn& column : group.columns) width += column_width(column);
    const std::string label = group_label(group);
    return std::max(width, label.empty() ? 0 : label.size() + 2);
  }

  // ---- Lines --------------------------------------------------------------------------------

  size_t margin() const {
    size_t width = t_width_ + 3;  // " t="
    if (label_width_ > 0) width += label_width_ + 2;
    if (map_.clipper != nullptr) width += axes_.name(*map_.clipper->axis).size() + 2;
    width = std::max(width, column_name().size() + 2);
    for (const TimeFilterConfig* filter : map_.filters) {
      if (filter->slice_mask != 0) width = std::max(width, filter_name(*filter).size() + 2);
    }
    return width;
  }

  size_t width() const {
    size_t width = margin() + notes(rows_.empty() ? nullptr : &map_.rows[0]).size() + 2;
    for (const ColumnGroup& group : groups_) width += group_width(group) + 2;
    return groups_.empty() ? width : width - 2;
  }

  std::string column_name() const {
    return map_.slice_parts.empty() ? "all slices" : map_.slice_parts.back().name;
  }

  std::string filter_name(const TimeFilterConfig& filter) const {
    return axes_.name(*filter.axis) + " time filter";
  }

  // A cell a column, made by `cell`; `left` in the margin.
  template <typename Cell>
  std::string cells(const std::string& left, const Cell& cell) const {
    std::string text = fmt::format("{:<{}}", left, margin());
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (g > 0) text += " |";
      std::string group;
      for (const ShownColumn& column : groups_[g].columns) {
        group += fmt::format("{:>{}}", cell(column), column_width(column));
      }
      text += fmt::format("{:<{}}", group, group_width(groups_[g]));
    }
    return text;
  }

  static std::string trimmed(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  }

  std::string line(const std::string& left, const std::string& cell,
                   const std::string& right) const {
    return trimmed(cells(left, [&](const ShownColumn&) { return cell; }) + right);
  }

  std::string right_aligned(const std::string& text) const {
    return fmt::format("{:>{}}", text + ":", margin());
  }

  std::string heading() const {
    std::string text;
    if (map_.slice_parts.size() > 1) {
      text = std::string(margin(), ' ');
      for (size_t g = 0; g < groups_.size(); ++g) {
        if (g > 0) text += " |";
        text += fmt::format("  {:<{}}", group_label(groups_[g]), group_width(groups_[g]) - 2);
      }
      text = trimmed(text);
    }
    text += trimmed(cells(right_aligned(column_name()),
                          [&](const ShownColumn& column) { return column_label(column); }));
    for (size_t i = 0; i < map_.filters.size(); ++i) {
      if (map_.filters[i]->slice_mask == 0) continue;
      text += trimmed(
          cells(right_aligned(filter_name(*map_.filters[i])), [&](const ShownColumn& column) {
            return std::string(1, symbol(map_.columns[column.first].regimes[i]));
          }));
    }
    return text + repeated("-", std::min(width(), kReportWidth)) + "\n";
  }

  // "H:v C:>"
  std::string notes(const VcgRow* row) const {
    std::string text;
    for (size_t i = 0; row != nullptr && i < map_.filters.size(); ++i) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", axes_.name(*map_.filters[i]->axis),
                          symbol(row->states[i]));
    }
    return text;
  }

  std::string row(const ShownRow& shown, const std::string& label, bool begins) const {
    const VcgRow& row = map_.rows[shown.first];
    std::string left = fmt::format(" t={:>{}}", t_text(shown), t_width_);
    if (label_width_ > 0) left += fmt::format("  {:<{}}", label, label_width_);
    if (map_.clipper != nullptr) {
      left += begins ? "  " + axes_.name(*map_.clipper->axis) : "  |";
    }
    return trimmed(cells(left,
                         [&](const ShownColumn& column) {
                           return fmt::format("{}", row.counts[column.first]);
                         }) +
                   (begins ? "  " + notes(&row) : ""));
  }

  // ---- Below --------------------------------------------------------------------------------

  std::string legend() const {
    std::string text;
    std::string line;
    for (size_t i = 0; i < map_.parts.size(); ++i) {  // a line an axis, or more
      const NamedVcgPart& part = map_.parts[i];
      const std::string item =
          fmt::format("{} = {} in {}", part.name, part.part.term, name(part.part.dimension));
      const bool joins = i > 0 && map_.parts[i - 1].axis == part.axis;
      if (joins && line.size() + item.size() + 3 <= kReportWidth) {
        line += ", " + item;
        continue;
      }
      if (i > 0) text += line + (joins ? ",\n" : "\n");
      line = item;
    }
    if (!line.empty()) text += line + "\n";
    if (!map_.filters.empty()) {
      text +=
          "columns: v below the threshold (all pass), > at it (time decides), x above (none)\n"
          "rows:    v all slices up to the threshold pass, > those below it, x none\n";
    }
    return text + shares() + left_out();
  }

  std::string shares() const {
    if (map_.columns.empty()) return "no slice holds elements\n";
    const auto [least, most] = std::minmax_element(
        map_.columns.begin(), map_.columns.end(),
        [](const VcgColumn& a, const VcgColumn& b) { return a.slices < b.slices; });
    if (most->slices == 1) return "";
    return fmt::format("a column stands for {} slice{} that differ{} in other axes\n",
                       range(least->slices, most->slices), most->slices == 1 ? "" : "s",
                       most->slices == 1 ? "s" : "");
  }

  std::string left_out() const {
    const size_t shown_columns = groups_.empty() ? 0 : last_column(groups_.back()) + 1;
    uint64_t slices = 0;
    for (size_t c = shown_columns; c < map_.columns.size(); ++c) slices += map_.columns[c].slices;
    const uint64_t shown_flits = rows_.empty() ? 0 : rows_.back().last + 1;
    std::vector<std::string> parts;
    if (slices > 0) parts.push_back(count_of(slices, "slice"));
    if (shown_flits < map_.flits) parts.push_back(count_of(map_.flits - shown_flits, "flit"));
    if (parts.empty()) return "";
    return fmt::format("{} not shown\n", fmt::join(parts, " and "));
  }

  // The last column of the map that a group stands for.
  size_t last_column(const ColumnGroup& group) const {
    size_t last = group.columns.back().last;
    if (group.last_first > last) last = group.last_first;
    while (group.last_first > group.columns.front().first && last + 1 < map_.columns.size() &&
           same_group(last, last + 1)) {
      ++last;
    }
    return last;
  }

  const VcgHeatmap& map_;
  const AxisTable& axes_;
  const uint64_t max_rows_;
  std::vector<ShownRow> rows_;
  std::vector<ColumnGroup> groups_;
  bool rows_in_groups_ = false;
  size_t t_width_ = 1, label_width_ = 0;
};

// ---- JSON ---------------------------------------------------------------------------------------

using nlohmann::ordered_json;

ordered_json json_of(const VcgSequencer& sequencer) {
  ordered_json entries = ordered_json::array();
  for (const VcgEntry& entry : sequencer.entries) {
    entries.push_back({{"term", entry.term}, {"size", entry.size}, {"stride", entry.stride}});
  }
  return entries;
}

ordered_json axis_json(const std::optional<AxisId>& axis, const AxisTable& axes) {
  return axis ? ordered_json(axes.name(*axis)) : ordered_json();
}

const char* word(SliceRegime regime) {
  switch (regime) {
    case SliceRegime::kBelow:
      return "below";
    case SliceRegime::kBoundary:
      return "boundary";
    case SliceRegime::kAbove:
      return "above";
  }
  return "";
}

const char* word(VcgRowState state) {
  switch (state) {
    case VcgRowState::kOpen:
      return "open";
    case VcgRowState::kBelowOnly:
      return "below_only";
    case VcgRowState::kClosed:
      return "closed";
  }
  return "";
}

ordered_json values_json(const std::vector<NamedVcgPart>& parts,
                         const std::vector<uint64_t>& values) {
  ordered_json json = ordered_json::object();
  for (size_t i = 0; i < parts.size(); ++i) json[parts[i].name] = values[i];
  return json;
}

ordered_json json_of(const VcgHeatmap& map, const AxisTable& axes) {
  ordered_json columns = ordered_json::array();
  for (const VcgColumn& column : map.columns) {
    ordered_json regimes = ordered_json::object();
    for (size_t i = 0; i < map.filters.size(); ++i) {
      regimes[axes.name(*map.filters[i]->axis)] = word(column.regimes[i]);
    }
    columns.push_back({{"first_slice", column.first_slice},
                       {"slices", column.slices},
                       {"parts", values_json(map.slice_parts, column.values)},
                       {"filters", regimes}});
  }
  ordered_json rows = ordered_json::array();
  for (const VcgRow& row : map.rows) {
    ordered_json states = ordered_json::object();
    for (size_t i = 0; i < map.filters.size(); ++i) {
      states[axes.name(*map.filters[i]->axis)] = word(row.states[i]);
    }
    rows.push_back({{"t", row.t},
                    {"parts", values_json(map.time_parts, row.values)},
                    {"filters", states},
                    {"valid_size", row.counts}});
  }
  return {{"columns", columns}, {"rows", rows}, {"flits", map.flits}};
}

}  // namespace

std::string vcg_config_text(const VcgConfig& config, const AxisTable& axes) {
  std::string text;
  std::string disabled;
  const PacketClipperConfig& clipper = config.packet_clipper;
  if (clipper.axis) {
    text += fmt::format("packet_clipper, axis {}: {}", axes.name(*clipper.axis), fields(clipper));
  } else {
    disabled += fmt::format("packet_clipper: disabled (axis_size {}, packet_span {})\n",
                            clipper.axis_size, clipper.packet_span);
  }
  uint32_t masks = 0;
  for (const TimeFilterConfig& filter : config.time_filters) masks |= filter.slice_mask;
  const size_t digits = masks == 0 ? 1 : fmt::format("{:b}", masks).size();
  for (size_t i = 0; i < config.time_filters.size(); ++i) {
    const TimeFilterConfig& filter = config.time_filters.at(i);
    if (filter.axis) {
      text += fmt::format("time_filters[{}], axis {}: {}", i, axes.name(*filter.axis),
                          fields(filter, digits));
    } else {
      disabled += fmt::format("time_filters[{}]: disabled (slice_mask {}, slice_thres {})\n", i,
                              filter.slice_mask, filter.slice_thres);
    }
  }
  return text + disabled;
}

std::string vcg_heatmap_text(const VcgConfig& config, const StreamShape& in, const AxisTable& axes,
                             uint64_t max_rows) {
  const VcgHeatmap map = vcg_heatmap(config, in, axes, std::max(max_rows, kMaxScanned));
  return HeatmapText(map, axes, max_rows).text();
}

nlohmann::ordered_json vcg_json(const VcgConfig& config, const StreamShape& in,
                                const AxisTable& axes, uint64_t max_rows) {
  const VcgHeatmap map = vcg_heatmap(config, in, axes, max_rows);
  const PacketClipperConfig& clipper = config.packet_clipper;
  ordered_json filters = ordered_json::array();
  for (const TimeFilterConfig& filter : config.time_filters) {
    filters.push_back({{"axis", axis_json(filter.axis, axes)},
                       {"sequencer", json_of(filter.sequencer)},
                       {"slice_mask", filter.slice_mask},
                       {"slice_thres", filter.slice_thres},
                       {"time_thres", filter.time_thres},
                       {"mode", name(filter.mode)}});
  }
  ordered_json parts = ordered_json::array();
  for (const NamedVcgPart& named : map.parts) {
    parts.push_back({{"name", named.name},
                     {"axis", named.axis},
                     {"term", named.part.term},
                     {"dimension", name(named.part.dimension)},
                     {"size", named.part.size},
                     {"stride", named.part.stride}});
  }
  return {{"packet_clipper",
           {{"axis", axis_json(clipper.axis, axes)},
            {"sequencer", json_of(clipper.sequencer)},
            {"axis_size", clipper.axis_size},
            {"packet_span", clipper.packet_span}}},
          {"time_filters", filters},
          {"parts", parts},
          {"heatmap", json_of(map, axes)}};
}

}  // namespace rngdsim
