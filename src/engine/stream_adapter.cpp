// SPDX-License-Identifier: Apache-2.0
#include "engine/stream_adapter.h"

#include <utility>

namespace rngdsim {

StreamAdapter::StreamAdapter(sc_core::sc_module_name name, Clock& clock, const RunContext& context)
    : Unit(name, clock, context) {}

void StreamAdapter::tick(Cycle now) {
  out_blocked_ = false;
  if (repeats_left_ == 0 && complete_) present();
  const bool sent = repeats_left_ > 0 && send(now);
  bool moved = sent;
  if (in->can_pop(now)) {
    if (!command(in->front().command).outer) {
      moved |= !sent && forward(now);
    } else if (!complete_) {
      collect(now);
      moved = true;
      if (complete_ && repeats_left_ == 0 && !sent) {
        present();
        send(now);
      }
    }
  }
  if (moved) {
    set_state(UnitState::kBusy);
  } else if (out_blocked_) {
    set_state(UnitState::kBlocked, &out->consumer_unit());
  } else if (active_) {
    set_state(UnitState::kStarved, &in->producer_unit());
  } else {
    set_state(UnitState::kIdle);
  }
}

// A command without contraction: its items pass once the packets before them have gone.
bool StreamAdapter::forward(Cycle now) {
  if (repeats_left_ > 0 || complete_) return false;
  if (!out->can_push(now)) {
    out_blocked_ = true;
    return false;
  }
  StreamItem item = in->pop(now);
  active_ = !item.last;
  set_item(item.command, item.index);
  out->push(now, std::move(item));
  count_in();
  count_out();
  return true;
}

void StreamAdapter::collect(Cycle now) {
  StreamItem flit = in->pop(now);
  count_in();
  active_ = true;
  // Where nothing is sent in this cycle, the packet at work on is the one being collected.
  if (repeats_left_ == 0) set_item(flit.command, sent_);
  collecting_.command = flit.command;
  collecting_.valid += flit.valid;
  collecting_.flits[collected_] = std::move(flit.values);
  complete_ = ++collected_ == command(flit.command).outer->pack_size;
  if (complete_) ++packets_collected_;
}

void StreamAdapter::present() {
  present_ = std::move(collecting_);
  collecting_ = StreamItem{};
  collected_ = 0;
  complete_ = false;
  repeats_left_ = command(present_.command).outer->time_broadcast;
}

bool StreamAdapter::send(Cycle now) {
  if (!out->can_push(now)) {
    out_blocked_ = true;
    return false;
  }
  StreamItem packet = --repeats_left_ > 0 ? present_ : std::move(present_);
  packet.index = sent_;
  packet.last = ++sent_ == command(packet.command).outer->packets;
  if (packet.last) {
    context().monitor->command_passed(packet.command, Pace::kContraction, now);
    sent_ = 0;
    active_ = collected_ > 0;  // the next command has begun
  }
  set_item(packet.command, packet.index);
  out->push(now, std::move(packet));
  count_out();
  return true;
}

void StreamAdapter::add_extra_counters(UnitCounters& counters) const {
  counters.extra.emplace_back("packets_collected", packets_collected_);
}

std::string StreamAdapter::waiting_for() const {
  if (state() == UnitState::kBlocked) return "space at " + out->consumer_unit();
  if (state() == UnitState::kStarved) return "flits of " + in->producer_unit();
  return "";
}

}  // namespace rngdsim
