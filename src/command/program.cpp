// SPDX-License-Identifier: Apache-2.0
#include "command/program.h"

#include <array>

namespace rngdsim {

const char* name(Context context) {
  static constexpr std::array<const char*, kContexts> kNames = {"main", "sub", "dma"};
  return kNames[static_cast<size_t>(context)];
}

uint64_t DmaConfig::Segment::packets() const {
  uint64_t count = 1;
  for (const Loop& loop : loops) count *= loop.size;
  return count;
}

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
