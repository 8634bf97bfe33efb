// SPDX-License-Identifier: Apache-2.0
#include "memory/trf_cache.h"

namespace rngdsim {

bool TrfCache::read(uint64_t bank, uint64_t row, uint64_t active_lanes) {
  if (shape_.cache_rows == 0) return false;
  const uint64_t share = shape_.lanes / active_lanes;  // lanes that an active one owns
  const uint64_t in_bank = row / share;
  uint64_t* const tags =
      &tags_[(bank * shape_.cache_rows + in_bank % shape_.cache_rows) * shape_.lanes + row % share];
  bool hit = true;
  for (uint64_t lane = 0; lane < active_lanes; ++lane) {
    hit = hit && tags[lane * share] == in_bank;
    tags[lane * share] = in_bank;
  }
  return hit;
}

}  // namespace rngdsim
