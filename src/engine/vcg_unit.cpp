// SPDX-License-Identifier: Apache-2.0
#include "engine/vcg_unit.h"

namespace rngdsim {

Vcg::Vcg(sc_core::sc_module_name name, Clock& clock, const RunContext& context)
    : Unit(name, clock, context) {}

void Vcg::tick(Cycle now) {
  const PathState main_state = step(main_path_, now);
  const PathState sub_state = step(sub_path_, now);
  const PathState state = busier(busier(main_state, sub_state), step(reduced_path_, now));
  set_state(state.state, state.blame);
}

PathState Vcg::step(StreamPath& path, Cycle now) {
  const PathState state = path.step(now, [&](StreamItem& item) -> uint64_t {
    set_item(item.command, item.index);
    const Command& present = command(item.command);
    if (item.values && present.vector && present.vector->reduce) {
      item.counts = counts(present.vector->reduce->vcg, item.index);
    }
    return 0;
  });
  if (state.state == UnitState::kBusy) {
    count_in();
    count_out();
  }
  return state;
}

BlockRef Vcg::counts(const VcgConfig& config, uint64_t flit) const {
  BlockRef block = context().pool->allocate(DType::kI8, 1);
  const uint64_t slices = context().program->limits.slices;
  for (uint32_t i = 0; i < block->slices; ++i) {
    const uint64_t slice = (context().first_slice + i) % slices;  // in its cluster
    block->data[i] = static_cast<uint8_t>(config.valid_size(slice, flit));
  }
  return block;
}

}  // namespace rngdsim
