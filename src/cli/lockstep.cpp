// SPDX-License-Identifier: Apache-2.0
// rngdsim lockstep: shows that one pipeline for all slices does what pipelines of single slices do.
#include "sim/lockstep.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/signals.h"
#include "cli/subcommands.h"
#include "report/numbers.h"
#include "report/text_table.h"
#include "support/text.h"

namespace rngdsim::cli {
namespace {

struct LockstepArguments {
  KernelOptions kernel;
  MachineOptions machine;
  uint64_t pipelines = 4;
  bool timing_only = false;
  uint64_t seed = 0;
};

int lockstep(const LockstepArguments& arguments, const Console& console) {
  const std::atomic<bool>& stop = stop_on_signals();
  const Inputs inputs = load_inputs(arguments.kernel, arguments.machine);
  if (!told_and_good(inputs, console)) return kBadInput;
  RunOptions options = run_options(arguments.kernel, !arguments.timing_only, arguments.seed, stop);
  const uint64_t slices = inputs.program.limits.clusters * inputs.program.limits.slices;
  const auto count = static_cast<uint32_t>(std::min(arguments.pipelines, slices));
  const LockstepProof proof = prove_lockstep(inputs.program, inputs.topology, options,
                                             spread_slices(inputs.program, count));
  if (stop) {
    console.err("stopped\n");
    return kMachineFailed;
  }
  TextTable table;
  table.column("slice", TextTable::Align::kRight);
  table.column("cycles", TextTable::Align::kRight);
  table.column("evaluated", TextTable::Align::kRight);
  table.column("events", TextTable::Align::kRight);
  table.column("values", TextTable::Align::kRight);
  table.column("", TextTable::Align::kLeft);
  for (const LockstepSlice& slice : proof.slices) {
    table.row({std::to_string(slice.slice), group_digits(slice.cycles),
               group_digits(slice.cycles_compared), group_digits(slice.events),
               group_digits(slice.values),
               slice.difference.empty() ? "equal in every cycle" : slice.difference});
  }
  const std::string head = fmt::format(
      "{}: {} of one slice each beside the lockstep one, {}: {}\n\n", proof.lockstep.kernel_name,
      count_of(proof.slices.size(), "pipeline"), count_of(proof.lockstep.cycles, "cycle"),
      proof.holds() ? "equal" : "they differ");
  console.out(head + table.text(2));
  return proof.holds() ? kDone : kMachineFailed;
}

}  // namespace

void add_lockstep(CLI::App& app, Console& console, Work& chosen) {
  const auto arguments = std::make_shared<LockstepArguments>();
  CLI::App* command = app.add_subcommand(
      "lockstep", "run slices in pipelines of their own and compare every cycle with all in one");
  add_kernel(*command, arguments->kernel);
  add_machine(*command, arguments->machine);
  add_number(*command, "--pipelines", arguments->pipelines, 1,
             "slices that get one of their own, spread over those in use (default: 4)");
  command->add_flag("--timing-only", arguments->timing_only, "compare no values");
  add_number(*command, "--seed", arguments->seed, 0,
             "added to the seed of every random initial value (default: 0)");
  command->callback([arguments, &console, &chosen] {
    chosen = [arguments, &console] { return lockstep(*arguments, console); };
  });
}

}  // namespace rngdsim::cli
