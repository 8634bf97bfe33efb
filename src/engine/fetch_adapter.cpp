// SPDX-License-Identifier: Apache-2.0
#include "engine/fetch_adapter.h"

#include "engine/block_ops.h"

namespace rngdsim {

FetchAdapter::FetchAdapter(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                           const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters) {}

void FetchAdapter::tick(Cycle now) {
  const PathState sub_state = step(sub_path_, sub_out, now);
  const PathState main_state = step(main_path_, out, now);  // its item is shown where both move
  const PathState shown = busier(main_state, sub_state);
  set_state(shown.state, shown.blame);
}

PathState FetchAdapter::step(StreamPath& path, const LinkOut<StreamItem>& to, Cycle now) {
  const PathState state = path.step(now, [&](StreamItem& item) -> uint64_t {
    set_item(item.command, item.index);
    const auto& cast = command(item.command).fetch_cast;
    if (!cast) return 0;
    if (item.values) {
      const uint32_t elements = item.values->elements;
      item.values = convert_block(*context().pool, *item.values, cast->to, elements, elements);
    }
    const uint64_t latency = to->latency();
    return parameters_.cast_latency > latency ? parameters_.cast_latency - latency : 0;
  });
  if (state.state == UnitState::kBusy) {
    count_in();
    count_out();
  }
  return state;
}

}  // namespace rngdsim
