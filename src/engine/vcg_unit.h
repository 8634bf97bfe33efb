// SPDX-License-Identifier: Apache-2.0
// The Valid Count Generator: tags the flits of a reduction with the number of their leading
// elements that are data (command/vcg.h), a flit a cycle [S]. Flits of other commands pass
// untagged.
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
  LinkOut<StreamItem> out{"out", "stream"};
  std::vector<PortBase*> ports() override { return {&in, &out}; }

 private:
  void tick(Cycle now) override;
  BlockRef counts(const VcgConfig& config, uint64_t flit) const;

  StreamPath path_{in, out};
};

}  // namespace rngdsim
