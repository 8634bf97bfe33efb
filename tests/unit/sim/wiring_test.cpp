// SPDX-License-Identifier: Apache-2.0
// Broken topologies: what is said, and where. Each case edits the shipped file.
#include "sim/wiring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/limits.h"
#include "tests/unit/sim/topology_text.h"

namespace rngdsim {
namespace {

using test::edited;
using test::Edits;
using test::parsed;
using test::place_of;
using test::shipped_topology;
using test::shipped_topology_text;
using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

struct Expected {
  std::string anchor;  // the diagnostic points at this text; empty: at the file
  std::string message;
  std::string hint;  // "@anchor": "first on line" and the line of that text
};
struct Broken {
  std::string name;
  Edits edits;
  std::vector<Expected> expected;  // all of them, in any order
};
void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.name; }

const std::vector<Broken>& broken_topologies() {
  static const std::vector<Broken> cases = {
      {"UnknownType",
       {{"type: stream_adapter}", "type: stream_adaptor}"}},
       {{"stream_adaptor}", "unknown unit type 'stream_adaptor'", "did you mean 'stream_adapter'?"},
        {"", "no unit of type stream_adapter",
         "packs one or two flits into a packet, sends it to the lanes and again in time"}}},
      {"UnknownParameter",
       {{"    rows: {value: 4096", "    row: {value: 4096"}},
       {{"row: {value: 4096", "unit 'data_memory' (data_memory) has no parameter 'row'",
         "did you mean 'rows'?"}}},
      {"UnknownMachineParameter",
       {{"  lanes: {value: 8, source: S}", "  lane: {value: 8, source: S}"}},
       {{"lane: {value: 8", "'machine' has no parameter 'lane'", "did you mean 'lanes'?"}}},
      {"ParameterOfAUnitThatTakesNone",
       {{"{type: stream_adapter}", "{type: stream_adapter, zzz: 1}"}},
       {{"zzz: 1", "unit 'stream_adapter' (stream_adapter) has no parameter 'zzz'",
         "it takes none"}}},
      {"ValueTooLarge",
       {{"banks: {value: 16, source: B}", "banks: {value: 65, source: B}"}},
       {{"65, source: B}",
         "'banks' of unit 'data_memory' (data_memory) must be 1 to 64 banks, got 65", ""}}},
      {"ValueTooSmall",
       {{"read_latency: {value: 1, source: A, note", "read_latency: {value: 0, source: A, note"}},
       {{"0, source: A, note: cycles from grant",
         "'read_latency' of unit 'data_memory' (data_memory) must be 1 to 100000 cycles, got 0",
         ""},
        {"{from: data_memory.main_fetch_data",
         "the link's latency of 1 cycles exceeds 'read_latency' of unit 'data_memory', 0 cycles, "
         "which includes it",
         ""},
        {"{from: data_memory.sub_fetch_data",
         "the link's latency of 1 cycles exceeds 'read_latency' of unit 'data_memory', 0 cycles, "
         "which includes it",
         ""}}},
      {"NoWholeNumber",
       {{"cells: {value: 1024", "cells: {value: 10.5"}},
       {{"10.5", "'cells' of unit 'time_reducer' (time_reducer) must be a whole number, got 10.5",
         ""}}},
      {"TextForANumber",
       {{"cells: {value: 1024", "cells: {value: many"}},
       {{"many", "'cells' of unit 'time_reducer' (time_reducer) must be a number, got a text",
         ""}}},
      {"NumberForAList",
       {{"priority: {value: [main_fetch, main_commit, sub_fetch, sub_commit]",
         "priority: {value: 3"}},
       {{"3, source: B}\n    # DMA comes",
         "'priority' of unit 'data_memory' (data_memory) must be a list, got a number", ""}}},
      {"UnknownListEntry",
       {{"[main_fetch, main_commit, sub_fetch, sub_commit]",
         "[main_fetch, main_comit, sub_fetch, sub_commit]"}},
       {{"[main_fetch, main_comit",
         "'priority' of unit 'data_memory' (data_memory) cannot hold 'main_comit'",
         "did you mean 'main_commit'?"},
        {"[main_fetch, main_comit",
         "'priority' of unit 'data_memory' (data_memory) lacks 'main_commit'",
         "it must name each once: main_fetch, main_commit, sub_fetch, sub_commit"}}},
      {"ListEntryTwice",
       {{"[main_fetch, main_commit, sub_fetch, sub_commit]",
         "[main_fetch, main_commit, sub_fetch, sub_commit, sub_fetch]"}},
       {{"[main_fetch, main_commit, sub_fetch, sub_commit, sub_fetch]",
         "'priority' of unit 'data_memory' (data_memory) holds 'sub_fetch' twice", ""}}},
      {"UnknownContext",
       {{"{type: collect, context: sub}", "{type: collect, context: dma}"}},
       {{"dma}", "'context' of unit 'sub_collect' (collect) cannot be 'dma'", "one of main, sub"}}},
      {"MissingContext",
       {{"{type: collect, context: sub}", "{type: collect}"}},
       {{"sub_collect: {type", "unit 'sub_collect' (collect) needs the parameter 'context'",
         "whose commands it serves: main, sub"}}},
      {"MissingContextOfTheMainUnit",
       {{"{type: collect, context: main}", "{type: collect}"}},
       {{"main_collect: {type", "unit 'main_collect' (collect) needs the parameter 'context'",
         "whose commands it serves: main, sub"}}},
      {"PortOfTheOtherContext",
       {{"{from: main_collect.vrf, to: vrf.main_store}",
         "{from: main_collect.vector, to: vrf.main_store}"}},
       {{"main_collect.vector",
         "unit 'main_collect' (collect) has no port 'vector'; units with context: sub do",
         "one of in, switched, out, store, vrf"},
        {"main_collect: {type", "output 'main_collect.vrf' is not connected",
         "it carries 'stream'"}}},
      {"PortOfOneContextMissing",
       {{"  - {from: sub_collect.vector, to: vcg.sub_in}\n", ""}},
       {{"sub_collect: {type", "output 'sub_collect.vector' is not connected",
         "it carries 'stream'"},
        {"vcg: {type", "input 'vcg.sub_in' is not connected", "it takes 'stream'"}}},
      {"AlignmentOfTheVrf",
       {{"align: {value: 32", "align: {value: 24"}},
       {{"24, source: A, note: of tensors", "'align' of unit 'vrf' must be a power of two, got 24",
         ""}}},
      {"SecondUnitOfAContext",
       {{"{type: collect, context: sub}", "{type: collect, context: main}"}},
       {{"sub_collect: {type",
         "unit 'sub_collect' is a second collect with context: main; the machine has one",
         "'main_collect' is the first"},
        {"", "no unit of type collect with context: sub",
         "pads packets to whole flits and cuts them, one flit a cycle"}}},
      {"SecondUnit",
       {{"  cast: {type: cast}", "  cast: {type: cast}\n  cast_2: {type: cast}"}},
       {{"cast_2: {type", "unit 'cast_2' is a second cast; the machine has one",
         "'cast' is the first"},
        {"cast_2: {type", "unit 'cast_2' is connected to nothing",
         "ports: in, vector, inter, out, sub_in, sub_out, vrf, transpose"}}},
      {"MissingUnit",
       {{"  sub_source: {type: stream_source, context: sub}\n", ""}},
       {{"", "no unit of type stream_source with context: sub",
         "plays the part of what comes before the first stage of a stream command"}}},
      {"UnknownUnitInAConnection",
       {{"{from: main_fetch.out, to", "{from: main_fecth.out, to"}},
       {{"main_fecth.out", "unknown unit 'main_fecth'", "did you mean 'main_fetch'?"},
        {"main_fetch:\n", "output 'main_fetch.out' is not connected", "it carries 'stream'"}}},
      {"UnknownPort",
       {{"to: stream_adapter.in}", "to: stream_adapter.input}"}},
       {{"stream_adapter.input", "unit 'stream_adapter' (stream_adapter) has no port 'input'",
         "one of in, out"},
        {"stream_adapter: {type", "input 'stream_adapter.in' is not connected",
         "it takes 'stream'"}}},
      {"PortTwice",
       {{"  - {from: stream_adapter.out, to: multiplier.stream}",
         "  - {from: stream_adapter.out, to: multiplier.stream}\n"
         "  - {from: multiplier.out, to: multiplier.stream}"}},
       {{"multiplier.stream}\n  - {from: trf_sequencer.request",
         "port 'multiplier.stream' is connected twice", "@{from: stream_adapter.out"},
        {"multiplier.out, to: packet_reducer.in", "port 'multiplier.out' is connected twice",
         "@{from: multiplier.out, to: multiplier.stream"}}},
      {"PortMissing",
       {{"  - {from: lane_folder.release, to: time_reducer.release}   # slots drained\n", ""}},
       {{"lane_folder:\n", "output 'lane_folder.release' is not connected",
         "it carries 'slot release'"},
        {"time_reducer:\n", "input 'time_reducer.release' is not connected",
         "it takes 'slot release'"}}},
      {"WrongDirection",
       {{"{from: multiplier.out, to: packet_reducer.in}",
         "{from: packet_reducer.in, to: multiplier.out}"}},
       {{"packet_reducer.in, to: multiplier.out",
         "'packet_reducer.in' is an input, but stands after "
         "'from'",
         ""},
        {"multiplier.out}", "'multiplier.out' is an output, but stands after 'to'", ""}}},
      {"ItemsDiffer",
       {{"{from: trf.read_data, to: trf_sequencer.data}",
         "{from: trf.read_data, to: multiplier.stream}"},
        {"{from: stream_adapter.out, to: multiplier.stream}",
         "{from: stream_adapter.out, to: trf_sequencer.data}"}},
       {{"{from: trf.read_data",
         "'trf.read_data' carries 'trf data', 'multiplier.stream' takes "
         "'stream'",
         ""},
        {"{from: stream_adapter.out",
         "'stream_adapter.out' carries 'stream', 'trf_sequencer.data' "
         "takes 'trf data'",
         ""}}},
      {"UnconnectedUnit",
       {{"  - {from: main_collect.out, to: stream_adapter.in}\n", ""},
        {"  - {from: stream_adapter.out, to: multiplier.stream}\n",
         "  - {from: main_collect.out, to: multiplier.stream}\n"}},
       {{"stream_adapter: {type", "unit 'stream_adapter' is connected to nothing",
         "ports: in, out"}}},
      {"UnreachableUnits",
       {{"{from: cast.transpose, to: transpose.in}", "{from: transpose.out, to: transpose.in}"},
        {"{from: transpose.out, to: main_commit_adapter.transposed}",
         "{from: cast.transpose, to: main_commit_adapter.transposed}"}},
       {{"transpose:\n", "no item can reach unit 'transpose'",
         "no way leads to it from a unit in which commands start"}}},
      {"LinkSlowerThanWhatIncludesIt",
       {{"{from: fetch_adapter.out, to: main_collect.in}",
         "{from: fetch_adapter.out, to: main_collect.in, latency: 2}"}},
       {{"{from: fetch_adapter.out",
         "the link's latency of 2 cycles exceeds 'cast_latency' of unit "
         "'fetch_adapter', 1 cycles, which includes it",
         ""},
        {"{from: fetch_adapter.out",
         "the link's latency of 2 cycles exceeds 'zero_point_latency' of unit "
         "'fetch_adapter', 1 cycles, which includes it",
         ""},
        {"{from: fetch_adapter.out",
         "the link's latency of 2 cycles exceeds 'lookup_latency' of unit "
         "'fetch_adapter', 1 cycles, which includes it",
         ""}}},
      {"TwoFaultsAtOnce",
       {{"type: lane_folder", "type: lane_holder"}, {"lanes: {value: 8", "lanes: {value: 0"}},
       {{"lane_holder", "unknown unit type 'lane_holder'", "did you mean 'lane_folder'?"},
        {"", "no unit of type lane_folder",
         "puts finished slots on the output bus, one flit a cycle"},
        {"0, source: S}            # rows", "'lanes' of 'machine' must be 1 to 64 lanes, got 0",
         ""}}},
      // Rules between numbers.
      {"TransposeTakesMoreThanAFlit",
       {{"valid: {value: 8", "valid: {value: 9"},
        {"column_bytes: {value: 8", "column_bytes: {value: 33"}},
       {{"9, source: B, note: the same",
         "'valid' of unit 'transpose' is 36 bytes, more than a flit, 32", ""},
        {"33, source: B, note: \"16",
         "'column_bytes' of unit 'transpose' is 33 bytes, more than a flit, 32", ""}}},
      {"TransposeTakesMoreThanItsBuffersHold",
       {{"columns: {value: 16, source: B, note: of each",
         "columns: {value: 4, source: B, note: of each"}},
       {{"16, source: B, note: elements",
         "'valid_4bit' of unit 'transpose' is 16, more than the 8 columns of its two buffers",
         ""}}},
      {"LanesNoPowerOfTwo",
       {{"lanes: {value: 8", "lanes: {value: 6"}},
       {{"6, source: S}", "'lanes' of 'machine' must be a power of two, got 6", ""}}},
      {"PacketNotTwoFlits",
       {{"packet_bytes: {value: 64", "packet_bytes: {value: 128"}},
       {{"128, source: S}    #", "'packet_bytes' of 'machine' must be two flits, 64 bytes, got 128",
         ""}}},
      {"TrfRowNotAFlit",
       {{"row_bytes: {value: 32", "row_bytes: {value: 64"}},
       {{"64, source: B}\n    cache_rows",
         "'row_bytes' of unit 'trf' must be one flit, 32 bytes, "
         "got 64",
         ""}}},
      {"FixedAccessOfMain",
       {{"fixed_read_bytes: {value: 0", "fixed_read_bytes: {value: 8"}},
       {{"8, source: B}\n    outstanding",
         "'fixed_read_bytes' of unit 'main_fetch' must be 0: a fixed access of the main context is "
         "not modelled",
         ""}}},
      {"AccessNoPowerOfTwo",
       {{"max_write_bytes: {value: 32", "max_write_bytes: {value: 24"}},
       {{"24, source: B}\n    fixed_write",
         "'max_write_bytes' of unit 'main_commit' must be a power of two, got 24", ""}}},
      {"WritesBelowEightBytes",
       {{"max_write_bytes: {value: 32", "max_write_bytes: {value: 4"}},
       {{"4, source: B}\n    fixed_write",
         "'max_write_bytes' of unit 'main_commit' must be a multiple of 8 bytes, got 4", ""}}},
      {"TwoEnginesOfANumber",
       {{"{type: dma_engine, engine: {value: 3,", "{type: dma_engine, engine: {value: 2,"}},
       {{"2, source: B}}\n  dma_4", "unit 'dma_3' is a second engine 2", "'dma_2' is the first"}}},
      {"AGapInTheEngines",
       {{"  dma_6: {type: dma_engine, engine: {value: 6, source: B}}\n", ""},
        {"  - {from: dma_6.hbm, to: hbm.dma_6, depth: {value: 4, source: A}}\n", ""},
        {"  - {from: hbm.dma_6_data, to: dma_6.hbm_data, depth: {value: 4, source: A}}\n", ""},
        {"  - {from: dma_6.dm, to: data_memory.dma_6, depth: {value: 4, source: A}}\n", ""},
        {"  - {from: dma_6.host, to: host.dma_6, depth: {value: 4, source: A}}\n", ""},
        {"  - {from: host.dma_6_data, to: dma_6.host_data, depth: {value: 4, source: A}}\n", ""},
        {"  - {from: data_memory.dma_6_data, to: dma_6.dm_data, depth: {value: 4, source: A}}\n",
         ""}},
       {{"7, source: B}}\n\n  # 48 GB", "unit 'dma_7' is engine 7; the machine has 7, 0 to 6",
         ""}}},
      {"AnEngineWithoutHbm",
       {{"  - {from: dma_6.hbm, to: hbm.dma_6, depth: {value: 4, source: A}}\n", ""}},
       {{"dma_6: {type", "output 'dma_6.hbm' is not connected", "it carries 'dma request'"}}},
      {"AnswersForAnother",
       {{"to: dma_6.hbm_data", "to: dma_X.hbm_data"},
        {"to: dma_7.hbm_data", "to: dma_6.hbm_data"},
        {"to: dma_X.hbm_data", "to: dma_7.hbm_data"}},
       {{"{from: dma_6.hbm,",
         "'dma_6.hbm' asks at 'hbm.dma_6', but is not answered from 'hbm.dma_6_data'",
         "connect it to 'dma_6.hbm_data'"},
        {"{from: dma_7.hbm,",
         "'dma_7.hbm' asks at 'hbm.dma_7', but is not answered from 'hbm.dma_7_data'",
         "connect it to 'dma_7.hbm_data'"}}},
      {"MoreMemoryThanIsSimulated",
       {{"rows: {value: 4096", "rows: {value: 262144"}},
       {{"262144, source: B}\n    read_latency",
         "unit 'data_memory' has 33,554,432 bytes a slice; at most 16,777,216 are simulated",
         "a limit of this program, see 'Limits' in docs/kernel-file.md"}}},
      {"MoreLanesThanAreSimulated",
       {{"slices: {value: 256", "slices: {value: 4096"}, {"lanes: {value: 8", "lanes: {value: 16"}},
       {{"4096, source: B}         # of a cluster",
         "2 clusters of 4,096 slices of 16 lanes are 131,072 lanes; at most 65,536 are simulated",
         "a limit of this program, see 'Limits' in docs/kernel-file.md"}}},
  };
  return cases;
}

class BrokenTopology : public testing::TestWithParam<Broken> {};

TEST_P(BrokenTopology, IsRefusedWithAllItsFaults) {
  const std::string text = edited(shipped_topology_text(), GetParam().edits);
  Diagnostics diagnostics;
  limits_from(parsed(text), diagnostics);
  const auto line = [](const std::string& place, const std::string& message,
                       const std::string& hint) { return place + " | " + message + " | " + hint; };
  std::vector<std::string> expected, got;
  for (const Expected& e : GetParam().expected) {
    const std::string place = e.anchor.empty() ? "" : ":" + place_of(text, e.anchor);
    std::string hint = e.hint;
    if (!hint.empty() && hint[0] == '@') {
      const std::string first = place_of(text, hint.substr(1));
      hint = "first on line " + first.substr(0, first.find(':'));
    }
    expected.push_back(line("t.yaml" + place, e.message, hint));
  }
  for (const Diagnostic& d : diagnostics.all()) {
    EXPECT_EQ(d.severity, Severity::kError);
    got.push_back(line(to_string(d.where), d.message, d.hint));
  }
  EXPECT_THAT(got, UnorderedElementsAreArray(expected));
}

INSTANTIATE_TEST_SUITE_P(Cases, BrokenTopology, testing::ValuesIn(broken_topologies()),
                         [](const auto& info) { return info.param.name; });

// ---- What is right ------------------------------------------------------------------------------

TEST(ResolveTopology, AcceptsTheShippedFile) {
  Diagnostics diagnostics;
  const TopologyDecl resolved = resolve_topology(shipped_topology(), diagnostics);
  EXPECT_EQ(diagnostics.all().size(), 0u) << diagnostics.render();
  EXPECT_EQ(resolved.units.size(), shipped_topology().units.size());
}

TEST(ResolveTopology, FillsInDefaultsOfUnits) {
  Diagnostics diagnostics;
  const TopologyDecl resolved = resolve_topology(
      shipped_topology({{"    outstanding: {value: 4, source: A, note: reads asked for and not yet "
                         "handed on}\n",
                         ""}}),
      diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  for (const UnitDecl& unit : resolved.units) {
    if (unit.name != "main_fetch") continue;
    std::vector<std::string> names;
    for (const NamedParameter& parameter : unit.parameters) names.push_back(parameter.name);
    EXPECT_THAT(names, ElementsAre("context", "max_read_bytes", "fixed_read_bytes", "outstanding"));
    EXPECT_EQ(UnitParameters(unit).number("outstanding"), 4u);
    EXPECT_EQ(unit.parameters[3].parameter.source, "A");
  }
}

TEST(ResolveTopology, GivesLinksTheDepthOfFullRate) {
  EXPECT_EQ(default_depth(1), 2u);
  EXPECT_EQ(default_depth(2), 3u);
  EXPECT_EQ(default_depth(40), 41u);
  Diagnostics diagnostics;
  const TopologyDecl resolved = resolve_topology(
      shipped_topology({{"{from: cast.out, to: main_commit_adapter.in}",
                         "{from: cast.out, to: main_commit_adapter.in, latency: 5}"},
                        {"{from: cast.sub_out, to: sub_commit_adapter.in}",
                         "{from: cast.sub_out, to: sub_commit_adapter.in, depth: 1}"}}),
      diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  for (const ConnectionDecl& connection : resolved.connections) {
    if (connection.from.unit == "cast" && connection.from.port == "out") {
      EXPECT_EQ(connection.depth, 6u);
    } else if (connection.from.unit == "cast" && connection.from.port == "sub_out") {
      EXPECT_EQ(connection.depth, 1u);  // given
    } else if (connection.from.unit == "packet_reducer") {
      EXPECT_EQ(connection.depth, 9u);  // given
    } else if (connection.from.port.find("hbm") == 0 || connection.from.port.find("dm") == 0 ||
               connection.from.port.find("host") == 0) {
      EXPECT_EQ(connection.depth, 4u);  // given
    } else {
      EXPECT_EQ(connection.depth, 2u) << connection.from.unit;
    }
  }
}

TEST(LimitsFrom, ReadsTheDocumentedMachine) {
  Diagnostics diagnostics;
  const MachineLimits limits = limits_from(shipped_topology(), diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  EXPECT_EQ(limits.clusters, 2u);
  EXPECT_EQ(limits.slices, 256u);
  EXPECT_EQ(limits.lanes, 8u);
  EXPECT_EQ(limits.flit_bytes, 32u);
  EXPECT_EQ(limits.packet_bytes, 64u);
  EXPECT_EQ(limits.command_overhead, 263u);
  EXPECT_EQ(limits.sequencer.max_entries, 8u);
  EXPECT_EQ(limits.sequencer.max_size, 65536u);
  EXPECT_EQ(limits.dm_bytes(), 512u * 1024u);
  EXPECT_EQ(limits.dm_align, 128u);
  EXPECT_EQ(limits.trf_bytes(), 65536u);
  EXPECT_EQ(limits.main_max_read, 32u);
  EXPECT_EQ(limits.sub_fixed_read, 8u);
  EXPECT_EQ(limits.main_max_write, 32u);
  EXPECT_EQ(limits.sub_fixed_write, 8u);
  EXPECT_EQ(limits.accumulator_cells, 1024u);
  EXPECT_EQ(limits.accumulator_columns, 32u);
  EXPECT_EQ(limits.bus_elements, 8u);
  EXPECT_EQ(limits.vrf_bytes, 8192u);
  EXPECT_EQ(limits.vrf_align, 32u);
  EXPECT_EQ(limits.clock_mhz, 1000u);
  EXPECT_EQ(limits.hbm_bytes, uint64_t{48} << 30);
  EXPECT_EQ(limits.hbm_align, 256u);
  EXPECT_EQ(limits.host_bytes_per_cycle, 30u);
  EXPECT_EQ(limits.dma_engines, 8u);
  EXPECT_EQ(limits.dmn_slices, 32u);
  EXPECT_EQ(limits.dma_startup, 500u);
  EXPECT_EQ(limits.dma_request_bytes, 256u);
  EXPECT_EQ(limits.dma_packet_bytes, 4096u);
  EXPECT_EQ(limits.dm_slice_stride, uint64_t{4} << 20);
}

TEST(LimitsFrom, FollowsTheFile) {
  Diagnostics diagnostics;
  const MachineLimits limits = limits_from(
      shipped_topology(
          {{"  clusters: {value: 2, source: B}", "  clusters: 1"},
           {"command_overhead:                       # cycles from a command's begin to "
            "its first access\n    {value: 263, source: C, note: commands of one "
            "context do not overlap}",
            "command_overhead: 0"},
           {"max_read_bytes: {value: 32", "max_read_bytes: {value: 16"},
           {"cells: {value: 1024", "cells: {value: 2048"}}),
      diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  EXPECT_EQ(limits.clusters, 1u);
  EXPECT_EQ(limits.command_overhead, 0u);
  EXPECT_EQ(limits.main_max_read, 16u);
  EXPECT_EQ(limits.accumulator_cells, 2048u);
}

TEST(SetParameter, ReplacesAndAdds) {
  TopologyDecl topology = shipped_topology();
  Diagnostics diagnostics;
  set_parameter(topology, "machine.command_overhead=0", diagnostics);
  set_parameter(topology, "time_reducer.cells=2048", diagnostics);
  set_parameter(topology, "data_memory.priority=[sub_fetch, main_fetch, main_commit, sub_commit]",
                diagnostics);
  const MachineLimits limits = limits_from(topology, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  EXPECT_EQ(limits.command_overhead, 0u);
  EXPECT_EQ(limits.accumulator_cells, 2048u);
}

TEST(SetParameter, RefusesWhatItCannotPlace) {
  for (const char* text : {"", "cells", "cells=3", "time_reducer.=3", ".cells=3"}) {
    TopologyDecl topology = shipped_topology();
    Diagnostics diagnostics;
    set_parameter(topology, text, diagnostics);
    ASSERT_EQ(diagnostics.error_count(), 1u) << text;
    EXPECT_EQ(diagnostics.all()[0].message, "must be unit.parameter=value");
  }
  TopologyDecl topology = shipped_topology();
  Diagnostics diagnostics;
  set_parameter(topology, "time_reducr.cells=3", diagnostics);
  ASSERT_EQ(diagnostics.error_count(), 1u);
  EXPECT_EQ(diagnostics.all()[0].message, "unknown unit 'time_reducr'");
  EXPECT_EQ(diagnostics.all()[0].hint, "did you mean 'time_reducer'?");
}

TEST(SetParameter, LeavesTheJudgementOfTheValueToTheTable) {
  TopologyDecl topology = shipped_topology();
  Diagnostics diagnostics;
  set_parameter(topology, "time_reducer.cells=many", diagnostics);
  set_parameter(topology, "time_reducer.cell=3", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  resolve_topology(topology, diagnostics);
  ASSERT_EQ(diagnostics.error_count(), 2u);
  EXPECT_EQ(diagnostics.render(),
            "--set time_reducer.cell=3: error: unit 'time_reducer' (time_reducer) has no parameter "
            "'cell'\n--set time_reducer.cell=3: hint: did you mean 'cells'?\n"
            "--set time_reducer.cells=many: error: 'cells' of unit 'time_reducer' (time_reducer) "
            "must be a number, got a text\n2 errors\n");
}

// ---- The table itself ---------------------------------------------------------------------------

TEST(UnitTypeTable, DocumentsEverything) {
  for (const UnitType& type : unit_types()) {
    EXPECT_FALSE(type.doc.empty()) << type.name;
    EXPECT_TRUE(type.make) << type.name;
    for (const ParameterSpec& parameter : type.parameters) {
      EXPECT_FALSE(parameter.doc.empty()) << type.name << "." << parameter.name;
      if (parameter.kind != ParameterKind::kNumber) continue;
      ASSERT_TRUE(parameter.default_value) << type.name << "." << parameter.name;
      const double value = std::get<double>(*parameter.default_value);
      EXPECT_GE(value, parameter.min) << type.name << "." << parameter.name;
      EXPECT_LE(value, parameter.max) << type.name << "." << parameter.name;
      EXPECT_EQ(parameter.source.size(), 1u) << type.name << "." << parameter.name;
      EXPECT_FALSE(parameter.unit.empty()) << type.name << "." << parameter.name;
    }
    for (const IncludedLatency& rule : type.latencies) {
      EXPECT_NE(type.parameter(rule.parameter), nullptr) << type.name << "." << rule.parameter;
      EXPECT_NE(type.port(rule.port), nullptr) << type.name << "." << rule.port;
    }
  }
  for (const ParameterSpec& parameter : machine_parameters()) {
    EXPECT_FALSE(parameter.doc.empty()) << parameter.name;
    EXPECT_TRUE(parameter.default_value) << parameter.name;
  }
}

}  // namespace
}  // namespace rngdsim
