// SPDX-License-Identifier: Apache-2.0
// Machines that are broken on purpose: a Fetch Adapter or Cast Engine with a main path of one's
// own, and a kernel to run through it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "channel/unit.h"
#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/unit_types.h"
#include "tests/unit/sim/topology_text.h"

namespace rngdsim::test {

// Does in each cycle what `tick` says; the sub path is dead.
class TwoPathUnit final : public Unit {
 public:
  using Tick = std::function<void(TwoPathUnit&, Cycle)>;
  // `is_cast`: with the entries and the exit that the Cast Engine has besides, otherwise with the
  // exits of the Fetch Adapter; dead as well.
  TwoPathUnit(sc_core::sc_module_name name, Clock& clock, const RunContext& context, Tick tick,
              bool is_cast = false)
      : Unit(name, clock, context), tick_(std::move(tick)), is_cast_(is_cast) {}
  LinkIn<StreamItem> in{"in", "stream"};
  LinkOut<StreamItem> out{"out", "stream"};
  LinkIn<StreamItem> sub_in{"sub_in", "stream"};
  LinkOut<StreamItem> sub_out{"sub_out", "stream"};
  LinkIn<StreamItem> vector{"vector", "stream"};
  LinkIn<StreamItem> inter{"inter", "stream"};
  LinkOut<StreamItem> vrf{"vrf", "stream"};
  LinkOut<StreamItem> transpose{"transpose", "stream"};
  LinkOut<StreamItem> to_switch{"switch", "stream"};
  LinkOut<StreamItem> sub_to_switch{"sub_switch", "stream"};
  std::vector<PortBase*> ports() override {
    std::vector<PortBase*> all = {&in, &out, &sub_in, &sub_out};
    if (is_cast_) {
      all.insert(all.end(), {&vector, &inter, &vrf, &transpose});
    } else {
      all.insert(all.end(), {&to_switch, &sub_to_switch});
    }
    return all;
  }
  std::string waiting_for() const override {
    return state() == UnitState::kBlocked ? "better times" : "";
  }
  using Unit::set_item;
  using Unit::set_state;

 private:
  void tick(Cycle now) override { tick_(*this, now); }
  Tick tick_;
  bool is_cast_;
};

inline UnitTypes types_with(const std::string& replaced, TwoPathUnit::Tick tick) {
  UnitTypes types = unit_types();
  for (UnitType& type : types) {
    if (type.name != replaced) continue;
    const bool is_cast = replaced == "cast";
    type.make = [tick, is_cast](const char* name, Clock& clock, const RunContext& context,
                                const UnitParameters&) {
      return std::make_unique<TwoPathUnit>(name, clock, context, tick, is_cast);
    };
  }
  return types;
}

// Copies `flits` flits of 16 bf16 elements in all slices of one cluster: 263 + 13 + flits cycles.
inline Program copy_program(const TopologyDecl& topology, int flits, uint64_t delay = 0) {
  const std::string text =
      "kernel: copy\naxes: {S: 256, F: " + std::to_string(flits) +
      ", A: 16}\ntensors:\n"
      "  x: {memory: dm, dtype: bf16, slice: \"S\", element: \"F, A\", init: {random: {seed: 1}}}\n"
      "program:\n  - main:\n      from: x\n      delay: " +
      std::to_string(delay) +
      "\n      stages:\n"
      "        - fetch:       {time: \"F\", packet: \"A\"}\n"
      "        - collect:     {}\n"
      "        - commit_trim: {packet: \"A\"}\n"
      "        - commit:      {to: y, element: \"F, A\"}\n";
  Diagnostics diagnostics;
  const KernelDecl decl = parse_kernel(text, "copy.yaml", diagnostics);
  const MachineLimits limits = limits_from(topology, diagnostics);
  Program program = lower(decl, limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return program;
}

}  // namespace rngdsim::test
