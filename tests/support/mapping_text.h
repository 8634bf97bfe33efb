// SPDX-License-Identifier: Apache-2.0
// Mappings from texts, for tests: a set of axes, and what one writes about them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "mapping/mapping.h"

namespace rngdsim {

class MappingTexts {
 public:
  MappingTexts(std::initializer_list<std::pair<std::string, uint64_t>> sizes) {
    for (const auto& [name, size] : sizes) axes.add(name, size);
  }

  // The syntax tree of a legal text; a failure of the test (and `1`) for any other.
  ExprPtr expr(const std::string& text) const {
    Diagnostics diagnostics;
    ExprPtr result = parse_mapping({text, {}}, axes, names, diagnostics);
    if (result) return result;
    ADD_FAILURE() << text << "\n" << diagnostics.render();
    return std::make_shared<const Expr>();
  }

  Mapping operator()(const std::string& text) const { return make_mapping(*expr(text), axes); }

  // "I=3 K=5", "the origin", "padding": by the definition, and by the terms where they agree.
  std::string cell(const std::string& text, uint64_t i) const {
    const ExprPtr tree = expr(text);
    const Cell cell = cell_by_definition(*tree, i, axes);
    const Mapping mapping = make_mapping(*tree, axes);
    if (mapping.cell(i, axes) != cell) {
      return "definition: " + to_string(cell, axes) +
             ", terms: " + to_string(mapping.cell(i, axes), axes);
    }
    return to_string(cell, axes);
  }

  AxisTable axes;
  MappingNames names;
};

}  // namespace rngdsim
