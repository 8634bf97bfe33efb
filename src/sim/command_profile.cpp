// SPDX-License-Identifier: Apache-2.0
#include "sim/command_profile.h"

#include "channel/unit.h"

namespace rngdsim {

uint64_t UnitShare::cycles() const {
  uint64_t sum = busy;
  for (const auto* waits : {&starved, &blocked, &conflict}) {
    for (const auto& [whom, cycles] : *waits) sum += cycles;
  }
  return sum;
}

void CommandProfile::attached(const Program& /*program*/,
                              const std::vector<std::unique_ptr<Unit>>& units,
                              const std::vector<std::unique_ptr<LinkBase>>& /*links*/) {
  tracks_.resize(units.size());
  for (size_t i = 0; i < units.size(); ++i) tracks_[i].unit = units[i].get();
}

void CommandProfile::cycle_begins(Cycle now) {
  if (begun_) look(cycle_);
  cycle_ = now;
  begun_ = true;
}

void CommandProfile::touched(uint32_t unit, Cycle /*now*/) {
  if (tracks_[unit].listed) return;
  tracks_[unit].listed = true;
  touched_.push_back(unit);
}

// What the units that have run in `cycle` are from that cycle on.
void CommandProfile::look(Cycle cycle) {
  const auto kind = [](UnitState state) {
    switch (state) {
      case UnitState::kBusy:
        return Kind::kBusy;
      case UnitState::kStarved:
        return Kind::kStarved;
      case UnitState::kBlocked:
        return Kind::kBlocked;
      case UnitState::kConflict:
        return Kind::kConflict;
      default:
        return Kind::kIdle;
    }
  };
  for (const uint32_t unit : touched_) {
    Track& track = tracks_[unit];
    account(track, cycle);
    track.listed = false;
    track.state = kind(track.unit->state_in(cycle));
    track.own = kind(track.unit->state());
    track.command = track.unit->item_command();
    const std::string* const blamed = track.unit->blamed_unit();
    track.blamed = blamed == nullptr ? "" : *blamed;
  }
  touched_.clear();
}

void CommandProfile::account(Track& track, Cycle until) {
  uint64_t cycles = until - track.since;
  track.since = until;
  if (cycles == 0) return;
  if (track.state == Kind::kConflict) {
    add(track, Kind::kConflict, 1);
    --cycles;
  }
  add(track, track.state == Kind::kConflict ? track.own : track.state, cycles);
}

void CommandProfile::add(const Track& track, Kind state, uint64_t cycles) {
  if (state == Kind::kIdle || cycles == 0) return;
  UnitShare& share = shares_[{track.command, track.unit->unit_name()}];
  switch (state) {
    case Kind::kBusy:
      share.busy += cycles;
      break;
    case Kind::kStarved:
      share.starved[track.blamed] += cycles;
      break;
    case Kind::kBlocked:
      share.blocked[track.blamed] += cycles;
      break;
    default:
      share.conflict["banks"] += cycles;
  }
}

void CommandProfile::finished(Cycle end) {
  if (begun_) look(cycle_);
  for (Track& track : tracks_) account(track, end);
}

}  // namespace rngdsim
