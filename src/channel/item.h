// SPDX-License-Identifier: Apache-2.0
// What travels on links.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "channel/payload.h"
#include "command/program.h"

namespace rngdsim {

// An element of a stream: an access (out of Fetch), a flit, a packet, a packet of products, a
// reduced packet, a finished accumulator slot. One type, because a unit that a command does not use
// forwards items unchanged.
struct StreamItem {
  CommandId command = 0;
  uint64_t index = 0;  // position in Time (accesses: number of the access) at this link
  bool last = false;   // last item of the command on this link
  uint32_t slot = 0;   // Time Reducer -> Lane Folder: accumulator slot
  // Elements that the item holds, without those that fill it up: of an access, a flit, a packet;
  // from the Multiplier on, of all lanes.
  uint32_t valid = 0;
  BlockRef values;  // null with --timing-only
  // Valid Count Generator -> Vector Engine: leading elements that are data, an i8 a slice. Null
  // where nothing is counted: all are.
  BlockRef counts;
  // Vector Engine -> commit, behind a filter: which elements are written (1) and which it has taken
  // out (0), an i8 an element and slice. Null: all are; so are those beyond its rows, with which a
  // cast fills a flit up.
  BlockRef keep;
  // Packets hold pack_size flits; product items hold the operands that the Packet Reducer
  // multiplies and sums in one go (bit-exact with multiplying first).
  std::array<BlockRef, 2> flits;
  // One read of the TRF, shared by all packets that use it.
  struct TrfOperand {
    // The granules (rows of 32 B of elements) of each active lane, in the form that the multiplier
    // takes (memory/operand.h); narrow reads have one. A null granule is poison throughout.
    std::vector<std::array<BlockRef, 2>> lanes;
    uint32_t granule_elements = 1;
    uint32_t first_element = 0;  // of the read inside the first granule
    bool all_valid = true;       // no poison in the elements of the read (in live slices)
    // Floats: no element that is not zero has a smaller biased f32 exponent. 0: nothing is known.
    uint32_t min_exponent = 0;
  };
  std::shared_ptr<const TrfOperand> trf;
};

// Request of a sequencer to the data memory: one access of all slices.
struct DmRequest {
  CommandId command = 0;
  TensorId tensor = 0;       // for messages and slice liveness; the address is what counts
  uint64_t index = 0;        // number of the access
  uint64_t bit_address = 0;  // in the slice; a multiple of 8 but inside an i4 pair
  uint32_t elements = 1;     // of the access
  uint32_t bytes = 1;        // touched: replicated accesses touch one element
  bool replicated = false;
  bool last = false;
  BlockRef values;  // writes: `elements` rows from `first_element` on
  BlockRef keep;    // writes: see StreamItem::keep; the same rows
  uint32_t first_element = 0;
  DType dtype{};
};

// Request of the TRF Sequencer to the TRF.
struct TrfRequest {
  CommandId command = 0;
  uint64_t index = 0;
  bool last = false;
  uint64_t first_row = 0;       // row of the tensor's first granule
  uint64_t byte_offset = 0;     // of the read from the tensor's start, in a lane, rounded down
  uint64_t element_offset = 0;  // the same in elements (i4 reads may start at half a byte)
  uint32_t bytes = 32;
  uint32_t elements = 16;  // of the read
  uint32_t lanes = 8;
};

// Lane Folder -> Time Reducer: the slot's last value has drained.
struct SlotRelease {
  uint32_t slot = 0;
  CommandId command = 0;
};

// An item as observers see it.
struct ItemTag {
  CommandId command = 0;
  uint64_t index = 0;
  uint32_t valid = 0;  // elements, see StreamItem::valid; requests: elements asked for or written
  // The item itself, for those who look at values; at most one is set, for the call only.
  const StreamItem* stream = nullptr;
  const DmRequest* dm_request = nullptr;
  // Requests to a memory: bytes to read or write, in a slice of the data memory, in a slice of the
  // register file over all lanes, in all for a DMA.
  uint32_t bytes = 0;
  bool write = false;
};
inline ItemTag tag_of(const StreamItem& item) {
  return {item.command, item.index, item.valid, &item, nullptr};
}
inline ItemTag tag_of(const DmRequest& request) {
  return {request.command, request.index, request.elements, nullptr, &request, request.bytes};
}
inline ItemTag tag_of(const TrfRequest& request) {
  return {request.command, request.index, request.elements,
          nullptr,         nullptr,       request.bytes * request.lanes};
}
inline ItemTag tag_of(const SlotRelease& release) {
  return {release.command, release.slot, 0, nullptr, nullptr};
}
// Items of other types (tests) are just items.
template <typename T>
ItemTag tag_of(const T& /*item*/) {
  return {};
}

}  // namespace rngdsim
