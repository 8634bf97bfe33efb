// SPDX-License-Identifier: Apache-2.0
// Random legal kernels as text, and what they must do on the machine: counts, bytes and cycles by
// closed forms over the generator's own numbers (sizes and widths it drew), never over what
// lowering made of the text. Rules: docs/kernel-file.md, docs/hardware.md, docs/timing-model.md.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace rngdsim::test {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t below(uint64_t n) { return engine_() % n; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  template <typename T>
  const T& of(const std::vector<T>& values) {
    return values[below(values.size())];
  }
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

inline uint64_t bits(const std::string& dtype) {
  static const std::map<std::string, uint64_t> kBits = {
      {"i4", 4},     {"i5", 4},   {"f4e2m1", 4}, {"i8", 8},   {"i9", 8},  {"f8e4m3", 8},
      {"f8e5m2", 8}, {"i16", 16}, {"bf16", 16},  {"i32", 32}, {"f32", 32}};
  return kBits.at(dtype);
}
inline bool is_integer_name(const std::string& dtype) { return dtype[0] == 'i'; }
inline uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }
inline uint64_t divide_up(uint64_t n, uint64_t by) { return (n + by - 1) / by; }

// A term of a mapping and the positions it has.
struct Digit {
  std::string text;
  uint64_t size = 1;
};

inline std::string join(const std::vector<std::string>& terms) {
  std::string text;
  for (const std::string& term : terms) {
    if (!term.empty()) text += (text.empty() ? "" : ", ") + term;
  }
  return text.empty() ? "1" : text;
}
inline std::string join(const std::vector<Digit>& digits, const std::string& inner = "") {
  std::vector<std::string> terms;
  for (const Digit& digit : digits) terms.push_back(digit.text);
  terms.push_back(inner);
  return join(terms);
}
inline uint64_t product(const std::vector<Digit>& digits) {
  uint64_t product = 1;
  for (const Digit& digit : digits) product *= digit.size;
  return product;
}
// `text` of `live` positions padded to `size`.
inline std::string padded(const std::string& text, uint64_t live, uint64_t size,
                          const std::string& kind = "#") {
  return live == size ? text : fmt::format("{} {} {}", text, kind, size);
}
// Two digits of an axis of `outer` x `inner` positions, of which the first `live` hold elements.
inline std::vector<Digit> two_digits(const std::string& axis, uint64_t live, uint64_t outer,
                                     uint64_t inner) {
  const std::string whole = padded(axis, live, outer * inner);
  return {{fmt::format("{} / {}", whole, inner), outer},
          {fmt::format("{} % {}", whole, inner), inner}};
}

// ------------------------------------------------------------------------------------------
// figures

// What one command must do; bytes and products of the whole chip.
struct Figures {
  struct Items {
    uint64_t in = 0, out = 0;
  };
  std::map<std::string, Items> units;  // by unit; those not named see nothing
  uint64_t dm_read = 0, dm_write = 0, trf_write = 0, mac_useful = 0, mac_issued = 0;
  uint64_t delay = 0;
  uint64_t longest = 0;  // the largest of its counts: with the overhead its lower bound
  // Cycles behind the overhead where nothing else wants its banks; none where its accumulator slots
  // are used again and again.
  std::optional<uint64_t> cycles;
  // Its first write comes before its last read: they may want the same banks.
  bool overlaps = false;
  uint64_t accesses = 0;  // of data memory

  void pass(const std::vector<std::string>& through, uint64_t items) {
    for (const std::string& unit : through) units[unit] = {items, items};
  }
};

// Cycles in which a unit takes its items, counted from the first access. Units pass one item a
// cycle on, and the next one has it a cycle later.
class Flow {
 public:
  // Items that a fetch asked for in cycles 0, 1, ...: granted, back at Fetch and at the Fetch
  // Adapter one cycle later each.
  static Flow of_fetch(uint64_t accesses) { return consecutive(accesses, 3); }
  // Items that a stream puts at its entry in cycles 0, 1, ...
  static Flow of_stream(uint64_t items) { return consecutive(items, 1); }

  void pass(uint64_t units) {
    for (uint64_t& cycle : cycles_) cycle += units;
  }
  // Collect: fetch brings `parts` accesses a packet, of which flit j ends with access ends[j].
  void collect_parts(uint64_t parts, const std::vector<uint64_t>& ends) {
    std::vector<uint64_t> flits;
    for (uint64_t packet = 0; packet < cycles_.size() / parts; ++packet) {
      for (uint64_t end : ends) flits.push_back(cycles_[packet * parts + end]);
    }
    cycles_ = flits;
  }
  // Each item takes `each` cycles, in the last of which it moves on; or in each of which a part of
  // it does.
  void serve(uint64_t each, bool parts) {
    std::vector<uint64_t> done;
    uint64_t free = 0;
    for (uint64_t cycle : cycles_) {
      const uint64_t begin = std::max(cycle, free);
      for (uint64_t i = parts ? 0 : each - 1; i < each; ++i) done.push_back(begin + i);
      free = begin + each;
    }
    cycles_ = done;
  }
  // Stream Adapter: packets of `pack` flits, each sent `times` times. The next is collected
  // meanwhile. Afterwards: the cycles in which packets leave. Returns when the last flit was taken:
  // what comes before may have waited for it.
  uint64_t adapt(uint64_t pack, uint64_t times) {
    std::vector<uint64_t> sent;
    uint64_t free = 0;      // the first cycle without a packet to send
    uint64_t collects = 0;  // the first cycle in which flits of the next packet are taken
    uint64_t taken = 0;     // one past the latest flit
    for (uint64_t packet = 0; packet < cycles_.size() / pack; ++packet) {
      for (uint64_t flit = 0; flit < pack; ++flit) {
        taken = std::max({cycles_[packet * pack + flit], collects, taken}) + 1;
      }
      const uint64_t first = std::max(taken - 1, free);
      for (uint64_t i = 0; i < times; ++i) sent.push_back(first + i);
      free = first + times;
      collects = first;
    }
    cycles_ = sent;
    return taken - 1;
  }
  // Multiplier: operand i of the register file is there in cycle 3 + i.
  void meet_operands() {
    uint64_t free = 0;
    for (uint64_t i = 0; i < cycles_.size(); ++i) {
      cycles_[i] = std::max({cycles_[i], 3 + i, free});
      free = cycles_[i] + 1;
    }
  }
  // Time Reducer: result r is complete with packet last[r]; one leaves a cycle.
  void reduce(const std::vector<uint64_t>& last) {
    std::vector<uint64_t> results;
    for (uint64_t packet : last) {
      const uint64_t ready = cycles_[packet];
      results.push_back(results.empty() ? ready : std::max(ready, results.back() + 1));
    }
    cycles_ = results;
  }
  uint64_t first() const { return cycles_.front(); }
  uint64_t last() const { return cycles_.back(); }

 private:
  static Flow consecutive(uint64_t count, uint64_t first) {
    Flow flow;
    flow.cycles_.resize(count);
    std::iota(flow.cycles_.begin(), flow.cycles_.end(), first);
    return flow;
  }
  std::vector<uint64_t> cycles_;
};

// The units of a context in the order in which a stream passes them, from where it may enter.
inline std::vector<std::string> units_from(bool main, const std::string& first) {
  const std::vector<std::string> all =
      main ? std::vector<std::string>{"fetch_adapter", "main_collect",   "stream_adapter",
                                      "multiplier",    "packet_reducer", "time_reducer",
                                      "lane_folder",   "cast",           "main_commit_adapter"}
           : std::vector<std::string>{"fetch_adapter", "sub_collect", "cast", "sub_commit_adapter"};
  return {std::find(all.begin(), all.end(), first), all.end()};
}

// --------------------------------------------------------------------------------------- the place

// Where a tensor or stream lies on the chip, and the machine it is made for.
struct Place {
  std::string cluster, slice;  // cluster: empty for the default
  uint64_t slices = 1;         // that hold elements, of the whole chip
  uint64_t clusters = 1;       // in use
  uint64_t machine_slices = 256;
  std::string text() const {
    return (cluster.empty() ? "" : "cluster: \"" + cluster + "\", ") + "slice: \"" + slice + "\"";
  }
  uint64_t all_slices() const { return clusters * machine_slices; }
};

// S slices of a cluster hold different elements, X clusters; `axes` gets their sizes.
inline Place random_place(Random& random, uint64_t machine_slices,
                          std::map<std::string, uint64_t>& axes) {
  Place place;
  place.machine_slices = machine_slices;
  const uint64_t size = machine_slices / random.of<uint64_t>({1, 1, 1, 2, 4});
  const uint64_t live = random.of<uint64_t>({1, 2, size / 2 + 1, size, size});
  axes["S"] = live;
  place.slice = padded("S", live, size);
  place.slices = live;
  switch (random.below(5)) {
    case 0:
      place.cluster = "X";
      axes["X"] = 2;
      place.clusters = 2;
      place.slices *= 2;
      break;
    case 1:
      place.cluster = "1";
      break;
    default:
      break;
  }
  return place;
}

inline std::string random_init(Random& random, const std::string& dtype, bool tame = false) {
  static const std::map<std::string, std::pair<std::string, std::string>> kRanges = {
      {"i4", {"-8", "7"}},          {"i5", {"-16", "15"}},
      {"i8", {"-128", "127"}},      {"i9", {"-256", "255"}},
      {"i16", {"-32768", "32767"}}, {"i32", {"-2147483648", "2147483647"}}};
  const uint64_t seed = random.below(1000);
  if (is_integer_name(dtype)) {
    const auto& [low, high] = kRanges.at(dtype);
    return fmt::format("{{random: {{seed: {}, low: {}, high: {}}}}}", seed, low, high);
  }
  std::vector<std::pair<std::string, std::string>> ranges = {{"-2", "2"}, {"-2", "2"}, {"0", "1"}};
  if (!tame && dtype != "f4e2m1") ranges.push_back({"-448", "448"});
  if (!tame && bits(dtype) >= 16) {
    ranges.push_back({"-3.0e+38", "3.0e+38"});
    ranges.push_back({"-1.0e-37", "1.0e-37"});  // products below the smallest normal number
  }
  const auto& [low, high] = random.of(ranges);
  return fmt::format("{{random: {{seed: {}, low: {}, high: {}}}}}", seed, low, high);
}

// `count` values among which are the ends of the type: 1e300 is an infinity where the type has one,
// 1e-40 a zero. Infinities meet zeros and each other.
inline std::string special_values(Random& random, const std::string& dtype, uint64_t count) {
  const std::vector<std::string> floats = {"0",         "-0.0", "1",      "-1.5",    "1.0e+300",
                                           "-1.0e+300", "0.5",  "2.0e-3", "1.0e-40", "-3"};
  const std::vector<std::string> integers = {"0", "1", "-1", "7", "-8", "3", "-5"};
  std::string text;
  for (uint64_t i = 0; i < count; ++i) {
    text += (i > 0 ? ", " : "") + random.of(is_integer_name(dtype) ? integers : floats);
  }
  return "{values: [" + text + "]}";
}

// ------------------------------------------------------------------------------------------
// tensors

inline std::string logical_key(const std::string& axes) {
  return axes.empty() ? "" : ", logical: [" + axes + "]";
}

// A tensor in data memory: rows of an inner axis, in an order of digits.
struct Layout {
  std::string name, dtype;
  std::vector<Digit> digits;
  std::string inner = "W";  // empty: the tensor has no such axis
  uint64_t width = 1;       // positions of it that hold elements
  uint64_t row = 1;         // with the padding behind it
  std::string pad = "#";

  std::string element() const {
    return inner.empty() ? join(digits) : join(digits, padded(inner, width, row, pad));
  }
  uint64_t bytes() const { return (product(digits) * row * bits(dtype) + 7) / 8; }
  // Whether rows of `digit` and the inner axis lie together.
  bool adjacent(const Digit& digit) const {
    if (row != width) return false;
    for (size_t i = digits.size(); i-- > 0;) {
      if (digits[i].text == digit.text) return true;
      if (digits[i].size > 1) return false;
    }
    return false;
  }
  std::string text(const Place& place, const std::string& init,
                   const std::string& logical = "") const {
    return fmt::format("  {}: {{memory: dm, dtype: {}, {}, element: \"{}\"{}, init: {}}}\n", name,
                       dtype, place.text(), element(), logical_key(logical), init);
  }
};

// ------------------------------------------------------------------------------------------
// kernels

struct RandomKernel {
  std::map<std::string, uint64_t> axes;
  std::string tensors, program, expect;
  std::vector<Figures> figures;              // a command each
  std::vector<std::vector<size_t>> sources;  // commands whose results each command reads
  std::vector<bool> main;

  std::string text() const {
    std::string list;
    for (const auto& [name, size] : axes) {
      list += fmt::format("{}{}: {}", list.empty() ? "" : ", ", name, size);
    }
    return "kernel: random\naxes: {" + list + "}\ntensors:" + (tensors.empty() ? " {}\n" : "\n") +
           tensors + "program:\n" + program + (expect.empty() ? "" : "expect:\n" + expect);
  }
};

// Appends a command and what it does. `sources`: earlier commands whose results it reads.
template <typename Chain>
void add_command(RandomKernel& kernel, const Chain& chain, bool main,
                 const std::vector<size_t>& sources = {}) {
  kernel.program += chain.command_text();
  kernel.figures.push_back(chain.figures());
  kernel.sources.push_back(sources);
  kernel.main.push_back(main);
}

inline std::string stage(const std::string& name, const std::string& keys) {
  return "        - " + name + ": {" + keys + "}\n";
}
inline std::string command_head(bool main, const std::string& source, uint64_t delay) {
  return fmt::format("  - {}:\n      {}\n{}      stages:\n", main ? "main" : "sub", source,
                     delay == 0 ? "" : fmt::format("      delay: {}\n", delay));
}

// --------------------------------------------------------------------------------------------
// moves

// A command without a contraction: rows of data memory (or a stream) in another order, cast on the
// way or not, to data memory, the register file or a sink.
struct Move {
  bool main = true;
  Place place;
  Layout from, to;
  std::string entry = "fetch";  // first stage; another than fetch: a stream
  std::string end = "commit";   // last stage
  std::vector<Digit> time;      // of packets
  std::optional<Digit> rows;    // a packet has the rows of this digit
  std::string row_axis = "W";   // of the stream; the source may lack it
  uint64_t row_width = 1;       // positions of it that hold elements
  uint64_t packet = 1;          // elements of a row in a packet, padding included
  std::string packet_pad = "#";
  bool replicated = false;       // the inner axis is not in the source
  std::string fetch_cast, cast;  // types; empty: none
  bool commit_cast = false, relu = false;
  uint64_t trim = 1;  // elements kept of a flit
  std::string trim_pad = "#";
  bool collect_declared = true;
  uint64_t lanes = 1;  // to_trf
  uint64_t delay = 0;
  std::string init;
  std::map<std::string, uint64_t> axes;

  const std::string& fetched() const { return fetch_cast.empty() ? from.dtype : fetch_cast; }
  const std::string& committed_flit() const { return cast.empty() ? fetched() : cast; }
  uint64_t flit_elements() const { return 256 / bits(fetched()); }
  uint64_t row_count() const { return rows ? rows->size : 1; }
  uint64_t packet_elements() const { return row_count() * packet; }
  uint64_t flits_per_packet() const { return divide_up(packet_elements(), flit_elements()); }
  uint64_t packets() const { return product(time); }
  uint64_t flits() const { return packets() * flits_per_packet(); }
  bool streams() const { return entry != "fetch"; }
  bool listed(const std::string& stage) const {
    static const std::vector<std::string> kOrder = {
        "fetch", "fetch_cast", "collect", "to_trf", "cast", "commit_trim", "commit_cast", "commit"};
    const auto rank = [](const std::string& s) {
      return std::find(kOrder.begin(), kOrder.end(), s) - kOrder.begin();
    };
    if (rank(stage) < rank(entry) || rank(stage) > rank(end)) return false;
    if (stage == "fetch_cast") return !fetch_cast.empty();
    if (stage == "to_trf") return end == "to_trf";
    if (stage == "cast") return !cast.empty();
    if (stage == "commit_cast") return commit_cast;
    return true;
  }

  // One read: the largest of 1, 2, 4, ... 32 bytes that divides what lies together of a packet, and
  // whose elements fit a flit after a cast; 8 bytes in sub.
  uint64_t access_elements() const {
    if (!main) return 64 / bits(from.dtype);
    const uint64_t together =
        rows && !replicated && !from.adjacent(*rows) ? packet : packet_elements();
    uint64_t bytes = 32;
    for (; bytes > 1; bytes /= 2) {
      if (bytes * 8 % bits(from.dtype) != 0) continue;
      const uint64_t elements = bytes * 8 / bits(from.dtype);
      if (together % elements == 0 && (!listed("fetch_cast") || elements <= flit_elements())) break;
    }
    return bytes * 8 / bits(from.dtype);
  }
  uint64_t access_bytes() const { return access_elements() * bits(from.dtype) / 8; }
  uint64_t accesses() const { return packets() * packet_elements() / access_elements(); }
  // What is written of a flit, and in how many pieces: rows that do not lie together are written
  // one by one, in sub 8 bytes at a time.
  uint64_t written_bytes() const { return trim * bits(to.dtype) / 8; }
  uint64_t writes_per_flit() const {
    if (!main) return written_bytes() / 8;
    return rows && packet < trim && !to.adjacent(*rows) ? trim / packet : 1;
  }
  uint64_t writes() const { return flits() * writes_per_flit(); }

  // [rows, inner]
  std::string packet_text() const {
    const std::string text = padded(row_axis, row_width, packet, packet_pad);
    return rows ? rows->text + ", " + text : text;
  }
  std::string flit_text(bool time_part) const {
    const uint64_t all = flits_per_packet() * flit_elements();
    if (flits_per_packet() == 1) {
      return time_part ? ""
                       : padded(rows ? "[" + packet_text() + "]" : row_axis,
                                rows ? packet_elements() : row_width, all, trim_pad);
    }
    // Digits of one axis have padding of one kind; where nothing is declared, that of the filling.
    const bool zeros = !collect_declared && (packet == row_width || packet_pad == "#{0}");
    return fmt::format("{} {} {}", padded(row_axis, row_width, all, zeros ? "#{0}" : "#"),
                       time_part ? "/" : "%", flit_elements());
  }
  std::string trim_text() const {
    if (rows) {
      if (flits_per_packet() == 1) return packet_text();
      if (packet >= flit_elements()) return fmt::format("{} % {}", row_axis, flit_elements());
      return fmt::format("{} % {}, {}", rows->text, flit_elements() / packet, row_axis);
    }
    if (flits_per_packet() == 1) return padded(row_axis, row_width, trim, trim_pad);
    if (!cast.empty()) return padded(row_axis + " % 8", 8, trim, trim_pad);
    return flit_text(false);
  }

  std::string command_text() const {
    const std::string source =
        streams() ? fmt::format("stream: {{dtype: {}, {}, time: \"{}\", packet: \"{}\", init: {}}}",
                                from.dtype, place.text(), join(time), packet_text(), init)
                  : "from: " + from.name;
    std::string text = command_head(main, source, delay);
    if (listed("fetch")) {
      text +=
          stage("fetch", fmt::format("time: \"{}\", packet: \"{}\"", join(time), packet_text()));
    }
    if (listed("fetch_cast")) text += stage("fetch_cast", "dtype: " + fetch_cast);
    if (listed("collect")) {
      text += collect_declared
                  ? stage("collect", fmt::format("time: \"{}\", packet: \"{}\"",
                                                 join(time, flit_text(true)), flit_text(false)))
                  : "        - collect\n";
    }
    if (listed("to_trf")) {
      const bool lane = lanes > 1;
      std::vector<Digit> rest(time.begin() + (lane ? 1 : 0), time.end());
      const uint64_t all = flits_per_packet() * flit_elements();
      const std::string row = rows ? packet_text() : padded(row_axis, row_width, all);
      text += stage("to_trf", fmt::format("to: {}, lane: \"{}\", element: \"{}\"", to.name,
                                          lane ? time.front().text : "1", join(rest, row)));
    }
    if (listed("cast")) text += stage("cast", "dtype: " + cast);
    if (listed("commit_trim")) text += stage("commit_trim", "packet: \"" + trim_text() + "\"");
    if (listed("commit_cast")) {
      text += stage("commit_cast", std::string("dtype: bf16") + (relu ? ", relu: true" : ""));
    }
    if (listed("commit")) {
      text += stage("commit", fmt::format("to: {}, element: \"{}\"", to.name, to.element()));
    }
    return text;
  }

  Figures figures() const {
    Figures f;
    f.delay = delay;
    const std::string context = main ? "main_" : "sub_";
    std::vector<std::string> chain = units_from(main, "fetch_adapter");
    uint64_t items = packets();
    Flow flow = Flow::of_stream(items);
    if (!streams()) {
      items = accesses();
      flow = Flow::of_fetch(items);
      f.units[context + "fetch"] = {items, items};
      f.units["data_memory"] = {items, items};
      // A replicated read touches one element.
      f.dm_read = items * place.all_slices() *
                  (replicated ? std::max<uint64_t>(1, bits(from.dtype) / 8) : access_bytes());
    } else {
      f.units[context + "source"] = {0, items};
      const std::string first = entry == "fetch_cast"    ? "fetch_adapter"
                                : entry == "cast"        ? "cast"
                                : entry == "commit_trim" ? context + "commit_adapter"
                                                         : context + "collect";
      chain = units_from(main, first);
    }
    f.longest = items;
    for (const std::string& unit : chain) {
      f.units[unit].in += items;
      if (unit == context + "collect" && listed("collect")) {
        if (streams()) {
          flow.serve(flits_per_packet(), true);
        } else {
          const uint64_t parts = packet_elements() / access_elements();
          std::vector<uint64_t> ends;
          for (uint64_t j = 1; j <= flits_per_packet(); ++j) {
            ends.push_back(std::min(j * flit_elements(), packet_elements()) / access_elements() -
                           1);
          }
          flow.collect_parts(parts, ends);
        }
        items = flits();
        f.longest = std::max(f.longest, items);
      }
      f.units[unit].out += items;
      flow.pass(1);
      if (unit == context + "collect" && end == "to_trf") {
        f.units["trf"].in = items;
        f.trf_write = items * 32 * place.all_slices();
        f.cycles = flow.last() + 1;
        return f;
      }
    }
    f.units[context + "commit"].in = items;
    if (end != "commit") {
      f.cycles = flow.last() + 1;
      return f;
    }
    f.units[context + "commit"].out = writes();
    f.units["data_memory"].in += writes();
    f.dm_write = items * written_bytes() * place.all_slices();
    f.longest = std::max(f.longest, writes());
    f.overlaps = !streams() && flow.first() < accesses();
    f.accesses = f.units["data_memory"].in;
    flow.serve(writes_per_flit(), false);
    f.cycles = flow.last() + 2;  // it lands a cycle after it was asked for
    return f;
  }

  // A kernel of this move alone.
  RandomKernel kernel() const {
    RandomKernel kernel;
    kernel.axes = axes;
    if (!streams()) kernel.tensors = from.text(place, init);
    add_command(kernel, *this, main);
    return kernel;
  }
  std::string text() const { return kernel().text(); }
};

struct MoveOptions {
  uint64_t machine_slices = 256;
  uint64_t max_packets = 400;
  bool plain = false;            // whole rows, no casts, no padding, one cluster
  const Layout* from = nullptr;  // the tensor to read; its axes and place are in `kernel`
  Place place;
  std::string from_name = "x", to_name = "y";
  std::string broadcast = "T";  // an axis that no other command has
};

inline std::vector<std::string> fetch_casts(const std::string& dtype) {
  if (dtype == "i4" || dtype == "i8" || dtype == "i16") return {"i32"};
  if (dtype == "f8e4m3" || dtype == "f8e5m2" || dtype == "bf16") return {"f32"};
  if (dtype == "f32") return {"bf16"};
  return {};
}
inline std::vector<std::string> engine_casts(const std::string& dtype) {
  if (dtype == "i32") return {"i4", "i8", "i16"};
  if (dtype == "f32") return {"f8e4m3", "f8e5m2", "bf16"};
  return {};
}
inline bool multiplies(const std::string& dtype) {
  static const std::vector<std::string> kTypes = {"i4", "i8", "f8e4m3", "f8e5m2", "bf16"};
  return std::find(kTypes.begin(), kTypes.end(), dtype) != kTypes.end();
}

// The layout of a fresh source: digits of A and B, rows of W.
inline void random_source(Random& random, const MoveOptions& options, Move& move) {
  Layout& from = move.from;
  from.name = options.from_name;
  const std::vector<std::string> plain_types = {"i8", "bf16", "f32", "i32", "i16", "f8e4m3"};
  from.dtype =
      random.of(options.plain ? plain_types
                              : std::vector<std::string>{"i4", "i8", "i16", "i32", "f8e4m3",
                                                         "f8e5m2", "bf16", "f32", "f4e2m1"});
  do {
    from.digits.clear();
    for (const char* axis : {"A", "B"}) {
      const uint64_t inner = random.of<uint64_t>({1, 2, 3, 4, 5});
      const uint64_t outer = random.of<uint64_t>({1, 2, 3, 4, 7});
      uint64_t live = inner * outer;
      if (!options.plain && outer > 1 && inner > 1 && random.one_in(4)) {
        live -= 1 + random.below(inner - 1);  // the last row of digits is not full
      }
      move.axes[axis] = live;
      for (const Digit& digit : two_digits(axis, live, outer, inner)) from.digits.push_back(digit);
    }
  } while (product(from.digits) > options.max_packets);
  random.shuffle(from.digits);
}

inline Move random_move(Random& random, const MoveOptions& options) {
  for (;;) {
    Move move;
    move.main = random.below(2) == 0;
    if (options.from != nullptr) {
      move.from = *options.from;
      move.place = options.place;
    } else {
      random_source(random, options, move);
      if (options.plain) {
        const uint64_t live = random.of<uint64_t>({1, 3, 100, 256});
        move.axes["S"] = live;
        move.place.slice = padded("S", live, 256);
        move.place.slices = live;
      } else {
        move.place = random_place(random, options.machine_slices, move.axes);
      }
    }
    Layout& from = move.from;
    const bool fresh = options.from == nullptr;

    // Casts on the way in.
    const std::vector<std::string> casts = fetch_casts(from.dtype);
    const bool fits_sub = move.main || from.dtype != "i4";  // 8 B are 16 i4, 64 B of i32
    if (!options.plain && !casts.empty() && fits_sub && random.one_in(3)) {
      move.fetch_cast = random.of(casts);
    }
    const uint64_t in_bits = bits(from.dtype);
    const uint64_t flit_bits = bits(move.fetched());
    const uint64_t flit = move.flit_elements();

    // The inner axis.
    if (fresh) {
      from.width = random.of<uint64_t>({8, 16, 24, 32, 64, 96, 128}) * 8 /
                   (options.plain ? in_bits : flit_bits);
      if (!options.plain && random.one_in(4)) from.width = 2 + random.below(40);
      if (in_bits == 4) from.width = round_up(from.width, 2);
      move.axes["W"] = from.width;
      from.row = from.width;
      if (!options.plain && random.one_in(3)) {
        from.row += (1 + random.below(20)) * (in_bits == 4 ? 2 : 1);
        from.pad = random.of<std::string>({"#", "#", "#{0}", "#{!}"});
      }
    }
    move.row_axis = from.inner;
    move.row_width = from.width;
    uint64_t step = 64 / std::min<uint64_t>(64, flit_bits);  // a packet is a multiple of 8 bytes
    if (!move.main) step = std::max(step, 64 / in_bits);
    move.packet = round_up(from.width, step);
    if (!options.plain && random.one_in(3)) {
      const uint64_t wider = random.one_in(2) ? move.packet + step : round_up(move.packet, flit);
      // A digit is not padded into another flit: that would look like the digit above it.
      const bool digit = from.inner.find('%') != std::string::npos;
      if (!digit || divide_up(wider, flit) == divide_up(from.width, flit)) move.packet = wider;
    }
    if (from.pad == "#{!}" && from.row != from.width && move.packet != from.width) {
      if (!fresh) {
        move.packet = from.width;
        if (from.width % step != 0) continue;
      } else {
        from.pad = "#";
      }
    }
    if (from.pad == "#{0}" && move.packet <= from.row && random.one_in(2)) move.packet_pad = "#{0}";

    // The order of time.
    move.time = from.digits;
    random.shuffle(move.time);
    const bool whole_rows = move.packet == from.width;
    if (!options.plain && whole_rows && move.fetch_cast.empty() && move.time.back().size > 1 &&
        from.width * in_bits % 64 == 0 && random.one_in(3)) {
      const uint64_t count = move.time.back().size;
      if (count * move.packet <= flit || move.packet % flit == 0 ||
          (flit % move.packet == 0 && count % (flit / move.packet) == 0)) {
        move.rows = move.time.back();
        move.time.pop_back();
      }
    }
    const uint64_t fpp = move.flits_per_packet();

    // A source without the inner axis: one element is read for a whole row.
    if (fresh && !options.plain && !move.rows && in_bits >= 8 && from.row == from.width &&
        random.one_in(8)) {
      move.replicated = true;
      from.inner.clear();
      from.row = from.width = 1;
    }

    // Casts on the way out.
    const std::vector<std::string> out_casts = engine_casts(move.fetched());
    if (!options.plain && !out_casts.empty() && !move.rows && (fpp == 1 || whole_rows) &&
        (fpp == 1 || move.packet % 8 == 0) && random.one_in(3)) {
      move.cast = random.of(out_casts);
    }
    const uint64_t out_bits = bits(move.committed_flit());
    const uint64_t live = move.rows  ? std::min(move.packet_elements(), flit)
                          : fpp == 1 ? move.row_width
                                     : flit;
    if (!move.cast.empty() && live > 8) continue;
    const uint64_t grain = 64 / out_bits;
    move.trim = live;
    if (move.rows) {
      if (live * out_bits % 64 != 0) continue;
    } else if (fpp == 1 || !move.cast.empty()) {
      move.trim = round_up(live, grain);
      while (!options.plain && move.trim + grain <= 256 / out_bits && random.one_in(3)) {
        move.trim += grain;
      }
    }
    if (move.main && !options.plain && move.cast.empty() && move.committed_flit() == "f32" &&
        !move.rows && (move.trim == 4 || move.trim == 8) && random.one_in(2)) {
      move.commit_cast = true;
      move.relu = random.one_in(2);
    }

    // The destination.
    Layout& to = move.to;
    to.name = options.to_name;
    to.dtype = move.commit_cast ? "bf16" : move.committed_flit();
    to.inner = move.row_axis;
    to.width = move.row_width;
    to.digits = move.time;
    if (move.rows) to.digits.push_back(*move.rows);
    const bool in_flits =
        !options.plain && fpp > 1 && whole_rows && !move.rows &&
        (move.cast.empty() ? move.packet % flit == 0 && random.one_in(3) : move.trim > 8);
    if (in_flits) {  // each flit of a packet goes to a place of its own
      to.digits.push_back({fmt::format("{} / {}", to.inner, flit), fpp});
      to.inner = fmt::format("{} % {}", to.inner, flit);
      to.width = flit;
    }
    to.row = in_flits            ? move.trim
             : move.rows         ? move.packet
             : fpp == 1          ? move.trim
             : move.cast.empty() ? fpp * flit
                                 : move.packet;
    const bool filled = to.row == to.width;  // no padding is written
    const bool zeros =
        !move.rows && fpp == 1 && to.row > to.width && (move.packet_pad == "#{0}" || whole_rows);
    if (zeros && random.one_in(2)) {
      to.pad = move.trim_pad = "#{0}";
    } else if (!options.plain && random.one_in(4)) {
      to.row = round_up(to.row + 1 + random.below(16), 64 / bits(to.dtype));
      if (filled && random.one_in(2)) to.pad = "#{!}";
    }
    random.shuffle(to.digits);

    if (!options.plain) {
      move.collect_declared = !move.rows && random.one_in(2);
      move.delay = random.one_in(4) ? random.below(30) : 0;
      // Ends other than commit, entries other than fetch.
      if (random.one_in(4)) {
        std::vector<std::string> ends = {"fetch", "collect", "commit_trim"};
        if (!move.fetch_cast.empty()) ends.emplace_back("fetch_cast");
        if (!move.cast.empty()) ends.emplace_back("cast");
        if (move.commit_cast) ends.emplace_back("commit_cast");
        move.end = random.of(ends);
      }
      const bool whole_flits = !move.rows || move.packet_elements() % flit == 0;
      if (multiplies(move.fetched()) && move.cast.empty() && whole_flits && random.one_in(4)) {
        move.end = "to_trf";
        const uint64_t lanes = move.time.empty() ? 1 : move.time.front().size;
        if (lanes == 2 || lanes == 4 || lanes == 8) move.lanes = lanes;
        if (move.flits() * 32 > 65536) continue;
      }
      if (fresh && !move.replicated && from.pad != "#{!}" && move.end != "fetch" &&
          random.one_in(3)) {
        const bool one_flit = fpp == 1 && !move.rows && move.fetch_cast.empty();
        const bool behind = move.end != "collect" && move.end != "to_trf";
        std::vector<std::string> entries = {move.fetch_cast.empty() ? "collect" : "fetch_cast"};
        if (one_flit && move.end == "to_trf") entries.emplace_back("to_trf");
        if (one_flit && behind) entries.emplace_back(move.cast.empty() ? "commit_trim" : "cast");
        move.entry = random.of(entries);
        if (move.entry != "fetch_cast" && move.entry != "collect") {  // it enters in flits
          move.packet = flit;
          // Nothing fills it up with zeros any more.
          move.packet_pad =
              move.trim_pad == "#{0}" ? "#{0}" : random.of<std::string>({"#", "#{0}"});
        }
      }
      // A broadcast in time: of nobody's axis where nothing is written to data memory, of an axis
      // that the destination has and the source lacks where something is.
      // A sequencer has 8 loops: two are for the parts of a packet.
      if (!move.streams() && move.time.size() < 6 && random.one_in(4)) {
        const uint64_t times = 2 + random.below(2);
        Digit more{options.broadcast, times};
        if (move.end == "commit") {
          to.digits.insert(
              to.digits.begin() + static_cast<ptrdiff_t>(random.below(to.digits.size() + 1)), more);
        } else if (move.end != "to_trf") {
          more.text = std::to_string(times);
        }
        if (move.end != "to_trf" || move.flits() * times * 32 <= 65536) {
          if (more.text == options.broadcast) move.axes[more.text] = times;
          const uint64_t from_place = move.lanes > 1 ? 1 : 0;
          const uint64_t at = from_place + random.below(move.time.size() + 1 - from_place);
          move.time.insert(move.time.begin() + static_cast<ptrdiff_t>(at), more);
        }
      }
    }
    move.init = random_init(random, from.dtype);
    return move;
  }
}

// ----------------------------------------------------------------------------------- contractions

// Sum over KT, KI (and B) of a[M, KT, C, KI] w[KT, B, C, KI, N]: a stream or a tensor in data
// memory against the register file, which a command fills or which is there from the start.
// OutPacket is [C, KI], lanes are N.
struct Contraction {
  Place place;
  std::string dtype, w_dtype, mode = "interleaved";
  uint64_t c = 1, ki = 1, ki_padded = 1, n = 1, lanes = 1, b = 1, m = 1, kt = 1;
  bool reduces_b = false, c_in_trf = true, named_lanes = true;
  std::vector<Digit> time;     // digits of M and KT
  std::vector<Digit> element;  // KT and B
  std::string entry = "contract_outer", end = "commit";
  std::string stream_pad = "#{0}", trf_pad = "#{0}";  // of KI
  bool fold_declared = true;
  std::string cast;
  bool commit_cast = false, relu = false;
  uint64_t trim = 1;
  uint64_t delay = 0;
  Layout a, to;
  std::string w_name = "w", a_init, w_init;
  std::string a_logical, w_logical;  // empty: all axes
  std::optional<int64_t> zero_point;
  std::optional<Move> fill;  // the command that stores w
  std::map<std::string, uint64_t> axes;

  uint64_t flit() const { return 256 / bits(dtype); }
  uint64_t packet() const { return c * ki_padded; }
  uint64_t pack() const { return packet() / flit(); }
  bool interleaved() const { return mode == "interleaved"; }
  bool listed(const std::string& stage) const {
    static const std::vector<std::string> kOrder = {
        "fetch",         "collect", "contract_outer", "contract_packet", "contract_time",
        "contract_lane", "cast",    "commit_trim",    "commit_cast",     "commit"};
    const auto rank = [](const std::string& s) {
      return std::find(kOrder.begin(), kOrder.end(), s) - kOrder.begin();
    };
    if (rank(stage) < rank(entry) || rank(stage) > rank(end)) return false;
    if (stage == "cast") return !cast.empty();
    if (stage == "commit_cast") return commit_cast;
    return true;
  }

  static bool is_reduced(const Digit& digit) { return digit.text.rfind("KT", 0) == 0; }
  std::vector<Digit> out_time() const {
    std::vector<Digit> all = time;
    all.push_back({"B", b});
    return all;
  }
  std::vector<Digit> kept() const {
    std::vector<Digit> kept;
    for (const Digit& digit : out_time()) {
      if (!is_reduced(digit) && !(reduces_b && digit.text == "B")) kept.push_back(digit);
    }
    return kept;
  }
  // What survives inside the outermost term that is summed.
  uint64_t slots() const {
    uint64_t slots = 1;
    bool inside = false;
    for (const Digit& digit : out_time()) {
      const bool reduced = is_reduced(digit) || (reduces_b && digit.text == "B");
      if (reduced) inside = inside || digit.size > 1;
      if (!reduced && inside) slots *= digit.size;
    }
    return slots;
  }
  // 1,024 cells: 8 lanes of `c` columns, or `lanes` lanes of 32 columns.
  uint64_t capacity() const {
    return interleaved() || !listed("contract_lane") ? 128 / c : 32 / lanes;
  }
  uint64_t flits_in() const { return product(time) * pack(); }
  uint64_t packets() const { return product(time) * b; }
  uint64_t results() const { return product(kept()); }
  uint64_t flits_per_result() const { return interleaved() ? c : lanes * divide_up(c, 8); }
  uint64_t read_elements() const { return c_in_trf ? packet() : ki_padded; }
  // The smallest depth that leaves the declared packet: padding outside of it is dropped.
  uint64_t depth() const {
    uint64_t depth = 0;
    while (uint64_t{1} << depth < (c == 1 ? ki : ki_padded)) ++depth;
    return depth;
  }
  uint64_t out_bits() const { return bits(to.dtype); }
  uint64_t written_bytes() const { return trim * out_bits() / 8; }
  uint64_t writes_per_flit() const {
    return trim > to.row && !to.adjacent({fmt::format("N / {}", to.row), 2}) ? trim / to.row : 1;
  }

  std::string ki_text(const std::string& pad = "#") const {
    return padded("KI", ki, ki_padded, pad);
  }
  std::string c_text() const { return c > 1 ? "C" : ""; }
  std::string lane_text() const {
    return named_lanes ? padded("N", n, lanes) : std::to_string(lanes);
  }
  std::string flit_time(const std::string& pad = "#") const {
    if (pack() == 1) return join(time);
    return c > 1 ? join(time, fmt::format("C / {}", c / 2))
                 : join(time, fmt::format("{} / {}", ki_text(pad), ki_padded / 2));
  }
  std::string flit_packet(const std::string& pad = "#") const {
    if (pack() == 1) return join({c_text(), ki_text(pad)});
    return c > 1 ? fmt::format("C % {}, {}", c / 2, ki_text(pad))
                 : fmt::format("{} % {}", ki_text(pad), ki_padded / 2);
  }
  bool fills_by_collect() const { return entry == "fetch" && c == 1 && a.pad != "#{0}"; }
  std::string fetch_packet() const {
    return fills_by_collect() ? "KI" : join({c_text(), ki_text(stream_pad)});
  }
  uint64_t access_elements() const {
    const Digit columns{"C", c};
    bool together = c == 1;
    for (size_t i = a.digits.size(); !together && i-- > 0;) {
      if (a.digits[i].text == "C") together = true;
      if (a.digits[i].size > 1) break;
    }
    const uint64_t elements = fills_by_collect() ? ki : together ? packet() : ki_padded;
    uint64_t bytes = 32;
    while (elements * bits(dtype) % (bytes * 8) != 0) bytes /= 2;
    return bytes * 8 / bits(dtype);
  }
  uint64_t accesses() const {
    return product(time) * (fills_by_collect() ? ki : packet()) / access_elements();
  }

  // The flit behind contract_lane: its live elements and their text.
  std::pair<std::string, uint64_t> bus() const {
    if (interleaved()) return {named_lanes ? "N" : std::to_string(lanes), named_lanes ? n : lanes};
    return {c > 8 ? "C % 8" : "C", std::min<uint64_t>(c, 8)};
  }
  std::vector<Digit> fold_time() const {
    std::vector<Digit> digits = kept();
    if (interleaved()) {
      digits.push_back({"C", c});
    } else {
      digits.push_back({lane_text(), lanes});
      if (c > 8) digits.push_back({"C / 8", c / 8});
    }
    return digits;
  }

  std::string w_text() const {
    const std::string row = join({c_in_trf ? c_text() : "", ki_text(trf_pad)});
    return fmt::format(
        "  {}: {{memory: trf, dtype: {}, {}, lane: \"{}\", element: \"{}\"{}, init: {}}}\n", w_name,
        w_dtype, place.text(), lane_text(), join(element, row), logical_key(w_logical), w_init);
  }
  std::string tensors_text() const {
    std::string text = fill ? fill->from.text(place, w_init, w_logical) : w_text();
    if (entry == "fetch") text += a.text(place, a_init, a_logical);
    return text;
  }
  std::string command_text() const {
    std::string text;
    if (entry == "fetch") {
      text = command_head(true, "from: " + a.name, delay);
      text +=
          stage("fetch", fmt::format("time: \"{}\", packet: \"{}\"", join(time), fetch_packet()));
    } else {
      const bool whole = entry == "collect";
      text = command_head(
          true,
          fmt::format("stream: {{dtype: {}, {}, time: \"{}\", packet: \"{}\", init: {}}}", dtype,
                      place.text(), whole ? join(time) : flit_time(stream_pad),
                      whole ? fetch_packet() : flit_packet(stream_pad), a_init),
          delay);
    }
    if (zero_point) {
      text += stage("fetch_zero_point_sub", fmt::format("zero_point: {}", *zero_point));
    }
    if (listed("collect")) {
      text += fold_declared ? stage("collect", fmt::format("time: \"{}\", packet: \"{}\"",
                                                           flit_time(), flit_packet()))
                            : "        - collect\n";
    }
    text += stage("contract_outer", fmt::format("with: {}, time: \"{}\", packet: \"{}\"", w_name,
                                                join(out_time()), join({c_text(), ki_text()})));
    if (listed("contract_packet")) {
      text += stage("contract_packet", fmt::format("packet: \"{}\"", join({c_text()})));
    }
    if (listed("contract_time")) {
      text += stage("contract_time", fmt::format("time: \"{}\"", join(kept())));
    }
    const auto [inner, live] = bus();
    if (listed("contract_lane")) {
      text += stage("contract_lane",
                    "mode: " + mode +
                        (fold_declared ? fmt::format(", time: \"{}\", packet: \"{}\"",
                                                     join(fold_time()), padded(inner, live, 8))
                                       : ""));
    }
    if (listed("cast")) text += stage("cast", "dtype: " + cast);
    if (listed("commit_trim")) {
      text += stage("commit_trim", fmt::format("packet: \"{}\"", padded(inner, live, trim)));
    }
    if (listed("commit_cast")) {
      text += stage("commit_cast", std::string("dtype: bf16") + (relu ? ", relu: true" : ""));
    }
    if (listed("commit")) {
      text += stage("commit", fmt::format("to: {}, element: \"{}\"", to.name, to.element()));
    }
    return text;
  }
  // A kernel of this contraction, and of the command that stores its operand.
  RandomKernel kernel() const {
    RandomKernel kernel;
    kernel.axes = axes;
    kernel.tensors = tensors_text();
    if (fill) add_command(kernel, *fill, fill->main);
    add_command(kernel, *this, true, fill ? std::vector<size_t>{0} : std::vector<size_t>{});
    return kernel;
  }
  std::string text() const { return kernel().text(); }
  // The whole sum, where both operands are tensors of the file and nothing cuts the result.
  std::string expect_text() const {
    if (entry != "fetch" || end != "commit" || relu || zero_point) return "";
    return fmt::format("  {}: {{sum_over: [KT, KI{}], product_of: [a, {}]}}\n", to.name,
                       reduces_b ? ", B" : "", fill ? fill->from.name : w_name);
  }

  Figures figures() const {
    Figures f;
    f.delay = delay;
    uint64_t items = entry == "fetch"     ? accesses()
                     : entry == "collect" ? product(time)
                                          : flits_in();
    f.longest = items;
    Flow flow = entry == "fetch" ? Flow::of_fetch(items) : Flow::of_stream(items);
    if (entry == "fetch") {
      f.units["main_fetch"] = {items, items};
      f.units["data_memory"] = {items, items};
      f.units["fetch_adapter"] = {items, items};
      f.dm_read = items * access_elements() * bits(dtype) / 8 * place.all_slices();
      flow.pass(1);
    } else {
      f.units["main_source"] = {0, items};
    }
    if (entry != "contract_outer") {
      f.units["main_collect"] = {items, flits_in()};
      if (entry == "fetch") {
        const uint64_t all = fills_by_collect() ? ki : packet();
        std::vector<uint64_t> ends;
        for (uint64_t j = 1; j <= pack(); ++j) {
          ends.push_back(std::min(j * flit(), all) / access_elements() - 1);
        }
        flow.collect_parts(all / access_elements(), ends);
      } else {
        flow.serve(pack(), true);
      }
      flow.pass(1);
    }
    items = packets();
    f.longest = std::max({f.longest, flits_in(), items});
    f.units["stream_adapter"] = {flits_in(), items};
    f.units["trf"] = {0, items};
    f.units["trf_sequencer"] = {items, items};
    f.pass({"multiplier", "packet_reducer", "time_reducer", "lane_folder", "cast",
            "main_commit_adapter"},
           items);
    f.mac_useful = m * kt * b * c * ki * (named_lanes ? n : lanes) * place.slices;
    f.mac_issued = items * 2 * flit() * lanes * place.all_slices();
    const uint64_t last_flit = flow.adapt(pack(), b);
    flow.pass(1);
    flow.meet_operands();
    flow.pass(1);
    static const std::map<uint64_t, uint64_t> kTree = {{4, 7}, {8, 6}, {16, 5}};
    flow.pass(listed("contract_packet") ? kTree.at(bits(dtype)) : 1);
    bool reused = false;
    if (listed("contract_time")) {
      items = results();
      f.units["time_reducer"].out = items;
      f.pass({"lane_folder", "cast", "main_commit_adapter"}, items);
      flow.reduce(last_packets());
      reused = items > capacity();
    }
    flow.pass(1);
    if (listed("contract_lane")) {
      items *= flits_per_result();
      f.longest = std::max(f.longest, items);
      f.units["lane_folder"].out = items;
      f.pass({"cast", "main_commit_adapter"}, items);
      flow.serve(flits_per_result(), true);
    }
    flow.pass(3);
    f.units["main_commit"] = {items, 0};
    uint64_t behind = 1;
    if (listed("commit")) {
      const uint64_t writes = items * writes_per_flit();
      f.units["main_commit"].out = writes;
      f.units["data_memory"].in += writes;
      f.dm_write = items * written_bytes() * place.all_slices();
      f.longest = std::max(f.longest, writes);
      f.overlaps = entry == "fetch" && flow.first() < last_flit;
      f.accesses = f.units["data_memory"].in;
      flow.serve(writes_per_flit(), false);
      behind = 2;
    }
    if (!reused) f.cycles = flow.last() + behind;
    return f;
  }

 private:
  // For each result, in order, the packet that completes it.
  std::vector<uint64_t> last_packets() const {
    std::vector<uint64_t> last(results(), 0);
    const std::vector<Digit> digits = out_time();
    for (uint64_t packet = 0; packet < packets(); ++packet) {
      uint64_t rest = packet, result = 0, scale = 1;
      for (size_t i = digits.size(); i-- > 0;) {
        if (!is_reduced(digits[i]) && !(reduces_b && digits[i].text == "B")) {
          result += rest % digits[i].size * scale;
          scale *= digits[i].size;
        }
        rest /= digits[i].size;
      }
      last[result] = packet;
    }
    return last;
  }
};

struct ContractionOptions {
  uint64_t machine_slices = 256;
  bool plain = false;      // a stream at contract_outer, a sink behind contract_lane, no padding
  bool fill = false;       // the register file is stored by a command
  bool any_slots = false;  // also where the accumulator does not have them
};

// A command that stores the operand x.w in the register file; nothing where the rows are too
// narrow.
inline std::optional<Move> random_fill(Random& random, const Contraction& x) {
  Move move;
  move.main = random.one_in(3);
  move.place = x.place;
  move.end = "to_trf";
  move.lanes = x.lanes;
  move.delay = random.one_in(4) ? random.below(30) : 0;
  move.to.name = x.w_name;
  if (x.lanes > 1) move.time.push_back({x.lane_text(), x.lanes});
  move.time.insert(move.time.end(), x.element.begin(), x.element.end());
  Layout& from = move.from;
  from.name = x.w_name + "_dm";
  from.dtype = x.dtype;
  from.digits = move.time;
  from.inner = move.row_axis = "KI";
  from.width = from.row = move.row_width = x.ki;
  move.packet = x.ki;
  const bool rows = x.c_in_trf && x.c > 1;
  if (rows && x.ki != x.ki_padded) return std::nullopt;
  if (x.ki * bits(x.dtype) % (rows && move.main ? 8 : 64) != 0) return std::nullopt;
  if (rows) {
    move.rows = Digit{"C", x.c};
    from.digits.push_back(*move.rows);
  }
  random.shuffle(from.digits);
  move.collect_declared = !rows && random.one_in(2);
  move.to.dtype = x.dtype;
  return move;
}

inline std::optional<Contraction> try_contraction(Random& random,
                                                  const ContractionOptions& options) {
  const bool plain = options.plain;
  Contraction x;
  x.dtype = random.of<std::string>({"bf16", "i8", "f8e4m3", "f8e5m2", "i4"});
  x.w_dtype = x.dtype;
  if (!plain && !options.fill && random.one_in(2)) {
    if (x.dtype == "i4") x.w_dtype = "i5";
    if (x.dtype == "i8") x.w_dtype = "i9";
  }
  x.mode = random.of<std::string>({"interleaved", "sequential"});
  const uint64_t packet = random.one_in(4) ? x.flit() : 2 * x.flit();
  x.c = std::min<uint64_t>(uint64_t{1} << random.below(6), packet);  // up to 32 columns
  x.ki = x.ki_padded = packet / x.c;
  if (!plain && x.ki > 2 && random.one_in(3)) x.ki -= 1 + random.below(x.ki / 2 - 1);
  x.b = 1 + random.below(4);
  x.n = x.lanes = uint64_t{1} << random.below(4);
  if (!plain && x.lanes > 2 && random.one_in(4)) x.n -= 1 + random.below(x.lanes / 2 - 1);
  x.c_in_trf = random.below(2) == 0;
  x.fold_declared = plain || random.one_in(2);
  if (plain) {
    x.m = 1 + random.below(6);
    x.kt = 1 + random.below(5);
    x.time = {{"M", x.m}, {"KT", x.kt}};
    x.place.slice = "1 # 256";
  } else {
    const uint64_t m_out = 1 + random.below(4), m_in = 1 + random.below(3);
    x.m = m_out * m_in;
    if (m_out > 1 && m_in > 1 && random.one_in(3)) x.m -= 1;
    x.time = two_digits("M", x.m, m_out, m_in);
    const uint64_t kt_out = 1 + random.below(3), kt_in = 1 + random.below(3);
    x.kt = kt_out * kt_in;
    const std::vector<Digit> kt = two_digits("KT", x.kt, kt_out, kt_in);
    x.time.insert(x.time.end(), kt.begin(), kt.end());
    x.reduces_b = random.one_in(6);
    x.place = random_place(random, options.machine_slices, x.axes);
    if (x.ki < x.ki_padded) {  // zero is needed on one side
      if (random.one_in(3)) x.stream_pad = "#";
      if (x.stream_pad == "#{0}" && random.one_in(3)) x.trf_pad = "#";
    }
    if (!options.fill && x.n == x.lanes && random.one_in(8)) x.named_lanes = false;
    x.delay = random.one_in(4) ? random.below(30) : 0;
  }
  x.element = {{"KT", x.kt}, {"B", x.b}};
  random.shuffle(x.time);
  random.shuffle(x.element);
  x.axes["M"] = x.m;
  x.axes["KT"] = x.kt;
  x.axes["C"] = x.c;
  x.axes["KI"] = x.ki;
  x.axes["N"] = x.n;
  x.axes["B"] = x.b;

  if (plain) {
    x.end = "contract_lane";
  } else if (random.one_in(3)) {
    x.end = random.of<std::string>(
        {"contract_outer", "contract_packet", "contract_time", "contract_lane", "commit_trim"});
  } else if (!x.named_lanes) {
    x.end = "contract_lane";
  }
  if (x.listed("contract_time") && x.slots() > x.capacity() && !options.any_slots) {
    return std::nullopt;
  }

  // The stream.
  Layout& a = x.a;
  a.name = "a";
  a.dtype = x.dtype;
  a.inner = "KI";
  a.width = x.ki;
  a.row = x.ki_padded;
  if (!plain) x.entry = random.of<std::string>({"fetch", "fetch", "collect", "contract_outer"});
  if (x.entry == "fetch") {
    a.digits = x.time;
    random.shuffle(a.digits);
    const Digit columns{"C", x.c};
    const bool anywhere = x.ki_padded * bits(x.dtype) % 8 == 0 && random.one_in(2);
    a.digits.insert(
        anywhere ? a.digits.begin() + static_cast<ptrdiff_t>(random.below(a.digits.size() + 1))
                 : a.digits.end(),
        columns);
    if (x.c == 1 && x.ki * bits(x.dtype) % 64 == 0 && random.one_in(2)) {
      a.row = x.ki + (random.one_in(2) ? 0 : 2);
    } else if (a.row > a.width) {
      x.stream_pad = a.pad = "#{0}";
    }
  }
  // What is not zero any more behind the subtraction must meet zeros of the other operand.
  const bool zeros_matter = x.ki < x.ki_padded && !x.fills_by_collect() && x.trf_pad != "#{0}";
  if (x.entry == "fetch" && bits(x.dtype) <= 8 && is_integer_name(x.dtype) && !zeros_matter &&
      random.one_in(2)) {
    const auto half = static_cast<int64_t>(uint64_t{1} << (bits(x.dtype) - 1));
    x.zero_point = static_cast<int64_t>(random.below(static_cast<uint64_t>(2 * half))) - half;
  }
  x.a_init = random_init(random, x.dtype, random.one_in(2));
  x.w_init = random_init(random, x.w_dtype, random.one_in(2));
  if (!plain) {  // all slices hold the same, or the values are a list
    uint64_t a_volume = x.m * x.kt * x.c * x.ki * x.place.slices;
    uint64_t w_volume =
        x.kt * x.b * (x.c_in_trf ? x.c : 1) * x.ki * (x.named_lanes ? x.n : 1) * x.place.slices;
    if (x.entry == "fetch" && random.one_in(4)) {
      x.a_logical = "M, KT, C, KI";
      a_volume /= x.place.slices;
    }
    if (random.one_in(4)) {
      x.w_logical = join({"KT", "B", x.c_in_trf ? "C" : "", "KI", x.named_lanes ? "N" : ""});
      w_volume /= x.place.slices;
    }
    constexpr uint64_t kMaxListed = 1000;
    if (a_volume <= kMaxListed && random.one_in(3)) {
      x.a_init = special_values(random, x.dtype, a_volume);
    }
    if (w_volume <= kMaxListed && random.one_in(3)) {
      x.w_init = special_values(random, x.w_dtype, w_volume);
    }
  }

  if (options.fill) {
    x.fill = random_fill(random, x);
    if (!x.fill) return std::nullopt;
  }

  // The way out.
  const std::string accumulator = is_integer_name(x.dtype) ? "i32" : "f32";
  if (!plain && random.one_in(2)) x.cast = random.of(engine_casts(accumulator));
  const std::string flit_type = x.cast.empty() ? accumulator : x.cast;
  const auto [inner, live] = x.bus();
  const uint64_t grain = 64 / bits(flit_type);
  x.trim = round_up(live, grain);
  while (x.trim + grain <= 256 / bits(flit_type) && random.one_in(3)) x.trim += grain;
  if (flit_type == "f32" && (x.trim == 4 || x.trim == 8) && random.one_in(2)) {
    x.commit_cast = true;
    x.relu = random.one_in(2);
  }
  Layout& to = x.to;
  to.name = "c";
  to.dtype = x.commit_cast ? "bf16" : flit_type;
  to.digits = x.fold_time();
  to.inner = inner;
  to.width = live;
  to.row = x.trim;
  const uint64_t half = live / 2;
  if (x.interleaved() && x.trim == live && half > 0 && half * bits(to.dtype) % 64 == 0 &&
      random.one_in(2)) {
    to.digits.insert(to.digits.begin(), {fmt::format("N / {}", half), 2});
    to.inner = fmt::format("N % {}", half);
    to.width = to.row = half;
  } else if (random.one_in(4)) {
    to.row += 64 / bits(to.dtype);
  }
  random.shuffle(to.digits);
  return x;
}

inline Contraction random_contraction(Random& random, const ContractionOptions& options) {
  for (;;) {
    if (const auto x = try_contraction(random, options)) return *x;
  }
}

}  // namespace rngdsim::test
