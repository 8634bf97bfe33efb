// SPDX-License-Identifier: Apache-2.0
// The stages of the contraction engine, one function at a time.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "numeric/convert.h"
#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

class LowerContraction : public StageTest {
 protected:
  std::optional<LoweredStage<OuterConfig>> outer(const StreamShape& in, const TensorVersion& trf,
                                                 const std::string& time,
                                                 const std::string& packet) {
    return lower_outer(in, trf, declared(time), declared(packet), {}, scope_);
  }
  // What contract_outer leaves behind, for the stages after it.
  StreamShape products(const std::string& lane, const std::string& time, const std::string& packet,
                       DType dtype = DType::kF32) {
    StreamShape shape = stream(time, packet, dtype);
    shape.lane = map(lane);
    return shape;
  }
  std::optional<LoweredStage<PacketReduceConfig>> reduce(const std::string& in,
                                                         const std::string& out) {
    OuterConfig config;
    config.packet_elements = map(in).size();
    config.accumulator = DType::kF32;
    return lower_packet_reduce(products("8", "4", in), config, declared(out), scope_);
  }
  std::optional<LoweredStage<TimeReduceConfig>> reduce_time(const std::string& in,
                                                            const std::string& out) {
    return lower_time_reduce(products("8", in, "1"), declared(out), scope_);
  }
  std::optional<LoweredStage<LaneFoldConfig>> fold(const StreamShape& in, const std::string& mode,
                                                   TimeReduceConfig& reduce,
                                                   const std::string& time = "",
                                                   const std::string& packet = "") {
    const auto given = [&](const std::string& text) {
      return text.empty() ? std::nullopt : std::optional<Declared>(declared(text));
    };
    return lower_lane_fold(in, {mode, {}}, given(time), given(packet), reduce, scope_);
  }
};

// ------------------------------------------------------------------------------- Stream Adapter

// worked_examples.md: M=32 N=8 K=16 L=2 B=5: PackSize 2, Time M, B, Packet L, K, lanes 8.
TEST_F(LowerContraction, StreamAdapterExample) {
  axes({{"M", 32}, {"N", 8}, {"K", 16}, {"L", 2}, {"B", 5}});
  const auto lowered =
      outer(stream("M, L", "K", DType::kBF16), trf("N", "B, L, K", DType::kBF16), "M, B", "L, K");
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->config.pack_size, 2U);
  EXPECT_EQ(lowered->config.lanes, 8U);
  EXPECT_EQ(lowered->config.time_broadcast, 5U);
  EXPECT_EQ(lowered->config.packets, 160U);
  EXPECT_EQ(lowered->config.packet_elements, 32U);
  EXPECT_EQ(lowered->config.accumulator, DType::kF32);
  EXPECT_EQ(lowered->after.dtype, DType::kF32);  // the products
  EXPECT_TRUE(same(lowered->after.lane, "N"));
  EXPECT_EQ(warnings(), "");
}

TEST_F(LowerContraction, PackSizeFollowsFromOutPacket) {
  axes({{"M", 4}, {"N", 8}, {"K", 256}});
  struct Case {
    DType dtype;
    uint64_t flit;  // elements
  };
  for (const Case& c : std::vector<Case>{{DType::kI4, 64},
                                         {DType::kI8, 32},
                                         {DType::kF8E4M3, 32},
                                         {DType::kF8E5M2, 32},
                                         {DType::kBF16, 16}}) {
    const auto k = [](const char* op, uint64_t n) {
      return "K " + std::string(op) + " " + std::to_string(n);
    };
    const StreamShape in = stream("M, " + k("/", c.flit), k("%", c.flit), c.dtype);
    const TensorVersion w = trf("N", "K", c.dtype);
    const auto one = outer(in, w, "M, " + k("/", c.flit), k("%", c.flit));
    ASSERT_TRUE(one) << errors();
    EXPECT_EQ(one->config.pack_size, 1U);
    EXPECT_EQ(one->config.packets, 4 * 256 / c.flit);
    EXPECT_EQ(one->config.slots, 2 * c.flit);
    EXPECT_EQ(one->config.read_bytes, 32U);
    EXPECT_NE(warnings().find("PackSize 1"), std::string::npos);
    const auto two = outer(in, w, "M, " + k("/", 2 * c.flit), k("%", 2 * c.flit));
    ASSERT_TRUE(two) << errors();
    EXPECT_EQ(two->config.pack_size, 2U);
    EXPECT_EQ(two->config.packets, 4 * 256 / c.flit / 2);
    EXPECT_EQ(two->config.read_bytes, 64U);
    EXPECT_EQ(warnings(), "");
    EXPECT_FALSE(outer(in, w, "M", "K"));
    EXPECT_NE(errors().find("makes packets of 32 or 64 bytes"), std::string::npos);
  }
}

TEST_F(LowerContraction, OutTimeIsTimeThenBroadcast) {
  axes({{"M", 4}, {"P", 3}, {"N", 8}, {"K", 32}, {"B", 5}, {"D", 2}});
  const StreamShape in = stream("M, P, K / 16", "K % 16", DType::kBF16);
  const TensorVersion w = trf("N", "B, K", DType::kBF16);
  auto lowered = outer(in, w, "M, P, B", "K");
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->config.time_broadcast, 5U);
  EXPECT_EQ(lowered->config.trf_sequencer.text(), "[4 : 0, 3 : 0, 5 : 32] : 32");
  // A purely-output axis and a literal are broadcast by both.
  lowered = outer(in, w, "M, P, D, B, 2", "K");
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->config.time_broadcast, 20U);
  EXPECT_EQ(lowered->config.trf_sequencer.text(), "[4 : 0, 3 : 0, 2 : 0, 5 : 32, 2 : 0] : 32");
  for (const char* wrong : {"B, M, P", "M, B, P", "P, M, B", "M, P # 4, B"}) {
    EXPECT_FALSE(outer(in, w, wrong, "K")) << wrong;
    EXPECT_FALSE(errors().empty()) << wrong;
  }
}

TEST_F(LowerContraction, OperandPairs) {
  const auto family = [](DType dtype) {
    if (dtype == DType::kI4 || dtype == DType::kI5) return 1;
    if (dtype == DType::kI8 || dtype == DType::kI9) return 2;
    if (dtype == DType::kF8E4M3) return 3;
    if (dtype == DType::kF8E5M2) return 4;
    return dtype == DType::kBF16 ? 5 : 0;
  };
  axes({{"K", 64}});
  for (DType a : all_dtypes()) {
    for (DType b : all_dtypes()) {
      const std::string packet = "K % " + std::to_string(256 / memory_bits(a));
      const auto lowered = outer(stream("1", packet, a), trf("8", packet, b), "1", packet);
      const bool allowed = family(a) != 0 && family(a) == family(b);
      EXPECT_EQ(lowered.has_value(), allowed) << name(a) << " " << name(b);
      const std::string said = errors();
      EXPECT_EQ(said.find("the Multiplier does not take") == std::string::npos, allowed)
          << name(a) << " " << name(b);
      if (lowered) {
        EXPECT_EQ(lowered->config.accumulator, family(a) <= 2 ? DType::kI32 : DType::kF32);
      }
    }
  }
}

TEST_F(LowerContraction, OperandsLieInTheSameSlices) {
  axes({{"S", 256}, {"C", 2}, {"K", 16}});
  StreamShape in = stream("1", "K", DType::kBF16);
  TensorVersion w = trf("8", "K", DType::kBF16);
  in.slice = map("S");
  EXPECT_FALSE(outer(in, w, "1", "K"));
  EXPECT_NE(errors().find("Slice of the stream is 'S'"), std::string::npos);
  w.slice = map("S / 16, S % 16");  // the same cells
  EXPECT_TRUE(outer(in, w, "1", "K")) << errors();
  in.cluster = map("C");
  EXPECT_FALSE(outer(in, w, "1", "K"));
  EXPECT_NE(errors().find("Cluster of the stream is 'C'"), std::string::npos);
}

// -------------------------------------------------------------------------------- TRF Sequencer

// The seed's two examples and worked_examples.md, TRF.
TEST_F(LowerContraction, ReadSizeExamples) {
  axes({{"M", 32}, {"N", 8}, {"K", 32}, {"J", 16}, {"L", 2}, {"O", 2}});
  // Element K fills the packet: no outer step.
  auto lowered =
      outer(stream("M, K / 16", "K % 16", DType::kBF16), trf("N", "K", DType::kBF16), "M", "K");
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->config.read_elements, 32U);
  EXPECT_EQ(lowered->config.read_bytes, 64U);  // both banks
  EXPECT_EQ(lowered->config.packet_broadcast, 1U);
  EXPECT_EQ(lowered->config.trf_sequencer.text(), "[32 : 0] : 32");
  // Element O, K: a read of 16, repeated over L; OutTime O, M walks O.
  lowered =
      outer(stream("O, M, L", "J", DType::kBF16), trf("N", "O, J", DType::kBF16), "O, M", "L, J");
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->config.read_elements, 16U);
  EXPECT_EQ(lowered->config.read_bytes, 32U);  // one bank
  EXPECT_EQ(lowered->config.packet_broadcast, 2U);
  EXPECT_EQ(lowered->config.trf_sequencer.text(), "[2 : 16, 32 : 0] : 16");
}

TEST_F(LowerContraction, ReadSizeIsTheLongestCommonInnerPart) {
  axes({{"M", 4}, {"N", 8}, {"K", 8}, {"L", 4}});
  const StreamShape in = stream("M, L / 2", "L % 2, K", DType::kBF16);
  struct Case {
    const char* element;
    uint64_t read, repeated;
  };
  for (const Case& c : std::vector<Case>{{"L, K", 32, 1}, {"K", 8, 4}, {"L % 2, K", 16, 2}}) {
    const auto lowered = outer(in, trf("N", c.element, DType::kBF16), "M", "L, K");
    ASSERT_TRUE(lowered) << c.element << errors();
    EXPECT_EQ(lowered->config.read_elements, c.read) << c.element;
    EXPECT_EQ(lowered->config.packet_broadcast, c.repeated) << c.element;
  }
  // Not [PacketBroadcast, Element % ReadSize]: other orders of the same elements.
  for (const char* wrong : {"K, L", "L % 2, L / 2, K", "K / 4, L, K % 4"}) {
    EXPECT_FALSE(outer(in, trf("N", wrong, DType::kBF16), "M", "L, K")) << wrong;
    EXPECT_NE(errors().find("OutPacket must be [PacketBroadcast, Element % ReadSize]"),
              std::string::npos)
        << wrong;
  }
}

TEST_F(LowerContraction, PaddingInTheRepeatedPartIsNoStep) {
  axes({{"M", 4}, {"N", 8}, {"K", 8}, {"L", 2}});
  const auto lowered = outer(stream("M, L", "1 # 2, K", DType::kBF16), trf("N", "K", DType::kBF16),
                             "M", "L, 1 # 2, K");
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->config.read_elements, 8U);
  EXPECT_EQ(lowered->config.packet_broadcast, 4U);
}

TEST_F(LowerContraction, ReadsAreAligned) {
  axes({{"M", 4}, {"B", 4}, {"N", 8}, {"K", 16}});
  // Rows of 24 elements (48 B) and reads of 32 B; rows of 32 elements would do.
  const StreamShape in = stream("M", "K", DType::kBF16);
  EXPECT_FALSE(outer(in, trf("N", "B, K # 24", DType::kBF16), "M, B", "K"));
  EXPECT_NE(errors().find("steps 384 bits"), std::string::npos);
  EXPECT_TRUE(outer(in, trf("N", "B, K # 32", DType::kBF16), "M, B", "K")) << errors();
}

TEST_F(LowerContraction, EveryAxisOfTheTrfTensorIsRead) {
  axes({{"M", 4}, {"B", 4}, {"N", 8}, {"K", 16}});
  EXPECT_FALSE(outer(stream("M", "K", DType::kBF16), trf("N", "B, K", DType::kBF16), "M", "K"));
  EXPECT_NE(errors().find("axis B"), std::string::npos);
}

// -------------------------------------------------------------------------------- Packet Reducer

TEST_F(LowerContraction, TreeDepthOfAFullPacket) {
  axes({{"K", 128}});
  for (const auto& [elements, depth] :
       std::vector<std::pair<uint64_t, uint64_t>>{{128, 7}, {64, 6}, {32, 5}, {16, 4}}) {
    const auto lowered = reduce("K % " + std::to_string(elements), "1");
    ASSERT_TRUE(lowered) << errors();
    EXPECT_EQ(lowered->config.depth, depth);
    EXPECT_EQ(lowered->config.columns, 1U);
    EXPECT_EQ(lowered->after.dtype, DType::kF32);
  }
}

TEST_F(LowerContraction, TreeDepthIsTheSmallestThatFits) {
  axes({{"K", 16}, {"A", 8}, {"P", 128}});
  // Sixteen live of 32: after four levels only padding is left beside the sum.
  auto lowered = reduce("K # 32", "1");
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->config.depth, 4U);
  lowered = reduce("K # 32", "1 # 2");
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->config.depth, 4U);
  EXPECT_EQ(lowered->config.columns, 2U);
  lowered = reduce("1 # 16", "1");
  ASSERT_TRUE(lowered);
  EXPECT_EQ(lowered->config.depth, 0U);
  // Outer padding dropped or kept: both name the same result.
  for (const char* out : {"A # 16", "A"}) {
    lowered = reduce("A # 16, 2", out);
    ASSERT_TRUE(lowered) << errors();
    EXPECT_EQ(lowered->config.depth, 1U);
  }
  // 128 elements, of which the innermost 32 are live.
  lowered = reduce("P % 32 # 128", "P % 32");
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->config.depth, 0U);
  EXPECT_EQ(lowered->config.columns, 32U);
}

TEST_F(LowerContraction, PacketIsReducedFromTheInside) {
  axes({{"A", 4}, {"K", 8}, {"P", 64}});
  for (const auto& [out, depth] : std::vector<std::pair<std::string, uint64_t>>{
           {"A, K", 0}, {"A, K / 2", 1}, {"A, K / 4", 2}, {"A", 3}, {"A / 2", 4}, {"1", 5}}) {
    const auto lowered = reduce("A, K", out);
    ASSERT_TRUE(lowered) << out << errors();
    EXPECT_EQ(lowered->config.depth, depth) << out;
    EXPECT_EQ(lowered->config.columns, map(out).size()) << out;
  }
  for (const char* wrong : {"K", "A % 2", "K, A", "A, K % 4"}) {
    EXPECT_FALSE(reduce("A, K", wrong)) << wrong;
    EXPECT_NE(errors().find("is not what remains"), std::string::npos) << wrong;
  }
  EXPECT_FALSE(reduce("P", "P"));
  EXPECT_NE(errors().find("64 columns; the accumulator has 32"), std::string::npos);
  EXPECT_TRUE(reduce("P", "P / 2"));
  EXPECT_FALSE(reduce("A = 3, K", "A = 3"));
  EXPECT_NE(errors().find("power of two"), std::string::npos);
}

// ---------------------------------------------------------------------------------- Time Reducer

// worked_examples.md: Time B / 16, A % 8 keeping A % 8: 8 slots, 16 packets.
TEST_F(LowerContraction, SlotsExample) {
  axes({{"A", 2048}, {"B", 32}});
  const auto lowered = reduce_time("B / 16, A % 8", "A % 8");
  ASSERT_TRUE(lowered) << errors();
  ASSERT_EQ(lowered->config.loops.size(), 2U);
  EXPECT_EQ(lowered->config.loops[0].size, 2U);
  EXPECT_TRUE(lowered->config.loops[0].reduced);
  EXPECT_EQ(lowered->config.loops[1].size, 8U);
  EXPECT_FALSE(lowered->config.loops[1].reduced);
  EXPECT_EQ(lowered->config.slots, 8U);
  EXPECT_EQ(lowered->config.results, 8U);
}

TEST_F(LowerContraction, SlotsAreWhatIsKeptInsideTheOutermostReducedTerm) {
  axes({{"M", 12}, {"B", 4}, {"A", 8}, {"K", 6}});
  struct Case {
    const char* time;
    const char* kept;
    uint64_t slots;
  };
  const std::vector<Case> cases = {
      {"M, B, A", "M, B, A", 1},  // nothing reduced
      {"M, B, K", "M, B", 1},     // nothing kept inside
      {"M, K, A", "M, A", 8},     // M is outside
      {"K, M, B", "M, B", 48},
      {"M, K, B, A % 2", "M, B", 4},  // A % 2 reduced, too
      {"K, M # 16", "M # 16", 16},    // padded extents count
      {"A", "A / 4", 1},              // a digit cut in two
      {"A", "A % 4", 4},
      {"M, A", "M, A / 2", 1},
      {"A, B", "A / 4, A % 2, B", 8},  // A / 2 % 2 reduced
      {"K, 3, B", "3, B", 12},         // a broadcast is kept like any other
      {"A / 4, A % 4", "A", 1},        // the same digit, written as one
      {"K", "1", 1},
  };
  for (const Case& c : cases) {
    const auto lowered = reduce_time(c.time, c.kept);
    ASSERT_TRUE(lowered) << c.time << " -> " << c.kept << errors();
    EXPECT_EQ(lowered->config.slots, c.slots) << c.time << " -> " << c.kept;
    EXPECT_EQ(lowered->config.results, map(c.kept).size());
    uint64_t all = 1;
    for (const auto& loop : lowered->config.loops) all *= loop.size;
    EXPECT_EQ(all, map(c.time).size());
  }
  for (const auto& [time, kept] : std::vector<std::pair<const char*, const char*>>{
           {"M, B", "B, M"}, {"M # 16, K", "M"}, {"M, K", "A"}, {"B", "B, B"}}) {
    EXPECT_FALSE(reduce_time(time, kept)) << time << " -> " << kept;
    EXPECT_NE(errors().find("is not a part of Time"), std::string::npos);
  }
}

TEST_F(LowerContraction, SlotCapacity) {
  axes({{"S", 256}, {"N", 8}, {"P", 32}});
  // Interleaved 128 / columns, sequential 32 / lanes: exactly that many, and one more is refused.
  for (uint64_t lanes : {1, 2, 4, 8}) {
    for (uint64_t columns : {1, 2, 4, 8, 16, 32}) {
      for (const char* mode : {"interleaved", "sequential"}) {
        const uint64_t capacity = *mode == 'i' ? 128 / columns : 32 / lanes;
        const StreamShape in =
            products("N % " + std::to_string(lanes), "S", "P % " + std::to_string(columns));
        TimeReduceConfig reduce;
        reduce.slots = capacity;
        EXPECT_TRUE(fold(in, mode, reduce)) << mode << " " << lanes << " " << columns;
        EXPECT_EQ(reduce.capacity, capacity) << mode << " " << lanes << " " << columns;
        reduce.slots = capacity + 1;
        EXPECT_FALSE(fold(in, mode, reduce)) << mode << " " << lanes << " " << columns;
        EXPECT_NE(errors().find("mode has " + std::to_string(capacity)), std::string::npos);
      }
    }
  }
}

// ----------------------------------------------------------------------------------- Lane Folder

// worked_examples.md: N=8 M=4 P=16.
TEST_F(LowerContraction, LaneFolderExample) {
  axes({{"N", 8}, {"M", 4}, {"P", 16}});
  const StreamShape in = products("N", "M", "P");
  TimeReduceConfig reduce;
  reduce.results = 4;
  auto lowered = fold(in, "interleaved", reduce, "M, P", "N");
  ASSERT_TRUE(lowered) << errors();
  EXPECT_TRUE(lowered->config.interleaved);
  EXPECT_EQ(lowered->config.flits_per_result, 16U);
  EXPECT_EQ(lowered->config.flits, 64U);
  EXPECT_TRUE(lowered->after.lane.is_one());
  EXPECT_EQ(lowered->after.dtype, DType::kF32);
  lowered = fold(in, "sequential", reduce, "M, N, P / 8", "P % 8");
  ASSERT_TRUE(lowered) << errors();
  EXPECT_FALSE(lowered->config.interleaved);
  EXPECT_EQ(lowered->config.flits_per_result, 16U);
  EXPECT_EQ(lowered->config.flits, 64U);
  // Each in the other's shape.
  EXPECT_FALSE(fold(in, "interleaved", reduce, "M, N, P / 8", "P % 8"));
  EXPECT_FALSE(errors().empty());
  EXPECT_FALSE(fold(in, "sequential", reduce, "M, P", "N"));
  EXPECT_FALSE(errors().empty());
}

TEST_F(LowerContraction, LaneFolderPads) {
  axes({{"N", 4}, {"M", 4}, {"P", 4}});
  TimeReduceConfig reduce;
  reduce.results = 4;
  // Four lanes fill half of the bus.
  auto lowered = fold(products("N", "M", "1"), "interleaved", reduce, "M", "N # 8");
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->config.flits, 4U);
  EXPECT_EQ(lowered->after.packet.cell(4, axes_).live, false);
  // Four columns of each lane: one flit a lane.
  lowered = fold(products("N", "M", "P"), "sequential", reduce, "M, N", "P # 8");
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->config.flits_per_result, 4U);
  EXPECT_EQ(lowered->config.flits, 16U);
  // Idle lanes are not known to be zero.
  EXPECT_FALSE(fold(products("N", "M", "1"), "interleaved", reduce, "M", "N #{0} 8"));
  EXPECT_NE(errors().find("promises zero at position 4"), std::string::npos);
}

}  // namespace
}  // namespace rngdsim
