// SPDX-License-Identifier: Apache-2.0
// The terms of a mapping against the definition on its syntax tree, at every position.
#include "mapping/mapping.h"
#include "tests/property/mapping/random_mapping.h"

namespace rngdsim {
namespace {

Cell pad_cell(PadKind kind) {
  Cell cell;
  cell.live = false;
  cell.pad = kind;
  return cell;
}

bool same_but_kind(const Cell& a, const Cell& b) {
  return a.live == b.live && (!a.live || a.index == b.index);
}

bool legal(const Mapping& mapping, const AxisTable& axes) {
  Diagnostics diagnostics;
  check_digits({&mapping}, axes, {}, "the mapping", diagnostics);
  return !diagnostics.has_errors();
}

std::vector<Cell> defined(const Expr& expr, const AxisTable& axes) {
  std::vector<Cell> cells;
  for (uint64_t i = 0; i < expr.size; ++i) cells.push_back(cell_by_definition(expr, i, axes));
  return cells;
}

void expect_cells(const Mapping& mapping, const std::vector<Cell>& cells, const AxisTable& axes,
                  bool kinds, const char* what) {
  if (mapping.size() != cells.size()) {
    RC_FAIL(fmt::format("{} has size {}, not {}", what, mapping.size(), cells.size()));
  }
  for (uint64_t i = 0; i < cells.size(); ++i) {
    const Cell cell = mapping.cell(i, axes);
    // With one kind in the text, `#` may also stand for an overshoot of an axis without any.
    const bool named = cells[i].live || cells[i].pad != PadKind::kTop;
    if (kinds && named ? cell == cells[i] : same_but_kind(cell, cells[i])) continue;
    RC_FAIL(fmt::format("{} '{}' has {} at {}, not {}", what, mapping.text(axes),
                        to_string(cell, axes), i, to_string(cells[i], axes)));
  }
}

// Kinds are comparable where only one occurs and the digits of an axis do not overlap (an overshoot
// without any `#` on its axis has no kind).
RC_GTEST_PROP(MappingProperty, TermsHaveTheCellsOfTheDefinition, ()) {
  const bool one_kind = uniform(0, 1) == 0;
  const RandomMapping random = *random_mapping(one_kind);
  const AxisTable axes = table(random.axes);
  const ExprPtr expr = parse(random.text, axes);
  const std::vector<Cell> cells = defined(*expr, axes);
  const Mapping mapping = make_mapping(*expr, axes);
  const bool kinds = one_kind && legal(mapping, axes);

  expect_cells(mapping, cells, axes, kinds, "the mapping");
  const Mapping normal = mapping.normalized();
  expect_cells(normal, cells, axes, kinds, "the normal form");
  RC_ASSERT(normal.normalized().nodes() == normal.nodes());
  RC_ASSERT(normal == mapping);
  RC_ASSERT(normalize(*expr, axes) == mapping);
  RC_ASSERT(same_cells(mapping, normal, axes));
  RC_ASSERT(!kinds || equivalent(mapping, normal, axes));

  // The allocation-free walk agrees, overshoots aside.
  std::vector<uint64_t> values(axes.count());
  for (uint64_t i = 0; i < cells.size(); ++i) {
    std::fill(values.begin(), values.end(), 0);
    PadKind pad = PadKind::kTop;
    const bool live = mapping.accumulate(i, values.data(), &pad);
    RC_ASSERT(live || !cells[i].live);
    if (!live && kinds && cells[i].pad != PadKind::kTop) RC_ASSERT(pad == cells[i].pad);
    if (!cells[i].live) continue;
    for (const auto& [axis, value] : cells[i].index) {
      RC_ASSERT(values[axis] == value);
      values[axis] = 0;
    }
    RC_ASSERT(std::all_of(values.begin(), values.end(), [](uint64_t v) { return v == 0; }));
  }
}

RC_GTEST_PROP(MappingProperty, TextParsesBack, ()) {
  const bool one_kind = uniform(0, 1) == 0;
  const RandomMapping random = *random_mapping(one_kind);
  const AxisTable axes = table(random.axes);
  const ExprPtr expr = parse(random.text, axes);
  const Mapping mapping = make_mapping(*expr, axes);
  const bool kinds = one_kind && legal(mapping, axes);
  for (const Mapping& written : {mapping, mapping.normalized()}) {
    const ExprPtr again = parse(written.text(axes), axes);
    const std::vector<Cell> cells = defined(*again, axes);
    expect_cells(mapping, cells, axes, kinds, random.text.c_str());
  }
}

RC_GTEST_PROP(MappingProperty, SuffixesFollowTheDefinition, ()) {
  const RandomMapping random = *random_mapping(false);
  const AxisTable axes = table(random.axes);
  const ExprPtr expr = parse(random.text, axes);
  const std::vector<Cell> cells = defined(*expr, axes);
  // Of the normal form too, so that terms which joined are divided.
  const Mapping written = make_mapping(*expr, axes);
  const Mapping mapping = uniform(0, 1) == 0 ? written : written.normalized();
  const uint64_t size = cells.size();

  const uint64_t n = divisor(size);
  std::vector<Cell> expected;
  for (uint64_t i = 0; i < size / n; ++i) expected.push_back(cells[i * n]);
  expect_cells(mapping.stride(n), expected, axes, false, "the stride");
  expected.assign(cells.begin(), cells.begin() + static_cast<ptrdiff_t>(n));
  expect_cells(mapping.modulo(n), expected, axes, false, "the modulo");
  const uint64_t first = uniform(1, size);
  expected.assign(cells.begin(), cells.begin() + static_cast<ptrdiff_t>(first));
  expect_cells(mapping.resize(first), expected, axes, false, "the resize");
  expected = cells;
  const PadKind kind = static_cast<PadKind>(uniform(0, 2));
  expected.resize(size + uniform(0, 2 * size), pad_cell(kind));
  expect_cells(mapping.pad(expected.size(), kind), expected, axes, false, "the padding");
  // Kinds: the padding behind the last position at least.
  const Mapping padded = mapping.pad(expected.size(), kind);
  for (uint64_t i = size; i < expected.size(); ++i) RC_ASSERT(padded.cell(i, axes) == expected[i]);
}

RC_GTEST_PROP(MappingProperty, SplitDividesWithoutChangingACell, ()) {
  const bool one_kind = uniform(0, 1) == 0;
  const RandomMapping random = *random_mapping(one_kind);
  const AxisTable axes = table(random.axes);
  const ExprPtr expr = parse(random.text, axes);
  const std::vector<Cell> cells = defined(*expr, axes);
  const Mapping mapping = make_mapping(*expr, axes);
  const bool kinds = one_kind && legal(mapping, axes);
  for (uint64_t n = 1; n <= cells.size(); ++n) {
    const auto parts = mapping.split(n);
    if (cells.size() % n != 0) {
      RC_ASSERT(!parts);
      continue;
    }
    if (!parts) continue;
    RC_ASSERT(parts->second.size() == n);
    expect_cells(Mapping::concat({parts->first, parts->second}), cells, axes, kinds, "the halves");
  }
  // Between two terms it is always possible.
  uint64_t inside = 1;
  for (size_t k = mapping.nodes().size(); k-- > 0;) {
    RC_ASSERT(mapping.split(inside).has_value());
    inside *= mapping.nodes()[k].size;
  }
  RC_ASSERT(mapping.split(inside).has_value());
}

RC_GTEST_PROP(MappingProperty, PairsConcatenateAndProject, ()) {
  const RandomMapping random = *random_mapping(true);
  const AxisTable axes = table(random.axes);
  MappingWriter writer(random.axes, true);
  const std::string a = writer.list(1, 40).text;
  const std::string b = writer.list(1, 40).text;
  const std::string c = writer.term(1, 4).text;
  const auto mapping = [&](const std::string& text) {
    return make_mapping(*parse(text, axes), axes);
  };
  const Mapping x = mapping(a);
  const Mapping y = mapping(b);
  const Mapping z = mapping(c);
  const auto same = [&](const std::string& text, const Mapping& expected) {
    if (mapping(text) == expected) return;
    RC_FAIL(fmt::format("'{}' is '{}', not '{}'", text, mapping(text).normalized().text(axes),
                        expected.normalized().text(axes)));
  };
  const Mapping pair = Mapping::concat({x, y});
  same(fmt::format("[{}], [{}]", a, b), pair);
  same(fmt::format("[[{}], [{}]] / {}", a, b, y.size()), x);
  same(fmt::format("[[{}], [{}]] % {}", a, b, y.size()), y);
  same(fmt::format("[[{}], [{}]], [{}]", a, b, c), Mapping::concat({x, y, z}));
  same(fmt::format("[{}], [[{}], [{}]]", a, b, c), Mapping::concat({x, y, z}));
  same(fmt::format("[{}], 1", a), x);
  same(fmt::format("1, [{}]", a), x);
  same(fmt::format("[{}] / 1", a), x);
  same(fmt::format("[{}] # {}", a, x.size()), x);
  same(fmt::format("[{}] = {}", a, x.size()), x);
  same(fmt::format("[{}] % 1", a), Mapping());
  // e / n, e % n where n falls on the boundary of a pair.
  const std::string whole = fmt::format("[{}], [{}]", a, b);
  same(fmt::format("[{}] / {}, [{}] % {}", whole, y.size(), whole, y.size()), pair);
  RC_ASSERT(pair.size() == x.size() * y.size());
}

RC_GTEST_PROP(MappingProperty, DigitsOfAnAxisMakeTheWhole, ()) {
  const auto axes_list = random_axes();
  const AxisTable axes = table(axes_list);
  const uint64_t size = axes.size(0);
  // The axis, or the axis padded to a round number; cut into up to four digits.
  static const char* const kKinds[] = {"#", "#{0}", "#{!}"};
  const uint64_t step = uniform(1, 8);
  const uint64_t padded = uniform(0, 1) == 0 ? size : (size + step - 1) / step * step;
  const std::string whole =
      padded == size ? "A" : fmt::format("A {} {}", kKinds[uniform(0, 2)], padded);
  std::string digits;
  uint64_t stride = 1;
  for (int n = 0; n < 3; ++n) {
    const uint64_t factor = divisor(padded / stride);
    digits =
        fmt::format("{} / {} % {}{}{}", whole, stride, factor, digits.empty() ? "" : ", ", digits);
    stride *= factor;
  }
  digits = fmt::format("{} / {}, {}", whole, stride, digits);
  const Mapping expected = make_mapping(*parse(whole, axes), axes);
  const Mapping actual = make_mapping(*parse(digits, axes), axes);
  if (!(actual == expected)) {
    RC_FAIL(fmt::format("'{}' is '{}', not '{}'", digits, actual.normalized().text(axes), whole));
  }
  RC_ASSERT(equivalent(actual, expected, axes));
}

RC_GTEST_PROP(MappingProperty, ComparisonsAgreeWithEnumeration, ()) {
  const RandomMapping random = *random_mapping(false);
  const AxisTable axes = table(random.axes);
  MappingWriter writer(random.axes, false);
  const std::string a = writer.list(2, 24).text;
  std::string b = writer.list(2, 24).text;
  const ExprPtr x = parse(a, axes);
  ExprPtr y = parse(b, axes);
  // Equal sizes, often: else nothing would be compared.
  if (x->size > y->size) b = fmt::format("[{}] # {}", b, x->size);
  if (x->size < y->size) b = fmt::format("[{}] = {}", b, x->size);
  if (uniform(0, 2) == 0) {
    const uint64_t n = divisor(x->size);
    b = fmt::format("[{}] / {}, [{}] % {}", a, n, a, n);
  }
  y = parse(b, axes);
  const std::vector<Cell> cells_x = defined(*x, axes);
  const std::vector<Cell> cells_y = defined(*y, axes);
  bool same = cells_x.size() == cells_y.size();
  const Mapping mx = make_mapping(*x, axes);
  const Mapping my = make_mapping(*y, axes);
  bool equal = same;
  for (uint64_t i = 0; same && i < cells_x.size(); ++i) {
    equal = equal && mx.cell(i, axes) == my.cell(i, axes);
    same = same && same_but_kind(cells_x[i], cells_y[i]);
  }
  RC_CLASSIFY(same, "same");
  RC_ASSERT(same_cells(mx, my, axes) == same);
  RC_ASSERT(same_cells(my, mx, axes) == same);
  RC_ASSERT(!(mx == my) || same);
  // Inside a whole that is compared piece by piece.
  const Mapping other = make_mapping(*parse(writer.term(1, 8).text, axes), axes);
  if (same) {
    RC_ASSERT(
        same_cells(Mapping::concat({other, mx, other}), Mapping::concat({other, my, other}), axes));
  }
  RC_ASSERT(equivalent(mx, my, axes) == (same && equal));
}

RC_GTEST_PROP(MappingProperty, PaddingKindsDoNotMatterToSameCells, ()) {
  const RandomMapping random = *random_mapping(true);
  const AxisTable axes = table(random.axes);
  std::string other;
  for (size_t i = 0; i < random.text.size(); ++i) {
    other += random.text[i];
    if (random.text[i] != '#') continue;
    if (i + 1 < random.text.size() && random.text[i + 1] == '{') i += 3;
    other += "{0}";
  }
  const Mapping a = make_mapping(*parse(random.text, axes), axes);
  const Mapping b = make_mapping(*parse(other, axes), axes);
  RC_ASSERT(same_cells(a, b, axes));
}

RC_GTEST_PROP(MappingProperty, CountsEqualEnumeration, ()) {
  const RandomMapping random = *random_mapping(true);
  const AxisTable axes = table(random.axes);
  MappingWriter writer(random.axes, true);
  std::vector<Mapping> parts;
  std::vector<const Mapping*> pointers;
  uint64_t size = 1;
  for (uint64_t n = uniform(1, 3); n > 0; --n) {
    parts.push_back(make_mapping(*parse(writer.list(1, 30).text, axes), axes));
    size *= parts.back().size();
  }
  for (const Mapping& part : parts) pointers.push_back(&part);
  const Mapping whole = Mapping::concat(parts);
  uint64_t live = 0;
  std::vector<bool> seen(axes.count(), false);
  for (uint64_t i = 0; i < size; ++i) {
    const Cell cell = whole.cell(i, axes);
    live += cell.live ? 1 : 0;
    for (const auto& [axis, value] : cell.index) seen[axis] = true;
  }
  if (!legal(whole, axes)) return;  // overlapping digits: the count has no meaning
  RC_ASSERT(count_live(pointers, axes) == live);
  // Every axis that shows is reported.
  const std::vector<AxisId> reported = axes_of(pointers, axes);
  for (AxisId a = 0; a < axes.count(); ++a) {
    if (seen[a]) RC_ASSERT(std::count(reported.begin(), reported.end(), a) == 1);
  }
}

// Digits that pass are one-to-one: no index occurs twice but for broadcasts. (The converse is not
// required: `A / 3` and `A % 4 = 1` need no check.)
RC_GTEST_PROP(MappingProperty, DigitsThatPassDoNotRepeatAnIndex, ()) {
  const auto axes_list = random_axes();
  const AxisTable axes = table(axes_list);
  // Digits of one axis in any order, with gaps.
  std::string text;
  const uint64_t size = axes.size(0);
  for (uint64_t n = uniform(1, 3); n > 0; --n) {
    const uint64_t stride = divisor(size);
    const uint64_t factor = divisor(size / stride);
    text += fmt::format("{}A / {} % {}", text.empty() ? "" : ", ", stride, factor);
  }
  const Mapping mapping = make_mapping(*parse(text, axes), axes);
  std::vector<uint64_t> times(size, 0);
  bool repeated = false;
  for (uint64_t i = 0; i < mapping.size(); ++i) {
    const Cell cell = mapping.cell(i, axes);
    const uint64_t index = cell.live && !cell.index.empty() ? cell.index[0].second : 0;
    if (!cell.live) repeated = true;  // without padding only an overlap can overshoot
    if (cell.live && ++times[index] > 1) repeated = true;
  }
  if (legal(mapping, axes)) RC_ASSERT(!repeated);
  if (repeated) RC_ASSERT(!legal(mapping, axes));
}

}  // namespace
}  // namespace rngdsim
