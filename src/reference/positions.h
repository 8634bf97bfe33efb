// SPDX-License-Identifier: Apache-2.0
// Which element lies at which place: the definition of docs/mapping.md section 2 for the combined
// dimensions of a tensor or stream, tabulated so that walking millions of places is quick.
#pragma once

#include <cstdint>
#include <vector>

#include "command/program.h"
#include "mapping/mapping.h"

namespace rngdsim {

// The places of a tensor in memory (chip, cluster, slice, lane, element) or of a stream (chip,
// cluster, slice, lane, time, packet), and the offset of what lives there in a LogicalTensor over
// given axes. Offsets add up over the dimensions because indices do; only where an axis is spread
// over several dimensions and could reach its declared size is each combination looked at.
class Positions {
 public:
  static constexpr int64_t kPoison = -1;  // no element: arbitrary content
  static constexpr int64_t kZero = -2;    // no element: known to be zero (`#{0}`)

  // `dimensions`: outermost first. `logical`: the axes of the LogicalTensor, ascending; other axes
  // are replicas and contribute nothing.
  Positions(std::vector<Mapping> dimensions, const std::vector<AxisId>& logical,
            const AxisTable& axes);
  // chip, cluster, slice, lane, element
  static Positions of(const TensorVersion& tensor, const AxisTable& axes);
  // chip, cluster, slice, lane, time, packet
  static Positions of(const StreamShape& shape, const std::vector<AxisId>& logical,
                      const AxisTable& axes);

  size_t dimensions() const { return dimensions_.size(); }
  uint64_t size(size_t dimension) const { return dimensions_[dimension].mapping.size(); }

  // What is known after some dimensions, in order from the outermost.
  struct Partial {
    int64_t offset = 0;             // negative: no element, whatever the other dimensions say
    std::vector<uint64_t> watched;  // values so far of the axes that may overshoot; mostly empty
    bool live() const { return offset >= 0; }
  };
  Partial begin() const;
  // Takes in the position of one more dimension.
  void add(Partial& partial, size_t dimension, uint64_t position) const;
  // The same for every position of the last dimension from `first` on: `offsets[i]` is the offset
  // or kPoison or kZero at `first + i`, all dimensions combined.
  void last(const Partial& partial, uint64_t first, uint64_t count, int64_t* offsets) const;
  // The offset once all dimensions are taken in: applies the overshoot rule.
  int64_t finish(const Partial& partial) const;

  // Whether an axis is spread over several dimensions so that it may reach its declared size.
  bool watches_overshoot() const { return !watched_.empty(); }

  // The full index at a place (one position a dimension), replica axes included; for messages.
  Cell cell(const std::vector<uint64_t>& positions) const;

 private:
  struct Dimension {
    Mapping mapping;
    std::vector<int64_t> offsets;   // by position; empty where too large to tabulate
    std::vector<uint32_t> watched;  // [position][watched axis]
  };
  // The contribution of one position: an offset, kPoison or kZero for padding, or an overshoot (see
  // the source). Sets the values of the watched axes.
  int64_t evaluate(const Dimension& dimension, uint64_t position, uint64_t* watched) const;
  int64_t finish(int64_t offset, const uint64_t* watched) const;

  AxisTable axes_;
  std::vector<uint64_t> strides_;  // by axis id; 0 for replicas
  std::vector<Dimension> dimensions_;
  std::vector<AxisId> watched_;
  std::vector<int64_t> overshoot_;              // by axis id: kPoison or kZero
  mutable std::vector<uint64_t> scratch_;       // one value a declared axis
  mutable std::vector<uint64_t> contribution_;  // one value a watched axis
};

// Of each element of a reshaped view (an offset over its logical axes) the offset in the tensor
// `of` at whose places it lies; kPoison where that is nothing, kZero where it is `#{0}`. By the
// definition: place by place.
std::vector<int64_t> origins(const TensorVersion& of, const TensorVersion& view,
                             const Program& program);

// Which slices of the chip hold elements: entry cluster * limits.slices + slice. A cluster or slice
// mapping shorter than the machine leaves the rest dead. The chip is the one at position 0.
std::vector<uint8_t> live_slices(const Mapping& chip, const Mapping& cluster, const Mapping& slice,
                                 const MachineLimits& limits, const AxisTable& axes);

}  // namespace rngdsim
