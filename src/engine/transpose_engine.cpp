// SPDX-License-Identifier: Apache-2.0
#include "engine/transpose_engine.h"

#include <fmt/format.h>

#include <utility>

namespace rngdsim {

TransposeEngine::TransposeEngine(sc_core::sc_module_name name, Clock& clock,
                                 const RunContext& context, const Parameters& /*parameters*/)
    : Unit(name, clock, context) {}

void TransposeEngine::tick(Cycle now) {
  // Both are decided by what was true before this cycle.
  const bool ready = command_ && buffers_.gives();
  const bool room = !command_ || buffers_.takes();
  const bool gives = ready && to_->can_push(now);
  const bool takes = room && in->can_pop(now);
  if (takes) take(now, gives);
  if (gives) give(now);
  if (gives || takes) {
    set_state(UnitState::kBusy);
    wake_at(now + 1);
  } else if (ready) {
    set_state(UnitState::kBlocked, &to_->consumer_unit());
  } else if (command_) {
    set_state(UnitState::kStarved, &in->producer_unit());
  } else {
    set_state(UnitState::kIdle);
  }
}

void TransposeEngine::begin(const Command& of) {
  command_ = of.id;
  config_ = &*of.transpose;
  to_ = of.context == Context::kMain ? out.get() : sub_out.get();
  taken_ = given_ = 0;
  buffers_.begin(*config_);
}

void TransposeEngine::take(Cycle now, bool gave) {
  StreamItem flit = in->pop(now);
  count_in();
  if (!command_) begin(command(flit.command));
  const uint64_t flits = config_->matrices * config_->in_flits();
  if (flit.command != *command_ || flit.last != (++taken_ == flits)) {
    invariant_broken(fmt::format("flit {} of {} of command {}: command {}, {}the last", taken_,
                                 flits, *command_, flit.command, flit.last ? "" : "not "),
                     now);
  }
  if (!gave) set_item(flit.command, flit.index);  // the item shown is the one that leaves
  buffers_.take(std::move(flit.values), std::move(flit.keep));
}

void TransposeEngine::give(Cycle now) {
  TransposeBuffers::Column column =
      buffers_.give(context().pool, static_cast<uint32_t>(config_->flit_elements));
  StreamItem item;
  item.command = *command_;
  item.index = given_++;
  item.last = given_ == config_->results();
  item.valid = static_cast<uint32_t>(config_->in_rows);
  item.values = std::move(column.values);
  item.keep = std::move(column.keep);
  set_item(item.command, item.index);
  if (item.last) command_.reset();
  to_->push(now, std::move(item));
  count_out();
}

std::string TransposeEngine::waiting_for() const {
  switch (state()) {
    case UnitState::kBlocked:
      return fmt::format("space for column {} of command {}", given_, *command_);
    case UnitState::kStarved:
      return fmt::format("flit {} of command {}", taken_, *command_);
    default:
      return "";
  }
}

}  // namespace rngdsim
