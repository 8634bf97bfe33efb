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
    if (program.tensors[id].name == name && !program.tensors[id].view_of) last = id;
  }
  return last;
}

std::vector<TensorId> read_by(const Program& program, const Command& command) {
  std::vector<TensorId> read = vrf_operands(command);
  if (command.fetch) {
    read.push_back(command.fetch->tensor);
    const auto& pair = program.tensors[command.fetch->tensor].pair;
    if (pair) read.push_back(pair->second);
  }
  if (command.dma) {
    read.push_back(command.dma->from);
    if (command.dma->indexed) read.push_back(command.dma->indexed->index);
  }
  if (command.outer) read.push_back(command.outer->trf);
  return read;
}

// Whether a command writes the version, or into a view of it, and none after the last such command
// reads it.
bool is_left_behind(const Program& program, TensorId tensor) {
  const auto is = [&](TensorId id) { return root_of(program, id) == tensor; };
  bool left = false;
  for (const Command& command : program.commands) {
    const std::vector<TensorId> read = read_by(program, command);
    if (std::any_of(read.begin(), read.end(), is)) {
      left = false;
    }
    const auto written = written_by(command);
    if (written && is(*written)) left = true;
  }
  return left;
}

ProgramResult tensor_result(const Program& program, TensorId id) {
  const TensorVersion& tensor = program.tensors[id];
  return {tensor.name, id, std::nullopt, tensor.dtype, tensor.logical};
}

}  // namespace

TensorId root_of(const Program& program, TensorId tensor) {
  while (program.tensors[tensor].view_of) tensor = *program.tensors[tensor].view_of;
  return tensor;
}

std::vector<TensorId> vrf_operands(const Command& command) {
  std::vector<TensorId> tensors;
  if (!command.vector) return tensors;
  const VectorConfig& vector = *command.vector;
  for (const auto* steps : {&vector.front, &vector.middle, &vector.after_reduce, &vector.back}) {
    for (const VectorStep& step : *steps) {
      for (const VectorStep::Slot& slot : step.slots) {
        if (slot.operand.kind == VectorOperand::Kind::kVrf) tensors.push_back(slot.operand.tensor);
      }
    }
  }
  std::sort(tensors.begin(), tensors.end());
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  return tensors;
}

std::optional<TensorId> written_by(const Command& command) {
  if (command.to_trf) return command.to_trf->tensor;
  if (command.to_vrf) return command.to_vrf->tensor;
  if (command.commit) return command.commit->tensor;
  if (command.dma) return command.dma->to;
  return std::nullopt;
}

bool changes_in_part(const Program& program, const Command& command) {
  if (command.dma) {
    return program.tensors[command.dma->to].view_of.has_value() ||
           (command.dma->indexed && command.dma->indexed->scatter);
  }
  return command.commit && program.tensors[command.commit->tensor].view_of.has_value();
}

std::vector<AxisId> sink_axes(const Program& program, const Command& command) {
  const StreamShape& shape = command.final_shape;
  std::vector<AxisId> inputs =
      command.fetch ? program.tensors[command.fetch->tensor].logical : command.stream->logical;
  std::vector<TensorId> operands = vrf_operands(command);
  if (command.outer) operands.push_back(command.outer->trf);
  for (const TensorId operand : operands) {
    const std::vector<AxisId>& axes = program.tensors[operand].logical;
    inputs.insert(inputs.end(), axes.begin(), axes.end());
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
    if (last_version(program, program.tensors[id].name) != id) continue;
    if (is_left_behind(program, id)) results.push_back(tensor_result(program, id));
  }
  std::vector<ProgramResult> sinks;
  for (const Command& command : program.commands) {
    if (written_by(command)) continue;
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
