// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/diagnostic.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace rngdsim {

// Ends the process where a promise does not hold; libFuzzer then keeps the input.
inline void require(bool holds, const std::string& promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise.c_str());
  std::abort();
}

// Each finding has a place in `file`, and all can be shown.
inline void require_places(const Diagnostics& diagnostics, const std::string& file) {
  for (const Diagnostic& found : diagnostics.all()) {
    require(!found.message.empty(), "a finding says something");
    require(found.where.file == file, "'" + found.message + "' is in " + file);
  }
  require(diagnostics.all().empty() || !diagnostics.render().empty(), "findings are shown");
}

}  // namespace rngdsim
