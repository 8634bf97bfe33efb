// SPDX-License-Identifier: Apache-2.0
#include "sim/run_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace rngdsim {
namespace {

// One tie a struct: what equality means, field by field.
auto fields(const WaitedFor& w) { return std::tie(w.kind, w.what, w.command, w.cycle); }
auto fields(const CommandResult& c) {
  return std::tie(c.index, c.context, c.kind, c.label, c.line, c.begun, c.ended, c.issue, c.begin,
                  c.end, c.cycles, c.waited_for, c.bound, c.bound_by, c.overhead);
}
auto fields(const UnitResult& u) {
  return std::tie(u.name, u.type, u.busy, u.starved, u.blocked, u.conflict, u.idle, u.items_in,
                  u.items_out, u.blamed, u.extra);
}
auto fields(const MacResult& m) {
  return std::tie(m.useful, m.issued, m.peak_per_cycle, m.utilization, m.utilization_while_active,
                  m.first_packet, m.last_packet, m.active_cycles, m.packets, m.clusters_used);
}
auto fields(const BandwidthResult& b) {
  return std::tie(b.name, b.bytes, b.bytes_per_cycle, b.peak_bytes_per_cycle, b.utilization,
                  b.bytes_per_slice);
}
auto fields(const OverlapResult& o) {
  return std::tie(o.main, o.sub, o.both, o.main_waited_for_sub, o.sub_waited_for_main, o.dma,
                  o.dma_overlapped, o.dma_waited, o.waited_for_dma);
}
auto fields(const LinkResult& l) { return std::tie(l.name, l.items, l.stalled); }
auto fields(const CheckedValues& c) {
  return std::tie(c.tensor, c.elements, c.mismatches, c.max_abs_error, c.bound_fraction);
}
auto fields(const ValueMismatch& m) {
  return std::tie(m.tensor, m.index, m.place, m.expected, m.got);
}
auto fields(const ValueResult& v) {
  return std::tie(v.simulated, v.checked, v.mismatches, v.first_mismatches, v.max_abs_error,
                  v.max_bound_fraction);
}
auto fields(const FailureResult& f) {
  return std::tie(f.kind, f.unit, f.cycle, f.command, f.message);
}
auto fields(const StuckUnit& s) { return std::tie(s.unit, s.state, s.waiting_for); }
auto fields(const StuckQueue& q) {
  return std::tie(q.link, q.items, q.depth, q.head_command, q.head_index);
}
auto fields(const HbmTraffic& t) {
  return std::tie(t.transfers, t.bytes, t.row_hits, t.row_misses, t.row_conflicts,
                  t.misaligned_reads, t.read_modify_writes);
}
auto fields(const DmaEngineResult& e) {
  return std::tie(e.engine, e.segments, e.requests, e.packets, e.bytes, e.first_data, e.end,
                  e.dm_conflicts, e.index_requests, e.index_bytes, e.index_cycles);
}
auto fields(const DmaChannelResult& c) { return std::tie(c.stack, c.channel, c.hbm); }
auto fields(const DmaBankResult& b) { return std::tie(b.slice, b.bank_group, b.bank, b.hbm); }
auto fields(const DmaResult& d) {
  return std::tie(d.command, d.issue, d.begin, d.end, d.first_data, d.requests, d.packets,
                  d.bytes_ideal, d.bytes_moved, d.bytes_pcie, d.hbm, d.engines, d.channels,
                  d.stacks, d.banks);
}
auto fields(const ClusterResult& c) {
  return std::tie(c.cluster, c.launch, c.end, c.work, c.waited, c.commands);
}
auto fields(const RunResult& r) {
  return std::tie(r.kernel_name, r.kernel_file, r.kernel_sha256, r.kernel_description,
                  r.topology_name, r.topology_sha256, r.clock_ghz, r.status, r.cycles, r.commands,
                  r.clusters, r.units, r.overlap, r.mac, r.bandwidth, r.links, r.dmas, r.values,
                  r.hazards, r.failures, r.stuck, r.queues, r.bound, r.bound_chain);
}

}  // namespace

const char* name(RunStatus status) {
  switch (status) {
    case RunStatus::kOk:
      return "ok";
    case RunStatus::kFailed:
      return "failed";
    case RunStatus::kDeadlock:
      return "deadlock";
    case RunStatus::kWatchdog:
      return "watchdog";
    case RunStatus::kStopped:
      return "stopped";
    case RunStatus::kMaxCycles:
      break;
  }
  return "max_cycles";
}

std::string WaitedFor::text() const {
  return any() ? fmt::format("{} ({}) {}", what, kind, cycle) : "-";
}

bool WaitedFor::operator==(const WaitedFor& o) const { return fields(*this) == fields(o); }
bool CommandResult::operator==(const CommandResult& o) const { return fields(*this) == fields(o); }
bool ClusterResult::operator==(const ClusterResult& o) const { return fields(*this) == fields(o); }
bool UnitResult::operator==(const UnitResult& o) const { return fields(*this) == fields(o); }
bool MacResult::operator==(const MacResult& o) const { return fields(*this) == fields(o); }
bool BandwidthResult::operator==(const BandwidthResult& o) const {
  return fields(*this) == fields(o);
}
bool OverlapResult::operator==(const OverlapResult& o) const { return fields(*this) == fields(o); }
bool StuckQueue::operator==(const StuckQueue& o) const { return fields(*this) == fields(o); }
bool LinkResult::operator==(const LinkResult& o) const { return fields(*this) == fields(o); }
bool CheckedValues::operator==(const CheckedValues& o) const { return fields(*this) == fields(o); }
bool ValueMismatch::operator==(const ValueMismatch& o) const { return fields(*this) == fields(o); }
bool ValueResult::operator==(const ValueResult& o) const { return fields(*this) == fields(o); }
bool FailureResult::operator==(const FailureResult& o) const { return fields(*this) == fields(o); }
bool HbmTraffic::operator==(const HbmTraffic& o) const { return fields(*this) == fields(o); }
bool DmaEngineResult::operator==(const DmaEngineResult& o) const {
  return fields(*this) == fields(o);
}
bool DmaChannelResult::operator==(const DmaChannelResult& o) const {
  return fields(*this) == fields(o);
}
bool DmaBankResult::operator==(const DmaBankResult& o) const { return fields(*this) == fields(o); }
uint64_t DmaResult::dm_conflicts() const {
  uint64_t cycles = 0;
  for (const DmaEngineResult& engine : engines) cycles += engine.dm_conflicts;
  return cycles;
}
bool DmaResult::operator==(const DmaResult& o) const { return fields(*this) == fields(o); }
bool StuckUnit::operator==(const StuckUnit& o) const { return fields(*this) == fields(o); }

HbmTraffic& HbmTraffic::operator+=(const HbmTraffic& o) {
  transfers += o.transfers;
  bytes += o.bytes;
  row_hits += o.row_hits;
  row_misses += o.row_misses;
  row_conflicts += o.row_conflicts;
  misaligned_reads += o.misaligned_reads;
  read_modify_writes += o.read_modify_writes;
  return *this;
}

namespace {

struct Span {
  uint64_t begin, end;
};

// What both lists have; each ascends without overlaps.
std::vector<Span> common_spans(const std::vector<Span>& a, const std::vector<Span>& b) {
  std::vector<Span> common;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Span both{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (both.end > both.begin) common.push_back(both);
    if (a[i].end < b[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return common;
}

uint64_t cycles_of(const std::vector<Span>& spans) {
  uint64_t cycles = 0;
  for (const Span& span : spans) cycles += span.end - span.begin;
  return cycles;
}

Context context_named(const std::string& text) {
  for (const Context context : {Context::kSub, Context::kDma}) {
    if (text == name(context)) return context;
  }
  return Context::kMain;
}

}  // namespace

OverlapResult overlap_of(const std::vector<CommandResult>& commands) {
  OverlapResult overlap;
  // Of each context one after the other, hence by begin.
  std::array<std::vector<Span>, kContexts> ran;
  std::array<uint64_t, kContexts> cycles{};
  for (const CommandResult& command : commands) {
    if (!command.begun) continue;
    const Context context = context_named(command.context);
    ran[static_cast<size_t>(context)].push_back({command.begin, command.end});
    cycles[static_cast<size_t>(context)] += command.cycles;
    if (!command.waited_for.any()) continue;
    const uint64_t waited = command.begin - command.issue;
    const CommandId earlier = command.waited_for.command;
    const bool for_dma = context != Context::kDma && earlier < commands.size() &&
                         context_named(commands[earlier].context) == Context::kDma;
    if (context == Context::kDma) {
      overlap.dma_waited += waited;
    } else if (for_dma) {
      overlap.waited_for_dma += waited;
    } else {
      (context == Context::kMain ? overlap.main_waited_for_sub : overlap.sub_waited_for_main) +=
          waited;
    }
  }
  const auto& [main, sub, dma] = ran;
  overlap.main = cycles[0];
  overlap.sub = cycles[1];
  overlap.dma = cycles[2];
  const std::vector<Span> both = common_spans(main, sub);
  overlap.both = cycles_of(both);
  // A DMA beside both of them counts once.
  overlap.dma_overlapped = cycles_of(common_spans(dma, main)) + cycles_of(common_spans(dma, sub)) -
                           cycles_of(common_spans(dma, both));
  return overlap;
}

int RunResult::exit_status(bool strict) const {
  return status == RunStatus::kOk && !(strict && !hazards.empty()) ? 0 : 1;
}

bool RunResult::same_run(const RunResult& o) const { return fields(*this) == fields(o); }

}  // namespace rngdsim
