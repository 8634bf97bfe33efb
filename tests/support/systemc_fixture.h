// SPDX-License-Identifier: Apache-2.0
// For tests of clocked units: a fresh SystemC context a test, a clock, a program of one's own, a
// monitor that records, and units that drive and collect items.
//
// SystemC is process-wide and deleting a context that has run crashes at exit: the first is kept
// for ever, like all others.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include "channel/clock.h"
#include "channel/unit.h"

namespace rngdsim::test {

class RecordingMonitor final : public RunMonitor {
 public:
  void command_finished(CommandId command, Cycle cycle) override {
    finished.emplace_back(command, cycle);
    if (on_finished) on_finished(command, cycle);
  }
  void failure(MachineFailure failure) override { failures.push_back(std::move(failure)); }
  void sink_item(const StreamItem& item, Cycle cycle) override {
    sink_items.emplace_back(cycle, item);
  }
  std::vector<std::pair<CommandId, Cycle>> finished;
  std::vector<MachineFailure> failures;
  std::vector<std::pair<Cycle, StreamItem>> sink_items;
  std::function<void(CommandId, Cycle)> on_finished;
};

// Pushes each given item into `out` in its cycle or, where there is no space, as soon as there is
// some.
template <typename T>
class Driver final : public Unit {
 public:
  Driver(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
         std::string item = "stream")
      : Unit(name, clock, context), out("out", std::move(item)) {}
  LinkOut<T> out;
  std::vector<PortBase*> ports() override { return {&out}; }

  // Cycles must not descend.
  void push_at(Cycle cycle, T item) {
    schedule_.emplace_back(cycle, std::move(item));
    wake_at(cycle);
  }
  std::vector<Cycle> pushed;  // the cycles in which the items went out

 private:
  void tick(Cycle now) override {
    if (next_ == schedule_.size() || schedule_[next_].first > now) {
      set_state(UnitState::kIdle);
    } else if (out->can_push(now)) {
      out->push(now, std::move(schedule_[next_++].second));
      count_out();
      pushed.push_back(now);
      set_state(UnitState::kBusy);
    } else {
      set_state(UnitState::kBlocked, &out->consumer_unit());
    }
  }
  std::vector<std::pair<Cycle, T>> schedule_;
  size_t next_ = 0;
};

// Pops one item a cycle, not before `first_cycle` and only where `may_pop` says yes, and records
// it.
template <typename T>
class Collector final : public Unit {
 public:
  Collector(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
            std::string item = "stream")
      : Unit(name, clock, context), in("in", std::move(item)) {}
  LinkIn<T> in;
  std::vector<PortBase*> ports() override { return {&in}; }

  Cycle first_cycle = 0;
  std::function<bool(Cycle)> may_pop;
  std::vector<std::pair<Cycle, T>> received;
  std::vector<Cycle> cycles() const {
    std::vector<Cycle> result;
    for (const auto& entry : received) result.push_back(entry.first);
    return result;
  }

 private:
  void tick(Cycle now) override {
    if (!in->can_pop(now)) {
      set_state(UnitState::kIdle);
      return;
    }
    if (now < first_cycle || (may_pop && !may_pop(now))) {
      wake_at(now < first_cycle ? first_cycle : now + 1);
      set_state(UnitState::kIdle);
      return;
    }
    received.emplace_back(now, in->pop(now));
    count_in();
    set_state(UnitState::kBusy);
  }
};

class SystemCTest : public testing::Test {
 protected:
  void SetUp() override {
    // Kept for ever, see above, and reachable.
    static auto* const kKept = new std::vector<sc_core::sc_simcontext*>;
    kKept->push_back(new sc_core::sc_simcontext);
    sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = kKept->back();
    clock_ = std::make_unique<Clock>("clock", sc_core::sc_time(1, sc_core::SC_NS));
    context_.program = &program_;
    context_.monitor = &monitor_;
  }
  // Values of `slices` slices travel with the items; without a call none do (timing only).
  void simulate_values(uint32_t slices) {
    pool_ = std::make_unique<BlockPool>(slices);
    context_.pool = pool_.get();
  }
  // Adds a command to the program and returns it for completion; its id is its place.
  Command& add_command() {
    Command command;
    command.id = static_cast<CommandId>(program_.commands.size());
    program_.commands.push_back(std::move(command));
    context_.command_live.emplace_back();
    return program_.commands.back();
  }

  // Joins two ports by a link of their names ("unit.port->unit.port") and binds both.
  LinkBase& connect(Unit& producer, PortBase& from, Unit& consumer, PortBase& to,
                    uint64_t latency = 1, uint64_t depth = 0) {
    std::unique_ptr<LinkBase> link = from.make_link(
        producer.unit_name() + "." + from.name() + "->" + consumer.unit_name() + "." + to.name(),
        latency, depth == 0 ? std::max<uint64_t>(2, latency + 1) : depth);
    EXPECT_TRUE(from.bind(link.get())) << link->name();
    EXPECT_TRUE(to.bind(link.get())) << link->name();
    link->connect(&producer, &consumer);
    links_.push_back(std::move(link));
    return *links_.back();
  }

  // Runs until nothing is awake any more; returns the first quiet cycle.
  Cycle run() {
    Cycle quiet = 0;
    clock_->set_on_quiet([&quiet](Cycle cycle) { quiet = cycle; });
    sc_core::sc_start();
    clock_->rethrow();
    return quiet;
  }

  std::unique_ptr<BlockPool> pool_;  // first: the monitor and the links hold its blocks
  Program program_;
  RecordingMonitor monitor_;
  RunContext context_;
  std::vector<std::unique_ptr<LinkBase>> links_;
  std::unique_ptr<Clock> clock_;
};

}  // namespace rngdsim::test
