// SPDX-License-Identifier: Apache-2.0
// Lowering without files: mappings from text, kernels from text, and what was said about them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "lowering/stages.h"

namespace rngdsim {

// Messages (without places and hints) of one severity, one a line.
inline std::string messages(const Diagnostics& diagnostics, Severity severity) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity == severity) text += diagnostic.message + "\n";
  }
  return text;
}

struct LoweredKernel {
  Program program;
  Diagnostics diagnostics;
  std::string errors() const { return messages(diagnostics, Severity::kError); }
  std::string warnings() const { return messages(diagnostics, Severity::kWarning); }
  const Command& command(size_t i) const { return program.commands.at(i); }
  // The last version of a tensor.
  const TensorVersion& tensor(const std::string& name) const {
    for (size_t i = program.tensors.size(); i-- > 0;) {
      if (program.tensors[i].name == name) return program.tensors[i];
    }
    ADD_FAILURE() << "no tensor " << name;
    static const TensorVersion kNone;
    return kNone;
  }
};

inline LoweredKernel lower_text(const std::string& text, const MachineLimits& limits = {},
                                const std::string& file = "kernel.yaml") {
  LoweredKernel result;
  const KernelDecl kernel = parse_kernel(text, file, result.diagnostics);
  if (!result.diagnostics.has_errors()) {
    result.program = lower(kernel, limits, result.diagnostics);
  }
  return result;
}

inline std::string file_contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << "cannot read " << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// One of configs/kernels.
inline LoweredKernel lower_shipped(const std::string& name) {
  return lower_text(
      file_contents(std::string(RNGDSIM_SOURCE_DIR) + "/configs/kernels/" + name + ".yaml"), {},
      name + ".yaml");
}

// A kernel of one main (or sub) command that reads the only tensor `x` from data memory.
struct MoveKernel {
  std::string axes, dtype = "i8", cluster = "1 # 2", slice = "1 # 256", element;
  std::string context = "main";
  std::vector<std::string> stages;

  std::string text() const {
    std::string text = "kernel: move\naxes: {" + axes +
                       "}\ntensors:\n  x: {memory: dm, dtype: " + dtype + ", cluster: \"" +
                       cluster + "\", slice: \"" + slice + "\", element: \"" + element +
                       "\"}\nprogram:\n  - " + context + ":\n      from: x\n      stages:\n";
    for (const std::string& stage : stages) text += "        - " + stage + "\n";
    return text;
  }
};

// Direct calls of the stage functions.
class StageTest : public testing::Test {
 protected:
  void axes(const std::vector<std::pair<std::string, uint64_t>>& axes) {
    for (const auto& [name, size] : axes) axes_.add(name, size);
  }
  Mapping map(const std::string& text) {
    Diagnostics faults;
    const ExprPtr expr = parse_mapping({text, {}}, axes_, {}, faults);
    EXPECT_FALSE(faults.has_errors()) << faults.render();
    return expr ? make_mapping(*expr, axes_) : Mapping();
  }
  Declared declared(const std::string& text) { return {map(text), {}}; }
  StreamShape stream(const std::string& time, const std::string& packet, DType dtype) {
    StreamShape shape;
    shape.slice = map("1 # 256");
    shape.cluster = map("1 # 2");
    shape.time = map(time);
    shape.packet = map(packet);
    shape.dtype = dtype;
    return shape;
  }
  TensorVersion trf(const std::string& lane, const std::string& element, DType dtype) {
    TensorVersion tensor;
    tensor.name = "w";
    tensor.memory = MemoryKind::kTrf;
    tensor.dtype = dtype;
    tensor.slice = map("1 # 256");
    tensor.cluster = map("1 # 2");
    tensor.lane = map(lane);
    tensor.element = map(element);
    return tensor;
  }
  bool same(const Mapping& a, const std::string& b) { return same_cells(a, map(b), axes_); }
  // What was said since the last call.
  std::string errors() { return take(Severity::kError); }
  std::string warnings() { return take(Severity::kWarning); }
  void forget() { diagnostics_ = {}; }

  AxisTable axes_;
  MachineLimits limits_;
  Diagnostics diagnostics_;
  LowerScope scope_{axes_, limits_, diagnostics_};

 private:
  std::string take(Severity severity) {
    const std::string text = messages(diagnostics_, severity);
    diagnostics_ = {};
    return text;
  }
};

}  // namespace rngdsim
