// SPDX-License-Identifier: Apache-2.0
// A mapping text over a few axes: parsed, normalised, divided, written and parsed again; the cells
// of small ones are those of the definition.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/fuzzer.h"
#include "mapping/mapping.h"

namespace rngdsim {
namespace {

constexpr uint64_t kSmall = 512;  // positions that are looked at one by one

struct Names {
  AxisTable axes;
  MappingNames names;
};

const Names& names() {
  static const Names kNames = [] {
    Names result;
    result.axes.add("A", 8);
    result.axes.add("B", 512);
    result.axes.add("C", 13);
    result.axes.add("D", 61);
    result.axes.add("R", 11);
    result.axes.add("Large", uint64_t{1} << 32);
    result.names.constants = {{"n", 4}, {"zero", 0}, {"huge", uint64_t{1} << 40}};
    result.names.aliases["S"].value = "A / 2, C # 16";
    result.names.aliases["Loop"].value = "{Loop}, A";
    result.names.aliases["Bad"].value = "A / 3";
    return result;
  }();
  return kNames;
}

ExprPtr parse(const std::string& text) {
  Diagnostics diagnostics;
  ExprPtr expr = parse_mapping({text, {"M", 1, 1}}, names().axes, names().names, diagnostics);
  require((expr == nullptr) == diagnostics.has_errors(), "a mapping or errors");
  for (const Diagnostic& found : diagnostics.all()) {
    require(found.where.line == 1 || found.where.file.empty(), "the place is in the text");
  }
  return expr;
}

std::string text_of(const Cell& cell) { return to_string(cell, names().axes); }

// Liveness and index; the kind of padding is left open where several kinds meet.
void require_cells(const Mapping& mapping, const std::vector<Cell>& cells, const char* what) {
  require(mapping.size() == cells.size(), std::string(what) + " keeps the size");
  for (uint64_t i = 0; i < cells.size(); ++i) {
    const Cell cell = mapping.cell(i, names().axes);
    require(cell.live == cells[i].live && (!cell.live || cell.index == cells[i].index),
            std::string(what) + " has " + text_of(cell) + " at " + std::to_string(i) + ", not " +
                text_of(cells[i]));
  }
}

void check_small(const Expr& expr, const Mapping& mapping) {
  const AxisTable& axes = names().axes;
  std::vector<Cell> cells;
  for (uint64_t i = 0; i < expr.size; ++i) cells.push_back(cell_by_definition(expr, i, axes));
  require_cells(mapping, cells, "the mapping");
  require_cells(mapping.normalized(), cells, "the normal form");
  for (const Mapping& written : {mapping, mapping.normalized()}) {
    const ExprPtr again = parse(written.text(axes));
    // What cuts pairs may be written with more suffixes than a text may have.
    if (again) require_cells(make_mapping(*again, axes), cells, "the text");
  }
  for (uint64_t n = 1; n <= expr.size; ++n) {
    const auto parts = mapping.split(n);
    if (!parts) continue;
    require(parts->second.size() == n, "a split has the size asked for");
    require_cells(Mapping::concat({parts->first, parts->second}), cells, "a split");
  }
}

}  // namespace
}  // namespace rngdsim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rngdsim;  // NOLINT(google-build-using-namespace)
  const AxisTable& axes = names().axes;
  const ExprPtr expr = parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!expr) return 0;
  const Mapping mapping = make_mapping(*expr, axes);
  require(mapping.size() == expr->size, "the terms have the size of the expression");
  const Mapping normal = mapping.normalized();
  require(normal.size() == mapping.size(), "the normal form has the same size");
  require(!normal.text(axes).empty() && !mapping.text(axes).empty(), "a mapping has a text");
  mapping.split(axes.size(0));
  mapping.split(std::max<uint64_t>(1, mapping.size() / 2));
  Diagnostics diagnostics;
  check_digits({&mapping}, axes, {"M", 1, 1}, "the mapping", diagnostics);
  if (expr->size <= kSmall) {
    if (!diagnostics.has_errors()) {
      require(count_live({&mapping}, axes) <= mapping.size(), "no more live cells than cells");
    }
    check_small(*expr, mapping);
  }
  return 0;
}
