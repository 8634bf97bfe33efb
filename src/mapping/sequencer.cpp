// SPDX-License-Identifier: Apache-2.0
#include "mapping/sequencer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "support/text.h"

namespace rngdsim {
namespace {

// A longer stream than this is a mistake; its positions would not fit 64 bits.
constexpr uint64_t kMaxPositions = uint64_t{1} << 62;

// outer.stride == inner.size * inner.stride, without overflow.
bool contiguous(const SequencerEntry& outer, const SequencerEntry& inner) {
  const auto size = static_cast<int64_t>(inner.size);
  return outer.stride % size == 0 && outer.stride / size == inner.stride;
}

// A digit of the buffer: indices stride * (0 .. live-1) of its axis lie `step` elements apart.
struct BufferDigit {
  AxisId axis;
  uint64_t stride;
  uint64_t live;
  uint64_t step;
  uint64_t whole;  // positions before it was cut by `=`: the indices between are nowhere

  uint64_t end() const { return stride * live; }
  uint64_t whole_end() const { return stride * whole; }
};

// Part of an axis that one stream term covers: position p stands for index p * stride.
struct StreamDigit {
  AxisId axis;
  uint64_t stride;
  uint64_t live;
};

// Part of a stream digit that one loop walks. Its indices lie in the buffer digit `place`, or
// (`held` false) in the gap behind it; place is nullptr in the gap below the lowest digit.
struct Piece {
  AxisId axis;
  const BufferDigit* place;
  bool held;
  uint64_t reach;  // largest index it adds
};

class Derivation {
 public:
  Derivation(const Mapping& buffer, SequencerUse use, const AxisTable& axes,
             SequencerResult& result)
      : buffer_mapping_(buffer), use_(use), axes_(axes), result_(result) {
    collect_buffer(buffer.nodes(), 1);
    std::stable_sort(buffer_.begin(), buffer_.end(),
                     [](const BufferDigit& a, const BufferDigit& b) {
                       return a.axis != b.axis ? a.axis < b.axis : a.stride < b.stride;
                     });
    join_buffer();
  }

  void run(const Mapping& time, const Mapping& packet) {
    std::vector<Node> terms = time.nodes();
    terms.insert(terms.end(), packet.nodes().begin(), packet.nodes().end());
    for (size_t i = 0; i < terms.size(); ++i) {
      std::vector<SequencerEntry> entries;
      term_entries(terms[i], i + 1 == terms.size(), entries);
      for (const SequencerEntry& entry : entries) {
        if (entry.size > 1) result_.unmerged.push_back(entry);
      }
    }
    check_stream_digits();
    if (use_ == SequencerUse::kRead) check_all_axes_read();
    if (result_.problems.empty()) check_carries();
  }

 private:
  void problem(std::string message, std::string hint = "") {
    result_.problems.push_back({std::move(message), std::move(hint)});
  }

  std::string term_text(const Node& node) const { return Mapping({node}).text(axes_); }
  std::string buffer_text() const { return buffer_mapping_.text(axes_); }

  void collect_buffer(const std::vector<Node>& nodes, uint64_t step) {
    for (size_t i = nodes.size(); i-- > 0;) {
      const Node& node = nodes[i];
      switch (node.kind) {
        case Node::Kind::kDigit:
          if (node.live > 1) {
            buffer_.push_back(
                {node.axis, node.stride, node.live, step, std::max(node.live, node.cut_from)});
          }
          break;
        case Node::Kind::kBroadcast:
          if (node.live > 1 && use_ == SequencerUse::kWrite) {
            problem(
                fmt::format("the destination '{}' contains a broadcast of {}; a write may not "
                            "broadcast, so 1 is allowed",
                            buffer_text(), group_digits(node.live)));
          }
          break;
        case Node::Kind::kPadded:
          collect_buffer(node.inner, step);
          break;
        case Node::Kind::kStrided:
        case Node::Kind::kFirst:
          problem(fmt::format("the term '{}' of the buffer cuts a pair; no stride describes it",
                              term_text(node)),
                  "cut it at the boundary of one of its axes");
          break;
      }
      step *= node.size;
    }
  }

  // Digits that lie next to each other read as one: `A / 3, A % 3` may be walked as `A / 2, A % 2`.
  void join_buffer() {
    std::vector<BufferDigit> joined;
    for (const BufferDigit& digit : buffer_) {
      if (!joined.empty() && joined.back().axis == digit.axis) {
        BufferDigit& below = joined.back();
        // What `=` cut off ends where the next digit begins (`A = 4, A / 4` lacks nothing).
        below.whole = std::max(below.live, std::min(below.whole, digit.stride / below.stride));
        if (below.end() == digit.stride && below.step * below.live == digit.step) {
          below.whole = below.live * digit.whole;
          below.live *= digit.live;
          continue;
        }
      }
      joined.push_back(digit);
    }
    buffer_ = std::move(joined);
  }

  // Appends the loops of one term, outermost first.
  void term_entries(const Node& node, bool innermost, std::vector<SequencerEntry>& entries) {
    switch (node.kind) {
      case Node::Kind::kBroadcast:
        if (node.live == 1) {
          // Pure padding: nothing to reach; innermost it reads on past the live part.
          entries.push_back({node.size, innermost ? 1 : 0});
        } else {
          broadcast(node, node.size, entries);
        }
        break;
      case Node::Kind::kDigit:
        digit_entries(node, innermost, entries);
        break;
      case Node::Kind::kPadded:
      case Node::Kind::kStrided:
      case Node::Kind::kFirst:
        group_entry(node, entries);
        break;
    }
  }

  void broadcast(const Node& node, uint64_t size, std::vector<SequencerEntry>& entries) {
    if (use_ == SequencerUse::kWrite) {
      problem(
          fmt::format("{} positions of '{}' are not in the destination '{}'; a write may not "
                      "broadcast, so 1 is allowed",
                      group_digits(size), term_text(node), buffer_text()));
    }
    entries.push_back({size, 0});
  }

  // A suffix on a pair: its content must come to one loop, which is padded, cut or strided.
  void group_entry(const Node& node, std::vector<SequencerEntry>& entries) {
    const size_t problems = result_.problems.size();
    std::vector<SequencerEntry> inner;
    for (const Node& part : node.inner) term_entries(part, false, inner);
    join(inner);
    if (inner.size() > 1) {
      if (result_.problems.size() == problems) {
        problem(fmt::format("the group '{}' takes {} loops over '{}'; it must come to 1",
                            term_text(node), inner.size(), buffer_text()),
                "its axes must lie next to each other in the buffer, in the same order");
      }
      return;
    }
    const uint64_t stride = inner.empty() ? 0 : static_cast<uint64_t>(inner[0].stride);
    const uint64_t every = node.kind == Node::Kind::kStrided ? node.stride : 1;
    entries.push_back({node.size, static_cast<int64_t>(stride * every)});
  }

  // Joins adjacent loops of one term where they are contiguous.
  static void join(std::vector<SequencerEntry>& entries) {
    std::vector<SequencerEntry> joined;
    for (const SequencerEntry& entry : entries) {
      if (entry.size == 1) continue;
      if (!joined.empty() && contiguous(joined.back(), entry)) {
        joined.back() = {joined.back().size * entry.size, entry.stride};
      } else {
        joined.push_back(entry);
      }
    }
    entries = std::move(joined);
  }

  // Walks up the buffer digits that the indices of `node` cross: one loop in each, and one of
  // stride 0 in each gap between them.
  void digit_entries(const Node& node, bool innermost, std::vector<SequencerEntry>& entries) {
    stream_.push_back({node.axis, node.stride, node.live});
    if (node.live == 1) return dead_entry(node, innermost, entries);
    uint64_t stride = node.stride;
    uint64_t size = node.size;
    uint64_t live = node.live;
    std::vector<SequencerEntry> parts;  // innermost first
    while (size > 1) {
      const BufferDigit* below = digit_below(node.axis, stride);
      const BufferDigit* above = digit_above(node.axis, stride);
      const bool held = below != nullptr && stride < below->end();
      if (!held && below != nullptr && stride < below->whole_end()) return missing(node, *below);
      // The indices of this digit or gap are multiples of `unit`, below `end` unless `open`.
      uint64_t unit = 1;
      if (below != nullptr) unit = held ? below->stride : below->whole_end();
      if (stride % unit != 0) return incompatible(node);
      const bool open = !held && above == nullptr;
      const int64_t step = held ? static_cast<int64_t>(stride / unit * below->step) : 0;
      uint64_t end = held ? below->end() : (open ? 0 : above->stride);
      uint64_t inside = size;  // positions that lie here
      if (!open && (live - 1) * stride >= end) {
        if (held) {
          // Where no multiple of `stride` falls between this digit and what follows, all is here.
          const uint64_t next =
              below->whole > below->live || above == nullptr ? below->whole_end() : above->stride;
          if (next % stride == 0 && next - stride < end) {
            end = next;
          } else if (below->whole > below->live) {
            return missing(node, *below);
          }
        }
        if (end % stride != 0 || size % (end / stride) != 0) return incompatible(node);
        inside = end / stride;
      }
      if (held) {
        parts.push_back({inside, step});
      } else {
        broadcast(node, inside, parts);
      }
      pieces_.push_back({node.axis, below, held, (std::min(live, inside) - 1) * stride});
      stride *= inside;
      size /= inside;
      live = (live - 1) / inside + 1;
    }
    std::reverse(parts.begin(), parts.end());
    join(parts);
    entries.insert(entries.end(), parts.begin(), parts.end());
  }

  // A digit of which only position 0 is live (`A # 16 / 8`, A = 8): pure padding. It walks on where
  // the digit below it left off, so that the loops of a padded axis stay contiguous, unless that is
  // beyond the end of the buffer.
  void dead_entry(const Node& node, bool innermost, std::vector<SequencerEntry>& entries) {
    const BufferDigit* below = digit_below(node.axis, node.stride);
    int64_t step = innermost ? 1 : 0;
    if (below != nullptr && node.stride % below->stride == 0) {
      const uint64_t factor = node.stride / below->stride;
      if (factor <= buffer_mapping_.size() / below->step) {
        step = static_cast<int64_t>(factor * below->step);
      }
    }
    entries.push_back({node.size, step});
  }

  // Indices that a `=` cut away are not a broadcast.
  void missing(const Node& node, const BufferDigit& digit) {
    problem(fmt::format(
        "'{}' reaches {} = {}, but the buffer '{}' holds {} positions of that digit "
        "(indices below {})",
        term_text(node), axes_.name(node.axis), group_digits((node.live - 1) * node.stride),
        buffer_text(), group_digits(digit.live), group_digits(digit.end())));
  }

  void incompatible(const Node& node) {
    problem(fmt::format("'{}' and the buffer '{}' split axis {} without a common refinement "
                        "(stream digit {} x {}, buffer digits {})",
                        term_text(node), buffer_text(), axes_.name(node.axis), node.live,
                        node.stride, digits_text(node.axis)),
            "let both sides cut the axis at the same places");
  }

  std::string digits_text(AxisId axis) const {
    std::vector<std::string> digits;
    for (const BufferDigit& digit : buffer_) {
      if (digit.axis == axis) digits.push_back(fmt::format("{} x {}", digit.live, digit.stride));
    }
    return fmt::format("{}", fmt::join(digits, ", "));
  }

  // The highest digit of the axis that does not begin above `stride`.
  const BufferDigit* digit_below(AxisId axis, uint64_t stride) const {
    const BufferDigit* below = nullptr;
    for (const BufferDigit& digit : buffer_) {
      if (digit.axis == axis && digit.stride <= stride) below = &digit;
    }
    return below;
  }

  const BufferDigit* digit_above(AxisId axis, uint64_t stride) const {
    for (const BufferDigit& digit : buffer_) {
      if (digit.axis == axis && digit.stride > stride) return &digit;
    }
    return nullptr;
  }

  // Loops add up, digits of a number carry: the pieces that lie in one buffer digit must not add up
  // beyond it, nor those below a digit reach it.
  void check_carries() {
    for (const BufferDigit& digit : buffer_) {
      uint64_t below = 0;
      uint64_t inside = 0;
      for (const Piece& piece : pieces_) {
        if (piece.axis != digit.axis) continue;
        if (piece.held && piece.place == &digit) {
          inside += piece.reach;
        } else if (piece.place == nullptr || piece.place < &digit) {
          below += piece.reach;
        }
      }
      // Beyond the top of the axis nothing lives: these positions overshoot.
      const bool overshoots = digit.end() >= axes_.size(digit.axis);
      if (below < digit.stride && (overshoots || inside <= digit.end() - digit.stride)) continue;
      const bool enters = below >= digit.stride;
      problem(
          fmt::format("terms of the stream add up to {} = {} across the buffer digit {} x {} of "
                      "'{}', which {} {}; the two split the axis without a common refinement",
                      axes_.name(digit.axis), enters ? below : inside, digit.live, digit.stride,
                      buffer_text(), enters ? "begins at" : "ends at",
                      enters ? digit.stride : digit.end() - digit.stride),
          "let both sides cut the axis at the same places");
      return;
    }
  }

  void check_stream_digits() {
    std::stable_sort(stream_.begin(), stream_.end(),
                     [](const StreamDigit& a, const StreamDigit& b) {
                       return a.axis != b.axis ? a.axis < b.axis : a.stride < b.stride;
                     });
    uint64_t reach = 0;
    for (size_t i = 0; i < stream_.size(); ++i) {
      if (i == 0 || stream_[i - 1].axis != stream_[i].axis) reach = 0;
      if (stream_[i].live > 1 && stream_[i].stride <= reach) {
        problem(
            fmt::format("digits of axis {} appear twice in the stream (a step of {} lies within "
                        "the {} indices below it)",
                        axes_.name(stream_[i].axis), stream_[i].stride, reach + 1));
        return;
      }
      reach += (stream_[i].live - 1) * stream_[i].stride;
    }
  }

  void check_all_axes_read() {
    for (size_t i = 0; i < buffer_.size(); ++i) {
      const AxisId axis = buffer_[i].axis;
      if (i > 0 && buffer_[i - 1].axis == axis) continue;
      const bool read = std::any_of(stream_.begin(), stream_.end(),
                                    [&](const StreamDigit& s) { return s.axis == axis; });
      if (!read) {
        problem(fmt::format("axis {} of the buffer '{}' appears 0 times in the stream, at least 1 "
                            "is required",
                            axes_.name(axis), buffer_text()),
                "every axis of the input must be read; a resize (= n) may drop positions");
      }
    }
  }

  const Mapping& buffer_mapping_;
  SequencerUse use_;
  const AxisTable& axes_;
  SequencerResult& result_;
  std::vector<BufferDigit> buffer_;  // by axis, ascending strides
  std::vector<StreamDigit> stream_;
  std::vector<Piece> pieces_;
};

std::string entries_text(const std::vector<SequencerEntry>& entries) {
  std::vector<std::string> texts;
  for (const SequencerEntry& entry : entries) {
    texts.push_back(fmt::format("{} : {}", entry.size, entry.stride));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// Merges every adjacent contiguous pair, innermost first, never past max_size.
std::vector<SequencerEntry> merged(const std::vector<SequencerEntry>& entries, uint64_t max_size) {
  std::vector<SequencerEntry> result;  // innermost first
  for (size_t i = entries.size(); i-- > 0;) {
    const SequencerEntry& outer = entries[i];
    if (!result.empty()) {
      SequencerEntry& inner = result.back();
      if (contiguous(outer, inner) && outer.size <= max_size / inner.size) {
        inner.size *= outer.size;
        continue;
      }
    }
    result.push_back(outer);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace

uint64_t SequencerConfig::positions() const {
  uint64_t product = 1;
  for (const SequencerEntry& entry : entries) product *= entry.size;
  return product;
}

uint64_t SequencerConfig::contiguous_run() const {
  if (entries.empty()) return 1;
  const SequencerEntry& innermost = entries.back();
  if (innermost.stride != 0 && innermost.stride != 1) return 1;
  uint64_t run = innermost.size;
  for (size_t i = entries.size() - 1; i > 0; --i) {
    if (!contiguous(entries[i - 1], entries[i])) break;
    run *= entries[i - 1].size;
  }
  return run;
}

uint64_t SequencerConfig::max_access_size() const {
  return std::gcd(packet_size, contiguous_run());
}

int64_t SequencerConfig::offset(uint64_t p) const {
  int64_t sum = 0;
  for (size_t i = entries.size(); i-- > 0;) {
    sum += static_cast<int64_t>(p % entries[i].size) * entries[i].stride;
    p /= entries[i].size;
  }
  return sum;
}

std::string SequencerConfig::text() const {
  return fmt::format("{} : {}", entries_text(entries), packet_size);
}

SequencerResult derive_sequencer(const Mapping& buffer, const Mapping& time, const Mapping& packet,
                                 SequencerUse use, const AxisTable& axes,
                                 const SequencerLimits& limits) {
  SequencerResult result;
  if (time.size() > kMaxPositions / packet.size()) {
    result.problems.push_back({fmt::format("a stream of {} x {} positions; at most {} are possible",
                                           group_digits(time.size()), group_digits(packet.size()),
                                           group_digits(kMaxPositions)),
                               ""});
    return result;
  }
  Derivation(buffer, use, axes, result).run(time, packet);
  result.config.packet_size = packet.size();
  result.config.entries = result.unmerged;
  if (result.unmerged.size() > limits.max_entries) {
    result.config.entries = merged(result.unmerged, limits.max_size);
  }
  if (!result.problems.empty()) return result;
  if (result.config.entries.size() > limits.max_entries) {
    result.problems.push_back(
        {fmt::format("{} loops after merging, the sequencer has {}: {}",
                     result.config.entries.size(), limits.max_entries,
                     entries_text(result.config.entries)),
         "order the stream more like the buffer, so that neighbouring loops merge"});
  }
  for (const SequencerEntry& entry : result.config.entries) {
    if (entry.size > limits.max_size) {
      result.problems.push_back({fmt::format("loop {} : {} iterates more than {} times", entry.size,
                                             entry.stride, group_digits(limits.max_size)),
                                 "split the axis, e.g. A / 65536, A % 65536"});
    }
  }
  return result;
}

// ---------------------------------------------------------------------------------------------

std::vector<SequencerEntry> access_loops(const SequencerConfig& config, uint64_t access_size) {
  std::vector<SequencerEntry> entries = config.entries;
  if (access_size > 1) {
    // The contiguous run becomes one loop of whole accesses.
    SequencerEntry run = entries.back();
    entries.pop_back();
    while (!entries.empty() && contiguous(entries.back(), run)) {
      run.size *= entries.back().size;
      entries.pop_back();
    }
    entries.push_back({run.size / access_size, run.stride * static_cast<int64_t>(access_size)});
  }
  std::vector<SequencerEntry> loops;
  for (const SequencerEntry& entry : entries) {
    if (entry.size > 1) loops.push_back(entry);
  }
  return loops;
}

SequencerWalker::SequencerWalker(const SequencerConfig& config, uint64_t access_size)
    : accesses_(config.positions() / access_size),
      replicated_(access_size > 1 && config.entries.back().stride == 0) {
  const std::vector<SequencerEntry> loops = access_loops(config, access_size);
  for (size_t i = loops.size(); i-- > 0;) loops_.push_back({loops[i].size, loops[i].stride, 0});
}

void SequencerWalker::next() {
  ++index_;
  for (Loop& loop : loops_) {
    if (++loop.count < loop.size) {
      offset_ += loop.stride;
      return;
    }
    offset_ -= static_cast<int64_t>(loop.size - 1) * loop.stride;
    loop.count = 0;
  }
}

}  // namespace rngdsim
