// SPDX-License-Identifier: Apache-2.0
// The inter-slice reducer: which slices are folded, and where the results go.
#include <fmt/format.h>

#include <algorithm>

#include "lowering/vector_chain.h"
#include "support/text.h"

namespace rngdsim {
namespace {

const char* const kName = "vector_inter_slice_reduce";

bool has_digit(const std::vector<Node>& nodes, const Node& digit) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return node.kind == Node::Kind::kDigit && node.axis == digit.axis &&
           node.stride == digit.stride && node.size == digit.size;
  });
}

bool has_axis(const Mapping& mapping, AxisId axis, const AxisTable& axes) {
  const std::vector<AxisId> of = axes_of({&mapping}, axes);
  return std::find(of.begin(), of.end(), axis) != of.end();
}

class InterSliceLowering {
 public:
  InterSliceLowering(const StreamShape& in, const InterSliceStage& stage, const LowerScope& scope)
      : in_(in), stage_(stage), scope_(scope), after_(in) {}

  std::optional<LoweredInterSlice> run() {
    if (!set_op() || !find_groups()) return std::nullopt;
    if (!check_innermost() || !check_reduced() || !check_slots() || !divide_time())
      return std::nullopt;
    set_slots();
    after_.slice = stage_.slice.mapping;
    config_.dtype = in_.dtype;
    config_.flits = in_.time.size();
    config_.results = after_.time.size();
    return LoweredInterSlice{config_, after_};
  }

 private:
  bool error(const SourceLocation& where, const std::string& message,
             const std::string& hint = "") const {
    scope_.diagnostics.error(where, fmt::format("{}: {}", kName, message), hint);
    return false;
  }
  std::string text(const Mapping& mapping) const { return "'" + scope_.text(mapping) + "'"; }

  bool set_op() {
    const bool floats = in_.dtype == DType::kF32;
    for (const ReduceOp op :
         {ReduceOp::kAdd, ReduceOp::kAddSat, ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kMul}) {
      if (stage_.op.value != name(op)) continue;
      config_.op = op;
      if (op != (floats ? ReduceOp::kAddSat : ReduceOp::kMul)) return true;
    }
    return error(stage_.op.where, fmt::format("{} has no '{}'", name(in_.dtype), stage_.op.value),
                 floats ? "f32 has add, max, min, mul" : "i32 has add, add_sat, max, min");
  }

  // The smallest groups of innermost slices outside of which nothing changes.
  bool find_groups() {
    const Mapping& from = in_.slice;
    const Mapping& to = stage_.slice.mapping;
    if (from.size() != to.size()) {
      return error(stage_.slice.where,
                   fmt::format("OutSlice {} has {} positions, Slice {} has {}", text(to), to.size(),
                               text(from), from.size()),
                   "the slot of what is reduced stays: '1 # n', a new axis, or one from Time");
    }
    if (scope_.same(from, to)) {
      return error(stage_.slice.where,
                   fmt::format("OutSlice {} is Slice: nothing is reduced", text(to)));
    }
    for (uint64_t ratio = 2; ratio <= from.size(); ++ratio) {
      if (from.size() % ratio != 0) continue;
      const auto in_parts = divide(from, ratio, scope_);
      const auto out_parts = divide(to, ratio, scope_);
      if (!in_parts || !out_parts || !scope_.same(in_parts->first, out_parts->first)) continue;
      config_.ratio = ratio;
      reduced_ = in_parts->second;
      slots_ = out_parts->second;
      kept_ = in_parts->first;
      return true;
    }
    return error(stage_.slice.where,
                 fmt::format("Slice {} and OutSlice {} have no outer part in common that can be "
                             "divided off",
                             text(from), text(to)),
                 "what is reduced must be the innermost terms of Slice");
  }

  // What vanishes is innermost: nothing of it is left inside of it.
  bool check_innermost() const {
    for (const AxisId axis : axes_of({&slots_}, scope_.axes)) {
      if (!has_axis(reduced_, axis, scope_.axes)) continue;
      return error(stage_.slice.where,
                   fmt::format("the innermost terms {} of Slice are reduced, but axis {} is in {} "
                               "of OutSlice",
                               text(reduced_), scope_.axes.name(axis), text(slots_)),
                   "what is reduced must be the innermost terms of Slice");
    }
    return true;
  }

  // All slices of a group are folded, whatever they hold.
  bool check_reduced() const {
    for (uint64_t i = 0; i < config_.ratio; ++i) {
      if (reduced_.cell(i, scope_.axes).live) continue;
      return error(stage_.where,
                   fmt::format("folds all {} slices of a group, but position {} of {} is padding",
                               config_.ratio, i, text(reduced_)),
                   "reduce an axis without padding in Slice");
    }
    for (const AxisId axis : axes_of({&reduced_}, scope_.axes)) {
      const uint64_t size = scope_.axes.size(axis);
      if (!has_axis(in_.time, axis, scope_.axes) && !has_axis(in_.packet, axis, scope_.axes)) {
        continue;
      }
      for (const Node& node : in_.slice.nodes()) {
        const bool overshoots = node.kind == Node::Kind::kDigit && node.axis == axis &&
                                node.stride * node.live > size && node.stride < size &&
                                size % node.stride != 0;
        if (!overshoots) continue;
        return error(stage_.where,
                     fmt::format("folds all {} slices of a group, but axis {} (size {}) does not "
                                 "fill {}",
                                 config_.ratio, scope_.axes.name(axis), size, text(in_.slice)));
      }
    }
    return true;
  }

  // Each term of the freed slot is padding, a broadcast, a new axis, or an axis of Time.
  bool check_slots() {
    const DigitCuts cuts = cuts_of({&in_.time, &slots_});
    terms_ = refined(slots_.nodes(), cuts);
    times_ = refined(in_.time.nodes(), cuts);
    for (const Node& term : terms_) {
      if (term.kind == Node::Kind::kBroadcast) continue;
      if (term.kind != Node::Kind::kDigit) {
        return error(stage_.slice.where,
                     fmt::format("the term {} of OutSlice is no single digit of an axis",
                                 text(Mapping({term}))),
                     "let every term of the freed slot be padding, a broadcast or one digit");
      }
      if (has_digit(times_, term)) continue;
      const std::string axis = scope_.axes.name(term.axis);
      for (const auto& [dimension, mapping] :
           {std::pair<const char*, const Mapping*>{"Chip", &in_.chip},
            {"Cluster", &in_.cluster},
            {"Slice", &kept_},
            {"Time", &in_.time},
            {"Packet", &in_.packet}}) {
        if (!has_axis(*mapping, term.axis, scope_.axes)) continue;
        return error(stage_.slice.where,
                     fmt::format("the term {} of OutSlice is neither new nor a term of Time; {} {} "
                                 "holds axis {} already",
                                 text(Mapping({term})), dimension, text(*mapping), axis),
                     "a freed slot takes '1 # n', a new axis, or a term of Time");
      }
    }
    return true;
  }

  bool divide_time() {
    std::vector<Node> survivors;
    for (const Node& node : times_) {
      if (!promoted(node)) survivors.push_back(node);
    }
    const auto out = agreed(stage_.time, Mapping(survivors), kName, "Time", scope_);
    if (!out) return false;
    after_.time = *out;
    uint64_t out_stride = 1, slot_stride = 1;
    for (size_t i = times_.size(); i-- > 0;) {
      InterSliceConfig::Loop loop;
      loop.size = times_[i].size;
      uint64_t& stride = promoted(times_[i]) ? slot_stride : out_stride;
      (promoted(times_[i]) ? loop.slot_stride : loop.out_stride) = stride;
      if (promoted(times_[i])) slot_strides_.emplace_back(&times_[i], stride);
      stride *= loop.size;
      config_.loops.insert(config_.loops.begin(), loop);
    }
    return true;
  }
  bool promoted(const Node& node) const {
    return node.kind == Node::Kind::kDigit && has_digit(terms_, node);
  }

  void set_slots() {
    for (uint64_t q = 0; q < config_.ratio; ++q) {
      if (!slots_.cell(q, scope_.axes).live) {
        config_.slots.push_back(-1);
        continue;
      }
      int64_t slot = 0;
      uint64_t rest = q;
      for (size_t i = terms_.size(); i-- > 0;) {
        const uint64_t digit = rest % terms_[i].size;
        rest /= terms_[i].size;
        for (const auto& [node, stride] : slot_strides_) {
          if (terms_[i].kind == Node::Kind::kDigit && has_digit({*node}, terms_[i])) {
            slot += static_cast<int64_t>(digit * stride);
          }
        }
      }
      config_.slots.push_back(slot);
    }
  }

  const StreamShape& in_;
  const InterSliceStage& stage_;
  const LowerScope& scope_;
  StreamShape after_;
  InterSliceConfig config_;
  Mapping kept_, reduced_, slots_;   // outer part of both; inner parts of Slice, OutSlice
  std::vector<Node> terms_, times_;  // of slots_ and Time, cut where the other is
  std::vector<std::pair<const Node*, uint64_t>> slot_strides_;  // of promoted terms of Time
};

}  // namespace

std::optional<LoweredInterSlice> lower_inter_slice(const StreamShape& in,
                                                   const InterSliceStage& stage,
                                                   const LowerScope& scope) {
  return InterSliceLowering(in, stage, scope).run();
}

}  // namespace rngdsim
