// SPDX-License-Identifier: Apache-2.0
#include "memory/hbm_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace rngdsim {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(HbmStorage, WhatWasNeverWrittenIsPoison) {
  HbmStorage storage;
  std::vector<uint8_t> bytes(4, 9), valid(4, 9);
  storage.read(1 << 20, 4, bytes.data(), valid.data());
  EXPECT_THAT(bytes, Each(0));
  EXPECT_THAT(valid, Each(0));
  EXPECT_EQ(storage.pages(), 0u);
}

// Across pages of 16 KB.
TEST(HbmStorage, ReadsWhatWasWritten) {
  HbmStorage storage;
  const std::vector<uint8_t> bytes = {1, 2, 3, 4}, valid = {3, 0, 3, 1};
  storage.write((1 << 14) - 2, 4, bytes.data(), valid.data());
  std::vector<uint8_t> got(6), flags(6);
  storage.read((1 << 14) - 3, 6, got.data(), flags.data());
  EXPECT_THAT(got, ElementsAre(0, 1, 2, 3, 4, 0));
  EXPECT_THAT(flags, ElementsAre(0, 3, 0, 3, 1, 0));
  EXPECT_EQ(storage.pages(), 2u);
}

TEST(HbmStorage, ElementsLieLittleEndian) {
  HbmStorage storage;
  storage.poke(8 * 100, DType::kI32, 0x44332211);
  std::vector<uint8_t> bytes(4), valid(4);
  storage.read(100, 4, bytes.data(), valid.data());
  EXPECT_THAT(bytes, ElementsAre(0x11, 0x22, 0x33, 0x44));
  EXPECT_EQ(storage.peek(8 * 102, DType::kBF16).bits, 0x4433u);
  EXPECT_FALSE(storage.peek(8 * 103, DType::kBF16).valid) << "half of it was never written";
}

TEST(HbmStorage, HalvesOfAByteAreValidAlone) {
  HbmStorage storage;
  storage.poke(8 * 7 + 4, DType::kI4, 0xa);
  EXPECT_TRUE(storage.peek(8 * 7 + 4, DType::kI4).valid);
  EXPECT_EQ(storage.peek(8 * 7 + 4, DType::kI4).bits, 0xau);
  EXPECT_FALSE(storage.peek(8 * 7, DType::kI4).valid);
  EXPECT_FALSE(storage.peek(8 * 7, DType::kI8).valid);
  storage.poke(8 * 7, DType::kI4, 5);
  EXPECT_EQ(storage.peek(8 * 7, DType::kI8).bits, 0xa5u);
}

}  // namespace
}  // namespace rngdsim
