// SPDX-License-Identifier: Apache-2.0
#include "engine/commit_adapter.h"

#include <algorithm>

#include "engine/block_ops.h"

namespace rngdsim {

CommitAdapter::CommitAdapter(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                             const Parameters& /*parameters*/)
    : Unit(name, clock, context) {}

void CommitAdapter::tick(Cycle now) {
  const PathState transposed_state = step(transposed_path_, now);
  const PathState state = step(path_, now);
  const PathState shown = busier(state, transposed_state);
  set_state(shown.state, shown.blame);
}

PathState CommitAdapter::step(StreamPath& path, Cycle now) {
  const PathState state = path.step(now, [this](StreamItem& item) -> uint64_t {
    change(item);
    return 0;
  });
  if (state.state == UnitState::kBusy) {
    count_in();
    count_out();
  }
  return state;
}

void CommitAdapter::change(StreamItem& item) {
  set_item(item.command, item.index);
  const auto& config = command(item.command).commit_adapter;
  if (!config) return;
  item.valid = std::min(item.valid, static_cast<uint32_t>(config->trim_elements));
  if (!item.values) return;
  const auto kept = static_cast<uint32_t>(config->trim_elements);
  if (config->cast) {
    item.values =
        convert_block(*context().pool, *item.values, config->cast->to, kept, kept, config->relu);
  } else {
    trim_block(*context().pool, item.values, kept);
  }
}

}  // namespace rngdsim
