// SPDX-License-Identifier: Apache-2.0
// The section `sweep:`: which points there are, and what a file is at each.
#include "config/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "config/kernel.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// TILE is a number, ORDER a mapping; DOUBLE is made of TILE.
constexpr char kSwept[] = R"(kernel: k
axes: {I: 64, J: "{TILE}"}
constants: {SAME: "{TILE}"}
sweep:
  parameters:
    TILE: [8, 16, 32]
    ORDER: ["I, J", "J, I"]
  constraints: ["{TILE} * {SAME} <= 256"]
tensors:
  a: {memory: dm, dtype: i8, slice: "1 # 256", element: "{ORDER}"}
program:
  - main: {from: a, stages: [{fetch: {time: "{ORDER}", packet: "1"}}]}
)";

KernelDecl parse(const SweepChoice& choice, Diagnostics& diagnostics) {
  return parse_kernel(kSwept, "k.yaml", diagnostics, choice);
}

KernelDecl parse(const SweepChoice& choice) {
  Diagnostics diagnostics;
  KernelDecl kernel = parse(choice, diagnostics);
  EXPECT_EQ(diagnostics.render(), "");
  return kernel;
}

std::string errors_of(const SweepChoice& choice) {
  Diagnostics diagnostics;
  parse(choice, diagnostics);
  return diagnostics.render();
}

std::string mapping_of(const KernelDecl& kernel, const std::string& name) {
  for (const AliasDecl& alias : kernel.mappings) {
    if (alias.name == name) return alias.text.value;
  }
  return "";
}

TEST(Sweep, WithoutAChoiceEachParameterHasItsFirstValue) {
  const KernelDecl kernel = parse({});
  EXPECT_THAT(kernel.point, ElementsAre(0, 0));
  ASSERT_EQ(kernel.axes.size(), 2U);
  EXPECT_EQ(kernel.axes[1].size, 8U);
  ASSERT_EQ(kernel.constants.size(), 2U);
  EXPECT_EQ(kernel.constants[0].name, "TILE");
  EXPECT_EQ(kernel.constants[0].value, 8U);
  EXPECT_EQ(kernel.constants[1].value, 8U);  // a constant may be made with a parameter
  EXPECT_EQ(mapping_of(kernel, "ORDER"), "I, J");
  EXPECT_FALSE(kernel.excluded);
}

TEST(Sweep, APointChoosesByIndex) {
  const KernelDecl kernel = parse({{1, 1}, {}});
  EXPECT_EQ(kernel.axes[1].size, 16U);
  EXPECT_EQ(mapping_of(kernel, "ORDER"), "J, I");
  // The place of a mapping is that of the value that was chosen.
  EXPECT_EQ(kernel.mappings[0].text.where.line, 7);
  EXPECT_EQ(kernel.mappings[0].text.where.column, 22);
}

TEST(Sweep, PointsAreCountedWithTheLastParameterFastest) {
  const SweepDecl sweep = parse({}).sweep;
  EXPECT_EQ(sweep.points(), 6U);
  EXPECT_THAT(sweep.point(0), ElementsAre(0, 0));
  EXPECT_THAT(sweep.point(1), ElementsAre(0, 1));
  EXPECT_THAT(sweep.point(2), ElementsAre(1, 0));
  EXPECT_THAT(sweep.point(5), ElementsAre(2, 1));
  EXPECT_EQ(sweep.name({2, 1}), "TILE=32,ORDER=2");
}

TEST(Sweep, AssignmentsNameAValueOrTheNumberOfAMapping) {
  EXPECT_THAT(parse({{}, {"TILE=16"}}).point, ElementsAre(1, 0));
  EXPECT_THAT(parse({{}, {"ORDER=J, I"}}).point, ElementsAre(0, 1));
  EXPECT_THAT(parse({{}, {"ORDER=2", "TILE=16"}}).point, ElementsAre(1, 1));
}

TEST(Sweep, AssignmentsThatNameNothingSayWhatThereIs) {
  EXPECT_EQ(errors_of({{}, {"TILE=9"}}),
            "k.yaml: error: --param TILE=9: '9' is no value of TILE\n"
            "k.yaml: hint: there are 8, 16, 32\n1 error\n");
  EXPECT_THAT(errors_of({{}, {"ORDER=3"}}), HasSubstr("there are 1 for \"I, J\", 2 for \"J, I\""));
  EXPECT_THAT(errors_of({{}, {"TILES=8"}}), HasSubstr("did you mean 'TILE'?"));
  EXPECT_THAT(errors_of({{}, {"TILE"}}), HasSubstr("must be NAME=VALUE"));
}

// 32 * 32 = 1,024 is more than 256, 16 * 16 is not.
TEST(Sweep, AConstraintThatDoesNotHoldIsSaidAndIsNoError) {
  const KernelDecl kernel = parse({{2, 0}, {}});
  ASSERT_TRUE(kernel.excluded);
  EXPECT_EQ(kernel.excluded->message,
            "the constraint does not hold with TILE=32,ORDER=1: 1024 <= 256");
  EXPECT_EQ(kernel.excluded->where.line, 8);
  EXPECT_EQ(kernel.excluded->where.column, 18);
  EXPECT_FALSE(parse({{1, 0}, {}}).excluded);
}

TEST(Sweep, AFileWithoutOneHasASinglePoint) {
  Diagnostics diagnostics;
  const KernelDecl kernel =
      parse_kernel("kernel: k\naxes: {}\nprogram: []\n", "k.yaml", diagnostics, {{}, {"A=1"}});
  EXPECT_TRUE(kernel.sweep.parameters.empty());
  EXPECT_EQ(kernel.sweep.points(), 1U);
  EXPECT_THAT(diagnostics.render(), HasSubstr("this file has no sweep"));
}

}  // namespace
}  // namespace rngdsim
