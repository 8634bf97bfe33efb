// SPDX-License-Identifier: Apache-2.0
// Several kernels that compute the same, side by side: cycles, what bounds each, what each does for
// it. The forms show the same numbers; the JSON has the reports of the runs under their own names.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command/program.h"
#include "report/report_options.h"
#include "report/text_table.h"
#include "sim/run_result.h"
#include "support/diagnostic.h"

namespace rngdsim {

struct ComparedKernel {
  std::string name;  // of its row
  std::string file;
  std::vector<std::pair<std::string, std::string>> parameters;  // of a sweep: name, value
  nlohmann::ordered_json run;                                   // compared_run_json()
};

// run_json() without the times of the simulation itself, and with what a comparison shows besides:
//   "bound_resource": bounding_resource()
//   "busiest": {"unit", "busy", "active"}, null where no unit worked
//   "longest_waits": [{"state", "unit", "cycles", "blamed", "blamed_cycles", "reason"}]
//   "flits": those that left Collect in both contexts, of one slice
nlohmann::ordered_json compared_run_json(const RunResult& run, const Program& program,
                                         const ReportOptions& options);

// One result that all kernels have.
struct EqualResult {
  std::string name;
  std::vector<std::string> axes;
  std::vector<uint64_t> shape;
  DType dtype = DType::kBF16;
};

// Points of a sweep that break the same rule at the same place.
struct IllegalPoints {
  std::vector<std::string> names;
  Diagnostic rule;  // the first that they break
};

struct SweepSummary {
  std::string file;
  uint64_t points = 0;    // all combinations of values
  uint64_t excluded = 0;  // by constraints
  uint64_t illegal = 0;
  std::vector<IllegalPoints> rules;
  // Mappings that names of points only number: "ORDER 2", "J / 8 % 4, I % 32".
  std::vector<std::pair<std::string, std::string>> legend;
};

struct Comparison {
  std::vector<ComparedKernel> kernels;            // by cycles, then by name
  size_t baseline = 0;                            // which of them
  bool baseline_named = false;                    // else it is the fastest
  uint64_t left_out = 0;                          // slower kernels that are not among `kernels`
  std::optional<std::vector<EqualResult>> equal;  // none: not proved (--timing-only)
  std::vector<SweepSummary> sweeps;
  ReportOptions options;

  // Sorts the kernels and takes the one called `named` as the baseline, or the fastest where that
  // is empty. Precondition: one has that name.
  void order(const std::string& named);
  // Keeps the fastest `count` and the baseline.
  void keep_fastest(size_t count);
};

// Numbers that every form shows.
uint64_t cycles_of(const ComparedKernel& kernel);
double ratio_to_baseline(const Comparison& comparison, const ComparedKernel& kernel);
// Cycles over the least that the kernel can take; 1 where that is not known.
double cycles_per_bound(const ComparedKernel& kernel);
uint64_t elements_of(const EqualResult& result);

// At most kReportWidth columns.
std::string compare_text(const Comparison& comparison, const Style& style = {});
std::string compare_markdown(const Comparison& comparison);
// A heading and a row a kernel (RFC 4180).
std::string compare_csv(const Comparison& comparison);
nlohmann::ordered_json compare_json(const Comparison& comparison);

}  // namespace rngdsim
