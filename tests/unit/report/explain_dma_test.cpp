// SPDX-License-Identifier: Apache-2.0
// A dma command as explain shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/explain.h"
#include "tests/support/lowering_fixture.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;

TEST(ExplainDma, IsInTheNotationOfItsPage) {
  // Example 1 of the page: two sequencers with one count, 64 packets of 256 bytes.
  const LoweredKernel kernel = lower_text(
      "kernel: k\naxes: {A: 8, B: 8, C: 256}\ntensors:\n"
      "  x: {memory: hbm, dtype: i8, element: \"A, B, C\", address: 0}\nprogram:\n"
      "  - dma: {from: x, to: y, memory: hbm, element: \"B, A, C\", address: 16384}\n");
  ASSERT_EQ(kernel.errors(), "");
  const std::string text = explain_text(kernel.program, {"rngd", ""});
  EXPECT_THAT(text, HasSubstr("64 requests of 16,384 bytes in 1 segment on 1 engine, hbm to hbm"));
  EXPECT_THAT(text,
              HasSubstr("read  = [ A -> 8 : 2,048, B -> 8 : 256, C -> 256 : 1 ] : 256, HBM @ 0\n"));
  EXPECT_THAT(
      text,
      HasSubstr("write = [ A -> 8 : 256, B -> 8 : 2,048, C -> 256 : 1 ] : 256, HBM @ 16,384\n"));
  EXPECT_THAT(text, HasSubstr("628 cycles: 500 overhead and 128 (dma requests)"));
  EXPECT_THAT(text, HasSubstr("hbm 16,384 to 32,767"));
  const auto json = explain_json(kernel.program, {"rngd", ""});
  EXPECT_EQ(json["commands"][0]["dma"]["segments"][0]["loops"][1]["read_stride"], 256);
  EXPECT_EQ(json["commands"][0]["bound"]["cycles"], 628);
  EXPECT_EQ(json["placement"][1]["address"], 16384);
}

TEST(ExplainDma, EnginesThatDifferInTheirBasesShareALine) {
  const LoweredKernel kernel = lower_text(
      "kernel: k\naxes: {A: 128, B: 64}\ntensors:\n"
      "  x: {memory: hbm, dtype: i8, element: \"A, B\", address: 0}\nprogram:\n"
      "  - dma: {from: x, to: y, memory: dm, slice: \"A # 256\", element: \"B\", address: 0}\n");
  ASSERT_EQ(kernel.errors(), "");
  const std::string text = explain_text(kernel.program, {"rngd", ""});
  EXPECT_THAT(text, HasSubstr("A % 32 -> 32 : slice_stride, A / 32 % 2 -> 2 : DMN_stride"));
  EXPECT_THAT(text,
              HasSubstr("segment 1, engine 1: 64 requests, as segment 0 from HBM @ 4,096 to DM @ "
                        "cluster 0, DMN 2, slice\n      0, byte 0\n"));
}

// 16 rows of 64 bytes; the index of 4 bytes a row lies behind the table of 1,024 bytes.
TEST(ExplainDma, ShowsWhereTheIndexOfARowLies) {
  const LoweredKernel kernel = lower_text(
      "kernel: k\naxes: {V: 16, G: 8, D: 64}\ntensors:\n"
      "  x: {memory: hbm, dtype: i8, element: \"V, D\", address: 0}\n"
      "  i: {memory: hbm, dtype: i32, element: \"G\", address: 1024}\nprogram:\n"
      "  - dma: {from: x, to: y, memory: dm, slice: \"G # 64\", element: \"D\", address: 0, index: "
      "i, scaled: true}\n");
  ASSERT_EQ(kernel.errors(), "");
  const std::string text = explain_text(kernel.program, {"rngd", ""});
  EXPECT_THAT(text, HasSubstr("x[i] -> y"));
  EXPECT_THAT(text, HasSubstr("hbm to dm, gather by 'i'"));
  EXPECT_THAT(text, HasSubstr("read  = [ G -> 8 : 0, D -> 64 : 1 ] : 64, HBM @ 0 + row\n"));
  EXPECT_THAT(text, HasSubstr("index = [ G -> 8 : 4 ] : 4, HBM @ 1,024\n"));
  EXPECT_THAT(text, HasSubstr("rows along V"));
  const auto dma = explain_json(kernel.program, {"rngd", ""})["commands"][0]["dma"];
  EXPECT_EQ(dma["indexed"]["kind"], "gather");
  EXPECT_EQ(dma["indexed"]["rows"], 16);
  EXPECT_EQ(dma["indexed"]["row_bytes"], 64);
  EXPECT_EQ(dma["segments"][0]["index_base"], 1024);
  EXPECT_EQ(dma["segments"][0]["loops"][0]["index_stride"], 4);
}

}  // namespace
}  // namespace rngdsim
