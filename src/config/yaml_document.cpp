// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "support/input_limits.h"
#include "support/text.h"

namespace rngdsim {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed_left(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

std::string_view trimmed_right(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);  // npos + 1 == 0
}

// Position of the '#' that starts a comment in the line, npos where there is none. Quotes are
// followed from the start of the line: a quoted text of several lines is not understood.
size_t comment_start(std::string_view line) {
  char quote = '\0';
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != '\0') {
      if (quote == '"' && c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = '\0';
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#' && (i == 0 || kBlanks.find(line[i - 1]) != std::string_view::npos)) {
      return i;
    }
  }
  return std::string_view::npos;
}

// True where the comment of the line looks like a padding suffix: an unquoted value before it, a
// number or a brace after it.
bool looks_like_cut_mapping(std::string_view line) {
  const size_t hash = comment_start(line);
  if (hash == std::string_view::npos) return false;
  const std::string_view value = trimmed_right(line.substr(0, hash));
  if (value.find(':') == std::string_view::npos) return false;
  if (std::string_view("\"'}],:").find(value.back()) != std::string_view::npos) return false;
  const std::string_view after = trimmed_left(line.substr(hash + 1));
  return !after.empty() && (after[0] == '{' || (after[0] >= '0' && after[0] <= '9'));
}

// The number of the last line up to `line` that looks like a mapping cut by a comment, or 0.
int cut_mapping_before(const TextLines& lines, int line) {
  for (int n = std::min(line, lines.count()); n >= 1; --n) {
    if (looks_like_cut_mapping(lines.line(n))) return n;
  }
  return 0;
}

// False where `text` begins with a quote that nothing closes.
bool closes_quote(std::string_view text) {
  if (text.empty() || (text[0] != '"' && text[0] != '\'')) return true;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\' && text[0] == '"') {
      ++i;
    } else if (text[i] == text[0]) {
      // Twice it stands for itself between single quotes.
      if (text[0] == '"' || i + 1 == text.size() || text[i + 1] != '\'') return true;
      ++i;
    }
  }
  return false;
}

// Thrown by TreeBuilder to leave the parser; the error has been reported.
struct Abandoned {};

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const TextLines& lines, FileErrors& errors) : lines_(lines), errors_(errors) {}

  YamlNode take_root() { return std::move(root_); }
  bool has_root() const { return documents_ > 0; }
  // The innermost list or map that is not closed yet; null where there is none.
  const YamlNode* open() const { return stack_.empty() ? nullptr : &stack_.back().node; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      errors_.error(errors_.at(mark.line + 1, mark.column + 1),
                    "a second YAML document starts here", "a file holds one document");
      throw Abandoned();
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node = make(YamlNode::Kind::kNull, mark, "", anchor);
    if (stack_.empty()) return add(std::move(node));
    const Frame& frame = stack_.back();
    if (frame.key) {  // the mark of an empty value is that of the next token
      node.line = frame.key->line;
      node.column = frame.key->column;
    } else if (frame.node.is_sequence()) {
      place_empty_item(node, frame.node.line);
    }
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    YamlNode node = make(YamlNode::Kind::kNull, mark, "", YAML::NullAnchor);
    node.reported = true;
    errors_.error(node, "YAML aliases are not allowed here", "write the value out");
    add(std::move(node));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = make(YamlNode::Kind::kScalar, mark, tag, anchor);
    node.plain = tag == "?";
    node.text = value;
    // yaml-cpp takes the end of the text for the end of the quote.
    if (!node.plain && !closes_quote(lines_.rest(node.line, node.column))) {
      errors_.error(node, "the quote that is opened here is not closed");
      throw Abandoned();
    }
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    push(make(YamlNode::Kind::kSequence, mark, tag, anchor));
  }
  void OnSequenceEnd() override { pop(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    push(make(YamlNode::Kind::kMap, mark, tag, anchor));
  }
  void OnMapEnd() override { pop(); }

 private:
  struct Frame {
    YamlNode node;
    std::optional<YamlNode> key;                // a map's key that waits for its value
    std::unordered_map<std::string, int> seen;  // a map's keys and their lines
  };

  YamlNode make(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
                YAML::anchor_t anchor) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    if (++nodes_ > kMaxYamlNodes) {
      errors_.error(node,
                    fmt::format("more than {} values in one file", group_digits(kMaxYamlNodes)),
                    kLimitHint);
      throw Abandoned();
    }
    if (anchor != YAML::NullAnchor) errors_.error(node, "YAML anchors are not allowed here");
    if (!tag.empty() && tag != "?" && tag != "!") {
      errors_.error(node, fmt::format("the YAML tag {} is not allowed here", quoted(tag)));
    }
    return node;
  }

  // The mark of an empty item of a block list is that of the next token; its place is the lone dash
  // before that.
  void place_empty_item(YamlNode& node, int first_line) const {
    const int lines = lines_.count();
    if (node.line <= lines) {
      const std::string_view whole = lines_.line(node.line);
      const std::string_view here =
          whole.substr(std::min(static_cast<size_t>(node.column) - 1, whole.size()));
      const std::string_view word = here.substr(0, 4);
      if (word == "null" || word == "Null" || word == "NULL") return;
      if (!here.empty() && std::string_view("~,]").find(here[0]) != std::string_view::npos) return;
    }
    for (int n = std::min(node.line, lines); n >= first_line; --n) {
      const std::string_view whole = lines_.line(n);
      const std::string_view line = trimmed_right(whole.substr(0, comment_start(whole)));
      if (line.empty() || line.back() != '-') continue;
      node.line = n;
      node.column = static_cast<int>(line.size());
      return;
    }
  }

  void push(YamlNode node) {
    if (stack_.size() == kMaxYamlDepth) {
      errors_.error(node, fmt::format("nested deeper than {} levels", kMaxYamlDepth));
      throw Abandoned();
    }
    stack_.push_back({std::move(node), std::nullopt, {}});
  }

  void pop() {
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.is_sequence()) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.key) {
      frame.key = std::move(node);
    } else {
      const YamlNode key = std::move(*frame.key);
      frame.key.reset();
      if (accept_key(frame, key)) frame.node.entries.push_back({key, std::move(node)});
    }
  }

  bool accept_key(Frame& frame, const YamlNode& key) {
    if (!key.is_scalar()) {
      if (!key.reported) errors_.error(key, "a key must be a name");
      return false;
    }
    const auto [first, is_new] = frame.seen.emplace(key.text, key.line);
    if (!is_new) {
      errors_.error(key, fmt::format("duplicate key {}", quoted(key.text)),
                    fmt::format("first given in line {}", first->second));
    }
    return is_new;
  }

  const TextLines& lines_;
  FileErrors& errors_;
  std::vector<Frame> stack_;
  YamlNode root_;
  size_t nodes_ = 0;
  int documents_ = 0;
};

// Refuses what is no text at all before YAML makes something of it, and brackets opened one after
// the other without end, over which yaml-cpp takes time quadratic in their number.
bool check_characters(const TextLines& lines, FileErrors& errors) {
  for (int n = 1; n <= lines.count(); ++n) {
    const std::string_view line = lines.line(n);
    size_t opened = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      const auto byte = static_cast<unsigned char>(line[i]);
      const auto here = [&] { return errors.at(n, static_cast<int>(i) + 1); };
      if ((byte < 0x20 || byte == 0x7f) && byte != '\t' && byte != '\r') {
        errors.error(here(),
                     fmt::format("control character 0x{:02x}: not a UTF-8 text file", byte));
        return false;
      }
      const size_t length = utf8_length(line, i);
      if (length == 0) {
        errors.error(here(), fmt::format("byte 0x{:02x} is no UTF-8 character", byte),
                     "save the file as UTF-8");
        return false;
      }
      i += length - 1;
      if (byte == '[' || byte == '{') ++opened;
      if (byte == ']' || byte == '}') opened = 0;
      if (opened > 2 * kMaxYamlDepth) {
        errors.error(here(), fmt::format("nested deeper than {} levels", kMaxYamlDepth));
        return false;
      }
    }
  }
  return true;
}

void report_syntax(const YAML::Exception& e, const YamlNode* open, const TextLines& lines,
                   FileErrors& errors) {
  std::string hint;
  if (const int cut = cut_mapping_before(lines, e.mark.line + 1); cut > 0) {
    hint =
        fmt::format("line {} has an unquoted ' #', which starts a comment: quote the mapping", cut);
  } else if (open != nullptr && e.msg.find("flow not found") != std::string::npos) {
    hint =
        fmt::format("what is opened in line {}, column {} is not closed", open->line, open->column);
  }
  errors.error(errors.at(e.mark.line + 1, e.mark.column + 1), "YAML syntax: " + e.msg, hint);
}

}  // namespace

TextLines::TextLines(std::string text) : text_(std::move(text)) {
  for (size_t at = 0; at < text_.size();) {
    starts_.push_back(static_cast<uint32_t>(at));
    const size_t end = text_.find('\n', at);
    at = end == std::string::npos ? text_.size() : end + 1;
  }
}

std::string_view TextLines::line(int number) const {
  const size_t start = starts_[static_cast<size_t>(number) - 1];
  size_t end = text_.size();
  if (number < count()) {
    end = starts_[static_cast<size_t>(number)] - 1;
  } else if (text_.back() == '\n') {
    --end;
  }
  return std::string_view(text_).substr(start, end - start);
}

std::optional<YamlDocument> YamlDocument::parse(std::string_view text, FileErrors& errors) {
  if (text.size() > kMaxFileBytes) {
    errors.error(errors.at(0, 0),
                 fmt::format("the file has {} bytes, more than the limit of {}",
                             group_digits(text.size()), group_digits(kMaxFileBytes)),
                 kLimitHint);
    return std::nullopt;
  }
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  YamlDocument document;
  document.lines_ = TextLines(std::string(text));
  if (!check_characters(document.lines_, errors)) return std::nullopt;

  TreeBuilder builder(document.lines_, errors);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& e) {
    report_syntax(e, builder.open(), document.lines_, errors);
    return std::nullopt;
  } catch (const Abandoned&) {
    return std::nullopt;
  }
  document.root_ = builder.take_root();
  if (!builder.has_root() || document.root_.kind == YamlNode::Kind::kNull) {
    if (!document.root_.reported) errors.error(errors.at(0, 0), "the file is empty");
    return std::nullopt;
  }
  return document;
}

std::string_view TextLines::rest(int line, int column) const {
  if (line < 1 || line > count() || column < 1) return {};
  const size_t at = starts_[static_cast<size_t>(line) - 1] + static_cast<size_t>(column) - 1;
  return std::string_view(text_).substr(std::min(at, text_.size()));
}

std::string_view YamlDocument::rest_of_line(int line, int column) const {
  if (line < 1 || line > lines_.count() || column < 1) return {};
  const std::string_view text = lines_.line(line);
  const auto from = static_cast<size_t>(column - 1);
  return from <= text.size() ? text.substr(from) : std::string_view();
}

bool YamlDocument::is_verbatim(const YamlNode& scalar) const {
  const std::string_view rest = rest_of_line(scalar.line, scalar.column + (scalar.plain ? 0 : 1));
  if (rest.substr(0, scalar.text.size()) != scalar.text) return false;
  if (scalar.plain) return true;
  const std::string_view start = rest_of_line(scalar.line, scalar.column);
  return rest.size() > scalar.text.size() && (start[0] == '"' || start[0] == '\'') &&
         rest[scalar.text.size()] == start[0];
}

bool YamlDocument::cut_by_comment(const YamlNode& scalar) const {
  if (!scalar.plain || !is_verbatim(scalar)) return false;
  const std::string_view after =
      rest_of_line(scalar.line, scalar.column).substr(scalar.text.size());
  const std::string_view next = trimmed_left(after);
  return next.size() < after.size() && !next.empty() && next[0] == '#';
}

bool YamlDocument::only_comment_after(const YamlNode& key) const {
  constexpr size_t kLookedAt = 1000;  // of a line: this is for a hint only
  const std::string_view rest = rest_of_line(key.line, key.column).substr(0, kLookedAt);
  const size_t hash = comment_start(rest);
  if (hash == std::string_view::npos) return false;
  const std::string_view before = trimmed_right(rest.substr(0, hash));
  return !before.empty() && before.back() == ':';
}

std::optional<std::string> read_config_file(const std::string& path, Diagnostics& diagnostics) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file && (!file.eof() || file.bad())) {
    diagnostics.error({path, 0, 0}, fmt::format("cannot read the file: {}",
                                                errno != 0 ? std::strerror(errno) : "read error"));
    return std::nullopt;
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    diagnostics.error({path, 0, 0},
                      fmt::format("the file has more than {} bytes", group_digits(kMaxFileBytes)),
                      kLimitHint);
    return std::nullopt;
  }
  return text;
}

}  // namespace rngdsim
