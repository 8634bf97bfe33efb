// SPDX-License-Identifier: Apache-2.0
// Random kernels: legal ones lower to the counts that closed forms give, each with one illegal
// change is refused, and arbitrary ones are judged without fault and never against the definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t below(uint64_t n) { return engine_() % n; }
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

std::string join(const std::vector<std::string>& terms) {
  std::string text;
  for (const std::string& term : terms) text += (text.empty() ? "" : ", ") + term;
  return text.empty() ? "1" : text;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

uint64_t bytes(const std::string& dtype) {
  return dtype == "i8" || dtype == "f8e4m3" ? 1 : dtype == "bf16" || dtype == "i16" ? 2 : 4;
}

// ------------------------------------------------------------------------------------------ moves

// A copy within data memory: digits of two axes and W innermost, in any orders on both sides.
struct Move {
  std::string dtype, context, slice = "1 # 256", w_text;
  uint64_t outer = 1, w_bytes = 8, slices = 1, a = 1, b = 1;
  std::vector<std::string> element, time, destination;
  std::string text() const {
    const uint64_t flit = 32 / bytes(dtype);
    const uint64_t w = w_bytes / bytes(dtype);
    const bool cut = w_bytes > 32;
    const std::string collected_time = cut ? ", W / " + std::to_string(flit) : "";
    const std::string packet = cut ? "W % " + std::to_string(flit) : "W";
    const std::string padded = w_bytes % 32 == 0 ? packet : packet + " # " + std::to_string(flit);
    return "kernel: move\naxes: {A: " + std::to_string(a) + ", B: " + std::to_string(b) +
           ", W: " + std::to_string(w) + ", S: " + std::to_string(slices) +
           "}\ntensors:\n  x: {memory: dm, dtype: " + dtype + ", slice: \"" + slice +
           "\", element: \"" + join(element) + ", W\"}\nprogram:\n  - " + context +
           ":\n      from: x\n      stages:\n        - fetch: {time: \"" + join(time) +
           "\", packet: \"W\"}\n" + "        - collect: {time: \"" + join(time) + collected_time +
           "\", packet: \"" + padded + "\"}\n" + "        - commit_trim: {packet: \"" + packet +
           "\"}\n        - commit: {to: y, element: \"" + join(destination) + ", W\"}\n";
  }
};

Move random_move(Random& random) {
  Move move;
  move.dtype = random.of<std::string>({"i8", "bf16", "f32", "i32", "i16", "f8e4m3"});
  move.context = random.of<std::string>({"main", "sub"});
  move.w_bytes = random.of<uint64_t>({8, 16, 24, 32, 64, 96, 128});
  std::vector<std::string> digits;
  for (const char* axis : {"A", "B"}) {
    const uint64_t inner = random.of<uint64_t>({1, 2, 3, 4, 5});
    const uint64_t outer = random.of<uint64_t>({1, 2, 3, 4, 7});
    const std::string name = axis;
    (name == "A" ? move.a : move.b) = inner * outer;
    move.outer *= inner * outer;
    digits.push_back(name + " / " + std::to_string(inner));
    digits.push_back(name + " % " + std::to_string(inner));
  }
  move.element = move.time = move.destination = digits;
  random.shuffle(move.element);
  random.shuffle(move.time);
  random.shuffle(move.destination);
  move.slices = random.of<uint64_t>({1, 3, 100, 256});
  move.slice = move.slices == 256 ? "S" : "S # 256";
  return move;
}

TEST(RandomMoves, CountsAreTheClosedForms) {
  Random random(1);
  for (int i = 0; i < 600; ++i) {
    const Move move = random_move(random);
    const std::string text = move.text();
    SCOPED_TRACE(text);
    const LoweredKernel lowered = lower_text(text);
    ASSERT_EQ(lowered.errors(), "");
    const Command& command = lowered.command(0);
    const bool main = move.context == "main";
    // The largest power of two up to 32 that divides the packet; 8 in sub.
    uint64_t read = 8;
    while (main && read < 32 && move.w_bytes % (2 * read) == 0) read *= 2;
    EXPECT_EQ(command.fetch->access_bytes, read);
    EXPECT_EQ(command.fetch->accesses, move.outer * move.w_bytes / read);
    const uint64_t flits = move.outer * ((move.w_bytes + 31) / 32);
    EXPECT_EQ(command.collect->flits, flits);
    const uint64_t valid = std::min<uint64_t>(move.w_bytes, 32);
    EXPECT_EQ(command.commit->write_bytes, main ? valid : 8);
    EXPECT_EQ(command.commit->writes, main ? flits : flits * valid / 8);
    EXPECT_EQ(command.live_slices, move.slices);
    EXPECT_EQ(command.bound.cycles,
              263 + std::max({command.fetch->accesses, flits, command.commit->writes}));
    EXPECT_EQ(lowered.tensor("y").bytes, move.outer * move.w_bytes);
  }
}

TEST(RandomMoves, OneIllegalChangeIsRefused) {
  Random random(2);
  int tried = 0;
  for (int i = 0; i < 120; ++i) {
    Move move = random_move(random);
    if (move.a < 2 || move.b < 2) continue;
    const std::string text = move.text();
    const std::string destination = "to: y, element: \"" + join(move.destination);
    std::vector<std::string> wrong = {
        replaced(text, "slice: \"", "slice: \"3, "),                // 768 slices
        replaced(text, "packet: \"W\"}", "packet: \"W, A\"}"),      // a digit twice
        replaced(text, "fetch: {time: \"", "fetch: {time: \"Q, "),  // an unknown axis
        replaced(text, "fetch: {time: \"", "fetch: {time: \"2, "),  // then Collect's Time is wrong
        replaced(text, "commit: {to: y, element: \"", "commit: {to: y, element: \"2, "),
        replaced(text, "commit: {to: y, element: \"", "commit: {to: y, element: \"1 #{0} 2, "),
        replaced(text, "commit_trim: {packet: \"", "commit_trim: {packet: \"1 # 2, "),
        replaced(text, "from: x", "from: y"),
        replaced(text, "        - commit_trim", "        - collect\n        - commit_trim"),
        replaced(text, destination + ", W\"}",
                 destination + ", W # 524296\"}"),  // beyond the memory
        replaced(text, destination + ", W\"}", destination + ", W = 1\"}"),
    };
    // A destination without an axis.
    Move without = move;
    without.destination = {"B"};
    wrong.push_back(without.text());
    // A stream that leaves an axis out.
    without = move;
    without.time = {"B"};
    wrong.push_back(without.text());
    for (const std::string& kernel : wrong) {
      if (kernel == text) continue;
      SCOPED_TRACE(kernel);
      const LoweredKernel lowered = lower_text(kernel);
      EXPECT_NE(lowered.errors(), "");
      ++tried;
    }
  }
  EXPECT_GT(tried, 500);
}

// ----------------------------------------------------------------------------------- contractions

// sum over KT and KI; OutPacket [C, KI], lanes N; TRF Element [KT, B] (any order), C, KI or KI
// alone.
struct Contraction {
  std::string dtype, mode, slice = "1 # 256";
  uint64_t m = 1, kt = 1, c = 1, ki = 1, n = 1, b = 1, flit = 16;
  bool c_in_trf = true;
  std::vector<std::string> time;     // M and KT in an order
  std::vector<std::string> element;  // KT and B in an order
  uint64_t packet() const { return c * ki; }
  bool full() const { return packet() == 2 * flit; }
  std::string flit_time() const {
    if (!full()) return join(time);
    const std::string digit =
        c > 1 ? "C / " + std::to_string(c / 2) : "KI / " + std::to_string(ki / 2);
    return join(time) + ", " + digit;
  }
  std::string flit_packet() const {
    if (!full()) return "C, KI";
    return c > 1 ? "C % " + std::to_string(c / 2) + ", KI" : "C, KI % " + std::to_string(ki / 2);
  }
  std::vector<std::string> kept() const {
    std::vector<std::string> kept;
    for (const std::string& term : time) {
      if (term != "KT") kept.push_back(term);
    }
    kept.push_back("B");
    return kept;
  }
  std::string text() const {
    const std::string inner = c_in_trf ? ", C, KI" : ", KI";
    const std::string lane = n < 8 ? "N # 8" : "N";
    const std::string out = join(kept());
    const std::string fold = mode == "interleaved"
                                 ? "time: \"" + out + ", C\", packet: \"" + lane + "\""
                                 : "time: \"" + out + ", N, C # " +
                                       std::to_string((c + 7) / 8 * 8) + " / 8\", packet: \"C # " +
                                       std::to_string((c + 7) / 8 * 8) + " % 8\"";
    return "kernel: contraction\naxes: {M: " + std::to_string(m) + ", KT: " + std::to_string(kt) +
           ", C: " + std::to_string(c) + ", KI: " + std::to_string(ki) +
           ", N: " + std::to_string(n) + ", B: " + std::to_string(b) +
           "}\ntensors:\n  w: {memory: trf, dtype: " + dtype + ", slice: \"" + slice +
           "\", lane: \"N\", element: \"" + join(element) + inner +
           "\"}\nprogram:\n  - main:\n      stream: {dtype: " + dtype + ", slice: \"" + slice +
           "\", time: \"" + flit_time() + "\", packet: \"" + flit_packet() +
           "\"}\n      stages:\n        - contract_outer: {with: w, time: \"" + join(time) +
           ", B\", packet: \"C, KI\"}\n" +
           "        - contract_packet: {packet: \"C\"}\n        - contract_time: {time: \"" + out +
           "\"}\n        - contract_lane: {mode: " + mode + ", " + fold + "}\n";
  }
};

Contraction random_contraction(Random& random) {
  Contraction x;
  const std::vector<std::pair<std::string, uint64_t>> types = {
      {"bf16", 16}, {"i8", 32}, {"f8e4m3", 32}, {"f8e5m2", 32}, {"i4", 64}};
  const auto& [dtype, flit] = random.of(types);
  x.dtype = dtype;
  x.flit = flit;
  x.mode = random.of<std::string>({"interleaved", "sequential"});
  const uint64_t packet = random.below(4) == 0 ? flit : 2 * flit;
  x.c = uint64_t{1} << random.below(6);  // up to 32 columns
  x.ki = packet / x.c;
  if (x.ki == 0) {
    x.c = packet;
    x.ki = 1;
  }
  x.m = 1 + random.below(6);
  x.kt = 1 + random.below(5);
  x.b = 1 + random.below(4);
  x.n = uint64_t{1} << random.below(4);
  x.c_in_trf = random.below(2) == 0;
  x.time = {"M", "KT"};
  x.element = {"KT", "B"};
  random.shuffle(x.time);
  random.shuffle(x.element);
  return x;
}

uint64_t slots_needed(const Contraction& x) {
  if (x.kt == 1) return 1;  // nothing is reduced in time
  return x.time.front() == "KT" ? x.m * x.b : x.b;
}
uint64_t slots_held(const Contraction& x) { return x.mode == "interleaved" ? 128 / x.c : 32 / x.n; }

TEST(RandomContractions, CountsAreTheClosedForms) {
  Random random(3);
  int refused = 0;
  for (int i = 0; i < 600; ++i) {
    const Contraction x = random_contraction(random);
    const std::string text = x.text();
    SCOPED_TRACE(text);
    const LoweredKernel lowered = lower_text(text);
    if (slots_needed(x) > slots_held(x)) {
      EXPECT_NE(lowered.errors().find("the accumulator needs " + std::to_string(slots_needed(x)) +
                                      " slots"),
                std::string::npos);
      ++refused;
      continue;
    }
    ASSERT_EQ(lowered.errors(), "");
    const Command& command = lowered.command(0);
    const uint64_t pack = x.full() ? 2 : 1;
    EXPECT_EQ(command.stream->items, x.m * x.kt * pack);
    EXPECT_EQ(command.outer->pack_size, pack);
    EXPECT_EQ(command.outer->time_broadcast, x.b);
    EXPECT_EQ(command.outer->packets, x.m * x.kt * x.b);
    EXPECT_EQ(command.outer->read_elements, x.c_in_trf ? x.packet() : x.ki);
    EXPECT_EQ(command.outer->packet_broadcast, x.c_in_trf ? 1 : x.c);
    uint64_t depth = 0;
    while (uint64_t{1} << depth < x.ki) ++depth;
    EXPECT_EQ(command.packet_reduce->depth, depth);
    EXPECT_EQ(command.packet_reduce->columns, x.c);
    EXPECT_EQ(command.time_reduce->slots, slots_needed(x));
    EXPECT_EQ(command.time_reduce->capacity, slots_held(x));
    EXPECT_EQ(command.time_reduce->results, x.m * x.b);
    const uint64_t per_result = x.mode == "interleaved" ? x.c : x.n * ((x.c + 7) / 8);
    EXPECT_EQ(command.lane_fold->flits, x.m * x.b * per_result);
    EXPECT_EQ(command.mac_useful, x.m * x.kt * x.b * x.packet() * x.n);
    EXPECT_EQ(command.mac_issued, x.m * x.kt * x.b * 2 * x.flit * x.n * 256);
    EXPECT_EQ(command.bound.cycles, 263 + std::max({command.stream->items, command.outer->packets,
                                                    command.lane_fold->flits}));
    // The TRF walk visits what the definition says.
    const TensorVersion& w = lowered.tensor("w");
    const Mapping& out_time = command.stages[0].after.time;
    const Mapping& out_packet = command.stages[0].after.packet;
    const AxisTable& axes = lowered.program.axes;
    const auto held = [&](Cell cell) {  // the index as far as the TRF holds it
      Cell result = cell;
      result.index.clear();
      for (const auto& entry : cell.index) {
        const bool in_element = axes.name(entry.first) != "M" && axes.name(entry.first) != "N" &&
                                (x.c_in_trf || axes.name(entry.first) != "C");
        if (in_element) result.index.push_back(entry);
      }
      return result;
    };
    for (uint64_t t = 0; t < out_time.size(); ++t) {
      for (uint64_t p = 0; p < out_packet.size(); p += 1 + random.below(8)) {
        const auto base = static_cast<uint64_t>(command.outer->trf_sequencer.offset(t));
        const uint64_t element = base + p % command.outer->read_elements;
        const Cell wanted =
            Mapping::concat({out_time, out_packet}).cell(t * out_packet.size() + p, axes);
        ASSERT_EQ(w.element.cell(element, axes), held(wanted));
      }
    }
  }
  EXPECT_GT(refused, 10);
}

TEST(RandomContractions, OneIllegalChangeIsRefused) {
  Random random(4);
  int tried = 0;
  for (int i = 0; i < 150; ++i) {
    Contraction x = random_contraction(random);
    if (slots_needed(x) > slots_held(x) || x.m < 2 || x.kt < 2 || x.b < 2) continue;
    const std::string text = x.text();
    std::vector<std::string> wrong = {
        replaced(text, "time: \"" + join(x.time) + ", B\"", "time: \"B, " + join(x.time) + "\""),
        replaced(text, "lane: \"N\"", "lane: \"N, 3\""),
        replaced(text, "packet: \"C\"", "packet: \"C, 2\""),
        replaced(text, "contract_time: {time: \"" + join(x.kept()), "contract_time: {time: \"B, M"),
        replaced(text, "dtype: " + x.dtype, "dtype: i32"),
        replaced(text, "slice: \"1 # 256\"", "slice: \"M # 256\""),
        replaced(text, "slice: \"1 # 256\"", "slice: \"1 # 128\""),
        replaced(text, "packet: \"C, KI\"}", "packet: \"C, KI, 4\"}"),
        replaced(text, x.mode + ", time: \"" + join(x.kept()),
                 x.mode + ", time: \"2, " + join(x.kept())),
        replaced(text, "        - contract_packet",
                 "        - contract_lane: {mode: " + x.mode + "}\n        - contract_packet"),
        replaced(text, "with: w", "with: v"),
        replaced(text, "element: \"", "element: \"65536, "),
    };
    if (x.c_in_trf && x.c > 1 && x.ki > 1)
      wrong.push_back(replaced(text, ", C, KI\"}\nprogram", ", KI, C\"}\nprogram"));
    if (x.c > 1)
      wrong.push_back(replaced(text, "contract_packet: {packet: \"C\"}",
                               "contract_packet: {packet: \"C / 2, 1 # 2\"}"));
    for (const std::string& kernel : wrong) {
      SCOPED_TRACE(kernel);
      EXPECT_NE(lower_text(kernel).errors(), "");
      ++tried;
    }
  }
  EXPECT_GT(tried, 400);
}

// ------------------------------------------------------------------------------ arbitrary mappings

std::string random_mapping(Random& random, int depth) {
  static const std::vector<std::string> kAtoms = {"A", "B", "C", "D", "1", "2", "3", "A", "B", "C"};
  std::string text;
  const uint64_t terms = 1 + random.below(3);
  for (uint64_t i = 0; i < terms; ++i) {
    std::string term = depth > 0 && random.below(5) == 0
                           ? "[" + random_mapping(random, depth - 1) + "]"
                           : random.of(kAtoms);
    for (uint64_t s = random.below(3); s > 0; --s) {
      term += random.of<std::string>({" / ", " % ", " = ", " # ", " #{0} ", " #{!} "}) +
              std::to_string(random.of<uint64_t>({1, 2, 3, 4, 5, 8, 12, 16, 32, 64}));
    }
    text += (i > 0 ? ", " : "") + term;
  }
  return text;
}

// Nothing but errors may come of nonsense; what is accepted obeys the definition of a move.
TEST(ArbitraryMappings, AcceptedMovesMeanWhatTheySay) {
  Random random(5);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    // Parts of a sensible kernel, each now and then replaced.
    const auto part = [&](const std::string& sensible) {
      return random.below(5) == 0 ? random_mapping(random, 1) : sensible;
    };
    const std::string inner =
        random.of<std::string>({"D", "C, D", "D # 16", "C # 4, D", "D #{0} 16"});
    const std::string text =
        "kernel: any\naxes: {A: 6, B: 4, C: 2, D: 8}\ntensors:\n  x: {memory: dm, dtype: " +
        random.of<std::string>({"i8", "bf16", "f32", "i4"}) + ", slice: \"" +
        random.of<std::string>(
            {"1 # 256", "A # 256", "A / 2 # 256", "B / 2 # 256", "A # 8 / 4 # 256"}) +
        "\", element: \"" + part("A, B, " + inner) + "\"}\nprogram:\n  - " +
        random.of<std::string>({"main", "sub"}) +
        ":\n      from: x\n      stages:\n        - fetch: {time: \"" + part("B, A") +
        "\", packet: \"" + part(inner) +
        "\"}\n        - collect\n        - commit_trim: {packet: \"" + part(inner) +
        "\"}\n        - commit: {to: y, element: \"" + part("A, B, " + inner) + "\"}\n";
    SCOPED_TRACE(text);
    const LoweredKernel lowered = lower_text(text);
    if (lowered.errors() != "") continue;
    ++accepted;
    const AxisTable& axes = lowered.program.axes;
    const Command& command = lowered.command(0);
    const TensorVersion& x = lowered.tensor("x");
    const TensorVersion& y = lowered.tensor("y");
    // Fetch: a live position of the stream reads the element with its index, as far as x has the
    // axis.
    const Mapping stream = Mapping::concat({command.source.time, command.source.packet});
    for (uint64_t p = 0; p < stream.size(); ++p) {
      const Cell wanted = stream.cell(p, axes);
      if (!wanted.live) continue;
      const auto slot = static_cast<uint64_t>(command.fetch->sequencer.offset(p));
      ASSERT_LT(slot, x.element.size()) << p;
      Cell held = x.element.cell(slot, axes);
      ASSERT_TRUE(held.live) << p;
      const auto has = [&](AxisId axis) {
        const std::vector<AxisId> all = axes_of({&x.element}, axes);
        return std::find(all.begin(), all.end(), axis) != all.end();
      };
      Cell expected = wanted;
      expected.index.clear();
      for (const auto& entry : wanted.index) {
        if (has(entry.first)) expected.index.push_back(entry);
      }
      ASSERT_EQ(held, expected) << p;
    }
    // Commit: every live slot is written, by the position with its index; zeros by zeros.
    const Mapping flits = Mapping::concat({command.final_shape.time, command.final_shape.packet});
    std::vector<int> writes(y.element.size(), 0);
    for (uint64_t p = 0; p < flits.size(); ++p) {
      const auto slot = static_cast<uint64_t>(command.commit->sequencer.offset(p));
      ASSERT_LT(slot, y.element.size());
      const Cell from = flits.cell(p, axes);
      const Cell to = y.element.cell(slot, axes);
      ASSERT_EQ(from.live, to.live) << p;
      if (from.live) {
        ASSERT_EQ(from, to) << p;
      }
      if (!to.live && to.pad == PadKind::kZero) {
        ASSERT_EQ(from.pad, PadKind::kZero) << p;
      }
      if (!to.live) {
        ASSERT_NE(to.pad, PadKind::kBottom) << p;
      }
      ++writes[slot];
    }
    for (uint64_t slot = 0; slot < writes.size(); ++slot) {
      const Cell cell = y.element.cell(slot, axes);
      if (cell.live) {
        ASSERT_EQ(writes[slot], 1) << slot;
      }
      if (!cell.live && cell.pad == PadKind::kZero) {
        ASSERT_GE(writes[slot], 1) << slot;
      }
    }
  }
  EXPECT_GT(accepted, 150);
}

TEST(ArbitraryMappings, ContractionsAreJudgedWithoutFault) {
  Random random(6);
  int accepted = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto part = [&](const std::string& sensible) {
      return random.below(6) == 0 ? random_mapping(random, 1) : sensible;
    };
    const std::string w = random.of<std::string>({"B, C, D", "C, D", "D", "B, D", "B, C, D # 16"});
    const std::string text =
        "kernel: any\naxes: {A: 6, B: 4, C: 2, D: 16}\ntensors:\n  w: {memory: trf, dtype: bf16, "
        "slice: \"1 # 256\", lane: \"" +
        part("8") + "\", element: \"" + part(w) +
        "\"}\nprogram:\n  - main:\n      stream: {dtype: bf16, slice: \"1 # 256\", time: \"" +
        part("A, C") + "\", packet: \"" + part("D") +
        "\"}\n      stages:\n        - contract_outer: {with: w, time: \"" + part("A, B") +
        "\", packet: \"" + part("C, D") + "\"}\n        - contract_packet: {packet: \"" +
        part("C") + "\"}\n        - contract_time: {time: \"" + part("A, B") +
        "\"}\n        - contract_lane: {mode: " +
        random.of<std::string>({"interleaved", "sequential"}) +
        "}\n        - cast: {dtype: bf16}\n";
    SCOPED_TRACE(text);
    const LoweredKernel lowered = lower_text(text);
    if (lowered.errors() != "") continue;
    ++accepted;
    const Command& command = lowered.command(0);
    EXPECT_EQ(command.outer->packets, command.stages[0].after.time.size());
    EXPECT_LE(command.time_reduce->slots, command.time_reduce->capacity);
    EXPECT_EQ(command.final_items, command.final_shape.time.size());
    EXPECT_LE(command.mac_useful, command.mac_issued);
    uint64_t all = 1;
    for (const auto& loop : command.time_reduce->loops) all *= loop.size;
    EXPECT_EQ(all, command.outer->packets);
  }
  EXPECT_GT(accepted, 10);
}

}  // namespace
}  // namespace rngdsim
