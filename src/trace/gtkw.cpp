// SPDX-License-Identifier: Apache-2.0
#include "trace/gtkw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "trace/vcd_writer.h"

namespace rngdsim {
namespace {

// How GTKWave shows a signal: flags of its save files, in hexadecimal.
constexpr char kDecimal[] = "@24";
constexpr char kHexadecimal[] = "@22";
constexpr char kBinary[] = "@28";
constexpr char kText[] = "@820";
constexpr char kHeading[] = "@200";

}  // namespace

void GtkwWriter::begin(const TraceNames& names) {
  names_ = names;
  first_link_ = names.units.size();
  first_context_ = first_link_ + names.links.size();
  active_.assign(first_context_ + kContexts, 0);
  used_ = active_;
}

// Everything active in a cycle of the window is used: what is when it begins, and what becomes so.
void GtkwWriter::begin_cycle(Cycle cycle) {
  if (cycle > window_.begin) take_over();
  cycle_ = cycle;
}

void GtkwWriter::take_over() {
  if (entered_) return;
  entered_ = true;
  for (size_t i = 0; i < active_.size(); ++i) used_[i] |= active_[i];
}

void GtkwWriter::set(size_t item, bool active) {
  active_[item] = active ? 1 : 0;
  if (active && window_.contains(cycle_)) used_[item] = 1;
}

void GtkwWriter::unit(uint32_t unit, const UnitView& view) { set(unit, view.active); }

void GtkwWriter::link(uint32_t link, const LinkView& view) {
  set(first_link_ + link, view.occupancy > 0);
}

void GtkwWriter::open_command(Context context, std::optional<CommandId> command) {
  set(first_context_ + static_cast<size_t>(context), command.has_value());
}

void GtkwWriter::end(Cycle end) {
  if (end > window_.begin) take_over();
  end_ = end;
}

std::string GtkwWriter::text(const std::string& vcd) const {
  const Cycle end = std::min(end_, window_.end);
  const Cycle begin = std::min(window_.begin, end);
  // 200 pixels show 2^-zoom units of time; about a thousand shall show everything.
  const double zoom = -std::log2(std::max<double>(static_cast<double>(end - begin), 5) / 5);
  std::string text = fmt::format(
      "[dumpfile] \"{}\"\n[timestart] {}\n[size] 1600 1000\n[pos] -1 -1\n*{:.6f} -1\n"
      "[treeopen] rngdsim.\n[treeopen] rngdsim.units.\n[sst_width] 200\n[signals_width] 260\n",
      vcd, begin, zoom);
  const auto heading = [&](const std::string& what) {
    text += fmt::format("{}\n-{}\n", kHeading, what);
  };
  const auto signal = [&](const char* flags, const std::string& path, uint32_t bits) {
    text += fmt::format("{}\n{}.{}{}\n", flags, "rngdsim", path,
                        bits > 1 ? fmt::format("[{}:0]", bits - 1) : "");
  };
  heading("commands");
  for (const Context context : {Context::kMain, Context::kSub, Context::kDma}) {
    if (used_[first_context_ + static_cast<size_t>(context)] == 0) continue;
    signal(kText, std::string("commands.") + rngdsim::name(context), 0);
  }
  for (size_t i = 0; i < names_.units.size(); ++i) {
    if (used_[i] == 0) continue;
    const TraceNames::UnitNames& unit = names_.units[i];
    heading(unit.name);
    signal(kText, fmt::format("units.{}.state", unit.name), 0);
    signal(kDecimal, fmt::format("units.{}.time_index", unit.name), VcdWriter::kIndexBits);
    for (const auto& [name, bits] : unit.signals) {
      signal(bits > 1 ? kHexadecimal : kBinary, fmt::format("units.{}.{}", unit.name, name), bits);
    }
  }
  heading("links: items in each");
  for (size_t i = 0; i < names_.links.size(); ++i) {
    if (used_[first_link_ + i] == 0) continue;
    signal(kDecimal, fmt::format("links.{}.occupancy", VcdWriter::link_scope(names_.links[i].name)),
           VcdWriter::occupancy_bits(names_.links[i].depth));
  }
  return text;
}

}  // namespace rngdsim
