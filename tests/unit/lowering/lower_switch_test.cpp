// SPDX-License-Identifier: Apache-2.0
// The kinds of the switch: the examples of the vendor's page, and what follows where sizes or
// mappings are left out.
#include "lowering/lower_switch.h"

#include <gmock/gmock.h>

#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LowerSwitch : public StageTest {
 protected:
  StreamShape switch_stream(const std::string& slice, const std::string& time,
                            const std::string& packet, DType dtype) {
    StreamShape shape = stream(time, packet, dtype);
    shape.slice = map(slice);
    return shape;
  }
  struct Sizes {
    std::optional<uint64_t> slice1, slice0, time0, ring;
  };
  std::optional<LoweredStage<SwitchConfig>> lowered(const StreamShape& in, const std::string& kind,
                                                    const Sizes& sizes = {},
                                                    const std::string& slice = "",
                                                    const std::string& time = "") {
    SwitchDecl decl;
    decl.kind = {kind, {}};
    const auto located = [](const std::optional<uint64_t>& size) {
      return size ? std::optional(Located<uint64_t>{*size, {}}) : std::nullopt;
    };
    decl.slice1 = located(sizes.slice1);
    decl.slice0 = located(sizes.slice0);
    decl.time0 = located(sizes.time0);
    decl.ring_size = located(sizes.ring);
    SwitchStage stage{decl, {}, {}, {}};
    if (!slice.empty()) stage.slice = declared(slice);
    if (!time.empty()) stage.time = declared(time);
    return lower_switch(in, stage, scope_);
  }
  void expect_same(const Mapping& mapping, const std::string& expected) {
    EXPECT_TRUE(same(mapping, expected)) << scope_.text(mapping) << " is not " << expected;
  }
};

// A = 256 slices, B = 64 packets of 8 flits (f32 x 64): ring 4, 4 x 64 x 8.
TEST_F(LowerSwitch, Broadcast01OfThePage) {
  axes({{"A", 256}, {"B", 64}, {"C", 63}, {"X", 2}, {"Y", 2}});
  const StreamShape in = switch_stream("A", "B", "C # 64", DType::kF32);
  const auto result =
      lowered(in, "broadcast01", {2, 2, 4, {}}, "A / 4, X, Y", "B / 4, A / 2 % 2, B % 4, A % 2");
  ASSERT_TRUE(result) << errors();
  const SwitchConfig& config = result->config;
  EXPECT_EQ(config.ring_size, 4u);
  EXPECT_EQ(config.flits_per_packet, 8u);
  EXPECT_EQ(config.hops(), 2048u);
  EXPECT_EQ(config.round_in, 4u);
  EXPECT_EQ(config.round_out, 16u);
  EXPECT_EQ(config.flits, 64u * 4 * 8);
  for (const auto& sources : config.snoop) EXPECT_THAT(sources, ElementsAre(0, 1, 2, 3));
  // [slice1, time0, slice0] of sizes 2, 4, 2: source (i1, i0) and packet t go to 8 i1 + 2 t + i0.
  EXPECT_THAT(config.source_slot, ElementsAre(0, 1, 8, 9));
  EXPECT_THAT(config.packet_slot, ElementsAre(0, 2, 4, 6));
}

// i8: ring 4 x 8 = 32, 32 x 64 x 2.
TEST_F(LowerSwitch, Broadcast1OfThePage) {
  axes({{"A", 256}, {"B", 64}, {"C", 63}, {"X", 4}});
  const StreamShape in = switch_stream("A", "B", "C # 64", DType::kI8);
  const auto result = lowered(in, "broadcast1", {4, 8, {}, {}}, "A / 32, X, A % 8", "B, A / 8 % 4");
  ASSERT_TRUE(result) << errors();
  EXPECT_EQ(result->config.ring_size, 32u);
  EXPECT_EQ(result->config.hops(), 4096u);
  EXPECT_EQ(result->config.round_out, 4u);
  // Router 10 has slice0 = 2 and takes the sources 2, 10, 18 and 26, in the order of slice1.
  EXPECT_THAT(result->config.snoop[10], ElementsAre(2, 10, 18, 26));
  EXPECT_EQ(result->config.source_slot[18], 2u);
}

// Ring 64, 64 x 64 x 2. OutSlice position q = 32 i0 + i1 takes source 2 i1 + i0.
TEST_F(LowerSwitch, TransposeOfThePage) {
  axes({{"A", 256}, {"B", 64}, {"C", 63}});
  const StreamShape in = switch_stream("A", "B", "C # 64", DType::kI8);
  const auto result = lowered(in, "transpose", {32, 2, {}, {}}, "A / 64, A % 2, A / 2 % 32", "B");
  ASSERT_TRUE(result) << errors();
  EXPECT_EQ(result->config.hops(), 8192u);
  EXPECT_EQ(result->config.round_out, 1u);
  EXPECT_THAT(result->config.snoop[1], ElementsAre(2));
  EXPECT_THAT(result->config.snoop[33], ElementsAre(3));
  EXPECT_THAT(result->config.snoop[63], ElementsAre(63));
}

// Ring 32, 32 x 8 x 1. Router 16 has time1 = 1 and slice0 = 0: it takes packets 2 and 3 of each
// round of [time1, time0], from sources 0 and 16.
TEST_F(LowerSwitch, InterTransposeOfThePage) {
  axes({{"A", 256}, {"B", 8}, {"C", 32}});
  const StreamShape in = switch_stream("A", "B", "C", DType::kI8);
  const auto result = lowered(in, "inter_transpose", {2, 16, 2, {}}, "A / 32, B / 2 % 2, A % 16",
                              "B / 4, B % 2, A / 16 % 2");
  ASSERT_TRUE(result) << errors();
  const SwitchConfig& config = result->config;
  EXPECT_EQ(config.hops(), 256u);
  EXPECT_EQ(config.round_in, 4u);
  EXPECT_EQ(config.round_out, 4u);
  EXPECT_EQ(config.flits, 8u);
  EXPECT_THAT(config.snoop[16], ElementsAre(0, 16));
  EXPECT_EQ(config.router_digit[15], 0u);
  EXPECT_EQ(config.router_digit[16], 1u);
  EXPECT_THAT(config.packet_digit, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(config.packet_slot, ElementsAre(0, 2, 0, 2));  // time0, slice1
  EXPECT_EQ(config.source_slot[16], 1u);
}

// Ring 64, 64 x 16 x 1. Router 8 y + i1 takes the eight sources 8 i1 + i0.
TEST_F(LowerSwitch, TransposedBroadcast1OfThePage) {
  axes({{"A", 256}, {"B", 16}, {"C", 32}, {"Y", 8}});
  const StreamShape in = switch_stream("A", "B", "C", DType::kI8);
  const auto result =
      lowered(in, "transposed_broadcast1", {8, 8, {}, {}}, "A / 64, Y, A / 8 % 8", "B, A % 8");
  ASSERT_TRUE(result) << errors();
  EXPECT_EQ(result->config.hops(), 1024u);
  EXPECT_EQ(result->config.round_out, 8u);
  EXPECT_THAT(result->config.snoop[8 * 5 + 2], ElementsAre(16, 17, 18, 19, 20, 21, 22, 23));
  EXPECT_EQ(result->config.source_slot[19], 3u);
}

TEST_F(LowerSwitch, ForwardHasARingOfOne) {
  axes({{"A", 256}, {"B", 16}, {"C", 40}});
  const StreamShape in = switch_stream("A", "B", "C", DType::kI8);
  const auto result = lowered(in, "forward");
  ASSERT_TRUE(result) << errors();
  EXPECT_EQ(result->config.hops(), 32u);  // 40 bytes are two flits
  expect_same(result->after.slice, "A");
  expect_same(result->after.time, "B");
}

// The table of the page's first custom example: bitmap index and ring group.
TEST_F(LowerSwitch, CustomPermutationOfThePage) {
  axes({{"A", 16}, {"B", 16}, {"C", 8}, {"D", 8}, {"E", 8}});
  const StreamShape in = switch_stream("A, B", "C", "D, E", DType::kF32);
  const auto result =
      lowered(in, "custom_broadcast", {{}, {}, {}, 256}, "B % 4, B / 4, A % 4, A / 4", "C");
  ASSERT_TRUE(result) << errors();
  const SwitchConfig& config = result->config;
  EXPECT_EQ(config.hops(), 16384u);
  EXPECT_EQ(config.load_cycles, 256u);
  // (B % 4, B / 4, A % 4, A / 4) of a router is (B % 4, ..) of its source A, B = slice 16 A + B. In
  // rows 4 and 5 the page prints B for A (1 and 65): (0, 0, 1, 0) is A = 1, slice 16.
  const std::vector<std::pair<size_t, uint32_t>> rows = {{0, 0},  {1, 64}, {2, 128},  {3, 192},
                                                         {4, 16}, {5, 80}, {255, 255}};
  for (const auto& [router, source] : rows) {
    EXPECT_THAT(config.snoop[router], ElementsAre(source)) << router;
  }
}

// The second: ring 32 of two digits that are no neighbours, 32 x 8 x 8.
TEST_F(LowerSwitch, CustomBroadcastOfThePage) {
  axes({{"A", 16}, {"B", 16}, {"C", 8}, {"D", 8}, {"E", 8}, {"X", 2}, {"Y", 2}});
  const StreamShape in = switch_stream("A, B", "C", "D, E", DType::kF32);
  const auto result =
      lowered(in, "custom_broadcast", {{}, {}, {}, 32}, "A / 2, X, B / 2, Y", "C, A % 2, B % 2");
  ASSERT_TRUE(result) << errors();
  EXPECT_EQ(result->config.hops(), 2048u);
  EXPECT_EQ(result->config.round_out, 4u);
  EXPECT_THAT(result->config.snoop[0], ElementsAre(0, 1, 16, 17));
  EXPECT_THAT(result->config.snoop[1], ElementsAre(0, 1, 16, 17));
  EXPECT_THAT(result->config.snoop[2], ElementsAre(2, 3, 18, 19));
  EXPECT_THAT(result->config.snoop[3], ElementsAre(2, 3, 18, 19));
  // 238, 239, 254, 255 of slice 255: the last sub-ring begins with 224.
  EXPECT_THAT(result->config.snoop[31], ElementsAre(14, 15, 30, 31));
  EXPECT_EQ(result->config.source_slot[16], 2u);  // A % 2 is the outer of both
}

// The third: padding stays behind. The rule counts the Time of the input: 4 x 8.
TEST_F(LowerSwitch, CustomExtractionOfThePage) {
  axes({{"A", 16}, {"B", 4}, {"C", 3}, {"D", 8}, {"E", 8}, {"X", 4}});
  const StreamShape in = switch_stream("A, B, C # 4", "D", "E", DType::kF32);
  const auto result = lowered(in, "custom_broadcast", {{}, {}, {}, 4}, "A, B, X", "D, C");
  ASSERT_TRUE(result) << errors();
  EXPECT_EQ(result->config.hops(), 32u);
  for (const auto& sources : result->config.snoop) EXPECT_THAT(sources, ElementsAre(0, 1, 2));
}

// Padding between slices takes a broadcast; a slice of two terms becomes two digits of one axis.
TEST_F(LowerSwitch, CustomBroadcastOntoPadding) {
  axes({{"P", 64}, {"L", 4}, {"B", 8}, {"V", 16}});
  const StreamShape in = switch_stream("1 # 2, P, 1 # 2", "B", "V", DType::kBF16);
  const auto result = lowered(in, "custom_broadcast", {{}, {}, {}, 256}, "L / 2, P, L % 2", "B");
  ASSERT_TRUE(result) << errors();
  // P lies at 2 p in Slice, and is asked for by the routers 128 l1 + 2 p + l0.
  EXPECT_THAT(result->config.snoop[0], ElementsAre(0));
  EXPECT_THAT(result->config.snoop[1], ElementsAre(0));
  EXPECT_THAT(result->config.snoop[128 + 2 * 5 + 1], ElementsAre(10));
}

// ---- What is left out

TEST_F(LowerSwitch, MappingsFollowFromTheSizes) {
  axes({{"A", 256}, {"B", 8}, {"C", 32}});
  const StreamShape in = switch_stream("A", "B", "C", DType::kI8);
  auto result = lowered(in, "broadcast01", {2, 4, 2, {}});
  ASSERT_TRUE(result) << errors();
  expect_same(result->after.slice, "A / 8, 2, 4");
  expect_same(result->after.time, "B / 2, A / 4 % 2, B % 2, A % 4");
  result = lowered(in, "transposed_broadcast1", {2, 4, {}, {}});
  ASSERT_TRUE(result) << errors();
  expect_same(result->after.slice, "A / 8, 4, A / 4 % 2");
  expect_same(result->after.time, "B, A % 4");
  result = lowered(in, "inter_transpose", {2, 4, 1, {}});
  ASSERT_TRUE(result) << errors();
  expect_same(result->after.slice, "A / 8, B % 2, A % 4");
  expect_same(result->after.time, "B / 2, A / 4 % 2");
}

TEST_F(LowerSwitch, SizesFollowFromTheMappings) {
  axes({{"A", 256}, {"B", 8}, {"C", 32}, {"X", 4}, {"Y", 2}});
  const StreamShape in = switch_stream("A", "B", "C", DType::kI8);
  auto result = lowered(in, "broadcast1", {}, "A / 32, X, A % 8", "B, A / 8 % 4");
  ASSERT_TRUE(result) << errors();
  EXPECT_EQ(result->config.slice1, 4u);
  EXPECT_EQ(result->config.slice0, 8u);
  result = lowered(in, "broadcast01", {}, "A / 8, X, Y", "B / 4, A / 2 % 4, B % 4, A % 2");
  ASSERT_TRUE(result) << errors();
  EXPECT_EQ(result->config.slice1, 4u);
  EXPECT_EQ(result->config.time0, 4u);
  result = lowered(in, "custom_broadcast", {}, "A / 8, A % 4, A / 4 % 2");
  ASSERT_TRUE(result) << errors();
  EXPECT_EQ(result->config.ring_size, 8u);
  expect_same(result->after.time, "B");
  // What moves, in the order of Slice.
  result = lowered(in, "custom_broadcast", {}, "A / 8, Y, A / 2 % 2, 2");
  ASSERT_TRUE(result) << errors();
  expect_same(result->after.time, "B, A / 4 % 2, A % 2");
}

// ring_size decides where the mappings leave two choices.
TEST_F(LowerSwitch, TheRingSizeMayDecide) {
  axes({{"A", 256}, {"B", 8}, {"C", 32}});
  const StreamShape in = switch_stream("A", "B", "C", DType::kI8);
  EXPECT_FALSE(lowered(in, "transpose", {16, {}, {}, {}}));
  EXPECT_THAT(errors(), HasSubstr("more than one choice"));
  const auto result = lowered(in, "transpose", {16, {}, {}, 64});
  ASSERT_TRUE(result) << errors();
  EXPECT_EQ(result->config.slice0, 4u);
}

// Nothing is known to be zero behind the switch: slices without elements send what they have.
TEST_F(LowerSwitch, PaddingOfSliceLosesItsPromise) {
  axes({{"R", 3}, {"A", 64}, {"B", 8}, {"C", 32}});
  const StreamShape in = switch_stream("A, R #{0} 4", "B", "C", DType::kI8);
  const auto result = lowered(in, "broadcast1", {4, 1, {}, {}});
  ASSERT_TRUE(result) << errors();
  EXPECT_EQ(result->after.time.cell(3, axes_).pad, PadKind::kTop);
  EXPECT_FALSE(lowered(in, "broadcast1", {4, 1, {}, {}}, "", "B, R #{0} 4"));
  EXPECT_THAT(errors(), HasSubstr("promises zero"));
}

}  // namespace
}  // namespace rngdsim
