// SPDX-License-Identifier: Apache-2.0
#include "lowering/vector_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "config/vector_stages.h"
#include "lowering/stages.h"
#include "numeric/dtype.h"
#include "support/text.h"

namespace rngdsim {
namespace {

constexpr size_t kMaxConstants = 3;  // immediate registers of a pass [B]

uint8_t group_mask(size_t group) { return group == 0 ? 0 : kGroupBit; }

bool is_register(const VectorOperand& operand) {
  return operand.kind == VectorOperand::Kind::kVrf || operand.kind == VectorOperand::Kind::kStash;
}

}  // namespace

VectorChain::VectorChain(VectorConfig& config, const StreamShape& entry, const LowerScope& scope,
                         const std::vector<TensorVersion>& tensors, FindVrf find_vrf)
    : config_(config),
      scope_(scope),
      tensors_(tensors),
      find_vrf_(std::move(find_vrf)),
      flits_(entry) {
  config_.dtype = entry.dtype;
  config_.flits = config_.steps = config_.results = entry.time.size();
}

void VectorChain::error(const SourceLocation& where, const std::string& message,
                        const std::string& hint) {
  scope_.diagnostics.error(where, message, hint);
  faulty_ = true;
}

void VectorChain::move_to(At at) { at_ = at; }

// The place of a step: the later 8-way one where nothing narrows the chain, too, so that front and
// back follow each other.
std::vector<VectorStep>& VectorChain::segment() {
  if (!eight_way_) return config_.reduce ? config_.after_reduce : config_.middle;
  const bool late = config_.narrow != VectorConfig::Narrow::kNone || !config_.back.empty() ||
                    at_ == At::kFpToFxp || at_ == At::kClip || at_ == At::kFilter;
  return late ? config_.back : config_.front;
}

const Mapping& VectorChain::passing(const StreamShape& shape) const {
  return pair_ == Pair::kOpen ? paired_time_ : shape.time;
}

bool VectorChain::lower(const StageDecl& stage, const StageMappings& mappings, StreamShape& shape) {
  if (at_ == At::kStart && shape.dtype != DType::kI32 && shape.dtype != DType::kF32) {
    error(stage.where,
          fmt::format("{}: the Vector Engine takes i32 and f32, not {}", stage.name,
                      rngdsim::name(shape.dtype)),
          "fetch_cast widens elements on their way in");
    return false;
  }
  if (stage.name == "vector_stash") {
    stash(stage, shape);
    return true;
  }
  if (stage.name == "vector_reinterpret") return reinterpret(stage, shape);
  const bool inter = stage.name == "vector_inter_slice_reduce";
  if (!inter) config_.chain = true;
  const bool known = structure(stage, mappings, shape);
  if (known && !inter) {
    config_.results = passing(shape).size();
    config_.steps = std::max(config_.steps, config_.results);
  }
  return known;
}

bool VectorChain::structure(const StageDecl& stage, const StageMappings& mappings,
                            StreamShape& shape) {
  const std::string& name = stage.name;
  if (name == "vector_tag") return tag(stage, shape);
  if (name == "vector_unzip") return unzip(stage, mappings, shape);
  if (name == "vector_narrow_split" || name == "vector_narrow_trim") {
    return narrow(stage, mappings, shape);
  }
  if (name == "vector_widen_concat" || name == "vector_widen_pad") {
    return widen(stage, mappings, shape);
  }
  if (name == "vector_intra_slice_reduce") return reduce(stage, mappings, shape);
  if (name == "vector_inter_slice_reduce") return inter_slice(stage, mappings, shape);
  if (name == "vector_fxp_to_fp" || name == "vector_fp_to_fxp") return convert(stage, shape);
  if (name == "vector_filter") {
    if (!has_flits(stage, shape, true)) return false;
    filter(stage);
    move_to(At::kFilter);
    return true;
  }
  const bool four_way = name == "vector_fp" || name == "vector_fp_div";
  if (!has_flits(stage, shape, !four_way)) return false;
  arithmetic(stage, shape);
  return true;
}

// --- Stages that change the form of the stream ---------------------------------------------------

bool VectorChain::has_flits(const StageDecl& stage, const StreamShape& shape, bool eight_way) {
  const uint64_t elements = eight_way ? kVectorFlit : kVectorStep;
  if (shape.packet.size() == elements) return true;
  const char* hint = "";
  if (!eight_way && shape.packet.size() == kVectorFlit) {
    hint = "vector_narrow_split or vector_narrow_trim makes steps of 4 of a flit of 8";
  } else if (eight_way && shape.packet.size() == kVectorStep) {
    hint = "vector_widen_concat or vector_widen_pad makes flits of 8 again";
  }
  error(stage.where,
        fmt::format("{}: takes {} elements at a time; Packet '{}' has {}", stage.name, elements,
                    scope_.text(shape.packet), group_digits(shape.packet.size())),
        hint);
  return false;
}

bool VectorChain::tag(const StageDecl& stage, const StreamShape& shape) {
  if (!has_flits(stage, shape, true)) return false;
  move_to(At::kTag);
  config_.dtype = shape.dtype;  // behind the inter-slice reducer perhaps read otherwise
  if (!stage.vector.comparison) return true;
  config_.tags = std::array<VectorConfig::Compare, 4>{};
  for (size_t bit = 0; bit < config_.tags->size(); ++bit) {
    const CompareDecl& decl = (*stage.vector.comparison)[bit];
    VectorConfig::Compare& compare = (*config_.tags)[bit];
    compare.op = decl.op;
    if (decl.op == CompareOp::kTrue || decl.op == CompareOp::kFalse) continue;
    if (const auto bits = constant("vector_tag", decl.boundary, shape.dtype)) {
      compare.boundary = *bits;
    }
  }
  return true;
}

bool VectorChain::unzip(const StageDecl& stage, const StageMappings& mappings, StreamShape& shape) {
  if (!has_flits(stage, shape, true)) return false;
  const AxisId axis = *scope_.axes.find(stage.vector.axis->value);
  const SourceLocation& where = stage.vector.axis->where;
  const std::string& axis_name = stage.vector.axis->value;
  if (scope_.axes.size(axis) != 2) {
    error(where, fmt::format("vector_unzip: axis {} has size {}; two groups need size 2", axis_name,
                             group_digits(scope_.axes.size(axis))));
    return false;
  }
  std::vector<Node> nodes = shape.time.nodes();
  const bool innermost = !nodes.empty() && nodes.back().kind == Node::Kind::kDigit &&
                         nodes.back().axis == axis && nodes.back().size == 2;
  if (!innermost) {
    error(where,
          fmt::format("vector_unzip: axis {} must be the innermost term of Time '{}', so that the "
                      "groups alternate flit by flit",
                      axis_name, scope_.text(shape.time)),
          "fetch the two groups next to each other: time: \"..., I\"");
    return false;
  }
  nodes.pop_back();
  const Mapping group(nodes);
  const Mapping tile = Mapping::concat({group, Mapping().pad(2, PadKind::kTop)});
  if (!agreed(mappings.slice, tile, "vector_unzip", "the tile of a group", scope_)) return false;
  const auto time = agreed(mappings.time, group, "vector_unzip", "Time", scope_);
  if (!time) return false;
  config_.pair = true;
  config_.pair_axis = axis;
  pair_ = Pair::kOpen;
  paired_time_ = shape.time;
  shape.time = *time;
  move_to(At::kTag);
  return true;
}

bool VectorChain::narrow(const StageDecl& stage, const StageMappings& mappings,
                         StreamShape& shape) {
  const bool split = stage.name == "vector_narrow_split";
  if (!split && pair_ == Pair::kOpen) {
    error(stage.where, "vector_narrow_trim: not in pair mode",
          "vector_narrow_split, or zip the groups first");
    return false;
  }
  const auto after =
      split ? lower_narrow_split(shape, mappings.time, mappings.packet, stage.where, scope_)
            : lower_narrow_trim(shape, *mappings.packet, stage.where, scope_);
  if (!after) {
    faulty_ = true;
    return false;
  }
  config_.narrow = split ? VectorConfig::Narrow::kSplit : VectorConfig::Narrow::kTrim;
  if (pair_ == Pair::kOpen) {
    paired_time_ = Mapping::concat({paired_time_, after->time.modulo(2)});
  }
  shape = *after;
  eight_way_ = false;
  move_to(At::kNarrow);
  return true;
}

bool VectorChain::widen(const StageDecl& stage, const StageMappings& mappings, StreamShape& shape) {
  const bool concat = stage.name == "vector_widen_concat";
  if (!concat && pair_ == Pair::kOpen) {
    error(stage.where, "vector_widen_pad: not in pair mode",
          "vector_widen_concat, or zip the groups first");
    return false;
  }
  const auto after =
      concat ? lower_widen_concat(shape, mappings.time, mappings.packet, stage.where, scope_)
             : lower_widen_pad(shape, mappings.packet, stage.where, scope_);
  if (!after) {
    faulty_ = true;
    return false;
  }
  config_.widen = concat ? VectorConfig::Widen::kConcat : VectorConfig::Widen::kPad;
  if (pair_ == Pair::kOpen) paired_time_ = paired_time_.stride(2);
  shape = *after;
  eight_way_ = true;
  move_to(At::kWiden);
  return true;
}

bool VectorChain::reduce(const StageDecl& stage, const StageMappings& mappings,
                         StreamShape& shape) {
  if (pair_ == Pair::kOpen) {
    error(stage.where, "vector_intra_slice_reduce: not on two groups", "zip them first");
    return false;
  }
  ReduceStage reduce;
  reduce.op = *stage.vector.op;
  reduce.axis = *scope_.axes.find(stage.label->value);
  reduce.axis_where = stage.label->where;
  for (const Located<std::string>& axis : stage.track) {
    const AxisId id = *scope_.axes.find(axis.value);
    if (id != reduce.axis) reduce.tracked.push_back(id);
  }
  reduce.time = mappings.time;
  reduce.packet = mappings.packet;
  reduce.where = stage.where;
  const auto lowered = lower_intra_slice_reduce(shape, flits_, reduce, scope_);
  if (!lowered) {
    faulty_ = true;
    return false;
  }
  config_.reduce = lowered->config;
  shape = lowered->after;
  move_to(At::kReduce);
  return true;
}

bool VectorChain::inter_slice(const StageDecl& stage, const StageMappings& mappings,
                              StreamShape& shape) {
  if (!has_flits(stage, shape, true)) return false;
  if (pair_ == Pair::kOpen) {
    error(stage.where, "vector_inter_slice_reduce: not on two groups", "zip them first");
    return false;
  }
  if (at_ == At::kTag || at_ == At::kFilter) {
    error(stage.where,
          fmt::format("vector_inter_slice_reduce: cannot be entered from {}",
                      at_ == At::kTag ? "vector_tag" : "vector_filter"),
          "it is entered from the start, logic, fxp, fxp_to_fp, a widen stage, fp_to_fxp or clip");
  }
  const auto lowered = lower_inter_slice(
      shape, {*stage.vector.op, *mappings.slice, mappings.time, stage.where}, scope_);
  if (!lowered) {
    faulty_ = true;
    return false;
  }
  config_.inter = lowered->config;
  config_.inter_first = at_ == At::kStart;
  if (!config_.inter_first) config_.result_dtype = shape.dtype;
  shape = lowered->after;
  if (at_ == At::kStart) {  // the chain, if one follows, begins with what the reducer gives
    config_.chain = false;
    flits_ = shape;
    config_.flits = config_.steps = config_.results = shape.time.size();
    return true;
  }
  move_to(At::kInterSlice);
  return true;
}

// --- Stages that change elements -----------------------------------------------------------------

bool VectorChain::takes(const StageDecl& stage, const StreamShape& shape, DType dtype,
                        const char* hint) {
  if (shape.dtype == dtype) return true;
  error(stage.where,
        fmt::format("{}: takes {}, but the stream is of {}", stage.name, rngdsim::name(dtype),
                    rngdsim::name(shape.dtype)),
        hint);
  return false;
}

bool VectorChain::convert(const StageDecl& stage, StreamShape& shape) {
  if (!has_flits(stage, shape, true)) return false;
  const bool to_float = stage.name == "vector_fxp_to_fp";
  const DType from = to_float ? DType::kI32 : DType::kF32;
  if (!takes(stage, shape, from, "vector_reinterpret reads the bits as the other type")) {
    return false;
  }
  move_to(to_float ? At::kFxpToFp : At::kFpToFxp);
  VectorStep step;
  step.kind = to_float ? VectorStep::Kind::kFxpToFp : VectorStep::Kind::kFpToFxp;
  step.dtype = from;
  step.int_width = static_cast<uint32_t>(stage.vector.int_width->value);
  segment().push_back(step);
  shape.dtype = to_float ? DType::kF32 : DType::kI32;
  return true;
}

bool VectorChain::reinterpret(const StageDecl& stage, StreamShape& shape) {
  const DType to = stage.dtype->value;
  if (to != DType::kI32 && to != DType::kF32) {
    error(stage.dtype->where,
          fmt::format("vector_reinterpret: reads the bits as i32 or f32, not as {}",
                      rngdsim::name(to)));
    return false;
  }
  shape.dtype = to;
  return true;
}

void VectorChain::stash(const StageDecl& stage, const StreamShape& shape) {
  static const std::map<At, const char*> kWithoutPort = {
      {At::kStart, "the start of the chain"},      {At::kFxpToFp, "vector_fxp_to_fp"},
      {At::kReduce, "vector_intra_slice_reduce"},  {At::kWiden, "a widen stage"},
      {At::kFpToFxp, "vector_fp_to_fxp"},          {At::kFilter, "vector_filter"},
      {At::kInterSlice, "the inter-slice reducer"}};
  if (const auto at = kWithoutPort.find(at_); at != kWithoutPort.end()) {
    error(stage.where, fmt::format("vector_stash: nothing can be stashed behind {}", at->second),
          "the stash is written behind tag, logic, fxp, narrow, fp, fp_div or clip");
  }
  if (pair_ != Pair::kNone) {
    error(stage.where, "vector_stash: pair mode has no stash");
    return;
  }
  if (stash_) {
    error(stage.where,
          fmt::format("vector_stash: the stash is written once; line {} has done it",
                      stash_->where.line),
          "what is needed twice belongs into the VRF");
    return;
  }
  stash_ = Stash{shape.dtype, eight_way_, config_.reduce.has_value(), stage.where, false};
  VectorStep step;
  step.kind = VectorStep::Kind::kStash;
  step.dtype = shape.dtype;
  segment().push_back(step);
}

void VectorChain::filter(const StageDecl& stage) {
  if (pair_ != Pair::kNone) {
    error(stage.where, "vector_filter: pair mode has no filter");
    return;
  }
  const auto only = guard(stage, stage.vector.guard);
  if (!only) return;
  move_to(At::kFilter);
  VectorStep step;
  step.kind = VectorStep::Kind::kFilter;
  step.slots.push_back({*only, {}, 0});
  check_reachable(stage, step, {stage.vector.guard->where});
  config_.back.push_back(step);
}

void VectorChain::arithmetic(const StageDecl& stage, StreamShape& shape) {
  static const std::map<std::string, At> kPlaces = {{"vector_logic", At::kLogic},
                                                    {"vector_fxp", At::kFxp},
                                                    {"vector_fp", At::kFp},
                                                    {"vector_fp_div", At::kFpDiv},
                                                    {"vector_clip", At::kClip}};
  move_to(kPlaces.at(stage.name));
  const std::string op = stage.vector.op ? stage.vector.op->value : "div_f";
  const SourceLocation& where = stage.vector.op ? stage.vector.op->where : stage.where;
  const VectorOpRule* rule = nullptr;
  std::vector<std::string> others;
  for (const VectorOpRule& candidate : vector_op_rules()) {
    if (stage.name != candidate.stage || candidate.dtype != shape.dtype) continue;
    others.emplace_back(candidate.name);
    if (op == candidate.name) rule = &candidate;
  }
  if (rule == nullptr) {
    error(where,
          others.empty()
              ? fmt::format("{}: takes {}, but the stream is of {}", stage.name,
                            shape.dtype == DType::kF32 ? "i32" : "f32", rngdsim::name(shape.dtype))
              : fmt::format("{}: {} has no '{}'", stage.name, rngdsim::name(shape.dtype), op),
          others.empty()
              ? "vector_fxp_to_fp and vector_fp_to_fxp convert, vector_reinterpret "
                "reads the bits as the other type"
              : fmt::format("{} has {}", rngdsim::name(shape.dtype), fmt::join(others, ", ")));
    return;
  }
  VectorStep step;
  step.op = rule->op;
  step.dtype = shape.dtype;
  const int operands = operand_count(step.op);
  step.kind = operands == 1   ? VectorStep::Kind::kUnary
              : operands == 2 ? VectorStep::Kind::kBinary
                              : VectorStep::Kind::kTernary;
  set_alu(stage, rule->alus, step);
  const bool zips = stage.vector.zip && stage.vector.zip->value;
  if (zips) step.kind = VectorStep::Kind::kZip;
  set_arguments(stage, step);
  if (zips) {
    zip(stage, step);
  } else {
    set_slots(stage, shape, step);
  }
  segment().push_back(std::move(step));
}

void VectorChain::set_alu(const StageDecl& stage, const std::vector<Alu>& alus, VectorStep& step) {
  std::vector<Alu> choices = alus;
  if (stage.vector.alu) {
    const std::string& wanted = stage.vector.alu->value;
    const Alu alu = wanted == "mul0" ? Alu::kFpMul0 : wanted == "mul1" ? Alu::kFpMul1 : Alu::kFpFma;
    if (step.op != VectorOp::kMulF) {
      error(stage.vector.alu->where,
            fmt::format("{}: '{}' runs on {} alone; only mul_f has a choice of ALUs", stage.name,
                        rngdsim::name(step.op), rngdsim::name(alus.front())));
    } else {
      choices = {alu};
    }
  }
  for (const Alu alu : choices) {
    if (!alus_.emplace(alu, stage.where.line).second) continue;
    step.alu = alu;
    return;
  }
  std::vector<std::string> names;
  for (const Alu alu : choices) {
    names.push_back(fmt::format("{} (line {})", rngdsim::name(alu), alus_[alu]));
  }
  error(
      stage.vector.op ? stage.vector.op->where : stage.where,
      fmt::format("{}: '{}' needs {}, which {} in use already", stage.name, rngdsim::name(step.op),
                  fmt::join(names, " or "), names.size() == 1 ? "is" : "are all"),
      "each ALU works once in a pass: use another operation, or a second command");
}

// What the operation takes as its first, second and third argument.
void VectorChain::set_arguments(const StageDecl& stage, VectorStep& step) {
  const auto& mode = stage.vector.mode;
  if (!mode) return;
  constexpr size_t kPrefix = 4;  // "Mode"
  const size_t given = mode->value.size() - kPrefix;
  const auto wanted = static_cast<size_t>(operand_count(step.op));
  if (given != wanted || wanted == 1) {
    error(mode->where,
          fmt::format("{}: {} is for {} arguments; '{}' takes {}", stage.name, mode->value, given,
                      rngdsim::name(step.op), wanted),
          wanted == 1 ? "operations of one argument have no mode" : "");
    return;
  }
  for (size_t i = 0; i < wanted; ++i) {
    step.arguments[i] = static_cast<uint8_t>(mode->value[kPrefix + i] - '0');
  }
}

void VectorChain::zip(const StageDecl& stage, const VectorStep& step) {
  const VectorStageDecl& decl = stage.vector;
  if (operand_count(step.op) != 2) {
    error(decl.zip->where,
          fmt::format("{}: a zip takes the two groups; '{}' has {}", stage.name,
                      rngdsim::name(step.op),
                      operand_count(step.op) == 1 ? "one argument" : "three arguments"));
  }
  if (stage.name == "vector_fp_div") {
    error(decl.zip->where, "vector_fp_div: groups are not zipped here",
          "vector_fp: {op: div_f, zip: true} divides them");
  }
  if (!decl.operands.empty() || decl.groups[0] || decl.groups[1] || decl.guard) {
    error(
        decl.zip->where,
        fmt::format("{}: a zip has no operand, group or guard besides its two groups", stage.name));
  }
  if (pair_ != Pair::kOpen) {
    error(decl.zip->where,
          fmt::format("{}: there are no two groups to zip{}", stage.name,
                      pair_ == Pair::kZipped ? " any more" : ""),
          "vector_unzip makes them, once");
    return;
  }
  pair_ = Pair::kZipped;
}

// --- Operands ------------------------------------------------------------------------------------

void VectorChain::set_slots(const StageDecl& stage, const StreamShape& shape, VectorStep& step) {
  const VectorStageDecl& decl = stage.vector;
  if (pair_ == Pair::kOpen) {
    set_group_slots(stage, shape, step);
    return;
  }
  for (const auto& group : decl.groups) {
    if (!group) continue;
    error(group->where, fmt::format("{}: there are no groups here", stage.name),
          "vector_unzip makes two, a zip one again");
    return;
  }
  if (step.kind == VectorStep::Kind::kUnary) {
    set_unary_slot(stage, step);
    return;
  }
  if (decl.guard) {
    error(decl.guard->where,
          fmt::format("{}: the guards of '{}' stand in its list of operands", stage.name,
                      rngdsim::name(step.op)),
          "operand: [{guard: ..., operand: ...}]");
  }
  if (decl.listed) {
    set_listed_slots(stage, shape, step);
    return;
  }
  OperandDecl none;
  none.where = decl.op ? decl.op->where : stage.where;
  VectorStep::Slot slot;
  fill_slot(stage, decl.operands.empty() ? none : decl.operands[0].operand, shape, step, slot);
  step.slots.push_back(slot);
}

void VectorChain::set_unary_slot(const StageDecl& stage, VectorStep& step) {
  const VectorStageDecl& decl = stage.vector;
  if (!decl.operands.empty()) {
    error(decl.operand_where,
          fmt::format("{}: '{}' takes no operand", stage.name, rngdsim::name(step.op)));
  }
  const auto only = guard(stage, decl.guard);
  if (!only) return;
  step.slots.push_back({*only, {}, 0});
  if (decl.guard) check_reachable(stage, step, {decl.guard->where});
}

void VectorChain::set_listed_slots(const StageDecl& stage, const StreamShape& shape,
                                   VectorStep& step) {
  std::vector<SourceLocation> places;
  for (const GuardedOperandDecl& entry : stage.vector.operands) {
    const auto only = guard(stage, entry.guard);
    if (!only) continue;
    VectorStep::Slot slot;
    slot.guard = *only;
    fill_slot(stage, entry.operand, shape, step, slot);
    step.slots.push_back(slot);
    places.push_back(entry.guard ? entry.guard->where : entry.operand.where);
  }
  count_slots(stage, step);
  check_reachable(stage, step, places);
}

void VectorChain::set_group_slots(const StageDecl& stage, const StreamShape& shape,
                                  VectorStep& step) {
  const VectorStageDecl& decl = stage.vector;
  if (!decl.operands.empty() || decl.guard) {
    error(decl.guard ? decl.guard->where : decl.operand_where,
          fmt::format("{}: in pair mode each group has its own operand", stage.name),
          "group0: ..., group1: ...; leave a group out to skip it");
    return;
  }
  for (size_t group = 0; group < 2; ++group) {
    if (!decl.groups[group] || !decl.groups[group]->applies) continue;
    OperandDecl operand;
    operand.where = decl.groups[group]->where;
    if (decl.groups[group]->operand) operand = *decl.groups[group]->operand;
    VectorStep::Slot slot;
    slot.guard = {kGroupBit, group_mask(group), false};
    if (step.kind != VectorStep::Kind::kUnary) {
      fill_slot(stage, operand, shape, step, slot);
    } else if (operand.kind != OperandDecl::Kind::kNone) {
      error(operand.where,
            fmt::format("{}: '{}' takes no operand", stage.name, rngdsim::name(step.op)),
            "group0: true applies it");
    }
    step.slots.push_back(slot);
  }
  if (step.slots.empty()) {
    error(decl.op ? decl.op->where : stage.where,
          fmt::format("{}: applies to no group", stage.name),
          step.kind == VectorStep::Kind::kUnary ? "group0: true" : "group0: OPERAND");
  }
  count_slots(stage, step);
}

// A pass has three immediate registers and, last, one register-file port.
void VectorChain::count_slots(const StageDecl& stage, const VectorStep& step) {
  size_t constants = 0, registers = 0;
  for (const VectorStep::Slot& slot : step.slots) {
    const bool reads = is_register(slot.operand);
    if (!reads && registers > 0 && pair_ == Pair::kNone) {
      error(stage.vector.operand_where,
            fmt::format("{}: a constant stands behind the operand from the VRF or the stash",
                        stage.name),
            "the register-file port is the last slot");
      return;
    }
    ++(reads ? registers : constants);
  }
  if (constants > kMaxConstants) {
    error(stage.vector.operand_where,
          fmt::format("{}: {} constants; a pass has {} immediate registers", stage.name, constants,
                      kMaxConstants),
          "fold guards, or use a second ALU");
  }
  if (registers > 1) {
    error(stage.where, fmt::format("{}: {} operands from the VRF or the stash; a pass has one port",
                                   stage.name, registers));
  }
}

void VectorChain::fill_slot(const StageDecl& stage, const OperandDecl& decl,
                            const StreamShape& shape, const VectorStep& step,
                            VectorStep::Slot& slot) {
  const auto used = static_cast<size_t>(operand_count(step.op));
  const auto end = step.arguments.begin() + static_cast<ptrdiff_t>(used);
  const bool first = std::find(step.arguments.begin(), end, 1) != end;
  const bool second = std::find(step.arguments.begin(), end, 2) != end;
  const bool has_first = decl.kind != OperandDecl::Kind::kNone;
  const std::string op = rngdsim::name(step.op);
  if (first != has_first) {
    error(decl.where,
          first ? fmt::format("{}: '{}' needs an operand", stage.name, op)
                : fmt::format("{}: '{}' does not use its operand in this mode", stage.name, op),
          first ? "operand: a number, {vrf: NAME} or stash" : "leave it out");
  }
  if (second != decl.second.has_value()) {
    error(decl.where, second ? fmt::format("{}: '{}' needs operand1, a number", stage.name, op)
                             : fmt::format("{}: '{}' does not use operand1{}", stage.name, op,
                                           used == 3 ? " in this mode" : ""));
  }
  if (second && decl.second) {
    if (const auto bits = constant(stage.name.c_str(), *decl.second, shape.dtype)) {
      slot.second = *bits;
    }
  }
  VectorOperand& operand = slot.operand;
  switch (decl.kind) {
    case OperandDecl::Kind::kNone:
      break;
    case OperandDecl::Kind::kNumber:
      operand.kind = VectorOperand::Kind::kConstant;
      if (const auto bits = constant(stage.name.c_str(), decl.number, shape.dtype)) {
        operand.bits = *bits;
      }
      break;
    case OperandDecl::Kind::kStash:
      operand.kind = VectorOperand::Kind::kStash;
      read_stash(stage, decl, shape);
      break;
    case OperandDecl::Kind::kVrf:
      operand.kind = VectorOperand::Kind::kVrf;
      read_vrf(stage, decl, shape, operand);
      break;
  }
}

void VectorChain::read_stash(const StageDecl& stage, const OperandDecl& decl,
                             const StreamShape& shape) {
  const auto fault = [&](const std::string& message, const std::string& hint = "") {
    error(decl.where, fmt::format("{}: {}", stage.name, message), hint);
  };
  if (pair_ != Pair::kNone) return fault("pair mode has no stash");
  if (!stash_) return fault("nothing has been stashed", "vector_stash keeps the stream");
  if (stash_->read) {
    return fault("the stash is read once, and has been read",
                 "what is needed twice belongs into the VRF");
  }
  stash_->read = true;
  const std::string line = fmt::format("line {}", stash_->where.line);
  if (stash_->dtype != shape.dtype) {
    fault(fmt::format("the stash ({}) holds {}, the stream is of {}", line,
                      rngdsim::name(stash_->dtype), rngdsim::name(shape.dtype)),
          "vector_reinterpret before vector_stash decides what is stashed");
  }
  if (stash_->eight_way != eight_way_) {
    fault(fmt::format("the stash ({}) was written {}-way, this stage runs {}-way", line,
                      stash_->eight_way ? kVectorFlit : kVectorStep,
                      eight_way_ ? kVectorFlit : kVectorStep));
  } else if (config_.reduce && !stash_->reduced) {
    fault(
        fmt::format("the stash ({}) was written before the reduction; its elements are not "
                    "those of the results",
                    line));
  }
}

void VectorChain::read_vrf(const StageDecl& stage, const OperandDecl& decl,
                           const StreamShape& shape, VectorOperand& operand) {
  const auto id = find_vrf_(decl.vrf);
  if (!id) {
    faulty_ = true;
    return;
  }
  const TensorVersion& tensor = tensors_[*id];
  operand.tensor = *id;
  const SourceLocation& where = decl.vrf.where;
  if (tensor.dtype != shape.dtype) {
    error(where, fmt::format("{}: '{}' is of {}, the stream of {}", stage.name, tensor.name,
                             rngdsim::name(tensor.dtype), rngdsim::name(shape.dtype)));
  }
  const size_t before = scope_.diagnostics.error_count();
  const auto spatial = [&](const char* what, const Mapping& stream, const Mapping& held) {
    if (scope_.same(stream, held)) return;
    error(where,
          fmt::format("{}: {} of the stream is '{}', of '{}' '{}'", stage.name, what,
                      scope_.text(stream), tensor.name, scope_.text(held)),
          "the operand must lie in the slices that use it");
  };
  spatial("Chip", shape.chip, tensor.chip);
  spatial("Cluster", shape.cluster, tensor.cluster);
  spatial("Slice", shape.slice, tensor.slice);
  const std::vector<const Mapping*> stream = {&shape.chip, &shape.cluster, &shape.slice,
                                              &passing(shape), &shape.packet};
  const std::vector<AxisId> known = axes_of(stream, scope_.axes);
  for (const AxisId axis : axes_of({&tensor.element}, scope_.axes)) {
    if (std::find(known.begin(), known.end(), axis) != known.end()) continue;
    error(where,
          fmt::format("{}: '{}' has axis {} in its Element, the stream has it nowhere", stage.name,
                      tensor.name, scope_.axes.name(axis)),
          "which of its elements is meant is not known");
  }
  if (scope_.diagnostics.error_count() != before ||
      !check_indices_exist({&passing(shape), &shape.packet},
                           {&tensor.chip, &tensor.cluster, &tensor.slice, &tensor.element},
                           tensor.logical, stage.name.c_str(), fmt::format("'{}'", tensor.name),
                           where, scope_)) {
    faulty_ = true;
    return;
  }
  const SequencerResult walk =
      derive_sequencer(tensor.element, passing(shape), shape.packet, SequencerUse::kRead,
                       scope_.axes, scope_.limits.sequencer);
  for (const SequencerProblem& problem : walk.problems) {
    error(where, fmt::format("{}: '{}': {}", stage.name, tensor.name, problem.message),
          problem.hint);
  }
  operand.sequencer = walk.config;
  if (std::find(operands_.begin(), operands_.end(), *id) == operands_.end()) {
    operands_.push_back(*id);
  }
}

std::optional<uint32_t> VectorChain::constant(const char* stage, const VectorNumber& number,
                                              DType dtype) {
  if (number.bits) return static_cast<uint32_t>(number.value);
  if (dtype == DType::kI32) {
    constexpr double kLeast = std::numeric_limits<int32_t>::min();
    constexpr double kMost = std::numeric_limits<int32_t>::max();
    const bool whole = std::nearbyint(number.value) == number.value;
    if (whole && kLeast <= number.value && number.value <= kMost) {
      return static_cast<uint32_t>(static_cast<int32_t>(number.value));
    }
    error(number.where,
          whole
              ? fmt::format("{}: {:.0f} does not fit i32, -2,147,483,648 to 2,147,483,647", stage,
                            number.value)
              : fmt::format("{}: the stream is of i32, but the number is {}", stage, number.value),
          whole ? "hexadecimal numbers stand for the bits" : "write a whole number");
    return std::nullopt;
  }
  const uint32_t bits = from_double(DType::kF32, number.value);
  if (std::isfinite(number.value) && !std::isfinite(to_double(DType::kF32, bits))) {
    error(number.where,
          fmt::format("{}: {} does not fit f32, up to 3.4028235e+38", stage, number.value));
    return std::nullopt;
  }
  return bits;
}

// --- Guards --------------------------------------------------------------------------------------

std::optional<TagGuard> VectorChain::guard(const StageDecl& stage,
                                           const std::optional<GuardDecl>& decl) {
  if (!decl) return TagGuard{};
  TagGuard guard{decl->mask, decl->value, decl->negated};
  if (guard.is_all()) return guard;
  if (pair_ == Pair::kZipped) {
    error(decl->where,
          fmt::format("{}: behind a zip there is one group; operands are for all", stage.name));
    return std::nullopt;
  }
  if (config_.reduce) {
    error(decl->where,
          fmt::format("{}: behind a reduction elements have no tag of their own", stage.name));
    return std::nullopt;
  }
  return guard;
}

// The tags that the Tag stage can give an element.
std::vector<uint8_t> VectorChain::possible_tags() const {
  if (!config_.tags) return {0};
  std::vector<uint8_t> tags = {0};
  for (size_t bit = 0; bit < config_.tags->size(); ++bit) {
    const CompareOp op = (*config_.tags)[bit].op;
    const auto mask = static_cast<uint8_t>(1u << bit);
    std::vector<uint8_t> next;
    for (const uint8_t tag : tags) {
      if (op != CompareOp::kTrue) next.push_back(tag);
      if (op != CompareOp::kFalse) next.push_back(tag | mask);
    }
    tags = std::move(next);
  }
  return tags;
}

// A slot that no tag can choose is filled for nothing: an error where no tag at all could, a
// warning where it is the Tag stage that never gives such a one.
void VectorChain::check_reachable(const StageDecl& stage, const VectorStep& step,
                                  const std::vector<SourceLocation>& places) {
  const auto chosen = [&](size_t slot, uint8_t tag) {
    for (size_t i = 0; i < slot; ++i) {
      if (step.slots[i].guard.holds(tag)) return false;
    }
    return step.slots[slot].guard.holds(tag);
  };
  constexpr uint8_t kTags = 16;
  for (size_t slot = 0; slot < step.slots.size(); ++slot) {
    bool ever = false;
    for (uint8_t tag = 0; tag < kTags; ++tag) ever = ever || chosen(slot, tag);
    if (!ever) {
      const bool inert = step.slots[slot].guard.negated && step.slots[slot].guard.mask == 0;
      error(places[slot],
            inert ? fmt::format("{}: no tag meets this guard", stage.name)
                  : fmt::format("{}: operand {} is never chosen: those before it take every tag",
                                stage.name, slot + 1),
            inert ? "not_matches needs a bit that is one or zero"
                  : "the first guard that holds decides");
      continue;
    }
    const std::vector<uint8_t> tags = possible_tags();
    if (std::none_of(tags.begin(), tags.end(), [&](uint8_t tag) { return chosen(slot, tag); })) {
      scope_.diagnostics.warning(
          places[slot], fmt::format("{}: the Tag stage gives no element a tag that meets this "
                                    "guard",
                                    stage.name));
    }
  }
}

// --- The end of a chain --------------------------------------------------------------------------

void VectorChain::finish(const StreamShape& shape, const StageDecl* next) {
  if (config_.chain && !config_.result_dtype) config_.result_dtype = shape.dtype;
  if (config_.inter && !config_.inter_first) config_.inter->result_dtype = shape.dtype;
  const SourceLocation& where = next != nullptr ? next->where : SourceLocation{};
  if (pair_ == Pair::kOpen && next != nullptr) {
    error(where, fmt::format("{}: the stream is still two groups", next->name),
          "an operation with zip: true makes one of them");
  }
  if (next != nullptr && shape.packet.size() == kVectorStep) {
    error(where,
          fmt::format("{}: a chain ends 8-way, but Packet '{}' has {} elements", next->name,
                      scope_.text(shape.packet), kVectorStep),
          "vector_widen_concat or vector_widen_pad makes flits of 8 again");
  }
  if (stash_ && !stash_->read) {
    scope_.diagnostics.warning(stash_->where, "vector_stash: nothing reads it");
  }
}

// --- Order ---------------------------------------------------------------------------------------

bool check_vector_order(const CommandDecl& command, Diagnostics& diagnostics) {
  const auto is_vector = [](const StageDecl& s) { return s.name.rfind("vector_", 0) == 0; };
  const auto find = [&](const char* stage) {
    const auto it = std::find_if(command.stages.begin(), command.stages.end(),
                                 [&](const StageDecl& s) { return s.name == stage; });
    return it == command.stages.end() ? nullptr : &*it;
  };
  bool good = true;
  const auto fault = [&](const StageDecl* stage, const std::string& message,
                         const std::string& hint = "") {
    diagnostics.error(stage->where, message, hint);
    good = false;
  };
  auto first = std::find_if(command.stages.begin(), command.stages.end(), is_vector);
  if (first == command.stages.end()) return true;
  const bool enters = first == command.stages.begin();  // a stream: anywhere
  if (first->name == "vector_inter_slice_reduce") {
    ++first;
    if (first == command.stages.end() || !is_vector(*first)) first = command.stages.end();
  }
  if (first != command.stages.end() && first->name != "vector_tag" &&
      first->name != "vector_unzip" && !enters) {
    fault(&*first, fmt::format("'{}' needs 'vector_tag' before it", first->name),
          "a vector chain begins with a tag, or with vector_unzip for two groups");
  }
  const StageDecl* tag = find("vector_tag");
  const StageDecl* unzip = find("vector_unzip");
  if (tag != nullptr && unzip != nullptr) {
    fault(unzip, "a chain begins once: with vector_tag or with vector_unzip");
  }
  const StageDecl* split = find("vector_narrow_split");
  const StageDecl* trim = find("vector_narrow_trim");
  if (split != nullptr && trim != nullptr) {
    fault(trim, "a chain is narrowed once: by vector_narrow_split or by vector_narrow_trim");
  }
  const StageDecl* concat = find("vector_widen_concat");
  const StageDecl* pad = find("vector_widen_pad");
  if (concat != nullptr && pad != nullptr) {
    fault(pad, "a chain is widened once: by vector_widen_concat or by vector_widen_pad");
  }
  for (const StageDecl* stage :
       {find("vector_fp"), find("vector_intra_slice_reduce"), find("vector_fp_div"), concat, pad}) {
    if (stage == nullptr || split != nullptr || trim != nullptr) continue;
    fault(stage, fmt::format("'{}' needs a narrow stage before it", stage->name),
          "vector_narrow_split or vector_narrow_trim");
  }
  return good;
}

}  // namespace rngdsim
