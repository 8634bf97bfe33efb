// SPDX-License-Identifier: Apache-2.0
// Kernels with a vector chain, given inputs and the values that must come out. These are formulas
// and figures of the tests alone: nothing here calls what computes in the simulator.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "tests/support/small_topology.h"

namespace rngdsim::test {

inline constexpr int32_t kMaxI32 = std::numeric_limits<int32_t>::max();
inline constexpr int32_t kMinI32 = std::numeric_limits<int32_t>::min();
inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr uint32_t kNanPattern = 0x7fc00000;

inline uint32_t bits_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline uint32_t bits_of(int32_t value) { return static_cast<uint32_t>(value); }
inline float float_of(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// --- Arithmetic of the formulas

inline int32_t wrap(int64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }
inline int32_t saturate(int64_t value) {
  return static_cast<int32_t>(std::min<int64_t>(std::max<int64_t>(value, kMinI32), kMaxI32));
}
// No subnormal operands and results: they are zeros of their sign.
inline float flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}
// A NaN wins, and +0 is above -0.
inline float larger(float a, float b) {
  a = flush(a);
  b = flush(b);
  if (std::isnan(a) || std::isnan(b)) return kNan;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
inline float smaller(float a, float b) { return -larger(-a, -b); }
// To the nearest whole number, halves away from zero, clamped; of a NaN the sign says the end.
inline int32_t to_whole(float value) {
  if (std::isnan(value)) return std::signbit(value) ? kMinI32 : kMaxI32;
  const double rounded = std::round(static_cast<double>(flush(value)));
  if (rounded >= 2147483647.0) return kMaxI32;
  if (rounded <= -2147483648.0) return kMinI32;
  return static_cast<int32_t>(rounded);
}

// --- What must come out

// One element: an int32_t exactly; a float exactly, but for subnormals (zero) and NaN (one of
// them); a long double within one unit in the last place of f32.
class Value {
 public:
  Value(int32_t value) : dtype_(DType::kI32), bits_(bits_of(value)) {}  // NOLINT: table rows
  Value(float value)                                                    // NOLINT
      : dtype_(DType::kF32), bits_(std::isnan(value) ? kNanPattern : bits_of(flush(value))) {}
  Value(long double value)  // NOLINT
      : Value(std::fabs(value) < FLT_MIN ? std::copysign(0.0F, static_cast<float>(value))
                                         : static_cast<float>(value)) {
    exact_ = value;
    near_ = std::isfinite(float_of(bits_));
  }
  // Any of these: of an operation on a result that is only known to one unit.
  static Value any(const std::vector<float>& values) {
    Value value(values.at(0));
    for (float other : values) value.others_.push_back(Value(other).bits_);
    return value;
  }
  // Bits that no arithmetic touches.
  static Value raw(uint32_t bits) {
    Value value(0.0F);
    value.bits_ = bits;
    return value;
  }

  DType dtype() const { return dtype_; }
  bool accepts(uint32_t got) const {
    if (got == bits_) return true;
    if (std::find(others_.begin(), others_.end(), got) != others_.end()) return true;
    if (!near_ || exact_ == 0) return false;
    const int exponent = std::max(std::ilogb(exact_), -126);
    const long double unit = std::ldexp(1.0L, exponent - 23);
    return std::fabs(static_cast<long double>(float_of(got)) - exact_) <= unit;
  }
  std::string text() const {
    return text(bits_) + (near_ || !others_.empty() ? " or the like" : "");
  }
  std::string text(uint32_t bits) const {
    return dtype_ == DType::kI32 ? fmt::format("{}", static_cast<int32_t>(bits))
                                 : fmt::format("{:#x} = {}", bits, float_of(bits));
  }

 private:
  DType dtype_;
  uint32_t bits_;
  std::vector<uint32_t> others_;
  bool near_ = false;
  long double exact_ = 0;
};

// `of` an f32 that is known to one unit in the last place.
template <typename Of>
Value one_unit_around(long double exact, const Of& of) {
  const float near = flush(static_cast<float>(exact));
  if (near == 0 || !std::isfinite(near)) return of(near);
  return Value::any({of(near), of(std::nextafter(near, -kInf)), of(std::nextafter(near, kInf))});
}

// `of` each index of axes of these sizes, the last one fastest.
template <typename T, typename Of>
std::vector<T> at_all(const std::vector<uint64_t>& sizes, const Of& of) {
  uint64_t count = 1;
  for (uint64_t size : sizes) count *= size;
  std::vector<T> result;
  for (uint64_t flat = 0; flat < count; ++flat) {
    std::vector<uint64_t> index(sizes.size());
    uint64_t rest = flat;
    for (size_t i = sizes.size(); i-- > 0; rest /= sizes[i]) index[i] = rest % sizes[i];
    result.push_back(of(index));
  }
  return result;
}
template <typename Of>
std::vector<Value> values_at(const std::vector<uint64_t>& sizes, const Of& of) {
  return at_all<Value>(sizes, [&](const std::vector<uint64_t>& i) -> Value { return of(i); });
}

// --- Inputs

// Stored f32 are never subnormal; that operands may be is for the bits of i32_input().
// Small, large, around what the examples compare with, at the ends of the range; then ordinary
// ones. All rows of a table see the same.
inline int32_t i32_input(uint64_t i) {
  static const std::vector<int32_t> kEdges = {
      0,         1,           -1,          2,       -2,         5,
      7,         10,          9,           100,     -100,       -101,
      1000,      1001,        255,         256,     -256,       kMaxI32,
      kMinI32,   kMaxI32 - 9, kMinI32 + 5, 1 << 30, -(1 << 30), 16777217,
      -16777219, 123'456'789, -99,         300,     0x55555555, -987'654'321,
      46341,     -7};
  if (i < kEdges.size()) return kEdges[i];
  return static_cast<int32_t>(i * 2654435761U) >> (i % 24);
}
inline float f32_input(uint64_t i) {
  static const std::vector<float> kEdges = {
      0.0F,  -0.0F,  1.0F,   -1.0F,   0.5F,     -0.5F,   2.5F,     -2.5F,
      3.25F, -80.0F, 120.0F, FLT_MIN, -FLT_MIN, FLT_MAX, -FLT_MAX, kInf,
      -kInf, kNan,   100.0F, 99.5F,   1e-30F,   -1e-30F, 0x1p24F,  1.0F / 3.0F,
      -0.1F, 50.0F,  1e-37F, -1e-37F, 88.5F,    -104.0F, 1e10F,    -7.75F};
  if (i < kEdges.size()) return kEdges[i];
  return (static_cast<float>(i * 37 % 101) - 50.0F) * 0.37F;
}
inline std::vector<uint32_t> i32_inputs(uint64_t count) {
  return at_all<uint32_t>({count}, [](const auto& i) { return bits_of(i32_input(i[0])); });
}
inline std::vector<uint32_t> f32_inputs(uint64_t count) {
  return at_all<uint32_t>({count}, [](const auto& i) { return bits_of(f32_input(i[0])); });
}

// --- Kernels

class VectorExample {
 public:
  // On so many clusters of so many slices.
  VectorExample(std::string axes, uint64_t clusters, uint64_t slices)
      : topology_(small_topology(clusters, slices)),
        axes_(std::move(axes)),
        cluster_(clusters == 1 ? "cluster: \"1\", " : "") {}

  // `keys`: of the tensor but its memory and init. Its elements in the order of the axes.
  VectorExample& tensor(const std::string& name, const std::string& keys,
                        const std::vector<uint32_t>& bits, const std::string& memory = "dm") {
    tensors_ +=
        fmt::format("  {}: {{memory: {}, {}{}, init: zero}}\n", name, memory, cluster_, keys);
    inputs_.push_back(bits);
    return *this;
  }
  VectorExample& main(const std::string& from, const std::vector<std::string>& stages) {
    return command("main", from, stages);
  }
  VectorExample& sub(const std::string& from, const std::vector<std::string>& stages) {
    return command("sub", from, stages);
  }

  // What is wrong with the kernel.
  std::string errors() {
    Diagnostics diagnostics;
    lowered(diagnostics);
    return diagnostics.render();
  }

  // Runs the kernel, which must be right by its own reference too, and gives tensor `name`.
  TensorValues run(const std::string& name = "y") {
    Diagnostics diagnostics;
    const Program program = lowered(diagnostics);
    if (diagnostics.has_errors()) {
      ADD_FAILURE() << diagnostics.render() << text();
      return {};
    }
    RunOptions options;
    options.keep = {name};
    const RunResult result = run_program(program, topology_, options);
    EXPECT_EQ(result.status, RunStatus::kOk) << text();
    for (const FailureResult& failure : result.failures) ADD_FAILURE() << failure.message;
    EXPECT_EQ(result.values.mismatches, 0U);
    for (const ValueMismatch& m : result.values.first_mismatches) {
      ADD_FAILURE() << m.tensor << " " << m.index << ": " << m.expected << ", got " << m.got;
    }
    EXPECT_EQ(result.tensors.size(), 1U);
    return result.tensors.empty() ? TensorValues() : result.tensors[0];
  }

  void expect(const std::vector<Value>& expected, const std::string& name = "y") {
    const TensorValues got = run(name);
    ASSERT_EQ(got.bits.size(), expected.size()) << text();
    size_t wrong = 0;
    for (size_t i = 0; i < expected.size() && wrong < 8; ++i) {
      EXPECT_EQ(got.dtype, expected[i].dtype());
      EXPECT_EQ(got.valid[i], 1) << "element " << i << " was not written";
      if (expected[i].accepts(got.bits[i])) continue;
      ++wrong;
      ADD_FAILURE() << "element " << i << ": expected " << expected[i].text() << ", got "
                    << expected[i].text(got.bits[i]);
    }
    if (wrong > 0) ADD_FAILURE() << text();
  }

 private:
  VectorExample& command(const std::string& context, const std::string& from,
                         const std::vector<std::string>& stages) {
    program_ += fmt::format("  - {}:\n      from: {}\n      stages:\n", context, from);
    for (const std::string& stage : stages) program_ += "        - " + stage + "\n";
    return *this;
  }
  std::string text() const {
    return fmt::format("kernel: example\naxes: {{{}}}\ntensors:\n{}program:\n{}", axes_, tensors_,
                       program_);
  }
  // The inputs do not go through the text, which has no infinities and NaN.
  Program lowered(Diagnostics& diagnostics) {
    const MachineLimits limits = limits_from(topology_, diagnostics);
    KernelDecl kernel = parse_kernel(text(), "example.yaml", diagnostics);
    if (diagnostics.has_errors()) return {};
    for (size_t i = 0; i < inputs_.size(); ++i) {
      TensorDecl& tensor = kernel.tensors[i];
      tensor.init.kind = InitSpec::Kind::kValues;
      for (uint32_t bits : inputs_[i]) {
        tensor.init.values.push_back(tensor.dtype == DType::kI32
                                         ? static_cast<double>(static_cast<int32_t>(bits))
                                         : static_cast<double>(float_of(bits)));
      }
    }
    return lower(kernel, limits, diagnostics);
  }

  TopologyDecl topology_;
  std::string axes_, cluster_, tensors_, program_;
  std::vector<std::vector<uint32_t>> inputs_;
};

// --- Chains of one stream, and of two groups

inline const char* const kZeroTag = "vector_tag: {mode: zero}";
inline const char* const kTrimA = "vector_narrow_trim: {packet: \"A % 2 # 4\"}";
inline const char* const kPadA = "vector_widen_pad: {packet: \"A % 2 # 8\"}";
inline const char* const kSplitPair =
    "vector_narrow_split: {time: \"1 # 2\", packet: \"A % 2 # 4\"}";
inline const char* const kConcatPair = "vector_widen_concat: {time: \"1\", packet: \"A % 2 # 8\"}";
inline const char* const kUnzipPair = "vector_unzip: {axis: I, slice: \"1 # 2\", time: \"1\"}";

// y[a] = of(x[a]), with the 2 or the 8 elements of a slice in one flit.
struct StreamExample {
  const char* name;
  uint64_t width;
  std::vector<std::string> stages;
  Value (*of_i32)(int32_t) = nullptr;
  Value (*of_f32)(float) = nullptr;
  StreamExample(const char* n, uint64_t w, std::vector<std::string> s, Value (*of)(int32_t))
      : name(n), width(w), stages(std::move(s)), of_i32(of) {}
  StreamExample(const char* n, uint64_t w, std::vector<std::string> s, Value (*of)(float))
      : name(n), width(w), stages(std::move(s)), of_f32(of) {}
};

inline void run_stream_example(const StreamExample& example) {
  const uint64_t slices = 16, elements = slices * example.width;
  const std::string packet = fmt::format("A % {}", example.width);
  VectorExample kernel(fmt::format("A: {}", elements), 1, slices);
  kernel.tensor("x",
                fmt::format("dtype: {}, slice: \"A / {}\", element: \"{}\"",
                            example.of_i32 != nullptr ? "i32" : "f32", example.width, packet),
                example.of_i32 != nullptr ? i32_inputs(elements) : f32_inputs(elements));
  std::vector<std::string> stages = {"fetch: {time: \"1\", packet: \"" + packet + "\"}", "collect"};
  stages.insert(stages.end(), example.stages.begin(), example.stages.end());
  stages.push_back("commit_trim: {packet: \"" + packet + "\"}");
  stages.push_back("commit: {to: y, element: \"" + packet + "\"}");
  kernel.main("x", stages);
  kernel.expect(values_at({elements}, [&](const auto& i) {
    return example.of_i32 != nullptr ? example.of_i32(i32_input(i[0]))
                                     : example.of_f32(f32_input(i[0]));
  }));
}

// y[a] = of(x[a, 0], x[a, 1]). Of two interleaved tensors the axis I of one.
struct PairExample {
  const char* name;
  uint64_t width;
  std::vector<std::string> stages;
  Value (*of_i32)(int32_t, int32_t) = nullptr;
  Value (*of_f32)(float, float) = nullptr;
  PairExample(const char* n, uint64_t w, std::vector<std::string> s, Value (*of)(int32_t, int32_t))
      : name(n), width(w), stages(std::move(s)), of_i32(of) {}
  PairExample(const char* n, uint64_t w, std::vector<std::string> s, Value (*of)(float, float))
      : name(n), width(w), stages(std::move(s)), of_f32(of) {}
};

inline void run_pair_example(const PairExample& example) {
  const uint64_t slices = 32, elements = slices * example.width;
  const std::string packet = fmt::format("A % {}", example.width);
  // Group 1 holds the inputs in another order: 13 is odd, so each of them once.
  const auto input = [&](uint64_t a, uint64_t group) {
    return group == 0 ? a % 32 : (a * 13 + 5 + a / 32) % 32;
  };
  VectorExample kernel(fmt::format("A: {}, I: 2", elements), 1, slices);
  kernel.tensor("x",
                fmt::format("dtype: {}, slice: \"A / {}\", element: \"I, {}\"",
                            example.of_i32 != nullptr ? "i32" : "f32", example.width, packet),
                at_all<uint32_t>({elements, 2}, [&](const auto& i) {
                  const uint64_t which = input(i[0], i[1]);
                  return example.of_i32 != nullptr ? bits_of(i32_input(which))
                                                   : bits_of(f32_input(which));
                }));
  std::vector<std::string> stages = {"fetch: {time: I, packet: \"" + packet + "\"}", "collect"};
  stages.insert(stages.end(), example.stages.begin(), example.stages.end());
  stages.push_back("commit_trim: {packet: \"" + packet + "\"}");
  stages.push_back("commit: {to: y, element: \"" + packet + "\"}");
  kernel.main("x", stages);
  kernel.expect(values_at({elements}, [&](const auto& i) {
    const uint64_t left = input(i[0], 0), right = input(i[0], 1);
    return example.of_i32 != nullptr ? example.of_i32(i32_input(left), i32_input(right))
                                     : example.of_f32(f32_input(left), f32_input(right));
  }));
}

inline void PrintTo(const StreamExample& example, std::ostream* out) { *out << example.name; }
inline void PrintTo(const PairExample& example, std::ostream* out) { *out << example.name; }

template <typename Example>
std::string example_name(const ::testing::TestParamInfo<Example>& info) {
  return info.param.name;
}

}  // namespace rngdsim::test
