// SPDX-License-Identifier: Apache-2.0
// The Collect Engine: pads packets to whole flits and cuts them, one flit a cycle [S,B].
//
// Takes at most one item (an access of Fetch, or a whole packet of a stream) and puts out at most
// one flit a cycle; a flit leaves in the cycle in which it is complete, and an item that holds more
// than one flit gives one a cycle and is taken with its last. The rest of a packet's last flit is
// zeros. Flits of a command with to_trf leave through `store`, with to_vrf through `vrf`; those of
// a sub command with a vector chain, past contraction, through `vector` or `inter`. What comes from
// the Switch Engine is cut already; zeros are added. A command without Collect passes unchanged.
#pragma once

#include <string>
#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "engine/flit_cutter.h"

namespace rngdsim {

class Collect final : public Unit {
 public:
  struct Parameters {
    Context context = Context::kMain;
  };

  LinkIn<StreamItem> in{"in", "stream"};
  LinkIn<StreamItem> switched{"switched", "stream"};  // flits, the last of a packet perhaps short
  LinkOut<StreamItem> out{"out", "stream"};
  LinkOut<StreamItem> store{"store", "stream"};
  LinkOut<StreamItem> vrf{"vrf", "stream"};
  LinkOut<StreamItem> vector{"vector", "stream"};  // of the sub context only
  LinkOut<StreamItem> inter{"inter", "stream"};    // of the sub context only

  Collect(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
          const Parameters& parameters);

  std::vector<PortBase*> ports() override;
  std::string waiting_for() const override;

 private:
  void tick(Cycle now) override;
  Link<StreamItem>& way_of(const Command& command);
  void begin(const Command& command);
  void forward(Cycle now, Link<StreamItem>& to);
  void pass_switched(Cycle now, Link<StreamItem>& to, const CollectConfig& config);
  void collect(Cycle now, Link<StreamItem>& to, const CollectConfig& config,
               const FlitCutter::Step& step);
  // Puts the values of a step into flit_, and zeros behind them where it ends the flit.
  void fill(BlockRef values, const CollectConfig& config, const FlitCutter::Step& step);

  Parameters parameters_;
  bool in_command_ = false;  // between its first and last item
  LinkIn<StreamItem>* from_ = &in;
  CommandId command_ = 0;
  FlitCutter cutter_;
  BlockRef flit_;  // being filled
};

}  // namespace rngdsim
