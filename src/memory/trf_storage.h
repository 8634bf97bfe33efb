// SPDX-License-Identifier: Apache-2.0
// What the Tensor Register File holds: for each tensor and active lane, granules of one row (32 B
// of elements [S,B]). Granule g of a lane lies in bank g % banks. Plain data, no timing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "channel/item.h"
#include "channel/payload.h"
#include "command/program.h"

namespace rngdsim {

class TrfStorage {
 public:
  // pool: null where values are not simulated; all calls then do nothing. live[tensor][slice]: 0
  // where a slice holds no part of the tensor; a missing or empty entry: all live. Both outlive the
  // storage.
  TrfStorage(const Program& program, BlockPool* pool, const std::vector<std::vector<uint8_t>>& live,
             uint64_t row_bytes);

  // Granule `index` of the lane is the stored flit itself (no copy): nobody may write to it any
  // more. With its first store a tensor takes its rows over: tensors that lay in any of them are
  // poison from then on. Throws InternalError where the tensor has no such granule.
  void store(TensorId id, uint64_t lane, uint64_t index, BlockRef flit);

  // The operand of a read of `elements` from `first` (a multiple of `elements`, which is a power of
  // two) in lanes 0 .. lanes - 1. Made once for each place and then shared, until the tensor is
  // stored to. Null where values are not simulated. Throws InternalError where the read leaves the
  // tensor.
  std::shared_ptr<const StreamItem::TrfOperand> read(TensorId id, uint64_t first, uint64_t elements,
                                                     uint64_t lanes);

  // Raw bits of one element of one slice (numbered cluster * slices + slice), for declared tensors
  // and for checking. Unwritten elements are poison: peek gives nothing.
  void poke(TensorId id, uint64_t lane, uint64_t element, uint32_t slice, uint32_t bits);
  std::optional<uint32_t> peek(TensorId id, uint64_t lane, uint64_t element, uint32_t slice) const;

  uint64_t granule_elements(TensorId id) const;

 private:
  using Operand = StreamItem::TrfOperand;
  struct Granule {
    BlockRef raw;
    BlockRef form;  // made at the first read
    uint32_t min_exponent = 0;
  };
  struct Cached {
    std::shared_ptr<const Operand> operand;
    uint64_t elements = 0;
  };
  struct Tensor {
    uint64_t lanes = 0;  // 0: not seen yet
    uint64_t granules_per_lane = 0;
    uint64_t granule_elements = 0;
    std::vector<Granule> granules;  // lane * granules_per_lane + granule
    // By first element (narrow reads, one granule) and by first granule (wide reads, two).
    std::vector<Cached> narrow, wide;
    bool has_operands = false;
    bool stored = false;
  };

  Tensor& tensor(TensorId id);
  Granule& granule(TensorId id, uint64_t lane, uint64_t index);
  void prepare(TensorId id, Granule& granule);
  bool all_valid(TensorId id, const Granule& granule, uint64_t first, uint64_t elements) const;
  static void drop_operands(Tensor& tensor);
  void take_rows_over(TensorId id);

  const Program& program_;
  BlockPool* pool_;
  const std::vector<std::vector<uint8_t>>& live_;
  uint64_t row_bytes_;
  std::vector<Tensor> tensors_;  // by TensorId
};

}  // namespace rngdsim
