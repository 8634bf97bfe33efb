// SPDX-License-Identifier: Apache-2.0
#include "lowering/lower_vcg.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/text.h"

namespace rngdsim {
namespace {

using Entries = std::vector<VcgEntry>;

bool power_of_two(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

uint64_t span_of(const std::vector<VcgPart>& parts) {
  uint64_t span = 1;
  for (const VcgPart& part : parts) span *= part.size;
  return span;
}

uint64_t smallest_stride(const std::vector<VcgPart>& parts) {
  uint64_t stride = parts.front().stride;
  for (const VcgPart& part : parts) stride = std::min(stride, part.stride);
  return stride;
}

uint64_t largest_stride(const std::vector<VcgPart>& parts) {
  uint64_t stride = 0;
  for (const VcgPart& part : parts) stride = std::max(stride, part.stride);
  return stride;
}

// The slice id whose parts make the index `value`, other bits zero.
uint64_t slice_id(const std::vector<VcgPart>& parts, uint64_t value) {
  uint64_t id = 0;
  for (const VcgPart& part : parts) id += value / part.stride % part.size * part.step;
  return id;
}

// As a sequencer merges: neighbours that are one loop, innermost first.
Entries merged(const Entries& entries, uint64_t max_size) {
  Entries result;  // innermost first
  for (size_t i = entries.size(); i-- > 0;) {
    const VcgEntry& outer = entries[i];
    if (!result.empty()) {
      VcgEntry& inner = result.back();
      if (outer.stride == inner.size * inner.stride && outer.size <= max_size / inner.size) {
        inner.term = outer.term + ", " + inner.term;
        inner.size *= outer.size;
        continue;
      }
    }
    result.push_back(outer);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

std::string text_of(const Entries& entries) {
  std::vector<std::string> texts;
  for (const VcgEntry& entry : entries) {
    texts.push_back(fmt::format("{} : {}", entry.size, entry.stride));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

bool takes_filter(const VcgAxis& axis) {
  return axis.elements < axis.padded &&
         (axis.in(VcgDimension::kPacket).empty() || !axis.in(VcgDimension::kSlice).empty());
}

// What one axis occupies.
struct AxisConfig {
  std::optional<TimeFilterConfig> filter;
  std::optional<PacketClipperConfig> clipper;
};

// One axis: its filter and clipper, or errors.
class AxisLowering {
 public:
  AxisLowering(const StreamShape& in, const VcgAxis& axis, const SourceLocation& where,
               const LowerScope& scope)
      : in_(in),
        axis_(axis),
        where_(where),
        scope_(scope),
        name_(scope.axes.name(axis.axis)),
        slice_(axis.in(VcgDimension::kSlice)),
        time_(axis.in(VcgDimension::kTime)),
        packet_(axis.in(VcgDimension::kPacket)) {}

  // Nothing after errors; no filter for an axis that needs none and cannot be expressed.
  std::optional<AxisConfig> run() {
    for (const VcgFault& fault : axis_.faults) {
      refuse(fault.restriction, fault.figures, fault.hint);
    }
    check_slice_parts();
    if (axis_.faults.empty()) check_padding();
    AxisConfig config;
    if (faults_.empty() && !packet_.empty()) config.clipper = clipper();
    if (faults_.empty() && takes_filter(axis_)) config.filter = filter();
    if (faults_.empty()) return config;
    if (!axis_.needed) return AxisConfig{};
    for (const VcgFault& fault : faults_) {
      scope_.diagnostics.error(where_,
                               fmt::format("axis {} cannot be tracked: {}: {}", name_,
                                           name(fault.restriction), fault.figures),
                               fault.hint);
    }
    return std::nullopt;
  }

 private:
  void refuse(VcgRestriction restriction, std::string figures, std::string hint) {
    faults_.push_back({restriction, std::move(figures), std::move(hint)});
  }

  // ---- Restrictions -----------------------------------------------------------------------------

  void check_slice_parts() {
    for (size_t i = 1; i < slice_.size(); ++i) {
      const VcgPart& outer = slice_[i - 1];
      const VcgPart& inner = slice_[i];
      if (outer.stride > inner.stride) continue;
      refuse(VcgRestriction::kSliceOrder,
             fmt::format("in Slice {} (stride {}) lies outside of {} (stride {}); one slice_thres "
                         "needs descending strides",
                         outer.term, outer.stride, inner.term, inner.stride),
             fmt::format("exchange {} and {}", outer.term, inner.term));
      break;
    }
    for (const VcgPart& part : slice_) {
      if (power_of_two(part.size) && power_of_two(part.step)) continue;
      refuse(VcgRestriction::kPowerOfTwo,
             fmt::format("{} has {} positions, {} apart in the slice id; slice_mask takes whole "
                         "bits, so both must be powers of two",
                         part.term, part.size, part.step),
             fmt::format("pad {} so that its part in Slice and what lies inside of it have 2, 4, "
                         "8, ... positions",
                         name_));
    }
    if (!slice_.empty() && !time_.empty() && !slice_major() && !time_major()) {
      std::vector<std::string> parts;
      for (const VcgPart& part : axis_.parts) {
        if (part.dimension == VcgDimension::kPacket) continue;
        parts.push_back(
            fmt::format("{} (stride {}) in {}", part.term, part.stride, name(part.dimension)));
      }
      refuse(VcgRestriction::kInterleaved,
             fmt::format("{}; slices would need different numbers of time steps, and there is "
                         "one slice_thres",
                         listed(parts)),
             "give all parts in Slice larger strides than those in Time, or all smaller ones");
    }
  }

  // The restrictions that depend on how many positions are padding.
  void check_padding() {
    if (slice_.empty()) return;
    if (axis_.elements % packet_span() != 0) {
      refuse(
          VcgRestriction::kSliceAndPacket,
          fmt::format("{} elements are no multiple of packet_span {} ({} remain), and the "
                      "packet clipper gives the same count to all slices",
                      group_digits(axis_.elements), packet_span(), axis_.elements % packet_span()),
          fmt::format("move {} from Slice to Time, or choose a packet_span that divides {}", name_,
                      group_digits(axis_.elements)));
    }
    const uint64_t padding = axis_.padded - axis_.elements;
    const uint64_t span = span_of(slice_) * packet_span();
    if (!time_.empty() && time_major() && padding > span) {
      const std::string spans = packet_.empty()
                                    ? fmt::format("slice_span {}", span)
                                    : fmt::format("slice_span x packet_span = {} x {} = {}",
                                                  span_of(slice_), packet_span(), span);
      refuse(VcgRestriction::kOverPadded,
             fmt::format("PADDED - {} = {} - {} = {} is more than {}", name_,
                         group_digits(axis_.padded), group_digits(axis_.elements),
                         group_digits(padding), spans),
             fmt::format("pad to {} # {}", name_, (axis_.elements + span - 1) / span * span));
    }
  }

  // ---- Configuration ----------------------------------------------------------------------------

  uint64_t packet_span() const { return packet_.empty() ? 1 : packet_.front().size; }
  bool slice_major() const { return smallest_stride(slice_) > largest_stride(time_); }
  bool time_major() const { return smallest_stride(time_) > largest_stride(slice_); }

  uint32_t value(uint64_t value, const char* field) {
    if (value > UINT32_MAX) {
      refuse(VcgRestriction::kRange,
             fmt::format("{} is {}; at most {} is possible", field, group_digits(value),
                         group_digits(UINT32_MAX)),
             "");
    }
    return static_cast<uint32_t>(value);
  }

  PacketClipperConfig clipper() {
    PacketClipperConfig clipper;
    clipper.axis = axis_.axis;
    clipper.packet_span = value(packet_span(), "packet_span");
    if (slice_.empty()) {
      clipper.sequencer = sequencer(1);
      clipper.axis_size = value(axis_.elements, "axis_size");
    } else {
      clipper.axis_size = clipper.packet_span;  // every flit is full, or the filter's business
    }
    return clipper;
  }

  TimeFilterConfig filter() {
    TimeFilterConfig filter;
    filter.axis = axis_.axis;
    uint64_t mask = 0;
    for (const VcgPart& part : slice_) mask |= (part.size - 1) * part.step;
    // Where Slice as a whole is padded (`[..] # 256`), only the slices that are written count.
    uint64_t written = 1;
    while (written < vcg_written_slices(in_.slice)) written *= 2;
    mask &= written - 1;
    uint64_t thres = 0;
    uint64_t time_thres = 0;
    if (slice_.empty()) {
      filter.sequencer = sequencer(1);
      time_thres = axis_.elements;
    } else if (time_.empty() || slice_major()) {
      const uint64_t boundary = axis_.elements - axis_.elements % smallest_stride(slice_);
      filter.sequencer = sequencer(1);
      thres = slice_id(slice_, boundary);
      time_thres = axis_.elements - boundary;
    } else {
      const uint64_t span = span_of(slice_) * packet_span();
      filter.mode = TimeFilterMode::kTimeMajor;
      filter.sequencer = sequencer(span);
      thres = slice_id(slice_, span - (axis_.padded - axis_.elements));
      time_thres = span_of(time_) - 1;
    }
    filter.slice_mask = value(mask, "slice_mask");
    filter.slice_thres = value(thres, "slice_thres");
    filter.time_thres = value(time_thres, "time_thres");
    return filter;
  }

  // All of Time, terms of other axes with stride 0; nothing where the axis has no part in it.
  VcgSequencer sequencer(uint64_t divisor) {
    VcgSequencer sequencer;
    if (time_.empty()) return sequencer;
    const std::vector<Node> terms = vcg_time_terms(in_.time, axis_.axis);
    uint64_t step = volume(terms);
    size_t next = 0;  // parts in Time come outermost first, as the terms do
    for (const Node& term : terms) {
      step /= term.size;
      if (term.kind == Node::Kind::kDigit && term.axis == axis_.axis) {
        const VcgPart& part = time_[next++];
        sequencer.entries.push_back({part.term, part.size, part.stride / divisor});
      } else {
        sequencer.entries.push_back({other_term(term, step), term.size, 0});
      }
    }
    limit(sequencer.entries);
    return sequencer;
  }

  // A padded axis is called by its padded size, as its own filter calls it.
  std::string other_term(const Node& term, uint64_t step) const {
    if (term.kind == Node::Kind::kDigit) {
      if (const auto other = place_vcg_axis(in_, term.axis, scope_.axes)) {
        for (const VcgPart& part : other->in(VcgDimension::kTime)) {
          if (part.step == step) return part.term;
        }
      }
    }
    return Mapping({term}).text(scope_.axes);
  }

  void limit(Entries& entries) {
    const SequencerLimits& limits = scope_.limits.sequencer;
    if (entries.size() > limits.max_entries) entries = merged(entries, limits.max_size);
    if (entries.size() > limits.max_entries) {
      refuse(VcgRestriction::kEntries,
             fmt::format("{} entries after merging, a sequencer has {}: {}", entries.size(),
                         limits.max_entries, text_of(entries)),
             "bring parts of other axes in Time together, so that their entries merge");
    }
    for (const VcgEntry& entry : entries) {
      if (entry.size <= limits.max_size) continue;
      refuse(VcgRestriction::kIterations,
             fmt::format("{} has {} iterations, an entry at most {}", entry.term,
                         group_digits(entry.size), group_digits(limits.max_size)),
             "split the term, e.g. A / 65536, A % 65536");
    }
  }

  const StreamShape& in_;
  const VcgAxis& axis_;
  const SourceLocation& where_;
  const LowerScope& scope_;
  const std::string name_;
  const std::vector<VcgPart> slice_, time_, packet_;
  std::vector<VcgFault> faults_;
};

// ---------------------------------------------------------------------------------------------

// Filters and clippers against what exists.
bool enough_hardware(const std::vector<VcgAxis>& axes, const SourceLocation& where,
                     const LowerScope& scope) {
  std::vector<std::string> all;
  std::vector<std::string> filters;
  std::vector<std::string> clippers;
  for (const VcgAxis& axis : axes) {
    if (!axis.needed) continue;
    const std::string& name = scope.axes.name(axis.axis);
    all.push_back(name);
    if (takes_filter(axis)) filters.push_back(name);
    if (!axis.in(VcgDimension::kPacket).empty()) clippers.push_back(name);
  }
  const auto check = [&](const std::vector<std::string>& users, size_t available,
                         VcgRestriction restriction, const char* what) {
    if (users.size() <= available) return true;
    scope.diagnostics.error(
        where,
        fmt::format("{}: {} padded axes ({}) {}; at most {} is possible", name(restriction),
                    users.size(), listed(users), what, available),
        "choose sizes that need no padding, or track fewer axes");
    return false;
  };
  const bool axes_fit = check(all, kVcgTimeFilters + 1, VcgRestriction::kAxes, "are tracked");
  const bool filters_fit = check(filters, kVcgTimeFilters, VcgRestriction::kTimeFilters,
                                 "have parts in Slice or Time and take a time filter each");
  const bool clippers_fit = check(clippers, 1, VcgRestriction::kPacketClipper,
                                  "have parts in Packet and take the packet clipper");
  return axes_fit && filters_fit && clippers_fit;
}

}  // namespace

std::optional<VcgConfig> lower_vcg(const StreamShape& in, const std::vector<AxisId>& tracked,
                                   const SourceLocation& where, const LowerScope& scope) {
  bool failed = false;
  if (in.packet.size() != kVcgFlitElements) {
    scope.diagnostics.error(
        where,
        fmt::format("{}: Packet '{}' has {} positions, a flit {}", name(VcgRestriction::kFlit),
                    scope.text(in.packet), in.packet.size(), kVcgFlitElements),
        fmt::format("pad it: # {}", kVcgFlitElements));
    failed = true;
  }
  std::vector<VcgAxis> axes;
  std::vector<AxisConfig> configs;
  for (auto it = tracked.begin(); it != tracked.end(); ++it) {
    if (std::find(tracked.begin(), it, *it) != it) continue;
    auto placed = place_vcg_axis(in, *it, scope.axes);
    if (!placed) continue;
    auto config = AxisLowering(in, *placed, where, scope).run();
    failed = failed || !config;
    configs.push_back(config ? std::move(*config) : AxisConfig{});
    axes.push_back(std::move(*placed));
  }
  if (!enough_hardware(axes, where, scope) || failed) return std::nullopt;

  // Filters that could be done without go where the others leave too few.
  const auto filters = std::count_if(configs.begin(), configs.end(),
                                     [](const AxisConfig& config) { return !!config.filter; });
  VcgConfig result;
  size_t next = 0;
  for (size_t i = 0; i < configs.size(); ++i) {
    const AxisConfig& config = configs[i];
    if (config.clipper) result.packet_clipper = *config.clipper;
    const bool wanted = axes[i].needed || static_cast<size_t>(filters) <= kVcgTimeFilters;
    if (config.filter && wanted) result.time_filters.at(next++) = *config.filter;
  }
  return result;
}

}  // namespace rngdsim
