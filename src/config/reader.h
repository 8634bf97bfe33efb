// SPDX-License-Identifier: Apache-2.0
// Reads typed values out of a YAML tree. Every function returns nothing after it has reported why,
// at the place of the offending value; `what` names the value in the message ("'delay' of ...").
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/yaml_document.h"
#include "support/diagnostic.h"

namespace rngdsim {

// How the tables of keys read.
inline constexpr bool kRequired = true;
inline constexpr bool kOptional = false;

// A key that a map may hold.
struct KeyRule {
  std::string name;
  bool required = false;
};

// The known entries of a map that has been checked against its rules.
class Fields {
 public:
  const YamlEntry* entry(const std::string& key) const;
  const YamlNode* find(const std::string& key) const;  // the value, null where not given

 private:
  friend class Reader;
  std::vector<const YamlEntry*> entries_;
};

// A letter or '_', then letters, digits, '_'.
bool is_identifier(const std::string& text);

class Reader {
 public:
  Reader(const YamlDocument& document, FileErrors& errors) : document_(document), errors_(errors) {}

  FileErrors& errors() { return errors_; }
  SourceLocation at(const YamlNode& node) const { return errors_.at(node); }

  // The names that number() and integer() accept as "{NAME}"; one without a value is known to be
  // wrong, and its uses are passed over in silence.
  using Constants = std::map<std::string, std::optional<uint64_t>>;
  void set_constants(Constants constants) { constants_ = std::move(constants); }
  // A name for a while: the variable of a loop.
  void set_constant(const std::string& name, uint64_t value) { constants_[name] = value; }
  void remove_constant(const std::string& name) { constants_.erase(name); }

  // Checks the keys of a map. Missing keys are reported at `owner`. Nothing where it is no map.
  std::optional<Fields> fields(const YamlNode& node, const std::string& what,
                               const SourceLocation& owner, const std::vector<KeyRule>& rules);
  // The kind of a node and, with `most`, the number of its entries only.
  bool is_map(const YamlNode& node, const std::string& what, size_t most = SIZE_MAX);
  bool is_sequence(const YamlNode& node, const std::string& what, size_t most = SIZE_MAX);
  // A key that names something: an identifier that is not too long. `noun` names the kind of thing.
  bool is_name(const YamlNode& key, const std::string& noun);
  bool has_name_length(const YamlNode& key, const std::string& noun);

  std::optional<uint64_t> integer(const YamlNode& node, const std::string& what, uint64_t min,
                                  uint64_t max);
  // The same for numbers of either sign. Precondition: min <= 0 <= max.
  std::optional<int64_t> signed_integer(const YamlNode& node, const std::string& what, int64_t min,
                                        int64_t max);
  std::optional<double> number(const YamlNode& node, const std::string& what);
  std::optional<bool> flag(const YamlNode& node, const std::string& what);
  std::optional<Located<std::string>> text(const YamlNode& node, const std::string& what);
  // An identifier.
  std::optional<Located<std::string>> name(const YamlNode& node, const std::string& what);
  // One of a list of words; `noun` names their kind ("dtype").
  std::optional<Located<std::string>> choice(const YamlNode& node, const std::string& what,
                                             const std::string& noun,
                                             const std::vector<std::string>& words);
  // A list of identifiers. With `known`, each must be one of these (`noun` names their kind).
  std::optional<std::vector<Located<std::string>>> names(
      const YamlNode& node, const std::string& what, const std::string& noun = "",
      const std::vector<std::string>* known = nullptr);
  // A mapping expression: one line, so that columns inside of it are exact, not cut by a comment.
  std::optional<Located<std::string>> mapping(const YamlNode& node, const std::string& what);

  // "unknown NOUN 'text'", with the nearest of `words` or all of them as the hint.
  void unknown(const YamlNode& node, const std::string& noun, const std::string& text,
               const std::vector<std::string>& words, const std::string& context = "");

 private:
  void wrong_kind(const YamlNode& node, const std::string& what, const std::string& wanted,
                  const std::string& hint = "");
  bool at_most(const YamlNode& node, const std::string& what, size_t count, size_t most);
  // The value of "{NAME}"; `is_reference` tells whether the node has that form at all.
  std::optional<uint64_t> constant(const YamlNode& node, bool& is_reference);
  bool in_range(const YamlNode& node, const std::string& what, uint64_t value, uint64_t min,
                uint64_t max);

  const YamlDocument& document_;
  FileErrors& errors_;
  Constants constants_;
};

// The number that a scalar text spells; nothing where it spells none or an infinite one.
std::optional<double> parse_double(const std::string& text);

}  // namespace rngdsim
