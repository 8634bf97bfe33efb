// SPDX-License-Identifier: Apache-2.0
// The HBM of the chip as a unit: requests of the DMA engines in, answers out, around the plain
// model (hbm.h), which is asked only when something happens in it.
//
// A request enters where the queue of each channel that it touches has room; until then it holds up
// those of its engine behind it. Of the engines the one that waits longest goes first, of equals
// each in turn [A]. Writes are posted: their answer says that they are queued, and their bytes are
// there for whoever reads after it. What is still queued when the run ends costs nothing.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "channel/dma_item.h"
#include "channel/unit.h"
#include "memory/hbm.h"
#include "memory/hbm_storage.h"

namespace rngdsim {

class HbmUnit final : public Unit {
 public:
  static constexpr size_t kMaxDmaEngines = DmaPorts::kMaxEngines;
  struct Parameters {
    Hbm::Parameters model;
  };
  HbmUnit(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
          const Parameters& parameters);

  // Of engine e: dma_<e> and dma_<e>_data; need not be connected.
  DmaPort& dma(size_t engine) { return dma_[engine]; }
  std::vector<PortBase*> ports() override;
  void elaborated() override;
  std::string waiting_for() const override;
  void add_extra_counters(UnitCounters& counters) const override;

  // For loading tensors before a run and checking them after it; empty with --timing-only.
  HbmStorage& storage() { return storage_; }
  const HbmStorage& storage() const { return storage_; }

  const Hbm& model() const { return model_; }
  // By stack and channel, of all transfers that have started.
  std::vector<HbmChannelCounters> channel_counters() const;
  // The same by slice, bank group and bank, each of all channels together.
  std::vector<HbmBankCounters> bank_counters() const;
  uint64_t bytes_read() const { return bytes_read_; }
  uint64_t bytes_written() const { return bytes_written_; }
  // Bytes a cycle of the chip when all channels transfer whole lines.
  double peak_bytes_per_cycle() const;
  // When its channels next do something; nothing where they have nothing to do.
  std::optional<Cycle> next_event() const;
  // Starts all that is queued, for the counters. Nothing may be asked of the unit after it.
  void drain();

 private:
  struct UnderWay {
    DmaRequest request;
    size_t engine = 0;
  };
  void tick(Cycle now) override;
  bool complete(Cycle now);
  const std::vector<size_t>& by_age(Cycle now);
  bool accept(Cycle now);
  void accept_one(size_t engine, Cycle now);
  void wake_for_model(Cycle now);

  Hbm model_;
  HbmStorage storage_;
  DmaPorts dma_;
  std::vector<size_t> waiting_;      // of by_age()
  std::vector<UnderWay> under_way_;  // by the id that the model hands back
  std::vector<size_t> free_;
  std::vector<HbmCompletion> completions_;
  Cycle woken_for_ = 0;
  uint64_t reads_ = 0, writes_ = 0, bytes_read_ = 0, bytes_written_ = 0;
  uint64_t transfer_ = 1;  // cycles of the controller
};

}  // namespace rngdsim
