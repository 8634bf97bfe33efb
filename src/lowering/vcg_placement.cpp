// SPDX-License-Identifier: Apache-2.0
#include "lowering/vcg_placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "command/vcg.h"
#include "support/text.h"

namespace rngdsim {
namespace {

using Nodes = std::vector<Node>;

bool contains(const Node& node, AxisId axis) {
  if (node.kind == Node::Kind::kDigit) return node.axis == axis;
  return std::any_of(node.inner.begin(), node.inner.end(),
                     [&](const Node& inner) { return contains(inner, axis); });
}

bool contains(const Nodes& nodes, AxisId axis) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const Node& node) { return contains(node, axis); });
}

Nodes without_outer_padding(Nodes nodes) {
  while (!nodes.empty() && nodes.front().kind == Node::Kind::kPadded) {
    Nodes inner = std::move(nodes.front().inner);
    inner.insert(inner.end(), nodes.begin() + 1, nodes.end());
    nodes = std::move(inner);
  }
  return nodes;
}

// Whatever the kind of padding: a count tells data from all else.
Mapping with_one_padding(const Nodes& nodes) {
  Mapping result;
  for (Node node : nodes) {
    node.pad = PadKind::kTop;
    const Mapping term = node.kind == Node::Kind::kPadded
                             ? with_one_padding(node.inner).pad(node.size, PadKind::kTop)
                             : Mapping({std::move(node)});
    result = Mapping::concat({result, term});
  }
  return result;
}

// A digit and where it lies.
struct Digit {
  VcgDimension dimension;
  Node node;
  uint64_t step;
  uint64_t size;
  bool outermost_slice;  // the first term of Slice: where it is padding the slice is

  // Whether positions are padding though the axis has their index.
  bool own_padding() const {
    return node.live < node.size && node.live < (node.axis_size - 1) / node.stride + 1;
  }
};

class PlacementReader {
 public:
  PlacementReader(const StreamShape& in, AxisId axis, const AxisTable& axes)
      : in_(in), axis_(axis), axes_(axes) {
    result_.axis = axis;
  }

  std::optional<VcgAxis> read() {
    const Nodes slice = vcg_slice_terms(in_.slice);
    const Nodes time = vcg_time_terms(in_.time, axis_);
    const Nodes packet = with_one_padding(in_.packet.nodes()).normalized().nodes();
    const std::vector<std::pair<const char*, const Mapping*>> outside = {
        {"Chip", &in_.chip}, {"Cluster", &in_.cluster}, {"Lane", &in_.lane}};
    for (const auto& part : outside) judge(part.second->nodes());
    judge_slice(slice);
    for (const Nodes* nodes : {&time, &packet}) judge(*nodes);
    const bool padded = padded_ || reach_ >= axes_.size(axis_);
    if (axes_.size(axis_) == 1 && check_one_element(slice, time, packet)) return result_;
    if (!padded && !slices_padded_) return std::nullopt;
    result_.needed = padded;

    for (const auto& [dimension, mapping] : outside) check_outside(dimension, *mapping);
    collect(slice, VcgDimension::kSlice, in_.slice);
    collect(time, VcgDimension::kTime, in_.time);
    check_packet(packet);
    collect(packet, VcgDimension::kPacket, in_.packet);
    if (readable_) rank();
    return std::move(result_);
  }

 private:
  void fault(VcgRestriction restriction, std::string figures, std::string hint) {
    result_.faults.push_back({restriction, std::move(figures), std::move(hint)});
  }

  // Whether any position of the axis is padding: one of a digit, or an index beyond the axis.
  void judge(const Nodes& nodes) {
    for (const Node& node : nodes) {
      if (node.kind == Node::Kind::kDigit && node.axis == axis_) {
        if (node.live < node.size) padded_ = true;
        reach_ += (node.live - 1) * node.stride;
      } else if (contains(node, axis_)) {
        if (node.kind == Node::Kind::kPadded) padded_ = true;
        judge(node.inner);
      }
    }
  }

  void judge_slice(Nodes nodes) {
    if (!nodes.empty() && nodes.front().kind == Node::Kind::kDigit && nodes.front().axis == axis_ &&
        nodes.front().live < nodes.front().size) {
      slices_padded_ = true;
      nodes.front().size = nodes.front().live;
    }
    judge(nodes);
  }

  // Of an axis of one element a mapping keeps no digit: `R # 8` is `1 # 8`, of nothing.
  bool check_one_element(Nodes slice, const Nodes& time, const Nodes& packet) {
    if (!slice.empty()) slice.erase(slice.begin());  // padding there has no elements
    const std::vector<std::pair<VcgDimension, const Nodes*>> dimensions = {
        {VcgDimension::kSlice, &slice},
        {VcgDimension::kTime, &time},
        {VcgDimension::kPacket, &packet}};
    for (const auto& [dimension, nodes] : dimensions) {
      const Node* padding = pure_padding(*nodes);
      if (padding == nullptr) continue;
      fault(VcgRestriction::kOneElement,
            fmt::format("'{}' in {} may be {} # {} or padding of nothing; a mapping does not tell",
                        Mapping({*padding}).text(axes_), name(dimension), axes_.name(axis_),
                        padding->size),
            fmt::format("leave the padding of {} out, or track an axis of more elements",
                        axes_.name(axis_)));
    }
    return !result_.faults.empty();
  }

  static const Node* pure_padding(const Nodes& nodes) {
    for (const Node& node : nodes) {
      if (node.kind == Node::Kind::kBroadcast && node.live == 1) return &node;
      if (const Node* inner = pure_padding(node.inner)) return inner;
    }
    return nullptr;
  }

  void check_outside(const char* dimension, const Mapping& mapping) {
    if (!contains(mapping.nodes(), axis_)) return;
    readable_ = false;
    fault(VcgRestriction::kOutside,
          fmt::format("{} '{}' holds a part of it; a count depends on the slice in its cluster "
                      "and the time step alone",
                      dimension, mapping.text(axes_)),
          "place the axis in Slice, Time and Packet, or choose a size that needs no padding");
  }

  // Packet must be [one part # 8].
  void check_packet(const Nodes& nodes) {
    if (!contains(nodes, axis_)) return;
    size_t parts = 0;
    std::vector<std::string> others;
    count_parts(nodes, parts, others);
    const std::string text = in_.packet.text(axes_);
    if (!others.empty()) {
      fault(VcgRestriction::kSharedPacket,
            fmt::format("Packet '{}' holds {} beside it; the elements of a flit that hold data "
                        "must be its leading ones",
                        text, listed(others)),
            fmt::format("move the other part to Time: Packet is [{} # PADDED % packet_span # {}]",
                        axes_.name(axis_), kVcgFlitElements));
    }
    if (parts > 1) {
      fault(VcgRestriction::kSplitPacket,
            fmt::format("Packet '{}' holds {} parts of it; 1 is possible", text, parts),
            fmt::format("keep the most minor one: Packet is [{} # PADDED % packet_span # {}]",
                        axes_.name(axis_), kVcgFlitElements));
    }
  }

  void count_parts(const Nodes& nodes, size_t& parts, std::vector<std::string>& others) const {
    for (const Node& node : nodes) {
      if (node.kind == Node::Kind::kDigit && node.axis == axis_) {
        ++parts;
      } else if (contains(node, axis_)) {
        count_parts(node.inner, parts, others);
      } else {
        others.push_back(Mapping({node}).text(axes_));
      }
    }
  }

  void collect(const Nodes& nodes, VcgDimension dimension, const Mapping& written) {
    uint64_t step = 1;
    for (size_t i = nodes.size(); i-- > 0;) {
      const Node& node = nodes[i];
      if (node.kind == Node::Kind::kDigit && node.axis == axis_) {
        const bool outermost = dimension == VcgDimension::kSlice && i == 0;
        digits_.push_back({dimension, node, step, node.size, outermost});
      } else if (contains(node, axis_)) {
        check_group(node, dimension, written);
      }
      step *= node.size;
    }
  }

  void check_group(const Node& node, VcgDimension dimension, const Mapping& written) {
    readable_ = false;
    const std::string text = Mapping({node}).text(axes_);
    if (node.kind == Node::Kind::kPadded) {
      fault(VcgRestriction::kPaddedTogether,
            fmt::format("'{}' in {} '{}' pads {} positions to {} across several terms", text,
                        name(dimension), written.text(axes_), volume(node.inner), node.size),
            fmt::format("pad {} by itself: {} # n", axes_.name(axis_), axes_.name(axis_)));
    } else {
      fault(VcgRestriction::kCut,
            fmt::format("'{}' in {} '{}' cuts through a pair; its {} positions are no digit of "
                        "the axis",
                        text, name(dimension), written.text(axes_), node.size),
            "divide and take remainders at the boundaries of axes");
    }
  }

  // Sizes, strides, numbers of elements and positions. Without overlap a larger index has a larger
  // rank, so the elements are the first ranks, unless a minor part is padding at an index that
  // exists.
  void rank() {
    std::stable_sort(digits_.begin(), digits_.end(),
                     [](const Digit& a, const Digit& b) { return a.node.stride > b.node.stride; });
    Nodes nodes;
    for (const Digit& digit : digits_) nodes.push_back(digit.node);
    const Mapping all(std::move(nodes));
    result_.elements = count_live({&all}, axes_);
    set_sizes();
    uint64_t stride = 1;
    for (size_t i = digits_.size(); i-- > 0;) {
      const Digit& digit = digits_[i];
      result_.parts.push_back({digit.dimension, term(digit), digit.size, stride, digit.step});
      stride *= digit.size;
    }
    result_.padded = stride;
    std::reverse(result_.parts.begin(), result_.parts.end());
    check_packet_stride();
  }

  // The positions of each digit without those that only fill up the flit or the slices.
  void set_sizes() {
    bool more_major = false;  // a part with several live values
    for (size_t i = 0; i < digits_.size(); ++i) {
      Digit& digit = digits_[i];
      if (i > 0 && (digit.dimension == VcgDimension::kPacket || digit.outermost_slice)) {
        // `R # 16 % 4 # 8` has four.
        if (digit.own_padding()) digit.size = digit.node.live;
        digit.size = std::min(digit.size, digits_[i - 1].node.stride / digit.node.stride);
      } else if (more_major && digit.own_padding()) {
        fault(VcgRestriction::kPaddedPart,
              fmt::format("{} in {} is padded from {} to {} positions below a more major part, "
                          "so the elements are not the first of all positions",
                          Mapping({digit.node}).text(axes_), name(digit.dimension), digit.node.live,
                          digit.node.size),
              "pad the axis, then divide it: R # PADDED / n % m");
      }
      more_major = more_major || digit.node.live > 1;
    }
  }

  void check_packet_stride() {
    const auto in_packet = [](const VcgPart& part) {
      return part.dimension == VcgDimension::kPacket;
    };
    const auto& parts = result_.parts;
    const auto major = std::find_if(parts.begin(), parts.end(), in_packet);
    const auto minor = std::find_if_not(parts.rbegin(), parts.rend(), in_packet);
    if (major == parts.end() || minor == parts.rend() || minor->stride > major->stride) return;
    fault(
        VcgRestriction::kMajorInPacket,
        fmt::format("{} (stride {}) lies in Packet, {} (stride {}) in {}; a flit must hold "
                    "consecutive indices",
                    major->term, major->stride, minor->term, minor->stride, name(minor->dimension)),
        fmt::format("the part of stride 1 belongs into Packet: [{} # PADDED % packet_span # {}]",
                    axes_.name(axis_), kVcgFlitElements));
  }

  // `R # 16 / 4 % 2` with the padding of the whole axis, where its parts read as such.
  std::string term(const Digit& digit) const {
    const Node& node = digit.node;
    const bool is_top = &digit == &digits_.front();
    const uint64_t padded = digits_.front().node.stride * written_size(digits_.front());
    const uint64_t span = is_top ? padded : node.stride * digit.size;
    if (padded < node.axis_size || padded % span != 0) return Mapping({node}).text(axes_);
    std::string text = axes_.name(axis_);
    if (padded > node.axis_size) text += fmt::format(" {} {}", symbol(kind()), padded);
    if (node.stride > 1) text += fmt::format(" / {}", node.stride);
    if (span < padded) text += fmt::format(" % {}", digit.size);
    if (digit.size < node.size && digit.dimension == VcgDimension::kPacket) {
      text += fmt::format(" {} {}", symbol(kind()), node.size);
    }
    return text;
  }

  // Positions of the most major part before Slice was filled up to all slices: `R # 16 / 8` has 2
  // in `[R # 16 / 8, X] # 256`.
  uint64_t written_size(const Digit& top) const {
    const Node& node = top.node;
    if (!top.outermost_slice || in_.slice.nodes().empty()) return node.size;
    const Nodes written = without_outer_padding(in_.slice.nodes());
    const Node& front = written.front();
    const bool same =
        front.kind == Node::Kind::kDigit && front.axis == axis_ && front.stride == node.stride;
    if (same && (written.size() > 1 || front.size < node.size)) return front.size;
    uint64_t size = 1;  // one term: what fills Slice up is part of it
    while (size < node.live) size *= 2;
    return std::min(size, node.size);
  }

  PadKind kind() const {
    for (const Digit& digit : digits_) {
      if (digit.node.padded) return digit.node.pad;
    }
    return PadKind::kTop;
  }

  const StreamShape& in_;
  const AxisId axis_;
  const AxisTable& axes_;
  bool padded_ = false;         // in a slice with elements
  bool slices_padded_ = false;  // slices without any
  bool readable_ = true;        // all parts are digits in Slice, Time and Packet
  uint64_t reach_ = 0;          // largest index
  std::vector<Digit> digits_;
  VcgAxis result_;
};

}  // namespace

const char* name(VcgRestriction restriction) {
  switch (restriction) {
    case VcgRestriction::kSliceOrder:
      return "slice parts out of order";
    case VcgRestriction::kInterleaved:
      return "slice and time parts interleaved";
    case VcgRestriction::kOverPadded:
      return "over-padded TimeMajor";
    case VcgRestriction::kPowerOfTwo:
      return "slice part that is no power of two";
    case VcgRestriction::kMajorInPacket:
      return "major part in Packet";
    case VcgRestriction::kSharedPacket:
      return "shared Packet";
    case VcgRestriction::kSplitPacket:
      return "several parts in Packet";
    case VcgRestriction::kSliceAndPacket:
      return "Slice with Packet";
    case VcgRestriction::kTimeFilters:
      return "too many time filters";
    case VcgRestriction::kPacketClipper:
      return "two axes in Packet";
    case VcgRestriction::kAxes:
      return "too many axes";
    case VcgRestriction::kOutside:
      return "part outside of the cluster's slices";
    case VcgRestriction::kPaddedTogether:
      return "padded together with other terms";
    case VcgRestriction::kCut:
      return "cut through a pair";
    case VcgRestriction::kPaddedPart:
      return "minor part padded by itself";
    case VcgRestriction::kOneElement:
      return "padded axis of one element";
    case VcgRestriction::kEntries:
      return "too many sequencer entries";
    case VcgRestriction::kIterations:
      return "too many iterations";
    case VcgRestriction::kRange:
      return "beyond 32 bits";
    case VcgRestriction::kFlit:
      return "Packet is no flit";
  }
  return "";
}

const char* name(VcgDimension dimension) {
  switch (dimension) {
    case VcgDimension::kSlice:
      return "Slice";
    case VcgDimension::kTime:
      return "Time";
    case VcgDimension::kPacket:
      return "Packet";
  }
  return "";
}

std::vector<VcgPart> VcgAxis::in(VcgDimension dimension) const {
  std::vector<VcgPart> found;
  std::copy_if(parts.begin(), parts.end(), std::back_inserter(found),
               [&](const VcgPart& part) { return part.dimension == dimension; });
  std::stable_sort(found.begin(), found.end(),
                   [](const VcgPart& a, const VcgPart& b) { return a.step > b.step; });
  return found;
}

std::vector<Node> vcg_slice_terms(const Mapping& slice) {
  return without_outer_padding(slice.normalized().nodes());
}

uint64_t vcg_written_slices(const Mapping& slice) {
  return volume(without_outer_padding(slice.nodes()));
}

std::vector<Node> vcg_time_terms(const Mapping& time, AxisId axis) {
  Nodes terms;
  for (const Node& node : time.nodes()) {
    const bool composite = node.kind != Node::Kind::kDigit && contains(node, axis);
    const Nodes parts = composite ? Mapping({node}).normalized().nodes() : Nodes{node};
    terms.insert(terms.end(), parts.begin(), parts.end());
  }
  return terms;
}

std::optional<VcgAxis> place_vcg_axis(const StreamShape& in, AxisId axis, const AxisTable& axes) {
  return PlacementReader(in, axis, axes).read();
}

}  // namespace rngdsim
