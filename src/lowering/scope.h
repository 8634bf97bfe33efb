// SPDX-License-Identifier: Apache-2.0
// What every stage of lowering knows.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "command/program.h"
#include "mapping/mapping.h"
#include "support/diagnostic.h"

namespace rngdsim {

struct LowerScope {
  const AxisTable& axes;
  const MachineLimits& limits;
  Diagnostics& diagnostics;

  std::string text(const Mapping& mapping) const { return mapping.text(axes); }
  bool same(const Mapping& a, const Mapping& b) const { return same_cells(a, b, axes); }
};

// A declared mapping with its place; `where` of the stage where the kernel file leaves it out.
struct Declared {
  Mapping mapping;
  SourceLocation where;
};

// Bytes of `elements` elements, rounded up.
uint64_t bytes_of(DType dtype, uint64_t elements);
// "96 bytes (48 x bf16)"
std::string bytes_text(DType dtype, uint64_t elements);
// "8, 16, 24 or 32"
std::string choices(const std::vector<uint64_t>& values);

// Two mappings [outer, inner] that together have the cells of `mapping`, size(inner) == inner_size;
// nothing where no two mappings do (a cut through padding that would revive dead cells).
// Precondition: inner_size divides the size.
std::optional<std::pair<Mapping, Mapping>> divide(const Mapping& mapping, uint64_t inner_size,
                                                  const LowerScope& scope);

// A declared mapping may not promise more than the derived one: `#{0}` only where the stage knows
// the position to be zero. Adds an error and returns false otherwise. Precondition: same sizes.
bool promises_no_zero(const Declared& declared, const Mapping& derived, const char* stage,
                      const char* dimension, const LowerScope& scope);

// Compares a declared mapping with the derived one; returns the declared one where given. Adds an
// error and returns nothing where they differ.
std::optional<Mapping> agreed(const std::optional<Declared>& declared, const Mapping& derived,
                              const char* stage, const char* dimension, const LowerScope& scope);

// Every index of the axes `logical` that the digits of `users` reach must be one that the digits of
// `holders` (all dimensions of the tensor or stream called `name`) have. Adds an error otherwise.
bool check_indices_exist(const std::vector<const Mapping*>& users,
                         const std::vector<const Mapping*>& holders,
                         const std::vector<AxisId>& logical, const char* stage,
                         const std::string& name, const SourceLocation& where,
                         const LowerScope& scope);

// The strides at which digits of the mappings begin and end, by axis.
using DigitCuts = std::set<std::pair<AxisId, uint64_t>>;
DigitCuts cuts_of(const std::vector<const Mapping*>& mappings);
// `nodes` with their digits cut there, so that terms of two mappings can be compared one by one.
std::vector<Node> refined(const std::vector<Node>& nodes, const DigitCuts& cuts);

}  // namespace rngdsim
