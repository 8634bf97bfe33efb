// SPDX-License-Identifier: Apache-2.0
// What every unit of the machine is: a SystemC module with one method that its clock calls once a
// cycle while it is awake, and a state in every cycle of the run.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <systemc>
#include <vector>

#include "channel/clock.h"
#include "channel/item.h"
#include "channel/link.h"
#include "channel/observer.h"
#include "command/program.h"

namespace rngdsim {

// A unit is in exactly one state in each cycle; where several hold, the first of this list.
enum class UnitState : uint8_t {
  kBusy,      // took in or put out an item
  kConflict,  // lost an arbitration
  kBlocked,   // an item ready, no space
  kStarved,   // none of these, between its first and last item of a command
  kIdle,      // outside of that
};
constexpr size_t kUnitStates = 5;
const char* name(UnitState state);

// Something the simulated machine did wrong (not the input, not the simulator).
struct MachineFailure {
  std::string kind;  // "poison", "wrong value", "deadlock", "out of range"
  std::string unit;
  Cycle cycle = 0;
  CommandId command = 0;
  std::string message;  // names tensor and index where there is one
};

// What units tell the run.
class RunMonitor {
 public:
  virtual ~RunMonitor() = default;
  // The last write of `command` has landed, or its last item has reached the sink, in `cycle`.
  virtual void command_finished(CommandId command, Cycle cycle) = 0;
  // The last item of `command` has left the unit that `pace` names, in `cycle`.
  virtual void command_passed(CommandId /*command*/, Pace /*pace*/, Cycle /*cycle*/) {}
  virtual void failure(MachineFailure failure) = 0;
  // An item of a command without commit, to_trf or to_vrf has reached the end of its chain.
  virtual void sink_item(const StreamItem& item, Cycle cycle) = 0;
};

// A unit from which commands start: a fetch sequencer or a stream source.
class CommandSource {
 public:
  virtual ~CommandSource() = default;
  // The command's first access (or item) may happen in `cycle`, not before. Called by the
  // dispatcher before the units of some cycle <= `cycle` run; one command at a time.
  virtual void start(CommandId command, Cycle cycle) = 0;
};

// What all units of a run share. Outlives them.
struct RunContext {
  const Program* program = nullptr;
  BlockPool* pool = nullptr;  // null: values are not simulated
  RunMonitor* monitor = nullptr;
  // The slices that are simulated, numbered cluster * slices + slice: all of the program's clusters
  // (count 0), or `slice_count` from `first_slice` on. Entry i of blocks and flags is slice
  // first_slice + i.
  uint32_t first_slice = 0, slice_count = 0;
  // Each cluster has a tensor unit of its own, with a context of its own; units that serve the
  // whole chip have one in which this is set. Blocks then hold the slices of one cluster.
  bool clusters_apart = false;
  std::vector<RunMonitor*> cluster_monitors;  // there, by cluster, for what belongs to one
  // live[tensor or command][entry]: 0 where the spatial mappings hold padding. Memories and units
  // treat such slices as don't-care: never poison, never written.
  // A switch moves values to other slices: source_live is before it, command_live behind it.
  std::vector<std::vector<uint8_t>> tensor_live, command_live, source_live;
  uint32_t slices() const {
    return slice_count != 0
               ? slice_count
               : static_cast<uint32_t>(program->limits.clusters * program->limits.slices);
  }
  bool values() const { return pool != nullptr; }
  const Command& command(CommandId id) const { return program->commands[id]; }
};

struct UnitCounters {
  std::array<uint64_t, kUnitStates> cycles{};  // by UnitState
  uint64_t items_in = 0, items_out = 0;
  std::vector<std::pair<std::string, uint64_t>> blamed;  // unit -> cycles, in order of first blame
  std::vector<std::pair<std::string, uint64_t>> extra;   // counters of this unit type
};

class Unit : public sc_core::sc_module, public Wakeable {
 public:
  Unit(sc_core::sc_module_name name, Clock& clock, const RunContext& context);

  // The ports by the names of the topology file, in the order of its type table.
  virtual std::vector<PortBase*> ports() = 0;
  // Called once after all ports are bound.
  virtual void elaborated() {}
  const std::string& unit_name() const { return unit_name_; }

  void wake_at(Cycle cycle) override { clock_.wake(*this, cycle); }
  // One cycle: read the inputs, decide, write the outputs, and end in exactly one `set_state`.
  // The clock calls it through `evaluate`.
  void evaluate(Cycle now);

  // An arbitration that this unit lost in the present `cycle` (called by memories, before or after
  // its tick). Counts where the unit is neither busy nor idle in that cycle.
  void book_conflict(Cycle cycle, const Unit& winner);
  // Closes the books at the end of the run: states up to `end` (one past the last cycle).
  void finish(Cycle end);
  // Final after finish().
  const UnitCounters& counters() const { return counters_; }
  UnitState state() const { return state_; }
  // The unit blamed for that state; null: none.
  const std::string* blamed_unit() const { return blame_; }
  // The state that counts for `cycle`, the last one that all units have run: a lost arbitration
  // goes before what the unit itself found.
  UnitState state_in(Cycle cycle) const;
  // The item that the unit has last worked on, by its command and its place in Time.
  CommandId item_command() const { return item_command_; }
  uint64_t item_index() const { return item_index_; }
  // What an observer may see of this type besides, in the last cycle that all units have run.
  struct Signal {
    std::string name;
    uint32_t bits;
    std::function<uint64_t(Cycle)> value;
  };
  virtual std::vector<Signal> signals() const { return {}; }
  // Tells `observer` from now on what happens, as unit number `id`. Null: nobody.
  void observe(RunObserver* observer, uint32_t id) {
    observer_ = observer;
    observer_id_ = id;
  }
  // Counters that this type adds to the report.
  virtual void add_extra_counters(UnitCounters& /*counters*/) const {}
  // For reports of a stuck machine: what the unit waits for; empty where idle.
  virtual std::string waiting_for() const { return ""; }

 protected:
  virtual void tick(Cycle now) = 0;
  // The state of the present cycle, and whom to blame where it is not busy or idle. The state holds
  // on until the next tick: a unit that is not busy sleeps until a link (or wake_at) wakes it.
  void set_state(UnitState state, const std::string* blame = nullptr);
  // What the present tick worked on; holds on until the next call.
  void set_item(CommandId command, uint64_t index) {
    item_command_ = command;
    item_index_ = index;
  }
  void count_in(uint64_t n = 1) { counters_.items_in += n; }
  void count_out(uint64_t n = 1) { counters_.items_out += n; }
  const RunContext& context() const { return context_; }
  const Command& command(CommandId id) const { return context_.command(id); }
  Clock& clock() const { return clock_; }
  [[noreturn]] void invariant_broken(const std::string& what, Cycle now) const;

 private:
  friend class Clock;
  [[noreturn]] void second_state() const;
  struct Booking {
    Cycle begin, end;
    const std::string* winner;
  };
  void method();
  void account(Cycle end);
  uint64_t account_conflicts(Cycle end, bool yields);
  uint64_t& blame_entry(const std::string* unit);

  Clock& clock_;
  const RunContext& context_;
  std::string unit_name_;
  sc_core::sc_event event_;
  Cycle last_tick_ = ~Cycle{0};
  bool state_is_set_ = false;  // in the present tick
  bool queued_ = false;        // in the clock's awake list
  Cycle queued_for_ = 0;
  UnitState state_ = UnitState::kIdle;
  const std::string* blame_ = nullptr;
  Cycle state_since_ = 0;
  CommandId item_command_ = 0;
  uint64_t item_index_ = 0;
  RunObserver* observer_ = nullptr;
  uint32_t observer_id_ = 0;
  std::vector<Booking> bookings_;
  // Cycles by the name blamed, in order of first blame: by address, since names live in units and
  // links and one unit may be known by several of them.
  std::vector<std::pair<const std::string*, uint64_t>> blamed_;
  UnitCounters counters_;
};

// Here, since every item on a link asks for it.
inline void Clock::wake(Unit& unit, Cycle cycle) {
  const Cycle next = running_cycle_ ? now_ + 1 : now_;
  if (cycle > next) return wake_later(unit, cycle);
  if (unit.queued_) return;
  unit.queued_ = true;
  awake_.push_back(&unit);
}

inline void Unit::set_state(UnitState state, const std::string* blame) {
  if (state_is_set_) second_state();
  state_is_set_ = true;
  if (state == state_ && blame == blame_) return;
  account(last_tick_);
  state_ = state;
  blame_ = blame;
}

}  // namespace rngdsim
