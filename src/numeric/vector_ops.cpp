// SPDX-License-Identifier: Apache-2.0
#include "numeric/vector_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/arithmetic.h"

#if defined(__GNUC__) && !defined(__clang__)
#define RNGDSIM_ELEMENTWISE_LOOP _Pragma("GCC ivdep")  // `out` may be an input, at its own index
#else
#define RNGDSIM_ELEMENTWISE_LOOP
#endif

namespace rngdsim {
namespace {

constexpr uint32_t kNan = 0x7fc00000u;
constexpr uint32_t kSign = 0x80000000u;
constexpr uint32_t kWordBits = 32;

int32_t as_signed(uint32_t bits) { return static_cast<int32_t>(bits); }

uint32_t saturated(int64_t value) {
  constexpr int64_t kLowest = std::numeric_limits<int32_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int32_t>::max();
  return static_cast<uint32_t>(std::clamp(value, kLowest, kHighest));
}

// ---- Shifts; every amount is allowed.

uint32_t left_shift(uint32_t a, uint32_t n) { return n < kWordBits ? a << n : 0; }
uint32_t logic_right_shift(uint32_t a, uint32_t n) { return n < kWordBits ? a >> n : 0; }
uint32_t arith_right_shift(uint32_t a, uint32_t n) {
  return static_cast<uint32_t>(as_signed(a) >> std::min(n, kWordBits - 1));
}
// Half up: floor(a / 2^n + 1/2). From 32 on that is floor of something in [0, 1).
uint32_t arith_right_shift_round(uint32_t a, uint32_t n) {
  if (n == 0) return a;
  if (n >= kWordBits) return 0;
  return static_cast<uint32_t>((int64_t{as_signed(a)} + (int64_t{1} << (n - 1))) >> n);
}
// A factor of 2^32 saturates whatever is not zero; larger amounts are no different.
uint32_t left_shift_sat(uint32_t a, uint32_t n) {
  return saturated(int64_t{as_signed(a)} * (int64_t{1} << std::min(n, kWordBits)));
}

// Of all pairs only MIN x MIN leaves the range.
uint32_t mul_fxp(uint32_t a, uint32_t b) {
  const int64_t product = int64_t{as_signed(a)} * as_signed(b);
  return saturated(((product >> 30) + 1) >> 1);
}

// ---- f32

bool is_nan_f32(uint32_t bits) { return (bits & ~kSign) > 0x7f800000u; }

// The value of an operand: no subnormals.
float operand_f32(uint32_t bits) { return float_of(canonical_f32(bits)); }
uint32_t result_f32(float value) { return canonical_f32(bits_of(value)); }

// Computed in double: its error is far below half a unit of f32, so the result is one of the two
// neighbours of the exact value.
template <typename Function>
uint32_t in_double(uint32_t a, Function function) {
  return result_f32(static_cast<float>(function(static_cast<double>(operand_f32(a)))));
}

// Order of f32 codes other than NaN as signed integers, -0 below +0.
int32_t order_f32(uint32_t canonical) {
  return as_signed(canonical ^ ((canonical & kSign) != 0 ? ~kSign : 0u));
}

uint32_t magnitude_i32(uint32_t bits) { return (bits & kSign) != 0 ? 0u - bits : bits; }

// One of two f32 operands, as the hardware holds it: a where `chooses_first`, else b; NaN wins.
template <typename Chooses>
uint32_t choose_f32(uint32_t a, uint32_t b, Chooses chooses_first) {
  if (is_nan_f32(a) || is_nan_f32(b)) return kNan;
  a = canonical_f32(a);
  b = canonical_f32(b);
  return chooses_first(a, b) ? a : b;
}

// ---- The function of an operation is handed to `use`, so that a loop can be made of each.

template <typename Use>
void with_extreme_f32(VectorOp op, Use use) {
  switch (op) {
    case VectorOp::kMin:
      return use([](uint32_t a, uint32_t b) {
        return choose_f32(a, b, [](auto x, auto y) { return order_f32(x) < order_f32(y); });
      });
    case VectorOp::kMax:
      return use([](uint32_t a, uint32_t b) {
        return choose_f32(a, b, [](auto x, auto y) { return order_f32(x) > order_f32(y); });
      });
    case VectorOp::kAbsMin:
      return use([](uint32_t a, uint32_t b) {
        return choose_f32(a, b, [](auto x, auto y) { return (x & ~kSign) < (y & ~kSign); });
      });
    default:  // kAbsMax
      return use([](uint32_t a, uint32_t b) {
        return choose_f32(a, b, [](auto x, auto y) { return (x & ~kSign) > (y & ~kSign); });
      });
  }
}

template <typename Use>
void with_extreme_i32(VectorOp op, Use use) {
  switch (op) {
    case VectorOp::kMin:
      return use([](uint32_t a, uint32_t b) { return as_signed(a) < as_signed(b) ? a : b; });
    case VectorOp::kMax:
      return use([](uint32_t a, uint32_t b) { return as_signed(a) > as_signed(b) ? a : b; });
    case VectorOp::kAbsMin:
      return use(
          [](uint32_t a, uint32_t b) { return magnitude_i32(a) < magnitude_i32(b) ? a : b; });
    default:  // kAbsMax
      return use(
          [](uint32_t a, uint32_t b) { return magnitude_i32(a) > magnitude_i32(b) ? a : b; });
  }
}

template <typename Use>
void with_float(VectorOp op, Use use) {
  switch (op) {
    case VectorOp::kAddF:
      return use(
          [](uint32_t a, uint32_t b) { return result_f32(operand_f32(a) + operand_f32(b)); });
    case VectorOp::kSubF:
      return use(
          [](uint32_t a, uint32_t b) { return result_f32(operand_f32(a) - operand_f32(b)); });
    case VectorOp::kMulF:
      return use(
          [](uint32_t a, uint32_t b) { return result_f32(operand_f32(a) * operand_f32(b)); });
    default:  // kDivF
      return use(
          [](uint32_t a, uint32_t b) { return result_f32(operand_f32(a) / operand_f32(b)); });
  }
}

template <typename Use>
void with_fxp(VectorOp op, Use use) {
  switch (op) {
    case VectorOp::kAddFxp:
      return use([](uint32_t a, uint32_t b) { return a + b; });
    case VectorOp::kAddFxpSat:
      return use(
          [](uint32_t a, uint32_t b) { return saturated(int64_t{as_signed(a)} + as_signed(b)); });
    case VectorOp::kSubFxp:
      return use([](uint32_t a, uint32_t b) { return a - b; });
    case VectorOp::kSubFxpSat:
      return use(
          [](uint32_t a, uint32_t b) { return saturated(int64_t{as_signed(a)} - as_signed(b)); });
    case VectorOp::kLeftShiftSat:
      return use([](uint32_t a, uint32_t b) { return left_shift_sat(a, b); });
    case VectorOp::kMulFxp:
      return use([](uint32_t a, uint32_t b) { return mul_fxp(a, b); });
    case VectorOp::kMulInt:
      return use([](uint32_t a, uint32_t b) { return a * b; });
    default:  // kArithRightShiftRound
      return use([](uint32_t a, uint32_t b) { return arith_right_shift_round(a, b); });
  }
}

template <typename Use>
void with_binary(VectorOp op, DType dtype, Use use) {
  switch (op) {
    case VectorOp::kBitAnd:
      return use([](uint32_t a, uint32_t b) { return a & b; });
    case VectorOp::kBitOr:
      return use([](uint32_t a, uint32_t b) { return a | b; });
    case VectorOp::kBitXor:
      return use([](uint32_t a, uint32_t b) { return a ^ b; });
    case VectorOp::kLeftShift:
      return use([](uint32_t a, uint32_t b) { return left_shift(a, b); });
    case VectorOp::kLogicRightShift:
      return use([](uint32_t a, uint32_t b) { return logic_right_shift(a, b); });
    case VectorOp::kArithRightShift:
      return use([](uint32_t a, uint32_t b) { return arith_right_shift(a, b); });
    default:
      break;
  }
  if (op >= VectorOp::kMin) {
    return dtype == DType::kF32 ? with_extreme_f32(op, use) : with_extreme_i32(op, use);
  }
  op >= VectorOp::kAddF ? with_float(op, use) : with_fxp(op, use);
}

template <typename Use>
void with_unary(VectorOp op, Use use) {
  const auto use_double = [&use](auto function) {
    use([function](uint32_t a) { return in_double(a, function); });
  };
  switch (op) {
    case VectorOp::kExp:
      return use_double([](double x) { return std::exp(x); });
    case VectorOp::kNegExp:
      return use_double([](double x) { return std::exp(-x); });
    case VectorOp::kSqrt:
      return use([](uint32_t a) { return result_f32(std::sqrt(operand_f32(a))); });
    case VectorOp::kTanh:
      return use_double([](double x) { return std::tanh(x); });
    case VectorOp::kSigmoid:
      return use_double([](double x) { return 1.0 / (1.0 + std::exp(-x)); });
    case VectorOp::kErf:
      return use_double([](double x) { return std::erf(x); });
    case VectorOp::kLog:
      return use_double([](double x) { return std::log(x); });
    case VectorOp::kSin:
      return use_double([](double x) { return std::sin(x); });
    default:  // kCos
      return use_double([](double x) { return std::cos(x); });
  }
}

// std::fma rounds once, with or without an instruction for it.
uint32_t fma_f32(uint32_t a, uint32_t b, uint32_t c) {
  return result_f32(std::fma(operand_f32(a), operand_f32(b), operand_f32(c)));
}

constexpr const char* kAluNames[kAlus] = {
    "LogicAnd",      "LogicOr",     "LogicXor", "LogicLshift", "LogicRshift", "FxpAdd", "FxpLshift",
    "FxpMul",        "FxpRshift",   "FpFma",    "FpFpu",       "FpExp",       "FpMul0", "FpMul1",
    "ReduceAccTree", "ReduceFpDiv", "ClipAdd",  "ClipMax",     "ClipMin",
};

constexpr const char* kOpNames[kVectorOps] = {
    "bit_and",
    "bit_or",
    "bit_xor",
    "left_shift",
    "logic_right_shift",
    "arith_right_shift",
    "add_fxp",
    "add_fxp_sat",
    "sub_fxp",
    "sub_fxp_sat",
    "left_shift_sat",
    "mul_fxp",
    "mul_int",
    "arith_right_shift_round",
    "exp",
    "neg_exp",
    "sqrt",
    "tanh",
    "sigmoid",
    "erf",
    "log",
    "sin",
    "cos",
    "add_f",
    "sub_f",
    "mul_f",
    "div_f",
    "fma_f",
    "min",
    "max",
    "abs_min",
    "abs_max",
};

}  // namespace

const char* name(Alu alu) { return kAluNames[static_cast<size_t>(alu)]; }

const char* name(VectorOp op) { return kOpNames[static_cast<size_t>(op)]; }

int operand_count(VectorOp op) {
  if (op == VectorOp::kFmaF) return 3;
  return op >= VectorOp::kExp && op <= VectorOp::kCos ? 1 : 2;
}

uint32_t apply_unary(VectorOp op, uint32_t a) {
  uint32_t result = 0;
  with_unary(op, [&](auto function) { result = function(a); });
  return result;
}

uint32_t apply_binary(VectorOp op, DType dtype, uint32_t a, uint32_t b) {
  uint32_t result = 0;
  with_binary(op, dtype, [&](auto function) { result = function(a, b); });
  return result;
}

uint32_t apply_ternary(VectorOp /*kFmaF*/, uint32_t a, uint32_t b, uint32_t c) {
  return fma_f32(a, b, c);
}

void apply_unary_array(VectorOp op, const uint32_t* a, uint32_t* out, size_t count) {
  with_unary(op, [&](auto function) {
    for (size_t i = 0; i < count; ++i) out[i] = function(a[i]);
  });
}

void apply_binary_array(VectorOp op, DType dtype, const uint32_t* a, const uint32_t* b,
                        uint32_t* out, size_t count) {
  with_binary(op, dtype, [&](auto function) {
    RNGDSIM_ELEMENTWISE_LOOP
    for (size_t i = 0; i < count; ++i) out[i] = function(a[i], b[i]);
  });
}

void apply_ternary_array(VectorOp /*kFmaF*/, const uint32_t* a, const uint32_t* b,
                         const uint32_t* c, uint32_t* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = fma_f32(a[i], b[i], c[i]);
}

// The integer is rounded to f32 once; scaling by a power of two is exact, since the smallest
// magnitude is 2^-31.
uint32_t fxp_to_fp(uint32_t bits, uint32_t int_width) {
  const auto fraction = static_cast<int>(31 - int_width);
  return bits_of(std::ldexp(static_cast<float>(as_signed(bits)), -fraction));
}

// In double the scaled value is exact.
uint32_t fp_to_fxp(uint32_t bits, uint32_t int_width) {
  constexpr double kLowest = -0x1p31, kHighest = 0x1p31 - 1;
  if (is_nan_f32(bits)) return (bits & kSign) != 0 ? kSign : ~kSign;
  const double scaled = std::ldexp(operand_f32(bits), static_cast<int>(31 - int_width));
  return static_cast<uint32_t>(
      static_cast<int32_t>(std::clamp(std::round(scaled), kLowest, kHighest)));
}

const char* name(CompareOp op) {
  switch (op) {
    case CompareOp::kEqual:
      return "equal";
    case CompareOp::kLess:
      return "less";
    case CompareOp::kGreater:
      return "greater";
    case CompareOp::kLessUnsigned:
      return "less_unsigned";
    case CompareOp::kGreaterUnsigned:
      return "greater_unsigned";
    case CompareOp::kTrue:
      return "true";
    case CompareOp::kFalse:
      break;
  }
  return "false";
}

bool compare(CompareOp op, DType dtype, uint32_t x, uint32_t boundary) {
  const bool f32 = dtype == DType::kF32;
  switch (op) {
    case CompareOp::kEqual:
      return f32 ? operand_f32(x) == operand_f32(boundary) : x == boundary;
    case CompareOp::kLess:
      return f32 ? operand_f32(x) < operand_f32(boundary) : as_signed(x) < as_signed(boundary);
    case CompareOp::kGreater:
      return f32 ? operand_f32(x) > operand_f32(boundary) : as_signed(x) > as_signed(boundary);
    case CompareOp::kLessUnsigned:
      return x < boundary;
    case CompareOp::kGreaterUnsigned:
      return x > boundary;
    case CompareOp::kTrue:
      return true;
    case CompareOp::kFalse:
      break;
  }
  return false;
}

}  // namespace rngdsim

#undef RNGDSIM_ELEMENTWISE_LOOP
