// SPDX-License-Identifier: Apache-2.0
#include "engine/lane_folder.h"

#include <algorithm>
#include <utility>

#include "engine/contraction.h"
#include "engine/vector_route.h"

namespace rngdsim {

LaneFolder::LaneFolder(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                       const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters) {}

std::optional<uint64_t> LaneFolder::entry(const LaneFoldConfig& config, uint64_t bus_elements,
                                          uint64_t flit, uint64_t position) {
  uint64_t lane = position, column = flit;
  if (!config.interleaved) {
    const uint64_t flits_per_lane = (config.columns + bus_elements - 1) / bus_elements;
    lane = flit / flits_per_lane;
    column = flit % flits_per_lane * bus_elements + position;
  }
  if (lane >= config.lanes || column >= config.columns) return std::nullopt;
  return lane * config.columns + column;
}

Link<StreamItem>& LaneFolder::way_of(const Command& of) {
  if (!of.vector) return *out;
  return enters_reducer(*of.vector) ? *inter : *vector;
}

void LaneFolder::tick(Cycle now) {
  if (!in->can_pop(now)) {
    if (active_) {
      set_state(UnitState::kStarved, &in->producer_unit());
    } else {
      set_state(UnitState::kIdle);
    }
    return;
  }
  const StreamItem& slot = in->front();
  const Command& of = command(slot.command);
  const uint64_t flits = of.lane_fold ? of.lane_fold->flits_per_result : 1;
  const bool last_flit = flit_ + 1 == flits;
  const bool releases = last_flit && of.lane_fold && of.time_reduce;
  Link<StreamItem>& to = way_of(of);
  if (!to.can_push(now)) {
    set_state(UnitState::kBlocked, &to.consumer_unit());
    return;
  }
  if (releases && !release->can_push(now)) {
    set_state(UnitState::kBlocked, &release->consumer_unit());
    return;
  }

  StreamItem flit;
  if (of.lane_fold) {
    flit.command = slot.command;
    flit.index = slot.index * flits + flit_;
    flit.last = slot.last && last_flit;
    flit.valid = entries(*of.lane_fold);
    if (slot.values) flit.values = flit_values(*slot.values, of);
    if (releases) release->push(now, {slot.slot, slot.command});
    if (last_flit) {
      in->pop(now);
      count_in();
    }
  } else {
    flit = in->pop(now);
    count_in();
  }
  flit_ = last_flit ? 0 : flit_ + 1;
  active_ = !flit.last;
  set_item(flit.command, flit.index);
  to.push(now, std::move(flit));
  count_out();
  set_state(UnitState::kBusy);
}

uint32_t LaneFolder::entries(const LaneFoldConfig& config) const {
  if (config.interleaved) return static_cast<uint32_t>(config.lanes);
  const uint64_t bus = parameters_.bus_elements;
  const uint64_t begin = flit_ % ((config.columns + bus - 1) / bus) * bus;
  return static_cast<uint32_t>(std::min(bus, config.columns - begin));
}

BlockRef LaneFolder::flit_values(const Block& slot, const Command& of) const {
  const uint32_t slices = slices_used(context(), of);
  const auto bus = static_cast<uint32_t>(parameters_.bus_elements);
  BlockRef flit = context().pool->allocate(slot.dtype, bus);
  for (uint32_t position = 0; position < bus; ++position) {
    const auto from = entry(*of.lane_fold, bus, flit_, position);
    uint32_t* values = flit->row<uint32_t>(position);
    if (!from) {
      std::fill_n(values, flit->slices, 0u);
      flit->track_validity();
      std::fill_n(flit->valid_row(position), flit->slices, uint8_t{0});
      continue;
    }
    const auto row = static_cast<uint32_t>(*from);
    std::copy_n(slot.row<uint32_t>(row), slices, values);
    if (slot.all_valid) continue;
    flit->track_validity();
    std::copy_n(slot.valid_row(row), slices, flit->valid_row(position));
  }
  return flit;
}

std::string LaneFolder::waiting_for() const {
  if (state() == UnitState::kBlocked) return "space at " + *blamed_unit();
  if (state() == UnitState::kStarved) return "finished slots of " + in->producer_unit();
  return "";
}

}  // namespace rngdsim
