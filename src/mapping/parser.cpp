// SPDX-License-Identifier: Apache-2.0
// Text -> Expr: grammar and sizes of docs/mapping.md sections 1 and 2.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "mapping/mapping.h"
#include "support/input_limits.h"
#include "support/text.h"

namespace rngdsim {
namespace {

struct Failed {};  // unwinds one parse; the error is already recorded

// What one mapping and the named mappings in it took so far. More than the limits is refused, not
// computed.
struct Taken {
  size_t nodes = 0;
  size_t characters = 0;
};

class Parser {
 public:
  Parser(const Located<std::string>& text, const AxisTable& axes, const MappingNames& names,
         Diagnostics& diagnostics, int depth, std::vector<std::string>& open, Taken& taken)
      : text_(text.value),
        where_(text.where),
        axes_(axes),
        names_(names),
        diagnostics_(diagnostics),
        depth_(depth),
        open_(open),
        taken_(taken) {}

  ExprPtr parse_all() {
    taken_.characters += text_.size();
    if (taken_.characters > kMaxMappingCharacters) {
      fail(0,
           fmt::format("more than {} characters with the named mappings in it",
                       group_digits(kMaxMappingCharacters)),
           kLimitHint);
    }
    ExprPtr mapping = parse_mapping_list();
    skip_space();
    if (pos_ < text_.size()) {
      fail(pos_, fmt::format("unexpected {}", quoted_character()), suffix_hint());
    }
    return mapping;
  }

 private:
  [[noreturn]] void fail(size_t at, const std::string& message, const std::string& hint = "") {
    diagnostics_.error(where_.shifted(static_cast<int>(at)),
                       fmt::format("mapping {}: {}", quoted(text_), message), hint);
    throw Failed{};
  }

  // The character at the present place, whole where it takes several bytes.
  std::string quoted_character() const {
    size_t end = pos_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) ++end;
    return quoted(text_.substr(pos_, end - pos_));
  }

  std::string suffix_hint() const {
    return "a mapping is terms separated by commas; suffixes are / % = # followed by a number";
  }

  static bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

  void skip_space() {
    while (pos_ < text_.size() && is_space(text_[pos_])) ++pos_;
  }

  char peek() {
    skip_space();
    return pos_ < text_.size() ? text_[pos_] : '\0';
  }

  ExprPtr make(Expr expr, size_t at) {
    if (expr.size > kMaxMappingSize) {
      fail(at, fmt::format("size {} is above {}", group_digits(expr.size),
                           group_digits(kMaxMappingSize)));
    }
    if (++taken_.nodes > kMaxMappingNodes) {
      fail(at, fmt::format("more than {} terms and suffixes", group_digits(kMaxMappingNodes)),
           kLimitHint);
    }
    return std::make_shared<const Expr>(std::move(expr));
  }

  ExprPtr parse_mapping_list() {
    if (++depth_ > kMaxMappingDepth) {
      fail(pos_, fmt::format("nested deeper than {}", kMaxMappingDepth), kLimitHint);
    }
    std::vector<ExprPtr> terms;
    std::vector<size_t> begins;
    for (;;) {
      skip_space();
      begins.push_back(pos_);
      terms.push_back(parse_term());
      if (peek() != ',') break;
      ++pos_;
      const char next = peek();
      if (next == '\0' || next == ')' || next == ']') break;  // trailing comma
    }
    --depth_;
    ExprPtr result = terms.back();
    for (size_t i = terms.size() - 1; i-- > 0;) result = pair(terms[i], result, begins[i]);
    return result;
  }

  ExprPtr pair(const ExprPtr& left, const ExprPtr& right, size_t at) {
    Expr expr;
    expr.kind = Expr::Kind::kPair;
    expr.left = left;
    expr.right = right;
    if (left->size > kMaxMappingSize / right->size) {
      fail(at, fmt::format("size {} x {} is above {}", group_digits(left->size),
                           group_digits(right->size), group_digits(kMaxMappingSize)));
    }
    expr.size = left->size * right->size;
    return make(std::move(expr), at);
  }

  ExprPtr parse_term() {
    skip_space();
    const size_t begin = pos_;
    ExprPtr expr = parse_atom();
    for (;;) {
      const char c = peek();
      if (c != '/' && c != '%' && c != '=' && c != '#') return expr;
      expr = parse_suffix(expr, begin);
    }
  }

  ExprPtr parse_suffix(const ExprPtr& operand, size_t begin) {
    const std::string before = quoted(text_.substr(begin, trimmed_end() - begin));
    const size_t at = pos_;
    const char c = text_[pos_++];
    Expr expr;
    expr.left = operand;
    if (c == '#') expr.pad = parse_pad_kind();
    expr.n = parse_number();
    const uint64_t size = operand->size;
    const auto sizes = [&](const char* rule) {
      fail(at, fmt::format("'{} {}': {} {} the size of {}, {}",
                           c == '#' ? symbol(expr.pad) : std::string(1, c), expr.n,
                           group_digits(expr.n), rule, before, group_digits(size)));
    };
    switch (c) {
      case '/':
        expr.kind = Expr::Kind::kStride;
        if (size % expr.n != 0) sizes("does not divide");
        expr.size = size / expr.n;
        break;
      case '%':
        expr.kind = Expr::Kind::kModulo;
        if (size % expr.n != 0) sizes("does not divide");
        expr.size = expr.n;
        break;
      case '=':
        expr.kind = Expr::Kind::kResize;
        if (expr.n > size) sizes("is larger than");
        expr.size = expr.n;
        break;
      default:
        expr.kind = Expr::Kind::kPad;
        if (expr.n < size) sizes("is smaller than");
        expr.size = expr.n;
    }
    return make(std::move(expr), at);
  }

  size_t trimmed_end() const {
    size_t end = pos_;
    while (end > 0 && is_space(text_[end - 1])) --end;
    return end;
  }

  PadKind parse_pad_kind() {
    skip_space();
    if (pos_ >= text_.size() || text_[pos_] != '{') return PadKind::kTop;
    size_t inside = pos_ + 1;
    while (inside < text_.size() && is_space(text_[inside])) ++inside;
    size_t close = inside + 1;
    while (close < text_.size() && is_space(text_[close])) ++close;
    if (close >= text_.size() || text_[close] != '}') return PadKind::kTop;
    switch (text_[inside]) {
      case '*':
        pos_ = close + 1;
        return PadKind::kTop;
      case '0':
        pos_ = close + 1;
        return PadKind::kZero;
      case '!':
        pos_ = close + 1;
        return PadKind::kBottom;
      default:
        return PadKind::kTop;  // a constant of one letter
    }
  }

  uint64_t parse_number() {
    const char c = peek();
    const size_t at = pos_;
    if (c == '{') {
      const std::string name = parse_braced_name();
      const auto constant = names_.constants.find(name);
      if (constant == names_.constants.end()) {
        std::vector<std::string> known;
        for (const auto& entry : names_.constants) known.push_back(entry.first);
        const auto close = nearest(name, known);
        fail(at, fmt::format("unknown constant {}", quoted(name)),
             close ? fmt::format("did you mean '{}'?", *close) : "declare it under constants:");
      }
      if (constant->second == 0) {
        fail(at, fmt::format("constant '{}' is 0; a number here is at least 1", name));
      }
      if (constant->second > kMaxMappingSize) {
        fail(at, fmt::format("constant '{}' is {}, above {}", name, group_digits(constant->second),
                             group_digits(kMaxMappingSize)));
      }
      return constant->second;
    }
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) {
      fail(at, at == text_.size()
                   ? std::string("a number is missing at the end")
                   : fmt::format("a number is expected, not {}", quoted_character()));
    }
    uint64_t value = 0;
    while (pos_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[pos_])) != 0) {
      value = value * 10 + static_cast<uint64_t>(text_[pos_++] - '0');
      if (value > kMaxMappingSize) {
        size_t end = pos_;
        while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) != 0)
          ++end;
        fail(at, fmt::format("number {} is above {}", quoted(text_.substr(at, end - at)),
                             group_digits(kMaxMappingSize)));
      }
    }
    if (value == 0) fail(at, "number 0; a number here is at least 1");
    return value;
  }

  std::string parse_braced_name() {
    const size_t at = pos_++;
    skip_space();
    std::string name;
    while (pos_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[pos_])) != 0 || text_[pos_] == '_')) {
      name += text_[pos_++];
    }
    if (peek() != '}' || name.empty()) {
      if (pos_ == text_.size()) fail(at, "'{' is not closed by '}'");
      fail(pos_,
           fmt::format("a name{} is expected after '{{', not {}", name.empty() ? "" : " and '}'",
                       quoted_character()),
           "padding kinds are #{*}, #{0} and #{!}");
    }
    ++pos_;
    return name;
  }

  ExprPtr parse_atom() {
    const char c = peek();
    const size_t at = pos_;
    if (c == '(' || c == '[') {
      const char close = c == '(' ? ')' : ']';
      ++pos_;
      ExprPtr inner = parse_mapping_list();
      if (peek() != close) {
        if (pos_ == text_.size()) fail(at, fmt::format("'{}' is not closed by '{}'", c, close));
        fail(pos_,
             fmt::format("unexpected {}; the '{}' before it is still open", quoted_character(), c),
             suffix_hint());
      }
      ++pos_;
      return inner;
    }
    if (c == '{') return parse_alias();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      Expr expr;
      expr.kind = Expr::Kind::kBroadcast;
      expr.n = expr.size = parse_number();
      return make(std::move(expr), at);
    }
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) return parse_axis();
    if (at == text_.size()) fail(at, "a term is missing at the end");
    fail(at, fmt::format("a term is expected, not {}", quoted_character()), suffix_hint());
  }

  ExprPtr parse_axis() {
    const size_t at = pos_;
    std::string name;
    while (pos_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[pos_])) != 0 || text_[pos_] == '_')) {
      name += text_[pos_++];
    }
    const auto axis = axes_.find(name);
    if (!axis) {
      const auto close = nearest(name, axes_.names());
      std::string hint =
          close ? fmt::format("did you mean '{}'?", *close) : "declare it under axes:";
      if (!close && axes_.count() > 0) hint += fmt::format(" ({})", listed(axes_.names()));
      if (names_.aliases.count(name) != 0) {
        hint = fmt::format("a named mapping is written {{{}}}", name);
      }
      fail(at, fmt::format("unknown axis {}", quoted(name)), hint);
    }
    Expr expr;
    expr.kind = Expr::Kind::kAxis;
    expr.axis = *axis;
    expr.size = axes_.size(*axis);
    return make(std::move(expr), at);
  }

  ExprPtr parse_alias() {
    const size_t at = pos_;
    const std::string name = parse_braced_name();
    const auto alias = names_.aliases.find(name);
    if (alias != names_.aliases.end()) {
      const auto again = std::find(open_.begin(), open_.end(), name);
      if (again != open_.end()) {
        std::string chain;
        for (auto open = again; open != open_.end(); ++open) chain += "{" + *open + "} -> ";
        fail(at, fmt::format("named mapping '{{{}}}' uses itself: {}{{{}}}", name, chain, name));
      }
      open_.push_back(name);
      ExprPtr spliced =
          Parser(alias->second, axes_, names_, diagnostics_, depth_, open_, taken_).parse_all();
      open_.pop_back();
      return spliced;
    }
    if (names_.constants.count(name) != 0) {
      fail(at, fmt::format("'{{{}}}' is a constant; a mapping is expected here", name));
    }
    std::vector<std::string> known;
    for (const auto& entry : names_.aliases) known.push_back(entry.first);
    const auto close = nearest(name, known);
    fail(at, fmt::format("unknown mapping {}", quoted("{" + name + "}")),
         close ? fmt::format("did you mean '{{{}}}'?", *close) : "declare it under mappings:");
  }

  const std::string& text_;
  SourceLocation where_;
  const AxisTable& axes_;
  const MappingNames& names_;
  Diagnostics& diagnostics_;
  int depth_;
  std::vector<std::string>& open_;  // the named mappings being spliced, outermost first
  Taken& taken_;
  size_t pos_ = 0;
};

}  // namespace

ExprPtr parse_mapping(const Located<std::string>& text, const AxisTable& axes,
                      const MappingNames& names, Diagnostics& diagnostics) {
  Taken taken;
  std::vector<std::string> open;
  try {
    return Parser(text, axes, names, diagnostics, 0, open, taken).parse_all();
  } catch (const Failed&) {
    return nullptr;
  }
}

}  // namespace rngdsim
