// SPDX-License-Identifier: Apache-2.0
#include "memory/host_unit.h"

#include <fmt/format.h>

#include <algorithm>

namespace rngdsim {

HostUnit::HostUnit(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                   const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters) {}

std::vector<PortBase*> HostUnit::ports() {
  std::vector<PortBase*> all;
  dma_.add_to(all);
  return all;
}

void HostUnit::elaborated() { dma_.elaborated(); }

void HostUnit::tick(Cycle now) {
  bool moved = complete(reads_, now);
  moved = complete(writes_, now) || moved;
  moved = accept(now) || moved;
  const DmaPort* without_space = nullptr;
  for (const size_t engine : dma_.in_use()) {
    const uint64_t sent = dma_[engine].send(now);
    count_out(sent);
    moved = moved || sent > 0;
    if (dma_[engine].has_answers()) without_space = &dma_[engine];
  }
  const std::optional<Cycle> next = next_event();
  if (next) wake_at(*next);
  if (moved) {
    set_state(UnitState::kBusy);
  } else if (without_space != nullptr) {
    set_state(UnitState::kBlocked, &without_space->data->consumer_unit());
  } else {
    // What passes PCIe takes its time.
    set_state(next ? UnitState::kStarved : UnitState::kIdle, next ? &unit_name() : nullptr);
  }
}

bool HostUnit::complete(Way& way, Cycle now) {
  bool any = false;
  while (!way.under_way.empty() && way.under_way.front().done <= now) {
    const UnderWay& done = way.under_way.front();
    const DmaRequest& request = done.request;
    if (request.line != nullptr && request.write) {
      storage_.write(request.address, request.bytes, request.line->bytes.data(),
                     request.line->valid.data());
    } else if (request.line != nullptr) {
      storage_.read(request.address, request.bytes, request.line->bytes.data(),
                    request.line->valid.data());
    }
    set_item(request.command, request.index);
    dma_[done.engine].answer(DmaResponse(request));
    way.under_way.pop_front();
    any = true;
  }
  return any;
}

// As many as find PCIe free in this cycle, an engine after the other.
bool HostUnit::accept(Cycle now) {
  bool any = false;
  for (size_t refused = 0; refused < dma_.in_use().size();) {
    const bool taken = accept_one(dma_.in_use()[next_], now);
    any = any || taken;
    refused = taken ? 0 : refused + 1;
    next_ = (next_ + 1) % dma_.in_use().size();
  }
  return any;
}

bool HostUnit::accept_one(size_t engine, Cycle now) {
  const DmaRequest* head = dma_[engine].head(now);
  if (head == nullptr) return false;
  Way& way = way_of(*head);
  const uint64_t rate = parameters_.bytes_per_cycle;
  if (way.free >= (now + 1) * rate) {
    wake_at(way.free / rate);
    return false;
  }
  const DmaRequest request = dma_[engine].take(now);
  count_in();
  set_item(request.command, request.index);
  way.free = std::max(way.free, now * rate) + request.bytes;
  const Cycle passed = (way.free + rate - 1) / rate;
  way.under_way.push_back({request, engine, request.write ? passed : passed + parameters_.latency});
  ++way.requests;
  way.bytes += request.bytes;
  return true;
}

std::optional<Cycle> HostUnit::next_event() const {
  std::optional<Cycle> next;
  for (const Way* way : {&reads_, &writes_}) {
    if (way->under_way.empty()) continue;
    const Cycle done = way->under_way.front().done;
    next = next ? std::min(*next, done) : done;
  }
  return next;
}

void HostUnit::add_extra_counters(UnitCounters& counters) const {
  counters.extra.emplace_back("reads", reads_.requests);
  counters.extra.emplace_back("writes", writes_.requests);
  counters.extra.emplace_back("bytes_read", reads_.bytes);
  counters.extra.emplace_back("bytes_written", writes_.bytes);
}

std::string HostUnit::waiting_for() const {
  switch (state()) {
    case UnitState::kBlocked:
      return "space for answers";
    case UnitState::kStarved:
      return "PCIe";
    default:
      return "";
  }
}

}  // namespace rngdsim
