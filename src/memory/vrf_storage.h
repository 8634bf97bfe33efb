// SPDX-License-Identifier: Apache-2.0
// What the Vector Register File holds: the elements of each tensor, 32 bits each. Plain data, no
// timing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "channel/payload.h"
#include "command/program.h"

namespace rngdsim {

class VrfStorage {
 public:
  // `slices`: simulated; 0: values are not, stores do nothing and reads only check their place.
  // live[tensor][slice]: 0 where a slice holds no part of the tensor; a missing or empty entry: all
  // live. `program` and `live` outlive the storage.
  VrfStorage(const Program& program, uint32_t slices,
             const std::vector<std::vector<uint8_t>>& live);

  // Elements [first, first + count) are the leading `count` ones of the flit. With its first store
  // a tensor takes its bytes over: tensors that lay in any of them are poison from then on. Throws
  // InternalError where the tensor has no such elements.
  void store(TensorId id, uint64_t first, uint32_t count, const Block* flit);
  // See VrfReader::read.
  void read(TensorId id, uint64_t element, uint32_t* bits, uint8_t* valid) const;

  // Raw bits of one element of one slice, for declared tensors and for checking. Unwritten elements
  // are poison: peek gives nothing.
  void poke(TensorId id, uint64_t element, uint32_t slice, uint32_t bits);
  std::optional<uint32_t> peek(TensorId id, uint64_t element, uint32_t slice) const;

 private:
  struct Tensor {
    bool stored = false;
    std::vector<uint32_t> bits;  // [element][slice]; empty: holds nothing
    std::vector<uint8_t> valid;
  };
  // The tensor with room for its elements.
  Tensor& tensor(TensorId id);
  void check_place(TensorId id, uint64_t first, uint64_t count) const;
  void take_bytes_over(TensorId id);
  bool is_live(TensorId id, uint32_t slice) const {
    return id >= live_.size() || live_[id].empty() || live_[id][slice] != 0;
  }

  const Program& program_;
  uint32_t slices_;
  const std::vector<std::vector<uint8_t>>& live_;
  std::vector<Tensor> tensors_;  // by TensorId
};

}  // namespace rngdsim
