// SPDX-License-Identifier: Apache-2.0
// The table of docs/mapping.md section 4, the rules below it, and the walker.
#include "mapping/sequencer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/mapping_text.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

SequencerResult derive(const MappingTexts& t, const char* buffer, const char* time,
                       const char* packet, SequencerUse use = SequencerUse::kRead) {
  return derive_sequencer(t(buffer), t(time), t(packet), use, t.axes);
}

// "[...] : n", or the first problem.
std::string config(const MappingTexts& t, const char* buffer, const char* time, const char* packet,
                   SequencerUse use = SequencerUse::kRead) {
  const SequencerResult result = derive(t, buffer, time, packet, use);
  return result.problems.empty() ? result.config.text() : result.problems[0].message;
}

std::string written(const MappingTexts& t, const char* buffer, const char* time,
                    const char* packet) {
  return config(t, buffer, time, packet, SequencerUse::kWrite);
}

std::string text(const std::vector<SequencerEntry>& entries) {
  return SequencerConfig{entries, 1}.text();
}

// ------------------------------------------------------------------------------ the table

TEST(SequencerTable, Transposition) {
  const MappingTexts t{{"A", 8}, {"B", 8}, {"C", 8}};
  const SequencerResult result = derive(t, "A, B, C # 32", "B, A", "C # 16");
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(result.config.text(), "[8 : 32, 8 : 256, 16 : 1] : 16");
  EXPECT_EQ(result.config.contiguous_run(), 16u);
  EXPECT_EQ(result.config.max_access_size(), 16u);
}

TEST(SequencerTable, Splitting) {
  const MappingTexts t{{"A", 8}, {"B", 8}, {"C", 4}};
  const SequencerResult result = derive(t, "A, B, C # 8", "A % 2, B % 4, A / 2, B / 4", "C # 32");
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(result.config.text(), "[2 : 64, 4 : 8, 4 : 128, 2 : 32, 32 : 1] : 32");
  EXPECT_EQ(result.config.max_access_size(), 32u);
}

TEST(SequencerTable, Slicing) {
  const MappingTexts t{{"A", 16}, {"B", 8}, {"C", 8}};
  const SequencerResult result = derive(t, "A, B, C", "A / 4, A % 4 = 3, B / 4, B % 4 = 2", "C");
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(result.config.text(), "[4 : 256, 3 : 64, 2 : 32, 2 : 8, 8 : 1] : 8");
  EXPECT_EQ(result.config.max_access_size(), 8u);
}

TEST(SequencerTable, Broadcasting) {
  const MappingTexts t{{"A", 16}, {"T", 4}, {"P", 4}};
  const SequencerResult result = derive(t, "A", "T, A", "P");
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(result.config.text(), "[4 : 0, 16 : 1, 4 : 0] : 4");
  EXPECT_EQ(result.config.contiguous_run(), 4u);
  EXPECT_EQ(result.config.max_access_size(), 4u);
  EXPECT_THAT(written(t, "A", "T, A", "P"), HasSubstr("a write may not broadcast"));
}

TEST(SequencerTable, ReversedAxesReadAndWrite) {
  const MappingTexts t{{"N", 4}, {"C", 3}, {"H", 8}, {"W", 8}};
  const SequencerResult result = derive(t, "N, C, H, W", "W, H, C, N", "1");
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(result.config.text(), "[8 : 1, 8 : 8, 3 : 64, 4 : 192] : 1");
  EXPECT_EQ(result.config.contiguous_run(), 1u);
  EXPECT_EQ(result.config.max_access_size(), 1u);
  EXPECT_EQ(written(t, "N, C, H, W", "W, H, C, N", "1"), "[8 : 1, 8 : 8, 3 : 64, 4 : 192] : 1");
}

TEST(SequencerTable, NineEntriesMergeToSix) {
  const MappingTexts t{{"N", 8}, {"C", 8}, {"H", 8}, {"W", 32}};
  const SequencerResult result =
      derive(t, "N, C, H, W", "W/16, H%2, H/2, C/2, C%2, N/2, N%2, W/8%2", "W%8");
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(text(result.unmerged),
            "[2 : 16, 2 : 32, 4 : 64, 4 : 512, 2 : 256, 4 : 4096, 2 : 2048, 2 : 8, 8 : 1] : 1");
  EXPECT_EQ(result.config.text(), "[2 : 16, 2 : 32, 4 : 64, 8 : 256, 8 : 2048, 16 : 1] : 8");
  EXPECT_EQ(result.config.max_access_size(), 8u);
}

TEST(SequencerTable, PaddedRowsWritten) {
  const MappingTexts t{{"A", 4}, {"B", 8}};
  const SequencerResult result = derive(t, "A, B # 16", "1", "A, B", SequencerUse::kWrite);
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(result.config.text(), "[4 : 16, 8 : 1] : 32");
  EXPECT_EQ(result.config.contiguous_run(), 8u);
  EXPECT_EQ(result.config.max_access_size(), 8u);
  EXPECT_EQ(result.config.packet_size / result.config.max_access_size(), 4u);
}

TEST(SequencerTable, PacketOfAxesThatAreNotAdjacent) {
  const MappingTexts t{{"N", 4}, {"C", 3}, {"H", 4}, {"W", 8}};
  const SequencerResult result = derive(t, "N, C, H, W", "C", "N, H, W");
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(result.config.text(), "[3 : 32, 4 : 96, 4 : 8, 8 : 1] : 128");
  EXPECT_EQ(result.config.contiguous_run(), 32u);
  EXPECT_EQ(result.config.max_access_size(), 32u);
  EXPECT_EQ(result.config.packet_size / result.config.max_access_size(), 4u);
}

TEST(SequencerTable, RunThatReachesEverything) {
  const MappingTexts t{{"N", 4}, {"C", 3}, {"H", 4}, {"W", 8}};
  const SequencerResult result = derive(t, "N, C, H, W", "N, C, H", "W");
  EXPECT_EQ(result.config.text(), "[4 : 96, 3 : 32, 4 : 8, 8 : 1] : 8");
  EXPECT_EQ(result.config.contiguous_run(), 384u);
  EXPECT_EQ(result.config.max_access_size(), 8u);
}

TEST(SequencerTable, IncompatibleSplits) {
  const MappingTexts t{{"A", 15}};
  const std::string said = config(t, "A % 5, A / 5", "1", "A % 3, A / 3");
  EXPECT_THAT(said, HasSubstr("without a common refinement"));
  EXPECT_THAT(said, HasSubstr("stream digit 5 x 3, buffer digits 5 x 1, 3 x 5"));
  EXPECT_EQ(config(t, "A % 5, A / 5", "A / 5", "A % 5"), "[3 : 1, 5 : 3] : 5");
}

// ------------------------------------------------------------------------------ the terms

TEST(SequencerTerms, ATermMaySpanSeveralBufferDigits) {
  const MappingTexts t{{"A", 16}, {"B", 4}};
  // Apart: two entries of one term.
  EXPECT_EQ(config(t, "A / 4, B, A % 4", "B", "A"), "[4 : 4, 4 : 16, 4 : 1] : 16");
  // Adjacent: joined again.
  EXPECT_EQ(config(t, "B, A / 4, A % 4", "B", "A"), "[4 : 16, 16 : 1] : 16");
  EXPECT_EQ(config(t, "A % 4, A / 4", "1", "A"), "[4 : 1, 4 : 4] : 16");
  // Adjacent digits of the buffer read as one.
  EXPECT_EQ(config(MappingTexts{{"A", 12}}, "A / 3, A % 3", "A % 2", "A / 2"),
            "[2 : 1, 6 : 2] : 6");
}

// Index 4, the last live one, is the first of the next digit; the padding behind it walks on there.
TEST(SequencerTerms, ATermMayEndWithTheFirstIndexOfADigit) {
  const MappingTexts t{{"A", 8}};
  EXPECT_EQ(config(t, "A % 4, A / 4", "A / 2 = 3 # 4", "A % 2"), "[2 : 1, 2 : 4, 2 : 2] : 2");
}

TEST(SequencerTerms, PartsOfAnAxisThatTheBufferLacksAreBroadcast) {
  const MappingTexts t{{"N", 16}};
  EXPECT_EQ(config(t, "N % 4", "N / 4", "N % 4"), "[4 : 0, 4 : 1] : 4");
  EXPECT_EQ(config(t, "N / 4", "N / 4", "N % 4"), "[4 : 1, 4 : 0] : 4");
  EXPECT_EQ(config(t, "N / 8, N % 2", "1", "N"), "[2 : 2, 4 : 0, 2 : 1] : 16");
  EXPECT_THAT(written(t, "N % 4", "N / 4", "N % 4"), HasSubstr("a write may not broadcast"));
}

TEST(SequencerTerms, IndicesThatAResizeCutAreNotABroadcast) {
  const MappingTexts t{{"A", 16}, {"B", 4}};
  EXPECT_THAT(config(t, "A = 4", "A / 4", "A % 4"), HasSubstr("holds 4 positions"));
  EXPECT_THAT(config(t, "A = 4 # 16", "1", "A"), HasSubstr("holds 4 positions"));
  EXPECT_THAT(config(t, "A = 4 # 16", "1", "A"), HasSubstr("reaches A = 15"));
  EXPECT_THAT(config(t, "A = 4 # 16", "A / 4", "A % 4"), HasSubstr("holds 4 positions"));
  EXPECT_THAT(config(t, "A / 8 = 1, A % 8 = 4", "1", "A = 8"), HasSubstr("holds 4 positions"));
  EXPECT_THAT(config(t, "A / 4, A % 4 = 3", "1", "A"), HasSubstr("holds 3 positions"));
  EXPECT_THAT(config(t, "A / 4, A % 4 = 2", "1", "A"), HasSubstr("holds 2 positions"));
  EXPECT_EQ(config(t, "A / 4, A % 4 = 3", "A / 4", "A % 4 = 3"), "[4 : 3, 3 : 1] : 3");
  EXPECT_EQ(config(t, "A / 4, A % 4 = 3", "1", "A / 2"), "[4 : 3, 2 : 2] : 8");
  // A = 4 is A % 4 where the other digit is there.
  EXPECT_EQ(config(t, "A / 4, A = 4", "1", "A"), "[16 : 1] : 16");
  EXPECT_EQ(config(t, "A = 4, A / 4", "1", "A"), "[4 : 1, 4 : 4] : 16");
  EXPECT_EQ(config(t, "A % 4 = 2", "A / 4", "A % 4 = 2"), "[4 : 0, 2 : 1] : 2");
  // The boundary of a pair cuts the axis above, not the one below.
  EXPECT_EQ(config(t, "[B, A % 4] = 4", "A / 4", "A % 4"), "[4 : 0, 4 : 1] : 4");
  // Cut below, and a digit above that the buffer never had.
  EXPECT_EQ(config(t, "A / 4 % 2, A % 4 = 2", "A / 8", "A / 4 % 2, A % 4 = 2"),
            "[2 : 0, 2 : 2, 2 : 1] : 4");
}

TEST(SequencerTerms, PaddingOfTheBufferHoldsNoDigit) {
  const MappingTexts t{{"A", 8}, {"R", 11}};
  // The padded digit A % 4 # 8 ends at 4, where A / 4 begins.
  EXPECT_EQ(config(t, "A / 4, A % 4 # 8", "A % 4", "A / 4"), "[4 : 1, 2 : 8] : 2");
  EXPECT_EQ(config(t, "A / 4, A % 4 # 8", "1", "A"), "[2 : 8, 4 : 1] : 8");
  EXPECT_EQ(config(t, "R # 16 / 8, R # 16 % 8 # 32", "1", "R # 16"), "[2 : 32, 8 : 1] : 16");
  EXPECT_EQ(config(t, "R # 16", "R # 12 / 6", "R # 12 % 6"), "[2 : 6, 6 : 1] : 6");
}

TEST(SequencerTerms, PurePaddingReadsOnInnermost) {
  const MappingTexts t{{"A", 8}};
  EXPECT_EQ(config(t, "A # 16", "A", "1 # 8"), "[8 : 1, 8 : 1] : 8");
  EXPECT_EQ(config(t, "A", "1 # 2", "A"), "[2 : 0, 8 : 1] : 8");
  EXPECT_EQ(config(t, "A", "A, 1 # 2", "2"), "[8 : 1, 2 : 0, 2 : 0] : 2");
}

TEST(SequencerTerms, PaddingKeepsTheStrideOfItsDigit) {
  const MappingTexts t{{"A", 8}, {"B", 4}};
  EXPECT_EQ(config(t, "A, B", "B # 6", "A # 12"), "[6 : 1, 12 : 4] : 12");
  EXPECT_EQ(config(t, "A # 16", "A # 16 / 8", "A # 16 % 8"), "[2 : 8, 8 : 1] : 8");
  EXPECT_EQ(config(t, "A", "A # 16 / 8", "A # 16 % 8"), "[2 : 8, 8 : 1] : 8");  // to the very end
  EXPECT_EQ(config(t, "A", "1", "A, B # 5"), "[8 : 1, 5 : 0] : 40");
  // Dead digits are padding, no broadcast.
  EXPECT_EQ(written(t, "A # 16", "A # 16 / 8", "A # 16 % 8"), "[2 : 8, 8 : 1] : 8");
}

TEST(SequencerTerms, CompositePaddingMustComeToOneEntry) {
  const MappingTexts t{{"A", 3}, {"B", 2}, {"C", 4}};
  EXPECT_EQ(config(t, "A, B, C", "A", "[B, C] # 16"), "[3 : 8, 16 : 1] : 16");
  EXPECT_EQ(config(t, "A, B, C", "A", "[B, C] # 11"), "[3 : 8, 11 : 1] : 11");
  EXPECT_THAT(config(t, "B, A, C", "A", "[B, C] # 16"), HasSubstr("takes 2 loops"));
  EXPECT_THAT(config(t, "B, A, C", "A", "[B, C] # 16"), HasSubstr("must come to 1"));
  EXPECT_THAT(config(t, "A, C, B", "A", "[B, C] # 16"), HasSubstr("takes 2 loops"));
}

TEST(SequencerTerms, SuffixesThatCutAPairMustComeToOneEntry) {
  const MappingTexts t{{"A", 3}, {"B", 4}};
  EXPECT_EQ(config(t, "A, B", "1", "[A, B] = 10"), "[10 : 1] : 10");
  EXPECT_EQ(config(t, "A, B", "1", "[A, B] / 6"), "[2 : 6] : 2");
  EXPECT_THAT(config(t, "B, A", "1", "[A, B] = 10"), HasSubstr("must come to 1"));
  EXPECT_THAT(config(t, "[A, B] = 10", "1", "A, B"), HasSubstr("no stride describes it"));
}

TEST(SequencerTerms, BuffersMayBePaddedComposites) {
  const MappingTexts t{{"A", 3}, {"B", 4}, {"C", 2}};
  EXPECT_EQ(config(t, "C, [A, B] # 16", "A", "C, B"), "[3 : 4, 2 : 16, 4 : 1] : 8");
}

TEST(SequencerTerms, EntriesOfOneIterationVanish) {
  const MappingTexts t{{"A", 8}};
  EXPECT_EQ(config(t, "A", "1", "A"), "[8 : 1] : 8");
  EXPECT_EQ(config(t, "1", "1", "1"), "[] : 1");
  EXPECT_EQ(config(t, "A", "A = 1, A", "1"), "[8 : 1] : 1");
}

// ------------------------------------------------------------------------------ legality

TEST(SequencerLegality, StreamDigitsMustNotCarry) {
  const MappingTexts t{{"A", 12}};
  // A / 3 = 2 and A % 3 reach 3 + 2 = 5, beyond the digit A % 4.
  EXPECT_THAT(config(t, "A % 4, A / 4", "A / 3 = 2", "A % 3"),
              HasSubstr("without a common refinement"));
  EXPECT_THAT(config(t, "A % 4, A / 4", "A / 3 = 2", "A % 3"), HasSubstr("A = 5"));
  // The same in a gap: the buffer lacks A % 4, and 3 + 2 reaches A / 4.
  EXPECT_THAT(config(t, "A / 4", "A / 3 = 2", "A % 3"), HasSubstr("without a common refinement"));
  // 3 + 1 just reaches it.
  EXPECT_THAT(config(t, "A / 4", "A / 3 = 2", "A % 2"), HasSubstr("A = 4"));
  // A multiple of 6 has a digit A % 4.
  EXPECT_THAT(config(t, "A % 4", "A / 6", "1"), HasSubstr("without a common refinement"));
  EXPECT_EQ(config(t, "A % 4, A / 4", "A / 2 = 2", "A % 2"), "[2 : 6, 2 : 3] : 2");
}

TEST(SequencerLegality, NoDigitTwice) {
  const MappingTexts t{{"A", 8}};
  EXPECT_THAT(config(t, "A", "A", "A"), HasSubstr("appear twice"));
  EXPECT_THAT(config(t, "A", "A / 2", "A % 4"),
              HasSubstr("(a step of 2 lies within the 4 indices below it)"));
  EXPECT_THAT(config(MappingTexts{{"A", 6}}, "A", "A / 2", "A % 3"),
              HasSubstr("(a step of 2 lies within the 3 indices below it)"));
  EXPECT_THAT(config(t, "1", "A", "A"), HasSubstr("appear twice"));
}

TEST(SequencerLegality, EveryAxisOfTheInputIsRead) {
  const MappingTexts t{{"A", 8}, {"B", 4}};
  EXPECT_THAT(config(t, "A, B", "A", "1"), HasSubstr("axis B of the buffer 'A, B'"));
  EXPECT_EQ(config(t, "A, B", "A", "B = 2"), "[8 : 4, 2 : 1] : 2");
  EXPECT_EQ(config(t, "A, B", "A % 2", "B = 2"), "[2 : 4, 2 : 1] : 2");
  EXPECT_EQ(config(t, "2, A, 1 # 3", "1", "A"), "[8 : 3] : 8");  // broadcast, padding: unread
}

TEST(SequencerLegality, WritesDoNotBroadcast) {
  const MappingTexts t{{"A", 8}, {"B", 4}};
  EXPECT_THAT(written(t, "A", "B", "A"),
              HasSubstr("4 positions of 'B' are not in the destination"));
  EXPECT_THAT(written(t, "A", "2", "A"), HasSubstr("a write may not broadcast"));
  EXPECT_THAT(written(t, "2, A", "1", "A"),
              HasSubstr("the destination '2, A' contains a broadcast of 2"));
  EXPECT_THAT(written(t, "[2, A] # 20", "1", "A"), HasSubstr("contains a broadcast of 2"));
  EXPECT_EQ(written(t, "1 # 2, A", "1", "A"), "[8 : 1] : 8");
  EXPECT_EQ(written(t, "A, B", "B", "A"), "[4 : 1, 8 : 4] : 8");
}

TEST(SequencerLegality, EightEntriesAtMost) {
  // Sizes 2 on nine axes, stream reversed: nothing merges.
  const MappingTexts t{{"A", 2}, {"B", 2}, {"C", 2}, {"D", 2}, {"E", 2},
                       {"F", 2}, {"G", 2}, {"H", 2}, {"I", 2}};
  const SequencerResult eight = derive(t, "A, B, C, D, E, F, G, H", "H, G, F, E, D, C, B", "A");
  EXPECT_THAT(eight.problems, IsEmpty());
  EXPECT_EQ(eight.config.entries.size(), 8u);
  const std::string said = config(t, "A, B, C, D, E, F, G, H, I", "I, H, G, F, E, D, C, B", "A");
  EXPECT_THAT(said, HasSubstr("9 loops after merging, the sequencer has 8"));
  EXPECT_THAT(said, HasSubstr("[2 : 1, 2 : 2, 2 : 4,"));
  // In order everything merges; up to eight entries nothing does.
  EXPECT_EQ(config(t, "A, B, C, D, E, F, G, H, I", "A, B, C, D, E, F, G, H", "I"), "[512 : 1] : 2");
  EXPECT_EQ(derive(t, "A, B, C", "A, B", "C").config.entries.size(), 3u);
}

TEST(SequencerLegality, SixtyFiveThousandIterationsAtMost) {
  const MappingTexts t{{"A", 65536}, {"B", 65537}, {"C", 131072}};
  EXPECT_EQ(config(t, "A", "A", "1"), "[65536 : 1] : 1");
  EXPECT_THAT(config(t, "B", "B", "1"), HasSubstr("65537 : 1 iterates more than 65,536 times"));
  EXPECT_THAT(config(t, "C", "C", "1"), HasSubstr("iterates more than 65,536 times"));
  EXPECT_EQ(config(t, "C", "C / 65536", "C % 65536"), "[2 : 65536, 65536 : 1] : 65536");
}

TEST(SequencerLegality, MergingStopsAtSixtyFiveThousandIterations) {
  const MappingTexts t{{"A", uint64_t{1} << 20}, {"B", 64}};
  // 2048 x 64 would be 131,072 iterations: B stays alone. 2048 * 2^5 = 65,536 is just possible, and
  // 2^4 = 16 are left outside.
  const SequencerResult result = derive(
      t, "A, B",
      "A / 524288, A / 262144 % 2, A / 131072 % 2, A / 65536 % 2, A / 32768 % 2, A / 16384 % 2, "
      "A / 8192 % 2, A / 4096 % 2, A / 2048 % 2",
      "A % 2048, B");
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(result.unmerged.size(), 11u);
  EXPECT_EQ(result.config.text(), "[16 : 4194304, 65536 : 64, 64 : 1] : 131072");
  EXPECT_EQ(result.config.positions(), uint64_t{1} << 26);
}

TEST(SequencerLegality, BroadcastEntriesMerge) {
  const MappingTexts t{{"A", 2}, {"B", 2}, {"C", 2}, {"D", 2}, {"E", 2},
                       {"F", 2}, {"G", 2}, {"H", 2}, {"I", 2}};
  EXPECT_EQ(config(t, "I", "A, B, C, D, E, F, G, H", "I"), "[256 : 0, 2 : 1] : 2");
}

TEST(SequencerLegality, HugeStreamsAreRefused) {
  const MappingTexts t{{"A", uint64_t{1} << 40}};
  EXPECT_THAT(config(t, "1", "A", "A"), HasSubstr("positions; at most"));
}

// ------------------------------------------------------------------------------ access size

TEST(SequencerRun, StartsFromAnInnermostStrideOfOne) {
  // The rule of the seed on its own example.
  const SequencerConfig all{{{4, 192}, {3, 64}, {8, 8}, {8, 1}}, 8};
  EXPECT_EQ(all.contiguous_run(), 768u);
  EXPECT_EQ(all.max_access_size(), 8u);
  EXPECT_EQ((SequencerConfig{{{4, 192}, {3, 63}, {8, 8}, {8, 1}}, 8}.contiguous_run()), 64u);
  EXPECT_EQ((SequencerConfig{{{8, 16}, {8, 2}}, 8}.contiguous_run()), 1u);
  EXPECT_EQ((SequencerConfig{{{4, 1}}, 1}.contiguous_run()), 4u);
  EXPECT_EQ((SequencerConfig{{}, 1}.contiguous_run()), 1u);
  EXPECT_EQ((SequencerConfig{{}, 1}.max_access_size()), 1u);
}

TEST(SequencerRun, ABroadcastReplicatesOneAccess) {
  EXPECT_EQ((SequencerConfig{{{16, 1}, {4, 0}}, 4}.contiguous_run()), 4u);
  EXPECT_EQ((SequencerConfig{{{16, 1}, {2, 0}, {4, 0}}, 8}.contiguous_run()), 8u);
  EXPECT_EQ((SequencerConfig{{{16, 1}, {2, 0}, {4, 0}}, 12}.max_access_size()), 4u);
}

TEST(SequencerRun, AccessSizeIsTheCommonDivisor) {
  EXPECT_EQ((SequencerConfig{{{2, 100}, {12, 1}}, 8}.max_access_size()), 4u);
  EXPECT_EQ((SequencerConfig{{{3, 12}, {12, 1}}, 24}.max_access_size()), 12u);
  EXPECT_EQ((SequencerConfig{{{3, 13}, {12, 1}}, 36}.max_access_size()), 12u);
}

TEST(SequencerRun, OffsetsAreMixedRadix) {
  const SequencerConfig config{{{2, 64}, {3, -5}, {4, 1}}, 4};
  EXPECT_EQ(config.positions(), 24u);
  EXPECT_EQ(config.offset(0), 0);
  EXPECT_EQ(config.offset(3), 3);
  EXPECT_EQ(config.offset(4), -5);
  EXPECT_EQ(config.offset(23), 64 - 10 + 3);
}

// ------------------------------------------------------------------------------ walker

void expect_walk(const SequencerConfig& config) {
  for (uint64_t access = 1; access <= config.max_access_size(); ++access) {
    if (config.max_access_size() % access != 0) continue;
    SequencerWalker walker(config, access);
    ASSERT_EQ(walker.accesses(), config.positions() / access);
    for (uint64_t i = 0; i < walker.accesses(); ++i) {
      ASSERT_FALSE(walker.done());
      ASSERT_EQ(walker.index(), i);
      ASSERT_EQ(walker.offset(), config.offset(i * access))
          << config.text() << " access " << access;
      for (uint64_t k = 0; k < access; ++k) {
        ASSERT_EQ(walker.offset() + static_cast<int64_t>(walker.replicated() ? 0 : k),
                  config.offset(i * access + k))
            << config.text() << " access " << access;
      }
      walker.next();
    }
    ASSERT_TRUE(walker.done());
  }
}

TEST(SequencerWalker, VisitsTheOffsetsOfTheConfiguration) {
  expect_walk({{}, 1});
  expect_walk({{{5, 3}}, 1});
  expect_walk({{{4, 16}, {8, 1}}, 32});
  expect_walk({{{4, 96}, {3, 32}, {4, 8}, {8, 1}}, 8});
  expect_walk({{{3, 32}, {4, 96}, {4, 8}, {8, 1}}, 128});
  expect_walk({{{4, 0}, {16, 1}, {4, 0}}, 4});
  expect_walk({{{3, 7}, {2, 0}, {6, 0}}, 4});
  expect_walk({{{2, 12}, {3, 4}, {4, 1}}, 24});
  expect_walk({{{2, -8}, {8, 1}}, 8});
}

TEST(SequencerWalker, ReplicatesOnlyWhereOneElementFillsTheAccess) {
  EXPECT_TRUE(SequencerWalker({{{16, 1}, {4, 0}}, 4}, 4).replicated());
  EXPECT_TRUE(SequencerWalker({{{16, 1}, {4, 0}}, 4}, 2).replicated());
  EXPECT_FALSE(SequencerWalker({{{16, 1}, {4, 0}}, 4}, 1).replicated());
  EXPECT_FALSE(SequencerWalker({{{4, 0}, {16, 1}}, 4}, 4).replicated());
}

}  // namespace
}  // namespace rngdsim
