// SPDX-License-Identifier: Apache-2.0
// Every way to damage one place of a YAML file: each value and each entry is left out, given twice
// and given another type or an absurd number.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "config/yaml_document.h"
#include "support/diagnostic.h"

namespace rngdsim {

// `path` below the root of the sources.
inline std::string source_text(const std::string& path) {
  std::ifstream file(RNGDSIM_SOURCE_DIR "/" + path, std::ios::binary);
  EXPECT_TRUE(file) << "cannot read " << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Mutant {
  std::string what;  // "tensors.a.dtype: a list"
  std::string text;
};

class Mutants {
 public:
  explicit Mutants(const std::string& text) {
    Diagnostics diagnostics;
    FileErrors errors("original", diagnostics);
    if (const auto document = YamlDocument::parse(text, errors)) root_ = document->root();
    EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  }

  // The file itself, as the mutants are written.
  std::string original() const { return text_of(root_); }

  void for_each(const std::function<void(const Mutant&)>& visit) {
    visit_ = visit;
    damage_below(root_, "");
  }

 private:
  static YamlNode scalar(const std::string& text, bool plain) {
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.text = text;
    node.plain = plain;
    return node;
  }
  static YamlNode list_of(const YamlNode& item) {
    YamlNode node;
    node.kind = YamlNode::Kind::kSequence;
    node.items = {item};
    return node;
  }
  static YamlNode map_of(const YamlNode& value) {
    YamlNode node;
    node.kind = YamlNode::Kind::kMap;
    node.entries = {{scalar("value", true), value}};
    return node;
  }
  static bool is_number(const YamlNode& node) {
    return node.is_scalar() && node.plain && !node.text.empty() &&
           node.text.find_first_not_of("0123456789.-") == std::string::npos;
  }

  // What may stand in the place of `node`.
  static std::vector<std::pair<std::string, YamlNode>> replacements(const YamlNode& node) {
    YamlNode empty_map;
    empty_map.kind = YamlNode::Kind::kMap;
    YamlNode empty_list;
    empty_list.kind = YamlNode::Kind::kSequence;
    std::vector<std::pair<std::string, YamlNode>> result = {{"null", YamlNode()},
                                                            {"a list", list_of(node)},
                                                            {"a map", map_of(node)},
                                                            {"an empty map", empty_map},
                                                            {"an empty list", empty_list},
                                                            {"a text", scalar("text", true)},
                                                            {"an empty text", scalar("", false)}};
    for (const char* number : {"-1", "0", "1", "3", "0.5", "1000000000000000000", "1e300"}) {
      // A number in the place of a whole section is refused like any other text.
      if (node.is_scalar() || number == std::string("1")) {
        result.emplace_back(number, scalar(number, true));
      }
    }
    if (node.is_scalar()) {
      result.emplace_back("quoted", scalar(node.text, false));
      result.emplace_back("a mapping", scalar("A / 3 # 5, 1 # 7", false));
    }
    if (is_number(node)) {
      result.emplace_back("negative", scalar("-" + node.text, true));
      result.emplace_back("doubled", scalar(std::to_string(2 * std::stod(node.text)), true));
      result.emplace_back("a digit more", scalar(node.text + "7", true));
    }
    return result;
  }

  void emit(const std::string& what) { visit_({what, text_of(root_)}); }

  void damage(YamlNode& node, const std::string& path) {
    const YamlNode kept = node;
    for (auto& [what, other] : replacements(kept)) {
      node = std::move(other);
      emit(path + ": " + what);
    }
    node = kept;
    damage_below(node, path);
  }

  template <typename Entry>
  void leave_out_and_repeat(std::vector<Entry>& entries, size_t i, const std::string& path) {
    const auto at = entries.begin() + static_cast<std::ptrdiff_t>(i);
    const Entry kept = *at;
    entries.erase(at);
    emit(path + ": left out");
    entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(i), 2, kept);
    emit(path + ": twice");
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void damage_below(YamlNode& node, const std::string& path) {
    for (size_t i = 0; i < node.items.size(); ++i) {
      const std::string here = path + "[" + std::to_string(i) + "]";
      leave_out_and_repeat(node.items, i, here);
      damage(node.items[i], here);
    }
    for (size_t i = 0; i < node.entries.size(); ++i) {
      const std::string here = path + "." + node.entries[i].key.text;
      leave_out_and_repeat(node.entries, i, here);
      const YamlNode key = node.entries[i].key;
      node.entries[i].key = scalar(key.text + "x", true);
      emit(here + ": renamed");
      node.entries[i].key = list_of(key);
      emit(here + ": a list for a key");
      node.entries[i].key = key;
      damage(node.entries[i].value, here);
    }
  }

  // Flow style, a line for each entry of the outer levels.
  static std::string text_of(const YamlNode& node, int depth = 0) {
    const std::string separator = depth < 3 ? ",\n" + std::string(2 * depth + 2, ' ') : ", ";
    std::string text;
    switch (node.kind) {
      case YamlNode::Kind::kNull:
        return "null";
      case YamlNode::Kind::kScalar:
        return scalar_text(node);
      case YamlNode::Kind::kSequence:
        for (const YamlNode& item : node.items) {
          text += (text.empty() ? "" : separator) + text_of(item, depth + 1);
        }
        return "[" + text + "]";
      case YamlNode::Kind::kMap:
        for (const auto& [key, value] : node.entries) {
          text += (text.empty() ? "" : separator) + text_of(key, depth + 1) + ": " +
                  text_of(value, depth + 1);
        }
        return "{" + text + "}";
    }
    return text;
  }

  // Quotes matter where a text would be read as a number or a flag; they also save all other texts
  // from being read as anything else.
  static std::string scalar_text(const YamlNode& node) {
    const char* const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";
    if (node.plain && !node.text.empty() &&
        node.text.find_first_not_of(safe) == std::string::npos) {
      return node.text;
    }
    std::string text;
    for (const char c : node.text) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    return "\"" + text + "\"";
  }

  YamlNode root_;
  std::function<void(const Mutant&)> visit_;
};

// What every faulty input must end in: diagnostics of which each has its line, unless it tells what
// the file as a whole lacks.
inline void expect_places(const Diagnostics& diagnostics, const std::string& file,
                          const Mutant& mutant) {
  for (const Diagnostic& found : diagnostics.all()) {
    EXPECT_EQ(found.where.file, file) << mutant.what << "\n" << found.message;
    EXPECT_FALSE(found.message.empty()) << mutant.what;
    if (found.message.rfind("no unit of type ", 0) == 0) continue;
    EXPECT_GT(found.where.line, 0) << mutant.what << "\n" << found.message;
    EXPECT_GT(found.where.column, 0) << mutant.what << "\n" << found.message;
  }
}

}  // namespace rngdsim
