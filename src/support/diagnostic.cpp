// SPDX-License-Identifier: Apache-2.0
#include "support/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "support/text.h"

namespace rngdsim {
namespace {

std::string count_of(size_t n, const char* noun) {
  return fmt::format("{} {}{}", group_digits(n), noun, n == 1 ? "" : "s");
}

}  // namespace

std::string to_string(const SourceLocation& where) {
  std::string text = where.file;
  if (where.line > 0) text += fmt::format(":{}", where.line);
  if (where.line > 0 && where.column > 0) text += fmt::format(":{}", where.column);
  return text;
}

void Diagnostics::error(SourceLocation where, std::string message, std::string hint) {
  const bool was_full = full();
  ++errors_;
  if (was_full) return;
  if (full()) {
    message = fmt::format("more than {}; the rest is not shown", count_of(kMaxErrors, "error"));
    hint.clear();
  }
  all_.push_back({Severity::kError, std::move(where),
                  shortened(std::move(message), kMaxMessageLength),
                  shortened(std::move(hint), kMaxMessageLength)});
}

void Diagnostics::warning(SourceLocation where, std::string message, std::string hint) {
  if (!warned_.insert(to_string(where) + ": " + message).second) return;
  ++warnings_;
  all_.push_back({Severity::kWarning, std::move(where),
                  shortened(std::move(message), kMaxMessageLength),
                  shortened(std::move(hint), kMaxMessageLength)});
}

void Diagnostics::append(const Diagnostics& other) {
  all_.insert(all_.end(), other.all_.begin(), other.all_.end());
  errors_ += other.errors_;
  warnings_ += other.warnings_;
}

std::string Diagnostics::render() const {
  if (all_.empty()) return "";
  std::vector<const Diagnostic*> ordered;
  for (const Diagnostic& d : all_) ordered.push_back(&d);
  std::stable_sort(ordered.begin(), ordered.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return std::tie(a->where.file, a->where.line, a->where.column) <
           std::tie(b->where.file, b->where.line, b->where.column);
  });
  std::string text;
  for (const Diagnostic* d : ordered) {
    const std::string place = to_string(d->where);
    const std::string prefix = place.empty() ? "" : place + ": ";
    const char* word = d->severity == Severity::kError ? "error" : "warning";
    text += fmt::format("{}{}: {}\n", prefix, word, d->message);
    if (!d->hint.empty()) text += fmt::format("{}hint: {}\n", prefix, d->hint);
  }
  std::string summary;
  if (errors_ > 0)
    summary = (full() ? "more than " : "") + count_of(std::min(errors_, kMaxErrors), "error");
  if (warning_count() > 0) {
    summary += (summary.empty() ? "" : ", ") + count_of(warning_count(), "warning");
  }
  return text + summary + "\n";
}

void Diagnostics::throw_if_errors() const {
  if (has_errors()) throw InputError(*this);
}

InputError::InputError(Diagnostics diagnostics)
    : std::runtime_error(diagnostics.render()), diagnostics_(std::move(diagnostics)) {}

}  // namespace rngdsim
