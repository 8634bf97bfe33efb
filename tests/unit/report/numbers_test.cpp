// SPDX-License-Identifier: Apache-2.0
#include "report/numbers.h"

#include <gtest/gtest.h>

#include <clocale>
#include <limits>

namespace rngdsim {
namespace {

TEST(Numbers, DecimalsAreGroupedByThousands) {
  EXPECT_EQ(decimal(0, 1), "0.0");
  EXPECT_EQ(decimal(999.94, 1), "999.9");
  EXPECT_EQ(decimal(999.96, 1), "1,000.0");
  EXPECT_EQ(decimal(1234567.891, 2), "1,234,567.89");
  EXPECT_EQ(decimal(65536, 0), "65,536");
  EXPECT_EQ(decimal(-1234.5, 1), "-1,234.5");
  EXPECT_EQ(decimal(-0.01, 1), "0.0");
  EXPECT_EQ(decimal(std::numeric_limits<double>::quiet_NaN(), 1), "-");
  EXPECT_EQ(decimal(std::numeric_limits<double>::infinity(), 1), "-");
}

TEST(Numbers, PercentagesKeepOneDecimal) {
  EXPECT_EQ(percent(0.5), "50.0 %");
  EXPECT_EQ(percent(1.0), "100.0 %");
  EXPECT_EQ(percent(0.0), "0.0 %");
  EXPECT_EQ(percent(0.0004), "< 0.1 %");  // not "0.0 %": it is not nothing
  EXPECT_EQ(percent(0.0006), "0.1 %");
  EXPECT_EQ(percent(uint64_t{1}, uint64_t{3}), "33.3 %");
  EXPECT_EQ(percent(uint64_t{1}, uint64_t{0}), "-");
}

TEST(Numbers, CountsAgreeWithTheirNoun) {
  EXPECT_EQ(count_of(1, "flit"), "1 flit");
  EXPECT_EQ(count_of(0, "flit"), "0 flits");
  EXPECT_EQ(count_of(2048, "read"), "2,048 reads");
  EXPECT_EQ(count_of(2, "access"), "2 accesses");
  EXPECT_EQ(count_of(2, "entry"), "2 entries");
  EXPECT_EQ(count_of(2, "array"), "2 arrays");
}

TEST(Numbers, DurationsChooseTheirUnit) {
  EXPECT_EQ(duration(0), "0 ns");
  EXPECT_EQ(duration(789), "789 ns");
  EXPECT_EQ(duration(394.5), "394 ns");
  EXPECT_EQ(duration(999), "999 ns");
  EXPECT_EQ(duration(999.6), "1.00 us");
  EXPECT_EQ(duration(1566), "1.57 us");
  EXPECT_EQ(duration(15660), "15.7 us");
  EXPECT_EQ(duration(156600), "157 us");
  EXPECT_EQ(duration(2.5e6), "2.50 ms");
  EXPECT_EQ(duration(3e9), "3.00 s");
  EXPECT_EQ(duration(7.2e12), "7,200 s");
}

TEST(Numbers, ClocksHaveADecimal) {
  EXPECT_EQ(gigahertz(1), "1.0 GHz");
  EXPECT_EQ(gigahertz(0.75), "0.75 GHz");
  EXPECT_EQ(gigahertz(2.1), "2.1 GHz");
}

// A locale with a decimal comma changes nothing. Where none is installed, the test proves less.
TEST(Numbers, IgnoreTheLocale) {
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8"}) {
    if (std::setlocale(LC_ALL, locale) != nullptr) break;
  }
  EXPECT_EQ(decimal(1234.5, 1), "1,234.5");
  EXPECT_EQ(percent(0.125), "12.5 %");
  std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace rngdsim
