// SPDX-License-Identifier: Apache-2.0
#include "command/program.h"

namespace rngdsim {

const char* name(Context context) {
  switch (context) {
    case Context::kMain:
      return "main";
    case Context::kSub:
      return "sub";
    case Context::kDma:
      break;
  }
  return "dma";
}

Pace pace_of(const Command& command) {
  if (command.context != Context::kMain) return Pace::kLanding;
  if (command.vector) {
    const bool chain_last =
        command.vector->chain && (command.vector->inter_first || !command.vector->inter);
    return chain_last ? Pace::kVector : Pace::kInterSlice;
  }
  if (command.outer) return Pace::kContraction;
  return command.switching ? Pace::kSwitch : Pace::kLanding;
}

uint64_t overhead_of(const Command& command, const MachineLimits& limits) {
  const MachineLimits::Overheads& all = limits.overheads;
  const auto of_class = [&]() {
    if (command.context == Context::kSub) return command.vector ? all.sub_vector : all.sub;
    if (command.vector && command.to_vrf) return all.vector_to_vrf;
    if (command.vector && command.outer && !command.vector->chain) return all.contraction_reduce;
    if (command.vector) return all.vector;
    if (command.outer) return all.contraction;
    return command.switching ? all.exchange : all.move;
  };
  const uint64_t own = of_class();
  return own != 0 ? own : limits.command_overhead;
}

uint64_t DmaConfig::Segment::packets() const {
  uint64_t packets = 1;
  for (const Loop& loop : loops) packets *= loop.size;
  return packets;
}

std::optional<uint64_t> DmaConfig::Indexed::displacement(int64_t value) const {
  if (value < 0) return std::nullopt;
  const uint64_t unit = scaled ? row_bytes : 1;
  const auto count = static_cast<uint64_t>(value);
  if (count % unit != 0 || count / unit >= rows) return std::nullopt;
  return count / unit * row_bytes;
}

const char* name(SwitchKind kind) {
  switch (kind) {
    case SwitchKind::kForward:
      return "forward";
    case SwitchKind::kBroadcast01:
      return "broadcast01";
    case SwitchKind::kBroadcast1:
      return "broadcast1";
    case SwitchKind::kTranspose:
      return "transpose";
    case SwitchKind::kInterTranspose:
      return "inter_transpose";
    case SwitchKind::kTransposedBroadcast1:
      return "transposed_broadcast1";
    case SwitchKind::kCustomBroadcast:
      break;
  }
  return "custom_broadcast";
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
