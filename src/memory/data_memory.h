// SPDX-License-Identifier: Apache-2.0
// The data memory (DM) of the slices: banks that one access a cycle may use, given out by priority.
//
// Each cycle, in priority order, a client whose head request is ready gets all the banks it touches
// or nothing; several clients are served where their banks are disjoint. Who gets nothing keeps its
// head for the next cycle, and the `conflict` is booked to it, naming the winner [A]. A granted
// write lands in that cycle; read data leave `read_latency` cycles after the grant.
//
// DMA comes last: it has what the clients leave of the banks in the same cycle and never delays
// them [B]; see dmn_queues.h. A bank that clients hold for `starvation_cycles` in a row while a DMA
// waits for it is a hazard.
//
// Where the clusters are simulated apart (RunContext::clusters_apart), fetch and commit of each are
// clients of their own, which meet only those of their cluster; those of cluster c > 0 have ports
// named main_fetch_<c> and so on.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "channel/dma_item.h"
#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "memory/bank_arbiter.h"
#include "memory/dmn_queues.h"
#include "memory/sliced_memory.h"

namespace rngdsim {

class DataMemory final : public Unit {
 public:
  struct Parameters {
    uint64_t banks = 16;        // [B], at most 64
    uint64_t bank_bytes = 8;    // [B] bytes of a bank in one row
    uint64_t rows = 4096;       // [B]
    uint64_t read_latency = 1;  // [A] cycles from grant to data, the data link's latency included.
                                // Full rate needs a data link of depth read_latency + 1.
    // Highest first [B]; exactly the names of client_names().
    std::vector<std::string> priority = {"main_fetch", "main_commit", "sub_fetch", "sub_commit"};
    uint64_t beat_bytes = 128;            // [B] of DMA, a cycle and DMN
    uint64_t beats = 1, beat_cycles = 1;  // [B] a DMN moves so many beats in so many cycles
    uint64_t dma_queue = 2;               // [B] DMA requests that wait in a slice
    uint64_t starvation_cycles = 64;      // [B]
    // Whether a bank serves one access a cycle [B], or whoever comes: a book that knows no
    // conflicts.
    bool bank_conflicts = true;
  };
  // DMA engines that can be connected.
  static constexpr size_t kMaxDmaEngines = DmaPorts::kMaxEngines;
  static const std::vector<std::string>& client_names();

  LinkIn<DmRequest> main_fetch{"main_fetch", "dm request"};
  LinkIn<DmRequest> sub_fetch{"sub_fetch", "dm request"};
  LinkIn<DmRequest> main_commit{"main_commit", "dm request"};
  LinkIn<DmRequest> sub_commit{"sub_commit", "dm request"};
  LinkOut<StreamItem> main_fetch_data{"main_fetch_data", "read data"};
  LinkOut<StreamItem> sub_fetch_data{"sub_fetch_data", "read data"};
  // The client ports of a cluster; those above are cluster 0's. Precondition: clusters are apart.
  struct ClusterPorts {
    explicit ClusterPorts(const std::string& suffix);
    LinkIn<DmRequest> main_fetch, sub_fetch, main_commit, sub_commit;
    LinkOut<StreamItem> main_fetch_data, sub_fetch_data;
  };
  // Of engine e: dma_<e> and dma_<e>_data; need not be connected.
  DmaPort& dma(size_t engine) { return dma_[engine]; }

  // The storage covers the slices that the context simulates.
  DataMemory(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
             const Parameters& parameters);

  std::vector<PortBase*> ports() override;
  std::string waiting_for() const override;
  void elaborated() override;
  void add_extra_counters(UnitCounters& counters) const override;
  // bank_grants: a bit a bank, see granted_banks(); clusters apart: also bank_grants_<c>.
  std::vector<Signal> signals() const override;

  // In the order of their cycles.
  const std::vector<MachineHazard>& hazards() const { return hazards_; }
  // Bytes that DMA has moved, of all slices together.
  uint64_t dma_bytes_read() const { return dma_read_; }
  uint64_t dma_bytes_written() const { return dma_written_; }
  // Cycles in which requests of an engine for a command waited for banks that clients had.
  uint64_t dma_conflicts(CommandId command, size_t engine) const {
    return command < dma_conflicts_.size() ? dma_conflicts_[command][engine] : 0;
  }

  // The unit that lost arbitrations of `client` are booked to, and that they name as the winner;
  // null (or never called): nothing is booked. Unknown clients are an InternalError. DMA engines
  // are clients too ("dma_0"), as losers. Clients have the names of their request ports.
  void set_client(const std::string& client, Unit* unit);

  // For loading tensors before a run and checking them after it. Exists with --timing-only too
  // (empty, costs nothing).
  // `cluster`: 0 for all slices, but where the clusters are apart.
  SlicedMemory& storage(size_t cluster = 0) { return groups_[cluster].storage; }
  const SlicedMemory& storage(size_t cluster = 0) const { return groups_[cluster].storage; }

  // Bytes a slice, of the first cluster where they are apart: a replicated access counts its one
  // element.
  uint64_t bytes_read() const;
  uint64_t bytes_written() const;
  uint64_t bytes_read(CommandId command, size_t cluster = 0) const;
  uint64_t bytes_written(CommandId command, size_t cluster = 0) const;
  uint64_t client_bytes(const std::string& client) const;
  // The banks granted to clients in cycle `now`, for observers.
  BankMask granted_banks(Cycle now, size_t cluster = 0) const {
    return granted_cycle_ == now ? granted_banks_[cluster] : 0;
  }

 private:
  static constexpr size_t kClients = 4;
  struct Client {
    std::string name;
    LinkIn<DmRequest>* request = nullptr;
    LinkOut<StreamItem>* data = nullptr;  // null: writes
    Unit* unit = nullptr;
    RunMonitor* monitor = nullptr;
    bool in_command = false;  // between its first and last request of a command
    CommandId command = 0;    // of the last request
    uint64_t bytes = 0;
  };
  // What the slices that do the same have in common: all of them, or those of a cluster.
  struct Group {
    Group(uint64_t bytes, uint64_t page_bytes, uint32_t slices)
        : storage(bytes, page_bytes, slices) {}
    std::unique_ptr<ClusterPorts> ports;     // null: those of the unit itself
    std::array<Client, kClients> clients;    // in priority order
    std::array<BankMask, kClients> taken{};  // in the present cycle
    SlicedMemory storage;
    std::vector<std::vector<uint8_t>> live;  // by tensor; clusters apart: its part of the context's
    std::vector<uint64_t> read_by_command, written_by_command;
  };
  void tick(Cycle now) override;
  void make_group(size_t number, size_t count);
  Client* find_client(const std::string& client);
  BankMask banks_of(const DmRequest& request, Cycle now) const;
  bool serve_group(size_t number, bool served, Cycle now, const Client*& without_space);
  void serve(Group& group, Client& client, Cycle now);
  void read(Group& group, Client& client, const DmRequest& request, Cycle now);
  void write(Group& group, const Client& client, const DmRequest& request, Cycle now);
  void judge(bool moved, const Client* without_space);
  // The last of a cycle, once `granted_banks_` are known; whether it moved anything.
  bool tick_dma(Cycle now);
  bool accept_dma(Cycle now);
  void complete_dma(const DmnQueues::Entry& entry);
  void book_dma_conflict(const DmnQueues::Entry& entry, uint32_t bank, Cycle now);
  const Client* holder_of(size_t group, uint32_t bank) const;
  void tell_starvation(size_t group, Cycle now);
  const std::vector<uint8_t>& live_slices(const Group& group, TensorId tensor) const;

  Parameters parameters_;
  BankArbiter arbiter_;
  std::vector<Group> groups_;
  std::vector<uint8_t> all_live_;        // empty: what SlicedMemory takes as all slices
  std::vector<BankMask> no_banks_;       // by group: what is taken where there are no conflicts
  std::vector<BankMask> granted_banks_;  // by group
  Cycle granted_cycle_ = ~Cycle{0};

  DmaPorts dma_;
  std::array<Unit*, kMaxDmaEngines> dma_units_{};
  DmnQueues dmns_;
  uint64_t dma_read_ = 0, dma_written_ = 0;
  std::vector<std::array<uint64_t, kMaxDmaEngines>> dma_conflicts_;  // by command
  std::array<Cycle, kMaxDmaEngines> dma_lost_in_;                    // the last cycle of those
  std::vector<MachineHazard> hazards_;
};

}  // namespace rngdsim
