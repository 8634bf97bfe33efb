// SPDX-License-Identifier: Apache-2.0
// What changed between two runs: their reports (JSON), command by command.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/text_table.h"
#include "support/diagnostic.h"

namespace rngdsim {

// What a comparison needs of a report.
struct ReportedRun {
  struct Command {
    uint64_t index = 0;
    std::string context, label;
    uint64_t begin = 0, end = 0;
    std::string waited_for;  // "b_trf (read after write)"; empty: nothing
    uint64_t cycles() const { return end - begin; }
  };
  struct Tensor {
    std::string name;
    uint64_t version = 0;
    std::string place;  // "dm 128 to 639"
  };
  std::string file, kernel, kernel_sha256, topology;
  uint64_t cycles = 0;
  bool only_times = false;  // a schedule: waits and places are not known
  std::vector<Command> commands;
  std::vector<Tensor> tensors;
};

// Reads the JSON of `rngdsim run --format json`. Every fault is an error of `file`; then nothing.
std::optional<ReportedRun> read_report(const std::string& text, const std::string& file,
                                       Diagnostics& diagnostics);

// Commands of one context and label are the same in both, the first with the first, and so on.
std::string diff_text(const ReportedRun& a, const ReportedRun& b, const Style& style = {});
nlohmann::ordered_json diff_json(const ReportedRun& a, const ReportedRun& b);

}  // namespace rngdsim
