// SPDX-License-Identifier: Apache-2.0
#include "engine/time_reducer.h"

#include <fmt/format.h>

#include <utility>

#include "engine/contraction.h"

namespace rngdsim {

TimeReducer::TimeReducer(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                         const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters) {}

void TimeReducer::tick(Cycle now) {
  blocked_ = false;
  // First, so that a slot whose last value drained in the cycle before can be overwritten in this
  // one.
  while (release->can_pop(now)) slots_.release(release->pop(now).slot);
  const bool taken = take_in(now);
  const bool put = put_out(now);
  if (taken || put) {
    set_state(UnitState::kBusy);
  } else if (blocked_) {
    set_state(UnitState::kBlocked, &out->consumer_unit());
  } else if (active_) {
    set_state(UnitState::kStarved, &in->producer_unit());
  } else {
    set_state(UnitState::kIdle);
  }
}

bool TimeReducer::take_in(Cycle now) {
  if (!in->can_pop(now)) return false;
  const Command& of = command(in->front().command);
  if (!of.time_reduce) return forward(now);
  if (command_ != of.id) {
    if (!slots_.empty()) {
      blocked_ = true;
      return false;
    }
    begin(of, now);
  }
  if (plan_.step().first && slots_.occupied(plan_.step().slot)) {
    blocked_ = true;
    return false;
  }
  active_ = true;
  count_in();
  StreamItem packet = in->pop(now);
  set_item(packet.command, packet.index);
  accumulate(of, std::move(packet));
  return true;
}

// A command without contract_time: its items pass once the results before them have gone.
bool TimeReducer::forward(Cycle now) {
  if (finished_count_ != 0 || !out->can_push(now)) {
    blocked_ = true;
    return false;
  }
  StreamItem item = in->pop(now);
  active_ = !item.last;
  set_item(item.command, item.index);
  out->push(now, std::move(item));
  count_in();
  count_out();
  return true;
}

void TimeReducer::begin(const Command& of, Cycle now) {
  const TimeReduceConfig& config = *of.time_reduce;
  if (config.slots > config.capacity) {
    invariant_broken(
        fmt::format("command {} needs {} slots, {} exist", of.id, config.slots, config.capacity),
        now);
  }
  if (of.lane_fold) {
    const uint64_t cells = of.lane_fold->interleaved
                               ? context().program->limits.lanes * of.lane_fold->columns
                               : of.lane_fold->lanes * parameters_.columns;
    if (config.capacity * cells > parameters_.cells) {
      invariant_broken(fmt::format("{} slots of {} cells for command {}, {} cells exist",
                                   config.capacity, cells, of.id, parameters_.cells),
                       now);
    }
  }
  command_ = of.id;
  plan_ = SlotPlan(config);
  results_ = 0;
  slots_.resize(config.capacity);
  if (finished_.size() < config.capacity) finished_.resize(config.capacity);
  finished_head_ = 0;
}

void TimeReducer::accumulate(const Command& of, StreamItem packet) {
  const SlotPlan::Step step = plan_.step();
  const uint32_t valid = packet.valid;
  if (step.first) {
    slots_.overwrite(step.slot, std::move(packet.values));
  } else {
    slots_.add(step.slot, packet.values, context().values() ? slices_used(context(), of) : 0);
  }
  if (step.last) {
    Result& result = finished_[(finished_head_ + finished_count_++) % finished_.size()];
    result = {of.id, results_, results_ + 1 == of.time_reduce->results, step.slot, valid};
    ++results_;
  }
  plan_.next();
  if (plan_.done()) command_.reset();
}

bool TimeReducer::put_out(Cycle now) {
  if (finished_count_ == 0) return false;
  if (!out->can_push(now)) {
    blocked_ = true;
    return false;
  }
  const Result& result = finished_[finished_head_];
  StreamItem item;
  item.command = result.command;
  item.index = result.index;
  item.last = result.last;
  item.slot = result.slot;
  item.valid = result.valid;
  item.values = slots_.sum(result.slot);
  out->push(now, std::move(item));
  count_out();
  // Without a Lane Folder nothing drains: the slot is free once its block has been handed on.
  if (!command(result.command).lane_fold) slots_.release(result.slot);
  if (result.last) active_ = command_.has_value();
  finished_head_ = (finished_head_ + 1) % finished_.size();
  --finished_count_;
  return true;
}

std::string TimeReducer::waiting_for() const {
  if (state() == UnitState::kBlocked) return "slots to be drained by " + out->consumer_unit();
  if (state() == UnitState::kStarved) return "packets of " + in->producer_unit();
  return "";
}

}  // namespace rngdsim
