// SPDX-License-Identifier: Apache-2.0
// What `explain` says of a vector chain: which ALU does what to which elements, in which order.
#pragma once

#include <vector>

#include "command/program.h"
#include "report/explain.h"

namespace rngdsim {

// The chain, the valid counts of its reduction, the inter-slice reducer: in the order in which the
// stream meets them. Nothing for a command without a vector chain.
std::vector<StageExplanation> explain_vector(const Program& program, const Command& command);

// "mul_f(stream, 2)", with guards: "max(stream, 1) where tag x1xx, else max(stream, scale)".
std::string vector_step_text(const VectorStep& step, const Program& program);

}  // namespace rngdsim
