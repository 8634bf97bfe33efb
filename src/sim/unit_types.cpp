// SPDX-License-Identifier: Apache-2.0
#include "sim/unit_types.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/cast_engine.h"
#include "engine/collect.h"
#include "engine/commit_adapter.h"
#include "engine/commit_sequencer.h"
#include "engine/dma_engine.h"
#include "engine/fetch_adapter.h"
#include "engine/fetch_sequencer.h"
#include "engine/inter_slice_reducer.h"
#include "engine/lane_folder.h"
#include "engine/multiplier.h"
#include "engine/packet_reducer.h"
#include "engine/stream_adapter.h"
#include "engine/stream_source.h"
#include "engine/switch_engine.h"
#include "engine/time_reducer.h"
#include "engine/transpose_engine.h"
#include "engine/trf_sequencer.h"
#include "engine/vcg_unit.h"
#include "engine/vector_engine.h"
#include "memory/data_memory.h"
#include "memory/hbm_unit.h"
#include "memory/host_unit.h"
#include "memory/trf.h"
#include "memory/vrf.h"

namespace rngdsim {
namespace {

using Words = std::vector<std::string>;

ParameterSpec number(std::string name, double value, double min, double max, std::string unit,
                     std::string source, std::string doc) {
  return {std::move(name), ParameterKind::kNumber, ParameterContent(value), min, max,
          std::move(unit), std::move(source),      std::move(doc)};
}

ParameterSpec context() {
  return {"context", ParameterKind::kText,       std::nullopt,   0, 0, "",
          "",        "whose commands it serves", {"main", "sub"}};
}

PortSpec in(std::string name, std::string item) { return {std::move(name), true, std::move(item)}; }
PortSpec out(std::string name, std::string item) {
  return {std::move(name), false, std::move(item)};
}

RowChanges row_changes(const std::string& word) {
  if (word == "overlap") return RowChanges::kOverlap;
  return word == "one_at_a_time" ? RowChanges::kOneAtATime : RowChanges::kHoldChannel;
}

// The ends of a memory for the DMA engines; there may be fewer.
void add_dma_ports(std::vector<PortSpec>& ports) {
  static_assert(HbmUnit::kMaxDmaEngines == DataMemory::kMaxDmaEngines);
  for (size_t engine = 0; engine < DataMemory::kMaxDmaEngines; ++engine) {
    const std::string name = fmt::format("dma_{}", engine);
    ports.push_back({name, true, "dma request", false});
    ports.push_back({name + "_data", false, "dma response", false});
  }
}

PortSpec sub_only(PortSpec port) {
  port.context = "sub";
  return port;
}

constexpr double kMaxCycles = 100'000;

UnitTypes make_unit_types() {
  using Make = const UnitParameters&;
  UnitTypes types;

  types.push_back({"stream_source",
                   "plays the part of what comes before the first stage of a stream command",
                   UnitCount::kOneAContext,
                   true,
                   {context()},
                   {},
                   {},
                   [](const char* name, Clock& clock, const RunContext& run, Make p) {
                     return std::make_unique<StreamSource>(name, clock, run,
                                                           StreamSource::Parameters{p.context()});
                   }});

  types.push_back(
      {"fetch_sequencer",
       "nested loops that read the data memory, one access a cycle",
       UnitCount::kOneAContext,
       true,
       {context(), number("max_read_bytes", 32, 1, 32, "bytes", "B", "largest access"),
        number("fixed_read_bytes", 0, 0, 32, "bytes", "B", "every access; 0: not fixed"),
        number("outstanding", 4, 1, 4096, "accesses", "A", "asked for and not yet handed on")},
       {out("request", "dm request"), in("data", "read data"), out("out", "stream")},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         return std::make_unique<FetchSequencer>(
             name, clock, run, FetchSequencer::Parameters{p.context(), p.number("outstanding")});
       }});

  types.push_back(
      {"data_memory",
       "data memory of the slices: banks that one access a cycle may use",
       UnitCount::kOne,
       false,
       {number("banks", 16, 1, 64, "banks", "B", "of a slice"),
        number("bank_bytes", 8, 1, 64, "bytes", "B", "of a bank in one row"),
        number("rows", 4096, 1, 1 << 20, "rows", "B", "of a bank"),
        number("read_latency", 1, 1, kMaxCycles, "cycles", "A", "from grant to data at the port"),
        {"priority", ParameterKind::kList, ParameterContent(DataMemory::Parameters{}.priority), 0,
         0, "", "B", "who wins a bank, first to last", DataMemory::client_names()},
        number("beat_bytes", 128, 8, 4096, "bytes", "B", "of DMA, a cycle and DMN"),
        number("beats", 1, 1, 1024, "beats", "B",
               "a data memory network moves so many beats in ..."),
        number("beat_cycles", 1, 1, 65536, "cycles", "B", "... so many cycles"),
        number("dma_queue", 2, 1, 64, "requests", "B", "of DMA that wait in a slice"),
        number("starvation_cycles", 64, 1, 1e12, "cycles", "B",
               "a bank held by fetch and commit while a DMA waits for it: a hazard"),
        number("bank_conflicts", 1, 0, 1, "accesses", "B",
               "1: a bank serves one access a cycle; 0: as many as come")},
       {in("main_fetch", "dm request"), in("sub_fetch", "dm request"),
        in("main_commit", "dm request"), in("sub_commit", "dm request"),
        out("main_fetch_data", "read data"), out("sub_fetch_data", "read data")},
       {{"read_latency", "main_fetch_data"}, {"read_latency", "sub_fetch_data"}},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         DataMemory::Parameters parameters;
         parameters.banks = p.number("banks");
         parameters.bank_bytes = p.number("bank_bytes");
         parameters.rows = p.number("rows");
         parameters.read_latency = p.number("read_latency");
         parameters.priority = p.list("priority");
         parameters.beat_bytes = p.number("beat_bytes");
         parameters.beats = p.number("beats");
         parameters.beat_cycles = p.number("beat_cycles");
         parameters.dma_queue = p.number("dma_queue");
         parameters.starvation_cycles = p.number("starvation_cycles");
         parameters.bank_conflicts = p.number("bank_conflicts") != 0;
         return std::make_unique<DataMemory>(name, clock, run, parameters);
       }});

  add_dma_ports(types.back().ports);

  types.push_back(
      {"dma_engine",
       "reads one memory and writes another, a request a cycle",
       UnitCount::kAny,
       true,
       {number("engine", 0, 0, DataMemory::kMaxDmaEngines - 1, "number", "B",
               "its number: engine e serves the data memory networks 2e and 2e + 1"),
        number("outstanding", 256, 1, 1 << 20, "requests", "A", "asked for and not yet sent on"),
        number("first_access_hbm", 108, 0, kMaxCycles, "cycles", "A",
               "part of the start-up: from the first request to its data"),
        number("first_access_dm", 3, 0, kMaxCycles, "cycles", "A", "the same of the data memory"),
        number("first_access_host", 411, 0, kMaxCycles, "cycles", "A", "the same of the host"),
        number("timeout", 4096, 1, 1e12, "cycles", "B", "without an answer: a hazard")},
       {out("hbm", "dma request"), in("hbm_data", "dma response"), out("dm", "dma request"),
        in("dm_data", "dma response"), out("host", "dma request"), in("host_data", "dma response")},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         DmaEngine::Parameters parameters;
         parameters.engine = p.number("engine");
         parameters.outstanding = p.number("outstanding");
         parameters.first_access_hbm = p.number("first_access_hbm");
         parameters.first_access_dm = p.number("first_access_dm");
         parameters.first_access_host = p.number("first_access_host");
         parameters.timeout = p.number("timeout");
         return std::make_unique<DmaEngine>(name, clock, run, parameters);
       }});

  types.push_back(
      {"hbm",
       "high-bandwidth memory: stacks of channels with open rows and a queue each",
       UnitCount::kOne,
       false,
       {number("controller_mhz", 750, 1, 1e6, "MHz", "B", "clock of the channels"),
        number("queue_entries", 64, 1, 4096, "requests", "B", "of a channel, FR-FCFS"),
        number("transfer", 4, 1, 4096, "controller cycles", "B", "of 256 bytes"),
        number("other_bank_group", 4, 1, 4096, "controller cycles", "A",
               "from a transfer to the next, in another bank group of the slice"),
        number("other_slice", 6, 1, 4096, "controller cycles", "A", "the same, in another slice"),
        number("same_bank_group", 8, 1, 4096, "controller cycles", "A",
               "the same, in one bank group"),
        number("read_modify_write", 200, 1, kMaxCycles, "controller cycles", "B",
               "of a write that does not cover its 256 bytes"),
        number("row_open", 40, 0, kMaxCycles, "cycles", "A", "opens the row of a closed bank"),
        number("row_change", 40, 0, kMaxCycles, "cycles", "A", "closes a row and opens another"),
        number("access_latency", 60, 1, kMaxCycles, "cycles", "A",
               "of a request beside all of the above"),
        {"row_changes",
         ParameterKind::kText,
         ParameterContent(std::string("XXX")),
         0,
         0,
         "",
         "A",
         "what a row change keeps from going on besides its bank: every transfer of the channel, "
         "its other row changes, or nothing",
         {"hold_channel", "one_at_a_time", "overlap"}},
        number("align", 256, 1, 1 << 20, "bytes", "A", "of tensors placed automatically")},
       {},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         HbmUnit::Parameters parameters;
         HbmChannel::Parameters& channel = parameters.model.channel;
         channel.clocks.chip_mhz = run.program->limits.clock_mhz;
         channel.clocks.controller_mhz = p.number("controller_mhz");
         channel.queue_entries = static_cast<uint32_t>(p.number("queue_entries"));
         channel.transfer = p.number("transfer");
         channel.other_bank_group = p.number("other_bank_group");
         channel.other_slice = p.number("other_slice");
         channel.same_bank_group = p.number("same_bank_group");
         channel.read_modify_write = p.number("read_modify_write");
         channel.row_open = p.number("row_open");
         channel.row_change = p.number("row_change");
         channel.access_latency = p.number("access_latency");
         channel.row_changes = row_changes(p.text("row_changes"));
         return std::make_unique<HbmUnit>(name, clock, run, parameters);
       }});
  add_dma_ports(types.back().ports);

  types.push_back(
      {"host",
       "the memory of the host behind PCIe, which the DMA engines share",
       UnitCount::kOne,
       false,
       {number("bytes_per_cycle", 30, 1, 1 << 20, "bytes", "B", "of PCIe, each way"),
        number("latency", 400, 1, kMaxCycles, "cycles", "A", "of a read, from PCIe to the answer")},
       {},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         HostUnit::Parameters parameters;
         parameters.bytes_per_cycle = p.number("bytes_per_cycle");
         parameters.latency = p.number("latency");
         return std::make_unique<HostUnit>(name, clock, run, parameters);
       }});
  add_dma_ports(types.back().ports);

  types.push_back(
      {"fetch_adapter",
       "looks elements up on their way from memory, casts them, subtracts a zero point; a path a "
       "context",
       UnitCount::kOne,
       false,
       {number("cast_latency", 1, 1, kMaxCycles, "cycles", "B", "of a cast, to the next unit"),
        number("zero_point_latency", 1, 1, kMaxCycles, "cycles", "A",
               "of a zero-point subtraction; with a cast the sum"),
        number("lookup_latency", 1, 1, kMaxCycles, "cycles", "A",
               "of a table lookup; with a cast the sum"),
        number("lookup_flits", 2, 1, 1000, "flits", "C", "that a table lookup makes in ..."),
        number("lookup_cycles", 5, 1, kMaxCycles, "cycles", "C", "... so many cycles")},
       {in("in", "stream"), out("out", "stream"), in("sub_in", "stream"), out("sub_out", "stream"),
        out("switch", "stream"), out("sub_switch", "stream")},
       {{"cast_latency", "out"},
        {"cast_latency", "sub_out"},
        {"cast_latency", "switch"},
        {"cast_latency", "sub_switch"},
        {"zero_point_latency", "out"},
        {"zero_point_latency", "sub_out"},
        {"zero_point_latency", "switch"},
        {"zero_point_latency", "sub_switch"},
        {"lookup_latency", "out"},
        {"lookup_latency", "switch"}},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         FetchAdapter::Parameters parameters;
         parameters.cast_latency = p.number("cast_latency");
         parameters.zero_point_latency = p.number("zero_point_latency");
         parameters.lookup_latency = p.number("lookup_latency");
         parameters.lookup_flits = p.number("lookup_flits");
         parameters.lookup_cycles = p.number("lookup_cycles");
         return std::make_unique<FetchAdapter>(name, clock, run, parameters);
       }});

  types.push_back(
      {"switch",
       "moves packets between slices along sub-rings, a hop a slice",
       UnitCount::kOne,
       false,
       {number("hop_cycles", 1, 0, 1000, "cycles", "B", "from one router of a ring to the next"),
        number("latency", 0, 0, kMaxCycles, "cycles", "A",
               "of what leaves, beside its way round the ring"),
        number("bitmap_load", 256, 0, kMaxCycles, "cycles", "A",
               "loads a custom snoop bitmap; DMA and sub commands wait meanwhile"),
        number("short_packet_traversals", 0, 0, 1000, "traversals", "A",
               "of which a command with packets of one flit keeps the ring beyond its own"),
        number("short_ring", 8, 1, 4096, "slices", "A", "the least sub-ring for which that holds")},
       {in("in", "stream"), in("sub_in", "stream"), out("out", "stream"), out("sub_out", "stream")},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         return std::make_unique<SwitchEngine>(
             name, clock, run,
             SwitchEngine::Parameters{p.number("hop_cycles"), p.number("latency"),
                                      p.number("short_packet_traversals"), p.number("short_ring")});
       }});

  types.push_back(
      {"collect",
       "pads packets to whole flits and cuts them, one flit a cycle",
       UnitCount::kOneAContext,
       false,
       {context()},
       {in("in", "stream"), in("switched", "stream"), out("out", "stream"), out("store", "stream"),
        out("vrf", "stream"), sub_only(out("vector", "stream")), sub_only(out("inter", "stream"))},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         return std::make_unique<Collect>(name, clock, run, Collect::Parameters{p.context()});
       }});

  types.push_back(
      {"trf",
       "register file of the second operand: one read and one store a port a cycle",
       UnitCount::kOne,
       false,
       {number("banks", 2, 1, 64, "banks", "B", "of a lane"),
        number("rows", 128, 2, 1 << 20, "rows", "B", "of a bank and lane"),
        number("row_bytes", 32, 1, 256, "bytes", "S", "of elements in a row, whatever the type"),
        number("cache_rows", 4, 0, 1 << 20, "rows", "B",
               "of the read cache, of a bank and lane; 0: no cache"),
        number("read_latency", 1, 1, kMaxCycles, "cycles", "A",
               "from request to data at the port")},
       {in("main_store", "stream"), in("sub_store", "stream"), in("read", "trf request"),
        out("read_data", "trf data")},
       {{"read_latency", "read_data"}},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         Trf::Parameters parameters;
         parameters.banks = p.number("banks");
         parameters.rows = p.number("rows");
         parameters.row_bytes = p.number("row_bytes");
         parameters.cache_rows = p.number("cache_rows");
         parameters.read_latency = p.number("read_latency");
         return std::make_unique<Trf>(name, clock, run, parameters);
       }});

  types.push_back(
      {"vrf",
       "register file of the Vector Engine: one store a port a cycle",
       UnitCount::kOne,
       false,
       {number("bytes", 8192, 32, 1 << 20, "bytes", "B", "of a slice"),
        number("align", 32, 4, 4096, "bytes", "A", "of tensors placed automatically")},
       {in("main_store", "stream"), in("sub_store", "stream"), in("vector_store", "stream")},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         return std::make_unique<Vrf>(name, clock, run,
                                      Vrf::Parameters{p.number("bytes"), p.number("align")});
       }});

  types.push_back({"stream_adapter",
                   "packs one or two flits into a packet, sends it to the lanes and again in time",
                   UnitCount::kOne,
                   false,
                   {},
                   {in("in", "stream"), out("out", "stream")},
                   {},
                   [](const char* name, Clock& clock, const RunContext& run, Make) {
                     return std::make_unique<StreamAdapter>(name, clock, run);
                   }});

  types.push_back(
      {"trf_sequencer",
       "reads the TRF once for each packet, nested loops",
       UnitCount::kOne,
       true,
       {number("outstanding", 4, 1, 4096, "reads", "A", "issued and not yet handed on")},
       {out("request", "trf request"), in("data", "trf data"), out("out", "trf data")},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         return std::make_unique<TrfSequencer>(name, clock, run,
                                               TrfSequencer::Parameters{p.number("outstanding")});
       }});

  types.push_back(
      {"multiplier",
       "multiplies a packet by an operand in every active lane, a packet a cycle",
       UnitCount::kOne,
       false,
       {number("macs_4bit", 128, 1, 1 << 20, "MACs", "B", "a lane a cycle, i4 and i5"),
        number("macs_8bit", 64, 1, 1 << 20, "MACs", "B", "a lane a cycle, i8, i9 and f8"),
        number("macs_16bit", 32, 1, 1 << 20, "MACs", "B", "a lane a cycle, bf16")},
       {in("stream", "stream"), in("trf", "trf data"), out("out", "stream")},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make) {
         return std::make_unique<Multiplier>(name, clock, run);
       }});

  types.push_back(
      {"packet_reducer",
       "a tree of adders a lane that sums the innermost products of a packet",
       UnitCount::kOne,
       false,
       {number("latency_4bit", 7, 1, kMaxCycles, "cycles", "B", "to the next unit, i4 and i5"),
        number("latency_8bit", 6, 1, kMaxCycles, "cycles", "B", "to the next unit, i8, i9 and f8"),
        number("latency_16bit", 5, 1, kMaxCycles, "cycles", "B", "to the next unit, bf16"),
        number("columns", 32, 1, 4096, "columns", "B", "that leave, at most")},
       {in("in", "stream"), out("out", "stream")},
       {{"latency_4bit", "out"}, {"latency_8bit", "out"}, {"latency_16bit", "out"}},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         PacketReducer::Parameters parameters;
         parameters.latency_4bit = p.number("latency_4bit");
         parameters.latency_8bit = p.number("latency_8bit");
         parameters.latency_16bit = p.number("latency_16bit");
         parameters.columns = p.number("columns");
         return std::make_unique<PacketReducer>(name, clock, run, parameters);
       }});

  types.push_back({"time_reducer",
                   "accumulates packets over time in slots of the accumulator",
                   UnitCount::kOne,
                   false,
                   {number("cells", 1024, 1, 1 << 24, "cells", "B", "of 32 bits"),
                    number("columns", 32, 1, 4096, "columns", "B", "of a packet, at most")},
                   {in("in", "stream"), out("out", "stream"), in("release", "slot release")},
                   {},
                   [](const char* name, Clock& clock, const RunContext& run, Make p) {
                     return std::make_unique<TimeReducer>(
                         name, clock, run,
                         TimeReducer::Parameters{p.number("cells"), p.number("columns")});
                   }});

  types.push_back({"lane_folder",
                   "puts finished slots on the output bus, one flit a cycle",
                   UnitCount::kOne,
                   false,
                   {number("bus_elements", 8, 1, 256, "elements", "B", "of 32 bits a cycle")},
                   {in("in", "stream"), out("out", "stream"), out("vector", "stream"),
                    out("inter", "stream"), out("release", "slot release")},
                   {},
                   [](const char* name, Clock& clock, const RunContext& run, Make p) {
                     return std::make_unique<LaneFolder>(
                         name, clock, run, LaneFolder::Parameters{p.number("bus_elements")});
                   }});

  types.push_back(
      {"vcg",
       "tags the flits of a reduction with the number of their elements that are data",
       UnitCount::kOne,
       false,
       {},
       {in("in", "stream"), in("sub_in", "stream"), in("reduced", "stream"), out("out", "stream")},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make) {
         return std::make_unique<Vcg>(name, clock, run);
       }});

  types.push_back(
      {"vector_engine",
       "works on the elements of a slice: 8 a cycle, or 4 between narrow and widen",
       UnitCount::kOne,
       false,
       {number("reduce_slots", 8, 1, 1024, "slots", "B", "of intra-slice reduce"),
        number("alu_latency", 1, 0, kMaxCycles, "cycles", "B",
               "that each ALU a chain uses adds to the link's"),
        number("convert_latency", 0, 0, kMaxCycles, "cycles", "A",
               "that each fxp_to_fp and fp_to_fxp adds")},
       {in("in", "stream"), out("out", "stream"), out("inter", "stream")},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         return std::make_unique<VectorEngine>(
             name, clock, run,
             VectorEngine::Parameters{p.number("alu_latency"), p.number("convert_latency")});
       }});

  types.push_back(
      {"inter_slice_reducer",
       "folds neighbouring slices into one value along a ring, a flit a cycle",
       UnitCount::kOne,
       false,
       {number("hop_cycles", 1, 0, 1000, "cycles", "A", "from one slice of the ring to the next"),
        number("hop_cycles_contraction", 1, 0, 1000, "cycles", "A",
               "the same of what comes straight from a contraction")},
       {in("in", "stream"), in("sub_in", "stream"), in("vector", "stream"), out("chain", "stream"),
        out("out", "stream")},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         return std::make_unique<InterSliceReducer>(
             name, clock, run,
             InterSliceReducer::Parameters{p.number("hop_cycles"),
                                           p.number("hop_cycles_contraction")});
       }});

  types.push_back({"cast",
                   "converts 32-bit elements to narrower ones, a flit a cycle, a path a context",
                   UnitCount::kOne,
                   false,
                   {},
                   {in("in", "stream"), in("vector", "stream"), in("inter", "stream"),
                    out("out", "stream"), in("sub_in", "stream"), out("sub_out", "stream"),
                    out("vrf", "stream"), out("transpose", "stream")},
                   {},
                   [](const char* name, Clock& clock, const RunContext& run, Make) {
                     return std::make_unique<CastEngine>(name, clock, run,
                                                         CastEngine::Parameters{});
                   }});

  types.push_back(
      {"transpose",
       "swaps Time and Packet: matrices come in row by row and leave column by column",
       UnitCount::kOne,
       false,
       {number("valid_4bit", 16, 1, 256, "elements", "B", "taken of a flit, 4-bit types"),
        number("valid", 8, 1, 256, "elements", "B", "taken of a flit, other types"),
        number("columns", 16, 1, 4096, "columns", "B", "of each of its two buffers"),
        number("column_bytes", 8, 4, 256, "bytes", "B", "of a column: in_rows elements at most")},
       {in("in", "stream"), out("out", "stream"), out("sub_out", "stream")},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make) {
         return std::make_unique<TransposeEngine>(name, clock, run, TransposeEngine::Parameters{});
       }});

  types.push_back({"commit_adapter",
                   "trims flits and casts f32 to bf16, a flit a cycle",
                   UnitCount::kOneAContext,
                   false,
                   {context()},
                   {in("in", "stream"), in("transposed", "stream"), out("out", "stream")},
                   {},
                   [](const char* name, Clock& clock, const RunContext& run, Make p) {
                     return std::make_unique<CommitAdapter>(name, clock, run,
                                                            CommitAdapter::Parameters{p.context()});
                   }});

  types.push_back(
      {"commit_sequencer",
       "nested loops that write the data memory, one access a cycle",
       UnitCount::kOneAContext,
       false,
       {context(), number("max_write_bytes", 32, 1, 32, "bytes", "B", "largest access"),
        number("fixed_write_bytes", 0, 0, 32, "bytes", "B", "every access; 0: not fixed")},
       {in("in", "stream"), out("request", "dm request")},
       {},
       [](const char* name, Clock& clock, const RunContext& run, Make p) {
         return std::make_unique<CommitSequencer>(name, clock, run,
                                                  CommitSequencer::Parameters{p.context()});
       }});

  return types;
}

}  // namespace

const char* name(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kNumber:
      return "number";
    case ParameterKind::kFlag:
      return "flag";
    case ParameterKind::kText:
      return "text";
    case ParameterKind::kList:
      break;
  }
  return "list";
}

const ParameterContent& UnitParameters::find(const std::string& name) const {
  for (const NamedParameter& parameter : unit_.parameters) {
    if (parameter.name == name) return parameter.parameter.value;
  }
  throw InternalError(fmt::format("unit {} has no parameter {}", unit_.name, name));
}

uint64_t UnitParameters::number(const std::string& name) const {
  return static_cast<uint64_t>(std::get<double>(find(name)));
}

bool UnitParameters::flag(const std::string& name) const { return std::get<bool>(find(name)); }

const std::string& UnitParameters::text(const std::string& name) const {
  return std::get<std::string>(find(name));
}

const std::vector<std::string>& UnitParameters::list(const std::string& name) const {
  return std::get<std::vector<std::string>>(find(name));
}

Context UnitParameters::context() const {
  return text("context") == "main" ? Context::kMain : Context::kSub;
}

const ParameterSpec* UnitType::parameter(const std::string& name) const {
  const auto it = std::find_if(parameters.begin(), parameters.end(),
                               [&](const ParameterSpec& p) { return p.name == name; });
  return it == parameters.end() ? nullptr : &*it;
}

const PortSpec* UnitType::port(const std::string& name) const {
  const auto it =
      std::find_if(ports.begin(), ports.end(), [&](const PortSpec& p) { return p.name == name; });
  return it == ports.end() ? nullptr : &*it;
}

const UnitType* find_type(const UnitTypes& types, const std::string& name) {
  const auto it =
      std::find_if(types.begin(), types.end(), [&](const UnitType& t) { return t.name == name; });
  return it == types.end() ? nullptr : &*it;
}

const UnitTypes& unit_types() {
  static const UnitTypes kTypes = make_unit_types();
  return kTypes;
}

static ParameterSpec overhead(const std::string& name, const std::string& of) {
  return number(name, 0, 0, 1'000'000, "cycles", "A",
                "the same " + of + "; 0: as command_overhead");
}

const std::vector<ParameterSpec>& machine_parameters() {
  static const std::vector<ParameterSpec> kParameters = {
      number("clusters", 2, 1, 64, "clusters", "B", "of a chip"),
      number("slices", 256, 1, 4096, "slices", "B", "of a cluster, one pipeline each"),
      number("lanes", 8, 1, 64, "lanes", "S", "of a slice"),
      number("flit_bytes", 32, 8, 256, "bytes", "S", "unit of transfer from Collect on"),
      number("packet_bytes", 64, 8, 512, "bytes", "S", "what the multipliers take a lane a cycle"),
      number("command_overhead", 263, 0, 1'000'000, "cycles", "C",
             "from a command's begin to its first access"),
      overhead("overhead_sub", "of a load of the register files"),
      overhead("overhead_sub_vector", "of a vector chain in sub"),
      overhead("overhead_move", "of a copy in main"),
      overhead("overhead_switch", "of a switch in main, without a contraction or vector chain"),
      overhead("overhead_contraction", "of a contraction without a vector chain"),
      overhead("overhead_contraction_reduce",
               "of a contraction and an inter-slice reduction alone"),
      overhead("overhead_vector", "of a vector chain in main"),
      overhead("overhead_vector_to_vrf", "of a vector chain in main into the VRF"),
      number("overlap_drain", 0, 0, 1, "", "A",
             "1: what a command of main has made drains during the overhead of the next one"),
      number("sequencer_entries", 8, 1, 64, "loops", "S", "nested loops of a sequencer"),
      number("sequencer_max_size", 65536, 1, 1u << 31, "iterations", "S", "of one loop"),
      number("data_memory_align", 128, 1, 1 << 20, "bytes", "A", "of tensors placed automatically"),
      number("dmn_slices", 32, 1, 64, "slices", "B", "of a data memory network"),
      number("dma_startup", 500, 0, 1'000'000, "cycles", "B",
             "of a DMA, from its begin to its first data"),
      number("dma_startup_to_hbm", 0, 0, 1'000'000, "cycles", "A",
             "the same from data memory to HBM; 0: as dma_startup"),
      number("dma_startup_in_dm", 0, 0, 1'000'000, "cycles", "A",
             "the same within the data memory; 0: as dma_startup"),
      number("dma_startup_engines", 0, 0, 1'000'000, "cycles", "A",
             "that a start-up takes longer where several engines work"),
      number("dma_index_cycles", 0, 0, 1'000'000, "cycles", "A",
             "of a move by an index, between the last index and the first row of a segment"),
      number("dma_scatter_cycles", 0, 0, 1'000'000, "cycles", "A",
             "the same of a scatter; 0: as dma_index_cycles"),
      number("dma_dm_to_hbm_in_turn", 1, 0, 1, "", "A",
             "1: a move from DM to HBM reads and writes in turn; 0: both in a cycle"),
      number("starving_alone", 0, 0, 1, "", "A",
             "1: a command that keeps a bank for longer than a DMA may wait runs beside no DMA"),
      number("dma_request_bytes", 256, 8, 4096, "bytes", "B", "of a request of a DMA engine"),
      number("dma_packet_bytes", 4096, 8, 1 << 20, "bytes", "B", "of a packet of a DMA, at most"),
      number("watchdog_cycles", 10'000, 1, 1e12, "cycles", "A",
             "without any item moving while a command is open: the machine is stuck"),
  };
  return kParameters;
}

}  // namespace rngdsim
