// SPDX-License-Identifier: Apache-2.0
#include "memory/hbm_channel.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/diagnostic.h"

namespace rngdsim {

HbmBankCounters& HbmBankCounters::operator+=(const HbmBankCounters& o) {
  requests += o.requests;
  bytes += o.bytes;
  row_hits += o.row_hits;
  row_misses += o.row_misses;
  row_conflicts += o.row_conflicts;
  misaligned_reads += o.misaligned_reads;
  read_modify_writes += o.read_modify_writes;
  return *this;
}

HbmChannelCounters& HbmChannelCounters::operator+=(const HbmChannelCounters& o) {
  HbmBankCounters::operator+=(o);
  busy += o.busy;
  return *this;
}

HbmChannel::HbmChannel(const Parameters& p, const HbmAddress& address)
    : queue_entries_(p.queue_entries),
      edge_(p.clocks.controller_period()),
      transfer_(p.transfer * edge_),
      other_bank_group_(std::max(p.transfer, p.other_bank_group) * edge_),
      other_slice_(std::max(p.transfer, p.other_slice) * edge_),
      same_bank_group_(std::max(p.transfer, p.same_bank_group) * edge_),
      shortest_gap_(std::min({other_bank_group_, other_slice_, same_bank_group_})),
      read_modify_write_(std::max(p.read_modify_write, p.transfer) * edge_),
      row_open_(next_edge(p.clocks.time_of(p.row_open))),
      row_change_(next_edge(p.clocks.time_of(p.row_change))),
      access_latency_(p.clocks.time_of(p.access_latency)),
      row_changes_(p.row_changes),
      bank_groups_(address.bank_groups()),
      banks_per_group_(address.banks()),
      line_bytes_(static_cast<uint32_t>(address.line_bytes())),
      banks_(size_t{HbmAddress::slices()} * bank_groups_ * banks_per_group_),
      // Transfers start `shortest_gap_` apart at least and are complete when they have moved and
      // the latency is over.
      pipeline_((transfer_ + access_latency_) / std::max<HbmTime>(1, shortest_gap_) + 2) {
  if (p.queue_entries == 0 || p.transfer == 0) {
    throw InternalError("an HBM channel needs queue entries and transfers that take time");
  }
  queue_.reserve(queue_entries_);
}

void HbmChannel::check(HbmTime time, const HbmAccess& access) const {
  const uint32_t offset = access.place.byte % line_bytes_;
  if (!can_accept()) throw InternalError("HBM: a request to a channel whose queue is full");
  if (access.bytes == 0 || access.bytes > line_bytes_ - offset) {
    throw InternalError(
        fmt::format("HBM: {} bytes at byte {} of a line of {}", access.bytes, offset, line_bytes_));
  }
  if (time < advanced_to_) {
    throw InternalError(fmt::format("HBM: a request at {}, advanced to {}", time, advanced_to_));
  }
  if (next_decision_ < time) {
    throw InternalError(
        fmt::format("HBM: a request at {} before what is due at {}", time, next_decision_));
  }
}

HbmChannel::Entry HbmChannel::make_entry(const HbmAccess& access) const {
  const HbmPlace& place = access.place;
  Entry entry{};
  entry.id = access.id;
  entry.row = place.row;
  entry.bytes = access.bytes;
  entry.bank = static_cast<uint16_t>(bank_index(place.slice, place.bank_group, place.bank));
  entry.group = static_cast<uint16_t>(place.slice * bank_groups_ + place.bank_group);
  entry.slice = static_cast<uint8_t>(place.slice);
  entry.write = access.write;
  entry.misaligned = access.misaligned;
  return entry;
}

void HbmChannel::push(HbmTime time, const HbmAccess& access) {
  check(time, access);
  const HbmTime edge = next_edge(time);
  queue_.push_back(make_entry(access));
  Entry& entry = queue_.back();
  Bank& bank = banks_[entry.bank];
  if (bank.row == Bank::kClosed) {
    bank.row = entry.row;
    bank.ready = edge + row_open_;
    entry.row_cost = RowCost::kOpened;
    bank.waiting = 1;
  } else if (bank.row == entry.row) {
    ++bank.waiting;
  } else if (row_changes_ == RowChanges::kOverlap && bank.waiting == 0) {
    change_row(entry, edge);
  }
  const bool open = bank.row == entry.row;
  next_decision_ = std::min(
      next_decision_, open ? earliest_start(entry, edge) : std::max(edge, change_allowed_from()));
}

HbmTime HbmChannel::next_event() const {
  return under_way_ == 0 ? next_decision_
                         : std::min(next_decision_, pipeline_[first_under_way_].time);
}

void HbmChannel::advance(HbmTime to, std::vector<HbmCompletion>& completions) {
  while (!queue_.empty() && next_decision_ <= to) {
    // Completions before it make room in the pipeline.
    complete_until(next_decision_, completions);
    decide(next_decision_);
  }
  complete_until(to, completions);
  advanced_to_ = std::max(advanced_to_, to);
}

void HbmChannel::complete_until(HbmTime now, std::vector<HbmCompletion>& completions) {
  while (is_complete(now)) {
    completions.push_back(pipeline_[first_under_way_]);
    first_under_way_ = (first_under_way_ + 1) % pipeline_.size();
    --under_way_;
  }
}

HbmTime HbmChannel::earliest_start(const Entry& entry, HbmTime now) const {
  const HbmTime earliest = std::max({now, banks_[entry.bank].ready, held_until_});
  if (!has_started_) return earliest;
  const HbmTime gap = entry.slice != last_slice_   ? other_slice_
                      : entry.group != last_group_ ? other_bank_group_
                                                   : same_bank_group_;
  return std::max(earliest, last_start_ + gap);
}

HbmChannel::Choice HbmChannel::choose(HbmTime now) const {
  Choice choice;
  // No request can start before this: the search ends with the first that starts then, unless a row
  // may be changed beside it.
  const HbmTime bound =
      has_started_ ? std::max({now, held_until_, last_start_ + shortest_gap_}) : now;
  const bool seeks_change = row_changes_ == RowChanges::kOneAtATime && now >= changing_until_;
  for (size_t i = 0; i < queue_.size(); ++i) {
    const Entry& entry = queue_[i];
    const Bank& bank = banks_[entry.bank];
    if (bank.row != entry.row) {
      const bool can_change = bank.waiting == 0 && bank.ready <= now;
      if (can_change && choice.change == Choice::kNone) choice.change = i;
      continue;
    }
    choice.row_ready |= bank.ready <= now;
    const HbmTime start = earliest_start(entry, now);
    if (start >= choice.start) continue;
    choice.start = start;
    choice.next = i;
    if (start <= bound && choice.row_ready && !seeks_change) break;
  }
  return choice;
}

void HbmChannel::decide(HbmTime now) {
  Choice choice = choose(now);
  while (choice.start == now) {
    start(choice.next, now);
    choice = choose(now);
  }
  next_decision_ = choice.start;
  // Rows change at once where changes overlap, in push() and in start().
  if (queue_.empty() || row_changes_ == RowChanges::kOverlap) return;
  const bool holds = row_changes_ == RowChanges::kHoldChannel;
  if (holds && choice.row_ready) return;
  if (choice.change != Choice::kNone && now >= change_allowed_from()) {
    change_row(queue_[choice.change], now);
    changing_until_ = now + row_change_;
    if (holds) {
      occupy(now, changing_until_);
      held_until_ = changing_until_;
    }
  }
  // The next change, or one in a bank that a read-modify-write holds.
  for (const HbmTime end : {changing_until_, held_until_}) {
    if (now < end) next_decision_ = std::min(next_decision_, end);
  }
}

void HbmChannel::start(size_t index, HbmTime now) {
  const Entry entry = queue_[index];
  queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(index));
  Bank& bank = banks_[entry.bank];
  const bool read_modify_write = entry.write && entry.bytes < line_bytes_;
  // What follows sees the write at the end of a read-modify-write.
  const HbmTime last = now + (read_modify_write ? read_modify_write_ - transfer_ : 0);
  if (read_modify_write) {
    held_until_ = std::max(held_until_, last);
    bank.ready = std::max(bank.ready, last);
  }
  has_started_ = true;
  last_start_ = last;
  last_group_ = entry.group;
  last_slice_ = entry.slice;
  occupy(now, last + transfer_);
  count(entry, read_modify_write);

  if (under_way_ == pipeline_.size()) throw InternalError("HBM: more under way than fits");
  pipeline_[(first_under_way_ + under_way_) % pipeline_.size()] = {
      last + transfer_ + access_latency_, entry.id};
  ++under_way_;
  --bank.waiting;
  if (row_changes_ == RowChanges::kOverlap && bank.waiting == 0)
    change_row_for_oldest(entry.bank, now);
}

void HbmChannel::count(const Entry& entry, bool read_modify_write) {
  HbmBankCounters& counters = banks_[entry.bank].counters;
  ++counters.requests;
  counters.bytes += entry.bytes;
  counters.row_hits += entry.row_cost == RowCost::kNone ? 1 : 0;
  counters.row_misses += entry.row_cost == RowCost::kOpened ? 1 : 0;
  counters.row_conflicts += entry.row_cost == RowCost::kChanged ? 1 : 0;
  counters.misaligned_reads += entry.misaligned && !entry.write ? 1 : 0;
  counters.read_modify_writes += read_modify_write ? 1 : 0;
}

// Of the bank of a queued entry; it can be changed from its `ready` on.
void HbmChannel::change_row(Entry& entry, HbmTime now) {
  Bank& bank = banks_[entry.bank];
  bank.row = entry.row;
  bank.ready = std::max(now, bank.ready) + row_change_;
  entry.row_cost = RowCost::kChanged;
  bank.waiting = static_cast<uint32_t>(std::count_if(
      queue_.begin(), queue_.end(),
      [&entry](const Entry& other) { return other.bank == entry.bank && other.row == entry.row; }));
}

void HbmChannel::change_row_for_oldest(uint16_t bank, HbmTime now) {
  const auto oldest = std::find_if(queue_.begin(), queue_.end(),
                                   [bank](const Entry& entry) { return entry.bank == bank; });
  if (oldest != queue_.end()) change_row(*oldest, now);
}

// Counts the time from `from` to `to` once, though a row change begins with a transfer.
void HbmChannel::occupy(HbmTime from, HbmTime to) {
  if (to > busy_until_) busy_ += to - std::max(from, busy_until_);
  busy_until_ = std::max(busy_until_, to);
}

HbmChannelCounters HbmChannel::counters() const {
  HbmChannelCounters sum;
  for (const Bank& bank : banks_) sum.HbmBankCounters::operator+=(bank.counters);
  sum.busy = busy_;
  return sum;
}

}  // namespace rngdsim
