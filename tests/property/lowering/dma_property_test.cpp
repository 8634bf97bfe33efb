// SPDX-License-Identifier: Apache-2.0
// Random moves between HBM and data memory: every byte that the segments move, against where the
// mappings say that each element lies.
#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/property/mapping/random_mapping.h"
#include "tests/support/lowering_fixture.h"
#include "tests/support/written_digits.h"

namespace rngdsim {
namespace {

using test::listed_terms;
using test::size_of;
using test::WrittenDigit;

// Few slices, so that all of them can be looked at: an engine serves 2 x 2 of them.
MachineLimits small_chip() {
  MachineLimits limits;
  limits.slices = 16;
  limits.dmn_slices = 2;
  return limits;
}

// An axis, perhaps padded, in one to three digits, outermost first.
std::vector<WrittenDigit> digits_of_axis(const std::string& name, uint64_t size, bool may_pad) {
  static const char* const kKinds[] = {"#", "#", "#{!}"};
  std::string whole = name;
  if (may_pad && uniform(0, 1) == 0) {
    const uint64_t padded = uniform(0, 1) == 0 ? (size + 3) / 4 * 4 : size + uniform(0, 3);
    if (padded > size) whole = fmt::format("{} {} {}", name, kKinds[uniform(0, 2)], padded);
    size = padded;
  }
  std::vector<WrittenDigit> digits;
  uint64_t below = 1;
  for (uint64_t left = size, n = uniform(1, 3); left > 1; --n) {
    const uint64_t part = n == 1 ? left : divisor(left);
    if (part == 1 && n > 1) continue;
    std::string text = whole;
    if (below > 1) text += fmt::format(" / {}", below);
    if (part < left) text += fmt::format(" % {}", part);
    digits.insert(digits.begin(), {text, part});
    below *= part;
    left /= part;
  }
  return digits;
}

// `inner`: an axis that stays innermost.
std::string random_layout(const std::vector<std::pair<std::string, uint64_t>>& axes,
                          const std::string& inner, bool dm, bool may_pad) {
  std::vector<WrittenDigit> element, slice, cluster;
  for (const auto& [name, size] : axes) {
    for (const WrittenDigit& digit : digits_of_axis(name, size, may_pad)) {
      const uint64_t where = dm ? uniform(0, 3) : 0;
      if (where == 3 && cluster.empty() && digit.size == 2) {
        cluster.push_back(digit);
      } else if (where >= 2 && size_of(slice) * digit.size <= 16) {
        slice.insert(slice.begin() + static_cast<ptrdiff_t>(uniform(0, slice.size())), digit);
      } else {
        element.insert(element.begin() + static_cast<ptrdiff_t>(uniform(0, element.size())), digit);
      }
    }
  }
  std::string text = listed_terms(element);
  if (!inner.empty()) text += ", " + inner;
  text = fmt::format("element: \"{}\"", text);
  if (!dm) return text;
  return text + fmt::format(", slice: \"[{}] # 16\", cluster: \"[{}] # 2\"", listed_terms(slice),
                            listed_terms(cluster));
}

// The places of a tensor's elements: bits of address, in the order of the positions.
template <typename Visit>
void for_each_position(const Program& program, const TensorVersion& tensor, Visit&& visit) {
  const Mapping all = Mapping::concat({tensor.cluster, tensor.slice, tensor.element});
  const uint64_t elements = tensor.element.size(), slices = tensor.slice.size();
  const auto bits = static_cast<uint64_t>(memory_bits(tensor.dtype));
  for (uint64_t i = 0; i < all.size(); ++i) {
    uint64_t at = 8 * tensor.address + i % elements * bits;
    if (tensor.memory == MemoryKind::kDm) {
      const uint64_t slice = i / elements % slices + i / elements / slices * 16;
      at += slice * program.limits.dm_slice_stride * 8;
    }
    visit(at, all.cell(i, program.axes));
  }
}

using Index = std::vector<std::pair<AxisId, uint64_t>>;

Index projected(const Index& index, const std::vector<AxisId>& axes) {
  Index result;
  for (const auto& entry : index) {
    if (std::find(axes.begin(), axes.end(), entry.first) != axes.end()) result.push_back(entry);
  }
  return result;
}

// Byte written -> byte it came from; every byte that is written twice.
struct Moved {
  std::map<uint64_t, uint64_t> from;
  std::set<uint64_t> twice;
};

void check_engine(const Program& program, const DmaConfig::Segment& segment, uint64_t read,
                  uint64_t write, const Command& command) {
  const bool from_dm = program.tensors[command.dma->from].memory == MemoryKind::kDm;
  const bool to_dm = program.tensors[command.dma->to].memory == MemoryKind::kDm;
  const uint64_t pair = 2 * program.limits.dmn_slices * program.limits.dm_slice_stride;
  if (from_dm) RC_ASSERT(read / pair == segment.engine);
  if (!from_dm && to_dm) RC_ASSERT(write / pair == segment.engine);
  if (!from_dm && !to_dm) RC_ASSERT(segment.engine == 0U);
}

Moved walk(const Program& program, const Command& command) {
  Moved moved;
  for (const DmaConfig::Segment& segment : command.dma->segments) {
    RC_ASSERT(segment.loops.size() + (segment.packet_bytes > 1 ? 1 : 0) <= 9U);
    RC_ASSERT(segment.packet_bytes <= program.limits.dma_packet_bytes);
    for (uint64_t p = 0; p < segment.packets(); ++p) {
      uint64_t read = segment.read_base, write = segment.write_base, rest = p;
      for (size_t k = segment.loops.size(); k-- > 0;) {
        const DmaConfig::Loop& loop = segment.loops[k];
        read += rest % loop.size * loop.read_stride;
        write += rest % loop.size * loop.write_stride;
        rest /= loop.size;
      }
      check_engine(program, segment, read, write, command);
      for (uint64_t b = 0; b < segment.packet_bytes; ++b) {
        if (!moved.from.emplace(write + b, read + b).second) moved.twice.insert(write + b);
      }
    }
  }
  return moved;
}

// Every live byte exactly once, from a place that holds the same index; no bottom padding; nothing
// outside of the tensor.
void check_move(const Program& program, const Command& command) {
  const TensorVersion& from = program.tensors[command.dma->from];
  const TensorVersion& to = program.tensors[command.dma->to];
  std::map<Index, std::set<uint64_t>> places;
  for_each_position(program, from, [&](uint64_t at, const Cell& cell) {
    if (cell.live) places[projected(cell.index, from.logical)].insert(at);
  });
  const Moved moved = walk(program, command);
  const uint64_t bytes = static_cast<uint64_t>(memory_bits(to.dtype)) / 8;
  uint64_t live = 0, written = 0;
  for_each_position(program, to, [&](uint64_t at, const Cell& cell) {
    for (uint64_t b = 0; b < bytes; ++b) {
      const auto source = moved.from.find(at / 8 + b);
      if (source != moved.from.end()) ++written;
      if (!cell.live && cell.pad == PadKind::kBottom) RC_ASSERT(source == moved.from.end());
      if (!cell.live) continue;
      ++live;
      RC_ASSERT(source != moved.from.end());
      RC_ASSERT(moved.twice.count(at / 8 + b) == 0U);
      const auto found = places.find(projected(cell.index, from.logical));
      RC_ASSERT(found != places.end());
      RC_ASSERT(found->second.count(8 * (source->second - b)) == 1U);
    }
  });
  RC_ASSERT(written == moved.from.size());
  RC_ASSERT(command.dma->bytes == live);
}

struct Tally {
  uint64_t lowered = 0, in_several = 0, refused = 0;
};

void random_move(bool from_dm, bool to_dm, Tally& tally) {
  std::vector<std::pair<std::string, uint64_t>> axes;
  static const uint64_t kSizes[] = {2, 3, 4, 5, 6, 8, 12, 15, 16};
  for (const char* name : {"A", "B", "C"}) axes.emplace_back(name, kSizes[uniform(0, 8)]);
  if (uniform(0, 2) == 0) axes.pop_back();
  const bool dm = from_dm || to_dm;
  // Data memory wants 8 bytes together: mostly those of an axis of their own.
  const std::string inner = dm && uniform(0, 7) != 0 ? "P" : uniform(0, 1) == 0 ? "P" : "";
  const std::string dtype = uniform(0, 1) == 0 ? "i8" : "bf16";
  auto wide = axes;
  if (uniform(0, 3) == 0) wide.emplace_back("R", 2);  // replicas
  std::string axes_text = "R: 2";
  for (const auto& [name, size] : axes) axes_text += fmt::format(", {}: {}", name, size);
  const std::string text = fmt::format(
      "kernel: k\naxes: {{{}, P: 8}}\ntensors:\n  x: {{memory: {}, dtype: {}, {}}}\nprogram:\n"
      "  - dma: {{from: x, to: y, memory: {}, {}}}\n",
      axes_text, from_dm ? "dm" : "hbm", dtype, random_layout(axes, inner, from_dm, true),
      to_dm ? "dm" : "hbm", random_layout(wide, inner, to_dm, true));
  const LoweredKernel kernel = lower_text(text, small_chip());
  RC_LOG(text);
  RC_LOG(kernel.diagnostics.render());
  if (kernel.diagnostics.has_errors()) {
    ++tally.refused;
    const std::string errors = kernel.errors();
    const bool rule = errors.find("needs multiples of 8") != std::string::npos ||
                      errors.find("without a common refinement") != std::string::npos ||
                      errors.find("loops and a packet") != std::string::npos;
    RC_ASSERT(rule);
    return;
  }
  ++tally.lowered;
  if (kernel.command(0).dma->segments.size() > 1) ++tally.in_several;
  check_move(kernel.program, kernel.command(0));
}

// Most moves are lowered, many in several segments: the property says something.
void check_moves(bool from_dm, bool to_dm) {
  Tally tally;
  EXPECT_TRUE(rc::check([&] { random_move(from_dm, to_dm, tally); }));
  EXPECT_GT(tally.lowered, tally.refused);
  EXPECT_GT(tally.in_several, tally.lowered / 10);
}

TEST(DmaMoves, FromHbmToHbm) { check_moves(false, false); }
TEST(DmaMoves, FromHbmToDm) { check_moves(false, true); }
TEST(DmaMoves, FromDmToHbm) { check_moves(true, false); }
TEST(DmaMoves, FromDmToDm) { check_moves(true, true); }

}  // namespace
}  // namespace rngdsim
