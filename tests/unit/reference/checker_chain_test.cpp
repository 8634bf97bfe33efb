// SPDX-License-Identifier: Apache-2.0
// The checker on programs with vector chains: operands of the VRF, and filters. The test fills the
// memory, so that it is right or wrong as it wants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <tuple>

#include "reference/checker.h"
#include "tests/support/reference_program.h"

namespace rngdsim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::shape;
using ::testing::SizeIs;
using testing::TestAxes;

// As channel's Block.
struct SinkBlock {
  explicit SinkBlock(const std::vector<int32_t>& values)
      : elements(static_cast<uint32_t>(values.size() / 2)), data(values.size() * 4) {
    std::memcpy(data.data(), values.data(), data.size());
  }
  uint32_t elements, slices = 2;
  std::vector<uint8_t> data;
  bool all_valid = true;
  std::vector<uint8_t> valid;
};

// Tensors of i32 over I (2 slices) and J (4 elements each).
class CheckerChainTest : public ::testing::Test {
 protected:
  CheckerChainTest() {
    program_.axes = axes_.table();
    program_.limits.clusters = 1;
    program_.limits.slices = 2;
  }

  TensorId add(const std::string& name, MemoryKind memory, uint64_t address) {
    TensorVersion tensor;
    tensor.name = name;
    tensor.memory = memory;
    tensor.dtype = DType::kI32;
    tensor.slice = axes_("I");
    tensor.element = axes_("J");
    tensor.logical = axes_.ids({"I", "J"});
    tensor.address = address;
    tensor.bytes = 16;
    program_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }
  // With the value 4 I + J + start.
  TensorId add_declared(const std::string& name, MemoryKind memory, uint64_t address,
                        double start) {
    const TensorId id = add(name, memory, address);
    program_.tensors[id].init.kind = InitSpec::Kind::kIota;
    program_.tensors[id].init.start = start;
    program_.tensors[id].init.step = 1;
    return id;
  }
  Command& fetch(TensorId from) {
    Command command;
    command.id = static_cast<CommandId>(program_.commands.size());
    command.source = shape(axes_, DType::kI32, {"1", "I", "1", "1", "J # 8"});
    command.final_shape = command.source;
    command.fetch.emplace();
    command.fetch->tensor = from;
    program_.commands.push_back(command);
    return program_.commands.back();
  }
  void store(TensorId from, TensorId to) {
    fetch(from).to_vrf = ToVrfConfig{to, 1, 8};
    program_.tensors[to].produced_by = program_.commands.back().id;
  }
  static void add_operand(Command& command, TensorId operand) {
    VectorStep step;
    step.kind = VectorStep::Kind::kBinary;
    step.op = VectorOp::kAddFxp;
    step.dtype = DType::kI32;
    step.slots.resize(1);
    step.slots[0].operand.kind = VectorOperand::Kind::kVrf;
    step.slots[0].operand.tensor = operand;
    command.vector.emplace();
    command.vector->dtype = DType::kI32;
    command.vector->front.push_back(step);
  }
  // Only elements above `boundary` are written.
  static void keep_above(Command& command, int32_t boundary) {
    command.vector.emplace();
    command.vector->dtype = DType::kI32;
    command.vector->tags.emplace();
    (*command.vector->tags)[0] = {CompareOp::kGreater, static_cast<uint32_t>(boundary)};
    VectorStep step;
    step.kind = VectorStep::Kind::kFilter;
    step.slots.push_back({{1, 1, false}, {}, 0});
    command.vector->back.push_back(step);
  }
  void commit(Command& command, TensorId to) {
    command.commit.emplace();
    command.commit->tensor = to;
    if (!program_.tensors[to].view_of) program_.tensors[to].produced_by = command.id;
  }

  void start() {
    checker_ = std::make_unique<Checker>(
        program_, 0, "",
        [this](TensorId tensor, uint32_t slice, uint32_t lane, uint64_t first, uint64_t count,
               uint32_t* bits, uint8_t* valid) {
          EXPECT_EQ(lane, 0u);
          for (uint64_t i = 0; i < count; ++i) {
            const auto found = memory_.find({tensor, slice, first + i});
            valid[i] = found != memory_.end() ? 1 : 0;
            bits[i] = valid[i] != 0 ? static_cast<uint32_t>(found->second) : 0xdeadbeef;
          }
        },
        diagnostics_);
    ASSERT_EQ(diagnostics_.render(), "");
  }
  // Elements of both slices; kPoison: never written.
  static constexpr int32_t kPoison = -12345678;
  void hold(TensorId id, const std::vector<int32_t>& values) {
    for (uint32_t i = 0; i < values.size(); ++i) {
      const std::tuple<TensorId, uint32_t, uint64_t> place{id, i / 4, i % 4};
      if (values[i] == kPoison) {
        memory_.erase(place);
      } else {
        memory_[place] = values[i];
      }
    }
  }
  std::vector<int32_t> held(TensorId id) const {
    std::vector<int32_t> values;
    const LogicalTensor& tensor = *checker_->value(id);
    for (uint64_t i = 0; i < tensor.volume(); ++i) {
      values.push_back(tensor.defined(i) ? static_cast<int32_t>(tensor.bits(i)) : kPoison);
    }
    return values;
  }
  std::vector<std::string> mismatches() const {
    std::vector<std::string> texts;
    for (const Mismatch& mismatch : checker_->report().first) texts.push_back(to_string(mismatch));
    return texts;
  }

  TestAxes axes_{{{"I", 2}, {"J", 4}}};
  Program program_;
  Diagnostics diagnostics_;
  std::map<std::tuple<TensorId, uint32_t, uint64_t>, int32_t> memory_;
  std::unique_ptr<Checker> checker_;
};

// ---- Operands of the VRF

// y = x + b, with b loaded from DM; then b is loaded again.
class VrfOperandTest : public CheckerChainTest {
 protected:
  VrfOperandTest() {
    x_ = add_declared("x", MemoryKind::kDm, 0, 0);
    b_ = add_declared("b", MemoryKind::kDm, 16, 100);
    b_vrf_ = add("b_vrf", MemoryKind::kVrf, 0);
    y_ = add("y", MemoryKind::kDm, 32);
    b_again_ = add("b_vrf", MemoryKind::kVrf, 0);
    program_.tensors[b_again_].version = 1;
    store(b_, b_vrf_);
    Command& sum = fetch(x_);
    add_operand(sum, b_vrf_);
    commit(sum, y_);
    store(b_, b_again_);
    hold(b_vrf_, {100, 101, 102, 103, 104, 105, 106, 107});
    hold(y_, {100, 102, 104, 106, 108, 110, 112, 114});
  }
  TensorId x_, b_, b_vrf_, y_, b_again_;
};

TEST_F(VrfOperandTest, StoresAndTheChainsThatReadThemAreChecked) {
  start();
  checker_->check_written(0);
  checker_->check_written(1);
  EXPECT_THAT(mismatches(), IsEmpty());
  ASSERT_THAT(checker_->report().checked, SizeIs(2));
  EXPECT_EQ(checker_->report().checked[0].name, "b_vrf");
  EXPECT_EQ(checker_->report().checked[0].elements, 8u);
  EXPECT_EQ(checker_->report().checked[1].elements, 8u);
}

TEST_F(VrfOperandTest, AWrongStoreIsReportedOnce) {
  memory_[{b_vrf_, 1, 2}] = 7;
  memory_[{y_, 1, 2}] = 13;  // 6 + 7
  start();
  checker_->check_written(0);
  checker_->check_written(1);
  ASSERT_THAT(mismatches(), SizeIs(1));
  EXPECT_EQ(mismatches()[0], "b_vrf at I=1 J=2 (slice 1, element 2): expected 106, got 7");
}

TEST_F(VrfOperandTest, AWrongSumIsReported) {
  memory_[{y_, 0, 3}] += 1;
  start();
  checker_->check_written(0);
  checker_->check_written(1);
  ASSERT_THAT(mismatches(), SizeIs(1));
  EXPECT_EQ(mismatches()[0], "y at J=3 (slice 0, element 3): expected 106, got 107");
}

TEST_F(VrfOperandTest, AStoreIsKeptUntilTheLastChainHasReadIt) {
  start();
  checker_->check_written(0);
  EXPECT_NE(checker_->value(b_vrf_), nullptr);
  checker_->check_written(1);
  EXPECT_EQ(checker_->value(b_vrf_), nullptr);
  hold(b_again_, {100, 101, 102, 103, 104, 105, 106, 107});
  checker_->check_written(2);
  EXPECT_NE(checker_->value(b_again_), nullptr);  // the last of its name
}

TEST_F(VrfOperandTest, AChainBeforeItsStoreIsAnInternalError) {
  start();
  EXPECT_THROW(checker_->check_written(1), InternalError);
}

TEST_F(VrfOperandTest, DeclaredTensorsLieInTheVrfFromTheStart) {
  const TensorId declared = add_declared("declared", MemoryKind::kVrf, 64, 1000);
  const TensorId z = add("z", MemoryKind::kDm, 48);
  Command& sum = fetch(x_);
  add_operand(sum, declared);
  commit(sum, z);
  hold(z, {1000, 1002, 1004, 1006, 1008, 1010, 1012, 0});
  start();
  checker_->check_written(3);
  ASSERT_THAT(mismatches(), SizeIs(1));
  EXPECT_EQ(mismatches()[0], "z at I=1 J=3 (slice 1, element 3): expected 1014, got 0");
  EXPECT_NE(checker_->value(declared), nullptr);
}

// ---- Filters

// x holds 0 .. 7, of which those above 4 are written.
class FilterTest : public CheckerChainTest {
 protected:
  FilterTest() { x_ = add_declared("x", MemoryKind::kDm, 0, 0); }
  TensorId x_;
};

TEST_F(FilterTest, WhatIsLeftOutOfAFreshTensorIsPoison) {
  const TensorId y = add("y", MemoryKind::kDm, 16);
  Command& command = fetch(x_);
  keep_above(command, 4);
  commit(command, y);
  hold(y, {kPoison, kPoison, kPoison, kPoison, kPoison, 5, 6, 7});
  start();
  checker_->check_written(0);
  EXPECT_THAT(mismatches(), IsEmpty());
  EXPECT_EQ(held(y), (std::vector<int32_t>{kPoison, kPoison, kPoison, kPoison, kPoison, 5, 6, 7}));
}

TEST_F(FilterTest, AnElementThatWasWrittenAllTheSameIsReported) {
  const TensorId y = add("y", MemoryKind::kDm, 16);
  Command& command = fetch(x_);
  keep_above(command, 4);
  commit(command, y);
  // 4 is right as a value, but must not be there; 5 is missing; 6 is wrong.
  hold(y, {kPoison, kPoison, kPoison, kPoison, 4, kPoison, 60, 7});
  start();
  checker_->check_written(0);
  ASSERT_THAT(mismatches(), SizeIs(3));
  EXPECT_EQ(mismatches()[0],
            "y at I=1 (slice 1, element 0): expected poison, since the filter leaves it out, "
            "got 4");
  EXPECT_EQ(mismatches()[1], "y at I=1 J=1 (slice 1, element 1): expected a value, got poison");
  EXPECT_EQ(mismatches()[2], "y at I=1 J=2 (slice 1, element 2): expected 6, got 60");
}

TEST_F(FilterTest, AViewKeepsWhatItHeld) {
  // The tile J = 0, 1 of y, which holds 100 .. 107, gets that of x where it is above 0.
  const TensorId y = add_declared("y", MemoryKind::kDm, 16, 100);
  const TensorId x_view = add("x_view", MemoryKind::kDm, 0), view = add("y", MemoryKind::kDm, 16);
  for (const TensorId id : {x_view, view}) {
    TensorVersion& tensor = program_.tensors[id];
    tensor.view_of = id == view ? y : x_;
    tensor.tile = {axes_.id("J"), 1, 4, 0, 2};
    tensor.element = axes_("J = 2 # 4");
  }
  Command& command = fetch(x_view);
  keep_above(command, 0);
  commit(command, view);
  command.final_shape.packet = axes_("J = 2 # 8");
  command.source.packet = command.final_shape.packet;
  hold(view, {100, 1, kPoison, kPoison, 4, 5, kPoison, kPoison});
  start();
  checker_->check_written(0);
  EXPECT_THAT(mismatches(), IsEmpty());
  EXPECT_EQ(held(y), (std::vector<int32_t>{100, 1, 102, 103, 4, 5, 106, 107}));

  hold(view, {0, 1, kPoison, kPoison, 4, 5, kPoison, kPoison});
  start();
  checker_->check_written(0);
  ASSERT_THAT(mismatches(), SizeIs(1));
  EXPECT_THAT(mismatches()[0], HasSubstr("expected 100, since the filter leaves it out, got 0"));
}

TEST_F(FilterTest, WhatAnotherTensorLeftInThePlaceStays) {
  const TensorId old = add("old", MemoryKind::kDm, 16), y = add("y", MemoryKind::kDm, 16);
  const TensorId z = add("z", MemoryKind::kDm, 32);
  commit(fetch(x_), old);
  Command& command = fetch(x_);
  keep_above(command, 4);
  commit(command, y);
  commit(fetch(y), z);
  hold(old, {0, 1, 2, 3, 4, 5, 6, 7});
  hold(y, {40, 41, 42, 43, 44, 5, 6, 7});
  hold(z, {40, 41, 42, 43, 44, 5, 6, 7});
  start();
  for (CommandId id = 0; id < 3; ++id) checker_->check_written(id);
  // A later command reads it.
  EXPECT_THAT(mismatches(), IsEmpty());
  EXPECT_EQ(held(z), (std::vector<int32_t>{40, 41, 42, 43, 44, 5, 6, 7}));
}

TEST_F(FilterTest, ASinkIsCheckedWhereTheFilterHolds) {
  for (const int32_t last : {7, 8}) {
    program_.commands.clear();
    keep_above(fetch(x_), 4);
    start();
    // Rows are the positions of Packet, of both slices.
    SinkBlock block({-1, -1, -1, 5, -1, 6, -1, last, 0, 0, 0, 0, 0, 0, 0, 0});
    checker_->check_sink_item(0, 0, block);
    checker_->check_written(0);
    EXPECT_EQ(checker_->report().mismatches, last == 7 ? 0u : 1u) << mismatches().size();
  }
}

}  // namespace
}  // namespace rngdsim
