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

Machine::Machine(const TopologyDecl& topology, const UnitTypes& types, const RunContext& context,
                 uint64_t shuffle_seed)
    : topology_(topology) {
  const double period_ns = 1.0 / std::get<double>(topology.clock_ghz.value);
  clock_ = std::make_unique<Clock>("clock", sc_core::sc_time(period_ns, sc_core::SC_NS));
  make_units(types, context, shuffle_seed);
  make_links(types, shuffle_seed);
  find_parts();
  connect_stream_entries();
  connect_clients();
  for (const auto& unit : units_) unit->elaborated();
}

Machine::~Machine() = default;

void Machine::make_units(const UnitTypes& types, const RunContext& context, uint64_t shuffle_seed) {
  units_.resize(topology_.units.size());
  for (const size_t i : order_of(units_.size(), shuffle_seed)) {
    const UnitDecl& decl = topology_.units[i];
    const UnitType* type = find_type(types, decl.type.value);
    if (type == nullptr) throw InternalError(fmt::format("no unit type {}", decl.type.value));
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
T& Machine::part(const std::string& type, Context context) const {
  T* result = dynamic_cast<T*>(units_[find(type, context)].get());
  if (result == nullptr) throw InternalError(fmt::format("a {} of another class", type));
  return *result;
}

void Machine::find_parts() {
  data_memory_ = &part<DataMemory>("data_memory");
  trf_ = &part<Trf>("trf");
  vrf_ = &part<Vrf>("vrf");
  part<VectorEngine>("vector_engine").set_vrf(vrf_);
  multiplier_ = &part<Multiplier>("multiplier");
  hbm_ = &part<HbmUnit>("hbm");
  host_ = &part<HostUnit>("host");
  for (const auto& unit : units_) {
    if (auto* engine = dynamic_cast<DmaEngine*>(unit.get())) dma_engines_.push_back(engine);
  }
  std::sort(dma_engines_.begin(), dma_engines_.end(),
            [](const DmaEngine* a, const DmaEngine* b) { return a->number() < b->number(); });
  trf_sequencer_ = &part<CommandSource>("trf_sequencer");
  for (const Context context : {Context::kMain, Context::kSub}) {
    sources_[static_cast<size_t>(context)] = &part<StreamSource>("stream_source", context);
    fetches_[static_cast<size_t>(context)] = &part<CommandSource>("fetch_sequencer", context);
  }
}

void Machine::connect_stream_entries() {
  for (const StreamEntry& entry : kStreamEntries) {
    for (const Context context : {Context::kMain, Context::kSub}) {
      const char* name = context == Context::kMain ? entry.main_port : entry.sub_port;
      if (name == nullptr) continue;
      LinkBase* link = link_of_.at(port(find(entry.type, context), name));
      auto* stream = dynamic_cast<Link<StreamItem>*>(link);
      if (stream == nullptr) {
        throw InternalError(fmt::format("a stream cannot enter at {}", link->name()));
      }
      stream_source(context).add_entry(entry.stage, stream);
    }
  }
}

// Whom a memory books a lost arbitration to: the unit behind the port.
void Machine::connect_clients() {
  const auto& memory_clients = DataMemory::client_names();
  for (const ConnectionDecl& decl : topology_.connections) {
    Unit* memory = units_[index_of(decl.to.unit)].get();
    Unit* client = units_[index_of(decl.from.unit)].get();
    const bool is_client = std::find(memory_clients.begin(), memory_clients.end(), decl.to.port) !=
                               memory_clients.end() ||
                           dynamic_cast<DmaEngine*>(client) != nullptr;
    if (memory == data_memory_ && is_client) {
      data_memory_->set_client(decl.to.port, client);
    } else if (memory == trf_) {
      trf_->set_client(decl.to.port, client);
    }
  }
}

size_t Machine::index_of(const std::string& unit) const {
  const auto it = index_.find(unit);
  if (it == index_.end()) throw InternalError(fmt::format("no unit {}", unit));
  return it->second;
}

size_t Machine::find(const std::string& type, Context context) const {
  for (size_t i = 0; i < topology_.units.size(); ++i) {
    const UnitDecl& unit = topology_.units[i];
    if (unit.type.value != type) continue;
    const bool by_context =
        std::any_of(unit.parameters.begin(), unit.parameters.end(),
                    [](const NamedParameter& parameter) { return parameter.name == "context"; });
    if (!by_context || UnitParameters(unit).context() == context) return i;
  }
  throw InternalError(fmt::format("no unit of type {} for the {} context", type, name(context)));
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

void Machine::start(const Command& command, Cycle first_access) {
  const auto context = static_cast<size_t>(command.context);
  if (command.dma) {
    for (const uint64_t engine : engines_of(*command.dma)) {
      if (engine >= dma_engines_.size()) {
        throw InternalError(fmt::format("command {} needs DMA engine {}; there are {}", command.id,
                                        engine, dma_engines_.size()));
      }
      dma_engines_[engine]->start(command.id, first_access);
    }
    return;
  }
  if (command.stream) {
    sources_[context]->start(command.id, first_access);
  } else {
    fetches_[context]->start(command.id, first_access);
  }
  if (command.outer) trf_sequencer_->start(command.id, first_access);
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
