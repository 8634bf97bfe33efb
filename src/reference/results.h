// SPDX-License-Identifier: Apache-2.0
// What a program is run for: the results by which two programs can be compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command/program.h"

namespace rngdsim {

struct ProgramResult {
  std::string name;                  // of the tensor; "sink", or "sink 1", "sink 2", ...
  std::optional<TensorId> tensor;    // its last version; none: what reaches the sink of `command`
  std::optional<CommandId> command;  // of a sink
  DType dtype{};
  std::vector<AxisId> axes;  // ascending
};

// The tensors that `expect:` names; without it those that a command writes, whole or in tiles, and
// no later one reads, and then the sinks, in the order of the file.
std::vector<ProgramResult> results_of(const Program& program);

// The version that a view is, through other views perhaps, a view of; any other version itself.
TensorId root_of(const Program& program, TensorId tensor);

// The tensors of the VRF that the vector chain of a command reads, each once, ascending.
std::vector<TensorId> vrf_operands(const Command& command);

// The tensor that a command writes, in whatever memory; none: what it makes ends in a sink.
std::optional<TensorId> written_by(const Command& command);

// Whether the tensor that a command writes exists before and keeps the rest of its values: a tile,
// or a scatter.
bool changes_in_part(const Program& program, const Command& command);

// The axes that what reaches the sink of a command depends on, ascending: of those that its
// mappings name the ones that its operands have.
std::vector<AxisId> sink_axes(const Program& program, const Command& command);

}  // namespace rngdsim
