// SPDX-License-Identifier: Apache-2.0
#include "channel/payload.h"

#include <gtest/gtest.h>

#include <utility>

namespace rngdsim {
namespace {

TEST(Block, IsStoredSliceMinor) {
  BlockPool pool(4);
  const BlockRef block = pool.allocate(DType::kBF16, 3);
  EXPECT_EQ(block->slices, 4u);
  EXPECT_EQ(block->elements, 3u);
  EXPECT_GE(block->data.size(), 3u * 4u * 2u);
  block->set_bits(2, 1, 0xbeef);
  EXPECT_EQ(block->row<uint16_t>(0)[2 * 4 + 1], 0xbeef);
  EXPECT_EQ(block->bits(2, 1), 0xbeefu);
}

TEST(Block, KeepsRawBitsOfEveryStorageSize) {
  BlockPool pool(2);
  for (const auto& [dtype, bits] : {std::pair<DType, uint32_t>{DType::kI4, 0xf},
                                    {DType::kF8E4M3, 0x7f},
                                    {DType::kI9, 0x1ff},
                                    {DType::kF32, 0x80000001}}) {
    const BlockRef block = pool.allocate(dtype, 2);
    block->set_bits(0, 0, 0);
    block->set_bits(1, 1, bits);
    EXPECT_EQ(block->bits(1, 1), bits) << name(dtype);
    EXPECT_EQ(block->bits(0, 0), 0u) << name(dtype);
  }
}

TEST(Block, TracksValidityOnlyWhereItIsAskedTo) {
  BlockPool pool(2);
  const BlockRef block = pool.allocate(DType::kI8, 2);
  EXPECT_TRUE(block->is_valid(1, 1));
  block->track_validity();
  EXPECT_FALSE(block->all_valid);
  EXPECT_TRUE(block->is_valid(1, 1));
  block->valid_row(1)[1] = 0;
  EXPECT_FALSE(block->is_valid(1, 1));
  EXPECT_TRUE(block->is_valid(1, 0));
  block->track_validity();  // must not forget
  EXPECT_FALSE(block->is_valid(1, 1));
}

TEST(BlockPool, ReusesABlockOnlyAfterItsLastReferenceIsGone) {
  BlockPool pool(2);
  BlockRef first = pool.allocate(DType::kI8, 4);
  const Block* const address = &*first;
  BlockRef second = first;
  first = BlockRef();
  EXPECT_FALSE(first);
  BlockRef other = pool.allocate(DType::kI8, 4);
  EXPECT_NE(&*other, address);
  second->track_validity();
  BlockRef third = std::move(second);
  third = BlockRef();
  const BlockRef reused = pool.allocate(DType::kF32, 1);
  EXPECT_EQ(&*reused, address);
  EXPECT_TRUE(reused->all_valid);  // nothing is left of its former life
  EXPECT_EQ(reused->dtype, DType::kF32);
  EXPECT_EQ(reused->elements, 1u);
}

TEST(BlockRef, IsNullWhereValuesAreNotSimulated) {
  const BlockRef none;
  EXPECT_FALSE(none);
  const BlockRef copy = none;
  EXPECT_FALSE(copy);
}

}  // namespace
}  // namespace rngdsim
