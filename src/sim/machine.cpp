// SPDX-License-Identifier: Apache-2.0
#include "sim/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/vector_engine.h"
#include "engine/vector_route.h"
#include "numeric/random.h"
#include "support/diagnostic.h"

namespace rngdsim {
namespace {

// 0 .. count - 1, shuffled where seed is not 0.
std::vector<size_t> order_of(size_t count, uint64_t seed) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  if (seed == 0) return order;
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[hash64(seed, i) % i]);
  return order;
}

// Where a `stream:` command enters that begins with a stage: an input of the unit that implements
// it.
struct StreamEntry {
  const char* stage;
  const char* type;
  const char* main_port;  // null: not in that context
  const char* sub_port;
};
constexpr StreamEntry kStreamEntries[] = {
    {"fetch_table_lookup", "fetch_adapter", "in", nullptr},
    {"fetch_cast", "fetch_adapter", "in", "sub_in"},
    {"fetch_zero_point_sub", "fetch_adapter", "in", "sub_in"},
    {"switch", "switch", "in", "sub_in"},
    {"collect", "collect", "in", "in"},
    {"to_trf", "collect", "in", "in"},  // passes Collect unchanged, to where it stores
    {"to_vrf", "collect", "in", "in"},
    {"contract_outer", "stream_adapter", "in", nullptr},
    {kChainEntry, "vcg", "in", "sub_in"},
    {kReducerEntry, "inter_slice_reducer", "in", "sub_in"},
    {"cast", "cast", "in", "sub_in"},
    {"transpose", "transpose", "in", "in"},
    {"commit_trim", "commit_adapter", "in", "in"},
    {"commit_cast", "commit_adapter", "in", "in"},
    {"commit", "commit_adapter", "in", "in"},
};

}  // namespace

std::vector<uint64_t> engines_of(const DmaConfig& dma) {
  std::vector<uint64_t> engines;
  for (const DmaConfig::Segment& segment : dma.segments) engines.push_back(segment.engine);
  std::sort(engines.begin(), engines.end());
  engines.erase(std::unique(engines.begin(), engines.end()), engines.end());
  return engines;
}

Machine::Machine(const ClusterUnits& topology, const UnitTypes& types,
                 const MachineContexts& contexts, uint64_t shuffle_seed)
    : topology_(topology.topology),
      cluster_of_unit_(topology.cluster),
      limits_(contexts.chip->program->limits),
      tensor_units_(contexts.clusters.size()) {
  const double period_ns = 1.0 / std::get<double>(topology_.clock_ghz.value);
  clock_ = std::make_unique<Clock>("clock", sc_core::sc_time(period_ns, sc_core::SC_NS));
  make_units(types, contexts, shuffle_seed);
  make_links(types, shuffle_seed);
  find_parts();
  for (uint32_t c = 0; c < tensor_units_.size(); ++c) connect_stream_entries(c);
  connect_clients();
  for (const auto& unit : units_) unit->elaborated();
}

Machine::~Machine() = default;

void Machine::make_units(const UnitTypes& types, const MachineContexts& contexts,
                         uint64_t shuffle_seed) {
  units_.resize(topology_.units.size());
  for (const size_t i : order_of(units_.size(), shuffle_seed)) {
    const UnitDecl& decl = topology_.units[i];
    const UnitType* type = find_type(types, decl.type.value);
    if (type == nullptr) throw InternalError(fmt::format("no unit type {}", decl.type.value));
    const uint32_t cluster = cluster_of_unit_[i];
    const RunContext& context =
        cluster == ClusterUnits::kChip ? *contexts.chip : *contexts.clusters[cluster];
    units_[i] = type->make(decl.name.c_str(), *clock_, context, UnitParameters(decl));
    index_[decl.name] = i;
  }
}

void Machine::make_links(const UnitTypes& types, uint64_t shuffle_seed) {
  links_.resize(topology_.connections.size());
  for (const size_t i : order_of(links_.size(), shuffle_seed)) {
    const ConnectionDecl& decl = topology_.connections[i];
    const size_t producer = index_of(decl.from.unit);
    const size_t consumer = index_of(decl.to.unit);
    PortBase* from = port(producer, decl.from.port);
    PortBase* to = port(consumer, decl.to.port);
    auto link = from->make_link(
        fmt::format("{}.{}->{}.{}", decl.from.unit, decl.from.port, decl.to.unit, decl.to.port),
        decl.latency, decl.depth);
    if (!from->bind(link.get()) || !to->bind(link.get())) {
      throw InternalError(fmt::format("the ends of {} carry different types", link->name()));
    }
    link->connect(units_[producer].get(), units_[consumer].get());
    link_of_[from] = link_of_[to] = link.get();
    links_[i] = std::move(link);
  }
  for (const auto& unit : units_) {
    const UnitType* type = find_type(types, type_of(*unit));
    for (const PortBase* end : unit->ports()) {
      const PortSpec* spec = type == nullptr ? nullptr : type->port(end->name());
      if (!end->bound() && (spec == nullptr || spec->required)) {
        throw InternalError(fmt::format("port {}.{} is not bound", unit->unit_name(), end->name()));
      }
    }
  }
}

template <typename T>
T& Machine::part(const std::string& type, uint32_t cluster, Context context) const {
  T* result = dynamic_cast<T*>(units_[find(type, context, cluster)].get());
  if (result == nullptr) throw InternalError(fmt::format("a {} of another class", type));
  return *result;
}

void Machine::find_parts() {
  data_memory_ = &part<DataMemory>("data_memory");
  hbm_ = &part<HbmUnit>("hbm");
  host_ = &part<HostUnit>("host");
  for (const auto& unit : units_) {
    if (auto* engine = dynamic_cast<DmaEngine*>(unit.get())) dma_engines_.push_back(engine);
  }
  std::sort(dma_engines_.begin(), dma_engines_.end(),
            [](const DmaEngine* a, const DmaEngine* b) { return a->number() < b->number(); });
  for (uint32_t c = 0; c < tensor_units_.size(); ++c) tensor_units_[c] = find_tensor_unit(c);
}

Machine::TensorUnit Machine::find_tensor_unit(uint32_t cluster) const {
  TensorUnit found;
  found.trf = &part<Trf>("trf", cluster);
  found.vrf = &part<Vrf>("vrf", cluster);
  part<VectorEngine>("vector_engine", cluster).set_vrf(found.vrf);
  found.multiplier = &part<Multiplier>("multiplier", cluster);
  found.trf_sequencer = &part<CommandSource>("trf_sequencer", cluster);
  for (const Context context : {Context::kMain, Context::kSub}) {
    const auto i = static_cast<size_t>(context);
    found.sources[i] = &part<StreamSource>("stream_source", cluster, context);
    found.fetches[i] = &part<CommandSource>("fetch_sequencer", cluster, context);
  }
  return found;
}

void Machine::connect_stream_entries(uint32_t cluster) {
  for (const StreamEntry& entry : kStreamEntries) {
    for (const Context context : {Context::kMain, Context::kSub}) {
      const char* name = context == Context::kMain ? entry.main_port : entry.sub_port;
      if (name == nullptr) continue;
      LinkBase* link = link_of_.at(port(find(entry.type, context, cluster), name));
      auto* stream = dynamic_cast<Link<StreamItem>*>(link);
      if (stream == nullptr) {
        throw InternalError(fmt::format("a stream cannot enter at {}", link->name()));
      }
      stream_source(context, cluster).add_entry(entry.stage, stream);
    }
  }
}

// Whom a memory books a lost arbitration to: the unit behind the port.
void Machine::connect_clients() {
  for (const ConnectionDecl& decl : topology_.connections) {
    Unit* memory = units_[index_of(decl.to.unit)].get();
    Unit* client = units_[index_of(decl.from.unit)].get();
    if (memory == data_memory_) {
      data_memory_->set_client(decl.to.port, client);
    } else if (auto* const trf = dynamic_cast<Trf*>(memory)) {
      trf->set_client(decl.to.port, client);
    }
  }
}

size_t Machine::index_of(const std::string& unit) const {
  const auto it = index_.find(unit);
  if (it == index_.end()) throw InternalError(fmt::format("no unit {}", unit));
  return it->second;
}

size_t Machine::find(const std::string& type, Context context, uint32_t cluster) const {
  for (size_t i = 0; i < topology_.units.size(); ++i) {
    const UnitDecl& unit = topology_.units[i];
    const uint32_t serves = cluster_of_unit_[i];
    if (unit.type.value != type || (serves != cluster && serves != ClusterUnits::kChip)) continue;
    const bool by_context =
        std::any_of(unit.parameters.begin(), unit.parameters.end(),
                    [](const NamedParameter& parameter) { return parameter.name == "context"; });
    if (!by_context || UnitParameters(unit).context() == context) return i;
  }
  throw InternalError(fmt::format("no unit of type {} for the {} context of cluster {}", type,
                                  name(context), cluster));
}

PortBase* Machine::port(size_t unit, const std::string& name) const {
  for (PortBase* candidate : units_[unit]->ports()) {
    if (candidate->name() == name) return candidate;
  }
  throw InternalError(fmt::format("unit {} has no port {}", units_[unit]->unit_name(), name));
}

const std::string& Machine::type_of(const Unit& unit) const {
  return topology_.units[index_of(unit.unit_name())].type.value;
}

std::vector<uint64_t> Machine::engines_of(const DmaConfig& dma, size_t cluster) const {
  std::vector<uint64_t> engines = rngdsim::engines_of(dma);
  if (tensor_units_.size() == 1) return engines;
  const auto is_elsewhere = [&](uint64_t engine) {
    return cluster_of_engine(engine, limits_) != cluster;
  };
  engines.erase(std::remove_if(engines.begin(), engines.end(), is_elsewhere), engines.end());
  return engines;
}

void Machine::start(const Command& command, size_t cluster, Cycle first_access) {
  const auto context = static_cast<size_t>(command.context);
  if (command.dma) {
    for (const uint64_t engine : engines_of(*command.dma, cluster)) {
      if (engine >= dma_engines_.size()) {
        throw InternalError(fmt::format("command {} needs DMA engine {}; there are {}", command.id,
                                        engine, dma_engines_.size()));
      }
      dma_engines_[engine]->start(command.id, first_access);
    }
    return;
  }
  TensorUnit& unit = tensor_units_[cluster];
  if (command.stream) {
    unit.sources[context]->start(command.id, first_access);
  } else {
    unit.fetches[context]->start(command.id, first_access);
  }
  if (command.outer) unit.trf_sequencer->start(command.id, first_access);
}

Cycle Machine::expected_to_move() const {
  Cycle latest = 0;
  for (const DmaEngine* engine : dma_engines_) latest = std::max(latest, engine->first_request());
  for (const std::optional<Cycle>& next : {hbm_->next_event(), host_->next_event()}) {
    if (next) latest = std::max(latest, *next);
  }
  return latest;
}

void Machine::observe(RunObserver& observer, const Program& program) {
  observer.attached(program, units_, links_);
  for (uint32_t i = 0; i < units_.size(); ++i) units_[i]->observe(&observer, i);
  for (uint32_t i = 0; i < links_.size(); ++i) links_[i]->observe(&observer, i);
}

std::optional<Cycle> Machine::last_moved() const {
  std::optional<Cycle> last;
  for (const auto& link : links_) {
    const std::optional<Cycle> moved = link->last_moved();
    if (moved && (!last || *moved > *last)) last = moved;
  }
  return last;
}

void Machine::finish(Cycle end) {
  for (const auto& unit : units_) unit->finish(end);
  for (const auto& link : links_) link->finish(end);
}

}  // namespace rngdsim
