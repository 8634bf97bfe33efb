// SPDX-License-Identifier: Apache-2.0
// What a run would gain if something were free or otherwise: two runs of one program side by side.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/text_table.h"
#include "sim/run_result.h"

namespace rngdsim {

// What was changed: "command 3 (matmul 1) is free", "hbm.row_change is 0".
using Changes = std::vector<std::string>;

// Precondition of both: the runs are of the same commands, and all of them have ended.
std::string what_if_text(const RunResult& base, const RunResult& changed, const Changes& changes,
                         const Style& style = {});
nlohmann::ordered_json what_if_json(const RunResult& base, const RunResult& changed,
                                    const Changes& changes);

}  // namespace rngdsim
