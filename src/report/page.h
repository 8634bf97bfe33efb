// SPDX-License-Identifier: Apache-2.0
// A run as one page for a browser, which asks the network for nothing: what matters in three
// sentences, a timeline of contexts, units and rates to zoom into, the critical path, stalls,
// memories, the roofline and valid counts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "command/program.h"
#include "report/report_options.h"
#include "sim/command_profile.h"
#include "sim/run_result.h"

namespace rngdsim {

// `profile` watched the run, and so did the ActivitySink whose json() is `activity`. The numbers of
// the page are those of run_json() and why_json(), which are in it; the latter only of a run that
// has ended and whose clusters ran in lockstep. It holds no time of the clock on the wall.
std::string page_html(const RunResult& run, const Program& program, const CommandProfile& profile,
                      const nlohmann::ordered_json& activity, const ReportOptions& options = {});

}  // namespace rngdsim
