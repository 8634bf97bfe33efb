// SPDX-License-Identifier: Apache-2.0
#include "sim/run_result.h"

#include <fmt/format.h>

#include <algorithm>
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
  return std::tie(o.main, o.sub, o.both, o.main_waited_for_sub, o.sub_waited_for_main);
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
auto fields(const RunResult& r) {
  return std::tie(r.kernel_name, r.kernel_file, r.kernel_sha256, r.kernel_description,
                  r.topology_name, r.topology_sha256, r.clock_ghz, r.status, r.cycles, r.commands,
                  r.units, r.overlap, r.mac, r.bandwidth, r.links, r.values, r.hazards, r.failures,
                  r.stuck, r.queues, r.bound, r.bound_chain);
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
bool StuckUnit::operator==(const StuckUnit& o) const { return fields(*this) == fields(o); }

OverlapResult overlap_of(const std::vector<CommandResult>& commands) {
  OverlapResult overlap;
  std::vector<const CommandResult*> mains, subs;  // one after the other, hence by begin
  for (const CommandResult& command : commands) {
    if (!command.begun) continue;
    const bool main = command.context == "main";
    (main ? mains : subs).push_back(&command);
    (main ? overlap.main : overlap.sub) += command.cycles;
    if (!command.waited_for.any()) continue;
    (main ? overlap.main_waited_for_sub : overlap.sub_waited_for_main) +=
        command.begin - command.issue;
  }
  for (size_t m = 0, s = 0; m < mains.size() && s < subs.size();) {
    const uint64_t begin = std::max(mains[m]->begin, subs[s]->begin);
    const uint64_t end = std::min(mains[m]->end, subs[s]->end);
    if (end > begin) overlap.both += end - begin;
    if (mains[m]->end < subs[s]->end) {
      ++m;
    } else {
      ++s;
    }
  }
  return overlap;
}

int RunResult::exit_status(bool strict) const {
  return status == RunStatus::kOk && !(strict && !hazards.empty()) ? 0 : 1;
}

bool RunResult::same_run(const RunResult& o) const { return fields(*this) == fields(o); }

}  // namespace rngdsim
