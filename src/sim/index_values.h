// SPDX-License-Identifier: Apache-2.0
// What is known of the index tensors of DMA commands besides a simulation of their values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command/program.h"
#include "reference/logical_tensor.h"

namespace rngdsim {

// The declared tensor whose initial values a version still holds when command `before` begins: it
// is that one, or was moved from it by dma commands alone. Nothing where a command computed them or
// may have changed them.
std::optional<TensorId> declared_origin(const Program& program, TensorId id, CommandId before);

// The first two elements of an index that name the same row, "first by K=3 and K=7 (2 times in
// all)"; nothing where none do. Elements that differ in an axis of `target` name different ones.
std::optional<std::string> equal_rows(const LogicalTensor& index, const std::vector<AxisId>& target,
                                      const AxisTable& axes);

}  // namespace rngdsim
