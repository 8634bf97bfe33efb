// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <algorithm>

namespace rngdsim {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

void end_line(std::string& text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  text += '\n';
}

}  // namespace

size_t text_width(const std::string& text) {
  size_t columns = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      i = std::min(text.find('m', i), text.size() - 1);
    } else if (!continues(text[i])) {
      ++columns;
    }
  }
  return columns;
}

std::string cut(const std::string& text, size_t width) {
  if (text_width(text) <= width) return text;
  const size_t kept = width < 3 ? 0 : width - 3;
  size_t at = 0;
  for (size_t columns = 0; at < text.size(); ++at) {
    if (!continues(text[at]) && columns++ == kept) break;
  }
  return text.substr(0, at) + std::string("...").substr(0, width);
}

std::string wrap(const std::string& text, const std::string& first, size_t indent, size_t width) {
  std::string result = first;
  size_t at = text_width(first);
  bool begin = true;  // of a line
  for (size_t i = 0; i < text.size();) {
    const size_t blanks = text.find_first_not_of(' ', i);
    if (blanks == std::string::npos) break;
    const size_t end = std::min(text.find(' ', blanks), text.size());
    const std::string word = text.substr(blanks, end - blanks);
    const size_t gap = blanks - i;
    const size_t size = text_width(word);
    if (!begin && at + gap + size > width) {
      end_line(result);
      result += std::string(indent, ' ');
      at = indent;
      begin = true;
    }
    if (!begin) {
      result += std::string(gap, ' ');
      at += gap;
    }
    result += word;
    at += size;
    begin = false;
    i = end;
  }
  end_line(result);
  return result;
}

void TextTable::column(std::string heading, Align align, size_t gap, size_t max_width) {
  columns_.push_back({std::move(heading), align, columns_.empty() ? 0 : gap, max_width});
}

void TextTable::row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (size_t c = 0; c < cells.size(); ++c) cells[c] = cut(cells[c], columns_[c].max_width);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(size_t indent, size_t width) const {
  std::vector<std::string> headings;
  std::vector<size_t> widths;
  for (const Column& column : columns_) {
    headings.push_back(column.heading);
    widths.push_back(text_width(column.heading));
  }
  for (const std::vector<std::string>& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], text_width(row[c]));
  }
  const bool headed = std::any_of(headings.begin(), headings.end(),
                                  [](const std::string& heading) { return !heading.empty(); });
  std::string result = headed ? line(headings, widths, indent, width) : "";
  for (const std::vector<std::string>& row : rows_) result += line(row, widths, indent, width);
  return result;
}

std::string TextTable::line(const std::vector<std::string>& cells,
                            const std::vector<size_t>& widths, size_t indent, size_t width) const {
  std::string result(indent, ' ');
  for (size_t c = 0; c < cells.size(); ++c) {
    const Column& column = columns_[c];
    result += std::string(column.gap, ' ');
    const bool last = c + 1 == cells.size();
    if (last && column.align == Align::kLeft)
      return wrap(cells[c], result, text_width(result), width);
    const std::string fill(widths[c] - text_width(cells[c]), ' ');
    result += column.align == Align::kLeft ? cells[c] + fill : fill + cells[c];
  }
  end_line(result);
  return result;
}

}  // namespace rngdsim
