// SPDX-License-Identifier: Apache-2.0
#include "memory/operand.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "numeric/convert.h"
#include "support/diagnostic.h"

namespace rngdsim {
namespace {

constexpr int16_t kSmallestNormal = 0x80;  // bf16 magnitude
constexpr int16_t kLargest = 0x7fff;

size_t count(const Block& block) { return size_t{block.elements} * block.slices; }

bool has_subnormal(const Block& block) {
  const auto* bits = reinterpret_cast<const uint16_t*>(block.data.data());
  uint16_t found = 0;
  for (size_t i = 0; i < count(block); ++i) {
    const uint16_t magnitude = bits[i] & 0x7fff;
    found |= static_cast<uint16_t>((magnitude != 0) & (magnitude < kSmallestNormal));
  }
  return found != 0;
}

// Two's complement of `bits` bits in the low part of each element.
template <typename From, typename To>
void sign_extend(const Block& raw, Block& out, int bits) {
  const auto* from = reinterpret_cast<const From*>(raw.data.data());
  auto* to = reinterpret_cast<To*>(out.data.data());
  const int shift = 32 - bits;
  for (size_t i = 0; i < count(raw); ++i) {
    to[i] = static_cast<To>(static_cast<int32_t>(static_cast<uint32_t>(from[i]) << shift) >> shift);
  }
}

}  // namespace

DType operand_form(DType dtype) {
  switch (dtype) {
    case DType::kI4:
    case DType::kI5:
    case DType::kI8:
      return DType::kI8;
    case DType::kI9:
      return DType::kI16;
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kBF16:
      return DType::kBF16;
    default:
      throw InternalError(std::string(name(dtype)) + " is no operand of the multiplier");
  }
}

bool is_operand_form(const Block& raw) {
  if (raw.dtype == DType::kI8) return true;
  return raw.dtype == DType::kBF16 && !has_subnormal(raw);
}

void to_operand_form(const Block& raw, Block& out) {
  switch (raw.dtype) {
    case DType::kI4:
    case DType::kI5:
    case DType::kI8:
      sign_extend<uint8_t, int8_t>(raw, out, value_bits(raw.dtype));
      break;
    case DType::kI9:
      sign_extend<uint16_t, int16_t>(raw, out, value_bits(raw.dtype));
      break;
    default:
      convert_array(raw.dtype, DType::kBF16, raw.data.data(), out.data.data(), count(raw));
      break;
  }
  out.all_valid = raw.all_valid;
  if (!raw.all_valid) out.valid = raw.valid;
}

uint32_t min_exponent(const Block& block, const uint8_t* live) {
  int16_t smallest = kLargest;
  for (uint32_t row = 0; row < block.elements; ++row) {
    const auto* bits = block.row<uint16_t>(row);
    for (uint32_t s = 0; s < block.slices; ++s) {
      const auto magnitude = static_cast<int16_t>(bits[s] & 0x7fff);
      const bool counts = magnitude >= kSmallestNormal && (live == nullptr || live[s] != 0);
      smallest = counts && magnitude < smallest ? magnitude : smallest;
    }
  }
  return static_cast<uint32_t>(smallest) >> 7;
}

}  // namespace rngdsim
