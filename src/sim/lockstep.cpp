// SPDX-License-Identifier: Apache-2.0
#include "sim/lockstep.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "channel/link.h"
#include "channel/unit.h"
#include "numeric/random.h"
#include "reference/positions.h"
#include "support/diagnostic.h"

namespace rngdsim {
namespace {

// What happened in an evaluated cycle, as sums of hashes: the order of units cannot matter.
struct CycleDigest {
  Cycle cycle = 0;
  uint64_t control = 0;
  std::vector<uint64_t> values;  // by watched slice
};

class DigestObserver final : public RunObserver {
 public:
  // `entries`: of blocks, to be watched; `live` as in RunContext by command and entry. With
  // `detail` the events of that cycle are kept as text.
  DigestObserver(std::vector<uint32_t> entries, std::vector<std::vector<uint8_t>> live,
                 std::optional<Cycle> detail)
      : entries_(std::move(entries)), live_(std::move(live)), detail_(detail) {}

  std::vector<CycleDigest> digests;
  std::vector<std::string> details;  // sorted
  uint64_t events = 0, values = 0;   // values: of the first watched slice

  void attached(const Program& /*program*/, const std::vector<std::unique_ptr<Unit>>& units,
                const std::vector<std::unique_ptr<LinkBase>>& links) override {
    for (const auto& unit : units) units_.push_back({unit.get(), unit->signals(), false});
    for (const auto& link : links) links_.push_back(link.get());
    present_.values.assign(entries_.size(), 0);
  }

  void cycle_begins(Cycle now) override {
    close();
    present_.cycle = now;
    begun_ = true;
  }
  void command_began(CommandId command, Cycle begin) override {
    control({10, command, begin}, [&] { return fmt::format("command {} begins", command); });
  }
  void command_ended(CommandId command, Cycle end) override {
    control({11, command, end}, [&] { return fmt::format("command {} has ended", command); });
  }
  void pushed(uint32_t link, Cycle now, Cycle ready, const ItemTag& item) override {
    control({1, link, ready - now, item.command, item.index, item.valid}, [&] {
      return fmt::format("{} takes item {} of command {}, {} elements", links_[link]->name(),
                         item.index, item.command, item.valid);
    });
    for (size_t i = 0; i < entries_.size(); ++i) take_values(i, link, item);
  }
  void popped(uint32_t link, Cycle /*now*/) override {
    control({2, link}, [&] { return fmt::format("{} hands an item on", links_[link]->name()); });
  }
  void refused(uint32_t link, Cycle /*now*/) override {
    control({3, link}, [&] { return fmt::format("{} has no space", links_[link]->name()); });
  }
  void touched(uint32_t unit, Cycle /*now*/) override {
    if (units_[unit].listed) return;
    units_[unit].listed = true;
    touched_.push_back(unit);
  }
  void finished(Cycle end) override {
    close();
    present_.cycle = end;
    begun_ = false;
  }

 private:
  struct Watched {
    const Unit* unit;
    std::vector<Unit::Signal> signals;
    bool listed;
  };

  template <typename Text>
  void control(std::initializer_list<uint64_t> parts, Text&& text) {
    uint64_t hash = 0;
    for (const uint64_t part : parts) hash = hash64(hash, part);
    present_.control += hash;
    ++events;
    if (detail_ == present_.cycle) details.push_back(text());
  }

  bool live(CommandId command, uint32_t entry) const {
    return command >= live_.size() || live_[command].empty() || live_[command][entry] != 0;
  }

  void take_values(size_t watched, uint32_t link, const ItemTag& item) {
    if (!live(item.command, entries_[watched])) return;
    uint64_t hash = hash64(link, item.index);
    uint64_t count = 0;
    const auto take = [&](const BlockRef& block, uint64_t first, uint64_t elements) {
      if (!block) return;
      for (uint64_t e = first; e < first + elements; ++e) {
        const auto row = static_cast<uint32_t>(e);
        const bool valid = block->is_valid(row, entries_[watched]);
        hash = hash64(hash, valid ? block->bits(row, entries_[watched]) : ~uint64_t{0});
        ++count;
      }
    };
    if (item.stream != nullptr) {
      if (item.stream->values) take(item.stream->values, 0, item.stream->values->elements);
      if (item.stream->keep) take(item.stream->keep, 0, item.stream->keep->elements);
      for (const BlockRef& flit : item.stream->flits) {
        if (flit) take(flit, 0, flit->elements);
      }
      if (item.stream->trf) {
        for (const auto& lane : item.stream->trf->lanes) {
          for (const BlockRef& granule : lane) {
            if (granule) take(granule, 0, granule->elements);
          }
        }
      }
    } else if (item.dm_request != nullptr) {
      take(item.dm_request->values, item.dm_request->first_element, item.dm_request->elements);
    }
    if (count == 0) return;
    present_.values[watched] += hash;
    if (watched == 0) values += count;
    if (detail_ == present_.cycle) {
      details.push_back(fmt::format("{} takes item {} with the values {:016x}",
                                    links_[link]->name(), item.index, hash));
    }
  }

  // All units of the present cycle have run.
  void close() {
    if (!begun_) return;
    for (const uint32_t number : touched_) {
      Watched& watched = units_[number];
      watched.listed = false;
      const Unit& unit = *watched.unit;
      const UnitState state = unit.state_in(present_.cycle);
      uint64_t signals = 0;
      for (const Unit::Signal& signal : watched.signals) {
        signals = hash64(signals, signal.value(present_.cycle));
      }
      control({4, number, static_cast<uint64_t>(state), unit.item_command(), unit.item_index(),
               signals},
              [&] {
                return fmt::format("{} is {} with item {} of command {}", unit.unit_name(),
                                   name(state), unit.item_index(), unit.item_command());
              });
    }
    touched_.clear();
    digests.push_back(present_);
    present_.control = 0;
    std::fill(present_.values.begin(), present_.values.end(), 0);
    std::sort(details.begin(), details.end());
  }

  std::vector<uint32_t> entries_;
  std::vector<std::vector<uint8_t>> live_;
  std::optional<Cycle> detail_;
  std::vector<Watched> units_;
  std::vector<const LinkBase*> links_;
  std::vector<uint32_t> touched_;
  CycleDigest present_;
  bool begun_ = false;
};

// live[command][entry] of all slices, or of one.
std::vector<std::vector<uint8_t>> live_of(const Program& program, std::optional<uint32_t> slice) {
  std::vector<std::vector<uint8_t>> live;
  for (const Command& command : program.commands) {
    const StreamShape& source = command.source;
    std::vector<uint8_t> flags =
        live_slices(source.chip, source.cluster, source.slice, program.limits, program.axes);
    if (slice) flags = {flags[*slice]};
    live.push_back(std::move(flags));
  }
  return live;
}

struct Observed {
  RunResult result;
  DigestObserver observer;
};

Observed observe(const Program& program, const TopologyDecl& topology, RunOptions options,
                 const std::vector<uint32_t>& watched, std::optional<uint32_t> only,
                 std::optional<Cycle> detail) {
  Observed observed{
      {},
      DigestObserver(only ? std::vector<uint32_t>{0} : watched, live_of(program, only), detail)};
  options.only_slice = only;
  options.observer = &observed.observer;
  observed.result = run_program(program, topology, options);
  return observed;
}

std::string first_line_that_differs(const std::vector<std::string>& lockstep,
                                    const std::vector<std::string>& own) {
  std::vector<std::string> missing, added;
  std::set_difference(lockstep.begin(), lockstep.end(), own.begin(), own.end(),
                      std::back_inserter(missing));
  std::set_difference(own.begin(), own.end(), lockstep.begin(), lockstep.end(),
                      std::back_inserter(added));
  return fmt::format("lockstep: {}; alone: {}", missing.empty() ? "nothing" : missing.front(),
                     added.empty() ? "nothing" : added.front());
}

// Slices that are folded into each other, or that a DMA moves values between, have none of their
// own.
void refuse_folds(const Program& program) {
  Diagnostics diagnostics;
  for (const Command& command : program.commands) {
    if (command.dma) {
      diagnostics.error(command.where,
                        "a DMA moves values between slices and memories, which a pipeline of one "
                        "slice cannot",
                        "--timing-only compares the cycles alone");
    }
    if (command.switching && command.switching->ring_size > 1) {
      diagnostics.error(command.where,
                        fmt::format("a switch moves values between {} slices, which a pipeline of "
                                    "one slice cannot",
                                    command.switching->ring_size),
                        "--timing-only compares the cycles alone");
    }
    if (!command.vector || !command.vector->inter) continue;
    const auto stage = std::find_if(
        command.stages.begin(), command.stages.end(),
        [](const StageRecord& record) { return record.name == "vector_inter_slice_reduce"; });
    diagnostics.error(stage != command.stages.end() ? stage->where : command.where,
                      fmt::format("folds {} slices into one value, which a pipeline of one slice "
                                  "cannot",
                                  command.vector->inter->ratio),
                      "--timing-only compares the cycles alone");
  }
  diagnostics.throw_if_errors();
}

}  // namespace

bool LockstepProof::holds() const {
  return !slices.empty() && std::all_of(slices.begin(), slices.end(), [](const LockstepSlice& s) {
    return s.difference.empty();
  });
}

std::vector<uint32_t> spread_slices(const Program& program, uint32_t count) {
  std::vector<uint8_t> used(program.limits.clusters * program.limits.slices, 0);
  for (const auto& flags : live_of(program, std::nullopt)) {
    for (size_t i = 0; i < flags.size(); ++i) used[i] |= flags[i];
  }
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < used.size(); ++i) {
    if (used[i] != 0) all.push_back(i);
  }
  if (all.size() <= count) return all;
  std::vector<uint32_t> chosen;
  for (uint32_t i = 0; i < count; ++i) {
    chosen.push_back(all[count == 1 ? 0 : i * (all.size() - 1) / (count - 1)]);
  }
  return chosen;
}

LockstepProof prove_lockstep(const Program& program, const TopologyDecl& topology,
                             const RunOptions& options, const std::vector<uint32_t>& slices) {
  if (options.values) refuse_folds(program);
  LockstepProof proof;
  Observed lockstep = observe(program, topology, options, slices, std::nullopt, std::nullopt);
  proof.lockstep = std::move(lockstep.result);
  const std::vector<CycleDigest>& theirs = lockstep.observer.digests;
  for (size_t i = 0; i < slices.size(); ++i) {
    const Observed alone = observe(program, topology, options, slices, slices[i], std::nullopt);
    const std::vector<CycleDigest>& own = alone.observer.digests;
    LockstepSlice slice;
    slice.slice = slices[i];
    slice.cycles = alone.result.cycles;
    slice.events = alone.observer.events;
    slice.values = alone.observer.values;
    for (size_t at = 0; at < std::max(theirs.size(), own.size()); ++at) {
      const bool both = at < theirs.size() && at < own.size();
      if (both && theirs[at].cycle == own[at].cycle && theirs[at].control == own[at].control &&
          theirs[at].values[i] == own[at].values[0]) {
        ++slice.cycles_compared;
        continue;
      }
      const Cycle cycle = at >= own.size()      ? theirs[at].cycle
                          : at >= theirs.size() ? own[at].cycle
                                                : std::min(theirs[at].cycle, own[at].cycle);
      // Once more, for the words.
      const std::vector<uint32_t> watched = {slices[i]};
      const Observed first = observe(program, topology, options, watched, std::nullopt, cycle);
      const Observed second = observe(program, topology, options, watched, slices[i], cycle);
      slice.difference =
          fmt::format("cycle {}: {}", cycle,
                      first_line_that_differs(first.observer.details, second.observer.details));
      break;
    }
    if (slice.difference.empty() && slice.cycles != proof.lockstep.cycles) {
      slice.difference = fmt::format("lockstep ends after {} cycles, alone after {}",
                                     proof.lockstep.cycles, slice.cycles);
    }
    proof.slices.push_back(std::move(slice));
  }
  return proof;
}

}  // namespace rngdsim
