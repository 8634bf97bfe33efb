// SPDX-License-Identifier: Apache-2.0
// The Commit Adapter: keeps the leading elements of each flit and casts f32 to bf16, with ReLU
// where the kernel asks for it [B]. A flit a cycle; a command without Commit passes unchanged. What
// the Transpose Engine made comes in through `transposed`; a context's commands follow each other,
// so that only one of the inputs brings flits at a time.
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
  LinkIn<StreamItem> transposed{"transposed", "stream"};
  LinkOut<StreamItem> out{"out", "stream"};

  CommitAdapter(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                const Parameters& parameters);

  std::vector<PortBase*> ports() override { return {&in, &transposed, &out}; }

 private:
  void tick(Cycle now) override;
  PathState step(StreamPath& path, Cycle now);
  void change(StreamItem& item);

  StreamPath path_{in, out}, transposed_path_{transposed, out};
};

}  // namespace rngdsim
