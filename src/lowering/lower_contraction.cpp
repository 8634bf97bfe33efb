// SPDX-License-Identifier: Apache-2.0
// Stream Adapter, TRF Sequencer, Packet Reducer, Time Reducer and Lane Folder.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "lowering/stages.h"
#include "numeric/convert.h"
#include "numeric/dtype.h"
#include "support/text.h"

namespace rngdsim {
namespace {

bool lower_packing(const StreamShape& in, const Declared& time, const Declared& packet,
                   OuterConfig& config, const LowerScope& scope) {
  const uint64_t bytes = bytes_of(in.dtype, packet.mapping.size());
  const uint64_t flit = scope.limits.flit_bytes;
  const uint64_t full = scope.limits.packet_bytes;
  if (bytes != flit && bytes != full) {
    const uint64_t elements = flit * 8 / static_cast<uint64_t>(memory_bits(in.dtype));
    scope.diagnostics.error(
        packet.where,
        fmt::format(
            "contract_outer: OutPacket '{}' is {}; the Stream Adapter makes packets of {} or "
            "{} bytes",
            scope.text(packet.mapping), bytes_text(in.dtype, packet.mapping.size()), flit, full),
        fmt::format("{} elements of {} are one flit, {} two", elements, name(in.dtype),
                    2 * elements));
    return false;
  }
  config.pack_size = bytes / flit;
  config.packet_elements = packet.mapping.size();
  config.slots = full * 8 / static_cast<uint64_t>(memory_bits(in.dtype));
  if (in.time.size() % config.pack_size != 0) {
    scope.diagnostics.error(
        packet.where,
        fmt::format(
            "contract_outer: OutPacket '{}' is {}, which packs {} flits; Time '{}' has {}, an odd "
            "number",
            scope.text(packet.mapping), bytes_text(in.dtype, packet.mapping.size()),
            config.pack_size, scope.text(in.time), in.time.size()),
        "pad Time to an even number, or let OutPacket be one flit");
    return false;
  }
  const auto pack_parts = divide(in.time, config.pack_size, scope);
  if (!pack_parts) {
    scope.diagnostics.error(
        packet.where,
        fmt::format(
            "contract_outer: PackSize {} cuts Time '{}' where no OutTime and OutPacket describe "
            "the parts",
            config.pack_size, scope.text(in.time)),
        "let an even factor be innermost in Time");
    return false;
  }
  const auto& [pack_time, packed] = *pack_parts;
  const Mapping derived_packet = Mapping::concat({packed, in.packet});
  if (!scope.same(packet.mapping, derived_packet)) {
    scope.diagnostics.error(
        packet.where,
        fmt::format(
            "contract_outer: OutPacket is '{}', but PackSize {} makes [Time % {}, Packet] = "
            "'{}'",
            scope.text(packet.mapping), config.pack_size, config.pack_size,
            scope.text(derived_packet)),
        "OutPacket is the input packet, or two of them that follow each other in Time");
    return false;
  }
  if (!promises_no_zero(packet, derived_packet, "contract_outer", "OutPacket", scope)) return false;
  if (time.mapping.size() % pack_time.size() != 0) {
    scope.diagnostics.error(
        time.where,
        fmt::format("contract_outer: Time / PackSize '{}' ({}) does not divide OutTime '{}' ({})",
                    scope.text(pack_time), group_digits(pack_time.size()), scope.text(time.mapping),
                    group_digits(time.mapping.size())),
        "OutTime = [Time / PackSize, TimeBroadcast]");
    return false;
  }
  config.time_broadcast = time.mapping.size() / pack_time.size();
  config.packets = time.mapping.size();
  const auto out_parts = divide(time.mapping, config.time_broadcast, scope);
  if (!out_parts || !scope.same(out_parts->first, pack_time)) {
    const bool elsewhere = config.time_broadcast > 1;
    scope.diagnostics.error(
        time.where,
        fmt::format(
            "contract_outer: OutTime is '{}'; its outermost {} of {} positions must be Time / "
            "PackSize = '{}'{}",
            scope.text(time.mapping), group_digits(pack_time.size()),
            group_digits(time.mapping.size()), scope.text(pack_time),
            out_parts ? fmt::format(", not '{}'", scope.text(out_parts->first)) : ""),
        elsewhere ? "TimeBroadcast must be innermost: OutTime = [Time / PackSize, TimeBroadcast]"
                  : "OutTime keeps the order of Time");
    return false;
  }
  return promises_no_zero({out_parts->first, time.where}, pack_time, "contract_outer", "OutTime",
                          scope);
}

bool lower_trf_reads(const TensorVersion& trf, const Declared& time, const Declared& packet,
                     OuterConfig& config, const LowerScope& scope) {
  const SequencerResult whole =
      derive_sequencer(trf.element, time.mapping, packet.mapping, SequencerUse::kRead, scope.axes,
                       {~size_t{0}, ~uint64_t{0}});
  if (!whole.problems.empty()) {
    for (const SequencerProblem& problem : whole.problems) {
      scope.diagnostics.error(time.where,
                              fmt::format("contract_outer: '{}': {}", trf.name, problem.message),
                              problem.hint);
    }
    return false;
  }
  // The widest read whose elements are the innermost ones of both sides.
  const auto bits = static_cast<uint64_t>(memory_bits(trf.dtype));
  const uint64_t common = std::gcd(trf.element.size(), packet.mapping.size());
  uint64_t read = std::min(common, scope.limits.packet_bytes * 8 / bits);
  for (; read > 1; --read) {
    if (common % read != 0) continue;
    if (scope.same(trf.element.modulo(read), packet.mapping.modulo(read))) break;
  }
  config.read_elements = read;
  config.read_bytes = bytes_of(trf.dtype, read);
  config.packet_broadcast = packet.mapping.size() / read;
  const auto packet_parts = divide(packet.mapping, read, scope);
  const auto fail = [&] {
    scope.diagnostics.error(
        packet.where,
        fmt::format(
            "contract_outer: OutPacket must be [PacketBroadcast, Element % ReadSize]; of the {} "
            "elements of '{}', Element '{}' of '{}' holds the innermost {} together, and not all "
            "others repeat them",
            packet.mapping.size(), scope.text(packet.mapping), scope.text(trf.element), trf.name,
            read),
        "store the elements of a packet innermost and in the same order");
    return false;
  };
  if (!packet_parts) return fail();
  // Any term innermost, so that no padding of the repeated part counts as reading on.
  const SequencerResult repeat_loops =
      derive_sequencer(trf.element, packet_parts->first, Mapping::broadcast(2),
                       SequencerUse::kPartialRead, scope.axes, {~size_t{0}, ~uint64_t{0}});
  for (const SequencerEntry& entry : repeat_loops.unmerged) {
    if (entry.stride != 0) return fail();
  }
  SequencerResult reads =
      derive_sequencer(trf.element, time.mapping, Mapping(), SequencerUse::kPartialRead, scope.axes,
                       scope.limits.sequencer);
  reads.config.packet_size = read;
  config.trf_sequencer = reads.config;
  for (const SequencerProblem& problem : reads.problems) {
    scope.diagnostics.error(time.where,
                            fmt::format("contract_outer: '{}': {}", trf.name, problem.message),
                            problem.hint);
  }
  if (!reads.problems.empty()) return false;
  // A read of both banks aligns to 64 B; a narrow one must stay in its bank's 32 B.
  const uint64_t align_bits = read * bits;
  for (const SequencerEntry& entry : config.trf_sequencer.entries) {
    if (static_cast<uint64_t>(entry.stride) * bits % align_bits == 0) continue;
    scope.diagnostics.error(
        time.where,
        fmt::format(
            "contract_outer: '{}': loop {} : {} steps {} bits; steps must be multiples of the {} "
            "bytes that one read takes",
            trf.name, entry.size, entry.stride, static_cast<uint64_t>(entry.stride) * bits,
            config.read_bytes),
        "pad Element so that its outer factors are multiples of the read");
    return false;
  }
  return true;
}

}  // namespace

std::optional<LoweredStage<OuterConfig>> lower_outer(const StreamShape& in,
                                                     const TensorVersion& trf, const Declared& time,
                                                     const Declared& packet,
                                                     const SourceLocation& where,
                                                     const LowerScope& scope) {
  bool good = true;
  const uint64_t bytes = bytes_of(in.dtype, in.packet.size());
  if (bytes != scope.limits.flit_bytes) {
    scope.diagnostics.error(
        where, fmt::format("contract_outer: takes flits of {} bytes; Packet '{}' is {}",
                           scope.limits.flit_bytes, scope.text(in.packet),
                           bytes_text(in.dtype, in.packet.size())));
    return std::nullopt;
  }
  if (!can_multiply(in.dtype, trf.dtype)) {
    scope.diagnostics.error(
        where,
        fmt::format("contract_outer: the Multiplier does not take {} (stream) with {} ('{}')",
                    name(in.dtype), name(trf.dtype), trf.name),
        "pairs are i4|i5 x i4|i5, i8|i9 x i8|i9, and equal types among f8e4m3, f8e5m2, bf16");
    good = false;
  }
  const auto spatial = [&](const char* what, const Mapping& stream, const Mapping& tensor) {
    if (scope.same(stream, tensor)) return;
    scope.diagnostics.error(
        where,
        fmt::format("contract_outer: {} of the stream is '{}' (size {}), of '{}' "
                    "'{}' (size {})",
                    what, scope.text(stream), stream.size(), trf.name, scope.text(tensor),
                    tensor.size()),
        "both operands must lie in the same slices");
    good = false;
  };
  spatial("Chip", in.chip, trf.chip);
  spatial("Cluster", in.cluster, trf.cluster);
  spatial("Slice", in.slice, trf.slice);

  LoweredStage<OuterConfig> stage{{}, in};
  OuterConfig& config = stage.config;
  config.stream_dtype = in.dtype;
  config.trf_dtype = trf.dtype;
  config.accumulator = accumulator_type(in.dtype);
  config.lanes = trf.lane.size();
  stage.after.lane = trf.lane;
  stage.after.time = time.mapping;
  stage.after.packet = packet.mapping;
  stage.after.dtype = config.accumulator;
  good = lower_packing(in, time, packet, config, scope) && good;
  if (!good) return std::nullopt;

  const size_t before = scope.diagnostics.error_count();
  check_digits({&in.chip, &in.cluster, &in.slice, &trf.lane, &time.mapping, &packet.mapping},
               scope.axes, time.where, "contract_outer: Lane, OutTime and OutPacket",
               scope.diagnostics);
  if (scope.diagnostics.error_count() != before) return std::nullopt;
  if (!lower_trf_reads(trf, time, packet, config, scope)) return std::nullopt;
  if (config.pack_size == 1) {
    scope.diagnostics.warning(
        packet.where,
        fmt::format(
            "contract_outer: PackSize 1: packets of {} bytes use half of the {} multipliers a "
            "lane",
            scope.limits.flit_bytes, config.slots),
        "let OutPacket take the innermost factor 2 of Time");
  }
  return stage;
}

std::optional<LoweredStage<PacketReduceConfig>> lower_packet_reduce(const StreamShape& in,
                                                                    const OuterConfig& outer,
                                                                    const Declared& packet,
                                                                    const LowerScope& scope) {
  const uint64_t columns = packet.mapping.size();
  const uint64_t limit = scope.limits.accumulator_columns;
  if (columns > limit) {
    scope.diagnostics.error(
        packet.where,
        fmt::format("contract_packet: OutPacket '{}' has {} columns; the accumulator "
                    "has {}",
                    scope.text(packet.mapping), group_digits(columns), limit),
        "reduce more of the packet");
    return std::nullopt;
  }
  if ((columns & (columns - 1)) != 0) {
    scope.diagnostics.error(
        packet.where,
        fmt::format("contract_packet: OutPacket '{}' has {} columns; a power of two "
                    "is needed",
                    scope.text(packet.mapping), columns),
        "keep some of the padding, e.g. # 8");
    return std::nullopt;
  }
  // The smallest depth that gives the declared packet, outer padding dropped or not.
  uint64_t depth = 0;
  std::vector<std::string> possible;
  for (uint64_t span = 1; span <= outer.packet_elements; span *= 2, ++depth) {
    if (outer.packet_elements % span != 0) break;
    const auto parts = divide(in.packet, span, scope);
    if (!parts) continue;
    const Mapping& outer_part = parts->first;
    possible.push_back("'" + scope.text(outer_part) + "'");
    if (outer_part.size() < columns) continue;
    bool match = scope.same(outer_part.resize(columns), packet.mapping);
    for (uint64_t i = columns; match && i < outer_part.size(); ++i) {
      match = !outer_part.cell(i, scope.axes).live;
    }
    if (!match) continue;
    if (!promises_no_zero(packet, outer_part.resize(columns), "contract_packet", "OutPacket",
                          scope)) {
      return std::nullopt;
    }
    LoweredStage<PacketReduceConfig> stage{{depth, columns}, in};
    stage.after.packet = packet.mapping;
    stage.after.dtype = outer.accumulator;
    return stage;
  }
  scope.diagnostics.error(
      packet.where,
      fmt::format("contract_packet: OutPacket '{}' is not what remains of '{}' after summing its "
                  "innermost 1, 2, 4, ... elements",
                  scope.text(packet.mapping), scope.text(in.packet)),
      fmt::format("possible: {}", fmt::join(possible, ", ")));
  return std::nullopt;
}

namespace {

// The same cells; `kept` may not promise zero where `from` does not.
bool same_term(const Node& from, const Node& kept, const LowerScope& scope) {
  if (from.kind != kept.kind || from.size != kept.size) return false;
  const bool zero = kept.padded && kept.pad == PadKind::kZero && kept.live < kept.size;
  if (zero && !(from.padded && from.pad == PadKind::kZero)) return false;
  return scope.same(Mapping({from}), Mapping({kept}));
}

}  // namespace

std::optional<LoweredStage<TimeReduceConfig>> lower_time_reduce(const StreamShape& in,
                                                                const Declared& time,
                                                                const LowerScope& scope) {
  const DigitCuts cuts = cuts_of({&in.time, &time.mapping});
  const std::vector<Node> from = refined(in.time.nodes(), cuts);
  const std::vector<Node> kept = refined(time.mapping.nodes(), cuts);
  LoweredStage<TimeReduceConfig> stage{{}, in};
  size_t next = 0;
  bool reduced_outside = false;
  for (const Node& node : from) {
    const bool keep = next < kept.size() && same_term(node, kept[next], scope);
    if (keep) ++next;
    stage.config.loops.push_back({node.size, !keep});
    reduced_outside = reduced_outside || !keep;
    if (keep && reduced_outside) stage.config.slots *= node.size;
  }
  if (next != kept.size()) {
    scope.diagnostics.error(
        time.where,
        fmt::format(
            "contract_time: OutTime '{}' is not a part of Time '{}' in the same order and with "
            "the same padding ('{}' has no counterpart)",
            scope.text(time.mapping), scope.text(in.time), scope.text(Mapping({kept[next]}))),
        "leave out the reduced terms of Time, keep the others as they are and in their order");
    return std::nullopt;
  }
  stage.config.results = time.mapping.size();
  stage.config.capacity = scope.limits.accumulator_cells / (scope.limits.lanes * in.packet.size());
  stage.after.time = time.mapping;
  return stage;
}

namespace {

bool has_padding(const std::vector<Node>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const Node& node) { return node.padded || has_padding(node.inner); });
}

// The result of contract_time that packet `t` is added to.
uint64_t result_of(const TimeReduceConfig& time, uint64_t t) {
  uint64_t result = 0;
  uint64_t scale = 1;
  for (size_t i = time.loops.size(); i-- > 0;) {
    const TimeReduceConfig::Loop& loop = time.loops[i];
    if (!loop.reduced) {
      result += t % loop.size * scale;
      scale *= loop.size;
    }
    t /= loop.size;
  }
  return result;
}

}  // namespace

void warn_of_summed_padding(const StreamShape& shape, const TensorVersion& trf,
                            const OuterConfig& outer, const PacketReduceConfig& packet,
                            const TimeReduceConfig& time, const SourceLocation& where,
                            const LowerScope& scope) {
  constexpr uint64_t kMaxSearched = uint64_t{1} << 16;
  if (is_integer(outer.accumulator) || outer.packets > kMaxSearched / outer.packet_elements) return;
  const Mapping stream = Mapping::concat({shape.time, shape.packet});
  if (!has_padding(stream.nodes()) && !has_padding(trf.element.nodes())) return;
  struct Product {
    uint64_t sum = 0;  // it is added to; ~0: to none
    Cell stream, trf;
  };
  const auto zero = [](const Cell& cell) { return !cell.live && cell.pad == PadKind::kZero; };
  const auto product = [&](uint64_t i) {
    const uint64_t t = i / outer.packet_elements;
    const uint64_t p = i % outer.packet_elements;
    const uint64_t column = p >> packet.depth;
    Product result;
    result.sum =
        column < packet.columns ? result_of(time, t) * packet.columns + column : ~uint64_t{0};
    result.stream = stream.cell(i, scope.axes);
    const auto element =
        static_cast<uint64_t>(outer.trf_sequencer.offset(t)) + p % outer.read_elements;
    result.trf.live = false;  // past the end of the tensor
    if (element < trf.element.size()) result.trf = trf.element.cell(element, scope.axes);
    return result;
  };
  std::vector<bool> live(time.results * packet.columns, false);
  for (uint64_t i = 0; i < stream.size(); ++i) {
    const Product made = product(i);
    if (made.sum != ~uint64_t{0} && made.stream.live && made.trf.live) live[made.sum] = true;
  }
  for (uint64_t i = 0; i < stream.size(); ++i) {
    const Product made = product(i);
    if (made.sum == ~uint64_t{0} || !live[made.sum]) continue;
    const bool stream_unknown = !made.stream.live && !zero(made.stream) && zero(made.trf);
    const bool trf_unknown = !made.trf.live && !zero(made.trf) && zero(made.stream);
    if (!stream_unknown && !trf_unknown) continue;
    scope.diagnostics.warning(
        where,
        fmt::format(
            "contract_time: padding at position {} of OutTime '{}', OutPacket '{}' is summed; it "
            "adds zero only while {} holds no NaN or infinity there",
            i, scope.text(shape.time), scope.text(shape.packet),
            stream_unknown ? "the stream" : fmt::format("'{}'", trf.name)),
        "zero padding ('#{0}') of both operands is safe");
    return;
  }
}

bool check_slots(const TimeReduceConfig& reduce, uint64_t cells, const char* stage,
                 const std::string& holder, const std::string& hint, const SourceLocation& where,
                 const LowerScope& scope) {
  if (reduce.slots <= reduce.capacity) return true;
  scope.diagnostics.error(
      where,
      fmt::format("{}: the accumulator needs {} slots (the kept terms inside the outermost reduced "
                  "one); {} has {} ({} cells / {} a slot)",
                  stage, group_digits(reduce.slots), holder, reduce.capacity,
                  group_digits(scope.limits.accumulator_cells), cells),
      hint);
  return false;
}

std::optional<LoweredStage<LaneFoldConfig>> lower_lane_fold(
    const StreamShape& in, const Located<std::string>& mode, const std::optional<Declared>& time,
    const std::optional<Declared>& packet, TimeReduceConfig& reduce, const LowerScope& scope) {
  LoweredStage<LaneFoldConfig> stage{{}, in};
  LaneFoldConfig& config = stage.config;
  config.interleaved = mode.value == "interleaved";
  config.lanes = in.lane.size();
  config.columns = in.packet.size();
  const uint64_t bus = scope.limits.bus_elements;
  const uint64_t cells = config.interleaved ? scope.limits.lanes * config.columns
                                            : config.lanes * scope.limits.accumulator_columns;
  reduce.capacity = scope.limits.accumulator_cells / cells;
  if (!check_slots(reduce, cells, "contract_lane", mode.value + " mode",
                   config.interleaved
                       ? "move the reduced term inwards in Time, or reduce more of the packet"
                       : "move the reduced term inwards in Time, or use fewer lanes",
                   mode.where, scope)) {
    return std::nullopt;
  }
  Mapping derived_time;
  Mapping derived_packet;
  if (config.interleaved) {
    config.flits_per_result = config.columns;
    derived_time = Mapping::concat({in.time, in.packet});
    derived_packet = in.lane.pad(bus, PadKind::kTop);
  } else {
    const uint64_t padded = (config.columns + bus - 1) / bus * bus;
    config.flits_per_result = config.lanes * (padded / bus);
    const Mapping all = in.packet.pad(padded, PadKind::kTop);
    const auto parts = divide(all, bus, scope);
    if (!parts) {
      scope.diagnostics.error(
          mode.where,
          fmt::format(
              "contract_lane: flits of {} elements cut Packet '{}' ({} columns) where no OutTime "
              "and OutPacket describe the parts",
              bus, scope.text(all), all.size()),
          fmt::format("end the live part of the packet at a multiple of {} columns", bus));
      return std::nullopt;
    }
    derived_time = Mapping::concat({in.time, in.lane, parts->first});
    derived_packet = parts->second;
  }
  config.flits = reduce.results * config.flits_per_result;
  bool good = true;
  const auto agree = [&](const std::optional<Declared>& declared, const Mapping& derived,
                         const char* dimension) {
    if (!declared) return derived;
    if (scope.same(declared->mapping, derived)) {
      good = promises_no_zero(*declared, derived, "contract_lane", dimension, scope) && good;
      return declared->mapping;
    }
    scope.diagnostics.error(
        declared->where,
        fmt::format("contract_lane: {} is '{}' (size {}), but {} mode makes '{}' (size {})",
                    dimension, scope.text(declared->mapping),
                    group_digits(declared->mapping.size()), mode.value, scope.text(derived),
                    group_digits(derived.size())),
        config.interleaved
            ? "interleaved: OutTime = [Time, Packet], OutPacket = [Lane # 8]"
            : "sequential: OutTime = [Time, Lane, Packet / 8], OutPacket = [Packet % 8]");
    good = false;
    return derived;
  };
  stage.after.time = agree(time, derived_time, "OutTime");
  stage.after.packet = agree(packet, derived_packet, "OutPacket");
  stage.after.lane = Mapping();
  if (!good) return std::nullopt;
  return stage;
}

}  // namespace rngdsim
