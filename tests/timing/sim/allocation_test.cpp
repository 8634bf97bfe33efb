// SPDX-License-Identifier: Apache-2.0
// Nothing allocates in the cycle loop: every call of operator new is counted, in every cycle.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "lowering/lower.h"
#include "memory/hbm.h"
#include "sim/limits.h"
#include "sim/run.h"

// g++ inlines one side of a pair of replaced operators and misses the other.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace {
std::atomic<uint64_t> allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  void* memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(size)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t size) { return counted(size, 0); }
void* operator new[](std::size_t size) { return counted(size, 0); }
void* operator new(std::size_t size, std::align_val_t align) {
  return counted(size, static_cast<std::size_t>(align));
}
void* operator new[](std::size_t size, std::align_val_t align) {
  return counted(size, static_cast<std::size_t>(align));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace rngdsim {
namespace {

// Counts what was allocated in cycles [begin, end).
class AllocationObserver final : public RunObserver {
 public:
  AllocationObserver(Cycle begin, Cycle end) : begin_(begin), end_(end) {}
  uint64_t in_window = 0, cycles = 0;

  void attached(const Program&, const std::vector<std::unique_ptr<Unit>>&,
                const std::vector<std::unique_ptr<LinkBase>>&) override {}
  void cycle_begins(Cycle now) override {
    const uint64_t sum = allocations;
    if (last_ >= begin_ && last_ < end_ && any_) {
      in_window += sum - before_;
      ++cycles;
    }
    before_ = sum;
    last_ = now;
    any_ = true;
  }
  void command_began(CommandId, Cycle) override {}
  void command_ended(CommandId, Cycle) override {}
  void pushed(uint32_t, Cycle, Cycle, const ItemTag&) override {}
  void popped(uint32_t, Cycle) override {}
  void refused(uint32_t, Cycle) override {}
  void touched(uint32_t, Cycle) override {}
  void finished(Cycle) override {}

 private:
  Cycle begin_, end_, last_ = 0;
  uint64_t before_ = 0;
  bool any_ = false;
};

AllocationObserver observed(const std::string& kernel, bool values, Cycle begin, Cycle end) {
  const std::string configs = RNGDSIM_SOURCE_DIR "/configs/";
  Diagnostics diagnostics;
  const TopologyDecl topology = load_topology(configs + "topologies/rngd.yaml", diagnostics);
  const MachineLimits limits = limits_from(topology, diagnostics);
  const Program program =
      lower(load_kernel(configs + "kernels/" + kernel + ".yaml", diagnostics), limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  AllocationObserver observer(begin, end);
  RunOptions options;
  options.values = values;
  options.observer = &observer;
  EXPECT_EQ(run_program(program, topology, options).status, RunStatus::kOk);
  return observer;
}

TEST(CycleLoop, TheCounterCounts) {
  const uint64_t before = allocations;
  void* const memory = ::operator new(4);  // an expression might be optimized away
  EXPECT_EQ(allocations, before + 1);
  ::operator delete(memory);
}

// gemm: its contraction reads from 1,043 on and writes until 1,571. The pipeline is full, and has
// seen every kind of item, once a first result has been written.
TEST(CycleLoop, AllocatesNothingWithoutValues) {
  const AllocationObserver observer = observed("gemm", false, 1'100, 1'560);
  EXPECT_EQ(observer.cycles, 460u);
  EXPECT_EQ(observer.in_window, 0u);
}

// Blocks come from the pool, which is warm by then; the pages of the destination (128 B, a row of
// all banks) are made when they are first written: 16 B every fourth cycle, two objects a page.
TEST(CycleLoop, AllocatesNothingButPagesWithValues) {
  const AllocationObserver observer = observed("gemm", true, 1'100, 1'560);
  EXPECT_EQ(observer.cycles, 460u);
  EXPECT_LE(observer.in_window, 2 * (460 / 4 * 16 / 128 + 1));
}

TEST(CycleLoop, AllocatesNothingInCopies) {
  // A copy fills its pipeline in the first thirteen cycles after 263.
  const AllocationObserver observer = observed("stream_copy", false, 290, 300);
  EXPECT_EQ(observer.cycles, 10u);
  EXPECT_EQ(observer.in_window, 0u);
}

// From the first request on, whatever it is: reads and writes that cross lines, queues that are
// full.
TEST(CycleLoop, HbmRequestsAllocateNothing) {
  Hbm hbm({});
  std::vector<HbmCompletion> done;
  done.reserve(20'000);
  const uint64_t before = allocations;
  HbmTime now = 0;
  uint64_t refused = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    const uint64_t address = i * 300 % (uint64_t{1} << 22);
    for (; !hbm.can_accept(address, 300); ++refused) {
      now = hbm.next_event();
      hbm.advance(now, done);
    }
    hbm.push(now, address, 300, i % 16 == 0, i);
  }
  while (hbm.next_event() != kHbmNever) hbm.advance(hbm.next_event(), done);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(done.size(), 20'000u);
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace rngdsim
