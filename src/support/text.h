// SPDX-License-Identifier: Apache-2.0
// Helpers for the texts a user reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rngdsim {

// The candidate that `name` is most likely a misspelling of: the one with the smallest edit
// distance (insert, delete, replace, swap of neighbours; upper and lower case count as equal), the
// first of equals. Nothing where the distance exceeds about a third of the length.
std::optional<std::string> nearest(const std::string& name,
                                   const std::vector<std::string>& candidates);

// 81920 -> "81,920".
std::string group_digits(uint64_t value);

// `text` between single quotes, control characters replaced by '?', cut at 60 characters.
std::string quoted(const std::string& text);

}  // namespace rngdsim
