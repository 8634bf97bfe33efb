// SPDX-License-Identifier: Apache-2.0
#include "lowering/lower_dma.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "lowering/dma_pieces.h"
#include "support/input_limits.h"
#include "support/text.h"

namespace rngdsim {
namespace {

constexpr uint64_t kDmUnit = 8;  // bytes: what data memory is written in [B]

// A loop while it is put in order.
struct OrderedLoop {
  uint64_t size = 1;
  uint64_t read_step = 0, write_step = 0;  // bits
  uint64_t index_step = 0;                 // bits, of the index
  std::array<uint64_t, 3> place{};         // ascending: outermost first
  bool in_packet = false;
  Mapping term;
};

uint64_t product_of_sizes(const std::vector<OrderedLoop>& loops) {
  uint64_t size = 1;
  for (const OrderedLoop& loop : loops) size *= loop.size;
  return size;
}

// The largest divisor of `n` that is at most `most` and a multiple of `unit` where n is.
uint64_t largest_divisor(uint64_t n, uint64_t most, uint64_t unit) {
  for (uint64_t d = std::min(n, most); d > 0; --d) {
    if (n % d == 0 && (n % unit != 0 || d % unit == 0)) return d;
  }
  return n;
}

class DmaLowering {
 public:
  DmaLowering(const DmaMoveRequest& request, const LowerScope& scope)
      : request_(request),
        scope_(scope),
        limits_(scope.limits),
        from_(request.from),
        to_(request.to),
        bits_(static_cast<uint64_t>(memory_bits(request.to.dtype))),
        pieces_(request.from, request.to, request.indexed, request.where, scope) {}

  std::optional<DmaConfig> lower() {
    std::vector<const Mapping*> order;
    if (request_.time) order.push_back(&request_.time->mapping);
    if (request_.packet) order.push_back(&request_.packet->mapping);
    if (!pieces_.find(order) || !check_order()) return std::nullopt;
    std::vector<DmaBox> boxes;
    if (!pieces_.boxes(DmaPadding::kLeave, boxes, extended_)) return std::nullopt;
    // Padding is overwritten only where that makes fewer segments, or possible ones.
    for (const DmaPadding padding : {DmaPadding::kFewer, DmaPadding::kFill, DmaPadding::kLeave}) {
      Diagnostics tried;
      LowerScope scope{scope_.axes, scope_.limits, tried};
      const auto config = lower_with(padding, scope);
      if (!config || !fits_memory(*config)) continue;
      if (!keeps_units(*config, scope)) {
        if (padding != DmaPadding::kFill) continue;
        scope_.diagnostics.append(tried);  // what padding cannot heal
        return std::nullopt;
      }
      scope_.diagnostics.append(tried);
      warn(*config);
      return config;
    }
    const auto config = lower_with(DmaPadding::kLeave, scope_);
    if (config) keeps_units(*config, scope_);
    return std::nullopt;
  }

 private:
  static bool fail(const LowerScope& scope, const SourceLocation& where, const std::string& message,
                   const std::string& hint = "") {
    scope.diagnostics.error(where, "dma: " + message, hint);
    return false;
  }
  const SourceLocation& order_place() const {
    return request_.packet ? request_.packet->where
           : request_.time ? request_.time->where
                           : request_.where;
  }
  bool is_dm(const TensorVersion& tensor) const { return tensor.memory == MemoryKind::kDm; }
  static bool is_hbm(const TensorVersion& tensor) { return tensor.memory == MemoryKind::kHbm; }
  bool has_dm() const { return is_dm(from_) || is_dm(to_); }

  // Positions in Slice a step of the piece moves, on the side whose engines do the work.
  uint64_t local_slices(const DmaPiece& piece) const {
    return is_dm(from_) ? piece.read_slices : is_dm(to_) ? piece.write_slices : 0;
  }

  // ---- The order that the kernel file gives ---------------------------------------------------

  bool check_order() {
    if (!request_.time && !request_.packet) return true;
    bool good = true;
    std::vector<const Mapping*> order;
    for (const auto& [name, declared] :
         {std::pair{"Time", &request_.time}, std::pair{"Packet", &request_.packet}}) {
      if (!*declared) continue;
      order.push_back(&(*declared)->mapping);
      for (const Node& node : (*declared)->mapping.nodes()) {
        good = check_term(node, name, (*declared)->where) && good;
      }
    }
    const size_t before = scope_.diagnostics.error_count();
    check_digits(order, scope_.axes, order_place(), "dma: Time and Packet", scope_.diagnostics);
    return good && scope_.diagnostics.error_count() == before;
  }

  bool check_term(const Node& node, const char* name, const SourceLocation& where) {
    const std::string text = scope_.text(Mapping({node}));
    if (node.kind != Node::Kind::kDigit) {
      return fail(scope_, where,
                  fmt::format("{} has the term '{}', which is no part of an axis", name, text),
                  "name the axes of the destination and parts of them");
    }
    uint64_t held = 1;
    const uint64_t end = node.stride * node.size;
    for (const DmaPiece& piece : pieces_.pieces()) {
      if (!contains(node, piece)) continue;
      held *= piece.size;
      const bool inside = piece.stride * piece.size <= end || end >= node.axis_size;
      if (inside && piece.stride % node.stride == 0) continue;
      return fail(
          scope_, where,
          fmt::format("{} has '{}', which cuts '{}' of the destination '{}'; the "
                      "two split the axis without a common refinement",
                      name, text, scope_.text(term(piece, piece.stride, piece.size)), to_.name),
          "let both cut the axis at the same places");
    }
    if (held >= node.live) return true;
    return fail(scope_, where,
                fmt::format("{} has '{}' with {} positions; the destination '{}' holds {} of them",
                            name, text, group_digits(node.live), to_.name, group_digits(held)),
                "name the axes of the destination and parts of them");
  }

  static bool contains(const Node& node, const DmaPiece& piece) {
    return piece.axis == node.axis && node.kind == Node::Kind::kDigit &&
           piece.stride >= node.stride && piece.stride < node.stride * node.size;
  }

  // The place of the first term of a mapping that has the piece.
  static std::optional<uint64_t> place_in(const std::optional<Declared>& order,
                                          const DmaPiece& piece) {
    if (!order) return std::nullopt;
    const std::vector<Node>& nodes = order->mapping.nodes();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (contains(nodes[i], piece)) return i;
    }
    return std::nullopt;
  }

  // ---- Segments -------------------------------------------------------------------------------

  std::optional<DmaConfig> lower_with(DmaPadding padding, const LowerScope& scope) {
    std::vector<DmaBox> boxes;
    extended_ = false;
    if (!pieces_.boxes(padding, boxes, extended_)) return std::nullopt;
    if (padding == DmaPadding::kFill && !extended_) return std::nullopt;
    DmaConfig config;
    uint64_t largest = 0;
    for (const DmaBox& box : boxes) {
      std::vector<DmaBox> parts;
      if (is_dm(from_) || is_dm(to_)) {
        by_engine(box, 0, first_slice(box), parts);
      } else {
        parts.push_back(box);
      }
      for (const DmaBox& part : parts) {
        if (config.segments.size() >= kMaxDmaSegments) {
          fail(scope, request_.where,
               fmt::format("more than {} segments are needed", group_digits(kMaxDmaSegments)),
               kLimitHint);
          return std::nullopt;
        }
        if (!add_segment(part, largest, config, scope)) return std::nullopt;
      }
    }
    if (!choose_engines(config, scope)) return std::nullopt;
    std::stable_sort(config.segments.begin(), config.segments.end(),
                     [](const auto& a, const auto& b) { return a.engine < b.engine; });
    const uint64_t live =
        count_live({&to_.chip, &to_.cluster, &to_.slice, &to_.element}, scope.axes);
    config.bytes = (live * bits_ + 7) / 8;
    if (request_.indexed && request_.indexed->scatter) {  // as many rows as the index has
      config.bytes = 0;
      for (const DmaConfig::Segment& segment : config.segments) {
        config.bytes += segment.packets() * segment.packet_bytes;
      }
    }
    return config;
  }

  // Pieces that move between slices on the local side, the widest step first.
  std::vector<size_t> local_pieces() const {
    std::vector<size_t> local;
    for (size_t i = 0; i < pieces_.pieces().size(); ++i) {
      if (local_slices(pieces_.pieces()[i]) != 0) local.push_back(i);
    }
    std::stable_sort(local.begin(), local.end(), [this](size_t a, size_t b) {
      return local_slices(pieces_.pieces()[a]) > local_slices(pieces_.pieces()[b]);
    });
    return local;
  }

  uint64_t first_slice(const DmaBox& box) const {
    uint64_t slice = is_dm(from_) ? from_.first_slice : is_dm(to_) ? to_.first_slice : 0;
    for (size_t i = 0; i < box.size(); ++i) {
      slice += box[i].low * local_slices(pieces_.pieces()[i]);
    }
    return slice;
  }

  uint64_t engine_of(uint64_t slice) const { return slice / (2 * limits_.dmn_slices); }

  // Cuts a box where the slices (the first of which is `slice`) leave a pair of DMNs.
  void by_engine(DmaBox box, size_t k, uint64_t slice, std::vector<DmaBox>& parts) const {
    const std::vector<size_t> local = local_pieces();
    uint64_t rest = 0;  // reach of the pieces behind k
    for (size_t j = k + 1; j < local.size(); ++j) {
      rest += (box[local[j]].count() - 1) * local_slices(pieces_.pieces()[local[j]]);
    }
    if (k == local.size()) {
      parts.push_back(std::move(box));
      return;
    }
    const uint64_t step = local_slices(pieces_.pieces()[local[k]]);
    const DmaRange all = box[local[k]];
    const auto whole = [&](uint64_t p, uint64_t engine) {
      const uint64_t first = slice + (p - all.low) * step;
      return engine_of(first) == engine && engine_of(first + rest) == engine;
    };
    for (uint64_t p = all.low; p < all.high && parts.size() <= kMaxDmaSegments;) {
      const uint64_t first = slice + (p - all.low) * step;
      box[local[k]] = {p, p + 1};
      if (!whole(p, engine_of(first))) {
        by_engine(box, k + 1, first, parts);
        ++p;
        continue;
      }
      while (p + 1 < all.high && whole(p + 1, engine_of(first))) ++p;
      box[local[k]].high = ++p;
      parts.push_back(box);
    }
  }

  uint64_t first_bit(const TensorVersion& tensor) const {
    return 8 * (tensor.address + tensor.first_slice * limits_.dm_slice_stride);
  }

  bool add_segment(const DmaBox& box, uint64_t& largest, DmaConfig& config,
                   const LowerScope& scope) {
    DmaConfig::Segment segment;
    uint64_t read = first_bit(from_), write = first_bit(to_);
    uint64_t index = request_.indexed ? 8 * request_.indexed->index.address : 0;
    std::vector<OrderedLoop> loops;
    for (size_t i = 0; i < box.size(); ++i) {
      const DmaPiece& piece = pieces_.pieces()[i];
      read += box[i].low * piece.read_step;
      write += box[i].low * piece.write_step;
      index += box[i].low * piece.index_step;
      if (box[i].count() > 1 && !add_loops(piece, box[i], first_slice(box), loops, scope)) {
        return false;
      }
    }
    std::stable_sort(loops.begin(), loops.end(),
                     [](const auto& a, const auto& b) { return a.place < b.place; });
    std::vector<OrderedLoop> run;
    if (!take_packet(loops, run, scope)) return false;
    const uint64_t elements = product_of_sizes(run);
    segment.engine = has_dm() ? engine_of(first_slice(box)) : 0;
    if (!in_bytes(read, write, loops, elements, scope)) return false;
    segment.read_base = read / 8;
    segment.write_base = write / 8;
    segment.index_base = index / 8;
    segment.packet_bytes = elements * bits_ / 8;
    if (!limit_loops(loops, elements, scope)) return false;
    for (const OrderedLoop& loop : loops) {
      segment.loops.push_back({loop.size, loop.read_step / 8, loop.write_step / 8,
                               scope.text(loop.term), loop.index_step / 8});
    }
    const Mapping packet = concat(run);
    segment.packet_term = scope.text(packet);
    if (segment.packets() * segment.packet_bytes > largest) {
      largest = segment.packets() * segment.packet_bytes;
      config.time = concat(loops);
      config.packet = packet;
    }
    config.segments.push_back(std::move(segment));
    return true;
  }

  static Mapping concat(const std::vector<OrderedLoop>& loops) {
    std::vector<Mapping> parts;
    for (const OrderedLoop& loop : loops) parts.push_back(loop.term);
    return Mapping::concat(parts);
  }

  Mapping term(const DmaPiece& piece, uint64_t stride, uint64_t size) const {
    if (!piece.axis) return Mapping::broadcast(size);
    Node node;
    node.kind = Node::Kind::kDigit;
    node.axis = *piece.axis;
    node.axis_size = scope_.axes.size(*piece.axis);
    node.stride = stride;
    node.size = node.live = size;
    return Mapping({node});
  }

  // The loops of a piece: one, or two where it walks over both DMNs of an engine evenly.
  bool add_loops(const DmaPiece& piece, const DmaRange& range, uint64_t slice,
                 std::vector<OrderedLoop>& loops, const LowerScope& scope) const {
    const auto time = place_in(request_.time, piece), packet = place_in(request_.packet, piece);
    if (piece.axis && !time && !packet && request_.time && request_.packet) {
      return fail(scope, order_place(),
                  fmt::format("neither Time nor Packet has '{}' of the destination '{}'",
                              scope_.text(term(piece, piece.stride, piece.size)), to_.name),
                  "only what differs between engines may be left out");
    }
    OrderedLoop loop;
    loop.size = range.count();
    loop.read_step = piece.read_step;
    loop.write_step = piece.write_step;
    loop.index_step = piece.index_step;
    loop.in_packet = packet || (request_.time && !time && piece.axis) || piece.fill > 1;
    loop.term = term(piece, piece.stride, loop.size);
    const uint64_t slices = local_slices(piece);
    const auto place = [&](uint64_t step) -> std::array<uint64_t, 3> {
      if (packet) return {5, *packet, ~piece.stride};
      if (piece.fill > 1) return {6, 0, 0};  // innermost
      if (loop.in_packet) return {5, pieces_.rank(piece), ~piece.stride};
      if (time) return {4, *time, ~piece.stride};
      const uint64_t kind = step == 0 ? 0 : step < limits_.dmn_slices ? 1 : 2;
      return {kind, pieces_.rank(piece), ~(piece.source ? piece.read_step : piece.write_step)};
    };
    const uint64_t dmn = limits_.dmn_slices;
    const bool both = slices != 0 && dmn % slices == 0 && loop.size % (dmn / slices) == 0 &&
                      loop.size > dmn / slices && slice % dmn == 0 && slices < dmn;
    if (!both || loop.in_packet) {
      loop.place = place(slices);
      loops.push_back(loop);
      return true;
    }
    const uint64_t inside = dmn / slices;
    OrderedLoop outer = loop;
    outer.size = loop.size / inside;
    outer.read_step *= inside;
    outer.write_step *= inside;
    outer.index_step *= inside;
    outer.term = term(piece, piece.stride * inside, outer.size);
    outer.place = place(dmn);
    loop.size = inside;
    loop.term = term(piece, piece.stride, inside);
    loop.place = place(slices);
    loops.push_back(outer);
    loops.push_back(loop);
    return true;
  }

  // ---- The packet -----------------------------------------------------------------------------

  // Takes the loops of the packet out of `loops` into `run`, outermost first.
  bool take_packet(std::vector<OrderedLoop>& loops, std::vector<OrderedLoop>& run,
                   const LowerScope& scope) const {
    const bool given = request_.time || request_.packet;
    uint64_t elements = 1;
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t i = loops.size(); i-- > 0;) {
        const OrderedLoop& loop = loops[i];
        if (loop.read_step != elements * bits_ || loop.write_step != elements * bits_) continue;
        if (given && !loop.in_packet) continue;
        if (loop.index_step != 0) continue;  // each of its steps goes to a row of its own
        elements *= loop.size;
        run.insert(run.begin(), loop);
        loops.erase(loops.begin() + static_cast<ptrdiff_t>(i));
        grown = true;
        break;
      }
    }
    if (given) return check_given_packet(loops, run, elements, scope);
    cut_run(loops, run, elements);
    return true;
  }

  bool check_given_packet(const std::vector<OrderedLoop>& loops,
                          const std::vector<OrderedLoop>& run, uint64_t elements,
                          const LowerScope& scope) const {
    uint64_t all = elements;
    for (const OrderedLoop& loop : loops) {
      if (loop.in_packet) all *= loop.size;
    }
    if (all != elements) {
      return fail(scope, order_place(),
                  fmt::format("a packet of {}: runs of {} lie together on both sides",
                              bytes_text(to_.dtype, all), bytes_text(to_.dtype, elements)),
                  run.empty() ? "move what is innermost on both sides in a packet"
                              : fmt::format("make the packet '{}'", scope.text(concat(run))));
    }
    if (elements * bits_ <= 8 * limits_.dma_packet_bytes) return true;
    return fail(
        scope, order_place(),
        fmt::format("a packet of {}; at most {} bytes are possible",
                    bytes_text(to_.dtype, elements), group_digits(limits_.dma_packet_bytes)),
        "move a part of it to time");
  }

  // The largest divisor of the run that fits a packet; the rest is the innermost of the loops that
  // stay in a slice.
  void cut_run(std::vector<OrderedLoop>& loops, std::vector<OrderedLoop>& run,
               uint64_t elements) const {
    if (elements * bits_ <= 8 * limits_.dma_packet_bytes) return;
    const uint64_t unit =
        has_dm() ? std::max<uint64_t>(1, 8 * kDmUnit / bits_) : 8 / std::min<uint64_t>(8, bits_);
    const uint64_t packet = largest_divisor(elements, 8 * limits_.dma_packet_bytes / bits_, unit);
    OrderedLoop rest;
    rest.size = elements / packet;
    rest.read_step = rest.write_step = packet * bits_;
    const Mapping whole = concat(run);
    OrderedLoop inner = run.back();
    inner.size = packet;
    inner.term = Mapping::broadcast(packet);
    rest.term = Mapping::broadcast(rest.size);
    if (const auto split = whole.split(packet)) {
      rest.term = split->first;
      inner.term = split->second;
    }
    run = {inner};
    const auto behind = std::find_if(loops.begin(), loops.end(),
                                     [](const OrderedLoop& loop) { return loop.place[0] > 0; });
    loops.insert(behind, rest);
  }

  // ---- Rules ----------------------------------------------------------------------------------

  bool in_bytes(uint64_t read, uint64_t write, const std::vector<OrderedLoop>& loops,
                uint64_t elements, const LowerScope& scope) const {
    uint64_t odd = 0;
    for (const uint64_t bits : {read, write, elements * bits_}) {
      if (bits % 8 != 0) odd = bits;
    }
    for (const OrderedLoop& loop : loops) {
      if (loop.read_step % 8 != 0) odd = loop.read_step;
      if (loop.write_step % 8 != 0) odd = loop.write_step;
    }
    if (odd == 0) return true;
    return fail(scope, order_place(),
                fmt::format("elements of {} bits do not fill bytes: an address, stride or packet "
                            "has {} bits",
                            bits_, group_digits(odd)),
                "keep pairs of elements together on both sides");
  }

  // At most 8 loops with that of the packet, none of more than 65,536 steps.
  bool limit_loops(std::vector<OrderedLoop>& loops, uint64_t elements,
                   const LowerScope& scope) const {
    const uint64_t most = limits_.sequencer.max_entries - (elements > 1 ? 1 : 0);
    for (size_t i = loops.size(); loops.size() > most && i-- > 1;) {
      OrderedLoop& outer = loops[i - 1];
      const OrderedLoop& inner = loops[i];
      const bool follows = outer.read_step == inner.read_step * inner.size &&
                           outer.write_step == inner.write_step * inner.size &&
                           outer.index_step == inner.index_step * inner.size &&
                           outer.size <= limits_.sequencer.max_size / inner.size;
      if (!follows) continue;
      outer = {outer.size * inner.size,
               inner.read_step,
               inner.write_step,
               inner.index_step,
               outer.place,
               false,
               Mapping::concat({outer.term, inner.term})};
      loops.erase(loops.begin() + static_cast<ptrdiff_t>(i));
    }
    for (size_t i = 0; i < loops.size(); ++i) {
      if (loops[i].size > limits_.sequencer.max_size) split_loop(loops, i);
      if (loops[i].size <= limits_.sequencer.max_size) continue;
      return fail(scope, order_place(),
                  fmt::format("loop '{}' iterates {} times, at most {} are possible",
                              scope.text(loops[i].term), group_digits(loops[i].size),
                              group_digits(limits_.sequencer.max_size)),
                  "split the axis, e.g. A / 65536, A % 65536");
    }
    if (loops.size() <= most) return true;
    std::vector<std::string> texts;
    for (const OrderedLoop& loop : loops) {
      texts.push_back(fmt::format("{} -> {}", scope.text(loop.term), loop.size));
    }
    return fail(scope, order_place(),
                fmt::format("{} loops and a packet, the sequencer has {} in all: {}", loops.size(),
                            limits_.sequencer.max_entries, fmt::join(texts, ", ")),
                "let source and destination order more axes alike, so that their loops merge");
  }

  void split_loop(std::vector<OrderedLoop>& loops, size_t i) const {
    OrderedLoop inner = loops[i];
    const uint64_t inside = largest_divisor(inner.size, limits_.sequencer.max_size, 1);
    OrderedLoop outer = inner;
    outer.size /= inside;
    outer.read_step *= inside;
    outer.write_step *= inside;
    outer.index_step *= inside;
    inner.size = inside;
    if (const auto split = outer.term.split(inside)) {
      outer.term = split->first;
      inner.term = split->second;
    }
    loops[i] = inner;
    loops.insert(loops.begin() + static_cast<ptrdiff_t>(i), outer);
  }

  // Reads of an extended box stay in the memory.
  bool fits_memory(const DmaConfig& config) const {
    if (!extended_) return true;
    return std::all_of(config.segments.begin(), config.segments.end(), [this](const auto& segment) {
      const uint64_t slice = limits_.dm_slice_stride;
      uint64_t last = segment.read_base + segment.packet_bytes;
      if (is_dm(from_)) last = segment.read_base % slice + segment.packet_bytes;
      uint64_t last_slice = segment.read_base / slice;
      for (const DmaConfig::Loop& loop : segment.loops) {
        if (is_dm(from_) && loop.read_stride >= slice) {
          last_slice += (loop.size - 1) * loop.read_stride / slice;
          continue;
        }
        last += (loop.size - 1) * loop.read_stride;
      }
      if (is_dm(from_) && last_slice >= limits_.clusters * limits_.slices) return false;
      if (request_.indexed && !request_.indexed->scatter) {
        last += (request_.rows - 1) * request_.row_bytes;
      }
      return last <= (is_dm(from_)    ? limits_.dm_bytes()
                      : is_hbm(from_) ? limits_.hbm_bytes
                                      : limits_.host_bytes);
    });
  }

  // Data memory is written in whole 8 bytes [B].
  bool keeps_units(const DmaConfig& config, const LowerScope& scope) const {
    if (!is_dm(to_)) return true;
    for (const DmaConfig::Segment& segment : config.segments) {
      std::vector<std::pair<std::string, uint64_t>> values;
      values.emplace_back("a packet", segment.packet_bytes);
      values.emplace_back("the write address", segment.write_base);
      for (const DmaConfig::Loop& loop : segment.loops) {
        values.emplace_back("the write stride of '" + loop.term + "'", loop.write_stride);
      }
      for (const auto& [what, bytes] : values) {
        if (bytes % kDmUnit == 0) continue;
        return fail(scope, order_place(),
                    fmt::format("{} is {} bytes; a write to dm needs multiples of {}", what,
                                group_digits(bytes), kDmUnit),
                    "keep whole 8 bytes together on both sides; pad the rows of the destination");
      }
    }
    return true;
  }

  bool choose_engines(DmaConfig& config, const LowerScope& scope) const {
    if (!request_.engines) return true;
    std::set<uint64_t> seen;
    for (const Located<uint64_t>& engine : *request_.engines) {
      if (engine.value >= limits_.dma_engines) {
        return fail(scope, engine.where,
                    fmt::format("engine {}; the chip has {}, counted from 0", engine.value,
                                limits_.dma_engines));
      }
      if (!seen.insert(engine.value).second) {
        return fail(scope, engine.where, fmt::format("engine {} is named twice", engine.value));
      }
    }
    return assign_engines(config, scope);
  }

  // Engines for the pairs of DMNs in their order (a move without data memory is one): some for
  // each, or each for some.
  bool assign_engines(DmaConfig& config, const LowerScope& scope) const {
    std::vector<uint64_t> engines;
    for (const Located<uint64_t>& engine : *request_.engines) engines.push_back(engine.value);
    std::map<uint64_t, std::vector<DmaConfig::Segment>> pairs;
    for (DmaConfig::Segment& segment : config.segments) {
      pairs[segment.engine].push_back(std::move(segment));
    }
    config.segments.clear();
    uint64_t index = 0;
    for (const auto& [local, segments] : pairs) {
      const auto share = part_of(engines, index++, pairs.size());
      if (!divide(segments, share, config, scope)) return false;
    }
    return true;
  }

  // Part `index` of `count`, as equal as they can be; where there are fewer, one for several.
  static std::vector<uint64_t> part_of(const std::vector<uint64_t>& engines, uint64_t index,
                                       uint64_t count) {
    const uint64_t first = index * engines.size() / count;
    const uint64_t last = std::max(first + 1, (index + 1) * engines.size() / count);
    return {engines.begin() + static_cast<ptrdiff_t>(first),
            engines.begin() + static_cast<ptrdiff_t>(last)};
  }

  // Segments to `engines` together. Those with the least so far have the larger parts, or all of a
  // segment that has too few packets.
  bool divide(const std::vector<DmaConfig::Segment>& segments, const std::vector<uint64_t>& engines,
              DmaConfig& config, const LowerScope& scope) const {
    uint64_t packets = 0;
    for (const DmaConfig::Segment& segment : segments) packets += segment.packets();
    if (packets < engines.size()) {
      return fail(
          scope, request_.engines->front().where,
          fmt::format("{} engines for {} packet{} of at most {} bytes", engines.size(), packets,
                      packets == 1 ? "" : "s", group_digits(segments.front().packet_bytes)),
          "name fewer engines, or give a smaller packet");
    }
    std::map<uint64_t, uint64_t> bytes;  // by engine, so far
    for (const DmaConfig::Segment& segment : segments) {
      std::vector<uint64_t> some = engines;
      const auto less = [&](uint64_t a, uint64_t b) { return bytes[a] < bytes[b]; };
      std::stable_sort(some.begin(), some.end(), less);
      some.resize(std::min<uint64_t>(some.size(), segment.packets()));
      std::stable_sort(some.begin(), some.end(), [&](auto a, auto b) { return less(b, a); });
      const size_t before = config.segments.size();
      share(segment, some, config);
      for (size_t i = before; i < config.segments.size(); ++i) {
        const DmaConfig::Segment& part = config.segments[i];
        bytes[part.engine] += part.packets() * part.packet_bytes;
      }
    }
    if (config.segments.size() <= kMaxDmaSegments) return true;
    return fail(scope, request_.engines->front().where,
                fmt::format("more than {} segments are needed", group_digits(kMaxDmaSegments)),
                kLimitHint);
  }

  // Each engine takes a range of the outermost loop, as equal as they can be; where that has fewer
  // steps than there are engines, some take each step and share what is inside of it. Precondition:
  // no fewer packets than engines.
  static void share(const DmaConfig::Segment& segment, const std::vector<uint64_t>& engines,
                    DmaConfig& config) {
    if (engines.size() == 1) {
      config.segments.push_back(segment);
      config.segments.back().engine = engines.front();
      return;
    }
    const uint64_t steps = segment.loops.front().size;
    const uint64_t parts = std::min<uint64_t>(steps, engines.size());
    for (uint64_t i = 0; i < parts; ++i) {
      const uint64_t first = i * steps / parts, last = (i + 1) * steps / parts;
      DmaConfig::Segment part = segment;
      DmaConfig::Loop& outer = part.loops.front();
      part.read_base += first * outer.read_stride;
      part.write_base += first * outer.write_stride;
      outer.size = last - first;
      if (outer.size == 1) part.loops.erase(part.loops.begin());
      share(part, part_of(engines, i, parts), config);
    }
  }

  // ---- Warnings -------------------------------------------------------------------------------

  // The offsets in a line of HBM at which packets begin.
  std::vector<bool> offsets(const DmaConfig::Segment& segment, bool write) const {
    const uint64_t line = limits_.hbm_align;
    std::vector<bool> found(line, false);
    found[(write ? segment.write_base : segment.read_base) % line] = true;
    const auto walk = [&](uint64_t size, uint64_t stride) {
      if (stride % line == 0) return;
      const std::vector<bool> before = found;
      for (uint64_t i = 1; i < std::min(size, line); ++i) {
        for (uint64_t at = 0; at < line; ++at) {
          if (before[at]) found[(at + i * stride) % line] = true;
        }
      }
    };
    for (const DmaConfig::Loop& loop : segment.loops) {
      walk(loop.size, write ? loop.write_stride : loop.read_stride);
    }
    // Any row may be chosen.
    if (request_.indexed && request_.indexed->scatter == write) {
      walk(request_.rows, request_.row_bytes);
    }
    return found;
  }

  void warn(const DmaConfig& config) const {
    const uint64_t line = limits_.hbm_align;
    std::optional<std::string> partial, crossing;
    for (const DmaConfig::Segment& segment : config.segments) {
      const auto say = [&](bool write, uint64_t at) {
        return fmt::format("packets of {} bytes are {} at byte {} of a line of {}",
                           group_digits(segment.packet_bytes), write ? "written" : "read", at,
                           line);
      };
      if (is_hbm(to_) && !partial) {
        const std::vector<bool> at = offsets(segment, true);
        const auto odd = std::find(at.begin() + 1, at.end(), true);
        if (odd != at.end()) partial = say(true, static_cast<uint64_t>(odd - at.begin()));
        if (!partial && segment.packet_bytes % line != 0) partial = say(true, 0);
      }
      if (is_hbm(from_) && !crossing) {
        const std::vector<bool> at = offsets(segment, false);
        const uint64_t bytes = std::min(segment.packet_bytes, line);
        for (uint64_t i = 1; i < line && !crossing; ++i) {
          if (at[i] && i + bytes > line) crossing = say(false, i);
        }
      }
    }
    if (partial) {
      scope_.diagnostics.warning(
          request_.where,
          "dma: " + *partial + ", so that lines of hbm are read, changed and written back",
          fmt::format("write whole lines of {} bytes at multiples of {}", line, line));
    }
    if (crossing) {
      scope_.diagnostics.warning(request_.where,
                                 "dma: " + *crossing + ", so that a request takes two transfers",
                                 fmt::format("keep rows at multiples of {} bytes", line));
    }
  }

  const DmaMoveRequest& request_;
  const LowerScope& scope_;
  const MachineLimits& limits_;
  const TensorVersion& from_;
  const TensorVersion& to_;
  uint64_t bits_;  // of an element
  DmaPieces pieces_;
  bool extended_ = false;
};

// ---- Lower bound ------------------------------------------------------------------------------

uint64_t requests_of(const DmaConfig::Segment& segment, const MachineLimits& limits) {
  return segment.packets() *
         ((segment.packet_bytes + limits.dma_request_bytes - 1) / limits.dma_request_bytes);
}

// Adds the cycles in which one side of a segment occupies each DMN.
void add_dmn_cycles(const DmaConfig::Segment& segment, bool write, const MachineLimits& limits,
                    std::map<uint64_t, uint64_t>& cycles) {
  const uint64_t width = limits.dm_banks * limits.dm_bank_bytes;
  std::map<uint64_t, uint64_t> packets;  // by slice
  packets[(write ? segment.write_base : segment.read_base) / limits.dm_slice_stride] = 1;
  uint64_t each = (segment.packet_bytes + width - 1) / width;
  for (const DmaConfig::Loop& loop : segment.loops) {
    const uint64_t slices = (write ? loop.write_stride : loop.read_stride) / limits.dm_slice_stride;
    if (slices == 0) {
      each *= loop.size;
      continue;
    }
    std::map<uint64_t, uint64_t> more;
    for (const auto& [slice, count] : packets) {
      for (uint64_t i = 0; i < loop.size; ++i) more[slice + i * slices] += count;
    }
    packets = std::move(more);
  }
  for (const auto& [slice, count] : packets) cycles[slice / limits.dmn_slices] += each * count;
}

// All that it reads and writes: loops of slices may go on into the other cluster.
bool in_one_cluster(const DmaConfig::Segment& segment, const MachineLimits& limits) {
  const uint64_t cluster = limits.dm_slice_stride * limits.slices;
  uint64_t last_read = segment.read_base, last_write = segment.write_base;
  for (const DmaConfig::Loop& loop : segment.loops) {
    last_read += (loop.size - 1) * loop.read_stride;
    last_write += (loop.size - 1) * loop.write_stride;
  }
  const uint64_t first = segment.read_base / cluster;
  return segment.write_base / cluster == first && last_read / cluster == first &&
         last_write / cluster == first;
}

}  // namespace

std::optional<DmaConfig> lower_dma(const DmaMoveRequest& request, const LowerScope& scope) {
  return DmaLowering(request, scope).lower();
}

uint64_t startup_of(const DmaConfig& dma, MemoryKind from, MemoryKind to,
                    const MachineLimits& limits) {
  const uint64_t own = from != MemoryKind::kDm  ? 0
                       : to == MemoryKind::kHbm ? limits.dma_startup_to_hbm
                       : to == MemoryKind::kDm  ? limits.dma_startup_in_dm
                                                : 0;
  std::set<uint64_t> engines;
  for (const DmaConfig::Segment& segment : dma.segments) engines.insert(segment.engine);
  return (own != 0 ? own : limits.dma_startup) +
         (engines.size() > 1 ? limits.dma_startup_engines : 0);
}

LowerBound dma_bound(const DmaConfig& dma, MemoryKind from, MemoryKind to, uint64_t delay,
                     const MachineLimits& limits) {
  const bool hbm_only = from == MemoryKind::kHbm && to == MemoryKind::kHbm;
  const bool dm_only = from == MemoryKind::kDm && to == MemoryKind::kDm;
  const bool to_hbm = from == MemoryKind::kDm && to == MemoryKind::kHbm;
  struct Engine {
    uint64_t startup = 0, requests = 0;
    uint64_t cycles() const { return startup + requests; }
  };
  std::map<uint64_t, Engine> engines;
  std::map<uint64_t, uint64_t> dmn;
  uint64_t bytes = 0;
  for (const DmaConfig::Segment& segment : dma.segments) {
    bytes += segment.packets() * segment.packet_bytes;
    Engine& engine = engines[segment.engine];
    // Reads and writes one after the other where both sides share a memory [B].
    const bool serial = hbm_only || (dm_only && in_one_cluster(segment, limits)) ||
                        (to_hbm && limits.dma_dm_to_hbm_in_turn);
    engine.startup += dma.startup + (dma.indexed ? dma.index_cycles(limits) : 0);
    engine.requests += requests_of(segment, limits) * (serial ? 2 : 1);
    if (from == MemoryKind::kDm) add_dmn_cycles(segment, false, limits, dmn);
    if (to == MemoryKind::kDm) add_dmn_cycles(segment, true, limits, dmn);
  }
  Engine busiest;
  for (const auto& [number, engine] : engines) {
    if (engine.cycles() > busiest.cycles()) busiest = engine;
  }
  LowerBound bound;
  bound.dma_requests = busiest.requests;
  for (const auto& [number, beats] : dmn) {
    bound.dmn = std::max(bound.dmn, beats * limits.dmn_beat_cycles / limits.dmn_beats);
  }
  // The first beats of reads lie in the start-up; two links follow the last one, which may begin
  // within its cycle.
  const uint64_t links = limits.dmn_beat_cycles % limits.dmn_beats == 0 ? 2 : 1;
  if (from == MemoryKind::kDm && limits.dma_first_access_dm > links) {
    bound.dmn -= std::min(bound.dmn, limits.dma_first_access_dm - links);
  }
  bound.overhead = delay + busiest.startup;
  bound.cycles = bound.overhead + bound.dma_requests;
  bound.bound_by = "dma requests";
  const auto at_least = [&](uint64_t overhead, uint64_t cycles, const char* by) {
    if (delay + overhead + cycles <= bound.cycles) return;
    bound.overhead = delay + overhead;
    bound.cycles = bound.overhead + cycles;
    bound.bound_by = by;
  };
  at_least(dma.startup, bound.dmn, "dmn");
  const uint64_t passes = (bytes + limits.host_bytes_per_cycle - 1) / limits.host_bytes_per_cycle;
  if (to == MemoryKind::kHost) {
    bound.pcie = passes;
    at_least(dma.startup, passes, "pcie");
  } else if (from == MemoryKind::kHost) {
    // The first bytes pass PCIe within the start-up, a latency before they are there.
    bound.pcie = passes + limits.host_latency;
    const uint64_t early = std::min(dma.startup, limits.dma_first_access_host);
    at_least(dma.startup - early, bound.pcie, "pcie");
  }
  return bound;
}

}  // namespace rngdsim
