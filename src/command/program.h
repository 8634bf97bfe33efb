// SPDX-License-Identifier: Apache-2.0
// The contract between lowering and the machine: a checked list of commands as plain data.
//
// `lowering` writes a Program; `engine`, `memory`, `sim`, `reference` and `report` read it. Sizes
// are per slice: all slices of a cluster run one command with one configuration (lockstep).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command/vcg.h"
#include "config/kernel.h"
#include "mapping/mapping.h"
#include "mapping/sequencer.h"
#include "numeric/dtype.h"

namespace rngdsim {

using TensorId = uint32_t;
using CommandId = uint32_t;

enum class Context : uint8_t { kMain, kSub };
const char* name(Context context);  // "main", "sub"

// The sizes of the machine that lowering and the machine share, from the topology file.
struct MachineLimits {
  uint64_t clusters = 2;
  uint64_t slices = 256;  // a cluster
  uint64_t lanes = 8;
  uint64_t flit_bytes = 32;
  uint64_t packet_bytes = 64;       // what the contraction engine takes a cycle, a lane
  uint64_t command_overhead = 263;  // cycles from begin to the first access
  SequencerLimits sequencer;
  // Data memory of a slice.
  uint64_t dm_banks = 16, dm_bank_bytes = 8, dm_rows = 4096, dm_align = 128;
  uint64_t dm_bytes() const { return dm_banks * dm_bank_bytes * dm_rows; }
  // TRF of a slice: rows of `trf_row_bytes` bytes of elements.
  uint64_t trf_banks = 2, trf_rows = 128, trf_row_bytes = 32;
  uint64_t trf_bytes() const { return lanes * trf_banks * trf_rows * trf_row_bytes; }
  // Largest access in bytes; 0 in fixed_*: not fixed.
  uint64_t main_max_read = 32, sub_fixed_read = 8;
  uint64_t main_max_write = 32, sub_fixed_write = 8;
  uint64_t accumulator_cells = 1024, accumulator_columns = 32;
  uint64_t bus_elements = 8;  // Lane Folder output
  uint64_t reduce_slots = 8;  // of intra-slice reduce
};

// The mappings of a stream (or of a tensor's spatial part) at one point of a chain.
struct StreamShape {
  Mapping chip, cluster, slice;
  Mapping lane;  // between contract_outer and contract_lane; `1` elsewhere
  Mapping time, packet;
  DType dtype = DType::kBF16;
};

// A tile of a tensor: of `axis` the indices whose digit of `stride` and `size` is start .. start +
// length - 1. The tile's own indices count from digit 0 (index of the tensor = index of the tile +
// shift()).
struct Tile {
  AxisId axis = 0;
  uint64_t stride = 1, size = 1;
  uint64_t start = 0, length = 1;
  uint64_t shift() const { return start * stride; }
  // Whether the tile has this index, counted as its own.
  bool holds(uint64_t index) const { return index / stride % size < length; }
};

// One version of a tensor in one memory. Writing a name again makes a new version. A view is a
// version too: it lies inside of another one, which keeps its values.
struct TensorVersion {
  std::string name;
  uint32_t version = 0;
  SourceLocation where;
  MemoryKind memory = MemoryKind::kDm;
  DType dtype = DType::kBF16;
  Mapping chip, cluster, slice, lane, element;
  std::vector<AxisId> logical;  // ascending; the axes its values depend on
  uint64_t address = 0;         // DM: byte in the slice
  uint64_t bytes = 0;           // DM: in a slice; TRF: in a lane
  // TRF: rows [first_row, first_row + rows) of both banks of each active lane; with L < lanes
  // active lanes a bank has lanes / L times the rows. A row holds trf_row_bytes of elements;
  // element byte b lies in bank (b / row_bytes) % banks, row first_row + b / (banks * row_bytes).
  uint64_t first_row = 0, rows = 0;
  std::string region;  // TRF: "full", "first_half", "second_half"
  InitSpec init;       // declared tensors
  std::optional<CommandId> produced_by;
  // A view: what it is a tile of (perhaps a view itself), and which. `element` is that of the other
  // version with the positions outside the tile as padding, `address` where the tile begins.
  std::optional<TensorId> view_of;
  Tile tile;
};

// ---- One struct a stage. `count`s are per command (and slice). ---------------------------------

// Fetch: walks `sequencer` over the element buffer of `tensor`, `access_elements` at a time.
struct FetchConfig {
  TensorId tensor = 0;
  SequencerConfig sequencer;
  uint64_t access_elements = 1;
  uint64_t access_bytes = 1;
  uint64_t accesses_per_packet = 1;
  uint64_t packets = 1;
  uint64_t accesses = 1;  // packets * accesses_per_packet
};

// `stream:`: items of `shape` (time, packet) enter at the first stage, one a cycle.
struct StreamEntryConfig {
  InitSpec init;
  std::vector<AxisId> logical;
  uint64_t items = 1;
};

struct FetchCastConfig {
  DType from{}, to{};
};

// fetch_zero_point_sub: i4 becomes i5 and i8 becomes i9, `zero_point` less.
struct FetchZeroPointConfig {
  DType from{}, to{};
  int64_t zero_point = 0;
};

// Collect: pads a packet to whole flits, one flit a cycle.
struct CollectConfig {
  DType dtype{};
  uint64_t packet_elements = 1;  // as it arrives
  uint64_t flit_elements = 1;    // elements of a 32 B flit
  uint64_t flits_per_packet = 1;
  uint64_t flits = 1;
};

// Stores flits into the TRF: lane = flit / flits_per_lane, flit f of a lane to granule f.
struct ToTrfConfig {
  TensorId tensor = 0;
  uint64_t lanes = 1;
  uint64_t flits_per_lane = 1;
};

// contract_outer: Stream Adapter, TRF Sequencer and Multiplier.
struct OuterConfig {
  TensorId trf = 0;
  DType stream_dtype{}, trf_dtype{}, accumulator{};
  uint64_t pack_size = 1;        // flits a packet, 1 or 2
  uint64_t lanes = 1;            // active lanes
  uint64_t time_broadcast = 1;   // times each packet is sent
  uint64_t packet_elements = 1;  // of OutPacket (pack_size flits)
  uint64_t slots = 1;            // multiplier slots of a full 64 B packet, a lane
  uint64_t packets = 1;          // multiplied: size(OutTime)
  // TRF reads: the entries over OutTime, strides in elements; one read a packet.
  SequencerConfig trf_sequencer;
  uint64_t read_elements = 1;  // ReadSize
  uint64_t read_bytes = 2;
  uint64_t packet_broadcast = 1;  // packet_elements / read_elements
};

struct PacketReduceConfig {
  uint64_t depth = 0;    // tree depth: sums the innermost 2^depth elements
  uint64_t columns = 1;  // size(OutPacket)
};

// contract_time. `loops` are Time, outermost first, cut so that each loop is kept or reduced whole.
struct TimeReduceConfig {
  struct Loop {
    uint64_t size;
    bool reduced;
  };
  std::vector<Loop> loops;
  uint64_t slots = 1;     // slots a group of packets needs: size(InnerTime)
  uint64_t capacity = 1;  // slots that exist in this mode
  uint64_t results = 1;   // size(OutTime)
};

struct LaneFoldConfig {
  bool interleaved = true;
  uint64_t lanes = 1;
  uint64_t columns = 1;
  uint64_t flits_per_result = 1;  // interleaved: columns; sequential: lanes * ceil(columns / 8)
  uint64_t flits = 1;
};

enum class ReduceOp : uint8_t { kAdd, kAddSat, kMax, kMin };
const char* name(ReduceOp op);  // "add", "add_sat", "max", "min"

// The Vector Engine between tag and widen. A *step* is what passes in a cycle: a flit of 8
// elements, or one of 4 behind a narrow stage.
struct VectorConfig {
  enum class Narrow : uint8_t { kNone, kSplit, kTrim };
  enum class Widen : uint8_t { kNone, kConcat, kPad };
  struct Reduce {
    AxisId axis = 0;
    ReduceOp op = ReduceOp::kAdd;
    TimeReduceConfig time;   // over steps; capacity: the slots that exist
    bool in_packet = false;  // the 4 elements of a step are reduced to one
    VcgConfig vcg;           // over flits of 8
  };
  Narrow narrow = Narrow::kNone;
  std::optional<Reduce> reduce;
  Widen widen = Widen::kNone;
  uint64_t flits = 1;    // that enter
  uint64_t steps = 1;    // split: two a flit
  uint64_t results = 1;  // that leave
};

struct CastConfig {
  DType from{}, to{};
};

// commit_trim and commit_cast: what the Commit Adapter does to a flit, whether a commit follows or
// not.
struct CommitAdapterConfig {
  uint64_t trim_elements = 8;  // leading elements of the flit that are kept
  std::optional<CastConfig> cast;
  bool relu = false;
};

struct CommitConfig {
  TensorId tensor = 0;
  SequencerConfig sequencer;  // over the element buffer
  uint64_t write_elements = 8;
  uint64_t write_bytes = 32;
  uint64_t writes_per_flit = 1;
  uint64_t writes = 1;
};

// Byte (DM) or row (TRF) range that a command reads or writes.
struct Footprint {
  MemoryKind memory = MemoryKind::kDm;
  TensorId tensor = 0;
  uint64_t begin = 0, end = 0;
  bool overlaps(const Footprint& o) const {
    return memory == o.memory && begin < o.end && o.begin < end;
  }
};

// What the chain looks like after one of its stages.
struct StageRecord {
  std::string name;  // as in the kernel file
  SourceLocation where;
  StreamShape after;
};

// Cycles that the slowest part needs at least, overhead included.
struct LowerBound {
  uint64_t fetch_accesses = 0, flits = 0, packets = 0, trf_reads = 0, output_flits = 0, writes = 0;
  uint64_t vector_steps = 0;
  uint64_t overhead = 0;
  uint64_t cycles = 0;   // overhead + the largest of the above
  std::string bound_by;  // "fetch reads", "flits", "packets", "TRF reads", "output flits", "vector
                         // steps", "writes"
};

struct Command {
  CommandId id = 0;
  Context context = Context::kMain;
  SourceLocation where;
  std::string label;  // "a_dm x b_trf -> c_dm"
  std::string kind;   // "main", "sub"
  uint64_t overhead = 263;

  std::optional<FetchConfig> fetch;  // exactly one of fetch and stream
  std::optional<StreamEntryConfig> stream;
  StreamShape source;  // shape of the items that enter (after fetch / stream)
  std::optional<FetchCastConfig> fetch_cast;
  std::optional<FetchZeroPointConfig> fetch_zero_point;
  std::optional<CollectConfig> collect;
  std::optional<ToTrfConfig> to_trf;
  std::optional<OuterConfig> outer;
  std::optional<PacketReduceConfig> packet_reduce;
  std::optional<TimeReduceConfig> time_reduce;
  std::optional<LaneFoldConfig> lane_fold;
  std::optional<VectorConfig> vector;
  std::optional<CastConfig> cast;
  std::optional<CommitAdapterConfig> commit_adapter;
  std::optional<CommitConfig> commit;  // none and no to_trf: the stream ends in a sink

  std::string entry_stage;          // first listed stage of a `stream:` command
  std::vector<StageRecord> stages;  // what the kernel file lists, in order
  StreamShape final_shape;          // of the items that reach TRF, commit or the sink
  uint64_t final_items = 1;         // items that reach it

  std::vector<Footprint> reads, writes;
  LowerBound bound;
  // Multiplier slots that hold elements in active lanes and live slices of the whole chip, and
  // slots clocked with a packet in all slices of the clusters in use. 0 without a contraction.
  uint64_t mac_useful = 0, mac_issued = 0;
  uint64_t clusters_used = 1;  // clusters with a live slice
  uint64_t live_slices = 0;    // of the whole chip
};

struct ExpectedResult {
  std::string tensor;
  SourceLocation where;
  std::vector<AxisId> sum_over;
  std::vector<std::string> product_of;
};

struct Program {
  std::string kernel_name, description, kernel_file, kernel_sha256;
  AxisTable axes;
  MachineLimits limits;
  std::vector<TensorVersion> tensors;  // declared ones first, then as produced
  std::vector<Command> commands;       // file order
  std::vector<ExpectedResult> expect;
};

}  // namespace rngdsim
