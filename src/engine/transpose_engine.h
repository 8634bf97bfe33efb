// SPDX-License-Identifier: Apache-2.0
// The Transpose Engine: swaps Time and Packet. Takes a flit a cycle until a matrix of in_rows x
// in_cols elements is complete and gives its columns, one flit a cycle. A matrix of up to 16
// columns has one of two buffers, so that the next one comes in while it leaves; a wider one has
// both [B]. It belongs to one command at a time [A]; flits leave through `out` (main) or `sub_out`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "engine/transpose_buffers.h"

namespace rngdsim {

class TransposeEngine final : public Unit {
 public:
  struct Parameters {};

  LinkIn<StreamItem> in{"in", "stream"};
  LinkOut<StreamItem> out{"out", "stream"};
  LinkOut<StreamItem> sub_out{"sub_out", "stream"};

  TransposeEngine(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                  const Parameters& parameters);

  std::vector<PortBase*> ports() override { return {&in, &out, &sub_out}; }
  std::string waiting_for() const override;

 private:
  void tick(Cycle now) override;
  void begin(const Command& of);
  void give(Cycle now);
  void take(Cycle now, bool gave);

  TransposeBuffers buffers_;
  std::optional<CommandId> command_;  // between its first flit and its last column
  const TransposeConfig* config_ = nullptr;
  Link<StreamItem>* to_ = nullptr;
  uint64_t taken_ = 0, given_ = 0;  // flits
};

}  // namespace rngdsim
