// SPDX-License-Identifier: Apache-2.0
#include "sim/lockstep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sim/adapter.h"

namespace rngdsim {
namespace {

using test::copy_program;
using test::shipped_topology;
using test::TwoPathUnit;
using test::types_with;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Passes an item on in the cycle it comes, `change`d.
template <typename Change>
TwoPathUnit::Tick passing(Change change) {
  return [change](TwoPathUnit& unit, Cycle now) {
    if (unit.in->can_pop(now) && unit.out->can_push(now)) {
      StreamItem item = unit.in->pop(now);
      change(item);
      unit.out->push(now, std::move(item));
      unit.set_state(UnitState::kBusy);
    } else {
      unit.set_state(UnitState::kIdle);
    }
  };
}

LockstepProof prove(const UnitTypes* types, const std::vector<uint32_t>& slices, bool values) {
  const TopologyDecl topology = shipped_topology();
  const Program program = copy_program(topology, 3);
  RunOptions options;
  options.types = types;
  options.values = values;
  return prove_lockstep(program, topology, options, slices);
}

TEST(Lockstep, PipelinesOfSingleSlicesDoTheSame) {
  const LockstepProof proof = prove(nullptr, {0, 17, 255}, true);
  EXPECT_TRUE(proof.holds());
  EXPECT_EQ(proof.lockstep.status, RunStatus::kOk);
  EXPECT_EQ(proof.lockstep.values.mismatches, 0u);
  ASSERT_EQ(proof.slices.size(), 3u);
  for (const LockstepSlice& slice : proof.slices) {
    EXPECT_EQ(slice.difference, "");
    EXPECT_EQ(slice.cycles, 279u);
    // Cycle 0 (the command begins) and 263 to 278; nothing happens between.
    EXPECT_GE(slice.cycles_compared, 17u);
    EXPECT_LE(slice.cycles_compared, 19u);
    // Three flits of 16 elements on 12 links with values: from the memory's data link on to the
    // write request.
    EXPECT_EQ(slice.values, 3u * 16 * 12);
  }
}

TEST(Lockstep, AnEmptyProofProvesNothing) { EXPECT_FALSE(prove(nullptr, {}, true).holds()); }

TEST(Lockstep, WithoutValuesTheCyclesAreCompared) {
  const LockstepProof proof = prove(nullptr, {3}, false);
  EXPECT_TRUE(proof.holds());
  EXPECT_EQ(proof.slices[0].values, 0u);
  EXPECT_GT(proof.slices[0].events, 0u);
}

// Entry 0 of a block is slice 0 in lockstep, and the slice itself where it is alone.
TEST(Lockstep, AWrongValueInOneOfThemIsFound) {
  const UnitTypes types = types_with(
      "fetch_adapter", passing([](StreamItem& item) { item.values->set_bits(5, 0, 0x3f80); }));
  const LockstepProof proof = prove(&types, {0, 17}, true);
  EXPECT_FALSE(proof.holds());
  EXPECT_EQ(proof.slices[0].difference, "");
  // Flit 0 leaves the Fetch Adapter in 263 + 3.
  EXPECT_THAT(proof.slices[1].difference,
              AllOf(StartsWith("cycle 266: "), HasSubstr("fetch_adapter.out->main_collect.in")));
}

TEST(Lockstep, ACycleThatDependsOnTheSliceIsFound) {
  // Waits a cycle before an item whose first element is negative: other slices, other signs.
  const UnitTypes types = types_with("fetch_adapter", [](TwoPathUnit& unit, Cycle now) {
    const bool here = unit.in->can_pop(now) && unit.out->can_push(now);
    if (here && now % 2 == 1 && (unit.in->front().values->bits(0, 0) & 0x8000) != 0) {
      unit.set_state(UnitState::kBlocked);
      unit.wake_at(now + 1);
      return;
    }
    passing([](StreamItem&) {})(unit, now);
  });
  std::vector<uint32_t> all;
  for (uint32_t slice = 0; slice < 16; ++slice) all.push_back(slice);
  const LockstepProof proof = prove(&types, all, true);
  EXPECT_FALSE(proof.holds());
  EXPECT_EQ(proof.slices[0].difference, "");
}

// Slices that are folded into each other need each other's values, not each other's cycles.
TEST(Lockstep, AnInterSliceReductionIsRefusedWithValues) {
  const TopologyDecl topology = shipped_topology();
  Program program = copy_program(topology, 1);
  Command& command = program.commands[0];
  InterSliceConfig& inter = command.vector.emplace().inter.emplace();
  command.vector->chain = false;
  inter.ratio = 16;
  inter.slots.assign(16, 0);
  inter.loops = {{1, 1, 0}};
  command.stages.push_back({"vector_inter_slice_reduce", {"k.yaml", 7, 5}, {}});
  RunOptions options;
  try {
    prove_lockstep(program, topology, options, {0});
    FAIL() << "not refused";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().render(),
              "k.yaml:7:5: error: folds 16 slices into one value, which a pipeline of one slice "
              "cannot\n"
              "k.yaml:7:5: hint: --timing-only compares the cycles alone\n"
              "1 error\n");
  }
  options.values = false;
  EXPECT_TRUE(prove_lockstep(program, topology, options, {0, 17}).holds());
}

TEST(Lockstep, SlicesAreSpreadOverThoseInUse) {
  const Program program = copy_program(shipped_topology(), 1);  // 256 slices of the first cluster
  EXPECT_THAT(spread_slices(program, 4), ElementsAre(0u, 85u, 170u, 255u));
  EXPECT_THAT(spread_slices(program, 1), ElementsAre(0u));
  EXPECT_EQ(spread_slices(program, 1000).size(), 256u);
}

TEST(Lockstep, ASliceThatDoesNotExistIsRefused) {
  EXPECT_THROW(prove(nullptr, {512}, true), InputError);
}

}  // namespace
}  // namespace rngdsim
