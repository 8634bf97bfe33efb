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
                                     const MachineLimits& limits) {
  DmnQueues::Parameters result;
  result.clusters = limits.clusters;
  result.slices = limits.slices;
  result.dmn_slices = limits.dmn_slices;
  result.slice_stride = limits.dm_slice_stride;
  result.beat_bytes = parameters.beat_bytes;
  result.queue = parameters.dma_queue;
  result.starvation = parameters.starvation_cycles;
  return result;
}

}  // namespace

DataMemory::DataMemory(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                       const Parameters& parameters)
    : Unit(name, clock, context),
      parameters_(parameters),
      arbiter_(static_cast<uint32_t>(parameters.banks),
               static_cast<uint32_t>(parameters.bank_bytes)),
      storage_(parameters.banks * parameters.bank_bytes * parameters.rows,
               parameters.banks * parameters.bank_bytes, context.slices()),
      dmns_(dmn_parameters(parameters, context.program->limits), arbiter_) {
  if (!std::is_permutation(parameters.priority.begin(), parameters.priority.end(),
                           client_names().begin(), client_names().end())) {
    throw InternalError(fmt::format("unit {}: the priority list does not name each of {} once",
                                    unit_name(), fmt::join(client_names(), ", ")));
  }
  if (parameters.banks < 1 || parameters.banks > 64 || parameters.read_latency < 1) {
    throw InternalError(fmt::format("unit {}: {} banks (1 to 64), read latency {} (from 1)",
                                    unit_name(), parameters.banks, parameters.read_latency));
  }
  for (size_t i = 0; i < kClients; ++i) {
    Client& client = clients_[i];
    client.name = parameters.priority[i];
    if (client.name == "main_fetch") {
      client.request = &main_fetch;
      client.data = &main_fetch_data;
    } else if (client.name == "sub_fetch") {
      client.request = &sub_fetch;
      client.data = &sub_fetch_data;
    } else {
      client.request = client.name == "main_commit" ? &main_commit : &sub_commit;
    }
  }
  dma_lost_in_.fill(~Cycle{0});
}

void DataMemory::elaborated() { dma_.elaborated(); }

std::vector<PortBase*> DataMemory::ports() {
  std::vector<PortBase*> all = {&main_fetch, &sub_fetch,       &main_commit,
                                &sub_commit, &main_fetch_data, &sub_fetch_data};
  dma_.add_to(all);
  return all;
}

size_t DataMemory::place_of(const std::string& client) const {
  for (size_t i = 0; i < kClients; ++i) {
    if (clients_[i].name == client) return i;
  }
  throw InternalError(fmt::format("unit {} has no client '{}'", unit_name(), client));
}

void DataMemory::set_client(const std::string& client, Unit* unit) {
  for (size_t engine = 0; engine < kMaxDmaEngines; ++engine) {
    if (dma_[engine].request.name() != client) continue;
    dma_units_[engine] = unit;
    return;
  }
  clients_[place_of(client)].unit = unit;
}

void DataMemory::tick(Cycle now) {
  std::array<BankMask, kClients> wanted{};
  const Client* without_space = nullptr;
  for (size_t i = 0; i < kClients; ++i) {
    const Client& client = clients_[i];
    Link<DmRequest>& requests = **client.request;
    if (!requests.can_pop(now)) continue;
    if (client.data != nullptr && !(*client.data)->can_push(now)) {
      if (without_space == nullptr) without_space = &client;
      continue;
    }
    wanted[i] = banks_of(requests.front(), now);
  }
  std::array<BankArbiter::Grant, kClients> grants;
  arbiter_.arbitrate(wanted.data(), kClients, grants.data());

  granted_banks_ = 0;
  granted_cycle_ = now;
  granted_to_ = {};
  bool served = false;
  for (size_t i = 0; i < kClients; ++i) {
    if (grants[i].granted) {
      granted_banks_ |= wanted[i];
      granted_to_[i] = wanted[i];
      if (!served) {
        const DmRequest& first = (*clients_[i].request)->front();
        set_item(first.command, first.index);
        served = true;
      }
      serve(clients_[i], now);
    } else if (wanted[i] != 0 && clients_[i].unit != nullptr) {
      const Unit* winner = clients_[grants[i].winner].unit;
      clients_[i].unit->book_conflict(now, winner != nullptr ? *winner : *this);
    }
  }
  const bool dma_moved = tick_dma(now);
  judge(granted_banks_ != 0 || dma_moved, without_space);
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
  for (const Client& client : clients_) {
    if (client.in_command) {
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
  if (!storage_.contains(request.bit_address, request.dtype, elements)) {
    invariant_broken(
        fmt::format("access {} of command {} ({} elements of {} at bit {}) leaves the {} bytes of "
                    "the memory",
                    request.index, request.command, elements, rngdsim::name(request.dtype),
                    request.bit_address, storage_.bytes()),
        now);
  }
  return arbiter_.banks_of(request.bit_address,
                           elements * static_cast<uint64_t>(memory_bits(request.dtype)));
}

void DataMemory::serve(Client& client, Cycle now) {
  DmRequest request = (*client.request)->pop(now);
  count_in();
  client.in_command = !request.last;
  client.command = request.command;
  client.bytes += request.bytes;
  std::vector<uint64_t>& by_command =
      client.data != nullptr ? read_by_command_ : written_by_command_;
  if (by_command.size() <= request.command) by_command.resize(context().program->commands.size());
  by_command[request.command] += request.bytes;
  if (client.data != nullptr) {
    read(client, request, now);
  } else {
    write(request, now);
  }
}

void DataMemory::read(Client& client, const DmRequest& request, Cycle now) {
  StreamItem item;
  item.command = request.command;
  item.index = request.index;
  item.last = request.last;
  item.valid = request.elements;
  if (context().values()) {
    item.values = context().pool->allocate(request.dtype, request.elements);
    storage_.read(request.bit_address, request.elements, request.replicated, *item.values, 0,
                  live_slices(request.tensor));
  }
  Link<StreamItem>& data = **client.data;
  const uint64_t extra =
      parameters_.read_latency > data.latency() ? parameters_.read_latency - data.latency() : 0;
  data.push(now, std::move(item), extra);
  count_out();
}

void DataMemory::write(const DmRequest& request, Cycle now) {
  if (context().values()) {
    storage_.write(request.bit_address, *request.values, request.first_element, request.elements,
                   live_slices(request.tensor), request.keep ? &*request.keep : nullptr);
  }
  if (request.last) context().monitor->command_finished(request.command, now);
}

const std::vector<uint8_t>& DataMemory::live_slices(TensorId tensor) const {
  return tensor < context().tensor_live.size() ? context().tensor_live[tensor] : all_live_;
}

bool DataMemory::tick_dma(Cycle now) {
  if (dma_.in_use().empty()) return false;
  bool moved = accept_dma(now);
  if (dmns_.empty()) {
    dmns_.nothing_waits();
  } else {
    const bool beat = dmns_.advance(
        granted_banks_, [this](const DmnQueues::Entry& entry) { complete_dma(entry); },
        [this, now](const DmnQueues::Entry& entry, uint32_t bank) {
          book_dma_conflict(entry, bank, now);
        });
    moved = beat || moved;
    if (dmns_.starved() != 0) tell_starvation(now);
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
          dmns_.byte_of(head) + head.bytes > storage_.bytes()) {
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
    const auto slice = static_cast<uint32_t>(dmns_.slice_of(request));
    const uint64_t byte = dmns_.byte_of(request);
    if (request.write) {
      storage_.write_bytes(slice, byte, request.bytes, request.line->bytes.data(),
                           request.line->valid.data());
    } else {
      storage_.read_bytes(slice, byte, request.bytes, request.line->bytes.data(),
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
  const Client* holder = holder_of(bank);
  const bool known = holder != nullptr && holder->unit != nullptr;
  engine->book_conflict(now, known ? *holder->unit : *this);
}

// The client that has the bank in the present cycle; null: none.
const DataMemory::Client* DataMemory::holder_of(uint32_t bank) const {
  for (size_t i = 0; i < kClients; ++i) {
    if ((granted_to_[i] >> bank & 1) != 0) return &clients_[i];
  }
  return nullptr;
}

void DataMemory::tell_starvation(Cycle now) {
  for (uint32_t bank = 0; bank < parameters_.banks; ++bank) {
    if ((dmns_.starved() >> bank & 1) == 0) continue;
    const Client* holder = holder_of(bank);
    hazards_.push_back(
        {now, dmns_.waits_for(bank).command,
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
  for (const Client& client : clients_) bytes += client.data != nullptr ? client.bytes : 0;
  return bytes;
}

uint64_t DataMemory::bytes_written() const {
  uint64_t bytes = 0;
  for (const Client& client : clients_) bytes += client.data == nullptr ? client.bytes : 0;
  return bytes;
}

uint64_t DataMemory::bytes_read(CommandId command) const {
  return command < read_by_command_.size() ? read_by_command_[command] : 0;
}

uint64_t DataMemory::bytes_written(CommandId command) const {
  return command < written_by_command_.size() ? written_by_command_[command] : 0;
}

uint64_t DataMemory::client_bytes(const std::string& client) const {
  return clients_[place_of(client)].bytes;
}

void DataMemory::add_extra_counters(UnitCounters& counters) const {
  counters.extra.emplace_back("bytes_read", bytes_read());
  counters.extra.emplace_back("bytes_written", bytes_written());
  for (const Client& client : clients_) {
    counters.extra.emplace_back("bytes_" + client.name, client.bytes);
  }
  counters.extra.emplace_back("dma_bytes_read", dma_read_);
  counters.extra.emplace_back("dma_bytes_written", dma_written_);
}

std::vector<Unit::Signal> DataMemory::signals() const {
  return {{"bank_grants", static_cast<uint32_t>(parameters_.banks),
           [this](Cycle now) { return granted_banks(now); }}};
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
