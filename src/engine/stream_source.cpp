// SPDX-License-Identifier: Apache-2.0
#include "engine/stream_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/vector_route.h"

namespace rngdsim {

StreamSource::StreamSource(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                           const Parameters& /*parameters*/)
    : Unit(name, clock, context) {}

void StreamSource::add_entry(const std::string& entry_stage, Link<StreamItem>* link) {
  entries_.push_back({entry_stage, link});
}

void StreamSource::start(CommandId id, Cycle cycle) {
  const Command& next = command(id);
  if (link_ != nullptr) {
    invariant_broken(fmt::format("command {} starts before command {} is through", id, command_),
                     cycle);
  }
  if (!next.stream) invariant_broken(fmt::format("command {} has no stream", id), cycle);
  const std::string stage = entry_of(next);
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& candidate) { return candidate.stage == stage; });
  if (entry == entries_.end()) {
    invariant_broken(fmt::format("no entry for the stage '{}'", stage), cycle);
  }
  link_ = entry->link;
  own_producer_ = link_->exchange_producer(this);  // is idle meanwhile
  command_ = id;
  start_ = cycle;
  next_ = 0;
  wake_at(cycle);
}

void StreamSource::tick(Cycle now) {
  if (link_ == nullptr || now < start_) {
    set_state(UnitState::kIdle);
    return;
  }
  if (!link_->can_push(now)) {
    set_state(UnitState::kBlocked, &link_->consumer_unit());
    return;
  }
  const Command& present = command(command_);
  StreamItem item;
  item.command = command_;
  item.index = next_;
  item.last = ++next_ == present.stream->items;
  item.valid = static_cast<uint32_t>(present.source.packet.size());
  set_item(command_, item.index);
  if (context().values()) {
    item.values = context().pool->allocate(present.source.dtype,
                                           static_cast<uint32_t>(present.source.packet.size()));
    fill_(command_, item.index, *item.values);
  }
  const bool last = item.last;
  link_->push(now, std::move(item));
  count_out();
  if (last) std::exchange(link_, nullptr)->exchange_producer(own_producer_);
  set_state(UnitState::kBusy);
}

std::string StreamSource::waiting_for() const {
  if (state() != UnitState::kBlocked) return "";
  return fmt::format("space for item {} of command {}", next_, command_);
}

}  // namespace rngdsim
