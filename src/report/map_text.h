// SPDX-License-Identifier: Apache-2.0
// A mapping as a table: what lives at each position.
#pragma once

#include <cstdint>
#include <string>

#include "mapping/mapping.h"
#include "report/text_table.h"

namespace rngdsim {

// Size, normal form, and a row a position: "67  A=0 B=97" or "61  padding #". With more positions
// than `limit`, the first and last of them with the number left out between. `written` is the
// mapping's text.
std::string map_text(const std::string& written, const Mapping& mapping, const AxisTable& axes,
                     uint64_t limit, const Style& style = {});

}  // namespace rngdsim
