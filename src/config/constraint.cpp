// SPDX-License-Identifier: Apache-2.0
#include "config/constraint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <vector>

#include "support/input_limits.h"
#include "support/text.h"

namespace rngdsim {
namespace {

using Value = std::optional<int64_t>;

constexpr const char* kForm = "write for example \"{TILE} * 4 <= 64\"";

class Evaluator {
 public:
  Evaluator(const Located<std::string>& text, const ConstraintNames& names, FileErrors& errors)
      : text_(text.value), where_(text.where), names_(names), errors_(errors) {}

  std::optional<ConstraintResult> comparison() {
    const Value left = sum();
    if (failed_) return std::nullopt;
    blanks();
    const size_t place = at_;
    const std::string_view op = comparison_word();
    if (op.empty()) {
      fail(place,
           at_end() ? std::string("the constraint has no comparison")
                    : "expected a comparison, got " + rest(),
           "one of ==, !=, <, <=, >, >=");
      return std::nullopt;
    }
    const Value right = sum();
    if (failed_) return std::nullopt;
    blanks();
    if (!at_end()) {
      fail(at_, "unexpected " + rest() + " after the constraint", kForm);
      return std::nullopt;
    }
    if (!left || !right) return std::nullopt;  // a name that has been reported
    return ConstraintResult{compare(*left, op, *right), fmt::format("{} {} {}", *left, op, *right)};
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char next() const { return at_end() ? '\0' : text_[at_]; }
  void blanks() {
    while (next() == ' ' || next() == '\t') ++at_;
  }
  std::string rest() const { return quoted(text_.substr(at_)); }

  // Only the first fault of a constraint is told.
  Value fail(size_t place, const std::string& message, const std::string& hint = "") {
    if (!failed_) errors_.error(where_.shifted(static_cast<int>(place)), message, hint);
    failed_ = true;
    return std::nullopt;
  }

  std::string_view comparison_word() {
    // Longer ones first.
    constexpr std::array<std::string_view, 6> kWords = {"==", "!=", "<=", ">=", "<", ">"};
    for (const std::string_view word : kWords) {
      if (std::string_view(text_).substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word;
    }
    return {};
  }

  static bool compare(int64_t a, std::string_view op, int64_t b) {
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<=") return a <= b;
    if (op == ">=") return a >= b;
    return op == "<" ? a < b : a > b;
  }

  Value sum() {
    return chain("+-", [this] { return product(); });
  }
  Value product() {
    return chain("*/%", [this] { return factor(); });
  }

  template <typename Operand>
  Value chain(std::string_view operators, const Operand& operand) {
    Value value = operand();
    for (;;) {
      blanks();
      if (failed_ || at_end() || operators.find(next()) == std::string_view::npos) return value;
      const size_t place = at_++;
      const Value right = operand();
      if (failed_) return std::nullopt;
      value = value && right ? apply(*value, place, *right) : std::nullopt;
    }
  }

  Value apply(int64_t a, size_t place, int64_t b) {
    int64_t result = 0;
    bool overflows = false;
    switch (text_[place]) {
      case '+':
        overflows = __builtin_add_overflow(a, b, &result);
        break;
      case '-':
        overflows = __builtin_sub_overflow(a, b, &result);
        break;
      case '*':
        overflows = __builtin_mul_overflow(a, b, &result);
        break;
      default:
        if (b == 0) return fail(place, fmt::format("{} {} 0: division by zero", a, text_[place]));
        overflows = a == std::numeric_limits<int64_t>::min() && b == -1;
        if (!overflows) result = text_[place] == '/' ? a / b : a % b;
    }
    if (!overflows) return result;
    return fail(place, fmt::format("{} {} {} is beyond 64 bits", a, text_[place], b));
  }

  Value factor() {
    blanks();
    const size_t place = at_;
    if (next() == '(') {
      if (++depth_ > kMaxMappingDepth) {
        return fail(place, fmt::format("more than {} brackets inside each other", kMaxMappingDepth),
                    kLimitHint);
      }
      ++at_;
      const Value value = sum();
      --depth_;
      blanks();
      if (failed_) return std::nullopt;
      if (next() != ')') return fail(at_, "expected ')' for the '(' in column " + column(place));
      ++at_;
      return value;
    }
    if (next() == '{') return reference();
    if (next() >= '0' && next() <= '9') return number();
    return fail(place,
                at_end() ? std::string("the constraint ends where a number is expected")
                         : "expected a number, a {NAME} or '(', got " + rest(),
                kForm);
  }
  std::string column(size_t place) const {
    return std::to_string(where_.column + static_cast<int>(place));
  }

  Value number() {
    int64_t value = 0;
    const char* first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error != std::errc()) return fail(at_, "the number is beyond 64 bits");
    at_ += static_cast<size_t>(end - first);
    return value;
  }

  Value reference() {
    const size_t place = at_++;
    const size_t end = text_.find('}', at_);
    if (end == std::string::npos) return fail(place, "'{' without '}'");
    const std::string name = text_.substr(at_, end - at_);
    at_ = end + 1;
    const auto found = names_.find(name);
    if (found != names_.end()) {
      if (!found->second) return std::nullopt;
      return static_cast<int64_t>(*found->second);  // kMaxConstant at most
    }
    std::vector<std::string> known;
    for (const auto& [other, value] : names_) known.push_back(other);
    const auto close = nearest(name, known);
    return fail(place, fmt::format("{} is no integer parameter and no constant", quoted(name)),
                close           ? fmt::format("did you mean '{}'?", *close)
                : known.empty() ? "there is none"
                                : "there are " + listed(known));
  }

  const std::string& text_;
  const SourceLocation& where_;
  const ConstraintNames& names_;
  FileErrors& errors_;
  size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<ConstraintResult> evaluate_constraint(const Located<std::string>& text,
                                                    const ConstraintNames& names,
                                                    FileErrors& errors) {
  return Evaluator(text, names, errors).comparison();
}

}  // namespace rngdsim
