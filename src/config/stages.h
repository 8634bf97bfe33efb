// SPDX-License-Identifier: Apache-2.0
// The stages a command may list: their keys, the contexts that may run them, and which of them are
// modelled. One table, read by the parser of kernel files.
#pragma once

#include <string>
#include <vector>

#include "config/reader.h"

namespace rngdsim {

struct StageRule {
  std::string name;
  std::vector<KeyRule> keys;
  bool in_sub = true;    // may run in the sub context (hardware.md section 2)
  bool modelled = true;  // otherwise recognised and refused
};

// In the order in which a command may list them.
const std::vector<StageRule>& stage_rules();

}  // namespace rngdsim
