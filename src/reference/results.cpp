// SPDX-License-Identifier: Apache-2.0
#include "reference/results.h"

#include <fmt/format.h>

#include <algorithm>

#include "mapping/mapping.h"

namespace rngdsim {
namespace {

std::optional<TensorId> last_version(const Program& program, const std::string& name) {
  std::optional<TensorId> last;
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    if (program.tensors[id].name == name) last = id;
  }
  return last;
}

bool is_read(const Program& program, TensorId tensor) {
  return std::any_of(program.commands.begin(), program.commands.end(), [&](const Command& command) {
    return (command.fetch && command.fetch->tensor == tensor) ||
           (command.outer && command.outer->trf == tensor);
  });
}

ProgramResult tensor_result(const Program& program, TensorId id) {
  const TensorVersion& tensor = program.tensors[id];
  return {tensor.name, id, std::nullopt, tensor.dtype, tensor.logical};
}

}  // namespace

std::vector<AxisId> sink_axes(const Program& program, const Command& command) {
  const StreamShape& shape = command.final_shape;
  std::vector<AxisId> inputs =
      command.fetch ? program.tensors[command.fetch->tensor].logical : command.stream->logical;
  if (command.outer) {
    const std::vector<AxisId>& trf = program.tensors[command.outer->trf].logical;
    inputs.insert(inputs.end(), trf.begin(), trf.end());
  }
  std::vector<AxisId> logical;
  for (AxisId axis :
       axes_of({&shape.chip, &shape.cluster, &shape.slice, &shape.lane, &shape.time, &shape.packet},
               program.axes)) {
    if (std::find(inputs.begin(), inputs.end(), axis) != inputs.end()) logical.push_back(axis);
  }
  return logical;
}

std::vector<ProgramResult> results_of(const Program& program) {
  std::vector<ProgramResult> results;
  for (const ExpectedResult& expected : program.expect) {
    const auto id = last_version(program, expected.tensor);
    if (id) results.push_back(tensor_result(program, *id));
  }
  if (!results.empty()) return results;
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    const TensorVersion& tensor = program.tensors[id];
    if (!tensor.produced_by || is_read(program, id)) continue;
    if (last_version(program, tensor.name) == id) results.push_back(tensor_result(program, id));
  }
  std::vector<ProgramResult> sinks;
  for (const Command& command : program.commands) {
    if (command.to_trf || command.commit) continue;
    sinks.push_back(
        {"sink", std::nullopt, command.id, command.final_shape.dtype, sink_axes(program, command)});
  }
  for (size_t i = 0; sinks.size() > 1 && i < sinks.size(); ++i) {
    sinks[i].name = fmt::format("sink {}", i + 1);
  }
  results.insert(results.end(), sinks.begin(), sinks.end());
  return results;
}

}  // namespace rngdsim
