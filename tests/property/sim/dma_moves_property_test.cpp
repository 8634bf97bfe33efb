// SPDX-License-Identifier: Apache-2.0
// Random moves on the whole machine, by the definition of a move: the value at a logical index is
// the same before and after, wherever it lies (docs/mapping.md). The bytes are read out of the
// memories and placed by enumerating the mappings: neither the segments that lowering derived nor
// the reference take part.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "memory/data_memory.h"
#include "memory/hbm_unit.h"
#include "memory/host_unit.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "tests/support/small_topology.h"
#include "tests/support/written_digits.h"

namespace rngdsim {
namespace {

using test::listed_terms;
using test::size_of;
using test::WrittenDigit;

// The same cases in every run. To look further: RC_PARAMS="max_success=10000 seed=7".
const int kMovesAPair = setenv("RC_PARAMS", "max_success=80 seed=1", 0);

uint64_t drawn(uint64_t low, uint64_t high) {  // both included
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<uint64_t>(low, high + 1));
}

// Few slices, but all 8 engines: 2 x 2 of them each.
constexpr uint64_t kClusterSlices = 16;

TopologyDecl moves_topology() {
  TopologyDecl topology = test::small_topology(2, kClusterSlices);
  topology.machine.push_back({"dmn_slices", {}, {2.0, "", "", {}}});
  return topology;
}

// ---- Random kernels ---------------------------------------------------------------------------

struct MovedAxis {
  std::string name;
  uint64_t size = 1;
  uint64_t zero_padded = 0;  // positions with the same `#{0}` in every tensor; 0: without
};

// What the tensors of a kernel have in common.
struct MovedTensor {
  std::string dtype;
  uint64_t bits = 8;  // of an element
  std::vector<MovedAxis> axes;
  std::string inner;  // an axis that stays innermost, whole 8 bytes; padding; or none
  uint64_t inner_size = 1;
};

// An axis, perhaps padded, in one to three digits, outermost first.
std::vector<WrittenDigit> random_digits(const MovedAxis& axis) {
  if (axis.zero_padded != 0) {
    return {{fmt::format("{} #{{0}} {}", axis.name, axis.zero_padded), axis.zero_padded}};
  }
  std::string whole = axis.name;
  uint64_t size = axis.size;
  if (drawn(0, 2) == 0) {
    static const char* const kKinds[] = {"#", "#", "#{!}"};
    const uint64_t padded = drawn(0, 1) == 0 ? (size + 3) / 4 * 4 : size + drawn(1, 3);
    if (padded > size) whole = fmt::format("{} {} {}", whole, kKinds[drawn(0, 2)], padded);
    size = padded;
  }
  std::vector<WrittenDigit> digits;
  uint64_t below = 1;
  for (uint64_t left = size, n = drawn(1, 3); left > 1; n = n > 1 ? n - 1 : 1) {
    const uint64_t part = n == 1 ? left : drawn(2, left);
    if (left % part != 0) continue;
    std::string text = whole;
    if (below > 1) text += fmt::format(" / {}", below);
    if (part < left) text += fmt::format(" % {}", part);
    digits.insert(digits.begin(), {text, part});
    below *= part;
    left /= part;
  }
  return digits;
}

void insert_anywhere(std::vector<WrittenDigit>& digits, const WrittenDigit& digit) {
  digits.insert(digits.begin() + static_cast<std::ptrdiff_t>(drawn(0, digits.size())), digit);
}

// `replica`: the text of a digit that adds copies, or "".
std::string move_layout(const MovedTensor& tensor, MemoryKind memory, const std::string& replica) {
  const bool dm = memory == MemoryKind::kDm;
  std::vector<WrittenDigit> all, element, slice, cluster;
  for (const MovedAxis& axis : tensor.axes) {
    for (const WrittenDigit& digit : random_digits(axis)) all.push_back(digit);
  }
  if (!replica.empty()) all.push_back({replica, 2});
  for (const WrittenDigit& digit : all) {
    const uint64_t where = dm ? drawn(0, 3) : 0;
    if (where == 3 && cluster.empty() && digit.size == 2) {
      cluster.push_back(digit);
    } else if (where >= 2 && size_of(slice) * digit.size <= kClusterSlices) {
      insert_anywhere(slice, digit);
    } else {
      insert_anywhere(element, digit);
    }
  }
  if (!tensor.inner.empty()) element.push_back({tensor.inner, tensor.inner_size});
  const std::string text =
      fmt::format("memory: {}, element: \"{}\"", name(memory), listed_terms(element));
  if (!dm) return text;
  return text + fmt::format(", slice: \"[{}] # {}\", cluster: \"[{}] # 2\"", listed_terms(slice),
                            kClusterSlices, listed_terms(cluster));
}

MovedTensor random_tensor() {
  static const std::pair<const char*, uint64_t> kTypes[] = {
      {"i4", 4}, {"i8", 8}, {"f8e4m3", 8}, {"bf16", 16}, {"i16", 16}, {"f32", 32}, {"i32", 32}};
  static const uint64_t kSizes[] = {2, 2, 3, 4, 5, 6, 8, 12, 15};
  // Of the innermost axis: one access, no power of two, a line and more, more than a packet.
  static const uint64_t kInnerBytes[] = {8, 8, 24, 64, 200, 256, 304, 4104};
  MovedTensor tensor;
  std::tie(tensor.dtype, tensor.bits) = kTypes[drawn(0, std::size(kTypes) - 1)];
  const uint64_t inner = kInnerBytes[drawn(0, std::size(kInnerBytes) - 1)];
  const uint64_t kind = drawn(0, 9);
  if (kind == 1) {  // single elements
    tensor.inner = "1 # 16";
    tensor.inner_size = 16;
  } else if (kind != 0) {
    tensor.inner = "P";
    tensor.inner_size = inner * 8 / tensor.bits;
  }
  const uint64_t most = tensor.inner_size * tensor.bits > 8 * 64 ? 1 : 3;
  for (const char* name : {"A", "B", "C"}) {
    if (tensor.axes.size() == most) break;
    tensor.axes.push_back({name, kSizes[drawn(0, std::size(kSizes) - 1)], 0});
  }
  if (drawn(0, 5) == 0) {
    MovedAxis& axis = tensor.axes[drawn(0, tensor.axes.size() - 1)];
    axis.zero_padded = axis.size + drawn(1, 4);
  }
  return tensor;
}

// Time and Packet as a user may give them: axes in any order, the innermost in the packet.
std::string random_stream(const MovedTensor& tensor, const std::string& replica) {
  if (tensor.inner != "P" || drawn(0, 3) != 0) return "";
  std::vector<WrittenDigit> time;
  for (const MovedAxis& axis : tensor.axes) {
    if (axis.zero_padded != 0) return "";
    insert_anywhere(time, {axis.name, axis.size});
  }
  if (!replica.empty()) insert_anywhere(time, {replica, 2});
  return fmt::format(", time: \"{}\", packet: \"P\"", listed_terms(time));
}

// Up to 8 engines in any order, or nothing.
std::string random_engines() {
  if (drawn(0, 2) != 0) return "";
  std::vector<uint64_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
  std::string text;
  for (uint64_t n = drawn(1, 5); n > 0; --n) {
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(drawn(0, all.size() - 1));
    text += fmt::format("{}{}", text.empty() ? "" : ", ", *at);
    all.erase(at);
  }
  return fmt::format(", engines: [{}]", text);
}

std::string random_moves(const std::vector<MemoryKind>& memories) {
  const MovedTensor tensor = random_tensor();
  std::string axes = "R: 2, S: 2";
  for (const MovedAxis& axis : tensor.axes) axes += fmt::format(", {}: {}", axis.name, axis.size);
  if (tensor.inner == "P") axes += fmt::format(", P: {}", tensor.inner_size);
  // The source may hold copies already: on an axis that its values do not depend on, or a number.
  std::string logical;
  const std::string copies = drawn(0, 3) != 0 ? "" : drawn(0, 1) == 0 ? "R" : "2";
  if (copies == "R") {
    for (const MovedAxis& axis : tensor.axes) {
      logical += (logical.empty() ? "" : ", ") + axis.name;
    }
    if (tensor.inner == "P") logical += ", P";
    logical = fmt::format(", logical: [{}]", logical);
  }
  std::string text = fmt::format(
      "kernel: moves\naxes: {{{}}}\ntensors:\n  t0: {{dtype: {}, {}{}, init: {{random: {{seed: {}"
      "}}}}}}\nprogram:\n",
      axes, tensor.dtype, move_layout(tensor, memories[0], copies), logical, drawn(1, 1000));
  for (size_t i = 1; i < memories.size(); ++i) {
    const std::string replica = drawn(0, 3) != 0 ? "" : drawn(0, 1) == 0 ? "S" : "R";
    text += fmt::format("  - dma: {{from: t{}, to: t{}, {}{}{}}}\n", i - 1, i,
                        move_layout(tensor, memories[i], replica), random_stream(tensor, replica),
                        random_engines());
  }
  return text;
}

// ---- What the memories hold -------------------------------------------------------------------

using LogicalIndex = std::vector<std::pair<AxisId, uint64_t>>;

// Looks into the memories when moves begin and end.
class MoveWatch final : public RunObserver {
 public:
  void attached(const Program& program, const std::vector<std::unique_ptr<Unit>>& units,
                const std::vector<std::unique_ptr<LinkBase>>&) override {
    program_ = &program;
    for (const auto& unit : units) {
      if (auto* dm = dynamic_cast<DataMemory*>(unit.get())) data_memory_ = dm;
      if (auto* hbm = dynamic_cast<HbmUnit*>(unit.get())) hbm_ = &hbm->storage();
      if (auto* host = dynamic_cast<HostUnit*>(unit.get())) host_ = &host->storage();
    }
    const TensorVersion& first = program.tensors[program.commands[0].dma->from];
    for_each_place(first, [&](const Place& place, const Cell& cell) {
      if (!cell.live) return;
      const auto element = read(first, place);
      const auto [known, is_new] =
          values_.emplace(logical_index(cell, first), element.valid ? element.bits : 0);
      if (!element.valid) fault(first, place, "has no value before the moves");
      if (known->second != element.bits) fault(first, place, "differs from another copy of it");
    });
  }
  void command_ended(CommandId id, Cycle) override { compare(id); }
  // The end of the last one is that of the run.
  void finished(Cycle) override { compare(static_cast<CommandId>(program_->commands.size() - 1)); }
  void cycle_begins(Cycle) override {}
  void command_began(CommandId, Cycle) override {}
  void pushed(uint32_t, Cycle, Cycle, const ItemTag&) override {}
  void popped(uint32_t, Cycle) override {}
  void refused(uint32_t, Cycle) override {}
  void touched(uint32_t, Cycle) override {}

  const std::string& fault() const { return fault_; }  // the first; empty: none
  uint64_t moves() const { return moves_; }
  uint64_t compared() const { return compared_; }

 private:
  struct Place {
    uint32_t slice = 0;
    uint64_t bit = 0;
  };

  void compare(CommandId id) {
    const TensorVersion& to = program_->tensors[program_->commands[id].dma->to];
    ++moves_;
    for_each_place(to, [&](const Place& place, const Cell& cell) {
      const auto element = read(to, place);
      if (cell.live) {
        ++compared_;
        const auto wanted = values_.find(logical_index(cell, to));
        if (wanted == values_.end()) return fault(to, place, "has an index that did not exist");
        if (!element.valid) return fault(to, place, "was not written");
        if (wanted->second != element.bits) fault(to, place, "holds another value");
      } else if (cell.pad == PadKind::kZero) {
        if (!element.valid || element.bits != 0)
          fault(to, place, "is padded with zeros, but not 0");
      } else if (cell.pad == PadKind::kBottom && id == 0) {
        if (element.valid) fault(to, place, "must never be written");
      }
    });
  }

  template <typename Visit>
  void for_each_place(const TensorVersion& tensor, Visit&& visit) const {
    const Mapping all = Mapping::concat({tensor.cluster, tensor.slice, tensor.element});
    const uint64_t elements = tensor.element.size(), slices = tensor.slice.size();
    const auto bits = static_cast<uint64_t>(memory_bits(tensor.dtype));
    for (uint64_t i = 0; i < all.size(); ++i) {
      const uint64_t cluster = i / elements / slices;
      const uint64_t slice = cluster * kClusterSlices + i / elements % slices;
      const bool dm = tensor.memory == MemoryKind::kDm;
      if (dm && cluster >= program_->limits.clusters) continue;  // the run needs fewer of them
      visit(Place{static_cast<uint32_t>(dm ? slice : 0), 8 * tensor.address + i % elements * bits},
            all.cell(i, program_->axes));
    }
  }

  SlicedMemory::Element read(const TensorVersion& tensor, const Place& place) const {
    if (tensor.memory == MemoryKind::kHbm) return hbm_->peek(place.bit, tensor.dtype);
    if (tensor.memory == MemoryKind::kHost) return host_->peek(place.bit, tensor.dtype);
    return data_memory_->storage().peek(place.slice, place.bit, tensor.dtype);
  }

  static LogicalIndex logical_index(const Cell& cell, const TensorVersion& tensor) {
    LogicalIndex index;
    for (const auto& [axis, at] : cell.index) {
      const bool kept =
          std::find(tensor.logical.begin(), tensor.logical.end(), axis) != tensor.logical.end();
      if (kept && at != 0) index.emplace_back(axis, at);
    }
    std::sort(index.begin(), index.end());
    return index;
  }

  void fault(const TensorVersion& tensor, const Place& place, const char* what) {
    if (!fault_.empty()) return;
    fault_ = fmt::format("{}: slice {}, bit {} {}", tensor.name, place.slice, place.bit, what);
  }

  const Program* program_ = nullptr;
  const DataMemory* data_memory_ = nullptr;
  const HbmStorage* hbm_ = nullptr;
  const HbmStorage* host_ = nullptr;
  std::map<LogicalIndex, uint32_t> values_;
  std::string fault_;
  uint64_t moves_ = 0, compared_ = 0;
};

// ---- The property -----------------------------------------------------------------------------

struct MoveTally {
  uint64_t ran = 0, refused = 0, chains = 0, segments = 0, compared = 0, apart = 0;
};

// The same moves with the clusters apart: without skew the same run, with skew the same values.
void check_clusters_apart(const Program& program, const TopologyDecl& topology,
                          const RunResult& together, MoveTally& tally) {
  RunOptions options;
  options.skew = 0;
  RunResult apart;
  try {
    apart = run_program(program, topology, options);
  } catch (const InputError&) {
    return;  // one cluster is used
  }
  ++tally.apart;
  RC_ASSERT(apart.status == RunStatus::kOk);
  RC_ASSERT(apart.commands == together.commands);
  RC_ASSERT(apart.dmas == together.dmas);
  RC_ASSERT(apart.bandwidth == together.bandwidth);
  RC_ASSERT(apart.values == together.values);
  options.skew = drawn(1, 3000);
  apart = run_program(program, topology, options);
  RC_ASSERT(apart.status == RunStatus::kOk);
  RC_ASSERT(apart.values.mismatches == 0u);
  RC_ASSERT(apart.cycles + apart.clusters[0].commands.size() >= *options.skew);
}

// Why a move may be refused, each a rule of docs/hardware.md or docs/mapping.md: writes into data
// memory in whole 8 bytes, both sides cutting an axis at common places, 8 loops, a given packet of
// 4,096 bytes, 4-bit elements in pairs, zero padding that only that of the source provides, a
// packet for each engine.
bool is_documented(const std::string& errors) {
  for (const char* rule : {"needs multiples of 8", "without a common refinement",
                           "loops and a packet", "do not fill bytes", "must be written with zeros",
                           "at most 4,096 bytes", " engines for "}) {
    if (errors.find(rule) != std::string::npos) return true;
  }
  return false;
}

// The program of a kernel; nothing where a documented rule refuses it.
std::optional<Program> lowered_moves(const std::string& text, const TopologyDecl& topology,
                                     MoveTally& tally) {
  RC_LOG(text);
  Diagnostics diagnostics;
  const KernelDecl kernel = parse_kernel(text, "k.yaml", diagnostics);
  const MachineLimits limits = limits_from(topology, diagnostics);
  if (diagnostics.has_errors()) RC_FAIL(diagnostics.render());
  Program program = lower(kernel, limits, diagnostics);
  RC_LOG(diagnostics.render());
  if (!diagnostics.has_errors()) return program;
  RC_ASSERT(is_documented(diagnostics.render()));
  ++tally.refused;
  return std::nullopt;
}

void check_random_moves(const TopologyDecl& topology, MemoryKind from, MemoryKind to,
                        MoveTally& tally) {
  std::vector<MemoryKind> memories = {from, to};
  while (memories.size() < 4 && drawn(0, 2) == 0) {
    memories.push_back(drawn(0, 1) == 0 ? MemoryKind::kHbm : MemoryKind::kDm);
    if (memories[memories.size() - 2] != MemoryKind::kHost && drawn(0, 4) == 0) {
      memories.back() = MemoryKind::kHost;
    }
  }
  const auto lowered = lowered_moves(random_moves(memories), topology, tally);
  if (!lowered) return;
  const Program& program = *lowered;
  MoveWatch watch;
  RunOptions options;
  options.observer = &watch;
  const RunResult result = run_program(program, topology, options);
  RC_ASSERT(watch.fault() == "");
  RC_ASSERT(watch.moves() == program.commands.size());
  RC_ASSERT(result.status == RunStatus::kOk);
  RC_ASSERT(result.failures.empty());
  RC_ASSERT(result.values.mismatches == 0u);
  ++tally.ran;
  check_clusters_apart(program, topology, result, tally);
  tally.compared += watch.compared();
  if (program.commands.size() > 1) ++tally.chains;
  for (const Command& command : program.commands) {
    if (command.dma->segments.size() > 1) ++tally.segments;
  }
}

// By far the most moves run, some in segments, many in chains: the property says something.
void check_moves_between(MemoryKind from, MemoryKind to) {
  const TopologyDecl topology = moves_topology();
  MoveTally tally;
  EXPECT_TRUE(rc::check([&] { check_random_moves(topology, from, to, tally); }));
  EXPECT_GT(tally.ran, 2 * tally.refused);
  EXPECT_GT(tally.chains, tally.ran / 5);
  EXPECT_GT(tally.segments, tally.ran / 20);
  EXPECT_GT(tally.compared, 100 * tally.ran);
  const bool dm = from == MemoryKind::kDm || to == MemoryKind::kDm;
  if (dm) {
    EXPECT_GT(tally.apart, tally.ran / 20);
  }
}

// ---- Tiles to tiles ---------------------------------------------------------------------------

// A tensor with the axis T whole somewhere: in Element, and in data memory perhaps in Slice or, if
// it fits, in Cluster.
std::string tiled_layout(uint64_t tiles, MemoryKind memory) {
  const bool dm = memory == MemoryKind::kDm;
  std::vector<WrittenDigit> element, slice, cluster;
  std::vector<WrittenDigit> all = random_digits({"A", 6, 0});
  for (const WrittenDigit& digit : random_digits({"B", 3, 0})) all.push_back(digit);
  const uint64_t place = dm ? drawn(0, 2) : 0;
  if (place == 2 && tiles == 2) {
    cluster.push_back({"T", tiles});
  } else {
    insert_anywhere(place == 1 ? slice : element, {"T", tiles});
  }
  for (const WrittenDigit& digit : all) {
    const bool fits = size_of(slice) * digit.size <= kClusterSlices;
    insert_anywhere(dm && fits && drawn(0, 1) == 0 ? slice : element, digit);
  }
  element.push_back({"P", 8});
  const std::string text =
      fmt::format("memory: {}, element: \"{}\"", name(memory), listed_terms(element));
  if (!dm) return text;
  return text + fmt::format(", slice: \"[{}] # {}\", cluster: \"[{}] # 2\"", listed_terms(slice),
                            kClusterSlices, listed_terms(cluster));
}

struct TileMove {
  uint64_t from = 0, to = 0, length = 1;
};

std::string tile_moves_text(uint64_t tiles, MemoryKind from, MemoryKind to, bool defined,
                            const std::vector<TileMove>& moves) {
  const std::string init = ", init: {random: {seed: 2}}}\n";
  std::string text = fmt::format(
      "kernel: tiles\naxes: {{T: {}, A: 6, B: 3, P: 8}}\ntensors:\n  x: {{dtype: i8, {}, init: "
      "{{random: {{seed: 1}}}}}}\n",
      tiles, tiled_layout(tiles, from));
  // `before` has the values that y has, in a place of its own.
  text += "  y: {dtype: i8, " + tiled_layout(tiles, to) + (defined ? init : "}\n");
  text += "  before: {dtype: i8, memory: hbm, element: \"T, A, B, P\"" + init + "program:\n";
  for (const TileMove& move : moves) {
    text += fmt::format(
        "  - dma: {{view: {{of: x, axis: T, start: {}, length: {}}}, to: y, to_view: {{axis: T, "
        "start: {}, length: {}}}}}\n",
        move.from, move.length, move.to, move.length);
  }
  return text;
}

const TensorValues& kept_tensor(const RunResult& result, const std::string& name) {
  return *std::find_if(result.tensors.begin(), result.tensors.end(),
                       [&](const TensorValues& tensor) { return tensor.name == name; });
}

// By the definition: index T = to + i of y is index T = from + i of x, all others stay.
void check_tile_moves(const TopologyDecl& topology, MemoryKind from, MemoryKind to,
                      MoveTally& tally) {
  const uint64_t tiles = drawn(0, 2) == 0 ? drawn(3, 5) : 2;
  const bool defined = drawn(0, 1) == 0;
  std::vector<TileMove> moves(drawn(1, 3));
  for (TileMove& move : moves) {
    move.length = drawn(1, tiles);
    move.from = drawn(0, tiles - move.length);
    move.to = drawn(0, tiles - move.length);
  }
  const auto lowered =
      lowered_moves(tile_moves_text(tiles, from, to, defined, moves), topology, tally);
  if (!lowered) return;
  const Program& program = *lowered;
  RunOptions options;
  options.keep = {"x", "y", "before"};
  const RunResult result = run_program(program, topology, options);
  RC_ASSERT(result.status == RunStatus::kOk);
  RC_ASSERT(result.values.mismatches == 0u);
  std::vector<uint32_t> bits = kept_tensor(result, "before").bits;
  std::vector<uint8_t> valid(bits.size(), defined ? 1 : 0);
  const uint64_t tile = bits.size() / tiles;  // T is the first axis
  for (const TileMove& move : moves) {
    for (uint64_t i = 0; i < move.length * tile; ++i) {
      bits[move.to * tile + i] = kept_tensor(result, "x").bits[move.from * tile + i];
      valid[move.to * tile + i] = 1;
    }
  }
  const TensorValues& y = kept_tensor(result, "y");
  RC_ASSERT(y.valid == valid);
  for (uint64_t i = 0; i < bits.size(); ++i) {
    if (valid[i] != 0) RC_ASSERT(y.bits[i] == bits[i]);
  }
  tally.compared += bits.size();
  ++tally.ran;
  check_clusters_apart(program, topology, result, tally);
}

void check_tiles_between(MemoryKind from, MemoryKind to) {
  const TopologyDecl topology = moves_topology();
  MoveTally tally;
  EXPECT_TRUE(rc::check([&] { check_tile_moves(topology, from, to, tally); }));
  EXPECT_GT(tally.ran, 3 * tally.refused);
}

TEST(DmaRandomTiles, HbmToHbm) { check_tiles_between(MemoryKind::kHbm, MemoryKind::kHbm); }
TEST(DmaRandomTiles, HbmToDm) { check_tiles_between(MemoryKind::kHbm, MemoryKind::kDm); }
TEST(DmaRandomTiles, DmToHbm) { check_tiles_between(MemoryKind::kDm, MemoryKind::kHbm); }
TEST(DmaRandomTiles, DmToDm) { check_tiles_between(MemoryKind::kDm, MemoryKind::kDm); }

TEST(DmaRandomMoves, HbmToHbm) { check_moves_between(MemoryKind::kHbm, MemoryKind::kHbm); }
TEST(DmaRandomMoves, HbmToDm) { check_moves_between(MemoryKind::kHbm, MemoryKind::kDm); }
TEST(DmaRandomMoves, DmToHbm) { check_moves_between(MemoryKind::kDm, MemoryKind::kHbm); }
TEST(DmaRandomMoves, DmToDm) { check_moves_between(MemoryKind::kDm, MemoryKind::kDm); }
TEST(DmaRandomMoves, HostToHbm) { check_moves_between(MemoryKind::kHost, MemoryKind::kHbm); }
TEST(DmaRandomMoves, HbmToHost) { check_moves_between(MemoryKind::kHbm, MemoryKind::kHost); }
TEST(DmaRandomMoves, HostToDm) { check_moves_between(MemoryKind::kHost, MemoryKind::kDm); }
TEST(DmaRandomMoves, DmToHost) { check_moves_between(MemoryKind::kDm, MemoryKind::kHost); }

}  // namespace
}  // namespace rngdsim
