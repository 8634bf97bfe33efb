// SPDX-License-Identifier: Apache-2.0
// Where the parts of one axis lie in a stream of 8-element flits, as the Valid Count Generator sees
// it. docs/vcg.md explains the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command/program.h"
#include "mapping/mapping.h"

namespace rngdsim {

// Why an axis cannot be tracked. All are restrictions of the hardware's one filter and one clipper
// an axis, as the vendor documents them; a few placements that they exclude could be met otherwise.
enum class VcgRestriction : uint8_t {
  kSliceOrder,      // parts in Slice must descend
  kInterleaved,     // parts in Slice are all more major or all more minor than those in Time
  kOverPadded,      // TimeMajor: PADDED - R <= slice_span
  kPowerOfTwo,      // sizes of the parts in Slice and their steps in the slice id
  kMajorInPacket,   // the part in Packet must be the most minor
  kSharedPacket,    // nothing beside it in Packet
  kSplitPacket,     // one part in Packet
  kSliceAndPacket,  // with parts in Slice and Packet: R % packet_span == 0
  kTimeFilters,     // three
  kPacketClipper,   // one
  kAxes,            // four
  kOutside,         // no part in Chip, Cluster or Lane: the slice id is that of one cluster
  kPaddedTogether,  // not inside a padded pair: what is padding there belongs to no single axis
  kCut,             // not inside a cut through a pair: no digit of the axis
  kPaddedPart,      // only the most major part may be padded by itself
  kOneElement,      // the padding of an axis of one element belongs to no axis in a mapping
  kEntries,         // 8 entries of a sequencer
  kIterations,      // of an entry
  kRange,           // 32-bit registers
  kFlit,            // Packet of 8 positions
};
// The words by which messages name it: "slice parts out of order".
const char* name(VcgRestriction restriction);

struct VcgFault {
  VcgRestriction restriction{};
  std::string figures;
  std::string hint;
};

enum class VcgDimension : uint8_t { kSlice, kTime, kPacket };
const char* name(VcgDimension dimension);  // "Slice", "Time", "Packet"

// One digit of the axis. At a position of its dimension it has the value position / step % size,
// which adds value * stride to the index.
struct VcgPart {
  VcgDimension dimension = VcgDimension::kSlice;
  std::string term;  // "R # 16 / 8"
  uint64_t size = 1;
  uint64_t stride = 1;
  uint64_t step = 1;
};

// A padded axis: of the indices 0 .. padded - 1 that its parts make, the first `elements` hold
// data. Where a stream has only some digits of an axis the indices count those that are there, so
// strides are products of the sizes of the more minor parts; otherwise they are the axis's own.
struct VcgAxis {
  AxisId axis = 0;
  uint64_t elements = 1;       // R
  uint64_t padded = 1;         // PADDED
  bool needed = true;          // false: only slices without any element are padding
  std::vector<VcgPart> parts;  // most major first; none where they cannot be read as digits
  // What keeps the elements from being the first indices, or those of a flit from leading it.
  std::vector<VcgFault> faults;

  std::vector<VcgPart> in(VcgDimension dimension) const;  // outermost first
};

// Nothing where no position of the axis is padding. Slices that are padding of Slice as a whole
// (`[..] # 256`) do not count: no elements are there, whatever the generator says.
// Precondition: the digits do not overlap (check_digits).
std::optional<VcgAxis> place_vcg_axis(const StreamShape& in, AxisId axis, const AxisTable& axes);

// The terms of Slice without the padding of Slice as a whole: the slices from volume(terms) on are
// such padding.
std::vector<Node> vcg_slice_terms(const Mapping& slice);
// Slices before the padding of Slice as a whole, as it is written: 16 of `[H, C] # 256` (H=C=4).
uint64_t vcg_written_slices(const Mapping& slice);

// The terms of Time as the counters of a sequencer for `axis` walk them: a padded pair that holds
// the axis is taken apart where that changes no cell.
std::vector<Node> vcg_time_terms(const Mapping& time, AxisId axis);

}  // namespace rngdsim
