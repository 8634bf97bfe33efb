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
    return lower_view(tensor, declared(axis), {start, {}}, {length, {}}, outside, scope_);
  }
};

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

TEST_F(LowerView, PaddedDigitsAreRefused) {
  EXPECT_FALSE(view("I, D # 64", "D", 0, 1));
  EXPECT_NE(errors(), "");
}

}  // namespace
}  // namespace rngdsim
