// SPDX-License-Identifier: Apache-2.0
// The memory of the host behind PCIe, shared by all DMA engines.
//
// PCIe moves 30 bytes a cycle for reads and as many for writes [B]; requests take turns on it, byte
// after byte, so that parts of cycles are not lost. The data of a read come `latency` cycles after
// they have passed it [A]; a write is answered when its last byte has passed it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "channel/dma_item.h"
#include "channel/unit.h"
#include "memory/hbm_storage.h"

namespace rngdsim {

class HostUnit final : public Unit {
 public:
  static constexpr size_t kMaxDmaEngines = DmaPorts::kMaxEngines;
  struct Parameters {
    uint64_t bytes_per_cycle = 30;  // [B] in either direction
    uint64_t latency = 400;         // [A] cycles, of a read
  };
  HostUnit(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
           const Parameters& parameters);

  // Of engine e: dma_<e> and dma_<e>_data; need not be connected.
  DmaPort& dma(size_t engine) { return dma_[engine]; }
  std::vector<PortBase*> ports() override;
  void elaborated() override;
  std::string waiting_for() const override;
  void add_extra_counters(UnitCounters& counters) const override;

  // For loading tensors before a run and checking them after it; empty with --timing-only.
  HbmStorage& storage() { return storage_; }

  // When something has passed PCIe or comes back next; nothing where nothing is under way.
  std::optional<Cycle> next_event() const;
  uint64_t bytes_read() const { return reads_.bytes; }
  uint64_t bytes_written() const { return writes_.bytes; }

 private:
  struct UnderWay {
    DmaRequest request;
    size_t engine = 0;
    Cycle done = 0;
  };
  // One direction of PCIe, in the order in which requests were taken.
  struct Way {
    uint64_t free = 0;  // bytes_per_cycle for each cycle, and the bytes within one
    std::deque<UnderWay> under_way;
    uint64_t requests = 0, bytes = 0;
  };
  void tick(Cycle now) override;
  bool complete(Way& way, Cycle now);
  bool accept(Cycle now);
  bool accept_one(size_t engine, Cycle now);
  Way& way_of(const DmaRequest& request) { return request.write ? writes_ : reads_; }

  Parameters parameters_;
  HbmStorage storage_;
  DmaPorts dma_;
  size_t next_ = 0;  // in dma_.in_use(): who is asked first
  Way reads_, writes_;
};

}  // namespace rngdsim
