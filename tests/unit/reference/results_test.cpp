// SPDX-License-Identifier: Apache-2.0
// Which results a program has: programs made by hand.
#include "reference/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rngdsim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Results : public ::testing::Test {
 protected:
  TensorId tensor(const std::string& name) {
    TensorVersion version;
    version.name = name;
    program_.tensors.push_back(version);
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }
  TensorId view(TensorId of) {
    const TensorId id = tensor(program_.tensors[of].name + "[tile]");
    program_.tensors[id].view_of = of;
    return id;
  }
  // A command that copies; without a target into its sink.
  void copy(TensorId from, std::optional<TensorId> to) {
    Command command;
    command.id = static_cast<CommandId>(program_.commands.size());
    command.fetch.emplace().tensor = from;
    if (to) command.commit.emplace().tensor = *to;
    if (to && !program_.tensors[*to].view_of) program_.tensors[*to].produced_by = command.id;
    program_.commands.push_back(command);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const ProgramResult& result : results_of(program_)) names.push_back(result.name);
    return names;
  }

  Program program_;
};

TEST_F(Results, AreTensorsThatAreWrittenAndNotReadAfterwards) {
  const TensorId x = tensor("x"), t = tensor("t"), y = tensor("y"), z = tensor("z");
  copy(x, t);
  copy(t, y);
  copy(t, z);
  EXPECT_THAT(names(), ElementsAre("y", "z"));
}

TEST_F(Results, OfATensorThatIsWrittenAgainTheLastVersionCounts) {
  const TensorId x = tensor("x"), first = tensor("y"), last = tensor("y");
  copy(x, first);
  copy(x, last);
  const auto results = results_of(program_);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].tensor, last);
}

TEST_F(Results, OneThatIsReadInItsLastVersionIsNone) {
  const TensorId x = tensor("x"), first = tensor("y"), last = tensor("y"), z = tensor("z");
  copy(x, first);
  copy(x, last);
  copy(last, z);
  EXPECT_THAT(names(), ElementsAre("z"));
}

TEST_F(Results, TilesAreWrittenIntoTheWhole) {
  const TensorId x = tensor("x"), y = tensor("y"), tile = view(y);
  copy(x, view(tile));  // a tile of a tile
  EXPECT_THAT(names(), ElementsAre("y"));
  copy(tile, std::nullopt);  // read again
  EXPECT_THAT(names(), ElementsAre("sink"));
  copy(x, tile);  // and written again
  EXPECT_THAT(names(), ElementsAre("y", "sink"));
}

TEST_F(Results, WhatIsOnlyReadInTilesIsNone) {
  const TensorId x = tensor("x");
  copy(view(x), tensor("y"));
  EXPECT_THAT(names(), ElementsAre("y"));
}

TEST_F(Results, ExpectDecidesWhereItIsGiven) {
  const TensorId x = tensor("x"), y = tensor("y"), z = tensor("z");
  copy(x, y);
  copy(y, z);
  copy(x, std::nullopt);
  program_.expect.push_back({"y", {}, {}, {"x"}});
  EXPECT_THAT(names(), ElementsAre("y"));
}

TEST_F(Results, SinksAreNumberedWhereThereAreSeveral) {
  const TensorId x = tensor("x");
  copy(x, std::nullopt);
  EXPECT_THAT(names(), ElementsAre("sink"));
  copy(x, std::nullopt);
  EXPECT_THAT(names(), ElementsAre("sink 1", "sink 2"));
  EXPECT_EQ(results_of(program_)[1].command, 1U);
}

TEST_F(Results, OfAProgramWithoutCommandsThereAreNone) {
  tensor("x");
  EXPECT_THAT(names(), IsEmpty());
}

// The VRF: what a chain reads is none, what is stored for nobody is.
TEST_F(Results, OperandsOfChainsAreRead) {
  const TensorId x = tensor("x"), b = tensor("b_vrf"), idle = tensor("idle_vrf"), y = tensor("y");
  for (const TensorId to : {b, idle}) {
    copy(x, std::nullopt);
    program_.commands.back().to_vrf.emplace().tensor = to;
    program_.tensors[to].produced_by = program_.commands.back().id;
  }
  EXPECT_THAT(names(), ElementsAre("b_vrf", "idle_vrf"));
  copy(x, y);
  VectorStep step;
  step.slots.resize(3);
  for (const size_t slot : {0, 2}) {
    step.slots[slot].operand.kind = VectorOperand::Kind::kVrf;
    step.slots[slot].operand.tensor = b;
  }
  program_.commands.back().vector.emplace().after_reduce.push_back(step);
  EXPECT_THAT(vrf_operands(program_.commands.back()), ElementsAre(b));
  EXPECT_THAT(names(), ElementsAre("idle_vrf", "y"));
}

}  // namespace
}  // namespace rngdsim
