// SPDX-License-Identifier: Apache-2.0
#include "engine/vector_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/block_ops.h"

namespace rngdsim {
namespace {

constexpr uint32_t kFlit = 8, kStep = 4;  // elements [B]

}  // namespace

VectorEngine::VectorEngine(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                           const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters) {}

void VectorEngine::begin(const Command& of) {
  command_ = of.id;
  config_ = &*of.vector;
  half_ = steps_ = results_ = flits_ = 0;
  if (!config_->reduce) return;
  plan_ = SlotPlan(config_->reduce->time);
  if (context().values()) reducer_.begin(*config_->reduce, of.source.dtype, context().slices());
}

bool VectorEngine::emits() const {
  if (config_->reduce && !plan_.step().last) return false;
  return config_->widen != VectorConfig::Widen::kConcat || results_ % 2 == 1;
}

void VectorEngine::tick(Cycle now) {
  if (!in->can_pop(now)) {
    if (command_) {
      set_state(UnitState::kStarved, &in->producer_unit());
    } else {
      set_state(UnitState::kIdle);
    }
    return;
  }
  if (!command_) begin(command(in->front().command));
  Link<StreamItem>& to = way_out();
  if (emits() && !to.can_push(now)) {
    set_state(UnitState::kBlocked, &to.consumer_unit());
    return;
  }
  const StreamItem& flit = in->front();
  set_item(flit.command, flit.index);
  const bool emitting = emits();
  BlockRef values = step_values(flit);
  uint32_t valid = config_->narrow == VectorConfig::Narrow::kNone ? flit.valid : kStep;
  if (config_->reduce) {
    const SlotPlan::Step step = plan_.step();
    if (values) {
      reducer_.take(step.slot, step.first, *values, step_counts(flit));
      values = step.last ? reducer_.result(step.slot, *context().pool) : BlockRef();
    }
    if (config_->reduce->in_packet) valid = 1;
    if (step.last) ++results_;
    plan_.next();
  } else {
    ++results_;
  }
  if (config_->widen == VectorConfig::Widen::kConcat && !emitting) {
    if (values) first_half_ = std::move(values);
  } else if (emitting) {
    put_out(now, widened(std::move(values)),
            config_->widen == VectorConfig::Widen::kConcat ? 2 * valid : valid);
  }
  ++steps_;
  if (config_->narrow == VectorConfig::Narrow::kSplit && half_ == 0) {
    half_ = 1;
  } else {
    half_ = 0;
    const bool last = flit.last;
    in->pop(now);
    count_in();
    if (last) command_.reset();
  }
  set_state(UnitState::kBusy);
}

BlockRef VectorEngine::step_values(const StreamItem& flit) const {
  if (!flit.values || config_->narrow == VectorConfig::Narrow::kNone) return flit.values;
  BlockRef step = context().pool->allocate(flit.values->dtype, kStep);
  copy_elements(*flit.values, static_cast<uint32_t>(half_) * kStep, *step, 0, kStep);
  return step;
}

std::vector<uint8_t> VectorEngine::step_counts(const StreamItem& flit) const {
  std::vector<uint8_t> counts(context().slices(), kStep);
  if (!flit.counts) return counts;
  for (size_t s = 0; s < counts.size(); ++s) {
    const int count = flit.counts->data[s];
    counts[s] =
        static_cast<uint8_t>(half_ == 0 ? std::min<int>(count, kStep)
                                        : std::max<int>(count - static_cast<int>(kStep), 0));
  }
  return counts;
}

BlockRef VectorEngine::widened(BlockRef values) {
  if (!values || config_->widen == VectorConfig::Widen::kNone) return values;
  BlockRef flit = context().pool->allocate(values->dtype, kFlit);
  if (config_->widen == VectorConfig::Widen::kConcat) {
    copy_elements(*first_half_, 0, *flit, 0, kStep);
    copy_elements(*values, 0, *flit, kStep, kStep);
    first_half_ = BlockRef();
    return flit;
  }
  copy_elements(*values, 0, *flit, 0, kStep);
  zero_elements(*flit, kStep);
  flit->track_validity();
  std::fill_n(flit->valid_row(kStep), size_t{kFlit - kStep} * flit->slices, uint8_t{0});
  return flit;
}

void VectorEngine::put_out(Cycle now, BlockRef values, uint32_t valid) {
  StreamItem item;
  item.command = *command_;
  item.index = flits_++;
  item.last = flits_ == config_->results;
  item.valid = valid;
  item.values = std::move(values);
  Link<StreamItem>& to = way_out();
  const uint64_t latency = to.latency();
  const uint64_t reduce = config_->reduce ? parameters_.reduce_latency : 1;
  to.push(now, std::move(item), reduce > latency ? reduce - latency : 0);
  count_out();
}

Link<StreamItem>& VectorEngine::way_out() const {
  return config_->inter && !config_->inter_first ? *inter : *out;
}

std::string VectorEngine::waiting_for() const {
  switch (state()) {
    case UnitState::kBlocked:
      return fmt::format("space for result {} of command {}", flits_, *command_);
    case UnitState::kStarved:
      return fmt::format("the next flit of command {}", *command_);
    default:
      return "";
  }
}

}  // namespace rngdsim
