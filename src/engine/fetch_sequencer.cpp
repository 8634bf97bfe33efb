// SPDX-License-Identifier: Apache-2.0
#include "engine/fetch_sequencer.h"

#include <fmt/format.h>

#include <algorithm>

namespace rngdsim {

FetchSequencer::FetchSequencer(sc_core::sc_module_name name, Clock& clock,
                               const RunContext& context, const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters) {}

void FetchSequencer::start(CommandId id, Cycle cycle) {
  if (requesting_ || under_way_ != 0) {
    invariant_broken(fmt::format("command {} starts before command {} is through", id, command_),
                     cycle);
  }
  const Command& next = command(id);
  if (!next.fetch) invariant_broken(fmt::format("command {} has no fetch", id), cycle);
  command_ = id;
  walker_ = SequencerWalker(next.fetch->sequencer, next.fetch->access_elements);
  requesting_ = true;
  start_ = cycle;
  poison_.begin();
  wake_at(cycle);
}

void FetchSequencer::tick(Cycle now) {
  const bool data_wait = pass_data(now);
  if (!requesting_ || now < start_) {
    set_state(UnitState::kIdle);
  } else if (under_way_ < parameters_.outstanding && request->can_push(now)) {
    issue(now);
    set_state(UnitState::kBusy);
  } else {
    set_state(UnitState::kBlocked, data_wait ? &out->consumer_unit() : &request->consumer_unit());
  }
}

bool FetchSequencer::pass_data(Cycle now) {
  if (!data->can_pop(now)) return false;
  if (!out->can_push(now)) return true;
  StreamItem item = data->pop(now);
  count_in();
  check_poison(item, now);
  out->push(now, std::move(item));
  --under_way_;
  // The tick may end in a state that sleeps while the next access is here already.
  if (data->can_pop(now + 1)) wake_at(now + 1);
  return false;
}

void FetchSequencer::issue(Cycle now) {
  const FetchConfig& fetch = *command(command_).fetch;
  const TensorVersion& tensor = context().program->tensors[fetch.tensor];
  const int64_t bits = memory_bits(tensor.dtype);
  DmRequest access;
  access.command = command_;
  access.tensor = fetch.tensor;
  access.index = walker_.index();
  access.bit_address = 8 * tensor.address + static_cast<uint64_t>(walker_.offset() * bits);
  access.elements = static_cast<uint32_t>(fetch.access_elements);
  access.replicated = walker_.replicated();
  // A replicated access touches the one element that fills it.
  access.bytes = static_cast<uint32_t>(walker_.replicated() ? std::max<int64_t>(1, bits / 8)
                                                            : fetch.access_bytes);
  access.dtype = tensor.dtype;
  walker_.next();
  access.last = walker_.done();
  requesting_ = !walker_.done();
  set_item(command_, access.index);
  request->push(now, std::move(access));
  count_out();
  ++under_way_;
}

void FetchSequencer::check_poison(const StreamItem& item, Cycle now) {
  const Command& present = command(item.command);
  if (present.carries_poison) return;
  const auto found = poison_.first_in(item, present.source,
                                      item.index * present.fetch->access_elements, context());
  if (!found) return;
  const TensorVersion& tensor = context().program->tensors[present.fetch->tensor];
  context().monitor->failure(
      {"poison", unit_name(), now, item.command,
       fmt::format("tensor '{}' is read at {}, where it was never written (slice {}, access {})",
                   tensor.name, to_string(found->cell, context().program->axes), found->slice,
                   item.index)});
}

std::string FetchSequencer::waiting_for() const {
  if (state() != UnitState::kBlocked) return "";
  return fmt::format("access {} of {} of command {}: {} under way of at most {}", walker_.index(),
                     walker_.accesses(), command_, under_way_, parameters_.outstanding);
}

}  // namespace rngdsim
