// SPDX-License-Identifier: Apache-2.0
// The Fetch Sequencer: nested loops that read the data memory, one access a cycle [S].
//
// The first request leaves in exactly the cycle that start() names. Up to `outstanding` accesses
// are under way, counted from the request until the data were passed on. The unit's activity is
// that of its address port: a busy cycle is one in which a request left, so a command of 512
// accesses shows 512; data that come back are passed on in the cycle they arrive, which is no busy
// cycle, and after its last request the unit is idle. Data of a live element that was never written
// are a `poison` failure; the first of a command is reported.
#pragma once

#include <string>
#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "engine/poison_watch.h"

namespace rngdsim {

class FetchSequencer final : public Unit, public CommandSource {
 public:
  struct Parameters {
    Context context = Context::kMain;
    uint64_t outstanding = 4;  // [A] accesses under way; full rate needs read_latency + 1
  };

  LinkOut<DmRequest> request{"request", "dm request"};
  LinkIn<StreamItem> data{"data", "read data"};
  LinkOut<StreamItem> out{"out", "stream"};

  FetchSequencer(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                 const Parameters& parameters);

  std::vector<PortBase*> ports() override { return {&request, &data, &out}; }
  std::string waiting_for() const override;
  void start(CommandId id, Cycle cycle) override;

 private:
  void tick(Cycle now) override;
  // Passes one access on; true where data wait for space in `out`.
  bool pass_data(Cycle now);
  void issue(Cycle now);
  void check_poison(const StreamItem& item, Cycle now);

  Parameters parameters_;
  CommandId command_ = 0;
  bool requesting_ = false;  // requests of the command are left
  Cycle start_ = 0;
  SequencerWalker walker_;
  uint64_t under_way_ = 0;
  PoisonWatch poison_;
};

}  // namespace rngdsim
