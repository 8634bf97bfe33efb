// SPDX-License-Identifier: Apache-2.0
#include "lowering/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "support/text.h"

namespace rngdsim {

uint64_t Placement::align(uint64_t address) const {
  const uint64_t unit = memory_ == MemoryKind::kVrf    ? limits_.vrf_align
                        : memory_ == MemoryKind::kHbm  ? limits_.hbm_align
                        : memory_ == MemoryKind::kHost ? limits_.host_align
                                                       : limits_.dm_align;
  return (address + unit - 1) / unit * unit;
}

uint64_t Placement::bytes() const {
  if (memory_ == MemoryKind::kHbm) return limits_.hbm_bytes;
  if (memory_ == MemoryKind::kHost) return limits_.host_bytes;
  return memory_ == MemoryKind::kVrf ? limits_.vrf_bytes : limits_.dm_bytes();
}

// HBM can be read and written at any byte [B], the host as well [A].
uint64_t Placement::address_unit() const {
  if (!in_slices()) return 1;
  return memory_ == MemoryKind::kVrf ? limits_.flit_bytes : limits_.dm_bank_bytes;
}

const char* Placement::noun() const {
  if (memory_ == MemoryKind::kHbm) return "HBM";
  if (memory_ == MemoryKind::kHost) return "memory";
  return memory_ == MemoryKind::kVrf ? "vector register file" : "data memory";
}

std::string Placement::whole() const {
  return fmt::format("the {} of a {}", noun(),
                     memory_ == MemoryKind::kHbm    ? "chip"
                     : memory_ == MemoryKind::kHost ? "host"
                                                    : "slice");
}

const char* Placement::a_slice() const { return in_slices() ? " a slice" : ""; }

std::optional<uint64_t> Placement::first_fit(uint64_t needed, std::optional<ptrdiff_t> now,
                                             uint64_t* gap) const {
  uint64_t at = 0;
  for (const Range& range : taken_) {
    if (now && range.last_use && *range.last_use < *now) continue;
    if (range.end <= at || range.begin >= at + needed) continue;
    if (gap != nullptr && range.begin > at) *gap = std::max(*gap, range.begin - at);
    at = align(range.end);
  }
  if (at <= bytes() && needed <= bytes() - at) return at;
  if (gap != nullptr && at < bytes()) *gap = std::max(*gap, bytes() - at);
  return std::nullopt;
}

void Placement::take(Range range) {
  const auto behind =
      std::upper_bound(taken_.begin(), taken_.end(), range.begin,
                       [](uint64_t begin, const Range& other) { return begin < other.begin; });
  taken_.insert(behind, std::move(range));
}

void Placement::fix(TensorVersion& tensor, const Located<uint64_t>& address, ptrdiff_t now,
                    LastUse last_use, Diagnostics& diagnostics) {
  tensor.address = address.value;
  const uint64_t unit = address_unit();
  if (address.value % unit != 0) {
    diagnostics.error(address.where,
                      fmt::format("address {} of '{}' is no multiple of {} bytes, {}",
                                  group_digits(address.value), tensor.name, unit,
                                  memory_ == MemoryKind::kDm ? "the width of a bank" : "a flit"));
    return;
  }
  if (address.value > bytes() || tensor.bytes > bytes() - address.value) {
    diagnostics.error(address.where,
                      fmt::format("'{}' takes {} bytes{} from address {}; {} has {}", tensor.name,
                                  group_digits(tensor.bytes), a_slice(),
                                  group_digits(address.value), whole(), group_digits(bytes())));
    return;
  }
  const uint64_t end = address.value + tensor.bytes;
  for (const Range& range : taken_) {
    if (address.value >= range.end || range.begin >= end) continue;
    if (range.last_use && *range.last_use < now) continue;
    diagnostics.error(
        address.where,
        fmt::format("'{}' at bytes {} to {} overlaps '{}' at bytes {} to {}", tensor.name,
                    group_digits(address.value), group_digits(end - 1), range.name,
                    group_digits(range.begin), group_digits(range.end - 1)),
        now < 0 ? "declared tensors exist at the same time"
                : "that one is still needed, or a result that lasts");
    return;
  }
  take({tensor.name, address.value, end, last_use});
}

void Placement::place(TensorVersion& tensor, ptrdiff_t now, LastUse last_use,
                      Diagnostics& diagnostics) {
  uint64_t gap = 0;
  std::optional<uint64_t> at = first_fit(tensor.bytes, std::nullopt);
  if (!at) at = first_fit(tensor.bytes, now, &gap);
  if (!at) {
    diagnostics.error(
        tensor.where,
        fmt::format("no room for '{}': it takes {} bytes{}; of the {} of its {}, the largest free "
                    "range has {}",
                    tensor.name, group_digits(tensor.bytes), a_slice(), group_digits(bytes()),
                    noun(), group_digits(gap)),
        !in_slices() ? "" : "spread the tensors over more slices");
    return;
  }
  tensor.address = *at;
  take({tensor.name, *at, *at + tensor.bytes, last_use});
}

Footprint trf_footprint(const TensorVersion& tensor, TensorId id) {
  const uint64_t lanes = tensor.lane.size();
  return {MemoryKind::kTrf, id, tensor.first_row * lanes, (tensor.first_row + tensor.rows) * lanes};
}

void place_trf(TensorVersion& tensor, TensorId id, ptrdiff_t now,
               const std::optional<Located<std::string>>& region,
               const std::vector<PlacedTrf>& placed, const MachineLimits& limits,
               Diagnostics& diagnostics) {
  const uint64_t lanes = tensor.lane.size();
  const uint64_t row_bytes = limits.trf_banks * limits.trf_row_bytes;
  tensor.rows = (tensor.bytes + row_bytes - 1) / row_bytes;
  const uint64_t all_rows = limits.trf_rows * limits.lanes / lanes;
  const uint64_t half = all_rows / 2;
  struct Choice {
    const char* name;
    uint64_t first, rows;
  };
  const std::vector<Choice> regions = {
      {"first_half", 0, half}, {"second_half", half, half}, {"full", 0, all_rows}};
  const PlacedTrf* obstacle = nullptr;
  const Choice* best = nullptr;
  ptrdiff_t best_use = 0;
  bool fits = false;
  for (const Choice& choice : regions) {
    if (region && region->value != choice.name) continue;
    if (tensor.rows > choice.rows) continue;
    fits = true;
    tensor.first_row = choice.first;
    const Footprint rows = trf_footprint(tensor, id);
    const PlacedTrf* latest = nullptr;  // of those whose rows it would take
    for (const PlacedTrf& other : placed) {
      if (!rows.overlaps(other.rows)) continue;
      if (latest == nullptr || other.last_use > latest->last_use) latest = &other;
    }
    if (latest != nullptr && latest->last_use > now) {
      obstacle = latest;
      continue;
    }
    // What was never used is older than what a declaration put there.
    const ptrdiff_t used = latest == nullptr ? -2 : latest->last_use;
    if (best != nullptr && used >= best_use) continue;
    best = &choice;
    best_use = used;
  }
  if (best != nullptr) {
    tensor.region = best->name;
    tensor.first_row = best->first;
    return;
  }
  const SourceLocation where = region ? region->where : tensor.where;
  if (!fits) {
    diagnostics.error(
        where,
        fmt::format("'{}' takes {} bytes of a slice's register file; region {} has {}", tensor.name,
                    group_digits(lanes * tensor.bytes), region ? region->value : "full",
                    group_digits(region && region->value != "full" ? limits.trf_bytes() / 2
                                                                   : limits.trf_bytes())));
    return;
  }
  diagnostics.error(
      where,
      fmt::format("no free region of the register file for '{}' ({} bytes a slice): it would "
                  "overwrite '{}' ({} bytes), which the command in line {} still reads",
                  tensor.name, group_digits(lanes * tensor.bytes), obstacle->name,
                  group_digits((obstacle->rows.end - obstacle->rows.begin) * row_bytes),
                  obstacle->line),
      fmt::format(
          "store it after that command, or let each take at most half of the file, {} bytes",
          group_digits(limits.trf_bytes() / 2)));
}

}  // namespace rngdsim
