// SPDX-License-Identifier: Apache-2.0
// Short ways to the configurations and operands of the contraction engine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "channel/item.h"
#include "channel/payload.h"
#include "command/program.h"
#include "memory/trf_storage.h"
#include "numeric/convert.h"
#include "numeric/dtype.h"

namespace rngdsim::test {

// Elements of 32 B.
inline uint64_t row_elements(DType dtype) {
  return 256 / static_cast<uint64_t>(memory_bits(dtype));
}

// A packet of pack_size flits against one whole read of the same size, sent once, `packets` times.
inline OuterConfig outer_config(DType stream, DType trf, uint64_t pack_size, uint64_t lanes,
                                uint64_t packets = 1) {
  OuterConfig outer;
  outer.stream_dtype = stream;
  outer.trf_dtype = trf;
  outer.accumulator = accumulator_type(stream);
  outer.pack_size = pack_size;
  outer.lanes = lanes;
  outer.packet_elements = pack_size * row_elements(stream);
  outer.slots = 2 * row_elements(stream);
  outer.packets = packets;
  outer.read_elements = outer.packet_elements;
  outer.read_bytes = 32 * pack_size;
  outer.packet_broadcast = 1;
  outer.trf_sequencer.entries = {{packets, 0}};
  return outer;
}

// A tensor of `lanes` lanes with `rows` rows of 32 B each.
inline TensorVersion trf_tensor(std::string name, DType dtype, uint64_t lanes, uint64_t rows) {
  TensorVersion tensor;
  tensor.name = std::move(name);
  tensor.memory = MemoryKind::kTrf;
  tensor.dtype = dtype;
  tensor.lane = Mapping::broadcast(lanes);
  tensor.element = Mapping::broadcast(rows * row_elements(dtype));
  tensor.bytes = rows * 32;
  tensor.rows = rows / 2;
  return tensor;
}

// A block of raw bits.
inline BlockRef bits_block(BlockPool& pool, DType dtype, uint64_t elements,
                           const std::function<uint32_t(uint32_t element, uint32_t slice)>& bits) {
  BlockRef block = pool.allocate(dtype, static_cast<uint32_t>(elements));
  for (uint32_t e = 0; e < block->elements; ++e) {
    for (uint32_t s = 0; s < block->slices; ++s) block->set_bits(e, s, bits(e, s));
  }
  return block;
}

// A block of values.
inline BlockRef value_block(BlockPool& pool, DType dtype, uint64_t elements,
                            const std::function<double(uint32_t element, uint32_t slice)>& value) {
  return bits_block(pool, dtype, elements,
                    [&](uint32_t e, uint32_t s) { return from_double(dtype, value(e, s)); });
}

inline double value_at(const Block& block, uint32_t element, uint32_t slice) {
  return to_double(block.dtype, block.bits(element, slice));
}

inline void poison(Block& block, uint32_t element, uint32_t slice) {
  block.track_validity();
  block.valid_row(element)[slice] = 0;
}

}  // namespace rngdsim::test
