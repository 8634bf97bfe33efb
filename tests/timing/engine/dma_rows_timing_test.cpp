// SPDX-License-Identifier: Apache-2.0
// A DMA by an index: the indices of a segment come first, those that were asked for first in cycle
// 500, one request a cycle; the first row is asked for `dma_index_cycles` after the last of them.
// From there the ways are those of dma_engine_timing_test.cpp: data of DM are back 3 cycles after
// the request, of HBM 108, or 109 where the next cycle is one below a multiple of 4; a write into
// DM is answered after 3 cycles, one into HBM after 2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "engine/dma_engine.h"
#include "tests/support/dma_fixture.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;

class DmaRowsTest : public test::DmaTest {
 protected:
  static constexpr TensorId kRows = 4;
  static constexpr uint64_t kIndexAt = 256;  // the other stack: no row that data open

  void index_lies_in(MemoryKind memory) {
    TensorVersion index;
    index.name = "rows";
    index.memory = memory;
    index.address = kIndexAt;
    program_.tensors.push_back(index);
  }
  // Rows of 256 bytes; every index says `value`.
  Cycle run_rows(TensorId from, TensorId to, std::vector<DmaConfig::Segment> segments,
                 std::optional<int64_t> value = 0) {
    const CommandId id = add_dma(from, to, std::move(segments));
    DmaConfig::Indexed indexed;
    indexed.index = kRows;
    indexed.scatter = program_.tensors[to].memory == MemoryKind::kHbm;
    indexed.rows = 16;
    indexed.row_bytes = 256;
    program_.commands[id].dma->indexed = indexed;
    build();
    engines_[0]->set_index_values([value](TensorId, uint64_t) { return value; });
    engines_[0]->start(id, 0);
    run();
    return monitor_.finished.empty() ? 0 : monitor_.finished[0].second;
  }
  static DmaConfig::Segment rows(std::vector<Loop> loops, uint64_t read = 0, uint64_t write = 0) {
    DmaConfig::Segment result = segment(read, write, std::move(loops));
    result.index_base = kIndexAt;
    return result;
  }
  const DmaEngine::Activity& activity() const { return engines_[0]->activities()[0]; }
};

// The row is asked for in 500, its data are back in 608, the write that leaves then is answered in
// 611.
TEST_F(DmaRowsTest, AGatherReadsItsIndexFirst) {
  index_lies_in(MemoryKind::kHbm);
  EXPECT_EQ(run_rows(kHbm, kDm, {rows({})}), 611u);
  EXPECT_EQ(activity().first_data, 608u);
  EXPECT_EQ(activity().index_requests, 1u);
  EXPECT_EQ(activity().index_bytes, 4u);
  EXPECT_EQ(activity().index_cycles, 0u);
  EXPECT_EQ(activity().requests, 1u);
}

// An index in DM is asked for in 497 instead of 392, and there in 500 as well.
TEST_F(DmaRowsTest, AnIndexInDmIsThereAtTheEndOfTheStartUpToo) {
  index_lies_in(MemoryKind::kDm);
  EXPECT_EQ(run_rows(kHbm, kDm, {rows({})}), 611u);
  EXPECT_EQ(activity().first_data, 608u);
}

// A request in 504 is in the memory in 505, which takes 108 cycles in all: 612.
TEST_F(DmaRowsTest, TheCyclesBesideTheReadsAreAParameter) {
  program_.limits.dma_index_cycles = 4;
  index_lies_in(MemoryKind::kHbm);
  run_rows(kHbm, kDm, {rows({})});
  EXPECT_EQ(activity().first_data, 612u);
  EXPECT_EQ(activity().index_cycles, 4u);
}

// The source is asked in 500: data in 503, the write answered in 505.
TEST_F(DmaRowsTest, AScatterReadsItsIndexFirst) {
  index_lies_in(MemoryKind::kHbm);
  EXPECT_EQ(run_rows(kDm, kHbm, {rows({})}, 3 * 256), 505u);
  EXPECT_EQ(activity().first_data, 503u);
}

// 64 elements are a request of 256 bytes, 65 are two, whose data come in 500 and 501.
TEST_F(DmaRowsTest, AllIndicesOfASegmentComeBeforeItsFirstRow) {
  index_lies_in(MemoryKind::kDm);
  run_rows(kDm, kHbm, {rows({{64, kSlice, 0, "", 4}})});
  EXPECT_EQ(activity().index_requests, 1u);
  EXPECT_EQ(activity().first_data, 503u);
}
TEST_F(DmaRowsTest, ARequestMoreIsACycleMore) {
  index_lies_in(MemoryKind::kHbm);
  run_rows(kDm, kHbm, {rows({{65, kSlice, 0, "", 4}})});
  EXPECT_EQ(activity().index_requests, 2u);
  EXPECT_EQ(activity().index_bytes, 260u);
  EXPECT_EQ(activity().index_cycles, 1u);
  EXPECT_EQ(activity().first_data, 504u);
}

// The first ends in 505, so that the second begins in 506 and ends in 506 + 505.
TEST_F(DmaRowsTest, EachSegmentReadsItsOwn) {
  index_lies_in(MemoryKind::kDm);
  EXPECT_EQ(run_rows(kDm, kHbm, {rows({}), rows({}, kSlice, 0)}), 1011u);
  EXPECT_EQ(activity().index_requests, 2u);
}

TEST_F(DmaRowsTest, ARowThatDoesNotExistEndsTheRun) {
  index_lies_in(MemoryKind::kHbm);
  EXPECT_EQ(run_rows(kHbm, kDm, {rows({{4, 0, 0, "", 4}})}, 4096), 0u);
  ASSERT_FALSE(monitor_.failures.empty());
  EXPECT_EQ(monitor_.failures[0].kind, "out of range");
  EXPECT_EQ(monitor_.failures[0].cycle, 500u);
  EXPECT_EQ(monitor_.failures[0].message,
            "index 'rows' (element 0) is 4096; '' has 16 rows, bytes 0 to 3840");
}

TEST_F(DmaRowsTest, AnOffsetInsideOfARowEndsTheRun) {
  index_lies_in(MemoryKind::kDm);
  run_rows(kHbm, kDm, {rows({})}, 128);
  ASSERT_FALSE(monitor_.failures.empty());
  EXPECT_EQ(monitor_.failures[0].message,
            "index 'rows' (slice 0, element 0) is 128, inside of a row: rows of '' are 256 bytes "
            "apart");
}

TEST_F(DmaRowsTest, AnIndexThatWasNeverWrittenIsPoison) {
  index_lies_in(MemoryKind::kHbm);
  run_rows(kHbm, kDm, {rows({})}, std::nullopt);
  ASSERT_FALSE(monitor_.failures.empty());
  EXPECT_EQ(monitor_.failures[0].kind, "poison");
  EXPECT_THAT(monitor_.failures[0].message, HasSubstr("was never written"));
}

}  // namespace
}  // namespace rngdsim
