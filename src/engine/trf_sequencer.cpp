// SPDX-License-Identifier: Apache-2.0
#include "engine/trf_sequencer.h"

#include <fmt/format.h>

#include <utility>

namespace rngdsim {

TrfSequencer::TrfSequencer(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                           const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters) {}

void TrfSequencer::start(CommandId command, Cycle cycle) {
  const Command& next = context().command(command);
  if (!next.outer) return;
  if (command_ != nullptr) {
    invariant_broken(fmt::format("command {} starts before command {} has read its operands",
                                 command, command_->id),
                     cycle);
  }
  command_ = &next;
  first_cycle_ = cycle;
  // One step an entry, also of the innermost loop: each is a read of its own.
  walker_ = SequencerWalker(next.outer->trf_sequencer, 1);
  wake_at(cycle);
}

void TrfSequencer::tick(Cycle now) {
  const bool due = command_ != nullptr && now >= first_cycle_;
  const bool credit = outstanding_ < parameters_.outstanding;
  const bool space = due && credit && request->can_push(now);
  if (space) issue(now);
  // A credit that comes back is of use in the next cycle.
  if (forward(now) && due && !space) wake_at(now + 1);
  if (space) {
    set_state(UnitState::kBusy);
  } else if (due) {
    set_state(UnitState::kBlocked, credit ? &request->consumer_unit() : &out->consumer_unit());
  } else {
    set_state(UnitState::kIdle);
  }
}

void TrfSequencer::issue(Cycle now) {
  const OuterConfig& outer = *command_->outer;
  TrfRequest read;
  read.command = command_->id;
  read.index = walker_.index();
  read.first_row = context().program->tensors[outer.trf].first_row;
  read.element_offset = static_cast<uint64_t>(walker_.offset());
  read.byte_offset = read.element_offset * static_cast<uint64_t>(memory_bits(outer.trf_dtype)) / 8;
  read.bytes = static_cast<uint32_t>(outer.read_bytes);
  read.elements = static_cast<uint32_t>(outer.read_elements);
  read.lanes = static_cast<uint32_t>(outer.lanes);
  walker_.next();
  read.last = walker_.done();
  set_item(read.command, read.index);
  if (read.last) command_ = nullptr;
  request->push(now, TrfRequest(read));
  ++outstanding_;
  count_out();
}

bool TrfSequencer::forward(Cycle now) {
  if (!data->can_pop(now) || !out->can_push(now)) return false;
  out->push(now, data->pop(now));
  --outstanding_;
  count_in();
  if (data->can_pop(now)) wake_at(now + 1);
  return true;
}

std::string TrfSequencer::waiting_for() const {
  if (state() != UnitState::kBlocked) return "";
  return outstanding_ < parameters_.outstanding
             ? "space for requests at " + request->consumer_unit()
             : "space at " + out->consumer_unit();
}

}  // namespace rngdsim
