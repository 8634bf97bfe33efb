// SPDX-License-Identifier: Apache-2.0
// Whole runs of DMAs. `requests`: what is moved a second (each request is read and written).
// `waiting`: main waits for DMAs, the first of which takes long, since its writes cover a part of a
// line of HBM each. Time grows with the requests of a run and not with
// its cycles: compare `seconds_a_request` and `cycles_a_request` of these with those of
// `streaming`.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"

namespace rngdsim {
namespace {

void run_text(benchmark::State& state, const std::string& text, bool values) {
  Diagnostics diagnostics;
  const std::string configs = std::string(RNGDSIM_SOURCE_DIR) + "/configs/";
  const TopologyDecl topology = load_topology(configs + "topologies/rngd.yaml", diagnostics);
  const MachineLimits limits = limits_from(topology, diagnostics);
  const KernelDecl decl = parse_kernel(text, "bench", diagnostics);
  const Program program = lower(decl, limits, diagnostics);
  if (diagnostics.has_errors()) {
    state.SkipWithError(diagnostics.render().c_str());
    return;
  }
  RunOptions options;
  options.values = values;
  RunResult run;
  for (auto _ : state) run = run_program(program, topology, options);
  if (run.status != RunStatus::kOk) {
    state.SkipWithError(name(run.status));
    return;
  }
  uint64_t requests = 0, transfers = 0;
  for (const DmaResult& dma : run.dmas) {
    requests += dma.requests;
    transfers += dma.hbm.transfers;
  }
  using benchmark::Counter;
  const auto runs = static_cast<double>(state.iterations());
  const auto all = static_cast<double>(requests);
  state.counters["cycles"] = static_cast<double>(run.cycles);
  state.counters["cycles_a_request"] = static_cast<double>(run.cycles) / all;
  state.counters["requests"] = Counter(runs * all, Counter::kIsRate);
  state.counters["hbm_transfers"] =
      Counter(runs * static_cast<double>(transfers), Counter::kIsRate);
  state.counters["seconds_a_request"] = Counter(runs * all, Counter::kIsRate | Counter::kInvert);
}

// `blocks` of 64 KB from HBM to the 64 slices of an engine's two networks, a slice of the other one
// in each step.
std::string streaming_kernel(int64_t blocks) {
  return fmt::format(R"(kernel: streaming
axes: {{S: 64, B: {}, C: 1024}}
tensors:
  x: {{memory: hbm, dtype: i8, element: "B, S, C", init: {{random: {{seed: 1}}}}}}
program:
  - dma: {{from: x, to: y, memory: dm, slice: "S # 256", element: "B, C"}}
)",
                     blocks);
}

// Writes of 8 B, each in a line of its own, 267 cycles of its channel; main waits for all of them
// and what follows.
std::string waiting_kernel(int64_t writes) {
  return fmt::format(R"(kernel: waiting
axes: {{W: {}, C: 8}}
tensors:
  x: {{memory: dm, dtype: i8, slice: "1 # 256", element: "W, C", init: {{random: {{seed: 1}}}}}}
program:
  - dma: {{from: x, to: y, memory: hbm, element: "W, C # 256"}}
  - dma: {{from: y, to: z, memory: dm, slice: "1 # 256", element: "W, C"}}
  - main:
      from: z
      stages:
        - fetch: {{time: "W / 4", packet: "W % 4, C"}}
        - collect
)",
                     writes);
}

void streaming(benchmark::State& state) { run_text(state, streaming_kernel(state.range(0)), true); }
void streaming_timing_only(benchmark::State& state) {
  run_text(state, streaming_kernel(state.range(0)), false);
}
void waiting(benchmark::State& state) { run_text(state, waiting_kernel(state.range(0)), true); }
BENCHMARK(streaming)->Arg(1)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(streaming_timing_only)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(waiting)->Arg(1920)->Arg(7680)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rngdsim

BENCHMARK_MAIN();
