// SPDX-License-Identifier: Apache-2.0
#include "sim/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/wiring.h"
#include "support/input_limits.h"
#include "support/text.h"

namespace rngdsim {
namespace {

constexpr uint64_t kWriteStep = 8;  // bytes; writes are multiples of this [B]

// Reads numbers of a resolved topology and checks rules between them, at the later one's place.
class LimitsReader {
 public:
  LimitsReader(const TopologyDecl& topology, Diagnostics& diagnostics)
      : topology_(topology), diagnostics_(diagnostics) {}

  MachineLimits read() {
    MachineLimits limits;
    limits.clusters = machine("clusters");
    limits.slices = machine("slices");
    limits.lanes = machine("lanes");
    limits.flit_bytes = machine("flit_bytes");
    limits.packet_bytes = machine("packet_bytes");
    limits.command_overhead = machine("command_overhead");
    limits.overheads.sub = machine("overhead_sub");
    limits.overheads.sub_vector = machine("overhead_sub_vector");
    limits.overheads.move = machine("overhead_move");
    limits.overheads.exchange = machine("overhead_switch");
    limits.overheads.contraction = machine("overhead_contraction");
    limits.overheads.contraction_reduce = machine("overhead_contraction_reduce");
    limits.overheads.vector = machine("overhead_vector");
    limits.overheads.vector_to_vrf = machine("overhead_vector_to_vrf");
    limits.overlap_drain = machine("overlap_drain") != 0;
    limits.sequencer.max_entries = machine("sequencer_entries");
    limits.sequencer.max_size = machine("sequencer_max_size");
    limits.dm_align = machine("data_memory_align");
    const UnitDecl& memory = unit("data_memory");
    limits.dm_banks = number(memory, "banks");
    limits.dm_bank_bytes = number(memory, "bank_bytes");
    limits.dm_rows = number(memory, "rows");
    const UnitDecl& trf = unit("trf");
    limits.trf_banks = number(trf, "banks");
    limits.trf_rows = number(trf, "rows");
    limits.trf_row_bytes = number(trf, "row_bytes");
    read_accesses(limits);
    limits.accumulator_cells = number(unit("time_reducer"), "cells");
    limits.accumulator_columns = number(unit("time_reducer"), "columns");
    limits.bus_elements = number(unit("lane_folder"), "bus_elements");
    limits.reduce_slots = number(unit("vector_engine"), "reduce_slots");
    limits.vrf_bytes = number(unit("vrf"), "bytes");
    limits.vrf_align = number(unit("vrf"), "align");
    limits.lookup_flits = number(unit("fetch_adapter"), "lookup_flits");
    limits.lookup_cycles = number(unit("fetch_adapter"), "lookup_cycles");
    read_transpose(limits);
    limits.switch_hop_cycles = number(unit("switch"), "hop_cycles");
    limits.switch_bitmap_load = number(unit("switch"), "bitmap_load");
    read_dma(limits);
    check_rules(limits, trf);
    return limits;
  }

 private:
  // What an access of a sequencer may be: main has a largest size, sub one size only [B].
  void read_accesses(MachineLimits& limits) {
    const UnitDecl& main_fetch = unit("fetch_sequencer", "main");
    const UnitDecl& sub_fetch = unit("fetch_sequencer", "sub");
    const UnitDecl& main_commit = unit("commit_sequencer", "main");
    const UnitDecl& sub_commit = unit("commit_sequencer", "sub");
    limits.main_max_read = number(main_fetch, "max_read_bytes");
    limits.sub_fixed_read = number(sub_fetch, "fixed_read_bytes");
    limits.main_max_write = number(main_commit, "max_write_bytes");
    limits.sub_fixed_write = number(sub_commit, "fixed_write_bytes");
    for (const UnitDecl* unit : {&main_fetch, &main_commit}) {
      const std::string name = unit == &main_fetch ? "fixed_read_bytes" : "fixed_write_bytes";
      if (number(*unit, name) == 0) continue;
      diagnostics_.error(where(*unit, name),
                         fmt::format("'{}' of unit '{}' must be 0: a fixed access of the main "
                                     "context is not modelled",
                                     name, unit->name));
    }
    for (const UnitDecl* unit : {&sub_fetch, &sub_commit}) {
      const std::string name = unit == &sub_fetch ? "fixed_read_bytes" : "fixed_write_bytes";
      const std::string max = unit == &sub_fetch ? "max_read_bytes" : "max_write_bytes";
      const uint64_t fixed = number(*unit, name);
      if (fixed == 0) {
        diagnostics_.error(
            where(*unit, name),
            fmt::format("'{}' of unit '{}' must not be 0: accesses of the sub context "
                        "that are not fixed are not modelled",
                        name, unit->name));
      } else if (fixed > number(*unit, max)) {
        diagnostics_.error(where(*unit, name),
                           fmt::format("'{}' of unit '{}' is {}, more than '{}', {}", name,
                                       unit->name, fixed, max, number(*unit, max)));
      }
    }
    for (const UnitDecl* unit : {&main_fetch, &sub_fetch, &main_commit, &sub_commit}) {
      for (const NamedParameter& parameter : unit->parameters) {
        if (parameter.name == "context" || parameter.name == "outstanding") continue;
        const uint64_t bytes = number(*unit, parameter.name);
        if ((bytes & (bytes - 1)) != 0) {
          diagnostics_.error(where(*unit, parameter.name),
                             fmt::format("'{}' of unit '{}' must be a power of two, got {}",
                                         parameter.name, unit->name, bytes));
        } else if (unit->type.value == "commit_sequencer" && bytes != 0 && bytes < kWriteStep) {
          diagnostics_.error(where(*unit, parameter.name),
                             fmt::format("'{}' of unit '{}' must be a multiple of {} bytes, got {}",
                                         parameter.name, unit->name, kWriteStep, bytes));
        }
      }
    }
  }

  void read_transpose(MachineLimits& limits) {
    const UnitDecl& transpose = unit("transpose");
    limits.transpose_valid_4bit = number(transpose, "valid_4bit");
    limits.transpose_valid = number(transpose, "valid");
    limits.transpose_columns = number(transpose, "columns");
    limits.transpose_column_bytes = number(transpose, "column_bytes");
    // A flit holds what is taken of it, of the widest type.
    const std::pair<const char*, uint64_t> taken[] = {
        {"valid_4bit", (limits.transpose_valid_4bit + 1) / 2},
        {"valid", 4 * limits.transpose_valid},
        {"column_bytes", limits.transpose_column_bytes}};
    for (const auto& [name, bytes] : taken) {
      if (bytes <= limits.flit_bytes) continue;
      diagnostics_.error(where(transpose, name),
                         fmt::format("'{}' of unit '{}' is {} bytes, more than a flit, {}", name,
                                     transpose.name, bytes, limits.flit_bytes));
    }
    for (const char* name : {"valid_4bit", "valid"}) {
      if (number(transpose, name) <= 2 * limits.transpose_columns) continue;
      diagnostics_.error(
          where(transpose, name),
          fmt::format("'{}' of unit '{}' is {}, more than the {} columns of its "
                      "two buffers",
                      name, transpose.name, number(transpose, name), 2 * limits.transpose_columns));
    }
  }

  void read_dma(MachineLimits& limits) {
    const double clock_mhz = 1000 * std::get<double>(topology_.clock_ghz.value);
    limits.clock_mhz = std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(clock_mhz)));
    limits.hbm_align = number(unit("hbm"), "align");
    limits.dmn_slices = machine("dmn_slices");
    limits.dma_startup = machine("dma_startup");
    limits.dma_startup_to_hbm = machine("dma_startup_to_hbm");
    limits.dma_startup_in_dm = machine("dma_startup_in_dm");
    limits.dma_startup_engines = machine("dma_startup_engines");
    limits.dmn_beats = number(unit("data_memory"), "beats");
    limits.dmn_beat_cycles = number(unit("data_memory"), "beat_cycles");
    limits.dma_index_cycles = machine("dma_index_cycles");
    limits.dma_scatter_cycles = machine("dma_scatter_cycles");
    limits.dma_dm_to_hbm_in_turn = machine("dma_dm_to_hbm_in_turn") != 0;
    limits.starving_alone = machine("starving_alone") != 0;
    limits.starvation_cycles = number(unit("data_memory"), "starvation_cycles");
    limits.dma_request_bytes = machine("dma_request_bytes");
    limits.dma_packet_bytes = machine("dma_packet_bytes");
    limits.host_bytes_per_cycle = number(unit("host"), "bytes_per_cycle");
    limits.host_latency = number(unit("host"), "latency");
    limits.dma_engines = 0;
    limits.dma_first_access_dm = 0;
    limits.dma_first_access_host = 0;
    std::map<uint64_t, const UnitDecl*> engines;
    for (const UnitDecl& unit : topology_.units) {
      if (unit.type.value != "dma_engine") continue;
      ++limits.dma_engines;
      limits.dma_first_access_dm =
          std::max(limits.dma_first_access_dm, number(unit, "first_access_dm"));
      limits.dma_first_access_host =
          std::max(limits.dma_first_access_host, number(unit, "first_access_host"));
      const auto [first, is_new] = engines.emplace(number(unit, "engine"), &unit);
      if (is_new) continue;
      diagnostics_.error(where(unit, "engine"),
                         fmt::format("unit '{}' is a second engine {}", unit.name, first->first),
                         fmt::format("'{}' is the first", first->second->name));
    }
    // The engines of a machine are 0, 1, ...
    for (const auto& [engine, unit] : engines) {
      if (engine < engines.size() || engines.size() != limits.dma_engines) continue;
      diagnostics_.error(where(*unit, "engine"),
                         fmt::format("unit '{}' is engine {}; the machine has {}, 0 to {}",
                                     unit->name, engine, engines.size(), engines.size() - 1));
    }
    if (limits.hbm_align == 0 || (limits.hbm_align & (limits.hbm_align - 1)) != 0) {
      diagnostics_.error(where(unit("hbm"), "align"),
                         fmt::format("'align' of unit '{}' must be a power of two, got {}",
                                     unit("hbm").name, limits.hbm_align));
    }
    check_dma_links();
    // Of a larger memory the next power of two.
    while (limits.dm_slice_stride < limits.dm_bytes()) limits.dm_slice_stride *= 2;
  }

  // An engine asks the memory that its ports name, and hears from the port that it asks.
  void check_dma_links() {
    const auto type_of = [&](const std::string& name) {
      for (const UnitDecl& unit : topology_.units) {
        if (unit.name == name) return unit.type.value;
      }
      return std::string();
    };
    for (const ConnectionDecl& request : topology_.connections) {
      if (type_of(request.from.unit) != "dma_engine") continue;
      const std::string wanted = request.from.port == "dm" ? "data_memory" : request.from.port;
      if (type_of(request.to.unit) != wanted) {
        diagnostics_.error(request.where,
                           fmt::format("'{}.{}' asks '{}', which is no {}", request.from.unit,
                                       request.from.port, request.to.unit, wanted));
        continue;
      }
      const std::string answer = request.to.port + "_data";
      const auto found = std::find_if(
          topology_.connections.begin(), topology_.connections.end(), [&](const auto& other) {
            return other.from.unit == request.to.unit && other.from.port == answer;
          });
      const bool right = found != topology_.connections.end() &&
                         found->to.unit == request.from.unit &&
                         found->to.port == request.from.port + "_data";
      if (right) continue;
      diagnostics_.error(
          request.where,
          fmt::format("'{}.{}' asks at '{}.{}', but is not answered from '{}.{}'",
                      request.from.unit, request.from.port, request.to.unit, request.to.port,
                      request.to.unit, answer),
          fmt::format("connect it to '{}.{}_data'", request.from.unit, request.from.port));
    }
  }

  void check_rules(const MachineLimits& limits, const UnitDecl& trf) {
    power_of_two("slices", limits.slices);
    power_of_two("lanes", limits.lanes);
    power_of_two("flit_bytes", limits.flit_bytes);
    power_of_two("data_memory_align", limits.dm_align);
    if (limits.packet_bytes != 2 * limits.flit_bytes) {
      diagnostics_.error(
          machine_where("packet_bytes"),
          fmt::format("'packet_bytes' of 'machine' must be two flits, {} bytes, got {}",
                      2 * limits.flit_bytes, limits.packet_bytes));
    }
    if (limits.trf_row_bytes != limits.flit_bytes) {
      diagnostics_.error(where(trf, "row_bytes"),
                         fmt::format("'row_bytes' of unit '{}' must be one flit, {} bytes, got {}",
                                     trf.name, limits.flit_bytes, limits.trf_row_bytes));
    }
    if (limits.trf_banks != 2) {
      diagnostics_.error(
          where(trf, "banks"),
          fmt::format("'banks' of unit '{}' must be 2, one for each flit of a packet, "
                      "got {}",
                      trf.name, limits.trf_banks));
    }
    const UnitDecl& vrf = unit("vrf");
    if ((limits.vrf_align & (limits.vrf_align - 1)) != 0) {
      diagnostics_.error(where(vrf, "align"),
                         fmt::format("'align' of unit '{}' must be a power of two, got {}",
                                     vrf.name, limits.vrf_align));
    }
    const UnitDecl& memory = unit("data_memory");
    if (limits.dm_bytes() > kMaxMemoryBytes) {
      diagnostics_.error(
          where(memory, "rows"),
          fmt::format("unit '{}' has {} bytes a slice; at most {} are simulated", memory.name,
                      group_digits(limits.dm_bytes()), group_digits(kMaxMemoryBytes)),
          kLimitHint);
    }
    const uint64_t lanes = limits.clusters * limits.slices * limits.lanes;
    if (lanes > kMaxMachineLanes) {
      diagnostics_.error(
          machine_where("slices"),
          fmt::format("{} clusters of {} slices of {} lanes are {} lanes; at most {} are simulated",
                      limits.clusters, group_digits(limits.slices), limits.lanes,
                      group_digits(lanes), group_digits(kMaxMachineLanes)),
          kLimitHint);
    }
    const UnitDecl& folder = unit("lane_folder");
    if (4 * limits.bus_elements != limits.flit_bytes) {
      diagnostics_.error(
          where(folder, "bus_elements"),
          fmt::format("'bus_elements' of unit '{}' must fill a flit, {} elements of 4 "
                      "bytes, got {}",
                      folder.name, limits.flit_bytes / 4, limits.bus_elements));
    }
    const UnitDecl& reducer = unit("packet_reducer");
    if (number(reducer, "columns") != limits.accumulator_columns) {
      diagnostics_.error(
          where(reducer, "columns"),
          fmt::format("'columns' of unit '{}' must be those of the time reducer, {}, "
                      "got {}",
                      reducer.name, limits.accumulator_columns, number(reducer, "columns")));
    }
  }

  void power_of_two(const std::string& name, uint64_t value) {
    if ((value & (value - 1)) == 0) return;
    diagnostics_.error(
        machine_where(name),
        fmt::format("'{}' of 'machine' must be a power of two, got {}", name, value));
  }

  const UnitDecl& unit(const std::string& type, const std::string& context = "") const {
    for (const UnitDecl& unit : topology_.units) {
      if (unit.type.value != type) continue;
      if (context.empty() || UnitParameters(unit).text("context") == context) return unit;
    }
    throw InternalError(fmt::format("a resolved topology has no unit of type {}", type));
  }
  static uint64_t number(const UnitDecl& unit, const std::string& name) {
    return UnitParameters(unit).number(name);
  }
  static SourceLocation where(const std::vector<NamedParameter>& parameters,
                              const std::string& name) {
    for (const NamedParameter& parameter : parameters) {
      if (parameter.name != name) continue;
      return parameter.parameter.where.file.empty() ? parameter.where : parameter.parameter.where;
    }
    return {};
  }
  static SourceLocation where(const UnitDecl& unit, const std::string& name) {
    return where(unit.parameters, name);
  }
  SourceLocation machine_where(const std::string& name) const {
    return where(topology_.machine, name);
  }
  uint64_t machine(const std::string& name) const { return machine_number(topology_, name); }

  const TopologyDecl& topology_;
  Diagnostics& diagnostics_;
};

}  // namespace

uint64_t machine_number(const TopologyDecl& resolved, const std::string& name) {
  for (const NamedParameter& parameter : resolved.machine) {
    if (parameter.name != name) continue;
    return static_cast<uint64_t>(std::get<double>(parameter.parameter.value));
  }
  throw InternalError(fmt::format("a resolved topology has no machine parameter {}", name));
}

MachineLimits limits_from(const TopologyDecl& topology, Diagnostics& diagnostics,
                          const UnitTypes& types) {
  Diagnostics own;
  const TopologyDecl resolved = resolve_topology(topology, own, types);
  MachineLimits limits;
  if (!own.has_errors()) limits = LimitsReader(resolved, own).read();
  diagnostics.append(own);
  return limits;
}

}  // namespace rngdsim
