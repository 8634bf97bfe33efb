// SPDX-License-Identifier: Apache-2.0
// The inter-slice reducer without its clock: which input flits make which result, and what the
// result holds. Plain class.
//
// The innermost `ratio` slices form a group. Of each input flit the values of a group are folded
// into one, position 0 first and ascending, which is the order of f32 sums [A]; it is valid where
// all of them are. Positions of OutSlice take it, or another flit's where an axis is promoted from
// Time; those that are padding hold zero bits and are poison.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "channel/payload.h"
#include "command/program.h"

namespace rngdsim {

class InterSliceFold {
 public:
  struct Place {
    uint64_t position = 0;  // of the result in OutTime
    uint64_t slot = 0;      // of the group's positions those that ask for it take it
  };
  struct Result {
    uint64_t position = 0;
    BlockRef values;  // null where values are not simulated
  };

  // A new stream. `config` must stay alive; `pool` null: values are not simulated. Precondition:
  // the slices of the pool are whole groups.
  void begin(const InterSliceConfig& config, BlockPool* pool);

  // Where input flit `index` goes.
  Place place(uint64_t index) const;
  // Whether this flit, taken next, is the last that its result is made of.
  bool completes(uint64_t index) const;
  // Takes a flit (`values`: null where values are not simulated); the result that it completes.
  std::optional<Result> take(uint64_t index, const Block* values);

 private:
  struct Pending {
    uint64_t taken = 0;  // input flits
    BlockRef values;
  };
  BlockRef empty_result(uint32_t elements) const;
  void fold_into(Block& result, const Block& values, uint64_t slot) const;

  const InterSliceConfig* config_ = nullptr;
  BlockPool* pool_ = nullptr;
  uint64_t flits_per_result_ = 1;
  std::vector<std::vector<uint32_t>> takers_;  // by slot: positions of a group
  std::map<uint64_t, Pending> pending_;        // by position of the result
};

}  // namespace rngdsim
