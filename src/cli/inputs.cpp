// SPDX-License-Identifier: Apache-2.0
#include "cli/inputs.h"

#include <spdlog/spdlog.h>

#include <charconv>
#include <filesystem>
#include <utility>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/wiring.h"

namespace rngdsim::cli {

std::string default_topology() {
  namespace fs = std::filesystem;
  const fs::path file = fs::path("topologies") / "rngd.yaml";
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path installed = program.parent_path() / RNGDSIM_INSTALLED_CONFIG_DIR / file;
    if (fs::exists(installed, error)) return installed.lexically_normal().string();
  }
  const fs::path source = fs::path(RNGDSIM_SOURCE_CONFIG_DIR) / file;
  if (fs::exists(source, error)) return source.string();
  Diagnostics diagnostics;
  diagnostics.error({}, "the default topology (configs/topologies/rngd.yaml) was not found",
                    "name one with --topology FILE");
  throw InputError(diagnostics);
}

TopologyDecl load_machine(const MachineOptions& options, Diagnostics& diagnostics) {
  const std::string path = options.topology.empty() ? default_topology() : options.topology;
  spdlog::info("topology {}", path);
  TopologyDecl topology = load_topology(path, diagnostics);
  // Against a file that does not load, every name would be unknown.
  if (diagnostics.has_errors()) return topology;
  for (const std::string& assignment : options.set)
    set_parameter(topology, assignment, diagnostics);
  return topology;
}

Machine load_machine_limits(const MachineOptions& options, Diagnostics& diagnostics) {
  Machine machine;
  machine.topology = load_machine(options, diagnostics);
  if (!diagnostics.has_errors()) machine.limits = limits_from(machine.topology, diagnostics);
  machine.good = !diagnostics.has_errors();
  return machine;
}

Program lower_kernel(const KernelDecl& kernel, const Machine& machine, Diagnostics& diagnostics) {
  if (!machine.good || kernel.names_faulty) return {};
  Program program = lower(kernel, machine.limits, diagnostics);
  spdlog::info("lowered: {} commands, {} errors, {} warnings", program.commands.size(),
               diagnostics.error_count(), diagnostics.warning_count());
  return program;
}

Inputs load_inputs(const KernelOptions& kernel, const MachineOptions& machine_options) {
  Inputs inputs;
  Diagnostics& diagnostics = inputs.diagnostics;
  Machine machine = load_machine_limits(machine_options, diagnostics);
  spdlog::info("kernel {}", kernel.file);
  const KernelDecl decl = load_kernel(kernel.file, diagnostics, {{}, kernel.parameters});
  if (decl.excluded) {
    diagnostics.error(decl.excluded->where, decl.excluded->message, decl.excluded->hint);
  }
  inputs.program = lower_kernel(decl, machine, diagnostics);
  inputs.topology = std::move(machine.topology);
  return inputs;
}

RunOptions run_options(const KernelOptions& kernel, bool values, uint64_t seed,
                       const std::atomic<bool>& stop) {
  RunOptions options;
  options.values = values;
  options.seed = seed;
  options.kernel_dir = std::filesystem::path(kernel.file).parent_path().string();
  options.stop = &stop;
  return options;
}

bool parse_count(const std::string& text, uint64_t& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return !text.empty() && error == std::errc() && stop == end;
}

}  // namespace rngdsim::cli
