// SPDX-License-Identifier: Apache-2.0
// The clock of one domain: notifies the units that are awake and keeps a wake-up heap for the rest.
//
// One SC_METHOD a domain; no sc_clock, no static sensitivity. Where nothing is awake, time jumps to
// the next wake-up. Before the units of a cycle run, the hooks see that every unit of the cycles
// before has run: state that several units feed (which commands have ended) is judged there, so
// that the order of units cannot matter.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <systemc>
#include <vector>

#include "channel/link.h"

namespace rngdsim {

class Unit;

class Clock : public sc_core::sc_module {
 public:
  Clock(sc_core::sc_module_name name, sc_core::sc_time period);

  Cycle now() const { return now_; }
  // Ticks `unit` in `cycle`, once however often asked; while the units of a cycle run, the earliest
  // is the next one.
  void wake(Unit& unit, Cycle cycle);
  // Runs before the units of every evaluated cycle.
  void add_hook(std::function<void(Cycle)> hook) { hooks_.push_back(std::move(hook)); }
  // Makes a cycle evaluated (hooks) though no unit may be awake in it.
  void wake_hooks(Cycle cycle);
  // Called where no unit is awake and no wake-up is left (end of the program, or deadlock), in the
  // first cycle in which that is so. The simulation then ends: sc_start returns.
  void set_on_quiet(std::function<void(Cycle)> handler) { on_quiet_ = std::move(handler); }
  // Calls the units in a plain loop from now on instead of through SystemC's scheduler. Nothing may
  // depend on it: it shows what SystemC costs.
  void call_units_directly() { direct_ = true; }
  // Ends the simulation: from a hook before the units of the present cycle, from a unit after them.
  void stop() { stopped_ = true; }
  // Keeps what a hook or a unit has thrown and ends the simulation: SystemC would turn it into a
  // report of its own. Whoever called sc_start must call rethrow() after it.
  void fail(std::exception_ptr error);
  void rethrow() const;

 private:
  struct WakeUp {
    Cycle cycle;
    uint64_t order;
    Unit* unit;  // null: hooks only
    bool operator>(const WakeUp& o) const {
      return cycle != o.cycle ? cycle > o.cycle : order > o.order;
    }
  };
  void wake_later(Unit& unit, Cycle cycle);
  void edge();
  void advance();
  void collect_due();

  sc_core::sc_time period_;
  Cycle now_ = 0;
  Cycle next_cycle_ = 0;
  bool running_cycle_ = false;  // the units of now_ are being evaluated
  bool stopped_ = false;
  bool direct_ = false;
  std::exception_ptr error_;
  uint64_t order_ = 0;
  std::vector<Unit*> awake_;  // to tick in the cycle that comes next
  std::vector<Unit*> evaluating_;
  std::vector<WakeUp> heap_;
  std::vector<std::function<void(Cycle)>> hooks_;
  std::function<void(Cycle)> on_quiet_;
};

}  // namespace rngdsim
