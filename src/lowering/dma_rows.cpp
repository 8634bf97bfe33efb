// SPDX-License-Identifier: Apache-2.0
#include "lowering/dma_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "lowering/dma_pieces.h"
#include "support/text.h"

namespace rngdsim {
namespace {

bool holds_axis(const std::vector<AxisId>& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

class RowChoice {
 public:
  RowChoice(const DmaRowsRequest& request, const LowerScope& scope)
      : request_(request), scope_(scope), scatter_(request.to_memory == MemoryKind::kHbm) {}

  std::optional<DmaConfig::Indexed> choose() {
    // All of these, whatever the others say.
    bool good = check_memories();
    good = check_index() && good;
    if (!good) return std::nullopt;
    DmaConfig::Indexed indexed;
    indexed.scatter = scatter_;
    indexed.scaled = request_.scaled;
    good = find_row_axis(indexed) && find_rows(indexed);
    good = check_index_axes() && good;
    return good ? std::optional(indexed) : std::nullopt;
  }

 private:
  bool fail(const SourceLocation& where, const std::string& message, const std::string& hint) {
    scope_.diagnostics.error(where, "dma: " + message, hint);
    return false;
  }
  // The tensor in HBM whose rows are chosen.
  const std::string& table() const { return scatter_ ? request_.to : request_.from.name; }
  // The other one, in data memory.
  const std::string& other() const { return scatter_ ? request_.from.name : request_.to; }

  bool check_memories() {
    const bool from_hbm = request_.from.memory == MemoryKind::kHbm;
    if (from_hbm != scatter_) return true;
    return fail(request_.index_where,
                fmt::format("an index with '{}' in {} and '{}' in {}", request_.from.name,
                            name(request_.from.memory), request_.to, name(request_.to_memory)),
                "it chooses rows in hbm that go to dm (gather) or come from dm (scatter)");
  }

  bool check_index() {
    const TensorVersion& index = request_.index;
    bool good = true;
    if (index.dtype != DType::kI32) {
      good = fail(request_.index_where,
                  fmt::format("the index '{}' is of {}; rows are chosen by i32", index.name,
                              name(index.dtype)),
                  "");
    }
    if (scatter_ && !request_.scaled) {
      return fail(request_.scaled_where, "there is no unscaled scatter",
                  "scaled: true, with byte offsets in an index in hbm");
    }
    const MemoryKind wanted = request_.scaled ? MemoryKind::kHbm : MemoryKind::kDm;
    if (index.memory == wanted) return good;
    return fail(
        request_.index_where,
        fmt::format("the index '{}' lies in {}; {} are read from {}", index.name,
                    name(index.memory),
                    request_.scaled ? "byte offsets (scaled: true)" : "row numbers (scaled: false)",
                    name(wanted)),
        scatter_          ? "keep it in hbm"
        : request_.scaled ? "keep it in hbm, or say scaled: false"
                          : "let a dma bring it to dm first, or say scaled: true");
  }

  // The one axis of the table that the other side lacks.
  bool find_row_axis(DmaConfig::Indexed& indexed) {
    const std::vector<AxisId>& has = scatter_ ? request_.to_axes : request_.from.logical;
    const std::vector<AxisId>& lacks = scatter_ ? request_.from.logical : request_.to_axes;
    std::vector<std::string> found;
    for (const AxisId axis : has) {
      if (holds_axis(lacks, axis) || scope_.axes.size(axis) == 1) continue;
      indexed.row_axis = axis;
      found.push_back(scope_.axes.name(axis));
    }
    if (found.size() == 1) return true;
    if (found.empty()) {
      return fail(request_.where,
                  fmt::format("'{}' has every axis of '{}': none is left for the index '{}' to "
                              "choose along",
                              other(), table(), request_.index.name),
                  "the axis of the rows occurs in the tensor in hbm alone; the index has others");
    }
    return fail(request_.where,
                fmt::format("'{}' lacks the axes {} of '{}'; an index chooses along one", other(),
                            fmt::join(found, ", "), table()),
                "name all but one of them in the dimensions in dm");
  }

  // All rows lie at one distance.
  bool find_rows(DmaConfig::Indexed& indexed) {
    const TensorVersion& hbm = scatter_ ? *request_.target : request_.from;
    const AxisId axis = indexed.row_axis;
    const std::string& axis_name = scope_.axes.name(axis);
    std::vector<DmaDigit> digits;
    for (const DmaDigit& digit : dma_digits(hbm, scope_.limits).digits) {
      if (digit.axis == axis) digits.push_back(digit);
    }
    const uint64_t size = scope_.axes.size(axis);
    // Digits side by side are one.
    while (digits.size() > 1 && digits[0].stride == digits[1].stride * digits[1].live &&
           digits[0].step == digits[1].step * digits[1].live) {
      digits[1].live *= digits[0].live;
      digits.erase(digits.begin());
    }
    if (digits.size() != 1 || digits[0].stride != 1) {
      return fail(request_.where,
                  fmt::format("the rows of '{}' along {} do not lie at one distance in '{}'",
                              table(), axis_name, scope_.text(hbm.element)),
                  fmt::format("keep {} whole, or its parts together", axis_name));
    }
    if (digits[0].step % 8 != 0) {
      return fail(request_.where,
                  fmt::format("rows of '{}' along {} are {} bits apart, no whole bytes", table(),
                              axis_name, digits[0].step),
                  "pad the rows");
    }
    indexed.rows = std::min(digits[0].live, size);
    indexed.row_bytes = digits[0].step / 8;
    return true;
  }

  // Every axis of the index is walked, and the index has all of it.
  bool check_index_axes() {
    const TensorVersion& index = request_.index;
    const std::vector<AxisId>& walked = scatter_ ? request_.from.logical : request_.to_axes;
    bool good = true;
    for (const AxisId axis : index.logical) {
      const std::string& axis_name = scope_.axes.name(axis);
      if (!holds_axis(walked, axis)) {
        good = fail(
            request_.index_where,
            fmt::format("axis {} of the index '{}' is not in '{}'", axis_name, index.name, other()),
            "each element of the index chooses the row of those with its own indices");
        continue;
      }
      uint64_t held = 1;
      for (const DmaDigit& digit : dma_digits(index, scope_.limits).digits) {
        if (digit.axis == axis) held *= digit.live;
      }
      if (held >= scope_.axes.size(axis)) continue;
      good = fail(request_.index_where,
                  fmt::format("the index '{}' holds {} of the {} indices of axis {}", index.name,
                              group_digits(held), group_digits(scope_.axes.size(axis)), axis_name),
                  "it says of each which row is meant");
    }
    return good;
  }

  const DmaRowsRequest& request_;
  const LowerScope& scope_;
  bool scatter_;
};

}  // namespace

std::optional<DmaConfig::Indexed> choose_rows(const DmaRowsRequest& request,
                                              const LowerScope& scope) {
  return RowChoice(request, scope).choose();
}

}  // namespace rngdsim
