// SPDX-License-Identifier: Apache-2.0
#include "memory/vrf_storage.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/diagnostic.h"

namespace rngdsim {

VrfStorage::VrfStorage(const Program& program, uint32_t slices,
                       const std::vector<std::vector<uint8_t>>& live)
    : program_(program), slices_(slices), live_(live), tensors_(program.tensors.size()) {}

VrfStorage::Tensor& VrfStorage::tensor(TensorId id) {
  Tensor& tensor = tensors_.at(id);
  if (tensor.bits.empty()) {
    const size_t entries = program_.tensors[id].element.size() * slices_;
    tensor.bits.assign(entries, 0);
    tensor.valid.assign(entries, 0);
  }
  return tensor;
}

void VrfStorage::check_place(TensorId id, uint64_t first, uint64_t count) const {
  const uint64_t elements = program_.tensors.at(id).element.size();
  if (count <= elements && first <= elements - count) return;
  throw InternalError(fmt::format("VRF tensor '{}' has {} elements; {} from {} on are outside",
                                  program_.tensors[id].name, elements, count, first));
}

void VrfStorage::store(TensorId id, uint64_t first, uint32_t count, const Block* flit) {
  check_place(id, first, count);
  if (slices_ == 0) return;
  if (storage_bytes(flit->dtype) != 4) {
    throw InternalError(fmt::format("the VRF holds no {}", name(flit->dtype)));
  }
  if (!tensors_[id].stored) take_bytes_over(id);
  Tensor& to = tensor(id);
  const size_t entries = size_t{count} * slices_;
  std::copy_n(flit->row<uint32_t>(0), entries, to.bits.data() + first * slices_);
  uint8_t* valid = to.valid.data() + first * slices_;
  if (flit->all_valid) {
    std::fill_n(valid, entries, uint8_t{1});
  } else {
    std::copy_n(flit->valid_row(0), entries, valid);
  }
}

void VrfStorage::take_bytes_over(TensorId id) {
  const TensorVersion& own = program_.tensors[id];
  for (TensorId other = 0; other < tensors_.size(); ++other) {
    const TensorVersion& version = program_.tensors[other];
    if (other == id || tensors_[other].bits.empty()) continue;
    if (own.address < version.address + version.bytes &&
        version.address < own.address + own.bytes) {
      tensors_[other] = Tensor{};
    }
  }
  tensors_[id].stored = true;
}

void VrfStorage::read(TensorId id, uint64_t element, uint32_t* bits, uint8_t* valid) const {
  if (slices_ == 0) return;
  const Tensor& from = tensors_.at(id);
  const bool exists = !from.bits.empty() && element < program_.tensors[id].element.size();
  for (uint32_t s = 0; s < slices_; ++s) {
    const bool holds = exists && is_live(id, s);
    bits[s] = holds ? from.bits[element * slices_ + s] : 0;
    valid[s] = !is_live(id, s) || (holds && from.valid[element * slices_ + s] != 0) ? 1 : 0;
  }
}

void VrfStorage::poke(TensorId id, uint64_t element, uint32_t slice, uint32_t bits) {
  check_place(id, element, 1);
  if (slices_ == 0) return;
  Tensor& to = tensor(id);
  to.bits[element * slices_ + slice] = bits;
  to.valid[element * slices_ + slice] = 1;
}

std::optional<uint32_t> VrfStorage::peek(TensorId id, uint64_t element, uint32_t slice) const {
  if (id >= tensors_.size() || tensors_[id].bits.empty()) return std::nullopt;
  const Tensor& from = tensors_[id];
  const uint64_t entry = element * slices_ + slice;
  if (entry >= from.bits.size() || from.valid[entry] == 0) return std::nullopt;
  return from.bits[entry];
}

}  // namespace rngdsim
