// SPDX-License-Identifier: Apache-2.0
// The shipped machine with fewer slices: they are all alike, and few of them run quickly.
#pragma once

#include <string>
#include <utility>

#include "config/topology.h"

namespace rngdsim::test {

inline TopologyDecl small_topology(uint64_t clusters, uint64_t slices) {
  Diagnostics diagnostics;
  TopologyDecl topology =
      load_topology(std::string(RNGDSIM_SOURCE_DIR) + "/configs/topologies/rngd.yaml", diagnostics);
  topology.machine.clear();  // the other sizes have the same defaults
  for (const auto& [name, value] :
       {std::pair<const char*, uint64_t>{"clusters", clusters}, {"slices", slices}}) {
    topology.machine.push_back({name, {}, {static_cast<double>(value), "", "", {}}});
  }
  diagnostics.throw_if_errors();
  return topology;
}

}  // namespace rngdsim::test
