// SPDX-License-Identifier: Apache-2.0
#include "engine/multiplier.h"

#include <fmt/format.h>

#include <utility>

#include "engine/contraction.h"

namespace rngdsim {

Multiplier::Multiplier(sc_core::sc_module_name name, Clock& clock, const RunContext& context)
    : Unit(name, clock, context), activity_(context.program->commands.size()) {}

Multiplier::Activity Multiplier::activity(CommandId command) const {
  return command < activity_.size() ? activity_[command] : Activity{};
}

void Multiplier::tick(Cycle now) {
  const bool has_packet = stream->can_pop(now);
  const bool contracts = has_packet && command(stream->front().command).outer.has_value();
  if (!has_packet || (contracts && !trf->can_pop(now))) {
    if (!active_ && !has_packet) {
      set_state(UnitState::kIdle);
    } else {
      set_state(UnitState::kStarved, has_packet ? &trf->producer_unit() : &stream->producer_unit());
    }
    return;
  }
  if (!out->can_push(now)) {
    set_state(UnitState::kBlocked, &out->consumer_unit());
    return;
  }
  StreamItem item = stream->pop(now);
  active_ = !item.last;
  set_item(item.command, item.index);
  if (contracts) item = multiply(std::move(item), trf->pop(now), now);
  out->push(now, std::move(item));
  count_in();
  count_out();
  set_state(UnitState::kBusy);
}

StreamItem Multiplier::multiply(StreamItem packet, StreamItem operand, Cycle now) {
  if (packet.command != operand.command || packet.index != operand.index) {
    invariant_broken(fmt::format("packet {} of command {} meets operand {} of command {}",
                                 packet.index, packet.command, operand.index, operand.command),
                     now);
  }
  if (packet.command >= activity_.size()) activity_.resize(context().program->commands.size());
  Activity& activity = activity_[packet.command];
  if (activity.packets++ == 0) activity.first = now;
  activity.last = now;

  packet.trf = std::move(operand.trf);
  const Command& of = command(packet.command);
  packet.valid *= static_cast<uint32_t>(of.outer->lanes);
  multiplied_ = now;
  lanes_ = of.outer->lanes;
  if (context().values() && !of.packet_reduce) {
    ReductionTree::Shape shape;
    shape.columns = of.outer->packet_elements;
    shape.slices = slices_used(context(), of);
    shape.live = live_slices(context(), of);
    packet.values = context().pool->allocate(
        of.outer->accumulator, static_cast<uint32_t>(of.outer->lanes * shape.columns));
    products_.reduce(*of.outer, shape, packet.flits, *packet.trf, *packet.values);
    packet.flits = {};
    packet.trf = nullptr;
  }
  return packet;
}

std::vector<Unit::Signal> Multiplier::signals() const {
  const auto lanes = static_cast<uint32_t>(context().program->limits.lanes);
  return {{"active_lanes", lanes,
           [this](Cycle now) { return multiplied_ == now ? (uint64_t{1} << lanes_) - 1 : 0; }}};
}

std::string Multiplier::waiting_for() const {
  if (state() == UnitState::kBlocked) return "space at " + out->consumer_unit();
  if (state() != UnitState::kStarved) return "";
  return stream->in_flight() ? "operands of " + trf->producer_unit()
                             : "packets of " + stream->producer_unit();
}

}  // namespace rngdsim
