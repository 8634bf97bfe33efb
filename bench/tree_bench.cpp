// SPDX-License-Identifier: Apache-2.0
// The hot loop of a contraction with values: products a second, by operand type.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <memory>

#include "channel/payload.h"
#include "engine/reduction_tree.h"

namespace rngdsim {
namespace {

BlockRef filled(BlockPool& pool, DType dtype, uint32_t elements) {
  BlockRef block = pool.allocate(dtype, elements);
  for (uint32_t e = 0; e < elements; ++e) {
    for (uint32_t s = 0; s < block->slices; ++s) {
      block->set_bits(e, s, from_double(dtype, 0.5 + 0.25 * ((e + s) % 7)));
    }
  }
  return block;
}

// One full 64 B packet, eight lanes, 256 slices.
void reduce_packet(benchmark::State& state, DType dtype, uint64_t depth,
                   VectorTarget target = VectorTarget::kBest) {
  BlockPool pool(256);
  OuterConfig outer;
  outer.stream_dtype = outer.trf_dtype = dtype;
  outer.accumulator = is_integer(dtype) ? DType::kI32 : DType::kF32;
  outer.lanes = 8;
  outer.pack_size = 2;
  outer.packet_elements = outer.read_elements = outer.slots = uint64_t{1} << depth;
  const auto half = static_cast<uint32_t>(outer.packet_elements / 2);
  const std::array<BlockRef, 2> flits = {filled(pool, dtype, half), filled(pool, dtype, half)};
  StreamItem::TrfOperand trf;
  trf.granule_elements = half;
  trf.min_exponent = 126;  // of 0.5, the smallest value: no sum can be subnormal
  for (int lane = 0; lane < 8; ++lane) {
    trf.lanes.push_back({filled(pool, dtype, half), filled(pool, dtype, half)});
  }
  BlockRef out = pool.allocate(outer.accumulator, 8);
  ReductionTree tree(target);
  ReductionTree::Shape shape;
  shape.depth = depth;
  shape.slices = 256;
  for (auto _ : state) {
    tree.reduce(outer, shape, flits, trf, *out);
    benchmark::DoNotOptimize(out->data.data());
  }
  state.counters["products"] =
      benchmark::Counter(static_cast<double>(state.iterations() * 8 * 256 * outer.packet_elements),
                         benchmark::Counter::kIsRate);
}

void tree_bf16(benchmark::State& state) { reduce_packet(state, DType::kBF16, 5); }
void tree_i8(benchmark::State& state) { reduce_packet(state, DType::kI8, 6); }
void tree_i4(benchmark::State& state) { reduce_packet(state, DType::kI4, 7); }
void tree_bf16_baseline(benchmark::State& state) {
  reduce_packet(state, DType::kBF16, 5, VectorTarget::kBaseline);
}
BENCHMARK(tree_bf16);
BENCHMARK(tree_bf16_baseline);
BENCHMARK(tree_i8);
BENCHMARK(tree_i4);

}  // namespace
}  // namespace rngdsim

BENCHMARK_MAIN();
