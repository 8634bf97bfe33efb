// SPDX-License-Identifier: Apache-2.0
// Rows of expected elements, and what operations and folds make of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "command/program.h"
#include "numeric/vector_ops.h"
#include "reference/element_run.h"
#include "reference/reference.h"
#include "reference/value_set.h"

namespace rngdsim {

// The expected elements at a list of indices. Most are *points*: one bit pattern is right. An
// *open* one has a set of accepted values, and bits that are best among them.
struct ValueRow {
  static constexpr uint8_t kUndefined = 1;  // made from an element that was never written
  static constexpr uint8_t kOpen = 2;

  DType dtype = DType::kF32;
  std::vector<uint32_t> bits;
  std::vector<uint8_t> flags;
  std::vector<Accepted> sets;  // of the open ones; empty before the first
  uint8_t any = 0;             // all flags

  ValueRow() = default;
  ValueRow(DType type, size_t count) : dtype(type), bits(count), flags(count) {}

  size_t size() const { return bits.size(); }
  bool is_open(size_t i) const { return (flags[i] & kOpen) != 0; }
  bool is_undefined(size_t i) const { return (flags[i] & kUndefined) != 0; }
  Accepted set(size_t i) const { return is_open(i) ? sets[i] : point_set(dtype, bits[i]); }
  void mark_undefined(size_t i);
  // A point where the set has one pattern.
  void put(size_t i, const Accepted& set, uint32_t best);
  void take(size_t i, const ValueRow& from, size_t at);
  // Element i is one of itself and `from`'s.
  void unite(size_t i, const ValueRow& from, size_t at);
  // The same bits read as another type.
  void reinterpret(DType type);
};

// op(operands) element by element, each read as `type`.
ValueRow apply(VectorOp op, DType type, const std::array<const ValueRow*, 3>& operands);
ValueRow fxp_to_fp(const ValueRow& row, uint32_t int_width);
ValueRow fp_to_fxp(const ValueRow& row, uint32_t int_width);
ValueRow converted(const ValueRow& row, const std::vector<Conversion>& conversions);

// What becomes of `terms` numbers whose magnitudes add up to `absolute`: how far a sum with this
// many roundings may be from the exact one (see reference.h).
double sum_bound(double terms, double roundings, double absolute);

// Elements that are folded into one, in any order. What is repeated counts as often as it is there.
class Fold {
 public:
  Fold(ReduceOp op, DType dtype, uint64_t repeat);

  void add(const ValueRow& row, size_t first, size_t count);
  // Undefined without elements.
  void finish(ValueRow& row, size_t at) const;

 private:
  void add_to_sum(const ValueRow& row, size_t i);
  void add_to_float_sum(const ValueRow& row, size_t i);
  void add_factor(const ValueRow& row, size_t i);
  void add_extreme(const ValueRow& row, size_t i);
  void take_specials(const Accepted& set);
  void finish_float_sum(ValueRow& row, size_t at) const;
  void finish_product(ValueRow& row, size_t at) const;
  void finish_sum(ValueRow& row, size_t at) const;
  void finish_saturated(ValueRow& row, size_t at) const;
  void finish_extreme(ValueRow& row, size_t at) const;
  double terms() const { return static_cast<double>(count_) * static_cast<double>(repeat_); }

  ReduceOp op_;
  DType dtype_;
  uint64_t repeat_;
  uint64_t count_ = 0;
  bool undefined_ = false;
  bool open_ = false;             // some element is
  uint32_t bits_ = 0;             // extremes, and i32 sums modulo 2^32
  std::optional<Accepted> ends_;  // extremes: where open
  // Of all ends of the sets; f32 sums and products.
  double low_ = 0, high_ = 0, best_ = 0;
  double absolute_ = 0;  // sums: of the largest magnitudes
  // i32: of all that is above and below zero, at the lower and the upper ends.
  struct Parts {
    int64_t above = 0, below = 0;
  };
  Parts lows_, highs_;
  // Products: of the factors beyond 1, and of those below.
  double large_ = 1, small_ = 1;
  // The infinities and NaN that elements may be, and those that some element is.
  Accepted may_ = Accepted::nothing(), must_ = Accepted::nothing();
  bool special_ = false;  // some element is no number, whichever
};

}  // namespace rngdsim
