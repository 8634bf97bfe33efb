// SPDX-License-Identifier: Apache-2.0
// Compares a run in lockstep with one in which the clusters run apart without skew: what happens on
// every link in every cycle, the states of the units, and all numbers of the result.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "channel/link.h"
#include "sim/run.h"

namespace rngdsim::test {

// The name that a unit of a later cluster, or a port for one, has in cluster 0; and the cluster.
inline std::pair<std::string, uint64_t> in_cluster(std::string link) {
  uint64_t cluster = 0;
  for (size_t at = link.find("cluster1_"); at != std::string::npos; at = link.find("cluster1_")) {
    link.erase(at, 9);
    cluster = 1;
  }
  if (cluster == 0) return {link, 0};
  const size_t memory = link.find("data_memory.");
  if (memory == std::string::npos) return {link, 1};
  const size_t suffix = link.find("_1", memory);
  if (suffix != std::string::npos) link.erase(suffix, 2);
  return {link, 1};
}

// What happens on the links, a line each, by cluster.
class LinkLog final : public RunObserver {
 public:
  void attached(const Program&, const std::vector<std::unique_ptr<Unit>>&,
                const std::vector<std::unique_ptr<LinkBase>>& links) override {
    for (const auto& link : links) links_.push_back(in_cluster(link->name()));
  }
  void cycle_begins(Cycle) override {}
  void command_began(CommandId, Cycle) override {}
  void command_ended(CommandId, Cycle) override {}
  void pushed(uint32_t link, Cycle now, Cycle ready, const ItemTag& item) override {
    add(link, fmt::format("{} push {} {} {} {}", now, ready, item.command, item.index, item.valid));
  }
  void popped(uint32_t link, Cycle now) override { add(link, fmt::format("{} pop", now)); }
  // Told once or twice, as the ends of the link come to it: the stalls of the result count.
  void refused(uint32_t, Cycle) override {}
  void touched(uint32_t, Cycle) override {}
  void finished(Cycle) override {}

  // Of a cluster: the links of its tensor unit and none of the chip's, sorted.
  std::vector<std::string> lines(uint64_t cluster) const {
    std::vector<std::string> found;
    for (const auto& [where, line] : lines_) {
      if (where.second == cluster && !is_of_chip(where.first)) {
        found.push_back(where.first + " " + line);
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  std::vector<std::string> chip_lines() const {
    std::vector<std::string> found;
    for (const auto& [where, line] : lines_) {
      if (is_of_chip(where.first)) found.push_back(where.first + " " + line);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  using Where = std::pair<std::string, uint64_t>;
  static bool is_of_chip(const std::string& link) { return link.find("dma_") != std::string::npos; }
  void add(uint32_t link, std::string line) { lines_.emplace_back(links_[link], std::move(line)); }
  std::vector<Where> links_;
  std::vector<std::pair<Where, std::string>> lines_;
};

inline std::string first_difference(const std::vector<std::string>& apart,
                                    const std::vector<std::string>& together) {
  if (apart == together) return "";
  const auto [own, theirs] =
      std::mismatch(apart.begin(), apart.end(), together.begin(), together.end());
  return fmt::format("apart: {}, together: {}", own == apart.end() ? "nothing" : *own,
                     theirs == together.end() ? "nothing" : *theirs);
}

// How many events were compared; `values` as in RunOptions.
inline uint64_t expect_apart_as_lockstep(const Program& program, const TopologyDecl& topology,
                                         bool values = true) {
  RunOptions options;
  options.values = values;
  LinkLog together_log, apart_log;
  options.observer = &together_log;
  const RunResult together = run_program(program, topology, options);
  options.observer = &apart_log;
  options.skew = 0;
  const RunResult apart = run_program(program, topology, options);

  const std::vector<std::string> lines = together_log.lines(0);
  EXPECT_EQ(first_difference(apart_log.lines(0), lines), "");
  EXPECT_EQ(first_difference(apart_log.lines(1), lines), "");
  EXPECT_EQ(first_difference(apart_log.chip_lines(), together_log.chip_lines()), "");

  EXPECT_EQ(apart.cycles, together.cycles);
  EXPECT_EQ(apart.commands, together.commands);
  EXPECT_EQ(apart.clusters.size(), 2u);
  for (const ClusterResult& cluster : apart.clusters) {
    EXPECT_EQ(cluster.commands, together.commands);
    EXPECT_EQ(cluster.work + cluster.waited, cluster.end);
  }
  EXPECT_EQ(apart.overlap, together.overlap);
  EXPECT_EQ(apart.mac, together.mac);
  EXPECT_EQ(apart.bandwidth, together.bandwidth);
  EXPECT_EQ(apart.dmas, together.dmas);
  EXPECT_EQ(apart.values, together.values);
  EXPECT_EQ(apart.failures.size(), together.failures.size());
  std::map<std::string, LinkResult> links;
  for (const LinkResult& link : together.links) links[link.name] = link;
  for (const LinkResult& link : apart.links) {
    const LinkResult& own = links[in_cluster(link.name).first];
    EXPECT_EQ(link.items, own.items) << link.name;
    EXPECT_EQ(link.stalled, own.stalled) << link.name;
  }
  std::map<std::string, UnitResult> by_name;
  for (const UnitResult& unit : apart.units) by_name[unit.name] = unit;
  for (const UnitResult& unit : together.units) {
    const std::string names[] = {unit.name, "cluster1_" + unit.name};
    for (const std::string& name : names) {
      if (by_name.count(name) == 0) continue;  // the chip has one
      const UnitResult& own = by_name[name];
      const auto states = [](const UnitResult& u) {
        return std::vector<uint64_t>{u.busy, u.starved, u.blocked, u.conflict, u.idle};
      };
      EXPECT_EQ(states(own), states(unit)) << name;
      if (unit.type == "data_memory") continue;  // it counts the items of both
      EXPECT_EQ(own.items_in, unit.items_in) << name;
    }
  }
  return lines.size() + together_log.chip_lines().size();
}

}  // namespace rngdsim::test
