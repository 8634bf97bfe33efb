// SPDX-License-Identifier: Apache-2.0
// Tensors of a run as numbers, for comparing whole kernels with their mathematics.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/golden/kernels/shipped_kernel.h"

namespace rngdsim {

inline RunResult run_keeping(const Loaded& loaded, std::vector<std::string> names) {
  RunOptions options;
  options.keep = std::move(names);
  return run_program(loaded.program, loaded.topology, options);
}

// Row-major over the tensor's axes in the order of the kernel file.
inline std::vector<double> kept_numbers(const RunResult& result, const std::string& name) {
  for (const TensorValues& tensor : result.tensors) {
    if (tensor.name != name) continue;
    std::vector<double> values;
    for (size_t i = 0; i < tensor.bits.size(); ++i) {
      EXPECT_EQ(tensor.valid.at(i), 1) << name << " " << i;
      values.push_back(to_double(tensor.dtype, tensor.bits[i]));
    }
    return values;
  }
  throw std::runtime_error("no tensor " + name);
}

}  // namespace rngdsim
