// SPDX-License-Identifier: Apache-2.0
#include "report/run_json.h"

#include <string>

#include "report/dma_report.h"
#include "report/findings.h"
#include "support/version.h"

namespace rngdsim {
namespace {

using Json = nlohmann::ordered_json;

Json waited_for(const WaitedFor& waited) {
  if (!waited.any()) return nullptr;
  return {{"kind", waited.kind},
          {"what", waited.what},
          {"command", waited.command},
          {"cycle", waited.cycle}};
}

Json commands(const std::vector<CommandResult>& commands) {
  Json list = Json::array();
  for (const CommandResult& c : commands) {
    list.push_back({{"index", c.index},
                    {"context", c.context},
                    {"kind", c.kind},
                    {"label", c.label},
                    {"line", c.line},
                    {"begun", c.begun},
                    {"ended", c.ended},
                    {"issue", c.issue},
                    {"begin", c.begin},
                    {"end", c.end},
                    {"cycles", c.cycles},
                    {"overhead", c.overhead},
                    {"waited_for", waited_for(c.waited_for)},
                    {"bound", c.bound},
                    {"bound_by", c.bound_by}});
  }
  return list;
}

// Where each version lies; views lie in theirs. Of the TRF rows, of all others bytes.
Json tensors(const Program& program) {
  Json list = Json::array();
  for (const TensorVersion& tensor : program.tensors) {
    if (tensor.view_of) continue;
    const bool rows = tensor.memory == MemoryKind::kTrf;
    const uint64_t begin = rows ? tensor.first_row : tensor.address;
    list.push_back(
        {{"name", tensor.name},
         {"version", tensor.version},
         {"dtype", name(tensor.dtype)},
         {"memory", name(tensor.memory)},
         {"unit", rows ? "rows" : "bytes"},
         {"begin", begin},
         {"end", begin + (rows ? tensor.rows : tensor.bytes)},
         {"written_by", tensor.produced_by ? Json(*tensor.produced_by) : Json(nullptr)}});
  }
  return list;
}

Json clusters(const RunResult& run) {
  Json list = Json::array();
  for (const ClusterResult& c : run.clusters) {
    list.push_back({{"cluster", c.cluster},
                    {"launch", c.launch},
                    {"end", c.end},
                    {"work", c.work},
                    {"waited", c.waited},
                    {"commands", commands(c.commands)}});
  }
  return list;
}

Json units(const RunResult& run) {
  Json list = Json::array();
  for (const UnitResult& u : run.units) {
    Json blamed = Json::object();
    for (const auto& [name, cycles] : u.blamed) blamed[name] = cycles;
    Json unit = {{"name", u.name},       {"type", u.type},         {"busy", u.busy},
                 {"starved", u.starved}, {"blocked", u.blocked},   {"conflict", u.conflict},
                 {"idle", u.idle},       {"items_in", u.items_in}, {"items_out", u.items_out},
                 {"blamed", blamed}};
    if (!u.extra.empty()) {
      Json counters = Json::object();
      for (const auto& [name, value] : u.extra) counters[name] = value;
      unit["counters"] = counters;
    }
    list.push_back(std::move(unit));
  }
  return list;
}

Json overlap(const OverlapResult& o) {
  return {{"main", o.main},
          {"sub", o.sub},
          {"both", o.both},
          {"main_waited_for_sub", o.main_waited_for_sub},
          {"sub_waited_for_main", o.sub_waited_for_main},
          {"dma", o.dma},
          {"dma_overlapped", o.dma_overlapped},
          {"dma_waited", o.dma_waited},
          {"waited_for_dma", o.waited_for_dma}};
}

Json mac(const MacResult& m) {
  return {{"useful", m.useful},
          {"issued", m.issued},
          {"peak_per_cycle", m.peak_per_cycle},
          {"utilization", m.utilization},
          {"utilization_while_active", m.utilization_while_active},
          {"packets", m.packets},
          {"first_packet", m.first_packet},
          {"last_packet", m.last_packet},
          {"active_cycles", m.active_cycles},
          {"clusters_used", m.clusters_used}};
}

Json bandwidth(const RunResult& run) {
  Json map = Json::object();
  for (const BandwidthResult& b : run.bandwidth) {
    map[b.name] = {{"bytes", b.bytes},
                   {"bytes_per_cycle", b.bytes_per_cycle},
                   {"peak_bytes_per_cycle", b.peak_bytes_per_cycle},
                   {"utilization", b.utilization},
                   {"bytes_per_slice", b.bytes_per_slice}};
  }
  return map;
}

Json traffic(const HbmTraffic& t) {
  return {{"transfers", t.transfers},
          {"bytes", t.bytes},
          {"row_hits", t.row_hits},
          {"row_misses", t.row_misses},
          {"row_conflicts", t.row_conflicts},
          {"misaligned_reads", t.misaligned_reads},
          {"read_modify_writes", t.read_modify_writes}};
}

Json dmas(const RunResult& run, const Program& program) {
  Json list = Json::array();
  for (const DmaResult& dma : run.dmas) {
    Json engines = Json::array();
    for (const DmaEngineResult& e : dma.engines) {
      engines.push_back({{"engine", e.engine},
                         {"segments", e.segments},
                         {"requests", e.requests},
                         {"packets", e.packets},
                         {"bytes", e.bytes},
                         {"index_requests", e.index_requests},
                         {"index_bytes", e.index_bytes},
                         {"index_cycles", e.index_cycles},
                         {"first_data", e.first_data},
                         {"end", e.end},
                         {"dm_conflicts", e.dm_conflicts}});
    }
    Json channels = Json::array();
    for (const DmaChannelResult& c : dma.channels) {
      channels.push_back({{"stack", c.stack}, {"channel", c.channel}, {"hbm", traffic(c.hbm)}});
    }
    Json banks = Json::array();
    for (const DmaBankResult& b : dma.banks) {
      banks.push_back({{"slice", b.slice},
                       {"bank_group", b.bank_group},
                       {"bank", b.bank},
                       {"hbm", traffic(b.hbm)}});
    }
    const DmaReaders readers = readers_of(*program.commands[dma.command].dma, program.limits);
    Json stacks = Json::array();
    for (const HbmTraffic& stack : dma.stacks) stacks.push_back(traffic(stack));
    list.push_back({{"command", dma.command},
                    {"issue", dma.issue},
                    {"begin", dma.begin},
                    {"first_data", dma.first_data},
                    {"end", dma.end},
                    {"requests", dma.requests},
                    {"packets", dma.packets},
                    {"bytes_ideal", dma.bytes_ideal},
                    {"bytes_moved", dma.bytes_moved},
                    {"bytes_pcie", dma.bytes_pcie},
                    {"hbm", traffic(dma.hbm)},
                    {"engines", engines},
                    {"channels", channels},
                    {"stacks", stacks},
                    {"banks", banks},
                    {"readers",
                     {{"lines", readers.lines},
                      {"most_reads", readers.most_reads},
                      {"most_engines", readers.most_engines}}},
                    {"dm_conflicts", dma.dm_conflicts()},
                    {"slowed_by", dma_sentence(dma, run, program)}});
  }
  return list;
}

Json links(const RunResult& run) {
  Json list = Json::array();
  for (const LinkResult& l : run.links) {
    list.push_back({{"name", l.name}, {"items", l.items}, {"stalled", l.stalled}});
  }
  return list;
}

Json values(const ValueResult& v) {
  Json checked = Json::array();
  for (const CheckedValues& c : v.checked) {
    checked.push_back({{"tensor", c.tensor},
                       {"elements", c.elements},
                       {"mismatches", c.mismatches},
                       {"max_abs_error", c.max_abs_error},
                       {"bound_fraction", c.bound_fraction}});
  }
  Json first = Json::array();
  for (const ValueMismatch& m : v.first_mismatches) {
    first.push_back({{"tensor", m.tensor},
                     {"index", m.index},
                     {"place", m.place},
                     {"expected", m.expected},
                     {"got", m.got}});
  }
  return {{"simulated", v.simulated},
          {"checked", checked},
          {"mismatches", v.mismatches},
          {"max_abs_error", v.max_abs_error},
          {"max_bound_fraction", v.max_bound_fraction},
          {"first_mismatches", first}};
}

Json failures(const RunResult& run) {
  Json list = Json::array();
  for (const FailureResult& f : run.failures) {
    list.push_back({{"kind", f.kind},
                    {"unit", f.unit},
                    {"cycle", f.cycle},
                    {"command", f.command},
                    {"message", f.message}});
  }
  return list;
}

Json stuck(const RunResult& run) {
  Json list = Json::array();
  for (const StuckUnit& s : run.stuck) {
    list.push_back({{"unit", s.unit}, {"state", s.state}, {"waiting_for", s.waiting_for}});
  }
  return list;
}

Json queues(const RunResult& run) {
  Json list = Json::array();
  for (const StuckQueue& q : run.queues) {
    list.push_back({{"link", q.link},
                    {"items", q.items},
                    {"depth", q.depth},
                    {"head_command", q.head_command},
                    {"head_time_index", q.head_index}});
  }
  return list;
}

}  // namespace

Json tool_json() { return {{"name", "rngdsim"}, {"version", std::string(kVersion)}}; }

Json run_json(const RunResult& run, const Program& program, const ReportOptions& options) {
  return {
      {"schema_version", kSchemaVersion},
      {"tool", tool_json()},
      {"kernel",
       {{"name", run.kernel_name},
        {"file", run.kernel_file},
        {"sha256", run.kernel_sha256},
        {"description", run.kernel_description}}},
      {"topology",
       {{"name", run.topology_name}, {"sha256", run.topology_sha256}, {"set", options.set}}},
      {"clock_ghz", run.clock_ghz},
      {"status", name(run.status)},
      {"cycles", run.cycles},
      {"bound", {{"cycles", run.bound}, {"chain", run.bound_chain}}},
      {"bound_by", bound_by(run, program)},
      {"commands", commands(run.commands)},
      {"tensors", tensors(program)},
      {"clusters", clusters(run)},
      {"overlap", overlap(run.overlap)},
      {"units", units(run)},
      {"mac", mac(run.mac)},
      {"bandwidth", bandwidth(run)},
      {"dmas", dmas(run, program)},
      {"links", links(run)},
      {"values", values(run.values)},
      {"hazards", run.hazards},
      {"failures", failures(run)},
      {"stuck", stuck(run)},
      {"queues", queues(run)},
      {"hints", hints(run, program)},
      {"wall_seconds", run.wall_seconds},
      {"cycles_per_second", run.cycles_per_second},
  };
}

}  // namespace rngdsim
