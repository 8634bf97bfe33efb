// SPDX-License-Identifier: Apache-2.0
#include "reference/value_row.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "numeric/arithmetic.h"
#include "numeric/convert.h"

namespace rngdsim {
namespace {

constexpr double kHalfUlp = 0x1p-24;  // of 1 in f32
constexpr double kLeastNormal = 0x1p-126;
constexpr double kBoundless = std::numeric_limits<double>::infinity();

// What r roundings may do to a number, relatively.
double growth(double roundings) {
  const double ru = roundings * kHalfUlp;
  return ru < 1 ? ru / (1 - ru) : kBoundless;
}

uint8_t undefined_in(const std::array<const ValueRow*, 3>& operands, size_t i) {
  uint8_t flag = 0;
  for (const ValueRow* operand : operands) {
    if (operand != nullptr) flag |= operand->flags[i] & ValueRow::kUndefined;
  }
  return flag;
}

bool any_open(const std::array<const ValueRow*, 3>& operands, size_t i) {
  return std::any_of(operands.begin(), operands.end(), [i](const ValueRow* operand) {
    return operand != nullptr && operand->is_open(i);
  });
}

// Marks what is undefined and computes what is open, where `best` holds the points already.
template <typename Image>
void finish_flags(const std::array<const ValueRow*, 3>& operands, ValueRow& result,
                  const Image& image_at) {
  uint8_t any = 0;
  for (const ValueRow* operand : operands) {
    if (operand != nullptr) any |= operand->any;
  }
  if (any == 0) return;
  for (size_t i = 0; i < result.size(); ++i) {
    if (undefined_in(operands, i) != 0) {
      result.mark_undefined(i);
    } else if (any_open(operands, i)) {
      result.put(i, image_at(i), result.bits[i]);
    }
  }
}

// Elements as they lie in memory.
std::vector<uint8_t> packed(DType dtype, const std::vector<uint32_t>& words) {
  const auto bytes = static_cast<size_t>(storage_bytes(dtype));
  std::vector<uint8_t> data(words.size() * bytes);
  for (size_t i = 0; i < words.size(); ++i) std::memcpy(&data[i * bytes], &words[i], bytes);
  return data;
}

void load_words(const uint8_t* data, int bytes, std::vector<uint32_t>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = 0;
    std::memcpy(&words[i], data + i * static_cast<size_t>(bytes), static_cast<size_t>(bytes));
  }
}

}  // namespace

double sum_bound(double terms, double roundings, double absolute) {
  const double gamma = growth(roundings);
  // The last term is for our own sum, in double.
  return (absolute > 0 ? gamma * absolute : 0) + 2 * terms * kLeastNormal +
         terms * 0x1p-52 * absolute;
}

// ---- Rows

void ValueRow::mark_undefined(size_t i) {
  flags[i] = kUndefined;
  any |= kUndefined;
}

void ValueRow::put(size_t i, const Accepted& set, uint32_t best) {
  bits[i] = best;
  flags[i] = 0;
  if (is_one_pattern(dtype, set)) {
    bits[i] = from_double(dtype, set.low);
    return;
  }
  if (sets.empty()) sets.resize(size());
  sets[i] = set;
  flags[i] = kOpen;
  any |= kOpen;
}

void ValueRow::take(size_t i, const ValueRow& from, size_t at) {
  bits[i] = from.bits[at];
  flags[i] = from.flags[at];
  any |= flags[i];
  if (!is_open(i)) return;
  if (sets.empty()) sets.resize(size());
  sets[i] = from.sets[at];
}

void ValueRow::unite(size_t i, const ValueRow& from, size_t at) {
  if (is_undefined(i)) return;
  if (from.is_undefined(at)) {
    mark_undefined(i);
    return;
  }
  const bool same = !is_open(i) && !from.is_open(at) && bits[i] == from.bits[at];
  if (!same) put(i, united(set(i), from.set(at)), bits[i]);
}

void ValueRow::reinterpret(DType type) {
  if (type == dtype) return;
  dtype = type;
  if ((any & kOpen) == 0) return;
  for (size_t i = 0; i < size(); ++i) {
    if (is_open(i)) sets[i] = everything(type);
  }
}

ValueRow apply(VectorOp op, DType type, const std::array<const ValueRow*, 3>& operands) {
  const size_t count = operands[0]->size();
  ValueRow result(type, count);
  const auto bits = [&](size_t operand) { return operands[operand]->bits.data(); };
  switch (operand_count(op)) {
    case 1:
      apply_unary_array(op, bits(0), result.bits.data(), count);
      break;
    case 2:
      apply_binary_array(op, type, bits(0), bits(1), result.bits.data(), count);
      break;
    default:
      apply_ternary_array(op, bits(0), bits(1), bits(2), result.bits.data(), count);
  }
  finish_flags(operands, result, [&](size_t i) {
    std::array<Accepted, 3> sets{};
    std::array<const Accepted*, 3> pointers{};
    for (size_t k = 0; k < 3; ++k) {
      if (operands[k] == nullptr) continue;
      sets[k] = operands[k]->set(i);
      pointers[k] = &sets[k];
    }
    return image(op, type, pointers);
  });
  return result;
}

ValueRow fxp_to_fp(const ValueRow& row, uint32_t int_width) {
  ValueRow result(DType::kF32, row.size());
  for (size_t i = 0; i < row.size(); ++i) result.bits[i] = fxp_to_fp(row.bits[i], int_width);
  finish_flags({&row, nullptr, nullptr}, result,
               [&](size_t i) { return fxp_to_fp_image(row.set(i), int_width); });
  return result;
}

ValueRow fp_to_fxp(const ValueRow& row, uint32_t int_width) {
  ValueRow result(DType::kI32, row.size());
  for (size_t i = 0; i < row.size(); ++i) result.bits[i] = fp_to_fxp(row.bits[i], int_width);
  finish_flags({&row, nullptr, nullptr}, result,
               [&](size_t i) { return fp_to_fxp_image(row.set(i), int_width); });
  return result;
}

ValueRow converted(const ValueRow& row, const std::vector<Conversion>& conversions) {
  if (conversions.empty()) return row;
  ValueRow result(conversions.back().to, row.size());
  const int bytes = storage_bytes(result.dtype);
  std::vector<uint8_t> out(row.size() * static_cast<size_t>(bytes));
  const std::vector<uint8_t> in = packed(row.dtype, row.bits);
  RunConverter(conversions).convert(row.dtype, in.data(), row.size(), out.data());
  load_words(out.data(), bytes, result.bits);
  finish_flags({&row, nullptr, nullptr}, result,
               [&](size_t i) { return converted(row.dtype, row.set(i), conversions); });
  return result;
}

// ---- Folds

Fold::Fold(ReduceOp op, DType dtype, uint64_t repeat) : op_(op), dtype_(dtype), repeat_(repeat) {
  if (op == ReduceOp::kMul) low_ = high_ = best_ = 1;
}

void Fold::add(const ValueRow& row, size_t first, size_t count) {
  for (size_t i = first; i < first + count; ++i) {
    if (row.is_undefined(i)) {
      undefined_ = true;
      continue;
    }
    open_ = open_ || row.is_open(i);
    if (op_ == ReduceOp::kMax || op_ == ReduceOp::kMin) {
      add_extreme(row, i);
    } else if (op_ == ReduceOp::kMul) {
      for (uint64_t k = 0; k < repeat_; ++k) add_factor(row, i);
    } else if (is_float(dtype_)) {
      add_to_float_sum(row, i);
    } else {
      add_to_sum(row, i);
    }
    ++count_;
  }
}

void Fold::finish(ValueRow& row, size_t at) const {
  if (undefined_ || count_ == 0) return row.mark_undefined(at);
  if (op_ == ReduceOp::kMax || op_ == ReduceOp::kMin) return finish_extreme(row, at);
  if (op_ == ReduceOp::kMul) return finish_product(row, at);
  if (is_float(dtype_)) return finish_float_sum(row, at);
  if (op_ == ReduceOp::kAddSat) return finish_saturated(row, at);
  finish_sum(row, at);
}

void Fold::take_specials(const Accepted& set) {
  may_.nan = may_.nan || set.nan;
  may_.plus_infinity = may_.plus_infinity || set.plus_infinity;
  may_.minus_infinity = may_.minus_infinity || set.minus_infinity;
  if (has_numbers(set)) return;
  special_ = true;
  const int choices =
      (set.nan ? 1 : 0) + (set.plus_infinity ? 1 : 0) + (set.minus_infinity ? 1 : 0);
  if (choices > 1) return;
  must_.nan = must_.nan || set.nan;
  must_.plus_infinity = must_.plus_infinity || set.plus_infinity;
  must_.minus_infinity = must_.minus_infinity || set.minus_infinity;
}

void Fold::add_to_float_sum(const ValueRow& row, size_t i) {
  const double value = to_double(DType::kF32, row.bits[i]);
  if (!row.is_open(i) && std::isfinite(value)) {
    low_ += value;
    high_ += value;
    best_ += value;
    absolute_ += std::fabs(value);
    return;
  }
  const Accepted set = row.set(i);
  take_specials(set);
  best_ += value;
  if (!has_numbers(set)) return;
  low_ += set.low;
  high_ += set.high;
  absolute_ += std::max(std::fabs(set.low), std::fabs(set.high));
}

void Fold::finish_float_sum(ValueRow& row, size_t at) const {
  const auto repeat = static_cast<double>(repeat_);
  const double absolute = absolute_ * repeat;
  const double bound = terms() > 1 ? sum_bound(terms(), terms() - 1, absolute) : 0;
  const bool overflows = absolute + bound >= max_value(DType::kF32);
  Accepted set = Accepted::nothing();
  if (must_.nan || (must_.plus_infinity && must_.minus_infinity)) {
    set.nan = true;
  } else if (special_) {
    set = may_;
    set.nan = may_.nan || overflows || (may_.plus_infinity && may_.minus_infinity);
  } else {
    set = united(range_set(DType::kF32, low_ * repeat - bound, high_ * repeat + bound), may_);
    set.nan = set.nan || overflows || (may_.plus_infinity && may_.minus_infinity);
    set.plus_infinity = set.plus_infinity || overflows;
    set.minus_infinity = set.minus_infinity || overflows;
  }
  row.put(at, set, from_double(DType::kF32, best_ * repeat));
}

void Fold::add_factor(const ValueRow& row, size_t i) {
  const Accepted set = row.set(i);
  take_specials(set);
  const double best = to_double(DType::kF32, row.bits[i]);
  best_ *= best;
  if (!has_numbers(set)) return;
  const std::array<double, 4> corners = {low_ * set.low, low_ * set.high, high_ * set.low,
                                         high_ * set.high};
  low_ = *std::min_element(corners.begin(), corners.end());
  high_ = *std::max_element(corners.begin(), corners.end());
  const double most = std::max(std::fabs(set.low), std::fabs(set.high));
  const bool over_zero = set.low <= 0 && set.high >= 0;
  const double least = over_zero ? 0 : std::min(std::fabs(set.low), std::fabs(set.high));
  large_ *= std::max(1.0, most);
  small_ *= std::min(1.0, least);
}

void Fold::finish_product(ValueRow& row, size_t at) const {
  const double relative = terms() > 1 ? growth(terms() - 1) + terms() * 0x1p-52 : 0;
  const bool overflows = !(large_ * (1 + relative) < max_value(DType::kF32));
  const uint32_t best = from_double(DType::kF32, best_);
  Accepted set = Accepted::nothing();
  if (must_.nan) {
    set.nan = true;
  } else if (has_specials(may_)) {
    // Infinity times something, which is NaN where that became zero on the way.
    if (open_ || small_ < kLeastNormal) {
      set = everything(DType::kF32);
    } else {
      set.add(best_);
    }
  } else if (overflows) {
    set = everything(DType::kF32);
  } else {
    set = range_set(DType::kF32, low_ - std::fabs(low_) * relative,
                    high_ + std::fabs(high_) * relative);
    // On the way, numbers too small become zero.
    if (terms() > 1 && small_ * (1 - relative) < kLeastNormal) set.add(0);
  }
  row.put(at, set, best);
}

void Fold::add_to_sum(const ValueRow& row, size_t i) {
  bits_ += row.bits[i];
  const auto add = [this](Parts& parts, double value) {
    const int64_t part = static_cast<int64_t>(value) * static_cast<int64_t>(repeat_);
    (part > 0 ? parts.above : parts.below) += part;
  };
  if (row.is_open(i)) {
    add(lows_, row.sets[i].low);
    add(highs_, row.sets[i].high);
  } else {
    const double value = static_cast<int32_t>(row.bits[i]);
    add(lows_, value);
    add(highs_, value);
  }
}

void Fold::finish_sum(ValueRow& row, size_t at) const {
  const uint32_t best = bits_ * static_cast<uint32_t>(repeat_);
  row.bits[at] = best;
  if (!open_) return;
  const Accepted all = everything(DType::kI32);
  const auto low = static_cast<double>(lows_.above + lows_.below);
  const auto high = static_cast<double>(highs_.above + highs_.below);
  const bool wraps = low < all.low || high > all.high;
  row.put(at, wraps ? all : range_set(DType::kI32, low, high), best);
}

// What a sum loses at one end depends on the order; no more than it is beyond that end.
void Fold::finish_saturated(ValueRow& row, size_t at) const {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
  const int64_t least = std::clamp(
      lows_.above + lows_.below - std::max<int64_t>(0, lows_.above - kMost), kLeast, kMost);
  const int64_t most = std::clamp(
      highs_.above + highs_.below + std::max<int64_t>(0, kLeast - highs_.below), kLeast, kMost);
  row.put(at, range_set(DType::kI32, static_cast<double>(least), static_cast<double>(most)),
          static_cast<uint32_t>(static_cast<int32_t>(least)));
}

void Fold::add_extreme(const ValueRow& row, size_t i) {
  const VectorOp op = op_ == ReduceOp::kMax ? VectorOp::kMax : VectorOp::kMin;
  if (count_ == 0) {
    bits_ = row.bits[i];
    if (row.is_open(i)) ends_ = row.sets[i];
    return;
  }
  if (ends_ || row.is_open(i)) {
    const Accepted before = ends_ ? *ends_ : point_set(dtype_, bits_);
    const Accepted set = row.set(i);
    ends_ = image(op, dtype_, {&before, &set, nullptr});
  }
  bits_ = apply_binary(op, dtype_, bits_, row.bits[i]);
}

void Fold::finish_extreme(ValueRow& row, size_t at) const {
  if (ends_) return row.put(at, *ends_, bits_);
  row.bits[at] = bits_;
  // A lone subnormal or NaN may be put into canonical form or not.
  const bool canonical = !is_float(dtype_) || canonical_f32(bits_) == bits_;
  if (!canonical) row.put(at, point_set(dtype_, bits_), bits_);
}

}  // namespace rngdsim
