// SPDX-License-Identifier: Apache-2.0
// What is said of a DMA: the cause that takes most of its cycles.
#include "report/dma_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rngdsim {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class DmaReport : public testing::Test {
 protected:
  // HBM to DM by engine 0: 1,000 requests of 256 B, data from cycle 500 on, one a cycle.
  DmaReport() {
    program_.tensors.resize(2);
    program_.tensors[0].memory = MemoryKind::kHbm;
    program_.tensors[1].memory = MemoryKind::kDm;
    Command command;
    command.context = Context::kDma;
    command.label = "x -> y";
    command.dma.emplace();
    command.dma->from = 0;
    command.dma->to = 1;
    DmaConfig::Segment segment;
    segment.loops = {{2, 256, 32 * program_.limits.dm_slice_stride}};
    segment.packet_bytes = 256;
    command.dma->segments = {segment};
    program_.commands = {command};

    run_.commands.resize(1);
    run_.commands[0].begun = run_.commands[0].ended = true;
    run_.commands[0].end = 1500;
    run_.cycles = 1500;
    DmaResult dma;
    dma.end = 1500;
    dma.first_data = 500;
    dma.requests = 1000;
    dma.bytes_ideal = dma.bytes_moved = 256000;
    dma.hbm.transfers = 1000;
    dma.engines = {{0, 1, 1000, 1000, 256000, 500, 1500}};
    dma.channels = {{0, 0, {}}, {1, 3, {}}};
    dma.channels[0].hbm.transfers = 400;
    dma.channels[1].hbm.transfers = 600;
    dma.stacks.resize(2);
    dma.stacks[0].transfers = 400;
    dma.stacks[1].transfers = 600;
    run_.dmas = {dma};
  }
  DmaResult& dma() { return run_.dmas[0]; }
  std::string sentence() const { return dma_sentence(run_.dmas[0], run_, program_); }
  void takes(uint64_t data_cycles) {
    dma().end = dma().engines[0].end = run_.commands[0].end = run_.cycles = 500 + data_cycles;
  }

  Program program_;
  RunResult run_;
};

TEST_F(DmaReport, AFullEngineIsNamed) {
  EXPECT_EQ(sentence(), "engine 0: 1,000 requests of 256 B in 1,000 cycles");
}

TEST_F(DmaReport, AStartUpOfHalfTheCyclesIsTheCause) {
  dma().engines[0].requests = 499;
  takes(499);
  EXPECT_EQ(sentence(), "start-up: 500 of its 999 cycles; one larger move pays it once");
  dma().engines[0].requests = 501;
  takes(501);
  EXPECT_THAT(sentence(), StartsWith("engine 0"));
}

TEST_F(DmaReport, SegmentsPayAStartUpEach) {
  dma().engines[0].segments = 2;
  EXPECT_EQ(sentence(),
            "start-up: 2 x 500 = 1,000 of its 1,500 cycles, as engine 0 needs 2 commands for its "
            "part");
}

TEST_F(DmaReport, RowChangesOfHalfTheTransfers) {
  dma().hbm.row_conflicts = 500;
  dma().channels[1].hbm.row_conflicts = 300;
  EXPECT_EQ(sentence(),
            "row changes: 500 of 1,000 transfers change the row of a bank in HBM; the busiest "
            "channel made 300 of them");
  dma().hbm.row_conflicts = 499;
  EXPECT_THAT(sentence(), StartsWith("engine 0"));
}

TEST_F(DmaReport, PartialLines) {
  dma().hbm.read_modify_writes = 10;
  EXPECT_THAT(sentence(), StartsWith("partial lines: 10 of 1,000 transfers write less"));
}

TEST_F(DmaReport, OneStack) {
  dma().stacks[0].transfers = 0;
  EXPECT_THAT(sentence(), StartsWith("one stack: all 1,000 transfers go to one of 2 stacks"));
}

TEST_F(DmaReport, ReadsAcrossLines) {
  dma().hbm.misaligned_reads = 500;
  EXPECT_THAT(sentence(), StartsWith("alignment: 500 of 1,000 transfers"));
}

TEST_F(DmaReport, BanksThatTheTensorUnitHeld) {
  UnitResult engine;
  engine.name = "dma_0";
  engine.conflict = 500;
  run_.units = {engine};
  EXPECT_THAT(sentence(), HasSubstr("held banks of the data memory that dma_0 waited for, for 500 "
                                    "of its 1,000 cycles of data"));
  run_.units[0].conflict = 499;
  EXPECT_THAT(sentence(), StartsWith("engine 0"));
}

TEST_F(DmaReport, SmallPackets) {
  dma().engines[0].bytes = 128000;
  EXPECT_EQ(sentence(),
            "small packets: engine 0 moves 128 B with each request, which may have 256");
}

TEST_F(DmaReport, OneNetworkOfTwo) {
  takes(2000);
  EXPECT_THAT(sentence(), StartsWith("waiting: engine 0 had 1,000 cycles to do in 2,000 cycles"));
  program_.commands[0].dma->segments[0].loops = {{2, 256, program_.limits.dm_slice_stride}};
  EXPECT_THAT(sentence(), StartsWith("one data memory network: engine 0 uses one of its two"));
}

// 1,000 reads and 1,000 writes in turn are all that 2,000 cycles have room for.
TEST_F(DmaReport, ReadsAndWritesInTurnCountTwice) {
  program_.tensors[1].memory = MemoryKind::kHbm;
  takes(2000);
  EXPECT_EQ(sentence(),
            "engine 0: 1,000 requests of 256 B in 2,000 cycles, reads and writes in turn");
}

TEST_F(DmaReport, RowsThatWaitedForTheirIndex) {
  dma().engines[0].index_requests = 3;
  dma().engines[0].index_cycles = 749;
  EXPECT_EQ(sentence(),
            "engine 0: 1,000 requests of 256 B in 1,000 cycles; its rows waited 749 cycles for 3 "
            "requests of the index");
  dma().engines[0].index_cycles = 750;
  EXPECT_THAT(sentence(), StartsWith("the index: 750 of its 1,500 cycles; its rows"));
}

TEST_F(DmaReport, TheTableHasARowADma) {
  const std::string text = dma_text(run_, program_);
  EXPECT_THAT(text, HasSubstr("x -> y     0         500  1,000     1,000  256,000    256.0"));
  EXPECT_THAT(text, HasSubstr("\n  0: engine 0: 1,000 requests"));
  run_.dmas.clear();
  EXPECT_EQ(dma_text(run_, program_), "");
}

}  // namespace
}  // namespace rngdsim
