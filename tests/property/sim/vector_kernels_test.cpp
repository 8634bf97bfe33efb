// SPDX-License-Identifier: Apache-2.0
// The shipped kernels of the Vector Engine, computed by the reference alone, command by command,
// against their formulas in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "reference/reference.h"
#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

// The values of all tensors as the reference has them: of what is accepted, the middle.
class ByDefinition {
 public:
  explicit ByDefinition(const std::string& kernel) : lowered_(lower_shipped(kernel)) {
    EXPECT_EQ(lowered_.errors(), "");
    const Program& program = lowered_.program;
    values_.resize(program.tensors.size());
    for (TensorId id = 0; id < program.tensors.size(); ++id) {
      const TensorVersion& tensor = program.tensors[id];
      if (tensor.produced_by || tensor.view_of) continue;
      values_[id] = initial_values(tensor.init, tensor.dtype, tensor.logical, program.axes, 0, "",
                                   diagnostics_);
    }
    for (const Command& command : program.commands) run(command);
    EXPECT_EQ(diagnostics_.render(), "");
  }

  // Of the last version, the value at `offset`.
  double operator()(const std::string& name, uint64_t offset) const {
    const LogicalTensor& tensor = values_[last(name)];
    EXPECT_TRUE(tensor.defined(offset)) << name << " " << offset;
    return tensor.value(offset);
  }
  uint64_t volume(const std::string& name) const { return values_[last(name)].volume(); }

 private:
  void run(const Command& command) {
    const Program& program = lowered_.program;
    const TensorVersion& source = program.tensors[command.fetch->tensor];
    const LogicalTensor a = source.view_of
                                ? tile_of(values_[*source.view_of], source.tile, program.axes)
                                : values_[command.fetch->tensor];
    const LogicalTensor* b = command.outer ? &values_[command.outer->trf] : nullptr;
    const TensorId to = command.commit   ? command.commit->tensor
                        : command.to_trf ? command.to_trf->tensor
                                         : command.to_vrf->tensor;
    const TensorVersion& target = program.tensors[to];
    auto expectation = Expectation::of_command(
        program, command, a, b, [this](TensorId id) { return &values_[id]; }, target.logical,
        diagnostics_);
    ASSERT_TRUE(expectation) << diagnostics_.render();
    ASSERT_EQ(expectation->dtype(), target.dtype);
    LogicalTensor result(target.dtype, target.logical, program.axes);
    for (uint64_t i = 0; i < result.volume(); ++i) {
      const Accepted accepted = expectation->accepted(i);
      if (accepted.low > accepted.high) continue;  // of a view, what lies outside of it
      result.set(i, from_double(target.dtype, (accepted.low + accepted.high) / 2));
    }
    EXPECT_EQ(expectation->judge_all(result, 1).wrong, 0u) << command.label;
    values_[to] = std::move(result);
  }
  TensorId last(const std::string& name) const {
    TensorId found = 0;
    for (TensorId id = 0; id < values_.size(); ++id) {
      const TensorVersion& tensor = lowered_.program.tensors[id];
      if (tensor.name == name && !tensor.view_of) found = id;
    }
    return found;
  }

  LoweredKernel lowered_;
  Diagnostics diagnostics_;
  std::vector<LogicalTensor> values_;  // by tensor
};

// Half a unit in the last place of bf16, and a little for the f32 before it.
void expect_bf16(double got, double wanted, uint64_t where) {
  EXPECT_NEAR(got, wanted, std::fabs(wanted) * 0x1.02p-8 + 1e-6) << where;
}

TEST(VectorKernelsTest, Relu) {
  const ByDefinition kernel("relu");
  constexpr uint64_t kI = 512, kJ = 512, kK = 64;
  for (uint64_t at = 0; at < kI * kJ; at += 37) {
    double sum = 0;
    for (uint64_t k = 0; k < kK; ++k) {
      sum += kernel("a", at / kJ * kK + k) * kernel("b", at % kJ * kK + k);
    }
    // 64 products up to 1 in f32, in any order.
    EXPECT_NEAR(kernel("c", at), std::max(0.0, sum),
                std::fabs(sum) * 0x1.02p-8 + 64 * 64 * 0x1p-24);
  }
}

TEST(VectorKernelsTest, Bias) {
  const ByDefinition kernel("bias");
  for (uint64_t at = 0; at < kernel.volume("x"); at += 11) {
    expect_bf16(kernel("y", at), kernel("x", at) + kernel("w", at % 128), at);
  }
}

TEST(VectorKernelsTest, Softmax) {
  const ByDefinition kernel("softmax");
  constexpr uint64_t kRow = 1000;
  for (uint64_t row = 0; row < 256; row += 5) {
    double largest = -1e9, sum = 0;
    for (uint64_t i = 0; i < kRow; ++i) largest = std::max(largest, kernel("x", row * kRow + i));
    for (uint64_t i = 0; i < kRow; ++i) sum += std::exp(kernel("x", row * kRow + i) - largest);
    EXPECT_EQ(kernel("row_max", row), largest);
    for (uint64_t at = row * kRow; at < (row + 1) * kRow; ++at) {
      expect_bf16(kernel("y", at), std::exp(kernel("x", at) - largest) / sum, at);
    }
  }
}

TEST(VectorKernelsTest, RmsNorm) {
  const ByDefinition kernel("rmsnorm");
  constexpr uint64_t kH = 1024;
  for (uint64_t row = 0; row < 256; row += 5) {
    double squares = 0;
    for (uint64_t h = 0; h < kH; ++h) squares += std::pow(kernel("x", row * kH + h), 2);
    const double root = std::sqrt(squares / kH + 1e-6);
    for (uint64_t h = 0; h < kH; ++h) {
      expect_bf16(kernel("y", row * kH + h), kernel("w", h) * kernel("x", row * kH + h) / root, h);
    }
  }
}

TEST(VectorKernelsTest, Activations) {
  const ByDefinition erf("gelu_erf"), tanh("gelu_tanh"), residual("residual");
  for (uint64_t at = 0; at < erf.volume("x"); at += 13) {
    const double x = erf("x", at);
    // Where it is small, f32 cancels: 2^-24 of x.
    EXPECT_NEAR(erf("y", at), x / 2 * (1 + std::erf(x / std::sqrt(2))),
                std::fabs(erf("y", at)) * 0x1.02p-8 + 4e-7)
        << at;
    const double inner = std::sqrt(2 / std::acos(-1)) * (x + 0.044715 * x * x * x);
    EXPECT_NEAR(tanh("y", at), x / 2 * (1 + std::tanh(inner)),
                std::fabs(tanh("y", at)) * 0x1.02p-8 + 2e-6)
        << at;
    expect_bf16(residual("y", at), 1 / (1 + std::exp(-2 * x)) + x, at);
  }
}

TEST(VectorKernelsTest, PairAdd) {
  const ByDefinition kernel("pair_add");
  for (uint64_t at = 0; at < 4096; ++at) {
    EXPECT_EQ(kernel("y", at), kernel("x", 2 * at) + 3 * kernel("x", 2 * at + 1)) << at;
  }
}

TEST(VectorKernelsTest, FullSum) {
  const ByDefinition kernel("full_sum");
  double sum = 0;
  for (uint64_t r = 0; r < 16384; ++r) sum += kernel("x", r);
  EXPECT_NEAR(kernel("y", 0), sum, 1e-3);
}

TEST(VectorKernelsTest, GemmWithBlocksOfTheContractedAxis) {
  const ByDefinition kernel("gemm_blocked_k");
  constexpr uint64_t kI = 512, kJ = 512, kK = 512;
  for (uint64_t at = 0; at < kI * kJ; at += 997) {
    double sum = 0;
    for (uint64_t k = 0; k < kK; ++k) {
      sum += kernel("a", at / kJ * kK + k) * kernel("b", at % kJ * kK + k);
    }
    // Sums of 512 products up to 1 in f32, in any order.
    EXPECT_NEAR(kernel("c", at), sum, std::fabs(sum) * 0x1.02p-8 + 512 * 512 * 0x1p-24);
  }
}

}  // namespace
}  // namespace rngdsim
