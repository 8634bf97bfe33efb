// SPDX-License-Identifier: Apache-2.0
// Stores into the Vector Register File: a flit a port a cycle, never refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "memory/vrf.h"
#include "support/diagnostic.h"
#include "tests/support/stream_fixture.h"

namespace rngdsim {
namespace {

using test::Driver;
using testing::ElementsAre;
using testing::Pair;

class VrfTest : public test::StreamTest {
 protected:
  // A command that stores `flits` flits of `elements` of 8 into a tensor at `address`.
  CommandId store(uint64_t flits, uint64_t elements = 8, uint64_t address = 0) {
    ToVrfConfig config;
    config.tensor = add_tensor("v", DType::kI32, address);
    config.flits = flits;
    config.flit_elements = elements;
    TensorVersion& tensor = program_.tensors[config.tensor];
    tensor.memory = MemoryKind::kVrf;
    tensor.element = Mapping::broadcast(flits * elements);
    tensor.bytes = 4 * flits * elements;
    Command& command = add_command();
    command.to_vrf = config;
    return command.id;
  }
  void build() {
    vrf = std::make_unique<Vrf>("vrf", *clock_, context_, Vrf::Parameters{});
    main = std::make_unique<Driver<StreamItem>>("main", *clock_, context_);
    sub = std::make_unique<Driver<StreamItem>>("sub", *clock_, context_);
    vector = std::make_unique<Driver<StreamItem>>("vector", *clock_, context_);
    connect(*main, main->out, *vrf, vrf->main_store);
    connect(*sub, sub->out, *vrf, vrf->sub_store);
    connect(*vector, vector->out, *vrf, vrf->vector_store);
    keep_awake(*vrf, 20);
  }
  // A flit a cycle from `begin` on; element e of flit f of slice s is 1000 f + 10 e + s.
  void send(Driver<StreamItem>& from, CommandId id, Cycle begin) {
    const uint64_t flits = program_.commands[id].to_vrf->flits;
    for (uint64_t f = 0; f < flits; ++f) {
      BlockRef values;
      if (context_.values()) {
        values = block(DType::kI32, 8, [f](uint32_t e, uint32_t s) {
          return static_cast<uint32_t>(1000 * f + 10 * e + s);
        });
      }
      from.push_at(begin + f, item(id, f, f + 1 == flits, std::move(values)));
    }
  }

  std::unique_ptr<Vrf> vrf;
  std::unique_ptr<Driver<StreamItem>> main, sub, vector;
};

// Pushed in 0 to 2, stored in 1 to 3; the command ends with the last.
TEST_F(VrfTest, StoresAFlitACycleAndEndsTheCommand) {
  simulate_values(kSlices);
  const CommandId id = store(3);
  build();
  send(*main, id, 0);
  run();
  EXPECT_THAT(monitor_.finished, ElementsAre(Pair(id, 3u)));
  EXPECT_EQ(vrf->peek(0, 0, 0), 0u);
  EXPECT_EQ(vrf->peek(0, 17, 2), 2012u);  // flit 2, element 1
  vrf->finish(20);
  EXPECT_EQ(cycles(*vrf, UnitState::kBusy), 3u);
  EXPECT_EQ(cycles(*vrf, UnitState::kIdle), 17u);
  EXPECT_EQ(vrf->counters().items_in, 3u);
}

// Three ports, three stores in one cycle: nobody waits.
TEST_F(VrfTest, PortsDoNotHinderEachOther) {
  const CommandId a = store(2, 8, 0), b = store(2, 8, 64), c = store(2, 8, 128);
  build();
  send(*main, a, 0);
  send(*sub, b, 0);
  send(*vector, c, 0);
  run();
  EXPECT_THAT(monitor_.finished,
              testing::UnorderedElementsAre(Pair(a, 2u), Pair(b, 2u), Pair(c, 2u)));
  vrf->finish(20);
  EXPECT_EQ(cycles(*vrf, UnitState::kBusy), 2u);
  EXPECT_EQ(vrf->counters().items_in, 6u);
}

// Packet of 3 elements: a flit adds 3.
TEST_F(VrfTest, OnlyTheElementsOfPacketAreStored) {
  simulate_values(kSlices);
  const CommandId id = store(2, 3);
  build();
  send(*sub, id, 0);
  run();
  const std::vector<uint32_t> expected = {1, 11, 21, 1001, 1011, 1021};
  for (uint32_t e = 0; e < 6; ++e) EXPECT_EQ(vrf->peek(0, e, 1), expected[e]) << e;
  EXPECT_EQ(vrf->peek(0, 6, 1), std::nullopt);
}

TEST_F(VrfTest, CountsBytesASlice) {
  const CommandId id = store(2, 3);
  build();
  send(*sub, id, 0);
  run();
  for (int i = 0; i < 5; ++i) vrf->read(0, 1, nullptr, nullptr);  // timing only
  vrf->finish(20);
  UnitCounters counters;
  vrf->add_extra_counters(counters);
  EXPECT_THAT(counters.extra, ElementsAre(Pair("vrf_read", 5u * 4), Pair("vrf_write", 6u * 4)));
}

TEST_F(VrfTest, StarvedBetweenTheFlitsOfACommand) {
  store(2);
  build();
  vector->push_at(0, item(0, 0, false));
  vector->push_at(10, item(0, 1, true));
  run();
  vrf->finish(20);
  EXPECT_EQ(cycles(*vrf, UnitState::kStarved), 9u);  // 2 to 10
  EXPECT_EQ(blamed(*vrf, "vector"), 9u);
}

TEST_F(VrfTest, AFlitOfAnotherCommandIsABrokenInvariant) {
  store(1);
  add_command();
  build();
  main->push_at(0, item(1, 0, true));
  EXPECT_THROW(run(), InternalError);
}

}  // namespace
}  // namespace rngdsim
