// SPDX-License-Identifier: Apache-2.0
#include "engine/switch_ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/diagnostic.h"

namespace rngdsim {
namespace {

constexpr size_t kRounds = 2;  // one is sent, one leaves

// One hop of a row of registers: each group of `ring` entries of `bytes` bytes moves on by one.
void rotate_row(uint8_t* row, size_t slices, size_t ring, size_t bytes) {
  uint8_t last[8];
  for (size_t first = 0; first < slices; first += ring) {
    uint8_t* group = row + first * bytes;
    std::memcpy(last, group + (ring - 1) * bytes, bytes);
    std::memmove(group + bytes, group, (ring - 1) * bytes);
    std::memcpy(group, last, bytes);
  }
}

template <typename T>
void copy_column(const Block& from, Block& to, uint32_t first, size_t ring) {
  for (uint32_t e = 0; e < to.elements; ++e) {
    const T* source = from.row<T>(e);
    T* target = to.row<T>(e);
    for (size_t slice = first; slice < from.slices; slice += ring) target[slice] = source[slice];
  }
}

}  // namespace

void SwitchRing::begin(const SwitchConfig& config, BlockPool* pool, std::vector<uint8_t> sends,
                       std::vector<uint8_t> gets) {
  const uint64_t ring = config.ring_size;
  if (ring == 0 || config.snoop.size() != ring || config.source_slot.size() != ring ||
      config.packet_slot.size() != config.round_in) {
    throw InternalError(fmt::format("a ring of {} with {} routers, {} sources and {} packets", ring,
                                    config.snoop.size(), config.source_slot.size(),
                                    config.packet_slot.size()));
  }
  if (pool != nullptr && pool->slices() % ring != 0) {
    throw InternalError(fmt::format("{} slices are no rings of {}", pool->slices(), ring));
  }
  config_ = &config;
  pool_ = pool;
  sends_ = std::move(sends);
  gets_ = std::move(gets);
  takers_.assign(ring, {});
  last_packet_.assign(config.round_out, 0);
  for (uint32_t router = 0; router < ring; ++router) {
    for (const uint32_t source : config.snoop[router]) {
      takers_[(router + ring - source) % ring].push_back(router);
    }
  }
  for (uint64_t packet = 0; packet < config.round_in; ++packet) {
    for (const uint64_t slot : config.source_slot) {
      uint64_t& last = last_packet_[slot + config.packet_slot[packet]];
      last = std::max(last, packet);
    }
  }
  registers_ = BlockRef();
  on_ring_ = false;
  hops_ = entered_ = given_ = 0;
  rounds_.clear();
}

uint32_t SwitchRing::elements_of(uint64_t flit_in_packet) const {
  const uint64_t before = flit_in_packet * config_->flit_elements;
  return static_cast<uint32_t>(std::min(config_->flit_elements, config_->packet_elements - before));
}

bool SwitchRing::can_enter() const {
  if (on_ring_ || entered_ == config_->traversals()) return false;
  const uint64_t a_round = config_->round_in * config_->flits_per_packet;
  return entered_ % a_round != 0 || rounds_.size() < kRounds;
}

void SwitchRing::enter(const BlockRef& values) {
  if (entered_ % (config_->round_in * config_->flits_per_packet) == 0) {
    rounds_.emplace_back();
    rounds_.back().flits.resize(config_->round_out * config_->flits_per_packet);
  }
  if (pool_ != nullptr) load(values);
  ++entered_;
  on_ring_ = true;
  hops_ = 0;
  see();
}

void SwitchRing::load(const BlockRef& values) {
  const uint32_t elements = values->elements;
  registers_ = pool_->allocate(values->dtype, elements);
  const size_t entries = size_t{elements} * values->slices;
  std::memcpy(registers_->data.data(), values->data.data(),
              entries * static_cast<size_t>(storage_bytes(values->dtype)));
  const bool all_send = std::find(sends_.begin(), sends_.end(), 0) == sends_.end();
  if (values->all_valid && all_send) return;
  registers_->track_validity();
  for (uint32_t e = 0; e < elements; ++e) {
    uint8_t* flags = registers_->valid_row(e);
    for (uint32_t s = 0; s < values->slices; ++s) {
      const bool sent = sends_.empty() || sends_[s] != 0;
      flags[s] = sent && values->is_valid(e, s) ? 1 : 0;
    }
  }
}

void SwitchRing::hop() {
  ++hops_;
  if (pool_ != nullptr) {
    const size_t slices = registers_->slices, ring = config_->ring_size;
    const auto bytes = static_cast<size_t>(storage_bytes(registers_->dtype));
    for (uint32_t e = 0; e < registers_->elements; ++e) {
      rotate_row(registers_->data.data() + e * slices * bytes, slices, ring, bytes);
      if (!registers_->all_valid) rotate_row(registers_->valid_row(e), slices, ring, 1);
    }
  }
  see();
}

// Every router looks at what it holds.
void SwitchRing::see() {
  const uint64_t ring = config_->ring_size;
  if (pool_ != nullptr) {
    for (const uint32_t router : takers_[hops_]) {
      take(router, static_cast<uint32_t>((router + ring - hops_) % ring));
    }
  }
  if (hops_ + 1 == ring) finish_traversal();
}

void SwitchRing::take(uint32_t router, uint32_t source) {
  const uint64_t flit = entered_ - 1;
  const uint64_t packet = flit / config_->flits_per_packet % config_->round_in;
  if (!config_->packet_digit.empty() &&
      config_->packet_digit[packet] != config_->router_digit[router]) {
    return;
  }
  const uint64_t place = config_->source_slot[source] + config_->packet_slot[packet];
  BlockRef& output = rounds_.back().flits[place * config_->flits_per_packet + flit_in_packet(flit)];
  if (!output) output = new_output(registers_->elements);
  const size_t ring = config_->ring_size;
  switch (storage_bytes(registers_->dtype)) {
    case 1:
      copy_column<uint8_t>(*registers_, *output, router, ring);
      break;
    case 2:
      copy_column<uint16_t>(*registers_, *output, router, ring);
      break;
    default:
      copy_column<uint32_t>(*registers_, *output, router, ring);
      break;
  }
  for (uint32_t e = 0; e < output->elements; ++e) {
    uint8_t* flags = output->valid_row(e);
    for (size_t slice = router; slice < output->slices; slice += ring) {
      flags[slice] = registers_->is_valid(e, static_cast<uint32_t>(slice)) ? 1 : 0;
    }
  }
}

void SwitchRing::finish_traversal() {
  on_ring_ = false;
  ++rounds_.back().traversals;
}

// What no router takes is poison, but where nothing lives anyway.
BlockRef SwitchRing::new_output(uint32_t elements) const {
  BlockRef block = pool_->allocate(config_->dtype, elements);
  block->track_validity();
  const size_t entries = size_t{elements} * block->slices;
  std::memset(block->data.data(), 0, entries * static_cast<size_t>(storage_bytes(config_->dtype)));
  std::fill_n(block->valid_row(0), entries, uint8_t{0});
  return block;
}

bool SwitchRing::has_output() const {
  if (rounds_.empty()) return false;
  const Round& round = rounds_.front();
  const uint64_t packet = last_packet_[round.given / config_->flits_per_packet];
  return packet * config_->flits_per_packet + flit_in_packet(round.given) < round.traversals;
}

SwitchRing::Flit SwitchRing::take_output() {
  Round& round = rounds_.front();
  Flit flit;
  flit.index = given_;
  flit.elements = elements_of(flit_in_packet(round.given));
  if (pool_ != nullptr) {
    flit.values = std::move(round.flits[round.given]);
    if (!flit.values) flit.values = new_output(flit.elements);
    bool all_valid = true;
    for (uint32_t e = 0; e < flit.elements; ++e) {
      uint8_t* flags = flit.values->valid_row(e);
      for (uint32_t s = 0; s < flit.values->slices; ++s) {
        if (!gets_.empty() && gets_[s] == 0) flags[s] = 1;
        all_valid = all_valid && flags[s] != 0;
      }
    }
    flit.values->all_valid = all_valid;
  }
  ++given_;
  if (++round.given == config_->round_out * config_->flits_per_packet) rounds_.pop_front();
  return flit;
}

}  // namespace rngdsim
