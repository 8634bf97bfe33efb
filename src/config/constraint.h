// SPDX-License-Identifier: Apache-2.0
// Constraints of a sweep: integer arithmetic with one comparison, "{TILE} * 4 <= 64".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "config/yaml_document.h"
#include "support/diagnostic.h"

namespace rngdsim {

// The numbers behind "{NAME}"; one without a value is known to be wrong, and constraints that use
// it are passed over in silence.
using ConstraintNames = std::map<std::string, std::optional<uint64_t>>;

struct ConstraintResult {
  bool holds = true;
  std::string values;  // both sides as numbers: "128 <= 64"
};

// sum OP sum, where OP is == != < <= > >= and a sum is made of + - * / % (which drops the fraction,
// as in C), brackets, whole numbers and {NAME}; products before sums, from left to right. Values
// are signed and of 64 bits. Adds an error at the column of what is wrong, a division by zero and
// an overflow included, and returns nothing then.
std::optional<ConstraintResult> evaluate_constraint(const Located<std::string>& text,
                                                    const ConstraintNames& names,
                                                    FileErrors& errors);

}  // namespace rngdsim
