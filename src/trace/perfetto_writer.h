// SPDX-License-Identifier: Apache-2.0
// A run in the trace event format (JSON) that ui.perfetto.dev and Chrome open: a track for each
// context with its commands, one for each unit with its states, counters for utilization and
// bandwidth. Times are microseconds from the begin of the run.
//
//   contexts   main, sub, dma: "3 matmul 1"
//   units      as in the topology file: busy, conflict, blocked, starved; nothing while idle
//   counters   averages over kBucket cycles: of each signal of a unit the share of its bits (lanes
//              of the multiplier, banks granted by data memory), in percent; items a cycle on
//              the links by which memories answer reads
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/recorder.h"
#include "trace/trace_file.h"

namespace rngdsim {

class PerfettoWriter final : public TraceSink {
 public:
  static constexpr Cycle kBucket = 64;

  // `file` must outlive the writer.
  PerfettoWriter(TraceFile& file, Window window, double clock_ghz);

  void begin(const TraceNames& names) override;
  void begin_cycle(Cycle cycle) override;
  void unit(uint32_t unit, const UnitView& view) override;
  void link(uint32_t /*link*/, const LinkView& /*view*/) override {}
  void event(uint32_t link, LinkEvent event, const ItemView& item) override;
  void open_command(Context context, std::optional<CommandId> command) override;
  void end_cycle() override {}
  void end(Cycle end) override;

 private:
  // A stretch of a track in which nothing changes.
  struct Span {
    Cycle since = 0;
    std::optional<CommandId> command;  // nothing: none is shown
    UnitState state = UnitState::kIdle;
  };
  // The average of a value over buckets of cycles.
  struct Counter {
    std::string name, unit;
    double scale = 1;    // of a value, for what is shown
    uint64_t value = 0;  // since `since`
    Cycle since = 0;
    double sum = 0;  // in the present bucket
    std::optional<double> shown;
  };
  enum Process : uint8_t { kContextTracks = 1, kUnitTracks, kCounterTracks };

  void event_text(const std::string& text);
  void name_track(Process process, size_t track, const std::string& name);
  void close(Process process, size_t track, const Span& span, Cycle end);
  std::string times(Cycle begin, Cycle end) const;
  void set_counter(Counter& counter, uint64_t value);
  // Brings the counter up to a cycle and shows what buckets are over.
  void advance(Counter& counter, Cycle to);

  TraceFile& file_;
  Window window_;
  double clock_ghz_;
  const Program* program_ = nullptr;
  std::array<Span, kContexts> contexts_;
  std::vector<Span> units_;
  std::vector<Counter> counters_;
  std::vector<std::vector<size_t>> signal_counters_;  // by unit, in the order of its signals
  std::vector<std::optional<size_t>> link_counters_;  // by link
  Cycle cycle_ = 0;
  bool first_ = true;  // no event yet
};

}  // namespace rngdsim
