// SPDX-License-Identifier: Apache-2.0
#include "memory/hbm_unit.h"

#include <fmt/format.h>

#include <algorithm>

namespace rngdsim {

HbmUnit::HbmUnit(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                 const Parameters& parameters)
    : Unit(name, clock, context), model_(parameters.model) {
  for (size_t engine = 0; engine < kMaxDmaEngines; ++engine) {
    dma_.push_back(std::make_unique<DmaPort>(fmt::format("dma_{}", engine)));
  }
}

std::vector<PortBase*> HbmUnit::ports() {
  std::vector<PortBase*> all;
  for (const auto& port : dma_) all.insert(all.end(), {&port->request, &port->data});
  return all;
}

void HbmUnit::elaborated() {
  for (size_t engine = 0; engine < dma_.size(); ++engine) {
    if (dma_[engine]->connected()) in_use_.push_back(engine);
  }
}

void HbmUnit::tick(Cycle now) {
  bool moved = complete(now);
  moved = accept(now) || moved;
  const DmaPort* without_space = nullptr;
  for (const size_t engine : in_use_) {
    const uint64_t sent = dma_[engine]->send(now);
    count_out(sent);
    moved = moved || sent > 0;
    if (dma_[engine]->has_answers()) without_space = dma_[engine].get();
  }
  wake_for_model(now);
  if (moved) {
    set_state(UnitState::kBusy);
  } else if (without_space != nullptr) {
    set_state(UnitState::kBlocked, &without_space->data->consumer_unit());
  } else {
    // Between what comes and what leaves the channels work.
    set_state(under_way_.size() > free_.size() ? UnitState::kStarved : UnitState::kIdle);
  }
}

bool HbmUnit::complete(Cycle now) {
  const HbmTime time = model_.clocks().time_of(now);
  if (model_.next_event() > time) return false;
  completions_.clear();
  model_.advance(time, completions_);
  bool any = false;
  for (const HbmCompletion& completion : completions_) {
    const UnderWay& done = under_way_[completion.id];
    free_.push_back(completion.id);
    const DmaRequest& request = done.request;
    if (request.write) continue;  // answered when it was queued
    any = true;
    if (request.line != nullptr) {
      storage_.read(request.address, request.bytes, request.line->bytes.data(),
                    request.line->valid.data());
    }
    set_item(request.command, request.index);
    dma_[done.engine]->answer(DmaResponse(request));
  }
  return any;
}

bool HbmUnit::accept(Cycle now) {
  bool any = false;
  for (size_t i = 0; i < in_use_.size(); ++i) {
    const size_t engine = in_use_[(now + i) % in_use_.size()];
    Link<DmaRequest>& requests = *dma_[engine]->request;
    while (requests.can_pop(now)) {
      const DmaRequest& head = requests.front();
      if (head.address + head.bytes > model_.address().size()) {
        invariant_broken(fmt::format("request {} of command {} ({} bytes at {}) leaves the memory",
                                     head.index, head.command, head.bytes, head.address),
                         now);
      }
      if (!model_.can_accept(head.address, head.bytes)) break;
      accept_one(engine, now);
      any = true;
    }
  }
  return any;
}

void HbmUnit::accept_one(size_t engine, Cycle now) {
  if (free_.empty()) {
    free_.push_back(under_way_.size());
    under_way_.emplace_back();
    free_.reserve(under_way_.capacity());
  }
  const size_t id = free_.back();
  free_.pop_back();
  under_way_[id] = {dma_[engine]->request->pop(now), engine};
  count_in();
  const DmaRequest& request = under_way_[id].request;
  set_item(request.command, request.index);
  model_.push(model_.clocks().time_of(now), request.address, request.bytes, request.write, id);
  ++(request.write ? writes_ : reads_);
  if (!request.write) return;
  if (request.line != nullptr) {
    storage_.write(request.address, request.bytes, request.line->bytes.data(),
                   request.line->valid.data());
  }
  dma_[engine]->answer(DmaResponse(request));
}

Cycle HbmUnit::next_event() const {
  const HbmTime next = model_.next_event();
  return next == kHbmNever ? 0 : model_.clocks().cycle_of(next);
}

void HbmUnit::wake_for_model(Cycle now) {
  const HbmTime next = model_.next_event();
  if (next == kHbmNever) return;
  const Cycle cycle = std::max<Cycle>(model_.clocks().cycle_of(next), now + 1);
  if (cycle == woken_for_) return;
  woken_for_ = cycle;
  wake_at(cycle);
}

std::vector<HbmChannelCounters> HbmUnit::channel_counters() const {
  std::vector<HbmChannelCounters> counters;
  for (uint32_t stack = 0; stack < model_.stacks(); ++stack) {
    for (uint32_t channel = 0; channel < model_.channels(); ++channel) {
      counters.push_back(model_.channel(stack, channel).counters());
    }
  }
  return counters;
}

void HbmUnit::drain() {
  while (model_.next_event() != kHbmNever) {
    completions_.clear();
    model_.advance(model_.next_event(), completions_);
  }
}

void HbmUnit::add_extra_counters(UnitCounters& counters) const {
  const HbmChannelCounters all = model_.counters();
  counters.extra.emplace_back("reads", reads_);
  counters.extra.emplace_back("writes", writes_);
  counters.extra.emplace_back("bytes", all.bytes);
  counters.extra.emplace_back("row_hits", all.row_hits);
  counters.extra.emplace_back("row_misses", all.row_misses);
  counters.extra.emplace_back("row_conflicts", all.row_conflicts);
  counters.extra.emplace_back("misaligned_reads", all.misaligned_reads);
  counters.extra.emplace_back("read_modify_writes", all.read_modify_writes);
}

std::string HbmUnit::waiting_for() const {
  switch (state()) {
    case UnitState::kBlocked:
      return "space for answers";
    case UnitState::kStarved:
      return "its channels";
    default:
      return "";
  }
}

}  // namespace rngdsim
