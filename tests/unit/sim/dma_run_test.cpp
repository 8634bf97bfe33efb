// SPDX-License-Identifier: Apache-2.0
// Whole runs with DMA. A DMA begins in b, its first data are at the engine in b + 500. From there a
// request a cycle (HBM to HBM and DM to DM in a cluster: one in two); the last write is answered 3
// cycles after it left for DM (two beats), 2 after it left for HBM, and the command ends one later.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/lockstep.h"
#include "sim/run.h"
#include "support/diagnostic.h"
#include "tests/unit/sim/topology_text.h"

namespace rngdsim {
namespace {

using test::shipped_topology;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Program dma_program(const std::string& text, const TopologyDecl& topology = shipped_topology()) {
  Diagnostics diagnostics;
  const KernelDecl decl = parse_kernel(text, "k.yaml", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  const MachineLimits limits = limits_from(topology, diagnostics);
  Program program = lower(decl, limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return program;
}
RunResult run_dma(const std::string& text, bool values = true, uint64_t shuffle = 0) {
  RunOptions options;
  options.values = values;
  options.shuffle_seed = shuffle;
  return run_program(dma_program(text), shipped_topology(), options);
}

// ---- Worked examples of the page --------------------------------------------------------------

const char* const kTranspose = R"(kernel: transpose
axes: {A: 8, B: 8, C: 256}
tensors:
  x: {memory: hbm, dtype: i8, element: "A, B, C", address: 0, init: {random: {seed: 1}}}
program:
  - dma: {from: x, to: y, memory: hbm, element: "B, A, C", address: 16384, time: "A, B", packet: "C"}
)";

// 500 + 64 reads + 64 writes; the last write leaves in 627 and is answered in 629.
TEST(DmaRun, HbmToHbm) {
  const RunResult run = run_dma(kTranspose);
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_EQ(run.cycles, 630u);
  EXPECT_EQ(run.bound, 628u);
  ASSERT_EQ(run.values.checked.size(), 1u);
  EXPECT_EQ(run.values.checked[0].elements, 16384u);
  EXPECT_EQ(run.values.mismatches, 0u);
  ASSERT_EQ(run.dmas.size(), 1u);
  const DmaResult& dma = run.dmas[0];
  EXPECT_EQ(dma.begin, 0u);
  EXPECT_EQ(dma.first_data, 500u);
  EXPECT_EQ(dma.end, 630u);
  EXPECT_EQ(dma.requests, 64u);
  EXPECT_EQ(dma.packets, 64u);
  EXPECT_EQ(dma.bytes_ideal, 16384u);
  EXPECT_EQ(dma.bytes_moved, 16384u);
  // 64 reads and 64 writes of lines; half of them in each stack.
  EXPECT_EQ(dma.hbm.transfers, 128u);
  EXPECT_EQ(dma.hbm.bytes, 2u * 16384);
  EXPECT_EQ(dma.hbm.row_hits + dma.hbm.row_misses + dma.hbm.row_conflicts, 128u);
  EXPECT_EQ(dma.hbm.read_modify_writes, 0u);
  ASSERT_EQ(dma.stacks.size(), 2u);
  EXPECT_EQ(dma.stacks[0].transfers, 64u);
  EXPECT_EQ(dma.stacks[1].transfers, 64u);
  EXPECT_EQ(dma.channels.size(), 32u);
  uint64_t of_banks = 0;
  for (const DmaBankResult& bank : dma.banks) of_banks += bank.hbm.transfers;
  EXPECT_EQ(of_banks, 128u);
  // 16 KB each: reads have bits 13 and 14 to 16 = 0, writes bit 14 too: bank groups 0 and 1 (bit
  // 13) of the first bank.
  ASSERT_EQ(dma.banks.size(), 2u);
  EXPECT_EQ(dma.banks[0].bank_group, 0u);
  EXPECT_EQ(dma.banks[1].bank_group, 1u);
  EXPECT_EQ(dma.banks[0].hbm.transfers, 64u);
  ASSERT_EQ(dma.engines.size(), 1u);
  EXPECT_EQ(dma.engines[0].engine, 0u);
  EXPECT_EQ(dma.engines[0].requests, 64u);
}

void expect_close(uint64_t cycles, double documented, double part) {
  EXPECT_NEAR(static_cast<double>(cycles), documented, part * documented);
}

// 65,536 requests of one engine, at one a cycle: 66,036 [B].
TEST(DmaRun, HbmToDmWithFullBandwidth) {
  const RunResult run = run_dma(R"(kernel: load
axes: {A: 256, B: 256, C: 256}
tensors:
  x: {memory: hbm, dtype: i8, element: "B, A, C", address: 0, init: zero}
program:
  - dma: {from: x, to: y, memory: dm, slice: "A / 4", element: "A % 4, B, C",
          time: "B, A % 4, A / 4 % 32, A / 128", packet: "C"}
)",
                                false);
  EXPECT_GE(run.cycles, 66'036u);
  expect_close(run.cycles, 66'036, 0.02);
  EXPECT_EQ(run.dmas.at(0).requests, 65'536u);
}

// 65,536 reads and as many writes: 131,572 [B].
TEST(DmaRun, DmToDmInACluster) {
  const RunResult run = run_dma(R"(kernel: move
axes: {A: 256, B: 256, C: 256}
tensors:
  x: {memory: dm, dtype: i8, slice: "A / 4", element: "A % 4, B, C", address: 0, init: zero}
program:
  - dma: {from: x, to: y, memory: dm, slice: "A / 4", element: "B, A % 4, C", address: 262144,
          time: "B, A % 4, A / 4 % 32, A / 128", packet: "C"}
)",
                                false);
  EXPECT_GE(run.cycles, 131'572u);
  expect_close(run.cycles, 131'572, 0.02);
}

// Bit 8 is never set: 16 of 32 channels, 256 requests each at 5.33 cycles, about 1,857 [B].
TEST(DmaRun, AStackThatIsNeverUsed) {
  const RunResult run = run_dma(R"(kernel: half
axes: {A: 8, B: 64, C: 8, D: 256}
tensors:
  x: {memory: hbm, dtype: i8, element: "A, B, C, D # 512", address: 0, init: zero}
program:
  - dma: {from: x, to: y, memory: dm, cluster: "A / 4", slice: "A % 4, B", element: "C, D",
          time: "C, B % 32, B / 32", packet: "D"}
)",
                                false);
  expect_close(run.cycles, 1'857, 0.1);
  EXPECT_EQ(run.dmas.at(0).requests, 4096u);
  EXPECT_EQ(run.dmas.at(0).engines.size(), 8u);
  EXPECT_EQ(run.dmas.at(0).stacks.at(1).transfers, 0u);
}

// ---- Data -------------------------------------------------------------------------------------

// To DM, through the tensor unit, and back.
const char* const kCopyBack = R"(kernel: there_and_back
axes: {S: 64, A: 128}
tensors:
  x: {memory: hbm, dtype: bf16, element: "S, A", init: {random: {seed: 1}}}
program:
  - dma: {from: x, to: x_dm, memory: dm, slice: "S", element: "A"}
  - main:
      from: x_dm
      stages:
        - fetch:       {time: "A / 16", packet: "A % 16"}
        - collect:     {time: "A / 16", packet: "A % 16"}
        - commit_trim: {packet: "A % 16"}
        - commit:      {to: y_dm, element: "A"}
  - dma: {from: y_dm, to: y, memory: hbm, element: "A / 4, S, A % 4"}
expect:
  y: {product_of: [x]}
)";

TEST(DmaRun, FromHbmToHbm) {
  const RunResult run = run_dma(kCopyBack);
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_EQ(run.values.mismatches, 0u);
  ASSERT_EQ(run.commands.size(), 3u);
  EXPECT_EQ(run.commands[0].context, "dma");
  EXPECT_EQ(run.commands[1].waited_for.kind, "read after write");
  EXPECT_EQ(run.commands[1].begin, run.commands[0].end);
  EXPECT_EQ(run.commands[2].begin, run.commands[1].end);
  // 8 B to places of HBM that are 512 B apart: each a read-modify-write of its line.
  EXPECT_EQ(run.dmas.at(1).requests, 2048u);
  EXPECT_EQ(run.dmas.at(1).hbm.read_modify_writes, 2048u);
  EXPECT_EQ(run.dmas.at(0).hbm.read_modify_writes, 0u);
  EXPECT_EQ(run.overlap.dma, run.commands[0].cycles + run.commands[2].cycles);
}

TEST(DmaRun, CyclesDoNotDependOnValuesOrOrder) {
  const RunResult values = run_dma(kCopyBack);
  const RunResult shuffled = run_dma(kCopyBack, true, 7);
  EXPECT_TRUE(values.same_run(shuffled));
  const RunResult timing = run_dma(kCopyBack, false);
  EXPECT_EQ(timing.cycles, values.cycles);
  EXPECT_EQ(timing.dmas, values.dmas);
  EXPECT_EQ(timing.units, values.units);
}

// What is wrong in memory is found: the machine's bytes are compared, not assumed.
TEST(DmaRun, AWrongByteIsFound) {
  Program program = dma_program(kTranspose);
  program.commands[0].dma->segments[0].write_base += 1;
  const RunResult run = run_program(program, shipped_topology());
  EXPECT_EQ(run.status, RunStatus::kFailed);
  EXPECT_GT(run.values.mismatches, 0u);
}

// Two clusters swap: every engine moves its own DMNs.
TEST(DmaRun, DmToDmBetweenClusters) {
  const RunResult run = run_dma(R"(kernel: swap
axes: {P: 2, S: 256, A: 64}
tensors:
  x: {memory: dm, dtype: i32, cluster: "P", slice: "S", element: "A", init: {random: {seed: 1}}}
program:
  - dma: {from: x, to: y, memory: dm, cluster: "S / 128", slice: "P, S % 128", element: "A"}
)");
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_EQ(run.values.mismatches, 0u);
  EXPECT_EQ(run.dmas.at(0).engines.size(), 8u);
  EXPECT_EQ(run.dmas.at(0).requests, 512u);
}

// ---- Beside the tensor unit -------------------------------------------------------------------

// Main reads 8 B of bank 0 a cycle for 512 cycles, the packets being 128 B apart; the DMA writes
// all banks of the same slices. Main takes what it takes alone: 263 cycles, 512 accesses, and 4 to
// the sink behind Fetch, Fetch Adapter, ...
std::string hammer(bool with_dma, uint64_t accesses = 512) {
  const std::string dma =
      with_dma ? "  - dma: {from: h, to: h_dm, memory: dm, slice: \"S\", element: \"D\"}\n" : "";
  return R"(kernel: hammer
axes: {S: 256, A: )" +
         std::to_string(accesses) + R"(, P: 8, D: 1024}
tensors:
  x: {memory: dm, dtype: i8, slice: "S", element: "A, P # 128", address: 0, init: zero}
  h: {memory: hbm, dtype: i8, element: "S, D", init: zero}
program:
)" + dma +
         R"(  - main:
      from: x
      delay: 400
      stages:
        - fetch:       {time: "A", packet: "P"}
        - collect:     {time: "A", packet: "P # 32"}
)";
}

TEST(DmaRun, ADmaNeverDelaysTheTensorUnit) {
  const RunResult alone = run_dma(hammer(false));
  const RunResult both = run_dma(hammer(true));
  EXPECT_EQ(alone.status, RunStatus::kOk);
  EXPECT_EQ(both.status, RunStatus::kOk);
  EXPECT_EQ(both.commands.at(1).cycles, alone.commands.at(0).cycles);
  EXPECT_EQ(both.overlap.dma_overlapped,
            std::min(both.commands[0].end, both.commands[1].end) - both.commands[1].begin);
}

// Fetch has bank 0 for `accesses` cycles in a row, from cycle 664 (main's 400 + 263 and a link) on,
// in which the DMA waits for it: the 64th is cycle 727.
TEST(DmaRun, FetchStarvesADmaFrom64AccessesOn) {
  const RunResult starved = run_dma(hammer(true, 64));
  EXPECT_THAT(starved.hazards,
              ElementsAre("command 0 (h -> h_dm), cycle 727: bank starvation: fetch and commit "
                          "held bank 0 of the data memory for 64 cycles while a DMA waited for "
                          "it, in this one main_fetch of command 1"));
  EXPECT_EQ(starved.exit_status(false), 0);
  EXPECT_EQ(starved.exit_status(true), 1);
  const RunResult waited = run_dma(hammer(true, 63));
  EXPECT_THAT(waited.hazards, IsEmpty());
  EXPECT_EQ(waited.exit_status(true), 0);
  // Not told again while it goes on.
  EXPECT_EQ(run_dma(hammer(true, 512)).hazards.size(), 1u);
}

// Waiting for the bank: in 64 cycles all engines in use lost it, and no less.
TEST(DmaRun, ConflictsAreCountedByCommandAndEngine) {
  const RunResult run = run_dma(hammer(true, 64));
  ASSERT_EQ(run.dmas.size(), 1u);
  uint64_t all = 0;
  for (const DmaEngineResult& engine : run.dmas[0].engines) {
    EXPECT_GE(engine.dm_conflicts, 62u) << engine.engine;
    EXPECT_LE(engine.dm_conflicts, 64u) << engine.engine;
    all += engine.dm_conflicts;
  }
  EXPECT_EQ(run.dmas[0].dm_conflicts(), all);
}

TEST(DmaRun, WhatStarvesMayRunAlone) {
  const TopologyDecl topology =
      shipped_topology({{"starving_alone:                         # 1: what starves DMA by itself "
                         "runs beside no DMA\n    {value: 0",
                         "starving_alone: {value: 1"}});
  const Program program = dma_program(hammer(true, 64), topology);
  EXPECT_TRUE(program.commands[1].starves_dma);
  const RunResult run = run_program(program, topology, {});
  EXPECT_THAT(run.hazards, IsEmpty());
  EXPECT_EQ(run.commands[1].begin, run.commands[0].end);
  EXPECT_EQ(run.commands[1].waited_for.kind, "bank starvation");
  EXPECT_EQ(run.commands[1].waited_for.what, "dma");
  EXPECT_EQ(run.commands[1].waited_for.command, 0u);
  // What does not starve it runs beside it.
  const Program harmless = dma_program(hammer(true, 63), topology);
  EXPECT_FALSE(harmless.commands[1].starves_dma);
  EXPECT_EQ(run_program(harmless, topology, {}).commands[1].begin, 0u);
  // As shipped they run side by side.
  EXPECT_EQ(run_dma(hammer(true, 64)).commands[1].begin, 0u);
}

// 256 KB into the data memory of 256 slices, read from HBM once.
TEST(DmaRun, BandwidthCountsWhatDmaMoves) {
  const RunResult run = run_dma(hammer(true, 63));
  const auto of = [&](const std::string& name) {
    for (const BandwidthResult& bandwidth : run.bandwidth) {
      if (bandwidth.name == name) return bandwidth;
    }
    return BandwidthResult{};
  };
  EXPECT_EQ(of("hbm_read").bytes, 262'144u);
  EXPECT_DOUBLE_EQ(of("hbm_read").peak_bytes_per_cycle, 1536);  // 32 channels of 48 GB/s
  EXPECT_EQ(of("hbm_write").bytes, 0u);
  EXPECT_EQ(of("dma").bytes, 262'144u);
  EXPECT_DOUBLE_EQ(of("dma").peak_bytes_per_cycle, 8 * 256);
  EXPECT_EQ(of("dm_write").bytes, 262'144u);
  EXPECT_EQ(of("dm_write").bytes_per_slice, 512u);  // the mean of two clusters
  EXPECT_EQ(of("dm_read").bytes, 63u * 8 * 256);    // main's alone
  EXPECT_DOUBLE_EQ(of("dma").utilization, 262'144.0 / static_cast<double>(run.cycles) / 2048);
}

// ---- Views ------------------------------------------------------------------------------------

// Rows 3 and 4 of x, from HBM to a slice and from there to HBM, without the others.
TEST(DmaRun, MovesATile) {
  const RunResult run = run_dma(R"(kernel: tile
axes: {J: 8, K: 256}
tensors:
  x: {memory: hbm, dtype: i8, element: "J, K", address: 0, init: {random: {seed: 1}}}
program:
  - dma: {view: {of: x, axis: "J", start: 3, length: 2}, to: y, memory: dm, slice: "1 # 256", element: "J = 2, K"}
  - dma: {view: {of: y, axis: "K / 128", start: 1}, to: z, memory: hbm, element: "J = 2, K % 128"}
)");
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_EQ(run.values.mismatches, 0u);
  ASSERT_EQ(run.values.checked.size(), 2u);
  EXPECT_EQ(run.values.checked[0].elements, 512u);
  EXPECT_EQ(run.values.checked[1].elements, 256u);
  EXPECT_EQ(run.dmas[0].bytes_ideal, 512u);
  EXPECT_EQ(run.dmas[1].bytes_ideal, 256u);
  const Program program = dma_program(R"(kernel: tile
axes: {J: 8, K: 256}
tensors:
  x: {memory: hbm, dtype: i8, element: "J, K", address: 0, init: zero}
program:
  - dma: {view: {of: x, axis: "J", start: 3, length: 2}, to: y, memory: dm, slice: "1 # 256", element: "J = 2, K"}
)");
  EXPECT_EQ(program.commands[0].dma->segments[0].read_base, 3u * 256);
  // A hazard is judged by the bytes of the tile.
  EXPECT_EQ(program.commands[0].reads[0].begin, 3u * 256);
  EXPECT_EQ(program.commands[0].reads[0].end, 5u * 256);
}

TEST(DmaRun, ALockstepProofOfADmaNeedsTimingOnly) {
  const Program program = dma_program(kCopyBack);
  RunOptions options;
  EXPECT_THROW(prove_lockstep(program, shipped_topology(), options, {0}), InputError);
  options.values = false;
  EXPECT_TRUE(prove_lockstep(program, shipped_topology(), options, {0, 3}).holds());
}

// One DMN for reads and writes: four beats a request.
TEST(DmaRun, TheBoundHoldsInOneDmn) {
  const RunResult run = run_dma(R"(kernel: one_dmn
axes: {S: 32, A: 16, C: 256}
tensors:
  x: {memory: dm, dtype: i8, slice: "S # 64", element: "A, C", address: 0, init: {random: {seed: 1}}}
program:
  - dma: {from: x, to: y, memory: dm, slice: "S # 64", element: "A, C", address: 65536}
)");
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_GE(run.cycles, 500u + 4 * 512 - 1);
  EXPECT_LE(run.cycles, 500u + 4 * 512 + 64);
}

// A slice of zero padding holds no element, but zeros, which a move takes along.
TEST(DmaRun, SlicesOfZeroPaddingHoldZeros) {
  const RunResult run = run_dma(R"(kernel: k
axes: {A: 2, P: 64}
tensors:
  x: {memory: dm, dtype: i8, slice: "[A #{0} 3] # 256", element: P, init: {random: {seed: 1}}}
program:
  - dma: {from: x, to: y, memory: hbm, element: "A #{0} 3, P"}
)");
  EXPECT_EQ(run.status, RunStatus::kOk);
  ASSERT_EQ(run.values.checked.size(), 1u);
  EXPECT_EQ(run.values.checked[0].elements, 128u);
  EXPECT_EQ(run.values.mismatches, 0u);
}

// 60 writes of 2 bytes into one line, each 50 times 4 cycles of 0.75 GHz: 16,000 cycles in which
// the channel works while no item moves. The read behind them waits for all of that.
TEST(DmaRun, AChannelThatWorksIsNoStandstill) {
  const RunResult run = run_dma(R"(kernel: k
axes: {A: 60, P: 2}
tensors:
  x: {memory: hbm, dtype: i8, element: "A, P", init: {random: {seed: 1}}}
program:
  - dma: {from: x, to: y, memory: hbm, element: "A, P #{!} 4"}
  - dma: {from: y, to: z, memory: hbm, element: "A, P"}
)");
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_GT(run.cycles, 16'000u);
  EXPECT_EQ(run.values.mismatches, 0u);
}

// ---- The host ---------------------------------------------------------------------------------

// The cycles of a move of so many bytes between the host and HBM.
Cycle host_move(uint64_t bytes, bool to_host, const std::string& more = "") {
  const RunResult run = run_dma(
      fmt::format("kernel: k\naxes: {{A: {}}}\ntensors:\n"
                  "  x: {{memory: {}, dtype: i8, element: A, init: {{random: {{seed: 1}}}}}}\n"
                  "program:\n  - dma: {{from: x, to: y, memory: {}, element: A{}}}\n",
                  bytes, to_host ? "hbm" : "host", to_host ? "host" : "hbm", more));
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_EQ(run.values.mismatches, 0u);
  return run.cycles;
}

// 30 bytes a cycle. A read passes PCIe from cycle 90 on, is there 401 cycles later (but not before
// 500), and three more end the command; a write passes it from 501 on, and two more end it.
TEST(DmaRun, PcieMovesThirtyBytesACycle) {
  EXPECT_EQ(host_move(480, false), 90u + 16 + 401 + 3);
  EXPECT_EQ(host_move(481, false), 90u + 17 + 401 + 3);
  EXPECT_EQ(host_move(510, false), 90u + 17 + 401 + 3);
  EXPECT_EQ(host_move(511, false), 90u + 18 + 401 + 3);
  EXPECT_EQ(host_move(240, true), 501u + 8 + 2);
  EXPECT_EQ(host_move(241, true), 501u + 9 + 2);
  EXPECT_EQ(host_move(270, true), 501u + 9 + 2);
  EXPECT_EQ(host_move(271, true), 501u + 10 + 2);
}

// 16 packets of 4,096 bytes: however many engines ask, PCIe is one.
TEST(DmaRun, EnginesShareOnePcie) {
  const Cycle one = host_move(65536, false);
  EXPECT_EQ(one, 90u + 2185 + 401 + 3);
  EXPECT_EQ(host_move(65536, false, ", engines: [0, 1, 2, 3]"), one);
  EXPECT_EQ(host_move(65536, false, ", engines: [7, 5, 3]"), one);
}

TEST(DmaRun, TensorsGoFromTheHostToDataMemoryAndBack) {
  const RunResult run = run_dma(R"(kernel: k
axes: {A: 6, B: 20}
tensors:
  x: {memory: host, dtype: bf16, element: "B # 32, A #{0} 8", address: 4, init: {random: {seed: 1}}}
program:
  - dma: {from: x, to: y, memory: dm, slice: "[B] # 256", element: "A #{0} 8"}
  - dma: {from: y, to: z, memory: host, element: "A #{0} 8, B"}
)");
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_EQ(run.values.mismatches, 0u);
}

}  // namespace
}  // namespace rngdsim
