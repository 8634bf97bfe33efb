// SPDX-License-Identifier: Apache-2.0
// What a command must compute, from the mappings alone: no sequencers, no units, no order of
// events.
//
// A command without a contraction moves values: the element at an index is the source's element at
// that index, converted. A contraction multiplies the two operands at every position of the stream
// after contract_outer and sums the positions whose digits are gone after the later contraction
// stages. A position that an axis overshoots holds no element and adds nothing.
//
// Integers are exact (sums wrap modulo 2^32). A float sum of n products is accepted where some
// order of its roundings could give it: with u = 2^-24, r roundings and g = r u / (1 - r u),
//   |computed - exact| <= g sum|a b| + 2 n 2^-126
// (the last term: each product and each sum that is subnormal becomes zero), r = n - 1 where
// products are exact in f32 (all operand types of the multiplier), n otherwise. Conversions after
// the sum are monotone, so v is accepted iff convert(exact - bound) <= v <= convert(exact + bound).
// A vector chain works on single elements and folds. What comes behind a sum is known as the set of
// values that its steps make of what is accepted for the sum: steps that are monotone take its
// ends, others what they give at most. Where a set lies across the boundary of a comparison,
// elements may take either way. An i32 sum that saturates is accepted where some order of its terms
// gives it. A product of n floats has n - 1 roundings, and is 0 where numbers become too small on
// the way.
//
// Not finite:
//   an operand is NaN, or infinity meets zero or its opposite       NaN
//   infinite products of one sign only                              that infinity; NaN too where
//   the
//                                                                   finite part may overflow
//   all products finite, sum|a b| (1 + g) beyond f32                also either infinity and NaN
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command/program.h"
#include "reference/logical_tensor.h"

namespace rngdsim {

// Cells over which a contraction sums. The sum runs over the product of the factors' cells (index
// values add up), each counted `repeat` times.
struct Reduction {
  using Index = std::vector<std::pair<AxisId, uint64_t>>;
  std::vector<std::vector<Index>> factors;
  uint64_t repeat = 1;
};

// The reduction between two shapes of a contraction: what `before` has in lane, time and packet
// that `after` lacks. Adds an error where a sum runs across pieces of an axis that no digit names.
Reduction derive_reduction(const StreamShape& before, const StreamShape& after,
                           const AxisTable& axes, const SourceLocation& where,
                           Diagnostics& diagnostics);
// That of the innermost `ratio` slices of each group, of which all digits are gone.
Reduction derive_inter_slice_reduction(const Mapping& slice, uint64_t ratio, const AxisTable& axes,
                                       const SourceLocation& where, Diagnostics& diagnostics);
// Whole axes.
Reduction reduce_axes(const std::vector<AxisId>& sum_over, const AxisTable& axes);

// Adds an error for each axis that is summed over and yet in the result, or neither summed over nor
// in the result though an input has it.
void check_sum(const std::vector<AxisId>& sum_over, const std::vector<AxisId>& in_axes,
               const std::vector<AxisId>& out_axes, const AxisTable& axes,
               const SourceLocation& where, Diagnostics& diagnostics);

// The outcome of comparing one element.
struct Judgement {
  bool ok = true;
  double error = 0;     // |got - expected|; 0 where either is not finite
  double fraction = 0;  // of the bound that was used, 0..1; 0 for exact values
};

// The values that are accepted for one element: the numbers from low to high (none where low is
// above high; equal where only one is right), and what else may come out where a sum may overflow.
struct Accepted {
  double low = 0, high = 0;
  bool nan = false, plus_infinity = false, minus_infinity = false;

  static Accepted nothing();
  void add(double value);
  // Whether some value is accepted by both.
  bool overlaps(const Accepted& o) const;
  // What both accept.
  Accepted common(const Accepted& o) const;
  bool operator==(const Accepted& o) const;
};

// The outcome of comparing a whole tensor.
struct Verdict {
  uint64_t wrong = 0;
  double max_error = 0, max_fraction = 0;  // of the judgements
  std::vector<uint64_t> first_wrong;       // offsets, ascending, no more than were asked for
};

// Whether an element of a result is written: a filter may leave it out.
enum class Written : uint8_t { kYes, kNo, kMaybe };

// The values that a vector chain reads from the VRF; null: unknown.
using OperandValues = std::function<const LogicalTensor*(TensorId)>;

// The expected values of one result over `out_axes`.
class Expectation {
 public:
  // Of a command: `a` is what it fetches (or its stream), `b` its TRF operand or null, `operands`
  // those of its vector chain. All of these, the program and the command must outlive the
  // expectation. Adds errors for what the mappings make meaningless.
  static std::optional<Expectation> of_command(const Program& program, const Command& command,
                                               const LogicalTensor& a, const LogicalTensor* b,
                                               const OperandValues& operands,
                                               const std::vector<AxisId>& out_axes,
                                               Diagnostics& diagnostics);
  // Of a DMA: `a` as it is. `a` must outlive the expectation.
  static Expectation of_copy(const LogicalTensor& a, const std::vector<AxisId>& out_axes,
                             const AxisTable& axes);
  // Of a DMA by an index tensor. `a`, `index` and `indexed` must outlive the expectation.
  static Expectation of_rows(const LogicalTensor& a, const LogicalTensor& index,
                             const DmaConfig::Indexed& indexed, const std::vector<AxisId>& out_axes,
                             const AxisTable& axes);
  // Of `expect:`: the sum of a, or of a * b, over whole axes, in the accumulator type, converted to
  // `out_dtype`. A lone tensor without a sum is copied.
  static std::optional<Expectation> of_sum(const std::vector<AxisId>& sum_over,
                                           const LogicalTensor& a, const LogicalTensor* b,
                                           const std::vector<AxisId>& out_axes, DType out_dtype,
                                           const AxisTable& axes, const SourceLocation& where,
                                           Diagnostics& diagnostics);
  ~Expectation();
  Expectation(Expectation&&) noexcept;
  Expectation& operator=(Expectation&&) noexcept;

  DType dtype() const;      // of the result
  uint64_t volume() const;  // of the result's logical tensor

  // Compares the element at `offset` of the result's logical tensor.
  Judgement judge(uint64_t offset, uint32_t bits);
  // The same for every defined element of `actual`, at a fraction of the cost. Preconditions:
  // dtype() and volume() are those of `actual`. Lists at most `max_listed` wrong elements.
  Verdict judge_all(const LogicalTensor& actual, size_t max_listed);
  // The values that judge() accepts at `offset`: for f32 sums the interval as it is, otherwise that
  // of converted values. Nothing where the element is made from one that was never written.
  Accepted accepted(uint64_t offset);
  // Whether written() may be anything but kYes.
  bool has_filter() const;
  // By offset. What is not written still has a value here, which nobody sees.
  std::vector<Written> written();
  // By offset: whether poison may have been written over what was there; empty: nowhere.
  std::vector<uint8_t> poisoned();
  // For messages: the expected value and, for float sums, the bound ("1.5 +- 2.4e-07").
  std::string expected_text(uint64_t offset);

  class Impl;

 private:
  explicit Expectation(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A raw value for messages: "-3", "0.5", "nan".
std::string value_text(DType dtype, uint32_t bits);

}  // namespace rngdsim
