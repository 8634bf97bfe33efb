// SPDX-License-Identifier: Apache-2.0
// Whole kernels: sequencers of mapping.md section 4, placement, hazards, hostile input.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

LoweredKernel lower_move(const std::string& axes, const std::string& dtype,
                         const std::string& element, const std::string& time,
                         const std::string& packet) {
  MoveKernel kernel;
  kernel.axes = axes;
  kernel.dtype = dtype;
  kernel.element = element;
  kernel.stages = {"fetch: {time: \"" + time + "\", packet: \"" + packet + "\"}"};
  return lower_text(kernel.text());
}

// ----------------------------------------------------------------- mapping.md section 4, the table

TEST(SequencerTable, Reads) {
  struct Case {
    const char* axes;
    const char* element;
    const char* time;
    const char* packet;
    const char* sequencer;
    uint64_t bytes, accesses;  // of i8
  };
  const std::vector<Case> cases = {
      {"A: 8, B: 8, C: 8", "A, B, C # 32", "B, A", "C # 16", "[8 : 32, 8 : 256, 16 : 1] : 16", 16,
       64},
      {"A: 8, B: 8, C: 4", "A, B, C # 8", "A % 2, B % 4, A / 2, B / 4", "C # 32",
       "[2 : 64, 4 : 8, 4 : 128, 2 : 32, 32 : 1] : 32", 32, 64},
      {"A: 16, B: 8, C: 8", "A, B, C", "A / 4, A % 4 = 3, B / 4, B % 4 = 2", "C",
       "[4 : 256, 3 : 64, 2 : 32, 2 : 8, 8 : 1] : 8", 8, 48},
      {"A: 16, T: 4, P: 4", "A", "T, A", "P", "[4 : 0, 16 : 1, 4 : 0] : 4", 4, 64},
      {"N: 4, C: 3, H: 8, W: 8", "N, C, H, W", "W, H, C, N", "1",
       "[8 : 1, 8 : 8, 3 : 64, 4 : 192] : 1", 1, 768},
      {"N: 8, C: 8, H: 8, W: 32", "N, C, H, W",
       "W / 16, H % 2, H / 2, C / 2, C % 2, N / 2, N % 2, W / 8 % 2", "W % 8",
       "[2 : 16, 2 : 32, 4 : 64, 8 : 256, 8 : 2048, 16 : 1] : 8", 8, 2048},
      {"N: 4, C: 3, H: 4, W: 8", "N, C, H, W", "C", "N, H, W",
       "[3 : 32, 4 : 96, 4 : 8, 8 : 1] : 128", 32, 12},
      {"N: 4, C: 3, H: 4, W: 8", "N, C, H, W", "N, C, H", "W", "[4 : 96, 3 : 32, 4 : 8, 8 : 1] : 8",
       8, 48},
  };
  for (const Case& c : cases) {
    const LoweredKernel lowered = lower_move(c.axes, "i8", c.element, c.time, c.packet);
    ASSERT_EQ(lowered.errors(), "") << c.sequencer;
    const FetchConfig& fetch = *lowered.command(0).fetch;
    EXPECT_EQ(fetch.sequencer.text(), c.sequencer);
    EXPECT_EQ(fetch.access_bytes, c.bytes) << c.sequencer;
    EXPECT_EQ(fetch.accesses, c.accesses) << c.sequencer;
  }
}

TEST(SequencerTable, Write) {
  MoveKernel kernel;
  kernel.axes = "A: 4, B: 8";
  kernel.element = "A, B";
  kernel.stages = {"fetch: {time: \"1\", packet: \"A, B\"}", "collect",
                   "commit_trim: {packet: \"A, B\"}", "commit: {to: y, element: \"A, B # 16\"}"};
  const LoweredKernel lowered = lower_text(kernel.text());
  ASSERT_EQ(lowered.errors(), "");
  const CommitConfig& commit = *lowered.command(0).commit;
  EXPECT_EQ(commit.sequencer.text(), "[4 : 16, 8 : 1] : 32");
  EXPECT_EQ(commit.sequencer.contiguous_run(), 8U);
  EXPECT_EQ(commit.write_bytes, 8U);
  EXPECT_EQ(commit.writes_per_flit, 4U);
  EXPECT_EQ(commit.writes, 4U);
}

// ------------------------------------------------------------------------------------- placement

// Tensors of given bytes a slice, then copies `from -> to` in main, 32 B a flit.
std::string copies(const std::vector<std::pair<std::string, std::string>>& tensors,
                   const std::vector<std::pair<std::string, std::string>>& moves,
                   const std::string& axes = "A: 8192, B: 32") {
  std::string text = "kernel: copies\naxes: {" + axes + "}\ntensors:\n";
  for (const auto& [name, rest] : tensors) {
    text += "  " + name + ": {memory: dm, dtype: i8, slice: \"1 # 256\", " + rest + "}\n";
  }
  text += "program:\n";
  for (const auto& [from, to] : moves) {
    text +=
        "  - main:\n      from: " + from +
        "\n      stages:\n        - fetch: {time: \"A\", packet: \"B\"}\n" +
        "        - collect\n        - commit_trim: {packet: \"B\"}\n        - commit: {to: " + to +
        ", element: \"A, B\"}\n";
  }
  return text;
}

TEST(Placement, InFileOrderAligned) {
  const LoweredKernel lowered = lower_text(
      copies({{"x", "element: \"A, B\""}, {"u", "element: \"B = 30\""}, {"v", "element: \"B\""}},
             {{"x", "y"}, {"x", "z"}}, "A: 4, B: 32"));
  ASSERT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.tensor("x").address, 0U);
  EXPECT_EQ(lowered.tensor("x").bytes, 128U);
  EXPECT_EQ(lowered.tensor("u").address, 128U);  // 30 bytes
  EXPECT_EQ(lowered.tensor("u").bytes, 30U);
  EXPECT_EQ(lowered.tensor("v").address, 256U);
  EXPECT_EQ(lowered.tensor("y").address, 384U);
  EXPECT_EQ(lowered.tensor("z").address, 512U);
}

TEST(Placement, FixedAddressesAreKeptAndAvoided) {
  const LoweredKernel lowered = lower_text(copies({{"u", "element: \"B\""},
                                                   {"x", "element: \"A, B\", address: 136"},
                                                   {"v", "element: \"A, B\""}},
                                                  {{"x", "y"}}, "A: 4, B: 32"));
  ASSERT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.tensor("x").address, 136U);
  EXPECT_EQ(lowered.tensor("u").address, 0U);    // 32 bytes fit below
  EXPECT_EQ(lowered.tensor("v").address, 384U);  // 128 bytes do not; 264 rounded up to 128
  EXPECT_EQ(lowered.tensor("y").address, 512U);
  EXPECT_EQ(lowered.command(0).reads[0].begin, 136U);
  EXPECT_EQ(lowered.command(0).reads[0].end, 264U);
}

TEST(Placement, TheLastBytesCanBeUsed) {
  const LoweredKernel lowered = lower_text(
      copies({{"x", "element: \"A, B\", address: 524160"}}, {{"x", "y"}}, "A: 4, B: 32"));
  EXPECT_EQ(lowered.errors(), "");
}

TEST(Placement, ANameWrittenAgainIsANewVersionInAPlaceOfItsOwn) {
  const LoweredKernel lowered = lower_text(
      copies({{"x", "element: \"A, B\""}}, {{"x", "y"}, {"x", "y"}, {"y", "z"}}, "A: 4, B: 32"));
  ASSERT_EQ(lowered.errors(), "");
  ASSERT_EQ(lowered.program.tensors.size(), 4U);
  EXPECT_EQ(lowered.program.tensors[1].version, 0U);
  EXPECT_EQ(lowered.program.tensors[2].version, 1U);
  EXPECT_EQ(lowered.program.tensors[1].address, 128U);
  EXPECT_EQ(lowered.program.tensors[2].address, 256U);
  EXPECT_EQ(lowered.command(2).fetch->tensor, 2U);  // the last version
  EXPECT_FALSE(lowered.command(0).writes[0].overlaps(lowered.command(1).writes[0]));
}

TEST(Placement, DeadTensorsGiveTheirPlaceOnlyWhereNoneIsLeft) {
  // 256 KB each: x and y fill the memory; z takes the place of x, which nothing reads any more.
  LoweredKernel lowered =
      lower_text(copies({{"x", "element: \"A, B\""}}, {{"x", "y"}, {"y", "z"}}));
  ASSERT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.tensor("x").address, 0U);
  EXPECT_EQ(lowered.tensor("y").address, 262144U);
  EXPECT_EQ(lowered.tensor("z").address, 0U);
  EXPECT_TRUE(lowered.command(1).writes[0].overlaps(lowered.command(0).reads[0]));
  // Still read by the writing command itself, or a result: kept.
  lowered = lower_text(copies({{"x", "element: \"A, B\""}}, {{"x", "y"}, {"x", "z"}}));
  EXPECT_NE(lowered.errors().find("no room for 'z': it takes 262,144 bytes"), std::string::npos);
  lowered = lower_text(copies({{"x", "element: \"A, B\""}}, {{"x", "y"}, {"y", "z"}, {"x", "u"}}));
  EXPECT_NE(lowered.errors().find("no room for 'z'"), std::string::npos);
  // A version that nothing reads before the name is written again is no result.
  lowered = lower_text(copies({{"x", "element: \"A, B\""}}, {{"x", "y"}, {"x", "y"}}));
  ASSERT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.tensor("y").address, 262144U);
}

// One load of `w` into the TRF and one contraction with it, for each entry: name and region.
std::string loads(const std::vector<std::string>& names, const std::string& region = "",
                  const std::string& k = "32", const std::string& declared = "") {
  std::string text = "kernel: loads\naxes: {M: 4, N: 8, K: " + k + "}\n";
  if (!declared.empty()) text += "tensors:\n" + declared;
  text += "program:\n";
  for (const std::string& name : names) {
    text +=
        "  - sub:\n      stream: {dtype: bf16, slice: \"1 # 256\", time: \"N, K / 16\", packet: "
        "\"K % 16\"}\n"
        "      stages:\n        - to_trf: {to: " +
        name + ", lane: \"N\", element: \"K\"" + (region.empty() ? "" : ", region: " + region) +
        "}\n" +
        "  - main:\n      stream: {dtype: bf16, slice: \"1 # 256\", time: \"M, K / 16\", packet: "
        "\"K % 16\"}\n"
        "      stages:\n        - contract_outer: {with: " +
        name + ", time: \"M, K / 32\", packet: \"K % 32\"}\n";
  }
  return text;
}

TEST(Placement, TrfLoadsAlternateBetweenTheHalves) {
  for (const auto& names :
       std::vector<std::vector<std::string>>{{"w", "w", "w", "w"}, {"a", "b", "c", "d"}}) {
    const LoweredKernel lowered = lower_text(loads(names));
    ASSERT_EQ(lowered.errors(), "");
    const auto& tensors = lowered.program.tensors;
    ASSERT_EQ(tensors.size(), 4U);
    EXPECT_EQ(tensors[0].region, "first_half");
    EXPECT_EQ(tensors[1].region, "second_half");
    EXPECT_EQ(tensors[2].region, "first_half");
    EXPECT_EQ(tensors[3].region, "second_half");
    EXPECT_EQ(tensors[1].first_row, 64U);
    // A load may run while the contraction before it reads the other half.
    EXPECT_FALSE(lowered.command(2).writes[0].overlaps(lowered.command(1).reads.back()));
    EXPECT_TRUE(lowered.command(4).writes[0].overlaps(lowered.command(1).reads.back()));
  }
}

TEST(Placement, TrfRegions) {
  // 16 rows a lane of 8; regions as asked for.
  for (const auto& [region, row] : std::vector<std::pair<std::string, uint64_t>>{
           {"first_half", 0}, {"second_half", 64}, {"full", 0}}) {
    const LoweredKernel lowered = lower_text(loads({"w", "w"}, region));
    ASSERT_EQ(lowered.errors(), "") << region;
    EXPECT_EQ(lowered.program.tensors[0].region, region);
    EXPECT_EQ(lowered.program.tensors[1].region, region);
    EXPECT_EQ(lowered.program.tensors[1].first_row, row);
  }
  // 32 KB fit a half, one row of 64 B a lane more does not.
  EXPECT_EQ(lower_text(loads({"w"}, "second_half", "2048")).errors(), "");
  EXPECT_NE(lower_text(loads({"w"}, "second_half", "2080"))
                .errors()
                .find("region second_half has 32,768"),
            std::string::npos);
  const LoweredKernel large = lower_text(loads({"w", "w"}, "", "2080"));
  ASSERT_EQ(large.errors(), "");
  EXPECT_EQ(large.program.tensors[0].region, "full");
  EXPECT_EQ(large.program.tensors[1].region, "full");
  EXPECT_TRUE(large.command(2).writes[0].overlaps(large.command(1).reads.back()));
}

TEST(Placement, FewerLanesHaveMoreRows) {
  for (const uint64_t lanes : {1, 2, 4, 8}) {
    const std::string n = std::to_string(lanes);
    const LoweredKernel lowered =
        lower_text("kernel: k\naxes: {N: " + n +
                   ", K: 512}\nprogram:\n  - sub:\n      stream: {dtype: bf16, slice: \"1 "
                   "# 256\", time: \"N, K / 16\", packet: \"K % 16\"}\n      stages:\n        - "
                   "to_trf: {to: w, lane: "
                   "\"N\", element: \"K\", region: second_half}\n");
    ASSERT_EQ(lowered.errors(), "");
    const TensorVersion& w = lowered.tensor("w");
    EXPECT_EQ(w.bytes, 1024U);
    EXPECT_EQ(w.rows, 16U);                   // of both banks
    EXPECT_EQ(w.first_row, 64U * 8 / lanes);  // half of 128 x 8 / lanes
    EXPECT_EQ(lowered.command(0).writes[0].begin, 512U);
    EXPECT_EQ(lowered.command(0).writes[0].end, 512U + 16 * lanes);
  }
}

TEST(Placement, TrfTensorsThatAreNeededAreNotOverwritten) {
  const std::string w =
      "  w: {memory: trf, dtype: bf16, slice: \"1 # 256\", lane: \"N\", element: \"K\"}\n";
  // `w` is read by a later command: the load goes to the other half.
  const std::string use_w =
      "  - main:\n      stream: {dtype: bf16, slice: \"1 # 256\", time: \"M, K / 16\", packet: \"K "
      "% 16\"}\n"
      "      stages:\n        - contract_outer: {with: w, time: \"M, K / 32\", packet: \"K % "
      "32\"}\n";
  LoweredKernel lowered = lower_text(loads({"a", "b", "c"}, "", "32", w) + use_w);
  ASSERT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.tensor("w").region, "first_half");
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(lowered.tensor(name).region, "second_half");
  // Nobody reads it: it is the older one.
  lowered = lower_text(loads({"a", "b"}, "", "32", w));
  EXPECT_EQ(lowered.tensor("a").region, "second_half");
  EXPECT_EQ(lowered.tensor("b").region, "first_half");
  // A full load has no place beside it.
  lowered = lower_text(loads({"a"}, "full", "32", w) + use_w);
  EXPECT_NE(lowered.errors().find("it would overwrite 'w' (512 bytes), which the command in line"),
            std::string::npos);
}

// -------------------------------------------------------------------------------------- replicas

TEST(Replicas, AnAxisThatOnlySpreadsTheTensorIsNotLogical) {
  // x does not depend on J; a copy of it does not either, and may be broadcast over J again.
  const char* const text =
      "kernel: k\n"
      "axes: {I: 16, J: 128, K: 32}\n"
      "tensors:\n"
      "  x: {memory: dm, dtype: i8, slice: \"I, J / 8\", element: \"K\", logical: [I, K]}\n"
      "program:\n"
      "  - main:\n"
      "      from: x\n"
      "      stages:\n"
      "        - fetch: {time: \"1\", packet: \"K\"}\n"
      "        - collect\n"
      "        - commit_trim: {packet: \"K\"}\n"
      "        - commit: {to: y, element: \"K\"}\n"
      "  - main:\n"
      "      from: y\n"
      "      stages:\n"
      "        - fetch: {time: \"J % 8\", packet: \"K\"}\n";
  LoweredKernel lowered = lower_text(text);
  ASSERT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.tensor("y").logical.size(), 2U);
  EXPECT_EQ(lowered.command(1).fetch->sequencer.text(), "[8 : 0, 32 : 1] : 32");
  // Logical in J, it exists only where J is a multiple of 8.
  std::string logical = text;
  logical.replace(logical.find("[I, K]"), 6, "[I, J, K]");
  lowered = lower_text(logical);
  EXPECT_NE(lowered.errors().find("'J % 8' reaches J = 7, but tensor 'y' holds axis J only as"),
            std::string::npos);
}

TEST(Clusters, BothCanHoldData) {
  MoveKernel kernel;
  kernel.axes = "C: 2, S: 256, B: 32";
  kernel.cluster = "C";
  kernel.slice = "S";
  kernel.element = "B";
  kernel.stages = {"fetch: {time: \"1\", packet: \"B\"}"};
  LoweredKernel lowered = lower_text(kernel.text());
  ASSERT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.command(0).clusters_used, 2U);
  EXPECT_EQ(lowered.command(0).live_slices, 512U);
  kernel.axes = "S: 60, B: 32";
  kernel.cluster = "1 # 2";
  for (const auto& [slice, live] : std::vector<std::pair<std::string, uint64_t>>{
           {"S # 64", 60}, {"S # 128", 60}, {"S # 256", 60}}) {
    kernel.slice = slice;
    lowered = lower_text(kernel.text());
    ASSERT_EQ(lowered.errors(), "") << slice;
    EXPECT_EQ(lowered.command(0).clusters_used, 1U);
    EXPECT_EQ(lowered.command(0).live_slices, live);
  }
}

// ------------------------------------------------------------------------------------ small things

TEST(Commands, DelayIsOverheadAndLabelsAreKept) {
  MoveKernel kernel;
  kernel.axes = "B: 32";
  kernel.element = "B";
  kernel.stages = {"fetch: {time: \"1\", packet: \"B\"}"};
  std::string text = kernel.text();
  text.replace(text.find("from: x"), 7, "from: x\n      delay: 100\n      label: slow one");
  const LoweredKernel lowered = lower_text(text);
  ASSERT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.command(0).overhead, 363U);
  EXPECT_EQ(lowered.command(0).bound.cycles, 364U);
  EXPECT_EQ(lowered.command(0).label, "slow one");
}

TEST(Commands, ACastInTheFetchAdapterReachesTheFetch) {
  MoveKernel kernel;
  kernel.axes = "A: 4, B: 32";
  kernel.element = "A, B";
  kernel.stages = {"fetch: {time: \"A\", packet: \"B\"}", "fetch_cast: {dtype: i32}", "collect"};
  const LoweredKernel lowered = lower_text(kernel.text());
  ASSERT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.command(0).fetch->access_elements, 8U);
  EXPECT_EQ(lowered.command(0).fetch->accesses, 16U);
  EXPECT_EQ(lowered.command(0).collect->flits, 16U);  // 32 x i32 are 4 flits
  EXPECT_EQ(lowered.command(0).final_shape.dtype, DType::kI32);
}

TEST(Commands, ContractionMayEndAfterAnyStage) {
  const std::string head =
      "kernel: k\naxes: {M: 4, N: 8, K: 32}\ntensors:\n  w: {memory: trf, dtype: i8, slice: \"1 # "
      "256\", lane: "
      "\"N\", element: \"K\"}\nprogram:\n  - main:\n      stream: {dtype: i8, slice: \"1 # 256\", "
      "time: \"M, 2\", "
      "packet: \"K\"}\n      stages:\n        - contract_outer: {with: w, time: \"M\", packet: "
      "\"2, K\"}\n";
  LoweredKernel lowered = lower_text(head);
  ASSERT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.command(0).final_shape.dtype, DType::kI32);
  EXPECT_EQ(lowered.command(0).final_items, 4U);
  lowered = lower_text(head + "        - contract_packet: {packet: \"1\"}\n");
  ASSERT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.command(0).packet_reduce->depth, 6U);
}

TEST(Commands, SeveralFaultsAreReportedAtOnce) {
  const std::string file =
      std::string(RNGDSIM_SOURCE_DIR) + "/tests/unit/lowering/broken/several_faults.yaml";
  const LoweredKernel lowered = lower_text(file_contents(file));
  EXPECT_EQ(lowered.diagnostics.error_count(), 6U);
  for (const char* said :
       {"Slice '1 # 100'", "commit_trim:", "unknown axis 'Bb'", "unknown tensor 'w'",
        "sub reads 8 bytes", "writes are multiples of 8 bytes"}) {
    EXPECT_NE(lowered.errors().find(said), std::string::npos) << said;
  }
}

// hardware.md 4.5: padding that is summed is zero where either operand is known zero; for floats
// also a warning, since garbage could be NaN.
TEST(SummedPadding, OfFloatsIsWarnedOf) {
  const auto lower_padded = [](const char* dtype, const char* stream, const char* trf,
                               const char* packet, const char* reduced) {
    return lower_text(
        std::string("kernel: k\naxes: {M: 4, K: 12}\ntensors:\n  w: {memory: trf, dtype: ") +
        dtype + ", slice: \"1 # 256\", lane: \"8\", element: \"K " + trf +
        "\"}\nprogram:\n  - main:\n      stream: {dtype: " + dtype +
        ", slice: \"1 # 256\", time: \"M\", packet: \"K " + stream +
        "\"}\n      stages:\n        - contract_outer: {with: w, time: \"M\", packet: \"K " +
        packet + "\"}\n        - contract_packet: {packet: \"" + reduced +
        "\"}\n        - contract_time: {time: \"M\"}\n");
  };
  const char* const said = "is summed; it adds zero only while";
  const auto warned = [&](const LoweredKernel& lowered) {
    EXPECT_EQ(lowered.errors(), "");
    return lowered.warnings().find(said) != std::string::npos;
  };
  EXPECT_TRUE(warned(lower_padded("bf16", "#{0} 16", "# 16", "#{0} 16", "1")));
  EXPECT_TRUE(warned(lower_padded("bf16", "# 16", "#{0} 16", "# 16", "1")));
  EXPECT_FALSE(warned(lower_padded("bf16", "#{0} 16", "#{0} 16", "#{0} 16", "1")));
  EXPECT_FALSE(warned(lower_padded("bf16", "#{0} 16", "# 16", "#{0} 16", "K # 16")));  // not summed
  EXPECT_FALSE(warned(lower_padded("i8", "#{0} 32", "# 32", "#{0} 32", "1")));         // 0 x n is 0
}

// --------------------------------------------------------------------------------- hostile input

// Refused (or accepted) without counting positions one by one.
TEST(Hostile, HugeSizesAreJudgedQuickly) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string axes = "A: 4294967296, B: 32, C: 65536, D: 65536, N: 8, K: 32";
  // A loop of 2^32.
  EXPECT_NE(lower_move(axes, "i8", "B", "A", "B").errors().find("more than 65,536"),
            std::string::npos);
  // 2^32 packets in loops that exist: legal, if long.
  const LoweredKernel broadcast = lower_move(axes, "i8", "B", "A / 65536, A % 65536", "B");
  EXPECT_EQ(broadcast.errors(), "");
  EXPECT_EQ(broadcast.command(0).fetch->accesses, uint64_t{1} << 32);
  // Tensors that no memory holds.
  EXPECT_NE(lower_move(axes, "i8", "A, B", "A / 65536, A % 65536", "B")
                .errors()
                .find("137,438,953,472 bytes"),
            std::string::npos);
  EXPECT_NE(lower_move(axes, "i8", "B # 281474976710656", "1", "B")
                .errors()
                .find("bytes; the data memory"),
            std::string::npos);
  // 2^48 positions.
  EXPECT_NE(lower_move(axes, "i8", "B", "A / 65536, A % 65536, C", "B")
                .errors()
                .find("at most 1,099,511,627,776"),
            std::string::npos);
  EXPECT_NE(lower_move(axes, "i8", "B", "1", "B # 281474976710656").errors(), "");
  EXPECT_NE(lower_move(axes, "i8", "B", "281474976710656", "B").errors(), "");
  const std::string w =
      "tensors:\n  w: {memory: trf, dtype: bf16, slice: \"1 # 256\", lane: \"N\", element: "
      "\"K\"}\n";
  for (const char* rest : {
           "contract_outer: {with: w, time: \"C, D, A / 65536\", packet: \"K\"}",
           "contract_outer: {with: w, time: \"C, D\", packet: \"K # 4294967296\"}",
           "contract_outer: {with: w, time: \"C # 281474976710656\", packet: \"K\"}",
           "to_trf: {to: v, lane: \"C\", element: \"D, K\"}",
           "commit_trim: {packet: \"K # 1099511627776\"}",
           "cast: {dtype: bf16, packet: \"K # 1099511627776\"}",
       }) {
    const LoweredKernel lowered = lower_text("kernel: k\naxes: {" + axes + "}\n" + w +
                                             "program:\n  - main:\n      stream: {dtype: bf16, "
                                             "slice: \"1 # 256\", time: \"C, D, K / 16\", "
                                             "packet: \"K % 16\"}\n      stages:\n        - " +
                                             rest + "\n");
    EXPECT_NE(lowered.errors(), "") << rest;
  }
  // A stream far longer than its destination.
  const LoweredKernel lowered =
      lower_text("kernel: k\naxes: {" + axes +
                 "}\nprogram:\n  - main:\n      stream: {dtype: i8, slice: \"1 # 256\", time: "
                 "\"1 # 65536, 1 # 65536\", packet: \"B\"}\n      stages:\n        - commit_trim: "
                 "{packet: \"B\"}\n        - "
                 "commit: {to: y, element: \"1 # 65536, B # 64\"}\n");
  EXPECT_NE(lowered.errors(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(Hostile, AxesOfSizeOne) {
  const LoweredKernel lowered = lower_text(
      "kernel: k\naxes: {A: 1, B: 1, K: 32, N: 1}\ntensors:\n"
      "  x: {memory: dm, dtype: bf16, slice: \"A # 256\", element: \"B, A, K\"}\n"
      "  w: {memory: trf, dtype: bf16, slice: \"B # 256\", lane: \"N\", element: \"K, N\"}\n"
      "program:\n  - main:\n      from: x\n      stages:\n"
      "        - fetch: {time: \"A, B\", packet: \"K, A\"}\n        - collect\n"
      "        - contract_outer: {with: w, time: \"N\", packet: \"K\"}\n        - contract_packet: "
      "{packet: \"A\"}\n"
      "        - contract_time: {time: \"B\"}\n        - contract_lane: {mode: sequential}\n"
      "        - cast: {dtype: bf16}\n        - commit_trim: {packet: \"1 # 4\"}\n"
      "        - commit: {to: y, element: \"A, B # 4\"}\n");
  ASSERT_EQ(lowered.errors(), "");
  const Command& command = lowered.command(0);
  EXPECT_EQ(command.fetch->accesses, 2U);
  EXPECT_EQ(command.outer->packets, 1U);
  EXPECT_EQ(command.commit->writes, 1U);
  EXPECT_EQ(command.mac_useful, 32U);
}

// An axis of one position leaves no digit in the mappings that name it; a list may name it still.
TEST(Replicas, AnAxisOfOnePositionMayBeListedAsLogical) {
  const LoweredKernel lowered = lower_text(
      "kernel: k\naxes: {A: 1, K: 32, S: 256}\ntensors:\n"
      "  x: {memory: dm, dtype: i8, slice: \"S\", element: \"A, K\", logical: [A, K]}\n"
      "program:\n  - main:\n      from: x\n      stages:\n"
      "        - fetch: {time: \"A\", packet: \"K\"}\n");
  EXPECT_EQ(lowered.errors(), "");
  EXPECT_EQ(lowered.tensor("x").logical.size(), 1U);  // K
}

TEST(Hostile, OddSizesAndPaddingEverywhere) {
  // 7 x 11 x 13 elements over padded slices, lanes, Time and Packet.
  const LoweredKernel lowered = lower_text(
      "kernel: k\naxes: {I: 7, J: 11, K: 13}\ntensors:\n"
      "  x: {memory: dm, dtype: bf16, cluster: \"1 # 2\", slice: \"I # 256\", element: \"K #{0} "
      "16\"}\n"
      "  w: {memory: trf, dtype: bf16, slice: \"I # 256\", lane: \"J # 16 % 8\", element: \"J # 16 "
      "/ 8, K #{0} 16\", "
      "logical: [J, K]}\n"
      "program:\n  - main:\n      from: x\n      stages:\n"
      "        - fetch: {time: \"3 # 4\", packet: \"K #{0} 16\"}\n        - collect\n"
      "        - contract_outer: {with: w, time: \"3 # 4, J # 16 / 8\", packet: \"K #{0} 16\"}\n"
      "        - contract_packet: {packet: \"1\"}\n        - contract_time: {time: \"J # 16 / "
      "8\"}\n"
      "        - contract_lane: {mode: interleaved, time: \"J # 16 / 8\", packet: \"J # 16 % 8\"}\n"
      "        - cast: {dtype: bf16, packet: \"J # 16 % 8 # 16\"}\n"
      "        - commit_trim: {packet: \"J # 16 % 8\"}\n        - commit: {to: y, element: \"J # "
      "16\"}\n");
  ASSERT_EQ(lowered.errors(), "");
  const Command& command = lowered.command(0);
  EXPECT_EQ(command.outer->packets, 8U);
  EXPECT_EQ(command.time_reduce->slots, 2U);
  EXPECT_EQ(command.commit->writes, 2U);
  EXPECT_EQ(command.mac_useful, 7U * 11 * 13 * 3);
  EXPECT_EQ(command.live_slices, 7U);
}

// ------------------------------------------------------------------------------ bank starvation

// worked_examples.md, Memory: at most 63 consecutive accesses of one bank are safe. A's elements
// lie 128 bytes apart, all in bank 0.
TEST(Starvation, FetchIsWarnedOfFrom64AccessesOn) {
  const auto fetch = [](uint64_t accesses) {
    return lower_move("A: " + std::to_string(accesses) + ", P: 8", "i8", "A, P # 128", "A", "P");
  };
  const LoweredKernel safe = fetch(63);
  EXPECT_EQ(safe.warnings().find("one bank"), std::string::npos);
  EXPECT_FALSE(safe.command(0).starves_dma);
  const LoweredKernel starves = fetch(64);
  EXPECT_NE(starves.warnings().find("fetch: 64 consecutive accesses go to one bank; from 64 on, a "
                                    "DMA that waits for it starves"),
            std::string::npos);
  EXPECT_TRUE(starves.command(0).starves_dma);
}

// The same of writes, which follow one another here: a flit a cycle, a write for each.
TEST(Starvation, CommitIsWarnedOfFrom64WritesOn) {
  const auto commit = [](uint64_t writes) {
    MoveKernel kernel;
    kernel.axes = "A: " + std::to_string(writes) + ", P: 8";
    kernel.dtype = "i8";
    kernel.element = "A, P";
    kernel.stages = {R"(fetch: {time: "A", packet: "P"})", R"(collect: {packet: "P # 32"})",
                     R"(commit_trim: {packet: "P"})", R"(commit: {to: y, element: "A, P # 128"})"};
    return lower_text(kernel.text());
  };
  EXPECT_FALSE(commit(63).command(0).starves_dma);
  const LoweredKernel starves = commit(64);
  EXPECT_EQ(starves.errors(), "");
  EXPECT_NE(starves.warnings().find("commit: 64 consecutive writes go to one bank"),
            std::string::npos);
  EXPECT_TRUE(starves.command(0).starves_dma);
}

}  // namespace
}  // namespace rngdsim
