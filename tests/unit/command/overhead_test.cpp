// SPDX-License-Identifier: Apache-2.0
// The classes of commands that have an overhead of their own, and the unit that paces each.
#include <gtest/gtest.h>

#include "command/program.h"

namespace rngdsim {
namespace {

MachineLimits limits_of_classes() {
  MachineLimits limits;
  limits.command_overhead = 263;
  limits.overheads = {1, 2, 3, 4, 5, 6, 7, 8};
  return limits;
}

struct Made {
  Command command;
  explicit Made(Context context) { command.context = context; }
  Made& contraction() {
    command.outer.emplace();
    return *this;
  }
  Made& exchange() {
    command.switching.emplace();
    return *this;
  }
  Made& vector(bool chain, bool inter, bool inter_first = false) {
    VectorConfig& config = command.vector.emplace();
    config.chain = chain;
    config.inter_first = inter_first;
    if (inter) config.inter.emplace();
    return *this;
  }
  Made& to_vrf() {
    command.to_vrf.emplace();
    return *this;
  }
};
Made main_command() { return Made(Context::kMain); }
Made sub_command() { return Made(Context::kSub); }

TEST(OverheadOf, EachClassHasItsOwn) {
  const MachineLimits limits = limits_of_classes();
  const auto overhead = [&](const Made& made) { return overhead_of(made.command, limits); };
  EXPECT_EQ(overhead(sub_command()), 1u);
  EXPECT_EQ(overhead(sub_command().to_vrf()), 1u);
  EXPECT_EQ(overhead(sub_command().vector(true, false)), 2u);
  EXPECT_EQ(overhead(main_command()), 3u);
  EXPECT_EQ(overhead(main_command().exchange()), 4u);
  EXPECT_EQ(overhead(main_command().contraction()), 5u);
  EXPECT_EQ(overhead(main_command().exchange().contraction()), 5u);
  EXPECT_EQ(overhead(main_command().contraction().vector(false, true)), 6u);
  EXPECT_EQ(overhead(main_command().vector(true, false)), 7u);
  EXPECT_EQ(overhead(main_command().contraction().vector(true, false)), 7u);
  EXPECT_EQ(overhead(main_command().vector(true, true)), 7u);
  EXPECT_EQ(overhead(main_command().vector(false, true)), 7u);  // a reduction alone
  EXPECT_EQ(overhead(main_command().vector(true, false).to_vrf()), 8u);
}

TEST(OverheadOf, WithoutOneTheCommandsHaveThatOfAll) {
  MachineLimits limits = limits_of_classes();
  limits.overheads = {};
  limits.overheads.vector = 9;
  EXPECT_EQ(overhead_of(sub_command().command, limits), 263u);
  EXPECT_EQ(overhead_of(main_command().contraction().command, limits), 263u);
  EXPECT_EQ(overhead_of(main_command().vector(true, false).command, limits), 9u);
}

TEST(PaceOf, IsTheLastUnitThatTakesItsTime) {
  EXPECT_EQ(pace_of(main_command().command), Pace::kLanding);
  EXPECT_EQ(pace_of(main_command().exchange().command), Pace::kSwitch);
  EXPECT_EQ(pace_of(main_command().exchange().contraction().command), Pace::kContraction);
  EXPECT_EQ(pace_of(main_command().contraction().vector(true, false).command), Pace::kVector);
  EXPECT_EQ(pace_of(main_command().vector(true, true).command), Pace::kInterSlice);
  EXPECT_EQ(pace_of(main_command().vector(true, true, true).command), Pace::kVector);
  EXPECT_EQ(pace_of(main_command().contraction().vector(false, true).command), Pace::kInterSlice);
  EXPECT_EQ(pace_of(sub_command().vector(true, false).command), Pace::kLanding);
  EXPECT_EQ(pace_of(Made(Context::kDma).command), Pace::kLanding);
}

}  // namespace
}  // namespace rngdsim
