// SPDX-License-Identifier: Apache-2.0
// The steps in one place of a vector chain, done to one flit of 8 or one step of 4 elements of all
// slices. Plain classes; values may be missing (timing only), then only what decides over time and
// counters happens: pairs are held and the VRF is read.
//
// An element of a result is valid where all that its operation really used is: the stream, the
// operand, both groups of a pair, and the tag where a guard looked at it.
#pragma once

#include <cstdint>
#include <vector>

#include "channel/payload.h"
#include "channel/vrf_reader.h"
#include "command/program.h"
#include "engine/ring.h"
#include "engine/vector_stash.h"
#include "mapping/sequencer.h"

namespace rngdsim {

// The tags of what travels: one for all elements, or a row of bytes an element.
struct VectorTags {
  // Of an element whose value, which was compared, was not valid.
  static constexpr uint8_t kUnknown = 0x10;
  bool common = true;      // `all` is that of every element
  uint8_t all = 0;         // 4 bits
  BlockRef block;          // i8, where not common and values are simulated
  uint32_t first_row = 0;  // of the block: that of element 0
};

struct VectorItem {
  BlockRef values;  // null: not simulated
  VectorTags tags;
  uint32_t elements = 8;  // 8, or 4 between narrow and widen
  uint8_t group = 0;      // pair mode, until zip
  BlockRef counts;        // of the flit, see StreamItem
  BlockRef keep;          // what a filter lets pass, see StreamItem
};

// What the steps of one chain share.
struct VectorResources {
  BlockPool* pool = nullptr;  // null: values are not simulated
  const VrfReader* vrf = nullptr;
  uint32_t slices = 0;
  VectorStash stash;
};

// How the stream is read behind a step that reads it as `before`, if it does not say itself.
DType dtype_behind(const VectorStep& step, DType before);

class VectorLane {
 public:
  // `steps` and `resources` stay where they are while the lane is in use.
  void begin(const std::vector<VectorStep>& steps, VectorResources& resources);
  // Whether group 0 stays here until group 1 comes.
  bool zips() const { return zips_; }
  // Does all steps. False: the item has stayed (group 0 of a pair).
  bool run(VectorItem& item);

 private:
  struct Row {
    const uint32_t* bits = nullptr;
    const uint8_t* valid = nullptr;  // null: all are
  };
  // What a slot takes beside the stream, as it comes along.
  struct Slot {
    const VectorStep::Slot* config = nullptr;
    SequencerWalker walker;                  // kVrf
    std::vector<uint32_t> constant, second;  // rows
    BlockRef stashed;                        // for the present item
  };
  struct Prepared {
    const VectorStep* config = nullptr;
    bool uses[3] = {false, false, false};  // the stream, the operand, the second constant
    std::vector<Slot> slots;
    Ring<BlockRef> held;  // kZip: of group 0
  };
  // Which slot serves an item.
  enum : int { kNobody = -1, kByElement = -2 };

  Prepared prepared(const VectorStep& step) const;
  void compute(Prepared& step, VectorItem& item);
  void compute_row(Prepared& step, VectorItem& item, uint32_t element, int slot);
  void compute_by_tag(Prepared& step, VectorItem& item, uint32_t element);
  void choose(Prepared& step, const uint8_t* tags, uint32_t element);
  bool zip(Prepared& step, VectorItem& item) const;
  void convert(const VectorStep& step, VectorItem& item) const;
  void filter(const TagGuard& guard, VectorItem& item) const;

  static int serving_slot(const VectorStep& step, const VectorTags& tags);
  Row operand_row(Slot& slot, uint32_t element, bool wanted, bool values);
  void apply(const VectorStep& step, const uint32_t* stream, const uint32_t* operand,
             const uint32_t* second, uint32_t* out) const;
  const uint8_t* tag_row(const VectorTags& tags, uint32_t element) const;
  void make_writable(BlockRef& block) const;

  VectorResources* resources_ = nullptr;
  std::vector<Prepared> steps_;
  bool zips_ = false;
  // Rows of one element, used again and again.
  std::vector<uint32_t> read_bits_, operand_, second_, result_;
  std::vector<uint8_t> read_valid_, operand_valid_, matched_, zeros_;
};

}  // namespace rngdsim
