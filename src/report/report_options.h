// SPDX-License-Identifier: Apache-2.0
// What a report says besides what happened.
#pragma once

#include <string>
#include <vector>

namespace rngdsim {

struct ReportOptions {
  std::vector<std::string>
      set;  // parameters of the topology that were overridden: "unit.name=value"
};

}  // namespace rngdsim
