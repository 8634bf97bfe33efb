// SPDX-License-Identifier: Apache-2.0
// The compiler's half: a kernel file becomes a checked Program, or a list of violated rules.
#pragma once

#include "command/program.h"
#include "config/kernel.h"
#include "support/diagnostic.h"

namespace rngdsim {

// Applies every derivation and legality rule of the hardware. All errors (and warnings where a
// legal mapping wastes the machine) go to `diagnostics`; the result is usable only without errors.
// Never throws for bad input.
Program lower(const KernelDecl& kernel, const MachineLimits& limits, Diagnostics& diagnostics);

}  // namespace rngdsim
