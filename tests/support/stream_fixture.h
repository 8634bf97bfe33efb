// SPDX-License-Identifier: Apache-2.0
// For tests of units on the path of a stream: a machine of one cluster with three slices, and short
// ways to make items, blocks and sequencers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/systemc_fixture.h"

namespace rngdsim::test {

class StreamTest : public SystemCTest {
 protected:
  static constexpr uint32_t kSlices = 3;

  void SetUp() override {
    SystemCTest::SetUp();
    program_.limits.clusters = 1;
    program_.limits.slices = kSlices;
  }

  // Binds the ports that a test does not use to links that stay empty.
  void bind_rest(Unit& unit) {
    for (PortBase* port : unit.ports()) {
      if (port->bound()) continue;
      links_.push_back(port->make_link("unused." + port->name() + "->unused.port", 1, 2));
      EXPECT_TRUE(port->bind(links_.back().get()));
    }
  }
  // Ticks a unit in every cycle before `end`, so that it would see an item that is ready too early.
  static void keep_awake(Unit& unit, Cycle end) {
    for (Cycle cycle = 0; cycle < end; ++cycle) unit.wake_at(cycle);
  }

  static StreamItem item(CommandId command, uint64_t index, bool last, BlockRef values = {}) {
    StreamItem result;
    result.command = command;
    result.index = index;
    result.last = last;
    result.values = std::move(values);
    return result;
  }
  // Element e of slice s is bits(e, s).
  BlockRef block(DType dtype, uint32_t elements,
                 const std::function<uint32_t(uint32_t, uint32_t)>& bits) {
    BlockRef values = pool_->allocate(dtype, elements);
    for (uint32_t e = 0; e < elements; ++e) {
      for (uint32_t s = 0; s < kSlices; ++s) values->set_bits(e, s, bits(e, s));
    }
    return values;
  }
  TensorId add_tensor(const std::string& name, DType dtype, uint64_t address = 0) {
    TensorVersion tensor;
    tensor.name = name;
    tensor.dtype = dtype;
    tensor.address = address;
    program_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }
  // Loops over a tensor, `access` elements at a time.
  static FetchConfig fetch(TensorId tensor, std::vector<SequencerEntry> entries,
                           uint64_t packet_size, uint64_t access, uint64_t access_bytes) {
    FetchConfig config;
    config.tensor = tensor;
    config.sequencer.entries = std::move(entries);
    config.sequencer.packet_size = packet_size;
    config.access_elements = access;
    config.access_bytes = access_bytes;
    config.accesses = config.sequencer.positions() / access;
    config.accesses_per_packet = packet_size / access;
    config.packets = config.accesses / config.accesses_per_packet;
    return config;
  }
  static CommitConfig commit(TensorId tensor, std::vector<SequencerEntry> entries,
                             uint64_t flit_elements, uint64_t write, uint64_t write_bytes) {
    CommitConfig config;
    config.tensor = tensor;
    config.sequencer.entries = std::move(entries);
    config.sequencer.packet_size = flit_elements;
    config.write_elements = write;
    config.write_bytes = write_bytes;
    config.writes_per_flit = flit_elements / write;
    config.writes = config.sequencer.positions() / write;
    return config;
  }

  static uint64_t cycles(const Unit& unit, UnitState state) {
    return unit.counters().cycles[static_cast<size_t>(state)];
  }
  static uint64_t blamed(const Unit& unit, const std::string& on) {
    for (const auto& entry : unit.counters().blamed) {
      if (entry.first == on) return entry.second;
    }
    return 0;
  }
  // first, first + 1, ... : `count` cycles.
  static std::vector<Cycle> consecutive(Cycle first, size_t count) {
    std::vector<Cycle> result(count);
    for (size_t i = 0; i < count; ++i) result[i] = first + i;
    return result;
  }
};

}  // namespace rngdsim::test
