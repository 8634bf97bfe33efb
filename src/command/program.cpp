// SPDX-License-Identifier: Apache-2.0
#include "command/program.h"

namespace rngdsim {

const char* name(Context context) { return context == Context::kMain ? "main" : "sub"; }

const char* name(ReduceOp op) {
  switch (op) {
    case ReduceOp::kAdd:
      return "add";
    case ReduceOp::kAddSat:
      return "add_sat";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kMul:
      break;
  }
  return "mul";
}

}  // namespace rngdsim
