// SPDX-License-Identifier: Apache-2.0
// The kernels of configs/kernels/gemm_mappings: one matrix product, 512 x 512 x 512 of bf16, in
// twelve mappings. Cycles are worked out from docs/timing-model.md, values are compared with the
// mathematics and with each other.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "numeric/dtype.h"
#include "tests/golden/kernels/shipped_kernel.h"

namespace rngdsim {
namespace {

constexpr const char* kDirectory = RNGDSIM_SOURCE_DIR "/configs/kernels/gemm_mappings";
constexpr uint64_t kProducts = uint64_t{512} * 512 * 512;

// What a kernel is expected to do; counts are those of one slice.
struct Mapping {
  const char* name;
  uint64_t loads;    // sub: reads of 8 B
  uint64_t reads;    // main
  uint64_t flits;    // main, out of Collect
  uint64_t packets;  // at the Multiplier, repeats counted
  uint64_t results;  // flits out of the Lane Folder
  uint64_t first;    // cycles from the first read of main to the first packet at the Multiplier
  uint64_t active;   // cycles from the first packet to the last one, both counted
  uint64_t drain;    // cycles that the end comes later than 12 past the last packet
  uint64_t clusters;
  uint64_t issued;  // slots clocked, as a multiple of the useful products
};

void PrintTo(const Mapping& mapping, std::ostream* out) { *out << mapping.name; }

// A read in cycle t is granted in t + 1, leaves Fetch in t + 2, the adapter in t + 3, Collect in
// t + 4, and is taken by the Stream Adapter in t + 5. A packet that leaves there in cycle s is
// multiplied in s + 1, in the Packet Reducer in s + 2, in the Time Reducer five later in s + 7,
// then Lane Folder, Cast, Commit Adapter, Commit, memory in s + 12: the command ends in s + 13, 12
// past the multiplication.
//
// So `first` is 6 where a packet is one flit, 7 where it is two read in successive cycles. From
// then on there is a packet a cycle if flits come as fast as they are used up (two of them for two
// or more repeats, one for four): `active` = packets.
const Mapping kMappings[] = {
    // 32 KB of weights: 4,096 loads. 32 rows of 1 KB: 1,024 reads of 32 B, 512 packets sent 4
    // times.
    // 32 x 4 flits of results.
    {"time_broadcast", 4096, 1024, 1024, 2048, 128, 7, 2048, 0, 1, 1},
    // 16 columns: half of the weights, 512 packets sent twice.
    {"two_clusters", 2048, 1024, 1024, 1024, 64, 7, 1024, 0, 2, 1},
    // 64 rows, 1,024 packets sent twice.
    {"tall_tiles", 2048, 2048, 2048, 2048, 128, 7, 2048, 0, 1, 1},
    // As time_broadcast, but see KOuterLosesOneBank for the cycle at the end.
    {"k_outer", 4096, 1024, 1024, 2048, 128, 7, 2048, 1, 1, 1},
    // 512 packets of 32 rows (64 B, two reads), sent 4 times. The last four packets complete the
    // four slots, 32 flits each: the first of them goes to the Lane Folder three cycles before the
    // last packet does, and 128 flits take 127 cycles more, 124 more than the four of
    // time_broadcast.
    {"outer_product", 4096, 1024, 1024, 2048, 128, 7, 2048, 124, 1, 1},
    // A and B exchanged.
    {"i_in_lane", 4096, 1024, 1024, 2048, 128, 7, 2048, 0, 1, 1},
    // Each row 4 times: 4,096 reads, a packet every two cycles, 2 x 2,047 + 1.
    {"row_major", 4096, 4096, 4096, 2048, 128, 7, 4095, 0, 1, 1},
    // 512 packets sent 8 times, to 4 lanes; only active lanes count as issued.
    {"four_lanes", 4096, 1024, 1024, 4096, 256, 7, 4096, 0, 1, 1},
    // 1,024 packets of a flit sent 4 times; a full packet's worth is issued.
    {"one_flit_packets", 4096, 1024, 1024, 4096, 128, 6, 4096, 0, 1, 2},
    // 64 x 64 tiles: 64 KB of weights, 64 rows, 1,024 packets sent 8 times; 64 of 256 slices.
    {"quarter_slices", 8192, 2048, 2048, 8192, 512, 7, 8192, 0, 1, 4},
    // 16,384 reads of 2 B, 16 a flit, 32 a packet: the first packet is there with read 31, the last
    // with read 16,383 and sent 3 times more: 37, and 16,383 - 31 + 3 + 1.
    {"strided_reads", 4096, 16384, 1024, 2048, 128, 37, 16356, 0, 1, 1},
    // A packet for each element: 16,384 reads and flits, sent 4 times; 1 of 32 multipliers.
    {"k_in_time", 4096, 16384, 16384, 65536, 128, 6, 65536, 0, 1, 32},
};

Loaded load_mapping(const std::string& name) { return load("gemm_mappings/" + name); }

class GemmMapping : public ::testing::TestWithParam<Mapping> {};

TEST_P(GemmMapping, MovesWhatItsMappingSays) {
  const Mapping& expected = GetParam();
  const RunResult result = run(load_mapping(expected.name), false);
  EXPECT_EQ(unit(result, "sub_fetch").items_out, expected.loads);
  EXPECT_EQ(unit(result, "trf").items_in, expected.loads / 4);  // flits of 32 B
  EXPECT_EQ(unit(result, "main_fetch").items_out, expected.reads);
  EXPECT_EQ(unit(result, "stream_adapter").items_in, expected.flits);
  EXPECT_EQ(unit(result, "multiplier").items_out, expected.packets);
  EXPECT_EQ(unit(result, "lane_folder").items_out, expected.results);
  EXPECT_EQ(unit(result, "main_commit").items_out, expected.results);
}

// The load: reads in cycles 263 to 262 + loads, the last flit stored 5 cycles after the last one,
// the end one past that. Main begins there, its first read 263 later.
TEST_P(GemmMapping, TakesTheCyclesThatAddUp) {
  const Mapping& expected = GetParam();
  const RunResult result = run(load_mapping(expected.name), false);
  ASSERT_EQ(result.commands.size(), 2u);
  const CommandResult& sub = result.commands[0];
  EXPECT_EQ(sub.begin, 0u);
  EXPECT_EQ(sub.end, 268 + expected.loads);
  EXPECT_EQ(sub.bound, 263 + expected.loads);
  const CommandResult& main = result.commands[1];
  EXPECT_EQ(main.begin, sub.end);
  EXPECT_EQ(result.mac.first_packet, main.begin + 263 + expected.first);
  EXPECT_EQ(result.mac.active_cycles, expected.active);
  EXPECT_EQ(main.cycles, 263 + expected.first + expected.active - 1 + 12 + expected.drain);
  EXPECT_EQ(main.bound, 263 + std::max(expected.reads, expected.packets));
  EXPECT_EQ(result.cycles, main.end);
}

// 65,536 products a cycle and cluster: 2,048 cycles' worth of useful ones, half of the peak of the
// chip where one cluster works.
TEST_P(GemmMapping, HasTheUtilizationOfItsPackets) {
  const Mapping& expected = GetParam();
  const RunResult result = run(load_mapping(expected.name), false);
  EXPECT_EQ(result.mac.useful, kProducts);
  EXPECT_EQ(result.mac.issued, kProducts * expected.issued);
  EXPECT_EQ(result.mac.clusters_used, expected.clusters);
  EXPECT_EQ(result.mac.peak_per_cycle, 131'072u);
  EXPECT_DOUBLE_EQ(result.mac.utilization, 1024.0 / static_cast<double>(result.cycles));
  EXPECT_DOUBLE_EQ(result.mac.utilization_while_active,
                   2048.0 / static_cast<double>(expected.clusters * expected.active));
}

INSTANTIATE_TEST_SUITE_P(All, GemmMapping, ::testing::ValuesIn(kMappings),
                         [](const auto& info) { return std::string(info.param.name); });

// The comment of each file, its lines joined, names the cycles of main.
TEST(GemmMappings, TakeTheCyclesThatTheirFilesName) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kDirectory)) {
    const std::string name = entry.path().stem().string();
    files.insert(name);
    std::ifstream file(entry.path());
    std::string comment, line;
    while (std::getline(file, line) && line.rfind("# ", 0) == 0) comment += line.substr(1);
    std::string cycles = std::to_string(run(load_mapping(name), false).commands.at(1).cycles);
    for (size_t i = cycles.size(); i > 3; i -= 3) cycles.insert(i - 3, ",");
    EXPECT_NE(comment.find(" " + cycles + " cycles"), std::string::npos) << name << ": " << cycles;
  }
  std::set<std::string> tested;
  for (const Mapping& m : kMappings) tested.insert(m.name);
  EXPECT_EQ(tested, files);
}

// Full multipliers from the first to the last packet, and within a tenth of the bound.
TEST(GemmMappings, TheBestComesNearItsBounds) {
  const RunResult result = run(load_mapping("time_broadcast"), false);
  EXPECT_GE(result.mac.utilization_while_active, 0.95);
  const CommandResult& main = result.commands[1];
  EXPECT_LE(static_cast<double>(main.cycles), 1.10 * static_cast<double>(main.bound));
}

// In the last pass a row of C, 64 B, is written in four cycles w to w + 3; an odd row to banks 8-9,
// 10-11, 12-13, 14-15. What is read then are bytes 960 to 1,023 of rows of 1 KB: banks 8-11, in the
// next cycle 12-15. The fetch is blocked: the place that is freed in the Stream Adapter when it
// begins to send a packet, every four cycles, is passed on by Collect, adapter, Fetch and memory a
// cycle each, so that four cycles later a read is granted. A packet leaves the Stream Adapter 12
// cycles before its results are written, also a multiple of four: reads are granted in w and w + 1.
// The first odd row loses bank 8 in w; from then on writes come a cycle later and meet no read of
// their banks. Nothing makes up for the cycle, as there is a result in each.
TEST(GemmMappings, KOuterLosesOneBank) {
  const RunResult result = run(load_mapping("k_outer"), false);
  const RunResult best = run(load_mapping("time_broadcast"), false);
  EXPECT_EQ(result.cycles, best.cycles + 1);
  EXPECT_EQ(result.mac.last_packet, best.mac.last_packet);
  EXPECT_EQ(unit(result, "lane_folder").starved, 0u);
}

// 32 x 4 positions of Time inside K / 32; 128 slots hold one column each.
TEST(GemmMappings, SlotsAreThoseOfTheKeptPositions) {
  const std::vector<std::pair<std::string, uint64_t>> kSlots = {
      {"time_broadcast", 4}, {"two_clusters", 2}, {"k_outer", 128},
      {"row_major", 1},      {"four_lanes", 8},   {"outer_product", 4}};
  for (const auto& [name, slots] : kSlots) {
    const Loaded loaded = load_mapping(name);
    EXPECT_EQ(loaded.program.commands[1].time_reduce->slots, slots) << name;
    EXPECT_EQ(loaded.program.commands[1].time_reduce->capacity, name == "outer_product" ? 4u : 128u)
        << name;
  }
}

TensorValues result_of(const std::string& name) {
  const Loaded loaded = load_mapping(name);
  RunOptions options;
  options.keep = {"c_dm"};
  const RunResult result = run_program(loaded.program, loaded.topology, options);
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  bool expected = false;
  for (const CheckedValues& checked : result.values.checked) {
    if (checked.tensor == "c_dm (expect)") expected = checked.elements == 512u * 512;
  }
  EXPECT_TRUE(expected) << "expect: was not checked";
  return result.tensors.at(0);
}

// All add the same products, in orders of their own. With |a|, |b| <= 1 two sums differ by at most
// 2 x gamma(511) x 512 < 0.04, and each is then rounded to bf16, by at most 2^-8 of its size.
TEST(GemmMappings, AllComputeTheSameValues) {
  const TensorValues best = result_of("time_broadcast");
  ASSERT_EQ(best.bits.size(), 512u * 512);
  for (const Mapping& m : kMappings) {
#ifndef NDEBUG
    if (std::string(m.name) == "k_in_time") continue;  // minutes without optimisation
#endif
    SCOPED_TRACE(m.name);
    const TensorValues other = result_of(m.name);
    ASSERT_EQ(other.axes, best.axes);
    ASSERT_EQ(other.bits.size(), best.bits.size());
    size_t different = 0;
    for (size_t i = 0; i < best.bits.size(); ++i) {
      const double x = to_double(DType::kBF16, best.bits[i]);
      const double y = to_double(DType::kBF16, other.bits[i]);
      const bool close = std::fabs(x - y) <= 0.04 + 0x1p-7 * std::max(std::fabs(x), std::fabs(y));
      if (!close || other.valid[i] == 0) ++different;
    }
    EXPECT_EQ(different, 0u);
  }
}

}  // namespace
}  // namespace rngdsim
