// SPDX-License-Identifier: Apache-2.0
#include "engine/fetch_adapter.h"

#include <fmt/format.h>

#include <utility>

#include "engine/block_ops.h"

namespace rngdsim {

FetchAdapter::FetchAdapter(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
                           const Parameters& parameters)
    : Unit(name, clock, context), parameters_(parameters) {}

void FetchAdapter::tick(Cycle now) {
  const PathState sub_state = step(sub_, now);
  const PathState main_state = table_is_busy(now)
                                   ? PathState{UnitState::kBlocked, &unit_name()}
                                   : step(main_, now);  // its item is shown where both move
  const PathState shown = busier(main_state, sub_state);
  set_state(shown.state, shown.blame);
}

// The parts of a cycle in which time of the table is counted: its work is bytes * lookup_cycles.
uint64_t FetchAdapter::lookup_rate() const {
  return parameters_.lookup_flits * context().program->limits.flit_bytes;
}

// Whether the item of main that is here waits for the table.
bool FetchAdapter::table_is_busy(Cycle now) {
  if (!in->can_pop(now) || !command(in->front().command).table_lookup) return false;
  if (table_free_at() <= now) return false;
  wake_at(table_free_at());
  return true;
}

Cycle FetchAdapter::table_free_at() const {
  return (table_free_ + lookup_rate() - 1) / lookup_rate();
}

void FetchAdapter::note_lookup(const TableLookupConfig& config, Cycle now) {
  // What had to wait begins in the middle of a cycle where the one before ended there.
  if (table_free_at() < now) table_free_ = now * lookup_rate();
  table_free_ += config.item_bytes * parameters_.lookup_cycles;
}

PathState FetchAdapter::step(Way& way, Cycle now) {
  const auto route = [&](const StreamItem& item) -> Link<StreamItem>& {
    return command(item.command).switching ? *way.through_switch : *way.past_switch;
  };
  const PathState state = way.path.step(now, route, [&](StreamItem& item) -> uint64_t {
    set_item(item.command, item.index);
    const Command& present = command(item.command);
    if (!present.table_lookup && !present.fetch_cast && !present.fetch_zero_point) return 0;
    uint64_t cycles = 0;
    if (present.table_lookup) {
      cycles += parameters_.lookup_latency;
      note_lookup(*present.table_lookup, now);
      if (item.values) {
        const uint32_t elements = item.values->elements;
        item.values = convert_block(*context().pool, *item.values, present.table_lookup->to,
                                    elements, elements);
      }
    }
    if (present.fetch_cast) {
      cycles += parameters_.cast_latency;
      if (item.values) {
        const uint32_t elements = item.values->elements;
        item.values = convert_block(*context().pool, *item.values, present.fetch_cast->to, elements,
                                    elements);
      }
    }
    if (present.fetch_zero_point) {
      cycles += parameters_.zero_point_latency;
      if (item.values) subtract(way, item, *present.fetch_zero_point, now);
    }
    const uint64_t latency = route(item).latency();
    return cycles > latency ? cycles - latency : 0;
  });
  if (state.state == UnitState::kBusy) {
    count_in();
    count_out();
  }
  return state;
}

void FetchAdapter::subtract(Way& way, StreamItem& item, const FetchZeroPointConfig& config,
                            Cycle now) {
  const BlockRef before = item.values;
  ZeroPointBlocks blocks =
      subtract_zero_point(*context().pool, *before, config.to, config.zero_point);
  item.values = std::move(blocks.result);
  if (!blocks.fits) return;
  if (!way.used || way.command != item.command) way.out_of_range.begin();
  way.used = true;
  way.command = item.command;
  const Command& present = command(item.command);
  const uint64_t step =
      present.fetch ? present.fetch->access_elements : present.source.packet.size();
  StreamItem checked = item;
  checked.values = std::move(blocks.fits);
  const auto found =
      way.out_of_range.first_in(checked, present.source, item.index * step, context());
  if (found) report(item, *before, *found, item.index * step, config, now);
}

void FetchAdapter::report(const StreamItem& item, const Block& before,
                          const PoisonedElement& element, uint64_t first_position,
                          const FetchZeroPointConfig& config, Cycle now) {
  const auto value = [&](uint32_t row) {
    return static_cast<int64_t>(
        to_double(config.from, before.bits(row, element.slice - context().first_slice)));
  };
  const auto row = static_cast<uint32_t>(element.position - first_position);
  const Program& program = *context().program;
  const Command& present = command(item.command);
  const std::string what =
      present.fetch ? fmt::format("tensor '{}'", program.tensors[present.fetch->tensor].name)
                    : std::string("the stream");
  context().monitor->failure(
      {"out of range", unit_name(), now, item.command,
       fmt::format(
           "{} at {} is {}; less the zero point {} it is {}, and {} holds {} to {} (slice {}, "
           "{} {})",
           what, to_string(element.cell, program.axes), value(row), config.zero_point,
           value(row) - config.zero_point, rngdsim::name(config.to),
           static_cast<int64_t>(min_value(config.to)), static_cast<int64_t>(max_value(config.to)),
           element.slice, present.fetch ? "access" : "packet", item.index)});
}

}  // namespace rngdsim
