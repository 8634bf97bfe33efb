// SPDX-License-Identifier: Apache-2.0
// The Commit Adapter: keeps the leading elements of each flit and casts f32 to bf16, with ReLU
// where the kernel asks for it [B]. A flit a cycle; a command without Commit passes unchanged.
#pragma once

#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "engine/stream_path.h"

namespace rngdsim {

class CommitAdapter final : public Unit {
 public:
  struct Parameters {
    Context context = Context::kMain;
  };

  LinkIn<StreamItem> in{"in", "stream"};
  LinkOut<StreamItem> out{"out", "stream"};

  CommitAdapter(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                const Parameters& parameters);

  std::vector<PortBase*> ports() override { return {&in, &out}; }

 private:
  void tick(Cycle now) override;

  StreamPath path_{in, out};
};

}  // namespace rngdsim
