// SPDX-License-Identifier: Apache-2.0
#include "sim/free_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/unit_types.h"

namespace rngdsim {
namespace {

struct FreeParameter {
  const char* name;
  enum { kLeast, kMost, kAs } to;
  const char* other = "";  // kAs: this one's value
};
struct FreeType {
  const char* type;
  const char* what;
  std::vector<FreeParameter> parameters;
};

const std::vector<FreeType>& free_types() {
  constexpr auto kLeast = FreeParameter::kLeast;
  constexpr auto kMost = FreeParameter::kMost;
  static const std::vector<FreeType> kTypes = {
      {"hbm",
       "at its peak",
       {{"row_open", kLeast},
        {"row_change", kLeast},
        {"other_slice", FreeParameter::kAs, "other_bank_group"},
        {"same_bank_group", FreeParameter::kAs, "other_bank_group"},
        {"read_modify_write", FreeParameter::kAs, "transfer"},
        {"access_latency", kLeast},
        {"queue_entries", kMost}}},
      {"host", "there at once", {{"latency", kLeast}, {"bytes_per_cycle", kMost}}},
      {"data_memory",
       "without waits of DMA",
       {{"read_latency", kLeast},
        {"beat_bytes", kMost},
        {"beat_cycles", kLeast},
        {"dma_queue", kMost}}},
      {"dma_engine",
       "without a start-up of its own",
       {{"first_access_hbm", kLeast}, {"first_access_dm", kLeast}, {"first_access_host", kLeast}}},
      {"fetch_sequencer", "without a limit of accesses", {{"outstanding", kMost}}},
      {"fetch_adapter",
       "without waits of tables",
       {{"cast_latency", kLeast},
        {"zero_point_latency", kLeast},
        {"lookup_latency", kLeast},
        {"lookup_cycles", kLeast}}},
      {"switch",
       "without hops",
       {{"hop_cycles", kLeast},
        {"latency", kLeast},
        {"bitmap_load", kLeast},
        {"short_packet_traversals", kLeast}}},
      {"trf", "without a latency", {{"read_latency", kLeast}}},
      {"trf_sequencer", "without a limit of reads", {{"outstanding", kMost}}},
      {"packet_reducer",
       "without a latency",
       {{"latency_4bit", kLeast}, {"latency_8bit", kLeast}, {"latency_16bit", kLeast}}},
      {"vector_engine",
       "without a latency",
       {{"alu_latency", kLeast}, {"convert_latency", kLeast}}},
      {"inter_slice_reducer",
       "without hops",
       {{"hop_cycles", kLeast}, {"hop_cycles_contraction", kLeast}}}};
  return kTypes;
}

double value_of(const UnitDecl& unit, const std::string& name) {
  const auto found =
      std::find_if(unit.parameters.begin(), unit.parameters.end(),
                   [&](const NamedParameter& parameter) { return parameter.name == name; });
  return std::get<double>(found->parameter.value);
}

// The least that the parameter may be: of one that includes the latency of a link no less than
// that.
double least(const TopologyDecl& machine, const UnitDecl& unit, const UnitType& type,
             const std::string& name) {
  double value = type.parameter(name)->min;
  for (const IncludedLatency& rule : type.latencies) {
    if (rule.parameter != name) continue;
    for (const ConnectionDecl& link : machine.connections) {
      if (link.from.unit != unit.name || link.from.port != rule.port) continue;
      value = std::max(value, static_cast<double>(link.latency));
    }
  }
  return value;
}

}  // namespace

std::optional<FreeUnit> free_unit(const TopologyDecl& machine, const UnitDecl& unit) {
  const auto found = std::find_if(free_types().begin(), free_types().end(),
                                  [&](const FreeType& t) { return t.type == unit.type.value; });
  if (found == free_types().end()) return std::nullopt;
  const UnitType& type = *find_type(unit_types(), unit.type.value);
  FreeUnit result{found->what, {}};
  for (const FreeParameter& parameter : found->parameters) {
    const std::string name = parameter.name;
    double value = 0;
    switch (parameter.to) {
      case FreeParameter::kLeast:
        value = least(machine, unit, type, name);
        break;
      case FreeParameter::kMost:
        value = type.parameter(name)->max;
        break;
      case FreeParameter::kAs:
        value = value_of(unit, parameter.other);
        break;
    }
    if (value == value_of(unit, name)) continue;
    result.settings.push_back(
        fmt::format("{}.{}={}", unit.name, name, static_cast<uint64_t>(std::llround(value))));
  }
  return result;
}

}  // namespace rngdsim
