// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tests/unit/trace/sample.h"
#include "trace/perfetto_writer.h"

namespace rngdsim {
namespace {

using nlohmann::json;

class PerfettoTest : public TraceTest {
 protected:
  // Command 1 is open in main from 10 to 100; `source` works from 20 to 24 and waits to 30;
  // `memory` grants two of its four banks from 32 on, to 96; a read of the TRF answers in 70.
  json trace(Window window, double clock_ghz = 1) {
    names_.links.push_back({"trf.read_data->memory.data", 2});
    TraceFile file(path("p.json"));
    PerfettoWriter writer(file, window, clock_ghz);
    writer.begin(names_);
    const auto at = [&](Cycle cycle, const auto& what) {
      writer.begin_cycle(cycle);
      what();
      writer.end_cycle();
    };
    at(10, [&] { writer.open_command(Context::kMain, 1); });
    at(20, [&] { writer.unit(0, busy(1, 0)); });
    at(21, [&] { writer.unit(0, busy(1, 1)); });
    at(24, [&] { writer.unit(0, in_state(UnitState::kStarved, 1, 1)); });
    at(30, [&] { writer.unit(0, idle()); });
    at(32, [&] { writer.unit(1, busy(1, 0, {0b0101})); });
    at(70, [&] {
      writer.event(1, LinkEvent::kPush, {1, 0, 16});
      writer.event(1, LinkEvent::kPop, {1, 0, 16});
      writer.event(0, LinkEvent::kPush, {1, 0, 16});
    });
    at(96, [&] { writer.unit(1, idle({0})); });
    at(100, [&] { writer.open_command(Context::kMain, std::nullopt); });
    writer.end(200);
    file.close();
    return json::parse(read("p.json"));
  }

  static std::vector<json> of_kind(const json& trace, const std::string& kind) {
    std::vector<json> events;
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] == kind) events.push_back(event);
    }
    return events;
  }
  static std::vector<std::pair<double, double>> counter(const json& trace,
                                                        const std::string& name) {
    std::vector<std::pair<double, double>> values;
    for (const json& event : of_kind(trace, "C")) {
      if (event["name"] == name) values.emplace_back(event["ts"], event["args"].front());
    }
    return values;
  }
};

// A cycle of 1 GHz is a nanosecond, a thousandth of the unit of the format.
TEST_F(PerfettoTest, StretchesOfAStateAreEvents) {
  const std::vector<json> events = of_kind(trace({}), "X");
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0]["name"], "busy");
  EXPECT_EQ(events[0]["ts"], 0.020);
  EXPECT_EQ(events[0]["dur"], 0.004);
  EXPECT_EQ(events[0]["args"]["label"], "a x b -> c");
  EXPECT_EQ(events[1]["name"], "starved");
  EXPECT_EQ(events[1]["dur"], 0.006);
  EXPECT_EQ(events[2]["dur"], 0.064);
  EXPECT_EQ(events[3]["name"], "1 a x b -> c");
  EXPECT_EQ(events[3]["ts"], 0.010);
  EXPECT_EQ(events[3]["dur"], 0.090);
  EXPECT_NE(events[3]["pid"], events[0]["pid"]);
}

TEST_F(PerfettoTest, TimesAreThoseOfTheClock) {
  const std::vector<json> events = of_kind(trace({}, 0.5), "X");
  EXPECT_EQ(events[0]["ts"], 0.040);
}

// Buckets of 64 cycles: 32 of 64 at a half, 32 of 64 at a half, nothing.
TEST_F(PerfettoTest, CountersAreAverages) {
  const json found = trace({});
  EXPECT_EQ(counter(found, "memory bank_grants"),
            (std::vector<std::pair<double, double>>{{0, 25}, {0.128, 0}}));
  EXPECT_EQ(counter(found, "trf reads"),
            (std::vector<std::pair<double, double>>{{0, 0}, {0.064, 1.0 / 64}, {0.128, 0}}));
}

TEST_F(PerfettoTest, AWindowCutsWhatReachesOver) {
  const json found = trace({22, 70});
  const std::vector<json> events = of_kind(found, "X");
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0]["ts"], 0.022);
  EXPECT_EQ(events[0]["dur"], 0.002);
  EXPECT_EQ(events[2]["dur"], 0.038);
  EXPECT_EQ(events[3]["ts"], 0.022);
  EXPECT_EQ(events[3]["dur"], 0.048);
  EXPECT_EQ(counter(found, "trf reads").size(), 2u);
}

}  // namespace
}  // namespace rngdsim
