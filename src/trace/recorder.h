// SPDX-License-Identifier: Apache-2.0
// From the events of a run, which come in any order within a cycle, to what is true in each cycle.
//
// A Recorder observes a run and tells its sinks cycle after cycle, in the order of the topology
// file: first links and units whose view differs from the cycle before, then what happened on the
// links. Cycles in which nothing changes are left out.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "channel/observer.h"
#include "channel/unit.h"

namespace rngdsim {

// Half open, in cycles.
struct Window {
  Cycle begin = 0;
  Cycle end = ~Cycle{0};
  bool contains(Cycle cycle) const { return cycle >= begin && cycle < end; }
};

// What a sink needs to know before the first cycle.
struct TraceNames {
  struct UnitNames {
    std::string name;
    std::vector<std::pair<std::string, uint32_t>> signals;  // with their widths in bits
  };
  struct LinkNames {
    std::string name;
    uint64_t depth;
  };
  std::string kernel;
  std::vector<UnitNames> units;
  std::vector<LinkNames> links;
  const Program* program = nullptr;
};

// A unit in a cycle. `active` is false where it is idle: it then has no command.
struct UnitView {
  UnitState state = UnitState::kIdle;
  bool active = false;
  CommandId command = 0;
  uint64_t time_index = 0;        // of the item that it worked on last
  std::vector<uint64_t> signals;  // see Unit::signals()
  bool operator==(const UnitView& o) const {
    return state == o.state && active == o.active && command == o.command &&
           time_index == o.time_index && signals == o.signals;
  }
};

// A link at the start of a cycle, as both its ends see it.
struct LinkView {
  bool valid = false;      // the item at the head can be popped
  bool ready = true;       // an item can be pushed
  uint64_t occupancy = 0;  // items under way or waiting
  bool operator==(const LinkView& o) const {
    return valid == o.valid && ready == o.ready && occupancy == o.occupancy;
  }
};

enum class LinkEvent : uint8_t {
  kPush,   // the item entered the link
  kPop,    // the item left it
  kStall,  // the producer has an item and finds no space; the item told is the one at the head
};
const char* name(LinkEvent event);  // "push", "pop", "stall"

// An item on a link, by its command, its place in Time and its elements (see StreamItem::valid);
// of a request to a memory its bytes, too (see ItemTag).
struct ItemView {
  CommandId command = 0;
  uint64_t time_index = 0;
  uint32_t valid = 0;
  uint32_t bytes = 0;
  bool write = false;
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void begin(const TraceNames& names) = 0;
  // The calls between begin_cycle and end_cycle belong to that cycle; cycles ascend. Where calls
  // for a unit or link are missing, it is as it was; at first all are as a default view says.
  virtual void begin_cycle(Cycle cycle) = 0;
  virtual void unit(uint32_t unit, const UnitView& view) = 0;
  virtual void link(uint32_t link, const LinkView& view) = 0;
  virtual void event(uint32_t link, LinkEvent event, const ItemView& item) = 0;
  // The command that is open in its context from this cycle on; nothing where none is.
  virtual void open_command(Context context, std::optional<CommandId> command) = 0;
  virtual void end_cycle() = 0;
  // `end` is one past the last cycle of the run.
  virtual void end(Cycle end) = 0;
};

class Recorder final : public RunObserver {
 public:
  // The sinks must outlive the recorder.
  void add(TraceSink& sink) { sinks_.push_back(&sink); }

  void attached(const Program& program, const std::vector<std::unique_ptr<Unit>>& units,
                const std::vector<std::unique_ptr<LinkBase>>& links) override;
  void cycle_begins(Cycle now) override;
  void command_began(CommandId command, Cycle begin) override;
  void command_ended(CommandId command, Cycle end) override;
  void pushed(uint32_t link, Cycle now, Cycle ready, const ItemTag& item) override;
  void popped(uint32_t link, Cycle now) override;
  void refused(uint32_t link, Cycle now) override;
  void touched(uint32_t unit, Cycle now) override;
  void finished(Cycle end) override;

 private:
  struct Item {
    ItemView view;
    Cycle ready = 0;
  };
  struct UnitTrack {
    const Unit* unit = nullptr;
    std::vector<Unit::Signal> signals;
    UnitView view;
    bool listed = false;  // in units_
  };
  struct LinkTrack {
    std::vector<Item> items;  // a ring of `depth` entries: what is in the link now
    uint64_t head = 0, size = 0;
    LinkView view;
    bool stalled = false;
    bool changed = false;  // listed in links_: its view may differ in the next cycle
    // Of the present cycle.
    bool listed = false;  // in active_
    std::vector<ItemView> pushes, pops;
    std::optional<ItemView> blocker;  // at the head when the cycle began
  };

  void list_link(uint32_t link);
  void tell(Cycle cycle);
  void tell_links(Cycle cycle);
  void tell_units(Cycle cycle);
  void tell_events();
  void tell_gap(Cycle end);

  std::vector<TraceSink*> sinks_;
  const Program* program_ = nullptr;
  std::vector<UnitTrack> unit_tracks_;
  std::vector<LinkTrack> link_tracks_;
  // Numbers of units to look at in the present cycle, of links whose view may have changed since
  // the cycle before, and of links with events or a stall in the present cycle.
  std::vector<uint32_t> units_, links_, active_, scratch_;
  std::vector<std::pair<Context, std::optional<CommandId>>> opened_;
  std::array<std::optional<CommandId>, kContexts> open_;  // by Context
  Cycle cycle_ = 0;     // the present one: its events are being collected
  bool begun_ = false;  // cycle_ is evaluated
};

}  // namespace rngdsim
