// SPDX-License-Identifier: Apache-2.0
#include "report/vcg_heatmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace rngdsim {
namespace {

// "R" of one part, "Ro" and "Ri" of two, "Ro", "Rm", "Ri" of three, "R0", "R1", ... of more.
std::string part_name(const std::string& axis, size_t i, size_t parts) {
  if (parts == 1) return axis;
  if (parts > 3) return fmt::format("{}{}", axis, i);
  if (i == 0) return axis + "o";
  return axis + (i + 1 == parts ? "i" : "m");
}

void add_parts(const StreamShape& in, AxisId axis, const AxisTable& axes, VcgHeatmap& map) {
  const auto placed = place_vcg_axis(in, axis, axes);
  if (!placed) return;
  for (size_t i = 0; i < placed->parts.size(); ++i) {
    const NamedVcgPart part{part_name(axes.name(axis), i, placed->parts.size()), axes.name(axis),
                            placed->parts[i]};
    map.parts.push_back(part);
    if (part.part.dimension == VcgDimension::kSlice) map.slice_parts.push_back(part);
    if (part.part.dimension == VcgDimension::kTime) map.time_parts.push_back(part);
  }
}

std::vector<uint64_t> values_at(const std::vector<NamedVcgPart>& parts, uint64_t position) {
  std::vector<uint64_t> values;
  for (const NamedVcgPart& named : parts) {
    values.push_back(position / named.part.step % named.part.size);
  }
  return values;
}

// Whether no term of another axis is padding at slice s.
bool slice_is_live(const std::vector<Node>& terms, const std::vector<NamedVcgPart>& tracked,
                   uint64_t s, const AxisTable& axes) {
  uint64_t step = volume(terms);
  if (s >= step) return false;
  std::vector<uint64_t> values(axes.count());
  for (const Node& term : terms) {
    step /= term.size;
    const bool is_tracked =
        std::any_of(tracked.begin(), tracked.end(),
                    [&](const NamedVcgPart& named) { return named.part.step == step; });
    if (is_tracked) continue;
    if (!Mapping({term}).accumulate(s / step % term.size, values.data())) return false;
  }
  return true;
}

void add_columns(const StreamShape& in, const AxisTable& axes, VcgHeatmap& map) {
  const std::vector<Node> terms = vcg_slice_terms(in.slice);
  std::map<std::vector<uint64_t>, VcgColumn> columns;  // outer parts come first
  const uint64_t slices = std::min(in.slice.size(), vcg_written_slices(in.slice));
  for (uint64_t s = 0; s < slices; ++s) {
    if (!slice_is_live(terms, map.slice_parts, s, axes)) continue;
    std::vector<uint64_t> values = values_at(map.slice_parts, s);
    const auto [it, is_new] = columns.try_emplace(values);
    VcgColumn& column = it->second;
    if (!is_new) {
      ++column.slices;
      continue;
    }
    column.first_slice = s;
    column.values = std::move(values);
    for (const TimeFilterConfig* filter : map.filters) column.regimes.push_back(filter->regime(s));
  }
  for (auto& [values, column] : columns) map.columns.push_back(std::move(column));
}

VcgRowState state_at(const TimeFilterConfig& filter, const VcgHeatmap& map, size_t i, uint64_t t) {
  if (filter.sequencer.index(t) < filter.time_thres) return VcgRowState::kOpen;
  const bool any_below = std::any_of(
      map.columns.begin(), map.columns.end(),
      [&](const VcgColumn& column) { return column.regimes[i] == SliceRegime::kBelow; });
  return any_below ? VcgRowState::kBelowOnly : VcgRowState::kClosed;
}

}  // namespace

VcgHeatmap vcg_heatmap(const VcgConfig& config, const StreamShape& in, const AxisTable& axes,
                       uint64_t max_rows) {
  VcgHeatmap map;
  for (const TimeFilterConfig& filter : config.time_filters) {
    if (filter.axis) map.filters.push_back(&filter);
  }
  std::stable_sort(map.filters.begin(), map.filters.end(),
                   [](const TimeFilterConfig* a, const TimeFilterConfig* b) {
                     return a->slice_mask > b->slice_mask;
                   });
  if (config.packet_clipper.axis) map.clipper = &config.packet_clipper;
  std::vector<AxisId> shown;
  for (const TimeFilterConfig* filter : map.filters) shown.push_back(*filter->axis);
  if (map.clipper != nullptr) shown.push_back(*map.clipper->axis);
  for (auto it = shown.begin(); it != shown.end(); ++it) {
    if (std::find(shown.begin(), it, *it) == it) add_parts(in, *it, axes, map);
  }
  for (auto* parts : {&map.slice_parts, &map.time_parts}) {
    std::stable_sort(
        parts->begin(), parts->end(),
        [](const NamedVcgPart& a, const NamedVcgPart& b) { return a.part.step > b.part.step; });
  }
  add_columns(in, axes, map);
  map.flits = in.time.size();
  for (uint64_t t = 0; t < std::min(map.flits, max_rows); ++t) {
    VcgRow row;
    row.t = t;
    row.values = values_at(map.time_parts, t);
    for (size_t i = 0; i < map.filters.size(); ++i) {
      row.states.push_back(state_at(*map.filters[i], map, i, t));
    }
    for (const VcgColumn& column : map.columns) {
      row.counts.push_back(config.valid_size(column.first_slice, t));
    }
    map.rows.push_back(std::move(row));
  }
  return map;
}

}  // namespace rngdsim
