// SPDX-License-Identifier: Apache-2.0
// The form in which TRF elements reach the multiplier: sign and exponent already decoded, so that
// the hot loops widen with a shift. Exact; done once for each stored granule, not once a read.
//
//   TRF type          form    content
//   i4, i5, i8        i8      sign extended
//   i9                i16     sign extended
//   f8e4m3, f8e5m2    bf16    the same value (every f8 value is a bf16 one)
//   bf16              bf16    subnormals as signed zero
//
// Form i16 holds whole two's complement words; only operands use it so.
#pragma once

#include <cstdint>

#include "channel/payload.h"
#include "numeric/dtype.h"

namespace rngdsim {

// Precondition: can_multiply(dtype, some type).
DType operand_form(DType dtype);

// True where a block of raw elements of this type is its own operand form.
bool is_operand_form(const Block& raw);

// `raw` in its operand form, validity included. Precondition: out has the shape of raw and the
// dtype operand_form(raw.dtype).
void to_operand_form(const Block& raw, Block& out);

// The smallest biased exponent (1..255) of the elements that are not zero, over all rows and the
// slices whose flag in `live` is set (null: all); 255 where there is none. Subnormals count as
// zero. Precondition: block.dtype is bf16.
uint32_t min_exponent(const Block& block, const uint8_t* live = nullptr);

}  // namespace rngdsim
