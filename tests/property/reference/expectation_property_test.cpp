// SPDX-License-Identifier: Apache-2.0
// Expected values of random contractions against loops over logical indices.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "numeric/convert.h"
#include "numeric/random.h"
#include "reference/reference.h"
#include "tests/support/reference_program.h"

namespace rngdsim {
namespace {

using testing::shape;
using testing::TestAxes;

// O[I, J, K', L'] = sum of A[axes of a] B[axes of b] over what is summed of K and L. K and L are
// cut into a major and a minor digit (of a padded axis where the sizes ask for it), and each digit
// is summed or kept.
struct RandomContraction {
  std::vector<std::pair<std::string, uint64_t>> axes;
  std::vector<std::string> lane, time, packet;  // terms of the products
  std::vector<std::string> kept;                // terms of lane, time, packet that remain
  std::vector<std::string> a_axes, b_axes, out_axes;
  struct Cut {
    uint64_t minor;
    bool sum_major, sum_minor;
  };
  std::array<Cut, 2> cuts;  // of K and L
};

std::string join(const std::vector<std::string>& terms) {
  std::string text = "1";
  for (const std::string& term : terms) text += ", " + term;
  return text;
}

RandomContraction random_contraction() {
  RandomContraction random;
  const auto coin = [] { return *rc::gen::arbitrary<bool>(); };
  for (const char* name : {"I", "J", "K", "L"}) {
    random.axes.emplace_back(name, *rc::gen::inRange<uint64_t>(1, 8));
  }
  std::vector<std::string> terms = {"I", "J"};
  std::vector<std::string> summed;
  for (size_t cut = 0; cut < 2; ++cut) {
    const auto& [name, size] = random.axes[2 + cut];
    const auto minor = *rc::gen::inRange<uint64_t>(1, 5);
    const uint64_t padded = (size + minor - 1) / minor * minor;
    const std::string whole = padded == size ? name : name + " # " + std::to_string(padded);
    random.cuts[cut] = {minor, coin(), coin()};
    (random.cuts[cut].sum_major ? summed : terms).push_back(whole + " / " + std::to_string(minor));
    (random.cuts[cut].sum_minor ? summed : terms).push_back(whole + " % " + std::to_string(minor));
    if (!random.cuts[cut].sum_major || !random.cuts[cut].sum_minor) random.out_axes.push_back(name);
  }
  random.out_axes.insert(random.out_axes.begin(), {"I", "J"});
  random.kept = terms;
  terms.insert(terms.end(), summed.begin(), summed.end());
  for (const std::string& term : terms) {
    auto* const where = std::array{&random.lane, &random.time,
                                   &random.packet}[static_cast<size_t>(*rc::gen::inRange(0, 3))];
    where->insert(where->begin() + *rc::gen::inRange<int>(0, static_cast<int>(where->size()) + 1),
                  term);
  }
  for (const char* name : {"I", "J", "K", "L"}) {
    const auto who = *rc::gen::inRange(0, 3);
    if (who != 1) random.a_axes.emplace_back(name);
    if (who != 0) random.b_axes.emplace_back(name);
  }
  return random;
}

// The shape with the terms that are left out removed.
StreamShape products(const TestAxes& axes, const RandomContraction& random, DType dtype) {
  return shape(axes, dtype, {"1", "1", join(random.lane), join(random.time), join(random.packet)});
}
StreamShape sums(const TestAxes& axes, const RandomContraction& random, DType dtype) {
  // As after contract_lane: everything that remains, Lane and Packet together.
  const auto kept = [&](const std::vector<std::string>& terms) {
    std::vector<std::string> result;
    for (const std::string& term : terms) {
      if (std::find(random.kept.begin(), random.kept.end(), term) != random.kept.end()) {
        result.push_back(term);
      }
    }
    return result;
  };
  std::vector<std::string> time = kept(random.time);
  const std::vector<std::string> packet = kept(random.packet);
  time.insert(time.end(), packet.begin(), packet.end());
  return shape(axes, dtype, {"1", "1", "1", join(time), join(kept(random.lane)) + " # 1024"});
}

using Index = std::array<uint64_t, 4>;  // I, J, K, L

uint64_t offset_of(const TestAxes& axes, const std::vector<std::string>& names,
                   const Index& index) {
  uint64_t offset = 0;
  for (const std::string& name : names) {
    offset = offset * axes.table().size(axes.id(name)) + index[axes.id(name)];
  }
  return offset;
}

// Calls `visit(output index, index of a product)` for every product of every output.
template <typename Visit>
void for_each_product(const RandomContraction& random, const Visit& visit) {
  Index index{};
  for (index[0] = 0; index[0] < random.axes[0].second; ++index[0]) {
    for (index[1] = 0; index[1] < random.axes[1].second; ++index[1]) {
      for (index[2] = 0; index[2] < random.axes[2].second; ++index[2]) {
        for (index[3] = 0; index[3] < random.axes[3].second; ++index[3]) {
          Index out = index;
          for (size_t cut = 0; cut < 2; ++cut) {
            const auto& [minor, sum_major, sum_minor] = random.cuts[cut];
            uint64_t& value = out[2 + cut];
            const uint64_t high = value / minor * minor, low = value % minor;
            value = (sum_major ? 0 : high) + (sum_minor ? 0 : low);
          }
          visit(out, index);
        }
      }
    }
  }
}

struct Case {
  explicit Case(const RandomContraction& random, DType dtype, DType accumulator,
                std::optional<DType> cast = {})
      : axes(random.axes) {
    const auto seed = *rc::gen::arbitrary<uint64_t>();
    const double limit = is_integer(dtype) ? 100 : 2;
    const auto fill = [&](const std::vector<std::string>& names, uint64_t which) {
      LogicalTensor tensor(dtype, axes.ids(names), axes.table());
      for (uint64_t i = 0; i < tensor.volume(); ++i) {
        tensor.set(i, random_bits(dtype, seed + which, i, -limit, limit));
      }
      return tensor;
    };
    a = fill(random.a_axes, 0);
    b = fill(random.b_axes, 1);
    command.outer.emplace();
    command.stages.push_back({"contract_outer", {}, products(axes, random, dtype)});
    command.stages.push_back({"contract_lane", {}, sums(axes, random, accumulator)});
    command.source = command.stages[0].after;
    command.final_shape = command.stages[1].after;
    if (cast) command.cast.emplace().to = *cast;
    program.axes = axes.table();
    Diagnostics diagnostics;
    expectation = Expectation::of_command(program, command, a, &b, {}, axes.ids(random.out_axes),
                                          diagnostics);
    RC_ASSERT(diagnostics.render() == "");
  }

  TestAxes axes;
  LogicalTensor a, b;
  Command command;
  Program program;
  std::optional<Expectation> expectation;
};

RC_GTEST_PROP(ExpectationProperty, IntegersEqualTheTripleLoop, ()) {
  const RandomContraction random = random_contraction();
  Case test(random, DType::kI8, DType::kI32);
  std::map<uint64_t, int64_t> expected;
  for_each_product(random, [&](const Index& out, const Index& index) {
    const auto a = test.a.value(offset_of(test.axes, random.a_axes, index));
    const auto b = test.b.value(offset_of(test.axes, random.b_axes, index));
    expected[offset_of(test.axes, random.out_axes, out)] += static_cast<int64_t>(a * b);
  });
  for (const auto& [offset, sum] : expected) {
    RC_ASSERT(test.expectation->judge(offset, static_cast<uint32_t>(sum)).ok);
    RC_ASSERT(!test.expectation->judge(offset, static_cast<uint32_t>(sum + 1)).ok);
  }
}

RC_GTEST_PROP(ExpectationProperty, FloatsAreAcceptedWithinTheBoundOnly, ()) {
  const RandomContraction random = random_contraction();
  Case test(random, DType::kBF16, DType::kF32);
  struct Sum {
    float in_order = 0, backwards = 0;
    double exact = 0, magnitude = 0;
    int products = 0;
    std::vector<float> all;
  };
  std::map<uint64_t, Sum> expected;
  for_each_product(random, [&](const Index& out, const Index& index) {
    const auto a = test.a.value(offset_of(test.axes, random.a_axes, index));
    const auto b = test.b.value(offset_of(test.axes, random.b_axes, index));
    Sum& sum = expected[offset_of(test.axes, random.out_axes, out)];
    sum.exact += a * b;
    sum.magnitude += std::fabs(a * b);
    sum.in_order += static_cast<float>(a * b);
    sum.all.push_back(static_cast<float>(a * b));
    ++sum.products;
  });
  for (auto& [offset, sum] : expected) {
    for (auto product = sum.all.rbegin(); product != sum.all.rend(); ++product) {
      sum.backwards += *product;
    }
    for (const float value : {sum.in_order, sum.backwards}) {
      const Judgement judgement =
          test.expectation->judge(offset, from_double(DType::kF32, double{value}));
      RC_ASSERT(judgement.ok);
      RC_ASSERT(judgement.fraction <= 1.0);
    }
    // A little more than n - 1 roundings of the magnitude, and enough to be another f32.
    const double far =
        (sum.products + 1) * 0x1p-24 * sum.magnitude + std::fabs(sum.exact) * 0x1p-23 + 0x1p-100;
    RC_ASSERT(!test.expectation->judge(offset, from_double(DType::kF32, sum.exact + far)).ok);
    RC_ASSERT(!test.expectation->judge(offset, from_double(DType::kF32, sum.exact - far)).ok);
  }
}

// judge_all() against judge() of every element, for right values, near misses, anything and gaps.
void check_whole_tensors(DType dtype, DType accumulator, std::optional<DType> cast) {
  const RandomContraction random = random_contraction();
  Case test(random, dtype, accumulator, cast);
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  uint64_t draws = 0;
  const auto below = [&](uint64_t n) { return hash64(seed, draws++) % n; };
  if (below(2) == 0) {  // operands with poison, subnormals or any integer, infinities, NaN
    constexpr uint32_t kSpecial[] = {0x7f80, 0xff80, 0x7fc0};  // bf16
    LogicalTensor spoilt(dtype, test.a.axes(), test.axes.table());
    for (uint64_t i = 0; i < spoilt.volume(); ++i) {
      const uint64_t what = below(40);
      if (what == 0) continue;
      uint32_t bits = test.a.bits(i);
      if (what == 1) bits = static_cast<uint32_t>(below(uint64_t{1} << (value_bits(dtype) / 2)));
      if (what == 2 && is_float(dtype)) bits = kSpecial[below(3)];
      spoilt.set(i, bits);
    }
    test.a = std::move(spoilt);
  }
  std::map<uint64_t, double> sums;
  for_each_product(random, [&](const Index& out, const Index& index) {
    sums[offset_of(test.axes, random.out_axes, out)] +=
        test.a.value(offset_of(test.axes, random.a_axes, index)) *
        test.b.value(offset_of(test.axes, random.b_axes, index));
  });
  const DType result = test.expectation->dtype();
  LogicalTensor actual(result, test.axes.ids(random.out_axes), test.axes.table());
  for (const auto& [offset, sum] : sums) {
    const uint32_t right = convert(accumulator, result, from_double(accumulator, sum));
    const uint64_t what = below(12);
    if (what == 0) continue;
    const auto mask = static_cast<uint32_t>((uint64_t{1} << value_bits(result)) - 1);
    if (what == 1) {
      actual.set(offset, (right + 1) & mask);
    } else if (what == 2) {
      actual.set(offset, static_cast<uint32_t>(hash64(seed, draws++)) & mask);
    } else {
      actual.set(offset, right);
    }
  }
  const size_t max_listed = below(9);
  const Verdict all = test.expectation->judge_all(actual, max_listed);
  const Verdict each = testing::judged_one_by_one(*test.expectation, actual, max_listed);
  RC_ASSERT(all.wrong == each.wrong);
  RC_ASSERT(all.first_wrong == each.first_wrong);
  RC_ASSERT(all.max_error == each.max_error);
  RC_ASSERT(std::fabs(all.max_fraction - each.max_fraction) < 1e-6);
  // accepted() names the values that judge() takes.
  for (uint64_t offset = 0; offset < actual.volume(); ++offset) {
    if (!actual.defined(offset)) continue;
    // Of the NaN codes only the canonical one is right; Accepted speaks of values.
    if (std::isnan(actual.value(offset)) &&
        actual.bits(offset) != from_double(result, actual.value(offset))) {
      continue;
    }
    Accepted alone = Accepted::nothing();
    alone.add(actual.value(offset));
    RC_ASSERT(test.expectation->accepted(offset).overlaps(alone) ==
              test.expectation->judge(offset, actual.bits(offset)).ok);
  }
}

RC_GTEST_PROP(ExpectationProperty, WholeTensorsOfIntegersAreJudgedAsTheirElements, ()) {
  check_whole_tensors(DType::kI8, DType::kI32, {});
}
RC_GTEST_PROP(ExpectationProperty, WholeTensorsOfCastIntegersAreJudgedAsTheirElements, ()) {
  check_whole_tensors(DType::kI4, DType::kI32, DType::kI8);
}
RC_GTEST_PROP(ExpectationProperty, WholeTensorsOfFloatsAreJudgedAsTheirElements, ()) {
  check_whole_tensors(DType::kBF16, DType::kF32, {});
}
RC_GTEST_PROP(ExpectationProperty, WholeTensorsOfCastFloatsAreJudgedAsTheirElements, ()) {
  check_whole_tensors(DType::kBF16, DType::kF32, DType::kBF16);
}

}  // namespace
}  // namespace rngdsim
