// SPDX-License-Identifier: Apache-2.0
// A derived DMA in the notation of its page, for explain_command.
#pragma once

#include <vector>

#include "command/program.h"
#include "report/explain.h"

namespace rngdsim {

// Precondition: it is a dma command.
std::vector<StageExplanation> explain_dma(const Program& program, const Command& command);

}  // namespace rngdsim
