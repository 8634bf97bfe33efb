// SPDX-License-Identifier: Apache-2.0
// The counts of a Valid Count Generator as a table: slices in columns, flits in rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command/vcg.h"
#include "lowering/vcg_placement.h"

namespace rngdsim {

// A part of a tracked axis under a short name: "Ho", "Hi", from the most major one.
struct NamedVcgPart {
  std::string name;
  std::string axis;
  VcgPart part;
};

// Slices that differ in terms of other axes alone: one column.
struct VcgColumn {
  uint64_t first_slice = 0;
  uint64_t slices = 1;
  std::vector<uint64_t> values;      // of `slice_parts`
  std::vector<SliceRegime> regimes;  // of `filters`
};

// What a filter lets through at a time step: all slices up to the boundary, those below it, none.
enum class VcgRowState : uint8_t { kOpen, kBelowOnly, kClosed };

struct VcgRow {
  uint64_t t = 0;
  std::vector<uint64_t> values;     // of `time_parts`
  std::vector<VcgRowState> states;  // of `filters`
  std::vector<uint32_t> counts;     // of `columns`
};

struct VcgHeatmap {
  // Those in use: the one that masks the outermost bits first, those of Time alone last.
  std::vector<const TimeFilterConfig*> filters;
  const PacketClipperConfig* clipper = nullptr;  // where it is in use
  std::vector<NamedVcgPart> parts;               // of all tracked axes, as the axes come
  std::vector<NamedVcgPart> slice_parts;         // outermost first
  std::vector<NamedVcgPart> time_parts;          // outermost first
  // Slices whose other terms (and Slice as a whole) are no padding.
  std::vector<VcgColumn> columns;
  std::vector<VcgRow> rows;  // of the first flits
  uint64_t flits = 0;        // all there are
};

// `config` was lowered from `in` and must outlive the result. At most `max_rows` rows.
VcgHeatmap vcg_heatmap(const VcgConfig& config, const StreamShape& in, const AxisTable& axes,
                       uint64_t max_rows);

}  // namespace rngdsim
