// SPDX-License-Identifier: Apache-2.0
// The section `sweep:` of a kernel file: parameters with their values, which make one file many
// kernels, and constraints that say which combinations are meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/diagnostic.h"

namespace rngdsim {

// A name with the values it takes: either whole numbers, usable like a constant, or mappings,
// usable like a named mapping.
struct SweepParameter {
  std::string name;
  SourceLocation where;
  std::vector<uint64_t> numbers;
  std::vector<Located<std::string>> mappings;

  bool is_mapping() const { return !mappings.empty(); }
  size_t count() const { return numbers.size() + mappings.size(); }
  std::string value(size_t index) const;  // "8", "J / 8 % 4, I % 32"
  // The same in few characters: a number, or which mapping, counted from 1.
  std::string short_value(size_t index) const;
};

// One value of each parameter, by index.
using SweepPoint = std::vector<size_t>;

struct SweepDecl {
  std::vector<SweepParameter> parameters;  // in the order of the file; none: no sweep
  std::vector<Located<std::string>> constraints;
  bool faulty = false;  // there were errors in the section; its points mean nothing

  // The number of combinations; at most kMaxSweepPoints where the section is good.
  uint64_t points() const;
  // The combination of this number, the last parameter changing fastest.
  SweepPoint point(uint64_t number) const;
  std::string name(const SweepPoint& point) const;  // "TILE=8,ORDER=2"
};

// How one of the points is chosen: values of some parameters by index; others have their first one.
struct SweepChoice {
  SweepPoint point;  // empty: the first value of each
  // "NAME=VALUE", as on the command line, where VALUE is one of the values, or the number of a
  // mapping, counted from 1. They take precedence.
  std::vector<std::string> assignments;
};

// The point that is chosen. Adds an error for each assignment that names no parameter or value of
// `sweep`, at `file` as a whole.
SweepPoint choose_point(const SweepDecl& sweep, const SweepChoice& choice, const std::string& file,
                        Diagnostics& diagnostics);

class FileErrors;
class Reader;
struct YamlNode;

// Reads the section. Errors make it `faulty`.
SweepDecl read_sweep(const YamlNode& node, Reader& reader, FileErrors& errors);

// Adds an error for each parameter that no "{NAME}" outside of the section uses.
void check_parameters_used(const SweepDecl& sweep, const YamlNode& root, FileErrors& errors);

}  // namespace rngdsim
