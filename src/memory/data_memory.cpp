// SPDX-License-Identifier: Apache-2.0
#include "memory/data_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/diagnostic.h"

namespace rngdsim {

const std::vector<std::string>& DataMemory::client_names() {
  static const std::vector<std::string> kNames = {"main_fetch", "main_commit", "sub_fetch",
                                                  "sub_commit"};
  return kNames;
}

namespace {

DmnQueues::Parameters dmn_parameters(const DataMemory::Parameters& parameters,
                                     const RunContext& context) {
  const MachineLimits& limits = context.program->limits;
  DmnQueues::Parameters result;
  result.clusters = limits.clusters;
  result.slices = limits.slices;
  result.dmn_slices = limits.dmn_slices;
  result.slice_stride = limits.dm_slice_stride;
  result.beat_bytes = parameters.beat_bytes;
  result.queue = parameters.dma_queue;
  result.starvation = parameters.starvation_cycles;
  result.beats = parameters.beats;
  result.beat_cycles = parameters.beat_cycles;
  result.apart = context.clusters_apart;
  return result;
}

}  // namespace

DataMemory::ClusterPorts::ClusterPorts(const std::string& suffix)
    : main_fetch("main_fetch" + suffix, "dm request"),
      sub_fetch("sub_fetch" + suffix, "dm request"),
      main_commit("main_commit" + suffix, "dm request"),
      sub_commit("sub_commit" + suffix, "dm request"),
      main_fetch_data("main_fetch_data" + suffix, "read data"),
      sub_fetch_data("sub_fetch_data" + suffix, "read data") {}

DataMemory::DataMemory(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                       const Parameters& parameters)
    : Unit(name, clock, context),
      parameters_(parameters),
      arbiter_(static_cast<uint32_t>(parameters.banks),
               static_cast<uint32_t>(parameters.bank_bytes)),
      dmns_(dmn_parameters(parameters, context), arbiter_) {
  if (!std::is_permutation(parameters.priority.begin(), parameters.priority.end(),
                           client_names().begin(), client_names().end())) {
    throw InternalError(fmt::format("unit {}: the priority list does not name each of {} once",
                                    unit_name(), fmt::join(client_names(), ", ")));
  }
  if (parameters.banks < 1 || parameters.banks > 64 || parameters.read_latency < 1) {
    throw InternalError(fmt::format("unit {}: {} banks (1 to 64), read latency {} (from 1)",
                                    unit_name(), parameters.banks, parameters.read_latency));
  }
  const size_t groups = dmns_.groups();
  groups_.reserve(groups);
  for (size_t number = 0; number < groups; ++number) make_group(number, groups);
  granted_banks_.assign(groups, 0);
  no_banks_.assign(groups, 0);
  dma_lost_in_.fill(~Cycle{0});
}

void DataMemory::make_group(size_t number, size_t count) {
  const uint64_t row_bytes = parameters_.banks * parameters_.bank_bytes;
  const auto slices = static_cast<uint32_t>(context().slices() / count);
  Group& group = groups_.emplace_back(row_bytes * parameters_.rows, row_bytes, slices);
  const std::string suffix = number == 0 ? "" : fmt::format("_{}", number);
  if (number > 0) group.ports = std::make_unique<ClusterPorts>(suffix);
  if (count > 1) {
    for (const std::vector<uint8_t>& chip : context().tensor_live) {
      const auto first = chip.begin() + static_cast<std::ptrdiff_t>(number * slices);
      group.live.emplace_back(first, first + slices);
    }
  }
  ClusterPorts* own = group.ports.get();
  for (size_t i = 0; i < kClients; ++i) {
    Client& client = group.clients[i];
    const std::string& role = parameters_.priority[i];
    client.name = role + suffix;
    if (role == "main_fetch") {
      client.request = own != nullptr ? &own->main_fetch : &main_fetch;
      client.data = own != nullptr ? &own->main_fetch_data : &main_fetch_data;
    } else if (role == "sub_fetch") {
      client.request = own != nullptr ? &own->sub_fetch : &sub_fetch;
      client.data = own != nullptr ? &own->sub_fetch_data : &sub_fetch_data;
    } else if (role == "main_commit") {
      client.request = own != nullptr ? &own->main_commit : &main_commit;
    } else {
      client.request = own != nullptr ? &own->sub_commit : &sub_commit;
    }
    client.monitor = count > 1 ? context().cluster_monitors.at(number) : context().monitor;
  }
}

void DataMemory::elaborated() { dma_.elaborated(); }

std::vector<PortBase*> DataMemory::ports() {
  std::vector<PortBase*> all = {&main_fetch, &sub_fetch,       &main_commit,
                                &sub_commit, &main_fetch_data, &sub_fetch_data};
  for (const Group& group : groups_) {
    if (group.ports == nullptr) continue;
    ClusterPorts& own = *group.ports;
    all.insert(all.end(), {&own.main_fetch, &own.sub_fetch, &own.main_commit, &own.sub_commit,
                           &own.main_fetch_data, &own.sub_fetch_data});
  }
  dma_.add_to(all);
  return all;
}

DataMemory::Client* DataMemory::find_client(const std::string& client) {
  for (Group& group : groups_) {
    for (Client& candidate : group.clients) {
      if (candidate.name == client) return &candidate;
    }
  }
  return nullptr;
}

void DataMemory::set_client(const std::string& client, Unit* unit) {
  for (size_t engine = 0; engine < kMaxDmaEngines; ++engine) {
    if (dma_[engine].request.name() != client) continue;
    dma_units_[engine] = unit;
    return;
  }
  Client* const found = find_client(client);
  if (found == nullptr) {
    throw InternalError(fmt::format("unit {} has no client '{}'", unit_name(), client));
  }
  found->unit = unit;
}

void DataMemory::tick(Cycle now) {
  const Client* without_space = nullptr;
  granted_cycle_ = now;
  bool served = false;
  for (size_t group = 0; group < groups_.size(); ++group) {
    served = serve_group(group, served, now, without_space) || served;
  }
  const bool dma_moved = tick_dma(now);
  judge(served || dma_moved, without_space);
}

// Whether any of its clients was served; `served`: one of another group was.
bool DataMemory::serve_group(size_t number, bool served, Cycle now, const Client*& without_space) {
  Group& group = groups_[number];
  std::array<BankMask, kClients> wanted{};
  for (size_t i = 0; i < kClients; ++i) {
    const Client& client = group.clients[i];
    Link<DmRequest>& requests = **client.request;
    if (!requests.can_pop(now)) continue;
    if (client.data != nullptr && !(*client.data)->can_push(now)) {
      if (without_space == nullptr) without_space = &client;
      continue;
    }
    wanted[i] = banks_of(requests.front(), now);
  }
  std::array<BankArbiter::Grant, kClients> grants;
  if (parameters_.bank_conflicts) {
    arbiter_.arbitrate(wanted.data(), kClients, grants.data());
  } else {
    for (size_t i = 0; i < kClients; ++i) grants[i].granted = wanted[i] != 0;
  }

  granted_banks_[number] = 0;
  group.taken = {};
  for (size_t i = 0; i < kClients; ++i) {
    Client& client = group.clients[i];
    if (grants[i].granted) {
      granted_banks_[number] |= wanted[i];
      if (parameters_.bank_conflicts) group.taken[i] = wanted[i];
      if (!served) {
        const DmRequest& first = (*client.request)->front();
        set_item(first.command, first.index);
        served = true;
      }
      serve(group, client, now);
    } else if (wanted[i] != 0 && client.unit != nullptr) {
      const Unit* winner = group.clients[grants[i].winner].unit;
      client.unit->book_conflict(now, winner != nullptr ? *winner : *this);
    }
  }
  return granted_banks_[number] != 0;
}

void DataMemory::judge(bool moved, const Client* without_space) {
  if (moved) {
    set_state(UnitState::kBusy);
    return;
  }
  if (without_space != nullptr) {
    set_state(UnitState::kBlocked, &(*without_space->data)->consumer_unit());
    return;
  }
  for (const size_t engine : dma_.in_use()) {
    if (!dma_[engine].has_answers()) continue;
    set_state(UnitState::kBlocked, &dma_[engine].data->consumer_unit());
    return;
  }
  for (const Group& group : groups_) {
    for (const Client& client : group.clients) {
      if (!client.in_command) continue;
      set_state(UnitState::kStarved, &(*client.request)->producer_unit());
      return;
    }
  }
  set_state(UnitState::kIdle);
}

BankMask DataMemory::banks_of(const DmRequest& request, Cycle now) const {
  if (memory_bits(request.dtype) != value_bits(request.dtype)) {
    invariant_broken(fmt::format("{} cannot lie in this memory", rngdsim::name(request.dtype)),
                     now);
  }
  const uint64_t elements = request.replicated ? 1 : request.elements;
  const SlicedMemory& storage = groups_.front().storage;  // all are alike
  if (!storage.contains(request.bit_address, request.dtype, elements)) {
    invariant_broken(
        fmt::format("access {} of command {} ({} elements of {} at bit {}) leaves the {} bytes of "
                    "the memory",
                    request.index, request.command, elements, rngdsim::name(request.dtype),
                    request.bit_address, storage.bytes()),
        now);
  }
  return arbiter_.banks_of(request.bit_address,
                           elements * static_cast<uint64_t>(memory_bits(request.dtype)));
}

void DataMemory::serve(Group& group, Client& client, Cycle now) {
  DmRequest request = (*client.request)->pop(now);
  count_in();
  client.in_command = !request.last;
  client.command = request.command;
  client.bytes += request.bytes;
  std::vector<uint64_t>& by_command =
      client.data != nullptr ? group.read_by_command : group.written_by_command;
  if (by_command.size() <= request.command) by_command.resize(context().program->commands.size());
  by_command[request.command] += request.bytes;
  if (client.data != nullptr) {
    read(group, client, request, now);
  } else {
    write(group, client, request, now);
  }
}

void DataMemory::read(Group& group, Client& client, const DmRequest& request, Cycle now) {
  StreamItem item;
  item.command = request.command;
  item.index = request.index;
  item.last = request.last;
  item.valid = request.elements;
  if (context().values()) {
    item.values = context().pool->allocate(request.dtype, request.elements);
    group.storage.read(request.bit_address, request.elements, request.replicated, *item.values, 0,
                       live_slices(group, request.tensor));
  }
  Link<StreamItem>& data = **client.data;
  const uint64_t extra =
      parameters_.read_latency > data.latency() ? parameters_.read_latency - data.latency() : 0;
  data.push(now, std::move(item), extra);
  count_out();
}

void DataMemory::write(Group& group, const Client& client, const DmRequest& request, Cycle now) {
  if (context().values()) {
    group.storage.write(request.bit_address, *request.values, request.first_element,
                        request.elements, live_slices(group, request.tensor),
                        request.keep ? &*request.keep : nullptr);
  }
  if (request.last) client.monitor->command_finished(request.command, now);
}

const std::vector<uint8_t>& DataMemory::live_slices(const Group& group, TensorId tensor) const {
  const auto& live = groups_.size() > 1 ? group.live : context().tensor_live;
  return tensor < live.size() ? live[tensor] : all_live_;
}

bool DataMemory::tick_dma(Cycle now) {
  if (dma_.in_use().empty()) return false;
  bool moved = accept_dma(now);
  if (dmns_.empty()) {
    dmns_.nothing_waits();
  } else {
    const bool beat = dmns_.advance(
        now, (parameters_.bank_conflicts ? granted_banks_ : no_banks_).data(),
        [this](const DmnQueues::Entry& entry) { complete_dma(entry); },
        [this, now](const DmnQueues::Entry& entry, uint32_t bank) {
          book_dma_conflict(entry, bank, now);
        });
    moved = beat || moved;
    for (size_t group = 0; group < groups_.size(); ++group) {
      if (dmns_.starved(group) != 0) tell_starvation(group, now);
    }
    if (!dmns_.empty()) wake_at(now + 1);
  }
  for (const size_t engine : dma_.in_use()) {
    const uint64_t sent = dma_[engine].send(now);
    count_out(sent);
    moved = moved || sent > 0;
  }
  return moved;
}

// Takes in what the queues of the slices have room for; the head of a link waits for its slice.
bool DataMemory::accept_dma(Cycle now) {
  bool any = false;
  for (const size_t engine : dma_.in_use()) {
    while (const DmaRequest* first = dma_[engine].head(now)) {
      const DmaRequest& head = *first;
      if (dmns_.slice_of(head) >= dmns_.slices() ||
          dmns_.byte_of(head) + head.bytes > groups_.front().storage.bytes()) {
        invariant_broken(fmt::format("request {} of command {} ({} bytes at {}) leaves the memory",
                                     head.index, head.command, head.bytes, head.address),
                         now);
      }
      if (!dmns_.can_accept(head)) break;
      set_item(head.command, head.index);
      dmns_.accept(dma_[engine].take(now), static_cast<uint32_t>(engine));
      count_in();
      any = true;
    }
  }
  return any;
}

void DataMemory::complete_dma(const DmnQueues::Entry& entry) {
  const DmaRequest& request = entry.request;
  (request.write ? dma_written_ : dma_read_) += request.bytes;
  if (request.line != nullptr && context().values()) {
    SlicedMemory& storage = groups_[dmns_.group_of(request)].storage;
    const auto slice = static_cast<uint32_t>(dmns_.slice_of(request) % storage.slices());
    const uint64_t byte = dmns_.byte_of(request);
    if (request.write) {
      storage.write_bytes(slice, byte, request.bytes, request.line->bytes.data(),
                          request.line->valid.data());
    } else {
      storage.read_bytes(slice, byte, request.bytes, request.line->bytes.data(),
                         request.line->valid.data());
    }
  }
  dma_[entry.port].answer(DmaResponse(request));
}

void DataMemory::book_dma_conflict(const DmnQueues::Entry& entry, uint32_t bank, Cycle now) {
  if (dma_lost_in_[entry.port] != now) {
    dma_lost_in_[entry.port] = now;
    if (dma_conflicts_.empty()) dma_conflicts_.resize(context().program->commands.size());
    ++dma_conflicts_[entry.request.command][entry.port];
  }
  Unit* engine = dma_units_[entry.port];
  if (engine == nullptr) return;
  const Client* holder = holder_of(dmns_.group_of(entry.request), bank);
  const bool known = holder != nullptr && holder->unit != nullptr;
  engine->book_conflict(now, known ? *holder->unit : *this);
}

// The client that has the bank of a group in the present cycle; null: none.
const DataMemory::Client* DataMemory::holder_of(size_t group, uint32_t bank) const {
  for (size_t i = 0; i < kClients; ++i) {
    if ((groups_[group].taken[i] >> bank & 1) != 0) return &groups_[group].clients[i];
  }
  return nullptr;
}

void DataMemory::tell_starvation(size_t group, Cycle now) {
  for (uint32_t bank = 0; bank < parameters_.banks; ++bank) {
    if ((dmns_.starved(group) >> bank & 1) == 0) continue;
    const Client* holder = holder_of(group, bank);
    hazards_.push_back(
        {now, dmns_.waits_for(group, bank).command,
         fmt::format("bank starvation: fetch and commit held bank {} of the data "
                     "memory for {} cycles while a DMA waited for it{}",
                     bank, parameters_.starvation_cycles,
                     holder == nullptr ? ""
                                       : fmt::format(", in this one {} of command {}", holder->name,
                                                     holder->command))});
  }
}

uint64_t DataMemory::bytes_read() const {
  uint64_t bytes = 0;
  for (const Client& client : groups_.front().clients) {
    bytes += client.data != nullptr ? client.bytes : 0;
  }
  return bytes;
}

uint64_t DataMemory::bytes_written() const {
  uint64_t bytes = 0;
  for (const Client& client : groups_.front().clients) {
    bytes += client.data == nullptr ? client.bytes : 0;
  }
  return bytes;
}

uint64_t DataMemory::bytes_read(CommandId command, size_t cluster) const {
  const std::vector<uint64_t>& bytes = groups_[cluster].read_by_command;
  return command < bytes.size() ? bytes[command] : 0;
}

uint64_t DataMemory::bytes_written(CommandId command, size_t cluster) const {
  const std::vector<uint64_t>& bytes = groups_[cluster].written_by_command;
  return command < bytes.size() ? bytes[command] : 0;
}

uint64_t DataMemory::client_bytes(const std::string& client) const {
  for (const Client& candidate : groups_.front().clients) {
    if (candidate.name == client) return candidate.bytes;
  }
  throw InternalError(fmt::format("unit {} has no client '{}'", unit_name(), client));
}

void DataMemory::add_extra_counters(UnitCounters& counters) const {
  counters.extra.emplace_back("bytes_read", bytes_read());
  counters.extra.emplace_back("bytes_written", bytes_written());
  for (const Client& client : groups_.front().clients) {
    counters.extra.emplace_back("bytes_" + client.name, client.bytes);
  }
  counters.extra.emplace_back("dma_bytes_read", dma_read_);
  counters.extra.emplace_back("dma_bytes_written", dma_written_);
}

std::vector<Unit::Signal> DataMemory::signals() const {
  std::vector<Signal> signals;
  for (size_t group = 0; group < groups_.size(); ++group) {
    signals.push_back({group == 0 ? "bank_grants" : fmt::format("bank_grants_{}", group),
                       static_cast<uint32_t>(parameters_.banks),
                       [this, group](Cycle now) { return granted_banks(now, group); }});
  }
  return signals;
}

std::string DataMemory::waiting_for() const {
  switch (state()) {
    case UnitState::kBlocked:
      return "space for read data";
    case UnitState::kStarved:
      return "the next request of a command";
    default:
      return "";
  }
}

}  // namespace rngdsim
