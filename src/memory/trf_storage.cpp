// SPDX-License-Identifier: Apache-2.0
#include "memory/trf_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "memory/operand.h"
#include "support/diagnostic.h"

namespace rngdsim {
namespace {

const uint8_t* live_flags(const std::vector<std::vector<uint8_t>>& live, TensorId id) {
  return id < live.size() && !live[id].empty() ? live[id].data() : nullptr;
}

}  // namespace

TrfStorage::TrfStorage(const Program& program, BlockPool* pool,
                       const std::vector<std::vector<uint8_t>>& live, uint64_t row_bytes)
    : program_(program), pool_(pool), live_(live), row_bytes_(row_bytes) {}

uint64_t TrfStorage::granule_elements(TensorId id) const {
  return row_bytes_ * 8 / static_cast<uint64_t>(memory_bits(program_.tensors[id].dtype));
}

TrfStorage::Tensor& TrfStorage::tensor(TensorId id) {
  if (id >= tensors_.size()) tensors_.resize(program_.tensors.size());
  Tensor& tensor = tensors_.at(id);
  if (tensor.lanes == 0) {
    const TensorVersion& version = program_.tensors[id];
    tensor.lanes = version.lane.size();
    tensor.granules_per_lane = (version.bytes + row_bytes_ - 1) / row_bytes_;
    tensor.granule_elements = granule_elements(id);
    tensor.granules.resize(tensor.lanes * tensor.granules_per_lane);
    tensor.narrow.resize(tensor.granules_per_lane * tensor.granule_elements);
    tensor.wide.resize(tensor.granules_per_lane);
  }
  return tensor;
}

TrfStorage::Granule& TrfStorage::granule(TensorId id, uint64_t lane, uint64_t index) {
  Tensor& held = tensor(id);
  if (lane >= held.lanes || index >= held.granules_per_lane) {
    throw InternalError(
        fmt::format("TRF tensor '{}' has {} lanes of {} granules; lane {} granule {} is outside",
                    program_.tensors[id].name, held.lanes, held.granules_per_lane, lane, index));
  }
  return held.granules[lane * held.granules_per_lane + index];
}

void TrfStorage::drop_operands(Tensor& tensor) {
  if (!tensor.has_operands) return;
  for (auto* cache : {&tensor.narrow, &tensor.wide})
    std::fill(cache->begin(), cache->end(), Cached{});
  tensor.has_operands = false;
}

void TrfStorage::store(TensorId id, uint64_t lane, uint64_t index, BlockRef flit) {
  if (pool_ == nullptr) return;
  if (!tensor(id).stored) take_rows_over(id);
  granule(id, lane, index) = Granule{std::move(flit), {}, 0};
  drop_operands(tensor(id));
}

void TrfStorage::take_rows_over(TensorId id) {
  // Rows of the whole file: a lane of few owns those of the idle ones too.
  const auto rows = [this](TensorId of) {
    const TensorVersion& version = program_.tensors[of];
    const uint64_t lanes = version.lane.size();
    return std::pair<uint64_t, uint64_t>{version.first_row * lanes,
                                         (version.first_row + version.rows) * lanes};
  };
  const auto [begin, end] = rows(id);
  for (TensorId other = 0; other < tensors_.size(); ++other) {
    if (other == id || tensors_[other].lanes == 0) continue;
    const auto [other_begin, other_end] = rows(other);
    if (begin < other_end && other_begin < end) tensors_[other] = Tensor{};
  }
  tensors_[id].stored = true;
}

void TrfStorage::prepare(TensorId id, Granule& granule) {
  if (!granule.raw || granule.form) return;
  if (is_operand_form(*granule.raw)) {
    granule.form = granule.raw;
  } else {
    granule.form = pool_->allocate(operand_form(granule.raw->dtype), granule.raw->elements);
    to_operand_form(*granule.raw, *granule.form);
  }
  // Only bf16 forms have exponents; integers say nothing.
  granule.min_exponent =
      granule.form->dtype == DType::kBF16 ? min_exponent(*granule.form, live_flags(live_, id)) : 0;
}

bool TrfStorage::all_valid(TensorId id, const Granule& granule, uint64_t first,
                           uint64_t elements) const {
  if (!granule.raw) return false;
  if (granule.raw->all_valid) return true;
  const uint8_t* live = live_flags(live_, id);
  for (uint64_t e = first; e < first + elements; ++e) {
    const uint8_t* flags = granule.raw->valid_row(static_cast<uint32_t>(e));
    for (uint32_t s = 0; s < granule.raw->slices; ++s) {
      if (flags[s] == 0 && (live == nullptr || live[s] != 0)) return false;
    }
  }
  return true;
}

std::shared_ptr<const StreamItem::TrfOperand> TrfStorage::read(TensorId id, uint64_t first,
                                                               uint64_t elements, uint64_t lanes) {
  if (pool_ == nullptr) return nullptr;
  Tensor& held = tensor(id);
  const bool wide = elements > held.granule_elements;
  auto& cache = wide ? held.wide : held.narrow;
  const uint64_t place = wide ? first / held.granule_elements : first;
  if (place < cache.size() && cache[place].operand != nullptr &&
      cache[place].elements == elements && cache[place].operand->lanes.size() == lanes) {
    return cache[place].operand;
  }

  auto operand = std::make_shared<Operand>();
  const uint64_t first_granule = first / held.granule_elements;
  operand->granule_elements = static_cast<uint32_t>(held.granule_elements);
  operand->first_element = static_cast<uint32_t>(first % held.granule_elements);
  if (operand->first_element + elements > (wide ? 2 : 1) * held.granule_elements) {
    throw InternalError(fmt::format("TRF read of {} elements at {} of '{}' straddles its rows",
                                    elements, first, program_.tensors[id].name));
  }
  operand->lanes.resize(lanes);
  operand->min_exponent = 255;
  for (uint64_t lane = 0; lane < lanes; ++lane) {
    for (uint64_t g = 0; g < (wide ? 2 : 1); ++g) {
      Granule& part = granule(id, lane, first_granule + g);
      prepare(id, part);
      operand->lanes[lane][g] = part.form;
      operand->all_valid =
          operand->all_valid && all_valid(id, part, wide ? 0 : operand->first_element,
                                          wide ? held.granule_elements : elements);
      if (part.form) operand->min_exponent = std::min(operand->min_exponent, part.min_exponent);
    }
  }
  cache[place] = {operand, elements};
  held.has_operands = true;
  return operand;
}

void TrfStorage::poke(TensorId id, uint64_t lane, uint64_t element, uint32_t slice, uint32_t bits) {
  if (pool_ == nullptr) return;
  Tensor& held = tensor(id);
  Granule& part = granule(id, lane, element / held.granule_elements);
  if (!part.raw) {
    const auto elements = static_cast<uint32_t>(held.granule_elements);
    part.raw = pool_->allocate(program_.tensors[id].dtype, elements);
    part.raw->track_validity();
    std::fill(part.raw->valid.begin(), part.raw->valid.end(), uint8_t{0});
    std::fill(part.raw->data.begin(), part.raw->data.end(), uint8_t{0});
  }
  part.form = {};
  const auto row = static_cast<uint32_t>(element % held.granule_elements);
  part.raw->set_bits(row, slice, bits);
  if (!part.raw->all_valid) part.raw->valid_row(row)[slice] = 1;
  drop_operands(held);
}

std::optional<uint32_t> TrfStorage::peek(TensorId id, uint64_t lane, uint64_t element,
                                         uint32_t slice) const {
  if (id >= tensors_.size() || tensors_[id].lanes == 0) return std::nullopt;
  const Tensor& held = tensors_[id];
  const uint64_t index = element / held.granule_elements;
  if (lane >= held.lanes || index >= held.granules_per_lane) return std::nullopt;
  const BlockRef& raw = held.granules[lane * held.granules_per_lane + index].raw;
  const auto row = static_cast<uint32_t>(element % held.granule_elements);
  if (!raw || !raw->is_valid(row, slice)) return std::nullopt;
  return raw->bits(row, slice);
}

}  // namespace rngdsim
