// SPDX-License-Identifier: Apache-2.0
// The report of a run for people: what came out, what limited it, what to change.
#pragma once

#include <string>

#include "command/program.h"
#include "report/report_options.h"
#include "report/text_table.h"
#include "sim/run_result.h"

namespace rngdsim {

// `program` is the one that was run. Lines of at most kReportWidth columns; the same numbers as in
// run_json(), and nothing that differs from run to run.
std::string run_text(const RunResult& run, const Program& program,
                     const ReportOptions& options = {}, const Style& style = {});

}  // namespace rngdsim
