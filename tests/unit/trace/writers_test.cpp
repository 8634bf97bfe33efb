// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/trace/sample.h"
#include "trace/cycle_grid.h"
#include "trace/flit_writer.h"
#include "trace/gtkw.h"
#include "trace/trace_file.h"

namespace rngdsim {
namespace {

using WritersTest = TraceTest;

TEST_F(WritersTest, AFlitIsARow) {
  TraceFile file(path("flits.csv"));
  FlitWriter writer(file, {5, 7});
  writer.begin(names_);
  writer.begin_cycle(4);
  writer.event(0, LinkEvent::kPush, {1, 0, 16});
  writer.begin_cycle(5);
  writer.event(0, LinkEvent::kPush, {1, 1, 16});
  writer.event(0, LinkEvent::kPop, {1, 0, 16});
  writer.event(0, LinkEvent::kStall, {1, 0, 16});
  writer.begin_cycle(6);
  writer.event(0, LinkEvent::kPop, {1, 123456789012, 3});
  writer.begin_cycle(7);
  writer.event(0, LinkEvent::kPop, {1, 2, 16});
  writer.end(8);
  file.close();
  EXPECT_EQ(read("flits.csv"),
            "cycle,link,event,command,time_index,valid\n"
            "5,source.out->memory.in,push,1,1,16\n"
            "5,source.out->memory.in,pop,1,0,16\n"
            "5,source.out->memory.in,stall,1,0,16\n"
            "6,source.out->memory.in,pop,1,123456789012,3\n");
}

TEST_F(WritersTest, AWrongPathIsKnownBeforeTheRun) {
  const TraceFile file(path("no/such/directory.csv"));
  EXPECT_EQ(file.problem(), "No such file or directory");
}

TEST_F(WritersTest, AFullDiskIsAProblem) {
  TraceFile file("/dev/full");
  ASSERT_EQ(file.problem(), "");
  file.write("x");
  file.close();
  EXPECT_EQ(file.problem(), "No space left on device");
}

TEST_F(WritersTest, TextLongerThanTheBufferArrivesWhole) {
  std::string expected;
  {
    TraceFile file(path("long"));
    for (int i = 0; i < 30'000; ++i) {
      file.number(static_cast<uint64_t>(i));
      file.put(' ');
      expected += std::to_string(i) + ' ';
    }
  }  // closed where it dies
  EXPECT_EQ(read("long"), expected);
}

// ---- Grid ---------------------------------------------------------------------------------------

TEST_F(WritersTest, SymbolsOfTheGrid) {
  EXPECT_EQ(CycleGrid::symbol(busy(0, 0)), '0');
  EXPECT_EQ(CycleGrid::symbol(busy(0, 129)), '9');
  EXPECT_EQ(CycleGrid::symbol(in_state(UnitState::kStarved, 0, 3)), '-');
  EXPECT_EQ(CycleGrid::symbol(in_state(UnitState::kBlocked, 0, 3)), '=');
  EXPECT_EQ(CycleGrid::symbol(in_state(UnitState::kConflict, 0, 3)), 'x');
  EXPECT_EQ(CycleGrid::symbol(idle()), '.');
}

class GridTest : public TraceTest {
 protected:
  // source works in cycles 8 to 11 and waits in 12; memory is never awake.
  void feed(CycleGrid& grid) {
    grid.begin(names_);
    grid.begin_cycle(0);
    grid.open_command(Context::kMain, 1);
    grid.end_cycle();
    for (Cycle cycle = 8; cycle < 12; ++cycle) {
      grid.begin_cycle(cycle);
      grid.unit(0, busy(1, cycle - 8));
      grid.end_cycle();
    }
    grid.begin_cycle(12);
    grid.unit(0, in_state(UnitState::kStarved, 1, 3));
    grid.end_cycle();
    grid.begin_cycle(23);
    grid.unit(0, idle());
    grid.open_command(Context::kMain, std::nullopt);
    grid.end_cycle();
    grid.end(25);
  }
};

TEST_F(GridTest, ARowAUnitAndAColumnACycle) {
  CycleGrid grid({5, 30});
  feed(grid);
  EXPECT_EQ(grid.text(100),
            "              5    10        20\n"
            "              |    |         |\n"
            "main command  111111111111111111..\n"
            "source        ...0123-----------..\n"
            "\nidle throughout: memory\n");
}

TEST_F(GridTest, AWindowEndsTheRows) {
  CycleGrid grid({9, 13});
  feed(grid);
  EXPECT_EQ(grid.text(100),
            "              9\n"
            "              ||\n"
            "main command  1111\n"
            "source        123-\n"
            "\nidle throughout: memory\n");
}

// 14 columns of names leave 12 for cycles, of which whole tens are used.
TEST_F(GridTest, LongRowsContinueBelow) {
  CycleGrid grid({5, 30});
  feed(grid);
  EXPECT_EQ(grid.text(26),
            "              5    10\n"
            "              |    |\n"
            "main command  1111111111\n"
            "source        ...0123---\n"
            "\n"
            "              15   20\n"
            "              |    |\n"
            "main command  11111111..\n"
            "source        --------..\n"
            "\nidle throughout: memory\n");
}

TEST_F(GridTest, AWindowIsCutAtTheLimit) {
  CycleGrid grid({0, CycleGrid::kMaxCycles + 5});
  grid.begin(names_);
  grid.begin_cycle(0);
  grid.unit(0, busy(1, 7));
  grid.end_cycle();
  grid.end(CycleGrid::kMaxCycles + 5);
  const std::string text = grid.text(CycleGrid::kMaxCycles + 100);
  EXPECT_THAT(text,
              testing::HasSubstr("source  " + std::string(CycleGrid::kMaxCycles, '7') + "\n"));
}

// ---- Save file ----------------------------------------------------------------------------------

TEST_F(WritersTest, TheSaveFileNamesWhatTheRunUsed) {
  names_.units.push_back({"unused", {}});
  names_.links.push_back({"memory.out->unused.in", 4});
  GtkwWriter writer({});
  writer.begin(names_);
  writer.open_command(Context::kMain, 1);
  writer.unit(0, busy(1, 0));
  writer.unit(1, busy(1, 0, {1}));
  writer.unit(2, idle());
  writer.link(0, {true, true, 1});
  writer.end(320);
  // 320 cycles in five frames of 200 pixels: 64 = 2^6 cycles a frame.
  EXPECT_EQ(writer.text("run.vcd"),
            "[dumpfile] \"run.vcd\"\n[timestart] 0\n[size] 1600 1000\n[pos] -1 -1\n*-6.000000 -1\n"
            "[treeopen] rngdsim.\n[treeopen] rngdsim.units.\n[sst_width] 200\n"
            "[signals_width] 260\n"
            "@200\n-commands\n"
            "@820\nrngdsim.commands.main\n"
            "@200\n-source\n"
            "@820\nrngdsim.units.source.state\n"
            "@24\nrngdsim.units.source.time_index[63:0]\n"
            "@200\n-memory\n"
            "@820\nrngdsim.units.memory.state\n"
            "@24\nrngdsim.units.memory.time_index[63:0]\n"
            "@22\nrngdsim.units.memory.bank_grants[3:0]\n"
            "@200\n-links: items in each\n"
            "@24\nrngdsim.links.source_out_to_memory_in.occupancy[1:0]\n");
}

// Cycles 10 to 19: source stopped in 10, memory works on from before, the link is used in 15.
TEST_F(WritersTest, TheSaveFileOfAWindowNamesWhatWasUsedInIt) {
  GtkwWriter writer({10, 20});
  writer.begin(names_);
  writer.begin_cycle(0);
  writer.open_command(Context::kSub, 0);
  writer.unit(0, busy(0, 0));
  writer.unit(1, busy(0, 0, {0}));
  writer.begin_cycle(10);
  writer.unit(0, idle());
  writer.open_command(Context::kSub, std::nullopt);
  writer.begin_cycle(15);
  writer.link(0, {true, true, 1});
  writer.begin_cycle(20);
  writer.open_command(Context::kMain, 1);
  writer.end(30);
  const std::string text = writer.text("run.vcd");
  EXPECT_THAT(text, testing::HasSubstr("[timestart] 10\n"));
  EXPECT_THAT(text, testing::HasSubstr("units.memory.state"));
  EXPECT_THAT(text, testing::HasSubstr("source_out_to_memory_in.occupancy"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("units.source.state")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("commands.sub")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("commands.main")));
}

}  // namespace
}  // namespace rngdsim
