// SPDX-License-Identifier: Apache-2.0
// The machine of a topology: its units and links in the current SystemC context, wired and ready.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "channel/clock.h"
#include "channel/unit.h"
#include "config/topology.h"
#include "engine/dma_engine.h"
#include "engine/multiplier.h"
#include "engine/stream_source.h"
#include "memory/data_memory.h"
#include "memory/hbm_unit.h"
#include "memory/host_unit.h"
#include "memory/trf.h"
#include "memory/vrf.h"
#include "sim/clusters_apart.h"
#include "sim/unit_types.h"

namespace rngdsim {

// The engines of a DMA, ascending.
std::vector<uint64_t> engines_of(const DmaConfig& dma);

// What the units are made with: those that serve the whole chip, and those of each cluster (of one
// tensor unit for all: the same context once).
struct MachineContexts {
  const RunContext* chip = nullptr;
  std::vector<const RunContext*> clusters;
};

class Machine {
 public:
  // The topology must be resolved (see wiring.h) and, like the contexts, outlive the machine. A
  // seed other than 0 shuffles the order in which units and links are made: nothing may depend on
  // it.
  Machine(const ClusterUnits& topology, const UnitTypes& types, const MachineContexts& contexts,
          uint64_t shuffle_seed = 0);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Clock& clock() { return *clock_; }
  // In the order of the topology file.
  const std::vector<std::unique_ptr<Unit>>& units() const { return units_; }
  const std::vector<std::unique_ptr<LinkBase>>& links() const { return links_; }
  const std::string& type_of(const Unit& unit) const;

  // The parts with which a run deals directly; `cluster`: 0 where one tensor unit is for all.
  DataMemory& data_memory() { return *data_memory_; }
  Trf& trf(size_t cluster) { return *tensor_units_[cluster].trf; }
  Vrf& vrf(size_t cluster) { return *tensor_units_[cluster].vrf; }
  const Multiplier& multiplier(size_t cluster) const { return *tensor_units_[cluster].multiplier; }
  HbmUnit& hbm() { return *hbm_; }
  HostUnit& host() { return *host_; }
  // By their numbers.
  const std::vector<DmaEngine*>& dma_engines() const { return dma_engines_; }
  StreamSource& stream_source(Context context, size_t cluster) {
    return *tensor_units_[cluster].sources[static_cast<size_t>(context)];
  }

  // Tells `observer` from now on what happens in units and links.
  void observe(RunObserver& observer, const Program& program);
  // The last cycle in which an item moves on any link, see LinkBase::last_moved().
  std::optional<Cycle> last_moved() const;
  // No item is expected before that cycle: the start-ups of DMA engines, what HBM and the
  // host have under way.
  Cycle expected_to_move() const;
  // Starts a command in all units of a cluster that take part in its beginning; see
  // CommandSource::start. Of a DMA the engines of the cluster, which may be none.
  void start(const Command& command, size_t cluster, Cycle first_access);
  // Of a DMA, the engines that start() starts for a cluster: all of them where one tensor unit is
  // for all clusters, else those whose networks are the cluster's.
  std::vector<uint64_t> engines_of(const DmaConfig& dma, size_t cluster) const;
  // The clock runs in that cycle, whether a unit has work or not.
  void call_in(Cycle cycle) { units_.front()->wake_at(cycle); }
  // Closes the books of all units and links: `end` is one past the last cycle.
  void finish(Cycle end);

 private:
  // The parts of one tensor unit.
  struct TensorUnit {
    Trf* trf = nullptr;
    Vrf* vrf = nullptr;
    Multiplier* multiplier = nullptr;
    CommandSource* trf_sequencer = nullptr;
    StreamSource* sources[2] = {nullptr, nullptr};   // by Context
    CommandSource* fetches[2] = {nullptr, nullptr};  // by Context
  };
  void make_units(const UnitTypes& types, const MachineContexts& contexts, uint64_t shuffle_seed);
  void make_links(const UnitTypes& types, uint64_t shuffle_seed);
  void find_parts();
  TensorUnit find_tensor_unit(uint32_t cluster) const;
  void connect_stream_entries(uint32_t cluster);
  void connect_clients();
  size_t index_of(const std::string& unit) const;
  // Of the unit of `type` that serves `context` (or both) of `cluster` (or all): its place;
  // InternalError where there is none.
  size_t find(const std::string& type, Context context, uint32_t cluster) const;
  PortBase* port(size_t unit, const std::string& name) const;
  template <typename T>
  T& part(const std::string& type, uint32_t cluster = 0, Context context = Context::kMain) const;

  const TopologyDecl& topology_;
  const std::vector<uint32_t>& cluster_of_unit_;
  const MachineLimits& limits_;
  std::unique_ptr<Clock> clock_;
  std::map<std::string, size_t> index_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<std::unique_ptr<LinkBase>> links_;
  std::map<const PortBase*, LinkBase*> link_of_;
  DataMemory* data_memory_ = nullptr;
  HbmUnit* hbm_ = nullptr;
  HostUnit* host_ = nullptr;
  std::vector<DmaEngine*> dma_engines_;
  std::vector<TensorUnit> tensor_units_;  // by cluster
};

}  // namespace rngdsim
