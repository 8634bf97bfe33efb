// SPDX-License-Identifier: Apache-2.0
// Whether several kernels have computed the same, element by element of their logical results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command/program.h"
#include "reference/checker.h"
#include "sim/run_result.h"
#include "support/diagnostic.h"

namespace rngdsim {

// Adds an error, at the first line of the later kernel's file, for each result that two kernels do
// not both have with the same axes, sizes and dtype: compared are all with the first one.
void check_same_results(const std::vector<const Program*>& programs, Diagnostics& diagnostics);

// One side of a difference.
struct DifferingValue {
  std::string kernel;
  std::string value;     // "0.5", "nothing"
  std::string accepted;  // "0.498 to 0.502"; empty for exact values
};

struct ResultDifference {
  std::string result;  // name
  std::string index;   // "I=3 J=5", of the first element that differs
  DifferingValue earlier, later;
  uint64_t differing = 0, elements = 0;  // of this result
};
// "c at I=3 J=5: 0.5 in fast, 0.25 in slow; 12 of 64 elements differ", with the accepted values.
std::string to_string(const ResultDifference& difference);

// What a kernel has at the suspects of one result, in their order.
struct SuspectValues {
  std::string result;  // name
  std::vector<uint32_t> bits;
  std::vector<Accepted> accepted;
};

// Compares in two steps, so that what is right needs to be worked out only where it matters.
//
// add() takes in the results of one kernel after the other. Integers must be equal bit for bit, and
// what was never written agrees with its like only. Elements of floats that differ in any kernel
// are suspects: where there are some, add_accepted() takes in what each kernel accepts there. They
// agree where some value is accepted by the references of all kernels: then the order of summation
// explains every difference.
class ResultComparison {
 public:
  // The first difference from the first kernel that no order of summation explains; then the kernel
  // is not taken in. Precondition: check_same_results() found nothing, `results` are complete.
  std::optional<ResultDifference> add(const std::string& kernel, std::vector<TensorValues> results);

  bool has_suspects() const;
  // As offsets into the results of the kernel that was added as number `kernel`, whose axes may be
  // in an order of its own. To be called once all are added.
  ResultOffsets suspects(size_t kernel) const;
  // To be called for the kernels in the order in which they were added. The first element at which
  // no value is right for this kernel and all before it; then it is not taken in.
  std::optional<ResultDifference> add_accepted(size_t kernel,
                                               const std::vector<SuspectValues>& values);

  // Those of the first kernel. Empty before.
  const std::vector<TensorValues>& results() const { return first_; }

 private:
  // A float as one kernel has it.
  struct Witness {
    Accepted accepted;
    uint32_t bits = 0;
    size_t kernel = 0;
  };
  // What the kernels so far agree on at one suspect: the values that all accept, and whose upper
  // and whose lower limit is the strictest.
  struct Agreement {
    Accepted common;
    Witness lowest, highest;
  };
  // How a kernel stores a result.
  struct Layout {
    std::vector<std::string> axes;
    std::vector<uint64_t> shape;
  };
  std::optional<ResultDifference> compare(size_t result, const TensorValues& later);
  void take_in(size_t result, const SuspectValues& values, size_t kernel);
  std::optional<ResultDifference> contradiction(size_t result, const SuspectValues& values,
                                                size_t kernel) const;
  std::vector<uint64_t> suspects_of(size_t result) const;

  std::vector<std::string> kernels_;
  std::vector<std::vector<Layout>> layouts_;  // by kernel, by result
  std::vector<TensorValues> first_;
  std::vector<std::vector<bool>> suspect_;          // by result, by offset; empty: none
  std::vector<std::vector<Agreement>> agreements_;  // by result, by suspect
};

}  // namespace rngdsim
