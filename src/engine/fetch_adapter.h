// SPDX-License-Identifier: Apache-2.0
// The Fetch Adapter: casts what Fetch read (i4, i8, i16 to i32; f8, bf16 to f32; f32 to bf16) [B].
// One unit with a path for each context; its state is that of the busier path. A command without a
// cast passes in one cycle.
#pragma once

#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "engine/stream_path.h"

namespace rngdsim {

class FetchAdapter final : public Unit {
 public:
  struct Parameters {
    // [B] 1 to 2 cycles from in to the next unit, the link's latency included. Full rate needs an
    // out link of depth cast_latency + 1.
    uint64_t cast_latency = 1;
  };

  LinkIn<StreamItem> in{"in", "stream"};
  LinkOut<StreamItem> out{"out", "stream"};
  LinkIn<StreamItem> sub_in{"sub_in", "stream"};
  LinkOut<StreamItem> sub_out{"sub_out", "stream"};

  FetchAdapter(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
               const Parameters& parameters);

  std::vector<PortBase*> ports() override { return {&in, &out, &sub_in, &sub_out}; }

 private:
  void tick(Cycle now) override;
  PathState step(StreamPath& path, const LinkOut<StreamItem>& to, Cycle now);

  Parameters parameters_;
  StreamPath main_path_{in, out}, sub_path_{sub_in, sub_out};
};

}  // namespace rngdsim
