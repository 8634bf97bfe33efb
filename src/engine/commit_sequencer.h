// SPDX-License-Identifier: Apache-2.0
// The Commit Sequencer: writes each flit to the data memory in `writes_per_flit` accesses, one a
// cycle, and takes it in with the last [B]. It is also where a command without commit and to_trf
// ends: its items are handed to the run's monitor, one a cycle. Poison in a live element is a
// failure; the first of a command is reported. Elements that a filter left out go with the access,
// which costs what it costs, and are not written.
#pragma once

#include <string>
#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "engine/poison_watch.h"

namespace rngdsim {

class CommitSequencer final : public Unit {
 public:
  struct Parameters {
    Context context = Context::kMain;
  };

  LinkIn<StreamItem> in{"in", "stream"};
  LinkOut<DmRequest> request{"request", "dm request"};

  CommitSequencer(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                  const Parameters& parameters);

  std::vector<PortBase*> ports() override { return {&in, &request}; }
  std::string waiting_for() const override;

 private:
  void tick(Cycle now) override;
  void begin(const Command& command);
  void write(Cycle now, const Command& command, const StreamItem& flit);
  void sink(Cycle now);
  void check_poison(const StreamItem& item, Cycle now);
  // An item with `keep` and poison with the flags of what is written: poison that a filter leaves
  // out reaches nothing.
  StreamItem without_left_out(const StreamItem& item) const;

  bool in_command_ = false;  // between its first and last item
  CommandId command_ = 0;
  SequencerWalker walker_;
  uint64_t write_ = 0;  // of the present flit
  PoisonWatch poison_;
};

}  // namespace rngdsim
