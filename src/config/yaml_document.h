// SPDX-License-Identifier: Apache-2.0
// A YAML text as a tree that remembers where everything was written.
//
// Built from the events of yaml-cpp rather than from YAML::Node, because we need what a Node hides:
// duplicate keys, anchors, whether a scalar was quoted, and a sensible place for empty values.
// Refused: anchors, aliases, tags, a second document, duplicate keys, and input that is out of all
// proportion (support/input_limits.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"

namespace rngdsim {

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };

  Kind kind = Kind::kNull;
  int line = 0;                    // from 1; of an empty value: where its key is
  int column = 0;                  // from 1, in bytes
  bool plain = false;              // a scalar without quotes
  bool reported = false;           // an alias: an error has been given, say nothing more about it
  std::string text;                // kScalar
  std::vector<YamlNode> items;     // kSequence
  std::vector<YamlEntry> entries;  // kMap; keys are scalars and differ

  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_map() const { return kind == Kind::kMap; }
  bool is_sequence() const { return kind == Kind::kSequence; }
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

// Where the errors of one file go: adds the file's name.
class FileErrors {
 public:
  FileErrors(std::string file, Diagnostics& diagnostics)
      : file_(std::move(file)), diagnostics_(diagnostics) {}

  SourceLocation at(int line, int column) const { return {file_, line, column}; }
  SourceLocation at(const YamlNode& node) const { return at(node.line, node.column); }

  void error(const SourceLocation& where, const std::string& message,
             const std::string& hint = "") {
    ++count_;
    diagnostics_.error(where, message, hint);
  }
  void error(const YamlNode& node, const std::string& message, const std::string& hint = "") {
    error(at(node), message, hint);
  }
  // True where nothing more is shown, so that a reader of many entries can give up.
  bool full() const { return diagnostics_.full(); }
  size_t count() const { return count_; }

 private:
  std::string file_;
  Diagnostics& diagnostics_;
  size_t count_ = 0;
};

// A text by lines, without copying any.
class TextLines {
 public:
  TextLines() = default;
  explicit TextLines(std::string text);
  int count() const { return static_cast<int>(starts_.size()); }
  // From 1 to count(), without its line break.
  std::string_view line(int number) const;
  // From this place to the end of the text.
  std::string_view rest(int line, int column) const;

 private:
  std::string text_;
  std::vector<uint32_t> starts_;
};

class YamlDocument {
 public:
  // Nothing where the text cannot be read as one YAML document; there is an error then. Never
  // throws for bad input.
  static std::optional<YamlDocument> parse(std::string_view text, FileErrors& errors);

  const YamlNode& root() const { return root_; }

  // True where the scalar stands in the text just as it is in `text`: on one line, without escapes.
  // Only then do columns inside of it mean anything.
  bool is_verbatim(const YamlNode& scalar) const;
  // True where a comment follows the unquoted scalar on its line.
  bool cut_by_comment(const YamlNode& scalar) const;
  // True where the rest of the line after an empty value's key is a comment.
  bool only_comment_after(const YamlNode& key) const;

 private:
  std::string_view rest_of_line(int line, int column) const;

  YamlNode root_;
  TextLines lines_;
};

// The bytes of a file of at most kMaxFileBytes; an error and nothing otherwise.
std::optional<std::string> read_config_file(const std::string& path, Diagnostics& diagnostics);

}  // namespace rngdsim
