// SPDX-License-Identifier: Apache-2.0
#include "command/vcg.h"

#include <algorithm>

namespace rngdsim {

uint64_t VcgSequencer::index(uint64_t t) const {
  uint64_t index = 0;
  for (size_t i = entries.size(); i-- > 0;) {
    index += t % entries[i].size * entries[i].stride;
    t /= entries[i].size;
  }
  return index;
}

const char* name(TimeFilterMode mode) {
  return mode == TimeFilterMode::kSliceMajor ? "SliceMajor" : "TimeMajor";
}

SliceRegime TimeFilterConfig::regime(uint64_t s) const {
  const uint64_t masked = s & slice_mask;
  if (masked < slice_thres) return SliceRegime::kBelow;
  // TimeMajor knows no slice without data: above the threshold the time step decides too.
  if (masked > slice_thres && mode == TimeFilterMode::kSliceMajor) return SliceRegime::kAbove;
  return SliceRegime::kBoundary;
}

bool TimeFilterConfig::valid(uint64_t s, uint64_t t) const {
  switch (regime(s)) {
    case SliceRegime::kBelow:
      return true;
    case SliceRegime::kAbove:
      return false;
    case SliceRegime::kBoundary:
      return sequencer.index(t) < time_thres;
  }
  return false;
}

uint32_t PacketClipperConfig::valid_size(uint64_t t) const {
  const uint64_t index = sequencer.index(t);
  return index >= axis_size ? 0 : std::min(axis_size - static_cast<uint32_t>(index), packet_span);
}

uint32_t VcgConfig::valid_size(uint64_t s, uint64_t t) const {
  const bool valid = std::all_of(time_filters.begin(), time_filters.end(),
                                 [&](const TimeFilterConfig& f) { return f.valid(s, t); });
  return valid ? packet_clipper.valid_size(t) : 0;
}

}  // namespace rngdsim
