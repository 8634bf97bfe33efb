// SPDX-License-Identifier: Apache-2.0
#include "memory/vrf.h"

#include <fmt/format.h>

namespace rngdsim {
namespace {

constexpr uint64_t kElementBytes = 4;  // i32 and f32 only [B]

}  // namespace

Vrf::Vrf(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
         const Parameters& /*parameters*/)
    : Unit(name, clock, context),
      storage_(*context.program, context.values() ? context.pool->slices() : 0,
               context.tensor_live),
      stores_{{{&main_store}, {&sub_store}, {&vector_store}}} {}

void Vrf::tick(Cycle now) {
  bool stored = false;
  const StorePort* waiting = nullptr;
  // The item shown is that of the first port that has one.
  for (auto port = stores_.rbegin(); port != stores_.rend(); ++port) {
    if ((*port->link)->can_pop(now)) {
      store(*port, now);
      stored = true;
    } else if (port->active) {
      waiting = &*port;
    }
  }
  if (stored) {
    set_state(UnitState::kBusy);
  } else if (waiting != nullptr) {
    set_state(UnitState::kStarved, &(*waiting->link)->producer_unit());
  } else {
    set_state(UnitState::kIdle);
  }
}

void Vrf::store(StorePort& port, Cycle now) {
  const StreamItem flit = (*port.link)->pop(now);
  const auto& config = command(flit.command).to_vrf;
  if (!config) {
    invariant_broken(fmt::format("command {} stores into the VRF without to_vrf", flit.command),
                     now);
  }
  set_item(flit.command, flit.index);
  storage_.store(config->tensor, flit.index * config->flit_elements,
                 static_cast<uint32_t>(config->flit_elements),
                 flit.values ? &*flit.values : nullptr);
  bytes_written_ += config->flit_elements * kElementBytes;
  port.active = !flit.last;
  count_in();
  if (flit.last) context().monitor->command_finished(flit.command, now);
}

void Vrf::read(TensorId tensor, uint64_t element, uint32_t* bits, uint8_t* valid) const {
  bytes_read_ += kElementBytes;
  storage_.read(tensor, element, bits, valid);
}

void Vrf::add_extra_counters(UnitCounters& counters) const {
  counters.extra.emplace_back("vrf_read", bytes_read_);
  counters.extra.emplace_back("vrf_write", bytes_written_);
}

std::string Vrf::waiting_for() const {
  return state() == UnitState::kStarved ? "flits of " + *blamed_unit() : "";
}

}  // namespace rngdsim
