// SPDX-License-Identifier: Apache-2.0
// The stages a command may list: their keys and the contexts that may run them. One table, read by
// the parser of kernel files.
#pragma once

#include <string>
#include <vector>

#include "config/reader.h"

namespace rngdsim {

struct StageRule {
  std::string name;
  std::vector<KeyRule> keys;
  bool in_sub = true;  // may run in the sub context (hardware.md section 2)
};

// In the order in which a command may list them.
const std::vector<StageRule>& stage_rules();

}  // namespace rngdsim
