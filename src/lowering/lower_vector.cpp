// SPDX-License-Identifier: Apache-2.0
// The Vector Engine: narrow, intra-slice reduce, widen. Its other stages: vector_chain.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "lowering/lower_vcg.h"
#include "lowering/stages.h"
#include "support/text.h"

namespace rngdsim {
namespace {

bool is_wide(const StreamShape& in, uint64_t elements, const char* stage,
             const SourceLocation& where, const LowerScope& scope) {
  if (in.packet.size() == elements) return true;
  const char* hint = "";
  if (elements == kVectorStep && in.packet.size() == kVectorFlit) {
    hint = "vector_narrow_split or vector_narrow_trim makes steps of 4 of a flit of 8";
  } else if (elements == kVectorFlit && in.packet.size() == kVectorStep) {
    hint = "vector_widen_concat or vector_widen_pad makes flits of 8 again";
  }
  scope.diagnostics.error(
      where,
      fmt::format("{}: takes {} elements at a time; Packet '{}' has {}", stage, elements,
                  scope.text(in.packet), group_digits(in.packet.size())),
      hint);
  return false;
}

// Whether position `i` of `mapping` holds an element whatever other dimensions say.
bool may_hold(const Mapping& mapping, uint64_t i, const LowerScope& scope) {
  return mapping.cell(i, scope.axes).live;
}

bool has_axis(const std::vector<Node>& nodes, AxisId axis) {
  return std::any_of(nodes.begin(), nodes.end(), [axis](const Node& node) {
    return (node.kind == Node::Kind::kDigit && node.axis == axis) || has_axis(node.inner, axis);
  });
}

// Time without the terms of an axis; nothing (and an error) where a term holds other axes too.
std::optional<Mapping> time_without(const Mapping& time, AxisId axis, const ReduceStage& stage,
                                    const LowerScope& scope) {
  std::vector<Node> kept;
  for (const Node& node : time.nodes()) {
    if (!has_axis({node}, axis)) {
      kept.push_back(node);
      continue;
    }
    const Mapping term({node});
    const std::vector<AxisId> axes = axes_of({&term}, scope.axes);
    if (axes.size() > 1 || node.kind == Node::Kind::kStrided || node.kind == Node::Kind::kFirst) {
      scope.diagnostics.error(
          stage.where,
          fmt::format("vector_intra_slice_reduce: the term '{}' of Time holds axis {} and more",
                      scope.text(Mapping({node})), scope.axes.name(axis)),
          "let every term of Time be of one axis");
      return std::nullopt;
    }
  }
  return Mapping(std::move(kept));
}

// By the axis, not by comparing cells: a term of which one position lives looks like any padding.
TimeReduceConfig reduced_loops(const Mapping& time, AxisId axis) {
  TimeReduceConfig config;
  bool inside = false;  // of a reduced loop
  for (const Node& node : time.nodes()) {
    const bool reduced = has_axis({node}, axis);
    config.loops.push_back({node.size, reduced});
    inside = inside || reduced;
    if (inside && !reduced) config.slots *= node.size;
  }
  return config;
}

std::optional<ReduceOp> op_of(const Located<std::string>& op, DType dtype,
                              const LowerScope& scope) {
  const bool floats = dtype == DType::kF32;
  for (const ReduceOp known : {ReduceOp::kAdd, ReduceOp::kAddSat, ReduceOp::kMax, ReduceOp::kMin}) {
    if (op.value != name(known)) continue;
    if (known != (floats ? ReduceOp::kAddSat : ReduceOp::kAdd)) return known;
    scope.diagnostics.error(
        op.where,
        fmt::format("vector_intra_slice_reduce: {} has no '{}'", rngdsim::name(dtype), op.value),
        floats ? "f32 has add, max, min" : "i32 has add_sat, max, min");
  }
  return std::nullopt;
}

}  // namespace

std::optional<StreamShape> lower_narrow_split(const StreamShape& in,
                                              const std::optional<Declared>& time,
                                              const std::optional<Declared>& packet,
                                              const SourceLocation& where,
                                              const LowerScope& scope) {
  if (!is_wide(in, kVectorFlit, "vector_narrow_split", where, scope)) return std::nullopt;
  const auto parts = divide(in.packet, kVectorStep, scope);
  if (!parts) {
    scope.diagnostics.error(
        where,
        fmt::format("vector_narrow_split: no two mappings describe the halves of Packet '{}'",
                    scope.text(in.packet)),
        "let the packet be [outer 2, inner 4]");
    return std::nullopt;
  }
  const Mapping derived = Mapping::concat({in.time, parts->first});
  const auto out_time = agreed(time, derived, "vector_narrow_split", "Time", scope);
  const auto out_packet = agreed(packet, parts->second, "vector_narrow_split", "Packet", scope);
  if (!out_time || !out_packet) return std::nullopt;
  StreamShape after = in;
  after.time = *out_time;
  after.packet = *out_packet;
  return after;
}

std::optional<StreamShape> lower_narrow_trim(const StreamShape& in, const Declared& packet,
                                             const SourceLocation& where, const LowerScope& scope) {
  if (!is_wide(in, kVectorFlit, "vector_narrow_trim", where, scope)) return std::nullopt;
  for (uint64_t i = kVectorStep; i < kVectorFlit; ++i) {
    if (!may_hold(in.packet, i, scope)) continue;
    scope.diagnostics.error(
        where,
        fmt::format("vector_narrow_trim: keeps the front {} of {} elements, but position {} of "
                    "Packet '{}' holds {}",
                    kVectorStep, kVectorFlit, i, scope.text(in.packet),
                    to_string(in.packet.cell(i, scope.axes), scope.axes)),
        "vector_narrow_split keeps both halves");
    return std::nullopt;
  }
  const auto out =
      agreed(packet, in.packet.resize(kVectorStep), "vector_narrow_trim", "Packet", scope);
  if (!out) return std::nullopt;
  StreamShape after = in;
  after.packet = *out;
  return after;
}

std::optional<LoweredStage<VectorConfig::Reduce>> lower_intra_slice_reduce(
    const StreamShape& in, const StreamShape& flits, const ReduceStage& stage,
    const LowerScope& scope) {
  const char* const name = "vector_intra_slice_reduce";
  if (!is_wide(in, kVectorStep, name, stage.where, scope)) return std::nullopt;
  const auto op = op_of(stage.op, in.dtype, scope);
  const auto kept = time_without(in.time, stage.axis, stage, scope);
  if (!op || !kept) return std::nullopt;
  const bool in_packet = has_axis(in.packet.nodes(), stage.axis);
  if (kept->size() == in.time.size() && !in_packet) {
    scope.diagnostics.error(
        stage.axis_where,
        fmt::format("{}: axis {} is neither in Time '{}' nor in Packet '{}'", name,
                    scope.axes.name(stage.axis), scope.text(in.time), scope.text(in.packet)),
        "the part of it in Slice stays");
    return std::nullopt;
  }
  const Mapping one = Mapping().pad(kVectorStep, PadKind::kTop);
  const auto out_time = agreed(stage.time, *kept, name, "Time", scope);
  const auto out_packet = agreed(stage.packet, in_packet ? one : in.packet, name, "Packet", scope);
  if (!out_time || !out_packet) return std::nullopt;
  std::vector<AxisId> tracked = {stage.axis};
  tracked.insert(tracked.end(), stage.tracked.begin(), stage.tracked.end());
  const auto vcg = lower_vcg(flits, tracked, stage.where, scope);
  if (!vcg) return std::nullopt;
  LoweredStage<VectorConfig::Reduce> result{{stage.axis, *op, {}, in_packet, *vcg, in.dtype}, in};
  result.config.time = reduced_loops(in.time, stage.axis);
  result.config.time.results = kept->size();
  result.config.time.capacity = scope.limits.reduce_slots;
  result.after.time = *out_time;
  if (result.config.time.slots > result.config.time.capacity) {
    scope.diagnostics.error(
        stage.where,
        fmt::format(
            "{}: needs {} slots (the kept terms inside the outermost reduced one); {} exist", name,
            group_digits(result.config.time.slots), result.config.time.capacity),
        "move the reduced term inwards in Time");
    return std::nullopt;
  }
  result.after.packet = *out_packet;
  return result;
}

std::optional<StreamShape> lower_widen_concat(const StreamShape& in,
                                              const std::optional<Declared>& time,
                                              const std::optional<Declared>& packet,
                                              const SourceLocation& where,
                                              const LowerScope& scope) {
  if (!is_wide(in, kVectorStep, "vector_widen_concat", where, scope)) return std::nullopt;
  const auto parts = in.time.size() % 2 == 0 ? divide(in.time, 2, scope) : std::nullopt;
  if (!parts) {
    scope.diagnostics.error(
        where,
        fmt::format("vector_widen_concat: joins two steps, but the innermost term of Time "
                    "'{}' is no multiple of 2",
                    scope.text(in.time)),
        "vector_widen_pad fills up each step");
    return std::nullopt;
  }
  const auto out_time = agreed(time, parts->first, "vector_widen_concat", "Time", scope);
  const auto out_packet = agreed(packet, Mapping::concat({parts->second, in.packet}),
                                 "vector_widen_concat", "Packet", scope);
  if (!out_time || !out_packet) return std::nullopt;
  StreamShape after = in;
  after.time = *out_time;
  after.packet = *out_packet;
  return after;
}

std::optional<StreamShape> lower_widen_pad(const StreamShape& in,
                                           const std::optional<Declared>& packet,
                                           const SourceLocation& where, const LowerScope& scope) {
  if (!is_wide(in, kVectorStep, "vector_widen_pad", where, scope)) return std::nullopt;
  const auto out = agreed(packet, in.packet.pad(kVectorFlit, PadKind::kTop), "vector_widen_pad",
                          "Packet", scope);
  if (!out) return std::nullopt;
  StreamShape after = in;
  after.packet = *out;
  return after;
}

}  // namespace rngdsim
