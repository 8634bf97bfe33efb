// SPDX-License-Identifier: Apache-2.0
#include "report/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/report/sample.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;
using testing::Not;

const TopologyName kTopology{"rngd", "abc"};

// A, B and C in tiles of 32 x 32 a slice, 64 of K: worked out by hand from the rules.
TEST(Explain, SubLoadOfGemm) {
  const std::string text = explain_text(sample::gemm(), kTopology);
  EXPECT_THAT(text, HasSubstr("0  sub  b_dm -> b_trf  line 9\n"));
  // 8 B reads are 4 bf16 elements: 16 a packet of 64, 32 packets.
  EXPECT_THAT(text,
              HasSubstr("  fetch        [8 : 64, 4 : 512, 64 : 1] : 64    read 8 B, 16 a packet, "
                        "512 reads\n"));
  // 32 packets of 4 flits; 16 flits, 512 B, 8 rows of 64 B a lane.
  EXPECT_THAT(text, HasSubstr("  collect      128 B packets -> 4 flits, 128 flits\n"));
  EXPECT_THAT(text,
              HasSubstr("  to_trf       8 lanes of 16 flits, 512 B a lane, region first half, rows "
                        "0-7 of 128\n"));
  EXPECT_THAT(text,
              HasSubstr("  lower bound  775 cycles: 263 overhead and 512 (fetch reads); flits "
                        "128\n"));
  EXPECT_THAT(text, HasSubstr("read 8 B    the sub context always reads 8 B\n"));
}

TEST(Explain, MainContractionOfGemm) {
  const std::string text = explain_text(sample::gemm(), kTopology);
  EXPECT_THAT(text, HasSubstr("1  main  a_dm x b_trf -> c_dm  line 15\n"));
  EXPECT_THAT(
      text, HasSubstr("  fetch        [32 : 64, 4 : 0, 64 : 1] : 64    read 32 B, 4 a packet, 512 "
                      "reads\n"));
  EXPECT_THAT(text, HasSubstr("  collect      128 B packets -> 4 flits, 512 flits\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  outer        PackSize 2, lanes 8, TimeBroadcast 1: 256 packets of 64 B\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  trf          ReadSize 32 (wide, 64 B), Element / 32 = [4, 2], region first "
                "half, rows 0-7 of 128;"));
  EXPECT_THAT(text, HasSubstr("[32 : 0, 4 : 64, 2 : 32] : 32, 256 reads\n"));
  EXPECT_THAT(text, HasSubstr("  packet       tree depth 5 of 5 -> 1 column\n"));
  EXPECT_THAT(text, HasSubstr("  time         2 packets a result, 1 slot of 128, 128 results\n"));
  EXPECT_THAT(text,
              HasSubstr("  lane         interleaved: 1 flit a result, 128 flits of 8 elements\n"));
  EXPECT_THAT(text, HasSubstr("  cast         f32 -> bf16\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  commit       trim 16 B, [32 : 32, 4 : 8, 8 : 1] : 8, 128 writes of 16 B\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  lower bound  775 cycles: 263 overhead and 512 (fetch reads); flits 512, "
                "packets 256, TRF reads\n               256, output flits 128, writes 128\n"));
}

TEST(Explain, SaysWhy) {
  const std::string text = explain_text(sample::gemm(), kTopology);
  EXPECT_THAT(text,
              HasSubstr("PackSize 2       OutPacket 'K % 32' (64 B) takes the innermost 2 of Time, "
                        "'K / 16 % 2'\n"));
  EXPECT_THAT(text,
              HasSubstr("TimeBroadcast 1  OutTime is Time / PackSize: each packet is sent once\n"));
  EXPECT_THAT(text, HasSubstr("wide             a read takes a row of both banks, 64 B\n"));
}

TEST(Explain, TheWholeKernelIsAChain) {
  // Main reads what sub stores: 775 after 775.
  EXPECT_THAT(
      explain_text(sample::gemm(), kTopology),
      HasSubstr("the whole kernel takes 1,550 cycles at least, by the lower bounds of commands "
                "0, 1\n"));
}

TEST(Explain, PlacementGivesAddressesAndRows) {
  // 32 x 64 bf16 are 4,096 B, 32 x 32 are 2,048 B, placed one behind the other.
  const std::string text = explain_text(sample::gemm(), kTopology);
  EXPECT_THAT(
      text,
      HasSubstr("\na_dm       bf16   4,096  dm 0 to 4,095 of a slice              declared\n"));
  EXPECT_THAT(
      text, HasSubstr("\nc_dm       bf16   2,048  dm 8,192 to 10,239 of a slice         written by "
                      "command 1 (main)\n"));
  EXPECT_THAT(
      text, HasSubstr("\nb_trf      bf16     512  trf first half, 8 lanes, rows 0 to 7  written by "
                      "command 0 (sub)\n"));
}

TEST(Explain, NoLineIsWiderThanTheReport) {
  for (const std::string& line : sample::lines_of(explain_text(sample::gemm(), kTopology))) {
    EXPECT_LE(text_width(line), kReportWidth) << line;
  }
}

TEST(Explain, JsonHoldsTheNumbersOfTheText) {
  const nlohmann::ordered_json json = explain_json(sample::gemm(), kTopology);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["kernel"]["name"], "gemm");
  EXPECT_EQ(json["bound"]["cycles"], 1550);
  const auto& main = json["commands"][1];
  EXPECT_EQ(main["fetch"]["sequencer"]["text"], "[32 : 64, 4 : 0, 64 : 1] : 64");
  EXPECT_EQ(main["fetch"]["sequencer"]["entries"][0]["size"], 32);
  EXPECT_EQ(main["fetch"]["sequencer"]["entries"][0]["stride"], 64);
  EXPECT_EQ(main["fetch"]["read_bytes"], 32);
  EXPECT_EQ(main["fetch"]["reads"], 512);
  EXPECT_EQ(main["collect"]["flits"], 512);
  EXPECT_EQ(main["outer"]["pack_size"], 2);
  EXPECT_EQ(main["outer"]["lanes"], 8);
  EXPECT_EQ(main["outer"]["packets"], 256);
  EXPECT_EQ(main["trf"]["read_elements"], 32);
  EXPECT_EQ(main["trf"]["rows"], 8);
  EXPECT_EQ(main["packet"]["depth"], 5);
  EXPECT_EQ(main["time"]["packets_per_result"], 2);
  EXPECT_EQ(main["time"]["capacity"], 128);
  EXPECT_EQ(main["lane"]["flits"], 128);
  EXPECT_EQ(main["commit"]["trim"]["bytes"], 16);
  EXPECT_EQ(main["commit"]["write_bytes"], 16);
  EXPECT_EQ(main["commit"]["writes"], 128);
  EXPECT_EQ(main["bound"]["cycles"], 775);
  EXPECT_EQ(main["bound"]["bound_by"], "fetch reads");
  EXPECT_EQ(main["stages"][2]["stage"], "contract_outer");
  EXPECT_EQ(json["placement"][1]["address"], 4096);
  EXPECT_EQ(json["placement"].size(), 4u);
}

// `stream`: no fetch, and no commit: a sink.
TEST(Explain, StreamIntoASink) {
  const Program program = sample::lowered(R"(kernel: s
axes: {A: 16, B: 24}
program:
  - main:
      stream: {dtype: i8, slice: "1 # 256", time: "A", packet: "B"}
      stages:
        - collect: {time: "A", packet: "B # 32"}
)");
  const std::string text = explain_text(program, kTopology);
  EXPECT_THAT(text, HasSubstr("  stream       16 packets of 'B' (24 B, i8) enter at collect\n"));
  EXPECT_THAT(text, HasSubstr("  collect      24 B packets, 8 B of padding -> 1 flit, 16 flits\n"));
  EXPECT_THAT(text, HasSubstr("  sink         the chain ends here: 16 items checked\n"));
  EXPECT_THAT(text, Not(HasSubstr("placement")));
}

TEST(CheckSummary, IsOneLineWithTheBound) {
  EXPECT_EQ(
      check_summary(sample::gemm()),
      "gemm.yaml: ok, 2 commands, at least 1,550 cycles (longest: command 0, 775 by fetch reads)");
}

// Two rounds: of the second only what differs. A block of 4 rows of 32 i8 are 128 B.
TEST(ExplainRepeat, SaysOfLaterRoundsOnlyWhatDiffers) {
  const Program program = sample::lowered(R"(kernel: k
axes: {I: 8, K: 32}
tensors:
  x: {memory: dm, dtype: i8, slice: "1 # 256", element: "I, K", init: zero}
  y: {memory: dm, dtype: i8, slice: "1 # 256", element: "I, K"}
program:
  - repeat:
      var: r
      count: 2
      body:
        - main:
            view: {of: x, axis: "I / 4", start: "{r}"}
            stages:
              - fetch: {time: "I % 4", packet: "K"}
              - collect
              - commit_trim: {packet: "K"}
              - commit: {to: y, view: {axis: "I / 4", start: "{r}"}}
)");
  const std::string text = explain_text(program, kTopology);
  EXPECT_THAT(text, HasSubstr("0  main  x[I / 4: 0] -> y[I / 4: 0]  line 11\n"));
  EXPECT_THAT(text,
              HasSubstr("1  main  x[I / 4: 1] -> y[I / 4: 1]  line 11\n"
                        "  fetch        [4 : 32, 32 : 1] : 32    read 32 B, 1 a packet, 4 reads, "
                        "from byte 128 of x\n"
                        "  commit       trim 32 B, [4 : 32, 32 : 1] : 32, 4 writes of 32 B, from "
                        "byte 128 of y\n"
                        "  all else     as command 0\n"));
}

}  // namespace
}  // namespace rngdsim
