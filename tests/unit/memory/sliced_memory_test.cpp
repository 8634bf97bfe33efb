// SPDX-License-Identifier: Apache-2.0
#include "memory/sliced_memory.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace rngdsim {
namespace {

constexpr uint32_t kSlices = 5;
constexpr uint64_t kBytes = 1024;
constexpr uint64_t kPage = 128;
const std::vector<uint8_t> kAllLive;

// What may lie in the data memory: i5 and i9 exist in streams and in the TRF only.
std::vector<DType> memory_dtypes() {
  std::vector<DType> result;
  for (DType dtype : all_dtypes()) {
    if (memory_bits(dtype) == value_bits(dtype)) result.push_back(dtype);
  }
  return result;
}

class SlicedMemoryTest : public testing::Test {
 protected:
  // Element e of slice s holds something that differs from its neighbours in every nibble.
  static uint32_t pattern(DType dtype, uint32_t element, uint32_t slice) {
    const uint32_t mixed = (element * 0x9e3779b9u) ^ (slice * 0x85ebca6bu) ^ 0x5a5a1234u;
    const int bits = value_bits(dtype);
    return bits == 32 ? mixed : (mixed >> 7) & ((1u << bits) - 1);
  }
  BlockRef block(DType dtype, uint32_t elements) {
    BlockRef values = pool.allocate(dtype, elements);
    for (uint32_t e = 0; e < elements; ++e) {
      for (uint32_t s = 0; s < kSlices; ++s) values->set_bits(e, s, pattern(dtype, e, s));
    }
    return values;
  }
  BlockRef read(uint64_t bit_address, DType dtype, uint32_t elements, bool replicated = false,
                const std::vector<uint8_t>& live = kAllLive) {
    BlockRef values = pool.allocate(dtype, elements);
    memory.read(bit_address, elements, replicated, *values, 0, live);
    return values;
  }

  BlockPool pool{kSlices};
  SlicedMemory memory{kBytes, kPage, kSlices};
};

TEST_F(SlicedMemoryTest, EveryTypeReadsBackWhatWasWritten) {
  for (DType dtype : memory_dtypes()) {
    // Aligned, at an odd byte, and across the end of a page (bytes 127 and 128).
    for (uint64_t byte : {0, 3, 121, 127}) {
      SCOPED_TRACE(std::string(name(dtype)) + " at byte " + std::to_string(byte));
      const BlockRef written = block(dtype, 7);
      memory.write(8 * byte, *written, 0, 7, kAllLive);
      const BlockRef values = read(8 * byte, dtype, 7);
      EXPECT_TRUE(values->all_valid);
      for (uint32_t e = 0; e < 7; ++e) {
        for (uint32_t s = 0; s < kSlices; ++s) {
          ASSERT_EQ(values->bits(e, s), pattern(dtype, e, s)) << "element " << e << " slice " << s;
          const uint64_t bits = 8 * byte + e * static_cast<uint64_t>(memory_bits(dtype));
          ASSERT_EQ(memory.peek(s, bits, dtype).bits, pattern(dtype, e, s));
          ASSERT_TRUE(memory.peek(s, bits, dtype).valid);
        }
      }
    }
  }
}

TEST_F(SlicedMemoryTest, LittleEndianAndLowNibbleFirst) {
  memory.poke(2, 8 * 10, DType::kI32, 0x87654321u);
  EXPECT_EQ(memory.peek(2, 8 * 10, DType::kI8).bits, 0x21u);
  EXPECT_EQ(memory.peek(2, 8 * 13, DType::kI8).bits, 0x87u);
  EXPECT_EQ(memory.peek(2, 8 * 11, DType::kI16).bits, 0x6543u);
  EXPECT_EQ(memory.peek(2, 8 * 10, DType::kI4).bits, 0x1u);
  EXPECT_EQ(memory.peek(2, 8 * 10 + 4, DType::kI4).bits, 0x2u);
}

TEST_F(SlicedMemoryTest, NibblesDoNotDisturbTheirNeighbours) {
  BlockRef values = pool.allocate(DType::kI4, 1);
  for (uint32_t s = 0; s < kSlices; ++s) {
    memory.poke(s, 8 * 5, DType::kI8, 0xff);
    values->set_bits(0, s, s);
  }
  memory.write(8 * 5 + 4, *values, 0, 1, kAllLive);
  for (uint32_t s = 0; s < kSlices; ++s) {
    EXPECT_EQ(memory.peek(s, 8 * 5, DType::kI8).bits, s << 4 | 0xfu);
  }
}

TEST_F(SlicedMemoryTest, ReplicatedReadsFillAllRowsWithOneElement) {
  const BlockRef written = block(DType::kBF16, 3);
  memory.write(0, *written, 0, 3, kAllLive);
  const BlockRef values = read(16, DType::kBF16, 4, true);
  for (uint32_t e = 0; e < 4; ++e) {
    for (uint32_t s = 0; s < kSlices; ++s) {
      EXPECT_EQ(values->bits(e, s), pattern(DType::kBF16, 1, s));
    }
  }
  EXPECT_TRUE(values->all_valid);
  const BlockRef poison = read(8 * 100, DType::kBF16, 4, true);
  EXPECT_FALSE(poison->is_valid(3, 0));
}

TEST_F(SlicedMemoryTest, RowsOfALargerBlock) {
  const BlockRef written = block(DType::kI8, 8);
  memory.write(0, *written, 4, 4, kAllLive);  // rows 4 to 7
  BlockRef values = pool.allocate(DType::kI8, 8);
  memory.read(0, 4, false, *values, 2, kAllLive);  // into rows 2 to 5
  EXPECT_EQ(values->bits(2, 1), pattern(DType::kI8, 4, 1));
  EXPECT_EQ(values->bits(5, 1), pattern(DType::kI8, 7, 1));
}

// Rows 2 and 3 of the block land in bytes 10 and 11; slice s keeps row e where e + s is odd. Slice
// 4 is not live.
TEST_F(SlicedMemoryTest, OnlyKeptElementsAreWritten) {
  for (uint32_t s = 0; s < kSlices; ++s) memory.poke(s, 8 * 10, DType::kI8, 0xaa);
  const BlockRef written = block(DType::kI8, 5);
  written->track_validity();
  written->valid_row(2)[3] = 0;
  const BlockRef keep = pool.allocate(DType::kI8, 4);
  for (uint32_t e = 0; e < 4; ++e) {
    for (uint32_t s = 0; s < kSlices; ++s) keep->set_bits(e, s, (e + s) % 2);
  }
  memory.write(8 * 10, *written, 2, 3, {1, 1, 1, 1, 0}, &*keep);
  for (const uint32_t s : {0, 2, 4}) {
    EXPECT_EQ(memory.peek(s, 8 * 10, DType::kI8).bits, 0xaau) << s;
    EXPECT_EQ(memory.peek(s, 8 * 11, DType::kI8).valid, s != 4) << s;
  }
  EXPECT_EQ(memory.peek(1, 8 * 10, DType::kI8).bits, pattern(DType::kI8, 2, 1));
  EXPECT_FALSE(memory.peek(3, 8 * 10, DType::kI8).valid) << "poison that is kept is written";
  EXPECT_EQ(memory.peek(2, 8 * 11, DType::kI8).bits, pattern(DType::kI8, 3, 2));
  EXPECT_FALSE(memory.peek(1, 8 * 11, DType::kI8).valid) << "left out, and never written";
  // Row 4 is none of the filter's.
  for (uint32_t s = 0; s < 4; ++s) {
    EXPECT_EQ(memory.peek(s, 8 * 12, DType::kI8).bits, pattern(DType::kI8, 4, s));
  }
}

// i4: a byte's nibbles are kept or left out each.
TEST_F(SlicedMemoryTest, ALeftOutNibbleStaysBesideAKeptOne) {
  const BlockRef written = pool.allocate(DType::kI4, 2);
  const BlockRef keep = pool.allocate(DType::kI8, 2);
  for (uint32_t s = 0; s < kSlices; ++s) {
    memory.poke(s, 8 * 5, DType::kI8, 0xff);
    for (uint32_t e = 0; e < 2; ++e) written->set_bits(e, s, 3);
    keep->set_bits(0, s, 0);
    keep->set_bits(1, s, 1);
  }
  memory.write(8 * 5, *written, 0, 2, kAllLive, &*keep);
  EXPECT_EQ(memory.peek(1, 8 * 5, DType::kI8).bits, 0x3fu);
}

TEST_F(SlicedMemoryTest, WhatWasNeverWrittenIsPoison) {
  EXPECT_EQ(memory.pages(), 0u);
  const BlockRef values = read(0, DType::kI8, 2);
  ASSERT_FALSE(values->all_valid);
  EXPECT_FALSE(values->is_valid(0, 0));
  EXPECT_FALSE(values->is_valid(1, kSlices - 1));
  EXPECT_FALSE(memory.peek(0, 0, DType::kI8).valid);
  EXPECT_EQ(memory.pages(), 0u);  // reading makes no page

  memory.poke(0, 0, DType::kI8, 1);
  EXPECT_EQ(memory.pages(), 1u);
}

TEST_F(SlicedMemoryTest, OneInvalidPartMakesTheElementPoison) {
  const BlockRef byte = block(DType::kI8, 1);
  memory.write(8 * 1, *byte, 0, 1, kAllLive);  // byte 1 of the i32 at 0
  EXPECT_FALSE(read(0, DType::kI32, 1)->is_valid(0, 0));
  EXPECT_FALSE(read(0, DType::kI16, 1)->is_valid(0, 0));
  EXPECT_TRUE(read(8, DType::kI8, 1)->all_valid);

  const BlockRef nibble = block(DType::kI4, 1);
  memory.write(8 * 20, *nibble, 0, 1, kAllLive);
  const BlockRef pair = read(8 * 20, DType::kI4, 2);
  EXPECT_TRUE(pair->is_valid(0, 3));
  EXPECT_FALSE(pair->is_valid(1, 3));
  EXPECT_FALSE(read(8 * 20, DType::kI8, 1)->is_valid(0, 3));
}

TEST_F(SlicedMemoryTest, OnlyTheSliceThatLacksAWriteIsPoison) {
  for (uint32_t s = 0; s < kSlices; ++s) {
    if (s != 3) memory.poke(s, 0, DType::kI16, s);
  }
  const BlockRef values = read(0, DType::kI16, 1);
  ASSERT_FALSE(values->all_valid);
  for (uint32_t s = 0; s < kSlices; ++s) {
    EXPECT_EQ(values->is_valid(0, s), s != 3);
    EXPECT_EQ(memory.peek(s, 0, DType::kI16).valid, s != 3);
  }
}

TEST_F(SlicedMemoryTest, DeadSlicesAreNotWrittenAndReadAsValidZeros) {
  const std::vector<uint8_t> live = {1, 0, 1, 1, 0};
  memory.poke(1, 0, DType::kI8, 0x77);
  const BlockRef written = block(DType::kI8, 1);
  memory.write(0, *written, 0, 1, live);
  EXPECT_EQ(memory.peek(1, 0, DType::kI8).bits, 0x77u);
  EXPECT_FALSE(memory.peek(4, 0, DType::kI8).valid);
  EXPECT_EQ(memory.peek(2, 0, DType::kI8).bits, pattern(DType::kI8, 0, 2));

  const BlockRef values = read(0, DType::kI8, 1, false, live);
  EXPECT_TRUE(values->all_valid);  // slice 4 is poison, but dead
  EXPECT_EQ(values->bits(0, 1), 0u);
  EXPECT_EQ(values->bits(0, 4), 0u);
  EXPECT_EQ(values->bits(0, 0), pattern(DType::kI8, 0, 0));

  const BlockRef wider = read(0, DType::kI8, 1);
  for (uint32_t s = 0; s < kSlices; ++s) EXPECT_EQ(wider->is_valid(0, s), s != 4);
}

TEST_F(SlicedMemoryTest, PoisonIsWrittenToo) {
  memory.write(0, *block(DType::kI8, 2), 0, 2, kAllLive);
  BlockRef values = block(DType::kI8, 2);
  values->track_validity();
  values->valid_row(1)[2] = 0;
  memory.write(0, *values, 0, 2, kAllLive);
  const BlockRef seen = read(0, DType::kI8, 2);
  ASSERT_FALSE(seen->all_valid);
  for (uint32_t s = 0; s < kSlices; ++s) {
    EXPECT_TRUE(seen->is_valid(0, s));
    EXPECT_EQ(seen->is_valid(1, s), s != 2);
  }
  memory.write(0, *block(DType::kI8, 2), 0, 2, kAllLive);
  EXPECT_TRUE(read(0, DType::kI8, 2)->all_valid);
}

TEST_F(SlicedMemoryTest, StaleFlagsOfAReusedBlockDoNotCount) {
  BlockRef values = pool.allocate(DType::kI8, 2);
  values->track_validity();
  values->valid_row(0)[0] = 0;
  memory.write(0, *block(DType::kI8, 1), 0, 1, kAllLive);
  memory.read(0, 1, false, *values, 0, kAllLive);
  EXPECT_TRUE(values->is_valid(0, 0));
}

TEST_F(SlicedMemoryTest, Contains) {
  EXPECT_TRUE(memory.contains(8 * (kBytes - 4), DType::kI32, 1));
  EXPECT_FALSE(memory.contains(8 * (kBytes - 3), DType::kI32, 1));
  EXPECT_TRUE(memory.contains(8 * kBytes - 4, DType::kI4, 1));
  EXPECT_FALSE(memory.contains(8 * kBytes - 4, DType::kI4, 2));
  EXPECT_FALSE(memory.contains(~uint64_t{0} - 7, DType::kI8, 1));  // a negative address
}

TEST_F(SlicedMemoryTest, ARunIsReadAsItsElementsAre) {
  std::mt19937 random(11);
  auto pick = [&random](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  // Two of the eight pages stay without a write, the rest is half poison: whole stretches and
  // single nibbles.
  for (int i = 0; i < 3000; ++i) {
    const uint64_t byte = pick(kBytes - 4);
    if (byte / kPage == 2 || byte / kPage == 5 || (byte + 3) / kPage == 2) continue;
    if ((byte + 3) / kPage == 5 || byte % 64 < 16) continue;
    const DType dtype = memory_dtypes()[pick(static_cast<uint32_t>(memory_dtypes().size()))];
    memory.poke(pick(kSlices), 8 * byte + (memory_bits(dtype) == 4 ? 4 * pick(2) : 0), dtype,
                random(), pick(4) != 0);
  }
  memory.write(8 * 20, *block(DType::kI32, 20), 0, 20, kAllLive);  // valid throughout
  EXPECT_EQ(memory.pages(), kBytes / kPage - 2);
  for (DType dtype : memory_dtypes()) {
    const auto width = static_cast<uint64_t>(memory_bits(dtype));
    for (uint32_t s = 0; s < kSlices; ++s) {
      for (uint64_t first = 0; first < 48; first += width == 4 ? 4 : 8) {
        const uint64_t count = (8 * kBytes - first) / width;  // to the end, over all pages
        std::vector<uint32_t> bits(count + 1, 0xcdcdcdcd);
        std::vector<uint8_t> valid(count + 1, 0xcd);
        memory.peek_run(s, first, dtype, count, bits.data(), valid.data());
        for (uint64_t i = 0; i < count; ++i) {
          const auto element = memory.peek(s, first + i * width, dtype);
          ASSERT_EQ(valid[i], element.valid ? 1 : 0) << name(dtype) << " element " << i;
          ASSERT_EQ(bits[i], element.bits) << name(dtype) << " element " << i;
        }
        EXPECT_EQ(bits[count], 0xcdcdcdcd);
        EXPECT_EQ(valid[count], 0xcd);
      }
    }
  }
  EXPECT_EQ(memory.pages(), kBytes / kPage - 2);  // reading makes no page
}

// Against a model with one flag and value for each nibble of each slice.
TEST_F(SlicedMemoryTest, RandomAccessesAgreeWithAModel) {
  std::mt19937 random(7);
  auto pick = [&random](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  struct Nibble {
    uint8_t value = 0;
    bool valid = false;
  };
  std::vector<std::vector<Nibble>> model(kSlices, std::vector<Nibble>(2 * kBytes));
  const std::vector<DType> dtypes = memory_dtypes();
  const std::vector<std::vector<uint8_t>> lives = {
      {}, {1, 1, 1, 1, 1}, {1, 1, 0, 0, 0}, {0, 0, 1, 1, 1}, {1, 0, 1, 0, 1}};

  for (int round = 0; round < 4000; ++round) {
    const DType dtype = dtypes[pick(static_cast<uint32_t>(dtypes.size()))];
    const auto nibbles = static_cast<uint32_t>(memory_bits(dtype)) / 4;
    const uint32_t elements = 1 + pick(8);
    // A small window, so that accesses overlap; it includes the end of a page.
    const uint64_t nibble = 200 + (nibbles == 1 ? pick(100) : 2 * pick(50));
    const std::vector<uint8_t>& live = lives[pick(static_cast<uint32_t>(lives.size()))];
    auto is_live = [&live](uint32_t s) { return live.empty() || live[s] != 0; };

    if (pick(2) == 0) {
      BlockRef values = pool.allocate(dtype, elements);
      if (pick(3) == 0) values->track_validity();
      for (uint32_t e = 0; e < elements; ++e) {
        for (uint32_t s = 0; s < kSlices; ++s) {
          const uint32_t bits =
              static_cast<uint32_t>(random()) & (nibbles == 8 ? ~0u : (1u << 4 * nibbles) - 1);
          values->set_bits(e, s, bits);
          if (!values->all_valid) values->valid_row(e)[s] = pick(4) != 0;
          if (!is_live(s)) continue;
          for (uint32_t n = 0; n < nibbles; ++n) {
            model[s][nibble + e * nibbles + n] = {static_cast<uint8_t>(bits >> 4 * n & 0xf),
                                                  values->is_valid(e, s)};
          }
        }
      }
      memory.write(4 * nibble, *values, 0, elements, live);
      continue;
    }
    const bool replicated = pick(4) == 0;
    const BlockRef values = read(4 * nibble, dtype, elements, replicated, live);
    bool any_poison = false;
    for (uint32_t e = 0; e < elements; ++e) {
      for (uint32_t s = 0; s < kSlices; ++s) {
        uint32_t bits = 0;
        bool valid = true;
        for (uint32_t n = 0; n < nibbles && is_live(s); ++n) {
          const Nibble& from = model[s][nibble + (replicated ? 0 : e * nibbles) + n];
          bits |= uint32_t{from.value} << 4 * n;
          valid = valid && from.valid;
        }
        any_poison = any_poison || !valid;
        ASSERT_EQ(values->is_valid(e, s), valid) << "round " << round;
        if (valid) {
          ASSERT_EQ(values->bits(e, s), bits) << "round " << round;
        }
      }
    }
    ASSERT_EQ(values->all_valid, !any_poison) << "round " << round;
  }
}

TEST(SliceSets, TheSameSetHasOneNumber) {
  SliceSets sets(4);
  const std::vector<uint8_t> a = {1, 1, 0, 0}, b = {0, 0, 1, 1}, a_again = {7, 1, 0, 0};
  const SliceSets::Id set_a = sets.find(a);
  EXPECT_EQ(sets.find(a_again), set_a);
  EXPECT_EQ(sets.find({}), SliceSets::kAll);
  EXPECT_EQ(sets.find({1, 1, 1, 1}), SliceSets::kAll);
  EXPECT_EQ(sets.find({0, 0, 0, 0}), SliceSets::kNone);
  EXPECT_EQ(sets.unite(set_a, sets.find(b)), SliceSets::kAll);
  EXPECT_EQ(sets.subtract(SliceSets::kAll, set_a), sets.find(b));
  EXPECT_EQ(sets.with(sets.with(SliceSets::kNone, 0), 1), set_a);
  EXPECT_EQ(sets.without(sets.without(SliceSets::kAll, 2), 3), set_a);
  EXPECT_TRUE(sets.covers(SliceSets::kAll, set_a));
  EXPECT_FALSE(sets.covers(set_a, sets.find(b)));
  EXPECT_FALSE(sets.covers(set_a, SliceSets::kAll));
}

// A vector that changes its content at one address is another set.
TEST(SliceSets, ContentCountsNotTheAddress) {
  SliceSets sets(3);
  std::vector<uint8_t> flags = {1, 0, 0};
  const SliceSets::Id first = sets.find(flags);
  flags[2] = 1;
  EXPECT_NE(sets.find(flags), first);
}

TEST(SliceSets, AMemoryInUseKnowsFewSets) {
  SliceSets sets(8);
  const std::vector<uint8_t> live = {1, 1, 1, 1, 0, 0, 0, 0};
  for (int i = 0; i < 1000; ++i) sets.unite(SliceSets::kNone, sets.find(live));
  EXPECT_EQ(sets.count(), 3u);  // none, all, live
}

// ---- Bytes of one slice (DMA) -----------------------------------------------------------------

TEST(SlicedMemoryBytes, OneSliceIsWrittenAndNoOther) {
  SlicedMemory memory(1024, 128, 3);
  const std::vector<uint8_t> bytes = {10, 11, 12, 13}, valid = {3, 3, 0, 1};
  memory.write_bytes(1, 126, 4, bytes.data(), valid.data());  // across a page
  std::vector<uint8_t> got(4), flags(4);
  memory.read_bytes(1, 126, 4, got.data(), flags.data());
  EXPECT_THAT(got, testing::ElementsAre(10, 11, 0, 13));
  EXPECT_THAT(flags, testing::ElementsAre(3, 3, 0, 1));
  memory.read_bytes(0, 126, 4, got.data(), flags.data());
  EXPECT_THAT(flags, testing::Each(0));
}

// The other ways to look see the same, in whatever order.
TEST(SlicedMemoryBytes, BytesAndElementsAreOneMemory) {
  SlicedMemory memory(1024, 128, 3);
  memory.poke(0, 8 * 5, DType::kI8, 50);
  const uint8_t byte = 77, flag = 3;
  memory.write_bytes(2, 5, 1, &byte, &flag);
  EXPECT_EQ(memory.peek(0, 8 * 5, DType::kI8).bits, 50u);
  EXPECT_FALSE(memory.peek(1, 8 * 5, DType::kI8).valid);
  EXPECT_EQ(memory.peek(2, 8 * 5, DType::kI8).bits, 77u);
  memory.poke(1, 8 * 5, DType::kI8, 60);
  uint8_t got = 0, valid = 0;
  memory.read_bytes(1, 5, 1, &got, &valid);
  EXPECT_EQ(got, 60);
  EXPECT_EQ(valid, 3);
  memory.read_bytes(2, 5, 1, &got, &valid);
  EXPECT_EQ(got, 77);
}

// Poison overwrites: what a DMA moves may never have been written.
TEST(SlicedMemoryBytes, PoisonIsWrittenToo) {
  SlicedMemory memory(1024, 128, 2);
  memory.poke(0, 0, DType::kI8, 1);
  memory.poke(1, 0, DType::kI8, 1);
  const uint8_t byte = 0, flag = 0;
  memory.write_bytes(1, 0, 1, &byte, &flag);
  EXPECT_TRUE(memory.peek(0, 0, DType::kI8).valid);
  EXPECT_FALSE(memory.peek(1, 0, DType::kI8).valid);
}

TEST(SlicedMemoryBytes, AllSlicesReadWhatSingleOnesWrote) {
  SlicedMemory memory(1024, 128, 3);
  for (uint32_t s = 0; s < 3; ++s) {
    const std::vector<uint8_t> bytes = {static_cast<uint8_t>(s), 1}, valid = {3, 3};
    memory.write_bytes(s, 0, 2, bytes.data(), valid.data());
  }
  BlockPool pool(3);
  const BlockRef block = pool.allocate(DType::kI16, 1);
  memory.read(0, 1, false, *block, 0, {});
  EXPECT_TRUE(block->all_valid);
  for (uint32_t s = 0; s < 3; ++s) EXPECT_EQ(block->bits(0, s), 0x100u + s);
}

}  // namespace
}  // namespace rngdsim
