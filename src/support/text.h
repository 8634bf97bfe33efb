// SPDX-License-Identifier: Apache-2.0
// Helpers for the texts a user reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rngdsim {

// The candidate that `name` is most likely a misspelling of: the one with the smallest edit
// distance (insert, delete, replace, swap of neighbours; upper and lower case count as equal), the
// first of equals. Nothing where the distance exceeds about a third of the length. Of very many
// candidates only the first are looked at.
std::optional<std::string> nearest(const std::string& name,
                                   const std::vector<std::string>& candidates);

// 81920 -> "81,920".
std::string group_digits(uint64_t value);

// The first `length` bytes and "..." where `text` is longer; no character is cut.
std::string shortened(std::string text, size_t length);

// `text` between single quotes, control characters replaced by '?', cut at 60 bytes.
std::string quoted(const std::string& text);

// Bytes of the character at `at`, or 0 where it is no well-formed UTF-8.
size_t utf8_length(std::string_view text, size_t at);

// "a, b, c"; of many words the first, and how many there are.
std::string listed(const std::vector<std::string>& words);

}  // namespace rngdsim
