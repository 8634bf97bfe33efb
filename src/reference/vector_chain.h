// SPDX-License-Identifier: Apache-2.0
// What a vector chain must compute, by the definition of its steps (see reference.h).
//
// The value of an index behind a step is a function of the values at the same index before it; a
// reduction folds over the parts of indices that vanish. So a row of results is evaluated
// backwards: each stage asks the one before it for the elements that it needs.
#pragma once

#include <memory>
#include <vector>

#include "command/program.h"
#include "reference/element_run.h"
#include "reference/expectation.h"
#include "reference/logical_tensor.h"

namespace rngdsim {

// What enters a chain: converted elements of a tensor, or sums of products over their own axes.
struct ChainEntry {
  const LogicalTensor* tensor = nullptr;  // null: the sums
  std::vector<Conversion> conversions;    // of the tensor
  std::unique_ptr<Expectation::Impl> sums;
  std::vector<AxisId> sum_axes;  // ascending
  DType dtype = DType::kF32;     // as it enters
};

// What becomes of it behind a chain.
struct ChainExit {
  DType dtype = DType::kF32;  // as it leaves
  std::vector<Conversion> conversions;
};

// Whether a chain leaves elements out of its result.
bool has_filter(const VectorConfig& vector);

// `command.vector` on what enters, then the conversions of `exit`. Adds errors for chains that mean
// nothing as mathematics; null then. The tensors and the command must outlive the result.
std::unique_ptr<Expectation::Impl> make_vector_chain(const Program& program, const Command& command,
                                                     ChainEntry entry, ChainExit exit,
                                                     const OperandValues& operands,
                                                     const std::vector<AxisId>& out_axes,
                                                     Diagnostics& diagnostics);

}  // namespace rngdsim
