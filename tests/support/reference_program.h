// SPDX-License-Identifier: Apache-2.0
// Programs built by hand for tests of the reference: mappings as text, no lowering.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "command/program.h"
#include "mapping/mapping.h"
#include "reference/logical_tensor.h"
#include "reference/reference.h"

namespace rngdsim::testing {

// Axes, and mappings over them from text.
class TestAxes {
 public:
  explicit TestAxes(const std::vector<std::pair<std::string, uint64_t>>& axes) {
    for (const auto& [name, size] : axes) table_.add(name, size);
  }

  const AxisTable& table() const { return table_; }
  AxisId id(const std::string& name) const {
    const auto found = table_.find(name);
    EXPECT_TRUE(found) << name;
    return found.value_or(0);
  }
  std::vector<AxisId> ids(const std::vector<std::string>& names) const {
    std::vector<AxisId> result;
    for (const std::string& name : names) result.push_back(id(name));
    return result;
  }
  Mapping operator()(const std::string& text) const {
    Diagnostics diagnostics;
    const ExprPtr expr = parse_mapping({text, {"test", 1, 1}}, table_, {}, diagnostics);
    EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
    return expr ? make_mapping(*expr, table_) : Mapping();
  }

 private:
  AxisTable table_;
};

// A stream or tensor shape by the texts of its dimensions.
struct ShapeText {
  std::string cluster = "1", slice = "1", lane = "1", time = "1", packet = "1";
};

inline StreamShape shape(const TestAxes& axes, DType dtype, const ShapeText& text) {
  StreamShape result;
  result.cluster = axes(text.cluster);
  result.slice = axes(text.slice);
  result.lane = axes(text.lane);
  result.time = axes(text.time);
  result.packet = axes(text.packet);
  result.dtype = dtype;
  return result;
}

// A tensor with the value `value(linear index)` everywhere.
inline LogicalTensor tensor(const TestAxes& axes, DType dtype,
                            const std::vector<std::string>& logical,
                            const std::function<double(uint64_t)>& value) {
  LogicalTensor result(dtype, axes.ids(logical), axes.table());
  for (uint64_t i = 0; i < result.volume(); ++i) result.set(i, from_double(dtype, value(i)));
  return result;
}

// What judge_all() must tell, by its definition.
inline Verdict judged_one_by_one(Expectation& expectation, const LogicalTensor& actual,
                                 size_t max_listed) {
  Verdict verdict;
  for (uint64_t offset = 0; offset < actual.volume(); ++offset) {
    if (!actual.defined(offset)) continue;
    const Judgement judgement = expectation.judge(offset, actual.bits(offset));
    verdict.max_error = std::max(verdict.max_error, judgement.error);
    verdict.max_fraction = std::max(verdict.max_fraction, judgement.fraction);
    if (judgement.ok) continue;
    ++verdict.wrong;
    if (verdict.first_wrong.size() < max_listed) verdict.first_wrong.push_back(offset);
  }
  return verdict;
}

// A contraction: the shape of the products and what the later stages leave of it. Stages with the
// names contract_outer, contract_packet, ... in this order.
inline Command contraction(CommandId id, const std::vector<StreamShape>& shapes) {
  static const char* const kNames[] = {"contract_outer", "contract_packet", "contract_time",
                                       "contract_lane"};
  Command command;
  command.id = id;
  command.label = "a x b";
  command.source = shapes[0];
  command.source.lane = Mapping();
  command.outer.emplace();
  for (size_t i = 0; i < shapes.size(); ++i) {
    command.stages.push_back({kNames[i], {"k.yaml", static_cast<int>(10 + i), 5}, shapes[i]});
  }
  command.final_shape = shapes.back();
  return command;
}

}  // namespace rngdsim::testing
