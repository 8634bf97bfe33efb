// SPDX-License-Identifier: Apache-2.0
// Where a unit looks for poison in live elements: the first of a command counts, since one missing
// write poisons everything that follows from it.
#pragma once

#include <optional>

#include "channel/unit.h"
#include "engine/live_check.h"

namespace rngdsim {

class PoisonWatch {
 public:
  // A new command.
  void begin() { state_ = State::kUnseen; }

  // The poisoned element of `item`, whose first row is position `first_position` of `shape`, if it
  // is the first one of its command. Costs one branch where all is valid.
  std::optional<PoisonedElement> first_in(const StreamItem& item, const StreamShape& shape,
                                          uint64_t first_position, const RunContext& context) {
    if (!item.values || item.values->all_valid || state_ == State::kReported) return std::nullopt;
    if (state_ == State::kUnseen) {
      const bool enters = &shape == &context.command(item.command).source;
      const auto& live = enters ? context.source_live : context.command_live;
      const bool known = item.command < live.size();
      check_.prepare(shape, *context.program, known ? live[item.command] : std::vector<uint8_t>(),
                     context.first_slice, context.slice_count);
      state_ = State::kSeen;
    }
    auto found = check_.find(*item.values, first_position);
    if (found) state_ = State::kReported;
    return found;
  }

 private:
  enum class State { kUnseen, kSeen, kReported };
  State state_ = State::kUnseen;
  LiveCheck check_;
};

}  // namespace rngdsim
