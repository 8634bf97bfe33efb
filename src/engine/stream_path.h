// SPDX-License-Identifier: Apache-2.0
// The common part of units that take an item in and put it out changed in the same cycle.
#pragma once

#include <string>
#include <utility>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"

namespace rngdsim {

// The state of a unit or of one of its paths, and whom to blame for it.
struct PathState {
  UnitState state = UnitState::kIdle;
  const std::string* blame = nullptr;
};

// Of two independent paths of one unit, the busier; `a` where both are alike.
inline PathState busier(const PathState& a, const PathState& b) {
  return b.state < a.state ? b : a;
}

// One way through a unit, from one port to another: an item a cycle, each in the cycle it comes.
class StreamPath {
 public:
  StreamPath(LinkIn<StreamItem>& in, LinkOut<StreamItem>& out) : in_(in), out_(out) {}

  // One cycle. `change(StreamItem&)` turns the item into what goes out and returns the cycles by
  // which its way is longer than the link's.
  template <typename Change>
  PathState step(Cycle now, Change&& change) {
    if (!in_->can_pop(now)) {
      return in_command_ ? PathState{UnitState::kStarved, &in_->producer_unit()} : PathState{};
    }
    if (!out_->can_push(now)) return {UnitState::kBlocked, &out_->consumer_unit()};
    StreamItem item = in_->pop(now);
    in_command_ = !item.last;
    const uint64_t extra = change(item);
    out_->push(now, std::move(item), extra);
    return {UnitState::kBusy, nullptr};
  }

 private:
  LinkIn<StreamItem>& in_;
  LinkOut<StreamItem>& out_;
  bool in_command_ = false;  // between the first and the last item of a command
};

}  // namespace rngdsim
