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

// One way through a unit: an item a cycle, each in the cycle it comes, to a port that depends on
// it.
class RoutedPath {
 public:
  explicit RoutedPath(LinkIn<StreamItem>& in) : in_(in) {}

  // One cycle. `route(const StreamItem&)` is the link it leaves on. `change(StreamItem&)` turns the
  // item into what goes out and returns the cycles by which its way is longer than the link's.
  template <typename Route, typename Change>
  PathState step(Cycle now, Route&& route, Change&& change) {
    if (!in_->can_pop(now)) {
      return in_command_ ? PathState{UnitState::kStarved, &in_->producer_unit()} : PathState{};
    }
    Link<StreamItem>& out = route(in_->front());
    if (!out.can_push(now)) return {UnitState::kBlocked, &out.consumer_unit()};
    StreamItem item = in_->pop(now);
    in_command_ = !item.last;
    const uint64_t extra = change(item);
    out.push(now, std::move(item), extra);
    return {UnitState::kBusy, nullptr};
  }

 private:
  LinkIn<StreamItem>& in_;
  bool in_command_ = false;  // between the first and the last item of a command
};

// One way through a unit, from one port to another.
class StreamPath {
 public:
  StreamPath(LinkIn<StreamItem>& in, LinkOut<StreamItem>& out) : path_(in), out_(out) {}

  // One cycle; see RoutedPath::step.
  template <typename Change>
  PathState step(Cycle now, Change&& change) {
    return path_.step(
        now, [this](const StreamItem&) -> Link<StreamItem>& { return *out_; }, change);
  }

 private:
  RoutedPath path_;
  LinkOut<StreamItem>& out_;
};

}  // namespace rngdsim
