// SPDX-License-Identifier: Apache-2.0
#include "engine/vector_lane.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/block_ops.h"
#include "support/diagnostic.h"

namespace rngdsim {
namespace {

int argument_count(const VectorStep& step) {
  switch (step.kind) {
    case VectorStep::Kind::kUnary:
      return 1;
    case VectorStep::Kind::kTernary:
      return 3;
    default:
      return 2;
  }
}

// The validity of a row becomes that of the arguments: of the stream (`and`ed) where it is one of
// them, and `other` (null: valid throughout).
void set_validity(Block& block, uint32_t element, bool uses_stream, const uint8_t* other) {
  const size_t slices = block.slices;
  if (other != nullptr && std::memchr(other, 0, slices) == nullptr) other = nullptr;
  if (other == nullptr && (uses_stream || block.all_valid)) return;
  block.track_validity();
  uint8_t* valid = block.valid_row(element);
  if (!uses_stream) std::memset(valid, 1, slices);
  if (other == nullptr) return;
  for (size_t s = 0; s < slices; ++s) valid[s] &= other[s];
}

}  // namespace

DType dtype_behind(const VectorStep& step, DType before) {
  switch (step.kind) {
    case VectorStep::Kind::kFxpToFp:
      return DType::kF32;
    case VectorStep::Kind::kFpToFxp:
      return DType::kI32;
    case VectorStep::Kind::kStash:
    case VectorStep::Kind::kFilter:
      return before;
    default:
      return step.dtype;
  }
}

void VectorLane::begin(const std::vector<VectorStep>& steps, VectorResources& resources) {
  resources_ = &resources;
  steps_.clear();
  zips_ = false;
  for (const VectorStep& step : steps) {
    steps_.push_back(prepared(step));
    zips_ = zips_ || step.kind == VectorStep::Kind::kZip;
  }
  for (auto* row : {&read_bits_, &operand_, &second_, &result_}) row->assign(resources.slices, 0);
  for (auto* row : {&read_valid_, &operand_valid_, &matched_, &zeros_}) {
    row->assign(resources.slices, 0);
  }
}

VectorLane::Prepared VectorLane::prepared(const VectorStep& step) const {
  Prepared result;
  result.config = &step;
  for (int i = 0; i < argument_count(step); ++i) result.uses[step.arguments[i]] = true;
  for (const VectorStep::Slot& config : step.slots) {
    Slot slot;
    slot.config = &config;
    slot.constant.assign(resources_->slices, config.operand.bits);
    slot.second.assign(resources_->slices, config.second);
    if (config.operand.kind == VectorOperand::Kind::kVrf) {
      slot.walker = SequencerWalker(config.operand.sequencer, 1);
    }
    result.slots.push_back(std::move(slot));
  }
  return result;
}

bool VectorLane::run(VectorItem& item) {
  for (Prepared& step : steps_) {
    switch (step.config->kind) {
      case VectorStep::Kind::kUnary:
      case VectorStep::Kind::kBinary:
      case VectorStep::Kind::kTernary:
        compute(step, item);
        break;
      case VectorStep::Kind::kZip:
        if (!zip(step, item)) return false;
        break;
      case VectorStep::Kind::kFxpToFp:
      case VectorStep::Kind::kFpToFxp:
        if (item.values) convert(*step.config, item);
        break;
      case VectorStep::Kind::kStash:
        if (item.values) resources_->stash.put(item.values);
        break;
      case VectorStep::Kind::kFilter:
        if (item.values) filter(step.config->slots.front().guard, item);
        break;
    }
  }
  return true;
}

// Where all elements have one tag, or the first slot does not care, one slot serves them all.
int VectorLane::serving_slot(const VectorStep& step, const VectorTags& tags) {
  if (!step.slots.empty() && step.slots.front().guard.is_all()) return 0;
  if (!tags.common) return kByElement;
  for (size_t i = 0; i < step.slots.size(); ++i) {
    if (step.slots[i].guard.holds(tags.all)) return static_cast<int>(i);
  }
  return kNobody;
}

void VectorLane::compute(Prepared& step, VectorItem& item) {
  const int slot = serving_slot(*step.config, item.tags);
  if (!item.values) {
    for (uint32_t e = 0; e < item.elements; ++e) {
      for (size_t i = 0; i < step.slots.size(); ++i) {
        operand_row(step.slots[i], e, slot == kByElement || slot == static_cast<int>(i), false);
      }
    }
    return;
  }
  for (Slot& each : step.slots) {
    if (each.config->operand.kind == VectorOperand::Kind::kStash) {
      each.stashed = resources_->stash.take(item.elements);
    }
  }
  make_writable(item.values);
  for (uint32_t e = 0; e < item.elements; ++e) {
    if (slot == kByElement) {
      compute_by_tag(step, item, e);
    } else {
      compute_row(step, item, e, slot);
    }
  }
  for (Slot& each : step.slots) each.stashed = BlockRef();
  item.values->dtype = step.config->dtype;
}

void VectorLane::compute_row(Prepared& step, VectorItem& item, uint32_t element, int slot) {
  Row operand;
  for (size_t i = 0; i < step.slots.size(); ++i) {
    const bool serves = slot == static_cast<int>(i);
    const Row row = operand_row(step.slots[i], element, serves, true);
    if (serves) operand = row;
  }
  if (slot == kNobody) return;
  auto* stream = item.values->row<uint32_t>(element);
  apply(*step.config, stream, operand.bits, step.slots[static_cast<size_t>(slot)].second.data(),
        stream);
  set_validity(*item.values, element, step.uses[0], step.uses[1] ? operand.valid : nullptr);
}

// The operands of all slots are put together by the tags; what no slot wants stays as it is.
void VectorLane::compute_by_tag(Prepared& step, VectorItem& item, uint32_t element) {
  const uint8_t* tags = tag_row(item.tags, element);
  choose(step, tags, element);
  Block& block = *item.values;
  auto* stream = block.row<uint32_t>(element);
  apply(*step.config, stream, operand_.data(), second_.data(), result_.data());
  block.track_validity();
  uint8_t* valid = block.valid_row(element);
  for (uint32_t s = 0; s < resources_->slices; ++s) {
    const bool matched = matched_[s] != 0;
    stream[s] = matched ? result_[s] : stream[s];
    const bool from_stream = valid[s] != 0 || (matched && !step.uses[0]);
    const bool from_operand = !matched || !step.uses[1] || operand_valid_[s] != 0;
    valid[s] = from_stream && from_operand && (tags[s] & VectorTags::kUnknown) == 0 ? 1 : 0;
  }
}

void VectorLane::choose(Prepared& step, const uint8_t* tags, uint32_t element) {
  std::fill(matched_.begin(), matched_.end(), uint8_t{0});
  for (Slot& slot : step.slots) {
    const TagGuard guard = slot.config->guard;
    const uint32_t second = slot.config->second;
    const Row row = operand_row(slot, element, true, true);
    for (uint32_t s = 0; s < resources_->slices; ++s) {
      if (matched_[s] != 0 || !guard.holds(tags[s])) continue;
      matched_[s] = 1;
      operand_[s] = row.bits != nullptr ? row.bits[s] : 0;
      operand_valid_[s] = row.valid != nullptr ? row.valid[s] : 1;
      second_[s] = second;
    }
  }
}

// Reads come along with the stream, used or not; one that is not `wanted` does not take place.
VectorLane::Row VectorLane::operand_row(Slot& slot, uint32_t element, bool wanted, bool values) {
  const VectorOperand& operand = slot.config->operand;
  switch (operand.kind) {
    case VectorOperand::Kind::kNone:
      return {};
    case VectorOperand::Kind::kConstant:
      return {slot.constant.data(), nullptr};
    case VectorOperand::Kind::kStash:
      if (!slot.stashed) return {};
      return {slot.stashed->row<uint32_t>(element),
              slot.stashed->all_valid ? nullptr : slot.stashed->valid_row(element)};
    case VectorOperand::Kind::kVrf:
      break;
  }
  if (resources_->vrf == nullptr) throw InternalError("VRF operand without a VRF");
  if (slot.walker.done()) throw InternalError("VRF operand read beyond its loops");
  const auto offset = static_cast<uint64_t>(slot.walker.offset());
  slot.walker.next();
  if (!wanted) return {};
  resources_->vrf->read(operand.tensor, offset, values ? read_bits_.data() : nullptr,
                        values ? read_valid_.data() : nullptr);
  return {read_bits_.data(), read_valid_.data()};
}

void VectorLane::apply(const VectorStep& step, const uint32_t* stream, const uint32_t* operand,
                       const uint32_t* second, uint32_t* out) const {
  const uint32_t* const rows[3] = {stream, operand, second};
  const uint32_t* const a = rows[step.arguments[0]];
  const uint32_t* const b = rows[step.arguments[1]];
  const size_t count = resources_->slices;
  if (step.kind == VectorStep::Kind::kUnary) {
    apply_unary_array(step.op, stream, out, count);
  } else if (step.kind == VectorStep::Kind::kTernary) {
    apply_ternary_array(step.op, a, b, rows[step.arguments[2]], out, count);
  } else {
    apply_binary_array(step.op, step.dtype, a, b, out, count);
  }
}

bool VectorLane::zip(Prepared& step, VectorItem& item) const {
  if (item.group == 0) {
    step.held.push_back(std::move(item.values));
    return false;
  }
  if (step.held.empty()) throw InternalError("group 1 of a pair came without group 0");
  const BlockRef first = step.held.pop_front();
  item.group = 0;
  item.tags = VectorTags();
  if (!item.values) return true;
  make_writable(item.values);
  for (uint32_t e = 0; e < item.elements; ++e) {
    auto* second = item.values->row<uint32_t>(e);
    apply(*step.config, first->row<uint32_t>(e), second, nullptr, second);
    const bool track = step.uses[0] && !first->all_valid;
    set_validity(*item.values, e, step.uses[1], track ? first->valid_row(e) : nullptr);
  }
  item.values->dtype = step.config->dtype;
  return true;
}

void VectorLane::convert(const VectorStep& step, VectorItem& item) const {
  make_writable(item.values);
  const size_t count = size_t{item.elements} * resources_->slices;
  auto* bits = item.values->row<uint32_t>(0);
  if (step.kind == VectorStep::Kind::kFxpToFp) {
    for (size_t i = 0; i < count; ++i) bits[i] = fxp_to_fp(bits[i], step.int_width);
    item.values->dtype = DType::kF32;
  } else {
    for (size_t i = 0; i < count; ++i) bits[i] = fp_to_fxp(bits[i], step.int_width);
    item.values->dtype = DType::kI32;
  }
}

// What was compared without a value is kept, so that it is noticed where it is written.
void VectorLane::filter(const TagGuard& guard, VectorItem& item) const {
  if (guard.is_all()) return;
  item.keep = resources_->pool->allocate(DType::kI8, item.elements);
  for (uint32_t e = 0; e < item.elements; ++e) {
    auto* keep = item.keep->row<uint8_t>(e);
    if (item.tags.common) {
      std::memset(keep, guard.holds(item.tags.all) ? 1 : 0, resources_->slices);
      continue;
    }
    const uint8_t* tags = tag_row(item.tags, e);
    for (uint32_t s = 0; s < resources_->slices; ++s) {
      keep[s] = guard.holds(tags[s]) || (tags[s] & VectorTags::kUnknown) != 0 ? 1 : 0;
    }
  }
}

// Elements that were added behind the tagged ones are padding: tag 0.
const uint8_t* VectorLane::tag_row(const VectorTags& tags, uint32_t element) const {
  const uint32_t row = tags.first_row + element;
  return tags.block && row < tags.block->elements ? tags.block->row<uint8_t>(row) : zeros_.data();
}

void VectorLane::make_writable(BlockRef& block) const {
  if (block.unique()) return;
  BlockRef copy = resources_->pool->allocate(block->dtype, block->elements);
  copy_elements(*block, 0, *copy, 0, block->elements);
  block = std::move(copy);
}

}  // namespace rngdsim
