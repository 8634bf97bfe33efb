// SPDX-License-Identifier: Apache-2.0
// The Valid Count Generator: its configuration and the two rules that turn it into counts.
//
// The generator tags every flit of 8 elements with the number of its leading elements that are
// data. Source: the page "Valid Count Generator" of the vendor's book (docs/vcg.md). `s` is the
// position in Slice of a slice in its cluster, `t` that of a flit in Time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mapping/mapping.h"

namespace rngdsim {

constexpr uint32_t kVcgFlitElements = 8;  // [S] elements of a tagged flit
constexpr size_t kVcgTimeFilters = 3;     // [S]

// One counter: `term` is the part of Time that it walks, as in the mapping ("R # 12 / 4").
struct VcgEntry {
  std::string term;
  uint64_t size = 1;
  uint64_t stride = 0;  // what a step adds to the index; 0 for terms of other axes
};

// Takes t apart into counters, outermost first, and adds up value * stride.
struct VcgSequencer {
  std::vector<VcgEntry> entries;
  uint64_t index(uint64_t t) const;
};

// Which parts of the axis are more major (have the larger strides).
enum class TimeFilterMode : uint8_t { kSliceMajor, kTimeMajor };
const char* name(TimeFilterMode mode);  // "SliceMajor", "TimeMajor"

// Where a slice stands against slice_thres: all of its time steps pass, those with an index below
// time_thres, none.
enum class SliceRegime : uint8_t { kBelow, kBoundary, kAbove };

// Decides whether a flit holds data of one axis that lies in Slice and Time. As constructed it is
// disabled: every flit passes.
struct TimeFilterConfig {
  std::optional<AxisId> axis;  // the axis that it tracks
  VcgSequencer sequencer;
  uint32_t slice_mask = 0;
  uint32_t slice_thres = 1;
  uint32_t time_thres = 0;
  TimeFilterMode mode = TimeFilterMode::kSliceMajor;

  SliceRegime regime(uint64_t s) const;
  bool valid(uint64_t s, uint64_t t) const;
};

// Counts the elements of the axis in Packet; the same count for all slices. As constructed it is
// disabled: 8 in every flit.
struct PacketClipperConfig {
  std::optional<AxisId> axis;
  VcgSequencer sequencer;
  uint32_t axis_size = kVcgFlitElements;    // elements of the axis
  uint32_t packet_span = kVcgFlitElements;  // positions of the axis in a flit

  uint32_t valid_size(uint64_t t) const;  // 0 .. packet_span
};

struct VcgConfig {
  std::array<TimeFilterConfig, kVcgTimeFilters> time_filters;
  PacketClipperConfig packet_clipper;

  uint32_t valid_size(uint64_t s, uint64_t t) const;  // 0 .. 8
};

}  // namespace rngdsim
