// SPDX-License-Identifier: Apache-2.0
// Mapping expressions: where each element of a tensor lives.
//
// A `Mapping` sends a position i (0 <= i < size) to a cell: the index of the element that lives
// there, or padding. The language is specified in docs/mapping.md; `Expr` is its syntax tree and
// evaluates cells by the definition, `Mapping` is the list of terms that all derivations work on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/diagnostic.h"

namespace rngdsim {

using AxisId = uint32_t;

// The declared axes, in the order of the kernel file.
class AxisTable {
 public:
  // Precondition: `name` is new, size >= 1.
  AxisId add(std::string name, uint64_t size);
  std::optional<AxisId> find(const std::string& name) const;
  const std::string& name(AxisId axis) const { return axes_[axis].name; }
  uint64_t size(AxisId axis) const { return axes_[axis].size; }
  size_t count() const { return axes_.size(); }
  std::vector<std::string> names() const;

 private:
  struct Axis {
    std::string name;
    uint64_t size;
  };
  std::vector<Axis> axes_;
};

// What padding promises about its positions: readable with arbitrary content, readable and zero,
// never to be touched.
enum class PadKind : uint8_t { kTop, kZero, kBottom };
const char* symbol(PadKind kind);  // "#", "#{0}", "#{!}"

// What lives at a position: an index (axis -> value, zero values left out, ascending axes) or
// padding.
struct Cell {
  bool live = true;
  PadKind pad = PadKind::kTop;  // meaningful where not live
  std::vector<std::pair<AxisId, uint64_t>> index;

  bool operator==(const Cell& other) const {
    return live == other.live && (live ? index == other.index : pad == other.pad);
  }
  bool operator!=(const Cell& other) const { return !(*this == other); }
};
// "I=3 K=5", "the origin" for the empty index, "padding" for padding.
std::string to_string(const Cell& cell, const AxisTable& axes);

// ---------------------------------------------------------------------------------------------
// Syntax tree.

struct Expr {
  enum class Kind { kAxis, kBroadcast, kPair, kStride, kModulo, kResize, kPad };
  Kind kind = Kind::kBroadcast;
  AxisId axis = 0;                    // kAxis
  uint64_t n = 1;                     // the number of every other kind but kPair
  PadKind pad = PadKind::kTop;        // kPad
  std::shared_ptr<const Expr> left;   // operand; left (major) side of a pair
  std::shared_ptr<const Expr> right;  // right (minor) side of a pair
  uint64_t size = 1;                  // number of positions
};
using ExprPtr = std::shared_ptr<const Expr>;

// The names a mapping text may use besides the axes.
struct MappingNames {
  std::map<std::string, Located<std::string>> aliases;  // {Name} in atom position
  std::map<std::string, uint64_t> constants;            // {Name} in number position
};

// Parses and sizes a mapping text. Returns null after adding at least one error (file, line, column
// of the offending character).
ExprPtr parse_mapping(const Located<std::string>& text, const AxisTable& axes,
                      const MappingNames& names, Diagnostics& diagnostics);

// The cell of `expr` at position i by the definition (docs/mapping.md section 2). Precondition:
// i < expr.size. Slow; for tests and small tables.
Cell cell_by_definition(const Expr& expr, uint64_t i, const AxisTable& axes);

// ---------------------------------------------------------------------------------------------
// Terms.

// One term. A mapping is a list of nodes, outermost first, read as a mixed-radix number.
struct Node {
  enum class Kind : uint8_t {
    kDigit,      // axis += p * stride for p < live, else padding
    kBroadcast,  // no axis; live for p < live, else padding
    kPadded,     // `inner` for p < size(inner), else padding
    kStrided,    // `inner` at p * stride (a division that cuts a pair)
    kFirst,      // the first `size` positions of `inner` (a cut that is no digit)
  };
  Kind kind = Kind::kBroadcast;
  AxisId axis = 0;         // kDigit
  uint64_t axis_size = 1;  // kDigit: declared size of the axis
  uint64_t stride = 1;
  uint64_t size = 1;
  uint64_t live = 1;
  bool padded = false;  // a `#` was applied: dead positions and overshoots are padding of `pad`
  PadKind pad = PadKind::kTop;
  uint64_t cut_from = 0;  // kDigit cut by `=`: its positions from `live` to this exist nowhere
  std::vector<Node> inner;

  // Same cells and padding; `cut_from` aside.
  bool operator==(const Node& o) const;
};

// Number of positions of a list of terms.
inline uint64_t volume(const std::vector<Node>& nodes) {
  uint64_t size = 1;
  for (const Node& node : nodes) size *= node.size;
  return size;
}

// The terms of a mapping as written (`B / 64, B % 64` stays two terms, since sequencers are derived
// term by term); terms of one position are left out. `normalized` joins what belongs together.
class Mapping {
 public:
  Mapping() = default;  // the identity `1`
  explicit Mapping(std::vector<Node> nodes);
  static Mapping broadcast(uint64_t n);
  static Mapping axis(AxisId axis, uint64_t size);
  // Outermost first; pairs associate.
  static Mapping concat(const std::vector<Mapping>& parts);

  uint64_t size() const { return size_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  bool is_one() const { return size_ == 1 && nodes_.empty(); }

  // The suffixes of the language. Preconditions: n >= 1; stride and modulo: n divides size();
  // resize: n <= size(); pad: n >= size().
  Mapping stride(uint64_t n) const;
  Mapping modulo(uint64_t n) const;
  Mapping resize(uint64_t n) const;
  Mapping pad(uint64_t n, PadKind kind) const;

  // Divides at a boundary `[outer, inner]` with size(inner) == inner_size, where that is possible
  // without changing a cell (the boundary falls between nodes or inside a digit it divides).
  std::optional<std::pair<Mapping, Mapping>> split(uint64_t inner_size) const;

  // The cell at position i. Precondition: i < size().
  Cell cell(uint64_t i, const AxisTable& axes) const;
  // The same without allocation and without the overshoot rule: adds the index to `values` (one a
  // declared axis) and returns true, or returns false for padding, storing its kind where `pad` is
  // not null (values then hold rubbish).
  bool accumulate(uint64_t i, uint64_t* values, PadKind* pad = nullptr) const;

  // In the notation of the language.
  std::string text(const AxisTable& axes) const;

  // Adjacent terms that read as one are joined: equivalent mappings built by the identities of
  // docs/mapping.md get the same nodes. Idempotent; every live cell is preserved, and the kind of
  // all padding where only one kind occurs (an overshoot that becomes plain padding may win over
  // another kind further right).
  Mapping normalized() const;

  // Identity of the normal forms.
  bool operator==(const Mapping& o) const { return normalized().nodes_ == o.normalized().nodes_; }
  bool operator!=(const Mapping& o) const { return !(*this == o); }

 private:
  std::vector<Node> nodes_;
  uint64_t size_ = 1;
};

// The terms of an expression as written.
Mapping make_mapping(const Expr& expr, const AxisTable& axes);
// Its normal form: make_mapping(expr).normalized().
Mapping normalize(const Expr& expr, const AxisTable& axes);

// Same size and the same cell at every position, padding kinds aside. The mappings are compared
// piece by piece, divided wherever both divide; exact unless a piece of more than 2^24 positions is
// left whose normal forms differ (then false).
bool same_cells(const Mapping& a, const Mapping& b, const AxisTable& axes);
// The same with padding kinds. Exact up to 2^24 positions; above that as same_cells, and false
// where several padding kinds occur and the normal forms differ.
bool equivalent(const Mapping& a, const Mapping& b, const AxisTable& axes);

// The padding kind that an overshoot of each axis takes (from the `#` on its digits), for the
// combination of `parts` into one tensor.
std::vector<std::optional<PadKind>> overshoot_kinds(const std::vector<const Mapping*>& parts,
                                                    const AxisTable& axes);

// Number of positions of the combination of `parts` (one position in each) that hold an element:
// live in every part and no axis reaching its declared size; 2^64 - 1 where there are more. Exact
// for mappings that pass check_digits, unless terms that cut a pair have more than 2^24 positions.
uint64_t count_live(const std::vector<const Mapping*>& parts, const AxisTable& axes);

// The axes of which a digit with more than one live position occurs, ascending.
std::vector<AxisId> axes_of(const std::vector<const Mapping*>& parts, const AxisTable& axes);

// Adds an error for digits of one axis that overlap, or carry different padding kinds, among the
// dimensions of one tensor. `what` names it ("tensor 'a'", "the stream after fetch").
void check_digits(const std::vector<const Mapping*>& parts, const AxisTable& axes,
                  const SourceLocation& where, const std::string& what, Diagnostics& diagnostics);

}  // namespace rngdsim
