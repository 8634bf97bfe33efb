// SPDX-License-Identifier: Apache-2.0
// A GEMM in blocks: loads of the register file that overlap the contraction, and loads that do not.
//
// One block, worked out on paper from docs/timing-model.md:
//
//   load         32 columns x 256 bf16 are 16,384 B: 2,048 reads of 8 B in f to f + 2,047, f =
//   begin +
//                263. The last one is granted in f + 2,048, leaves Fetch at + 1, the Fetch Adapter
//                at
//                + 2, Collect at + 3 and is stored at + 4: 263 + 2,047 + 5 + 1 = 2,316 cycles.
//   contraction  96 rows x 8 packets x 4 columns of 8 lanes are 3,072 packets. The first has two
//                reads, in f and f + 1; the Stream Adapter sends it in f + 6 and then, since each
//                packet goes out four times and the next takes two flits, one every cycle: the last
//                in f + 6 + 3,071. Multiplier + 1, Packet Reducer + 2, Time Reducer + 7 (bf16),
//                Lane Folder + 8, Cast + 9, Commit Adapter + 10, Commit + 11, written at + 12,
//                ended one later: 263 + 6 + 3,071 + 13 = 3,353 cycles.
//
// Results come in bursts of 128 a group of 32 rows, one a cycle; where a write loses its bank to a
// read of main, the end comes later, by no more than the writes of the last burst.
#include "tests/golden/kernels/shipped_kernel.h"

namespace rngdsim {
namespace {

constexpr uint64_t kBlocks = 5, kLoad = 2'316, kContraction = 3'353;

uint64_t counter(const UnitResult& unit, const std::string& name) {
  for (const auto& [counter, value] : unit.extra) {
    if (counter == name) return value;
  }
  throw std::runtime_error("no counter " + name);
}

void expect_figures_of_the_mapping(const RunResult& result) {
  ASSERT_EQ(result.commands.size(), 2 * kBlocks);
  EXPECT_EQ(result.mac.useful, 1536u * 2560 * 256);
  EXPECT_EQ(result.mac.issued, result.mac.useful);
  EXPECT_EQ(unit(result, "multiplier").items_out, kBlocks * 3'072);
  EXPECT_EQ(unit(result, "sub_fetch").items_out, kBlocks * 2'048);
  EXPECT_EQ(unit(result, "main_commit").items_out, kBlocks * 384);  // 96 x 32 results of 8
  // Of the 32 packets x 4 rows that share a K / 32, the first four reads miss.
  const UnitResult& trf = unit(result, "trf");
  EXPECT_EQ(counter(trf, "cache_hits"), 31 * counter(trf, "cache_misses"));
  for (size_t i = 1; i < result.commands.size(); i += 2) {
    EXPECT_GE(result.commands[i].cycles, kContraction);
    EXPECT_LE(result.commands[i].cycles, kContraction + 128);
  }
}

// The first load, then the contractions one after the other: each load ends before the contraction
// of the block before it does, although that one takes banks from it.
TEST(BlockedGemm, DoubleBufferingHidesAllLoadsButTheFirst) {
  const RunResult result = run(load("gemm_blocked_double_buffer"), false);
  expect_figures_of_the_mapping(result);
  const uint64_t expected = kLoad + kBlocks * kContraction;  // 19,081
  EXPECT_GE(result.cycles, expected);
  EXPECT_LE(result.cycles, expected + expected / 100);
  EXPECT_EQ(result.commands[0].cycles, kLoad);
  EXPECT_EQ(result.commands[1].begin, result.commands[0].end);
  for (size_t block = 1; block < kBlocks; ++block) {
    const CommandResult& load = result.commands[2 * block];
    const CommandResult& contraction = result.commands[2 * block + 1];
    const CommandResult& before = result.commands[2 * block - 1];
    EXPECT_GE(load.cycles, kLoad);
    EXPECT_LT(load.end, before.end);
    EXPECT_EQ(contraction.begin, before.end);
    EXPECT_FALSE(contraction.waited_for.any());
    // It overwrites the half that the contraction before the last one has read.
    if (block >= 2) {
      EXPECT_EQ(load.begin, result.commands[2 * block - 3].end);
    }
  }
  // Main waited for the first load; sub from the end of its second load on for each half in turn.
  EXPECT_EQ(result.overlap.main_waited_for_sub, kLoad);
  EXPECT_EQ(result.overlap.main, result.cycles - kLoad);
  EXPECT_EQ(result.overlap.both, result.overlap.sub - kLoad);
}

TEST(BlockedGemm, HalvesAlternate) {
  const Loaded loaded = load("gemm_blocked_double_buffer");
  std::string regions;
  for (const TensorVersion& tensor : loaded.program.tensors) {
    if (tensor.name == "b_trf") regions += tensor.region + " ";
  }
  EXPECT_EQ(regions, "first_half second_half first_half second_half first_half ");
}

// Loads and contractions take turns, and nothing takes banks from a load.
TEST(BlockedGemm, ASingleBufferPaysForEveryLoad) {
  const RunResult result = run(load("gemm_blocked_single_buffer"), false);
  expect_figures_of_the_mapping(result);
  const uint64_t expected = kBlocks * (kLoad + kContraction);  // 28,345
  EXPECT_GE(result.cycles, expected);
  EXPECT_LE(result.cycles, expected + expected / 100);
  for (size_t i = 0; i < result.commands.size(); ++i) {
    EXPECT_EQ(result.commands[i].begin, i == 0 ? 0 : result.commands[i - 1].end);
    if (i % 2 != 0) continue;
    EXPECT_EQ(result.commands[i].cycles, kLoad);
  }
  EXPECT_EQ(result.overlap.both, 0u);
  EXPECT_EQ(result.overlap.main_waited_for_sub, kBlocks * kLoad);
}

}  // namespace
}  // namespace rngdsim
