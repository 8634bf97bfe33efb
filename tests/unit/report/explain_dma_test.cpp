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

}  // namespace
}  // namespace rngdsim
