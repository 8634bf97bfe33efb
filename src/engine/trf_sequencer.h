// SPDX-License-Identifier: Apache-2.0
// TRF Sequencer: reads the TRF once for each packet and hands the operands to the multiplier in
// order.
//
// One read a cycle fills OutPacket; OutTime walks Element / ReadSize with broadcasts, nested loops
// as in every sequencer [S]. Starts with the fetch of its command and runs ahead of the stream as
// far as its credits allow.
//
// Busy is a cycle in which a read is issued; handing data on costs nothing. items_out: reads
// issued, items_in: operands that came back.
#pragma once

#include <string>
#include <vector>

#include "channel/unit.h"
#include "mapping/sequencer.h"

namespace rngdsim {

class TrfSequencer final : public Unit, public CommandSource {
 public:
  struct Parameters {
    uint64_t outstanding = 4;  // [A] reads issued and not yet handed on
  };
  TrfSequencer(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
               const Parameters& parameters);

  LinkOut<TrfRequest> request{"request", "trf request"};
  LinkIn<StreamItem> data{"data", "trf data"};
  LinkOut<StreamItem> out{"out", "trf data"};
  std::vector<PortBase*> ports() override { return {&request, &data, &out}; }

  // Does nothing for a command without contraction.
  void start(CommandId command, Cycle cycle) override;
  std::string waiting_for() const override;

 private:
  void tick(Cycle now) override;
  void issue(Cycle now);
  bool forward(Cycle now);

  Parameters parameters_;
  const Command* command_ = nullptr;  // being read for; null: none
  Cycle first_cycle_ = 0;
  SequencerWalker walker_;
  uint64_t outstanding_ = 0;
};

}  // namespace rngdsim
