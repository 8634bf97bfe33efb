// SPDX-License-Identifier: Apache-2.0
// The contract of a link: an item pushed in cycle c can be popped from c + latency on, space freed
// in c can be used from c + 1 on, whichever side is evaluated first.
#include "channel/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace rngdsim {
namespace {

using testing::ElementsAre;

struct Sleeper final : Wakeable {
  void wake_at(Cycle cycle) override { woken.push_back(cycle); }
  std::vector<Cycle> woken;
};

TEST(Link, NamesBothEnds) {
  Link<int> link("main_fetch.out->fetch_adapter.in", 1, 2);
  EXPECT_EQ(link.name(), "main_fetch.out->fetch_adapter.in");
  EXPECT_EQ(link.producer_unit(), "main_fetch");
  EXPECT_EQ(link.consumer_unit(), "fetch_adapter");
}

class LinkLatency : public testing::TestWithParam<Cycle> {};

TEST_P(LinkLatency, ItemIsReadyAfterTheLatencyAndNotBefore) {
  const Cycle latency = GetParam();
  Link<int> link("a.out->b.in", latency, 4);
  link.push(100, 7);
  EXPECT_TRUE(link.in_flight());
  EXPECT_FALSE(link.can_pop(100));
  EXPECT_FALSE(link.can_pop(100 + latency - 1));
  ASSERT_TRUE(link.can_pop(100 + latency));
  EXPECT_TRUE(link.can_pop(100 + latency + 50));  // it waits there
  EXPECT_EQ(link.next_ready(), 100 + latency);
  EXPECT_EQ(link.front(), 7);
  EXPECT_EQ(link.pop(100 + latency), 7);
  EXPECT_FALSE(link.in_flight());
}

INSTANTIATE_TEST_SUITE_P(Latencies, LinkLatency, testing::Values(1, 2, 5, 100));

TEST(Link, ExtraCyclesLengthenTheWayOfOneItem) {
  Link<int> link("a.out->b.in", 1, 4);
  link.push(10, 1, 6);
  EXPECT_FALSE(link.can_pop(16));
  EXPECT_TRUE(link.can_pop(17));
}

TEST(Link, ItemsStayInOrderBehindASlowOne) {
  Link<int> link("a.out->b.in", 1, 4);
  link.push(10, 1, 6);  // ready at 17
  link.push(11, 2);     // alone it would be ready at 12
  EXPECT_FALSE(link.can_pop(16));
  ASSERT_TRUE(link.can_pop(17));
  EXPECT_EQ(link.pop(17), 1);
  ASSERT_TRUE(link.can_pop(17));
  EXPECT_EQ(link.pop(17), 2);
}

TEST(Link, HoldsAsManyItemsAsItsDepth) {
  for (uint64_t depth : {1, 2, 7}) {
    Link<int> link("a.out->b.in", 1, depth);
    uint64_t pushed = 0;
    while (link.can_push(0)) {
      link.push(0, 0);
      ++pushed;
    }
    EXPECT_EQ(pushed, depth);
    EXPECT_EQ(link.occupancy(), depth);
    EXPECT_EQ(link.items(), depth);
  }
}

TEST(Link, FreedSpaceIsUsableInTheNextCycleOnly) {
  Link<int> link("a.out->b.in", 1, 1);
  link.push(0, 1);
  link.pop(5);
  EXPECT_FALSE(link.can_push(5));  // whoever is evaluated later in cycle 5 must not see it
  EXPECT_TRUE(link.can_push(6));
}

TEST(Link, SpaceThatWasFreeBeforeStaysUsableInTheCycleOfAPop) {
  Link<int> link("a.out->b.in", 1, 2);
  link.push(0, 1);
  link.pop(5);
  EXPECT_TRUE(link.can_push(5));  // one of the two places was free all the time
  link.push(5, 2);
  EXPECT_FALSE(link.can_push(5));
  EXPECT_TRUE(link.can_push(6));
}

// Items that a producer and a consumer who never wait can move in `cycles` cycles.
uint64_t moved(uint64_t latency, uint64_t depth, Cycle cycles, bool producer_first) {
  Link<int> link("a.out->b.in", latency, depth);
  uint64_t popped = 0;
  for (Cycle now = 0; now < cycles; ++now) {
    for (const bool produce : {producer_first, !producer_first}) {
      if (produce && link.can_push(now)) link.push(now, 0);
      if (!produce && link.can_pop(now)) {
        link.pop(now);
        ++popped;
      }
    }
  }
  return popped;
}

TEST(Link, FullRateNeedsDepthOfLatencyPlusOne) {
  // A place is taken from the push in c to the pop in c + latency, and free again one later:
  // latency + 1 cycles an item. 100 items at one a cycle, the first after the latency.
  for (const bool producer_first : {true, false}) {
    EXPECT_EQ(moved(1, 2, 101, producer_first), 100u);
    EXPECT_EQ(moved(3, 4, 103, producer_first), 100u);
    EXPECT_EQ(moved(1, 1, 101, producer_first), 50u);  // every other cycle
    EXPECT_EQ(moved(3, 3, 103, producer_first), 75u);  // three of four
    EXPECT_EQ(moved(3, 1, 103, producer_first), 25u);
    EXPECT_EQ(moved(1, 64, 101, producer_first), 100u);  // more depth is no faster
  }
}

TEST(Link, WakesTheConsumerWhenTheHeadIsReadyAndTheProducerAfterAPop) {
  Link<int> link("a.out->b.in", 3, 4);
  Sleeper producer, consumer;
  link.connect(&producer, &consumer);
  link.push(10, 1);
  link.push(11, 2, 5);
  EXPECT_THAT(consumer.woken, ElementsAre(13u));
  EXPECT_TRUE(producer.woken.empty());
  link.pop(13);
  EXPECT_THAT(producer.woken, ElementsAre(14u));
  EXPECT_THAT(consumer.woken, ElementsAre(13u, 19u));  // the item behind
  link.push(14, 3);
  link.pop(19);  // late for the third item, ready since 19
  EXPECT_THAT(consumer.woken, ElementsAre(13u, 19u, 20u));
  link.pop(20);
  EXPECT_EQ(consumer.woken.size(), 3u);  // nothing is left
}

// ---- Stalls: cycles without space, from the one in which the producer asked -------------------

TEST(LinkStalls, RunFromTheRefusalToTheLastCycleWithoutSpace) {
  Link<int> link("a.out->b.in", 1, 1);
  link.push(0, 1);
  EXPECT_FALSE(link.can_push(3));  // refused in 3, and in 4 to 7 too; the producer sleeps
  link.pop(7);                     // space from 8 on
  EXPECT_TRUE(link.can_push(8));
  EXPECT_EQ(link.stalled(), 5u);
}

TEST(LinkStalls, AskingOftenCountsOnce) {
  Link<int> link("a.out->b.in", 1, 1);
  link.push(0, 1);
  for (Cycle now = 3; now <= 7; ++now) {
    EXPECT_FALSE(link.can_push(now));
    EXPECT_FALSE(link.can_push(now));
  }
  link.pop(7);
  EXPECT_EQ(link.stalled(), 5u);
}

TEST(LinkStalls, DoNotDependOnWhoIsEvaluatedFirst) {
  Link<int> producer_first("a.out->b.in", 1, 1);
  producer_first.push(0, 1);
  EXPECT_FALSE(producer_first.can_push(7));
  producer_first.pop(7);
  Link<int> consumer_first("a.out->b.in", 1, 1);
  consumer_first.push(0, 1);
  consumer_first.pop(7);
  EXPECT_FALSE(consumer_first.can_push(7));
  EXPECT_FALSE(consumer_first.can_push(7));
  EXPECT_EQ(producer_first.stalled(), 1u);
  EXPECT_EQ(consumer_first.stalled(), 1u);
}

TEST(LinkStalls, AreNoneWhereTheProducerDidNotAsk) {
  Link<int> link("a.out->b.in", 1, 1);
  link.push(0, 1);
  link.pop(50);
  link.finish(60);
  EXPECT_EQ(link.stalled(), 0u);
}

TEST(LinkStalls, LastToTheEndOfTheRun) {
  Link<int> link("a.out->b.in", 1, 1);
  link.push(0, 1);
  EXPECT_FALSE(link.can_push(10));
  link.finish(25);  // cycles 10 to 24
  EXPECT_EQ(link.stalled(), 15u);
}

// ---- Ports ------------------------------------------------------------------------------------

TEST(Port, BindsALinkOfItsOwnItemTypeOnly) {
  LinkOut<int> out("out", "stream");
  LinkIn<int> in("in", "stream");
  LinkIn<double> other("in", "numbers");
  EXPECT_EQ(out.direction(), PortBase::Direction::kOut);
  EXPECT_EQ(in.direction(), PortBase::Direction::kIn);
  EXPECT_EQ(other.item(), "numbers");
  EXPECT_FALSE(out.bound());
  const auto link = out.make_link("a.out->b.in", 2, 3);
  EXPECT_EQ(link->latency(), 2u);
  EXPECT_EQ(link->depth(), 3u);
  EXPECT_TRUE(out.bind(link.get()));
  EXPECT_TRUE(in.bind(link.get()));
  EXPECT_TRUE(out.bound());
  EXPECT_FALSE(other.bind(link.get()));
  EXPECT_FALSE(other.bound());
  EXPECT_EQ(out.get(), in.get());
}

}  // namespace
}  // namespace rngdsim
