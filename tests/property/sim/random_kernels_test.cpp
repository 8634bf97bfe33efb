// SPDX-License-Identifier: Apache-2.0
// Whole random kernels through the whole machine: values equal to the reference, the same run
// whatever the order of the units and without values, counters and bytes as the closed forms say,
// and cycles as the timing model says wherever nothing gets into a command's way.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "tests/support/random_kernel.h"
#include "tests/support/small_topology.h"

namespace rngdsim {
namespace {

using test::Figures;
using test::Random;
using test::RandomKernel;

constexpr uint64_t kClusters = 2;
constexpr uint64_t kSlices = 8;

const TopologyDecl& topology() {
  static const TopologyDecl topology = test::small_topology(kClusters, kSlices);
  return topology;
}

struct Lowered {
  Program program;
  Diagnostics diagnostics;
};

Lowered lowered(const std::string& text, const TopologyDecl& topology) {
  Lowered result;
  const KernelDecl kernel = parse_kernel(text, "k.yaml", result.diagnostics);
  const MachineLimits limits = limits_from(topology, result.diagnostics);
  if (!result.diagnostics.has_errors()) result.program = lower(kernel, limits, result.diagnostics);
  return result;
}

uint64_t bytes(const RunResult& result, const std::string& name) {
  for (const BandwidthResult& bandwidth : result.bandwidth) {
    if (bandwidth.name == name) return bandwidth.bytes;
  }
  ADD_FAILURE() << "no bandwidth " << name;
  return 0;
}

void check_figures(const RandomKernel& kernel, const RunResult& result) {
  std::map<std::string, Figures::Items> units;
  Figures sum;
  for (const Figures& of : kernel.figures) {
    for (const auto& [name, items] : of.units) {
      units[name].in += items.in;
      units[name].out += items.out;
    }
    sum.dm_read += of.dm_read;
    sum.dm_write += of.dm_write;
    sum.trf_write += of.trf_write;
    sum.mac_useful += of.mac_useful;
    sum.mac_issued += of.mac_issued;
  }
  size_t found = 0;
  for (const UnitResult& unit : result.units) {
    const auto expected = units.find(unit.name);
    found += expected != units.end() ? 1 : 0;
    const Figures::Items items = expected != units.end() ? expected->second : Figures::Items{};
    EXPECT_EQ(unit.items_in, items.in) << unit.name;
    EXPECT_EQ(unit.items_out, items.out) << unit.name;
    EXPECT_EQ(unit.busy + unit.starved + unit.blocked + unit.conflict + unit.idle, result.cycles)
        << unit.name;
  }
  EXPECT_EQ(found, units.size());
  EXPECT_EQ(bytes(result, "dm_read"), sum.dm_read);
  EXPECT_EQ(bytes(result, "dm_write"), sum.dm_write);
  EXPECT_EQ(bytes(result, "trf_write"), sum.trf_write);
  EXPECT_EQ(result.mac.useful, sum.mac_useful);
  EXPECT_EQ(result.mac.issued, sum.mac_issued);
}

// The overhead of docs/timing-model.md.
constexpr uint64_t kOverhead = 263;

// Returns for how many commands the exact number of cycles was checked.
uint64_t check_cycles(const RandomKernel& kernel, const RunResult& result) {
  uint64_t exact = 0;
  EXPECT_EQ(result.commands.size(), kernel.figures.size());
  for (size_t i = 0; i < result.commands.size(); ++i) {
    const CommandResult& command = result.commands[i];
    const Figures& figures = kernel.figures[i];
    EXPECT_LE(command.issue, command.begin);
    EXPECT_LE(command.bound, command.cycles);
    EXPECT_EQ(command.bound, kOverhead + figures.delay + figures.longest);
    EXPECT_EQ(command.cycles, command.end - command.begin);
    for (size_t source : kernel.sources[i]) {
      EXPECT_GE(command.begin, result.commands[source].end) << "command " << i;
    }
    // Commands of one context follow each other.
    uint64_t issue = 0;
    for (size_t j = 0; j < i; ++j) {
      if (kernel.main[j] == kernel.main[i]) issue = result.commands[j].end;
    }
    EXPECT_EQ(command.issue, issue);
    if (!figures.cycles) continue;
    bool alone = true;  // behind its overhead and before the others'
    for (size_t j = 0; j < result.commands.size(); ++j) {
      const CommandResult& other = result.commands[j];
      alone = alone && (j == i || other.end <= command.begin + kOverhead ||
                        command.end <= other.begin + kOverhead);
    }
    const uint64_t cycles = kOverhead + figures.delay + *figures.cycles;
    EXPECT_GE(command.cycles, cycles) << "command " << i;
    if (!alone) continue;
    // Each access loses its banks to another one of the command, and then comes next.
    EXPECT_LE(command.cycles, cycles + figures.accesses) << "command " << i;
    if (figures.overlaps) continue;
    EXPECT_EQ(command.cycles, cycles) << "command " << i;
    ++exact;
  }
  return exact;
}

// All that holds for every legal kernel; returns for how many commands the exact number of cycles
// was checked.
uint64_t check(const RandomKernel& kernel, uint64_t seed, const TopologyDecl& on = topology()) {
  const std::string text = kernel.text();
  SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
  const Lowered lowering = lowered(text, on);
  EXPECT_FALSE(lowering.diagnostics.has_errors()) << lowering.diagnostics.render();
  if (lowering.diagnostics.has_errors()) return 0;

  RunOptions options;
  RunResult plain;
  try {
    plain = run_program(lowering.program, on, options);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
    return 0;
  }
  EXPECT_EQ(plain.status, RunStatus::kOk);
  for (const FailureResult& failure : plain.failures) ADD_FAILURE() << failure.message;
  EXPECT_EQ(plain.values.mismatches, 0u);
  for (const ValueMismatch& m : plain.values.first_mismatches) {
    ADD_FAILURE() << m.tensor << " at " << m.index << " (" << m.place << "): expected "
                  << m.expected << ", got " << m.got;
  }
  EXPECT_GE(plain.values.checked.size(), kernel.figures.size());
  for (const CheckedValues& checked : plain.values.checked) {
    EXPECT_GT(checked.elements, 0u) << checked.tensor;
  }
  options.shuffle_seed = 1 + seed;
  options.plain_loop = seed % 2 == 0;
  EXPECT_TRUE(run_program(lowering.program, on, options).same_run(plain));
  options.values = false;
  RunResult timing = run_program(lowering.program, on, options);
  EXPECT_FALSE(timing.values.simulated);
  timing.values = plain.values;
  EXPECT_TRUE(timing.same_run(plain));
  if (plain.status != RunStatus::kOk) return 0;
  check_figures(kernel, plain);
  return check_cycles(kernel, plain);
}

auto starts_with(const std::string& prefix) {
  return [prefix](const auto& entry) { return entry.first.rfind(prefix, 0) == 0; };
}

// What the generators draw, so that no feature is lost unseen.
TEST(RandomKernels, GeneratorsReachWhatIsModelled) {
  std::map<std::string, int> seen;
  const auto note = [&](bool condition, const std::string& what) {
    seen[what] += condition ? 1 : 0;
  };
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    Random random(seed);
    test::MoveOptions options;
    options.machine_slices = kSlices;
    const test::Move m = test::random_move(random, options);
    seen["move in " + std::string(m.main ? "main" : "sub")]++;
    seen["entry " + m.entry]++;
    seen["end " + m.end]++;
    seen["dtype " + m.from.dtype]++;
    if (m.listed("fetch_cast")) seen["fetch_cast " + m.from.dtype + " to " + m.fetch_cast]++;
    if (m.listed("cast")) seen["cast to " + m.cast]++;
    note(m.listed("commit_cast") && m.relu, "relu");
    note(m.listed("commit_cast") && !m.relu, "commit_cast");
    note(m.listed("commit") && m.main && m.writes_per_flit() > 1, "several writes a flit in main");
    note(m.listed("commit") && m.written_bytes() == 24, "24 bytes");
    note(m.replicated && !m.streams(), "replicated access");
    note(m.axes.count("T") != 0, "broadcast in time");
    note(m.lanes > 1, "lanes of a store");
    note(m.place.clusters == 2, "both clusters");
    for (const std::string pad : {"#", "#{0}", "#{!}"}) {
      note(m.to.row > m.to.width && m.to.pad == pad, "destination padded " + pad);
      note(m.from.row > m.from.width && m.from.pad == pad, "source padded " + pad);
    }
  }
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    Random random(seed);
    test::ContractionOptions options;
    options.machine_slices = kSlices;
    const test::Contraction x = test::random_contraction(random, options);
    seen["contraction from " + x.entry]++;
    seen["contraction to " + x.end]++;
    seen["operands " + x.dtype + " " + x.w_dtype]++;
    seen[x.mode]++;
    seen[fmt::format("pack {}", x.pack())]++;
    seen[fmt::format("lanes {}", x.lanes)]++;
    seen[fmt::format("depth {}", x.depth())]++;
    seen[fmt::format("read of {} bytes",
                     std::min<uint64_t>(64, x.read_elements() * test::bits(x.dtype) / 8))]++;
    note(x.read_elements() < x.packet(), "packet broadcast");
    note(x.b > 1, "time broadcast");
    note(x.n < x.lanes, "padded lanes");
    note(!x.named_lanes, "lanes that hold the same");
    note(x.ki < x.ki_padded, "padded sum");
    note(x.listed("contract_time") && x.slots() > 1, "slots");
    note(x.listed("contract_time") && x.slots() == x.capacity(), "all slots");
    note(x.listed("contract_time") && x.results() > x.capacity(), "slots again");
    note(x.reduces_b, "sum over the broadcast");
    note(x.listed("commit") && x.writes_per_flit() > 1, "several writes of a result");
    note(x.listed("commit_cast") && x.relu, "relu of a result");
    if (x.zero_point) seen["zero point of " + x.dtype + " and " + x.w_dtype]++;
    note(x.zero_point && x.ki < x.ki_padded, "zero point and a padded sum");
    note(x.a_init.find("1.0e+300") != std::string::npos, "infinities");
    note(!x.w_logical.empty() || !x.a_logical.empty(), "replicas in slices");
  }
  for (const auto& [what, times] : seen) EXPECT_GT(times, 0) << what;
  // Entries: from 5 stages and fetch. Ends: 7 and to_trf. Types: 9, 7 of which are cast, and 6
  // targets.
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), starts_with("entry ")), 6);
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), starts_with("end ")), 8);
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), starts_with("dtype ")), 9);
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), starts_with("fetch_cast ")), 7);
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), starts_with("cast to ")), 6);
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), starts_with("contraction from ")), 3);
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), starts_with("contraction to ")), 6);
  // i4 with i4 and i5, i8 with i8 and i9, three float types.
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), starts_with("operands ")), 7);
  // i5 with i4 and i5, i9 with i8 and i9.
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), starts_with("zero point of ")), 4);
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), starts_with("lanes ")), 6);
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(), starts_with("depth ")), 8);  // 0 to 7
}

TEST(RandomKernels, Moves) {
  uint64_t exact = 0;
  for (uint64_t seed = 1; seed <= 150 && !HasFailure(); ++seed) {
    Random random(seed);
    test::MoveOptions options;
    options.machine_slices = kSlices;
    options.max_packets = 60;
    exact += check(test::random_move(random, options).kernel(), seed);
  }
  EXPECT_GT(exact, 50u);
}

TEST(RandomKernels, Contractions) {
  uint64_t exact = 0;
  for (uint64_t seed = 1001; seed <= 1150 && !HasFailure(); ++seed) {
    Random random(seed);
    test::ContractionOptions options;
    options.machine_slices = kSlices;
    const test::Contraction x = test::random_contraction(random, options);
    RandomKernel kernel = x.kernel();
    kernel.expect = x.expect_text();
    exact += check(kernel, seed);
  }
  EXPECT_GT(exact, 50u);
}

// The operand comes into the register file by a command, in sub or main.
TEST(RandomKernels, ContractionsWithAStoredOperand) {
  uint64_t exact = 0;
  for (uint64_t seed = 2001; seed <= 2100 && !HasFailure(); ++seed) {
    Random random(seed);
    test::ContractionOptions options;
    options.machine_slices = kSlices;
    options.fill = true;
    const test::Contraction x = test::random_contraction(random, options);
    RandomKernel kernel = x.kernel();
    kernel.expect = x.expect_text();
    exact += check(kernel, seed);
  }
  EXPECT_GT(exact, 100u);
}

// Appends up to three moves, in either context, each of which reads what an earlier command or the
// file has put into data memory, under a new name or one that exists.
struct Written {
  test::Layout layout;
  std::vector<size_t> by;  // at most one command
};
void add_moves(Random& random, const test::Place& place, std::vector<Written> sources,
               RandomKernel& kernel) {
  const uint64_t more = 1 + random.below(3);
  for (uint64_t i = 0; i < more; ++i) {
    const Written source = random.of(sources);
    test::MoveOptions options;
    options.machine_slices = kSlices;
    options.from = &source.layout;
    options.place = place;
    options.broadcast = fmt::format("T{}", i);
    options.to_name = random.one_in(4) ? random.of(sources).layout.name : fmt::format("z{}", i);
    test::Move move = test::random_move(random, options);
    if (move.end == "to_trf") move.to.name = fmt::format("t{}", i);
    kernel.axes.insert(move.axes.begin(), move.axes.end());
    add_command(kernel, move, move.main, source.by);
    if (move.end != "commit") continue;
    const std::string& name = move.to.name;
    sources.erase(std::remove_if(sources.begin(), sources.end(),
                                 [&](const Written& w) { return w.layout.name == name; }),
                  sources.end());
    sources.push_back({move.to, {kernel.figures.size() - 1}});
  }
}

TEST(RandomKernels, SequencesOfMoves) {
  uint64_t exact = 0;
  for (uint64_t seed = 3001; seed <= 3120 && !HasFailure(); ++seed) {
    Random random(seed);
    test::MoveOptions options;
    options.machine_slices = kSlices;
    options.max_packets = 40;
    test::Move first = test::random_move(random, options);
    while (first.streams() || first.replicated || first.end != "commit") {
      first = test::random_move(random, options);
    }
    RandomKernel kernel = first.kernel();
    add_moves(random, first.place, {{first.from, {}}, {first.to, {0}}}, kernel);
    exact += check(kernel, seed);
  }
  EXPECT_GT(exact, 30u);
}

// The register file is stored again while the contraction before still reads it, the results are
// moved on.
TEST(RandomKernels, SequencesOfContractions) {
  uint64_t exact = 0;
  for (uint64_t seed = 4001; seed <= 4060 && !HasFailure(); ++seed) {
    Random random(seed);
    test::ContractionOptions options;
    options.machine_slices = kSlices;
    options.fill = true;
    test::Contraction x = test::random_contraction(random, options);
    while (x.end != "commit" || x.to.width < 2) x = test::random_contraction(random, options);
    RandomKernel kernel = x.kernel();
    const test::Layout first = x.to;
    for (uint64_t again = random.below(3); again > 0; --again) {
      x.fill->main = x.fill->main || random.one_in(3);  // sub may not read so narrow rows
      add_command(kernel, *x.fill, x.fill->main);
      x.to.name = fmt::format("c{}", again);
      add_command(kernel, x, true, {kernel.figures.size() - 1});
    }
    if (x.to.name != first.name) kernel.expect = x.expect_text();  // nothing is written over it
    add_moves(random, x.place, {{first, {1}}}, kernel);
    exact += check(kernel, seed);
  }
  EXPECT_GT(exact, 50u);
}

// All 512 slices of a chip.
TEST(RandomKernels, OnTheWholeMachine) {
  const TopologyDecl whole = test::small_topology(kClusters, 256);
  for (uint64_t seed = 5001; seed <= 5024 && !HasFailure(); ++seed) {
    Random random(seed);
    if (random.one_in(2)) {
      test::MoveOptions options;
      options.max_packets = 20;
      check(test::random_move(random, options).kernel(), seed, whole);
    } else {
      test::ContractionOptions options;
      options.fill = random.one_in(2);
      check(test::random_contraction(random, options).kernel(), seed, whole);
    }
  }
}

}  // namespace
}  // namespace rngdsim
