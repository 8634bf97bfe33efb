// SPDX-License-Identifier: Apache-2.0
// When commands begin. Programs are made by hand; the test plays the machine and says when they
// end.
#include "sim/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/diagnostic.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr MemoryKind kDm = MemoryKind::kDm;
constexpr MemoryKind kTrf = MemoryKind::kTrf;

class DispatcherTest : public testing::Test {
 protected:
  // A range of a memory that belongs to the tensor of that name.
  Footprint range(const std::string& tensor, MemoryKind memory, uint64_t begin, uint64_t end) {
    for (TensorId id = 0; id < program_.tensors.size(); ++id) {
      if (program_.tensors[id].name == tensor) return {memory, id, begin, end};
    }
    TensorVersion version;
    version.name = tensor;
    program_.tensors.push_back(std::move(version));
    return {memory, static_cast<TensorId>(program_.tensors.size() - 1), begin, end};
  }
  Command& add(Context context, std::vector<Footprint> reads, std::vector<Footprint> writes) {
    Command command;
    command.id = static_cast<CommandId>(program_.commands.size());
    command.context = context;
    command.overhead = 10;
    command.reads = std::move(reads);
    command.writes = std::move(writes);
    program_.commands.push_back(std::move(command));
    return program_.commands.back();
  }
  Command& main(std::vector<Footprint> reads = {}, std::vector<Footprint> writes = {}) {
    return add(Context::kMain, std::move(reads), std::move(writes));
  }
  Command& sub(std::vector<Footprint> reads = {}, std::vector<Footprint> writes = {}) {
    return add(Context::kSub, std::move(reads), std::move(writes));
  }

  static std::vector<CommandId> ids(const std::vector<Dispatcher::Start>& starts) {
    std::vector<CommandId> ids;
    for (const auto& start : starts) ids.push_back(start.command);
    return ids;
  }
  Program program_;
};

TEST_F(DispatcherTest, AContextRunsItsCommandsInFileOrder) {
  main();
  main();
  Dispatcher dispatcher(program_);
  const auto first = dispatcher.advance(0);
  ASSERT_THAT(ids(first), ElementsAre(0u));
  EXPECT_EQ(first[0].begin, 0u);
  EXPECT_EQ(first[0].first_access, 10u);  // the overhead
  dispatcher.finished(0, 99);
  const auto second = dispatcher.advance(100);
  ASSERT_THAT(ids(second), ElementsAre(1u));
  EXPECT_EQ(second[0].begin, 100u);
  EXPECT_EQ(second[0].first_access, 110u);
  EXPECT_EQ(dispatcher.timing(0).issue, 0u);
  EXPECT_EQ(dispatcher.timing(0).end, 100u);  // one past the last write
  EXPECT_EQ(dispatcher.timing(1).issue, 100u);
  EXPECT_EQ(dispatcher.timing(1).waited_for.text(), "-");
}

TEST_F(DispatcherTest, NothingBeginsBeforeTheOneBeforeItHasEnded) {
  main();
  main();
  Dispatcher dispatcher(program_);
  dispatcher.advance(0);
  EXPECT_THAT(dispatcher.advance(50), IsEmpty());
  EXPECT_THAT(dispatcher.open(), ElementsAre(0u));
  EXPECT_EQ(dispatcher.waits_for(1), "command 0 before it");
}

TEST_F(DispatcherTest, ContextsOverlap) {
  sub();
  main();
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u, 1u));
  EXPECT_FALSE(dispatcher.all_ended());
  dispatcher.finished(1, 20);
  EXPECT_FALSE(dispatcher.all_ended());
  dispatcher.finished(0, 30);
  EXPECT_TRUE(dispatcher.all_ended());
  EXPECT_EQ(dispatcher.last_end(), 31u);
}

TEST_F(DispatcherTest, ARunOfNothingHasEnded) {
  Dispatcher dispatcher(program_);
  EXPECT_THAT(dispatcher.advance(0), IsEmpty());
  EXPECT_TRUE(dispatcher.all_ended());
  EXPECT_EQ(dispatcher.last_end(), 0u);
}

struct HazardCase {
  std::string kind;
  bool earlier_writes, later_writes;
};
class DispatcherHazards : public DispatcherTest, public testing::WithParamInterface<HazardCase> {};

TEST_P(DispatcherHazards, HoldACommandUntilTheEndOfTheEarlierOne) {
  const HazardCase& c = GetParam();
  const Footprint first = range("b_trf", kTrf, 0, 64);
  const Footprint second = range("other", kTrf, 63, 128);  // one row in common
  c.earlier_writes ? sub({}, {first}) : sub({first}, {});
  c.later_writes ? main({}, {second}) : main({second}, {});
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u));
  EXPECT_EQ(dispatcher.waits_for(1), "command 0: b_trf (" + c.kind + ")");
  EXPECT_THAT(dispatcher.advance(776), IsEmpty());
  dispatcher.finished(0, 776);
  const auto starts = dispatcher.advance(777);
  ASSERT_THAT(ids(starts), ElementsAre(1u));
  EXPECT_EQ(starts[0].begin, 777u);
  EXPECT_EQ(starts[0].first_access, 787u);
  const WaitedFor& waited = dispatcher.timing(1).waited_for;
  EXPECT_EQ(waited.kind, c.kind);
  EXPECT_EQ(waited.what, "b_trf");
  EXPECT_EQ(waited.command, 0u);
  EXPECT_EQ(waited.cycle, 777u);
  EXPECT_EQ(waited.text(), "b_trf (" + c.kind + ") 777");
  EXPECT_EQ(dispatcher.timing(1).issue, 0u);  // its context was free
}

INSTANTIATE_TEST_SUITE_P(Kinds, DispatcherHazards,
                         testing::Values(HazardCase{"read after write", true, false},
                                         HazardCase{"write after read", false, true},
                                         HazardCase{"write after write", true, true}));

TEST_F(DispatcherTest, TwoReadersAreNoHazard) {
  sub({range("a", kDm, 0, 100)});
  main({range("a", kDm, 0, 100)});
  EXPECT_THAT(ids(Dispatcher(program_).advance(0)), ElementsAre(0u, 1u));
}

TEST_F(DispatcherTest, RangesThatTouchDoNotOverlap) {
  sub({}, {range("lower", kTrf, 0, 64)});
  main({range("upper", kTrf, 64, 128)});
  EXPECT_THAT(ids(Dispatcher(program_).advance(0)), ElementsAre(0u, 1u));
}

TEST_F(DispatcherTest, TheSameRangeOfAnotherMemoryIsNoHazard) {
  sub({}, {range("weights", kTrf, 0, 64)});
  main({range("input", kDm, 0, 64)});
  EXPECT_THAT(ids(Dispatcher(program_).advance(0)), ElementsAre(0u, 1u));
}

TEST_F(DispatcherTest, ALaterCommandNeverHoldsAnEarlierOne) {
  main({range("a", kDm, 0, 100)});
  sub({}, {range("a", kDm, 0, 100)});
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u));
  EXPECT_EQ(dispatcher.waits_for(1), "command 0: a (write after read)");
}

// A DMA brings what main reads; the next DMA does not wait for main, but for the DMA before it.
TEST_F(DispatcherTest, DmaIsAContextOfItsOwn) {
  constexpr MemoryKind kHbm = MemoryKind::kHbm;
  add(Context::kDma, {range("a", kHbm, 0, 100)}, {range("a_dm", kDm, 0, 100)}).overhead = 0;
  main({range("a_dm", kDm, 0, 100)});
  add(Context::kDma, {range("b", kHbm, 100, 200)}, {range("b_dm", kDm, 100, 200)}).overhead = 0;
  Dispatcher dispatcher(program_);
  const auto first = dispatcher.advance(0);
  ASSERT_THAT(ids(first), ElementsAre(0u));
  EXPECT_EQ(first[0].first_access, 0u);  // the engines have the start-up
  dispatcher.finished(0, 599);
  EXPECT_THAT(ids(dispatcher.advance(600)), ElementsAre(1u, 2u));
  EXPECT_EQ(dispatcher.timing(1).waited_for.text(), "a_dm (read after write) 600");
  EXPECT_FALSE(dispatcher.timing(2).waited_for.any());
}

TEST_F(DispatcherTest, HazardsOfOneContextNeedNoNaming) {
  main({}, {range("a", kDm, 0, 100)});
  main({range("a", kDm, 0, 100)});
  const auto hazards = find_hazards(program_);
  EXPECT_THAT(hazards[1], IsEmpty());
}

TEST_F(DispatcherTest, AnEarlierCommandThatHasNotBegunHoldsToo) {
  main();
  main({}, {range("a", kDm, 0, 100)});
  sub({range("a", kDm, 0, 100)});
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u));  // 2 waits for 1, which waits for 0
  dispatcher.finished(0, 9);
  EXPECT_THAT(ids(dispatcher.advance(10)), ElementsAre(1u));
  dispatcher.finished(1, 29);
  EXPECT_THAT(ids(dispatcher.advance(30)), ElementsAre(2u));
}

TEST_F(DispatcherTest, TheHazardThatClearedLastIsNamed) {
  sub({}, {range("x", kDm, 0, 10)});
  sub({}, {range("y", kDm, 10, 20)});
  main({range("x", kDm, 0, 10), range("y", kDm, 10, 20)});
  Dispatcher dispatcher(program_);
  dispatcher.advance(0);
  dispatcher.finished(0, 99);
  EXPECT_THAT(ids(dispatcher.advance(100)), ElementsAre(1u));
  dispatcher.finished(1, 199);
  EXPECT_THAT(ids(dispatcher.advance(200)), ElementsAre(2u));
  EXPECT_EQ(dispatcher.timing(2).waited_for.text(), "y (read after write) 200");
  EXPECT_EQ(dispatcher.timing(2).waited_for.command, 1u);
}

TEST_F(DispatcherTest, AHazardThatWasClearAtTheIssueIsNotNamed) {
  sub({}, {range("x", kDm, 0, 10)});
  main();
  main({range("x", kDm, 0, 10)});
  Dispatcher dispatcher(program_);
  dispatcher.advance(0);
  dispatcher.finished(0, 49);
  EXPECT_THAT(dispatcher.advance(50), IsEmpty());
  dispatcher.finished(1, 99);
  EXPECT_THAT(ids(dispatcher.advance(100)), ElementsAre(2u));
  EXPECT_FALSE(dispatcher.timing(2).waited_for.any());
}

TEST_F(DispatcherTest, AHazardThatClearsInTheCycleOfTheIssueIsNotNamed) {
  sub({}, {range("x", kDm, 0, 10)});
  main();
  main({range("x", kDm, 0, 10)});
  Dispatcher dispatcher(program_);
  dispatcher.advance(0);
  dispatcher.finished(0, 99);
  dispatcher.finished(1, 99);
  EXPECT_THAT(ids(dispatcher.advance(100)), ElementsAre(2u));
  EXPECT_EQ(dispatcher.timing(2).waited_for.text(), "-");
}

TEST_F(DispatcherTest, ReadAfterWriteIsNamedBeforeTheOtherKinds) {
  sub({range("x", kDm, 0, 10)}, {range("y", kDm, 10, 20)});
  main({range("y", kDm, 10, 20)}, {range("x", kDm, 0, 10)});
  const auto hazards = find_hazards(program_);
  ASSERT_EQ(hazards[1].size(), 1u);
  EXPECT_EQ(hazards[1][0].kind, "read after write");
  EXPECT_EQ(hazards[1][0].what, "y");
}

// ---- The cast engine exists once ---------------------------------------------------------------

TEST_F(DispatcherTest, TheCastEngineBelongsToOneCommandFromBeginToEnd) {
  sub().cast = CastConfig{};
  main().cast = CastConfig{};
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u));
  EXPECT_EQ(dispatcher.waits_for(1), "command 0: cast (shared unit)");
  dispatcher.finished(0, 499);
  EXPECT_THAT(ids(dispatcher.advance(500)), ElementsAre(1u));
  EXPECT_EQ(dispatcher.timing(1).waited_for.text(), "cast (shared unit) 500");
  EXPECT_EQ(dispatcher.timing(1).waited_for.command, 0u);
}

// [A] So does the Transpose Engine.
TEST_F(DispatcherTest, TheTransposeEngineBelongsToOneCommandFromBeginToEnd) {
  sub().transpose = TransposeConfig{};
  main().transpose = TransposeConfig{};
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u));
  EXPECT_EQ(dispatcher.waits_for(1), "command 0: transpose (shared unit)");
  dispatcher.finished(0, 499);
  EXPECT_THAT(ids(dispatcher.advance(500)), ElementsAre(1u));
  EXPECT_EQ(dispatcher.timing(1).waited_for.text(), "transpose (shared unit) 500");
}

TEST_F(DispatcherTest, ATranspositionDoesNotWaitForACast) {
  sub().cast = CastConfig{};
  main().transpose = TransposeConfig{};
  EXPECT_THAT(ids(Dispatcher(program_).advance(0)), ElementsAre(0u, 1u));
}

TEST_F(DispatcherTest, CommandsThatDoNotCastDoNotCare) {
  sub().cast = CastConfig{};
  main();
  EXPECT_THAT(ids(Dispatcher(program_).advance(0)), ElementsAre(0u, 1u));
}

TEST_F(DispatcherTest, OfTwoThatCouldCastInTheSameCycleTheEarlierInTheFileDoes) {
  for (const bool main_first : {true, false}) {
    program_ = {};
    const Context earlier = main_first ? Context::kMain : Context::kSub;
    const Context later = main_first ? Context::kSub : Context::kMain;
    add(earlier, {}, {}).cast = CastConfig{};
    add(later, {}, {}).cast = CastConfig{};
    Dispatcher dispatcher(program_);
    EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u));
    dispatcher.finished(0, 9);
    EXPECT_THAT(ids(dispatcher.advance(10)), ElementsAre(1u));
  }
}

TEST_F(DispatcherTest, ACastThatIsReadyDoesNotWaitForAnEarlierOneThatIsNot) {
  main();
  main().cast = CastConfig{};  // waits for 0
  sub().cast = CastConfig{};
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u, 2u));
  dispatcher.finished(0, 9);
  EXPECT_THAT(dispatcher.advance(10), IsEmpty());
  dispatcher.finished(2, 19);
  EXPECT_THAT(ids(dispatcher.advance(20)), ElementsAre(1u));
  EXPECT_EQ(dispatcher.timing(1).issue, 10u);
  EXPECT_EQ(dispatcher.timing(1).waited_for.text(), "cast (shared unit) 20");
}

TEST_F(DispatcherTest, TheOverheadHoldsTheSharedUnitToo) {
  // Exclusive from begin to end: the second waits although the first has not cast anything yet.
  sub().cast = CastConfig{};
  main().cast = CastConfig{};
  Dispatcher dispatcher(program_);
  dispatcher.advance(0);
  EXPECT_THAT(dispatcher.advance(5), IsEmpty());
}

// ---- So does the Vector Engine -----------------------------------------------------------------

TEST_F(DispatcherTest, ChainsOfBothContextsSerialise) {
  for (const bool main_first : {true, false}) {
    program_ = {};
    add(main_first ? Context::kMain : Context::kSub, {}, {}).vector.emplace();
    add(main_first ? Context::kSub : Context::kMain, {}, {}).vector.emplace();
    Dispatcher dispatcher(program_);
    EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u));
    EXPECT_EQ(dispatcher.waits_for(1), "command 0: vector_engine (shared unit)");
    EXPECT_THAT(dispatcher.advance(499), IsEmpty());
    dispatcher.finished(0, 499);
    EXPECT_THAT(ids(dispatcher.advance(500)), ElementsAre(1u));
    EXPECT_EQ(dispatcher.timing(1).waited_for.text(), "vector_engine (shared unit) 500");
    EXPECT_EQ(dispatcher.timing(1).waited_for.command, 0u);
  }
}

TEST_F(DispatcherTest, AChainAndACastOfTwoCommandsOverlap) {
  sub().vector.emplace();
  main().cast = CastConfig{};
  EXPECT_THAT(ids(Dispatcher(program_).advance(0)), ElementsAre(0u, 1u));
}

// Command 2 needs both units, 0 holds one; then 2 begins when 0 ends, and 3 waits for 2.
TEST_F(DispatcherTest, SeveralSharedUnitsAreTakenAtOnce) {
  sub().vector.emplace();
  main();
  Command& both = main();
  both.cast = CastConfig{};
  both.vector.emplace();
  sub().cast = CastConfig{};
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u, 1u));
  dispatcher.finished(1, 9);
  EXPECT_THAT(dispatcher.advance(10), IsEmpty()) << "the free cast engine alone is no use";
  EXPECT_EQ(dispatcher.waits_for(2), "command 0: vector_engine (shared unit)");
  dispatcher.finished(0, 29);
  EXPECT_THAT(ids(dispatcher.advance(30)), ElementsAre(2u));
  EXPECT_EQ(dispatcher.timing(2).waited_for.text(), "vector_engine (shared unit) 30");
  EXPECT_EQ(dispatcher.waits_for(3), "command 2: cast (shared unit)");
  dispatcher.finished(2, 59);
  EXPECT_THAT(ids(dispatcher.advance(60)), ElementsAre(3u));
  EXPECT_EQ(dispatcher.timing(3).waited_for.text(), "cast (shared unit) 60");
}

// ---- The VRF's bytes ---------------------------------------------------------------------------

TEST_F(DispatcherTest, VrfRangesAreHazards) {
  constexpr MemoryKind kVrf = MemoryKind::kVrf;
  sub({}, {range("bias", kVrf, 0, 64)});
  main({range("scale", kVrf, 64, 96)});  // touches, does not overlap
  main({range("bias2", kVrf, 60, 68)});
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u, 1u));
  dispatcher.finished(1, 9);
  EXPECT_THAT(dispatcher.advance(10), IsEmpty());
  EXPECT_EQ(dispatcher.waits_for(2), "command 0: bias (read after write)");
  dispatcher.finished(0, 19);
  EXPECT_THAT(ids(dispatcher.advance(20)), ElementsAre(2u));
}

// ---- Misuse ------------------------------------------------------------------------------------

TEST_F(DispatcherTest, ABeginThatWasMissedIsABrokenInvariant) {
  main();
  main();
  Dispatcher dispatcher(program_);
  dispatcher.advance(0);
  dispatcher.finished(0, 99);
  EXPECT_THROW(dispatcher.advance(101), InternalError);
}

TEST_F(DispatcherTest, EndsThatCannotBeAreBrokenInvariants) {
  main();
  main();
  Dispatcher dispatcher(program_);
  dispatcher.advance(0);
  EXPECT_THROW(dispatcher.finished(1, 5), InternalError);  // not begun
  EXPECT_THROW(dispatcher.finished(2, 5), InternalError);  // does not exist
  dispatcher.finished(0, 5);
  EXPECT_THROW(dispatcher.finished(0, 6), InternalError);  // twice
}

// ---- Lower bound of a program ------------------------------------------------------------------

TEST_F(DispatcherTest, BoundIsTheLongestChainOfCommandBounds) {
  sub({}, {range("b_trf", kTrf, 0, 64)}).bound.cycles = 775;  // 0
  main().bound.cycles = 300;                                  // 1
  main({range("b_trf", kTrf, 0, 64)}).bound.cycles = 500;     // 2: after 0 and 1
  sub().bound.cycles = 450;                                   // 3: after 0
  const ProgramBound bound = program_bound(program_);
  EXPECT_EQ(bound.cycles, 1275u);  // 0, 2; the alternatives are 1225 (0, 3) and 800 (1, 2)
  EXPECT_THAT(bound.chain, ElementsAre(0u, 2u));
}

TEST_F(DispatcherTest, BoundOfNothingIsNothing) {
  const ProgramBound bound = program_bound(program_);
  EXPECT_EQ(bound.cycles, 0u);
  EXPECT_THAT(bound.chain, IsEmpty());
}

// ---- Loads of snoop bitmaps

class BitmapLoads : public DispatcherTest {
 protected:
  // A command with a custom broadcast, whose load takes 30 of its 40 cycles of overhead.
  Command& loads(Command& command) {
    command.switching.emplace().load_cycles = 30;
    command.overhead = 40;
    return command;
  }
  Command& dma() { return add(Context::kDma, {}, {}); }
};

// Both wait for the end of the load, not for the end of the command; main is not concerned.
TEST_F(BitmapLoads, KeepDmaAndSubCommandsFromBeginning) {
  loads(main());
  sub();
  dma();
  Dispatcher dispatcher(program_);
  const auto first = dispatcher.advance(0);
  ASSERT_THAT(ids(first), ElementsAre(0u));
  EXPECT_EQ(first[0].first_access, 40u);
  EXPECT_EQ(dispatcher.load_until(), 30u);
  EXPECT_THAT(dispatcher.advance(29), IsEmpty());
  EXPECT_THAT(ids(dispatcher.advance(30)), ElementsAre(1u, 2u));
  EXPECT_EQ(dispatcher.timing(1).begin, 30u);
  EXPECT_EQ(dispatcher.timing(2).waited_for.kind, "bitmap load");
  EXPECT_EQ(dispatcher.timing(2).waited_for.what, "switch");
  EXPECT_EQ(dispatcher.timing(2).waited_for.cycle, 30u);
}

// The sub command ends in 50, the DMA in 70: the load begins in 71. Nobody steps in between: the
// second sub command stands behind it in the file.
TEST_F(BitmapLoads, WaitForTheCommandsThatRun) {
  sub();
  dma();
  loads(main());
  sub();
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u, 1u));
  EXPECT_EQ(dispatcher.waits_for(2), "command 0: sub (bitmap load)");
  dispatcher.finished(0, 50);
  EXPECT_THAT(dispatcher.advance(51), IsEmpty());
  EXPECT_EQ(dispatcher.waits_for(2), "command 1: dma (bitmap load)");
  dispatcher.finished(1, 70);
  EXPECT_THAT(ids(dispatcher.advance(71)), ElementsAre(2u));
  EXPECT_EQ(dispatcher.timing(2).waited_for.kind, "bitmap load");
  EXPECT_EQ(dispatcher.timing(2).waited_for.what, "dma");
  EXPECT_THAT(ids(dispatcher.advance(101)), ElementsAre(3u));
}

// What stands before it in the file goes first, even where it could begin later only.
TEST_F(BitmapLoads, LetEarlierCommandsGoFirst) {
  sub();
  sub();
  loads(main());
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u));
  dispatcher.finished(0, 50);
  EXPECT_THAT(ids(dispatcher.advance(51)), ElementsAre(1u));
  dispatcher.finished(1, 60);
  EXPECT_THAT(ids(dispatcher.advance(61)), ElementsAre(2u));
}

// One that waits for a hazard reserves nothing.
TEST_F(BitmapLoads, DoNotHoldOthersBeforeTheyAreReady) {
  const Footprint range_of_x = range("x", kDm, 0, 64);
  sub({}, {range_of_x});
  loads(main({range_of_x}));
  dma();
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u, 2u));
}

// In the sub context the load occupies the context itself; DMA waits.
TEST_F(BitmapLoads, OfSubCommandsHoldDma) {
  loads(sub());
  dma();
  main();
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u, 2u));
  EXPECT_THAT(ids(dispatcher.advance(30)), ElementsAre(1u));
}

// The switch exists once.
TEST_F(DispatcherTest, TwoCommandsDoNotShareTheSwitch) {
  main().switching.emplace();
  sub().switching.emplace();
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u));
  EXPECT_EQ(dispatcher.waits_for(1), "command 0: switch (shared unit)");
  dispatcher.finished(0, 20);
  EXPECT_THAT(ids(dispatcher.advance(21)), ElementsAre(1u));
  EXPECT_EQ(dispatcher.timing(1).waited_for.what, "switch");
}

// ---- Bank starvation --------------------------------------------------------------------------

TEST_F(DispatcherTest, WhatStarvesDmaRunsBesideNoneWhereTheTopologySaysSo) {
  program_.limits.starving_alone = true;
  add(Context::kDma, {}, {});
  main().starves_dma = true;
  sub();
  add(Context::kDma, {}, {});
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u, 2u));
  EXPECT_EQ(dispatcher.waits_for(1), "command 0: dma (bank starvation)");
  dispatcher.finished(0, 99);
  // Both could begin in 100; the earlier in file order does.
  EXPECT_THAT(ids(dispatcher.advance(100)), ElementsAre(1u));
  EXPECT_EQ(dispatcher.timing(1).waited_for.text(), "dma (bank starvation) 100");
  EXPECT_EQ(dispatcher.waits_for(3), "command 1: a bank of the data memory (bank starvation)");
  dispatcher.finished(1, 149);
  EXPECT_THAT(ids(dispatcher.advance(150)), ElementsAre(3u));
  EXPECT_EQ(dispatcher.timing(3).waited_for.text(),
            "a bank of the data memory (bank starvation) 150");
}

TEST_F(DispatcherTest, AsShippedItRunsBesideDma) {
  add(Context::kDma, {}, {});
  main().starves_dma = true;
  Dispatcher dispatcher(program_);
  EXPECT_THAT(ids(dispatcher.advance(0)), ElementsAre(0u, 1u));
}

}  // namespace
}  // namespace rngdsim
