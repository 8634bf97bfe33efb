// SPDX-License-Identifier: Apache-2.0
#include "reference/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace rngdsim {
namespace {

// What gather and scatter share: an element is one of some of the source.
class RowsImpl : public Expectation::Impl {
 public:
  RowsImpl(const LogicalTensor& a, const LogicalTensor& index, const DmaConfig::Indexed& indexed,
           const std::vector<AxisId>& out_axes, const AxisTable& axes)
      : Impl(out_axes, axes), a_(a), index_(index), indexed_(indexed) {}

  DType dtype() const override { return a_.dtype(); }

  Judgement judge(uint64_t offset, uint32_t bits) override {
    const uint32_t mask = value_mask(dtype());
    Judgement judgement{false, 0, 0};
    for (const uint64_t from : sources(offset)) {
      if (!a_.defined(from)) continue;
      if (((a_.bits(from) ^ bits) & mask) == 0) return {};
      const double error = std::fabs(to_double(dtype(), bits) - a_.value(from));
      if (std::isfinite(error)) judgement.error = error;
    }
    return judgement;
  }

  void judge_all(const LogicalTensor& actual, VerdictMaker& verdict) override {
    for (uint64_t offset = 0; offset < volume_; ++offset) {
      if (actual.defined(offset)) verdict.take(offset, judge(offset, actual.bits(offset)));
    }
  }

  Accepted accepted(uint64_t offset) override {
    Accepted accepted = Accepted::nothing();
    for (const uint64_t from : sources(offset)) {
      if (a_.defined(from)) accepted.add(a_.value(from));
    }
    return accepted;
  }

  std::string expected_text(uint64_t offset) override {
    std::string text;
    for (const uint64_t from : sources(offset)) {
      text += (text.empty() ? "" : " or ") +
              (a_.defined(from) ? value_text(dtype(), a_.bits(from)) : std::string("poison"));
    }
    return text.empty() ? "nothing: no index names it" : text;
  }

  uint32_t expected_bits(uint64_t offset) override {
    const std::vector<uint64_t> from = sources(offset);
    return from.empty() ? 0 : a_.bits(from.front());
  }

  // What is moved from an element that was never written is poison again.
  bool has_filter() const override { return indexed_.scatter || !a_.all_defined(); }
  std::vector<Written> written() override {
    std::vector<Written> written(volume_, Written::kNo);
    for (uint64_t offset = 0; offset < volume_; ++offset) {
      const std::vector<uint64_t> from = sources(offset);
      const auto defined = std::count_if(from.begin(), from.end(),
                                         [this](uint64_t place) { return a_.defined(place); });
      if (defined == 0) continue;
      const bool all = defined == static_cast<std::ptrdiff_t>(from.size());
      written[offset] = all ? Written::kYes : Written::kMaybe;
    }
    return written;
  }

  std::vector<uint8_t> poisoned() override {
    std::vector<uint8_t> poisoned(volume_, 0);
    for (uint64_t offset = 0; !a_.all_defined() && offset < volume_; ++offset) {
      const std::vector<uint64_t> from = sources(offset);
      const auto is_poison = [this](uint64_t place) { return !a_.defined(place); };
      poisoned[offset] = std::any_of(from.begin(), from.end(), is_poison) ? 1 : 0;
    }
    return poisoned;
  }

 protected:
  // Offsets in `a` of the elements of which one is at `offset` of the result.
  virtual std::vector<uint64_t> sources(uint64_t offset) const = 0;

  // Nothing where the index names no row: the machine has told that.
  std::optional<uint64_t> row(uint64_t at) const {
    if (!index_.defined(at)) return std::nullopt;
    const auto displacement = indexed_.displacement(static_cast<int32_t>(index_.bits(at)));
    if (!displacement) return std::nullopt;
    return *displacement / indexed_.row_bytes;
  }

  const LogicalTensor& a_;
  const LogicalTensor& index_;
  const DmaConfig::Indexed& indexed_;
};

class GatherImpl final : public RowsImpl {
 public:
  GatherImpl(const LogicalTensor& a, const LogicalTensor& index, const DmaConfig::Indexed& indexed,
             const std::vector<AxisId>& out_axes, const AxisTable& axes)
      : RowsImpl(a, index, indexed, out_axes, axes),
        strides_(strides_of(a)),
        index_strides_(strides_of(index)) {}

 protected:
  std::vector<uint64_t> sources(uint64_t offset) const override {
    const auto chosen = row(place(offset, index_strides_));
    if (!chosen) return {};
    return {place(offset, strides_) + *chosen * a_.stride(indexed_.row_axis)};
  }

 private:
  std::vector<uint64_t> strides_, index_strides_;
};

class ScatterImpl final : public RowsImpl {
 public:
  ScatterImpl(const LogicalTensor& a, const LogicalTensor& index, const DmaConfig::Indexed& indexed,
              const std::vector<AxisId>& out_axes, const AxisTable& axes)
      : RowsImpl(a, index, indexed, out_axes, axes) {
    for (size_t i = 0; i < out_axes_.size(); ++i) {
      const bool chosen = out_axes_[i] == indexed.row_axis || index.stride(out_axes_[i]) != 0;
      chosen_strides_.push_back(chosen ? out_strides_[i] : 0);
      rest_strides_.push_back(chosen ? 0 : a.stride(out_axes_[i]));
    }
    for (uint64_t at = 0; at < index.volume(); ++at) {
      if (const auto named = row(at)) note(at, *named, axes);
    }
  }

 protected:
  std::vector<uint64_t> sources(uint64_t offset) const override {
    const auto found = by_row_.find(place(offset, chosen_strides_));
    if (found == by_row_.end()) return {};
    std::vector<uint64_t> all = found->second;
    for (uint64_t& from : all) from += place(offset, rest_strides_);
    return all;
  }

 private:
  // The element `at` of the index names a row: of the result where they share axes, and with the
  // place in `a` that its own axes give.
  void note(uint64_t at, uint64_t named, const AxisTable& axes) {
    uint64_t in_result = 0, in_a = 0;
    for (const AxisId axis : index_.axes()) {
      const uint64_t coordinate = at / index_.stride(axis) % axes.size(axis);
      in_a += coordinate * a_.stride(axis);
      for (size_t i = 0; i < out_axes_.size(); ++i) {
        if (out_axes_[i] == axis) in_result += coordinate * out_strides_[i];
      }
    }
    for (size_t i = 0; i < out_axes_.size(); ++i) {
      if (out_axes_[i] == indexed_.row_axis) in_result += named * out_strides_[i];
    }
    by_row_[in_result].push_back(in_a);
  }

  std::vector<uint64_t> chosen_strides_, rest_strides_;
  std::map<uint64_t, std::vector<uint64_t>> by_row_;  // place in the result -> places in `a`
};

}  // namespace

std::unique_ptr<Expectation::Impl> make_rows(const LogicalTensor& a, const LogicalTensor& index,
                                             const DmaConfig::Indexed& indexed,
                                             const std::vector<AxisId>& out_axes,
                                             const AxisTable& axes) {
  if (indexed.scatter) return std::make_unique<ScatterImpl>(a, index, indexed, out_axes, axes);
  return std::make_unique<GatherImpl>(a, index, indexed, out_axes, axes);
}

}  // namespace rngdsim
