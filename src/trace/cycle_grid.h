// SPDX-License-Identifier: Apache-2.0
// The pipeline as text: a row a unit, a column a cycle.
//
//                        263    270       280
//                        |      |         |
//   main_fetch     ......0123456789012345678
//   data_memory    .......0123456789012345678
//
// A busy unit shows the last digit of its item's place in Time, so that the way of an item can be
// followed from row to row.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "trace/recorder.h"

namespace rngdsim {

class CycleGrid final : public TraceSink {
 public:
  // A bounded window, at most kMaxCycles long.
  static constexpr Cycle kMaxCycles = 10'000;
  explicit CycleGrid(Window window);

  void begin(const TraceNames& names) override;
  void begin_cycle(Cycle cycle) override;
  void unit(uint32_t unit, const UnitView& view) override { views_[unit] = view; }
  void link(uint32_t /*link*/, const LinkView& /*view*/) override {}
  void event(uint32_t /*link*/, LinkEvent /*event*/, const ItemView& /*item*/) override {}
  void open_command(Context context, std::optional<CommandId> command) override;
  void end_cycle() override;
  void end(Cycle end) override;

  // Lines of at most `width` columns: one block of rows after the other where the window is longer.
  // Units that are idle in the whole window are named behind them.
  std::string text(size_t width) const;

  // One cycle of a unit: the last digit of the place in Time where it is busy, else
  // - starved, = blocked, x conflict, . idle.
  static char symbol(const UnitView& view);

 private:
  void fill(Cycle end);

  Window window_;
  std::vector<std::string> names_;
  std::vector<UnitView> views_;
  std::vector<std::string> rows_;  // a character a cycle of the window so far
  std::array<std::optional<CommandId>, kContexts> open_;  // by Context
  std::vector<std::string> commands_;                     // a row a context
  Cycle next_;  // the first cycle that the rows do not have
};

}  // namespace rngdsim
