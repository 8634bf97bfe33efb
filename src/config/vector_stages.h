// SPDX-License-Identifier: Apache-2.0
// The operations that each stage of the Vector Engine knows, and the reading of its keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/reader.h"
#include "config/vector_decl.h"
#include "numeric/dtype.h"
#include "numeric/vector_ops.h"

namespace rngdsim {

// An operation of a stage. Names as in the book, in small letters: "add_fxp" for AddFxp.
struct VectorOpRule {
  const char* stage;  // "vector_fxp"
  const char* name;
  VectorOp op;
  DType dtype;            // of the stream that it takes
  std::vector<Alu> alus;  // one of these: the first that is free, or by `alu:`
};
const std::vector<VectorOpRule>& vector_op_rules();

// Of all types; empty for a stage without operations.
std::vector<std::string> vector_op_names(const std::string& stage);
// The book's spelling or ours to ours: "AddFxp" and "add_fxp" to "add_fxp".
std::string plain_name(const std::string& text);

// Reads what is a matter of the Vector Engine alone. Errors go to the reader.
VectorStageDecl read_vector_stage(const std::string& stage, const Fields& fields, Reader& reader,
                                  const std::vector<std::string>& axis_names);

}  // namespace rngdsim
