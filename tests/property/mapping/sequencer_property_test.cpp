// SPDX-License-Identifier: Apache-2.0
// Sequencers against the definition: every stream position that holds an element must visit the
// buffer position of the same index.
//
// "The same index" where the buffer does not hold the whole of an axis (part of it lies in the
// slice dimension, say): each axis is cut into digits once, the buffer holds some of these digits,
// and the cell visited must have, of every axis, exactly the digits of the stream's index that the
// buffer holds. What is left over is what the broadcast loops run over.
#include <algorithm>
#include <set>

#include "mapping/sequencer.h"
#include "tests/property/mapping/random_mapping.h"

namespace rngdsim {
namespace {

struct Digit {
  size_t axis;
  uint64_t stride;
  uint64_t size;
  uint64_t live;  // fewer than size where the buffer cuts it with `=`
};

struct Case {
  std::vector<std::pair<std::string, uint64_t>> axes;
  std::vector<uint64_t> padded;  // the size of which digits are taken: the axis, or a bit more
  std::vector<Digit> held;       // by the buffer
  std::string buffer;
  std::string time, packet;
};

void showValue(const Case& c, std::ostream& out) {
  out << "buffer \"" << c.buffer << "\" stream \"" << c.time << "\" ; \"" << c.packet << "\" with";
  for (const auto& [name, size] : c.axes) out << ' ' << name << '=' << size;
}

template <typename T>
void shuffle(std::vector<T>& values) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[uniform(0, i - 1)]);
}

bool one_in(uint64_t n) { return uniform(1, n) == 1; }

// Strides and sizes of a random cut of `whole` into digits, ascending.
std::vector<std::pair<uint64_t, uint64_t>> random_cut(uint64_t whole) {
  std::vector<std::pair<uint64_t, uint64_t>> digits;
  uint64_t stride = 1;
  for (int n = 0; n < 2 && stride < whole; ++n) {
    const uint64_t factor = divisor(whole / stride);
    if (factor > 1) digits.emplace_back(stride, factor);
    stride *= factor;
  }
  if (stride < whole) digits.emplace_back(stride, whole / stride);
  return digits;
}

std::string digit_text(const Case& c, size_t axis, uint64_t stride, uint64_t size) {
  std::string text = c.axes[axis].first;
  if (c.padded[axis] != c.axes[axis].second) text += fmt::format(" # {}", c.padded[axis]);
  if (stride != 1) text += fmt::format(" / {}", stride);
  if (stride * size != c.padded[axis]) text += fmt::format(" % {}", size);
  return text;
}

std::string listed(const std::vector<std::string>& terms) {
  return terms.empty() ? "1" : fmt::format("{}", fmt::join(terms, ", "));
}

Case with_axes() {
  static const uint64_t kSizes[] = {2, 3, 4, 6, 8, 9, 11, 12, 16};
  static const char* const kNames[] = {"A", "B", "C"};
  Case c;
  for (uint64_t n = uniform(1, 3); n > 0; --n) {
    const uint64_t size = kSizes[uniform(0, std::size(kSizes) - 1)];
    c.axes.emplace_back(kNames[c.axes.size()], size);
    const uint64_t step = uniform(2, 4);
    c.padded.push_back(one_in(3) ? (size + step - 1) / step * step : size);
  }
  return c;
}

// A buffer: digits permuted, some missing, cut or padded, padding and broadcasts between them.
void add_buffer(Case& c, bool whole, bool broadcasts) {
  struct Term {
    std::string text;
    std::vector<Digit> digits;
  };
  std::vector<Term> terms;
  for (size_t axis = 0; axis < c.axes.size(); ++axis) {
    for (const auto& [stride, size] : random_cut(c.padded[axis])) {
      if (!whole && one_in(5)) continue;
      Term term{digit_text(c, axis, stride, size), {{axis, stride, size, size}}};
      // Only digits that end within the axis are cut: of others the overshoot would be cut too.
      if (!whole && one_in(6) && c.padded[axis] == c.axes[axis].second) {
        const uint64_t n = uniform(1, size);
        term.text += fmt::format(" = {}", n);
        // `= 1` leaves nothing of the digit behind.
        term.digits[0].live = n;
        if (n == 1) term.digits.clear();
      }
      if (one_in(5)) term.text += fmt::format(" # {}", size + uniform(0, 4));
      terms.push_back(term);
    }
  }
  if (one_in(5)) terms.push_back({fmt::format("1 # {}", uniform(2, 3)), {}});
  if (broadcasts && one_in(5)) terms.push_back({"2", {}});
  shuffle(terms);
  if (terms.size() >= 2 && one_in(5)) {
    // A padded group of two.
    const AxisTable axes = table(c.axes);
    const uint64_t size = parse(terms[0].text + "," + terms[1].text, axes)->size;
    terms[1].text =
        fmt::format("[{}, {}] # {}", terms[0].text, terms[1].text, size + uniform(0, 5));
    terms[1].digits.insert(terms[1].digits.end(), terms[0].digits.begin(), terms[0].digits.end());
    terms.erase(terms.begin());
  }
  std::vector<std::string> texts;
  for (const Term& term : terms) {
    texts.push_back(term.text);
    c.held.insert(c.held.end(), term.digits.begin(), term.digits.end());
  }
  c.buffer = listed(texts);
}

// A stream over the same axes: cut anew, permuted, resized, padded, with broadcasts.
void add_stream(Case& c, uint64_t limit) {
  std::vector<std::string> terms;
  for (size_t axis = 0; axis < c.axes.size(); ++axis) {
    std::vector<std::pair<uint64_t, uint64_t>> digits;
    if (one_in(2)) {
      digits = random_cut(c.padded[axis]);
    } else {
      // Where the buffer cuts, so that the pair is often compatible.
      for (const Digit& d : c.held) {
        if (d.axis == axis) digits.emplace_back(d.stride, d.size);
      }
      if (digits.empty()) digits = random_cut(c.padded[axis]);
    }
    for (size_t k = 0; k < digits.size(); ++k) {
      if (digits.size() > 1 && one_in(8)) continue;
      std::string text = digit_text(c, axis, digits[k].first, digits[k].second);
      uint64_t size = digits[k].second;
      if (one_in(5)) {
        size = uniform(1, size);
        text += fmt::format(" = {}", size);
      }
      if (one_in(6)) text += fmt::format(" # {}", size + uniform(0, 4));
      terms.push_back(text);
    }
  }
  if (one_in(4)) terms.push_back("T");
  if (one_in(5)) terms.push_back(std::to_string(uniform(2, 3)));
  if (one_in(5)) terms.push_back(fmt::format("1 # {}", uniform(2, 4)));
  shuffle(terms);
  c.axes.emplace_back("T", 3);
  c.padded.push_back(3);
  const AxisTable axes = table(c.axes);
  while (!terms.empty() && parse(listed(terms), axes)->size > limit) terms.pop_back();
  const auto cut = terms.begin() + static_cast<ptrdiff_t>(uniform(0, terms.size()));
  c.time = listed({terms.begin(), cut});
  c.packet = listed({cut, terms.end()});
}

// The index that the buffer must hold for the stream's index; nothing where a `=` cut it away.
std::optional<std::vector<uint64_t>> wanted(const Case& c, const Cell& cell) {
  std::vector<uint64_t> values(c.axes.size(), 0);
  for (const auto& [axis, value] : cell.index) values[axis] = value;
  std::vector<uint64_t> result(c.axes.size(), 0);
  for (const Digit& d : c.held) {
    const uint64_t digit = values[d.axis] / d.stride % d.size;
    if (digit >= d.live) return std::nullopt;
    result[d.axis] += digit * d.stride;
  }
  return result;
}

std::vector<uint64_t> index_of(const Cell& cell, size_t axes) {
  std::vector<uint64_t> values(axes, 0);
  for (const auto& [axis, value] : cell.index) values[axis] = value;
  return values;
}

// Live positions of the stream with the index wanted at each. False where one is cut away.
struct Wanted {
  bool complete = true;
  std::vector<std::optional<std::vector<uint64_t>>> at;  // nothing for padding
};

Wanted wanted_indices(const Case& c, const AxisTable& axes) {
  const ExprPtr stream = parse(fmt::format("[{}], [{}]", c.time, c.packet), axes);
  Wanted result;
  result.at.resize(stream->size);
  for (uint64_t p = 0; p < stream->size; ++p) {
    const Cell cell = cell_by_definition(*stream, p, axes);
    if (!cell.live) continue;
    result.at[p] = wanted(c, cell);
    if (!result.at[p]) result.complete = false;
  }
  return result;
}

std::vector<uint64_t> prime_factors(uint64_t n) {
  std::vector<uint64_t> primes;
  for (uint64_t p = 2; n > 1; ++p) {
    for (; n % p == 0; n /= p) primes.push_back(p);
  }
  return primes;
}

// Whether these loops (sizes, innermost first) take every live position to its place with some
// strides; nothing where the live positions do not decide.
std::optional<bool> loops_reach(const std::vector<std::optional<int64_t>>& places,
                                const std::vector<uint64_t>& sizes) {
  std::vector<std::optional<int64_t>> strides(sizes.size());
  bool decided = true;
  // Places that depend on one unknown stride settle it; the last pass checks everything.
  for (int pass = 0; pass < 4; ++pass) {
    for (uint64_t p = 0; p < places.size(); ++p) {
      if (!places[p]) continue;
      int64_t rest = *places[p];
      uint64_t outer = p;
      uint64_t factor = 0;
      size_t unknown = 0;
      size_t unknowns = 0;
      for (size_t k = 0; k < sizes.size(); ++k) {
        const uint64_t digit = outer % sizes[k];
        outer /= sizes[k];
        if (digit == 0) continue;
        if (strides[k]) {
          rest -= *strides[k] * static_cast<int64_t>(digit);
        } else {
          unknown = k;
          factor = digit;
          ++unknowns;
        }
      }
      if (unknowns == 0 && rest != 0) return false;
      if (unknowns == 1) {
        if (rest % static_cast<int64_t>(factor) != 0) return false;
        strides[unknown] = rest / static_cast<int64_t>(factor);
      }
      if (unknowns > 1 && pass == 3) decided = false;
    }
  }
  if (!decided) return std::nullopt;
  return true;
}

// Whether any nest of loops does, each term (sizes, innermost first) being walked by loops of its
// own: loops of prime sizes in every order, since longer loops are rows of these.
std::optional<bool> some_nest_exists(const std::vector<std::optional<int64_t>>& places,
                                     const std::vector<uint64_t>& terms) {
  std::vector<std::vector<uint64_t>> orders;
  for (const uint64_t size : terms) orders.push_back(prime_factors(size));
  bool undecided = false;
  for (;;) {
    std::vector<uint64_t> sizes;
    for (const auto& order : orders) sizes.insert(sizes.end(), order.begin(), order.end());
    const std::optional<bool> reached = loops_reach(places, sizes);
    if (reached == true) return true;
    if (!reached) undecided = true;
    size_t k = 0;
    while (k < orders.size() && !std::next_permutation(orders[k].begin(), orders[k].end())) ++k;
    if (k == orders.size()) break;
  }
  if (undecided) return std::nullopt;
  return false;
}

void check_visits(const Case& c, const SequencerConfig& config, const AxisTable& axes) {
  const ExprPtr buffer = parse(c.buffer, axes);
  const Wanted wanted = wanted_indices(c, axes);
  RC_ASSERT(wanted.complete);
  RC_ASSERT(config.positions() == wanted.at.size());
  for (uint64_t p = 0; p < wanted.at.size(); ++p) {
    if (!wanted.at[p]) continue;
    const int64_t offset = config.offset(p);
    if (offset < 0 || offset >= static_cast<int64_t>(buffer->size)) {
      RC_FAIL(fmt::format("{}: position {} visits {}", config.text(), p, offset));
    }
    const Cell cell = cell_by_definition(*buffer, static_cast<uint64_t>(offset), axes);
    if (!cell.live || index_of(cell, c.axes.size()) != *wanted.at[p]) {
      RC_FAIL(fmt::format("{}: position {} visits {}, which holds {}", config.text(), p, offset,
                          to_string(cell, axes)));
    }
  }
}

bool said(const SequencerResult& result, const char* what) {
  return std::any_of(result.problems.begin(), result.problems.end(),
                     [&](const SequencerProblem& problem) {
                       return problem.message.find(what) != std::string::npos;
                     });
}

Mapping mapping(const std::string& text, const AxisTable& axes) {
  return make_mapping(*parse(text, axes), axes);
}

SequencerResult derive(const Case& c, const AxisTable& axes, SequencerUse use) {
  return derive_sequencer(mapping(c.buffer, axes), mapping(c.time, axes), mapping(c.packet, axes),
                          use, axes);
}

RC_GTEST_PROP(SequencerProperty, VisitsTheIndexOfEveryLivePosition, ()) {
  const Case c = *rc::gen::noShrink(rc::gen::exec([] {
    Case made = with_axes();
    add_buffer(made, false, true);
    add_stream(made, 2000);
    return made;
  }));
  const AxisTable axes = table(c.axes);
  const SequencerResult read = derive(c, axes, SequencerUse::kRead);
  RC_CLASSIFY(read.problems.empty(), "legal");
  if (read.problems.empty()) check_visits(c, read.config, axes);

  const SequencerResult write = derive(c, axes, SequencerUse::kWrite);
  if (write.problems.empty()) {
    check_visits(c, write.config, axes);
    // No broadcast: no place is written twice.
    const Wanted wanted = wanted_indices(c, axes);
    std::set<int64_t> written;
    for (uint64_t p = 0; p < wanted.at.size(); ++p) {
      if (wanted.at[p]) RC_ASSERT(written.insert(write.config.offset(p)).second);
    }
  }
  // A write demands more than a read, but for axes that do not appear.
  if (!read.problems.empty() && !said(read, "appears 0 times")) {
    RC_ASSERT(!write.problems.empty());
  }
}

// Streams normalized, as later stages hand them over, are walked alike.
RC_GTEST_PROP(SequencerProperty, NormalFormsAreWalkedAlike, ()) {
  const Case c = *rc::gen::noShrink(rc::gen::exec([] {
    Case made = with_axes();
    add_buffer(made, false, true);
    add_stream(made, 500);
    return made;
  }));
  const AxisTable axes = table(c.axes);
  const SequencerResult result =
      derive_sequencer(mapping(c.buffer, axes).normalized(), mapping(c.time, axes).normalized(),
                       mapping(c.packet, axes).normalized(), SequencerUse::kRead, axes);
  if (result.problems.empty()) check_visits(c, result.config, axes);
}

// Whether the places where buffer and stream cut each axis divide one another in a row: then a
// common refinement exists. (Where not, loops may exist by accident: two positions always lie on a
// line.)
bool cuts_refine(const Case& c, const std::vector<Node>& stream) {
  std::vector<std::set<uint64_t>> cuts(c.axes.size());
  for (const Digit& d : c.held) {
    cuts[d.axis].insert(d.stride);
    cuts[d.axis].insert(d.stride * d.size);
  }
  for (const Node& node : stream) {
    if (node.kind != Node::Kind::kDigit) continue;
    cuts[node.axis].insert(node.stride);
    cuts[node.axis].insert(node.stride * node.live);
  }
  for (const std::set<uint64_t>& axis : cuts) {
    uint64_t below = 1;
    for (const uint64_t cut : axis) {
      if (cut % below != 0) return false;
      below = cut;
    }
  }
  return true;
}

RC_GTEST_PROP(SequencerProperty, RefusesOnlyWhereNoNestOfLoopsExists, ()) {
  const Case c = *rc::gen::noShrink(rc::gen::exec([] {
    Case made = with_axes();
    add_buffer(made, false, false);
    add_stream(made, 100);
    return made;
  }));
  const AxisTable axes = table(c.axes);
  const SequencerResult result = derive(c, axes, SequencerUse::kRead);
  // Rules of their own, whatever the loops could do.
  if (said(result, "appears 0 times") || said(result, "loops after merging") ||
      said(result, "appear twice") || said(result, "must come to 1") ||
      said(result, "no stride describes") || result.problems.empty()) {
    return;
  }
  const Wanted wanted = wanted_indices(c, axes);
  if (!wanted.complete) return;  // rightly refused
  const ExprPtr buffer = parse(c.buffer, axes);
  std::map<std::vector<uint64_t>, int64_t> place;
  for (uint64_t i = 0; i < buffer->size; ++i) {
    const Cell cell = cell_by_definition(*buffer, i, axes);
    if (!cell.live) continue;
    const bool first = place.emplace(index_of(cell, c.axes.size()), i).second;
    RC_ASSERT(first);
  }
  std::vector<std::optional<int64_t>> places(wanted.at.size());
  for (uint64_t p = 0; p < places.size(); ++p) {
    if (!wanted.at[p]) continue;
    const auto found = place.find(*wanted.at[p]);
    RC_ASSERT(found != place.end());
    places[p] = found->second;
  }
  std::vector<uint64_t> terms;
  for (const std::string& text : {c.packet, c.time}) {
    const std::vector<Node> nodes = mapping(text, axes).nodes();
    for (size_t k = nodes.size(); k-- > 0;) terms.push_back(nodes[k].size);
  }
  const std::vector<Node> stream =
      Mapping::concat({mapping(c.time, axes), mapping(c.packet, axes)}).nodes();
  if (some_nest_exists(places, terms).value_or(false) && cuts_refine(c, stream)) {
    RC_FAIL("refused although loops exist: " + result.problems[0].message);
  }
}

RC_GTEST_PROP(SequencerProperty, PermutedDigitsAreNeverRefused, ()) {
  Case c = *rc::gen::noShrink(rc::gen::exec([] {
    Case made = with_axes();
    std::vector<std::string> terms;
    for (size_t axis = 0; axis < made.axes.size(); ++axis) {
      for (const auto& [stride, size] : random_cut(made.padded[axis])) {
        if (terms.size() == 8) break;
        terms.push_back(digit_text(made, axis, stride, size));
        made.held.push_back({axis, stride, size, size});
      }
    }
    shuffle(terms);
    std::vector<std::string> padded;
    const AxisTable axes = table(made.axes);
    for (const std::string& term : terms) {
      const uint64_t size = parse(term, axes)->size;
      padded.push_back(one_in(4) ? fmt::format("{} # {}", term, size + uniform(0, 3)) : term);
    }
    made.buffer = listed(padded);
    shuffle(terms);
    const auto cut = terms.begin() + static_cast<ptrdiff_t>(uniform(0, terms.size()));
    made.time = listed({terms.begin(), cut});
    made.packet = listed({cut, terms.end()});
    return made;
  }));
  const AxisTable axes = table(c.axes);
  for (const SequencerUse use : {SequencerUse::kRead, SequencerUse::kWrite}) {
    const SequencerResult result = derive(c, axes, use);
    if (!result.problems.empty()) RC_FAIL(result.problems[0].message);
    check_visits(c, result.config, axes);
  }
}

// Any text over axes that the buffer holds whole: the very index of the stream must be visited.
RC_GTEST_PROP(SequencerProperty, AnyStreamOverAWholeBuffer, ()) {
  Case c = *rc::gen::noShrink(rc::gen::exec([] {
    Case made = with_axes();
    add_buffer(made, true, true);
    MappingWriter writer(made.axes, true);
    made.time = writer.list(1, 60).text;
    made.packet = writer.list(1, 12).text;
    return made;
  }));
  const AxisTable axes = table(c.axes);
  const SequencerResult result = derive(c, axes, SequencerUse::kRead);
  RC_CLASSIFY(result.problems.empty(), "legal");
  if (!result.problems.empty()) return;
  const ExprPtr buffer = parse(c.buffer, axes);
  const ExprPtr stream = parse(fmt::format("[{}], [{}]", c.time, c.packet), axes);
  for (uint64_t p = 0; p < stream->size; ++p) {
    const Cell cell = cell_by_definition(*stream, p, axes);
    if (!cell.live) continue;
    const int64_t offset = result.config.offset(p);
    RC_ASSERT(offset >= 0);
    RC_ASSERT(offset < static_cast<int64_t>(buffer->size));
    const Cell visited = cell_by_definition(*buffer, static_cast<uint64_t>(offset), axes);
    if (visited != cell) {
      RC_FAIL(fmt::format("{}: position {} is {}, visits {}", result.config.text(), p,
                          to_string(cell, axes), to_string(visited, axes)));
    }
  }
}

// ------------------------------------------------------------------------------ configurations

SequencerConfig random_config() {
  SequencerConfig config;
  uint64_t positions = 1;
  int64_t next = uniform(0, 3) == 0 ? 0 : 1;
  for (uint64_t n = uniform(0, 5); n > 0; --n) {  // innermost first
    const uint64_t size = uniform(2, 5);
    if (positions * size > 2000) break;
    positions *= size;
    const int64_t stride = one_in(3) ? static_cast<int64_t>(uniform(0, 40)) - 20 : next;
    config.entries.insert(config.entries.begin(), {size, stride});
    next = static_cast<int64_t>(size) * stride;
  }
  // A packet is made of whole inner positions.
  config.packet_size = divisor(positions);
  return config;
}

RC_GTEST_PROP(SequencerProperty, WalkerVisitsTheOffsetsAtEveryAccessSize, ()) {
  const SequencerConfig config = random_config();
  for (uint64_t access = 1; access <= config.max_access_size(); ++access) {
    if (config.max_access_size() % access != 0) continue;
    SequencerWalker walker(config, access);
    RC_ASSERT(walker.accesses() == config.positions() / access);
    for (uint64_t i = 0; i < walker.accesses(); ++i) {
      RC_ASSERT(!walker.done());
      RC_ASSERT(walker.index() == i);
      for (uint64_t k = 0; k < access; ++k) {
        const int64_t step = walker.replicated() ? 0 : static_cast<int64_t>(k);
        if (walker.offset() + step != config.offset(i * access + k)) {
          RC_FAIL(fmt::format("{} by {}: access {} is at {}", config.text(), access, i,
                              walker.offset()));
        }
      }
      walker.next();
    }
    RC_ASSERT(walker.done());
  }
}

// The run is the longest product of innermost sizes that is contiguous as a whole.
RC_GTEST_PROP(SequencerProperty, RunIsTheLongestContiguousSuffix, ()) {
  const SequencerConfig config = random_config();
  uint64_t longest = 1;
  uint64_t block = 1;
  for (size_t k = config.entries.size(); k-- > 0;) {
    block *= config.entries[k].size;
    bool contiguous = true;
    bool replicated = true;
    for (uint64_t p = 0; p < block; ++p) {
      contiguous = contiguous && config.offset(p) == static_cast<int64_t>(p);
      replicated = replicated && config.offset(p) == 0;
    }
    if (contiguous || replicated) longest = block;
  }
  RC_ASSERT(config.contiguous_run() == longest);
}

RC_GTEST_PROP(SequencerProperty, MergingKeepsTheOffsets, ()) {
  const Case c = *rc::gen::noShrink(rc::gen::exec([] {
    Case made = with_axes();
    add_buffer(made, true, false);
    add_stream(made, 500);
    return made;
  }));
  const AxisTable axes = table(c.axes);
  SequencerLimits tight;
  tight.max_entries = uniform(1, 4);
  tight.max_size = uniform(2, 64);
  const SequencerResult wide = derive(c, axes, SequencerUse::kRead);
  const SequencerResult merged =
      derive_sequencer(mapping(c.buffer, axes), mapping(c.time, axes), mapping(c.packet, axes),
                       SequencerUse::kRead, axes, tight);
  RC_ASSERT(merged.unmerged == wide.unmerged);
  if (wide.unmerged.size() <= tight.max_entries) {
    RC_ASSERT(merged.config.entries == wide.unmerged);
  }
  RC_ASSERT(merged.config.positions() == wide.config.positions());
  for (uint64_t p = 0; p < merged.config.positions(); ++p) {
    RC_ASSERT(merged.config.offset(p) == wide.config.offset(p));
  }
  if (wide.unmerged.size() > tight.max_entries) {
    // Every pair that could be merged is.
    const auto& entries = merged.config.entries;
    for (size_t k = 0; k + 1 < entries.size(); ++k) {
      RC_ASSERT(entries[k].stride !=
                    static_cast<int64_t>(entries[k + 1].size) * entries[k + 1].stride ||
                entries[k].size * entries[k + 1].size > tight.max_size);
    }
  }
  const bool fits = merged.config.entries.size() <= tight.max_entries &&
                    std::all_of(merged.config.entries.begin(), merged.config.entries.end(),
                                [&](const SequencerEntry& e) { return e.size <= tight.max_size; });
  if (wide.problems.empty()) RC_ASSERT(merged.problems.empty() == fits);
}

}  // namespace
}  // namespace rngdsim
