// SPDX-License-Identifier: Apache-2.0
// When each context ran what, as text: a line a context, a character for some cycles.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/run_result.h"

namespace rngdsim {

struct Timeline {
  double cycles_a_column = 1;
  struct Row {
    std::string context;
    std::string columns;
  };
  std::vector<Row> rows;  // contexts in the order of their first commands in the file
};

// At most `width` columns, no more than the run has cycles. A column shows what took most of its
// cycles: the last digit of the command's number, '-' for its overhead, '.' for neither; where two
// took as many, the earlier one of these.
Timeline timeline_of(const std::vector<CommandResult>& commands, uint64_t cycles, size_t width);

}  // namespace rngdsim
