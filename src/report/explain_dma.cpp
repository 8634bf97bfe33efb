// SPDX-License-Identifier: Apache-2.0
#include "report/explain_dma.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "report/numbers.h"
#include "report/text_table.h"
#include "support/text.h"

namespace rngdsim {
namespace {

using DmaJson = nlohmann::ordered_json;
using Segment = DmaConfig::Segment;

constexpr size_t kShownSegments = 16;
constexpr size_t kWidth = kReportWidth - 4;  // the block is indented

class DmaExplainer {
 public:
  DmaExplainer(const Program& program, const Command& command)
      : program_(program),
        limits_(program.limits),
        dma_(*command.dma),
        from_(program.tensors[dma_.from]),
        to_(program.tensors[dma_.to]) {}

  std::vector<StageExplanation> explain() const {
    StageExplanation stage;
    stage.label = "dma";
    stage.key = "dma";
    std::set<uint64_t> engines;
    for (const Segment& segment : dma_.segments) engines.insert(segment.engine);
    stage.text =
        fmt::format("{} of {} in {} on {}, {} to {}", count_of(requests(), "request"),
                    count_of(dma_.bytes, "byte"), count_of(dma_.segments.size(), "segment"),
                    count_of(engines.size(), "engine"), name(from_.memory), name(to_.memory));
    if (dma_.indexed) {
      stage.text += fmt::format(", {} by '{}'", kind_text(), index().name);
    }
    stage.block = block();
    stage.json = json();
    stage.why = why();
    return {stage};
  }

 private:
  const char* kind_text() const { return dma_.indexed->scatter ? "scatter" : "gather"; }
  const TensorVersion& index() const { return program_.tensors[dma_.indexed->index]; }

  uint64_t requests_of(const Segment& segment) const {
    const uint64_t unit = limits_.dma_request_bytes;
    return segment.packets() * ((segment.packet_bytes + unit - 1) / unit);
  }
  uint64_t requests() const {
    uint64_t sum = 0;
    for (const Segment& segment : dma_.segments) sum += requests_of(segment);
    return sum;
  }

  // "1,024", "slice_stride", "3 slice_stride", "DMN_stride"
  std::string stride_text(uint64_t stride, MemoryKind memory) const {
    const uint64_t slice = limits_.dm_slice_stride, dmn = slice * limits_.dmn_slices;
    if (memory != MemoryKind::kDm || stride < slice) return group_digits(stride);
    const bool whole = stride % dmn == 0;
    const uint64_t count = stride / (whole ? dmn : slice);
    return (count == 1 ? "" : group_digits(count) + " ") + (whole ? "DMN_stride" : "slice_stride");
  }

  std::string base_text(uint64_t base, MemoryKind memory) const {
    if (memory == MemoryKind::kHbm) return "HBM @ " + group_digits(base);
    if (memory == MemoryKind::kHost) return "host @ " + group_digits(base);
    const uint64_t slice = base / limits_.dm_slice_stride;
    return fmt::format("DM @ cluster {}, DMN {}, slice {}, byte {}", slice / limits_.slices,
                       slice % limits_.slices / limits_.dmn_slices, slice % limits_.dmn_slices,
                       group_digits(base % limits_.dm_slice_stride));
  }

  // "[ A -> 8 : 2,048, C -> 256 : 1 ] : 256, HBM @ 0"
  std::string sequencer_text(const Segment& segment, bool write) const {
    const MemoryKind memory = write ? to_.memory : from_.memory;
    std::vector<std::string> loops;
    for (const DmaConfig::Loop& loop : segment.loops) {
      loops.push_back(
          fmt::format("{} -> {} : {}", loop.term, group_digits(loop.size),
                      stride_text(write ? loop.write_stride : loop.read_stride, memory)));
    }
    loops.push_back(
        fmt::format("{} -> {} : 1", segment.packet_term, group_digits(segment.packet_bytes)));
    const bool chosen = dma_.indexed && dma_.indexed->scatter == write;
    return fmt::format(
        "[ {} ] : {}, {}{}", fmt::join(loops, ", "), group_digits(segment.packet_bytes),
        base_text(write ? segment.write_base : segment.read_base, memory), chosen ? " + row" : "");
  }

  // "[ G % 2 -> 2 : 4 ] : 4, HBM @ 786,432": where the index of each packet lies.
  std::string index_text(const Segment& segment) const {
    std::vector<std::string> loops;
    for (const DmaConfig::Loop& loop : segment.loops) {
      if (loop.index_stride == 0) continue;
      loops.push_back(fmt::format("{} -> {} : {}", loop.term, group_digits(loop.size),
                                  stride_text(loop.index_stride, index().memory)));
    }
    return fmt::format("[ {} ] : {}, {}",
                       loops.empty() ? "1 -> 1 : 0" : fmt::format("{}", fmt::join(loops, ", ")),
                       bytes_of_index(), base_text(segment.index_base, index().memory));
  }
  uint64_t bytes_of_index() const { return static_cast<uint64_t>(memory_bits(index().dtype)) / 8; }

  static bool alike(const Segment& a, const Segment& b) {
    const auto same = [](const DmaConfig::Loop& x, const DmaConfig::Loop& y) {
      return x.size == y.size && x.read_stride == y.read_stride &&
             x.write_stride == y.write_stride && x.index_stride == y.index_stride &&
             x.term == y.term;
    };
    return a.packet_bytes == b.packet_bytes && a.packet_term == b.packet_term &&
           std::equal(a.loops.begin(), a.loops.end(), b.loops.begin(), b.loops.end(), same);
  }

  // Segments in full, those that differ from an earlier one in their bases only by these.
  std::string block() const {
    std::string text;
    for (size_t i = 0; i < std::min(dma_.segments.size(), kShownSegments); ++i) {
      const Segment& segment = dma_.segments[i];
      const auto end = dma_.segments.begin() + static_cast<ptrdiff_t>(i);
      const auto first = std::find_if(dma_.segments.begin(), end,
                                      [&](const Segment& s) { return alike(s, segment); });
      std::string head = fmt::format("segment {}, engine {}: {}", i, segment.engine,
                                     count_of(requests_of(segment), "request"));
      if (first != end) {
        head += fmt::format(", as segment {} from {} to {}", first - dma_.segments.begin(),
                            base_text(segment.read_base, from_.memory),
                            base_text(segment.write_base, to_.memory));
        if (dma_.indexed) head += ", index " + base_text(segment.index_base, index().memory);
      }
      text += wrap(head, "", 2, kWidth);
      if (first == end) {
        text += wrap(sequencer_text(segment, false), "  read  = ", 10, kWidth) +
                wrap(sequencer_text(segment, true), "  write = ", 10, kWidth);
        if (dma_.indexed) text += wrap(index_text(segment), "  index = ", 10, kWidth);
      }
    }
    if (dma_.segments.size() > kShownSegments) {
      text += fmt::format("and {} more\n", group_digits(dma_.segments.size() - kShownSegments));
    }
    return text;
  }

  DmaJson json() const {
    DmaJson segments = DmaJson::array();
    for (const Segment& segment : dma_.segments) {
      DmaJson loops = DmaJson::array();
      for (const DmaConfig::Loop& loop : segment.loops) {
        loops.push_back({{"term", loop.term},
                         {"size", loop.size},
                         {"read_stride", loop.read_stride},
                         {"write_stride", loop.write_stride}});
        if (dma_.indexed) loops.back()["index_stride"] = loop.index_stride;
      }
      segments.push_back({{"engine", segment.engine},
                          {"read_base", segment.read_base},
                          {"write_base", segment.write_base},
                          {"loops", loops},
                          {"packet", segment.packet_term},
                          {"packet_bytes", segment.packet_bytes},
                          {"packets", segment.packets()},
                          {"requests", requests_of(segment)}});
      if (dma_.indexed) segments.back()["index_base"] = segment.index_base;
    }
    return {{"from", from_.name},
            {"to", to_.name},
            {"from_memory", name(from_.memory)},
            {"to_memory", name(to_.memory)},
            {"indexed", indexed_json()},
            {"bytes", dma_.bytes},
            {"requests", requests()},
            {"time", dma_.time.text(program_.axes)},
            {"packet", dma_.packet.text(program_.axes)},
            {"segments", segments}};
  }

  DmaJson indexed_json() const {
    if (!dma_.indexed) return nullptr;
    const DmaConfig::Indexed& indexed = *dma_.indexed;
    return {{"kind", kind_text()},
            {"index", index().name},
            {"index_memory", name(index().memory)},
            {"scaled", indexed.scaled},
            {"row_axis", program_.axes.name(indexed.row_axis)},
            {"rows", indexed.rows},
            {"row_bytes", indexed.row_bytes}};
  }

  std::pair<std::string, std::string> why_rows() const {
    const DmaConfig::Indexed& indexed = *dma_.indexed;
    const std::string axis = program_.axes.name(indexed.row_axis);
    const TensorVersion& table = indexed.scatter ? to_ : from_;
    return {
        fmt::format("rows along {}", axis),
        fmt::format("'{}' alone has {}: '{}' says for each of its elements which of the {} rows "
                    "is meant, {} B apart, as {}; an engine reads the indices of a segment "
                    "before its first row",
                    table.name, axis, index().name, group_digits(indexed.rows),
                    group_digits(indexed.row_bytes),
                    indexed.scaled ? "an offset in bytes" : "the number of a row")};
  }

  std::vector<std::pair<std::string, std::string>> why() const {
    std::vector<std::pair<std::string, std::string>> why;
    const Segment& first = dma_.segments.front();
    if (dma_.indexed) why.push_back(why_rows());
    why.emplace_back(
        fmt::format("packet of {} B", group_digits(first.packet_bytes)),
        fmt::format("'{}' lies together in '{}' and '{}'; a packet holds at most {} B and takes "
                    "requests of {} B",
                    first.packet_term, from_.element.text(program_.axes),
                    to_.element.text(program_.axes), group_digits(limits_.dma_packet_bytes),
                    limits_.dma_request_bytes));
    std::set<uint64_t> engines;
    for (const Segment& segment : dma_.segments) engines.insert(segment.engine);
    if (dma_.segments.size() > engines.size()) {
      why.emplace_back(count_of(dma_.segments.size(), "segment"),
                       fmt::format("what exists is no box for every engine; each segment costs a "
                                   "start-up of {} cycles",
                                   dma_.startup));
    }
    return why;
  }

  const Program& program_;
  const MachineLimits& limits_;
  const DmaConfig& dma_;
  const TensorVersion& from_;
  const TensorVersion& to_;
};

}  // namespace

std::vector<StageExplanation> explain_dma(const Program& program, const Command& command) {
  return DmaExplainer(program, command).explain();
}

}  // namespace rngdsim
