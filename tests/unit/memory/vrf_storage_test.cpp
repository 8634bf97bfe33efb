// SPDX-License-Identifier: Apache-2.0
#include "memory/vrf_storage.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/diagnostic.h"
#include "tests/support/contraction.h"

namespace rngdsim {
namespace {

class VrfStorageTest : public testing::Test {
 protected:
  TensorId add(uint64_t address, uint64_t elements) {
    TensorVersion tensor;
    tensor.name = "v";
    tensor.memory = MemoryKind::kVrf;
    tensor.dtype = DType::kF32;
    tensor.element = Mapping::broadcast(elements);
    tensor.address = address;
    tensor.bytes = 4 * elements;
    program_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }
  // Element e of slice s is first + e + 100 s.
  BlockRef flit(uint32_t first) {
    return test::bits_block(pool_, DType::kF32, 8,
                            [&](uint32_t e, uint32_t s) { return first + e + 100 * s; });
  }
  // Bits of both slices and whether they are valid.
  std::pair<std::vector<uint32_t>, std::vector<uint8_t>> read(const VrfStorage& storage,
                                                              TensorId id, uint64_t element) {
    std::pair<std::vector<uint32_t>, std::vector<uint8_t>> result{{9, 9}, {9, 9}};
    storage.read(id, element, result.first.data(), result.second.data());
    return result;
  }

  Program program_;
  BlockPool pool_{2};
  std::vector<std::vector<uint8_t>> live_;
};

TEST_F(VrfStorageTest, AStoreFillsItsElements) {
  const TensorId id = add(0, 16);
  VrfStorage storage(program_, 2, live_);
  storage.store(id, 8, 8, &*flit(1));
  EXPECT_EQ(storage.peek(id, 8, 0), 1u);
  EXPECT_EQ(storage.peek(id, 15, 1), 108u);
  EXPECT_EQ(storage.peek(id, 7, 0), std::nullopt) << "never written";
  EXPECT_EQ(read(storage, id, 9),
            std::make_pair(std::vector<uint32_t>{2, 102}, std::vector<uint8_t>{1, 1}));
  EXPECT_EQ(read(storage, id, 0).second, (std::vector<uint8_t>{0, 0}));
}

TEST_F(VrfStorageTest, PoisonIsStored) {
  const TensorId id = add(0, 8);
  VrfStorage storage(program_, 2, live_);
  const BlockRef values = flit(1);
  test::poison(*values, 3, 1);
  storage.store(id, 0, 8, &*values);
  EXPECT_EQ(read(storage, id, 3).second, (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(storage.peek(id, 3, 1), std::nullopt);
  EXPECT_EQ(storage.peek(id, 3, 0), 4u);
}

// Bytes 0 to 63, 64 to 95, and 32 to 67, which overlaps both.
TEST_F(VrfStorageTest, ATensorTakesItsBytesOver) {
  const TensorId below = add(0, 16);
  const TensorId above = add(64, 8);
  const TensorId apart = add(96, 8);
  const TensorId next = add(32, 9);
  VrfStorage storage(program_, 2, live_);
  for (const TensorId old : {below, above, apart}) storage.store(old, 0, 8, &*flit(1));
  storage.store(next, 0, 8, &*flit(50));
  EXPECT_EQ(storage.peek(below, 0, 0), std::nullopt);
  EXPECT_EQ(storage.peek(above, 7, 0), std::nullopt);
  EXPECT_EQ(storage.peek(apart, 0, 0), 1u) << "begins where nothing of the new one lies";
  storage.store(next, 8, 1, &*flit(60));
  EXPECT_EQ(storage.peek(next, 0, 0), 50u) << "it goes on with what it has";
  EXPECT_EQ(storage.peek(next, 8, 0), 60u);
}

TEST_F(VrfStorageTest, SlicesWithoutAPartReadAsValidZeros) {
  live_ = {{1, 0}};
  const TensorId id = add(0, 8);
  VrfStorage storage(program_, 2, live_);
  EXPECT_EQ(read(storage, id, 0),
            std::make_pair(std::vector<uint32_t>{0, 0}, std::vector<uint8_t>{0, 1}));
  storage.store(id, 0, 8, &*flit(1));
  EXPECT_EQ(read(storage, id, 0),
            std::make_pair(std::vector<uint32_t>{1, 0}, std::vector<uint8_t>{1, 1}));
}

TEST_F(VrfStorageTest, BehindTheLastElementNothingWasWritten) {
  const TensorId id = add(0, 8);
  VrfStorage storage(program_, 2, live_);
  storage.store(id, 0, 8, &*flit(1));
  EXPECT_EQ(read(storage, id, 7).second, (std::vector<uint8_t>{1, 1}));
  EXPECT_EQ(read(storage, id, 8).second, (std::vector<uint8_t>{0, 0}));
}

TEST_F(VrfStorageTest, PokedElementsAreThere) {
  const TensorId id = add(0, 8);
  VrfStorage storage(program_, 2, live_);
  storage.poke(id, 5, 1, 77);
  EXPECT_EQ(storage.peek(id, 5, 1), 77u);
  EXPECT_EQ(storage.peek(id, 5, 0), std::nullopt);
}

TEST_F(VrfStorageTest, PlacesOutsideAreInternalErrors) {
  const TensorId id = add(0, 12);
  VrfStorage storage(program_, 2, live_);
  EXPECT_THROW(storage.store(id, 8, 8, &*flit(1)), InternalError);
  EXPECT_THROW(storage.store(id, 0, 8,
                             &*test::bits_block(pool_, DType::kBF16, 16,
                                                [](uint32_t, uint32_t) { return 0; })),
               InternalError);
}

TEST_F(VrfStorageTest, TimingOnlyHoldsNothing) {
  const TensorId id = add(0, 8);
  VrfStorage storage(program_, 0, live_);
  storage.store(id, 0, 8, nullptr);
  storage.poke(id, 0, 0, 1);
  storage.read(id, 0, nullptr, nullptr);
  EXPECT_EQ(storage.peek(id, 0, 0), std::nullopt);
}

}  // namespace
}  // namespace rngdsim
