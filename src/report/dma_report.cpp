// SPDX-License-Identifier: Apache-2.0
#include "report/dma_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/dma_walker.h"
#include "report/numbers.h"
#include "support/text.h"

namespace rngdsim {
namespace {

// What explains this part of a wait is named as its cause.
constexpr double kDmaCause = 0.5;

double share_of(uint64_t a, uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

const DmaEngineResult* last_engine(const DmaResult& dma) {
  const DmaEngineResult* last = nullptr;
  for (const DmaEngineResult& engine : dma.engines) {
    if (last == nullptr || engine.end > last->end) last = &engine;
  }
  return last;
}

bool writes_and_reads_in_turn(const DmaConfig& config, const Program& program) {
  const MemoryKind from = program.tensors[config.from].memory;
  const MemoryKind to = program.tensors[config.to].memory;
  const bool to_hbm = from == MemoryKind::kDm && to == MemoryKind::kHbm;
  return from == to || (to_hbm && program.limits.dma_dm_to_hbm_in_turn);
}

// Requests per cycle and engine leave this many cycles at least.
uint64_t least_cycles(const DmaEngineResult& engine, bool in_turn) {
  return engine.requests * (in_turn ? 2 : 1);
}

// The number of DMNs that take part beside `engine`'s data, by where its segments go.
std::set<uint64_t> networks(const DmaConfig& config, uint64_t engine, bool reads,
                            const MachineLimits& limits) {
  std::set<uint64_t> result;
  const uint64_t span = limits.dm_slice_stride * limits.dmn_slices;
  for (const DmaConfig::Segment& segment : config.segments) {
    if (segment.engine != engine) continue;
    uint64_t last = reads ? segment.read_base : segment.write_base;
    result.insert(last / span);
    for (const DmaConfig::Loop& loop : segment.loops) {
      last += (loop.size - 1) * (reads ? loop.read_stride : loop.write_stride);
    }
    result.insert(last / span);
  }
  return result;
}

std::string transfers_text(uint64_t part_of, uint64_t whole) {
  return fmt::format("{} of {} transfers", group_digits(part_of), group_digits(whole));
}

class DmaSentence {
 public:
  DmaSentence(const DmaResult& dma, const RunResult& run, const Program& program)
      : dma_(dma),
        command_(program.commands[dma.command]),
        config_(*command_.dma),
        program_(program),
        cycles_(run.commands[dma.command].ended ? dma.end - dma.begin : run.cycles - dma.begin) {}

  DmaCause cause() const {
    const DmaEngineResult* engine = last_engine(dma_);
    if (engine == nullptr) return {"it has not begun to move data", ""};
    DmaCause cause = cause_of(*engine);
    cause.text += rows_waited(*engine);
    return cause;
  }

 private:
  DmaCause cause_of(const DmaEngineResult& of) const {
    const DmaEngineResult* engine = &of;
    const uint64_t startups = engine->segments * program_.commands[dma_.command].dma->startup;
    if (share_of(startups, cycles_) >= kDmaCause) return {startup(*engine, startups), ""};
    if (share_of(engine->index_cycles, cycles_) >= kDmaCause) {
      return {fmt::format("the index: {} of its {} cycles", group_digits(engine->index_cycles),
                          group_digits(cycles_)),
              "let the index of an engine lie together"};
    }
    for (DmaCause cause :
         {DmaCause{banks(*engine),
                   "let fetch and commit change banks from access to access, or "
                   "move this DMA to where they rest"},
          DmaCause{pcie(), "bring what is used again to HBM once"},
          DmaCause{rows(),
                   "walk HBM in the order in which it lies, or give what is read "
                   "and written in turn places that differ in address bits 13 "
                   "to 20"},
          DmaCause{read_modify_writes(), fmt::format("let whole lines of {} B lie together on both "
                                                     "sides, and begin rows at their multiples",
                                                     kLine)},
          DmaCause{stacks(), "let address bit 8 change from step to step"},
          DmaCause{misaligned(), fmt::format("begin rows at multiples of {} B", kLine)}}) {
      if (!cause.text.empty()) return cause;
    }
    return engine_cause(*engine);
  }

  // Of a move by an index.
  static std::string rows_waited(const DmaEngineResult& engine) {
    if (engine.index_cycles == 0 || engine.requests == 0) return "";
    return fmt::format("; its rows waited {} for {} of the index",
                       count_of(engine.index_cycles, "cycle"),
                       count_of(engine.index_requests, "request"));
  }

  std::string startup(const DmaEngineResult& engine, uint64_t cycles) const {
    return fmt::format("start-up: {}{} of its {} cycles{}",
                       engine.segments > 1
                           ? fmt::format("{} x {} = ", engine.segments,
                                         group_digits(program_.commands[dma_.command].dma->startup))
                           : "",
                       group_digits(cycles), group_digits(cycles_),
                       engine.segments > 1
                           ? fmt::format(", as engine {} needs {} commands for its part",
                                         engine.engine, engine.segments)
                           : "; one larger move pays it once");
  }

  std::string banks(const DmaEngineResult& engine) const {
    const uint64_t data = data_cycles(dma_);
    if (share_of(engine.dm_conflicts, data) < kDmaCause) return "";
    return fmt::format(
        "banks: fetch and commit held banks of the data memory that engine {} waited for, for {} "
        "of its {} cycles of data",
        engine.engine, group_digits(std::min(engine.dm_conflicts, data)), group_digits(data));
  }

  // A change of rows occupies its channel for some 40 cycles [A]; told by the counts alone.
  std::string rows() const {
    if (share_of(dma_.hbm.row_conflicts, dma_.hbm.transfers) < kDmaCause) return "";
    const DmaChannelResult* channel = busiest_channel(dma_);
    return fmt::format(
        "row changes: {} change the row of a bank in HBM; the busiest channel made {} of them",
        transfers_text(dma_.hbm.row_conflicts, dma_.hbm.transfers),
        group_digits(channel->hbm.row_conflicts));
  }

  std::string read_modify_writes() const {
    if (dma_.hbm.read_modify_writes == 0) return "";
    return fmt::format(
        "partial lines: {} write less than the 256 B of a line of HBM, which is read, modified and "
        "written",
        transfers_text(dma_.hbm.read_modify_writes, dma_.hbm.transfers));
  }

  std::string stacks() const {
    const auto busy = std::count_if(dma_.stacks.begin(), dma_.stacks.end(),
                                    [](const HbmTraffic& stack) { return stack.transfers > 0; });
    if (busy != 1 || dma_.stacks.size() < 2 || dma_.hbm.transfers < 2) return "";
    return fmt::format(
        "one stack: all {} transfers go to one of {} stacks of HBM, {} channels; address bit 8 "
        "never "
        "changes",
        group_digits(dma_.hbm.transfers), dma_.stacks.size(), dma_.channels.size());
  }

  std::string pcie() const {
    const uint64_t rate = program_.limits.host_bytes_per_cycle;
    const uint64_t passes = (dma_.bytes_pcie + rate - 1) / rate;
    const uint64_t data = data_cycles(dma_);
    if (data == 0 || share_of(passes, data) < 1 - kSlack) return "";
    return fmt::format("bound by PCIe: {} B at {} a cycle take {}", group_digits(dma_.bytes_pcie),
                       rate, count_of(passes, "cycle"));
  }

  std::string misaligned() const {
    if (share_of(dma_.hbm.misaligned_reads, dma_.hbm.transfers) < kDmaCause) return "";
    return fmt::format("alignment: {} are of reads that cross a line of 256 B",
                       transfers_text(dma_.hbm.misaligned_reads, dma_.hbm.transfers));
  }

  // All lines of a channel lie in its rows; what waits there is not helped by the other channels.
  std::string one_channel() const {
    const DmaChannelResult* channel = busiest_channel(dma_);
    const uint64_t channels = dma_.stacks.size() * kChannelsOfAShare;
    if (channel == nullptr || dma_.hbm.transfers < channels) return "";
    if (share_of(channel->hbm.transfers, dma_.hbm.transfers) < kDmaCause) return "";
    return fmt::format("one channel: {} go to channel {} of stack {}{}",
                       transfers_text(channel->hbm.transfers, dma_.hbm.transfers), channel->channel,
                       channel->stack, repeated_text());
  }

  std::string repeated_text() const {
    const uint64_t reads = readers_of(config_, program_.limits).most_reads;
    return reads > 1
               ? fmt::format("; lines of the source are read up to {} times", group_digits(reads))
               : "";
  }

  // Column commands to the bank group of the one before wait longer than others.
  std::string one_bank_group() const {
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> groups;  // by slice and bank group
    for (const DmaBankResult& bank : dma_.banks) {
      groups[{bank.slice, bank.bank_group}] += bank.hbm.transfers;
    }
    for (const auto& [group, transfers] : groups) {
      if (share_of(transfers, dma_.hbm.transfers) < kDmaCause) continue;
      return fmt::format(
          "one bank group: {} go to bank group {} of slice {} of their channels, where one follows "
          "another at half the rate{}",
          transfers_text(transfers, dma_.hbm.transfers), group.second, group.first,
          repeated_text());
    }
    return "";
  }

  DmaCause engine_cause(const DmaEngineResult& engine) const {
    const bool in_turn = writes_and_reads_in_turn(config_, program_);
    const uint64_t data = data_cycles(dma_);
    const uint64_t least = least_cycles(engine, in_turn);
    const uint64_t request = program_.limits.dma_request_bytes;
    const std::string who = fmt::format("engine {}", engine.engine);
    if (data > 0 && share_of(least, data) >= 1 - kSlack) {
      const uint64_t each = engine.requests == 0 ? 0 : engine.bytes / engine.requests;
      if (each * 2 <= request) {
        return {fmt::format("small packets: {} moves {} B with each request, which may have {}",
                            who, each, request),
                fmt::format("let {} B lie together on both sides", request)};
      }
      return {
          fmt::format("{}: {} requests of {} B in {}{}", who, group_digits(engine.requests), each,
                      count_of(data, "cycle"), in_turn ? ", reads and writes in turn" : ""),
          ""};
    }
    if (one_network(engine)) {
      return {fmt::format("one data memory network: {} uses one of its two, 128 B a cycle", who),
              "let the other network follow in each step"};
    }
    if (std::string channel = one_channel(); !channel.empty()) {
      return {std::move(channel), "spread what is read and written over more lines of HBM"};
    }
    if (std::string group = one_bank_group(); !group.empty()) {
      return {std::move(group),
              "walk HBM in the order in which it lies, so that address bits 13 and "
              "19 change"};
    }
    return {fmt::format("waiting: {} had {} to do in {} cycles; the memories kept it from more",
                        who, count_of(least, "cycle"), group_digits(data)),
            ""};
  }

  bool one_network(const DmaEngineResult& engine) const {
    for (const bool reads : {true, false}) {
      const TensorId side = reads ? config_.from : config_.to;
      if (program_.tensors[side].memory != MemoryKind::kDm) continue;
      if (networks(config_, engine.engine, reads, program_.limits).size() == 1) return true;
    }
    return false;
  }

  static constexpr double kSlack = 0.05;
  static constexpr uint64_t kLine = 256;            // [B] of HBM
  static constexpr uint64_t kChannelsOfAShare = 4;  // so few transfers tell nothing of a channel
  const DmaResult& dma_;
  const Command& command_;
  const DmaConfig& config_;
  const Program& program_;
  uint64_t cycles_;
};

// The read addresses of a segment, without the loops that only repeat them.
void add_source_lines(const DmaConfig::Segment& segment, uint64_t line_bytes,
                      std::vector<uint64_t>& lines) {
  DmaConfig::Segment distinct = segment;
  distinct.loops.clear();
  for (const DmaConfig::Loop& loop : segment.loops) {
    if (loop.read_stride != 0) distinct.loops.push_back(loop);
  }
  for (DmaWalker walker(distinct, line_bytes); !walker.done(); walker.next()) {
    const uint64_t last = (walker.read_address() + walker.bytes() - 1) / line_bytes;
    for (uint64_t line = walker.read_address() / line_bytes; line <= last; ++line) {
      lines.push_back(line);
    }
  }
}

}  // namespace

DmaReaders readers_of(const DmaConfig& config, const MachineLimits& limits) {
  struct LineRead {
    uint64_t line, engine, times;
  };
  // The rows of a gather are known to the engines alone.
  if (config.indexed && !config.indexed->scatter) return {};
  std::vector<LineRead> reads;
  for (const DmaConfig::Segment& segment : config.segments) {
    uint64_t times = 1;
    for (const DmaConfig::Loop& loop : segment.loops)
      times *= loop.read_stride == 0 ? loop.size : 1;
    std::vector<uint64_t> lines;
    add_source_lines(segment, limits.dma_request_bytes, lines);
    for (const uint64_t line : lines) reads.push_back({line, segment.engine, times});
  }
  std::sort(reads.begin(), reads.end(), [](const LineRead& a, const LineRead& b) {
    return std::tie(a.line, a.engine) < std::tie(b.line, b.engine);
  });
  DmaReaders readers;
  for (size_t first = 0; first < reads.size();) {
    uint64_t times = 0, engines = 0;
    size_t next = first;
    for (; next < reads.size() && reads[next].line == reads[first].line; ++next) {
      times += reads[next].times;
      if (next == first || reads[next].engine != reads[next - 1].engine) ++engines;
    }
    ++readers.lines;
    readers.most_reads = std::max(readers.most_reads, times);
    readers.most_engines = std::max(readers.most_engines, engines);
    first = next;
  }
  return readers;
}

const DmaChannelResult* busiest_channel(const DmaResult& dma) {
  const DmaChannelResult* busiest = nullptr;
  for (const DmaChannelResult& channel : dma.channels) {
    if (busiest == nullptr || channel.hbm.transfers > busiest->hbm.transfers) busiest = &channel;
  }
  return busiest;
}

uint64_t data_cycles(const DmaResult& dma) {
  const DmaEngineResult* engine = last_engine(dma);
  if (engine == nullptr || engine->first_data == 0) return 0;
  return engine->end - std::min(engine->end, engine->first_data);
}

DmaCause dma_cause(const DmaResult& dma, const RunResult& run, const Program& program) {
  return DmaSentence(dma, run, program).cause();
}

std::string dma_sentence(const DmaResult& dma, const RunResult& run, const Program& program) {
  return dma_cause(dma, run, program).text;
}

namespace {

std::string moved_table(const RunResult& run, const Program& program) {
  TextTable table;
  table.column("", TextTable::Align::kRight);
  table.column("dma", TextTable::Align::kLeft, 1, 24);
  for (const char* heading :
       {"wait", "first data", "data", "requests", "bytes", "moved", "B/cycle", "engines"}) {
    table.column(heading, TextTable::Align::kRight, 2);
  }
  for (const DmaResult& dma : run.dmas) {
    const uint64_t data = dma.first_data == 0 ? 0 : dma.end - std::min(dma.end, dma.first_data);
    table.row({fmt::format("{}", dma.command), program.commands[dma.command].label,
               group_digits(dma.begin - dma.issue),
               dma.first_data == 0 ? "-" : group_digits(dma.first_data - dma.begin),
               group_digits(data), group_digits(dma.requests), group_digits(dma.bytes_ideal),
               group_digits(dma.bytes_moved),
               data == 0 ? "-" : decimal(share_of(dma.bytes_ideal, data), 1),
               fmt::format("{}", dma.engines.size())});
  }
  return table.text(kIndent);
}

template <typename Part>
const Part* busiest(const std::vector<Part>& parts) {
  const auto it = std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.hbm.transfers < b.hbm.transfers;
  });
  return it == parts.end() ? nullptr : &*it;
}

// "1.7: 600", stack and channel; "2.3.1: 64", slice, bank group and bank.
std::string place_text(const DmaChannelResult* channel) {
  if (channel == nullptr) return "-";
  return fmt::format("{}.{}: {}", channel->stack, channel->channel,
                     group_digits(channel->hbm.transfers));
}
std::string place_text(const DmaBankResult* bank) {
  if (bank == nullptr) return "-";
  return fmt::format("{}.{}.{}: {}", bank->slice, bank->bank_group, bank->bank,
                     group_digits(bank->hbm.transfers));
}

std::string memories_table(const RunResult& run, const Program& program) {
  TextTable table;
  table.column("", TextTable::Align::kRight);
  table.column("reads a line", TextTable::Align::kRight, 1);
  for (const char* heading : {"transfers", "row changes", "off line", "partial", "busiest channel",
                              "busiest bank", "DM waits"}) {
    table.column(heading, TextTable::Align::kRight, 2);
  }
  for (const DmaResult& dma : run.dmas) {
    const DmaReaders readers = readers_of(*program.commands[dma.command].dma, program.limits);
    table.row({fmt::format("{}", dma.command),
               readers.lines == 0 ? "-" : group_digits(readers.most_reads),
               group_digits(dma.hbm.transfers), percent(dma.hbm.row_conflicts, dma.hbm.transfers),
               percent(dma.hbm.misaligned_reads, dma.hbm.transfers),
               percent(dma.hbm.read_modify_writes, dma.hbm.transfers),
               place_text(busiest(dma.channels)), place_text(busiest(dma.banks)),
               group_digits(dma.dm_conflicts())});
  }
  return table.text(kIndent);
}

}  // namespace

std::string dma_text(const RunResult& run, const Program& program) {
  if (run.dmas.empty()) return "";
  std::string text = moved_table(run, program) + "\n" + memories_table(run, program);
  for (const DmaResult& dma : run.dmas) {
    const std::string lead = fmt::format("  {}: ", dma.command);
    text += wrap(dma_sentence(dma, run, program), lead, lead.size());
  }
  return text + "\n";
}

}  // namespace rngdsim
