// SPDX-License-Identifier: Apache-2.0
#include "sim/clusters_apart.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace rngdsim {
namespace {

bool is_of_chip(const std::string& type) {
  return type == "data_memory" || type == "dma_engine" || type == "hbm" || type == "host";
}

// An end of a link of cluster `c`: the cluster's own unit, or its port of one that serves all.
PortRef of_cluster(const PortRef& end, bool of_chip, uint64_t c) {
  PortRef moved = end;
  if (of_chip) {
    moved.port += fmt::format("_{}", c);
  } else {
    moved.unit = fmt::format("cluster{}_{}", c, end.unit);
  }
  return moved;
}

}  // namespace

ClusterUnits clusters_together(const TopologyDecl& topology) {
  return {topology, std::vector<uint32_t>(topology.units.size(), 0)};
}

ClusterUnits clusters_apart(const TopologyDecl& topology, uint64_t clusters) {
  ClusterUnits result = clusters_together(topology);
  std::map<std::string, bool> of_chip;
  for (size_t i = 0; i < topology.units.size(); ++i) {
    const UnitDecl& unit = topology.units[i];
    of_chip[unit.name] = is_of_chip(unit.type.value);
    if (of_chip[unit.name]) result.cluster[i] = ClusterUnits::kChip;
  }
  for (uint64_t c = 1; c < clusters; ++c) {
    for (const UnitDecl& unit : topology.units) {
      if (of_chip[unit.name]) continue;
      UnitDecl own = unit;
      own.name = fmt::format("cluster{}_{}", c, unit.name);
      result.topology.units.push_back(std::move(own));
      result.cluster.push_back(static_cast<uint32_t>(c));
    }
    for (const ConnectionDecl& connection : topology.connections) {
      const bool from = of_chip[connection.from.unit], to = of_chip[connection.to.unit];
      if (from && to) continue;
      ConnectionDecl own = connection;
      own.from = of_cluster(connection.from, from, c);
      own.to = of_cluster(connection.to, to, c);
      result.topology.connections.push_back(std::move(own));
    }
  }
  return result;
}

uint64_t cluster_of_engine(uint64_t engine, const MachineLimits& limits) {
  return std::min(2 * engine * limits.dmn_slices / limits.slices, limits.clusters - 1);
}

bool crosses_clusters(const DmaConfig& dma, const Program& program) {
  const MachineLimits& limits = program.limits;
  const uint64_t cluster_bytes = limits.dm_slice_stride * limits.slices;
  const auto is_dm = [&](TensorId id) { return program.tensors[id].memory == MemoryKind::kDm; };
  for (const DmaConfig::Segment& segment : dma.segments) {
    const uint64_t home = cluster_of_engine(segment.engine, limits);
    const auto leaves = [&](bool looked_at, uint64_t base, uint64_t DmaConfig::Loop::*stride) {
      uint64_t last = base;
      for (const DmaConfig::Loop& loop : segment.loops) last += (loop.size - 1) * (loop.*stride);
      return looked_at && (base / cluster_bytes != home || last / cluster_bytes != home);
    };
    if (leaves(is_dm(dma.from), segment.read_base, &DmaConfig::Loop::read_stride) ||
        leaves(is_dm(dma.to), segment.write_base, &DmaConfig::Loop::write_stride) ||
        leaves(dma.indexed && is_dm(dma.indexed->index), segment.index_base,
               &DmaConfig::Loop::index_stride)) {
      return true;
    }
  }
  return false;
}

}  // namespace rngdsim
