// SPDX-License-Identifier: Apache-2.0
// A Valid Count Generator explained: its fields, and the counts that they give.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "command/vcg.h"
#include "lowering/vcg_placement.h"

namespace rngdsim {

// Rows of a heatmap as text, merged where more flits than that exist; rows as JSON.
constexpr uint64_t kVcgTextRows = 48;
constexpr uint64_t kVcgJsonRows = 1024;

// The clipper and the filters field by field, as the vendor's page prints them. What is not in use
// comes last and on one line.
std::string vcg_config_text(const VcgConfig& config, const AxisTable& axes);

// Slices in columns, grouped by the outer parts in Slice, flits in rows, grouped by the parts in
// Time that filters decide on: the count of each. Above, how each filter takes each column; at the
// right, how it takes the rows. Slices that differ in other terms share a column. What does not fit
// kReportWidth or `max_rows` is merged where it is equal ("0-1"); what still does not is left out,
// and the last line says how much.
std::string vcg_heatmap_text(const VcgConfig& config, const StreamShape& in, const AxisTable& axes,
                             uint64_t max_rows = kVcgTextRows);

// {"packet_clipper", "time_filters", "parts", "heatmap": {"columns", "rows", "flits"}}.
nlohmann::ordered_json vcg_json(const VcgConfig& config, const StreamShape& in,
                                const AxisTable& axes, uint64_t max_rows = kVcgJsonRows);

}  // namespace rngdsim
