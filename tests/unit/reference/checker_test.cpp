// SPDX-License-Identifier: Apache-2.0
// A whole kernel (TRF load, contraction, commit) on a memory that the test fills by the definition
// of the mappings, then spoils.
#include "reference/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "numeric/convert.h"
#include "tests/support/reference_program.h"

namespace rngdsim {
namespace {

using ::testing::AllOf;
using testing::contraction;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::shape;
using ::testing::SizeIs;
using testing::TestAxes;

// As channel's Block.
struct TestBlock {
  TestBlock(uint32_t rows, uint32_t columns, DType dtype)
      : elements(rows),
        slices(columns),
        data(size_t{rows} * columns * static_cast<size_t>(storage_bytes(dtype))) {}
  void track_validity() {
    valid.assign(size_t{elements} * slices, 1);
    all_valid = false;
  }
  uint32_t elements, slices;
  std::vector<uint8_t> data;
  bool all_valid = true;
  std::vector<uint8_t> valid;
};

constexpr uint64_t kSlices = 8;

// C[I,J] = sum over K of A[I,K] B[J,K] in i8, on 2 clusters of 8 slices, of which the 4 x 2 blocks
// of C take those of cluster 0.
class CheckerTest : public ::testing::Test {
 protected:
  enum : TensorId { kA, kB, kBTrf, kC };

  CheckerTest() {
    program_.axes = axes_.table();
    program_.limits.clusters = 2;
    program_.limits.slices = kSlices;
    add_tensor("a_dm", MemoryKind::kDm, DType::kI8, "1", "I % 2, K", {"I", "K"});
    add_tensor("b_dm", MemoryKind::kDm, DType::kI8, "1", "J % 4, K", {"J", "K"});
    add_tensor("b_trf", MemoryKind::kTrf, DType::kI8, "J % 4", "K", {"J", "K"});
    add_tensor("c_dm", MemoryKind::kDm, DType::kI32, "1", "I % 2, J % 4", {"I", "J"});
    for (TensorId id : {kA, kB}) {
      InitSpec& init = program_.tensors[id].init;
      init.kind = InitSpec::Kind::kRandom;
      init.seed = 100 + id;
      init.low = -128;
      init.high = 127;
    }
    program_.tensors[kBTrf].produced_by = 0;
    program_.tensors[kC].produced_by = 1;

    Command load;
    load.id = 0;
    load.context = Context::kSub;
    load.fetch.emplace();
    load.fetch->tensor = kB;
    load.to_trf.emplace();
    load.to_trf->tensor = kBTrf;
    load.final_shape = in(DType::kI8, "1", "J % 4, K / 32", "K % 32");
    program_.commands.push_back(load);

    Command main = contraction(
        1, {in(DType::kI8, "J % 4", "I % 2, K / 32", "K % 32"),
            in(DType::kI32, "J % 4", "I % 2, K / 32", "1"), in(DType::kI32, "J % 4", "I % 2", "1"),
            in(DType::kI32, "1", "I % 2", "J % 4 # 8")});
    main.fetch.emplace();
    main.fetch->tensor = kA;
    main.outer->trf = kBTrf;
    main.commit.emplace();
    main.commit->tensor = kC;
    program_.commands.push_back(main);
  }

  StreamShape in(DType dtype, const std::string& lane, const std::string& time,
                 const std::string& packet) const {
    return shape(axes_, dtype, {"1 # 2", "I / 2, J / 4", lane, time, packet});
  }

  void add_tensor(const std::string& name, MemoryKind memory, DType dtype, const std::string& lane,
                  const std::string& element, const std::vector<std::string>& logical) {
    TensorVersion tensor;
    tensor.name = name;
    tensor.memory = memory;
    tensor.dtype = dtype;
    tensor.cluster = axes_("1 # 2");
    tensor.slice = axes_("I / 2, J / 4");
    tensor.lane = axes_(lane);
    tensor.element = axes_(element);
    tensor.logical = axes_.ids(logical);
    program_.tensors.push_back(std::move(tensor));
  }

  void start(uint64_t seed = 0) {
    checker_ = std::make_unique<Checker>(
        program_, seed, "",
        [this](TensorId tensor, uint32_t slice, uint32_t lane, uint64_t first, uint64_t count,
               uint32_t* bits, uint8_t* valid) {
          for (uint64_t i = 0; i < count; ++i) {
            const auto found = memory_.find({tensor, slice, lane, first + i});
            valid[i] = found != memory_.end() ? 1 : 0;
            bits[i] = valid[i] != 0 ? found->second : 0xdeadbeef;
          }
        },
        diagnostics_);
    ASSERT_EQ(diagnostics_.render(), "");
  }

  // Puts value(index of the cell) at each live place of `tensor`, by the cells of the
  // concatenation.
  void write(TensorId id, const Mapping& element,
             const std::function<uint32_t(const std::vector<uint64_t>&)>& value) {
    const TensorVersion& tensor = program_.tensors[id];
    const Mapping whole = Mapping::concat({tensor.cluster, tensor.slice, tensor.lane, element});
    for (uint64_t p = 0; p < whole.size(); ++p) {
      const Cell cell = whole.cell(p, program_.axes);
      if (!cell.live) continue;
      std::vector<uint64_t> index(program_.axes.count(), 0);
      for (const auto& [axis, at] : cell.index) index[axis] = at;
      const uint64_t e = p % element.size();
      const uint64_t lane = p / element.size() % tensor.lane.size();
      const uint64_t spatial = p / element.size() / tensor.lane.size();
      memory_[{id, spatial / tensor.slice.size() * kSlices + spatial % tensor.slice.size(), lane,
               e}] = value(index);
    }
  }
  int32_t a_at(uint64_t i, uint64_t k) {
    return static_cast<int8_t>(checker_->value(kA)->bits(i * 64 + k));
  }
  int32_t b_at(uint64_t j, uint64_t k) {
    return static_cast<int8_t>(checker_->value(kB)->bits(j * 64 + k));
  }
  void write_b_trf() {
    write(kBTrf, program_.tensors[kBTrf].element, [this](const std::vector<uint64_t>& index) {
      return static_cast<uint32_t>(b_at(index[1], index[2])) & 0xff;
    });
  }
  void write_c(const Mapping& element) {
    write(kC, element, [this](const std::vector<uint64_t>& index) {
      int32_t sum = 0;
      for (uint64_t k = 0; k < 64; ++k) sum += a_at(index[0], k) * b_at(index[1], k);
      return static_cast<uint32_t>(sum);
    });
  }
  void write_c() { write_c(program_.tensors[kC].element); }

  using Place = std::tuple<TensorId, uint64_t, uint64_t, uint64_t>;  // tensor, slice, lane, element
  TestAxes axes_{{{"I", 8}, {"J", 8}, {"K", 64}}};
  Program program_;
  Diagnostics diagnostics_;
  std::map<Place, uint32_t> memory_;
  std::unique_ptr<Checker> checker_;
};

TEST_F(CheckerTest, ACorrectMachinePasses) {
  program_.expect.push_back({"c_dm", {}, axes_.ids({"K"}), {"a_dm", "b_dm"}});
  start();
  EXPECT_EQ(checker_->value(kC), nullptr);
  write_b_trf();
  checker_->check_written(0);
  write_c();
  checker_->check_written(1);
  checker_->check_expected();
  const CheckReport& report = checker_->report();
  EXPECT_EQ(report.mismatches, 0u);
  EXPECT_EQ(report.max_abs_error, 0);
  ASSERT_THAT(report.checked, SizeIs(3));
  EXPECT_EQ(report.checked[0].name, "b_trf");
  EXPECT_EQ(report.checked[0].elements, 8u * 4 * 64);  // 8 slices, 4 lanes, 64 elements
  EXPECT_EQ(report.checked[1].name, "c_dm");
  EXPECT_EQ(report.checked[1].elements, 8u * 8);
  EXPECT_EQ(report.checked[1].command, 1u);
  EXPECT_EQ(report.checked[2].name, "c_dm (expect)");
  EXPECT_EQ(report.checked[2].elements, 64u);
  ASSERT_NE(checker_->value(kC), nullptr);
  EXPECT_TRUE(checker_->value(kC)->all_defined());
}

TEST_F(CheckerTest, AWrongValueIsReportedWithItsIndexAndPlace) {
  start();
  write_b_trf();
  checker_->check_written(0);
  write_c();
  // I / 2 = 1, J / 4 = 1 is slice 3; I % 2 = 1, J % 4 = 2 is element 6: I = 3, J = 6.
  memory_[{kC, 3, 0, 6}] += 5;
  const auto wrong = static_cast<int32_t>(memory_[{kC, 3, 0, 6}]);
  checker_->check_written(1);
  const CheckReport& report = checker_->report();
  EXPECT_EQ(report.mismatches, 1u);
  EXPECT_EQ(report.max_abs_error, 5);
  ASSERT_THAT(report.first, SizeIs(1));
  EXPECT_EQ(to_string(report.first[0]), "c_dm at I=3 J=6 (slice 3, element 6): expected " +
                                            std::to_string(wrong - 5) + ", got " +
                                            std::to_string(wrong));
}

TEST_F(CheckerTest, ASwappedStrideIsReported) {
  start();
  write_b_trf();
  checker_->check_written(0);
  write_c(axes_("J % 4, I % 2"));  // the machine stores J before I
  checker_->check_written(1);
  // Of the 2 x 4 places only the first and the last hold what they should (random values).
  EXPECT_GE(checker_->report().mismatches, 8u * 6 - 4);
  EXPECT_EQ(checker_->report().checked[1].mismatches, checker_->report().mismatches);
  EXPECT_THAT(checker_->report().first, SizeIs(Checker::kMaxListed));
}

TEST_F(CheckerTest, AWrongLaneIsReported) {
  start();
  write_b_trf();
  for (uint64_t e = 0; e < 64; ++e) std::swap(memory_[{kBTrf, 5, 1, e}], memory_[{kBTrf, 5, 2, e}]);
  checker_->check_written(0);
  const CheckReport& report = checker_->report();
  EXPECT_GE(report.mismatches, 120u);  // 2 x 64, less what is equal by chance
  EXPECT_LE(report.mismatches, 128u);
  ASSERT_FALSE(report.first.empty());
  EXPECT_THAT(to_string(report.first[0]),
              AllOf(HasSubstr("b_trf at "), HasSubstr("slice 5, lane 1")));
}

TEST_F(CheckerTest, PoisonInALiveElementIsReported) {
  start();
  write_b_trf();
  memory_.erase({kBTrf, 2, 3, 7});  // I / 2 = 1: J / 4 = 0, J % 4 = 3, K = 7
  checker_->check_written(0);
  ASSERT_THAT(checker_->report().first, SizeIs(1));
  EXPECT_EQ(to_string(checker_->report().first[0]),
            "b_trf at I=2 J=3 K=7 (slice 2, lane 3, element 7): expected a value, got poison");
}

TEST_F(CheckerTest, EveryReplicaIsCompared) {
  start();
  write_b_trf();
  memory_[{kBTrf, 6, 0, 0}] ^= 1;  // B lies in the slices of every I / 2; this is the last copy
  checker_->check_written(0);
  EXPECT_EQ(checker_->report().mismatches, 1u);
  EXPECT_THAT(to_string(checker_->report().first[0]),
              AllOf(HasSubstr("slice 6, lane 0, element 0"), HasSubstr("other copies")));
}

TEST_F(CheckerTest, AWrongFirstReplicaIsOneOrMoreMismatches) {
  start();
  write_b_trf();
  memory_[{kBTrf, 0, 0, 0}] ^= 1;
  checker_->check_written(0);
  EXPECT_GE(checker_->report().mismatches, 1u);
}

TEST_F(CheckerTest, MismatchesAreListedSliceBySlice) {
  // 1000 places a slice, more than are read at a time.
  program_.tensors[kC].element = axes_("I % 2, J % 4 #{0} 500");
  start();
  write_b_trf();
  checker_->check_written(0);
  write_c();
  for (uint64_t slice = 0; slice < kSlices; ++slice) {
    for (uint64_t e = 0; e < 1000; ++e) {
      if (e % 500 >= 4) memory_[{kC, slice, 0, e}] = 0;
    }
  }
  for (uint64_t slice : {0, 1, 5}) {
    for (uint64_t e : {900, 400, 10}) memory_[{kC, slice, 0, e}] = 7;
  }
  checker_->check_written(1);
  EXPECT_EQ(checker_->report().mismatches, 9u);
  ASSERT_THAT(checker_->report().first, SizeIs(Checker::kMaxListed));
  const char* const places[] = {"slice 0, element 10",  "slice 0, element 400",
                                "slice 0, element 900", "slice 1, element 10",
                                "slice 1, element 400", "slice 1, element 900",
                                "slice 5, element 10",  "slice 5, element 400"};
  for (size_t i = 0; i < Checker::kMaxListed; ++i) {
    EXPECT_EQ(checker_->report().first[i].place, places[i]);
  }
}

TEST_F(CheckerTest, LaterCommandsAreJudgedByWhatTheirInputsHold) {
  start();
  write_b_trf();
  for (uint64_t slice = 0; slice < kSlices; slice += 2) memory_[{kBTrf, slice, 0, 0}] ^= 1;
  checker_->check_written(0);
  EXPECT_EQ(checker_->report().mismatches, 1u);  // one element, its copies alike
  // C made from the wrong B: right as far as command 1 goes.
  write(kC, program_.tensors[kC].element, [this](const std::vector<uint64_t>& index) {
    int32_t sum = 0;
    for (uint64_t k = 0; k < 64; ++k) {
      sum +=
          a_at(index[0], k) * static_cast<int8_t>(checker_->value(kBTrf)->bits(index[1] * 64 + k));
    }
    return static_cast<uint32_t>(sum);
  });
  checker_->check_written(1);
  EXPECT_EQ(checker_->report().checked[1].mismatches, 0u);
}

TEST_F(CheckerTest, ExpectJudgesTheWholeKernel) {
  program_.expect.push_back({"c_dm", {}, axes_.ids({"K"}), {"a_dm", "b_dm"}});
  start();
  write_b_trf();
  checker_->check_written(0);
  write_c();
  memory_[{kC, 0, 0, 0}] += 1;
  checker_->check_written(1);
  checker_->check_expected();
  const CheckReport& report = checker_->report();
  EXPECT_EQ(report.checked[2].mismatches, 1u);
  EXPECT_THAT(to_string(report.first[1]), HasSubstr("c_dm (expect) at the origin: expected"));
}

TEST_F(CheckerTest, ExpectIsNotMetByAKernelThatDidNotFinish) {
  program_.expect.push_back({"c_dm", {}, axes_.ids({"K"}), {"a_dm", "b_dm"}});
  start();
  checker_->check_expected();
  EXPECT_EQ(checker_->report().mismatches, 1u);
}

TEST_F(CheckerTest, ExpectWithAnAxisLeftOverIsAnErrorAtTheStart) {
  program_.expect.push_back({"c_dm", {"k.yaml", 30, 3}, {}, {"a_dm", "b_dm"}});
  Checker checker(program_, 0, "", {}, diagnostics_);
  EXPECT_THAT(diagnostics_.render(), HasSubstr("k.yaml:30:3: error: the product has axis K"));
}

TEST_F(CheckerTest, TheSeedIsAddedToEveryRandomInit) {
  start(0);
  const uint32_t before = checker_->value(kA)->bits(0) << 8 | checker_->value(kA)->bits(1);
  program_.tensors[kA].init.seed -= 3;
  start(3);
  EXPECT_EQ(checker_->value(kA)->bits(0) << 8 | checker_->value(kA)->bits(1), before);
}

TEST_F(CheckerTest, ZeroPaddingMustBeZero) {
  program_.tensors[kC].element = axes_("I % 2, J % 4 #{0} 8");
  start();
  write_b_trf();
  checker_->check_written(0);
  write_c();
  for (uint64_t slice = 0; slice < kSlices; ++slice) {
    for (uint64_t e : {4, 5, 6, 7, 12, 13, 14, 15}) memory_[{kC, slice, 0, e}] = 0;
  }
  memory_[{kC, 1, 0, 13}] = 1;
  memory_.erase({kC, 2, 0, 4});
  checker_->check_written(1);
  EXPECT_EQ(checker_->report().checked[1].elements, 64u);
  ASSERT_THAT(checker_->report().first, SizeIs(2));
  EXPECT_EQ(to_string(checker_->report().first[0]),
            "c_dm at zero padding (slice 1, element 13): expected 0, got 1");
  EXPECT_THAT(to_string(checker_->report().first[1]), HasSubstr("expected 0, got poison"));
}

TEST_F(CheckerTest, OtherPaddingIsNotLookedAt) {
  program_.tensors[kC].element = axes_("I % 2, J % 4 # 8");
  start();
  write_b_trf();
  checker_->check_written(0);
  write_c();
  memory_[{kC, 0, 0, 5}] = 77;
  checker_->check_written(1);
  EXPECT_EQ(checker_->report().mismatches, 0u);
}

TEST_F(CheckerTest, AnOperandThatWasNeverMadeIsAnInternalError) {
  start();
  EXPECT_THROW(checker_->check_written(1), InternalError);
}

// ---- Streams

class StreamTest : public ::testing::Test {
 protected:
  StreamTest() {
    program_.axes = axes_.table();
    program_.limits.clusters = 1;
    program_.limits.slices = 4;
  }

  // A command that passes its stream on to a sink.
  void pass(const std::string& slice, const std::string& time, const std::string& packet) {
    Command command;
    command.source = shape(axes_, DType::kI8, {"1", slice, "1", time, packet});
    command.final_shape = command.source;
    command.stream.emplace();
    command.stream->init.kind = InitSpec::Kind::kIota;
    command.stream->logical = axes_.ids({"S", "T", "P"});
    program_.commands.push_back(command);
    checker_ = std::make_unique<Checker>(program_, 0, "", TensorReader{}, diagnostics_);
    ASSERT_EQ(diagnostics_.render(), "");
  }
  std::vector<int> row(const TestBlock& block, uint32_t element) {
    std::vector<int> values;
    for (uint32_t s = 0; s < block.slices; ++s) {
      const size_t entry = size_t{element} * block.slices + s;
      const bool valid = block.all_valid || block.valid[entry] != 0;
      values.push_back(valid ? block.data[entry] : -1);
    }
    return values;
  }

  // The value at S, T, P is 6 S + 3 T + P.
  TestAxes axes_{{{"S", 3}, {"T", 2}, {"P", 3}}};
  Program program_;
  Diagnostics diagnostics_;
  std::unique_ptr<Checker> checker_;
};

TEST_F(StreamTest, ItemsHoldTheElementsAtTheirPositions) {
  pass("S # 4", "T", "P # 4");
  TestBlock block(4, 4, DType::kI8);
  checker_->fill_stream_item(0, 1, block);
  // Slice 3 is dead: valid zeros. Position 3 is padding: poison in the live slices.
  EXPECT_THAT(row(block, 0), ElementsAre(3, 9, 15, 0));
  EXPECT_THAT(row(block, 2), ElementsAre(5, 11, 17, 0));
  EXPECT_THAT(row(block, 3), ElementsAre(-1, -1, -1, 0));
}

TEST_F(StreamTest, ZeroPaddingIsZero) {
  pass("S # 4", "T", "P #{0} 4");
  TestBlock block(4, 4, DType::kI8);
  checker_->fill_stream_item(0, 0, block);
  EXPECT_THAT(row(block, 3), ElementsAre(0, 0, 0, 0));
}

TEST_F(StreamTest, AFullStreamTracksNoValidity) {
  pass("S # 4", "T", "P");
  TestBlock block(3, 4, DType::kI8);
  block.track_validity();  // as left over from another use
  checker_->fill_stream_item(0, 0, block);
  EXPECT_TRUE(block.all_valid);
}

TEST_F(StreamTest, TheSinkChecksWhatArrives) {
  pass("S # 4", "T", "P # 4");
  TestBlock block(4, 4, DType::kI8);
  for (uint64_t item = 0; item < 2; ++item) {
    checker_->fill_stream_item(0, item, block);
    if (item == 1) block.data[2 * 4 + 1] = 99;  // P = 2 in slice 1
    checker_->check_sink_item(0, item, block);
  }
  checker_->check_written(0);
  const CheckReport& report = checker_->report();
  ASSERT_THAT(report.checked, SizeIs(1));
  EXPECT_EQ(report.checked[0].name, "sink of command 0");
  EXPECT_EQ(report.checked[0].elements, 18u);
  ASSERT_THAT(report.first, SizeIs(1));
  EXPECT_EQ(to_string(report.first[0]),
            "sink of command 0 at S=1 T=1 P=2 (slice 1, item 1, position 2): expected 11, got 99");
}

TEST_F(StreamTest, TheSinkMissesItemsThatDoNotArrive) {
  pass("S # 4", "T", "P # 4");
  TestBlock block(4, 4, DType::kI8);
  checker_->fill_stream_item(0, 0, block);
  checker_->check_sink_item(0, 0, block);
  checker_->check_written(0);
  EXPECT_EQ(checker_->report().mismatches, 1u);
  EXPECT_THAT(to_string(checker_->report().first[0]),
              HasSubstr("expected 8 elements a lane, got 4 elements a lane"));
}

TEST_F(StreamTest, LanesLieOneAfterTheOtherInASinkItem) {
  // P[T, S]: products in 3 lanes of S, one column of T each.
  Command command = contraction(0, {shape(axes_, DType::kI8, {"1", "1", "S", "P", "T"})});
  command.outer.reset();
  command.source = shape(axes_, DType::kI8, {"1", "1", "1", "P", "T"});
  command.stages.clear();
  command.final_shape = shape(axes_, DType::kI8, {"1", "1", "S", "P", "T"});
  command.stream.emplace();
  command.stream->init.kind = InitSpec::Kind::kIota;
  command.stream->logical = axes_.ids({"S", "T", "P"});
  program_.commands.push_back(command);
  checker_ = std::make_unique<Checker>(program_, 0, "", TensorReader{}, diagnostics_);
  for (uint32_t p = 0; p < 3; ++p) {
    TestBlock block(6, 4, DType::kI8);
    for (uint32_t s = 0; s < 3; ++s) {
      for (uint32_t t = 0; t < 2; ++t) {
        block.data[(s * 2 + t) * 4] = static_cast<uint8_t>(6 * s + 3 * t + p);
      }
    }
    checker_->check_sink_item(0, p, block);
  }
  checker_->check_written(0);
  EXPECT_EQ(checker_->report().mismatches, 0u);
  EXPECT_EQ(checker_->report().checked[0].elements, 18u);
}

}  // namespace
}  // namespace rngdsim
