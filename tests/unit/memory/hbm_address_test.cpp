// SPDX-License-Identifier: Apache-2.0
#include "memory/hbm_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/diagnostic.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

HbmPlace place_of_bits(std::initializer_list<uint32_t> bits) {
  uint64_t address = 0;
  for (const uint32_t bit : bits) address |= uint64_t{1} << bit;
  return HbmAddress({}).decode(address);
}

// 2 stacks x 16 channels x 3 slices x 4 bank groups x 4 banks x 16K rows x 2 KB are 48 GB.
TEST(HbmAddress, Geometry) {
  const HbmAddress address({});
  EXPECT_EQ(address.stacks(), 2u);
  EXPECT_EQ(address.channels(), 16u);
  EXPECT_EQ(address.bank_groups(), 4u);
  EXPECT_EQ(address.banks(), 4u);
  EXPECT_EQ(address.line_bytes(), 256u);
  EXPECT_EQ(address.size(), uint64_t{48} << 30);
  EXPECT_EQ(address.size(), uint64_t{2} * 16 * 3 * 4 * 4 * 16384 * 2048);
}

// The table of bits: what each does alone.
TEST(HbmAddress, EveryBitHasItsPlace) {
  for (uint32_t bit = 0; bit < 8; ++bit) EXPECT_EQ(place_of_bits({bit}).byte, 1u << bit) << bit;
  for (uint32_t bit = 14; bit < 17; ++bit) {
    EXPECT_EQ(place_of_bits({bit}).byte, 256u << (bit - 14)) << bit;
  }
  EXPECT_EQ(place_of_bits({8}).stack, 1u);
  for (uint32_t bit = 9; bit < 13; ++bit) {
    EXPECT_EQ(place_of_bits({bit}).channel, 1u << (bit - 9)) << bit;
  }
  EXPECT_EQ(place_of_bits({13}).bank_group, 1u);
  EXPECT_EQ(place_of_bits({19}).bank_group, 2u);
  EXPECT_EQ(place_of_bits({17}).bank, 1u);
  EXPECT_EQ(place_of_bits({18}).bank, 2u);
  EXPECT_EQ(place_of_bits({20}).slice, 1u);
  for (uint32_t bit = 21; bit < 34; ++bit) {
    EXPECT_EQ(place_of_bits({bit}).row, 1u << (bit - 21)) << bit;
  }
  EXPECT_EQ(place_of_bits({34}).slice, 2u);
  EXPECT_EQ(place_of_bits({35}).row, 1u << 13);
}

// "The channel's first bit equals the XOR of bits 9, 13, 21 and 25", and 17 by the table.
TEST(HbmAddress, ChannelIsAnExclusiveOr) {
  for (uint32_t bit = 9; bit < 29; ++bit) {
    EXPECT_EQ(place_of_bits({bit}).channel, 1u << ((bit - 9) % 4)) << bit;
  }
  for (const uint32_t bit : {0u, 7u, 8u, 29u, 33u, 34u, 35u}) {
    EXPECT_EQ(place_of_bits({bit}).channel, 0u) << bit;
  }
  EXPECT_EQ(place_of_bits({9, 13}).channel, 0u);
  EXPECT_EQ(place_of_bits({9, 13, 17}).channel, 1u);
  EXPECT_EQ(place_of_bits({9, 13, 17, 21}).channel, 0u);
  EXPECT_EQ(place_of_bits({9, 13, 17, 21, 25}).channel, 1u);
  EXPECT_EQ(place_of_bits({12, 14, 27}).channel, 8u ^ 2u ^ 4u);
}

// With bit 34 the slice is 2 and bit 20 the top row bit; with bit 35 the slice stays bit 20.
TEST(HbmAddress, ThirdSlice) {
  EXPECT_EQ(place_of_bits({34}).row, 0u);
  EXPECT_EQ(place_of_bits({34, 20}).slice, 2u);
  EXPECT_EQ(place_of_bits({34, 20}).row, 1u << 13);
  EXPECT_EQ(place_of_bits({35, 20}).slice, 1u);
  EXPECT_EQ(place_of_bits({35, 20}).row, 1u << 13);
  EXPECT_EQ(place_of_bits({35}).slice, 0u);
  // The last byte of the 48 GB: bits 0 to 33 and 35. The channel is four bits of five ones each.
  const HbmAddress address({});
  const HbmPlace last = address.decode(address.size() - 1);
  EXPECT_EQ(last, (HbmPlace{1, 15, 1, 3, 3, 16383, 2047}));
}

TEST(HbmAddress, ShippedBitsAreSound) { EXPECT_THAT(HbmAddress::problems({}), IsEmpty()); }

// A machine of another shape: one stack, two channels, 64 B lines.
TEST(HbmAddress, OtherBits) {
  HbmAddress::Parameters small;
  small.byte = {0, 1, 2, 3, 4, 5, 7};
  small.stack = {};
  small.channel = {6};
  small.channel_xor = {{8}};
  small.bank_group = {8};
  small.bank = {9};
  small.row = {10};
  small.low_slice = 11;
  small.third_slice = 12;
  small.top_row = 13;
  ASSERT_THAT(HbmAddress::problems(small), IsEmpty());
  const HbmAddress address(small);
  EXPECT_EQ(address.line_bytes(), 64u);
  EXPECT_EQ(address.size(), 3u << 12);
  EXPECT_EQ(address.stacks(), 1u);
  for (uint64_t a = 0; a < address.size(); ++a) {
    const HbmPlace place = address.decode(a);
    EXPECT_EQ(address.encode(place), a);
    EXPECT_LT(place.slice, 3u);
    EXPECT_LT(place.row, 4u);
    EXPECT_LT(place.channel, 2u);
    EXPECT_LT(place.byte, 128u);
  }
}

TEST(HbmAddress, BrokenBitsAreAllNamed) {
  HbmAddress::Parameters broken;
  broken.stack = {9};  // bit 8 is left over, bit 9 taken twice
  broken.channel_xor = {{13, 14, 15}, {9, 17, 18, 60}};
  EXPECT_THAT(HbmAddress::problems(broken),
              ElementsAre("bit 8 belongs to no part", "bit 9 belongs to 2 parts, not to one",
                          "a field of 3 bits cannot change a channel of 4",
                          "bit 9 cannot change the channel", "bit 60 cannot change the channel"));
  EXPECT_THROW(HbmAddress{broken}, InternalError);

  HbmAddress::Parameters gap;
  std::swap(gap.third_slice, gap.row.back());
  EXPECT_THAT(HbmAddress::problems(gap),
              ElementsAre(HasSubstr("third slice's bit 33 must lie right below")));

  HbmAddress::Parameters high;
  high.row.push_back(48);
  high.row.push_back(36);
  EXPECT_THAT(HbmAddress::problems(high),
              ElementsAre("bit 48 is above the 48 bits an address may have",
                          "bit 36 lies above the top row bit 35"));
}

}  // namespace
}  // namespace rngdsim
