// SPDX-License-Identifier: Apache-2.0
// Transpose Engine: the cycles of the documented examples from both sides, and who waits for whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "engine/transpose_engine.h"
#include "tests/support/stream_fixture.h"

namespace rngdsim {
namespace {

using test::Collector;
using test::Driver;

constexpr Cycle kTransposeEnd = 400;

struct TransposeCase {
  std::string name;
  uint64_t in_rows, packets, valid, out_rows, matrices, flit;
  uint64_t cycles;  // as the page on the Transpose Engine gives it
};

std::ostream& operator<<(std::ostream& out, const TransposeCase& c) { return out << c.name; }

class TransposeTimingBase : public test::StreamTest {
 protected:
  TransposeConfig& add_transpose(const TransposeCase& c) {
    Command& command = add_command();
    command.transpose.emplace();
    TransposeConfig& config = *command.transpose;
    config.flit_elements = c.flit;
    config.valid_elements = c.valid;
    config.packets_per_row = c.packets;
    config.in_rows = c.in_rows;
    config.in_cols = c.packets * c.valid;
    config.out_rows = c.out_rows;
    config.matrices = c.matrices;
    config.double_buffered = config.in_cols <= 16;
    return config;
  }
  void build_engine(bool sub = false) {
    engine_ = std::make_unique<TransposeEngine>("transpose", *clock_, context_,
                                                TransposeEngine::Parameters{});
    before_ = std::make_unique<Driver<StreamItem>>("before", *clock_, context_);
    after_ = std::make_unique<Collector<StreamItem>>("after", *clock_, context_);
    connect(*before_, before_->out, *engine_, engine_->in);
    connect(*engine_, sub ? engine_->sub_out : engine_->out, *after_, after_->in);
    bind_rest(*engine_);
    keep_awake(*after_, kTransposeEnd);
  }
  // One flit is ready at the engine in each cycle from 1 on.
  void send_all(const TransposeConfig& config, CommandId command = 0) {
    const uint64_t flits = config.matrices * config.in_flits();
    for (uint64_t i = 0; i < flits; ++i) before_->push_at(i, item(command, i, i + 1 == flits));
  }

  std::unique_ptr<TransposeEngine> engine_;
  std::unique_ptr<Driver<StreamItem>> before_;
  std::unique_ptr<Collector<StreamItem>> after_;
};

class TransposeTiming : public TransposeTimingBase,
                        public testing::WithParamInterface<TransposeCase> {};

// The first flit is taken in cycle 1, so the last column is given in cycle `cycles`, and arrives
// one later.
TEST_P(TransposeTiming, TakesTheDocumentedCycles) {
  const TransposeCase& c = GetParam();
  const TransposeConfig& config = add_transpose(c);
  build_engine();
  send_all(config);
  run();
  const std::vector<Cycle> arrived = after_->cycles();
  const uint64_t in = c.in_rows * c.packets;
  ASSERT_EQ(arrived.size(), c.matrices * c.out_rows);
  EXPECT_EQ(arrived.back(), c.cycles + 1);
  // A matrix is complete before its first column leaves, and its columns leave one a cycle.
  EXPECT_EQ(arrived.front(), in + 2);
  const uint64_t period = config.double_buffered ? std::max(in, c.out_rows) : in + c.out_rows;
  for (uint64_t i = 0; i < arrived.size(); ++i) {
    EXPECT_EQ(arrived[i], in + 2 + i / c.out_rows * period + i % c.out_rows) << i;
    const StreamItem& flit = after_->received[i].second;
    EXPECT_EQ(flit.index, i);
    EXPECT_EQ(flit.valid, c.in_rows);
    EXPECT_EQ(flit.last, i + 1 == arrived.size());
  }
  EXPECT_EQ(config.cycles(), c.cycles);
  // Something comes in or leaves in every cycle of it.
  engine_->finish(kTransposeEnd);
  EXPECT_EQ(cycles(*engine_, UnitState::kBusy), c.cycles);
  EXPECT_EQ(cycles(*engine_, UnitState::kIdle), kTransposeEnd - c.cycles);
  EXPECT_EQ(engine_->counters().items_in, c.matrices * in);
  EXPECT_EQ(engine_->counters().items_out, c.matrices * c.out_rows);
}

// in = in_rows x packets a row, out = out_rows, n matrices; double buffered up to 16 columns.
INSTANTIATE_TEST_SUITE_P(Examples, TransposeTiming,
                         testing::Values(
                             // 8 x 16 i8, D = 2 packets a row, B = 2: 16 + 1 x max(16, 16) + 16.
                             TransposeCase{"i8_8x16", 8, 2, 8, 16, 2, 32, 48},
                             // 4 x 2 i8: 4 + 0 + 2.
                             TransposeCase{"i8_4x2", 4, 1, 8, 2, 1, 32, 6},
                             // 32 columns, B = 2, single buffered: 2 x (32 + 32).
                             TransposeCase{"i8_8x32", 8, 4, 8, 32, 2, 32, 128},
                             // bf16 C = 8 matrices of D = 4 by E = 8: 4 + 7 x max(4, 8) + 8.
                             TransposeCase{"bf16_4x8", 4, 1, 8, 8, 8, 16, 68},
                             // i4 B = 4 matrices of 16 x 16: 16 + 3 x max(16, 16) + 16.
                             TransposeCase{"i4_16x16", 16, 1, 16, 16, 4, 64, 80},
                             // f32 B = 4 matrices of 2 x 8: 2 + 3 x max(2, 8) + 8.
                             TransposeCase{"f32_2x8", 2, 1, 8, 8, 4, 8, 34}),
                         [](const auto& info) { return info.param.name; });

// Where more comes in than leaves, the input sets the pace: 8 rows of 2 packets, 5 columns, 3
// matrices: 16 + 2 x max(16, 5) + 5 = 53.
TEST_F(TransposeTimingBase, MoreComesInThanLeaves) {
  const TransposeConfig& config = add_transpose({"", 8, 2, 8, 5, 3, 32, 53});
  build_engine();
  send_all(config);
  run();
  EXPECT_EQ(after_->cycles().back(), 53u + 1);
  EXPECT_EQ(after_->cycles()[5], 33u + 1) << "the second matrix is complete after 32 flits";
}

// While two matrices fill the buffers, the third waits: of 2 rows in and 8 columns out, flits 4 and
// 5 come in only when the first matrix has left (cycles 3 to 10), in cycles 11 and 12.
TEST_F(TransposeTimingBase, AThirdMatrixWaitsForTheFirst) {
  const TransposeConfig& config = add_transpose({"", 2, 1, 8, 8, 4, 8, 34});
  build_engine();
  send_all(config);
  run();
  // Pushed a cycle after room: the link holds 2 items; flits 0 to 3 are taken in 1 to 4, so that
  // flits 4 and 5 are in the link from 5 on and flit 6 follows when flit 4 was taken.
  EXPECT_THAT(before_->pushed, testing::ElementsAre(0, 1, 2, 3, 4, 5, 12, 13));
}

// A consumer that stops: the engine is blocked, takes what has room, and goes on where it was.
TEST_F(TransposeTimingBase, IsBlockedByWhoDoesNotTake) {
  const TransposeConfig& config = add_transpose({"", 4, 1, 8, 8, 2, 16, 20});
  build_engine();
  after_->first_cycle = 30;
  send_all(config);
  run();
  engine_->finish(kTransposeEnd);
  // Taken in 1 to 8 (both matrices fit); two columns leave in 5 and 6 into the link. The collector
  // takes from 30 on, so that the other 14 leave in 31 to 44.
  EXPECT_EQ(after_->cycles(), consecutive(30, 16));
  EXPECT_EQ(cycles(*engine_, UnitState::kBusy), 8u + 14);
  EXPECT_EQ(cycles(*engine_, UnitState::kBlocked), 22u);  // 9 to 30
  EXPECT_EQ(blamed(*engine_, "after"), 22u);
  EXPECT_EQ(cycles(*engine_, UnitState::kStarved), 0u);
}

// A producer that pauses: starved until its next flit, between the first and the last of a command.
TEST_F(TransposeTimingBase, IsStarvedByWhoDoesNotGive) {
  add_transpose({"", 4, 1, 8, 8, 1, 16, 12});
  build_engine();
  for (uint64_t i = 0; i < 4; ++i) before_->push_at(i < 2 ? i : 10 + i, item(0, i, i == 3));
  run();
  engine_->finish(kTransposeEnd);
  // Taken in 1, 2, 13 and 14; columns leave in 15 to 22.
  EXPECT_EQ(after_->cycles(), consecutive(16, 8));
  EXPECT_EQ(cycles(*engine_, UnitState::kStarved), 10u);  // 3 to 12
  EXPECT_EQ(blamed(*engine_, "before"), 10u);
}

// The columns of a sub command leave by the other exit.
TEST_F(TransposeTimingBase, SubLeavesBySubOut) {
  const TransposeConfig& config = add_transpose({"", 4, 1, 8, 2, 1, 32, 6});
  program_.commands[0].context = Context::kSub;
  build_engine(true);
  send_all(config);
  run();
  EXPECT_EQ(after_->cycles(), consecutive(6, 2));
}

// One command after the other, of other sizes; each begins with empty buffers.
TEST_F(TransposeTimingBase, OneCommandAfterTheOther) {
  add_transpose({"", 4, 1, 8, 2, 1, 32, 6});
  add_transpose({"", 2, 1, 8, 8, 1, 8, 10});
  build_engine();
  for (uint64_t i = 0; i < 4; ++i) before_->push_at(i, item(0, i, i == 3));
  for (uint64_t i = 0; i < 2; ++i) before_->push_at(20 + i, item(1, i, i == 1));
  run();
  std::vector<Cycle> expected = consecutive(6, 2);
  for (const Cycle cycle : consecutive(24, 8)) expected.push_back(cycle);
  EXPECT_EQ(after_->cycles(), expected);
  EXPECT_EQ(after_->received.back().second.command, 1u);
  engine_->finish(kTransposeEnd);
  EXPECT_EQ(cycles(*engine_, UnitState::kStarved), 0u) << "idle between the commands";
}

// Values: element `row` of column c is element c of flit `row`; the same cycles as without them.
TEST_F(TransposeTimingBase, MovesValues) {
  simulate_values(kSlices);
  add_transpose({"", 4, 1, 8, 3, 1, 16, 7});
  build_engine();
  for (uint64_t i = 0; i < 4; ++i) {
    before_->push_at(i, item(0, i, i == 3, block(DType::kBF16, 16, [i](uint32_t e, uint32_t s) {
                               return static_cast<uint32_t>(1000 * s + 100 * i + e);
                             })));
  }
  run();
  ASSERT_EQ(after_->cycles(), consecutive(6, 3));
  for (uint32_t column = 0; column < 3; ++column) {
    for (uint32_t row = 0; row < 4; ++row) {
      const Block& values = *after_->received[column].second.values;
      EXPECT_EQ(values.bits(row, 2), 2000 + 100 * row + column);
    }
  }
}

}  // namespace
}  // namespace rngdsim
