// SPDX-License-Identifier: Apache-2.0
// The report of a run as JSON: the names and their order are those of docs/reports.md.
#pragma once

#include <nlohmann/json.hpp>

#include "command/program.h"
#include "report/report_options.h"
#include "sim/run_result.h"

namespace rngdsim {

constexpr int kSchemaVersion = 1;

// {"name", "version"}, as in every JSON document of the program.
nlohmann::ordered_json tool_json();

// `program` is the one that was run.
nlohmann::ordered_json run_json(const RunResult& run, const Program& program,
                                const ReportOptions& options = {});

}  // namespace rngdsim
