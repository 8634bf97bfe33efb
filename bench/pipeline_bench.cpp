// SPDX-License-Identifier: Apache-2.0
// What a simulated cycle costs: the machine without values, the same stages as a plain loop, with
// traces, and where nothing happens. Compare ratios inside one run of this program, not numbers of
// different machines.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "bench/plain_pipeline.h"
#include "channel/unit.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "trace/flit_writer.h"
#include "trace/vcd_writer.h"

namespace rngdsim {
namespace {

constexpr CommandId kMainCommand = 1;  // of gemm_large

struct Subject {
  TopologyDecl topology;
  Program program;
};

Subject lowered(const std::string& text) {
  Diagnostics diagnostics;
  Subject subject;
  const std::string configs = std::string(RNGDSIM_SOURCE_DIR) + "/configs/";
  subject.topology = load_topology(configs + "topologies/rngd.yaml", diagnostics);
  const MachineLimits limits = limits_from(subject.topology, diagnostics);
  const KernelDecl decl = text.empty()
                              ? load_kernel(configs + "kernels/gemm_large.yaml", diagnostics)
                              : parse_kernel(text, "bench.yaml", diagnostics);
  subject.program = lower(decl, limits, diagnostics);
  diagnostics.throw_if_errors();
  return subject;
}

void count_cycles(benchmark::State& state, uint64_t cycles) {
  state.counters["cycles/s"] =
      benchmark::Counter(static_cast<double>(cycles), benchmark::Counter::kIsRate);
}

void plain_loop(benchmark::State& state) {
  const Subject subject = lowered("");
  RunOptions options;
  options.values = false;
  const uint64_t expected =
      run_program(subject.program, subject.topology, options).commands[kMainCommand].cycles;
  uint64_t cycles = 0;
  for (auto _ : state) {
    const uint64_t took = bench::run_plain(subject.program, kMainCommand);
    if (took != expected) state.SkipWithError("the plain loop took another number of cycles");
    cycles += took;
  }
  count_cycles(state, cycles);
}

enum class Trace { kNone, kVcd, kFlits, kNoScheduler };

void simulate(benchmark::State& state, Trace trace) {
  const Subject subject = lowered("");
  const std::string path =
      (std::filesystem::temp_directory_path() / ("rngdsim_bench_" + std::to_string(getpid())))
          .string();
  uint64_t cycles = 0, bytes = 0, items = 0, requests = 0;
  for (auto _ : state) {
    RunOptions options;
    options.values = false;
    const bool traces = trace == Trace::kVcd || trace == Trace::kFlits;
    options.plain_loop = trace == Trace::kNoScheduler;
    TraceFile file(traces ? path : "/dev/null");
    VcdWriter vcd(file, {}, 1.0);
    FlitWriter flits(file, {});
    Recorder recorder;
    if (trace == Trace::kVcd) recorder.add(vcd);
    if (trace == Trace::kFlits) recorder.add(flits);
    if (traces) options.observer = &recorder;
    const RunResult run = run_program(subject.program, subject.topology, options);
    file.close();
    cycles += run.cycles;
    for (const LinkResult& link : run.links) {
      (link.name.find("->data_memory.") != std::string::npos ? requests : items) += link.items;
    }
    if (traces) bytes += std::filesystem::file_size(path);
  }
  std::filesystem::remove(path);
  count_cycles(state, cycles);
  const auto rate = benchmark::Counter::kIsRate;
  state.counters["items/s"] = benchmark::Counter(static_cast<double>(items), rate);
  state.counters["requests/s"] = benchmark::Counter(static_cast<double>(requests), rate);
  if (bytes > 0) state.counters["file B/s"] = benchmark::Counter(static_cast<double>(bytes), rate);
}

// As many units as a contraction keeps busy, doing nothing: what SystemC and the clock cost.
class EmptyUnit final : public Unit {
 public:
  using Unit::Unit;
  std::vector<PortBase*> ports() override { return {}; }

 private:
  void tick(Cycle /*now*/) override { set_state(UnitState::kBusy); }
};

void empty_units(benchmark::State& state) {
  constexpr int kUnits = 14;
  constexpr Cycle kCycles = 100'000;
  const Program program;
  RunContext context;
  context.program = &program;
  uint64_t cycles = 0;
  for (auto _ : state) {
    static auto* const kKept = new std::vector<sc_core::sc_simcontext*>;  // never deleted
    kKept->push_back(new sc_core::sc_simcontext);
    sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = kKept->back();
    Clock clock("clock", sc_core::sc_time(1, sc_core::SC_NS));
    std::vector<std::unique_ptr<EmptyUnit>> units;
    for (int i = 0; i < kUnits; ++i) {
      units.push_back(
          std::make_unique<EmptyUnit>(("unit_" + std::to_string(i)).c_str(), clock, context));
      units.back()->wake_at(0);
    }
    clock.add_hook([&clock](Cycle now) {
      if (now == kCycles) clock.stop();
    });
    sc_core::sc_start();
    cycles += kCycles;
  }
  count_cycles(state, cycles);
}

// One access after a wait of a million cycles: nothing is awake meanwhile.
void idle_machine(benchmark::State& state) {
  const Subject subject = lowered(
      "kernel: idle\naxes: {A: 16}\ntensors:\n"
      "  x: {memory: dm, dtype: bf16, slice: \"1 # 256\", element: \"A\"}\n"
      "program:\n  - main:\n      from: x\n      delay: 1000000\n      stages:\n"
      "        - fetch:   {time: \"1\", packet: \"A\"}\n        - collect: {}\n");
  RunOptions options;
  options.values = false;
  uint64_t cycles = 0;
  for (auto _ : state) cycles += run_program(subject.program, subject.topology, options).cycles;
  count_cycles(state, cycles);
}

BENCHMARK(plain_loop)->Unit(benchmark::kMillisecond);
BENCHMARK(empty_units)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, timing_only, Trace::kNone)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, without_scheduler, Trace::kNoScheduler)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, with_vcd, Trace::kVcd)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, with_flits, Trace::kFlits)->Unit(benchmark::kMillisecond);
BENCHMARK(idle_machine)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rngdsim

BENCHMARK_MAIN();
