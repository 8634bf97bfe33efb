// SPDX-License-Identifier: Apache-2.0
// Plain text for people: aligned columns, lines of at most kReportWidth columns, colour on request.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rngdsim {

constexpr size_t kReportWidth = 100;
constexpr size_t kIndent = 2;  // blanks in front of what stands under a heading

// Columns that a UTF-8 text takes: one a code point, none for the escape sequences of Style.
size_t text_width(const std::string& text);
// At most `width` columns; what was cut ends in "...".
std::string cut(const std::string& text, size_t width);

// `text` broken at blanks into lines of at most `width` columns, the first after `first` (which may
// be longer than the indentation), the others after `indent` blanks. A word that fits no line
// stands alone on one, too long. Ends in a line break.
std::string wrap(const std::string& text, const std::string& first, size_t indent,
                 size_t width = kReportWidth);

class TextTable {
 public:
  enum class Align { kLeft, kRight };
  static constexpr size_t kNoLimit = ~size_t{0};

  // The first column has no gap in front, the others `gap` blanks. Longer cells than `max_width`
  // are cut.
  void column(std::string heading, Align align, size_t gap = 2, size_t max_width = kNoLimit);
  // As many cells as columns, or fewer: the rest are empty.
  void row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  size_t row_count() const { return rows_.size(); }

  // The heading (where there is one) and the rows, `indent` blanks in front. The last column is
  // wrapped where it would pass `width`. No blanks at the ends of lines.
  std::string text(size_t indent = 0, size_t width = kReportWidth) const;

 private:
  struct Column {
    std::string heading;
    Align align;
    size_t gap;
    size_t max_width;
  };
  std::string line(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                   size_t indent, size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Colours, where wanted: escape sequences around a text.
struct Style {
  bool color = false;

  std::string good(const std::string& text) const { return paint("32", text); }
  std::string bad(const std::string& text) const { return paint("1;31", text); }
  std::string warn(const std::string& text) const { return paint("33", text); }
  std::string strong(const std::string& text) const { return paint("1", text); }
  std::string faint(const std::string& text) const { return paint("2", text); }

 private:
  std::string paint(const char* code, const std::string& text) const {
    return color ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
  }
};

}  // namespace rngdsim
