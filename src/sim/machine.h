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
#include "sim/unit_types.h"

namespace rngdsim {

// The engines of a DMA, ascending.
std::vector<uint64_t> engines_of(const DmaConfig& dma);

class Machine {
 public:
  // `topology` must be resolved (see wiring.h) and, like `context`, outlive the machine. A seed
  // other than 0 shuffles the order in which units and links are made: nothing may depend on it.
  Machine(const TopologyDecl& topology, const UnitTypes& types, const RunContext& context,
          uint64_t shuffle_seed = 0);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Clock& clock() { return *clock_; }
  // In the order of the topology file.
  const std::vector<std::unique_ptr<Unit>>& units() const { return units_; }
  const std::vector<std::unique_ptr<LinkBase>>& links() const { return links_; }
  const std::string& type_of(const Unit& unit) const;

  // The parts with which a run deals directly.
  DataMemory& data_memory() { return *data_memory_; }
  Trf& trf() { return *trf_; }
  Vrf& vrf() { return *vrf_; }
  const Multiplier& multiplier() const { return *multiplier_; }
  HbmUnit& hbm() { return *hbm_; }
  HostUnit& host() { return *host_; }
  // By their numbers.
  const std::vector<DmaEngine*>& dma_engines() const { return dma_engines_; }
  StreamSource& stream_source(Context context) { return *sources_[static_cast<size_t>(context)]; }

  // Tells `observer` from now on what happens in units and links.
  void observe(RunObserver& observer, const Program& program);
  // The last cycle in which an item moves on any link, see LinkBase::last_moved().
  std::optional<Cycle> last_moved() const;
  // No item is expected before that cycle: the start-ups of DMA engines, what HBM and the
  // host have under way.
  Cycle expected_to_move() const;
  // Starts a command in all units that take part in its beginning; see CommandSource::start.
  void start(const Command& command, Cycle first_access);
  // The clock runs in that cycle, whether a unit has work or not.
  void call_in(Cycle cycle) { units_.front()->wake_at(cycle); }
  // Closes the books of all units and links: `end` is one past the last cycle.
  void finish(Cycle end);

 private:
  void make_units(const UnitTypes& types, const RunContext& context, uint64_t shuffle_seed);
  void make_links(const UnitTypes& types, uint64_t shuffle_seed);
  void find_parts();
  void connect_stream_entries();
  void connect_clients();
  size_t index_of(const std::string& unit) const;
  // Of the unit of `type` that serves `context` (or both): its place; InternalError where there is
  // none.
  size_t find(const std::string& type, Context context) const;
  PortBase* port(size_t unit, const std::string& name) const;
  template <typename T>
  T& part(const std::string& type, Context context = Context::kMain) const;

  const TopologyDecl& topology_;
  std::unique_ptr<Clock> clock_;
  std::map<std::string, size_t> index_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<std::unique_ptr<LinkBase>> links_;
  std::map<const PortBase*, LinkBase*> link_of_;
  DataMemory* data_memory_ = nullptr;
  Trf* trf_ = nullptr;
  Vrf* vrf_ = nullptr;
  HbmUnit* hbm_ = nullptr;
  HostUnit* host_ = nullptr;
  std::vector<DmaEngine*> dma_engines_;
  Multiplier* multiplier_ = nullptr;
  CommandSource* trf_sequencer_ = nullptr;
  StreamSource* sources_[2] = {nullptr, nullptr};   // by Context
  CommandSource* fetches_[2] = {nullptr, nullptr};  // by Context
};

}  // namespace rngdsim
