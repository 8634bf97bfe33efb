// SPDX-License-Identifier: Apache-2.0
// From paths on the command line to the kernels that are compared, sweeps expanded.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/inputs.h"
#include "report/compare.h"

namespace rngdsim::cli {

struct Candidate {
  std::string name;  // the file's stem, with the folders that make it unique, and its point
  std::string file;
  std::vector<std::pair<std::string, std::string>> parameters;  // of its point
  Program program;
};

struct Candidates {
  TopologyDecl topology;
  std::vector<Candidate> kernels;    // in the order of the arguments; usable without errors only
  std::vector<SweepSummary> sweeps;  // one a file that has a sweep
  Diagnostics diagnostics;           // of all files; illegal points of a sweep are in its summary
};

enum class PointNames { kWithFile, kAlone };  // "gemm[TILE=8]", "TILE=8"

// A sweep of which no point is legal is an error that says why.
Candidates load_candidates(const std::vector<std::string>& files, const MachineOptions& machine,
                           PointNames point_names);

// The stems of the files, those that repeat with as many folders in front as tell them apart; a
// file given again has "#2" behind it, and so on.
std::vector<std::string> names_of_files(const std::vector<std::string>& files);

}  // namespace rngdsim::cli
