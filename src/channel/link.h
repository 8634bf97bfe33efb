// SPDX-License-Identifier: Apache-2.0
// The link between two units: a timestamped FIFO, and the clock that wakes units.
//
// An item pushed in cycle c can be popped from cycle c + latency on (later, if the producer gives
// it a longer way); space freed in cycle c can be used from c + 1 on. Both sides see only what was
// true before the present cycle, so the order in which units are evaluated cannot matter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "channel/observer.h"

namespace rngdsim {

// Whoever ticks a unit. Implemented by sim's clock (SystemC) and by tests.
class Wakeable {
 public:
  virtual ~Wakeable() = default;
  // The unit must be evaluated in `cycle` (now or later); may be called many times.
  virtual void wake_at(Cycle cycle) = 0;
};

// The part of a link that does not depend on the item type: names, counters, observers.
class LinkBase {
 public:
  // `name` has the form "main_fetch.out->fetch_adapter.in". latency >= 1: with less, both sides
  // would see what happens in the present cycle.
  LinkBase(std::string name, uint64_t latency, uint64_t depth)
      : name_(std::move(name)), latency_(latency), depth_(depth) {
    const size_t arrow = name_.find("->");
    producer_unit_ = name_.substr(0, name_.find('.'));
    if (arrow != std::string::npos) {
      consumer_unit_ = name_.substr(arrow + 2, name_.find('.', arrow) - arrow - 2);
    }
  }
  virtual ~LinkBase() = default;
  LinkBase(const LinkBase&) = delete;
  LinkBase& operator=(const LinkBase&) = delete;

  const std::string& name() const { return name_; }
  // The units at both ends, whom the other one blames; the addresses stay valid.
  const std::string& producer_unit() const { return producer_unit_; }
  const std::string& consumer_unit() const { return consumer_unit_; }
  uint64_t latency() const { return latency_; }
  uint64_t depth() const { return depth_; }
  uint64_t items() const { return items_; }  // pushed so far
  // Cycles without space, from the one in which the producer asked for it. Counted by the link
  // itself: a producer asks (can_push) where it has an item. Final after finish().
  uint64_t stalled() const { return stalled_; }
  void finish(Cycle end) {
    if (stalled_since_ != kNever) stalled_ += end - stalled_since_;
    stalled_since_ = kNever;
  }
  void connect(Wakeable* producer, Wakeable* consumer) {
    producer_ = producer;
    consumer_ = consumer;
  }
  // Tells `observer` from now on what happens, as link number `id`. Null: nobody.
  void observe(RunObserver* observer, uint32_t id) {
    observer_ = observer;
    observer_id_ = id;
  }
  // The last cycle in which an item arrives (it may still be on its way) or was taken; nothing
  // where none was ever pushed.
  std::optional<Cycle> last_moved() const {
    if (items_ == 0) return std::nullopt;
    return freed_cycle_ == kNever ? last_ready_ : std::max(last_ready_, freed_cycle_);
  }
  // The item at the head; nothing where the link is empty.
  virtual std::optional<ItemTag> head() const = 0;
  // Pops wake `producer` from now on; returns who was woken before.
  Wakeable* exchange_producer(Wakeable* producer) { return std::exchange(producer_, producer); }
  virtual uint64_t occupancy() const = 0;

 protected:
  static constexpr Cycle kNever = ~Cycle{0};
  std::string name_, producer_unit_, consumer_unit_;
  uint64_t latency_, depth_;
  uint64_t items_ = 0, stalled_ = 0;
  Cycle stalled_since_ = kNever;  // refused, and nothing popped since
  Cycle last_stall_ = kNever;     // the last cycle that stalled_ contains
  Cycle last_ready_ = 0;          // of the item pushed last
  Cycle freed_cycle_ = kNever;    // of the last pop
  RunObserver* observer_ = nullptr;
  uint32_t observer_id_ = 0;
  Wakeable* producer_ = nullptr;
  Wakeable* consumer_ = nullptr;
};

template <typename T>
class Link final : public LinkBase {
 public:
  Link(std::string name, uint64_t latency, uint64_t depth)
      : LinkBase(std::move(name), latency, depth), ring_(depth) {}

  // Producer side.
  bool can_push(Cycle now) {
    if (size_ + freed_in(now) < depth_) return true;
    if (stalled_since_ != kNever) return false;
    if (observer_ != nullptr) observer_->refused(observer_id_, now);
    if (size_ == depth_) {
      stalled_since_ = now;
    } else if (last_stall_ != now) {  // popped in this cycle: space from the next one on
      ++stalled_;
      last_stall_ = now;
    }
    return false;
  }
  // Precondition: can_push(now). `extra` cycles lengthen the way of this item; items stay in order.
  void push(Cycle now, T&& item, uint64_t extra = 0) {
    uint64_t tail = head_ + size_;
    if (tail >= depth_) tail -= depth_;
    Slot& slot = ring_[tail];
    slot.ready = now + latency_ + extra;
    if (slot.ready < last_ready_) slot.ready = last_ready_;
    last_ready_ = slot.ready;
    if (observer_ != nullptr) observer_->pushed(observer_id_, now, slot.ready, tag_of(item));
    slot.item = std::move(item);
    ++items_;
    // One wake-up is enough, for the head: pop() sees to the item behind it.
    if (size_++ == 0 && consumer_ != nullptr) consumer_->wake_at(slot.ready);
  }

  // Consumer side.
  bool can_pop(Cycle now) const { return size_ > 0 && ring_[head_].ready <= now; }
  bool in_flight() const { return size_ > 0; }
  Cycle next_ready() const { return ring_[head_].ready; }  // precondition: in_flight()
  const T& front() const { return ring_[head_].item; }     // precondition: can_pop(now)
  T pop(Cycle now) {
    T item = std::move(ring_[head_].item);
    if (++head_ == depth_) head_ = 0;
    --size_;
    if (observer_ != nullptr) observer_->popped(observer_id_, now);
    if (freed_cycle_ != now) {
      freed_cycle_ = now;
      freed_ = 0;
    }
    ++freed_;
    if (stalled_since_ != kNever) {
      stalled_ += now + 1 - stalled_since_;
      stalled_since_ = kNever;
      last_stall_ = now;
    }
    if (producer_ != nullptr) producer_->wake_at(now + 1);
    if (size_ > 0 && consumer_ != nullptr) {
      consumer_->wake_at(std::max(ring_[head_].ready, now + 1));
    }
    return item;
  }
  uint64_t occupancy() const override { return size_; }
  std::optional<ItemTag> head() const override {
    if (size_ == 0) return std::nullopt;
    return tag_of(ring_[head_].item);
  }

 private:
  struct Slot {
    Cycle ready = 0;
    T item{};
  };
  uint64_t freed_in(Cycle now) const { return freed_cycle_ == now ? freed_ : 0; }
  std::vector<Slot> ring_;
  uint64_t head_ = 0, size_ = 0;
  uint64_t freed_ = 0;
};

// A named end of a unit; the wiring makes one link for each pair and binds it once. Units list
// their ports in `Unit::ports()`.
class PortBase {
 public:
  enum class Direction { kIn, kOut };
  // `item` names what travels ("stream", "dm request", ...); both ends of a link must agree.
  PortBase(Direction direction, std::string name, std::string item)
      : direction_(direction), name_(std::move(name)), item_(std::move(item)) {}
  virtual ~PortBase() = default;
  PortBase(const PortBase&) = delete;
  PortBase& operator=(const PortBase&) = delete;

  Direction direction() const { return direction_; }
  const std::string& name() const { return name_; }
  const std::string& item() const { return item_; }
  virtual bool bound() const = 0;
  virtual std::unique_ptr<LinkBase> make_link(std::string name, uint64_t latency,
                                              uint64_t depth) const = 0;
  // False where the link carries another C++ type.
  virtual bool bind(LinkBase* link) = 0;

 private:
  Direction direction_;
  std::string name_, item_;
};

template <typename T, PortBase::Direction kDirection>
class Port final : public PortBase {
 public:
  Port(std::string name, std::string item)
      : PortBase(kDirection, std::move(name), std::move(item)) {}
  bool bound() const override { return link_ != nullptr; }
  std::unique_ptr<LinkBase> make_link(std::string name, uint64_t latency,
                                      uint64_t depth) const override {
    return std::make_unique<Link<T>>(std::move(name), latency, depth);
  }
  bool bind(LinkBase* link) override {
    link_ = dynamic_cast<Link<T>*>(link);
    return link_ != nullptr;
  }
  void bind(Link<T>& link) { link_ = &link; }
  Link<T>* get() const { return link_; }
  Link<T>* operator->() const { return link_; }
  Link<T>& operator*() const { return *link_; }

 private:
  Link<T>* link_ = nullptr;
};
template <typename T>
using LinkIn = Port<T, PortBase::Direction::kIn>;
template <typename T>
using LinkOut = Port<T, PortBase::Direction::kOut>;

}  // namespace rngdsim
