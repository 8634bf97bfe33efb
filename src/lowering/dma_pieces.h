// SPDX-License-Identifier: Apache-2.0
// A move between two tensors cut into what loops can walk: pieces of digits that have one stride on
// either side, and boxes of them, since loops know no other bounds than their sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lowering/scope.h"

namespace rngdsim {

// A digit of a tensor with its place in the addresses of a DMA.
struct DmaDigit {
  std::optional<AxisId> axis;  // none: positions that carry no index
  uint64_t stride = 1;         // of the index
  uint64_t size = 1, live = 1;
  uint64_t whole = 1;   // positions before it was cut by `=`
  uint64_t step = 0;    // bits of address
  uint64_t slices = 0;  // positions in Slice of the chip a step moves; 0: inside of Element
  bool padded = false;
  PadKind pad = PadKind::kTop;
  uint64_t end() const { return stride * whole; }
};

struct DmaDigits {
  std::vector<DmaDigit> digits;  // outermost first
  bool cuts_pair = false;        // a term has no stride
  bool zero_group = false;       // zero padding that belongs to no digit of an axis
  // Digits outside of the innermost padding that belongs to no digit: the first so many.
  size_t outside_group = 0;
  bool bottom = false;  // bottom padding occurs
};

// Of all dimensions of a tensor in HBM, the host or data memory.
DmaDigits dma_digits(const TensorVersion& tensor, const MachineLimits& limits);

// Positions 0 .. size - 1 of (a part of) a digit of the destination, with one stride on each side.
struct DmaPiece {
  std::optional<AxisId> axis;
  uint64_t stride = 1, size = 1;
  uint64_t read_step = 0, write_step = 0;      // bits
  uint64_t read_slices = 0, write_slices = 0;  // positions in Slice
  uint64_t index_step = 0;                     // bits, of the index tensor; 0: the same index
  size_t digit = 0;                            // of the destination
  std::optional<size_t> source;                // digit of the source; none: a replica
  // Positions of padding behind a single element that make whole 8 bytes with it, as far as boxes
  // may go; 1: none.
  uint64_t fill = 1;
};

// A range of each piece.
struct DmaRange {
  uint64_t low = 0, high = 1;  // high: one past
  uint64_t count() const { return high - low; }
};
using DmaBox = std::vector<DmaRange>;

// How far boxes may go into plain padding of the destination, which may be overwritten.
enum class DmaPadding {
  kLeave,  // not at all
  kFewer,  // where that makes one box of several
  kFill,   // also where a run of whole 8 bytes comes of it
};

// A move by an index tensor. What is walked are the axes of the side that holds no row axis, and
// the index's own.
struct DmaIndexed {
  const TensorVersion& index;
  AxisId row_axis;  // of the source (gather) or of the destination (scatter)
  bool scatter;
};

// The pieces of a move and the boxes of them that hold every live position of the destination once.
class DmaPieces {
 public:
  DmaPieces(const TensorVersion& from, const TensorVersion& to,
            const std::optional<DmaIndexed>& indexed, const SourceLocation& where,
            const LowerScope& scope)
      : from_(from), to_(to), indexed_(indexed), where_(where), scope_(scope) {}

  // `order`: mappings at whose digits pieces are cut as well. False after an error.
  bool find(const std::vector<const Mapping*>& order);
  const std::vector<DmaPiece>& pieces() const { return pieces_; }
  // In the order of the source: pieces by what they are there, outermost first; replicas before.
  size_t rank(const DmaPiece& piece) const { return piece.source ? *piece.source + 1 : 0; }
  // False after an error. `extended`: whether padding is overwritten.
  bool boxes(DmaPadding padding, std::vector<DmaBox>& boxes, bool& extended) const;

 private:
  bool check_axes();
  bool check_zero_padding(const DmaDigits& from, const DmaDigits& to);
  void leave_rows_out();
  bool zeros_beside_padding(const DmaDigits& from, const DmaDigits& to);
  bool cut_at_source(size_t index);
  bool cut_at_index();
  void fill_single_elements();
  bool is_indexed(AxisId axis) const;
  void cut_at(const DigitCuts& cuts);
  bool error(const std::string& message, const std::string& hint = "") const;
  std::string term(AxisId axis, uint64_t stride, uint64_t size) const;
  bool is_zero(AxisId axis) const;
  const DmaDigit* source_digit(AxisId axis, uint64_t stride, bool above, size_t& index) const;
  bool not_held(const DmaPiece& piece, uint64_t last) const;
  bool no_refinement(const DmaPiece& piece, const DmaDigit& source) const;
  bool check_held(const std::vector<size_t>& pieces, const DmaBox& box) const;
  std::optional<std::vector<DmaBox>> boxes_of(const std::vector<size_t>& pieces, DmaPadding padding,
                                              bool& extended) const;
  std::optional<DmaBox> extended_box(const std::vector<size_t>& pieces, DmaPadding padding) const;
  bool may_extend(const DmaBox& box, const std::vector<size_t>& pieces) const;

  const TensorVersion& from_;
  const TensorVersion& to_;
  const std::optional<DmaIndexed>& indexed_;
  const SourceLocation& where_;
  const LowerScope& scope_;
  std::vector<DmaDigit> source_, digits_;  // adjacent ones joined
  bool may_overread_ = true;
  std::vector<AxisId> zero_axes_;  // whose zero padding is moved like elements
  std::vector<DmaPiece> pieces_;
};

}  // namespace rngdsim
