// SPDX-License-Identifier: Apache-2.0
// Multiplier and Packet Reducer arithmetic for one packet and all lanes and slices.
//
// Both operands are widened (i4, i5, i8, i9 to i32; f8, bf16 to f32) and multiplied element by
// element [S]; then each column's 2^depth neighbouring products are summed by a balanced tree of
// adjacent pairs, level by level [B]. i32 wraps. Every f32 operation rounds to nearest even, reads
// subnormals as signed zero, and gives signed zero for subnormal results and one NaN.
//
// Validity: a product is valid where both operands are, or where one is a valid zero (it is then
// the product of that zero with +0); a sum is valid where all its products are.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "channel/item.h"
#include "channel/payload.h"
#include "command/program.h"
#include "support/vector_target.h"

namespace rngdsim {

class ReductionTree {
 public:
  explicit ReductionTree(VectorTarget target = VectorTarget::kBest);
  ~ReductionTree();
  ReductionTree(const ReductionTree&) = delete;
  ReductionTree& operator=(const ReductionTree&) = delete;

  struct Shape {
    uint64_t depth = 0;             // log2 of the products summed into a column
    uint64_t columns = 1;           // columns << depth <= outer.packet_elements
    uint32_t slices = 0;            // computed: [0, slices); the rest of each row is left as it is
    const uint8_t* live = nullptr;  // a flag a slice, 0: any result will do; null: all count
  };
  // flits: pack_size blocks of outer.packet_elements / pack_size rows each, of outer.stream_dtype.
  // trf: element e of the packet meets element e % read_elements of the read. out: outer.lanes *
  // shape.columns rows (lane major) of outer.accumulator.
  void reduce(const OuterConfig& outer, const Shape& shape, const std::array<BlockRef, 2>& flits,
              const StreamItem::TrfOperand& trf, Block& out);

 private:
  struct Workspace;
  std::unique_ptr<Workspace> work_;
};

}  // namespace rngdsim
