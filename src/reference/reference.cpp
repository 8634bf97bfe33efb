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
#include <unordered_map>

#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "numeric/dtype.h"

namespace rngdsim {
namespace {

constexpr double kUnit = 0x1p-24;  // half an ulp of 1 in f32
constexpr double kSmallestNormal = 0x1p-126;

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

// ---- Conversions

uint32_t value_mask(DType dtype) {
  return static_cast<uint32_t>((uint64_t{1} << value_bits(dtype)) - 1);
}

uint32_t convert_one(const Conversion& conversion, uint32_t bits) {
  const uint32_t converted = convert(conversion.from, conversion.to, bits);
  if (!conversion.relu) return converted;
  return conversion.to == DType::kBF16 ? relu_bf16(converted) : relu_f32(converted);
}

uint32_t convert_all(const std::vector<Conversion>& conversions, uint32_t bits) {
  for (const Conversion& conversion : conversions) bits = convert_one(conversion, bits);
  return bits;
}

// ---- Sums of products

// Lanes of partial sums: wide enough that additions overlap and vectorise.
constexpr size_t kLanes = 16;

struct FloatSum {
  double sum = 0;       // exact but for roundings to 53 bits
  double absolute = 0;  // sum |a b|, never too small
};

// Products are formed in f32 where that is exact (but for underflow, which the bound covers).
FloatSum sum_exact_products(const float* a, const float* b, size_t count) {
  double sums[kLanes] = {};
  float absolutes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float product = a[i + lane] * b[i + lane];
      sums[lane] += static_cast<double>(product);
      absolutes[lane] += std::fabs(product);
    }
  }
  FloatSum total;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    total.sum += sums[lane];
    total.absolute += static_cast<double>(absolutes[lane]);
  }
  for (; i < count; ++i) {
    const double product = static_cast<double>(a[i]) * static_cast<double>(b[i]);
    total.sum += product;
    total.absolute += std::fabs(product);
  }
  // Each lane added count / 16 terms in f32.
  const uint64_t lane_terms = count / kLanes;
  total.absolute *= 1.0 + (static_cast<double>(lane_terms) + 2.0) * 0x1p-23;
  return total;
}

FloatSum sum_products(const float* a, const float* b, size_t count) {
  FloatSum total;
  for (size_t i = 0; i < count; ++i) {
    const double product = static_cast<double>(a[i]) * static_cast<double>(b[i]);
    total.sum += product;
    total.absolute += std::fabs(product);
  }
  return total;
}

uint32_t sum_products(const int32_t* a, const int32_t* b, size_t count) {
  uint32_t sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += static_cast<uint32_t>(a[i + lane]) * static_cast<uint32_t>(b[i + lane]);
    }
  }
  uint32_t total = 0;
  for (uint32_t sum : sums) total += sum;
  for (; i < count; ++i) total += static_cast<uint32_t>(a[i]) * static_cast<uint32_t>(b[i]);
  return total;
}

// The pairs of one sum, as distances from the places of the kept index in both operands.
struct PairList {
  std::vector<uint64_t> a, b;
  bool a_contiguous = false, b_contiguous = false;
};

bool contiguous(const std::vector<uint64_t>& distances) {
  for (size_t i = 0; i < distances.size(); ++i) {
    if (distances[i] != distances[0] + i) return false;
  }
  return true;
}

// One operand, widened once, and its rows in the order of a pair list.
template <typename T>
class Operand {
 public:
  Operand(const LogicalTensor& tensor, const std::vector<Conversion>& conversions)
      : tensor_(&tensor) {
    const DType last = conversions.empty() ? tensor.dtype() : conversions.back().to;
    std::vector<Conversion> all = conversions;
    all.push_back({last, accumulator_type(last), false});
    values_.resize(tensor.volume());
    for (uint64_t i = 0; i < tensor.volume(); ++i) {
      const uint32_t bits = convert_all(all, tensor.bits(i));
      std::memcpy(&values_[i], &bits, sizeof bits);
    }
    if (!tensor.all_defined()) {
      undefined_before_.assign(tensor.volume() + 1, 0);
      for (uint64_t i = 0; i < tensor.volume(); ++i) {
        undefined_before_[i + 1] = undefined_before_[i] + (tensor.defined(i) ? 0 : 1);
      }
    }
  }

  struct Row {
    const T* values;
    bool defined;
  };

  // The elements at base + distances. The pointer holds until the next call.
  Row row(uint64_t base, const std::vector<uint64_t>& distances, bool is_contiguous) {
    if (distances.empty()) return {values_.data(), true};
    if (is_contiguous) {
      const uint64_t first = base + distances[0];
      const bool defined = undefined_before_.empty() ||
                           undefined_before_[first] == undefined_before_[first + distances.size()];
      return {values_.data() + first, defined};
    }
    return packed_row(base, distances);
  }

 private:
  // Copies rows that are scattered, and keeps the copies: most are used many times.
  Row packed_row(uint64_t base, const std::vector<uint64_t>& distances) {
    constexpr size_t kMaxPacked = size_t{1} << 27;
    if (packed_for_ != &distances || packed_.size() + distances.size() > kMaxPacked) {
      packed_.clear();
      rows_.clear();
      packed_for_ = &distances;
    }
    const auto [found, is_new] = rows_.try_emplace(base, packed_.size(), true);
    if (is_new) {
      for (uint64_t distance : distances) {
        packed_.push_back(values_[base + distance]);
        found->second.second = found->second.second && tensor_->defined(base + distance);
      }
    }
    return {packed_.data() + found->second.first, found->second.second};
  }

  const LogicalTensor* tensor_;
  std::vector<T> values_;
  std::vector<uint32_t> undefined_before_;  // empty where all are defined
  const void* packed_for_ = nullptr;
  std::vector<T> packed_;
  std::unordered_map<uint64_t, std::pair<size_t, bool>> rows_;  // base -> place, defined
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

// ---- Expectation

class Expectation::Impl {
 public:
  Impl(std::vector<AxisId> out_axes, const AxisTable& axes) : out_axes_(std::move(out_axes)) {
    uint64_t stride = LogicalTensor::volume(out_axes_, axes);
    volume_ = stride;
    for (AxisId axis : out_axes_) {
      stride /= axes.size(axis);
      out_strides_.push_back(stride);
      out_sizes_.push_back(axes.size(axis));
    }
  }
  virtual ~Impl() = default;

  virtual DType dtype() const = 0;
  virtual Judgement judge(uint64_t offset, uint32_t bits) = 0;
  virtual std::string expected_text(uint64_t offset) = 0;
  uint64_t volume() const { return volume_; }

 protected:
  // The strides of `tensor` along the result's axes.
  std::vector<uint64_t> strides_of(const LogicalTensor& tensor) const {
    std::vector<uint64_t> strides;
    for (AxisId axis : out_axes_) strides.push_back(tensor.stride(axis));
    return strides;
  }
  uint64_t coordinate(uint64_t offset, size_t axis_position) const {
    return offset / out_strides_[axis_position] % out_sizes_[axis_position];
  }
  uint64_t place(uint64_t offset, const std::vector<uint64_t>& strides) const {
    uint64_t place = 0;
    for (size_t i = 0; i < strides.size(); ++i) {
      if (strides[i] != 0) place += coordinate(offset, i) * strides[i];
    }
    return place;
  }

  std::vector<AxisId> out_axes_;
  std::vector<uint64_t> out_strides_, out_sizes_;
  uint64_t volume_ = 0;
};

namespace {

const char* const kUndefinedText = "poison (made from an element that was never written)";

// A value that is copied and converted.
class MoveImpl final : public Expectation::Impl {
 public:
  MoveImpl(const LogicalTensor& source, std::vector<Conversion> conversions,
           std::vector<AxisId> out_axes, const AxisTable& axes)
      : Impl(std::move(out_axes), axes),
        source_(source),
        conversions_(std::move(conversions)),
        strides_(strides_of(source)) {}

  DType dtype() const override {
    return conversions_.empty() ? source_.dtype() : conversions_.back().to;
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

  std::string expected_text(uint64_t offset) override {
    const uint64_t from = place(offset, strides_);
    if (!source_.defined(from)) return kUndefinedText;
    return value_text(dtype(), convert_all(conversions_, source_.bits(from)));
  }

 private:
  const LogicalTensor& source_;
  std::vector<Conversion> conversions_;
  std::vector<uint64_t> strides_;
};

struct SumSetup {
  Reduction reduction;
  const LogicalTensor* a = nullptr;
  const LogicalTensor* b = nullptr;       // null: 1
  std::vector<Conversion> a_conversions;  // before the product
  std::vector<Conversion> conversions;    // after the sum
};

// Places, pair lists and rows, whatever the accumulator. T: float or int32_t.
template <typename T>
class SumImpl final : public Expectation::Impl {
 public:
  SumImpl(const SumSetup& setup, std::vector<AxisId> out_axes, const AxisTable& axes)
      : Impl(std::move(out_axes), axes),
        conversions_(setup.conversions),
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
        list.a.push_back(pair[0]);
        list.b.push_back(pair[1]);
      }
      list.a_contiguous = contiguous(list.a);
      list.b_contiguous = contiguous(list.b);
    }
    current_ = &list;
    current_key_ = key_;
    return list;
  }

  void compute(uint64_t offset) {
    if (offset == computed_) return;
    computed_ = offset;
    PairList& pairs = pairs_at(offset);
    const size_t count = pairs.a.size();
    const auto a = a_.row(place(offset, a_strides_), pairs.a, pairs.a_contiguous);
    typename Operand<T>::Row b{nullptr, true};
    if (b_) {
      b = b_->row(place(offset, b_strides_), pairs.b, pairs.b_contiguous);
    } else {
      ones_.resize(std::max(ones_.size(), count), T{1});
      b.values = ones_.data();
    }
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
    const double ru = roundings * kUnit;
    const double gamma = ru < 1 ? ru / (1 - ru) : std::numeric_limits<double>::infinity();
    // The last term is for our own sum.
    bound_ = (gamma > 0 ? gamma * absolute : 0) + 2 * n * kSmallestNormal + n * 0x1p-52 * absolute;
    may_overflow_ = absolute + bound_ >= max_value(DType::kF32);
  }

  uint32_t rounded(double value) const {
    return convert_all(conversions_, from_double(DType::kF32, value));
  }

  // Whether the result `got` can come from an f32 sum within `part` of the bound.
  bool within(double got, double part) const {
    const double low = sum_ - part * bound_, high = sum_ + part * bound_;
    if (conversions_.empty()) return low <= got && got <= high;
    const auto converted = [this](float value) {
      return to_double(dtype(), convert_all(conversions_, bits_of(value)));
    };
    return converted(nearest_f32(low, true)) <= got && got <= converted(nearest_f32(high, false));
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

  std::vector<Conversion> conversions_;
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

  // The element computed last.
  uint64_t computed_ = std::numeric_limits<uint64_t>::max();
  bool defined_ = true;
  uint32_t integer_sum_ = 0;
  double sum_ = 0, bound_ = 0;
  bool may_overflow_ = false;
};

std::unique_ptr<Expectation::Impl> make_sum(const SumSetup& setup,
                                            const std::vector<AxisId>& out_axes,
                                            const AxisTable& axes) {
  if (is_float(setup.a->dtype())) return std::make_unique<SumImpl<float>>(setup, out_axes, axes);
  return std::make_unique<SumImpl<int32_t>>(setup, out_axes, axes);
}

// The stages that the reference knows to leave values alone or to change them as Command says.
bool known_stage(const std::string& stage) {
  for (const char* known :
       {"fetch", "fetch_cast", "collect", "to_trf", "contract_outer", "contract_packet",
        "contract_time", "contract_lane", "cast", "commit_trim", "commit_cast", "commit"}) {
    if (stage == known) return true;
  }
  return false;
}

bool contains(const std::vector<AxisId>& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// The axes an operand depends on.
std::vector<AxisId> input_axes(const LogicalTensor& a, const LogicalTensor* b) {
  std::vector<AxisId> result = a.axes();
  if (b != nullptr) {
    for (AxisId axis : b->axes()) {
      if (!contains(result, axis)) result.push_back(axis);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

Expectation::Expectation(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Expectation::~Expectation() = default;
Expectation::Expectation(Expectation&&) noexcept = default;
Expectation& Expectation::operator=(Expectation&&) noexcept = default;

std::optional<Expectation> Expectation::of_command(const Program& program, const Command& command,
                                                   const LogicalTensor& a, const LogicalTensor* b,
                                                   const std::vector<AxisId>& out_axes,
                                                   Diagnostics& diagnostics) {
  const size_t errors = diagnostics.error_count();
  const AxisTable& axes = program.axes;
  // The stream in which products meet and the one after the last contraction stage.
  const StreamShape* before = nullptr;
  const StreamShape* after = nullptr;
  SourceLocation contraction;
  const StreamShape* previous = &command.source;
  for (const StageRecord& stage : command.stages) {
    if (!known_stage(stage.name)) {
      diagnostics.error(stage.where,
                        "the reference cannot evaluate stage '" + stage.name + "' yet");
    }
    if (stage.name.rfind("contract_", 0) == 0) {
      if (before == nullptr) {
        before = stage.name == "contract_outer" ? &stage.after : previous;
        contraction = stage.where;
      }
      after = &stage.after;
    }
    previous = &stage.after;
  }

  SumSetup setup;
  setup.a = &a;
  setup.b = b;
  DType dtype = a.dtype();
  const auto convert_to = [&dtype](std::vector<Conversion>& list, DType to, bool relu) {
    if (to != dtype || relu) list.push_back({dtype, to, relu});
    dtype = to;
  };
  if (command.fetch_cast) convert_to(setup.a_conversions, command.fetch_cast->to, false);
  if (before != nullptr) dtype = accumulator_type(dtype);
  std::vector<Conversion>& after_sum = before != nullptr ? setup.conversions : setup.a_conversions;
  if (command.cast) convert_to(after_sum, command.cast->to, false);
  if (command.commit_adapter) {
    const CommitAdapterConfig& adapter = *command.commit_adapter;
    convert_to(after_sum, adapter.cast ? adapter.cast->to : dtype, adapter.relu);
  }

  // Each index of the result must stand for one value.
  const StreamShape& last = command.final_shape;
  for (AxisId axis : axes_of(
           {&last.chip, &last.cluster, &last.slice, &last.lane, &last.time, &last.packet}, axes)) {
    if (contains(input_axes(a, b), axis) && !contains(out_axes, axis)) {
      diagnostics.error(command.where,
                        fmt::format("the result of '{}' depends on axis {}, but holds one value "
                                    "for all of it",
                                    command.label, axes.name(axis)));
    }
  }
  if (before != nullptr) {
    setup.reduction = derive_reduction(*before, *after, axes, contraction, diagnostics);
  }
  if (diagnostics.error_count() != errors) return std::nullopt;
  if (before == nullptr) {
    return Expectation(std::make_unique<MoveImpl>(a, setup.a_conversions, out_axes, axes));
  }
  return Expectation(make_sum(setup, out_axes, axes));
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
  check_sum(sum_over, input_axes(a, b), out_axes, axes, where, diagnostics);
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
std::string Expectation::expected_text(uint64_t offset) { return impl_->expected_text(offset); }

std::string value_text(DType dtype, uint32_t bits) {
  const double value = to_double(dtype, bits);
  return is_integer(dtype) ? fmt::format("{:.0f}", value) : fmt::format("{:.9g}", value);
}

}  // namespace rngdsim
