// SPDX-License-Identifier: Apache-2.0
// What may come out where the order of a sum is open: operations on sets of accepted values.
//
// Every function returns a set that holds what the operation gives for each choice of values out of
// its operands' sets, and may hold more. Operations that are monotone in each operand are evaluated
// at the ends of the sets with the operation itself. Ends are numbers of the element type; where a
// zero is accepted, either sign is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "numeric/dtype.h"
#include "numeric/vector_ops.h"
#include "reference/element_run.h"
#include "reference/reference.h"

namespace rngdsim {

Accepted point_set(DType dtype, uint32_t bits);
// Every value of the type; for floats also the infinities and NaN.
Accepted everything(DType dtype);
// From low to high; f32: rounded to numbers of the type inside of it, and beyond the largest number
// infinities. Where no number of the type lies inside, the nearest one.
Accepted range_set(DType dtype, double low, double high);
Accepted united(const Accepted& a, const Accepted& b);
bool has_numbers(const Accepted& set);
bool has_specials(const Accepted& set);  // NaN or infinity
// Whether one bit pattern is accepted only; a zero may have two.
bool is_one_pattern(DType dtype, const Accepted& set);

// `op` on its 1, 2 or 3 operands of `dtype`.
Accepted image(VectorOp op, DType dtype, const std::array<const Accepted*, 3>& operands);
Accepted fxp_to_fp_image(const Accepted& set, uint32_t int_width);
Accepted fp_to_fxp_image(const Accepted& set, uint32_t int_width);
Accepted converted(DType dtype, const Accepted& set, const std::vector<Conversion>& conversions);

// Which answers a comparison may give.
struct Answers {
  bool yes = false, no = false;
};
Answers answers(CompareOp op, DType dtype, const Accepted& set, uint32_t boundary);

}  // namespace rngdsim
