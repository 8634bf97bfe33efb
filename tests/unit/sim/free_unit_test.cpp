// SPDX-License-Identifier: Apache-2.0
#include "sim/free_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "config/topology.h"
#include "sim/unit_types.h"
#include "sim/wiring.h"
#include "support/diagnostic.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FreeUnitTest : public testing::Test {
 protected:
  void SetUp() override {
    Diagnostics diagnostics;
    given_ = load_topology(RNGDSIM_SOURCE_DIR "/configs/topologies/rngd.yaml", diagnostics);
    ASSERT_FALSE(diagnostics.has_errors());
    resolve();
  }
  void set(const std::string& assignment) {
    Diagnostics diagnostics;
    set_parameter(given_, assignment, diagnostics);
    ASSERT_FALSE(diagnostics.has_errors()) << assignment;
    resolve();
  }
  void resolve() {
    Diagnostics diagnostics;
    machine_ = resolve_topology(given_, diagnostics);
    ASSERT_FALSE(diagnostics.has_errors());
  }
  std::optional<FreeUnit> free(const std::string& name) const {
    for (const UnitDecl& unit : machine_.units) {
      if (unit.name == name) return free_unit(machine_, unit);
    }
    ADD_FAILURE() << "no unit " << name;
    return std::nullopt;
  }

  TopologyDecl given_, machine_;
};

// The ranges are those of the table of unit types.
TEST_F(FreeUnitTest, ParametersAreAtTheirBest) {
  EXPECT_THAT(free("switch")->settings, ElementsAre("switch.hop_cycles=0", "switch.bitmap_load=0"));
  EXPECT_THAT(free("packet_reducer")->settings,
              ElementsAre("packet_reducer.latency_4bit=1", "packet_reducer.latency_8bit=1",
                          "packet_reducer.latency_16bit=1"));
  EXPECT_THAT(free("host")->settings,
              ElementsAre("host.latency=1", "host.bytes_per_cycle=1048576"));
  EXPECT_THAT(free("trf")->settings, IsEmpty());  // as fast as it can be
}

// What other values of the unit say: a bank group costs as much as the others, a line that is
// changed no more than a transfer.
TEST_F(FreeUnitTest, HbmIsAtTheRateOfItsTransfers) {
  set("hbm.other_bank_group=5");
  set("hbm.transfer=3");
  EXPECT_THAT(free("hbm")->settings,
              ElementsAre("hbm.row_open=0", "hbm.row_change=0", "hbm.other_slice=5",
                          "hbm.same_bank_group=5", "hbm.read_modify_write=3",
                          "hbm.access_latency=1", "hbm.queue_entries=4096"));
}

// Cycles that include those of a link cannot be fewer.
TEST_F(FreeUnitTest, LatenciesStayThoseOfTheirLinks) {
  for (ConnectionDecl& link : given_.connections) {
    if (link.from.unit == "packet_reducer") link.latency = 4;
  }
  resolve();
  EXPECT_THAT(free("packet_reducer")->settings,
              ElementsAre("packet_reducer.latency_4bit=4", "packet_reducer.latency_8bit=4",
                          "packet_reducer.latency_16bit=4"));
}

TEST_F(FreeUnitTest, OfSomeNothingWaitsForAnything) {
  for (const char* unit : {"main_collect", "stream_adapter", "multiplier", "time_reducer",
                           "lane_folder", "vcg", "cast", "transpose", "main_commit", "vrf"}) {
    EXPECT_FALSE(free(unit)) << unit;
  }
}

// Every setting is one that the machine takes, alone and all together, and then nothing is left.
TEST_F(FreeUnitTest, EverySettingIsLegal) {
  const std::vector<UnitDecl> units = machine_.units;
  for (const UnitDecl& unit : units) {
    const auto found = free(unit.name);
    if (!found) continue;
    for (const std::string& setting : found->settings) set(setting);
    EXPECT_THAT(free(unit.name)->settings, IsEmpty()) << unit.name;
  }
}

// A parameter of cycles that a new unit brings must be thought of: free, or one of these.
TEST_F(FreeUnitTest, NoCyclesAreForgotten) {
  const std::set<std::string> not_waits = {
      "data_memory.starvation_cycles",
      "dma_engine.timeout",                     // limits beyond which a hazard is told
      "hbm.transfer", "hbm.other_bank_group"};  // the peak
  std::set<std::string> forgotten;
  for (const UnitType& type : unit_types()) {
    const auto unit = std::find_if(machine_.units.begin(), machine_.units.end(),
                                   [&](const UnitDecl& u) { return u.type.value == type.name; });
    ASSERT_NE(unit, machine_.units.end()) << type.name;
    for (const ParameterSpec& parameter : type.parameters) {
      if (parameter.unit.find("cycles") == std::string::npos) continue;
      const std::string name = type.name + "." + parameter.name;
      if (not_waits.count(name) != 0) continue;
      // Of a unit at its slowest every parameter that matters would change.
      UnitDecl slow = *unit;
      for (NamedParameter& own : slow.parameters) {
        if (own.name == parameter.name) own.parameter.value = parameter.max - 1;
      }
      const auto found = free_unit(machine_, slow);
      const std::string prefix = unit->name + "." + parameter.name + "=";
      if (!found || std::none_of(found->settings.begin(), found->settings.end(),
                                 [&](const std::string& s) { return s.rfind(prefix, 0) == 0; })) {
        forgotten.insert(name);
      }
    }
  }
  EXPECT_THAT(forgotten, IsEmpty());
}

}  // namespace
}  // namespace rngdsim
