// SPDX-License-Identifier: Apache-2.0
// One pure function a stage: mappings, dtype and limits in; configuration out, or nothing after
// adding at least one error. Sources of the rules: docs/hardware.md names the pages.
#pragma once

#include <optional>
#include <string>

#include "lowering/scope.h"

namespace rngdsim {

// The result of a stage: its configuration and the shape of the stream behind it.
template <typename Config>
struct LoweredStage {
  Config config;
  StreamShape after;
};

// --- lower_vector.cpp ---------------------------------------------------------------------------

// Elements of a flit, and of a step between narrow and widen [B].
inline constexpr uint64_t kVectorFlit = 8, kVectorStep = 4;

// Of each: what passes behind it. The stream is of i32 or f32; flits of 8 elements until a narrow
// stage, 4 until a widen stage.
// Two steps of 4 elements of each flit.
std::optional<StreamShape> lower_narrow_split(const StreamShape& in,
                                              const std::optional<Declared>& time,
                                              const std::optional<Declared>& packet,
                                              const SourceLocation& where, const LowerScope& scope);
// The front 4 elements; the mapping must show that the others hold nothing.
std::optional<StreamShape> lower_narrow_trim(const StreamShape& in, const Declared& packet,
                                             const SourceLocation& where, const LowerScope& scope);
// `flits`: the stream of 8-element flits before the narrow stage, which the counts are of.
struct ReduceStage {
  Located<std::string> op;
  AxisId axis = 0;
  SourceLocation axis_where;
  std::vector<AxisId> tracked;  // besides
  std::optional<Declared> time, packet;
  SourceLocation where;
};
std::optional<LoweredStage<VectorConfig::Reduce>> lower_intra_slice_reduce(const StreamShape& in,
                                                                           const StreamShape& flits,
                                                                           const ReduceStage& stage,
                                                                           const LowerScope& scope);
std::optional<StreamShape> lower_widen_concat(const StreamShape& in,
                                              const std::optional<Declared>& time,
                                              const std::optional<Declared>& packet,
                                              const SourceLocation& where, const LowerScope& scope);
std::optional<StreamShape> lower_widen_pad(const StreamShape& in,
                                           const std::optional<Declared>& packet,
                                           const SourceLocation& where, const LowerScope& scope);

// --- lower_view.cpp -----------------------------------------------------------------------------

struct LoweredView {
  Tile tile;
  // Those of the tensor, what is outside of the tile padded.
  Mapping cluster, slice, element;
  uint64_t first_element = 0;  // of the tensor's Element, where the view's begins
  uint64_t first_slice = 0;    // of the tensor's slices (cluster x slices + slice)
  uint64_t extent = 1;         // positions of `element` from the first to the last live one
};

// Who reads or writes a view: a tensor unit stays in its slice, a DMA does not.
enum class ViewUser : uint8_t { kTensorUnit, kDma };

// The tile `start .. start + length - 1` of the digit `axis` of a tensor's Element, or for a DMA of
// its Slice or Cluster, which must hold the digit in one term and without padding. `outside`: the
// padding of other tiles.
std::optional<LoweredView> lower_view(const TensorVersion& of, const Declared& axis,
                                      const Located<uint64_t>& start,
                                      const Located<uint64_t>& length, PadKind outside,
                                      ViewUser user, const LowerScope& scope);

// What a `reshape`, `pad` or `unpad` entry of a view gives; dimensions left out stay.
struct ReshapeRequest {
  std::optional<Declared> chip, cluster, slice, element;
  SourceLocation where;
  bool written = false;  // the view is a destination
};

// The view of `of` whose positions have the given mappings, with `reshaped` and the axes that its
// values depend on; not its name and place. Every dimension keeps its size, and no two positions
// that held different elements become one.
std::optional<TensorVersion> lower_reshape(const TensorVersion& of, const ReshapeRequest& request,
                                           const LowerScope& scope);

// The Element of `of` with one outermost padding more (`unpad`: less), as `element` says. A view
// that is `written` never touches what is padded. Nothing after an error.
std::optional<Mapping> lower_pad(const TensorVersion& of, const Declared& element, bool unpad,
                                 bool written, const LowerScope& scope);

// One past the last position of a mapping that may be live.
uint64_t live_extent(const Mapping& mapping);

// --- lower_move.cpp -----------------------------------------------------------------------------

// The longest sequence of accesses that all touch one bank of the data memory; 0 where there are
// too many to look at. `address`: byte of the buffer's first element.
uint64_t longest_same_bank(const SequencerConfig& sequencer, uint64_t access_elements, DType dtype,
                           uint64_t address, const MachineLimits& limits);

// Fetch of `element` in the order time, packet. `cast_to`: the widest type that a following table
// lookup or cast makes, which bounds a read to one flit behind it.
std::optional<FetchConfig> lower_fetch(const Mapping& element, DType dtype, Context context,
                                       const Declared& time, const Declared& packet,
                                       std::optional<DType> cast_to, const LowerScope& scope);

// Without the counts of items.
std::optional<LoweredStage<TableLookupConfig>> lower_table_lookup(const StreamShape& in,
                                                                  const Located<DType>& to,
                                                                  const LowerScope& scope);

std::optional<LoweredStage<FetchCastConfig>> lower_fetch_cast(const StreamShape& in,
                                                              const Located<DType>& to,
                                                              const LowerScope& scope);

// Widens i4 to i5 and i8 to i9. What was zero padding before holds -zero_point behind it.
std::optional<LoweredStage<FetchZeroPointConfig>> lower_zero_point(
    const StreamShape& in, const Located<int64_t>& zero_point, const SourceLocation& where,
    const LowerScope& scope);

// Pads the packet to whole flits, cuts it; the flit count becomes the innermost Time. `time` and
// `packet` are compared with the derived mappings where given.
std::optional<LoweredStage<CollectConfig>> lower_collect(const StreamShape& in,
                                                         const std::optional<Declared>& time,
                                                         const std::optional<Declared>& packet,
                                                         const SourceLocation& where,
                                                         const LowerScope& scope);

// Lane = Time / FlitsPerLane, Element = [Time % FlitsPerLane, Packet].
std::optional<ToTrfConfig> lower_to_trf(const StreamShape& in, const Declared& lane,
                                        const Declared& element, const SourceLocation& where,
                                        const LowerScope& scope);
// Lane count and capacity of a TRF tensor; the bytes it takes in a lane.
std::optional<uint64_t> check_trf_tensor(DType dtype, const Declared& lane, const Declared& element,
                                         const LowerScope& scope);

// Element = [Time, Packet], of flits of i32 or f32.
std::optional<ToVrfConfig> lower_to_vrf(const StreamShape& in, const Declared& element,
                                        const SourceLocation& where, const LowerScope& scope);
// Type and capacity of a tensor in the VRF. `what` names it. False after an error.
bool check_vrf_tensor(DType dtype, const std::string& what, const SourceLocation& where,
                      const Declared& element, const LowerScope& scope);

std::optional<LoweredStage<CastConfig>> lower_cast(const StreamShape& in, const Located<DType>& to,
                                                   const std::optional<Declared>& packet,
                                                   const LowerScope& scope);

// Keeps the leading 8, 16, 24 or 32 bytes of each flit; returns the shape behind.
std::optional<StreamShape> lower_commit_trim(const StreamShape& in, const Declared& packet,
                                             const LowerScope& scope);
std::optional<LoweredStage<CastConfig>> lower_commit_cast(const StreamShape& in,
                                                          const Located<DType>& to,
                                                          const LowerScope& scope);
// Write sequencer, write size, and what the write must cover: every live slot of `element` exactly
// once, checked position by position.
std::optional<CommitConfig> lower_commit(const StreamShape& in, const Declared& element,
                                         Context context, const SourceLocation& where,
                                         const LowerScope& scope);

// --- lower_transpose.cpp ------------------------------------------------------------------------

// Time is [matrices, in_rows, packets a row]; OutTime = [matrices, columns that are kept] and
// OutPacket = [in_rows # flit]. in_rows, in_cols and out_rows follow from the two declared
// mappings; where several geometries make them (padding), the one of the fewest cycles, then of the
// fewest columns, holds [A].
std::optional<LoweredStage<TransposeConfig>> lower_transpose(const StreamShape& in,
                                                             const Declared& time,
                                                             const Declared& packet,
                                                             const SourceLocation& where,
                                                             const LowerScope& scope);

// --- lower_contraction.cpp ----------------------------------------------------------------------

std::optional<LoweredStage<OuterConfig>> lower_outer(const StreamShape& in,
                                                     const TensorVersion& trf, const Declared& time,
                                                     const Declared& packet,
                                                     const SourceLocation& where,
                                                     const LowerScope& scope);

std::optional<LoweredStage<PacketReduceConfig>> lower_packet_reduce(const StreamShape& in,
                                                                    const OuterConfig& outer,
                                                                    const Declared& packet,
                                                                    const LowerScope& scope);

// Slots are checked by lower_lane_fold, whose mode decides how many exist, or by check_slots where
// the chain ends before it.
std::optional<LoweredStage<TimeReduceConfig>> lower_time_reduce(const StreamShape& in,
                                                                const Declared& time,
                                                                const LowerScope& scope);

// Padding that is summed adds zero where one operand is known to be zero there; for floats only as
// long as the other holds no NaN or infinity. Adds a warning where that is so. `shape`: after
// contract_outer. Long streams (more than 2^16 products a lane) are not searched.
void warn_of_summed_padding(const StreamShape& shape, const TensorVersion& trf,
                            const OuterConfig& outer, const PacketReduceConfig& packet,
                            const TimeReduceConfig& time, const SourceLocation& where,
                            const LowerScope& scope);

// Adds an error where `reduce` needs more slots than it has. `cells`: of a slot; `holder`: what has
// the slots.
bool check_slots(const TimeReduceConfig& reduce, uint64_t cells, const char* stage,
                 const std::string& holder, const std::string& hint, const SourceLocation& where,
                 const LowerScope& scope);

// Fills `reduce.capacity`.
std::optional<LoweredStage<LaneFoldConfig>> lower_lane_fold(
    const StreamShape& in, const Located<std::string>& mode, const std::optional<Declared>& time,
    const std::optional<Declared>& packet, TimeReduceConfig& reduce, const LowerScope& scope);

}  // namespace rngdsim
