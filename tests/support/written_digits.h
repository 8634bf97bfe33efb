// SPDX-License-Identifier: Apache-2.0
// Mappings that a test writes term by term.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rngdsim::test {

// A digit as written, and how many positions it has.
struct WrittenDigit {
  std::string text;
  uint64_t size = 1;
};

// "A / 4, A % 4"; "1" of none.
inline std::string listed_terms(const std::vector<WrittenDigit>& digits) {
  std::string text;
  for (const WrittenDigit& digit : digits) text += (text.empty() ? "" : ", ") + digit.text;
  return text.empty() ? "1" : text;
}

inline uint64_t size_of(const std::vector<WrittenDigit>& digits) {
  uint64_t size = 1;
  for (const WrittenDigit& digit : digits) size *= digit.size;
  return size;
}

}  // namespace rngdsim::test
