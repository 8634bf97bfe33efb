// SPDX-License-Identifier: Apache-2.0
// What a segment needs of its index, and which rows that means.
#include "engine/dma_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "engine/dma_walker.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using Place = std::pair<uint64_t, uint64_t>;

DmaConfig::Loop index_loop(uint64_t size, uint64_t stride) { return {size, 0, 0, "", stride}; }

std::vector<Place> places(const DmaIndex& index) {
  std::vector<Place> all;
  for (const DmaIndex::Request& request : index.requests()) {
    all.emplace_back(request.address, request.bytes);
  }
  return all;
}

TEST(DmaIndexTest, NeighboursAreReadTogetherInWholeRequests) {
  DmaConfig::Segment segment;
  segment.index_base = 1000;
  // 65 elements of 4 bytes, in whatever order they are walked: 256 bytes and 4.
  segment.loops = {index_loop(5, 4), {2, 512, 512, "", 0}, index_loop(13, 20)};
  EXPECT_THAT(places(DmaIndex(segment, 256)), ElementsAre(Place{1000, 256}, Place{1256, 4}));
}

TEST(DmaIndexTest, ElementsThatLieApartAreReadOneByOne) {
  DmaConfig::Segment segment;
  segment.loops = {index_loop(3, 8)};
  EXPECT_THAT(places(DmaIndex(segment, 256)), ElementsAre(Place{0, 4}, Place{8, 4}, Place{16, 4}));
}

TEST(DmaIndexTest, OneElementForAllPackets) {
  DmaConfig::Segment segment;
  segment.index_base = 12;
  segment.loops = {{4, 256, 256, "", 0}};
  EXPECT_THAT(places(DmaIndex(segment, 256)), ElementsAre(Place{12, 4}));
}

TEST(DmaIndexTest, TheWalkerNamesTheElementOfEachPacket) {
  DmaConfig::Segment segment;
  segment.index_base = 100;
  segment.loops = {index_loop(2, 4), {2, 512, 512, "", 0}};
  segment.packet_bytes = 512;
  std::vector<uint64_t> walked;
  for (DmaWalker walker(segment, 256); !walker.done(); walker.next()) {
    walked.push_back(walker.index_address());
  }
  // Packets of two requests.
  EXPECT_THAT(walked, ElementsAre(100, 100, 100, 100, 104, 104, 104, 104));
  DmaIndex index(segment, 256);
  index.set(104, 7);
  EXPECT_EQ(index.displacement(100), 0u);
  EXPECT_EQ(index.displacement(104), 7u);
}

// The page: byte offsets are the number of a row times its bytes, e.g. 128 x bf16 = 256.
TEST(DmaIndexTest, ScaledValuesAreBytesOfWholeRows) {
  DmaConfig::Indexed indexed;
  indexed.scaled = true;
  indexed.rows = 8;
  indexed.row_bytes = 256;
  EXPECT_EQ(indexed.displacement(0), 0u);
  EXPECT_EQ(indexed.displacement(1792), 1792u);
  EXPECT_EQ(indexed.displacement(2048), std::nullopt);
  EXPECT_EQ(indexed.displacement(255), std::nullopt);
  EXPECT_EQ(indexed.displacement(-256), std::nullopt);
}

TEST(DmaIndexTest, UnscaledValuesAreNumbersOfRows) {
  DmaConfig::Indexed indexed;
  indexed.scaled = false;
  indexed.rows = 8;
  indexed.row_bytes = 256;
  EXPECT_EQ(indexed.displacement(7), 1792u);
  EXPECT_EQ(indexed.displacement(8), std::nullopt);
  EXPECT_EQ(indexed.displacement(-1), std::nullopt);
}

}  // namespace
}  // namespace rngdsim
