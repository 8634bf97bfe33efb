// SPDX-License-Identifier: Apache-2.0
// Fetch, Fetch Adapter, Collect, register file, Cast, Commit Adapter and Commit.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lowering/stages.h"
#include "numeric/convert.h"
#include "support/text.h"

namespace rngdsim {
namespace {

// Walks longer than this are not searched for bank repetition.
constexpr uint64_t kMaxWalk = uint64_t{1} << 20;

std::vector<uint64_t> lane_counts(uint64_t lanes) {
  std::vector<uint64_t> counts;
  for (uint64_t n = 1; n <= lanes; n *= 2) counts.push_back(n);
  return counts;
}

std::string dtype_list(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (DType dtype : dtypes) names.emplace_back(name(dtype));
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_problems(const SequencerResult& result, const char* stage, const SourceLocation& where,
                  const LowerScope& scope) {
  for (const SequencerProblem& problem : result.problems) {
    scope.diagnostics.error(where, fmt::format("{}: {}", stage, problem.message), problem.hint);
  }
}

// Largest divisor of `run` elements that is an access of 1, 2, 4, ... `max_bytes` bytes and of at
// most `max_elements`; 0 where there is none.
uint64_t largest_access(uint64_t run, DType dtype, uint64_t max_bytes, uint64_t max_elements) {
  const auto bits = static_cast<uint64_t>(memory_bits(dtype));
  for (uint64_t bytes = max_bytes; bytes >= 1; bytes /= 2) {
    if (bytes * 8 % bits != 0) continue;
    const uint64_t elements = bytes * 8 / bits;
    if (elements <= max_elements && run % elements == 0) return elements;
  }
  return 0;
}

// Loops that step from access to access must move by whole bytes.
bool byte_aligned(const SequencerConfig& config, DType dtype, uint64_t access, uint64_t multiple,
                  const char* stage, const SourceLocation& where, const LowerScope& scope) {
  const auto bits = static_cast<int64_t>(memory_bits(dtype));
  const auto unit = static_cast<int64_t>(multiple * 8);
  for (const SequencerEntry& loop : access_loops(config, access)) {
    if (loop.stride * bits % unit == 0) continue;
    scope.diagnostics.error(
        where,
        fmt::format(
            "{}: loop {} : {} steps {} bits ({} bits an element); steps must be multiples of {} "
            "byte{}",
            stage, loop.size, loop.stride, loop.stride * bits, bits, multiple,
            multiple == 1 ? "" : "s"),
        fmt::format("pad the rows of the buffer to multiples of {}",
                    multiple == 1 ? "a byte" : "8 bytes"));
    return false;
  }
  return true;
}

// Longest sequence of accesses that all touch one bank; 0 where there are too many to look at.
uint64_t longest_same_bank(const SequencerConfig& sequencer, uint64_t access_elements, DType dtype,
                           const MachineLimits& limits) {
  const auto bits = static_cast<uint64_t>(memory_bits(dtype));
  SequencerWalker walker(sequencer, access_elements);
  if (walker.accesses() > kMaxWalk) return 0;
  const uint64_t bytes = bytes_of(dtype, walker.replicated() ? 1 : access_elements);
  std::vector<uint64_t> run(limits.dm_banks, 0);   // accesses up to the present one
  std::vector<uint64_t> last(limits.dm_banks, 0);  // the access of the latest, counted from 1
  uint64_t longest = 0;
  for (; !walker.done(); walker.next()) {
    const uint64_t byte = static_cast<uint64_t>(walker.offset()) * bits / 8;
    const uint64_t access = walker.index() + 1;
    for (uint64_t at = byte / limits.dm_bank_bytes; at <= (byte + bytes - 1) / limits.dm_bank_bytes;
         ++at) {
      const uint64_t bank = at % limits.dm_banks;
      run[bank] = last[bank] + 1 == access ? run[bank] + 1 : 1;
      last[bank] = access;
      longest = std::max(longest, run[bank]);
    }
  }
  return longest;
}

// What a stage that takes flits says of another packet.
bool is_flit(const StreamShape& in, const char* stage, const SourceLocation& where,
             const LowerScope& scope) {
  const uint64_t bytes = bytes_of(in.dtype, in.packet.size());
  if (bytes == scope.limits.flit_bytes) return true;
  scope.diagnostics.error(where, fmt::format("{}: takes flits of {} bytes; Packet '{}' is {}",
                                             stage, scope.limits.flit_bytes, scope.text(in.packet),
                                             bytes_text(in.dtype, in.packet.size())));
  return false;
}

// Whether a division was only possible by a cut through a term.
bool cuts_a_term(const Mapping& mapping) {
  return std::any_of(mapping.nodes().begin(), mapping.nodes().end(), [](const Node& node) {
    return node.kind == Node::Kind::kStrided || node.kind == Node::Kind::kFirst;
  });
}

// Cells of a mapping position by position, without allocation.
class CellReader {
 public:
  CellReader(const Mapping& mapping, const AxisTable& axes)
      : mapping_(mapping),
        axes_(axes),
        overshoot_(overshoot_kinds({&mapping}, axes)),
        values_(axes.count()) {}

  // Looks at position i.
  void read(uint64_t i) {
    std::fill(values_.begin(), values_.end(), 0);
    pad_ = PadKind::kTop;
    live_ = mapping_.accumulate(i, values_.data(), &pad_);
    for (AxisId axis = 0; live_ && axis < values_.size(); ++axis) {
      if (values_[axis] < axes_.size(axis)) continue;
      live_ = false;
      pad_ = overshoot_[axis].value_or(PadKind::kTop);
    }
  }
  bool live() const { return live_; }
  bool is(PadKind kind) const { return !live_ && pad_ == kind; }
  const std::vector<uint64_t>& values() const { return values_; }  // where live

 private:
  const Mapping& mapping_;
  const AxisTable& axes_;
  std::vector<std::optional<PadKind>> overshoot_;
  std::vector<uint64_t> values_;
  bool live_ = true;
  PadKind pad_ = PadKind::kTop;
};

bool has_padding(const std::vector<Node>& nodes, PadKind kind) {
  return std::any_of(nodes.begin(), nodes.end(), [kind](const Node& node) {
    return (node.padded && node.pad == kind) || has_padding(node.inner, kind);
  });
}

// Bottom padding is never read, and what the stream calls zero must be zero padding of the buffer.
// Looked at position by position where such padding occurs (streams beyond kMaxWalk aside).
bool check_read_padding(const Mapping& element, const Mapping& time, const Declared& packet,
                        const SequencerConfig& sequencer, const LowerScope& scope) {
  const Mapping stream = Mapping::concat({time, packet.mapping});
  const bool promises = has_padding(stream.nodes(), PadKind::kZero);
  if (!promises && !has_padding(element.nodes(), PadKind::kBottom)) return true;
  if (stream.size() > kMaxWalk) return true;
  CellReader from(element, scope.axes);
  CellReader to(stream, scope.axes);
  SequencerWalker walker(sequencer, 1);
  for (uint64_t p = 0; p < stream.size(); ++p, walker.next()) {
    const auto slot = static_cast<uint64_t>(walker.offset());
    const bool inside = slot < element.size();
    if (inside) from.read(slot);
    if (inside && from.is(PadKind::kBottom)) {
      scope.diagnostics.error(
          packet.where,
          fmt::format(
              "fetch: position {} of the stream reads slot {} of '{}', which is bottom padding "
              "and must never be read",
              p, slot, scope.text(element)),
          "read the live part only, or declare the padding as '#'");
      return false;
    }
    if (!promises) continue;
    to.read(p);
    if (to.is(PadKind::kZero) && !(inside && from.is(PadKind::kZero))) {
      scope.diagnostics.error(
          packet.where,
          fmt::format(
              "fetch: the stream promises zero at position {}, but slot {} of '{}', which is "
              "read there, is not zero padding",
              p, slot, scope.text(element)),
          "write the padding as '#'; collect fills up packets with zeros");
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<FetchConfig> lower_fetch(const Mapping& element, DType dtype, Context context,
                                       const Declared& time, const Declared& packet,
                                       std::optional<DType> cast_to, const LowerScope& scope) {
  const SequencerResult sequencer =
      derive_sequencer(element, time.mapping, packet.mapping, SequencerUse::kRead, scope.axes,
                       scope.limits.sequencer);
  add_problems(sequencer, "fetch", time.where, scope);
  if (!sequencer.problems.empty()) return std::nullopt;

  FetchConfig fetch;
  fetch.sequencer = sequencer.config;
  const uint64_t run = fetch.sequencer.contiguous_run();
  const uint64_t limit = fetch.sequencer.max_access_size();
  const auto bits = static_cast<uint64_t>(memory_bits(dtype));
  // A cast must fit its results into one flit [B].
  const uint64_t cast_limit =
      cast_to ? scope.limits.flit_bytes * 8 / static_cast<uint64_t>(memory_bits(*cast_to))
              : ~uint64_t{0};
  const uint64_t fixed = context == Context::kSub ? scope.limits.sub_fixed_read : 0;
  if (fixed != 0) {
    fetch.access_elements = fixed * 8 / bits;
    if (fetch.access_elements == 0) {
      scope.diagnostics.error(
          packet.where,
          fmt::format("fetch: sub reads {} bytes at a time, less than an element of {} ({} bits)",
                      fixed, name(dtype), bits),
          "run the command in main, whose reads have no fixed size");
      return std::nullopt;
    }
    if (limit % fetch.access_elements != 0) {
      scope.diagnostics.error(
          packet.where,
          fmt::format(
              "fetch: sub reads {} bytes ({} x {}) at a time; runs of {} elements are contiguous "
              "in '{}', and the packet has {}",
              fixed, fetch.access_elements, name(dtype), group_digits(run), scope.text(element),
              group_digits(packet.mapping.size())),
          "make both multiples of 8 bytes, or run the command in main");
      return std::nullopt;
    }
    if (fetch.access_elements > cast_limit) {
      scope.diagnostics.error(
          packet.where,
          fmt::format(
              "fetch: sub reads {} bytes ({} x {}) at a time; cast to {} they are {} bytes, more "
              "than a flit of {}",
              fixed, fetch.access_elements, name(dtype), name(*cast_to),
              bytes_of(*cast_to, fetch.access_elements), scope.limits.flit_bytes),
          "run the command in main, whose reads shrink to what the cast can take");
      return std::nullopt;
    }
  } else {
    fetch.access_elements = largest_access(limit, dtype, scope.limits.main_max_read, cast_limit);
    if (fetch.access_elements == 0) {
      scope.diagnostics.error(
          packet.where,
          fmt::format(
              "fetch: a read takes 1, 2, 4, 8, 16 or 32 bytes; of the packet's {} elements of {} "
              "bits, runs of {} lie together in '{}'",
              group_digits(packet.mapping.size()), bits, group_digits(limit), scope.text(element)),
          "put neighbouring elements of the buffer innermost, in whole bytes");
      return std::nullopt;
    }
  }
  if (!check_read_padding(element, time.mapping, packet, fetch.sequencer, scope))
    return std::nullopt;
  fetch.access_bytes = bytes_of(dtype, fetch.access_elements);
  fetch.packets = time.mapping.size();
  fetch.accesses_per_packet = packet.mapping.size() / fetch.access_elements;
  fetch.accesses = fetch.packets * fetch.accesses_per_packet;
  if (!byte_aligned(fetch.sequencer, dtype, fetch.access_elements, 1, "fetch", time.where, scope)) {
    return std::nullopt;
  }
  if (context == Context::kMain && !cast_to && fetch.access_bytes < scope.limits.main_max_read) {
    scope.diagnostics.warning(
        packet.where,
        fmt::format(
            "fetch: reads of {} of at most {} bytes (runs of {} elements are contiguous in '{}', "
            "the packet has {})",
            fetch.access_bytes, scope.limits.main_max_read, group_digits(run), scope.text(element),
            group_digits(packet.mapping.size())),
        "a packet of neighbouring elements, or one padded to a power of two, reads more at a time");
  }
  fetch.same_bank = longest_same_bank(fetch.sequencer, fetch.access_elements, dtype, scope.limits);
  return fetch;
}

std::optional<LoweredStage<FetchCastConfig>> lower_fetch_cast(const StreamShape& in,
                                                              const Located<DType>& to,
                                                              const LowerScope& scope) {
  if (!can_fetch_cast(in.dtype, to.value)) {
    const std::vector<DType> targets = fetch_cast_targets(in.dtype);
    scope.diagnostics.error(
        to.where,
        fmt::format("fetch_cast: no cast from {} to {} in the Fetch Adapter", name(in.dtype),
                    name(to.value)),
        targets.empty() ? fmt::format("{} cannot be cast here", name(in.dtype))
                        : fmt::format("{} can become {}", name(in.dtype), dtype_list(targets)));
    return std::nullopt;
  }
  LoweredStage<FetchCastConfig> stage{{in.dtype, to.value}, in};
  stage.after.dtype = to.value;
  return stage;
}

namespace {

// The same positions, of which none is known to be zero.
std::vector<Node> without_zeros(std::vector<Node> nodes) {
  for (Node& node : nodes) {
    if (node.pad == PadKind::kZero) node.pad = PadKind::kTop;
    node.inner = without_zeros(std::move(node.inner));
  }
  return nodes;
}

}  // namespace

std::optional<LoweredStage<FetchZeroPointConfig>> lower_zero_point(
    const StreamShape& in, const Located<int64_t>& zero_point, const SourceLocation& where,
    const LowerScope& scope) {
  const std::optional<DType> to = zero_point_type(in.dtype);
  if (!to) {
    scope.diagnostics.error(
        where,
        fmt::format("fetch_zero_point_sub: takes i4 (to i5) and i8 (to i9), not {}",
                    name(in.dtype)),
        in.dtype == DType::kI32 ? "a cast before it has widened the elements already" : "");
    return std::nullopt;
  }
  // Smallest and largest result, of the largest and the smallest element.
  const auto least = static_cast<int64_t>(min_value(in.dtype)) - zero_point.value;
  const auto most = static_cast<int64_t>(max_value(in.dtype)) - zero_point.value;
  const auto low = static_cast<int64_t>(min_value(*to)),
             high = static_cast<int64_t>(max_value(*to));
  const std::string numbers =
      fmt::format("{} elements less {} are {} to {}; {} holds {} to {}", name(in.dtype),
                  zero_point.value, least, most, name(*to), low, high);
  const std::string hint =
      fmt::format("zero points from {} to {} always fit", static_cast<int64_t>(min_value(in.dtype)),
                  static_cast<int64_t>(max_value(in.dtype)));
  if (least > high || most < low) {
    scope.diagnostics.error(zero_point.where, "fetch_zero_point_sub: no element fits: " + numbers,
                            hint);
    return std::nullopt;
  }
  if (least < low || most > high) {
    scope.diagnostics.warning(zero_point.where,
                              "fetch_zero_point_sub: not every element fits: " + numbers, hint);
  }
  LoweredStage<FetchZeroPointConfig> stage{{in.dtype, *to, zero_point.value}, in};
  stage.after.dtype = *to;
  if (zero_point.value != 0) {
    stage.after.time = Mapping(without_zeros(in.time.nodes()));
    stage.after.packet = Mapping(without_zeros(in.packet.nodes()));
  }
  return stage;
}

std::optional<LoweredStage<CollectConfig>> lower_collect(const StreamShape& in,
                                                         const std::optional<Declared>& time,
                                                         const std::optional<Declared>& packet,
                                                         const SourceLocation& where,
                                                         const LowerScope& scope) {
  const auto bits = static_cast<uint64_t>(memory_bits(in.dtype));
  const uint64_t packet_bits = in.packet.size() * bits;
  if (packet_bits % 64 != 0) {
    scope.diagnostics.error(
        where,
        fmt::format("collect: a packet must be a multiple of 8 bytes; '{}' is {}",
                    scope.text(in.packet), bytes_text(in.dtype, in.packet.size())),
        "pad the fetched packet, e.g. # 8 of a 1-byte type");
    return std::nullopt;
  }
  LoweredStage<CollectConfig> stage{{}, in};
  CollectConfig& config = stage.config;
  config.dtype = in.dtype;
  config.packet_elements = in.packet.size();
  config.flit_elements = scope.limits.flit_bytes * 8 / bits;
  config.flits_per_packet =
      (config.packet_elements + config.flit_elements - 1) / config.flit_elements;
  config.flits = in.time.size() * config.flits_per_packet;

  const uint64_t all = config.flits_per_packet * config.flit_elements;
  const Mapping padded = in.packet.pad(all, PadKind::kZero);
  auto parts = divide(padded, config.flit_elements, scope);
  if (!parts || cuts_a_term(parts->first)) {
    // Behind padding of another kind no digit has these zeros: they become like that padding.
    auto whole = divide(in.packet.pad(all, PadKind::kTop), config.flit_elements, scope);
    if (whole && !cuts_a_term(whole->first)) parts = std::move(whole);
  }
  if (!parts) {
    scope.diagnostics.error(
        where,
        fmt::format("collect: flits of {} elements cut '{}' ({} elements) where no Time and Packet "
                    "describe the parts",
                    config.flit_elements, scope.text(padded), padded.size()),
        fmt::format("end the live part of the packet at a multiple of {} elements",
                    config.flit_elements));
    return std::nullopt;
  }
  const auto& [outer, inner] = *parts;
  const auto new_time = agreed(time, Mapping::concat({in.time, outer}), "collect", "Time", scope);
  const auto new_packet = agreed(packet, inner, "collect", "Packet", scope);
  if (!new_time || !new_packet) return std::nullopt;
  stage.after.time = *new_time;
  stage.after.packet = *new_packet;
  return stage;
}

std::optional<uint64_t> check_trf_tensor(DType dtype, const Declared& lane, const Declared& element,
                                         const LowerScope& scope) {
  bool good = true;
  static const std::vector<DType> kTypes = {DType::kI4,     DType::kI5,     DType::kI8,  DType::kI9,
                                            DType::kF8E4M3, DType::kF8E5M2, DType::kBF16};
  if (std::find(kTypes.begin(), kTypes.end(), dtype) == kTypes.end()) {
    scope.diagnostics.error(element.where,
                            fmt::format("the register file holds {}; {} cannot be multiplied",
                                        dtype_list(kTypes), name(dtype)));
    good = false;
  }
  const uint64_t lanes = lane.mapping.size();
  if (lanes > scope.limits.lanes || (lanes & (lanes - 1)) != 0) {
    scope.diagnostics.error(
        lane.where,
        fmt::format("Lane '{}' has {} positions; {} lanes can be active", scope.text(lane.mapping),
                    group_digits(lanes), choices(lane_counts(scope.limits.lanes))),
        "pad it, e.g. N # 8, or move a factor to Element");
    good = false;
  }
  if (!good) return std::nullopt;
  const uint64_t bytes = bytes_of(dtype, element.mapping.size());
  if (lanes * bytes > scope.limits.trf_bytes()) {
    scope.diagnostics.error(
        element.where,
        fmt::format("'{}' in {} lanes takes {} bytes of a slice's register file, which has {}",
                    scope.text(element.mapping), lanes, group_digits(lanes * bytes),
                    group_digits(scope.limits.trf_bytes())),
        "load a part of the tensor at a time");
    return std::nullopt;
  }
  return bytes;
}

std::optional<ToTrfConfig> lower_to_trf(const StreamShape& in, const Declared& lane,
                                        const Declared& element, const SourceLocation& where,
                                        const LowerScope& scope) {
  if (!is_flit(in, "to_trf", where, scope)) return std::nullopt;
  if (in.dtype == DType::kI5 || in.dtype == DType::kI9) {
    scope.diagnostics.error(
        where,
        fmt::format("to_trf: a stream of {} can only be contracted, not stored", name(in.dtype)),
        "i5 and i9 operands of the register file are declared tensors");
    return std::nullopt;
  }
  if (!check_trf_tensor(in.dtype, lane, element, scope)) return std::nullopt;
  ToTrfConfig config;
  config.lanes = lane.mapping.size();
  if (in.time.size() % config.lanes != 0) {
    scope.diagnostics.error(
        lane.where,
        fmt::format("to_trf: {} lanes ('{}') do not divide the {} flits of Time '{}'", config.lanes,
                    scope.text(lane.mapping), group_digits(in.time.size()), scope.text(in.time)),
        "Lane = Time / FlitsPerLane");
    return std::nullopt;
  }
  config.flits_per_lane = in.time.size() / config.lanes;
  const auto parts = divide(in.time, config.flits_per_lane, scope);
  if (!parts) {
    scope.diagnostics.error(
        lane.where,
        fmt::format(
            "to_trf: {} lanes of {} flits cut Time '{}' where no Lane and Element describe the "
            "parts",
            config.lanes, group_digits(config.flits_per_lane), scope.text(in.time)),
        "Lane = Time / FlitsPerLane: put the lane axis outermost in Time");
    return std::nullopt;
  }
  const auto& [derived_lane, rest] = *parts;
  if (!scope.same(lane.mapping, derived_lane)) {
    scope.diagnostics.error(
        lane.where,
        fmt::format("to_trf: Lane is '{}', but the outermost {} positions of Time '{}' are '{}'",
                    scope.text(lane.mapping), config.lanes, scope.text(in.time),
                    scope.text(derived_lane)),
        "Lane = Time / FlitsPerLane: put the lane axis outermost in Time");
    return std::nullopt;
  }
  const Mapping derived_element = Mapping::concat({rest, in.packet});
  if (!scope.same(element.mapping, derived_element)) {
    scope.diagnostics.error(
        element.where,
        fmt::format("to_trf: Element is '{}' (size {}), but [Time % FlitsPerLane, Packet] is '{}' "
                    "(size {})",
                    scope.text(element.mapping), group_digits(element.mapping.size()),
                    scope.text(derived_element), group_digits(derived_element.size())),
        "let the fetch bring the elements in the order in which they are to lie");
    return std::nullopt;
  }
  if (!promises_no_zero(lane, derived_lane, "to_trf", "Lane", scope) ||
      !promises_no_zero(element, derived_element, "to_trf", "Element", scope)) {
    return std::nullopt;
  }
  return config;
}

bool check_vrf_tensor(DType dtype, const std::string& what, const SourceLocation& where,
                      const Declared& element, const LowerScope& scope) {
  if (dtype != DType::kI32 && dtype != DType::kF32) {
    scope.diagnostics.error(
        where,
        fmt::format("{}: the vector register file takes i32 and f32, not {}", what, name(dtype)),
        "fetch_cast widens elements on their way in");
    return false;
  }
  const uint64_t bytes = bytes_of(dtype, element.mapping.size());
  if (bytes <= scope.limits.vrf_bytes) return true;
  scope.diagnostics.error(
      element.where,
      fmt::format("{}: Element '{}' is {} a slice; the vector register file holds {}", what,
                  scope.text(element.mapping), bytes_text(dtype, element.mapping.size()),
                  group_digits(scope.limits.vrf_bytes)),
      "spread the tensor over more slices, or load it part by part");
  return false;
}

std::optional<ToVrfConfig> lower_to_vrf(const StreamShape& in, const Declared& element,
                                        const SourceLocation& where, const LowerScope& scope) {
  const Mapping derived = Mapping::concat({in.time, in.packet});
  if (!check_vrf_tensor(in.dtype, "to_vrf", where, {derived, element.where}, scope)) {
    return std::nullopt;
  }
  const uint64_t bytes = bytes_of(in.dtype, in.packet.size());
  if (bytes != scope.limits.flit_bytes) {
    scope.diagnostics.error(
        where,
        fmt::format("to_vrf: takes flits of {} bytes; Packet '{}' is {}", scope.limits.flit_bytes,
                    scope.text(in.packet), bytes_text(in.dtype, in.packet.size())),
        "collect makes flits of the packets");
    return std::nullopt;
  }
  if (!agreed(element, derived, "to_vrf", "Element", scope)) return std::nullopt;
  return ToVrfConfig{0, in.time.size(), in.packet.size()};
}

std::optional<LoweredStage<CastConfig>> lower_cast(const StreamShape& in, const Located<DType>& to,
                                                   const std::optional<Declared>& packet,
                                                   const LowerScope& scope) {
  if (!can_cast_engine(in.dtype, to.value)) {
    const std::vector<DType> targets = cast_engine_targets(in.dtype);
    scope.diagnostics.error(
        to.where,
        fmt::format("cast: no cast from {} to {} in the Cast Engine", name(in.dtype),
                    name(to.value)),
        targets.empty() ? fmt::format("it takes i32 and f32, not {}", name(in.dtype))
                        : fmt::format("{} can become {}", name(in.dtype), dtype_list(targets)));
    return std::nullopt;
  }
  if (!is_flit(in, "cast", to.where, scope)) return std::nullopt;
  LoweredStage<CastConfig> stage{{in.dtype, to.value}, in};
  const uint64_t flit = scope.limits.flit_bytes * 8 / static_cast<uint64_t>(memory_bits(to.value));
  const auto agreed_packet =
      agreed(packet, in.packet.pad(flit, PadKind::kZero), "cast", "Packet", scope);
  if (!agreed_packet) return std::nullopt;
  stage.after.packet = *agreed_packet;
  stage.after.dtype = to.value;
  return stage;
}

std::optional<StreamShape> lower_commit_trim(const StreamShape& in, const Declared& packet,
                                             const LowerScope& scope) {
  if (!is_flit(in, "commit_trim", packet.where, scope)) return std::nullopt;
  const uint64_t elements = packet.mapping.size();
  const auto bits = static_cast<uint64_t>(memory_bits(in.dtype));
  if (elements * bits % 64 != 0 || elements * bits / 8 > scope.limits.flit_bytes) {
    scope.diagnostics.error(
        packet.where,
        fmt::format("commit_trim: a flit is trimmed to 8, 16, 24 or 32 bytes; '{}' is {}",
                    scope.text(packet.mapping), bytes_text(in.dtype, elements)),
        "keep some of the padding, e.g. 1 # 2 of f32, so that 8 bytes are written");
    return std::nullopt;
  }
  const Mapping leading = in.packet.resize(elements);
  if (!scope.same(packet.mapping, leading)) {
    scope.diagnostics.error(
        packet.where,
        fmt::format("commit_trim: Packet is '{}', but the leading {} elements of '{}' "
                    "are '{}'",
                    scope.text(packet.mapping), elements, scope.text(in.packet),
                    scope.text(leading)));
    return std::nullopt;
  }
  if (!promises_no_zero(packet, leading, "commit_trim", "Packet", scope)) return std::nullopt;
  StreamShape after = in;
  after.packet = packet.mapping;
  return after;
}

std::optional<LoweredStage<CastConfig>> lower_commit_cast(const StreamShape& in,
                                                          const Located<DType>& to,
                                                          const LowerScope& scope) {
  if (!can_commit_cast(in.dtype, to.value)) {
    scope.diagnostics.error(
        to.where,
        fmt::format("commit_cast: the Commit Adapter casts f32 to bf16, not {} to {}",
                    name(in.dtype), name(to.value)),
        "other casts: stage cast (i32 and f32)");
    return std::nullopt;
  }
  const uint64_t bytes = bytes_of(in.dtype, in.packet.size());
  if (bytes != 16 && bytes != 32) {
    scope.diagnostics.error(
        to.where,
        fmt::format("commit_cast: needs 16 or 32 bytes before the cast; '{}' is {}",
                    scope.text(in.packet), bytes_text(in.dtype, in.packet.size())),
        "trim to 4 or 8 f32 elements");
    return std::nullopt;
  }
  LoweredStage<CastConfig> stage{{in.dtype, to.value}, in};
  stage.after.dtype = to.value;
  return stage;
}

namespace {

// Checks by the definition what a write covers. Returns false after adding an error.
bool check_coverage(const StreamShape& in, const Declared& element,
                    const SequencerConfig& sequencer, const LowerScope& scope) {
  const uint64_t slots = element.mapping.size();
  const Mapping stream = Mapping::concat({in.time, in.packet});
  const std::string destination = scope.text(element.mapping);
  const auto fail = [&](const std::string& message, const std::string& hint = "") {
    scope.diagnostics.error(element.where, "commit: " + message, hint);
    return false;
  };
  const auto cell = [&](const Mapping& mapping, uint64_t i) {
    return to_string(mapping.cell(i, scope.axes), scope.axes);
  };
  // Every live slot is written once, every other one as often as padding comes around.
  if (stream.size() > 8 * slots + 1024) {
    return fail(fmt::format("Time '{}' and Packet '{}' have {} positions for the {} slots of '{}'",
                            scope.text(in.time), scope.text(in.packet), group_digits(stream.size()),
                            group_digits(slots), destination),
                "every live slot must be written exactly once");
  }
  CellReader from(stream, scope.axes);
  CellReader to(element.mapping, scope.axes);
  std::vector<uint64_t> writer(slots, 0);  // stream position + 1
  SequencerWalker walker(sequencer, 1);
  for (uint64_t p = 0; p < stream.size(); ++p, walker.next()) {
    const int64_t at = walker.offset();
    if (at < 0 || static_cast<uint64_t>(at) >= slots) {
      return fail(fmt::format("stream position {} ({}) goes to slot {}, past the {} slots of '{}'",
                              p, cell(stream, p), at, slots, destination),
                  "trim the packet, or pad the destination");
    }
    const auto slot = static_cast<uint64_t>(at);
    from.read(p);
    to.read(slot);
    if (from.live() && !(to.live() && from.values() == to.values())) {
      return fail(fmt::format("{} of the stream would go to slot {} of '{}', which holds {}",
                              cell(stream, p), slot, destination, cell(element.mapping, slot)));
    }
    if (!from.live() && to.live()) {
      return fail(
          fmt::format("padding of the stream (position {} of '{}') would overwrite slot {} ({}) "
                      "of '{}'",
                      p, scope.text(stream), slot, cell(element.mapping, slot), destination),
          "trim the packet to its live elements");
    }
    if (to.is(PadKind::kBottom)) {
      return fail(
          fmt::format("stream position {} would go to slot {} of '{}', which is bottom padding "
                      "and must never be written",
                      p, slot, destination),
          "trim the packet, or declare the padding as '#'");
    }
    if (to.is(PadKind::kZero) && !from.is(PadKind::kZero)) {
      return fail(
          fmt::format("slot {} of '{}' must be zero, but position {} of the stream '{}', which "
                      "goes there, is not known to be zero",
                      slot, destination, p, scope.text(stream)),
          "declare the padding of the destination as '#', or that of the stream as '#{0}' where "
          "collect or cast fill it up");
    }
    if (from.live() && writer[slot] != 0) {
      return fail(
          fmt::format("slot {} ({}) of '{}' is written twice, by stream positions {} and {}", slot,
                      cell(element.mapping, slot), destination, writer[slot] - 1, p),
          "every live slot must be written exactly once");
    }
    writer[slot] = p + 1;
  }
  uint64_t missing = 0;
  uint64_t first = 0;
  for (uint64_t slot = 0; slot < slots; ++slot) {
    if (writer[slot] != 0) continue;
    to.read(slot);
    if (!to.live() && !to.is(PadKind::kZero)) continue;
    if (missing++ == 0) first = slot;
  }
  if (missing == 0) return true;
  return fail(fmt::format("{} of the {} slots of '{}' are never written, the first is slot {} ({})",
                          group_digits(missing), group_digits(slots), destination, first,
                          cell(element.mapping, first)),
              "every live slot and every slot of zero padding must be written");
}

}  // namespace

std::optional<CommitConfig> lower_commit(const StreamShape& in, const Declared& element,
                                         Context context, const SourceLocation& where,
                                         const LowerScope& scope) {
  if (in.dtype == DType::kI5 || in.dtype == DType::kI9) {
    scope.diagnostics.error(
        where,
        fmt::format("commit: a stream of {} can only be contracted, not stored", name(in.dtype)),
        "i5 and i9 come from zero-point subtraction and have no form in memory");
    return std::nullopt;
  }
  const uint64_t bytes = bytes_of(in.dtype, element.mapping.size());
  if (bytes > scope.limits.dm_bytes()) {
    scope.diagnostics.error(
        element.where,
        fmt::format("commit: '{}' takes {} bytes; the data memory of a slice has {}",
                    scope.text(element.mapping), group_digits(bytes),
                    group_digits(scope.limits.dm_bytes())),
        "spread the tensor over more slices");
    return std::nullopt;
  }
  const SequencerResult sequencer =
      derive_sequencer(element.mapping, in.time, in.packet, SequencerUse::kWrite, scope.axes,
                       scope.limits.sequencer);
  add_problems(sequencer, "commit", element.where, scope);
  if (!sequencer.problems.empty()) return std::nullopt;
  CommitConfig config;
  config.sequencer = sequencer.config;
  const auto bits = static_cast<uint64_t>(memory_bits(in.dtype));
  const uint64_t valid = bytes_of(in.dtype, in.packet.size());
  // gcd of the trimmed packet and the contiguous run, in whole bytes.
  const uint64_t access_bits = config.sequencer.max_access_size() * bits;
  const uint64_t fixed = context == Context::kSub ? scope.limits.sub_fixed_write : 0;
  const uint64_t most = fixed != 0 ? fixed : scope.limits.main_max_write;
  if (access_bits % 64 != 0 || (fixed != 0 && access_bits % (fixed * 8) != 0)) {
    scope.diagnostics.error(
        element.where,
        fmt::format(
            "commit: writes are multiples of {} bytes; of the {} bytes of a flit, runs of {} "
            "bits lie together in '{}'",
            std::max<uint64_t>(fixed, 8), valid, access_bits, scope.text(element.mapping)),
        "keep the packet's innermost 8 bytes together in the destination");
    return std::nullopt;
  }
  // The largest multiple of 8 bytes that divides the run and the hardware writes at once.
  uint64_t write_bits = std::min(access_bits, most * 8) / 64 * 64;
  while (access_bits % write_bits != 0) write_bits -= 64;
  config.write_bytes = write_bits / 8;
  config.write_elements = write_bits / bits;
  config.writes_per_flit = valid / config.write_bytes;
  config.writes = in.time.size() * config.writes_per_flit;
  if (!byte_aligned(config.sequencer, in.dtype, config.write_elements, 8, "commit", element.where,
                    scope)) {
    return std::nullopt;
  }
  if (!check_coverage(in, element, config.sequencer, scope)) return std::nullopt;
  config.same_bank =
      longest_same_bank(config.sequencer, config.write_elements, in.dtype, scope.limits);
  if (context == Context::kMain && config.writes_per_flit > 1) {
    scope.diagnostics.warning(
        element.where,
        fmt::format(
            "commit: {} writes of {} bytes for the {} bytes of a flit, which do not lie together "
            "in '{}'",
            config.writes_per_flit, config.write_bytes, valid, scope.text(element.mapping)),
        "keep the packet together in the destination");
  }
  return config;
}

}  // namespace rngdsim
