// SPDX-License-Identifier: Apache-2.0
#include "engine/vector_datapath.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/block_ops.h"

namespace rngdsim {
namespace {

constexpr uint32_t kFlitElements = 8, kStepElements = 4;  // [B]

}  // namespace

void VectorDatapath::begin(const VectorConfig& config, BlockPool* pool, uint32_t slices,
                           const VrfReader* vrf) {
  config_ = &config;
  resources_.pool = pool;
  resources_.vrf = vrf;
  resources_.slices = slices;
  if (pool != nullptr) resources_.stash.begin(config, *pool);
  front_.begin(config.front, resources_);
  middle_.begin(config.middle, resources_);
  after_reduce_.begin(config.after_reduce, resources_);
  back_.begin(config.back, resources_);
  zip_ = front_.zips()          ? Place::kFront
         : middle_.zips()       ? Place::kMiddle
         : after_reduce_.zips() ? Place::kAfterReduce
         : back_.zips()         ? Place::kBack
                                : Place::kNowhere;
  flits_ = results_ = 0;
  half_waits_ = false;
  wide_ = first_half_ = VectorItem();
  counts_.assign(slices, 0);
  measure();
  if (!config.reduce) return;
  plan_ = SlotPlan(config.reduce->time);
  if (pool != nullptr) reducer_.begin(*config.reduce, type_at_reduction(), slices);
}

void VectorDatapath::measure() {
  alus_ = config_->reduce ? 1 : 0;  // the accumulator tree
  conversions_ = 0;
  for (const auto* steps :
       {&config_->front, &config_->middle, &config_->after_reduce, &config_->back}) {
    for (const VectorStep& step : *steps) {
      if (step.alu) ++alus_;
      if (step.kind == VectorStep::Kind::kFxpToFp || step.kind == VectorStep::Kind::kFpToFxp) {
        ++conversions_;
      }
    }
  }
}

DType VectorDatapath::type_at_reduction() const {
  DType dtype = config_->dtype;
  for (const auto* steps : {&config_->front, &config_->middle}) {
    for (const VectorStep& step : *steps) dtype = dtype_behind(step, dtype);
  }
  return config_->reduce->dtype.value_or(dtype);
}

// ---- What the next step does, before it is done.

bool VectorDatapath::holds_next_flit() const { return zip_ == Place::kFront && next_group() == 0; }

bool VectorDatapath::flit_stays() const {
  return config_->narrow == VectorConfig::Narrow::kSplit && zip_ != Place::kFront;
}

bool VectorDatapath::flit_emits() const {
  return !holds_next_flit() && step_emits(zip_ == Place::kFront ? 0 : next_group());
}

bool VectorDatapath::half_emits() const { return step_emits(wide_.group); }

bool VectorDatapath::step_emits(uint8_t group) const {
  if (zip_ == Place::kMiddle && group == 0) return false;
  if (config_->reduce && !plan_.step().last) return false;
  if (zip_ == Place::kAfterReduce && group == 0) return false;
  if (config_->widen == VectorConfig::Widen::kConcat && results_ % 2 == 0) return false;
  return zip_ != Place::kBack || group != 0;
}

// ---- The chain.

std::optional<VectorDatapath::Result> VectorDatapath::take_flit(StreamItem flit) {
  VectorItem item = entered(flit);
  ++flits_;
  if (!front_.run(item)) return std::nullopt;
  valid_ = flit.valid;
  if (config_->narrow == VectorConfig::Narrow::kNone) return step(std::move(item));
  half_ = 0;
  VectorItem front = narrowed(item);
  half_waits_ = config_->narrow == VectorConfig::Narrow::kSplit;
  if (half_waits_) wide_ = std::move(item);
  return step(std::move(front));
}

std::optional<VectorDatapath::Result> VectorDatapath::take_half() {
  half_ = 1;
  half_waits_ = false;
  return step(narrowed(std::exchange(wide_, VectorItem())));
}

VectorItem VectorDatapath::entered(StreamItem& flit) const {
  VectorItem item;
  item.values = std::move(flit.values);
  item.counts = std::move(flit.counts);
  item.elements = kFlitElements;
  item.group = next_group();
  if (config_->tags) {
    item.tags.common = false;
    if (item.values) item.tags.block = compared(*item.values);
  } else if (config_->pair && item.group != 0) {
    item.tags.all = kGroupBit;
  }
  return item;
}

BlockRef VectorDatapath::compared(const Block& values) const {
  BlockRef tags = resources_.pool->allocate(DType::kI8, values.elements);
  const uint8_t group = config_->pair && next_group() != 0 ? kGroupBit : 0;
  for (uint32_t e = 0; e < values.elements; ++e) {
    const auto* bits = values.row<uint32_t>(e);
    auto* row = tags->row<uint8_t>(e);
    std::memset(row, group, resources_.slices);
    for (uint32_t bit = 0; bit < config_->tags->size(); ++bit) {
      const VectorConfig::Compare& wanted = (*config_->tags)[bit];
      if (wanted.op == CompareOp::kFalse) continue;
      for (uint32_t s = 0; s < resources_.slices; ++s) {
        if (compare(wanted.op, config_->dtype, bits[s], wanted.boundary)) {
          row[s] = static_cast<uint8_t>(row[s] | 1u << bit);
        }
      }
    }
    for (uint32_t s = 0; s < resources_.slices && !values.all_valid; ++s) {
      if (!values.is_valid(e, s)) row[s] |= VectorTags::kUnknown;
    }
  }
  return tags;
}

VectorItem VectorDatapath::narrowed(const VectorItem& flit) const {
  VectorItem item = flit;
  item.elements = kStepElements;
  item.tags.first_row += half_ * kStepElements;
  if (item.values) item.values = half_of(*resources_.pool, *flit.values, half_);
  return item;
}

std::optional<VectorDatapath::Result> VectorDatapath::step(VectorItem item) {
  if (item.elements == kStepElements) valid_ = kStepElements;
  if (!middle_.run(item)) return std::nullopt;
  if (config_->reduce && !reduce(item)) return std::nullopt;
  if (!after_reduce_.run(item)) return std::nullopt;
  if (config_->widen != VectorConfig::Widen::kNone && !widen(item)) return std::nullopt;
  if (!back_.run(item)) return std::nullopt;
  return result(std::move(item));
}

bool VectorDatapath::reduce(VectorItem& item) {
  const SlotPlan::Step step = plan_.step();
  plan_.next();
  if (item.values) {
    count_elements(item);
    reducer_.take(step.slot, step.first, *item.values, counts_);
    item.values = step.last ? reducer_.result(step.slot, *resources_.pool) : BlockRef();
  }
  if (config_->reduce->in_packet) valid_ = 1;
  item.tags = VectorTags();
  return step.last;
}

// The counts of a flit of 8 are split like the flit.
void VectorDatapath::count_elements(const VectorItem& item) {
  if (!item.counts) {
    std::fill(counts_.begin(), counts_.end(), static_cast<uint8_t>(kStepElements));
    return;
  }
  const uint32_t before = half_ * kStepElements;
  for (size_t s = 0; s < counts_.size(); ++s) {
    const uint32_t count = item.counts->data[s];
    counts_[s] = static_cast<uint8_t>(std::min(count > before ? count - before : 0, kStepElements));
  }
}

bool VectorDatapath::widen(VectorItem& item) {
  ++results_;
  item.elements = kFlitElements;
  if (config_->widen == VectorConfig::Widen::kPad) {
    if (item.values) item.values = padded_step(*resources_.pool, *item.values);
    return true;
  }
  if (results_ % 2 == 1) {
    first_half_ = std::move(item);
    return false;
  }
  if (item.values) {
    item.values = joined_steps(*resources_.pool, *first_half_.values, *item.values);
    item.tags = joined(first_half_.tags, item.tags);
  }
  first_half_ = VectorItem();
  valid_ = 2 * valid_;
  return true;
}

VectorTags VectorDatapath::joined(const VectorTags& first, const VectorTags& second) const {
  if (first.common || !first.block || !second.block) return first;
  VectorTags tags = first;
  if (first.block->data.data() == second.block->data.data()) return tags;  // halves of one flit
  tags.first_row = 0;
  tags.block = resources_.pool->allocate(DType::kI8, kFlitElements);
  copy_elements(*first.block, first.first_row, *tags.block, 0, kStepElements);
  copy_elements(*second.block, second.first_row, *tags.block, kStepElements, kStepElements);
  return tags;
}

VectorDatapath::Result VectorDatapath::result(VectorItem item) const {
  Result result{valid_, std::move(item.values), std::move(item.keep)};
  if (!result.values || !config_->result_dtype) return result;
  if (result.values->dtype == *config_->result_dtype) return result;
  if (!result.values.unique()) {
    const Block& values = *result.values;
    BlockRef copy = resources_.pool->allocate(values.dtype, values.elements);
    copy_elements(values, 0, *copy, 0, values.elements);
    result.values = std::move(copy);
  }
  result.values->dtype = *config_->result_dtype;  // read otherwise behind the last step
  return result;
}

}  // namespace rngdsim
