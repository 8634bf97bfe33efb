// SPDX-License-Identifier: Apache-2.0
#include "config/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <system_error>

#include "support/input_limits.h"
#include "support/text.h"

namespace rngdsim {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kScalar:
      break;
  }
  return quoted(node.text);
}

// `{Name}` without quotes, which YAML reads as a map.
bool is_unquoted_reference(const YamlNode& node) {
  return node.is_map() && node.entries.size() == 1 &&
         node.entries[0].value.kind == YamlNode::Kind::kNull;
}

std::string quote_reference_hint(const YamlNode& node) {
  return fmt::format("quote it: \"{{{}}}\"", node.entries[0].key.text);
}

enum class WholeNumber { kNone, kTooLarge, kOk };

WholeNumber parse_whole(const std::string& text, uint64_t& value) {
  const bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const char* first = text.data() + (hex ? 2 : 0);
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, value, hex ? 16 : 10);
  if (end != last || error == std::errc::invalid_argument) return WholeNumber::kNone;
  return error == std::errc::result_out_of_range ? WholeNumber::kTooLarge : WholeNumber::kOk;
}

}  // namespace

std::optional<double> parse_double(const std::string& text) {
  const size_t sign = text.empty() ? 0 : (text[0] == '-' || text[0] == '+' ? 1 : 0);
  // from_chars takes "inf" and "nan" for numbers, and no '+'.
  if (text.size() <= sign || (!is_digit(text[sign]) && text[sign] != '.')) return std::nullopt;
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + (text[0] == '+' ? 1 : 0), last, value,
                                            std::chars_format::general);
  if (end != last || error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_identifier(const std::string& text) {
  if (text.empty() || is_digit(text[0])) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

const YamlEntry* Fields::entry(const std::string& key) const {
  for (const YamlEntry* entry : entries_) {
    if (entry->key.text == key) return entry;
  }
  return nullptr;
}

const YamlNode* Fields::find(const std::string& key) const {
  const YamlEntry* found = entry(key);
  return found == nullptr ? nullptr : &found->value;
}

void Reader::wrong_kind(const YamlNode& node, const std::string& what, const std::string& wanted,
                        const std::string& hint) {
  if (node.reported) return;
  errors_.error(node, fmt::format("{} must be {}, got {}", what, wanted, describe(node)), hint);
}

void Reader::unknown(const YamlNode& node, const std::string& noun, const std::string& text,
                     const std::vector<std::string>& words, const std::string& context) {
  const std::optional<std::string> close = nearest(text, words);
  std::string hint;
  if (close) {
    hint = fmt::format("did you mean '{}'?", *close);
  } else if (words.empty()) {
    hint = "none is declared";
  } else {
    hint = "valid: " + listed(words);
  }
  errors_.error(node, fmt::format("unknown {} {}{}", noun, quoted(text), context), hint);
}

bool Reader::at_most(const YamlNode& node, const std::string& what, size_t count, size_t most) {
  if (count <= most) return true;
  errors_.error(node,
                fmt::format("{} has {} entries; at most {} are accepted", what, group_digits(count),
                            group_digits(most)),
                kLimitHint);
  return false;
}

bool Reader::is_map(const YamlNode& node, const std::string& what, size_t most) {
  if (!node.is_map()) wrong_kind(node, what, "a map of keys and values");
  return node.is_map() && at_most(node, what, node.entries.size(), most);
}

bool Reader::is_sequence(const YamlNode& node, const std::string& what, size_t most) {
  if (!node.is_sequence()) wrong_kind(node, what, "a list");
  return node.is_sequence() && at_most(node, what, node.items.size(), most);
}

bool Reader::is_name(const YamlNode& key, const std::string& noun) {
  if (is_identifier(key.text)) return has_name_length(key, noun);
  errors_.error(key, fmt::format("{} name {} must be a letter or '_', then letters, digits, '_'",
                                 noun, quoted(key.text)));
  return false;
}

bool Reader::has_name_length(const YamlNode& key, const std::string& noun) {
  if (key.text.size() <= kMaxNameLength) return true;
  errors_.error(key,
                fmt::format("{} name {} has {} characters; at most {} are accepted", noun,
                            quoted(key.text), group_digits(key.text.size()), kMaxNameLength),
                kLimitHint);
  return false;
}

std::optional<Fields> Reader::fields(const YamlNode& node, const std::string& what,
                                     const SourceLocation& owner,
                                     const std::vector<KeyRule>& rules) {
  if (!is_map(node, what)) return std::nullopt;
  std::vector<std::string> valid;
  for (const KeyRule& rule : rules) valid.push_back(rule.name);
  Fields result;
  std::set<std::string> misspelt;  // keys that an unknown key was probably meant to be
  for (const YamlEntry& entry : node.entries) {
    if (errors_.full()) return std::nullopt;
    const std::string& key = entry.key.text;
    if (std::find(valid.begin(), valid.end(), key) != valid.end()) {
      result.entries_.push_back(&entry);
    } else if (entry.value.kind == YamlNode::Kind::kNull && !is_identifier(key)) {
      errors_.error(entry.key, fmt::format("unknown key {} in {}", quoted(key), what),
                    "an unquoted mapping ends at its comma: quote the whole mapping");
    } else {
      if (const auto close = nearest(key, valid)) misspelt.insert(*close);
      unknown(entry.key, "key", key, valid, " in " + what);
    }
  }
  for (const KeyRule& rule : rules) {
    if (rule.required && result.entry(rule.name) == nullptr && misspelt.count(rule.name) == 0) {
      errors_.error(owner, fmt::format("missing key '{}' in {}", rule.name, what));
    }
  }
  return result;
}

std::optional<uint64_t> Reader::constant(const YamlNode& node, bool& is_reference) {
  const std::string& text = node.text;
  is_reference = node.is_scalar() && text.size() > 2 && text.front() == '{' && text.back() == '}';
  if (!is_reference) return std::nullopt;
  const std::string key = text.substr(1, text.size() - 2);
  const auto found = constants_.find(key);
  if (found != constants_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, value] : constants_) known.push_back(name);
  unknown(node, "constant", key, known);
  return std::nullopt;
}

bool Reader::in_range(const YamlNode& node, const std::string& what, uint64_t value, uint64_t min,
                      uint64_t max) {
  if (value >= min && value <= max) return true;
  const bool low = value < min;
  errors_.error(node, fmt::format("{} must be at {} {}, got {}", what, low ? "least" : "most",
                                  group_digits(low ? min : max), group_digits(value)));
  return false;
}

std::optional<uint64_t> Reader::integer(const YamlNode& node, const std::string& what, uint64_t min,
                                        uint64_t max) {
  bool is_reference = false;
  const std::optional<uint64_t> named = constant(node, is_reference);
  if (is_reference) {
    return named && in_range(node, what, *named, min, max) ? named : std::nullopt;
  }
  if (is_unquoted_reference(node)) {
    wrong_kind(node, what, "a whole number", quote_reference_hint(node));
    return std::nullopt;
  }
  uint64_t value = 0;
  const WholeNumber form = node.is_scalar() ? parse_whole(node.text, value) : WholeNumber::kNone;
  if (form != WholeNumber::kNone && !node.plain) {
    wrong_kind(node, what, "a whole number", "remove the quotes");
    return std::nullopt;
  }
  if (form == WholeNumber::kOk) {
    return in_range(node, what, value, min, max) ? std::optional(value) : std::nullopt;
  }
  if (form == WholeNumber::kTooLarge) {
    errors_.error(node, fmt::format("{} must be at most {}, got {}", what, group_digits(max),
                                    quoted(node.text)));
    return std::nullopt;
  }
  const std::optional<double> real = node.plain ? parse_double(node.text) : std::nullopt;
  if (real && *real < 0) {
    errors_.error(
        node, fmt::format("{} must be at least {}, got {}", what, group_digits(min), node.text));
    return std::nullopt;
  }
  wrong_kind(node, what, "a whole number");
  return std::nullopt;
}

std::optional<int64_t> Reader::signed_integer(const YamlNode& node, const std::string& what,
                                              int64_t min, int64_t max) {
  if (!node.is_scalar() || !node.plain || node.text.empty() || node.text[0] != '-') {
    const auto value = integer(node, what, 0, static_cast<uint64_t>(max));
    return value ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
  }
  uint64_t magnitude = 0;
  const WholeNumber form = parse_whole(node.text.substr(1), magnitude);
  if (form == WholeNumber::kNone) {
    wrong_kind(node, what, "a whole number");
    return std::nullopt;
  }
  if (form == WholeNumber::kOk && magnitude <= static_cast<uint64_t>(-min)) {
    return -static_cast<int64_t>(magnitude);
  }
  errors_.error(node, fmt::format("{} must be at least {}, got {}", what, min, node.text));
  return std::nullopt;
}

std::optional<double> Reader::number(const YamlNode& node, const std::string& what) {
  bool is_reference = false;
  const std::optional<uint64_t> named = constant(node, is_reference);
  if (is_reference) return named ? std::optional(static_cast<double>(*named)) : std::nullopt;
  if (is_unquoted_reference(node)) {
    wrong_kind(node, what, "a number", quote_reference_hint(node));
    return std::nullopt;
  }
  const std::optional<double> value = node.is_scalar() ? parse_double(node.text) : std::nullopt;
  if (value && node.plain) return value;
  wrong_kind(node, what, "a finite number", value ? "remove the quotes" : "");
  return std::nullopt;
}

std::optional<bool> Reader::flag(const YamlNode& node, const std::string& what) {
  if (node.is_scalar() && node.plain && node.text == "true") return true;
  if (node.is_scalar() && node.plain && node.text == "false") return false;
  wrong_kind(node, what, "true or false");
  return std::nullopt;
}

std::optional<Located<std::string>> Reader::text(const YamlNode& node, const std::string& what) {
  if (node.is_scalar() && !node.text.empty()) return Located<std::string>{node.text, at(node)};
  wrong_kind(node, what, "a text");
  return std::nullopt;
}

std::optional<Located<std::string>> Reader::name(const YamlNode& node, const std::string& what) {
  if (node.is_scalar() && is_identifier(node.text)) {
    if (!has_name_length(node, "the")) return std::nullopt;
    return Located<std::string>{node.text, at(node)};
  }
  wrong_kind(node, what, "a name (letters, digits, '_')");
  return std::nullopt;
}

std::optional<Located<std::string>> Reader::choice(const YamlNode& node, const std::string& what,
                                                   const std::string& noun,
                                                   const std::vector<std::string>& words) {
  if (!node.is_scalar()) {
    wrong_kind(node, what, "one of " + listed(words));
    return std::nullopt;
  }
  if (std::find(words.begin(), words.end(), node.text) == words.end()) {
    unknown(node, noun, node.text, words);
    return std::nullopt;
  }
  return Located<std::string>{node.text, at(node)};
}

std::optional<std::vector<Located<std::string>>> Reader::names(
    const YamlNode& node, const std::string& what, const std::string& noun,
    const std::vector<std::string>* known) {
  if (!is_sequence(node, what)) return std::nullopt;
  std::vector<Located<std::string>> result;
  for (const YamlNode& item : node.items) {
    if (errors_.full()) break;
    const auto entry = known != nullptr ? choice(item, "an entry of " + what, noun, *known)
                                        : name(item, "an entry of " + what);
    if (entry) result.push_back(*entry);
  }
  return result;
}

std::optional<Located<std::string>> Reader::mapping(const YamlNode& node, const std::string& what) {
  if (!node.is_scalar()) {
    std::string hint;
    if (is_unquoted_reference(node)) {
      hint = quote_reference_hint(node);
    } else if (node.is_sequence() || node.is_map()) {
      hint = "quote the mapping";
    } else if (document_.only_comment_after(node)) {
      hint = "an unquoted '#' starts a comment: quote the mapping";
    }
    wrong_kind(node, what, "a mapping text", hint);
    return std::nullopt;
  }
  if (document_.cut_by_comment(node)) {
    errors_.error(node,
                  fmt::format("{} is cut to {} by an unquoted ' #', which starts a comment", what,
                              quoted(node.text)),
                  "quote the mapping");
    return std::nullopt;
  }
  if (node.text.find_first_not_of(" \t") == std::string::npos) {
    errors_.error(node, fmt::format("{} is empty", what), "the mapping without axes is \"1\"");
    return std::nullopt;
  }
  if (!document_.is_verbatim(node)) {
    errors_.error(node, fmt::format("{} must be one line of text without escapes", what),
                  "name its parts under 'mappings:' to make it shorter");
    return std::nullopt;
  }
  return Located<std::string>{node.text, at(node).shifted(node.plain ? 0 : 1)};
}

}  // namespace rngdsim
