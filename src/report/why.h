// SPDX-License-Identifier: Apache-2.0
// The answer to "why does it take so long": the critical path, what binds each of its links, the
// slack of every command, where its cycles went, what kept contexts waiting, and the roofline.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "command/program.h"
#include "report/report_options.h"
#include "report/text_table.h"
#include "sim/command_profile.h"
#include "sim/run_result.h"

namespace rngdsim {

// Precondition of both: all commands have ended, and `profile` watched the run. The same numbers
// under the same names.
std::string why_text(const RunResult& run, const Program& program, const CommandProfile& profile,
                     const ReportOptions& options = {}, const Style& style = {});
nlohmann::ordered_json why_json(const RunResult& run, const Program& program,
                                const CommandProfile& profile, const ReportOptions& options = {});

}  // namespace rngdsim
