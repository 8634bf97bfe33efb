// SPDX-License-Identifier: Apache-2.0
// Whole runs: what is simulated a second of CPU time. Compare ratios inside one run of this
// program, not numbers of different machines.
//
// Where the time of a run with values goes follows from differences: `load` stops in the first
// cycle, `without_expect` leaves out the `expect:` formula, which costs what judging the command
// that makes the result costs.
#include <benchmark/benchmark.h>

#include <string>

#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"

namespace rngdsim {
namespace {

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// A rate counter of each kind of thing that happens.
void count(benchmark::State& state, const RunResult& run) {
  uint64_t flits = 0, requests = 0;
  for (const LinkResult& link : run.links) {
    if (contains(link.name, ".request->data_memory.")) requests += link.items;
    // All others carry flits or packets.
    if (!contains(link.name, ".request->") && !contains(link.name, ".release->")) {
      flits += link.items;
    }
  }
  const auto rate = [&](const char* name, uint64_t one_run) {
    state.counters[name] =
        benchmark::Counter(static_cast<double>(one_run) * static_cast<double>(state.iterations()),
                           benchmark::Counter::kIsRate);
  };
  rate("cycles", run.cycles);
  rate("macs", run.mac.useful);
  rate("flits", flits);
  rate("requests", requests);
}

struct Choices {
  bool values = true;
  bool expect = true;
  uint64_t max_cycles = 0;
};

void run_kernel(benchmark::State& state, const std::string& kernel, const Choices& choices) {
  Diagnostics diagnostics;
  const std::string configs = std::string(RNGDSIM_SOURCE_DIR) + "/configs/";
  const TopologyDecl topology = load_topology(configs + "topologies/rngd.yaml", diagnostics);
  const MachineLimits limits = limits_from(topology, diagnostics);
  const KernelDecl decl = load_kernel(configs + "kernels/" + kernel + ".yaml", diagnostics);
  Program program = lower(decl, limits, diagnostics);
  if (diagnostics.has_errors()) {
    state.SkipWithError(diagnostics.render().c_str());
    return;
  }
  if (!choices.expect) program.expect.clear();
  RunOptions options;
  options.values = choices.values;
  options.max_cycles = choices.max_cycles;
  RunResult run;
  for (auto _ : state) run = run_program(program, topology, options);
  const RunStatus wanted = choices.max_cycles == 0 ? RunStatus::kOk : RunStatus::kMaxCycles;
  if (run.status != wanted) {
    state.SkipWithError(name(run.status));
    return;
  }
  count(state, run);
}

void timing_only(benchmark::State& state) { run_kernel(state, "gemm_large", {false, true, 0}); }
void values(benchmark::State& state) { run_kernel(state, "gemm_large", {}); }
void without_expect(benchmark::State& state) { run_kernel(state, "gemm_large", {true, false, 0}); }
void load(benchmark::State& state) { run_kernel(state, "gemm_large", {true, true, 1}); }
void small_timing_only(benchmark::State& state) { run_kernel(state, "gemm", {false, true, 0}); }
void small_values(benchmark::State& state) { run_kernel(state, "gemm", {}); }
BENCHMARK(timing_only)->Unit(benchmark::kMillisecond);
BENCHMARK(values)->Unit(benchmark::kMillisecond);
BENCHMARK(without_expect)->Unit(benchmark::kMillisecond);
BENCHMARK(load)->Unit(benchmark::kMillisecond);
BENCHMARK(small_timing_only)->Unit(benchmark::kMillisecond);
BENCHMARK(small_values)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rngdsim

BENCHMARK_MAIN();
