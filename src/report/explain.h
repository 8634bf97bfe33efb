// SPDX-License-Identifier: Apache-2.0
// The lowered program in the notation of the documents: sequencers, adapters, TRF reads, reduction,
// lower bounds, placement, and why each of them is what it is.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "command/program.h"
#include "report/report_options.h"
#include "report/text_table.h"

namespace rngdsim {

// One part of a command. Text and JSON are made together, from the same numbers.
struct StageExplanation {
  std::string label;  // of the line: "fetch"
  std::string text;
  std::string key;  // of the JSON member
  nlohmann::ordered_json json;
  std::vector<std::pair<std::string, std::string>> why;  // what, because
  std::string block = {};                                // lines to be shown as they are
};

// The parts that `command` has, in pipeline order; the lower bound last.
std::vector<StageExplanation> explain_command(const Program& program, const Command& command);

// What both formats name as the machine that the program was lowered for.
struct TopologyName {
  std::string name, sha256;
};

std::string explain_text(const Program& program, const TopologyName& topology,
                         const ReportOptions& options = {}, const Style& style = {});
nlohmann::ordered_json explain_json(const Program& program, const TopologyName& topology,
                                    const ReportOptions& options = {});

// One line on a program without errors: "gemm.yaml: ok, 2 commands, at least 1,550 cycles (...)".
std::string check_summary(const Program& program);

}  // namespace rngdsim
