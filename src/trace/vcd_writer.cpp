// SPDX-License-Identifier: Apache-2.0
#include "trace/vcd_writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace rngdsim {
namespace {

// Printable identifiers, the short ones first.
std::string identifier(size_t number) {
  constexpr size_t kFirst = '!', kCount = '~' - '!' + 1;
  std::string code;
  do {
    code.push_back(static_cast<char>(kFirst + number % kCount));
    number /= kCount;
  } while (number-- > 0);
  return code;
}

// Of strings: without blanks, which would end the value.
std::string word(const std::string& text) {
  std::string result = text;
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c <= ' ' || c > '~'; }, '_');
  return result;
}

}  // namespace

VcdWriter::VcdWriter(TraceFile& file, Window window, double clock_ghz)
    : file_(file), window_(window), clock_ghz_(clock_ghz) {}

std::string VcdWriter::link_scope(const std::string& link) {
  std::string result;
  for (size_t i = 0; i < link.size(); ++i) {
    if (link.compare(i, 2, "->") == 0) {
      result += "_to_";
      ++i;
    } else {
      result += link[i] == '.' ? '_' : link[i];
    }
  }
  return result;
}

uint32_t VcdWriter::occupancy_bits(uint64_t depth) {
  uint32_t bits = 1;
  while (bits < 64 && (depth >> bits) != 0) ++bits;
  return bits;
}

// ---- Header -----------------------------------------------------------------------------------

void VcdWriter::open_scope(const std::string& name) {
  file_.write(fmt::format("$scope module {} $end\n", name));
}

void VcdWriter::close_scope() { file_.write("$upscope $end\n"); }

void VcdWriter::declare(const std::string& name, Kind kind, uint32_t bits, uint64_t value) {
  Variable variable;
  variable.value = variable.written = value;
  variable.kind = kind;
  variable.code = identifier(variables_.size());
  const bool text = kind == Kind::kState || kind == Kind::kCommandLabel;
  file_.write(fmt::format("$var {} {} {} {}{} $end\n", text ? "string" : "wire", text ? 1 : bits,
                          variable.code, name,
                          !text && bits > 1 ? fmt::format(" [{}:0]", bits - 1) : ""));
  variables_.push_back(std::move(variable));
}

namespace {

bool has_dma(const Program& program) {
  return std::any_of(program.commands.begin(), program.commands.end(),
                     [](const Command& command) { return command.context == Context::kDma; });
}

}  // namespace

void VcdWriter::begin(const TraceNames& names) {
  program_ = names.program;
  file_.write(
      fmt::format("$comment rngdsim, kernel {}: one unit of time is one cycle of the {} GHz "
                  "clock $end\n$timescale 1 ns $end\n",
                  word(names.kernel), clock_ghz_));
  open_scope("rngdsim");
  open_scope("commands");
  command_variables_ = variables_.size();
  for (const Context context : {Context::kMain, Context::kSub, Context::kDma}) {
    if (context == Context::kDma && !has_dma(*names.program)) continue;
    declare(rngdsim::name(context), Kind::kCommandLabel, 0, kNone);
  }
  close_scope();
  open_scope("units");
  for (const TraceNames::UnitNames& unit : names.units) {
    open_scope(unit.name);
    unit_variables_.push_back(variables_.size());
    declare("state", Kind::kState, 0, static_cast<uint64_t>(UnitState::kIdle));
    declare("command", Kind::kVector, kCommandBits, kNone);
    declare("time_index", Kind::kVector, kIndexBits, kNone);
    for (const auto& [name, bits] : unit.signals) {
      declare(name, bits > 1 ? Kind::kVector : Kind::kBit, bits, 0);
    }
    close_scope();
  }
  close_scope();
  open_scope("links");
  for (const TraceNames::LinkNames& link : names.links) {
    open_scope(link_scope(link.name));
    link_variables_.push_back(variables_.size());
    const uint32_t bits = occupancy_bits(link.depth);
    declare("valid", Kind::kBit, 1, 0);
    declare("ready", Kind::kBit, 1, 1);
    declare("occupancy", bits > 1 ? Kind::kVector : Kind::kBit, bits, 0);
    close_scope();
  }
  close_scope();
  close_scope();
  file_.write("$enddefinitions $end\n");
}

// ---- Changes ----------------------------------------------------------------------------------

void VcdWriter::begin_cycle(Cycle cycle) {
  if (!open_ && cycle > window_.begin) dump_all(window_.begin);  // as it was before this cycle
  cycle_ = cycle;
  if (open_ && !closed_ && cycle >= window_.end) end(window_.end);
}

void VcdWriter::set(size_t variable, uint64_t value) {
  Variable& at = variables_[variable];
  at.value = value;
  if (at.listed || value == at.written) return;
  at.listed = true;
  changed_.push_back(variable);
}

void VcdWriter::unit(uint32_t unit, const UnitView& view) {
  const size_t first = unit_variables_[unit];
  set(first, static_cast<uint64_t>(view.state));
  set(first + 1, view.active ? view.command : kNone);
  set(first + 2, view.active ? view.time_index : kNone);
  for (size_t i = 0; i < view.signals.size(); ++i) set(first + 3 + i, view.signals[i]);
}

void VcdWriter::link(uint32_t link, const LinkView& view) {
  const size_t first = link_variables_[link];
  set(first, view.valid ? 1 : 0);
  set(first + 1, view.ready ? 1 : 0);
  set(first + 2, view.occupancy);
}

void VcdWriter::open_command(Context context, std::optional<CommandId> command) {
  set(command_variables_ + static_cast<size_t>(context), command ? uint64_t{*command} : kNone);
}

void VcdWriter::end_cycle() {
  if (closed_) return;
  if (!open_) {
    if (cycle_ == window_.begin) dump_all(cycle_);
    return;
  }
  bool timed = false;
  for (const size_t number : changed_) {
    Variable& variable = variables_[number];
    variable.listed = false;
    if (variable.value == variable.written) continue;
    if (!timed) time(cycle_);
    timed = true;
    variable.written = variable.value;
    value(variable);
  }
  changed_.clear();
}

void VcdWriter::time(Cycle cycle) {
  file_.put('#');
  file_.number(cycle);
  file_.put('\n');
}

void VcdWriter::dump_all(Cycle cycle) {
  open_ = true;
  time(cycle);
  file_.write("$dumpvars\n");
  for (Variable& variable : variables_) {
    variable.written = variable.value;
    variable.listed = false;
    value(variable);
  }
  file_.write("$end\n");
  changed_.clear();
}

void VcdWriter::value(const Variable& variable) {
  switch (variable.kind) {
    case Kind::kBit:
      file_.put(variable.value != 0 ? '1' : '0');
      break;
    case Kind::kVector: {
      if (variable.value == kNone) {
        file_.write("bz ");
        break;
      }
      char bits[66];
      size_t at = sizeof(bits);
      bits[--at] = ' ';
      uint64_t left = variable.value;
      do {
        bits[--at] = static_cast<char>('0' + (left & 1));
        left >>= 1;
      } while (left != 0);
      file_.put('b');
      file_.write({bits + at, sizeof(bits) - at});
      break;
    }
    case Kind::kState:
      file_.put('s');
      file_.write(rngdsim::name(static_cast<UnitState>(variable.value)));
      file_.put(' ');
      break;
    case Kind::kCommandLabel:
      file_.put('s');
      if (variable.value == kNone) {
        file_.put('-');
      } else {
        file_.write(
            word(fmt::format("{} {}", variable.value, program_->commands[variable.value].label)));
      }
      file_.put(' ');
      break;
  }
  file_.write(variable.code);
  file_.put('\n');
}

void VcdWriter::end(Cycle end) {
  if (closed_) return;
  const Cycle last = std::min(end, window_.end);
  if (!open_) {
    if (window_.begin > end) {  // the run never got there
      closed_ = true;
      return;
    }
    dump_all(window_.begin);
  }
  closed_ = true;
  time(last);  // so that viewers show the last values for their whole time
}

}  // namespace rngdsim
