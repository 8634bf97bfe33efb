// SPDX-License-Identifier: Apache-2.0
// The Valid Count Generator: tags the flits of a reduction with the number of their leading
// elements that are data (command/vcg.h), a flit a cycle [S]. Flits of other commands pass
// untagged. The Vector Engine belongs to one command at a time, so one of its inputs is in use:
// that of the main or the sub context, or that behind the inter-slice reducer.
#pragma once

#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "engine/stream_path.h"

namespace rngdsim {

class Vcg final : public Unit {
 public:
  Vcg(sc_core::sc_module_name name, Clock& clock, const RunContext& context);

  LinkIn<StreamItem> in{"in", "stream"};
  LinkIn<StreamItem> sub_in{"sub_in", "stream"};
  LinkIn<StreamItem> reduced{"reduced", "stream"};
  LinkOut<StreamItem> out{"out", "stream"};
  std::vector<PortBase*> ports() override { return {&in, &sub_in, &reduced, &out}; }

 private:
  void tick(Cycle now) override;
  BlockRef counts(const VcgConfig& config, uint64_t flit) const;

  PathState step(StreamPath& path, Cycle now);

  StreamPath main_path_{in, out}, sub_path_{sub_in, out}, reduced_path_{reduced, out};
};

}  // namespace rngdsim
