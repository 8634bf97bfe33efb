// SPDX-License-Identifier: Apache-2.0
// What the kinds of expectations have in common. For the sources of this room only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reference/element_run.h"
#include "reference/reference.h"

namespace rngdsim {

inline constexpr const char* kUndefinedText =
    "poison (made from an element that was never written)";

inline uint32_t value_mask(DType dtype) {
  return static_cast<uint32_t>((uint64_t{1} << value_bits(dtype)) - 1);
}

// Gathers judgements in any order.
class VerdictMaker {
 public:
  explicit VerdictMaker(size_t max_listed) : max_listed_(max_listed) {}

  void take(uint64_t offset, const Judgement& judgement) {
    verdict_.max_error = std::max(verdict_.max_error, judgement.error);
    verdict_.max_fraction = std::max(verdict_.max_fraction, judgement.fraction);
    if (judgement.ok) return;
    ++verdict_.wrong;
    std::vector<uint64_t>& listed = verdict_.first_wrong;
    if (listed.size() == max_listed_ && (listed.empty() || listed.back() < offset)) return;
    if (listed.size() == max_listed_) listed.pop_back();
    listed.insert(std::upper_bound(listed.begin(), listed.end(), offset), offset);
  }
  const Verdict& verdict() const { return verdict_; }

 private:
  size_t max_listed_;
  Verdict verdict_;
};

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
  virtual void judge_all(const LogicalTensor& actual, VerdictMaker& verdict) = 0;
  virtual Accepted accepted(uint64_t offset) = 0;
  virtual std::string expected_text(uint64_t offset) = 0;
  // The value rounded once; what it is worth where the element is undefined is open.
  virtual uint32_t expected_bits(uint64_t offset) = 0;
  virtual bool has_filter() const { return false; }
  // By offset; to be asked where has_filter().
  virtual std::vector<Written> written() { return std::vector<Written>(volume_, Written::kYes); }
  virtual std::vector<uint8_t> poisoned() { return {}; }
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

  // Calls visit(offset) for each index of the result that is 0 on the axes at the positions
  // `fixed`.
  template <typename Visit>
  void for_each_index(const std::vector<size_t>& fixed, const Visit& visit) const {
    std::vector<size_t> walked;
    for (size_t i = 0; i < out_axes_.size(); ++i) {
      if (std::find(fixed.begin(), fixed.end(), i) == fixed.end()) walked.push_back(i);
    }
    std::vector<uint64_t> index(out_axes_.size(), 0);
    uint64_t offset = 0;
    size_t at = 0;
    do {
      visit(offset);
      // The next one, the last axis fastest.
      for (at = walked.size(); at > 0; --at) {
        const size_t axis = walked[at - 1];
        offset += out_strides_[axis];
        if (++index[axis] < out_sizes_[axis]) break;
        offset -= out_strides_[axis] * out_sizes_[axis];
        index[axis] = 0;
      }
    } while (at > 0);
  }

  std::vector<AxisId> out_axes_;
  std::vector<uint64_t> out_strides_, out_sizes_;
  uint64_t volume_ = 0;
};

// A sum of elements or of products.
struct SumSetup {
  Reduction reduction;
  const LogicalTensor* a = nullptr;
  const LogicalTensor* b = nullptr;       // null: 1
  std::vector<Conversion> a_conversions;  // before the product
  std::vector<Conversion> conversions;    // after the sum
};

std::unique_ptr<Expectation::Impl> make_sum(const SumSetup& setup,
                                            const std::vector<AxisId>& out_axes,
                                            const AxisTable& axes);

}  // namespace rngdsim
