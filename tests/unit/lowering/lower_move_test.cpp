// SPDX-License-Identifier: Apache-2.0
// Fetch, Collect, register file, casts, trim and commit, one stage function at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "numeric/convert.h"
#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

class LowerMove : public StageTest {
 protected:
  std::optional<FetchConfig> fetch(const std::string& element, DType dtype, const std::string& time,
                                   const std::string& packet, Context context = Context::kMain,
                                   std::optional<DType> cast_to = std::nullopt) {
    return lower_fetch(map(element), dtype, context, declared(time), declared(packet), cast_to,
                       scope_);
  }
  std::optional<CommitConfig> commit(const StreamShape& in, const std::string& element,
                                     Context context = Context::kMain) {
    return lower_commit(in, declared(element), context, {}, scope_);
  }
};

// ------------------------------------------------------------------------------------- fetch

TEST_F(LowerMove, FetchReadsTheLargestPowerOfTwoThatDividesTheRun) {
  axes({{"A", 4}, {"B", 96}});
  // Packets of 2 to 96 bytes from rows of 96: the largest of 1, 2, ... 32 B that divides them.
  const std::vector<std::pair<std::string, uint64_t>> cases = {
      {"B % 2", 2},   {"B % 3", 1},  {"B % 4", 4},   {"B % 6", 2},   {"B % 8", 8}, {"B % 12", 4},
      {"B % 16", 16}, {"B % 24", 8}, {"B % 32", 32}, {"B % 48", 16}, {"B", 32}};
  for (const auto& [packet, bytes] : cases) {
    const auto config = fetch("A, B", DType::kI8, "A", packet);
    ASSERT_TRUE(config) << packet << errors();
    EXPECT_EQ(config->access_bytes, bytes) << packet;
    EXPECT_EQ(config->accesses_per_packet, map(packet).size() / bytes) << packet;
    EXPECT_EQ(config->accesses, 4 * map(packet).size() / bytes) << packet;
    EXPECT_EQ(config->packets, 4U);
  }
}

TEST_F(LowerMove, FetchOf24BytesTakesThreeReadsOf8) {
  axes({{"A", 4}, {"B", 12}});
  const auto config = fetch("A, B", DType::kBF16, "A", "B");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->access_bytes, 8U);
  EXPECT_EQ(config->accesses_per_packet, 3U);
  EXPECT_EQ(config->accesses, 12U);
}

TEST_F(LowerMove, FetchRunIsCutWhereTheBufferIsNotContiguous) {
  axes({{"A", 4}, {"B", 8}, {"C", 4}});
  // Packet B, C of buffer B, A, C: runs of C only.
  auto config = fetch("B, A, C", DType::kI8, "A", "B, C");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->access_bytes, 4U);
  EXPECT_EQ(config->accesses_per_packet, 8U);
  // In order it is one run of 32.
  config = fetch("A, B, C", DType::kI8, "A", "B, C");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->access_bytes, 32U);
  // Transposed: element by element.
  config = fetch("A, B, C", DType::kI8, "A", "C, B");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->access_bytes, 1U);
}

TEST_F(LowerMove, FetchWithACastIsBoundedByOneFlitBehindIt) {
  axes({{"A", 4}, {"B", 64}});
  struct Case {
    DType from, to;
    uint64_t elements, bytes;
  };
  // hardware.md section 3: i8 -> i32 and i4 -> i32 at most 8 elements a read.
  const std::vector<Case> cases = {
      {DType::kI8, DType::kI32, 8, 8},    {DType::kI4, DType::kI32, 8, 4},
      {DType::kI16, DType::kI32, 8, 16},  {DType::kF8E4M3, DType::kF32, 8, 8},
      {DType::kBF16, DType::kF32, 8, 16}, {DType::kF32, DType::kBF16, 8, 32},
  };
  for (const Case& c : cases) {
    const auto config = fetch("A, B", c.from, "A", "B", Context::kMain, c.to);
    ASSERT_TRUE(config) << name(c.from);
    EXPECT_EQ(config->access_elements, c.elements) << name(c.from);
    EXPECT_EQ(config->access_bytes, c.bytes) << name(c.from);
    EXPECT_EQ(config->accesses, 4 * 64 / c.elements) << name(c.from);
  }
}

TEST_F(LowerMove, SubFetchReads8Bytes) {
  axes({{"A", 4}, {"B", 32}});
  const std::vector<std::pair<DType, uint64_t>> cases = {
      {DType::kI4, 16}, {DType::kI8, 8}, {DType::kBF16, 4}, {DType::kF32, 2}};
  for (const auto& [dtype, elements] : cases) {
    const auto config = fetch("A, B", dtype, "A", "B", Context::kSub);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->access_bytes, 8U);
    EXPECT_EQ(config->access_elements, elements);
    EXPECT_EQ(config->accesses, 4 * 32 / elements);
  }
  // i8 -> i32: 8 elements are just one flit; i4 -> i32 would be 16.
  EXPECT_TRUE(fetch("A, B", DType::kI8, "A", "B", Context::kSub, DType::kI32));
  EXPECT_FALSE(fetch("A, B", DType::kI4, "A", "B", Context::kSub, DType::kI32));
  EXPECT_NE(errors().find("64 bytes, more than a flit of 32"), std::string::npos);
  // A run of 4 bytes.
  EXPECT_FALSE(fetch("B / 4, A, B % 4", DType::kI8, "A", "B", Context::kSub));
  EXPECT_NE(errors().find("sub reads 8 bytes"), std::string::npos);
}

TEST_F(LowerMove, SubFetchNeedsReadsOfAWholeElement) {
  axes({{"A", 4}, {"B", 32}});
  limits_.sub_fixed_read = 2;
  EXPECT_TRUE(fetch("A, B", DType::kBF16, "A", "B", Context::kSub));
  EXPECT_FALSE(fetch("A, B", DType::kF32, "A", "B", Context::kSub));
  EXPECT_EQ(errors(),
            "fetch: sub reads 2 bytes at a time, less than an element of f32 (32 bits)\n");
}

TEST_F(LowerMove, FetchNeedsWholeBytes) {
  axes({{"A", 4}, {"B", 6}, {"C", 5}});
  EXPECT_TRUE(fetch("A, B", DType::kI4, "A", "B"));  // 3 bytes: reads of 1
  EXPECT_FALSE(fetch("A, B", DType::kI4, "B", "A"));
  EXPECT_NE(errors().find("runs of 1 lie together"), std::string::npos);
  EXPECT_FALSE(fetch("A, C", DType::kI4, "A", "C # 6"));  // rows of 2.5 bytes
  EXPECT_NE(errors().find("steps 20 bits"), std::string::npos);
}

TEST_F(LowerMove, FetchWarnsOfSmallReads) {
  axes({{"A", 4}, {"B", 32}});
  EXPECT_TRUE(fetch("A, B", DType::kI8, "A", "B"));
  EXPECT_EQ(warnings(), "");
  EXPECT_TRUE(fetch("A, B", DType::kI8, "A, B / 16", "B % 16"));
  EXPECT_NE(warnings().find("reads of 16 of at most 32 bytes"), std::string::npos);
}

// Bank (a / 8) % 16: steps of 128 bytes stay in one bank, steps of 136 bytes go to the next.
TEST_F(LowerMove, FetchCountsAccessesOfOneBank) {
  axes({{"A", 63}, {"B", 64}, {"C", 128}, {"D", 136}});
  EXPECT_EQ(fetch("A, C", DType::kI8, "A", "C = 8")->same_bank, 63u);
  EXPECT_EQ(fetch("B, C", DType::kI8, "B", "C = 8")->same_bank, 64u);
  EXPECT_EQ(fetch("B, D", DType::kI8, "B", "D = 8")->same_bank, 1u);
}

TEST_F(LowerMove, FetchOfPadding) {
  axes({{"A", 8}, {"B", 24}});
  // `#` of the buffer is readable, and the stream promises nothing.
  EXPECT_TRUE(fetch("A, B # 32", DType::kI8, "A", "B # 32"));
  // Zero padding of the buffer is zero in the stream, or unknown.
  EXPECT_TRUE(fetch("A, B #{0} 32", DType::kI8, "A", "B #{0} 32"));
  EXPECT_TRUE(fetch("A, B #{0} 32", DType::kI8, "A", "B # 32"));
  EXPECT_EQ(errors(), "");
  EXPECT_FALSE(fetch("A, B # 32", DType::kI8, "A", "B #{0} 32"));
  EXPECT_NE(errors().find("promises zero at position 24"), std::string::npos);
  // What follows in memory is another row.
  EXPECT_FALSE(fetch("A, B", DType::kI8, "A", "B #{0} 32"));
  EXPECT_NE(errors().find("promises zero at position 24"), std::string::npos);
  // Bottom padding is never read; its live part may be.
  EXPECT_TRUE(fetch("A, B #{!} 32", DType::kI8, "A", "B"));
  EXPECT_EQ(errors(), "");
  EXPECT_FALSE(fetch("A, B #{!} 32", DType::kI8, "A", "B # 32"));
  EXPECT_NE(errors().find("reads slot 24"), std::string::npos);
}

// ------------------------------------------------------------------------------------- casts

using Pairs = std::set<std::pair<DType, DType>>;

// i4 holds -8 to 7 and i5 -16 to 15, i8 -128 to 127 and i9 -256 to 255.
TEST_F(LowerMove, ZeroPointTypesAndRanges) {
  const auto lowered = [&](DType from, int64_t zero_point) {
    return lower_zero_point(stream("4", "64", from), {zero_point, {}}, {}, scope_);
  };
  const auto i4 = lowered(DType::kI4, -8);
  ASSERT_TRUE(i4);
  EXPECT_EQ(i4->after.dtype, DType::kI5);
  EXPECT_EQ(i4->config.zero_point, -8);
  EXPECT_EQ(lowered(DType::kI8, 128)->after.dtype, DType::kI9);  // -256 to -1
  EXPECT_EQ(warnings() + errors(), "");
  // 7 + 9 = 16: some do not fit. 7 - 23 = -16 fits, 7 - 24 does not; -8 + 23 = 15 fits.
  EXPECT_TRUE(lowered(DType::kI4, -9));
  EXPECT_EQ(
      warnings(),
      "fetch_zero_point_sub: not every element fits: i4 elements less -9 are 1 to 16; i5 holds "
      "-16 to 15\n");
  EXPECT_TRUE(lowered(DType::kI4, 23));
  EXPECT_TRUE(lowered(DType::kI4, -23));
  forget();
  EXPECT_FALSE(lowered(DType::kI4, 24));
  EXPECT_EQ(
      errors(),
      "fetch_zero_point_sub: no element fits: i4 elements less 24 are -32 to -17; i5 holds -16 "
      "to 15\n");
  EXPECT_FALSE(lowered(DType::kI4, -24));
  forget();
  for (const DType from : all_dtypes()) {
    if (from == DType::kI4 || from == DType::kI8) continue;
    EXPECT_FALSE(lowered(from, 0)) << name(from);
    EXPECT_EQ(errors(), std::string("fetch_zero_point_sub: takes i4 (to i5) and i8 (to i9), not ") +
                            name(from) + "\n");
  }
}

// Zero less a zero point is not zero any more.
TEST_F(LowerMove, AZeroPointTakesTheZeroFromPadding) {
  const StreamShape in = stream("4 #{0} 8", "8 #{0} 32, 2", DType::kI8);
  const auto lowered = lower_zero_point(in, {3, {}}, {}, scope_);
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->after.time.cell(4, axes_).pad, PadKind::kTop);
  EXPECT_EQ(lowered->after.packet.cell(20, axes_).pad, PadKind::kTop);
  EXPECT_TRUE(lowered->after.packet.cell(15, axes_).live);
  const auto unchanged = lower_zero_point(in, {0, {}}, {}, scope_);
  EXPECT_EQ(unchanged->after.packet.cell(20, axes_).pad, PadKind::kZero);
}

TEST_F(LowerMove, FetchCastPairs) {
  const Pairs allowed = {{DType::kI4, DType::kI32},     {DType::kI8, DType::kI32},
                         {DType::kI16, DType::kI32},    {DType::kF8E4M3, DType::kF32},
                         {DType::kF8E5M2, DType::kF32}, {DType::kBF16, DType::kF32},
                         {DType::kF32, DType::kBF16}};
  for (DType from : all_dtypes()) {
    for (DType to : all_dtypes()) {
      const auto lowered = lower_fetch_cast(stream("4", "8", from), Located<DType>{to, {}}, scope_);
      EXPECT_EQ(lowered.has_value(), allowed.count({from, to}) == 1)
          << name(from) << " " << name(to);
      EXPECT_EQ(errors().empty(), lowered.has_value());
      if (!lowered) continue;
      EXPECT_EQ(lowered->config.from, from);
      EXPECT_EQ(lowered->config.to, to);
      EXPECT_EQ(lowered->after.dtype, to);
      EXPECT_EQ(lowered->after.packet.size(), 8U);
    }
  }
}

TEST_F(LowerMove, CastEnginePairs) {
  const Pairs allowed = {{DType::kI32, DType::kI4},     {DType::kI32, DType::kI8},
                         {DType::kI32, DType::kI16},    {DType::kF32, DType::kF8E5M2},
                         {DType::kF32, DType::kF8E4M3}, {DType::kF32, DType::kBF16}};
  for (DType from : all_dtypes()) {
    for (DType to : all_dtypes()) {
      const uint64_t flit = 256 / static_cast<uint64_t>(memory_bits(from));
      const auto lowered = lower_cast(stream("4", std::to_string(flit), from),
                                      Located<DType>{to, {}}, std::nullopt, scope_);
      EXPECT_EQ(lowered.has_value(), allowed.count({from, to}) == 1)
          << name(from) << " " << name(to);
      EXPECT_EQ(errors().empty(), lowered.has_value());
      if (!lowered) continue;
      // One flit in, one padded flit out.
      EXPECT_EQ(lowered->after.dtype, to);
      EXPECT_EQ(bytes_of(to, lowered->after.packet.size()), 32U);
    }
  }
}

TEST_F(LowerMove, CommitCastPairs) {
  for (DType from : all_dtypes()) {
    for (DType to : all_dtypes()) {
      const uint64_t flit = 256 / static_cast<uint64_t>(memory_bits(from));
      const auto lowered = lower_commit_cast(stream("4", std::to_string(flit), from),
                                             Located<DType>{to, {}}, scope_);
      EXPECT_EQ(lowered.has_value(), from == DType::kF32 && to == DType::kBF16);
      EXPECT_EQ(errors().empty(), lowered.has_value());
    }
  }
}

TEST_F(LowerMove, CommitCastTakes16Or32Bytes) {
  for (uint64_t elements = 1; elements <= 8; ++elements) {
    const auto lowered = lower_commit_cast(stream("4", std::to_string(elements), DType::kF32),
                                           Located<DType>{DType::kBF16, {}}, scope_);
    EXPECT_EQ(lowered.has_value(), elements == 4 || elements == 8) << elements;
  }
  EXPECT_NE(errors().find("needs 16 or 32 bytes"), std::string::npos);
}

TEST_F(LowerMove, CastPadsWithZeros) {
  axes({{"N", 8}});
  const StreamShape in = stream("4", "N", DType::kF32);
  const Located<DType> bf16{DType::kBF16, {}};
  auto lowered = lower_cast(in, bf16, std::nullopt, scope_);
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->after.packet.size(), 16U);
  EXPECT_EQ(lowered->after.packet.cell(7, axes_).live, true);
  EXPECT_EQ(lowered->after.packet.cell(8, axes_).pad, PadKind::kZero);
  EXPECT_TRUE(lower_cast(in, bf16, declared("N # 16"), scope_));
  EXPECT_TRUE(lower_cast(in, bf16, declared("N #{0} 16"), scope_));
  EXPECT_EQ(errors(), "");
  EXPECT_FALSE(lower_cast(in, bf16, declared("N"), scope_));
  EXPECT_NE(errors().find("Packet is 'N' (size 8)"), std::string::npos);
  // It takes flits.
  EXPECT_FALSE(lower_cast(stream("4", "N # 16", DType::kF32), bf16, std::nullopt, scope_));
  EXPECT_NE(errors().find("takes flits of 32 bytes"), std::string::npos);
}

// ------------------------------------------------------------------------------------- collect

// worked_examples.md, Collect.
TEST_F(LowerMove, CollectExamples) {
  axes({{"A", 8}, {"B", 32}, {"C", 16}, {"D", 24}, {"E", 40}});
  struct Case {
    DType dtype;
    const char* packet;
    uint64_t flits_per_packet;
    const char* time;
    const char* out;
  };
  const std::vector<Case> cases = {
      {DType::kI8, "B", 1, "A", "B"},
      {DType::kI8, "C", 1, "A", "C # 32"},
      {DType::kBF16, "B", 2, "A, B / 16", "B % 16"},
      {DType::kI8, "D", 1, "A", "D # 32"},                    // wastes 8 of 32 bytes
      {DType::kI8, "E", 2, "A, E # 64 / 32", "E # 64 % 32"},  // wastes 24 of 64
  };
  for (const Case& c : cases) {
    const auto lowered =
        lower_collect(stream("A", c.packet, c.dtype), std::nullopt, std::nullopt, {}, scope_);
    ASSERT_TRUE(lowered) << c.packet;
    EXPECT_EQ(lowered->config.flits_per_packet, c.flits_per_packet) << c.packet;
    EXPECT_EQ(lowered->config.flits, 8 * c.flits_per_packet) << c.packet;
    EXPECT_EQ(lowered->config.flit_elements * static_cast<uint64_t>(memory_bits(c.dtype)), 256U);
    EXPECT_EQ(lowered->config.packet_elements, map(c.packet).size());
    EXPECT_TRUE(same(lowered->after.time, c.time)) << c.packet;
    EXPECT_TRUE(same(lowered->after.packet, c.out)) << c.packet;
    EXPECT_TRUE(lower_collect(stream("A", c.packet, c.dtype), declared(c.time), declared(c.out), {},
                              scope_))
        << c.packet << errors();
  }
}

TEST_F(LowerMove, CollectFillsUpWithZeros) {
  axes({{"C", 16}});
  const auto lowered =
      lower_collect(stream("1", "C", DType::kI8), std::nullopt, std::nullopt, {}, scope_);
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->after.packet.cell(16, axes_).pad, PadKind::kZero);
  EXPECT_TRUE(
      lower_collect(stream("1", "C", DType::kI8), std::nullopt, declared("C #{0} 32"), {}, scope_));
  // What was fetched as padding is not zero for being collected.
  EXPECT_FALSE(lower_collect(stream("1", "C = 12 # 16", DType::kI8), std::nullopt,
                             declared("C = 12 #{0} 32"), {}, scope_));
  EXPECT_NE(errors().find("promises zero at position 12"), std::string::npos);
  EXPECT_TRUE(lower_collect(stream("1", "C = 12 # 16", DType::kI8), std::nullopt,
                            declared("C = 12 # 32"), {}, scope_));
}

// The packet's own padding ends in one flit, the zeros behind it in another: flits of W all the
// same.
TEST_F(LowerMove, CollectCutsBehindPaddingOfThePacket) {
  axes({{"A", 4}, {"W", 64}});
  const auto lowered =
      lower_collect(stream("A", "W # 72", DType::kI8), std::nullopt, std::nullopt, {}, scope_);
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->config.flits, 12U);
  EXPECT_TRUE(same(lowered->after.time, "A, W # 96 / 32"));
  EXPECT_TRUE(same(lowered->after.packet, "W # 96 % 32"));
  check_digits({&lowered->after.time, &lowered->after.packet}, axes_, {}, "stream", diagnostics_);
  EXPECT_EQ(errors(), "");
  // The last flit is not known to be zero as a whole, nor is a part of it named.
  EXPECT_FALSE(lower_collect(stream("A", "W # 72", DType::kI8), declared("A, W #{0} 96 / 32"),
                             std::nullopt, {}, scope_));
  EXPECT_NE(errors().find("promises zero"), std::string::npos);
}

TEST_F(LowerMove, CollectTakesMultiplesOf8Bytes) {
  axes({{"A", 64}});
  for (uint64_t elements = 1; elements <= 64; ++elements) {
    const auto lowered = lower_collect(stream("1", "A = " + std::to_string(elements), DType::kI8),
                                       std::nullopt, std::nullopt, {}, scope_);
    // A live part that ends inside its second flit leaves cells no two mappings describe.
    const bool cuts = elements > 32 && elements < 64;
    EXPECT_EQ(lowered.has_value(), elements % 8 == 0 && !cuts) << elements;
    const std::string said = errors();
    EXPECT_EQ(said.find("multiple of 8 bytes") != std::string::npos, elements % 8 != 0) << elements;
  }
}

// ------------------------------------------------------------------------------------- to_trf

TEST_F(LowerMove, ToTrf) {
  axes({{"N", 8}, {"K", 64}});
  const StreamShape in = stream("N, K / 16", "K % 16", DType::kBF16);
  const auto config = lower_to_trf(in, declared("N"), declared("K"), {}, scope_);
  ASSERT_TRUE(config) << errors();
  EXPECT_EQ(config->lanes, 8U);
  EXPECT_EQ(config->flits_per_lane, 4U);
  // Lanes take the outermost positions, whatever axis they carry.
  EXPECT_TRUE(lower_to_trf(in, declared("N / 4"), declared("N % 4, K"), {}, scope_));
  EXPECT_TRUE(lower_to_trf(in, declared("1"), declared("N, K"), {}, scope_));
  EXPECT_EQ(errors(), "");
  EXPECT_FALSE(lower_to_trf(in, declared("N % 4"), declared("N / 4, K"), {}, scope_));
  EXPECT_NE(errors().find("the outermost 4 positions of Time"), std::string::npos);
}

TEST_F(LowerMove, TrfLanesAndCapacity) {
  axes({{"K", 65536}});
  for (uint64_t lanes = 1; lanes <= 9; ++lanes) {
    const bool legal = lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8;
    const auto bytes =
        check_trf_tensor(DType::kBF16, declared(std::to_string(lanes)), declared("K % 32"), scope_);
    EXPECT_EQ(bytes.has_value(), legal) << lanes;
    if (bytes) {
      EXPECT_EQ(*bytes, 64U);
    }
    errors();
    if (!legal) continue;
    // 65,536 bytes in all: 32,768 / lanes elements of bf16 fit a lane, one more row does not.
    const uint64_t most = 32768 / lanes;
    EXPECT_TRUE(check_trf_tensor(DType::kBF16, declared(std::to_string(lanes)),
                                 declared("K = " + std::to_string(most)), scope_));
    EXPECT_FALSE(check_trf_tensor(DType::kBF16, declared(std::to_string(lanes)),
                                  declared("K = " + std::to_string(most + 16)), scope_));
    EXPECT_NE(errors().find("which has 65,536"), std::string::npos);
  }
  // Four bits pack twice as many.
  EXPECT_TRUE(check_trf_tensor(DType::kI4, declared("8"), declared("K % 16384"), scope_));
}

TEST_F(LowerMove, TrfTypes) {
  axes({{"K", 64}});
  const std::set<DType> allowed = {DType::kI4,     DType::kI5,     DType::kI8,  DType::kI9,
                                   DType::kF8E4M3, DType::kF8E5M2, DType::kBF16};
  for (DType dtype : all_dtypes()) {
    EXPECT_EQ(check_trf_tensor(dtype, declared("8"), declared("K"), scope_).has_value(),
              allowed.count(dtype) == 1)
        << name(dtype);
  }
  forget();
  for (DType dtype : {DType::kI5, DType::kI9}) {
    const uint64_t flit = 256 / static_cast<uint64_t>(memory_bits(dtype));
    const StreamShape in = stream("8", "K % " + std::to_string(flit), dtype);
    EXPECT_FALSE(lower_to_trf(in, declared("8"), {in.packet, {}}, {}, scope_));
    EXPECT_NE(errors().find("can only be contracted"), std::string::npos);
  }
}

// ------------------------------------------------------------------------------------- trim

TEST_F(LowerMove, TrimKeeps8To32LeadingBytes) {
  axes({{"B", 32}});
  for (uint64_t elements = 1; elements <= 32; ++elements) {
    const auto after = lower_commit_trim(stream("4", "B", DType::kI8),
                                         declared("B = " + std::to_string(elements)), scope_);
    EXPECT_EQ(after.has_value(), elements % 8 == 0) << elements;
    if (after) {
      EXPECT_EQ(after->packet.size(), elements);
    }
  }
  forget();
  // 4 bits: 16 elements are 8 bytes.
  EXPECT_TRUE(lower_commit_trim(stream("4", "B, 2", DType::kI4), declared("B = 8, 2"), scope_));
  EXPECT_EQ(errors(), "");
  EXPECT_FALSE(lower_commit_trim(stream("4", "B", DType::kI8), declared("B / 2"), scope_));
  EXPECT_NE(errors().find("leading 16 elements"), std::string::npos);
  EXPECT_FALSE(lower_commit_trim(stream("4", "B = 16", DType::kI8), declared("B = 16"), scope_));
  EXPECT_NE(errors().find("takes flits of 32 bytes"), std::string::npos);
  EXPECT_FALSE(lower_commit_trim(stream("4", "B", DType::kI8), declared("B, 2"), scope_));
  EXPECT_NE(errors().find("is 64 bytes"), std::string::npos);
}

// ------------------------------------------------------------------------------------- commit

// worked_examples.md, Commit, and section 4 of mapping.md (the write with runs of 8).
TEST_F(LowerMove, CommitWrites) {
  axes({{"M", 16}, {"W", 8}, {"A", 4}, {"B", 8}});
  auto config = commit(stream("M", "W", DType::kF32), "M, W");
  ASSERT_TRUE(config) << errors();
  EXPECT_EQ(config->write_bytes, 32U);
  EXPECT_EQ(config->writes, 16U);
  config = commit(stream("M", "W", DType::kBF16), "M, W");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->write_bytes, 16U);
  EXPECT_EQ(config->writes_per_flit, 1U);
  config = commit(stream("1", "A, B", DType::kI8), "A, B # 16");
  ASSERT_TRUE(config) << errors();
  EXPECT_EQ(config->sequencer.text(), "[4 : 16, 8 : 1] : 32");
  EXPECT_EQ(config->write_bytes, 8U);
  EXPECT_EQ(config->writes_per_flit, 4U);
  EXPECT_NE(warnings().find("4 writes of 8 bytes"), std::string::npos);
}

TEST_F(LowerMove, CommitOf24Bytes) {
  axes({{"M", 16}, {"W", 24}});
  const auto main = commit(stream("M", "W", DType::kI8), "M, W");
  ASSERT_TRUE(main);
  EXPECT_EQ(main->write_bytes, 24U);  // at once
  EXPECT_EQ(main->writes_per_flit, 1U);
  const auto sub = commit(stream("M", "W", DType::kI8), "M, W", Context::kSub);
  ASSERT_TRUE(sub);
  EXPECT_EQ(sub->write_bytes, 8U);
  EXPECT_EQ(sub->writes_per_flit, 3U);
  EXPECT_EQ(sub->writes, 48U);
}

TEST_F(LowerMove, SubCommitWrites8Bytes) {
  axes({{"M", 16}, {"W", 32}});
  for (uint64_t bytes : {8, 16, 24, 32}) {
    const std::string packet = "W = " + std::to_string(bytes);
    const auto config = commit(stream("M", packet, DType::kI8), "M, " + packet, Context::kSub);
    ASSERT_TRUE(config) << errors();
    EXPECT_EQ(config->write_bytes, 8U);
    EXPECT_EQ(config->writes_per_flit, bytes / 8);
    EXPECT_EQ(config->writes, 16 * bytes / 8);
  }
  EXPECT_FALSE(commit(stream("M", "W", DType::kI8), "W / 4, M, W % 4", Context::kSub));
  EXPECT_NE(errors().find("writes are multiples of 8 bytes"), std::string::npos);
}

TEST_F(LowerMove, CommitRespectsTheWidestWrite) {
  axes({{"M", 16}, {"W", 32}});
  limits_.main_max_write = 16;
  auto config = commit(stream("M", "W", DType::kI8), "M, W");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->write_bytes, 16U);
  EXPECT_EQ(config->writes, 32U);
  config = commit(stream("M", "W = 24", DType::kI8), "M, W = 24");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->write_bytes, 8U);  // 16 does not divide 24
}

TEST_F(LowerMove, CommitTransposes) {
  axes({{"M", 4}, {"K", 2}, {"W", 8}});
  const auto config = commit(stream("M, K", "W", DType::kF32), "K, M, W");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->sequencer.text(), "[4 : 8, 2 : 32, 8 : 1] : 8");
  EXPECT_EQ(config->writes, 8U);
}

TEST_F(LowerMove, CommitStridesAreMultiplesOf8Bytes) {
  axes({{"M", 4}, {"W", 8}});
  for (uint64_t row = 8; row <= 32; ++row) {
    const auto config = commit(stream("M", "W", DType::kI8), "M, W # " + std::to_string(row));
    EXPECT_EQ(config.has_value(), row % 8 == 0) << row;
    EXPECT_EQ(errors().empty(), row % 8 == 0) << row;
  }
}

TEST_F(LowerMove, CommitAndPadding) {
  axes({{"M", 4}, {"W", 24}});
  struct Case {
    const char* packet;
    const char* element;
    const char* said;  // empty: legal
  };
  const std::vector<Case> cases = {
      // `#` slots may be left alone or overwritten with anything.
      {"W", "M, W # 32", ""},
      {"W # 32", "M, W # 32", ""},
      {"W #{0} 32", "M, W # 32", ""},
      // `#{0}` slots are written, with zeros.
      {"W #{0} 32", "M, W #{0} 32", ""},
      {"W # 32", "M, W #{0} 32", "slot 24 of 'M, W #{0} 32' must be zero"},
      {"W", "M, W #{0} 32", "32 of the 128 slots"},
      // `#{!}` slots are never written.
      {"W", "M, W #{!} 32", ""},
      {"W # 32", "M, W #{!} 32", "bottom padding and must never be written"},
      {"W #{0} 32", "M, W #{!} 32", "bottom padding and must never be written"},
      // Padding of the stream over live slots, and past the end.
      {"W # 32", "M, W", "would overwrite slot 24 (M=1)"},
      {"W # 32", "M # 5, W", "would overwrite slot 24 (M=1)"},
  };
  for (const Case& c : cases) {
    const auto config = commit(stream("M", c.packet, DType::kI8), c.element);
    const std::string said = errors();
    EXPECT_EQ(config.has_value(), *c.said == '\0') << c.packet << " -> " << c.element << "\n"
                                                   << said;
    EXPECT_NE(said.find(c.said), std::string::npos) << c.packet << " -> " << c.element << "\n"
                                                    << said;
  }
  EXPECT_FALSE(commit(stream("1", "W # 32", DType::kI8), "W"));
  EXPECT_NE(errors().find("past the 24 slots"), std::string::npos);
}

TEST_F(LowerMove, CommitCoversEveryLiveSlotOnce) {
  axes({{"M", 4}, {"W", 32}, {"C", 2}});
  EXPECT_FALSE(commit(stream("M", "W", DType::kI8), "C, M, W"));
  EXPECT_NE(
      errors().find("128 of the 256 slots of 'C, M, W' are never written, the first is slot 128 "
                    "(C=1)"),
      std::string::npos);
  EXPECT_FALSE(commit(stream("M, C", "W", DType::kI8), "M, W"));  // C has no place
  EXPECT_FALSE(errors().empty());
  EXPECT_FALSE(commit(stream("M, 2", "W", DType::kI8), "M, W"));
  EXPECT_NE(errors().find("may not broadcast"), std::string::npos);
  EXPECT_FALSE(commit(stream("M", "W", DType::kI8), "M, 2, W"));
  EXPECT_NE(errors().find("may not broadcast"), std::string::npos);
  EXPECT_FALSE(commit(stream("M", "W", DType::kI8), "M = 3, W"));
  EXPECT_FALSE(errors().empty());
  // Padding in Time that is skipped, not written.
  EXPECT_TRUE(commit(stream("M # 8", "W", DType::kI8), "M # 8, W"));
  EXPECT_FALSE(commit(stream("M # 8", "W", DType::kI8), "M, W"));
  EXPECT_NE(errors().find("past the 128 slots"), std::string::npos);
}

TEST_F(LowerMove, CommitRefusesWhatCannotBeStored) {
  axes({{"M", 8192}, {"K", 65}, {"W", 64}});
  EXPECT_FALSE(commit(stream("M", "W", DType::kI5), "M, W"));
  EXPECT_NE(errors().find("a stream of i5 can only be contracted"), std::string::npos);
  EXPECT_FALSE(commit(stream("M", "W = 32", DType::kI9), "M, W = 32"));
  EXPECT_NE(errors().find("a stream of i9 can only be contracted"), std::string::npos);
  EXPECT_TRUE(commit(stream("M", "W = 32", DType::kI8), "M, W = 32 # 64"));  // 524,288 B
  EXPECT_FALSE(commit(stream("M", "W = 32", DType::kI8), "M, W = 32 # 72"));
  EXPECT_NE(errors().find("takes 589,824 bytes"), std::string::npos);
}

}  // namespace
}  // namespace rngdsim
