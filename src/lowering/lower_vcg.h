// SPDX-License-Identifier: Apache-2.0
// Configures the Valid Count Generator for the axes of which it must tell data from padding.
#pragma once

#include <optional>
#include <vector>

#include "command/vcg.h"
#include "lowering/scope.h"
#include "lowering/vcg_placement.h"

namespace rngdsim {

// The configuration whose valid_size(s, t) is, for every slice and flit, the number of leading
// elements for which every tracked axis holds an element; all other padding counts as live. In
// slices that are padding of Slice as a whole (`[..] # 256`, or of its outermost term) there are no
// elements, so where that helps the count is anything.
//
// `in`: the stream of flits, 8 positions in Packet. `tracked`: the axis that is reduced, then those
// that the kernel names; each once. Axes without padding take no filter. Adds an error for every
// restriction that the placement of an axis violates ("axis R cannot be tracked: NAME: figures")
// and returns nothing then.
std::optional<VcgConfig> lower_vcg(const StreamShape& in, const std::vector<AxisId>& tracked,
                                   const SourceLocation& where, const LowerScope& scope);

}  // namespace rngdsim
