// SPDX-License-Identifier: Apache-2.0
#include "report/result_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "numeric/dtype.h"
#include "reference/results.h"
#include "report/numbers.h"
#include "support/text.h"

namespace rngdsim {
namespace {

// "c_dm[I 512, J 512] bf16", axes by name.
std::string shape_text(const ProgramResult& result, const Program& program) {
  std::vector<std::string> axes;
  for (const AxisId axis : result.axes) {
    axes.push_back(
        fmt::format("{} {}", program.axes.name(axis), group_digits(program.axes.size(axis))));
  }
  std::sort(axes.begin(), axes.end());
  return fmt::format("[{}] {}", listed(axes), name(result.dtype));
}

const ProgramResult* find_result(const std::vector<ProgramResult>& results,
                                 const std::string& name) {
  const auto found = std::find_if(results.begin(), results.end(),
                                  [&](const ProgramResult& r) { return r.name == name; });
  return found == results.end() ? nullptr : &*found;
}

std::string names_of(const std::vector<ProgramResult>& results) {
  std::vector<std::string> names;
  for (const ProgramResult& result : results) names.push_back(result.name);
  return names.empty() ? "none" : listed(names);
}

SourceLocation place_of(const ProgramResult& result, const Program& program) {
  return result.tensor ? program.tensors[*result.tensor].where
                       : program.commands[*result.command].where;
}

void check_pair(const Program& first, const Program& later, Diagnostics& diagnostics) {
  const std::vector<ProgramResult> wanted = results_of(first);
  const std::vector<ProgramResult> found = results_of(later);
  const auto hint = [&] {
    return fmt::format("results of {}: {}; of {}: {}; 'expect:' can name them", first.kernel_file,
                       names_of(wanted), later.kernel_file, names_of(found));
  };
  for (const ProgramResult& result : found) {
    const ProgramResult* like = find_result(wanted, result.name);
    const SourceLocation where = place_of(result, later);
    if (like == nullptr) {
      diagnostics.error(where,
                        fmt::format("{} has no result '{}', so that these kernels cannot be "
                                    "compared",
                                    first.kernel_file, result.name),
                        hint());
      continue;
    }
    const std::string one = shape_text(*like, first), other = shape_text(result, later);
    if (one == other) continue;
    diagnostics.error(where,
                      fmt::format("result '{}' is {} here and {} in {}", result.name, other, one,
                                  to_string(place_of(*like, first))),
                      "only kernels with the same logical results can be compared");
  }
  for (const ProgramResult& result : wanted) {
    if (find_result(found, result.name) != nullptr) continue;
    diagnostics.error({later.kernel_file, 1, 1},
                      fmt::format("there is no result '{}', which {} has, so that these kernels "
                                  "cannot be compared",
                                  result.name, to_string(place_of(result, first))),
                      hint());
  }
}

// Where elements of the first tensor lie in another that has the same axes in another order.
class Places {
 public:
  Places(const TensorValues& first, const std::vector<std::string>& axes,
         const std::vector<uint64_t>& shape)
      : sizes_(first.shape), index_(first.shape.size(), 0) {
    for (const std::string& axis : first.axes) {
      uint64_t stride = 1;
      for (size_t i = axes.size(); i > 0 && axes[i - 1] != axis; --i) stride *= shape[i - 1];
      strides_.push_back(stride);
    }
  }
  uint64_t at(uint64_t offset) const {
    uint64_t place = 0;
    for (size_t i = sizes_.size(); i > 0; --i) {
      place += offset % sizes_[i - 1] * strides_[i - 1];
      offset /= sizes_[i - 1];
    }
    return place;
  }
  // The same for one element of the first tensor after the other.
  uint64_t place() const { return place_; }
  void advance() {
    for (size_t i = sizes_.size(); i > 0; --i) {
      place_ += strides_[i - 1];
      if (++index_[i - 1] < sizes_[i - 1]) return;
      place_ -= strides_[i - 1] * sizes_[i - 1];
      index_[i - 1] = 0;
    }
  }

 private:
  std::vector<uint64_t> sizes_, strides_, index_;
  uint64_t place_ = 0;
};

std::string value_at(const TensorValues& tensor, uint64_t place) {
  return tensor.valid[place] != 0 ? value_text(tensor.dtype, tensor.bits[place]) : "nothing";
}

std::string index_text(const TensorValues& tensor, uint64_t offset) {
  std::string text;
  uint64_t stride = tensor.bits.size();
  for (size_t i = 0; i < tensor.axes.size(); ++i) {
    stride /= tensor.shape[i];
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", tensor.axes[i],
                        offset / stride % tensor.shape[i]);
  }
  return text.empty() ? "its only element" : text;
}

std::string accepted_text(const Accepted& accepted) {
  std::string text;
  if (accepted.low <= accepted.high) {
    text = accepted.low == accepted.high
               ? fmt::format("{:.9g}", accepted.low)
               : fmt::format("{:.9g} to {:.9g}", accepted.low, accepted.high);
  }
  const auto also = [&text](bool is, const char* what) {
    if (is) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  also(accepted.nan, "nan");
  also(accepted.plus_infinity, "inf");
  also(accepted.minus_infinity, "-inf");
  return text;
}

std::string side_text(const DifferingValue& side) {
  const std::string bound = side.accepted.empty() ? "" : fmt::format(" (right: {})", side.accepted);
  return fmt::format("{}{} in {}", side.value, bound, side.kernel);
}

}  // namespace

void check_same_results(const std::vector<const Program*>& programs, Diagnostics& diagnostics) {
  for (size_t i = 1; i < programs.size(); ++i) check_pair(*programs[0], *programs[i], diagnostics);
  if (!programs.empty() && results_of(*programs[0]).empty()) {
    diagnostics.error({programs[0]->kernel_file, 1, 1},
                      "nothing is written that no later command "
                      "reads: there is no result to compare",
                      "name one in 'expect:'");
  }
}

std::string to_string(const ResultDifference& difference) {
  return fmt::format("{} at {}: {}, {}; {} of {} differ", difference.result, difference.index,
                     side_text(difference.earlier), side_text(difference.later),
                     group_digits(difference.differing), count_of(difference.elements, "element"));
}

std::optional<ResultDifference> ResultComparison::compare(size_t result,
                                                          const TensorValues& later) {
  const TensorValues& first = first_[result];
  if (first.axes == later.axes && first.bits == later.bits && first.valid == later.valid) {
    return std::nullopt;
  }
  std::vector<bool>& suspect = suspect_[result];
  ResultDifference difference;
  Places places(first, later.axes, later.shape);
  for (uint64_t offset = 0; offset < first.bits.size(); ++offset, places.advance()) {
    const uint64_t place = places.place();
    const bool defined = first.valid[offset] != 0;
    const bool like = defined == (later.valid[place] != 0);
    if (like && (!defined || first.bits[offset] == later.bits[place])) continue;
    if (like && is_float(first.dtype)) {
      suspect.resize(first.bits.size());
      suspect[offset] = true;
      continue;
    }
    if (difference.differing++ > 0) continue;
    difference.index = index_text(first, offset);
    difference.earlier = {kernels_[0], value_at(first, offset), ""};
    difference.later = {"", value_at(later, place), ""};
  }
  if (difference.differing == 0) return std::nullopt;
  difference.result = first.name;
  difference.elements = first.bits.size();
  return difference;
}

std::optional<ResultDifference> ResultComparison::add(const std::string& kernel,
                                                      std::vector<TensorValues> results) {
  if (kernels_.empty()) {
    layouts_.emplace_back();
    for (const TensorValues& values : results) {
      layouts_.back().push_back({values.axes, values.shape});
    }
    kernels_.push_back(kernel);
    suspect_.resize(results.size());
    first_ = std::move(results);
    return std::nullopt;
  }
  std::vector<Layout> layouts;
  for (size_t i = 0; i < first_.size(); ++i) {
    const auto found =
        std::find_if(results.begin(), results.end(),
                     [&](const TensorValues& values) { return values.name == first_[i].name; });
    if (found == results.end() || found->bits.size() != first_[i].bits.size()) {
      throw InternalError(fmt::format("{} has no result {} to compare", kernel, first_[i].name));
    }
    if (std::optional<ResultDifference> difference = compare(i, *found)) {
      difference->later.kernel = kernel;
      return difference;
    }
    layouts.push_back({found->axes, found->shape});
  }
  kernels_.push_back(kernel);
  layouts_.push_back(std::move(layouts));
  return std::nullopt;
}

bool ResultComparison::has_suspects() const {
  return std::any_of(suspect_.begin(), suspect_.end(),
                     [](const std::vector<bool>& suspect) { return !suspect.empty(); });
}

std::vector<uint64_t> ResultComparison::suspects_of(size_t result) const {
  std::vector<uint64_t> offsets;
  for (uint64_t offset = 0; offset < suspect_[result].size(); ++offset) {
    if (suspect_[result][offset]) offsets.push_back(offset);
  }
  return offsets;
}

ResultOffsets ResultComparison::suspects(size_t kernel) const {
  ResultOffsets suspects;
  for (size_t i = 0; i < first_.size(); ++i) {
    if (suspect_[i].empty()) continue;
    const Layout& layout = layouts_[kernel][i];
    const Places places(first_[i], layout.axes, layout.shape);
    std::vector<uint64_t> offsets = suspects_of(i);
    for (uint64_t& offset : offsets) offset = places.at(offset);
    suspects[first_[i].name] = std::move(offsets);
  }
  return suspects;
}

std::optional<ResultDifference> ResultComparison::contradiction(size_t result,
                                                                const SuspectValues& values,
                                                                size_t kernel) const {
  ResultDifference difference;
  for (size_t i = 0; i < agreements_[result].size(); ++i) {
    const Agreement& agreement = agreements_[result][i];
    const Accepted& accepted = values.accepted[i];
    if (agreement.common.overlaps(accepted) || difference.differing++ > 0) continue;
    // The earlier kernel that this one contradicts by itself.
    const Witness& earlier =
        agreement.lowest.accepted.overlaps(accepted) ? agreement.highest : agreement.lowest;
    const DType dtype = first_[result].dtype;
    difference.index = index_text(first_[result], suspects_of(result)[i]);
    difference.earlier = {kernels_[earlier.kernel], value_text(dtype, earlier.bits),
                          accepted_text(earlier.accepted)};
    difference.later = {kernels_[kernel], value_text(dtype, values.bits[i]),
                        accepted_text(accepted)};
  }
  if (difference.differing == 0) return std::nullopt;
  difference.result = first_[result].name;
  difference.elements = first_[result].bits.size();
  return difference;
}

void ResultComparison::take_in(size_t result, const SuspectValues& values, size_t kernel) {
  std::vector<Agreement>& agreements = agreements_[result];
  const bool is_first = agreements.empty();
  agreements.resize(values.accepted.size());
  for (size_t i = 0; i < agreements.size(); ++i) {
    const Witness witness{values.accepted[i], values.bits[i], kernel};
    Agreement& agreement = agreements[i];
    if (is_first) {
      agreement = {witness.accepted, witness, witness};
      continue;
    }
    if (witness.accepted.high < agreement.common.high) agreement.lowest = witness;
    if (witness.accepted.low > agreement.common.low) agreement.highest = witness;
    agreement.common = agreement.common.common(witness.accepted);
  }
}

std::optional<ResultDifference> ResultComparison::add_accepted(
    size_t kernel, const std::vector<SuspectValues>& values) {
  agreements_.resize(first_.size());
  std::vector<const SuspectValues*> ordered(first_.size(), nullptr);  // as in first_
  for (size_t i = 0; i < first_.size(); ++i) {
    if (suspect_[i].empty()) continue;
    for (const SuspectValues& one : values) {
      if (one.result == first_[i].name) ordered[i] = &one;
    }
    if (ordered[i] == nullptr) {
      throw InternalError(fmt::format("{} says nothing on {}", kernels_[kernel], first_[i].name));
    }
    if (auto difference = contradiction(i, *ordered[i], kernel)) return difference;
  }
  for (size_t i = 0; i < first_.size(); ++i) {
    if (ordered[i] != nullptr) take_in(i, *ordered[i], kernel);
  }
  return std::nullopt;
}

}  // namespace rngdsim
