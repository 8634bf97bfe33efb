// SPDX-License-Identifier: Apache-2.0
// dma: the worked examples of the DMA page (one chip), and each rule of the derivation.
#include "lowering/lower_dma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSlice = uint64_t{4} << 20;  // slice_stride of the page
constexpr uint64_t kDmn = 32 * kSlice;          // DMN_stride

// A kernel that moves x to y.
struct DmaKernel {
  std::string axes, x, y;  // declaration of x; destination of the move with its other keys
  std::string text() const {
    return "kernel: k\naxes: {" + axes + "}\ntensors:\n  x: {" + x +
           "}\nprogram:\n  - dma: {from: x, to: y, " + y + "}\n";
  }
};

std::string loops_text(const DmaConfig::Segment& segment) {
  std::string text;
  for (const DmaConfig::Loop& loop : segment.loops) {
    text += fmt::format("{} {} {} | ", loop.size, loop.read_stride, loop.write_stride);
  }
  return text + fmt::format("{}", segment.packet_bytes);
}

class LowerDma : public testing::Test {
 protected:
  const DmaConfig& lower_move(const DmaKernel& kernel) {
    lowered_ = lower_text(kernel.text());
    EXPECT_EQ(lowered_.errors(), "") << kernel.text();
    static const DmaConfig kNone;
    if (lowered_.program.commands.empty() || !lowered_.command(0).dma) return kNone;
    return *lowered_.command(0).dma;
  }
  std::string errors(const DmaKernel& kernel) { return lower_text(kernel.text()).errors(); }
  const LowerBound& bound() const { return lowered_.command(0).bound; }
  LoweredKernel lowered_;
};

// ------------------------------------------------------------------------- the page's examples

TEST_F(LowerDma, Example1TransposesInHbm) {
  const DmaConfig& dma =
      lower_move({"A: 8, B: 8, C: 256", "memory: hbm, dtype: i8, element: \"A, B, C\", address: 0",
                  "memory: hbm, element: \"B, A, C\", address: 16384"});
  ASSERT_EQ(dma.segments.size(), 1U);
  const DmaConfig::Segment& segment = dma.segments[0];
  EXPECT_EQ(loops_text(segment), "8 2048 256 | 8 256 2048 | 256");
  EXPECT_EQ(segment.read_base, 0U);
  EXPECT_EQ(segment.write_base, 16384U);
  EXPECT_EQ(segment.engine, 0U);
  EXPECT_EQ(dma.bytes, 16384U);
  // 500 + 64 reads + 64 writes.
  EXPECT_EQ(bound().cycles, 628U);
  EXPECT_EQ(bound().bound_by, "dma requests");
  EXPECT_EQ(lowered_.warnings(), "");
}

TEST_F(LowerDma, Example2AlternatesTheDmnsOfAnEngine) {
  const DmaConfig& dma =
      lower_move({"A: 256, B: 256, C: 256", "memory: hbm, dtype: i8, element: \"B, A, C\"",
                  "memory: dm, slice: \"A / 4 # 256\", element: \"A % 4, B, C\""});
  ASSERT_EQ(dma.segments.size(), 1U);
  EXPECT_EQ(
      loops_text(dma.segments[0]),
      fmt::format("256 65536 256 | 4 256 65536 | 32 1024 {} | 2 32768 {} | 256", kSlice, kDmn));
  EXPECT_EQ(dma.segments[0].loops[2].term, "A / 4 % 32");
  EXPECT_EQ(dma.segments[0].loops[3].term, "A / 128");
  EXPECT_EQ(dma.segments[0].packet_term, "C");
  // max(65,536 reads, 65,536 writes) + 500; a DMN takes half of them at 2 cycles each.
  EXPECT_EQ(bound().cycles, 66036U);
  EXPECT_EQ(bound().dmn, 65536U);
}

TEST_F(LowerDma, Example3SerialisesInOneCluster) {
  const DmaConfig& dma = lower_move(
      {"A: 256, B: 256, C: 256",
       "memory: dm, dtype: i8, slice: \"A / 4 # 256\", element: \"A % 4, B, C\", address: 0",
       "memory: dm, slice: \"A / 4 # 256\", element: \"B, A % 4, C\", address: 262144, "
       "time: \"B, A % 4, A / 4 % 32, A / 128\", packet: \"C\""});
  ASSERT_EQ(dma.segments.size(), 1U);
  // The page prints a read stride of 1 for B; in `A % 4, B, C` it is 256.
  EXPECT_EQ(loops_text(dma.segments[0]),
            fmt::format("256 256 1024 | 4 65536 256 | 32 {0} {0} | 2 {1} {1} | 256", kSlice, kDmn));
  EXPECT_EQ(dma.segments[0].write_base, 262144U);
  // 65,536 reads + 65,536 writes + 500.
  EXPECT_EQ(bound().cycles, 131572U);
}

TEST_F(LowerDma, Example4WalksRowsFarApart) {
  const std::string from = "memory: hbm, dtype: i8, element: \"A, B, C\", address: 0";
  const std::string to =
      "memory: dm, cluster: \"B / 1024\", slice: \"B / 256 % 4, A\", element: \"B % 256, C\"";
  const DmaConfig& dma =
      lower_move({"A: 64, B: 2048, C: 1024", from,
                  to + ", time: \"B % 256, C / 256, A % 32, A / 32\", packet: \"C % 256\""});
  ASSERT_EQ(dma.segments.size(), 8U);
  for (uint64_t e = 0; e < 8; ++e) {
    const DmaConfig::Segment& segment = dma.segments[e];
    EXPECT_EQ(segment.engine, e);
    EXPECT_EQ(loops_text(segment),
              fmt::format("256 1024 1024 | 4 256 256 | 32 2097152 {} | 2 67108864 {} | 256", kSlice,
                          kDmn));
    // i * 2^20 + j * 2^18 of cluster i and pair of DMNs j.
    EXPECT_EQ(segment.read_base, (e / 4 << 20) + (e % 4 << 18));
    EXPECT_EQ(segment.write_base, e * 64 * kSlice);
  }
  // Without an order given: rows of 1,024 lie together on both sides, as many as fit 4,096 bytes.
  const DmaConfig& derived = lower_move({"A: 64, B: 2048, C: 1024", from, to});
  ASSERT_EQ(derived.segments.size(), 8U);
  EXPECT_EQ(loops_text(derived.segments[0]),
            fmt::format("64 4096 4096 | 32 2097152 {} | 2 67108864 {} | 4096", kSlice, kDmn));
  EXPECT_EQ(derived.segments[0].packet_term, "B % 4, C");
}

TEST_F(LowerDma, Example5MovesAPartOfAnAxis) {
  const DmaConfig& dma =
      lower_move({"A: 8, B: 64, C: 8, D: 512", "memory: hbm, dtype: i8, element: \"A, B, C, D\"",
                  "memory: dm, cluster: \"A / 4\", slice: \"A % 4, B\", element: \"C, D % 256\""});
  ASSERT_EQ(dma.segments.size(), 8U);
  for (uint64_t e = 0; e < 8; ++e) {
    EXPECT_EQ(dma.segments[e].engine, e);
    EXPECT_EQ(loops_text(dma.segments[e]),
              fmt::format("8 512 256 | 32 4096 {} | 2 131072 {} | 256", kSlice, kDmn));
    EXPECT_EQ(dma.segments[e].read_base, e << 18);
    EXPECT_EQ(dma.segments[e].write_base, e * 64 * kSlice);
  }
  EXPECT_EQ(lowered_.warnings(), "dma: of axis D 256 of the 512 indices in 'x' are moved\n");
  // 512 requests an engine.
  EXPECT_EQ(bound().cycles, 1012U);
}

TEST_F(LowerDma, Example6CutsTheLastEngineInTwo) {
  const std::string from =
      "memory: dm, dtype: i8, cluster: \"D\", slice: \"A # 16 / 4, A # 16 / 2 % 2, B\", "
      "element: \"A # 16 % 2, C\", address: 0";
  const DmaConfig& dma = lower_move({"A: 15, B: 32, C: 256, D: 2", from,
                                     "memory: hbm, element: \"D, B, A, C\", address: 0, "
                                     "time: \"A # 16 % 2, B, A # 16 / 2 % 2\", packet: \"C\""});
  // Three whole engines and one of two segments, in either cluster.
  ASSERT_EQ(dma.segments.size(), 10U);
  const uint64_t row = 15 * 256;  // of one B in HBM
  for (uint64_t cluster = 0; cluster < 2; ++cluster) {
    for (uint64_t e = 0; e < 3; ++e) {
      const DmaConfig::Segment& segment = dma.segments[cluster * 5 + e];
      EXPECT_EQ(segment.engine, cluster * 4 + e);
      EXPECT_EQ(loops_text(segment),
                fmt::format("2 256 256 | 32 {} {} | 2 {} 512 | 256", kSlice, row, kDmn));
      EXPECT_EQ(segment.read_base, (cluster * 4 + e) * 64 * kSlice);
      EXPECT_EQ(segment.write_base, cluster * 32 * row + e * 1024);
    }
    // A = 12, 13 in DMN 6 of the cluster, then A = 14 in DMN 7.
    const DmaConfig::Segment& first = dma.segments[cluster * 5 + 3];
    const DmaConfig::Segment& second = dma.segments[cluster * 5 + 4];
    EXPECT_EQ(first.engine, cluster * 4 + 3);
    EXPECT_EQ(second.engine, cluster * 4 + 3);
    EXPECT_EQ(loops_text(first), fmt::format("2 256 256 | 32 {} {} | 256", kSlice, row));
    EXPECT_EQ(loops_text(second), fmt::format("32 {} {} | 256", kSlice, row));
    EXPECT_EQ(second.read_base, (cluster * 4 + 3) * 64 * kSlice + kDmn);
    EXPECT_EQ(second.write_base, cluster * 32 * row + 14 * 256);
  }
  EXPECT_EQ(dma.bytes, 15U * 32 * 256 * 2);
  // Of the last engine: two start-ups, 96 packets read and written in turn.
  EXPECT_EQ(bound().overhead, 1000U);
  EXPECT_EQ(bound().cycles, 1192U);
  // Left alone, A % 2 and C are one packet.
  const DmaConfig& derived = lower_move(
      {"A: 15, B: 32, C: 256, D: 2", from, "memory: hbm, element: \"D, B, A, C\", address: 0"});
  ASSERT_EQ(derived.segments.size(), 10U);
  EXPECT_EQ(loops_text(derived.segments[0]),
            fmt::format("32 {} {} | 2 {} 512 | 512", kSlice, row, kDmn));
}

// ----------------------------------------------------------------------------------- padding

TEST_F(LowerDma, PaddingIsLeftAloneWhereLiveElementsAreABox) {
  const DmaConfig& dma = lower_move({"A: 3, B: 24", "memory: hbm, dtype: i8, element: \"A, B\"",
                                     "memory: dm, slice: \"1 # 256\", element: \"A # 4, B # 32\""});
  ASSERT_EQ(dma.segments.size(), 1U);
  EXPECT_EQ(loops_text(dma.segments[0]), "3 24 32 | 24");
  EXPECT_EQ(dma.bytes, 72U);
}

TEST_F(LowerDma, PaddingIsOverwrittenWhereDataMemoryWantsWholeEightBytes) {
  // Rows of 15 in HBM at 16: the 16th byte goes to padding.
  const DmaConfig& dma =
      lower_move({"A: 4, B: 15", "memory: hbm, dtype: i8, element: \"A, B # 16\"",
                  "memory: dm, slice: \"1 # 256\", element: \"A, B # 32\""});
  ASSERT_EQ(dma.segments.size(), 1U);
  EXPECT_EQ(loops_text(dma.segments[0]), "4 16 32 | 16");
  EXPECT_EQ(dma.bytes, 60U);
  // Bottom padding is not.
  EXPECT_THAT(errors({"A: 4, B: 15", "memory: hbm, dtype: i8, element: \"A, B # 16\"",
                      "memory: dm, slice: \"1 # 256\", element: \"A, B #{!} 32\""}),
              HasSubstr("a packet is 15 bytes; a write to dm needs multiples of 8"));
}

TEST_F(LowerDma, PaddingMakesOneSegmentOfSeveral) {
  // A = 15 over 4 slices of 4: the 16th row is read past A and lands in padding.
  const DmaConfig& dma =
      lower_move({"A: 15, B: 64", "memory: hbm, dtype: i8, element: \"A, B\"",
                  "memory: dm, slice: \"[A # 16 / 4] # 256\", element: \"A # 16 % 4, B\""});
  ASSERT_EQ(dma.segments.size(), 1U);
  EXPECT_EQ(loops_text(dma.segments[0]), fmt::format("4 256 {} | 256", kSlice));
  // Where it must not be touched there are two: 3 slices, and the rest of the last.
  const DmaConfig& two =
      lower_move({"A: 15, B: 64", "memory: hbm, dtype: i8, element: \"A, B\"",
                  "memory: dm, slice: \"[A #{!} 16 / 4] # 256\", element: \"A #{!} 16 % 4, B\""});
  ASSERT_EQ(two.segments.size(), 2U);
  EXPECT_EQ(loops_text(two.segments[0]), fmt::format("3 256 {} | 256", kSlice));
  EXPECT_EQ(loops_text(two.segments[1]), "192");
  EXPECT_EQ(two.segments[1].read_base, 12U * 64);
  EXPECT_EQ(two.segments[1].write_base, 3 * kSlice);
}

TEST_F(LowerDma, ZeroPaddingIsMovedFromZeroPadding) {
  const DmaConfig& dma =
      lower_move({"A: 6, B: 8", "memory: hbm, dtype: i8, element: \"A #{0} 8, B\"",
                  "memory: dm, slice: \"1 # 256\", element: \"A #{0} 8, B\""});
  ASSERT_EQ(dma.segments.size(), 1U);
  EXPECT_EQ(loops_text(dma.segments[0]), "64");
  EXPECT_EQ(dma.bytes, 48U);
  EXPECT_THAT(errors({"A: 6, B: 8", "memory: hbm, dtype: i8, element: \"A # 8, B\"",
                      "memory: dm, slice: \"1 # 256\", element: \"A #{0} 8, B\""}),
              HasSubstr("zero padding of 'y' must be written with zeros"));
}

// Of two digits in their padding the outer one says what the place is: A's zeros are zeros where B
// is padded too, and padding wins over an overshoot.
TEST_F(LowerDma, ZeroPaddingIsZeroInThePaddingInsideOfIt) {
  const DmaConfig& inside =
      lower_move({"A: 6, B: 6", "memory: hbm, dtype: i8, element: \"A #{0} 8, B # 8\"",
                  "memory: dm, slice: \"1 # 256\", element: \"A #{0} 8, B # 8\""});
  ASSERT_EQ(inside.segments.size(), 1U);
  EXPECT_EQ(loops_text(inside.segments[0]), "64");
  EXPECT_EQ(inside.bytes, 36U);
  // Padding outside of it wins, and only B's 6 indices need be moved: 6 x 8 bytes.
  const DmaConfig& outside =
      lower_move({"A: 6, B: 6", "memory: hbm, dtype: i8, element: \"B # 7, A #{0} 8\"",
                  "memory: hbm, element: \"B # 8, A #{0} 8\""});
  ASSERT_EQ(outside.segments.size(), 1U);
  EXPECT_EQ(loops_text(outside.segments[0]), "48");
  // The last: B = 2 * 3 and more is beyond its 6 indices.
  for (const auto& [from, to] : {std::pair{"B # 8, A #{0} 8", "A #{0} 8, B # 8"},
                                 std::pair{"A #{0} 8, B # 7", "A #{0} 8, B # 8"},
                                 std::pair{"B, A #{0} 8", "B # 9 / 3, B # 9 % 3, A #{0} 8"}}) {
    EXPECT_THAT(errors({"A: 6, B: 6", fmt::format("memory: hbm, dtype: i8, element: \"{}\"", from),
                        fmt::format("memory: hbm, element: \"{}\"", to)}),
                HasSubstr("zero padding of 'y' must be written with zeros"));
  }
}

// ---------------------------------------------------------------------------------- replicas

TEST_F(LowerDma, AnAxisThatTheSourceLacksIsAReplica) {
  const DmaConfig& dma =
      lower_move({"A: 8, B: 64, R: 4", "memory: hbm, dtype: i8, element: \"A, B\"",
                  "memory: dm, slice: \"[R, A] # 256\", element: \"B\""});
  ASSERT_EQ(dma.segments.size(), 1U);
  EXPECT_EQ(loops_text(dma.segments[0]), fmt::format("4 0 {} | 8 64 {} | 64", 8 * kSlice, kSlice));
  EXPECT_EQ(dma.bytes, 4U * 8 * 64);
  const std::string loops = loops_text(dma.segments[0]);
  // So is a number.
  const DmaConfig& number = lower_move({"A: 8, B: 64", "memory: hbm, dtype: i8, element: \"A, B\"",
                                        "memory: dm, slice: \"[4, A] # 256\", element: \"B\""});
  EXPECT_EQ(loops_text(number.segments.at(0)), loops);
  EXPECT_EQ(lowered_.tensor("y").logical.size(), 2U);
}

TEST_F(LowerDma, ReplicasAlternateTheDmnsToo) {
  // 16 x 4 slices; the DMN is a digit of R, which the source lacks: innermost nevertheless.
  const DmaConfig& dma =
      lower_move({"A: 16, B: 64, R: 4", "memory: hbm, dtype: i8, element: \"A, B\"",
                  "memory: dm, slice: \"[R, A] # 256\", element: \"B\""});
  ASSERT_EQ(dma.segments.size(), 1U);
  EXPECT_EQ(loops_text(dma.segments[0]),
            fmt::format("2 0 {} | 16 64 {} | 2 0 {} | 64", 16 * kSlice, kSlice, kDmn));
}

TEST_F(LowerDma, AReplicaMayBeLeftBehind) {
  const DmaConfig& dma =
      lower_move({"A: 8, B: 64, R: 4",
                  "memory: dm, dtype: i8, slice: \"[R, A] # 256\", element: \"B\", logical: [A, B]",
                  "memory: hbm, element: \"A, B\""});
  ASSERT_EQ(dma.segments.size(), 1U);
  EXPECT_EQ(loops_text(dma.segments[0]), fmt::format("8 {} 64 | 64", kSlice));
  EXPECT_THAT(
      errors({"A: 8, B: 64, R: 4", "memory: dm, dtype: i8, slice: \"[R, A] # 256\", element: \"B\"",
              "memory: hbm, element: \"A, B\""}),
      HasSubstr("'x' has 4 indices of axis R, the destination 'y' has 1"));
}

// ---------------------------------------------------------------------- packets, engines, loops

TEST_F(LowerDma, APacketIsTheLargestDivisorOfTheRunThatFits) {
  // 6,144 bytes lie together: 3,072 fit 4,096 and divide it.
  const DmaConfig& dma =
      lower_move({"A: 2, B: 6144", "memory: hbm, dtype: i8, element: \"A, B # 8192\"",
                  "memory: hbm, element: \"A, B\""});
  EXPECT_EQ(loops_text(dma.segments.at(0)), "2 8192 6144 | 2 3072 3072 | 3072");
  // Exactly 4,096 and one more row.
  const DmaConfig& exact = lower_move({"A: 2, B: 4096", "memory: hbm, dtype: i8, element: \"A, B\"",
                                       "memory: hbm, element: \"A, B\""});
  EXPECT_EQ(loops_text(exact.segments.at(0)), "2 4096 4096 | 4096");
}

TEST_F(LowerDma, EnginesShareTheOutermostLoop) {
  const DmaKernel four{"A: 8, B: 8, C: 256",
                       "memory: hbm, dtype: i8, element: \"A, B, C\", address: 0",
                       "memory: hbm, element: \"B, A, C\", address: 16384, engines: [0, 2, 4, 6]"};
  const DmaConfig& dma = lower_move(four);
  ASSERT_EQ(dma.segments.size(), 4U);
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(dma.segments[i].engine, 2 * i);
    EXPECT_EQ(dma.segments[i].read_base, i * 2 * 2048);
    EXPECT_EQ(dma.segments[i].write_base, 16384 + i * 2 * 256);
    EXPECT_EQ(loops_text(dma.segments[i]), "2 2048 256 | 8 256 2048 | 256");
  }
  // 500 + 16 reads + 16 writes each.
  EXPECT_EQ(bound().cycles, 532U);
}

// 8 steps on 3 engines: 2, 3 and 3 of them.
TEST_F(LowerDma, EnginesShareALoopThatTheyDoNotDivide) {
  const DmaConfig& dma =
      lower_move({"A: 8, B: 8, C: 256", "memory: hbm, dtype: i8, element: \"A, B, C\", address: 0",
                  "memory: hbm, element: \"B, A, C\", address: 16384, engines: [5, 0, 1]"});
  ASSERT_EQ(dma.segments.size(), 3U);
  const uint64_t engines[] = {0, 1, 5}, first[] = {2, 5, 0}, steps[] = {3, 3, 2};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(dma.segments[i].engine, engines[i]);
    EXPECT_EQ(dma.segments[i].read_base, first[i] * 2048);
    EXPECT_EQ(dma.segments[i].write_base, 16384 + first[i] * 256);
    EXPECT_EQ(loops_text(dma.segments[i]), fmt::format("{} 2048 256 | 8 256 2048 | 256", steps[i]));
  }
  // 500 + 24 reads + 24 writes of the busiest.
  EXPECT_EQ(bound().cycles, 548U);
}

// 2 steps for 5 engines: two share the first one, three the second.
TEST_F(LowerDma, EnginesShareWhatIsInsideOfAShortLoop) {
  const DmaConfig& dma =
      lower_move({"A: 2, B: 7, C: 256", "memory: hbm, dtype: i8, element: \"A, B, C\", address: 0",
                  "memory: hbm, element: \"B, A, C\", address: 16384, engines: [0, 1, 2, 3, 4]"});
  ASSERT_EQ(dma.segments.size(), 5U);
  const uint64_t a[] = {0, 0, 1, 1, 1}, b[] = {0, 3, 0, 2, 4}, steps[] = {3, 4, 2, 2, 3};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(dma.segments[i].engine, i);
    EXPECT_EQ(dma.segments[i].read_base, a[i] * 1792 + b[i] * 256);
    EXPECT_EQ(dma.segments[i].write_base, 16384 + a[i] * 256 + b[i] * 512);
    EXPECT_EQ(loops_text(dma.segments[i]), fmt::format("{} 256 512 | 256", steps[i]));
  }
}

// Slices 0 to 191 belong to 3 pairs of DMNs: of two engines the first takes two pairs, the second
// one; of five the first pair has one, the others two each, which share its rows of 3 by 1 and 2.
TEST_F(LowerDma, AnyNumberOfEnginesServesThePairsOfDataMemory) {
  const std::string axes = "A: 3, B: 64, C: 3, P: 64";
  const std::string from = "memory: hbm, dtype: i8, element: \"C, A, B, P\", address: 0";
  const std::string to = "memory: dm, slice: \"[A, B] # 256\", element: \"C, P # 128\", engines: ";
  const DmaConfig two = lower_move({axes, from, to + "[6, 7]"});
  ASSERT_EQ(two.segments.size(), 3U);
  for (size_t pair = 0; pair < 3; ++pair) {
    EXPECT_EQ(two.segments[pair].engine, pair < 2 ? 6U : 7U);
    EXPECT_EQ(two.segments[pair].write_base, pair * 64 * kSlice);
  }
  const DmaConfig five = lower_move({axes, from, to + "[0, 1, 2, 3, 4]"});
  ASSERT_EQ(five.segments.size(), 5U);
  const uint64_t pair[] = {0, 1, 1, 2, 2}, row[] = {0, 0, 1, 0, 1}, rows[] = {3, 1, 2, 1, 2};
  for (size_t i = 0; i < 5; ++i) {
    const DmaConfig::Segment& segment = five.segments[i];
    EXPECT_EQ(segment.engine, i);
    EXPECT_EQ(segment.read_base, pair[i] * 64 * 64 + row[i] * 3 * 64 * 64);
    EXPECT_EQ(segment.write_base, pair[i] * 64 * kSlice + row[i] * 128);
    EXPECT_EQ(segment.packets(), rows[i] * 64);
  }
  // 15 rows in digits of 4 are three fours and three: one four and two of the last three for the
  // first engine, two fours and one for the second.
  const DmaConfig boxes = lower_move({"A: 15, P: 64", "memory: hbm, dtype: i8, element: \"A, P\"",
                                      "memory: hbm, element: \"A #{!} 16 % 4, A #{!} 16 / 4, P\", "
                                      "engines: [0, 1]"});
  std::vector<uint64_t> packets = {0, 0};
  for (const DmaConfig::Segment& segment : boxes.segments) {
    packets.at(segment.engine) += segment.packets();
  }
  EXPECT_THAT(packets, testing::ElementsAre(6U, 9U));
}

TEST_F(LowerDma, EnginesOfDataMemoryAreThoseOfTheSource) {
  // From cluster 0 to cluster 1, slices 64 to 127 of either: engine 1.
  const DmaConfig& dma = lower_move(
      {"A: 64, B: 64, X: 2, Y: 4",
       "memory: dm, dtype: i8, cluster: \"1 # 2\", slice: \"Y, A\", element: \"B\", address: 0",
       "memory: dm, cluster: \"Y / 2\", slice: \"[Y % 2, A] # 256\", element: \"B\", address: 64"});
  ASSERT_EQ(dma.segments.size(), 4U);
  for (uint64_t y = 0; y < 4; ++y) {
    EXPECT_EQ(dma.segments[y].engine, y);
    EXPECT_EQ(dma.segments[y].read_base, y * 64 * kSlice);
    EXPECT_EQ(dma.segments[y].write_base, (y / 2 * 256 + y % 2 * 64) * kSlice + 64);
    EXPECT_EQ(loops_text(dma.segments[y]),
              fmt::format("32 {0} {0} | 2 {1} {1} | 64", kSlice, kDmn));
  }
  // 64 packets an engine; within cluster 0 reads and writes add up, 128 in all.
  EXPECT_EQ(bound().dma_requests, 128U);
}

TEST_F(LowerDma, AtMostEightLoopsWithThatOfThePacket) {
  // 8 axes reversed: 7 loops and the packet H of 8 bytes... A to H each on its own.
  const std::string axes = "A: 2, B: 2, C: 2, D: 2, E: 2, F: 2, G: 2, H: 8, I: 2";
  EXPECT_EQ(errors({axes, "memory: hbm, dtype: i8, element: \"A, B, C, D, E, F, G, H\"",
                    "memory: hbm, element: \"G, F, E, D, C, B, A, H\""}),
            "");
  EXPECT_THAT(errors({axes, "memory: hbm, dtype: i8, element: \"I, A, B, C, D, E, F, G, H\"",
                      "memory: hbm, element: \"G, F, E, D, C, B, A, I, H\""}),
              HasSubstr("8 loops and a packet, the sequencer has 8 in all"));
}

// ------------------------------------------------------------------------ placement and hazards

TEST_F(LowerDma, HbmIsPlacedFirstFitAtLines) {
  const LoweredKernel kernel = lower_text(
      "kernel: k\naxes: {A: 100}\ntensors:\n"
      "  a: {memory: hbm, dtype: i8, element: A}\n"
      "  b: {memory: hbm, dtype: i8, element: A, address: 300}\n"
      "  c: {memory: hbm, dtype: i8, element: A}\nprogram:\n"
      "  - dma: {from: a, to: d, memory: hbm, element: A}\n");
  EXPECT_EQ(kernel.errors(), "");
  EXPECT_EQ(kernel.tensor("a").address, 0U);
  EXPECT_EQ(kernel.tensor("b").address, 300U);
  EXPECT_EQ(kernel.tensor("c").address, 512U);  // behind b, whose last byte is 399
  EXPECT_EQ(kernel.tensor("d").address, 768U);
  const Command& command = kernel.command(0);
  ASSERT_EQ(command.writes.size(), 1U);
  EXPECT_EQ(command.writes[0].memory, MemoryKind::kHbm);
  EXPECT_EQ(command.writes[0].begin, 768U);
  EXPECT_EQ(command.writes[0].end, 868U);
  EXPECT_EQ(command.dma->segments.at(0).write_base, 768U);
  EXPECT_EQ(command.context, Context::kDma);
  // 100 bytes are no line.
  EXPECT_THAT(kernel.warnings(), HasSubstr("packets of 100 bytes are written at byte 0 of a line"));
}

TEST_F(LowerDma, ReadsThatCrossALineAreNamed) {
  // Rows of 256 at 128: every read touches two lines. Data memory has none.
  lower_move({"A: 4, B: 256", "memory: hbm, dtype: i8, element: \"A, B\", address: 128",
              "memory: dm, slice: \"1 # 256\", element: \"A, B\", packet: \"B\""});
  EXPECT_EQ(lowered_.warnings(),
            "dma: packets of 256 bytes are read at byte 128 of a line of 256, so that a request "
            "takes two transfers\n");
  // 128 bytes from byte 0 or 128 stay within a line.
  lower_move({"A: 4, B: 128", "memory: hbm, dtype: i8, element: \"A, B\", address: 128",
              "memory: dm, slice: \"1 # 256\", element: \"A, B\", packet: \"B\""});
  EXPECT_EQ(lowered_.warnings(), "");
}

// 512 requests of one slice, half of them into the other cluster by the one loop over slices: those
// need not take turns, and a bound does not say so.
TEST_F(LowerDma, MovesIntoBothClustersAreNotBoundByTurns) {
  lower_move({"A: 128, C: 4, P: 8",
              "memory: dm, dtype: i8, slice: \"1 # 256\", element: \"C, A, P\"",
              "memory: dm, cluster: \"C / 2\", slice: \"C % 2, A\", element: P"});
  EXPECT_EQ(bound().dma_requests, 512U);
  // 512 beats read of the first DMN and 32 written there (C = 0, A < 32), the first one within the
  // start-up.
  EXPECT_EQ(bound().dmn, 543U);
  EXPECT_EQ(bound().cycles, 1043U);
}

// 65,536 bytes are 2,185 cycles of PCIe. What is read passes it from the first request on, 411
// cycles before the end of the start-up, and needs 400 more; what is written cannot be there before
// 500.
TEST_F(LowerDma, MovesWithTheHostAreBoundByPcie) {
  const DmaConfig& in = lower_move({"A: 65536", "memory: host, dtype: i8, element: A, address: 77",
                                    "memory: hbm, element: A, address: 256"});
  ASSERT_EQ(in.segments.size(), 1U);
  EXPECT_EQ(in.segments[0].engine, 0U);
  EXPECT_EQ(in.segments[0].read_base, 77U);
  EXPECT_EQ(in.segments[0].write_base, 256U);
  EXPECT_EQ(loops_text(in.segments[0]), "16 4096 4096 | 4096");
  EXPECT_EQ(bound().bound_by, "pcie");
  EXPECT_EQ(bound().cycles, 89U + 2185 + 400);
  lower_move({"A: 65536", "memory: hbm, dtype: i8, element: A", "memory: host, element: A"});
  EXPECT_EQ(bound().bound_by, "pcie");
  EXPECT_EQ(bound().cycles, 500U + 2185);
}

// Each memory has addresses of its own; partial lines and crossed ones are a matter of HBM.
TEST_F(LowerDma, TheHostIsAMemoryOfItsOwn) {
  lower_move(
      {"A: 100", "memory: host, dtype: i8, element: A", "memory: hbm, element: \"A # 256\""});
  EXPECT_EQ(lowered_.tensor("x").address, 0U);
  EXPECT_EQ(lowered_.tensor("y").address, 0U);
  EXPECT_THAT(lowered_.warnings(), HasSubstr("packets of 100 bytes are written at byte 0"));
  lower_move({"A: 100", "memory: hbm, dtype: i8, element: A", "memory: host, element: A"});
  EXPECT_EQ(lowered_.warnings(), "");
}

}  // namespace
}  // namespace rngdsim
