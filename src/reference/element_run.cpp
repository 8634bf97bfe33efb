// SPDX-License-Identifier: Apache-2.0
#include "reference/element_run.h"

#include <algorithm>
#include <cstring>

#include "numeric/convert.h"

namespace rngdsim {
namespace {

uint32_t relu(DType dtype, uint32_t bits) {
  return dtype == DType::kBF16 ? relu_bf16(bits) : relu_f32(bits);
}

void relu_array(DType dtype, void* data, size_t count) {
  if (dtype == DType::kBF16) {
    auto* bits = static_cast<uint16_t*>(data);
    for (size_t i = 0; i < count; ++i) bits[i] = static_cast<uint16_t>(relu_bf16(bits[i]));
  } else {
    auto* bits = static_cast<uint32_t*>(data);
    for (size_t i = 0; i < count; ++i) bits[i] = relu_f32(bits[i]);
  }
}

// i4 and i8 take a byte in memory, i5 one and i9 two.
void subtract_array(const Conversion& conversion, const uint8_t* in, void* out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = subtract_zero_point(conversion.from, in[i], conversion.zero_point).bits;
    if (storage_bytes(conversion.to) == 1) {
      static_cast<uint8_t*>(out)[i] = static_cast<uint8_t>(bits);
    } else {
      static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(bits);
    }
  }
}

template <typename T>
void gather_elements(const uint8_t* data, const uint64_t* distances, size_t count, void* out) {
  const auto* from = reinterpret_cast<const T*>(data);
  auto* to = static_cast<T*>(out);
  for (size_t i = 0; i < count; ++i) to[i] = from[distances[i]];
}

}  // namespace

uint32_t convert_all(const std::vector<Conversion>& conversions, uint32_t bits) {
  for (const Conversion& conversion : conversions) {
    bits = conversion.zero_point != 0
               ? subtract_zero_point(conversion.from, bits, conversion.zero_point).bits
               : convert(conversion.from, conversion.to, bits);
    if (conversion.relu) bits = relu(conversion.to, bits);
  }
  return bits;
}

void Distances::find_contiguous() {
  contiguous = true;
  for (size_t i = 0; i < of.size(); ++i) contiguous = contiguous && of[i] == of[0] + i;
}

void RunConverter::convert(DType dtype, const void* in, size_t count, void* out) {
  if (conversions_.empty()) {
    std::memcpy(out, in, count * static_cast<size_t>(storage_bytes(dtype)));
    return;
  }
  for (size_t i = 0; i < conversions_.size(); ++i) {
    const Conversion& conversion = conversions_[i];
    void* to = out;
    if (i + 1 < conversions_.size()) {
      scratch_[i % 2].resize(std::max(scratch_[i % 2].size(), count));
      to = scratch_[i % 2].data();
    }
    if (conversion.zero_point != 0) {
      subtract_array(conversion, static_cast<const uint8_t*>(in), to, count);
    } else {
      convert_array(conversion.from, conversion.to, in, to, count);
    }
    if (conversion.relu) relu_array(conversion.to, to, count);
    in = to;
  }
}

bool RunConverter::gather(const LogicalTensor& tensor, uint64_t base, const Distances& distances,
                          size_t first, size_t count, void* out) {
  if (count == 0) return true;
  const int bytes = storage_bytes(tensor.dtype());
  const uint64_t* of = distances.of.data() + first;
  const uint8_t* flags = tensor.defined_flags() + base;
  bool defined = true;
  if (distances.contiguous) {
    defined = tensor.all_defined() || std::memchr(flags + *of, 0, count) == nullptr;
    convert(tensor.dtype(), tensor.data() + (base + *of) * static_cast<uint64_t>(bytes), count,
            out);
    return defined;
  }
  gathered_.resize(std::max(gathered_.size(), count));
  const uint8_t* data = tensor.data() + base * static_cast<uint64_t>(bytes);
  switch (bytes) {
    case 1:
      gather_elements<uint8_t>(data, of, count, gathered_.data());
      break;
    case 2:
      gather_elements<uint16_t>(data, of, count, gathered_.data());
      break;
    default:
      gather_elements<uint32_t>(data, of, count, gathered_.data());
  }
  convert(tensor.dtype(), gathered_.data(), count, out);
  if (!tensor.all_defined()) {
    for (size_t i = 0; i < count; ++i) defined = defined && flags[of[i]] != 0;
  }
  return defined;
}

}  // namespace rngdsim
