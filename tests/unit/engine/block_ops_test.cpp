// SPDX-License-Identifier: Apache-2.0
#include "engine/block_ops.h"

#include <gtest/gtest.h>

namespace rngdsim {
namespace {

constexpr uint32_t kBlockSlices = 3;

class BlockOps : public testing::Test {
 protected:
  BlockRef i8(uint32_t elements) {
    BlockRef values = pool.allocate(DType::kI8, elements);
    for (uint32_t e = 0; e < elements; ++e) {
      for (uint32_t s = 0; s < kBlockSlices; ++s) values->set_bits(e, s, 0xf0 + 4 * e + s);
    }
    return values;
  }
  BlockPool pool{kBlockSlices};
};

TEST_F(BlockOps, ConvertsAndPadsWithValidZeros) {
  BlockRef from = i8(2);
  from->track_validity();
  from->valid_row(1)[2] = 0;
  const BlockRef to = convert_block(pool, *from, DType::kI32, 2, 4);
  EXPECT_EQ(to->dtype, DType::kI32);
  EXPECT_EQ(to->elements, 4u);
  EXPECT_EQ(to->bits(0, 1), 0xfffffff1u);
  EXPECT_EQ(to->bits(1, 0), 0xfffffff4u);
  EXPECT_EQ(to->bits(2, 0), 0u);
  EXPECT_EQ(to->bits(3, 2), 0u);
  EXPECT_TRUE(to->is_valid(1, 1));
  EXPECT_FALSE(to->is_valid(1, 2));
  EXPECT_TRUE(to->is_valid(3, 2));
}

TEST_F(BlockOps, ValidBlocksStayWithoutFlags) {
  EXPECT_TRUE(convert_block(pool, *i8(2), DType::kI32, 2, 8)->all_valid);
}

TEST_F(BlockOps, CommitCastWithRelu) {
  BlockRef from = pool.allocate(DType::kF32, 2);
  for (uint32_t s = 0; s < kBlockSlices; ++s) {
    from->set_bits(0, s, 0xbf800000u);  // -1
    from->set_bits(1, s, 0x40000000u);  // 2
  }
  EXPECT_EQ(convert_block(pool, *from, DType::kBF16, 2, 2)->bits(0, 0), 0xbf80u);
  const BlockRef to = convert_block(pool, *from, DType::kBF16, 2, 2, true);
  EXPECT_EQ(to->bits(0, 0), 0u);
  EXPECT_EQ(to->bits(1, 2), 0x4000u);
}

TEST_F(BlockOps, CopiesWithValidity) {
  BlockRef from = i8(2);
  BlockRef to = i8(4);
  copy_elements(*from, 1, *to, 2, 1);
  EXPECT_EQ(to->bits(2, 1), 0xf5u);
  EXPECT_EQ(to->bits(3, 1), 0xfdu);
  EXPECT_TRUE(to->all_valid);

  from->track_validity();
  from->valid_row(0)[1] = 0;
  copy_elements(*from, 0, *to, 3, 1);
  EXPECT_FALSE(to->is_valid(3, 1));
  EXPECT_TRUE(to->is_valid(3, 0));
  EXPECT_TRUE(to->is_valid(2, 1));

  copy_elements(*i8(1), 0, *to, 3, 1);  // valid values over poison
  EXPECT_TRUE(to->is_valid(3, 1));
  from->valid_row(0)[1] = 0;
  copy_elements(*from, 0, *to, 3, 1);
  zero_elements(*to, 3);
  EXPECT_TRUE(to->is_valid(3, 1));
  EXPECT_EQ(to->bits(3, 1), 0u);
}

// Element 0 is left out in slice 1; the mask has no element 1.
TEST_F(BlockOps, PoisonThatIsLeftOutIsNoPoison) {
  BlockRef from = i8(2);
  from->track_validity();
  from->valid_row(0)[1] = from->valid_row(0)[2] = from->valid_row(1)[1] = 0;
  BlockRef keep = pool.allocate(DType::kI8, 1);
  for (uint32_t s = 0; s < from->slices; ++s) keep->set_bits(0, s, s != 1);
  BlockRef to = pool.allocate(DType::kI8, 2);
  mark_kept_poison(*from, *keep, *to);
  EXPECT_TRUE(to->is_valid(0, 0));
  EXPECT_TRUE(to->is_valid(0, 1));
  EXPECT_FALSE(to->is_valid(0, 2));
  EXPECT_FALSE(to->is_valid(1, 1));
}

TEST_F(BlockOps, TrimsInPlaceWhereNobodyElseHoldsTheBlock) {
  BlockRef values = i8(4);
  const Block* before = &*values;
  trim_block(pool, values, 3);
  EXPECT_EQ(&*values, before);
  EXPECT_EQ(values->elements, 3u);

  const BlockRef other = values;
  trim_block(pool, values, 2);
  EXPECT_NE(&*values, before);
  EXPECT_EQ(values->elements, 2u);
  EXPECT_EQ(values->bits(1, 2), 0xf6u);
  EXPECT_EQ(other->elements, 3u);
}

}  // namespace
}  // namespace rngdsim
