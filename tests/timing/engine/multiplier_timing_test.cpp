// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "engine/multiplier.h"
#include "support/diagnostic.h"
#include "tests/support/contraction.h"
#include "tests/support/systemc_fixture.h"

namespace rngdsim::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

class MultiplierTimingTest : public SystemCTest {
 protected:
  void build() {
    packets_ = std::make_unique<Driver<StreamItem>>("stream_adapter", *clock_, context_);
    operands_ =
        std::make_unique<Driver<StreamItem>>("trf_sequencer", *clock_, context_, "trf data");
    multiplier_ = std::make_unique<Multiplier>("multiplier", *clock_, context_);
    products_ = std::make_unique<Collector<StreamItem>>("packet_reducer", *clock_, context_);
    connect(*packets_, packets_->out, *multiplier_, multiplier_->stream);
    connect(*operands_, operands_->out, *multiplier_, multiplier_->trf);
    connect(*multiplier_, multiplier_->out, *products_, products_->in);
  }
  static StreamItem item(CommandId command, uint64_t index, bool last) {
    StreamItem result;
    result.command = command;
    result.index = index;
    result.last = last;
    return result;
  }
  CommandId contraction(uint64_t packets) {
    Command& command = add_command();
    command.outer = outer_config(DType::kI8, DType::kI8, 1, 2, packets);
    command.packet_reduce = PacketReduceConfig{5, 1};
    return command.id;
  }

  std::unique_ptr<Driver<StreamItem>> packets_, operands_;
  std::unique_ptr<Multiplier> multiplier_;
  std::unique_ptr<Collector<StreamItem>> products_;
};

TEST_F(MultiplierTimingTest, JoinsOnePairACycle) {
  const CommandId command = contraction(4);
  build();
  for (uint64_t i = 0; i < 4; ++i) {
    packets_->push_at(i, item(command, i, i == 3));
    operands_->push_at(i, item(command, i, i == 3));
  }
  run();
  EXPECT_THAT(products_->cycles(), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(multiplier_->activity(command).packets, 4u);
  EXPECT_EQ(multiplier_->activity(command).first, 1u);
  EXPECT_EQ(multiplier_->activity(command).last, 4u);
}

TEST_F(MultiplierTimingTest, WaitsForTheOperandAndBlamesTheTrfSequencer) {
  const CommandId command = contraction(2);
  build();
  packets_->push_at(0, item(command, 0, false));
  packets_->push_at(1, item(command, 1, true));
  operands_->push_at(0, item(command, 0, false));
  operands_->push_at(10, item(command, 1, true));
  multiplier_->finish(run());
  EXPECT_THAT(products_->cycles(), ElementsAre(2, 12));
  EXPECT_EQ(multiplier_->counters().cycles[static_cast<size_t>(UnitState::kStarved)],
            9u);  // 2 to 10
  EXPECT_THAT(multiplier_->counters().blamed, ElementsAre(Pair("trf_sequencer", 9u)));
}

TEST_F(MultiplierTimingTest, WaitsForThePacketAndBlamesTheStreamAdapter) {
  const CommandId command = contraction(2);
  build();
  packets_->push_at(0, item(command, 0, false));
  packets_->push_at(7, item(command, 1, true));
  operands_->push_at(0, item(command, 0, false));
  operands_->push_at(1, item(command, 1, true));
  multiplier_->finish(run());
  EXPECT_THAT(products_->cycles(), ElementsAre(2, 9));
  EXPECT_THAT(multiplier_->counters().blamed, ElementsAre(Pair("stream_adapter", 6u)));  // 2 to 7
}

TEST_F(MultiplierTimingTest, ACommandWithoutContractionNeedsNoOperand) {
  const CommandId command = add_command().id;
  build();
  packets_->push_at(0, item(command, 0, true));
  run();
  EXPECT_THAT(products_->cycles(), ElementsAre(2));
  EXPECT_EQ(multiplier_->activity(command).packets, 0u);
}

TEST_F(MultiplierTimingTest, MakesProductsWhereNothingReducesThem) {
  simulate_values(2);
  program_.tensors.push_back(trf_tensor("w", DType::kI8, 2, 1));
  const CommandId command = contraction(1);
  program_.commands[command].packet_reduce.reset();
  const std::vector<std::vector<uint8_t>> live;
  TrfStorage storage(program_, pool_.get(), live, 32);
  for (uint64_t lane = 0; lane < 2; ++lane) {
    storage.store(0, lane, 0, value_block(*pool_, DType::kI8, 32, [&](uint32_t e, uint32_t) {
                    return lane == 0 ? e : -1.0;
                  }));
  }
  build();
  StreamItem packet = item(command, 0, true);
  packet.flits[0] =
      value_block(*pool_, DType::kI8, 32, [](uint32_t, uint32_t s) { return 3.0 + s; });
  StreamItem operand = item(command, 0, true);
  operand.trf = storage.read(0, 0, 32, 2);
  packets_->push_at(0, packet);
  operands_->push_at(0, operand);
  run();
  ASSERT_EQ(products_->received.size(), 1u);
  const BlockRef& values = products_->received[0].second.values;
  ASSERT_TRUE(values);
  EXPECT_EQ(values->dtype, DType::kI32);
  ASSERT_EQ(values->elements, 64u);
  EXPECT_EQ(value_at(*values, 5, 1), 20);       // lane 0: 4 * 5
  EXPECT_EQ(value_at(*values, 32 + 5, 0), -3);  // lane 1
}

TEST_F(MultiplierTimingTest, OperandsOfAnotherPacketAreAnInternalError) {
  const CommandId command = contraction(2);
  build();
  packets_->push_at(0, item(command, 0, false));
  operands_->push_at(0, item(command, 1, false));
  EXPECT_THROW(run(), InternalError);
}

}  // namespace
}  // namespace rngdsim::test
