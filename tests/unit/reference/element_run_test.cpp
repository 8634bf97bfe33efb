// SPDX-License-Identifier: Apache-2.0
#include "reference/element_run.h"

#include <gtest/gtest.h>

#include <cstring>

#include "numeric/convert.h"
#include "numeric/random.h"
#include "tests/support/reference_program.h"

namespace rngdsim {
namespace {

using testing::TestAxes;

// Every run against its elements, one convert_all() each.
void compare(DType dtype, const std::vector<Conversion>& conversions) {
  const TestAxes axes({{"I", 10}, {"K", 10}});
  LogicalTensor tensor(dtype, axes.ids({"I", "K"}), axes.table());
  for (uint64_t i = 0; i < tensor.volume(); ++i) {
    if (i % 17 != 5)
      tensor.set(i, static_cast<uint32_t>(hash64(1, i)) & ((uint64_t{1} << value_bits(dtype)) - 1));
  }
  const DType to = conversions.empty() ? dtype : conversions.back().to;
  const auto bytes = static_cast<size_t>(storage_bytes(to));
  RunConverter converter(conversions);
  for (uint64_t stride : {1, 3}) {
    Distances distances;
    for (uint64_t i = 0; i < 24; ++i) distances.of.push_back(2 + i * stride);
    distances.find_contiguous();
    EXPECT_EQ(distances.contiguous, stride == 1);
    for (uint64_t base : {0, 1, 20}) {
      for (size_t count : {0, 1, 3, 20}) {
        constexpr size_t kFirst = 4;
        std::vector<uint8_t> out(count * bytes + 1, 0xcd);
        bool defined = true;
        const bool told = converter.gather(tensor, base, distances, kFirst, count, out.data());
        for (size_t i = 0; i < count; ++i) {
          const uint64_t offset = base + distances.of[kFirst + i];
          defined = defined && tensor.defined(offset);
          uint32_t got = 0;
          std::memcpy(&got, out.data() + i * bytes, bytes);
          ASSERT_EQ(got, convert_all(conversions, tensor.bits(offset)))
              << name(dtype) << " to " << name(to) << " element " << i;
        }
        EXPECT_EQ(told, defined);
        EXPECT_EQ(out.back(), 0xcd);
      }
    }
  }
}

TEST(ElementRunTest, ARunIsConvertedAsItsElementsAre) {
  for (DType dtype : all_dtypes()) {
    compare(dtype, {});
    for (DType to : all_dtypes()) {
      if (can_convert(dtype, to)) compare(dtype, {{dtype, to, false}});
    }
  }
  compare(DType::kF32, {{DType::kF32, DType::kF32, true}});
  compare(DType::kF32, {{DType::kF32, DType::kBF16, true}});
  compare(DType::kF8E5M2, {{DType::kF8E5M2, DType::kBF16, false},
                           {DType::kBF16, DType::kF32, false},
                           {DType::kF32, DType::kBF16, true},
                           {DType::kBF16, DType::kF32, false}});
}

TEST(ElementRunTest, ASingleElementAndNoneAreContiguous) {
  Distances distances;
  distances.find_contiguous();
  EXPECT_TRUE(distances.contiguous);
  distances.of = {5};
  distances.find_contiguous();
  EXPECT_TRUE(distances.contiguous);
  distances.of = {5, 7};
  distances.find_contiguous();
  EXPECT_FALSE(distances.contiguous);
}

}  // namespace
}  // namespace rngdsim
