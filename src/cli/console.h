// SPDX-License-Identifier: Apache-2.0
// The two streams of the program: results to stdout, everything else to stderr.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "report/text_table.h"
#include "support/diagnostic.h"

namespace rngdsim::cli {

enum ExitStatus {
  kDone = 0,  // done, and values correct
  kMachineFailed =
      1,          // wrong values, deadlock, a limit reached, stopped; with --strict any warning
  kBadInput = 2,  // or bad usage
  kInternalError = 3,
};

// Results could not be written (a full disk, a closed pipe).
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Console {
 public:
  enum class Color { kAuto, kAlways, kNever };

  Color color = Color::kAuto;
  bool quiet = false;

  Style out_style() const;
  Style err_style() const;

  // Writes all of it or throws OutputError.
  void out(const std::string& text) const;
  // Cannot fail: there is nobody left to tell.
  void err(const std::string& text) const;
  // Findings in colour where that is wanted; `to_stdout` where they are the result.
  void diagnostics(const Diagnostics& diagnostics, bool to_stdout = false) const;

  // A line that replaces itself, on a terminal only.
  void progress(uint64_t cycles, double seconds, size_t ended, size_t commands);
  void progress(const std::string& text);
  void end_progress();

 private:
  bool progress_shown_ = false;
};

}  // namespace rngdsim::cli
