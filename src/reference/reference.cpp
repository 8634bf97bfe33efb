// SPDX-License-Identifier: Apache-2.0
#include "reference/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <type_traits>

#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "numeric/dtype.h"
#include "reference/element_run.h"
#include "reference/expectation.h"
#include "reference/product_sums.h"
#include "reference/results.h"
#include "reference/rows.h"
#include "reference/value_row.h"
#include "reference/vector_chain.h"

namespace rngdsim {
namespace {

// ---- Which digits a contraction sums

struct KeptDigit {
  uint64_t stride, live;
  uint64_t modulus;  // the values of this digit repeat from here on; 0: never
};

// The digits of each axis that remain, and how to find their part in an index value.
class KeptDigits {
 public:
  KeptDigits(const StreamShape& before, const StreamShape& after, const AxisTable& axes)
      : digits_(axes.count()) {
    for (const Mapping* mapping :
         {&after.chip, &after.cluster, &after.slice, &after.lane, &after.time, &after.packet}) {
      collect(mapping->nodes());
    }
    KeptDigits digits_before(axes.count());
    for (const Mapping* mapping : {&before.chip, &before.cluster, &before.slice, &before.lane,
                                   &before.time, &before.packet}) {
      digits_before.collect(mapping->nodes());
    }
    for (AxisId axis = 0; axis < axes.count(); ++axis) {
      for (KeptDigit& digit : digits_[axis]) {
        digit.modulus = digits_before.first_beyond(axis, digit.stride * digit.live);
      }
    }
  }

  // The part of an index value that remains.
  uint64_t kept(AxisId axis, uint64_t value) const {
    uint64_t kept = 0;
    for (const KeptDigit& digit : digits_[axis]) {
      const uint64_t below = digit.modulus == 0 ? value : value % digit.modulus;
      kept += below / digit.stride * digit.stride;
    }
    return kept;
  }
  uint64_t largest(AxisId axis) const {
    uint64_t largest = 0;
    for (const KeptDigit& digit : digits_[axis]) largest += (digit.live - 1) * digit.stride;
    return largest;
  }

 private:
  explicit KeptDigits(size_t axes) : digits_(axes) {}

  void collect(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      if (node.kind == Node::Kind::kDigit && node.live > 1) {
        digits_[node.axis].push_back({node.stride, node.live, 0});
      }
      collect(node.inner);
    }
  }

  // The smallest index from `end` on that a digit reaches by itself, below which it adds nothing:
  // `end` where it falls inside a digit, else the stride of the next one; 0: none.
  uint64_t first_beyond(AxisId axis, uint64_t end) const {
    uint64_t first = 0;
    for (const KeptDigit& digit : digits_[axis]) {
      if (digit.stride < end && end < digit.stride * digit.live) return end;
      if (digit.stride >= end && (first == 0 || digit.stride < first)) first = digit.stride;
    }
    return first;
  }

  std::vector<std::vector<KeptDigit>> digits_;  // by axis
};

// The live indices of one node, in order of position.
std::vector<Reduction::Index> node_cells(const Node& node, const AxisTable& axes) {
  std::vector<Reduction::Index> cells;
  if (node.kind == Node::Kind::kBroadcast) {
    cells.resize(node.live);
  } else if (node.kind == Node::Kind::kDigit) {
    for (uint64_t p = 0; p < node.live; ++p) {
      if (p == 0) {
        cells.emplace_back();
      } else {
        cells.push_back({{node.axis, p * node.stride}});
      }
    }
  } else {
    const Mapping alone({node});
    std::vector<uint64_t> values(axes.count());
    for (uint64_t p = 0; p < alone.size(); ++p) {
      std::fill(values.begin(), values.end(), 0);
      if (!alone.accumulate(p, values.data())) continue;
      cells.emplace_back();
      for (AxisId axis = 0; axis < values.size(); ++axis) {
        if (values[axis] != 0) cells.back().emplace_back(axis, values[axis]);
      }
    }
  }
  return cells;
}

// What a mapping's live cells amount to, term by term.
struct CellCount {
  uint64_t distinct = 1;    // different indices
  uint64_t repetition = 1;  // positions that hold one and the same element (literal broadcasts)
  bool cut = false;         // some term is a cut of a pair, which digits alone do not describe
};

void count_cells(const Mapping& mapping, const AxisTable& axes, CellCount& count) {
  for (const Node& node : mapping.nodes()) {
    count.cut = count.cut || node.kind == Node::Kind::kStrided || node.kind == Node::Kind::kFirst;
    if (node.kind == Node::Kind::kDigit) {
      count.distinct *= std::max<uint64_t>(node.live, 1);
      continue;
    }
    std::vector<Reduction::Index> cells = node_cells(node, axes);
    const size_t all = cells.size();
    std::sort(cells.begin(), cells.end());
    cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
    if (cells.empty()) continue;
    count.distinct *= cells.size();
    count.repetition *= all / cells.size();
  }
}

// ---- Sums of products

// The pairs of one sum, as distances from the places of the kept index in both operands.
struct PairList {
  Distances a, b;
};

// One operand: its elements as they are multiplied. T: float or int32_t.
template <typename T>
class Operand {
 public:
  Operand(const LogicalTensor& tensor, std::vector<Conversion> conversions)
      : tensor_(&tensor), converter_(widening(tensor, std::move(conversions))) {}

  // Elements [first, first + count) of base + distances. False where one of them is undefined.
  bool gather(uint64_t base, const Distances& distances, size_t first, size_t count, T* out) {
    return converter_.gather(*tensor_, base, distances, first, count, out);
  }

  struct Row {
    const T* values;
    bool defined;
  };
  // All elements at base + distances. The pointer holds until the next call.
  Row row(uint64_t base, const Distances& distances) {
    if (&distances != row_of_ || base != row_base_) {
      row_.resize(distances.of.size());
      row_defined_ = gather(base, distances, 0, row_.size(), row_.data());
      row_of_ = &distances;
      row_base_ = base;
    }
    return {row_.data(), row_defined_};
  }

 private:
  static std::vector<Conversion> widening(const LogicalTensor& tensor,
                                          std::vector<Conversion> conversions) {
    const DType last = conversions.empty() ? tensor.dtype() : conversions.back().to;
    conversions.push_back({last, accumulator_type(last), false});
    return conversions;
  }

  const LogicalTensor* tensor_;
  RunConverter converter_;
  // The row asked for last.
  const Distances* row_of_ = nullptr;
  uint64_t row_base_ = 0;
  std::vector<T> row_;
  bool row_defined_ = true;
};

bool products_exact_in_f32(DType a, DType b) {
  const auto narrow = [](DType dtype) {
    return dtype == DType::kBF16 || dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2 ||
           dtype == DType::kF4E2M1;
  };
  return narrow(a) && narrow(b);
}

}  // namespace

// ---- Reduction

Reduction derive_reduction(const StreamShape& before, const StreamShape& after,
                           const AxisTable& axes, const SourceLocation& where,
                           Diagnostics& diagnostics) {
  Reduction reduction;
  const KeptDigits digits(before, after, axes);
  const auto refuse = [&](const Mapping& mapping) {
    diagnostics.error(where,
                      fmt::format("the sum runs across pieces of '{}' that no digit of an axis "
                                  "names, so that it means nothing as mathematics",
                                  mapping.text(axes)));
  };
  uint64_t repeat_before = 1;
  uint64_t kept_before = 1;
  for (const Mapping* mapping : {&before.lane, &before.time, &before.packet}) {
    for (const Node& node : mapping->nodes()) {
      const std::vector<Reduction::Index> cells = node_cells(node, axes);
      std::set<Reduction::Index> kept_parts, reduced_parts;
      std::set<std::pair<Reduction::Index, Reduction::Index>> pairs;
      bool sums = false;
      for (const Reduction::Index& cell : cells) {
        Reduction::Index kept, reduced;
        for (const auto& [axis, value] : cell) {
          const uint64_t part = digits.kept(axis, value);
          if (part != 0) kept.emplace_back(axis, part);
          // A part beyond the value cannot come from digits; the check below refuses it.
          if (part != value) reduced.emplace_back(axis, value - part);
        }
        sums = sums || !reduced.empty();
        kept_parts.insert(kept);
        reduced_parts.insert(reduced);
        pairs.emplace(std::move(kept), std::move(reduced));
      }
      if (pairs.empty()) continue;
      if (pairs.size() != kept_parts.size() * reduced_parts.size() ||
          cells.size() % pairs.size() != 0) {
        refuse(Mapping({node}));
        continue;
      }
      repeat_before *= cells.size() / pairs.size();
      kept_before *= kept_parts.size();
      if (sums) reduction.factors.emplace_back(reduced_parts.begin(), reduced_parts.end());
    }
  }
  CellCount kept;
  for (const Mapping* mapping : {&after.lane, &after.time, &after.packet}) {
    count_cells(*mapping, axes, kept);
  }
  if (kept.cut && kept.distinct != kept_before) {
    refuse(Mapping::concat({after.lane, after.time, after.packet}));
  } else if (repeat_before % kept.repetition != 0) {
    diagnostics.error(where, fmt::format("each element is present {} times before the contraction "
                                         "and {} times after it, which is no whole number of times",
                                         repeat_before, kept.repetition));
  } else {
    reduction.repeat = repeat_before / kept.repetition;
  }
  return reduction;
}

namespace {

// What the innermost `size` positions of a mapping say, where all groups of them say the same.
std::optional<Mapping> inner_part(const Mapping& mapping, uint64_t size, const AxisTable& axes) {
  if (const auto parts = mapping.split(size)) return parts->second;
  if (size == 0 || mapping.size() % size != 0) return std::nullopt;
  const Mapping outer = mapping.stride(size), inner = mapping.modulo(size);
  std::vector<uint64_t> whole(axes.count()), parts(axes.count());
  for (uint64_t i = 0; i < mapping.size(); ++i) {
    std::fill(whole.begin(), whole.end(), 0);
    std::fill(parts.begin(), parts.end(), 0);
    const bool lives = mapping.accumulate(i, whole.data());
    const bool outer_lives = outer.accumulate(i / size, parts.data());
    const bool inner_lives = inner.accumulate(i % size, parts.data());
    if (lives != (outer_lives && inner_lives) || (lives && whole != parts)) return std::nullopt;
  }
  return inner;
}

}  // namespace

Reduction derive_inter_slice_reduction(const Mapping& slice, uint64_t ratio, const AxisTable& axes,
                                       const SourceLocation& where, Diagnostics& diagnostics) {
  Reduction reduction;
  const auto inner = inner_part(slice, ratio, axes);
  if (!inner) {
    diagnostics.error(where, fmt::format("the sum runs over the innermost {} positions of Slice "
                                         "'{}', which no digits name",
                                         ratio, slice.text(axes)));
    return reduction;
  }
  for (const Node& node : inner->nodes()) {
    std::vector<Reduction::Index> cells = node_cells(node, axes);
    const size_t all = cells.size();
    std::sort(cells.begin(), cells.end());
    cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
    if (all % std::max<size_t>(cells.size(), 1) != 0) {
      diagnostics.error(where, fmt::format("the sum runs across '{}' of Slice, some elements of "
                                           "which are there more often than others",
                                           Mapping({node}).text(axes)));
      continue;
    }
    if (!cells.empty()) reduction.repeat *= all / cells.size();
    reduction.factors.push_back(std::move(cells));
  }
  return reduction;
}

Reduction reduce_axes(const std::vector<AxisId>& sum_over, const AxisTable& axes) {
  Reduction reduction;
  for (AxisId axis : sum_over) {
    reduction.factors.emplace_back();
    for (uint64_t value = 0; value < axes.size(axis); ++value) {
      if (value == 0) {
        reduction.factors.back().emplace_back();
      } else {
        reduction.factors.back().push_back({{axis, value}});
      }
    }
  }
  return reduction;
}

// ---- Accepted

Accepted Accepted::nothing() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {kInfinity, -kInfinity, false, false, false};
}

void Accepted::add(double value) {
  if (std::isnan(value)) {
    nan = true;
  } else if (std::isinf(value)) {
    (value > 0 ? plus_infinity : minus_infinity) = true;
  } else {
    low = std::min(low, value);
    high = std::max(high, value);
  }
}

bool Accepted::overlaps(const Accepted& o) const {
  const Accepted both = common(o);
  return both.low <= both.high || both.nan || both.plus_infinity || both.minus_infinity;
}

Accepted Accepted::common(const Accepted& o) const {
  return {std::max(low, o.low), std::min(high, o.high), nan && o.nan,
          plus_infinity && o.plus_infinity, minus_infinity && o.minus_infinity};
}

bool Accepted::operator==(const Accepted& o) const {
  return low == o.low && high == o.high && nan == o.nan && plus_infinity == o.plus_infinity &&
         minus_infinity == o.minus_infinity;
}

// ---- Expectation

namespace {

// A value that is copied and converted.
class MoveImpl final : public Expectation::Impl {
 public:
  // `keeps_poison`: what was never written stays so, as a DMA does it.
  MoveImpl(const LogicalTensor& source, std::vector<Conversion> conversions,
           std::vector<AxisId> out_axes, const AxisTable& axes, bool keeps_poison = false)
      : Impl(std::move(out_axes), axes),
        source_(source),
        keeps_poison_(keeps_poison && !source.all_defined()),
        conversions_(conversions),
        converter_(std::move(conversions)),
        strides_(strides_of(source)) {}

  DType dtype() const override {
    return conversions_.empty() ? source_.dtype() : conversions_.back().to;
  }

  bool has_filter() const override { return keeps_poison_; }
  std::vector<Written> written() override {
    std::vector<Written> written(volume_, Written::kYes);
    for (uint64_t offset = 0; keeps_poison_ && offset < volume_; ++offset) {
      if (!source_.defined(place(offset, strides_))) written[offset] = Written::kNo;
    }
    return written;
  }

  std::vector<uint8_t> poisoned() override {
    std::vector<uint8_t> poisoned(volume_, 0);
    for (uint64_t offset = 0; keeps_poison_ && offset < volume_; ++offset) {
      poisoned[offset] = source_.defined(place(offset, strides_)) ? 0 : 1;
    }
    return poisoned;
  }

  Judgement judge(uint64_t offset, uint32_t bits) override {
    const uint64_t from = place(offset, strides_);
    if (!source_.defined(from)) return {false, 0, 0};
    const uint32_t mask = value_mask(dtype());
    const uint32_t expected = convert_all(conversions_, source_.bits(from));
    Judgement judgement;
    judgement.ok = ((expected ^ bits) & mask) == 0;
    if (!judgement.ok) {
      const double error = std::fabs(to_double(dtype(), bits) - to_double(dtype(), expected));
      if (std::isfinite(error)) judgement.error = error;
    }
    return judgement;
  }

  void judge_all(const LogicalTensor& actual, VerdictMaker& verdict) override {
    // Runs along the last axis.
    const bool is_scalar = out_axes_.empty();
    const uint64_t length = is_scalar ? 1 : out_sizes_.back();
    const uint64_t part = std::min(length, kMaxRun);
    const auto bytes = static_cast<uint64_t>(storage_bytes(dtype()));
    Distances distances;
    for (uint64_t i = 0; i < part; ++i) {
      distances.of.push_back(is_scalar ? 0 : i * strides_.back());
    }
    distances.find_contiguous();
    std::vector<uint8_t> expected(part * bytes);
    const std::vector<size_t> last =
        is_scalar ? std::vector<size_t>{} : std::vector<size_t>{out_axes_.size() - 1};
    for_each_index(last, [&](uint64_t row) {
      for (uint64_t first = 0; first < length; first += part) {
        const uint64_t count = std::min(part, length - first);
        const uint64_t offset = row + first;
        const bool defined = converter_.gather(source_, place(offset, strides_), distances, 0,
                                               count, expected.data());
        const uint8_t* got = actual.data() + offset * bytes;
        // Equal bits are right with no error; all else is for judge().
        if (defined && std::memcmp(expected.data(), got, count * bytes) == 0) continue;
        for (uint64_t i = offset; i < offset + count; ++i) {
          if (actual.defined(i)) verdict.take(i, judge(i, actual.bits(i)));
        }
      }
    });
  }

  Accepted accepted(uint64_t offset) override {
    Accepted accepted = Accepted::nothing();
    const uint64_t from = place(offset, strides_);
    if (!source_.defined(from)) return accepted;
    accepted.add(to_double(dtype(), convert_all(conversions_, source_.bits(from))));
    return accepted;
  }

  uint32_t expected_bits(uint64_t offset) override {
    return convert_all(conversions_, source_.bits(place(offset, strides_)));
  }

  std::string expected_text(uint64_t offset) override {
    const uint64_t from = place(offset, strides_);
    if (!source_.defined(from)) return kUndefinedText;
    return value_text(dtype(), convert_all(conversions_, source_.bits(from)));
  }

 private:
  static constexpr uint64_t kMaxRun = 4096;

  const LogicalTensor& source_;
  bool keeps_poison_;
  std::vector<Conversion> conversions_;
  RunConverter converter_;
  std::vector<uint64_t> strides_;
};

// Places, pair lists and rows, whatever the accumulator. T: float or int32_t.
template <typename T>
class SumImpl final : public Expectation::Impl {
 public:
  SumImpl(const SumSetup& setup, std::vector<AxisId> out_axes, const AxisTable& axes)
      : Impl(std::move(out_axes), axes),
        conversions_(setup.conversions),
        converter_(setup.conversions),
        repeat_(setup.reduction.repeat),
        a_(*setup.a, setup.a_conversions),
        a_strides_(strides_of(*setup.a)),
        b_strides_(out_axes_.size(), 0) {
    const DType a_type =
        setup.a_conversions.empty() ? setup.a->dtype() : setup.a_conversions.back().to;
    accumulator_ = accumulator_type(a_type);
    exact_products_ = true;
    if (setup.b != nullptr) {
      b_.emplace(*setup.b, std::vector<Conversion>{});
      b_strides_ = strides_of(*setup.b);
      exact_products_ = products_exact_in_f32(a_type, setup.b->dtype());
    }
    list_pairs(setup, axes);
  }

  DType dtype() const override {
    return conversions_.empty() ? accumulator_ : conversions_.back().to;
  }

  Judgement judge(uint64_t offset, uint32_t bits) override {
    compute(offset);
    return judge_computed(bits);
  }

  void judge_all(const LogicalTensor& actual, VerdictMaker& verdict) override {
    Side rows{b_ ? &*b_ : nullptr, &b_strides_, own_axis(b_strides_, a_strides_)};
    Side columns{&a_, &a_strides_, own_axis(a_strides_, b_strides_)};
    if (!rows.axis && !columns.axis) {
      for (uint64_t offset = 0; offset < volume_; ++offset) {
        if (actual.defined(offset)) verdict.take(offset, judge(offset, actual.bits(offset)));
      }
      return;
    }
    // Along the columns neighbours in `actual` are compared at once.
    if (!columns.axis || (rows.axis && *rows.axis > *columns.axis)) std::swap(rows, columns);
    std::vector<size_t> fixed;
    for (const Side* side : {&rows, &columns}) {
      if (side->axis) fixed.push_back(*side->axis);
    }
    for_each_index(fixed, [&](uint64_t offset) {
      judge_block({rows, columns, pairs_at(offset), offset, actual, verdict});
    });
  }

  Accepted accepted(uint64_t offset) override {
    compute(offset);
    Accepted accepted = Accepted::nothing();
    if (!defined_) return accepted;
    if constexpr (std::is_same_v<T, float>) {
      const std::pair<double, double> limits = limits_at(1);
      if (std::isfinite(sum_)) {
        accepted.low = limits.first;
        accepted.high = limits.second;
        // Converted, the sum itself rounded once may be next to the limits.
        if (!conversions_.empty()) accepted.add(to_double(dtype(), rounded(sum_)));
      } else {
        accepted.add(to_double(dtype(), rounded(sum_)));
      }
      if (!may_overflow_) return accepted;
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      std::vector<double> also = {std::numeric_limits<double>::quiet_NaN()};
      if (std::isfinite(sum_)) also.insert(also.end(), {kInfinity, -kInfinity});
      for (const double value : also) accepted.add(to_double(dtype(), rounded(value)));
    } else {
      accepted.add(to_double(dtype(), convert_all(conversions_, integer_sum_)));
    }
    return accepted;
  }

  uint32_t expected_bits(uint64_t offset) override {
    compute(offset);
    if constexpr (std::is_same_v<T, float>) {
      return rounded(sum_);
    } else {
      return convert_all(conversions_, integer_sum_);
    }
  }

  std::string expected_text(uint64_t offset) override {
    compute(offset);
    if (!defined_) return kUndefinedText;
    if constexpr (std::is_same_v<T, float>) {
      if (!std::isfinite(sum_)) {
        return value_text(dtype(), rounded(sum_)) + (may_overflow_ ? " (or nan)" : "");
      }
      std::string text = fmt::format("{} +- {:.3g}", value_text(dtype(), rounded(sum_)), bound_);
      if (!conversions_.empty()) {
        text = fmt::format("{} ({:.9g} +- {:.3g} as {})", value_text(dtype(), rounded(sum_)), sum_,
                           bound_, name(dtype()));
      }
      return text + (may_overflow_ ? ", or inf, -inf, nan" : "");
    } else {
      return value_text(dtype(), convert_all(conversions_, integer_sum_));
    }
  }

 private:
  // All combinations of the factors, as distances; those that overshoot by themselves left out.
  void list_pairs(const SumSetup& setup, const AxisTable& axes) {
    std::vector<uint64_t> largest(axes.count(), 0);
    for (const auto& factor : setup.reduction.factors) {
      std::vector<uint64_t> here(axes.count(), 0);
      for (const auto& cell : factor) {
        for (const auto& [axis, value] : cell) here[axis] = std::max(here[axis], value);
      }
      for (AxisId axis = 0; axis < axes.count(); ++axis) largest[axis] += here[axis];
    }
    // An axis that is summed in part: what of it remains decides how much of the sum exists.
    for (size_t i = 0; i < out_axes_.size(); ++i) {
      if (largest[out_axes_[i]] > 0) ragged_.push_back(i);
    }
    const size_t width = 2 + ragged_.size();
    std::vector<uint64_t> values(axes.count(), 0);
    std::vector<AxisId> summed;
    for (AxisId axis = 0; axis < axes.count(); ++axis) {
      if (largest[axis] > 0) summed.push_back(axis);
    }
    const auto& factors = setup.reduction.factors;
    std::vector<std::vector<uint64_t>> combinations;
    const auto walk = [&](const auto& self, size_t depth) -> void {
      if (depth < factors.size()) {
        for (const auto& cell : factors[depth]) {
          for (const auto& [axis, value] : cell) values[axis] += value;
          self(self, depth + 1);
          for (const auto& [axis, value] : cell) values[axis] -= value;
        }
        return;
      }
      std::vector<uint64_t> entry(width, 0);
      for (AxisId axis : summed) {
        if (values[axis] >= axes.size(axis)) return;
        entry[0] += values[axis] * setup.a->stride(axis);
        if (setup.b != nullptr) entry[1] += values[axis] * setup.b->stride(axis);
      }
      for (size_t i = 0; i < ragged_.size(); ++i) entry[2 + i] = values[out_axes_[ragged_[i]]];
      combinations.push_back(std::move(entry));
    };
    walk(walk, 0);
    // The order of a sum does not matter; this one finds contiguous runs.
    std::sort(combinations.begin(), combinations.end());
    all_pairs_ = std::move(combinations);
    for (size_t i : ragged_) largest_.push_back(largest[out_axes_[i]]);
  }

  // The list for the kept index at `offset`: the whole one but at the edge of a padded axis.
  PairList& pairs_at(uint64_t offset) {
    key_.clear();
    for (size_t i = 0; i < ragged_.size(); ++i) {
      const uint64_t room = out_sizes_[ragged_[i]] - coordinate(offset, ragged_[i]);
      key_.push_back(std::min(room, largest_[i] + 1));
    }
    if (current_ != nullptr && key_ == current_key_) return *current_;
    auto [found, is_new] = lists_.try_emplace(key_);
    PairList& list = found->second;
    if (is_new) {
      for (const std::vector<uint64_t>& pair : all_pairs_) {
        bool exists = true;
        for (size_t i = 0; i < key_.size(); ++i) exists = exists && pair[2 + i] < key_[i];
        if (!exists) continue;
        list.a.of.push_back(pair[0]);
        list.b.of.push_back(pair[1]);
      }
      list.a.find_contiguous();
      list.b.find_contiguous();
    }
    current_ = &list;
    current_key_ = key_;
    return list;
  }

  void compute(uint64_t offset) {
    if (offset == computed_) return;
    const PairList& pairs = pairs_at(offset);
    const auto a = a_.row(place(offset, a_strides_), pairs.a);
    typename Operand<T>::Row b{nullptr, true};
    if (b_) {
      b = b_->row(place(offset, b_strides_), pairs.b);
    } else {
      ones_.resize(std::max(ones_.size(), pairs.a.of.size()), T{1});
      b.values = ones_.data();
    }
    compute(offset, a, b, pairs.a.of.size());
  }
  void compute(uint64_t offset, const typename Operand<T>::Row& a,
               const typename Operand<T>::Row& b, size_t count) {
    computed_ = offset;
    defined_ = a.defined && b.defined;
    if (!defined_) return;
    if constexpr (std::is_same_v<T, float>) {
      add_up(a.values, b.values, count);
    } else {
      integer_sum_ = sum_products(a.values, b.values, count) * static_cast<uint32_t>(repeat_);
    }
  }

  void add_up(const float* a, const float* b, size_t count) {
    FloatSum total = exact_products_ ? sum_exact_products(a, b, count) : sum_products(a, b, count);
    // Beyond f32 but not beyond double, or truly not finite: the slow sum tells.
    if (!std::isfinite(total.sum) || !std::isfinite(total.absolute)) {
      total = sum_products(a, b, count);
    }
    const double n = static_cast<double>(count) * static_cast<double>(repeat_);
    sum_ = total.sum * static_cast<double>(repeat_);
    double absolute = total.absolute * static_cast<double>(repeat_);
    if (!std::isfinite(total.absolute)) {
      // Of infinite and NaN operands only the finite products can overflow.
      absolute = 0;
      for (size_t i = 0; i < count; ++i) {
        const double product = std::fabs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
        if (std::isfinite(product)) absolute += product;
      }
      absolute *= static_cast<double>(repeat_);
    }
    const double roundings = std::max(0.0, n - (exact_products_ ? 1 : 0));
    bound_ = sum_bound(n, roundings, absolute);
    may_overflow_ = absolute + bound_ >= max_value(DType::kF32);
  }

  Judgement judge_computed(uint32_t bits) const {
    if (!defined_) return {false, 0, 0};
    if constexpr (std::is_same_v<T, float>) {
      return judge_float(bits);
    } else {
      const uint32_t expected = convert_all(conversions_, integer_sum_);
      Judgement judgement;
      judgement.ok = ((expected ^ bits) & value_mask(dtype())) == 0;
      judgement.error = std::fabs(to_double(dtype(), bits) - to_double(dtype(), expected));
      return judgement;
    }
  }

  // ---- Whole tensors: a product of two matrices for each index of the other axes

  // An operand and an axis of the result along which only this operand changes, and which decides
  // nothing about how much of the sum exists.
  struct Side {
    Operand<T>* operand;  // null: 1
    const std::vector<uint64_t>* strides;
    std::optional<size_t> axis;  // position in out_axes_
  };
  std::optional<size_t> own_axis(const std::vector<uint64_t>& own,
                                 const std::vector<uint64_t>& other) const {
    std::optional<size_t> best;
    for (size_t i = 0; i < out_axes_.size(); ++i) {
      if (own[i] == 0 || other[i] != 0 || out_sizes_[i] == 1) continue;
      if (std::find(ragged_.begin(), ragged_.end(), i) != ragged_.end()) continue;
      if (!best || out_sizes_[i] > out_sizes_[*best]) best = i;
    }
    return best;
  }

  struct BlockOfSums {
    const Side &rows, &columns;
    const PairList& pairs;
    uint64_t offset;  // of its first element
    const LogicalTensor& actual;
    VerdictMaker& verdict;
  };
  uint64_t length(const Side& side) const { return side.axis ? out_sizes_[*side.axis] : 1; }
  uint64_t out_stride(const Side& side) const { return side.axis ? out_strides_[*side.axis] : 0; }
  const Distances& distances(const BlockOfSums& block, const Side& side) const {
    return side.strides == &a_strides_ ? block.pairs.a : block.pairs.b;
  }

  // Some rows or columns of a block: in full, and as the operand of add_products().
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, uint32_t>;
  struct Panel {
    std::vector<T> values;  // row major
    std::vector<Wide> wide;
    std::vector<uint8_t> defined;
    size_t count = 0, padded = 0;
  };
  // Elements [k, k + depth) of the sums of rows or columns [first, first + count).
  void fill(const BlockOfSums& block, const Side& side, uint64_t first, size_t k, size_t depth,
            Panel& panel) {
    const uint64_t base = place(block.offset, *side.strides);
    const uint64_t stride = side.axis ? (*side.strides)[*side.axis] : 0;
    panel.values.resize(panel.count * depth, T{1});
    panel.wide.resize(panel.padded * depth);
    for (size_t i = 0; i < panel.padded; ++i) {
      T* row = panel.values.data() + i * depth;
      if (i < panel.count && side.operand != nullptr) {
        const bool defined = side.operand->gather(base + (first + i) * stride,
                                                  distances(block, side), k, depth, row);
        panel.defined[i] = panel.defined[i] & (defined ? 1 : 0);
      }
      for (size_t j = 0; j < depth; ++j) {
        const Wide value = i < panel.count ? static_cast<Wide>(row[j]) : Wide{0};
        panel.wide[&side == &block.rows ? i * depth + j : column_entry(i, j, depth)] = value;
      }
    }
  }
  static void start(Panel& panel, uint64_t count, size_t multiple) {
    panel.count = count;
    panel.padded = (count + multiple - 1) / multiple * multiple;
    panel.defined.assign(count, 1);
  }

  void judge_block(const BlockOfSums& block) {
    const size_t depth = block.pairs.a.of.size();
    for (uint64_t row = 0; row < length(block.rows); row += kTileRows) {
      start(row_panel_, std::min(kTileRows, length(block.rows) - row), ProductTile::kRows);
      if (depth <= kTileDepth) fill(block, block.rows, row, 0, depth, row_panel_);
      for (uint64_t column = 0; column < length(block.columns); column += kTileColumns) {
        start(column_panel_, std::min(kTileColumns, length(block.columns) - column),
              ProductTile::kColumns);
        sums_.assign(row_panel_.padded * column_panel_.padded, Wide{0});
        for (size_t k = 0; k < depth; k += kTileDepth) {
          const size_t part = std::min(kTileDepth, depth - k);
          if (depth > kTileDepth) fill(block, block.rows, row, k, part, row_panel_);
          fill(block, block.columns, column, k, part, column_panel_);
          add_products(row_panel_.wide.data(), row_panel_.padded, column_panel_.wide.data(),
                       column_panel_.padded, part, sums_.data());
        }
        const uint64_t offset =
            block.offset + row * out_stride(block.rows) + column * out_stride(block.columns);
        for (size_t r = 0; r < row_panel_.count; ++r) {
          judge_row(block, r, offset + r * out_stride(block.rows));
        }
      }
    }
  }

  // Row r of the sums, whose first element is at `offset` of the result. What equals the sum
  // rounded once is right with no error, which settles almost all; judge() has the last word on the
  // others.
  void judge_row(const BlockOfSums& block, size_t r, uint64_t offset) {
    const size_t count = column_panel_.count;
    const Wide* sums = sums_.data() + r * column_panel_.padded;
    const bool finite = round(sums, count);
    const auto bytes = static_cast<size_t>(storage_bytes(dtype()));
    rounded_.resize(count * bytes);
    converter_.convert(accumulator_, words_.data(), count, rounded_.data());
    const uint64_t stride = out_stride(block.columns);
    const bool rounds = std::is_same_v<T, int32_t> || !conversions_.empty();
    const bool defined = row_panel_.defined[r] != 0 &&
                         std::memchr(column_panel_.defined.data(), 0, count) == nullptr;
    if (rounds && finite && defined && (stride == 1 || count == 1) &&
        std::memcmp(rounded_.data(), block.actual.data() + offset * bytes, count * bytes) == 0) {
      return;
    }
    for (size_t c = 0; c < count; ++c, offset += stride) {
      if (!block.actual.defined(offset)) continue;
      const uint32_t bits = block.actual.bits(offset);
      uint32_t expected = 0;
      std::memcpy(&expected, rounded_.data() + c * bytes, bytes);
      const bool equal = (finite || is_finite(words_[c])) && expected == bits &&
                         (rounds || is_exact(words_[c], sums[c]));
      if (equal && row_panel_.defined[r] != 0 && column_panel_.defined[c] != 0) continue;
      block.verdict.take(offset, judge_element(block, r, c, offset, bits));
    }
  }
  Judgement judge_element(const BlockOfSums& block, size_t r, size_t c, uint64_t offset,
                          uint32_t bits) {
    const size_t depth = block.pairs.a.of.size();
    if (depth > kTileDepth) return judge(offset, bits);
    compute(offset, {row_panel_.values.data() + r * depth, row_panel_.defined[r] != 0},
            {column_panel_.values.data() + c * depth, column_panel_.defined[c] != 0}, depth);
    return judge_computed(bits);
  }

  // The sums as words of the accumulator type; whether all are finite.
  bool round(const Wide* sums, size_t count) {
    words_.resize(count);
    uint32_t special = 0;
    for (size_t c = 0; c < count; ++c) {
      if constexpr (std::is_same_v<T, float>) {
        const double sum = sums[c] * static_cast<double>(repeat_);
        words_[c] = canonical_f32(bits_of(static_cast<float>(sum)));
        special |= is_finite(words_[c]) ? 0 : 1;
      } else {
        words_[c] = sums[c] * static_cast<uint32_t>(repeat_);
      }
    }
    return special == 0;
  }
  static bool is_finite(uint32_t word) {
    return std::is_same_v<T, int32_t> || (word & 0x7f800000) != 0x7f800000;
  }
  bool is_exact(uint32_t word, Wide sum) const {
    return static_cast<double>(float_of(word)) ==
           static_cast<double>(sum) * static_cast<double>(repeat_);
  }

  uint32_t rounded(double value) const {
    return convert_all(conversions_, from_double(DType::kF32, value));
  }

  // The least and the largest result that can come from an f32 sum within `part` of the bound.
  std::pair<double, double> limits_at(double part) const {
    const double low = sum_ - part * bound_, high = sum_ + part * bound_;
    if (conversions_.empty()) return {low, high};
    const auto converted = [this](float value) {
      return to_double(dtype(), convert_all(conversions_, bits_of(value)));
    };
    return {converted(nearest_f32(low, true)), converted(nearest_f32(high, false))};
  }
  bool within(double got, double part) const {
    const auto [low, high] = limits_at(part);
    return low <= got && got <= high;
  }
  // The smallest f32 that is not below `value`, or the largest that is not above.
  static float nearest_f32(double value, bool above) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float nearest = float_of(from_double(DType::kF32, value));
    if (above && static_cast<double>(nearest) < value) return std::nextafter(nearest, kInfinity);
    if (!above && static_cast<double>(nearest) > value) return std::nextafter(nearest, -kInfinity);
    return nearest;
  }

  Judgement judge_float(uint32_t bits) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    bits &= value_mask(dtype());
    const double got = to_double(dtype(), bits);
    const uint32_t expected = rounded(sum_);
    const double error = std::fabs(got - to_double(dtype(), expected));
    Judgement judgement;
    judgement.error = std::isfinite(error) ? error : 0;
    if (may_overflow_ && bits == rounded(std::numeric_limits<double>::quiet_NaN()))
      return judgement;
    if (!std::isfinite(sum_)) {
      judgement.ok = bits == expected;
      return judgement;
    }
    if (may_overflow_ && (bits == rounded(kInfinity) || bits == rounded(-kInfinity))) {
      return judgement;
    }
    judgement.ok = within(got, 1);
    if (!judgement.ok) return judgement;
    if (conversions_.empty()) {
      judgement.fraction = bound_ > 0 ? std::fabs(got - sum_) / bound_ : 0;
      return judgement;
    }
    if (got == to_double(dtype(), expected)) return judgement;
    // The smallest part of the bound that explains the value.
    double low = 0, high = 1;
    for (int step = 0; step < 12; ++step) {
      const double middle = (low + high) / 2;
      (within(got, middle) ? high : low) = middle;
    }
    judgement.fraction = high;
    return judgement;
  }

  // Both panels and the sums stay in the second-level cache; all columns use a row panel.
  static constexpr uint64_t kTileRows = 128, kTileColumns = 64;
  static constexpr size_t kTileDepth = 512;

  std::vector<Conversion> conversions_;
  RunConverter converter_;
  uint64_t repeat_;
  DType accumulator_{};
  bool exact_products_ = true;
  Operand<T> a_;
  std::optional<Operand<T>> b_;
  std::vector<T> ones_;
  std::vector<uint64_t> a_strides_, b_strides_;
  std::vector<size_t> ragged_;                    // positions in out_axes_
  std::vector<uint64_t> largest_;                 // of ragged_: the largest value summed over
  std::vector<std::vector<uint64_t>> all_pairs_;  // distance in a, in b, values of ragged axes
  std::map<std::vector<uint64_t>, PairList> lists_;
  std::vector<uint64_t> key_, current_key_;
  PairList* current_ = nullptr;

  // Scratch of judge_block().
  Panel row_panel_, column_panel_;
  std::vector<Wide> sums_;
  std::vector<uint32_t> words_;
  std::vector<uint8_t> rounded_;

  // The element computed last.
  uint64_t computed_ = std::numeric_limits<uint64_t>::max();
  bool defined_ = true;
  uint32_t integer_sum_ = 0;
  double sum_ = 0, bound_ = 0;
  bool may_overflow_ = false;
};

}  // namespace

std::unique_ptr<Expectation::Impl> make_sum(const SumSetup& setup,
                                            const std::vector<AxisId>& out_axes,
                                            const AxisTable& axes) {
  if (is_float(setup.a->dtype())) return std::make_unique<SumImpl<float>>(setup, out_axes, axes);
  return std::make_unique<SumImpl<int32_t>>(setup, out_axes, axes);
}

namespace {

// The stages that the reference knows to leave values alone or to change them as Command says.
bool known_stage(const std::string& stage) {
  for (const char* known : {"fetch",
                            "fetch_table_lookup",
                            "fetch_cast",
                            "fetch_zero_point_sub",
                            "switch",
                            "collect",
                            "to_trf",
                            "to_vrf",
                            "contract_outer",
                            "contract_packet",
                            "contract_time",
                            "contract_lane",
                            "vector_tag",
                            "vector_unzip",
                            "vector_logic",
                            "vector_fxp",
                            "vector_fxp_to_fp",
                            "vector_narrow_split",
                            "vector_narrow_trim",
                            "vector_fp",
                            "vector_intra_slice_reduce",
                            "vector_fp_div",
                            "vector_widen_concat",
                            "vector_widen_pad",
                            "vector_fp_to_fxp",
                            "vector_clip",
                            "vector_filter",
                            "vector_stash",
                            "vector_reinterpret",
                            "vector_inter_slice_reduce",
                            "cast",
                            "transpose",
                            "commit_trim",
                            "commit_cast",
                            "commit"}) {
    if (stage == known) return true;
  }
  return false;
}

bool contains(const std::vector<AxisId>& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// The axes that operands depend on.
std::vector<AxisId> input_axes(const std::vector<const LogicalTensor*>& operands) {
  std::vector<AxisId> result;
  for (const LogicalTensor* operand : operands) {
    if (operand == nullptr) continue;
    for (AxisId axis : operand->axes()) {
      if (!contains(result, axis)) result.push_back(axis);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<const Mapping*> dimensions_of(const StreamShape& shape) {
  return {&shape.chip, &shape.cluster, &shape.slice, &shape.lane, &shape.time, &shape.packet};
}

std::vector<AxisId> common_axes(const std::vector<AxisId>& of, const std::vector<AxisId>& with) {
  std::vector<AxisId> result;
  for (AxisId axis : of) {
    if (contains(with, axis)) result.push_back(axis);
  }
  return result;
}

// The streams around a contraction.
struct Contraction {
  const StreamShape* before = nullptr;  // in which products meet; null: there is none
  const StreamShape* after = nullptr;
  SourceLocation where;
};

Contraction contraction_of(const Command& command, Diagnostics& diagnostics) {
  Contraction result;
  const StreamShape* previous = &command.source;
  for (const StageRecord& stage : command.stages) {
    if (!known_stage(stage.name)) {
      diagnostics.error(stage.where,
                        "the reference cannot evaluate stage '" + stage.name + "' yet");
    }
    if (stage.name.rfind("contract_", 0) == 0) {
      if (result.before == nullptr) {
        result.before = stage.name == "contract_outer" ? &stage.after : previous;
        result.where = stage.where;
      }
      result.after = &stage.after;
    }
    previous = &stage.after;
  }
  return result;
}

// What becomes of elements on their way in, and of results on their way out.
struct WayConversions {
  std::vector<Conversion> in, out;
  DType entered{}, left{};  // behind `in`, before `out`
};

void convert_to(std::vector<Conversion>& list, DType& dtype, DType to, bool relu) {
  if (to != dtype || relu) list.push_back({dtype, to, relu});
  dtype = to;
}

WayConversions conversions_of(const Command& command, DType source, bool contracts) {
  WayConversions result;
  DType dtype = source;
  if (command.table_lookup) convert_to(result.in, dtype, command.table_lookup->to, false);
  if (command.fetch_cast) convert_to(result.in, dtype, command.fetch_cast->to, false);
  if (command.fetch_zero_point) {
    convert_to(result.in, dtype, command.fetch_zero_point->to, false);
    result.in.back().zero_point = command.fetch_zero_point->zero_point;
  }
  result.entered = contracts ? accumulator_type(dtype) : dtype;
  dtype = result.entered;
  if (command.vector) {
    // A chain may change the type.
    dtype = command.final_shape.dtype;
    if (command.commit_adapter && command.commit_adapter->cast) {
      dtype = command.commit_adapter->cast->from;
    }
    if (command.cast) dtype = command.cast->from;
  }
  result.left = dtype;
  if (command.cast) convert_to(result.out, dtype, command.cast->to, false);
  if (command.commit_adapter) {
    const CommitAdapterConfig& adapter = *command.commit_adapter;
    convert_to(result.out, dtype, adapter.cast ? adapter.cast->to : dtype, adapter.relu);
  }
  return result;
}

// The tensors of the VRF that a chain reads.
std::vector<const LogicalTensor*> operands_of(const Command& command,
                                              const OperandValues& operands) {
  std::vector<const LogicalTensor*> result;
  for (const TensorId tensor : vrf_operands(command)) {
    result.push_back(operands ? operands(tensor) : nullptr);
  }
  return result;
}

}  // namespace

Expectation::Expectation(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Expectation::~Expectation() = default;
Expectation::Expectation(Expectation&&) noexcept = default;
Expectation& Expectation::operator=(Expectation&&) noexcept = default;

std::optional<Expectation> Expectation::of_command(const Program& program, const Command& command,
                                                   const LogicalTensor& a, const LogicalTensor* b,
                                                   const OperandValues& operands,
                                                   const std::vector<AxisId>& out_axes,
                                                   Diagnostics& diagnostics) {
  const size_t errors = diagnostics.error_count();
  const AxisTable& axes = program.axes;
  const Contraction contraction = contraction_of(command, diagnostics);
  const bool contracts = contraction.before != nullptr;
  WayConversions conversions = conversions_of(command, a.dtype(), contracts);

  // Each index of the result must stand for one value.
  std::vector<const LogicalTensor*> inputs = operands_of(command, operands);
  inputs.insert(inputs.end(), {&a, b});
  const std::vector<AxisId> in_axes = input_axes(inputs);
  for (AxisId axis : axes_of(dimensions_of(command.final_shape), axes)) {
    if (contains(in_axes, axis) && !contains(out_axes, axis)) {
      diagnostics.error(command.where,
                        fmt::format("the result of '{}' depends on axis {}, but holds one value "
                                    "for all of it",
                                    command.label, axes.name(axis)));
    }
  }
  SumSetup setup;
  setup.a = &a;
  setup.b = b;
  setup.a_conversions = conversions.in;
  if (contracts) {
    setup.reduction = derive_reduction(*contraction.before, *contraction.after, axes,
                                       contraction.where, diagnostics);
  }
  if (diagnostics.error_count() != errors) return std::nullopt;
  if (command.vector) {
    ChainEntry entry;
    entry.dtype = conversions.entered;
    if (contracts) {
      entry.sum_axes = common_axes(axes_of(dimensions_of(*contraction.after), axes), in_axes);
      entry.sums = make_sum(setup, entry.sum_axes, axes);
    } else {
      entry.tensor = &a;
      entry.conversions = conversions.in;
    }
    auto chain = make_vector_chain(program, command, std::move(entry),
                                   {conversions.left, std::move(conversions.out)}, operands,
                                   out_axes, diagnostics);
    if (chain == nullptr) return std::nullopt;
    return Expectation(std::move(chain));
  }
  if (contracts) {
    setup.conversions = conversions.out;
    return Expectation(make_sum(setup, out_axes, axes));
  }
  std::vector<Conversion> all = conversions.in;
  all.insert(all.end(), conversions.out.begin(), conversions.out.end());
  return Expectation(std::make_unique<MoveImpl>(a, all, out_axes, axes, command.carries_poison));
}

Expectation Expectation::of_copy(const LogicalTensor& a, const std::vector<AxisId>& out_axes,
                                 const AxisTable& axes) {
  return Expectation(
      std::make_unique<MoveImpl>(a, std::vector<Conversion>{}, out_axes, axes, true));
}

Expectation Expectation::of_rows(const LogicalTensor& a, const LogicalTensor& index,
                                 const DmaConfig::Indexed& indexed,
                                 const std::vector<AxisId>& out_axes, const AxisTable& axes) {
  return Expectation(make_rows(a, index, indexed, out_axes, axes));
}

void check_sum(const std::vector<AxisId>& sum_over, const std::vector<AxisId>& in_axes,
               const std::vector<AxisId>& out_axes, const AxisTable& axes,
               const SourceLocation& where, Diagnostics& diagnostics) {
  for (AxisId axis : sum_over) {
    if (contains(out_axes, axis)) {
      diagnostics.error(
          where, fmt::format("axis {} is summed over, yet the result has it", axes.name(axis)));
    }
  }
  for (AxisId axis : in_axes) {
    if (!contains(out_axes, axis) && !contains(sum_over, axis)) {
      diagnostics.error(where, fmt::format("the product has axis {}, but the result lacks it and "
                                           "sum_over does not name it",
                                           axes.name(axis)));
    }
  }
}

std::optional<Expectation> Expectation::of_sum(const std::vector<AxisId>& sum_over,
                                               const LogicalTensor& a, const LogicalTensor* b,
                                               const std::vector<AxisId>& out_axes, DType out_dtype,
                                               const AxisTable& axes, const SourceLocation& where,
                                               Diagnostics& diagnostics) {
  const size_t errors = diagnostics.error_count();
  check_sum(sum_over, input_axes({&a, b}), out_axes, axes, where, diagnostics);
  const DType accumulator = accumulator_type(a.dtype());
  if (b != nullptr && accumulator_type(b->dtype()) != accumulator) {
    diagnostics.error(where, fmt::format("a product of {} and {}, of which one is an integer and "
                                         "one is not",
                                         name(a.dtype()), name(b->dtype())));
  }
  const bool copies = b == nullptr && sum_over.empty();
  const bool direct = copies && can_convert(a.dtype(), out_dtype);
  if (!direct && accumulator != out_dtype && !can_convert(accumulator, out_dtype)) {
    diagnostics.error(where, fmt::format("the result is {}, into which {} cannot be converted",
                                         name(out_dtype), name(accumulator)));
  }
  if (diagnostics.error_count() != errors) return std::nullopt;
  SumSetup setup;
  setup.a = &a;
  setup.b = b;
  if (copies) {
    std::vector<Conversion> conversions;
    if (direct) {
      if (a.dtype() != out_dtype) conversions.push_back({a.dtype(), out_dtype, false});
    } else {
      conversions.push_back({a.dtype(), accumulator, false});
      conversions.push_back({accumulator, out_dtype, false});
    }
    return Expectation(std::make_unique<MoveImpl>(a, conversions, out_axes, axes));
  }
  setup.reduction = reduce_axes(sum_over, axes);
  if (accumulator != out_dtype) setup.conversions.push_back({accumulator, out_dtype, false});
  return Expectation(make_sum(setup, out_axes, axes));
}

DType Expectation::dtype() const { return impl_->dtype(); }
uint64_t Expectation::volume() const { return impl_->volume(); }
Judgement Expectation::judge(uint64_t offset, uint32_t bits) { return impl_->judge(offset, bits); }
Verdict Expectation::judge_all(const LogicalTensor& actual, size_t max_listed) {
  VerdictMaker verdict(max_listed);
  impl_->judge_all(actual, verdict);
  return verdict.verdict();
}
Accepted Expectation::accepted(uint64_t offset) { return impl_->accepted(offset); }
bool Expectation::has_filter() const { return impl_->has_filter(); }
std::vector<Written> Expectation::written() { return impl_->written(); }
std::vector<uint8_t> Expectation::poisoned() { return impl_->poisoned(); }
std::string Expectation::expected_text(uint64_t offset) { return impl_->expected_text(offset); }

std::string value_text(DType dtype, uint32_t bits) {
  const double value = to_double(dtype, bits);
  return is_integer(dtype) ? fmt::format("{:.0f}", value) : fmt::format("{:.9g}", value);
}

}  // namespace rngdsim
