// SPDX-License-Identifier: Apache-2.0
#include "command/program.h"

namespace rngdsim {

const char* name(Context context) { return context == Context::kMain ? "main" : "sub"; }

}  // namespace rngdsim
