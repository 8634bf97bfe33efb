// SPDX-License-Identifier: Apache-2.0
#include "memory/trf.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/diagnostic.h"

namespace rngdsim {

Trf::Trf(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
         const Parameters& parameters)
    : Unit(name, clock, context),
      parameters_(parameters),
      storage_(*context.program, context.pool, context.tensor_live, parameters.row_bytes),
      cache_({context.program->limits.lanes, parameters.banks, parameters.cache_rows}),
      main_{&main_store},
      sub_{&sub_store} {}

void Trf::set_client(const std::string& port, Unit* unit) {
  if (port == "main_store") {
    main_.client = unit;
  } else if (port == "sub_store") {
    sub_.client = unit;
  } else if (port == "read") {
    reader_ = unit;
  } else {
    throw InternalError(fmt::format("unit {} has no clients at port '{}'", unit_name(), port));
  }
}

void Trf::tick(Cycle now) {
  read_banks_ = 0;
  has_read_ = false;
  banks_in_use_ = 0;
  ticked_ = now;
  stored_.reset();
  read_blocked_ = false;
  const bool has_read = serve_read(now);
  const bool main_stored = serve_store(main_, now);
  const bool sub_stored = serve_store(sub_, now);
  if (has_read || main_stored || sub_stored) {
    set_state(UnitState::kBusy);
  } else if (read_blocked_) {
    set_state(UnitState::kBlocked, &read_data->consumer_unit());
  } else if (reading_) {
    set_state(UnitState::kStarved, &read->producer_unit());
  } else if (main_.active || sub_.active) {
    set_state(UnitState::kStarved, &(*(main_.active ? main_ : sub_).link)->producer_unit());
  } else {
    set_state(UnitState::kIdle);
  }
}

bool Trf::serve_read(Cycle now) {
  if (!read->can_pop(now)) return false;
  if (!read_data->can_push(now)) {
    read_blocked_ = true;
    return false;
  }
  const TrfRequest request = read->pop(now);
  const uint64_t rows = (request.bytes + parameters_.row_bytes - 1) / parameters_.row_bytes;
  const uint64_t first = request.byte_offset / parameters_.row_bytes;
  for (uint64_t granule = first; granule < first + rows; ++granule) {
    const uint64_t bank = granule % parameters_.banks;
    if (cache_.read(bank, request.first_row + granule / parameters_.banks, request.lanes)) {
      ++hits_;
    } else {
      ++misses_;
      read_banks_ |= uint64_t{1} << bank;
    }
  }
  has_read_ = true;
  const Command& of = command(request.command);
  StreamItem item;
  item.command = request.command;
  item.index = request.index;
  item.last = request.last;
  item.valid = request.elements;
  set_item(request.command, request.index);
  banks_in_use_ |= read_banks_;
  item.trf =
      storage_.read(of.outer->trf, request.element_offset, of.outer->read_elements, request.lanes);
  read_data->push(now, std::move(item), parameters_.read_latency - 1);
  reading_ = !request.last;
  bytes_read_ += rows * parameters_.row_bytes * request.lanes;
  count(read_by_command_, request.command, rows * parameters_.row_bytes * request.lanes);
  count_out();
  return true;
}

Trf::Place Trf::place_of(const StreamItem& flit, Cycle now) const {
  const ToTrfConfig& config = *command(flit.command).to_trf;
  Place place;
  place.lane = flit.index / config.flits_per_lane;
  place.granule = flit.index % config.flits_per_lane;
  place.bank = place.granule % parameters_.banks;
  if (place.lane >= config.lanes) {
    invariant_broken(fmt::format("flit {} of command {} belongs to lane {} of {}", flit.index,
                                 flit.command, place.lane, config.lanes),
                     now);
  }
  const uint64_t width = std::max<uint64_t>(1, context().program->limits.lanes / config.lanes);
  place.first_lane = place.lane * width;
  place.last_lane = place.first_lane + width - 1;
  return place;
}

bool Trf::serve_store(StorePort& port, Cycle now) {
  Link<StreamItem>& link = **port.link;
  if (!link.can_pop(now)) return false;
  const Place place = place_of(link.front(), now);
  const bool read_wins = (read_banks_ >> place.bank & 1) != 0;
  const bool store_wins = stored_ && stored_->bank == place.bank &&
                          stored_->first_lane <= place.last_lane &&
                          place.first_lane <= stored_->last_lane;
  if (read_wins || store_wins) {
    const Unit* winner = read_wins ? reader_ : main_.client;
    if (port.client != nullptr && winner != nullptr) port.client->book_conflict(now, *winner);
    return false;
  }
  StreamItem flit = link.pop(now);
  if (!has_read_) set_item(flit.command, flit.index);
  banks_in_use_ |= uint64_t{1} << place.bank;
  storage_.store(command(flit.command).to_trf->tensor, place.lane, place.granule,
                 std::move(flit.values));
  stored_ = place;
  port.active = !flit.last;
  bytes_written_ += parameters_.row_bytes;
  count(written_by_command_, flit.command, parameters_.row_bytes);
  count_in();
  if (flit.last) context().monitor->command_finished(flit.command, now);
  return true;
}

void Trf::count(std::vector<uint64_t>& bytes_by_command, CommandId command, uint64_t bytes) {
  if (bytes_by_command.size() <= command) {
    bytes_by_command.resize(context().program->commands.size());
  }
  bytes_by_command[command] += bytes;
}

void Trf::add_extra_counters(UnitCounters& counters) const {
  counters.extra.emplace_back("trf_read", bytes_read_);
  counters.extra.emplace_back("trf_write", bytes_written_);
  counters.extra.emplace_back("cache_hits", hits_);
  counters.extra.emplace_back("cache_misses", misses_);
}

std::vector<Unit::Signal> Trf::signals() const {
  return {
      {"bank_grants", static_cast<uint32_t>(parameters_.banks),
       [this](Cycle now) { return ticked_ == now ? banks_in_use_ : 0; }},
  };
}

std::string Trf::waiting_for() const {
  switch (state()) {
    case UnitState::kBlocked:
      return "space for read data at " + read_data->consumer_unit();
    case UnitState::kStarved:
      return reading_ ? "requests of " + read->producer_unit()
                      : "flits of " + (*(main_.active ? main_ : sub_).link)->producer_unit();
    default:
      return "";
  }
}

}  // namespace rngdsim
