// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "engine/stream_source.h"
#include "support/diagnostic.h"
#include "tests/support/stream_fixture.h"

namespace rngdsim {
namespace {

using test::Collector;
using test::Driver;
using testing::ElementsAre;

// Items enter a link that has a producer of its own.
class StreamSourceTest : public test::StreamTest {
 protected:
  void build() {
    source = std::make_unique<StreamSource>("main_stream", *clock_, context_,
                                            StreamSource::Parameters());
    producer = std::make_unique<Driver<StreamItem>>("producer", *clock_, context_);
    after = std::make_unique<Collector<StreamItem>>("after", *clock_, context_);
    connect(*producer, producer->out, *after, after->in);
    source->add_entry("elsewhere", nullptr);
    source->add_entry("collect", producer->out.get());
    keep_awake(*after, 40);
  }
  void stream(uint64_t items, const std::string& entry) {
    Command& command = add_command();
    command.stream = StreamEntryConfig();
    command.stream->items = items;
    command.entry_stage = entry;
    command.source.dtype = DType::kI8;
    command.source.packet = Mapping::broadcast(4);
  }
  std::unique_ptr<StreamSource> source;
  std::unique_ptr<Driver<StreamItem>> producer;
  std::unique_ptr<Collector<StreamItem>> after;
};

TEST_F(StreamSourceTest, OneItemACycleFromTheStartCycleOn) {
  stream(4, "collect");
  build();
  source->start(0, 9);
  run();
  EXPECT_THAT(after->cycles(), ElementsAre(10, 11, 12, 13));
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(after->received[i].second.index, i);
    EXPECT_EQ(after->received[i].second.last, i == 3);
    EXPECT_FALSE(after->received[i].second.values);
  }
  source->finish(30);
  EXPECT_EQ(cycles(*source, UnitState::kBusy), 4u);
  EXPECT_EQ(cycles(*source, UnitState::kIdle), 26u);
}

TEST_F(StreamSourceTest, FillsTheValues) {
  simulate_values(kSlices);
  stream(2, "collect");
  build();
  source->set_fill([](CommandId command, uint64_t index, Block& block) {
    for (uint32_t e = 0; e < block.elements; ++e) {
      for (uint32_t s = 0; s < block.slices; ++s) {
        block.set_bits(e, s, static_cast<uint32_t>(command + 16 * index + e));
      }
    }
  });
  source->start(0, 0);
  run();
  ASSERT_EQ(after->received.size(), 2u);
  const Block& values = *after->received[1].second.values;
  EXPECT_EQ(values.elements, 4u);
  EXPECT_EQ(values.dtype, DType::kI8);
  EXPECT_EQ(values.bits(3, 2), 19u);
}

TEST_F(StreamSourceTest, BackPressure) {
  stream(4, "collect");
  build();
  after->first_cycle = 20;
  source->start(0, 0);
  run();
  EXPECT_EQ(after->cycles(), consecutive(20, 4));
  source->finish(30);
  EXPECT_EQ(cycles(*source, UnitState::kBlocked), 19u);  // 2 to 20
  EXPECT_EQ(blamed(*source, "after"), 19u);
}

TEST_F(StreamSourceTest, UnknownEntriesAndSecondCommandsAreInternalErrors) {
  stream(4, "nowhere");
  stream(4, "collect");
  add_command();
  build();
  EXPECT_THROW(source->start(0, 0), InternalError);
  EXPECT_THROW(source->start(2, 0), InternalError);
  source->start(1, 0);
  EXPECT_THROW(source->start(1, 0), InternalError);
}

}  // namespace
}  // namespace rngdsim
