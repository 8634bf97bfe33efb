// SPDX-License-Identifier: Apache-2.0
// The items of all links as CSV: a row a cycle and link with traffic or a stall,
// `cycle,link,event,command,time_index,valid`.
//
// Rows are in the order of cycles, in a cycle in the order of the topology's connections, on a link
// push, pop, stall. A stall tells the item at the head of the link, which has to leave first.
#pragma once

#include <string>
#include <vector>

#include "trace/recorder.h"
#include "trace/trace_file.h"

namespace rngdsim {

class FlitWriter final : public TraceSink {
 public:
  // The heading is written at once. `file` must outlive the writer.
  FlitWriter(TraceFile& file, Window window);

  void begin(const TraceNames& names) override;
  void begin_cycle(Cycle cycle) override { cycle_ = cycle; }
  void unit(uint32_t /*unit*/, const UnitView& /*view*/) override {}
  void link(uint32_t /*link*/, const LinkView& /*view*/) override {}
  void event(uint32_t link, LinkEvent event, const ItemView& item) override;
  void open_command(Context /*context*/, std::optional<CommandId> /*command*/) override {}
  void end_cycle() override {}
  void end(Cycle /*end*/) override {}

 private:
  TraceFile& file_;
  Window window_;
  std::vector<std::string> links_;
  Cycle cycle_ = 0;
};

}  // namespace rngdsim
