// SPDX-License-Identifier: Apache-2.0
// A save file for GTKWave beside a dump: the signals worth looking at, in the order of the
// pipeline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/recorder.h"

namespace rngdsim {

// Watches which units, links and contexts do anything in the window.
class GtkwWriter final : public TraceSink {
 public:
  explicit GtkwWriter(Window window) : window_(window) {}

  void begin(const TraceNames& names) override;
  void begin_cycle(Cycle cycle) override;
  void unit(uint32_t unit, const UnitView& view) override;
  void link(uint32_t link, const LinkView& view) override;
  void event(uint32_t /*link*/, LinkEvent /*event*/, const ItemView& /*item*/) override {}
  void open_command(Context context, std::optional<CommandId> command) override;
  void end_cycle() override {}
  void end(Cycle end) override;

  // After the run. `vcd`: the dump, as GTKWave shall find it.
  std::string text(const std::string& vcd) const;

 private:
  Window window_;
  TraceNames names_;
  // Flags of units, then links, then contexts: active now, and at any time in the window.
  void set(size_t item, bool active);
  void take_over();
  std::vector<uint8_t> active_, used_;
  size_t first_link_ = 0, first_context_ = 0;
  Cycle cycle_ = 0, end_ = 0;
  bool entered_ = false;  // what was active when the window began has been taken over
};

}  // namespace rngdsim
