// SPDX-License-Identifier: Apache-2.0
// The vectorised multiplier and adder tree against the definition: one product and one sum at a
// time, pairwise, every f32 operation flushed. Bit for bit, for all operand pairs, with poison,
// infinities, NaNs and subnormals, and for exponents on both sides of where the plain path must
// give way.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "engine/reduction_tree.h"
#include "numeric/arithmetic.h"
#include "numeric/random.h"
#include "tests/support/contraction.h"

namespace rngdsim {
namespace {

using test::row_elements;

// How the random operands look.
enum class Values { kUsual, kAnyCode, kTiny, kZerosAndSpecials };

class Random {
 public:
  explicit Random(uint64_t seed) : seed_(seed) {}
  // For kTiny: the lowest biased exponents of both operands add up to 138 to 146, so that the plain
  // path (from 142 on) is taken and not taken.
  void next_exponent() { lowest_exponent_ = 69 + below(5); }
  uint64_t below(uint64_t n) { return hash64(seed_, index_++) % n; }
  bool chance(uint64_t percent) { return below(100) < percent; }
  uint32_t bits(DType dtype, Values values) {
    const auto any = static_cast<uint32_t>(below(uint64_t{1} << value_bits(dtype)));
    if (!is_float(dtype)) return values == Values::kZerosAndSpecials && chance(50) ? 0 : any;
    switch (values) {
      case Values::kUsual:
        return random_bits(dtype, seed_, index_++, -1, 1);
      case Values::kAnyCode:
        return any;
      case Values::kTiny:
        if (dtype != DType::kBF16) return any;
        // Mantissas whose products often differ by the least possible, 2^-14 of the smallest one.
        return (any & 0x8000) | static_cast<uint32_t>(below(3)) |
               static_cast<uint32_t>(lowest_exponent_ + below(10) / 9) << 7;
      default:
        break;
    }
    if (chance(40)) return 0;
    if (chance(40)) return random_bits(dtype, seed_, index_++, -1, 1);
    if (dtype != DType::kBF16) return any;
    const uint32_t specials[] = {0x7f80, 0xff80, 0x7fc0, 0xffff, 0x0001, 0x807f,
                                 0x8000, 0x0080, 0x8080, 0x7f7f, 0xff7f};
    return specials[below(std::size(specials))];
  }

 private:
  uint64_t seed_;
  uint64_t index_ = 0;
  uint64_t lowest_exponent_ = 69;
};

struct Operand {
  uint32_t wide = 0;  // f32 or i32 bits
  bool valid = false;
  bool zero(bool floats) const { return floats ? (wide & 0x7fffffff) == 0 : wide == 0; }
};

Operand operand(const BlockRef& block, uint32_t row, uint32_t slice, DType accumulator) {
  if (!block || !block->is_valid(row, slice)) return {};
  return {convert(block->dtype, accumulator, block->bits(row, slice)), true};
}

// Multiplies and sums by the definition.
Operand product(const Operand& a, const Operand& b, bool floats) {
  // What is invalid multiplies as +0.
  const uint32_t x = a.valid ? a.wide : 0, y = b.valid ? b.wide : 0;
  Operand result;
  result.valid = (a.valid && b.valid) || (a.valid && a.zero(floats)) || (b.valid && b.zero(floats));
  result.wide =
      floats ? bits_of(mul_f32(float_of(x), float_of(y)))
             : static_cast<uint32_t>(mul_i32(static_cast<int32_t>(x), static_cast<int32_t>(y)));
  return result;
}

Operand tree(std::vector<Operand> level, bool floats) {
  while (level.size() > 1) {
    std::vector<Operand> next;
    for (size_t i = 0; i < level.size(); i += 2) {
      const Operand &a = level[i], &b = level[i + 1];
      next.push_back(
          {floats ? bits_of(add_f32(float_of(a.wide), float_of(b.wide))) : a.wide + b.wide,
           a.valid && b.valid});
    }
    level = std::move(next);
  }
  return level[0];
}

struct Pair {
  DType stream, trf;
};

class ReductionTreeProperty : public testing::TestWithParam<Pair> {};

void check(const Pair& pair, uint64_t seed) {
  Random random(seed);
  const auto values = static_cast<Values>(random.below(4));
  const bool poisoned = random.chance(30);
  const auto slices = static_cast<uint32_t>(1 + random.below(150));
  const auto used = static_cast<uint32_t>(1 + random.below(slices));
  BlockPool pool(slices);

  OuterConfig outer = test::outer_config(pair.stream, pair.trf, 1 + random.below(2),
                                         uint64_t{1} << random.below(4));
  const uint64_t granule = row_elements(pair.trf);
  outer.read_elements = outer.packet_elements >> random.below(3);
  outer.read_bytes = outer.read_elements * static_cast<uint64_t>(memory_bits(pair.trf)) / 8;
  uint64_t max_depth = 0;
  while (outer.packet_elements >> (max_depth + 1) != 0) ++max_depth;
  ReductionTree::Shape shape;
  shape.depth = random.below(max_depth + 1);
  shape.columns = 1 + random.below(outer.packet_elements >> shape.depth);
  shape.slices = used;

  // Dead slices hold anything.
  std::vector<std::vector<uint8_t>> live(1);
  for (uint32_t s = 0; s < slices; ++s) live[0].push_back(random.chance(90));
  if (random.chance(50)) shape.live = live[0].data();

  const auto random_block = [&](DType dtype) {
    BlockRef block = test::bits_block(pool, dtype, row_elements(dtype), [&](uint32_t, uint32_t s) {
      return random.bits(dtype, live[0][s] != 0 ? values : Values::kAnyCode);
    });
    if (poisoned && random.chance(60)) {
      for (uint64_t i = 0; i < slices; ++i) {
        test::poison(*block, static_cast<uint32_t>(random.below(block->elements)),
                     static_cast<uint32_t>(random.below(slices)));
      }
    }
    return block;
  };
  std::array<BlockRef, 2> flits;
  random.next_exponent();
  for (uint64_t f = 0; f < outer.pack_size; ++f) flits[f] = random_block(pair.stream);

  Program program;
  program.tensors.push_back(test::trf_tensor("w", pair.trf, outer.lanes, 4));
  TrfStorage storage(program, &pool, live, 32);
  std::vector<BlockRef> rows(outer.lanes * 4);
  random.next_exponent();
  for (uint64_t i = 0; i < rows.size(); ++i) {
    if (poisoned && random.chance(5)) continue;  // never written
    rows[i] = random_block(pair.trf);
    storage.store(0, i / 4, i % 4, rows[i]);
  }
  const uint64_t first = outer.read_elements * random.below(4 * granule / outer.read_elements);
  const auto read = storage.read(0, first, outer.read_elements, outer.lanes);

  const BlockRef out =
      pool.allocate(outer.accumulator, static_cast<uint32_t>(outer.lanes * shape.columns));
  ReductionTree reducer;
  reducer.reduce(outer, shape, flits, *read, *out);

  // Both builds of the loops: the same bits, in dead slices too.
  const BlockRef baseline =
      pool.allocate(outer.accumulator, static_cast<uint32_t>(outer.lanes * shape.columns));
  ReductionTree(VectorTarget::kBaseline).reduce(outer, shape, flits, *read, *baseline);
  ASSERT_EQ(baseline->all_valid, out->all_valid) << "seed " << seed;
  for (uint32_t row = 0; row < out->elements; ++row) {
    for (uint32_t s = 0; s < used; ++s) {
      ASSERT_EQ(baseline->bits(row, s), out->bits(row, s)) << "seed " << seed << " row " << row;
    }
  }

  const bool floats = is_float(pair.stream);
  const uint64_t flit_elements = outer.packet_elements / outer.pack_size;
  for (uint64_t lane = 0; lane < outer.lanes; ++lane) {
    for (uint64_t column = 0; column < shape.columns; ++column) {
      for (uint32_t s = 0; s < used; ++s) {
        if (live[0][s] == 0) continue;
        std::vector<Operand> products;
        for (uint64_t e = column << shape.depth; e < (column + 1) << shape.depth; ++e) {
          const uint64_t at = first + e % outer.read_elements;
          products.push_back(
              product(operand(flits[e / flit_elements], static_cast<uint32_t>(e % flit_elements), s,
                              outer.accumulator),
                      operand(rows[lane * 4 + at / granule], static_cast<uint32_t>(at % granule), s,
                              outer.accumulator),
                      floats));
        }
        const Operand expected = tree(std::move(products), floats);
        const auto row = static_cast<uint32_t>(lane * shape.columns + column);
        ASSERT_EQ(out->is_valid(row, s), expected.valid)
            << "seed " << seed << " lane " << lane << " column " << column << " slice " << s;
        if (expected.valid) {
          ASSERT_EQ(out->bits(row, s), expected.wide)
              << "seed " << seed << " lane " << lane << " column " << column << " slice " << s;
        }
      }
    }
  }
}

TEST_P(ReductionTreeProperty, EqualsTheDefinition) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    check(GetParam(), seed);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(AllPairs, ReductionTreeProperty,
                         testing::Values(Pair{DType::kI4, DType::kI4}, Pair{DType::kI4, DType::kI5},
                                         Pair{DType::kI5, DType::kI4}, Pair{DType::kI5, DType::kI5},
                                         Pair{DType::kI8, DType::kI8}, Pair{DType::kI8, DType::kI9},
                                         Pair{DType::kI9, DType::kI8}, Pair{DType::kI9, DType::kI9},
                                         Pair{DType::kF8E4M3, DType::kF8E4M3},
                                         Pair{DType::kF8E5M2, DType::kF8E5M2},
                                         Pair{DType::kBF16, DType::kBF16}),
                         [](const auto& info) {
                           return std::string(name(info.param.stream)) + "_" + name(info.param.trf);
                         });

}  // namespace
}  // namespace rngdsim
