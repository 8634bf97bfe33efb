// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "report/text_table.h"
#include "support/version.h"

namespace rngdsim::cli {
namespace {

constexpr size_t kIndent = 2;
constexpr size_t kMaxNames = 34;

std::string names_of(const CLI::Option& option) {
  std::string text;
  for (const std::string& name : option.get_snames()) text += (text.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) text += (text.empty() ? "--" : ", --") + name;
  if (text.empty()) return option.get_name(true);
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() > 0 && !type.empty()) text += " " + type;
  return text;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app, bool positional) {
  std::vector<const CLI::Option*> found = app.get_options([&](const CLI::Option* option) {
    return option->nonpositional() != positional && option->get_name() != "--help";
  });
  return found;
}

std::string usage_of(const CLI::App& command) {
  std::string usage = command.get_name();
  for (const CLI::Option* option : options_of(command, true)) {
    const std::string name = option->get_name(true);
    usage += option->get_required() ? " " + name : " [" + name + "]";
  }
  return usage;
}

std::string table_of(const CLI::App& app) {
  std::string text;
  const auto list = [&](const std::vector<const CLI::Option*>& options) {
    for (const CLI::Option* option : options) {
      const std::string names = names_of(*option);
      std::string first(2 * kIndent, ' ');
      first += names;
      if (names.size() > kMaxNames - 2) {
        text += first + "\n";
        first.clear();
      }
      first.resize(2 * kIndent + kMaxNames, ' ');
      text += wrap(option->get_description(), first, first.size());
    }
  };
  list(options_of(app, true));
  list(options_of(app, false));
  return text;
}

std::string common_options(const CLI::App& app) {
  return "common options\n" + table_of(app) +
         "    -h, --help                        this text, or that of a command\n";
}

std::string exit_statuses() {
  return "exit status\n"
         "    0  done, and all values correct\n"
         "    1  the simulated machine failed: wrong values, deadlock, a limit reached, stopped by "
         "Ctrl-C;\n"
         "       with --strict also warnings and hazards\n"
         "    2  bad input or usage\n"
         "    3  internal error\n";
}

}  // namespace

std::string program_help(const CLI::App& app) {
  std::string text = fmt::format("rngdsim {}  {}\n\nusage: rngdsim COMMAND [options]\n\n", kVersion,
                                 app.get_description());
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    text += wrap(command->get_description(), fmt::format("{}  ", usage_of(*command)), kIndent);
    text += table_of(*command) + "\n";
  }
  return text + common_options(app) + "\n" + exit_statuses();
}

namespace {

// As text of a troff file: no backslash and no leading dot or quote of its own.
std::string troff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool first = escaped.empty() || escaped.back() == '\n';
    if (first && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string troff_options(const CLI::App& app) {
  std::string text;
  for (const bool positional : {true, false}) {
    for (const CLI::Option* option : options_of(app, positional)) {
      text += fmt::format(".TP\n.B {}\n{}\n", troff(names_of(*option)),
                          troff(option->get_description()));
    }
  }
  return text;
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  std::string text = fmt::format(
      ".TH RNGDSIM 1 \"\" \"rngdsim {}\"\n.SH NAME\nrngdsim \\- {}\n.SH SYNOPSIS\n.B rngdsim\n"
      ".I COMMAND\n[options]\n.SH COMMANDS\n",
      kVersion, troff(app.get_description()));
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    text += fmt::format(".SS {}\n{}\n{}", troff("rngdsim " + usage_of(*command)),
                        troff(command->get_description()), troff_options(*command));
  }
  text += ".SH COMMON OPTIONS\n" + troff_options(app);
  return text + ".SH EXIT STATUS\n.nf\n" + troff(exit_statuses()) + ".fi\n";
}

std::string command_help(const CLI::App& app, const CLI::App& command) {
  std::string text = fmt::format("usage: rngdsim {} [options]\n", usage_of(command));
  text += wrap(command.get_description(), "", 0) + "\n";
  const std::string options = table_of(command);
  if (!options.empty()) text += "options\n" + options + "\n";
  return text + common_options(app);
}

}  // namespace rngdsim::cli
