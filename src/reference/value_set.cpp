// SPDX-License-Identifier: Apache-2.0
#include "reference/value_set.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/arithmetic.h"

namespace rngdsim {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr uint32_t kNanBits = 0x7fc00000, kInfinityBits = 0x7f800000;

// A number or an infinity of `dtype`; exact.
uint32_t end_bits(DType dtype, double value) {
  if (is_integer(dtype)) return static_cast<uint32_t>(static_cast<int64_t>(value));
  return bits_of(static_cast<float>(value));
}

// The least set of numbers, infinities and NaN that a monotone operation can give, from what it
// gives at the ends of its operands.
class Hull {
 public:
  explicit Hull(DType dtype) : dtype_(dtype) {}

  // A result for numbers.
  void add(double value) {
    if (std::isnan(value)) {
      set_.nan = true;
      return;
    }
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  // A result for an infinity or NaN, which has no neighbours.
  void add_alone(double value) { set_.add(value); }

  Accepted set() const {
    Accepted set = set_;
    if (low_ > high_) return set;
    set.minus_infinity = set.minus_infinity || low_ == -kInfinite;
    set.plus_infinity = set.plus_infinity || high_ == kInfinite;
    if (low_ == kInfinite || high_ == -kInfinite) return set;
    set.low = std::min(set.low, std::max(low_, min_value(dtype_)));
    set.high = std::max(set.high, std::min(high_, max_value(dtype_)));
    return set;
  }

 private:
  DType dtype_;
  Accepted set_ = Accepted::nothing();
  double low_ = kInfinite, high_ = -kInfinite;
};

struct Choice {
  uint32_t bits;
  bool is_number;
};
struct Choices {
  std::array<Choice, 6> list;
  size_t count = 0;
  void add(uint32_t bits, bool is_number) { list[count++] = {bits, is_number}; }
};

// The ends of a set, and 0 where it lies between them, which matters beside infinities only.
Choices choices(DType dtype, const Accepted& set, bool with_zero) {
  Choices result;
  if (has_numbers(set)) {
    result.add(end_bits(dtype, set.low), true);
    if (set.high != set.low) result.add(end_bits(dtype, set.high), true);
    if (with_zero && set.low < 0 && set.high > 0) result.add(0, true);
  }
  if (set.nan) result.add(kNanBits, false);
  if (set.plus_infinity) result.add(kInfinityBits, false);
  if (set.minus_infinity) result.add(kInfinityBits | 0x80000000, false);
  return result;
}

uint32_t applied(VectorOp op, DType dtype, const std::array<uint32_t, 3>& bits) {
  switch (operand_count(op)) {
    case 1:
      return apply_unary(op, bits[0]);
    case 2:
      return apply_binary(op, dtype, bits[0], bits[1]);
    default:
      return apply_ternary(op, bits[0], bits[1], bits[2]);
  }
}

Accepted corners(VectorOp op, DType dtype, const std::array<const Accepted*, 3>& operands) {
  const auto count = static_cast<size_t>(operand_count(op));
  bool special = false;
  for (size_t i = 0; i < count; ++i) special = special || has_specials(*operands[i]);
  std::array<Choices, 3> of;
  for (size_t i = 0; i < 3; ++i) {
    if (i < count) {
      of[i] = choices(dtype, *operands[i], special);
    } else {
      of[i].add(0, true);
    }
  }
  Hull hull(dtype);
  for (size_t a = 0; a < of[0].count; ++a) {
    for (size_t b = 0; b < of[1].count; ++b) {
      for (size_t c = 0; c < of[2].count; ++c) {
        const Choice &x = of[0].list[a], &y = of[1].list[b], &z = of[2].list[c];
        const double value = to_double(dtype, applied(op, dtype, {x.bits, y.bits, z.bits}));
        if (x.is_number && y.is_number && z.is_number) {
          hull.add(value);
        } else {
          hull.add_alone(value);
        }
      }
    }
  }
  return hull.set();
}

// Without the numbers below zero, for which the operation is NaN.
Accepted from_zero_on(const Accepted& set, bool& cut) {
  Accepted result = set;
  cut = (has_numbers(set) && set.low < 0) || set.minus_infinity;
  if (has_numbers(set)) result.low = std::max(result.low, 0.0);
  result.minus_infinity = false;
  return result;
}

Accepted float_image(VectorOp op, const std::array<const Accepted*, 3>& operands) {
  const DType dtype = DType::kF32;
  const Accepted& a = *operands[0];
  switch (op) {
    case VectorOp::kSqrt:
    case VectorOp::kLog: {
      bool cut = false;
      const Accepted rest = from_zero_on(a, cut);
      Accepted result = corners(op, dtype, {&rest, nullptr, nullptr});
      result.nan = result.nan || cut;
      return result;
    }
    case VectorOp::kSin:
    case VectorOp::kCos: {
      if (a.low == a.high && !has_specials(a)) return corners(op, dtype, operands);
      Accepted result = Accepted::nothing();
      if (has_numbers(a)) result.low = -1, result.high = 1;
      result.nan = has_specials(a);
      return result;
    }
    case VectorOp::kDivF: {
      const Accepted& b = *operands[1];
      if (has_numbers(b) && b.low <= 0 && b.high >= 0) return everything(dtype);
      return corners(op, dtype, operands);
    }
    case VectorOp::kAbsMin:
    case VectorOp::kAbsMax:
      // One of the operands; a NaN in either wins.
      return united(a, *operands[1]);
    default:
      return corners(op, dtype, operands);
  }
}

// As corners(), of a function on whole numbers that wraps: exact where no end does.
template <typename Function>
Accepted unwrapped(const Accepted& a, const Accepted& b, const Function& function) {
  int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min();
  for (const double x : {a.low, a.high}) {
    for (const double y : {b.low, b.high}) {
      const int64_t value = function(static_cast<int64_t>(x), static_cast<int64_t>(y));
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const Accepted all = everything(DType::kI32);
  const auto least = static_cast<double>(low), most = static_cast<double>(high);
  if (least < all.low || most > all.high) return all;
  return range_set(DType::kI32, least, most);
}

Accepted integer_image(VectorOp op, const std::array<const Accepted*, 3>& operands) {
  const DType dtype = DType::kI32;
  const Accepted &a = *operands[0], &b = *operands[1];
  switch (op) {
    case VectorOp::kAddFxp:
      return unwrapped(a, b, [](int64_t x, int64_t y) { return x + y; });
    case VectorOp::kSubFxp:
      return unwrapped(a, b, [](int64_t x, int64_t y) { return x - y; });
    case VectorOp::kMulInt:
      return unwrapped(a, b, [](int64_t x, int64_t y) { return x * y; });
    case VectorOp::kAddFxpSat:
    case VectorOp::kSubFxpSat:
    case VectorOp::kMulFxp:
    case VectorOp::kMin:
    case VectorOp::kMax:
      return corners(op, dtype, operands);
    case VectorOp::kLeftShiftSat:
    case VectorOp::kArithRightShift:
    case VectorOp::kArithRightShiftRound:
      return b.low == b.high ? corners(op, dtype, operands) : everything(dtype);
    case VectorOp::kLogicRightShift:
      return b.low == b.high && a.low >= 0 ? corners(op, dtype, operands) : everything(dtype);
    case VectorOp::kAbsMin:
    case VectorOp::kAbsMax:
      return united(a, b);
    default:
      return everything(dtype);
  }
}

bool is_bitwise(VectorOp op) {
  return op == VectorOp::kBitAnd || op == VectorOp::kBitOr || op == VectorOp::kBitXor ||
         op == VectorOp::kLeftShift;
}

// The nearest number of f32 that is not below `value`, or not above; infinities beyond the largest.
double inner_f32(double value, bool above) {
  constexpr float kEnd = std::numeric_limits<float>::infinity();
  const auto nearest = static_cast<float>(value);
  float result = nearest;
  if (above && static_cast<double>(nearest) < value) result = std::nextafter(nearest, kEnd);
  if (!above && static_cast<double>(nearest) > value) result = std::nextafter(nearest, -kEnd);
  // What would be subnormal is zero.
  return std::fabs(result) < std::numeric_limits<float>::min() ? 0 : static_cast<double>(result);
}

}  // namespace

bool has_numbers(const Accepted& set) { return set.low <= set.high; }
bool has_specials(const Accepted& set) {
  return set.nan || set.plus_infinity || set.minus_infinity;
}

Accepted point_set(DType dtype, uint32_t bits) {
  Accepted set = Accepted::nothing();
  set.add(to_double(dtype, bits));
  return set;
}

Accepted everything(DType dtype) {
  const bool floats = is_float(dtype);
  return {min_value(dtype), max_value(dtype), floats, floats, floats};
}

Accepted range_set(DType dtype, double low, double high) {
  if (is_integer(dtype)) return {low, high, false, false, false};
  Hull hull(dtype);
  const double inner_low = inner_f32(low, true), inner_high = inner_f32(high, false);
  if (inner_low > inner_high) {
    hull.add(inner_f32(low, false));
    hull.add(inner_f32(high, true));
  } else {
    hull.add(inner_low);
    hull.add(inner_high);
  }
  return hull.set();
}

Accepted united(const Accepted& a, const Accepted& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan,
          a.plus_infinity || b.plus_infinity, a.minus_infinity || b.minus_infinity};
}

bool is_one_pattern(DType dtype, const Accepted& set) {
  return set.low == set.high && !has_specials(set) && (is_integer(dtype) || set.low != 0);
}

Accepted image(VectorOp op, DType dtype, const std::array<const Accepted*, 3>& operands) {
  if (is_bitwise(op)) return everything(dtype);
  return is_integer(dtype) ? integer_image(op, operands) : float_image(op, operands);
}

Accepted fxp_to_fp_image(const Accepted& set, uint32_t int_width) {
  Hull hull(DType::kF32);
  for (const double end : {set.low, set.high}) {
    hull.add(to_double(DType::kF32, fxp_to_fp(end_bits(DType::kI32, end), int_width)));
  }
  return hull.set();
}

Accepted fp_to_fxp_image(const Accepted& set, uint32_t int_width) {
  Accepted result = Accepted::nothing();
  const Choices ends = choices(DType::kF32, set, false);
  for (size_t i = 0; i < ends.count; ++i) {
    result.add(to_double(DType::kI32, fp_to_fxp(ends.list[i].bits, int_width)));
  }
  // A NaN may have either sign.
  if (set.nan) result.add(min_value(DType::kI32));
  return result;
}

Accepted converted(DType dtype, const Accepted& set, const std::vector<Conversion>& conversions) {
  if (conversions.empty()) return set;
  const DType to = conversions.back().to;
  Hull hull(to);
  const Choices ends = choices(dtype, set, false);
  for (size_t i = 0; i < ends.count; ++i) {
    const double value = to_double(to, convert_all(conversions, ends.list[i].bits));
    // Narrowing an integer wraps.
    if (is_integer(dtype) && value != to_double(dtype, ends.list[i].bits)) return everything(to);
    if (ends.list[i].is_number) {
      hull.add(value);
    } else {
      hull.add_alone(value);
    }
  }
  return hull.set();
}

Answers answers(CompareOp op, DType dtype, const Accepted& set, uint32_t boundary) {
  if (op == CompareOp::kTrue) return {true, false};
  if (op == CompareOp::kFalse) return {false, true};
  if (op == CompareOp::kLessUnsigned || op == CompareOp::kGreaterUnsigned) return {true, true};
  Answers result;
  const Choices ends = choices(dtype, set, false);
  for (size_t i = 0; i < ends.count; ++i) {
    (compare(op, dtype, ends.list[i].bits, boundary) ? result.yes : result.no) = true;
  }
  if (op == CompareOp::kEqual && set.low < set.high) {
    const double value = to_double(dtype, boundary);
    result.yes = result.yes || (set.low <= value && value <= set.high);
    result.no = true;
  }
  return result;
}

}  // namespace rngdsim
