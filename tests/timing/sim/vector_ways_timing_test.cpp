// SPDX-License-Identifier: Apache-2.0
// The ways of commands with a vector chain or to_vrf through the whole machine, programs made by
// hand. Every unit on the way costs its link's cycle; a stream's first item is pushed in cycle
// `overhead`.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/limits.h"
#include "sim/run.h"
#include "support/diagnostic.h"
#include "tests/support/small_topology.h"

namespace rngdsim {
namespace {

constexpr uint64_t kOverhead = 10, kFlits = 5, kRatio = 4;
constexpr uint64_t kTail = kRatio - 1;

class VectorWaysTest : public testing::Test {
 protected:
  void SetUp() override {
    Diagnostics diagnostics;
    program_.limits = limits_from(topology_, diagnostics);
    ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  }
  // kFlits flits of 8 i32 that enter at a stage.
  Command& stream(Context context, const std::string& entry) {
    Command command;
    command.id = static_cast<CommandId>(program_.commands.size());
    command.context = context;
    command.overhead = kOverhead;
    command.stream.emplace().items = kFlits;
    command.entry_stage = entry;
    command.source.dtype = DType::kI32;
    command.source.time = Mapping::broadcast(kFlits);
    command.source.packet = Mapping::broadcast(8);
    command.final_shape = command.source;
    program_.commands.push_back(std::move(command));
    return program_.commands.back();
  }
  static void chain(Command& command) {
    if (!command.vector) command.vector.emplace().chain = false;
    command.vector->chain = true;
    command.vector->flits = command.vector->steps = command.vector->results = kFlits;
  }
  static void reduce(Command& command) {
    if (!command.vector) command.vector.emplace().chain = false;
    InterSliceConfig& inter = command.vector->inter.emplace();
    inter.ratio = kRatio;
    inter.slots.assign(kRatio, 0);
    inter.loops = {{kFlits, 1, 0}};
    inter.flits = inter.results = kFlits;
  }
  void to_vrf(Command& command) {
    TensorVersion tensor;
    tensor.name = "v";
    tensor.memory = MemoryKind::kVrf;
    tensor.dtype = DType::kI32;
    tensor.element = Mapping::broadcast(8 * kFlits);
    tensor.bytes = 32 * kFlits;
    tensor.produced_by = command.id;
    command.to_vrf.emplace().tensor = static_cast<TensorId>(program_.tensors.size());
    program_.tensors.push_back(std::move(tensor));
  }
  RunResult run() {
    RunOptions options;
    options.values = false;
    return run_program(program_, topology_, options);
  }
  // Cycles of the only command, where its first item passes `units` units after the source.
  static uint64_t cycles(uint64_t units, uint64_t tail = 0) {
    return kOverhead + units + tail + kFlits;
  }

  TopologyDecl topology_ = test::small_topology(1, 8);
  Program program_;
};

// vcg, vector_engine, cast, commit adapter, commit sequencer.
TEST_F(VectorWaysTest, AChainOfEitherContext) {
  for (const Context context : {Context::kMain, Context::kSub}) {
    program_.commands.clear();
    chain(stream(context, "vector_tag"));
    EXPECT_EQ(run().cycles, cycles(5)) << name(context);
  }
}

// inter_slice_reducer, cast, commit adapter, commit sequencer; also where the first stage listed is
// one that no unit stands for.
TEST_F(VectorWaysTest, TheReducerAlone) {
  for (const Context context : {Context::kMain, Context::kSub}) {
    for (const char* const entry :
         {"vector_inter_slice_reduce", "vector_reinterpret", "vector_stash"}) {
      program_.commands.clear();
      reduce(stream(context, entry));
      EXPECT_EQ(run().cycles, cycles(4, kTail)) << name(context) << entry;
    }
  }
}

// inter_slice_reducer and all of the chain; the other way round the same units.
TEST_F(VectorWaysTest, TheReducerBeforeAndBehindTheChain) {
  for (const Context context : {Context::kMain, Context::kSub}) {
    for (const bool first : {true, false}) {
      program_.commands.clear();
      Command& command = stream(context, first ? "vector_inter_slice_reduce" : "vector_clip");
      chain(command);
      reduce(command);
      command.vector->inter_first = first;
      EXPECT_EQ(run().cycles, cycles(6, kTail)) << name(context) << first;
    }
  }
}

// Main passes contraction, six units, on its way; sub goes past it.
TEST_F(VectorWaysTest, FromCollect) {
  for (const bool alone : {true, false}) {
    program_.commands.clear();
    Command& main = stream(Context::kMain, "collect");
    alone ? reduce(main) : chain(main);
    EXPECT_EQ(run().cycles, alone ? cycles(6 + 4, kTail) : cycles(6 + 5)) << alone;
    program_.commands.clear();
    Command& sub = stream(Context::kSub, "collect");
    alone ? reduce(sub) : chain(sub);
    EXPECT_EQ(run().cycles, alone ? cycles(1 + 4, kTail) : cycles(1 + 5)) << alone;
  }
}

// From Collect, from the chain (vcg, vector_engine, cast) and from the reducer; then the VRF.
TEST_F(VectorWaysTest, IntoTheVrf) {
  for (const Context context : {Context::kMain, Context::kSub}) {
    program_.commands.clear();
    program_.tensors.clear();
    to_vrf(stream(context, "to_vrf"));
    EXPECT_EQ(run().cycles, cycles(2)) << name(context);

    program_.commands.clear();
    program_.tensors.clear();
    Command& chained = stream(context, "vector_tag");
    chain(chained);
    to_vrf(chained);
    EXPECT_EQ(run().cycles, cycles(4)) << name(context);

    program_.commands.clear();
    program_.tensors.clear();
    Command& reduced = stream(context, "vector_inter_slice_reduce");
    reduce(reduced);
    to_vrf(reduced);
    EXPECT_EQ(run().cycles, cycles(3, kTail)) << name(context);
  }
}

// The second begins in the cycle in which the first ends, and the first loses nothing by it.
TEST_F(VectorWaysTest, ChainsOfTwoContextsFollowEachOther) {
  chain(stream(Context::kMain, "vector_tag"));
  reduce(stream(Context::kSub, "vector_inter_slice_reduce"));
  const RunResult result = run();
  EXPECT_EQ(result.commands[0].end, cycles(5));
  EXPECT_EQ(result.commands[1].begin, cycles(5));
  EXPECT_EQ(result.commands[1].end, cycles(5) + cycles(4, kTail));
  EXPECT_EQ(result.commands[1].waited_for.text(),
            "vector_engine (shared unit) " + std::to_string(cycles(5)));
}

// A way round the ring of 9 cycles a slice.
TEST_F(VectorWaysTest, HopsOfNineCycles) {
  for (UnitDecl& unit : topology_.units) {
    if (unit.name != "inter_slice_reducer") continue;
    for (NamedParameter& parameter : unit.parameters) parameter.parameter.value = 9.0;
  }
  reduce(stream(Context::kMain, "vector_inter_slice_reduce"));
  EXPECT_EQ(run().cycles, cycles(4, 9 * kTail));
}

}  // namespace
}  // namespace rngdsim
