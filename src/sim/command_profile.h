// SPDX-License-Identifier: Apache-2.0
// How each unit spent the cycles of each command: an observer of a run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "channel/observer.h"

namespace rngdsim {

// Cycles of a unit with items of one command, from the first to the last: as in UnitResult.
struct UnitShare {
  uint64_t busy = 0;
  // By whom it waited for; of a conflict it is "banks".
  std::map<std::string, uint64_t> starved, blocked, conflict;
  uint64_t cycles() const;
};

class CommandProfile final : public RunObserver {
 public:
  // By command and name of the unit. Complete after the run.
  const std::map<std::pair<CommandId, std::string>, UnitShare>& shares() const { return shares_; }

  void attached(const Program& program, const std::vector<std::unique_ptr<Unit>>& units,
                const std::vector<std::unique_ptr<LinkBase>>& links) override;
  void cycle_begins(Cycle now) override;
  void command_began(CommandId /*command*/, Cycle /*begin*/) override {}
  void command_ended(CommandId /*command*/, Cycle /*end*/) override {}
  void pushed(uint32_t /*link*/, Cycle /*now*/, Cycle /*ready*/, const ItemTag& /*item*/) override {
  }
  void popped(uint32_t /*link*/, Cycle /*now*/) override {}
  void refused(uint32_t /*link*/, Cycle /*now*/) override {}
  void touched(uint32_t unit, Cycle now) override;
  void finished(Cycle end) override;

 private:
  enum class Kind : uint8_t { kIdle, kBusy, kStarved, kBlocked, kConflict };
  // A stretch of a unit in one state. A conflict lasts a cycle; what is left is in its own state.
  struct Track {
    const Unit* unit = nullptr;
    Cycle since = 0;
    Kind state = Kind::kIdle, own = Kind::kIdle;
    CommandId command = 0;
    std::string blamed;
    bool listed = false;
  };
  void look(Cycle cycle);
  void account(Track& track, Cycle until);
  void add(const Track& track, Kind state, uint64_t cycles);

  std::vector<Track> tracks_;
  std::vector<uint32_t> touched_;
  std::map<std::pair<CommandId, std::string>, UnitShare> shares_;
  Cycle cycle_ = 0;
  bool begun_ = false;
};

}  // namespace rngdsim
