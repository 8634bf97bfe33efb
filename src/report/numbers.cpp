// SPDX-License-Identifier: Apache-2.0
#include "report/numbers.h"

#include <fmt/format.h>

#include <cmath>

#include "support/text.h"

namespace rngdsim {
namespace {

bool is_vowel(char c) { return std::string("aeiou").find(c) != std::string::npos; }

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string plural(const std::string& noun) {
  if (ends_with(noun, "s") || ends_with(noun, "x") || ends_with(noun, "ch")) return noun + "es";
  if (noun.size() > 1 && noun.back() == 'y' && !is_vowel(noun[noun.size() - 2])) {
    return noun.substr(0, noun.size() - 1) + "ies";
  }
  return noun + "s";
}

}  // namespace

std::string decimal(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  std::string text = fmt::format("{:.{}f}", std::fabs(value), digits);
  const size_t point = text.find('.');
  size_t at = point == std::string::npos ? text.size() : point;
  while (at > 3) {
    at -= 3;
    text.insert(at, ",");
  }
  const bool zero = text.find_first_not_of("0.") == std::string::npos;
  return (std::signbit(value) && !zero ? "-" : "") + text;
}

std::string percent(double fraction) {
  if (fraction > 0 && fraction < 0.0005) return "< 0.1 %";
  return decimal(fraction * 100, 1) + (std::isfinite(fraction) ? " %" : "");
}

std::string percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  return percent(static_cast<double>(part) / static_cast<double>(whole));
}

std::string count_of(uint64_t n, const std::string& noun) {
  return group_digits(n) + " " + (n == 1 ? noun : plural(noun));
}

std::string duration(double nanoseconds) {
  static const char* const kUnits[] = {"ns", "us", "ms", "s"};
  size_t unit = 0;
  // 999.5 would round to 1000.
  while (unit < 3 && nanoseconds >= 999.5) {
    nanoseconds /= 1000;
    ++unit;
  }
  if (unit == 0 && nanoseconds == std::floor(nanoseconds)) {
    return fmt::format("{:.0f} ns", nanoseconds);
  }
  const int digits = nanoseconds < 9.995 ? 2 : nanoseconds < 99.95 ? 1 : 0;
  return decimal(nanoseconds, digits) + " " + kUnits[unit];
}

std::string change_text(uint64_t before, uint64_t after) {
  if (before == after) return "-";
  return (after > before ? "+" : "-") +
         group_digits(after > before ? after - before : before - after);
}

std::string gigahertz(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + " GHz";
}

}  // namespace rngdsim
