// SPDX-License-Identifier: Apache-2.0
#include "channel/clock.h"

#include <algorithm>

#include "channel/unit.h"

namespace rngdsim {

Clock::Clock(sc_core::sc_module_name name, sc_core::sc_time period)
    : sc_core::sc_module(name), period_(period) {
  SC_HAS_PROCESS(Clock);
  SC_METHOD(edge);                // runs at time 0: cycle 0
  constexpr size_t kUnits = 256;  // room for as many; more only cost an allocation now and then
  heap_.reserve(kUnits);
  awake_.reserve(kUnits);
  evaluating_.reserve(kUnits);
}

void Clock::wake_later(Unit& unit, Cycle cycle) {
  heap_.push_back({cycle, order_++, &unit});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void Clock::wake_hooks(Cycle cycle) {
  heap_.push_back({cycle, order_++, nullptr});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void Clock::collect_due() {
  while (!heap_.empty() && heap_.front().cycle <= now_) {
    Unit* unit = heap_.front().unit;
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    if (unit != nullptr && !unit->queued_) {
      unit->queued_ = true;
      awake_.push_back(unit);
    }
  }
}

void Clock::fail(std::exception_ptr error) {
  if (error_ == nullptr) error_ = std::move(error);
  stop();
}

void Clock::rethrow() const {
  if (error_ != nullptr) std::rethrow_exception(error_);
}

void Clock::edge() {
  try {
    advance();
  } catch (...) {
    fail(std::current_exception());
  }
}

void Clock::advance() {
  now_ = next_cycle_;
  running_cycle_ = false;
  if (stopped_) return;
  collect_due();
  for (const auto& hook : hooks_) hook(now_);
  if (stopped_) return;
  collect_due();
  if (awake_.empty() && heap_.empty()) {
    // Nothing will ever happen again; the kernel runs out of events and sc_start returns.
    if (on_quiet_) on_quiet_(now_);
    return;
  }
  next_cycle_ = awake_.empty() ? heap_.front().cycle : now_ + 1;
  evaluating_.swap(awake_);
  running_cycle_ = true;
  // Before any of them runs: what one does may wake another for the next cycle.
  for (Unit* unit : evaluating_) unit->queued_ = false;
  for (Unit* unit : evaluating_) {
    if (direct_) {
      unit->method();
    } else {
      unit->event_.notify();  // immediate: the unit runs in this evaluation phase
    }
  }
  evaluating_.clear();
  next_trigger(period_ * static_cast<double>(next_cycle_ - now_));
}

}  // namespace rngdsim
