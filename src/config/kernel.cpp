// SPDX-License-Identifier: Apache-2.0
#include "config/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "config/constraint.h"
#include "config/reader.h"
#include "config/stages.h"
#include "config/vector_stages.h"
#include "config/yaml_document.h"
#include "support/input_limits.h"
#include "support/sha256.h"
#include "support/text.h"

namespace rngdsim {
namespace {

// What may be declared in a memory, and what must be.
struct MemoryRule {
  MemoryKind kind;
  std::vector<KeyRule> keys;  // besides those of every tensor
  bool may_declare(const std::string& key) const {
    return std::any_of(keys.begin(), keys.end(), [&](const KeyRule& r) { return r.name == key; });
  }
};

// Chip and Cluster have defaults (`1` and `1 # 2`).
const std::vector<MemoryRule>& memory_rules() {
  static const std::vector<MemoryRule> kRules = {
      {MemoryKind::kHbm, {{"chip"}, {"address"}}},
      {MemoryKind::kDm, {{"chip"}, {"cluster"}, {"slice", kRequired}, {"address"}}},
      {MemoryKind::kTrf,
       {{"chip"}, {"cluster"}, {"slice", kRequired}, {"lane", kRequired}, {"region"}}},
      {MemoryKind::kVrf, {{"chip"}, {"cluster"}, {"slice", kRequired}, {"address"}}},
      {MemoryKind::kHost, {{"chip"}, {"address"}}},
  };
  return kRules;
}

const MemoryRule* find_memory(const std::string& text) {
  for (const MemoryRule& rule : memory_rules()) {
    if (text == name(rule.kind)) return &rule;
  }
  return nullptr;
}

std::vector<std::string> memory_names() {
  std::vector<std::string> names;
  for (const MemoryRule& rule : memory_rules()) names.emplace_back(name(rule.kind));
  return names;
}

const std::vector<std::string>& region_names() {
  static const std::vector<std::string> kNames = {"full", "first_half", "second_half"};
  return kNames;
}

const std::vector<std::string>& lane_mode_names() {
  static const std::vector<std::string> kNames = {"interleaved", "sequential"};
  return kNames;
}

const std::vector<std::string>& switch_kind_names() {
  static const std::vector<std::string> kNames = {
      "forward",         "broadcast01",           "broadcast1",      "transpose",
      "inter_transpose", "transposed_broadcast1", "custom_broadcast"};
  return kNames;
}

const std::vector<std::string>& command_names() {
  static const std::vector<std::string> kNames = {"main", "sub", "dma", "repeat", "memset"};
  return kNames;
}

const std::vector<std::string>& init_names() {
  static const std::vector<std::string> kNames = {"zero",   "constant", "iota",
                                                  "random", "values",   "npy"};
  return kNames;
}

bool is_axis_name(const std::string& text) {
  return is_identifier(text) && text[0] >= 'A' && text[0] <= 'Z';
}

class KernelParser {
 public:
  KernelParser(const YamlDocument& document, FileErrors& errors, KernelDecl& kernel)
      : root_(document.root()), reader_(document, errors), errors_(errors), kernel_(kernel) {}

  void parse(const SweepChoice& choice, Diagnostics& diagnostics) {
    const auto sections = reader_.fields(root_, "a kernel file", errors_.at(1, 1),
                                         {{"kernel", kRequired},
                                          {"description"},
                                          {"axes", kRequired},
                                          {"constants"},
                                          {"mappings"},
                                          {"sweep"},
                                          {"tensors"},
                                          {"program", kRequired},
                                          {"expect"}});
    if (!sections) return;
    if (const YamlNode* node = sections->find("kernel")) {
      if (const auto text = reader_.text(*node, "'kernel'")) kernel_.name = text->value;
    }
    if (const YamlNode* node = sections->find("description")) {
      if (const auto text = reader_.text(*node, "'description'")) kernel_.description = text->value;
    }
    // Names before their uses, whatever the order of the file.
    const size_t errors_before = errors_.count();
    if (const YamlNode* node = sections->find("sweep")) {
      kernel_.sweep = read_sweep(*node, reader_, errors_);
    }
    if (!kernel_.sweep.faulty) {
      kernel_.point = choose_point(kernel_.sweep, choice, kernel_.file, diagnostics);
    }
    take_parameters();
    if (const YamlNode* node = sections->find("constants")) parse_constants(*node);
    if (const YamlNode* node = sections->find("mappings")) parse_mappings(*node);
    check_constraints();
    if (const YamlNode* node = sections->find("axes")) parse_axes(*node);
    // No axes at all (`axes: {}`) is unusual but says what there is.
    kernel_.names_faulty = errors_.count() != errors_before || sections->find("axes") == nullptr;
    if (const YamlNode* node = sections->find("tensors")) parse_tensors(*node);
    if (const YamlNode* node = sections->find("program")) parse_program(*node);
    if (const YamlNode* node = sections->find("expect")) parse_expect(*node);
    check_parameters_used(kernel_.sweep, root_, errors_);
  }

 private:
  // ------------------------------------------------------------------------------------- names

  // The chosen values become constants and named mappings. Of a faulty section only the names
  // count.
  void take_parameters() {
    Reader::Constants known;
    for (size_t i = 0; i < kernel_.sweep.parameters.size(); ++i) {
      const SweepParameter& parameter = kernel_.sweep.parameters[i];
      parameter_lines_[parameter.name] = parameter.where.line;
      if (kernel_.sweep.faulty) {
        known[parameter.name] = std::nullopt;
      } else if (parameter.is_mapping()) {
        kernel_.mappings.push_back({parameter.name, parameter.mappings[kernel_.point[i]]});
      } else {
        const uint64_t value = parameter.numbers[kernel_.point[i]];
        known[parameter.name] = value;
        kernel_.constants.push_back({parameter.name, value, parameter.where});
      }
    }
    numbers_ = known;
    reader_.set_constants(std::move(known));
  }

  // A name that a parameter has is not free.
  bool is_parameter(const YamlNode& key, const char* noun) {
    const auto found = parameter_lines_.find(key.text);
    if (found == parameter_lines_.end()) return false;
    errors_.error(key,
                  fmt::format("'{}' is a parameter of the sweep and a {}; one name cannot be both",
                              key.text, noun),
                  fmt::format("the parameter is in line {}", found->second));
    return true;
  }

  void check_constraints() {
    if (kernel_.sweep.faulty) return;
    for (const Located<std::string>& constraint : kernel_.sweep.constraints) {
      const auto result = evaluate_constraint(constraint, numbers_, errors_);
      if (!result || result->holds || kernel_.excluded) continue;
      kernel_.excluded = Diagnostic{Severity::kError, constraint.where,
                                    fmt::format("the constraint does not hold with {}: {}",
                                                kernel_.sweep.name(kernel_.point), result->values),
                                    "choose other values with --param NAME=VALUE"};
    }
  }

  void parse_constants(const YamlNode& node) {
    if (!reader_.is_map(node, "'constants'", kMaxNames)) return;
    Reader::Constants known = numbers_;
    for (const auto& [key, value] : node.entries) {
      if (!reader_.is_name(key, "constant") || is_parameter(key, "constant")) continue;
      const auto number =
          reader_.integer(value, fmt::format("constant '{}'", key.text), 0, kMaxConstant);
      known[key.text] = number;
      if (number) kernel_.constants.push_back({key.text, *number, reader_.at(key)});
      constant_lines_[key.text] = key.line;
    }
    numbers_ = known;
    reader_.set_constants(std::move(known));
  }

  void parse_mappings(const YamlNode& node) {
    if (!reader_.is_map(node, "'mappings'", kMaxNames)) return;
    for (const auto& [key, value] : node.entries) {
      const bool good_name = reader_.is_name(key, "mapping");
      if (is_parameter(key, "mapping")) continue;
      if (const auto constant = constant_lines_.find(key.text); constant != constant_lines_.end()) {
        errors_.error(
            key, fmt::format("'{}' is a constant and a mapping; one name cannot be both", key.text),
            fmt::format("the constant is in line {}", constant->second));
        continue;
      }
      const auto text = reader_.mapping(value, fmt::format("mapping '{}'", key.text));
      if (good_name && text) kernel_.mappings.push_back({key.text, *text});
    }
  }

  void parse_axes(const YamlNode& node) {
    if (!reader_.is_map(node, "'axes'", kMaxAxes)) return;
    for (const auto& [key, value] : node.entries) {
      axis_names_.push_back(key.text);
      const bool is_axis = is_axis_name(key.text);
      const bool good_name = is_axis && reader_.has_name_length(key, "axis");
      if (!is_axis) {
        errors_.error(key, fmt::format("axis name {} must be an upper-case letter, then letters, "
                                       "digits, '_'",
                                       quoted(key.text)));
      }
      const auto size =
          reader_.integer(value, fmt::format("size of axis {}", quoted(key.text)), 1, kMaxAxisSize);
      if (good_name && size) kernel_.axes.push_back({key.text, *size, reader_.at(key)});
    }
  }

  // -------------------------------------------------------------------------- pieces of several

  void read_mapping(const Fields& fields, const char* key, const std::string& owner,
                    std::optional<MappingText>& target) {
    if (const YamlNode* node = fields.find(key)) {
      target = reader_.mapping(*node, fmt::format("'{}' of {}", key, owner));
    }
  }

  void read_name(const Fields& fields, const char* key, const std::string& owner,
                 std::optional<Located<std::string>>& target) {
    if (const YamlNode* node = fields.find(key)) {
      target = reader_.name(*node, fmt::format("'{}' of {}", key, owner));
    }
  }

  void read_choice(const Fields& fields, const char* key, const std::string& owner,
                   const std::vector<std::string>& words,
                   std::optional<Located<std::string>>& target) {
    if (const YamlNode* node = fields.find(key)) {
      target = reader_.choice(*node, fmt::format("'{}' of {}", key, owner), key, words);
    }
  }

  std::optional<Located<DType>> read_dtype(const Fields& fields, const std::string& owner) {
    std::optional<Located<std::string>> text;
    read_choice(fields, "dtype", owner, dtype_names(), text);
    if (!text) return std::nullopt;
    const std::optional<DType> dtype = parse_dtype(text->value);
    if (!dtype) return std::nullopt;
    return Located<DType>{*dtype, text->where};
  }

  // ---------------------------------------------------------------------------------------- init

  void read_init(const Fields& fields, const std::string& owner, InitSpec& init) {
    const YamlNode* node = fields.find("init");
    if (node == nullptr) return;
    const std::string what = "'init' of " + owner;
    init.where = reader_.at(*node);
    if (node->is_map()) {
      if (node->entries.size() == 1) {
        const auto& [key, value] = node->entries[0];
        read_init_form(key, value, what, init);
      } else {
        errors_.error(*node,
                      fmt::format("{} must have one key, got {}", what, node->entries.size()),
                      "for example {random: {seed: 1, low: -1, high: 1}}");
      }
      return;
    }
    const auto word = reader_.choice(*node, what, "init", init_names());
    if (!word) return;
    if (word->value == "zero") {
      init.kind = InitSpec::Kind::kZero;
    } else {
      errors_.error(*node, fmt::format("{} needs a value for '{}'", what, word->value),
                    fmt::format("write {{{}: ...}}", word->value));
    }
  }

  void read_init_form(const YamlNode& key, const YamlNode& value, const std::string& what,
                      InitSpec& init) {
    const std::string form = fmt::format("'{}' of {}", key.text, what);
    if (key.text == "constant") {
      init.kind = InitSpec::Kind::kConstant;
      if (const auto number = reader_.number(value, form)) init.constant = *number;
    } else if (key.text == "iota") {
      init.kind = InitSpec::Kind::kIota;
      const auto fields = reader_.fields(value, form, reader_.at(key), {{"start"}, {"step"}});
      if (!fields) return;
      read_number(*fields, "start", form, init.start);
      read_number(*fields, "step", form, init.step);
    } else if (key.text == "random") {
      init.kind = InitSpec::Kind::kRandom;
      read_random(key, value, form, init);
    } else if (key.text == "values") {
      init.kind = InitSpec::Kind::kValues;
      if (!reader_.is_sequence(value, form)) return;
      if (value.items.empty()) errors_.error(value, form + " is an empty list");
      for (const YamlNode& item : value.items) {
        if (errors_.full()) break;
        if (const auto number = reader_.number(item, "an entry of " + form)) {
          init.values.push_back(*number);
        }
      }
    } else if (key.text == "npy") {
      init.kind = InitSpec::Kind::kNpy;
      if (const auto text = reader_.text(value, form)) init.file = text->value;
    } else if (key.text == "zero") {
      errors_.error(key, what + ": 'zero' takes no value", "write init: zero");
    } else {
      reader_.unknown(key, "init", key.text, init_names());
    }
  }

  bool read_number(const Fields& fields, const char* key, const std::string& owner,
                   double& target) {
    const YamlNode* node = fields.find(key);
    if (node == nullptr) return true;
    const auto number = reader_.number(*node, fmt::format("'{}' of {}", key, owner));
    if (number) target = *number;
    return number.has_value();
  }

  void read_random(const YamlNode& key, const YamlNode& value, const std::string& form,
                   InitSpec& init) {
    const auto fields =
        reader_.fields(value, form, reader_.at(key), {{"seed", kRequired}, {"low"}, {"high"}});
    if (!fields) return;
    if (const YamlNode* seed = fields->find("seed")) {
      const auto number = reader_.integer(*seed, "'seed' of " + form, 0, UINT64_MAX);
      if (number) init.seed = *number;
    }
    const bool good_low = read_number(*fields, "low", form, init.low);
    const bool good_high = read_number(*fields, "high", form, init.high);
    if (good_low && good_high && init.low > init.high) {
      errors_.error(value, fmt::format("{} needs low <= high, got low {} and high {}", form,
                                       init.low, init.high));
    }
  }

  // ------------------------------------------------------------------------------------- tensors

  void parse_tensors(const YamlNode& node) {
    if (!reader_.is_map(node, "'tensors'", kMaxTensors)) return;
    for (const auto& [key, value] : node.entries) {
      if (!reader_.is_name(key, "tensor")) continue;
      const size_t errors_before = errors_.count(), tensors_before = kernel_.tensors.size();
      parse_tensor(key, value);
      if (errors_.count() == errors_before) continue;
      kernel_.tensors.resize(tensors_before);
      kernel_.faulty_tensors.push_back(key.text);
    }
  }

  void parse_tensor(const YamlNode& key, const YamlNode& value) {
    const std::string what = fmt::format("tensor '{}'", key.text);
    TensorDecl tensor;
    tensor.name = key.text;
    tensor.where = reader_.at(key);
    const auto fields = reader_.fields(value, what, tensor.where,
                                       {{"memory", kRequired},
                                        {"dtype", kRequired},
                                        {"chip"},
                                        {"cluster"},
                                        {"slice"},
                                        {"lane"},
                                        {"element", kRequired},
                                        {"address"},
                                        {"region"},
                                        {"logical"},
                                        {"init"}});
    if (!fields) return;
    if (const YamlNode* memory = fields->find("memory")) {
      const auto text = reader_.choice(*memory, "'memory' of " + what, "memory", memory_names());
      if (text) check_memory(*fields, *find_memory(text->value), what, tensor);
    }
    if (const auto dtype = read_dtype(*fields, what)) tensor.dtype = dtype->value;
    read_mapping(*fields, "chip", what, tensor.chip);
    read_mapping(*fields, "cluster", what, tensor.cluster);
    read_mapping(*fields, "slice", what, tensor.slice);
    read_mapping(*fields, "lane", what, tensor.lane);
    read_mapping(*fields, "element", what, tensor.element);
    if (const YamlNode* address = fields->find("address")) {
      const auto number = reader_.integer(*address, "'address' of " + what, 0, kMaxAddress);
      if (number) tensor.address = Located<uint64_t>{*number, reader_.at(*address)};
    }
    read_choice(*fields, "region", what, region_names(), tensor.region);
    if (const YamlNode* logical = fields->find("logical")) {
      tensor.logical = read_axes(*logical, "'logical' of " + what);
    }
    read_init(*fields, what, tensor.init);
    kernel_.tensors.push_back(std::move(tensor));
  }

  void check_memory(const Fields& fields, const MemoryRule& memory, const std::string& what,
                    TensorDecl& tensor) {
    tensor.memory = memory.kind;
    for (const char* key : {"chip", "cluster", "slice", "lane", "address", "region"}) {
      const YamlEntry* entry = fields.entry(key);
      if (entry == nullptr || memory.may_declare(key)) continue;
      errors_.error(entry->key,
                    fmt::format("a tensor in {} memory has no '{}'", name(memory.kind), key));
    }
    for (const KeyRule& rule : memory.keys) {
      if (!rule.required || fields.find(rule.name) != nullptr) continue;
      errors_.error(tensor.where, fmt::format("missing key '{}' in {}: it is in {} memory",
                                              rule.name, what, name(memory.kind)));
    }
  }

  std::optional<Located<std::string>> read_axis(const YamlNode& node, const std::string& owner) {
    const std::string what = fmt::format("'label' of {}", owner);
    auto axis = reader_.name(node, what);
    if (!axis ||
        std::find(axis_names_.begin(), axis_names_.end(), axis->value) != axis_names_.end()) {
      return axis;
    }
    reader_.unknown(node, "axis", axis->value, axis_names_);
    return std::nullopt;
  }

  // A list of declared axes, each at most once.
  std::optional<std::vector<Located<std::string>>> read_axes(const YamlNode& node,
                                                             const std::string& what) {
    const auto axes = reader_.names(node, what, "axis", &axis_names_);
    if (!axes) return std::nullopt;
    std::set<std::string> seen;
    for (const Located<std::string>& axis : *axes) {
      if (seen.insert(axis.value).second) continue;
      errors_.error(axis.where, fmt::format("axis '{}' is twice in {}", axis.value, what));
    }
    return axes;
  }

  // ------------------------------------------------------------------------------------- program

  void parse_program(const YamlNode& node) {
    if (!reader_.is_sequence(node, "'program'", kMaxCommands)) return;
    if (node.items.empty()) errors_.error(node, "'program' is an empty list");
    for (const YamlNode& item : node.items) {
      if (errors_.full()) break;
      const size_t errors_before = errors_.count(), commands_before = kernel_.program.size();
      parse_program_item(item);
      if (errors_.count() == errors_before) continue;
      kernel_.program.resize(commands_before);
      note_written(item);
    }
  }

  void parse_program_item(const YamlNode& item) {
    if (!reader_.is_map(item, "a command")) return;
    if (item.entries.size() != 1) {
      errors_.error(item, fmt::format("a command must have one key, got {}", item.entries.size()),
                    "for example - main: {from: a, stages: [...]}");
      return;
    }
    const auto& [key, value] = item.entries[0];
    if (key.text == "main" || key.text == "sub") {
      parse_command(key, value);
    } else if (key.text == "repeat") {
      parse_repeat(key, value);
    } else if (key.text == "dma") {
      parse_dma(key, value);
    } else if (key.text == "memset") {
      parse_memset(key, value);
    } else {
      reader_.unknown(key, "command", key.text, command_names());
    }
  }

  // The body once for each value of the variable. What is wrong with one round is said once: the
  // rounds after a faulty one are not read.
  void parse_repeat(const YamlNode& key, const YamlNode& value) {
    const std::string what = "'repeat'";
    const auto fields =
        reader_.fields(value, what, reader_.at(key),
                       {{"var", kRequired}, {"count", kRequired}, {"body", kRequired}});
    if (!fields) return;
    std::optional<Located<std::string>> var;
    read_name(*fields, "var", what, var);
    if (var && !is_new_variable(*var)) return;
    std::optional<uint64_t> count;
    if (const YamlNode* node = fields->find("count")) {
      count = reader_.integer(*node, "'count' of " + what, 1, kMaxCommands);
    }
    const YamlNode* body = fields->find("body");
    if (body == nullptr || !reader_.is_sequence(*body, "'body' of " + what, kMaxCommands)) return;
    if (body->items.empty())
      errors_.error(*body, fmt::format("'body' of {} is an empty list", what));
    if (!var) return;
    const size_t errors_before = errors_.count();
    for (uint64_t i = 0; i < count.value_or(1) && errors_.count() == errors_before; ++i) {
      variables_.emplace_back(var->value, i);
      reader_.set_constant(var->value, i);
      for (const YamlNode& item : body->items) parse_program_item(item);
      reader_.remove_constant(var->value);
      variables_.pop_back();
      if (kernel_.program.size() <= kMaxCommands || errors_.count() != errors_before) continue;
      errors_.error(key,
                    fmt::format("the program has more than {} commands with round {} of {} of "
                                "'repeat'",
                                group_digits(kMaxCommands), i + 1, count.value_or(1)),
                    kLimitHint);
    }
  }

  bool is_new_variable(const Located<std::string>& var) {
    const auto constant = constant_lines_.find(var.value);
    const bool parameter = parameter_lines_.count(var.value) != 0;
    const bool outer = std::any_of(variables_.begin(), variables_.end(),
                                   [&](const auto& v) { return v.first == var.value; });
    const bool mapping =
        std::any_of(kernel_.mappings.begin(), kernel_.mappings.end(),
                    [&](const AliasDecl& alias) { return alias.name == var.value; });
    if (constant == constant_lines_.end() && !parameter && !outer && !mapping) return true;
    errors_.error(var.where,
                  fmt::format("'{}' is already {}; a variable needs a name of its own", var.value,
                              outer       ? "the variable of a repeat around this one"
                              : parameter ? "a parameter of the sweep"
                              : mapping   ? "a mapping"
                                          : "a constant"));
    return false;
  }

  // A text with "{var}" replaced.
  std::string with_variables(std::string text) const {
    for (const auto& [name, value] : variables_) {
      const std::string reference = "{" + name + "}";
      for (size_t at = text.find(reference); at != std::string::npos;
           at = text.find(reference, at)) {
        text.replace(at, reference.size(), std::to_string(value));
      }
    }
    return text;
  }

  // The tensors that a faulty command would have written: whatever stands behind a `to`.
  void note_written(const YamlNode& node) {
    for (const YamlNode& item : node.items) note_written(item);
    for (const auto& [key, value] : node.entries) {
      if (key.text == "to" && value.is_scalar()) kernel_.faulty_tensors.push_back(value.text);
      note_written(value);
    }
  }

  void parse_command(const YamlNode& key, const YamlNode& value) {
    const std::string what = fmt::format("a {} command", key.text);
    CommandDecl command;
    command.context = key.text == "sub" ? CommandDecl::Context::kSub : CommandDecl::Context::kMain;
    command.where = reader_.at(key);
    const auto fields = reader_.fields(value, what, command.where,
                                       {{"from"},
                                        {"view"},
                                        {"stream"},
                                        {"stages", kRequired},
                                        {"delay"},
                                        {"label"},
                                        {"interleave"}});
    if (!fields) return;
    parse_source(*fields, what, command);
    if (const YamlNode* stages = fields->find("stages")) parse_stages(*stages, what, command);
    read_delay_and_label(*fields, what, command);
    kernel_.program.push_back(std::move(command));
  }

  // A stream of one value that the sub context commits, 8 bytes at a time [B].
  void parse_memset(const YamlNode& key, const YamlNode& value) {
    const std::string what = "a memset command";
    CommandDecl command;
    command.context = CommandDecl::Context::kSub;
    command.where = reader_.at(key);
    const auto fields = reader_.fields(value, what, command.where,
                                       {{"to", kRequired},
                                        {"dtype", kRequired},
                                        {"chip"},
                                        {"cluster"},
                                        {"slice", kRequired},
                                        {"element", kRequired},
                                        {"value"},
                                        {"delay"},
                                        {"label"}});
    if (!fields) return;
    StreamDecl& stream = command.stream.emplace();
    stream.where = command.where;
    stream.init.kind = InitSpec::Kind::kConstant;
    stream.init.where = command.where;
    if (const YamlNode* number = fields->find("value")) stream.init.where = reader_.at(*number);
    read_number(*fields, "value", what, stream.init.constant);
    if (const auto dtype = read_dtype(*fields, what)) stream.dtype = dtype->value;
    read_mapping(*fields, "chip", what, stream.chip);
    read_mapping(*fields, "cluster", what, stream.cluster);
    read_mapping(*fields, "slice", what, stream.slice);
    read_mapping(*fields, "element", what, command.memset);
    StageDecl commit;
    commit.name = "commit";
    commit.where = command.where;
    read_name(*fields, "to", what, commit.to);
    read_delay_and_label(*fields, what, command);
    if (!commit.to || !command.memset) return;
    add_memset_stages(std::move(commit), command);
    kernel_.program.push_back(std::move(command));
  }

  // In the language of mappings, so that what is wrong with Element is said at its place.
  static void add_memset_stages(StageDecl commit, CommandDecl& command) {
    const int bits = memory_bits(command.stream->dtype);
    const int at_once = 64 / bits, flit = 256 / bits;
    const auto part = [&](const std::string& suffix) {
      MappingText text = *command.memset;
      text.value = fmt::format("[{}]{}", text.value, suffix);
      --text.where.column;  // of the bracket
      return text;
    };
    command.stream->time = part(fmt::format(" / {}", at_once));
    command.stream->packet = part(fmt::format(" % {} # {}", at_once, flit));
    StageDecl trim;
    trim.name = "commit_trim";
    trim.where = command.where;
    trim.packet = part(fmt::format(" % {}", at_once));
    commit.element = command.memset;
    command.stages = {std::move(trim), std::move(commit)};
    if (!command.label) command.label = "memset " + command.stages[1].to->value;
  }

  void parse_dma(const YamlNode& key, const YamlNode& value) {
    const std::string what = "a dma command";
    // A tensor that exists has its memory and Element, and a shuffle takes over those of its
    // source.
    const bool makes_tensor =
        std::none_of(value.entries.begin(), value.entries.end(), [](const YamlEntry& entry) {
          return entry.key.text == "to_view" || entry.key.text == "cluster_shuffle" ||
                 entry.key.text == "chip_shuffle";
        });
    CommandDecl command;
    command.context = CommandDecl::Context::kDma;
    command.where = reader_.at(key);
    const auto fields = reader_.fields(value, what, command.where,
                                       {{"from"},
                                        {"view"},
                                        {"to", kRequired},
                                        {"to_view"},
                                        {"cluster_shuffle"},
                                        {"chip_shuffle"},
                                        {"memory", makes_tensor},
                                        {"chip"},
                                        {"cluster"},
                                        {"slice"},
                                        {"element", makes_tensor},
                                        {"time"},
                                        {"packet"},
                                        {"engines"},
                                        {"address"},
                                        {"delay"},
                                        {"label"},
                                        {"index"},
                                        {"scaled"}});
    if (!fields) return;
    DmaDecl& dma = command.dma.emplace();
    const YamlNode* from = fields->find("from");
    const YamlEntry* view = fields->entry("view");
    if (from == nullptr && view == nullptr) {
      errors_.error(command.where, fmt::format("{} needs 'from' or 'view'", what));
    }
    check_dma_target(*fields, what);
    if (view != nullptr && fields->find("index") != nullptr) {
      errors_.error(view->key, fmt::format("{} has both 'view' and 'index'", what),
                    "rows are chosen of a whole tensor");
    }
    read_name(*fields, "from", what, command.from);
    parse_source_view(from, view, what, command);
    read_name(*fields, "to", what, dma.to);
    if (const YamlNode* memory = fields->find("memory")) {
      const auto text = reader_.choice(*memory, "'memory' of " + what, "memory", memory_names());
      if (text) check_dma_memory(*fields, *memory, *find_memory(text->value), command.where, dma);
    }
    read_mapping(*fields, "chip", what, dma.chip);
    read_mapping(*fields, "cluster", what, dma.cluster);
    read_mapping(*fields, "slice", what, dma.slice);
    read_mapping(*fields, "element", what, dma.element);
    read_mapping(*fields, "time", what, dma.time);
    read_mapping(*fields, "packet", what, dma.packet);
    if (const YamlNode* engines = fields->find("engines")) read_engines(*engines, what, dma);
    if (const YamlNode* address = fields->find("address")) {
      const auto number = reader_.integer(*address, "'address' of " + what, 0, kMaxAddress);
      if (number) dma.address = Located<uint64_t>{*number, reader_.at(*address)};
    }
    read_index(*fields, what, dma);
    if (const YamlEntry* to_view = fields->entry("to_view")) {
      dma.to_view = parse_target_view(*to_view, what, dma.to);
    }
    read_delay_and_label(*fields, what, command);
    const auto shuffle = dma_shuffle_keys();
    const auto key_of = std::find_if(shuffle.begin(), shuffle.end(), [&](const char* name) {
      return fields->find(name) != nullptr;
    });
    if (key_of == shuffle.end()) {
      kernel_.program.push_back(std::move(command));
    } else {
      push_shuffle(*fields->entry(*key_of), std::move(command));
    }
  }

  static std::vector<const char*> dma_shuffle_keys() { return {"cluster_shuffle", "chip_shuffle"}; }

  // What says into what is moved; and what is known then.
  void check_dma_target(const Fields& fields, const std::string& what) {
    const char* given = nullptr;
    for (const char* key : {"to_view", "cluster_shuffle", "chip_shuffle", "index"}) {
      const YamlEntry* entry = fields.entry(key);
      if (entry == nullptr) continue;
      if (given != nullptr) {
        errors_.error(entry->key, fmt::format("{} has both '{}' and '{}'", what, given, key));
      } else {
        given = key;
      }
    }
    if (given == nullptr || given == std::string("index")) return;
    for (const char* key : {"memory", "chip", "cluster", "slice", "element", "address"}) {
      const YamlEntry* entry = fields.entry(key);
      if (entry == nullptr) continue;
      if (given == std::string("to_view")) {
        errors_.error(entry->key, fmt::format("{} has both 'to_view' and '{}'", what, key),
                      "a view has the memory, the dimensions and the place of its tensor");
      } else if (key != std::string("address")) {
        errors_.error(entry->key, fmt::format("{} has both '{}' and '{}'", what, given, key),
                      "a shuffle takes over the memory and the dimensions of what it moves");
      }
    }
  }

  // A command for each entry of the pattern.
  void push_shuffle(const YamlEntry& entry, CommandDecl command) {
    const std::string what = fmt::format("'{}' of a dma command", entry.key.text);
    if (!reader_.is_sequence(entry.value, what, kMaxShuffled)) return;
    if (entry.value.items.empty()) errors_.error(entry.value, what + " is an empty list");
    const std::optional<std::string> label = command.label;
    for (size_t i = 0; i < entry.value.items.size(); ++i) {
      const YamlNode& item = entry.value.items[i];
      const auto source = reader_.integer(item, "an entry of " + what, 0, kMaxShuffled - 1);
      if (!source) continue;
      DmaDecl::Shuffle shuffle;
      if (entry.key.text == dma_shuffle_keys()[1]) shuffle.of = DmaDecl::Shuffle::Of::kChip;
      shuffle.where = reader_.at(entry.value);
      shuffle.length = entry.value.items.size();
      shuffle.target = i;
      shuffle.source = {*source, reader_.at(item)};
      command.dma->shuffle = shuffle;
      command.label =
          fmt::format("{}: {} to {}", label.value_or(command.dma->to->value), *source, i);
      kernel_.program.push_back(command);
    }
  }

  void read_index(const Fields& fields, const std::string& what, DmaDecl& dma) {
    read_name(fields, "index", what, dma.index);
    const YamlEntry* index = fields.entry("index");
    const YamlEntry* scaled = fields.entry("scaled");
    if (scaled != nullptr) {
      const auto flag = reader_.flag(scaled->value, "'scaled' of " + what);
      if (flag) dma.scaled = Located<bool>{*flag, reader_.at(scaled->value)};
    }
    if (index != nullptr && scaled == nullptr) {
      errors_.error(index->key, "missing key 'scaled' in " + what + " with an index",
                    "true: byte offsets, of an index in hbm; false: row numbers, of one in dm");
    } else if (index == nullptr && scaled != nullptr) {
      errors_.error(scaled->key, "'scaled' in " + what + " without an index",
                    "it says how the values of an index tensor are read");
    }
  }

  void check_dma_memory(const Fields& fields, const YamlNode& node, const MemoryRule& memory,
                        const SourceLocation& where, DmaDecl& dma) {
    dma.memory = memory.kind;
    if (memory.kind == MemoryKind::kTrf || memory.kind == MemoryKind::kVrf) {
      errors_.error(node,
                    fmt::format("a dma command writes hbm, dm or host, not {}", name(memory.kind)),
                    fmt::format("a sub command stores into {}", name(memory.kind)));
      return;
    }
    for (const char* key : {"cluster", "slice"}) {
      const YamlEntry* entry = fields.entry(key);
      if (entry == nullptr || memory.may_declare(key)) continue;
      errors_.error(entry->key,
                    fmt::format("a tensor in {} memory has no '{}'", name(memory.kind), key));
    }
    if (memory.kind == MemoryKind::kDm && fields.find("slice") == nullptr) {
      errors_.error(where, "missing key 'slice' in a dma command: it writes dm memory");
    }
  }

  void read_engines(const YamlNode& node, const std::string& owner, DmaDecl& dma) {
    const std::string what = "'engines' of " + owner;
    if (!reader_.is_sequence(node, what, kMaxDmaEngines)) return;
    if (node.items.empty()) errors_.error(node, what + " is an empty list");
    dma.engines.emplace();
    for (const YamlNode& item : node.items) {
      const auto number = reader_.integer(item, "an entry of " + what, 0, kMaxDmaEngines - 1);
      if (number) dma.engines->push_back({*number, reader_.at(item)});
    }
  }

  void read_delay_and_label(const Fields& fields, const std::string& what, CommandDecl& command) {
    if (const YamlNode* delay = fields.find("delay")) {
      const auto number = reader_.integer(*delay, "'delay' of " + what, 0, kMaxDelay);
      if (number) command.delay = *number;
    }
    if (const YamlNode* label = fields.find("label")) {
      const auto text = reader_.text(*label, "'label' of " + what);
      if (text) command.label = with_variables(text->value);
    }
    command.variables = variables_;
  }

  void parse_source(const Fields& fields, const std::string& what, CommandDecl& command) {
    const YamlNode* from = fields.find("from");
    const YamlEntry* view = fields.entry("view");
    const YamlEntry* stream = fields.entry("stream");
    if (from == nullptr && view == nullptr && stream == nullptr) {
      errors_.error(command.where, fmt::format("{} needs 'from', 'view' or 'stream'", what));
    }
    if (stream != nullptr && (from != nullptr || view != nullptr)) {
      errors_.error(
          stream->key,
          fmt::format("{} has both '{}' and 'stream'", what, from != nullptr ? "from" : "view"),
          "it begins either from a tensor or from a stream");
    }
    parse_source_view(from, view, what, command);
    if (from != nullptr && from->is_sequence()) {
      parse_two_sources(*from, fields, what, command);
    } else if (from != nullptr) {
      command.from = reader_.name(*from, "'from' of " + what);
    }
    const YamlEntry* interleave = fields.entry("interleave");
    if (interleave != nullptr && (from == nullptr || !from->is_sequence())) {
      errors_.error(interleave->key, fmt::format("{} has 'interleave' and one source", what),
                    "two tensors are fetched in turn: from: [x, y]");
    }
    if (stream != nullptr) command.stream = parse_stream(*stream, what);
  }

  // `view:` instead of `from:`.
  void parse_source_view(const YamlNode* from, const YamlEntry* view, const std::string& what,
                         CommandDecl& command) {
    if (view == nullptr) return;
    if (from != nullptr) {
      errors_.error(view->key, fmt::format("{} has both 'from' and 'view'", what),
                    "a view names its tensor itself: view: {of: x, axis: ..., start: ...}");
    }
    std::optional<Located<std::string>> of;
    command.view = parse_view(*view, what, of);
    if (of) {
      command.from = of;
    } else if (!command.view.empty()) {
      errors_.error(command.view.front().where,
                    fmt::format("missing key 'of' in 'view' of {}", what),
                    "the tensor that the view is a tile of");
    }
  }

  // `from: [x, y]`
  void parse_two_sources(const YamlNode& from, const Fields& fields, const std::string& what,
                         CommandDecl& command) {
    constexpr size_t kSources = 2;
    if (from.items.size() != kSources) {
      errors_.error(from,
                    fmt::format("'from' of {} lists {} tensor{}; a fetch takes one, or two in turn",
                                what, from.items.size(), from.items.size() == 1 ? "" : "s"));
      return;
    }
    std::optional<Located<std::string>> names[kSources];
    std::vector<TileDecl>* const views[] = {&command.view, &command.second_view};
    for (size_t i = 0; i < kSources; ++i) {
      names[i] = parse_one_of_two(from.items[i], what, *views[i]);
    }
    const YamlNode* interleave = fields.find("interleave");
    std::optional<Located<std::string>> axis;
    if (interleave == nullptr) {
      errors_.error(from, fmt::format("missing key 'interleave' in {}", what),
                    "the axis of size 2 that tells the two tensors apart");
    } else {
      axis = reader_.name(*interleave, "'interleave' of " + what);
    }
    command.from = names[0];
    if (!names[0] || !names[1] || !axis) return;
    command.second = names[1];
    command.interleave = axis;
  }

  // A name, or `{view: ...}`.
  std::optional<Located<std::string>> parse_one_of_two(const YamlNode& item,
                                                       const std::string& what,
                                                       std::vector<TileDecl>& view) {
    const std::string entry = "an entry of 'from' of " + what;
    if (!item.is_map()) return reader_.name(item, entry);
    const auto fields = reader_.fields(item, entry, reader_.at(item), {{"view", kRequired}});
    if (!fields) return std::nullopt;
    CommandDecl part;
    parse_source_view(nullptr, fields->entry("view"), entry, part);
    view = std::move(part.view);
    return part.from;
  }

  std::optional<StreamDecl> parse_stream(const YamlEntry& entry, const std::string& command) {
    const std::string what = "the stream of " + command;
    StreamDecl stream;
    stream.where = reader_.at(entry.key);
    const auto fields = reader_.fields(entry.value, what, stream.where,
                                       {{"dtype", kRequired},
                                        {"chip"},
                                        {"cluster"},
                                        {"slice", kRequired},
                                        {"time", kRequired},
                                        {"packet", kRequired},
                                        {"init"}});
    if (!fields) return std::nullopt;
    if (const auto dtype = read_dtype(*fields, what)) stream.dtype = dtype->value;
    read_mapping(*fields, "chip", what, stream.chip);
    read_mapping(*fields, "cluster", what, stream.cluster);
    read_mapping(*fields, "slice", what, stream.slice);
    read_mapping(*fields, "time", what, stream.time);
    read_mapping(*fields, "packet", what, stream.packet);
    read_init(*fields, what, stream.init);
    return stream;
  }

  void parse_stages(const YamlNode& node, const std::string& what, CommandDecl& command) {
    if (!reader_.is_sequence(node, "'stages' of " + what, kMaxStages)) return;
    if (node.items.empty())
      errors_.error(node, fmt::format("'stages' of {} is an empty list", what));
    const YamlNode no_keys = [] {
      YamlNode map;
      map.kind = YamlNode::Kind::kMap;
      return map;
    }();
    for (const YamlNode& item : node.items) {
      if (item.is_scalar()) {  // `- collect`
        parse_stage(item, no_keys, command);
      } else if (!reader_.is_map(item, "a stage")) {
        continue;
      } else if (item.entries.size() != 1) {
        errors_.error(item, fmt::format("a stage must have one key, got {}", item.entries.size()),
                      "each stage is an item of its own: - fetch: {...}");
      } else {
        const auto& [key, value] = item.entries[0];
        const bool empty = value.kind == YamlNode::Kind::kNull && !value.reported;
        parse_stage(key, empty ? no_keys : value, command);
      }
    }
  }

  void parse_stage(const YamlNode& key, const YamlNode& value, CommandDecl& command) {
    const std::vector<StageRule>& rules = stage_rules();
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&](const StageRule& r) { return r.name == key.text; });
    if (rule == rules.end()) {
      std::vector<std::string> all;
      for (const StageRule& r : rules) all.push_back(r.name);
      reader_.unknown(key, "stage", key.text, all);
      return;
    }
    if (command.context == CommandDecl::Context::kSub && !rule->in_sub) {
      errors_.error(key,
                    fmt::format("stage '{}' cannot run in a sub command: sub runs everything "
                                "but contraction, table lookup and commit cast",
                                key.text),
                    "make it a main command");
    }
    const std::string what = fmt::format("stage '{}'", key.text);
    StageDecl stage;
    stage.name = key.text;
    stage.where = reader_.at(key);
    const auto fields = reader_.fields(value, what, stage.where, rule->keys);
    if (!fields) return;
    read_mapping(*fields, "time", what, stage.time);
    read_mapping(*fields, "packet", what, stage.packet);
    read_mapping(*fields, "lane", what, stage.lane);
    read_mapping(*fields, "element", what, stage.element);
    read_mapping(*fields, "slice", what, stage.slice);
    stage.dtype = read_dtype(*fields, what);
    read_name(*fields, "to", what, stage.to);
    read_name(*fields, "with", what, stage.with);
    read_choice(*fields, "region", what, region_names(), stage.region);
    if (stage.name.rfind("vector_", 0) == 0) {
      stage.vector = read_vector_stage(stage.name, *fields, reader_, axis_names_);
    } else {
      read_choice(*fields, "mode", what, lane_mode_names(), stage.mode);
    }
    if (const YamlNode* label = fields->find("label")) stage.label = read_axis(*label, what);
    if (const YamlNode* track = fields->find("track")) {
      if (auto axes = read_axes(*track, "'track' of " + what)) stage.track = std::move(*axes);
    }
    if (const YamlNode* zero_point = fields->find("zero_point")) {
      const auto number = reader_.signed_integer(*zero_point, "'zero_point' of " + what,
                                                 -kMaxZeroPoint, kMaxZeroPoint);
      if (number) stage.zero_point = Located<int64_t>{*number, reader_.at(*zero_point)};
    }
    if (stage.name == "switch") parse_switch(*fields, what, stage.switching);
    if (stage.name == "commit") parse_commit_target(*fields, what, stage);
    if (const YamlNode* relu = fields->find("relu")) {
      const auto flag = reader_.flag(*relu, "'relu' of " + what);
      if (flag) stage.relu = Located<bool>{*flag, reader_.at(*relu)};
    }
    command.stages.push_back(std::move(stage));
  }

  // 0 is a number like another here; the rule that a size is at least 1 belongs to the switch.
  void parse_switch(const Fields& fields, const std::string& what, SwitchDecl& decl) {
    read_choice(fields, "kind", what, switch_kind_names(), decl.kind);
    for (const auto& [key, target] :
         {std::pair<const char*, std::optional<Located<uint64_t>>*>{"slice1", &decl.slice1},
          {"slice0", &decl.slice0},
          {"time0", &decl.time0},
          {"ring_size", &decl.ring_size}}) {
      const YamlNode* node = fields.find(key);
      if (node == nullptr) continue;
      const auto number =
          reader_.integer(*node, fmt::format("'{}' of {}", key, what), 0, kMaxAxisSize);
      if (number) *target = Located<uint64_t>{*number, reader_.at(*node)};
    }
  }

  // A whole new version needs its Element; a view has that of its tensor.
  void parse_commit_target(const Fields& fields, const std::string& what, StageDecl& stage) {
    const YamlEntry* view = fields.entry("view");
    if (view == nullptr) {
      if (fields.find("element") == nullptr) {
        errors_.error(stage.where, fmt::format("missing key 'element' in {}", what));
      }
      return;
    }
    stage.view = parse_target_view(*view, what, stage.to);
  }

  // The view that is written into; of `to`.
  std::vector<TileDecl> parse_target_view(const YamlEntry& entry, const std::string& what,
                                          const std::optional<Located<std::string>>& to) {
    std::optional<Located<std::string>> of;
    std::vector<TileDecl> view = parse_view(entry, what, of);
    if (of && to && of->value != to->value) {
      errors_.error(
          of->where,
          fmt::format("the view is of '{}', but {} writes to '{}'", of->value, what, to->value),
          "leave 'of' out");
    }
    return view;
  }

  // One tile, or a list of tiles, each taken of the one before; only the first may say of what.
  std::vector<TileDecl> parse_view(const YamlEntry& entry, const std::string& owner,
                                   std::optional<Located<std::string>>& of) {
    const std::string what = fmt::format("'{}' of {}", entry.key.text, owner);
    std::vector<TileDecl> tiles;
    if (!entry.value.is_sequence()) {
      parse_tile(entry.value, reader_.at(entry.key), what, &of, tiles);
      return tiles;
    }
    if (entry.value.items.empty()) errors_.error(entry.value, what + " is an empty list");
    if (!reader_.is_sequence(entry.value, what, kMaxTiles)) return tiles;
    for (const YamlNode& item : entry.value.items) {
      parse_tile(item, reader_.at(item), what, &item == &entry.value.items.front() ? &of : nullptr,
                 tiles);
    }
    return tiles;
  }

  void parse_tile(const YamlNode& node, const SourceLocation& where, const std::string& what,
                  std::optional<Located<std::string>>* of, std::vector<TileDecl>& tiles) {
    TileDecl tile;
    tile.where = where;
    tile.length = {1, where};
    const char* key = relabelling_key(node, tile.kind);
    std::vector<KeyRule> keys = {{"axis", kRequired}, {"start", kRequired}, {"length"}};
    if (key != nullptr) keys = {{key, kRequired}};
    if (of != nullptr) keys.push_back({"of"});
    const auto fields = reader_.fields(node, what, where, keys);
    if (!fields) return;
    if (of != nullptr) read_name(*fields, "of", what, *of);
    if (key != nullptr) {
      if (parse_relabelling(*fields, key, what, tile)) tiles.push_back(std::move(tile));
      return;
    }
    std::optional<MappingText> axis;
    read_mapping(*fields, "axis", what, axis);
    if (axis) tile.axis = *axis;
    read_position(*fields, "start", what, 0, tile.start);
    read_position(*fields, "length", what, 1, tile.length);
    tiles.push_back(std::move(tile));
  }

  // The key that makes an entry of a view no tile; null where there is none.
  static const char* relabelling_key(const YamlNode& node, TileDecl::Kind& kind) {
    for (const auto& [key, of_key] :
         {std::pair{"reshape", TileDecl::Kind::kReshape}, std::pair{"pad", TileDecl::Kind::kPad},
          std::pair{"unpad", TileDecl::Kind::kUnpad}}) {
      for (const YamlEntry& entry : node.entries) {
        if (entry.key.text != key) continue;
        kind = of_key;
        return key;
      }
    }
    return nullptr;
  }

  bool parse_relabelling(const Fields& fields, const char* key, const std::string& what,
                         TileDecl& view) {
    if (view.kind != TileDecl::Kind::kReshape) {
      read_mapping(fields, key, what, view.element);
      return view.element.has_value();
    }
    const YamlEntry* entry = fields.entry(key);
    const std::string owner = "'reshape' of " + what;
    const auto mappings = reader_.fields(entry->value, owner, reader_.at(entry->key),
                                         {{"chip"}, {"cluster"}, {"slice"}, {"element"}});
    if (!mappings) return false;
    read_mapping(*mappings, "chip", owner, view.chip);
    read_mapping(*mappings, "cluster", owner, view.cluster);
    read_mapping(*mappings, "slice", owner, view.slice);
    read_mapping(*mappings, "element", owner, view.element);
    return true;
  }

  void read_position(const Fields& fields, const char* key, const std::string& owner,
                     uint64_t least, Located<uint64_t>& target) {
    const YamlNode* node = fields.find(key);
    if (node == nullptr) return;
    const auto number =
        reader_.integer(*node, fmt::format("'{}' of {}", key, owner), least, kMaxAxisSize);
    if (number) target = {*number, reader_.at(*node)};
  }

  // -------------------------------------------------------------------------------------- expect

  void parse_expect(const YamlNode& node) {
    if (!reader_.is_map(node, "'expect'", kMaxTensors)) return;
    for (const auto& [key, value] : node.entries) {
      if (!reader_.is_name(key, "tensor")) continue;
      const std::string what = fmt::format("the expectation of '{}'", key.text);
      ExpectDecl expect;
      expect.tensor = {key.text, reader_.at(key)};
      const auto fields = reader_.fields(value, what, expect.tensor.where,
                                         {{"sum_over"}, {"product_of", kRequired}});
      if (!fields) continue;
      if (const YamlNode* axes = fields->find("sum_over")) {
        if (auto list = read_axes(*axes, "'sum_over' of " + what)) {
          expect.sum_over = std::move(*list);
        }
      }
      if (const YamlNode* factors = fields->find("product_of")) {
        if (auto list = reader_.names(*factors, "'product_of' of " + what)) {
          if (factors->items.empty() || factors->items.size() > 2) {
            errors_.error(*factors,
                          fmt::format("'product_of' of {} must name 1 or 2 tensors, got {}", what,
                                      factors->items.size()));
          }
          expect.product_of = std::move(*list);
        }
      }
      kernel_.expect.push_back(std::move(expect));
    }
  }

  const YamlNode& root_;
  Reader reader_;
  FileErrors& errors_;
  KernelDecl& kernel_;
  Reader::Constants numbers_;  // integer parameters and constants
  std::map<std::string, int> constant_lines_, parameter_lines_;
  std::vector<std::pair<std::string, uint64_t>>
      variables_;                        // of the repeats around, outermost first
  std::vector<std::string> axis_names_;  // as declared, good or bad
};

}  // namespace

const char* name(MemoryKind memory) {
  switch (memory) {
    case MemoryKind::kHbm:
      return "hbm";
    case MemoryKind::kDm:
      return "dm";
    case MemoryKind::kTrf:
      return "trf";
    case MemoryKind::kVrf:
      return "vrf";
    case MemoryKind::kHost:
      return "host";
  }
  return "?";
}

KernelDecl parse_kernel(const std::string& text, const std::string& file, Diagnostics& diagnostics,
                        const SweepChoice& choice) {
  KernelDecl kernel;
  kernel.file = file;
  kernel.sha256 = sha256_hex(text);
  FileErrors errors(file, diagnostics);
  const std::optional<YamlDocument> document = YamlDocument::parse(text, errors);
  if (document) KernelParser(*document, errors, kernel).parse(choice, diagnostics);
  return kernel;
}

KernelDecl load_kernel(const std::string& path, Diagnostics& diagnostics,
                       const SweepChoice& choice) {
  const std::optional<std::string> text = read_config_file(path, diagnostics);
  if (text) return parse_kernel(*text, path, diagnostics, choice);
  KernelDecl kernel;
  kernel.file = path;
  return kernel;
}

}  // namespace rngdsim
