// SPDX-License-Identifier: Apache-2.0
#include "trace/recorder.h"

#include <algorithm>
#include <utility>

namespace rngdsim {

const char* name(LinkEvent event) {
  switch (event) {
    case LinkEvent::kPush:
      return "push";
    case LinkEvent::kPop:
      return "pop";
    case LinkEvent::kStall:
      break;
  }
  return "stall";
}

void Recorder::attached(const Program& program, const std::vector<std::unique_ptr<Unit>>& units,
                        const std::vector<std::unique_ptr<LinkBase>>& links) {
  TraceNames names;
  names.kernel = program.kernel_name;
  names.program = program_ = &program;
  for (const auto& unit : units) {
    UnitTrack track;
    track.unit = unit.get();
    track.signals = unit->signals();
    track.view.signals.assign(track.signals.size(), 0);
    TraceNames::UnitNames& entry = names.units.emplace_back();
    entry.name = unit->unit_name();
    for (const Unit::Signal& signal : track.signals) {
      entry.signals.emplace_back(signal.name, signal.bits);
    }
    unit_tracks_.push_back(std::move(track));
  }
  for (const auto& link : links) {
    LinkTrack track;
    track.items.resize(link->depth());
    link_tracks_.push_back(std::move(track));
    names.links.push_back({link->name(), link->depth()});
  }
  for (TraceSink* sink : sinks_) sink->begin(names);
}

// ---- Collecting -----------------------------------------------------------------------------

void Recorder::cycle_begins(Cycle now) {
  if (begun_) {
    tell(cycle_);
    tell_gap(now);
  }
  cycle_ = now;
  begun_ = true;
}

void Recorder::command_began(CommandId command, Cycle /*begin*/) {
  const Context context = program_->commands[command].context;
  open_[static_cast<size_t>(context)] = command;
  opened_.emplace_back(context, command);
}

void Recorder::command_ended(CommandId command, Cycle /*end*/) {
  const Context context = program_->commands[command].context;
  open_[static_cast<size_t>(context)].reset();
  opened_.emplace_back(context, std::nullopt);
}

void Recorder::list_link(uint32_t link) {
  LinkTrack& track = link_tracks_[link];
  if (track.listed) return;
  track.listed = true;
  active_.push_back(link);
  if (track.size > 0) track.blocker = track.items[track.head].view;
}

void Recorder::pushed(uint32_t link, Cycle /*now*/, Cycle ready, const ItemTag& item) {
  list_link(link);
  LinkTrack& track = link_tracks_[link];
  const ItemView view{item.command, item.index, item.valid, item.bytes, item.write};
  track.items[(track.head + track.size++) % track.items.size()] = {view, ready};
  track.pushes.push_back(view);
}

void Recorder::popped(uint32_t link, Cycle /*now*/) {
  list_link(link);
  LinkTrack& track = link_tracks_[link];
  track.pops.push_back(track.items[track.head].view);
  track.head = (track.head + 1) % track.items.size();
  --track.size;
}

void Recorder::refused(uint32_t link, Cycle /*now*/) {
  list_link(link);
  link_tracks_[link].stalled = true;
}

void Recorder::touched(uint32_t unit, Cycle /*now*/) {
  UnitTrack& track = unit_tracks_[unit];
  if (track.listed) return;
  track.listed = true;
  units_.push_back(unit);
}

// ---- Telling ----------------------------------------------------------------------------------

void Recorder::tell(Cycle cycle) {
  for (TraceSink* sink : sinks_) sink->begin_cycle(cycle);
  for (const auto& [context, command] : opened_) {
    for (TraceSink* sink : sinks_) sink->open_command(context, command);
  }
  opened_.clear();
  tell_links(cycle);
  tell_units(cycle);
  tell_events();
  for (TraceSink* sink : sinks_) sink->end_cycle();
}

// The views at the start of `cycle`. The events of that cycle have been collected already: they are
// undone here.
void Recorder::tell_links(Cycle cycle) {
  std::sort(links_.begin(), links_.end());
  scratch_.clear();
  for (const uint32_t link : links_) {
    LinkTrack& track = link_tracks_[link];
    const uint64_t before = track.size + track.pops.size() - track.pushes.size();
    const uint64_t depth = track.items.size();
    // Popped items still lie in the ring: no more is pushed than fits.
    const Item& head = track.items[(track.head + depth - track.pops.size() % depth) % depth];
    const bool waiting = track.pops.empty() && before > 0 && head.ready > cycle;
    const LinkView view{before > 0 && !waiting, before < depth, before};
    track.changed = waiting;
    if (waiting) scratch_.push_back(link);  // until the head can be popped
    if (view == track.view) continue;
    track.view = view;
    for (TraceSink* sink : sinks_) sink->link(link, view);
  }
  links_.swap(scratch_);
}

void Recorder::tell_units(Cycle cycle) {
  std::sort(units_.begin(), units_.end());
  scratch_.clear();
  for (const uint32_t unit : units_) {
    UnitTrack& track = unit_tracks_[unit];
    UnitView& view = track.view;
    const UnitState state = track.unit->state_in(cycle);
    const bool active = state != UnitState::kIdle;
    bool differs = state != view.state || active != view.active ||
                   (active && (view.command != track.unit->item_command() ||
                               view.time_index != track.unit->item_index()));
    view.state = state;
    view.active = active;
    if (active) {
      view.command = track.unit->item_command();
      view.time_index = track.unit->item_index();
    }
    bool signals = false;
    for (size_t i = 0; i < track.signals.size(); ++i) {
      const uint64_t value = track.signals[i].value(cycle);
      differs |= value != view.signals[i];
      view.signals[i] = value;
      signals |= value != 0;
    }
    // A conflict and the signals hold for one cycle, though the unit may sleep through the next.
    track.listed = state == UnitState::kConflict || signals;
    if (track.listed) scratch_.push_back(unit);
    if (!differs) continue;
    for (TraceSink* sink : sinks_) sink->unit(unit, view);
  }
  units_.swap(scratch_);
}

void Recorder::tell_events() {
  std::sort(active_.begin(), active_.end());
  scratch_.clear();
  for (const uint32_t link : active_) {
    LinkTrack& track = link_tracks_[link];
    for (TraceSink* sink : sinks_) {
      for (const ItemView& item : track.pushes) sink->event(link, LinkEvent::kPush, item);
      for (const ItemView& item : track.pops) sink->event(link, LinkEvent::kPop, item);
      if (track.stalled) {
        sink->event(link, LinkEvent::kStall, track.blocker.value_or(ItemView{}));
      }
    }
    if (!track.pops.empty()) track.stalled = false;
    if (!track.changed && !(track.pushes.empty() && track.pops.empty())) {
      track.changed = true;
      links_.push_back(link);
    }
    track.pushes.clear();
    track.pops.clear();
    track.blocker.reset();
    track.listed = false;
    if (track.stalled) scratch_.push_back(link);
  }
  active_.clear();
  scratch_.swap(active_);
  // What stalls goes on to do so, whether anything happens or not.
  for (const uint32_t link : active_) {
    LinkTrack& track = link_tracks_[link];
    track.listed = true;
    if (track.size > 0) track.blocker = track.items[track.head].view;
  }
}

// The cycles up to `end`, in which no unit ran.
void Recorder::tell_gap(Cycle end) {
  for (Cycle cycle = cycle_ + 1; cycle < end; ++cycle) {
    if (links_.empty() && units_.empty() && active_.empty()) return;
    tell(cycle);
  }
}

void Recorder::finished(Cycle end) {
  if (begun_) {
    tell(cycle_);
    tell_gap(end);
  }
  begun_ = false;
  for (TraceSink* sink : sinks_) sink->end(end);
}

}  // namespace rngdsim
