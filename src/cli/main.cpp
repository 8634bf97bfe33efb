// SPDX-License-Identifier: Apache-2.0
// The program: options, exit statuses, and the last line of defence.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "cli/help.h"
#include "cli/signals.h"
#include "cli/subcommands.h"
#include "support/text.h"

// libsystemc wants one; the program starts in main() and never enters it.
extern "C" int sc_main(int /*argc*/, char* /*argv*/[]) { return 0; }

namespace rngdsim::cli {
namespace {

struct CommonOptions {
  bool quiet = false;
  bool verbose = false;
  std::string log;
  std::string color = "auto";
};

void add_common(CLI::App& app, CommonOptions& common) {
  app.add_flag("-q,--quiet", common.quiet, "no warnings, no progress line");
  app.add_flag("-v,--verbose", common.verbose, "log what is done (--log info)");
  add_choice(app, "--log", common.log, {"trace", "debug", "info", "warning", "error", "off"},
             "least level of what is logged to stderr (default: warning)");
  add_choice(app, "--color", common.color, {"auto", "always", "never"},
             "colour the text; auto does on a terminal (default: auto)");
}

void apply(const CommonOptions& common, Console& console) {
  console.quiet = common.quiet;
  console.color = common.color == "always"  ? Console::Color::kAlways
                  : common.color == "never" ? Console::Color::kNever
                                            : Console::Color::kAuto;
  const std::string level = !common.log.empty() ? common.log
                            : common.verbose    ? "info"
                            : common.quiet      ? "error"
                                                : "warning";
  const auto logger = spdlog::stderr_logger_mt("rngdsim");
  logger->set_pattern("rngdsim: %l: %v");
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(logger);
}

// The command that the arguments chose so far.
const CLI::App* chosen_command(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? nullptr : commands.front();
}

// What is wrong with the arguments, in a line, and where the words are close, what was meant.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = chosen_command(app);
  const std::string help =
      command == nullptr ? "rngdsim --help" : fmt::format("rngdsim {} --help", command->get_name());
  std::string message = error.what();
  std::vector<std::string> words;
  std::string unknown;
  // By its code: this error carries the name of the command.
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    // Nearest first: what follows an unknown option may be its value.
    for (const std::string& argument : app.remaining(true)) {
      const bool option = argument.size() > 1 && argument[0] == '-';
      if (unknown.empty() || (option && unknown[0] != '-')) unknown = argument;
    }
    const bool option = unknown.size() > 1 && unknown[0] == '-';
    unknown = unknown.substr(0, unknown.find('='));
    if (option) {
      message = fmt::format("unknown option {}", rngdsim::quoted(unknown));
      for (const CLI::App* of : {&app, command}) {
        if (of == nullptr) continue;
        for (const CLI::Option* known : of->get_options()) {
          for (const std::string& name : known->get_lnames()) words.push_back("--" + name);
        }
      }
    } else if (command == nullptr) {
      message = fmt::format("unknown command {}", rngdsim::quoted(unknown));
      for (const CLI::App* known : app.get_subcommands(nullptr)) words.push_back(known->get_name());
    } else {
      message = fmt::format("unexpected argument {}", rngdsim::quoted(unknown));
    }
  }
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
  const auto close = nearest(unknown, words);
  return fmt::format("error: {}\nhint: {}{}\n", message,
                     close ? fmt::format("did you mean '{}'? ", *close) : "", "see " + help);
}

// Runs `work`; what it throws becomes a message and an exit status.
int guarded(Console& console, const Work& work) {
  const auto internal = [&](const std::string& what) {
    console.end_progress();
    console.err(
        fmt::format("rngdsim: internal error: {}; please report this with the files that you "
                    "ran\n",
                    what));
    return static_cast<int>(kInternalError);
  };
  try {
    return work();
  } catch (const InputError& error) {
    console.end_progress();
    console.diagnostics(error.diagnostics());
    return kBadInput;
  } catch (const OutputError& error) {
    // Who closed the pipe knows.
    if (errno != EPIPE) console.err(fmt::format("error: {}\n", error.what()));
    return kBadInput;
  } catch (const std::bad_alloc&) {
    console.end_progress();
    console.err("rngdsim: out of memory; --timing-only keeps no values and needs far less\n");
    return kInternalError;
  } catch (const std::exception& error) {
    std::string what = error.what();
    std::replace(what.begin(), what.end(), '\n', ' ');
    return internal(what);
  } catch (...) {
    return internal("an exception of an unknown type");
  }
}

int run_program_main(int argc, char** argv) {
  Console console;
  return guarded(console, [&]() -> int {
    Work chosen;
    CommonOptions common;
    CLI::App app("cycle-accurate simulator of a tensor-contraction processor", "rngdsim");
    app.require_subcommand(0, 1);
    add_common(app, common);
    add_run(app, console, chosen);
    add_why(app, console, chosen);
    add_what_if(app, console, chosen);
    add_diff(app, console, chosen);
    add_schedule(app, console, chosen);
    add_compare(app, console, chosen);
    add_sweep(app, console, chosen);
    add_check(app, console, chosen);
    add_explain(app, console, chosen);
    add_map(app, console, chosen);
    add_topology(app, console, chosen);
    add_cycles(app, console, chosen);
    add_lockstep(app, console, chosen);
    add_shell(app, console, chosen);
    add_version(app, console, chosen);
    // Common options may stand behind the command too.
    for (CLI::App* command : app.get_subcommands(nullptr)) command->fallthrough();
    try {
      app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      const CLI::App* command = chosen_command(app);
      console.out(command == nullptr ? program_help(app) : command_help(app, *command));
      return kDone;
    } catch (const CLI::ParseError& error) {
      console.err(usage_error(app, error));
      return kBadInput;
    }
    if (!chosen) {
      console.err(program_help(app));
      return kBadInput;
    }
    apply(common, console);
    return chosen();
  });
}

}  // namespace
}  // namespace rngdsim::cli

int main(int argc, char** argv) {
  // Or SystemC prints its banner to stderr at first use.
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  rngdsim::cli::handle_signals();
  return rngdsim::cli::run_program_main(argc, argv);
}
