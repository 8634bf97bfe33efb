// SPDX-License-Identifier: Apache-2.0
// Views: which positions of a tensor a tile has, where it begins, and what cannot be one.
#include <gmock/gmock.h>

#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;

class LowerView : public StageTest {
 protected:
  void SetUp() override { axes({{"I", 4}, {"J", 256}, {"K", 8}, {"D", 61}}); }

  std::optional<LoweredView> view(const std::string& element, const std::string& axis,
                                  uint64_t start, uint64_t length,
                                  PadKind outside = PadKind::kTop) {
    TensorVersion tensor;
    tensor.name = "x";
    tensor.slice = map("J / 64 # 256");
    tensor.element = map(element);
    return lower_view(tensor, declared(axis), {start, {}}, {length, {}}, outside,
                      ViewUser::kTensorUnit, scope_);
  }
};

class LowerReshape : public StageTest {
 protected:
  void SetUp() override {
    axes({{"I", 4}, {"J", 64}, {"X", 8}, {"P", 16}, {"Q", 16}});
    tensor_.name = "x";
    tensor_.dtype = DType::kI8;
    tensor_.cluster = map("1 # 2");
    tensor_.slice = map("J / 8, 1 # 32");
    tensor_.element = map("I, J % 8");
    tensor_.logical = {0, 1};
  }
  std::optional<TensorVersion> reshape(const char* slice, const char* element,
                                       bool written = false) {
    ReshapeRequest request;
    if (slice != nullptr) request.slice = declared(slice);
    if (element != nullptr) request.element = declared(element);
    request.written = written;
    return lower_reshape(tensor_, request, scope_);
  }
  TensorVersion tensor_;
};

// Slice 32 of a row of 32 slices is J / 8 = 1: as `J / 8, X # 32` its first of eight holds X = 0,
// the others what nobody wrote. The values depend on X now.
TEST_F(LowerReshape, PaddingBecomesElements) {
  const auto view = reshape("J / 8, X # 32", nullptr);
  ASSERT_TRUE(view) << errors();
  EXPECT_TRUE(view->reshaped);
  EXPECT_EQ(view->logical, (std::vector<AxisId>{0, 1, 2}));
  EXPECT_TRUE(same(view->element, "I, J % 8"));
}

// Replicas may become elements, and elements others.
TEST_F(LowerReshape, ReplicasBecomeElements) {
  tensor_.slice = map("J / 8, 32");
  const auto view = reshape("J / 8, X # 32", "I, X");
  ASSERT_FALSE(view);  // X twice
  EXPECT_THAT(errors(), HasSubstr("overlap"));
  const auto other = reshape("J / 8, Q # 32", "I, X");
  ASSERT_TRUE(other) << errors();
  EXPECT_EQ(other->logical, (std::vector<AxisId>{0, 1, 2, 4}));
}

// What was one of many replicas stays one: J % 8 that the values do not depend on.
TEST_F(LowerReshape, AReplicaIsNoAxisOfTheView) {
  tensor_.logical = {0};
  const auto view = reshape(nullptr, "X / 2, J % 8");
  ASSERT_TRUE(view) << errors();
  EXPECT_EQ(view->logical, (std::vector<AxisId>{2}));
}

TEST_F(LowerReshape, DifferentElementsDoNotBecomeOne) {
  EXPECT_FALSE(reshape(nullptr, "4, J % 8"));
  EXPECT_THAT(errors(), HasSubstr("positions 0 and 8 of Element, which hold the origin and I=1, "
                                  "would become one, the origin"));
}

// Written: what becomes padding is never touched, or it is refused.
TEST_F(LowerReshape, AWriteLeavesOutWhatItNeverTouches) {
  EXPECT_TRUE(reshape(nullptr, "1 #{!} 4, X", true)) << errors();
  EXPECT_FALSE(reshape(nullptr, "1 # 4, X", true));
  EXPECT_TRUE(reshape(nullptr, "1 # 4, X"));
}

TEST_F(LowerReshape, PadAndUnpadAddAndTakeTheOutermostPadding) {
  const auto padded = lower_pad(tensor_, declared("I # 16, J % 8"), false, false, scope_);
  ASSERT_TRUE(padded) << errors();
  EXPECT_EQ(padded->size(), 128u);
  tensor_.element = *padded;
  EXPECT_TRUE(lower_pad(tensor_, declared("I, J % 8"), true, false, scope_)) << errors();
  EXPECT_FALSE(lower_pad(tensor_, declared("I, J % 8 # 32"), false, false, scope_));
  EXPECT_FALSE(lower_pad(tensor_, declared("J % 8, I"), true, false, scope_));
}

// J / 8 % 8 lies 8 x 8 = 64 elements apart in `I, J % 64, K`, four rows of 512 in all: block 3
// begins at 192, and its last element is 3 x 512 + 63 further on.
TEST_F(LowerView, ABlockInTheMiddle) {
  const auto lowered = view("I, J % 64, K", "J / 8 % 8", 3, 1);
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->first_element, 192u);
  EXPECT_EQ(lowered->extent, 3u * 512 + 64);
  EXPECT_EQ(lowered->tile.shift(), 24u);
  EXPECT_EQ(lowered->element.size(), 2048u);
  EXPECT_TRUE(same(lowered->element, "I, 1 # 8, J % 8, K"));
}

TEST_F(LowerView, SeveralBlocks) {
  const auto lowered = view("I, J % 64, K", "J / 8 % 8", 5, 3);
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->first_element, 320u);
  EXPECT_EQ(lowered->extent, 3u * 512 + 3 * 64);
  EXPECT_TRUE(same(lowered->element, "I, J / 8 % 8 = 3 # 8, J % 8, K"));
}

TEST_F(LowerView, AWholeAxisInnermost) {
  const auto lowered = view("J % 64, I", "I", 2, 2);
  ASSERT_TRUE(lowered) << errors();
  EXPECT_EQ(lowered->first_element, 2u);
  EXPECT_EQ(lowered->extent, 63u * 4 + 2);
  EXPECT_TRUE(same(lowered->element, "J % 64, I = 2 # 4"));
}

TEST_F(LowerView, OutsideIsPaddingOfTheGivenKind) {
  const auto read = view("I, K", "I", 1, 1, PadKind::kTop);
  const auto write = view("I, K", "I", 1, 1, PadKind::kBottom);
  ASSERT_TRUE(read && write);
  EXPECT_EQ(read->element.cell(8, axes_).pad, PadKind::kTop);
  EXPECT_EQ(write->element.cell(8, axes_).pad, PadKind::kBottom);
  EXPECT_TRUE(write->element.cell(7, axes_).live);
}

TEST_F(LowerView, TheTileMustBeInside) {
  EXPECT_TRUE(view("I, K", "K / 2", 3, 1));
  EXPECT_FALSE(view("I, K", "K / 2", 4, 1));
  EXPECT_THAT(errors(), HasSubstr("view: 1 position from 4 on of 'K / 2', which has 4"));
  EXPECT_TRUE(view("I, K", "K / 2", 2, 2));
  EXPECT_FALSE(view("I, K", "K / 2", 3, 2));
  EXPECT_THAT(errors(), HasSubstr("view: 2 positions from 3 on of 'K / 2', which has 4"));
}

TEST_F(LowerView, OnlyADigitOfOneAxis) {
  EXPECT_FALSE(view("I, K", "I, K", 0, 1));
  EXPECT_THAT(errors(), HasSubstr("view: 'I, K' is no digit of one axis"));
  EXPECT_FALSE(view("I, K", "I # 8", 0, 1));
  EXPECT_THAT(errors(), HasSubstr("is no digit of one axis"));
}

TEST_F(LowerView, TheDigitMustLieInElement) {
  EXPECT_FALSE(view("J % 64, K", "J / 64", 0, 1));
  EXPECT_THAT(diagnostics_.render() + errors(), HasSubstr("has the digit 'J / 64' (4 positions)"));
  // Two terms share what one tile would need.
  EXPECT_FALSE(view("J / 8 % 2, J / 16 % 4, J % 8", "J / 8 % 8", 0, 1));
  EXPECT_THAT(errors(), HasSubstr("has the digit 'J / 8 % 8' (8 positions)"));
}

// The padding behind a digit, or behind a group of terms with it, stays.
TEST_F(LowerView, PaddedDigitsKeepTheirPadding) {
  const auto digit = view("I, D # 64", "D", 3, 2);
  ASSERT_TRUE(digit) << errors();
  EXPECT_TRUE(same(digit->element, "I, D = 2 # 64"));
  EXPECT_EQ(digit->first_element, 3u);
  const auto group = view("[K, I] # 64, D", "K / 4", 1, 1);
  ASSERT_TRUE(group) << errors();
  EXPECT_TRUE(same(group->element, "[1 # 2, K % 4, I] # 64, D"));
  EXPECT_EQ(group->first_element, 61u * 4 * 4);
}

TEST_F(LowerView, PartsOfPaddedDigitsAreRefused) {
  EXPECT_FALSE(view("I, D # 64 % 32", "D", 0, 1));
  EXPECT_THAT(errors(), HasSubstr("has the digit 'D' (61 positions)"));
}

// In Slice and Cluster the tile begins in another slice; Element stays. J / 64 # 256 is 4 slices.
TEST_F(LowerView, ADmaTakesTilesOfSlicesAndClusters) {
  TensorVersion tensor;
  tensor.name = "x";
  tensor.cluster = map("I / 2");
  tensor.slice = map("[J / 64, K] # 256");
  tensor.element = map("I % 2, J % 64");
  const auto tile = [&](const char* axis, uint64_t start, uint64_t length, ViewUser user) {
    return lower_view(tensor, declared(axis), {start, {}}, {length, {}}, PadKind::kTop, user,
                      scope_);
  };
  const auto slice = tile("J / 64", 2, 2, ViewUser::kDma);
  ASSERT_TRUE(slice) << errors();
  EXPECT_TRUE(same(slice->slice, "[J / 64 = 2 # 4, K] # 256"));
  EXPECT_TRUE(same(slice->element, "I % 2, J % 64"));
  EXPECT_EQ(slice->first_slice, 2u * 8);
  EXPECT_EQ(slice->first_element, 0u);
  EXPECT_EQ(slice->extent, 2u * 64);
  const auto cluster = tile("I / 2", 1, 1, ViewUser::kDma);
  ASSERT_TRUE(cluster) << errors();
  EXPECT_TRUE(same(cluster->cluster, "1 # 2"));
  EXPECT_EQ(cluster->first_slice, limits_.slices);
  EXPECT_FALSE(tile("I / 2", 1, 1, ViewUser::kTensorUnit));
  EXPECT_THAT(errors(), HasSubstr("has the digit 'I / 2' (2 positions)"));
  tensor.memory = MemoryKind::kHbm;
  EXPECT_FALSE(tile("J / 64", 0, 1, ViewUser::kDma));
}

}  // namespace
}  // namespace rngdsim
