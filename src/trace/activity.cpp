// SPDX-License-Identifier: Apache-2.0
#include "trace/activity.h"

#include <algorithm>
#include <cmath>

namespace rngdsim {
namespace {

// "unit.port->unit.port" -> the ports.
std::pair<std::string, std::string> ports_of(const std::string& link) {
  const size_t arrow = link.find("->");
  if (arrow == std::string::npos) return {};
  const std::string from = link.substr(0, arrow), to = link.substr(arrow + 2);
  return {from.substr(from.find('.') + 1), to.substr(to.find('.') + 1)};
}

// From stretches of one length to stretches of twice that.
template <typename T>
void halve(std::vector<T>& values) {
  if (values.size() % 2 == 1) values.push_back(0);
  for (size_t i = 0; i < values.size() / 2; ++i) values[i] = values[2 * i] + values[2 * i + 1];
  values.resize(values.size() / 2);
}

// `values` and what is missing of `count`, as [how many, number].
template <typename T>
nlohmann::ordered_json runs_of(const std::vector<T>& values, size_t count) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (size_t i = 0; i < count;) {
    const auto at = [&](size_t j) { return j < values.size() ? values[j] : T{0}; };
    size_t next = i + 1;
    while (next < count && at(next) == at(i)) ++next;
    nlohmann::ordered_json run = nlohmann::ordered_json::array();
    run.push_back(next - i);
    run.push_back(at(i));
    runs.push_back(std::move(run));
    i = next;
  }
  return runs;
}

}  // namespace

std::string memory_of_requests(const std::string& link) {
  const auto [from, to] = ports_of(link);
  if (from == "request") {
    if (to == "main_fetch" || to == "sub_fetch") return "dm read";
    if (to == "main_commit" || to == "sub_commit") return "dm write";
    if (to == "read") return "trf read";
  }
  if (to.rfind("dma_", 0) != 0) return "";
  if (from == "dm") return "dm";
  if (from == "hbm") return "hbm";
  return from == "host" ? "pcie" : "";
}

void ActivitySink::begin(const TraceNames& names) {
  program_ = names.program;
  std::string multiplier;
  for (const TraceNames::UnitNames& unit : names.units) {
    tracks_.emplace_back().name = unit.name;
    for (const auto& [signal, bits] : unit.signals) {
      if (signal == "active_lanes") multiplier = unit.name + ".out->";
    }
  }
  for (const TraceNames::LinkNames& link : names.links) {
    sources_.push_back({!multiplier.empty() && link.name.rfind(multiplier, 0) == 0,
                        memory_of_requests(link.name)});
  }
}

size_t ActivitySink::stretch(Cycle cycle) {
  while (cycle / width_ >= kMost) {
    width_ *= 2;
    for (Track& track : tracks_) {
      for (std::vector<uint64_t>& cycles : track.cycles) halve(cycles);
    }
    for (std::vector<double>& amounts : series_) halve(amounts);
  }
  return cycle / width_;
}

void ActivitySink::close(Track& track, Cycle end) {
  const auto state = static_cast<size_t>(track.state);
  if (track.state == UnitState::kIdle || track.since >= end) return;
  const size_t last = stretch(end - 1), first = stretch(track.since);
  std::vector<uint64_t>& cycles = track.cycles[state];
  cycles.resize(std::max(cycles.size(), last + 1));
  for (size_t i = first; i <= last; ++i) {
    cycles[i] += std::min(end, (i + 1) * width_) - std::max(track.since, i * width_);
  }
}

void ActivitySink::unit(uint32_t unit, const UnitView& view) {
  Track& track = tracks_[unit];
  if (track.state == view.state) return;
  close(track, cycle_);
  track.state = view.state;
  track.since = cycle_;
}

void ActivitySink::add(Series series, double amount) {
  const size_t i = stretch(cycle_);
  std::vector<double>& amounts = series_[series];
  amounts.resize(std::max(amounts.size(), i + 1));
  amounts[i] += amount;
}

void ActivitySink::event(uint32_t link, LinkEvent event, const ItemView& item) {
  const Source& source = sources_[link];
  if (event != LinkEvent::kPush || (!source.multiplier && source.memory.empty())) return;
  const Command& command = program_->commands[item.command];
  if (source.multiplier) {
    if (!command.outer || command.outer->packets == 0) return;
    add(kMacs,
        static_cast<double>(command.mac_useful) / static_cast<double>(command.outer->packets));
    return;
  }
  const auto bytes = static_cast<double>(item.bytes);
  const auto all = bytes * static_cast<double>(program_->limits.slices * command.clusters_used);
  if (source.memory == "dm read") add(kDmRead, all);
  if (source.memory == "dm write") add(kDmWrite, all);
  if (source.memory == "trf read") add(kTrfRead, all);
  if (source.memory == "dm") add(item.write ? kDmWrite : kDmRead, bytes);
  if (source.memory == "hbm") add(item.write ? kHbmWrite : kHbmRead, bytes);
  if (source.memory == "pcie") add(item.write ? kPcieWrite : kPcieRead, bytes);
}

void ActivitySink::end(Cycle end) {
  for (Track& track : tracks_) {
    close(track, end);
    track.state = UnitState::kIdle;
  }
  end_ = end;
  if (end > 0) stretch(end - 1);
}

nlohmann::ordered_json ActivitySink::json() const {
  const size_t count = end_ == 0 ? 0 : (end_ - 1) / width_ + 1;
  nlohmann::ordered_json units = nlohmann::ordered_json::array();
  for (const Track& track : tracks_) {
    nlohmann::ordered_json unit = {{"name", track.name}};
    const bool worked = std::any_of(track.cycles.begin(), track.cycles.end(),
                                    [](const auto& cycles) { return !cycles.empty(); });
    for (const UnitState state :
         {UnitState::kBusy, UnitState::kStarved, UnitState::kBlocked, UnitState::kConflict}) {
      unit[name(state)] = runs_of(track.cycles[static_cast<size_t>(state)], worked ? count : 0);
    }
    units.push_back(std::move(unit));
  }
  nlohmann::ordered_json all = {{"width", width_}, {"units", units}};
  constexpr std::array<const char*, kSeries> kNames = {"macs",      "dm_read",   "dm_write",
                                                       "trf_read",  "hbm_read",  "hbm_write",
                                                       "pcie_read", "pcie_write"};
  for (size_t series = 0; series < kSeries; ++series) {
    all[kNames[series]] = runs_of(series_[series], count);
  }
  return all;
}

}  // namespace rngdsim
