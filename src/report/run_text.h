// SPDX-License-Identifier: Apache-2.0
// The report of a run for people: what came out, what limited it, what to change.
#pragma once

#include <string>
#include <vector>

#include "command/program.h"
#include "report/report_options.h"
#include "report/text_table.h"
#include "sim/run_result.h"

namespace rngdsim {

// `program` is the one that was run. Lines of at most kReportWidth columns; the same numbers as in
// run_json(), and nothing that differs from run to run.
std::string run_text(const RunResult& run, const Program& program,
                     const ReportOptions& options = {}, const Style& style = {});

// How long it took and whether its values are right: "1,566 cycles (1.57 us); values right: ...".
std::string outcome_sentence(const RunResult& run, const Program& program);

// What makes exit_status() of a run 1, a sentence each: "poison: main_fetch, cycle 263: ...",
// "--max-cycles reached at 270 cycles". Empty for a run that is right.
std::vector<std::string> failure_sentences(const RunResult& run, const Program& program);

}  // namespace rngdsim
