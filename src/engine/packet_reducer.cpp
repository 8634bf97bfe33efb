// SPDX-License-Identifier: Apache-2.0
#include "engine/packet_reducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/contraction.h"

namespace rngdsim {

PacketReducer::PacketReducer(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                             const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters) {}

uint64_t PacketReducer::latency(DType stream_dtype) const {
  switch (memory_bits(stream_dtype)) {
    case 4:
      return parameters_.latency_4bit;
    case 8:
      return parameters_.latency_8bit;
    default:
      return parameters_.latency_16bit;
  }
}

uint64_t PacketReducer::required_depth(const Parameters& parameters) {
  return 1 + std::max({parameters.latency_4bit, parameters.latency_8bit, parameters.latency_16bit});
}

void PacketReducer::tick(Cycle now) {
  const PathState state = path_.step(now, [this, now](StreamItem& item) -> uint64_t {
    count_in();
    count_out();
    set_item(item.command, item.index);
    const Command& of = command(item.command);
    if (!of.packet_reduce) return 0;
    reduce(item, of, now);
    const uint64_t wanted = latency(of.outer->stream_dtype);
    return wanted > out->latency() ? wanted - out->latency() : 0;
  });
  set_state(state.state, state.blame);
}

void PacketReducer::reduce(StreamItem& item, const Command& of, Cycle now) {
  const PacketReduceConfig& config = *of.packet_reduce;
  if (config.columns > parameters_.columns) {
    invariant_broken(fmt::format("{} columns of command {}, {} exist", config.columns, of.id,
                                 parameters_.columns),
                     now);
  }
  if (context().values()) {
    ReductionTree::Shape shape;
    shape.depth = config.depth;
    shape.columns = config.columns;
    shape.slices = slices_used(context(), of);
    shape.live = live_slices(context(), of);
    item.values = context().pool->allocate(of.outer->accumulator,
                                           static_cast<uint32_t>(of.outer->lanes * config.columns));
    tree_.reduce(*of.outer, shape, item.flits, *item.trf, *item.values);
  }
  item.valid = static_cast<uint32_t>(of.outer->lanes * config.columns);
  item.flits = {};
  item.trf = nullptr;
}

std::string PacketReducer::waiting_for() const {
  if (state() == UnitState::kBlocked) return "space at " + out->consumer_unit();
  if (state() == UnitState::kStarved) return "packets of " + in->producer_unit();
  return "";
}

}  // namespace rngdsim
