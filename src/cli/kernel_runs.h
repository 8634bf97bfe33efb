// SPDX-License-Identifier: Apache-2.0
// Runs many kernels, each in a process of its own: the simulation kernel exists once a process.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/candidates.h"
#include "report/result_comparison.h"
#include "sim/run_result.h"

namespace rngdsim::cli {

// What a run has shown, as it comes back from its process.
struct KernelRun {
  nlohmann::ordered_json report;      // compared_run_json()
  std::vector<TensorValues> results;  // RunResult::results, unless RunSettings::suspects
  std::vector<SuspectValues> suspects;
  std::vector<std::string> failures;  // failure_sentences()
  Diagnostics diagnostics;            // bad input that only the run could find
  std::string problem;                // why there is no result at all; else empty
  bool stopped = false;               // Ctrl-C
};

struct RunSettings {
  bool values = true;
  uint64_t seed = 0;
  uint64_t max_cycles = 0;  // 0: no limit
  size_t jobs = 0;          // processes at a time; 0: one a processor
  // By candidate: what is asked for instead of whole results. Empty: whole results.
  std::vector<ResultOffsets> suspects;
  ReportOptions report;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(size_t ended)> progress;
};

// Calls take(candidate, run) in the order of the candidates.
void run_candidates(const Candidates& candidates, const RunSettings& settings,
                    const std::function<void(size_t candidate, KernelRun& run)>& take);

}  // namespace rngdsim::cli
