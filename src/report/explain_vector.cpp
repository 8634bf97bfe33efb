// SPDX-License-Identifier: Apache-2.0
#include "report/explain_vector.h"

#include <fmt/format.h>

#include <algorithm>

#include "numeric/dtype.h"
#include "report/numbers.h"
#include "report/vcg_heatmap.h"
#include "report/vcg_text.h"

namespace rngdsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kTagBits = 4;

std::string number_text(DType dtype, uint32_t bits) {
  const double value = to_double(dtype, bits);
  return dtype == DType::kF32 ? fmt::format("{:.9g}", value) : fmt::format("{:.0f}", value);
}

// The highest bit first: "0xx1" for bit 3 zero and bit 0 one.
std::string guard_text(const TagGuard& guard) {
  std::string bits;
  for (int bit = kTagBits - 1; bit >= 0; --bit) {
    const auto mask = static_cast<uint8_t>(1u << bit);
    bits += (guard.mask & mask) == 0 ? 'x' : (guard.value & mask) != 0 ? '1' : '0';
  }
  return fmt::format("tag {}{}", guard.negated ? "not " : "", bits);
}

std::string operand_text(const VectorOperand& operand, const VectorStep& step,
                         const Program& program) {
  switch (operand.kind) {
    case VectorOperand::Kind::kConstant:
      return number_text(step.dtype, operand.bits);
    case VectorOperand::Kind::kVrf:
      return program.tensors[operand.tensor].name;
    case VectorOperand::Kind::kStash:
      return "stash";
    case VectorOperand::Kind::kNone:
      break;
  }
  return "none";
}

std::string slot_text(const VectorStep& step, const VectorStep::Slot& slot,
                      const Program& program) {
  std::vector<std::string> arguments;
  for (int i = 0; i < operand_count(step.op); ++i) {
    switch (step.arguments[static_cast<size_t>(i)]) {
      case 0:
        arguments.emplace_back("stream");
        break;
      case 1:
        arguments.push_back(operand_text(slot.operand, step, program));
        break;
      default:
        arguments.push_back(number_text(step.dtype, slot.second));
    }
  }
  return fmt::format("{}({})", name(step.op), fmt::join(arguments, ", "));
}

Json step_json(const VectorStep& step, const Program& program) {
  Json json = {{"alu", step.alu ? Json(name(*step.alu)) : Json(nullptr)},
               {"dtype", name(step.dtype)},
               {"text", vector_step_text(step, program)}};
  Json slots = Json::array();
  for (const VectorStep::Slot& slot : step.slots) {
    if (step.kind == VectorStep::Kind::kFilter) continue;
    Json entry = {{"guard", slot.guard.is_all() ? "all" : guard_text(slot.guard)},
                  {"text", slot_text(step, slot, program)}};
    if (slot.operand.kind == VectorOperand::Kind::kVrf) {
      entry["vrf"] = program.tensors[slot.operand.tensor].name;
      entry["reads"] = slot.operand.sequencer.text();
    }
    slots.push_back(std::move(entry));
  }
  json["slots"] = std::move(slots);
  return json;
}

class ChainExplainer {
 public:
  ChainExplainer(const Program& program, const Command& command)
      : program_(program), command_(command), chain_(*command.vector) {}

  std::vector<StageExplanation> explain() {
    if (chain_.inter && (chain_.inter_first || !chain_.chain)) inter_slice(*chain_.inter);
    if (chain_.chain) chain();
    if (chain_.chain && chain_.reduce) reduce(*chain_.reduce);
    if (chain_.inter && !chain_.inter_first && chain_.chain) inter_slice(*chain_.inter);
    return std::move(stages_);
  }

 private:
  StageExplanation& add(std::string label, std::string key, std::string text, Json json) {
    stages_.push_back({std::move(label), std::move(text), std::move(key), std::move(json), {}});
    return stages_.back();
  }

  // The stream in front of the Vector Engine.
  const StreamShape& flits() const {
    const StreamShape* shape = &command_.source;
    for (const StageRecord& stage : command_.stages) {
      const bool vector = stage.name.rfind("vector_", 0) == 0;
      if (vector && !(chain_.inter_first && stage.name == "vector_inter_slice_reduce")) break;
      shape = &stage.after;
    }
    return *shape;
  }

  void chain() {
    std::string text = count_of(chain_.flits, "flit") + " of 8 elements";
    if (chain_.pair) text += ", group 0 and group 1 in turn";
    const bool split = chain_.narrow == VectorConfig::Narrow::kSplit;
    const bool concat = chain_.widen == VectorConfig::Widen::kConcat;
    if (split) {
      text += ", each split into two steps of 4";
    } else if (chain_.narrow == VectorConfig::Narrow::kTrim) {
      text += ", trimmed to the front 4";
    }
    if (concat) {
      text += ", two steps joined again";
    } else if (chain_.widen == VectorConfig::Widen::kPad) {
      text += ", steps filled up to 8 again";
    }
    lines(chain_.front, "8-way");
    lines(chain_.middle, "4-way");
    if (chain_.reduce) {
      block_ += fmt::format("4-way  {:<14} {} over {}\n", name(Alu::kReduceAccTree),
                            name(chain_.reduce->op), program_.axes.name(chain_.reduce->axis));
      ++alus_;
    }
    lines(chain_.after_reduce, "4-way");
    lines(chain_.back, "8-way");
    StageExplanation& stage =
        add("vector", "vector",
            fmt::format("{}: {}, {}, {}", text, count_of(chain_.steps, "step"),
                        count_of(chain_.results, "result"), count_of(alus_, "ALU")),
            {{"narrow", split                                          ? "split"
                        : chain_.narrow == VectorConfig::Narrow::kTrim ? "trim"
                                                                       : "none"},
             {"widen", concat                                      ? "concat"
                       : chain_.widen == VectorConfig::Widen::kPad ? "pad"
                                                                   : "none"},
             {"pair", chain_.pair},
             {"flits", chain_.flits},
             {"steps", chain_.steps},
             {"results", chain_.results},
             {"alus", alus_},
             {"tags", tags_json()},
             {"operations", operations_}});
    stage.block = tags_text() + block_;
    if (alus_ > 0) {
      stage.why.emplace_back(count_of(alus_, "ALU"),
                             "each adds its latency to the way of a flit; "
                             "none slows the stream down");
    }
    if (split) {
      stage.why.emplace_back(count_of(chain_.steps, "step"),
                             "between narrow and widen 4 elements pass in a cycle");
    }
  }

  void lines(const std::vector<VectorStep>& steps, const char* way) {
    for (const VectorStep& step : steps) {
      if (step.alu) ++alus_;
      block_ += fmt::format("{}  {:<14} {}\n", way, step.alu ? name(*step.alu) : "-",
                            vector_step_text(step, program_));
      operations_.push_back(step_json(step, program_));
    }
  }

  std::string compare_text(const VectorConfig::Compare& compare) const {
    if (compare.op == CompareOp::kTrue || compare.op == CompareOp::kFalse) return name(compare.op);
    return fmt::format("{} {}", name(compare.op), number_text(chain_.dtype, compare.boundary));
  }
  std::string tags_text() const {
    if (!chain_.tags) return "";
    std::string text = "tags   ";
    for (size_t bit = 0; bit < chain_.tags->size(); ++bit) {
      text +=
          fmt::format("{}bit {}: {}", bit == 0 ? "" : ", ", bit, compare_text((*chain_.tags)[bit]));
    }
    return text + "\n";
  }
  Json tags_json() const {
    if (!chain_.tags) return chain_.pair ? "group" : "zero";
    Json list = Json::array();
    for (const VectorConfig::Compare& compare : *chain_.tags) {
      list.push_back(compare_text(compare));
    }
    return list;
  }

  void reduce(const VectorConfig::Reduce& reduce) {
    uint64_t steps = 1;
    for (const TimeReduceConfig::Loop& loop : reduce.time.loops) {
      if (loop.reduced) steps *= loop.size;
    }
    StageExplanation& stage =
        add("reduce", "intra_slice_reduce",
            fmt::format("{} over {}: {} a result{}, {} of {}, {}", name(reduce.op),
                        program_.axes.name(reduce.axis), count_of(steps, "step"),
                        reduce.in_packet ? ", the 4 elements of a step to one" : "",
                        count_of(reduce.time.slots, "slot"), reduce.time.capacity,
                        count_of(reduce.time.results, "result")),
            {{"axis", program_.axes.name(reduce.axis)},
             {"op", name(reduce.op)},
             {"steps_per_result", steps},
             {"in_packet", reduce.in_packet},
             {"slots", reduce.time.slots},
             {"slots_that_exist", reduce.time.capacity},
             {"results", reduce.time.results},
             {"vcg", vcg_json(reduce.vcg, flits(), program_.axes)}});
    stage.block = "valid counts (docs/vcg.md)\n" + vcg_config_text(reduce.vcg, program_.axes) +
                  "\n" + vcg_heatmap_text(reduce.vcg, flits(), program_.axes);
  }

  void inter_slice(const InterSliceConfig& inter) {
    const auto live = static_cast<uint64_t>(std::count_if(inter.slots.begin(), inter.slots.end(),
                                                          [](int64_t slot) { return slot >= 0; }));
    const bool promotes = inter.results < inter.flits;
    std::string where = live == 1  ? "to one slice of them"
                        : promotes ? fmt::format("to {} of them, by Time", live)
                                   : fmt::format("to {} of them", live);
    add("inter-slice", "inter_slice_reduce",
        fmt::format("{} over groups of {}, the result {}: {} in, {} out", name(inter.op),
                    count_of(inter.ratio, "slice"), where, count_of(inter.flits, "flit"),
                    count_of(inter.results, "flit")),
        {{"op", name(inter.op)},
         {"ratio", inter.ratio},
         {"first", chain_.inter_first},
         {"flits", inter.flits},
         {"results", inter.results},
         {"slots", inter.slots}});
  }

  const Program& program_;
  const Command& command_;
  const VectorConfig& chain_;
  std::vector<StageExplanation> stages_;
  std::string block_;
  Json operations_ = Json::array();
  uint64_t alus_ = 0;
};

}  // namespace

std::string vector_step_text(const VectorStep& step, const Program& program) {
  switch (step.kind) {
    case VectorStep::Kind::kFxpToFp:
      return fmt::format("fxp_to_fp, {} integer bits", step.int_width);
    case VectorStep::Kind::kFpToFxp:
      return fmt::format("fp_to_fxp, {} integer bits", step.int_width);
    case VectorStep::Kind::kStash:
      return "stash";
    case VectorStep::Kind::kFilter:
      return "writes only where " + guard_text(step.slots.front().guard);
    case VectorStep::Kind::kZip:
      return fmt::format("{}(group {}, group {})", name(step.op), step.arguments[0],
                         step.arguments[1]);
    default:
      break;
  }
  std::string text;
  for (const VectorStep::Slot& slot : step.slots) {
    text += (text.empty() ? "" : ", else ") + slot_text(step, slot, program);
    if (slot.guard.is_all()) continue;
    const bool group = slot.guard.mask == kGroupBit && !slot.guard.negated;
    text += group ? fmt::format(" in group {}", slot.guard.value != 0 ? 1 : 0)
                  : " where " + guard_text(slot.guard);
  }
  return text;
}

std::vector<StageExplanation> explain_vector(const Program& program, const Command& command) {
  if (!command.vector) return {};
  return ChainExplainer(program, command).explain();
}

}  // namespace rngdsim
