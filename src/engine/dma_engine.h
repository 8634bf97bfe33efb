// SPDX-License-Identifier: Apache-2.0
// A DMA engine: reads one memory and writes another, request by request.
//
// It executes the segments of a command that name its number, one after the other, a start-up each
// [B]. The start-up contains the unloaded first access: the first request leaves `startup` -
// first_access cycles after the begin, so that its data are there at `startup`, and none are taken
// before. It asks for
// one request (256 B) a cycle and takes in the data of one and sends those of one a cycle; writes
// follow in the order of the reads. Between HBM and DM, and between clusters, these go on side by
// side; from HBM to HBM and from DM to DM of one cluster it asks for one or the other, and takes in
// or sends, in a cycle [B: serialised].
//
// Writes are posted: a segment ends when the memories have accepted all of them, a command when the
// segments of all engines have ended.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "channel/dma_item.h"
#include "channel/unit.h"
#include "engine/dma_walker.h"

namespace rngdsim {

class DmaEngine final : public Unit, public CommandSource {
 public:
  struct Parameters {
    uint64_t engine = 0;         // its number
    uint64_t outstanding = 256;  // [A] requests read or under way, not yet sent on
    uint64_t first_access_hbm =
        108;                       // [A] cycles from a request to its data in an idle memory with
    uint64_t first_access_dm = 3;  // closed rows, links included; of a request of 256 B
    uint64_t timeout = 4096;       // [B] cycles that a memory has a request before it and does not
                              // answer: a NoC timeout [A: what waits behind others does not count]
  };

  LinkOut<DmaRequest> hbm{"hbm", "dma request"};
  LinkIn<DmaResponse> hbm_data{"hbm_data", "dma response"};
  LinkOut<DmaRequest> dm{"dm", "dma request"};
  LinkIn<DmaResponse> dm_data{"dm_data", "dma response"};

  DmaEngine(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
            const Parameters& parameters);

  std::vector<PortBase*> ports() override { return {&hbm, &hbm_data, &dm, &dm_data}; }
  std::string waiting_for() const override;
  void add_extra_counters(UnitCounters& counters) const override;
  // The command must have segments of this engine. The monitor is told of the end by each engine.
  void start(CommandId id, Cycle cycle) override;

  uint64_t number() const { return parameters_.engine; }
  // Nothing moves before: the first request of the present or last segment.
  Cycle first_request() const { return first_request_; }

  // What a command has done here, in order of their begins.
  struct Activity {
    CommandId command = 0;
    uint64_t segments = 0, requests = 0, packets = 0, bytes = 0;
    bool has_data = false, ended = false;
    Cycle first_data = 0, end = 0;  // end: one past the last cycle
  };
  const std::vector<Activity>& activities() const { return activities_; }
  const std::vector<MachineHazard>& hazards() const { return hazards_; }

 private:
  // A request between its read and its write; places of a ring in the order of the reads.
  struct Slot {
    uint64_t write_address = 0;
    uint32_t bytes = 0;
    bool arrived = false;
    bool serialised = false;  // with the other direction
    DmaLine* line = nullptr;
  };

  void tick(Cycle now) override;
  void begin_segment(Cycle cycle);
  bool take_answers(Cycle now, bool data_too);
  bool take_data(const DmaResponse& response, Cycle now);
  bool write(Cycle now);
  bool read(Cycle now, bool wrote);
  void end_segment(Cycle now);
  void set_waiting_state(Cycle now);
  void check_timeout(const DmaResponse& response, Cycle now);
  bool is_serialised(uint64_t read_address, uint64_t write_address) const;
  uint64_t cluster_of(uint64_t dm_address) const;
  DmaLine* take_line();

  LinkOut<DmaRequest>& source() { return from_hbm_ ? hbm : dm; }
  LinkOut<DmaRequest>& target() { return to_hbm_ ? hbm : dm; }
  Slot& slot(uint64_t request) { return slots_[request % slots_.size()]; }
  uint64_t under_way() const { return next_read_ - next_write_; }
  const DmaConfig& config() const { return *command(command_).dma; }

  Parameters parameters_;
  bool active_ = false;
  CommandId command_ = 0;
  bool from_hbm_ = false, to_hbm_ = false;
  std::vector<size_t> segments_;  // of the command, in config()
  size_t segment_ = 0;            // in segments_
  Cycle first_request_ = 0;
  Cycle first_data_ = 0;  // not before, however early it was asked for
  DmaWalker walker_;

  std::vector<Slot> slots_;
  uint64_t next_read_ = 0, next_write_ = 0;  // requests of the command so far
  uint64_t unanswered_writes_ = 0;
  bool moved_serialised_ = false;  // in the present tick, in either direction

  std::vector<std::unique_ptr<DmaLine>> lines_;
  std::vector<DmaLine*> free_lines_;

  std::vector<Activity> activities_;
  std::vector<MachineHazard> hazards_;
  bool timeout_told_ = false;  // of the present command
};

}  // namespace rngdsim
