// SPDX-License-Identifier: Apache-2.0
// Valid counts by their definition, and placements from texts.
#pragma once

#include <string>
#include <vector>

#include "lowering/lower_vcg.h"
#include "tests/support/mapping_text.h"

namespace rngdsim {

// A placement as a kernel file would write it.
struct PlacementText {
  std::vector<std::pair<std::string, uint64_t>> axes;
  std::string slice, time, packet;
  std::vector<std::string> tracked;
  std::string cluster = "1 # 2";
};

class VcgPlacement {
 public:
  explicit VcgPlacement(const PlacementText& text)
      : texts(std::initializer_list<std::pair<std::string, uint64_t>>{}) {
    for (const auto& [name, size] : text.axes) texts.axes.add(name, size);
    in.chip = texts("1");
    in.cluster = texts(text.cluster);
    in.slice = texts(text.slice);
    in.lane = texts("1");
    in.time = texts(text.time);
    in.packet = texts(text.packet);
    for (const std::string& name : text.tracked) tracked.push_back(*texts.axes.find(name));
  }

  std::optional<VcgConfig> lower() {
    diagnostics = {};
    return lower_vcg(in, tracked, {"kernel.yaml", 7, 3}, {texts.axes, limits, diagnostics});
  }

  // Whether Slice as a whole is padding at s: `[..] # 256`.
  bool slice_is_padding(uint64_t s) const { return outer_padding(in.slice.nodes(), s); }

  // Whether every tracked axis holds an element: the terms that contain it are live, and its index
  // is below its size. Padding of other terms does not count.
  bool holds(uint64_t s, uint64_t t, uint64_t p) const {
    std::vector<std::pair<const Mapping*, uint64_t>> places = {
        {&in.slice, s}, {&in.time, t}, {&in.packet, p}};
    for (const AxisId axis : tracked) {
      uint64_t index = 0;
      for (const auto& [mapping, position] : places) {
        uint64_t step = mapping->size();
        for (const Node& node : mapping->nodes()) {
          step /= node.size;
          if (!contains(node, axis)) continue;
          std::vector<uint64_t> values(texts.axes.count());
          const Mapping term({node});
          if (!term.accumulate(position / step % node.size, values.data())) return false;
          index += values[axis];
        }
      }
      if (index >= texts.axes.size(axis)) return false;
    }
    return true;
  }

  // The number of leading elements of the flit for which that is so.
  uint32_t count(uint64_t s, uint64_t t) const {
    uint32_t p = 0;
    while (p < in.packet.size() && holds(s, t, p)) ++p;
    return p;
  }
  // Whether no element behind those holds data.
  bool is_prefix(uint64_t s, uint64_t t) const {
    for (uint64_t p = count(s, t); p < in.packet.size(); ++p) {
      if (holds(s, t, p)) return false;
    }
    return true;
  }

  MappingTexts texts;
  StreamShape in;
  std::vector<AxisId> tracked;
  MachineLimits limits;
  Diagnostics diagnostics;

 private:
  static bool contains(const Node& node, AxisId axis) {
    if (node.kind == Node::Kind::kDigit) return node.axis == axis;
    for (const Node& inner : node.inner) {
      if (contains(inner, axis)) return true;
    }
    return false;
  }
  static bool outer_padding(const std::vector<Node>& nodes, uint64_t position) {
    if (nodes.empty() || nodes[0].kind != Node::Kind::kPadded) return false;
    const uint64_t at = position / (volume(nodes) / nodes[0].size);
    return at >= volume(nodes[0].inner) || outer_padding(nodes[0].inner, at);
  }
};

}  // namespace rngdsim
