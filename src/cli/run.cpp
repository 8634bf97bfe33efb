// SPDX-License-Identifier: Apache-2.0
// rngdsim run: simulates a kernel and reports.
#include "sim/run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/files.h"
#include "cli/signals.h"
#include "cli/subcommands.h"
#include "cli/tracing.h"
#include "report/json_fields.h"
#include "report/run_json.h"
#include "report/run_text.h"
#include "report/vendor_schedule.h"

namespace rngdsim::cli {
namespace {

struct RunArguments {
  KernelOptions kernel;
  MachineOptions machine;
  std::string format = "text";
  std::string out;
  TraceOptions trace;
  std::vector<std::string> dump;
  bool timing_only = false;
  bool strict = false;
  uint64_t seed = 0;
  uint64_t max_cycles = 0;
  uint64_t skew = 0;
  bool apart = false;    // --skew is given
  std::string schedule;  // a file; empty: not wanted
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

RunResult simulate(const RunArguments& arguments, const Inputs& inputs,
                   const std::vector<Dump>& dumps, const std::atomic<bool>& stop, Tracing& tracing,
                   Console& console) {
  constexpr double kProgressPeriod = 0.2;  // seconds
  const Clock::time_point start = Clock::now();
  double shown = 0;
  RunOptions options = run_options(arguments.kernel, !arguments.timing_only, arguments.seed, stop);
  options.max_cycles = arguments.max_cycles;
  if (arguments.apart) options.skew = arguments.skew;
  options.observer = tracing.observer();
  for (const Dump& dump : dumps) options.keep.push_back(dump.tensor);
  options.progress = [&](uint64_t cycles, size_t ended) {
    const double now = seconds_since(start);
    if (now - shown < kProgressPeriod) return;
    shown = now;
    console.progress(cycles, now, ended, inputs.program.commands.size());
  };
  RunResult run = run_program(inputs.program, inputs.topology, options);
  console.end_progress();
  tracing.finish();
  run.wall_seconds = seconds_since(start);
  run.cycles_per_second =
      run.wall_seconds > 0 ? static_cast<double>(run.cycles) / run.wall_seconds : 0;
  spdlog::info("simulated {} cycles in {:.3f} s, {:.0f} cycles/s", run.cycles, run.wall_seconds,
               run.cycles_per_second);
  return run;
}

// Of a run that ended: else there are commands without a place in it.
void write_schedule(const std::string& file, const RunResult& result, const Program& program,
                    std::vector<std::string>& warnings) {
  if (file.empty()) return;
  if (result.status == RunStatus::kOk) {
    write_file(file, json_text(schedule_json(result, program)));
  } else {
    warnings.push_back(fmt::format("--schedule: the run did not end; {} is not written", file));
  }
}

int run(const RunArguments& arguments, Console& console) {
  const std::vector<Dump> dumps = parse_dumps(arguments.dump);
  if (!dumps.empty() && arguments.timing_only) {
    Diagnostics diagnostics;
    diagnostics.error({}, "--dump writes values, and --timing-only simulates none");
    throw InputError(diagnostics);
  }
  // From the start: a kernel may take long to lower.
  const std::atomic<bool>& stop = stop_on_signals();
  const Inputs inputs = load_inputs(arguments.kernel, arguments.machine);
  const Diagnostics& findings = inputs.diagnostics;
  if (findings.has_errors() || arguments.strict || !console.quiet) console.diagnostics(findings);
  if (findings.has_errors()) return kBadInput;
  const std::filesystem::path directory = arguments.out;
  // Before the run: its result must not be lost for a wrong path.
  if (!arguments.out.empty()) make_directory(directory);

  if (!arguments.schedule.empty()) check_writable(arguments.schedule);
  Tracing tracing(arguments.trace, std::get<double>(inputs.topology.clock_ghz.value));
  const RunResult result = simulate(arguments, inputs, dumps, stop, tracing, console);
  std::vector<std::string> warnings;
  write_dumps(dumps, result, warnings);
  write_schedule(arguments.schedule, result, inputs.program, warnings);
  for (const std::string& warning : warnings) console.err(fmt::format("warning: {}\n", warning));
  const ReportOptions report{arguments.machine.set};
  tracing.write_page(result, inputs.program, report);
  if (!arguments.out.empty()) {
    write_file(directory / "report.txt", run_text(result, inputs.program, report));
    write_file(directory / "report.json", json_text(run_json(result, inputs.program, report)));
  }
  console.out(arguments.format == "json"
                  ? json_text(run_json(result, inputs.program, report))
                  : run_text(result, inputs.program, report, console.out_style()));
  if (arguments.strict && findings.warning_count() + warnings.size() > 0) return kMachineFailed;
  return result.exit_status(arguments.strict) == 0 ? kDone : kMachineFailed;
}

}  // namespace

void add_run(CLI::App& app, Console& console, Work& chosen) {
  const auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "simulate a kernel cycle by cycle and report");
  add_kernel(*command, arguments->kernel);
  add_machine(*command, arguments->machine);
  add_format(*command, arguments->format);
  command->add_option("--out", arguments->out, "also write DIR/report.txt and DIR/report.json")
      ->type_name("DIR");
  command
      ->add_option("--vcd", arguments->trace.vcd,
                   "write the waveform of all units and links, and FILE.gtkw beside it for GTKWave")
      ->type_name("FILE");
  command
      ->add_option("--flits", arguments->trace.flits,
                   "write a row a cycle and link with traffic or a stall")
      ->type_name("FILE.csv");
  command
      ->add_option("--perfetto", arguments->trace.perfetto,
                   "write commands, units and counters as a trace that ui.perfetto.dev opens")
      ->type_name("FILE.json");
  command
      ->add_option("--html", arguments->trace.html,
                   "write the run as a page for a browser: a timeline to zoom into, stalls, "
                   "roofline")
      ->type_name("FILE.html");
  command
      ->add_option("--schedule", arguments->schedule,
                   "write the run as a schedule for the vendor's schedule viewer")
      ->type_name("FILE.json");
  command
      ->add_option("--window", arguments->trace.window,
                   "limit --vcd, --flits and --perfetto to the cycles from A on and before B")
      ->type_name("A:B");
  command
      ->add_option("--dump", arguments->dump,
                   "write what the machine left in a tensor; may be repeated")
      ->type_name("TENSOR=FILE.npy")
      ->allow_extra_args(false);
  command->add_flag("--timing-only", arguments->timing_only,
                    "simulate no values: the same cycles, sooner");
  add_number(*command, "--seed", arguments->seed, 0,
             "added to the seed of every random initial value (default: 0)");
  add_number(*command, "--max-cycles", arguments->max_cycles, 1,
             "stop there with the report so far and status 1 (default: no limit)");
  CLI::Option* skew =
      add_number(*command, "--skew", arguments->skew, 0,
                 "simulate the clusters apart, the second launched so many cycles later");
  command->add_flag("--strict", arguments->strict, "warnings and hazards make the exit status 1");
  command->callback([arguments, skew, &console, &chosen] {
    arguments->apart = skew->count() > 0;
    chosen = [arguments, &console] { return run(*arguments, console); };
  });
}

}  // namespace rngdsim::cli
