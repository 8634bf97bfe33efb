// SPDX-License-Identifier: Apache-2.0
// The figures of every kernel that ships, worked out on paper.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

constexpr uint64_t kOverhead = 263;  // hardware.md section 2 [C]

TEST(ShippedKernels, AllLowerWithoutErrors) {
  size_t count = 0;
  const std::filesystem::path root = std::string(RNGDSIM_SOURCE_DIR) + "/configs/kernels";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".yaml" ||
        entry.path().parent_path().filename() == "rejected") {
      continue;
    }
    const std::filesystem::path name = std::filesystem::relative(entry.path(), root);
    const LoweredKernel lowered = lower_shipped(name.parent_path() / name.stem());
    EXPECT_EQ(lowered.errors(), "") << entry.path();
    ++count;
  }
  EXPECT_GE(count, 36U);
}

// C[512,512] = A[512,64] B[64,512], 256 tiles of 32 x 32: 32 rows of 64 bf16 (128 B) of each.
TEST(ShippedKernels, Gemm) {
  const LoweredKernel lowered = lower_shipped("gemm");
  ASSERT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.warnings(), "");
  const Command& sub = lowered.command(0);
  EXPECT_EQ(sub.context, Context::kSub);
  EXPECT_EQ(sub.label, "b_dm -> b_trf");
  // 8 x 4 packets of 128 B, 8 B a read.
  EXPECT_EQ(sub.fetch->sequencer.text(), "[8 : 64, 4 : 512, 64 : 1] : 64");
  EXPECT_EQ(sub.fetch->access_bytes, 8U);
  EXPECT_EQ(sub.fetch->access_elements, 4U);
  EXPECT_EQ(sub.fetch->packets, 32U);
  EXPECT_EQ(sub.fetch->accesses_per_packet, 16U);
  EXPECT_EQ(sub.fetch->accesses, 512U);
  EXPECT_EQ(sub.collect->flits_per_packet, 4U);
  EXPECT_EQ(sub.collect->flits, 128U);
  EXPECT_EQ(sub.to_trf->lanes, 8U);
  EXPECT_EQ(sub.to_trf->flits_per_lane, 16U);
  EXPECT_EQ(sub.bound.cycles, kOverhead + 512);
  EXPECT_EQ(sub.bound.bound_by, "fetch reads");
  EXPECT_EQ(sub.final_items, 128U);
  EXPECT_EQ(sub.mac_useful, 0U);
  EXPECT_EQ(sub.mac_issued, 0U);

  const Command& main = lowered.command(1);
  EXPECT_EQ(main.label, "a_dm x b_trf -> c_dm");
  // Each row of A four times (J / 8 % 4 is not in A), 32 B a read.
  EXPECT_EQ(main.fetch->sequencer.text(), "[32 : 64, 4 : 0, 64 : 1] : 64");
  EXPECT_EQ(main.fetch->access_bytes, 32U);
  EXPECT_EQ(main.fetch->packets, 128U);
  EXPECT_EQ(main.fetch->accesses, 512U);
  EXPECT_EQ(main.collect->flits, 512U);
  EXPECT_EQ(main.outer->pack_size, 2U);
  EXPECT_EQ(main.outer->lanes, 8U);
  EXPECT_EQ(main.outer->time_broadcast, 1U);
  EXPECT_EQ(main.outer->packet_elements, 32U);
  EXPECT_EQ(main.outer->slots, 32U);
  EXPECT_EQ(main.outer->packets, 256U);
  EXPECT_EQ(main.outer->accumulator, DType::kF32);
  // A lane of B holds 4 columns of 64: OutTime I % 32, J / 8 % 4, K / 32.
  EXPECT_EQ(main.outer->trf_sequencer.text(), "[32 : 0, 4 : 64, 2 : 32] : 32");
  EXPECT_EQ(main.outer->read_elements, 32U);
  EXPECT_EQ(main.outer->read_bytes, 64U);
  EXPECT_EQ(main.outer->packet_broadcast, 1U);
  EXPECT_EQ(main.packet_reduce->depth, 5U);
  EXPECT_EQ(main.packet_reduce->columns, 1U);
  // K / 32 is innermost: nothing kept inside of it.
  EXPECT_EQ(main.time_reduce->slots, 1U);
  EXPECT_EQ(main.time_reduce->capacity, 128U);
  EXPECT_EQ(main.time_reduce->results, 128U);
  EXPECT_EQ(main.lane_fold->flits_per_result, 1U);
  EXPECT_EQ(main.lane_fold->flits, 128U);
  EXPECT_EQ(main.cast->from, DType::kF32);
  EXPECT_EQ(main.cast->to, DType::kBF16);
  EXPECT_EQ(main.commit_adapter->trim_elements, 8U);
  EXPECT_EQ(main.commit->sequencer.text(), "[32 : 32, 4 : 8, 8 : 1] : 8");
  EXPECT_EQ(main.commit->write_bytes, 16U);
  EXPECT_EQ(main.commit->write_elements, 8U);
  EXPECT_EQ(main.commit->writes_per_flit, 1U);
  EXPECT_EQ(main.commit->writes, 128U);
  EXPECT_EQ(main.bound.trf_reads, 256U);
  EXPECT_EQ(main.bound.cycles, kOverhead + 512);
  EXPECT_EQ(main.bound.bound_by, "fetch reads");
  EXPECT_EQ(main.mac_useful, uint64_t{512} * 512 * 64);
  EXPECT_EQ(main.mac_issued, uint64_t{512} * 512 * 64);  // 256 packets x 32 x 8 lanes x 256 slices
  EXPECT_EQ(main.live_slices, 256U);
  EXPECT_EQ(main.clusters_used, 1U);

  // Tensors: 4 KB each of A and B, 2 KB of C; B in 8 lanes of 512 B.
  EXPECT_EQ(lowered.tensor("a_dm").address, 0U);
  EXPECT_EQ(lowered.tensor("b_dm").address, 4096U);
  EXPECT_EQ(lowered.tensor("c_dm").address, 8192U);
  EXPECT_EQ(lowered.tensor("c_dm").bytes, 2048U);
  EXPECT_EQ(lowered.tensor("b_trf").bytes, 512U);
  EXPECT_EQ(lowered.tensor("b_trf").rows, 8U);
  EXPECT_EQ(lowered.tensor("b_trf").region, "first_half");
  // The values of A do not depend on J, those of B not on I, though both lie in Slice.
  const auto axis = [&](const char* name) { return *lowered.program.axes.find(name); };
  EXPECT_EQ(lowered.tensor("b_trf").logical, (std::vector<AxisId>{axis("J"), axis("K")}));
  EXPECT_EQ(lowered.tensor("c_dm").logical, (std::vector<AxisId>{axis("I"), axis("J")}));

  // Hazards: the ranges of whole tensors; TRF in units of lanes x rows, 1,024 in all.
  ASSERT_EQ(sub.reads.size(), 1U);
  EXPECT_EQ(sub.reads[0].memory, MemoryKind::kDm);
  EXPECT_EQ(sub.reads[0].begin, 4096U);
  EXPECT_EQ(sub.reads[0].end, 8192U);
  ASSERT_EQ(sub.writes.size(), 1U);
  EXPECT_EQ(sub.writes[0].memory, MemoryKind::kTrf);
  EXPECT_EQ(sub.writes[0].begin, 0U);
  EXPECT_EQ(sub.writes[0].end, 64U);
  ASSERT_EQ(main.reads.size(), 2U);
  EXPECT_EQ(main.reads[0].begin, 0U);
  EXPECT_EQ(main.reads[0].end, 4096U);
  EXPECT_TRUE(main.reads[1].overlaps(sub.writes[0]));
  ASSERT_EQ(main.writes.size(), 1U);
  EXPECT_EQ(main.writes[0].begin, 8192U);
  EXPECT_EQ(main.writes[0].end, 10240U);

  ASSERT_EQ(lowered.program.expect.size(), 1U);
  EXPECT_EQ(lowered.program.expect[0].sum_over, (std::vector<AxisId>{axis("K")}));
}

TEST(ShippedKernels, GemmLarge) {
  const LoweredKernel lowered = lower_shipped("gemm_large");
  ASSERT_EQ(lowered.errors(), "");
  const Command& sub = lowered.command(0);
  EXPECT_EQ(sub.fetch->accesses, 8192U);  // 256 rows of 256 B
  EXPECT_EQ(sub.collect->flits, 2048U);
  EXPECT_EQ(sub.to_trf->flits_per_lane, 256U);
  EXPECT_EQ(sub.bound.cycles, kOverhead + 8192);
  const Command& main = lowered.command(1);
  EXPECT_EQ(main.fetch->sequencer.text(), "[512 : 128, 32 : 0, 128 : 1] : 128");
  EXPECT_EQ(main.fetch->accesses, 131072U);
  EXPECT_EQ(main.collect->flits, 131072U);
  EXPECT_EQ(main.outer->packets, 65536U);
  EXPECT_EQ(main.outer->trf_sequencer.text(), "[512 : 0, 32 : 128, 4 : 32] : 32");
  EXPECT_EQ(main.time_reduce->results, 16384U);
  EXPECT_EQ(main.lane_fold->flits, 16384U);
  EXPECT_EQ(main.commit->writes, 16384U);
  EXPECT_EQ(main.commit->write_bytes, 16U);
  EXPECT_EQ(main.bound.cycles, kOverhead + 131072);
  EXPECT_EQ(main.mac_useful, uint64_t{1} << 32);
  EXPECT_EQ(main.mac_issued, uint64_t{1} << 32);
  // The whole register file, and 448 KB of data memory.
  EXPECT_EQ(lowered.tensor("b_trf").bytes * 8, 65536U);
  EXPECT_EQ(lowered.tensor("b_trf").region, "full");
  EXPECT_EQ(lowered.tensor("b_trf").rows, 128U);
  const TensorVersion& c = lowered.tensor("c_dm");
  EXPECT_EQ(c.address + c.bytes, 448U * 1024);
}

TEST(ShippedKernels, Gemv) {
  const LoweredKernel lowered = lower_shipped("gemv");
  ASSERT_EQ(lowered.errors(), "");
  const Command& sub = lowered.command(0);
  EXPECT_EQ(sub.fetch->accesses, 512U);  // 4,096 B
  EXPECT_EQ(sub.collect->flits, 128U);
  EXPECT_EQ(sub.to_trf->lanes, 1U);
  const Command& main = lowered.command(1);
  EXPECT_EQ(main.fetch->sequencer.text(), "[128 : 16, 16 : 1] : 16");
  EXPECT_EQ(main.fetch->accesses, 128U);
  EXPECT_EQ(main.outer->packets, 64U);
  EXPECT_EQ(main.outer->trf_sequencer.text(), "[64 : 32] : 32");
  EXPECT_EQ(main.time_reduce->results, 1U);
  EXPECT_EQ(main.lane_fold->flits, 1U);
  EXPECT_EQ(main.commit->sequencer.text(), "[4 : 1] : 4");
  EXPECT_EQ(main.commit->writes, 1U);
  EXPECT_EQ(main.commit->write_bytes, 8U);
  EXPECT_EQ(main.bound.cycles, kOverhead + 128);
  EXPECT_EQ(main.mac_useful, 256U * 2048);
  EXPECT_EQ(main.mac_issued, 64U * 32 * 256);  // one lane
  // One lane has 1,024 rows a bank: 64 of them, the same share of the file as 8 lanes x 8 rows.
  EXPECT_EQ(lowered.tensor("x_trf").rows, 64U);
  EXPECT_EQ(sub.writes[0].end - sub.writes[0].begin, 64U);
}

TEST(ShippedKernels, Dot) {
  const LoweredKernel lowered = lower_shipped("dot");
  ASSERT_EQ(lowered.errors(), "");
  const Command& main = lowered.command(1);
  EXPECT_EQ(lowered.command(0).bound.cycles, kOverhead + 512);
  EXPECT_EQ(main.fetch->sequencer.text(), "[2048 : 1] : 2048");
  EXPECT_EQ(main.fetch->accesses_per_packet, 128U);
  EXPECT_EQ(main.bound.cycles, kOverhead + 128);
  EXPECT_EQ(main.mac_useful, 2048U);  // one slice of 256, one lane
  EXPECT_EQ(main.mac_issued, 64U * 32 * 256);
  EXPECT_EQ(main.live_slices, 1U);
  EXPECT_TRUE(lowered.tensor("y_dm").logical.empty());
}

// worked_examples.md, Contraction: V=32 M=32 N=8 K=32, bf16, N in Lane.
TEST(ShippedKernels, BatchedMatmulWithKInTime) {
  const LoweredKernel lowered = lower_shipped("bmatmul_k_in_time");
  ASSERT_EQ(lowered.errors(), "");
  const Command& main = lowered.command(0);
  EXPECT_EQ(main.entry_stage, "contract_outer");
  EXPECT_EQ(main.stream->items, 64U);  // V / 16, K
  EXPECT_EQ(main.outer->pack_size, 1U);
  EXPECT_EQ(main.outer->packets, 64U);
  EXPECT_EQ(main.outer->read_elements, 1U);
  EXPECT_EQ(main.outer->packet_broadcast, 16U);
  EXPECT_EQ(main.outer->trf_sequencer.text(), "[2 : 0, 32 : 1] : 1");
  EXPECT_EQ(main.packet_reduce->depth, 0U);
  EXPECT_EQ(main.packet_reduce->columns, 1U);
  EXPECT_EQ(main.time_reduce->slots, 1U);
  EXPECT_EQ(main.time_reduce->results, 2U);
  EXPECT_EQ(main.lane_fold->flits, 2U);
  EXPECT_EQ(main.bound.cycles, kOverhead + 64);
  EXPECT_EQ(main.mac_useful, 262144U);
  EXPECT_EQ(main.mac_issued, 8388608U);  // 1 of 32 multipliers
  EXPECT_EQ(main.clusters_used, 2U);
  EXPECT_EQ(main.live_slices, 512U);
  EXPECT_NE(lowered.warnings().find("PackSize 1"), std::string::npos);
}

TEST(ShippedKernels, BatchedMatmulWithMOrVInTime) {
  for (const char* name : {"bmatmul_m_in_time", "bmatmul_v_in_time"}) {
    const LoweredKernel lowered = lower_shipped(name);
    ASSERT_EQ(lowered.errors(), "") << name;
    const Command& main = lowered.command(0);
    EXPECT_EQ(main.stream->items, 64U);
    EXPECT_EQ(main.outer->pack_size, 2U);  // one packet every 2 cycles
    EXPECT_EQ(main.outer->packets, 32U);
    EXPECT_EQ(main.outer->read_elements, 32U);
    EXPECT_EQ(main.outer->trf_sequencer.text(), "[32 : 0] : 32");
    EXPECT_EQ(main.packet_reduce->depth, 5U);
    EXPECT_EQ(main.lane_fold->flits, 32U);
    EXPECT_EQ(main.bound.cycles, kOverhead + 64);
    EXPECT_EQ(main.bound.bound_by, "flits");
    EXPECT_EQ(main.mac_useful, 262144U);
    EXPECT_EQ(main.mac_issued, 4194304U);  // 32 of 512 slices
    EXPECT_EQ(main.live_slices, 32U);
    EXPECT_EQ(main.clusters_used, 2U);
    EXPECT_EQ(lowered.warnings(), "");
  }
}

// worked_examples.md, Stream Adapter: the packet [L, K] is sent 5 times.
TEST(ShippedKernels, OuterBroadcast) {
  const LoweredKernel lowered = lower_shipped("outer_broadcast");
  ASSERT_EQ(lowered.errors(), "");
  const Command& main = lowered.command(0);
  EXPECT_EQ(main.stream->items, 64U);
  EXPECT_EQ(main.outer->pack_size, 2U);
  EXPECT_EQ(main.outer->lanes, 8U);
  EXPECT_EQ(main.outer->time_broadcast, 5U);
  EXPECT_EQ(main.outer->packets, 160U);
  EXPECT_EQ(main.outer->trf_sequencer.text(), "[32 : 0, 5 : 32] : 32");
  EXPECT_EQ(main.packet_reduce->depth, 5U);
  EXPECT_EQ(main.lane_fold->flits, 160U);
  EXPECT_EQ(main.bound.cycles, kOverhead + 160);
  EXPECT_EQ(main.bound.bound_by, "packets");
  EXPECT_EQ(main.mac_useful, 32U * 8 * 5 * 2 * 16);
  EXPECT_EQ(main.mac_issued, 160U * 32 * 8 * 256);
}

TEST(ShippedKernels, StreamCopy) {
  const LoweredKernel lowered = lower_shipped("stream_copy");
  ASSERT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.warnings(), "");
  const Command& main = lowered.command(0);
  EXPECT_EQ(main.fetch->sequencer.text(), "[16 : 32, 2 : 16, 16 : 1] : 16");
  EXPECT_EQ(main.fetch->accesses, 32U);
  EXPECT_EQ(main.collect->flits, 32U);
  EXPECT_EQ(main.commit->sequencer.text(), "[16 : 16, 2 : 256, 16 : 1] : 16");
  EXPECT_EQ(main.commit->write_bytes, 32U);
  EXPECT_EQ(main.commit->writes, 32U);
  EXPECT_EQ(main.bound.cycles, kOverhead + 32);
  const Command& sub = lowered.command(1);
  EXPECT_EQ(sub.fetch->access_bytes, 8U);
  EXPECT_EQ(sub.fetch->accesses, 64U);
  EXPECT_EQ(sub.collect->flits, 16U);
  EXPECT_EQ(sub.commit->sequencer.text(), "[16 : 32, 2 : 16, 16 : 1] : 32");
  EXPECT_EQ(sub.commit->write_bytes, 8U);
  EXPECT_EQ(sub.commit->writes_per_flit, 4U);
  EXPECT_EQ(sub.commit->writes, 64U);
  EXPECT_EQ(sub.bound.cycles, kOverhead + 64);
}

// worked_examples.md, Fetch.
TEST(ShippedKernels, FetchExamples) {
  struct Case {
    const char* kernel;
    const char* sequencer;
    uint64_t bytes, per_packet, cycles;
  };
  const std::vector<Case> cases = {
      {"fetch_batch_1", "[4 : 192, 3 : 64, 4 : 16, 16 : 1] : 16", 8, 1, 48},
      {"fetch_batch_2", "[4 : 192, 3 : 64, 2 : 32, 2 : 16, 16 : 1] : 32", 16, 1, 24},
      {"fetch_batch_3", "[4 : 192, 3 : 64, 4 : 16, 16 : 1] : 64", 32, 1, 12},
      {"fetch_batch_4", "[4 : 192, 3 : 64, 4 : 16, 16 : 1] : 192", 32, 3, 12},
      {"fetch_pad_8", "[3 : 10, 5 : 2, 8 : 1] : 8", 8, 1, 15},
      {"fetch_pad_16", "[3 : 10, 16 : 1] : 16", 16, 1, 3},
      {"fetch_pad_32", "[32 : 1] : 32", 32, 1, 1},
  };
  for (const Case& c : cases) {
    const LoweredKernel lowered = lower_shipped(c.kernel);
    ASSERT_EQ(lowered.errors(), "") << c.kernel;
    const Command& main = lowered.command(0);
    EXPECT_EQ(main.fetch->sequencer.text(), c.sequencer) << c.kernel;
    EXPECT_EQ(main.fetch->access_bytes, c.bytes) << c.kernel;
    EXPECT_EQ(main.fetch->accesses_per_packet, c.per_packet) << c.kernel;
    EXPECT_EQ(main.fetch->accesses, c.cycles) << c.kernel;
    EXPECT_EQ(main.bound.cycles, kOverhead + c.cycles) << c.kernel;
    EXPECT_EQ(main.final_items, c.cycles) << c.kernel;
    EXPECT_EQ(main.label, "x -> sink") << c.kernel;
    EXPECT_EQ(lowered.warnings().empty(), c.bytes == 32) << c.kernel;
  }
}

}  // namespace
}  // namespace rngdsim
