// SPDX-License-Identifier: Apache-2.0
#include "support/diagnostic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rngdsim {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(Diagnostics, KeepsAThousandErrorsAndCountsTheRest) {
  Diagnostics diagnostics;
  for (int i = 1; i <= 1000; ++i) diagnostics.error({"f", i, 1}, "wrong");
  EXPECT_FALSE(diagnostics.full());
  EXPECT_THAT(diagnostics.render(), EndsWith("f:1000:1: error: wrong\n1,000 errors\n"));
  for (int i = 1001; i <= 5000; ++i) diagnostics.error({"f", i, 1}, "wrong", "hint");
  diagnostics.warning({"f", 1, 1}, "careful");
  EXPECT_TRUE(diagnostics.full());
  EXPECT_EQ(diagnostics.error_count(), 5000u);
  EXPECT_EQ(diagnostics.warning_count(), 1u);
  EXPECT_EQ(diagnostics.all().size(), 1002u);
  EXPECT_THAT(diagnostics.render(),
              EndsWith("f:1001:1: error: more than 1,000 errors; the rest is not shown\n"
                       "more than 1,000 errors, 1 warning\n"));
}

TEST(Diagnostics, CutsLongMessages) {
  Diagnostics diagnostics;
  diagnostics.error({"f", 1, 1}, std::string(100'000, 'm'), std::string(100'000, 'h'));
  diagnostics.warning({"f", 1, 1}, std::string(100'000, 'w'));
  for (const Diagnostic& found : diagnostics.all()) {
    EXPECT_EQ(found.message.size(), 4003u);  // with "..."
  }
  EXPECT_EQ(diagnostics.all()[0].hint.size(), 4003u);
}

TEST(Diagnostics, AppendAddsBothCounts) {
  Diagnostics a;
  Diagnostics b;
  a.error({"f", 1, 1}, "one");
  b.error({"f", 2, 1}, "two");
  b.warning({"f", 3, 1}, "three");
  a.append(b);
  EXPECT_EQ(a.error_count(), 2u);
  EXPECT_EQ(a.warning_count(), 1u);
  EXPECT_THAT(a.render(), HasSubstr("2 errors, 1 warning\n"));
}

}  // namespace
}  // namespace rngdsim
