// SPDX-License-Identifier: Apache-2.0
// What a run of a program on a machine has shown: plain data, no SystemC. The fields carry the
// names of the JSON report (docs/reports.md); `report` writes them as text, JSON, CSV and HTML.
//
// Everything but wall_seconds and cycles_per_second is bit-identical from run to run; without
// values
// (--timing-only) everything but those, `values`, `tensors` and failures of kind "poison".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "command/program.h"
#include "numeric/dtype.h"
#include "reference/reference.h"

namespace rngdsim {

enum class RunStatus {
  kOk,      // all commands ended, nothing failed, all values right
  kFailed,  // poison, an out-of-range access or a wrong value; the run stopped after that cycle or
            // command, or reached its end with wrong values
  kDeadlock,   // nothing can happen any more and commands are open
  kWatchdog,   // nothing moved for `watchdog_cycles` of the topology and commands are open
  kStopped,    // the caller's stop flag (Ctrl-C)
  kMaxCycles,  // the caller's limit of cycles
};
const char* name(RunStatus status);  // "ok", "failed", "deadlock", "watchdog", "stopped", ...

// What the begin of a command waited for beyond its place in its own context: the hazard or the
// shared unit that cleared last. A command that waited only for the one before it has none.
struct WaitedFor {
  // "read after write", "write after read", "write after write", "shared unit", "bank starvation",
  // "bitmap load"; empty: waited for nothing.
  std::string kind;
  // The tensor of the earlier command, the unit's type, or ("bank starvation") what one of the two
  // has to leave alone: "dma" or "a bank of the data memory"; ("bitmap load") the context that had
  // to be free, or "switch" where another's load was waited for.
  std::string what;
  CommandId command = 0;  // the earlier command; of "bank starvation" it may be a later one
  uint64_t cycle = 0;     // when it cleared: that command's end, or that of its load
  bool any() const { return !kind.empty(); }
  // "b_trf (read after write) 777", "-" for none.
  std::string text() const;
  bool operator==(const WaitedFor& o) const;
};

struct CommandResult {
  CommandId index = 0;
  std::string context;  // "main", "sub", "dma"
  std::string kind;     // "main", "sub", "dma"
  std::string label;
  int line = 0;        // in the kernel file
  bool begun = false;  // false: issue may be meaningful, begin and end are 0
  bool ended = false;  // false: end is the cycle in which the run stopped
  uint64_t issue = 0, begin = 0, end = 0;
  uint64_t cycles = 0;  // end - begin, overhead included
  WaitedFor waited_for;
  uint64_t bound = 0;  // least cycles, overhead included
  std::string bound_by;
  uint64_t overhead = 0;
  bool operator==(const CommandResult& o) const;
};

struct UnitResult {
  std::string name, type;
  // Cycles in each state; the five sum to RunResult::cycles.
  uint64_t busy = 0, starved = 0, blocked = 0, conflict = 0, idle = 0;
  uint64_t items_in = 0, items_out = 0;
  std::map<std::string, uint64_t> blamed;  // unit -> cycles of starved, blocked and conflict
  std::vector<std::pair<std::string, uint64_t>> extra;  // counters of this unit type
  bool operator==(const UnitResult& o) const;
};

struct MacResult {
  uint64_t useful = 0;          // products of elements, active lanes, live slices, whole chip
  uint64_t issued = 0;          // multiplier slots clocked with a packet, whole chip
  uint64_t peak_per_cycle = 0;  // fastest operand type contracted, whole chip; 0: no contraction
  double utilization = 0;       // useful / (peak_per_cycle x cycles)
  double utilization_while_active = 0;  // useful / (peak of the clusters in use x active_cycles)
  uint64_t first_packet = 0, last_packet = 0;  // cycles, at the multiplier
  uint64_t active_cycles = 0;                  // last_packet - first_packet + 1; 0 without packets
  uint64_t packets = 0;
  uint64_t clusters_used = 0;
  bool operator==(const MacResult& o) const;
};

struct BandwidthResult {
  // "dm_read" and "dm_write" (DMA included), "trf_read", "trf_write", "hbm_read", "hbm_write",
  // "dma" (what the engines moved, counted once), "pcie_read", "pcie_write"
  std::string name;
  uint64_t bytes = 0;               // whole chip: all slices of the clusters in use by each command
  double bytes_per_cycle = 0;       // bytes / cycles
  double peak_bytes_per_cycle = 0;  // whole chip
  double utilization = 0;           // bytes_per_cycle / peak_bytes_per_cycle
  uint64_t bytes_per_slice = 0;     // of one slice; of DMA the mean; 0 for HBM and engines
  bool operator==(const BandwidthResult& o) const;
};

// How the contexts shared the run, in cycles. A context runs from a begin to an end of one of its
// commands, and waits for the other from the issue to the begin of a command that had to.
struct OverlapResult {
  uint64_t main = 0, sub = 0;  // cycles in which the context ran
  uint64_t both = 0;           // in which both did
  uint64_t main_waited_for_sub = 0, sub_waited_for_main = 0;
  uint64_t dma = 0;             // cycles in which a DMA ran
  uint64_t dma_overlapped = 0;  // in which main or sub ran too
  uint64_t dma_waited = 0;      // for commands of main and sub
  uint64_t waited_for_dma = 0;  // main and sub together
  bool operator==(const OverlapResult& o) const;
};
// Commands in file order.
OverlapResult overlap_of(const std::vector<CommandResult>& commands);

struct LinkResult {
  std::string name;      // "main_fetch.out->fetch_adapter.in"
  uint64_t items = 0;    // pushed
  uint64_t stalled = 0;  // cycles in which the producer found no space
  bool operator==(const LinkResult& o) const;
};

struct CheckedValues {
  std::string tensor;     // "c_dm", "sink of command 2", "c (expect)"
  uint64_t elements = 0;  // places compared, replicas included
  uint64_t mismatches = 0;
  double max_abs_error = 0;
  double bound_fraction = 0;  // largest part of the bound that was used
  bool operator==(const CheckedValues& o) const;
};

struct ValueMismatch {
  std::string tensor;
  std::string index;          // "I=3 K=5"
  std::string place;          // "slice 17, element 40"; empty for `expect:`
  std::string expected, got;  // expected carries its bound: "2 +- 1e-07"
  bool operator==(const ValueMismatch& o) const;
};

struct ValueResult {
  bool simulated = true;  // false: --timing-only
  std::vector<CheckedValues>
      checked;  // a written tensor version or sink each, in order of the ends
  uint64_t mismatches = 0;
  std::vector<ValueMismatch> first_mismatches;  // at most kMaxMismatches
  double max_abs_error = 0;
  double max_bound_fraction = 0;  // largest error / (bound that summation order allows); > 1: wrong
  bool operator==(const ValueResult& o) const;
};
constexpr size_t kMaxMismatches = 8;  // of the whole run, in ValueResult

struct FailureResult {
  std::string kind;  // "poison", "wrong value", "deadlock", "watchdog", "out of range"
  std::string unit;  // empty where none is to blame
  uint64_t cycle = 0;
  CommandId command = 0;
  std::string message;
  bool operator==(const FailureResult& o) const;
};

// What requests did in HBM: each transfer of a line (256 B) or a part of it is a row hit, miss or
// conflict.
struct HbmTraffic {
  uint64_t transfers = 0, bytes = 0;
  uint64_t row_hits = 0;            // of a row opened for an earlier transfer
  uint64_t row_misses = 0;          // opened the row of a closed bank
  uint64_t row_conflicts = 0;       // changed the row of a bank
  uint64_t misaligned_reads = 0;    // transfers of reads that crossed a line needlessly
  uint64_t read_modify_writes = 0;  // transfers of writes that did not cover their line
  HbmTraffic& operator+=(const HbmTraffic& o);
  bool operator==(const HbmTraffic& o) const;
};

// The part of a DMA that one engine did.
struct DmaEngineResult {
  uint64_t engine = 0;
  uint64_t segments = 0;  // start-ups
  uint64_t requests = 0;  // read and written again, at most 256 B each
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint64_t first_data = 0;    // cycle in which the first data came back
  uint64_t end = 0;           // one past the cycle in which the last write was answered
  uint64_t dm_conflicts = 0;  // cycles in which it waited for a bank that fetch or commit had
  // Of a move by an index: requests and bytes of it, and the cycles from the ends of the start-ups
  // until rows were asked for. Not contained in the above.
  uint64_t index_requests = 0, index_bytes = 0, index_cycles = 0;
  bool operator==(const DmaEngineResult& o) const;
};

struct DmaChannelResult {
  uint64_t stack = 0, channel = 0;  // channel of the stack
  HbmTraffic hbm;
  bool operator==(const DmaChannelResult& o) const;
};

// One bank of every channel.
struct DmaBankResult {
  uint64_t slice = 0, bank_group = 0, bank = 0;
  HbmTraffic hbm;
  bool operator==(const DmaBankResult& o) const;
};

// A command of the context dma that has begun.
struct DmaResult {
  CommandId command = 0;
  uint64_t issue = 0, begin = 0, end = 0;  // as in CommandResult
  uint64_t first_data = 0;                 // 0: none came
  uint64_t requests = 0, packets = 0;
  uint64_t bytes_ideal = 0;  // of the elements that exist, written once
  uint64_t bytes_moved = 0;  // of all requests, each counted once for its read and its write
  uint64_t bytes_pcie = 0;   // of those, what went to or came from the host: all or none
  HbmTraffic hbm;            // of its reads and writes
  std::vector<DmaEngineResult> engines;    // ascending, those that took part
  std::vector<DmaChannelResult> channels;  // by stack and channel, those with transfers
  std::vector<HbmTraffic> stacks;          // all, by number
  std::vector<DmaBankResult> banks;        // by slice, bank group and bank, those with transfers
  uint64_t dm_conflicts() const;           // of all engines
  bool operator==(const DmaResult& o) const;
};

// A unit of a stuck machine that is not idle.
struct StuckUnit {
  std::string unit, state, waiting_for;
  bool operator==(const StuckUnit& o) const;
};

// A link of a stuck machine that holds items.
struct StuckQueue {
  std::string link;
  uint64_t items = 0, depth = 0;
  CommandId head_command = 0;  // of the item that has to leave first
  uint64_t head_index = 0;     // its place in Time
  bool operator==(const StuckQueue& o) const;
};

// The values of a logical tensor, row-major over `shape` (its axes in the order of the kernel
// file).
struct TensorValues {
  std::string name;
  uint32_t version = 0;
  DType dtype = DType::kBF16;
  std::vector<std::string> axes;
  std::vector<uint64_t> shape;
  std::vector<uint32_t> bits;  // raw, see numeric/dtype.h
  std::vector<uint8_t> valid;  // 0: never written
  // Of `results`: what the run's own reference accepts at RunOptions::accepted_at.
  std::vector<Accepted> accepted;
};

// A cluster of a run with RunOptions::skew.
struct ClusterResult {
  uint64_t cluster = 0;
  uint64_t launch = 0, end = 0;  // end of its last command
  // Cycles from `launch` to `end` in which a command ran here (of a DMA, the engines of this
  // cluster), and the others, in which it waited for another cluster: work + waited = end - launch.
  uint64_t work = 0, waited = 0;
  std::vector<CommandResult> commands;  // here, in file order
  bool operator==(const ClusterResult& o) const;
};

struct RunResult {
  std::string kernel_name, kernel_file, kernel_sha256, kernel_description;
  std::string topology_name, topology_sha256;
  double clock_ghz = 1.0;
  RunStatus status = RunStatus::kOk;
  uint64_t cycles = 0;  // end of the last command; where some are open: cycles simulated
  std::vector<CommandResult> commands;  // clusters apart: as in the first
  std::vector<ClusterResult> clusters;  // only where they run apart
  std::vector<UnitResult> units;        // order of the topology file, cluster after cluster
  OverlapResult overlap;
  MacResult mac;
  std::vector<BandwidthResult> bandwidth;
  std::vector<LinkResult> links;  // order of the topology file
  std::vector<DmaResult> dmas;    // file order
  ValueResult values;
  std::vector<std::string> hazards;
  std::vector<FailureResult> failures;
  std::vector<StuckUnit> stuck;  // deadlock and watchdog only; the root first, like queues
  std::vector<StuckQueue> queues;
  uint64_t bound = 0;                  // longest chain of command bounds through the hazards
  std::vector<CommandId> bound_chain;  // that chain
  std::vector<TensorValues> tensors;   // those that RunOptions::keep names, last versions
  // What the program is run for (reference/results.h), with RunOptions::keep_results.
  std::vector<TensorValues> results;
  double wall_seconds = 0;  // filled by the caller, like cycles_per_second
  double cycles_per_second = 0;

  // 0 where everything is right, else 1 (see docs/cli.md). `strict`: hazards count.
  int exit_status(bool strict = false) const;
  // Equal but for wall_seconds, cycles_per_second, tensors and results.
  bool same_run(const RunResult& o) const;
};

}  // namespace rngdsim
