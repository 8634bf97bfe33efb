// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "report/numbers.h"
#include "support/text.h"

namespace rngdsim::cli {
namespace {

bool wants_color(Console::Color color, int descriptor) {
  if (color != Console::Color::kAuto) return color == Console::Color::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && isatty(descriptor) != 0;
}

// 0, or the error that stopped it.
int write_all(int descriptor, const std::string& text) {
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t written = write(descriptor, text.data() + at, text.size() - at);
    if (written > 0) {
      at += static_cast<size_t>(written);
    } else if (written < 0 && errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// Paints the first "error:", "warning:" or "hint:" of each line that follows its place.
std::string painted(const std::string& text, const Style& style) {
  if (!style.color) return text;
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    std::string line = text.substr(at, end - at);
    at = end;
    for (const char* word : {"error:", "warning:", "hint:"}) {
      const size_t found = line.find(word);
      const bool after_place =
          found == 0 || (found != std::string::npos && line[found - 1] == ' ' && found >= 2 &&
                         line[found - 2] == ':');
      if (!after_place) continue;
      const std::string colored = *word == 'e'   ? style.bad(word)
                                  : *word == 'w' ? style.warn(word)
                                                 : style.strong(word);
      line.replace(found, std::strlen(word), colored);
      break;
    }
    result += line;
  }
  return result;
}

}  // namespace

Style Console::out_style() const { return {wants_color(color, STDOUT_FILENO)}; }
Style Console::err_style() const { return {wants_color(color, STDERR_FILENO)}; }

void Console::out(const std::string& text) const {
  const int error = write_all(STDOUT_FILENO, text);
  if (error != 0)
    throw OutputError(fmt::format("cannot write to stdout: {}", std::strerror(error)));
}

void Console::err(const std::string& text) const { write_all(STDERR_FILENO, text); }

void Console::diagnostics(const Diagnostics& diagnostics, bool to_stdout) const {
  const std::string text = diagnostics.render();
  if (to_stdout) {
    out(painted(text, out_style()));
  } else {
    err(painted(text, err_style()));
  }
}

void Console::progress(uint64_t cycles, double seconds, size_t ended, size_t commands) {
  const double rate = seconds > 0 ? static_cast<double>(cycles) / seconds : 0;
  progress(fmt::format("{} cycles, {} cycles/s, {} of {} commands done", group_digits(cycles),
                       decimal(rate, 0), group_digits(ended), group_digits(commands)));
}

void Console::progress(const std::string& text) {
  if (quiet || isatty(STDERR_FILENO) == 0) return;
  err("\r" + text + "\033[K");
  progress_shown_ = true;
}

void Console::end_progress() {
  if (progress_shown_) err("\r\033[K");
  progress_shown_ = false;
}

}  // namespace rngdsim::cli
