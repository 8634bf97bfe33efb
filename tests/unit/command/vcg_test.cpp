// SPDX-License-Identifier: Apache-2.0
// The two rules of the Valid Count Generator on configurations as the vendor's page prints them.
#include "command/vcg.h"

#include <gtest/gtest.h>

#include <vector>

namespace rngdsim {
namespace {

// "R # 12 / 4, A, R # 12 % 4" of R = 10, A = 3.
TimeFilterConfig reordered() {
  TimeFilterConfig filter;
  filter.sequencer.entries = {{"R # 12 / 4", 3, 4}, {"A", 3, 0}, {"R # 12 % 4", 4, 1}};
  filter.slice_thres = 0;
  filter.time_thres = 10;
  return filter;
}

TEST(VcgSequencer, TakesTimeApart) {
  const VcgSequencer sequencer = reordered().sequencer;
  EXPECT_EQ(sequencer.index(0), 0U);
  EXPECT_EQ(sequencer.index(13), 5U);   // (1, 0, 1): the page's example
  EXPECT_EQ(sequencer.index(27), 11U);  // (2, 0, 3): the page's example
  EXPECT_EQ(sequencer.index(4), 0U);    // (0, 1, 0): another axis
  EXPECT_EQ(sequencer.index(35), 11U);  // (2, 2, 3)
  EXPECT_EQ(VcgSequencer{}.index(5), 0U);
}

TEST(TimeFilter, DisabledPassesAll) {
  const TimeFilterConfig filter;  // slice_mask 0, slice_thres 1
  EXPECT_EQ(filter.slice_mask, 0U);
  EXPECT_EQ(filter.slice_thres, 1U);
  EXPECT_TRUE(filter.valid(0, 0));
  EXPECT_TRUE(filter.valid(255, 1000000));
}

TEST(TimeFilter, WithoutSlicesTheTimeStepDecides) {
  const TimeFilterConfig filter = reordered();
  for (const uint64_t s : {0, 1, 255}) {
    EXPECT_TRUE(filter.valid(s, 13));
    EXPECT_FALSE(filter.valid(s, 27));
    EXPECT_EQ(filter.regime(s), SliceRegime::kBoundary);
  }
}

// The page's example of R = 11 in Slice and Time; 0b1000001 is right for 32 slices between.
TEST(TimeFilter, SliceMajor) {
  TimeFilterConfig filter;
  filter.sequencer.entries = {{"R # 16 % 2", 2, 1}, {"R # 16 / 2 % 2", 2, 2}};
  filter.slice_mask = 0b1000001;
  filter.slice_thres = 64;
  filter.time_thres = 3;
  // Contributions 0, 4, 8, 12; in time 0, 2, 1, 3.
  const std::vector<uint64_t> slices = {0, 1, 64, 65};
  const std::vector<std::vector<bool>> valid = {
      {true, true, true, true},
      {true, true, true, true},
      {true, true, true, false},
      {false, false, false, false},
  };
  const std::vector<SliceRegime> regimes = {SliceRegime::kBelow, SliceRegime::kBelow,
                                            SliceRegime::kBoundary, SliceRegime::kAbove};
  for (size_t i = 0; i < slices.size(); ++i) {
    EXPECT_EQ(filter.regime(slices[i]), regimes[i]) << i;
    for (uint64_t t = 0; t < 4; ++t) {
      EXPECT_EQ(filter.valid(slices[i], t), valid[i][t]) << i << " " << t;
      EXPECT_EQ(filter.valid(slices[i] + 2, t), valid[i][t]) << "a slice of another X";
    }
  }
}

// The page's example of R = 13 in Time and Slice.
TEST(TimeFilter, TimeMajorHasNoSliceWithoutData) {
  TimeFilterConfig filter;
  filter.sequencer.entries = {{"R # 16 / 4 % 2", 2, 1}, {"R # 16 / 8", 2, 2}};
  filter.slice_mask = 0b1000001;
  filter.slice_thres = 1;
  filter.time_thres = 3;
  filter.mode = TimeFilterMode::kTimeMajor;
  // Time contributes 0, 8, 4, 12, so only the last step of slices 1, 2, 3 is padding.
  const std::vector<uint64_t> slices = {0, 1, 64, 65};
  for (size_t i = 0; i < slices.size(); ++i) {
    for (uint64_t t = 0; t < 4; ++t) {
      EXPECT_EQ(filter.valid(slices[i], t), i == 0 || t < 3) << i << " " << t;
    }
    EXPECT_EQ(filter.regime(slices[i]), i == 0 ? SliceRegime::kBelow : SliceRegime::kBoundary);
  }
}

TEST(PacketClipper, DisabledGivesTheFullFlit) {
  const PacketClipperConfig clipper;
  EXPECT_EQ(clipper.axis_size, 8U);
  EXPECT_EQ(clipper.packet_span, 8U);
  EXPECT_EQ(clipper.valid_size(0), 8U);
  EXPECT_EQ(clipper.valid_size(12345), 8U);
}

TEST(PacketClipper, OneFlitHoldsTheAxis) {
  PacketClipperConfig clipper;
  clipper.axis_size = 3;
  EXPECT_EQ(clipper.valid_size(0), 3U);  // clamp(3 - 0, 0, 8)
}

// R = 10 as R # 16 / 4 and R # 16 % 4 # 8: the page's four flits.
TEST(PacketClipper, ClampsToWhatIsLeft) {
  PacketClipperConfig clipper;
  clipper.sequencer.entries = {{"R # 16 / 4", 4, 4}};
  clipper.axis_size = 10;
  clipper.packet_span = 4;
  const std::vector<uint32_t> counts = {4, 4, 2, 0};
  for (uint64_t t = 0; t < 4; ++t) EXPECT_EQ(clipper.valid_size(t), counts[t]) << t;
}

TEST(VcgConfig, AnyClosedFilterEmptiesTheFlit) {
  VcgConfig config;
  EXPECT_EQ(config.valid_size(3, 5), 8U);
  config.packet_clipper.axis_size = 3;
  EXPECT_EQ(config.valid_size(3, 5), 3U);
  for (TimeFilterConfig& filter : config.time_filters) {
    filter.slice_thres = 0;  // idx 0 < time_thres 0 fails everywhere
    EXPECT_EQ(config.valid_size(3, 5), 0U);
    filter.slice_thres = 1;
    EXPECT_EQ(config.valid_size(3, 5), 3U);
  }
}

}  // namespace
}  // namespace rngdsim
