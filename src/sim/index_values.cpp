// SPDX-License-Identifier: Apache-2.0
#include "sim/index_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reference/results.h"
#include "support/text.h"

namespace rngdsim {

std::optional<TensorId> declared_origin(const Program& program, TensorId id, CommandId before) {
  const std::vector<AxisId>& logical = program.tensors[id].logical;
  while (true) {
    const TensorVersion& tensor = program.tensors[id];
    for (CommandId command = 0; command < before; ++command) {
      const auto written = written_by(program.commands[command]);
      const bool changes = written && root_of(program, *written) == id;
      if (changes && tensor.produced_by != command) return std::nullopt;
    }
    if (tensor.view_of || tensor.logical != logical) return std::nullopt;
    if (!tensor.produced_by) return id;
    const Command& maker = program.commands[*tensor.produced_by];
    if (!maker.dma || maker.dma->indexed) return std::nullopt;
    id = maker.dma->from;
  }
}

std::optional<std::string> equal_rows(const LogicalTensor& index, const std::vector<AxisId>& target,
                                      const AxisTable& axes) {
  std::map<std::vector<uint64_t>, uint64_t> first;  // what names a row -> the first that does
  std::optional<std::string> text;
  uint64_t more = 0;
  for (uint64_t at = 0; at < index.volume(); ++at) {
    if (!index.defined(at)) continue;
    std::vector<uint64_t> key{index.bits(at)};
    for (const AxisId axis : index.axes()) {
      if (std::find(target.begin(), target.end(), axis) == target.end()) continue;
      key.push_back(at / index.stride(axis) % axes.size(axis));
    }
    const auto [known, is_new] = first.emplace(std::move(key), at);
    if (is_new) continue;
    ++more;
    if (text) continue;
    text = fmt::format("first by {} and {}", to_string(index.index(known->second), axes),
                       to_string(index.index(at), axes));
  }
  if (more > 1) *text += fmt::format(" ({} times in all)", group_digits(more));
  return text;
}

}  // namespace rngdsim
