// SPDX-License-Identifier: Apache-2.0
#include "config/vector_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "support/text.h"

namespace rngdsim {
namespace {

constexpr size_t kTagBits = 4;  // of an element [B]

std::vector<VectorOpRule> make_op_rules() {
  std::vector<VectorOpRule> rules;
  const auto add = [&](const char* stage, DType dtype, VectorOp op, std::vector<Alu> alus,
                       const char* other_name = nullptr) {
    rules.push_back(
        {stage, other_name != nullptr ? other_name : name(op), op, dtype, std::move(alus)});
  };
  constexpr DType kInt = DType::kI32, kFloat = DType::kF32;
  const char* stage = "vector_logic";
  for (const DType dtype : {kInt, kFloat}) {
    add(stage, dtype, VectorOp::kBitAnd, {Alu::kLogicAnd});
    add(stage, dtype, VectorOp::kBitOr, {Alu::kLogicOr});
    add(stage, dtype, VectorOp::kBitXor, {Alu::kLogicXor});
  }
  add(stage, kInt, VectorOp::kLeftShift, {Alu::kLogicLshift});
  add(stage, kInt, VectorOp::kLogicRightShift, {Alu::kLogicRshift});
  add(stage, kInt, VectorOp::kArithRightShift, {Alu::kLogicRshift});

  stage = "vector_fxp";
  for (const VectorOp op :
       {VectorOp::kAddFxp, VectorOp::kAddFxpSat, VectorOp::kSubFxp, VectorOp::kSubFxpSat}) {
    add(stage, kInt, op, {Alu::kFxpAdd});
  }
  add(stage, kInt, VectorOp::kLeftShift, {Alu::kFxpLshift});
  add(stage, kInt, VectorOp::kLeftShiftSat, {Alu::kFxpLshift});
  add(stage, kInt, VectorOp::kMulFxp, {Alu::kFxpMul});
  add(stage, kInt, VectorOp::kMulInt, {Alu::kFxpMul});
  for (const VectorOp op :
       {VectorOp::kLogicRightShift, VectorOp::kArithRightShift, VectorOp::kArithRightShiftRound}) {
    add(stage, kInt, op, {Alu::kFxpRshift});
  }

  stage = "vector_fp";
  add(stage, kFloat, VectorOp::kExp, {Alu::kFpExp});
  add(stage, kFloat, VectorOp::kNegExp, {Alu::kFpExp});
  for (const VectorOp op : {VectorOp::kSqrt, VectorOp::kTanh, VectorOp::kSigmoid, VectorOp::kErf,
                            VectorOp::kLog, VectorOp::kSin, VectorOp::kCos}) {
    add(stage, kFloat, op, {Alu::kFpFpu});
  }
  add(stage, kFloat, VectorOp::kAddF, {Alu::kFpFma});
  add(stage, kFloat, VectorOp::kSubF, {Alu::kFpFma});
  add(stage, kFloat, VectorOp::kMulF, {Alu::kFpMul0, Alu::kFpMul1, Alu::kFpFma});
  add(stage, kFloat, VectorOp::kDivF, {Alu::kFpFpu});
  add(stage, kFloat, VectorOp::kFmaF, {Alu::kFpFma});

  add("vector_fp_div", kFloat, VectorOp::kDivF, {Alu::kReduceFpDiv});

  stage = "vector_clip";
  for (const DType dtype : {kInt, kFloat}) {
    add(stage, dtype, VectorOp::kMin, {Alu::kClipMin});
    add(stage, dtype, VectorOp::kMax, {Alu::kClipMax});
    add(stage, dtype, VectorOp::kAbsMin, {Alu::kClipMin});
    add(stage, dtype, VectorOp::kAbsMax, {Alu::kClipMax});
  }
  add(stage, kInt, VectorOp::kAddFxp, {Alu::kClipAdd});
  add(stage, kInt, VectorOp::kAddFxpSat, {Alu::kClipAdd});
  add(stage, kFloat, VectorOp::kAddF, {Alu::kClipAdd}, "add");
  return rules;
}

const std::vector<std::string>& mode_names() {
  static const std::vector<std::string> kNames = {"Mode00",  "Mode01",  "Mode10",  "Mode11",
                                                  "Mode012", "Mode002", "Mode102", "Mode112",
                                                  "Mode020", "Mode021", "Mode120"};
  return kNames;
}

const std::vector<std::string>& alu_names() {
  static const std::vector<std::string> kNames = {"mul0", "mul1", "fma"};
  return kNames;
}

const std::vector<std::string>& compare_names() {
  static const std::vector<std::string> kNames = {name(CompareOp::kEqual),
                                                  name(CompareOp::kLess),
                                                  name(CompareOp::kGreater),
                                                  name(CompareOp::kLessUnsigned),
                                                  name(CompareOp::kGreaterUnsigned),
                                                  name(CompareOp::kTrue),
                                                  name(CompareOp::kFalse)};
  return kNames;
}

std::optional<CompareOp> compare_op(const std::string& text) {
  const auto& names = compare_names();
  const auto it = std::find(names.begin(), names.end(), plain_name(text));
  if (it == names.end()) return std::nullopt;
  return static_cast<CompareOp>(it - names.begin());
}

class VectorStageReader {
 public:
  VectorStageReader(std::string stage, const Fields& fields, Reader& reader,
                    const std::vector<std::string>& axis_names)
      : stage_(std::move(stage)),
        owner_(fmt::format("stage '{}'", stage_)),
        fields_(fields),
        reader_(reader),
        axis_names_(axis_names) {}

  VectorStageDecl read() {
    if (const YamlNode* node = fields_.find("op")) {
      decl_.op = word(*node, "op", vector_op_names(stage_));
    }
    if (const YamlNode* node = fields_.find("alu")) decl_.alu = word(*node, "alu", alu_names());
    if (const YamlNode* node = fields_.find("mode")) read_mode(*node);
    if (const YamlNode* node = fields_.find("operand")) read_operand_key(*node);
    if (const YamlNode* node = fields_.find("operand1")) read_second(*node);
    if (const YamlNode* node = fields_.find("guard")) decl_.guard = guard(*node, what("guard"));
    read_group("group0", decl_.groups[0]);
    read_group("group1", decl_.groups[1]);
    if (const YamlNode* node = fields_.find("zip")) {
      const auto flag = reader_.flag(*node, what("zip"));
      if (flag) decl_.zip = Located<bool>{*flag, reader_.at(*node)};
    }
    if (const YamlNode* node = fields_.find("int_width")) {
      const auto width = reader_.integer(*node, what("int_width"), 0, 31);
      if (width) decl_.int_width = Located<uint64_t>{*width, reader_.at(*node)};
    }
    if (const YamlNode* node = fields_.find("axis")) read_axis(*node);
    return std::move(decl_);
  }

 private:
  std::string what(const char* key) const { return fmt::format("'{}' of {}", key, owner_); }

  // One of `words`, in the book's spelling or in small letters.
  std::optional<Located<std::string>> word(const YamlNode& node, const char* key,
                                           const std::vector<std::string>& words) {
    if (node.is_scalar()) {
      const std::string plain = plain_name(node.text);
      if (std::find(words.begin(), words.end(), plain) != words.end()) {
        return Located<std::string>{plain, reader_.at(node)};
      }
    }
    return reader_.choice(node, what(key), key, words);
  }

  void read_mode(const YamlNode& node) {
    if (stage_ != "vector_tag") {
      decl_.mode = reader_.choice(node, what("mode"), "mode", mode_names());
      return;
    }
    if (node.is_scalar()) {
      if (plain_name(node.text) == "zero") return;
      if (plain_name(node.text) == "comparison") {
        reader_.errors().error(node, "mode 'comparison' needs four comparisons",
                               "mode: {comparison: [{less: 0}, false, false, false]}");
        return;
      }
      reader_.unknown(node, "mode", node.text, {"zero", "comparison"});
      return;
    }
    const auto map = reader_.fields(node, what("mode"), reader_.at(node), {{"comparison", true}});
    if (!map || map->find("comparison") == nullptr) return;
    const YamlNode& list = *map->find("comparison");
    const std::string of = "'comparison' of " + what("mode");
    if (!reader_.is_sequence(list, of)) return;
    if (list.items.size() != kTagBits) {
      reader_.errors().error(list,
                             fmt::format("{} must have {} entries, one a bit of the tag, got "
                                         "{}",
                                         of, kTagBits, list.items.size()),
                             "fill up with false");
      return;
    }
    decl_.comparison.emplace();
    for (size_t i = 0; i < kTagBits; ++i) {
      read_compare(list.items[i], "an entry of " + of, (*decl_.comparison)[i]);
    }
  }

  void read_compare(const YamlNode& node, const std::string& entry, CompareDecl& compare) {
    const bool form = node.is_scalar() || (node.is_map() && node.entries.size() == 1);
    if (!form) {
      reader_.errors().error(node, entry + " must be true, false or one comparison",
                             "for example {less: 0}");
      return;
    }
    const YamlNode& key = node.is_scalar() ? node : node.entries[0].key;
    const auto op = compare_op(key.text);
    if (!op) return reader_.unknown(key, "comparison", key.text, compare_names());
    compare.op = *op;
    const bool constant = *op == CompareOp::kTrue || *op == CompareOp::kFalse;
    if (constant != node.is_scalar()) {
      reader_.errors().error(
          node,
          constant ? fmt::format("'{}' takes no boundary", key.text)
                   : fmt::format("'{}' needs the boundary that it compares with", key.text),
          constant ? "" : fmt::format("write {{{}: 0}}", key.text));
      return;
    }
    if (constant) return;
    if (const auto number = read_number(node.entries[0].value, entry)) compare.boundary = *number;
  }

  // Also hexadecimal (raw bits) and the infinities and NaN of YAML.
  std::optional<VectorNumber> read_number(const YamlNode& node, const std::string& of) {
    VectorNumber number;
    number.where = reader_.at(node);
    const std::string& text = node.text;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (node.is_scalar() && node.plain) {
      if (text == ".inf" || text == "-.inf" || text == ".nan") {
        number.value = text == ".nan"   ? std::numeric_limits<double>::quiet_NaN()
                       : text == ".inf" ? kInfinity
                                        : -kInfinity;
        return number;
      }
      if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        const auto bits = reader_.integer(node, of, 0, 0xffffffffu);
        if (!bits) return std::nullopt;
        number.value = static_cast<double>(*bits);
        number.bits = true;
        return number;
      }
    }
    const auto value = reader_.number(node, of);
    if (!value) return std::nullopt;
    number.value = *value;
    return number;
  }

  // A number, `stash`, `{vrf: name}`.
  std::optional<OperandDecl> operand(const YamlNode& node, const std::string& of) {
    OperandDecl operand;
    operand.where = reader_.at(node);
    if (node.is_scalar() && plain_name(node.text) == "stash") {
      operand.kind = OperandDecl::Kind::kStash;
      return operand;
    }
    if (node.is_map() && node.entries.size() == 1 && node.entries[0].key.text == "vrf") {
      const auto name = reader_.name(node.entries[0].value, "'vrf' of " + of);
      if (!name) return std::nullopt;
      operand.kind = OperandDecl::Kind::kVrf;
      operand.vrf = *name;
      return operand;
    }
    const bool word = node.is_scalar() && !node.text.empty() &&
                      ((node.text[0] >= 'a' && node.text[0] <= 'z') ||
                       (node.text[0] >= 'A' && node.text[0] <= 'Z'));
    if (word || node.is_map()) {
      reader_.errors().error(
          node, fmt::format("{} must be a number, stash or {{vrf: NAME}}", of),
          word ? fmt::format("a tensor in the register file: {{vrf: {}}}", node.text) : "");
      return std::nullopt;
    }
    const auto number = read_number(node, of);
    if (!number) return std::nullopt;
    operand.kind = OperandDecl::Kind::kNumber;
    operand.number = *number;
    return operand;
  }

  void read_operand_key(const YamlNode& node) {
    decl_.operand_where = reader_.at(node);
    if (!node.is_sequence()) {
      if (const auto single = operand(node, what("operand"))) {
        decl_.operands.push_back({std::nullopt, *single});
      }
      return;
    }
    decl_.listed = true;
    if (node.items.empty()) reader_.errors().error(node, what("operand") + " is an empty list");
    for (const YamlNode& item : node.items) {
      const std::string of = "an entry of " + what("operand");
      const auto map =
          reader_.fields(item, of, reader_.at(item), {{"guard"}, {"operand"}, {"operand1"}});
      if (!map) continue;
      GuardedOperandDecl entry;
      entry.operand.where = reader_.at(item);
      if (const YamlNode* part = map->find("guard")) entry.guard = guard(*part, "'guard' of " + of);
      if (const YamlNode* part = map->find("operand")) {
        const auto single = operand(*part, "'operand' of " + of);
        if (!single) continue;
        entry.operand = *single;
      }
      if (const YamlNode* part = map->find("operand1")) {
        entry.operand.second = read_number(*part, "'operand1' of " + of);
      }
      decl_.operands.push_back(std::move(entry));
    }
  }

  void read_second(const YamlNode& node) {
    const auto number = read_number(node, what("operand1"));
    if (!number) return;
    if (decl_.listed) {
      reader_.errors().error(node, what("operand1") + " stands beside a list of operands",
                             "write it into each entry of the list");
      return;
    }
    if (decl_.operands.empty()) {
      decl_.operands.emplace_back();
      decl_.operands[0].operand.where = decl_.operand_where = reader_.at(node);
    }
    decl_.operands[0].operand.second = number;
  }

  void read_group(const char* key, std::optional<GroupDecl>& group) {
    const YamlNode* node = fields_.find(key);
    if (node == nullptr) return;
    group.emplace();
    group->where = reader_.at(*node);
    if (node->is_scalar() && node->plain && (node->text == "true" || node->text == "false")) {
      group->applies = node->text == "true";
      return;
    }
    const bool both = node->is_map() && std::any_of(node->entries.begin(), node->entries.end(),
                                                    [](const YamlEntry& e) {
                                                      return e.key.text.rfind("operand", 0) == 0;
                                                    });
    if (!both) {
      group->operand = operand(*node, what(key));
      return;
    }
    const auto map = reader_.fields(*node, what(key), group->where, {{"operand"}, {"operand1"}});
    if (!map) return;
    group->operand.emplace();
    group->operand->where = group->where;
    if (const YamlNode* part = map->find("operand")) {
      if (const auto single = operand(*part, "'operand' of " + what(key))) {
        group->operand = single;
      }
    }
    if (const YamlNode* part = map->find("operand1")) {
      group->operand->second = read_number(*part, "'operand1' of " + what(key));
    }
  }

  std::optional<GuardDecl> guard(const YamlNode& node, const std::string& of) {
    GuardDecl guard;
    guard.where = reader_.at(node);
    if (node.is_scalar() && node.text == "all") return guard;
    const char* const form = "all, {group: 0}, {matches: [...]} or {not_matches: [...]}";
    if (!node.is_map() || node.entries.size() != 1) {
      reader_.errors().error(node, fmt::format("{} must be {}", of, form));
      return std::nullopt;
    }
    const auto& [key, value] = node.entries[0];
    if (key.text == "group") {
      const auto group = reader_.integer(value, "'group' of " + of, 0, 1);
      if (!group) return std::nullopt;
      guard.mask = 1u << (kTagBits - 1);
      guard.value = static_cast<uint8_t>(*group << (kTagBits - 1));
      return guard;
    }
    if (key.text != "matches" && key.text != "not_matches") {
      reader_.unknown(key, "guard", key.text, {"group", "matches", "not_matches"});
      return std::nullopt;
    }
    guard.negated = key.text == "not_matches";
    return read_bits(value, fmt::format("'{}' of {}", key.text, of), guard) ? std::optional(guard)
                                                                            : std::nullopt;
  }

  bool read_bits(const YamlNode& list, const std::string& of, GuardDecl& guard) {
    if (!reader_.is_sequence(list, of)) return false;
    if (list.items.size() != kTagBits) {
      reader_.errors().error(
          list, fmt::format("{} must have {} entries, the lowest bit of the tag first, got {}", of,
                            kTagBits, list.items.size()));
      return false;
    }
    bool good = true;
    for (size_t i = 0; i < kTagBits; ++i) {
      const YamlNode& item = list.items[i];
      const std::string text = item.is_scalar() ? plain_name(item.text) : "";
      const auto bit = static_cast<uint8_t>(1u << i);
      if (text == "one" || text == "zero") {
        guard.mask |= bit;
        if (text == "one") guard.value |= bit;
      } else if (text != "ignore") {
        reader_.unknown(item, "bit requirement", item.text, {"one", "zero", "ignore"});
        good = false;
      }
    }
    return good;
  }

  void read_axis(const YamlNode& node) {
    const auto axis = reader_.name(node, what("axis"));
    if (!axis) return;
    if (std::find(axis_names_.begin(), axis_names_.end(), axis->value) == axis_names_.end()) {
      return reader_.unknown(node, "axis", axis->value, axis_names_);
    }
    decl_.axis = axis;
  }

  std::string stage_, owner_;
  const Fields& fields_;
  Reader& reader_;
  const std::vector<std::string>& axis_names_;
  VectorStageDecl decl_;
};

}  // namespace

const std::vector<VectorOpRule>& vector_op_rules() {
  static const std::vector<VectorOpRule> kRules = make_op_rules();
  return kRules;
}

std::vector<std::string> vector_op_names(const std::string& stage) {
  if (stage == "vector_intra_slice_reduce") return {"add", "add_sat", "max", "min"};
  if (stage == "vector_inter_slice_reduce") return {"add", "add_sat", "max", "min", "mul"};
  std::vector<std::string> names;
  for (const VectorOpRule& rule : vector_op_rules()) {
    if (rule.stage != stage) continue;
    if (std::find(names.begin(), names.end(), rule.name) == names.end()) {
      names.emplace_back(rule.name);
    }
  }
  return names;
}

std::string plain_name(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && i > 0 && text[i - 1] != '_' && !(text[i - 1] >= 'A' && text[i - 1] <= 'Z')) {
      plain += '_';
    }
    plain += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

VectorStageDecl read_vector_stage(const std::string& stage, const Fields& fields, Reader& reader,
                                  const std::vector<std::string>& axis_names) {
  return VectorStageReader(stage, fields, reader, axis_names).read();
}

}  // namespace rngdsim
