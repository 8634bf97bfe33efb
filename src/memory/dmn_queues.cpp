// SPDX-License-Identifier: Apache-2.0
#include "memory/dmn_queues.h"

#include <algorithm>

#include "support/diagnostic.h"

namespace rngdsim {

DmnQueues::DmnQueues(const Parameters& parameters, const BankArbiter& arbiter)
    : parameters_(parameters),
      arbiter_(arbiter),
      dmns_a_cluster_((parameters.slices + parameters.dmn_slices - 1) / parameters.dmn_slices),
      dmns_(parameters.clusters * dmns_a_cluster_),
      waiting_(parameters.clusters * parameters.slices, 0),
      starving_(parameters.apart ? parameters.clusters : 1) {
  for (Starving& group : starving_) group.cycles.assign(64, 0);
  if (parameters.dmn_slices < 1 || parameters.dmn_slices > 64) {
    throw InternalError("a DMN has 1 to 64 slices");
  }
  free_at_.assign(dmns_.size(), 0);
  for (auto& dmn : dmns_) dmn.reserve(parameters.queue * parameters.dmn_slices);
}

void DmnQueues::accept(const DmaRequest& request, uint32_t port) {
  const uint64_t slice = slice_of(request);
  Entry entry;
  entry.request = request;
  entry.port = port;
  entry.slice = static_cast<uint32_t>(slice % parameters_.slices);
  begin_beat(entry);
  const uint64_t cluster = slice / parameters_.slices;
  dmns_[cluster * dmns_a_cluster_ + entry.slice / parameters_.dmn_slices].push_back(entry);
  ++waiting_[slice];
  ++size_;
}

void DmnQueues::begin_beat(Entry& entry) const {
  const auto left = entry.request.bytes - entry.done;
  entry.beat = std::min(left, static_cast<uint32_t>(parameters_.beat_bytes));
  entry.waiting =
      arbiter_.banks_of(8 * (byte_of(entry.request) + entry.done), uint64_t{8} * entry.beat);
}

bool DmnQueues::finish_beat(Entry& entry) {
  entry.done += entry.beat;
  if (entry.done < entry.request.bytes) {
    begin_beat(entry);
    return false;
  }
  --waiting_[slice_of(entry.request)];
  --size_;
  return true;
}

void DmnQueues::count_starvation() {
  for (Starving& group : starving_) {
    group.told = 0;
    for (BankMask left = group.now | group.counted; left != 0; left &= left - 1) {
      const uint32_t bank = lowest_bank(left);
      uint32_t& count = group.cycles[bank];
      count = (group.now >> bank & 1) != 0 ? count + 1 : 0;
      if (count == parameters_.starvation) group.told |= BankMask{1} << bank;
    }
    group.counted = group.now;
  }
}

void DmnQueues::nothing_waits() {
  bool counted = false;
  for (const Starving& group : starving_) counted = counted || group.counted != 0;
  if (!counted) return;
  for (Starving& group : starving_) group.now = 0;
  count_starvation();
}

const DmaRequest& DmnQueues::waits_for(size_t group, uint32_t bank) const {
  for (size_t i = 0; i < dmns_.size(); ++i) {
    if (group_of_dmn(i) != group) continue;
    for (const Entry& entry : dmns_[i]) {
      if ((entry.waiting >> bank & 1) != 0) return entry.request;
    }
  }
  throw InternalError("no DMA waits for that bank");
}

}  // namespace rngdsim
