// SPDX-License-Identifier: Apache-2.0
#include "engine/commit_adapter.h"

#include <algorithm>

#include "engine/block_ops.h"

namespace rngdsim {

CommitAdapter::CommitAdapter(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                             const Parameters& /*parameters*/)
    : Unit(name, clock, context) {}

void CommitAdapter::tick(Cycle now) {
  const PathState state = path_.step(now, [&](StreamItem& item) -> uint64_t {
    set_item(item.command, item.index);
    const auto& config = command(item.command).commit_adapter;
    if (!config) return 0;
    item.valid = std::min(item.valid, static_cast<uint32_t>(config->trim_elements));
    if (!item.values) return 0;
    const auto kept = static_cast<uint32_t>(config->trim_elements);
    if (config->cast) {
      item.values =
          convert_block(*context().pool, *item.values, config->cast->to, kept, kept, config->relu);
    } else {
      trim_block(*context().pool, item.values, kept);
    }
    return 0;
  });
  if (state.state == UnitState::kBusy) {
    count_in();
    count_out();
  }
  set_state(state.state, state.blame);
}

}  // namespace rngdsim
