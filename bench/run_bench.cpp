// SPDX-License-Identifier: Apache-2.0
// Whole runs: simulated cycles a second of wall time. Compare ratios inside one run of this
// program, not numbers of different machines.
#include <benchmark/benchmark.h>

#include <string>

#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"

namespace rngdsim {
namespace {

void run_kernel(benchmark::State& state, const std::string& kernel, bool values) {
  Diagnostics diagnostics;
  const std::string configs = std::string(RNGDSIM_SOURCE_DIR) + "/configs/";
  const TopologyDecl topology = load_topology(configs + "topologies/rngd.yaml", diagnostics);
  const MachineLimits limits = limits_from(topology, diagnostics);
  const KernelDecl decl = load_kernel(configs + "kernels/" + kernel + ".yaml", diagnostics);
  const Program program = lower(decl, limits, diagnostics);
  if (diagnostics.has_errors()) {
    state.SkipWithError(diagnostics.render().c_str());
    return;
  }
  RunOptions options;
  options.values = values;
  uint64_t cycles = 0;
  for (auto _ : state) cycles += run_program(program, topology, options).cycles;
  state.counters["cycles"] =
      benchmark::Counter(static_cast<double>(cycles), benchmark::Counter::kIsRate);
}

void timing_only(benchmark::State& state) { run_kernel(state, "gemm_large", false); }
void with_values(benchmark::State& state) { run_kernel(state, "gemm", true); }
BENCHMARK(timing_only)->Unit(benchmark::kMillisecond);
BENCHMARK(with_values)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rngdsim

BENCHMARK_MAIN();
