// SPDX-License-Identifier: Apache-2.0
// Kernels with one fault each, and exactly what must be said about them: broken/NAME.yaml and the
// rendered diagnostics broken/NAME.expected.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

std::filesystem::path directory() {
  return std::filesystem::path(RNGDSIM_SOURCE_DIR) / "tests/unit/lowering/broken";
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory())) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class BrokenKernel : public testing::TestWithParam<std::string> {};

TEST_P(BrokenKernel, IsReportedExactly) {
  const std::string file = GetParam() + ".yaml";
  Diagnostics config;
  const KernelDecl kernel =
      parse_kernel(file_contents((directory() / file).string()), file, config);
  ASSERT_FALSE(config.has_errors()) << "not a fault for lowering:\n" << config.render();
  Diagnostics diagnostics;
  lower(kernel, {}, diagnostics);
  EXPECT_TRUE(diagnostics.has_errors());
  EXPECT_EQ(diagnostics.render(),
            file_contents((directory() / (GetParam() + ".expected")).string()));
}

INSTANTIATE_TEST_SUITE_P(Lowering, BrokenKernel, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

TEST(BrokenKernels, AreThere) { EXPECT_GE(names().size(), 128U); }

}  // namespace
}  // namespace rngdsim
