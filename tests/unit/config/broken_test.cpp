// SPDX-License-Identifier: Apache-2.0
// Broken files and exactly what must be said about them: broken/NAME.yaml is a kernel file, or a
// topology file where NAME begins with "topology", and broken/NAME.expected the rendered
// diagnostics.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "config/kernel.h"
#include "config/topology.h"
#include "support/diagnostic.h"

namespace rngdsim {
namespace {

std::filesystem::path directory() {
  return std::filesystem::path(RNGDSIM_SOURCE_DIR) / "tests/unit/config/broken";
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << "cannot read " << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory())) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class BrokenFile : public testing::TestWithParam<std::string> {};

TEST_P(BrokenFile, IsReportedExactly) {
  const std::string file = GetParam() + ".yaml";
  const std::string text = contents(directory() / file);
  Diagnostics diagnostics;
  if (GetParam().rfind("topology", 0) == 0) {
    parse_topology(text, file, diagnostics);
  } else {
    parse_kernel(text, file, diagnostics);
  }
  EXPECT_TRUE(diagnostics.has_errors());
  EXPECT_EQ(diagnostics.render(), contents(directory() / (GetParam() + ".expected")));
}

INSTANTIATE_TEST_SUITE_P(Config, BrokenFile, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

TEST(BrokenFiles, AreThere) { EXPECT_GE(names().size(), 35U); }

}  // namespace
}  // namespace rngdsim
