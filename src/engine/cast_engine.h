// SPDX-License-Identifier: Apache-2.0
// The Cast Engine: i32 to i4, i8, i16 and f32 to f8, bf16; one flit in, one flit of the narrower
// type padded with zeros out, a cycle [B]. One unit with a path for each context; its state is that
// of the busiest path. A command without a cast passes unchanged. What comes from the Vector Engine
// enters through `vector` or, from its inter-slice reducer, `inter`, and leaves as its command
// says: through `out` (main), `sub_out` (sub) or `vrf` (to_vrf). A context's commands follow each
// other, so no two items want one output in one cycle.
#pragma once

#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "engine/stream_path.h"

namespace rngdsim {

class CastEngine final : public Unit {
 public:
  struct Parameters {};

  LinkIn<StreamItem> in{"in", "stream"};
  LinkIn<StreamItem> vector{"vector", "stream"};
  LinkIn<StreamItem> inter{"inter", "stream"};
  LinkOut<StreamItem> out{"out", "stream"};
  LinkIn<StreamItem> sub_in{"sub_in", "stream"};
  LinkOut<StreamItem> sub_out{"sub_out", "stream"};
  LinkOut<StreamItem> vrf{"vrf", "stream"};

  CastEngine(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
             const Parameters& parameters);

  std::vector<PortBase*> ports() override {
    return {&in, &vector, &inter, &out, &sub_in, &sub_out, &vrf};
  }

 private:
  void tick(Cycle now) override;
  // What happens to an item on its way.
  void change(StreamItem& item);
  PathState step(StreamPath& path, Cycle now);
  PathState step(RoutedPath& path, Cycle now);  // from the Vector Engine
  PathState counted(PathState state);

  StreamPath main_path_{in, out}, sub_path_{sub_in, sub_out};
  RoutedPath vector_path_{vector}, inter_path_{inter};
};

}  // namespace rngdsim
