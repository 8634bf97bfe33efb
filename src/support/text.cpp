// SPDX-License-Identifier: Apache-2.0
#include "support/text.h"

#include <algorithm>
#include <cstddef>

namespace rngdsim {
namespace {

constexpr size_t kLongestName = 64;  // of a name that is worth comparing
constexpr size_t kLongestQuote = 60;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Optimal string alignment distance, letters compared without regard to case.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1);  // row i - 2
  std::vector<size_t> above(b.size() + 1);   // row i - 1
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest(const std::string& name,
                                   const std::vector<std::string>& candidates) {
  if (name.empty() || name.size() > kLongestName) return std::nullopt;
  std::optional<std::string> best;
  size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const size_t length = std::max(name.size(), candidate.size());
    if (length > kLongestName) continue;
    const size_t distance = edit_distance(name, candidate);
    if (distance > (length + 1) / 3) continue;
    if (!best || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string group_digits(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string quoted(const std::string& text) {
  std::string shown = text.substr(0, kLongestQuote);
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return "'" + shown + (text.size() > kLongestQuote ? "..." : "") + "'";
}

}  // namespace rngdsim
