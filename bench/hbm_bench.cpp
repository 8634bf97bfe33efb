// SPDX-License-Identifier: Apache-2.0
// Requests of 256 B a second through the HBM of a chip, queues kept full: a stream of neighbours,
// random lines, and a stream that an engine of 256 B a cycle asks for.
#include <benchmark/benchmark.h>

#include "memory/hbm.h"
#include "numeric/random.h"

namespace rngdsim {
namespace {

constexpr uint64_t kHbmRequests = 1 << 17;

template <typename AddressOf>
HbmTime read_all(AddressOf address_of, HbmTime time_between) {
  Hbm hbm({});
  std::vector<HbmCompletion> done;
  HbmTime now = 0;
  for (uint64_t i = 0; i < kHbmRequests; ++i) {
    const uint64_t address = address_of(i);
    if (time_between != 0) {
      now += time_between;
      hbm.advance(now, done);
    }
    while (!hbm.can_accept(address, 256)) {
      now = hbm.next_event();
      hbm.advance(now, done);
    }
    hbm.push(now, address, 256, false, i);
    if (done.size() > 1024) done.clear();
  }
  while (hbm.next_event() != kHbmNever) {
    now = hbm.next_event();
    hbm.advance(now, done);
  }
  return now;
}

void count_requests(benchmark::State& state, HbmTime end) {
  const auto rate = benchmark::Counter::kIsRate;
  state.counters["requests"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kHbmRequests), rate);
  state.counters["bytes_a_cycle"] =
      static_cast<double>(kHbmRequests * 256) / static_cast<double>(HbmClocks{}.cycle_of(end));
}

void hbm_sequential(benchmark::State& state) {
  HbmTime end = 0;
  for (auto _ : state) end = read_all([](uint64_t i) { return i * 256; }, 0);
  count_requests(state, end);
}
void hbm_random(benchmark::State& state) {
  HbmTime end = 0;
  const uint64_t lines = HbmAddress({}).size() / 256;
  for (auto _ : state) {
    end = read_all([lines](uint64_t i) { return hash64(1, i) % lines * 256; }, 0);
  }
  count_requests(state, end);
}
void hbm_one_engine(benchmark::State& state) {
  HbmTime end = 0;
  const HbmTime cycle = HbmClocks{}.chip_period();
  for (auto _ : state) end = read_all([](uint64_t i) { return i * 256; }, cycle);
  count_requests(state, end);
}
BENCHMARK(hbm_sequential);
BENCHMARK(hbm_random);
BENCHMARK(hbm_one_engine);

}  // namespace
}  // namespace rngdsim

BENCHMARK_MAIN();
