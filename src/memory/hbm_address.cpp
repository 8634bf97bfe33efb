// SPDX-License-Identifier: Apache-2.0
#include "memory/hbm_address.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/diagnostic.h"

namespace rngdsim {
namespace {

constexpr uint32_t kMaxAddressBits = 48;

uint32_t address_bit(uint64_t address, uint32_t bit) {
  return static_cast<uint32_t>(address >> bit & 1);
}

// How many parts own each bit, and every bit above kMaxAddressBits.
struct BitOwners {
  std::vector<int> owners = std::vector<int>(kMaxAddressBits, 0);
  std::vector<uint32_t> too_high;

  void add(uint32_t bit) {
    if (bit < kMaxAddressBits) {
      ++owners[bit];
    } else {
      too_high.push_back(bit);
    }
  }
  void add(const HbmAddress::Parameters::Bits& bits) {
    for (const uint32_t bit : bits) add(bit);
  }
};

BitOwners owners_of(const HbmAddress::Parameters& p) {
  BitOwners owners;
  for (const auto* bits : {&p.byte, &p.stack, &p.channel, &p.bank_group, &p.bank, &p.row}) {
    owners.add(*bits);
  }
  for (const uint32_t bit : {p.low_slice, p.third_slice, p.top_row}) owners.add(bit);
  return owners;
}

HbmAddress::Parameters checked(const HbmAddress::Parameters& parameters) {
  const std::vector<std::string> problems = HbmAddress::problems(parameters);
  if (!problems.empty()) throw InternalError("HBM address: " + problems.front());
  return parameters;
}

}  // namespace

std::vector<std::string> HbmAddress::problems(const Parameters& parameters) {
  std::vector<std::string> found;
  const BitOwners owners = owners_of(parameters);
  for (const uint32_t bit : owners.too_high) {
    found.push_back(
        fmt::format("bit {} is above the {} bits an address may have", bit, kMaxAddressBits));
  }
  for (uint32_t bit = 0; bit < kMaxAddressBits; ++bit) {
    const int count = owners.owners[bit];
    if (count > 1)
      found.push_back(fmt::format("bit {} belongs to {} parts, not to one", bit, count));
    if (count == 0 && bit <= parameters.top_row) {
      found.push_back(fmt::format("bit {} belongs to no part", bit));
    }
    if (count == 1 && bit > parameters.top_row) {
      found.push_back(fmt::format("bit {} lies above the top row bit {}", bit, parameters.top_row));
    }
  }
  if (parameters.third_slice + 1 != parameters.top_row) {
    found.push_back(
        fmt::format("the third slice's bit {} must lie right below the top row bit {}: the memory "
                    "has gaps else",
                    parameters.third_slice, parameters.top_row));
  }
  for (const Parameters::Bits& field : parameters.channel_xor) {
    if (field.size() != parameters.channel.size()) {
      found.push_back(fmt::format("a field of {} bits cannot change a channel of {}", field.size(),
                                  parameters.channel.size()));
    }
    for (const uint32_t bit : field) {
      const auto& channel = parameters.channel;
      if (bit > parameters.top_row ||
          std::find(channel.begin(), channel.end(), bit) != channel.end()) {
        found.push_back(fmt::format("bit {} cannot change the channel", bit));
      }
    }
  }
  if (parameters.byte.empty() || parameters.byte.front() != 0) {
    found.emplace_back("the lowest bit of the byte must be bit 0");
  }
  return found;
}

HbmAddress::Field::Field(const Parameters::Bits& bits)
    : width_(static_cast<uint32_t>(bits.size())) {
  for (uint32_t i = 0; i < width_; ++i) {
    if (i > 0 && bits[i] == bits[i - 1] + 1) {
      runs_.back().mask = runs_.back().mask << 1 | 1;
    } else {
      runs_.push_back({1, bits[i], i});
    }
  }
}

HbmAddress::HbmAddress(const Parameters& parameters)
    : byte_(checked(parameters).byte),
      stack_(parameters.stack),
      channel_(parameters.channel),
      bank_group_(parameters.bank_group),
      bank_(parameters.bank),
      row_(parameters.row),
      low_slice_(parameters.low_slice),
      third_slice_(parameters.third_slice),
      top_row_(parameters.top_row),
      size_(uint64_t{3} << parameters.third_slice),
      line_bytes_(1) {
  for (const Parameters::Bits& field : parameters.channel_xor) channel_xor_.emplace_back(field);
  uint32_t bit = 0;
  while (bit < parameters.byte.size() && parameters.byte[bit] == bit) ++bit;
  line_bytes_ = uint64_t{1} << bit;
}

HbmPlace HbmAddress::decode(uint64_t address) const {
  HbmPlace place;
  place.byte = byte_.get(address);
  place.stack = stack_.get(address);
  place.channel = channel_.get(address);
  for (const Field& field : channel_xor_) place.channel ^= field.get(address);
  place.bank_group = bank_group_.get(address);
  place.bank = bank_.get(address);
  const bool third = address_bit(address, third_slice_) != 0;
  place.slice = third ? 2 : address_bit(address, low_slice_);
  place.row = row_.get(address) | address_bit(address, third ? low_slice_ : top_row_)
                                      << row_.width();
  return place;
}

uint64_t HbmAddress::encode(const HbmPlace& place) const {
  uint64_t address = byte_.put(place.byte) | stack_.put(place.stack) |
                     bank_group_.put(place.bank_group) | bank_.put(place.bank) |
                     row_.put(place.row);
  const uint64_t top = place.row >> row_.width() & 1;
  if (place.slice == 2) {
    address |= uint64_t{1} << third_slice_ | top << low_slice_;
  } else {
    address |= uint64_t{place.slice} << low_slice_ | top << top_row_;
  }
  uint32_t channel = place.channel;
  for (const Field& field : channel_xor_) channel ^= field.get(address);
  return address | channel_.put(channel);
}

}  // namespace rngdsim
