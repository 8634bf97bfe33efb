// SPDX-License-Identifier: Apache-2.0
// The machine with a tensor unit for each cluster, for runs in which the clusters do not run in
// lockstep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command/program.h"
#include "config/topology.h"

namespace rngdsim {

// A topology and which of its units belong to which cluster.
struct ClusterUnits {
  static constexpr uint32_t kChip = ~uint32_t{0};  // the unit serves all clusters
  TopologyDecl topology;
  std::vector<uint32_t> cluster;  // by unit
};

// All units as they are, as those of cluster 0: one tensor unit for all clusters.
ClusterUnits clusters_together(const TopologyDecl& topology);

// Every unit of the tensor unit once a cluster, with its links; that of cluster c > 0 is named
// cluster<c>_<name>. Data memory, DMA engines, HBM and host exist once; the data memory has client
// ports for each cluster (memory/data_memory.h). `topology` must be resolved.
ClusterUnits clusters_apart(const TopologyDecl& topology, uint64_t clusters);

// The cluster whose networks an engine serves: engine e serves networks 2e and 2e + 1 [B].
uint64_t cluster_of_engine(uint64_t engine, const MachineLimits& limits);

// Whether an engine of one cluster reads or writes data memory of another.
bool crosses_clusters(const DmaConfig& dma, const Program& program);

}  // namespace rngdsim
