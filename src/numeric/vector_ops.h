// SPDX-License-Identifier: Apache-2.0
// What the ALUs of the Vector Engine compute, on raw bits of i32 and f32.
//
// i32: two's complement; operations with `Sat` in their name saturate, others wrap. Shift amounts
// are read as unsigned numbers; 32 and more shift everything out [A].
// f32: subnormal operands and results are signed zero, every NaN is 0x7fc00000 [B]. Sums, products,
// quotients, square roots and fused multiply-adds are rounded once, to nearest even. Exp, tanh,
// sigmoid, erf, log, sin and cos are computed in double and rounded: within 1 unit in the last
// place of the exact value [A]. Max and min: a NaN wins, +0 is above -0 [A].
// Bitwise operations leave every bit pattern as it is, also on f32 [B].
#pragma once

#include <cstddef>
#include <cstdint>

#include "numeric/dtype.h"

namespace rngdsim {

// Every ALU works once in a pass [B].
enum class Alu : uint8_t {
  kLogicAnd,
  kLogicOr,
  kLogicXor,
  kLogicLshift,
  kLogicRshift,
  kFxpAdd,
  kFxpLshift,
  kFxpMul,
  kFxpRshift,
  kFpFma,
  kFpFpu,
  kFpExp,
  kFpMul0,
  kFpMul1,
  kReduceAccTree,
  kReduceFpDiv,
  kClipAdd,
  kClipMax,
  kClipMin,
};
constexpr size_t kAlus = 19;
const char* name(Alu alu);  // as in the book: "LogicAnd", "FpFma"

enum class VectorOp : uint8_t {
  // Bits.
  kBitAnd,
  kBitOr,
  kBitXor,
  kLeftShift,
  kLogicRightShift,
  kArithRightShift,
  // i32.
  kAddFxp,
  kAddFxpSat,
  kSubFxp,
  kSubFxpSat,
  kLeftShiftSat,  // x 2^n, saturated
  kMulFxp,        // Q31, rounded: ((a b >> 30) + 1) >> 1; MIN x MIN = MAX [B]
  kMulInt,
  kArithRightShiftRound,  // half up [A]
  // f32, one operand.
  kExp,
  kNegExp,  // exp(-x)
  kSqrt,
  kTanh,
  kSigmoid,
  kErf,
  kLog,
  kSin,
  kCos,
  // f32, two and three operands.
  kAddF,
  kSubF,
  kMulF,
  kDivF,
  kFmaF,  // a b + c
  // Both types. AbsMin and AbsMax give the signed operand, the second where both are as large [B].
  kMin,
  kMax,
  kAbsMin,
  kAbsMax,
};
constexpr size_t kVectorOps = 32;
// In kernel files and reports: "add_fxp", "mul_f", "neg_exp".
const char* name(VectorOp op);
int operand_count(VectorOp op);  // 1, 2 or 3

// One element. Preconditions: operand_count(op) as called; dtype i32 or f32 as the operation
// allows (bitwise operations: either).
uint32_t apply_unary(VectorOp op, uint32_t a);
uint32_t apply_binary(VectorOp op, DType dtype, uint32_t a, uint32_t b);
uint32_t apply_ternary(VectorOp op, uint32_t a, uint32_t b, uint32_t c);

// The same for `count` elements; `out` may be one of the inputs.
void apply_unary_array(VectorOp op, const uint32_t* a, uint32_t* out, size_t count);
void apply_binary_array(VectorOp op, DType dtype, const uint32_t* a, const uint32_t* b,
                        uint32_t* out, size_t count);
void apply_ternary_array(VectorOp op, const uint32_t* a, const uint32_t* b, const uint32_t* c,
                         uint32_t* out, size_t count);

// An i32 with `int_width` (0 .. 31) integer bits, so x 2^-(31 - int_width), as f32: nearest even.
uint32_t fxp_to_fp(uint32_t bits, uint32_t int_width);
// x 2^(31 - int_width), rounded half away from zero, clamped; NaN to MAX or MIN by its sign [B].
uint32_t fp_to_fxp(uint32_t bits, uint32_t int_width);

// What the Tag stage asks of an element [B]. The unsigned pair compares raw bits; of f32 the others
// compare values, and a NaN is neither equal, less nor greater.
enum class CompareOp : uint8_t {
  kEqual,
  kLess,
  kGreater,
  kLessUnsigned,
  kGreaterUnsigned,
  kTrue,
  kFalse,
};
const char* name(CompareOp op);  // "equal", "less_unsigned"
bool compare(CompareOp op, DType dtype, uint32_t x, uint32_t boundary);

}  // namespace rngdsim
