// SPDX-License-Identifier: Apache-2.0
// Random kernels: legal ones lower to the counts that closed forms give, each with one illegal
// change is refused, and arbitrary ones are judged without fault and never against the definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/lowering_fixture.h"
#include "tests/support/random_kernel.h"

namespace rngdsim {
namespace {

using test::Contraction;
using test::ContractionOptions;
using test::join;
using test::Move;
using test::MoveOptions;
using test::Random;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// ------------------------------------------------------------------------------------------ moves

Move plain_move(Random& random) {
  MoveOptions options;
  options.plain = true;
  return test::random_move(random, options);
}

TEST(RandomMoves, CountsAreTheClosedForms) {
  Random random(1);
  for (int i = 0; i < 800; ++i) {
    const Move move = i % 2 == 0 ? plain_move(random) : test::random_move(random, {});
    const std::string text = move.text();
    SCOPED_TRACE(text);
    const LoweredKernel lowered = lower_text(text);
    ASSERT_EQ(lowered.errors(), "");
    const Command& command = lowered.command(0);
    ASSERT_EQ(command.fetch.has_value(), !move.streams());
    if (command.fetch) {
      EXPECT_EQ(command.fetch->access_bytes, move.access_bytes());
      EXPECT_EQ(command.fetch->accesses, move.accesses());
    }
    ASSERT_EQ(command.collect.has_value(), move.listed("collect"));
    EXPECT_EQ(command.collect ? command.collect->flits : move.flits(), move.flits());
    ASSERT_EQ(command.to_trf.has_value(), move.listed("to_trf"));
    EXPECT_EQ(command.to_trf ? command.to_trf->lanes : move.lanes, move.lanes);
    EXPECT_EQ(command.live_slices, move.place.slices);
    EXPECT_EQ(command.clusters_used, move.place.clusters);
    EXPECT_EQ(command.bound.cycles, 263 + move.delay + move.figures().longest);
    ASSERT_EQ(command.commit.has_value(), move.listed("commit"));
    if (!command.commit) continue;
    EXPECT_EQ(command.commit->write_bytes, move.written_bytes() / move.writes_per_flit());
    EXPECT_EQ(command.commit->writes, move.writes());
    EXPECT_EQ(lowered.tensor("y").bytes, move.to.bytes());
  }
}

TEST(RandomMoves, OneIllegalChangeIsRefused) {
  Random random(2);
  int tried = 0;
  for (int i = 0; i < 120; ++i) {
    const Move move = plain_move(random);
    if (move.axes.at("A") < 2 || move.axes.at("B") < 2) continue;
    const std::string text = move.text();
    const std::string destination = "to: y, element: \"" + join(move.to.digits);
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
    without.to.digits = {{"B", move.axes.at("B")}};
    wrong.push_back(without.text());
    // A stream that leaves an axis out.
    without = move;
    without.time = {{"B", move.axes.at("B")}};
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

Contraction any_contraction(Random& random, bool plain) {
  ContractionOptions options;
  options.plain = plain;
  options.any_slots = true;
  return test::random_contraction(random, options);
}

TEST(RandomContractions, CountsAreTheClosedForms) {
  Random random(3);
  int refused = 0;
  for (int i = 0; i < 800; ++i) {
    const Contraction x = any_contraction(random, i % 2 == 0);
    const std::string text = x.text();
    SCOPED_TRACE(text);
    const LoweredKernel lowered = lower_text(text);
    if (x.listed("contract_time") && x.slots() > x.capacity()) {
      EXPECT_NE(
          lowered.errors().find("the accumulator needs " + std::to_string(x.slots()) + " slots"),
          std::string::npos);
      ++refused;
      continue;
    }
    ASSERT_EQ(lowered.errors(), "");
    const Command& command = lowered.command(0);
    if (command.stream) {
      EXPECT_EQ(command.stream->items,
                x.entry == "collect" ? x.flits_in() / x.pack() : x.flits_in());
    } else {
      EXPECT_EQ(command.fetch->accesses, x.accesses());
    }
    EXPECT_EQ(command.outer->pack_size, x.pack());
    EXPECT_EQ(command.outer->time_broadcast, x.b);
    EXPECT_EQ(command.outer->packets, x.packets());
    EXPECT_EQ(command.outer->read_elements, x.read_elements());
    EXPECT_EQ(command.outer->packet_broadcast, x.packet() / x.read_elements());
    if (x.listed("contract_packet")) {
      EXPECT_EQ(command.packet_reduce->depth, x.depth());
      EXPECT_EQ(command.packet_reduce->columns, x.c);
    }
    if (x.listed("contract_time")) {
      EXPECT_EQ(command.time_reduce->slots, x.slots());
      EXPECT_EQ(command.time_reduce->capacity, x.capacity());
      EXPECT_EQ(command.time_reduce->results, x.results());
    }
    if (x.listed("contract_lane")) {
      EXPECT_EQ(command.lane_fold->flits, x.results() * x.flits_per_result());
    }
    const test::Figures figures = x.figures();
    EXPECT_EQ(command.mac_useful, figures.mac_useful);
    EXPECT_EQ(command.mac_issued, figures.mac_issued);
    EXPECT_EQ(command.bound.cycles, 263 + x.delay + figures.longest);
    if (command.commit) {
      EXPECT_EQ(command.commit->write_bytes, x.written_bytes() / x.writes_per_flit());
    }
    // The TRF walk visits what the definition says.
    const TensorVersion& w = lowered.tensor("w");
    const auto outer = std::find_if(command.stages.begin(), command.stages.end(),
                                    [](const auto& s) { return s.name == "contract_outer"; });
    const Mapping& out_time = outer->after.time;
    const Mapping& out_packet = outer->after.packet;
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
        if (!wanted.live) continue;
        ASSERT_EQ(w.element.cell(element, axes), held(wanted));
      }
    }
  }
  EXPECT_GT(refused, 10);
}

TEST(RandomContractions, OneIllegalChangeIsRefused) {
  Random random(4);
  int tried = 0;
  for (int i = 0; i < 200; ++i) {
    const Contraction x = any_contraction(random, true);
    if (x.slots() > x.capacity() || x.m < 2 || x.kt < 2 || x.b < 2 || x.c < 2) continue;
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
    if (x.c_in_trf && x.ki > 1) {
      wrong.push_back(replaced(text, ", C, KI\", init", ", KI, C\", init"));
    }
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
