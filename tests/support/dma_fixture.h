// SPDX-License-Identifier: Apache-2.0
// For tests of DMA: engines between a data memory and HBM, wired as in the shipped topology (every
// link takes a cycle), and commands made by hand.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/dma_engine.h"
#include "memory/data_memory.h"
#include "memory/hbm_unit.h"
#include "tests/support/systemc_fixture.h"

namespace rngdsim::test {

class DmaTest : public SystemCTest {
 protected:
  static constexpr TensorId kHbm = 0, kHbmToo = 1, kDm = 2, kDmToo = 3;
  static constexpr uint64_t kSlice = uint64_t{4} << 20;  // from one slice to the next
  static constexpr uint64_t kDmn = 32 * kSlice;          // from one DMN to the next
  static constexpr uint64_t kCluster = uint64_t{256} * kSlice;

  void SetUp() override {
    SystemCTest::SetUp();
    program_.limits.dma_dm_to_hbm_in_turn = false;
    for (const MemoryKind memory :
         {MemoryKind::kHbm, MemoryKind::kHbm, MemoryKind::kDm, MemoryKind::kDm}) {
      TensorVersion tensor;
      tensor.memory = memory;
      program_.tensors.push_back(tensor);
    }
  }

  void build(size_t engines = 1, const DmaEngine::Parameters& parameters = {}) {
    memory_ =
        std::make_unique<DataMemory>("data_memory", *clock_, context_, DataMemory::Parameters{});
    hbm_ = std::make_unique<HbmUnit>("hbm", *clock_, context_, HbmUnit::Parameters{});
    for (size_t e = 0; e < engines; ++e) {
      DmaEngine::Parameters own = parameters;
      own.engine = e;
      engines_.push_back(std::make_unique<DmaEngine>(("dma_" + std::to_string(e)).c_str(), *clock_,
                                                     context_, own));
      DmaEngine& engine = *engines_.back();
      connect(engine, engine.hbm, *hbm_, hbm_->dma(e).request, 1, 4);
      connect(*hbm_, hbm_->dma(e).data, engine, engine.hbm_data, 1, 4);
      connect(engine, engine.dm, *memory_, memory_->dma(e).request, 1, 4);
      connect(*memory_, memory_->dma(e).data, engine, engine.dm_data, 1, 4);
      memory_->set_client("dma_" + std::to_string(e), &engine);
    }
    for (PortBase* port : memory_->ports()) {
      if (port->bound() || port->name().rfind("dma", 0) == 0) continue;
      if (clients_wanted_ && port->name() == "main_fetch") {
        client_ =
            std::make_unique<Driver<DmRequest>>("main_fetch", *clock_, context_, "dm request");
        connect(*client_, client_->out, *memory_, *port);
        memory_->set_client("main_fetch", client_.get());
        continue;
      }
      if (clients_wanted_ && port->name() == "main_fetch_data") {
        data_ = std::make_unique<Collector<StreamItem>>("data", *clock_, context_, "read data");
        connect(*memory_, *port, *data_, data_->in);
        continue;
      }
      links_.push_back(port->make_link("unused." + port->name() + "->unused.port", 1, 2));
      EXPECT_TRUE(port->bind(links_.back().get()));
    }
    memory_->elaborated();
    hbm_->elaborated();
  }

  using Loop = DmaConfig::Loop;
  static DmaConfig::Segment segment(uint64_t read, uint64_t write, std::vector<Loop> loops,
                                    uint64_t packet = 256, uint64_t engine = 0) {
    DmaConfig::Segment segment;
    segment.engine = engine;
    segment.read_base = read;
    segment.write_base = write;
    segment.loops = std::move(loops);
    segment.packet_bytes = packet;
    return segment;
  }
  CommandId add_dma(TensorId from, TensorId to, std::vector<DmaConfig::Segment> segments) {
    Command& command = add_command();
    command.context = Context::kDma;
    command.overhead = 0;
    command.dma.emplace().startup = program_.limits.dma_startup;
    command.dma->from = from;
    command.dma->to = to;
    command.dma->segments = std::move(segments);
    return command.id;
  }
  // Runs one DMA on engine 0 from cycle 0 on; returns the cycle in which it ended.
  Cycle run_dma(TensorId from, TensorId to, std::vector<DmaConfig::Segment> segments) {
    const CommandId id = add_dma(from, to, std::move(segments));
    if (memory_ == nullptr) build();
    engines_[0]->start(id, 0);
    run();
    EXPECT_EQ(monitor_.finished.size(), 1u);
    return monitor_.finished.empty() ? 0 : monitor_.finished[0].second;
  }

  std::unique_ptr<DataMemory> memory_;
  std::unique_ptr<HbmUnit> hbm_;
  std::vector<std::unique_ptr<DmaEngine>> engines_;
  bool clients_wanted_ = false;  // a driver at main_fetch
  std::unique_ptr<Driver<DmRequest>> client_;
  std::unique_ptr<Collector<StreamItem>> data_;
};

}  // namespace rngdsim::test
