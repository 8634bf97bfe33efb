// SPDX-License-Identifier: Apache-2.0
#include "support/text.h"

#include <algorithm>
#include <cstddef>

namespace rngdsim {
namespace {

constexpr size_t kLongestName = 64;  // of a name that is worth comparing
constexpr size_t kMostCandidates = 256;
constexpr size_t kLongestQuote = 60;
constexpr size_t kMostListed = 64;  // all stages, for one

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Optimal string alignment distance, letters compared without regard to case; limit + 1 where it
// exceeds `limit`. Cells further than that from the diagonal cannot matter.
size_t edit_distance(const std::string& a, const std::string& b, size_t limit) {
  const size_t beyond = limit + 1;
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > limit) return beyond;
  std::vector<size_t> before(b.size() + 1);  // row i - 2
  std::vector<size_t> above(b.size() + 1);   // row i - 1
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    std::fill(row.begin(), row.end(), beyond);
    if (i <= limit) row[0] = i;
    const size_t first = i > limit ? i - limit : 1;
    for (size_t j = first; j <= std::min(b.size(), i + limit); ++j) {
      const size_t replaced = above[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1, beyond});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return std::min(row[b.size()], beyond);
}

}  // namespace

std::optional<std::string> nearest(const std::string& name,
                                   const std::vector<std::string>& candidates) {
  if (name.empty() || name.size() > kLongestName) return std::nullopt;
  std::optional<std::string> best;
  size_t best_distance = kLongestName + 1;
  for (size_t i = 0; i < std::min(candidates.size(), kMostCandidates); ++i) {
    const std::string& candidate = candidates[i];
    const size_t length = std::max(name.size(), candidate.size());
    if (length > kLongestName) continue;
    // Only what is closer than the best so far counts.
    if (best_distance == 0) break;
    const size_t limit = std::min((length + 1) / 3, best_distance - 1);
    const size_t distance = edit_distance(name, candidate, limit);
    if (distance > limit) continue;
    best = candidate;
    best_distance = distance;
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

std::string shortened(std::string text, size_t length) {
  if (text.size() <= length) return text;
  // Back to the first byte of the character that would be cut.
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
  text.resize(length);
  return text + "...";
}

std::string quoted(const std::string& text) {
  std::string shown = shortened(text, kLongestQuote);
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return "'" + shown + "'";
}

size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return 0;
  for (size_t i = at + 1; i < at + length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Too long for their value; halves of a surrogate pair; beyond U+10FFFF.
  const unsigned char second = byte(at + 1);
  const bool wrong = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                     (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return wrong ? 0 : length;
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < std::min(words.size(), kMostListed); ++i) {
    text += (i == 0 ? "" : ", ") + words[i];
  }
  if (words.size() > kMostListed) text += ", ... (" + group_digits(words.size()) + " in all)";
  return text;
}

}  // namespace rngdsim
