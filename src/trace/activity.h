// SPDX-License-Identifier: Apache-2.0
// A run over time, in few numbers: how many cycles of each stretch every unit spent in each state,
// and what was multiplied and moved there. Stretches are one cycle each as long as kMost are
// enough; they double with the run.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trace/recorder.h"

namespace rngdsim {

// By the ports of a link, which are those of its units' types: what the requests on it move.
// "dm read", "trf read", "hbm" and "pcie" (reads and writes alike). Empty for all other links.
std::string memory_of_requests(const std::string& link);

class ActivitySink final : public TraceSink {
 public:
  static constexpr size_t kMost = 2048;

  void begin(const TraceNames& names) override;
  void begin_cycle(Cycle cycle) override { cycle_ = cycle; }
  void unit(uint32_t unit, const UnitView& view) override;
  void link(uint32_t /*link*/, const LinkView& /*view*/) override {}
  void event(uint32_t link, LinkEvent event, const ItemView& item) override;
  void open_command(Context /*context*/, std::optional<CommandId> /*command*/) override {}
  void end_cycle() override {}
  void end(Cycle end) override;

  // {"width": cycles of a stretch, "units": [{"name", "busy", "starved", "blocked", "conflict"}],
  // "macs", "dm_read", "dm_write", "trf_read", "hbm_read", "hbm_write", "pcie_read", "pcie_write"}.
  // All lists hold runs of equal numbers, [how many, number], a number a stretch: cycles, useful
  // products, bytes of the chip. What is multiplied is spread evenly over the packets of its
  // command; what is moved counts when the request for it leaves for the memory, and of the TRF all
  // that is asked for, also what its cache answers. Units that never worked have empty lists.
  nlohmann::ordered_json json() const;

 private:
  enum Series : size_t {
    kMacs,
    kDmRead,
    kDmWrite,
    kTrfRead,
    kHbmRead,
    kHbmWrite,
    kPcieRead,
    kPcieWrite,
    kSeries
  };
  struct Track {
    std::string name;
    UnitState state = UnitState::kIdle;
    Cycle since = 0;
    std::array<std::vector<uint64_t>, kUnitStates> cycles;  // by state and stretch
  };
  struct Source {
    bool multiplier = false;
    std::string memory;  // see memory_of_requests
  };

  void close(Track& track, Cycle end);
  // Makes room for a number of `cycle`, doubling the stretches if need be; its stretch.
  size_t stretch(Cycle cycle);
  void add(Series series, double amount);

  const Program* program_ = nullptr;
  std::vector<Track> tracks_;
  std::vector<Source> sources_;  // by link
  std::array<std::vector<double>, kSeries> series_;
  Cycle width_ = 1, cycle_ = 0, end_ = 0;
};

}  // namespace rngdsim
