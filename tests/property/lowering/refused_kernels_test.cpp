// SPDX-License-Identifier: Apache-2.0
// Kernels with exactly one rule broken, in sizes drawn at random: each is refused with one place
// and a message that has both numbers, the one that is wrong and the one that would be right.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/text.h"
#include "tests/support/lowering_fixture.h"
#include "tests/support/random_kernel.h"

namespace rngdsim {
namespace {

using test::Random;

// A copy of i8 rows W of A, all of them in flits of their own.
struct Copy {
  std::string context = "main", dtype = "i8", axes, spatial = "slice: \"1 # 256\"",
              element = "A, W";
  std::string tensor_keys, time = "A", packet = "W", collect = "- collect", behind;
  uint64_t a = 4, w = 32;
  std::string trim = "packet: \"W\"", commit = "to: y, element: \"A, W\"", more_tensors;

  std::string text() const {
    return fmt::format(
        "kernel: copy\naxes: {{A: {}, W: {}{}}}\ntensors:\n  x: {{memory: dm, dtype: {}, {}, "
        "element: \"{}\"{}}}\n{}program:\n  - {}:\n      from: x\n      stages:\n        - fetch: "
        "{{time: \"{}\", packet: \"{}\"}}\n        {}\n        - commit_trim: {{{}}}\n{}        - "
        "commit: {{{}}}\n",
        a, w, axes, dtype, spatial, element, tensor_keys, more_tensors, context, time, packet,
        collect, trim, behind, commit);
  }
};

// M x B results of K = 32 bf16 elements in N lanes.
struct Product {
  std::string axes, stream_slice = "1 # 256", slice = "1 # 256", tensor_keys;
  uint64_t m = 4, b = 2, n = 8, k = 32;
  std::string stream_time = "M, K / 16", stream_packet = "K % 16", dtype = "bf16";
  std::string lane = "N", element = "B, K";
  std::string outer_time = "M, B", outer_packet = "K", packet = "1", time = "M, B";
  std::string fold = "mode: interleaved", behind, context = "main";

  std::string text() const {
    return fmt::format(
        "kernel: product\naxes: {{M: {}, B: {}, N: {}, K: {}{}}}\ntensors:\n  w: {{memory: trf, "
        "dtype: {}, slice: \"{}\", lane: \"{}\", element: \"{}\"{}}}\nprogram:\n  - {}:\n      "
        "stream: {{dtype: {}, slice: \"{}\", time: \"{}\", packet: \"{}\"}}\n      stages:\n"
        "        - contract_outer: {{with: w, time: \"{}\", packet: \"{}\"}}\n        - "
        "contract_packet: {{packet: \"{}\"}}\n        - contract_time: {{time: \"{}\"}}\n        - "
        "contract_lane: {{{}}}\n{}",
        m, b, n, k, axes, dtype, slice, lane, element, tensor_keys, context, dtype, stream_slice,
        stream_time, stream_packet, outer_time, outer_packet, packet, time, fold, behind);
  }
};

std::string store(const std::string& axes, const std::string& time, const std::string& lane,
                  const std::string& element) {
  return fmt::format(
      "kernel: store\naxes: {{{}}}\ntensors: {{}}\nprogram:\n  - sub:\n      stream: {{dtype: "
      "bf16, "
      "slice: \"1 # 256\", time: \"{}\", packet: \"K\"}}\n      stages:\n        - to_trf: {{to: "
      "w, "
      "lane: \"{}\", element: \"{}\"}}\n",
      axes, time, lane, element);
}

struct Refusal {
  std::string text;
  std::vector<std::string> said;
};
struct Rule {
  const char* name;
  std::function<Refusal(Random&)> broken;
};

std::string number(uint64_t n) { return group_digits(n); }

// Long numbers may be written in groups or not.
bool says(const std::string& message, std::string part) {
  if (message.find(part) != std::string::npos) return true;
  part.erase(std::remove(part.begin(), part.end(), ','), part.end());
  return message.find(part) != std::string::npos;
}

std::vector<Rule> rules() {
  std::vector<Rule> rules;
  const auto add = [&](const char* name, std::function<Refusal(Random&)> broken) {
    rules.push_back({name, std::move(broken)});
  };
  // ---- places
  add("slices", [](Random& random) {
    const uint64_t slices = random.of<uint64_t>({1, 32, 255, 512, 1024});
    Copy x;
    x.spatial = fmt::format("slice: \"1 # {}\"", slices);
    return Refusal{x.text(), {number(slices), "256"}};
  });
  add("clusters", [](Random& random) {
    const uint64_t clusters = 3 + random.below(6);
    Copy x;
    x.spatial = fmt::format("cluster: \"1 # {}\", slice: \"1 # 256\"", clusters);
    return Refusal{x.text(), {number(clusters), "2"}};
  });
  add("chips", [](Random& random) {
    const uint64_t chips = 2 + random.below(7);
    Copy x;
    x.spatial = fmt::format("chip: \"1 # {}\", slice: \"1 # 256\"", chips);
    return Refusal{x.text(), {number(chips), "1"}};
  });
  add("address of a bank", [](Random& random) {
    const uint64_t address = 8 * random.below(100) + 1 + random.below(7);
    Copy x;
    x.tensor_keys = fmt::format(", address: {}", address);
    return Refusal{x.text(), {number(address), "8"}};
  });
  add("address within the memory", [](Random& random) {
    const uint64_t address = 524288 - 8 * (1 + random.below(15));  // 128 B do not fit behind it
    Copy x;
    x.tensor_keys = fmt::format(", address: {}", address);
    return Refusal{x.text(), {number(address), "524,288"}};
  });
  add("addresses apart", [](Random& random) {
    const uint64_t address = 8 * (1 + random.below(15));  // x takes 0 to 127
    Copy x;
    x.tensor_keys = ", address: 0";
    x.more_tensors = fmt::format(
        "  z: {{memory: dm, dtype: i8, slice: \"1 # 256\", element: \"A, W\", address: {}}}\n",
        address);
    return Refusal{x.text(), {number(address), "127"}};
  });
  add("memory of a tensor", [](Random& random) {
    const uint64_t row = 131080 + 8 * random.below(1000);  // of four
    Copy x;
    x.element = fmt::format("A, W # {}", row);
    return Refusal{x.text(), {number(4 * row), "524,288"}};
  });
  add("memory of a result", [](Random& random) {
    const uint64_t row = 131080 + 8 * random.below(1000);
    Copy x;
    x.commit = fmt::format("to: y, element: \"A, W # {}\"", row);
    return Refusal{x.text(), {number(4 * row), "524,288"}};
  });
  // ---- fetch
  add("bits of a step", [](Random& random) {
    const uint64_t row = 33 + 2 * random.below(20);  // i4: half a byte too many
    Copy x;
    x.dtype = "i4";
    x.element = fmt::format("A, W # {}", row);
    x.trim = "packet: \"W\"";
    return Refusal{x.text(), {number(4 * row), "1 byte"}};
  });
  add("whole bytes", [](Random& random) {
    Copy x;
    x.dtype = "i4";
    x.w = 2 * random.below(15) + 1;
    return Refusal{x.text(), {number(x.w), "1, 2, 4, 8, 16 or 32"}};
  });
  add("8 bytes in sub", [](Random& random) {
    Copy x;
    x.context = "sub";
    x.w = 8 * random.below(4) + 1 + random.below(7);
    return Refusal{x.text(), {"8 bytes", number(x.w)}};
  });
  add("a cast in a flit", [](Random&) {
    Copy x;
    x.context = "sub";
    x.dtype = "i4";
    x.collect = "- fetch_cast: {dtype: i32}\n        - collect";
    return Refusal{x.text(), {"64 bytes", "32"}};
  });
  add("an axis unread", [](Random& random) {
    Copy x;
    x.a = 2 + random.below(9);
    x.time = "1";
    return Refusal{x.text(), {"0 times", "at least 1"}};
  });
  add("a digit twice", [](Random& random) {
    Copy x;
    x.a = 2 + random.below(9);
    x.packet = "A, W";
    return Refusal{x.text(), {"a step of 1", number(x.a) + " indices"}};
  });
  add("loops", [](Random&) {
    Copy x;
    x.a = 512;
    x.element = x.time = "";
    for (int bit = 0; bit < 9; ++bit) {  // the stream counts the bits of A the other way round
      x.element += fmt::format("A / {} % 2, ", 1 << bit);
      x.time = fmt::format("{}A / {} % 2", x.time.empty() ? "" : x.time + ", ", 256 >> bit);
    }
    x.element += "W";
    return Refusal{x.text(), {"10 loops", "has 8"}};
  });
  add("iterations of a loop", [](Random& random) {
    Copy x;
    x.w = 65537 + random.below(1000);
    x.a = 1;
    x.time = "W";
    x.packet = "1";
    return Refusal{x.text(), {number(x.w), "65,536"}};
  });
  // ---- collect, trim, commit
  add("8 bytes of a packet", [](Random& random) {
    Copy x;
    x.w = 8 * random.below(4) + 1 + random.below(7);
    return Refusal{x.text(), {"8 bytes", number(x.w) + " bytes"}};
  });
  add("flits", [](Random& random) {
    const uint64_t flit = random.of<uint64_t>({8, 16, 64});
    Copy x;
    x.w = 8;
    x.collect = fmt::format("- collect: {{packet: \"W # {}\"}}", flit);
    return Refusal{x.text(), {number(flit), "32"}};
  });
  add("bytes of a trim", [](Random& random) {
    const uint64_t bytes = 8 * (1 + random.below(4)) + 1 + random.below(7);
    Copy x;
    x.w = 8;
    x.trim = fmt::format("packet: \"W # {}\"", bytes);
    return Refusal{x.text(), {number(bytes) + " bytes", "32"}};
  });
  add("a trim that cuts", [](Random& random) {
    const uint64_t kept = random.of<uint64_t>({8, 16, 24});
    Copy x;  // four rows of 32
    x.trim = fmt::format("packet: \"W = {}\"", kept);
    return Refusal{x.text(),
                   {fmt::format("{} of the 128 slots", 4 * (32 - kept)), "never written"}};
  });
  add("bytes of a write", [](Random&) {
    Copy x;
    x.w = 8;
    x.time = "1";
    x.packet = "A, W";
    x.trim = "packet: \"A, W\"";
    x.commit = "to: y, element: \"W, A\"";
    return Refusal{x.text(), {"8 bytes", "8 bits"}};
  });
  add("a broadcast in the destination", [](Random& random) {
    const uint64_t times = 2 + random.below(7);
    Copy x;
    x.commit = fmt::format("to: y, element: \"{}, A, W\"", times);
    return Refusal{x.text(), {number(times), "1 is allowed"}};
  });
  add("a broadcast that is written", [](Random& random) {
    const uint64_t times = 2 + random.below(7);
    Copy x;
    x.time = fmt::format("{}, A", times);
    return Refusal{x.text(), {number(times), "1 is allowed"}};
  });
  add("bytes before a commit cast", [](Random& random) {
    Copy x;
    x.dtype = "f32";
    x.w = random.of<uint64_t>({2, 6});
    x.behind = "        - commit_cast: {dtype: bf16}\n";
    return Refusal{x.text(), {number(4 * x.w) + " bytes", "16 or 32"}};
  });
  add("a stage twice", [](Random&) {
    Copy x;
    x.collect = "- collect\n        - collect";
    return Refusal{x.text(), {"'collect'", "line 10"}};
  });
  add("the order of stages", [](Random&) {
    Copy x;
    x.collect = "- collect\n        - fetch_cast: {dtype: i32}";
    return Refusal{x.text(), {"'fetch_cast'", "'collect'"}};
  });
  add("a stage without the one it needs", [](Random&) {
    Product x;
    x.fold = "mode: interleaved";
    x.behind = "        - commit: {to: y, element: \"M, B, N\"}\n";
    return Refusal{x.text(), {"'commit'", "'commit_trim'"}};
  });
  add("a packet of a stream", [](Random& random) {
    const uint64_t bytes = 4097 + random.below(5000);
    return Refusal{
        fmt::format("kernel: stream\naxes: {{W: {}}}\ntensors: {{}}\nprogram:\n  - main:\n"
                    "      stream: {{dtype: i8, slice: \"1 # 256\", time: \"1\", packet: "
                    "\"W\"}}\n      stages:\n        - collect\n",
                    bytes),
        {number(bytes), "4,096"}};
  });
  add("a cast takes flits", [](Random& random) {
    const uint64_t elements = random.of<uint64_t>({2, 4, 16, 32});
    return Refusal{
        fmt::format("kernel: stream\naxes: {{W: {}}}\ntensors: {{}}\nprogram:\n  - main:\n"
                    "      stream: {{dtype: i32, slice: \"1 # 256\", time: \"1\", packet: "
                    "\"W\"}}\n      stages:\n        - cast: {{dtype: i8}}\n",
                    elements),
        {number(4 * elements) + " bytes", "32 bytes"}};
  });
  // ---- register file
  add("lanes", [](Random& random) {
    Product x;
    x.n = random.of<uint64_t>({3, 5, 6, 7, 9, 16, 32});
    return Refusal{x.text(), {number(x.n) + " positions", "1, 2, 4 or 8"}};
  });
  add("register file", [](Random& random) {
    Product x;  // 8 lanes of b rows of 64 B
    x.b = 129 + random.below(100);
    return Refusal{x.text(), {number(x.b * 512), "65,536"}};
  });
  add("half of the register file", [](Random& random) {
    Product x;
    x.b = 65 + random.below(64);
    x.tensor_keys = ", region: first_half";
    return Refusal{x.text(), {number(x.b * 512), "32,768"}};
  });
  add("lanes of a store", [](Random& random) {
    const uint64_t flits = random.of<uint64_t>({1, 3, 6, 9});
    return Refusal{store(fmt::format("J: {}, N: 4, K: 16", flits), "J", "N", "J, K"),
                   {"4 lanes", number(flits) + " flits"}};
  });
  add("elements of a store", [](Random& random) {
    const uint64_t row = 32 + 16 * random.below(4);
    return Refusal{store("J: 3, N: 4, K: 16", "N, J", "N", fmt::format("J, K # {}", row)),
                   {number(3 * row), "48"}};
  });
  // ---- contraction
  add("bytes of a packet", [](Random& random) {
    Product x;
    x.k = random.of<uint64_t>({48, 64, 128});
    return Refusal{x.text(), {number(2 * x.k) + " bytes", "32 or 64"}};
  });
  add("a flit at contract_outer", [](Random& random) {
    Product x;
    const uint64_t elements = random.of<uint64_t>({4, 8, 32});
    x.stream_time = fmt::format("M, K / {}", elements);
    x.stream_packet = fmt::format("K % {}", elements);
    return Refusal{x.text(), {number(2 * elements) + " bytes", "32 bytes"}};
  });
  add("pairs of flits", [](Random& random) {
    Product x;  // two rows of 16 make a packet
    x.m = 3 + 2 * random.below(5);
    x.k = 16;
    x.stream_time = "M";
    x.stream_packet = "K";
    x.outer_packet = "2, K";
    return Refusal{x.text(), {"packs 2 flits", number(x.m)}};
  });
  add("size of OutTime", [](Random& random) {
    Product x;
    x.m = 5 + random.below(5);
    x.outer_time = x.time = "B";
    return Refusal{x.text(), {"(" + number(x.m) + ")", "(2)"}};
  });
  add("slices of both operands", [](Random& random) {
    Product x;
    const uint64_t slices = random.of<uint64_t>({64, 128});
    x.stream_slice = fmt::format("1 # {}", slices);
    return Refusal{x.text(), {"size " + number(slices), "size 256"}};
  });
  add("steps in the register file", [](Random&) {
    Product x;  // rows of 96 B, reads of 64
    x.element = "B, K # 48";
    return Refusal{x.text(), {"768 bits", "64 bytes"}};
  });
  add("reads of the register file", [](Random& random) {
    Product x;  // a read divides the 2 rows of an odd number of elements
    x.element = fmt::format("B, K # {}", 33 + 2 * random.below(15));
    return Refusal{x.text(), {"32 elements", "innermost 2 together"}};
  });
  add("columns", [](Random&) {
    Product x;
    x.dtype = "i8";
    x.k = 64;
    x.stream_time = "M, K / 32";
    x.stream_packet = "K % 32";
    x.packet = "K";
    return Refusal{x.text(), {"64 columns", "32"}};
  });
  add("a power of two of columns", [](Random& random) {
    Product x;
    const uint64_t columns = random.of<uint64_t>({3, 5, 6, 12});
    x.packet = fmt::format("1 # {}", columns);
    return Refusal{x.text(), {number(columns) + " columns", "power of two"}};
  });
  add("slots", [](Random& random) {
    Product x;  // kept M and B inside the reduced T; sequential mode of 8 lanes has 4 slots
    const bool interleaved = random.one_in(2);
    x.m = (interleaved ? 65 : 3) + random.below(20);
    x.axes = ", T: 2";
    x.stream_time = "T, M, K / 16";
    x.outer_time = "T, M, B";
    x.element = "T, B, K";
    x.fold = interleaved ? "mode: interleaved" : "mode: sequential";
    return Refusal{x.text(), {number(2 * x.m) + " slots", interleaved ? "has 128" : "has 4"}};
  });
  add("slots without contract_lane", [](Random& random) {
    Product x;
    x.m = 65 + random.below(20);
    x.axes = ", T: 2";
    x.stream_time = "T, M, K / 16";
    x.outer_time = "T, M, B";
    x.element = "T, B, K";
    std::string text = x.text();
    text.resize(text.find("        - contract_lane"));
    return Refusal{text, {number(2 * x.m) + " slots", "has 128"}};
  });
  add("size behind contract_lane", [](Random& random) {
    Product x;
    const uint64_t b = 3 + random.below(5);
    x.fold = fmt::format("mode: interleaved, time: \"M, B # {}\"", b);
    return Refusal{x.text(), {"size " + number(4 * b), "size 8"}};
  });
  add("contraction in sub", [](Random&) {
    Copy x;
    x.context = "sub";
    x.dtype = "f32";
    x.w = 8;
    x.behind = "        - commit_cast: {dtype: bf16}\n";
    return Refusal{x.text(), {"'commit_cast'", "sub"}};
  });
  return rules;
}

TEST(RefusedKernels, TheBasesAreLegal) {
  EXPECT_EQ(lower_text(Copy().text()).errors(), "");
  EXPECT_EQ(lower_text(Product().text()).errors(), "");
  EXPECT_EQ(lower_text(store("J: 3, N: 4, K: 16", "N, J", "N", "J, K")).errors(), "");
}

TEST(RefusedKernels, NameOnePlaceAndBothNumbers) {
  const std::vector<Rule> all = rules();
  EXPECT_GE(all.size(), 40u);
  uint64_t seed = 0;
  for (const Rule& rule : all) {
    for (int i = 0; i < 6; ++i) {
      Random random(++seed);
      const Refusal refusal = rule.broken(random);
      SCOPED_TRACE(fmt::format("{}, seed {}\n{}", rule.name, seed, refusal.text));
      const LoweredKernel lowered = lower_text(refusal.text);
      std::set<std::tuple<std::string, int, int>> places;
      for (const Diagnostic& diagnostic : lowered.diagnostics.all()) {
        if (diagnostic.severity != Severity::kError) continue;
        places.emplace(diagnostic.where.file, diagnostic.where.line, diagnostic.where.column);
        EXPECT_GE(diagnostic.where.line, 1);
        EXPECT_GE(diagnostic.where.column, 1);
      }
      EXPECT_EQ(places.size(), 1u) << lowered.diagnostics.render();
      for (const std::string& part : refusal.said) {
        EXPECT_TRUE(says(lowered.errors(), part)) << part << "\n" << lowered.diagnostics.render();
      }
    }
  }
}

}  // namespace
}  // namespace rngdsim
