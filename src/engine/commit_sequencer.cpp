// SPDX-License-Identifier: Apache-2.0
#include "engine/commit_sequencer.h"

#include <fmt/format.h>

#include "engine/block_ops.h"

namespace rngdsim {

CommitSequencer::CommitSequencer(sc_core::sc_module_name name, Clock& clock,
                                 const RunContext& context, const Parameters& /*parameters*/)
    : Unit(name, clock, context) {}

void CommitSequencer::tick(Cycle now) {
  if (!in->can_pop(now)) {
    if (in_command_) {
      set_state(UnitState::kStarved, &in->producer_unit());
    } else {
      set_state(UnitState::kIdle);
    }
    return;
  }
  const StreamItem& item = in->front();
  const Command& present = command(item.command);
  if (!in_command_) begin(present);
  if (!present.commit) {
    sink(now);
  } else if (request->can_push(now)) {
    write(now, present, item);
  } else {
    set_state(UnitState::kBlocked, &request->consumer_unit());
    return;
  }
  set_state(UnitState::kBusy);
}

void CommitSequencer::begin(const Command& command) {
  command_ = command.id;
  write_ = 0;
  poison_.begin();
  if (!command.commit) return;
  walker_ = SequencerWalker(command.commit->sequencer, command.commit->write_elements);
}

void CommitSequencer::write(Cycle now, const Command& command, const StreamItem& flit) {
  const CommitConfig& commit = *command.commit;
  const TensorVersion& tensor = context().program->tensors[commit.tensor];
  if (walker_.done()) {
    invariant_broken(
        fmt::format("command {} has more flits than its {} writes", command_, walker_.accesses()),
        now);
  }
  if (write_ == 0) check_poison(flit, now);
  in_command_ = true;
  DmRequest access;
  access.command = command_;
  access.tensor = commit.tensor;
  access.index = walker_.index();
  access.bit_address =
      8 * tensor.address + static_cast<uint64_t>(walker_.offset() * memory_bits(tensor.dtype));
  access.elements = static_cast<uint32_t>(commit.write_elements);
  access.bytes = static_cast<uint32_t>(commit.write_bytes);
  access.values = flit.values;
  access.keep = flit.keep;
  access.first_element = static_cast<uint32_t>(write_ * commit.write_elements);
  access.dtype = tensor.dtype;
  set_item(command_, access.index);
  walker_.next();
  access.last = walker_.done();
  if (++write_ == commit.writes_per_flit) {
    write_ = 0;
    if (access.last != flit.last) {
      invariant_broken(fmt::format("command {}: write {} of {} belongs to flit {}", command_,
                                   walker_.index(), walker_.accesses(), flit.index),
                       now);
    }
    in_command_ = !flit.last;
    in->pop(now);
    count_in();
  }
  request->push(now, std::move(access));
  count_out();
}

void CommitSequencer::sink(Cycle now) {
  const StreamItem item = in->pop(now);
  count_in();
  set_item(item.command, item.index);
  check_poison(item, now);
  in_command_ = !item.last;
  context().monitor->sink_item(item, now);
  if (item.last) context().monitor->command_finished(item.command, now);
}

void CommitSequencer::check_poison(const StreamItem& item, Cycle now) {
  const Command& present = command(item.command);
  if (present.carries_poison) return;
  const StreamShape& shape = present.final_shape;
  // Without a Collect stage the accesses of Fetch come as they are, parts of a packet.
  const uint64_t step =
      present.fetch && !present.collect ? present.fetch->access_elements : shape.packet.size();
  const uint64_t first = item.index * step;
  const bool filtered = item.keep && item.values && !item.values->all_valid;
  const auto found = filtered ? poison_.first_in(without_left_out(item), shape, first, context())
                              : poison_.first_in(item, shape, first, context());
  if (!found) return;
  const std::string where =
      present.commit
          ? fmt::format("tensor '{}'", context().program->tensors[present.commit->tensor].name)
          : std::string("the stream's end");
  context().monitor->failure(
      {"poison", unit_name(), now, item.command,
       fmt::format("values that were never written reach {} at {} (slice {}, flit {})", where,
                   to_string(found->cell, context().program->axes), found->slice, item.index)});
}

StreamItem CommitSequencer::without_left_out(const StreamItem& item) const {
  StreamItem seen = item;
  seen.values = context().pool->allocate(item.values->dtype, item.values->elements);
  mark_kept_poison(*item.values, *item.keep, *seen.values);
  return seen;
}

std::string CommitSequencer::waiting_for() const {
  switch (state()) {
    case UnitState::kBlocked:
      return fmt::format("space for write {} of {} of command {}", walker_.index(),
                         walker_.accesses(), command_);
    case UnitState::kStarved:
      return fmt::format("the next flit of command {}", command_);
    default:
      return "";
  }
}

}  // namespace rngdsim
