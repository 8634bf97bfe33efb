// SPDX-License-Identifier: Apache-2.0
// Positions against the definition: the cell of the concatenated dimensions.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "reference/positions.h"
#include "tests/support/reference_program.h"

namespace rngdsim {
namespace {

// A random tensor: digits of padded axes, replica broadcasts and padding dealt out to dimensions.
struct RandomPlaces {
  std::vector<std::pair<std::string, uint64_t>> axes;
  std::vector<std::string> dimensions;
};

RandomPlaces random_places() {
  RandomPlaces result;
  std::vector<std::string> terms;
  const char* const kinds[] = {"#", "#{0}"};
  // One kind for all axes: which kind wins where two axes overshoot at once is nowhere defined.
  const std::string kind = kinds[*rc::gen::inRange(0, 2)];
  for (const char* name : {"A", "B", "C"}) {
    const auto size = *rc::gen::inRange<uint64_t>(1, 14);
    result.axes.emplace_back(name, size);
    const auto minor = *rc::gen::inRange<uint64_t>(1, 5);
    const uint64_t padded = (size + minor - 1) / minor * minor;
    const std::string whole =
        padded == size ? name : std::string(name) + " " + kind + " " + std::to_string(padded);
    if (*rc::gen::arbitrary<bool>()) {
      terms.push_back(whole);
    } else {
      terms.push_back(whole + " / " + std::to_string(minor));
      terms.push_back(whole + " % " + std::to_string(minor));
    }
  }
  if (*rc::gen::arbitrary<bool>()) terms.push_back("2");
  if (*rc::gen::arbitrary<bool>()) {
    terms.push_back(std::string("1 ") + kinds[*rc::gen::inRange(0, 2)] + " 3");
  }
  result.dimensions.assign(4, "1");
  while (!terms.empty()) {
    const auto term = terms.begin() + *rc::gen::inRange<int>(0, static_cast<int>(terms.size()));
    const auto dimension = *rc::gen::inRange<size_t>(0, 4);
    result.dimensions[dimension] += ", " + *term;
    terms.erase(term);
  }
  return result;
}

RC_GTEST_PROP(PositionsProperty, EqualTheCellsOfTheConcatenation, ()) {
  const RandomPlaces random = random_places();
  const testing::TestAxes axes(random.axes);
  std::vector<Mapping> dimensions;
  for (const std::string& text : random.dimensions) dimensions.push_back(axes(text));
  const Mapping whole = Mapping::concat(dimensions);
  // A logical, C logical, B a replica; [A][C].
  const Positions positions(dimensions, axes.ids({"A", "C"}), axes.table());
  const auto c_size = static_cast<int64_t>(axes.table().size(axes.id("C")));
  std::vector<int64_t> row(dimensions.back().size());
  uint64_t at = 0;
  for (uint64_t i = 0; i < dimensions[0].size(); ++i) {
    for (uint64_t j = 0; j < dimensions[1].size(); ++j) {
      for (uint64_t k = 0; k < dimensions[2].size(); ++k) {
        Positions::Partial partial = positions.begin();
        positions.add(partial, 0, i);
        positions.add(partial, 1, j);
        positions.add(partial, 2, k);
        positions.last(partial, 0, row.size(), row.data());
        for (const int64_t offset : row) {
          const Cell cell = whole.cell(at++, axes.table());
          if (!cell.live) {
            RC_ASSERT(offset ==
                      (cell.pad == PadKind::kZero ? Positions::kZero : Positions::kPoison));
            continue;
          }
          int64_t expected = 0;
          for (const auto& [axis, value] : cell.index) {
            if (axis == axes.id("A")) expected += static_cast<int64_t>(value) * c_size;
            if (axis == axes.id("C")) expected += static_cast<int64_t>(value);
          }
          RC_ASSERT(offset == expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rngdsim
