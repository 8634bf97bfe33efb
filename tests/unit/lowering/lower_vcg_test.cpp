// SPDX-License-Identifier: Apache-2.0
// Valid Count Generator: every configuration and table of the vendor's page (docs/vcg.md), and
// every placement that it calls inexpressible.
#include "lowering/lower_vcg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/vcg_fixture.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;

// "term -> size : stride, ..." as the page prints sequencers.
std::string text(const VcgSequencer& sequencer) {
  std::string text;
  for (const VcgEntry& entry : sequencer.entries) {
    text += (text.empty() ? "" : ", ") + entry.term + " -> " + std::to_string(entry.size) + " : " +
            std::to_string(entry.stride);
  }
  return text;
}

void expect_filter(const TimeFilterConfig& filter, const std::string& sequencer, uint32_t mask,
                   uint32_t slice_thres, uint32_t time_thres, TimeFilterMode mode) {
  EXPECT_EQ(text(filter.sequencer), sequencer);
  EXPECT_EQ(filter.slice_mask, mask);
  EXPECT_EQ(filter.slice_thres, slice_thres);
  EXPECT_EQ(filter.time_thres, time_thres);
  EXPECT_EQ(filter.mode, mode);
}

void expect_clipper(const PacketClipperConfig& clipper, const std::string& sequencer,
                    uint32_t axis_size, uint32_t packet_span) {
  EXPECT_EQ(text(clipper.sequencer), sequencer);
  EXPECT_EQ(clipper.axis_size, axis_size);
  EXPECT_EQ(clipper.packet_span, packet_span);
}

void expect_disabled(const TimeFilterConfig& filter) {
  EXPECT_FALSE(filter.axis);
  expect_filter(filter, "", 0, 1, 0, TimeFilterMode::kSliceMajor);
}

void expect_disabled(const PacketClipperConfig& clipper) {
  EXPECT_FALSE(clipper.axis);
  expect_clipper(clipper, "", 8, 8);
}

// The configuration, which must give the count of the definition for every slice and flit.
VcgConfig lowered(const PlacementText& text) {
  VcgPlacement placement(text);
  const auto config = placement.lower();
  EXPECT_EQ(placement.diagnostics.render(), "");
  if (!config) return {};
  for (uint64_t s = 0; s < placement.in.slice.size(); ++s) {
    if (placement.slice_is_padding(s)) continue;
    for (uint64_t t = 0; t < placement.in.time.size(); ++t) {
      EXPECT_EQ(config->valid_size(s, t), placement.count(s, t)) << "s " << s << " t " << t;
    }
  }
  return *config;
}

std::string refusal(const PlacementText& text) {
  VcgPlacement placement(text);
  EXPECT_FALSE(placement.lower());
  EXPECT_TRUE(placement.diagnostics.has_errors());
  return placement.diagnostics.render();
}

// ------------------------------------------------------------------------------ the page's forms

TEST(LowerVcg, AxisInTimeAlone) {
  const VcgConfig config =
      lowered({{{"A", 8}, {"R", 12}, {"X", 128}}, "X, A / 4", "R # 16", "A % 4 # 8", {"R"}});
  expect_filter(config.time_filters[0], "R # 16 -> 16 : 1", 0, 0, 12, TimeFilterMode::kSliceMajor);
  expect_disabled(config.time_filters[1]);
  expect_disabled(config.time_filters[2]);
  expect_disabled(config.packet_clipper);
  for (uint64_t t = 0; t < 16; ++t) EXPECT_EQ(config.valid_size(9, t), t < 12 ? 8U : 0U);
}

TEST(LowerVcg, AxisSplitAndReorderedInTime) {
  const VcgConfig config = lowered({{{"A", 3}, {"B", 4}, {"R", 10}, {"X", 64}},
                                    "X # 256",
                                    "R # 12 / 4, A, R # 12 % 4",
                                    "B # 8",
                                    {"R"}});
  expect_filter(config.time_filters[0], "R # 12 / 4 -> 3 : 4, A -> 3 : 0, R # 12 % 4 -> 4 : 1", 0,
                0, 10, TimeFilterMode::kSliceMajor);
  EXPECT_EQ(config.time_filters[0].sequencer.index(13), 5U);
  EXPECT_EQ(config.time_filters[0].sequencer.index(27), 11U);
  EXPECT_EQ(config.valid_size(0, 13), 8U);
  EXPECT_EQ(config.valid_size(0, 27), 0U);
}

PlacementText slice_major(uint64_t x) {
  return {{{"R", 11}, {"X", x}},
          "R # 16 / 8, X, R # 16 / 4 % 2",
          "R # 16 % 2, R # 16 / 2 % 2",
          "1 # 8",
          {"R"}};
}

PlacementText time_major(uint64_t x) {
  return {{{"R", 13}, {"X", x}},
          "R # 16 / 2 % 2, X, R # 16 % 2",
          "R # 16 / 4 % 2, R # 16 / 8",
          "1 # 8",
          {"R"}};
}

// The page prints mask 0b1000001 and threshold 64. They belong to X = 32; see the next test.
TEST(LowerVcg, SliceMajor) {
  const VcgConfig config = lowered(slice_major(32));
  expect_filter(config.time_filters[0], "R # 16 % 2 -> 2 : 1, R # 16 / 2 % 2 -> 2 : 2", 0b1000001,
                64, 3, TimeFilterMode::kSliceMajor);
  // The page's table: valid time steps of the contributions 0, 4, 8, 12.
  const std::vector<std::pair<uint64_t, int>> steps = {{0, 4}, {1, 4}, {64, 3}, {65, 0}};
  for (const auto& [slice, valid] : steps) {
    int count = 0;
    for (uint64_t t = 0; t < 4; ++t) count += config.valid_size(slice, t) == 8 ? 1 : 0;
    EXPECT_EQ(count, valid) << slice;
  }
}

// With the page's X = 64 the outer part is bit 7 (2 x 64 slices below it), not bit 6.
TEST(LowerVcg, SliceMajorErratum) {
  const VcgConfig config = lowered(slice_major(64));
  expect_filter(config.time_filters[0], "R # 16 % 2 -> 2 : 1, R # 16 / 2 % 2 -> 2 : 2", 0b10000001,
                128, 3, TimeFilterMode::kSliceMajor);
}

TEST(LowerVcg, TimeMajor) {
  const VcgConfig config = lowered(time_major(32));
  expect_filter(config.time_filters[0], "R # 16 / 4 % 2 -> 2 : 1, R # 16 / 8 -> 2 : 2", 0b1000001,
                1, 3, TimeFilterMode::kTimeMajor);
  // The page's table: contributions 0, 1, 2, 3.
  const std::vector<std::pair<uint64_t, int>> steps = {{0, 4}, {1, 3}, {64, 3}, {65, 3}};
  for (const auto& [slice, valid] : steps) {
    int count = 0;
    for (uint64_t t = 0; t < 4; ++t) count += config.valid_size(slice, t) == 8 ? 1 : 0;
    EXPECT_EQ(count, valid) << slice;
  }
}

TEST(LowerVcg, TimeMajorErratum) {
  const VcgConfig config = lowered(time_major(64));
  expect_filter(config.time_filters[0], "R # 16 / 4 % 2 -> 2 : 1, R # 16 / 8 -> 2 : 2", 0b10000001,
                1, 3, TimeFilterMode::kTimeMajor);
}

// The printed values on X = 64. SliceMajor: bit 6 is of X, bit 7 ignored. Wrong are, of 64 slices a
// contribution and 4 steps: with r_slice 8 and X below 32 (masked 0, taken as below): R = 11, 32 x
// 1; with r_slice 12 and X below 32 (masked 1, below): 32 x 4; with r_slice 0 and X from 32 (64,
// boundary): 32 x 1; with r_slice 4 and X from 32 (65, above): 32 x 4. Together 320.
// TimeMajor: r_slice 2 with X below 32 (masked 0, below): 32 x 1; r_slice 0 with X from 32: 32 x 1.
TEST(LowerVcg, PrintedMasksAreWrongOnTheirExample) {
  for (const auto& [text, wrong_counts] :
       {std::make_pair(slice_major(64), 320), std::make_pair(time_major(64), 64)}) {
    VcgConfig printed = lowered(text);
    printed.time_filters[0].slice_mask = 0b1000001;
    if (printed.time_filters[0].mode == TimeFilterMode::kSliceMajor) {
      printed.time_filters[0].slice_thres = 64;
    }
    const VcgPlacement placement(text);
    int wrong = 0;
    for (uint64_t s = 0; s < 256; ++s) {
      for (uint64_t t = 0; t < 4; ++t) {
        wrong += printed.valid_size(s, t) != placement.count(s, t) ? 1 : 0;
      }
    }
    EXPECT_EQ(wrong, wrong_counts);
  }
}

TEST(LowerVcg, AxisInPacketAlone) {
  const VcgConfig config =
      lowered({{{"A", 8}, {"R", 3}, {"X", 64}}, "X, A / 2", "1", "R # 8", {"R"}});
  expect_clipper(config.packet_clipper, "", 3, 8);
  for (const TimeFilterConfig& filter : config.time_filters) expect_disabled(filter);
  EXPECT_EQ(config.valid_size(200, 0), 3U);
}

TEST(LowerVcg, AxisInTimeAndPacket) {
  const VcgConfig config = lowered(
      {{{"A", 8}, {"R", 10}, {"X", 64}}, "X, A / 2", "R # 16 / 4", "R # 16 % 4 # 8", {"R"}});
  expect_clipper(config.packet_clipper, "R # 16 / 4 -> 4 : 4", 10, 4);
  for (const TimeFilterConfig& filter : config.time_filters) expect_disabled(filter);
  const std::vector<uint32_t> counts = {4, 4, 2, 0};
  for (uint64_t t = 0; t < 4; ++t) EXPECT_EQ(config.valid_size(0, t), counts[t]);
}

// ------------------------------------------------------------------------------ several axes

const std::string kHcwTime = "H # 8 % 2, C # 8 % 2, W # 24 / 8";

TEST(LowerVcg, StepOneOfThreeAxes) {
  const VcgConfig config = lowered({{{"W", 19}}, "1 # 256", "W # 24 / 8", "W # 24 % 8", {"W"}});
  expect_clipper(config.packet_clipper, "W # 24 / 8 -> 3 : 8", 19, 8);
  const std::vector<uint32_t> counts = {8, 8, 3};
  for (uint64_t t = 0; t < 3; ++t) EXPECT_EQ(config.valid_size(17, t), counts[t]);
}

TEST(LowerVcg, StepTwoOfThreeAxes) {
  const VcgConfig config = lowered({{{"C", 5}, {"W", 19}},
                                    "[C # 8 / 2] # 256",
                                    "C # 8 % 2, W # 24 / 8",
                                    "W # 24 % 8",
                                    {"W", "C"}});
  EXPECT_EQ(config.time_filters[0].time_thres, 1U);
  const std::vector<std::vector<uint32_t>> counts = {
      {8, 8, 3, 8, 8, 3}, {8, 8, 3, 8, 8, 3}, {8, 8, 3, 0, 0, 0}, {0, 0, 0, 0, 0, 0}};
  for (uint64_t s = 0; s < 4; ++s) {
    for (uint64_t t = 0; t < 6; ++t) EXPECT_EQ(config.valid_size(s, t), counts[s][t]);
  }
}

// The page writes [Wo -> size 3 : stride 8] alone: the terms outside of it only repeat the index.
TEST(LowerVcg, ThreeAxes) {
  const VcgConfig config = lowered({{{"H", 5}, {"C", 5}, {"W", 19}, {"X", 16}},
                                    "X, H # 8 / 2, C # 8 / 2",
                                    kHcwTime,
                                    "W # 24 % 8",
                                    {"W", "C", "H"}});
  expect_clipper(config.packet_clipper,
                 "H # 8 % 2 -> 2 : 0, C # 8 % 2 -> 2 : 0, W # 24 / 8 -> 3 : 8", 19, 8);
  expect_filter(config.time_filters[0],
                "H # 8 % 2 -> 2 : 0, C # 8 % 2 -> 2 : 1, W # 24 / 8 -> 3 : 0", 0b0011, 2, 1,
                TimeFilterMode::kSliceMajor);
  expect_filter(config.time_filters[1],
                "H # 8 % 2 -> 2 : 1, C # 8 % 2 -> 2 : 0, W # 24 / 8 -> 3 : 0", 0b1100, 0b1000, 1,
                TimeFilterMode::kSliceMajor);
  expect_disabled(config.time_filters[2]);

  // The page's heatmap: 12 flits (rows) of 16 slices.
  const std::vector<std::vector<uint32_t>> heatmap = {
      {8, 8, 8, 0, 8, 8, 8, 0, 8, 8, 8, 0, 0, 0, 0, 0},
      {8, 8, 8, 0, 8, 8, 8, 0, 8, 8, 8, 0, 0, 0, 0, 0},
      {3, 3, 3, 0, 3, 3, 3, 0, 3, 3, 3, 0, 0, 0, 0, 0},
      {8, 8, 0, 0, 8, 8, 0, 0, 8, 8, 0, 0, 0, 0, 0, 0},
      {8, 8, 0, 0, 8, 8, 0, 0, 8, 8, 0, 0, 0, 0, 0, 0},
      {3, 3, 0, 0, 3, 3, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0},
      {8, 8, 8, 0, 8, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0},
      {8, 8, 8, 0, 8, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0},
      {3, 3, 3, 0, 3, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0},
      {8, 8, 0, 0, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
      {8, 8, 0, 0, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
      {3, 3, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
  };
  const std::vector<SliceRegime> regimes = {SliceRegime::kBelow, SliceRegime::kBelow,
                                            SliceRegime::kBoundary, SliceRegime::kAbove};
  for (uint64_t s = 0; s < 16; ++s) {
    EXPECT_EQ(config.time_filters[0].regime(s), regimes[s % 4]);
    EXPECT_EQ(config.time_filters[1].regime(s), regimes[s / 4]);
    for (uint64_t t = 0; t < 12; ++t) {
      EXPECT_EQ(config.valid_size(s, t), heatmap[t][s]) << "s " << s << " t " << t;
      EXPECT_EQ(config.valid_size(s + 16, t), heatmap[t][s]) << "the next X";
    }
  }
}

TEST(LowerVcg, AxesWithoutPaddingTakeNothing) {
  const VcgConfig config = lowered({{{"A", 4}, {"B", 8}, {"R", 10}, {"X", 64}},
                                    "X, A",
                                    "B, R # 12",
                                    "1 # 8",
                                    {"B", "A", "R", "X"}});
  EXPECT_EQ(config.time_filters[0].time_thres, 10U);
  expect_disabled(config.time_filters[1]);
  expect_disabled(config.packet_clipper);
}

// ------------------------------------------------------------------------------ beyond the page

// R = 12 in [R # 16 / 4] x [R # 16 % 4]: flits are full or empty. Slices 0, 1, 2 of 4.
TEST(LowerVcg, SliceWithPacketWherePacketsAreFull) {
  const VcgConfig config =
      lowered({{{"R", 12}, {"X", 64}}, "R # 16 / 4, X", "2", "R # 16 % 4 # 8", {"R"}});
  expect_clipper(config.packet_clipper, "", 4, 4);
  // boundary 12 is slice part 3, at 64 slices each; nothing is left of it.
  expect_filter(config.time_filters[0], "", 0b11000000, 192, 0, TimeFilterMode::kSliceMajor);
  EXPECT_EQ(config.valid_size(191, 1), 4U);
  EXPECT_EQ(config.valid_size(192, 0), 0U);
}

// R = 28 of R # 32 = [Time / 8] x [Slice / 4 % 2] x [Packet % 4]: strides are divided by slice_span
// x packet_span = 8, one packet is padding: slice_span - 1 = 1 in bit 7.
TEST(LowerVcg, TimeMajorWithPacket) {
  const VcgConfig config = lowered({{{"R", 28}, {"X", 128}},
                                    "R # 32 / 4 % 2, X",
                                    "R # 32 / 16, R # 32 / 8 % 2",
                                    "R # 32 % 4 # 8",
                                    {"R"}});
  expect_clipper(config.packet_clipper, "", 4, 4);
  expect_filter(config.time_filters[0], "R # 32 / 16 -> 2 : 2, R # 32 / 8 % 2 -> 2 : 1", 128, 128,
                3, TimeFilterMode::kTimeMajor);
}

// PADDED - R = slice_span is allowed: the last step is padding in every slice, threshold 0.
TEST(LowerVcg, TimeMajorPaddedByOneWholeStep) {
  const VcgConfig config =
      lowered({{{"R", 12}, {"X", 64}}, "X, R # 16 % 4", "R # 16 / 4", "1 # 8", {"R"}});
  expect_filter(config.time_filters[0], "R # 16 / 4 -> 4 : 1", 3, 0, 3, TimeFilterMode::kTimeMajor);
}

// The part in Packet is full although three positions of each flit are padding.
TEST(LowerVcg, PaddingOfThePacketAlone) {
  const VcgConfig config = lowered({{{"R", 20}}, "1 # 256", "R / 5", "R % 5 # 8", {"R"}});
  expect_clipper(config.packet_clipper, "R / 5 -> 4 : 5", 20, 5);
  EXPECT_EQ(config.valid_size(0, 3), 5U);
}

// Nine terms: the neighbours A / 2, A % 2 of another axis merge (both of stride 0).
TEST(LowerVcg, EntriesMergeBeyondEight) {
  const std::vector<std::pair<std::string, uint64_t>> axes = {
      {"R", 15}, {"A", 4}, {"B", 3}, {"X", 256}};
  const std::string slice = "X";
  const VcgConfig nine = lowered({axes,
                                  slice,
                                  "R # 16 % 2, A / 2, A % 2, R # 16 / 2 % 2, B, R # 16 / 4 % 2, 5, "
                                  "R # 16 / 8, 7",
                                  "1 # 8",
                                  {"R"}});
  EXPECT_EQ(text(nine.time_filters[0].sequencer),
            "R # 16 % 2 -> 2 : 1, A / 2, A % 2 -> 4 : 0, R # 16 / 2 % 2 -> 2 : 2, B -> 3 : 0, "
            "R # 16 / 4 % 2 -> 2 : 4, 5 -> 5 : 0, R # 16 / 8 -> 2 : 8, 7 -> 7 : 0");
  EXPECT_THAT(refusal({axes,
                       slice,
                       "3, R # 16 % 2, A, R # 16 / 2 % 2, B, R # 16 / 4 % 2, 5, R # 16 / 8, 7",
                       "1 # 8",
                       {"R"}}),
              HasSubstr("too many sequencer entries: 9 entries after merging, a sequencer has 8: "
                        "[3 : 0, 2 : 1, 4 : 0, 2 : 2, 3 : 0, 2 : 4, 5 : 0, 2 : 8, 7 : 0]"));
}

// A slice dimension padded as a whole: R and X make 64 of 256 slices.
TEST(LowerVcg, SlicePaddedAsAWhole) {
  const VcgConfig config =
      lowered({{{"R", 11}, {"X", 3}}, "[X, R # 16 / 4] # 256", "R # 16 % 4", "1 # 8", {"R"}});
  expect_filter(config.time_filters[0], "R # 16 % 4 -> 4 : 1", 3, 2, 3,
                TimeFilterMode::kSliceMajor);
}

// Half of the slices are no part of the tensor. The part in Slice is a minor one of four positions:
// mask 0b11 << 5, PADDED - R = 3 of slice_span 4, and what the other 128 slices count is all one.
TEST(LowerVcg, MinorPartInPaddedSlices) {
  const VcgConfig config =
      lowered({{{"R", 13}, {"X", 32}}, "[R # 16 % 4, X] # 256", "R # 16 / 4", "1 # 8", {"R"}});
  expect_filter(config.time_filters[0], "R # 16 / 4 -> 4 : 1", 0b1100000, 32, 3,
                TimeFilterMode::kTimeMajor);
}

// No position of R is padding where there are elements, so nothing needs to be expressible.
TEST(LowerVcg, PaddedSlicesAloneAreNoPadding) {
  const VcgConfig config = lowered(
      {{{"R", 16}, {"A", 4}, {"X", 32}}, "[R / 2 % 2, X] # 256", "R / 4, R % 2", "1 # 8", {"R"}});
  expect_disabled(config.time_filters[0]);
  lowered({{{"R", 16}, {"A", 4}, {"X", 16}}, "[R / 2, X] # 256", "1", "R % 2, A", {"R"}});
}

// A filter that padded slices alone would take gives way to three that are needed.
TEST(LowerVcg, PaddedSlicesGiveWay) {
  const PlacementText three = {{{"R", 16}, {"A", 3}, {"B", 3}, {"C", 3}},
                               "R # 256",
                               "A # 4, B # 4, C # 4",
                               "1 # 8",
                               {"R", "A", "B"}};
  const VcgConfig config = lowered(three);
  EXPECT_EQ(config.time_filters[0].slice_thres, 16U);
  EXPECT_EQ(config.time_filters[0].slice_mask, 255U);
  PlacementText four = three;
  four.tracked.push_back("C");
  EXPECT_EQ(lowered(four).time_filters[0].axis, AxisId{1});
}

// Only R = 0, 1, 8 and 9 are in the stream, and R = 9 has no element: the index counts 0, 1, 2, 3.
TEST(LowerVcg, StreamWithSomeDigitsOfTheAxis) {
  const VcgConfig packet = lowered({{{"R", 9}}, "1 # 256", "R # 16 / 8", "R # 16 % 2 # 8", {"R"}});
  expect_clipper(packet.packet_clipper, "R # 16 / 8 -> 2 : 2", 3, 2);
  const VcgConfig slices =
      lowered({{{"R", 9}, {"X", 64}}, "R # 16 / 8, X", "R # 16 % 2", "1 # 8", {"R"}});
  expect_filter(slices.time_filters[0], "R # 16 % 2 -> 2 : 1", 64, 64, 1,
                TimeFilterMode::kSliceMajor);
}

// ------------------------------------------------------------------------------ inexpressible

TEST(LowerVcg, RefusesSlicePartsOutOfOrder) {
  EXPECT_THAT(
      refusal(
          {{{"R", 13}, {"X", 32}}, "X, R # 16 / 2 % 4, R # 16 / 8", "R # 16 % 2", "1 # 8", {"R"}}),
      HasSubstr("kernel.yaml:7:3: error: axis R cannot be tracked: slice parts out of "
                "order: in Slice R # 16 / 2 % 4 (stride 2) lies outside of R # 16 / 8 "
                "(stride 8)"));
}

TEST(LowerVcg, RefusesTimeSliceTime) {
  EXPECT_THAT(
      refusal(
          {{{"R", 13}, {"X", 64}}, "X, R # 16 / 2 % 4", "R # 16 / 8, R # 16 % 2", "1 # 8", {"R"}}),
      HasSubstr("slice and time parts interleaved: R # 16 / 8 (stride 8) in Time, R # 16 / "
                "2 % 4 (stride 2) in Slice, R # 16 % 2 (stride 1) in Time"));
}

TEST(LowerVcg, RefusesOverPaddedTimeMajor) {
  const std::string text =
      refusal({{{"A", 3}, {"R", 14}, {"X", 64}}, "X, R # 20 % 4", "A, R # 20 / 4", "1 # 8", {"R"}});
  EXPECT_THAT(text, HasSubstr("over-padded TimeMajor: PADDED - R = 20 - 14 = 6 is more than "
                              "slice_span 4"));
  EXPECT_THAT(text, HasSubstr("pad to R # 16"));
  // The page's correction: 16 - 14 = 2 <= 4.
  lowered({{{"A", 3}, {"R", 14}, {"X", 64}}, "X, R # 16 % 4", "A, R # 16 / 4", "1 # 8", {"R"}});
}

TEST(LowerVcg, RefusesTheMajorPartInPacket) {
  EXPECT_THAT(
      refusal(
          {{{"A", 8}, {"R", 19}, {"X", 64}}, "X, A / 2", "R # 24 % 8", "R # 24 / 8 # 8", {"R"}}),
      HasSubstr("major part in Packet: R # 64 / 8 (stride 8) lies in Packet, R # 64 % 8 "
                "(stride 1) in Time"));
}

TEST(LowerVcg, RefusesAnotherAxisInPacket) {
  EXPECT_THAT(
      refusal({{{"A", 4}, {"R", 19}, {"X", 256}}, "X", "R # 24 / 2", "R # 24 % 2, A", {"R"}}),
      HasSubstr("shared Packet: Packet 'R # 20 % 2, A' holds A beside it"));
}

TEST(LowerVcg, RefusesSeveralPartsInPacket) {
  EXPECT_THAT(
      refusal({{{"R", 13}}, "1 # 256", "R # 16 / 8", "R # 16 % 4, R # 16 / 4 % 2", {"R"}}),
      HasSubstr("several parts in Packet: Packet 'R # 16 % 4, R # 16 / 4 % 2' holds 2 parts of it; "
                "1 is possible"));
}

TEST(LowerVcg, RefusesSliceWithPacket) {
  EXPECT_THAT(refusal({{{"R", 2045}}, "R # 2048 / 8", "1", "R # 2048 % 8", {"R"}}),
              HasSubstr("Slice with Packet: 2,045 elements are no multiple of packet_span 8 (5 "
                        "remain)"));
  // "reduces to Slice only and is supported": 2,040 = 255 x 8.
  const VcgConfig config = lowered({{{"R", 2040}}, "R # 2048 / 8", "1", "R # 2048 % 8", {"R"}});
  expect_filter(config.time_filters[0], "", 255, 255, 0, TimeFilterMode::kSliceMajor);
  EXPECT_EQ(config.valid_size(254, 0), 8U);
  EXPECT_EQ(config.valid_size(255, 0), 0U);
}

// The split with which the page opens: six slice positions, and 43 % 2 = 1.
TEST(LowerVcg, RefusesTheOpeningSplit) {
  const std::string text =
      refusal({{{"R", 43}}, "R # 48 / 8", "R # 48 / 2 % 4", "R # 48 % 2 # 8", {"R"}});
  EXPECT_THAT(text, HasSubstr("slice part that is no power of two: R # 48 / 8 has 6 positions, 1 "
                              "apart"));
  EXPECT_THAT(text, HasSubstr("Slice with Packet: 43 elements are no multiple of packet_span 2 (1 "
                              "remain)"));
}

TEST(LowerVcg, RefusesStepsThatAreNoPowerOfTwo) {
  EXPECT_THAT(
      refusal({{{"R", 13}, {"X", 3}}, "[R # 16 / 4, X] # 64", "R # 16 % 4", "1 # 8", {"R"}}),
      HasSubstr("has 4 positions, 3 apart"));
}

TEST(LowerVcg, RefusesAPartInCluster) {
  EXPECT_THAT(
      refusal({{{"R", 13}}, "1 # 256", "R # 16 % 8", "1 # 8", {"R"}, "R # 16 / 8"}),
      HasSubstr("part outside of the cluster's slices: Cluster 'R # 16 / 8' holds a part of it"));
  // Without padding it takes no filter, wherever it lies.
  lowered({{{"R", 16}}, "1 # 256", "R % 8", "1 # 8", {"R"}, "R / 8"});
}

TEST(LowerVcg, RefusesPaddingAcrossTerms) {
  EXPECT_THAT(
      refusal({{{"R", 13}, {"A", 3}}, "1 # 256", "[R # 16, A] # 50", "1 # 8", {"R"}}),
      HasSubstr("padded together with other terms: '[R # 16, A] # 50' in Time '[R # 16, A] # 50' "
                "pads 48 positions to 50"));
  // 60 positions are R # 20, A.
  const VcgConfig config =
      lowered({{{"R", 13}, {"A", 3}}, "1 # 256", "[R # 16, A] # 60", "1 # 8", {"R"}});
  EXPECT_EQ(text(config.time_filters[0].sequencer), "R # 20 -> 20 : 1, A -> 3 : 0");
}

TEST(LowerVcg, RefusesMinorPartsPaddedByThemselves) {
  EXPECT_THAT(refusal({{{"R", 16}}, "1 # 256", "R / 4, R % 4 # 5", "1 # 8", {"R"}}),
              HasSubstr("minor part padded by itself: R % 4 # 5 in Time is padded from 4 to 5"));
}

TEST(LowerVcg, RefusesCutsThroughAPair) {
  EXPECT_THAT(refusal({{{"A", 3}, {"R", 3}}, "1 # 256", "[A, R # 4] / 6", "1 # 8", {"R"}}),
              HasSubstr("cut through a pair"));
}

TEST(LowerVcg, RefusesAFourthTimeFilter) {
  const std::string text = refusal({{{"A", 3}, {"B", 3}, {"C", 3}, {"D", 3}},
                                    "1 # 256",
                                    "A # 4, B # 4, C # 4, D # 4",
                                    "1 # 8",
                                    {"A", "B", "C", "D"}});
  EXPECT_THAT(text, HasSubstr("too many time filters: 4 padded axes (A, B, C, D) have parts in "
                              "Slice or Time and take a time filter each; at most 3 is possible"));
  EXPECT_THAT(text, testing::Not(HasSubstr("too many axes")));
}

TEST(LowerVcg, RefusesAFifthAxis) {
  const PlacementText four = {{{"A", 3}, {"B", 3}, {"C", 3}, {"D", 3}, {"W", 5}},
                              "1 # 256",
                              "A # 4, B # 4, C # 4, D # 4",
                              "W # 8",
                              {"W", "A", "B", "C"}};
  const VcgConfig config = lowered(four);
  EXPECT_EQ(config.packet_clipper.axis_size, 5U);
  EXPECT_EQ(config.time_filters[2].sequencer.entries[2].stride, 1U);
  PlacementText five = four;
  five.tracked.push_back("D");
  EXPECT_THAT(refusal(five), HasSubstr("too many axes: 5 padded axes (W, A, B, C, D) are tracked; "
                                       "at most 4 is possible"));
}

TEST(LowerVcg, RefusesTwoAxesInPacket) {
  const std::string text =
      refusal({{{"A", 3}, {"R", 1}, {"B", 1}}, "1 # 256", "1", "A # 4, 2", {"A"}});
  EXPECT_THAT(text, HasSubstr("shared Packet: Packet 'A # 4, 2' holds 2 beside it"));
  const std::string two =
      refusal({{{"A", 3}, {"B", 3}}, "1 # 256", "B # 4 / 2", "A # 4, B # 4 % 2", {"A", "B"}});
  EXPECT_THAT(two, HasSubstr("two axes in Packet: 2 padded axes (A, B) have parts in Packet"));
}

TEST(LowerVcg, RefusesAPacketThatIsNoFlit) {
  EXPECT_THAT(refusal({{{"R", 3}}, "1 # 256", "1", "R # 4", {"R"}}),
              HasSubstr("Packet is no flit: Packet 'R # 4' has 4 positions, a flit 8"));
}

TEST(LowerVcg, RefusesAPaddedAxisOfOneElement) {
  EXPECT_THAT(refusal({{{"R", 1}}, "1 # 256", "1", "R # 8", {"R"}}),
              HasSubstr("padded axis of one element: '1 # 8' in Packet may be R # 8 or padding of "
                        "nothing"));
  lowered({{{"R", 1}, {"B", 8}}, "R # 256", "1", "B", {"R"}});
}

TEST(LowerVcg, RefusesLongEntries) {
  EXPECT_THAT(refusal({{{"R", 65537}}, "1 # 256", "R # 65538", "1 # 8", {"R"}}),
              HasSubstr("too many iterations: R # 65538 has 65,538 iterations, an entry at most "
                        "65,536"));
}

// 2^32 elements in 2^33 positions: time_thres would be 2^32.
TEST(LowerVcg, RefusesFiguresBeyondTheRegisters) {
  MappingTexts texts({{"R", uint64_t{1} << 32}});
  StreamShape in;
  in.slice = texts("1 # 256");
  in.time = texts("R # 8589934592 / 4194304, R # 8589934592 / 2048 % 2048, R # 8589934592 % 2048");
  in.packet = texts("1 # 8");
  Diagnostics diagnostics;
  EXPECT_FALSE(lower_vcg(in, {0}, {}, {texts.axes, {}, diagnostics}));
  EXPECT_THAT(diagnostics.render(), HasSubstr("beyond 32 bits: time_thres is 4,294,967,296; at "
                                              "most 4,294,967,295 is possible"));
}

TEST(LowerVcg, NamesEveryViolationAtOnce) {
  VcgPlacement placement({{{"R", 13}, {"C", 3}, {"X", 32}},
                          "X, R # 16 / 2 % 4, R # 16 / 8",
                          "R # 16 % 2",
                          "C # 4, 2",
                          {"R", "C"}});
  EXPECT_FALSE(placement.lower());
  EXPECT_EQ(placement.diagnostics.error_count(), 2U);
}

// What Collect fills a flit up with is known to be zero; the count does not care.
TEST(Vcg, PaddingOfAnyKindFillsAFlit) {
  const VcgConfig plain =
      lowered({{{"R", 10}, {"A", 4}}, "1 # 256", "A, R # 16 / 4", "R # 16 % 4 # 8", {"R"}});
  const VcgConfig zeros =
      lowered({{{"R", 10}, {"A", 4}}, "1 # 256", "A, R # 16 / 4", "[R # 16 % 4] #{0} 8", {"R"}});
  EXPECT_EQ(text(zeros.packet_clipper.sequencer), text(plain.packet_clipper.sequencer));
  expect_clipper(zeros.packet_clipper, text(plain.packet_clipper.sequencer), 10, 4);
}

}  // namespace
}  // namespace rngdsim
