// SPDX-License-Identifier: Apache-2.0
#include "engine/collect.h"

#include <fmt/format.h>

#include <utility>

#include "engine/block_ops.h"
#include "engine/vector_route.h"

namespace rngdsim {

Collect::Collect(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                 const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters) {}

std::vector<PortBase*> Collect::ports() {
  if (parameters_.context == Context::kMain) return {&in, &switched, &out, &store, &vrf};
  return {&in, &switched, &out, &store, &vrf, &vector, &inter};
}

Link<StreamItem>& Collect::way_of(const Command& command) {
  if (command.to_trf) return *store;
  const bool past_contraction = parameters_.context == Context::kSub;
  if (command.vector && past_contraction) return enters_reducer(*command.vector) ? *inter : *vector;
  return command.to_vrf && !command.vector && !command.outer ? *vrf : *out;
}

void Collect::tick(Cycle now) {
  // Commands of a context follow each other: only one port has items at a time.
  if (!in_command_) from_ = in->can_pop(now) ? &in : &switched;
  if (!(*from_)->can_pop(now)) {
    if (in_command_) {
      set_state(UnitState::kStarved, &(*from_)->producer_unit());
    } else {
      set_state(UnitState::kIdle);
    }
    return;
  }
  const Command& present = command((*from_)->front().command);
  if (!in_command_) begin(present);
  Link<StreamItem>& to = way_of(present);
  const bool cuts = present.collect.has_value() && from_ == &in;
  const FlitCutter::Step step = cuts ? cutter_.step() : FlitCutter::Step{};
  if ((!cuts || step.ends_flit) && !to.can_push(now)) {
    set_state(UnitState::kBlocked, &to.consumer_unit());
    return;
  }
  if (cuts) {
    collect(now, to, *present.collect, step);
  } else if (from_ == &switched) {
    pass_switched(now, to, *present.collect);
  } else {
    forward(now, to);
  }
  set_state(UnitState::kBusy);
}

void Collect::begin(const Command& command) {
  command_ = command.id;
  if (!command.collect) return;
  // Fetch sends accesses, a stream whole packets.
  cutter_ = FlitCutter(*command.collect, command.fetch ? command.fetch->access_elements
                                                       : command.collect->packet_elements);
}

void Collect::forward(Cycle now, Link<StreamItem>& to) {
  StreamItem item = in->pop(now);
  in_command_ = !item.last;
  set_item(item.command, item.index);
  to.push(now, std::move(item));
  count_in();
  count_out();
}

void Collect::pass_switched(Cycle now, Link<StreamItem>& to, const CollectConfig& config) {
  StreamItem item = switched->pop(now);
  count_in();
  in_command_ = !item.last;
  set_item(item.command, item.index);
  if (item.values && item.values->elements < config.flit_elements) {
    fill(std::move(item.values), config, {0, 0, item.valid, true, true});
    item.values = std::move(flit_);
    flit_ = BlockRef();
  }
  to.push(now, std::move(item));
  count_out();
}

void Collect::collect(Cycle now, Link<StreamItem>& to, const CollectConfig& config,
                      const FlitCutter::Step& step) {
  in_command_ = true;
  const bool last_item = in->front().last;
  const uint64_t flit = cutter_.flit();
  set_item(command_, flit);
  BlockRef values = in->front().values;
  if (step.ends_item) {
    in->pop(now);
    count_in();
  }
  if (values) fill(std::move(values), config, step);
  cutter_.take(step);
  if (!step.ends_flit) return;
  StreamItem item;
  item.command = command_;
  item.index = flit;
  item.last = cutter_.done();
  item.valid = static_cast<uint32_t>(step.flit_begin + step.elements);
  item.values = std::move(flit_);
  flit_ = BlockRef();
  if (item.last != (last_item && step.ends_item)) {
    invariant_broken(fmt::format("command {}: flit {} of {} ends with item {}", command_, flit,
                                 config.flits, last_item ? "the last" : "before the last"),
                     now);
  }
  in_command_ = !item.last;
  to.push(now, std::move(item));
  count_out();
}

void Collect::fill(BlockRef values, const CollectConfig& config, const FlitCutter::Step& step) {
  const bool whole = step.elements == config.flit_elements;
  if (whole && values->elements == config.flit_elements) {
    flit_ = std::move(values);  // the item is the flit
    return;
  }
  if (!flit_) {
    flit_ = context().pool->allocate(config.dtype, static_cast<uint32_t>(config.flit_elements));
  }
  copy_elements(*values, static_cast<uint32_t>(step.item_begin), *flit_,
                static_cast<uint32_t>(step.flit_begin), static_cast<uint32_t>(step.elements));
  if (step.ends_flit) {
    zero_elements(*flit_, static_cast<uint32_t>(step.flit_begin + step.elements));
  }
}

std::string Collect::waiting_for() const {
  if (state() == UnitState::kIdle || state() == UnitState::kBusy) return "";
  // What comes from the switch is not cut here.
  const uint64_t flit = from_ == &in ? cutter_.flit() : item_index() + 1;
  return fmt::format("{} flit {} of command {}",
                     state() == UnitState::kBlocked ? "space for" : "the elements of", flit,
                     command_);
}

}  // namespace rngdsim
