// SPDX-License-Identifier: Apache-2.0
// rngdsim compare: kernels that compute the same, side by side. rngdsim sweep: the points of one
// kernel file.
#include "report/compare.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/candidates.h"
#include "cli/kernel_runs.h"
#include "cli/signals.h"
#include "cli/subcommands.h"
#include "report/json_fields.h"
#include "report/numbers.h"
#include "report/result_comparison.h"
#include "support/text.h"

namespace rngdsim::cli {
namespace {

constexpr uint64_t kDefaultTop = 10;

struct CompareArguments {
  std::vector<std::string> kernels;
  MachineOptions machine;
  std::string format = "text";
  std::string baseline;
  uint64_t jobs = 0;
  uint64_t top = 0;  // 0: all
  bool timing_only = false;
  uint64_t seed = 0;
  uint64_t max_cycles = 0;
};

// "kernel (file)", as messages name a candidate.
std::string label(const Candidate& candidate) {
  return fmt::format("{} ({})", candidate.name, candidate.file);
}

std::string run_hint(const Candidate& candidate) {
  std::string parameters;
  for (const auto& [name, value] : candidate.parameters) {
    parameters += fmt::format(" --param \"{}={}\"", name, value);
  }
  return fmt::format("rngdsim run {}{} shows the whole report", candidate.file, parameters);
}

std::string init_text(const InitSpec& init) {
  switch (init.kind) {
    case InitSpec::Kind::kNone:
      return "nothing";
    case InitSpec::Kind::kZero:
      return "zero";
    case InitSpec::Kind::kConstant:
      return fmt::format("constant {}", init.constant);
    case InitSpec::Kind::kIota:
      return fmt::format("iota from {} by {}", init.start, init.step);
    case InitSpec::Kind::kRandom:
      return fmt::format("random with seed {} from {} to {}", init.seed, init.low, init.high);
    case InitSpec::Kind::kValues:
      return fmt::format("{} values", init.values.size());
    case InitSpec::Kind::kNpy:
      return "file " + init.file;
  }
  return "?";
}

// A tensor that both declare and that begins differently: then other results are no wonder.
std::string input_hint(const Candidate& first, const Candidate& later) {
  for (const TensorVersion& a : first.program.tensors) {
    for (const TensorVersion& b : later.program.tensors) {
      if (a.produced_by || b.produced_by || a.name != b.name) continue;
      const std::string one = init_text(a.init), other = init_text(b.init);
      if (one == other && a.init.values == b.init.values) continue;
      return fmt::format("'{}' begins with {} in {} and with {} in {}", a.name, one,
                         to_string(a.where), one == other ? "others" : other, to_string(b.where));
    }
  }
  return "";
}

void check_baseline(const std::string& baseline, const std::vector<Candidate>& kernels,
                    Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const Candidate& kernel : kernels) names.push_back(kernel.name);
  if (baseline.empty() || std::find(names.begin(), names.end(), baseline) != names.end()) return;
  const auto close = nearest(baseline, names);
  diagnostics.error({}, fmt::format("--baseline: there is no kernel {}", quoted(baseline)),
                    close ? fmt::format("did you mean '{}'?", *close)
                          : fmt::format("there are {}", listed(names)));
}

// All that can be known before anything runs.
void check_candidates(const CompareArguments& arguments, Candidates& candidates, size_t least) {
  Diagnostics& diagnostics = candidates.diagnostics;
  if (diagnostics.has_errors()) return;
  const std::vector<Candidate>& kernels = candidates.kernels;
  if (kernels.size() < least) {
    diagnostics.error(
        {},
        fmt::format("a comparison needs at least {} kernels, there is {}", least, kernels.size()),
        "rngdsim run reports on a single one");
  }
  check_baseline(arguments.baseline, kernels, diagnostics);
  if (arguments.timing_only) return;
  std::vector<const Program*> programs;
  for (const Candidate& kernel : kernels) programs.push_back(&kernel.program);
  check_same_results(programs, diagnostics);
}

// Takes in the runs, one after the other.
class Gatherer {
 public:
  Gatherer(const CompareArguments& arguments, const Candidates& candidates)
      : arguments_(arguments), candidates_(candidates) {}

  void take(size_t number, KernelRun& run) {
    const Candidate& candidate = candidates_.kernels[number];
    if (!is_good(candidate, run)) return;
    if (!arguments_.timing_only) {
      differs(candidate, results_.add(label(candidate), std::move(run.results)));
    }
    kernels_.push_back(
        {candidate.name, candidate.file, candidate.parameters, std::move(run.report)});
  }

  // By candidate, what has to be known besides; empty where nothing has.
  std::vector<ResultOffsets> suspects() const {
    std::vector<ResultOffsets> suspects;
    for (size_t i = 0; results_.has_suspects() && i < candidates_.kernels.size(); ++i) {
      suspects.push_back(results_.suspects(i));
    }
    return suspects;
  }
  // The same runs again, with what they accept there. Precondition: verdict() was good.
  void take_suspects(size_t number, KernelRun& run) {
    const Candidate& candidate = candidates_.kernels[number];
    if (is_good(candidate, run)) differs(candidate, results_.add_accepted(number, run.suspects));
  }

  // What keeps the comparison from being shown is told; kDone where nothing does.
  ExitStatus verdict(const Console& console) const {
    for (const std::string& problem : problems_) {
      console.err(
          fmt::format("rngdsim: internal error: {}; please report this with the files that "
                      "you ran\n",
                      problem));
    }
    Diagnostics failures = failures_;
    if (stopped_ && problems_.empty()) failures.error({}, "stopped before all kernels have ended");
    if (bad_input_.has_errors()) console.diagnostics(bad_input_);
    if (failures.has_errors()) console.diagnostics(failures);
    if (!problems_.empty()) return kInternalError;
    if (bad_input_.has_errors()) return kBadInput;
    return failures.has_errors() ? kMachineFailed : kDone;
  }

  Comparison comparison() {
    Comparison comparison;
    comparison.kernels = std::move(kernels_);
    comparison.sweeps = candidates_.sweeps;
    comparison.options = {arguments_.machine.set};
    if (arguments_.timing_only) return comparison;
    comparison.equal.emplace();
    for (const TensorValues& result : results_.results()) {
      comparison.equal->push_back({result.name, result.axes, result.shape, result.dtype});
    }
    return comparison;
  }

 private:
  bool is_good(const Candidate& candidate, const KernelRun& run) {
    stopped_ = stopped_ || run.stopped;
    if (!run.problem.empty()) {
      problems_.push_back(fmt::format("{}: {}", label(candidate), run.problem));
    }
    bad_input_.append(run.diagnostics);
    for (const std::string& failure : run.failures) {
      failures_.error({}, fmt::format("{}: {}", label(candidate), failure),
                      &failure == &run.failures.back() ? run_hint(candidate) : "");
    }
    return !run.stopped && run.problem.empty() && !run.diagnostics.has_errors() &&
           run.failures.empty();
  }

  void differs(const Candidate& candidate, const std::optional<ResultDifference>& difference) {
    if (!difference) return;
    failures_.error({}, "these kernels do not compute the same: " + to_string(*difference),
                    input_hint(candidates_.kernels.front(), candidate));
  }

  const CompareArguments& arguments_;
  const Candidates& candidates_;
  std::vector<ComparedKernel> kernels_;
  ResultComparison results_;
  Diagnostics bad_input_, failures_;
  std::vector<std::string> problems_;
  bool stopped_ = false;
};

std::string rendered(const Comparison& comparison, const std::string& format, const Style& style) {
  if (format == "csv") return compare_csv(comparison);
  if (format == "markdown") return compare_markdown(comparison);
  if (format == "text") return compare_text(comparison, style);
  return json_text(compare_json(comparison));
}

int compare(const CompareArguments& arguments, Candidates& candidates, size_t least,
            const std::atomic<bool>& stop, Console& console) {
  check_candidates(arguments, candidates, least);
  const Diagnostics& findings = candidates.diagnostics;
  if (findings.has_errors() || !console.quiet) console.diagnostics(findings);
  if (findings.has_errors()) return kBadInput;

  RunSettings settings;
  settings.values = !arguments.timing_only;
  settings.seed = arguments.seed;
  settings.max_cycles = arguments.max_cycles;
  settings.jobs = arguments.jobs;
  settings.report = {arguments.machine.set};
  settings.stop = &stop;
  settings.progress = [&](size_t ended) {
    console.progress(fmt::format("{} of {} have run", group_digits(ended),
                                 count_of(candidates.kernels.size(), "kernel")));
  };
  Gatherer gatherer(arguments, candidates);
  run_candidates(candidates, settings,
                 [&gatherer](size_t number, KernelRun& run) { gatherer.take(number, run); });
  console.end_progress();
  ExitStatus verdict = gatherer.verdict(console);
  if (verdict != kDone) return verdict;
  settings.suspects = gatherer.suspects();
  if (!settings.suspects.empty()) {
    run_candidates(candidates, settings, [&gatherer](size_t number, KernelRun& run) {
      gatherer.take_suspects(number, run);
    });
    console.end_progress();
    verdict = gatherer.verdict(console);
    if (verdict != kDone) return verdict;
  }
  Comparison comparison = gatherer.comparison();
  comparison.order(arguments.baseline);
  if (arguments.top > 0) comparison.keep_fastest(arguments.top);
  console.out(rendered(comparison, arguments.format, console.out_style()));
  return kDone;
}

// Signals are listened to from the start: many kernels may take long to lower.
int compare_files(const CompareArguments& arguments, Console& console) {
  const std::atomic<bool>& stop = stop_on_signals();
  Candidates candidates =
      load_candidates(arguments.kernels, arguments.machine, PointNames::kWithFile);
  return compare(arguments, candidates, 2, stop, console);
}

int sweep(const CompareArguments& arguments, Console& console) {
  const std::atomic<bool>& stop = stop_on_signals();
  Candidates candidates = load_candidates(arguments.kernels, arguments.machine, PointNames::kAlone);
  if (!candidates.diagnostics.has_errors() && candidates.sweeps.empty()) {
    candidates.diagnostics.error({arguments.kernels.front(), 1, 1},
                                 "there is no 'sweep:' section in this file",
                                 "rngdsim run runs it, rngdsim compare takes several files");
  }
  return compare(arguments, candidates, 1, stop, console);
}

void add_options(CLI::App& command, CompareArguments& arguments) {
  add_machine(command, arguments.machine);
  add_choice(command, "--format", arguments.format, {"text", "json", "csv", "markdown"},
             "of the result on stdout (default: text)");
  add_number(command, "--jobs", arguments.jobs, 1,
             "processes at a time (default: one a processor); changes nothing in the result");
  command.add_flag("--timing-only", arguments.timing_only,
                   "simulate no values: the same cycles, sooner, but nothing proves that the "
                   "kernels compute the same");
  add_number(command, "--seed", arguments.seed, 0,
             "added to the seed of every random initial value (default: 0)");
  add_number(command, "--max-cycles", arguments.max_cycles, 1,
             "a kernel that takes longer is an error (default: no limit)");
}

}  // namespace

void add_compare(CLI::App& app, Console& console, Work& chosen) {
  const auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand(
      "compare",
      "run kernels side by side, prove that they compute the same, and show what each costs");
  command
      ->add_option("KERNEL...", arguments->kernels,
                   "kernel files (YAML), at least two; each point of a sweep is a kernel")
      ->required()
      ->type_name("");
  command
      ->add_option("--baseline", arguments->baseline,
                   "the kernel that cycles are divided by (default: the fastest)")
      ->type_name("NAME");
  add_options(*command, *arguments);
  command->callback([arguments, &console, &chosen] {
    chosen = [arguments, &console] { return compare_files(*arguments, console); };
  });
}

void add_sweep(CLI::App& app, Console& console, Work& chosen) {
  const auto arguments = std::make_shared<CompareArguments>();
  arguments->kernels.resize(1);
  arguments->top = kDefaultTop;
  CLI::App* command = app.add_subcommand(
      "sweep", "run all legal points of a kernel's sweep, show the fastest, explain the illegal");
  command->add_option("KERNEL", arguments->kernels[0], "the kernel file (YAML) with a sweep")
      ->required()
      ->type_name("");
  add_number(*command, "--top", arguments->top, 1,
             fmt::format("how many points are shown (default: {})", kDefaultTop));
  add_options(*command, *arguments);
  command->callback([arguments, &console, &chosen] {
    chosen = [arguments, &console] { return sweep(*arguments, console); };
  });
}

}  // namespace rngdsim::cli
