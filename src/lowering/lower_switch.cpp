// SPDX-License-Identifier: Apache-2.0
#include "lowering/lower_switch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "support/input_limits.h"
#include "support/text.h"

namespace rngdsim {
namespace {

constexpr uint64_t kPacketStep = 8;  // bytes; a packet that enters is a multiple of these [B]

bool is_power_of_two(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

SwitchKind parse_switch_kind(const std::string& text) {
  for (const SwitchKind kind :
       {SwitchKind::kForward, SwitchKind::kBroadcast01, SwitchKind::kBroadcast1,
        SwitchKind::kTranspose, SwitchKind::kInterTranspose, SwitchKind::kTransposedBroadcast1}) {
    if (text == name(kind)) return kind;
  }
  return SwitchKind::kCustomBroadcast;
}

bool has_slices(SwitchKind kind) {
  return kind != SwitchKind::kForward && kind != SwitchKind::kCustomBroadcast;
}
bool has_time0(SwitchKind kind) {
  return kind == SwitchKind::kBroadcast01 || kind == SwitchKind::kInterTranspose;
}

// The sizes of a regular kind.
struct SwitchSizes {
  uint64_t slice1 = 1, slice0 = 1, time0 = 1;
  uint64_t ring() const { return slice1 * slice0; }
};

// One of the three parts of OutSlice, outermost first.
struct SlicePart {
  const char* name;  // of what the kind puts there
  uint64_t size;
  std::optional<Mapping> mapping;  // none: a new broadcast axis
};

// A regular kind with all of its sizes.
class RegularSwitch {
 public:
  RegularSwitch(SwitchKind kind, const SwitchSizes& sizes, const StreamShape& in,
                const SwitchStage& stage, const LowerScope& scope)
      : kind_(kind), sizes_(sizes), in_(in), stage_(stage), scope_(scope) {}

  std::optional<SwitchForm> lower() {
    if (!cut_slice() || !cut_time()) return std::nullopt;
    const auto slice = out_slice();
    const auto time = agreed(stage_.time, Mapping::concat(out_time()), "switch", "OutTime", scope_);
    if (!slice || !time) return std::nullopt;
    form_.slice = *slice;
    form_.time = *time;
    set_config();
    return std::move(form_);
  }

 private:
  bool error(const SourceLocation& where, const std::string& message,
             const std::string& hint = "") const {
    return switch_error(scope_, where, message, hint);
  }
  std::string text(const Mapping& mapping) const { return "'" + scope_.text(mapping) + "'"; }
  SourceLocation where_of(const std::optional<Located<uint64_t>>& size) const {
    return size ? size->where : stage_.where;
  }

  bool cut_slice() {
    const uint64_t slices = in_.slice.size();
    if (slices % sizes_.ring() != 0) {
      return error(
          where_of(stage_.decl.slice1),
          fmt::format("slice1 x slice0 = {} x {} = {} slices, but Slice {} has {}", sizes_.slice1,
                      sizes_.slice0, sizes_.ring(), text(in_.slice), slices),
          "slice2 is what is left of Slice: at least 1");
    }
    if (kind_ == SwitchKind::kInterTranspose && slices != scope_.limits.slices) {
      return error(stage_.where,
                   fmt::format("inter_transpose takes all {} slices of a cluster, but Slice {} has "
                               "{}",
                               scope_.limits.slices, text(in_.slice), slices),
                   fmt::format("pad it: # {}", scope_.limits.slices));
    }
    const Mapping from = without_promises(in_.slice);
    const auto outer = divide(from, sizes_.ring(), scope_);
    const auto inner = outer ? divide(outer->second, sizes_.slice0, scope_) : std::nullopt;
    if (!inner) {
      return error(
          stage_.where,
          fmt::format("Slice {} cannot be cut into slice2, slice1 and slice0 of {}, {} "
                      "and {} positions",
                      text(in_.slice), slices / sizes_.ring(), sizes_.slice1, sizes_.slice0),
          "cut it between its terms, or inside of one digit");
    }
    slice2_ = outer->first;
    slice1_ = inner->first;
    slice0_ = inner->second;
    return true;
  }

  // The innermost part of Time that a round covers: [time1, time0] or time0.
  bool cut_time() {
    const bool inter = kind_ == SwitchKind::kInterTranspose;
    form_.config.round_in = has_time0(kind_) ? sizes_.time0 * (inter ? sizes_.slice1 : 1) : 1;
    const uint64_t round = form_.config.round_in;
    if (round > kMaxSwitchRoundFlits) {  // before anything is made of that size
      return error(where_of(stage_.decl.time0),
                   fmt::format("a round is {} packets of each slice; at most {} are simulated",
                               group_digits(round), group_digits(kMaxSwitchRoundFlits)),
                   kLimitHint);
    }
    if (in_.time.size() % round != 0) {
      return error(
          where_of(stage_.decl.time0),
          inter ? fmt::format("slice1 x time0 = {} x {} = {} does not divide Time {} of {} "
                              "positions",
                              sizes_.slice1, sizes_.time0, round, text(in_.time),
                              group_digits(in_.time.size()))
                : fmt::format("time0 = {} does not divide Time {} of {} positions", sizes_.time0,
                              text(in_.time), group_digits(in_.time.size())),
          inter ? "time1 has as many positions as slice1, and time2 those that are left" : "");
    }
    const auto outer = round == 1 ? std::optional(std::pair{in_.time, Mapping()})
                                  : divide(in_.time, round, scope_);
    const auto inner = outer ? divided(outer->second, sizes_.time0) : std::nullopt;
    if (!inner) {
      return error(stage_.where,
                   fmt::format("Time {} cannot be cut at its innermost {} and {} positions",
                               text(in_.time), round, sizes_.time0),
                   "cut it between its terms, or inside of one digit");
    }
    time_outer_ = outer->first;
    time1_ = inner->first;
    time0_ = inner->second;
    return true;
  }
  std::optional<std::pair<Mapping, Mapping>> divided(const Mapping& mapping, uint64_t inner) const {
    if (inner == 1) return std::pair{mapping, Mapping()};
    return divide(mapping, inner, scope_);
  }

  std::vector<Mapping> out_time() const {
    switch (kind_) {
      case SwitchKind::kBroadcast01:
        return {time_outer_, slice1_, time0_, slice0_};
      case SwitchKind::kBroadcast1:
        return {time_outer_, slice1_};
      case SwitchKind::kInterTranspose:
        return {time_outer_, time0_, slice1_};
      case SwitchKind::kTransposedBroadcast1:
        return {time_outer_, slice0_};
      default:
        return {time_outer_};
    }
  }

  std::array<SlicePart, 3> slice_parts() const {
    const uint64_t size1 = sizes_.slice1, size0 = sizes_.slice0;
    const SlicePart outer{"slice2", slice2_.size(), slice2_};
    switch (kind_) {
      case SwitchKind::kBroadcast01:
        return {outer, SlicePart{"X", size1, {}}, SlicePart{"Y", size0, {}}};
      case SwitchKind::kBroadcast1:
        return {outer, SlicePart{"X", size1, {}}, SlicePart{"slice0", size0, slice0_}};
      case SwitchKind::kInterTranspose:
        return {outer, SlicePart{"time1", size1, time1_}, SlicePart{"slice0", size0, slice0_}};
      case SwitchKind::kTransposedBroadcast1:
        return {outer, SlicePart{"Y", size0, {}}, SlicePart{"slice1", size1, slice1_}};
      default:
        return {outer, SlicePart{"slice0", size0, slice0_}, SlicePart{"slice1", size1, slice1_}};
    }
  }

  std::optional<Mapping> out_slice() const {
    const std::array<SlicePart, 3> parts = slice_parts();
    if (!stage_.slice) {
      std::vector<Mapping> made;
      for (const SlicePart& part : parts) {
        made.push_back(part.mapping ? *part.mapping : Mapping::broadcast(part.size));
      }
      return Mapping::concat(made);
    }
    const auto outer = divided(stage_.slice->mapping, parts[1].size * parts[2].size);
    const auto inner = outer ? divided(outer->second, parts[2].size) : std::nullopt;
    if (!inner) {
      error(stage_.slice->where,
            fmt::format("OutSlice {} cannot be cut into {}, {} and {} of {}, {} and {} positions",
                        text(stage_.slice->mapping), parts[0].name, parts[1].name, parts[2].name,
                        parts[0].size, parts[1].size, parts[2].size));
      return std::nullopt;
    }
    const std::array<Mapping, 3> given = {outer->first, inner->first, inner->second};
    std::vector<Mapping> known;
    bool good = true;
    for (size_t i = 0; i < given.size(); ++i) {
      good = check_part(parts[i], given[i]) && good;
      known.push_back(parts[i].mapping ? *parts[i].mapping : without_promises(given[i]));
    }
    if (!good ||
        !promises_no_zero(*stage_.slice, Mapping::concat(known), "switch", "OutSlice", scope_)) {
      return std::nullopt;
    }
    return stage_.slice->mapping;
  }

  bool check_part(const SlicePart& part, const Mapping& given) const {
    if (!part.mapping) {
      bool good = true;
      for (const AxisId axis : axes_of({&given}, scope_.axes)) {
        good = check_new_axis(in_, axis, stage_.slice->where, scope_) && good;
      }
      return good;
    }
    if (scope_.same(*part.mapping, given)) return true;
    return error(stage_.slice->where,
                 fmt::format("{} puts {} = {} of {} positions where OutSlice {} has {}",
                             name(kind_), part.name, text(*part.mapping), part.size,
                             text(stage_.slice->mapping), text(given)));
  }

  void set_config() {
    SwitchConfig& config = form_.config;
    config.ring_size = sizes_.ring();
    config.slice1 = sizes_.slice1;
    config.slice0 = sizes_.slice0;
    config.time0 = has_time0(kind_) ? sizes_.time0 : 1;
    config.round_out = 1;
    for (const Mapping& part : out_time()) config.round_out *= part.size();
    config.round_out /= time_outer_.size();
    set_slots();
    config.snoop.resize(config.ring_size);
    for (uint32_t router = 0; router < config.ring_size; ++router) set_snoop(router);
    if (kind_ != SwitchKind::kInterTranspose) return;
    for (uint64_t packet = 0; packet < config.round_in; ++packet) {
      config.packet_digit.push_back(static_cast<uint32_t>(packet / sizes_.time0));
    }
    for (uint64_t router = 0; router < config.ring_size; ++router) {
      config.router_digit.push_back(static_cast<uint32_t>(router / sizes_.slice0));
    }
  }

  // Where in the round's part of OutTime a packet goes: the strides of slice1, slice0 and time0.
  void set_slots() {
    SwitchConfig& config = form_.config;
    uint64_t stride1 = 0, stride0 = 0, stride_time = 0;
    switch (kind_) {
      case SwitchKind::kBroadcast01:  // slice1, time0, slice0
        stride1 = sizes_.time0 * sizes_.slice0;
        stride_time = sizes_.slice0;
        stride0 = 1;
        break;
      case SwitchKind::kBroadcast1:
        stride1 = 1;
        break;
      case SwitchKind::kInterTranspose:  // time0, slice1
        stride_time = sizes_.slice1;
        stride1 = 1;
        break;
      case SwitchKind::kTransposedBroadcast1:
        stride0 = 1;
        break;
      default:
        break;
    }
    for (uint64_t source = 0; source < config.ring_size; ++source) {
      config.source_slot.push_back(source / sizes_.slice0 * stride1 +
                                   source % sizes_.slice0 * stride0);
    }
    for (uint64_t packet = 0; packet < config.round_in; ++packet) {
      config.packet_slot.push_back(packet % sizes_.time0 * stride_time);
    }
  }

  // A router takes what its place in OutSlice asks for: all sources along an axis that moves to
  // Time, one along an axis that stays in Slice.
  void set_snoop(uint32_t router) {
    const uint64_t size1 = sizes_.slice1, size0 = sizes_.slice0;
    std::optional<uint64_t> only1, only0;
    switch (kind_) {
      case SwitchKind::kBroadcast1:
      case SwitchKind::kInterTranspose:
        only0 = router % size0;
        break;
      case SwitchKind::kTranspose:
        only0 = router / size1;
        only1 = router % size1;
        break;
      case SwitchKind::kTransposedBroadcast1:
        only1 = router % size1;
        break;
      default:
        break;
    }
    for (uint64_t source = 0; source < size1 * size0; ++source) {
      if (only1 && source / size0 != *only1) continue;
      if (only0 && source % size0 != *only0) continue;
      form_.config.snoop[router].push_back(static_cast<uint32_t>(source));
    }
  }

  SwitchKind kind_;
  SwitchSizes sizes_;
  const StreamShape& in_;
  const SwitchStage& stage_;
  const LowerScope& scope_;
  SwitchForm form_;
  Mapping slice2_, slice1_, slice0_;
  Mapping time_outer_, time1_, time0_;  // time1_: inter_transpose
};

class SwitchLowering {
 public:
  SwitchLowering(const StreamShape& in, const SwitchStage& stage, const LowerScope& scope)
      : in_(in), stage_(stage), scope_(scope), kind_(parse_switch_kind(stage.decl.kind->value)) {}

  std::optional<LoweredStage<SwitchConfig>> run() {
    const bool packet = check_packet();
    if (!check_sizes() || !check_out_size() || !packet) return std::nullopt;
    std::optional<SwitchForm> form;
    if (kind_ == SwitchKind::kForward) {
      form = forward();
    } else if (kind_ == SwitchKind::kCustomBroadcast) {
      form = lower_custom_switch(in_, stage_, scope_);
    } else if (const auto sizes = find_sizes()) {
      form = RegularSwitch(kind_, *sizes, in_, stage_, scope_).lower();
    }
    if (!form) return std::nullopt;
    LoweredStage<SwitchConfig> result{form->config, in_};
    result.after.slice = form->slice;
    result.after.time = form->time;
    return fill(result.config) ? std::optional(result) : std::nullopt;
  }

 private:
  bool error(const SourceLocation& where, const std::string& message,
             const std::string& hint = "") const {
    return switch_error(scope_, where, message, hint);
  }
  std::string text(const Mapping& mapping) const { return "'" + scope_.text(mapping) + "'"; }

  bool check_packet() const {
    const uint64_t bits = in_.packet.size() * static_cast<uint64_t>(memory_bits(in_.dtype));
    if (bits % (8 * kPacketStep) == 0) return true;
    return error(stage_.where,
                 fmt::format("a packet must be a multiple of {} bytes; {} is {}", kPacketStep,
                             text(in_.packet), bytes_text(in_.dtype, in_.packet.size())),
                 "pad the fetched packet, e.g. # 8 of a 1-byte type");
  }

  // Each size by itself.
  bool check_sizes() const {
    const SwitchDecl& decl = stage_.decl;
    struct Given {
      const char* name;
      const std::optional<Located<uint64_t>>& size;
      bool wanted, power;
    };
    const bool slices = has_slices(kind_);
    const Given all[] = {{"slice1", decl.slice1, slices, true},
                         {"slice0", decl.slice0, slices, true},
                         {"time0", decl.time0, has_time0(kind_), false},
                         {"ring_size", decl.ring_size, true, true}};
    bool good = true;
    for (const Given& given : all) {
      if (!given.size) continue;
      const uint64_t size = given.size->value;
      const SourceLocation& where = given.size->where;
      if (!given.wanted) {
        good = error(where, fmt::format("{} has no {}", name(kind_), given.name));
      } else if (size == 0) {
        good = error(where, fmt::format("{} is 0; it must be at least 1", given.name));
      } else if (given.power && !is_power_of_two(size)) {
        good = error(where, fmt::format("{} is {}; it must be a power of two", given.name,
                                        group_digits(size)));
      } else if (given.power && size > scope_.limits.slices) {
        good = error(where, fmt::format("{} is {}; a cluster has {} slices", given.name,
                                        group_digits(size), scope_.limits.slices));
      }
    }
    return good && check_ring();
  }

  // ring_size of a regular kind follows from the others.
  bool check_ring() const {
    const SwitchDecl& decl = stage_.decl;
    if (!decl.ring_size || kind_ == SwitchKind::kCustomBroadcast) return true;
    const uint64_t ring = decl.ring_size->value;
    if (kind_ == SwitchKind::kForward && ring != 1) {
      return error(decl.ring_size->where,
                   fmt::format("ring_size is {}, but forward has a ring of 1", ring));
    }
    if (has_slices(kind_) && decl.slice1 && decl.slice0 &&
        ring != decl.slice1->value * decl.slice0->value) {
      return error(decl.ring_size->where,
                   fmt::format("ring_size is {}, but slice1 x slice0 is {} x {} = {}", ring,
                               decl.slice1->value, decl.slice0->value,
                               decl.slice1->value * decl.slice0->value),
                   "leave ring_size out");
    }
    return true;
  }

  bool check_out_size() const {
    if (!stage_.slice || stage_.slice->mapping.size() == in_.slice.size()) return true;
    const Mapping& out = stage_.slice->mapping;
    return error(stage_.slice->where,
                 fmt::format("OutSlice {} has {} positions, Slice {} has {}", text(out),
                             group_digits(out.size()), text(in_.slice), in_.slice.size()),
                 "a switch keeps the number of slices");
  }

  std::optional<SwitchForm> forward() const {
    const auto slice = agreed(stage_.slice, in_.slice, "switch", "OutSlice", scope_);
    const auto time = agreed(stage_.time, in_.time, "switch", "OutTime", scope_);
    if (!slice || !time) return std::nullopt;
    SwitchForm form;
    form.slice = *slice;
    form.time = *time;
    form.config.snoop = {{0}};
    form.config.source_slot = form.config.packet_slot = {0};
    return form;
  }

  // ---- Sizes that are not given -----------------------------------------------------------------

  std::optional<SwitchSizes> find_sizes() const {
    const SwitchDecl& decl = stage_.decl;
    if (decl.slice1 && decl.slice0 && (decl.time0 || !has_time0(kind_))) {
      return SwitchSizes{decl.slice1->value, decl.slice0->value,
                         decl.time0 ? decl.time0->value : 1};
    }
    std::vector<SwitchSizes> fitting;
    for (const SwitchSizes& sizes : candidates()) {
      Diagnostics unheard;
      const LowerScope quiet{scope_.axes, scope_.limits, unheard};
      if (RegularSwitch(kind_, sizes, in_, stage_, quiet).lower()) fitting.push_back(sizes);
      if (fitting.size() > 1) break;
    }
    if (fitting.size() == 1) return fitting.front();
    const std::string keys = has_time0(kind_) ? "slice1, slice0 and time0" : "slice1 and slice0";
    const std::string out = fmt::format("OutSlice {} and OutTime {}", given_text(stage_.slice),
                                        given_text(stage_.time));
    error(stage_.where,
          fitting.empty() ? fmt::format("no {} make {} of Slice {} and Time {} as {} does", keys,
                                        out, text(in_.slice), text(in_.time), name(kind_))
                          : fmt::format("more than one choice of {} fits {}: {}, or {}", keys, out,
                                        sizes_text(fitting[0]), sizes_text(fitting[1])),
          fitting.empty() ? fmt::format("give {}: then what differs is named", keys)
                          : fmt::format("give {}", keys));
    return std::nullopt;
  }
  std::string given_text(const std::optional<Declared>& declared) const {
    return declared ? text(declared->mapping) : "(not given)";
  }
  std::string sizes_text(const SwitchSizes& sizes) const {
    return fmt::format("slice1 {}, slice0 {}", sizes.slice1, sizes.slice0) +
           (has_time0(kind_) ? fmt::format(", time0 {}", sizes.time0) : "");
  }

  // All choices that agree with what is given and with the sizes of Slice, Time and OutTime.
  std::vector<SwitchSizes> candidates() const {
    const SwitchDecl& decl = stage_.decl;
    std::vector<SwitchSizes> all;
    const std::vector<uint64_t> times = time0_candidates();
    for (uint64_t slice1 = 1; slice1 <= in_.slice.size(); slice1 *= 2) {
      for (uint64_t slice0 = 1; slice1 * slice0 <= in_.slice.size(); slice0 *= 2) {
        if (decl.slice1 && decl.slice1->value != slice1) continue;
        if (decl.slice0 && decl.slice0->value != slice0) continue;
        if (decl.ring_size && decl.ring_size->value != slice1 * slice0) continue;
        if (stage_.time && stage_.time->mapping.size() != in_.time.size() * growth(slice1, slice0))
          continue;
        for (const uint64_t time0 : times) all.push_back({slice1, slice0, time0});
      }
    }
    return all;
  }
  // By how much Time becomes longer.
  uint64_t growth(uint64_t slice1, uint64_t slice0) const {
    switch (kind_) {
      case SwitchKind::kBroadcast01:
        return slice1 * slice0;
      case SwitchKind::kBroadcast1:
        return slice1;
      case SwitchKind::kTransposedBroadcast1:
        return slice0;
      default:
        return 1;
    }
  }
  // Larger rounds are refused anyway.
  std::vector<uint64_t> time0_candidates() const {
    if (!has_time0(kind_)) return {1};
    if (stage_.decl.time0) return {stage_.decl.time0->value};
    std::vector<uint64_t> divisors;
    for (uint64_t n = 1; n <= std::min(in_.time.size(), kMaxSwitchRoundFlits); ++n) {
      if (in_.time.size() % n == 0) divisors.push_back(n);
    }
    return divisors;
  }

  // ---- What every switch has --------------------------------------------------------------------

  bool fill(SwitchConfig& config) const {
    const auto bits = static_cast<uint64_t>(memory_bits(in_.dtype));
    config.kind = kind_;
    config.dtype = in_.dtype;
    config.packet_elements = in_.packet.size();
    config.flit_elements = scope_.limits.flit_bytes * 8 / bits;
    config.flits_per_packet =
        (config.packet_elements + config.flit_elements - 1) / config.flit_elements;
    config.packets = in_.time.size();
    config.flits = config.rounds() * config.round_out * config.flits_per_packet;
    if (config.round_out * config.flits_per_packet <= kMaxSwitchRoundFlits) return true;
    return error(stage_.where,
                 fmt::format("a router puts {} packets of {} flits together in a round; at most {} "
                             "flits are simulated",
                             group_digits(config.round_out), config.flits_per_packet,
                             group_digits(kMaxSwitchRoundFlits)),
                 kLimitHint);
  }

  const StreamShape& in_;
  const SwitchStage& stage_;
  const LowerScope& scope_;
  SwitchKind kind_;
};

void drop_promises(std::vector<Node>& nodes) {
  for (Node& node : nodes) {
    node.pad = PadKind::kTop;
    drop_promises(node.inner);
  }
}

}  // namespace

bool switch_error(const LowerScope& scope, const SourceLocation& where, const std::string& message,
                  const std::string& hint) {
  scope.diagnostics.error(where, "switch: " + message, hint);
  return false;
}

bool check_new_axis(const StreamShape& in, AxisId axis, const SourceLocation& where,
                    const LowerScope& scope) {
  for (const auto& [dimension, mapping] :
       {std::pair<const char*, const Mapping*>{"Slice", &in.slice},
        {"Time", &in.time},
        {"Packet", &in.packet},
        {"Cluster", &in.cluster},
        {"Chip", &in.chip}}) {
    const std::vector<AxisId> held = axes_of({mapping}, scope.axes);
    if (std::find(held.begin(), held.end(), axis) == held.end()) continue;
    return switch_error(scope, where,
                        fmt::format("the broadcast axis {} in OutSlice is not new: {} '{}' has it",
                                    scope.axes.name(axis), dimension, scope.text(*mapping)),
                        "declare an axis of its own for the broadcast, or write its size");
  }
  return true;
}

Mapping without_promises(const Mapping& mapping) {
  std::vector<Node> nodes = mapping.nodes();
  drop_promises(nodes);
  return Mapping(std::move(nodes));
}

std::optional<LoweredStage<SwitchConfig>> lower_switch(const StreamShape& in,
                                                       const SwitchStage& stage,
                                                       const LowerScope& scope) {
  return SwitchLowering(in, stage, scope).run();
}

}  // namespace rngdsim
