// SPDX-License-Identifier: Apache-2.0
// The kernel file as typed data that remembers its places. No rule of the hardware is applied here:
// `load_kernel` checks keys, types and names; mappings stay text until lowering parses them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/sweep.h"
#include "config/vector_decl.h"
#include "numeric/dtype.h"
#include "support/diagnostic.h"

namespace rngdsim {

// The text of a mapping expression; `where` is the place of its first character.
using MappingText = Located<std::string>;

// How a declared tensor or stream is filled. Values belong to the logical tensor: its axes in the
// order of `axes:`, last axis fastest, whatever the layout.
struct InitSpec {
  enum class Kind { kNone, kZero, kConstant, kIota, kRandom, kValues, kNpy };
  Kind kind = Kind::kNone;  // kNone: left unwritten (poison)
  double constant = 0;
  double start = 0, step = 1;  // kIota
  uint64_t seed = 0;           // kRandom
  double low = -1, high = 1;   // kRandom
  std::vector<double> values;  // kValues
  std::string file;            // kNpy, relative to the kernel file
  SourceLocation where;
};

enum class MemoryKind { kHbm, kDm, kTrf, kVrf, kHost };
const char* name(MemoryKind memory);  // "hbm", "dm", "trf", "vrf", "host"

struct TensorDecl {
  std::string name;
  SourceLocation where;
  MemoryKind memory = MemoryKind::kDm;
  DType dtype = DType::kBF16;
  std::optional<MappingText> chip, cluster, slice, lane, element;  // absent: not given
  std::optional<Located<uint64_t>> address;                        // bytes in the slice or in HBM
  std::optional<Located<std::string>> region;                // TRF: full, first_half, second_half
  std::optional<std::vector<Located<std::string>>> logical;  // axis names
  InitSpec init;
};

// `stream: {...}`: a command that begins from a stream instead of a tensor.
struct StreamDecl {
  SourceLocation where;
  DType dtype = DType::kBF16;
  std::optional<MappingText> chip, cluster, slice, time, packet;
  InitSpec init;
};

// One entry of a `view:`. A tile: the positions `start` .. `start + length - 1` of a digit of an
// axis. A reshape: other mappings of the same positions. A pad, an unpad: the Element with its
// outermost padding, or without.
struct TileDecl {
  enum class Kind : uint8_t { kTile, kReshape, kPad, kUnpad };
  Kind kind = Kind::kTile;
  MappingText axis;  // kTile: a digit, "K / 64"
  Located<uint64_t> start;
  Located<uint64_t> length;
  // kReshape: what is left out stays; kPad, kUnpad: `element` alone.
  std::optional<MappingText> chip, cluster, slice, element;
  SourceLocation where;
};

// The sizes of a `switch` stage that the file gives.
struct SwitchDecl {
  std::optional<Located<std::string>> kind;
  std::optional<Located<uint64_t>> slice1, slice0, time0, ring_size;
};

// One entry of `stages:`. Which keys a stage accepts is checked by `load_kernel`; all optional
// fields that a stage does not accept are empty.
struct StageDecl {
  std::string name;      // "fetch", "contract_outer", ...
  SourceLocation where;  // of the name
  std::optional<MappingText> time, packet, lane, element, slice;
  std::optional<Located<DType>> dtype;
  std::optional<Located<std::string>> to;      // to_trf, to_vrf, commit
  std::optional<Located<std::string>> with;    // contract_outer
  std::optional<Located<std::string>> region;  // to_trf
  std::optional<Located<std::string>> mode;    // contract_lane: interleaved | sequential
  std::optional<Located<bool>> relu;           // commit_cast
  std::optional<Located<int64_t>> zero_point;  // fetch_zero_point_sub
  std::optional<Located<std::string>> label;   // vector_intra_slice_reduce: an axis
  std::vector<Located<std::string>> track;     // vector_intra_slice_reduce: axes
  SwitchDecl switching;                        // switch
  VectorStageDecl vector;                      // of a stage of the Vector Engine
  std::vector<TileDecl> view;                  // commit: writes into this tile of `to`
};

// `dma: {...}`: a move between two memories; `from` is that of the command.
struct DmaDecl {
  std::optional<Located<std::string>> to;
  MemoryKind memory = MemoryKind::kDm;  // of `to`: kHbm, kDm or kHost
  std::optional<MappingText> chip, cluster, slice, element;
  std::optional<MappingText> time, packet;                // the order of the stream
  std::optional<std::vector<Located<uint64_t>>> engines;  // numbers of DMA engines
  std::optional<Located<uint64_t>> address;               // bytes in the slice or in HBM
  // Gather or scatter: the tensor that chooses the rows, and whether its values are bytes; both or
  // none.
  std::optional<Located<std::string>> index;
  std::optional<Located<bool>> scaled;
  // Writes into this tile of `to`, which exists; then memory, dimensions and address are its own.
  std::vector<TileDecl> to_view;
  // One of the moves of a shuffle: what cluster `source` of `from` holds to cluster `target` of
  // `to`, which has the dimensions of `from`. The first one makes it.
  struct Shuffle {
    enum class Of : uint8_t { kCluster, kChip };
    Of of = Of::kCluster;
    SourceLocation where;        // of the pattern
    size_t length = 0;           // of the pattern
    uint64_t target = 0;         // place in the pattern
    Located<uint64_t> source{};  // what stands there
  };
  std::optional<Shuffle> shuffle;
};

struct CommandDecl {
  enum class Context { kMain, kSub, kDma };
  Context context = Context::kMain;
  SourceLocation where;
  std::optional<DmaDecl> dma;                // kDma; then no stages
  std::optional<Located<std::string>> from;  // exactly one of from and stream is set
  // `from: [x, y], interleave: I`: both are set, or none.
  std::optional<Located<std::string>> second, interleave;
  std::vector<TileDecl> view;         // of `from`: reads this tile of it; empty: all
  std::vector<TileDecl> second_view;  // the same of `second`
  std::optional<StreamDecl> stream;
  // `memset:`, the Element that it fills. It is a sub command whose stream enters at the trim.
  std::optional<MappingText> memset;
  std::vector<StageDecl> stages;
  uint64_t delay = 0;  // cycles added to the command overhead
  std::optional<std::string> label;
  // The variables of the `repeat:` commands around it and their values, outermost first.
  std::vector<std::pair<std::string, uint64_t>> variables;
};

// `expect: {c: {sum_over: [K], product_of: [a, b]}}`
struct ExpectDecl {
  Located<std::string> tensor;
  std::vector<Located<std::string>> sum_over;    // axis names
  std::vector<Located<std::string>> product_of;  // one or two tensor names
};

struct AxisDecl {
  std::string name;
  uint64_t size = 0;
  SourceLocation where;
};

struct AliasDecl {
  std::string name;
  MappingText text;
};

struct ConstantDecl {
  std::string name;
  uint64_t value = 0;
  SourceLocation where;
};

struct KernelDecl {
  std::string file;
  std::string sha256;  // of the file's bytes, lower-case hex
  std::string name;
  std::string description;
  std::vector<AxisDecl> axes;
  std::vector<ConstantDecl> constants;
  std::vector<AliasDecl> mappings;
  std::vector<TensorDecl> tensors;
  std::vector<CommandDecl> program;
  std::vector<ExpectDecl> expect;
  SweepDecl sweep;
  SweepPoint point;  // the values of its parameters that all of the above was read with
  // Says which constraint does not hold there. The rest has been read nevertheless.
  std::optional<Diagnostic> excluded;
  // What there is beside errors, so that the rules of the hardware can be applied to the rest of a
  // faulty file: tensors and commands with errors are left out above, their names (and those that
  // such commands write) are listed here.
  std::vector<std::string> faulty_tensors;
  // True where axes, constants or mappings could not be read: nothing can be said about the rest.
  bool names_faulty = true;
};

// Reads and checks a kernel file. All errors are added to `diagnostics`; the result is complete
// only if there were none. Never throws for bad input.
KernelDecl load_kernel(const std::string& path, Diagnostics& diagnostics,
                       const SweepChoice& choice = {});
// The same from memory; `file` is the name shown in diagnostics.
KernelDecl parse_kernel(const std::string& text, const std::string& file, Diagnostics& diagnostics,
                        const SweepChoice& choice = {});

}  // namespace rngdsim
