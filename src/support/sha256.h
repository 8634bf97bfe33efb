// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), so that a report can name exactly which input it was made from.
#pragma once

#include <string>
#include <string_view>

namespace rngdsim {

// The digest of `bytes` as 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace rngdsim
