// SPDX-License-Identifier: Apache-2.0
// The definition of a move by an index tensor. For the sources of this room only.
#pragma once

#include <memory>
#include <vector>

#include "command/program.h"
#include "reference/expectation.h"

namespace rngdsim {

// Gather: element (index axes, rest) of the result is element (row that the index names, rest) of
// `a`. Scatter: element (row, rest) is that of an element of `a` whose index names the row, any of
// them where several do; all others stay. `a` and `index` must outlive the expectation.
std::unique_ptr<Expectation::Impl> make_rows(const LogicalTensor& a, const LogicalTensor& index,
                                             const DmaConfig::Indexed& indexed,
                                             const std::vector<AxisId>& out_axes,
                                             const AxisTable& axes);

}  // namespace rngdsim
