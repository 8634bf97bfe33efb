// SPDX-License-Identifier: Apache-2.0
// The Cast Engine: i32 to i4, i8, i16 and f32 to f8, bf16; one flit in, one flit of the narrower
// type padded with zeros out, a cycle [B]. One unit with a path for each context; its state is that
// of the busiest path. A command without a cast passes unchanged. What comes from the Vector Engine
// enters through `vector` or, from its inter-slice reducer, `inter`, and leaves as its command
// says: through `out` (main), `sub_out` (sub) or `vrf` (to_vrf). What is transposed leaves through
// `transpose`, of either context. A context's commands follow each other, and the Transpose Engine
// belongs to one command at a time, so no two items want one output in one cycle.
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
  LinkOut<StreamItem> transpose{"transpose", "stream"};

  CastEngine(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
             const Parameters& parameters);

  std::vector<PortBase*> ports() override {
    return {&in, &vector, &inter, &out, &sub_in, &sub_out, &vrf, &transpose};
  }

 private:
  void tick(Cycle now) override;
  // What happens to an item on its way.
  void change(StreamItem& item);
  // `way_of`: the exit of a command's items.
  template <typename WayOf>
  PathState step(RoutedPath& path, const WayOf& way_of, Cycle now);

  RoutedPath main_path_{in}, sub_path_{sub_in}, vector_path_{vector}, inter_path_{inter};
};

}  // namespace rngdsim
