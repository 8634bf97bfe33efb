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
#include "numeric/vector_ops.h"

namespace rngdsim {

using TensorId = uint32_t;
using CommandId = uint32_t;

enum class Context : uint8_t { kMain, kSub, kDma };
inline constexpr size_t kContexts = 3;
const char* name(Context context);  // "main", "sub", "dma"

// The sizes of the machine that lowering and the machine share, from the topology file.
struct MachineLimits {
  uint64_t clusters = 2;
  uint64_t slices = 256;  // a cluster
  uint64_t lanes = 8;
  uint64_t flit_bytes = 32;
  uint64_t packet_bytes = 64;       // what the contraction engine takes a cycle, a lane
  uint64_t command_overhead = 263;  // cycles from begin to the first access
  // The same for commands of one class; 0: as `command_overhead` says. See overhead_of().
  struct Overheads {
    uint64_t sub = 0, sub_vector = 0, move = 0, exchange = 0, contraction = 0,
             contraction_reduce = 0, vector = 0, vector_to_vrf = 0;
  } overheads;
  // Whether a command of main has ended for those that follow once the unit that paces it is
  // through (see Pace): what that has made drains to memory during their overhead.
  bool overlap_drain = false;
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
  uint64_t bus_elements = 8;                  // Lane Folder output
  uint64_t reduce_slots = 8;                  // of intra-slice reduce
  uint64_t vrf_bytes = 8192, vrf_align = 32;  // of a slice
  // A table lookup makes so many flits in so many cycles [C].
  uint64_t lookup_flits = 2, lookup_cycles = 5;
  // Transpose Engine [B]: leading elements of a flit that it takes (4-bit types, others), columns
  // of each of its two buffers, bytes of a column.
  uint64_t transpose_valid_4bit = 16, transpose_valid = 8;
  uint64_t transpose_columns = 16, transpose_column_bytes = 8;
  uint64_t switch_hop_cycles = 1;     // from one router of a ring to the next [B]
  uint64_t switch_bitmap_load = 256;  // cycles to load a custom snoop bitmap
  uint64_t clock_mhz = 1000;
  // HBM of a chip [B].
  uint64_t hbm_bytes = uint64_t{48} << 30, hbm_align = 256;
  // Engine e of a chip serves the data-memory networks (DMN) 2e and 2e + 1, counted over its
  // clusters; a DMN is `dmn_slices` slices [B].
  uint64_t dma_engines = 8, dmn_slices = 32;
  uint64_t dma_request_bytes = 256, dma_packet_bytes = 4096;
  // Whether a move from DM to HBM reads and writes in turn, as the page's example 6 counts [A], or
  // both in a cycle, as the other way round.
  bool dma_dm_to_hbm_in_turn = true;
  uint64_t dma_startup = 500;  // cycles, the first access contained
  // The same from DM to HBM and within DM, 0: as `dma_startup`; and cycles more where several
  // engines work.
  uint64_t dma_startup_to_hbm = 0, dma_startup_in_dm = 0, dma_startup_engines = 0;
  uint64_t dmn_beats = 1, dmn_beat_cycles = 1;  // a DMN moves so many beats in so many cycles
  // Cycles that an engine takes between the last index of a segment and its first row, besides what
  // the reads take [A].
  uint64_t dma_index_cycles = 0, dma_scatter_cycles = 0;  // of a scatter, 0: the same
  // The memory of the host behind PCIe, which moves so many bytes a cycle each way [B]; what is
  // read comes `host_latency` cycles later, and is asked for so long before the end of the start-up
  // [A].
  uint64_t host_bytes = uint64_t{1} << 40, host_align = 256;
  uint64_t host_bytes_per_cycle = 30, host_latency = 400, dma_first_access_host = 411;
  // Cycles before the end of the start-up in which data memory may be read already.
  uint64_t dma_first_access_dm = 3;
  // Cycles in a row in which fetch and commit hold a bank, from which on a DMA that waits for it
  // starves [B]; and whether a command that is known to do so is kept from running beside DMA.
  uint64_t starvation_cycles = 64;
  bool starving_alone = false;
  // Addresses of a DMA in data memory: slices are so many bytes apart [B].
  uint64_t dm_slice_stride = uint64_t{4} << 20;
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
  uint64_t address = 0;         // DM, VRF: byte in the slice; HBM, host: byte
  uint64_t bytes = 0;           // HBM, host: all; DM, VRF: in a slice; TRF: in a lane
  // A view in DM: the slice of the chip (cluster x slices + slice) in which its first position
  // lies. Only a DMA reads or writes views that do not begin in the first one.
  uint64_t first_slice = 0;
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
  // A view whose positions are those of `view_of` under other mappings, element by element: what is
  // live in both is the same. Then `tile` means nothing.
  bool reshaped = false;
  // What an interleaved fetch reads: `view_of` where `axis` is 0, `second` where it is 1. `element`
  // has the axis outermost, with a step of the axis that stands for the way from the one to the
  // other.
  struct Pair {
    TensorId second = 0;
    AxisId axis = 0;
  };
  std::optional<Pair> pair;  // then `tile` means nothing
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
  uint64_t accesses = 1;   // packets * accesses_per_packet
  uint64_t same_bank = 0;  // the longest run of accesses that share a bank; 0: not looked at
};

// `stream:`: items of `shape` (time, packet) enter at the first stage, one a cycle.
struct StreamEntryConfig {
  InitSpec init;
  std::vector<AxisId> logical;
  uint64_t items = 1;
};

// fetch_table_lookup: each byte is the key of one of `entries` entries, which hold the values of
// `elements_per_key` elements: two of a 4-bit type (a paired table), else one [B].
struct TableLookupConfig {
  DType from{}, to{};
  uint64_t entries = 256;
  uint64_t elements_per_key = 1;
  uint64_t item_bytes = 32;  // that a read (or a packet of a stream) becomes
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

enum class SwitchKind : uint8_t {
  kForward,
  kBroadcast01,
  kBroadcast1,
  kTranspose,
  kInterTranspose,
  kTransposedBroadcast1,
  kCustomBroadcast,
};
const char* name(SwitchKind kind);  // "forward", "broadcast01", ..., as in the kernel file

// Switch: the slices of a cluster form sub-rings of `ring_size` neighbours. Each flit of a packet
// goes once round its sub-ring; a router (one a slice) takes the flits of the sources in its snoop
// bitmap. In a round the routers send `round_in` packets each and put `round_out` together, in the
// order of OutTime. All positions are counted in a sub-ring; all sub-rings are alike.
struct SwitchConfig {
  SwitchKind kind = SwitchKind::kForward;
  DType dtype{};
  uint64_t ring_size = 1;
  uint64_t slice1 = 1, slice0 = 1, time0 = 1;  // as the kind says; 1: it has none
  uint64_t packet_elements = 1;                // as it arrives
  uint64_t flit_elements = 1;                  // elements of a 32 B flit
  uint64_t flits_per_packet = 1;
  uint64_t packets = 1;  // that enter in a slice: size(Time)
  uint64_t flits = 1;    // that leave in a slice
  uint64_t round_in = 1, round_out = 1;
  // By router: the sources whose flits it takes, ascending.
  std::vector<std::vector<uint32_t>> snoop;
  // A packet of a round from a source goes to place source_slot + packet_slot of round_out.
  std::vector<uint64_t> source_slot, packet_slot;
  // inter_transpose: a router takes only packets whose digit is its own. Empty elsewhere.
  std::vector<uint32_t> packet_digit, router_digit;
  uint64_t load_cycles = 0;  // of a custom bitmap; no DMA and no sub command begins meanwhile

  uint64_t rounds() const { return packets / round_in; }
  uint64_t traversals() const { return packets * flits_per_packet; }  // of the sub-rings by a flit
  uint64_t hops() const { return ring_size * traversals(); }          // a cycle each, in a row
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

// add: i32 wrapping (inter-slice only) or f32.
enum class ReduceOp : uint8_t { kAdd, kAddSat, kMax, kMin, kMul };
const char* name(ReduceOp op);  // "add", "add_sat", "max", "min", "mul"

// Which elements an operand or a filter is for, by their 4-bit tag [B]: `value` in the bits of
// `mask`, or (negated) not. An empty mask is met by every tag.
struct TagGuard {
  uint8_t mask = 0, value = 0;
  bool negated = false;
  bool is_all() const { return mask == 0 && !negated; }
  bool holds(uint8_t tag) const { return ((tag & mask) == value) != negated; }
};
constexpr uint8_t kGroupBit = 8;  // of a tag: GroupId [B]

// What an ALU takes beside the stream.
struct VectorOperand {
  enum class Kind : uint8_t { kNone, kConstant, kVrf, kStash };
  Kind kind = Kind::kNone;
  uint32_t bits = 0;    // kConstant
  TensorId tensor = 0;  // kVrf
  // kVrf: the entries over the elements of the stream at this stage (Time, then Packet), strides in
  // elements of the tensor's Element; accesses of one element.
  SequencerConfig sequencer;
};

// What happens to the elements in one place of the chain. `dtype` is how the stream is read there.
struct VectorStep {
  enum class Kind : uint8_t {
    kUnary,    // op(stream) where the guard of the only slot holds
    kBinary,   // op of two of: 0 the stream, 1 the operand
    kTernary,  // op of three of: 0 the stream, 1 the operand, 2 the slot's second constant
    kZip,      // op of two of: 0 the element of group 0, 1 that of group 1; ends pair mode
    kFxpToFp,
    kFpToFxp,
    kStash,   // the stream is kept for one operand
    kFilter,  // only elements of the guard are written [B]
  };
  // An element takes the first slot whose guard holds; without one it passes unchanged [B].
  struct Slot {
    TagGuard guard;
    VectorOperand operand;
    uint32_t second = 0;  // kTernary: operand1, a constant
  };
  Kind kind = Kind::kUnary;
  VectorOp op = VectorOp::kAddF;
  std::optional<Alu> alu;  // none: takes no ALU
  DType dtype = DType::kF32;
  std::array<uint8_t, 3> arguments{0, 1, 2};
  std::vector<Slot> slots;
  uint32_t int_width = 31;  // kFxpToFp, kFpToFxp
};

// The inter-slice reducer: the innermost `ratio` slices of each group are folded into one value,
// which goes to those positions of the group that hold something in OutSlice.
struct InterSliceConfig {
  // Time, outermost first: what each digit becomes. Position of the output flit: sum of
  // digit * out_stride; promoted: digit * slot_stride, which a position's slot asks for.
  struct Loop {
    uint64_t size = 1;
    uint64_t out_stride = 0;
    uint64_t slot_stride = 0;
  };
  ReduceOp op = ReduceOp::kAdd;
  DType dtype = DType::kI32;
  uint64_t ratio = 2;
  std::vector<Loop> loops;
  // By position in a group, `ratio` of them: the sum of slot_stride digits it takes; -1: padding.
  std::vector<int64_t> slots;
  uint64_t flits = 1;    // that enter
  uint64_t results = 1;  // that leave
  // How results are read behind it; none: as `dtype`.
  std::optional<DType> result_dtype;
};

// A vector chain: the Vector Engine between tag and filter, the inter-slice reducer before it,
// behind it, or alone. A *step* is what passes in a cycle: a flit of 8 elements, or one of 4
// between narrow and widen.
struct VectorConfig {
  enum class Narrow : uint8_t { kNone, kSplit, kTrim };
  enum class Widen : uint8_t { kNone, kConcat, kPad };
  struct Reduce {
    AxisId axis = 0;
    ReduceOp op = ReduceOp::kAdd;
    TimeReduceConfig time;   // over steps; capacity: the slots that exist
    bool in_packet = false;  // the 4 elements of a step are reduced to one
    VcgConfig vcg;           // over flits of 8
    // How the stream is read there; none: as the step before leaves it.
    std::optional<DType> dtype;
  };
  struct Compare {
    CompareOp op = CompareOp::kFalse;
    uint32_t boundary = 0;
  };
  bool chain = true;          // the Vector Engine takes part; false: the inter-slice reducer alone
  DType dtype = DType::kF32;  // of the elements that enter the chain
  std::optional<std::array<Compare, 4>> tags;  // none: all tags are 0, or the group in pair mode
  // Pair mode: flits alternate between group 0 and group 1 (bit 3 of the tag) until the zip step,
  // where two become one.
  bool pair = false;
  AxisId pair_axis = 0;
  std::vector<VectorStep> front;  // 8-way, before narrow
  Narrow narrow = Narrow::kNone;
  std::vector<VectorStep> middle;  // 4-way, before the reduction
  std::optional<Reduce> reduce;
  std::vector<VectorStep> after_reduce;  // 4-way
  Widen widen = Widen::kNone;
  std::vector<VectorStep> back;  // 8-way, behind widen
  // Of the elements that leave the chain; none: as the last step (or the reduction) leaves them.
  std::optional<DType> result_dtype;
  uint64_t flits = 1;    // that enter the chain
  uint64_t steps = 1;    // cycles the chain is busy at full rate
  uint64_t results = 1;  // that leave the chain

  std::optional<InterSliceConfig> inter;
  bool inter_first = false;
};

// to_vrf: stores flits one after the other. Element = [Time, Packet] [B].
struct ToVrfConfig {
  TensorId tensor = 0;
  uint64_t flits = 1;
  uint64_t flit_elements = 8;  // of Packet: what a flit adds to the tensor
};

struct CastConfig {
  DType from{}, to{};
};

// transpose: matrices of in_rows x in_cols elements come in as flits, row by row, and leave as
// out_rows flits of in_rows elements, a column each.
struct TransposeConfig {
  uint64_t flit_elements = 32;
  uint64_t valid_elements = 8;   // taken of a flit
  uint64_t packets_per_row = 1;  // flits that make a row: in_cols / valid_elements
  uint64_t in_rows = 1, in_cols = 8;
  uint64_t out_rows = 8;  // leading columns that leave
  uint64_t matrices = 1;
  bool double_buffered = true;  // one matrix comes in while the one before leaves
  uint64_t in_flits() const { return in_rows * packets_per_row; }  // of a matrix
  uint64_t results() const { return matrices * out_rows; }         // flits that leave
  // From the first flit taken to the last one given, both included, where nothing else waits [B].
  uint64_t cycles() const {
    if (!double_buffered) return matrices * (in_flits() + out_rows);
    return in_flits() + (matrices - 1) * (in_flits() > out_rows ? in_flits() : out_rows) + out_rows;
  }
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
  uint64_t same_bank = 0;  // as in FetchConfig
};

// dma: paired sequencers, no buffer between. Addresses are bytes: HBM and host as they are, data
// memory as
// (cluster * slices + slice) * dm_slice_stride + byte in the slice.
struct DmaConfig {
  struct Loop {
    uint64_t size = 1, read_stride = 0, write_stride = 0;  // bytes
    std::string term = {};                                 // what it walks: "A / 4 % 32"
    uint64_t index_stride = 0;                             // bytes; of a move by an index
  };
  // What one engine does between two start-ups: in each step of the loops one packet, which lies
  // together on both sides.
  struct Segment {
    uint64_t engine = 0;
    uint64_t read_base = 0, write_base = 0;
    uint64_t index_base = 0;  // of a move by an index: where that of the first packet lies
    std::vector<Loop> loops;  // outermost first
    uint64_t packet_bytes = 1;
    std::string packet_term = {};
    uint64_t packets() const;
  };
  // A move by an index tensor (i32): what a packet's index says is added to its address in HBM, of
  // the read (gather) or of the write (scatter). The bases and strides of that side leave the row
  // out. An engine reads all indices of a segment before its first row [A].
  struct Indexed {
    TensorId index = 0;
    AxisId row_axis = 0;  // of the tensor in HBM
    bool scatter = false;
    // Values are bytes from the first row on, from an index in HBM; otherwise numbers of rows, from
    // an index in data memory [B].
    bool scaled = true;
    uint64_t rows = 1, row_bytes = 1;  // that exist; from one to the next
    // The bytes that an index adds; nothing where there is no such row.
    std::optional<uint64_t> displacement(int64_t value) const;
  };
  TensorId from = 0, to = 0;
  std::optional<Indexed> indexed;
  std::vector<Segment> segments;  // those of one engine one after the other, a start-up each
  uint64_t bytes = 0;             // of elements that exist, written
  uint64_t startup = 500;         // cycles, of every segment
  uint64_t index_cycles(const MachineLimits& limits) const {
    return indexed && indexed->scatter && limits.dma_scatter_cycles != 0 ? limits.dma_scatter_cycles
                                                                         : limits.dma_index_cycles;
  }
  // The order of the largest segment, as given or derived.
  Mapping time, packet;
};

// Byte (HBM, host, DM, VRF) or row (TRF) range that a command reads or writes.
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
  uint64_t fetch_accesses = 0, lookups = 0, flits = 0, packets = 0, trf_reads = 0, output_flits = 0,
           writes = 0;
  uint64_t vector_steps = 0;
  uint64_t transpose = 0;  // cycles of the Transpose Engine
  uint64_t switch_hops = 0;
  // dma: cycles of the busiest engine, and of the busiest DMN, for its share of the requests.
  uint64_t dma_requests = 0, dmn = 0;
  uint64_t pcie = 0;  // dma: cycles of its bytes on PCIe
  uint64_t overhead = 0;
  uint64_t cycles = 0;   // overhead + the largest of the above
  std::string bound_by;  // "fetch reads", "table lookup", "switch hops", "flits", "packets", "TRF
                         // reads", "output flits", "vector steps", "transpose", "writes", "dma
                         // requests", "dmn", "pcie"
};

struct Command {
  CommandId id = 0;
  Context context = Context::kMain;
  SourceLocation where;
  std::string label;        // "a_dm x b_trf -> c_dm"
  std::string kind;         // "main", "sub", "dma"
  uint64_t overhead = 263;  // dma: the delay alone, a start-up of an engine contains the rest

  std::optional<DmaConfig> dma;      // then nothing below
  std::optional<FetchConfig> fetch;  // exactly one of fetch and stream
  std::optional<StreamEntryConfig> stream;
  StreamShape source;  // shape of the items that enter (after fetch / stream)
  std::optional<TableLookupConfig> table_lookup;
  std::optional<FetchCastConfig> fetch_cast;
  std::optional<FetchZeroPointConfig> fetch_zero_point;
  std::optional<SwitchConfig> switching;
  std::optional<CollectConfig> collect;
  std::optional<ToTrfConfig> to_trf;
  std::optional<ToVrfConfig> to_vrf;
  std::optional<OuterConfig> outer;
  std::optional<PacketReduceConfig> packet_reduce;
  std::optional<TimeReduceConfig> time_reduce;
  std::optional<LaneFoldConfig> lane_fold;
  std::optional<VectorConfig> vector;
  std::optional<CastConfig> cast;
  std::optional<TransposeConfig> transpose;
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
  // A chain that only moves a reshaped view: what was never written stays so in what it writes.
  bool carries_poison = false;
  // It keeps a bank of the data memory for longer than a DMA may wait, as the mappings tell.
  bool starves_dma = false;
};

// The unit behind whose last item a command of main only drains: where that overlaps what follows
// (MachineLimits::overlap_drain), the command ends there. It ends with its last write or store
// (kLanding) where the way to memory is all there is to it, and in sub and dma.
enum class Pace : uint8_t { kLanding, kSwitch, kContraction, kVector, kInterSlice };
Pace pace_of(const Command& command);

// Cycles from the begin of a command of main or sub to its first access, by its class.
uint64_t overhead_of(const Command& command, const MachineLimits& limits);

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
