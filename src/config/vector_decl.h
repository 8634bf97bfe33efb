// SPDX-License-Identifier: Apache-2.0
// What the kernel file says of a stage of the Vector Engine, as written: operations by their names,
// numbers not yet read as i32 or f32.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "numeric/vector_ops.h"
#include "support/diagnostic.h"

namespace rngdsim {

// A constant. `bits`: written as a hexadecimal number, which stands for the raw bits of an i32.
struct VectorNumber {
  double value = 0;
  bool bits = false;
  SourceLocation where;
};

// What stands behind `operand:` (or in a group): a number, `{vrf: name}` or `stash`.
struct OperandDecl {
  enum class Kind : uint8_t { kNone, kNumber, kVrf, kStash };  // kNone: `second` alone
  Kind kind = Kind::kNone;
  VectorNumber number;
  Located<std::string> vrf;
  std::optional<VectorNumber> second;  // operand1 of a ternary operation
  SourceLocation where;
};

// `all`, `{group: 1}`, `{matches: [one, ignore, ...]}`, `{not_matches: [...]}`; bits from the
// least.
struct GuardDecl {
  uint8_t mask = 0, value = 0;  // of the 4 bits of a tag
  bool negated = false;
  SourceLocation where;
};

struct GuardedOperandDecl {
  std::optional<GuardDecl> guard;  // none: every element
  OperandDecl operand;
};

// `group0:`, `group1:`: what an operation does with a group.
struct GroupDecl {
  bool applies = true;
  std::optional<OperandDecl> operand;
  SourceLocation where;
};

// One of the four comparisons of `mode: {comparison: [...]}`.
struct CompareDecl {
  CompareOp op = CompareOp::kFalse;
  VectorNumber boundary;
};

struct VectorStageDecl {
  std::optional<Located<std::string>> op;    // of vector_op_names(stage)
  std::optional<Located<std::string>> alu;   // vector_fp, mul_f: "mul0", "mul1", "fma"
  std::optional<Located<std::string>> mode;  // "Mode01", "Mode120"
  bool listed = false;                       // the operand is a list of guarded ones
  std::vector<GuardedOperandDecl> operands;
  SourceLocation operand_where;    // of the value of `operand:`
  std::optional<GuardDecl> guard;  // vector_fp with one operand, vector_filter
  std::array<std::optional<GroupDecl>, 2> groups;
  std::optional<Located<bool>> zip;
  std::optional<std::array<CompareDecl, 4>> comparison;  // vector_tag; none: zero
  std::optional<Located<uint64_t>> int_width;
  std::optional<Located<std::string>> axis;  // vector_unzip
};

}  // namespace rngdsim
