// SPDX-License-Identifier: Apache-2.0
#include "config/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "support/diagnostic.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kSmall[] = R"(topology: small
clock_ghz: {value: 1.5, source: M, note: measured}
machine:
  slices: 4
  lanes: {value: 8, source: S}
units:
  fetch: {type: fetch_sequencer, context: main, max_read_bytes: {value: 32, source: B}}
  memory:
    type: data_memory
    fast: true
    order: {value: [fetch, dma], source: A}
    bare: [x]
connections:
  - {from: fetch.request, to: memory.fetch, latency: {value: 2, source: A}, depth: 5}
  - {from: memory.data, to: fetch.data}
)";

TopologyDecl parse_good_topology(const std::string& text) {
  Diagnostics diagnostics;
  TopologyDecl topology = parse_topology(text, "t.yaml", diagnostics);
  EXPECT_EQ(diagnostics.render(), "");
  return topology;
}

TEST(Topology, NameClockMachine) {
  const TopologyDecl topology = parse_good_topology(kSmall);
  EXPECT_EQ(topology.file, "t.yaml");
  EXPECT_EQ(topology.sha256.size(), 64U);
  EXPECT_EQ(topology.name, "small");
  EXPECT_EQ(std::get<double>(topology.clock_ghz.value), 1.5);
  EXPECT_EQ(topology.clock_ghz.source, "M");
  EXPECT_EQ(topology.clock_ghz.note, "measured");
  ASSERT_EQ(topology.machine.size(), 2U);
  EXPECT_EQ(topology.machine[0].name, "slices");
  EXPECT_EQ(std::get<double>(topology.machine[0].parameter.value), 4.0);
  EXPECT_EQ(topology.machine[0].parameter.source, "") << "a bare value has no source";
  EXPECT_EQ(topology.machine[1].parameter.source, "S");
  EXPECT_EQ(to_string(topology.machine[1].where), "t.yaml:5:3");
  EXPECT_EQ(to_string(topology.machine[1].parameter.where), "t.yaml:5:18");
}

TEST(Topology, UnitsKeepTheirParametersInOrder) {
  const TopologyDecl topology = parse_good_topology(kSmall);
  ASSERT_EQ(topology.units.size(), 2U);
  EXPECT_EQ(topology.units[0].name, "fetch");
  EXPECT_EQ(topology.units[0].type.value, "fetch_sequencer");
  EXPECT_EQ(to_string(topology.units[0].type.where), "t.yaml:7:17");
  ASSERT_EQ(topology.units[0].parameters.size(), 2U);
  EXPECT_EQ(topology.units[0].parameters[0].name, "context");
  EXPECT_EQ(std::get<std::string>(topology.units[0].parameters[0].parameter.value), "main");
  EXPECT_EQ(std::get<double>(topology.units[0].parameters[1].parameter.value), 32.0);
  const UnitDecl& memory = topology.units[1];
  ASSERT_EQ(memory.parameters.size(), 3U);
  EXPECT_TRUE(std::get<bool>(memory.parameters[0].parameter.value));
  EXPECT_THAT(std::get<std::vector<std::string>>(memory.parameters[1].parameter.value),
              ElementsAre("fetch", "dma"));
  EXPECT_EQ(memory.parameters[1].parameter.source, "A");
  EXPECT_THAT(std::get<std::vector<std::string>>(memory.parameters[2].parameter.value),
              ElementsAre("x"));
}

TEST(Topology, Connections) {
  const TopologyDecl topology = parse_good_topology(kSmall);
  ASSERT_EQ(topology.connections.size(), 2U);
  const ConnectionDecl& first = topology.connections[0];
  EXPECT_EQ(first.from.unit, "fetch");
  EXPECT_EQ(first.from.port, "request");
  EXPECT_EQ(first.to.unit, "memory");
  EXPECT_EQ(first.to.port, "fetch");
  EXPECT_EQ(to_string(first.where), "t.yaml:14:5");
  EXPECT_EQ(to_string(first.to.where), "t.yaml:14:31");
  EXPECT_EQ(first.latency, 2U);
  EXPECT_EQ(first.latency_source, "A");
  EXPECT_EQ(first.depth, 5U);
  EXPECT_EQ(first.depth_source, "");
  EXPECT_EQ(topology.connections[1].latency, 1U) << "where not given";
  EXPECT_EQ(topology.connections[1].depth, 0U) << "where not given";
}

// A quoted number is a text: the unit type says whether that is meant.
TEST(Topology, QuotesMakeATextOfANumberOrFlag) {
  std::string text = kSmall;
  text.replace(text.find("slices: 4"), 9, "slices: '4'");
  text.replace(text.find("fast: true"), 10, "fast: 'true'");
  const TopologyDecl topology = parse_good_topology(text);
  EXPECT_EQ(std::get<std::string>(topology.machine[0].parameter.value), "4");
  EXPECT_EQ(std::get<std::string>(topology.units[1].parameters[0].parameter.value), "true");
}

TEST(LoadTopology, WhatCannotBeReadIsAnError) {
  Diagnostics diagnostics;
  load_topology("/no/such/topology.yaml", diagnostics);
  EXPECT_THAT(diagnostics.render(), HasSubstr("/no/such/topology.yaml: error: cannot read"));
}

TEST(Topology, NoPrefixThrows) {
  const std::string text = kSmall;
  for (size_t n = 0; n < text.size(); ++n) {
    Diagnostics diagnostics;
    EXPECT_NO_THROW(parse_topology(text.substr(0, n), "t.yaml", diagnostics)) << n;
  }
}

// ----------------------------------------------------------------------------- what ships

class ShippedTopology : public testing::Test {
 protected:
  void SetUp() override {
    Diagnostics diagnostics;
    topology_ = load_topology(RNGDSIM_SOURCE_DIR "/configs/topologies/rngd.yaml", diagnostics);
    ASSERT_EQ(diagnostics.render(), "");
  }

  static const ParameterValue* find(const std::vector<NamedParameter>& list,
                                    const std::string& name) {
    for (const NamedParameter& one : list) {
      if (one.name == name) return &one.parameter;
    }
    return nullptr;
  }

  double unit_number(const std::string& unit, const std::string& name) const {
    for (const UnitDecl& one : topology_.units) {
      if (one.name != unit) continue;
      const ParameterValue* value = find(one.parameters, name);
      return value == nullptr ? -1 : std::get<double>(value->value);
    }
    return -1;
  }

  TopologyDecl topology_;
};

TEST_F(ShippedTopology, EveryNumberHasASource) {
  EXPECT_NE(topology_.clock_ghz.source, "");
  for (const NamedParameter& one : topology_.machine) {
    EXPECT_NE(one.parameter.source, "") << one.name;
  }
  for (const UnitDecl& unit : topology_.units) {
    for (const NamedParameter& one : unit.parameters) {
      if (one.name == "context") continue;
      EXPECT_NE(one.parameter.source, "") << unit.name << " " << one.name;
    }
  }
  for (const ConnectionDecl& one : topology_.connections) {
    EXPECT_TRUE(one.depth == 0 || !one.depth_source.empty()) << to_string(one.where);
  }
}

// The documented capacities, computed from the parameters.
TEST_F(ShippedTopology, CapacitiesAreThoseOfTheDocuments) {
  EXPECT_EQ(unit_number("data_memory", "banks") * unit_number("data_memory", "bank_bytes") *
                unit_number("data_memory", "rows"),
            512 * 1024)
      << "512 KB of data memory a slice";
  const double lanes = std::get<double>(find(topology_.machine, "lanes")->value);
  EXPECT_EQ(unit_number("trf", "banks") * unit_number("trf", "rows") *
                unit_number("trf", "row_bytes") * lanes,
            65536)
      << "bytes of elements in the TRF";
  EXPECT_EQ(unit_number("time_reducer", "columns") * lanes * 4,
            unit_number("time_reducer", "cells"));
  // Rows of a matrix are one column of the Transpose Engine: 16, 8, 4 or 2 of 4, 8, 16, 32 bits.
  EXPECT_EQ(unit_number("transpose", "column_bytes") * 8 / 4, 16);
  EXPECT_EQ(unit_number("transpose", "columns"), 16) << "of each of two buffers";
  EXPECT_EQ(unit_number("transpose", "valid_4bit"), 16);
  EXPECT_EQ(unit_number("transpose", "valid"), 8);
  EXPECT_EQ(
      unit_number("fetch_adapter", "lookup_cycles") / unit_number("fetch_adapter", "lookup_flits"),
      2.5)
      << "cycles that schedules book for a flit of a table lookup";
  const double slices = std::get<double>(find(topology_.machine, "slices")->value) *
                        std::get<double>(find(topology_.machine, "clusters")->value);
  EXPECT_EQ(unit_number("multiplier", "macs_16bit") * lanes * slices, 131072)
      << "bf16 multiply-accumulates a chip and cycle";
}

TEST_F(ShippedTopology, UsesEveryPortOnce) {
  std::set<std::string> units;
  for (const UnitDecl& unit : topology_.units) units.insert(unit.name);
  std::set<std::string> ports;
  for (const ConnectionDecl& one : topology_.connections) {
    for (const PortRef* port : {&one.from, &one.to}) {
      EXPECT_EQ(units.count(port->unit), 1U) << port->unit;
      EXPECT_TRUE(ports.insert(port->unit + "." + port->port).second)
          << port->unit << "." << port->port;
    }
  }
  EXPECT_EQ(topology_.connections.size(), 94U);
}

}  // namespace
}  // namespace rngdsim
