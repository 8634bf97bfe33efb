// SPDX-License-Identifier: Apache-2.0
// Random placements of several axes: the derived configuration counts, for every slice and flit,
// what the definition counts, or lowering names a restriction that the placement does violate.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tests/support/random_kernel.h"
#include "tests/support/vcg_fixture.h"

namespace rngdsim {
namespace {

using test::join;
using test::Random;

enum Place : uint8_t { kInSlice, kInTime, kInPacket, kInCluster };
constexpr size_t kPlaces = 4;

// One part of a tracked axis, as drawn.
struct Part {
  std::string axis;
  uint64_t stride, size;
  Place place;
  uint64_t own_pad = 0;  // `# size + own_pad` behind it
};

struct Axis {
  std::string name;
  uint64_t size = 1, padded = 1;
  std::vector<Part> parts;  // most major first
  bool partial = false;     // a part is nowhere: the stream has some of its indices only

  std::vector<Part> in(Place place) const {
    std::vector<Part> found;
    for (const Part& part : parts) {
      if (part.place == place) found.push_back(part);
    }
    return found;
  }
};

// A term of a dimension: a part of a tracked axis or something else.
struct Term {
  std::string text;
  uint64_t size;
  std::string axis;  // empty: none of the tracked
  uint64_t stride = 0;
};

struct Drawn {
  std::vector<Axis> axes;
  std::vector<Term> terms[kPlaces];
  uint64_t time_group = 0;  // positions of `[time] # n`
  bool packet_group = false;
  PlacementText text;

  uint64_t positions(Place place) const {
    uint64_t n = 1;
    for (const Term& term : terms[place]) n *= term.size;
    return n;
  }
};

// `many`: five parts of two positions, all in Time.
Axis random_axis(Random& random, const std::string& name, bool many) {
  Axis axis;
  axis.name = name;
  const std::vector<uint64_t> factors =
      many ? std::vector<uint64_t>{2} : std::vector<uint64_t>{2, 2, 2, 2, 4, 4, 8, 3, 5, 6};
  const uint64_t parts = many ? 5 : 1 + random.below(3);
  std::vector<uint64_t> sizes;
  for (uint64_t i = 0; i < parts; ++i) sizes.push_back(random.of(factors));
  for (const uint64_t size : sizes) axis.padded *= size;
  const uint64_t padding = random.one_in(6)   ? 0
                           : random.one_in(2) ? random.below(std::min<uint64_t>(axis.padded, 5))
                                              : random.below(axis.padded);
  axis.size = axis.padded - padding;
  uint64_t stride = axis.padded;
  for (const uint64_t size : sizes) {
    stride /= size;
    const std::vector<Place> places = {kInSlice, kInSlice, kInTime, kInTime, kInPacket};
    const Place place = many ? kInTime : random.one_in(60) ? kInCluster : random.of(places);
    axis.parts.push_back({name, stride, size, place, random.one_in(60) ? 1U : 0U});
  }
  if (axis.parts.size() > 1 && random.one_in(15)) {
    axis.parts.erase(axis.parts.begin() + static_cast<ptrdiff_t>(random.below(axis.parts.size())));
    axis.partial = true;
  }
  return axis;
}

Term term_of(const Axis& axis, const Part& part) {
  std::string text = axis.name;
  if (axis.padded > axis.size) text += fmt::format(" # {}", axis.padded);
  if (part.stride > 1) text += fmt::format(" / {}", part.stride);
  if (part.stride * part.size < axis.padded) text += fmt::format(" % {}", part.size);
  if (part.own_pad > 0) text += fmt::format(" # {}", part.size + part.own_pad);
  return {text, part.size + part.own_pad, axis.name, part.stride};
}

std::string text_of(const std::vector<Term>& terms) {
  std::vector<std::string> texts;
  for (const Term& term : terms) texts.push_back(term.text);
  return join(texts);
}

// Fills Packet up to eight positions.
void complete_packet(Random& random, Drawn& drawn) {
  const uint64_t positions = drawn.positions(kInPacket);
  std::vector<Term>& terms = drawn.terms[kInPacket];
  if (positions < 8 && 8 % positions == 0 && random.one_in(4)) {
    terms.push_back({fmt::format("{}", 8 / positions), 8 / positions, ""});
    random.shuffle(terms);
  }
  drawn.text.packet = text_of(terms);
  if (drawn.positions(kInPacket) < 8) {
    drawn.packet_group = terms.size() > 1;
    drawn.text.packet = fmt::format("[{}] # 8", drawn.text.packet);
  }
}

// Nothing where the draw has no legal sizes.
std::optional<Drawn> random_placement(Random& random) {
  Drawn drawn;
  const bool many = random.one_in(40);
  const uint64_t count = many || random.one_in(2) ? 1 : random.one_in(4) ? 4 + random.below(2) : 2;
  for (uint64_t i = 0; i < count; ++i) {
    drawn.axes.push_back(random_axis(random, std::string(1, static_cast<char>('P' + i)), many));
  }
  drawn.text.axes = {{"X", 1 + random.below(5)}, {"Y", 4}, {"A", 1 + random.below(4)}};
  for (const Axis& axis : drawn.axes) {
    drawn.text.axes.emplace_back(axis.name, axis.size);
    drawn.text.tracked.push_back(axis.name);
    for (const Part& part : axis.parts) drawn.terms[part.place].push_back(term_of(axis, part));
  }
  drawn.terms[kInSlice].push_back({"X", drawn.text.axes[0].second, ""});
  if (!many && random.one_in(2)) drawn.terms[kInSlice].push_back({"Y", 4, ""});
  drawn.terms[kInTime].push_back({"A", drawn.text.axes[2].second, ""});
  if (many) {
    for (int i = 0; i < 5; ++i) drawn.terms[kInTime].push_back({"2", 2, ""});
  }
  for (auto& terms : drawn.terms) random.shuffle(terms);
  if (drawn.positions(kInPacket) > 8 || drawn.positions(kInSlice) > 256 ||
      drawn.positions(kInTime) > 4096) {
    return std::nullopt;
  }
  complete_packet(random, drawn);
  drawn.text.slice = text_of(drawn.terms[kInSlice]);
  if (random.one_in(2)) {
    uint64_t slices = 1;
    while (slices < drawn.positions(kInSlice)) slices *= 2;
    if (random.one_in(2)) slices = std::min<uint64_t>(256, slices * 2);
    drawn.text.slice = fmt::format("[{}] # {}", drawn.text.slice, slices);
  }
  drawn.text.time = text_of(drawn.terms[kInTime]);
  if (random.one_in(30)) {
    drawn.time_group = drawn.positions(kInTime) + 1 + random.below(9);
    drawn.text.time = fmt::format("[{}] # {}", drawn.text.time, drawn.time_group);
  }
  drawn.text.cluster = text_of(drawn.terms[kInCluster]);
  return drawn;
}

// ------------------------------------------------------------- what the restrictions say, on paper

bool power_of_two(uint64_t n) { return (n & (n - 1)) == 0; }

uint64_t product(const std::vector<Part>& parts) {
  uint64_t n = 1;
  for (const Part& part : parts) n *= part.size;
  return n;
}

// Strides of the axis's terms in a dimension, outermost first.
std::vector<uint64_t> strides(const Drawn& drawn, const Axis& axis, Place place) {
  std::vector<uint64_t> found;
  for (const Term& term : drawn.terms[place]) {
    if (term.axis == axis.name && term.size > 1) found.push_back(term.stride);
  }
  return found;
}

bool all_above(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  return *std::min_element(a.begin(), a.end()) > *std::max_element(b.begin(), b.end());
}

bool slice_no_power_of_two(const Drawn& drawn, const Axis& axis) {
  uint64_t step = 1;
  bool found = !power_of_two(product(axis.in(kInSlice)));
  const std::vector<Term>& terms = drawn.terms[kInSlice];
  for (size_t i = terms.size(); i-- > 0;) {
    found = found ||
            (terms[i].axis == axis.name && (!power_of_two(step) || !power_of_two(terms[i].size)));
    step *= terms[i].size;
  }
  return found;
}

bool own_padding(const Axis& axis) {
  return std::any_of(axis.parts.begin(), axis.parts.end(),
                     [](const Part& part) { return part.own_pad > 0; });
}

bool shares_packet(const Drawn& drawn, const Axis& axis) {
  const std::vector<Term>& terms = drawn.terms[kInPacket];
  return std::any_of(terms.begin(), terms.end(),
                     [&](const Term& term) { return term.axis != axis.name; });
}

// Whether the placement of `axis` violates the restriction.
bool violated(VcgRestriction restriction, const Drawn& drawn, const Axis& axis) {
  const std::vector<uint64_t> slice = strides(drawn, axis, kInSlice);
  const std::vector<uint64_t> time = strides(drawn, axis, kInTime);
  const std::vector<uint64_t> packet = strides(drawn, axis, kInPacket);
  const uint64_t packet_span = product(axis.in(kInPacket));
  std::vector<uint64_t> beside = slice;
  beside.insert(beside.end(), time.begin(), time.end());
  switch (restriction) {
    case VcgRestriction::kSliceOrder:
      return !std::is_sorted(slice.rbegin(), slice.rend());
    case VcgRestriction::kInterleaved:
      return !slice.empty() && !time.empty() && !all_above(slice, time) && !all_above(time, slice);
    case VcgRestriction::kOverPadded:
      return !slice.empty() && !time.empty() && all_above(time, slice) &&
             (axis.padded - axis.size > product(axis.in(kInSlice)) * packet_span ||
              // What adds to PADDED, or takes away.
              axis.partial || own_padding(axis) || drawn.time_group > 0);
    case VcgRestriction::kPowerOfTwo:
      return slice_no_power_of_two(drawn, axis);
    case VcgRestriction::kMajorInPacket:
      return !packet.empty() && !beside.empty() && !all_above(beside, packet);
    case VcgRestriction::kSharedPacket:
      return !packet.empty() && shares_packet(drawn, axis);
    case VcgRestriction::kSplitPacket:
      return packet.size() > 1;
    case VcgRestriction::kSliceAndPacket:
      return !slice.empty() && !packet.empty() && (axis.partial || axis.size % packet_span != 0);
    case VcgRestriction::kOutside:
      return !axis.in(kInCluster).empty();
    case VcgRestriction::kPaddedTogether:
      return (drawn.time_group > 0 && !time.empty()) || (drawn.packet_group && !packet.empty());
    case VcgRestriction::kPaddedPart:
      // `[P / 2 % 5, P % 2] # 13` is `P % 10 # 13`.
      if (drawn.time_group > 0 && !time.empty()) return true;
      return own_padding(axis);
    case VcgRestriction::kOneElement:
      return axis.size == 1 && axis.padded > 1;
    case VcgRestriction::kEntries:
      return drawn.terms[kInTime].size() > 8 && !time.empty();
    default:
      return false;
  }
}

// Axes of which some position in a slice with elements is padding, by the definition.
std::vector<const Axis*> padded_axes(const Drawn& drawn, const VcgPlacement& placement) {
  std::vector<const Axis*> padded;
  for (size_t i = 0; i < drawn.axes.size(); ++i) {
    bool found = !drawn.axes[i].in(kInCluster).empty() || drawn.axes[i].size == 1;
    for (uint64_t s = 0; s < placement.in.slice.size() && !found; ++s) {
      if (placement.slice_is_padding(s)) continue;
      for (uint64_t t = 0; t < placement.in.time.size() && !found; ++t) {
        for (uint64_t p = 0; p < 8 && !found; ++p) {
          found = !placement.holds(placement.tracked[i], s, t, p);
        }
      }
    }
    if (found) padded.push_back(&drawn.axes[i]);
  }
  return padded;
}

bool hardware_lacks(VcgRestriction restriction, const std::vector<const Axis*>& padded) {
  size_t filters = 0;
  size_t clippers = 0;
  for (const Axis* axis : padded) {
    const bool packet = !axis->in(kInPacket).empty();
    if (packet) ++clippers;
    if (!packet || !axis->in(kInSlice).empty()) ++filters;
  }
  if (restriction == VcgRestriction::kAxes) return padded.size() > 4;
  if (restriction == VcgRestriction::kTimeFilters) return filters > 3;
  return restriction == VcgRestriction::kPacketClipper && clippers > 1;
}

// The restriction that a message names.
std::optional<VcgRestriction> named(const std::string& message) {
  for (int i = 0; i <= static_cast<int>(VcgRestriction::kFlit); ++i) {
    const auto restriction = static_cast<VcgRestriction>(i);
    const std::string words = name(restriction);
    if (message.rfind(words + ": ", 0) == 0) return restriction;
    if (message.find(" cannot be tracked: " + words + ": ") != std::string::npos) {
      return restriction;
    }
  }
  return std::nullopt;
}

// "slice + time, SliceMajor": what a lowered axis looks like.
std::string form(const Axis& axis, const VcgConfig& config, AxisId id) {
  std::string text = axis.partial ? "partial " : "";
  if (!axis.in(kInSlice).empty()) text += "S";
  if (!axis.in(kInTime).empty()) text += axis.in(kInTime).size() > 1 ? "TT" : "T";
  if (!axis.in(kInPacket).empty()) text += "P";
  for (const TimeFilterConfig& filter : config.time_filters) {
    if (filter.axis == id) text += std::string(" ") + name(filter.mode);
  }
  if (config.packet_clipper.axis == id) text += " clipper";
  return text;
}

class Outcomes {
 public:
  void check(const Drawn& drawn) {
    VcgPlacement placement(drawn.text);
    Diagnostics overlaps;
    check_digits(
        {&placement.in.cluster, &placement.in.slice, &placement.in.time, &placement.in.packet},
        placement.texts.axes, {}, "the stream", overlaps);
    ASSERT_FALSE(overlaps.has_errors()) << overlaps.render();
    const auto config = placement.lower();
    ASSERT_EQ(config.has_value(), !placement.diagnostics.has_errors());
    if (config) {
      expect_counts(placement, *config);
      for (size_t i = 0; i < drawn.axes.size(); ++i) {
        ++forms[form(drawn.axes[i], *config, placement.tracked[i])];
      }
      ++forms["all"];
      return;
    }
    const std::vector<const Axis*> padded = padded_axes(drawn, placement);
    for (const Diagnostic& diagnostic : placement.diagnostics.all()) {
      const auto restriction = named(diagnostic.message);
      ASSERT_TRUE(restriction) << diagnostic.message;
      ++refusals[*restriction];
      if (diagnostic.message.rfind("axis ", 0) != 0) {
        EXPECT_TRUE(hardware_lacks(*restriction, padded)) << diagnostic.message;
        continue;
      }
      const auto axis = std::find_if(padded.begin(), padded.end(), [&](const Axis* a) {
        return a->name == diagnostic.message.substr(5, 1);
      });
      ASSERT_NE(axis, padded.end()) << "needs no filter: " << diagnostic.message;
      EXPECT_TRUE(violated(*restriction, drawn, **axis)) << diagnostic.message;
    }
  }

  std::map<std::string, int> forms;
  std::map<VcgRestriction, int> refusals;
  uint64_t counts[9] = {};

 private:
  void expect_counts(const VcgPlacement& placement, const VcgConfig& config) {
    for (uint64_t s = 0; s < placement.in.slice.size(); ++s) {
      if (placement.slice_is_padding(s)) continue;
      for (uint64_t t = 0; t < placement.in.time.size(); ++t) {
        const uint32_t count = config.valid_size(s, t);
        ASSERT_EQ(count, placement.count(s, t)) << "s " << s << " t " << t;
        ASSERT_TRUE(placement.is_prefix(s, t)) << "s " << s << " t " << t;
        ++counts[count];
      }
    }
  }
};

TEST(VcgProperty, CountsAsDefinedOrNamesAViolatedRestriction) {
  Random random(11);
  Outcomes outcomes;
  int placements = 0;
  for (int i = 0; i < 30000 && !testing::Test::HasFailure(); ++i) {
    const auto drawn = random_placement(random);
    if (!drawn) continue;
    SCOPED_TRACE(fmt::format("slice '{}' time '{}' packet '{}' cluster '{}' sizes {}",
                             drawn->text.slice, drawn->text.time, drawn->text.packet,
                             drawn->text.cluster, [&] {
                               std::string sizes;
                               for (const auto& [name, size] : drawn->text.axes) {
                                 sizes += fmt::format("{}={} ", name, size);
                               }
                               return sizes;
                             }()));
    outcomes.check(*drawn);
    ++placements;
  }
  EXPECT_GT(placements, 10000);
  // Every form and every refusal was met, so none of the above holds for want of a case.
  for (const char* form :
       {"T SliceMajor", "TT SliceMajor", "S SliceMajor", "ST SliceMajor", "STT SliceMajor",
        "ST TimeMajor", "STT TimeMajor", "P clipper", "TP clipper", "TTP clipper",
        "SP SliceMajor clipper", "STP SliceMajor clipper", "STP TimeMajor clipper", "ST", "TP",
        "partial TP clipper", "partial ST SliceMajor", "partial ST TimeMajor", "all"}) {
    EXPECT_GE(outcomes.forms[form], 5) << form;
  }
  for (const VcgRestriction restriction :
       {VcgRestriction::kSliceOrder, VcgRestriction::kInterleaved, VcgRestriction::kOverPadded,
        VcgRestriction::kPowerOfTwo, VcgRestriction::kMajorInPacket, VcgRestriction::kSharedPacket,
        VcgRestriction::kSplitPacket, VcgRestriction::kSliceAndPacket, VcgRestriction::kTimeFilters,
        VcgRestriction::kPacketClipper, VcgRestriction::kAxes, VcgRestriction::kOutside,
        VcgRestriction::kPaddedTogether, VcgRestriction::kPaddedPart, VcgRestriction::kOneElement,
        VcgRestriction::kEntries}) {
    EXPECT_GE(outcomes.refusals[restriction], 10) << name(restriction);
  }
  for (const uint64_t count : outcomes.counts) EXPECT_GT(count, 100U);
}

// ------------------------------------------------------------------------------ brute force

// A table of counts, [s * times + t].
using Counts = std::vector<uint32_t>;

// What one filter over `slices` x `times` can do, every field tried. Time is one term.
std::set<Counts> all_filters(uint64_t slices, uint64_t times) {
  std::set<Counts> tables;
  TimeFilterConfig filter;
  const auto bits = static_cast<uint32_t>(slices);
  for (uint32_t mask = 0; mask < bits; ++mask) {
    for (uint32_t thres = 0; thres <= bits; ++thres) {
      for (uint64_t stride = 0; stride <= 2; ++stride) {
        for (uint32_t time_thres = 0; time_thres <= 2 * times; ++time_thres) {
          for (const auto mode : {TimeFilterMode::kSliceMajor, TimeFilterMode::kTimeMajor}) {
            filter.slice_mask = mask;
            filter.slice_thres = thres;
            filter.sequencer.entries = {{"", times, stride}};
            filter.time_thres = time_thres;
            filter.mode = mode;
            Counts table;
            for (uint64_t i = 0; i < slices * times; ++i) {
              table.push_back(filter.valid(i / times, i % times) ? 1 : 0);
            }
            tables.insert(table);
          }
        }
      }
    }
  }
  return tables;
}

// What the clipper can do over `times` flits.
std::set<Counts> all_clippers(uint64_t times) {
  std::set<Counts> tables;
  PacketClipperConfig clipper;
  for (uint64_t stride = 0; stride <= 16; ++stride) {
    for (uint32_t axis_size = 0; axis_size <= 16 * times; ++axis_size) {
      for (uint32_t span = 0; span <= 8; ++span) {
        clipper.sequencer.entries = {{"", times, stride}};
        clipper.axis_size = axis_size;
        clipper.packet_span = span;
        Counts table;
        for (uint64_t t = 0; t < times; ++t) table.push_back(clipper.valid_size(t));
        tables.insert(table);
      }
    }
  }
  return tables;
}

bool some_configuration(const Counts& wanted, uint64_t times, const std::set<Counts>& filters,
                        const std::set<Counts>& clippers) {
  for (const Counts& clipper : clippers) {
    for (const Counts& filter : filters) {
      bool same = true;
      for (size_t i = 0; i < wanted.size() && same; ++i) {
        same = wanted[i] == filter[i] * clipper[i % times];
      }
      if (same) return true;
    }
  }
  return false;
}

// R in Slice, Time and Packet. Where the last element of R ends a flit early while, at the same
// time step, another slice needs a full flit, no value of any field of one filter and the clipper
// counts right. Elsewhere the rule (R % packet_span == 0) is stricter than the hardware: R below
// packet_span, say, is only over-padded.
TEST(VcgProperty, NoConfigurationExistsForSliceWithPacket) {
  int inexpressible = 0;
  int stricter = 0;
  int accepted = 0;
  for (const uint64_t slices : {2, 4}) {
    for (const uint64_t times : {1, 2, 3}) {
      const std::set<Counts> filters = all_filters(slices, times);
      const std::set<Counts> clippers = all_clippers(times);
      for (const uint64_t span : {2, 4, 8}) {
        for (const bool slice_major : {true, false}) {
          const uint64_t padded = slices * times * span;
          for (uint64_t size = 1; size < padded; ++size) {
            const uint64_t slice_stride = slice_major ? times * span : span;
            const uint64_t time_stride = slice_major ? span : slices * span;
            VcgPlacement placement({{{"R", size}},
                                    fmt::format("R # {} / {} % {}", padded, slice_stride, slices),
                                    fmt::format("R # {} / {} % {}", padded, time_stride, times),
                                    fmt::format("R # {} % {} # 8", padded, span),
                                    {"R"}});
            Counts wanted;
            bool conflict = false;  // different counts above 0 at one time step
            for (uint64_t s = 0; s < slices; ++s) {
              for (uint64_t t = 0; t < times; ++t) wanted.push_back(placement.count(s, t));
            }
            for (size_t i = 0; i < wanted.size(); ++i) {
              for (size_t j = i % times; j < i; j += times) {
                conflict = conflict || (wanted[i] != wanted[j] && wanted[i] > 0 && wanted[j] > 0);
              }
            }
            const bool exists = some_configuration(wanted, times, filters, clippers);
            SCOPED_TRACE(fmt::format("R = {} in {} slices x {} x {}, {}", size, slices, times, span,
                                     slice_major ? "slice major" : "time major"));
            const bool lowered = placement.lower().has_value();
            if (lowered) {
              EXPECT_TRUE(exists);
            }
            if (size % span != 0) {
              EXPECT_FALSE(lowered);
            }
            if (conflict) {
              EXPECT_FALSE(exists);
            }
            accepted += lowered ? 1 : 0;
            inexpressible += size % span != 0 && !exists ? 1 : 0;
            stricter += size % span != 0 && exists ? 1 : 0;
            if (size % span != 0) {
              EXPECT_NE(conflict, exists);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(inexpressible, 100);
  EXPECT_GT(stricter, 20);
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace rngdsim
