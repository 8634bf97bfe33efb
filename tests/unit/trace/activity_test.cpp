// SPDX-License-Identifier: Apache-2.0
#include "trace/activity.h"

#include "tests/unit/trace/sample.h"

namespace rngdsim {
namespace {

using nlohmann::json;

TEST(MemoryOfRequests, IsKnownByThePorts) {
  EXPECT_EQ(memory_of_requests("main_fetch.request->data_memory.main_fetch"), "dm read");
  EXPECT_EQ(memory_of_requests("f.request->m.sub_fetch"), "dm read");
  EXPECT_EQ(memory_of_requests("c.request->m.main_commit"), "dm write");
  EXPECT_EQ(memory_of_requests("c.request->m.sub_commit"), "dm write");
  EXPECT_EQ(memory_of_requests("trf_sequencer.request->trf.read"), "trf read");
  EXPECT_EQ(memory_of_requests("dma_0.dm->data_memory.dma_0"), "dm");
  EXPECT_EQ(memory_of_requests("dma_7.hbm->hbm.dma_7"), "hbm");
  EXPECT_EQ(memory_of_requests("dma_7.host->host.dma_7"), "pcie");
}

TEST(MemoryOfRequests, AnswersAndFlitsAreNone) {
  for (const char* link :
       {"data_memory.main_fetch_data->main_fetch.data", "hbm.dma_0_data->dma_0.hbm_data",
        "main_fetch.out->fetch_adapter.in", "lane_folder.release->time_reducer.release", "", "a"}) {
    EXPECT_EQ(memory_of_requests(link), "") << link;
  }
}

class ActivityTest : public TraceTest {
 protected:
  void SetUp() override {
    TraceTest::SetUp();
    program_.limits.slices = 256;
    program_.commands[0].clusters_used = 2;
    program_.commands[1].outer.emplace();
    program_.commands[1].outer->packets = 4;
    program_.commands[1].mac_useful = 1000;
    names_.units = {{"source", {}}, {"multiplier", {{"active_lanes", 8}}}};
    names_.links = {{"multiplier.out->packet_reducer.in", 2},
                    {"main_fetch.request->dm.main_fetch", 2},
                    {"dma_0.hbm->hbm.dma_0", 2},
                    {"source.out->multiplier.stream", 2}};
    sink_.begin(names_);
  }
  template <typename What>
  void at(Cycle cycle, What&& what) {
    sink_.begin_cycle(cycle);
    what();
    sink_.end_cycle();
  }
  json after(Cycle end) {
    sink_.end(end);
    return json::parse(sink_.json().dump());
  }

  ActivitySink sink_;
};

TEST_F(ActivityTest, AStretchIsACycleAsLongAsTheyAreFew) {
  at(10, [&] { sink_.unit(0, busy(1, 0)); });
  at(12, [&] { sink_.unit(0, in_state(UnitState::kStarved, 1, 0)); });
  at(13, [&] { sink_.unit(0, in_state(UnitState::kConflict, 1, 0)); });
  at(14, [&] { sink_.unit(0, in_state(UnitState::kBlocked, 1, 0)); });
  at(15, [&] { sink_.unit(0, idle()); });
  const json activity = after(20);
  EXPECT_EQ(activity["width"], 1);
  const json& unit = activity["units"][0];
  EXPECT_EQ(unit["name"], "source");
  EXPECT_EQ(unit["busy"], json::parse("[[10, 0], [2, 1], [8, 0]]"));
  EXPECT_EQ(unit["starved"], json::parse("[[12, 0], [1, 1], [7, 0]]"));
  EXPECT_EQ(unit["conflict"], json::parse("[[13, 0], [1, 1], [6, 0]]"));
  EXPECT_EQ(unit["blocked"], json::parse("[[14, 0], [1, 1], [5, 0]]"));
  EXPECT_EQ(activity["units"][1]["busy"], json::array());  // it never worked
}

TEST_F(ActivityTest, WhatIsStillSoAtTheEndCounts) {
  at(3, [&] { sink_.unit(0, busy(1, 0)); });
  EXPECT_EQ(after(5)["units"][0]["busy"], json::parse("[[3, 0], [2, 1]]"));
}

TEST_F(ActivityTest, StretchesDoubleWithTheRun) {
  // Busy in the 7 cycles 2,045 to 2,051: stretch 1,022 holds 2,044 and 2,045, the next three two
  // each.
  at(2045, [&] { sink_.unit(0, busy(1, 0)); });
  at(2052, [&] { sink_.unit(0, idle()); });
  at(2053, [&] { sink_.event(2, LinkEvent::kPush, {0, 0, 0, 256, false}); });
  at(4095, [&] { sink_.event(2, LinkEvent::kPush, {0, 0, 0, 64, false}); });
  const json activity = after(4096);
  EXPECT_EQ(activity["width"], 2);
  EXPECT_EQ(activity["units"][0]["busy"], json::parse("[[1022, 0], [1, 1], [3, 2], [1022, 0]]"));
  EXPECT_EQ(activity["hbm_read"], json::parse("[[1026, 0], [1, 256], [1020, 0], [1, 64]]"));
}

TEST_F(ActivityTest, OneCycleMoreDoublesThemAgain) {
  at(4096, [&] { sink_.unit(0, busy(1, 0)); });
  const json activity = after(4097);
  EXPECT_EQ(activity["width"], 4);
  EXPECT_EQ(activity["units"][0]["busy"], json::parse("[[1024, 0], [1, 1]]"));
}

TEST_F(ActivityTest, WhatIsMovedAndMultiplied) {
  at(0, [&] {
    sink_.event(1, LinkEvent::kPush, {0, 0, 16, 32, false});  // 32 B of 2 x 256 slices
    sink_.event(1, LinkEvent::kPop, {0, 0, 16, 32, false});
    sink_.event(1, LinkEvent::kStall, {0, 0, 16, 32, false});
    sink_.event(2, LinkEvent::kPush, {1, 0, 0, 256, false});
    sink_.event(2, LinkEvent::kPush, {1, 0, 0, 100, true});
    sink_.event(0, LinkEvent::kPush, {1, 0, 16});  // 1,000 products in 4 packets
    sink_.event(0, LinkEvent::kPush, {0, 0, 16});  // passes through: no contraction
    sink_.event(3, LinkEvent::kPush, {1, 0, 16});
  });
  const json activity = after(1);
  EXPECT_EQ(activity["dm_read"], json::parse("[[1, 16384]]"));
  EXPECT_EQ(activity["hbm_read"], json::parse("[[1, 256]]"));
  EXPECT_EQ(activity["hbm_write"], json::parse("[[1, 100]]"));
  EXPECT_EQ(activity["macs"], json::parse("[[1, 250]]"));
  for (const char* none : {"dm_write", "trf_read", "pcie_read", "pcie_write"}) {
    EXPECT_EQ(activity[none], json::parse("[[1, 0]]")) << none;
  }
}

}  // namespace
}  // namespace rngdsim
