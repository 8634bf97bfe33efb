// SPDX-License-Identifier: Apache-2.0
#include "trace/vcd_writer.h"

#include "tests/unit/trace/sample.h"

namespace rngdsim {
namespace {

// Identifiers count up from '!': commands.main !, commands.sub ", source # $ %, memory & ' ( ),
// the link * + ,.
constexpr char kHeader[] =
    "$comment rngdsim, kernel sample: one unit of time is one cycle of the 1 GHz clock $end\n"
    "$timescale 1 ns $end\n"
    "$scope module rngdsim $end\n"
    "$scope module commands $end\n"
    "$var string 1 ! main $end\n"
    "$var string 1 \" sub $end\n"
    "$upscope $end\n"
    "$scope module units $end\n"
    "$scope module source $end\n"
    "$var string 1 # state $end\n"
    "$var wire 32 $ command [31:0] $end\n"
    "$var wire 64 % time_index [63:0] $end\n"
    "$upscope $end\n"
    "$scope module memory $end\n"
    "$var string 1 & state $end\n"
    "$var wire 32 ' command [31:0] $end\n"
    "$var wire 64 ( time_index [63:0] $end\n"
    "$var wire 4 ) bank_grants [3:0] $end\n"
    "$upscope $end\n"
    "$upscope $end\n"
    "$scope module links $end\n"
    "$scope module source_out_to_memory_in $end\n"
    "$var wire 1 * valid $end\n"
    "$var wire 1 + ready $end\n"
    "$var wire 2 , occupancy [1:0] $end\n"
    "$upscope $end\n"
    "$upscope $end\n"
    "$upscope $end\n"
    "$enddefinitions $end\n";
constexpr char kAtRest[] =
    "$dumpvars\ns- !\ns- \"\nsidle #\nbz $\nbz %\nsidle &\nbz '\nbz (\nb0 )\n0*\n1+\nb0 ,\n$end\n";

class VcdWriterTest : public TraceTest {
 protected:
  // Command 1 opens in cycle 0, works in cycles 5 to 7; the run ends after cycle 9.
  std::string written(Window window) {
    TraceFile file(path("run.vcd"));
    VcdWriter writer(file, window, 1.0);
    writer.begin(names_);
    writer.begin_cycle(0);
    writer.open_command(Context::kMain, 1);
    writer.end_cycle();
    writer.begin_cycle(5);
    writer.unit(0, busy(1, 0));
    writer.end_cycle();
    writer.begin_cycle(6);
    writer.link(0, {true, true, 1});
    writer.unit(0, busy(1, 2));
    writer.unit(1, in_state(UnitState::kConflict, 1, 0, {5}));
    writer.end_cycle();
    writer.begin_cycle(7);
    writer.link(0, {false, false, 2});
    writer.unit(0, idle());
    writer.unit(1, idle({0}));
    writer.end_cycle();
    writer.end(10);
    file.close();
    EXPECT_EQ(file.problem(), "");
    return read("run.vcd");
  }
};

TEST_F(VcdWriterTest, WritesChangesWhenTheyHappen) {
  EXPECT_EQ(written({}), std::string(kHeader) +
                             "#0\n"
                             "$dumpvars\ns1_a_x_b_->_c !\ns- \"\nsidle #\nbz $\nbz %\nsidle &\n"
                             "bz '\nbz (\nb0 )\n0*\n1+\nb0 ,\n$end\n"
                             "#5\nsbusy #\nb1 $\nb0 %\n"
                             "#6\n1*\nb1 ,\nb10 %\nsconflict &\nb1 '\nb0 (\nb101 )\n"
                             "#7\n0*\n0+\nb10 ,\nsidle #\nbz $\nbz %\nsidle &\nbz '\nbz (\nb0 )\n"
                             "#10\n");
}

TEST_F(VcdWriterTest, AWindowBeginsWithTheValuesOfItsFirstCycle) {
  // Nothing happens in cycle 4; cycle 6 is not part of it.
  const std::string text = written({4, 6});
  EXPECT_EQ(text, std::string(kHeader) +
                      "#4\n"
                      "$dumpvars\ns1_a_x_b_->_c !\ns- \"\nsidle #\nbz $\nbz %\nsidle &\n"
                      "bz '\nbz (\nb0 )\n0*\n1+\nb0 ,\n$end\n"
                      "#5\nsbusy #\nb1 $\nb0 %\n"
                      "#6\n");
}

TEST_F(VcdWriterTest, AWindowThatBeginsWithAChangeTellsItOnce) {
  const std::string text = written({6, 7});
  EXPECT_EQ(text, std::string(kHeader) +
                      "#6\n"
                      "$dumpvars\ns1_a_x_b_->_c !\ns- \"\nsbusy #\nb1 $\nb10 %\nsconflict &\n"
                      "b1 '\nb0 (\nb101 )\n1*\n1+\nb1 ,\n$end\n"
                      "#7\n");
}

TEST_F(VcdWriterTest, AWindowBehindTheLastChangeHoldsItsValues) {
  const std::string text = written({8, 100});
  EXPECT_EQ(text.substr(text.find("#8")),
            "#8\n$dumpvars\ns1_a_x_b_->_c !\ns- \"\nsidle #\nbz $\nbz %\nsidle &\nbz '\nbz (\n"
            "b0 )\n0*\n0+\nb10 ,\n$end\n#10\n");
}

TEST_F(VcdWriterTest, AWindowBehindTheRunIsEmpty) { EXPECT_EQ(written({11, 20}), kHeader); }

TEST_F(VcdWriterTest, ARunWithoutCyclesIsAtRest) {
  TraceFile file(path("run.vcd"));
  VcdWriter writer(file, {}, 1.0);
  writer.begin(names_);
  writer.end(0);
  file.close();
  EXPECT_EQ(read("run.vcd"), std::string(kHeader) + "#0\n" + kAtRest + "#0\n");
}

TEST_F(VcdWriterTest, AValueThatReturnsWithinACycleIsNoChange) {
  TraceFile file(path("run.vcd"));
  VcdWriter writer(file, {}, 1.0);
  writer.begin(names_);
  writer.begin_cycle(0);
  writer.end_cycle();
  writer.begin_cycle(3);
  writer.link(0, {true, true, 1});
  writer.link(0, {false, true, 0});
  writer.end_cycle();
  writer.end(4);
  file.close();
  EXPECT_EQ(read("run.vcd"), std::string(kHeader) + "#0\n" + kAtRest + "#4\n");
}

TEST_F(VcdWriterTest, ScopesOfLinksHaveNeitherDotsNorArrows) {
  EXPECT_EQ(VcdWriter::link_scope("main_fetch.out->fetch_adapter.in"),
            "main_fetch_out_to_fetch_adapter_in");
}

TEST_F(VcdWriterTest, OccupancyHasTheBitsOfTheDepth) {
  EXPECT_EQ(VcdWriter::occupancy_bits(1), 1u);
  EXPECT_EQ(VcdWriter::occupancy_bits(2), 2u);
  EXPECT_EQ(VcdWriter::occupancy_bits(3), 2u);
  EXPECT_EQ(VcdWriter::occupancy_bits(4), 3u);
  EXPECT_EQ(VcdWriter::occupancy_bits(9), 4u);
}

// 94 characters, then two of them.
TEST_F(VcdWriterTest, IdentifiersAreUnique) {
  for (int i = 0; i < 100; ++i) names_.links.push_back({"a.out" + std::to_string(i) + "->b.in", 2});
  TraceFile file(path("run.vcd"));
  VcdWriter writer(file, {}, 1.0);
  writer.begin(names_);
  writer.end(1);
  file.close();
  std::istringstream text(read("run.vcd"));
  std::vector<std::string> codes;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string word, type, width, code;
    words >> word >> type >> width >> code;
    if (word == "$var") codes.push_back(code);
  }
  ASSERT_EQ(codes.size(), 9u + 3 * 101);
  EXPECT_EQ(codes[93], "~");
  EXPECT_EQ(codes[94], "!!");
  EXPECT_EQ(codes[95], "\"!");
  std::sort(codes.begin(), codes.end());
  EXPECT_EQ(std::adjacent_find(codes.begin(), codes.end()), codes.end());
}

}  // namespace
}  // namespace rngdsim
