// SPDX-License-Identifier: Apache-2.0
// The switch of a command for `explain`: kind, rings and snoop bitmap.
#pragma once

#include "report/explain.h"

namespace rngdsim {

// Precondition: the command has a switch.
StageExplanation explain_switch(const Program& program, const Command& command);

// "switch: rings of 32 slices take 32 hops with each of 128 flits, 4,096 cycles": what it costs.
std::string switch_cost_text(const SwitchConfig& config);

}  // namespace rngdsim
