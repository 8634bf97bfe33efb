// SPDX-License-Identifier: Apache-2.0
#include "report/attribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "report/findings.h"

namespace rngdsim {
namespace {

using Shares = std::map<std::pair<CommandId, std::string>, UnitShare>;

// The unit of the command that had items for most cycles, of those that `wanted` says; the first
// by name of equals.
template <typename Wanted>
std::optional<std::string> longest(const Shares& shares, CommandId command, Wanted&& wanted) {
  std::optional<std::string> found;
  uint64_t most = 0;
  for (const auto& [key, share] : shares) {
    if (key.first != command || !wanted(key.second) || share.cycles() <= most) continue;
    most = share.cycles();
    found = key.second;
  }
  return found;
}

std::optional<std::string> pacing_unit(const Command& command, const CommandResult& result,
                                       const RunResult& run, const Shares& shares) {
  if (command.dma) {
    return longest(shares, command.id,
                   [](const std::string& unit) { return unit.rfind("dma_", 0) == 0; });
  }
  if (const char* const type = limiting_type(result.bound_by, command)) {
    const UnitResult* const unit = find_unit(run, type, command.context);
    if (unit != nullptr && shares.count({command.id, unit->name}) != 0) return unit->name;
  }
  return longest(shares, command.id, [](const std::string&) { return true; });
}

OverBound over_bound(const Attribution& own, uint64_t bound) {
  const auto cover = [&](uint64_t cycles) {
    const uint64_t covered = std::min(cycles, bound);
    bound -= covered;
    return cycles - covered;
  };
  cover(own.overhead);
  OverBound over;
  over.work = cover(own.work);
  over.waits = cover(own.waited());
  over.fill = cover(own.fill);
  return over;
}

}  // namespace

uint64_t Attribution::waited() const {
  uint64_t sum = 0;
  for (const auto& [what, cycles] : waits) sum += cycles;
  return sum;
}

std::vector<Attribution> attribute(const Program& program, const RunResult& run,
                                   const CommandProfile& profile) {
  std::vector<Attribution> result;
  for (const CommandResult& command : run.commands) {
    Attribution& own = result.emplace_back();
    own.command = command.index;
    own.overhead = std::min(command.overhead, command.cycles);
    own.fill = command.cycles - own.overhead;
    const auto unit = pacing_unit(program.commands[command.index], command, run, profile.shares());
    if (!unit) continue;
    own.unit = *unit;
    const UnitShare& share = profile.shares().at({command.index, *unit});
    own.work = share.busy;
    for (const auto& [state, waits] :
         {std::pair{"starved by", &share.starved}, std::pair{"blocked by", &share.blocked},
          std::pair{"conflict of", &share.conflict}}) {
      for (const auto& [whom, cycles] : *waits) {
        own.waits.emplace_back(fmt::format("{} {}", state, whom), cycles);
      }
    }
    std::stable_sort(own.waits.begin(), own.waits.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    own.fill -= std::min(own.fill, share.cycles());
  }
  for (Attribution& own : result) {
    own.over = over_bound(own, run.commands[own.command].bound);
  }
  return result;
}

Roofline roofline_of(const RunResult& run) {
  Roofline roofline;
  if (run.mac.useful == 0 || run.cycles == 0) return roofline;
  const auto useful = static_cast<double>(run.mac.useful);
  roofline.peak = static_cast<double>(run.mac.peak_per_cycle);
  roofline.achieved = useful / static_cast<double>(run.cycles);
  // The register file is filled over a narrower way of its own.
  const std::pair<const char*, std::vector<const char*>> memories[] = {
      {"dm", {"dm_read", "dm_write"}}, {"trf", {"trf_read"}}, {"hbm", {"hbm_read", "hbm_write"}}};
  for (const auto& [memory, directions] : memories) {
    RooflinePoint point;
    point.memory = memory;
    for (const BandwidthResult& bandwidth : run.bandwidth) {
      if (std::find(directions.begin(), directions.end(), bandwidth.name) == directions.end()) {
        continue;
      }
      point.bytes += bandwidth.bytes;
      point.peak_bytes = std::max(point.peak_bytes, bandwidth.peak_bytes_per_cycle);
    }
    if (point.bytes == 0) continue;
    point.intensity = useful / static_cast<double>(point.bytes);
    point.roof = std::min(roofline.peak, point.intensity * point.peak_bytes);
    point.of_roof = roofline.achieved / point.roof;
    roofline.points.push_back(point);
  }
  std::stable_sort(roofline.points.begin(), roofline.points.end(),
                   [](const auto& a, const auto& b) { return a.roof < b.roof; });
  return roofline;
}

}  // namespace rngdsim
