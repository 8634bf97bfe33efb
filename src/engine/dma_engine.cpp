// SPDX-License-Identifier: Apache-2.0
#include "engine/dma_engine.h"

#include <fmt/format.h>

#include <algorithm>

namespace rngdsim {

DmaEngine::DmaEngine(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                     const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters), slots_(parameters.outstanding) {}

void DmaEngine::start(CommandId id, Cycle cycle) {
  if (active_) {
    invariant_broken(fmt::format("command {} starts before command {} is through", id, command_),
                     cycle);
  }
  const Command& next = command(id);
  if (!next.dma) invariant_broken(fmt::format("command {} is no DMA", id), cycle);
  segments_.clear();
  for (size_t i = 0; i < next.dma->segments.size(); ++i) {
    if (next.dma->segments[i].engine == parameters_.engine) segments_.push_back(i);
  }
  if (segments_.empty()) {
    invariant_broken(fmt::format("command {} has no segment for engine {}", id, number()), cycle);
  }
  active_ = true;
  command_ = id;
  from_ = context().program->tensors[next.dma->from].memory;
  to_ = context().program->tensors[next.dma->to].memory;
  index_in_hbm_ = next.dma->indexed &&
                  context().program->tensors[next.dma->indexed->index].memory == MemoryKind::kHbm;
  segment_ = 0;
  next_read_ = next_write_ = 0;
  timeout_told_ = false;
  activities_.emplace_back();
  activities_.back().command = id;
  begin_segment(cycle);
}

void DmaEngine::begin_segment(Cycle cycle) {
  const MachineLimits& limits = context().program->limits;
  const DmaConfig::Segment& segment = config().segments[segments_[segment_]];
  walker_ = DmaWalker(segment, limits.dma_request_bytes);
  if (config().indexed) {
    index_ = DmaIndex(segment, limits.dma_request_bytes);
    next_index_ = 0;
    index_left_ = index_.requests().size();
    index_from_ = cycle + config().startup;
  }
  const MemoryKind first = !config().indexed ? from_
                           : index_in_hbm_   ? MemoryKind::kHbm
                                             : MemoryKind::kDm;
  const uint64_t access = first == MemoryKind::kHbm    ? parameters_.first_access_hbm
                          : first == MemoryKind::kHost ? parameters_.first_access_host
                                                       : parameters_.first_access_dm;
  first_request_ = cycle + config().startup - std::min(config().startup, access);
  first_data_ = cycle + config().startup;
  ++activities_.back().segments;
  wake_at(first_request_);
  wake_at(first_data_);
}

void DmaEngine::tick(Cycle now) {
  moved_serialised_ = false;
  const bool head_waits = under_way() > 0 && slot(next_write_).arrived;
  const bool write_first = head_waits && slot(next_write_).serialised && target()->can_push(now);
  bool moved = take_answers(now, !write_first && now >= first_data_);
  if (reads_index()) {
    moved = ask_index(now) || moved;
  } else {
    const bool wrote = write(now);
    moved = wrote || moved;
    const bool asked = read(now, wrote);
    moved = asked || moved;
  }
  if (active_ && walker_.done() && under_way() == 0 && unanswered_writes_ == 0) end_segment(now);
  if (moved) {
    set_state(UnitState::kBusy);
  } else {
    set_waiting_state(now);
  }
}

void DmaEngine::set_waiting_state(Cycle now) {
  if (!active_ || (under_way() == 0 && unanswered_writes_ == 0 && now < first_request_)) {
    set_state(UnitState::kIdle);
  } else if (reads_index()) {
    const bool all_asked = next_index_ == index_.requests().size();
    set_state(all_asked ? UnitState::kStarved : UnitState::kBlocked,
              &index_port()->consumer_unit());
  } else if (under_way() > 0 && slot(next_write_).arrived) {
    set_state(UnitState::kBlocked, &target()->consumer_unit());
  } else if (!walker_.done() && under_way() < slots_.size()) {
    set_state(UnitState::kBlocked, &source()->consumer_unit());
  } else {
    const LinkOut<DmaRequest>& waited = under_way() > 0 ? source() : target();
    set_state(UnitState::kStarved, &waited->consumer_unit());
  }
}

// Answers of writes, and the data of one read where `data_too`. True where there were any.
bool DmaEngine::take_answers(Cycle now, bool data_too) {
  bool any = false;
  for (LinkIn<DmaResponse>* port : {&hbm_data, &dm_data, &host_data}) {
    if (!port->bound()) continue;
    Link<DmaResponse>& link = **port;
    while (link.can_pop(now)) {
      if (!link.front().write && !data_too) break;
      const DmaResponse response = link.pop(now);
      count_in();
      set_item(response.command, response.index);
      check_timeout(response, now);
      any = true;
      if (response.write) {
        --unanswered_writes_;
        if (response.line != nullptr) free_lines_.push_back(response.line);
      } else if (reads_index()) {
        take_index(response, now);
        data_too = false;
      } else {
        data_too = take_data(response, now);
      }
    }
  }
  return any;
}

// Returns whether more data may be taken in this cycle: no.
bool DmaEngine::take_data(const DmaResponse& response, Cycle now) {
  Slot& waiting = slots_[response.slot];
  waiting.arrived = true;
  moved_serialised_ = waiting.serialised;
  Activity& activity = activities_.back();
  if (!activity.has_data) {
    activity.has_data = true;
    activity.first_data = now;
  }
  return false;
}

bool DmaEngine::ask_index(Cycle now) {
  const size_t under_way = next_index_ + index_left_ - index_.requests().size();
  if (now < first_request_ || next_index_ == index_.requests().size() ||
      under_way == slots_.size() || !index_port()->can_push(now)) {
    return false;
  }
  const DmaIndex::Request& next = index_.requests()[next_index_];
  DmaRequest request;
  request.command = command_;
  request.index = next_index_;
  request.address = next.address;
  request.bytes = static_cast<uint32_t>(next.bytes);
  request.slot = static_cast<uint32_t>(next_index_);
  request.line = context().values() ? take_line() : nullptr;
  set_item(command_, next_index_);
  Activity& activity = activities_.back();
  ++activity.index_requests;
  activity.index_bytes += next.bytes;
  index_port()->push(now, DmaRequest(request));
  count_out();
  ++next_index_;
  return true;
}

void DmaEngine::take_index(const DmaResponse& response, Cycle now) {
  const DmaConfig::Indexed& indexed = *config().indexed;
  const DmaIndex::Request& asked = index_.requests()[response.slot];
  for (uint64_t at = asked.address; at < asked.address + asked.bytes; at += kDmaIndexBytes) {
    const std::optional<int64_t> value = index_value(response, at);
    const auto displacement = value ? indexed.displacement(*value) : std::nullopt;
    if (!displacement) return refuse_index(at, value, now);
    index_.set(at, *displacement);
  }
  if (response.line != nullptr) free_lines_.push_back(response.line);
  if (--index_left_ > 0) return;
  first_request_ = now + config().index_cycles(context().program->limits);
  activities_.back().index_cycles += first_request_ - index_from_;
  wake_at(first_request_);
}

std::optional<int64_t> DmaEngine::index_value(const DmaResponse& response, uint64_t address) const {
  if (response.line == nullptr) return index_values_(config().indexed->index, address);
  const uint64_t first = address - index_.requests()[response.slot].address;
  constexpr uint8_t kWholeByte = 3;
  uint32_t bits = 0;
  for (uint64_t i = 0; i < kDmaIndexBytes; ++i) {
    if (response.line->valid[first + i] != kWholeByte) return std::nullopt;
    bits |= uint32_t{response.line->bytes[first + i]} << (8 * i);
  }
  return static_cast<int32_t>(bits);
}

// Ends the run: no row is meant.
void DmaEngine::refuse_index(uint64_t address, std::optional<int64_t> value, Cycle now) {
  const Program& program = *context().program;
  const DmaConfig::Indexed& indexed = *config().indexed;
  const TensorVersion& index = program.tensors[indexed.index];
  const TensorVersion& table = program.tensors[indexed.scatter ? config().to : config().from];
  const uint64_t slice = program.limits.dm_slice_stride;
  std::string place = index_in_hbm_
                          ? fmt::format("element {}", (address - index.address) / kDmaIndexBytes)
                          : fmt::format("slice {}, element {}", address / slice,
                                        (address % slice - index.address) / kDmaIndexBytes);
  const uint64_t unit = indexed.scaled ? indexed.row_bytes : 1;
  const std::string what =
      !value ? "was never written"
      : *value >= 0 && static_cast<uint64_t>(*value) % unit != 0
          ? fmt::format("is {}, inside of a row: rows of '{}' are {} bytes apart", *value,
                        table.name, indexed.row_bytes)
          : fmt::format("is {}; '{}' has {} rows, {} 0 to {}", *value, table.name, indexed.rows,
                        indexed.scaled ? "bytes" : "numbers", (indexed.rows - 1) * unit);
  context().monitor->failure({value ? "out of range" : "poison", unit_name(), now, command_,
                              fmt::format("index '{}' ({}) {}", index.name, place, what)});
}

// Of the row that the present packet belongs to; 0 without an index.
uint64_t DmaEngine::row_displacement() const {
  return config().indexed ? index_.displacement(walker_.index_address()) : 0;
}

bool DmaEngine::write(Cycle now) {
  if (under_way() == 0 || !slot(next_write_).arrived) return false;
  Slot& head = slot(next_write_);
  if ((moved_serialised_ && head.serialised) || !target()->can_push(now)) return false;
  DmaRequest request;
  request.command = command_;
  request.index = next_write_;
  request.address = head.write_address;
  request.bytes = head.bytes;
  request.slot = static_cast<uint32_t>(next_write_ % slots_.size());
  request.write = true;
  request.line = head.line;
  set_item(command_, next_write_);
  moved_serialised_ = moved_serialised_ || head.serialised;
  target()->push(now, DmaRequest(request));
  count_out();
  ++unanswered_writes_;
  ++next_write_;
  return true;
}

bool DmaEngine::read(Cycle now, bool wrote) {
  if (!active_ || now < first_request_ || walker_.done() || under_way() == slots_.size()) {
    return false;
  }
  const uint64_t row = row_displacement();
  const bool scatter = config().indexed && config().indexed->scatter;
  const uint64_t read_address = walker_.read_address() + (scatter ? 0 : row);
  const uint64_t write_address = walker_.write_address() + (scatter ? row : 0);
  const bool serialised = is_serialised(read_address, write_address);
  if (serialised && wrote) return false;
  if (!source()->can_push(now)) return false;
  Slot& next = slot(next_read_);
  next.write_address = write_address;
  next.bytes = static_cast<uint32_t>(walker_.bytes());
  next.arrived = false;
  next.serialised = serialised;
  next.line = context().values() ? take_line() : nullptr;
  DmaRequest request;
  request.command = command_;
  request.index = next_read_;
  request.address = read_address;
  request.bytes = next.bytes;
  request.slot = static_cast<uint32_t>(next_read_ % slots_.size());
  request.line = next.line;
  set_item(command_, next_read_);
  Activity& activity = activities_.back();
  ++activity.requests;
  activity.bytes += next.bytes;
  if (walker_.begins_packet()) ++activity.packets;
  source()->push(now, DmaRequest(request));
  count_out();
  ++next_read_;
  walker_.next();
  return true;
}

void DmaEngine::end_segment(Cycle now) {
  if (++segment_ < segments_.size()) {
    begin_segment(now + 1);
    return;
  }
  active_ = false;
  activities_.back().ended = true;
  activities_.back().end = now + 1;
  context().monitor->command_finished(command_, now);
}

void DmaEngine::check_timeout(const DmaResponse& response, Cycle now) {
  if (timeout_told_ || now - response.arrived < parameters_.timeout) return;
  timeout_told_ = true;
  hazards_.push_back({response.arrived + parameters_.timeout, command_,
                      fmt::format("NoC timeout: {} {} of {} had no answer for {} cycles",
                                  response.write ? "write" : "read", response.index, unit_name(),
                                  parameters_.timeout)});
}

uint64_t DmaEngine::cluster_of(uint64_t dm_address) const {
  const MachineLimits& limits = context().program->limits;
  return dm_address / (limits.dm_slice_stride * limits.slices);
}

bool DmaEngine::is_serialised(uint64_t read_address, uint64_t write_address) const {
  if (from_ != to_) {
    return from_ == MemoryKind::kDm && to_ == MemoryKind::kHbm &&
           context().program->limits.dma_dm_to_hbm_in_turn;
  }
  return from_ == MemoryKind::kHbm || cluster_of(read_address) == cluster_of(write_address);
}

DmaLine* DmaEngine::take_line() {
  if (free_lines_.empty()) {
    const uint64_t bytes = context().program->limits.dma_request_bytes;
    lines_.push_back(std::make_unique<DmaLine>());
    lines_.back()->bytes.resize(bytes);
    lines_.back()->valid.resize(bytes);
    free_lines_.reserve(lines_.size());
    free_lines_.push_back(lines_.back().get());
  }
  DmaLine* line = free_lines_.back();
  free_lines_.pop_back();
  return line;
}

void DmaEngine::add_extra_counters(UnitCounters& counters) const {
  uint64_t requests = 0, bytes = 0, segments = 0, index_requests = 0;
  for (const Activity& activity : activities_) {
    requests += activity.requests;
    bytes += activity.bytes;
    segments += activity.segments;
    index_requests += activity.index_requests;
  }
  counters.extra.emplace_back("requests", requests);
  counters.extra.emplace_back("bytes", bytes);
  counters.extra.emplace_back("startups", segments);
  counters.extra.emplace_back("index_requests", index_requests);
}

std::string DmaEngine::waiting_for() const {
  switch (state()) {
    case UnitState::kBlocked:
      if (reads_index()) return fmt::format("space for an index of command {}", command_);
      return fmt::format("space for request {} of command {}", next_read_, command_);
    case UnitState::kStarved:
      if (reads_index()) return fmt::format("indices of command {}", command_);
      return fmt::format("answers of command {}: {} reads under way, {} writes", command_,
                         under_way(), unanswered_writes_);
    default:
      return "";
  }
}

}  // namespace rngdsim
