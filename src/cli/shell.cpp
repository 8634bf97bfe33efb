// SPDX-License-Identifier: Apache-2.0
// rngdsim completion and rngdsim man: what other programs know of the options, from their help.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/help.h"
#include "cli/subcommands.h"

namespace rngdsim::cli {
namespace {

std::string options_text(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (app.get_parent() != nullptr && option == app.get_help_ptr()) continue;  // as all have
    for (const std::string& name : option->get_lnames()) text += " --" + name;
    for (const std::string& name : option->get_snames()) text += " -" + name;
  }
  return text;
}

// Options where a word begins with a dash, commands where none is chosen yet, files else.
std::string bash_completion(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    commands += " " + command->get_name();
    cases += fmt::format("    {}) options=\"{}{}\" ;;\n", command->get_name(),
                         options_text(*command), options_text(app));
  }
  return fmt::format(
      "# bash: source <(rngdsim completion); zsh: autoload bashcompinit && bashcompinit first.\n"
      "_rngdsim() {{\n"
      "  local word command=\"\" options=\"{}\"\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\"\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \"$word\" in -*) ;; *) command=\"$word\"; break ;; esac\n"
      "  done\n"
      "  case \"$command\" in\n{}  esac\n"
      "  if [[ \"$current\" == -* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
      "  elif [[ -z \"$command\" ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"{}\" -- \"$current\")\n"
      "  else\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _rngdsim rngdsim\n",
      options_text(app), cases, commands);
}

void add(CLI::App& app, Console& console, Work& chosen, const char* name, const char* doc,
         std::string (*text)(const CLI::App&)) {
  app.add_subcommand(name, doc)->callback([&app, &console, &chosen, text] {
    chosen = [&app, &console, text] {
      console.out(text(app));
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace

void add_shell(CLI::App& app, Console& console, Work& chosen) {
  add(app, console, chosen, "completion", "print a script that completes commands and options",
      bash_completion);
  add(app, console, chosen, "man", "print this help as a manual page (troff)", manual_page);
}

}  // namespace rngdsim::cli
