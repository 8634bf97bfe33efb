// SPDX-License-Identifier: Apache-2.0
// A save file for GTKWave beside a dump: the signals worth looking at, in the order of the
// pipeline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/recorder.h"

namespace rngdsim {

// Watches which units and links of a run do anything.
class GtkwWriter final : public TraceSink {
 public:
  explicit GtkwWriter(Window window) : window_(window) {}

  void begin(const TraceNames& names) override;
  void begin_cycle(Cycle /*cycle*/) override {}
  void unit(uint32_t unit, const UnitView& view) override;
  void link(uint32_t link, const LinkView& view) override;
  void event(uint32_t /*link*/, LinkEvent /*event*/, const ItemView& /*item*/) override {}
  void open_command(Context context, std::optional<CommandId> command) override;
  void end_cycle() override {}
  void end(Cycle end) override { end_ = end; }

  // After the run. `vcd`: the dump, as GTKWave shall find it.
  std::string text(const std::string& vcd) const;

 private:
  Window window_;
  TraceNames names_;
  std::vector<uint8_t> unit_used_, link_used_;
  bool context_used_[2] = {false, false};
  Cycle end_ = 0;
};

}  // namespace rngdsim
