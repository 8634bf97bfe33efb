// SPDX-License-Identifier: Apache-2.0
#include "memory/hbm_unit.h"

#include <fmt/format.h>

#include <algorithm>

namespace rngdsim {

HbmUnit::HbmUnit(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                 const Parameters& parameters)
    : Unit(name, clock, context),
      model_(parameters.model),
      transfer_(parameters.model.channel.transfer) {}

std::vector<PortBase*> HbmUnit::ports() {
  std::vector<PortBase*> all;
  dma_.add_to(all);
  return all;
}

void HbmUnit::elaborated() { dma_.elaborated(); }

void HbmUnit::tick(Cycle now) {
  bool moved = complete(now);
  moved = accept(now) || moved;
  const DmaPort* without_space = nullptr;
  for (const size_t engine : dma_.in_use()) {
    const uint64_t sent = dma_[engine].send(now);
    count_out(sent);
    moved = moved || sent > 0;
    if (dma_[engine].has_answers()) without_space = &dma_[engine];
  }
  wake_for_model(now);
  if (moved) {
    set_state(UnitState::kBusy);
  } else if (without_space != nullptr) {
    set_state(UnitState::kBlocked, &without_space->data->consumer_unit());
  } else {
    // Between what comes and what leaves the channels work.
    const bool waits = under_way_.size() > free_.size();
    set_state(waits ? UnitState::kStarved : UnitState::kIdle, waits ? &unit_name() : nullptr);
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
    dma_[done.engine].answer(DmaResponse(request));
  }
  return any;
}

// The engines whose requests have arrived, those that wait longest first; of equals they go first
// in turn.
const std::vector<size_t>& HbmUnit::by_age(Cycle now) {
  waiting_.clear();
  for (size_t i = 0; i < dma_.in_use().size(); ++i) {
    const size_t engine = dma_.in_use()[(now + i) % dma_.in_use().size()];
    if (dma_[engine].head(now) == nullptr) continue;
    waiting_.push_back(engine);
    for (size_t at = waiting_.size() - 1; at > 0; --at) {
      if (dma_[waiting_[at - 1]].head_since() <= dma_[waiting_[at]].head_since()) break;
      std::swap(waiting_[at - 1], waiting_[at]);
    }
  }
  return waiting_;
}

bool HbmUnit::accept(Cycle now) {
  bool any = false;
  for (const size_t engine : by_age(now)) {
    while (const DmaRequest* first = dma_[engine].head(now)) {
      const DmaRequest& head = *first;
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
  under_way_[id] = {dma_[engine].take(now), engine};
  count_in();
  const DmaRequest& request = under_way_[id].request;
  set_item(request.command, request.index);
  model_.push(model_.clocks().time_of(now), request.address, request.bytes, request.write, id);
  ++(request.write ? writes_ : reads_);
  (request.write ? bytes_written_ : bytes_read_) += request.bytes;
  if (!request.write) return;
  if (request.line != nullptr) {
    storage_.write(request.address, request.bytes, request.line->bytes.data(),
                   request.line->valid.data());
  }
  dma_[engine].answer(DmaResponse(request));
}

void HbmUnit::wake_for_model(Cycle now) {
  const std::optional<Cycle> next = next_event();
  if (!next) return;
  const Cycle cycle = std::max(*next, now + 1);
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

std::vector<HbmBankCounters> HbmUnit::bank_counters() const {
  const HbmAddress& address = model_.address();
  std::vector<HbmBankCounters> counters;
  for (uint32_t slice = 0; slice < HbmAddress::slices(); ++slice) {
    for (uint32_t group = 0; group < address.bank_groups(); ++group) {
      for (uint32_t bank = 0; bank < address.banks(); ++bank) {
        counters.push_back(model_.bank_counters(slice, group, bank));
      }
    }
  }
  return counters;
}

double HbmUnit::peak_bytes_per_cycle() const {
  const HbmClocks& clocks = model_.clocks();
  const uint64_t channels = uint64_t{model_.stacks()} * model_.channels();
  return static_cast<double>(channels * model_.address().line_bytes() * clocks.chip_period()) /
         static_cast<double>(transfer_ * clocks.controller_period());
}

std::optional<Cycle> HbmUnit::next_event() const {
  const HbmTime next = model_.next_event();
  if (next == kHbmNever) return std::nullopt;
  return model_.clocks().cycle_of(next);
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
