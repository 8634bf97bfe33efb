// SPDX-License-Identifier: Apache-2.0
#include "engine/cast_engine.h"

#include "engine/block_ops.h"

namespace rngdsim {

CastEngine::CastEngine(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                       const Parameters& /*parameters*/)
    : Unit(name, clock, context) {}

void CastEngine::tick(Cycle now) {
  const auto to = [this](LinkOut<StreamItem>& exit) {
    return [this, &exit](const Command& of) -> Link<StreamItem>& {
      return of.transpose ? *transpose : *exit;
    };
  };
  const auto by_command = [this](const Command& of) -> Link<StreamItem>& {
    if (of.transpose) return *transpose;
    if (of.to_vrf) return *vrf;
    return of.context == Context::kMain ? *out : *sub_out;
  };
  const PathState sub_state = step(sub_path_, to(sub_out), now);
  const PathState inter_state = step(inter_path_, by_command, now);
  const PathState vector_state = step(vector_path_, by_command, now);
  // The item shown is main's where several move.
  const PathState main_state = step(main_path_, to(out), now);
  const PathState shown = busier(busier(busier(main_state, vector_state), inter_state), sub_state);
  set_state(shown.state, shown.blame);
}

template <typename WayOf>
PathState CastEngine::step(RoutedPath& path, const WayOf& way_of, Cycle now) {
  const auto route = [&](const StreamItem& item) -> Link<StreamItem>& {
    return way_of(command(item.command));
  };
  const PathState state = path.step(now, route, [this](StreamItem& item) -> uint64_t {
    change(item);
    return 0;
  });
  if (state.state == UnitState::kBusy) {
    count_in();
    count_out();
  }
  return state;
}

void CastEngine::change(StreamItem& item) {
  set_item(item.command, item.index);
  const auto& cast = command(item.command).cast;
  if (!cast || !item.values) return;
  // Narrower elements leave the flit partly empty.
  const uint64_t flit_bits = 8 * context().program->limits.flit_bytes;
  const auto total =
      static_cast<uint32_t>(flit_bits / static_cast<uint64_t>(memory_bits(cast->to)));
  item.values =
      convert_block(*context().pool, *item.values, cast->to, item.values->elements, total);
}

}  // namespace rngdsim
