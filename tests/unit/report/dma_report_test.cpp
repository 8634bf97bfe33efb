// SPDX-License-Identifier: Apache-2.0
// What is said of a DMA: the cause that takes most of its cycles.
#include "report/dma_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/findings.h"

namespace rngdsim {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
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
    dma.channels = {{0, 0, {}}, {0, 1, {}}, {1, 3, {}}};
    dma.channels[0].hbm.transfers = dma.channels[1].hbm.transfers = 300;
    dma.channels[2].hbm.transfers = 400;
    dma.stacks.resize(2);
    dma.stacks[0].transfers = 600;
    dma.stacks[1].transfers = 400;
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
  dma().channels[2].hbm.row_conflicts = 300;
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
  dma().engines[0].dm_conflicts = 500;
  EXPECT_THAT(sentence(), HasSubstr("held banks of the data memory that engine 0 waited for, for "
                                    "500 of its 1,000 cycles of data"));
  dma().engines[0].dm_conflicts = 499;
  EXPECT_THAT(sentence(), StartsWith("engine 0"));
}

// Named only where the engine was not the limit.
TEST_F(DmaReport, OneChannelOfHalfTheTransfers) {
  dma().channels[0].hbm.transfers = 500;
  dma().channels[1].hbm.transfers = 100;
  EXPECT_THAT(sentence(), StartsWith("engine 0"));
  takes(2000);
  EXPECT_EQ(sentence(), "one channel: 500 of 1,000 transfers go to channel 0 of stack 0");
  program_.commands[0].dma->segments[0].loops = {{3, 0, 32 * program_.limits.dm_slice_stride}};
  EXPECT_THAT(sentence(), HasSubstr("; lines of the source are read up to 3 times"));
  dma().channels[0].hbm.transfers = 499;
  EXPECT_THAT(sentence(), StartsWith("waiting"));
}

TEST_F(DmaReport, OneBankGroup) {
  dma().banks = {{1, 2, 0, {}}, {1, 2, 3, {}}, {1, 3, 3, {}}};
  dma().banks[0].hbm.transfers = dma().banks[1].hbm.transfers = 250;
  dma().banks[2].hbm.transfers = 500;
  EXPECT_THAT(sentence(), StartsWith("engine 0"));
  takes(2000);
  EXPECT_THAT(sentence(), StartsWith("one bank group: 500 of 1,000 transfers go to bank group 2 of "
                                     "slice 1"));
  dma().banks[0].hbm.transfers = 249;
  dma().banks[2].hbm.transfers = 499;
  EXPECT_THAT(sentence(), StartsWith("waiting"));
}

// ---- Readers ----------------------------------------------------------------------------------

DmaReaders readers(std::vector<DmaConfig::Segment> segments) {
  DmaConfig config;
  config.segments = std::move(segments);
  return readers_of(config, MachineLimits{});
}

DmaConfig::Segment reads(uint64_t engine, uint64_t base, std::vector<DmaConfig::Loop> loops,
                         uint64_t packet) {
  DmaConfig::Segment segment;
  segment.engine = engine;
  segment.read_base = base;
  segment.loops = std::move(loops);
  segment.packet_bytes = packet;
  return segment;
}

TEST(DmaReaders, LinesReadOnce) {
  const DmaReaders once = readers({reads(0, 0, {{4, 1024, 0}}, 512)});
  EXPECT_EQ(once.lines, 8u);
  EXPECT_EQ(once.most_reads, 1u);
  EXPECT_EQ(once.most_engines, 1u);
}

// Two engines, the second of which reads 3 of the first one's 4 lines, each 5 times.
TEST(DmaReaders, RepeatsAndEnginesAddUp) {
  const DmaReaders shared =
      readers({reads(0, 0, {{4, 256, 256}}, 256), reads(1, 256, {{5, 0, 4096}, {3, 256, 0}}, 256)});
  EXPECT_EQ(shared.lines, 4u);
  EXPECT_EQ(shared.most_reads, 6u);
  EXPECT_EQ(shared.most_engines, 2u);
}

// 16 packets of 64 B share 4 lines; 256 B at byte 128 touch two.
TEST(DmaReaders, PartsOfLinesCountAsReads) {
  const DmaReaders parts = readers({reads(0, 0, {{16, 64, 64}}, 64)});
  EXPECT_EQ(parts.lines, 4u);
  EXPECT_EQ(parts.most_reads, 4u);
  EXPECT_EQ(readers({reads(0, 128, {}, 256)}).lines, 2u);
}

// ---- Remedies ---------------------------------------------------------------------------------

TEST_F(DmaReport, WhatCouldHelpIsSaidOfWhatHasACause) {
  EXPECT_EQ(dma_cause(dma(), run_, program_).remedy, "");  // the engine was busy all the time
  dma().hbm.read_modify_writes = 10;
  EXPECT_THAT(dma_cause(dma(), run_, program_).remedy, HasSubstr("whole lines of 256 B"));
}

// 256,000 B by one engine: 1,000 cycles at least. 1,150 of 1,650 lose 150, less than a tenth.
TEST_F(DmaReport, AHintNamesWhatADmaLoses) {
  dma().hbm.misaligned_reads = 1000;
  takes(2000);
  EXPECT_THAT(hints(run_, program_),
              Contains("command 0 (x -> y) moves 256,000 bytes in 2,000 cycles that could take "
                       "1,000; begin rows at multiples of 256 B"));
  takes(1150);
  EXPECT_THAT(hints(run_, program_), IsEmpty());
}

TEST_F(DmaReport, TheCauseOfADmaBoundsARun) {
  dma().hbm.misaligned_reads = 1000;
  run_.commands[0].cycles = 1500;
  run_.bound_chain = {0};
  EXPECT_THAT(bound_by(run_, program_), StartsWith("dma of command 0: alignment: "));
  EXPECT_EQ(bounding_resource(run_, program_), "dma of command 0");
}

// ---- Tables -----------------------------------------------------------------------------------

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
  dma().engines[0].index_cycles = 0;
  EXPECT_EQ(sentence(), "engine 0: 1,000 requests of 256 B in 1,000 cycles");
  dma().engines[0].index_cycles = 750;
  EXPECT_THAT(sentence(), StartsWith("the index: 750 of its 1,500 cycles; its rows"));
}

TEST_F(DmaReport, TheTableHasARowADma) {
  const std::string text = dma_text(run_, program_);
  EXPECT_THAT(
      text,
      HasSubstr("x -> y     0         500  1,000     1,000  256,000  256,000    256.0        1"));
  // reads a line, transfers, row changes, off line, partial, busiest channel and bank, DM waits
  EXPECT_THAT(text, HasSubstr("0            1      1,000        0.0 %     0.0 %    0.0 %         "
                              "1.3: 400             -         0\n"));
  EXPECT_THAT(text, HasSubstr("\n  0: engine 0: 1,000 requests"));
  run_.dmas.clear();
  EXPECT_EQ(dma_text(run_, program_), "");
}

}  // namespace
}  // namespace rngdsim
