// SPDX-License-Identifier: Apache-2.0
// A run as a value change dump (IEEE 1364), for GTKWave and Surfer: changes are written when they
// happen, one unit of time is one cycle.
//
//   commands.main, commands.sub      the open command: "1 a_dm x b_trf -> c_dm"
//   units.NAME.state                 busy, conflict, blocked, starved, idle
//   units.NAME.command, time_index   the item that the unit works on; z while it is idle
//   units.NAME.SIGNAL                what the type shows besides: bank_grants, active_lanes
//   links.NAME.valid, ready          at the start of the cycle: an item can be popped, pushed
//   links.NAME.occupancy             items in the link at the start of the cycle
//
// A link `a.out->b.in` is the scope a_out_to_b_in: names of scopes know neither dots nor arrows.
// States and commands are variables of type string, which both viewers know beyond the standard.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/recorder.h"
#include "trace/trace_file.h"

namespace rngdsim {

class VcdWriter final : public TraceSink {
 public:
  // `file` must outlive the writer. `clock_ghz` is told in a comment.
  VcdWriter(TraceFile& file, Window window, double clock_ghz);

  void begin(const TraceNames& names) override;
  void begin_cycle(Cycle cycle) override;
  void unit(uint32_t unit, const UnitView& view) override;
  void link(uint32_t link, const LinkView& view) override;
  void event(uint32_t /*link*/, LinkEvent /*event*/, const ItemView& /*item*/) override {}
  void open_command(Context context, std::optional<CommandId> command) override;
  void end_cycle() override;
  void end(Cycle end) override;

  // The scope of a link by its name, and the widths of variables.
  static std::string link_scope(const std::string& link);
  static uint32_t occupancy_bits(uint64_t depth);
  static constexpr uint32_t kIndexBits = 64;
  static constexpr uint32_t kCommandBits = 32;

 private:
  enum class Kind : uint8_t { kBit, kVector, kState, kCommandLabel };
  struct Variable {
    uint64_t value = 0;
    uint64_t written = 0;
    Kind kind = Kind::kBit;
    bool listed = false;  // in changed_
    std::string code;     // its identifier in the dump
  };
  static constexpr uint64_t kNone = ~uint64_t{0};  // z, or an empty string

  void declare(const std::string& name, Kind kind, uint32_t bits, uint64_t value);
  void open_scope(const std::string& name);
  void close_scope();
  void set(size_t variable, uint64_t value);
  void time(Cycle cycle);
  void dump_all(Cycle cycle);
  void value(const Variable& variable);

  TraceFile& file_;
  Window window_;
  double clock_ghz_;
  std::string kernel_;
  const Program* program_ = nullptr;
  std::vector<Variable> variables_;
  std::vector<size_t> unit_variables_, link_variables_;  // the first of each
  size_t command_variables_ = 0;
  std::vector<size_t> changed_;
  Cycle cycle_ = 0;
  bool open_ = false;    // the window has begun
  bool closed_ = false;  // and ended
};

}  // namespace rngdsim
