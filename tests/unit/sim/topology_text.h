// SPDX-License-Identifier: Apache-2.0
// The shipped topology as text that tests edit.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "config/topology.h"
#include "support/diagnostic.h"

namespace rngdsim::test {

inline std::string shipped_topology_text() {
  std::ifstream file(std::string(RNGDSIM_SOURCE_DIR) + "/configs/topologies/rngd.yaml");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty());
  return text.str();
}

// Each text is replaced once; an edit whose text is not there is a fault of the test.
using Edits = std::vector<std::pair<std::string, std::string>>;
inline std::string edited(std::string text, const Edits& edits) {
  for (const auto& [from, to] : edits) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << "not in the topology: " << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
  }
  return text;
}

inline TopologyDecl parsed(const std::string& text) {
  Diagnostics diagnostics;
  TopologyDecl topology = parse_topology(text, "t.yaml", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return topology;
}

inline TopologyDecl shipped_topology(const Edits& edits = {}) {
  return parsed(edited(shipped_topology_text(), edits));
}

// The place of the first occurrence of `anchor` ("line:column").
inline std::string place_of(const std::string& text, const std::string& anchor) {
  const size_t at = text.find(anchor);
  EXPECT_NE(at, std::string::npos) << "no anchor: " << anchor;
  size_t line = 1, column = 1;
  for (size_t i = 0; i < at && i < text.size(); ++i) {
    ++column;
    if (text[i] == '\n') {
      ++line;
      column = 1;
    }
  }
  return std::to_string(line) + ":" + std::to_string(column);
}

}  // namespace rngdsim::test
