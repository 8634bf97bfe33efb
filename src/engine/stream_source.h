// SPDX-License-Identifier: Apache-2.0
// Plays the part of everything before the first stage of a `stream:` command: items enter there,
// one a cycle from the start cycle on. Not hardware.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"

namespace rngdsim {

class StreamSource final : public Unit, public CommandSource {
 public:
  struct Parameters {
    Context context = Context::kMain;
  };
  // Fills a block of size(packet) elements: the values of item `index` of a command.
  using Fill = std::function<void(CommandId command, uint64_t index, Block& block)>;

  StreamSource(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
               const Parameters& parameters);

  std::vector<PortBase*> ports() override { return {}; }
  std::string waiting_for() const override;
  // `link` is where items of commands with `entry_stage` (entry_of) enter; its own producer is idle
  // meanwhile.
  void add_entry(const std::string& entry_stage, Link<StreamItem>* link);
  // Needed only where values are simulated.
  void set_fill(Fill fill) { fill_ = std::move(fill); }
  void start(CommandId id, Cycle cycle) override;

 private:
  struct Entry {
    std::string stage;
    Link<StreamItem>* link;
  };
  void tick(Cycle now) override;

  std::vector<Entry> entries_;
  Fill fill_;
  Link<StreamItem>* link_ = nullptr;  // that the present command enters; null: none
  Wakeable* own_producer_ = nullptr;  // of that link
  CommandId command_ = 0;
  Cycle start_ = 0;
  uint64_t next_ = 0;  // item
};

}  // namespace rngdsim
