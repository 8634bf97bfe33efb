// SPDX-License-Identifier: Apache-2.0
//
// How this gets fast (a packet of all slices is 131,072 products of bf16):
//
// Slices are innermost, in blocks whose widened stream operand stays in the first-level cache and
// is used by all lanes. Loops over slices have no branches and vectorise.
//
// A group of 8 neighbouring products is one expression, so that its partial sums never leave
// registers. Groups are then combined like the carries of a binary counter, which is exactly the
// balanced tree.
//
// Flushing subnormals after every operation costs more than the operation. But where the smallest
// nonzero operands have biased exponents ea and eb, products are multiples of
// 2^(ea-127-7+eb-127-7), and so are all their rounded sums. From kNoUnderflow on that is at least
// 2^-126: no result can be subnormal. NaNs need their canonical form only at the end, since any
// operation on one gives one. So plain arithmetic gives the same bits, and the exact path runs only
// on blocks with tiny numbers.
//
// The loops over products are compiled for SSE2 and for AVX2, see support/vector_target.h.
#include "engine/reduction_tree.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "memory/operand.h"
#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "support/diagnostic.h"
#include "support/vector_target.h"

namespace rngdsim {
namespace {

constexpr size_t kBlock = 64;           // slices
constexpr uint64_t kGroup = 8;          // products
constexpr uint32_t kNoUnderflow = 142;  // ea + eb - 268 >= -126

// ---- Arithmetic policies. `a` is the widened stream operand, `w` an element in operand form.

inline float widen(uint16_t bf16) { return float_of(uint32_t{bf16} << 16); }

struct PlainFloat {
  using Stream = float;
  using Weight = uint16_t;
  using Sum = float;
  static float mul(float a, uint16_t w) { return a * widen(w); }
  static float add(float a, float b) { return a + b; }
  static float finish(float a) { return flush(a); }
};

struct ExactFloat : PlainFloat {
  static float mul(float a, uint16_t w) { return mul_canonical_f32(a, widen(w)); }
  static float add(float a, float b) { return add_canonical_f32(a, b); }
  static float finish(float a) { return a; }
};

template <typename WeightType>
struct Integer {
  using Stream = int16_t;
  using Weight = WeightType;
  using Sum = int32_t;
  // Two factors of 16 bits: SSE2 has no other product of integers.
  static int32_t mul(int16_t a, WeightType w) {
    return static_cast<int32_t>(a) * static_cast<int32_t>(static_cast<int16_t>(w));
  }
  static int32_t add(int32_t a, int32_t b) { return add_i32(a, b); }
  static int32_t finish(int32_t a) { return a; }
};

// ---- Loops over the slices of a block, inlined into their two targets.

// The tree over kSize neighbouring products; stream rows lie kBlock apart.
template <typename A, size_t kSize>
RNGDSIM_INLINE typename A::Sum tree(const typename A::Stream* a, const typename A::Weight* const* w,
                                    size_t s) {
  if constexpr (kSize == 1) {
    return A::mul(a[s], w[0][s]);
  } else {
    return A::add(tree<A, kSize / 2>(a, w, s),
                  tree<A, kSize / 2>(a + kSize / 2 * kBlock, w + kSize / 2, s));
  }
}

template <typename A, size_t kSize, bool kFinish>
RNGDSIM_INLINE void sum_group(const typename A::Stream* __restrict a,
                              const typename A::Weight* const* weights,
                              typename A::Sum* __restrict out, size_t slices) {
  const typename A::Weight* w[kSize];
  for (size_t i = 0; i < kSize; ++i) w[i] = weights[i];
  for (size_t s = 0; s < slices; ++s) {
    const typename A::Sum sum = tree<A, kSize>(a, w, s);
    out[s] = kFinish ? A::finish(sum) : sum;
  }
}

template <typename A>
RNGDSIM_INLINE void add_into(typename A::Sum* __restrict a, const typename A::Sum* __restrict b,
                             size_t slices) {
  for (size_t s = 0; s < slices; ++s) a[s] = A::add(a[s], b[s]);
}

template <typename A>
RNGDSIM_INLINE void add_and_finish(const typename A::Sum* __restrict a,
                                   const typename A::Sum* __restrict b,
                                   typename A::Sum* __restrict out, size_t slices) {
  for (size_t s = 0; s < slices; ++s) out[s] = A::finish(A::add(a[s], b[s]));
}

// The tree over 2^depth products. `partial` has room for depth blocks.
template <typename A>
RNGDSIM_INLINE void sum_column(uint64_t depth, const typename A::Stream* a,
                               const typename A::Weight* const* w, typename A::Sum* partial,
                               typename A::Sum* out, size_t slices) {
  switch (depth) {
    case 0:
      return sum_group<A, 1, true>(a, w, out, slices);
    case 1:
      return sum_group<A, 2, true>(a, w, out, slices);
    case 2:
      return sum_group<A, 4, true>(a, w, out, slices);
    case 3:
      return sum_group<A, 8, true>(a, w, out, slices);
    default:
      break;
  }
  const uint64_t groups = (uint64_t{1} << depth) / kGroup;
  size_t top = 0;  // partial sums waiting, the largest first
  for (uint64_t g = 0; g < groups; ++g) {
    sum_group<A, kGroup, false>(a + g * kGroup * kBlock, w + g * kGroup, partial + top * kBlock,
                                slices);
    ++top;
    // One carry for each trailing one of g; the last of all is the root.
    for (uint64_t carry = g; (carry & 1) != 0; carry >>= 1, --top) {
      typename A::Sum* left = partial + (top - 2) * kBlock;
      typename A::Sum* right = partial + (top - 1) * kBlock;
      if (g + 1 == groups && top == 2) {
        add_and_finish<A>(left, right, out, slices);
      } else {
        add_into<A>(left, right, slices);
      }
    }
  }
}

// The sums of all columns of a lane.
template <typename A>
struct LaneSums {
  uint64_t depth, columns;
  const typename A::Stream* a;
  const typename A::Weight* const* w;
  typename A::Sum* partial;
  typename A::Sum* out;  // the first column's row; the others follow `out_row` apart
  size_t out_row;
  size_t slices;
};

template <typename A>
RNGDSIM_INLINE void sum_lane(const LaneSums<A>& lane) {
  for (uint64_t column = 0; column < lane.columns; ++column) {
    const uint64_t first = column << lane.depth;
    sum_column<A>(lane.depth, lane.a + first * kBlock, lane.w + first, lane.partial,
                  lane.out + column * lane.out_row, lane.slices);
  }
}
template <typename A>
void sum_lane_baseline(const LaneSums<A>& lane) {
  sum_lane(lane);
}
template <typename A>
RNGDSIM_AVX2 void sum_lane_avx2(const LaneSums<A>& lane) {
  sum_lane(lane);
}

// ---- Widening the stream operand.

struct F8Tables {
  float e4m3[256];
  float e5m2[256];
  F8Tables() {
    for (uint32_t i = 0; i < 256; ++i) {
      e4m3[i] = float_of(convert(DType::kF8E4M3, DType::kF32, i));
      e5m2[i] = float_of(convert(DType::kF8E5M2, DType::kF32, i));
    }
  }
};

const float* f8_table(DType dtype) {
  static const F8Tables kTables;
  return dtype == DType::kF8E4M3 ? kTables.e4m3 : kTables.e5m2;
}

// Magnitudes of bf16 as signed words whose smallest is the smallest one that is not zero or
// subnormal: those wrap to the top. (SSE2 compares 16-bit words as signed only.)
int16_t magnitude_key(uint16_t bf16) {
  return static_cast<int16_t>(static_cast<uint16_t>((bf16 & 0x7fff) - 0x80) ^ 0x8000);
}
constexpr int16_t kZeroKey = 0x7fff;
uint32_t exponent_of_key(int16_t key) {
  const uint32_t magnitude = (static_cast<uint16_t>(key) ^ 0x8000u) + 0x80;
  return std::min(magnitude, 0x7fffu) >> 7;
}

// `keys`: the smallest of each slice so far.
RNGDSIM_INLINE void widen_bf16(const uint16_t* __restrict in, float* __restrict out,
                               int16_t* __restrict keys, size_t slices) {
  for (size_t s = 0; s < slices; ++s) out[s] = flush_subnormal(widen(in[s]));
  for (size_t s = 0; s < slices; ++s) {
    const int16_t key = magnitude_key(in[s]);
    keys[s] = key < keys[s] ? key : keys[s];
  }
}
void widen_bf16_baseline(const uint16_t* in, float* out, int16_t* keys, size_t slices) {
  widen_bf16(in, out, keys, slices);
}
RNGDSIM_AVX2 void widen_bf16_avx2(const uint16_t* in, float* out, int16_t* keys, size_t slices) {
  widen_bf16(in, out, keys, slices);
}

template <typename From>
void widen_integer(const From* __restrict in, int16_t* __restrict out, size_t slices, int bits) {
  const int shift = 16 - bits;
  for (size_t s = 0; s < slices; ++s) {
    out[s] = static_cast<int16_t>(
        static_cast<int16_t>(static_cast<uint16_t>(static_cast<uint16_t>(in[s]) << shift)) >>
        shift);
  }
}

bool is_zero(uint16_t bf16) { return (bf16 & 0x7fff) == 0; }
template <typename T>
bool is_zero(T value) {
  return value == 0;
}

}  // namespace

struct ReductionTree::Workspace {
  explicit Workspace(VectorTarget target) : avx2(use_avx2(target)) {}

  bool avx2;
  // Rows of kBlock entries, one a packet element unless noted.
  std::vector<float> stream_float;
  std::vector<int16_t> stream_integer;
  std::vector<float> partial_float;  // one a tree level
  std::vector<int32_t> partial_integer;
  // Where each packet element finds its operand in any lane.
  struct Place {
    uint64_t granule;
    uint32_t row;
  };
  std::vector<Place> places;
  // Rows of the lane at hand, at the block's first slice.
  std::vector<const uint16_t*> rows_bf16;
  std::vector<const int8_t*> rows_i8;
  std::vector<const int16_t*> rows_i16;
  // With poison only: operands with +0 for what is invalid, and flags (valid; valid and zero).
  std::vector<uint16_t> masked_bf16;
  std::vector<int8_t> masked_i8;
  std::vector<int16_t> masked_i16;
  std::vector<uint8_t> stream_valid, stream_zero, weight_valid, weight_zero;

  std::vector<float>& stream(PlainFloat) { return stream_float; }
  std::vector<int16_t>& stream(Integer<int8_t>) { return stream_integer; }
  std::vector<int16_t>& stream(Integer<int16_t>) { return stream_integer; }
  std::vector<float>& partial(PlainFloat) { return partial_float; }
  std::vector<int32_t>& partial(Integer<int8_t>) { return partial_integer; }
  std::vector<int32_t>& partial(Integer<int16_t>) { return partial_integer; }
  std::vector<const uint16_t*>& rows(PlainFloat) { return rows_bf16; }
  std::vector<const int8_t*>& rows(Integer<int8_t>) { return rows_i8; }
  std::vector<const int16_t*>& rows(Integer<int16_t>) { return rows_i16; }
  std::vector<uint16_t>& masked(PlainFloat) { return masked_bf16; }
  std::vector<int8_t>& masked(Integer<int8_t>) { return masked_i8; }
  std::vector<int16_t>& masked(Integer<int16_t>) { return masked_i16; }

  template <typename A>
  void run(const OuterConfig& outer, const Shape& shape, const std::array<BlockRef, 2>& flits,
           const StreamItem::TrfOperand& trf, Block& out);
  template <typename A>
  void run_lane(const Shape& shape, uint64_t lane, size_t base, size_t slices, Block& out);

  uint32_t widen_stream(const OuterConfig& outer, const std::array<BlockRef, 2>& flits, size_t base,
                        size_t slices);
  uint32_t live_exponent(const OuterConfig& outer, const uint8_t* live, size_t slices) const;
  template <typename A>
  void mask_stream(const OuterConfig& outer, const std::array<BlockRef, 2>& flits, size_t base,
                   size_t slices);
  template <typename A>
  void find_rows(const StreamItem::TrfOperand& trf, uint64_t lane, size_t base);
  template <typename A>
  void mask_rows(const StreamItem::TrfOperand& trf, uint64_t lane, size_t base, size_t slices);
  bool column_valid(const Shape& shape, uint64_t column, uint8_t* flags, size_t slices) const;
};

// Fills the stream rows; returns the smallest biased exponent of a bf16 stream. f8 values are
// multiples of 2^-16, whose products are far from subnormal.
uint32_t ReductionTree::Workspace::widen_stream(const OuterConfig& outer,
                                                const std::array<BlockRef, 2>& flits, size_t base,
                                                size_t slices) {
  const auto flit_elements = static_cast<uint32_t>(outer.packet_elements / outer.pack_size);
  int16_t keys[kBlock];
  std::fill_n(keys, kBlock, kZeroKey);
  const auto widen_row = avx2 ? widen_bf16_avx2 : widen_bf16_baseline;
  const int bits = value_bits(outer.stream_dtype);
  for (uint32_t e = 0; e < outer.packet_elements; ++e) {
    const Block& flit = *flits[e / flit_elements];
    const uint32_t row = e % flit_elements;
    switch (outer.stream_dtype) {
      case DType::kBF16:
        widen_row(flit.row<uint16_t>(row) + base, &stream_float[e * kBlock], keys, slices);
        break;
      case DType::kF8E4M3:
      case DType::kF8E5M2: {
        const float* table = f8_table(outer.stream_dtype);
        const uint8_t* in = flit.row<uint8_t>(row) + base;
        float* to = &stream_float[e * kBlock];
        for (size_t s = 0; s < slices; ++s) to[s] = table[in[s]];
        break;
      }
      case DType::kI9:
        widen_integer(flit.row<uint16_t>(row) + base, &stream_integer[e * kBlock], slices, bits);
        break;
      default:
        widen_integer(flit.row<uint8_t>(row) + base, &stream_integer[e * kBlock], slices, bits);
        break;
    }
  }
  return exponent_of_key(*std::min_element(keys, keys + kBlock));
}

// The smallest biased exponent of the widened stream that is not of a zero, in live slices. What
// dead slices hold may be anything and must not bring on the exact path; asked only where it would.
uint32_t ReductionTree::Workspace::live_exponent(const OuterConfig& outer, const uint8_t* live,
                                                 size_t slices) const {
  uint32_t smallest = 255;
  for (uint64_t e = 0; e < outer.packet_elements; ++e) {
    for (size_t s = 0; s < slices; ++s) {
      const uint32_t exponent = bits_of(stream_float[e * kBlock + s]) >> 23 & 0xff;
      if (exponent != 0 && live[s] != 0) smallest = std::min(smallest, exponent);
    }
  }
  return smallest;
}

template <typename A>
void ReductionTree::Workspace::mask_stream(const OuterConfig& outer,
                                           const std::array<BlockRef, 2>& flits, size_t base,
                                           size_t slices) {
  const auto flit_elements = static_cast<uint32_t>(outer.packet_elements / outer.pack_size);
  auto& values = stream(A{});
  for (uint32_t e = 0; e < outer.packet_elements; ++e) {
    const Block& flit = *flits[e / flit_elements];
    const uint8_t* flags = flit.all_valid ? nullptr : flit.valid_row(e % flit_elements) + base;
    typename A::Stream* value = &values[e * kBlock];
    for (size_t s = 0; s < slices; ++s) {
      const bool valid = flags == nullptr || flags[s] != 0;
      stream_valid[e * kBlock + s] = valid;
      stream_zero[e * kBlock + s] = valid && value[s] == 0;
      if (!valid) value[s] = 0;
    }
  }
}

// Points each packet element to its row of the operand.
template <typename A>
void ReductionTree::Workspace::find_rows(const StreamItem::TrfOperand& trf, uint64_t lane,
                                         size_t base) {
  auto& to = rows(A{});
  for (size_t e = 0; e < places.size(); ++e) {
    const Block& granule = *trf.lanes[lane][places[e].granule];
    to[e] = granule.row<typename A::Weight>(places[e].row) + base;
  }
}

// The same with +0 for what is poison, and the flags.
template <typename A>
void ReductionTree::Workspace::mask_rows(const StreamItem::TrfOperand& trf, uint64_t lane,
                                         size_t base, size_t slices) {
  auto& to = rows(A{});
  auto& values = masked(A{});
  for (size_t e = 0; e < places.size(); ++e) {
    typename A::Weight* value = &values[e * kBlock];
    to[e] = value;
    const BlockRef& block = trf.lanes[lane][places[e].granule];
    const uint32_t row = places[e].row;
    const typename A::Weight* from = block ? block->row<typename A::Weight>(row) + base : nullptr;
    const uint8_t* flags = block && !block->all_valid ? block->valid_row(row) + base : nullptr;
    for (size_t s = 0; s < slices; ++s) {
      const bool valid = from != nullptr && (flags == nullptr || flags[s] != 0);
      value[s] = valid ? from[s] : typename A::Weight{0};
      weight_valid[e * kBlock + s] = valid;
      weight_zero[e * kBlock + s] = valid && is_zero(value[s]);
    }
  }
}

// Validity of one column in a block of slices; true where it is valid throughout.
bool ReductionTree::Workspace::column_valid(const Shape& shape, uint64_t column, uint8_t* flags,
                                            size_t slices) const {
  std::fill_n(flags, slices, uint8_t{1});
  const size_t first = (column << shape.depth) * kBlock;
  for (size_t j = 0; j < size_t{1} << shape.depth; ++j) {
    const size_t at = first + j * kBlock;
    for (size_t s = 0; s < slices; ++s) {
      flags[s] &=
          (stream_valid[at + s] & weight_valid[at + s]) | stream_zero[at + s] | weight_zero[at + s];
    }
  }
  uint8_t all = 1;
  for (size_t s = 0; s < slices; ++s) all &= flags[s];
  return all != 0;
}

template <typename A>
void ReductionTree::Workspace::run_lane(const Shape& shape, uint64_t lane, size_t base,
                                        size_t slices, Block& out) {
  LaneSums<A> sums{};
  sums.depth = shape.depth;
  sums.columns = shape.columns;
  sums.a = stream(A{}).data();
  sums.w = rows(A{}).data();
  sums.partial = partial(A{}).data();
  sums.out = out.row<typename A::Sum>(static_cast<uint32_t>(lane * shape.columns)) + base;
  sums.out_row = out.slices;
  sums.slices = slices;
  avx2 ? sum_lane_avx2(sums) : sum_lane_baseline(sums);
}

template <typename A>
void ReductionTree::Workspace::run(const OuterConfig& outer, const Shape& shape,
                                   const std::array<BlockRef, 2>& flits,
                                   const StreamItem::TrfOperand& trf, Block& out) {
  const size_t entries = outer.packet_elements * kBlock;
  stream(A{}).resize(entries);
  rows(A{}).resize(outer.packet_elements);
  places.resize(outer.packet_elements);
  for (uint64_t e = 0; e < outer.packet_elements; ++e) {
    const uint64_t at = trf.first_element + e % outer.read_elements;
    places[e] = {at / trf.granule_elements, static_cast<uint32_t>(at % trf.granule_elements)};
  }
  partial(A{}).resize((shape.depth + 1) * kBlock);

  bool poison = !trf.all_valid;
  for (uint64_t i = 0; i < outer.pack_size; ++i) poison = poison || !flits[i]->all_valid;
  out.all_valid = true;
  bool all_valid = true;
  if (poison) {
    masked(A{}).resize(entries);
    for (auto* flags : {&stream_valid, &stream_zero, &weight_valid, &weight_zero}) {
      flags->resize(entries);
    }
    out.track_validity();
  }

  for (size_t base = 0; base < shape.slices; base += kBlock) {
    const size_t slices = std::min<size_t>(kBlock, shape.slices - base);
    bool exact = false;
    uint32_t exponent = widen_stream(outer, flits, base, slices);
    if (outer.stream_dtype == DType::kBF16) {
      exact = trf.min_exponent == 0 || exponent + trf.min_exponent < kNoUnderflow;
      if (exact && trf.min_exponent != 0 && shape.live != nullptr) {
        exponent = live_exponent(outer, shape.live + base, slices);
        exact = exponent + trf.min_exponent < kNoUnderflow;
      }
    }
    if (poison) mask_stream<A>(outer, flits, base, slices);
    for (uint64_t lane = 0; lane < outer.lanes; ++lane) {
      if (poison) {
        mask_rows<A>(trf, lane, base, slices);
        for (uint64_t column = 0; column < shape.columns; ++column) {
          const auto row = static_cast<uint32_t>(lane * shape.columns + column);
          all_valid &= column_valid(shape, column, out.valid_row(row) + base, slices);
        }
      } else {
        find_rows<A>(trf, lane, base);
      }
      if constexpr (std::is_same_v<A, PlainFloat>) {
        if (exact) {
          run_lane<ExactFloat>(shape, lane, base, slices, out);
          continue;
        }
      }
      run_lane<A>(shape, lane, base, slices, out);
    }
  }
  out.all_valid = all_valid;
}

ReductionTree::ReductionTree(VectorTarget target) : work_(std::make_unique<Workspace>(target)) {}
ReductionTree::~ReductionTree() = default;

void ReductionTree::reduce(const OuterConfig& outer, const Shape& shape,
                           const std::array<BlockRef, 2>& flits, const StreamItem::TrfOperand& trf,
                           Block& out) {
  switch (operand_form(outer.trf_dtype)) {
    case DType::kI8:
      return work_->run<Integer<int8_t>>(outer, shape, flits, trf, out);
    case DType::kI16:
      return work_->run<Integer<int16_t>>(outer, shape, flits, trf, out);
    default:
      return work_->run<PlainFloat>(outer, shape, flits, trf, out);
  }
}

}  // namespace rngdsim
