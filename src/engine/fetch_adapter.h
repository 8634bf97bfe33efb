// SPDX-License-Identifier: Apache-2.0
// The Fetch Adapter: looks up what Fetch read in a table (f4e2m1 to f8; f8 to bf16; main only),
// casts it (i4, i8, i16 to i32; f8, bf16 to f32; f32 to bf16) and subtracts a zero point (i4 to i5,
// i8 to i9) [B]. A table makes a number of flits in a number of cycles; what comes too early waits.
// An element that the result's type does not hold is a failure. One unit with a path for each
// context; its state is that of the busier path. A command that uses none of them passes in one
// cycle. A command with a switch leaves to the Switch Engine.
#pragma once

#include <vector>

#include "channel/item.h"
#include "channel/link.h"
#include "channel/unit.h"
#include "engine/poison_watch.h"
#include "engine/stream_path.h"

namespace rngdsim {

class FetchAdapter final : public Unit {
 public:
  struct Parameters {
    // [B] 1 to 2 cycles from in to the next unit, the link's latency included. Full rate needs an
    // out link of depth cast_latency + 1.
    uint64_t cast_latency = 1;
    // [A] The same of a zero-point subtraction; a command with both takes the sum.
    uint64_t zero_point_latency = 1;
    uint64_t lookup_latency = 1;  // [A] the same of a table lookup
    // [C] What the table makes in how many cycles.
    uint64_t lookup_flits = 2, lookup_cycles = 5;
  };

  LinkIn<StreamItem> in{"in", "stream"};
  LinkOut<StreamItem> out{"out", "stream"};
  LinkIn<StreamItem> sub_in{"sub_in", "stream"};
  LinkOut<StreamItem> sub_out{"sub_out", "stream"};
  // Of commands with a switch.
  LinkOut<StreamItem> to_switch{"switch", "stream"};
  LinkOut<StreamItem> sub_to_switch{"sub_switch", "stream"};

  FetchAdapter(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
               const Parameters& parameters);

  std::vector<PortBase*> ports() override {
    return {&in, &out, &sub_in, &sub_out, &to_switch, &sub_to_switch};
  }

 private:
  void tick(Cycle now) override;
  // The way of one context through the unit.
  struct Way {
    Way(LinkIn<StreamItem>& from, LinkOut<StreamItem>& past, LinkOut<StreamItem>& through)
        : path(from), past_switch(past), through_switch(through) {}
    RoutedPath path;
    LinkOut<StreamItem>&past_switch, &through_switch;
    CommandId command = 0;  // of the item before
    bool used = false;
    PoisonWatch out_of_range;  // elements that do not fit, told as poison of a scratch block
  };
  bool table_is_busy(Cycle now);
  void note_lookup(const TableLookupConfig& config, Cycle now);
  uint64_t lookup_rate() const;
  Cycle table_free_at() const;  // the first cycle in which it can take something
  PathState step(Way& way, Cycle now);
  void subtract(Way& way, StreamItem& item, const FetchZeroPointConfig& config, Cycle now);
  void report(const StreamItem& item, const Block& before, const PoisonedElement& element,
              uint64_t first_position, const FetchZeroPointConfig& config, Cycle now);

  Parameters parameters_;
  Way main_{in, out, to_switch}, sub_{sub_in, sub_out, sub_to_switch};
  // When the table has made what it took, in parts of a cycle: lookup_rate() of them are one.
  uint64_t table_free_ = 0;
};

}  // namespace rngdsim
