// SPDX-License-Identifier: Apache-2.0
// Where tensors lie: addresses in HBM, DM and VRF in file order, regions of the TRF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lowering/scope.h"

namespace rngdsim {

// The last command that uses a version of a tensor: -1 where only its declaration does; nothing
// where it is a result that must last.
using LastUse = std::optional<ptrdiff_t>;

// Gives each tensor in HBM or the host, or in the data memory or the VRF of a slice, a place of its
// own, in the order of the calls, aligned; places that a kernel file fixes are respected by those
// placed afterwards. Only where no room is left does a tensor take the place of those that no later
// command uses.
class Placement {
 public:
  // `memory`: kHbm, kHost, kDm or kVrf. `limits` must outlive the placement.
  Placement(MemoryKind memory, const MachineLimits& limits) : memory_(memory), limits_(limits) {}
  // Takes [address, address + bytes) as the kernel file says, for a tensor written by command `now`
  // (-1: declared).
  void fix(TensorVersion& tensor, const Located<uint64_t>& address, ptrdiff_t now, LastUse last_use,
           Diagnostics& diagnostics);
  // First free aligned place for a tensor written by command `now` (-1: declared), or an error with
  // what is needed and what is there.
  void place(TensorVersion& tensor, ptrdiff_t now, LastUse last_use, Diagnostics& diagnostics);

 private:
  struct Range {
    std::string name;
    uint64_t begin, end;
    LastUse last_use;
  };
  // First aligned place of `needed` bytes beside the ranges in use after command `now` (all ranges
  // where none is given); `gap` receives the largest one found too small.
  std::optional<uint64_t> first_fit(uint64_t needed, std::optional<ptrdiff_t> now,
                                    uint64_t* gap = nullptr) const;
  uint64_t align(uint64_t address) const;
  uint64_t bytes() const;
  uint64_t address_unit() const;
  bool in_slices() const { return memory_ == MemoryKind::kDm || memory_ == MemoryKind::kVrf; }
  const char* noun() const;     // "data memory"
  std::string whole() const;    // "the data memory of a slice"
  const char* a_slice() const;  // " a slice" where the memory is that of a slice
  void take(Range range);

  MemoryKind memory_;
  const MachineLimits& limits_;
  std::vector<Range> taken_;  // by begin; those of dead tensors may overlap others
};

// Rows of a TRF tensor as a share of the register file, so that tensors with different lane counts
// compare: units of lanes * rows.
Footprint trf_footprint(const TensorVersion& tensor, TensorId id);

// A TRF tensor that is there already. `line`: of the last command that uses it, for messages.
struct PlacedTrf {
  Footprint rows;
  std::string name;
  ptrdiff_t last_use;
  int line;
};

// Places a TRF tensor written by command `now` (-1: declared) in the region asked for; otherwise in
// the first half, the second half, or the whole file, whichever is large enough, holds nothing that
// a later command uses, and was used least recently, so that successive loads alternate.
void place_trf(TensorVersion& tensor, TensorId id, ptrdiff_t now,
               const std::optional<Located<std::string>>& region,
               const std::vector<PlacedTrf>& placed, const MachineLimits& limits,
               Diagnostics& diagnostics);

}  // namespace rngdsim
