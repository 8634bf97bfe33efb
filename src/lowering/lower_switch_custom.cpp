// SPDX-License-Identifier: Apache-2.0
// A custom broadcast: ring size and snoop bitmap follow from the mappings.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "lowering/lower_switch.h"
#include "support/text.h"

namespace rngdsim {
namespace {

bool same_digit(const Node& a, const Node& b) {
  return a.kind == Node::Kind::kDigit && b.kind == Node::Kind::kDigit && a.axis == b.axis &&
         a.stride == b.stride;
}

bool same_term(const Node& a, const Node& b) {
  if (a.kind == Node::Kind::kDigit) return same_digit(a, b) && a.size == b.size;
  return a == b;
}

// The position of a term in a list; nothing where it is not there.
std::optional<size_t> term_in(const std::vector<Node>& terms, const Node& term) {
  for (size_t i = 0; i < terms.size(); ++i) {
    if (same_term(terms[i], term)) return i;
  }
  return std::nullopt;
}

// The digits of a position, a value a term.
std::vector<uint64_t> digits_at(const std::vector<Node>& terms, uint64_t position) {
  std::vector<uint64_t> digits(terms.size());
  for (size_t i = terms.size(); i-- > 0;) {
    digits[i] = position % terms[i].size;
    position /= terms[i].size;
  }
  return digits;
}

class CustomSwitch {
 public:
  CustomSwitch(const StreamShape& in, const SwitchStage& stage, const LowerScope& scope)
      : in_(in), stage_(stage), scope_(scope) {}

  std::optional<SwitchForm> lower() {
    if (!stage_.slice) {
      error(stage_.where, "custom_broadcast needs OutSlice: the snoop bitmap follows from it",
            "slice: \"...\"");
      return std::nullopt;
    }
    form_.slice = stage_.slice->mapping;
    cut_terms();
    const bool ring = find_ring();
    const bool slice = check_slice_terms();
    const bool time = find_moved();
    if (!ring || !slice || !time) return std::nullopt;
    derive_snoop();
    if (!check_by_enumeration()) return std::nullopt;
    form_.config.load_cycles = scope_.limits.switch_bitmap_load;
    return std::move(form_);
  }

 private:
  bool error(const SourceLocation& where, const std::string& message,
             const std::string& hint = "") const {
    return switch_error(scope_, where, message, hint);
  }
  std::string text(const Mapping& mapping) const { return "'" + scope_.text(mapping) + "'"; }
  std::string text(const Node& term) const { return text(Mapping({term})); }
  const SourceLocation& time_where() const {
    return stage_.time ? stage_.time->where : stage_.where;
  }

  void cut_terms() {
    std::vector<const Mapping*> all = {&in_.slice, &in_.time, &form_.slice};
    if (stage_.time) all.push_back(&stage_.time->mapping);
    cuts_ = cuts_of(all);
    sources_ = refined(in_.slice.nodes(), cuts_);
    routers_ = refined(form_.slice.nodes(), cuts_);
    times_ = refined(in_.time.nodes(), cuts_);
  }

  // The smallest sub-rings outside of which Slice stays as it is.
  bool find_ring() {
    const uint64_t slices = in_.slice.size();
    uint64_t ring = 1;
    for (; ring < slices; ring *= 2) {
      if (ring == 1 ? scope_.same(in_.slice, form_.slice) : same_outside(ring)) break;
    }
    form_.config.ring_size = ring;
    const auto& given = stage_.decl.ring_size;
    if (!given || given->value == ring) return true;
    return error(given->where,
                 fmt::format("ring_size is {}, but Slice {} and OutSlice {} differ inside of the "
                             "innermost {} slices: the ring size is {}",
                             given->value, text(in_.slice), text(form_.slice), ring, ring),
                 "leave ring_size out, or write the one derived");
  }
  bool same_outside(uint64_t ring) const {
    const auto in = divide(in_.slice, ring, scope_);
    const auto out = divide(form_.slice, ring, scope_);
    return in && out && scope_.same(in->first, out->first);
  }

  // Each term of OutSlice is one of Slice, or a new broadcast.
  bool check_slice_terms() {
    bool good = true;
    for (size_t i = 0; i < routers_.size(); ++i) {
      const Node& term = routers_[i];
      if (term_in(sources_, term) || term.kind == Node::Kind::kBroadcast) continue;
      if (term.kind != Node::Kind::kDigit) {
        good =
            error(stage_.slice->where,
                  fmt::format("the term {} of OutSlice is no single digit of an axis", text(term)),
                  "let every term be a digit of Slice or a broadcast");
        continue;
      }
      good = check_broadcast(term, i) && good;
    }
    return check_promised_slots() && good;
  }

  bool check_broadcast(const Node& term, size_t at) const {
    if (!check_new_axis(in_, term.axis, stage_.slice->where, scope_)) return false;
    const std::string& axis = scope_.axes.name(term.axis);
    if (term.padded) {
      return error(
          stage_.slice->where,
          fmt::format("the broadcast axis {} in OutSlice is padded, {}: {} of {} positions", axis,
                      text(term), term.live, term.size),
          "a custom broadcast reaches every position: choose an axis of that size");
    }
    for (size_t before = 0; before < at; ++before) {
      const Node& other = routers_[before];
      if (other.kind != Node::Kind::kDigit || other.axis != term.axis) continue;
      const Node& low = other.stride < term.stride ? other : term;
      const Node& high = other.stride < term.stride ? term : other;
      if (high.stride >= low.stride * low.size) continue;  // two digits of one broadcast
      return error(stage_.slice->where,
                   fmt::format("the broadcast axis {} stands twice in OutSlice {}: {} and {}", axis,
                               text(form_.slice), text(other), text(term)),
                   "give each broadcast an axis of its own");
    }
    return true;
  }

  // A slot of slices that are promised zero, or never touched, may not take a broadcast.
  bool check_promised_slots() const {
    bool good = true;
    for (const Node& term : sources_) {
      if (!term.padded || term.pad == PadKind::kTop || term_in(routers_, term)) continue;
      good = error(stage_.slice->where,
                   fmt::format("OutSlice {} broadcasts onto {} of Slice, whose padding '{}' takes "
                               "none",
                               text(form_.slice), text(term), symbol(term.pad)),
                   "pad Slice with '#'");
    }
    return good;
  }

  // ---- OutTime is Time, then what moves out of Slice --------------------------------------------

  bool find_moved() {
    if (!stage_.time) {
      for (const Node& term : sources_) {
        if (term.kind == Node::Kind::kDigit && !term_in(routers_, term)) moved_.push_back(term);
      }
      form_.time = without_promises_behind_time();
      return true;
    }
    form_.time = stage_.time->mapping;
    const uint64_t size = form_.time.size(), in = in_.time.size();
    const uint64_t inner = size % in == 0 ? size / in : 0;
    const auto parts = inner == 1   ? std::optional(std::pair{form_.time, Mapping()})
                       : inner == 0 ? std::nullopt
                                    : divide(form_.time, inner, scope_);
    if (!parts || !scope_.same(parts->first, in_.time)) return explain_time();
    moved_ = refined(parts->second.nodes(), cuts_);
    if (!check_moved()) return false;
    const Mapping made = without_promises_behind_time();
    return promises_no_zero(*stage_.time, made, "switch", "OutTime", scope_);
  }
  Mapping without_promises_behind_time() const {
    return Mapping::concat({in_.time, without_promises(Mapping(moved_))});
  }

  // The term of Slice that a term of OutTime is, in whole or in part.
  std::optional<size_t> source_of(const Node& term) const {
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (same_digit(sources_[i], term) && term.size <= sources_[i].size) return i;
    }
    return std::nullopt;
  }

  bool check_moved() const {
    std::optional<size_t> before;
    for (const Node& term : moved_) {
      const auto source = source_of(term);
      if (!source) return no_source(term);
      if (term_in(routers_, sources_[*source])) {
        return error(time_where(),
                     fmt::format("{} moves to OutTime and stays in OutSlice {}", text(term),
                                 text(form_.slice)),
                     "a broadcast axis takes its place in OutSlice");
      }
      if (before && *source <= *before) {
        return error(time_where(),
                     fmt::format("{} follows {} in OutTime, but comes before it in Slice {}",
                                 text(term), text(sources_[*before]), text(in_.slice)),
                     "what moves to Time keeps its order: a router holds one packet and cannot "
                     "put others before it");
      }
      before = source;
    }
    return true;
  }

  bool no_source(const Node& term) const {
    return error(time_where(),
                 fmt::format("the term {} of OutTime is neither in Time {} nor in Slice {}",
                             text(term), text(in_.time), text(in_.slice)));
  }

  // Why OutTime does not begin with Time.
  bool explain_time() const {
    const std::vector<Node> terms = refined(form_.time.nodes(), cuts_);
    std::optional<Node> moved;
    for (const Node& term : terms) {
      const bool of_time = term_in(times_, term).has_value();
      if (!of_time && !source_of(term)) return no_source(term);
      if (of_time && moved) {
        return error(time_where(),
                     fmt::format("{} moves from Slice to Time, but stands outside of {} in OutTime "
                                 "{}",
                                 text(*moved), text(term), text(form_.time)),
                     "what moves to Time is innermost: other slices' data arrive last");
      }
      if (!of_time) moved = term;
    }
    return error(
        time_where(),
        fmt::format("OutTime {} (size {}) does not begin with Time {} (size {})", text(form_.time),
                    group_digits(form_.time.size()), text(in_.time), group_digits(in_.time.size())),
        "a custom broadcast carries Time unchanged");
  }

  // ---- The snoop bitmap -------------------------------------------------------------------------

  // Term by term: the source of a router and a position of what moves, or nothing where either is
  // padding. What a source has besides (replicas, padding) is its position 0.
  std::optional<uint64_t> source_at(uint64_t router, uint64_t moved) const {
    const std::vector<uint64_t> place = digits_at(routers_, router);
    const std::vector<uint64_t> move = digits_at(moved_, moved);
    for (size_t i = 0; i < routers_.size(); ++i) {
      if (place[i] >= routers_[i].live) return std::nullopt;
    }
    uint64_t source = 0;
    for (size_t i = 0; i < sources_.size(); ++i) {
      uint64_t digit = 0;
      if (const auto kept = term_in(routers_, sources_[i])) {
        digit = place[*kept];
      } else {
        for (size_t k = 0; k < moved_.size(); ++k) {
          if (same_digit(moved_[k], sources_[i])) digit = move[k];
        }
      }
      if (digit >= sources_[i].live) return std::nullopt;
      source = source * sources_[i].size + digit;
    }
    return source;
  }

  // Of the first sub-ring; all are alike, since outside of them nothing changes.
  void derive_snoop() {
    SwitchConfig& config = form_.config;
    config.round_out = volume(moved_);
    config.packet_slot = {0};
    config.source_slot.assign(config.ring_size, 0);
    config.snoop.resize(config.ring_size);
    for (uint64_t router = 0; router < config.ring_size; ++router) {
      std::vector<uint32_t>& sources = config.snoop[router];
      for (uint64_t moved = 0; moved < config.round_out; ++moved) {
        const auto source = source_at(router, moved);
        if (!source || *source >= config.ring_size) continue;
        sources.push_back(static_cast<uint32_t>(*source));
        config.source_slot[*source] = moved;
      }
      std::sort(sources.begin(), sources.end());
    }
  }

  // Every router of the cluster against the cells of the mappings: it takes exactly the sources
  // that hold what its places in OutSlice and OutTime ask for, and no element is left behind.
  bool check_by_enumeration() const {
    const SwitchConfig& config = form_.config;
    const Mapping moved(moved_);
    std::set<std::vector<std::pair<AxisId, uint64_t>>> taken;
    for (uint64_t slice = 0; slice < in_.slice.size(); ++slice) {
      const uint64_t router = slice % config.ring_size, first = slice - router;
      std::vector<const uint32_t*> source_of_place(config.round_out, nullptr);
      for (const uint32_t& source : config.snoop[router]) {
        source_of_place[config.source_slot[source]] = &source;
      }
      for (uint64_t place = 0; place < config.round_out; ++place) {
        const uint32_t* source = source_of_place[place];
        const Cell wanted = wanted_at(slice, place, moved);
        if (!wanted.live && source == nullptr) continue;
        const Cell sent = source == nullptr ? Cell{false, PadKind::kTop, {}}
                                            : in_.slice.cell(first + *source, scope_.axes);
        if (sent.live) taken.insert(sent.index);
        if (wanted.live == sent.live && wanted.index == sent.index) continue;
        return error(
            stage_.where,
            fmt::format("slice {} of OutSlice {} should get {} at position {} of what moves "
                        "to Time, which no slice of its ring of {} holds",
                        slice, text(form_.slice), to_string(wanted, scope_.axes), place,
                        config.ring_size),
            "write every term as a digit of its axis");
      }
    }
    return check_dropped(taken);
  }

  // The cell that a router needs, without broadcast axes.
  Cell wanted_at(uint64_t slice, uint64_t place, const Mapping& moved) const {
    std::vector<uint64_t> values(scope_.axes.count(), 0);
    Cell cell;
    cell.live =
        form_.slice.accumulate(slice, values.data()) && moved.accumulate(place, values.data());
    if (!cell.live) return cell;
    const std::vector<AxisId> held = axes_of({&in_.slice}, scope_.axes);
    for (const AxisId axis : held) {
      if (values[axis] >= scope_.axes.size(axis)) cell.live = false;
      if (values[axis] != 0) cell.index.emplace_back(axis, values[axis]);
    }
    if (!cell.live) cell.index.clear();
    return cell;
  }

  bool check_dropped(const std::set<std::vector<std::pair<AxisId, uint64_t>>>& taken) const {
    for (uint64_t slice = 0; slice < in_.slice.size(); ++slice) {
      const Cell cell = in_.slice.cell(slice, scope_.axes);
      if (!cell.live || taken.count(cell.index) > 0) continue;
      return error(time_where(),
                   fmt::format("the values at {} (slice {} of Slice {}) are in neither OutSlice {} "
                               "nor OutTime {}",
                               to_string(cell, scope_.axes), slice, text(in_.slice),
                               text(form_.slice), text(form_.time)),
                   "only padding may be left behind");
    }
    return true;
  }

  const StreamShape& in_;
  const SwitchStage& stage_;
  const LowerScope& scope_;
  SwitchForm form_;
  DigitCuts cuts_;
  std::vector<Node> sources_, routers_, times_;  // Slice, OutSlice, Time
  std::vector<Node> moved_;                      // what of OutTime comes from Slice
};

}  // namespace

std::optional<SwitchForm> lower_custom_switch(const StreamShape& in, const SwitchStage& stage,
                                              const LowerScope& scope) {
  return CustomSwitch(in, stage, scope).lower();
}

}  // namespace rngdsim
