// SPDX-License-Identifier: Apache-2.0
#include "engine/inter_slice_reducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rngdsim {

InterSliceReducer::InterSliceReducer(sc_core::sc_module_name name, Clock& clock,
                                     const RunContext& context, const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters) {}

void InterSliceReducer::tick(Cycle now) {
  blocked_ = false;
  const bool put = put_out(now);
  const bool took = take_in(now, put);
  if (put || took) {
    set_state(UnitState::kBusy);
  } else if (blocked_) {
    set_state(UnitState::kBlocked, &to_->consumer_unit());
  } else if (command_) {
    // Results on their way round the ring keep everybody waiting, not those who deliver.
    set_state(UnitState::kStarved, in_flight_.empty() ? &(*from_)->producer_unit() : &unit_name());
  } else {
    set_state(UnitState::kIdle);
  }
  // A blocked unit is woken by the link that has no space.
  if (!in_flight_.empty() && !blocked_) wake_at(std::max(in_flight_.front().ready, now + 1));
}

bool InterSliceReducer::put_out(Cycle now) {
  if (in_flight_.empty() || in_flight_.front().ready > now) return false;
  if (!to_->can_push(now)) {
    blocked_ = true;
    return false;
  }
  StreamItem item = std::move(in_flight_.front().item);
  in_flight_.pop_front();
  push(now, std::move(item));
  return true;
}

void InterSliceReducer::push(Cycle now, StreamItem item) {
  set_item(item.command, item.index);
  if (++results_ == config_->results) {
    item.last = true;
    context().monitor->command_passed(item.command, Pace::kInterSlice, now);
    command_.reset();
  }
  to_->push(now, std::move(item));
  count_out();
}

LinkIn<StreamItem>* InterSliceReducer::port_with_item(Cycle now) {
  for (LinkIn<StreamItem>* port : {&in, &sub_in, &vector}) {
    if ((*port)->can_pop(now)) return port;
  }
  return nullptr;
}

void InterSliceReducer::begin(const Command& of, LinkIn<StreamItem>* from) {
  command_ = of.id;
  config_ = &*of.vector->inter;
  from_ = from;
  to_ = of.vector->inter_first && of.vector->chain ? chain.get() : out.get();
  const bool from_contraction = of.outer && (of.vector->inter_first || !of.vector->chain);
  tail_ = (config_->ratio - 1) *
          (from_contraction ? parameters_.hop_cycles_contraction : parameters_.hop_cycles);
  taken_ = results_ = 0;
  fold_.begin(*config_, context().pool);
}

bool InterSliceReducer::take_in(Cycle now, bool put) {
  LinkIn<StreamItem>* port = port_with_item(now);
  if (port == nullptr) return false;
  const StreamItem& flit = (*port)->front();
  if (!command_) begin(command(flit.command), port);
  if (flit.command != *command_ || port != from_) {
    invariant_broken(
        fmt::format("a flit of command {} comes in during command {}", flit.command, *command_),
        now);
  }
  // As many are on their way at full rate as the tail has cycles.
  const bool completes = fold_.completes(flit.index);
  if (completes && (tail_ == 0 ? !to_->can_push(now) : in_flight_.size() == tail_)) {
    blocked_ = true;
    return false;
  }
  const StreamItem taken = (*port)->pop(now);
  count_in();
  if (taken.last != (++taken_ == config_->flits)) {
    invariant_broken(fmt::format("flit {} of {} of command {} is {}the last", taken_,
                                 config_->flits, taken.command, taken.last ? "" : "not "),
                     now);
  }
  auto result = fold_.take(taken.index, taken.values ? &*taken.values : nullptr);
  if (!put) set_item(taken.command, taken.index);  // the item shown is the result's
  if (!result) return true;
  StreamItem item;
  item.command = taken.command;
  item.index = result->position;
  item.valid = taken.valid;
  item.values = std::move(result->values);
  if (tail_ == 0) {
    push(now, std::move(item));
  } else {
    in_flight_.push_back({now + tail_, std::move(item)});
  }
  return true;
}

std::string InterSliceReducer::waiting_for() const {
  switch (state()) {
    case UnitState::kBlocked:
      return fmt::format("space for result {} of command {}", results_, *command_);
    case UnitState::kStarved:
      return taken_ == config_->flits ? fmt::format("result {} on its way", results_)
                                      : fmt::format("the next flit of command {}", *command_);
    default:
      return "";
  }
}

}  // namespace rngdsim
