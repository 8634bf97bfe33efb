// SPDX-License-Identifier: Apache-2.0
#include "engine/cast_engine.h"

#include "engine/block_ops.h"

namespace rngdsim {

CastEngine::CastEngine(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                       const Parameters& /*parameters*/)
    : Unit(name, clock, context) {}

void CastEngine::tick(Cycle now) {
  const PathState sub_state = step(sub_path_, now);
  const PathState inter_state = step(inter_path_, now);
  const PathState vector_state = step(vector_path_, now);
  const PathState main_state = step(main_path_, now);  // the item shown is main's where both move
  const PathState shown = busier(busier(busier(main_state, vector_state), inter_state), sub_state);
  set_state(shown.state, shown.blame);
}

PathState CastEngine::step(StreamPath& path, Cycle now) {
  return counted(path.step(now, [this](StreamItem& item) -> uint64_t {
    change(item);
    return 0;
  }));
}

PathState CastEngine::step(RoutedPath& path, Cycle now) {
  const auto route = [this](const StreamItem& item) -> Link<StreamItem>& {
    const Command& of = command(item.command);
    if (of.to_vrf) return *vrf;
    return of.context == Context::kMain ? *out : *sub_out;
  };
  return counted(path.step(now, route, [this](StreamItem& item) -> uint64_t {
    change(item);
    return 0;
  }));
}

PathState CastEngine::counted(PathState state) {
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
