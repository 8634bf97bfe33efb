// SPDX-License-Identifier: Apache-2.0
// Random mapping texts and what the property tests need of them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "mapping/mapping.h"

namespace rngdsim {

// More cases than RapidCheck's 100, the same ones in every run. To look further:
// RC_PARAMS="max_success=100000 seed=7".
inline const int kRapidCheckDefaults = setenv("RC_PARAMS", "max_success=1000 seed=1", 0);

// A text over a few small axes, legal by construction.
struct RandomMapping {
  std::vector<std::pair<std::string, uint64_t>> axes;
  std::string text;
};

inline void showValue(const RandomMapping& mapping, std::ostream& out) {
  out << '"' << mapping.text << "\" with";
  for (const auto& [name, size] : mapping.axes) out << ' ' << name << '=' << size;
}

inline AxisTable table(const std::vector<std::pair<std::string, uint64_t>>& axes) {
  AxisTable result;
  for (const auto& [name, size] : axes) result.add(name, size);
  return result;
}

inline ExprPtr parse(const std::string& text, const AxisTable& axes) {
  Diagnostics diagnostics;
  ExprPtr expr = parse_mapping({text, {}}, axes, {}, diagnostics);
  if (!expr) RC_FAIL(text + "\n" + diagnostics.render());
  return expr;
}

inline uint64_t uniform(uint64_t low, uint64_t high) {  // both included
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<uint64_t>(low, high + 1));
}

inline uint64_t divisor(uint64_t n) {
  std::vector<uint64_t> divisors;
  for (uint64_t d = 1; d <= n; ++d) {
    if (n % d == 0) divisors.push_back(d);
  }
  return divisors[uniform(0, divisors.size() - 1)];
}

// Grows texts whose size stays within `limit`.
class MappingWriter {
 public:
  static constexpr uint64_t kLimit = 2000;

  MappingWriter(const std::vector<std::pair<std::string, uint64_t>>& axes, bool one_kind)
      : axes_(axes), one_kind_(one_kind), kind_(uniform(0, 2)) {}

  struct Sized {
    std::string text;
    uint64_t size;
  };

  Sized term(int depth, uint64_t limit) {
    Sized result = atom(depth, limit);
    for (uint64_t n = uniform(0, 3); n > 0; --n) result = suffixed(std::move(result), limit);
    return result;
  }

  Sized list(int depth, uint64_t limit) {
    Sized result = term(depth, limit);
    for (uint64_t n = uniform(0, 3); n > 0; --n) {
      if (limit / result.size < 2) break;
      const Sized more = term(depth, limit / result.size);
      result.text += ", " + more.text;
      result.size *= more.size;
    }
    return result;
  }

 private:
  Sized atom(int depth, uint64_t limit) {
    if (depth > 0 && uniform(0, 3) == 0) {
      const Sized inner = list(depth - 1, limit);
      return {"[" + inner.text + "]", inner.size};
    }
    if (uniform(0, 5) == 0) {
      const uint64_t n = uniform(1, std::min<uint64_t>(limit, 6));
      return {std::to_string(n), n};
    }
    const auto& [name, size] = axes_[uniform(0, axes_.size() - 1)];
    if (size <= limit) return {name, size};
    const uint64_t n = uniform(1, limit);
    return {fmt::format("{} = {}", name, n), n};
  }

  Sized suffixed(Sized e, uint64_t limit) {
    switch (uniform(0, 3)) {
      case 0: {
        const uint64_t n = divisor(e.size);
        return {fmt::format("{} / {}", e.text, n), e.size / n};
      }
      case 1: {
        const uint64_t n = divisor(e.size);
        return {fmt::format("{} % {}", e.text, n), n};
      }
      case 2: {
        const uint64_t n = uniform(1, e.size);
        return {fmt::format("{} = {}", e.text, n), n};
      }
      default: {
        // Often a round number, so that it can be divided.
        uint64_t n = uniform(e.size, std::min(limit, 2 * e.size + 3));
        if (uniform(0, 1) == 0) n = std::min(limit, (n + 3) / 4 * 4);
        static const char* const kKinds[] = {"#", "#{0}", "#{!}"};
        return {fmt::format("{} {} {}", e.text, kKinds[one_kind_ ? kind_ : uniform(0, 2)], n), n};
      }
    }
  }

  const std::vector<std::pair<std::string, uint64_t>>& axes_;
  bool one_kind_;
  uint64_t kind_;
};

inline std::vector<std::pair<std::string, uint64_t>> random_axes() {
  static const char* const kNames[] = {"A", "B", "C", "D"};
  static const uint64_t kSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 24};
  std::vector<std::pair<std::string, uint64_t>> axes;
  for (uint64_t n = uniform(1, 4); n > 0; --n) {
    axes.emplace_back(kNames[axes.size()], kSizes[uniform(0, std::size(kSizes) - 1)]);
  }
  return axes;
}

// `one_kind`: all padding is of one (random) kind.
inline rc::Gen<RandomMapping> random_mapping(bool one_kind) {
  return rc::gen::noShrink(rc::gen::exec([one_kind] {
    RandomMapping result;
    result.axes = random_axes();
    result.text = MappingWriter(result.axes, one_kind).list(2, MappingWriter::kLimit).text;
    return result;
  }));
}

}  // namespace rngdsim
