// SPDX-License-Identifier: Apache-2.0
#include "engine/vector_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rngdsim {

VectorEngine::VectorEngine(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                           const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters) {}

void VectorEngine::begin(const Command& of) {
  command_ = of.id;
  config_ = &*of.vector;
  chain_.begin(*config_, context().pool, context().slices(), vrf_);
  port_ = config_->inter && !config_->inter_first ? &inter : &out;
  latency_ =
      chain_.alus() * parameters_.alu_latency + chain_.conversions() * parameters_.convert_latency;
  last_flit_ = false;
  flits_ = 0;
}

void VectorEngine::tick(Cycle now) {
  pushed_ = false;
  refused_by_ = nullptr;
  drain(now);
  const bool worked = step(now);
  drain(now);
  if (!pipeline_.empty() && pipeline_.front().ready > now) wake_at(pipeline_.front().ready);
  if (worked || pushed_) {
    set_state(UnitState::kBusy);
  } else if (refused_by_ != nullptr) {
    set_state(UnitState::kBlocked, refused_by_);
  } else if (command_ || !pipeline_.empty()) {
    set_state(UnitState::kStarved, &in->producer_unit());
  } else {
    set_state(UnitState::kIdle);
  }
}

// What has come to the end of the pipeline leaves, one a cycle.
void VectorEngine::drain(Cycle now) {
  if (pushed_ || refused_by_ != nullptr || pipeline_.empty()) return;
  Leaving& oldest = pipeline_.front();
  if (oldest.ready > now || refuses(*oldest.port, now)) return;
  (*oldest.port)->push(now, std::move(oldest.item));
  pipeline_.pop_front();
  count_out();
  pushed_ = true;
}

bool VectorEngine::refuses(LinkOut<StreamItem>& port, Cycle now) {
  if (port->can_push(now)) return false;
  refused_by_ = &port->consumer_unit();
  return true;
}

// Whether a result of this cycle finds a place. A refused pipeline closes its gaps before it stands
// still; one without length needs the link itself.
bool VectorEngine::has_room(Cycle now) {
  if (pipeline_.empty() && latency_ == 0 && !pushed_) return !refuses(*port_, now);
  return refused_by_ == nullptr || pipeline_.size() < std::max<uint64_t>(latency_, 1);
}

void VectorEngine::put(Cycle now, VectorDatapath::Result result) {
  StreamItem item;
  item.command = *command_;
  item.index = flits_++;
  item.last = flits_ == config_->results;
  if (item.last) context().monitor->command_passed(*command_, Pace::kVector, now);
  item.valid = result.valid;
  item.values = std::move(result.values);
  item.keep = std::move(result.keep);
  // Behind what is still there of a longer chain.
  last_ready_ = std::max(now + latency_, last_ready_ + 1);
  pipeline_.push_back({last_ready_, port_, std::move(item)});
}

// The second half of a flit goes first; only what makes no step comes in beside it.
bool VectorEngine::step(Cycle now) {
  if (!chain_.half_waits()) return take_flit(now);
  if (!take_half(now)) return false;
  if (command_ && chain_.holds_next_flit()) take_flit(now);
  return true;
}

bool VectorEngine::take_flit(Cycle now) {
  if (!in->can_pop(now)) return false;
  if (!command_) begin(command(in->front().command));
  if (chain_.flit_emits() && !has_room(now)) return false;
  set_item(in->front().command, in->front().index);
  last_flit_ = in->front().last;
  const bool stays = chain_.flit_stays();
  auto result = chain_.take_flit(stays ? in->front() : in->pop(now));
  if (!stays) count_in();
  if (result) put(now, std::move(*result));
  if (last_flit_ && !chain_.half_waits()) command_.reset();
  return true;
}

bool VectorEngine::take_half(Cycle now) {
  if (chain_.half_emits() && !has_room(now)) return false;
  auto result = chain_.take_half();
  if (chain_.flit_stays()) {
    in->pop(now);
    count_in();
  }
  if (result) put(now, std::move(*result));
  if (last_flit_) command_.reset();
  return true;
}

std::string VectorEngine::waiting_for() const {
  switch (state()) {
    case UnitState::kBlocked:
      return pipeline_.empty()
                 ? fmt::format("space for result {} of command {}", flits_, *command_)
                 : fmt::format("space for result {} of command {}", pipeline_.front().item.index,
                               pipeline_.front().item.command);
    case UnitState::kStarved:
      return command_ ? fmt::format("the next flit of command {}", *command_)
                      : "the end of its pipeline";
    default:
      return "";
  }
}

}  // namespace rngdsim
