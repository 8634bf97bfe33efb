// SPDX-License-Identifier: Apache-2.0
// How the reports write numbers: thousands separated, a unit at each, whatever the locale.
#pragma once

#include <cstdint>
#include <string>

namespace rngdsim {

// 1234.56 with 1 digit -> "1,234.6"; "-" where it is no number.
std::string decimal(double value, int digits);

// A fraction of 1: 0.5 -> "50.0 %". What is above 0 and would show as 0.0 is "< 0.1 %".
std::string percent(double fraction);
std::string percent(uint64_t part, uint64_t whole);  // "-" of 0

// (1, "flit") -> "1 flit", (2000, "flit") -> "2,000 flits". A noun that ends in "s", "x" or "ch"
// takes "es", one in "y" after a consonant "ies".
std::string count_of(uint64_t n, const std::string& noun);

// How a number changed: "+1,200", "-3"; "-" where it did not.
std::string change_text(uint64_t before, uint64_t after);

// A time of three digits or so: 1566 -> "1.57 us", 789 -> "789 ns".
std::string duration(double nanoseconds);

// A frequency with at least one decimal: 1 -> "1.0 GHz".
std::string gigahertz(double value);

}  // namespace rngdsim
