// SPDX-License-Identifier: Apache-2.0
// Loads and runs kernels of configs/kernels on the shipped topology.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "config/kernel.h"
#include "config/topology.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"

namespace rngdsim {

struct Loaded {
  TopologyDecl topology;
  Program program;
};

// `kernel`: a path below configs/kernels without its extension.
inline Loaded load(const std::string& kernel) {
  const std::string configs = std::string(RNGDSIM_SOURCE_DIR) + "/configs/";
  Diagnostics diagnostics;
  Loaded loaded;
  loaded.topology = load_topology(configs + "topologies/rngd.yaml", diagnostics);
  const MachineLimits limits = limits_from(loaded.topology, diagnostics);
  const KernelDecl decl = load_kernel(configs + "kernels/" + kernel + ".yaml", diagnostics);
  loaded.program = lower(decl, limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return loaded;
}

// The same of a kernel given as text.
inline Loaded load_text(const std::string& text) {
  Diagnostics diagnostics;
  Loaded loaded;
  loaded.topology =
      load_topology(std::string(RNGDSIM_SOURCE_DIR) + "/configs/topologies/rngd.yaml", diagnostics);
  const MachineLimits limits = limits_from(loaded.topology, diagnostics);
  const KernelDecl decl = parse_kernel(text, "kernel.yaml", diagnostics);
  if (!diagnostics.has_errors()) loaded.program = lower(decl, limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return loaded;
}

inline RunResult run(const Loaded& loaded, bool values = true) {
  RunOptions options;
  options.values = values;
  return run_program(loaded.program, loaded.topology, options);
}

inline const UnitResult& unit(const RunResult& result, const std::string& name) {
  for (const UnitResult& unit : result.units) {
    if (unit.name == name) return unit;
  }
  throw std::runtime_error("no unit " + name);
}

}  // namespace rngdsim
