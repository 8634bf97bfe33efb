// SPDX-License-Identifier: Apache-2.0
// The buffers of the Transpose Engine without a clock: what fits, and which element goes where.
#include "engine/transpose_buffers.h"

#include <gtest/gtest.h>

namespace rngdsim {
namespace {

TransposeConfig transpose_of(uint64_t rows, uint64_t packets, uint64_t out_rows, uint64_t flit) {
  TransposeConfig config;
  config.flit_elements = flit;
  config.valid_elements = 8;
  config.packets_per_row = packets;
  config.in_rows = rows;
  config.in_cols = 8 * packets;
  config.out_rows = out_rows;
  config.double_buffered = config.in_cols <= 16;
  return config;
}

// Flit f, element e, slice s: 64 f + e, in slice 1 its complement.
BlockRef transpose_flit(BlockPool& pool, uint32_t flit, DType dtype = DType::kI8,
                        uint32_t elements = 32) {
  BlockRef block = pool.allocate(dtype, elements);
  for (uint32_t e = 0; e < elements; ++e) {
    block->set_bits(e, 0, 64 * flit + e);
    block->set_bits(e, 1, ~(64 * flit + e));
  }
  return block;
}

// Two matrices fit where a matrix has up to 16 columns, and one where it has more; one that is
// complete is given, one that was given to its last column leaves room.
TEST(TransposeBuffers, TwoMatricesFitOrOne) {
  for (const uint64_t packets : {1, 2, 4}) {
    const TransposeConfig config = transpose_of(2, packets, 8 * packets, 32);
    const uint64_t fit = packets == 4 ? 1 : 2;
    TransposeBuffers buffers;
    buffers.begin(config);
    for (uint64_t flit = 0; flit < fit * 2 * packets; ++flit) {
      EXPECT_TRUE(buffers.takes()) << packets << " " << flit;
      EXPECT_EQ(buffers.gives(), flit >= 2 * packets) << packets << " " << flit;
      buffers.take({}, {});
    }
    for (uint64_t column = 0; column < 8 * packets; ++column) {
      EXPECT_FALSE(buffers.takes()) << packets << " " << column;
      EXPECT_TRUE(buffers.gives()) << packets << " " << column;
      buffers.give(nullptr, 32);
    }
    EXPECT_TRUE(buffers.takes()) << packets;
    EXPECT_EQ(buffers.gives(), fit == 2) << packets;
  }
}

// 3 rows of 2 packets: column c is element c % 8 of packets c / 8, 2 + c / 8 and 4 + c / 8. The
// elements of a flit behind its 8 go nowhere; what fills a column up is poison of zero bits.
TEST(TransposeBuffers, AColumnHoldsAnElementOfEachRow) {
  BlockPool pool(2);
  const TransposeConfig config = transpose_of(3, 2, 13, 16);
  TransposeBuffers buffers;
  buffers.begin(config);
  for (uint32_t matrix = 0; matrix < 5; ++matrix) {  // both buffers, and again
    for (uint32_t flit = 0; flit < 6; ++flit) {
      buffers.take(transpose_flit(pool, 10 * matrix + flit, DType::kI16, 16), {});
    }
    for (uint32_t column = 0; column < 13; ++column) {
      const TransposeBuffers::Column out = buffers.give(&pool, 16);
      ASSERT_EQ(out.values->elements, 16u);
      ASSERT_EQ(out.values->dtype, DType::kI16);
      EXPECT_FALSE(out.keep);
      for (uint32_t row = 0; row < 3; ++row) {
        const uint32_t from = 64 * (10 * matrix + 2 * row + column / 8) + column % 8;
        EXPECT_EQ(out.values->bits(row, 0), from) << matrix << " " << column << " " << row;
        EXPECT_EQ(out.values->bits(row, 1), ~from & 0xffffu);
        EXPECT_TRUE(out.values->is_valid(row, 0));
      }
      for (uint32_t row = 3; row < 16; ++row) {
        EXPECT_EQ(out.values->bits(row, 1), 0u);
        EXPECT_FALSE(out.values->is_valid(row, 0)) << row;
      }
    }
    EXPECT_FALSE(buffers.gives());
  }
}

// A column that fills a flit has no poison; that of an element goes with it.
TEST(TransposeBuffers, PoisonGoesWithItsElement) {
  BlockPool pool(2);
  const TransposeConfig config = transpose_of(2, 1, 8, 8);
  TransposeBuffers buffers;
  buffers.begin(config);
  buffers.take(transpose_flit(pool, 0, DType::kI32, 8), {});
  BlockRef second = transpose_flit(pool, 1, DType::kI32, 8);
  second->track_validity();
  second->valid_row(5)[1] = 0;
  buffers.take(std::move(second), {});
  for (uint32_t column = 0; column < 8; ++column) {
    const TransposeBuffers::Column out = buffers.give(&pool, 8);
    for (uint32_t slice = 0; slice < 2; ++slice) {
      EXPECT_TRUE(out.values->is_valid(0, slice));
      EXPECT_EQ(out.values->is_valid(1, slice), column != 5 || slice != 1) << column;
    }
  }
}

// What a filter left out of a flit stays out; a flit without a mask has all.
TEST(TransposeBuffers, TheMaskOfAFilterIsTransposedToo) {
  BlockPool pool(2);
  const TransposeConfig config = transpose_of(2, 1, 8, 32);
  TransposeBuffers buffers;
  buffers.begin(config);
  BlockRef keep = pool.allocate(DType::kI8, 4);  // elements 4 to 7 are not told of: kept
  for (uint32_t e = 0; e < 4; ++e) {
    for (uint32_t s = 0; s < 2; ++s) keep->set_bits(e, s, e == 2 && s == 1 ? 0 : 1);
  }
  buffers.take(transpose_flit(pool, 0), std::move(keep));
  buffers.take(transpose_flit(pool, 1), {});
  for (uint32_t column = 0; column < 8; ++column) {
    const TransposeBuffers::Column out = buffers.give(&pool, 32);
    ASSERT_TRUE(out.keep);
    EXPECT_EQ(out.keep->elements, 2u);
    for (uint32_t slice = 0; slice < 2; ++slice) {
      EXPECT_EQ(out.keep->bits(0, slice), column == 2 && slice == 1 ? 0u : 1u) << column;
      EXPECT_EQ(out.keep->bits(1, slice), 1u);
    }
  }
}

}  // namespace
}  // namespace rngdsim
