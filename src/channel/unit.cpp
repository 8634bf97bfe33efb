// SPDX-License-Identifier: Apache-2.0
#include "channel/unit.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/diagnostic.h"

namespace rngdsim {

const char* name(UnitState state) {
  static constexpr std::array<const char*, kUnitStates> kNames = {"busy", "conflict", "blocked",
                                                                  "starved", "idle"};
  return kNames[static_cast<size_t>(state)];
}

Unit::Unit(sc_core::sc_module_name name, Clock& clock, const RunContext& context)
    : sc_core::sc_module(name),
      clock_(clock),
      context_(context),
      unit_name_(sc_core::sc_module::name()) {
  SC_HAS_PROCESS(Unit);
  SC_METHOD(method);
  dont_initialize();
  sensitive << event_;
  // Nothing shall allocate in the cycle loop.
  bookings_.reserve(8);
  blamed_.reserve(8);
}

void Unit::method() {
  try {
    evaluate(clock_.now());
  } catch (...) {
    clock_.fail(std::current_exception());
  }
}

void Unit::evaluate(Cycle now) {
  last_tick_ = now;
  state_is_set_ = false;
  tick(now);
  if (!state_is_set_) invariant_broken("the tick ended without a state", now);
  // A busy unit may have another item in the next cycle, or must then tell what it waits for.
  if (state_ == UnitState::kBusy) clock_.wake(*this, now + 1);
  if (observer_ != nullptr) observer_->touched(observer_id_, now);
}

UnitState Unit::state_in(Cycle cycle) const {
  if (state_ == UnitState::kBusy || state_ == UnitState::kIdle) return state_;
  for (auto booking = bookings_.rbegin(); booking != bookings_.rend(); ++booking) {
    if (booking->end <= cycle) break;
    if (booking->begin <= cycle) return UnitState::kConflict;
  }
  return state_;
}

void Unit::second_state() const { invariant_broken("a second state in one tick", last_tick_); }

uint64_t& Unit::blame_entry(const std::string* unit) {
  for (auto& entry : blamed_) {
    if (entry.first == unit) return entry.second;
  }
  return blamed_.emplace_back(unit, 0).second;
}

// The cycles until `end` that count as conflicts where the state yields to them.
uint64_t Unit::account_conflicts(Cycle end, bool yields) {
  uint64_t conflicts = 0;
  size_t kept = 0;
  for (Booking& booking : bookings_) {
    const Cycle stop = std::min(booking.end, end);
    if (stop > booking.begin) {
      if (yields) {
        const uint64_t lost = stop - booking.begin;
        blame_entry(booking.winner) += lost;
        conflicts += lost;
      }
      booking.begin = stop;
    }
    if (booking.begin < booking.end) bookings_[kept++] = booking;
  }
  bookings_.resize(kept);
  counters_.cycles[static_cast<size_t>(UnitState::kConflict)] += conflicts;
  return conflicts;
}

void Unit::account(Cycle end) {
  uint64_t cycles = end - state_since_;
  const bool yields = state_ != UnitState::kBusy && state_ != UnitState::kIdle;
  if (!bookings_.empty()) cycles -= account_conflicts(end, yields);
  counters_.cycles[static_cast<size_t>(state_)] += cycles;
  if (yields && blame_ != nullptr && cycles > 0) blame_entry(blame_) += cycles;
  state_since_ = end;
}

void Unit::book_conflict(Cycle cycle, const Unit& winner) {
  if (cycle < state_since_) invariant_broken("a conflict booked for a cycle that is closed", cycle);
  if (!bookings_.empty() && bookings_.back().end > cycle) return;  // a cycle is lost only once
  if (observer_ != nullptr) observer_->touched(observer_id_, cycle);
  if (!bookings_.empty() && bookings_.back().end == cycle &&
      bookings_.back().winner == &winner.unit_name_) {
    ++bookings_.back().end;
    return;
  }
  bookings_.push_back({cycle, cycle + 1, &winner.unit_name_});
}

void Unit::finish(Cycle end) {
  account(end);
  for (const auto& [unit, cycles] : blamed_) {
    const auto same = std::find_if(counters_.blamed.begin(), counters_.blamed.end(),
                                   [name = unit](const auto& b) { return b.first == *name; });
    if (same != counters_.blamed.end()) {
      same->second += cycles;
    } else {
      counters_.blamed.emplace_back(*unit, cycles);
    }
  }
  blamed_.clear();
  add_extra_counters(counters_);
}

void Unit::invariant_broken(const std::string& what, Cycle now) const {
  throw InternalError(fmt::format("unit {}, cycle {}: {}", unit_name_, now, what));
}

}  // namespace rngdsim
