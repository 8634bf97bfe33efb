// SPDX-License-Identifier: Apache-2.0
// The stages of a contraction as a plain C++ loop: the yardstick for what SystemC, links, states
// and counters cost. It moves the same items through the same queues by the same rules, with the
// plain classes of the library for addresses, banks and slots, and must end in the same cycle.
//
// One main command: Fetch, Collect of one access a flit, Stream Adapter of two flits a packet, TRF
// reads of both banks, trees of 16-bit types, Time Reducer, Lane Folder (interleaved), Cast, one
// write a flit. No values, no states, no reasons for stalls.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "command/program.h"
#include "engine/accumulator.h"
#include "mapping/sequencer.h"
#include "memory/bank_arbiter.h"

namespace rngdsim::bench {

struct Item {
  uint64_t index;
  uint64_t address;
};

// A link: latency 1 (or longer for single items), space freed in a cycle usable from the next on.
template <size_t kDepth>
class Queue {
 public:
  bool can_push(uint64_t now) const { return size_ + (freed_cycle_ == now ? freed_ : 0) < kDepth; }
  void push(uint64_t now, Item item, uint64_t latency = 1) {
    const size_t tail = (head_ + size_++) % kDepth;
    items_[tail] = item;
    ready_[tail] = now + latency;
  }
  bool can_pop(uint64_t now) const { return size_ > 0 && ready_[head_] <= now; }
  const Item& front() const { return items_[head_]; }
  Item pop(uint64_t now) {
    const Item item = items_[head_];
    head_ = (head_ + 1) % kDepth;
    --size_;
    if (freed_cycle_ != now) freed_ = 0;
    freed_cycle_ = now;
    ++freed_;
    return item;
  }

 private:
  std::array<Item, kDepth> items_{};
  std::array<uint64_t, kDepth> ready_{};
  size_t head_ = 0, size_ = 0;
  uint64_t freed_cycle_ = ~uint64_t{0}, freed_ = 0;
};

template <typename From, typename To>
void forward(uint64_t now, From& from, To& to) {
  if (from.can_pop(now) && to.can_push(now)) to.push(now, from.pop(now));
}

// Cycles from the command's begin to its end.
inline uint64_t run_plain(const Program& program, CommandId id) {
  const Command& command = program.commands[id];
  const TensorVersion& source = program.tensors[command.fetch->tensor];
  const TensorVersion& target = program.tensors[command.commit->tensor];
  constexpr uint64_t kOutstanding = 4, kTreeLatency = 5;
  const BankArbiter arbiter(static_cast<uint32_t>(program.limits.dm_banks),
                            static_cast<uint32_t>(program.limits.dm_bank_bytes));
  SequencerWalker fetch(command.fetch->sequencer, command.fetch->access_elements);
  SequencerWalker trf(command.outer->trf_sequencer, 1);
  SequencerWalker commit(command.commit->sequencer, command.commit->write_elements);
  SlotPlan plan(*command.time_reduce);
  const uint64_t flits_per_result = command.lane_fold->flits_per_result;
  const auto address = [](const TensorVersion& tensor, const SequencerWalker& walker) {
    return 8 * tensor.address + static_cast<uint64_t>(walker.offset() * memory_bits(tensor.dtype));
  };
  std::vector<uint8_t> occupied(command.time_reduce->capacity, 0);
  Queue<2> fetch_request, fetch_data, fetched, adapted, flits, packets, trf_request, trf_data,
      operands, products, slots, released, folded, cast, trimmed, write_request;
  Queue<9> reduced;
  uint64_t fetching = 0, reading = 0, collected = 0, packet = 0, drained = 0;
  uint64_t written = 0;
  std::vector<uint64_t> finished;
  size_t next_finished = 0;
  finished.reserve(1024);

  uint64_t now = command.overhead;
  for (; written < command.commit->writes; ++now) {
    // Data memory: fetch before commit, both where their banks differ.
    const bool read = fetch_request.can_pop(now) && fetch_data.can_push(now);
    const bool write = write_request.can_pop(now);
    const BankMask wanted[2] = {
        read ? arbiter.banks_of(fetch_request.front().address, 8 * command.fetch->access_bytes) : 0,
        write ? arbiter.banks_of(write_request.front().address, 8 * command.commit->write_bytes)
              : 0};
    BankArbiter::Grant grants[2];
    arbiter.arbitrate(wanted, 2, grants);
    if (read && grants[0].granted) fetch_data.push(now, fetch_request.pop(now));
    if (write && grants[1].granted) {
      write_request.pop(now);
      ++written;
    }
    // Fetch Sequencer: passes data on, then issues.
    if (fetch_data.can_pop(now) && fetched.can_push(now)) {
      fetched.push(now, fetch_data.pop(now));
      --fetching;
    }
    if (!fetch.done() && fetching < kOutstanding && fetch_request.can_push(now)) {
      fetch_request.push(now, {fetch.index(), address(source, fetch)});
      fetch.next();
      ++fetching;
    }
    forward(now, fetched, adapted);
    forward(now, adapted, flits);
    // Stream Adapter: two flits a packet.
    if (flits.can_pop(now) && (collected == 0 || packets.can_push(now))) {
      flits.pop(now);
      if (++collected == command.outer->pack_size) {
        packets.push(now, {packet++, 0});
        collected = 0;
      }
    }
    // TRF Sequencer and TRF.
    const bool credit = !trf.done() && reading < kOutstanding && trf_request.can_push(now);
    if (credit) {
      trf_request.push(now, {trf.index(), static_cast<uint64_t>(trf.offset())});
      trf.next();
      ++reading;
    }
    if (trf_data.can_pop(now) && operands.can_push(now)) {
      operands.push(now, trf_data.pop(now));
      --reading;
    }
    forward(now, trf_request, trf_data);
    // Multiplier, Packet Reducer.
    if (packets.can_pop(now) && operands.can_pop(now) && products.can_push(now)) {
      operands.pop(now);
      products.push(now, packets.pop(now));
    }
    if (products.can_pop(now) && reduced.can_push(now)) {
      reduced.push(now, products.pop(now), kTreeLatency);
    }
    // Time Reducer.
    while (released.can_pop(now)) occupied[released.pop(now).index] = 0;
    if (reduced.can_pop(now) && !(plan.step().first && occupied[plan.step().slot] != 0)) {
      reduced.pop(now);
      occupied[plan.step().slot] = 1;
      if (plan.step().last) finished.push_back(plan.step().slot);
      plan.next();
    }
    if (next_finished < finished.size() && slots.can_push(now)) {
      slots.push(now, {finished[next_finished++], 0});
      if (next_finished == finished.size()) {
        finished.clear();
        next_finished = 0;
      }
    }
    // Lane Folder.
    const bool last_flit = drained + 1 == flits_per_result;
    if (slots.can_pop(now) && folded.can_push(now) && (!last_flit || released.can_push(now))) {
      folded.push(now, slots.front());
      drained = last_flit ? 0 : drained + 1;
      if (last_flit) released.push(now, slots.pop(now));
    }
    forward(now, folded, cast);
    forward(now, cast, trimmed);
    // Commit Sequencer.
    if (trimmed.can_pop(now) && write_request.can_push(now)) {
      trimmed.pop(now);
      write_request.push(now, {commit.index(), address(target, commit)});
      commit.next();
    }
  }
  return now;
}

}  // namespace rngdsim::bench
