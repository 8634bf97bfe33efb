// SPDX-License-Identifier: Apache-2.0
// Diagnostics: what is wrong with an input, where, and what to try instead.
//
// Every phase collects all its findings in a `Diagnostics` and throws one `InputError` at its end;
// only `main` catches it. A broken invariant of the program itself is an `InternalError`.
#pragma once

#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/input_limits.h"

namespace rngdsim {

// A place in an input file. Lines and columns count from 1; 0 means "no such number".
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;

  // The place `columns` characters further on the same line.
  SourceLocation shifted(int columns) const { return {file, line, column + columns}; }
};

// "file:line:col"; parts that are unknown are left out.
std::string to_string(const SourceLocation& where);

// A value that remembers where in the input it was written.
template <typename T>
struct Located {
  T value{};
  SourceLocation where;
};

enum class Severity { kError, kWarning };

struct Diagnostic {
  Severity severity = Severity::kError;
  SourceLocation where;
  std::string message;  // states the rule and both numbers; no trailing full stop
  std::string hint;     // empty where there is none
};

// The findings of one phase, in the order found. Of errors beyond kMaxErrors only the number is
// kept, and messages are cut at kMaxMessageLength.
class Diagnostics {
 public:
  void error(SourceLocation where, std::string message, std::string hint = "");
  // The same warning at the same place counts once: the rounds of a loop repeat it.
  void warning(SourceLocation where, std::string message, std::string hint = "");
  void append(const Diagnostics& other);

  bool has_errors() const { return errors_ != 0; }
  size_t error_count() const { return errors_; }
  size_t warning_count() const { return warnings_; }
  // True where no more errors are shown: whoever reads on may give up.
  bool full() const { return errors_ > kMaxErrors; }
  const std::vector<Diagnostic>& all() const { return all_; }

  // `file:line:col: error: ...` lines with their hints, ordered by place (stable), then
  // "N errors, M warnings". Empty where there is nothing to say.
  std::string render() const;

  // Throws InputError where there is at least one error.
  void throw_if_errors() const;

 private:
  std::vector<Diagnostic> all_;
  size_t errors_ = 0;
  size_t warnings_ = 0;
  std::set<std::string> warned_;
};

// Bad input: carries everything found. Exit status 2.
class InputError : public std::runtime_error {
 public:
  explicit InputError(Diagnostics diagnostics);
  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  Diagnostics diagnostics_;
};

// A broken invariant of the simulator itself. Exit status 3.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace rngdsim
