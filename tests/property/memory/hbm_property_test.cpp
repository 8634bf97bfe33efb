// SPDX-License-Identifier: Apache-2.0
// The HBM against definitions: the decoding is one to one, and a channel that goes from event to
// event does what one does that looks at everything at every edge of its clock.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "memory/hbm.h"

namespace rngdsim {
namespace {

RC_GTEST_PROP(HbmAddressProperty, DecodingIsOneToOne, ()) {
  const HbmAddress address({});
  const uint64_t byte =
      *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<uint64_t>(0, address.size()));
  const HbmPlace place = address.decode(byte);
  RC_ASSERT(place.stack < 2u);
  RC_ASSERT(place.channel < 16u);
  RC_ASSERT(place.slice < 3u);
  RC_ASSERT(place.bank_group < 4u);
  RC_ASSERT(place.bank < 4u);
  RC_ASSERT(place.row < 16384u);
  RC_ASSERT(place.byte < 2048u);
  RC_ASSERT(address.encode(place) == byte);  // so no other byte has this place
}

// Every place has a byte: with the property above, the decoding is onto.
RC_GTEST_PROP(HbmAddressProperty, EveryPlaceHasAByte, ()) {
  const auto below = [](uint32_t n) { return *rc::gen::inRange<uint32_t>(0, n); };
  const HbmAddress address({});
  const HbmPlace place{below(2), below(16),    below(3),   below(4),
                       below(4), below(16384), below(2048)};
  const uint64_t byte = address.encode(place);
  RC_ASSERT(byte < address.size());
  RC_ASSERT(address.decode(byte) == place);
}

// All 4,096 lines of 1 MB from a random multiple of 1 MB on: no place twice, each channel 128
// times.
RC_GTEST_PROP(HbmAddressProperty, RangesSpreadOverAllChannels, ()) {
  const HbmAddress address({});
  const uint64_t base = *rc::gen::inRange<uint64_t>(0, address.size() >> 20) << 20;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>> seen;
  std::map<std::pair<uint32_t, uint32_t>, int> by_channel;
  for (uint64_t line = 0; line < 4096; ++line) {
    const HbmPlace p = address.decode(base + line * 256);
    RC_ASSERT(
        seen.emplace(p.stack, p.channel, p.slice, p.bank_group, p.bank, p.row, p.byte).second);
    ++by_channel[{p.stack, p.channel}];
  }
  RC_ASSERT(by_channel.size() == 32u);
  for (const auto& [channel, lines] : by_channel) RC_ASSERT(lines == 128);
}

// ---------------------------------------------------------------------------- one channel
struct HbmArrival {
  HbmTime time;
  HbmAccess access;
};

// A channel by the book, edge by edge. Takes what the channel under test accepted.
class EdgeByEdge {
 public:
  EdgeByEdge(const HbmChannel::Parameters& parameters, std::vector<HbmArrival> arrivals)
      : p_(parameters), arrivals_(std::move(arrivals)) {}

  std::vector<HbmCompletion> run() {
    const HbmTime edge = p_.clocks.controller_period();
    for (HbmTime now = 0; !queue_.empty() || arrived_ < arrivals_.size(); now += edge) {
      arrive(now);
      while (start_one(now)) {
      }
      if (p_.row_changes != RowChanges::kOverlap) change_one(now);
    }
    return done_;
  }

 private:
  struct BankState {
    bool open = false;
    uint32_t row = 0;
    HbmTime ready = 0;
  };
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;
  BankState& bank(const HbmAccess& a) {
    return banks_[Key{a.place.slice, a.place.bank_group, a.place.bank}];
  }
  bool wants_open_row(const HbmAccess& a) { return bank(a).row == a.place.row; }
  bool open_row_wanted(const BankState& of) {
    return std::any_of(queue_.begin(), queue_.end(),
                       [&](const HbmAccess& a) { return &bank(a) == &of && wants_open_row(a); });
  }
  HbmTime cycles(uint64_t controller) const { return controller * p_.clocks.controller_period(); }
  HbmTime row_change() const { return p_.clocks.time_of(p_.row_change); }

  void arrive(HbmTime now) {
    for (; arrived_ < arrivals_.size() && arrivals_[arrived_].time <= now; ++arrived_) {
      const HbmAccess& a = arrivals_[arrived_].access;
      BankState& b = bank(a);
      if (!b.open) {
        b = {true, a.place.row, now + p_.clocks.time_of(p_.row_open)};
      } else if (p_.row_changes == RowChanges::kOverlap && !open_row_wanted(b)) {
        b.ready = std::max(b.ready, now) + (b.row == a.place.row ? 0 : row_change());
        b.row = a.place.row;
      }
      queue_.push_back(a);
    }
  }
  bool can_start(const HbmAccess& a, HbmTime now) {
    if (!wants_open_row(a) || bank(a).ready > now || now < held_) return false;
    if (!any_) return true;
    if (a.place.slice != last_.slice) return now >= last_start_ + cycles(p_.other_slice);
    if (a.place.bank_group != last_.bank_group) {
      return now >= last_start_ + cycles(p_.other_bank_group);
    }
    return now >= last_start_ + cycles(p_.same_bank_group);
  }
  bool start_one(HbmTime now) {
    const auto it = std::find_if(queue_.begin(), queue_.end(),
                                 [&](const HbmAccess& a) { return can_start(a, now); });
    if (it == queue_.end()) return false;
    const HbmAccess a = *it;
    queue_.erase(it);
    any_ = true;
    last_ = a.place;
    last_start_ = now;
    if (a.write && a.bytes < 256) {
      last_start_ += cycles(p_.read_modify_write - p_.transfer);
      held_ = bank(a).ready = last_start_;
    }
    done_.push_back(
        {last_start_ + cycles(p_.transfer) + p_.clocks.time_of(p_.access_latency), a.id});
    if (p_.row_changes == RowChanges::kOverlap && !open_row_wanted(bank(a))) {
      const auto next = std::find_if(queue_.begin(), queue_.end(),
                                     [&](const HbmAccess& o) { return &bank(o) == &bank(a); });
      if (next != queue_.end()) {
        bank(a) = {true, next->place.row, std::max(bank(a).ready, now) + row_change()};
      }
    }
    return true;
  }
  void change_one(HbmTime now) {
    const bool holds = p_.row_changes == RowChanges::kHoldChannel;
    if (now < changing_ || (holds && now < held_)) return;
    for (const HbmAccess& a : queue_) {
      if (holds && wants_open_row(a) && bank(a).ready <= now) return;
    }
    for (const HbmAccess& a : queue_) {
      if (wants_open_row(a) || bank(a).ready > now || open_row_wanted(bank(a))) continue;
      bank(a).row = a.place.row;
      bank(a).ready = changing_ = now + row_change();
      if (holds) held_ = changing_;
      return;
    }
  }

  HbmChannel::Parameters p_;
  std::vector<HbmArrival> arrivals_;
  size_t arrived_ = 0;
  std::vector<HbmAccess> queue_;
  std::map<Key, BankState> banks_;
  bool any_ = false;
  HbmPlace last_;
  HbmTime last_start_ = 0, held_ = 0, changing_ = 0;
  std::vector<HbmCompletion> done_;
};

// Few banks and rows, so that everything meets; pauses of none to many cycles.
std::vector<HbmArrival> random_arrivals(int count) {
  const auto below = [](uint32_t n) { return *rc::gen::inRange<uint32_t>(0, n); };
  std::vector<HbmArrival> arrivals;
  HbmTime time = 0;
  for (int i = 0; i < count; ++i) {
    if (below(3) == 0) time += below(5) == 0 ? below(1000) : below(40);
    HbmAccess access;
    access.id = static_cast<uint64_t>(i);
    access.place.slice = below(2);
    access.place.bank_group = below(2);
    access.place.bank = below(2);
    access.place.row = below(3);
    access.write = below(4) == 0;
    access.bytes = below(8) == 0 ? 100 : 256;
    arrivals.push_back({time, access});
  }
  return arrivals;
}

RC_GTEST_PROP(HbmChannelProperty, EventsAreWhatHappensEdgeByEdge, ()) {
  HbmChannel::Parameters parameters;
  parameters.queue_entries = *rc::gen::inRange<uint32_t>(1, 20);
  parameters.row_changes =
      *rc::gen::element(RowChanges::kHoldChannel, RowChanges::kOneAtATime, RowChanges::kOverlap);
  parameters.read_modify_write = 20;
  HbmChannel channel(parameters, HbmAddress({}));
  std::vector<HbmArrival> arrivals = random_arrivals(60);
  std::vector<HbmCompletion> done;
  HbmTime now = 0;
  for (HbmArrival& arrival : arrivals) {
    now = std::max(now, arrival.time);
    // What happens at the time of an arrival sees it.
    if (now > 0) channel.advance(now - 1, done);
    while (!channel.can_accept()) {
      now = channel.next_event() + 1;
      channel.advance(now - 1, done);
    }
    arrival.time = now;
    channel.push(now, arrival.access);
  }
  while (channel.next_event() != kHbmNever) channel.advance(channel.next_event(), done);
  RC_ASSERT(done == EdgeByEdge(parameters, arrivals).run());
  const HbmChannelCounters counters = channel.counters();
  RC_ASSERT(counters.requests == 60u);
  RC_ASSERT(counters.row_hits + counters.row_misses + counters.row_conflicts == 60u);
}

// ---------------------------------------------------------------------------- all channels
// Every request is complete once, in order, and not before its transfer and the latency could be
// over (196 units); all bytes are counted.
RC_GTEST_PROP(HbmProperty, EveryRequestIsCompleteOnce, ()) {
  Hbm hbm({});
  std::vector<HbmCompletion> done;
  std::vector<HbmTime> pushed;
  uint64_t bytes_pushed = 0;
  HbmTime now = 0;
  for (uint64_t id = 0; id < 300; ++id) {
    const uint64_t address = *rc::gen::inRange<uint64_t>(0, 1 << 16);
    const uint64_t bytes = *rc::gen::inRange<uint64_t>(1, 2000);
    while (!hbm.can_accept(address, bytes)) {
      now = hbm.next_event();
      hbm.advance(now, done);
    }
    hbm.push(now, address, bytes, id % 5 == 0, id);
    pushed.push_back(now);
    bytes_pushed += bytes;
  }
  while (hbm.next_event() != kHbmNever) hbm.advance(hbm.next_event() + 500, done);
  RC_ASSERT(done.size() == 300u);
  std::set<uint64_t> ids;
  for (size_t i = 0; i < done.size(); ++i) {
    RC_ASSERT(ids.insert(done[i].id).second);
    RC_ASSERT(done[i].time >= pushed[done[i].id] + 196);
    if (i == 0) continue;
    const HbmCompletion& a = done[i - 1];
    RC_ASSERT(a.time < done[i].time || (a.time == done[i].time && a.id < done[i].id));
  }
  RC_ASSERT(hbm.counters().bytes == bytes_pushed);
}

}  // namespace
}  // namespace rngdsim
