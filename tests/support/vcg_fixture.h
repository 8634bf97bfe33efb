// SPDX-License-Identifier: Apache-2.0
// Valid counts by their definition, and placements from texts.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
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
    for (const AxisId axis : tracked) {
      tables_[axis] = {table(in.slice, axis), table(in.time, axis), table(in.packet, axis)};
    }
  }

  std::optional<VcgConfig> lower() {
    diagnostics = {};
    return lower_vcg(in, tracked, {"kernel.yaml", 7, 3}, {texts.axes, limits, diagnostics});
  }

  // Whether Slice as a whole, or its outermost term, is padding at s: `[..] # 256`.
  bool slice_is_padding(uint64_t s) const {
    return outer_padding(in.slice.nodes(), s) || outer_padding(in.slice.normalized().nodes(), s);
  }

  // Whether every tracked axis holds an element: the terms that contain it are live, and its index
  // is below its size. Padding of other terms does not count.
  bool holds(uint64_t s, uint64_t t, uint64_t p) const {
    return std::all_of(tracked.begin(), tracked.end(),
                       [&](AxisId axis) { return holds(axis, s, t, p); });
  }
  bool holds(AxisId axis, uint64_t s, uint64_t t, uint64_t p) const {
    const Tables& table = tables_.at(axis);
    const int64_t slice = table.slice[s];
    const int64_t time = table.time[t];
    const int64_t packet = table.packet[p];
    return slice >= 0 && time >= 0 && packet >= 0 &&
           static_cast<uint64_t>(slice + time + packet) < texts.axes.size(axis);
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
  // What each position adds to the index of an axis; -1 where a term that contains it is padding.
  struct Tables {
    std::vector<int64_t> slice, time, packet;
  };
  std::vector<int64_t> table(const Mapping& mapping, AxisId axis) const {
    // The normal form says whose the padding of a pair is: `[R, A] # 8 * size(A)` is `R # 8, A`.
    const Mapping normal = mapping.normalized();
    std::vector<int64_t> table;
    for (uint64_t i = 0; i < mapping.size(); ++i) table.push_back(index(normal.nodes(), i, axis));
    return table;
  }
  int64_t index(const std::vector<Node>& nodes, uint64_t position, AxisId axis) const {
    int64_t sum = 0;
    uint64_t step = volume(nodes);
    for (const Node& node : nodes) {
      step /= node.size;
      if (!contains(node, axis)) continue;
      const uint64_t at = position / step % node.size;
      int64_t part = -1;
      if (node.kind == Node::Kind::kPadded) {
        if (at < volume(node.inner)) part = index(node.inner, at, axis);
      } else {
        std::vector<uint64_t> values(texts.axes.count());
        const bool live = Mapping({node}).accumulate(at, values.data());
        if (live) part = static_cast<int64_t>(values[axis]);
      }
      if (part < 0) return -1;
      sum += part;
    }
    return sum;
  }
  static bool contains(const Node& node, AxisId axis) {
    if (node.kind == Node::Kind::kDigit) return node.axis == axis;
    for (const Node& inner : node.inner) {
      if (contains(inner, axis)) return true;
    }
    return false;
  }
  static bool outer_padding(const std::vector<Node>& nodes, uint64_t position) {
    if (nodes.empty()) return false;
    const Node& front = nodes[0];
    const uint64_t at = position / (volume(nodes) / front.size);
    if (front.kind == Node::Kind::kDigit) return at >= front.live;
    if (front.kind != Node::Kind::kPadded) return false;
    return at >= volume(front.inner) || outer_padding(front.inner, at);
  }

  std::map<AxisId, Tables> tables_;
};

}  // namespace rngdsim
