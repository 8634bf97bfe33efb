// SPDX-License-Identifier: Apache-2.0
#include "engine/switch_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/block_ops.h"

namespace rngdsim {
namespace {

// How packets are cut before they enter the ring.
CollectConfig cut_of(const SwitchConfig& config) {
  CollectConfig cut;
  cut.dtype = config.dtype;
  cut.packet_elements = config.packet_elements;
  cut.flit_elements = config.flit_elements;
  cut.flits_per_packet = config.flits_per_packet;
  cut.flits = config.traversals();
  return cut;
}

}  // namespace

SwitchEngine::SwitchEngine(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                           const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters) {}

void SwitchEngine::tick(Cycle now) {
  blocked_ = false;
  const bool took = take_in(now);
  if (command_) advance(now);
  if (command_) look_whether_passed(now);
  const bool put = put_out(now);
  if (put || took) {
    set_state(UnitState::kBusy);
  } else if (blocked_) {
    set_state(UnitState::kBlocked, &to_->consumer_unit());
  } else if (command_) {
    // Flits on their way round the ring keep everybody waiting, not those who deliver.
    const bool round = ring_.moving() || now < free_ || !in_flight_.empty();
    set_state(UnitState::kStarved, round ? &unit_name() : &(*from_)->producer_unit());
  } else {
    set_state(UnitState::kIdle);
  }
  sleep_until_something_happens(now);
}

void SwitchEngine::begin(const Command& of, LinkIn<StreamItem>& from, Cycle now) {
  if (!of.switching) invariant_broken(fmt::format("command {} has no switch", of.id), now);
  command_ = of.id;
  config_ = &*of.switching;
  from_ = &from;
  to_ = of.context == Context::kMain ? out.get() : sub_out.get();
  cutter_ =
      FlitCutter(cut_of(*config_), of.fetch ? of.fetch->access_elements : config_->packet_elements);
  complete_ = passed_ = false;
  free_ = 0;
  const bool is_short =
      config_->flits_per_packet == 1 && config_->ring_size >= parameters_.short_ring;
  kept_ = is_short
              ? parameters_.short_packet_traversals * config_->ring_size * parameters_.hop_cycles
              : 0;
  const auto live_of = [&](const std::vector<std::vector<uint8_t>>& live) {
    return of.id < live.size() ? live[of.id] : std::vector<uint8_t>();
  };
  ring_.begin(*config_, context().pool, live_of(context().source_live),
              live_of(context().command_live));
}

bool SwitchEngine::take_in(Cycle now) {
  LinkIn<StreamItem>* port = nullptr;
  for (LinkIn<StreamItem>* candidate : {&in, &sub_in}) {
    if (port == nullptr && (*candidate)->can_pop(now)) port = candidate;
  }
  if (port == nullptr) return false;
  if (!command_) begin(command((*port)->front().command), *port, now);
  if ((*port)->front().command != *command_ || port != from_) {
    invariant_broken(fmt::format("an item of command {} comes in during command {}",
                                 (*port)->front().command, *command_),
                     now);
  }
  if (complete_) return false;  // a flit waits for the ring already
  const FlitCutter::Step step = cutter_.step();
  set_item(*command_, cutter_.flit());
  BlockRef values = (*port)->front().values;
  if (step.ends_item) {
    (*port)->pop(now);
    count_in();
  }
  if (values) fill(std::move(values), step);
  cutter_.take(step);
  complete_ = step.ends_flit;
  return true;
}

void SwitchEngine::fill(BlockRef values, const FlitCutter::Step& step) {
  const uint64_t in_packet = cutter_.flit() % config_->flits_per_packet * config_->flit_elements;
  const uint64_t elements = std::min(config_->flit_elements, config_->packet_elements - in_packet);
  if (step.elements == elements && values->elements == elements) {
    flit_ = std::move(values);  // the item is the flit
    return;
  }
  if (!flit_) flit_ = context().pool->allocate(config_->dtype, static_cast<uint32_t>(elements));
  copy_elements(*values, static_cast<uint32_t>(step.item_begin), *flit_,
                static_cast<uint32_t>(step.flit_begin), static_cast<uint32_t>(step.elements));
}

void SwitchEngine::advance(Cycle now) {
  while (ring_.moving() && next_hop_ <= now) {
    ring_.hop();
    next_hop_ += parameters_.hop_cycles;
  }
  if (!complete_ || now < free_ || !ring_.can_enter()) return;
  ring_.enter(flit_);
  flit_ = BlockRef();
  complete_ = false;
  next_hop_ = now + parameters_.hop_cycles;
  free_ = now + config_->ring_size * parameters_.hop_cycles;
}

void SwitchEngine::look_whether_passed(Cycle now) {
  if (passed_ || ring_.entered() != config_->traversals()) return;
  if (kept_ > 0 ? now + 1 < free_ + kept_ : ring_.moving()) return;
  passed_ = true;
  context().monitor->command_passed(*command_, Pace::kSwitch, now);
}

bool SwitchEngine::put_out(Cycle now) {
  if (!command_) return false;
  bool pushed = false;
  if (!in_flight_.empty() && in_flight_.front().ready <= now) {
    if (to_->can_push(now)) {
      StreamItem item = std::move(in_flight_.front().item);
      in_flight_.pop_front();
      push(now, std::move(item));
      pushed = true;
    } else {
      blocked_ = true;
    }
  }
  // A flit a cycle; as many are on their way at full rate as the latency has cycles.
  if (!command_ || !ring_.has_output()) return pushed;
  // The last flit stays as long as the ring is kept.
  if (kept_ > 0 && !passed_ && ring_.given() + 1 == config_->flits) return pushed;
  const bool direct = parameters_.latency == 0;
  if (direct ? !to_->can_push(now) : in_flight_.size() == parameters_.latency) {
    blocked_ = true;
    return pushed;
  }
  SwitchRing::Flit flit = ring_.take_output();
  StreamItem item;
  item.command = *command_;
  item.index = flit.index;
  item.last = flit.index + 1 == config_->flits;
  item.valid = flit.elements;
  item.values = std::move(flit.values);
  if (!direct) {
    in_flight_.push_back({now + parameters_.latency, std::move(item)});
    return pushed;
  }
  push(now, std::move(item));
  return true;
}

void SwitchEngine::push(Cycle now, StreamItem item) {
  set_item(item.command, item.index);
  if (item.last) command_.reset();
  to_->push(now, std::move(item));
  count_out();
}

// A busy unit is called again in the next cycle, a blocked one when the link has space; the ring
// moves meanwhile, and nobody sees where its flits are before they are round.
void SwitchEngine::sleep_until_something_happens(Cycle now) {
  if (!command_) return;
  if (ring_.moving()) {
    const uint64_t left = config_->ring_size - 1 - ring_.hops();
    wake_at(std::max(next_hop_ + (left - 1) * parameters_.hop_cycles, now + 1));
  } else if (complete_ && now < free_) {
    wake_at(free_);
  }
  if (kept_ > 0 && !passed_ && ring_.entered() == config_->traversals()) {
    wake_at(std::max(free_ + kept_ - 1, now + 1));
  }
  // An item that had to wait while a flit waited for the ring.
  if (!complete_ && (*from_)->in_flight()) wake_at(std::max((*from_)->next_ready(), now + 1));
  if (!in_flight_.empty() && !blocked_) wake_at(std::max(in_flight_.front().ready, now + 1));
  // What the ring gave out into the way of `latency` cycles is no item at a port.
  const bool held = kept_ > 0 && !passed_ && ring_.given() + 1 == config_->flits;
  if (ring_.has_output() && !blocked_ && !held) wake_at(now + 1);
}

std::string SwitchEngine::waiting_for() const {
  switch (state()) {
    case UnitState::kBlocked:
      return fmt::format("space for flit {} of command {}", ring_.given(), *command_);
    case UnitState::kStarved:
      return ring_.moving()
                 ? fmt::format("flit {} of command {}, {} of {} hops round the ring",
                               ring_.entered(), *command_, ring_.hops(), config_->ring_size)
                 : fmt::format("the elements of flit {} of command {}", cutter_.flit(), *command_);
    default:
      return "";
  }
}

}  // namespace rngdsim
