// SPDX-License-Identifier: Apache-2.0
#include "memory/hbm.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/diagnostic.h"

namespace rngdsim {

Hbm::Hbm(const Parameters& parameters)
    : address_(parameters.address),
      clocks_(parameters.channel.clocks),
      line_(address_.line_bytes()) {
  const size_t count = size_t{stacks()} * channels();
  channels_.reserve(count);
  for (size_t i = 0; i < count; ++i) channels_.emplace_back(parameters.channel, address_);
  wanted_room_.resize(count, 0);
  // Requests allocate nothing: each has a piece in some channel, and a channel completes no more
  // pieces at once than it has.
  const size_t capacity = count * channels_.front().capacity();
  requests_.reserve(capacity);
  free_requests_.reserve(capacity);
  pieces_.reserve(channels_.front().capacity());

  size_t leaves = 1;
  while (leaves < count) leaves *= 2;
  next_.resize(leaves, kHbmNever);
  earliest_.resize(2 * leaves, 0);
  for (size_t i = 0; i < leaves; ++i) earliest_[leaves + i] = static_cast<uint32_t>(i);
  for (size_t i = leaves; i-- > 1;) earliest_[i] = earliest_[2 * i];
}

void Hbm::update_next(size_t channel) {
  next_[channel] = channels_[channel].next_event();
  for (size_t i = (next_.size() + channel) / 2; i >= 1; i /= 2) {
    const uint32_t left = earliest_[2 * i];
    const uint32_t right = earliest_[2 * i + 1];
    earliest_[i] = next_[right] < next_[left] ? right : left;
  }
}

void Hbm::check(uint64_t address, uint64_t bytes) const {
  if (bytes == 0 || bytes > kMaxRequestBytes || address >= address_.size() ||
      bytes > address_.size() - address) {
    throw InternalError(fmt::format("HBM: a request for {} bytes at {}, of {} bytes", bytes,
                                    address, address_.size()));
  }
}

bool Hbm::can_accept(uint64_t address, uint64_t bytes) const {
  check(address, bytes);
  const uint64_t pieces = pieces_of(address, bytes);
  if (pieces == 1) return channels_[channel_index(address_.decode(address))].can_accept();
  // Two lines of one request may lie in one channel.
  bool room = true;
  for (uint64_t i = 0; i < pieces; ++i) {
    const size_t channel = channel_index(address_.decode(address / line_ * line_ + i * line_));
    room &= ++wanted_room_[channel] <= channels_[channel].free_entries();
  }
  std::fill(wanted_room_.begin(), wanted_room_.end(), 0);
  return room;
}

void Hbm::push(HbmTime time, uint64_t address, uint64_t bytes, bool write, uint64_t id) {
  if (!can_accept(address, bytes)) {
    throw InternalError(fmt::format("HBM: no room for {} bytes at {}", bytes, address));
  }
  if (time < advanced_to_) {
    throw InternalError(fmt::format("HBM: a request at {}, advanced to {}", time, advanced_to_));
  }
  const uint64_t pieces = pieces_of(address, bytes);
  HbmAccess access;
  access.id = take_request(id, static_cast<uint32_t>(pieces));
  access.write = write;
  access.misaligned = pieces > (bytes + line_ - 1) / line_;
  const uint64_t end = address + bytes;
  for (uint64_t at = address; at < end;) {
    const uint64_t piece_end = std::min(end, (at / line_ + 1) * line_);
    access.place = address_.decode(at);
    access.bytes = static_cast<uint32_t>(piece_end - at);
    const size_t channel = channel_index(access.place);
    channels_[channel].push(time, access);
    update_next(channel);
    access.misaligned = false;  // counted once
    at = piece_end;
  }
}

uint32_t Hbm::take_request(uint64_t id, uint32_t pieces) {
  if (free_requests_.empty()) {
    free_requests_.push_back(static_cast<uint32_t>(requests_.size()));
    requests_.emplace_back();
  }
  const uint32_t slot = free_requests_.back();
  free_requests_.pop_back();
  requests_[slot] = {id, pieces, 0};
  return slot;
}

void Hbm::advance(HbmTime to, std::vector<HbmCompletion>& completions) {
  const size_t before = completions.size();
  while (next_event() != kHbmNever && next_event() <= to) {
    const uint32_t channel = earliest_[1];
    pieces_.clear();
    channels_[channel].advance(to, pieces_);
    update_next(channel);
    for (const HbmCompletion& piece : pieces_) finish_piece(piece, completions);
  }
  advanced_to_ = std::max(advanced_to_, to);
  // Channels were advanced one after the other, but whatever is complete by `to` is there now.
  std::sort(completions.begin() + static_cast<std::ptrdiff_t>(before), completions.end(),
            [](const HbmCompletion& a, const HbmCompletion& b) {
              return a.time != b.time ? a.time < b.time : a.id < b.id;
            });
}

void Hbm::finish_piece(const HbmCompletion& piece, std::vector<HbmCompletion>& completions) {
  const auto slot = static_cast<uint32_t>(piece.id);
  Request& request = requests_[slot];
  request.last = std::max(request.last, piece.time);
  if (--request.pieces > 0) return;
  completions.push_back({request.last, request.id});
  free_requests_.push_back(slot);
}

HbmChannelCounters Hbm::stack_counters(uint32_t stack) const {
  HbmChannelCounters sum;
  for (uint32_t i = 0; i < channels(); ++i) sum += channel(stack, i).counters();
  return sum;
}

HbmChannelCounters Hbm::counters() const {
  HbmChannelCounters sum;
  for (const HbmChannel& channel : channels_) sum += channel.counters();
  return sum;
}

HbmBankCounters Hbm::bank_counters(uint32_t slice, uint32_t bank_group, uint32_t bank) const {
  HbmBankCounters sum;
  for (const HbmChannel& channel : channels_) sum += channel.bank_counters(slice, bank_group, bank);
  return sum;
}

}  // namespace rngdsim
