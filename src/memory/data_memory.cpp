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

DataMemory::DataMemory(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                       const Parameters& parameters)
    : Unit(name, clock, context),
      parameters_(parameters),
      arbiter_(static_cast<uint32_t>(parameters.banks),
               static_cast<uint32_t>(parameters.bank_bytes)),
      storage_(parameters.banks * parameters.bank_bytes * parameters.rows,
               parameters.banks * parameters.bank_bytes, context.slices()) {
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
}

std::vector<PortBase*> DataMemory::ports() {
  return {&main_fetch, &sub_fetch, &main_commit, &sub_commit, &main_fetch_data, &sub_fetch_data};
}

size_t DataMemory::place_of(const std::string& client) const {
  for (size_t i = 0; i < kClients; ++i) {
    if (clients_[i].name == client) return i;
  }
  throw InternalError(fmt::format("unit {} has no client '{}'", unit_name(), client));
}

void DataMemory::set_client(const std::string& client, Unit* unit) {
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
  bool served = false;
  for (size_t i = 0; i < kClients; ++i) {
    if (grants[i].granted) {
      granted_banks_ |= wanted[i];
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
  judge(granted_banks_ != 0, without_space);
}

void DataMemory::judge(bool granted, const Client* without_space) {
  if (granted) {
    set_state(UnitState::kBusy);
    return;
  }
  if (without_space != nullptr) {
    set_state(UnitState::kBlocked, &(*without_space->data)->consumer_unit());
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
