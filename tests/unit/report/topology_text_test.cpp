// SPDX-License-Identifier: Apache-2.0
#include "report/topology_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/wiring.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;

TopologyDecl shipped() {
  Diagnostics diagnostics;
  const TopologyDecl topology =
      load_topology(RNGDSIM_SOURCE_DIR "/configs/topologies/rngd.yaml", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return topology;
}

TopologyDecl resolved(const TopologyDecl& topology) {
  Diagnostics diagnostics;
  TopologyDecl result = resolve_topology(topology, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return result;
}

void expect_same(const std::vector<NamedParameter>& a, const std::vector<NamedParameter>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].parameter.value, b[i].parameter.value) << a[i].name;
    EXPECT_EQ(a[i].parameter.source, b[i].parameter.source) << a[i].name;
    EXPECT_EQ(a[i].parameter.note, b[i].parameter.note) << a[i].name;
  }
}

TEST(TopologyYaml, LoadsToTheSameMachine) {
  TopologyDecl topology = shipped();
  topology.machine[0].parameter.note = "a note: with \"quotes\", # signs, {braces} and a \\";
  const TopologyDecl first = resolved(topology);
  Diagnostics diagnostics;
  const TopologyDecl again = parse_topology(topology_yaml(first), "again.yaml", diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render() << topology_yaml(first);
  const TopologyDecl second = resolved(again);
  EXPECT_EQ(second.name, first.name);
  EXPECT_EQ(second.clock_ghz.value, first.clock_ghz.value);
  expect_same(second.machine, first.machine);
  ASSERT_EQ(second.units.size(), first.units.size());
  for (size_t i = 0; i < first.units.size(); ++i) {
    EXPECT_EQ(second.units[i].name, first.units[i].name);
    EXPECT_EQ(second.units[i].type.value, first.units[i].type.value);
    expect_same(second.units[i].parameters, first.units[i].parameters);
  }
  ASSERT_EQ(second.connections.size(), first.connections.size());
  for (size_t i = 0; i < first.connections.size(); ++i) {
    EXPECT_EQ(second.connections[i].from.port, first.connections[i].from.port);
    EXPECT_EQ(second.connections[i].to.unit, first.connections[i].to.unit);
    EXPECT_EQ(second.connections[i].latency, first.connections[i].latency);
    EXPECT_EQ(second.connections[i].depth, first.connections[i].depth);
    EXPECT_EQ(second.connections[i].depth_source, first.connections[i].depth_source);
  }
  EXPECT_EQ(topology_yaml(second), topology_yaml(first));
}

TEST(TopologyYaml, WritesEveryDefault) {
  TopologyDecl topology = shipped();
  for (UnitDecl& unit : topology.units) {
    if (unit.type.value == "trf") unit.parameters.clear();
  }
  const std::string yaml = topology_yaml(resolved(topology));
  for (const ParameterSpec& spec : find_type(unit_types(), "trf")->parameters) {
    EXPECT_THAT(yaml, HasSubstr("\n    " + spec.name + ": "));
  }
}

TEST(TopologyYaml, QuotesTextThatYamlWouldTakeForSomethingElse) {
  TopologyDecl topology = resolved(shipped());
  topology.name = "1.0";
  EXPECT_THAT(topology_yaml(topology), HasSubstr("topology: \"1.0\"\n"));
  topology.name = "true";
  EXPECT_THAT(topology_yaml(topology), HasSubstr("topology: \"true\"\n"));
  topology.name = "";
  EXPECT_THAT(topology_yaml(topology), HasSubstr("topology: \"\"\n"));
}

TEST(TopologyText, DocumentsEveryTypeParameterAndConnection) {
  const TopologyDecl topology = resolved(shipped());
  const std::string text = topology_text(topology);
  EXPECT_THAT(text, HasSubstr("topology rngd"));
  for (const UnitType& type : unit_types()) {
    EXPECT_THAT(text, HasSubstr("\n  " + type.name + "  "));
    for (const ParameterSpec& spec : type.parameters) EXPECT_THAT(text, HasSubstr(spec.name));
  }
  for (const UnitDecl& unit : topology.units) EXPECT_THAT(text, HasSubstr("  " + unit.name + " "));
  EXPECT_THAT(text, HasSubstr("main_fetch.request"));
  EXPECT_THAT(text, HasSubstr("data_memory.main_fetch"));
  // 512 KB of a slice in 16 banks of 8 B: 4,096 rows; 263 cycles of overhead, from schedules.
  EXPECT_THAT(text, HasSubstr("rows 4,096"));
  EXPECT_THAT(text, HasSubstr("263"));
}

TEST(TopologyText, NoLineIsWiderThanTheReport) {
  std::string line;
  for (const char c : topology_text(resolved(shipped()))) {
    if (c != '\n') {
      line += c;
      continue;
    }
    EXPECT_LE(text_width(line), kReportWidth) << line;
    line.clear();
  }
}

}  // namespace
}  // namespace rngdsim
