// SPDX-License-Identifier: Apache-2.0
#include "report/explain_switch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/numbers.h"
#include "support/text.h"

namespace rngdsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kRowsShown = 8;     // of a bitmap, besides the last
constexpr size_t kSourcesShown = 8;  // of a row

// "0, 8, 16, 24", "0 to 31", "0, 1, ... 255 (256 of them)", "none".
std::string sources_text(const std::vector<uint32_t>& sources) {
  if (sources.empty()) return "none";
  const size_t count = sources.size();
  if (count > 2 && sources.back() - sources.front() + 1 == count) {
    return fmt::format("{} to {}", sources.front(), sources.back());
  }
  if (count <= kSourcesShown) return fmt::format("{}", fmt::join(sources, ", "));
  return fmt::format("{}, {}, ... {} ({} of them)", sources[0], sources[1], sources.back(), count);
}

// "slice1 4, slice0 8"
std::string switch_sizes_text(const SwitchConfig& config) {
  if (config.kind == SwitchKind::kForward || config.kind == SwitchKind::kCustomBroadcast) return "";
  std::string text = fmt::format(" slice1 {}, slice0 {}", config.slice1, config.slice0);
  const bool timed =
      config.kind == SwitchKind::kBroadcast01 || config.kind == SwitchKind::kInterTranspose;
  return timed ? text + fmt::format(", time0 {}", config.time0) : text;
}

std::string bitmap_text(const SwitchConfig& config) {
  std::string text =
      fmt::format("snoop bitmap: router and the sources it takes, by place in a ring of {}\n",
                  config.ring_size);
  const size_t routers = config.snoop.size();
  const size_t width = fmt::format("{}", routers - 1).size();
  for (size_t router = 0; router < routers; ++router) {
    if (router == kRowsShown && router + 1 < routers) {
      text += fmt::format("{:>{}}  ...\n", "", width);
      router = routers - 1;
    }
    text += fmt::format("{:>{}}  {}\n", router, width, sources_text(config.snoop[router]));
  }
  return text;
}

}  // namespace

std::string switch_cost_text(const SwitchConfig& config) {
  return fmt::format("switch: rings of {} take {} with each of {}, {} in all",
                     count_of(config.ring_size, "slice"), count_of(config.ring_size, "hop"),
                     count_of(config.traversals(), "flit"), count_of(config.hops(), "cycle"));
}

StageExplanation explain_switch(const Program& program, const Command& command) {
  const SwitchConfig& config = *command.switching;
  const StreamShape *before = &command.source, *after = &command.source;
  for (const StageRecord& stage : command.stages) {
    if (stage.name == "switch") {
      after = &stage.after;
      break;
    }
    before = &stage.after;
  }
  const auto quoted_text = [&](const Mapping& mapping) {
    return "'" + mapping.text(program.axes) + "'";
  };
  StageExplanation stage;
  stage.label = "switch";
  stage.key = "switch";
  stage.text =
      fmt::format("{}{}: ring {} x Time {} x {} = {}; OutSlice {}, OutTime {}", name(config.kind),
                  switch_sizes_text(config), config.ring_size, group_digits(config.packets),
                  count_of(config.flits_per_packet, "flit"), count_of(config.hops(), "hop"),
                  quoted_text(after->slice), quoted_text(after->time));
  stage.json = {{"kind", name(config.kind)},
                {"ring_size", config.ring_size},
                {"slice1", config.slice1},
                {"slice0", config.slice0},
                {"time0", config.time0},
                {"packets", config.packets},
                {"flits_per_packet", config.flits_per_packet},
                {"hops", config.hops()},
                {"flits", config.flits},
                {"round_in", config.round_in},
                {"round_out", config.round_out},
                {"out_slice", after->slice.text(program.axes)},
                {"out_time", after->time.text(program.axes)},
                {"bitmap_load", config.load_cycles},
                {"snoop", config.snoop}};
  if (config.ring_size > 1) stage.block = bitmap_text(config);
  stage.why.emplace_back(
      fmt::format("ring {}", config.ring_size),
      config.kind == SwitchKind::kForward ? std::string("every router keeps its own slice's flits")
      : config.kind == SwitchKind::kCustomBroadcast
          ? fmt::format("Slice {} and OutSlice are alike outside of the innermost {}",
                        quoted_text(before->slice), count_of(config.ring_size, "slice"))
          : fmt::format("slice1 x slice0 = {} x {}", config.slice1, config.slice0));
  if (config.load_cycles > 0) {
    stage.why.emplace_back(
        "bitmap load",
        fmt::format("{}, from the command's begin on, in which no DMA and no sub command begins",
                    count_of(config.load_cycles, "cycle")));
  }
  return stage;
}

}  // namespace rngdsim
