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
  from_hbm_ = context().program->tensors[next.dma->from].memory == MemoryKind::kHbm;
  to_hbm_ = context().program->tensors[next.dma->to].memory == MemoryKind::kHbm;
  segment_ = 0;
  next_read_ = next_write_ = 0;
  timeout_told_ = false;
  activities_.emplace_back();
  activities_.back().command = id;
  begin_segment(cycle);
}

void DmaEngine::begin_segment(Cycle cycle) {
  const MachineLimits& limits = context().program->limits;
  walker_ = DmaWalker(config().segments[segments_[segment_]], limits.dma_request_bytes);
  const uint64_t access = from_hbm_ ? parameters_.first_access_hbm : parameters_.first_access_dm;
  first_request_ = cycle + limits.dma_startup - std::min(limits.dma_startup, access);
  first_data_ = cycle + limits.dma_startup;
  ++activities_.back().segments;
  wake_at(first_request_);
  wake_at(first_data_);
}

void DmaEngine::tick(Cycle now) {
  moved_serialised_ = false;
  const bool head_waits = under_way() > 0 && slot(next_write_).arrived;
  const bool write_first = head_waits && slot(next_write_).serialised && target()->can_push(now);
  bool moved = take_answers(now, !write_first && now >= first_data_);
  const bool wrote = write(now);
  moved = wrote || moved;
  const bool asked = read(now, wrote);
  moved = asked || moved;
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
  for (LinkIn<DmaResponse>* port : {&hbm_data, &dm_data}) {
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
  const bool serialised = is_serialised(walker_.read_address(), walker_.write_address());
  if (serialised && wrote) return false;
  if (!source()->can_push(now)) return false;
  Slot& next = slot(next_read_);
  next.write_address = walker_.write_address();
  next.bytes = static_cast<uint32_t>(walker_.bytes());
  next.arrived = false;
  next.serialised = serialised;
  next.line = context().values() ? take_line() : nullptr;
  DmaRequest request;
  request.command = command_;
  request.index = next_read_;
  request.address = walker_.read_address();
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
  if (from_hbm_ != to_hbm_) {
    return to_hbm_ && context().program->limits.dma_dm_to_hbm_in_turn;
  }
  return from_hbm_ || cluster_of(read_address) == cluster_of(write_address);
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
  uint64_t requests = 0, bytes = 0, segments = 0;
  for (const Activity& activity : activities_) {
    requests += activity.requests;
    bytes += activity.bytes;
    segments += activity.segments;
  }
  counters.extra.emplace_back("requests", requests);
  counters.extra.emplace_back("bytes", bytes);
  counters.extra.emplace_back("startups", segments);
}

std::string DmaEngine::waiting_for() const {
  switch (state()) {
    case UnitState::kBlocked:
      return fmt::format("space for request {} of command {}", next_read_, command_);
    case UnitState::kStarved:
      return fmt::format("answers of command {}: {} reads under way, {} writes", command_,
                         under_way(), unanswered_writes_);
    default:
      return "";
  }
}

}  // namespace rngdsim
