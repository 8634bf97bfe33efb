// SPDX-License-Identifier: Apache-2.0
// The whole way of a copy: Fetch, Fetch Adapter, Collect, Cast, Commit Adapter, Commit and the
// memory.
#include <gtest/gtest.h>

#include <memory>
#include <type_traits>

#include "engine/cast_engine.h"
#include "engine/collect.h"
#include "engine/commit_adapter.h"
#include "engine/commit_sequencer.h"
#include "engine/fetch_adapter.h"
#include "engine/fetch_sequencer.h"
#include "memory/data_memory.h"
#include "tests/support/stream_fixture.h"

namespace rngdsim {
namespace {

constexpr uint64_t kFlits = 24;
constexpr uint64_t kStart = 10;

class CopyChain : public test::StreamTest {
 protected:
  // One machine; several may run side by side.
  struct Chain {
    const RunContext* context = nullptr;
    std::unique_ptr<DataMemory> memory;
    std::unique_ptr<FetchSequencer> fetch;
    std::unique_ptr<FetchAdapter> adapter;
    std::unique_ptr<Collect> collect;
    std::unique_ptr<CastEngine> cast;
    std::unique_ptr<CommitAdapter> trim;
    std::unique_ptr<CommitSequencer> commit;

    std::vector<Unit*> units() {
      return {memory.get(), fetch.get(), adapter.get(), collect.get(),
              cast.get(),   trim.get(),  commit.get()};
    }
  };

  // 24 flits of 16 bf16 elements, flit i from byte i * from_stride to byte `to` + i * to_stride.
  void copy(uint64_t to, int64_t to_stride = 32, int64_t from_stride = 32) {
    from_stride_ = static_cast<uint64_t>(from_stride);
    add_tensor("a", DType::kBF16);
    add_tensor("c", DType::kBF16, to);
    Command& command = add_command();
    command.fetch = fetch(0, {{kFlits, from_stride / 2}, {16, 1}}, 16, 16, 32);
    CollectConfig config;
    config.dtype = DType::kBF16;
    config.packet_elements = config.flit_elements = 16;
    config.flits = kFlits;
    command.collect = config;
    command.commit = commit(1, {{kFlits, to_stride / 2}, {16, 1}}, 16, 16, 32);
  }
  void build(Chain& chain, const RunContext& context, const std::string& prefix = "") {
    auto make = [&](auto& unit, const std::string& name) {
      using Type = typename std::decay_t<decltype(unit)>::element_type;
      unit = std::make_unique<Type>((prefix + name).c_str(), *clock_, context,
                                    typename Type::Parameters());
    };
    chain.context = &context;
    make(chain.memory, "data_memory");
    make(chain.fetch, "main_fetch");
    make(chain.adapter, "fetch_adapter");
    make(chain.collect, "main_collect");
    make(chain.cast, "cast");
    make(chain.trim, "main_commit_adapter");
    make(chain.commit, "main_commit");
    connect(*chain.fetch, chain.fetch->request, *chain.memory, chain.memory->main_fetch);
    connect(*chain.memory, chain.memory->main_fetch_data, *chain.fetch, chain.fetch->data);
    connect(*chain.fetch, chain.fetch->out, *chain.adapter, chain.adapter->in);
    connect(*chain.adapter, chain.adapter->out, *chain.collect, chain.collect->in);
    connect(*chain.collect, chain.collect->out, *chain.cast, chain.cast->in);
    connect(*chain.cast, chain.cast->out, *chain.trim, chain.trim->in);
    connect(*chain.trim, chain.trim->out, *chain.commit, chain.commit->in);
    connect(*chain.commit, chain.commit->request, *chain.memory, chain.memory->main_commit);
    chain.memory->set_client("main_fetch", chain.fetch.get());
    chain.memory->set_client("main_commit", chain.commit.get());
    for (Unit* unit : chain.units()) bind_rest(*unit);
    if (context.values()) {
      for (uint32_t s = 0; s < kSlices; ++s) {
        for (uint64_t e = 0; e < 16 * kFlits; ++e) {
          const uint64_t byte = e / 16 * from_stride_ + e % 16 * 2;
          chain.memory->storage().poke(s, 8 * byte, DType::kBF16, value(e, s));
        }
      }
    }
    chain.fetch->start(0, kStart);
  }
  void finish(Chain& chain) {
    for (Unit* unit : chain.units()) {
      unit->finish(500);
      uint64_t sum = 0;
      for (uint64_t count : unit->counters().cycles) sum += count;
      EXPECT_EQ(sum, 500u) << unit->unit_name();
    }
  }
  // Runs chain_; the cycle in which the last write lands.
  Cycle land() {
    build(chain_, context_);
    run();
    finish(chain_);
    EXPECT_TRUE(monitor_.failures.empty());
    return monitor_.finished.empty() ? 0 : monitor_.finished[0].second;
  }
  static uint32_t value(uint64_t element, uint32_t slice) {
    return static_cast<uint32_t>(0x3f80 + 3 * element + 1000 * slice);
  }
  // Elements of the copy that hold what they should where flit i lies at `to` + i * stride.
  uint64_t right_elements(uint64_t to, uint64_t stride = 32) {
    uint64_t right = 0;
    for (uint32_t s = 0; s < kSlices; ++s) {
      for (uint64_t e = 0; e < 16 * kFlits; ++e) {
        const uint64_t byte = to + e / 16 * stride + e % 16 * 2;
        const auto seen = chain_.memory->storage().peek(s, 8 * byte, DType::kBF16);
        right += seen.valid && seen.bits == value(e, s) ? 1 : 0;
      }
    }
    return right;
  }

  uint64_t from_stride_ = 32;
  Chain chain_;
};

// A request of cycle c is granted in c + 1, its data are passed on in c + 2 and pass Fetch Adapter,
// Collect, Cast and Commit Adapter in c + 3 to c + 6; the write is asked for in c + 7 and lands in
// c + 8. Reading banks 4 i to 4 i + 3 and writing seven flits behind, the two never meet.
TEST_F(CopyChain, NoConflictWhereTheBanksAreDisjoint) {
  simulate_values(kSlices);
  copy(4096);
  EXPECT_EQ(land(), kStart + 8 + kFlits - 1);
  EXPECT_EQ(right_elements(4096), kSlices * 16 * kFlits);
  EXPECT_EQ(cycles(*chain_.fetch, UnitState::kBusy), kFlits);
  EXPECT_EQ(cycles(*chain_.fetch, UnitState::kConflict), 0u);
  EXPECT_EQ(cycles(*chain_.commit, UnitState::kBusy), kFlits);
  EXPECT_EQ(cycles(*chain_.commit, UnitState::kConflict), 0u);
}

// Three flits further the first write (in kStart + 8) wants the very banks of the read of its
// cycle, which wins. A cycle later the read is one flit further and out of the way, but the bubble
// runs back: it stops Commit Adapter, Cast, Collect, Fetch Adapter, Fetch and the memory's read one
// cycle after the other, which brings read and write together again in the eighth cycle. The reads
// last until kStart + 26, so this happens in kStart + 8, + 16 and + 24.
TEST_F(CopyChain, OneWrongBankCostsACycleInEight) {
  simulate_values(kSlices);
  copy(4096 + 96);
  EXPECT_EQ(land(), kStart + 8 + kFlits - 1 + 3);
  EXPECT_EQ(right_elements(4096 + 96), kSlices * 16 * kFlits);
}

TEST_F(CopyChain, TheSameBanksForEverythingCostTwice) {
  simulate_values(kSlices);
  copy(4096, 128, 128);
  EXPECT_EQ(land(), kStart + 2 * kFlits);
  EXPECT_EQ(right_elements(4096, 128), kSlices * 16 * kFlits);
  EXPECT_EQ(cycles(*chain_.memory, UnitState::kBusy), 2 * kFlits);
  EXPECT_GT(cycles(*chain_.commit, UnitState::kConflict), 0u);
  EXPECT_EQ(blamed(*chain_.commit, "main_fetch"), cycles(*chain_.commit, UnitState::kConflict));
  EXPECT_EQ(cycles(*chain_.fetch, UnitState::kConflict), 0u);  // the highest priority
  EXPECT_GT(cycles(*chain_.fetch, UnitState::kBlocked), 0u);
}

TEST_F(CopyChain, OneWrongStridePutsAllButTheFirstFlitElsewhere) {
  simulate_values(kSlices);
  copy(4096, 40);
  land();
  // The first flit is where it should be. Flit i lands 8 i bytes too far, over the start of where
  // flit i + 1 should be; no other element is where it should be.
  EXPECT_EQ(right_elements(4096), kSlices * 16u);
}

TEST_F(CopyChain, TakesTheSameCyclesWithoutValues) {
  copy(4096);
  EXPECT_EQ(land(), kStart + 8 + kFlits - 1);
  EXPECT_EQ(chain_.memory->storage().pages(), 0u);
}

TEST_F(CopyChain, ConflictsCostTheSameWithoutValues) {
  copy(4096, 128, 128);
  RunContext without = context_;
  simulate_values(kSlices);
  Chain other;
  build(other, without, "other_");
  land();
  ASSERT_EQ(monitor_.finished.size(), 2u);
  EXPECT_EQ(monitor_.finished[0].second, monitor_.finished[1].second);
  finish(other);
  for (size_t i = 0; i < other.units().size(); ++i) {
    EXPECT_EQ(other.units()[i]->counters().cycles, chain_.units()[i]->counters().cycles)
        << other.units()[i]->unit_name();
  }
}

}  // namespace
}  // namespace rngdsim
