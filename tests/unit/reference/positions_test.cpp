// SPDX-License-Identifier: Apache-2.0
#include "reference/positions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/reference_program.h"

namespace rngdsim {
namespace {

using ::testing::ElementsAre;
using testing::TestAxes;

constexpr int64_t kPoison = Positions::kPoison;
constexpr int64_t kZero = Positions::kZero;

// The offsets of the last dimension with all others at the given positions.
std::vector<int64_t> row(const Positions& positions, const std::vector<uint64_t>& outer) {
  Positions::Partial partial = positions.begin();
  for (size_t i = 0; i < outer.size(); ++i) positions.add(partial, i, outer[i]);
  std::vector<int64_t> offsets(positions.size(outer.size()));
  positions.last(partial, 0, offsets.size(), offsets.data());
  return offsets;
}

TEST(PositionsTest, OffsetsAddUpOverTheDimensions) {
  const TestAxes axes({{"I", 4}, {"K", 3}});
  // The logical array is [I][K]: I has stride 3.
  const Positions positions({axes("I / 2"), axes("I % 2, K")}, axes.ids({"I", "K"}), axes.table());
  EXPECT_THAT(row(positions, {0}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(row(positions, {1}), ElementsAre(6, 7, 8, 9, 10, 11));
}

TEST(PositionsTest, ReplicaAxesContributeNothing) {
  const TestAxes axes({{"I", 2}, {"J", 2}});
  const Positions positions({axes("J"), axes("I")}, axes.ids({"I"}), axes.table());
  EXPECT_THAT(row(positions, {0}), ElementsAre(0, 1));
  EXPECT_THAT(row(positions, {1}), ElementsAre(0, 1));
  EXPECT_EQ(to_string(positions.cell({1, 1}), axes.table()), "I=1 J=1");
}

TEST(PositionsTest, PaddingHoldsNoElementAndKeepsItsKind) {
  const TestAxes axes({{"I", 2}});
  EXPECT_THAT(row(Positions({axes("I # 4")}, axes.ids({"I"}), axes.table()), {}),
              ElementsAre(0, 1, kPoison, kPoison));
  EXPECT_THAT(row(Positions({axes("I #{0} 4")}, axes.ids({"I"}), axes.table()), {}),
              ElementsAre(0, 1, kZero, kZero));
}

TEST(PositionsTest, TheOutermostPaddingWins) {
  const TestAxes axes({{"I", 1}, {"K", 1}});
  const Positions positions({axes("I # 2"), axes("K #{0} 2")}, axes.ids({"I", "K"}), axes.table());
  EXPECT_THAT(row(positions, {0}), ElementsAre(0, kZero));
  EXPECT_THAT(row(positions, {1}), ElementsAre(kPoison, kPoison));
}

TEST(PositionsTest, AnAxisSpreadOverDimensionsMayOvershoot) {
  const TestAxes axes({{"K", 11}});
  // 4 x 4 positions for 11 elements: 8 + 3 and beyond do not exist.
  const Positions positions({axes("K # 16 / 4"), axes("K # 16 % 4")}, axes.ids({"K"}),
                            axes.table());
  EXPECT_TRUE(positions.watches_overshoot());
  EXPECT_THAT(row(positions, {1}), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(row(positions, {2}), ElementsAre(8, 9, 10, kPoison));
  EXPECT_THAT(row(positions, {3}), ElementsAre(kPoison, kPoison, kPoison, kPoison));
}

TEST(PositionsTest, AnOvershootTakesTheKindOfTheAxis) {
  const TestAxes axes({{"K", 3}});
  const Positions positions({axes("K #{0} 4 / 2"), axes("K #{0} 4 % 2")}, axes.ids({"K"}),
                            axes.table());
  EXPECT_THAT(row(positions, {1}), ElementsAre(2, kZero));
}

TEST(PositionsTest, PaddingWinsOverAnOvershoot) {
  const TestAxes axes({{"K", 3}, {"I", 1}, {"J", 2}});
  // K = 3 comes about between the dimensions.
  const Positions across({axes("K #{0} 4 / 2"), axes("K #{0} 4 % 2, I # 2")}, axes.ids({"K"}),
                         axes.table());
  EXPECT_THAT(row(across, {1}), ElementsAre(2, kPoison, kZero, kPoison));
  // K = 3 comes about within the outer one, at K / 2 = 1, J = 0, K % 2 = 1.
  const Positions within({axes("K #{0} 4 / 2, J, K #{0} 4 % 2"), axes("I # 2")}, axes.ids({"K"}),
                         axes.table());
  EXPECT_THAT(row(within, {5}), ElementsAre(kZero, kPoison));
}

TEST(PositionsTest, AnAxisThatFitsIsNotWatched) {
  const TestAxes axes({{"K", 16}});
  EXPECT_FALSE(Positions({axes("K / 4"), axes("K % 4")}, {}, axes.table()).watches_overshoot());
}

TEST(LiveSlicesTest, ShortMappingsLeaveTheRestOfTheMachineDead) {
  const TestAxes axes({{"I", 2}});
  MachineLimits limits;
  limits.clusters = 2;
  limits.slices = 4;
  EXPECT_THAT(live_slices(axes("1"), axes("1 # 2"), axes("I # 4"), limits, axes.table()),
              ElementsAre(1, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(live_slices(axes("1"), axes("1"), axes("I"), limits, axes.table()),
              ElementsAre(1, 1, 0, 0, 0, 0, 0, 0));
}

TEST(LiveSlicesTest, AnAxisOverClusterAndSliceMayOvershoot) {
  const TestAxes axes({{"I", 7}});
  MachineLimits limits;
  limits.clusters = 2;
  limits.slices = 4;
  EXPECT_THAT(live_slices(axes("1"), axes("I # 8 / 4"), axes("I # 8 % 4"), limits, axes.table()),
              ElementsAre(1, 1, 1, 1, 1, 1, 1, 0));
}

// Element `I # 4, K` (I 2, K 2): I K at 0 to 3, nothing at 4 to 7; with `#{0}` zeros there. As
// `P, Q` (P 4, Q 2), position 2 p + q.
TEST(PositionsTest, OriginsOfAReshapedView) {
  const TestAxes axes({{"I", 2}, {"K", 2}, {"P", 4}, {"Q", 2}});
  Program program;
  program.axes = axes.table();
  TensorVersion of, view;
  of.logical = axes.ids({"I", "K"});
  of.element = axes("I # 4, K");
  view.logical = axes.ids({"P", "Q"});
  view.element = axes("P, Q");
  EXPECT_THAT(origins(of, view, program),
              ElementsAre(0, 1, 2, 3, kPoison, kPoison, kPoison, kPoison));
  of.element = axes("I #{0} 4, K");
  EXPECT_THAT(origins(of, view, program), ElementsAre(0, 1, 2, 3, kZero, kZero, kZero, kZero));
  // Position 4 q + p: element [p, q] of the view, at offset 2 p + q, lies there.
  view.element = axes("Q, P");
  of.element = axes("I, K, 1 # 2");
  EXPECT_THAT(origins(of, view, program),
              ElementsAre(0, 2, kPoison, kPoison, 1, 3, kPoison, kPoison));
}

}  // namespace
}  // namespace rngdsim
